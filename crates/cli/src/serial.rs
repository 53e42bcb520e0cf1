//! `weakspot serial`.

mod current;
mod fenced;
mod program;
mod show;
mod trace;
mod warnings;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use weakspot_core::serial::{BufferedReads, Question};
use weakspot_core::{Certification, Limit, LogBatch, LogTables, Model, Names, Verdict};
use weakspot_report::{
    ProgramResult, SerialAnswer, SerialEvidence, SerialFenced, SerialOf, SerialOther,
    SerialWitness, Words, limit_text, plain, program_summary, program_summary_table,
};
use weakspot_serial::{BadLog, Follow};
use weakspot_trace::{LogError, LogPlace, LogReader, Next};

use crate::args::{OutputFormat, SerialArgs};
use current::{Current, Taken};
use show::{Found, Shown};
use weakspot_input::{Input, Known, TraceOf, hash_file, is_stdin, open_log};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::job::{Job, defect, summarise};
use weakspot_jobs::pool::{self, Answer, Named};
use weakspot_jobs::sweep;
use weakspot_jobs::transactions::sort;

/// Asks about the transactions of each log under each model.
pub(crate) fn run(args: &SerialArgs) -> Result<Exit> {
    let (programs, logs) = sort(args)?;
    if !logs.is_empty() && !args.transaction.is_empty() {
        bail!("--transaction is about lines of programs; logs say themselves what is one");
    }
    if programs.is_empty() {
        return run_logs(args, &logs);
    }
    if logs.is_empty() {
        return program::run(args, &programs);
    }
    if args.shared.witness.is_some() {
        bail!("a witness is about one file; these are {}", programs.len() + logs.len());
    }
    if args.shared.sweep.is_some() || args.shared.checkpoint.is_some() {
        bail!("--hosts and --checkpoint take programs or logs: ask about them one after the other");
    }
    run_both(args, programs, logs)
}

/// A program or a log.
enum Mixed {
    Program(Input),
    Log(PathBuf),
}

impl Named for Mixed {
    fn name(&self) -> String {
        match self {
            Mixed::Program(input) => input.name(),
            Mixed::Log(log) => log.display().to_string(),
        }
    }
}

/// Programs and logs in one go, so that what is printed is one document.
fn run_both(args: &SerialArgs, programs: Vec<Input>, logs: Vec<PathBuf>) -> Result<Exit> {
    let asked = program::Asked::new(args, &programs)?;
    pool::check_models(&args.shared, &logs, &args.model)?;
    let programs = programs.into_iter().map(Mixed::Program);
    let inputs: Vec<Mixed> = programs.chain(logs.into_iter().map(Mixed::Log)).collect();
    let (exit, results) = pool::run(&inputs, &args.shared, |input| match input {
        Mixed::Program(program) => asked.answer(program),
        Mixed::Log(log) => answer_log(args, log),
    })?;
    sum_up(args, inputs.len(), &results, "input");
    Ok(exit)
}

fn run_logs(args: &SerialArgs, logs: &[PathBuf]) -> Result<Exit> {
    pool::check_models(&args.shared, logs, &args.model)?;
    if args.shared.witness.is_some() {
        if logs.iter().any(|log| is_stdin(log)) {
            bail!(
                "a witness is about a file: save the pipe first, as in `weakspot convert - run.wslog`"
            );
        }
        if args.fence_transactions {
            bail!(
                "what fences do has no witness; expected --witness or --fence-transactions alone"
            );
        }
    }
    let (exit, results) = sweep::run_logs(logs, &args.shared, |log| answer_log(args, log))?;
    let has_traces = results.iter().any(|result| result.name != result.file);
    sum_up(args, logs.len(), &results, if has_traces { "trace" } else { "log" });
    Ok(exit)
}

fn answer_log(args: &SerialArgs, log: &PathBuf) -> Answer<ProgramResult> {
    let mut asked = Asked::new(args, log, log.display().to_string());
    asked.answer_all();
    if let Some(trace) = asked.witness_of.take().filter(|_| !args.shared.quiet) {
        asked.job.answer.err += &format!("note: the witness is about {}\n", plain(&trace));
    }
    asked.job.answer
}

/// The table of all answers.
fn sum_up(args: &SerialArgs, inputs: usize, results: &[ProgramResult], noun: &'static str) {
    let words = Words { noun, holds: "holds", violated: "violated" };
    let text = || program_summary(results, words);
    let table = |format| program_summary_table(format, results, &args.model);
    summarise(&args.shared, inputs, text, table);
}

