//! What programs compile to.

use super::super::operators::OPERATORS;
use super::super::{parse, print};
use super::{WEAK, show};
use crate::test_support::spans;
use weakspot_core::testing::Rng;
use weakspot_core::{Expr, Instr, PointId, ThreadId, TxnMark};

/// Compiles the body of a thread `t` with shared `x`, `y`, `a[2]` at addresses 1, 2, 3, 4.
fn check(body: &str, expected: &str) {
    let text = format!("shared x, y, a[2]\nthread t {{\n{body}\n}}\n");
    let shown = show(&WEAK.accept(&text));
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let shown: Vec<&str> = shown.lines().map(str::trim).collect();
    assert_eq!(shown, expected, "\n{body}\n");
}

#[test]
fn assignments() {
    check("x = 1", "t()\n 0 -> 1: [1] := 1\n 1 end");
    check("var r; r = y", "t(r=0)\n 0 -> 1: r := [2]\n 1 end");
    check("var r = 3, s", "t(r=3 s=0)\n 0 end");
    check("skip; var r = 3", "t(r=0)\n 0 -> 1: nop\n 1 -> 2: r := 3\n 2 end");
    check(
        "x = y + x * 2",
        "t($0=0 $1=0)
         0 -> 1: $0 := [2]
         1 -> 2: $1 := [1]
         2 -> 3: [1] := ($0 + ($1 * 2))
         3 end",
    );
    check(
        "a[x] = y",
        "t($0=0 $1=0)
         0 -> 1: $0 := [1]
         1 -> 2: $1 := [2]
         2 -> 3: [((($0 >= 0) && ($0 < 2)) ? (3 + $0) : 0)] := $1
         3 end",
    );
    check("a[1] = &a[1]", "t()\n 0 -> 1: [4] := 4\n 1 end");
    check(
        "var p = &a; *p = *(p + 1)",
        "t(p=3 $0=0)\n 0 -> 1: $0 := [(p + 1)]\n 1 -> 2: [p] := $0\n 2 end",
    );
    // A load may overwrite the register that held its address.
    check("x = *x", "t($0=0)\n 0 -> 1: $0 := [1]\n 1 -> 2: $0 := [$0]\n 2 -> 3: [1] := $0\n 3 end");
}

#[test]
fn updates() {
    check("var r; r = swap(x, 1)", "t(r=0)\n 0 -> 1: r := [1] := 1\n 1 end");
    check("var r; r = fetch_add(x, 2)", "t(r=0)\n 0 -> 1: r := [1] := (r + 2)\n 1 end");
    // The new value must not see the old one in its own register.
    check(
        "var r; r = swap(x, r)",
        "t(r=0 $0=0)\n 0 -> 1: $0 := [1] := r\n 1 -> 2: r := $0\n 2 end",
    );
    check(
        "cas(x, 0, y)",
        "t($0=0 $1=0)
         0 -> 1: $0 := [2]
         1 -> 2: $1 := [1] := (($1 == 0) ? $0 : $1)
         2 end",
    );
    check(
        "await (cas(x, 0, 1))",
        "t($0=0)
         0 -> 1: $0 := [1] := (($0 == 0) ? 1 : $0)
         1 -> 2: assume ($0 == 0)
         1 -> 0: assume ($0 != 0)
         2 end",
    );
    check("transaction { x = 1 }", "t()\n 0 -> 1: nop\n 1 -> 2: [1] := 1\n 2 end");
    check("atomic { x = 1 }", "t()\n 0 -> 1: lock\n 1 -> 2: [1] := 1\n 2 -> 3: unlock\n 3 end");
}

#[test]
fn branches() {
    check(
        "if (x == 0) { y = 1 } else { y = 2 }",
        "t($0=0)
         0 -> 1: $0 := [1]
         1 -> 2: assume ($0 == 0)
         1 -> 4: assume ($0 != 0)
         2 -> 3: [2] := 1
         3 end
         4 -> 3: [2] := 2",
    );
    // The second load happens only if the first test passed.
    check(
        "if (x == 0 && y == 0) { cs: skip }",
        "t($0=0)
         0 -> 1: $0 := [1]
         1 -> 2: assume ($0 == 0)
         1 -> 5: assume ($0 != 0)
         2 -> 3: $0 := [2]
         3 -> 4: assume ($0 == 0)
         3 -> 5: assume ($0 != 0)
         4(cs) -> 5: nop
         5 end",
    );
    check(
        "var r; r = x || y",
        "t(r=0 $0=0)
         0 -> 1: $0 := [1]
         1 -> 2: assume $0
         1 -> 4: assume !$0
         2 -> 3: r := 1
         3 end
         4 -> 5: $0 := [2]
         5 -> 2: assume $0
         5 -> 6: assume !$0
         6 -> 3: r := 0",
    );
    // The register of a branch that is not taken does not start with its value.
    check("if (false) { var r = 3 }", "t(r=0)\n 0 end");
    check("if (1 < 2) { x = 1 } else { x = 2 }", "t()\n 0 -> 1: [1] := 1\n 1 end");
    check(
        "var r; assert(x == 0 && !(y == 1))",
        "t(r=0 $0=0)
         0 -> 1: $0 := [1]
         1 -> 2: assume ($0 == 0)
         1 -> 4: assume ($0 != 0)
         2 -> 3: $0 := [2]
         3 -> 4: assume ($0 == 1)
         3 -> 5: assume ($0 != 1)
         4 -> 5: assert 0
         5 end",
    );
    check("assume(!x)", "t($0=0)\n 0 -> 1: $0 := [1]\n 1 -> 2: assume !$0\n 2 end");
}

