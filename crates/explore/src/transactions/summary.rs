//! A finite summary of the conflict graph of an execution: enough to say whether any continuation
//! closes a cycle.
//!
//! Only a transaction that is *active*, which is open or has a store in the buffer, gets new edges
//! to it. So a cycle is closed by an event of an active transaction that conflicts with an earlier
//! event, and that one is reached already from the transaction. Per earlier event that a later one
//! may conflict with, it is enough to know which active transactions reach it (Farzan and Madhusudan,
//! "Monitoring atomicity in concurrent programs", CAV 2008, do so for SC). Of these events those
//! suffice that `crates/serial/src/online.rs` keeps, for the same reasons: per variable the last
//! commit and the last reads, per thread the last read, write, commit and the reads of the buffer,
//! and per pending store what its readers saw. Under SC, where all of program order counts, it is the
//! last event of each thread, and per variable the last write and the reads since then.
//!
//! Active transactions are numbered by the thread that has them open and the place in its buffer, so
//! that equal futures look equal. Their number is finite, and so are the summaries, if buffers are.

use weakspot_core::serial::{BufferedReads, Conflicts};
use weakspot_core::{Part, TxnKind};

/// Active transactions, as bits.
type Set = u128;

/// At most so many transactions are active at a time.
pub(super) const MOST: usize = 128;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Happening {
    pub(super) thread: u32,
    pub(super) kind: TxnKind,
    pub(super) var: u32,
    /// To which transaction it belongs, if it is no commit.
    pub(super) part: Part,
    /// Nothing will follow in the transaction of the thread.
    pub(super) ends: bool,
    /// The thread will do nothing any more, but for commits.
    pub(super) last: bool,
}

/// What an event may come after: which active transaction one of these events belongs to, and which
/// other ones reach one of these events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Touch {
    own: Set,
    from: Set,
}

impl Touch {
    fn add(&mut self, other: Touch) {
        self.own |= other.own;
        self.from |= other.from;
    }

    fn is_empty(self) -> bool {
        self.own | self.from == 0
    }
}

/// The summary.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    /// What conflicts. Under SC all of program order counts, and stores are in memory at once.
    relation: Conflicts,
    /// Per active transaction those that reach it.
    active: Vec<Set>,
    threads: Vec<Thread>,
    /// The state of each variable.
    vars: Vec<(u32, Var)>,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// The open transaction.
    txn: Option<usize>,
    /// What reads come after; under SC, what everything comes after.
    read: Touch,
    /// What writes come after, besides `read` and `loose`.
    write: Touch,
    /// What commits come after.
    commit: Touch,
    /// Reads of the buffer since the last write.
    loose: Touch,
    /// Per variable the last access since the last fence, and whether a read is one of the buffer:
    /// there was a write, and if the reading is exact, no other thread's value is in memory.
    own: Vec<(u32, Touch, bool)>,
    pending: Vec<Pending>,
}

/// A store in the buffer.
#[derive(Clone, Copy, Debug)]
struct Pending {
    var: u32,
    txn: usize,
    /// The last commit of another thread when it was issued.
    before: Touch,
    /// The last read of it.
    read: Touch,
}

/// A variable in memory.
#[derive(Clone, Debug, Default)]
struct Var {
    /// The last commit, by which thread, and the last one of another thread.
    commit: Touch,
    by: u32,
    other: Touch,
    /// The last read of each thread since the last commit of another.
    reads: Vec<(u32, Touch)>,
}

impl Var {
    fn commit_by_others(&self, thread: u32) -> Touch {
        if self.by == thread { self.other } else { self.commit }
    }

    fn is_empty(&self) -> bool {
        self.commit.is_empty() && self.other.is_empty() && self.reads.is_empty()
    }
}

/// There would be more active transactions than fit.
#[derive(Debug)]
pub(super) struct TooMany;

impl Summary {
    pub(super) fn new(threads: usize, relation: Conflicts) -> Summary {
        Summary {
            relation,
            active: Vec::new(),
            threads: vec![Thread::default(); threads],
            vars: Vec::new(),
        }
    }

