//! Verdicts on histories: runs, cycles of derived orders, refutations by cases.

use weakspot_core::certify::{Rejected, history, history_ways, search_history};
use weakspot_core::history::LinearStream;
use weakspot_core::{
    Derivation, History, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryModel, HistoryStep,
    HistoryWay, INITIAL, LoggedOp, OpKind, Rule, Times, Verdict, Why, Within, initial_write,
};

use super::proofs::add;
use super::{Case, case};

/// Threads of operations: `wx` writes, `rx` reads the initial value, `rx3` reads operation 3, `ux`
/// and `ux3` update, `f` is a fence.
fn recorded(text: &str) -> History {
    let mut ops = History::new();
    for thread in text.split('|') {
        ops.thread();
        for word in thread.split_whitespace() {
            let kind = match &word[..1] {
                "w" => OpKind::Write,
                "r" => OpKind::Read,
                "u" => OpKind::Update,
                _ => OpKind::Fence,
            };
            let var = u32::from(word.get(1..2) == Some("y"));
            let from = word.get(2..).and_then(|n| n.parse().ok()).unwrap_or(INITIAL);
            ops.push(kind, var, from);
        }
    }
    ops
}

const SB: &str = "wx ry | wy rx";
const MP: &str = "wx wy | ry1 rx";
/// The second thread sees two writes in the wrong order.
const CORR: &str = "wx wx | rx1 rx0";

fn holds(text: &str, model: HistoryModel, evidence: &HistoryEvidence) -> Result<(), Rejected> {
    history(&recorded(text), model, &Verdict::Holds, evidence)
}

fn violated(text: &str, model: HistoryModel, cycle: HistoryCycle) -> Result<(), Rejected> {
    history(&recorded(text), model, &Verdict::Violated, &HistoryEvidence::Cycle(cycle))
}

/// `0` issues an operation, `c0` commits it; and the store order.
fn linear(steps: &str, store_order: &[&[u32]]) -> HistoryEvidence {
    let step = |word: &str| match word.strip_prefix('c') {
        Some(op) => HistoryStep::commit(op.parse().expect("a number")),
        None => HistoryStep::issue(word.parse().expect("a number")),
    };
    HistoryEvidence::Linear {
        store_order: store_order.iter().map(|order| order.to_vec()).collect(),
        steps: steps.split_whitespace().map(step).collect(),
    }
}

fn edge(from: u32, why: Why, to: u32) -> HistoryEdge {
    HistoryEdge { from, to, why }
}

fn po(from: u32, to: u32) -> HistoryEdge {
    edge(from, Why::Po, to)
}

fn derived(from: u32, number: u32, to: u32) -> HistoryEdge {
    edge(from, Why::Derived(number), to)
}

fn derivation(rule: Rule, path: &[HistoryEdge]) -> Derivation {
    Derivation { rule, within: Within::Global, path: path.to_vec() }
}

fn cycle(derivations: &[Derivation], edges: &[HistoryEdge]) -> HistoryCycle {
    let (derivations, edges) = (derivations.to_vec(), edges.to_vec());
    HistoryCycle { derivations, within: Within::Global, edges }
}

/// Both reads come before the writes of the other thread.
fn sb() -> HistoryCycle {
    let y = derivation(Rule::Overtaken { read: 1 }, &[po(initial_write(1), 2)]);
    let x = derivation(Rule::Overtaken { read: 3 }, &[po(initial_write(0), 0)]);
    cycle(&[y, x], &[po(0, 1), derived(1, 0, 2), po(2, 3), derived(3, 1, 0)])
}

fn mp(first: Derivation) -> HistoryCycle {
    let edges = [po(0, 1), edge(1, Why::Rf, 2), po(2, 3), derived(3, 0, 0)];
    cycle(&[first], &edges)
}

fn corr() -> HistoryCycle {
    let ordered = derivation(Rule::Ordered, &[po(0, 1)]);
    let older = derivation(Rule::Older, &[edge(1, Why::Rf, 2), po(2, 3)]);
    cycle(&[ordered, older], &[derived(0, 0, 1), derived(1, 1, 0)])
}

pub(super) fn cases() -> Vec<Case> {
    [questions(), cycles(), causal(), runs(), coherent(), real_time(), streams()]
        .into_iter()
        .flatten()
        .collect()
}

/// Operations at these times.
fn timed(text: &str, times: &[(i64, i64)]) -> History {
    let mut ops = recorded(text);
    ops.set_times(times.iter().map(|&(start, end)| Times { start, end }).collect());
    ops
}

