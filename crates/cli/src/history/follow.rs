//! `weakspot history --follow`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use weakspot_core::certify::Rejected;
use weakspot_core::{Certification, History, HistoryModel, Limit, Limits, OpNames, Verdict};
use weakspot_history::{Broken, Defect, Following, Method, Shown, Stopped, minimal_part};
use weakspot_input::growing;
use weakspot_report::{HistoryAnswer, HistoryAnswers, HistoryFollowed, HistoryPart};
use weakspot_trace::{HistoryFormat, LogError, LogPlace, NextOps, OpReader};

use crate::args::HistoryCheckArgs;
use crate::history::{NO_HISTORY, defect, part};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::job::{Job, Written, is_unread, line_of};
use weakspot_jobs::pool::{self, Answer, Listener};

/// A window that takes longer than this is left undecided, not to fall behind for good.
const WINDOW_TIME: Duration = Duration::from_secs(10);

/// A window is checked after so long, full or not.
const LOOK: Duration = Duration::from_secs(1);

/// Follows a history until every model is violated, or the history ends.
pub(crate) fn run(args: &HistoryCheckArgs) -> Result<Exit> {
    let models = &args.models[..];
    let [path] = args.files.as_slice() else {
        bail!("--follow takes one file, or - for standard input");
    };
    if path.is_dir() {
        bail!("--follow takes a file, and {} is a folder", path.display());
    }
    pool::about_histories();
    let shared = &args.shared;
    pool::check_models(shared, &args.files, models)?;
    let start = Instant::now();
    let time = shared.reading.map_or(WINDOW_TIME, |timeout| timeout.min(WINDOW_TIME));
    let limits = Limits { time: Some(time), ..pool::limits_of(shared) };
    let (exit, _) =
        pool::run_in_parts(std::slice::from_ref(path), shared, shared.reading, |path, part| {
            let mut followed = Followed {
                args,
                method: Method { complete: args.complete, saturate: !args.no_saturation },
                limits,
                job: Job::new(shared, models, "history", path.display().to_string()),
                start,
                until: shared.reading.map(|timeout| start + timeout),
            };
            if let Err(error) = followed.follow(path, part) {
                let place = line_of(&error).filter(|_| !is_unread(&error.message));
                followed.job.refuse_place(None, &error.message, place, None);
                part(followed.job.take());
            }
        })?;
    Ok(exit)
}

/// What is said, part by part.
type Part<'a> = dyn FnMut(Answer<()>) + 'a;

/// A file that is followed.
struct Followed<'a> {
    args: &'a HistoryCheckArgs,
    method: Method,
    limits: Limits,
    job: Job<'a, (), HistoryModel>,
    start: Instant,
    until: Option<Instant>,
}

/// One of the histories of a file.
struct Current {
    following: Following,
    /// Which one of the file, from 1.
    number: usize,
    /// When the rate was progress last, how many operations had come then, and the rate.
    progress: (Instant, u64, u64),
    /// The models of which it was told that they may be violated.
    warned: Vec<HistoryModel>,
}

