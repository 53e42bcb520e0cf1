//! What the events and transactions of a cycle are about: places in the log.

use std::collections::HashMap;

use weakspot_core::{LogEvent, TxnEvent, TxnKind};

use weakspot_core::serial::{END, START};

/// The events of a cycle by their numbers.
pub type TouchedEvents = HashMap<u64, Touched>;

/// An event of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The event of the log that it comes from.
    pub log: LogEvent,
    /// The number of that.
    pub number: u64,
    /// The event itself.
    pub event: TxnEvent,
    /// For a commit the number of its store, for others the number again.
    pub store: u64,
    /// Whether it is not the event of the log, but the start or end of a thread that belongs to it.
    pub aside: bool,
}

/// What comes from an event of the log.
pub(crate) fn touched(log: &LogEvent, number: u64, event: TxnEvent, unit: u32) -> Touched {
    let aside = [START, END].contains(&(unit ^ number as u32));
    let store = match event.kind {
        TxnKind::Commit => number - u64::from((number as u32).wrapping_sub(unit)),
        _ => number,
    };
    Touched { log: *log, number, event, store, aside }
}

/// Where a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Whose it is.
    pub thread: u16,
    /// The number that the log gives to it.
    pub label: Option<u32>,
    /// Its first event of the log that is no commit, and its last one.
    pub events: (u64, u64),
    /// Whether it is only the start of a thread, or the end of one.
    pub aside: bool,
}

impl Extent {
    /// A transaction that has not begun.
    pub(crate) const NONE: Extent =
        Extent { thread: 0, label: None, events: (u64::MAX, 0), aside: false };

    /// It has this event, which is no commit, and whose number counts.
    pub(crate) fn add(&mut self, log: &LogEvent, touched: &Touched) {
        self.thread = touched.event.thread as u16;
        self.aside = touched.aside;
        if !touched.aside {
            self.label = log.txn.checked_sub(1);
        }
        self.events = (self.events.0.min(touched.number), touched.number);
    }
}
