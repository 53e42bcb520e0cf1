//! The last operations of a history that is still being written, as a history that can be checked:
//! memory does not grow with what was written, and a violation found in a window is one of the
//! whole history.
//!
//! # What a window holds
//!
//! The last N operations in the order of arrival, which keeps the order of each thread. When it is
//! full, the older half leaves, so that every two operations that arrive within N / 2 of each other
//! are together in some window. Of what leaves, writes are remembered, because later operations
//! may still read them: about N in all, and of each variable at least the last [`LEAST`].
//!
//! What is checked is an [`Excerpt`]: all operations of the window whose source is known, and the
//! remembered writes that these read. A read is left out while its write is not known: because it
//! comes later in the log than the read, or because it is forgotten. Of an update whose source is
//! not known the write remains, between two fences.
//!
//! # Why its violations are violations of the whole history
//!
//! Map each operation of the excerpt to the one that it comes from, and the two fences of a cut
//! update to that update. The map keeps program order and reads-from: both are those of the whole
//! history, restricted, and an excerpt has the write of each read that it has. It is injective on
//! reads and writes. Every model says that some relations have no cycle, relations that are made
//! of program order and reads-from by union, composition and closure, never by complement; in
//! SC, TSO and PSO also of a store order, of which the restriction will do. So a relation of the
//! excerpt is mapped into that of the whole history. That holds for what fences and updates add to
//! program order, too: if one of the excerpt stands between two operations, so does the operation
//! that it is mapped to, which is a fence or an update; and an update is ordered with everything
//! around it, as a write between two fences is. A cycle of the excerpt is mapped to a closed walk.
//! It is not a single point, because the three operations of a cut update follow one another in
//! program order, and no order leads back. So the whole history has a cycle if the excerpt has.
//! Real-time order is mapped in the same way: the fences and the write of a cut update happen one after
//! the other between its beginning and its end. For CC the second condition, on a read and two different writes, is mapped in the same way.
//!
//! This needs reads to be resolved right. A read of a value that was written more than once, of which
//! nobody says which write it reads, is left out; so is a read of a value that may be among those of the writes that
//! were forgotten: of these the least and the greatest value of each thread and variable are remembered. Only when
//! the history has ended, and all of it is in the window, such reads are kept, with the writes that they may have
//! read ([`Excerpt::open`]). A value may be written again later in the log, and the read may have read that: until the
//! log has ended, a violation is one only if this does not happen (`follow.rs`), unless somebody
//! [promised](Window::promise_distinct) that no value is written twice.
//!
//! # What it misses
//!
//! Violations whose operations are farther apart than a window, and orders that only follow from
//! operations that have left. So only a history that never filled a window is known to satisfy a
//! model ([`Window::is_whole`]).
//!
//! Cost: linear in the window and the number of variables for each excerpt, with a hash table of
//! the known writes.

use std::cmp::Ordering;
use std::collections::VecDeque;

use weakspot_core::{
    History, INITIAL, LoggedOp, OpKind, OpNames, SaidFrom, Times, Value, WriteTable, Written,
};

/// Of each variable so many writes are remembered at least.
const LEAST: usize = 4;

/// The last operations of a history.
#[derive(Clone, Debug)]
pub struct Window {
    size: usize,
    ops: Vec<Kept>,
    vars: Vec<Var>,
    /// Per thread how many operations it did so far.
    done: Vec<u64>,
    arrived: u64,
    /// How many reads left the window without their write being known.
    left_out: u64,
    /// Whether an operation said which operation it reads.
    says_from: bool,
    /// Whether nobody writes a value twice, or the initial one.
    is_distinct: bool,
    /// The operations of the window that the last excerpt left out, in order.
    unknown: Vec<u32>,
}

/// An operation, and its number in its thread.
#[derive(Clone, Copy, Debug)]
struct Kept {
    op: LoggedOp,
    index: u64,
}

/// What is known of a variable.
#[derive(Clone, Debug)]
struct Var {
    initial: Value,
    /// Whether the initial value was written.
    initial_written: bool,
    /// Writes that left the window.
    old: VecDeque<Kept>,
    /// If there were more: by thread the least and the greatest value of those.
    forgotten: Vec<(u32, Value, Value)>,
}

impl Var {
    fn forget(&mut self, write: LoggedOp) {
        match self.forgotten.iter_mut().find(|(thread, ..)| *thread == write.thread) {
            Some((_, least, most)) => {
                (*least, *most) = ((*least).min(write.value), (*most).max(write.value));
            }
            None => self.forgotten.push((write.thread, write.value, write.value)),
        }
    }

