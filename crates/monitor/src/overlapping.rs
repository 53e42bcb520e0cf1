//! The run that shows what is reported where accesses overlap in part ([`Overlapping`]).

use rustc_hash::FxHashMap;
use weakspot_core::certify::{self, Rejected};
use weakspot_core::cycle::{Arc, Link};
use weakspot_core::{
    DelayedCommit, DelayedRun, End, EventId, LogCells, LogEvent, LogKind, LogTables, Model,
    Overlapping, Overtaking,
};

use crate::witness::path;

/// The first report about one of some stores and one of some accesses, with the run that shows it.
///
/// # Errors
/// When the run is not accepted: then the report is wrong.
pub fn report_overlapping(
    events: &[LogEvent],
    tables: &LogTables,
    model: Model,
    is_store: impl Fn(&End) -> bool,
    is_access: impl Fn(&End) -> bool,
) -> Result<Option<(Overtaking, DelayedRun)>, Rejected> {
    let end = |at: usize| {
        let LogEvent { thread, kind, loc, site, .. } = events[at];
        End { thread, kind, loc, site }
    };
    let overlapping = Overlapping::in_order(events, tables);
    for access in (0..events.len()).filter(|&at| is_access(&end(at))) {
        let mut stores = overlapping.overtaken(model, access).into_iter();
        let found = stores.find(|&store| is_store(&end(store)));
        let Some(run) = found.and_then(|store| run(events, tables, model, store, access)) else {
            continue;
        };
        certify::delayed(events, tables, &run)?;
        let into = run.cycle.iter().find(|arc| arc.to.index() == access);
        let report = Overtaking {
            store: end(run.store),
            access: end(access),
            previous: end(into.map_or(access, |arc| arc.from.index())),
            count: 1,
            first: access as u64,
        };
        return Ok(Some((report, run)));
    }
    Ok(None)
}

/// The run in which an access overtakes a store, with no more stores held back than have to be.
fn run(
    events: &[LogEvent],
    tables: &LogTables,
    model: Model,
    store: usize,
    access: usize,
) -> Option<DelayedRun> {
    let events = &events[..=access];
    let cells = LogCells::new(events, tables);
    let held = held_with(events, &cells, model, store);
    let mut commits = Vec::new();
    for (place, &LogEvent { thread, kind, loc, .. }) in events.iter().enumerate() {
        if kind == LogKind::Write && !held.contains(&place) {
            commits.push(DelayedCommit { before: place + 1, thread, loc });
        }
    }
    for &place in &held {
        let LogEvent { thread, loc, .. } = events[place];
        commits.push(DelayedCommit { before: access + 1, thread, loc });
    }
    let free = |cell: usize| !held.iter().any(|&at| cells.of(events[at].loc).contains(&cell));
    let mut cycle = path(events, &cells, store, free)?;
    let link = if events[access].kind == LogKind::Write { Link::Co } else { Link::Fr };
    cycle.push(Arc { from: EventId::new(access), link, to: EventId::new(store) });
    Some(DelayedRun { model, store, access, commits, cycle })
}

/// The stores that have to be held back with one until the last event, in their order.
fn held_with(events: &[LogEvent], cells: &LogCells, model: Model, store: usize) -> Vec<usize> {
    let mut held = Vec::new();
    let mut touched: Vec<usize> = Vec::new();
    // Of each thread with stores among them, whether its next ones have to wait.
    let mut waits: FxHashMap<u16, bool> = FxHashMap::default();
    for (place, event) in events[..events.len() - 1].iter().enumerate().skip(store) {
        if event.kind == LogKind::StoreFence {
            waits.entry(event.thread).and_modify(|waits| *waits = true);
        }
        let waiting = waits.get(&event.thread) == Some(&true);
        let mut own = cells.of(event.loc);
        if event.kind == LogKind::Write
            && (place == store || waiting || own.any(|cell| touched.contains(&cell)))
        {
            held.push(place);
            touched.extend(cells.of(event.loc));
            waits.entry(event.thread).or_insert(model == Model::Tso);
        }
    }
    held
}
