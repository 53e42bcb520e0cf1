//! Random histories of transactions for tests.

use super::Rng;
use crate::INITIAL;
use crate::transactional::{ListReads, TxnHistory, TxnOp};

/// How large random histories of transactions are.
#[derive(Clone, Copy, Debug)]
pub struct TxnHistorySize {
    /// Sessions.
    pub sessions: usize,
    /// Transactions in all.
    pub txns: usize,
    /// The most operations of a transaction.
    pub ops: usize,
    /// Variables.
    pub vars: usize,
    /// Whether variables are lists.
    pub lists: bool,
    /// One in so many reads is changed to a random one; 0 for none.
    pub mistakes: usize,
    /// Whether transactions are executed one after the other rather than interleaved.
    pub serial: bool,
    /// One in so many transactions is not committed; 0 for none.
    pub aborted: usize,
}

/// A transaction that is executed: its session, and what it does.
struct Planned {
    session: usize,
    committed: bool,
    /// Whether it writes, the variable, and what is read: a number of a write in order of
    /// execution, which is also that of its operation.
    ops: Vec<(bool, u32, Vec<usize>)>,
}

/// A random history: the transactions are executed on a store without isolation, one operation
/// after the other, and then some reads are changed.
#[must_use]
pub fn random_txn_history(rng: &mut Rng, size: TxnHistorySize) -> TxnHistory {
    let mut plans: Vec<Planned> = (0..size.txns)
        .map(|_| Planned {
            session: rng.below(size.sessions),
            committed: size.aborted == 0 || !rng.one_in(size.aborted),
            ops: (0..1 + rng.below(size.ops))
                .map(|_| (rng.one_in(2), rng.below(size.vars) as u32, Vec::new()))
                .collect(),
        })
        .collect();
    execute(rng, &mut plans, size);
    // Session by session, in the order of execution.
    let mut order: Vec<usize> = (0..plans.len()).collect();
    order.sort_by_key(|&t| plans[t].session);
    let mut number = vec![0; plans.len() * size.ops];
    let mut next = 0;
    for &t in &order {
        for i in 0..plans[t].ops.len() {
            number[t * size.ops + i] = next;
            next += 1;
        }
    }
    let mut history = TxnHistory::new();
    let mut lists = ListReads { starts: vec![0], elements: Vec::new() };
    let mut session = 0;
    history.session();
    for &t in &order {
        while session < plans[t].session {
            history.session();
            session += 1;
        }
        history.txn(plans[t].committed);
        for (writes, var, read) in &plans[t].ops {
            let var = *var;
            history.push(match writes {
                true => TxnOp::Write { var },
                false => TxnOp::Read { var, from: read.last().map_or(INITIAL, |&w| number[w]) },
            });
            lists.elements.extend(read.iter().map(|&w| number[w]));
            lists.starts.push(lists.elements.len() as u32);
        }
    }
    history.finish(size.lists.then_some(lists));
    history
}

fn execute(rng: &mut Rng, plans: &mut [Planned], size: TxnHistorySize) {
    let mut store: Vec<Vec<usize>> = vec![Vec::new(); size.vars];
    let mut at = vec![0; plans.len()];
    let mut written: Vec<(u32, usize)> = Vec::new();
    loop {
        let open: Vec<usize> = (0..plans.len()).filter(|&t| at[t] < plans[t].ops.len()).collect();
        // A session does one transaction after the other.
        let open: Vec<usize> = open
            .iter()
            .copied()
            .filter(|&t| !open.iter().any(|&s| s < t && plans[s].session == plans[t].session))
            .collect();
        let Some(&first) = open.first() else { break };
        let t = if size.serial { first } else { open[rng.below(open.len())] };
        let i = at[t];
        at[t] += 1;
        let committed = plans[t].committed;
        let (writes, var, read) = &mut plans[t].ops[i];
        let value = &mut store[*var as usize];
        if *writes {
            written.push((*var, t * size.ops + i));
            if committed || rng.one_in(3) {
                value.push(t * size.ops + i);
            }
        } else {
            read.clone_from(value);
        }
    }
    for plan in plans.iter_mut() {
        for (writes, var, read) in &mut plan.ops {
            if *writes {
                continue;
            }
            if size.mistakes > 0 && rng.one_in(size.mistakes) {
                let of_var: Vec<usize> =
                    written.iter().filter(|w| w.0 == *var).map(|w| w.1).collect();
                if size.lists {
                    let length = rng.below(read.len() + 1);
                    read.truncate(length);
                    if rng.one_in(6) && !of_var.is_empty() {
                        read.push(of_var[rng.below(of_var.len())]);
                    }
                } else if !of_var.is_empty() {
                    *read = vec![of_var[rng.below(of_var.len())]];
                }
            }
            if !size.lists {
                read.drain(..read.len().saturating_sub(1));
            }
        }
    }
}
