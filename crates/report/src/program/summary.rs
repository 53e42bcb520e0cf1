//! What many litmus tests came to: counts per model, and the tests on which the models differ.

use std::collections::HashSet;
use std::fmt::Write;

use weakspot_core::{Model, Verdict};

use crate::format::Format;
use crate::json::{Object, model_key};
use crate::program::litmus::{LitmusAnswer, observation, states};
use crate::tables::{self, Rows};
use crate::text::columns::{USUAL, named};
use crate::text::show::plain;

/// How one test ended under one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LitmusResult {
    /// The file; results of one file belong to one test.
    pub file: String,
    /// The model, or `None` for an error that concerns every model, such as bad input.
    pub model: Option<Model>,
    /// The end.
    pub end: LitmusEnd,
}

/// An answer in short, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LitmusEnd {
    /// The search gave an answer.
    Answer {
        /// The name of the test.
        name: String,
        /// `Some(true)` for `Ok`, `Some(false)` for `No`, `None` if it was not decided.
        ok: Option<bool>,
        /// `Always`, `Sometimes` or `Never`, where that is known.
        observation: Option<&'static str>,
        /// How many final states were found.
        states: usize,
        /// Whether there are no others.
        complete: bool,
        /// These, if they are for a table, and whether there are no others.
        listed: Option<(Vec<String>, bool)>,
    },
    /// There is no answer because something is wrong with the input.
    Error,
}

impl LitmusResult {
    /// An answer in short; with the final states, if they are for a table.
    #[must_use]
    pub fn of(a: &LitmusAnswer<'_>, with_states: bool) -> LitmusResult {
        let ok = match a.head.verdict {
            Verdict::Holds => Some(true),
            Verdict::Violated => Some(false),
            Verdict::Unknown(_) => None,
        };
        let end = LitmusEnd::Answer {
            name: a.names.program.clone(),
            ok,
            observation: observation(a),
            states: a.outcomes.len(),
            complete: a.head.limit().is_none(),
            listed: with_states.then(|| (states(a), a.head.limit().is_none())),
        };
        LitmusResult { file: a.head.file.to_owned(), model: Some(a.head.model), end }
    }

    /// Nothing is known, not even the name of the test.
    #[must_use]
    pub fn unknown(file: &str, model: Model) -> LitmusResult {
        let name = file.to_owned();
        let end = LitmusEnd::Answer {
            name,
            ok: None,
            observation: None,
            states: 0,
            complete: false,
            listed: None,
        };
        LitmusResult { file: file.to_owned(), model: Some(model), end }
    }

    /// An error, under one model or under all of them.
    #[must_use]
    pub fn error(file: &str, model: Option<Model>) -> LitmusResult {
        LitmusResult { file: file.to_owned(), model, end: LitmusEnd::Error }
    }
}

/// A table of counts with a line per model, and a line for each test whose observation or number
/// of states is not the same under all models asked about. Results of one file stand together.
#[must_use]
pub fn litmus_summary(results: &[LitmusResult]) -> String {
    let mut models: Vec<Model> = Vec::new();
    for model in results.iter().filter_map(|r| r.model) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let tests: Vec<&[LitmusResult]> = results.chunk_by(|a, b| a.file == b.file).collect();
    let mut out = String::new();
    let s = if tests.len() == 1 { "" } else { "s" };
    let _ = writeln!(out, "{} test{s}", tests.len());
    if models.is_empty() {
        if !results.is_empty() {
            let _ = writeln!(out, "{} with errors", tests.len());
        }
        return out;
    }
    let wide = models.iter().map(|model| model.to_string().len()).max().unwrap_or(0).max(5);
    let _ = writeln!(
        out,
        "{:wide$} {:>8} {:>8} {:>10} {:>8}",
        "model", "Ok", "No", "Undecided", "Errors"
    );
    for &model in &models {
        let count = |wanted: &dyn Fn(&LitmusEnd) -> bool| {
            let here = |r: &&LitmusResult| r.model.is_none_or(|m| m == model);
            results.iter().filter(here).filter(|r| wanted(&r.end)).count()
        };
        let ended =
            |wanted| count(&|end| matches!(end, LitmusEnd::Answer { ok, .. } if *ok == wanted));
        let _ = writeln!(
            out,
            "{:wide$} {:8} {:8} {:10} {:8}",
            model.to_string(),
            ended(Some(true)),
            ended(Some(false)),
            ended(None),
            count(&|end| *end == LitmusEnd::Error),
        );
    }
    push_differences(&mut out, &tests, &models);
    out
}

