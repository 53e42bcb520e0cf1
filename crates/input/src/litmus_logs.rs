//! Logs of litmus tests, as herd7, litmus7 and `weakspot litmus` write them, and how two of them differ.
//!
//! Of a test, its name, its states and its hash count. A location is written as `x` or `[x]`, a number
//! in decimal or hexadecimal: both mean the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A final state: the value of each location and register that is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoggedState(BTreeMap<String, String>);

impl fmt::Display for LoggedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (place, value)) in self.0.iter().enumerate() {
            write!(f, "{}{place}={value};", if i > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

/// What a log says about a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedTest {
    /// All states; of several runs of the test, those of all.
    pub states: BTreeSet<LoggedState>,
    /// What litmus7 and herd7 know the text of the test by.
    pub hash: Option<String>,
    /// The model that it was asked under, if the log says so.
    pub model: Option<String>,
}

/// The tests of a log, by their names; where a log has a test under several models, the model is part
/// of the name.
pub type LitmusLog = BTreeMap<String, LoggedTest>;

/// Why a log cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLog {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// Reads a log.
///
/// # Errors
///
/// It has no test, or states are missing.
pub fn read_litmus_log(text: &str) -> Result<LitmusLog, BadLog> {
    let mut found: Vec<(String, Option<String>, LoggedTest)> = Vec::new();
    let mut model = None;
    // The states of the last test are complete.
    let mut complete = true;
    let mut started = 0;
    let mut lines = text.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Model", name] => model = Some((*name).to_owned()),
            ["Test", name, ..] if is_head(&words) => {
                missing(complete, started)?;
                (complete, started) = (false, i + 1);
                found.push(((*name).to_owned(), model.clone(), LoggedTest::default()));
            }
            ["States", count] | ["Histogram", count, "states)" | "state)"] if !complete => {
                let Ok(count) = count.trim_start_matches('(').parse::<usize>() else {
                    let message = format!("`{count}` is no number of states");
                    return Err(BadLog { line: i + 1, message });
                };
                let Some((name, _, test)) = found.last_mut() else { continue };
                for n in 0..count {
                    let state = lines.next().and_then(|(_, line)| state(line));
                    let Some(state) = state else {
                        let message = format!(
                            "`{name}` has {count} states, but this line is none: expected one such \
                             as `0:EAX=1; x=1;`"
                        );
                        return Err(BadLog { line: i + n + 2, message });
                    };
                    test.states.insert(state);
                }
                complete = true;
            }
            [hash] if complete => {
                if let (Some(hash), Some((_, _, test))) =
                    (hash.strip_prefix("Hash="), found.last_mut())
                {
                    test.hash = Some(hash.to_owned());
                }
            }
            _ => {}
        }
    }
    missing(complete, started)?;
    if found.is_empty() {
        let message = "there is no test in this log: expected a line such as `Test SB Allowed`";
        return Err(BadLog { line: 1, message: message.to_owned() });
    }
    Ok(by_name(found))
}

/// Whether words are the line that a test begins with.
fn is_head(words: &[&str]) -> bool {
    matches!(words.get(2), None | Some(&("Allowed" | "Forbidden" | "Required" | "Final")))
}

fn missing(complete: bool, started: usize) -> Result<(), BadLog> {
    if complete {
        return Ok(());
    }
    let message = "this test has no states: expected a line `States` or `Histogram`".to_owned();
    Err(BadLog { line: started, message })
}

fn by_name(found: Vec<(String, Option<String>, LoggedTest)>) -> LitmusLog {
    let mut models: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
    for (name, model, _) in &found {
        models.entry(name.clone()).or_default().insert(model.clone());
    }
    let mut log = LitmusLog::new();
    for (name, model, test) in found {
        let several = models[&name].len() > 1;
        let key = match (several, &model) {
            (true, Some(model)) => format!("{name} {model}"),
            _ => name,
        };
        let entry = log.entry(key).or_default();
        entry.model = model;
        entry.states.extend(test.states);
        entry.hash = test.hash.or(entry.hash.take());
    }
    log
}

