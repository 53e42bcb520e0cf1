//! Witness files of answers about transactions.
//!
//! ```json
//! {
//!   "witness": 1,
//!   "question": "serial",
//!   "input": "fnv1a64:cbf29ce484222325",
//!   "model": "tso",
//!   "verdict": "violated",
//!   "buffered": "exact",
//!   "evidence": {
//!     "trace": null, "of": "execution",
//!     "cycle": [{"from":1,"to":4}, {"from":5,"to":9}]
//!   }
//! }
//! ```
//!
//! Under TSO `buffered` says which reads count as reads of the buffer, `exact` or `static`; witnesses
//! without it are about the static reading, which there was before. `trace` is the place, from 0, of the trace in a log that has several. `of` is what the log was taken
//! for: an `execution`, or a `trace`, and then `commits` says where its stores reach memory: `before`
//! which event of the trace the oldest store of which `thread` does (threads go by the order in which
//! the log first names them, from 0). A cycle names events of the execution, with the commits, from 1;
//! an access of several variables is as many events. The evidence for `holds` is `order`: the
//! transactions, numbered from 0 as they begin, in a serial order. For a trace it is `groups`: the
//! transactions in groups between which conflicts lead in one direction only, each with `why` it has no
//! cycle: it is `single`; its transactions are `events`, each a single one; its conflicts are a `tree`;
//! each has one of the `points` in time, an event of the trace; all was `searched`;
//! or a proof, with the meaning of its variables (`on` a transaction, `uses` a conflict of two events,
//! or the `first` side of one, that a read finds its own store `overwritten`, or which store
//! `overwrites` that of which read), its clauses, and its steps as in LRAT.

use std::fmt::Write;

use serde_json::Value as Json;
use weakspot_core::Model;
use weakspot_core::serial::{BufferedReads, NoCycle, TxnCycle, TxnGroup, TxnRefutation, TxnVar};

use crate::file::{At, BadWitness, beginning, buffered, push_buffered, push_list};
use crate::history::{lrat_of_text, lrat_text};
use crate::keys::{model_key, model_of_key};
use crate::strict::{document, nothing_else};

/// An answer about transactions and why to believe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialWitness {
    /// The [`input_hash`](crate::input_hash) of the log.
    pub input_hash: String,
    /// Under which model.
    pub model: Model,
    /// Which reads count as reads of the buffer; `None` under SC.
    pub buffered: Option<BufferedReads>,
    /// Which trace of the log, if it has several.
    pub trace: Option<usize>,
    /// The commits that a trace was given; `None` for an execution.
    pub commits: Option<Vec<PlacedCommit>>,
    /// Why.
    pub evidence: SerialEvidence,
}

/// A commit that a trace was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedCommit {
    /// Before this event of the trace, from 0.
    pub before: u64,
    /// Whose oldest store reaches memory.
    pub thread: u32,
}

/// Why an answer is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SerialEvidence {
    /// A cycle of transactions.
    Cycle(TxnCycle),
    /// An order of them.
    Order(Vec<u32>),
    /// Groups of them, each with why it has no cycle.
    Groups(Vec<TxnGroup>),
}

