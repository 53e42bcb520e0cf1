//! Every refusal with its place, message and help.

use super::WEAK;
use crate::Diagnostic;

/// Refused at `place` (line:column and the marked text) with a message, and perhaps help.
#[track_caller]
fn check(text: &str, place: &str, message: &str, help: &str) {
    let error = WEAK.refuse(text);
    let found = (place_of(text, &error), &*error.message, error.help.as_deref().unwrap_or(""));
    assert_eq!(found, (place.to_owned(), message, help), "\n{text}\n{}", error.expected);
}

/// Line, column and the marked text.
fn place_of(text: &str, d: &Diagnostic) -> String {
    let (line, column) = d.span.line_column(text);
    format!("{line}:{column} {}", &text[d.span.start as usize..d.span.end as usize])
}

/// The same for the body of `thread t` in line 2, with shared `x`, `y in 0..1`, `flag[2]`.
#[track_caller]
fn check_body(body: &str, place: &str, message: &str, help: &str) {
    let text = format!("const N = 2; shared x, y in 0..1, flag[2]\nthread t {{ {body} }}\n");
    check(&text, &format!("2:{place}"), message, help);
}

#[test]
fn characters_and_numbers() {
    check("shared x@", "1:9 @", "unexpected character `@`", "");
    check("shared x = é", "1:12 é", "unexpected character `é`", "");
    check(
        "shared x = 9223372036854775808",
        "1:12 9223372036854775808",
        "number `9223372036854775808` does not fit in 64 bits",
        "",
    );
    let help = "a name starts with a letter or `_`";
    check("shared 2x", "1:8 2x", "`2x` is neither a number nor a name", help);
    check("shared x /* y", "1:10 /*", "comment is not closed", "");
}

#[test]
fn items() {
    check("thred t {}", "1:1 thred", "unknown item `thred`", "did you mean `thread`?");
    let help = "statements stand in a thread: `thread t { ... }`";
    check("x = 1", "1:1 x", "unknown item `x`", help);
    check("thread t {} }", "1:13 }", "`}` without `{`", "");
    check("shared fence", "1:8 fence", "`fence` is a reserved word", "");
    check("const N 2", "1:9 2", "unexpected `2`", "");
    check("shared x in 0 1", "1:15 1", "unexpected `1`", "");
    check("shared x y", "1:10 y", "unexpected `y` after the item", ITEMS_ON_LINES);
    check("never two x", "1:11 x", "unexpected `x`", "");
    check("never at x", "1:11 ", "unexpected end of the file", "");
    check("shared x", "1:1 ", "a program without threads", "");
}

const ITEMS_ON_LINES: &str = "put it on a line of its own, or separate the items with `;`";

#[test]
fn statements() {
    let lines = "put it on a line of its own, or separate the statements with `;`";
    check_body("x = 1 y = 2", "18 y", "unexpected `y` after the statement", lines);
    check_body("fense x", "18 x", "unexpected `x` after `fense`", "did you mean `fence`?");
    let message = "an expression is not a statement";
    check_body("fense", "12 fense", message, "did you mean `fence`?");
    check_body("cas(x, 0, 1) == 1", "25 ==", "`==` is a comparison", "write `=` to assign");
    check_body("x == 1", "14 ==", "`==` is a comparison", "write `=` to assign");
    check_body("x := 1", "14 :=", "`:=` is not an operator", "write `=` to assign");
    check_body(
        "x += 1",
        "14 +=",
        "`+=` is not an operator",
        "write `x = x + ...`, which is a load and a store if `x` is shared, or `fetch_add(x, ...)`",
    );
    check_body("if x == 1 {}", "15 x", "missing `(` after `if`", "");
    check_body("if (x = 1) {}", "18 =", "`=` in a condition", "write `==` to compare");
    check_body("await (x == 1", "26 }", "unexpected `}`", "");
    let braces = "a body stands in braces, `{}` if it is empty";
    check_body("while (x);", "21 ;", "missing `{` after the condition of `while`", braces);
    check_body("if (x) y = 1", "19 y", "missing `{` after the condition of `if`", "");
    check_body("else {}", "12 else", "`else` without `if`", "");
    check_body("or {}", "12 or", "`or` without `choose`", "");
    check_body("choose {}; x = 1", "21 ;", "unexpected `;`", "");
    let assign = "assign it: `r = choose(0..1)`";
    check_body("choose(0..1)", "12 choose", "the value of `choose` is not used", assign);
    let fences = "there are two fences: `fence` and `fence.ss` (store-store)";
    check_body("fence.sl", "18 sl", "unexpected `sl`", fences);
    check_body("goto 1", "17 1", "unexpected `1`", "");
    check_body("x + 1 = 2", "14 +", "unexpected `+` after `x`", "");
    check_body("1 = 2", "12 1", "`1` cannot be assigned", "");
    check_body("x = ", "17 }", "unexpected `}`", "");
    check("thread t {\n  loop {\n}\n", "1:10 {", "this `{` is never closed", "");
    check("thread t {\n  loop {\n}\nthread u {}", "1:10 {", "this `{` is never closed", "");
}

