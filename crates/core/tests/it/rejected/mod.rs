//! Every way in which a checker of evidence says no, each with evidence in which exactly that is
//! wrong: `good` is accepted, `bad` differs from it in one thing.
//!
//! Which ways there are is read from the source of the checkers: wherever it names a variant of
//! `Rejected` or `LratError`, or a message that goes into one, there has to be a case here.

mod answers;
mod counters;
mod fences;
mod histories;
mod logs;
mod programs;
mod proofs;
mod sets;
mod transactions;

use std::collections::{BTreeMap, BTreeSet};

use weakspot_core::certify::Rejected;

/// The files of `core/src` that say no.
const CHECKERS: [(&str, &str); 15] = [
    ("abstraction", include_str!("../../../src/evidence/abstraction.rs")),
    ("certify", include_str!("../../../src/evidence/certify.rs")),
    ("inductive", include_str!("../../../src/evidence/inductive.rs")),
    ("replay", include_str!("../../../src/evidence/replay.rs")),
    ("fence_proof", include_str!("../../../src/evidence/fence_proof.rs")),
    ("lrat", include_str!("../../../src/evidence/lrat.rs")),
    ("certified", include_str!("../../../src/evidence/certified.rs")),
    ("delayed", include_str!("../../../src/execution/delayed.rs")),
    ("history/check", include_str!("../../../src/history/check.rs")),
    ("history/cycle", include_str!("../../../src/history/cycle.rs")),
    ("history/replay", include_str!("../../../src/history/replay.rs")),
    ("history/stream", include_str!("../../../src/history/stream.rs")),
    ("serial/check", include_str!("../../../src/serial/check.rs")),
    ("serial/program", include_str!("../../../src/serial/program.rs")),
    ("serial/stream", include_str!("../../../src/serial/stream.rs")),
];

/// What no evidence leads to, and why.
const UNREACHABLE: [(&str, &str); 7] = [
    ("certify robust: Step", "the run was replayed before it is recorded"),
    ("certify triangular_race_free: Step", "the run was replayed before"),
    ("serial/program transactions: Step", "the run was replayed before"),
    ("history/replay replay_each_variable: memory has no buffers", "with commits it is one of PSO"),
    ("history/cycle conclude: a path without edges", "`path` refuses it before"),
    ("history/cycle closes: a path without edges", "`path` refuses it before"),
    (
        "serial/check check_groups: a proof is about nothing",
        "the order is there if a group has one",
    ),
];

/// Evidence that is right, and the same with one thing wrong.
pub(crate) struct Case {
    /// `file function: what it says`, as in the source.
    place: &'static str,
    good: Result<(), Rejected>,
    bad: Result<(), Rejected>,
}

pub(crate) fn case(
    place: &'static str,
    good: Result<(), Rejected>,
    bad: Result<(), Rejected>,
) -> Case {
    Case { place, good, bad }
}

fn cases() -> Vec<Case> {
    let all = [
        programs::cases(),
        counters::cases(),
        fences::cases(),
        proofs::cases(),
        sets::cases(),
        answers::cases(),
        logs::cases(),
        histories::cases(),
        histories::choices(),
        transactions::cases(),
    ];
    all.into_iter().flatten().collect()
}

/// The name of the variant, and its message.
fn said(rejected: &Rejected) -> (&'static str, Option<&'static str>) {
    match rejected {
        Rejected::Step(_) => ("Step", None),
        Rejected::Start => ("Start", None),
        Rejected::NotFinal => ("NotFinal", None),
        Rejected::WrongState => ("WrongState", None),
        Rejected::WrongKind => ("WrongKind", None),
        Rejected::Contradicted => ("Contradicted", None),
        Rejected::TooLarge(_) => ("TooLarge", None),
        Rejected::OutOfReach(_) => ("OutOfReach", None),
        Rejected::NoQuestion => ("NoQuestion", None),
        Rejected::AllowedBySc => ("AllowedBySc", None),
        Rejected::Coarse => ("Coarse", None),
        Rejected::Abstraction(why) => ("Abstraction", Some(why)),
        Rejected::Fences(why) => ("Fences", Some(why)),
        Rejected::Set(_, why) => ("Set", Some(why)),
        Rejected::NoRace => ("NoRace", None),
        Rejected::Delayed(_, why) => ("Delayed", Some(why)),
        Rejected::HistoryStep(_, why) => ("HistoryStep", Some(why)),
        Rejected::HistoryOrder(_, why) => ("HistoryOrder", Some(why)),
        Rejected::Ways(why) => ("Ways", Some(why)),
        Rejected::Trace(why) => ("Trace", Some(why)),
        Rejected::Lrat(_) => ("Lrat", None),
        Rejected::Transactions(_, why) => ("Transactions", Some(why)),
    }
}

