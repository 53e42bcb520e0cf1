//! Litmus tests that were run on this CPU: how often each final state was seen, beside the models
//! that have it; as text, as JSON and in the lines of litmus7.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use weakspot_core::{Model, Names, Program, Quantifier, Value, Verdict};

use crate::answer::{Answer, Head, ModelName};
use crate::json::of_program;
use crate::program::litmus::{in_parentheses, observed_name};
use crate::text::limit::limit_text;
use crate::text::show::{grouped, observed_value, plain, push_observed};
use crate::text::table::{Paint, Style, paragraph};

/// What this CPU did with a test.
#[derive(Clone, Copy, Debug)]
pub struct OnCpuAnswer<'a> {
    /// What it has in common with all answers. The model is the one that the CPU is judged by.
    pub head: Head<'a>,
    /// The test.
    pub program: &'a Program,
    /// What its parts are called.
    pub names: &'a Names,
    /// The states that were seen, with how often.
    pub seen: &'a BTreeMap<Vec<Value>, u64>,
    /// How often the test was run.
    pub runs: u64,
    /// The states of models, and whether these are all.
    pub models: &'a [ModelStates],
}

/// The final states that a model has.
#[derive(Clone, Debug)]
pub struct ModelStates {
    /// The model.
    pub model: Model,
    /// Its states.
    pub states: BTreeSet<Vec<Value>>,
    /// Whether these are all.
    pub complete: bool,
}

impl ModelStates {
    /// Whether the model has a state; `None` if that is not known.
    fn has(&self, state: &[Value]) -> Option<bool> {
        let found = self.states.contains(state);
        (found || self.complete).then_some(found)
    }
}

impl OnCpuAnswer<'_> {
    /// The states of the CPU and of the models, with how often they were seen.
    fn rows(&self) -> BTreeMap<&[Value], u64> {
        let of_models = self.models.iter().flat_map(|m| &m.states);
        let mut rows: BTreeMap<&[Value], u64> = of_models.map(|s| (s.as_slice(), 0)).collect();
        rows.extend(self.seen.iter().map(|(state, count)| (state.as_slice(), *count)));
        rows
    }

    fn judged(&self) -> Option<&ModelStates> {
        self.models.iter().find(|m| m.model == self.head.model)
    }

    /// The states that the model does not have, with how often they were seen.
    fn foreign(&self) -> impl Iterator<Item = (&Vec<Value>, u64)> {
        let has = |state: &[Value]| self.judged().is_none_or(|m| m.has(state) != Some(false));
        self.seen.iter().filter(move |(state, _)| !has(state)).map(|(state, &n)| (state, n))
    }

    /// Whether the proposition is true in a state.
    fn is_asked(&self, state: &[Value]) -> bool {
        self.program.condition.as_ref().is_some_and(|c| c.prop.holds(state))
    }

    fn quantifier(&self) -> Quantifier {
        self.program.condition.as_ref().map_or(Quantifier::Forall, |c| c.quantifier)
    }

    /// The quantifier as it is written.
    fn word(&self) -> &'static str {
        match self.quantifier() {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        }
    }

    /// The condition as it is written.
    fn condition(&self) -> String {
        format!("{} {}", self.word(), in_parentheses(&plain(&self.names.condition)))
    }

    /// In how many runs the proposition was true, and in how many it was not.
    fn observed(&self) -> (u64, u64) {
        let mut counts = (0, 0);
        for (state, n) in self.seen {
            *(if self.is_asked(state) { &mut counts.0 } else { &mut counts.1 }) += n;
        }
        counts
    }

    /// How often the proposition was true, in a word.
    fn how_often(&self) -> &'static str {
        match self.observed() {
            (0, _) => "Never",
            (_, 0) => "Always",
            _ => "Sometimes",
        }
    }

    fn observation(&self) -> String {
        let (yes, no) = self.observed();
        format!("Observation {} {} {yes} {no}\n", plain(&self.names.program), self.how_often())
    }

    fn state(&self, state: &[Value]) -> String {
        let mut out = String::new();
        for (i, &value) in state.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            let _ = write!(out, "{space}{}=", plain(&observed_name(self.names, i)));
            push_observed(&mut out, self.program, self.names, (i, value));
            out.push(';');
        }
        out
    }

    /// What the CPU is found to be.
    fn conclusion(&self) -> String {
        let model = self.head.model;
        match self.head.verdict {
            Verdict::Holds => format!("{model} has every state that was seen."),
            Verdict::Violated => {
                let (states, runs) =
                    self.foreign().fold((0_u128, 0), |(s, r), (_, n)| (s + 1, r + n));
                let states = match states {
                    1 => "1 state was".to_owned(),
                    n => format!("{} states were", grouped(n)),
                };
                let times = if runs == 1 { "run" } else { "runs" };
                let runs = grouped(u128::from(runs));
                format!("Violated: {states} seen, in {runs} {times}, that {model} does not have.")
            }
            Verdict::Unknown(limit) => {
                let why = limit_text(limit, self.names);
                match self.judged() {
                    Some(ModelStates { complete: false, .. }) => {
                        format!("Unknown whether {model} has all states that were seen: {why}.")
                    }
                    _ => format!(
                        "{model} has every state that was seen, but not all runs were done: {}.",
                        why.replace("the search", "running")
                    ),
                }
            }
        }
    }
}

