//! `weakspot litmus`.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::Instant;

use anyhow::{Result, bail};
use weakspot_core::{Diagnostic, Model, Value};
use weakspot_explore::{Judgement, Outcomes, Strategy, outcomes};
use weakspot_lang::Parsed;
use weakspot_report::{
    LitmusAnswer, LitmusResult, Severity, Witness, draw_dot, draw_run, error_json,
    failure_diagnostic, input_hash, litmus_json, litmus_summary, litmus_text, render,
};

use crate::args::{LitmusArgs, OutputFormat};
use crate::exit::Exit;
use crate::input::{Input, Source, expand};
use crate::pool::{self, Answer, Listener};

/// Answers each test under each model.
pub(crate) fn run(args: &LitmusArgs) -> Result<Exit> {
    let common = &args.common;
    let inputs = expand(&args.files, common.input_format.map(Into::into), &["litmus"])?;
    if common.witness.is_some() && (inputs.len() > 1 || common.model.len() > 1) {
        bail!("--witness takes one file and one model, as in --model tso");
    }
    let (exit, results) = pool::run(&inputs, common, |input| answer(input, args))?;
    if inputs.len() > 1 && common.format == OutputFormat::Text && !common.quiet {
        eprint!("{}", litmus_summary(&results));
    }
    Ok(exit)
}

/// One file under all models.
fn answer(input: &Input, args: &LitmusArgs) -> Answer<LitmusResult> {
    let mut job = Job {
        args,
        file: input.name(),
        answer: Answer {
            out: String::new(),
            err: String::new(),
            exit: Exit::Holds,
            results: Vec::new(),
        },
    };
    match input.read() {
        Err(error) => job.refuse(None, &format!("{error:#}"), None, None),
        Ok(source) => match source.parse(&input.path) {
            Err(diagnostic) => job.refuse_at(None, &source, &diagnostic),
            Ok(parsed) => job.ask(&source, &parsed),
        },
    }
    job.answer
}

struct Job<'a> {
    args: &'a LitmusArgs,
    file: String,
    answer: Answer<LitmusResult>,
}

