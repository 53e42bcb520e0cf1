//! From operations as they stand in a file to a history: sorted by thread, and with what each read
//! reads from found by its value.
//!
//! While a file is read, an operation takes 24 bytes in file order, its place among them, because
//! only at the end it is known whether a read's value was written. Then a table of the writes by
//! variable and value is made, 16 bytes per slot, and each read looks up its own: linear in all.

mod wrong;

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use weakspot_core::{
    History, INITIAL, LoggedOp, OpKind, OpNames, SaidFrom, Times, Value, WriteTable, Written,
};

use self::wrong::Wrong;
use super::databases::transactions::{self, Marks, Raw, RecordedTxns};
use super::scan::{Place, hex};
use crate::error::LogError;
use crate::names::Index;

/// A history that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// What it is called.
    pub id: Option<String>,
    /// What was done.
    pub ops: History,
    /// By whom and to what, and which values.
    pub names: OpNames,
    /// Where the file says more than the history does, one sentence each.
    pub notes: Vec<String>,
    /// What of this no model asks about, so that an answer does not cover it: a few words each,
    /// such as `real-time order`.
    pub unchecked: Vec<String>,
}

impl Recorded {
    /// Where an operation is, by its number in the history, of which the file has `count` so far.
    #[must_use]
    pub fn place(&self, count: usize, op: Option<usize>) -> String {
        let which = match &self.id {
            Some(id) => format!("history `{id}`"),
            None => format!("history {count}"),
        };
        match op {
            Some(op) if op < self.ops.len() => {
                let thread = self.ops.thread_of(op as u32);
                let index = op as u32 - self.ops.of_thread(thread).start;
                format!("{which}, operation {index} of {}", self.names.threads[thread])
            }
            _ => which,
        }
    }
}

/// A read whose value several writes may have written, and these, the initial one among them; operations have the
/// numbers of the history.
pub type OpenRead = (u32, Vec<u32>);

/// A history while its file is read.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) id: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) unchecked: Vec<String>,
    threads: Index,
    /// Plus one, the threads that are called `t` and a number of few digits.
    numbered: Vec<u32>,
    vars: Index,
    /// Kinds and variables.
    ops: Vec<Op>,
    /// Who did the operations.
    of: Vec<u32>,
    values: Vec<Value>,
    places: Vec<Place>,
    /// When operations began and ended, up to the last one of which that is known.
    times: Vec<Times>,
    /// Per thread the last time that is known of it.
    last_times: Vec<i64>,
    /// What the updates read, in file order.
    olds: Vec<Value>,
    /// What is said about what operations read, in file order.
    froms: Vec<From>,
    initial: FxHashMap<String, Value>,
    /// What was written by transactions that were left out.
    dropped: Vec<(u32, Value)>,
    /// Whether operations are handed out while the history goes on.
    follows: bool,
    /// Whether a value that equals the initial one is read from a write of it, if there is one.
    pub(crate) writes_first: bool,
    /// To which transactions operations belong, if the history is one of transactions.
    pub(crate) marks: Option<Marks>,
}

/// The kind in the upper two bits, and the variable.
#[derive(Clone, Copy, Default)]
struct Op(u32);

/// Where the operation of this number, in file order, reads from.
struct From {
    op: u32,
    source: SaidFrom,
    place: Place,
}

const VAR: u32 = History::MOST as u32;

impl Op {
    #[inline]
    fn new(kind: OpKind, var: u32) -> Op {
        Op((kind as u32) << 30 | var)
    }

    #[inline]
    fn kind(self) -> OpKind {
        match self.0 >> 30 {
            0 => OpKind::Read,
            1 => OpKind::Write,
            2 => OpKind::Update,
            _ => OpKind::Fence,
        }
    }

    #[inline]
    fn var(self) -> u32 {
        self.0 & VAR
    }

    #[inline]
    fn writes(self) -> bool {
        matches!(self.kind(), OpKind::Write | OpKind::Update)
    }
}

