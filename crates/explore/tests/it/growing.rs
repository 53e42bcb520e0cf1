//! Tests that grow: with many threads or many stores, and few final states. What these are is known
//! without a search. And small random programs of the same kind, against the reference.

use weakspot_core::testing::{Rng, Size, random_program, scaled, show};
use weakspot_core::{
    Drain, Expr, Instr, Limits, Location, Model, Observable, Observed, Program, Silent, ThreadId,
    Value, Verdict, View,
};
use weakspot_explore::{Algorithm, Strategy, outcomes, reach};
use weakspot_lang::Format;

use crate::outcomes::differs;

/// A litmus test: a column per thread and what follows the threads.
fn test(columns: &[Vec<String>], rest: &str) -> Program {
    let names: Vec<String> = (0..columns.len()).map(|t| format!("P{t}")).collect();
    let mut text = format!("X86 test\n{{ }}\n {} ;\n", names.join(" | "));
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> =
            columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
        text += &format!(" {} ;\n", cells.join(" | "));
    }
    text += rest;
    let parsed = weakspot_lang::parse(Format::Litmus, &text);
    parsed.unwrap_or_else(|d| panic!("{}\n{text}", d.message)).program
}

fn store(to: impl std::fmt::Display, value: usize) -> String {
    format!("MOV [{to}],${value}")
}

/// `n` stores to locations whose names begin with `name`.
fn stores(name: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| store(format_args!("{name}{i}"), 1)).collect()
}

/// The number of final states.
fn states(program: &Program, model: Model) -> usize {
    let mut found = outcomes(program, model, Strategy::Auto, &Limits::UNLIMITED, &mut Silent)
        .expect("no fault");
    assert_eq!(found.stopped, None);
    found.judge(program, model).expect("evidence that passes");
    found.set.len()
}

const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

/// The final states under all models are as many as `expected` says for each.
fn check(name: &str, columns: &[Vec<String>], rest: &str, expected: [usize; 4]) {
    let program = test(columns, rest);
    for (model, expected) in MODELS.into_iter().zip(expected) {
        assert_eq!(states(&program, model), expected, "{name} under {model:?}");
    }
}

/// Every thread stores to a location of its own: they all end in one state.
#[test]
fn threads_of_their_own() {
    for n in [20, 64] {
        let columns: Vec<_> = (0..n).map(|t| vec![store(format_args!("x{t}"), 1)]).collect();
        let all: Vec<String> = (0..n).map(|t| format!("x{t}=1")).collect();
        check("own", &columns, &format!("forall ({})", all.join(" /\\ ")), [1; 4]);
        check("own", &columns, &format!("exists ({})", all.join(" /\\ ")), [1; 4]);
    }
    let columns: Vec<_> = (0..64).map(|t| stores(&format!("x{t}y"), 16)).collect();
    check("64 x 16", &columns, "forall (x0y0=1 /\\ x63y15=1)", [1; 4]);
    let again = |t| (1..=1_000).map(|v| store(format_args!("x{t}"), v)).collect::<Vec<_>>();
    let columns: Vec<_> = (0..8).map(again).collect();
    check("8 x 1000", &columns, "exists (x0=1000 /\\ x7=1000)", [1; 4]);
}

/// One thread: there is one final state, however it gets there.
#[test]
fn one_thread() {
    for n in [18, 1_000] {
        check("different locations", &[stores("x", n)], "exists (x0=1 /\\ x17=1)", [1; 4]);
        let again = (1..=n).map(|v| store("x", v)).collect::<Vec<_>>();
        check("one location", std::slice::from_ref(&again), &format!("forall (x={n})"), [1; 4]);
        // Somebody looks: any of the values, or none of them.
        let columns = [again, vec!["MOV EAX,[x]".to_owned()]];
        check("one location, read", &columns, "exists (1:EAX=1)", [n + 1; 4]);
    }
}

