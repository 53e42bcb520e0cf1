//! Many inputs side by side, their answers in input order, with progress and an end when it is asked
//! for; or many parts of one input.

mod in_order;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use weakspot_core::{Course, Limits, Progress, Snapshot};
use weakspot_input::Input;
use weakspot_report::{NOTHING_TO_DRAW, Printed, files_named, page};

pub use in_order::in_order;

use crate::checkpoint::file;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::{self, spare_inputs};
use crate::signed::{TOOL, signed};
use crate::terminal::{self, Bytes, Count};
use weakspot_args::{Common, OutputFormat, Shared, When};

/// What one input came to.
pub struct Answer<T> {
    /// For standard output.
    pub out: String,
    /// For standard error.
    pub err: String,
    /// For the page that `--report` asks for: JSON Lines.
    pub objects: String,
    /// The worst end.
    pub exit: Exit,
    /// For the summary.
    pub results: Vec<T>,
}

impl<T> Answer<T> {
    /// Nothing said yet.
    pub fn new() -> Answer<T> {
        let [out, err, objects] = [const { String::new() }; 3];
        Answer { out, err, objects, exit: Exit::Holds, results: Vec::new() }
    }
}

impl<T> Default for Answer<T> {
    fn default() -> Answer<T> {
        Answer::new()
    }
}

static WORKING: AtomicU64 = AtomicU64::new(1);
static STATES: AtomicU64 = AtomicU64::new(0);
static MEMORY: AtomicU64 = AtomicU64::new(0);
/// States that the last search has kept, as far as it is known, and the memory that this took.
static KEPT: AtomicU64 = AtomicU64::new(0);
static KEPT_BYTES: AtomicU64 = AtomicU64::new(0);
static FRONTIER: AtomicU64 = AtomicU64::new(0);
/// States per second.
static RATE: AtomicU64 = AtomicU64::new(0);
/// The events of the current log, instead of states; the pairs of accesses reported.
static EVENTS: AtomicU64 = AtomicU64::new(0);
static PAIRS: AtomicU64 = AtomicU64::new(0);
/// Executions of a real program, and what was found in them; runs on this CPU.
static EXECUTIONS: AtomicU64 = AtomicU64::new(0);
static FINDINGS: AtomicU64 = AtomicU64::new(0);
static RUNS: AtomicU64 = AtomicU64::new(0);
/// How they are chosen.
static STRATEGY: Mutex<&str> = Mutex::new("");
/// How long the current search has taken, in milliseconds; 0 if there is none.
static SEARCHING: AtomicU64 = AtomicU64::new(0);
/// Whether the questions are about histories, which have other words.
static HISTORIES: AtomicBool = AtomicBool::new(false);

/// What is worked on.
pub trait Named: Sync {
    /// What it is called in messages.
    fn name(&self) -> String;
}

impl Named for PathBuf {
    fn name(&self) -> String {
        self.display().to_string()
    }
}

impl Named for Input {
    fn name(&self) -> String {
        Input::name(self)
    }
}

/// What a worker says about an input.
pub(crate) enum News<T> {
    Part(Answer<T>),
    /// That was all, after so long.
    End(Duration),
}

/// Works on `inputs` with `job`, several at a time, and prints their answers in order.
pub fn run<I: Named, T: Send>(
    inputs: &[I],
    shared: &Shared,
    job: impl Fn(&I) -> Answer<T> + Sync,
) -> Result<(Exit, Vec<T>)> {
    run_in_parts(inputs, shared, Some(shared.timeout), |input, part| part(job(input)))
}

/// The same for logs, which take as long as they take unless the user named a time.
pub fn run_logs<T: Send>(
    logs: &[PathBuf],
    shared: &Shared,
    job: impl Fn(&PathBuf) -> Answer<T> + Sync,
) -> Result<(Exit, Vec<T>)> {
    run_in_parts(logs, shared, shared.reading, |log, part| part(job(log)))
}

/// The same for jobs whose answers come in parts, which are printed as they come. `time`: how long each may
/// take, which is said with `-v`.
pub fn run_in_parts<I: Named, T: Send>(
    inputs: &[I],
    shared: &Shared,
    time: Option<Duration>,
    job: impl Fn(&I, &mut dyn FnMut(Answer<T>)) + Sync,
) -> Result<(Exit, Vec<T>)> {
    let next = AtomicUsize::new(0);
    print_all(inputs, shared, time, |post| {
        std::thread::scope(|scope| {
            for _ in 0..at_a_time(inputs, shared) {
                scope.spawn(|| {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some(input) = inputs.get(i) else { return };
                        let since = Instant::now();
                        // Nobody listens any more when printing failed: then the rest is no use.
                        job(input, &mut |part| {
                            let _ = post.send((i, News::Part(part)));
                        });
                        if post.send((i, News::End(since.elapsed()))).is_err() {
                            return;
                        }
                    }
                });
            }
        });
    })
}

