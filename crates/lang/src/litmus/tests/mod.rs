//! The languages of litmus tests against each other, and what is particular to C and RISC-V.

mod c;
mod languages;
mod riscv;

use weakspot_core::reference::reachable;
use weakspot_core::{Model, Value};

use super::{Test, compile, parse, print};
use crate::Parsed;
use crate::test_support::{Language, MODELS, describe};

const LITMUS: Language<Test> = Language { parse, print, compile };

/// The final states under a model, by the definition.
fn outcomes(parsed: &Parsed, model: Model) -> Vec<Vec<Value>> {
    let found = reachable(&parsed.program, model, 2_000_000).expect("few states");
    found.outcomes.into_iter().collect()
}

/// `Never`, `Sometimes` or `Always` under SC, TSO and PSO.
fn observations(text: &str) -> String {
    let parsed = LITMUS.accept(text);
    let prop = &parsed.program.condition.as_ref().expect("a condition").prop;
    let word = |model| {
        let states = outcomes(&parsed, model);
        match states.iter().filter(|s| prop.holds(s)).count() {
            0 => "Never",
            n if n == states.len() => "Always",
            _ => "Sometimes",
        }
    };
    MODELS.map(word).join(" ")
}

/// Where a text is refused, and why.
fn refused(text: &str) -> String {
    describe(text, &LITMUS.refuse(text))
}
