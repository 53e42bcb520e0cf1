//! Data races, by the rules of C11 and Rust: two accesses to the same byte by different threads, one of
//! them a store, one of them not atomic, and neither happens before the other.
//!
//! Happens-before is program order, and what synchronises: starting and joining threads, locks,
//! barriers, and atomic loads with the release sequences that their values belong to. Each thread has
//! a vector clock; what it knows is published along with bytes (`races/cells.rs`) and learnt by who
//! reads them. That is the detector of Flanagan and Freund (FastTrack, 2009) with two differences. A
//! byte remembers the last access of *each* thread by *each* instruction, not only the last ones: so
//! exactly those pairs of instructions are found that race in the execution, and these are the same
//! in all executions of its class, because conflicting accesses have the same order in all of them.
//! And a time of a thread is not an access but what lies between two releases. Additions whose order nobody can tell
//! ([`OpKind::Add`]) are in no order in a class, so that they do not learn from each other.
//!
//! `volatile` accesses and those in assembly are what code from before C11 uses for atomics: they
//! are no races, and they release and acquire.
//!
//! In executions of SC each read sees the latest store. With store buffers, a store is an access when it is issued, and is there to
//! be learnt from by others once it has left its buffer; a thread that reads its own from there learns nothing. Cost: an access looks at those
//! that its eight bytes remember, at most one for each thread and instruction; an acquire or release
//! takes time in the number of threads.

mod cells;
mod clock;
mod counts;
mod waiting;

use rustc_hash::FxHashMap;

use crate::step::{Order, Step};
use crate::{Op, OpKind};

use self::cells::{Access, Cell, Cells, From, Turn, words};
use self::clock::Clock;
use self::counts::{Change, Counts};
use self::waiting::Buffers;

/// Which accesses go on with a release sequence, besides atomic updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Atomic stores of the thread that heads it, as C11 has it.
    C11,
    /// None: C++20, and Rust.
    Rust,
}

/// What a step does to happens-before, besides what its kind and order say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// No more than those say.
    Usual,
    /// Nothing: a wait that promises no order.
    Nothing,
    /// Nothing, but the object has to be there: an attempt that failed, a signal.
    Use,
    /// The access is `volatile` or in assembly.
    Volatile,
    /// The bytes are freed: others get that as a store.
    Free,
    /// A lock, or something like it, is taken or freed, and has to be there.
    Lock,
    /// A lock is taken or freed by one of its readers, who do not wait for each other.
    Reader,
    /// A thread arrives at a barrier; the last one lets all of them go.
    Arrival {
        /// Whether it is the last one.
        last: bool,
    },
    /// A reference is counted, and it is not the last one that is dropped.
    Count {
        /// How many there were.
        before: u64,
        /// Whether a reference is taken, not dropped.
        taken: bool,
    },
}

/// What an access is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// To read or write.
    Accesses,
    /// To free the bytes.
    Frees,
    /// To use a lock or something else that threads wait by.
    Uses,
}

/// One of two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Racer {
    /// Who.
    pub thread: u16,
    /// The program address.
    pub at: u64,
    /// Whether it stores.
    pub write: bool,
    /// Whether it is atomic.
    pub atomic: bool,
    /// What it does.
    pub what: What,
    /// How many bytes it is about.
    pub len: u32,
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The one that came first in this execution.
    pub first: Racer,
    /// The other.
    pub second: Racer,
}

/// Watches executions for data races.
#[derive(Debug)]
pub struct Races {
    rules: Rules,
    threads: Vec<Thread>,
    cells: Cells,
    /// Who has arrived at which barrier.
    arrived: FxHashMap<u64, Vec<u16>>,
    /// Accesses to many bytes at once, which are not split into cells: where, and how many.
    large: Vec<(u64, Access)>,
    counts: Counts,
    /// Stores that wait in buffers, if there are any.
    buffers: Buffers,
    found: Found,
    volatile: Option<u64>,
}

/// The races that were found.
#[derive(Debug, Default)]
struct Found {
    /// Pairs of instructions, and the last execution in which each raced.
    pairs: FxHashMap<(u64, u64), u64>,
    execution: u64,
    /// What the execution shows and nobody has taken yet.
    list: Vec<Race>,
}