/// The final states of tests as a table: a row for each of them, a column for each model that says whether it has it
/// (`yes`, `no`, or `?` if that is not known).
#[must_use]
pub fn litmus_states_table(format: Format, results: &[LitmusResult], models: &[Model]) -> String {
    let columns: Vec<&str> =
        ["test", "state"].into_iter().chain(models.iter().map(|&model| model_key(model))).collect();
    let mut rows = Rows::with_columns(format, &columns);
    let mut out = String::new();
    for test in results.chunk_by(|a, b| a.file == b.file) {
        let listed = |result: &LitmusResult| match &result.end {
            LitmusEnd::Answer { name, listed: Some((states, complete)), .. } => {
                let states: HashSet<String> = states.iter().cloned().collect();
                Some((result.model?, (name.clone(), states, *complete)))
            }
            _ => None,
        };
        let by_model: Vec<(Model, _)> = test.iter().filter_map(listed).collect();
        let mut seen = HashSet::new();
        let all = test.iter().flat_map(|result| match &result.end {
            LitmusEnd::Answer { listed: Some((states, _)), .. } => &states[..],
            _ => &[],
        });
        for state in all.filter(|state| seen.insert(state.as_str())) {
            let mut row = Object::new();
            if let Some((_, (name, ..))) = by_model.first() {
                row.string("test", name);
            }
            row.string("state", state);
            for (model, (_, states, complete)) in &by_model {
                let has = match (states.contains(state), complete) {
                    (true, _) => "yes",
                    (false, true) => "no",
                    (false, false) => "?",
                };
                row.string(model_key(*model), has);
            }
            out += &rows.written(&row.end());
        }
    }
    out + rows.end()
}

/// The counts of [`litmus_summary`] as a table with commas.
#[must_use]
pub fn litmus_summary_table(format: Format, results: &[LitmusResult], models: &[Model]) -> String {
    let end = |result: &LitmusResult| match result.end {
        LitmusEnd::Answer { ok: Some(true), .. } => "holds",
        LitmusEnd::Answer { ok: Some(false), .. } => "violated",
        LitmusEnd::Answer { ok: None, .. } => "unknown",
        LitmusEnd::Error => "error",
    };
    let answers: Vec<_> = results.iter().map(|r| (r.model.map(model_key), end(r))).collect();
    tables::summary(format, models, &answers)
}

fn push_differences(out: &mut String, tests: &[&[LitmusResult]], models: &[Model]) {
    if models.len() < 2 {
        return;
    }
    let rows: Vec<(String, Vec<String>)> = tests.iter().filter_map(|t| difference(t)).collect();
    if rows.is_empty() {
        out.push_str("no test differs between the models\n");
        return;
    }
    let are = if rows.len() == 1 { "differs" } else { "differ" };
    let open = rows.iter().any(|(_, cells)| cells.iter().any(|cell| cell.ends_with('+')));
    let (or_may, states) = match open {
        true => (", or may,", "states, + or more"),
        false => ("", "number of states"),
    };
    let _ = writeln!(
        out,
        "{} of {} {are}{or_may} between the models (observation, {states}):",
        rows.len(),
        tests.len(),
    );
    out.push_str(&named(&rows, USUAL));
}

