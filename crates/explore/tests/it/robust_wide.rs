//! Robustness of programs whose accesses overlap: the search against all executions that the axioms
//! allow, and against all runs of the machine, compared by what they did.

use std::collections::{BTreeSet, HashSet};

use weakspot_core::machine::{Machine, Outcome, Schedule, State};
use weakspot_core::testing::{Rng, Size, random_wide_program, scaled, show, shrink};
use weakspot_core::{
    Bytes, Drain, End, Event, EventId, Execution, Fence, Instr, Limits, LocId, LogEvent, LogKind,
    LogLoc, LogTables, Model, Op, Overlapping, Program, Silent, Verdict, record, reference,
};
use weakspot_explore::{Decide, NoAnswer, Which, monitored, overtakings, robust};
use weakspot_monitor::report_overlapping;

const MODELS: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

fn has_blocks(program: &Program) -> bool {
    let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    edges.filter(|e| e.instr == Instr::Lock).count() > 0
}

/// What the search says; its evidence is checked on the way.
fn asked(program: &Program, model: Model) -> Option<bool> {
    match robust(program, model, Decide::Pending, &Limits::UNLIMITED, &mut Silent) {
        Ok(answer) => Some(answer.verdict == Verdict::Holds),
        Err(NoAnswer::NotApplicable(_)) => None,
        Err(other) => panic!("{other:?}\n{}", show(program)),
    }
}

#[test]
fn agrees_with_the_axioms() {
    let size = Size { threads: 3, instrs: 4, total: 8, locs: 3, loops: false };
    let (mut compared, mut violated) = (0, 0);
    for seed in 0..scaled(6_000) as u64 {
        let program = random_wide_program(&mut Rng::new(seed), size);
        if has_blocks(&program) {
            continue;
        }
        let differs = |program: &Program| {
            let expected = reference::robust(program, &MODELS, 2_000)?;
            let found: Option<Vec<bool>> = MODELS.iter().map(|&m| asked(program, m)).collect();
            Some((found? != expected, expected[0]))
        };
        match differs(&program) {
            None => continue,
            Some((true, _)) => {
                let small = shrink(&program, &|p| differs(p).is_some_and(|(d, _)| d));
                panic!("seed {seed}\n{}", show(&small));
            }
            Some((false, robust)) => {
                compared += 1;
                violated += usize::from(!robust);
            }
        }
    }
    assert!(compared >= scaled(2_000), "only {compared} programs were compared");
    assert!(violated >= scaled(100), "only {violated} programs are not robust");
}

/// What a run did, whatever the order of its steps: events are named by thread and place in it.
type Did = (Vec<(usize, usize, Op)>, Vec<(Name, LocId, Option<Name>)>, Vec<Vec<Name>>);
type Name = (usize, usize);

fn did(execution: &Execution) -> Did {
    let events = &execution.events;
    let name = |e: EventId| -> Name {
        let thread = events[e.index()].thread;
        let before = events[..e.index()].iter().filter(|other| other.thread == thread).count();
        (thread.index(), before)
    };
    let ids = || (0..events.len()).map(EventId::new);
    let mut named: Vec<_> = ids().map(|e| (name(e).0, name(e).1, events[e.index()].op)).collect();
    named.sort_by_key(|(thread, place, _)| (*thread, *place));
    let mut reads: Vec<_> = ids()
        .flat_map(|e| {
            let sources = execution.sources(e);
            sources.into_iter().map(move |(cell, from)| (e, cell, from))
        })
        .map(|(e, cell, from)| (name(e), cell, from.map(name)))
        .collect();
    reads.sort();
    let orders = execution.coherence.iter();
    (named, reads, orders.map(|writes| writes.iter().map(|&w| name(w)).collect()).collect())
}