impl Builder {
    /// One whose operations are [taken](Builder::take_ops) while the history goes on.
    pub(crate) fn following() -> Builder {
        Builder { follows: true, ..Builder::default() }
    }

    /// One of a history of transactions.
    pub(crate) fn of_txns() -> Builder {
        Builder { marks: Some(Marks::default()), ..Builder::default() }
    }

    /// The thread of this name.
    #[inline]
    pub(crate) fn thread(&mut self, name: &[u8]) -> Result<u32, String> {
        self.threads.number(name).map_err(|m| format!("{m} in the name of a thread"))
    }

    /// The thread that is called `t` and these digits.
    #[inline]
    pub(crate) fn numbered_thread(&mut self, digits: &[u8]) -> Result<u32, String> {
        if digits.len() > 3 || digits.len() > 1 && digits[0] == b'0' {
            return self.named_by(digits);
        }
        let number = digits.iter().fold(0, |n, d| 10 * n + usize::from(d & 15));
        match self.numbered.get(number) {
            Some(&thread) if thread > 0 => Ok(thread - 1),
            _ => {
                let thread = self.named_by(digits)?;
                self.numbered.resize(self.numbered.len().max(number + 1), 0);
                self.numbered[number] = thread + 1;
                Ok(thread)
            }
        }
    }

    #[cold]
    fn named_by(&mut self, digits: &[u8]) -> Result<u32, String> {
        self.thread(&[b"t", digits].concat())
    }

    /// One more thread, which is called by its number.
    pub(crate) fn next_thread(&mut self) -> Result<u32, String> {
        let number = self.threads.len().to_string();
        self.numbered_thread(number.as_bytes())
    }

    /// One more thread, whatever it is called.
    pub(crate) fn extra_thread(&mut self) -> Result<u32, String> {
        let mut number = self.threads.len();
        while self.threads.find(format!("t{number}").as_bytes()).is_some() {
            number += 1;
        }
        self.numbered_thread(number.to_string().as_bytes())
    }

    /// The variable of this name. An address has one name, however its hexadecimal number is
    /// written.
    #[inline]
    pub(crate) fn var(&mut self, name: &[u8]) -> Result<u32, String> {
        let address;
        let name = match name {
            [b'0', b'x' | b'X', ..] => {
                address = address_name(name);
                &address[..]
            }
            _ => name,
        };
        let number =
            self.vars.number(name).map_err(|m| format!("{m} in the name of a variable"))?;
        if number > VAR {
            return Err("too many variables".into());
        }
        Ok(number)
    }

    /// The name of a variable.
    pub(crate) fn var_name(&self, var: u32) -> &str {
        &self.vars.names[var as usize]
    }

    /// The same for messages: numbers stand in brackets, not to be taken for values.
    fn shown_var(&self, var: u32) -> String {
        match self.var_name(var) {
            name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("[{name}]"),
            name => name.to_owned(),
        }
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    /// The name of a thread.
    pub(crate) fn thread_name(&self, thread: u32) -> &str {
        &self.threads.names[thread as usize]
    }

    /// How many operations there are.
    pub(crate) fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.threads.len() == 0 && self.id.is_none() && self.initial.is_empty()
    }

    /// Adds a read, a write, or a fence, which has no variable and no value.
    #[inline]
    pub(crate) fn push(
        &mut self,
        place: Place,
        thread: u32,
        kind: OpKind,
        var: u32,
        value: Value,
    ) -> Result<(), String> {
        if self.ops.len() >= History::MOST {
            return Err(format!("a history of more than {} operations", History::MOST));
        }
        self.ops.push(Op::new(kind, var));
        self.of.push(thread);
        self.values.push(value);
        self.places.push(place);
        Ok(())
    }

    /// Adds an atomic update.
    pub(crate) fn push_update(
        &mut self,
        place: Place,
        thread: u32,
        var: u32,
        old: Value,
        new: Value,
    ) -> Result<(), String> {
        self.push(place, thread, OpKind::Update, var, new)?;
        self.olds.push(old);
        Ok(())
    }

