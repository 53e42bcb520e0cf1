//! Robustness against TSO by attacks, and triangular-race freedom, compared with the definitions,
//! with each other and with the other search. Answers are certified before they get here.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::machine::Step;
use weakspot_core::testing::{Size, check_programs, scaled};
use weakspot_core::{
    Certified, Evidence, Fence, Instr, Limit, Limits, Model, Program, Silent, Snapshot, ThreadId,
    Verdict, reference,
};
use weakspot_explore::{Decide, Robust, robust, triangular_race_free};
use weakspot_lang::Format;

/// Some programs with loops count for ever.
const LIMITS: Limits =
    Limits { time: None, memory: Some(8 << 20), buffer: 0, workers: 1, ..Limits::UNLIMITED };

fn ask(program: &Program, decide: Decide, workers: usize) -> Option<Robust> {
    let limits = Limits { workers, ..LIMITS };
    robust(program, Model::Tso, decide, &limits, &mut Silent).ok().map(Certified::into_answer)
}

fn is_known(verdict: &Verdict) -> bool {
    !matches!(verdict, Verdict::Unknown(_))
}

fn holds(robust: bool) -> Verdict {
    if robust { Verdict::Holds } else { Verdict::Violated }
}

/// How many programs were robust and how many were not, so that a test is known to test something.
#[derive(Default)]
struct Tally([AtomicUsize; 2]);

impl Tally {
    fn count(&self, robust: bool) {
        self.0[usize::from(robust)].fetch_add(1, Ordering::Relaxed);
    }

    fn at_least(&self, least: usize) {
        for count in &self.0 {
            assert!(count.load(Ordering::Relaxed) >= least, "{:?}", self.0);
        }
    }
}

/// The program without what empties buffers, but for atomic blocks.
fn weakened(program: &Program) -> Program {
    let mut weak = program.clone();
    let points = weak.threads.iter_mut().flat_map(|t| &mut t.points);
    for edge in points.flat_map(|p| &mut p.edges) {
        match edge.instr.clone() {
            Instr::Fence(Fence::Full) => edge.instr = Instr::Nop,
            Instr::Update { reg, addr, .. } => edge.instr = Instr::Load { reg, addr },
            _ => {}
        }
    }
    weak
}

/// Each program and its weakened form.
fn both(program: &Program, fails: impl Fn(&Program) -> bool) -> bool {
    fails(program) || fails(&weakened(program))
}

fn check_straight(seed: u64, all: usize, size: Size) {
    let count = scaled(all);
    let tally = Tally::default();
    check_programs(seed, count, size, &[Model::Tso], &|program, _| {
        both(program, |program| {
            let Some(expected) = reference::robust(program, &[Model::Tso], 5_000) else {
                return false;
            };
            tally.count(expected[0]);
            ask(program, Decide::Attack, 1)
                .is_none_or(|answer| answer.verdict != holds(expected[0]))
        })
    });
    tally.at_least(count / 20);
}

#[test]
fn two_threads_agree_with_the_definition() {
    let size = Size { threads: 2, instrs: 6, total: 10, locs: 3, loops: false };
    check_straight(500_000, 1_500, size);
}

#[test]
fn three_threads_agree_with_the_definition() {
    let size = Size { threads: 3, instrs: 5, total: 10, locs: 3, loops: false };
    check_straight(510_000, 1_500, size);
}

#[test]
fn loops_agree_with_the_other_search() {
    let tally = Tally::default();
    let size = Size { threads: 3, instrs: 6, total: 14, locs: 3, loops: true };
    check_programs(520_000, scaled(1_000), size, &[Model::Tso], &|program, _| {
        both(program, |program| {
            let Some(expected) = ask(program, Decide::Pending, 1) else { return false };
            let Some(answer) = ask(program, Decide::Attack, 1) else { return true };
            if !is_known(&expected.verdict) || !is_known(&answer.verdict) {
                return false;
            }
            tally.count(expected.verdict == Verdict::Holds);
            answer.verdict != expected.verdict
        })
    });
    tally.at_least(scaled(100));
}