/// Accesses to more bytes than this are large.
const LARGE: u32 = 256;

/// What a thread knows.
#[derive(Debug, Default)]
struct Thread {
    /// What happened before its next step.
    clock: Clock,
    /// What had happened before its last release fence.
    fenced: Clock,
    /// What it has read without acquiring it; an acquire fence does that.
    read: Clock,
}

impl Races {
    /// Watches by these rules.
    #[must_use]
    pub fn new(rules: Rules) -> Races {
        Races {
            rules,
            threads: Vec::new(),
            cells: Cells::default(),
            arrived: FxHashMap::default(),
            large: Vec::new(),
            counts: Counts::default(),
            buffers: Buffers::default(),
            found: Found::default(),
            volatile: None,
        }
    }

    /// An execution begins.
    pub fn begin(&mut self) {
        for thread in &mut self.threads {
            thread.clock.clear();
            thread.fenced.clear();
            thread.read.clear();
        }
        self.cells.clear();
        self.arrived.clear();
        self.large.clear();
        self.counts.clear();
        self.buffers.clear();
        self.found.list.clear();
        self.found.execution += 1;
    }

    /// The program address of a `volatile` access, if there was any.
    #[must_use]
    pub fn volatile(&self) -> Option<u64> {
        self.volatile
    }

    /// Whether the execution has counts of references of which it is not certain that every order tells the same one to be
    /// the last.
    #[must_use]
    pub fn doubts_counts(&self) -> bool {
        self.counts.are_doubtful()
    }

    /// A race that the execution shows: each pair of instructions once.
    pub fn take(&mut self) -> Option<Race> {
        self.found.list.pop()
    }

    /// These bytes are new: nothing that was done there before has to do with what will be.
    pub fn forget(&mut self, addr: u64, len: u32) {
        self.cells.forget(addr, len);
        let end = addr.saturating_add(len.into());
        self.large.retain(|(from, old)| *from >= end || addr >= from + u64::from(old.len));
    }

    /// A thread took a step.
    pub fn step(&mut self, step: &Step, sync: Sync) {
        let t = usize::from(step.thread);
        self.meet(t);
        let Step { op: Op { kind, addr, .. }, order, .. } = *step;
        let order = if sync == Sync::Volatile { Order::SeqCst } else { order };
        let other = (addr & 0xffff) as usize;
        if !self.counts.is_empty() && step.op.writes() && kind != OpKind::Add {
            self.counts.set_order(addr);
        }
        match (kind, sync) {
            (_, Sync::Nothing) => {}
            (_, Sync::Use) => self.use_object(step),
            (_, Sync::Arrival { last }) => {
                self.use_object(step);
                self.arrive(step, last);
            }
            (OpKind::Read | OpKind::Compare, _) => {
                // What the value that it reads was released with happens before the access itself.
                if !self.buffers.hold(step.thread, step.op) {
                    self.acquire(step, order, From::Everybody);
                }
                self.access(step, false, sync);
            }
            (OpKind::Write, _) => {
                self.access(step, true, sync);
                self.overwrite(step, order);
                self.release(step, order, Turn::Usual);
            }
            (OpKind::Update, _) => {
                self.acquire(step, order, From::Everybody);
                self.access(step, true, sync);
                self.release(step, order, Turn::Usual);
            }
            (OpKind::Add, _) => {
                self.acquire(step, order, From::NotAdded);
                self.access(step, true, sync);
                if let Sync::Count { before, taken } = sync {
                    let clock = self.threads[t].clock.clone();
                    let (thread, time) = (step.thread, clock.of(t));
                    self.counts.change(addr, Change { thread, time, clock, before, taken });
                }
                self.release(step, order, Turn::Addition);
            }
            (OpKind::Acquire | OpKind::Share, _) => {
                let reader = kind == OpKind::Share || sync == Sync::Reader;
                let from = if reader { From::Writers } else { From::Everybody };
                self.acquire(step, Order::SeqCst, from);
                self.use_lock(step, sync);
            }
            (OpKind::Release, _) => {
                self.use_lock(step, sync);
                let turn = if sync == Sync::Reader { Turn::Reader } else { Turn::Usual };
                self.release(step, Order::SeqCst, turn);
            }
            (OpKind::Fence | OpKind::StoreFence | OpKind::LoadFence, _) => self.fence(t, order),
            (OpKind::Spawn, _) => {
                self.meet(other);
                let clock = self.threads[t].clock.clone();
                self.threads[other].clock.join(&clock);
                self.threads[t].clock.tick(t);
            }
            (OpKind::Join, _) => {
                self.meet(other);
                let clock = self.threads[other].clock.clone();
                self.threads[t].clock.join(&clock);
                self.threads[other].clock.tick(other);
            }
            (OpKind::Start | OpKind::Exit | OpKind::Yield, _) => {}
            (OpKind::Commit, _) => self.leave(step),
            (OpKind::Free | OpKind::Begin | OpKind::End, _) => {}
        }
    }