impl Followed<'_> {
    /// Follows the histories of a file, one after the other.
    fn follow(&mut self, path: &Path, part: &mut Part<'_>) -> Result<(), LogError> {
        let format = self.args.input_format.or_else(|| HistoryFormat::from_path(path));
        let mut reader = OpReader::new(growing(path, interrupt::stop(self.until))?, format);
        if let Some(columns) = self.args.columns.clone() {
            reader.set_columns(columns);
        }
        let mut current = self.begin(1);
        let (mut ops, mut found) = (Vec::new(), Vec::new());
        let mut listener = Listener::new();
        let (mut looked, mut rest) = (Instant::now(), LOOK);
        loop {
            ops.clear();
            let next = reader.next(&mut ops);
            let limit = self.limit();
            let following = &mut current.following;
            let mut done = match next {
                Ok(NextOps::Batch) => {
                    let initial = &reader.names().initial;
                    following.add(&ops, initial, &mut found, &mut listener)
                }
                Ok(NextOps::Idle) | Err(_) => Ok(()),
                Ok(NextOps::History | NextOps::End) => {
                    following.check(true, &mut found, &mut listener)
                }
            };
            // A log that grows slowly is looked at now and then before its window is full.
            let is_due = rest <= looked.elapsed();
            if done.is_ok() && (is_due || limit.is_some() || !matches!(next, Ok(NextOps::Batch))) {
                looked = Instant::now();
                done = following.check(false, &mut found, &mut listener);
                rest = LOOK.max(10 * looked.elapsed());
                looked = Instant::now();
            }
            self.tell(&mut current);
            let is_same = |a: &Broken, b: &Broken| Arc::ptr_eq(&a.excerpt, &b.excerpt);
            for together in found.chunk_by(|a, b| a.arrived == b.arrived && is_same(a, b)) {
                self.say_violated(&current, &reader, together)?;
                part(self.job.take());
            }
            found.clear();
            self.warn_of_held(&mut current, part);
            done.map_err(|stopped| wrong(stopped, reader.names()))?;
            let next = next?;
            if current.following.open().is_empty() {
                return Ok(());
            }
            if limit.is_some() {
                self.end(&current, &reader, limit.as_ref(), part);
                return Ok(());
            }
            match next {
                NextOps::Batch | NextOps::Idle => {}
                NextOps::End if current.number > 1 && current.following.window().arrived() == 0 => {
                    return Ok(());
                }
                NextOps::End if is_nothing(&current, &reader) => {
                    return Err(LogError {
                        message: NO_HISTORY.into(),
                        place: LogPlace::Offset(0),
                    });
                }
                NextOps::End => {
                    self.end(&current, &reader, None, part);
                    return Ok(());
                }
                NextOps::History => {
                    self.end(&current, &reader, None, part);
                    current = self.begin(current.number + 1);
                }
            }
        }
    }

    fn begin(&self, number: usize) -> Current {
        let size = self.args.window as usize;
        let mut following = Following::new(size, self.job.models, self.method, &self.limits);
        following.set_time_at_end(self.args.shared.reading);
        if self.args.distinct_values {
            following.promise_distinct();
        }
        Current { following, number, progress: (Instant::now(), 0, 0), warned: Vec::new() }
    }

    /// What ends the following before the history does.
    fn limit(&self) -> Option<Limit> {
        if pool::interrupted() {
            return Some(Limit::Interrupted);
        }
        let timeout = self.args.shared.reading?;
        (self.start.elapsed() >= timeout).then_some(Limit::Time(timeout))
    }

    /// For the progress line.
    fn tell(&self, current: &mut Current) {
        let window = current.following.window();
        let (since, before, _) = current.progress;
        let time = since.elapsed();
        if time >= LOOK || before == 0 {
            let rate = (window.arrived() - before) as f64 / time.as_secs_f64().max(1e-3);
            current.progress.2 = rate as u64;
        }
        if time >= LOOK {
            (current.progress.0, current.progress.1) = (Instant::now(), window.arrived());
        }
        let found = self.job.models.len() - current.following.open().len();
        pool::follow_log(window.arrived(), current.progress.2, found as u64, window.bytes() as u64);
    }

    /// Tells of violations that are certain only when the log has ended.
    fn warn_of_held(&mut self, current: &mut Current, part: &mut Part<'_>) {
        let Current { following, warned, .. } = current;
        while let Some(first) = following.held().find(|held| !warned.contains(&held.found.model)) {
            let same = |held: &&Broken| held.arrived == first.arrived;
            let models = following.held().filter(same).map(|held| held.found.model);
            let new: Vec<_> = models.filter(|model| !warned.contains(model)).collect();
            warned.extend(&new);
            if self.args.shared.quiet {
                continue;
            }
            let names = new.into_iter().map(HistoryModel::name);
            self.job.answer.err += &format!(
                "note: {}: the first {} operations violate {}, unless a value that was read is written again \
                 later; `--distinct-values` says that none is\n",
                self.job.file,
                weakspot_jobs::terminal::Count(first.arrived),
                names.collect::<Vec<_>>().join(", ")
            );
            part(self.job.take());
        }
    }

    /// What violates models in one window.
    fn say_violated(
        &mut self,
        current: &Current,
        reader: &OpReader,
        together: &[Broken],
    ) -> Result<(), LogError> {
        let Some(Broken { excerpt, arrived, .. }) = together.first() else { return Ok(()) };
        let names = excerpt.names(reader.names());
        let minimal = |broken| self.minimal(reader, broken, &names);
        let minimal: Vec<Option<HistoryPart>> =
            together.iter().map(minimal).collect::<Result<_, _>>()?;
        let followed = HistoryFollowed {
            held: None,
            thread_numbers: &excerpt.threads,
            indices: &excerpt.indices,
            operations: *arrived,
            ..self.followed(current, reader)
        };
        let each = together.iter().map(|broken| &broken.found).zip(&minimal);
        let answers = each.map(|(found, minimal)| HistoryAnswer {
            head: self.job.head(
                found.model,
                &found.answer.verdict,
                self.start.elapsed(),
                found.answer.certification(),
            ),
            id: reader.id(),
            number: (current.number > 1).then_some(current.number),
            ops: &excerpt.ops,
            names: &names,
            lines: &excerpt.lines,
            notes: &[],
            unchecked: &[],
            evidence: found.answer.evidence.as_deref(),
            decided_by: found.answer.decided_by.key(),
            implied_by: found.implied_by,
            minimal: minimal.as_ref(),
            followed: Some(followed),
            explored: found.explored,
        });
        let answers: Vec<HistoryAnswer<'_>> = answers.collect();
        let written = self.job.written(&HistoryAnswers { answers: &answers, are_all: false });
        self.job.say(&written, &Verdict::Violated);
        Ok(())
    }

    fn minimal(
        &self,
        reader: &OpReader,
        broken: &Broken,
        names: &OpNames,
    ) -> Result<Option<HistoryPart>, LogError> {
        let evidence = broken.found.answer.evidence.as_deref().filter(|_| self.args.minimise);
        let Some(evidence) = evidence else { return Ok(None) };
        let excerpt = &broken.excerpt;
        let (ops, model) = (&excerpt.ops, broken.found.model);
        let mut listener = Listener::new();
        let shown = Shown { evidence, open: &excerpt.open, ways: &broken.ways };
        let minimal = minimal_part(ops, model, shown, self.method, &self.limits, &mut listener)
            .map_err(|rejected| rejection(model, &rejected))?;
        let Some(minimal) = minimal else { return Ok(None) };
        let place = |op: u32| {
            let thread = &names.threads[ops.thread_of(op)];
            let (index, line) = (excerpt.indices[op as usize], excerpt.lines[op as usize]);
            format!("operation {index} of {thread}, line {line}")
        };
        Ok(Some(part(reader.id(), names, minimal, &place)))
    }

    fn followed(&self, current: &Current, reader: &OpReader) -> HistoryFollowed<'static> {
        let window = current.following.window();
        let is_checked_whole = current.following.is_checked_whole();
        HistoryFollowed {
            held: None,
            operations: window.arrived(),
            threads: reader.names().threads.len(),
            variables: reader.names().vars.len(),
            window: window.size(),
            left_out: if is_checked_whole { 0 } else { window.left_out() },
            is_checked_whole,
            thread_numbers: &[],
            indices: &[],
        }
    }

    /// Answers for the models that no window violates.
    fn end(
        &mut self,
        current: &Current,
        reader: &OpReader,
        limit: Option<&Limit>,
        part: &mut Part<'_>,
    ) {
        let following = &current.following;
        let followed = self.followed(current, reader);
        let mut notes: Vec<String> = match followed.left_out {
            0 => Vec::new(),
            1 => vec!["1 read was left out: its write is not known, or not remembered".into()],
            n => vec![format!(
                "{} reads were left out: their writes are not known, or not remembered",
                weakspot_jobs::terminal::Count(n)
            )],
        };
        if following.open().iter().any(|model| !model.has_real_time()) {
            notes.extend(reader.unchecked().iter().map(|what| format!("not checked: {what}")));
        }
        let verdict = |&model: &HistoryModel| {
            let limit = limit.cloned().map(Verdict::Unknown);
            (model, limit.unwrap_or_else(|| following.verdict(model)))
        };
        let verdicts: Vec<_> = following.open().iter().map(verdict).collect();
        let held = |model: HistoryModel| {
            following.held().find(|held| held.found.model == model).map(|held| held.arrived)
        };
        let (ops, names) = (History::new(), OpNames::default());
        let answers = verdicts.iter().map(|(model, verdict)| HistoryAnswer {
            head: self.job.head(
                *model,
                verdict,
                self.start.elapsed(),
                match limit {
                    Some(_) => Certification::NotChecked,
                    None => following.certification(*model),
                },
            ),
            id: reader.id(),
            number: (current.number > 1).then_some(current.number),
            ops: &ops,
            names: &names,
            lines: &[],
            notes: &notes,
            unchecked: reader.unchecked(),
            evidence: None,
            decided_by: following.decided_by(*model).map_or("", |by| by.key()),
            implied_by: None,
            minimal: None,
            followed: Some(HistoryFollowed { held: held(*model), ..followed }),
            explored: followed.operations,
        });
        let answers: Vec<HistoryAnswer<'_>> = answers.collect();
        let written = self.job.written(&HistoryAnswers { answers: &answers, are_all: false });
        self.job.write(&written);
        for (_, verdict) in &verdicts {
            self.job.say(&Written::default(), verdict);
        }
        part(self.job.take());
    }
}

/// Whether there was not even an empty history.
fn is_nothing(current: &Current, reader: &OpReader) -> bool {
    let is_empty = current.following.window().arrived() == 0;
    is_empty && reader.id().is_none() && reader.names().threads.is_empty()
}

/// Why a history cannot be followed any further, at its place.
fn wrong(stopped: Stopped, names: &OpNames) -> LogError {
    match stopped {
        Stopped::Refused(refused) => LogError {
            message: refused.message(names),
            place: LogPlace::Line {
                line: refused.op.line.into(),
                column: refused.op.column.into(),
            },
        },
        Stopped::Rejected(Defect { model, rejected }) => rejection(model, &rejected),
    }
}

/// An answer that did not pass its check.
fn rejection(model: HistoryModel, rejected: &Rejected) -> LogError {
    LogError { message: defect(model, rejected), place: LogPlace::Offset(0) }
}