    /// Says when the last operation, which is of this thread, began and ended.
    pub(crate) fn say_times(&mut self, thread: u32, times: Times) -> Result<(), String> {
        self.check_times(thread, times)?;
        self.set_times(self.ops.len().saturating_sub(1), times);
        Ok(())
    }

    /// Says when the last operation began and ended, which was [checked](Builder::check_times).
    pub(crate) fn set_last_times(&mut self, times: Times) {
        if times != Times::UNKNOWN {
            self.set_times(self.ops.len().saturating_sub(1), times);
        }
    }

    /// Whether the operations are handed out one by one.
    pub(crate) fn is_followed(&self) -> bool {
        self.follows
    }

    /// Whether the next operation of a thread may have begun and ended then.
    pub(crate) fn check_times(&mut self, thread: u32, times: Times) -> Result<(), String> {
        let Times { start, end } = times;
        if end < start {
            return Err(format!("it ends at {end}, before it starts at {start}"));
        }
        let known = |time: i64| time != i64::MIN && time != i64::MAX;
        if self.last_times.len() <= thread as usize {
            self.last_times.resize(thread as usize + 1, i64::MIN);
        }
        let last = self.last_times[thread as usize];
        for (time, does) in [(start, "starts"), (end, "ends")] {
            if known(time) && time < last {
                let name = self.thread_name(thread);
                return Err(format!(
                    "it {does} at {time}, but `{name}` does one operation after the other, and the \
                     one before it goes on until {last}"
                ));
            }
        }
        let latest = [start, end].into_iter().filter(|&time| known(time)).max();
        self.last_times[thread as usize] = latest.unwrap_or(last);
        Ok(())
    }

    /// Whether the last operation would begin or end before the one before it in its thread has ended,
    /// which is said of histories that are read as a whole only.
    pub(crate) fn overlaps(&self, thread: u32, times: Times) -> bool {
        let last = self.last_times.get(thread as usize).copied().unwrap_or(i64::MIN);
        let early = |time: i64| time != i64::MIN && time < last;
        !self.follows && (early(times.start) || early(times.end))
    }

    /// Forgets when operations began and ended.
    pub(crate) fn forget_times(&mut self) {
        self.note_times();
        self.times.clear();
    }

    /// Says when the operations from `start` on, which are one transaction, began and ended.
    pub(crate) fn say_times_since(&mut self, start: usize, times: Times) {
        if let Some(last) = self.ops.len().checked_sub(1).filter(|&last| last >= start) {
            self.set_times(start, Times { end: i64::MAX, ..times });
            let start = if last == start { times.start } else { i64::MIN };
            self.set_times(last, Times { start, end: times.end });
        }
    }

    fn set_times(&mut self, op: usize, times: Times) {
        if times != Times::UNKNOWN {
            self.times.resize(self.times.len().max(op + 1), Times::UNKNOWN);
            self.times[op] = times;
        }
    }

    /// Notes that models without real time leave something unasked.
    fn note_times(&mut self) {
        let what = "real-time order";
        if !self.times.is_empty() && !self.unchecked.iter().any(|other| other == what) {
            self.unchecked.push(what.into());
        }
    }

    /// Says what the last operation reads.
    pub(crate) fn say_from(&mut self, place: Place, source: SaidFrom) {
        let op = self.ops.len().saturating_sub(1) as u32;
        self.froms.push(From { op, source, place });
    }

    /// Makes an update of a read and the write that follows, if they are the operations from
    /// `start` on and of the same variable.
    pub(crate) fn fuse(&mut self, start: usize) {
        let [read, write] = self.ops[start..] else { return };
        let kinds = (read.kind(), write.kind());
        if kinds == (OpKind::Read, OpKind::Write) && read.var() == write.var() {
            self.olds.push(self.values[start]);
            self.ops[start] = Op::new(OpKind::Update, read.var());
            self.ops.truncate(start + 1);
            self.of.truncate(start + 1);
            self.values.swap_remove(start);
            self.places.truncate(start + 1);
            self.times.truncate(start + 1);
        }
    }