/// The name and one cell per model, if the answers of one test differ, or may once all states are found.
fn difference(test: &[LitmusResult]) -> Option<(String, Vec<String>)> {
    let mut answers = Vec::new();
    for result in test {
        if let (Some(model), LitmusEnd::Answer { name, observation, states, complete, .. }) =
            (result.model, &result.end)
        {
            answers.push((model, name, observation.unwrap_or("Undecided"), *states, *complete));
        }
    }
    let first = answers.first()?;
    let differs = answers.iter().any(|a| !a.4 || (a.2, a.3) != (first.2, first.3));
    let cell = |&(model, _, word, states, complete): &(Model, _, &str, usize, bool)| {
        let or_more = if complete { "" } else { "+" };
        format!("{:3} {word:9} {states}{or_more}", model.to_string())
    };
    differs.then(|| (plain(first.1).into_owned(), answers.iter().map(cell).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use weakspot_core::Drain;

    fn answer(
        name: &str,
        model: Model,
        ok: bool,
        word: &'static str,
        states: usize,
    ) -> LitmusResult {
        let end = LitmusEnd::Answer {
            name: name.to_owned(),
            ok: Some(ok),
            observation: Some(word),
            states,
            complete: true,
            listed: None,
        };
        LitmusResult { file: format!("{name}.litmus"), model: Some(model), end }
    }

    #[test]
    fn three_models() {
        let pso = Model::Pso(Drain::All);
        let mut unknown = answer("loop", pso, false, "Never", 7);
        if let LitmusEnd::Answer { ok, observation, complete, .. } = &mut unknown.end {
            *ok = None;
            *observation = None;
            *complete = false;
        }
        expect![[r#"
            5 tests
            model       Ok       No  Undecided   Errors
            SC           1        3          0        1
            TSO          2        2          0        1
            PSO          2        1          1        1
            3 of 5 differ, or may, between the models (observation, states, + or more):
              SB    SC  Never     3  TSO Sometimes 4  PSO Sometimes 4
              MP    SC  Never     3  TSO Never     3  PSO Sometimes 4
              loop  SC  Never     2  TSO Never     2  PSO Undecided 7+
        "#]]
        .assert_eq(&litmus_summary(&[
            answer("SB", Model::Sc, false, "Never", 3),
            answer("SB", Model::Tso, true, "Sometimes", 4),
            answer("SB", pso, true, "Sometimes", 4),
            answer("MP", Model::Sc, false, "Never", 3),
            answer("MP", Model::Tso, false, "Never", 3),
            answer("MP", pso, true, "Sometimes", 4),
            LitmusResult::error("broken.litmus", None),
            answer("CoRR", Model::Sc, true, "Never", 3),
            answer("CoRR", Model::Tso, true, "Never", 3),
            answer("CoRR", pso, false, "Never", 3),
            answer("loop", Model::Sc, false, "Never", 2),
            answer("loop", Model::Tso, false, "Never", 2),
            unknown,
        ]));
    }

    #[test]
    fn final_states() {
        let listed = |model, states: &[&str], complete| {
            let states: Vec<String> = states.iter().map(|&state| state.to_owned()).collect();
            let mut result = answer("SB_1", model, true, "Sometimes", states.len());
            if let LitmusEnd::Answer { listed, .. } = &mut result.end {
                *listed = Some((states, complete));
            }
            result
        };
        let models = [Model::Sc, Model::Tso, Model::Pso(Drain::All)];
        let results = [
            listed(models[0], &["x=1;"], true),
            listed(models[1], &["x=0;", "x=1;"], true),
            listed(models[2], &["x=0;"], false),
            LitmusResult::error("broken.litmus", None),
        ];
        expect![[r"
            test,state,sc,tso,pso
            SB_1,x=1;,yes,yes,?
            SB_1,x=0;,no,yes,yes
        "]]
        .assert_eq(&litmus_states_table(Format::Csv, &results, &models));
        expect![[r"
            \begin{tabular}{lllll}
            \hline
            test & state & sc & tso & pso \\
            \hline
            SB\_1 & x=1; & yes & yes & ? \\
            SB\_1 & x=0; & no & yes & yes \\
            \hline
            \end{tabular}
        "]]
        .assert_eq(&litmus_states_table(Format::Tabular, &results, &models));
    }

    #[test]
    fn one_model_or_none() {
        expect![[r#"
            1 test
            model       Ok       No  Undecided   Errors
            SC           1        0          0        0
        "#]]
        .assert_eq(&litmus_summary(&[answer("SB", Model::Sc, true, "Never", 3)]));
        expect![[r#"
            1 test
            1 with errors
        "#]]
        .assert_eq(&litmus_summary(&[LitmusResult::error("a", None)]));
        expect![[r#"
            0 tests
        "#]]
        .assert_eq(&litmus_summary(&[]));
    }
}