/// Stores that nobody looks at, before what the test is about.
#[test]
fn behind_stores() {
    let text = |lines: &[&str]| lines.iter().map(|&l| l.to_owned()).collect::<Vec<_>>();
    let behind = |name: &str, n, lines: &[&str]| [stores(name, n), text(lines)].concat();
    for n in [12, 20, 100] {
        let mp = ["MOV [x],$1", "MOV [y],$1"];
        let reader = text(&["MOV EAX,[y]", "MOV EBX,[x]"]);
        let exists = "exists (1:EAX=1 /\\ 1:EBX=0)";
        check("MP", &[behind("a", n, &mp), reader.clone()], exists, [3, 3, 4, 4]);
        // Others store to the same places, and to some that one of them reads.
        let others = [stores("a", n), text(&["MOV EAX,[a3]"])].concat();
        let columns = [behind("a", n, &mp), reader, others.clone(), others];
        check("MP with others", &columns, exists, [3, 3, 4, 4]);
        let sb = |own: &str, other: &str| [format!("MOV [{own}],$1"), format!("MOV EAX,[{other}]")];
        let columns = |a: &str, b: &str| {
            let one = [stores(a, n), sb("x", "y").to_vec()].concat();
            [one, [stores(b, n), sb("y", "x").to_vec()].concat()]
        };
        let exists = "exists (0:EAX=0 /\\ 1:EAX=0)";
        check("SB", &columns("a", "b"), exists, [3, 4, 4, 4]);
        check("SB, same places", &columns("a", "a"), exists, [3, 4, 4, 4]);
        let locations: Vec<String> = (0..n).map(|i| format!("a{i};")).collect();
        let rest = format!("locations [{}] {exists}", locations.join(" "));
        check("SB, same places, shown", &columns("a", "a"), &rest, [3, 4, 4, 4]);
        let fenced: Vec<String> =
            stores("a", n).into_iter().flat_map(|s| [s, "MFENCE".to_owned()]).collect();
        let mut columns = columns("a", "b");
        columns[0].splice(..n, fenced);
        check("SB, fences", &columns, exists, [3, 4, 4, 4]);
        let w22 = [
            behind("a", n, &["MOV [x],$1", "MOV [y],$2"]),
            behind("b", n, &["MOV [y],$1", "MOV [x],$2"]),
        ];
        check("2+2W", &w22, "exists (x=1 /\\ y=1)", [3, 3, 4, 4]);
    }
}

/// Threads that do the same, and threads that store to one place.
#[test]
fn many_threads() {
    let all = |n: usize, line: &dyn Fn(usize) -> Vec<String>| (0..n).map(line).collect::<Vec<_>>();
    for n in [20, 64] {
        let inc = all(n, &|_| vec!["LOCK INC [x]".to_owned()]);
        check("LOCK INC", &inc, &format!("forall (x={n})"), [1; 4]);
        let same = all(n, &|t| vec![store("x", t + 1)]);
        check("one location", &same, "exists (x=1)", [n; 4]);
        let mut read = same;
        read.push(vec!["MOV EAX,[x]".to_owned()]);
        check("one location, read", &read, &format!("exists ({n}:EAX=1)"), [n + 1; 4]);
    }
    let mut twice = all(10, &|_| vec!["LOCK INC [x]".to_owned(); 2]);
    twice.push(vec!["MOV EAX,[x]".to_owned()]);
    check("LOCK INC twice, read", &twice, "exists (10:EAX=3)", [21; 4]);
    let xadd = all(6, &|_| vec!["MOV EAX,$1".to_owned(), "LOCK XADD [x],EAX".to_owned()]);
    check("LOCK XADD", &xadd, "exists (0:EAX=3 /\\ 1:EAX=0)", [30; 4]);
    let mut corr = all(10, &|t| vec![store("x", t + 1)]);
    corr.push(vec!["MOV EAX,[x]".to_owned(), "MOV EBX,[x]".to_owned()]);
    check("CoRR", &corr, "exists (10:EAX=1 /\\ 10:EBX=2)", [111; 4]);
}

/// Threads that go by 0, too, change places: the run that is shown has choices only where something is chosen.
#[test]
fn threads_that_go_by_numbers_from_0_on() {
    for asks in ["never two at p.l1", "forall (x == 3)"] {
        let text = format!(
            "shared who = 4\nshared x\nthread p[3] {{\nwho = me\nwho = me\nl1: x = x\n}}\n{asks}\n"
        );
        let parsed = weakspot_lang::parse(Format::Weak, &text);
        let program = parsed.unwrap_or_else(|d| panic!("{}", d.message)).program;
        let found = reach(&program, Model::Sc, Algorithm::Auto, &Limits::UNLIMITED, &mut Silent);
        assert_eq!(found.expect("a run that passes its check").verdict, Verdict::Violated);
    }
}