/// What is said about a log of one SC execution, without the file that it is in.
#[cfg(feature = "real")]
pub(crate) fn explain(log: &std::path::Path, shared: &crate::args::Shared) -> Result<String> {
    let args = SerialArgs::of_log(log.to_owned(), shared.clone());
    let mut asked = Asked::new(&args, &args.files[0], "this execution".to_owned());
    asked.answer_all();
    match asked.job.answer.err.trim().strip_prefix("error: ") {
        Some(error) => bail!("{error}"),
        None => Ok(asked.job.answer.out),
    }
}

/// The memory that an event of a trace takes at least until it is decided.
const TRACED: u64 = 64;

/// One log on its way to answers.
struct Asked<'a> {
    args: &'a SerialArgs,
    path: &'a PathBuf,
    job: Job<'a, ProgramResult>,
    /// The trace that it is about, if the log has several.
    witness_of: Option<String>,
}

/// A trace of a file that has to be followed again.
struct Again {
    number: Option<usize>,
    known: Known,
}

/// What is said about a trace under a model, besides its names.
struct Said<'a> {
    model: Model,
    of: SerialOf,
    verdict: Verdict,
    certification: Certification,
    shown: Shown,
    sc_equivalent: Option<bool>,
    fenced: Option<&'a SerialFenced>,
    others: &'a [SerialOther],
    decided_by: Option<&'a str>,
    remarks: Vec<String>,
}

/// Before the first event of a trace; what cannot be read again is noted.
fn follow(questions: &[Question], has_commits: bool, tables: &LogTables, pipe: bool) -> Follow {
    let follow = Follow::new(questions, has_commits, tables, true);
    if pipe { follow.with_journal() } else { follow }
}