#[test]
fn loops_and_jumps() {
    check(
        "while (x == 1) {}",
        "t($0=0)
         0 -> 1: $0 := [1]
         1 -> 0: assume ($0 == 1)
         1 -> 2: assume ($0 != 1)
         2 end",
    );
    check("loop {}", "t()\n 0 -> 0: nop");
    check("l: goto l", "t()\n 0(l) -> 0: nop");
    check("loop { x = 1; break }", "t()\n 0 -> 1: [1] := 1\n 1 end");
    check(
        "loop { if (x == 0) { continue }; y = 1 }",
        "t($0=0)
         0 -> 1: $0 := [1]
         1 -> 0: assume ($0 == 0)
         1 -> 2: assume ($0 != 0)
         2 -> 0: [2] := 1",
    );
    check("goto l; x = 1; l: y = 1", "t()\n 0(l) -> 1: [2] := 1\n 1 end");
    check("l: x = 1; stop; goto l", "t()\n 0(l) -> 1: [1] := 1\n 1 end");
    check("x = 1; l: m:", "t()\n 0 -> 1: [1] := 1\n 1(l/m) end");
    // A label at the end of a loop body is not the head of the loop.
    check("loop { x = 1; cs: }", "t()\n 0 -> 1: [1] := 1\n 1(cs) -> 0: nop");
    check("cs: goto l; l: x = 1", "t()\n 0(cs) -> 1: nop\n 1(l) -> 2: [1] := 1\n 2 end");
}

#[test]
fn choices() {
    check("var r; r = choose(0..2)", "t(r=0)\n 0 -> 1: r := 0..2\n 1 end");
    check(
        "choose { x = 1 } or { y = 1 } or { choose { x = 2 } or { assume(false) } }",
        "t()
         0 -> 1: [1] := 1
         0 -> 1: [2] := 1
         0 -> 1: [1] := 2
         0 -> 1: assume 0
         1 end",
    );
    // What can be returned to, is labelled or ends the thread keeps a point of its own.
    check(
        "choose { loop { x = 1 } } or { l: y = 1 } or {}",
        "t()
         0 -> 1: nop
         0 -> 2: nop
         0 -> 3: nop
         1 -> 1: [1] := 1
         2(l) -> 3: [2] := 1
         3 end",
    );
}

#[test]
fn copies_and_questions() {
    let text = "
        const N = 2
        shared flag[N] = {0, choose(0..1)} in 0..1, turn = N in 0..2
        thread p[N] {
            var r
            if (me > 0) { flag[me - 1] = 0 }
            r = flag[1 - me]
            cs: skip
        }
        thread q { var r; end: }
        forall (p[0].r == 0 || p[1].r / turn == flag[1])
        never two at (p.cs, q.end)
        never at q.end
        observe flag, p.r";
    let parsed = WEAK.accept(text);
    let expected = "\
p[0](r=0)
  0 -> 1: r := [2]
  1(cs) -> 2: nop
  2 end
p[1](r=0)
  0 -> 1: [1] := 0
  1 -> 2: r := [1]
  2(cs) -> 3: nop
  3 end
q(r=0)
  0(end) end
forall ((p[0].r == 0) ? 1 : (((p[1].r / turn) == flag[1]) != 0))
observed p[0].r p[1].r turn flag[1] flag[0]
forbidden 1 2 *
forbidden 1 * 0
forbidden * 2 0
forbidden * * 0
";
    assert_eq!(show(&parsed), expected);
    let locs: Vec<_> =
        parsed.program.locs.iter().map(|l| (l.addr, l.init.clone(), l.range)).collect();
    let range = Some((0, 1));
    assert_eq!(locs, [(1, vec![0], range), (2, vec![0, 1], range), (3, vec![2], Some((0, 2)))],);
    assert_eq!(parsed.names.condition, "p[0].r == 0 || p[1].r / turn == flag[1]");
}

#[test]
fn steps_carry_the_text_of_their_statement() {
    let text = "shared x, y\nthread t {\n  x = y\n  while (x == 1) {\n    atomic { y = 2 }\n  }\n}";
    let parsed = WEAK.accept(text);
    let head = "while (x == 1)";
    assert_eq!(spans(text, &parsed.program), ["x = y", head, "atomic", "y = 2", "}"]);
}