    /// The operations that are in no transaction yet are one, of the thread that did the last.
    pub(crate) fn end_txn(&mut self, committed: bool) {
        if let (Some(marks), Some(&thread)) = (&mut self.marks, self.of.last()) {
            marks.end_txn(self.ops.len(), thread, committed);
        }
    }

    /// Takes the operations from `start` on back, which have no updates among them.
    pub(crate) fn drop_from(&mut self, start: usize) {
        for (op, &value) in self.ops[start..].iter().zip(&self.values[start..]) {
            if op.kind() == OpKind::Write {
                self.dropped.push((op.var(), value));
            }
        }
        self.ops.truncate(start);
        self.of.truncate(start);
        self.values.truncate(start);
        self.places.truncate(start);
        self.times.truncate(start);
        while self.froms.last().is_some_and(|f| f.op as usize >= start) {
            self.froms.pop();
        }
    }

    /// Remembers a write that was left out.
    pub(crate) fn drop_write(&mut self, var: u32, value: Value) {
        self.dropped.push((var, value));
    }

    /// Says what a variable is at first, which must not have been said before.
    pub(crate) fn say_initial(&mut self, name: &str, value: Value) -> Result<(), String> {
        let name = String::from_utf8_lossy(&address_name(name.as_bytes())).into_owned();
        if self.follows && self.vars.find(name.as_bytes()).is_some() {
            return Err(format!(
                "the initial value of `{name}` is given behind an operation on it, which a history \
                 that is followed cannot use"
            ));
        }
        match self.initial.insert(name.clone(), value) {
            None => Ok(()),
            Some(_) => Err(format!("the initial value of `{name}` is given twice")),
        }
    }

    /// Hands out the operations since the last time, in file order, and forgets them; false if
    /// there are none.
    pub(crate) fn take_ops(&mut self, taken: &mut Vec<LoggedOp>) -> bool {
        self.note_times();
        let before = taken.len();
        let times = &self.times;
        let (mut olds, mut froms) = (self.olds.drain(..), self.froms.drain(..).peekable());
        let whole = self.ops.iter().zip(&self.of).zip(&self.values).zip(&self.places);
        taken.extend(whole.enumerate().map(|(i, (((op, &thread), &value), place))| {
            let kind = op.kind();
            let old = if kind == OpKind::Update { olds.next().unwrap_or_default() } else { 0 };
            let from = froms.next_if(|f| f.op as usize == i).map(|f| f.source);
            let (line, column) = (place.line(), place.column());
            let times = times.get(i).copied().unwrap_or(Times::UNKNOWN);
            LoggedOp { thread, kind, var: op.var(), value, old, from, line, column, times }
        }));
        drop((olds, froms));
        self.ops.clear();
        self.of.clear();
        self.values.clear();
        self.places.clear();
        self.times.clear();
        self.dropped.clear();
        taken.len() > before
    }

    /// Brings names up to date: those that are new, and what is said about initial values.
    pub(crate) fn learn_names(&self, names: &mut OpNames) {
        for name in &self.threads.names[names.threads.len()..] {
            names.threads.push(name.clone());
        }
        for name in &self.vars.names[names.vars.len()..] {
            names.vars.push(name.clone());
            names.initial.push(self.initial.get(name).copied().unwrap_or(0));
        }
    }

    /// The values that are read, with their variables.
    pub(crate) fn reads(&self) -> impl Iterator<Item = (u32, Value)> {
        let mut olds = self.olds.iter();
        self.ops.iter().zip(&self.values).filter_map(move |(op, &value)| match op.kind() {
            OpKind::Read => Some((op.var(), value)),
            OpKind::Update => olds.next().map(|&old| (op.var(), old)),
            OpKind::Write | OpKind::Fence => None,
        })
    }

