//! Witness files of answers about histories.
//!
//! ```json
//! {
//!   "witness": 1,
//!   "question": "history",
//!   "input": "fnv1a64:cbf29ce484222325",
//!   "model": "sc",
//!   "verdict": "violated",
//!   "history": 1,
//!   "evidence": {
//!     "cycle": {
//!       "within": "global",
//!       "edges": [
//!         {"from":0,"to":1,"why":"po"},
//!         {"from":1,"to":2,"why":"derived","by":0},
//!         {"from":2,"to":3,"why":"po"},
//!         {"from":3,"to":0,"why":"derived","by":1}
//!       ],
//!       "derivations": [
//!         {"rule":"overtaken","read":1,"within":"global","path":[{"from":-2,"to":2,"why":"po"}]},
//!         {"rule":"overtaken","read":3,"within":"global","path":[{"from":-1,"to":0,"why":"po"}]}
//!       ]
//!     }
//!   }
//! }
//! ```
//!
//! `history` is the place, from 1, of the history in its file. Operations are numbered from 0, first
//! all of the first thread, then all of the second one, and so on; threads and variables go by the
//! order in which the file first names them. A negative number -1-x is the initial write of
//! variable number x. An edge is there because of program order (`po`), because what comes later
//! reads what comes first (`wr`), because it ended before the other began (`rt`), because derivation number `by` says so (`derived`), or because it
//! is assumed (`assumed`, by a literal). The rules are `older`, `overtaken` and `ordered`.
//!
//! Other evidence: `{"run": {"steps": [0, 1, -1]}}`, where n is the operation that is done, and -1-n
//! the write that leaves its buffer; `{"cases": {"pairs": [[0, 4]], "conflicts": [...], "proof":
//! ["3 1 0 1 2 0"]}}`, where literal i means that the first write of pair number i, from 1, comes
//! first, -i that it does not; conflicts are cycles, and the steps of the proof stand as in LRAT
//! files; and `{"definition": true}` if the definition has to be evaluated again.
//!
//! Where values were written more than once and it is open what some reads read, the evidence is
//! `{"ways": [{"reads": [[3, 0], [4, -1]], "cycle": {...}}, ...]}`: each way says what these reads read, and has
//! evidence as above. One that satisfies the model is enough, or all of them violate it.

use serde_json::Value as Json;
use weakspot_core::{
    Derivation, History, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel, HistoryStep,
    HistoryWay, LratStep, Rule, Verdict, Why, Within, initial_write, initial_write_var,
};

use crate::file::{At, BadWitness, beginning, push_list};
use crate::keys::verdict_key;
use crate::object::Object;
use crate::strict::{document, nothing_else};

/// An answer about a history and why to believe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryWitness {
    /// The [`input_hash`](crate::input_hash) of the file.
    pub input_hash: String,
    /// Which history of the file, from 1.
    pub number: usize,
    /// Under which model.
    pub model: HistoryModel,
    /// The answer, which is not unknown.
    pub verdict: Verdict,
    /// Its evidence: one for each choice of what reads read, where that is open. The store order of a
    /// run is not written, because the run has it.
    pub ways: Vec<HistoryWay>,
}

/// The content of a witness file.
#[must_use]
pub fn history_witness_json(
    input_hash: &str,
    number: usize,
    model: HistoryModel,
    verdict: &Verdict,
    ways: &[HistoryWay],
) -> String {
    let mut out = beginning("history", input_hash, model.key(), verdict_key(verdict));
    out += &format!(",\n  \"history\": {number},\n  \"evidence\": {{\n");
    match ways {
        [HistoryWay { reads, evidence }] if reads.is_empty() => push_evidence(&mut out, evidence),
        _ => {
            let ways: Vec<String> = ways.iter().map(way_json).collect();
            push_list(&mut out, 4, "ways", &ways);
        }
    }
    out.push_str("\n  }\n}\n");
    out
}

fn way_json(way: &HistoryWay) -> String {
    let reads: Vec<String> =
        way.reads.iter().map(|&(r, w)| format!("[{r}, {}]", number_of(w))).collect();
    let mut out = format!("{{\"reads\": [{}],\n", reads.join(", "));
    push_evidence(&mut out, &way.evidence);
    out + "}"
}

