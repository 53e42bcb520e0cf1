//! The complete procedures for TSO and PSO against the brute-force reference and against the search
//! of the store buffers themselves. Every run that it gives was replayed before it was returned.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weakspot_core::machine::FailureKind;
use weakspot_core::testing::{Size, check_programs, scaled};
use weakspot_core::{
    BinOp, Condition, Drain, Edge, Expr, Fence, Instr, Limit, Limits, Model, Observable, Point,
    PointId, Program, Progress, Quantifier, RegId, Silent, Snapshot, Span, Undeclared, Value,
    Verdict, reference,
};
use weakspot_explore::{Algorithm, NoAnswer, Strategy, dual_reach, reach};
use weakspot_lang::Format;

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: None,
    buffer: 4,
    workers: 1,
    ..Limits::UNLIMITED
};

/// What an engine says: whether something is violated, that the program is wrong, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Violated(bool),
    Faults,
    Nothing,
}

const MODELS: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

fn dual(program: &Program, model: Model) -> Said {
    match dual_reach(program, model, &LIMITS, &mut Silent) {
        Ok(Some(answer)) => match answer.verdict {
            Verdict::Holds => Said::Violated(false),
            Verdict::Violated => Said::Violated(true),
            Verdict::Unknown(_) => Said::Nothing,
        },
        Ok(None) => Said::Nothing,
        Err(NoAnswer::Fault(_)) => Said::Faults,
        Err(NoAnswer::Rejected(why)) => panic!("{why}"),
        Err(NoAnswer::NotApplicable(why)) => panic!("{why}"),
        Err(NoAnswer::NotTogether(why) | NoAnswer::NotResumed(why) | NoAnswer::NotStored(why)) => {
            panic!("{why}")
        }
    }
}

/// Whether `program` has a question about final states that `outcomes` decide the wrong way.
fn violates(program: &Program, outcomes: &BTreeSet<Vec<Value>>) -> bool {
    program.condition.as_ref().is_some_and(|condition| {
        let mut outcomes = outcomes.iter().map(|o| condition.prop.holds(o));
        match condition.quantifier {
            Quantifier::Exists => !outcomes.any(|b| b),
            Quantifier::NotExists => outcomes.any(|b| b),
            Quantifier::Forall => !outcomes.all(|b| b),
        }
    })
}

/// What may be said about each of these programs, which differ only in their questions: several
/// things where a program both faults and does what it must not. `None` if there are too many
/// states for brute force.
fn expected(programs: &[Program], model: Model, max: usize) -> Option<Vec<Vec<Said>>> {
    let mut all = Vec::new();
    // One search does for all programs that forbid nothing.
    let mut plain: Option<reference::Reachable> = None;
    for program in programs {
        let found = match &plain {
            Some(found) if program.forbidden.is_empty() => found.clone(),
            _ => reference::reachable(program, model, max)?,
        };
        let violated = found.forbidden || violates(program, &found.outcomes);
        all.push(match &found.failure {
            Some(f) if f.kind == FailureKind::Assertion => vec![Said::Violated(true)],
            Some(_) => vec![Said::Faults, Said::Violated(true)],
            None => vec![Said::Violated(violated)],
        });
        if program.forbidden.is_empty() {
            plain = Some(found);
        }
    }
    Some(all)
}

