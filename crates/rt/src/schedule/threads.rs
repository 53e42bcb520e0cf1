//! The threads of an execution: what is known of each.

use weakspot_live::wire::Awaited;
use weakspot_live::{Agent, Next, OpKind};

use crate::Runtime;
use crate::access::functions::Nesting;
use crate::access::pending::Pending;
use crate::entry::guest::{Area, Question};
use crate::execution::exceptions::Exceptions;
use crate::execution::exits::AtExit;
use crate::schedule::buffers::Buffer;
use crate::schedule::rounds::Yields;
use crate::schedule::spin::Spin;
use crate::sync::keys::Values;
use crate::sync::queues::Waiting;
use crate::sync::unwinding::Unwinding;

/// The threads of the current execution.
pub struct Threads {
    /// Those of this execution, and room for those of later ones.
    all: Vec<Thread>,
    /// How many of them belong to this execution.
    count: usize,
    /// How many of them were not joined, the first one left out.
    unjoined: usize,
    /// Whether no thread but the first exists, or has existed without being joined.
    alone: bool,
    /// The thread that runs.
    current: usize,
    /// Who has made the last one.
    maker: usize,
    /// A thread is being made, which will have the next number.
    number_taken: bool,
}

/// A thread of the program.
#[derive(Default)]
pub struct Thread {
    /// Where it goes on.
    pub(super) sp: usize,
    /// The end of what its functions have on its stack, while it does not run.
    end: usize,
    /// It was interrupted, and did not call.
    pub interrupted: bool,
    /// The lowest address of its stack that is known to have been used.
    lowest: usize,
    pub(super) start: Start,
    life: Life,
    /// Its place among the next steps.
    pub(super) position: usize,
    /// What must hold before it takes its next step.
    pub(super) until: Option<Until>,
    /// What that is, if it is something that can be told.
    pub awaits: Option<Awaited>,
    /// What happens if that does not come to hold.
    pub(super) patience: Patience,
    /// In virtual time, when it goes on although that does not hold: nanoseconds since the execution
    /// began. Nothing if it does not wait for a time.
    pub deadline: Option<u64>,
    /// The same for what it waits for later in the same call.
    pub timeout: Option<u64>,
    /// On what the kind of its next step depends.
    pub(super) varying: Option<Varying>,
    /// Its next step begins a round of a loop, in the state in which it began the one before, which nobody could
    /// notice.
    pub again: bool,
    /// The same if others could notice it: how many steps it had, with all that they changed undone.
    pub undone: u32,
    /// Its next step is conditional: one of those above is set, or it waits in a loop.
    pub(super) conditional: bool,
    /// Where it has announced the last conditional step.
    pub(super) announced_at: usize,
    /// It will never take a step again: where it is, and why.
    parked: Option<(usize, Parked)>,
    /// A store that it was allowed to do and has done by its next call.
    pub pending: Option<Pending>,
    /// It has stored something since its last fence, as far as that was recorded.
    pub has_stored: bool,
    /// Its stores that others do not see yet.
    pub buffer: Buffer,
    /// What it has read lately.
    pub spin: Spin,
    /// Where it gave way lately.
    pub yields: Yields,
    /// The transactions that are open.
    pub nesting: Nesting,
    /// The queue or barrier that it waits in.
    pub waiting: Waiting,
    /// How it ends in the middle of its functions.
    pub unwinding: Unwinding,
    /// What it has thrown.
    pub exceptions: Exceptions,
    /// What is to be called when it ends.
    pub at_exit: Vec<AtExit>,
    /// Its values of keys.
    pub values: Values,
}

/// What a thread runs.
#[derive(Clone, Copy, Default)]
pub enum Start {
    /// The program's `main`.
    #[default]
    Main,
    /// A function that the program passed, with its argument.
    Function(Function, usize),
}

/// A function that the program passed to be run by a thread.
pub type Function = extern "C" fn(usize) -> usize;

/// From the start of a thread to those who wait for its end.
#[derive(Default)]
struct Life {
    /// What it returned.
    value: usize,
    /// It has taken its first step.
    begun: bool,
    /// It has no steps left.
    over: bool,
    /// Nobody will join it.
    detached: bool,
    /// Another thread has joined it.
    joined: bool,
}

/// What a thread waits for.
#[derive(Clone, Copy)]
pub enum Until {
    /// An object of the program allows it to go on.
    Object(Question<bool>),
    /// What the runtime knows allows it, for this thread and with this number.
    Known(fn(&Runtime, usize, usize) -> bool, usize),
}