fn push_evidence(out: &mut String, evidence: &HistoryEvidence) {
    match evidence {
        HistoryEvidence::Linear { steps, .. } => {
            out.push_str("    \"run\": {\n");
            let step = |step: &HistoryStep| match step.is_commit() {
                false => step.op().to_string(),
                true => (-1 - i64::from(step.op())).to_string(),
            };
            let lines: Vec<String> = steps
                .chunks(20)
                .map(|steps| steps.iter().map(step).collect::<Vec<_>>().join(", "))
                .collect();
            push_list(out, 6, "steps", &lines);
            out.push_str("\n    }");
        }
        HistoryEvidence::Cycle(cycle) => {
            out.push_str("    \"cycle\": {\n");
            *out += &format!("      \"within\": \"{}\",\n", within_key(cycle.within));
            let edges: Vec<String> = cycle.edges.iter().map(edge_json).collect();
            push_list(out, 6, "edges", &edges);
            out.push_str(",\n");
            let derivations: Vec<String> = cycle.derivations.iter().map(derivation_json).collect();
            push_list(out, 6, "derivations", &derivations);
            out.push_str("\n    }");
        }
        HistoryEvidence::Refuted { pairs, conflicts, proof } => {
            out.push_str("    \"cases\": {\n");
            let pairs: Vec<String> = pairs
                .iter()
                .map(|&(a, b)| format!("[{}, {}]", number_of(a), number_of(b)))
                .collect();
            push_list(out, 6, "pairs", &pairs);
            out.push_str(",\n");
            let conflicts: Vec<String> = conflicts.iter().map(cycle_json).collect();
            push_list(out, 6, "conflicts", &conflicts);
            out.push_str(",\n");
            let proof: Vec<String> =
                proof.iter().map(|step| format!("\"{}\"", lrat_text(step))).collect();
            push_list(out, 6, "proof", &proof);
            out.push_str("\n    }");
        }
        HistoryEvidence::ByDefinition => out.push_str("    \"definition\": true"),
    }
}

impl HistoryWitness {
    /// Reads the content of a witness file. The store order of a run is empty until
    /// [`complete`](HistoryWitness::complete) is called.
    pub fn from_json(text: &str) -> Result<HistoryWitness, BadWitness> {
        let json = document(text)?;
        let root = At::root(&json)?;
        let question = root.get("question")?;
        if question.string()? != "history" {
            return Err(question.bad("`history`"));
        }
        let model = root.get("model")?;
        let key = model.string()?;
        let of_key = HistoryModel::from_key(key);
        let verdict = root.get("verdict")?;
        let number = root.get("history")?;
        let witness = HistoryWitness {
            input_hash: root.get("input")?.string()?.to_owned(),
            number: number.integer("the number of a history")?,
            model: of_key.ok_or_else(|| {
                model.bad("`cc`, `ccv`, `cm`, `ccm`, `wccm`, `coherence`, `pso`, `pso-own`, `tso`, `tso-rt`, `sc` or `lin`")
            })?,
            verdict: match verdict.string()? {
                "holds" => Verdict::Holds,
                "violated" => Verdict::Violated,
                _ => return Err(verdict.bad("`holds` or `violated`")),
            },
            ways: ways(&root.get("evidence")?)?,
        };
        let HistoryWitness { input_hash, number, model, verdict, ways } = &witness;
        nothing_else(&json, &history_witness_json(input_hash, *number, *model, verdict, ways))?;
        Ok(witness)
    }

    /// Adds to a run the order in which it writes to memory.
    pub fn complete(&mut self, ops: &History) {
        self.ways.iter_mut().for_each(|way| complete(&mut way.evidence, ops));
    }
}

fn complete(evidence: &mut HistoryEvidence, ops: &History) {
    let HistoryEvidence::Linear { store_order, steps } = evidence else { return };
    let buffered = steps.iter().any(|step| step.is_commit());
    *store_order = vec![Vec::new(); ops.vars()];
    for &step in steps.iter() {
        let op = step.op();
        if op as usize >= ops.len() || !ops.writes(op) {
            continue;
        }
        // Behind buffers only updates write to memory at once.
        if step.is_commit() || !buffered || ops.reads(op) {
            store_order[ops.var(op) as usize].push(op);
        }
    }
}

