//! Witness files of answers about logs.
//!
//! ```json
//! {
//!   "witness": 1,
//!   "question": "monitor",
//!   "input": "fnv1a64:cbf29ce484222325",
//!   "model": "tso",
//!   "verdict": "violated",
//!   "evidence": {
//!     "delayed": {
//!       "trace": null, "store": 1, "access": 4,
//!       "commits": [{"before":3,"thread":0,"location":1}],
//!       "cycle": [{"from":1,"link":"po","to":2}]
//!     }
//!   }
//! }
//! ```
//!
//! Events are named by their places in the log, from 1. A commit says that just before an event the
//! oldest pending store of a thread to a location reaches memory; threads and locations go by the
//! order in which the log first names them, from 0. `trace` is the place, from 0, of the trace in a
//! log that has several. The evidence for `holds` is `{"none": {"trace": null, "pending": "all"}}`: the
//! log has to be gone through again.

use std::fmt::Write;

use serde_json::Value as Json;
use weakspot_core::cycle::{Arc, Link};
use weakspot_core::{DelayedCommit, DelayedRun, EventId, Model};

use crate::file::{At, BadWitness, beginning, push_list};
use crate::keys::{model_key, model_of_key};
use crate::object::Object;
use crate::strict::{document, nothing_else};

/// An answer about a log and why to believe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogWitness {
    /// The [`input_hash`](crate::input_hash) of the log.
    pub input_hash: String,
    /// Under which model.
    pub model: Model,
    /// Which trace of the log, if it has several.
    pub trace: Option<usize>,
    /// The run that shows a violation; `None` if nothing was reported.
    pub run: Option<DelayedRun>,
    /// Whether accesses were compared only with the last pending store to their location.
    pub last_only: bool,
}

/// Whether a text is a witness about a log, rather than about a program.
#[must_use]
pub fn is_log_witness(text: &str) -> bool {
    serde_json::from_str::<Json>(text).is_ok_and(|json| {
        json.get("evidence").is_some_and(|e| e.get("delayed").is_some() || e.get("none").is_some())
    })
}

impl LogWitness {
    /// The content of a witness file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let verdict = if self.run.is_some() { "violated" } else { "holds" };
        let mut out = beginning("monitor", &self.input_hash, model_key(self.model), verdict);
        out.push_str(",\n  \"evidence\": {\n");
        let trace = self.trace.map_or("null".to_owned(), |trace| trace.to_string());
        let Some(run) = &self.run else {
            let pending = if self.last_only { "last" } else { "all" };
            let none = format!("{{\"trace\": {trace}, \"pending\": \"{pending}\"}}");
            let _ = writeln!(out, "    \"none\": {none}\n  }}\n}}");
            return out;
        };
        let _ = writeln!(
            out,
            "    \"delayed\": {{\n      \"trace\": {trace}, \"store\": {}, \"access\": {},",
            run.store + 1,
            run.access + 1
        );
        let commit = |commit: &DelayedCommit| {
            let mut o = Object::new();
            o.raw("before", commit.before + 1).raw("thread", commit.thread);
            o.raw("location", commit.loc);
            o.end()
        };
        let arc = |arc: &Arc| {
            let mut o = Object::new();
            o.raw("from", u64::from(arc.from.0) + 1).string("link", arc.link.name());
            o.raw("to", u64::from(arc.to.0) + 1);
            o.end()
        };
        let commits: Vec<String> = run.commits.iter().map(commit).collect();
        let cycle: Vec<String> = run.cycle.iter().map(arc).collect();
        push_list(&mut out, 6, "commits", &commits);
        out.push_str(",\n");
        push_list(&mut out, 6, "cycle", &cycle);
        out.push_str("\n    }\n  }\n}\n");
        out
    }

    /// Reads the content of a witness file.
    pub fn from_json(text: &str) -> Result<LogWitness, BadWitness> {
        let json = document(text)?;
        let root = At::root(&json)?;
        let question = root.get("question")?;
        if question.string()? != "monitor" {
            return Err(question.bad("`monitor`"));
        }
        let model = root.get("model")?;
        let model_of = model_of_key(model.string()?)
            .filter(|&model| model != Model::Sc)
            .ok_or_else(|| model.bad("`tso`, `pso` or `pso-own`"))?;
        let evidence = root.get("evidence")?;
        let delayed = evidence.find("delayed");
        let verdict = root.get("verdict")?;
        let expected = if delayed.is_some() { "violated" } else { "holds" };
        if verdict.string()? != expected {
            return Err(verdict.bad(&format!("`{expected}`, with this evidence")));
        }
        let place = match &delayed {
            Some(delayed) => delayed.get("trace")?,
            None => evidence.get("none")?.get("trace")?,
        };
        let trace = match place.json {
            Json::Null => None,
            _ => Some(place.integer("the number of a trace, or null")?),
        };
        let witness = LogWitness {
            input_hash: root.get("input")?.string()?.to_owned(),
            model: model_of,
            trace,
            last_only: match evidence.find("none").and_then(|none| none.find("pending")) {
                Some(pending) => match pending.string()? {
                    "all" => false,
                    "last" => true,
                    _ => return Err(pending.bad("`all` or `last`")),
                },
                None => false,
            },
            run: delayed.map(|delayed| run(&delayed, model_of)).transpose()?,
        };
        nothing_else(&json, &witness.to_json())?;
        Ok(witness)
    }
}

