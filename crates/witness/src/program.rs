//! Witness files: an answer with its evidence, to be checked again by someone who does not trust
//! the engine that found it.
//!
//! ```json
//! {
//!   "witness": 1,
//!   "question": "litmus",
//!   "input": "fnv1a64:cbf29ce484222325",
//!   "model": "tso",
//!   "verdict": "holds",
//!   "evidence": {
//!     "run": {
//!       "init": [0, 0],
//!       "steps": [
//!         {"thread":0,"edge":0,"choice":0},
//!         {"thread":0,"commit":1}
//!       ]
//!     }
//!   }
//! }
//! ```
//!
//! `witness` is the version of the format. A step either takes the edge of that number at the
//! control point where its thread stands (`choice` is the value that a nondeterministic
//! assignment takes, else 0), or commits the oldest buffered store of its thread to an address.
//! `init` holds one value per declared location. The other kind of evidence is `{"exhausted": {}}`; or
//! `abstracted`, with the class of counters of each location, and of each register at each point of
//! each thread (-1 is none), per class whether 0 has a place in it, and the size of gaps that are told apart, see
//! [`Abstraction`]; or `inductive`, a set of states out of which no step leads: `over` which states, `machine` or `pending`, how many,
//! and `packed`, the set in base 64, cut into lines. Of transactions under TSO, `buffered` says which reads count as reads of the buffer,
//! `exact` or `static`; without it the answer is about the static reading, which there was before. A file that has anything else is refused.

use std::fmt::Write;

use serde::Serialize;
use weakspot_core::certify::{Over, StateSet};
use weakspot_core::machine::{Schedule, Step};
use weakspot_core::serial::BufferedReads;
use weakspot_core::{Abstraction, Evidence, Model, ThreadId, Value, Verdict};

use crate::base64::{base64, bytes_of};
use crate::file::{At, BadWitness, beginning, buffered, push_buffered, push_list};
use crate::keys::{model_key, model_of_key, verdict_key};
use crate::limit::{limit_json, limit_of_json};
use crate::line::line;
use crate::strict::{document, nothing_else};

/// What the question about the transactions of a program is called in witness files: of logs it is another
/// one.
pub const SERIAL_PROGRAM: &str = "serial-program";

/// So many bytes of a set are on a line, without a rest in base 64.
const BYTES_OF_LINE: usize = 72;

/// An answer and why to believe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// What was asked, as in JSON answers: `litmus`, `reach`, ...
    pub question: String,
    /// The [`input_hash`](crate::input_hash) of the file that it was asked about.
    pub input_hash: String,
    /// Under which model.
    pub model: Model,
    /// Of transactions under TSO: which reads count as reads of the buffer.
    pub buffered: Option<BufferedReads>,
    /// The answer.
    pub verdict: Verdict,
    /// Its evidence.
    pub evidence: Evidence,
}

impl Witness {
    /// The content of a witness file, one step of a run per line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let verdict = verdict_key(&self.verdict);
        let mut out = beginning(&self.question, &self.input_hash, model_key(self.model), verdict);
        push_buffered(&mut out, self.buffered);
        if let Verdict::Unknown(limit) = &self.verdict {
            let _ = write!(out, ",\n  \"limit\": {}", limit_json(limit));
        }
        out.push_str(",\n  \"evidence\": {\n    ");
        push_evidence(&mut out, &self.evidence);
        out.push_str("\n  }\n}\n");
        out
    }

    /// Reads the content of a witness file.
    pub fn from_json(text: &str) -> Result<Witness, BadWitness> {
        let json = document(text)?;
        let root = At::root(&json)?;
        let model = root.get("model")?;
        let verdict = root.get("verdict")?;
        let witness = Witness {
            question: root.get("question")?.string()?.to_owned(),
            input_hash: root.get("input")?.string()?.to_owned(),
            model: model_of_key(model.string()?)
                .ok_or_else(|| model.bad("`sc`, `tso`, `pso` or `pso-own`"))?,
            buffered: buffered(&root)?,
            verdict: match verdict.string()? {
                "holds" => Verdict::Holds,
                "violated" => Verdict::Violated,
                "unknown" => {
                    let limit = root.get("limit")?;
                    Verdict::Unknown(limit_of_json(limit.json).ok_or_else(|| limit.bad("a limit"))?)
                }
                _ => return Err(verdict.bad("`holds`, `violated` or `unknown`")),
            },
            evidence: evidence(&root.get("evidence")?)?,
        };
        nothing_else(&json, &witness.to_json())?;
        Ok(witness)
    }
}

