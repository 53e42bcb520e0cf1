//! Events, and three containers named for what they know: a [`Trace`] knows one total order, a
//! [`History`] program order and reads-from, an [`Execution`] also the coherence order.

use crate::{EventId, Fence, LocId, ThreadId, Value};

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

/// What each thread did, and which write each read took its value from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// All events; within a thread they stand in program order.
    pub events: Vec<Event>,
    /// For each event the write that it read from; `None` for the initial value and for events
    /// that do not read.
    pub reads_from: Vec<Option<EventId>>,
}

/// A history with, per location, the order in which its writes reached memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// The events, program order and reads-from.
    pub history: History,
    /// Per location (by [`LocId`]) its writes, oldest first.
    pub coherence: Vec<Vec<EventId>>,
}

impl Trace {
    /// The execution that this order of events determines under SC: a read takes the last write.
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
        Execution { history: History { events: self.events.clone(), reads_from }, coherence }
    }
}
