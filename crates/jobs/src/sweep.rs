//! Many inputs and several processes. Process 0 hands out inputs one by one, to its own threads and to
//! those of the others, whenever one is free: a slow input holds up nobody. It prints what all of them
//! came to in input order, as one process would; the others print nothing.
//!
//! What a process had when it was lost is handed out again. What was printed of it stays: answers come
//! in parts, the same ones in the same order, so that the first ones of the second time are left out.

mod answered;
mod handout;
mod help;
mod lead;
mod message;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow};
use sha2::{Digest, Sha256};
use weakspot_args::{Shared, SweepArgs, VERSION};
use weakspot_cluster::{Joined, Question, join_sweep};
use weakspot_core::LostProcess;
use weakspot_report::Row;

use crate::exit::Exit;
use crate::interrupt;
use crate::pool::{self, Answer, Named};

/// [`pool::run`], by several processes if the user wants that.
pub fn run<I: Named + AsRef<Path>, T: Send + Row>(
    inputs: &[I],
    shared: &Shared,
    job: impl Fn(&I) -> Answer<T> + Sync,
) -> Result<(Exit, Vec<T>)> {
    run_in_parts(inputs, shared, Some(shared.timeout), |input, part| part(job(input)))
}

/// [`pool::run_logs`], in the same way.
pub fn run_logs<T: Send + Row>(
    logs: &[PathBuf],
    shared: &Shared,
    job: impl Fn(&PathBuf) -> Answer<T> + Sync,
) -> Result<(Exit, Vec<T>)> {
    run_in_parts(logs, shared, shared.reading, |log, part| part(job(log)))
}

/// [`pool::run_in_parts`], in the same way.
pub fn run_in_parts<I: Named + AsRef<Path>, T: Send + Row>(
    inputs: &[I],
    shared: &Shared,
    time: Option<Duration>,
    job: impl Fn(&I, &mut dyn FnMut(Answer<T>)) + Sync,
) -> Result<(Exit, Vec<T>)> {
    let Some(sweep) = &shared.sweep else {
        let kept = shared.checkpoint.as_ref();
        return match kept.and_then(|args| Some((args, args.answers.as_deref()?))) {
            Some(kept) => answered::run(inputs, shared, time, kept, job),
            None => pool::run_in_parts(inputs, shared, time, job),
        };
    };
    interrupt::watch();
    let Joined { peers, absent } = join(sweep, inputs, shared.timeout)?;
    if sweep.at.process > 0 {
        let exit = help::help(inputs, shared, peers.first(), &job);
        return Ok((exit, Vec::new()));
    }
    if !shared.quiet && !interrupt::asked() {
        for process in absent {
            let lost = lost(process, LostProcess::Absent);
            eprintln!("warning: {lost}; the others answer without it");
        }
    }
    lead::lead(inputs, shared, time, &peers, &job)
}

/// Connects the processes.
fn join<I: Named>(sweep: &SweepArgs, inputs: &[I], timeout: Duration) -> Result<Joined> {
    let names: Vec<String> = inputs.iter().map(Named::name).collect();
    let (what, names) = (sweep.question.clone(), names.join("\0"));
    let question = Question { version: VERSION, what, text: &names };
    let files = (sweep.at.hosts.as_path(), sweep.at.token.as_path());
    let joined = join_sweep(files, sweep.at.process, &question, timeout, interrupt::asked);
    joined.map_err(|why| anyhow!("{why}"))
}

/// How a process was lost.
fn lost(process: usize, why: LostProcess) -> String {
    let what = match why {
        LostProcess::Gone => "ended before all was answered",
        LostProcess::Silent => "was not heard of any more",
        LostProcess::Absent => "did not come",
        LostProcess::Garbled => "said something that has no meaning",
    };
    format!("process {process} {what}")
}

/// The SHA-256 of a file that is all of an input, by which it is known again: elsewhere, or another time. A program in C
/// may include others.
fn digest_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() || path.extension().is_some_and(|ending| ending == "c") {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut digest = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            n => digest.update(&block[..n]),
        }
    }
}
