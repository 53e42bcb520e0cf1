//! Witnesses about real programs: an execution that goes wrong, as a schedule that can be executed again, or how many
//! executions there are of which none does.
//!
//! ```json
//! {
//!   "witness": 1,
//!   "question": "run",
//!   "input": "fnv1a64:cbf29ce484222325",
//!   "model": "tso",
//!   "verdict": "violated",
//!   "arguments": ["3"],
//!   "options": ["--under","tso"],
//!   "evidence": {
//!     "schedule": {
//!       "token": "ws1_0x12_1x3_b0_0_b1q2x4_25cda302",
//!       "shared": [[4096,8]],
//!       "failure": "assertion"
//!     }
//!   }
//! }
//! ```
//!
//! `input` is the hash of the program's file, `arguments` what it is given, and `options` those of `weakspot run` that executions depend on. `shared`
//! is the memory that was known to be shared, which the schedule depends on: first bytes and lengths. Instead of `failure`, its kind, there
//! may be `pair`, the places of a store and of the access that the model lets overtake it, or `transactions`, which are not serializable.
//! If nothing goes wrong, `model` has all models that were asked about, separated by commas, and the evidence is `{"explored":
//! [{"model":"sc","executions":6,"steps":120}]}`: how many executions were looked at under each, and how many steps they took together.

use std::fmt::Write;

use serde_json::Value as Json;
use weakspot_core::{Model, Verdict};

use crate::file::{At, BadWitness, beginning, push_list};
use crate::keys::{model_key, model_of_key, verdict_key};
use crate::line::line;
use crate::object::Object;
use crate::strict::{document, nothing_else};

/// What the question is called in witness files.
pub const RUN: &str = "run";

/// An answer about a real program and why to believe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWitness {
    /// The [`input_hash`](crate::input_hash) of the program's file.
    pub input_hash: String,
    /// What the program is given.
    pub arguments: Vec<String>,
    /// The options that executions depend on.
    pub options: Vec<String>,
    /// Who built the program.
    pub built: BuiltBy,
    /// The evidence.
    pub evidence: RunEvidence,
}

/// Who built a program, which decides what is known about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltBy {
    /// A compiler of C or C++.
    Compiler,
    /// Cargo: a program of a crate.
    Cargo,
    /// Cargo: tests of a crate in their harness, one of which is executed.
    CargoTest,
}

/// Why an answer about a real program is to be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvidence {
    /// This execution goes wrong.
    Schedule {
        /// Under this model.
        model: Model,
        /// The choices as a token.
        token: String,
        /// The memory that was known to be shared: first bytes and lengths.
        shared: Vec<(u64, u64)>,
        /// What is seen in it.
        wrong: Wrong,
    },
    /// None goes wrong. There are so many under each model, and they take so many steps together.
    Explored(Vec<(Model, u64, u64)>),
}

/// What is wrong with an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It fails: an `assertion`, a `deadlock`, ...
    Failure(String),
    /// The model lets an access overtake a store, at these places.
    Pair([String; 2]),
    /// Its transactions are not serializable.
    Transactions,
}

impl RunWitness {
    /// What it claims.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.evidence {
            RunEvidence::Schedule { .. } => Verdict::Violated,
            RunEvidence::Explored(_) => Verdict::Holds,
        }
    }

    /// Under which models.
    #[must_use]
    pub fn models(&self) -> Vec<Model> {
        match &self.evidence {
            RunEvidence::Schedule { model, .. } => vec![*model],
            RunEvidence::Explored(explored) => explored.iter().map(|&(model, ..)| model).collect(),
        }
    }

    /// The content of a witness file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let (models, verdict) = (self.model_keys(), self.verdict());
        let mut out = beginning(RUN, &self.input_hash, &models, verdict_key(&verdict));
        let (arguments, options) = (line(&self.arguments), line(&self.options));
        let _ = write!(out, ",\n  \"arguments\": {arguments},\n  \"options\": {options}");
        if let Some(command) = self.built.key() {
            let _ = write!(out, ",\n  \"cargo\": \"{command}\"");
        }
        out.push_str(",\n  \"evidence\": {\n");
        match &self.evidence {
            RunEvidence::Schedule { token, shared, wrong, .. } => {
                let mut object = Object::new();
                object.string("token", token).raw("shared", line(shared));
                match wrong {
                    Wrong::Failure(kind) => object.string("failure", kind),
                    Wrong::Pair(places) => object.raw("pair", line(places)),
                    Wrong::Transactions => object.raw("transactions", "true"),
                };
                let _ = write!(out, "    \"schedule\": {}", object.end());
            }
            RunEvidence::Explored(explored) => {
                let lines: Vec<String> = explored.iter().map(explored_json).collect();
                push_list(&mut out, 4, "explored", &lines);
            }
        }
        out.push_str("\n  }\n}\n");
        out
    }

    /// Reads the content of a witness file.
    pub fn from_json(text: &str) -> Result<RunWitness, BadWitness> {
        let json = document(text)?;
        let root = At::root(&json)?;
        let words = |key: &str| -> Result<Vec<String>, BadWitness> {
            root.get(key)?.list()?.iter().map(|word| Ok(word.string()?.to_owned())).collect()
        };
        let evidence = root.get("evidence")?;
        let witness = RunWitness {
            input_hash: root.get("input")?.string()?.to_owned(),
            arguments: words("arguments")?,
            options: words("options")?,
            built: match root.find("cargo") {
                None => BuiltBy::Compiler,
                Some(at) => match at.string()? {
                    "run" => BuiltBy::Cargo,
                    "test" => BuiltBy::CargoTest,
                    _ => return Err(at.bad("`run` or `test`")),
                },
            },
            evidence: match (evidence.find("schedule"), evidence.find("explored")) {
                (Some(at), None) => schedule(&at, model(&root.get("model")?)?)?,
                (None, Some(at)) => {
                    let all = at.list()?;
                    RunEvidence::Explored(all.iter().map(explored).collect::<Result<_, _>>()?)
                }
                _ => return Err(evidence.bad("an object with `schedule` or `explored`")),
            },
        };
        let verdict = root.get("verdict")?;
        if verdict.string()? != verdict_key(&witness.verdict()) {
            return Err(verdict.bad("the verdict that the evidence is for"));
        }
        let model = root.get("model")?;
        if model.string()? != witness.model_keys() {
            return Err(model.bad("the models that the evidence is for"));
        }
        nothing_else(&json, &witness.to_json())?;
        Ok(witness)
    }

    fn model_keys(&self) -> String {
        let keys: Vec<&str> = self.models().into_iter().map(model_key).collect();
        keys.join(",")
    }
}