    /// Whether a write of this value may have been forgotten.
    fn may_have_forgotten(&self, value: Value) -> bool {
        self.forgotten.iter().any(|&(_, least, most)| (least..=most).contains(&value))
    }
}

/// A part of the history, as a history of its own. Operations, threads and variables are numbered
/// anew, so that its size does not depend on how many there were before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The operations.
    pub ops: History,
    /// The threads by their numbers in the log.
    pub threads: Vec<u32>,
    /// The variables by their numbers in the log.
    pub vars: Vec<u32>,
    /// Per operation the value that was read, or written; of an update the one written.
    pub values: Vec<Value>,
    /// Per operation its number in its thread, from 0.
    pub indices: Vec<u64>,
    /// Per operation its line in the log.
    pub lines: Vec<u32>,
    /// The reads of which it is open what they read, and what they may: of a whole history only.
    pub open: Vec<(u32, Vec<u32>)>,
    /// Per operation whether the log says what it reads, so that its value does not have to.
    pub said: Vec<bool>,
}

/// What is wrong with a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which operation, as far as it stands in the log.
    pub op: LoggedOp,
    /// What is wrong with it.
    pub why: RefusedWhy,
}

/// What is wrong with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedWhy {
    /// It reads a value that nobody wrote.
    WrittenByNobody,
    /// It says that it reads what is initial, and that is this value.
    InitialDiffers(Value),
    /// It says that it reads an operation that does something else.
    SaidWrong(u32, u32),
    /// It is an update that reads what it writes itself.
    ReadsItself,
    /// It writes a value that was written before, or is initial, which was promised not to happen.
    WrittenTwice,
    /// Neither it nor any other operation says when it began or ended, and models are asked about that are about real time.
    NoTimes,
}

/// Of a read whose write is not known.
const UNKNOWN: u32 = INITIAL - 1;

impl Window {
    /// A window of so many operations, at least 2.
    #[must_use]
    pub fn new(size: usize) -> Window {
        Window {
            size: size.clamp(2, History::MOST / 8),
            ops: Vec::new(),
            vars: Vec::new(),
            done: Vec::new(),
            arrived: 0,
            left_out: 0,
            says_from: false,
            is_distinct: false,
            unknown: Vec::new(),
        }
    }

    /// Nobody writes a value twice to a variable, nor its initial one: what is seen of it is refused.
    pub fn promise_distinct(&mut self) {
        self.is_distinct = true;
    }

    /// Adds an operation; `initial` has the initial values of all variables so far. A window that
    /// is full has to [`slide`](Window::slide) before.
    pub fn add(&mut self, op: LoggedOp, initial: &[Value]) {
        if op.kind != OpKind::Fence {
            self.note_initial(op, initial);
        }
        self.says_from |= matches!(op.from, Some(SaidFrom::Op(..)));
        let thread = op.thread as usize;
        if self.done.len() <= thread {
            self.done.resize(thread + 1, 0);
        }
        let index = self.done[thread];
        self.done[thread] += 1;
        self.arrived += 1;
        self.ops.push(Kept { op, index });
    }

    /// Notes whether the initial value is written: then it is not clear what a read of it reads.
    fn note_initial(&mut self, op: LoggedOp, initial: &[Value]) {
        let of = |x: usize| initial.get(x).copied().unwrap_or(0);
        while self.vars.len() <= op.var as usize {
            self.vars.push(Var {
                initial: of(self.vars.len()),
                initial_written: false,
                old: VecDeque::new(),
                forgotten: Vec::new(),
            });
        }
        let var = &mut self.vars[op.var as usize];
        var.initial_written |= op.writes() && op.value == var.initial;
    }

