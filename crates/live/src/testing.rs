//! Programs that are only data, for tests of strategies: small threads over a few bytes of memory,
//! all their executions by brute force, and when two executions are the same but for the order of
//! steps that have nothing to do with each other.

use weakspot_core::testing::Rng;

use crate::{Agent, BEYOND_MEMORY, Ended, Next, Op, OpKind};

mod executions;
mod random;

pub use executions::{ReadsFrom, Steps, Visit, all_executions, canonical, reads_from, run, traces};
pub use random::{SystemSize, attempt, random_system, shrink_system};

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// What each thread does. Thread 0 is there from the beginning, and so are all that nobody
    /// spawns.
    pub threads: Vec<Vec<Instr>>,
    /// Whether stores go through buffers.
    pub buffers: Buffers,
    /// Whether beginning and end of a thread are steps.
    pub framed: bool,
}

/// Whether stores go through buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Stores take effect at once.
    None,
    /// One queue per thread.
    Tso,
    /// One queue per thread and address.
    Pso,
}

/// What a thread does. Its only register has what it read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instr {
    /// Reads these bytes.
    Read(Bytes),
    /// Reads one byte, the first or the second, as the register is even or odd.
    ReadAt(Bytes),
    /// Stores a number.
    Write(Bytes, u8),
    /// Stores one more than what is in the register.
    WriteLast(Bytes),
    /// Adds a number and reads what was there.
    Add(Bytes, u8),
    /// Adds a number and reads nothing.
    Count(Bytes, u8),
    /// Adds 1 to a byte, and reads whether it has become the number.
    Leave(Bytes, u8),
    /// Compares with the first number, and if equal stores the second.
    Swap(Bytes, u8, u8),
    /// The same, which is announced as an update even if it fails.
    Exchange(Bytes, u8, u8),
    /// Reads again and again until it reads the number.
    Await(Bytes, u8),
    /// Takes one from this semaphore, which is a lock if it begins with 1.
    Lock(u8),
    /// Takes one from this semaphore if there is one, and reads whether there was. If not, it has only looked.
    Try(u8),
    /// Sets the semaphore to 1.
    Unlock(u8),
    /// Adds 1 to the semaphore.
    Post(u8),
    /// Takes this lock together with other readers. It is none of the semaphores that others name.
    Share(u8),
    /// Frees it.
    Unshare(u8),
    /// Takes it alone.
    Claim(u8),
    /// Frees it.
    Unclaim(u8),
    /// Adds 1 to a byte, to come to a barrier.
    Arrive(u8),
    /// Waits until so many have come to it.
    Depart(u8, u8),
    /// Creates the thread.
    Spawn(u16),
    /// Waits for the end of the thread.
    Join(u16),
    /// A full fence.
    Fence,
    /// A fence between stores.
    StoreFence,
    /// Lets others run.
    Yield,
    /// Not a step: leaves out so many, unless the register has this value.
    If(u8, u8),
    /// Not a step: leaves out so many, if the register has this value.
    Unless(u8, u8),
    /// Not a step: ends the program if the register has this value.
    CrashIf(u8),
}

/// Some bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes {
    /// The first.
    pub addr: u8,
    /// How many.
    pub len: u8,
}

/// One byte per location.
#[must_use]
pub fn byte(addr: u8) -> Bytes {
    Bytes { addr, len: 1 }
}

/// Where semaphores are, 8 bytes each.
const OBJECTS: u64 = 0x1000;

/// Where a program is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    memory: Vec<u8>,
    semaphores: Vec<u8>,
    threads: Vec<ThreadState>,
    /// The thread that has ended the program.
    crashed: Option<u16>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ThreadState {
    at: usize,
    there: bool,
    started: bool,
    over: bool,
    idle: bool,
    /// It has read in vain at least once since its last other step.
    again: bool,
    register: u64,
    /// All that was read so far, as a hash: the whole of what a thread can know.
    history: u64,
    buffer: Vec<Pending>,
    queues: Vec<Bytes>,
    epoch: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    at: Bytes,
    value: u64,
    epoch: u32,
}

impl System {
    /// How many bytes of memory there are.
    fn memory(&self) -> usize {
        use Instr::{Add, Await, Count, Exchange, Leave, Read, ReadAt, Swap, Write, WriteLast};
        let ends = self.threads.iter().flatten().map(|instr| match *instr {
            Read(at) | Write(at, _) | WriteLast(at) | Add(at, _) => at.range().end,
            Swap(at, ..) | Exchange(at, ..) | Await(at, _) | Count(at, _) | Leave(at, _) => {
                at.range().end
            }
            ReadAt(at) => usize::from(at.addr) + 2,
            Instr::Arrive(at) | Instr::Depart(at, _) => usize::from(at) + 1,
            _ => 0,
        });
        ends.max().unwrap_or(0)
    }

