//! The steps of an execution as the log that monitors see.

use rustc_hash::FxHashMap;
use weakspot_core::{Bytes, LogEvent, LogKind, LogLoc, LogTables};

use crate::Op;
use crate::step::{Step, parts};

/// The numbers of locations and program addresses. Programs are deterministic, so that they are
/// mostly the same in all executions.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tables: LogTables,
    locs: FxHashMap<(u64, u32), u32>,
    sites: FxHashMap<u64, u32>,
    /// By the number of a site: its program address.
    addresses: Vec<u64>,
}

/// Steps as monitors see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The events.
    pub events: Vec<LogEvent>,
    /// By the number of an event: that of the step that it is of.
    pub steps: Vec<usize>,
    /// The bytes of their locations.
    pub locs: Vec<Bytes>,
    /// The program addresses of their sites.
    pub sites: Vec<u64>,
}

/// The events of some steps; `orders` says whether those of atomics count, as they do under all models
/// but `Pso(Drain::Own)`.
#[must_use]
pub fn compiled(steps: &[Step], orders: bool) -> Compiled {
    let mut names = Names::default();
    let mut events = Vec::with_capacity(steps.len());
    let mut of = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        compile(step, orders, &mut names, &mut events);
        of.resize(events.len(), i);
    }
    let locs = names.tables.locs.iter().filter_map(|loc| loc.bytes).collect();
    Compiled { events, steps: of, locs, sites: names.addresses }
}

/// Appends the events of a step.
pub(crate) fn compile(step: &Step, orders: bool, names: &mut Names, out: &mut Vec<LogEvent>) {
    let site = names.site(step.at);
    parts(step, orders, &mut |kind| {
        let loc = match kind {
            LogKind::Spawn | LogKind::Join => step.op.addr as u32,
            kind if kind.is_access() || kind == LogKind::Commit => names.loc(step.op),
            _ => 0,
        };
        out.push(LogEvent { site, ..LogEvent::new(step.thread, kind, loc) });
    });
}

impl Names {
    pub(crate) fn tables(&self) -> &LogTables {
        &self.tables
    }

    fn loc(&mut self, op: Op) -> u32 {
        let next = self.tables.locs.len() as u32;
        let loc = *self.locs.entry((op.addr, op.len)).or_insert(next);
        if loc == next {
            let bytes = Some(Bytes { start: op.addr, len: op.len.max(1) });
            self.tables.locs.push(LogLoc { name: String::new(), bytes });
        }
        loc
    }

    fn site(&mut self, at: u64) -> u32 {
        let next = self.addresses.len() as u32 + 1;
        let site = *self.sites.entry(at).or_insert(next);
        if site == next {
            self.addresses.push(at);
        }
        site
    }
}
