//! From the paths that were typed to programs, logs and histories.
//!
//! Whatever a path is, an endless device or a pipe that nobody writes to, reading it ends at the limits of
//! a question and when an end is asked for.

mod folders;
mod histories;
mod litmus_logs;
mod logs;
mod patient;
mod process;
mod programs;
#[cfg(test)]
mod tests;
mod traces;

pub use folders::{NoFiles, is_stdin, no_file, read_by, read_file};
pub use histories::{expand as expand_histories, hash_file, hint, open as open_histories};
pub use litmus_logs::{
    BadLog, LitmusLog, LogDifference, LoggedState, LoggedTest, compare_litmus_logs, read_litmus_log,
};
pub use logs::{
    ENDINGS as LOG_ENDINGS, expand as expand_logs, is_log, open as open_log, read_trace,
};
pub use patient::{Patience, Stop, growing, source};
pub use process::resident;
pub use programs::{
    CHECKED_ENDINGS, Input, Loaded, PROGRAM_ENDINGS, Reading, Source, Unread, Unreadable, expand,
};
pub use traces::{Known, TraceOf};
