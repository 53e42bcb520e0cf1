//! Histories of transactions, where the other files of this folder make of each transaction its
//! operations: while a file is read, it is noted to which transaction each operation belongs, and at
//! the end it is found out what reads read.

use rustc_hash::FxHashMap;
use weakspot_core::transactional::{ListReads, TxnOp};
use weakspot_core::{INITIAL, OpNames, TxnHistory, Value, WriteTable, Written};

use crate::error::LogError;
use crate::history::scan::Place;

/// A history of transactions that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTxns {
    /// What it is called.
    pub id: Option<String>,
    /// What was done.
    pub txns: TxnHistory,
    /// By whom and to what, and which values; threads are sessions. The value of a read of a list
    /// is its last element.
    pub names: OpNames,
    /// Where the file says more than the history does, one sentence each.
    pub notes: Vec<String>,
    /// What of this no model asks about, a few words each.
    pub unchecked: Vec<String>,
    /// Per operation the line of the file on which it stands, from 1.
    pub lines: Vec<u32>,
}

/// To which transactions operations belong, while a file is read.
#[derive(Default)]
pub(crate) struct Marks {
    /// Per operation, in the order of the file.
    of: Vec<u32>,
    /// Per transaction its session, and whether it was committed.
    txns: Vec<(u32, bool)>,
    /// By session and the number in the file, where transactions have one.
    by_number: FxHashMap<(u32, i64), u32>,
    /// Per session the last of these.
    last: Vec<Option<(i64, u32)>>,
    /// The elements of lists that were read, and per such read where they end.
    elements: Vec<Value>,
    lists: Vec<ListRead>,
    has_lists: bool,
}

/// A read of a list: the operation, and where its elements are.
struct ListRead {
    op: u32,
    start: u32,
    end: u32,
}

impl Marks {
    /// The operations from those that have a transaction up to `len` are one of this session.
    pub(crate) fn end_txn(&mut self, len: usize, session: u32, committed: bool) {
        if len > self.of.len() {
            let txn = self.txns.len() as u32;
            self.txns.push((session, committed));
            self.of.resize(len, txn);
        }
    }

    /// The next operation belongs to the transaction of this number of a session.
    pub(crate) fn numbered(&mut self, session: u32, number: i64) {
        if self.last.len() <= session as usize {
            self.last.resize(session as usize + 1, None);
        }
        // Most often it is the one of the operation before.
        if let Some((last, txn)) = self.last[session as usize]
            && last == number
        {
            return self.of.push(txn);
        }
        let next = self.txns.len() as u32;
        let txn = *self.by_number.entry((session, number)).or_insert(next);
        if txn == next {
            self.txns.push((session, true));
        }
        self.last[session as usize] = Some((number, txn));
        self.of.push(txn);
    }

    /// The next operation is a transaction of its own that was aborted.
    pub(crate) fn aborted(&mut self, session: u32) {
        self.of.push(self.txns.len() as u32);
        self.txns.push((session, false));
    }

    /// Operation number `op` of the file read a list with these elements.
    pub(crate) fn list(&mut self, op: usize, elements: &[Value]) {
        let start = self.elements.len() as u32;
        self.elements.extend_from_slice(elements);
        self.lists.push(ListRead { op: op as u32, start, end: self.elements.len() as u32 });
        self.has_lists = true;
    }

    /// Variables are lists.
    pub(crate) fn say_lists(&mut self) {
        self.has_lists = true;
    }

    /// The lists that were read, by the places of the reads in the file.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (usize, &[Value])> {
        self.lists.iter().map(|l| (l.op as usize, &self.elements[l.start as usize..l.end as usize]))
    }
}

/// Operations in the order of the file, as a [`Builder`] has them.
pub(crate) struct Raw<'a> {
    /// Whether it writes, and the variable.
    pub(crate) ops: &'a dyn Fn(usize) -> (bool, u32),
    pub(crate) values: &'a [Value],
    pub(crate) places: &'a [Place],
    /// The reads that say that they read the initial value, in order.
    pub(crate) initial: Vec<u32>,
    pub(crate) sessions: usize,
    pub(crate) shown_var: &'a dyn Fn(u32) -> String,
}

/// What comes of operations and their transactions: the history, its values and its lines.
pub(crate) fn build(
    raw: &Raw<'_>,
    marks: &Marks,
) -> Result<(TxnHistory, Vec<Value>, Vec<u32>), LogError> {
    let order = sorted(raw, marks);
    let mut history = TxnHistory::new();
    let mut number = vec![0u32; order.len()];
    let mut last = None;
    let mut session = 0;
    if raw.sessions > 0 {
        history.session();
    }
    let begin = |session: &mut u32, history: &mut TxnHistory, of: u32| {
        while *session < of {
            history.session();
            *session += 1;
        }
    };
    for (i, &at) in order.iter().enumerate() {
        let txn = marks.of[at as usize];
        if last.replace(txn) != Some(txn) {
            let (of, committed) = marks.txns[txn as usize];
            begin(&mut session, &mut history, of);
            history.txn(committed);
        }
        number[at as usize] = i as u32;
        history.push(match (raw.ops)(at as usize) {
            (true, var) => TxnOp::Write { var },
            (false, var) => TxnOp::Read { var, from: INITIAL },
        });
    }
    if raw.sessions > 0 {
        begin(&mut session, &mut history, raw.sessions as u32 - 1);
    }
    let find = Find::new(raw, marks, &mut history, &order);
    let mut initial = raw.initial.iter().peekable();
    let mut lists = find.lists()?.into_iter().peekable();
    let mut reads = ListReads { starts: vec![0; order.len() + 1], elements: Vec::new() };
    let mut of_op: Vec<Vec<u32>> = vec![Vec::new(); if marks.has_lists { order.len() } else { 0 }];
    for (at, &op) in number.iter().enumerate() {
        let said = initial.next_if(|&&op| op as usize == at).is_some();
        let list = lists.next_if(|(op, _)| *op == at);
        if history.writes(op) || said {
            continue;
        }
        let from = match list {
            Some((_, list)) => {
                let from = list.last().copied().unwrap_or(INITIAL);
                of_op[op as usize] = list;
                from
            }
            None if marks.has_lists => INITIAL,
            None => find.read(at, op, &history)?,
        };
        history.set_from(op, from);
    }
    for (op, list) in of_op.into_iter().enumerate() {
        reads.elements.extend(list);
        reads.starts[op + 1] = reads.elements.len() as u32;
    }
    history.finish(marks.has_lists.then_some(reads));
    let values = order.iter().map(|&at| raw.values[at as usize]).collect();
    let lines = order.iter().map(|&at| raw.places[at as usize].line()).collect();
    Ok((history, values, lines))
}