/// Runs at the right time, and cycles in which real time is what it is.
fn real_time() -> Vec<Case> {
    let linear = linear("0 1", &[&[0]]);
    let run = |times: &[(i64, i64)], model| {
        history(&timed("wx | rx0", times), model, &Verdict::Holds, &linear)
    };
    let with_commit = self::linear("0 1 c0", &[&[0]]);
    let buffered = |times: &[(i64, i64)]| {
        history(&timed("wx | rx", times), HistoryModel::TsoRt, &Verdict::Holds, &with_commit)
    };
    let stale_run = |times: &[(i64, i64)]| {
        let run = self::linear("1 0", &[&[0]]);
        history(&timed("wx | rx", times), HistoryModel::Lin, &Verdict::Holds, &run)
    };
    let late =
        "history/replay issue: the operation had ended before another one that was done began";
    // The write has ended, and what was before it is read.
    let stale = |times: &[(i64, i64)], model, from: u32| {
        let overwritten = derivation(Rule::Overtaken { read: 1 }, &[po(initial_write(0), from)]);
        let rt = edge(from, Why::Rt, 1);
        let cycle = cycle(&[overwritten], &[rt, derived(1, 0, from)]);
        let text = if model == HistoryModel::Lin { "wx | rx" } else { "ux | rx" };
        history(&timed(text, times), model, &Verdict::Violated, &HistoryEvidence::Cycle(cycle))
    };
    let by_write = |model, why| {
        let overwritten = derivation(Rule::Overtaken { read: 1 }, &[po(initial_write(0), 0)]);
        let cycle = cycle(&[overwritten], &[edge(0, why, 1), derived(1, 0, 0)]);
        let ops = timed("wx | rx", &[(0, 1), (2, 3)]);
        history(&ops, model, &Verdict::Violated, &HistoryEvidence::Cycle(cycle))
    };
    let good = || stale(&[(0, 1), (2, 3)], HistoryModel::Lin, 0);
    let not_there = "history/cycle path: an edge is not there";
    vec![
        case(
            late,
            run(&[(0, 3), (2, 5)], HistoryModel::Lin),
            run(&[(6, 7), (2, 5)], HistoryModel::Lin),
        ),
        case(
            late,
            run(&[(6, 7), (2, 5)], HistoryModel::Sc),
            run(&[(6, 7), (2, 5)], HistoryModel::Lin),
        ),
        case(late, buffered(&[(0, 1), (2, 5)]), buffered(&[(6, 7), (2, 5)])),
        // With the same time for both nobody knows which was first.
        case(late, stale_run(&[(0, 2), (2, 5)]), stale_run(&[(0, 1), (2, 5)])),
        case(not_there, good(), stale(&[(0, 2), (2, 3)], HistoryModel::Lin, 0)),
        case(not_there, good(), by_write(HistoryModel::Sc, Why::Rt)),
        // A write may be in its buffer when it has ended; an update has no buffer.
        case(
            not_there,
            stale(&[(0, 1), (2, 3)], HistoryModel::TsoRt, 0),
            by_write(HistoryModel::TsoRt, Why::Rt),
        ),
        case(not_there, good(), stale(&[(0, 1), (2, 3)], HistoryModel::Lin, 7)),
    ]
}

/// Operations on one variable that arrive in this order, and take effect in this order.
fn streams() -> Vec<Case> {
    let op = |thread, kind, value, start, end| LoggedOp {
        thread,
        kind,
        var: 0,
        value,
        old: if kind == OpKind::Update { value - 1 } else { 0 },
        from: None,
        line: 1,
        column: 1,
        times: Times { start, end },
    };
    let write = op(0, OpKind::Write, 1, 0, 5);
    let update = op(1, OpKind::Update, 2, 3, 9);
    let read = op(0, OpKind::Read, 2, 6, 9);
    let fence = op(2, OpKind::Fence, 0, 1, 1);
    let stream = |arrive: &[LoggedOp], effects: &[LoggedOp]| {
        let mut stream = LinearStream::default();
        arrive.iter().try_for_each(|op| stream.arrive(op))?;
        effects.iter().try_for_each(|op| stream.take_effect(op, 0))?;
        stream.finish()
    };
    let all = [write, update, read, fence];
    let good = || stream(&all, &[fence, write, update, read]);
    let with = |read: LoggedOp| stream(&[write, update, read], &[write, update, read]);
    let late_fence = op(2, OpKind::Fence, 0, 10, 11);
    // Another operation takes effect than the one that arrived.
    let instead = |other: LoggedOp| {
        let place = "history/stream finish: NotFinal";
        case(place, stream(&[write], &[write]), stream(&[write], &[other]))
    };
    let (late, long) = (op(1, OpKind::Read, 0, 7, 8), op(0, OpKind::Write, 1, 0, 7));
    vec![
        case(
            "history/stream arrive: the operation ends before it begins",
            good(),
            with(op(0, OpKind::Read, 2, 6, 5)),
        ),
        case(
            "history/stream arrive: the thread's last operation had not ended",
            good(),
            with(op(0, OpKind::Read, 2, 5, 9)),
        ),
        case(
            "history/stream take_effect: it had ended before another one began",
            stream(&[long, late], &[late, long]),
            stream(&[write, late], &[late, write]),
        ),
        case(
            "history/stream take_effect: memory holds another value",
            good(),
            stream(&all, &[fence, write, read, update]),
        ),
        case(
            "history/stream take_effect: memory holds another value",
            good(),
            stream(&all, &[fence, update, write, read]),
        ),
        case("history/stream finish: NotFinal", good(), stream(&all, &[fence, write, update])),
        case(
            "history/stream take_effect: memory holds another value",
            stream(&[late_fence, write], &[late_fence, write]),
            stream(&[write, late], &[write, late]),
        ),
        instead(LoggedOp { line: 2, ..write }),
        instead(LoggedOp { column: 2, ..write }),
        instead(LoggedOp { thread: 1, ..write }),
        instead(LoggedOp { var: 1, ..write }),
        instead(LoggedOp { value: 2, ..write }),
        instead(LoggedOp { old: 2, ..write }),
        instead(LoggedOp { times: Times { start: 1, end: 5 }, ..write }),
        instead(LoggedOp { times: Times { start: 0, end: 6 }, ..write }),
        instead(LoggedOp { kind: OpKind::Fence, ..write }),
        case(
            "history/stream finish: NotFinal",
            good(),
            stream(&all, &[fence, write, update, op(0, OpKind::Read, 2, 7, 9)]),
        ),
    ]
}