    /// A thread stores into its buffer. It is an access now; what it publishes is there for others when it leaves.
    pub fn store_into_buffer(&mut self, step: &Step, sync: Sync) {
        let t = usize::from(step.thread);
        self.meet(t);
        if sync == Sync::Nothing {
            return;
        }
        let order = if sync == Sync::Volatile { Order::SeqCst } else { step.order };
        self.access(step, true, sync);
        let Thread { clock, fenced, .. } = &mut self.threads[t];
        let known = match order {
            Order::Plain => Clock::default(),
            order if order.releases() => clock.clone(),
            _ => fenced.clone(),
        };
        self.buffers.push(step.thread, step.op, order, known);
        if order.releases() {
            clock.tick(t);
        }
    }

    /// A store leaves its buffer.
    fn leave(&mut self, commit: &Step) {
        let Some(store) = self.buffers.leave(commit.thread, commit.op) else { return };
        self.overwrite(commit, store.order);
        if !store.known.is_empty() {
            for (word, mask) in object(commit.op) {
                self.cells.cell(word).publish(mask, commit.thread, Turn::Usual, &store.known);
            }
        }
    }

    /// A thread executes a fence, which is no step if it is one for loads only.
    pub fn fence(&mut self, thread: usize, order: Order) {
        self.meet(thread);
        let Thread { clock, fenced, read } = &mut self.threads[thread];
        if order.acquires() {
            clock.join(read);
        }
        if order.releases() {
            fenced.copy(clock);
            clock.tick(thread);
        }
    }

    /// There is a thread with this number.
    fn meet(&mut self, t: usize) {
        if self.threads.len() <= t {
            self.threads.resize_with(t + 1, Thread::default);
        }
        let clock = &mut self.threads[t].clock;
        if clock.of(t) == 0 {
            clock.tick(t);
        }
    }

    fn use_lock(&mut self, step: &Step, sync: Sync) {
        // Who wakes others by a word need not care whether it is still there.
        if matches!(sync, Sync::Lock | Sync::Reader) {
            self.use_object(step);
        }
    }

    /// An object that threads wait by is used: nobody may make it or free it at the same time. It begins with what all of them
    /// read.
    fn use_object(&mut self, step: &Step) {
        let op = Op { kind: OpKind::Compare, len: 1, ..step.op };
        self.access(&Step { op, order: Order::SeqCst, ..*step }, false, Sync::Use);
    }

    /// Compares an access with those of others, and remembers it.
    fn access(&mut self, step: &Step, write: bool, sync: Sync) {
        let Step { thread, op, order, at } = *step;
        let atomic = order != Order::Plain || op.kind.updates();
        if sync == Sync::Volatile {
            self.volatile.get_or_insert(at);
            return;
        }
        let clock = &self.threads[usize::from(thread)].clock;
        let (len, time) = (op.len, clock.of(usize::from(thread)));
        let what = match sync {
            Sync::Free => What::Frees,
            Sync::Use => What::Uses,
            _ => What::Accesses,
        };
        let new = Access { thread, write, atomic, what, mask: 0xff, len, time, at };
        let found = &mut self.found;
        for (from, old) in &self.large {
            let apart = from + u64::from(old.len) <= op.addr || op.addr + u64::from(len) <= *from;
            if !apart {
                found.compare(old, &new, clock);
            }
        }
        if len > LARGE {
            self.cells.each_used(op.addr, len, &mut |mask, cell| {
                let new = Access { mask, ..new };
                cell.accesses.iter().for_each(|old| found.compare(old, &new, clock));
            });
            let same = |(addr, old): &&mut (u64, Access)| {
                *addr == op.addr && Access { time, ..*old } == new
            };
            match self.large.iter_mut().find(same) {
                Some((_, old)) => *old = new,
                None => self.large.push((op.addr, new)),
            }
            return;
        }
        for (word, mask) in words(op.addr, len) {
            let new = Access { mask, ..new };
            let cell = self.cells.cell(word);
            cell.accesses.iter().for_each(|old| found.compare(old, &new, clock));
            cell.remember(new);
            if op.kind != OpKind::Add {
                cell.set_order(mask);
            }
        }
    }

