//! Histories of transactions: a database keeps what it promises, and breaks more than that.

use weakspot_core::{Limits, Silent, TxnModel, Verdict};
use weakspot_gen::{Client, transactions};
use weakspot_history::classify_transactions;

#[test]
fn promises() {
    let promised = [TxnModel::ReadCommitted, TxnModel::Causal, TxnModel::Serializable];
    let mut broken = [0; 3];
    for (i, model) in promised.into_iter().enumerate() {
        for seed in 0..60 {
            let client = Client {
                cpus: 4,
                operations: 200,
                variables: 5,
                read_ratio: 0.5,
                updates: 0.0,
                fences: 0.0,
                seed,
            };
            let (history, names) = transactions(&client, 4, model).expect("a good client");
            assert!(history.is_well_formed());
            assert_eq!((history.len(), names.values.len()), (200, 200));
            let limits = &Limits::UNLIMITED;
            let found = classify_transactions(&history, &TxnModel::ALL, limits, &mut Silent);
            let mut holds = Vec::new();
            for found in found.expect("evidence") {
                let is_satisfied = found.answer.verdict == Verdict::Holds;
                assert!(is_satisfied || found.model > model, "{model:?} {:?}", found.model);
                holds.push(is_satisfied);
            }
            broken[i] += usize::from(holds.contains(&false));
        }
    }
    assert!(broken[0] > 50 && broken[1] > 50 && broken[2] == 0, "{broken:?}");
}