/// The same program with questions of several kinds, made from the program alone so that the
/// shrinker keeps them.
fn questions(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let at = |quarters: usize| {
        let point =
            |t: &weakspot_core::Thread| Some(PointId::new((t.points.len() - 1) * quarters / 4));
        program.threads.iter().map(point).collect::<Vec<_>>()
    };
    // All in the middle; one thread anywhere.
    let (mut late, mut early) = (at(3), at(1));
    late[0] = None;
    early[program.threads.len() - 1] = None;
    for forbidden in [vec![at(2)], vec![late, early]] {
        all.push(Program { forbidden, ..program.clone() });
    }
    let equal = |i: usize, v| {
        let i = i % program.observed.len();
        Expr::binary(BinOp::Eq, Expr::Reg(RegId::new(i)), Expr::Const(v))
    };
    if let Some(last) = program.observed.len().checked_sub(1) {
        for (a, b, v, w) in [(0, last, 1, 1), (0, 1, 0, 0), (1, last, 0, 2), (2, 3, 1, 0)] {
            for quantifier in [Quantifier::Exists, Quantifier::NotExists, Quantifier::Forall] {
                let op = if quantifier == Quantifier::Forall { BinOp::Or } else { BinOp::And };
                let prop = Expr::binary(op, equal(a, v), equal(b, w));
                let condition = Some(Condition { quantifier, prop });
                all.push(Program { condition, ..program.clone() });
            }
        }
    }
    all
}

struct Counts {
    holds: AtomicUsize,
    violated: AtomicUsize,
    silent: AtomicUsize,
}

impl Counts {
    const fn new() -> Counts {
        let [holds, violated, silent] = [const { AtomicUsize::new(0) }; 3];
        Counts { holds, violated, silent }
    }

