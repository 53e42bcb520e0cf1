//! A recorded history of transactions: sessions, their transactions in order, and which write each
//! read took its value from.

use crate::INITIAL;

/// Stands for the transaction that wrote all initial values, before all others.
pub const BEGINNING: u32 = u32::MAX;

/// The transactions of a history. They are numbered session by session, and their operations
/// transaction by transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxnHistory {
    /// Session `s` has the transactions `sessions[s]..sessions[s + 1]`.
    sessions: Vec<u32>,
    /// Transaction `t` has the operations `txns[t]..txns[t + 1]`.
    txns: Vec<u32>,
    committed: Vec<bool>,
    session_of: Vec<u32>,
    txn_of: Vec<u32>,
    /// The variable, and in the two upmost bits whether it is a write, and one that its transaction
    /// overwrites.
    ops: Vec<u32>,
    from: Vec<u32>,
    vars: u32,
    /// Per transaction its variables with their last writes, sorted by variable.
    writes: Vec<(u32, u32)>,
    write_starts: Vec<u32>,
    lists: Option<ListReads>,
}

/// What was read where variables are lists that only grow: per read the writes whose values were
/// in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListReads {
    /// Operation `i` read the elements `starts[i]..starts[i + 1]`.
    pub starts: Vec<u32>,
    /// The writes that appended them.
    pub elements: Vec<u32>,
}

/// An operation of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnOp {
    /// A read, from this write or [`INITIAL`].
    Read {
        /// The variable.
        var: u32,
        /// The write.
        from: u32,
    },
    /// A write, or an element appended to a list.
    Write {
        /// The variable.
        var: u32,
    },
}

const WRITE: u32 = 1 << 31;
const OVERWRITTEN: u32 = 1 << 30;
const VAR: u32 = OVERWRITTEN - 1;

impl TxnHistory {
    /// The most operations, and the most variables, of a history.
    pub const MOST: usize = (1 << 30) - 1;

    /// A history without sessions.
    #[must_use]
    pub fn new() -> TxnHistory {
        TxnHistory {
            sessions: vec![0],
            txns: vec![0],
            write_starts: vec![0],
            ..TxnHistory::default()
        }
    }

    /// Begins the next session.
    pub fn session(&mut self) {
        self.sessions.push(self.committed.len() as u32);
    }

    /// Begins the next transaction of the current session. One that was not committed is there
    /// only because others may have read what it wrote.
    ///
    /// # Panics
    /// When there is no session.
    pub fn txn(&mut self, committed: bool) {
        self.end_txn();
        let session = self.sessions.len().checked_sub(2).expect("a transaction of no session");
        self.session_of.push(session as u32);
        self.committed.push(committed);
        self.txns.push(self.ops.len() as u32);
        self.sessions[session + 1] += 1;
    }

    /// Adds an operation to the current transaction. What it reads may be said later.
    ///
    /// # Panics
    /// When there is no transaction, or there are too many operations or variables.
    #[inline]
    pub fn push(&mut self, op: TxnOp) {
        assert!(self.ops.len() < TxnHistory::MOST, "a history that is too large");
        let txn = self.committed.len().checked_sub(1).expect("an operation of no transaction");
        let (var, from, bit) = match op {
            TxnOp::Read { var, from } => (var, from, 0),
            TxnOp::Write { var } => (var, INITIAL, WRITE),
        };
        assert!((var as usize) < TxnHistory::MOST, "a history with too many variables");
        self.ops.push(var | bit);
        self.from.push(from);
        self.txn_of.push(txn as u32);
        self.txns[txn + 1] += 1;
        self.vars = self.vars.max(var + 1);
    }

    /// Says what a read reads.
    pub fn set_from(&mut self, op: u32, from: u32) {
        self.from[op as usize] = from;
    }

    /// Ends the history: nothing is added any more, but what reads read may still be said.
    pub fn finish(&mut self, lists: Option<ListReads>) {
        self.end_txn();
        self.lists = lists;
    }

    /// Sorts the writes of the last transaction, unless that is done.
    fn end_txn(&mut self) {
        if self.write_starts.len() > self.committed.len() {
            return;
        }
        let start = self.writes.len();
        let txn = self.committed.len() - 1;
        for op in self.txns[txn]..self.txns[txn + 1] {
            if self.ops[op as usize] & WRITE != 0 {
                self.writes.push((self.ops[op as usize] & VAR, op));
            }
        }
        let of_txn = &mut self.writes[start..];
        if !of_txn.is_sorted_by(|a, b| a.0 < b.0) {
            of_txn.sort_unstable();
            let mut kept = start;
            for i in start..self.writes.len() {
                let is_last = self.writes.get(i + 1).is_none_or(|next| next.0 != self.writes[i].0);
                if is_last {
                    self.writes[kept] = self.writes[i];
                    kept += 1;
                } else {
                    self.ops[self.writes[i].1 as usize] |= OVERWRITTEN;
                }
            }
            self.writes.truncate(kept);
        }
        self.write_starts.push(self.writes.len() as u32);
    }

