//! What is read and written in a run in which a store is late: the values of an execution that was executed again under
//! SC, but for the access that overtakes the store, which reads what memory has without it.

use weakspot_core::{DelayedRun, DelayedSource, DelayedValue, Known, LogKind};
use weakspot_live::wire::TracedStep;

use crate::replay::log::Logged;
use crate::replay::names::Names;

/// Of more bytes than this only a digest is known.
const LARGEST: u32 = 8;

/// The values of the events on the run's cycle, as far as they are known.
pub(crate) fn values(
    run: &DelayedRun,
    logged: &Logged,
    steps: &[TracedStep],
    names: &Names<'_>,
) -> Vec<DelayedValue> {
    let Logged { tables, events, .. } = logged;
    let step = |event: usize| steps.get(*logged.steps.get(event)?);
    let mut places: Vec<usize> = run.cycle.iter().map(|arc| arc.from.index()).collect();
    places.sort_unstable();
    places.dedup();
    let value = |event: usize| {
        let (traced, kind) = (step(event)?, events.get(event)?.kind);
        let is_access = matches!(kind, LogKind::Read | LogKind::Write | LogKind::Update);
        if !is_access || traced.len > LARGEST {
            return None;
        }
        let (mut old, mut value) = (traced.old, traced.value);
        if event == run.access && kind != LogKind::Write {
            let read = match run.source(events, tables)? {
                DelayedSource::Write(by) => step(by).and_then(|traced| traced.value),
                DelayedSource::Initial(next) => step(next).and_then(|traced| traced.old),
            };
            // What an update would make of another value is not known.
            (old, value) = if kind == LogKind::Update { (read, None) } else { (None, read) };
        } else if kind != LogKind::Update {
            old = None;
        }
        let location = names.data(traced.addr, u64::from(traced.len));
        let known = |bits: u64| {
            let in_words = names.value_in_words(traced.addr, traced.len, bits, Some(&location));
            Known { bits, in_words }
        };
        let (old, value) = (old.map(known), value.map(known));
        Some(DelayedValue { event, len: traced.len, old, value })
    };
    places.into_iter().filter_map(value).collect()
}
