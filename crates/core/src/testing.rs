//! Random programs for tests, and a shrinker that knows what a program is: it drops threads and
//! instructions, so that what remains of a failure is short enough to read.

use crate::{
    BinOp, Edge, Expr, Fence, Instr, Location, Model, Observable, Observed, Point, PointId,
    Program, RegId, Span, Thread, ThreadId, Undeclared, Value, View,
};

mod hard;
mod history;
mod log;
mod ops;
mod serial;
mod transactions;
mod txn_history;
mod wide;

pub use hard::{ops_of_clauses, pigeonhole, random_3_sat};
pub use history::{HistorySize, random_history};
pub use log::{LogSize, random_log};
pub use ops::{
    OpsSize, OpsSource, any_times, check_ops, mutate_ops, random_ops, show_ops, shrink_ops,
    small_ops, timed_ops,
};
pub use serial::{
    TxnSize, overwriting_trace, random_trace, show_trace, shrink_trace, small_traces, trace_of,
};
pub use transactions::{TxnLog, TxnLogSize};
pub use txn_history::{TxnHistorySize, random_txn_history};
pub use wide::random_wide_program;

/// A small generator of random numbers (splitmix64): the same seed, the same numbers, for ever.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next_u64() % n as u64) as usize
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// How many random inputs a test tries, of all that it could: as many percent as the variable
/// `WEAKSPOT_TEST_SCALE` says, and a tenth if it is not set. Which ones does not depend on their number.
///
/// # Panics
/// If the variable is not a number: this is a test helper.
#[must_use]
pub fn scaled(all: usize) -> usize {
    let percent = match std::env::var("WEAKSPOT_TEST_SCALE") {
        Ok(percent) => percent.parse().expect("WEAKSPOT_TEST_SCALE is a number of percent"),
        Err(_) => 10,
    };
    (all * percent).div_ceil(100)
}

/// Those rows of a table that take long that a test tries: every third where it tries few random inputs, too.
#[must_use]
pub fn sampled<T>(rows: Vec<T>) -> Vec<T> {
    rows.into_iter().step_by(if scaled(100) < 25 { 3 } else { 1 }).collect()
}

/// How large random programs are.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// At least 2 threads, at most this many.
    pub threads: usize,
    /// At most this many instructions per thread.
    pub instrs: usize,
    /// At most this many instructions in all.
    pub total: usize,
    /// At most this many locations.
    pub locs: usize,
    /// Whether threads may jump backwards.
    pub loops: bool,
}

/// A random program with loads, stores, both fences, updates, now and then a branch, a computed
/// address, a choice or an atomic block. All registers and locations are observed.
pub fn random_program(rng: &mut Rng, size: Size) -> Program {
    let locs = 1 + rng.below(size.locs);
    let threads = 2 + rng.below(size.threads - 1);
    let mut left = size.total;
    let mut program = Program {
        threads: Vec::new(),
        locs: (0..locs)
            .map(|i| Location { addr: i as Value, init: vec![0], range: None })
            .collect(),
        wides: Vec::new(),
        undeclared: Undeclared::Fault,
        observed: Vec::new(),
        condition: None,
        forbidden: Vec::new(),
    };
    for t in 0..threads {
        let most = size.instrs.min(left.saturating_sub(threads - 1 - t)).max(1);
        let n = 1 + rng.below(most);
        left = left.saturating_sub(n);
        program.threads.push(random_thread(rng, n, locs, size.loops));
    }
    for (t, thread) in program.threads.iter().enumerate() {
        for r in 0..thread.regs.len() {
            let what = Observable::Reg(ThreadId::new(t), RegId::new(r));
            program.observed.push(Observed { what, view: View::Full });
        }
    }
    for l in 0..locs {
        let what = Observable::Loc(crate::LocId::new(l));
        program.observed.push(Observed { what, view: View::Full });
    }
    program
}