#[test]
fn one_thing_is_wrong() {
    let mut wrong = Vec::new();
    for Case { place, good, bad } in cases() {
        if let Err(rejected) = good {
            wrong.push(format!("{place}: what is right is rejected: {rejected}"));
        }
        let found = match &bad {
            Ok(()) => "nothing".to_owned(),
            Err(Rejected::Lrat(error)) if place.starts_with("lrat ") => format!("{error:?}"),
            Err(rejected) => said(rejected).1.unwrap_or(said(rejected).0).to_owned(),
        };
        let found = found.split('(').next().unwrap_or_default();
        if place.split_once(": ").map(|(_, expected)| expected) != Some(found) {
            wrong.push(format!("{place}: said {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_way_to_say_no_has_a_case() {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases() {
        *known.entry(case.place.to_owned()).or_default() += 1;
    }
    for (place, _) in UNREACHABLE {
        *known.entry(place.to_owned()).or_default() += 1;
    }
    let mut needed: BTreeMap<String, usize> = BTreeMap::new();
    for (file, text) in CHECKERS {
        for place in places(text) {
            *needed.entry(format!("{file} {place}")).or_default() += 1;
        }
    }
    assert!(needed.len() > 100, "the source is read in another way than it is written");
    let lacking: Vec<_> =
        needed.iter().filter(|(place, n)| known.get(*place).is_none_or(|k| k < n)).collect();
    assert!(lacking.is_empty(), "without a case: {lacking:#?}");
    let gone: Vec<_> = known.keys().filter(|place| !needed.contains_key(*place)).collect();
    assert!(gone.is_empty(), "not in the source: {gone:#?}");
}

#[test]
fn every_variant_has_a_case() {
    let seen: BTreeSet<String> = cases()
        .iter()
        .filter_map(|case| case.bad.as_ref().err())
        .flat_map(|rejected| {
            let inner = match rejected {
                Rejected::Lrat(error) => format!("{error:?}"),
                _ => String::new(),
            };
            [said(rejected).0.to_owned(), inner.split('(').next().unwrap_or_default().to_owned()]
        })
        .collect();
    let texts = [
        ("Rejected", include_str!("../../../src/evidence/rejected.rs")),
        ("LratError", include_str!("../../../src/evidence/lrat.rs")),
    ];
    for (name, text) in texts {
        let start = text.find(&format!("pub enum {name} {{")).expect("the enum");
        let body = text[start..].split_once('{').expect("a body").1;
        let body = body.split_once("\n}").expect("an end").0;
        let lines = body.lines().map(str::trim);
        let variants = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
        let names: Vec<&str> =
            variants.map(|v| v.split(['(', ',']).next().expect("a name")).collect();
        assert!(names.len() > 5, "{name}");
        for variant in names {
            assert!(seen.contains(variant), "no case leads to {name}::{variant}");
        }
    }
}

/// Where a file says no: the function, and the message or the variant.
fn places(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: String =
        text.lines().map(|l| l.split("//").next().unwrap_or("").to_owned() + "\n").collect();
    let mut found = Vec::new();
    let mut function = "";
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        if let Some(name) = rest.strip_prefix("fn ") {
            function = name.split(['(', '<']).next().unwrap_or_default();
            at += 3;
        } else if let Some(message) = rest.strip_prefix('"') {
            let message = message.split('"').next().unwrap_or_default();
            found.push((function, message));
            at += message.len() + 2;
        } else if let Some(name) =
            ["Rejected::", "LratError::"].iter().find_map(|p| rest.strip_prefix(p))
        {
            let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            let end = at + rest.find(name).unwrap_or(0) + name.len();
            let arguments = arguments(&code[end..]);
            let line = code[end..].lines().next().unwrap_or_default();
            // A message is found by itself; a pattern says nothing.
            if !arguments.contains('"') && !arguments.contains("why") && !line.contains("=>") {
                found.push((function, name));
            }
            at = end;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    let texts = found.into_iter().filter(|(function, _)| *function != "fmt");
    texts.map(|(function, what)| format!("{function}: {what}")).collect()
}

/// What stands in the parentheses that follow at once.
fn arguments(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    &text[..end.unwrap_or(0)]
}