    /// The elements of lists that are read, with their variables.
    pub(crate) fn read_elements(&self) -> impl Iterator<Item = (u32, Value)> {
        let lists = self.marks.iter().flat_map(Marks::lists);
        lists.flat_map(|(op, list)| {
            let var = self.ops[op].var();
            list.iter().map(move |&value| (var, value))
        })
    }

    /// The values that are written, with their variables.
    pub(crate) fn written(&self) -> impl Iterator<Item = (u32, Value)> {
        let writes = self.ops.iter().zip(&self.values).filter(|(op, _)| op.writes());
        writes.map(|(op, &value)| (op.var(), value))
    }

    /// Puts the operations of each transaction side by side; `txns` says to which one of its
    /// thread each operation belongs. The transactions of a thread are in the order of their first
    /// operations. Then makes updates as [`fuse`](Builder::fuse) does, and returns how many
    /// transactions have several operations.
    pub(crate) fn gather(&mut self, txns: &[i64]) -> usize {
        let mut firsts = FxHashMap::default();
        let mut keys = Vec::with_capacity(self.ops.len());
        for (i, (&thread, &txn)) in self.of.iter().zip(txns).enumerate() {
            keys.push((thread, *firsts.entry((thread, txn)).or_insert(i as u32)));
        }
        let key = |i: u32| keys[i as usize];
        let mut order: Vec<u32> = (0..self.ops.len() as u32).collect();
        order.sort_by_key(|&i| key(i));
        let mut sorted = Builder::default();
        let mut several = 0;
        for txn in order.chunk_by(|&a, &b| key(a) == key(b)) {
            let start = sorted.ops.len();
            for &i in txn {
                let i = i as usize;
                sorted.ops.push(self.ops[i]);
                sorted.of.push(self.of[i]);
                sorted.values.push(self.values[i]);
                sorted.places.push(self.places[i]);
            }
            sorted.fuse(start);
            several += usize::from(sorted.ops.len() - start > 1);
        }
        (self.ops, self.of, self.olds) = (sorted.ops, sorted.of, sorted.olds);
        (self.values, self.places) = (sorted.values, sorted.places);
        several
    }

    /// The history, if each read reads what was written; also the lines of its operations, and the reads of which it
    /// is open what they read, if somebody wants those.
    pub(crate) fn finish(
        mut self,
        lines: Option<&mut Vec<u32>>,
        open: Option<&mut Vec<OpenRead>>,
    ) -> Result<Recorded, Wrong> {
        self.note_times();
        let threads = self.threads.len();
        let mut starts = vec![0u32; threads + 1];
        for &thread in &self.of {
            starts[thread as usize + 1] += 1;
        }
        for t in 0..threads {
            starts[t + 1] += starts[t];
        }
        self.sort(&starts);
        let initial = self.initial_values();
        let writes = self.writes();
        let froms = self.reads_from(&starts, &initial, &writes, open)?;
        drop(writes);
        if let Some(lines) = lines {
            lines.clear();
            lines.resize(self.ops.len(), 0);
            for (place, number) in self.places.iter().zip(numbers(&self.of, &starts)) {
                lines[number as usize] = place.line();
            }
        }
        (self.of, self.places) = (Vec::new(), Vec::new());
        let mut ops = History::new();
        for t in 0..threads {
            ops.thread();
            let range = starts[t] as usize..starts[t + 1] as usize;
            for (op, &from) in self.ops[range.clone()].iter().zip(&froms[range]) {
                ops.push(op.kind(), op.var(), from);
            }
        }
        ops.set_times(self.times);
        let names = OpNames {
            threads: self.threads.names,
            vars: self.vars.names,
            initial,
            values: self.values,
        };
        let (notes, unchecked) = (self.notes, self.unchecked);
        Ok(Recorded { id: self.id, ops, names, notes, unchecked })
    }

