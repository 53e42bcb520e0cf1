//! `weakspot history`.

pub(crate) mod follow;
mod transactional;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use weakspot_core::certify::Rejected;
use weakspot_core::{
    Certification, History, HistoryModel, HistoryWay, Limit, Limits, OpNames, Verdict,
};
use weakspot_history::{
    Classified, Defect, Method, Minimal, Shown, classify, classify_open, minimal_part,
};
use weakspot_input::{Patience, expand_histories, hash_file, hint, is_stdin, open_histories};
use weakspot_report::{
    AskedModel, HistoryAnswer, HistoryAnswers, HistoryPart, HistoryValue, NO_TIMES, UNWRITTEN,
    Unread, history_summary, history_summary_table, history_witness_json, open_reads_note,
};
use weakspot_trace::{
    Cut, HistoryFormat, HistoryReader, LogError, OpenRead, Recorded, UnwrittenRead,
};

use crate::args::HistoryCheckArgs;
use crate::history::transactional::Came;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::job::{self, Job, Written, is_unread, line_of, summarise};
use weakspot_jobs::part::{self, Kept};
use weakspot_jobs::pool::{self, Answer, Listener};
use weakspot_jobs::sweep;

/// What is wrong with a file in which there is nothing.
pub(crate) const NO_HISTORY: &str = "no history in it";

/// A recording that went wrong may come to this.
const NO_OPERATIONS: &str = "it has no operations, so every model is satisfied";

/// Answers for each history of each file under each model.
pub(crate) fn run(args: &HistoryCheckArgs) -> Result<Exit> {
    let shared = &args.shared;
    pool::about_histories();
    let files = expand_histories(&args.files)?;
    if args.models.is_empty() {
        pool::check_models(shared, &files, &args.txn_models)?;
    } else {
        pool::check_models(shared, &files, &args.models)?;
    }
    if shared.witness.is_some() && files.iter().any(|file| is_stdin(file)) {
        bail!("a witness is about a file: save the pipe first, as in `weakspot convert - h.jsonl`");
    }
    // A witness is about one history.
    let is_alone = files.len() == 1 && shared.witness.is_none();
    let workers = if is_alone { shared.threads } else { 1 };
    let (exit, results) =
        sweep::run_in_parts(&files, shared, Some(shared.timeout), |file, part| {
            Asked::new(args, file).answer_all(workers, part);
        })?;
    let is_of_memory = |came: &&Came| matches!(came.0, AskedModel::Memory(_));
    let of_memory = results.iter().filter(is_of_memory).count();
    let histories = of_memory / args.models.len().max(1)
        + (results.len() - of_memory) / args.txn_models.len().max(1);
    let text = || history_summary(&results, histories);
    // Models of transactions have a row where a file was asked about them.
    let of_txns = args.txn_models.iter().filter(|_| results.len() > of_memory);
    let models = args.models.iter().map(|&model| AskedModel::Memory(model));
    let models = models.chain(of_txns.map(|&model| AskedModel::Transactions(model)));
    let models: Vec<AskedModel> = models.collect();
    summarise(shared, histories, text, |format| history_summary_table(format, &results, &models));
    Ok(exit)
}

/// One file on its way to answers.
struct Asked<'a> {
    args: &'a HistoryCheckArgs,
    method: Method,
    limits: Limits,
    path: &'a PathBuf,
    job: Job<'a, Came, HistoryModel>,
}

/// A history that was read, and where.
struct Read {
    history: Recorded,
    lines: Vec<u32>,
    /// The reads of which it is open what they read.
    open: Vec<OpenRead>,
    /// Which one of the file, from 1.
    number: usize,
    format: HistoryFormat,
    /// How long it was read.
    time: Duration,
}

/// What comes of reading on.
enum Next {
    /// The text of the history with this number, from 0.
    Cut(Cut, usize),
    Read(Box<Read>),
    /// And whether nothing is read after this.
    Said(Answer<Came>, bool),
}