/// Runs of each variable by itself.
fn coherent() -> Vec<Case> {
    let of_mp =
        |steps: &str, order: &[&[u32]]| holds(MP, HistoryModel::Coherence, &linear(steps, order));
    let good = || of_mp("3 0 1 2", &[&[0], &[1]]);
    let bad = |steps: &str| of_mp(steps, &[&[0], &[1]]);
    let fenced = |steps: &str| holds("wx f rx0", HistoryModel::Coherence, &linear(steps, &[&[0]]));
    let twice =
        |steps: &str| holds("wx wx | rx0 rx1", HistoryModel::Coherence, &linear(steps, &[&[0, 1]]));
    let end = "history/replay replay_each_variable: NotFinal";
    vec![
        case(end, good(), of_mp("3 0 1 2", &[&[0]])),
        case(end, good(), bad("3 0 1")),
        case(end, good(), of_mp("3 0 1 2", &[&[0], &[1, 1]])),
        case(end, good(), of_mp("3 1 2", &[&[], &[1]])),
        // Fences may be left out, and nothing else.
        case(end, fenced("0 2"), fenced("0 1")),
        case(end, fenced("0 1 2"), fenced("1")),
        case(
            "history/replay replay_each_variable: there is no such operation",
            good(),
            bad("3 0 1 2 4"),
        ),
        case(
            "history/replay replay_each_variable: the operation was done before",
            good(),
            bad("3 0 1 2 2"),
        ),
        case(
            "history/replay replay_each_variable: the thread's next operation on the variable is another one",
            twice("0 2 1 3"),
            twice("1 0 2 3"),
        ),
        case(
            "history/replay replay_each_variable: the read sees another write",
            good(),
            bad("0 3 1 2"),
        ),
        case(
            "history/replay replay_each_variable: the store order has another write here",
            good(),
            of_mp("3 0 1 2", &[&[1], &[1]]),
        ),
    ]
}

fn questions() -> Vec<Case> {
    let run = linear("0 1 2 3 c0 c2", &[&[0], &[2]]);
    let good = || holds(SB, HistoryModel::Tso, &run);
    let by_definition = |model| holds(SB, model, &HistoryEvidence::ByDefinition);
    let search =
        |text, verdict, most| search_history(&recorded(text), HistoryModel::Sc, &verdict, most);
    // Each thread reads the other's write after its own: whichever is first, there is a cycle.
    let both = "wx rx2 | wx rx0";
    let conflict = |w: u32, r: u32, other: u32, literal: i32| {
        let older = derivation(Rule::Older, &[po(w, r)]);
        cycle(&[older], &[derived(w, 0, other), edge(other, Why::Chosen(literal), w)])
    };
    let refuted_by = |model, pairs: &[(u32, u32)], literals: [i32; 2], hints: &[u64]| {
        let conflicts = vec![conflict(0, 1, 2, literals[0]), conflict(2, 3, 0, literals[1])];
        let proof = vec![add(3, &[], hints)];
        let evidence = HistoryEvidence::Refuted { pairs: pairs.to_vec(), conflicts, proof };
        history(&recorded(both), model, &Verdict::Violated, &evidence)
    };
    let refuted = |pairs: &[(u32, u32)], literals, hints: &[u64]| {
        refuted_by(HistoryModel::Sc, pairs, literals, hints)
    };
    let split = || refuted(&[(0, 2)], [-1, 1], &[1, 2]);
    // A cycle that rests on a choice says that the choice is the other one.
    let step_by_step = |literal: i32| {
        let conflicts = vec![conflict(0, 1, 2, -1), conflict(2, 3, 0, 1)];
        let proof = vec![add(3, &[literal], &[1]), add(4, &[], &[2, 3])];
        let evidence = HistoryEvidence::Refuted { pairs: vec![(0, 2)], conflicts, proof };
        history(&recorded(both), HistoryModel::Sc, &Verdict::Violated, &evidence)
    };
    let pair = "history/cycle new: no two writes to one variable";
    let edge = "history/cycle path: an edge is not there";
    vec![
        case(
            "history/check history: Start",
            good(),
            holds("wx ry3 | wy rx", HistoryModel::Tso, &run),
        ),
        case(
            "history/check history: WrongKind",
            by_definition(HistoryModel::Cc),
            by_definition(HistoryModel::Sc),
        ),
        case(
            "history/check history: WrongKind",
            by_definition(HistoryModel::Wccm),
            by_definition(HistoryModel::Tso),
        ),
        case(
            "history/check history: WrongKind",
            by_definition(HistoryModel::Cm),
            by_definition(HistoryModel::Pso),
        ),
        case("history/check history: Lrat", split(), refuted(&[(0, 2)], [-1, 1], &[1])),
        case("history/check history: Lrat", step_by_step(1), step_by_step(-1)),
        case(
            "history/check history: WrongKind",
            good(),
            history(&recorded(SB), HistoryModel::Tso, &Verdict::Violated, &run),
        ),
        case(
            "history/check search_history: Start",
            search(SB, Verdict::Violated, 4),
            search("wx ry3 | wy rx", Verdict::Violated, 4),
        ),
        case(
            "history/check search_history: TooLarge",
            search(SB, Verdict::Violated, 4),
            search(SB, Verdict::Violated, 3),
        ),
        case(
            "history/check search_history: Contradicted",
            search(SB, Verdict::Violated, 4),
            search(SB, Verdict::Holds, 4),
        ),
        case(
            "history/check search_history: Contradicted",
            search("wx", Verdict::Holds, 4),
            search("wx", Verdict::Violated, 4),
        ),
        case(pair, split(), refuted(&[(0, 2), (0, 1)], [-1, 1], &[1, 2])),
        case(pair, split(), refuted(&[(0, 2), (0, 0)], [-1, 1], &[1, 2])),
        case(pair, split(), refuted(&[(0, 2), (0, 9)], [-1, 1], &[1, 2])),
        case(pair, split(), refuted(&[(0, 2), (1, 3)], [-1, 1], &[1, 2])),
        case(pair, split(), refuted(&[(0, 2), (0, initial_write(1))], [-1, 1], &[1, 2])),
        // The causal models leave nothing to choose.
        case(edge, split(), refuted_by(HistoryModel::Ccm, &[(0, 2)], [-1, 1], &[1, 2])),
        // The choice is the other one, or none.
        case(edge, split(), refuted(&[(0, 2)], [1, 1], &[1, 2])),
        case(edge, split(), refuted(&[(0, 2)], [-1, -1], &[1, 2])),
        case(edge, split(), refuted(&[(0, 2)], [-1, 2], &[1, 2])),
        case(edge, split(), refuted(&[(0, 2)], [0, 1], &[1, 2])),
    ]
}

