//! What may be typed for several processes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// For one search, or many files, and several processes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Processes {
    /// Answer together with other processes: a file with a line HOST:PORT for each.
    #[arg(long, value_name = "FILE", help_heading = "Several processes")]
    pub(crate) hosts: Option<PathBuf>,
    /// Which of them this is, from 0 on; process 0 prints the answer.
    #[arg(long, value_name = "N", help_heading = "Several processes")]
    pub(crate) process: Option<u16>,
    /// A file with what they know each other by, which only its owner may read.
    #[arg(long, value_name = "FILE", help_heading = "Several processes")]
    pub(crate) token: Option<PathBuf>,
}

/// One search, or many files, by several processes.
#[derive(Debug, Subcommand)]
pub(crate) enum Cluster {
    Local(Local),
}

/// Start several processes on this machine that answer together.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot cluster local 2 -- reach --model sc corpus/programs/mcs-4.weak
  weakspot cluster local 2 -- litmus --format json corpus/litmus
  weakspot cluster local 4 -- robust --model tso --timeout 1h -j 2 big.weak",
    after_help = "\
One file is searched by all of them together, with `reach --model sc` and
`robust`. Several files, or folders, are spread over them, with `litmus`,
`reach`, `robust`, `monitor`, `serial` and `history`: answers come in the order
of the files, as one process would print them.

The processes reach each other at addresses of this machine only, and share a
token that is made for them. Process 0 prints the answers, and its exit code is
that of the whole. --memory holds for each of them. Without -j they share the
processors. Over several machines, start the question with --hosts on each.

Exit code: as that of the question; 3 if a process of a search is lost. What a
process had of many files when it was lost is answered by another one."
)]
pub(crate) struct Local {
    /// How many processes.
    #[arg(value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) processes: u16,
    /// After `--`: the question, as it is typed for one process.
    #[arg(last = true, required = true, allow_hyphen_values = true, value_name = "QUESTION")]
    pub(crate) question: Vec<OsString>,
}
