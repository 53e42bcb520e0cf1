//! `weakspot history`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use weakspot_core::certify::Rejected;
use weakspot_core::{HistoryModel, Limits, OpNames, Verdict};
use weakspot_history::{Classified, Defect, Method, Minimal, classify, minimise};
use weakspot_input::{expand_histories, hash_file, hint, is_stdin, open_histories};
use weakspot_report::{
    Head, HistoryAnswer, HistoryAnswers, HistoryPart, Refusal, history_model_name, history_summary,
    history_summary_csv, history_witness_json,
};
use weakspot_trace::{
    HistoryFormat, LogError, LogPlace, Recorded, write_history, write_history_commented,
};

use crate::args::{HistoryCheckArgs, OutputFormat};
use crate::exit::Exit;
use crate::interrupt;
use crate::job::{style, summarise};
use crate::output;
use crate::pool::{self, Answer, Listener};

/// What is wrong with a file in which there is nothing.
pub(crate) const NO_HISTORY: &str = "no history in it";

/// What a history came to under a model; `None` for bad input.
type Came = (HistoryModel, Option<Verdict>);

/// Answers for each history of each file under each model.
pub(crate) fn run(args: &HistoryCheckArgs) -> Result<Exit> {
    let shared = &args.shared;
    let models = &args.models;
    pool::about_histories();
    let files = expand_histories(&args.files)?;
    pool::check_models(shared, &files, models)?;
    if shared.witness.is_some() && files.iter().any(|file| is_stdin(file)) {
        bail!("a witness is about a file: save the pipe first, as in `weakspot convert - h.jsonl`");
    }
    let limits = pool::limits_of(shared);
    let method = Method { complete: args.complete, saturate: !args.no_saturation };
    let (exit, results) = pool::run_in_parts(&files, shared, |file, part| {
        let mut job = Job {
            args,
            models,
            method,
            limits,
            path: file,
            file: file.display().to_string(),
            witnessed: None,
        };
        job.answer_all(part);
    })?;
    let histories = results.len() / models.len().max(1);
    let text = || history_summary(&results, histories);
    summarise(shared, histories, text, || history_summary_csv(&results));
    Ok(exit)
}

/// One file on its way to answers.
struct Job<'a> {
    args: &'a HistoryCheckArgs,
    models: &'a [HistoryModel],
    method: Method,
    limits: Limits,
    path: &'a PathBuf,
    file: String,
    /// Whether a witness was written, and whether it is one of a violation. Of several histories
    /// the first that is violated has it.
    witnessed: Option<bool>,
}

/// A history that was read, and where.
struct Read<'a> {
    history: Recorded,
    lines: &'a [u32],
    /// Which one of the file, from 1.
    number: usize,
    format: HistoryFormat,
}