    fn note(&self, said: Said) {
        let counter = match said {
            Said::Violated(false) => &self.holds,
            Said::Violated(true) => &self.violated,
            Said::Faults | Said::Nothing => &self.silent,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Both answers were given, each at least this often.
    fn check(self, least: usize) {
        let [holds, violated, silent] =
            [self.holds, self.violated, self.silent].map(AtomicUsize::into_inner);
        assert!(holds > least && violated > least, "{holds} hold, {violated} do not");
        assert!(silent < (holds + violated) / 10, "{silent} without an answer");
    }
}

/// Programs without loops are finite, so there is always an answer.
fn straight(seed: u64, count: usize, size: Size, change: fn(&mut Program)) {
    let counts = Counts::new();
    check_programs(seed, scaled(4 * count), size, &MODELS, &|program, model| {
        let mut program = program.clone();
        change(&mut program);
        let programs = questions(&program);
        let Some(expected) = expected(&programs, model, 20_000) else { return false };
        programs.iter().zip(expected).any(|(p, expected)| {
            let said = dual(p, model);
            counts.note(said);
            !expected.contains(&said)
        })
    });
    counts.check(scaled(4 * count));
}

const SMALL: Size = Size { threads: 3, instrs: 5, total: 9, locs: 3, loops: false };

#[test]
fn straight_programs_agree_with_the_reference() {
    straight(5_000_000, 400, SMALL, |_| {});
}

#[test]
fn four_threads_agree_with_the_reference() {
    let size = Size { threads: 4, instrs: 4, total: 9, locs: 3, loops: false };
    straight(5_100_000, 200, size, |_| {});
}

/// Single final states: those that the model has and SC has not, where buffers matter, another one, and
/// such that nobody has, made from the halves of two that there are.
#[test]
fn outcomes_agree_with_the_reference() {
    let [had, not, silent] = [const { AtomicUsize::new(0) }; 3];
    let check = |program: &Program, model| {
        let of = |model| reference::reachable(program, model, 20_000).map(|r| r.outcomes);
        let (Some(weak), Some(sc)) = (of(model), of(Model::Sc)) else { return false };
        let all: Vec<&Vec<Value>> = weak.iter().collect();
        let mixed = all.iter().zip(all.iter().rev()).map(|(a, b)| {
            let half = a.len() / 2;
            [&a[..half], &b[half..]].concat()
        });
        let new = all.iter().filter(|o| !sc.contains(**o)).map(|o| (*o).clone());
        let nobody: BTreeSet<Vec<Value>> = mixed.filter(|o| !weak.contains(o)).collect();
        let some = all.iter().take(1).map(|o| (*o).clone());
        new.take(4).chain(some).chain(nobody.into_iter().take(2)).any(|outcome| {
            let equal = |(i, &v): (usize, &Value)| {
                Expr::binary(BinOp::Eq, Expr::Reg(RegId::new(i)), Expr::Const(v))
            };
            let all = outcome.iter().enumerate().map(equal);
            let Some(prop) = all.reduce(|a, b| Expr::binary(BinOp::And, a, b)) else {
                return false;
            };
            let condition = Some(Condition { quantifier: Quantifier::NotExists, prop });
            let p = Program { condition, ..program.clone() };
            let said = dual(&p, model);
            let counter = match said {
                Said::Violated(true) => &had,
                Said::Violated(false) => &not,
                // With every register observed, there can be too many local states.
                Said::Nothing | Said::Faults => &silent,
            };
            counter.fetch_add(1, Ordering::Relaxed);
            said != Said::Violated(weak.contains(&outcome)) && said != Said::Nothing
        })
    };
    let size = Size { threads: 2, instrs: 6, total: 10, locs: 2, loops: false };
    check_programs(5_050_000, scaled(4_000), size, &MODELS, &check);
    check_programs(5_060_000, scaled(600), SMALL, &MODELS, &check);
    let [had, not, silent] = [had, not, silent].map(AtomicUsize::into_inner);
    assert!(had > scaled(2_000) && not > scaled(2_000), "{had} are possible, {not} are not");
    assert!(silent < 50, "{silent} without an answer");
}

/// Puts an instruction at the end of each thread.
fn append(program: &mut Program, instr: impl Fn(Expr) -> Instr) {
    for thread in &mut program.threads {
        let Some(last) = thread.regs.len().checked_sub(1) else { continue };
        let end = PointId::new(thread.points.len());
        let edge =
            Edge { instr: instr(Expr::Reg(RegId::new(last))), to: end, span: Span::default() };
        let points = &mut thread.points;
        points[end.index() - 1].edges.push(edge);
        points.push(Point::default());
    }
}

#[test]
fn assertions_agree_with_the_reference() {
    straight(5_200_000, 200, SMALL, |program| {
        append(program, |r| Instr::Assert(Expr::binary(BinOp::Ne, r, Expr::Const(2))));
    });
}

#[test]
fn several_initial_memories_agree_with_the_reference() {
    straight(5_300_000, 200, SMALL, |program| program.locs[0].init = vec![0, 2]);
}

/// Values out of range, addresses that are not declared, divisions by zero: found if they can
/// happen, and not made up where only the over-approximation has them.
#[test]
fn faults_agree_with_the_reference() {
    let changes: [fn(&mut Program); 3] = [
        |program| program.locs[0].range = Some((0, 1)),
        |program| {
            let gone = program.locs.len() - 1;
            program.locs.truncate(gone);
            program.observed.retain(|o| !matches!(o.what, Observable::Loc(l) if l.index() == gone));
        },
        |program| {
            append(program, |r| {
                let value = Expr::binary(BinOp::Sub, r, Expr::Const(1));
                Instr::Assume(Expr::binary(BinOp::Div, Expr::Const(1), value))
            });
        },
    ];
    let counts = [const { AtomicUsize::new(0) }; 2];
    for (i, change) in changes.iter().enumerate() {
        let seed = 5_400_000 + 10_000 * i as u64;
        check_programs(seed, scaled(400), SMALL, &MODELS, &|program, model| {
            let mut program = program.clone();
            change(&mut program);
            let programs = questions(&program);
            let Some(expected) = expected(&programs, model, 20_000) else { return false };
            programs.iter().zip(expected).any(|(p, expected)| {
                let said = dual(p, model);
                counts[usize::from(said == Said::Faults)].fetch_add(1, Ordering::Relaxed);
                !expected.contains(&said)
            })
        });
    }
    let [fine, faulty] = counts.map(AtomicUsize::into_inner);
    assert!(fine > scaled(4_000) && faulty > scaled(4_000), "{fine} without faults, {faulty} with");
}

#[test]
fn undeclared_memory_agrees_with_the_reference() {
    straight(5_500_000, 200, SMALL, |program| {
        let gone = program.locs.len() - 1;
        program.locs.truncate(gone);
        program.undeclared = Undeclared::Zero;
        program.observed.retain(|o| !matches!(o.what, Observable::Loc(l) if l.index() == gone));
    });
}

/// One thread inside of an atomic block that has seen a given value, the others anywhere: these
/// may have stores in their buffers that the block does not see.
#[test]
fn points_inside_of_blocks_agree_with_the_reference() {
    let size = Size { threads: 3, instrs: 5, total: 8, locs: 2, loops: false };
    let counts = Counts::new();
    check_programs(5_600_000, scaled(12_000), size, &MODELS, &|program, model| {
        (0..program.threads.len()).any(|t| {
            let locks = |p: &Point| matches!(p.edges.first(), Some(e) if e.instr == Instr::Lock);
            let Some(lock) = program.threads[t].points.iter().position(locks) else { return false };
            let mut p = program.clone();
            let points = &mut p.threads[t].points;
            let Instr::Load { reg, .. } = points[lock + 1].edges[0].instr else { return false };
            // What the block stores makes room for a look at what it has loaded.
            let seen = Expr::binary(BinOp::Eq, Expr::Reg(reg), Expr::Const(lock as Value % 2));
            points[lock + 2].edges[0].instr = Instr::Assume(seen);
            (1..=4).any(|quarters| {
                let at = |n: usize| Some(PointId::new((n - 1) * quarters / 4));
                let mut points: Vec<_> = p.threads.iter().map(|t| at(t.points.len())).collect();
                points[t] = Some(PointId::new(lock + 3));
                let p = Program { forbidden: vec![points], ..p.clone() };
                let Some(expected) = expected(std::slice::from_ref(&p), model, 20_000) else {
                    return false;
                };
                let said = dual(&p, model);
                counts.note(said);
                !expected[0].contains(&said)
            })
        })
    });
    counts.check(scaled(4_000));
}

/// Programs with loops, whose buffers may grow without bound: as the reference says where that
/// comes to an end, else as the search of the buffers says where that gives an answer.
#[test]
fn loops_agree() {
    loops(5_700_000, 250, &[Model::Tso], 100);
}

/// The same under PSO, store-store fences in loops included.
#[test]
fn loops_agree_under_pso() {
    loops(5_750_000, 60, &MODELS[1..], 20);
}

/// With a store-store fence behind each store, PSO is TSO: the two procedures have to agree where buffers
/// grow without bound and nobody else has an answer.
#[test]
fn fences_behind_all_stores_make_tso_of_pso() {
    let size = Size { threads: 3, instrs: 6, total: 11, locs: 2, loops: true };
    let counts = Counts::new();
    check_programs(5_770_000, scaled(400), size, &MODELS[1..], &|program, model| {
        let mut fenced = program.clone();
        fenced.threads.iter_mut().for_each(fence_stores);
        // The points that there were keep their numbers.
        questions(program).into_iter().any(|asked| {
            let Program { condition, forbidden, .. } = asked.clone();
            let tso = dual(&asked, Model::Tso);
            counts.note(tso);
            tso != dual(&Program { condition, forbidden, ..fenced.clone() }, model)
        })
    });
    counts.check(scaled(400));
}

/// Puts a store-store fence behind each store.
fn fence_stores(thread: &mut weakspot_core::Thread) {
    for p in 0..thread.points.len() {
        for e in 0..thread.points[p].edges.len() {
            let end = PointId::new(thread.points.len());
            let edge = &mut thread.points[p].edges[e];
            if matches!(edge.instr, Instr::Store { .. }) {
                let (to, span) = (std::mem::replace(&mut edge.to, end), edge.span);
                let fence = Edge { instr: Instr::Fence(Fence::StoreStore), to, span };
                thread.points.push(Point { edges: vec![fence] });
            }
        }
    }
}

/// Compares `count` programs; each way to compare is taken more often than `least`.
fn loops(seed: u64, count: usize, models: &[Model], least: usize) {
    let size = Size { threads: 3, instrs: 6, total: 11, locs: 2, loops: true };
    let counts = Counts::new();
    let [by_reference, by_buffers, alone] = [const { AtomicUsize::new(0) }; 3];
    check_programs(seed, count, size, models, &|program, model| {
        let programs = questions(program);
        if dual(&programs[0], model) == Said::Nothing {
            counts.note(Said::Nothing);
            return false;
        }
        let expected = expected(&programs, model, 2_000);
        programs.iter().enumerate().any(|(i, p)| {
            let said = dual(p, model);
            counts.note(said);
            if let Some(expected) = &expected {
                by_reference.fetch_add(1, Ordering::Relaxed);
                return !expected[i].contains(&said);
            }
            let small = Limits { memory: Some(1 << 16), buffer: 3, ..LIMITS };
            let eager = Algorithm::Eager(Strategy::Auto);
            let answer = reach(p, model, eager, &small, &mut Silent);
            match &answer.expect("addresses are always good").verdict {
                Verdict::Unknown(_) => {
                    alone.fetch_add(1, Ordering::Relaxed);
                    said == Said::Nothing
                }
                verdict => {
                    by_buffers.fetch_add(1, Ordering::Relaxed);
                    said != Said::Violated(*verdict == Verdict::Violated)
                }
            }
        })
    });
    let compared = [by_reference, by_buffers, alone].map(AtomicUsize::into_inner);
    assert!(compared.iter().all(|&n| n >= least), "{compared:?} compared");
    counts.check(5 * least);
}

/// The shipped programs get the answers that stand beside them.
#[test]
fn corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut count = 0;
    for folder in ["programs", "trencher", "memorax", "litmus"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("a part of the project") {
            let path = entry.expect("a readable folder").path();
            let Some(format) = Format::of_path(&path) else { continue };
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let parsed = weakspot_lang::parse(format, &text).expect("a shipped program");
            if !parsed.program.wides.is_empty() {
                // The procedure is not made for accesses that overlap.
                continue;
            }
            // A second or more each: with a quarter of the random inputs and more.
            let name = path.file_stem().and_then(|name| name.to_str()).expect("UTF-8");
            let is_large =
                ["snark", "mcs", "msn", "cilk", "clh-3"].iter().any(|l| name.starts_with(l));
            if is_large && scaled(100) < 25 {
                continue;
            }
            if path.ends_with("CMPXCHG-loop.litmus") {
                // Its counter is bounded only because no thread increments it twice, which the
                // threads do not know when they are looked at one by one.
                assert_eq!(dual(&parsed.program, Model::Tso), Said::Nothing);
                continue;
            }
            let said = match (dual(&parsed.program, Model::Tso), folder) {
                (Said::Violated(false), "litmus") => "tso ok",
                (Said::Violated(true), "litmus") => "tso no",
                (Said::Violated(false), _) => "tso holds",
                (Said::Violated(true), _) => "tso violated",
                other => panic!("{}: {other:?}", path.display()),
            };
            let expected = std::fs::read_to_string(path.with_extension("expected"));
            let expected = expected.expect("the answers stand beside the program");
            assert!(expected.lines().any(|l| l.starts_with(said)), "{}: {said}", path.display());
            count += 1;
        }
    }
    assert!(count >= 250, "{count}");
}

/// Fig. 12 of the lazy TSO reachability paper: both buffers grow without bound, and both threads
/// would have to read a value that nobody stores.
#[test]
fn the_program_on_which_lazy_search_never_ends() {
    let thread = |name: &str, own: u32, other: u32| {
        format!(
            "thread {name}\ninitial a\nfinal b\ntransition a a write - 1 r {own}\n\
             transition a a read r {other}\ntransition a b check == r 2\nend\n"
        )
    };
    let text = thread("one", 100, 101) + &thread("two", 101, 100);
    let parsed = weakspot_lang::parse(Format::Trencher, &text).expect("a program");
    for model in MODELS {
        assert_eq!(dual(&parsed.program, model), Said::Violated(false));
    }
}

/// A buffer that grows without bound, and an answer that rests on the order of its stores.
#[test]
fn an_endless_stream_of_stores() {
    let text = |stores: &str| {
        format!(
            "shared data = 0, flag = 0\nthread p {{ loop {{\n{stores}\n}} }}\n\
             thread q {{\nvar f, d\nf = flag\nd = data\nif (f == 1) {{ assert(d != 0) }}\n}}\n"
        )
    };
    let said = |stores| {
        let parsed = weakspot_lang::parse(Format::Weak, &text(stores)).expect("a program");
        MODELS.map(|model| dual(&parsed.program, model))
    };
    let [safe, not] = [Said::Violated(false), Said::Violated(true)];
    // Under PSO the stores to flag overtake those to data.
    assert_eq!(said("data = 1\nflag = 1\ndata = 2\nflag = 2"), [safe, not, not]);
    assert_eq!(said("data = 1\nflag = 1\ndata = 0\nflag = 0"), [not; 3]);
    assert_eq!(said("flag = 2\ndata = 1\nflag = 2"), [safe; 3]);
}

/// Loops with store-store fences in them: data and flag are in order, the other way round they are not.
#[test]
fn an_endless_stream_of_stores_with_fences() {
    let text = |reads: &str| {
        format!(
            "shared data = 0, flag = 0\nthread p {{ loop {{\n\
             data = 1\nfence.ss\nflag = 1\nfence.ss\ndata = 2\nfence.ss\nflag = 0\nfence.ss\n}} }}\n\
             thread q {{\nvar f, d\n{reads}\nif (f == 1) {{ assert(d != 0) }}\n}}\n"
        )
    };
    let said = |reads| {
        let parsed = weakspot_lang::parse(Format::Weak, &text(reads)).expect("a program");
        MODELS.map(|model| dual(&parsed.program, model))
    };
    assert_eq!(said("f = flag\nd = data"), [Said::Violated(false); 3]);
    assert_eq!(said("d = data\nf = flag"), [Said::Violated(true); 3]);
}

/// t has seen what u stores behind its overwriting of x, so t reads that: also where x = 1 is committed
/// before t is asked what it reads.
#[test]
fn an_own_store_that_is_overwritten_is_not_read() {
    for between in ["z = 1", "fence.ss", "z = 1\nfence.ss"] {
        let text = format!(
            "shared x = 0, y = 0, z = 0\n\
             thread t {{\nvar a, b\nx = 1\n{between}\na = y\nb = x\nassume(a == 1 && b == 1)\nbad: skip\n}}\n\
             thread u {{\nvar c\nc = x\nassume(c == 1)\nx = 2\nfence\ny = 1\ndone: skip\n}}\n\
             never at (t.bad, u.done)\n"
        );
        let parsed = weakspot_lang::parse(Format::Weak, &text).expect("a program");
        for model in MODELS {
            assert_eq!(dual(&parsed.program, model), Said::Violated(false), "{model:?} {between}");
        }
    }
}

#[test]
fn infinite_data_are_not_answered() {
    let text = "shared x\nthread p { loop { x = x + 1 } }\nthread q { assert(x != 1000000) }\n";
    let parsed = weakspot_lang::parse(Format::Weak, text).expect("a program");
    assert!(matches!(dual_reach(&parsed.program, Model::Tso, &LIMITS, &mut Silent), Ok(None)));
}

#[test]
fn an_interrupt_stops_the_search() {
    struct Impatient;
    impl Progress for Impatient {
        fn tick(&mut self, _: Snapshot) -> bool {
            false
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/programs/bakery.weak");
    let text = std::fs::read_to_string(root).expect("a shipped program");
    let parsed = weakspot_lang::parse(Format::Weak, &text).expect("a program");
    let answer = dual_reach(&parsed.program, Model::Tso, &LIMITS, &mut Impatient);
    let answer = answer.expect("an answer").expect("finite data");
    assert_eq!(answer.verdict, Verdict::Unknown(Limit::Interrupted));
}