    /// Follows an event. False if it closes a cycle.
    pub(super) fn follow(&mut self, event: Happening) -> Result<bool, TooMany> {
        let t = event.thread as usize;
        let txn = match (event.kind, event.part, self.threads[t].txn) {
            (TxnKind::Commit, ..) => self.threads[t].pending.first().map_or(0, |p| p.txn),
            (_, Part::Same, Some(txn)) => txn,
            _ => {
                if self.active.len() == MOST {
                    return Err(TooMany);
                }
                self.active.push(0);
                self.threads[t].txn = Some(self.active.len() - 1);
                self.active.len() - 1
            }
        };
        let fine = match event.kind {
            _ if self.relation == Conflicts::Sc => self.follow_sc(event, txn),
            TxnKind::Read => self.read(event, txn),
            TxnKind::Write => self.write(event, txn),
            TxnKind::Commit => self.commit(event, txn),
            TxnKind::Update | TxnKind::Fence => self.drain(event, txn),
        };
        if event.ends {
            self.threads[t].txn = None;
        }
        if event.last {
            let pending = std::mem::take(&mut self.threads[t].pending);
            let commit = if pending.is_empty() { Touch::default() } else { self.threads[t].commit };
            self.threads[t] = Thread { pending, commit, ..Thread::default() };
        }
        self.tidy();
        Ok(fine)
    }

    /// Everything comes after what the thread did before.
    fn follow_sc(&mut self, event: Happening, txn: usize) -> bool {
        let t = event.thread as usize;
        let mut fine = self.link(self.threads[t].read, txn);
        let writes = matches!(event.kind, TxnKind::Write | TxnKind::Update);
        if event.kind.is_access() {
            let at = self.var(event.var);
            let before = self.vars[at].1.commit;
            fine &= self.link(before, txn);
            if writes {
                for (_, read) in std::mem::take(&mut self.vars[at].1.reads) {
                    fine &= self.link(read, txn);
                }
                self.vars[at].1.commit = self.touch(txn);
            } else {
                let touch = self.touch(txn);
                let reads = &mut self.vars[at].1.reads;
                match reads.first_mut() {
                    Some((_, read)) => read.add(touch),
                    None => reads.push((0, touch)),
                }
            }
        }
        self.threads[t].read = self.touch(txn);
        fine
    }

    fn read(&mut self, event: Happening, txn: usize) -> bool {
        let t = event.thread as usize;
        let at = self.var(event.var);
        let state = &self.threads[t];
        let near = state.own.iter().position(|own| own.0 == event.var);
        let (after, buffered) = near.map_or((Touch::default(), false), |at| {
            let (_, last, wrote) = state.own[at];
            (last, wrote)
        });
        let pending = state.pending.iter().rposition(|p| p.var == event.var);
        let before = match pending {
            Some(p) => state.pending[p].before,
            None => self.vars[at].1.commit_by_others(event.thread),
        };
        let mut fine = self.link(self.threads[t].read, txn);
        fine &= self.link(after, txn);
        fine &= self.link(before, txn);
        let touch = self.touch(txn);
        let state = &mut self.threads[t];
        match near {
            Some(at) => state.own[at].1 = touch,
            None => state.own.push((event.var, touch, false)),
        }
        if buffered {
            state.loose.add(touch);
        } else {
            state.read = touch;
        }
        match pending {
            Some(p) => state.pending[p].read = touch,
            None => note_read(&mut self.vars[at].1.reads, event.thread, touch),
        }
        fine
    }

    fn write(&mut self, event: Happening, txn: usize) -> bool {
        let t = event.thread as usize;
        let Thread { read, write, loose, .. } = self.threads[t];
        let mut fine = true;
        for before in [read, write, loose] {
            fine &= self.link(before, txn);
        }
        let at = self.var(event.var);
        let before = self.vars[at].1.commit_by_others(event.thread);
        let touch = self.touch(txn);
        let state = &mut self.threads[t];
        state.own.retain(|own| own.0 != event.var);
        state.own.push((event.var, touch, true));
        state.write = touch;
        state.loose = Touch::default();
        state.pending.push(Pending { var: event.var, txn, before, read: Touch::default() });
        fine
    }

    fn commit(&mut self, event: Happening, txn: usize) -> bool {
        let t = event.thread as usize;
        let mut fine = self.link(self.threads[t].commit, txn);
        fine &= self.store(event, txn);
        self.threads[t].commit = self.touch(txn);
        if !self.threads[t].pending.is_empty() {
            let pending = self.threads[t].pending.remove(0);
            if !pending.read.is_empty() {
                let at = self.var(event.var);
                note_read(&mut self.vars[at].1.reads, event.thread, pending.read);
            }
        }
        fine
    }

