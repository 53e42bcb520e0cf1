//! Answers about histories as JSON lines.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use weakspot_core::{
    HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel, HistoryStep, Names, Rule, Verdict,
    Why, Within, initial_write_var,
};

use super::coherence::broken;
use super::cycle::link;
use super::run::{of_cycle, of_steps};
use super::{HistoryAnswer, HistoryPart, ShowOps};
use crate::json::of_record;
use crate::run::object::Run;

/// Longer runs are only in witness files.
const MAX_ORDER: usize = 1_000;
/// Longer cycles, too.
const MAX_CYCLE: usize = 1_000;

/// The answer as a JSON object on one line.
pub(super) fn history_json(a: &HistoryAnswer<'_>) -> String {
    let show = ShowOps::of(a);
    let about = About { id: a.id, number: a.number.unwrap_or(1) };
    let is_unknown = matches!(a.head.verdict, Verdict::Unknown(_));
    let followed = a.followed;
    let body = Body {
        explored: is_unknown.then_some(a.explored),
        operations: followed.map_or(a.ops.len() as u64, |f| f.operations),
        threads: followed.map_or(a.ops.threads(), |f| f.threads),
        variables: followed.map_or(a.ops.vars(), |f| f.variables),
        window: followed.map(|f| f.window),
        left_out: followed.map(|f| f.left_out),
        decided_by: (!is_unknown).then_some(a.decided_by),
        implied_by: a.implied_by.map(|model| model.key()),
        broken: match a.evidence {
            Some(HistoryEvidence::Cycle(cycle)) => broken(&show, a.head.model, cycle),
            _ => None,
        },
        evidence: EvidenceJson::of(&show, a.evidence),
        minimal: a.minimal.map(|part| MinimalJson::of(&show, part)),
        notes: a.notes,
        run: run(a, &show),
    };
    of_record(&a.head, &Names::default(), about, body)
}

/// The run that shows that the model is satisfied, or the cycle that shows that it is not.
fn run(a: &HistoryAnswer<'_>, show: &ShowOps<'_>) -> Option<Run> {
    let cycle = match a.evidence? {
        // Orders of each variable by itself are no run.
        HistoryEvidence::Linear { .. }
            if a.head.model == HistoryModel::Coherence && a.implied_by.is_none() =>
        {
            return None;
        }
        HistoryEvidence::Linear { steps, .. } => {
            let is_short = steps.len() <= MAX_ORDER;
            return is_short.then(|| of_steps(show, a.head.model, steps)).flatten();
        }
        HistoryEvidence::Cycle(cycle) => cycle,
        HistoryEvidence::Refuted { conflicts, .. } => conflicts.first()?,
        HistoryEvidence::ByDefinition => return None,
    };
    (length(cycle) <= MAX_CYCLE).then(|| of_cycle(show, a.head.model, cycle))
}

#[derive(Serialize)]
struct About<'a> {
    id: Option<&'a str>,
    number: usize,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    explored: Option<u64>,
    operations: u64,
    threads: usize,
    variables: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    implied_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
    #[serde(flatten)]
    evidence: EvidenceJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimal: Option<MinimalJson<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
}

/// Why, as far as it is not too long.
#[derive(Serialize)]
#[serde(untagged)]
enum EvidenceJson<'a> {
    None {},
    ByDefinition {
        by_definition: bool,
    },
    Run {
        steps: usize,
        order: Vec<OrderJson>,
        store_order: StoreOrder<'a>,
    },
    LongRun {
        steps: usize,
        order: Option<u64>,
    },
    Cycle(CycleJson),
    Refuted {
        pairs: usize,
        conflicts: usize,
        proof_steps: usize,
        #[serde(flatten)]
        first: Option<CycleJson>,
    },
}

impl<'a> EvidenceJson<'a> {
    fn of(show: &ShowOps<'a>, evidence: Option<&'a HistoryEvidence>) -> EvidenceJson<'a> {
        match evidence {
            None => EvidenceJson::None {},
            Some(HistoryEvidence::ByDefinition) => {
                EvidenceJson::ByDefinition { by_definition: true }
            }
            Some(HistoryEvidence::Linear { steps, .. }) if steps.len() > MAX_ORDER => {
                EvidenceJson::LongRun { steps: steps.len(), order: None }
            }
            Some(HistoryEvidence::Linear { store_order, steps }) => EvidenceJson::Run {
                steps: steps.len(),
                order: steps.iter().map(|step| OrderJson::of(show, step)).collect(),
                store_order: StoreOrder { show: *show, store_order },
            },
            Some(HistoryEvidence::Cycle(cycle)) => EvidenceJson::Cycle(CycleJson::of(show, cycle)),
            Some(HistoryEvidence::Refuted { pairs, conflicts, proof }) => EvidenceJson::Refuted {
                pairs: pairs.len(),
                conflicts: conflicts.len(),
                proof_steps: proof.len(),
                first: conflicts.first().map(|first| CycleJson::of(show, first)),
            },
        }
    }
}

