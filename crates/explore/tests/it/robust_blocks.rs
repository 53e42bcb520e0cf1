//! Robustness of programs whose atomic blocks depend on what they read, against the definition.
//!
//! Such a block sees the memory without every store that is in a buffer while it runs, and goes on
//! accordingly; see `docs/how/robustness.md`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weakspot_core::testing::{Rng, scaled, show, shrink};
use weakspot_core::{
    BinOp, Drain, Edge, Expr, Fence, Instr, Limits, Location, Model, Point, PointId, Program,
    RegId, Silent, Span, Thread, Undeclared, Value, Verdict, reference,
};
use weakspot_explore::{Decide, robust, triangular_race_free};
use weakspot_lang::Format;

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: None,
    buffer: 4,
    workers: 1,
    ..Limits::UNLIMITED
};
/// How many random programs, at most.
const ALL: usize = 1_500;
const WEAK: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

/// What both algorithms say, if they say the same.
fn is_robust(program: &Program, model: Model) -> Option<bool> {
    let ask = |decide| robust(program, model, decide, &LIMITS, &mut Silent).ok();
    let verdict = ask(Decide::Pending)?.verdict.clone();
    match verdict == ask(Decide::Attack)?.verdict {
        true => holds(&verdict),
        false => None,
    }
}

fn is_race_free(program: &Program) -> Option<bool> {
    holds(&triangular_race_free(program, &LIMITS, &mut Silent).ok()?.verdict)
}

fn holds(verdict: &Verdict) -> Option<bool> {
    match verdict {
        Verdict::Holds => Some(true),
        Verdict::Violated => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// Whether the search and the definition agree under TSO, PSO and PSO-own.
fn check(text: &str, expected: [bool; 3]) {
    let program = weakspot_lang::parse(Format::Weak, text).expect("a program").program;
    let by_definition = reference::robust(&program, &WEAK, 100_000).expect("a small program");
    assert_eq!(by_definition, expected, "{text}");
    for (model, expected) in WEAK.into_iter().zip(expected) {
        assert_eq!(is_robust(&program, model), Some(expected), "{model} {text}");
    }
    let race_free = reference::triangular_race_free(&program, 100_000);
    assert_eq!(is_race_free(&program), race_free, "{text}");
}

/// The block has to miss two stores of one thread.
#[test]
fn two_stores_of_one_thread() {
    let with = |block: &str| {
        format!(
            "shared x = 0, y = 0, z = 0\nthread p {{ var r; x = 1; y = 1; r = z }}\n\
             thread q {{ var a, b; z = 1; atomic {{ {block} }} }}\n"
        )
    };
    check(&with("a = x; if (a == 0) { b = y }"), [false; 3]);
    check(&with("a = x; b = y; assume (a == 0 && b == 0)"), [false; 3]);
    check(&with("a = y; if (a == 0) { b = x }"), [false; 3]);
    // One of them is enough to be missed, or none of them can be.
    check(&with("a = x; b = y; assume (a == 1)"), [false; 3]);
    check(&with("a = x; b = y; assume (a == 1 && b == 1)"), [true; 3]);
    check(&with("a = x; b = y; assume (a == 0 && b == 1)"), [true, false, false]);
}

/// The block has to miss stores of two threads, which only PSO can bring about: the thread `t` has
/// to be waited for, and under TSO what it announces comes after what it did before.
#[test]
fn stores_of_two_threads() {
    check(
        "shared x = 0, y = 0, z = 0, g = 0\n\
         thread t { y = 1; g = 1 }\n\
         thread p { var r; r = g; if (r == 1) { x = 1; r = z } }\n\
         thread q { var a, b; z = 1; atomic { a = x; b = y; assume (a == 0 && b == 0) } }\n",
        [true, false, false],
    );
    // Both to the same place.
    check(
        "shared d = 0, z = 0, g = 0, h = 0\n\
         thread s { d = 1; g = 1 }\n\
         thread t { d = 2; h = 1 }\n\
         thread u { var r; r = g; if (r == 1) { r = h; if (r == 1) { r = z } } }\n\
         thread q { var a; z = 1; atomic { a = d; assume (a == 0) } }\n",
        [true, false, false],
    );
}

/// A store-store fence makes stores wait behind one that the block misses.
#[test]
fn store_store_fences() {
    let with = |p: &str, block: &str| {
        format!(
            "shared x = 0, y = 0, z = 0\nthread p {{ var r; {p}; r = z }}\n\
             thread q {{ var a, b; z = 1; atomic {{ {block} }} }}\n"
        )
    };
    let both = "a = x; b = y; assume (a == 0 && b == 0)";
    check(&with("x = 1; fence.ss; y = 1", both), [false; 3]);
    let second = "a = x; b = y; assume (a == 0 && b == 1)";
    check(&with("x = 1; fence.ss; y = 1", second), [true; 3]);
    check(&with("x = 1; y = 1; fence", both), [true; 3]);
}

/// A block that reads what it has just stored, and would be stuck without.
#[test]
fn a_block_that_reads_its_own_store() {
    check(
        "shared a = 0, b = 0\n\
         thread p { var r, s; atomic { r = b; a = 1; s = a; assume (r == 1 && s == 1) } }\n\
         thread q { var r; b = 1; r = a }\n\
         thread t { var r; r = swap(b, 1) }\n",
        [false; 3],
    );
}

struct Maker<'r> {
    rng: &'r mut Rng,
    locs: usize,
    regs: usize,
    points: Vec<Point>,
}

impl Maker<'_> {
    fn edge(&mut self, instr: Instr) {
        let to = PointId::new(self.points.len());
        let edge = Edge { instr, to, span: Span::default() };
        self.points.last_mut().expect("a first point").edges.push(edge);
        self.points.push(Point::default());
    }

    fn addr(&mut self) -> Expr {
        Expr::Const(self.rng.below(self.locs) as Value)
    }

    fn load(&mut self) -> RegId {
        let reg = RegId::new(self.regs);
        self.regs += 1;
        let addr = self.addr();
        self.edge(Instr::Load { reg, addr });
        reg
    }

    fn store(&mut self) {
        let (addr, value) = (self.addr(), Expr::Const(1 + self.rng.below(2) as Value));
        self.edge(Instr::Store { addr, value });
    }

    fn access(&mut self) {
        match self.rng.below(2) {
            0 => _ = self.load(),
            _ => self.store(),
        }
    }

    fn equals(&mut self, reg: RegId) -> Expr {
        Expr::binary(BinOp::Eq, Expr::Reg(reg), Expr::Const(self.rng.below(2) as Value))
    }

    /// Reads, and then does one of two things, or may get stuck.
    fn block(&mut self) {
        self.edge(Instr::Lock);
        let reg = self.load();
        let test = self.equals(reg);
        match self.rng.below(4) {
            0 => {
                self.access();
                let reg = self.load();
                let again = self.equals(reg);
                self.edge(Instr::Assume(Expr::binary(BinOp::And, test, again)));
            }
            1 => {
                self.edge(Instr::Assume(test));
                self.access();
            }
            2 => {
                self.access();
                self.access();
            }
            _ => {
                // Past the access if the test fails.
                let at = self.points.len() - 1;
                self.edge(Instr::Assume(test.clone()));
                self.access();
                let to = PointId::new(self.points.len() - 1);
                let instr = Instr::Assume(test.negate());
                self.points[at].edges.push(Edge { instr, to, span: Span::default() });
            }
        }
        self.edge(Instr::Unlock);
    }

    fn step(&mut self) {
        match self.rng.below(12) {
            0..4 => _ = self.load(),
            4..9 => self.store(),
            9 => self.edge(Instr::Fence(Fence::StoreStore)),
            10 if self.regs > 0 => {
                let reg = RegId::new(self.rng.below(self.regs));
                let test = self.equals(reg);
                self.edge(Instr::Assume(test));
            }
            _ => {
                let reg = RegId::new(self.regs);
                self.regs += 1;
                let addr = self.addr();
                self.edge(Instr::Update { reg, addr, value: Expr::Const(1) });
            }
        }
    }
}

