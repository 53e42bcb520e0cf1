//! Answers to litmus tests, as the lines that users of herd7 know and as JSON.
//!
//! What herd7 counts is candidate executions; we count final states, so that `Positive: 1
//! Negative: 3` speaks of the four states listed above it. Otherwise the numbers mean what they
//! mean in its logs: `Observation` counts the proposition as it stands, for every quantifier,
//! while `Positive` and `Negative` are turned round for `~exists`, where a state that satisfies
//! the proposition is a counterexample.

use std::fmt::Write;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use weakspot_core::machine::Schedule;
use weakspot_core::why_not::{NoReason, WhyNot};
use weakspot_core::{Limit, Names, OutcomeSet, Program, Quantifier, Value, Verdict};

use crate::answer::{Answer, Head};
use crate::json::of_program;
use crate::program::why_not::{WhyNotJson, why_not_json, why_not_text};
use crate::run::drawing::draw_run;
use crate::run::object::Run;
use crate::run::of_schedule::of_schedule;
use crate::text::limit::limit_text;
use crate::text::show::{Show, counted, observed_value, plain, push_observed};
use crate::text::table::{Paint, Style, paragraph};

/// The answer to one litmus test under one model.
#[derive(Clone, Copy, Debug)]
pub struct LitmusAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a>,
    /// The test.
    pub program: &'a Program,
    /// What its parts are called.
    pub names: &'a Names,
    /// Its text.
    pub source: &'a str,
    /// The final states found.
    pub outcomes: &'a OutcomeSet,
    /// How many of them satisfy the proposition, whatever the quantifier.
    pub positive: u64,
    /// How many of them do not.
    pub negative: u64,
    /// How many states of the machine the search visited.
    pub searched: u64,
    /// Whether JSON lists the final states.
    pub with_outcomes: bool,
    /// The run that was asked for.
    pub shown: Option<LitmusShown<'a>>,
    /// Final states with a run or a reason for each, where there is room for all of them.
    pub cells: &'a [LitmusCell],
    /// What the model is of, where the language has one of its own.
    pub of_machine: Option<&'a str>,
}

/// A final state that is reached, or not.
#[derive(Clone, Debug)]
pub struct LitmusCell {
    /// The observed values.
    pub state: Vec<Value>,
    /// A run that ends so, or why there is none.
    pub how: Result<Schedule, Result<WhyNot, NoReason>>,
}

/// A run that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct LitmusShown<'a> {
    /// The final state in which it was to end; empty for the one that decides.
    pub wanted: &'a str,
    /// The run, if there is one.
    pub run: Option<&'a Schedule>,
    /// Why there is none, if that was asked.
    pub why_not: Option<Result<&'a WhyNot, NoReason>>,
}

impl Answer for LitmusAnswer<'_> {
    fn text(&self, style: Style) -> String {
        let paint = Paint(style.color);
        if !style.details && self.shown.is_none() {
            return litmus_line(self, paint);
        }
        let mut out = litmus_text(self, paint);
        if let Some(LitmusShown { wanted, run, why_not }) = self.shown {
            let LitmusAnswer { head, program, names, source, .. } = *self;
            let model = head.model;
            let say = |text: &str| paragraph(text, style.columns(), 0);
            let wanted = wanted.trim().trim_end_matches(';');
            match run {
                Some(run) => out += &draw_run(program, names, source, model, run, style),
                None if wanted.is_empty() => out += "No run ends.\n",
                None if head.limit().is_some() => {
                    out +=
                        &say(&format!("No run that was found under {model} ends with {wanted}."));
                }
                None => out += &say(&format!("No run under {model} ends with {wanted}.")),
            }
            if let Some(reason) = why_not {
                out +=
                    &why_not_text(Show { file: "", program, names, source }, model, reason, style);
            }
            out.push('\n');
        }
        out
    }

    fn json(&self) -> String {
        litmus_json(self)
    }

    fn too_large(&self) -> Option<String> {
        self.head.too_large()
    }
}

