//! Tests of the whole way from text to meaning.

mod accepts;
mod flags;
mod machine;
mod meaning;
mod mutations;
mod random;
mod refuses;
mod shapes;

use super::{compile, parse, print};
use crate::Parsed;
use machine::{Model, Outcomes, judge, run};

/// Parses, checks that the printed test is the same test, and compiles.
fn load(text: &str) -> Parsed {
    let fail = |d: crate::Diagnostic| -> ! {
        let (line, column) = d.span.line_column(text);
        panic!("{line}:{column}: {} ({}) in\n{text}", d.message, d.expected)
    };
    let test = parse(text).unwrap_or_else(|d| fail(d));
    let printed = print(&test);
    match parse(&printed) {
        Ok(again) => {
            assert_eq!(again, test, "printed:\n{printed}");
            assert_eq!(print(&again), printed);
        }
        Err(d) => panic!("{} in the printed\n{printed}", d.message),
    }
    compile(&test).unwrap_or_else(|d| fail(d))
}

/// A test with the rows of one thread; `;` and line ends are added.
fn one_thread(arch: &str, init: &str, code: &[&str], rest: &str) -> String {
    let mut text = format!("{arch} T\n{{ {init} }}\n P0 ;\n");
    for line in code {
        text += &format!(" {line} ;\n");
    }
    text + rest
}

/// The final states as text, one line for each.
fn states(parsed: &Parsed, outcomes: &Outcomes) -> Vec<String> {
    let names = &parsed.names;
    let show = |state: &Vec<i64>| {
        let value = |v: &i64| match parsed.program.loc_at(*v) {
            Some(loc) => names.loc(loc).to_owned(),
            None => v.to_string(),
        };
        let parts = names.observed.iter().zip(state).map(|(n, v)| format!("{n}={};", value(v)));
        parts.collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = outcomes.states.iter().map(show).collect();
    if outcomes.faults {
        lines.push("fault".to_owned());
    }
    lines
}
