//! One exploration of a real program, from a typed question to an answer.
//!
//! The way is the same for every question, and each step hands plain data to the next:
//!
//! 1. [`Question`] and [`Facts`] (what is asked, what is known about the program) become one
//!    [`Config`](weakspot_live::wire::Config), of which every run of the program has a variation;
//! 2. `isolate` says whether executions may share a process;
//! 3. `explore` follows strategies, phase after phase, and collects [`Findings`];
//! 4. `replay` executes findings again, which makes evidence of them ([`Shown`]);
//! 5. `judge` makes verdicts of all findings and of what was not explored: [`Answer`];
//! 6. `advice` finds the fewest changes of the source against all of them, and `language` what C11 and Rust
//!    ask for beyond these; `debugger` stops a real one at the late store.
//!
//! No step drops a finding: what was not executed again, or did not come out the same, is in the
//! answer as that ([`Shown`]), and an answer holds only if there is none at all and everything was
//! explored.
//!
//! Nothing is printed here, and nothing is global: the program is behind [`Runtime`], the clock, the
//! progress line and Ctrl-C are behind [`Control`].
//!
//! # The files
//!
//! `lib.rs` is the way from a question to an answer, and each file a step of it: `config.rs` makes
//! the one configuration that every run of the program is a variation of (`live/src/wire/config.rs`
//! writes and reads it), `isolate.rs` finds out whether executions may share a process,
//! `explore.rs` follows strategies, with several of the program at a time by `sharing.rs` (which can go on another
//! time by `record.rs`), and
//! collects what is heard (`heard.rs`) as findings (`findings.rs`), `replay.rs` executes these
//! again as logs for the monitors (`log.rs`), `judge.rs` makes verdicts of all of them
//! (`answer.rs`): `failures.rs` says what led to failures, `waits.rs` what threads wait for that
//! cannot go on, `consequences.rs` looks for executions with store buffers that fail because of a
//! pair, `accepted.rs` says which pairs the user knows. `advice.rs` finds the fewest changes of the
//! source (`sources.rs`). `runtime.rs` has the two seams: who runs the program (`child.rs`, several
//! of it `child/workers.rs`, or in tests a program that is only data), and who has the clock and
//! Ctrl-C. `facts.rs` is what is known about a program before it runs, with `symbols.rs` (places in
//! the source), `variables.rs` (names of data, and what values mean by their types), `unseen.rs`, and `channels.rs` and `locks.rs`
//! (where those of Rust wait). No finding is dropped on the way.

mod accepted;
mod advice;
mod answer;
mod channels;
mod child;
mod config;
mod consequences;
mod course;
mod debugger;
mod delayed;
mod error;
mod evidence;
mod explore;
mod facts;
mod failures;
mod findings;
mod heard;
mod isolate;
mod judge;
mod language;
mod lines;
mod locks;
mod log;
mod measure;
mod memory;
mod names;
mod native;
mod pieces;
mod question;
mod races;
mod record;
mod replay;
mod runtime;
mod sharing;
mod sources;
mod symbols;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unseen;
mod variables;
mod waits;

pub use accepted::Accepted;
pub use advice::{Advice, SourceChange};
pub use answer::{
    Answer, Asked, Blocked, Consequence, Evidence, Failed, Judged, ModelAnswer, Shown,
    ShownFailure, ShownKind, ShownOvertaking, ShownRelated, ShownStep, ShownWait, Transactions,
};
pub use child::{Child, Linked, Program, libraries, status_text};
pub use debugger::Stop;
pub use error::{Error, Result};
pub use evidence::{Unconfirmed, confirmed, evidence};
pub use facts::Facts;
pub use findings::{Failure, Findings, Overtaking, Seen, Unserializable};
pub use locks::Locks;
pub use log::{Logged, Replayed};
pub use measure::{Measured, measure};
pub use question::{Isolate, Marks, Question, Strategy, Until};
pub use record::Record;
pub use runtime::{Control, Ended, Runtime, Shared, SoFar, Start};
pub use sources::Patch;
pub use symbols::has_harness;

/// How many findings of a model, and how many failures, are executed again to be shown.
pub(crate) const MOST_SHOWN: usize = 100;

/// An exploration: what is asked, what is known, who runs the program, who listens.
#[derive(Clone, Copy)]
pub struct Campaign<'a> {
    /// What is asked.
    pub question: &'a Question,
    /// What is known about the program.
    pub facts: &'a Facts,
    /// Who runs it.
    pub runtime: &'a dyn Runtime,
    /// The clock, and who wants an end.
    pub control: &'a dyn Control,
}

impl Campaign<'_> {
    /// Explores the program and answers.
    pub fn answer(&self) -> Result<Answer> {
        let mut base = config::base(self.question, self.facts);
        let remark = isolate::decide(self, &mut base)?;
        let mut explored = explore::explore(self, &base)?;
        explored.remarks.splice(0..0, remark);
        let libraries = explored.symbols.files().flat_map(native::unseen_in_library);
        let unseen: Vec<String> = self.facts.unseen.iter().cloned().chain(libraries).collect();
        explored.heed_unseen(&unseen);
        judge::judge(self, &base, &explored)
    }
}
