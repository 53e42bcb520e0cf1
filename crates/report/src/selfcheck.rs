//! What came of holding the engines against each other.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;
use weakspot_witness::{line, seconds};

use crate::json::SCHEMA;
use crate::text::show::{counted, plain};

/// The answer of `weakspot selfcheck`.
#[derive(Clone, Debug)]
pub struct SelfcheckAnswer<'a> {
    /// What the inputs were made from.
    pub seed: u64,
    /// What they were about.
    pub subjects: Vec<SelfcheckSubject>,
    /// Those on which answers differ.
    pub disagreements: Vec<SelfcheckDisagreement<'a>>,
    /// Why there were no programs in C, if there were none.
    pub without: Option<&'a str>,
    /// How long it took.
    pub time: Duration,
    /// Whether somebody has ended it before its time.
    pub interrupted: bool,
}

/// How much was compared about one kind of inputs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SelfcheckSubject {
    /// What they are called.
    pub subject: &'static str,
    /// How many there were.
    pub inputs: u64,
    /// How many answers were compared with another one.
    pub compared: u64,
}

/// An input on which answers differ.
#[derive(Clone, Debug, Serialize)]
pub struct SelfcheckDisagreement<'a> {
    /// What it is.
    pub subject: &'static str,
    /// The round that found it.
    pub round: u64,
    /// What was answered.
    pub what: &'a str,
    /// The files that show it.
    pub files: Vec<String>,
    /// The commands that show it.
    pub commands: Vec<String>,
}

/// A line for each disagreement with the commands that show it and, unless it is quiet, what was compared.
#[must_use]
pub fn selfcheck_text(answer: &SelfcheckAnswer<'_>, quiet: bool) -> String {
    let mut out = String::new();
    let seed = answer.seed;
    for found in &answer.disagreements {
        let files: Vec<String> = found.files.iter().map(|file| plain(file).into()).collect();
        let _ = writeln!(out, "{}: {}", files.join(", "), plain(found.what));
        for command in &found.commands {
            let _ = writeln!(out, "  shown by {}", plain(command));
        }
        let _ =
            writeln!(out, "  again by weakspot selfcheck --seed {seed} --round {}", found.round);
    }
    if quiet {
        return out;
    }
    for subject in answer.subjects.iter().filter(|subject| subject.inputs > 0) {
        let (inputs, compared) = (counted(subject.inputs, "input"), subject.compared);
        let _ = writeln!(
            out,
            "{}: {inputs}, {} compared",
            subject.subject,
            counted(compared, "answer")
        );
    }
    if let Some(why) = answer.without {
        let _ = writeln!(out, "note: no C programs: {}", plain(why.trim()));
    }
    let time = answer.time.as_secs_f64();
    let _ = match answer.disagreements.len() as u64 {
        0 if answer.interrupted => {
            let compared = answer.subjects.iter().map(|subject| subject.compared).sum();
            let compared = counted(compared, "answer");
            writeln!(
                out,
                "interrupted: {compared} compared so far, which agree (seed {seed}, {time:.1} s)"
            )
        }
        0 => writeln!(out, "all answers agree (seed {seed}, {time:.1} s)"),
        n => writeln!(out, "answers differ on {} (seed {seed}, {time:.1} s)", counted(n, "input")),
    };
    out
}

/// The same as an object.
#[must_use]
pub fn selfcheck_json(answer: &SelfcheckAnswer<'_>) -> String {
    #[derive(Serialize)]
    struct Object<'a> {
        question: &'static str,
        verdict: &'static str,
        seed: u64,
        subjects: &'a [SelfcheckSubject],
        disagreements: &'a [SelfcheckDisagreement<'a>],
        #[serde(serialize_with = "seconds")]
        time_s: Duration,
        schema: u32,
    }
    let verdict = match answer.disagreements.is_empty() {
        true if answer.interrupted => "unknown",
        true => "holds",
        false => "violated",
    };
    let object = Object {
        question: "selfcheck",
        verdict,
        seed: answer.seed,
        subjects: &answer.subjects,
        disagreements: &answer.disagreements,
        time_s: answer.time,
        schema: SCHEMA,
    };
    line(&object) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_has_its_commands() {
        let found = SelfcheckDisagreement {
            subject: "programs",
            round: 4,
            what: "TSO: eager and lazy differ",
            files: vec!["out/7-4.weak".to_owned()],
            commands: vec!["weakspot reach out/7-4.weak".to_owned()],
        };
        let answer = SelfcheckAnswer {
            seed: 7,
            subjects: vec![SelfcheckSubject { subject: "programs", inputs: 1, compared: 2_000 }],
            disagreements: vec![found],
            without: None,
            time: Duration::from_millis(1_500),
            interrupted: false,
        };
        let text = "out/7-4.weak: TSO: eager and lazy differ\n  shown by weakspot reach out/7-4.weak\n  \
                    again by weakspot selfcheck --seed 7 --round 4\n";
        assert_eq!(selfcheck_text(&answer, true), text);
        let rest = "programs: 1 input, 2,000 answers compared\nanswers differ on 1 input (seed 7, 1.5 s)\n";
        assert_eq!(selfcheck_text(&answer, false), text.to_owned() + rest);
        assert!(
            selfcheck_json(&answer)
                .starts_with("{\"question\":\"selfcheck\",\"verdict\":\"violated\"")
        );
    }
}
