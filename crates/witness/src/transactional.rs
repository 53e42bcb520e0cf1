//! Witness files of answers about histories of transactions.
//!
//! ```json
//! {
//!   "witness": 1,
//!   "question": "transactional",
//!   "input": "fnv1a64:cbf29ce484222325",
//!   "model": "read-atomic",
//!   "verdict": "violated",
//!   "evidence": {
//!     "cycle": [0, 2],
//!     "facts": [
//!       {"from":-1,"to":0,"why":"beginning"},
//!       {"from":0,"to":1,"why":"reads","read":3},
//!       {"from":0,"to":-1,"why":"older","read":2,"path":[1]}
//!     ]
//!   }
//! }
//! ```
//!
//! Transactions and operations are numbered from 0, session by session; -1 is what is there at
//! first. A fact says that `from` is committed before `to`: because of that (`beginning`), because
//! of their session (`session`), because operation `read` of `to` reads from `from` (`reads`),
//! because lists have the writes `first` and `second` in this order (`versions`), because `read` is
//! of `to` though its transaction sees `from` by the facts of `path` (`older`), or because `to`
//! overwrites what `from` has read, by the facts of `path` (`overwrites`).
//!
//! Other evidence: `{"order": [0, 1]}` is a commit order, `{"misread": "aborted", "read": 3}` a read
//! that is wrong by itself, and `{"searched": true}` says that all orders were tried.

use weakspot_core::transactional::{BEGINNING, Fact, Misread, Reason};
use weakspot_core::{TxnEvidence, TxnModel, Verdict};

use crate::file::{At, BadWitness, beginning, push_list};
use crate::keys::verdict_key;
use crate::object::Object;
use crate::strict::{document, nothing_else};

/// What the question is called in witness files.
pub const TRANSACTIONAL: &str = "transactional";

/// An answer about a history of transactions and why to believe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnHistoryWitness {
    /// The [`input_hash`](crate::input_hash) of the file.
    pub input_hash: String,
    /// Which history of the file, from 1.
    pub number: usize,
    /// Under which model.
    pub model: TxnModel,
    /// The answer, which is not unknown.
    pub verdict: Verdict,
    /// Its evidence.
    pub evidence: TxnEvidence,
}

const MISREADS: [(&str, Misread); 5] = [
    ("aborted", Misread::Aborted),
    ("intermediate", Misread::Intermediate),
    ("internal", Misread::Internal),
    ("duplicate", Misread::Duplicate),
    ("incompatible", Misread::Incompatible),
];

impl TxnHistoryWitness {
    /// The content of a witness file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let verdict = verdict_key(&self.verdict);
        let mut out = beginning(TRANSACTIONAL, &self.input_hash, self.model.key(), verdict);
        if self.number != 1 {
            out += &format!(",\n  \"history\": {}", self.number);
        }
        out += ",\n  \"evidence\": {\n";
        let numbers = |numbers: &[u32]| -> Vec<String> {
            let row = |row: &[u32]| row.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            numbers.chunks(20).map(row).collect()
        };
        match &self.evidence {
            TxnEvidence::Order(order) => push_list(&mut out, 4, "order", &numbers(order)),
            TxnEvidence::Cycle { facts, cycle } => {
                push_list(&mut out, 4, "cycle", &numbers(cycle));
                out += ",\n";
                let facts: Vec<String> = facts.iter().map(fact_json).collect();
                push_list(&mut out, 4, "facts", &facts);
            }
            TxnEvidence::Misread { op, what } => {
                let key = MISREADS.iter().find(|(_, of)| of == what).map_or("", |(key, _)| key);
                out += &format!("    \"misread\": \"{key}\",\n    \"read\": {op}");
            }
            TxnEvidence::Searched => out += "    \"searched\": true",
        }
        out += "\n  }\n}\n";
        out
    }

    /// Reads the content of a witness file.
    pub fn from_json(text: &str) -> Result<TxnHistoryWitness, BadWitness> {
        let json = document(text)?;
        let root = At::root(&json)?;
        let question = root.get("question")?;
        if question.string()? != TRANSACTIONAL {
            return Err(question.bad("`transactional`"));
        }
        let model = root.get("model")?;
        let key = model.string()?;
        let of_key = TxnModel::ALL.into_iter().find(|m| m.key() == key);
        let expected = "`read-committed`, `read-atomic`, `transactional-causal` or `serializable`";
        let verdict = root.get("verdict")?;
        let witness = TxnHistoryWitness {
            input_hash: root.get("input")?.string()?.to_owned(),
            number: match json.get("history") {
                None => 1,
                Some(_) => match root.get("history")? {
                    at if json["history"] == 0 => return Err(at.bad("the number of a history")),
                    at => at.integer("the number of a history")?,
                },
            },
            model: of_key.ok_or_else(|| model.bad(expected))?,
            verdict: match verdict.string()? {
                "holds" => Verdict::Holds,
                "violated" => Verdict::Violated,
                _ => return Err(verdict.bad("`holds` or `violated`")),
            },
            evidence: evidence(&root.get("evidence")?)?,
        };
        nothing_else(&json, &witness.to_json())?;
        Ok(witness)
    }
}