    /// Whether no further operation has a place.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.ops.len() >= self.size
    }

    /// The initial value of a variable.
    pub(crate) fn initial(&self, var: u32) -> Value {
        self.vars.get(var as usize).map_or(0, |var| var.initial)
    }

    /// Those of all variables.
    pub(crate) fn initials(&self) -> Vec<Value> {
        self.vars.iter().map(|var| var.initial).collect()
    }

    /// How many operations have arrived.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// How many operations a window has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many reads are left out, or were when they left the window, because it was not known which
    /// writes they read.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out + self.unknown.len() as u64
    }

    /// Whether all operations so far are in the window.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.arrived == self.ops.len() as u64
    }

    /// The bytes that are taken.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let kept = self.ops.capacity() + self.vars.iter().map(|v| v.old.capacity()).sum::<usize>();
        kept * size_of::<Kept>()
            + self.vars.capacity() * size_of::<Var>()
            + self.done.capacity() * size_of::<u64>()
            + self.unknown.capacity() * size_of::<u32>()
    }

    /// Lets the older half go; its writes are remembered. To be called when an
    /// [`excerpt`](Window::excerpt) was made of the full window.
    pub fn slide(&mut self) {
        let gone = self.ops.len().div_ceil(2);
        self.left_out += self.unknown.partition_point(|&op| (op as usize) < gone) as u64;
        self.unknown.clear();
        let most = (self.size / self.vars.len().max(1)).max(LEAST);
        for kept in self.ops.drain(..gone).filter(|kept| kept.op.writes()) {
            let var = &mut self.vars[kept.op.var as usize];
            while var.old.len() >= most {
                if let Some(gone) = var.old.pop_front() {
                    var.forget(gone.op);
                }
            }
            var.old.shrink_to(2 * most);
            var.old.push_back(kept);
        }
    }

    /// The part of the window that can be checked. At the end of the input every read whose write
    /// cannot have been forgotten has to have one.
    ///
    /// # Errors
    /// When a read cannot have read what it says.
    pub fn excerpt(&mut self, at_end: bool) -> Result<Excerpt, Refused> {
        // Window and remembered writes are numbered one after the other.
        let old: Vec<&Kept> = self.vars.iter().flat_map(|var| &var.old).collect();
        let mut open = Vec::new();
        let sources = self.sources(&old, at_end, &mut open)?;
        let mut is_read = vec![false; old.len()];
        for &from in &sources {
            if let Some(old) = (from as usize).checked_sub(self.ops.len())
                && let Some(is_read) = is_read.get_mut(old)
            {
                *is_read = true;
            }
        }
        let mut needed: Vec<u32> = (0..old.len() as u32).filter(|&i| is_read[i as usize]).collect();
        needed.sort_by_key(|&i| old[i as usize].index);
        let excerpt = build((&self.ops, &sources), &old, &needed, open);
        let unknown = sources.iter().enumerate().filter(|&(_, &from)| from == UNKNOWN);
        self.unknown.clear();
        self.unknown.extend(unknown.map(|(op, _)| op as u32));
        Ok(excerpt)
    }

    /// What each operation of the window reads, [`INITIAL`] for those that do not read. If all of the history
    /// is there, reads of values that were written more than once are put into `open`.
    fn sources(
        &self,
        old: &[&Kept],
        at_end: bool,
        open: &mut Vec<(u32, Vec<u32>)>,
    ) -> Result<Vec<u32>, Refused> {
        let known = || old.iter().copied().chain(&self.ops);
        let mut table = WriteTable::with_room_for(known().filter(|k| k.op.writes()).count());
        let numbers = (self.ops.len()..self.ops.len() + old.len()).chain(0..self.ops.len());
        for (kept, number) in known().zip(numbers).filter(|(kept, _)| kept.op.writes()) {
            let is_new = table.insert(kept.op.var, kept.op.value, number as u32);
            let is_initial = kept.op.value == self.vars[kept.op.var as usize].initial;
            if self.is_distinct && (!is_new || is_initial) {
                return Err(Refused { op: kept.op, why: RefusedWhy::WrittenTwice });
            }
        }
        let by_place = if self.says_from { self.positions() } else { Vec::new() };
        let mut ways = 1;
        let mut sources = Vec::with_capacity(self.ops.len());
        for (number, &Kept { op, .. }) in self.ops.iter().enumerate() {
            let Some(value) = op.read() else {
                sources.push(INITIAL);
                continue;
            };
            let refused = |why| Refused { op, why };
            let var = &self.vars[op.var as usize];
            let from = match op.from {
                Some(SaidFrom::Initial) if value == var.initial => INITIAL,
                Some(SaidFrom::Initial) => {
                    return Err(refused(RefusedWhy::InitialDiffers(var.initial)));
                }
                Some(SaidFrom::Op(t, i)) => self.said(&by_place, old, op, t, i).map_err(refused)?,
                None if value == var.initial && !var.initial_written => INITIAL,
                None => match table.find(op.var, value) {
                    Written::Never if value != var.initial => UNKNOWN,
                    Written::Once(from)
                        if value != var.initial
                            && (self.is_distinct || !var.may_have_forgotten(value)) =>
                    {
                        from
                    }
                    _ => {
                        sources.push(self.undecided(number, at_end, &mut ways, open));
                        continue;
                    }
                },
            };
            // An update that writes what it has read reads another write, which has to come yet.
            let from = match from as usize == number {
                true if op.from.is_some() => return Err(refused(RefusedWhy::ReadsItself)),
                true => UNKNOWN,
                false => from,
            };
            if at_end && from == UNKNOWN && var.forgotten.is_empty() {
                return Err(refused(RefusedWhy::WrittenByNobody));
            }
            sources.push(from);
        }
        Ok(sources)
    }

    /// The first that a read of a repeated value may have read, if all are known and not too many.
    fn undecided(
        &self,
        number: usize,
        at_end: bool,
        ways: &mut usize,
        open: &mut Vec<(u32, Vec<u32>)>,
    ) -> u32 {
        if !at_end || !self.is_whole() || *ways > History::MOST_WAYS {
            return UNKNOWN;
        }
        let op = self.ops[number].op;
        let is_it = |(other, kept): &(usize, &Kept)| {
            let same = kept.op.writes() && kept.op.var == op.var;
            *other != number && same && Some(kept.op.value) == op.read()
        };
        let writes = self.ops.iter().enumerate().filter(is_it).map(|(other, _)| other as u32);
        let is_initial = op.read() == Some(self.vars[op.var as usize].initial);
        let all: Vec<u32> = is_initial.then_some(INITIAL).into_iter().chain(writes).collect();
        *ways = ways.saturating_mul(all.len());
        match all.first() {
            Some(&first) if *ways <= History::MOST_WAYS => {
                open.push((number as u32, all));
                first
            }
            _ => UNKNOWN,
        }
    }

    /// Per thread where its operations are in the window.
    fn positions(&self) -> Vec<Vec<u32>> {
        let mut positions = vec![Vec::new(); self.done.len()];
        for (number, kept) in self.ops.iter().enumerate() {
            positions[kept.op.thread as usize].push(number as u32);
        }
        positions
    }

    /// The operation that a read says it reads.
    fn said(
        &self,
        by_place: &[Vec<u32>],
        old: &[&Kept],
        op: LoggedOp,
        thread: u32,
        index: u32,
    ) -> Result<u32, RefusedWhy> {
        let fits = |kept: &Kept| {
            kept.op.writes() && kept.op.var == op.var && Some(kept.op.value) == op.read()
        };
        let here = by_place.get(thread as usize).map(Vec::as_slice).unwrap_or_default();
        if let Some(&first) = here.first()
            && let Some(nth) = u64::from(index).checked_sub(self.ops[first as usize].index)
        {
            return match here.get(nth as usize) {
                None => Ok(UNKNOWN),
                Some(&number) if fits(&self.ops[number as usize]) => Ok(number),
                Some(_) => Err(RefusedWhy::SaidWrong(thread, index)),
            };
        }
        let is_it = |kept: &Kept| kept.op.thread == thread && kept.index == u64::from(index);
        match old.iter().position(|kept| is_it(kept)) {
            None => Ok(UNKNOWN),
            Some(at) if fits(old[at]) => Ok((self.ops.len() + at) as u32),
            Some(_) => Err(RefusedWhy::SaidWrong(thread, index)),
        }
    }
}

