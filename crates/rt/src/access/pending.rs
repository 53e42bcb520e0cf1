//! Stores that were announced and are done by the program itself, when the library has returned.

use weakspot_live::{OpKind, Order, Sync};

use crate::Runtime;
use crate::entry::guest::Area;
use crate::execution::monitors::Event;

/// A store that was announced, has its turn, and is done when its thread calls the next time.
pub struct Pending {
    /// The bytes.
    pub area: Area,
    /// Whether it is an atomic update.
    pub update: bool,
    /// Its order.
    pub order: Order,
    /// From where.
    pub pc: usize,
    /// What was there before.
    pub old: u64,
    /// What it orders.
    pub sync: Sync,
    /// Whether it goes into the buffer of its thread.
    pub buffered: bool,
}

/// The store that the current thread was allowed to do has been done by now.
#[inline]
pub fn settle(rt: &mut Runtime) {
    let thread = rt.threads.me_mut();
    if thread.spin.undone.has_followed() {
        thread.spin.undone.settle();
    }
    if thread.pending.is_some() {
        settle_now(rt);
    }
}

fn settle_now(rt: &mut Runtime) {
    let thread = rt.threads.me_mut();
    let Some(p) = thread.pending.take() else { return };
    let value = p.area.value();
    if value != p.old {
        thread.spin.stored();
    }
    if p.buffered {
        thread.spin.undone.clear();
    } else {
        thread.spin.undone.changed(p.area, p.old, value);
    }
    if p.buffered {
        thread.buffer.settle();
    }
    let kind = if p.update { OpKind::Update } else { OpKind::Write };
    let event = Event::new(p.area.op(kind), p.order, p.pc).with(value, Some(p.old));
    rt.record(event.orders(p.sync));
}