impl SerialWitness {
    /// The content of a witness file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let verdict = match self.evidence {
            SerialEvidence::Cycle(_) => "violated",
            SerialEvidence::Order(_) | SerialEvidence::Groups(_) => "holds",
        };
        let mut out = beginning("serial", &self.input_hash, model_key(self.model), verdict);
        push_buffered(&mut out, self.buffered);
        let trace = self.trace.map_or("null".to_owned(), |trace| trace.to_string());
        let of = if self.commits.is_some() { "trace" } else { "execution" };
        let _ = writeln!(out, ",\n  \"evidence\": {{\n    \"trace\": {trace}, \"of\": \"{of}\",");
        if let Some(commits) = &self.commits {
            let commit = |c: &PlacedCommit| {
                format!("{{\"before\":{},\"thread\":{}}}", c.before + 1, c.thread)
            };
            let commits: Vec<String> = commits.iter().map(commit).collect();
            push_list(&mut out, 4, "commits", &commits);
            out.push_str(",\n");
        }
        match &self.evidence {
            SerialEvidence::Cycle(TxnCycle(edges)) => {
                let edge = |&(from, to): &(u64, u64)| {
                    format!("{{\"from\":{},\"to\":{}}}", from + 1, to + 1)
                };
                let edges: Vec<String> = edges.iter().map(edge).collect();
                push_list(&mut out, 4, "cycle", &edges);
            }
            SerialEvidence::Order(order) => {
                let order: Vec<String> = order.iter().map(u32::to_string).collect();
                let _ = write!(out, "    \"order\": [{}]", order.join(","));
            }
            SerialEvidence::Groups(groups) => {
                let groups: Vec<String> = groups.iter().map(group_json).collect();
                push_list(&mut out, 4, "groups", &groups);
            }
        }
        out.push_str("\n  }\n}\n");
        out
    }

    /// Reads the content of a witness file.
    pub fn from_json(text: &str) -> Result<SerialWitness, BadWitness> {
        let json = document(text)?;
        let root = At::root(&json)?;
        let model = root.get("model")?;
        let model_of = model_of_key(model.string()?)
            .filter(|&model| matches!(model, Model::Sc | Model::Tso))
            .ok_or_else(|| model.bad("`sc` or `tso`"))?;
        let evidence = root.get("evidence")?;
        let event = |at: &At<'_>| {
            let number: u64 = at.integer("the number of an event")?;
            number.checked_sub(1).ok_or_else(|| at.bad("the number of an event, from 1"))
        };
        let of = evidence.get("of")?;
        let commits = match of.string()? {
            "execution" => None,
            "trace" => {
                let commit = |at: &At<'_>| {
                    Ok(PlacedCommit {
                        before: event(&at.get("before")?)?,
                        thread: at.get("thread")?.integer("the number of a thread")?,
                    })
                };
                let list = evidence.get("commits")?.list()?;
                Some(list.iter().map(commit).collect::<Result<_, BadWitness>>()?)
            }
            _ => return Err(of.bad("`execution` or `trace`")),
        };
        let found = if let Some(cycle) = evidence.find("cycle") {
            let edge = |at: &At<'_>| Ok((event(&at.get("from")?)?, event(&at.get("to")?)?));
            let edges = cycle.list()?.iter().map(edge).collect::<Result<_, BadWitness>>()?;
            SerialEvidence::Cycle(TxnCycle(edges))
        } else if let Some(order) = evidence.find("order") {
            let txn = |at: &At<'_>| at.integer("the number of a transaction");
            let order = order.list()?.iter().map(txn).collect::<Result<_, BadWitness>>()?;
            SerialEvidence::Order(order)
        } else {
            let groups = evidence.get("groups")?.list()?;
            SerialEvidence::Groups(groups.iter().map(group).collect::<Result<_, BadWitness>>()?)
        };
        let verdict = root.get("verdict")?;
        let expected = match found {
            SerialEvidence::Cycle(_) => "violated",
            _ => "holds",
        };
        if verdict.string()? != expected {
            return Err(verdict.bad(&format!("`{expected}`, with this evidence")));
        }
        let place = evidence.get("trace")?;
        let witness = SerialWitness {
            input_hash: root.get("input")?.string()?.to_owned(),
            model: model_of,
            buffered: match (model_of, buffered(&root)?) {
                (Model::Sc, _) => None,
                (_, found) => Some(found.unwrap_or(BufferedReads::Static)),
            },
            trace: match place.json {
                Json::Null => None,
                _ => Some(place.integer("the number of a trace, or null")?),
            },
            commits,
            evidence: found,
        };
        nothing_else(&json, &witness.to_json())?;
        Ok(witness)
    }
}