/// What people know from other languages.
#[test]
fn habits() {
    check("shared x = \\", "1:12 \\", "unexpected character `\\`", "");
    check("shared x = \0", "1:12 \0", "unexpected character `\\0`", "");
    let litmus = "this looks like a litmus test; the names of those end in `.litmus`";
    check("\nX86 SB\n{ x=0; }\n MOV [x],$1 ;", "2:1 X86", "unknown item `X86`", litmus);
    check("\u{feff}X86_64 SB", "1:2 X86_64", "unknown item `X86_64`", litmus);
    check_body("int r", "12 int", "unexpected type `int`", "declare it: `var r`");
    check_body("int r = 0;", "12 int", "unexpected type `int`", "declare it: `var r`");
    check_body(
        "unsigned int r",
        "12 unsigned",
        "unexpected type `unsigned`",
        "declare it: `var r`",
    );
    check("shared int data", "1:8 int", "unexpected type `int`", "write `shared data`");
    check("int data = 1", "1:1 int", "unexpected type `int`", "declare it: `shared data`");
    let help = "there is no `for`: use `while`";
    check_body("for (i = 0; i < 2; i++) {}", "12 for", "unknown statement `for`", help);
    check_body("r = 1", "12 r", "unknown name `r`", "declare it with `var r` or `shared r`");
    check_body("r[0] = 1", "12 r", "unknown name `r`", "declare it with `var r` or `shared r`");
    let help = "write `fence`, without parentheses";
    check_body("fence()", "17 (", "unexpected `(` after `fence`", help);
    check_body("await (x == 1 and y == 1)", "26 and", "`and` is not an operator", "write `&&`");
    check_body("await (x == 1 or y == 1)", "26 or", "`or` is not an operator", "write `||`");
    check_body("x = x and y", "18 and", "`and` is not an operator", "write `&&`");
    check_body("await (not x)", "19 not", "`not` is not an operator", "write `!`");
    check_body("await (not (x == 1))", "19 not", "`not` is not an operator", "write `!`");
    let help = "write `forall (...)` to ask about all final states";
    check("shared x\nassert (x == 1)", "2:1 assert", "`assert` outside of a thread", help);
    // All of these are names.
    WEAK.accept("shared int, and, not, for\nthread t { int = and + not; for = -not }");
    WEAK.accept("\u{feff}thread t { choose { skip } or { skip } }");
}

#[test]
fn expressions() {
    let help = "join them with `&&`";
    check_body("x = 0 < 1 < 2", "22 <", "comparisons do not chain", help);
    check_body("x = (1 + 2", "23 }", "unexpected `}`", "");
    check_body("x = if", "16 if", "`if` is a reserved word", "");
    check_body("x = cas(1, 2, 3)", "20 1", "`1` cannot be updated", "");
    check_body("x = cas(x, 2)", "24 )", "unexpected `)`", "");
    check_body("x = &1", "17 1", "`1` cannot be addressed", "");
    check("thread t { var r = 1\n+ 2 }", "2:1 +", "unexpected `+`", "");
    let deep = format!("thread t {{ var r = {}1 }}", "-".repeat(200));
    check(&deep, "1:119 -", "nested more than 100 deep", "");
    // Division is not associative.
    let deep = format!("thread t {{ var r = 1{} }}", " / 1".repeat(200));
    check(&deep, "1:418 /", "nested more than 100 deep", "");
    let deep = "thread t { ".to_owned() + &"loop { ".repeat(200);
    check(&deep, "1:712 loop", "nested more than 100 deep", "");
}

#[test]
fn names() {
    let unambiguous = "an assignment to it would be ambiguous: choose another name";
    check_body("flg[0] = 1", "12 flg", "unknown name `flg`", "did you mean `flag`?");
    check_body("var turn; trun = 1", "22 trun", "unknown name `trun`", "did you mean `turn`?");
    check_body("x = r; var r", "16 r", "`r` is not declared yet", DECLARED);
    check_body("var r = r", "20 r", "`r` is not declared yet", DECLARED);
    check_body("var x", "16 x", "`x` is already a shared variable", unambiguous);
    check_body("var N", "16 N", "`N` is already a constant", "");
    check_body("var t", "16 t", "`t` is already a thread", "");
    check_body(
        "var r; if (r) { var r }",
        "32 r",
        "register `r` is declared twice in thread `t`",
        "a register is known in the whole thread: assign it without `var`",
    );
    check_body("N = 1", "12 N", "constant `N` cannot be assigned", "");
    check_body("t = 1", "12 t", "`t` is a thread", "");
    check("shared x, x", "1:11 x", "`x` is already a shared variable", "");
    check("const x = 1; thread x {}", "1:21 x", "`x` is already a constant", "");
    let message = "constant `M` is used before its declaration";
    check("const N = M, M = 1", "1:11 M", message, "");
}