fn cycles() -> Vec<Case> {
    let sc = |text, cycle| violated(text, HistoryModel::Sc, cycle);
    let good = || sc(SB, sb());
    let bad = |change: &dyn Fn(&mut HistoryCycle)| {
        let mut changed = sb();
        change(&mut changed);
        sc(SB, changed)
    };
    let overwritten = derivation(Rule::Overtaken { read: 3 }, &[po(initial_write(0), 0)]);
    let passing = || sc(MP, mp(overwritten.clone()));
    let not_passing = |rule, path: &[HistoryEdge]| sc(MP, mp(derivation(rule, path)));
    let older = |path: &[HistoryEdge]| {
        let mut changed = corr();
        changed.derivations[1].path = path.to_vec();
        sc(CORR, changed)
    };
    let ordered = |path: &[HistoryEdge]| {
        let mut changed = corr();
        changed.derivations[0].path = path.to_vec();
        sc(CORR, changed)
    };
    let there = "history/cycle path: an edge is not there";
    let no_edge =
        |edge: HistoryEdge| case(there, good(), bad(&|c| c.derivations[0].path = vec![edge]));
    // Store buffers keep the order of the accesses to a variable, and no other.
    let in_order = |text: &str| {
        let mut local = corr();
        local.within = Within::Local;
        local.derivations.iter_mut().for_each(|d| d.within = Within::Local);
        violated(text, HistoryModel::Tso, local)
    };
    let no_read = "history/cycle conclude: the path does not end in a read of another write";
    let no_overwriting =
        "history/cycle conclude: the path leads from no write to an overwriting one";
    vec![
        case("history/cycle path: a path without edges", good(), bad(&|c| c.edges.clear())),
        case(
            "history/cycle path: a path without edges",
            good(),
            bad(&|c| c.derivations[0].path.clear()),
        ),
        case(
            "history/cycle path: the model has only one relation",
            good(),
            bad(&|c| c.within = Within::Local),
        ),
        case(
            "history/cycle path: the model has only one relation",
            good(),
            bad(&|c| c.derivations[0].within = Within::Local),
        ),
        no_edge(po(initial_write(1), 4)),
        no_edge(po(initial_write(2), 2)),
        no_edge(po(4, 2)),
        no_edge(po(0, 4)),
        no_edge(po(1, 0)),
        no_edge(po(0, 0)),
        no_edge(po(0, 2)),
        no_edge(edge(0, Why::Rf, 1)),
        no_edge(edge(initial_write(0), Why::Rf, 4)),
        case(there, in_order(CORR), in_order("wx wy | ry1 rx0")),
        case("history/cycle path: two edges do not meet", good(), bad(&|c| c.edges.swap(1, 2))),
        case("history/cycle path: two edges do not meet", good(), bad(&|c| c.edges[3] = po(2, 3))),
        case(
            there,
            good(),
            bad(&|c| c.edges[2] = po(2, 3))
                .and_then(|()| bad(&|c| c.edges[0].why = Why::Derived(7))),
        ),
        case(there, good(), bad(&|c| c.edges[0].why = Why::Rf)),
        case(there, good(), bad(&|c| c.edges[1].why = Why::Derived(1))),
        // A derivation uses only those before it.
        case(there, good(), bad(&|c| c.derivations[0].path[0].why = Why::Derived(0))),
        case(there, good(), bad(&|c| c.edges[3].why = Why::Derived(2))),
        case(there, good(), violated(SB, HistoryModel::Tso, sb())),
        case(
            "history/cycle conclude: the path starts in no write",
            passing(),
            not_passing(Rule::Ordered, &[po(2, 3)]),
        ),
        case(no_read, sc(CORR, corr()), older(&[edge(0, Why::Rf, 3)])),
        case(no_read, sc(CORR, corr()), older(&[po(0, 1)])),
        case(no_read, passing(), not_passing(Rule::Older, &[po(0, 1), edge(1, Why::Rf, 2)])),
        case(
            no_overwriting,
            passing(),
            not_passing(Rule::Overtaken { read: 2 }, &[po(initial_write(0), 0)]),
        ),
        case(
            no_overwriting,
            passing(),
            not_passing(Rule::Overtaken { read: 3 }, &[po(initial_write(0), 1)]),
        ),
        case(
            no_overwriting,
            passing(),
            not_passing(Rule::Overtaken { read: 9 }, &[po(initial_write(0), 0)]),
        ),
        case(
            no_overwriting,
            passing(),
            not_passing(Rule::Overtaken { read: 1 }, &[po(initial_write(0), 0)]),
        ),
        case(
            "history/cycle conclude: the path does not lead to a write of the variable",
            sc(CORR, corr()),
            ordered(&[po(0, 1), edge(1, Why::Rf, 2)]),
        ),
        case(
            "history/cycle conclude: the path does not lead to a write of the variable",
            passing(),
            not_passing(Rule::Ordered, &[po(0, 1)]),
        ),
        case("history/cycle closes: the path is not closed", good(), bad(&|c| c.edges.truncate(3))),
    ]
}