pub(crate) fn push_evidence(out: &mut String, evidence: &Evidence) {
    match evidence {
        // How much an engine visited is for nobody to check.
        Evidence::Exhausted { .. } => out.push_str("\"exhausted\": {}"),
        Evidence::Abstracted { abstraction, .. } => push_abstraction(out, abstraction),
        Evidence::Inductive(set) => push_set(out, set),
        Evidence::Run(schedule) => push_run(out, schedule),
    }
}

/// The classes of counters; -1 is none.
fn push_abstraction(out: &mut String, abstraction: &Abstraction) {
    let Abstraction { regs, locs, zero, gap } = abstraction;
    let numbers = |classes: &[Option<u32>]| {
        line(&classes.iter().map(|c| c.map_or(-1, i64::from)).collect::<Vec<i64>>())
    };
    let of_thread = |points: &Vec<Vec<Option<u32>>>| {
        let points: Vec<String> = points.iter().map(|classes| numbers(classes)).collect();
        format!("[{}]", points.join(", "))
    };
    let regs: Vec<String> = regs.iter().map(of_thread).collect();
    let _ = write!(
        out,
        "\"abstracted\": {{\n      \"gap\": {gap},\n      \
         \"zero\": {},\n      \"locations\": {},\n      \"registers\": [{}]\n    }}",
        line(&zero.iter().map(|&zero| u8::from(zero)).collect::<Vec<u8>>()),
        numbers(locs),
        regs.join(", ")
    );
}

fn push_set(out: &mut String, set: &StateSet) {
    let over = match set.over {
        Over::Machine => "machine",
        Over::Pending => "pending",
    };
    let _ = writeln!(
        out,
        "\"inductive\": {{\n      \"over\": \"{over}\",\n      \"states\": {},",
        set.states
    );
    let lines: Vec<String> =
        set.packed.chunks(BYTES_OF_LINE).map(|bytes| format!("\"{}\"", base64(bytes))).collect();
    push_list(out, 6, "packed", &lines);
    out.push_str("\n    }");
}

fn push_run(out: &mut String, schedule: &Schedule) {
    out.push_str("\"run\": {\n      \"init\": [");
    for (i, value) in schedule.init.iter().enumerate() {
        let _ = write!(out, "{}{value}", if i == 0 { "" } else { ", " });
    }
    out.push_str("],\n      \"steps\": [");
    for (i, step) in schedule.steps.iter().enumerate() {
        let _ =
            write!(out, "{}\n        {}", if i == 0 { "" } else { "," }, line(&StepJson::of(step)));
    }
    out.push_str(if schedule.steps.is_empty() { "]\n    }" } else { "\n      ]\n    }" });
}

/// A step of a schedule as JSON.
#[derive(Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "as in the file, which the head of this one describes")]
pub enum StepJson {
    Execute { thread: u32, edge: u32, choice: Value },
    Commit { thread: u32, commit: Value },
}

impl StepJson {
    /// One step.
    #[must_use]
    pub fn of(step: &Step) -> StepJson {
        match *step {
            Step::Execute { thread, edge, choice } => {
                StepJson::Execute { thread: thread.0, edge, choice }
            }
            Step::Commit { thread, addr } => StepJson::Commit { thread: thread.0, commit: addr },
        }
    }

    /// The steps of a run.
    #[must_use]
    pub fn all(schedule: &Schedule) -> Vec<StepJson> {
        schedule.steps.iter().map(StepJson::of).collect()
    }
}

pub(crate) fn evidence(at: &At<'_>) -> Result<Evidence, BadWitness> {
    if let Some(set) = at.find("inductive") {
        return Ok(Evidence::Inductive(state_set(&set)?));
    }
    match (at.find("run"), at.find("exhausted"), at.find("abstracted")) {
        (Some(run), None, None) => Ok(Evidence::Run(schedule(&run)?)),
        (None, Some(_), None) => Ok(Evidence::Exhausted { states: 0 }),
        (None, None, Some(abstracted)) => {
            Ok(Evidence::Abstracted { states: 0, abstraction: abstraction(&abstracted)? })
        }
        _ => Err(at.bad("an object with `run`, `exhausted`, `abstracted` or `inductive`")),
    }
}

pub(crate) fn schedule(run: &At<'_>) -> Result<Schedule, BadWitness> {
    let (init, steps) = (run.get("init")?.list()?, run.get("steps")?.list()?);
    let value = |v: &At<'_>| v.integer::<Value>("a 64-bit integer");
    Ok(Schedule {
        init: init.iter().map(value).collect::<Result<_, _>>()?,
        steps: steps.iter().map(step).collect::<Result<_, _>>()?,
    })
}