/// How many inputs this process works on at a time, which is noted.
pub(crate) fn at_a_time<I>(inputs: &[I], shared: &Shared) -> usize {
    let workers = shared.threads.min(inputs.len()).max(1);
    WORKING.store(workers as u64, Ordering::Relaxed);
    workers
}

/// Where workers say what inputs came to.
pub(crate) type Post<T> = SyncSender<(usize, News<T>)>;

/// Prints in input order what `work` says about the inputs, and all that comes of it.
pub(crate) fn print_all<I: Named, T: Send>(
    inputs: &[I],
    shared: &Shared,
    time: Option<Duration>,
    work: impl FnOnce(Post<T>) + Send,
) -> Result<(Exit, Vec<T>)> {
    interrupt::watch();
    let workers = at_a_time(inputs, shared);
    if shared.verbose {
        let memory = Bytes(shared.memory);
        let limits = match time {
            Some(time) => format!("{time:?} and {memory}"),
            None => format!("{memory}, and any time,"),
        };
        let count = Count(inputs.len() as u64);
        let s = if inputs.len() == 1 { "" } else { "s" };
        eprintln!("{count} input{s}, {workers} at a time; {limits} for each question");
    }
    let printed = std::thread::scope(|scope| {
        // Parts wait for who prints them, so that a reader who is slow does not fill memory.
        let (post, receiver) = mpsc::sync_channel(64);
        scope.spawn(move || work(post));
        let mut said =
            Said { exit: Exit::Holds, results: Vec::new(), objects: String::new(), inputs: 0 };
        let printed = print(inputs, (shared, time), receiver, &mut said);
        if printed.is_err() {
            interrupt::ask();
        }
        match printed {
            // A reader that has seen enough (`| head`) changes no verdict; what it did not wait for
            // is not known.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                let rest = if said.inputs < inputs.len() { Exit::Unknown } else { Exit::Holds };
                Ok(Said { exit: said.exit.max(rest), ..said })
            }
            printed => printed.map(|()| said),
        }
    });
    terminal::clear();
    let Said { exit, results, objects, .. } = printed?;
    if let Some(path) = &shared.report
        && path.extension().is_some_and(|ending| ending == "jsonl")
    {
        output::write(path, objects)?;
    } else if let Some(path) = &shared.report {
        let typed = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        let command: Vec<String> = std::iter::once("weakspot".to_owned()).chain(typed).collect();
        let command = weakspot_report::typed(&command);
        output::write(path, page(&TOOL, &command, &objects, &sources(&objects)))?;
    }
    Ok((exit, results))
}

/// The texts of the files that answers are about, as far as they are texts of a size that people read.
fn sources(objects: &str) -> Vec<(String, String)> {
    let mut room = MOST_SOURCE;
    let mut sources = Vec::new();
    for file in files_named(objects, MOST_FILES) {
        let is_small = |m: std::fs::Metadata| m.is_file() && m.len() <= MOST_TEXT;
        if !std::fs::metadata(&file).is_ok_and(is_small) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if text.contains('\0') || text.len() > room {
            continue;
        }
        room -= text.len();
        sources.push((file, text));
    }
    sources
}

/// What was said, whether somebody read it or not.
struct Said<T> {
    exit: Exit,
    results: Vec<T>,
    /// For the page, and for a log that is written in the end.
    objects: String,
    /// How many inputs that is all about.
    inputs: usize,
}