/// An operation, or an initial write as a negative number.
fn number_of(node: u32) -> i64 {
    match initial_write_var(node) {
        Some(var) => -1 - i64::from(var),
        None => node.into(),
    }
}

fn within_key(within: Within) -> &'static str {
    match within {
        Within::Global => "global",
        Within::Local => "local",
    }
}

fn edge_json(edge: &HistoryEdge) -> String {
    let mut o = Object::new();
    o.raw("from", number_of(edge.from)).raw("to", number_of(edge.to));
    match edge.why {
        Why::Po => o.string("why", "po"),
        Why::Rf => o.string("why", "wr"),
        Why::Rt => o.string("why", "rt"),
        Why::Derived(index) => o.string("why", "derived").raw("by", index),
        Why::Chosen(literal) => o.string("why", "assumed").raw("by", literal),
    };
    o.end()
}

fn path_json(path: &[HistoryEdge]) -> String {
    let edges: Vec<String> = path.iter().map(edge_json).collect();
    format!("[{}]", edges.join(","))
}

fn derivation_json(derivation: &Derivation) -> String {
    let mut o = Object::new();
    match derivation.rule {
        Rule::Older => o.string("rule", "older"),
        Rule::Overtaken { read } => o.string("rule", "overtaken").raw("read", read),
        Rule::Ordered => o.string("rule", "ordered"),
    };
    o.string("within", within_key(derivation.within)).raw("path", path_json(&derivation.path));
    o.end()
}

fn cycle_json(cycle: &HistoryCycle) -> String {
    let derivations: Vec<String> = cycle.derivations.iter().map(derivation_json).collect();
    let mut o = Object::new();
    o.string("within", within_key(cycle.within)).raw("edges", path_json(&cycle.edges));
    o.raw("derivations", format_args!("[{}]", derivations.join(",")));
    o.end()
}

pub(crate) fn lrat_text(step: &LratStep) -> String {
    let join = |numbers: &mut dyn Iterator<Item = String>| {
        numbers.chain(["0".to_owned()]).collect::<Vec<_>>().join(" ")
    };
    match step {
        LratStep::Add { id, clause, hints } => format!(
            "{id} {} {}",
            join(&mut clause.iter().map(ToString::to_string)),
            join(&mut hints.iter().map(ToString::to_string))
        ),
        LratStep::Delete { ids } => {
            format!("0 d {}", join(&mut ids.iter().map(ToString::to_string)))
        }
    }
}

pub(crate) fn lrat_of_text(text: &str) -> Option<LratStep> {
    let mut words = text.split_ascii_whitespace().peekable();
    let id = words.next()?.parse().ok()?;
    if words.next_if_eq(&"d").is_some() {
        let ids = up_to_zero(&mut words)?;
        return words.next().is_none().then_some(LratStep::Delete { ids });
    }
    let clause = up_to_zero(&mut words)?;
    let hints = up_to_zero(&mut words)?;
    words.next().is_none().then_some(LratStep::Add { id, clause, hints })
}

fn up_to_zero<T: std::str::FromStr>(words: &mut dyn Iterator<Item = &str>) -> Option<Vec<T>> {
    let mut numbers = Vec::new();
    loop {
        match words.next()? {
            "0" => return Some(numbers),
            word => numbers.push(word.parse().ok()?),
        }
    }
}

/// One way without choices, or one for each choice.
fn ways(at: &At<'_>) -> Result<Vec<HistoryWay>, BadWitness> {
    let read = |at: &At<'_>| match &at.list()?[..] {
        [read, write] => Ok((read.integer("the number of an operation")?, node(write)?)),
        _ => Err(at.bad("a read and what it reads")),
    };
    let way = |at: &At<'_>| {
        Ok(HistoryWay { reads: all(&at.get("reads")?, read)?, evidence: evidence(at)? })
    };
    match at.find("ways") {
        Some(list) => all(&list, way),
        None => Ok(vec![HistoryWay { reads: Vec::new(), evidence: evidence(at)? }]),
    }
}