    /// The history, with its transactions.
    pub(crate) fn finish_txns(self) -> Result<RecordedTxns, LogError> {
        let none = Marks::default();
        let marks = self.marks.as_ref().unwrap_or(&none);
        let raw = Raw {
            ops: &|at| (self.ops[at].writes(), self.ops[at].var()),
            values: &self.values,
            places: &self.places,
            initial: self.froms.iter().map(|from| from.op).collect(),
            sessions: self.threads.len(),
            shown_var: &|var| self.shown_var(var),
        };
        let (txns, values, lines) = transactions::build(&raw, marks)?;
        let initial = self.initial_values();
        let (threads, vars) = (self.threads.names, self.vars.names);
        let names = OpNames { threads, vars, initial, values };
        let (id, notes, unchecked) = (self.id, self.notes, self.unchecked);
        Ok(RecordedTxns { id, txns, names, notes, unchecked, lines })
    }

    /// Puts operations, values and times into their order by thread. Who did what, and the places, stay
    /// in file order.
    fn sort(&mut self, starts: &[u32]) {
        if !self.times.is_empty() {
            self.times.resize(self.ops.len(), Times::UNKNOWN);
        }
        if self.of.is_sorted() {
            return;
        }
        let mut times = vec![Times::UNKNOWN; self.times.len()];
        let mut ops = vec![Op::default(); self.ops.len()];
        let mut values = vec![0; self.ops.len()];
        for (i, number) in numbers(&self.of, starts).enumerate() {
            ops[number as usize] = self.ops[i];
            values[number as usize] = self.values[i];
            if let Some(&of_op) = self.times.get(i) {
                times[number as usize] = of_op;
            }
        }
        (self.ops, self.values, self.times) = (ops, values, times);
    }

    fn initial_values(&self) -> Vec<Value> {
        let mut initial = vec![0; self.vars.len()];
        for (name, value) in &self.initial {
            if let Some(var) = self.vars.find(name.as_bytes()) {
                initial[var as usize] = *value;
            }
        }
        initial
    }

    /// The writes by variable and value, which may be written twice: a read of such a value has to
    /// say which of its writes it reads.
    fn writes(&self) -> WriteTable {
        let count = self.ops.iter().filter(|op| op.writes()).count();
        let mut writes = WriteTable::with_room_for(count);
        for (number, (op, &value)) in self.ops.iter().zip(&self.values).enumerate() {
            if op.writes() {
                writes.insert(op.var(), value, number as u32);
            }
        }
        writes
    }

    /// What each operation reads, thread by thread; of those that are open, the first that it may.
    fn reads_from(
        &self,
        starts: &[u32],
        initial: &[Value],
        writes: &WriteTable,
        mut open: Option<&mut Vec<OpenRead>>,
    ) -> Result<Vec<u32>, Wrong> {
        let mut result = vec![INITIAL; self.ops.len()];
        let mut ways = 1;
        if let Some(open) = &mut open {
            open.clear();
        }
        let (mut olds, mut froms) = (self.olds.iter(), self.froms.iter().peekable());
        for (i, number) in numbers(&self.of, starts).enumerate() {
            let op = self.ops[number as usize];
            let value = match op.kind() {
                OpKind::Write | OpKind::Fence => continue,
                OpKind::Read => self.values[number as usize],
                OpKind::Update => olds.next().copied().unwrap_or_default(),
            };
            let said = froms.next_if(|f| f.op as usize == i);
            let from = match said {
                Some(from) => self.said(from.source, op.var(), value, starts, initial),
                None => {
                    // An update does not read what it writes itself, though that may be the same.
                    let is_same = op.writes() && self.values[number as usize] == value;
                    let written = match writes.find(op.var(), value) {
                        Written::Once(_) if is_same => Written::Never,
                        Written::Often if is_same => {
                            match self.candidates(number, value, initial)[..] {
                                [one] if one != INITIAL => Written::Once(one),
                                _ => Written::Often,
                            }
                        }
                        written => written,
                    };
                    self.found(op.var(), value, starts, initial, written)
                }
            };
            let place = said.map_or(self.places[i], |f| f.place);
            let from = match (from, &mut open) {
                (Err(message), Some(open)) if said.is_none() => {
                    let candidates = self.candidates(number, value, initial);
                    ways *= candidates.len();
                    match candidates.first() {
                        Some(&first) if ways <= History::MOST_WAYS => {
                            open.push((number, candidates));
                            Ok(first)
                        }
                        Some(_) => Err(format!(
                            "{message}; there are more than {} ways to choose for all such reads",
                            History::MOST_WAYS
                        )),
                        None => Err(message),
                    }
                }
                (from, _) => from,
            };
            let from = from.map_err(|m| {
                let error = LogError::new(place.into(), m);
                let unwritten = match writes.find(op.var(), value) {
                    Written::Once(write) if write != number => None,
                    Written::Never | Written::Once(_) if said.is_none() => {
                        self.unwritten(i, op.var(), value, starts, initial)
                    }
                    _ => None,
                };
                Wrong { error, unwritten }
            })?;
            if from == number {
                let message = "an update that reads what it writes itself";
                return Err(LogError::new(self.places[i].into(), message).into());
            }
            result[number as usize] = from;
        }
        Ok(result)
    }

