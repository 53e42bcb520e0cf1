//! What is meant for one search by several processes.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Command, Common, Usage, refuse};
use crate::typed;

/// Which process of which this one is.
#[derive(Clone, Debug)]
pub struct ProcessArgs {
    pub hosts: PathBuf,
    pub process: usize,
    pub token: PathBuf,
}

impl ProcessArgs {
    /// A question for this process. Only process 0 writes files.
    pub(super) fn add_to(self, mut common: Common) -> Common {
        if self.process > 0 {
            (common.shared.witness, common.shared.report) = (None, None);
        }
        Common { processes: Some(self), ..common }
    }
}

#[derive(Debug)]
pub struct LocalArgs {
    pub processes: usize,
    /// The question, without the options that make one search of it.
    pub question: Vec<OsString>,
}

pub(super) fn processes(typed: typed::Processes) -> Result<Option<ProcessArgs>, Usage> {
    match typed {
        typed::Processes { hosts: Some(hosts), process: Some(process), token: Some(token) } => {
            Ok(Some(ProcessArgs { hosts, process: process.into(), token }))
        }
        typed::Processes { hosts: None, process, token } => {
            let without = [("--process", process.is_some()), ("--token", token.is_some())];
            refuse(&without, "is for one search by several processes: expected --hosts FILE")?;
            Ok(None)
        }
        _ => Err(Usage(
            "--hosts takes --process N, which of the hosts this is, and --token FILE, what they know \
             each other by"
                .to_owned(),
        )),
    }
}

pub(super) fn local(typed: typed::Local) -> Result<LocalArgs, Usage> {
    let typed::Local { processes, mut question } = typed;
    refuse(
        &[("the input `-`", question.iter().any(|word| word == "-"))],
        "is for one process: save standard input to a file first",
    )?;
    // Mistakes are told once, not by each process.
    let words = question.iter().cloned();
    let joined = ["--hosts", "hosts.txt", "--process", "0", "--token", "token"];
    let words = std::iter::once("weakspot".into()).chain(words);
    let of_process = crate::read(words.chain(joined.map(OsString::from)));
    match of_process {
        Ok(Command::Reach(_) | Command::Robust(_)) => {}
        Err(crate::Stop::Usage(usage)) => return Err(usage),
        _ => {
            let line: Vec<_> = question.iter().map(|word| word.to_string_lossy()).collect();
            return Err(Usage(format!(
                "no question for several processes: `{}`; expected `reach --model sc FILE` or \
                 `robust --model tso FILE`",
                line.join(" ")
            )));
        }
    }
    let is_threads = |word: &OsString| {
        let word = word.to_string_lossy();
        word.starts_with("-j") || word.starts_with("--threads")
    };
    if !question.iter().any(is_threads) {
        let each = (super::threads(None) / usize::from(processes)).max(1);
        question.push(format!("--threads={each}").into());
    }
    Ok(LocalArgs { processes: processes.into(), question })
}
