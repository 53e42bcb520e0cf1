//! Threads that will never go on, whatever those do that are not among them.
//!
//! An assumption that does not hold ends its execution without a word: there is none that goes on from there. But
//! what comes before the assumption there is, and if others cannot go on from there in any way, that is a
//! failure. So whoever sits in an assumption hides only what could depend on it: a wait counts if it is for a
//! lock that one of these threads holds, or one that has ended with it, or for the end of one of them; an empty loop
//! without end counts by itself. Other waits (condition variables, semaphores, locks that readers hold, loops that read)
//! could be ended by anybody. The main thread is among those who wait, or else the program could have ended without
//! them.

use std::fmt::Write as _;

use weakspot_live::closed;
use weakspot_live::wire::{Awaited, ENDLESS, HANGS};

use crate::report::thread_name;
use crate::schedule::threads::{Parked, Patience};
use crate::sync::mutex::owner_of;
use crate::{Rt, Runtime};

impl Runtime {
    /// The thread that starts the others, and ends the program or the test.
    fn main_thread(&self) -> usize {
        usize::from(self.config.harness)
    }

    /// The threads that wait for each other, or for some who never go on, and so never do either, whatever
    /// others do; nobody if the main thread is not among them: when it ends, so does the program.
    fn closed(&self, endless: &[usize]) -> Vec<usize> {
        let mut waits: Vec<(usize, usize)> = Vec::new();
        for n in self.scheduler.next().iter().filter(|n| !n.agent.is_buffer() && !n.enabled) {
            let t = usize::from(n.agent.of());
            let thread = self.threads.get(t);
            let other = match thread.awaits {
                _ if thread.parked().is_some() || thread.patience != Patience::Endless => None,
                Some(Awaited::Lock) => owner_of(n.op),
                Some(Awaited::Word) => self.owners.of(n.op.addr as usize),
                Some(Awaited::End) => usize::try_from(n.op.addr).ok(),
                _ => None,
            };
            waits.extend(other.map(|other| (t, other)));
        }
        // Whoever has ended with a lock never frees it.
        let over = (0..self.threads.count()).filter(|&t| self.threads.get(t).is_over());
        let never: Vec<usize> = endless.iter().copied().chain(over).collect();
        let threads = closed(&waits, &never);
        let main = self.main_thread();
        let is_main = threads.contains(&main) || endless.contains(&main);
        if is_main { threads } else { Vec::new() }
    }
}

/// Reports threads that wait for each other although an assumption does not hold elsewhere. Whether there
/// are any.
pub fn report_deadlock(rt: &mut Rt) -> bool {
    let mut threads = rt.closed(&[]);
    if threads.is_empty() || rt.exploration.learning() {
        return false;
    }
    threads.sort_unstable();
    let mut text = String::new();
    let mut related = Vec::new();
    for &t in &threads {
        let thread = rt.threads.get(t);
        let word = if thread.awaits == Some(Awaited::End) { "joins" } else { "waits" };
        let separator = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{separator}{} {word}", thread_name(t));
        related.push((word, Some(t), thread.announced_at));
    }
    if rt.config.trace {
        rt.tell_who_waits(|t| threads.contains(&t));
    }
    rt.related_finding("deadlock", None, 0, &text, &related);
    true
}

/// The same, or threads in empty loops without end.
pub fn report_closed(rt: &mut Rt) {
    if report_deadlock(rt) {
        return;
    }
    let mut related = Vec::new();
    for n in rt.scheduler.next() {
        let t = usize::from(n.agent.of());
        if let Some((pc, Parked::Endless)) = rt.threads.get(t).parked() {
            related.push((HANGS, Some(t), pc));
        }
    }
    let endless: Vec<usize> = related.iter().filter_map(|&(_, t, _)| t).collect();
    let ends = !endless.contains(&rt.main_thread()) && rt.closed(&endless).is_empty();
    if let Some(&(_, Some(t), pc)) = related.first().filter(|_| !ends) {
        let text = format!("{} {HANGS}", thread_name(t));
        rt.related_finding(ENDLESS, Some(t), pc, &text, &related);
    }
}
