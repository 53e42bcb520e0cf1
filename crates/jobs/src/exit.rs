//! How the program ends.

use std::process::ExitCode;

use weakspot_core::Verdict;

/// The ends in rising order of importance: the worst one is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Every question holds.
    Holds,
    /// No violation, but at least one unknown.
    Unknown,
    /// At least one violation.
    Violated,
    /// Bad input or usage.
    Bad,
}

impl Exit {
    /// How a process ended that has the exit codes of this one; `None` if it has none.
    pub fn of_code(code: Option<u8>) -> Exit {
        match code {
            Some(0) => Exit::Holds,
            Some(1) => Exit::Violated,
            Some(2) => Exit::Bad,
            _ => Exit::Unknown,
        }
    }

    /// What a verdict means for it.
    pub fn of(verdict: &Verdict) -> Exit {
        match verdict {
            Verdict::Holds => Exit::Holds,
            Verdict::Violated => Exit::Violated,
            Verdict::Unknown(_) => Exit::Unknown,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Holds => 0,
            Exit::Violated => 1,
            Exit::Bad => 2,
            Exit::Unknown => 3,
        })
    }
}