/// A state: `0:EAX=0; [x]=1;`, behind how often it was seen in the logs of litmus7.
fn state(line: &str) -> Option<LoggedState> {
    let line = line.trim();
    let counted = line.split_once('>').and_then(|(count, rest)| {
        let count = count.trim_end_matches(['*', ':', '~']).trim();
        (!count.is_empty() && count.bytes().all(|b| b.is_ascii_digit())).then_some(rest)
    });
    let mut state = BTreeMap::new();
    for part in counted.unwrap_or(line).split(';').map(str::trim).filter(|p| !p.is_empty()) {
        let (place, value) = part.split_once('=')?;
        let place = place.trim();
        let inner = place.strip_prefix('[').and_then(|p| p.strip_suffix(']'));
        state.insert(inner.unwrap_or(place).to_owned(), number(value.trim()));
    }
    Some(LoggedState(state))
}

/// A value as it is compared: numbers in decimal. Not all tools write numbers of 64 bits without a sign as
/// such: 18446744073709551615 is -1.
fn number(value: &str) -> String {
    let (sign, digits) = match value.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", value),
    };
    let number = match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    };
    match (number, number.and_then(|n| u64::try_from(n).ok())) {
        (_, Some(n)) if sign.is_empty() => n.cast_signed().to_string(),
        (Some(n), _) => format!("{sign}{n}"),
        (None, _) => value.to_owned(),
    }
}

/// How two logs differ about a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogDifference {
    /// No difference: both have these many states.
    Same(usize),
    /// Only the first log has the test.
    OnlyFirst,
    /// Only the second log has the test.
    OnlySecond,
    /// The tests of this name are not the same: their hashes differ.
    OtherTest,
    /// States that only one of them has.
    States {
        /// Those of the first log.
        first: Vec<LoggedState>,
        /// Those of the second log.
        second: Vec<LoggedState>,
    },
}

impl LogDifference {
    /// What differs (`test`, `hash` or `state`), which of the two logs has it alone, and the state, if it is one.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, Option<usize>, String)> {
        let only = |log| vec![("test", Some(log), String::new())];
        match self {
            LogDifference::Same(_) => Vec::new(),
            LogDifference::OnlyFirst => only(0),
            LogDifference::OnlySecond => only(1),
            LogDifference::OtherTest => vec![("hash", None, String::new())],
            LogDifference::States { first, second } => {
                let both = [first, second].into_iter().enumerate();
                let row = |log, state: &LoggedState| ("state", Some(log), state.to_string());
                both.flat_map(|(log, states)| states.iter().map(move |s| row(log, s))).collect()
            }
        }
    }
}

/// The tests of a log, with the model in their names where the other log has it.
fn named_as_in(other: &LitmusLog, log: &LitmusLog) -> LitmusLog {
    let named = |(name, test): (&String, &LoggedTest)| {
        let long = test.model.as_ref().map(|model| format!("{name} {model}"));
        let long = long.filter(|long| other.contains_key(long));
        (long.unwrap_or_else(|| name.clone()), test.clone())
    };
    log.iter().map(named).collect()
}