    fn semaphores(&self) -> usize {
        let numbers = self.threads.iter().flatten().map(|instr| match *instr {
            Instr::Lock(s) | Instr::Try(s) | Instr::Unlock(s) | Instr::Post(s) => {
                usize::from(s) + 1
            }
            Instr::Share(s) | Instr::Unshare(s) => usize::from(s) + 1,
            Instr::Claim(s) | Instr::Unclaim(s) => usize::from(s) + 1,
            _ => 0,
        });
        numbers.max().unwrap_or(0)
    }
}

impl Bytes {
    fn range(self) -> std::ops::Range<usize> {
        usize::from(self.addr)..usize::from(self.addr) + usize::from(self.len)
    }

    fn overlaps(self, other: Bytes) -> bool {
        self.range().start < other.range().end && other.range().start < self.range().end
    }

    fn op(self, kind: OpKind) -> Op {
        Op { kind, len: u32::from(self.len), addr: u64::from(self.addr) }
    }
}

/// The second of two empties no buffer.
fn object(kind: OpKind, number: u8) -> Op {
    let base = if number == 1 { BEYOND_MEMORY } else { OBJECTS };
    Op { kind, len: 8, addr: base + 8 * u64::from(number) }
}

impl State {
    /// The beginning.
    #[must_use]
    pub fn new(system: &System) -> State {
        let mut threads = vec![ThreadState::default(); system.threads.len()];
        for (t, thread) in threads.iter_mut().enumerate() {
            let spawn = Instr::Spawn(t as u16);
            thread.there = !system.threads.iter().any(|code| code.contains(&spawn));
            thread.started = !system.framed;
        }
        let memory = vec![0; system.memory()];
        let semaphores = vec![1; system.semaphores()];
        let mut state = State { memory, semaphores, threads, crashed: None };
        for t in 0..state.threads.len() {
            state.settle(system, t);
        }
        state
    }

    /// Steps that take no step: branches, crashes, the end.
    fn settle(&mut self, system: &System, t: usize) {
        let thread = &mut self.threads[t];
        while let Some(instr) = system.threads[t].get(thread.at) {
            match *instr {
                Instr::If(value, n) if thread.register != value.into() => {
                    thread.at += 1 + usize::from(n);
                }
                Instr::Unless(value, n) if thread.register == value.into() => {
                    thread.at += 1 + usize::from(n);
                }
                Instr::If(..) | Instr::Unless(..) => thread.at += 1,
                Instr::CrashIf(value) => {
                    thread.at += 1;
                    if thread.there && thread.register == value.into() {
                        self.crashed = Some(t as u16);
                    }
                }
                _ => return,
            }
        }
        thread.over |= thread.there && !system.framed;
    }

    /// What everybody is about to do.
    #[must_use]
    pub fn next(&self, system: &System) -> Vec<Next> {
        let mut next = Vec::new();
        if self.crashed.is_some() {
            return next;
        }
        for (t, thread) in self.threads.iter().enumerate() {
            if !thread.there || thread.over {
                continue;
            }
            let (op, mut enabled) = self.announce(system, t);
            if op.waits() {
                enabled &= thread.buffer.is_empty();
            }
            let agent = Agent::thread(t as u16);
            let instr = system.threads[t].get(thread.at);
            let may_vary =
                |i: &Instr| matches!(i, Instr::Swap(..) | Instr::Leave(..) | Instr::Try(_));
            let varies = thread.started && instr.is_some_and(may_vary);
            let (idle, again) = (thread.idle, thread.again);
            next.push(Next { agent, op, enabled, idle, varies, again, undone: 0 });
        }
        for (t, thread) in self.threads.iter().enumerate() {
            for (k, queue) in thread.queues.iter().enumerate() {
                let mut older = thread.buffer.iter();
                let mine = |p: &&Pending| system.buffers == Buffers::Tso || p.at == *queue;
                let Some(head) = older.find(mine) else { continue };
                let before = thread.buffer.iter().take_while(|p| *p != head);
                let waits = before.clone().any(|p| p.epoch < head.epoch || p.at.overlaps(head.at));
                let agent = Agent::queue(t as u16, k as u16);
                let op = head.at.op(OpKind::Commit);
                let enabled = !waits;
                next.push(Next {
                    agent,
                    op,
                    enabled,
                    idle: false,
                    varies: false,
                    again: false,
                    undone: 0,
                });
            }
        }
        next.sort_by_key(|n| n.agent);
        next
    }

