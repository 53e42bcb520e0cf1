//! Many inputs side by side, their answers in input order, with progress and Ctrl-C.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use weakspot_core::{Limits, Progress, Snapshot};

use crate::args::{Common, Shared, When};
use crate::exit::Exit;
use crate::job::signed;
use crate::output::spare_inputs;

/// What one input came to.
pub(crate) struct Answer<T> {
    /// For standard output.
    pub(crate) out: String,
    /// For standard error.
    pub(crate) err: String,
    /// The worst end.
    pub(crate) exit: Exit,
    /// For the summary.
    pub(crate) results: Vec<T>,
}

/// When to give up on a question about a program.
const TIMEOUT: Duration = Duration::from_secs(60);

impl<T> Answer<T> {
    /// Nothing said yet.
    pub(crate) fn new() -> Answer<T> {
        Answer { out: String::new(), err: String::new(), exit: Exit::Holds, results: Vec::new() }
    }
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static STATES: AtomicU64 = AtomicU64::new(0);
static MEMORY: AtomicU64 = AtomicU64::new(0);
static FRONTIER: AtomicU64 = AtomicU64::new(0);
/// States per second.
static RATE: AtomicU64 = AtomicU64::new(0);
/// The events of the current log, instead of states; the pairs of accesses reported.
static EVENTS: AtomicU64 = AtomicU64::new(0);
static PAIRS: AtomicU64 = AtomicU64::new(0);
/// Executions of a real program.
static EXECUTIONS: AtomicU64 = AtomicU64::new(0);
/// Whether the questions are about histories, which have other words.
static HISTORIES: AtomicBool = AtomicBool::new(false);

/// Works on `inputs` with `job`, several at a time, and prints their answers in order.
pub(crate) fn run<I: Sync, T: Send>(
    inputs: &[I],
    shared: &Shared,
    job: impl Fn(&I) -> Answer<T> + Sync,
) -> Result<(Exit, Vec<T>)> {
    run_in_parts(inputs, shared, |input, part| part(job(input)))
}

/// The same for jobs whose answers come in parts, which are printed as they come.
pub(crate) fn run_in_parts<I: Sync, T: Send>(
    inputs: &[I],
    shared: &Shared,
    job: impl Fn(&I, &mut dyn FnMut(Answer<T>)) + Sync,
) -> Result<(Exit, Vec<T>)> {
    // A second Ctrl-C ends the program at once.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    let workers = threads(shared).min(inputs.len()).max(1);
    let bar = progress_bar(inputs.len() as u64, shared);
    let next = AtomicUsize::new(0);
    let mut exit = Exit::Holds;
    let mut results = Vec::new();
    std::thread::scope(|scope| {
        // Parts wait for who prints them, so that a reader who is slow does not fill memory.
        let (sender, receiver) = mpsc::sync_channel::<(usize, Option<Answer<T>>)>(64);
        for _ in 0..workers {
            let (sender, next, job) = (sender.clone(), &next, &job);
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(input) = inputs.get(i) else { return };
                    // Nobody listens any more when printing failed: then the rest is no use.
                    let send = |part: Option<Answer<T>>| {
                        let heard = sender.send((i, part)).is_ok();
                        if !heard {
                            INTERRUPTED.store(true, Ordering::Relaxed);
                        }
                        heard
                    };
                    job(input, &mut |part| {
                        send(Some(part));
                    });
                    if !send(None) {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting: BTreeMap<usize, (Vec<Answer<T>>, bool)> = BTreeMap::new();
        let mut printed = 0;
        let mut told = Instant::now();
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        loop {
            match receiver.recv_timeout(Duration::from_millis(200)) {
                Ok((i, part)) => {
                    let (parts, ended) = waiting.entry(i).or_default();
                    *ended |= part.is_none();
                    bar.inc(u64::from(part.is_none()));
                    parts.extend(part);
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    out.flush()?;
                    bar.set_message(search_message());
                    let plain = shared.progress == When::Always && !std::io::stderr().is_terminal();
                    if plain && told.elapsed() > Duration::from_secs(1) {
                        told = Instant::now();
                        eprintln!("{printed}/{} files {}", inputs.len(), search_message());
                    }
                }
            }
            while let Some((parts, ended)) = waiting.get_mut(&printed) {
                for part in parts.drain(..) {
                    exit = exit.max(part.exit);
                    results.extend(part.results);
                    if !part.err.is_empty() {
                        bar.suspend(|| eprint!("{}", part.err));
                    }
                    out.write_all(signed(shared.format, &part.out).as_bytes())?;
                }
                if !*ended {
                    break;
                }
                waiting.remove(&printed);
                printed += 1;
            }
        }
        out.flush()?;
        Ok::<(), std::io::Error>(())
    })?;
    bar.finish_and_clear();
    Ok((exit, results))
}

/// How many threads may work.
fn threads(shared: &Shared) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    shared.threads.map_or(processors, usize::from)
}

/// How many threads may work on one search: all of them if there is one input, else one.
pub(crate) fn workers(common: &Common, inputs: usize) -> usize {
    if inputs == 1 { threads(&common.shared) } else { 1 }
}

/// Refuses options that do not go with these inputs.
pub(crate) fn check<P: AsRef<Path>>(common: &Common, inputs: &[P]) -> Result<()> {
    check_models(&common.shared, inputs, &common.model)
}

/// The same for whatever models a question has.
pub(crate) fn check_models<P: AsRef<Path>, M: Ord + Copy>(
    shared: &Shared,
    inputs: &[P],
    models: &[M],
) -> Result<()> {
    if shared.witness.is_some() && (inputs.len() > 1 || models.len() > 1) {
        bail!("--witness takes one file and one model, as in --model tso");
    }
    spare_inputs("--witness", shared.witness.as_deref(), inputs)?;
    let mut distinct = models.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < models.len() {
        bail!("--model names a model twice");
    }
    Ok(())
}

/// The limits that the user set.
pub(crate) fn limits(common: &Common) -> Limits {
    Limits { buffer: common.buffer_limit, ..limits_of(&common.shared) }
}

/// The same where there are no buffers.
pub(crate) fn limits_of(shared: &Shared) -> Limits {
    Limits {
        time: Some(shared.timeout.unwrap_or(TIMEOUT)),
        memory: Some(shared.memory),
        ..Limits::UNLIMITED
    }
}

/// Whether to colour what goes to `terminal`.
pub(crate) fn colored(color: When, terminal: bool) -> bool {
    match color {
        When::Always => true,
        When::Never => false,
        When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// Listens to a search for the progress line and for Ctrl-C.
pub(crate) struct Listener {
    since: Instant,
}

impl Listener {
    pub(crate) fn new() -> Listener {
        Listener { since: Instant::now() }
    }
}

impl Progress for Listener {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        if self.since.elapsed() > Duration::from_millis(100) {
            let millis = self.since.elapsed().as_millis() as u64;
            RATE.store(snapshot.states * 1000 / millis.max(1), Ordering::Relaxed);
            FRONTIER.store(snapshot.frontier, Ordering::Relaxed);
            STATES.store(snapshot.states, Ordering::Relaxed);
            MEMORY.store(snapshot.memory, Ordering::Relaxed);
        }
        !INTERRUPTED.load(Ordering::Relaxed)
    }
}

/// Whether the user pressed Ctrl-C.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// For the progress line: how far a log was followed, and how many pairs of accesses were reported.
pub(crate) fn follow_log(events: u64, per_second: u64, pairs: u64, memory: u64) {
    EVENTS.store(events, Ordering::Relaxed);
    RATE.store(per_second, Ordering::Relaxed);
    PAIRS.store(pairs, Ordering::Relaxed);
    MEMORY.store(memory, Ordering::Relaxed);
}

/// For the progress line: how far the exploration of a real program is.
pub(crate) fn follow_executions(executions: u64, steps: u64) {
    EXECUTIONS.store(executions, Ordering::Relaxed);
    EVENTS.store(steps, Ordering::Relaxed);
}

/// From now on the progress line is about histories.
pub(crate) fn about_histories() {
    HISTORIES.store(true, Ordering::Relaxed);
}

fn search_message() -> String {
    if EXECUTIONS.load(Ordering::Relaxed) > 0 {
        return format!(
            "{} executions, {} steps",
            HumanCount(EXECUTIONS.load(Ordering::Relaxed)),
            HumanCount(EVENTS.load(Ordering::Relaxed))
        );
    }
    let histories = HISTORIES.load(Ordering::Relaxed);
    if EVENTS.load(Ordering::Relaxed) > 0 {
        let (events, reported) =
            if histories { ("operations", "violated") } else { ("events", "reported") };
        return format!(
            "current log: {} {events}, {} per second, {} {reported}, {}",
            HumanCount(EVENTS.load(Ordering::Relaxed)),
            HumanCount(RATE.load(Ordering::Relaxed)),
            HumanCount(PAIRS.load(Ordering::Relaxed)),
            HumanBytes(MEMORY.load(Ordering::Relaxed))
        );
    }
    match STATES.load(Ordering::Relaxed) {
        0 => String::new(),
        steps if histories => format!(
            "current history: {} steps, {} per second, {}",
            HumanCount(steps),
            HumanCount(RATE.load(Ordering::Relaxed)),
            HumanBytes(MEMORY.load(Ordering::Relaxed))
        ),
        states => format!(
            "current search: {} states, {} per second, {} waiting, {}",
            HumanCount(states),
            HumanCount(RATE.load(Ordering::Relaxed)),
            HumanCount(FRONTIER.load(Ordering::Relaxed)),
            HumanBytes(MEMORY.load(Ordering::Relaxed))
        ),
    }
}

fn progress_bar(inputs: u64, shared: &Shared) -> ProgressBar {
    let show = match shared.progress {
        When::Always => true,
        When::Never => false,
        When::Auto => !shared.quiet && std::io::stderr().is_terminal(),
    };
    if !show {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(inputs), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} files, {elapsed} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