const DECLARED: &str = "a register is declared before its first use";

#[test]
fn memory() {
    let cell = "write `flag[i]` for a cell, or `&flag` for its address";
    check_body("x = flag", "16 flag", "`flag` is an array", cell);
    check_body("flag = 1", "12 flag", "`flag` is an array", cell);
    check_body("x[0] = 1", "12 x", "`x` is not an array", "");
    let address = "if `r` holds an address, write `*(r + i)`";
    check_body("var r; x = r[1]", "23 r", "`r` is not an array", address);
    check_body("var r; x = &r", "24 r", "register `r` has no address", "");
    check_body("var r; swap(r, 1)", "24 r", "register `r` has no address", "");
    check_body("x = flag[N]", "21 N", "index 2 is outside of `flag`", "");
    check_body("y = N", "16 N", "value 2 is outside of the range 0..1 of `y`", "");
    check(
        "shared a[2]\nthread p[2] { a[1 + me] = 0 }",
        "2:17 1 + me",
        "index 2 is outside of `a`",
        "in `p[1]`, `1 + me` is 2",
    );
    check("shared x = 7 in 0..1", "1:12 7", "initial value 7 is outside of 0..1", "");
    check("shared x in 1..2", "1:8 x", "initial value 0 is outside of 1..2", "");
    check("shared a[2] = {1, 2, 3}", "1:15 {1, 2, 3}", "3 initial values for 2 cells", "");
    check("shared x = {1}", "1:12 {1}", "`x` is not an array", "");
    check("shared x in 1..0", "1:13 1..0", "range 1..0 is empty", "");
    check("shared a[0]", "1:10 0", "array `a` has 0 cells", "");
    check("shared a[20000]", "1:10 20000", "too many cells of shared memory", "");
}

#[test]
fn constants() {
    let message = "not a constant: `x` is a shared variable";
    check("shared x, a[x]", "1:13 x", message, "");
    let message = "not a constant: addresses are not known yet here";
    check("shared x; const N = &x", "1:21 &x", message, "");
    check("const N = 1 / 0", "1:15 0", "division by zero", "");
    let copies = "declare the thread with a number of copies: `thread p[2]`";
    check("const N = me", "1:11 me", "`me` outside of a replicated thread", copies);
    check_body("x = me", "16 me", "`me` outside of a replicated thread", copies);
    check("thread p[N] {}", "1:10 N", "unknown name `N`", "");
    check("thread p[1 - 1] {}", "1:10 1 - 1", "thread `p` has 0 copies", "");
    check("thread p[65] {}", "1:10 65", "too many threads", "");
    check_body("x = choose(1..0)", "23 1..0", "range 1..0 is empty", "");
    check_body("x = choose(0..1000)", "23 0..1000", "too many choices", "");
    check_body("x = choose(0..x)", "26 x", "not a constant: `x` is a shared variable", "");
    check_body("var r; x = choose(0..r)", "33 r", "not a constant: `r` is a register", "");
}

#[test]
fn control() {
    check_body("goto crti; crit: skip", "17 crti", "unknown label `crti`", "did you mean `crit`?");
    check_body("goto cz; cs: skip", "17 cz", "unknown label `cz`", "");
    check_body("cs: cs: skip", "16 cs", "label `cs` is declared twice in thread `t`", "");
    check_body("break", "12 break", "`break` outside of a loop", "");
    check_body("continue", "12 continue", "`continue` outside of a loop", "");
    check_body("l: atomic { goto l }", "29 l", "`goto l` leaves an `atomic` block", "");
    check_body("goto l; atomic { l: }", "17 l", "`goto l` enters an `atomic` block", "");
    check_body("atomic { l: }; atomic { goto l }", "41 l", "`goto l` leaves an `atomic` block", "");
    check_body("loop { atomic { break } }", "28 break", "`break` leaves an `atomic` block", "");
    check_body("atomic { stop }", "21 stop", "`stop` leaves an `atomic` block", "");
    check_body("atomic { if (x) { atomic {} } }", "30 atomic", "`atomic` blocks do not nest", "");
}