/// Prints what workers say, in the order of the inputs.
fn print<I: Named, T>(
    inputs: &[I],
    (shared, time): (&Shared, Option<Duration>),
    receiver: Receiver<(usize, News<T>)>,
    said: &mut Said<T>,
) -> std::io::Result<()> {
    let mut waiting: BTreeMap<usize, Vec<News<T>>> = BTreeMap::new();
    let mut line = ProgressLine::new(shared, time);
    let mut printed = Printed::new(shared.format, TOOL);
    let is_text = shared.format == OutputFormat::Text;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    loop {
        match receiver.recv_timeout(TICK) {
            Ok((i, news)) => waiting.entry(i).or_default().push(news),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if !out.buffer().is_empty() {
                    terminal::clear();
                    out.flush()?;
                }
            }
        }
        while let Some(news) = waiting.remove(&said.inputs) {
            let mut ended = false;
            for news in news {
                match news {
                    News::Part(part) => {
                        said.exit = said.exit.max(part.exit);
                        said.results.extend(part.results);
                        said.objects += &part.objects;
                        if !(part.err.is_empty() && part.out.is_empty()) {
                            terminal::clear();
                        }
                        if !part.err.is_empty() {
                            eprint!("{}", part.err);
                        }
                        let text = printed.part(&part.out);
                        let text = match is_text {
                            true => terminal::fitted(&text, shared.ascii),
                            false => signed(shared.format, &text),
                        };
                        if !terminal::write_answer(&mut out, &text)? {
                            if is_text {
                                writeln!(out, "... interrupted")?;
                            }
                            said.exit = said.exit.max(Exit::Unknown);
                        }
                    }
                    News::End(time) => {
                        ended = true;
                        if shared.verbose {
                            let name = inputs[said.inputs].name();
                            let memory = kept(inputs.len());
                            eprintln!("{name}: {:.3} s{memory}", time.as_secs_f64());
                        }
                    }
                }
            }
            if !ended {
                break;
            }
            said.inputs += 1;
        }
        line.show(said.inputs, inputs.len());
    }
    terminal::clear();
    out.write_all(printed.end().as_bytes())?;
    if let Some(empty) = printed.empty_picture().filter(|_| said.exit != Exit::Bad) {
        out.write_all(empty.as_bytes())?;
        if !shared.quiet {
            eprintln!("{NOTHING_TO_DRAW}");
        }
    }
    out.flush()
}

/// How much source a page has: files, bytes of one, bytes of all.
const MOST_FILES: usize = 1_000;
const MOST_TEXT: u64 = 200_000;
const MOST_SOURCE: usize = 4_000_000;

/// How often progress is shown, and from when on.
const TICK: Duration = Duration::from_millis(200);
const QUIET: Duration = Duration::from_millis(500);

/// When progress is shown, and how.
struct ProgressLine {
    since: Instant,
    shown: Instant,
    /// How long a question may take, and how much memory.
    time: Option<Duration>,
    memory: u64,
    /// A line that is drawn again and again, or one below the other.
    drawn: bool,
    plain: bool,
}

impl ProgressLine {
    fn new(shared: &Shared, time: Option<Duration>) -> ProgressLine {
        let memory = shared.memory;
        let is_wanted = match shared.progress {
            When::Always => true,
            When::Never => false,
            When::Auto => !shared.quiet && terminal::is_terminal(),
        };
        let (now, terminal) = (Instant::now(), terminal::is_terminal());
        let (drawn, plain) = (is_wanted && terminal, is_wanted && !terminal);
        ProgressLine { since: now, shown: now, time, memory, drawn, plain }
    }

    fn show(&mut self, done: usize, all: usize) {
        let pause = if self.plain { 5 * TICK } else { TICK };
        let is_early = self.since.elapsed() < QUIET || self.shown.elapsed() < pause;
        if is_early || !(self.drawn || self.plain) {
            return;
        }
        self.shown = Instant::now();
        let mut parts = self.time(done, all);
        parts.extend(search_message(self.memory));
        match self.drawn {
            true => terminal::draw(&fitting(&parts, terminal::width().saturating_sub(1))),
            false => eprintln!("{}", fitting(&parts, usize::MAX)),
        }
    }

    /// How much of the inputs is done, and how much of the time is used.
    fn time(&self, done: usize, all: usize) -> Vec<String> {
        let of_all = self.since.elapsed().as_secs();
        let searching = Duration::from_millis(SEARCHING.load(Ordering::Relaxed)).as_secs();
        // Where nobody says how long a question has taken, all of it may be about one.
        let several = all > 1 || searching > 0 && of_all > searching + 1;
        let limit = self.time.map(|time| time.as_secs());
        let mut parts = Vec::new();
        if all > 1 {
            parts.push(format!("{done}/{all} files"));
        }
        match limit {
            Some(limit) if !several && of_all <= limit => {
                parts.push(format!("{of_all} s of {limit} s"));
            }
            Some(limit) if searching > 0 => {
                parts.push(format!("{of_all} s, this question {searching} s of {limit} s"));
            }
            _ => parts.push(format!("{of_all} s")),
        }
        parts
    }
}