/// An answer, with the choice that it is about where it is open what some reads read, and a part that shows it.
type Good = (Option<Choice>, Classified, Option<HistoryPart>);

/// A history with what all its reads read, and the evidence for other choices.
type Choice = (History, Vec<HistoryWay>);

impl<'a> Asked<'a> {
    fn new(args: &'a HistoryCheckArgs, path: &'a PathBuf) -> Asked<'a> {
        let job = Job::new(&args.shared, &args.models, "history", path.display().to_string());
        let method = Method { complete: args.complete, saturate: !args.no_saturation };
        Asked { args, method, limits: pool::limits_of(&args.shared), path, job }
    }

    /// Answers for one history after the other, by so many workers at a time.
    fn answer_all(&mut self, workers: usize, part: &mut dyn FnMut(Answer<Came>)) {
        let format = self.args.input_format;
        let patience = Patience::new(self.limits, pool::working() * workers as u64);
        let stop = interrupt::stop(None);
        let columns = self.args.columns.clone();
        let waits = Some(patience.clone());
        let mut reader = match open_histories(self.path, format, columns, stop, waits) {
            Ok(reader) if self.is_of_transactions(reader.format()) => {
                let asked = transactional::Asked::new(self.args, self.path);
                return part(asked.answer_all(reader, &patience));
            }
            Ok(reader) => reader,
            Err(error) if self.job.models.is_empty() => {
                return part(transactional::Asked::new(self.args, self.path).unopened(&error));
            }
            Err(error) => {
                self.refuse_log(&error, None);
                return part(self.job.take());
            }
        };
        reader.keep_lines();
        reader.leave_open();
        let (args, path) = (self.args, self.path);
        let (mut number, is_over) = (0, AtomicBool::new(false));
        let next = || {
            if is_over.load(Ordering::Relaxed) {
                return None;
            }
            // Of few workers, all are busy while one reads, and to look for ends twice takes time.
            let cuts = workers > 2 && !pool::interrupted();
            let cut = if cuts { reader.cut().ok().flatten() } else { None };
            let cut = cut.map(|cut| Next::Cut(cut, number));
            let next = cut.or_else(|| self.read(&mut reader, &patience, number))?;
            number += 1;
            Some(next)
        };
        // Those of the workers, who go on with what they know, such as which witness was written.
        let idle = Mutex::new(Vec::new());
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = |next| {
            let mut asked = lock().pop().unwrap_or_else(|| Asked::new(args, path));
            let (said, is_last) = asked.answer_next(next);
            is_over.fetch_or(is_last, Ordering::Relaxed);
            lock().push(asked);
            (said, is_last)
        };
        // Others may have gone on behind a text that cannot be read.
        let mut has_ended = false;
        pool::in_order(workers, next, answer, |(said, is_last)| {
            if !has_ended {
                part(said);
            }
            has_ended |= is_last;
        });
    }

    /// Answers for what has come, and whether nothing follows.
    fn answer_next(&mut self, next: Next) -> (Answer<Came>, bool) {
        match next {
            Next::Said(said, is_last) => (said, is_last),
            Next::Cut(cut, number) => {
                let began = Instant::now();
                let mut reader = cut.reader();
                reader.keep_lines();
                reader.leave_open();
                let next = reader.next();
                match self.came(next, &reader, began.elapsed(), number) {
                    Some(next) => self.answer_next(next),
                    None => (self.job.take(), false),
                }
            }
            Next::Read(read) => {
                // The time that it has waited for a worker is not its own.
                self.limits.began = Instant::now().checked_sub(read.time);
                self.answer(*read);
                (self.job.take(), false)
            }
        }
    }

    /// The next history, or what there is to say instead; nothing where that was all.
    fn read(
        &mut self,
        reader: &mut HistoryReader,
        patience: &Patience,
        number: usize,
    ) -> Option<Next> {
        patience.begin();
        let next = reader.next();
        let time = patience.limits().elapsed();
        if let Some(limit) = patience.reached() {
            self.say_unread(&limit, time);
            return Some(Next::Said(self.job.take(), true));
        }
        if pool::interrupted() {
            self.job.answer.err +=
                &format!("{}: interrupted, not read to its end\n", self.job.file);
            self.job.answer.exit = Exit::Unknown;
            return Some(Next::Said(self.job.take(), true));
        }
        self.came(next, reader, time, number)
    }

    /// What comes of reading the history with this number, from 0.
    fn came(
        &mut self,
        next: Result<Option<Recorded>, LogError>,
        reader: &HistoryReader,
        time: Duration,
        number: usize,
    ) -> Option<Next> {
        let error = match next {
            Ok(Some(mut history)) => {
                if history.ops.is_empty() {
                    history.notes.push(NO_OPERATIONS.to_owned());
                }
                let (lines, open) = (reader.lines().to_vec(), reader.open_reads().to_vec());
                let (number, format) = (number + 1, reader.format());
                let read = Read { history, lines, open, number, format, time };
                return Some(Next::Read(Box::new(read)));
            }
            Ok(None) if number > 0 => return None,
            Ok(None) => {
                self.refuse(None, NO_HISTORY);
                return Some(Next::Said(self.job.take(), true));
            }
            Err(error) => error,
        };
        let kind = if reader.has_ended() { "syntax" } else { "value" };
        match reader.unwritten() {
            Some(read) if self.args.complete_recording => {
                self.say_value(read, &error, number + 1, reader.format());
            }
            read => {
                self.refuse_log(&error, Some(kind));
                if read.is_some() && !self.args.shared.quiet {
                    self.job.answer.err += UNWRITTEN;
                }
            }
        }
        if number == 0 && reader.has_ended() && !self.args.shared.quiet {
            self.job.answer.err += &hint(self.path, reader.format());
        }
        Some(Next::Said(self.job.take(), reader.has_ended()))
    }

    /// Whether a file is asked about models of transactions.
    fn is_of_transactions(&self, format: HistoryFormat) -> bool {
        let asked = !self.args.txn_models.is_empty();
        asked && (format.has_transactions() || self.args.models.is_empty())
    }

    /// Answers for a history that was not read to its end.
    fn say_unread(&mut self, limit: &Limit, time: Duration) {
        let verdict = Verdict::Unknown(limit.clone());
        for &model in self.job.models {
            let head = self.job.head(model, &verdict, time, Certification::NotChecked);
            let written = self.job.written(&Unread { head });
            self.job.say(&written, &verdict);
            self.job.answer.results.push((AskedModel::Memory(model), Some(verdict.clone())));
        }
    }

    /// Answers for a history with a read of a value that nobody wrote.
    fn say_value(
        &mut self,
        read: &UnwrittenRead,
        error: &LogError,
        number: usize,
        format: HistoryFormat,
    ) {
        let UnwrittenRead { id, thread, var, value, initial, last_writes, writes } = read;
        let verdict = Verdict::Violated;
        let models = self.job.models.iter();
        let head = |&model: &HistoryModel| {
            self.job.head(model, &verdict, Duration::ZERO, Certification::NotChecked)
        };
        let heads: Vec<_> = models.map(head).collect();
        let last_writes: Vec<_> =
            last_writes.iter().map(|w| (w.thread.clone(), w.value, w.line)).collect();
        let written = self.job.written(&HistoryValue {
            heads: &heads,
            id: id.as_deref(),
            number,
            of_many: format.holds_many(),
            thread,
            variable: var,
            value: *value,
            initial: *initial,
            place: line_of(error),
            last_writes: &last_writes,
            writes: *writes,
        });
        self.job.say(&written, &verdict);
        if self.args.shared.witness.is_some() {
            self.job.answer.err += &format!(
                "{}: no witness is written: there is nothing to check but the lines of the file\n",
                self.job.file
            );
        }
        for &model in self.job.models {
            self.job.answer.results.push((AskedModel::Memory(model), Some(verdict.clone())));
        }
    }

    /// Answers for a history under all models.
    fn answer(&mut self, read: Read) {
        let Recorded { ops, .. } = &read.history;
        // Without times, the models that are about them have no answer; the others do.
        let is_without = |model: &&HistoryModel| model.has_real_time() && !ops.has_times();
        let (without, models): (Vec<_>, Vec<_>) = self.job.models.iter().partition(is_without);
        without.into_iter().for_each(|model| self.refuse(Some(model), NO_TIMES));
        if !read.open.is_empty() {
            return self.answer_open(read, &models);
        }
        let mut listener = Listener::new();
        match classify(ops, &models, self.method, &self.limits, &mut listener) {
            Ok(found) => self.say(&read, found.into_iter().map(|found| (None, found)).collect()),
            Err(Defect { model, rejected }) => self.refuse(None, &defect(model, &rejected)),
        }
    }

    /// The same, model by model, where it is open what some reads read.
    fn answer_open(&mut self, mut read: Read, models: &[HistoryModel]) {
        let (ops, open) = (&read.history.ops, &read.open);
        let mut found = Vec::new();
        for &model in models {
            let mut listener = Listener::new();
            match classify_open(ops, open, model, self.method, &self.limits, &mut listener) {
                Ok(chosen) => found.push((Some((chosen.ops, chosen.ways)), chosen.found)),
                Err(Defect { model, rejected }) => {
                    self.refuse(Some(model), &defect(model, &rejected));
                }
            }
            self.limits.began = None;
        }
        read.history.notes.push(open_reads_note(open.len()));
        self.say(&read, found);
    }

    /// Says what was found about a history, or about it with a choice of what reads read.
    fn say(&mut self, read: &Read, found: Vec<(Option<Choice>, Classified)>) {
        let mut good: Vec<Good> = Vec::new();
        for (chosen, found) in found {
            let minimal = match self.minimal(read, chosen.as_ref(), &found) {
                Ok(minimal) => minimal,
                Err(rejected) => {
                    self.refuse(Some(found.model), &defect(found.model, &rejected));
                    continue;
                }
            };
            let violated = found.answer.verdict == Verdict::Violated;
            if self.args.minimise && violated && minimal.is_none() {
                let model = found.model.name();
                self.job.answer.err += &format!(
                    "{}: {model}: a limit was reached before a part was found\n",
                    self.job.file
                );
            }
            good.push((chosen, found, minimal));
        }
        self.print(read, &good);
        for (chosen, found, _) in good {
            self.write_witness(read, chosen, &found);
            let verdict = &found.answer.verdict;
            self.job.say(&Written::default(), verdict);
            let model = AskedModel::Memory(found.model);
            self.job.answer.results.push((model, Some(verdict.clone())));
        }
    }

    fn print(&mut self, read: &Read, good: &[Good]) {
        let Recorded { id, ops, names, notes, unchecked } = &read.history;
        let shared = &self.args.shared;
        let answers: Vec<HistoryAnswer<'_>> = good
            .iter()
            .map(|(chosen, found, minimal)| HistoryAnswer {
                head: self.job.head(
                    found.model,
                    &found.answer.verdict,
                    found.time,
                    found.answer.certification(),
                ),
                id: id.as_deref(),
                number: read.format.holds_many().then_some(read.number),
                ops: chosen.as_ref().map_or(ops, |(chosen, _)| chosen),
                names,
                lines: &read.lines,
                notes,
                unchecked,
                evidence: found.answer.evidence.as_deref(),
                decided_by: found.answer.decided_by.key(),
                implied_by: found.implied_by,
                minimal: minimal.as_ref(),
                followed: None,
                explored: found.explored,
            })
            .collect();
        let all = HistoryModel::ALL;
        let are_all = self.job.models.len() == all.len()
            && all.iter().all(|model| self.job.models.contains(model));
        let draws_nothing = !answers.iter().any(|a| *a.head.verdict == Verdict::Violated);
        let written = self.job.written(&HistoryAnswers { answers: &answers, are_all });
        self.job.write(&written);
        if shared.format.is_picture() && draws_nothing && !shared.quiet {
            self.job.answer.err +=
                &format!("{}: nothing is violated, so there is no cycle to draw\n", self.job.file);
        }
    }

    /// The part of a history that `--minimise` asks for.
    fn minimal(
        &self,
        read: &Read,
        chosen: Option<&Choice>,
        found: &Classified,
    ) -> Result<Option<HistoryPart>, Rejected> {
        let wanted = self.args.minimise && found.answer.verdict == Verdict::Violated;
        let Some(evidence) = found.answer.evidence.as_deref().filter(|_| wanted) else {
            return Ok(None);
        };
        let (ops, model) = (&read.history.ops, found.model);
        let shown = Shown { evidence, open: &read.open, ways: chosen.map_or(&[], |c| &c.1) };
        let mut listener = Listener::new();
        let minimal = minimal_part(ops, model, shown, self.method, &self.limits, &mut listener)?;
        let Some(minimal) = minimal else { return Ok(None) };
        let names = &read.history.names;
        let place = |op: u32| {
            let thread = ops.thread_of(op);
            let index = op - ops.of_thread(thread).start;
            let line = read.lines.get(op as usize).map_or(String::new(), |n| format!(", line {n}"));
            format!("operation {index} of {}{line}", names.threads[thread])
        };
        Ok(Some(part(read.history.id.as_deref(), names, minimal, &place)))
    }

    /// Writes the witness that `--witness` asks for.
    fn write_witness(&mut self, read: &Read, chosen: Option<Choice>, found: &Classified) {
        let Some(evidence) = found.answer.evidence.as_deref() else {
            return self.job.lack_witness();
        };
        let only = || HistoryWay { reads: Vec::new(), evidence: evidence.clone() };
        let ways = chosen.map_or_else(|| vec![only()], |(_, ways)| ways);
        let verdict = &found.answer.verdict;
        let path = self.path;
        self.job.write_witness(*verdict == Verdict::Violated, || {
            let hash = hash_file(path).context("failed to read it again for the witness")?;
            Ok(history_witness_json(&hash, read.number, found.model, verdict, &ways))
        });
    }

    fn refuse_log(&mut self, error: &LogError, kind: Option<&str>) {
        let kind = kind.filter(|_| !is_unread(&error.message));
        self.job.refuse_place(None, &error.message, line_of(error), kind);
        self.count_refused(None);
    }

    fn refuse(&mut self, model: Option<HistoryModel>, message: &str) {
        self.job.refuse_place(model, message, None, None);
        self.count_refused(model);
    }

    /// For the summary.
    fn count_refused(&mut self, model: Option<HistoryModel>) {
        let models = model.map_or(self.job.models.to_vec(), |model| vec![model]);
        let models = models.into_iter().map(AskedModel::Memory);
        self.job.answer.results.extend(models.map(|model| (model, None)));
    }
}

/// What is said when the checker of evidence rejects an answer.
pub(crate) fn defect(model: HistoryModel, rejected: &Rejected) -> String {
    job::defect(model.name(), rejected)
}

/// A part of a history, written down; `place` says where an operation of the history comes from.
pub(crate) fn part(
    id: Option<&str>,
    names: &OpNames,
    minimal: Minimal,
    place: &dyn Fn(u32) -> String,
) -> HistoryPart {
    let Minimal { kept: ops, ops: of_part, threads, vars, open, is_minimal, .. } = minimal;
    let open = open.into_iter().map(|(read, _)| read).collect();
    part::part(id, names, of_part, Kept { ops, threads, vars, open, is_minimal }, place)
}
