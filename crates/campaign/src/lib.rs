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
//! A folder for each step, whose head is the file of the same name: `explore/` has the one configuration that every run of
//! the program is a variation of (`config.rs`; `live/src/wire/config.rs` writes and reads it), whether executions may
//! share a process (`isolate.rs`), several of the program at a time (`sharing.rs`), what is kept to go on another time
//! (`record.rs`), and what is heard (`heard.rs`) as findings; `replay/` the logs of what was executed again and the names in
//! it; `judge/` what led to failures, what threads wait for, executions with store buffers that fail because of a pair
//! (`consequences.rs`), which pairs the user knows (`accepted.rs`), and evidence; `advice/` changes of the source and what
//! the language asks for. `facts/` is what is known about a program before it runs: places in the source (`symbols.rs`), names
//! of data (`variables.rs`), what is unseen, where channels and locks of Rust wait, which results of Rust are `unused`. `runtime.rs` has the two seams: who runs
//! the program (`runtime/child.rs`, or in tests a program that is only data), and who has the clock and Ctrl-C.

mod advice;
mod answer;
mod error;
mod explore;
mod facts;
mod judge;
mod question;
mod replay;
mod runtime;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use advice::sources::Patch;
pub use advice::{Advice, SourceChange};
pub use answer::{
    Answer, Asked, Consequence, Evidence, Failed, Judged, ModelAnswer, Shown, ShownFailure,
    ShownKind, ShownOvertaking, ShownRelated, ShownStep, ShownWait, Transactions,
};
pub use error::{Error, Result};
pub use explore::course::Blocked;
pub use explore::findings::{Failure, Findings, Overtaking, Seen, Unserializable};
pub use explore::record::Record;
pub use facts::Facts;
pub use facts::locks::Locks;
pub use facts::naming::Naming;
pub use facts::symbols::has_harness;
pub use judge::accepted::Accepted;
pub use judge::evidence::{Unconfirmed, confirmed, evidence};
pub use question::{Isolate, Marks, Question, Strategy, Until};
pub use replay::log::{Logged, Replayed};
pub use runtime::child::{Child, Linked, Program, libraries, status_text};
pub use runtime::debugger::Stop;
pub use runtime::measure::{Measured, measure};
pub use runtime::{Control, Ended, Runtime, Shared, SoFar, Start};

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
        let mut base = explore::config::base(self.question, self.facts);
        let remark = explore::isolate::decide(self, &mut base)?;
        let mut explored = explore::explore(self, &base)?;
        explored.remarks.splice(0..0, remark);
        let libraries = facts::native::unseen_in_libraries(explored.symbols.files());
        let unseen: Vec<String> = self.facts.unseen.iter().cloned().chain(libraries).collect();
        explored.heed_unseen(&unseen);
        // Rust's library calls some of them, with memory that is not shared.
        let silent = self.facts.file.as_deref().filter(|_| !self.facts.rust);
        explored.mention(&silent.map(facts::native::silent_functions).unwrap_or_default());
        judge::judge(self, &base, &explored)
    }
}