/// The parts with commas between them. Those that matter come first; what has no room is left out.
fn fitting(parts: &[String], room: usize) -> String {
    let mut line = String::new();
    for part in parts {
        let comma = if line.is_empty() { "" } else { ", " };
        if line.chars().count() + comma.len() + part.chars().count() <= room {
            line += comma;
            line += part;
        }
    }
    line
}

/// How many inputs are worked on at a time.
pub fn working() -> u64 {
    WORKING.load(Ordering::Relaxed)
}

/// Refuses options that do not go with these inputs.
pub fn check<P: AsRef<Path>>(common: &Common, inputs: &[P]) -> Result<()> {
    check_models(&common.shared, inputs, &common.model)
}

/// The same for whatever models a question has.
pub fn check_models<P: AsRef<Path>, M>(shared: &Shared, inputs: &[P], models: &[M]) -> Result<()> {
    if shared.witness.is_some() && (inputs.len() > 1 || models.len() > 1) {
        bail!("--witness takes one file and one model, as in --model tso");
    }
    file::check(shared.checkpoint.as_ref(), inputs)?;
    spare_inputs("--witness", shared.witness.as_deref(), inputs)
}

/// The limits that the user set.
pub fn limits(common: &Common) -> Limits {
    Limits { buffer: common.buffer_limit, ..limits_of(&common.shared) }
}

/// The same where threads may work on one search: all of them if there is one input.
pub fn limits_among<P>(common: &Common, inputs: &[P]) -> Limits {
    let workers = if inputs.len() == 1 { common.shared.threads } else { 1 };
    Limits { workers, ..limits(common) }
}

/// The same where there are no buffers.
pub fn limits_of(shared: &Shared) -> Limits {
    Limits { time: Some(shared.timeout), memory: Some(shared.memory), ..Limits::UNLIMITED }
}

/// Listens to a search for the progress line, for the page of `--report`, and for signals.
pub struct Listener {
    since: Instant,
    course: Course,
    /// The states of the phase that is under way, when they were noted last.
    states: u64,
    noted: Duration,
}

/// How often it is noted how far a search is.
const NOTE: Duration = Duration::from_millis(10);

impl Listener {
    /// From now on.
    pub fn new() -> Listener {
        let (course, states, noted) = (Course::default(), 0, Duration::ZERO);
        for figure in [&STATES, &SEARCHING, &KEPT] {
            figure.store(0, Ordering::Relaxed);
        }
        Listener { since: Instant::now(), course, states, noted }
    }

    /// How the search went, for the page of `--report`.
    pub fn course(&self, shared: &Shared) -> Option<&Course> {
        shared.report.as_ref().map(|_| &self.course)
    }

    fn note(&mut self, elapsed: Duration, states: u64) {
        // Whoever has far fewer states than before has begun another search.
        if states < self.states / 2 {
            self.course.begin("", elapsed);
        } else if states < self.states {
            return;
        }
        self.course.reach(elapsed, states, 0);
        (self.states, self.noted) = (states, elapsed);
    }
}

impl Default for Listener {
    fn default() -> Listener {
        Listener::new()
    }
}

impl Progress for Listener {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        let elapsed = self.since.elapsed();
        if snapshot.states > 0 && elapsed - self.noted > NOTE {
            self.note(elapsed, snapshot.states);
        }
        if elapsed > Duration::from_millis(100) {
            let millis = elapsed.as_millis() as u64;
            SEARCHING.store(millis, Ordering::Relaxed);
            RATE.store(snapshot.states * 1000 / millis.max(1), Ordering::Relaxed);
            FRONTIER.store(snapshot.frontier, Ordering::Relaxed);
            STATES.store(snapshot.states, Ordering::Relaxed);
            MEMORY.store(snapshot.memory, Ordering::Relaxed);
        }
        if snapshot.kept > 0 {
            KEPT.store(snapshot.kept, Ordering::Relaxed);
            KEPT_BYTES.store(snapshot.memory, Ordering::Relaxed);
        }
        !interrupt::asked()
    }
}

/// Whether somebody has asked for an end, or nobody wants to hear more.
pub fn interrupted() -> bool {
    interrupt::asked()
}

/// For the progress line: how far a log was followed, and how many pairs of accesses were reported.
pub fn follow_log(events: u64, per_second: u64, pairs: u64, memory: u64) {
    EVENTS.store(events, Ordering::Relaxed);
    RATE.store(per_second, Ordering::Relaxed);
    PAIRS.store(pairs, Ordering::Relaxed);
    MEMORY.store(memory, Ordering::Relaxed);
}