/// Which derivations the causal models have.
fn causal() -> Vec<Case> {
    let late = "history/cycle stage: the model does not build on such an edge here";
    let allowed = "history/cycle closes: the model allows such a cycle";
    let with = |rule, path: &[HistoryEdge]| {
        let mut changed = sb();
        changed.derivations.push(derivation(rule, path));
        violated(SB, HistoryModel::Ccm, changed)
    };
    let good = || violated(SB, HistoryModel::Ccm, sb());
    let round = [po(initial_write(1), 1), derived(1, 0, 2)];
    // Two threads that each see the other's write last: CCv forbids it, CC and CM do not.
    let crossed = "wx rx2 | wx rx0";
    let both = cycle(
        &[derivation(Rule::Older, &[po(0, 1)]), derivation(Rule::Older, &[po(2, 3)])],
        &[derived(0, 0, 2), derived(2, 1, 0)],
    );
    let crossing = |model| violated(crossed, model, both.clone());
    vec![
        case(late, good(), with(Rule::Ordered, &round)),
        case(late, good(), with(Rule::Overtaken { read: 1 }, &round)),
        // A read of y that is after what was derived from that it is overtaken.
        case(
            late,
            good(),
            with(Rule::Older, &[po(0, 1), derived(1, 0, 2), po(2, 3)])
                .and_then(|()| with(Rule::Ordered, &round)),
        ),
        case(allowed, good(), violated(SB, HistoryModel::Cc, sb())),
        case(allowed, good(), violated(SB, HistoryModel::Ccv, sb())),
        case(allowed, good(), violated(SB, HistoryModel::Cm, sb())),
        case(allowed, crossing(HistoryModel::Ccv), crossing(HistoryModel::Cc)),
        case(allowed, crossing(HistoryModel::Ccm), crossing(HistoryModel::Cm)),
    ]
}

