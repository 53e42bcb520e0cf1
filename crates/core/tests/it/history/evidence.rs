//! The checker of evidence for histories accepts what is right, and nothing that is wrong.

use std::collections::VecDeque;

use weakspot_core::certify::{self, Rejected};
use weakspot_core::history::{machine_run, satisfies};
use weakspot_core::testing::{OpsSize, Rng, check_ops, mutate_ops, small_ops};
use weakspot_core::{
    Derivation, History, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel, HistoryStep,
    INITIAL, LratStep, OpKind, Rule, Verdict, Why, Within, initial_write,
};

const MACHINES: [HistoryModel; 4] =
    [HistoryModel::Sc, HistoryModel::Tso, HistoryModel::Pso, HistoryModel::PsoOwn];

/// All models.
fn models() -> impl Iterator<Item = HistoryModel> {
    HistoryModel::ALL.into_iter().chain([HistoryModel::PsoOwn])
}

/// The run with the store order that it has.
fn linear(ops: &History, model: HistoryModel, steps: Vec<HistoryStep>) -> HistoryEvidence {
    let mut store_order = vec![Vec::new(); ops.vars()];
    for &step in &steps {
        let w = step.op();
        if w as usize >= ops.len() || !ops.writes(w) {
            continue;
        }
        if step.is_commit() || model == HistoryModel::Sc || ops.kind(w) == OpKind::Update {
            store_order[ops.var(w) as usize].push(w);
        }
    }
    HistoryEvidence::Linear { store_order, steps }
}

fn small() -> OpsSize {
    OpsSize { threads: 3, vars: 2, ops: 9, fences: 8, updates: 4 }
}

#[test]
fn runs_are_accepted_exactly_if_the_machine_has_them() {
    check_ops(5, 16_000, small(), &|ops| {
        let mut rng = Rng::new(ops.len() as u64);
        MACHINES.into_iter().any(|model| {
            let Some(Some(steps)) = machine_run(ops, model, usize::MAX) else { return false };
            let good = linear(ops, model, steps.clone());
            if certify::history(ops, model, &Verdict::Holds, &good).is_err() {
                return true;
            }
            // Wherever a step is left out, doubled or moved, either the run is still one of the
            // machine, or it is rejected; replaying on all models must not contradict them.
            for _ in 0..10 {
                let mut steps = steps.clone();
                if steps.is_empty() {
                    continue;
                }
                let i = rng.below(steps.len());
                let step = steps.remove(i);
                let j = rng.below(steps.len() + 1);
                match rng.below(3) {
                    0 => {}
                    1 => steps.insert(j, step),
                    _ => steps.insert(j, HistoryStep::commit(rng.below(10) as u32)),
                }
                let changed = linear(ops, model, steps);
                for claimed in models() {
                    let accepted =
                        certify::history(ops, claimed, &Verdict::Holds, &changed).is_ok();
                    if accepted && !satisfies(ops, claimed) {
                        return true;
                    }
                }
            }
            false
        })
    });
}

/// A large run is checked at once.
#[test]
fn a_run_of_a_million_operations() {
    // In each round all threads write, and then all read what the last of them wrote.
    let (threads, each) = (4, 250_000);
    let mut ops = History::new();
    for _ in 0..threads {
        ops.thread();
        for i in 0..each {
            match i % 2 {
                0 => ops.push(OpKind::Write, 0, INITIAL),
                _ => ops.push(OpKind::Read, 0, (threads - 1) * each + i - 1),
            }
        }
    }
    let round = |i: u32| (0..threads).map(move |t| HistoryStep::issue(t * each + i));
    let steps: Vec<HistoryStep> = (0..each).flat_map(round).collect();
    let evidence = linear(&ops, HistoryModel::Sc, steps);
    assert_eq!(certify::history(&ops, HistoryModel::Sc, &Verdict::Holds, &evidence), Ok(()));
    ops.set_from(1, 0);
    let rejected = certify::history(&ops, HistoryModel::Sc, &Verdict::Holds, &evidence);
    assert_eq!(rejected, Err(Rejected::HistoryStep(4, "the read sees another write")));
}

/// Edges of both relations, and all that follows from them in some random order, by brute force.
struct Saturation<'a> {
    ops: &'a History,
    edges: [Vec<HistoryEdge>; 2],
    derivations: Vec<Derivation>,
}

const WITHIN: [Within; 2] = [Within::Global, Within::Local];