#[test]
fn the_examples_of_the_page_compile() {
    let examples = super::page_examples();
    assert!(examples.len() >= 6, "found {} examples", examples.len());
    for example in examples {
        assert_eq!(WEAK.accept(example).warnings, [], "{example}");
    }
}

/// Which steps belong to which transaction of the thread `t`: per step its text and the block, with
/// a mark where the block begins.
fn transactions(body: &str) -> String {
    let text = format!("shared x, y\nthread t {{ {body} }}");
    let parsed = WEAK.accept(&text);
    let thread = &parsed.program.threads[0];
    let mut out = Vec::new();
    for (p, point) in thread.points.iter().enumerate() {
        for (e, edge) in point.edges.iter().enumerate() {
            let mark = parsed.transactions.get(ThreadId::new(0), PointId::new(p), e);
            let word = &text[edge.span.start as usize..edge.span.end as usize];
            out.push(match mark {
                Some(TxnMark { block, begins: true }) => format!("{word} +{block}"),
                Some(TxnMark { block, .. }) => format!("{word} {block}"),
                None => word.to_owned(),
            });
        }
    }
    out.join(", ")
}

#[test]
fn steps_belong_to_transactions() {
    let check = |body, expected| assert_eq!(transactions(body), expected, "{body}");
    check("x = 1; transaction { y = 1 }; x = 2", "x = 1, transaction +0, y = 1 0, x = 2");
    check(
        "transaction { x = 1 } transaction { y = 1 }",
        "transaction +0, x = 1 0, transaction +1, y = 1 1",
    );
    check(
        "transaction { transaction { x = 1 } y = 1 } x = 2",
        "transaction +0, x = 1 0, y = 1 0, x = 2",
    );
    check("loop { transaction { x = 1 } }", "transaction +0, x = 1 0");
    check("choose { transaction { x = 1 } } or { y = 1 }", "transaction +0, y = 1, x = 1 0");
    check(
        "loop { transaction { if (x == 1) { break } y = 1 } } x = 2",
        "transaction +0, if (x == 1) 0, if (x == 1) 0, if (x == 1) 0, x = 2, y = 1 0",
    );
    check("transaction { atomic { x = 1 } }", "transaction +0, atomic 0, x = 1 0, } 0");
    check("atomic { transaction { x = 1 } }", "atomic, transaction +0, x = 1 0, }");
}

/// Sums, conjunctions and whatever else is associative may have any number of operands, and mean what they mean from
/// the left to the right.
#[test]
fn long_chains() {
    let value = |text: &str| WEAK.accept(text).program.threads[0].regs[0];
    let of = |name: &str| {
        let found = OPERATORS.iter().find(|(sign, ..)| *sign == name);
        found.expect("an operator").1
    };
    let mut rng = Rng::new(7);
    let groups: [&[&str]; 7] = [&["+", "-"], &["*"], &["&"], &["|"], &["^"], &["&&"], &["||"]];
    for round in 0..70 {
        let group = groups[round % groups.len()];
        let mut number = || [rng.below(1 << 40) as i64, 0, 1, -1, i64::MAX][rng.below(5)];
        let first = number();
        let (mut text, mut expected) = (format!("thread t {{ var r = {first}"), first);
        for _ in 0..90 + 40 * round {
            let (sign, n) = (group[round % 3 % group.len()], number());
            let sign = if n % 2 == 0 { sign } else { group[0] };
            text += &format!(" {sign} {n}");
            expected = of(sign).apply(expected, n).expect("no division");
        }
        text += " }\n";
        assert_eq!(value(&text), expected, "{text}");
        // What is printed says the same.
        let file = parse(&text).expect("a good text");
        let printed = print(&file);
        assert_eq!(parse(&printed), Ok(file));
        assert_eq!(value(&printed), expected);
    }
    // Variables are read in the order of the text.
    let names: Vec<&str> = (0..500).map(|i| ["x", "y", "a[0]", "a[1]"][i * 7 % 11 % 4]).collect();
    let text = format!("shared x, y, a[2]\nthread t {{ var r; r = {} }}\n", names.join(" - "));
    let program = WEAK.accept(&text).program;
    let edges = program.threads[0].points.iter().flat_map(|point| &point.edges);
    let read: Vec<i64> = edges
        .filter_map(|edge| match &edge.instr {
            Instr::Load { addr: Expr::Const(addr), .. } => Some(*addr),
            _ => None,
        })
        .collect();
    let expected = names.iter().map(|name| match *name {
        "x" => 1,
        "y" => 2,
        "a[0]" => 3,
        _ => 4,
    });
    assert_eq!(read, expected.collect::<Vec<i64>>());
    // A long one in parentheses in a long one; and still nothing that is nested deeply.
    let long = vec!["1"; 100_000].join(" + ");
    let text = format!("thread t {{ var r = {long} + ({long}) + ({long}) }}\n");
    assert_eq!(value(&text), 300_000);
    let text = format!("thread t {{ var r = {}{long}{} }}\n", "(".repeat(95), ")".repeat(95));
    assert!(WEAK.refuse(&text).message.contains("nested more than 100 deep"));
}