/// The lines for people and for tools that compare logs: first the model, then the block of
/// lines that herd7 prints, then an empty line.
fn litmus_text(a: &LitmusAnswer<'_>, paint: Paint) -> String {
    let name = plain(&a.names.program);
    let (quantifier, kind) = match quantifier(a) {
        Quantifier::Exists => ("exists", "Allowed"),
        Quantifier::NotExists => ("~exists", "Forbidden"),
        Quantifier::Forall => ("forall", "Required"),
    };
    let mut out = String::new();
    let _ = writeln!(out, "Model {}", a.head.model);
    if let Some(of) = a.of_machine {
        let _ = writeln!(out, "({of})");
    }
    let _ = writeln!(out, "Test {name} {kind}");
    let _ = writeln!(out, "States {}", a.outcomes.len());
    if let Some(limit) = a.head.limit() {
        let _ = writeln!(out, "(there may be more: {})", limit_text(limit, a.names));
    }
    push_states(&mut out, a);
    let word = match a.head.verdict {
        Verdict::Holds => "Ok",
        Verdict::Violated => "No",
        Verdict::Unknown(_) => "Undecided",
    };
    let _ = writeln!(out, "{}", paint.verdict(word, a.head.verdict));
    if let Verdict::Unknown(limit) = a.head.verdict {
        let _ = writeln!(out, "{}", undecided(a, limit));
    }
    let (positive, negative) = match quantifier {
        "~exists" => (a.negative, a.positive),
        _ => (a.positive, a.negative),
    };
    let _ = writeln!(out, "Witnesses\nPositive: {positive} Negative: {negative}");
    let _ = writeln!(out, "Condition {quantifier} {}", in_parentheses(&plain(&a.names.condition)));
    let (p, n) = (a.positive, a.negative);
    let _ = writeln!(out, "Observation {name} {} {p} {n}", observation(a).unwrap_or("Undecided"));
    let _ = writeln!(out, "Time {name} {:.2}\n", a.head.time.as_secs_f64());
    out
}

/// The answer in one line, for those who want no more.
fn litmus_line(a: &LitmusAnswer<'_>, paint: Paint) -> String {
    let (name, model) = (plain(&a.names.program), a.head.model);
    let (positive, states) = (a.positive, a.positive + a.negative);
    let word = observation(a).map_or(String::new(), |word| format!("{word}, in "));
    let so_far = if is_complete(a) { "" } else { " found so far" };
    let found = match states {
        0 if !is_complete(a) => "no final state found so far".to_owned(),
        _ => format!("{word}{positive} of {}{so_far}", counted(states, "final state")),
    };
    let head = format!("{name} {model} ");
    let said = match a.head.verdict {
        Verdict::Holds => format!("{head}holds: {found}\n"),
        Verdict::Violated => format!("{head}violated: {found}\n"),
        Verdict::Unknown(limit) => {
            format!("{head}unknown: {found}; {}\n", limit_text(limit, a.names))
        }
    };
    paint.headline(&said, head.len(), a.head.verdict)
}

/// The answer as one line of JSON. `witness_exists` and `observation` are
/// `null` where the search stopped too early to know them; `states` counts the states found, and
/// `complete` says whether they are all.
fn litmus_json(a: &LitmusAnswer<'_>) -> String {
    let show = Show { file: a.head.file, program: a.program, names: a.names, source: a.source };
    let shown = a.shown.and_then(|shown| shown.run);
    let condition = match quantifier(a) {
        Quantifier::Exists => "exists",
        Quantifier::NotExists => "~exists",
        Quantifier::Forall => "forall",
    };
    let body = Body {
        condition,
        proposition: in_parentheses(&plain(&a.names.condition)),
        line: condition_line(a.source),
        witness_exists: (a.positive > 0 || is_complete(a)).then_some(a.positive > 0),
        states: a.outcomes.len(),
        observation: observation(a),
        complete: is_complete(a),
        explored: a.searched,
        model_of: a.of_machine.map(|_| "machine"),
        outcomes: a.with_outcomes.then_some(States(a)),
        run: shown.and_then(|run| of_schedule(show, a.head.model, run, true)),
        why_not: (a.shown.and_then(|shown| shown.why_not))
            .map(|reason| why_not_json(show, a.head.model, reason)),
        shown: a.cells.iter().map(|cell| CellJson::of(a, show, cell)).collect(),
    };
    of_program(&a.head, a.names, body)
}