impl BuiltBy {
    /// The command of cargo, if it was cargo.
    fn key(self) -> Option<&'static str> {
        match self {
            BuiltBy::Compiler => None,
            BuiltBy::Cargo => Some("run"),
            BuiltBy::CargoTest => Some("test"),
        }
    }
}

fn explored_json(&(model, executions, steps): &(Model, u64, u64)) -> String {
    let mut object = Object::new();
    object.string("model", model_key(model)).raw("executions", executions).raw("steps", steps);
    object.end()
}

fn model(at: &At<'_>) -> Result<Model, BadWitness> {
    model_of_key(at.string()?).ok_or_else(|| at.bad("`sc`, `tso`, `pso` or `pso-own`"))
}

fn explored(at: &At<'_>) -> Result<(Model, u64, u64), BadWitness> {
    let number = |key: &str| at.get(key)?.integer("a number");
    Ok((model(&at.get("model")?)?, number("executions")?, number("steps")?))
}

fn schedule(at: &At<'_>, model: Model) -> Result<RunEvidence, BadWitness> {
    let bytes = |at: &At<'_>| match &at.list()?[..] {
        [first, length] => Ok((first.integer("an address")?, length.integer("a length")?)),
        _ => Err(at.bad("the first byte and a length")),
    };
    let wrong = match (at.find("failure"), at.find("pair"), at.find("transactions")) {
        (Some(kind), None, None) => Wrong::Failure(kind.string()?.to_owned()),
        (None, Some(places), None) => match &places.list()?[..] {
            [store, access] => {
                Wrong::Pair([store.string()?.to_owned(), access.string()?.to_owned()])
            }
            _ => return Err(places.bad("two places")),
        },
        (None, None, Some(yes)) if *yes.json == Json::Bool(true) => Wrong::Transactions,
        _ => return Err(at.bad("an object with `failure`, `pair` or `transactions`")),
    };
    Ok(RunEvidence::Schedule {
        model,
        token: at.get("token")?.string()?.to_owned(),
        shared: at.get("shared")?.list()?.iter().map(bytes).collect::<Result<_, _>>()?,
        wrong,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{damaged, input_hash};
    use weakspot_core::Drain;

    fn witnesses() -> Vec<RunWitness> {
        let with = |evidence| RunWitness {
            input_hash: input_hash(b""),
            arguments: vec!["a b".to_owned(), "\"".to_owned()],
            options: vec!["--under".to_owned(), "tso".to_owned()],
            built: BuiltBy::Compiler,
            evidence,
        };
        let wrong = |wrong| {
            let token = "ws1_0x12_1x3".to_owned();
            let shared = vec![(4096, 8), (u64::MAX, 1)];
            with(RunEvidence::Schedule { model: Model::Tso, token, shared, wrong })
        };
        vec![
            wrong(Wrong::Failure("assertion".to_owned())),
            wrong(Wrong::Pair(["sb.c:7".to_owned(), "sb.c:8".to_owned()])),
            wrong(Wrong::Transactions),
            with(RunEvidence::Explored(vec![(Model::Sc, 6, 120), (Model::Pso(Drain::All), 0, 0)])),
            RunWitness { built: BuiltBy::Cargo, ..wrong(Wrong::Transactions) },
            RunWitness { built: BuiltBy::CargoTest, ..with(RunEvidence::Explored(Vec::new())) },
        ]
    }

    #[test]
    fn round_trips() {
        for right in witnesses() {
            assert_eq!(RunWitness::from_json(&right.to_json()), Ok(right));
        }
    }

    #[test]
    fn damaged_files() {
        for right in witnesses() {
            let text = right.to_json();
            for seed in 0..1_000 {
                if let Ok(read) = RunWitness::from_json(&damaged(text.as_bytes(), seed)) {
                    assert_eq!(RunWitness::from_json(&read.to_json()), Ok(read));
                }
            }
        }
    }

    /// The head of a file says what its evidence is for.
    #[test]
    fn heads_of_others() {
        let all = witnesses();
        for (right, from, to, expected) in [
            (&all[0], "\"violated\"", "\"holds\"", "verdict: expected the verdict that"),
            (&all[3], "\"holds\"", "\"violated\"", "verdict: expected the verdict that"),
            (&all[3], "\"sc,pso\"", "\"sc\"", "model: expected the models that"),
            (&all[3], "\"sc,pso\"", "\"pso,sc\"", "model: expected the models that"),
        ] {
            let wrong = right.to_json().replacen(from, to, 1);
            let error = RunWitness::from_json(&wrong).expect_err("another head").to_string();
            assert!(error.starts_with(expected), "{to}: {error}");
        }
    }
}
