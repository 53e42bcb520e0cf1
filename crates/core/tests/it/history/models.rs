//! What the models mean: axioms against machines on random histories, the known small
//! histories, and which model implies which.

use std::collections::HashMap;

use weakspot_core::history::{machine_allows, satisfies};
use weakspot_core::testing::{OpsSize, OpsSource, Rng, check_ops, random_ops, small_ops};
use weakspot_core::{History, HistoryModel, INITIAL, OpKind};

/// A history from text: threads separated by `|`, operations by `,`: `w x1`, `r x1`, `f`, and
/// `u x1 x2`, which reads 1 and writes 2. Value 0 is the initial one; every value of a variable is
/// written once.
fn history(text: &str) -> History {
    let mut ops = History::new();
    let mut written: HashMap<&str, u32> = HashMap::new();
    let mut reads: Vec<(u32, &str)> = Vec::new();
    let var = |word: &str| "xyzv".find(&word[..1]).expect("a variable") as u32;
    for thread in text.split('|') {
        ops.thread();
        for op in thread.split(',') {
            let words: Vec<&str> = op.split_whitespace().collect();
            let id = ops.len() as u32;
            match words[..] {
                ["f"] => ops.push(OpKind::Fence, 0, INITIAL),
                ["w", x] => {
                    written.insert(x, id);
                    ops.push(OpKind::Write, var(x), INITIAL);
                }
                ["r", x] => {
                    reads.push((id, x));
                    ops.push(OpKind::Read, var(x), INITIAL);
                }
                ["u", old, new] => {
                    reads.push((id, old));
                    written.insert(new, id);
                    ops.push(OpKind::Update, var(old), INITIAL);
                }
                _ => panic!("{op}"),
            }
        }
    }
    for (r, x) in reads {
        if !x.ends_with('0') {
            ops.set_from(r, written[x]);
        }
    }
    ops
}

/// The models that hold must be exactly these.
fn check(text: &str, expect: &str) {
    let ops = history(text);
    let mut holds = Vec::new();
    for model in HistoryModel::ALL {
        let by_axioms = satisfies(&ops, model);
        if let Some(by_machine) = machine_allows(&ops, model, usize::MAX) {
            assert_eq!(by_axioms, by_machine, "{text}, {model:?}");
        }
        if by_axioms {
            holds.push(model.key());
        }
    }
    assert_eq!(holds.join(" "), expect, "{text}");
}

const ALL: &str = "cc ccv cm ccm wccm coherence pso tso sc";

#[test]
fn histories_of_the_paper() {
    check("w x1, r x2 | w x2, r x1", "cc cm");
    check("w z1, w x1, w y1 | w x2, r z0, r y1, r x2", "cc ccv wccm coherence pso tso");
    check("w x1, w x2, r y1 | w y1, w y2, r x1", "cc ccv cm wccm coherence pso tso");
    check(
        "w x1, r y0, w y1, r x1 | w x2, r y0, w y2, r x2",
        "cc ccv cm ccm wccm coherence pso tso",
    );
    // Its Fig. 3, and a history that shows what it is meant to show.
    check("w x1 | w y1 | r x1, r y0 | r y1, r x0", "cc ccv cm coherence");
    check(
        "w x1 | w x2 | w y3 | r x2, r y0 | r y3, r x1 | r x1, r y0 | r y3, r x2",
        "cc ccv cm ccm wccm coherence",
    );
}