fn evidence(at: &At<'_>) -> Result<HistoryEvidence, BadWitness> {
    if let Some(run) = at.find("run") {
        let list = run.get("steps")?;
        let step = |json: &Json| {
            let number = json.as_i64()?;
            let op = if number < 0 { -1 - number } else { number };
            let op = u32::try_from(op).ok()?;
            Some(if number < 0 { HistoryStep::commit(op) } else { HistoryStep::issue(op) })
        };
        // Millions of steps are read without a path for each.
        let steps = list.json.as_array().ok_or_else(|| list.bad("a list"))?.iter().map(step);
        let steps = steps.collect::<Option<_>>();
        let steps = steps.ok_or_else(|| list.bad("a list of numbers of operations"))?;
        return Ok(HistoryEvidence::Linear { store_order: Vec::new(), steps });
    }
    if let Some(at) = at.find("cycle") {
        return Ok(HistoryEvidence::Cycle(cycle(&at)?));
    }
    if let Some(cases) = at.find("cases") {
        let pair = |at: &At<'_>| match &at.list()?[..] {
            [a, b] => Ok((node(a)?, node(b)?)),
            _ => Err(at.bad("two operations")),
        };
        let step = |at: &At<'_>| {
            lrat_of_text(at.string()?).ok_or_else(|| at.bad("a step of an LRAT proof"))
        };
        return Ok(HistoryEvidence::Refuted {
            pairs: all(&cases.get("pairs")?, pair)?,
            conflicts: all(&cases.get("conflicts")?, cycle)?,
            proof: all(&cases.get("proof")?, step)?,
        });
    }
    match at.find("definition") {
        Some(_) => Ok(HistoryEvidence::ByDefinition),
        None => Err(at.bad("an object with `run`, `cycle`, `cases` or `definition`")),
    }
}

