//! Events, and two containers named for what they know: a [`Trace`] knows one total order, an
//! [`Execution`] program order, reads-from and the coherence order.

use std::collections::BTreeMap;

use crate::{EventId, Fence, LocId, Program, ThreadId, Value};

/// What a thread did to the shared memory. No strings and no memory orders: front ends compile
/// those away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Who did it.
    pub thread: ThreadId,
    /// What was done.
    pub op: Op,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A load.
    Read {
        /// From where.
        loc: LocId,
        /// What it saw.
        value: Value,
    },
    /// A store.
    Write {
        /// To where.
        loc: LocId,
        /// What it stored.
        value: Value,
    },
    /// An atomic update: one event that reads and writes.
    Update {
        /// Where.
        loc: LocId,
        /// What it saw.
        old: Value,
        /// What it stored.
        new: Value,
    },
    /// A fence.
    Fence(Fence),
    /// The begin of an atomic block.
    Lock,
    /// The end of an atomic block.
    Unlock,
}

impl Op {
    /// The location, if the operation has one.
    #[must_use]
    pub fn loc(self) -> Option<LocId> {
        match self {
            Op::Read { loc, .. } | Op::Write { loc, .. } | Op::Update { loc, .. } => Some(loc),
            Op::Fence(_) | Op::Lock | Op::Unlock => None,
        }
    }

    /// Location and value of the read part.
    #[must_use]
    pub fn read(self) -> Option<(LocId, Value)> {
        match self {
            Op::Read { loc, value } | Op::Update { loc, old: value, .. } => Some((loc, value)),
            _ => None,
        }
    }

    /// Location and value of the write part.
    #[must_use]
    pub fn write(self) -> Option<(LocId, Value)> {
        match self {
            Op::Write { loc, value } | Op::Update { loc, new: value, .. } => Some((loc, value)),
            _ => None,
        }
    }
}

/// The events of one SC execution in the order in which they happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// First event first.
    pub events: Vec<Event>,
}

/// What a run did: events, which write each read took its value from, and per location the order in
/// which its writes reached memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// All events; within a thread they stand in program order.
    pub events: Vec<Event>,
    /// For each event the write that it read from; `None` for the initial value and for events
    /// that do not read, and for reads of wide places.
    pub reads_from: Vec<Option<EventId>>,
    /// For each read of a wide place: its cells with what each was read from.
    pub wide_reads: BTreeMap<EventId, Vec<(LocId, Option<EventId>)>>,
    /// Per location (by [`LocId`]) its writes, oldest first.
    /// A write to a wide place stands in the order of each of its cells.
    pub coherence: Vec<Vec<EventId>>,
    /// The wide places of the program and their cells.
    pub wides: BTreeMap<LocId, Vec<LocId>>,
}

impl Execution {
    /// An execution of `program` in which nothing has happened yet.
    #[must_use]
    pub fn empty(program: &Program) -> Execution {
        let wides = (0..program.wides.len()).map(|i| {
            let loc = LocId::new(program.locs.len() + i);
            (loc, program.cells(loc).collect())
        });
        // No write is in the order of a wide place: there are the cells for that.
        let coherence = vec![Vec::new(); program.locs.len() + program.wides.len()];
        Execution { coherence, wides: wides.collect(), ..Execution::default() }
    }

    /// The locations that an event read, with what each was read from.
    #[must_use]
    pub fn sources(&self, event: EventId) -> Vec<(LocId, Option<EventId>)> {
        match (self.wide_reads.get(&event), self.events[event.index()].op.read()) {
            (Some(sources), _) => sources.clone(),
            (None, Some((loc, _))) => vec![(loc, self.reads_from[event.index()])],
            (None, None) => Vec::new(),
        }
    }

    /// The locations that an access to `loc` takes.
    #[must_use]
    pub fn cells(&self, loc: LocId) -> Vec<LocId> {
        self.wides.get(&loc).cloned().unwrap_or_else(|| vec![loc])
    }

    /// A write reaches memory: it is the last in the order of each location that it covers.
    pub fn reaches_memory(&mut self, event: EventId) {
        if let Some((loc, _)) = self.events[event.index()].op.write() {
            for cell in self.cells(loc) {
                self.coherence[cell.index()].push(event);
            }
        }
    }
}

impl Trace {
    /// The execution that this order of events determines under SC: a read takes the last write.
    /// The events are those of a program without wide places.
    #[must_use]
    pub fn execution(&self) -> Execution {
        let mut coherence: Vec<Vec<EventId>> = Vec::new();
        let mut reads_from = Vec::with_capacity(self.events.len());
        for (i, event) in self.events.iter().enumerate() {
            if let Some(loc) = event.op.loc()
                && coherence.len() <= loc.index()
            {
                coherence.resize_with(loc.index() + 1, Vec::new);
            }
            reads_from
                .push(event.op.read().and_then(|(loc, _)| coherence[loc.index()].last().copied()));
            if let Some((loc, _)) = event.op.write() {
                coherence[loc.index()].push(EventId::new(i));
            }
        }
        let events = self.events.clone();
        Execution { events, reads_from, coherence, ..Execution::default() }
    }
}