    /// A read with this order has seen what is there.
    fn acquire(&mut self, step: &Step, order: Order, from: From) {
        if order == Order::Plain {
            return;
        }
        let thread = &mut self.threads[usize::from(step.thread)];
        let clock = if order.acquires() { &mut thread.clock } else { &mut thread.read };
        for (word, mask) in object(step.op) {
            self.cells.cell(word).learn(mask, from, clock);
        }
    }

    /// A store with this order, which has overwritten what is there, or a step that goes on with what
    /// others have published there.
    fn release(&mut self, step: &Step, order: Order, turn: Turn) {
        let t = usize::from(step.thread);
        let Thread { clock, fenced, .. } = &mut self.threads[t];
        let known = if order.releases() { &*clock } else { fenced };
        if order == Order::Plain || known.is_empty() {
            return;
        }
        for (word, mask) in object(step.op) {
            self.cells.cell(word).publish(mask, step.thread, turn, known);
        }
        if order.releases() {
            clock.tick(t);
        }
    }

    /// What a store overwrites is not there any more to be read.
    fn overwrite(&mut self, step: &Step, order: Order) {
        let goes_on = self.rules == Rules::C11 && order != Order::Plain;
        let but = goes_on.then_some(step.thread);
        if step.op.len > LARGE {
            let over = &mut |mask, cell: &mut Cell| cell.overwrite(mask, but);
            return self.cells.each_used(step.op.addr, step.op.len, over);
        }
        for (word, mask) in words(step.op.addr, step.op.len) {
            self.cells.cell(word).overwrite(mask, but);
        }
    }

    /// All who have arrived know what each of them knew, as soon as the last one is there.
    fn arrive(&mut self, step: &Step, last: bool) {
        let threads = self.arrived.entry(step.op.addr).or_default();
        threads.push(step.thread);
        if !last {
            return;
        }
        let mut all = Clock::default();
        for &t in &*threads {
            all.join(&self.threads[usize::from(t)].clock);
        }
        for t in threads.drain(..) {
            let clock = &mut self.threads[usize::from(t)].clock;
            clock.join(&all);
            clock.tick(usize::from(t));
        }
    }
}

impl Found {
    /// Whether two accesses race: what is in `clock` happened before the second.
    fn compare(&mut self, old: &Access, new: &Access, clock: &Clock) {
        if old.mask & new.mask == 0
            || old.thread == new.thread
            || !(old.write || new.write)
            || old.atomic && new.atomic
            || old.time <= clock.of(usize::from(old.thread))
        {
            return;
        }
        let key = (old.at.min(new.at), old.at.max(new.at));
        let last = self.pairs.insert(key, self.execution);
        if last != Some(self.execution) {
            self.list.push(Race { first: racer(old), second: racer(new) });
        }
    }
}

/// The bytes by which an object is known that threads wait for: a lock is larger than a word, and all
/// of it is always meant.
fn object(op: Op) -> impl Iterator<Item = (u64, u8)> {
    let lock = matches!(op.kind, OpKind::Acquire | OpKind::Release);
    let whole = lock && op.len > 8 || op.len > LARGE;
    words(op.addr, if whole { 8 } else { op.len })
}

fn racer(access: &Access) -> Racer {
    let Access { thread, write, atomic, what, len, at, .. } = *access;
    Racer { thread, at, write, atomic, what, len }
}
