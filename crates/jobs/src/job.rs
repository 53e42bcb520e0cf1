//! One input on its way to answers: how they are written, what is done with bad input and warnings,
//! and the one way in which witnesses are written. Every question uses it, whatever it is about.

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use weakspot_core::certify::{Over, Rejected, Shows, inductive_while, keeps_order, reached};
use weakspot_core::serial::BufferedReads;
use weakspot_core::{
    Certification, Diagnostic, Evidence, Limit, Limits, Model, Names, Program, Progress, Snapshot,
    Verdict,
};
use weakspot_explore::NoAnswer;
use weakspot_input::{Input, Loaded, PROGRAM_ENDINGS, Source, Unread, is_log, read_by};
use weakspot_lang::Parsed;
use weakspot_report::{
    Head, ModelName, ProgramResult, Refusal, Severity, Style, Witness, failure_diagnostic,
    input_hash, render,
};
use weakspot_trace::{LogError, LogPlace, Torn};

use crate::exit::Exit;
use crate::interrupt;
use crate::output;
use crate::pool::{self, Answer, Listener};
use crate::terminal::{self, Screen};
use weakspot_args::{OutputFormat, Shared};

/// Sets of states that take more bytes while they are made do not become evidence.
const MOST_OF_A_SET: u64 = 1 << 31;

/// How what goes to standard output is written: as wide as `COLUMNS` says, or the terminal, or 80
/// columns where there is none.
pub fn style(shared: &Shared) -> Style {
    let Screen { color, width, .. } = terminal::screen(shared.color);
    Style { details: !shared.quiet, color, width, proving: shared.witness.is_some() }
}

/// What many inputs came to: for people after the answers, as a table instead of them.
pub fn summarise(
    shared: &Shared,
    inputs: usize,
    text: impl FnOnce() -> String,
    table: impl FnOnce(OutputFormat) -> String,
) {
    match shared.format {
        _ if shared.is_helper() => {}
        OutputFormat::Text if inputs > 1 && !shared.quiet => eprint!("{}", text()),
        format if format.is_table() => print!("{}", table(format)),
        _ => {}
    }
}

/// An answer as it is written, and as an object for the page of `--report`.
#[derive(Default)]
pub struct Written {
    /// As it is written.
    pub text: String,
    object: String,
}

/// The answers to one input, while they are made.
pub struct Job<'a, T, M = Model> {
    /// What every command was told.
    pub shared: &'a Shared,
    /// The models that are asked about.
    pub models: &'a [M],
    /// What is asked: the command.
    pub question: &'static str,
    /// The input as the user named it.
    pub file: String,
    /// What was said so far.
    pub answer: Answer<T>,
    /// Whether a witness was written, and whether it is one of a violation. Of several answers the
    /// first that is violated has it.
    witnessed: Option<bool>,
    /// By what violations were explained, each with its model.
    explained: RefCell<Vec<(String, String)>>,
    /// How long the input was read.
    reading: Duration,
    /// The limit that was reached meanwhile.
    pub unread: Option<Limit>,
}

