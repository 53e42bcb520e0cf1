//! Operations of the channels of Rust's standard library: those of a channel come one after the other, as if each took
//! a lock of the channel when it first touches it, and freed it when it ends or has to wait. Channels are linearizable: whatever
//! comes of operations at the same time also comes of some order of them, so that nothing else is explored.
//!
//! The lock is known to strategies only. It empties no buffer, and orders no accesses for monitors and the detector of data
//! races, which go by what the channel does itself.

use weakspot_live::{BEYOND_MEMORY, Op, OpKind};

use super::{step, wait};
use crate::access::functions::Functions;
use crate::entry::frame::Call;
use crate::entry::guest::Area;
use crate::memory::blocks::Found;
use crate::schedule::threads::{Patience, Until};
use crate::{Rt, Runtime};

/// The channels of the program.
pub struct Channels {
    /// Functions that are operations.
    pub operations: Functions,
    /// Those that are used, by the block that each is in, and who uses them.
    busy: Vec<(usize, usize)>,
    /// By thread, the operation that it is in.
    open: Vec<Option<Operation>>,
}

/// An operation that a thread is in: the outermost, if they call each other.
#[derive(Clone, Copy)]
pub struct Operation {
    /// Where its function begins.
    function: usize,
    /// Where that returns to.
    back: usize,
    /// The stack pointer when it began.
    sp: usize,
    /// How often the function has said that it begins: so do others that were inlined into it.
    depth: u32,
    /// The block of its channel, once it has touched one.
    channel: Option<Channel>,
    /// Whether it keeps others from using the channel.
    holds: bool,
}

/// A step that takes or frees the lock of a channel.
fn lock(kind: OpKind, channel: Channel) -> Op {
    Op { kind, len: 1, addr: BEYOND_MEMORY + channel.start as u64 }
}

/// The block of a channel.
#[derive(Clone, Copy)]
struct Channel {
    start: usize,
    end: usize,
}

impl Channels {
    /// None.
    pub fn new() -> Channels {
        Channels { operations: Functions::new(), busy: Vec::new(), open: Vec::new() }
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.busy.clear();
        self.open.clear();
    }

    /// The operation that a thread is in.
    #[inline(always)]
    fn of(&self, thread: usize) -> Option<Operation> {
        self.open.get(thread).copied().flatten()
    }

    fn set(&mut self, thread: usize, operation: Option<Operation>) {
        if self.open.len() <= thread {
            self.open.resize(thread + 1, None);
        }
        self.open[thread] = operation;
    }
}

/// A function begins, which may be an operation.
pub fn begin(rt: &mut Rt, call: Call, back: usize) {
    let (me, sp) = (rt.threads.current(), call.stack_pointer());
    end_left(rt, sp);
    let Some(function) = rt.channels.operations.start(call.pc()) else { return };
    let operation = match rt.channels.of(me) {
        None => Operation { function, back, sp, depth: 1, channel: None, holds: false },
        Some(open) if open.function == function => Operation { depth: open.depth + 1, ..open },
        Some(_) => return,
    };
    rt.channels.set(me, Some(operation));
}

/// A function ends, as it says from `pc`: by a call, or by a jump once its frame is gone, which looks like a call from where it
/// returns to.
pub fn end(rt: &mut Rt, sp: usize, pc: usize) {
    let me = rt.threads.current();
    let Some(mut operation) = rt.channels.of(me) else { return };
    if rt.channels.operations.start(pc) == Some(operation.function) {
        operation.depth -= 1;
        rt.channels.set(me, Some(operation));
    }
    let jumped = operation.sp < sp && operation.back == pc;
    if operation.depth == 0 || jumped {
        leave(rt);
        rt.channels.set(me, None);
    }
}

/// Operations may be left by a panic, without a word.
fn end_left(rt: &mut Rt, sp: usize) {
    let me = rt.threads.current();
    if rt.channels.of(me).is_some_and(|operation| operation.sp < sp) {
        leave(rt);
        rt.channels.set(me, None);
    }
}

/// The current thread is about to access bytes that others use: an operation begins with the first of them that are
/// on the heap, and goes on with the next ones if it had to wait.
#[inline(always)]
pub fn enter(rt: &mut Rt, area: Area) {
    if rt.channels.of(rt.threads.current()).is_some() {
        enter_operation(rt, area);
    }
}

#[cold]
fn enter_operation(rt: &mut Rt, area: Area) {
    let sp = rt.call().stack_pointer();
    end_left(rt, sp);
    let me = rt.threads.current();
    let Some(operation) = rt.channels.of(me) else { return };
    if operation.holds || rt.threads.alone() {
        return;
    }
    let Some(channel) = operation.channel.or_else(|| block_of(rt, area)) else { return };
    // Who has a mutex of the channel does not wait for others, who may wait for that mutex.
    if rt.owners.has_within(channel.start..channel.end, me) {
        return;
    }
    let acquire = lock(OpKind::Acquire, channel);
    wait(rt, acquire, Until::Known(is_free, channel.start), Patience::Endless);
    rt.channels.busy.push((channel.start, me));
    rt.channels.set(me, Some(Operation { channel: Some(channel), holds: true, ..operation }));
}

/// The current thread is about to wait, or its operation ends: others may use the channel.
#[inline(always)]
pub fn leave(rt: &mut Rt) {
    if rt.channels.of(rt.threads.current()).is_some_and(|operation| operation.holds) {
        leave_operation(rt);
    }
}

#[cold]
fn leave_operation(rt: &mut Rt) {
    let me = rt.threads.current();
    let Some(operation) = rt.channels.of(me) else { return };
    rt.channels.set(me, Some(Operation { holds: false, ..operation }));
    let Some(channel) = operation.channel else { return };
    step(rt, lock(OpKind::Release, channel));
    rt.channels.busy.retain(|&(busy, _)| busy != channel.start);
}

fn is_free(rt: &Runtime, _thread: usize, channel: usize) -> bool {
    let uses = |&(busy, by): &(usize, usize)| busy == channel && !rt.threads.get(by).is_over();
    !rt.channels.busy.iter().any(uses)
}

/// The block of the heap that bytes are in.
fn block_of(rt: &Runtime, area: Area) -> Option<Channel> {
    let blocks = &rt.heap.blocks;
    let found = blocks.hold(area.addr()).then(|| blocks.at(area.addr()))?;
    match found {
        Found::Block(block) => Some(Channel { start: block.start, end: block.end() }),
        Found::Gap(..) => None,
    }
}
