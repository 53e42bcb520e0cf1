//! Executions of programs with transactions: all of them, against every schedule of the machine.

use std::collections::BTreeSet;

use weakspot_core::machine::{Machine, Outcome, Schedule, State, Step};
use weakspot_core::serial::{
    BufferedReads, Conflicts, RunBounds, TxnCycle, each_run, relation, txn_run,
};
use weakspot_core::{
    BinOp, Expr, Fence, Instr, Model, PointId, Program, RegId, ThreadId, Transactions, TxnKind,
    TxnMark, Undeclared, Value,
};

use crate::straight;

const X: Value = 1;
const Y: Value = 2;
const ENOUGH: RunBounds = RunBounds { steps: 100_000, depth: 50 };

fn program(threads: &[&[Instr]]) -> Program {
    straight(threads, &[X, Y], Undeclared::Zero)
}

fn store(addr: Value) -> Instr {
    Instr::Store { addr: Expr::Const(addr), value: Expr::Const(1) }
}

fn load(addr: Value) -> Instr {
    Instr::Load { reg: RegId(0), addr: Expr::Const(addr) }
}

fn update(addr: Value) -> Instr {
    Instr::Update { reg: RegId(0), addr: Expr::Const(addr), value: Expr::Const(2) }
}

/// Each thread is one transaction.
fn marks(program: &Program) -> Transactions {
    let mut marks = Transactions::default();
    for (t, thread) in program.threads.iter().enumerate() {
        for point in 0..thread.points.len() {
            let mark = TxnMark { block: 0, begins: false };
            marks.mark(ThreadId::new(t), PointId::new(point), 0, mark);
        }
    }
    marks
}

type Events = Vec<(u32, u8, u32)>;

/// Without transactions, which have other numbers in each.
fn plain(events: &[weakspot_core::TxnEvent]) -> Events {
    events.iter().map(|e| (e.thread, e.kind as u8, e.var)).collect()
}

/// The events of all schedules that cannot go on.
fn by_schedules(program: &Program, model: Model) -> BTreeSet<Events> {
    fn go_on(machine: Machine<'_>, run: &mut Schedule, state: &State, all: &mut BTreeSet<Events>) {
        let mut is_end = true;
        for step in machine.steps(state) {
            if let Outcome::Next(next) = machine.take(state, step) {
                is_end = false;
                run.steps.push(step);
                go_on(machine, run, &next, all);
                run.steps.pop();
            }
        }
        if is_end {
            let marks = marks(machine.program);
            let run = txn_run(machine.program, &marks, machine.model, run).expect("a run");
            all.insert(plain(&run.events));
        }
    }
    let machine = Machine { program, model };
    let mut all = BTreeSet::new();
    for init in machine.initial_values() {
        let state = machine.initial_state(&init);
        go_on(machine, &mut Schedule { init, steps: vec![] }, &state, &mut all);
    }
    all
}

fn check(program: &Program, model: Model) -> usize {
    let expected = by_schedules(program, model);
    let mut found = Vec::new();
    let count = each_run(program, &marks(program), model, ENOUGH, &mut |run| {
        assert_eq!((run.spans.len(), run.addrs.len() >= 2), (run.events.len(), true));
        found.push(plain(&run.events));
        true
    });
    assert_eq!(count, Some(found.len() as u64));
    let starts: usize = program.locs.iter().map(|l| l.init.len()).product();
    let distinct: BTreeSet<Events> = found.iter().cloned().collect();
    assert_eq!(distinct, expected);
    assert!(found.len() <= starts * distinct.len(), "{} of {}", found.len(), distinct.len());
    found.len()
}

#[test]
fn all_executions() {
    let sb = program(&[&[store(X), load(Y)], &[store(Y), load(X)]]);
    assert_eq!([Model::Sc, Model::Tso].map(|model| check(&sb, model)), [6, 80]);
    let nop = Instr::Nop;
    let set = |value| Instr::Assign { reg: RegId(0), value: Expr::Const(value) };
    let never = || Instr::Assume(Expr::Const(0));
    let fails = || Instr::Assert(Expr::Const(0));
    let programs: [&[&[Instr]]; 7] = [
        // What memory does not see makes no more of them.
        &[&[nop.clone(), store(X), set(3), load(Y)], &[set(1), store(Y), nop.clone(), load(X)]],
        &[&[Instr::Lock, store(X), nop.clone(), Instr::Unlock], &[nop.clone(), store(Y), nop]],
        // Threads that stop.
        &[&[store(X), never(), load(Y)], &[store(Y), set(1), load(X)]],
        &[&[store(X), fails(), load(Y)], &[store(Y), set(1), load(X)]],
        &[&[never()], &[set(2), store(Y), load(X)]],
        &[&[update(X), load(Y)], &[store(Y), Instr::Fence(Fence::Full), load(X)]],
        &[&[store(X)], &[load(X)], &[set(5), load(X)]],
    ];
    for threads in programs {
        for model in [Model::Sc, Model::Tso] {
            assert!(check(&program(threads), model) > 0);
        }
    }
    let mut two = program(&[&[load(X)], &[store(X)]]);
    two.locs[0].init = vec![0, 7];
    assert_eq!(check(&two, Model::Sc), 4);
}

