//! Which edges a cycle of a history may have, and what follows from them: the checker against a
//! literal reading of the definitions, for every pair of nodes of histories that have everything.

use weakspot_core::certify::{Rejected, history};
use weakspot_core::{
    Derivation, History, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel, INITIAL, OpKind,
    Rule, Times, Verdict, Why, Within, initial_write,
};

use HistoryModel::{Ccm, Coherence, Lin, Pso, PsoOwn, Sc, Tso, TsoRt, Wccm};
use OpKind::{Fence, Read, Update, Write};

const NONE: u32 = INITIAL;

/// Two threads with all kinds of operations on two variables, and fences in all places.
fn everything() -> History {
    let threads: [&[(OpKind, u32, u32)]; 2] = [
        &[
            (Write, 0, NONE),
            (Write, 1, NONE),
            (Read, 0, 0),
            (Read, 1, 11),
            (Fence, 0, NONE),
            (Write, 0, NONE),
            (Update, 1, 1),
            (Read, 0, NONE),
            (Write, 1, NONE),
        ],
        &[
            (Fence, 0, NONE),
            (Update, 0, 0),
            (Update, 1, 8),
            (Read, 1, 8),
            (Write, 0, NONE),
            (Read, 0, 13),
            (Write, 0, NONE),
            (Update, 0, 15),
            (Write, 1, NONE),
            (Update, 0, 16),
        ],
    ];
    let mut ops = History::new();
    for thread in threads {
        ops.thread();
        thread.iter().for_each(|&(kind, var, from)| ops.push(kind, var, from));
    }
    // The two threads take turns, and some operations overlap.
    let start = |op: i64| if op < 9 { 10 * op } else { 10 * (op - 9) + 5 };
    let times = (0..ops.len() as i64).map(|op| Times { start: start(op), end: start(op) + 8 });
    ops.set_times(times.collect());
    ops
}

/// All operations and initial writes, and numbers that are neither.
fn nodes(ops: &History) -> Vec<u32> {
    let (len, vars) = (ops.len() as u32, ops.vars() as u32);
    (0..=len).chain([len + 7]).chain((0..=vars).map(initial_write)).collect()
}

struct Definition<'a> {
    ops: &'a History,
    model: HistoryModel,
}

impl Definition<'_> {
    fn kind(&self, node: u32) -> Option<OpKind> {
        ((node as usize) < self.ops.len()).then(|| self.ops.kind(node))
    }

    /// The variable of an initial write.
    fn initial(&self, node: u32) -> Option<u32> {
        (0..self.ops.vars() as u32).find(|&var| initial_write(var) == node)
    }

    /// The variable of what is no fence.
    fn accessed(&self, node: u32) -> Option<u32> {
        match self.kind(node) {
            None => self.initial(node),
            Some(Fence) => None,
            Some(_) => Some(self.ops.var(node)),
        }
    }

    fn written(&self, node: u32) -> Option<u32> {
        let writes = matches!(self.kind(node), None | Some(Write | Update));
        self.accessed(node).filter(|_| writes)
    }

    /// What a read reads.
    fn source(&self, node: u32) -> Option<u32> {
        match self.kind(node) {
            Some(Read | Update) => {
                let initial = initial_write(self.ops.var(node));
                Some(self.ops.from(node).unwrap_or(initial))
            }
            _ => None,
        }
    }

    fn is_relaxed(&self) -> bool {
        matches!(self.model, Tso | TsoRt | Pso | PsoOwn | Wccm)
    }

    fn has(&self, within: Within) -> bool {
        match within {
            Within::Global => self.model != Coherence,
            Within::Local => self.model == Coherence || self.is_relaxed(),
        }
    }

    fn po(&self, a: u32, b: u32, within: Within) -> bool {
        let Some(second) = self.kind(b) else { return false };
        let same = self.accessed(a).is_some() && self.accessed(a) == self.accessed(b);
        if self.initial(a).is_some() {
            return within == Within::Global || same;
        }
        let Some(first) = self.kind(a) else { return false };
        if a >= b || self.ops.thread_of(a) != self.ops.thread_of(b) {
            return false;
        }
        if within == Within::Local {
            return same;
        }
        let waits = (a + 1..b).any(|between| match self.kind(between) {
            Some(Fence) => true,
            Some(Update) => self.model != PsoOwn,
            _ => false,
        });
        let keeps = match (first, second) {
            (Write, Read) => false,
            (Write, Write) => !matches!(self.model, Pso | PsoOwn) || same,
            (Write, Update) => self.model != PsoOwn || same,
            _ => true,
        };
        !self.is_relaxed() || waits || keeps
    }

    fn rf(&self, a: u32, b: u32, within: Within) -> bool {
        let of_another = self.initial(a).is_some()
            || self.kind(a).is_some() && self.ops.thread_of(a) != self.ops.thread_of(b);
        let every = match within {
            Within::Global => !self.is_relaxed(),
            Within::Local => self.model != Wccm,
        };
        self.source(b) == Some(a) && (every || of_another)
    }

    fn rt(&self, a: u32, b: u32, within: Within) -> bool {
        if !matches!(self.model, Lin | TsoRt) || within == Within::Local {
            return false;
        }
        let (Some(first), Some(_)) = (self.kind(a), self.kind(b)) else { return false };
        let times = |op| self.ops.times(op);
        let is_before = times(a).end < times(b).start;
        is_before && (self.model == Lin || first != Write)
    }

    fn edge(&self, edge: HistoryEdge, within: Within) -> bool {
        let (a, b) = (edge.from, edge.to);
        let here = self.has(within)
            && match edge.why {
                Why::Po => self.po(a, b, within),
                Why::Rf => self.rf(a, b, within),
                Why::Rt => self.rt(a, b, within),
                _ => false,
            };
        // Of one without derived edges wCCM also asks that all of program order has no cycle.
        let causal = Definition { model: Ccm, ..*self };
        here || self.model == Wccm && causal.edge(edge, Within::Global)
    }

    /// What follows from a path with these ends.
    fn follows(&self, (start, end): (u32, u32), rule: Rule) -> Option<(u32, u32)> {
        let var = self.written(start)?;
        let overwrites = self.written(end) == Some(var);
        match rule {
            Rule::Older => {
                let source = self.source(end)?;
                let same = self.accessed(end) == Some(var);
                (same && source != start).then_some((start, source))
            }
            Rule::Overtaken { read } => {
                let reads = self.source(read) == Some(start);
                (overwrites && reads && read != end).then_some((read, end))
            }
            Rule::Ordered => overwrites.then_some((start, end)),
        }
    }
}

