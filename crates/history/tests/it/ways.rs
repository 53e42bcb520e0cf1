//! Histories of which it is open what some reads read, against all choices by definition.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, OpsSource, Rng, mutate_ops, random_ops, scaled};
use weakspot_core::{History, HistoryModel, INITIAL, Limits, OpKind, Silent, Verdict};
use weakspot_history::{Complete, Method, classify_open};

/// A random history in which values say little: each write of a variable has one of two, so that a read may have read any
/// of those that wrote its own, and the initial value is one of them.
fn open_reads(ops: &History, rng: &mut Rng) -> Vec<(u32, Vec<u32>)> {
    let all = 0..ops.len() as u32;
    let values: Vec<usize> = all.clone().map(|_| rng.below(2)).collect();
    let mut open = Vec::new();
    let mut ways = 1;
    for read in all.clone().filter(|&op| ops.reads(op)) {
        let value = ops.from(read).map_or(0, |write| values[write as usize]);
        let writes = all.clone().filter(|&op| {
            op != read
                && ops.writes(op)
                && ops.var(op) == ops.var(read)
                && values[op as usize] == value
        });
        let first = (value == 0).then_some(INITIAL);
        let candidates: Vec<u32> = first.into_iter().chain(writes).collect();
        if candidates.len() > 1 && ways * candidates.len() <= 64 {
            ways *= candidates.len();
            open.push((read, candidates));
        }
    }
    open
}

fn any_satisfies(ops: &History, open: &[(u32, Vec<u32>)], model: HistoryModel) -> bool {
    let Some(((read, writes), rest)) = open.split_first() else { return satisfies(ops, model) };
    writes.iter().any(|&write| {
        let mut chosen = ops.clone();
        chosen.set_from(*read, write);
        any_satisfies(&chosen, rest, model)
    })
}

#[test]
fn all_choices() {
    let size = OpsSize { threads: 3, vars: 2, ops: 9, fences: 0, updates: 6 };
    let method = Method { complete: Complete::Auto, saturate: true };
    let limits = Limits { buffer: 0, ..Limits::UNLIMITED };
    let mut ends = [0, 0];
    for seed in 0..scaled(4000) as u64 {
        let mut rng = Rng::new(seed);
        let source = OpsSource::ALL[rng.below(OpsSource::ALL.len())];
        let mut ops = random_ops(&mut rng, size, source);
        let changes = rng.below(3);
        mutate_ops(&mut rng, &mut ops, changes);
        let open = open_reads(&ops, &mut rng);
        if open.is_empty() || !ops.is_well_formed() {
            continue;
        }
        for model in
            [HistoryModel::Sc, HistoryModel::Tso, HistoryModel::Coherence, HistoryModel::Cc]
        {
            let chosen = classify_open(&ops, &open, model, method, &limits, &mut Silent);
            let chosen = chosen.unwrap_or_else(|why| panic!("seed {seed}: {why:?}"));
            let holds = any_satisfies(&ops, &open, model);
            let expect = if holds { Verdict::Holds } else { Verdict::Violated };
            assert_eq!(chosen.found.answer.verdict, expect, "seed {seed} {model:?}");
            // The answer is about a history that is one of the choices.
            assert_eq!(satisfies(&chosen.ops, model), holds, "seed {seed} {model:?}");
            for op in 0..ops.len() as u32 {
                let may = open.iter().find(|(read, _)| *read == op).map(|(_, writes)| writes);
                let from = chosen.ops.from(op);
                match may {
                    Some(writes) => assert!(writes.contains(&from.unwrap_or(INITIAL))),
                    None if ops.kind(op) != OpKind::Write => assert_eq!(from, ops.from(op)),
                    None => {}
                }
            }
            ends[usize::from(holds)] += 1;
        }
    }
    assert!(ends.iter().all(|&n| n > 100), "{ends:?}");
}