impl Job<'_> {
    /// Answers for one history after the other.
    fn answer_all(&mut self, part: &mut dyn FnMut(Answer<Came>)) {
        let format = self.args.input_format;
        let mut reader = match open_histories(self.path, format, interrupt::stop(None)) {
            Ok(reader) => reader,
            Err(error) => return part(self.refused(&error, None)),
        };
        reader.keep_lines();
        let mut number = 0;
        loop {
            match reader.next() {
                _ if pool::interrupted() => {
                    let mut answer = Answer::new();
                    answer.err = format!("{}: interrupted, not read to its end\n", self.file);
                    answer.exit = Exit::Unknown;
                    return part(answer);
                }
                Ok(None) => break,
                Ok(Some(history)) => {
                    number += 1;
                    let format = reader.format();
                    let read = Read { history, lines: reader.lines(), number, format };
                    part(self.answer(&read));
                }
                Err(error) => {
                    let kind = if reader.has_ended() { "syntax" } else { "value" };
                    let mut answer = self.refused(&error, Some(kind));
                    if number == 0 && reader.has_ended() && !self.args.shared.quiet {
                        answer.err += &hint(self.path, reader.format());
                    }
                    number += 1;
                    part(answer);
                    if reader.has_ended() {
                        return;
                    }
                }
            }
        }
        if number == 0 {
            let mut answer = Answer::new();
            self.refuse(&mut answer, self.models, NO_HISTORY, None, None);
            part(answer);
        }
    }

    /// Answers for a history under all models.
    fn answer(&mut self, read: &Read<'_>) -> Answer<Came> {
        let mut answer = Answer::new();
        let Recorded { ops, .. } = &read.history;
        let mut listener = Listener::new();
        let found = match classify(ops, self.models, self.method, &self.limits, &mut listener) {
            Ok(found) => found,
            Err(Defect { model, rejected }) => {
                let message = defect(model, &rejected);
                self.refuse(&mut answer, self.models, &message, None, None);
                return answer;
            }
        };
        let mut good: Vec<(Classified, Option<HistoryPart>)> = Vec::new();
        for found in found {
            let minimal = match self.minimal(read, &found) {
                Ok(minimal) => minimal,
                Err(rejected) => {
                    let message = defect(found.model, &rejected);
                    self.refuse(&mut answer, &[found.model], &message, None, None);
                    continue;
                }
            };
            let violated = found.answer.verdict == Verdict::Violated;
            if self.args.minimise && violated && minimal.is_none() {
                let model = history_model_name(found.model);
                answer.err += &format!(
                    "{}: {model}: a limit was reached before a part was found\n",
                    self.file
                );
            }
            good.push((found, minimal));
        }
        self.print(&mut answer, read, &good);
        for (found, _) in good {
            self.write_witness(&mut answer, read, &found);
            let verdict = &found.answer.verdict;
            answer.exit = answer.exit.max(Exit::of(verdict));
            answer.results.push((found.model, Some(verdict.clone())));
        }
        answer
    }

    fn print(
        &self,
        answer: &mut Answer<Came>,
        read: &Read<'_>,
        good: &[(Classified, Option<HistoryPart>)],
    ) {
        let Recorded { id, ops, names, notes, unchecked } = &read.history;
        let shared = &self.args.shared;
        let answers: Vec<HistoryAnswer<'_>> = good
            .iter()
            .map(|(found, minimal)| HistoryAnswer {
                head: Head {
                    file: &self.file,
                    question: "history",
                    model: found.model,
                    verdict: &found.answer.verdict,
                    limit: None,
                    time: found.time,
                    certified: found.answer.certification(),
                },
                id: id.as_deref(),
                number: read.format.holds_many().then_some(read.number),
                ops,
                names,
                lines: read.lines,
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
        let are_all = self.models.len() == HistoryModel::ALL.len();
        let shown = HistoryAnswers { answers: &answers, are_all };
        answer.out += &shared.format.of(&shown, style(shared));
        let draws_nothing = !answers.iter().any(|a| *a.head.verdict == Verdict::Violated);
        if shared.format == OutputFormat::Dot && draws_nothing && !shared.quiet {
            answer.err +=
                &format!("{}: nothing is violated, so there is no cycle to draw\n", self.file);
        }
    }

    /// The part of a history that `--minimise` asks for.
    fn minimal(
        &self,
        read: &Read<'_>,
        found: &Classified,
    ) -> Result<Option<HistoryPart>, Rejected> {
        let violated = found.answer.verdict == Verdict::Violated;
        let wanted = self.args.minimise && violated;
        let Some(evidence) = found.answer.evidence.as_deref().filter(|_| wanted) else {
            return Ok(None);
        };
        let ops = &read.history.ops;
        let mut listener = Listener::new();
        let minimal =
            minimise(ops, found.model, evidence, self.method, &self.limits, &mut listener)?;
        let Some(minimal) = minimal else { return Ok(None) };
        let names = &read.history.names;
        let place = |op: u32| {
            let thread = ops.thread_of(op);
            let index = op - ops.of_thread(thread).start;
            let line = read.lines.get(op as usize).map_or(String::new(), |n| format!(", line {n}"));
            format!("operation {index} of {}{line}", names.threads[thread])
        };
        Ok(Some(part(read.history.id.as_deref(), names, minimal.into_answer(), &place)))
    }

    /// Writes the witness that `--witness` asks for.
    fn write_witness(&mut self, answer: &mut Answer<Came>, read: &Read<'_>, found: &Classified) {
        let Some(path) = &self.args.shared.witness else { return };
        let Some(evidence) = &found.answer.evidence else {
            answer.err += &format!("{}: no witness is written: the answer is unknown\n", self.file);
            return;
        };
        let violated = found.answer.verdict == Verdict::Violated;
        if self.witnessed == Some(true) || self.witnessed.is_some() && !violated {
            return;
        }
        self.witnessed = Some(violated);
        let hash = hash_file(self.path).context("failed to read it again for the witness");
        let written = hash.and_then(|hash| {
            let verdict = &found.answer.verdict;
            let text = history_witness_json(&hash, read.number, found.model, verdict, evidence);
            output::write(path, text)
        });
        if let Err(error) = written {
            answer.exit = Exit::Bad;
            answer.err += &format!("error: {}: {error:#}\n", self.file);
        }
    }

    fn refused(&self, error: &LogError, kind: Option<&str>) -> Answer<Came> {
        let mut answer = Answer::new();
        let place = match error.place {
            LogPlace::Line { line, column } => Some((line as usize, column as usize)),
            LogPlace::Offset(_) => None,
        };
        let kind = kind.filter(|_| !error.message.starts_with("failed to read"));
        self.refuse(&mut answer, self.models, &error.message, place, kind);
        answer
    }

    fn refuse(
        &self,
        answer: &mut Answer<Came>,
        models: &[HistoryModel],
        message: &str,
        place: Option<(usize, usize)>,
        kind: Option<&str>,
    ) {
        answer.exit = Exit::Bad;
        answer.err += &match place {
            Some((line, column)) if !message.starts_with("failed to read") => {
                format!("error: {}:{line}:{column}: {message}\n", self.file)
            }
            _ => format!("error: {}: {message}\n", self.file),
        };
        for &model in models {
            if self.args.shared.format == OutputFormat::Json {
                let (file, model) = (self.file.as_str(), Some(model.key()));
                let refusal = Refusal { file, question: "history", model, message, place, kind };
                answer.out += &refusal.json();
            }
            answer.results.push((model, None));
        }
    }
}

/// What is said when the checker of evidence rejects an answer.
pub(crate) fn defect(model: HistoryModel, rejected: &Rejected) -> String {
    format!(
        "the answer under {} did not pass its own check ({rejected}); this is a defect of \
         weakspot, please report it with the input",
        history_model_name(model)
    )
}

/// A part of a history, written down so that it can be checked again. `place` says where an
/// operation of the history comes from.
pub(crate) fn part(
    id: Option<&str>,
    names: &OpNames,
    minimal: Minimal,
    place: &dyn Fn(u32) -> String,
) -> HistoryPart {
    let Minimal { kept, ops, threads, vars, is_minimal, .. } = minimal;
    let recorded = Recorded {
        id: id.map(str::to_owned),
        ops,
        names: OpNames {
            threads: threads.iter().map(|&t| names.threads[t].clone()).collect(),
            vars: vars.iter().map(|&x| names.vars[x as usize].clone()).collect(),
            initial: vars.iter().map(|&x| names.initial[x as usize]).collect(),
            values: kept.iter().map(|&op| names.values[op as usize]).collect(),
        },
        notes: Vec::new(),
        unchecked: Vec::new(),
    };
    let place = |op: u32| place(kept[op as usize]);
    let mut text = Vec::new();
    let mut json = Vec::new();
    // Both formats can say every history; a part that is not said is not shown.
    let _ = write_history_commented(&mut text, &recorded, &place);
    let _ = write_history(&mut json, HistoryFormat::Jsonl, &recorded);
    HistoryPart {
        kept,
        text: String::from_utf8_lossy(&text).into_owned(),
        json: String::from_utf8_lossy(&json).trim_end().to_owned(),
        is_minimal,
    }
}