fn runs() -> Vec<Case> {
    let tso = |steps, order: &[&[u32]]| holds(SB, HistoryModel::Tso, &linear(steps, order));
    let order: [&[u32]; 2] = [&[0], &[2]];
    let steps = "0 1 2 3 c0 c2";
    let good = || tso(steps, &order);
    let bad = |steps| tso(steps, &order);
    let end = "history/replay replay: NotFinal";
    let no_write = "history/replay commit: there is no such write";
    let no_buffer = "history/replay commit: the write is not in a buffer";
    let twice = |model, steps| holds("wx wx", model, &linear(steps, &[&[0, 1]]));
    let two = |model, steps| holds("wx wy", model, &linear(steps, &[&[0], &[1]]));
    let not_in_memory = "history/replay issue: the thread's writes are not all in memory";
    let other = "history/replay issue: the read sees another write";
    let committed = |model| holds("wx | rx0", model, &linear("0 c0 1", &[&[0]]));
    let older = "history/replay commit: an older write is in the buffer";
    let no_buffers = "history/replay replay: SC has no buffers";
    let store = "history/replay store: the store order has another write here";
    vec![
        case(end, good(), tso(steps, &[&[0]])),
        case(end, good(), tso(steps, &[&[0], &[2], &[]])),
        case(end, good(), bad("0 1 2 c0 c2")),
        case(end, good(), bad("0 2 3 c0 c2")),
        case(end, good(), bad("0 1 2 3 c0")),
        case(end, good(), tso(steps, &[&[0], &[2, 2]])),
        // A store order that forgets a write.
        case(end, good(), tso("0 1 2 3 c0", &[&[0], &[]])),
        // Without commits, a run under SC shows wCCM as well.
        case(
            other,
            holds("wx | rx0", HistoryModel::Wccm, &linear("0 1", &[&[0]])),
            holds("wx | rx", HistoryModel::Wccm, &linear("0 1", &[&[0]])),
        ),
        // What lies between two writes is no write.
        case(
            older,
            holds("wx rx0 rx0 wy", HistoryModel::Tso, &linear("0 1 2 3 c0 c3", &[&[0], &[3]])),
            holds("wx rx0 rx0 wy", HistoryModel::Tso, &linear("0 1 2 3 c3 c0", &[&[0], &[3]])),
        ),
        case(no_buffers, committed(HistoryModel::Wccm), committed(HistoryModel::Ccm)),
        case(no_buffers, committed(HistoryModel::Tso), committed(HistoryModel::Sc)),
        case("history/replay issue: there is no such operation", good(), bad("0 1 2 4 c0 c2")),
        case(
            "history/replay issue: the thread's next operation is another one",
            good(),
            bad("1 0 2 3 c0 c2"),
        ),
        case(
            "history/replay issue: the thread's next operation is another one",
            good(),
            bad("0 1 1 3 c0 c2"),
        ),
        case(
            not_in_memory,
            holds("wx f", HistoryModel::Tso, &linear("0 c0 1", &[&[0]])),
            holds("wx f", HistoryModel::Tso, &linear("0 1 c0", &[&[0]])),
        ),
        case(
            not_in_memory,
            holds("wx uy", HistoryModel::Pso, &linear("0 c0 1", &[&[0], &[1]])),
            holds("wx uy", HistoryModel::Pso, &linear("0 1 c0", &[&[0], &[1]])),
        ),
        // Unless stores to its own variable are enough.
        case(
            not_in_memory,
            holds("wx uy", HistoryModel::PsoOwn, &linear("0 1 c0", &[&[0], &[1]])),
            holds("wx ux0", HistoryModel::PsoOwn, &linear("0 1 c0", &[&[0, 1]])),
        ),
        case(
            not_in_memory,
            holds("wx ux0 uy", HistoryModel::PsoOwn, &linear("0 c0 1 2", &[&[0, 1], &[2]])),
            holds("wx f", HistoryModel::PsoOwn, &linear("0 1 c0", &[&[0]])),
        ),
        // A run with buffers shows coherence, too.
        case(
            end,
            holds("wx wy", HistoryModel::Coherence, &linear("0 1 c1 c0", &[&[0], &[1]])),
            holds("wx wy", HistoryModel::Coherence, &linear("0 1 c1", &[&[0], &[1]])),
        ),
        case(other, good(), bad("0 2 c0 c2 1 3")),
        case(other, good(), holds("wx ry2 | wy rx", HistoryModel::Tso, &linear(steps, &order))),
        // A thread's own write, while it is in the buffer, and then what memory has.
        case(
            other,
            holds("wx rx0 | wx", HistoryModel::Tso, &linear("0 1 2 c2 c0", &[&[2, 0]])),
            holds("wx rx2 | wx", HistoryModel::Tso, &linear("0 2 c2 1 c0", &[&[2, 0]])),
        ),
        case(
            other,
            holds("wx rx2 | wx", HistoryModel::Tso, &linear("0 c0 2 c2 1", &[&[0, 2]])),
            holds("wx rx0 | wx", HistoryModel::Tso, &linear("0 c0 2 c2 1", &[&[0, 2]])),
        ),
        case(no_write, good(), bad("0 1 2 3 c1 c2")),
        case(no_write, good(), bad("0 1 2 3 c4 c2")),
        case(no_write, good(), holds("ux", HistoryModel::Tso, &linear("0 c0", &[&[0]]))),
        case(no_buffer, good(), bad("c0 0 1 2 3 c2")),
        case(no_buffer, good(), bad("0 1 2 3 c0 c0 c2")),
        case(
            "history/replay commit: an older write to the variable is in the buffer",
            twice(HistoryModel::Pso, "0 1 c0 c1"),
            twice(HistoryModel::Pso, "0 1 c1 c0"),
        ),
        case(
            "history/replay commit: an older write is in the buffer",
            two(HistoryModel::Pso, "0 1 c1 c0"),
            two(HistoryModel::Tso, "0 1 c1 c0"),
        ),
        case(store, good(), tso(steps, &[&[2], &[0]])),
        case(store, good(), tso(steps, &[&[], &[2]])),
    ]
}

/// What is wrong is found where it is.
#[test]
fn the_first_commit_out_of_order() {
    let rejected = holds("wx wy", HistoryModel::Tso, &linear("0 1 c1 c0", &[&[0], &[1]]));
    assert_eq!(rejected, Err(Rejected::HistoryStep(2, "an older write is in the buffer")));
}

/// Evidence for choices of what is read: each a list of reads and writes, -1 and -2 for the initial ones of x and y. Operation 3 may have
/// read 0 or 1, operation 4 the initial value or 2.
fn ways(verdict: &Verdict, all: &[&[(u32, i64)]]) -> Result<(), Rejected> {
    let ops = recorded("wy wy wx | ry0 rx");
    let open = [(3, vec![0, 1]), (4, vec![INITIAL, 2])];
    let from = |w: i64| u32::try_from(w).unwrap_or_else(|_| initial_write((-1 - w) as u32));
    let way = |reads: &&[(u32, i64)]| HistoryWay {
        reads: reads.iter().map(|&(read, w)| (read, from(w))).collect(),
        evidence: HistoryEvidence::ByDefinition,
    };
    history_ways(&ops, &open, verdict, &all.iter().map(way).collect::<Vec<_>>())
}