impl<'a> Asked<'a> {
    fn new(args: &'a SerialArgs, path: &'a PathBuf, file: String) -> Asked<'a> {
        let job = Job::new(&args.shared, &args.model, "serial", file);
        Asked { args, path, job, witness_of: None }
    }

    /// Answers for all traces of the log.
    fn answer_all(&mut self) {
        let mut from = None;
        while let Some(again) = self.pass(from.take()) {
            from = Some(again);
        }
    }

    fn asks(&self, model: Model) -> bool {
        self.args.model.contains(&model)
    }

    /// Which reads count as reads of the buffer, if there is one.
    fn buffered(&self, model: Model) -> Option<BufferedReads> {
        (model != Model::Sc).then_some(self.args.buffered)
    }

    /// The questions that are followed event by event.
    fn questions(&self, has_commits: bool) -> Vec<Question> {
        let mut questions = Vec::new();
        if self.asks(Model::Sc) || self.args.fence_transactions {
            questions.push(Question::ScSerializable);
        }
        if self.asks(Model::Tso) && has_commits {
            questions.push(Question::TsoSerializable(self.args.buffered));
        }
        questions
    }

    fn begin(&self, id: Option<String>, number: Option<usize>, again: Option<&Again>) -> Current {
        let none = LogTables::default();
        let (tables, has_commits) =
            again.map_or((&none, false), |again| (&again.known.tables, again.known.has_commits));
        let questions = self.questions(has_commits);
        let follow = follow(&questions, has_commits, tables, is_stdin(self.path));
        Current::new(id, number, follow, tables.clone())
    }

    /// Follows the log to its end, or to a limit or an error; from a trace on that has to be followed
    /// again, which it returns if there is one.
    fn pass(&mut self, from: Option<Again>) -> Option<Again> {
        let start = Instant::now();
        let mut reader = match self.open(start) {
            Ok(reader) => reader,
            Err(error) => {
                self.refuse(&error);
                return None;
            }
        };
        let mut batch = LogBatch::default();
        let first = from.as_ref().and_then(|again| again.number);
        let mut skips = first.is_some();
        let mut current = self.begin(None, None, from.as_ref().filter(|_| !skips));
        loop {
            match reader.next(&mut batch) {
                Ok(Next::Events) if skips => continue,
                Ok(Next::Events) => {}
                Ok(Next::Trace(id)) => {
                    let number = current.number.map_or(0, |number| number + 1);
                    let has_events = current.number.is_some() || current.follow.count() > 0;
                    if !skips && has_events && !self.finish(&mut current, &reader) {
                        return None;
                    }
                    let again = from.as_ref().filter(|again| again.number == Some(number));
                    skips = skips && again.is_none();
                    current = self.begin(id, Some(number), again);
                    continue;
                }
                Ok(Next::End) => break,
                Err(error) => {
                    self.refuse(&error);
                    return None;
                }
            }
            let before = current.follow.count();
            let keep = self.keep(&current);
            let questions = |has_commits: bool| self.questions(has_commits);
            let again = |has_commits: bool, tables: &LogTables| {
                follow(&questions(has_commits), has_commits, tables, is_stdin(self.path))
            };
            match current.take(&batch.events, reader.tables(), keep, &again) {
                Taken::Fine => {}
                Taken::Bad(bad) => {
                    let place = match bad.event.checked_sub(before) {
                        Some(at) => Some(reader.place(at as usize)),
                        None => self.place(current.number, bad.event),
                    };
                    self.refuse_event(bad, place);
                    return None;
                }
                Taken::Again if is_stdin(self.path) => {
                    let place = reader.place(0);
                    let message = "what comes here (the first commit, or a location that cuts \
                                   others) changes what was said before, and that was not kept: \
                                   save the pipe first, as in `weakspot convert - run.wslog`";
                    self.refuse(&LogError { message: message.to_owned(), place });
                    return None;
                }
                Taken::Again => match self.trace(current.number).scan() {
                    Ok(known) => return Some(Again { number: current.number, known }),
                    Err(error) => {
                        self.refuse(&error);
                        return None;
                    }
                },
            }
            self.tell_news(&mut current);
            if self.args.shared.witness.is_none() && current.follow.ordered() > current::KEPT {
                current.follow.forget_orders();
            }
            current.limit = self.limit(&current, start);
            if current.limit.is_some() {
                break;
            }
        }
        if current.limit.is_none() {
            current.limit = self.limit(&current, start);
        }
        if let (None, Some(torn)) = (&current.limit, reader.torn()) {
            current.limit = Some(Limit::Torn(torn.offset));
        }
        self.finish(&mut current, &reader);
        None
    }

    fn open(&self, start: Instant) -> Result<LogReader, LogError> {
        let at = self.args.shared.reading.map(|timeout| start + timeout);
        open_log(self.path, self.args.log_format, interrupt::stop(at))
    }

    /// How many events of a trace are kept. Those of a trace under TSO all have to be, as far as
    /// memory allows it.
    fn keep(&self, current: &Current) -> usize {
        if self.asks(Model::Tso) && !current.follow.has_commits() {
            return (self.args.shared.memory / TRACED).min(u64::from(u32::MAX)) as usize;
        }
        current::KEPT
    }

    /// A trace of the log, to go through it again.
    fn trace(&self, number: Option<usize>) -> TraceOf<'_> {
        TraceOf {
            path: self.path,
            format: self.args.log_format,
            number,
            stop: interrupt::stop(None),
        }
    }

    /// Where an event is that was read long ago.
    fn place(&self, number: Option<usize>, event: u64) -> Option<LogPlace> {
        if is_stdin(self.path) { None } else { self.trace(number).place(event) }
    }

    /// What is new in a log that is still being written is reported at once, on standard error.
    fn tell_news(&self, current: &mut Current) {
        let shared = &self.args.shared;
        if !is_stdin(self.path) || shared.quiet || shared.format != OutputFormat::Text {
            return;
        }
        for (question, event) in current.follow.closed() {
            let model = if question == Question::ScSerializable { Model::Sc } else { Model::Tso };
            if !current.reported.contains(&model) {
                eprintln!("{model}: not serializable any more, since event {}", event + 1);
                current.reported.push(model);
            }
        }
    }

    /// The limit that was reached.
    fn limit(&self, current: &Current, start: Instant) -> Option<Limit> {
        let follow = &current.follow;
        self.job.limit_of_log(start, (follow.count(), follow.found(), current.bytes()))
    }

    /// Answers for a trace; false if it makes no sense.
    fn finish(&mut self, current: &mut Current, reader: &LogReader) -> bool {
        if current.limit.is_none()
            && let Err(bad) = current.follow.end()
        {
            let place = self.place(current.number, bad.event);
            self.refuse_event(bad, place);
            return false;
        }
        // One of many traces may be empty.
        if current.follow.count() == 0 && current.id.is_none() && current.limit.is_none() {
            self.refuse_message(None, "no event in it");
            return false;
        }
        let mut remarks = Vec::new();
        self.job.remark_torn(reader.torn(), &mut remarks);
        if let Some(limit) = current.limit.as_ref().filter(|limit| !matches!(limit, Limit::Torn(_)))
        {
            let why = limit_text(limit, &Names::default());
            remarks.push(format!("{why}; what came later was not followed"));
        }
        let warnings = self.warnings(current);
        for warning in &warnings {
            self.warn(current, warning);
        }
        // People have read them.
        if self.args.shared.format.is_of_objects() {
            remarks.extend(warnings);
        }
        for &model in &self.args.model {
            if model == Model::Tso && self.args.fence_transactions {
                self.answer_fenced(current, remarks.clone());
            } else if model == Model::Tso && !current.follow.has_commits() {
                self.answer_trace(current, remarks.clone());
            } else {
                self.answer_execution(current, model, remarks.clone());
            }
        }
        true
    }

    /// The answer about one execution.
    fn answer_execution(&mut self, current: &mut Current, model: Model, mut remarks: Vec<String>) {
        let question = match model {
            Model::Sc => Question::ScSerializable,
            _ => Question::TsoSerializable(self.args.buffered),
        };
        let found = match self.show(current, question) {
            Ok(found) => found,
            Err(rejected) => return self.refuse_defect(model, &rejected),
        };
        let Found { verdict, certification, shown, evidence, remark } = found;
        remarks.extend(remark);
        if model == Model::Tso && (self.args.predict || self.args.literal) {
            let why = "--predict and --literal make no difference: the log has `com`, so that it is one \
                       execution";
            remarks.push(why.to_owned());
        }
        let mut sc_equivalent = None;
        if model == Model::Sc && (current.follow.has_commits() || current.has_no_stores()) {
            sc_equivalent = match self.sc_equivalent(current, &verdict) {
                Ok(answer) => answer,
                Err(rejected) => return self.refuse_defect(model, &rejected),
            };
        }
        if let Some(evidence) = evidence {
            let witness = SerialWitness {
                input_hash: String::new(),
                model,
                buffered: self.buffered(model),
                trace: current.number,
                commits: None,
                evidence,
            };
            self.write_witness(current, witness);
        } else {
            self.job.lack_witness();
        }
        let of = SerialOf::Execution;
        let said = Said {
            model,
            of,
            verdict,
            certification,
            shown,
            sc_equivalent,
            fenced: None,
            others: &[],
            decided_by: None,
            remarks,
        };
        self.say(current, &said);
    }

    /// Whether that was just found out. An execution with commits need not be one of SC, whatever it is judged by.
    fn fails_under_sc(&self, current: &Current) -> bool {
        let last = self.job.answer.results.last().filter(|last| last.name == self.name(current));
        last.is_some_and(|l| (l.model, &l.verdict) == (Some(Model::Sc), &Some(Verdict::Violated)))
    }

    /// Prints an answer.
    fn say(&mut self, current: &Current, said: &Said<'_>) {
        let time = current.since.elapsed();
        let answer = SerialAnswer {
            head: self.job.head(said.model, &said.verdict, time, said.certification),
            id: current.id.as_deref(),
            tables: &current.tables,
            of: said.of,
            cycle: said.shown.cycle.as_ref(),
            order: said.shown.order.as_deref(),
            buffered: self.buffered(said.model),
            sc_equivalent: said.sc_equivalent,
            fails_under_sc: said.of == SerialOf::Trace && self.fails_under_sc(current),
            fenced: said.fenced,
            others: said.others,
            decided_by: said.decided_by,
            events: current.follow.count(),
            transactions: current.follow.transactions(),
            remarks: &said.remarks,
        };
        let written = self.job.written(&answer);
        self.job.say(&written, &said.verdict);
        self.job.answer.results.push(ProgramResult {
            file: self.job.file.clone(),
            name: self.name(current),
            model: Some(said.model),
            verdict: Some(said.verdict.clone()),
        });
    }

    /// Writes the witness that `--witness` asks for.
    fn write_witness(&mut self, current: &Current, mut witness: SerialWitness) {
        let violated = matches!(witness.evidence, SerialEvidence::Cycle(_));
        let path = self.path;
        let is_written = self.job.write_witness(violated, || {
            let hash = hash_file(path).context("failed to read it again for the witness")?;
            witness.input_hash = hash;
            Ok(witness.to_json())
        });
        if is_written {
            self.witness_of = current.number.map(|number| {
                let name = self.name(current);
                format!("{name}, trace {} of the log", number + 1)
            });
        }
    }

    fn refuse_event(&mut self, bad: BadLog, place: Option<LogPlace>) {
        let message = bad.why.to_string();
        match place {
            Some(place) => self.refuse(&LogError { message, place }),
            None => self.refuse_message(None, &format!("event {}: {message}", bad.event + 1)),
        }
    }

    fn refuse_defect(&mut self, model: Model, rejected: &dyn std::fmt::Display) {
        self.refuse_message(Some(model), &defect(&model.to_string(), rejected));
    }

    fn refuse_message(&mut self, model: Option<Model>, message: &str) {
        self.job.refuse_models(model, message, None);
    }

    fn refuse(&mut self, error: &LogError) {
        self.job.refuse_log(error);
        let is_text = error.message.starts_with("expected a thread");
        if is_text && is_stdin(self.path) && self.args.log_format.is_none() {
            self.job.answer.err +=
                "note: this was read as a log; for a program expected --input-format\n";
        }
    }
}
