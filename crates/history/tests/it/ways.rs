//! Histories of which it is open what some reads read, against all choices by definition.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, OpsSource, Rng, mutate_ops, random_ops, scaled};
use weakspot_core::{History, HistoryModel, INITIAL, Limits, OpKind, Silent, Verdict};
use weakspot_history::{Chosen, Complete, Method, Shown, classify_open, minimal_part};

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

/// The smallest part violates the model with all choices, and without any of its operations, and what may read from
/// it, it does not.
fn check_part(
    ops: &History,
    open: &[(u32, Vec<u32>)],
    chosen: &Chosen,
    model: HistoryModel,
    seed: u64,
) {
    let all: usize = open.iter().map(|(_, writes)| writes.len()).product();
    assert_eq!(chosen.ways.len(), all, "seed {seed} {model:?}");
    let evidence = chosen.found.answer.evidence.as_deref().expect("evidence");
    let shown = Shown { evidence, open, ways: &chosen.ways };
    let part = minimal_part(ops, model, shown, METHOD, &LIMITS, &mut Silent);
    let part = part.expect("good evidence").expect("a part");
    assert!(part.is_minimal, "seed {seed} {model:?}");
    assert!(!any_satisfies(&part.ops, &part.open, model), "seed {seed} {model:?}");
    let may_read = |op: u32| match part.open.iter().find(|(read, _)| *read == op) {
        Some((_, writes)) => writes.clone(),
        None => part.ops.from(op).into_iter().collect(),
    };
    // A choice for the whole is one for the part.
    for op in 0..part.ops.len() as u32 {
        let whole = part.kept[op as usize];
        let of_whole = match open.iter().find(|(read, _)| *read == whole) {
            Some((_, writes)) => writes.clone(),
            None => ops.from(whole).into_iter().collect(),
        };
        let there = |&w: &u32| if w == INITIAL { w } else { part.kept[w as usize] };
        assert_eq!(may_read(op).iter().map(there).collect::<Vec<_>>(), of_whole);
    }
    for gone in 0..part.ops.len() as u32 {
        let mut left = vec![true; part.ops.len()];
        left[gone as usize] = false;
        while let Some(op) = (0..part.ops.len() as u32).find(|&op| {
            let has = |&w: &u32| w == INITIAL || left[w as usize];
            left[op as usize] && !may_read(op).iter().all(has)
        }) {
            left[op as usize] = false;
        }
        let (rest, open) = without(&part.ops, &part.open, &left);
        assert!(any_satisfies(&rest, &open, model), "seed {seed} {model:?} without {gone}");
    }
}

/// What is left of a history.
fn without(
    ops: &History,
    open: &[(u32, Vec<u32>)],
    left: &[bool],
) -> (History, Vec<(u32, Vec<u32>)>) {
    let number = |op: u32| match op {
        INITIAL => INITIAL,
        op => left[..op as usize].iter().filter(|&&left| left).count() as u32,
    };
    let mut rest = History::new();
    for thread in 0..ops.threads() {
        rest.thread();
        for op in ops.of_thread(thread).filter(|&op| left[op as usize]) {
            rest.push(ops.kind(op), ops.var(op), ops.from(op).map_or(INITIAL, number));
        }
    }
    let open = open.iter().filter(|(read, _)| left[*read as usize]);
    let open = open
        .map(|(read, writes)| (number(*read), writes.iter().map(|&write| number(write)).collect()));
    (rest, open.collect())
}

const METHOD: Method = Method { complete: Complete::Auto, saturate: true };
const LIMITS: Limits = Limits { buffer: 0, ..Limits::UNLIMITED };

#[test]
fn all_choices() {
    let size = OpsSize { threads: 3, vars: 2, ops: 9, fences: 0, updates: 6 };
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
            let chosen = classify_open(&ops, &open, model, METHOD, &LIMITS, &mut Silent);
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
            if !holds {
                check_part(&ops, &open, &chosen, model, seed);
            }
            ends[usize::from(holds)] += 1;
        }
    }
    assert!(ends.iter().all(|&n| n > 100), "{ends:?}");
}