fn random_thread(rng: &mut Rng, n: usize, locs: usize, loops: bool) -> Thread {
    let mut regs = Vec::new();
    let mut points: Vec<Point> = Vec::new();
    let edge = |points: &mut Vec<Point>, instr, to: usize| {
        let edges = vec![Edge { instr, to: PointId::new(to), span: Span::default() }];
        points.push(Point { edges });
    };
    let fresh = |regs: &mut Vec<Value>| {
        regs.push(0);
        RegId::new(regs.len() - 1)
    };
    let mut locked = false;
    for _ in 0..n {
        let next = points.len() + 1;
        // Now and then the address is computed from the last value read.
        let addr = match regs.len() {
            r if r > 0 && rng.one_in(12) => Expr::binary(
                BinOp::Rem,
                Expr::binary(BinOp::BitAnd, Expr::Reg(RegId::new(r - 1)), Expr::Const(1)),
                Expr::Const(locs as Value),
            ),
            _ => Expr::Const(rng.below(locs) as Value),
        };
        let value = match regs.len() {
            r if r > 0 && rng.one_in(6) => Expr::Reg(RegId::new(rng.below(r))),
            _ => Expr::Const(1 + rng.below(2) as Value),
        };
        match rng.below(24) {
            0..8 => {
                let reg = fresh(&mut regs);
                edge(&mut points, Instr::Load { reg, addr }, next);
            }
            8..15 => edge(&mut points, Instr::Store { addr, value }, next),
            15..18 => {
                let reg = fresh(&mut regs);
                let old = Expr::Reg(reg);
                let value = match rng.below(3) {
                    0 => value,
                    1 => Expr::binary(BinOp::Add, old, Expr::Const(1)),
                    _ => Expr::select(
                        Expr::binary(BinOp::Eq, old.clone(), Expr::Const(0)),
                        value,
                        old,
                    ),
                };
                edge(&mut points, Instr::Update { reg, addr, value }, next);
            }
            18 | 19 => edge(&mut points, Instr::Fence(Fence::Full), next),
            20 | 21 => edge(&mut points, Instr::Fence(Fence::StoreStore), next),
            22 if !locked && !loops => {
                // An atomic block of two accesses, so that it has an inside.
                locked = true;
                let reg = fresh(&mut regs);
                edge(&mut points, Instr::Lock, next);
                edge(&mut points, Instr::Load { reg, addr }, next + 1);
                let addr = Expr::Const(rng.below(locs) as Value);
                edge(&mut points, Instr::Store { addr, value }, next + 2);
                edge(&mut points, Instr::Unlock, next + 3);
            }
            _ if !regs.is_empty() => {
                // A branch on the last register: the next instruction is skipped, or, with
                // loops, the thread may go back.
                let test = Expr::binary(
                    BinOp::Eq,
                    Expr::Reg(RegId::new(regs.len() - 1)),
                    Expr::Const(rng.below(2) as Value),
                );
                let away = if loops { rng.below(next) } else { next + 1 };
                edge(&mut points, Instr::Assume(test.clone()), next);
                let branch = Edge {
                    instr: Instr::Assume(test.negate()),
                    to: PointId::new(away),
                    span: Span::default(),
                };
                points[next - 1].edges.push(branch);
                if !loops {
                    edge(&mut points, Instr::Store { addr, value }, next + 1);
                }
            }
            _ => {
                let reg = fresh(&mut regs);
                edge(&mut points, Instr::Choose { reg, low: 0, high: 1 }, next);
            }
        }
    }
    points.push(Point::default());
    Thread { regs, entry: PointId::new(0), points }
}

/// The smallest program that still `fails`, by dropping threads and turning instructions into
/// no-ops until nothing more can go.
pub fn shrink(program: &Program, fails: &dyn Fn(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    'again: loop {
        for candidate in smaller(&smallest) {
            if fails(&candidate) {
                smallest = candidate;
                continue 'again;
            }
        }
        return smallest;
    }
}

fn smaller(program: &Program) -> Vec<Program> {
    let mut candidates = Vec::new();
    for t in 0..program.threads.len() {
        let mut p = program.clone();
        p.threads[t].points.truncate(1);
        p.threads[t].points[0].edges.clear();
        p.threads[t].entry = PointId::new(0);
        if p != *program {
            candidates.push(p);
        }
    }
    for (t, thread) in program.threads.iter().enumerate() {
        for (i, point) in thread.points.iter().enumerate() {
            for (e, edge) in point.edges.iter().enumerate() {
                if edge.instr != Instr::Nop {
                    let mut p = program.clone();
                    p.threads[t].points[i].edges[e].instr = Instr::Nop;
                    candidates.push(p);
                }
            }
        }
    }
    for i in 0..program.observed.len() {
        let mut p = program.clone();
        p.observed.remove(i);
        candidates.push(p);
    }
    candidates
}

/// A short text of a program for failure messages.
#[must_use]
pub fn show(program: &Program) -> String {
    let mut text = String::new();
    for (t, thread) in program.threads.iter().enumerate() {
        text += &format!("thread {t}, from {}\n", thread.entry.0);
        for (i, point) in thread.points.iter().enumerate() {
            for edge in &point.edges {
                text += &format!("  {i}: {:?} -> {}\n", edge.instr, edge.to.0);
            }
        }
    }
    text + &format!("observed {:?}\n", program.observed)
}

/// Runs `fails` on `count` random programs; on the first failure panics with the seed, the model
/// and the shrunk program.
///
/// # Panics
/// When a program fails: this is a test helper.
pub fn check_programs(
    seed: u64,
    count: usize,
    size: Size,
    models: &[Model],
    fails: &(dyn Fn(&Program, Model) -> bool + Sync),
) {
    // Two halves side by side; each program has a seed of its own, so the split changes nothing.
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for i in (half..count).step_by(2) {
                    let program = random_program(&mut Rng::new(seed + i as u64), size);
                    for &model in models {
                        if fails(&program, model) {
                            let small = shrink(&program, &|p| fails(p, model));
                            panic!(
                                "seed {} fails under {model:?}:\n{}",
                                seed + i as u64,
                                show(&small)
                            );
                        }
                    }
                }
            });
        }
    });
}