fn state_set(at: &At<'_>) -> Result<StateSet, BadWitness> {
    let over = at.get("over")?;
    let mut packed = Vec::new();
    for line in at.get("packed")?.list()? {
        let bytes = bytes_of(line.string()?).ok_or_else(|| line.bad("bytes in base 64"))?;
        packed.extend(bytes);
    }
    Ok(StateSet {
        over: match over.string()? {
            "machine" => Over::Machine,
            "pending" => Over::Pending,
            _ => return Err(over.bad("`machine` or `pending`")),
        },
        states: at.get("states")?.integer("a number of states")?,
        packed,
    })
}

fn abstraction(at: &At<'_>) -> Result<Abstraction, BadWitness> {
    let classes = |at: &At<'_>| -> Result<Vec<Option<u32>>, BadWitness> {
        let class = |c: &At<'_>| {
            let class: i64 = c.integer("the number of a class, or -1")?;
            Ok(u32::try_from(class).ok())
        };
        at.list()?.iter().map(class).collect()
    };
    let of_thread =
        |at: &At<'_>| -> Result<Vec<_>, BadWitness> { at.list()?.iter().map(classes).collect() };
    let is_one = |at: &At<'_>| at.integer::<u8>("0 or 1").map(|n| n != 0);
    Ok(Abstraction {
        regs: at.get("registers")?.list()?.iter().map(of_thread).collect::<Result<_, _>>()?,
        locs: classes(&at.get("locations")?)?,
        zero: at.get("zero")?.list()?.iter().map(is_one).collect::<Result<_, _>>()?,
        gap: at.get("gap")?.integer("a size")?,
    })
}

