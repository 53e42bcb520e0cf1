//! What many programs came to: counts per model, and the programs on which the models differ.

use std::fmt::Write;

use weakspot_core::{Model, Verdict};

use crate::format::Format;
use crate::json::{model_key, verdict_key};
use crate::tables;
use crate::text::columns::{USUAL, named};
use crate::text::show::plain;

/// How one program ended under one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramResult {
    /// The file.
    pub file: String,
    /// The name of the program.
    pub name: String,
    /// The model, or `None` for an error that concerns every model, such as bad input.
    pub model: Option<Model>,
    /// The answer, or `None` if something is wrong with the input.
    pub verdict: Option<Verdict>,
}

/// What `holds` and `violated` are called in a question.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// What was asked about: `program`, `log`.
    pub noun: &'static str,
    /// Holds.
    pub holds: &'static str,
    /// Is violated.
    pub violated: &'static str,
}

impl ProgramResult {
    /// No answer, under one model or under all of them.
    #[must_use]
    pub fn error(file: &str, model: Option<Model>) -> ProgramResult {
        ProgramResult { file: file.to_owned(), name: file.to_owned(), model, verdict: None }
    }
}

/// A table of counts with a line per model, and a line for each program whose answer is not the
/// same under all models asked about. Results of one program stand together.
#[must_use]
pub fn program_summary(results: &[ProgramResult], words: Words) -> String {
    let mut models: Vec<Model> = Vec::new();
    for model in results.iter().filter_map(|r| r.model) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let programs = programs(results);
    let mut out = String::new();
    let s = if programs.len() == 1 { "" } else { "s" };
    let _ = writeln!(out, "{} {}{s}", programs.len(), words.noun);
    if models.is_empty() {
        if !results.is_empty() {
            let _ = writeln!(out, "{} with errors", programs.len());
        }
        return out;
    }
    let _ = writeln!(
        out,
        "{:7} {:>8} {:>12} {:>9} {:>8}",
        "model", words.holds, words.violated, "unknown", "errors"
    );
    for &model in &models {
        let count = |word: &str| {
            let here = |r: &&ProgramResult| r.model.is_none_or(|m| m == model);
            results.iter().filter(here).filter(|r| r.word(words) == word).count()
        };
        let _ = writeln!(
            out,
            "{:7} {:8} {:12} {:9} {:8}",
            model.to_string(),
            count(words.holds),
            count(words.violated),
            count("unknown"),
            count("error"),
        );
    }
    push_differences(&mut out, &programs, models.len(), words);
    out
}

/// The counts of [`program_summary`] as a table with commas, for all models that were asked about.
#[must_use]
pub fn program_summary_table(
    format: Format,
    results: &[ProgramResult],
    models: &[Model],
) -> String {
    let end = |verdict: &Option<Verdict>| verdict.as_ref().map_or("error", verdict_key);
    let answers: Vec<_> =
        results.iter().map(|r| (r.model.map(model_key), end(&r.verdict))).collect();
    tables::summary(format, models, &answers)
}

/// The results of each program, or trace of a log: another one begins with another file, or with a
/// model that there is a result for.
fn programs(results: &[ProgramResult]) -> Vec<&[ProgramResult]> {
    let mut programs = Vec::new();
    let mut rest = results;
    while let Some(first) = rest.first() {
        let goes_on = |at: usize| {
            let models = |r: &ProgramResult| r.model.is_none() || r.model == rest[at].model;
            rest[at].file == first.file && !rest[..at].iter().any(models)
        };
        let end = (1..rest.len()).find(|&at| !goes_on(at)).unwrap_or(rest.len());
        let (program, more) = rest.split_at(end);
        programs.push(program);
        rest = more;
    }
    programs
}

impl ProgramResult {
    fn word(&self, words: Words) -> &'static str {
        match self.verdict {
            Some(Verdict::Holds) => words.holds,
            Some(Verdict::Violated) => words.violated,
            Some(Verdict::Unknown(_)) => "unknown",
            None => "error",
        }
    }
}

fn push_differences(out: &mut String, programs: &[&[ProgramResult]], models: usize, words: Words) {
    if models < 2 {
        return;
    }
    let differ = |results: &&&[ProgramResult]| {
        results.iter().any(|r| r.word(words) != results[0].word(words))
    };
    let rows: Vec<&[ProgramResult]> = programs.iter().filter(differ).copied().collect();
    if rows.is_empty() {
        let is_unknown = |r: &ProgramResult| matches!(r.verdict, Some(Verdict::Unknown(_)));
        let is_open = programs.iter().any(|results| results.iter().any(is_unknown));
        let differs = if is_open { "is known to differ" } else { "differs" };
        let _ = writeln!(out, "no {} {differs} between the models", words.noun);
        return;
    }
    let are = if rows.len() == 1 { "differs" } else { "differ" };
    let _ = writeln!(out, "{} of {} {are} between the models:", rows.len(), programs.len());
    let cell = |result: &ProgramResult| {
        let model = result.model.map(|m| m.to_string()).unwrap_or_default();
        format!("{model:3} {}", result.word(words))
    };
    let row = |results: &[ProgramResult]| {
        (plain(&results[0].name).into_owned(), results.iter().map(cell).collect())
    };
    let rows: Vec<_> = rows.into_iter().map(row).collect();
    out.push_str(&named(&rows, USUAL));
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use weakspot_core::{Drain, Limit};

    const ROBUST: Words = Words { noun: "program", holds: "robust", violated: "not robust" };

    fn answer(name: &str, model: Model, verdict: Verdict) -> ProgramResult {
        let file = format!("{name}.weak");
        ProgramResult { file, name: name.to_owned(), model: Some(model), verdict: Some(verdict) }
    }

    #[test]
    fn two_models() {
        let own = Model::Pso(Drain::Own);
        expect![[r#"
            4 programs
            model     robust   not robust   unknown   errors
            TSO            2            1         0        1
            PSO-own        1            2         0        1
            1 of 4 differs between the models:
              message-passing  TSO robust  PSO-own not robust
        "#]]
        .assert_eq(&program_summary(
            &[
                answer("dekker", Model::Tso, Verdict::Violated),
                answer("dekker", own, Verdict::Violated),
                answer("message-passing", Model::Tso, Verdict::Holds),
                answer("message-passing", own, Verdict::Violated),
                ProgramResult::error("broken.weak", None),
                answer("lock", Model::Tso, Verdict::Holds),
                answer("lock", own, Verdict::Holds),
            ],
            ROBUST,
        ));
    }

    #[test]
    fn one_model_or_none() {
        expect![[r#"
            1 program
            model     robust   not robust   unknown   errors
            TSO            0            0         1        0
        "#]]
        .assert_eq(&program_summary(
            &[answer("large", Model::Tso, Verdict::Unknown(Limit::Interrupted))],
            ROBUST,
        ));
        let unknown = |model| answer("large", model, Verdict::Unknown(Limit::Interrupted));
        let both = [unknown(Model::Tso), unknown(Model::Pso(Drain::Own))];
        let said = program_summary(&both, ROBUST);
        assert!(said.ends_with("\nno program is known to differ between the models\n"), "{said}");
        expect![[r#"
            1 program
            1 with errors
        "#]]
        .assert_eq(&program_summary(&[ProgramResult::error("a", None)], ROBUST));
    }
}