    fn announce(&self, system: &System, t: usize) -> (Op, bool) {
        let thread = &self.threads[t];
        if !thread.started {
            return (Op::plain(OpKind::Start), true);
        }
        let Some(&instr) = system.threads[t].get(thread.at) else {
            return (Op::plain(OpKind::Exit), true);
        };
        let named = |kind, number: u16| Op { kind, len: 0, addr: u64::from(number) };
        match instr {
            Instr::Read(at) | Instr::Await(at, _) => (at.op(OpKind::Read), true),
            Instr::ReadAt(at) => (half(at, thread.register).op(OpKind::Read), true),
            Instr::Write(at, _) | Instr::WriteLast(at) => (at.op(OpKind::Write), true),
            Instr::Add(at, _) | Instr::Exchange(at, ..) => (at.op(OpKind::Update), true),
            Instr::Count(at, _) => (at.op(OpKind::Add), true),
            Instr::Leave(at, all) => {
                let last = self.is_last(t, at, all);
                (at.op(if last { OpKind::Update } else { OpKind::Add }), true)
            }
            Instr::Swap(at, old, _) => {
                let hit = self.load(t, at) == u64::from(old);
                (at.op(if hit { OpKind::Update } else { OpKind::Compare }), true)
            }
            Instr::Lock(s) => (object(OpKind::Acquire, s), self.semaphores[usize::from(s)] > 0),
            Instr::Post(s) => (object(OpKind::Add, s), true),
            Instr::Try(s) => {
                let some = self.semaphores[usize::from(s)] > 0;
                (object(if some { OpKind::Update } else { OpKind::Read }, s), true)
            }
            Instr::Unlock(s) => {
                let taken = self.semaphores[usize::from(s)] == 0;
                (object(if taken { OpKind::Release } else { OpKind::Update }, s), true)
            }
            // One more than there are readers, 0 if it is taken alone.
            Instr::Share(s) => (object(OpKind::Share, s), self.semaphores[usize::from(s)] > 0),
            Instr::Unshare(s) => (object(OpKind::Add, s), true),
            Instr::Claim(s) => (object(OpKind::Acquire, s), self.semaphores[usize::from(s)] == 1),
            Instr::Unclaim(s) => (object(OpKind::Release, s), true),
            Instr::Arrive(at) => (byte(at).op(OpKind::Add), true),
            Instr::Depart(at, all) if self.load(t, byte(at)) < u64::from(all) => {
                (byte(at).op(OpKind::Acquire), false)
            }
            Instr::Depart(at, _) => (byte(at).op(OpKind::Join), true),
            Instr::Spawn(u) => (named(OpKind::Spawn, u), true),
            Instr::Join(u) => {
                let other = &self.threads[usize::from(u)];
                (named(OpKind::Join, u), other.over && other.buffer.is_empty())
            }
            Instr::Fence => (Op::plain(OpKind::Fence), true),
            Instr::StoreFence => (Op::plain(OpKind::StoreFence), true),
            Instr::Yield | Instr::If(..) | Instr::Unless(..) | Instr::CrashIf(_) => {
                (Op::plain(OpKind::Yield), true)
            }
        }
    }

    fn is_last(&self, t: usize, at: Bytes, all: u8) -> bool {
        self.load(t, at) as u8 == all.wrapping_sub(1)
    }

    fn load(&self, t: usize, at: Bytes) -> u64 {
        at.range().rev().fold(0, |value, b| {
            let own = self.threads[t].buffer.iter().rev().find(|p| p.at.range().contains(&b));
            let seen = match own {
                Some(p) => (p.value >> (8 * (b - p.at.range().start))) as u8,
                None => self.memory[b],
            };
            value << 8 | u64::from(seen)
        })
    }

    fn store(&mut self, at: Bytes, value: u64) {
        for (i, b) in at.range().enumerate() {
            self.memory[b] = (value >> (8 * i)) as u8;
        }
    }

    /// Takes a step. The agent has to be enabled.
    pub fn step(&mut self, system: &System, agent: Agent) -> Op {
        let t = usize::from(agent.of());
        if agent.is_buffer() {
            return self.commit(system, agent);
        }
        let (op, _) = self.announce(system, t);
        if op.writes() && !(op.kind == OpKind::Write && system.buffers != Buffers::None) {
            self.wake(system, op, None);
        }
        let instr = system.threads[t].get(self.threads[t].at).copied();
        match (op.kind, instr) {
            (OpKind::Start, _) => self.threads[t].started = true,
            (OpKind::Exit, _) => self.threads[t].over = true,
            (_, Some(instr)) => self.execute(system, t, instr),
            (_, None) => {}
        }
        self.settle(system, t);
        op
    }

