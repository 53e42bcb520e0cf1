//! `weakspot monitor` on logs.

pub(crate) mod program;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use weakspot_core::{Limit, LogBatch, LogTables, Model, Names, Verdict};
use weakspot_input::{PROGRAM_ENDINGS, expand_logs, is_stdin, open_log, read_trace};
use weakspot_monitor::{Algorithm, Definition, Findings, Form, Refused, Shown, Watch, show};
use weakspot_report::{
    LogWitness, MonitorAnswer, ProgramResult, RunValues, Words, input_hash, limit_text,
    monitor_news, monitor_statistics, program_summary, program_summary_table,
};
use weakspot_trace::{LogError, LogReader, Next};

use crate::args::{Common, MonitorAlgorithm, MonitorArgs, OutputFormat, PendingForm};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::job::{self, Job, defect, summarise};
use weakspot_jobs::pool;
use weakspot_jobs::sweep;

/// Monitors each log under each model.
pub(crate) fn run(args: &MonitorArgs) -> Result<Exit> {
    let common = &args.common;
    let models = &common.model;
    let logs = expand_logs(&args.files)?;
    pool::check(common, &logs)?;
    if common.shared.witness.is_some() && logs.iter().any(|log| is_stdin(log)) {
        bail!(
            "a witness is about a file: save the pipe first, as in `weakspot convert - run.wslog`"
        );
    }
    let (exit, results) = sweep::run_logs(&logs, &common.shared, |log| {
        let shared = &common.shared;
        let job = job::Job::new(shared, models, "monitor", log.display().to_string());
        let mut job = Watched { args, path: log, job };
        job.follow();
        job.job.answer
    })?;
    let words = Words { noun: "log", holds: "nothing found", violated: "breaks SC" };
    let text = || program_summary(&results, words);
    let table = |format| program_summary_table(format, &results, models);
    summarise(&common.shared, logs.len(), text, table);
    Ok(exit)
}

/// One log on its way to answers.
struct Watched<'a> {
    args: &'a MonitorArgs,
    path: &'a PathBuf,
    job: Job<'a, ProgramResult>,
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
    /// Per model how many pairs were reported as news.
    reported: Vec<usize>,
}

/// How many pairs are reported as news.
const MAX_NEWS: usize = 10;