impl<'a, T, M: ModelName> Job<'a, T, M> {
    /// No answer yet.
    pub fn new(
        shared: &'a Shared,
        models: &'a [M],
        question: &'static str,
        file: String,
    ) -> Job<'a, T, M> {
        let (answer, witnessed) = (Answer::new(), None);
        let (reading, unread) = (Duration::ZERO, None);
        let explained = RefCell::default();
        Job { shared, models, question, file, answer, witnessed, explained, reading, unread }
    }

    /// The head of an answer.
    pub fn head<'b>(
        &'b self,
        model: M,
        verdict: &'b Verdict,
        time: Duration,
        certified: Certification,
    ) -> Head<'b, M> {
        let (file, question) = (self.file.as_str(), self.question);
        Head { file, question, model, verdict, limit: None, time, certified }
    }

    /// An answer as it is written.
    pub fn written(&self, answer: &dyn weakspot_report::Answer) -> Written {
        self.written_with(answer, answer)
    }

    /// The same, with more on the page of `--report`.
    pub fn written_with(
        &self,
        answer: &dyn weakspot_report::Answer,
        of_page: &dyn weakspot_report::Answer,
    ) -> Written {
        let style = style(self.shared);
        let object = self.shared.report.as_ref().map(|_| OutputFormat::Json.of(of_page, style));
        let text = match self.explained_before(answer, style) {
            Some(model) => OutputFormat::referring(answer, style, &model),
            None => {
                let before = self.found_before(answer, style);
                self.shared.format.of_new(answer, style, &before)
            }
        };
        Written { text, object: object.unwrap_or_default() }
    }

    /// The model for which the same was drawn before, if it was.
    fn explained_before(
        &self,
        answer: &dyn weakspot_report::Answer,
        style: Style,
    ) -> Option<String> {
        if self.shared.format != OutputFormat::Text || !style.details {
            return None;
        }
        let (key, model) = answer.explained_by()?;
        let mut explained = self.explained.borrow_mut();
        let before = explained.iter().find(|(known, _)| *known == key);
        let before = before.map(|(_, model)| model.clone());
        if before.is_none() {
            explained.push((key, model));
        }
        before
    }

    /// Of each finding the model for which it was told before, if it was.
    fn found_before(
        &self,
        answer: &dyn weakspot_report::Answer,
        style: Style,
    ) -> Vec<Option<String>> {
        let Some((_, model)) = answer.explained_by().filter(|_| style.details) else {
            return Vec::new();
        };
        let mut explained = self.explained.borrow_mut();
        let mut told = |key: String| {
            let before = explained.iter().find(|(known, _)| *known == key);
            let before = before.map(|(_, model)| model.clone());
            if before.is_none() {
                explained.push((key, model.clone()));
            }
            before
        };
        answer.findings().into_iter().map(&mut told).collect()
    }

    /// Writes answers whose verdicts are said one by one.
    pub fn write(&mut self, written: &Written) {
        self.answer.out += &written.text;
        self.answer.objects += &written.object;
    }

    /// Says an answer.
    pub fn say(&mut self, written: &Written, verdict: &Verdict) {
        self.write(written);
        self.answer.exit = self.answer.exit.max(Exit::of(verdict));
    }

    /// No answer, for one model or for all: said on standard error, and in JSON one line per model.
    pub fn refuse(
        &mut self,
        model: Option<M>,
        message: &str,
        place: Option<(usize, usize)>,
        text: Option<String>,
    ) {
        self.answer.err += &match text {
            Some(text) => text,
            None => format!("error: {}: {message}\n", self.file),
        };
        self.refuse_json(model, message, place, None);
    }

    /// The part of this that is for scripts, and the exit code. `kind`: what kind of mistake it is.
    pub fn refuse_json(
        &mut self,
        model: Option<M>,
        message: &str,
        place: Option<(usize, usize)>,
        kind: Option<&str>,
    ) {
        self.answer.exit = Exit::Bad;
        let (json, page) = (self.shared.format.is_of_objects(), self.shared.report.is_some());
        if !json && !page {
            return;
        }
        let (file, question) = (self.file.as_str(), self.question);
        for model in model.map_or(self.models.to_vec(), |model| vec![model]) {
            let model = Some(model.key());
            let refusal = Refusal { file, question, model, message, place, kind };
            let refusal = refusal.json();
            if page {
                self.answer.objects += &refusal;
            }
            if json {
                self.answer.out += &refusal;
            }
        }
    }

    /// No answer because its evidence was rejected.
    pub fn refuse_rejected(&mut self, model: M, name: &str, rejected: &Rejected) {
        self.refuse(Some(model), &defect(name, rejected), None, None);
    }

    /// Something that was asked for besides the answer cannot be had.
    pub fn complain(&mut self, message: &str) {
        self.answer.exit = Exit::Bad;
        let line = format!("error: {}: {message}\n", self.file);
        // What is wrong for all models is said once.
        if !self.answer.err.ends_with(&line) {
            self.answer.err += &line;
        }
    }

    /// Says that there is no witness of an answer that is not known.
    pub fn lack_witness(&mut self) {
        self.lack_witness_because("the answer is unknown");
    }

    /// Says why there is no witness.
    pub fn lack_witness_because(&mut self, why: &str) {
        if self.shared.witness.is_some() {
            self.answer.err += &format!("{}: no witness is written: {why}\n", self.file);
        }
    }

    /// Writes the witness that `--witness` asks for, unless one was written that says more. Whether
    /// it did.
    pub fn write_witness(&mut self, violated: bool, text: impl FnOnce() -> Result<String>) -> bool {
        let Some(path) = &self.shared.witness else { return false };
        if self.witnessed == Some(true) || self.witnessed.is_some() && !violated {
            return false;
        }
        self.witnessed = Some(violated);
        if let Err(error) = text().and_then(|text| output::write(path, text)) {
            self.complain(&format!("{error:#}"));
        }
        true
    }
}