/// The line of the condition, which ends a test.
fn condition_line(source: &str) -> Option<usize> {
    let begins = |(_, line): &(usize, &str)| {
        let line = line.trim_start().trim_start_matches(['~', '(']).trim_start();
        ["exists", "forall", "not exists"].iter().any(|word| line.starts_with(word))
    };
    source.lines().enumerate().filter(begins).last().map(|(at, _)| at + 1)
}

#[derive(Serialize)]
struct Body<'a> {
    condition: &'a str,
    proposition: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    witness_exists: Option<bool>,
    states: usize,
    observation: Option<&'a str>,
    complete: bool,
    explored: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcomes: Option<States<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<WhyNotJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shown: Vec<CellJson<'a>>,
}

#[derive(Serialize)]
struct CellJson<'a> {
    state: State<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<WhyNotJson>,
}

impl<'a> CellJson<'a> {
    fn of(a: &'a LitmusAnswer<'a>, show: Show<'_>, cell: &'a LitmusCell) -> CellJson<'a> {
        let model = a.head.model;
        let (run, why_not) = match &cell.how {
            Ok(run) => (of_schedule(show, model, run, true), None),
            Err(why) => (None, Some(why_not_json(show, model, why.as_ref().map_err(|&why| why)))),
        };
        CellJson { state: State { a, labels: labels(a), state: &cell.state }, run, why_not }
    }
}

/// What the components of a state are called.
fn labels(a: &LitmusAnswer<'_>) -> Vec<String> {
    (0..a.program.observed.len()).map(|i| observed_name(a.names, i)).collect()
}

/// The states as a list of objects such as `{"0:EAX":0,"x":1}`.
struct States<'a>(&'a LitmusAnswer<'a>);

impl Serialize for States<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let States(a) = *self;
        let labels = labels(a);
        let mut list = s.serialize_seq(Some(a.outcomes.len()))?;
        let mut written = Ok(());
        a.outcomes.for_each(|state| {
            written = list.serialize_element(&State { a, labels: labels.clone(), state });
            written.is_ok()
        });
        written?;
        list.end()
    }
}

struct State<'a> {
    a: &'a LitmusAnswer<'a>,
    labels: Vec<String>,
    state: &'a [Value],
}

impl Serialize for State<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut object = s.serialize_map(Some(self.labels.len()))?;
        for (i, (label, &value)) in self.labels.iter().zip(self.state).enumerate() {
            let value = observed_value(self.a.program, self.a.names, (i, value));
            object.serialize_entry(label, &value)?;
        }
        object.end()
    }
}