/// The operations, as places in the file, session by session and transaction by transaction.
fn sorted(raw: &Raw<'_>, marks: &Marks) -> Vec<u32> {
    let mut txns: Vec<u32> = (0..marks.txns.len() as u32).collect();
    txns.sort_by_key(|&t| marks.txns[t as usize].0);
    let mut counts = vec![0u32; txns.len()];
    for &txn in &marks.of {
        counts[txn as usize] += 1;
    }
    let mut next = vec![0u32; txns.len()];
    let mut at = 0;
    for &txn in &txns {
        next[txn as usize] = at;
        at += counts[txn as usize];
    }
    let mut order = vec![0; raw.values.len().min(marks.of.len())];
    for (at, &txn) in marks.of.iter().enumerate() {
        order[next[txn as usize] as usize] = at as u32;
        next[txn as usize] += 1;
    }
    order
}

/// Which write has written a value. Those that count, the last ones of committed transactions, come
/// first, so that a value may be written again by what was aborted.
struct Find<'a> {
    raw: &'a Raw<'a>,
    marks: &'a Marks,
    count: WriteTable,
    others: WriteTable,
}

impl<'a> Find<'a> {
    fn new(
        raw: &'a Raw<'a>,
        marks: &'a Marks,
        history: &mut TxnHistory,
        order: &[u32],
    ) -> Find<'a> {
        history.finish(None);
        let history = &*history;
        // Of lists, every element that a committed transaction appended counts.
        let counts = |op: u32| {
            let txn = history.txn_of(op);
            history.committed(txn) && (marks.has_lists || !history.is_overwritten(op))
        };
        let writes = || (0..history.len() as u32).filter(|&op| history.writes(op));
        let all = writes().count();
        let counting = writes().filter(|&op| counts(op)).count();
        let mut find = Find {
            raw,
            marks,
            count: WriteTable::with_room_for(counting),
            others: WriteTable::with_room_for(all - counting),
        };
        for op in writes() {
            let value = raw.values[order[op as usize] as usize];
            let table = if counts(op) { &mut find.count } else { &mut find.others };
            table.insert(history.var(op), value, op);
        }
        find
    }

    fn find(&self, var: u32, value: Value) -> Written {
        match self.count.find(var, value) {
            Written::Never => self.others.find(var, value),
            found => found,
        }
    }

    /// What a read of a register reads.
    fn read(&self, at: usize, op: u32, history: &TxnHistory) -> Result<u32, LogError> {
        let (_, var) = (self.raw.ops)(at);
        let value = self.raw.values[at];
        match self.find(var, value) {
            Written::Once(write) => Ok(write),
            Written::Never if value == 0 => Ok(INITIAL),
            Written::Never => Err(self.error(at, var, value, "nobody wrote")),
            Written::Often => {
                // What the transaction wrote itself is what it reads.
                let own = history.last_write(history.txn_of(op), var);
                let own = own.filter(|&w| w < op && self.value_of(w, history, at, op) == value);
                own.ok_or_else(|| self.error(at, var, value, "several transactions wrote"))
            }
        }
    }

    /// The value of another write of the same transaction, whose operations stand in the file in
    /// the same order.
    fn value_of(&self, write: u32, history: &TxnHistory, at: usize, op: u32) -> Value {
        let txn = self.marks.of[at];
        let back = (op - write) as usize;
        assert_eq!(history.txn_of(write), history.txn_of(op));
        let mut before = (0..at).rev().filter(|&i| self.marks.of[i] == txn);
        before.nth(back - 1).map_or(0, |i| self.raw.values[i])
    }

    /// The lists that were read, as writes, by the place of the read in the file.
    fn lists(&self) -> Result<Vec<(usize, Vec<u32>)>, LogError> {
        let mut lists = Vec::with_capacity(self.marks.lists.len());
        for (at, elements) in self.marks.lists() {
            let (_, var) = (self.raw.ops)(at);
            let element = |&value: &Value| match self.find(var, value) {
                Written::Once(write) => Ok(write),
                Written::Never => Err(self.error(at, var, value, "nobody appended")),
                Written::Often => Err(self.error(at, var, value, "several transactions appended")),
            };
            lists.push((at, elements.iter().map(element).collect::<Result<_, _>>()?));
        }
        Ok(lists)
    }

    fn error(&self, at: usize, var: u32, value: Value, who: &str) -> LogError {
        let name = (self.raw.shown_var)(var);
        let end =
            if who.starts_with("several") { ", so it is not clear what this reads" } else { "" };
        LogError::new(self.raw.places[at].into(), format!("{who} {value} to `{name}`{end}"))
    }
}
