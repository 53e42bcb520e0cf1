//! `weakspot monitor` on logs.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use weakspot_core::{Limit, LogBatch, LogTables, Model, Names, Verdict};
use weakspot_monitor::{Algorithm, Definition, Form, Refused, Shown, Watch, show};
use weakspot_report::{
    LogWitness, MonitorAnswer, ProgramResult, Words, error_json, input_hash, limit_text, model_key,
    monitor_dot, monitor_json, monitor_news, monitor_statistics, monitor_text, program_summary,
};
use weakspot_trace::{LogError, LogPlace, LogReader, Next};

use crate::args::{Common, MonitorAlgorithm, MonitorArgs, OutputFormat, PendingForm};
use crate::exit::Exit;
use crate::input::PROGRAM_ENDINGS;
use crate::log::{expand, is_stdin, open, read_trace};
use crate::monitor_program;
use crate::output;
use crate::pool::{self, Answer};

/// Monitors each log under each model.
pub(crate) fn run(args: &MonitorArgs) -> Result<Exit> {
    if args.program {
        return monitor_program::run(args);
    }
    let common = &args.common;
    if common.model.contains(&Model::Sc) {
        bail!(
            "a log is one of an SC execution, so nothing breaks SC; expected --model tso, pso or pso-own"
        );
    }
    let models = &common.model;
    if args.algorithm != MonitorAlgorithm::Monitor && *models != [Model::Tso] {
        bail!("SOBER is about TSO only: expected --model tso");
    }
    let logs = expand(&args.files)?;
    pool::check(common, &logs)?;
    if common.shared.witness.is_some() && logs.iter().any(|log| is_stdin(log)) {
        bail!(
            "a witness is about a file: save the pipe first, as in `weakspot convert - run.wslog`"
        );
    }
    let (exit, results) = pool::run(&logs, &common.shared, |log| {
        let mut job = Job {
            args,
            models,
            path: log,
            file: log.display().to_string(),
            answer: Answer::new(),
            witnessed: None,
        };
        job.follow();
        job.answer
    })?;
    if logs.len() > 1 && common.shared.format == OutputFormat::Text && !common.shared.quiet {
        let words = Words { noun: "log", holds: "nothing found", violated: "breaks SC" };
        eprint!("{}", program_summary(&results, words));
    }
    Ok(exit)
}

/// One log on its way to answers.
struct Job<'a> {
    args: &'a MonitorArgs,
    models: &'a [Model],
    path: &'a PathBuf,
    file: String,
    answer: Answer<ProgramResult>,
    /// Whether a witness was written, and whether it is one of a violation. Of several traces the
    /// first that is violated has it.
    witnessed: Option<bool>,
}

/// One of the traces of a log while it is followed.
struct Current {
    id: Option<String>,
    /// Which one, if the log has several.
    number: Option<usize>,
    watch: Watch,
    /// The tables of this trace, which the reader forgets when the next one begins.
    tables: LogTables,
    /// The reader's time included.
    since: Instant,
    limit: Option<Limit>,
    /// Per model how many pairs were told as news.
    told: Vec<usize>,
}

/// How many pairs are told as news.
const MAX_NEWS: usize = 10;