#[test]
fn questions() {
    const THREADS: &str = "shared x, a[2]; thread t { var rr; cs: skip }; thread p[2] { l: }; \
                           thread worker { var seen; done: }\n";
    #[track_caller]
    fn check_question(question: &str, place: &str, message: &str, help: &str) {
        check(&(THREADS.to_owned() + question), &format!("2:{place}"), message, help);
    }
    let private = "registers are private: communicate through a shared variable";
    check_body("x = t.r", "16 t.r", "`t.r` cannot be read in a thread", private);
    check_body("t.r = 1", "12 t.r", "`t.r` cannot be assigned in a thread", private);
    check_question("exists (tt.rr)", "9 tt", "unknown thread `tt`", "");
    let message = "unknown thread `wroker`";
    check_question("exists (wroker.rr)", "9 wroker", message, "did you mean `worker`?");
    let message = "thread `worker` has no register `sean`";
    check_question("exists (worker.sean)", "16 sean", message, "did you mean `seen`?");
    let message = "thread `worker` has no label `doen`";
    check_question("never at worker.doen", "17 doen", message, "did you mean `done`?");
    let which = "say which: `p[0].l`; `never two at p.l` is about any two control points";
    check_question("never at (t.cs, p.l)", "17 p", "thread `p` has 2 copies", which);
    check_question("never at p[2].l", "12 2", "thread `p` has no copy 2", "");
    check_question("never at t[0].cs", "12 0", "thread `t` has no copies", "");
    let once = "a thread is at one point at a time";
    check_question("never at (t.cs, t.cs)", "17 t", "thread `t` is mentioned twice", once);
    let single = "`never at t.l` asks that a point is not reached at all";
    let message = "`never two` about a single thread";
    check_question("never two at t.cs", "1 never two at t.cs", message, single);
    let message = "register `rr` without its thread";
    check_question("exists (rr == 1)", "9 rr", message, "write `t.rr`");
    check_question("exists (t == 1)", "9 t", "`t` is a thread", "write `t.r` for its register `r`");
    check_question("exists (a)", "9 a", "`a` is an array", "write `a[0]` for its first cell");
    check_question("exists (a[2])", "11 2", "index 2 is outside of `a`", "");
    check_question("exists (a[x])", "11 x", "not a constant: `x` is a shared variable", "");
    let message = "`cas` in a question about final states";
    check_question("exists (cas(x, 0, 1))", "9 cas(x, 0, 1)", message, "");
    check_question("exists (*x == 1)", "9 *x", "`*x` in a question about final states", "");
    let join = "join the conditions with `&&`";
    let message = "a second question about final states";
    check_question("exists (x); never (x)", "13 never (x)", message, join);
    check_question("exists (x = 1)", "11 =", "`=` in a condition", "write `==` to compare");
    check_question("observe z", "9 z", "unknown name `z`", "");
    check_question("observe t", "9 t", "`t` is a thread", "");
}

#[test]
fn warnings() {
    #[track_caller]
    fn check_warnings(body: &str, expected: &[&str]) {
        let text = format!("shared x\nthread t {{ {body}");
        let found: Vec<String> = WEAK
            .accept(&text)
            .warnings
            .iter()
            .map(|w| {
                let (_, column) = w.span.line_column(&text);
                format!("{column} {}", w.message)
            })
            .collect();
        assert_eq!(found, expected, "{body}");
    }
    check_warnings("goto l; x = 1; x = 2; l: }", &["20 this statement is never reached"]);
    check_warnings("loop { x = 1 } x = 2 }", &["27 this statement is never reached"]);
    check_warnings(
        "loop { if (x) { break } else { stop } x = 3 } x = 2 }",
        &["50 this statement is never reached"],
    );
    check_warnings("while (x) { break } choose { stop } or { x = 1 } x = 2 }", &[]);
    check_warnings(
        "var r; await (r == 0) }",
        &["19 this `await` can never come true later: its condition reads no shared variable"],
    );
    check_warnings(
        "atomic { await (x == 0) } }",
        &["21 this `await` can never come true later: no other thread takes a step during an \
         `atomic` block"],
    );
    check_warnings("stop; cs: skip }\nnever at t.cs", &["12 nothing in thread `t` leads to `cs`"]);
}

/// A message with its particulars left out.
fn shape(message: &str) -> String {
    let mut shape = String::new();
    for (i, piece) in message.replace("\\n", " ").split('`').enumerate() {
        shape.push_str(if i % 2 == 0 { piece } else { "`_`" });
    }
    shape.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

#[test]
fn the_messages_of_the_page_exist() {
    let checked: Vec<String> = include_str!("messages.rs").split('"').map(shape).collect();
    let (_, section) = super::PAGE.split_once("## Messages").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| message"));
    let mut count = 0;
    for row in rows {
        for cell in row.split(" | ").map(|cell| cell.trim_matches(['|', ' '])) {
            assert!(cell.is_empty() || checked.contains(&shape(cell)), "{cell}");
            count += usize::from(!cell.is_empty());
        }
    }
    assert!(count > 80, "found {count} messages");
}