impl Job<'_> {
    fn ask(&mut self, source: &Source, parsed: &Parsed) {
        if !self.args.common.quiet {
            let color = self.color_err();
            for warning in &parsed.warnings {
                let text = render(&self.file, &source.text, warning, Severity::Warning, color);
                self.answer.err += &text;
            }
        }
        if parsed.program.condition.is_none() {
            let message = "the program asks nothing about final states: expected `exists`, \
                           `forall` or `never`, or `weakspot reach` for control points and \
                           assertions";
            self.refuse(None, message, None, None);
            return;
        }
        for &model in &self.args.common.model {
            self.ask_model(source, parsed, model);
        }
    }

    fn ask_model(&mut self, source: &Source, parsed: &Parsed, model: Model) {
        let common = &self.args.common;
        let Parsed { program, names, .. } = parsed;
        let start = Instant::now();
        let limits = pool::limits(common);
        let found = outcomes(program, model, Strategy::Auto, &limits, &mut Listener::new());
        let mut found = match found {
            Ok(found) => found,
            Err(failure) => {
                let diagnostic = failure_diagnostic(program, names, &failure);
                return self.refuse_at(Some(model), source, &diagnostic);
            }
        };
        let judged = match found.judge(program, model) {
            Ok(judged) => judged,
            Err(rejected) => {
                let message = format!(
                    "the answer under {model} did not pass its own check ({rejected}); this is a \
                     defect of weakspot, please report it with the input"
                );
                return self.refuse(Some(model), &message, None, None);
            }
        };
        let time = start.elapsed();
        let run = match self.run_to_show(parsed, model, &mut found, &judged) {
            Ok(run) => run,
            Err(message) => return self.refuse(Some(model), &message, None, None),
        };
        let answer = LitmusAnswer {
            file: &self.file,
            program,
            names,
            model,
            verdict: &judged.verdict,
            outcomes: &found.set,
            positive: judged.positive,
            negative: judged.negative,
            stopped: found.stopped.as_ref(),
            searched: found.states,
            time,
        };
        let result = LitmusResult::of(&answer);
        match common.format {
            OutputFormat::Text => {
                self.answer.out += &litmus_text(&answer);
                if let (Some(_), Some(run)) = (&self.args.show, &run) {
                    let color = pool::colored(common, std::io::stdout().is_terminal());
                    self.answer.out += &draw_run(program, names, &source.text, model, run, color);
                    self.answer.out.push('\n');
                }
            }
            OutputFormat::Json => {
                self.answer.out += &litmus_json(&answer, self.args.states);
                self.answer.out.push('\n');
            }
            OutputFormat::Dot => {
                if let Some(run) = &run {
                    self.answer.out += &draw_dot(program, names, &source.text, model, run);
                }
            }
        }
        self.answer.exit = self.answer.exit.max(Exit::of(&judged.verdict));
        self.answer.results.push(result);
        if let Some(path) = &common.witness
            && let Some(evidence) = judged.evidence
        {
            let witness = Witness {
                question: "litmus".into(),
                input_hash: input_hash(source.text.as_bytes()),
                model,
                verdict: judged.verdict,
                evidence,
            };
            if let Err(error) = std::fs::write(path, witness.to_json() + "\n") {
                let message = format!("failed to write {}: {error}", path.display());
                self.refuse(Some(model), &message, None, None);
            }
        }
    }

    /// The run that `--show` or `--format dot` asks for.
    fn run_to_show(
        &self,
        parsed: &Parsed,
        model: Model,
        found: &mut Outcomes<'_>,
        judged: &Judgement,
    ) -> Result<Option<weakspot_core::machine::Schedule>, String> {
        let wanted = self.args.show.as_deref().unwrap_or_default();
        if self.args.show.is_none() && self.args.common.format != OutputFormat::Dot {
            return Ok(None);
        }
        let outcome = if wanted.trim().is_empty() {
            match decisive(parsed, found, judged) {
                Some(outcome) => outcome,
                None => return Ok(None),
            }
        } else {
            let components = components(parsed, wanted)?;
            let mut chosen = None;
            found.set.for_each(|row| {
                if components.iter().all(|&(c, v)| row[c] == v) {
                    chosen = Some(row.to_vec());
                }
                chosen.is_none()
            });
            match chosen {
                Some(outcome) => outcome,
                None => return Err(format!("no final state under {model} has {wanted}")),
            }
        };
        // A state that SC reaches, too, is explained best without delays.
        if model != Model::Sc {
            let limits = pool::limits(&self.args.common);
            let sc =
                outcomes(&parsed.program, Model::Sc, Strategy::Auto, &limits, &mut Listener::new());
            if let Ok(mut sc) = sc
                && let Some(run) = sc.run_to(&outcome)
                && let Some(run) = run.committing_at_once(&parsed.program, model)
            {
                return Ok(Some(run));
            }
        }
        Ok(found.run_to(&outcome))
    }

    fn refuse_at(&mut self, model: Option<Model>, source: &Source, diagnostic: &Diagnostic) {
        let (line, column) = diagnostic.span.line_column(&source.text);
        let text = render(&self.file, &source.text, diagnostic, Severity::Error, self.color_err());
        self.refuse(model, &diagnostic.message, Some((line, column)), Some(text));
    }

    /// No answer, for one model or for all: said on standard error, or in JSON one line per model.
    fn refuse(
        &mut self,
        model: Option<Model>,
        message: &str,
        place: Option<(usize, usize)>,
        text: Option<String>,
    ) {
        self.answer.exit = Exit::Bad;
        self.answer.results.push(LitmusResult::error(&self.file, model));
        if self.args.common.format == OutputFormat::Json {
            let models = model.map_or(self.args.common.model.clone(), |m| vec![m]);
            for model in models {
                self.answer.out += &error_json(&self.file, "litmus", Some(model), message, place);
                self.answer.out.push('\n');
            }
        }
        self.answer.err += &match text {
            Some(text) => text,
            None => format!("error: {}: {message}\n", self.file),
        };
    }

    fn color_err(&self) -> bool {
        pool::colored(&self.args.common, std::io::stderr().is_terminal())
    }
}

/// The state that decides the condition, else the first.
fn decisive(parsed: &Parsed, found: &Outcomes<'_>, judged: &Judgement) -> Option<Vec<Value>> {
    let condition = parsed.program.condition.as_ref()?;
    let wanted = weakspot_core::certify::decisive(condition.quantifier, &judged.verdict);
    let mut chosen = None;
    found.set.for_each(|row| {
        let satisfied = condition.prop.holds(row);
        if wanted.is_none_or(|w| w == satisfied) {
            chosen = Some(row.to_vec());
        }
        chosen.is_none()
    });
    chosen
}

/// The components of a state given as `0:EAX=0; x=1`.
fn components(parsed: &Parsed, text: &str) -> Result<BTreeSet<(usize, Value)>, String> {
    let names = &parsed.names;
    text.split([';', ','])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("bad component `{part}` in --show: expected NAME=VALUE"))?;
            let name = name.trim();
            let column = names.observed.iter().position(|n| n == name).ok_or_else(|| {
                format!("no `{name}` in the final states: expected {}", names.observed.join(", "))
            })?;
            let value = value.trim();
            let number = value.parse().ok().or_else(|| {
                let loc = names.locs.iter().position(|n| n == value)?;
                Some(parsed.program.locs[loc].addr)
            });
            let number = number.ok_or_else(|| format!("bad value `{value}` in --show"))?;
            Ok((column, number))
        })
        .collect()
}
