//! The extension of a program by a path: Fig. 3 of the lazy TSO paper, and its Lemma 1 by brute
//! force.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::expect;
use weakspot_core::machine::{Machine, Outcome, State};
use weakspot_core::testing::{Rng, Size, check_programs, show};
use weakspot_core::{Drain, Expr, Fence, Instr, Memory, Model, PointId, Program, ThreadId, Value};
use weakspot_explore::{At, Emulation, First, extend, extend_pso};
use weakspot_lang::Format;

/// Fig. 1, in Trencher's syntax: x is 100, y is 101.
const DEKKER: &str = "
thread t1
initial q0
final qg
transition q0 q1 write 1 100
transition q1 q2 read r1 101
transition q2 qg check == r1 0
end
thread t2
initial p0
final pg
transition p0 p1 write 1 101
transition p1 p2 read r2 100
transition p2 pg check == r2 0
end
";

fn at(point: usize) -> At {
    At { point: PointId::new(point), edge: 0 }
}

fn dekker() -> Program {
    weakspot_lang::parse(Format::Trencher, DEKKER).expect("a good program").program
}

/// Points 0, 2, 3, 1 are those of Fig. 1 from top to bottom, 4 is q1 and 7 is q2; register 0 is r1, 1
/// and 2 are ar1 and vr1.
#[test]
fn figure_3() {
    let program = dekker();
    let emulation = Emulation::of(&program);
    let extended = extend(&emulation, ThreadId::new(0), &[at(0), at(2)], First::Removed)
        .expect("a store and a load");
    let thread = Program { threads: extended.program.threads[..1].to_vec(), ..program.clone() };
    expect![[r#"
        thread 0, from 0
          0: Assign { reg: RegId(1), value: Const(100) } -> 5
          2: Load { reg: RegId(0), addr: Const(101) } -> 3
          3: Assume(Binary(Eq, Reg(RegId(0)), Const(0))) -> 1
          4: Store { addr: Reg(RegId(1)), value: Reg(RegId(2)) } -> 6
          4: Assume(Binary(Eq, Reg(RegId(1)), Const(101))) -> 8
          4: Assume(Binary(Ne, Reg(RegId(1)), Const(101))) -> 9
          5: Assign { reg: RegId(2), value: Const(1) } -> 4
          6: Fence(Full) -> 2
          7: Store { addr: Reg(RegId(1)), value: Reg(RegId(2)) } -> 3
          8: Assign { reg: RegId(0), value: Reg(RegId(2)) } -> 7
          9: Load { reg: RegId(0), addr: Const(101) } -> 7
        observed []
    "#]]
    .assert_eq(&show(&thread));
    assert_eq!(extended.program.threads[1], program.threads[1]);
}

#[test]
fn the_amended_extension_keeps_the_store() {
    let program = dekker();
    let emulation = Emulation::of(&program);
    let extended = extend(&emulation, ThreadId::new(0), &[at(0), at(2)], First::Kept)
        .expect("a store and a load");
    let thread = Program { threads: extended.program.threads[..1].to_vec(), ..program };
    expect![[r#"
        thread 0, from 0
          0: Store { addr: Const(100), value: Const(1) } -> 2
          0: Assign { reg: RegId(1), value: Const(100) } -> 5
          2: Load { reg: RegId(0), addr: Const(101) } -> 3
          3: Assume(Binary(Eq, Reg(RegId(0)), Const(0))) -> 1
          4: Assume(Binary(Eq, Reg(RegId(1)), Const(101))) -> 7
          4: Assume(Binary(Ne, Reg(RegId(1)), Const(101))) -> 8
          5: Assign { reg: RegId(2), value: Const(1) } -> 4
          6: Store { addr: Reg(RegId(1)), value: Reg(RegId(2)) } -> 3
          7: Assign { reg: RegId(0), value: Reg(RegId(2)) } -> 6
          8: Load { reg: RegId(0), addr: Const(101) } -> 6
        observed []
    "#]]
    .assert_eq(&show(&thread));
}

#[test]
fn only_paths_from_a_store_to_a_load_can_be_delayed() {
    let emulation = Emulation::of(&dekker());
    let extends =
        |t, path: &[At]| extend(&emulation, ThreadId::new(t), path, First::Removed).is_some();
    assert!(extends(1, &[at(0), at(2)]));
    assert!(!extends(0, &[]));
    assert!(!extends(0, &[at(0)]));
    assert!(!extends(0, &[at(2)]));
    assert!(!extends(0, &[at(0), at(0)]));
    assert!(!extends(0, &[at(0), at(2), at(3)]));
    assert!(!extends(0, &[at(0), at(17)]));
    assert!(!extends(2, &[at(0), at(2)]));
}

/// A state with empty buffers, as the original program knows it.
type Drained = (Vec<(PointId, Vec<Value>)>, Memory, Option<ThreadId>);

/// All states with empty buffers in which the threads stand at points of `original`.
fn drained(
    program: &Program,
    original: &Program,
    model: Model,
    most: usize,
) -> Option<BTreeSet<Drained>> {
    let machine = Machine { program, model };
    let mut seen: HashSet<State> = machine.initial_states().into_iter().collect();
    let mut todo: Vec<State> = seen.iter().cloned().collect();
    let mut found = BTreeSet::new();
    while let Some(state) = todo.pop() {
        let threads = || state.threads.iter().zip(&original.threads);
        if threads().all(|(l, o)| l.buffer.is_empty() && l.point.index() < o.points.len()) {
            let locals = threads().map(|(l, o)| (l.point, l.regs[..o.regs.len()].to_vec()));
            found.insert((locals.collect(), state.memory.clone(), state.lock));
        }
        for step in machine.steps(&state) {
            if let Outcome::Next(next) = machine.take(&state, step)
                && seen.insert(next.clone())
            {
                todo.push(next);
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    Some(found)
}

/// A random path without fences from a store to a load.
fn random_path(rng: &mut Rng, program: &Program) -> Option<(ThreadId, Vec<At>)> {
    let t = rng.below(program.threads.len());
    let points = &program.threads[t].points;
    let mut path = Vec::new();
    let mut best = None;
    let mut point = PointId::new(rng.below(points.len()));
    for _ in 0..2 + rng.below(10) {
        let edges = &points[point.index()].edges;
        if edges.is_empty() {
            break;
        }
        let edge = rng.below(edges.len());
        match edges[edge].instr {
            Instr::Update { .. } | Instr::Fence(Fence::Full) | Instr::Lock | Instr::Unlock => break,
            Instr::Store { .. } => path.push(At { point, edge }),
            _ if path.is_empty() => {}
            Instr::Load { .. } => {
                path.push(At { point, edge });
                best = Some(path.clone());
            }
            _ => path.push(At { point, edge }),
        }
        point = edges[edge].to;
    }
    Some((ThreadId::new(t), best?))
}

/// A random path from a store to an access that can overtake it under PSO, where an update waits
/// for the stores to its own address only, and which of its stores are to meet the first one: such
/// as do if addresses are constants, and any others.
fn random_pso_path(rng: &mut Rng, program: &Program) -> Option<(ThreadId, Vec<At>, Vec<bool>)> {
    let t = rng.below(program.threads.len());
    let points = &program.threads[t].points;
    let (mut path, mut meets) = (Vec::new(), Vec::new());
    let mut first: Option<Expr> = None;
    let (mut fenced, mut best) = (false, None);
    let mut point = PointId::new(rng.below(points.len()));
    for _ in 0..2 + rng.below(10) {
        let edges = &points[point.index()].edges;
        if edges.is_empty() {
            break;
        }
        let edge = rng.below(edges.len());
        let instr = &edges[edge].instr;
        let mut overtakes = matches!(instr, Instr::Load { .. });
        let mut meet = false;
        match instr {
            Instr::Fence(Fence::Full) | Instr::Lock | Instr::Unlock => break,
            Instr::Store { addr, .. } | Instr::Update { addr, .. } if first.is_some() => {
                let update = matches!(instr, Instr::Update { .. });
                let same = match (addr, &first) {
                    (Expr::Const(a), Some(Expr::Const(b))) => a == b,
                    _ => rng.one_in(2),
                };
                if update && (fenced || same) {
                    break;
                }
                (meet, overtakes) = (same, !same && !fenced);
            }
            Instr::Store { addr, .. } => (first, meet) = (Some(addr.clone()), true),
            Instr::Fence(Fence::StoreStore) => fenced = first.is_some(),
            _ => {}
        }
        if first.is_some() {
            path.push(At { point, edge });
            meets.push(meet);
            if overtakes && path.len() > 1 {
                best = Some((path.clone(), meets.clone()));
            }
        }
        point = edges[edge].to;
    }
    let (path, meets) = best?;
    Some((ThreadId::new(t), path, meets))
}

/// One extension of `r` by a random path. `Err` if there are no paths.
fn extended(rng: &mut Rng, r: &Emulation, model: Model) -> Result<Option<Emulation>, ()> {
    if model == Model::Tso {
        let paths = (0..30).filter_map(|_| random_path(rng, &r.program));
        let (thread, path) = paths.max_by_key(|(_, path)| path.len()).ok_or(())?;
        let first = if rng.one_in(3) { First::Kept } else { First::Removed };
        return Ok(extend(r, thread, &path, first));
    }
    let paths = (0..30).filter_map(|_| random_pso_path(rng, &r.program));
    let (thread, path, meets) = paths.max_by_key(|(_, path, _)| path.len()).ok_or(())?;
    Ok(extend_pso(r, thread, &path, &meets))
}

/// Extends a program up to three times by random paths and compares after each.
fn lemma_1(seed: u64, count: usize, size: Size, model: Model, most: usize) {
    let extensions = AtomicUsize::new(0);
    check_programs(seed, count, size, &[model], &|program, model| {
        let Some(weak) = drained(program, program, model, most) else { return false };
        let Some(sc) = drained(program, program, Model::Sc, most) else { return false };
        let mut rng = Rng::new(seed ^ program.threads.len() as u64);
        let mut r = Emulation::of(program);
        for _ in 0..3 {
            let Ok(next) = extended(&mut rng, &r, model) else { break };
            let Some(next) = next else { return true };
            r = next;
            let Some(found) = drained(&r.program, program, model, 4 * most) else { break };
            if found != weak {
                return true;
            }
            // Extensions lie between SC and the model when they are run under SC.
            let Some(found) = drained(&r.program, program, Model::Sc, 4 * most) else { break };
            if !(sc.is_subset(&found) && found.is_subset(&weak)) {
                return true;
            }
            extensions.fetch_add(1, Ordering::Relaxed);
        }
        false
    });
    let extensions = extensions.into_inner();
    assert!(extensions > count / 2, "{extensions} extensions");
}

#[test]
fn extensions_keep_the_states_of_straight_programs() {
    let size = Size { threads: 2, instrs: 7, total: 10, locs: 3, loops: false };
    lemma_1(1_000, 1_000, size, Model::Tso, 1_000);
    let size = Size { threads: 3, instrs: 5, total: 9, locs: 2, loops: false };
    lemma_1(20_000, 500, size, Model::Tso, 1_000);
}

#[test]
fn extensions_keep_the_states_of_programs_with_loops() {
    let size = Size { threads: 2, instrs: 6, total: 8, locs: 2, loops: true };
    lemma_1(45_000, 2_000, size, Model::Tso, 2_000);
}

#[test]
fn extensions_keep_the_states_under_pso() {
    let own = Model::Pso(Drain::Own);
    let size = Size { threads: 2, instrs: 7, total: 10, locs: 3, loops: false };
    lemma_1(70_000, 600, size, own, 500);
    let size = Size { threads: 2, instrs: 6, total: 8, locs: 2, loops: true };
    lemma_1(80_000, 600, size, own, 500);
}