/// What all runs did that end with empty buffers; `None` if there are too many.
fn all_runs(program: &Program, model: Model) -> Option<HashSet<Did>> {
    let machine = Machine { program, model };
    let start = Schedule { init: vec![0; program.locs.len()], steps: Vec::new() };
    let first = machine.initial_state(&start.init);
    let mut seen: HashSet<(State, Did)> = HashSet::new();
    let mut todo = vec![(first, start)];
    let mut found = HashSet::new();
    while let Some((state, run)) = todo.pop() {
        let did = did(&record(machine, &run).expect("a run").execution);
        if !seen.insert((state.clone(), did.clone())) {
            continue;
        }
        if seen.len() > 20_000 {
            return None;
        }
        if machine.is_final(&state) {
            found.insert(did);
        }
        for step in machine.steps(&state) {
            if let Outcome::Next(next) = machine.take(&state, step) {
                let mut run = run.clone();
                run.steps.push(step);
                todo.push((next, run));
            }
        }
    }
    Some(found)
}

/// A program is robust if and only if each run does what some run under SC does.
#[test]
fn agrees_with_all_runs() {
    let size = Size { threads: 3, instrs: 3, total: 5, locs: 3, loops: false };
    let (mut compared, mut violated) = (0, 0);
    for seed in 1_000_000..1_000_000 + scaled(4_000) as u64 {
        let program = random_wide_program(&mut Rng::new(seed), size);
        let Some(sc) = all_runs(&program, Model::Sc).filter(|_| !has_blocks(&program)) else {
            continue;
        };
        for model in MODELS {
            let Some(runs) = all_runs(&program, model) else { continue };
            let expected = runs.is_subset(&sc);
            assert_eq!(asked(&program, model), Some(expected), "seed {seed}\n{}", show(&program));
            compared += 1;
            violated += usize::from(!expected);
        }
    }
    assert!(compared >= scaled(3_000), "only {compared} answers were compared");
    assert!(violated >= scaled(100), "only {violated} of them are violations");
}

/// The pairs of store and access are found whenever the program is not robust, each with a run.
#[test]
fn pairs_have_runs() {
    let size = Size { threads: 3, instrs: 3, total: 6, locs: 3, loops: false };
    for seed in 2_000_000..2_000_000 + scaled(1_000) as u64 {
        let program = random_wide_program(&mut Rng::new(seed), size);
        if has_blocks(&program) {
            continue;
        }
        for model in MODELS {
            let found = overtakings(&program, model, &Limits::UNLIMITED, &mut Silent);
            let pairs = found.unwrap_or_else(|e| panic!("seed {seed}: {e:?}")).pairs;
            let distinct: BTreeSet<_> = pairs.iter().map(|p| (p.store, p.access)).collect();
            assert_eq!(distinct.len(), pairs.len());
            assert_eq!(asked(&program, model), Some(pairs.is_empty()), "seed {seed}, {model}");
        }
    }
}

/// Whatever a monitor reports about an SC execution has a run that the checker accepts.
#[test]
fn monitored_executions() {
    let size = Size { threads: 3, instrs: 4, total: 8, locs: 3, loops: false };
    let mut reported = 0;
    for seed in 3_000_000..3_000_000 + scaled(2_000) as u64 {
        let program = random_wide_program(&mut Rng::new(seed), size);
        if has_blocks(&program) {
            continue;
        }
        let which = Which::Preemptions(3);
        let seen = monitored(&program, &MODELS[..2], which, 100, &Limits::UNLIMITED, &mut Silent);
        for seen in seen.unwrap_or_else(|e| panic!("seed {seed}: {e:?}")).models {
            if !seen.pairs.is_empty() {
                assert_eq!(asked(&program, seen.model), Some(false), "seed {seed}");
                reported += 1;
            }
        }
    }
    assert!(reported >= scaled(30), "only {reported} programs with reports");
}

