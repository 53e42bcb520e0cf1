//! The four models by definition. They are those of Biswas and Enea ("On the complexity of
//! checking transactional consistency", 2019): there is a total order of the committed
//! transactions, the commit order, which has session order and reads-from in it, and for each read
//! of a variable x in t3 from t1, and each other t2 that writes x: if t3 may see t2, then t2 comes
//! before t1. The models differ in what a transaction may see.
//!
//! No read may be a [`Misread`](super::Misread). Of lists the commit order also has the order of
//! versions that were read, and appends that nobody read come last.

use std::collections::HashSet;

use super::orders::{misread, version_orders};
use super::recorded::{BEGINNING, TxnHistory, TxnModel};

/// Whether a history satisfies a model: all commit orders are tried, so it takes few transactions.
#[must_use]
pub fn satisfies(history: &TxnHistory, model: TxnModel) -> bool {
    let versions = version_orders(history);
    if (0..history.len() as u32).any(|op| misread(history, &versions, op).is_some()) {
        return false;
    }
    let txns: Vec<u32> = (0..history.txns() as u32).filter(|&t| history.committed(t)).collect();
    let n = txns.len();
    // What each one may come after only: by session, reads and versions.
    let mut before = vec![vec![false; n]; n];
    let mut happens_before = vec![vec![false; n]; n];
    let index = |txn: u32| txns.iter().position(|&t| t == txn);
    for (i, &a) in txns.iter().enumerate() {
        for (j, &b) in txns.iter().enumerate() {
            let session = history.session_of(a) == history.session_of(b) && a < b;
            let reads = history.of_txn(b).any(|op| history.source(op) == Some(a));
            happens_before[i][j] = session || reads;
            before[i][j] = session || reads;
        }
    }
    let direct = happens_before.clone();
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                happens_before[i][j] |= happens_before[i][k] && happens_before[k][j];
            }
        }
    }
    for (var, list) in versions.iter().enumerate() {
        let unread = (0..history.len() as u32).filter(|&op| {
            history.writes(op)
                && history.var(op) as usize == var
                && history.committed(history.txn_of(op))
                && !list.contains(&op)
        });
        let last = list.last().map(|&w| history.txn_of(w));
        let pairs = list.windows(2).map(|w| (history.txn_of(w[0]), history.txn_of(w[1])));
        let pairs = pairs.chain(unread.filter_map(|op| Some((last?, history.txn_of(op)))));
        for (a, b) in pairs.filter(|(a, b)| a != b) {
            if let (Some(a), Some(b)) = (index(a), index(b)) {
                before[a][b] = true;
            }
        }
    }
    // All that the axiom asks: (t1, t2, t3), and whether t3 sees t2, if that does not depend on
    // the commit order.
    let mut asked = Vec::new();
    for (c, &t3) in txns.iter().enumerate() {
        for read in history.of_txn(t3) {
            let Some(t1) = history.source(read) else { continue };
            let t1 = if t1 == BEGINNING { None } else { index(t1) };
            for (b, &t2) in txns.iter().enumerate() {
                if Some(b) == t1 || b == c || history.last_write(t2, history.var(read)).is_none() {
                    continue;
                }
                let sees = match model {
                    TxnModel::ReadCommitted => (history.of_txn(t3).start..read)
                        .any(|earlier| history.source(earlier) == Some(t2)),
                    TxnModel::ReadAtomic => direct[b][c],
                    TxnModel::Causal => happens_before[b][c],
                    TxnModel::Serializable => true,
                };
                if sees {
                    asked.push((t1, b, c));
                }
            }
        }
    }
    let is_serial = model == TxnModel::Serializable;
    let allows = |place: &[usize]| {
        asked.iter().all(|&(t1, t2, t3)| {
            let is_seen = !is_serial || place[t2] < place[t3];
            !is_seen || t1.is_some_and(|t1| place[t2] < place[t1])
        })
    };
    extend(&before, &mut vec![usize::MAX; n], 0, &allows)
}

