//! The two seams of an exploration: who runs the program, and who listens to how far it is.

pub(crate) mod child;
pub(crate) mod debugger;
pub(crate) mod measure;

use std::time::Duration;

use weakspot_live::Parts;
use weakspot_live::wire::{Config, Message};

use crate::Result;

/// Runs the program under control.
pub trait Runtime {
    /// Runs it once, as `start` says, and passes on what is reported until `hear` says that this is
    /// enough. Who is stopped is asked for its last messages.
    fn run(&self, start: &Start<'_>, hear: &mut dyn FnMut(Message) -> bool) -> Result<Ended>;

    /// Runs several of it at a time, at most so many, which explore parts of a whole. Messages come with
    /// the number of who has sent them.
    fn run_parts(
        &self,
        start: &Start<'_>,
        workers: usize,
        parts: &mut Parts,
        hear: &mut dyn FnMut(usize, Message) -> bool,
    ) -> Result<Shared>;

    /// Whether what is explored in parts can go on another time.
    fn is_kept(&self) -> bool {
        false
    }
}

/// What came of an exploration that several share.
pub struct Shared {
    /// Why the messages end.
    pub ended: Ended,
    /// Whether all parts have to be made again, because bytes turned out to be shared that were not known
    /// to be.
    pub again: bool,
    /// For each of those who explored: the parts that it was given, and how many executions it had had
    /// before each of them.
    pub given: Vec<Vec<(u64, u64)>>,
}

/// How the program is run.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// Which executions, and what is watched. Where messages go to is up to the runtime.
    pub config: &'a Config,
    /// Whether what the program prints is wanted.
    pub output: bool,
    /// How long it may take; it has a little more time to end by itself.
    pub most: Duration,
    /// Whether somebody wants an end now.
    pub stop: &'a dyn Fn() -> bool,
}

/// Why the messages end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The library said so, or we did not want to hear more.
    Heard,
    /// The caller asked to stop.
    Stopped,
    /// It did not end in time by itself.
    Overdue,
    /// The program ended without a last message: how, in words.
    Silent(String),
}

/// The clock, the progress line and Ctrl-C.
pub trait Control {
    /// How long the question has been worked on.
    fn elapsed(&self) -> Duration;

    /// Whether the user wants an end.
    fn interrupted(&self) -> bool;

    /// How far an exploration is.
    fn progress(&self, so_far: SoFar);
}

/// How far a strategy is.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoFar {
    /// The name of the strategy.
    pub strategy: &'static str,
    /// Executions.
    pub executions: u64,
    /// Steps of all of them.
    pub steps: u64,
    /// Failures and pairs that it has found.
    pub findings: u64,
}
