use super::{File, compile, parse, print};
use crate::test_support::{Language, describe, for_each_mutation, show, spans};

const MEMORAX: Language<File> = Language { parse, print, compile };

const CORPUS: [&str; 7] = [
    include_str!("../../../../corpus/memorax/dekker.rmm"),
    include_str!("../../../../corpus/memorax/hand-over.rmm"),
    include_str!("../../../../corpus/memorax/peterson.rmm"),
    include_str!("../../../../corpus/memorax/peterson-fenced.rmm"),
    include_str!("../../../../corpus/memorax/spin-lock.rmm"),
    include_str!("../../../../corpus/memorax/ticket-lock.rmm"),
    include_str!("../../../../corpus/memorax/transfer.rmm"),
];

const EVERYTHING: &str = "
/* Every construct once. */
macro twice(a, b) a; b endmacro
forbidden A *; * B; A B
predicates $x + 1 = 2; not [$x < $y || true && false]
data x = 0 y = * : [0:1], z = -3 : [-4:4] w = 1 : Z
process(1)
registers $r = * : [0:1] $s = 0
data own = 0
text
A: nop;
$s := -$s - (1 + $s) - -2 + -(3);
assume: not $s >= 1 && [$r != 0 || $s <= 4 && [true && $s > 1]] || not [not false];
twice(read: own[my] = $s, read: $s := own[0]);
write: x := $s; locked write: w := 1; slocked write: [$s] := $s - 1;
cas(x, $s, $s + 1);
fence; ssfence; llfence;
if $s = 0 then C: goto A else if $s = 1 then { nop; goto C };
while $s < 3 do { $s := $s + 1; };
either { nop or D: nop; goto D or while true do nop };
locked { read: $s := x; { nop; locked { write: x := 1 or cas(x, 0, 1) } } or fence; nop }
process data own = 1 text B: nop;
";

fn check(text: &str, expected: &str) {
    assert_eq!(show(&MEMORAX.accept(text)), expected.trim(), "{text}");
}

/// Statements of a process with variables `x`, `y` and registers `$r`, `$s`, and the edges that
/// they become.
fn check_statements(statements: &str, expected: &str) {
    let text = format!(
        "forbidden * data x = 0 : [0:3] y = 0 : [0:1]
         process registers $r = 0 : [0:3] $s = 0 text {statements}"
    );
    let shown = show(&MEMORAX.accept(&text));
    let edges: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(edges, expected, "{statements}");
}

fn check_refused(text: &str, expected: &str) {
    assert_eq!(describe(text, &MEMORAX.refuse(text)), expected, "{text}");
}

/// A process around some statements, which start on line 2.
fn process(statements: &str) -> String {
    format!(
        "forbidden * data x = 0 y = 0 : [0:1] process data own = 0 registers $r = 0 : [0:1] text
{statements}"
    )
}

#[test]
fn a_program_is_understood() {
    check(
        "forbidden CS *; * CS
         data x = * : [1:2] y = 5
         process(2)
         data flag = 0 : [0:1]
         registers $r = * : [0:1]
         text
         L: write: flag[my] := 1; read: $r := flag[0];
         assume: $r = 0;
         CS: goto L",
        "
[0] x = [1, 2] in 1..2
[1] y = [5]
[2] flag[P0] = [0] in 0..1
[3] flag[P1] = [0] in 0..1
P0 at L $r=0
  L -> 2: [2] := 1
  2 -> 3: $r := [3]
  3 -> CS: assume ($r == 0)
  CS -> L: nop
P1 at L $r=0
  L -> 2: [3] := 1
  2 -> 3: $r := [2]
  3 -> CS: assume ($r == 0)
  CS -> L: nop
forbidden CS *
forbidden * CS",
    );
}

