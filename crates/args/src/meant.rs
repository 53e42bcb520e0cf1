//! What is meant by words that several commands share, with their defaults and conflicts.

pub(crate) mod processes;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use weakspot_core::{Drain, Model};
use weakspot_lang::{COptions, Format};

use crate::typed;
use crate::values::{InputFormat, OutputFormat, When};
pub use processes::{ProcessArgs, SweepArgs};

/// What does not go together, and what was expected.
#[derive(Debug, PartialEq, Eq)]
pub struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// What all questions about programs share.
#[derive(Clone, Debug)]
pub struct Common {
    pub model: Vec<Model>,
    /// Entries that a buffer may hold at most in a thread that stores in a loop.
    pub buffer_limit: usize,
    /// The language of the inputs, if it is not the one that they end in.
    pub language: Option<Format>,
    /// What programs in C are compiled with.
    pub options: COptions,
    /// Which process this is, if several search for one answer.
    pub processes: Option<ProcessArgs>,
    /// How the search takes less memory, if it is to.
    pub storage: Option<StorageArgs>,
    pub shared: Shared,
}

/// How a search takes less memory.
#[derive(Clone, Debug)]
pub enum StorageArgs {
    /// It keeps hashes of so many bits.
    Hashes(u32),
    /// It puts states into files in this folder.
    Disk(PathBuf),
}

/// What is kept, so that it can go on another time.
#[derive(Clone, Debug)]
pub struct CheckpointArgs {
    /// Where it is written.
    pub write: Option<PathBuf>,
    /// Where it goes on from.
    pub resume: Option<PathBuf>,
    /// Of several files the answers are kept, not searches: what was typed, on which they depend.
    pub answers: Option<String>,
}

/// What all questions share.
#[derive(Clone, Debug)]
pub struct Shared {
    pub format: OutputFormat,
    /// Where the evidence of the answer goes, if anywhere.
    pub witness: Option<PathBuf>,
    /// Where the answers go as a page, if anywhere.
    pub report: Option<PathBuf>,
    /// When to give up on a question.
    pub timeout: Duration,
    /// When to stop following a log, which takes as long as it takes unless the user named a time.
    pub reading: Option<Duration>,
    pub memory: u64,
    /// How many inputs are worked on at a time, or threads on one.
    pub threads: usize,
    pub quiet: bool,
    pub verbose: bool,
    pub progress: When,
    pub color: When,
    /// Whether drawings are ASCII only, whatever the locale.
    pub ascii: bool,
    /// Which process this is, if the inputs are spread over several.
    pub sweep: Option<SweepArgs>,
    /// Where the search is kept, and goes on from.
    pub checkpoint: Option<CheckpointArgs>,
}

impl Shared {
    /// Where the search for the one answer is kept, if it is.
    pub fn kept_search(&self) -> Option<&CheckpointArgs> {
        self.checkpoint.as_ref().filter(|kept| kept.answers.is_none())
    }

    /// Whether another process prints what this one answers.
    pub fn is_helper(&self) -> bool {
        self.sweep.as_ref().is_some_and(|sweep| sweep.at.process > 0)
    }
}

/// What one answer may take, and how it looks.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub timeout: Duration,
    pub memory: u64,
    pub color: When,
}

pub(crate) const TSO: Model = Model::Tso;

pub(crate) const PSO: Model = Model::Pso(Drain::All);

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) const MEMORY: u64 = 4 << 30;

pub(crate) const BUFFER_LIMIT: usize = 1024;

/// A question about a program, under these models unless others were typed.
pub(crate) fn common(
    typed: typed::Common,
    models: &[Model],
    buffers: Option<&typed::Buffers>,
    witness: Option<typed::Witness>,
) -> Result<Common, Usage> {
    let typed::Common { model, input_format, threads, shared } = typed;
    Ok(Common {
        model: distinct(or(model, models))?,
        buffer_limit: buffers.and_then(|buffers| buffers.buffer_limit).unwrap_or(BUFFER_LIMIT),
        language: input_format.and_then(InputFormat::language),
        options: COptions::default(),
        processes: None,
        storage: None,
        shared: self::shared(shared, Some(&threads), witness)?,
    })
}

/// What programs in C are compiled with.
pub(crate) fn in_c(typed: typed::InC) -> Result<COptions, Usage> {
    let typed::InC { define, undefine, include } = typed;
    COptions::new(&define, &undefine, include).map_err(Usage)
}

pub(crate) fn shared(
    typed: typed::Shared,
    threads: Option<&typed::Threads>,
    witness: Option<typed::Witness>,
) -> Result<Shared, Usage> {
    let typed::Shared { format, report, timeout, memory, quiet, verbose, progress, color, ascii } =
        typed;
    Ok(Shared {
        format: format.unwrap_or(OutputFormat::Text),
        witness: file("--witness", witness.and_then(|typed| typed.witness))?,
        report: file("--report", report)?,
        timeout: timeout.unwrap_or(TIMEOUT),
        reading: None,
        memory: memory.unwrap_or(MEMORY),
        threads: self::threads(threads.and_then(|typed| typed.threads)),
        quiet,
        verbose,
        progress: progress.unwrap_or(When::Auto),
        color: color.unwrap_or(When::Auto),
        ascii,
        sweep: None,
        checkpoint: None,
    })
}

pub(crate) fn bounds(typed: &typed::Bounds) -> Bounds {
    Bounds {
        timeout: typed.timeout.unwrap_or(TIMEOUT),
        memory: typed.memory.unwrap_or(MEMORY),
        color: typed.color.unwrap_or(When::Auto),
    }
}