/// Compares the tests of two logs, by name.
#[must_use]
pub fn compare_litmus_logs(a: &LitmusLog, b: &LitmusLog) -> Vec<(String, LogDifference)> {
    let (a, b) = (&named_as_in(b, a), &named_as_in(a, b));
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let difference = |name: &String| match (a.get(name), b.get(name)) {
        (Some(_), None) => LogDifference::OnlyFirst,
        (None, _) => LogDifference::OnlySecond,
        (Some(a), Some(b)) => match (&a.hash, &b.hash) {
            (Some(x), Some(y)) if x != y => LogDifference::OtherTest,
            _ if a.states == b.states => LogDifference::Same(a.states.len()),
            _ => LogDifference::States {
                first: a.states.difference(&b.states).cloned().collect(),
                second: b.states.difference(&a.states).cloned().collect(),
            },
        },
    };
    names.into_iter().map(|name| (name.clone(), difference(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERD: &str = "Test SB Allowed\nStates 2\n0:EAX=0; [x]=1;\n0:EAX=1; [x]=0x10;\nOk\n\
        Witnesses\nPositive: 1 Negative: 1\nCondition exists (0:EAX=0)\n\
        Observation SB Sometimes 1 1\nTime SB 0.00\nHash=abc\n\n";
    const LITMUS: &str = "%%%%\n% Results for SB.litmus %\n%%%%\nX86 SB\n{x=0;}\n P0 ;\n\
        Test SB Allowed\nHistogram (2 states)\n89    *>0:EAX=0; x=1;\n499921:>0:EAX=1; x=16;\nOk\n\
        \nWitnesses\nPositive: 89, Negative: 499921\n\
        Condition exists (0:EAX=0) is validated\nHash=abc\nObservation SB Sometimes 89 499921\n";

    fn read(text: &str) -> LitmusLog {
        read_litmus_log(text).expect("a log")
    }

    #[test]
    fn the_logs_of_herd_and_litmus_are_the_same() {
        assert_eq!(read(HERD), read(LITMUS));
        let differences = compare_litmus_logs(&read(HERD), &read(LITMUS));
        assert_eq!(differences, [("SB".to_owned(), LogDifference::Same(2))]);
    }

    #[test]
    fn what_differs_is_said() {
        let fewer = HERD.replace("States 2\n0:EAX=0; [x]=1;\n", "States 1\n");
        let [(_, LogDifference::States { first, second })] =
            &compare_litmus_logs(&read(LITMUS), &read(&fewer))[..]
        else {
            panic!("states differ");
        };
        assert_eq!((first.len(), second.len()), (1, 0));
        assert_eq!(first[0].to_string(), "0:EAX=0; x=1;");
        let other = HERD.replace("abc", "abd");
        let difference = compare_litmus_logs(&read(HERD), &read(&other));
        assert_eq!(difference[0].1, LogDifference::OtherTest);
        let more = format!("{HERD}Test MP Required\nStates 0\nNo\n");
        let difference = compare_litmus_logs(&read(HERD), &read(&more));
        assert_eq!(difference[0], ("MP".to_owned(), LogDifference::OnlySecond));
    }

    #[test]
    fn models_are_part_of_names_where_a_log_has_several() {
        let two = format!("Model SC\n{HERD}Model TSO\n{HERD}");
        assert_eq!(read(&two).keys().collect::<Vec<_>>(), ["SB SC", "SB TSO"]);
        assert_eq!(read(&format!("Model SC\n{HERD}")).keys().collect::<Vec<_>>(), ["SB"]);
        // A log with one model is compared with that model of another log.
        let one = format!("Model TSO\n{HERD}");
        let compared = compare_litmus_logs(&read(&one), &read(&two));
        let same = |name: &str| {
            compared.iter().any(|(n, d)| n == name && matches!(d, LogDifference::Same(_)))
        };
        assert!(same("SB TSO") && compared.len() == 2, "{compared:?}");
        // Several runs of a test have the states of all.
        let again = HERD.replace("0x10", "7");
        assert_eq!(read(&format!("{HERD}{again}"))["SB"].states.len(), 3);
    }

    #[test]
    fn bad_logs_are_refused_with_their_lines() {
        let line = |text: &str| read_litmus_log(text).expect_err("bad").line;
        assert_eq!(line("nothing\n"), 1);
        assert_eq!(line("\nTest SB Allowed\nOk\n"), 2);
        assert_eq!(line("Test SB Allowed\nStates 2\n0:EAX=0;\nOk\n"), 4);
        assert_eq!(line("Test SB Allowed\nStates 2\n0:EAX=0;\n"), 4);
        assert_eq!(line("Test SB Allowed\nStates many\n"), 2);
        // Pieces of logs are read or refused, and nothing else.
        for i in 0..LITMUS.len() {
            let _ = read_litmus_log(&LITMUS[i..]);
            let _ = read_litmus_log(&LITMUS[..i]);
        }
    }
}
