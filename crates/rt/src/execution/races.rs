//! Data races: what happens is passed on to who looks for them, and what that finds is reported.
//!
//! Bytes that only one thread has touched so far are not looked at. That loses nothing: the second
//! thread that touches them makes them shared, and the exploration starts again, with both accesses
//! seen. What the first thread does while there is no other, or all others were joined, is ordered.

use weakspot_core::Model;
use weakspot_live::{Op, OpKind, Order, Plan, Race, Racer, Races, Step, Sync, What};

use crate::Runtime;
use crate::entry::guest::Area;

/// Stands for all counts of references: no program has anything there.
const COUNTS: Area = Area::nowhere(0x1008, 8);

impl Runtime {
    /// A step was taken.
    pub(super) fn look_for_races(&mut self, step: &Step, sync: Sync) {
        let harness = self.config.harness && step.thread == 0 && step.op.kind != OpKind::Spawn;
        // Before an execution that is only there to learn from, some steps were not seen. The harness
        // of a test has locks that are not seen either, and shares nothing else with it.
        if self.exploration.learning() || harness {
            return;
        }
        // A sequentially consistent store does not go through the buffer, which is empty then.
        let buffered = self.stores_are_buffered() && !self.threads.me().buffer.is_empty();
        let waits = step.op.kind == OpKind::Write && buffered;
        let Some(races) = &mut self.monitors.races else { return };
        if waits {
            races.store_into_buffer(step, sync);
        } else {
            races.step(step, sync);
        }
        while let Some(race) = self.monitors.races.as_mut().and_then(|races| races.take()) {
            self.report_race(&race);
        }
    }

    /// Whether steps that nobody can tell apart by what comes of them, such as additions whose results are not used,
    /// are explored in one order. `rf` knows only what loads read, and transactions conflict by them.
    pub fn lets_steps_commute(&self) -> bool {
        self.config.plan != Plan::Rf && self.config.transactions.is_none()
    }

    /// Whether counts of references are: that has to be looked at, and none was doubtful.
    pub fn lets_counts_commute(&self) -> bool {
        let sc = self.config.under == Model::Sc && self.monitors.races.is_some();
        sc && self.lets_steps_commute() && !self.shadow.is_shared(COUNTS)
    }

    /// After an execution: if it depends on the order who drops the last of some references, it is explored as any order of
    /// updates is, from the beginning.
    pub(super) fn doubt_counts(&mut self) {
        let doubts = self.monitors.races.as_ref().is_some_and(Races::doubts_counts);
        if doubts && !self.exploration.learning() && self.lets_counts_commute() {
            let (addr, len) = (COUNTS.addr(), COUNTS.len() as usize);
            self.shadow.set_shared(addr, len);
            self.learn(addr, len);
        }
    }

    fn report_race(&mut self, race: &Race) {
        let Race { first, second, .. } = race;
        let (what, other) = (description(second), description(first));
        let related = [(other.as_str(), Some(usize::from(first.thread)), first.at as usize)];
        let thread = Some(usize::from(second.thread));
        self.related_finding("data-race", thread, second.at as usize, &what, &related);
    }

    /// The current thread executes a fence that is no step.
    pub fn fence_for_races(&mut self, order: Order) {
        let t = self.threads.current();
        if let Some(races) = &mut self.monitors.races {
            races.fence(t, order);
        }
    }

    /// The current thread lets others know what it has done, in the step that it has just taken.
    pub fn release_for_races(&mut self, op: Op, pc: usize) {
        let thread = self.threads.current() as u16;
        if self.monitors.races.is_some() {
            let step = Step { thread, op, order: Order::SeqCst, at: pc as u64 };
            self.look_for_races(&step, Sync::Usual);
        }
    }

    /// Bytes are given out to the program that had another use before.
    pub fn new_for_races(&mut self, addr: usize, len: usize) {
        if let Some(races) = &mut self.monitors.races {
            races.forget(addr as u64, u32::try_from(len).unwrap_or(u32::MAX));
        }
    }
}

fn description(racer: &Racer) -> String {
    match racer.what {
        What::Accesses => {}
        What::Frees => return "free".to_owned(),
        What::Uses => return "use as a synchronization object".to_owned(),
    }
    let how = if racer.atomic { "atomic" } else { "plain" };
    let what = if racer.write { "store" } else { "load" };
    let s = if racer.len == 1 { "" } else { "s" };
    format!("{how} {what} of {} byte{s}", racer.len)
}