    fn execute(&mut self, system: &System, t: usize, instr: Instr) {
        self.threads[t].at += 1;
        self.threads[t].again = false;
        match instr {
            Instr::Read(at) => self.read(t, at),
            Instr::ReadAt(at) => self.read(t, half(at, self.threads[t].register)),
            Instr::Await(at, value) => {
                let seen = self.load(t, at);
                if seen == u64::from(value) {
                    self.read(t, at);
                } else {
                    // What is read in vain leaves no trace in the thread.
                    self.threads[t].at -= 1;
                    self.threads[t].idle = true;
                    self.threads[t].again = true;
                }
            }
            Instr::Write(at, value) => self.write(system, t, at, value.into()),
            Instr::WriteLast(at) => {
                self.write(system, t, at, self.threads[t].register.wrapping_add(1));
            }
            Instr::Add(at, value) => {
                self.read(t, at);
                self.store(at, self.threads[t].register.wrapping_add(value.into()));
            }
            Instr::Arrive(at) => {
                let seen = self.load(t, byte(at));
                self.store(byte(at), seen + 1);
            }
            Instr::Count(at, value) => {
                let seen = self.load(t, at);
                self.store(at, seen.wrapping_add(value.into()));
            }
            Instr::Leave(at, all) => {
                let (seen, last) = (self.load(t, at), self.is_last(t, at, all));
                self.store(at, seen.wrapping_add(1));
                self.know(t, last.into());
            }
            Instr::Swap(at, old, new) | Instr::Exchange(at, old, new) => {
                self.read(t, at);
                if self.threads[t].register == u64::from(old) {
                    self.store(at, new.into());
                }
            }
            Instr::Lock(s) | Instr::Unshare(s) => self.semaphores[usize::from(s)] -= 1,
            Instr::Unlock(s) | Instr::Unclaim(s) => self.semaphores[usize::from(s)] = 1,
            Instr::Try(s) => {
                let before = self.semaphores[usize::from(s)];
                self.semaphores[usize::from(s)] = before.saturating_sub(1);
                self.know(t, before.min(1).into());
            }
            Instr::Post(s) | Instr::Share(s) => self.semaphores[usize::from(s)] += 1,
            Instr::Claim(s) => self.semaphores[usize::from(s)] = 0,
            Instr::Spawn(u) => {
                self.threads[usize::from(u)].there = true;
                self.settle(system, usize::from(u));
            }
            Instr::StoreFence => self.threads[t].epoch += 1,
            Instr::Join(_) | Instr::Depart(..) | Instr::Fence | Instr::Yield => {}
            Instr::If(..) | Instr::Unless(..) | Instr::CrashIf(_) => {}
        }
    }

    fn read(&mut self, t: usize, at: Bytes) {
        let value = self.load(t, at);
        self.know(t, value);
    }

    fn know(&mut self, t: usize, value: u64) {
        let thread = &mut self.threads[t];
        thread.register = value;
        thread.history = Rng::new(thread.history ^ value).next_u64();
    }

    fn write(&mut self, system: &System, t: usize, at: Bytes, value: u64) {
        if system.buffers == Buffers::None {
            return self.store(at, value);
        }
        let thread = &mut self.threads[t];
        thread.buffer.push(Pending { at, value, epoch: thread.epoch });
        let one = system.buffers == Buffers::Tso && !thread.queues.is_empty();
        if !one && !thread.queues.contains(&at) {
            thread.queues.push(at);
        }
    }

    fn commit(&mut self, system: &System, agent: Agent) -> Op {
        let thread = &mut self.threads[usize::from(agent.of())];
        let queue = thread.queues[usize::from(agent.queue_number())];
        let mine = |p: &Pending| system.buffers == Buffers::Tso || p.at == queue;
        let at = thread.buffer.iter().position(mine).expect("an enabled queue has a store");
        let head = thread.buffer.remove(at);
        let op = head.at.op(OpKind::Commit);
        // Its own thread has seen it before.
        self.wake(system, op, Some(usize::from(agent.of())));
        self.store(head.at, head.value);
        op
    }

    /// Who waits for these bytes in a loop has a reason to look again.
    fn wake(&mut self, system: &System, op: Op, but: Option<usize>) {
        for (t, thread) in self.threads.iter_mut().enumerate().filter(|t| Some(t.0) != but) {
            if let Some(Instr::Await(at, _)) = system.threads[t].get(thread.at) {
                thread.idle &= !op.conflicts(at.op(OpKind::Read));
            }
        }
    }

    /// Which thread has ended the program, where, and a hash of all that it had read.
    #[must_use]
    pub fn crash(&self) -> Option<(u16, usize, u64)> {
        let t = self.crashed?;
        let thread = &self.threads[usize::from(t)];
        Some((t, thread.at, thread.history))
    }

    /// Whether and how the program has ended.
    #[must_use]
    pub fn ended(&self, system: &System) -> Option<Ended> {
        let left = self.threads.iter().any(|t| t.there && !(t.over && t.buffer.is_empty()));
        match () {
            () if self.crashed.is_some() || !left => Some(Ended::Over),
            () if !self.next(system).iter().any(Next::ready) => Some(Ended::Deadlock),
            () => None,
        }
    }
}

fn half(at: Bytes, register: u64) -> Bytes {
    byte(at.addr + (register & 1) as u8)
}