    /// A store reaches memory.
    fn store(&mut self, event: Happening, txn: usize) -> bool {
        let at = self.var(event.var);
        let mut fine = self.link(self.vars[at].1.commit_by_others(event.thread), txn);
        let reads = self.vars[at].1.reads.clone();
        for (_, read) in reads.into_iter().filter(|read| read.0 != event.thread) {
            fine &= self.link(read, txn);
        }
        if self.relation == Conflicts::Tso(BufferedReads::Exact) {
            self.overwrite(event);
        }
        let touch = self.touch(txn);
        let var = &mut self.vars[at].1;
        var.reads.retain(|read| read.0 == event.thread);
        if var.by != event.thread {
            var.other = var.commit;
        }
        (var.commit, var.by) = (touch, event.thread);
        fine
    }

    /// Reads of this variable by other threads are not of their buffers any more, unless their own
    /// stores are still there.
    fn overwrite(&mut self, event: Happening) {
        for (t, thread) in self.threads.iter_mut().enumerate() {
            let is_pending = thread.pending.iter().any(|pending| pending.var == event.var);
            if t == event.thread as usize || is_pending {
                continue;
            }
            if let Some(own) = thread.own.iter_mut().find(|own| own.0 == event.var) {
                own.2 = false;
            }
        }
    }

    /// A fence or an update.
    fn drain(&mut self, event: Happening, txn: usize) -> bool {
        let t = event.thread as usize;
        let Thread { read, write, commit, loose, .. } = self.threads[t];
        let mut fine = true;
        for before in [read, write, commit, loose] {
            fine &= self.link(before, txn);
        }
        if event.kind == TxnKind::Update {
            fine &= self.store(event, txn);
        }
        let touch = self.touch(txn);
        let state = &mut self.threads[t];
        (state.read, state.write, state.commit) = (touch, touch, touch);
        state.loose = Touch::default();
        state.own.clear();
        fine
    }

    /// An event of the transaction, as later ones see it.
    fn touch(&self, txn: usize) -> Touch {
        Touch { own: 1 << txn, from: self.active[txn] }
    }

    /// The transaction comes after these events. False if it was before one of them.
    fn link(&mut self, before: Touch, txn: usize) -> bool {
        let bit: Set = 1 << txn;
        let new = (before.own | before.from) & !bit & !self.active[txn];
        if before.from & bit != 0 {
            return false;
        }
        if new != 0 {
            // What reaches the transaction reaches all that it leads to.
            self.active[txn] |= new;
            for reached in &mut self.active {
                if *reached & bit != 0 {
                    *reached |= new;
                }
            }
            self.each_touch(&mut |touch| {
                if (touch.own | touch.from) & bit != 0 {
                    touch.from |= new;
                }
            });
        }
        true
    }

    fn var(&mut self, var: u32) -> usize {
        match self.vars.binary_search_by_key(&var, |v| v.0) {
            Ok(at) => at,
            Err(at) => {
                self.vars.insert(at, (var, Var::default()));
                at
            }
        }
    }

    fn each_touch(&mut self, each: &mut dyn FnMut(&mut Touch)) {
        for thread in &mut self.threads {
            each(&mut thread.read);
            each(&mut thread.write);
            each(&mut thread.commit);
            each(&mut thread.loose);
            thread.own.iter_mut().for_each(|own| each(&mut own.1));
            for pending in &mut thread.pending {
                each(&mut pending.before);
                each(&mut pending.read);
            }
        }
        for (_, var) in &mut self.vars {
            each(&mut var.commit);
            each(&mut var.other);
            var.reads.iter_mut().for_each(|read| each(&mut read.1));
        }
    }

    /// Forgets transactions that are not active any more, and numbers the others anew.
    fn tidy(&mut self) {
        let mut order: Vec<usize> = Vec::with_capacity(self.active.len());
        for thread in &self.threads {
            for txn in thread.txn.into_iter().chain(thread.pending.iter().map(|p| p.txn)) {
                if !order.contains(&txn) {
                    order.push(txn);
                }
            }
        }
        let renamed = |set: Set| -> Set {
            let bits = order.iter().enumerate();
            bits.filter(|(_, old)| set & (1 << **old) != 0).fold(0, |all, (new, _)| all | 1 << new)
        };
        if order.len() != self.active.len() || order.iter().enumerate().any(|(i, &old)| i != old) {
            self.each_touch(&mut |touch| {
                touch.own = renamed(touch.own);
                touch.from = renamed(touch.from);
            });
            self.active = order.iter().map(|&old| renamed(self.active[old])).collect();
            let new = |old: usize| order.iter().position(|&o| o == old).unwrap_or(0);
            for thread in &mut self.threads {
                thread.txn = thread.txn.map(new);
                thread.pending.iter_mut().for_each(|p| p.txn = new(p.txn));
            }
        }
        for thread in &mut self.threads {
            thread.own.retain(|own| own.2 || !own.1.is_empty());
            thread.own.sort_unstable_by_key(|own| own.0);
        }
        for (_, var) in &mut self.vars {
            var.reads.retain(|read| !read.1.is_empty());
            var.reads.sort_unstable_by_key(|read| read.0);
            if var.commit.is_empty() {
                // `other` reaches no further than `commit`.
                var.by = 0;
            }
        }
        self.vars.retain(|(_, var)| !var.is_empty());
    }