/// The excerpt of a window and of these older writes.
fn build(
    (window, sources): (&[Kept], &[u32]),
    old: &[&Kept],
    needed: &[u32],
    open: Vec<(u32, Vec<u32>)>,
) -> Excerpt {
    // What each operation becomes: nothing, itself, or a write between two fences.
    let parts = |number: usize| match (window.get(number), sources.get(number)) {
        (Some(kept), Some(&UNKNOWN)) => {
            if kept.op.writes() {
                3
            } else {
                0
            }
        }
        (Some(_), _) => 1,
        (None, _) if old[number - window.len()].op.kind == OpKind::Update => 3,
        (None, _) => 1,
    };
    let kept = |number: usize| window.get(number).unwrap_or_else(|| old[number - window.len()]);
    // Older writes come first in their threads.
    let numbers = || needed.iter().map(|&i| window.len() + i as usize).chain(0..window.len());
    let (mut threads, mut vars) = (Renumbered::default(), Renumbered::default());
    let mut starts: Vec<u32> = Vec::new();
    for number in numbers() {
        let parts = parts(number);
        if parts > 0 {
            let thread = threads.number(kept(number).op.thread) as usize;
            starts.resize(starts.len().max(thread + 1), 0);
            starts[thread] += parts;
        }
    }
    let mut next = 0;
    for start in &mut starts {
        (*start, next) = (next, next + *start);
    }
    let mut ends = starts.clone();
    let mut at = vec![0; window.len() + old.len()];
    let mut order = vec![(0u32, OpKind::Fence); next as usize];
    for number in numbers() {
        let op = &kept(number).op;
        let parts = parts(number);
        if parts > 0 {
            let end = &mut ends[threads.number(op.thread) as usize];
            at[number] = *end + parts / 2;
            for part in *end..*end + parts {
                let kind = match (parts, part == at[number]) {
                    (1, _) => op.kind,
                    (_, true) => OpKind::Write,
                    (_, false) => OpKind::Fence,
                };
                order[part as usize] = (number as u32, kind);
            }
            *end += parts;
        }
    }
    let mut excerpt = Excerpt {
        ops: History::new(),
        threads: threads.old,
        vars: Vec::new(),
        values: Vec::with_capacity(order.len()),
        indices: Vec::with_capacity(order.len()),
        lines: Vec::with_capacity(order.len()),
        open,
        said: Vec::with_capacity(order.len()),
    };
    for (read, writes) in &mut excerpt.open {
        *read = at[*read as usize];
        writes.iter_mut().filter(|w| **w != INITIAL).for_each(|w| *w = at[*w as usize]);
    }
    let mut times = Vec::with_capacity(order.len());
    for (&start, &end) in starts.iter().zip(&ends) {
        excerpt.ops.thread();
        for part in start..end {
            let (number, kind) = order[part as usize];
            let Kept { op, index } = kept(number as usize);
            let is_fence = kind == OpKind::Fence;
            let var = if is_fence { 0 } else { vars.number(op.var) };
            let from = match sources.get(number as usize) {
                Some(&from) if from < UNKNOWN => at[from as usize],
                _ => INITIAL,
            };
            excerpt.ops.push(kind, var, from);
            excerpt.values.push(if is_fence { 0 } else { op.value });
            excerpt.indices.push(*index);
            excerpt.lines.push(op.line);
            excerpt.said.push(op.from.is_some());
            // A cut update begins with the first of its fences, and ends with the last.
            times.push(match (parts(number as usize), part.cmp(&at[number as usize])) {
                (1, _) => op.times,
                (_, Ordering::Less) => Times { start: op.times.start, ..Times::UNKNOWN },
                (_, Ordering::Equal) => Times::UNKNOWN,
                (_, Ordering::Greater) => Times { end: op.times.end, ..Times::UNKNOWN },
            });
        }
    }
    excerpt.ops.set_times(times);
    excerpt.vars = vars.old;
    excerpt
}