impl Job<'_> {
    fn common(&self) -> &Common {
        &self.args.common
    }

    /// Follows the log to its end, or to the first report, a limit or an error.
    fn follow(&mut self) {
        let format = self.args.log_format.map(Into::into);
        let start = Instant::now();
        let until = self.common().shared.timeout.map(|timeout| start + timeout);
        let mut reader = match open(self.path, format, until) {
            Ok(reader) => reader,
            Err(error) => return self.refuse(&error),
        };
        let mut batch = LogBatch::default();
        let mut current = self.begin(None, None);
        loop {
            match reader.next(&mut batch) {
                Ok(Next::Events) => {}
                Ok(Next::Trace(id)) => {
                    let number = current.number.map_or(0, |number| number + 1);
                    if current.number.is_some() || current.watch.events() > 0 {
                        self.finish(&current, &reader);
                    }
                    current = self.begin(id, Some(number));
                    continue;
                }
                Ok(Next::End) => break,
                Err(error) => {
                    self.say_partial(&current);
                    return self.refuse(&error);
                }
            }
            current.learn(reader.tables());
            let before = current.watch.events();
            let followed = match self.args.first {
                false => current.watch.follow(&batch, &current.tables),
                true => self.follow_to_first(&mut current, &batch),
            };
            if let Err(refused) = followed {
                let place = reader.place((refused.place() - before) as usize);
                self.say_partial(&current);
                return self.refuse(&LogError { message: refused.to_string(), place });
            }
            if self.args.first && self.found(&current) {
                break;
            }
            self.tell_news(&mut current);
            current.limit = self.limit(&current, start);
            if current.limit.is_some() {
                break;
            }
        }
        if !(self.args.first && self.found(&current)) {
            current.limit = self.limit(&current, start);
        }
        if let (None, Some(torn)) = (&current.limit, reader.torn()) {
            current.limit = Some(Limit::Torn(torn.offset));
        }
        self.finish(&current, &reader);
    }

    /// Follows events one by one, not to go past the first report.
    fn follow_to_first(&self, current: &mut Current, batch: &LogBatch) -> Result<(), Refused> {
        let mut values = batch.values.iter();
        for event in &batch.events {
            let values = if event.valued { values.next().copied() } else { None };
            let one = LogBatch { events: vec![*event], values: values.into_iter().collect() };
            current.watch.follow(&one, &current.tables)?;
            if self.found(current) {
                break;
            }
        }
        Ok(())
    }

    fn begin(&self, id: Option<String>, number: Option<usize>) -> Current {
        let form = match self.args.pending {
            PendingForm::All => Form::All,
            PendingForm::Last => Form::Last,
        };
        let algorithm = match self.args.algorithm {
            MonitorAlgorithm::Monitor => Algorithm::Monitor(form),
            MonitorAlgorithm::Sober => Algorithm::Sober(Definition::Corrected),
            MonitorAlgorithm::SoberPublished => Algorithm::Sober(Definition::Published),
        };
        Current {
            id,
            number,
            watch: Watch::new(self.models, algorithm),
            tables: LogTables::default(),
            since: Instant::now(),
            limit: None,
            told: vec![0; self.models.len()],
        }
    }

    fn found(&self, current: &Current) -> bool {
        self.models.iter().any(|&model| current.watch.total(model) > 0)
    }

    /// What is new in a log that is still being written is told at once, on standard error.
    fn tell_news(&self, current: &mut Current) {
        let common = self.common();
        if !is_stdin(self.path) || common.shared.quiet || common.shared.format != OutputFormat::Text
        {
            return;
        }
        for (&model, told) in self.models.iter().zip(&mut current.told) {
            let pairs = current.watch.pairs(model);
            if pairs > *told && *told < MAX_NEWS {
                for report in current.watch.overtakings(model).iter().skip(*told).take(MAX_NEWS) {
                    eprint!("{}", monitor_news(&current.tables, model, report));
                }
            }
            *told = pairs;
        }
    }

    /// Tells how far the log was followed; the limit that was reached.
    fn limit(&self, current: &Current, start: Instant) -> Option<Limit> {
        let elapsed = start.elapsed();
        let (events, memory) = (current.watch.events(), current.watch.memory() as u64);
        let reports = self.models.iter().map(|&model| current.watch.total(model)).sum();
        let rate = events as f64 / elapsed.as_secs_f64().max(1e-3);
        pool::follow_log(events, rate as u64, reports, memory);
        if pool::interrupted() {
            return Some(Limit::Interrupted);
        }
        let common = self.common();
        if let Some(time) = common.shared.timeout.filter(|&time| elapsed > time) {
            return Some(Limit::Time(time));
        }
        (memory > common.shared.memory).then_some(Limit::Memory(common.shared.memory))
    }

    /// Answers for a trace.
    fn finish(&mut self, current: &Current, reader: &LogReader) {
        let time = current.since.elapsed();
        let mut remarks = Vec::new();
        if let Some(torn) = reader.torn() {
            remarks.push(format!("{torn}; followed up to there"));
            if !self.common().shared.quiet {
                self.answer.err += &format!("warning: {}: {torn}\n", self.file);
            }
        }
        if current.watch.is_coarse() {
            remarks.push(
                "so many stores are pending that older ones were forgotten: reports may be missing"
                    .to_owned(),
            );
        }
        if let Some(limit) = current.limit.as_ref().filter(|limit| !matches!(limit, Limit::Torn(_)))
        {
            let why = limit_text(limit, &Names::default());
            remarks.push(format!("{why}; what came later was not followed"));
        }
        if current.watch.events() == 0 && !self.common().shared.quiet {
            self.answer.err += &format!("warning: {}: the log has no events\n", self.file);
        }
        for &model in self.models {
            self.answer_model(current, model, &remarks);
        }
        let common = self.common();
        if common.shared.format == OutputFormat::Text && !common.shared.quiet {
            self.answer.out += &monitor_statistics(&current.tables, current.watch.events(), time);
        }
    }

    fn answer_model(&mut self, current: &Current, model: Model, remarks: &[String]) {
        let watch = &current.watch;
        let shown = match watch.reports(&current.tables, model) {
            Ok(shown) => shown,
            Err(rejected) => {
                let message = format!(
                    "the answer under {model} did not pass its own check ({rejected}); this is a \
                     defect of weakspot, please report it with the log"
                );
                return self.refuse_message(Some(model), &message, None);
            }
        };
        let verdict = match (&current.limit, watch.total(model)) {
            (_, 1..) => Verdict::Violated,
            (Some(limit), 0) => Verdict::Unknown(limit.clone()),
            (None, 0) => Verdict::Holds,
        };
        self.write_witness(current, model, &verdict, &shown);
        let mut remarks = remarks.to_vec();
        let checked = shown.iter().filter(|shown| shown.run.is_some()).count();
        if checked < shown.len() && self.args.algorithm == MonitorAlgorithm::Monitor {
            remarks.push(format!("{checked} of {} pairs were checked again by a run", shown.len()));
        }
        let reports: Vec<_> = shown.into_iter().map(|s| (s.overtaking, s.run)).collect();
        let algorithm = match (self.args.algorithm, self.args.pending) {
            (MonitorAlgorithm::Monitor, PendingForm::All) => "monitor",
            (MonitorAlgorithm::Monitor, PendingForm::Last) => "monitor-last",
            (MonitorAlgorithm::Sober, _) => "sober",
            (MonitorAlgorithm::SoberPublished, _) => "sober-published",
        };
        let answer = MonitorAnswer {
            file: &self.file,
            id: current.id.as_deref(),
            tables: &current.tables,
            log: watch.kept(),
            model,
            verdict: &verdict,
            reports: &reports,
            total: watch.total(model),
            unlisted: watch.unlisted(model),
            events: watch.events(),
            algorithm,
            remarks: &remarks,
            time: current.since.elapsed(),
        };
        let color = pool::colored(self.common().shared.color, std::io::stdout().is_terminal());
        let text = match self.common().shared.format {
            OutputFormat::Text => monitor_text(&answer, !self.common().shared.quiet, color),
            OutputFormat::Json => monitor_json(&answer) + "\n",
            OutputFormat::Dot => monitor_dot(&answer),
        };
        self.answer.out += &text;
        self.answer.exit = self.answer.exit.max(Exit::of(&verdict));
        self.answer.results.push(ProgramResult {
            file: self.file.clone(),
            name: current.id.clone().unwrap_or_default(),
            model: Some(model),
            verdict: Some(verdict),
        });
    }

    /// Writes the witness that `--witness` asks for.
    fn write_witness(
        &mut self,
        current: &Current,
        model: Model,
        verdict: &Verdict,
        shown: &[Shown],
    ) {
        let Some(path) = self.common().shared.witness.clone() else { return };
        if self.args.algorithm != MonitorAlgorithm::Monitor {
            return self.complain("SOBER has no witnesses; --algorithm monitor has");
        }
        let run = match (verdict, shown.first()) {
            (Verdict::Unknown(_), _) => {
                let note = format!("{}: no witness is written: the answer is unknown\n", self.file);
                self.answer.err += &note;
                return;
            }
            (_, None) => None,
            (_, Some(Shown { run: Some(run), .. })) => Some(run.clone()),
            (_, Some(Shown { overtaking, run: None })) => {
                let place = (current.number, overtaking.first as usize);
                let mut work = usize::MAX;
                let again = self.reread(place);
                match again.map(|(log, tables)| show(&log, &tables, model, overtaking, &mut work)) {
                    Some(Ok(Some(run))) => Some(run),
                    _ => {
                        return self.complain("failed to go through the log again for the witness");
                    }
                }
            }
        };
        if self.witnessed == Some(true) || self.witnessed.is_some() && run.is_none() {
            return;
        }
        self.witnessed = Some(run.is_some());
        let last_only = self.args.pending == PendingForm::Last;
        let bytes = std::fs::read(self.path).context("failed to read it again for the witness");
        let written = bytes.and_then(|bytes| {
            let input_hash = input_hash(&bytes);
            let witness = LogWitness { input_hash, model, trace: current.number, run, last_only };
            output::write(&path, witness.to_json())
        });
        if let Err(error) = written {
            self.complain(&format!("{error:#}"));
        }
    }

    /// The events of a trace up to the one at a place, read again.
    fn reread(
        &self,
        place: (Option<usize>, usize),
    ) -> Option<(Vec<weakspot_core::LogEvent>, LogTables)> {
        let format = self.args.log_format.map(Into::into);
        read_trace(Path::new(self.path), format, place.0, place.1 + 1).ok()
    }

    /// What is known although the log cannot be followed to its end.
    fn say_partial(&mut self, current: &Current) {
        let events = current.watch.events();
        let reports: Vec<String> = self
            .models
            .iter()
            .map(|&model| format!("{} under {model}", current.watch.total(model)))
            .collect();
        if events > 0 {
            self.answer.err += &format!(
                "{}: before the error below: {events} event{} followed, reports: {}\n",
                self.file,
                if events == 1 { "" } else { "s" },
                reports.join(", ")
            );
        }
    }

    fn complain(&mut self, message: &str) {
        self.answer.exit = Exit::Bad;
        self.answer.err += &format!("error: {}: {message}\n", self.file);
    }

    fn refuse(&mut self, error: &LogError) {
        let place = match error.place {
            LogPlace::Line { line, column } => Some((line as usize, column as usize)),
            LogPlace::Offset(_) => None,
        };
        let message = match error.place {
            LogPlace::Line { .. } => error.message.clone(),
            LogPlace::Offset(_) => error.to_string(),
        };
        self.answer.err += &match error.message.starts_with("failed to read") {
            true => format!("error: {}: {}\n", self.file, error.message),
            false => format!("error: {}\n", error.of(&self.file)),
        };
        let ending = self.path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| PROGRAM_ENDINGS.contains(&ending)) {
            self.answer.err += "help: for a program, say --program\n";
        }
        self.refuse_json(None, &message, place);
    }

    fn refuse_message(
        &mut self,
        model: Option<Model>,
        message: &str,
        place: Option<(usize, usize)>,
    ) {
        self.answer.err += &format!("error: {}: {message}\n", self.file);
        self.refuse_json(model, message, place);
    }

    fn refuse_json(&mut self, model: Option<Model>, message: &str, place: Option<(usize, usize)>) {
        self.answer.exit = Exit::Bad;
        let models = model.map_or(self.models.to_vec(), |model| vec![model]);
        for model in models {
            if self.common().shared.format == OutputFormat::Json {
                self.answer.out +=
                    &error_json(&self.file, "monitor", Some(model_key(model)), message, place);
                self.answer.out.push('\n');
            }
            self.answer.results.push(ProgramResult::error(&self.file, Some(model)));
        }
    }
}

impl Current {
    fn learn(&mut self, tables: &LogTables) {
        let mine = &mut self.tables;
        mine.threads.extend_from_slice(&tables.threads[mine.threads.len()..]);
        mine.locs.extend_from_slice(&tables.locs[mine.locs.len()..]);
        mine.sites.extend_from_slice(&tables.sites[mine.sites.len()..]);
    }
}