pub(super) fn choices() -> Vec<Case> {
    let (holds, violated) = (&Verdict::Holds, &Verdict::Violated);
    let all: [&[(u32, i64)]; 4] =
        [&[(3, 0), (4, -1)], &[(3, 1), (4, -1)], &[(3, 0), (4, 2)], &[(3, 1), (4, 2)]];
    vec![
        case(
            "history/check history_ways: other reads are of values that were written again",
            ways(holds, &[&[(3, 1), (4, 2)]]),
            ways(holds, &[&[(3, 1)]]),
        ),
        case(
            "history/check history_ways: a read cannot have read what is said",
            ways(holds, &[&[(3, 1), (4, -1)]]),
            ways(holds, &[&[(3, 2), (4, -1)]]),
        ),
        case(
            "history/check history_ways: a read cannot have read what is said",
            ways(holds, &[&[(3, 1), (4, -1)]]),
            ways(holds, &[&[(4, 1), (4, -1)]]),
        ),
        case(
            "history/check history_ways: a read cannot have read what is said",
            ways(holds, &[&[(3, 1), (4, -1)]]),
            ways(holds, &[&[(4, -1), (4, -1)]]),
        ),
        case(
            "history/check history_ways: a read cannot have read what is said",
            ways(holds, &[&[(3, 1), (4, -1)]]),
            ways(holds, &[&[(3, 1), (99, -1)]]),
        ),
        // The initial value of another variable is no other choice.
        case(
            "history/check history_ways: a read cannot have read what is said",
            ways(violated, &all),
            ways(violated, &[all[0], all[1], &[(3, 0), (4, -2)], &[(3, 1), (4, -2)]]),
        ),
        case(
            "history/check history_ways: not all choices of what reads read are there",
            ways(violated, &all),
            ways(violated, &[all[0], all[1], all[2], all[2]]),
        ),
        case(
            "history/check history_ways: not all choices of what reads read are there",
            ways(violated, &all),
            ways(violated, &[all[0], all[1], all[2], all[3], all[3]]),
        ),
    ]
}

/// An update waits for older stores of its thread, unless those to its own variable are enough.
#[test]
fn updates_behind_stores() {
    let passing = |model| {
        let overwritten = derivation(Rule::Overtaken { read: 3 }, &[po(initial_write(0), 0)]);
        violated("wx uy | ry1 rx", model, mp(overwritten))
    };
    assert_eq!(passing(HistoryModel::Tso), Ok(()));
    assert_eq!(passing(HistoryModel::Pso), Ok(()));
    assert!(passing(HistoryModel::PsoOwn).is_err());
}

/// What is wrong in a stream is the operation of this number.
#[test]
fn places_in_streams() {
    let op = |value, start| LoggedOp {
        thread: 0,
        kind: OpKind::Read,
        var: 0,
        value,
        old: 0,
        from: None,
        line: 1,
        column: 1,
        times: Times { start, end: start + 1 },
    };
    let mut stream = LinearStream::default();
    assert_eq!([op(0, 0), op(0, 2)].map(|op| stream.arrive(&op)), [Ok(()), Ok(())]);
    let touches = Rejected::HistoryStep(2, "the thread's last operation had not ended");
    assert_eq!(stream.arrive(&op(0, 3)), Err(touches));
    assert_eq!([op(0, 0), op(0, 2)].map(|op| stream.take_effect(&op, 0)), [Ok(()), Ok(())]);
    let other = Rejected::HistoryStep(2, "memory holds another value");
    assert_eq!(stream.take_effect(&op(1, 4), 0), Err(other));
}

#[test]
fn recorded_histories() {
    let mut ops = History::new();
    assert!(ops.is_empty() && ops.vars() == 0 && !ops.has_times());
    ops.thread();
    ops.push(OpKind::Fence, 0, INITIAL);
    assert!(!ops.is_empty() && ops.vars() == 0 && ops.threads() == 1);
    let kinds = [OpKind::Read, OpKind::Write, OpKind::Update, OpKind::Fence];
    let logged = |kind| LoggedOp {
        thread: 0,
        kind,
        var: 0,
        value: 3,
        old: 4,
        from: None,
        line: 1,
        column: 1,
        times: Times::UNKNOWN,
    };
    assert_eq!(kinds.map(|kind| logged(kind).read()), [Some(3), None, Some(4), None]);
    assert_eq!(kinds.map(|kind| logged(kind).writes()), [false, true, true, false]);
    for model in HistoryModel::EVERY {
        assert_eq!(HistoryModel::from_key(model.key()), Some(model));
    }
    assert_eq!(HistoryModel::from_key("all"), None);
    // Reads are of writes to their own variable, which are there.
    assert!(recorded("wx rx0 | rx0 ry").is_well_formed());
    for text in ["rx1 wy", "rx1 rx", "rx2 wx", "rx7", "f rx0", "wy rx0"] {
        assert!(!recorded(text).is_well_formed(), "{text}");
    }
    // Times are of all operations or of none.
    let with = |times: &[(i64, i64)]| timed("wx rx0", times);
    assert!(with(&[(0, 1), (2, 3)]).is_well_formed() && with(&[(0, 1), (2, 3)]).has_times());
    assert!(with(&[]).is_well_formed() && !with(&[]).has_times());
    for times in [&[(0, 1)][..], &[(0, 2), (1, 3)], &[(1, 0), (2, 3)], &[(0, 1), (2, 3), (4, 5)]] {
        assert!(!with(times).is_well_formed(), "{times:?}");
    }
}