#[derive(Serialize)]
struct OrderJson {
    thread: usize,
    index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<bool>,
}

impl OrderJson {
    fn of(show: &ShowOps<'_>, step: &HistoryStep) -> OrderJson {
        let op = step.op();
        let commit = step.is_commit().then_some(true);
        OrderJson { thread: show.thread_of(op), index: show.index(op), commit }
    }
}

/// Per variable its writes, as they reach memory.
struct StoreOrder<'a> {
    show: ShowOps<'a>,
    store_order: &'a [Vec<u32>],
}

impl Serialize for StoreOrder<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut vars = s.serialize_map(Some(self.store_order.len()))?;
        for (var, writes) in self.store_order.iter().enumerate() {
            // Names as the file has them, not as a terminal may see them.
            let name = self.show.names.vars.get(var).map_or("", String::as_str);
            let writes: Vec<_> = writes.iter().map(|&w| pair(&self.show, w)).collect();
            vars.serialize_entry(name, &writes)?;
        }
        vars.end()
    }
}

/// `[thread, index]`.
fn pair(show: &ShowOps<'_>, op: u32) -> (usize, u64) {
    (show.thread_of(op), show.index(op))
}

#[derive(Serialize)]
struct CycleJson {
    length: usize,
    cycle: Option<Vec<EdgeJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    derivations: Option<Vec<DerivationJson>>,
}

#[derive(Serialize)]
struct DerivationJson {
    rule: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<OperationJson>,
    within: &'static str,
    path: Vec<EdgeJson>,
}

impl CycleJson {
    fn of(show: &ShowOps<'_>, cycle: &HistoryCycle) -> CycleJson {
        let edges = cycle.edges.len();
        if length(cycle) > MAX_CYCLE {
            return CycleJson { length: edges, cycle: None, within: None, derivations: None };
        }
        let derivation = |derivation: &weakspot_core::Derivation| {
            let (rule, read) = match derivation.rule {
                Rule::Older => ("older", None),
                Rule::Overtaken { read } => ("overtaken", Some(OperationJson::of(show, read))),
                Rule::Ordered => ("ordered", None),
            };
            let path = EdgeJson::all(show, cycle, &derivation.path);
            DerivationJson { rule, read, within: within(derivation.within), path }
        };
        CycleJson {
            length: edges,
            cycle: Some(EdgeJson::all(show, cycle, &cycle.edges)),
            within: Some(within(cycle.within)),
            derivations: Some(cycle.derivations.iter().map(derivation).collect()),
        }
    }
}

/// How many edges a cycle and its derivations have.
fn length(cycle: &HistoryCycle) -> usize {
    cycle.edges.len() + cycle.derivations.iter().map(|d| d.path.len()).sum::<usize>()
}

fn within(within: Within) -> &'static str {
    match within {
        Within::Global => "global",
        Within::Local => "local",
    }
}

#[derive(Serialize)]
struct EdgeJson {
    from: OperationJson,
    link: &'static str,
    to: OperationJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    derivation: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed: Option<bool>,
}

impl EdgeJson {
    fn all(show: &ShowOps<'_>, cycle: &HistoryCycle, edges: &[HistoryEdge]) -> Vec<EdgeJson> {
        let one = |edge: &HistoryEdge| EdgeJson {
            from: OperationJson::of(show, edge.from),
            link: link(cycle, edge),
            to: OperationJson::of(show, edge.to),
            derivation: match edge.why {
                Why::Derived(index) => Some(index),
                _ => None,
            },
            assumed: matches!(edge.why, Why::Chosen(_)).then_some(true),
        };
        edges.iter().map(one).collect()
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum OperationJson {
    Initial {
        initial: String,
    },
    Operation {
        thread: usize,
        index: u64,
        op: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
}

impl OperationJson {
    fn of(show: &ShowOps<'_>, op: u32) -> OperationJson {
        match initial_write_var(op) {
            Some(var) => {
                let name = show.names.vars.get(var as usize);
                OperationJson::Initial { initial: name.cloned().unwrap_or_default() }
            }
            None => OperationJson::Operation {
                thread: show.thread_of(op),
                index: show.index(op),
                op: show.op(op),
                line: show.lines.get(op as usize).copied(),
            },
        }
    }
}

#[derive(Serialize)]
struct MinimalJson<'a> {
    operations: Vec<(usize, u64)>,
    history: Option<&'a RawValue>,
    is_minimal: bool,
}

impl<'a> MinimalJson<'a> {
    fn of(show: &ShowOps<'_>, part: &'a HistoryPart) -> MinimalJson<'a> {
        MinimalJson {
            operations: part.kept.iter().map(|&op| pair(show, op)).collect(),
            history: serde_json::from_str(&part.json).ok(),
            is_minimal: part.is_minimal,
        }
    }
}
