//! Histories of transactions: the checker of commit orders and the search for one against the
//! definition of each model, on random histories.

use weakspot_core::certify::{self, Rejected};
use weakspot_core::testing::{Rng, TxnHistorySize, random_txn_history, scaled};
use weakspot_core::transactional::{
    BEGINNING, Fact, Reason, TxnOp, satisfies, serializable_within,
};
use weakspot_core::{INITIAL, TxnEvidence, TxnHistory, TxnModel, Verdict};

/// All orders of these.
fn orders(txns: &[u32]) -> Vec<Vec<u32>> {
    let Some((&first, rest)) = txns.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in orders(rest) {
        for at in 0..=order.len() {
            let mut order = order.clone();
            order.insert(at, first);
            all.push(order);
        }
    }
    all
}

fn sizes() -> [TxnHistorySize; 4] {
    let registers = TxnHistorySize {
        sessions: 3,
        txns: 5,
        ops: 4,
        vars: 3,
        lists: false,
        mistakes: 4,
        serial: false,
        aborted: 12,
    };
    let lists = TxnHistorySize { lists: true, mistakes: 6, vars: 2, ..registers };
    [
        registers,
        TxnHistorySize { serial: true, mistakes: 5, vars: 2, ..registers },
        lists,
        TxnHistorySize { serial: true, aborted: 0, ..lists },
    ]
}

#[test]
fn some_order_is_accepted_exactly_if_the_definition_says_so() {
    let mut counts = [[0; 2]; 4];
    for (i, size) in sizes().into_iter().enumerate() {
        for seed in 0..scaled(2_000) as u64 {
            let history = random_txn_history(&mut Rng::new(seed * 10 + i as u64), size);
            assert!(history.is_well_formed());
            let txns: Vec<u32> =
                (0..history.txns() as u32).filter(|&t| history.committed(t)).collect();
            let orders = orders(&txns);
            let mut is_weaker_satisfied = true;
            for (m, model) in TxnModel::ALL.into_iter().enumerate() {
                let expected = satisfies(&history, model);
                let accepted = orders.iter().any(|order| {
                    let evidence = TxnEvidence::Order(order.clone());
                    certify::transactional(&history, model, &Verdict::Holds, &evidence).is_ok()
                });
                assert_eq!(accepted, expected, "{model:?} {history:?}");
                assert!(is_weaker_satisfied || !expected, "{model:?} {history:?}");
                is_weaker_satisfied = expected;
                counts[m][usize::from(expected)] += 1;
            }
            let found = serializable_within(&history, usize::MAX);
            assert_eq!(found, Some(is_weaker_satisfied), "{history:?}");
        }
    }
    // Both answers are common.
    assert!(counts.iter().flatten().all(|&n| n > scaled(500)), "{counts:?}");
}

/// One transaction writes x and y, another one reads the new x and the old y.
fn fractured() -> TxnHistory {
    let mut history = TxnHistory::new();
    history.session();
    history.txn(true);
    history.push(TxnOp::Write { var: 0 });
    history.push(TxnOp::Write { var: 1 });
    history.session();
    history.txn(true);
    history.push(TxnOp::Read { var: 1, from: INITIAL });
    history.push(TxnOp::Read { var: 0, from: 0 });
    history.finish(None);
    history
}

#[test]
fn facts_that_do_not_hold_are_rejected() {
    let history = fractured();
    let fact = |from, to, reason| Fact { from, to, reason };
    let check = |model, facts: Vec<Fact>, cycle: Vec<u32>| {
        let evidence = TxnEvidence::Cycle { facts, cycle };
        certify::transactional(&history, model, &Verdict::Violated, &evidence)
    };
    let good = vec![
        fact(BEGINNING, 0, Reason::Beginning),
        fact(0, 1, Reason::Reads(3)),
        fact(0, BEGINNING, Reason::Older { read: 2, path: vec![1] }),
    ];
    assert_eq!(check(TxnModel::ReadAtomic, good.clone(), vec![0, 2]), Ok(()));
    assert_eq!(check(TxnModel::Serializable, good.clone(), vec![0, 2]), Ok(()));
    // What is seen only later does not count for read committed.
    assert!(check(TxnModel::ReadCommitted, good.clone(), vec![0, 2]).is_err());
    assert!(check(TxnModel::ReadAtomic, good.clone(), vec![0]).is_err());
    assert!(check(TxnModel::ReadAtomic, good.clone(), vec![]).is_err());
    assert!(check(TxnModel::ReadAtomic, good, vec![0, 1]).is_err());
    let wrong = [
        Reason::Session,
        Reason::Beginning,
        Reason::Reads(2),
        Reason::Reads(9),
        Reason::Versions(0, 1),
        Reason::Older { read: 3, path: vec![] },
        Reason::Overwrites { read: 2, path: vec![0] },
    ];
    for reason in wrong {
        let rejected = check(TxnModel::Serializable, vec![fact(0, 1, reason)], vec![0]);
        assert!(matches!(rejected, Err(Rejected::HistoryOrder(0, _))), "{rejected:?}");
    }
    let searched = &TxnEvidence::Searched;
    let asked = |model| certify::transactional(&history, model, &Verdict::Violated, searched);
    assert_eq!(asked(TxnModel::ReadAtomic), Err(Rejected::WrongKind));
    assert_eq!(asked(TxnModel::Serializable), Ok(()));
    assert_eq!(certify::search_transactional(&history, 100), Ok(()));
}
