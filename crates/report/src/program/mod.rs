//! Answers to questions about programs: a file per question, and what many programs came to.

pub(crate) mod fence;
pub(crate) mod litmus;
pub(crate) mod on_cpu;
pub(crate) mod race;
pub(crate) mod reach;
pub(crate) mod robust;
pub(crate) mod summary;
pub(crate) mod tally;
pub(crate) mod unread;
pub(crate) mod why_not;