#[test]
fn other_processes_are_counted_without_oneself() {
    let own = "data v = 0 text nop; write: v[0] := 0; write: v[1] := 1; write: v[my] := 2";
    let text = format!("forbidden * * * process {own} process {own} process {own}");
    let shown = show(&MEMORAX.accept(&text));
    let instrs = shown.lines().filter_map(|l| l.split_once(": ")).map(|l| l.1);
    let writes: Vec<&str> = instrs.filter(|i| i.starts_with('[')).collect();
    assert_eq!(
        writes,
        [
            "[1] := 0", "[2] := 1", "[0] := 2", // P0: P1, P2
            "[0] := 0", "[2] := 1", "[1] := 2", // P1: P0, P2
            "[0] := 0", "[1] := 1", "[2] := 2", // P2: P0, P1
        ]
    );
}

#[test]
fn registers_that_start_anyhow_are_chosen_only_if_it_matters() {
    check(
        "forbidden * process
         registers $a = * : [2:3] $b = * $c = * : [-1:1] $d = * : [5:6]
         text $b := 1; assume: $a = $c; $d := 5; $b := $d",
        "
P0 at 6 $a=2 $b=0 $c=0 $d=5
  0 -> 2: $b := 1
  2 -> 3: assume ($a == $c)
  3 -> 4: $d := 5
  4 -> 1: $b := $d
  5 -> 0: $c := -1..1
  6 -> 5: $a := 2..3
forbidden *",
    );
}

#[test]
fn statements_become_edges() {
    check_statements(
        "nop; goto L; L: fence; ssfence; llfence",
        "
        0 -> 2: nop
        2 -> L: nop
        L -> 4: fence
        4 -> 5: fence.ss
        5 -> 1: nop",
    );
    // A read that does not find its value, or finds one that does not fit, tries again.
    check_statements(
        "read: x = $r + 1; read: $r := x; read: $s := y; read: $r := y",
        "
        0 -> 3: tmp := [0]
        2 -> 4: $r := [0]
        3 -> 0: assume !(tmp == ($r + 1))
        3 -> 2: assume (tmp == ($r + 1))
        4 -> 5: $s := [1]
        5 -> 1: $r := [1]",
    );
    check_statements(
        "write: y := $r; write: x := $s; write: x := $r; slocked write: y := 1",
        "
        0 -> 3: assume (($r >= 0) && ($r <= 1))
        2 -> 5: assume (($s >= 0) && ($s <= 3))
        3 -> 2: [1] := $r
        4 -> 6: [0] := $r
        5 -> 4: [0] := $s
        6 -> 7: [1] := 1
        7 -> 1: fence.ss",
    );
    check_statements(
        "$r := $r + 1; $s := $r - 7; assume: not $r < -2",
        "
        0 -> 3: assume ((($r + 1) >= 0) && (($r + 1) <= 3))
        2 -> 4: $s := ($r - 7)
        3 -> 2: $r := ($r + 1)
        4 -> 1: assume !($r < -2)",
    );
}

#[test]
fn control_flow_becomes_points() {
    check_statements(
        "if $r = 0 then L: nop else $r := 1; if $r != 0 then nop",
        "
        0 -> L: assume ($r == 0)
        0 -> 4: assume !($r == 0)
        2 -> 5: assume ($r != 0)
        2 -> 1: assume !($r != 0)
        L -> 2: nop
        4 -> 2: $r := 1
        5 -> 1: nop",
    );
    check_statements(
        "L: while $r < 3 do $r := 1; goto L",
        "
        L -> 3: assume ($r < 3)
        L -> 2: assume !($r < 3)
        2 -> L: nop
        3 -> L: $r := 1",
    );
    // Branches that come back to their start have one of their own.
    check_statements(
        "either { nop or L: goto L or while $r = 0 do nop or { { M: nop } } }",
        "
        0 -> 1: nop
        0 -> L: nop
        0 -> 3: nop
        0 -> M: nop
        L -> L: nop
        3 -> 4: assume ($r == 0)
        3 -> 1: assume !($r == 0)
        4 -> 3: nop
        M -> 1: nop",
    );
    check_statements("A: { B: nop }", "A/B -> 1: nop");
}