fn run(at: &At<'_>, model: Model) -> Result<DelayedRun, BadWitness> {
    let event = |at: &At<'_>| {
        let number: usize = at.integer("the number of an event")?;
        let place = number.checked_sub(1).filter(|&place| u32::try_from(place).is_ok());
        place.ok_or_else(|| at.bad("the number of an event, from 1"))
    };
    let commit = |at: &At<'_>| {
        Ok(DelayedCommit {
            before: event(&at.get("before")?)?,
            thread: at.get("thread")?.integer("the number of a thread")?,
            loc: at.get("location")?.integer("the number of a location")?,
        })
    };
    let arc = |at: &At<'_>| {
        let link = at.get("link")?;
        Ok(Arc {
            from: EventId::new(event(&at.get("from")?)?),
            link: link_of(link.string()?)
                .ok_or_else(|| link.bad("`po`, `rf`, `co`, `fr`, `start` or `join`"))?,
            to: EventId::new(event(&at.get("to")?)?),
        })
    };
    Ok(DelayedRun {
        model,
        store: event(&at.get("store")?)?,
        access: event(&at.get("access")?)?,
        commits: at.get("commits")?.list()?.iter().map(commit).collect::<Result<_, _>>()?,
        cycle: at.get("cycle")?.list()?.iter().map(arc).collect::<Result<_, _>>()?,
    })
}

fn link_of(name: &str) -> Option<Link> {
    let links = [Link::Po, Link::Rf, Link::Co, Link::Fr, Link::Start, Link::Join];
    links.into_iter().find(|link| link.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::damaged;

    fn witness() -> LogWitness {
        let arc = |from, link, to| Arc { from: EventId::new(from), link, to: EventId::new(to) };
        LogWitness {
            input_hash: "fnv1a64:cbf29ce484222325".to_owned(),
            model: Model::Tso,
            trace: None,
            last_only: false,
            run: Some(DelayedRun {
                model: Model::Tso,
                store: 0,
                access: 3,
                commits: vec![DelayedCommit { before: 2, thread: 0, loc: 1 }],
                cycle: vec![
                    arc(0, Link::Po, 1),
                    arc(1, Link::Fr, 2),
                    arc(2, Link::Start, 3),
                    arc(3, Link::Fr, 0),
                ],
            }),
        }
    }

    #[test]
    fn round_trips() {
        let w = witness();
        for w in [
            w.clone(),
            LogWitness { run: None, trace: Some(7), ..w.clone() },
            LogWitness { run: None, last_only: true, ..w.clone() },
            LogWitness { trace: Some(0), ..w },
        ] {
            assert!(is_log_witness(&w.to_json()));
            assert_eq!(LogWitness::from_json(&w.to_json()), Ok(w));
        }
    }

    #[test]
    fn bad_witnesses() {
        let good = witness().to_json();
        let check = |from: &str, to: &str, expected: &str| {
            assert!(good.contains(from), "{from}");
            let error = LogWitness::from_json(&good.replacen(from, to, 1)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check("\"violated\"", "\"holds\"", "verdict: expected `violated`, with this evidence");
        check(
            "\"store\": 1",
            "\"store\": 0",
            "evidence.delayed.store: expected the number of an event, from 1",
        );
        check(
            "\"link\":\"po\"",
            "\"link\":\"p\"",
            "evidence.delayed.cycle[0].link: expected `po`, `rf`, `co`, `fr`, `start` or `join`",
        );
        check("\"tso\"", "\"x\"", "model: expected `tso`, `pso` or `pso-own`");
        check("\"tso\"", "\"sc\"", "model: expected `tso`, `pso` or `pso-own`");
    }

    /// Damaged files are refused or understood, never a crash.
    #[test]
    fn mutations() {
        let good = witness().to_json().into_bytes();
        for seed in 0..5000 {
            if let Ok(w) = LogWitness::from_json(&damaged(&good, seed)) {
                let again = LogWitness::from_json(&w.to_json());
                assert_eq!(again.map(|w| w.run), Ok(w.run));
            }
        }
    }
}