/// For the progress line: how far the exploration of a real program is: executions, steps, findings.
pub fn follow_executions(strategy: &'static str, [executions, steps, findings]: [u64; 3]) {
    *STRATEGY.lock().unwrap_or_else(PoisonError::into_inner) = strategy;
    EXECUTIONS.store(executions, Ordering::Relaxed);
    EVENTS.store(steps, Ordering::Relaxed);
    FINDINGS.store(findings, Ordering::Relaxed);
}

/// For the progress line: how often a test was run on this CPU.
pub fn follow_runs(runs: u64) {
    RUNS.store(runs, Ordering::Relaxed);
}

/// What the last search took per state, if it was large enough to tell and there is one input: several search side by
/// side.
fn kept(inputs: usize) -> String {
    let [kept, memory] = [&KEPT, &KEPT_BYTES].map(|f| f.load(Ordering::Relaxed));
    match (inputs, kept) {
        (1, 10_000..) => format!(
            "; about {kept} states in {:.1} MiB, {:.1} bytes each",
            memory as f64 / f64::from(1 << 20),
            memory as f64 / kept as f64
        ),
        _ => String::new(),
    }
}

/// From now on the progress line is about histories.
pub fn about_histories() {
    HISTORIES.store(true, Ordering::Relaxed);
}

/// What the progress line shows of this process: states, per second, waiting, memory, events, pairs.
pub(crate) fn figures() -> Figures {
    [&STATES, &RATE, &FRONTIER, &MEMORY, &EVENTS, &PAIRS].map(|f| f.load(Ordering::Relaxed))
}

/// See [`figures`].
pub(crate) type Figures = [u64; 6];

/// What other processes have said of themselves.
static OTHERS: Mutex<BTreeMap<usize, Figures>> = Mutex::new(BTreeMap::new());

/// Notes what another process says of itself; none if it is not there any more.
pub(crate) fn note_figures(process: usize, figures: Option<Figures>) {
    let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    match figures {
        Some(figures) => others.insert(process, figures),
        None => others.remove(&process),
    };
}

/// What is known about the work, that which matters first. `most`: the bytes that it may use.
fn search_message(most: u64) -> Vec<String> {
    let load = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
    let counted = |n: u64, noun: &str| format!("{} {noun}", Count(n));
    if load(&RUNS) > 0 {
        return vec![counted(load(&RUNS), "runs")];
    }
    if load(&EXECUTIONS) > 0 {
        let strategy = *STRATEGY.lock().unwrap_or_else(PoisonError::into_inner);
        let executions = counted(load(&EXECUTIONS), "executions");
        let found = match load(&FINDINGS) {
            0 => "nothing found".to_owned(),
            found => format!("{} found", Count(found)),
        };
        return vec![format!("{strategy}: {executions}"), found, counted(load(&EVENTS), "steps")];
    }
    let mut sum = figures();
    let others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    for other in others.values() {
        for (sum, figure) in sum.iter_mut().zip(other) {
            *sum = sum.saturating_add(*figure);
        }
    }
    let processes = (!others.is_empty()).then(|| format!("{} processes", others.len() + 1));
    drop(others);
    let [states, rate, frontier, memory, events, pairs] = sum;
    let histories = HISTORIES.load(Ordering::Relaxed);
    let memory = format!("{} of {}", Bytes(memory), Bytes(most));
    let rate = counted(rate, "per second");
    let mut parts = Vec::from_iter(processes);
    match (events, states) {
        (1.., _) => {
            let (noun, found) =
                if histories { ("operations", "violated") } else { ("events", "reported") };
            parts.extend([counted(events, noun), counted(pairs, found), memory, rate]);
        }
        (0, 0) => {}
        (0, steps) if histories => parts.extend([counted(steps, "steps"), memory, rate]),
        (0, states) => {
            let waiting = counted(frontier, "waiting");
            parts.extend([counted(states, "states"), memory, rate, waiting]);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_left_out() {
        let parts = ["2 s of 60 s", "1,234,567 states", "64.0 MiB of 4.0 GiB", "7 waiting"];
        let parts = parts.map(str::to_owned);
        let check = |room, line: &str| assert_eq!(fitting(&parts, room), line);
        check(79, "2 s of 60 s, 1,234,567 states, 64.0 MiB of 4.0 GiB, 7 waiting");
        check(50, "2 s of 60 s, 1,234,567 states, 64.0 MiB of 4.0 GiB");
        check(40, "2 s of 60 s, 1,234,567 states, 7 waiting");
        check(12, "2 s of 60 s");
        check(3, "");
    }
}