#[test]
fn bounds() {
    let sb = program(&[&[store(X), load(Y)], &[store(Y), load(X)]]);
    let run = |program: &Program, bounds, most: usize| {
        let mut found = 0;
        let count = each_run(program, &marks(program), Model::Tso, bounds, &mut |_| {
            found += 1;
            found < most
        });
        (count, found)
    };
    assert_eq!(run(&sb, ENOUGH, 1000), (Some(80), 80));
    assert_eq!(run(&sb, ENOUGH, 3), (Some(3), 3));
    assert_eq!(run(&sb, RunBounds { depth: 6, ..ENOUGH }, 1000), (Some(80), 80));
    assert_eq!(run(&sb, RunBounds { depth: 5, ..ENOUGH }, 1000).0, None);
    // One thread with one load is one step.
    let one = program(&[&[load(X)]]);
    assert_eq!(run(&one, RunBounds { steps: 1, depth: 1 }, 9), (Some(1), 1));
    assert_eq!(run(&one, RunBounds { steps: 0, depth: 1 }, 9), (None, 0));
    let mut starts = program(&[&[]]);
    starts.locs[0].init = vec![0, 1, 2];
    assert_eq!(run(&starts, RunBounds { steps: 3, depth: 1 }, 9), (Some(3), 3));
    assert_eq!(run(&starts, RunBounds { steps: 2, depth: 1 }, 9), (None, 0));
    assert_eq!(run(&starts, ENOUGH, 1), (Some(1), 1));
    // What has no meaning has no executions.
    let is = |value| Box::new(Expr::Const(value));
    let divided = Expr::Binary(BinOp::Div, is(1), is(0));
    let assigned = Instr::Assign { reg: RegId(0), value: divided };
    assert_eq!(run(&program(&[&[assigned]]), ENOUGH, 9), (None, 0));
}

/// The events of one run: by which steps, of which variables, in which transactions.
#[test]
fn one_run() {
    let threads: [&[Instr]; 2] = [
        &[store(X), Instr::Nop, load(50), update(60), load(50)],
        &[Instr::Fence(Fence::Full), store(Y)],
    ];
    let program = program(&threads);
    let take = |thread| Step::Execute { thread: ThreadId(thread), edge: 0, choice: 0 };
    let commit = Step::Commit { thread: ThreadId(0), addr: X };
    let second = Step::Commit { thread: ThreadId(1), addr: Y };
    let steps = vec![take(0), take(1), take(0), take(0), commit, take(0), take(1), take(0), second];
    let schedule = Schedule { init: vec![0, 0], steps };
    let run = txn_run(&program, &marks(&program), Model::Tso, &schedule).expect("a run");
    assert_eq!(run.steps, [0, 1, 3, 4, 5, 6, 7, 8]);
    assert_eq!(run.addrs, [X, Y, 50, 60]);
    assert_eq!(run.spans.iter().map(|s| s.start).collect::<Vec<_>>(), [0, 0, 2, 0, 3, 1, 4, 1]);
    let events: Vec<_> = run.events.iter().map(|e| (e.thread, e.kind, e.var)).collect();
    use TxnKind::{Commit, Read, Update, Write};
    let expected = [
        (0, Write, 0),
        (1, TxnKind::Fence, 0),
        (0, Read, 2),
        (0, Commit, 0),
        (0, Update, 3),
        (1, Write, 1),
        (0, Read, 2),
        (1, Commit, 1),
    ];
    assert_eq!(events, expected);
    let txns: Vec<u32> = run.events.iter().map(|e| e.txn).collect();
    assert!([0, 2, 3, 4, 6].iter().all(|&at| txns[at] == txns[0]));
    assert!(txns[1] == txns[5] && txns[1] == txns[7] && txns[1] != txns[0]);
    let blocked = Schedule { steps: vec![take(0), commit, commit], ..schedule };
    assert_eq!(txn_run(&program, &marks(&program), Model::Tso, &blocked).err(), Some(2));
}

/// Stores that are pending at the end of a run are committed some time.
#[test]
fn cycles_before_the_end() {
    let program = program(&[&[store(X), load(Y), store(X)], &[store(Y), load(X)]]);
    let marks = marks(&program);
    let take = |thread| Step::Execute { thread: ThreadId(thread), edge: 0, choice: 0 };
    let commit = |thread, addr| Step::Commit { thread: ThreadId(thread), addr };
    let cycle = |model, steps: &[Step]| {
        let schedule = Schedule { init: vec![0, 0], steps: steps.to_vec() };
        let run = txn_run(&program, &marks, model, &schedule).expect("a run");
        run.cycle(relation(model, BufferedReads::Exact))
    };
    let both = [take(0), take(0), take(1), take(1), commit(0, X), commit(1, Y), take(0)];
    assert_eq!(cycle(Model::Tso, &both), Some(TxnCycle(vec![(1, 5), (3, 4)])));
    assert_eq!(cycle(Model::Tso, &both[..4]), None);
    let turns = [take(0), take(1), take(0), take(1), take(0)];
    assert_eq!(cycle(Model::Sc, &turns), Some(TxnCycle(vec![(0, 3), (1, 2)])));
    assert_eq!(relation(Model::Sc, BufferedReads::Static), Conflicts::Sc);
}
