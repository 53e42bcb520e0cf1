//! The online monitors against the definition, on random executions.

use weakspot_core::serial::{
    BufferedReads, Question, TxnCycle, conflict, pair, sc_equivalent, serializable,
};
use weakspot_core::testing::{Rng, overwriting_trace};
use weakspot_core::{TxnEvent, TxnKind};
use weakspot_serial::Online;

/// A random complete execution: transactions of each thread have consecutive numbers.
fn random_execution(rng: &mut Rng, threads: u32, vars: u32, steps: usize) -> Vec<TxnEvent> {
    let mut events: Vec<TxnEvent> = Vec::new();
    let mut buffers: Vec<Vec<TxnEvent>> = vec![Vec::new(); threads as usize];
    let mut txns: Vec<u32> = (0..threads).map(|t| 1000 * t).collect();
    let mut left = steps;
    while left > 0 || buffers.iter().any(|buffer| !buffer.is_empty()) {
        let thread = rng.below(threads as usize) as u32;
        let buffer = &mut buffers[thread as usize];
        if !buffer.is_empty() && (left == 0 || rng.one_in(3)) {
            events.push(TxnEvent { kind: TxnKind::Commit, ..buffer.remove(0) });
            continue;
        }
        if left == 0 {
            continue;
        }
        if rng.one_in(3) {
            txns[thread as usize] += 1;
        }
        let kind = match rng.below(12) {
            0..5 => TxnKind::Read,
            5..10 => TxnKind::Write,
            10 => TxnKind::Fence,
            _ => TxnKind::Update,
        };
        if kind.drains() && !buffer.is_empty() {
            continue;
        }
        let var = if kind == TxnKind::Fence { 0 } else { rng.below(vars as usize) as u32 };
        let event = TxnEvent { thread, kind, var, txn: txns[thread as usize] };
        if kind == TxnKind::Write {
            buffer.push(event);
        }
        events.push(event);
        left -= 1;
    }
    events
}

/// A random execution of another shape each time: few or many threads and variables, long and short
/// transactions side by side, stores that stay in the buffer for long, threads that read what they
/// have stored or what others have, with and without fences and updates. At the end some
/// transactions are in the middle.
fn varied_execution(rng: &mut Rng) -> Vec<TxnEvent> {
    let (threads, vars) = (1 + rng.below(7), 1 + rng.below(8));
    let length: Vec<usize> = (0..threads).map(|_| [1, 2, 3, 8, 1_000][rng.below(5)]).collect();
    let [writes, drains, commits, own, turns] = [
        [1, 2, 5][rng.below(3)],
        [2, 10, 1_000][rng.below(3)],
        [1, 3, 12][rng.below(3)],
        [1, 2, 1_000][rng.below(3)],
        [1, 2, 6][rng.below(3)],
    ];
    let mut events: Vec<TxnEvent> = Vec::new();
    let mut buffers: Vec<Vec<TxnEvent>> = vec![Vec::new(); threads];
    let mut stored: Vec<Vec<u32>> = vec![Vec::new(); threads];
    let mut txns: Vec<u32> = (0..threads as u32).map(|thread| 1_000 * thread).collect();
    let mut thread = 0;
    for _ in 0..4 + rng.below(30) {
        if rng.one_in(turns) {
            thread = rng.below(threads);
        }
        let drains = rng.one_in(drains);
        let buffer = &mut buffers[thread];
        if !buffer.is_empty() && (drains || rng.one_in(commits)) {
            events.push(TxnEvent { kind: TxnKind::Commit, ..buffer.remove(0) });
            continue;
        }
        let kind = match (drains, rng.one_in(writes)) {
            (true, _) if rng.one_in(2) => TxnKind::Fence,
            (true, _) => TxnKind::Update,
            (false, true) if writes > 1 || rng.one_in(2) => TxnKind::Write,
            _ => TxnKind::Read,
        };
        txns[thread] += u32::from(rng.one_in(length[thread]));
        let mine = &mut stored[thread];
        let var = match kind {
            TxnKind::Fence => 0,
            TxnKind::Read if !mine.is_empty() && rng.one_in(own) => mine[rng.below(mine.len())],
            _ => rng.below(vars) as u32,
        };
        let event = TxnEvent { thread: thread as u32, kind, var, txn: txns[thread] };
        if kind == TxnKind::Write {
            mine.push(var);
            buffer.push(event);
        }
        events.push(event);
    }
    while let Some(thread) = (0..threads).find(|&thread| !buffers[thread].is_empty()) {
        let thread = if rng.one_in(2) { thread } else { rng.below(threads) };
        if !buffers[thread].is_empty() {
            let write = buffers[thread].remove(0);
            events.push(TxnEvent { kind: TxnKind::Commit, ..write });
        }
    }
    events
}

fn online(events: &[TxnEvent], question: Question) -> Option<TxnCycle> {
    let mut online = Online::new(question);
    let mut found = None;
    for &event in events {
        let cycle = online.event(event).expect("an execution");
        found = found.or(cycle);
    }
    found
}