/// What was typed of a question that may be kept, apart from what its answers do not depend on. `threads` is where
/// the number of threads stands.
pub(crate) fn asked<T: fmt::Debug>(
    typed: &mut T,
    threads: fn(&mut T) -> &mut typed::Threads,
) -> String {
    let number = threads(typed).threads.take();
    let text = format!("{typed:?}");
    threads(typed).threads = number;
    text
}

/// What is kept: the search for the answer about one file, or the answers about several. `question` is what was typed.
pub(crate) fn checkpoint(
    typed: typed::Checkpoint,
    files: &[PathBuf],
    processes: &typed::Processes,
    question: String,
) -> Result<Option<CheckpointArgs>, Usage> {
    let is_one = matches!(files, [file] if !file.is_dir());
    let is_typed = typed.checkpoint.is_some() || typed.resume.is_some();
    if is_typed && processes.hosts.is_some() && !is_one {
        return Err(one_process());
    }
    kept(typed, (!is_one).then_some(question))
}

/// What is kept, if anything: a search, or the answers to a question.
pub(crate) fn kept(
    typed: typed::Checkpoint,
    answers: Option<String>,
) -> Result<Option<CheckpointArgs>, Usage> {
    let write = file("--checkpoint", typed.checkpoint)?;
    let resume = file("--resume", typed.resume)?;
    let is_typed = write.is_some() || resume.is_some();
    Ok(is_typed.then_some(CheckpointArgs { write, resume, answers }))
}

/// Several processes keep the search that they do together, and nothing else.
pub(crate) fn one_process() -> Usage {
    Usage(
        "of several processes the search of `reach` or `robust` for one file can be kept: answers to --checkpoint \
         and --resume come from one process, without --hosts"
            .to_owned(),
    )
}

/// Of one file, one search is kept.
pub(crate) fn one_model() -> Usage {
    Usage(
        "of one file the search under one model can be kept: --checkpoint and --resume expect --model sc, \
         tso or another"
            .to_owned(),
    )
}

/// The same for what was recorded, of which only answers are kept.
pub(crate) fn answers_checkpoint(
    typed: typed::Checkpoint,
    files: &[PathBuf],
    processes: &typed::Processes,
    question: String,
) -> Result<Option<CheckpointArgs>, Usage> {
    let kept = checkpoint(typed, files, processes, question)?;
    if kept.as_ref().is_some_and(|kept| kept.answers.is_none()) {
        return Err(Usage(
            "--checkpoint and --resume are for several files here: one that is not answered is read again \
             from its beginning"
                .to_owned(),
        ));
    }
    Ok(kept)
}

/// How the search takes less memory, where it can: one process, from its beginning to its end.
pub(crate) fn storage(
    typed: typed::Storage,
    common: &Common,
) -> Result<Option<StorageArgs>, Usage> {
    let Shared { checkpoint, sweep, witness, .. } = &common.shared;
    let (option, storage) = match typed {
        typed::Storage { hash_compact: Some(_), disk: Some(_) } => {
            return Err(Usage(
                "--disk has room for states, and --hash-compact keeps none: leave out one of them"
                    .to_owned(),
            ));
        }
        typed::Storage { hash_compact: Some(bits), .. } => {
            refuse(
                &[("--witness", witness.is_some())],
                "is not for --hash-compact: what it does not find has no evidence; --format json shows the \
                 run of what it finds",
            )?;
            ("--hash-compact", StorageArgs::Hashes(bits))
        }
        typed::Storage { disk: Some(folder), .. } => ("--disk", StorageArgs::Disk(folder)),
        _ => return Ok(None),
    };
    let processes = common.processes.is_some() || sweep.is_some();
    let why =
        format!("is not for {option}, whose search is that of one process, without checkpoints");
    refuse(&[("--hosts", processes), ("--checkpoint and --resume", checkpoint.is_some())], &why)?;
    Ok(Some(storage))
}

/// Refuses a table where there is none.
pub(crate) fn refuse_csv(shared: &Shared) -> Result<(), Usage> {
    let why = "is for tables, the rows of `weakspot bench` and the summary of many files, and there \
               is none here; expected --format text or json";
    refuse(&[(&format!("--format {}", shared.format), shared.format.is_table())], why)
}

/// How many threads: one per processor unless the user says otherwise.
pub(crate) fn threads(typed: Option<u16>) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    typed.map_or_else(processors, usize::from)
}

pub(crate) fn or<T: Clone>(typed: Vec<T>, default: &[T]) -> Vec<T> {
    if typed.is_empty() { default.to_vec() } else { typed }
}

pub(crate) fn distinct<M: Ord + Copy>(models: Vec<M>) -> Result<Vec<M>, Usage> {
    let mut sorted = models.clone();
    sorted.sort_unstable();
    sorted.dedup();
    match sorted.len() == models.len() {
        true => Ok(models),
        false => Err(Usage("--model names a model twice".to_owned())),
    }
}

/// The name of a file beside the answer, which goes to standard output.
pub(crate) fn file(option: &str, path: Option<PathBuf>) -> Result<Option<PathBuf>, Usage> {
    match path {
        Some(path) if path.as_os_str() == "-" => Err(Usage(format!(
            "{option} takes the name of a file, not `-`: standard output is for the answer"
        ))),
        path => Ok(path),
    }
}

/// Refuses `options` where they do nothing: each with whether it was typed.
pub(crate) fn refuse(options: &[(&str, bool)], why: &str) -> Result<(), Usage> {
    match options.iter().find(|(_, is_typed)| *is_typed) {
        Some((option, _)) => Err(Usage(format!("{option} {why}"))),
        None => Ok(()),
    }
}