/// Whether some order that goes on like this is allowed.
fn extend(
    before: &[Vec<bool>],
    place: &mut Vec<usize>,
    next: usize,
    allows: &dyn Fn(&[usize]) -> bool,
) -> bool {
    let n = place.len();
    if next == n {
        return allows(place);
    }
    (0..n).any(|t| {
        let is_free = place[t] == usize::MAX
            && (0..n).all(|s| !before[s][t] || place[s] != usize::MAX && s != t);
        if !is_free {
            return false;
        }
        place[t] = next;
        let found = extend(before, place, next + 1, allows);
        place[t] = usize::MAX;
        found
    })
}

/// Whether a history is serializable, by trying which transaction is the next and remembering the
/// sets of transactions from which it did not go on; `None` if these are more than `most`.
#[must_use]
pub fn serializable_within(history: &TxnHistory, most: usize) -> Option<bool> {
    let versions = version_orders(history);
    if (0..history.len() as u32).any(|op| misread(history, &versions, op).is_some()) {
        return Some(false);
    }
    // It goes one call deeper for each transaction.
    if history.txns() > 2_000 {
        return None;
    }
    let mut search = Search {
        history,
        versions: &versions,
        done: vec![0; history.sessions()],
        last: vec![BEGINNING; history.vars()],
        failed: HashSet::new(),
        most,
    };
    search.go_on()
}

struct Search<'a> {
    history: &'a TxnHistory,
    versions: &'a [Vec<u32>],
    /// Transactions executed so far (or skipped as not committed), by session.
    done: Vec<u32>,
    /// Per variable who wrote it last.
    last: Vec<u32>,
    /// What was executed, and which versions were there, when it did not go on.
    failed: HashSet<(Vec<u32>, Vec<u32>)>,
    most: usize,
}

impl Search<'_> {
    fn go_on(&mut self) -> Option<bool> {
        let history = self.history;
        let rest = |s: usize, done: u32| {
            let range = history.of_session(s);
            (range.start + done..range.end).find(|&t| history.committed(t))
        };
        let next: Vec<u32> =
            (0..history.sessions()).filter_map(|s| rest(s, self.done[s])).collect();
        if next.is_empty() {
            return Some(true);
        }
        if self.failed.contains(&(self.done.clone(), self.last.clone())) {
            return Some(false);
        }
        for txn in next.into_iter().filter(|&t| self.fits(t)).collect::<Vec<_>>() {
            let session = history.session_of(txn) as usize;
            let done = std::mem::replace(
                &mut self.done[session],
                txn + 1 - history.of_session(session).start,
            );
            let written = history.written_by(txn);
            let last: Vec<u32> = written
                .iter()
                .map(|&(var, _)| std::mem::replace(&mut self.last[var as usize], txn))
                .collect();
            let found = self.go_on();
            for (&(var, _), last) in written.iter().zip(last) {
                self.last[var as usize] = last;
            }
            self.done[session] = done;
            if found != Some(false) {
                return found;
            }
        }
        if self.failed.len() >= self.most {
            return None;
        }
        self.failed.insert((self.done.clone(), self.last.clone()));
        Some(false)
    }

    /// Whether a transaction reads what is there, and appends where lists say.
    fn fits(&self, txn: u32) -> bool {
        let history = self.history;
        let mut ops = history.of_txn(txn);
        let reads = ops.all(|op| {
            history.source(op).is_none_or(|source| source == self.last[history.var(op) as usize])
        });
        let appends = |txn: u32, var: u32| {
            history.of_txn(txn).filter(|&op| history.writes(op) && history.var(op) == var).count()
        };
        reads
            && history.written_by(txn).iter().all(|&(var, _)| {
                let list = self.versions.get(var as usize).map_or(&[][..], Vec::as_slice);
                let is_own = |w: &u32| history.txn_of(*w) == txn;
                let last = self.last[var as usize];
                let own = list.iter().filter(|w| is_own(w)).count();
                match list.iter().position(is_own) {
                    // What it appends stands together, behind what is there.
                    Some(at) if !list[at..at + own].iter().all(is_own) => false,
                    // What of it is in no list comes last, and so does the rest of it.
                    Some(at) if at + own < list.len() && own < appends(txn, var) => false,
                    Some(0) => last == BEGINNING,
                    Some(at) => history.txn_of(list[at - 1]) == last,
                    None => list.last().is_none_or(|&w| {
                        let w = history.txn_of(w);
                        w == last
                            || last != BEGINNING && !list.iter().any(|&w| history.txn_of(w) == last)
                    }),
                }
            })
    }
}