impl Answer for OnCpuAnswer<'_> {
    fn text(&self, style: Style) -> String {
        let name = plain(&self.names.program);
        let runs = grouped(u128::from(self.runs));
        let time = self.head.time.as_secs_f64();
        let mut out = format!("{name} on this CPU: {runs} runs in {time:.2} s\n");
        let rows = self.rows();
        let counts: Vec<String> = rows.values().map(|&n| grouped(u128::from(n))).collect();
        let wide = counts.iter().map(String::len).max().unwrap_or(0).max("runs".len());
        let _ = write!(out, "{:>wide$}", "runs");
        for m in self.models {
            let _ = write!(out, "  {:width$}", m.model.to_string(), width = column(m));
        }
        out.push_str("  final state\n");
        for (state, count) in rows.keys().zip(&counts) {
            let mut line = format!("{count:>wide$}");
            for m in self.models {
                let word = match m.has(state) {
                    Some(true) => "yes",
                    Some(false) => "no",
                    None => "?",
                };
                let _ = write!(line, "  {word:width$}", width = column(m));
            }
            let indent = line.len() + 3;
            let star = if self.is_asked(state) { '*' } else { ' ' };
            let _ = write!(line, " {star}{}", self.state(state));
            out += &folded(&line, style.columns(), indent);
        }
        out += &folded(&format!("* {}", self.condition()), style.columns(), 2);
        out += &self.observation();
        let conclusion = paragraph(&self.conclusion(), style.columns(), 2);
        out += &Paint(style.color).verdict(conclusion.trim_end(), self.head.verdict);
        out + "\n\n"
    }

    fn json(&self) -> String {
        let (yes, no) = self.observed();
        let labels: Vec<String> =
            (0..self.program.observed.len()).map(|i| observed_name(self.names, i)).collect();
        let row = |(state, runs): (&[Value], u64)| Row {
            state: State { answer: self, labels: &labels, state: state.to_vec() },
            runs,
            models: Models(self.models.iter().map(|m| (m.model, m.has(state))).collect()),
        };
        let body = Body {
            on: "cpu",
            runs: self.runs,
            condition: self.word(),
            observation: self.how_often(),
            positive: yes,
            negative: no,
            foreign: self.foreign().count(),
            histogram: self.rows().into_iter().map(row).collect(),
        };
        of_program(&self.head, self.names, body)
    }

    fn litmus7(&self) -> String {
        let name = plain(&self.names.program);
        let kind = match self.quantifier() {
            Quantifier::Exists => "Allowed",
            Quantifier::NotExists => "Forbidden",
            Quantifier::Forall => "Required",
        };
        let s = if self.seen.len() == 1 { "" } else { "s" };
        let mut out = format!("Test {name} {kind}\nHistogram ({} state{s})\n", self.seen.len());
        for (state, count) in self.seen {
            let star = if self.is_asked(state) { '*' } else { ':' };
            let _ = writeln!(out, "{count:<6}{star}>{}", self.state(state));
        }
        let (yes, no) = self.observed();
        let (ok, positive, negative) = match self.quantifier() {
            Quantifier::Exists => (yes > 0, yes, no),
            Quantifier::NotExists => (yes == 0, no, yes),
            Quantifier::Forall => (no == 0, yes, no),
        };
        let _ = writeln!(out, "{}\n", if ok { "Ok" } else { "No" });
        let _ = writeln!(out, "Witnesses\nPositive: {positive}, Negative: {negative}");
        let not = if ok { "" } else { "NOT " };
        let _ = writeln!(out, "Condition {} is {not}validated", self.condition());
        out += &self.observation();
        let _ = writeln!(out, "Time {name} {:.2}\n", self.head.time.as_secs_f64());
        out
    }

    fn too_large(&self) -> Option<String> {
        self.head.too_large()
    }
}

/// How wide the column of a model is.
fn column(m: &ModelStates) -> usize {
    m.model.to_string().len().max("yes".len())
}

/// A line, folded at blanks: what does not fit goes below, indented.
fn folded(line: &str, columns: usize, indent: usize) -> String {
    if line.len() <= columns { format!("{line}\n") } else { paragraph(line, columns, indent) }
}

#[derive(Serialize)]
struct Body<'a> {
    on: &'static str,
    runs: u64,
    condition: &'a str,
    observation: &'a str,
    positive: u64,
    negative: u64,
    foreign: usize,
    histogram: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    state: State<'a>,
    runs: u64,
    models: Models,
}

