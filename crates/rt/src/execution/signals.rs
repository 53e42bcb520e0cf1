//! What the keeper and its worker say to each other while both run. All else in the arena belongs to
//! one of them at a time.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Numbers and flags that either of the two processes may look at whenever it wants.
pub struct Signals {
    /// Executions that are over.
    executions: AtomicU64,
    /// Steps of all of them.
    steps: AtomicU64,
    /// Bytes that the program has allocated in this execution.
    memory: AtomicU64,
    /// An execution is going on: the strategy expects its end.
    within: AtomicBool,
    /// The strategy is at work, which may take its time and must not be interrupted.
    busy: AtomicBool,
    /// The keeper wants an end.
    stop: AtomicBool,
    /// The keeper asks why no step is taken: whether it is sure that none will be.
    sure: AtomicBool,
    /// The keeper sees that the worker waits for something in the kernel.
    blocked: AtomicBool,
    /// The keeper wants the worker to report how far it is.
    progress: AtomicBool,
}

impl Signals {
    /// Before the first worker.
    pub fn new() -> Signals {
        Signals {
            executions: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            within: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            sure: AtomicBool::new(false),
            blocked: AtomicBool::new(false),
            progress: AtomicBool::new(false),
        }
    }

    /// The keeper wants a report of how far it is. It does not write that itself: long messages of the
    /// worker are not written at once, and others would get in between.
    pub fn ask_for_progress(&self) {
        self.progress.store(true, Relaxed);
    }

    /// Whether the keeper wants a report of how far it is, which it gets now.
    pub fn take_progress(&self) -> bool {
        self.progress.load(Relaxed) && self.progress.swap(false, Relaxed)
    }

    /// Executions that are over.
    pub fn executions(&self) -> u64 {
        self.executions.load(Relaxed)
    }

    /// One more execution is over.
    pub fn add_execution(&self) {
        // Only the worker counts, so that this need not be one operation.
        self.executions.store(self.executions() + 1, Relaxed);
    }

    /// Steps of all executions.
    pub fn steps(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    /// One more step was taken.
    #[inline(always)]
    pub fn add_step(&self) {
        self.steps.store(self.steps() + 1, Relaxed);
    }

    /// The exploration starts again.
    pub fn restart(&self) {
        self.executions.store(0, Relaxed);
        self.steps.store(0, Relaxed);
    }

    /// How many bytes the program has allocated in this execution.
    pub fn memory(&self) -> usize {
        self.memory.load(Relaxed) as usize
    }

    /// The program has allocated so many bytes in this execution.
    pub fn set_memory(&self, used: usize) {
        self.memory.store(used as u64, Relaxed);
    }

    /// A number that changes whenever the worker gets on. Memory that it takes is a sign of life,
    /// too: there is a limit to it.
    pub fn pulse(&self) -> u64 {
        self.steps().wrapping_add(self.executions()).wrapping_add(self.memory.load(Relaxed))
    }

    /// Whether an execution is going on.
    pub fn within(&self) -> bool {
        self.within.load(Relaxed)
    }

    /// An execution begins or is over.
    pub fn set_within(&self, within: bool) {
        self.within.store(within, Relaxed);
    }

    /// Whether the strategy is at work.
    pub fn busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// The strategy is at work from now on, or is not any more.
    #[inline(always)]
    pub fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Relaxed);
    }

    /// Whether the keeper wants an end.
    #[inline(always)]
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// The keeper wants an end.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the keeper is sure that no step will be taken.
    pub fn sure(&self) -> bool {
        self.sure.load(Relaxed)
    }

    /// The keeper is sure that no step will be taken, or only asks.
    pub fn set_sure(&self, sure: bool) {
        self.sure.store(sure, Relaxed);
    }

    /// The keeper sees that the worker waits in the kernel.
    pub fn set_blocked(&self) {
        self.blocked.store(true, Relaxed);
    }

    /// Whether the keeper has seen that the worker waits in the kernel, since this was asked last.
    pub fn take_blocked(&self) -> bool {
        self.blocked.swap(false, Relaxed)
    }
}