    /// How many sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.len() - 1
    }

    /// The transactions of a session.
    #[must_use]
    pub fn of_session(&self, session: usize) -> std::ops::Range<u32> {
        self.sessions[session]..self.sessions[session + 1]
    }

    /// How many transactions there are, committed or not.
    #[must_use]
    pub fn txns(&self) -> usize {
        self.committed.len()
    }

    /// How many operations there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// How many variables there are.
    #[must_use]
    pub fn vars(&self) -> usize {
        self.vars as usize
    }

    /// The operations of a transaction.
    #[inline]
    #[must_use]
    pub fn of_txn(&self, txn: u32) -> std::ops::Range<u32> {
        self.txns[txn as usize]..self.txns[txn as usize + 1]
    }

    /// Whether a transaction was committed.
    #[inline]
    #[must_use]
    pub fn committed(&self, txn: u32) -> bool {
        self.committed[txn as usize]
    }

    /// The session of a transaction.
    #[inline]
    #[must_use]
    pub fn session_of(&self, txn: u32) -> u32 {
        self.session_of[txn as usize]
    }

    /// The transaction of an operation.
    #[inline]
    #[must_use]
    pub fn txn_of(&self, op: u32) -> u32 {
        self.txn_of[op as usize]
    }

    /// An operation.
    #[inline]
    #[must_use]
    pub fn op(&self, op: u32) -> TxnOp {
        let var = self.var(op);
        match self.writes(op) {
            true => TxnOp::Write { var },
            false => TxnOp::Read { var, from: self.from[op as usize] },
        }
    }

    /// Whether an operation writes.
    #[inline]
    #[must_use]
    pub fn writes(&self, op: u32) -> bool {
        self.ops[op as usize] & WRITE != 0
    }

    /// The variable of an operation.
    #[inline]
    #[must_use]
    pub fn var(&self, op: u32) -> u32 {
        self.ops[op as usize] & VAR
    }

    /// Whether the transaction of a write overwrites it later.
    #[inline]
    #[must_use]
    pub fn is_overwritten(&self, op: u32) -> bool {
        self.ops[op as usize] & OVERWRITTEN != 0
    }

    /// The variables that a transaction writes, in order, with the last write to each.
    #[inline]
    #[must_use]
    pub fn written_by(&self, txn: u32) -> &[(u32, u32)] {
        let txn = txn as usize;
        &self.writes[self.write_starts[txn] as usize..self.write_starts[txn + 1] as usize]
    }

    /// The last write of a transaction to a variable.
    #[inline]
    #[must_use]
    pub fn last_write(&self, txn: u32, var: u32) -> Option<u32> {
        let writes = self.written_by(txn);
        let at = writes.binary_search_by_key(&var, |w| w.0).ok()?;
        Some(writes[at].1)
    }

    /// What a read took from another transaction: that one, or [`BEGINNING`].
    /// `None` for writes, and for reads of what the transaction wrote itself.
    #[inline]
    #[must_use]
    pub fn source(&self, op: u32) -> Option<u32> {
        if self.writes(op) {
            return None;
        }
        match self.from[op as usize] {
            INITIAL => Some(BEGINNING),
            from => Some(self.txn_of[from as usize]).filter(|&t| t != self.txn_of[op as usize]),
        }
    }

    /// Whether variables are lists to which transactions append.
    #[inline]
    #[must_use]
    pub fn has_lists(&self) -> bool {
        self.lists.is_some()
    }

    /// The writes whose values are in the list that a read read; none if variables are no lists.
    #[inline]
    #[must_use]
    pub fn list(&self, op: u32) -> &[u32] {
        let Some(lists) = &self.lists else { return &[] };
        &lists.elements[lists.starts[op as usize] as usize..lists.starts[op as usize + 1] as usize]
    }

    /// Whether every read reads a write to its variable, and lists end in what is read: what
    /// engines may take for granted.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        let writes =
            |w: u32, var| (w as usize) < self.ops.len() && self.writes(w) && self.var(w) == var;
        (0..self.ops.len() as u32).all(|op| {
            let list = self.list(op);
            match self.op(op) {
                TxnOp::Write { .. } => list.is_empty(),
                TxnOp::Read { var, from } => {
                    let last = list.last().copied().unwrap_or(INITIAL);
                    (from == INITIAL || writes(from, var))
                        && (!self.has_lists() || last == from)
                        && list.iter().all(|&w| writes(w, var))
                }
            }
        })
    }
}

/// What a history of transactions may satisfy. Each one implies those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TxnModel {
    /// A transaction that has seen a part of another one does not read older values later.
    ReadCommitted,
    /// A transaction sees all of another one or nothing.
    ReadAtomic,
    /// And what that one has seen.
    Causal,
    /// As if one transaction was executed after the other.
    Serializable,
}

impl TxnModel {
    /// All of them.
    pub const ALL: [TxnModel; 4] =
        [TxnModel::ReadCommitted, TxnModel::ReadAtomic, TxnModel::Causal, TxnModel::Serializable];

    /// The model as it is written in options and JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            TxnModel::ReadCommitted => "read-committed",
            TxnModel::ReadAtomic => "read-atomic",
            TxnModel::Causal => "transactional-causal",
            TxnModel::Serializable => "serializable",
        }
    }

    /// The short form that options understand as well.
    #[must_use]
    pub fn short(self) -> &'static str {
        match self {
            TxnModel::ReadCommitted => "rc",
            TxnModel::ReadAtomic => "ra",
            TxnModel::Causal => "tcc",
            TxnModel::Serializable => "ser",
        }
    }
}
