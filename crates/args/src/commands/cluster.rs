//! `weakspot cluster`.

use std::ffi::OsString;

use clap::Args;

use super::Command;
use crate::list::{Lacks, Means, Usage, commands};
use crate::meant::processes::ONE_READER;
use crate::meant::{self, refuse};
use crate::refused::{ABOUT_KEEPING, ABOUT_OUTPUT, ABOUT_QUESTIONS};

commands! {
    /// One search, or many files, by several processes.
    Cluster => ClusterCommand lacks &[];
    Local(Local => LocalArgs),
}

const OF_QUESTION: &str = "options are those of the question, as in `weakspot cluster local 2 -- reach --timeout 1h FILE`";

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
    processes: u16,
    /// After `--`: the question, as it is typed for one process.
    #[arg(last = true, required = true, allow_hyphen_values = true, value_name = "QUESTION")]
    question: Vec<OsString>,
}

#[derive(Debug)]
pub struct LocalArgs {
    pub processes: usize,
    /// The question, without the options that make one search of it.
    pub question: Vec<OsString>,
}

impl Means<LocalArgs> for Local {
    const LACKS: Lacks = &[
        (ABOUT_KEEPING, OF_QUESTION),
        (ABOUT_QUESTIONS, OF_QUESTION),
        ("format", OF_QUESTION),
        (ABOUT_OUTPUT, OF_QUESTION),
    ];

    fn meant(self) -> Result<LocalArgs, Usage> {
        let Local { processes, mut question } = self;
        refuse(&[("the input `-`", question.iter().any(|word| word == "-"))], ONE_READER)?;
        // Mistakes are told once, not by each process.
        let words = question.iter().cloned();
        let joined = ["--hosts", "hosts.txt", "--process", "0", "--token", "token"];
        let words = std::iter::once("weakspot".into()).chain(words);
        let of_process = crate::read(words.chain(joined.map(OsString::from)));
        match of_process {
            Ok(
                Command::Litmus(_)
                | Command::Reach(_)
                | Command::Robust(_)
                | Command::Monitor(_)
                | Command::Serial(_)
                | Command::History(_),
            ) => {}
            Err(crate::Stop::Usage(usage)) => return Err(usage),
            _ => {
                let line: Vec<_> = question.iter().map(|word| word.to_string_lossy()).collect();
                let expected = match &*line[0] {
                    "run" | "cargo" => {
                        "a real program is built and run where it is asked about, with -j for all \
                         processors; expected `litmus`, `reach`, `robust`, `monitor`, `serial` or \
                         `history` with several files"
                    }
                    _ => {
                        "expected `reach --model sc FILE` or `robust --model tso FILE`, or `litmus`, \
                         `reach`, `robust`, `monitor`, `serial` or `history` with several files"
                    }
                };
                return Err(Usage(format!(
                    "no question for several processes: `{}`; {expected}",
                    line.join(" ")
                )));
            }
        }
        let is_threads = |word: &OsString| {
            let word = word.to_string_lossy();
            word.starts_with("-j") || word.starts_with("--threads")
        };
        if !question.iter().any(is_threads) {
            let each = (meant::threads(None) / usize::from(processes)).max(1);
            question.push(format!("--threads={each}").into());
        }
        Ok(LocalArgs { processes: processes.into(), question })
    }
}