impl<'a> Saturation<'a> {
    fn new(ops: &'a History, model: HistoryModel) -> Saturation<'a> {
        let mut saturation = Saturation { ops, edges: Default::default(), derivations: Vec::new() };
        let nodes = saturation.nodes();
        for &from in &nodes {
            for to in 0..ops.len() as u32 {
                for why in [Why::Po, Why::Rf] {
                    for within in WITHIN {
                        let edge = HistoryEdge { from, to, why };
                        // The checker itself says which edges there are: a path of one edge that
                        // is no cycle is rejected for that reason only.
                        let cycle = HistoryCycle { derivations: vec![], within, edges: vec![edge] };
                        let evidence = HistoryEvidence::Cycle(cycle);
                        let is_edge =
                            match certify::history(ops, model, &Verdict::Violated, &evidence) {
                                Ok(()) => true,
                                Err(Rejected::HistoryOrder(_, why)) => why.contains("not closed"),
                                Err(_) => false,
                            };
                        if is_edge {
                            saturation.edges[within as usize].push(edge);
                        }
                    }
                }
            }
        }
        saturation
    }

    fn nodes(&self) -> Vec<u32> {
        let initial = (0..self.ops.vars() as u32).map(initial_write);
        (0..self.ops.len() as u32).chain(initial).collect()
    }

    fn path(&self, within: Within, from: u32, to: u32) -> Option<Vec<HistoryEdge>> {
        let mut paths = VecDeque::from([(from, Vec::new())]);
        let mut seen = Vec::new();
        while let Some((node, path)) = paths.pop_front() {
            for edge in self.edges[within as usize].iter().filter(|e| e.from == node) {
                let mut path: Vec<HistoryEdge> = path.clone();
                path.push(*edge);
                if edge.to == to {
                    return Some(path);
                }
                if !seen.contains(&edge.to) {
                    seen.push(edge.to);
                    paths.push_back((edge.to, path));
                }
            }
        }
        None
    }

    fn var(&self, node: u32) -> u32 {
        if (node as usize) < self.ops.len() { self.ops.var(node) } else { u32::MAX - node }
    }

    fn writes(&self, node: u32) -> bool {
        node as usize >= self.ops.len() || self.ops.writes(node)
    }

    fn source(&self, r: u32) -> u32 {
        self.ops.from(r).unwrap_or(initial_write(self.ops.var(r)))
    }

    /// Tries one random derivation.
    fn step(&mut self, rng: &mut Rng) {
        let nodes = self.nodes();
        let (a, b) = (nodes[rng.below(nodes.len())], nodes[rng.below(nodes.len())]);
        let within = WITHIN[rng.below(2)];
        let is_op = (b as usize) < self.ops.len();
        if !self.writes(a) || self.var(a) != self.var(b) || a == b {
            return;
        }
        if is_op && self.ops.kind(b) == OpKind::Fence {
            return;
        }
        let Some(path) = self.path(within, a, b) else { return };
        let (rule, from, to) = match rng.below(3) {
            0 if is_op && self.ops.reads(b) && self.source(b) != a => {
                (Rule::Older, a, self.source(b))
            }
            1 if self.writes(b) => {
                let reads: Vec<u32> = (0..self.ops.len() as u32)
                    .filter(|&r| self.ops.reads(r) && self.source(r) == a && r != b)
                    .collect();
                if reads.is_empty() {
                    return;
                }
                let read = reads[rng.below(reads.len())];
                (Rule::Overtaken { read }, read, b)
            }
            2 if self.writes(b) => (Rule::Ordered, a, b),
            _ => return,
        };
        let known = |e: &HistoryEdge| (e.from, e.to) == (from, to);
        if self.edges.iter().all(|edges| edges.iter().any(known)) {
            return;
        }
        let why = Why::Derived(self.derivations.len() as u32);
        self.derivations.push(Derivation { rule, within, path });
        for edges in &mut self.edges {
            edges.push(HistoryEdge { from, to, why });
        }
    }

    fn cycles(&self) -> Vec<HistoryEvidence> {
        let mut cycles = Vec::new();
        for within in WITHIN {
            for node in self.nodes() {
                if let Some(edges) = self.path(within, node, node) {
                    let derivations = self.derivations.clone();
                    let cycle = HistoryCycle { derivations, within, edges };
                    cycles.push(HistoryEvidence::Cycle(cycle));
                }
            }
        }
        cycles
    }
}

/// Random derivations: whatever the checker accepts is true, for every model that it accepts it
/// for, and for TSO and PSO it accepts everything that was derived from its edges.
#[test]
fn cycles_are_true() {
    let mut accepted = [0; HistoryModel::ALL.len() + 1];
    for seed in 0..4_000 {
        let mut rng = Rng::new(seed);
        let ops = small_ops(&mut rng, small());
        for model in models() {
            let mut saturation = Saturation::new(&ops, model);
            let effort = rng.below(60);
            for _ in 0..effort {
                saturation.step(&mut rng);
            }
            let cycles = saturation.cycles();
            let holds = satisfies(&ops, model);
            for cycle in &cycles {
                let checked = certify::history(&ops, model, &Verdict::Violated, cycle);
                if checked.is_ok() {
                    accepted[model as usize] += 1;
                    assert!(!holds, "{model:?}, seed {seed}: {cycle:?}");
                } else if matches!(
                    model,
                    HistoryModel::Tso | HistoryModel::Pso | HistoryModel::PsoOwn
                ) || model == HistoryModel::Coherence && is_local(cycle)
                {
                    panic!("{model:?}, seed {seed}: {checked:?}");
                }
            }
            // On a history that is a bit different, too.
            let mut other = ops.clone();
            mutate_ops(&mut rng, &mut other, 1);
            for model in models() {
                let wrong =
                    |cycle| certify::history(&other, model, &Verdict::Violated, cycle).is_ok();
                if cycles.iter().any(wrong) {
                    assert!(!satisfies(&other, model), "{model:?}, seed {seed}");
                }
            }
        }
    }
    assert!(accepted.iter().all(|&n| n > 100), "{accepted:?}");
}

/// Whether a cycle is about one variable throughout.
fn is_local(evidence: &HistoryEvidence) -> bool {
    let HistoryEvidence::Cycle(cycle) = evidence else { return false };
    cycle.within == Within::Local
        && cycle.derivations.iter().all(|derivation| derivation.within == Within::Local)
}

/// Two threads write x and then read the other's write; both orders of the writes make a cycle.
#[test]
fn choices_that_contradict_each_other() {
    let mut ops = History::new();
    ops.thread();
    ops.push(OpKind::Write, 0, INITIAL);
    ops.push(OpKind::Read, 0, 2);
    ops.thread();
    ops.push(OpKind::Write, 0, INITIAL);
    ops.push(OpKind::Read, 0, 0);
    let conflict = |w: u32, r: u32, other: u32, literal: i32| {
        let step = HistoryEdge { from: w, to: r, why: Why::Po };
        let derivation = Derivation { rule: Rule::Older, within: Within::Global, path: vec![step] };
        let edges = vec![
            HistoryEdge { from: w, to: other, why: Why::Derived(0) },
            HistoryEdge { from: other, to: w, why: Why::Chosen(literal) },
        ];
        HistoryCycle { derivations: vec![derivation], within: Within::Global, edges }
    };
    // Thread 0: write 0 is before write 2, because read 1 sees 2. Thread 1: the other way round.
    let conflicts = vec![conflict(0, 1, 2, -1), conflict(2, 3, 0, 1)];
    let proof = vec![LratStep::Add { id: 3, clause: vec![], hints: vec![1, 2] }];
    let evidence =
        HistoryEvidence::Refuted { pairs: vec![(0, 2)], conflicts: conflicts.clone(), proof };
    let check = |evidence| certify::history(&ops, HistoryModel::Sc, &Verdict::Violated, evidence);
    assert_eq!(check(&evidence), Ok(()));
    // One conflict alone proves nothing, and a choice without a pair is none.
    let proof = vec![LratStep::Add { id: 3, clause: vec![], hints: vec![1] }];
    let one = HistoryEvidence::Refuted {
        pairs: vec![(0, 2)],
        conflicts: conflicts[..1].to_vec(),
        proof: proof.clone(),
    };
    assert!(matches!(check(&one), Err(Rejected::Lrat(_))));
    let none = HistoryEvidence::Refuted { pairs: vec![], conflicts, proof };
    assert!(matches!(check(&none), Err(Rejected::HistoryOrder(1, _))));
    assert!(matches!(check(&HistoryEvidence::ByDefinition), Err(Rejected::WrongKind)));
}

/// A number that no operation has stays one, and does not make another step of it.
#[test]
fn steps_of_operations_that_there_are_not() {
    for op in [History::MOST as u32, i32::MAX as u32, 1 << 31, (1 << 31) + 5, u32::MAX] {
        let (issue, commit) = (HistoryStep::issue(op), HistoryStep::commit(op));
        assert_eq!((issue.is_commit(), commit.is_commit()), (false, true));
        assert_eq!(issue.op(), commit.op());
        assert!(issue.op() as usize >= History::MOST, "{issue:?}");
    }
}