/// Whether each model has a state; `null` if that is not known.
struct Models(Vec<(Model, Option<bool>)>);

impl Serialize for Models {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut object = s.serialize_map(Some(self.0.len()))?;
        for (model, has) in &self.0 {
            object.serialize_entry(model.key(), has)?;
        }
        object.end()
    }
}

struct State<'a> {
    answer: &'a OnCpuAnswer<'a>,
    labels: &'a [String],
    state: Vec<Value>,
}

impl Serialize for State<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let OnCpuAnswer { program, names, .. } = self.answer;
        let mut object = s.serialize_map(Some(self.labels.len()))?;
        for (i, (label, &value)) in self.labels.iter().zip(&self.state).enumerate() {
            object.serialize_entry(label, &observed_value(program, names, (i, value)))?;
        }
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sample::sb;
    use expect_test::expect;
    use std::time::Duration;
    use weakspot_core::{Certification, Limit};

    fn states(rows: &[[Value; 2]]) -> BTreeSet<Vec<Value>> {
        rows.iter().map(|row| row.to_vec()).collect()
    }

    fn models() -> Vec<ModelStates> {
        let sc = states(&[[0, 1], [1, 0], [1, 1]]);
        let tso = states(&[[0, 0], [0, 1], [1, 0], [1, 1]]);
        vec![
            ModelStates { model: Model::Sc, states: sc, complete: true },
            ModelStates { model: Model::Tso, states: tso, complete: true },
        ]
    }

    /// What is said about a fixed histogram of store buffering.
    fn answered(model: Model, verdict: &Verdict, then: impl Fn(&OnCpuAnswer<'_>)) {
        let sample = sb();
        let seen = BTreeMap::from([(vec![0, 0], 12), (vec![0, 1], 4_999), (vec![1, 0], 4_989)]);
        let (time, certified) = (Duration::from_millis(1234), Certification::Checked);
        let head = Head {
            file: "SB.litmus",
            question: "litmus",
            model,
            verdict,
            limit: None,
            time,
            certified,
        };
        let (program, names, models) = (&sample.program, &sample.names, models());
        then(&OnCpuAnswer { head, program, names, seen: &seen, runs: 10_000, models: &models });
    }

    const STYLE: Style = Style { details: true, color: false, width: 80, proving: false };

    #[test]
    fn a_cpu_that_is_tso() {
        answered(Model::Tso, &Verdict::Holds, |answer| {
            expect![[r#"
                SB on this CPU: 10,000 runs in 1.23 s
                 runs  SC   TSO  final state
                   12  no   yes *0:EAX=0; 1:EAX=0;
                4,999  yes  yes  0:EAX=0; 1:EAX=1;
                4,989  yes  yes  0:EAX=1; 1:EAX=0;
                    0  yes  yes  0:EAX=1; 1:EAX=1;
                * exists (0:EAX=0 /\ 1:EAX=0)
                Observation SB Sometimes 12 9988
                TSO has every state that was seen.

            "#]]
            .assert_eq(&answer.text(STYLE));
            expect![[r#"
                Test SB Allowed
                Histogram (3 states)
                12    *>0:EAX=0; 1:EAX=0;
                4999  :>0:EAX=0; 1:EAX=1;
                4989  :>0:EAX=1; 1:EAX=0;
                Ok

                Witnesses
                Positive: 12, Negative: 9988
                Condition exists (0:EAX=0 /\ 1:EAX=0) is validated
                Observation SB Sometimes 12 9988
                Time SB 1.23

            "#]]
            .assert_eq(&answer.litmus7());
            expect![[r#"
                {"file":"SB.litmus","question":"litmus","model":"tso","verdict":"holds","certified":true,"time_s":1.234,"name":"SB","on":"cpu","runs":10000,"condition":"exists","observation":"Sometimes","positive":12,"negative":9988,"foreign":0,"histogram":[{"state":{"0:EAX":0,"1:EAX":0},"runs":12,"models":{"sc":false,"tso":true}},{"state":{"0:EAX":0,"1:EAX":1},"runs":4999,"models":{"sc":true,"tso":true}},{"state":{"0:EAX":1,"1:EAX":0},"runs":4989,"models":{"sc":true,"tso":true}},{"state":{"0:EAX":1,"1:EAX":1},"runs":0,"models":{"sc":true,"tso":true}}],"schema":1}
            "#]].assert_eq(&answer.json());
        });
    }

    #[test]
    fn a_state_that_the_model_lacks() {
        answered(Model::Sc, &Verdict::Violated, |answer| {
            expect!["Violated: 1 state was seen, in 12 runs, that SC does not have."]
                .assert_eq(&answer.conclusion());
        });
        let limit = Verdict::Unknown(Limit::Interrupted);
        answered(Model::Tso, &limit, |answer| {
            expect!["TSO has every state that was seen, but not all runs were done: running was interrupted."].assert_eq(&answer.conclusion());
        });
    }
}