    #[inline]
    fn found(
        &self,
        var: u32,
        value: Value,
        starts: &[u32],
        initial: &[Value],
        written: Written,
    ) -> Result<u32, String> {
        let is_initial = initial[var as usize] == value;
        match written {
            Written::Once(op) if !is_initial || self.writes_first => Ok(op),
            Written::Never if is_initial => Ok(INITIAL),
            found => Err(self.not_found(&found, var, value, starts)),
        }
    }

    /// All that an operation may have read this value from.
    #[cold]
    fn candidates(&self, number: u32, value: Value, initial: &[Value]) -> Vec<u32> {
        let var = self.ops[number as usize].var();
        let is_initial = initial[var as usize] == value;
        let is_write = |&other: &u32| {
            let op = self.ops[other as usize];
            other != number
                && op.writes()
                && op.var() == var
                && self.values[other as usize] == value
        };
        let writes = (0..self.ops.len() as u32).filter(is_write);
        is_initial.then_some(INITIAL).into_iter().chain(writes).collect()
    }

    /// What an operation reads that says so itself.
    fn said(
        &self,
        source: SaidFrom,
        var: u32,
        value: Value,
        starts: &[u32],
        initial: &[Value],
    ) -> Result<u32, String> {
        let name = self.shown_var(var);
        let SaidFrom::Op(thread, index) = source else {
            let first = initial[var as usize];
            if first != value {
                return Err(format!("the initial value of `{name}` is {first}, not {value}"));
            }
            return Ok(INITIAL);
        };
        let who = match self.threads.names.get(thread as usize) {
            Some(name) => format!("`{name}`"),
            None => format!("thread {thread}"),
        };
        let bounds = starts.get(thread as usize).zip(starts.get(thread as usize + 1));
        let number =
            bounds.and_then(|(&start, &end)| start.checked_add(index).filter(|&n| n < end));
        let Some(number) = number else {
            return Err(format!("there is no operation {index} of {who}"));
        };
        let op = self.ops[number as usize];
        if !op.writes() || op.var() != var {
            return Err(format!("operation {index} of {who} does not write `{name}`"));
        }
        match self.values[number as usize] {
            other if other != value => {
                Err(format!("operation {index} of {who} writes {other} to `{name}`, not {value}"))
            }
            _ => Ok(number),
        }
    }
}

/// The shortest way to write an address in hexadecimal digits; other names as they are.
fn address_name(name: &[u8]) -> Cow<'_, [u8]> {
    match hex(name) {
        Some(address) => Cow::Owned(format!("{address:#x}").into_bytes()),
        None => Cow::Borrowed(name),
    }
}

/// The numbers of operations by thread, in file order.
fn numbers(of: &[u32], starts: &[u32]) -> impl Iterator<Item = u32> {
    let mut next = starts.to_vec();
    of.iter().map(move |&thread| {
        let next = &mut next[thread as usize];
        *next += 1;
        *next - 1
    })
}
