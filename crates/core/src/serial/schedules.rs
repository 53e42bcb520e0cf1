//! All executions of TSO in which each thread does what it does in a trace, whatever the others do.

use super::{TxnEvent, TxnKind};

/// All of them, given to a function until it returns false: the events by their places in the trace,
/// writes a second time when they are committed. There are exponentially many.
pub fn schedules(events: &[TxnEvent], each: &mut dyn FnMut(&[usize]) -> bool) {
    let mut threads: Vec<u32> = events.iter().map(|e| e.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let of = |thread: &u32| (0..events.len()).filter(|&at| events[at].thread == *thread).collect();
    let buffers = vec![Vec::new(); threads.len()];
    let left = threads.iter().map(of).collect();
    Run { events, left, buffers, steps: Vec::new() }.go_on(each);
}

/// The execution.
#[must_use]
pub fn scheduled(events: &[TxnEvent], steps: &[usize]) -> Vec<TxnEvent> {
    let event = |(at, &step): (usize, &usize)| match steps[..at].contains(&step) {
        true => TxnEvent { kind: TxnKind::Commit, ..events[step] },
        false => events[step],
    };
    steps.iter().enumerate().map(event).collect()
}

struct Run<'a> {
    events: &'a [TxnEvent],
    /// Per thread what it has not done, and what is in its buffer.
    left: Vec<Vec<usize>>,
    buffers: Vec<Vec<usize>>,
    steps: Vec<usize>,
}

impl Run<'_> {
    fn go_on(&mut self, each: &mut dyn FnMut(&[usize]) -> bool) -> bool {
        let mut is_end = true;
        for thread in 0..self.left.len() {
            if let Some(&next) = self.left[thread].first() {
                is_end = false;
                let kind = self.events[next].kind;
                if !kind.drains() || self.buffers[thread].is_empty() {
                    self.left[thread].remove(0);
                    let is_write = kind == TxnKind::Write;
                    self.buffers[thread].extend(is_write.then_some(next));
                    self.steps.push(next);
                    let go_on = self.go_on(each);
                    self.steps.pop();
                    if is_write {
                        self.buffers[thread].pop();
                    }
                    self.left[thread].insert(0, next);
                    if !go_on {
                        return false;
                    }
                }
            }
            if let Some(&oldest) = self.buffers[thread].first() {
                is_end = false;
                self.buffers[thread].remove(0);
                self.steps.push(oldest);
                let go_on = self.go_on(each);
                self.steps.pop();
                self.buffers[thread].insert(0, oldest);
                if !go_on {
                    return false;
                }
            }
        }
        !is_end || each(&self.steps)
    }
}