impl Until {
    /// Whether it is there for this thread.
    pub fn holds(self, rt: &Runtime, thread: usize) -> bool {
        match self {
            Until::Object(question) => question.answer(),
            Until::Known(ask, number) => ask(rt, thread, number),
        }
    }
}

/// What a thread does that waits for something which does not come.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Patience {
    /// It waits for ever.
    #[default]
    Endless,
    /// It may give up at any time: how long a span of time is for the others is not defined.
    Timed,
    /// It goes on when nobody else can do anything.
    Last,
}

impl Runtime {
    /// Whether a thread waits by bytes of an object for what does not hold as things are.
    pub fn is_kept_by(&self, object: Area, t: usize) -> bool {
        let next = self.scheduler.next().iter().find(|n| n.agent == Agent::thread(t as u16));
        let waits = next.is_some_and(|n| {
            let at = (n.op.addr as usize).wrapping_sub(object.addr());
            n.op.takes() && at < object.len() as usize
        });
        waits && self.threads.get(t).until.is_some_and(|until| !until.holds(self, t))
    }
}

/// What the kind of a step depends on, which is known only when the step is taken.
#[derive(Clone, Copy)]
pub enum Varying {
    /// An update if the bytes are as expected, else a comparison.
    Exchange(Area, u128),
    /// An object of the program.
    Object(Question<OpKind>),
    /// What the runtime knows, with this number.
    Known(fn(&Runtime, usize) -> OpKind, usize),
}

impl Varying {
    /// The kind of the step if it were taken now.
    pub fn kind(self, rt: &Runtime) -> OpKind {
        match self {
            Varying::Exchange(area, expected) => {
                if area.bits() == expected || rt.has_mixed_swaps() {
                    OpKind::Update
                } else {
                    OpKind::Compare
                }
            }
            Varying::Object(question) => question.answer(),
            Varying::Known(ask, number) => ask(rt, number),
        }
    }
}

/// Why a thread takes no steps any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parked {
    /// It is in an empty loop without end.
    Endless,
    /// It is in a loop that does nothing but to give way.
    Yields,
    /// It has not announced a step for long.
    Silent,
}

impl Threads {
    /// No threads.
    pub fn new() -> Threads {
        Threads {
            all: Vec::new(),
            count: 0,
            unjoined: 0,
            alone: true,
            current: 0,
            maker: 0,
            number_taken: false,
        }
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.count = 0;
        self.unjoined = 0;
        self.alone = true;
        self.number_taken = false;
    }

    /// A new thread with the next number, whose stack ends at `top`; its number.
    pub(super) fn add(&mut self, start: Start, position: usize, top: usize) -> usize {
        let t = self.count;
        if self.all.len() == t {
            self.all.push(Thread::default());
        }
        let thread = &mut self.all[t];
        let room = core::mem::take(thread).emptied();
        *thread = Thread { start, position, lowest: top, ..room };
        self.count += 1;
        self.maker = self.current;
        if t > 0 {
            self.unjoined += 1;
            self.alone = false;
        }
        t
    }

    /// Whether the last thread might have come after one that the current thread makes, if that had been faster: somebody else has made it,
    /// and it is not the current one.
    pub fn are_made_by_others(&self) -> bool {
        self.count > 1 && self.maker != self.current && self.count - 1 != self.current
    }

    /// Whether a thread is being made, which will have the next number.
    pub fn is_number_taken(&self) -> bool {
        self.number_taken
    }

    /// A thread is about to be made, or has been.
    pub fn set_number_taken(&mut self, taken: bool) {
        self.number_taken = taken;
    }

    /// The number of the thread that runs.
    #[inline(always)]
    pub fn current(&self) -> usize {
        self.current
    }

    pub(super) fn set_current(&mut self, t: usize) {
        self.current = t;
    }

    /// How many threads this execution has had so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the first thread is the only one: no other exists that was not joined.
    #[inline(always)]
    pub fn alone(&self) -> bool {
        self.alone
    }

    /// Whether joining one more thread would leave the first one alone.
    pub fn almost_alone(&self) -> bool {
        self.current == 0 && self.unjoined == 1
    }

    /// The thread that runs.
    #[inline(always)]
    pub fn me(&self) -> &Thread {
        &self.all[self.current]
    }

    /// The thread that runs.
    #[inline(always)]
    pub fn me_mut(&mut self) -> &mut Thread {
        &mut self.all[self.current]
    }

    /// The thread with this number.
    pub fn get(&self, t: usize) -> &Thread {
        &self.all[t]
    }

