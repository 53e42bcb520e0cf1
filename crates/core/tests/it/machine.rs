//! Steps of the machine one by one: what each instruction does, when it waits, and when it fails.

use weakspot_core::machine::{
    Entry, Failure, FailureKind, Local, Machine, Outcome, Schedule, State, Step,
};
use weakspot_core::{
    BinOp, Drain, Expr, Fence, Instr, Model, Observable, Observed, PointId, Program, RegId,
    ThreadId, Undeclared, Value, View,
};

use crate::straight;

const X: Value = 1;
const Y: Value = 2;
const PSO: Model = Model::Pso(Drain::All);
const OWN: Model = Model::Pso(Drain::Own);
const ALL: [Model; 4] = [Model::Sc, Model::Tso, PSO, OWN];

fn program(threads: &[&[Instr]]) -> Program {
    straight(threads, &[X, Y], Undeclared::Fault)
}

fn store(addr: Value, value: Value) -> Instr {
    Instr::Store { addr: Expr::Const(addr), value: Expr::Const(value) }
}

fn load(addr: Value) -> Instr {
    Instr::Load { reg: RegId(0), addr: Expr::Const(addr) }
}

/// Adds 10 to what is there.
fn update(addr: Value) -> Instr {
    let sum = [Expr::Reg(RegId(0)), Expr::Const(10)].map(Box::new);
    let [old, ten] = sum;
    let value = Expr::Binary(BinOp::Add, old, ten);
    Instr::Update { reg: RegId(0), addr: Expr::Const(addr), value }
}

fn execute(thread: u32) -> Step {
    Step::Execute { thread: ThreadId(thread), edge: 0, choice: 0 }
}

fn commit(thread: u32, addr: Value) -> Step {
    Step::Commit { thread: ThreadId(thread), addr }
}

/// `0` is a step of thread 0, `0x` the commit of its store to x.
fn steps(text: &str) -> Vec<Step> {
    let step = |word: &str| {
        let thread = word[..1].parse().expect("a thread");
        match &word[1..] {
            "" => execute(thread),
            "x" => commit(thread, X),
            _ => commit(thread, Y),
        }
    };
    text.split_whitespace().map(step).collect()
}

/// The state after these steps, or the first of them that is not possible.
fn after(program: &Program, model: Model, text: &str) -> Result<State, usize> {
    let machine = Machine { program, model };
    let mut state = machine.initial_state(&[0, 0]);
    for (at, step) in steps(text).into_iter().enumerate() {
        match machine.take(&state, step) {
            Outcome::Next(next) => state = next,
            Outcome::Blocked | Outcome::Failed(_) => return Err(at),
        }
    }
    Ok(state)
}

fn memory(state: &State) -> [Value; 2] {
    [state.memory[&X], state.memory[&Y]]
}

fn regs(state: &State) -> Vec<Value> {
    state.threads.iter().map(|local| local.regs[0]).collect()
}

#[test]
fn every_start() {
    let mut program = program(&[&[load(X)]]);
    let starts = |program: &Program| -> Vec<Vec<Value>> {
        Machine { program, model: Model::Sc }.initial_values().collect()
    };
    assert_eq!(starts(&program), [[0, 0]]);
    program.locs[0].init = vec![5, 6];
    program.locs[1].init = vec![7, 8, 9];
    let all = [[5, 7], [5, 8], [5, 9], [6, 7], [6, 8], [6, 9]];
    assert_eq!(starts(&program), all);
    let states = Machine { program: &program, model: PSO }.initial_states();
    assert_eq!(states.iter().map(memory).collect::<Vec<_>>(), all);
    let local = Local { point: PointId(0), regs: vec![0], buffer: vec![] };
    assert!(states.iter().all(|s| s.threads == [local.clone()] && s.lock.is_none()));
    program.locs[0].init.clear();
    assert_eq!(starts(&program), Vec::<Vec<Value>>::new());
}

#[test]
fn runs_that_commit_at_once() {
    let program = program(&[&[store(X, 1), load(Y)], &[store(Y, 1), Instr::Fence(Fence::Full)]]);
    let at_once = |text, model| {
        let run = Schedule { init: vec![0, 0], steps: steps(text) };
        run.committing_at_once(&program, model)
    };
    let expected = |text| Some(Schedule { init: vec![0, 0], steps: steps(text) });
    assert_eq!(at_once("0 1 1 0", Model::Sc), expected("0 1 1 0"));
    for model in [Model::Tso, PSO, OWN] {
        assert_eq!(at_once("0 1 1 0", model), expected("0 0x 1 1y 1 0"));
        assert_eq!(at_once("0 0 0", model), None, "a thread that has ended");
    }
}

