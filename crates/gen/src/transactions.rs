//! Histories of transactions, of random clients of a database that keeps a promise and no more.

use weakspot_core::testing::Rng;
use weakspot_core::transactional::TxnOp;
use weakspot_core::{INITIAL, OpNames, TxnHistory, TxnModel, Value};

use crate::client::{Client, ClientError};

/// The operations of a transaction before all histories are put together: whether it writes, the
/// variable, and which write is read, by its place in time.
type Done = Vec<(bool, u32, Option<u32>)>;

/// A history of a random client: its CPUs are sessions, and a transaction has `size` operations on
/// average. The database is serializable; or causally consistent, with a copy for each session
/// that hears of the others' transactions now and then; or it reads what is committed at that time.
/// Read atomic stands for causal, which implies it. The values are numbers that no other write has.
///
/// # Errors
/// When the client makes no sense.
pub fn transactions(
    client: &Client,
    size: usize,
    model: TxnModel,
) -> Result<(TxnHistory, OpNames), ClientError> {
    client.check()?;
    let mut rng = Rng::new(client.seed);
    let mut database = Database {
        versions: vec![Vec::new(); client.variables],
        sessions: vec![Vec::new(); client.cpus],
        heard: vec![vec![0; client.cpus]; client.cpus],
        writes: 0,
    };
    let mut left = client.operations;
    // Under read committed transactions overlap: one is open in each session.
    let mut open: Vec<Option<(Done, usize)>> = vec![None; client.cpus];
    while left > 0 || open.iter().any(Option::is_some) {
        let session = rng.below(client.cpus);
        let (mut done, mut rest) = match open[session].take() {
            Some(open) => open,
            None if left == 0 => continue,
            None => {
                let length = (1 + rng.below(2 * size.max(1) - 1)).min(left);
                left -= length;
                (Vec::new(), length)
            }
        };
        if done.is_empty() && model != TxnModel::Serializable {
            database.hear(&mut rng, session);
        }
        let steps = if model == TxnModel::ReadCommitted { 1 + rng.below(rest) } else { rest };
        for _ in 0..steps {
            let var = rng.below(client.variables) as u32;
            let is_read = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 <= client.read_ratio;
            done.push(match is_read {
                true => (false, var, database.read(session, &done, var, model)),
                false => (true, var, Some(database.next_write())),
            });
        }
        rest -= steps;
        match rest {
            0 => database.commit(session, done),
            _ => open[session] = Some((done, rest)),
        }
    }
    Ok(database.history())
}

struct Database {
    /// Per variable its versions in the order in which they were committed: the write, and the
    /// session and number of its transaction.
    versions: Vec<Vec<(u32, u32, u32)>>,
    sessions: Vec<Vec<Done>>,
    /// Of how many transactions of each session a session has heard.
    heard: Vec<Vec<u32>>,
    writes: u32,
}

impl Database {
    fn next_write(&mut self) -> u32 {
        self.writes += 1;
        self.writes - 1
    }

    /// A session hears all that another one knows, or is late.
    fn hear(&mut self, rng: &mut Rng, session: usize) {
        let other = rng.below(self.heard.len());
        let mut known = self.heard[other].clone();
        known[other] = self.sessions[other].len() as u32;
        for (mine, theirs) in self.heard[session].iter_mut().zip(known) {
            *mine = theirs.max(*mine);
        }
    }

    /// What a session reads.
    fn read(&self, session: usize, done: &Done, var: u32, model: TxnModel) -> Option<u32> {
        let own = done.iter().rev().find(|op| op.0 && op.1 == var);
        if let Some((_, _, write)) = own {
            return *write;
        }
        let heard = &self.heard[session];
        let is_late = matches!(model, TxnModel::Causal | TxnModel::ReadAtomic);
        let mut versions = self.versions[var as usize].iter().rev();
        let seen = versions.find(|(_, by, number)| {
            !is_late || *by as usize == session || *number < heard[*by as usize]
        });
        seen.map(|version| version.0)
    }

    fn commit(&mut self, session: usize, done: Done) {
        let number = self.sessions[session].len() as u32;
        for (i, &(writes, var, write)) in done.iter().enumerate() {
            let is_last = !done[i + 1..].iter().any(|op| op.0 && op.1 == var);
            if let Some(write) = write.filter(|_| writes && is_last) {
                self.versions[var as usize].push((write, session as u32, number));
            }
        }
        self.sessions[session].push(done);
    }

    fn history(self) -> (TxnHistory, OpNames) {
        let mut history = TxnHistory::new();
        let mut number = vec![INITIAL; self.writes as usize];
        let ops = || self.sessions.iter().flatten().flatten();
        for (i, &(writes, _, write)) in ops().enumerate() {
            if let Some(write) = write.filter(|_| writes) {
                number[write as usize] = i as u32;
            }
        }
        for session in &self.sessions {
            history.session();
            for txn in session {
                history.txn(true);
                for &(writes, var, write) in txn {
                    let from = write.map_or(INITIAL, |write| number[write as usize]);
                    history.push(match writes {
                        true => TxnOp::Write { var },
                        false => TxnOp::Read { var, from },
                    });
                }
            }
        }
        history.finish(None);
        let values = ops().map(|op| op.2.map_or(0, |write| Value::from(write) + 1)).collect();
        let names = OpNames {
            threads: (0..self.sessions.len()).map(|s| format!("t{s}")).collect(),
            vars: (0..self.versions.len()).map(|v| v.to_string()).collect(),
            initial: vec![0; self.versions.len()],
            values,
        };
        (history, names)
    }
}
