//! Questions whose searches are kept in files (`checkpoint/file.rs`), and what is said about that.

pub(crate) mod file;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use weakspot_args::CheckpointArgs;
use weakspot_core::{Certified, Claim, Limits, Model, Verdict};
use weakspot_explore::{Keep, NoAnswer, Outcomes};
use weakspot_input::{Source, read_file};

pub use self::file::CheckpointFile;
use self::file::{Head, check};
use crate::job::Job;

/// Asks a question whose search is kept. What there is to say about that is noted.
///
/// # Errors
///
/// There is no answer, or the file is no checkpoint of this question.
pub fn ask<T, F: Found>(
    job: &mut Job<'_, T>,
    args: &CheckpointArgs,
    asked: (&str, Model),
    source: &Source,
    limits: &Limits,
    ask: impl FnOnce(&dyn Keep) -> Result<F, NoAnswer>,
) -> Result<F, NoAnswer> {
    match opened(args, asked, source, limits) {
        Ok(file) => ask_with(job, args, file, ask),
        Err(why) => Err(why),
    }
}

/// The same with other processes, who wait for this one: they hear of it if there is no checkpoint to go on from.
///
/// # Errors
///
/// As there.
pub fn ask_together<T, F: Found>(
    job: &mut Job<'_, T>,
    args: &CheckpointArgs,
    asked: (&str, Model),
    source: &Source,
    limits: &Limits,
    ask: impl FnOnce(&dyn Keep) -> Result<F, NoAnswer>,
) -> Result<F, NoAnswer> {
    match opened(args, asked, source, limits) {
        Ok(file) => ask_with(job, args, file, ask),
        Err(why) => {
            let _: Result<F, NoAnswer> = ask(&Nothing);
            Err(why)
        }
    }
}

/// No checkpoint can be made, or gone on from.
struct Nothing;

impl Keep for Nothing {
    fn earlier(&self) -> Option<io::Result<Box<dyn Read + '_>>> {
        Some(Err(io::ErrorKind::InvalidData.into()))
    }

    fn is_due(&self) -> bool {
        false
    }

    fn keep(&self, _: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {}
}

/// The files of a question.
fn opened(
    args: &CheckpointArgs,
    (question, model): (&str, Model),
    source: &Source,
    limits: &Limits,
) -> Result<CheckpointFile, NoAnswer> {
    let buffers = match (question, model) {
        ("robust", _) | (_, Model::Sc) => String::new(),
        _ => format!(" --buffer-limit {}", limits.buffer),
    };
    let question = format!("{question} {model} {:?}{buffers}", source.format);
    let head = Head::new(question, Sha256::digest(source.identity().as_bytes()).into());
    CheckpointFile::new(args, head).map_err(|error| NoAnswer::NotResumed(format!("{error:#}")))
}

fn ask_with<T, F: Found>(
    job: &mut Job<'_, T>,
    args: &CheckpointArgs,
    file: CheckpointFile,
    ask: impl FnOnce(&dyn Keep) -> Result<F, NoAnswer>,
) -> Result<F, NoAnswer> {
    let resumed = |why| match &args.resume {
        Some(path) => NoAnswer::NotResumed(format!("{} is damaged: {why}", path.display())),
        None => NoAnswer::NotResumed(why),
    };
    let found = ask(&file).map_err(|why| match why {
        NoAnswer::NotResumed(why) => resumed(why),
        why => why,
    })?;
    let Some(path) = &args.write else { return Ok(found) };
    let (written, failed) = file.end();
    match (found.is_unfinished(), failed) {
        (true, Some(why)) => job.complain(&format!("{why:#}")),
        (_, Some(why)) => job.answer.err += &format!("warning: {}: {why:#}\n", job.file),
        (true, None) if written && !job.shared.quiet => {
            let path = path.display();
            job.answer.err += &format!("{}: --resume {path} goes on from here\n", job.file);
        }
        _ => {}
    }
    Ok(found)
}

/// The checkpoint of the exploration of a program with these words; `options` are those that it depends on.
///
/// # Errors
///
/// The file is no checkpoint of that, or cannot be written.
pub fn of_exploration(
    args: &CheckpointArgs,
    command: &[OsString],
    options: &[String],
) -> Result<CheckpointFile> {
    let program = command.first().context("there is no program")?;
    check(Some(args), &[program])?;
    let name = Path::new(program).display();
    let mut sum = Sha256::new();
    sum.update(read_file(Path::new(program)).with_context(|| format!("failed to read {name}"))?);
    for word in &command[1..] {
        sum.update([0]);
        sum.update(word.as_encoded_bytes());
    }
    let question = options.iter().fold("run".to_owned(), |all, option| all + " " + option);
    let head = Head::new(question, sum.finalize().into());
    CheckpointFile::new(args, head)
}

/// What is to be said of a checkpoint in the end: whether it cannot be gone on from though it should, and the words.
pub fn said_of(file: CheckpointFile, is_unfinished: bool, quiet: bool) -> (bool, String) {
    let path = file.name();
    match file.end() {
        (_, Some(why)) if is_unfinished => (true, format!("error: {why:#}\n")),
        (_, Some(why)) => (false, format!("warning: {why:#}\n")),
        (true, None) if is_unfinished && !quiet => {
            (false, format!("--resume {path} goes on from here\n"))
        }
        _ => (false, String::new()),
    }
}

/// What a search comes to.
pub trait Found {
    /// Whether a limit or a signal has ended it.
    fn is_unfinished(&self) -> bool;
}

impl<C: Claim> Found for Certified<C> {
    fn is_unfinished(&self) -> bool {
        matches!(self.verdict(), Verdict::Unknown(_))
    }
}

impl Found for Outcomes<'_> {
    fn is_unfinished(&self) -> bool {
        self.stopped.is_some()
    }
}