fn check(
    ops: &History,
    model: HistoryModel,
    within: Within,
    derivations: &[Derivation],
    edge: HistoryEdge,
) -> Result<(), Rejected> {
    let cycle = HistoryCycle { derivations: derivations.to_vec(), within, edges: vec![edge] };
    history(ops, model, &Verdict::Violated, &HistoryEvidence::Cycle(cycle))
}

/// A path of one edge is no cycle: if that is all that is said, the edge is there.
#[test]
fn edges_are_those_of_the_definition() {
    let ops = everything();
    let mut counts = [0; 2];
    for model in HistoryModel::EVERY {
        let definition = Definition { ops: &ops, model };
        for within in [Within::Global, Within::Local] {
            for (from, to) in pairs(&ops) {
                for why in [Why::Po, Why::Rf, Why::Rt, Why::Derived(0), Why::Chosen(1)] {
                    let edge = HistoryEdge { from, to, why };
                    let expected = definition.edge(edge, within);
                    let said = check(&ops, model, within, &[], edge);
                    let open = Err(Rejected::HistoryOrder(0, "the path is not closed"));
                    assert_eq!(said == open, expected, "{model:?} {within:?} {edge:?} {said:?}");
                    counts[usize::from(expected)] += 1;
                }
            }
        }
    }
    assert!(counts[0] > 10_000 && counts[1] > 800, "{counts:?}");
}

fn pairs(ops: &History) -> impl Iterator<Item = (u32, u32)> + use<> {
    let nodes = nodes(ops);
    let others = nodes.clone();
    nodes.into_iter().flat_map(move |a| others.clone().into_iter().map(move |b| (a, b)))
}

/// Each rule applied to each edge.
#[test]
fn what_follows_is_what_the_rules_say() {
    let ops = everything();
    let all = nodes(&ops);
    let mut found = [0; 2];
    for model in [Sc, Ccm, Tso] {
        let definition = Definition { ops: &ops, model };
        let rules = all.iter().map(|&read| Rule::Overtaken { read });
        let rules: Vec<Rule> = rules.chain([Rule::Older, Rule::Ordered]).collect();
        for (from, to) in pairs(&ops) {
            for why in [Why::Po, Why::Rf] {
                let edge = HistoryEdge { from, to, why };
                if !definition.edge(edge, Within::Global) {
                    continue;
                }
                for &rule in &rules {
                    let derivation = Derivation { rule, within: Within::Global, path: vec![edge] };
                    let follows = definition.follows((from, to), rule);
                    let (a, b) = follows.unwrap_or((from, to));
                    let derived = HistoryEdge { from: a, to: b, why: Why::Derived(0) };
                    let check = |edge| {
                        check(&ops, model, Within::Global, std::slice::from_ref(&derivation), edge)
                    };
                    let said = check(derived);
                    let open = Err(Rejected::HistoryOrder(1, "the path is not closed"));
                    let holds = !matches!(said, Err(Rejected::HistoryOrder(0, _)));
                    assert_eq!(holds, follows.is_some(), "{model:?} {derivation:?} {said:?}");
                    // A read that comes before what it reads is a cycle already.
                    assert!(!holds || said == open || a == b && said == Ok(()));
                    found[usize::from(holds)] += 1;
                    if holds {
                        let turned = HistoryEdge { from: b, to: a, ..derived };
                        assert!(a == b || check(turned) != open);
                        assert!(check(HistoryEdge { to: b ^ 1, ..derived }) != open);
                        assert!(check(HistoryEdge { why: Why::Derived(1), ..derived }) != open);
                    }
                }
            }
        }
    }
    assert!(found[0] > 1000 && found[1] > 100, "{found:?}");
}