#[test]
fn litmus_histories() {
    // Store buffering, without and with fences and updates.
    check("w x1, r y0 | w y1, r x0", "cc ccv cm wccm coherence pso tso");
    check("w x1, f, r y0 | w y1, r x0", "cc ccv cm wccm coherence pso tso");
    check("w x1, f, r y0 | w y1, f, r x0", "cc ccv cm coherence");
    check("w x1, u z0 z1, r y0 | w y1, u v0 v1, r x0", "cc ccv cm coherence");
    check("u x0 x1, r y0 | u y0 y1, r x0", "cc ccv cm coherence");
    // Message passing.
    check("w x1, w y1 | r y1, r x0", "coherence pso");
    check("w x1, f, w y1 | r y1, r x0", "coherence");
    check("w x1, u y0 y1 | r y1, r x0", "coherence");
    check("w x1, w y1 | r y1, r x1", ALL);
    // Load buffering; a thread reads its own later write.
    check("r x1, w y1 | r y1, w x1", "coherence");
    check("r x1, w x1", "");
    // Coherence: reads and writes of one variable.
    check("w x1 | w x2 | r x1, r x2 | r x2, r x1", "cc cm");
    check("w x1, w x2 | r x2, r x1", "");
    check("w x1 | r x1, r x0", "");
    check("w x1, r x0", "");
    check("w x1, r x2 | w x2", ALL);
    check("w x1, w x2, r x1", "");
    // IRIW, 2+2W, write-to-read causality.
    check("w x1 | w y1 | r x1, f, r y0 | r y1, f, r x0", "cc ccv cm coherence");
    check("w x1, w y2, r y1 | w y1, w x2, r x1", "cc cm coherence pso");
    check("w x1 | r x1, w y1 | r y1, r x0", "coherence");
    // Two updates of one write; one after the other; a write in between.
    check("u x0 x1 | u x0 x2", "cc ccv cm");
    check("u x0 x1 | u x1 x2", ALL);
    check("u x0 x1 | w x2, r x1", "cc ccv cm");
    check("u x0 x1 | w x2, r x2", ALL);
    check("u x0 x1, r x2 | w x2, r x1", "cc cm");
    // Nothing at all, and only fences.
    check("f | f", ALL);
}

#[test]
fn axioms_and_machines_agree() {
    let small = OpsSize { threads: 4, vars: 3, ops: 9, fences: 8, updates: 4 };
    let writers = OpsSize { threads: 3, vars: 2, ops: 11, fences: 0, updates: 3 };
    for (seed, size) in [(1, small), (1_000_000, writers)] {
        check_ops(seed, 80_000, size, &|ops| {
            [HistoryModel::Sc, HistoryModel::Tso, HistoryModel::Pso, HistoryModel::PsoOwn]
                .into_iter()
                .any(|model| machine_allows(ops, model, usize::MAX) != Some(satisfies(ops, model)))
        });
    }
}