/// Numbers without gaps, in the order in which they are asked for.
#[derive(Default)]
struct Renumbered {
    /// Plus one.
    new: Vec<u32>,
    old: Vec<u32>,
}

impl Renumbered {
    fn number(&mut self, old: u32) -> u32 {
        let at = old as usize;
        if self.new.len() <= at {
            self.new.resize(at + 1, 0);
        }
        if self.new[at] == 0 {
            self.old.push(old);
            self.new[at] = self.old.len() as u32;
        }
        self.new[at] - 1
    }
}

impl Excerpt {
    /// The names and values of the excerpt, of those of the log.
    #[must_use]
    pub fn names(&self, log: &OpNames) -> OpNames {
        let name = |names: &[String], i: u32| names.get(i as usize).cloned().unwrap_or_default();
        let initial = |&x: &u32| log.initial.get(x as usize).copied().unwrap_or(0);
        OpNames {
            threads: self.threads.iter().map(|&t| name(&log.threads, t)).collect(),
            vars: self.vars.iter().map(|&x| name(&log.vars, x)).collect(),
            initial: self.vars.iter().map(initial).collect(),
            values: self.values.clone(),
        }
    }
}

impl Refused {
    /// What is wrong, in words.
    #[must_use]
    pub fn message(&self, names: &OpNames) -> String {
        let var = names.vars.get(self.op.var as usize).map_or("", String::as_str);
        // Numbers stand in brackets, not to be taken for values.
        let bracketed = var.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("[{var}]"));
        let var = bracketed.as_deref().unwrap_or(var);
        let value = self.op.read().unwrap_or(self.op.value);
        match self.why {
            RefusedWhy::WrittenByNobody => format!("nobody wrote {value} to `{var}`"),
            RefusedWhy::InitialDiffers(initial) => {
                format!("the initial value of `{var}` is {initial}, not {value}")
            }
            RefusedWhy::SaidWrong(thread, index) => {
                let thread = names.threads.get(thread as usize).map_or("", String::as_str);
                format!("operation {index} of `{thread}` does not write {value} to `{var}`")
            }
            RefusedWhy::NoTimes => {
                "no operation says when it began or ended, which `lin` and `tso-rt` are about"
                    .to_owned()
            }
            RefusedWhy::WrittenTwice => format!(
                "{} was written to `{var}` before, or is its initial value: `--distinct-values` does not hold",
                self.op.value
            ),
            RefusedWhy::ReadsItself => "an update that reads what it writes itself".to_owned(),
        }
    }
}