    /// The thread with this number.
    pub fn get_mut(&mut self, t: usize) -> &mut Thread {
        &mut self.all[t]
    }

    /// All of this execution.
    pub fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.all[..self.count].iter()
    }

    /// All of this execution.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Thread> {
        self.all[..self.count].iter_mut()
    }

    /// The current thread has waited for the end of this one; what it returned.
    pub fn join(&mut self, t: usize) -> usize {
        let life = &mut self.all[t].life;
        life.joined = true;
        let value = life.value;
        if t > 0 {
            self.unjoined -= 1;
        }
        self.alone = self.unjoined == 0 && self.current == 0;
        value
    }
}

impl Threads {
    /// Appends what the queues of all threads are about to do.
    pub fn next_of_buffers(&self, out: &mut Vec<Next>) {
        let from = out.len();
        for (t, thread) in self.iter().enumerate() {
            thread.buffer.next(t, out);
        }
        // Agents are ordered by queue first, and by thread among queues with the same number.
        out[from..].sort_unstable_by_key(|n| n.agent);
    }

    /// Whether nothing is in any buffer.
    pub fn buffers_are_empty(&self) -> bool {
        self.iter().all(|thread| thread.buffer.is_empty())
    }

    /// Everything leaves, when that does not matter any more. No buffer may be shown.
    pub fn empty_buffers(&mut self) {
        for thread in self.iter_mut() {
            thread.buffer.empty();
        }
    }
}

impl Thread {
    /// A new thread with the room of this one.
    fn emptied(self) -> Thread {
        let Thread { spin, yields, mut at_exit, mut values, mut buffer, .. } = self;
        buffer.clear();
        at_exit.clear();
        values.clear();
        let (spin, yields) = (spin.emptied(), yields.emptied());
        Thread { spin, yields, at_exit, values, buffer, ..Thread::default() }
    }

    /// The lowest address of what its functions have on its stack, while it does not run; the stack of
    /// the library is below.
    pub fn end_of_stack(&self) -> Option<usize> {
        (self.end != 0 && self.parked.is_none()).then_some(self.end)
    }

    /// The kind of its next step, which waits, depends on this.
    pub fn set_varying(&mut self, varying: Varying) {
        self.varying = Some(varying);
    }

    /// Where it has announced the last conditional step.
    pub fn announced_at(&self) -> usize {
        self.announced_at
    }

    /// It stops in a call from here, with this address in use.
    pub(super) fn stop_at(&mut self, call: usize, here: usize) {
        self.end = if self.interrupted { here } else { call.max(here) };
    }

    /// It has used its stack down to this address.
    pub fn used_down_to(&mut self, addr: usize) {
        self.lowest = self.lowest.min(addr);
    }

    /// The lowest address of its stack that is known to have been used.
    pub fn lowest(&self) -> usize {
        self.lowest
    }

    /// Why it will never take a step again, and where it is.
    pub fn parked(&self) -> Option<(usize, Parked)> {
        self.parked
    }

    pub(super) fn park(&mut self, pc: usize, why: Parked) {
        self.parked = Some((pc, why));
    }

    /// It will return this value.
    pub fn set_value(&mut self, value: usize) {
        self.life.value = value;
    }

    /// What it returns.
    pub fn value(&self) -> usize {
        self.life.value
    }

    pub(super) fn set_over(&mut self) {
        self.life.over = true;
    }

    pub(super) fn begin(&mut self) {
        self.life.begun = true;
    }

    /// Whether it has taken its first step.
    pub fn has_begun(&self) -> bool {
        self.life.begun
    }

    /// Whether it has no steps left.
    pub fn is_over(&self) -> bool {
        self.life.over
    }

    /// Whether somebody has waited for its end.
    pub fn is_joined(&self) -> bool {
        self.life.joined
    }

    /// Whether somebody may still wait for its end.
    pub fn joinable(&self) -> bool {
        !self.life.detached && !self.life.joined
    }

    /// Nobody will wait for its end.
    pub fn detach(&mut self) {
        self.life.detached = true;
    }

    /// It has its turn, and its next step is not conditional any more. Whether it was.
    pub(super) fn go(&mut self) -> bool {
        let conditional = self.conditional;
        if conditional {
            self.conditional = false;
            self.until = None;
            self.awaits = None;
            self.patience = Patience::Endless;
            self.deadline = None;
            self.varying = None;
            self.again = false;
            self.undone = 0;
        }
        conditional
    }
}