/// Questions about logs and histories.
impl<T, M: ModelName> Job<'_, T, M> {
    /// What was said so far, for those who say it part by part.
    pub fn take(&mut self) -> Answer<T> {
        std::mem::take(&mut self.answer)
    }

    /// No answer, because of a place in the input if there is one. `kind`: what kind of mistake it is.
    pub fn refuse_place(
        &mut self,
        model: Option<M>,
        message: &str,
        place: Option<(usize, usize)>,
        kind: Option<&str>,
    ) {
        let at = match place {
            Some((line, column)) if !is_unread(message) => format!(":{line}:{column}"),
            _ => String::new(),
        };
        self.answer.err += &format!("error: {}{at}: {message}\n", self.file);
        self.refuse_json(model, message, place, kind);
    }
}

/// Questions about logs.
impl Job<'_, ProgramResult> {
    /// No answer, for the summary as well.
    pub fn refuse_models(
        &mut self,
        model: Option<Model>,
        message: &str,
        place: Option<(usize, usize)>,
    ) {
        self.refuse_place(model, message, place, None);
        for model in model.map_or(self.models.to_vec(), |model| vec![model]) {
            self.answer.results.push(ProgramResult::error(&self.file, Some(model)));
        }
    }

    /// No answer because of the log.
    pub fn refuse_log(&mut self, error: &LogError) {
        match line_of(error) {
            None if !is_unread(&error.message) => {
                self.refuse_models(None, &error.to_string(), None);
            }
            place => self.refuse_models(None, &error.message, place),
        }
        // Of programs, whoever reads them as well says what is to be done.
        let path = Path::new(&self.file);
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let other = read_by(path).filter(|_| !is_log(path) && !PROGRAM_ENDINGS.contains(&ending));
        if let Some(commands) = other {
            self.answer.err += &format!("hint: the ending is that of {commands}\n");
        }
    }

    /// Warns that the log is torn, and says what that means.
    pub fn remark_torn(&mut self, torn: Option<Torn>, remarks: &mut Vec<String>) {
        let Some(torn) = torn else { return };
        remarks.push(format!("{torn}; followed up to there"));
        if !self.shared.quiet {
            self.answer.err += &format!("warning: {}: {torn}\n", self.file);
        }
    }

    /// The limit that was reached after so many events, for which so much memory is used. For the
    /// progress line: how often something was reported.
    pub fn limit_of_log(
        &self,
        start: Instant,
        (events, reports, memory): (u64, u64, u64),
    ) -> Option<Limit> {
        let elapsed = start.elapsed();
        let rate = events as f64 / elapsed.as_secs_f64().max(1e-3);
        pool::follow_log(events, rate as u64, reports, memory);
        if pool::interrupted() {
            return Some(Limit::Interrupted);
        }
        if let Some(time) = self.shared.reading.filter(|&time| elapsed > time) {
            return Some(Limit::Time(time));
        }
        (memory > self.shared.memory).then_some(Limit::Memory(self.shared.memory))
    }
}