/// `Always`, `Sometimes` or `Never`, by the states that satisfy the proposition; `None` if states
/// that were not found could change the word. As with herd7, a test without any final state
/// observes its condition `Never`.
#[must_use]
pub fn observation(a: &LitmusAnswer<'_>) -> Option<&'static str> {
    match (a.positive, a.negative) {
        (1.., 1..) => Some("Sometimes"),
        _ if !is_complete(a) => None,
        (0, _) => Some("Never"),
        (_, 0) => Some("Always"),
    }
}

/// A test without a condition asks `forall (true)`.
fn quantifier(a: &LitmusAnswer<'_>) -> Quantifier {
    a.program.condition.as_ref().map_or(Quantifier::Forall, |c| c.quantifier)
}

fn is_complete(a: &LitmusAnswer<'_>) -> bool {
    a.head.limit().is_none()
}

fn undecided(a: &LitmusAnswer<'_>, limit: &Limit) -> String {
    let found = match quantifier(a) {
        Quantifier::Exists | Quantifier::NotExists => "no state found satisfies the condition",
        Quantifier::Forall => "every state found satisfies the condition",
    };
    format!("({found}, but {})", limit_text(limit, a.names))
}

/// The states, each as `0:EAX=0; x=1;`.
pub(crate) fn states(a: &LitmusAnswer<'_>) -> Vec<String> {
    let mut out = String::new();
    push_states(&mut out, a);
    out.lines().map(str::to_owned).collect()
}

/// Every state on a line of its own, as `0:EAX=0; x=1;`.
fn push_states(out: &mut String, a: &LitmusAnswer<'_>) {
    let labels: Vec<String> = (0..a.program.observed.len())
        .map(|i| format!("{}{}=", if i == 0 { "" } else { " " }, plain(&observed_name(a.names, i))))
        .collect();
    let length = labels.iter().map(|l| l.len() + 4).sum::<usize>() + 1;
    out.reserve(a.outcomes.len().saturating_mul(length));
    a.outcomes.for_each(|state| {
        for (i, (label, &value)) in labels.iter().zip(state).enumerate() {
            out.push_str(label);
            push_observed(out, a.program, a.names, (i, value));
            out.push(';');
        }
        out.push('\n');
        true
    });
}

pub(crate) fn observed_name(names: &Names, i: usize) -> String {
    names.observed.get(i).cloned().unwrap_or_else(|| format!("#{i}"))
}

/// `(text)`, unless `text` stands in one pair of parentheses already.
pub(crate) fn in_parentheses(text: &str) -> String {
    let text = match text.trim() {
        "" => "true",
        text => text,
    };
    let mut depth = 0_usize;
    let closes_at = text.bytes().position(|b| {
        match b {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    match closes_at {
        Some(at) if at > 0 && at + 1 == text.len() => text.to_owned(),
        _ => format!("({text})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sample::sb;
    use expect_test::{Expect, expect};
    use std::time::Duration;
    use weakspot_core::{Certification, Drain, Factor, Model, ThreadId};

    fn outcomes(width: usize, rows: &[Vec<Value>]) -> OutcomeSet {
        let columns: Vec<usize> = (0..width).collect();
        OutcomeSet::union(width, &[vec![Factor { columns: &columns, rows }]], &mut |_, _| true)
    }

    fn states(rows: &[[Value; 2]]) -> OutcomeSet {
        outcomes(2, &rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>())
    }

    fn head<'a>(file: &'a str, model: Model, verdict: &'a Verdict) -> Head<'a> {
        let (limit, time) = (None, Duration::from_micros(1234));
        let certified = Certification::Checked;
        Head { file, question: "litmus", model, verdict, limit, time, certified }
    }

    fn check(a: &LitmusAnswer<'_>, text: Expect, json: Expect) {
        text.assert_eq(&litmus_text(a, Paint(false)));
        let line = litmus_json(a);
        let line = line.trim_end();
        json.assert_eq(line);
        let parsed: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(parsed["outcomes"].as_array().unwrap().len(), a.outcomes.len());
        assert!(!line.contains('\n'));
    }

    #[test]
    fn all_quantifiers() {
        let sample = sb();
        let outcomes = states(&[[0, 0], [0, 1], [1, 0], [1, 1]]);
        let answer = LitmusAnswer {
            head: head("SB.litmus", Model::Tso, &Verdict::Holds),
            program: &sample.program,
            names: &sample.names,
            source: "",
            outcomes: &outcomes,
            positive: 1,
            negative: 3,
            searched: 31,
            with_outcomes: true,
            shown: None,
            cells: &[],
            of_machine: None,
        };
        check(
            &answer,
            expect![[r#"
            Model TSO
            Test SB Allowed
            States 4
            0:EAX=0; 1:EAX=0;
            0:EAX=0; 1:EAX=1;
            0:EAX=1; 1:EAX=0;
            0:EAX=1; 1:EAX=1;
            Ok
            Witnesses
            Positive: 1 Negative: 3
            Condition exists (0:EAX=0 /\ 1:EAX=0)
            Observation SB Sometimes 1 3
            Time SB 0.00

        "#]],
            expect![[
                r#"{"file":"SB.litmus","question":"litmus","model":"tso","verdict":"holds","certified":true,"time_s":0.001234,"name":"SB","condition":"exists","proposition":"(0:EAX=0 /\\ 1:EAX=0)","witness_exists":true,"states":4,"observation":"Sometimes","complete":true,"explored":31,"outcomes":[{"0:EAX":0,"1:EAX":0},{"0:EAX":0,"1:EAX":1},{"0:EAX":1,"1:EAX":0},{"0:EAX":1,"1:EAX":1}],"schema":1}"#
            ]],
        );
        let without = litmus_json(&LitmusAnswer { with_outcomes: false, ..answer });
        assert!(without.ends_with("\"complete\":true,\"explored\":31,\"schema\":1}\n"));
        let asks = |quantifier| {
            let mut program = sample.program.clone();
            program.condition.as_mut().unwrap().quantifier = quantifier;
            program
        };
        let head = Head { verdict: &Verdict::Violated, ..answer.head };
        let answer = LitmusAnswer { head, ..answer };
        let not_exists = asks(Quantifier::NotExists);
        check(
            &LitmusAnswer { program: &not_exists, ..answer },
            expect![[r#"
            Model TSO
            Test SB Forbidden
            States 4
            0:EAX=0; 1:EAX=0;
            0:EAX=0; 1:EAX=1;
            0:EAX=1; 1:EAX=0;
            0:EAX=1; 1:EAX=1;
            No
            Witnesses
            Positive: 3 Negative: 1
            Condition ~exists (0:EAX=0 /\ 1:EAX=0)
            Observation SB Sometimes 1 3
            Time SB 0.00

        "#]],
            expect![[
                r#"{"file":"SB.litmus","question":"litmus","model":"tso","verdict":"violated","certified":true,"time_s":0.001234,"name":"SB","condition":"~exists","proposition":"(0:EAX=0 /\\ 1:EAX=0)","witness_exists":true,"states":4,"observation":"Sometimes","complete":true,"explored":31,"outcomes":[{"0:EAX":0,"1:EAX":0},{"0:EAX":0,"1:EAX":1},{"0:EAX":1,"1:EAX":0},{"0:EAX":1,"1:EAX":1}],"schema":1}"#
            ]],
        );
        let forall = asks(Quantifier::Forall);
        check(
            &LitmusAnswer { program: &forall, ..answer },
            expect![[r#"
            Model TSO
            Test SB Required
            States 4
            0:EAX=0; 1:EAX=0;
            0:EAX=0; 1:EAX=1;
            0:EAX=1; 1:EAX=0;
            0:EAX=1; 1:EAX=1;
            No
            Witnesses
            Positive: 1 Negative: 3
            Condition forall (0:EAX=0 /\ 1:EAX=0)
            Observation SB Sometimes 1 3
            Time SB 0.00

        "#]],
            expect![[
                r#"{"file":"SB.litmus","question":"litmus","model":"tso","verdict":"violated","certified":true,"time_s":0.001234,"name":"SB","condition":"forall","proposition":"(0:EAX=0 /\\ 1:EAX=0)","witness_exists":true,"states":4,"observation":"Sometimes","complete":true,"explored":31,"outcomes":[{"0:EAX":0,"1:EAX":0},{"0:EAX":0,"1:EAX":1},{"0:EAX":1,"1:EAX":0},{"0:EAX":1,"1:EAX":1}],"schema":1}"#
            ]],
        );
    }

    #[test]
    fn stopped_searches() {
        let sample = sb();
        let limit = Limit::Buffer { thread: ThreadId(0), entries: 16, unbounded: true };
        let outcomes = states(&[[0, 1], [1, 0]]);
        let unknown = Verdict::Unknown(limit.clone());
        let answer = LitmusAnswer {
            head: head("SB.litmus", Model::Pso(Drain::All), &unknown),
            program: &sample.program,
            names: &sample.names,
            source: "",
            outcomes: &outcomes,
            positive: 0,
            negative: 2,
            searched: 5_000_000,
            with_outcomes: true,
            shown: None,
            cells: &[],
            of_machine: None,
        };
        check(
            &answer,
            expect![[r#"
                Model PSO
                Test SB Allowed
                States 2
                (there may be more: the store buffer of P0 can grow without bound; explored with at most 16 stores per buffer)
                0:EAX=0; 1:EAX=1;
                0:EAX=1; 1:EAX=0;
                Undecided
                (no state found satisfies the condition, but the store buffer of P0 can grow without bound; explored with at most 16 stores per buffer)
                Witnesses
                Positive: 0 Negative: 2
                Condition exists (0:EAX=0 /\ 1:EAX=0)
                Observation SB Undecided 0 2
                Time SB 0.00

            "#]],
            expect![[
                r#"{"file":"SB.litmus","question":"litmus","model":"pso","verdict":"unknown","certified":true,"time_s":0.001234,"limit":{"kind":"buffer","thread":0,"entries":16,"unbounded":true,"message":"the store buffer of P0 can grow without bound; explored with at most 16 stores per buffer"},"name":"SB","condition":"exists","proposition":"(0:EAX=0 /\\ 1:EAX=0)","witness_exists":null,"states":2,"observation":null,"complete":false,"explored":5000000,"outcomes":[{"0:EAX":0,"1:EAX":1},{"0:EAX":1,"1:EAX":0}],"schema":1}"#
            ]],
        );
        let none = LitmusAnswer { positive: 0, negative: 0, ..answer };
        expect![[r#"
            SB PSO unknown: no final state found so far; the store buffer of P0 can grow without bound; explored with at most 16 stores per buffer
        "#]]
        .assert_eq(&litmus_line(&none, Paint(false)));
        let head = Head { verdict: &Verdict::Holds, limit: Some(&limit), ..answer.head };
        let mixed = LitmusAnswer { head, positive: 1, negative: 1, ..answer };
        expect![[r#"
            SB PSO holds: Sometimes, in 1 of 2 final states found so far
        "#]]
        .assert_eq(&litmus_line(&mixed, Paint(false)));
        let answer = LitmusAnswer { head, positive: 2, negative: 0, ..answer };
        check(
            &answer,
            expect![[r#"
                Model PSO
                Test SB Allowed
                States 2
                (there may be more: the store buffer of P0 can grow without bound; explored with at most 16 stores per buffer)
                0:EAX=0; 1:EAX=1;
                0:EAX=1; 1:EAX=0;
                Ok
                Witnesses
                Positive: 2 Negative: 0
                Condition exists (0:EAX=0 /\ 1:EAX=0)
                Observation SB Undecided 2 0
                Time SB 0.00

            "#]],
            expect![[
                r#"{"file":"SB.litmus","question":"litmus","model":"pso","verdict":"holds","certified":true,"time_s":0.001234,"limit":{"kind":"buffer","thread":0,"entries":16,"unbounded":true,"message":"the store buffer of P0 can grow without bound; explored with at most 16 stores per buffer"},"name":"SB","condition":"exists","proposition":"(0:EAX=0 /\\ 1:EAX=0)","witness_exists":true,"states":2,"observation":null,"complete":false,"explored":5000000,"outcomes":[{"0:EAX":0,"1:EAX":1},{"0:EAX":1,"1:EAX":0}],"schema":1}"#
            ]],
        );
    }

    /// Addresses as values, no condition, nothing observed, no state at all.
    #[test]
    fn odd_states() {
        let mut sample = sb();
        sample.names.addresses_are_symbolic = true;
        sample.names.locs[1] = "t[0]".to_owned();
        sample.names.program = "odd \"name\"".to_owned();
        let outcomes = states(&[[-1, 1], [10, 2]]);
        let answer = LitmusAnswer {
            head: head("odd.litmus", Model::Sc, &Verdict::Violated),
            program: &sample.program,
            names: &sample.names,
            source: "",
            outcomes: &outcomes,
            positive: 0,
            negative: 2,
            searched: 9,
            with_outcomes: true,
            shown: None,
            cells: &[],
            of_machine: None,
        };
        check(
            &answer,
            expect![[r#"
            Model SC
            Test odd "name" Allowed
            States 2
            0:EAX=-1; 1:EAX=x;
            0:EAX=10; 1:EAX=t[0];
            No
            Witnesses
            Positive: 0 Negative: 2
            Condition exists (0:EAX=0 /\ 1:EAX=0)
            Observation odd "name" Never 0 2
            Time odd "name" 0.00

        "#]],
            expect![[
                r#"{"file":"odd.litmus","question":"litmus","model":"sc","verdict":"violated","certified":true,"time_s":0.001234,"name":"odd \"name\"","condition":"exists","proposition":"(0:EAX=0 /\\ 1:EAX=0)","witness_exists":false,"states":2,"observation":"Never","complete":true,"explored":9,"outcomes":[{"0:EAX":-1,"1:EAX":"x"},{"0:EAX":10,"1:EAX":"t[0]"}],"schema":1}"#
            ]],
        );
        let mut sample = sb();
        sample.program.condition = None;
        sample.program.observed.clear();
        sample.names.observed.clear();
        sample.names.condition.clear();
        let outcomes = super::tests::outcomes(0, &[vec![]]);
        let answer = LitmusAnswer {
            program: &sample.program,
            names: &sample.names,
            head: Head { verdict: &Verdict::Holds, ..answer.head },
            outcomes: &outcomes,
            positive: 1,
            negative: 0,
            ..answer
        };
        check(
            &answer,
            expect![[r#"
            Model SC
            Test SB Required
            States 1

            Ok
            Witnesses
            Positive: 1 Negative: 0
            Condition forall (true)
            Observation SB Always 1 0
            Time SB 0.00

        "#]],
            expect![[
                r#"{"file":"odd.litmus","question":"litmus","model":"sc","verdict":"holds","certified":true,"time_s":0.001234,"name":"SB","condition":"forall","proposition":"(true)","witness_exists":true,"states":1,"observation":"Always","complete":true,"explored":9,"outcomes":[{}],"schema":1}"#
            ]],
        );
        let outcomes = super::tests::outcomes(0, &[]);
        let answer = LitmusAnswer { outcomes: &outcomes, positive: 0, ..answer };
        check(
            &answer,
            expect![[r#"
            Model SC
            Test SB Required
            States 0
            Ok
            Witnesses
            Positive: 0 Negative: 0
            Condition forall (true)
            Observation SB Never 0 0
            Time SB 0.00

        "#]],
            expect![[
                r#"{"file":"odd.litmus","question":"litmus","model":"sc","verdict":"holds","certified":true,"time_s":0.001234,"name":"SB","condition":"forall","proposition":"(true)","witness_exists":false,"states":0,"observation":"Never","complete":true,"explored":9,"outcomes":[],"schema":1}"#
            ]],
        );
    }

    #[test]
    fn parentheses() {
        assert_eq!(in_parentheses("0:EAX=0"), "(0:EAX=0)");
        assert_eq!(in_parentheses("(0:EAX=0)"), "(0:EAX=0)");
        assert_eq!(in_parentheses(" (a) /\\ (b) "), "((a) /\\ (b))");
        assert_eq!(in_parentheses("((a) /\\ (b))"), "((a) /\\ (b))");
        assert_eq!(in_parentheses(""), "(true)");
        assert_eq!(in_parentheses(")("), "()()");
    }

    /// A million states are printed without a thought.
    #[test]
    fn many_states() {
        let mut sample = sb();
        let observed = sample.program.observed[0];
        sample.program.observed = vec![observed; 6];
        sample.names.observed = (0..6).map(|i| format!("{i}:EAX")).collect();
        let digits: Vec<Vec<Value>> = (0..10).map(|v| vec![v * 5 - 2]).collect();
        let columns: Vec<[usize; 1]> = (0..6).map(|c| [c]).collect();
        let product: Vec<Factor<'_>> =
            columns.iter().map(|c| Factor { columns: c, rows: &digits }).collect();
        let outcomes = OutcomeSet::union(6, &[product], &mut |_, _| true);
        let answer = LitmusAnswer {
            head: head("many.litmus", Model::Sc, &Verdict::Violated),
            program: &sample.program,
            names: &sample.names,
            source: "",
            outcomes: &outcomes,
            positive: 0,
            negative: 1_000_000,
            searched: 1,
            with_outcomes: true,
            shown: None,
            cells: &[],
            of_machine: None,
        };
        assert_eq!(litmus_text(&answer, Paint(false)).lines().count(), 1_000_000 + 10);
        assert_eq!(litmus_json(&answer).matches('{').count(), 1_000_000 + 1);
    }
}
