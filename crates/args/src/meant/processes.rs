//! What is meant for several processes.

use std::fmt::Debug;
use std::path::PathBuf;

use super::{Common, Usage, refuse};
use crate::typed;

/// Which process of which this one is.
#[derive(Clone, Debug)]
pub struct ProcessArgs {
    pub hosts: PathBuf,
    pub process: usize,
    pub token: PathBuf,
}

/// One process of those that many files are spread over.
#[derive(Clone, Debug)]
pub struct SweepArgs {
    pub at: ProcessArgs,
    /// What was typed but for that, which has to be the same in all processes.
    pub question: String,
}

/// Who answers, if that is more than one process: together for one file, or each for some of many.
pub(crate) enum Several {
    No,
    Together(ProcessArgs),
    Sweep(SweepArgs),
}

impl Several {
    /// A question that they answer.
    pub(crate) fn add_to(self, mut common: Common) -> Common {
        match self {
            Several::No => {}
            Several::Together(at) => return at.add_to(common),
            Several::Sweep(sweep) => common.shared.sweep = Some(sweep),
        }
        common
    }
}

impl ProcessArgs {
    /// A question for this process. Only process 0 writes files, and reads what was kept.
    fn add_to(self, mut common: Common) -> Common {
        if self.process > 0 {
            (common.shared.witness, common.shared.report) = (None, None);
            common.shared.checkpoint = None;
        }
        Common { processes: Some(self), ..common }
    }
}

pub(crate) fn processes(typed: typed::Processes) -> Result<Option<ProcessArgs>, Usage> {
    match typed {
        typed::Processes { hosts: Some(hosts), process: Some(process), token: Some(token) } => {
            Ok(Some(ProcessArgs { hosts, process: process.into(), token }))
        }
        typed::Processes { hosts: None, process, token } => {
            let without = [("--process", process.is_some()), ("--token", token.is_some())];
            refuse(&without, "is for several processes: expected --hosts FILE")?;
            Ok(None)
        }
        _ => Err(Usage(
            "--hosts takes --process N, which of the hosts this is, and --token FILE, what they know \
             each other by"
                .to_owned(),
        )),
    }
}

/// What is typed of a question that several processes can search for together, if it is about one file.
pub(crate) fn several(
    processes: typed::Processes,
    files: &[PathBuf],
    question: &dyn Debug,
) -> Result<Several, Usage> {
    Ok(match self::processes(processes)? {
        None => Several::No,
        // A folder stands for many, however many there are in it.
        Some(at) if matches!(files, [file] if !file.is_dir()) => Several::Together(at),
        Some(at) => Several::Sweep(spread(at, files, question)?),
    })
}

/// The same for questions that each process answers alone.
pub(crate) fn sweep(
    processes: typed::Processes,
    files: &[PathBuf],
    question: &dyn Debug,
) -> Result<Option<SweepArgs>, Usage> {
    let processes = self::processes(processes)?;
    processes.map(|at| spread(at, files, question)).transpose()
}

fn spread(at: ProcessArgs, files: &[PathBuf], question: &dyn Debug) -> Result<SweepArgs, Usage> {
    let is_stdin = files.iter().any(|file| file.as_os_str() == "-");
    refuse(&[("the input `-`", is_stdin)], ONE_READER)?;
    Ok(SweepArgs { at, question: format!("{question:?}") })
}

pub(crate) const ONE_READER: &str = "is for one process: save standard input to a file first";