/// Line and column of an error in a text.
pub fn line_of(error: &LogError) -> Option<(usize, usize)> {
    match error.place {
        LogPlace::Line { line, column } => Some((line as usize, column as usize)),
        LogPlace::Offset(_) => None,
    }
}

/// Whether the file could not be read at all, for which no place in it is to blame.
pub fn is_unread(message: &str) -> bool {
    message.starts_with("failed to read")
}

/// What is said when the checker of evidence rejects an answer.
pub fn defect(model: &str, rejected: &dyn std::fmt::Display) -> String {
    format!(
        "the answer under {model} did not pass its own check ({rejected}); this is a defect of \
         weakspot, please report it with the input"
    )
}

/// Questions about programs.
impl<T> Job<'_, T> {
    /// The program of `input` and its text, if what it does under all models is known.
    pub fn read(&mut self, input: &Input) -> Option<(Source, Parsed)> {
        let (source, parsed) = self.read_in_part(input)?;
        match self.models.iter().find_map(|&model| parsed.refused_under(model)) {
            Some(why) => {
                self.refuse_at(None, &source, &why);
                None
            }
            None => Some((source, parsed)),
        }
    }

    /// The program of `input` and its text; warnings and refusals are noted, and limits that are
    /// reached on the way.
    pub fn read_in_part(&mut self, input: &Input) -> Option<(Source, Parsed)> {
        let began = Instant::now();
        let loaded = input.load(
            &pool::limits_of(self.shared).since(began),
            interrupt::asked,
            pool::working(),
        );
        self.reading = began.elapsed();
        match loaded {
            Ok(Loaded { source, parsed: Ok(parsed) }) => {
                if !self.shared.quiet {
                    for warning in &parsed.warnings {
                        let text = self.rendered(&source, warning, Severity::Warning);
                        self.answer.err += &text;
                    }
                }
                Some((source, parsed))
            }
            Ok(Loaded { source, parsed: Err(diagnostic) }) => {
                self.refuse_at(None, &source, &diagnostic);
                None
            }
            Err(Unread::Bad(why)) => {
                self.refuse(None, &why.message, why.place, None);
                None
            }
            Err(Unread::Limit(limit)) => {
                let verdict = Verdict::Unknown(limit.clone());
                for &model in self.models {
                    let head = self.head(model, &verdict, self.reading, Certification::NotChecked);
                    let written = self.written(&weakspot_report::Unread { head });
                    self.say(&written, &verdict);
                }
                self.unread = Some(limit);
                None
            }
        }
    }

    /// The limits of one of the questions about the input: reading it counts.
    pub fn limits(&self, limits: &Limits) -> Limits {
        let now = Instant::now();
        limits.since(now.checked_sub(self.reading).unwrap_or(now))
    }

    /// For the summary: what an input came to that could not be read.
    pub fn nothing(&self) -> Vec<ProgramResult> {
        let Some(limit) = &self.unread else {
            return vec![ProgramResult::error(&self.file, None)];
        };
        let unknown = |&model: &Model| ProgramResult {
            verdict: Some(Verdict::Unknown(limit.clone())),
            ..ProgramResult::error(&self.file, Some(model))
        };
        self.models.iter().map(unknown).collect()
    }

    /// No answer because of a place in the input.
    pub fn refuse_at(&mut self, model: Option<Model>, source: &Source, d: &Diagnostic) {
        let text = self.rendered(source, d, Severity::Error);
        self.refuse(model, &d.message, Some(d.span.line_column(&source.text)), Some(text));
    }

    /// No answer from an engine, under one model or under all.
    pub fn refuse_answer(
        &mut self,
        model: Option<Model>,
        source: &Source,
        (program, names): (&Program, &Names),
        why: NoAnswer,
    ) {
        match why {
            NoAnswer::Fault(failure) => {
                self.refuse_at(model, source, &failure_diagnostic(program, names, &failure));
            }
            NoAnswer::NotApplicable(why) => self.refuse(model, why, None, None),
            NoAnswer::NotTogether(why) | NoAnswer::NotResumed(why) | NoAnswer::NotStored(why) => {
                self.refuse(model, &why, None, None)
            }
            NoAnswer::Rejected(rejected) => {
                let model = model.or(self.models.first().copied()).unwrap_or(Model::Sc);
                self.refuse_rejected(model, &model.to_string(), &rejected);
            }
        }
    }

    /// Writes the witness of an answer about a program. `question` is what it is called in witness
    /// files.
    pub fn write_evidence(
        &mut self,
        question: &str,
        source: &Source,
        model: Model,
        verdict: &Verdict,
        evidence: Option<&Evidence>,
    ) {
        self.write_evidence_of(question, source, (model, None), verdict, evidence);
    }

    /// The same for transactions, whose answers also say which reads count as reads of the buffer.
    pub fn write_evidence_of(
        &mut self,
        question: &str,
        source: &Source,
        (model, buffered): (Model, Option<BufferedReads>),
        verdict: &Verdict,
        evidence: Option<&Evidence>,
    ) {
        let Some(evidence) = evidence else { return self.lack_witness() };
        self.write_witness(*verdict == Verdict::Violated, || {
            let witness = Witness {
                question: question.to_owned(),
                input_hash: input_hash(source.identity().as_bytes()),
                model,
                buffered,
                verdict: verdict.clone(),
                evidence: evidence.clone(),
            };
            Ok(witness.to_json())
        });
    }

    /// Evidence that everything was searched, as a set of states that can be checked without a search, if a witness
    /// is to be written and the limits allow it; and what the checker says then. All other evidence stays as it is, with what was
    /// said of it.
    ///
    /// # Errors
    ///
    /// The set does not show it: a defect.
    pub fn checkable(
        &self,
        (program, model): (&Program, Model),
        shows: Shows,
        limits: &Limits,
        (evidence, certification): (Option<Evidence>, Certification),
    ) -> Result<(Option<Evidence>, Certification), NoAnswer> {
        let is_searched = matches!(evidence, Some(Evidence::Exhausted { .. }));
        // Where the text is enough, who checks the witness looks at that.
        let in_order = || shows == Shows::Robust && keeps_order(program, model);
        if self.shared.witness.is_none() || !is_searched || in_order() {
            return Ok((evidence, certification));
        }
        // States of SC come first: they are fewer, and finitely many where those with buffers are not.
        let kinds: &[Over] = match (shows, model) {
            (Shows::Everything, Model::Sc) => &[Over::Machine],
            (Shows::Everything, _) => &[Over::Pending, Over::Machine],
            (Shows::Robust, _) => &[Over::Pending],
        };
        let most = limits.memory_left().unwrap_or(MOST_OF_A_SET).min(MOST_OF_A_SET);
        let mut listener = Listener::new();
        let mut go_on = |bytes| {
            let snapshot = Snapshot { memory: bytes, ..Snapshot::default() };
            bytes <= most && limits.check(bytes).is_ok() && listener.tick(snapshot)
        };
        let mut sets = kinds.iter().map(|&over| reached(program, model, (shows, over), &mut go_on));
        let Some(set) = sets.find_map(|set| set) else { return Ok((evidence, certification)) };
        let mut go_on = || limits.check(0).is_ok() && !pool::interrupted();
        let certification = match inductive_while(program, model, shows, &set, &mut go_on) {
            Ok(()) => Certification::Checked,
            Err(Rejected::TooLarge(_)) => certification,
            Err(rejected) => return Err(NoAnswer::Rejected(rejected)),
        };
        Ok((Some(Evidence::Inductive(set)), certification))
    }

    fn rendered(&self, source: &Source, d: &Diagnostic, severity: Severity) -> String {
        let color = terminal::screen(self.shared.color).color_of_errors;
        render(&self.file, &source.text, d, severity, color)
    }
}
