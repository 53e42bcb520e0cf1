//! Tests of the whole way from text to meaning.

mod accepts;
mod flags;
mod meaning;
mod mutations;
mod random;
mod refuses;
mod shapes;

use weakspot_core::reference::{Reachable, reachable};
use weakspot_core::{Model, Program, Quantifier, Value};

use crate::Parsed;
use crate::litmus::{Test, compile, parse, print};
use crate::test_support::{Language, MODELS};

const LITMUS: Language<Test> = Language { parse, print, compile };

/// A test with the rows of one thread; `;` and line ends are added.
fn one_thread(arch: &str, init: &str, code: &[&str], rest: &str) -> String {
    let mut text = format!("{arch} T\n{{ {init} }}\n P0 ;\n");
    for line in code {
        text += &format!(" {line} ;\n");
    }
    text + rest
}

/// All that a program can do.
fn run(program: &Program, model: Model) -> Reachable {
    reachable(program, model, 2_000_000).expect("few states")
}

/// `Observation` as litmus tools give it, and whether the condition is met.
fn judge(program: &Program, found: &Reachable) -> (&'static str, bool) {
    let condition = program.condition.as_ref().expect("litmus tests have conditions");
    let holds = |s: &Vec<Value>| condition.prop.eval(s) != Ok(0);
    let good = found.outcomes.iter().filter(|s| holds(s)).count();
    let observation = match good {
        0 => "Never",
        n if n == found.outcomes.len() => "Always",
        _ => "Sometimes",
    };
    let ok = match condition.quantifier {
        Quantifier::Exists => good > 0,
        Quantifier::NotExists => good == 0,
        Quantifier::Forall => good == found.outcomes.len(),
    };
    (observation, ok)
}

/// The final states as text, one line for each.
fn states(parsed: &Parsed, found: &Reachable) -> Vec<String> {
    let names = &parsed.names;
    let show = |state: &Vec<i64>| {
        let value = |v: &i64| match parsed.program.loc_at(*v) {
            Some(loc) => names.loc(loc).to_owned(),
            None => v.to_string(),
        };
        let parts = names.observed.iter().zip(state).map(|(n, v)| format!("{n}={};", value(v)));
        parts.collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = found.outcomes.iter().map(show).collect();
    if found.failure.is_some() {
        lines.push("fault".to_owned());
    }
    lines
}