#[test]
fn pointers_are_addresses_of_global_variables() {
    check_statements(
        "write: [1] := 1; read: $r := [1]",
        "
        0 -> 2: [1] := 1
        2 -> 1: $r := [1]",
    );
    check_statements("read: $s := [$r]; write: [1 - $s] := $r", "
        0 -> 3: assume (($r >= 0) && ($r <= 1))
        2 -> 4: assume ((((1 - $s) >= 0) && ((1 - $s) <= 1)) && ((((1 - $s) == 0) && (($r >= 0) && ($r <= 3))) || (((1 - $s) == 1) && (($r >= 0) && ($r <= 1)))))
        3 -> 2: $s := [$r]
        4 -> 1: [(1 - $s)] := $r");
}

#[test]
fn locked_statements_happen_as_a_whole() {
    check_statements(
        "locked write: x := $r",
        "
        0 -> 2: [0] := $r
        2 -> 1: fence",
    );
    check_statements(
        "cas(y, $r, 1 - $r)",
        "
        0 -> 2: assume (((1 - $r) >= 0) && ((1 - $r) <= 1))
        2 -> 3: tmp := [1] := ((tmp == $r) ? (1 - $r) : tmp)
        3 -> 0: assume !(tmp == $r)
        3 -> 1: assume (tmp == $r)",
    );
    check_statements(
        "locked { read: $s := x; write: x := 3; $r := 2 }",
        "
        0 -> 2: tmp := [0] := 3
        2 -> 3: $r := 2
        3 -> 1: $s := tmp",
    );
    check_statements(
        "locked { read: $s := x }",
        "
        0 -> 2: tmp := [0]
        2 -> 1: $s := tmp",
    );
    check_statements(
        "locked { write: x := 1; write: y := 1 or read: x = 1 or assume: $r = 0 }",
        "
        0 -> 2: lock
        0 -> 5: fence
        0 -> 7: fence
        2 -> 3: [0] := 1
        3 -> 4: [1] := 1
        4 -> 1: unlock
        5 -> 6: tmp := [0]
        6 -> 0: assume !(tmp == 1)
        6 -> 1: assume (tmp == 1)
        7 -> 0: assume !($r == 0)
        7 -> 1: assume ($r == 0)",
    );
    // What comes after the write may fail, so it is tried before anything is written.
    check_statements(
        "locked { write: x := 1; read: y = 1 }",
        "
        0 -> 2: lock
        2 -> 3: tmp := [1]
        3 -> 5: assume !(tmp == 1)
        3 -> 4: assume (tmp == 1)
        4 -> 6: [0] := 1
        5 -> 0: unlock
        6 -> 7: tmp := [1]
        7 -> 1: unlock",
    );
}

#[test]
fn slips_are_refused_with_a_place() {
    for (text, expected) in [
        (
            "",
            "1:1 `` the text ends here (a program starts with the combinations of labels that must not be reached)",
        ),
        (
            "forbiden A",
            "1:1 `forbiden` unexpected `forbiden` (a program starts with the combinations of labels that must not be reached)",
        ),
        ("forbidden", "1:10 `` the text ends here"),
        ("forbidden A;", "1:13 `` the text ends here"),
        ("forbidden A /* ", "1:13 `/*` a comment that does not end"),
        ("forbidden A", "1:12 `` the text ends here"),
        ("forbidden A data process", "1:18 `process` unexpected keyword `process`"),
        ("forbidden A proces text", "1:20 `text` unexpected keyword `text`"),
        ("forbidden A data x = 0 y", "1:25 `` the text ends here"),
        ("forbidden A data x = z", "1:22 `z` unexpected `z`"),
        ("forbidden A data x = 0 x = 1", "1:24 `x` a second declaration of `x`"),
        (
            "forbidden A data x = 2 : [0:1]",
            "1:22 `2` the initial value 2 lies outside of the domain",
        ),
        ("forbidden A data x = 0 : [1:0]", "1:26 `[1:0]` the domain from 1 to 0 is empty"),
        ("forbidden A data x = 0 : N", "1:26 `N` unexpected `N`"),
        (
            "forbidden A data x = 9999999999",
            "1:22 `9999999999` `9999999999` does not fit in 32 bits",
        ),
        ("forbidden A process(0) text nop", "1:21 `0` 0 copies of a process"),
        (
            "forbidden A process data x = 0 data y = 0 text nop",
            "1:32 `data` a second `data` section in one process",
        ),
        ("forbidden A process registers r = 0 text nop", "1:31 `r` unexpected `r`"),
        ("forbidden A process txt nop", "1:21 `txt` unexpected `txt` (did you mean `text`?)"),
        (
            "forbidden A B process text A: nop",
            "1:11 `A B` 2 labels for 1 processes (`*` stands for any place; `;` separates combinations)",
        ),
        ("forbidden CS process text cs: nop", "1:11 `CS` process P0 has no label `CS`"),
        (
            "forbidden START process text STRAT: nop",
            "1:11 `START` process P0 has no label `START` (did you mean `STRAT`?)",
        ),
        (
            "forbidden A data x = * process text A: nop",
            "1:18 `x = *` `x` may start with any integer (for example `x = * : [0:1]`)",
        ),
        (
            "forbidden A data x = * : [0:99999] process text A: nop",
            "1:18 `x = * : [0:99999]` `x` may start with any of too many values",
        ),
        (
            "forbidden A process registers $r = * text A: assume: $r = 0",
            "1:31 `$r = *` `$r` may start with any integer and is used (for example `$r = * : [0:1]`)",
        ),
        (
            "forbidden A process(200) text A: nop process(200) text A: nop",
            "1:38 `process(200)` more than 256 processes",
        ),
    ] {
        check_refused(text, expected);
    }
}

#[test]
fn slips_in_statements_are_refused_with_a_place() {
    for (statements, expected) in [
        (
            "x := 1",
            "2:1 `x` unexpected `x` (a label is followed by `:`, a write starts with `write:`)",
        ),
        ("wriet: x := 1", "2:8 `x` unexpected `x` (did you mean `write`?)"),
        ("goto", "2:5 `` the text ends here"),
        ("goto M", "2:6 `M` process P0 has no label `M`"),
        ("M: nop; M: nop", "2:9 `M` a second label `M` in one process"),
        ("nop nop", "2:5 `nop` unexpected keyword `nop`"),
        ("{ nop", "2:6 `` the text ends here"),
        ("write: x = 1", "2:10 `=` unexpected `=`"),
        (
            "read: x := 1",
            "2:9 `:=` unexpected `:=` (`read: $r := x` reads into a register, `read: x = e` waits until `x` is `e`)",
        ),
        ("read: $r = x", "2:10 `=` unexpected `=`"),
        ("read: z = 0", "2:7 `z` undeclared variable `z`"),
        (
            "read: own = 0",
            "2:7 `own` undeclared variable `own` (the process's own variable is `own[my]`)",
        ),
        (
            "read: x[my] = 0",
            "2:7 `x[my]` process P0 has no variable `x` (`x` is global: write it without brackets)",
        ),
        (
            "read: own[0] = 0",
            "2:7 `own[0]` `own[0]` belongs to a process that does not exist (the number counts the other processes from 0)",
        ),
        (
            "read: own[$r] = 0",
            "2:11 `$r` unexpected `$r` (variables have no indices; to compute with addresses, use a pointer `[e]`)",
        ),
        ("read: [2] = 0", "2:8 `2` this pointer never points to a variable"),
        ("read: [$r + 5] = 0", "2:8 `$r + 5` this pointer never points to a variable"),
        ("$q := 0", "2:1 `$q` undeclared register `$q`"),
        (
            "$r := x",
            "2:7 `x` `x` in an expression (read memory into a register first: `read: $r := x`)",
        ),
        ("$r := me", "2:7 `me` `me` is reserved but has no meaning, also in Memorax"),
        (
            "$r := 1abc",
            "2:7 `1abc` `1abc` is neither a number nor a name (names do not start with a digit)",
        ),
        ("$r := (1", "2:9 `` the text ends here"),
        ("$ := 1", "2:1 `$` `$` without a name (registers are named like `$r0`)"),
        ("assume: $r == 0", "2:12 `=` unknown symbol `==` (equality is written `=`)"),
        ("assume: !true", "2:9 `!` unknown symbol `!` (negation is written `not`)"),
        (
            "assume: ($r = 0)",
            "2:13 `=` unexpected `=` (comparisons are grouped by `[` and `]`, not by parentheses)",
        ),
        ("assume: $r", "2:11 `` the text ends here"),
        ("assume: not not true", "2:13 `not` unexpected keyword `not` (write `not [not ..]`)"),
        ("nop // done", "2:5 `/` unknown symbol `/` (comments are written `/* like this */`)"),
        ("nop § nop", "2:5 `§` unknown symbol `§`"),
        (
            "locked { L: nop }",
            "2:10 `L` the label `L` in a locked block (a locked block is one step: there is no place inside of it)",
        ),
        (
            "locked { nop; if true then nop }",
            "2:15 `if true then nop` `if` in a locked block (choices are written as branches of the block, separated by `or`)",
        ),
        (
            "locked { read: x = 0; read: y = 0 }",
            "2:1 `locked { read: x = 0; read: y = 0 }` a locked block that reads more than once and does not write (add a `fence` to the block if it may wait for an empty buffer)",
        ),
        ("either { nop } or", "2:16 `or` unexpected keyword `or`"),
        (
            "endmacro",
            "2:1 `endmacro` unexpected `endmacro` (a label is followed by `:`, a write starts with `write:`)",
        ),
    ] {
        check_refused(&process(statements), expected);
    }
}

#[test]
fn macros_are_expanded() {
    check(
        "macro set(v, e) write: v := e endmacro
         macro both(a) set(x, a); set(y, a + 1) endmacro
         macro nothing() endmacro
         forbidden * data x = 0 y = 0 process nothing() text both((1 + 2))",
        "
[0] x = [0]
[1] y = [0]
P0 at 0
  0 -> 2: [0] := (1 + 2)
  2 -> 1: [1] := ((1 + 2) + 1)
forbidden *",
    );
    for (text, expected) in [
        ("macro m() nop", "1:1 `macro` macro `m` does not end"),
        ("macro m nop endmacro", "1:9 `nop` unexpected `nop`"),
        ("macro m(a, a) endmacro", "1:12 `a` a second parameter `a`"),
        ("macro m() macro n() endmacro", "1:11 `macro` a macro inside macro `m`"),
        ("macro m() endmacro macro m() endmacro", "1:26 `m` a second macro `m`"),
        ("macro m() m() endmacro m()", "1:11 `m` macro `m` calls itself"),
        ("macro a() b() endmacro macro b() a() endmacro b()", "1:11 `b` macro `b` calls itself"),
        ("macro m(a) a endmacro m()", "1:23 `m()` macro `m` is given 0 arguments"),
        ("macro m(a) a endmacro m(1, 2)", "1:23 `m(1, 2)` macro `m` is given 2 arguments"),
        ("macro m(a) a endmacro m(1,)", "1:27 `)` unexpected `)`"),
        ("macro m(a) a endmacro m(1", "1:23 `m` the arguments of macro `m` do not end"),
        (
            "macro m(a) a endmacro m 1",
            "1:25 `1` unexpected `1` (`m` is a macro and takes arguments in parentheses)",
        ),
    ] {
        check_refused(text, expected);
    }
}

/// What the other protocol calls synchronized is what waits for the buffer here.
#[test]
fn synchronized_accesses_wait_for_the_buffer() {
    let program = |text: &str| {
        let text = format!("forbidden L *\ndata x = 0 : [0:1]\n{0}{0}", body(text));
        crate::parse(crate::Format::Memorax, &text)
            .unwrap_or_else(|d| panic!("{}", d.message))
            .program
    };
    let body_of = |text: &str| {
        let mut program = program(text);
        let edges =
            program.threads.iter_mut().flat_map(|t| &mut t.points).flat_map(|p| &mut p.edges);
        edges.for_each(|edge| edge.span = weakspot_core::Span::default());
        program
    };
    assert_eq!(body_of("syncwr: x := 1"), body_of("locked write: x := 1"));
    assert_eq!(body_of("syncrd: $r := x"), body_of("{ fence; read: $r := x }"));
    let fence = |i: &weakspot_core::Instr| matches!(i, weakspot_core::Instr::Fence(_));
    let waiting = body_of("syncrd: x = 1");
    assert!(waiting.threads[0].points.iter().flat_map(|p| &p.edges).any(|e| fence(&e.instr)));
    for text in ["syncwr: x := 1", "syncrd: $r := x", "syncrd: x = $r"] {
        let text = format!("forbidden L *\ndata x = 0 : [0:1]\n{0}{0}", body(text));
        let printed = crate::reprint(crate::Format::Memorax, &text).unwrap_or_default();
        assert!(printed.contains(text.lines().nth(5).unwrap_or("-").trim()), "{printed}");
        assert_eq!(crate::reprint(crate::Format::Memorax, &printed), Ok(printed.clone()));
    }
}

fn body(text: &str) -> String {
    format!("process\nregisters $r = 0 : [0:1]\ntext\n{text};\nL: nop\n")
}

#[test]
fn huge_things_are_refused() {
    let message = |text: &str| MEMORAX.refuse(text).message;
    let deep = process(&format!("{} nop {}", "{ ".repeat(300), "}".repeat(300)));
    assert_eq!(message(&deep), "statements that are nested more than 200 deep");
    let deep = process(&format!("$r := {}1", "- ".repeat(300)));
    assert_eq!(message(&deep), "expressions that are nested more than 200 deep");
    let long = process(&format!("$r := 0{}", " + 1".repeat(2000)));
    assert_eq!(message(&long), "an expression of more than 1000 parts");
    let mut doubling = "macro m0() nop; nop endmacro ".to_owned();
    for i in 1..40 {
        doubling += &format!("macro m{i}() m{0}(); m{0}() endmacro ", i - 1);
    }
    doubling += "m39()";
    assert_eq!(message(&doubling), "a program of more than 1048576 tokens");
    let doubling = doubling.replace("nop; nop", "").replace(';', "");
    assert_eq!(message(&doubling), "a program of more than 1048576 tokens");
    let mut chain = "macro m0() nop endmacro ".to_owned();
    for i in 1..100 {
        chain += &format!("macro m{i}() m{}() endmacro ", i - 1);
    }
    chain += "m99()";
    assert_eq!(message(&chain), "macro calls that are nested more than 64 deep");
    let block = "locked { nop or nop };".repeat(20);
    let block = process(&format!("locked {{ {block} nop }}"));
    assert_eq!(
        message(&block),
        "a locked block that is too large once its branches are written out"
    );
}

#[test]
fn what_may_surprise_is_a_warning() {
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(MEMORAX.warnings(text), expected, "{text}");
    };
    check(
        "forbidden * * predicates $x = 1; $y = 2 process(2) text nop",
        &[
            "1:26 `$x = 1; $y = 2` `predicates` have no effect (only Memorax's predicate abstraction uses them)",
        ],
    );
    check(
        &process("write: y := 2; read: y = 3; $r := $r + 2; cas(y, 0, 7)"),
        &[
            "2:1 `write: y := 2` this write never happens (its value always lies outside of the domain [0:1] of the variable)",
            "2:16 `read: y = 3` this read never happens (its value always lies outside of the domain [0:1] of the variable)",
            "2:29 `$r := $r + 2` this assignment never happens (its value always lies outside of the domain [0:1] of $r)",
            "2:43 `cas(y, 0, 7)` this write never happens (its value always lies outside of the domain [0:1] of the variable)",
        ],
    );
    for text in CORPUS {
        check(text, &[]);
    }
}

#[test]
fn printing_keeps_the_tree() {
    for text in CORPUS.iter().chain([&EVERYTHING]) {
        MEMORAX.accept(text);
    }
}

#[test]
fn spans_cover_statements() {
    let text = process("L: write: x := 1; while $r = 0 do { read: own[my] = $r }");
    let found = spans(&text, &MEMORAX.accept(&text).program);
    assert_eq!(found, ["write: x := 1", "$r = 0", "read: own[my] = $r"]);
}

#[test]
fn broken_texts_never_panic() {
    let mut texts = CORPUS.to_vec();
    texts.push(EVERYTHING);
    for_each_mutation(&texts, &[], 9000, |text| drop(MEMORAX.read(text)));
}