/// The same run and the same number of questions, whoever finds it.
#[test]
fn workers_change_nothing() {
    let size = Size { threads: 3, instrs: 6, total: 14, locs: 3, loops: false };
    check_programs(530_000, scaled(800), size, &[Model::Tso], &|program, _| {
        let program = weakened(program);
        let (one, three) = (ask(&program, Decide::Attack, 1), ask(&program, Decide::Attack, 3));
        let (Some(one), Some(three)) = (one, three) else { return true };
        let run = |r: &Robust| match &r.evidence {
            Some(Evidence::Run(run)) => Some(run.clone()),
            _ => None,
        };
        (&one.verdict, one.queries, one.reordered, run(&one))
            != (&three.verdict, three.queries, three.reordered, run(&three))
    });
}

fn corpus() -> Vec<(PathBuf, Program)> {
    let mut programs = Vec::new();
    for (folder, ending) in
        [("programs", "weak"), ("trencher", "txt"), ("memorax", "rmm"), ("litmus", "litmus")]
    {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
        let files = std::fs::read_dir(folder).expect("the corpus is part of the project");
        let mut paths: Vec<PathBuf> = files.map(|f| f.expect("a readable folder").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|e| e == ending));
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let format = Format::of_path(&path).expect("a known ending");
            let parsed = weakspot_lang::parse(format, &text).expect("a shipped program");
            // Neither attacks nor triangular races are about accesses that overlap.
            if parsed.program.wides.is_empty() {
                programs.push((path, parsed.program));
            }
        }
    }
    programs
}

#[test]
fn the_corpus_agrees_with_the_other_search() {
    let tally = Tally::default();
    for (path, program) in corpus() {
        let [pending, attack] = [Decide::Pending, Decide::Attack]
            .map(|decide| ask(&program, decide, 1).expect("a shipped program").verdict);
        if is_known(&pending) && is_known(&attack) {
            tally.count(pending == Verdict::Holds);
            assert_eq!(pending, attack, "{}", path.display());
        }
    }
    tally.at_least(scaled(240));
}

fn parse(text: &str) -> Program {
    weakspot_lang::parse(Format::Weak, text).expect("a program").program
}

const DEKKER: &str = "shared x, y\nthread p { var r\n x = 1\n r = y }\n\
                      thread q { var r\n y = 1\n r = x }\n";

/// The run of Figs. 4 and 5 of the lazy TSO paper: store and load of the attacker, store, flush
/// and load of the helper, flush.
#[test]
fn dekker_has_the_witness_of_the_paper() {
    let answer = ask(&parse(DEKKER), Decide::Attack, 1).expect("an answer");
    let Some(Evidence::Run(run)) = answer.evidence else { panic!("a run") };
    let execute = |t| Step::Execute { thread: ThreadId(t), edge: 0, choice: 0 };
    let commit = |t, addr| Step::Commit { thread: ThreadId(t), addr };
    let expected = [execute(0), execute(0), execute(1), commit(1, 2), execute(1), commit(0, 1)];
    assert_eq!(run.steps, expected);
    let reordered = answer.reordered.expect("a pair");
    assert_eq!((reordered.store, reordered.access, answer.queries), (0, 1, 1));
}

/// A limit, or a listener that has heard enough, ends all questions.
#[test]
fn limits_hold_for_all_questions() {
    struct Enough;
    impl weakspot_core::Progress for Enough {
        fn tick(&mut self, _: Snapshot) -> bool {
            false
        }
    }
    // Robust, but there is a pair to ask about, and p counts for ever.
    let endless = parse(
        "shared x, y\nthread p { var r\n while (true) { x = r\n r = r + 1 } }\n\
         thread q { var r\n y = 1\n r = x }\nthread o { var r\n r = y }\n",
    );
    for workers in [1, 3] {
        let limits = Limits { workers, ..LIMITS };
        let ask = |progress: &mut dyn weakspot_core::Progress| {
            robust(&endless, Model::Tso, Decide::Attack, &limits, progress).expect("an answer")
        };
        assert_eq!(ask(&mut Silent).verdict, Verdict::Unknown(Limit::Memory(8 << 20)));
        assert_eq!(ask(&mut Enough).verdict, Verdict::Unknown(Limit::Interrupted));
    }
}