/// What the machine may do next, and nothing else.
#[test]
fn what_is_worth_trying() {
    let choose = Instr::Choose { reg: RegId(0), low: 3, high: 4 };
    let all = program(&[&[choose], &[store(X, 1), store(Y, 1), store(X, 2), load(X)]]);
    let choice = |choice| Step::Execute { thread: ThreadId(0), edge: 0, choice };
    let next = |model, text| {
        let state = after(&all, model, text).expect("a run");
        Machine { program: &all, model }.steps(&state)
    };
    let [three, four] = [choice(3), choice(4)];
    assert_eq!(next(Model::Sc, "1 1 1"), [three, four, execute(1)]);
    assert_eq!(next(Model::Tso, "1 1 1"), [three, four, execute(1), commit(1, X)]);
    assert_eq!(next(PSO, "1 1 1"), [three, four, execute(1), commit(1, X), commit(1, Y)]);
    let machine = Machine { program: &all, model: Model::Sc };
    let start = machine.initial_state(&[0, 0]);
    for (choice, is_possible) in [(2, false), (3, true), (4, true), (5, false), (0, false)] {
        let step = Step::Execute { thread: ThreadId(0), edge: 0, choice };
        match machine.take(&start, step) {
            Outcome::Next(state) => assert!(is_possible && state.threads[0].regs == [choice]),
            other => assert!(!is_possible && other == Outcome::Blocked),
        }
    }
    // Where nothing is to be chosen, nothing else was; and threads and edges that are not there.
    let not_there = [
        Step::Execute { thread: ThreadId(1), edge: 0, choice: 1 },
        Step::Execute { thread: ThreadId(1), edge: 1, choice: 0 },
        execute(2),
        commit(2, X),
        commit(1, X),
    ];
    for step in not_there {
        assert_eq!(machine.take(&start, step), Outcome::Blocked);
    }
}

#[test]
fn buffers() {
    let two = program(&[&[store(X, 1), store(X, 2), load(X)], &[load(X)]]);
    for model in [Model::Tso, PSO, OWN] {
        // A thread sees its newest store, others what is in memory; stores to one place stay in order.
        let state = after(&two, model, "0 0 0 1").expect("a run");
        assert_eq!((regs(&state), memory(&state)), (vec![2, 0], [0, 0]));
        let state = after(&two, model, "0 0 0x 0 1").expect("a run");
        assert_eq!((regs(&state), memory(&state)), (vec![2, 1], [1, 0]));
        let machine = Machine { program: &two, model };
        assert!(!machine.is_final(&state));
        let state = after(&two, model, "0 0 0x 0 1 0x").expect("a run");
        assert_eq!(memory(&state), [2, 0]);
        assert!(machine.is_final(&state));
        assert_eq!(after(&two, model, "0 0 0x 0x 0x"), Err(4));
    }
    let state = after(&two, Model::Sc, "0 1").expect("a run");
    assert_eq!((regs(&state), memory(&state)), (vec![0, 1], [1, 0]));
    assert_eq!(after(&two, Model::Sc, "0 0x"), Err(1));
    let apart = program(&[&[store(X, 1), store(Y, 1)]]);
    assert_eq!(after(&apart, Model::Tso, "0 0 0y"), Err(2));
    assert!(after(&apart, PSO, "0 0 0y 0x").is_ok());
}

#[test]
fn fences() {
    let full = program(&[&[store(X, 1), Instr::Fence(Fence::Full)]]);
    let stores = Instr::Fence(Fence::StoreStore);
    let ordered = program(&[&[store(X, 1), stores.clone(), store(Y, 1), update(Y)]]);
    let first = program(&[&[stores, store(X, 1)]]);
    for model in ALL {
        let waits = model != Model::Sc;
        assert_eq!(after(&full, model, "0 0").is_err(), waits);
        assert_eq!(after(&full, model, "0 0x 0").is_ok(), waits);
        let entries = |state: State| state.threads[0].buffer.clone();
        assert_eq!(entries(after(&first, model, "0").expect("a run")), []);
        let buffer = entries(after(&ordered, model, "0 0").expect("a run"));
        let store = Entry::Store { addr: X, value: 1 };
        match model {
            Model::Sc => assert_eq!(buffer, []),
            Model::Tso => assert_eq!(buffer, [store]),
            Model::Pso(_) => assert_eq!(buffer, [store, Entry::Barrier]),
        }
        if waits {
            assert_eq!(after(&ordered, model, "0 0 0 0y"), Err(3));
            let state = after(&ordered, model, "0 0 0 0x 0y 0").expect("a run");
            assert_eq!((memory(&state), entries(state)), ([1, 11], vec![]));
        }
    }
}

#[test]
fn updates() {
    let own = program(&[&[store(X, 1), update(X)]]);
    let other = program(&[&[store(X, 1), update(Y)]]);
    let behind = program(&[&[store(X, 1), Instr::Fence(Fence::StoreStore), update(Y)]]);
    for model in [Model::Tso, PSO, OWN] {
        assert_eq!(after(&own, model, "0 0"), Err(1));
        let state = after(&own, model, "0 0x 0").expect("a run");
        assert_eq!((regs(&state), memory(&state)), (vec![1], [11, 0]));
        assert_eq!(after(&other, model, "0 0").is_ok(), model == OWN);
        assert_eq!(after(&behind, model, "0 0 0"), Err(2));
        assert!(after(&behind, model, "0 0 0x 0").is_ok());
    }
}

