//! Which stores on a cycle are late: still in the buffer when another thread looks.

use crate::transactions::log::{SerialDelay, SerialEvent};

/// An event of a cycle, and when it happened.
#[derive(Clone, Copy, Debug)]
pub struct SerialTimed {
    /// The event.
    pub event: SerialEvent,
    /// The thread, by its number.
    pub thread: u32,
    /// When, by the order of the execution.
    pub at: u64,
    /// For a commit when its store was, and that.
    pub stored: Option<(u64, SerialEvent)>,
}

/// The late stores of a cycle, given by its edges. A store is late if an edge leads from another
/// thread to its commit, and what that thread did was after the store. The cycle goes on in the thread of
/// the store and leaves it by an event; if that comes between the store and its commit, then a
/// fence before it would have made the commit come earlier.
#[must_use]
pub fn serial_delays(edges: &[(SerialTimed, SerialTimed)]) -> Vec<SerialDelay> {
    let mut delays = Vec::new();
    for (at, (from, to)) in edges.iter().enumerate() {
        let Some((stored, store)) = to.stored else { continue };
        if from.thread == to.thread || from.at <= stored {
            continue;
        }
        let after = edges.iter().cycle().skip(at + 1).take(edges.len() - 1);
        let leaves = after.into_iter().find(|(_, next)| next.thread != to.thread);
        let overtakes = |event: &SerialTimed| {
            let meanwhile = stored < event.at && event.at < to.at;
            event.thread == to.thread && event.stored.is_none() && meanwhile
        };
        let overtaker = leaves.map(|(event, _)| event).filter(|event| overtakes(event));
        delays.push(SerialDelay {
            store,
            during: from.event,
            overtaker: overtaker.map(|event| event.event),
        });
    }
    delays.sort_by_key(|delay| (delay.store.number, delay.during.number));
    delays.dedup();
    delays
}