fn step(at: &At<'_>) -> Result<Step, BadWitness> {
    let thread = ThreadId(at.get("thread")?.integer("the number of a thread")?);
    match (at.find("edge"), at.find("commit")) {
        (Some(edge), None) => Ok(Step::Execute {
            thread,
            edge: edge.integer("the number of an edge")?,
            choice: match at.find("choice") {
                Some(choice) => choice.integer("a 64-bit integer")?,
                None => 0,
            },
        }),
        (None, Some(addr)) => Ok(Step::Commit { thread, addr: addr.integer("an address")? }),
        _ => Err(at.bad("an object with either `edge` or `commit`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::damaged;
    use crate::file::input_hash;
    use expect_test::expect;
    use std::time::Duration;
    use weakspot_core::{Drain, Limit};

    fn run() -> Schedule {
        let step = |thread| Step::Execute { thread: ThreadId(thread), edge: 0, choice: 0 };
        let commit = Step::Commit { thread: ThreadId(0), addr: 1 };
        Schedule { init: vec![0; 3], steps: vec![step(0), step(0), step(1), commit] }
    }

    fn witness() -> Witness {
        Witness {
            question: "litmus".to_owned(),
            input_hash: input_hash(b""),
            model: Model::Tso,
            buffered: None,
            verdict: Verdict::Holds,
            evidence: Evidence::Run(run()),
        }
    }

    #[test]
    fn round_trips() {
        let w = witness();
        expect![[r#"
            {
              "witness": 1,
              "question": "litmus",
              "input": "fnv1a64:cbf29ce484222325",
              "model": "tso",
              "verdict": "holds",
              "evidence": {
                "run": {
                  "init": [0, 0, 0],
                  "steps": [
                    {"thread":0,"edge":0,"choice":0},
                    {"thread":0,"edge":0,"choice":0},
                    {"thread":1,"edge":0,"choice":0},
                    {"thread":0,"commit":1}
                  ]
                }
              }
            }
        "#]]
        .assert_eq(&w.to_json());
        let extreme = Schedule {
            init: vec![Value::MIN, Value::MAX],
            steps: vec![
                Step::Execute { thread: ThreadId(u32::MAX), edge: u32::MAX, choice: Value::MIN },
                Step::Commit { thread: ThreadId(0), addr: Value::MAX },
            ],
        };
        let exhausted = Witness {
            question: "a \"question\"\n".to_owned(),
            verdict: Verdict::Violated,
            evidence: Evidence::Exhausted { states: 0 },
            ..w.clone()
        };
        expect![[r#"
            {
              "witness": 1,
              "question": "a \"question\"\n",
              "input": "fnv1a64:cbf29ce484222325",
              "model": "tso",
              "verdict": "violated",
              "evidence": {
                "exhausted": {}
              }
            }
        "#]]
        .assert_eq(&exhausted.to_json());
        let abstraction = Abstraction {
            regs: vec![vec![vec![None, Some(1)], vec![Some(0), None]], vec![vec![]]],
            locs: vec![Some(0), None],
            zero: vec![true, false],
            gap: 4,
        };
        let evidence = Evidence::Abstracted { states: 0, abstraction };
        let abstracted = Witness { question: "reach".to_owned(), evidence, ..w.clone() };
        expect![[r#"
            {
              "witness": 1,
              "question": "reach",
              "input": "fnv1a64:cbf29ce484222325",
              "model": "tso",
              "verdict": "holds",
              "evidence": {
                "abstracted": {
                  "gap": 4,
                  "zero": [1,0],
                  "locations": [0,-1],
                  "registers": [[[-1,1], [0,-1]], [[]]]
                }
              }
            }
        "#]]
        .assert_eq(&abstracted.to_json());
        let set = StateSet { over: Over::Pending, states: 2, packed: (0..100).collect() };
        let evidence = Evidence::Inductive(set);
        let inductive = Witness { question: "robust".to_owned(), evidence, ..w.clone() };
        expect![[r#"
            {
              "witness": 1,
              "question": "robust",
              "input": "fnv1a64:cbf29ce484222325",
              "model": "tso",
              "verdict": "holds",
              "evidence": {
                "inductive": {
                  "over": "pending",
                  "states": 2,
                  "packed": [
                    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZH",
                    "SElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiYw=="
                  ]
                }
              }
            }
        "#]]
        .assert_eq(&inductive.to_json());
        let limit = Limit::Time(Duration::from_millis(1500));
        let empty = Schedule { init: Vec::new(), steps: Vec::new() };
        for w in [
            w.clone(),
            Witness { evidence: Evidence::Run(extreme), ..w.clone() },
            Witness { evidence: Evidence::Run(empty), ..w.clone() },
            Witness { model: Model::Pso(Drain::Own), ..w.clone() },
            Witness { verdict: Verdict::Unknown(limit), ..w },
            exhausted,
            abstracted,
            inductive,
        ] {
            assert_eq!(Witness::from_json(&w.to_json()), Ok(w));
        }
    }

    #[test]
    fn bad_witnesses() {
        let good = witness().to_json();
        let check = |from: &str, to: &str, expected: &str| {
            assert!(good.contains(from), "{from}");
            let error = Witness::from_json(&good.replacen(from, to, 1)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check(
            "\"witness\": 1",
            "\"witness\": 2",
            "witness: expected the number 1; this witness is of another version",
        );
        check("\"witness\"", "\"x\"", "the witness: expected an object with `witness`");
        check("\"litmus\"", "7", "question: expected a string");
        check("\"tso\"", "\"x86\"", "model: expected `sc`, `tso`, `pso` or `pso-own`");
        check("\"holds\"", "\"maybe\"", "verdict: expected `holds`, `violated` or `unknown`");
        check("\"holds\"", "\"unknown\"", "the witness: expected an object with `limit`");
        check(
            "\"run\"",
            "\"walk\"",
            "evidence: expected an object with `run`, `exhausted`, `abstracted` or `inductive`",
        );
        check("[0, 0, 0]", "[0, 0.5]", "evidence.run.init[1]: expected a 64-bit integer");
        check("[0, 0, 0]", "0", "evidence.run.init: expected a list");
        check(
            "\"thread\":1",
            "\"thread\":-1",
            "evidence.run.steps[2].thread: expected the number of a thread",
        );
        check(
            "\"edge\":0",
            "\"edge\":4294967296",
            "evidence.run.steps[0].edge: expected the number of an edge",
        );
        check(
            "\"edge\"",
            "\"wedge\"",
            "evidence.run.steps[0]: expected an object with either `edge` or `commit`",
        );
        check("{\n", "", "trailing characters at line 1 column 12");
        assert!(Witness::from_json(&"[".repeat(100_000)).is_err());
        assert!(Witness::from_json("").is_err());
    }

    /// Damaged files are refused or understood, never a crash.
    #[test]
    fn mutations() {
        let good = witness().to_json().into_bytes();
        for seed in 0..5000 {
            if let Ok(w) = Witness::from_json(&damaged(&good, seed)) {
                assert_eq!(Witness::from_json(&w.to_json()), Ok(w));
            }
        }
    }
}