/// Which models a model implies; for every other pair a history shows that it does not.
#[test]
fn lattice() {
    let mut separated = [[false; HistoryModel::ALL.len()]; HistoryModel::ALL.len()];
    let mut look_at = |ops: &History| {
        let holds = HistoryModel::ALL.map(|model| satisfies(ops, model));
        for (i, separated) in separated.iter_mut().enumerate() {
            for (j, separated) in separated.iter_mut().enumerate() {
                *separated |= holds[i] && !holds[j];
            }
        }
    };
    for text in [
        "w x1, r x2 | w x2, r x1",
        "w z1, w x1, w y1 | w x2, r z0, r y1, r x2",
        "w x1, w x2, r y1 | w y1, w y2, r x1",
        "w x1, r y0, w y1, r x1 | w x2, r y0, w y2, r x2",
        "w x1 | w x2 | w y3 | r x2, r y0 | r y3, r x1 | r x1, r y0 | r y3, r x2",
        "w x1, w y1 | r y1, r x0",
        "w x1, r x4 | u x0 x2, u x2 x3 | u x3 x4",
    ] {
        look_at(&history(text));
    }
    let size = OpsSize { threads: 4, vars: 3, ops: 9, fences: 8, updates: 4 };
    for seed in 0..20_000 {
        look_at(&small_ops(&mut Rng::new(seed), size));
    }
    let implied = |i: usize| -> String {
        let of = (0..HistoryModel::ALL.len()).filter(|&j| i != j && !separated[i][j]);
        of.map(|j| HistoryModel::ALL[j].key()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        [0, 1, 2, 3, 4, 5, 6, 7, 8].map(implied),
        [
            "",
            "cc",
            "cc",
            "cc ccv cm wccm",
            "cc ccv",
            "",
            "coherence",
            "cc ccv wccm coherence pso",
            "cc ccv cm ccm wccm coherence pso tso",
        ]
    );
}

/// Without updates causal convergence implies coherence, with updates not even CCM does; causal
/// memory never does, and coherence implies nothing else.
#[test]
fn coherence_without_updates() {
    let mut convergent = 0;
    for seed in 0..20_000 {
        let size = OpsSize { threads: 4, vars: 2, ops: 9, fences: 8, updates: 0 };
        let ops = small_ops(&mut Rng::new(seed), size);
        if satisfies(&ops, HistoryModel::Ccv) {
            convergent += 1;
            assert!(satisfies(&ops, HistoryModel::Coherence), "seed {seed}");
        }
    }
    assert!(convergent > 1_000, "{convergent}");
    check("w x1, r x2 | w x2, r x1", "cc cm");
    check("u x0 x1 | u x0 x2", "cc ccv cm");
    check("w x1, r x3 | u x0 x2, u x2 x3", "cc ccv cm wccm");
    check("w x1, r x4 | u x0 x2, u x2 x3 | u x3 x4", "cc ccv cm ccm wccm");
    check("r x1, w y1 | r y1, w x1", "coherence");
}

/// PSO-own lies between PSO and coherence.
#[test]
fn updates_that_wait_for_their_own_variable() {
    let own = |text: &str| satisfies(&history(text), HistoryModel::PsoOwn);
    assert!(own("w x1, u y0 y1 | r y1, r x0"));
    assert!(own("w x1, u z0 z1, r y0 | w y1, u v0 v1, r x0"));
    assert!(!own("w x1, f, u y0 y1 | r y1, r x0"));
    assert!(!own("w x1, u x1 x2, w y1 | r y1, r x0"));
    assert!(!own("w x1, u x1 x2, u y0 y1 | r y1, r x0"));
    assert!(!own("u x0 x1 | u x0 x2"));
    let size = OpsSize { threads: 4, vars: 3, ops: 9, fences: 8, updates: 2 };
    let mut apart = [0, 0];
    for seed in 0..20_000 {
        let ops = small_ops(&mut Rng::new(seed), size);
        let [pso, own, coherent] =
            [HistoryModel::Pso, HistoryModel::PsoOwn, HistoryModel::Coherence]
                .map(|model| satisfies(&ops, model));
        assert!((!pso || own) && (!own || coherent), "seed {seed}");
        apart[0] += usize::from(own && !pso);
        apart[1] += usize::from(coherent && !own);
    }
    assert!(apart.iter().all(|&n| n > 2), "{apart:?}");
}

#[test]
fn sources_keep_their_promises() {
    let size = OpsSize { threads: 3, vars: 2, ops: 10, fences: 10, updates: 6 };
    for (source, model) in OpsSource::ALL.into_iter().zip([
        HistoryModel::Sc,
        HistoryModel::Tso,
        HistoryModel::Pso,
        HistoryModel::Cm,
        HistoryModel::Ccv,
    ]) {
        for seed in 0..300 {
            let ops = random_ops(&mut Rng::new(seed), size, source);
            assert!(ops.is_well_formed() && ops.len() == 10);
            assert!(satisfies(&ops, model), "{source:?}, seed {seed}");
        }
    }
}

/// The machines have a bit for each operation: they answer for as many as there are bits, and say so of more.
#[test]
fn machines_answer_for_up_to_128_operations() {
    for (count, answered) in [(127, true), (128, true), (129, false), (400, false)] {
        let mut ops = History::new();
        ops.thread();
        for _ in 0..count {
            ops.push(OpKind::Write, 0, INITIAL);
        }
        for model in [HistoryModel::Sc, HistoryModel::Tso] {
            let allowed = machine_allows(&ops, model, 100_000);
            assert_eq!(allowed, answered.then_some(true), "{count} operations, {model:?}");
        }
    }
}

/// With fewer states than there are, machines say that they do not know, and with as many they answer.
#[test]
fn machines_give_up_at_their_limit() {
    // Two threads that write four times each, and one that reads what was overwritten before.
    let mut ops = History::new();
    for thread in 0..2 {
        ops.thread();
        (0..4).for_each(|_| ops.push(OpKind::Write, thread, INITIAL));
    }
    ops.thread();
    ops.push(OpKind::Read, 0, 3);
    ops.push(OpKind::Read, 0, 0);
    let answers: Vec<_> =
        (1..400).map(|most| machine_allows(&ops, HistoryModel::Tso, most)).collect();
    let known = answers.iter().position(Option::is_some).expect("an answer");
    assert!(known > 20, "{known}");
    assert!(answers[known..].iter().all(|answer| *answer == Some(false)), "{known}");
}
