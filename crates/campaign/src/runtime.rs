//! The two seams of an exploration: who runs the program, and who listens to how far it is.

use std::time::Duration;

use weakspot_live::wire::{Config, Message};

use crate::Result;

/// Runs the program under control.
pub trait Runtime {
    /// Runs it once, as `start` says, and passes on what is reported until `hear` says that this is
    /// enough. Who is stopped is asked for its last messages.
    fn run(&self, start: &Start<'_>, hear: &mut dyn FnMut(Message) -> bool) -> Result<Ended>;
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
    /// Somebody wanted an end.
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
    fn progress(&self, executions: u64, steps: u64);
}