fn group_json(group: &TxnGroup) -> String {
    let txns = numbers(&group.txns);
    let why = match &group.why {
        NoCycle::Single => "\"single\"".to_owned(),
        NoCycle::Tree => "\"tree\"".to_owned(),
        NoCycle::Events => "\"events\"".to_owned(),
        NoCycle::Points(points) => {
            let points: Vec<usize> = points.iter().map(|point| point + 1).collect();
            format!("{{\"points\":{}}}", numbers(&points))
        }
        // How much an engine visited is for nobody to check.
        NoCycle::Searched { .. } => "{\"searched\":{}}".to_owned(),
        NoCycle::Refuted(TxnRefutation { vars, clauses, proof }) => {
            let var = |var: &TxnVar| match var {
                TxnVar::On(txn) => format!("{{\"on\":{txn}}}"),
                TxnVar::Uses(from, to) => format!("{{\"uses\":[{},{}]}}", from + 1, to + 1),
                TxnVar::First(from, to) => format!("{{\"first\":[{},{}]}}", from + 1, to + 1),
                TxnVar::Overwritten(read) => format!("{{\"overwritten\":{}}}", read + 1),
                TxnVar::Overwrites(write, read) => {
                    format!("{{\"overwrites\":[{},{}]}}", write + 1, read + 1)
                }
            };
            let vars: Vec<String> = vars.iter().map(var).collect();
            let clauses: Vec<String> = clauses.iter().map(|clause| numbers(clause)).collect();
            let proof: Vec<String> =
                proof.iter().map(|step| format!("\"{}\"", lrat_text(step))).collect();
            format!(
                "{{\"vars\":[{}],\"clauses\":[{}],\"proof\":[{}]}}",
                vars.join(","),
                clauses.join(","),
                proof.join(",")
            )
        }
    };
    format!("{{\"txns\":{txns},\"why\":{why}}}")
}

fn numbers<T: ToString>(list: &[T]) -> String {
    format!("[{}]", list.iter().map(T::to_string).collect::<Vec<_>>().join(","))
}

fn group(at: &At<'_>) -> Result<TxnGroup, BadWitness> {
    let txn = |at: &At<'_>| at.integer("the number of a transaction");
    let why = at.get("why")?;
    let no_cycle = match why.json.as_str() {
        Some("single") => NoCycle::Single,
        Some("tree") => NoCycle::Tree,
        Some("events") => NoCycle::Events,
        Some(_) => return Err(why.bad("`single`, `tree`, `events`, `searched` or a proof")),
        None => match (why.find("searched"), why.find("points")) {
            (Some(_), _) => NoCycle::Searched { steps: 0 },
            (None, Some(points)) => NoCycle::Points(all(&points, event_number)?),
            (None, None) => NoCycle::Refuted(refutation(&why)?),
        },
    };
    Ok(TxnGroup { txns: all(&at.get("txns")?, txn)?, why: no_cycle })
}

fn event_number(at: &At<'_>) -> Result<usize, BadWitness> {
    let number: usize = at.integer("the number of an event")?;
    number.checked_sub(1).ok_or_else(|| at.bad("the number of an event, from 1"))
}

fn refutation(at: &At<'_>) -> Result<TxnRefutation, BadWitness> {
    let two = |at: &At<'_>| match all(at, event_number)?[..] {
        [from, to] => Ok((from, to)),
        _ => Err(at.bad("two events")),
    };
    let var = |at: &At<'_>| {
        if let Some(txn) = at.find("on") {
            return Ok(TxnVar::On(txn.integer("the number of a transaction")?));
        }
        if let Some(tie) = at.find("uses") {
            return two(&tie).map(|(from, to)| TxnVar::Uses(from, to));
        }
        if let Some(read) = at.find("overwritten") {
            return Ok(TxnVar::Overwritten(event_number(&read)?));
        }
        if let Some(overwrites) = at.find("overwrites") {
            return two(&overwrites).map(|(write, read)| TxnVar::Overwrites(write, read));
        }
        two(&at.get("first")?).map(|(from, to)| TxnVar::First(from, to))
    };
    let literal = |at: &At<'_>| at.integer("a literal");
    let clause = |at: &At<'_>| all(at, literal);
    let step =
        |at: &At<'_>| lrat_of_text(at.string()?).ok_or_else(|| at.bad("a step of an LRAT proof"));
    Ok(TxnRefutation {
        vars: all(&at.get("vars")?, var)?,
        clauses: all(&at.get("clauses")?, clause)?,
        proof: all(&at.get("proof")?, step)?,
    })
}

