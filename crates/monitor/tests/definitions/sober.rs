//! SOBER's warnings: what the monitoring report says about them, and whether they are right.

use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::testing::{Rng, Size, scaled, show};
use weakspot_core::{
    Event, EventId, Execution, Fence, LocId, LogEvent, LogKind, LogTables, Model, Op, Program,
    ThreadId, Trace, axioms, reference,
};
use weakspot_lang::{Format, parse};
use weakspot_monitor::reference::{Form, Report, reports};
use weakspot_monitor::{Definition, Sober};

use crate::runs;

const BOTH: [Definition; 2] = [Definition::Published, Definition::Corrected];

fn warnings(events: &[LogEvent], tables: &LogTables, definition: Definition) -> Vec<Report> {
    let mut sober = Sober::new(definition);
    events.iter().filter_map(|event| sober.event(event, tables)).collect()
}

/// On how many SC executions published and corrected SOBER and the monitor for TSO have something
/// to say, and how many executions there are.
fn counts(text: &str) -> ([usize; 3], usize) {
    let program = parse(Format::Weak, text).expect("a program").program;
    let tables = runs::tables(&program);
    let (mut counts, mut executions) = ([0; 3], 0);
    assert!(runs::for_each(&program, 10_000, &mut |run| {
        let [published, corrected] = BOTH.map(|d| warnings(&run.events, &tables, d));
        let monitor = reports(&run.events, &tables, Model::Tso, Form::Last);
        for (count, found) in counts.iter_mut().zip([published, corrected, monitor]) {
            *count += usize::from(!found.is_empty());
        }
        executions += 1;
        true
    }));
    (counts, executions)
}

/// Figs. 6 and 7 of the report: published SOBER misses the program, on every SC execution.
#[test]
fn published_sober_misses_a_program() {
    let ([published, corrected, monitor], executions) = counts(
        "shared a = 0, b = 0, c = 0
         thread p { var r, s; a = 1; r = a; if (r == 1) { s = b } }
         thread q { var r, s; b = 1; a = 2; r = cas(c, 0, 1); s = a }",
    );
    assert_eq!(published, 0);
    assert!(corrected > 0 && monitor > 0, "{corrected} {monitor} of {executions}");
}

/// Fig. 8: an execution on which SOBER warns and the monitor does not, of a program on which both
/// do.
#[test]
fn sober_is_more_sensitive() {
    let program = "shared a = 0, b = 0
         thread p { var r; a = 1; r = b }
         thread q { a = 2 }
         thread s { var r; b = 1; r = a }";
    let ([published, corrected, monitor], _) = counts(program);
    assert!(published > monitor && corrected == published && monitor > 0);
    let tables = LogTables::default();
    let access = |thread, kind, loc| LogEvent::new(thread, kind, loc);
    let events = [
        access(0, LogKind::Write, 0),
        access(0, LogKind::Read, 1),
        access(1, LogKind::Write, 0),
        access(2, LogKind::Write, 1),
        access(2, LogKind::Read, 0),
    ];
    let expected = [Report { store: 0, access: 4, previous: Some(3) }];
    assert_eq!(BOTH.map(|d| warnings(&events, &tables, d)), [expected, expected]);
    assert_eq!(reports(&events, &tables, Model::Tso, Form::All), []);
}

/// Corrected SOBER warns on some SC execution exactly when the program is not robust against TSO;
/// as published it never warns if the program is robust, but it misses some that are not.
#[test]
fn warns_exactly_when_not_robust() {
    let [robust, broken, missed] = [const { AtomicUsize::new(0) }; 3];
    let fails = |program: &Program| {
        let Some(expected) = reference::robust(program, &[Model::Tso], 20_000) else {
            return false;
        };
        let tables = runs::tables(program);
        let mut found = [false; 2];
        let all = runs::for_each(program, 2000, &mut |run| {
            for (found, definition) in found.iter_mut().zip(BOTH) {
                *found |= !*found && !warnings(&run.events, &tables, definition).is_empty();
            }
            found != [true; 2]
        });
        if !all && found != [true; 2] {
            return false;
        }
        let [published, corrected] = found;
        let count = if expected[0] { &robust } else { &broken };
        count.fetch_add(1, Ordering::Relaxed);
        missed.fetch_add(usize::from(corrected && !published), Ordering::Relaxed);
        corrected == expected[0] || published && !corrected
    };
    for (i, count, threads, total) in [(0, 16_000, 2, 9), (1, 8000, 3, 9), (2, 2000, 4, 8)] {
        let size = Size { threads, instrs: 6, total, locs: 3, loops: false };
        runs::check(i << 32, count, size, &fails);
    }
    let [robust, broken, missed] = [robust, broken, missed].map(AtomicUsize::into_inner);
    assert!(
        robust > scaled(4000) && broken > scaled(2000) && missed > scaled(40),
        "{robust} {broken} {missed}"
    );
}

/// Every warning is right by the axioms: TSO has the execution in which the load reads something
/// from before the store, and SC has not.
#[test]
fn warnings_are_right() {
    let mut checked = 0;
    for seed in 0..scaled(28_000) as u64 {
        let mut rng = Rng::new(seed);
        let size = Size { threads: 4, instrs: 8, total: 20, locs: 3, loops: seed % 2 == 0 };
        let program = runs::program(seed, size);
        let tables = runs::tables(&program);
        let run = runs::random(&program, &mut rng, 40);
        for definition in BOTH {
            for report in warnings(&run.events, &tables, definition) {
                let right = is_right(&run.events, &report);
                assert!(right, "seed {seed}, {definition:?}, {report:?}\n{}", show(&program));
                checked += 1;
            }
        }
    }
    assert!(checked > scaled(4000), "{checked}");
}

fn is_right(events: &[LogEvent], report: &Report) -> bool {
    let op = |event: &LogEvent| {
        let loc = LocId(event.loc);
        match event.kind {
            LogKind::Read => Op::Read { loc, value: 0 },
            LogKind::Write => Op::Write { loc, value: 0 },
            LogKind::Update => Op::Update { loc, old: 0, new: 0 },
            LogKind::StoreFence => Op::Fence(Fence::StoreStore),
            _ => Op::Fence(Fence::Full),
        }
    };
    let event =
        |event: &LogEvent| Event { thread: ThreadId(u32::from(event.thread)), op: op(event) };
    let trace = Trace { events: events[..=report.access].iter().map(event).collect() };
    let mut execution: Execution = trace.execution();
    let writes = execution.coherence[events[report.access].loc as usize].clone();
    let store = writes.iter().position(|&w| w == EventId::new(report.store));
    let older = writes[..store.unwrap_or(0)].iter().copied().map(Some);
    [None].into_iter().chain(older).any(|source| {
        execution.reads_from[report.access] = source;
        store.is_some()
            && axioms::allows(Model::Tso, &execution)
            && !axioms::allows(Model::Sc, &execution)
    })
}