    /// The summary as bytes.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        push(out, self.active.len() as u128);
        self.active.iter().for_each(|&set| push(out, set));
        for thread in &self.threads {
            push(out, thread.txn.map_or(0, |txn| txn as u128 + 1));
            push_touch(out, thread.read);
            if self.relation == Conflicts::Sc {
                continue;
            }
            push_touch(out, thread.write);
            push_touch(out, thread.commit);
            push_touch(out, thread.loose);
            push(out, thread.own.len() as u128);
            for &(var, touch, wrote) in &thread.own {
                push(out, u128::from(var) * 2 + u128::from(wrote));
                push_touch(out, touch);
            }
            push(out, thread.pending.len() as u128);
            for pending in &thread.pending {
                push(out, u128::from(pending.var));
                push(out, pending.txn as u128);
                push_touch(out, pending.before);
                push_touch(out, pending.read);
            }
        }
        for (at, var) in &self.vars {
            push(out, u128::from(*at));
            push_touch(out, var.commit);
            push(out, u128::from(var.by));
            push_touch(out, var.other);
            push(out, var.reads.len() as u128);
            for &(thread, touch) in &var.reads {
                push(out, u128::from(thread));
                push_touch(out, touch);
            }
        }
    }

    /// The summary that these bytes are.
    pub(super) fn decode(threads: usize, relation: Conflicts, bytes: &[u8]) -> Summary {
        let mut from = bytes;
        let mut summary = Summary::new(threads, relation);
        let active = pull(&mut from) as usize;
        summary.active = (0..active).map(|_| pull(&mut from)).collect();
        for thread in &mut summary.threads {
            thread.txn = (pull(&mut from) as usize).checked_sub(1);
            thread.read = pull_touch(&mut from);
            if relation == Conflicts::Sc {
                continue;
            }
            thread.write = pull_touch(&mut from);
            thread.commit = pull_touch(&mut from);
            thread.loose = pull_touch(&mut from);
            for _ in 0..pull(&mut from) {
                let var = pull(&mut from);
                thread.own.push(((var / 2) as u32, pull_touch(&mut from), var % 2 == 1));
            }
            for _ in 0..pull(&mut from) {
                thread.pending.push(Pending {
                    var: pull(&mut from) as u32,
                    txn: pull(&mut from) as usize,
                    before: pull_touch(&mut from),
                    read: pull_touch(&mut from),
                });
            }
        }
        while !from.is_empty() {
            let at = pull(&mut from) as u32;
            let mut var = Var {
                commit: pull_touch(&mut from),
                by: pull(&mut from) as u32,
                other: pull_touch(&mut from),
                reads: Vec::new(),
            };
            for _ in 0..pull(&mut from) {
                var.reads.push((pull(&mut from) as u32, pull_touch(&mut from)));
            }
            summary.vars.push((at, var));
        }
        summary
    }
}

fn note_read(reads: &mut Vec<(u32, Touch)>, thread: u32, touch: Touch) {
    match reads.iter_mut().find(|(other, _)| *other == thread) {
        Some((_, read)) => *read = touch,
        None => reads.push((thread, touch)),
    }
}

/// A number, seven bits per byte.
fn push(out: &mut Vec<u8>, mut number: u128) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

fn push_touch(out: &mut Vec<u8>, touch: Touch) {
    push(out, touch.own);
    push(out, touch.from);
}

fn pull(from: &mut &[u8]) -> u128 {
    let (mut number, mut shift) = (0, 0);
    while let Some((&byte, rest)) = from.split_first() {
        *from = rest;
        number |= u128::from(byte & 127) << shift;
        shift += 7;
        if byte < 128 {
            break;
        }
    }
    number
}

fn pull_touch(from: &mut &[u8]) -> Touch {
    Touch { own: pull(from), from: pull(from) }
}