fn all<T>(
    at: &At<'_>,
    read: impl Fn(&At<'_>) -> Result<T, BadWitness>,
) -> Result<Vec<T>, BadWitness> {
    at.list()?.iter().map(read).collect()
}

fn node(at: &At<'_>) -> Result<u32, BadWitness> {
    let what = "the number of an operation";
    let number: i64 = at.integer(what)?;
    let most = History::MOST as i64;
    match number {
        0.. if number <= most => Ok(number as u32),
        ..0 if -1 - number <= most => Ok(initial_write((-1 - number) as u32)),
        _ => Err(at.bad(what)),
    }
}

fn within(at: &At<'_>) -> Result<Within, BadWitness> {
    let at = at.get("within")?;
    match at.string()? {
        "global" => Ok(Within::Global),
        "local" => Ok(Within::Local),
        _ => Err(at.bad("`global` or `local`")),
    }
}

fn edge(at: &At<'_>) -> Result<HistoryEdge, BadWitness> {
    let why = at.get("why")?;
    let why = match why.string()? {
        "po" => Why::Po,
        "wr" => Why::Rf,
        "rt" => Why::Rt,
        "derived" => Why::Derived(at.get("by")?.integer("the number of a derivation")?),
        "assumed" => Why::Chosen(at.get("by")?.integer("a literal")?),
        _ => return Err(why.bad("`po`, `wr`, `rt`, `derived` or `assumed`")),
    };
    Ok(HistoryEdge { from: node(&at.get("from")?)?, to: node(&at.get("to")?)?, why })
}

fn derivation(at: &At<'_>) -> Result<Derivation, BadWitness> {
    let rule = at.get("rule")?;
    let rule = match rule.string()? {
        "older" => Rule::Older,
        "overtaken" => {
            Rule::Overtaken { read: at.get("read")?.integer("the number of an operation")? }
        }
        "ordered" => Rule::Ordered,
        _ => return Err(rule.bad("`older`, `overtaken` or `ordered`")),
    };
    Ok(Derivation { rule, within: within(at)?, path: all(&at.get("path")?, edge)? })
}

fn cycle(at: &At<'_>) -> Result<HistoryCycle, BadWitness> {
    Ok(HistoryCycle {
        derivations: all(&at.get("derivations")?, derivation)?,
        within: within(at)?,
        edges: all(&at.get("edges")?, edge)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::damaged;

    fn a_cycle() -> HistoryCycle {
        let edge = |from, to, why| HistoryEdge { from, to, why };
        HistoryCycle {
            derivations: vec![
                Derivation {
                    rule: Rule::Overtaken { read: 1 },
                    within: Within::Local,
                    path: vec![edge(initial_write(7), 2, Why::Po)],
                },
                Derivation {
                    rule: Rule::Older,
                    within: Within::Global,
                    path: vec![
                        edge(0, 1, Why::Rf),
                        edge(1, 2, Why::Derived(0)),
                        edge(2, 3, Why::Rt),
                    ],
                },
                Derivation {
                    rule: Rule::Ordered,
                    within: Within::Global,
                    path: vec![edge(0, 1, Why::Chosen(-3))],
                },
            ],
            within: Within::Global,
            edges: vec![edge(0, 1, Why::Po), edge(1, 0, Why::Derived(1))],
        }
    }

    fn all_kinds() -> Vec<HistoryWitness> {
        let steps = vec![HistoryStep::issue(0), HistoryStep::commit(0), HistoryStep::issue(12)];
        let proof = vec![
            LratStep::Add { id: 3, clause: vec![-1], hints: vec![1, 2] },
            LratStep::Delete { ids: vec![1] },
            LratStep::Add { id: 4, clause: Vec::new(), hints: vec![3] },
        ];
        let evidence = [
            HistoryEvidence::Linear { store_order: Vec::new(), steps },
            HistoryEvidence::Linear { store_order: Vec::new(), steps: Vec::new() },
            HistoryEvidence::Cycle(a_cycle()),
            HistoryEvidence::Refuted {
                pairs: vec![(0, 4), (7, 1)],
                conflicts: vec![a_cycle(), a_cycle()],
                proof,
            },
            HistoryEvidence::ByDefinition,
        ];
        let witness = |(i, evidence): (usize, HistoryEvidence)| HistoryWitness {
            input_hash: "fnv1a64:cbf29ce484222325".to_owned(),
            number: i + 1,
            model: HistoryModel::ALL[i],
            verdict: if i % 2 == 0 { Verdict::Holds } else { Verdict::Violated },
            ways: vec![HistoryWay { reads: Vec::new(), evidence }],
        };
        let mut all: Vec<HistoryWitness> = evidence.into_iter().enumerate().map(witness).collect();
        let with = |reads, way: &HistoryWay| HistoryWay { reads, ..way.clone() };
        let ways = vec![
            with(vec![(3, 0), (4, initial_write(2))], &all[2].ways[0]),
            with(vec![(3, 1), (4, 0)], &all[3].ways[0]),
        ];
        all.push(HistoryWitness { ways, ..all[3].clone() });
        all
    }

    fn json(w: &HistoryWitness) -> String {
        history_witness_json(&w.input_hash, w.number, w.model, &w.verdict, &w.ways)
    }

    #[test]
    fn round_trips() {
        for w in all_kinds() {
            assert_eq!(HistoryWitness::from_json(&json(&w)), Ok(w));
        }
    }

    #[test]
    fn bad_witnesses() {
        let good = json(&all_kinds()[2]);
        let check = |from: &str, to: &str, expected: &str| {
            assert!(good.contains(from), "{from}");
            let error = HistoryWitness::from_json(&good.replacen(from, to, 1)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check(
            "\"cm\"",
            "\"x\"",
            "model: expected `cc`, `ccv`, `cm`, `ccm`, `wccm`, `coherence`, `pso`, `pso-own`, `tso`, `tso-rt`, `sc` or `lin`",
        );
        check("\"holds\"", "\"unknown\"", "verdict: expected `holds` or `violated`");
        check("\"history\": 3", "\"history\": -3", "history: expected the number of a history");
        check(
            "\"local\"",
            "\"l\"",
            "evidence.cycle.derivations[0].within: expected `global` or `local`",
        );
        check(
            "\"why\":\"po\"",
            "\"why\":\"p\"",
            "evidence.cycle.edges[0].why: expected `po`, `wr`, `rt`, `derived` or `assumed`",
        );
        check(
            "\"from\":-8",
            "\"from\":-8000000000",
            "evidence.cycle.derivations[0].path[0].from: expected the number of an operation",
        );
    }

    /// Damaged files are refused or understood, never a crash.
    #[test]
    fn mutations() {
        for good in all_kinds() {
            let good = json(&good).into_bytes();
            for seed in 0..2000 {
                if let Ok(w) = HistoryWitness::from_json(&damaged(&good, seed)) {
                    assert_eq!(HistoryWitness::from_json(&json(&w)), Ok(w));
                }
            }
        }
    }
}