fn check_cycle(events: &[TxnEvent], question: Question, cycle: &TxnCycle) {
    let execution = pair(events).expect("an execution");
    let relation = question.conflicts();
    let node = |event: u64| match question {
        Question::ScEquivalent => execution.issue_of(event as usize),
        _ => events[event as usize].txn as usize,
    };
    let next = cycle.0.iter().cycle().skip(1);
    for (&(a, b), &(c, _)) in cycle.0.iter().zip(next) {
        assert!(conflict(&execution, relation, a as usize, b as usize), "{a} {b} do not conflict");
        assert_eq!(node(b), node(c), "the cycle does not hold together");
        assert_ne!(node(a), node(b));
    }
}

fn expected(events: &[TxnEvent], question: Question) -> bool {
    let execution = pair(events).expect("an execution");
    match question {
        Question::TsoSerializable(_) | Question::ScSerializable => {
            serializable(&execution, question.conflicts())
        }
        Question::ScEquivalent => sc_equivalent(&execution),
    }
}

/// A smaller execution that is still answered wrongly.
fn shrink(events: &[TxnEvent], question: Question) -> Vec<TxnEvent> {
    let mut small = events.to_vec();
    'again: loop {
        for at in 0..small.len() {
            let execution = pair(&small).expect("an execution");
            let commit = execution.commit_of(at);
            if small[at].kind == TxnKind::Commit {
                continue;
            }
            let keep = |i: &usize| *i != at && Some(*i) != commit;
            let fewer: Vec<TxnEvent> = (0..small.len()).filter(keep).map(|i| small[i]).collect();
            if online(&fewer, question).is_none() != expected(&fewer, question) {
                small = fewer;
                continue 'again;
            }
        }
        return small;
    }
}

fn show(events: &[TxnEvent]) -> String {
    let line = |e: &TxnEvent| format!("t{}: {:?} x{} #{}\n", e.thread, e.kind, e.var, e.txn);
    events.iter().map(line).collect()
}

#[test]
fn executions() {
    compare(40_000, |rng| {
        let (threads, vars) = (2 + rng.below(3) as u32, 1 + rng.below(3) as u32);
        let steps = 3 + rng.below(14);
        random_execution(rng, threads, vars, steps)
    });
}

#[test]
fn varied_executions() {
    compare(6_000, varied_execution);
}

/// One execution of a trace in which a thread may find its own write overwritten.
#[test]
fn overwriting_executions() {
    let differ = compare(6_000, |rng| {
        let trace = overwriting_trace(rng, 9);
        with_commits(rng, &trace)
    });
    assert!(differ > 10, "{differ}");
}

/// A trace whose stores reach memory soon or late.
fn with_commits(rng: &mut Rng, trace: &[TxnEvent]) -> Vec<TxnEvent> {
    let threads = trace.iter().map(|e| e.thread + 1).max().unwrap_or(0) as usize;
    let mut pending: Vec<Vec<TxnEvent>> = vec![Vec::new(); threads];
    let mut events = Vec::new();
    for (at, e) in trace.iter().enumerate() {
        while at > 0 && rng.one_in(2) {
            let oldest = &mut pending[rng.below(threads)];
            if !oldest.is_empty() {
                events.push(TxnEvent { kind: TxnKind::Commit, ..oldest.remove(0) });
            }
        }
        let own = &mut pending[e.thread as usize];
        if e.kind.drains() {
            events.extend(own.drain(..).map(|e| TxnEvent { kind: TxnKind::Commit, ..e }));
        }
        events.push(*e);
        own.extend((e.kind == TxnKind::Write).then_some(*e));
    }
    let rest = pending.into_iter().flatten();
    events.extend(rest.map(|e| TxnEvent { kind: TxnKind::Commit, ..e }));
    events
}

/// Answers all questions about random executions and compares with the definition. For how many the
/// two readings of TSO-serializability differ.
fn compare(seeds: u64, random: impl Fn(&mut Rng) -> Vec<TxnEvent>) -> usize {
    let (mut bad, mut good, mut differ) = (0, 0, 0);
    for seed in 0..seeds {
        let events = random(&mut Rng::new(seed));
        let [exact, by_the_paper] = BufferedReads::ALL.map(Question::TsoSerializable);
        differ += usize::from(expected(&events, exact) != expected(&events, by_the_paper));
        for question in [exact, by_the_paper, Question::ScSerializable, Question::ScEquivalent] {
            let expect = expected(&events, question);
            let found = online(&events, question);
            if found.is_none() != expect {
                let small = shrink(&events, question);
                panic!("seed {seed} {question:?}, serializable {expect}:\n{}", show(&small));
            }
            if let Some(cycle) = &found {
                check_cycle(&events, question, cycle);
            }
            *if expect { &mut good } else { &mut bad } += 1;
        }
    }
    assert!(good > seeds / 5 && bad > seeds / 5, "{good} {bad}");
    differ
}