fn all<T>(
    at: &At<'_>,
    one: impl Fn(&At<'_>) -> Result<T, BadWitness>,
) -> Result<Vec<T>, BadWitness> {
    at.list()?.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::damaged;
    use weakspot_core::LratStep;

    fn witness() -> SerialWitness {
        SerialWitness {
            input_hash: "fnv1a64:cbf29ce484222325".to_owned(),
            model: Model::Tso,
            buffered: Some(BufferedReads::Exact),
            trace: None,
            commits: Some(vec![PlacedCommit { before: 2, thread: 1 }]),
            evidence: SerialEvidence::Cycle(TxnCycle(vec![(0, 3), (4, 8)])),
        }
    }

    fn groups() -> Vec<TxnGroup> {
        let proof = TxnRefutation {
            vars: vec![
                TxnVar::On(3),
                TxnVar::Uses(0, 4),
                TxnVar::First(1, 2),
                TxnVar::Overwritten(4),
                TxnVar::Overwrites(2, 4),
            ],
            clauses: vec![vec![1, -2], vec![-1], vec![2]],
            proof: vec![
                LratStep::Add { id: 4, clause: Vec::new(), hints: vec![1, 2, 3] },
                LratStep::Delete { ids: vec![1] },
            ],
        };
        let why = [
            NoCycle::Single,
            NoCycle::Tree,
            NoCycle::Events,
            NoCycle::Points(vec![0, 7]),
            NoCycle::Searched { steps: 0 },
            NoCycle::Refuted(proof),
        ];
        why.into_iter().map(|why| TxnGroup { txns: vec![1, 2], why }).collect()
    }

    #[test]
    fn round_trips() {
        let w = witness();
        for w in [
            w.clone(),
            SerialWitness { commits: None, trace: Some(7), ..w.clone() },
            SerialWitness { evidence: SerialEvidence::Order(vec![2, 0, 1]), ..w.clone() },
            SerialWitness { model: Model::Sc, buffered: None, ..w.clone() },
            SerialWitness { buffered: Some(BufferedReads::Static), ..w.clone() },
            SerialWitness { evidence: SerialEvidence::Groups(groups()), ..w },
        ] {
            assert_eq!(SerialWitness::from_json(&w.to_json()), Ok(w));
        }
    }

    /// Before there was a choice the reading was static.
    #[test]
    fn old_witnesses() {
        let json = witness().to_json().replace("\n  \"buffered\": \"exact\",", "");
        let old = SerialWitness::from_json(&json).map(|w| w.buffered);
        assert_eq!(old, Ok(Some(BufferedReads::Static)));
    }

    #[test]
    fn bad_witnesses() {
        let good = witness().to_json();
        let check = |from: &str, to: &str, expected: &str| {
            assert!(good.contains(from), "{from}");
            let error = SerialWitness::from_json(&good.replacen(from, to, 1)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check("\"violated\"", "\"holds\"", "verdict: expected `violated`, with this evidence");
        check(
            "\"from\":1",
            "\"from\":0",
            "evidence.cycle[0].from: expected the number of an event, from 1",
        );
        check("\"tso\"", "\"pso\"", "model: expected `sc` or `tso`");
        check("\"exact\"", "\"strict\"", "buffered: expected `exact` or `static`");
        check("\"cycle\"", "\"circle\"", "evidence: expected an object with `groups`");
    }

    /// Damaged files are refused or understood, never a crash.
    #[test]
    fn mutations() {
        let good = witness().to_json().into_bytes();
        for seed in 0..5000 {
            if let Ok(w) = SerialWitness::from_json(&damaged(&good, seed)) {
                assert_eq!(
                    SerialWitness::from_json(&w.to_json()).map(|w| w.evidence),
                    Ok(w.evidence)
                );
            }
        }
    }
}
