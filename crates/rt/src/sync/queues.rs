//! Queues in which threads wait for a wake-up, by the address of what they wait for.

use crate::Runtime;

/// Wake-ups that were given and not yet taken, by address of what is waited for.
pub struct WakeUps(Vec<(usize, u32)>);

impl WakeUps {
    /// None.
    pub fn new() -> WakeUps {
        WakeUps(Vec::new())
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many are waiting for a thread of the queue.
    pub fn of(&self, queue: usize) -> u32 {
        self.0.iter().find(|w| w.0 == queue).map_or(0, |w| w.1)
    }

    pub fn set(&mut self, queue: usize, n: u32) {
        match self.0.iter().position(|w| w.0 == queue) {
            Some(i) if n == 0 => {
                self.0.swap_remove(i);
            }
            Some(i) => self.0[i].1 = n,
            None if n > 0 => self.0.push((queue, n)),
            None => {}
        }
    }
}

/// What a thread waits in.
#[derive(Default)]
pub struct Waiting {
    /// The queue, and whether it may take a wake-up that was given to those in it.
    pub(super) queue: Option<(usize, bool)>,
    /// It was in a queue of which all were woken.
    pub(super) granted: bool,
    /// Since it entered, there was a wake-up that another thread has taken or may take as well.
    pub(super) contends: bool,
    /// The condition variable of Rust that it has just changed, so as to wake those who wait for it.
    pub(super) notifies: Option<usize>,
    /// The mutex that it takes again when it was woken on a condition variable.
    pub(super) mutex: usize,
    /// A barrier, and its round.
    pub barrier: usize,
    pub(super) round: u32,
}

impl Waiting {
    /// Whether there is a wake-up that the thread may take.
    pub fn is_woken(&self) -> bool {
        self.granted || self.queue.is_some_and(|(_, woken)| woken)
    }

    pub(super) fn is_in(&self, queue: usize) -> bool {
        self.queue.is_some_and(|q| q.0 == queue)
    }
}

impl Runtime {
    /// The current thread is in the queue from now on.
    pub(super) fn enter_queue(&mut self, queue: usize) {
        let waiting = &mut self.threads.me_mut().waiting;
        (waiting.queue, waiting.granted) = (Some((queue, false)), false);
        waiting.contends = false;
    }

    /// The current thread is in no queue any more.
    pub(super) fn leave_queue(&mut self) {
        let waiting = &mut self.threads.me_mut().waiting;
        (waiting.queue, waiting.granted) = (None, false);
    }

    /// Gives up to `n` wake-ups to those in the queue; how many.
    pub(super) fn wake(&mut self, queue: usize, n: u32) -> u32 {
        let before = self.wake_ups.of(queue);
        let waiting = self.threads.iter().filter(|t| t.waiting.is_in(queue)).count() as u32;
        let given = n.min(waiting.saturating_sub(before));
        if given > 0 && before + given == waiting && self.waits_commute() {
            // Nobody takes it from another one, and the order in which they leave is not explored.
            for thread in self.threads.iter_mut().filter(|t| t.waiting.is_in(queue)) {
                (thread.waiting.queue, thread.waiting.granted) = (None, true);
            }
            self.wake_ups.set(queue, 0);
        } else if given > 0 {
            for thread in self.threads.iter_mut().filter(|t| t.waiting.is_in(queue)) {
                thread.waiting.queue = Some((queue, true));
                thread.waiting.contends = true;
            }
            self.wake_ups.set(queue, before + given);
        }
        given
    }

    /// Whether entering and leaving queues need not be in an order: with store buffers they are fences, and `rf` knows
    /// only what is read and written.
    pub(super) fn waits_commute(&self) -> bool {
        !self.scheduler.buffered() && self.lets_steps_commute()
    }
}