impl Watched<'_> {
    fn common(&self) -> &Common {
        &self.args.common
    }

    /// Follows the log to its end, or to the first report, a limit or an error.
    fn follow(&mut self) {
        let format = self.args.log_format;
        let start = Instant::now();
        let at = self.common().shared.reading.map(|timeout| start + timeout);
        let mut reader = match open_log(self.path, format, interrupt::stop(at)) {
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
            watch: Watch::new(self.job.models, algorithm),
            tables: LogTables::default(),
            since: Instant::now(),
            limit: None,
            reported: vec![0; self.job.models.len()],
        }
    }

    fn found(&self, current: &Current) -> bool {
        self.job.models.iter().any(|&model| current.watch.total(model) > 0)
    }

    /// What is new in a log that is still being written is reported at once, on standard error.
    fn tell_news(&self, current: &mut Current) {
        let common = self.common();
        if !is_stdin(self.path) || common.shared.quiet || common.shared.format != OutputFormat::Text
        {
            return;
        }
        for (&model, reported) in self.job.models.iter().zip(&mut current.reported) {
            let pairs = current.watch.pairs(model);
            if pairs > *reported && *reported < MAX_NEWS {
                for report in current.watch.overtakings(model).iter().skip(*reported).take(MAX_NEWS)
                {
                    eprint!("{}", monitor_news(&current.tables, model, report));
                }
            }
            *reported = pairs;
        }
    }

    /// The limit that was reached.
    fn limit(&self, current: &Current, start: Instant) -> Option<Limit> {
        let reports = self.job.models.iter().map(|&model| current.watch.total(model)).sum();
        let memory = current.watch.memory() as u64;
        self.job.limit_of_log(start, (current.watch.events(), reports, memory))
    }

    /// Answers for a trace.
    fn finish(&mut self, current: &Current, reader: &LogReader) {
        let time = current.since.elapsed();
        let mut remarks = Vec::new();
        self.job.remark_torn(reader.torn(), &mut remarks);
        if current.watch.is_coarse() {
            remarks.push(
                "so many stores are pending that older ones were forgotten: others may be overtaken, too"
                    .to_owned(),
            );
        }
        if let Some(limit) = current.limit.as_ref().filter(|limit| !matches!(limit, Limit::Torn(_)))
        {
            let why = limit_text(limit, &Names::default());
            remarks.push(format!("{why}; what came later was not followed"));
        }
        // One of many traces may be empty.
        if current.watch.events() == 0 && current.id.is_none() && current.limit.is_none() {
            return self.job.refuse_models(None, "no event in it", None);
        }
        if current.watch.events() == 0 && !self.common().shared.quiet {
            self.job.answer.err += &format!("warning: {}: the log has no events\n", self.job.file);
        }
        for &model in self.job.models {
            self.answer_model(current, model, &remarks);
        }
        let common = self.common();
        if common.shared.format == OutputFormat::Text && !common.shared.quiet {
            self.job.answer.out +=
                &monitor_statistics(&current.tables, current.watch.events(), time);
        }
    }

    fn answer_model(&mut self, current: &Current, model: Model, remarks: &[String]) {
        let watch = &current.watch;
        let findings = match watch.answer(&current.tables, model, current.limit.as_ref()) {
            Ok(findings) => findings,
            Err(rejected) => {
                let message = defect(&model.to_string(), &rejected);
                return self.job.refuse_models(Some(model), &message, None);
            }
        };
        let certification = findings.certification();
        let Findings { verdict, reports: shown } = findings.into_answer();
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
        let time = current.since.elapsed();
        let answer = MonitorAnswer {
            head: self.job.head(model, &verdict, time, certification),
            id: current.id.as_deref(),
            tables: &current.tables,
            sources: &[],
            log: watch.kept(),
            reports: &reports,
            values: RunValues::Logged(watch.kept_values()),
            total: watch.total(model),
            unlisted: watch.unlisted(model),
            events: watch.events(),
            algorithm,
            remarks: &remarks,
        };
        let written = self.job.written(&answer);
        self.job.say(&written, &verdict);
        self.job.answer.results.push(ProgramResult {
            file: self.job.file.clone(),
            name: match &current.id {
                Some(id) => format!("{} {id}", self.job.file),
                None => self.job.file.clone(),
            },
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
        if self.common().shared.witness.is_none() {
            return;
        }
        if self.args.algorithm != MonitorAlgorithm::Monitor {
            return self.job.complain("SOBER has no witnesses; --algorithm monitor has");
        }
        let run = match (verdict, shown.first()) {
            (Verdict::Unknown(_), _) => return self.job.lack_witness(),
            (_, None) => None,
            (_, Some(Shown { run: Some(run), .. })) => Some(run.clone()),
            (_, Some(Shown { overtaking, run: None })) => {
                let place = (current.number, overtaking.first as usize);
                let mut work = usize::MAX;
                let again = self.reread(place);
                match again.map(|(log, tables)| show(&log, &tables, model, overtaking, &mut work)) {
                    Some(Ok(Some(run))) => Some(run),
                    _ => {
                        let failed = "failed to go through the log again for the witness";
                        return self.job.complain(failed);
                    }
                }
            }
        };
        let last_only = self.args.pending == PendingForm::Last;
        let (path, trace) = (self.path, current.number);
        self.job.write_witness(run.is_some(), || {
            let bytes = std::fs::read(path).context("failed to read it again for the witness")?;
            let input_hash = input_hash(&bytes);
            Ok(LogWitness { input_hash, model, trace, run, last_only }.to_json())
        });
    }

    /// The events of a trace up to the one at a place, read again.
    fn reread(
        &self,
        place: (Option<usize>, usize),
    ) -> Option<(Vec<weakspot_core::LogEvent>, LogTables)> {
        let format = self.args.log_format;
        read_trace(self.path, format, place.0, place.1 + 1, interrupt::stop(None)).ok()?
    }

    /// What is known although the log cannot be followed to its end.
    fn say_partial(&mut self, current: &Current) {
        let events = current.watch.events();
        let reports: Vec<String> = self
            .job
            .models
            .iter()
            .map(|&model| format!("{} under {model}", current.watch.total(model)))
            .collect();
        if events > 0 {
            self.job.answer.err += &format!(
                "{}: before the error below: {events} event{} followed, reports: {}\n",
                self.job.file,
                if events == 1 { "" } else { "s" },
                reports.join(", ")
            );
        }
    }

    fn refuse(&mut self, error: &LogError) {
        self.job.refuse_log(error);
        let ending = self.path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| PROGRAM_ENDINGS.contains(&ending)) {
            self.job.answer.err += "help: for a program, say --program\n";
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