/// What is derived under the causal models, stage by stage: whether a derivation is accepted, of
/// which those before it are.
#[test]
fn stages() {
    use HistoryModel::{Cc, Ccm, Ccv, Cm, Wccm};
    // The third thread sees the writes 1, 2 and 6 in this order, and 6 is before 1.
    let text = "ry7 wx | wx | rx1 rx2 rx6 | wx wy | rx2 rx6 | wx rx2 rx10";
    let rf = |from, to| edge(from, Why::Rf, to);
    let with =
        |rule, within, path: &[HistoryEdge]| Derivation { rule, within, path: path.to_vec() };
    let older = |within, path: &[HistoryEdge]| with(Rule::Older, within, path);
    let first = |within| older(within, &[rf(1, 3), po(3, 4)]);
    let on_first =
        |within, last: &[HistoryEdge]| older(within, &[&[derived(1, 0, 2)], last].concat());
    let same = [rf(2, 4), po(4, 5)];
    let closed = |number| [derived(1, number, 6), po(6, 7), rf(7, 0), po(0, 1)];
    let ask = |model, derivations: &[Derivation], edges: &[HistoryEdge]| {
        violated(text, model, cycle(derivations, edges))
    };
    let allowed = |at| Err(Rejected::HistoryOrder(at, "the model allows such a cycle"));
    let late =
        |at| Err(Rejected::HistoryOrder(at, "the model does not build on such an edge here"));
    let global = Within::Global;
    // One derivation from a path without any is enough for all models.
    let direct = older(global, &[rf(1, 3), po(3, 5)]);
    for model in [Cc, Ccv, Cm, Ccm] {
        assert_eq!(ask(model, std::slice::from_ref(&direct), &closed(0)), Ok(()), "{model:?}");
    }
    // Others build on what the same thread has seen.
    let nested = [first(global), on_first(global, &same)];
    assert_eq!(ask(Cc, &nested, &closed(1)), allowed(2));
    assert_eq!(ask(Ccv, &nested, &closed(1)), allowed(2));
    assert_eq!(ask(Cm, &nested, &closed(1)), Ok(()));
    assert_eq!(ask(Ccm, &nested, &closed(1)), Ok(()));
    // What another thread has seen is of a later stage, which CM has not.
    let across = [first(global), on_first(global, &[rf(2, 8), po(8, 9)])];
    assert_eq!(ask(Ccm, &across, &closed(1)), Ok(()));
    assert_eq!(ask(Cm, &across, &closed(1)), allowed(2));
    // Under wCCM only reads of other threads count there, and each relation has its own.
    let open = |number, to| [derived(1, number, to)];
    let not_closed = Err(Rejected::HistoryOrder(2, "the path is not closed"));
    assert_eq!(ask(Wccm, &across, &open(1, 6)), not_closed);
    let to_own = [first(global), on_first(global, &[rf(2, 11), po(11, 12)])];
    assert_eq!(ask(Wccm, &to_own, &open(1, 10)), late(1));
    assert_eq!(ask(Ccm, &to_own, &open(1, 10)), not_closed);
    assert_eq!(ask(Wccm, &nested, &open(1, 6)), not_closed);
    let mixed = [first(Within::Local), on_first(global, &same)];
    assert_eq!(ask(Wccm, &mixed, &open(1, 6)), late(1));
    // One that is no older write, alone.
    let overwritten = derivation(Rule::Overtaken { read: 3 }, &[po(initial_write(0), 0)]);
    assert_eq!(violated(MP, Cc, mp(overwritten)), allowed(1));
}

/// What follows from an order of two writes: nothing by what is older, and what overtakes a read of
/// the same variable.
#[test]
fn stages_of_orders() {
    let ordered = |from, to| derivation(Rule::Ordered, &[po(from, to)]);
    let overtaken = |read, path: &[HistoryEdge]| derivation(Rule::Overtaken { read }, path);
    let ask = |text, derivations: &[Derivation], last: HistoryEdge| {
        violated(text, HistoryModel::Ccm, cycle(derivations, &[last]))
    };
    let late = Err(Rejected::HistoryOrder(1, "the model does not build on such an edge here"));
    let not_closed = Err(Rejected::HistoryOrder(2, "the path is not closed"));
    let older = derivation(Rule::Older, &[derived(0, 0, 1), edge(1, Why::Rf, 2)]);
    assert_eq!(ask(CORR, &[ordered(0, 1), older], derived(0, 1, 1)), late);
    let over = overtaken(3, &[derived(0, 0, 1)]);
    assert_eq!(ask(CORR, &[ordered(0, 1), over], derived(3, 1, 1)), not_closed);
    let other = overtaken(4, &[po(0, 1), derived(1, 0, 2), po(2, 3)]);
    assert_eq!(ask("wx wy wy wx | rx0", &[ordered(1, 2), other], derived(4, 1, 3)), late);
}

/// A choice may lead to an initial write, where no read is.
#[test]
fn choices_that_lead_to_the_beginning() {
    let path = [edge(0, Why::Chosen(1), initial_write(0))];
    let conflict = cycle(&[derivation(Rule::Older, &path)], &path);
    let pairs = vec![(0, initial_write(0))];
    let evidence = HistoryEvidence::Refuted { pairs, conflicts: vec![conflict], proof: vec![] };
    let said = history(&recorded("wx"), HistoryModel::Sc, &Verdict::Violated, &evidence);
    let why = "the path does not end in a read of another write";
    assert_eq!(said, Err(Rejected::HistoryOrder(0, why)));
}
