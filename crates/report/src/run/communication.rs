//! What a drawing shows of an execution besides program order.

use weakspot_core::cycle::{Arc, Link};
use weakspot_core::{EventId, Execution};

/// Of executions with more events than this the relations are not drawn: nobody reads a drawing of that size.
pub(crate) const MAX_EVENTS: usize = 1500;

/// All reads-from, coherence and from-reads arcs between neighbours: each write to the next one
/// of its location, each read from its write and to the write after that one.
pub(crate) fn communication(execution: &Execution) -> Vec<Arc> {
    let mut arcs = Vec::new();
    for writes in &execution.coherence {
        arcs.extend(writes.windows(2).map(|w| Arc { from: w[0], link: Link::Co, to: w[1] }));
    }
    for (i, event) in execution.events.iter().enumerate() {
        if event.op.read().is_none() {
            continue;
        }
        let read = EventId::new(i);
        for (loc, source) in execution.sources(read) {
            if let Some(from) = source {
                arcs.push(Arc { from, link: Link::Rf, to: read });
            }
            let writes = execution.coherence.get(loc.index()).map_or(&[][..], Vec::as_slice);
            let next = match source {
                None => writes.first(),
                Some(from) => {
                    writes.iter().position(|&w| w == from).and_then(|at| writes.get(at + 1))
                }
            };
            // An update overwrites what it read itself.
            if let Some(&to) = next
                && to != read
            {
                arcs.push(Arc { from: read, link: Link::Fr, to });
            }
        }
    }
    // Two accesses may be linked in several cells.
    if !execution.wides.is_empty() {
        let mut known = Vec::new();
        arcs.retain(|arc| {
            !known.contains(arc) && {
                known.push(*arc);
                true
            }
        });
    }
    arcs
}