fn race_free(program: &Program) -> Option<Verdict> {
    Some(triangular_race_free(program, &LIMITS, &mut Silent).ok()?.verdict.clone())
}

#[test]
fn races_agree_with_the_definition() {
    let tally = Tally::default();
    for (seed, loops) in [(540_000, false), (550_000, true)] {
        let size = Size { threads: 3, instrs: 5, total: 9, locs: 3, loops };
        check_programs(seed, scaled(3_200), size, &[Model::Tso], &|program, _| {
            both(program, |program| {
                let Some(expected) = reference::triangular_race_free(program, 4_000) else {
                    return false;
                };
                let Some(answer) = race_free(program) else { return true };
                tally.count(expected);
                is_known(&answer) && answer != holds(expected)
            })
        });
    }
    tally.at_least(scaled(1_200));
}

/// Freedom of triangular races is the stronger property.
#[test]
fn race_free_programs_are_robust() {
    let tally = Tally::default();
    let size = Size { threads: 4, instrs: 5, total: 12, locs: 4, loops: false };
    let stronger = |program: &Program| {
        let races = race_free(program)?;
        let robust = ask(program, Decide::Pending, 1)?.verdict;
        tally.count(robust == Verdict::Holds && races == Verdict::Violated);
        Some(races != Verdict::Holds || robust != Verdict::Violated)
    };
    check_programs(560_000, scaled(4_000), size, &[Model::Tso], &|program, _| {
        stronger(program) != Some(true)
    });
    for (path, program) in corpus() {
        assert_eq!(stronger(&program), Some(true), "{}", path.display());
    }
    tally.at_least(scaled(200));
}

#[test]
fn what_is_a_triangular_race() {
    let check = |text: &str, free: bool| {
        let program = parse(text);
        assert_eq!(race_free(&program), Some(holds(free)), "{text}");
        assert_eq!(reference::triangular_race_free(&program, 100_000), Some(free), "{text}");
    };
    check(DEKKER, false);
    // No cycle, but a race all the same: robust and not free of triangular races.
    check("shared x, y\nthread p { var r\n x = 1\n r = y }\nthread q { y = 1 }\n", false);
    // A fence, or an update, between the store and the load.
    check("shared x, y\nthread p { var r\n x = 1\n fence\n r = y }\nthread q { y = 1 }\n", true);
    // The load is answered by the thread's own store.
    check("shared x, y\nthread p { var r\n x = 1\n y = 2\n r = y }\nthread q { y = 1 }\n", true);
    check("shared x, y\nthread p { var r\n y = 2\n x = 1\n r = y }\nthread q { y = 1 }\n", false);
    // The other thread has to see the store first: then it is no longer pending.
    check(
        "shared x, y\nthread p { var r\n x = 1\n r = y }\n\
         thread q { var r\n r = x\n assume (r == 1)\n y = 1 }\n",
        true,
    );
    // An atomic block that writes only if none of the stores has arrived.
    check(
        "shared x, y, z\nthread p { var r\n x = 1\n z = 1\n r = y }\n\
         thread q { var r, s\n atomic { r = x\n s = z\n if (r == 0 && s == 0) { y = 1 } } }\n",
        false,
    );
    check(
        "shared x, y\nthread p { var r\n x = 1\n r = y }\n\
         thread q { var r\n atomic { r = x\n if (r == 0) { y = 1 } } }\n",
        false,
    );
}