/// The events of an SC execution as a log, each cell a byte.
fn logged(program: &Program, execution: &Execution) -> (Vec<LogEvent>, LogTables) {
    let all = program.locs.len() + program.wides.len();
    let bytes = |loc: usize| {
        let cells: Vec<usize> = program.cells(LocId::new(loc)).map(LocId::index).collect();
        assert!(cells.windows(2).all(|two| two[1] == two[0] + 1), "cells in order");
        Bytes { start: cells[0] as u64, len: cells.len() as u32 }
    };
    let loc = |loc: usize| LogLoc { name: loc.to_string(), bytes: Some(bytes(loc)) };
    let tables = LogTables { locs: (0..all).map(loc).collect(), ..LogTables::default() };
    let event = |event: &Event| {
        let (kind, loc) = match event.op {
            Op::Read { loc, .. } => (LogKind::Read, loc.index()),
            Op::Write { loc, .. } => (LogKind::Write, loc.index()),
            Op::Update { loc, .. } => (LogKind::Update, loc.index()),
            Op::Fence(Fence::Full) => (LogKind::Fence, 0),
            Op::Fence(Fence::StoreStore) => (LogKind::StoreFence, 0),
            Op::Lock | Op::Unlock => panic!("blocks"),
        };
        LogEvent::new(event.thread.index() as u16, kind, loc as u32)
    };
    (execution.events.iter().map(event).collect(), tables)
}

/// Whether some access of the execution's class overtakes a store; every such pair has a run that the
/// checker accepts.
fn overtakes(events: &[LogEvent], tables: &LogTables, model: Model) -> bool {
    let overlapping = Overlapping::new(events, tables);
    let mut found = false;
    for access in 0..events.len() {
        for store in overlapping.overtaken(model, access) {
            let past: Vec<usize> =
                (0..=access).filter(|&at| overlapping.precedes(at, access)).collect();
            let site = |at: usize| LogEvent { site: at as u32, ..events[at] };
            let part: Vec<LogEvent> = past.into_iter().map(site).collect();
            let is = |at: usize| move |end: &End| end.site == at as u32;
            let shown = report_overlapping(&part, tables, model, is(store), is(access));
            assert!(shown.is_ok_and(|run| run.is_some()), "{store} {access}: {part:?}");
            found = true;
        }
    }
    found
}

/// A program is robust if and only if in none of its SC executions an access overtakes a store.
#[test]
fn all_executions_monitored() {
    let size = Size { threads: 3, instrs: 3, total: 6, locs: 3, loops: false };
    let (mut compared, mut violated) = (0, 0);
    for seed in 4_000_000..4_000_000 + scaled(4_000) as u64 {
        let program = random_wide_program(&mut Rng::new(seed), size);
        if has_blocks(&program) {
            continue;
        }
        let Some(runs) = executions(&program) else { continue };
        for model in MODELS {
            let overtakes = |execution: &Execution| {
                let (events, tables) = logged(&program, execution);
                overtakes(&events, &tables, model)
            };
            let found = !runs.iter().any(overtakes);
            assert_eq!(asked(&program, model), Some(found), "{seed} {model}\n{}", show(&program));
            compared += 1;
            violated += usize::from(!found);
        }
    }
    assert!(compared >= scaled(3_000), "only {compared} answers were compared");
    assert!(violated >= scaled(100), "only {violated} of them are violations");
}

/// The executions under SC that cannot go on; `None` if there are too many.
fn executions(program: &Program) -> Option<Vec<Execution>> {
    let machine = Machine { program, model: Model::Sc };
    let start = Schedule { init: vec![0; program.locs.len()], steps: Vec::new() };
    let mut todo = vec![(machine.initial_state(&start.init), start)];
    let mut found = Vec::new();
    while let Some((state, run)) = todo.pop() {
        let before = todo.len();
        for step in machine.steps(&state) {
            if let Outcome::Next(next) = machine.take(&state, step) {
                let mut run = run.clone();
                run.steps.push(step);
                todo.push((next, run));
            }
        }
        if todo.len() == before {
            found.push(record(machine, &run).expect("a run").execution);
            if found.len() > 500 {
                return None;
            }
        }
    }
    Some(found)
}
