//! Transactions and their operations as people read them.

use weakspot_core::transactional::{BEGINNING, Reason, TxnOp, version_orders};
use weakspot_core::{INITIAL, OpNames, TxnHistory};

use crate::text::show::plain;
use crate::text::table::{cut, paragraph};

/// Of a transaction so many operations are shown.
const MAX_OPS: usize = 12;
/// The most columns of an operation.
const MAX_OP: usize = 60;

/// A history with its names, and the transactions that were named so far.
pub(super) struct Show<'a> {
    pub(super) history: &'a TxnHistory,
    pub(super) names: &'a OpNames,
    pub(super) lines: &'a [u32],
    /// T1, T2, ... in the order in which they are named.
    pub(super) txns: Vec<u32>,
}

/// What the arrow of a fact is called, as Adya does.
pub(super) fn link(reason: &Reason) -> &'static str {
    match reason {
        Reason::Beginning | Reason::Session => "so",
        Reason::Reads(_) => "wr",
        Reason::Versions(..) | Reason::Older { .. } => "ww",
        Reason::Overwrites { .. } => "rw",
    }
}

impl Show<'_> {
    /// `T1`.
    pub(super) fn name(&mut self, txn: u32) -> String {
        if txn == BEGINNING {
            return "the beginning".to_owned();
        }
        let at = self.txns.iter().position(|&t| t == txn).unwrap_or_else(|| {
            self.txns.push(txn);
            self.txns.len() - 1
        });
        format!("T{}", at + 1)
    }

    pub(super) fn source(&mut self, read: u32) -> String {
        let source = self.history.source(read);
        source.map_or(String::new(), |source| self.name(source))
    }

    pub(super) fn session(&self, session: u32) -> String {
        match self.names.threads.get(session as usize) {
            Some(name) => plain(name).into_owned(),
            None => format!("t{session}"),
        }
    }

    /// The name of a variable. A number stands in brackets, not to be taken for a value.
    pub(super) fn var(&self, var: u32) -> String {
        match self.names.vars.get(var as usize) {
            Some(name) if name.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("[{}]", plain(name))
            }
            Some(name) => plain(name).into_owned(),
            None => format!("x{var}"),
        }
    }

    pub(super) fn value(&self, op: u32) -> i64 {
        self.names.values.get(op as usize).copied().unwrap_or(0)
    }

    /// The write that a read reads, if it is one.
    pub(super) fn from(&self, op: u32) -> Vec<u32> {
        match self.history.op(op) {
            TxnOp::Read { from, .. } if from != INITIAL => vec![from],
            _ => Vec::new(),
        }
    }

    /// `r x 1`, `w x 1`, `append x 1`, `r x [1 2]`.
    pub(super) fn op(&self, op: u32) -> String {
        let var = self.var(self.history.var(op));
        let text = match (self.history.op(op), self.history.has_lists()) {
            (TxnOp::Write { .. }, true) => format!("append {var} {}", self.value(op)),
            (TxnOp::Write { .. }, false) => format!("w {var} {}", self.value(op)),
            (TxnOp::Read { .. }, true) => {
                let elements: Vec<String> =
                    self.history.list(op).iter().map(|&w| self.value(w).to_string()).collect();
                format!("r {var} [{}]", elements.join(" "))
            }
            (TxnOp::Read { from: INITIAL, .. }, false) => format!("r {var} (initial)"),
            (TxnOp::Read { .. }, false) => format!("r {var} {}", self.value(op)),
        };
        cut(&text, MAX_OP)
    }

    /// The read of the longest list of the variable that a read is of.
    pub(super) fn longest(&self, read: u32) -> Option<u32> {
        let history = self.history;
        let order = version_orders(history).swap_remove(history.var(read) as usize);
        (0..history.len() as u32).find(|&op| {
            !history.writes(op)
                && history.var(op) == history.var(read)
                && history.list(op) == order
                && history.committed(history.txn_of(op))
        })
    }

    /// Whether a write is in a list that was read.
    pub(super) fn is_listed(&self, write: u32) -> bool {
        let var = self.history.var(write) as usize;
        version_orders(self.history).get(var).is_some_and(|list| list.contains(&write))
    }

    /// Where a transaction is.
    pub(super) fn place(&self, txn: u32) -> (u32, u32, Option<u32>) {
        let session = self.history.session_of(txn);
        let index = txn - self.history.of_session(session as usize).start;
        let first = self.history.of_txn(txn).start as usize;
        (session, index, self.lines.get(first).copied())
    }

    /// The transactions that were named, with what they do.
    pub(super) fn transactions(&self, columns: usize) -> String {
        let mut out = String::new();
        for (i, &txn) in self.txns.iter().enumerate() {
            let (session, index, line) = self.place(txn);
            let ops = self.history.of_txn(txn);
            let more = ops.len().saturating_sub(MAX_OPS);
            let mut text: Vec<String> = ops.take(MAX_OPS).map(|op| self.op(op)).collect();
            if more > 0 {
                text.push(format!("and {more} more"));
            }
            let line = line.map_or(String::new(), |line| format!(", line {line}"));
            let end = if self.history.committed(txn) { "" } else { " (not committed)" };
            let text = format!(
                "  T{}  {} {index}{line}{end}: {}",
                i + 1,
                self.session(session),
                text.join(", ")
            );
            out += &paragraph(&text, columns, 6);
        }
        out
    }
}
