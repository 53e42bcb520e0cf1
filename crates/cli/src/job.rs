//! One input on its way to an answer: what every question does with bad input and warnings.

use std::io::IsTerminal;

use weakspot_core::certify::Rejected;
use weakspot_core::{Diagnostic, Evidence, Model, Verdict};
use weakspot_lang::Parsed;
use weakspot_report::{Severity, Witness, error_json, input_hash, model_key, render};

use crate::args::{Common, OutputFormat};
use crate::exit::Exit;
use crate::input::{Input, Source};
use crate::output;
use crate::pool::{self, Answer};

/// The answer to one input, while it is made.
pub(crate) struct Job<'a, T> {
    pub(crate) common: &'a Common,
    pub(crate) question: &'static str,
    /// The input as the user named it.
    pub(crate) file: String,
    pub(crate) answer: Answer<T>,
}

impl<'a, T> Job<'a, T> {
    pub(crate) fn new(common: &'a Common, question: &'static str, input: &Input) -> Job<'a, T> {
        Job { common, question, file: input.name(), answer: Answer::new() }
    }

    /// The program of `input` and its text; warnings and refusals are noted.
    pub(crate) fn read(&mut self, input: &Input) -> Option<(Source, Parsed)> {
        let source = match input.read() {
            Ok(source) => source,
            Err(unreadable) => {
                self.refuse(None, &unreadable.message, unreadable.place, None);
                return None;
            }
        };
        match source.parse(&input.path) {
            Ok(parsed) => {
                if !self.common.shared.quiet {
                    for warning in &parsed.warnings {
                        let text = self.rendered(&source, warning, Severity::Warning);
                        self.answer.err += &text;
                    }
                }
                Some((source, parsed))
            }
            Err(diagnostic) => {
                self.refuse_at(None, &source, &diagnostic);
                None
            }
        }
    }

    /// No answer because of a place in the input.
    pub(crate) fn refuse_at(&mut self, model: Option<Model>, source: &Source, d: &Diagnostic) {
        let text = self.rendered(source, d, Severity::Error);
        self.refuse(model, &d.message, Some(d.span.line_column(&source.text)), Some(text));
    }

    /// No answer because its evidence was rejected.
    pub(crate) fn refuse_rejected(&mut self, model: Model, rejected: &Rejected) {
        let message = format!(
            "the answer under {model} did not pass its own check ({rejected}); this is a defect of \
             weakspot, please report it with the input"
        );
        self.refuse(Some(model), &message, None, None);
    }

    /// No answer, for one model or for all: said on standard error, and in JSON one line per model.
    pub(crate) fn refuse(
        &mut self,
        model: Option<Model>,
        message: &str,
        place: Option<(usize, usize)>,
        text: Option<String>,
    ) {
        self.answer.exit = Exit::Bad;
        if self.common.shared.format == OutputFormat::Json {
            let models = model.map_or(self.common.model.clone(), |m| vec![m]);
            for model in models {
                self.answer.out +=
                    &error_json(&self.file, self.question, Some(model_key(model)), message, place);
                self.answer.out.push('\n');
            }
        }
        self.answer.err += &match text {
            Some(text) => text,
            None => format!("error: {}: {message}\n", self.file),
        };
    }

    /// Something that was asked for besides the answer cannot be had.
    pub(crate) fn complain(&mut self, message: &str) {
        self.answer.exit = Exit::Bad;
        self.answer.err += &format!("error: {}: {message}\n", self.file);
    }

    /// Writes the witness that `--witness` asks for.
    pub(crate) fn write_witness(
        &mut self,
        source: &Source,
        model: Model,
        verdict: &Verdict,
        evidence: Option<&Evidence>,
    ) {
        let Some(path) = &self.common.shared.witness else { return };
        let Some(evidence) = evidence else {
            self.answer.err +=
                &format!("{}: no witness is written: the answer is unknown\n", self.file);
            return;
        };
        let witness = Witness {
            question: self.question.into(),
            input_hash: input_hash(source.text.as_bytes()),
            model,
            verdict: verdict.clone(),
            evidence: evidence.clone(),
        };
        if let Err(error) = output::write(path, witness.to_json()) {
            self.complain(&format!("{error:#}"));
        }
    }

    /// Whether what goes to standard output is coloured.
    pub(crate) fn color_out(&self) -> bool {
        pool::colored(self.common.shared.color, std::io::stdout().is_terminal())
    }

    fn rendered(&self, source: &Source, d: &Diagnostic, severity: Severity) -> String {
        let color = pool::colored(self.common.shared.color, std::io::stderr().is_terminal());
        render(&self.file, &source.text, d, severity, color)
    }
}
