//! How events are linked where accesses overlap without being equal: reads-from, coherence and
//! from-reads hold between two accesses if they hold in one of the cells that both take.

use crate::execution::link::Link;
use crate::{EventId, Execution, LocId};

/// What each event of an execution read and wrote, cell by cell.
pub(crate) struct Cells {
    /// For each event its cells.
    taken: Vec<Vec<LocId>>,
    /// For each event the cells that it read, with the write that it read there.
    reads: Vec<Vec<(LocId, Option<EventId>)>>,
    /// For each cell its writes, oldest first.
    coherence: Vec<Vec<EventId>>,
}

impl Cells {
    pub(crate) fn of(execution: &Execution) -> Cells {
        let events = &execution.events;
        let taken = |op: crate::Op| op.loc().map_or(Vec::new(), |loc| execution.cells(loc));
        Cells {
            taken: events.iter().map(|e| taken(e.op)).collect(),
            reads: (0..events.len()).map(|e| execution.sources(EventId::new(e))).collect(),
            coherence: execution.coherence.clone(),
        }
    }

    /// The cells that both events take.
    pub(crate) fn common(&self, a: EventId, b: EventId) -> impl Iterator<Item = LocId> + '_ {
        let second = &self.taken[b.index()];
        self.taken[a.index()].iter().copied().filter(|cell| second.contains(cell))
    }

    /// Whether one comes before the other in this cell, for this reason.
    pub(crate) fn linked(&self, a: EventId, link: Link, b: EventId, cell: LocId) -> bool {
        let place = |e: EventId| {
            let at = self.coherence[cell.index()].iter().position(|&w| w == e);
            at.map_or(0, |at| at + 1)
        };
        let source = |e: EventId| {
            self.reads[e.index()].iter().find(|(loc, _)| *loc == cell).map(|(_, from)| *from)
        };
        match link {
            Link::Rf => source(b) == Some(Some(a)),
            Link::Co => place(a) > 0 && place(a) < place(b),
            Link::Fr => a != b && source(a).is_some_and(|from| from.map_or(0, place) < place(b)),
            Link::Po | Link::Block | Link::Start | Link::Join => false,
        }
    }
}