/// A condition on final states is answered with everything else under SC: threads of a ticket lock
/// that do the same are looked at once, and the count at the end costs nothing.
#[test]
fn a_condition_keeps_symmetry() {
    let text = |asks: &str| {
        format!(
            "const N = 5
            shared next = 0, serving = 0, count = 0
            thread p[N] {{
                var ticket, c, i
                while (i < 2) {{
                    ticket = fetch_add(next, 1)
                    await (serving == ticket)
                    cs: c = count
                    count = c + 1
                    serving = ticket + 1
                    i = i + 1
                }}
            }}
            {asks}"
        )
    };
    let nodes = |asks: &str, verdict: Verdict| {
        let parsed = weakspot_lang::parse(Format::Weak, &text(asks));
        let program = parsed.unwrap_or_else(|d| panic!("{}", d.message)).program;
        let found = reach(&program, Model::Sc, Algorithm::Auto, &Limits::UNLIMITED, &mut Silent);
        let found = found.expect("an answer");
        assert_eq!(found.verdict, verdict, "{asks}");
        found.states
    };
    let plain = nodes("never two at p.cs", Verdict::Holds);
    let both = nodes("never two at p.cs\nforall (count == 10)", Verdict::Holds);
    assert!(both <= 2 * plain, "{both} with a condition, {plain} without");
    nodes("forall (count == 9)", Verdict::Violated);
}

/// A small random program in which some threads are copies of others, have locations of their
/// own, store much and look at little of it; and not all is observed.
fn special(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let size = Size { threads: 4, instrs: 4, total: 9, locs: 2, loops: rng.one_in(8) };
    let mut program = random_program(&mut rng, size);
    if rng.one_in(2) {
        let copies = program.threads.len() - rng.below(2);
        let steps = |p: &Program| p.threads.iter().map(|t| t.points.len()).sum::<usize>();
        let first = program.threads[0].clone();
        for t in 1..copies {
            let other = std::mem::replace(&mut program.threads[t], first.clone());
            // Four threads of four steps each would take as long as a thousand others.
            if steps(&program) > 16 {
                program.threads[t] = other;
            }
        }
    }
    let n = program.threads.len();
    let own = |t: usize| Expr::Const(100 + t as Value);
    let locs = program.locs.len();
    for t in 0..n {
        program.locs.push(Location { addr: 100 + t as Value, init: vec![0], range: None });
    }
    let (owners, writers) = (rng.one_in(2), rng.one_in(2));
    // The same choices for all threads, so that copies stay copies.
    let choices: Vec<(bool, bool)> = (0..16).map(|_| (rng.one_in(3), rng.one_in(2))).collect();
    for (t, thread) in program.threads.iter_mut().enumerate() {
        let edges = thread.points.iter_mut().flat_map(|p| &mut p.edges);
        for (edge, &(is_own, stores)) in edges.zip(choices.iter().cycle()) {
            if let (true, true, Instr::Load { addr, .. }) = (writers, stores, &edge.instr) {
                let value = Expr::Const(1 + rng.below(3) as Value);
                edge.instr = Instr::Store { addr: addr.clone(), value };
            }
            if let (true, true, Instr::Load { addr, .. } | Instr::Store { addr, .. }) =
                (owners, is_own, &mut edge.instr)
            {
                *addr = own(t);
            } else if let (true, true, Instr::Update { addr, .. }) =
                (owners, is_own, &mut edge.instr)
            {
                *addr = own(t);
            }
        }
    }
    program.observed.clear();
    let mut see = |what| {
        if !rng.one_in(3) {
            program.observed.push(Observed { what, view: View::Full });
        }
    };
    for (t, thread) in program.threads.iter().enumerate() {
        for r in 0..thread.regs.len() {
            see(Observable::Reg(ThreadId::new(t), weakspot_core::RegId::new(r)));
        }
    }
    for l in 0..locs + n {
        see(Observable::Loc(weakspot_core::LocId::new(l)));
    }
    program
}

#[test]
fn special_programs_agree_with_the_reference() {
    for seed in 0..scaled(4_000) as u64 {
        let program = special(7_000_000 + seed);
        for model in MODELS {
            assert!(!differs(&program, model), "seed {seed}, {model:?}\n{}", show(&program));
        }
    }
}