#[test]
fn the_lock() {
    let critical = [Instr::Lock, store(X, 1), Instr::Unlock];
    let program = program(&[
        &critical,
        &[store(Y, 1), Instr::Lock, Instr::Lock],
        &[store(Y, 2), Instr::Unlock],
    ]);
    let ends = |model, text| after(&program, model, text).map(|state| state.lock);
    assert_eq!(ends(Model::Sc, "0 0 0"), Ok(None));
    assert_eq!(ends(Model::Sc, "0 0"), Ok(Some(ThreadId(0))));
    // Nobody else does anything meanwhile, and it is taken once.
    assert_eq!(ends(Model::Sc, "0 1"), Err(1));
    assert_eq!(ends(Model::Sc, "1 1 1"), Err(2));
    assert_eq!(ends(Model::Sc, "1 1 0"), Err(2));
    // Only its owner frees it.
    assert_eq!(ends(Model::Sc, "2 2"), Err(1));
    // Both wait for the buffer, and commits of others wait, too.
    assert_eq!(ends(Model::Tso, "1 1"), Err(1));
    assert_eq!(ends(Model::Tso, "1 1y 1"), Ok(Some(ThreadId(1))));
    assert_eq!(ends(Model::Tso, "0 0 0"), Err(2));
    assert_eq!(ends(Model::Tso, "0 0 0x 0"), Ok(None));
    assert_eq!(ends(Model::Tso, "1 0 1y"), Err(2));
}

#[test]
fn failures() {
    let fails = |program: &Program, step: usize| {
        let machine = Machine { program, model: Model::Tso };
        let mut state = machine.initial_state(&[0, 0]);
        for _ in 0..step {
            assert_eq!(machine.advance(&mut state, execute(0)), Ok(true));
        }
        let kind = |f: Failure| (f.thread, f.span.start, f.kind);
        machine.advance(&mut state, execute(0)).map_err(kind)
    };
    let at = |kind| Err((ThreadId(0), 0, kind));
    let is = |value| Box::new(Expr::Const(value));
    let divided = Expr::Binary(BinOp::Div, is(1), is(0));
    assert_eq!(fails(&program(&[&[Instr::Assert(Expr::Const(1))]]), 0), Ok(true));
    assert_eq!(fails(&program(&[&[Instr::Assert(Expr::Const(2))]]), 0), Ok(true));
    let asserted = program(&[&[Instr::Assert(Expr::Const(0))]]);
    assert_eq!(fails(&asserted, 0), at(FailureKind::Assertion));
    let second = program(&[&[Instr::Nop, Instr::Assert(Expr::Const(0))]]);
    assert_eq!(fails(&second, 1), Err((ThreadId(0), 1, FailureKind::Assertion)));
    assert_eq!(fails(&program(&[&[Instr::Assume(Expr::Const(0))]]), 0), Ok(false));
    assert_eq!(fails(&program(&[&[Instr::Assume(Expr::Const(1))]]), 0), Ok(true));
    assert_eq!(fails(&program(&[&[Instr::Assume(Expr::Const(-1))]]), 0), Ok(true));
    assert_eq!(fails(&program(&[&[Instr::Assume(divided)]]), 0), at(FailureKind::DivisionByZero));
    // Where nothing was declared.
    for instr in [load(7), store(7, 1), update(7)] {
        let mut program = program(&[&[instr]]);
        assert_eq!(fails(&program, 0), at(FailureKind::BadAddress(7)));
        program.undeclared = Undeclared::Zero;
        assert_eq!(fails(&program, 0), Ok(true));
    }
    let mut zero = program(&[&[load(7)]]);
    zero.undeclared = Undeclared::Zero;
    zero.threads[0].regs = vec![5];
    assert_eq!(after(&zero, Model::Tso, "0").map(|state| regs(&state)), Ok(vec![0]));
    // What does not fit.
    for (value, fits) in [(-1, false), (0, true), (10, true), (11, false)] {
        let mut stored = program(&[&[store(X, value)]]);
        stored.locs[0].range = Some((0, 10));
        let expected = if fits { Ok(true) } else { at(FailureKind::OutOfRange(value)) };
        assert_eq!(fails(&stored, 0), expected);
    }
    let mut updated = program(&[&[update(X)]]);
    updated.locs[0].range = Some((0, 9));
    assert_eq!(fails(&updated, 0), at(FailureKind::OutOfRange(10)));
    updated.locs[0].range = Some((0, 10));
    assert_eq!(fails(&updated, 0), Ok(true));
}

#[test]
fn what_is_observed() {
    let mut program = program(&[&[store(X, 300), load(X)]]);
    let register = Observable::Reg(ThreadId(0), RegId(0));
    let place = Observable::Loc(weakspot_core::LocId(0));
    program.observed = vec![
        Observed { what: register, view: View::Full },
        Observed { what: place, view: View::Unsigned(8) },
    ];
    let machine = Machine { program: &program, model: Model::Tso };
    let state = after(&program, Model::Tso, "0 0 0x").expect("a run");
    assert_eq!(machine.observe(&state), [300, 44]);
}