/// Some threads, one or two of them with a block.
fn program(rng: &mut Rng) -> Program {
    let locs = 2 + rng.below(3);
    let count = 2 + rng.below(2);
    let mut threads = Vec::new();
    for t in 0..count {
        let mut maker = Maker { rng, locs, regs: 0, points: vec![Point::default()] };
        let has_block = t == 0 || maker.rng.one_in(4);
        for _ in 0..1 + maker.rng.below(if has_block { 2 } else { 4 }) {
            maker.step();
        }
        if has_block {
            maker.block();
        }
        let Maker { regs, points, .. } = maker;
        threads.push(Thread { regs: vec![0; regs], entry: PointId::new(0), points });
    }
    let loc = |i| Location { addr: i as Value, init: vec![0], range: None };
    Program {
        threads,
        locs: (0..locs).map(loc).collect(),
        wides: Vec::new(),
        undeclared: Undeclared::Fault,
        observed: Vec::new(),
        condition: None,
        forbidden: Vec::new(),
    }
}

/// Whether a search says something else than the definition, where that can be asked.
fn differs(program: &Program, counts: &[AtomicUsize; 2]) -> bool {
    if reference::triangular_race_free(program, 5_000)
        .is_some_and(|expected| is_race_free(program) != Some(expected))
    {
        return true;
    }
    let Some(expected) = reference::robust(program, &WEAK, 5_000) else { return false };
    WEAK.iter().zip(expected).any(|(&model, expected)| {
        counts[usize::from(expected)].fetch_add(1, Ordering::Relaxed);
        is_robust(program, model) != Some(expected)
    })
}

#[test]
fn random_blocks_agree_with_the_definition() {
    let counts = [const { AtomicUsize::new(0) }; 2];
    std::thread::scope(|scope| {
        for half in 0..2 {
            let counts = &counts;
            scope.spawn(move || {
                for seed in (half..scaled(ALL) as u64).step_by(2) {
                    let program = program(&mut Rng::new(seed));
                    if differs(&program, counts) {
                        let small = shrink(&program, &|p| differs(p, counts));
                        panic!("seed {seed}:\n{}", show(&small));
                    }
                }
            });
        }
    });
    let [broken, robust] = counts.map(AtomicUsize::into_inner);
    assert!(broken > scaled(300) && robust > scaled(300), "{broken} broken, {robust} robust");
}