fn number_of(txn: u32) -> i64 {
    if txn == BEGINNING { -1 } else { txn.into() }
}

fn fact_json(fact: &Fact) -> String {
    let mut o = Object::new();
    o.raw("from", number_of(fact.from)).raw("to", number_of(fact.to));
    let list = |path: &[u32]| {
        let path: Vec<String> = path.iter().map(u32::to_string).collect();
        format!("[{}]", path.join(","))
    };
    match &fact.reason {
        Reason::Beginning => o.string("why", "beginning"),
        Reason::Session => o.string("why", "session"),
        Reason::Reads(read) => o.string("why", "reads").raw("read", read),
        Reason::Versions(first, second) => {
            o.string("why", "versions").raw("first", first).raw("second", second)
        }
        Reason::Older { read, path } => {
            o.string("why", "older").raw("read", read).raw("path", list(path))
        }
        Reason::Overwrites { read, path } => {
            o.string("why", "overwrites").raw("read", read).raw("path", list(path))
        }
    };
    o.end()
}

fn evidence(at: &At<'_>) -> Result<TxnEvidence, BadWitness> {
    if let Some(order) = at.find("order") {
        return Ok(TxnEvidence::Order(numbers(&order)?));
    }
    if let Some(cycle) = at.find("cycle") {
        let facts = at.get("facts")?.list()?.iter().map(fact).collect::<Result<_, _>>()?;
        return Ok(TxnEvidence::Cycle { facts, cycle: numbers(&cycle)? });
    }
    if let Some(misread) = at.find("misread") {
        let key = misread.string()?;
        let what = MISREADS.iter().find(|(of, _)| *of == key).map(|(_, what)| *what);
        let what = what.ok_or_else(|| misread.bad("what is wrong with a read"))?;
        return Ok(TxnEvidence::Misread { op: operation(&at.get("read")?)?, what });
    }
    match at.find("searched") {
        Some(_) => Ok(TxnEvidence::Searched),
        None => Err(at.bad("an object with `order`, `cycle`, `misread` or `searched`")),
    }
}

/// Millions of numbers are read without a path for each.
fn numbers(at: &At<'_>) -> Result<Vec<u32>, BadWitness> {
    let list = at.json.as_array().ok_or_else(|| at.bad("a list"))?;
    let number = |json: &serde_json::Value| u32::try_from(json.as_u64()?).ok();
    let numbers: Option<_> = list.iter().map(number).collect();
    numbers.ok_or_else(|| at.bad("a list of numbers"))
}

fn operation(at: &At<'_>) -> Result<u32, BadWitness> {
    at.integer("the number of an operation")
}

fn transaction(at: &At<'_>) -> Result<u32, BadWitness> {
    let what = "the number of a transaction, or -1";
    match at.integer::<i64>(what)? {
        -1 => Ok(BEGINNING),
        number => u32::try_from(number).map_err(|_| at.bad(what)),
    }
}

fn fact(at: &At<'_>) -> Result<Fact, BadWitness> {
    let read = || operation(&at.get("read")?);
    let path = || numbers(&at.get("path")?);
    let why = at.get("why")?;
    let reason = match why.string()? {
        "beginning" => Reason::Beginning,
        "session" => Reason::Session,
        "reads" => Reason::Reads(read()?),
        "versions" => {
            Reason::Versions(operation(&at.get("first")?)?, operation(&at.get("second")?)?)
        }
        "older" => Reason::Older { read: read()?, path: path()? },
        "overwrites" => Reason::Overwrites { read: read()?, path: path()? },
        _ => {
            return Err(
                why.bad("`beginning`, `session`, `reads`, `versions`, `older` or `overwrites`")
            );
        }
    };
    let (from, to) = (transaction(&at.get("from")?)?, transaction(&at.get("to")?)?);
    Ok(Fact { from, to, reason })
}
