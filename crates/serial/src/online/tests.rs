//! Graphs from which nodes are taken out all the time, against those from which none is.

use weakspot_core::serial::{Conflicts, CycleCheck};
use weakspot_core::testing::Rng;

use super::*;

const QUESTIONS: [Question; 4] = [
    Question::TsoSerializable(BufferedReads::Exact),
    Question::TsoSerializable(BufferedReads::Static),
    Question::ScSerializable,
    Question::ScEquivalent,
];

/// Executions with transactions that stay open for long, and others that come and go.
fn random_execution(rng: &mut Rng, commits: bool) -> Vec<TxnEvent> {
    let threads = 2 + rng.below(5);
    let (vars, steps) = (1 + rng.below(12), 10 + rng.below(90));
    let length: Vec<usize> = (0..threads).map(|_| [1, 2, 4, 40][rng.below(4)]).collect();
    let (writes, drains) = (1 + rng.below(4), 1 + rng.below(30));
    let mut buffers: Vec<VecDeque<TxnEvent>> = vec![VecDeque::new(); threads];
    let mut txns: Vec<u32> = (0..threads as u32).map(|thread| 1_000 * thread).collect();
    let mut events = Vec::new();
    for _ in 0..steps {
        let thread = rng.below(threads);
        if rng.one_in(3)
            && let Some(write) = buffers[thread].pop_front()
        {
            events.push(TxnEvent { kind: TxnKind::Commit, ..write });
            continue;
        }
        let mut kind = if rng.one_in(writes + 1) { TxnKind::Write } else { TxnKind::Read };
        if rng.one_in(drains) && buffers[thread].is_empty() {
            kind = if rng.one_in(2) { TxnKind::Fence } else { TxnKind::Update };
        }
        txns[thread] += u32::from(rng.one_in(length[thread]));
        let var = if kind == TxnKind::Fence { 0 } else { rng.below(vars) as u32 };
        let event = TxnEvent { thread: thread as u32, kind, var, txn: txns[thread] };
        events.push(event);
        if kind == TxnKind::Write && commits {
            buffers[thread].push_back(event);
        }
    }
    for write in buffers.into_iter().flatten() {
        events.push(TxnEvent { kind: TxnKind::Commit, ..write });
    }
    events
}

fn follow(online: &mut Online, events: &[TxnEvent], commits: bool) -> Option<TxnCycle> {
    events.iter().find_map(|&event| match commits {
        true => online.event(event).expect("an execution"),
        false => online.sc_event(event),
    })
}

#[test]
fn nodes_in_between_make_no_difference() {
    let (mut cycles, mut none, mut long) = (0, 0, 0);
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let commits = !rng.one_in(3);
        let events = random_execution(&mut rng, commits);
        for question in QUESTIONS {
            let mut tight = Online { graph: Graph::tight(), ..Online::new(question) };
            let found = follow(&mut tight, &events, commits);
            let expected = follow(&mut Online::new(question), &events, commits);
            assert_eq!(found.is_some(), expected.is_some(), "seed {seed} {question:?}");
            let Some(cycle) = found else {
                none += 1;
                continue;
            };
            cycles += 1;
            long += usize::from(cycle.0.len() > 4);
            let relation = match (commits, question) {
                (true, question) => question.conflicts(),
                (false, Question::TsoSerializable(_)) => continue,
                (false, _) => Conflicts::Sc,
            };
            let mut check = CycleCheck::new(relation, &cycle);
            let mut issues: Vec<VecDeque<u32>> = vec![VecDeque::new(); 8];
            for (at, &event) in events.iter().enumerate() {
                // Each store and its commit is a transaction, and each other event.
                let mut txn = at as u32;
                match event.kind {
                    TxnKind::Write => issues[event.thread as usize].push_back(txn),
                    TxnKind::Commit => {
                        txn = issues[event.thread as usize].pop_front().expect("a store");
                    }
                    _ => {}
                }
                let txn = if question == Question::ScEquivalent { txn } else { event.txn };
                check.event(TxnEvent { txn, ..event }).expect("an execution");
            }
            assert!(check.end().is_ok(), "seed {seed} {question:?}: {cycle:?}");
        }
    }
    assert!(cycles > 5_000 && none > 5_000 && long > 100, "{cycles} {none} {long}");
}
