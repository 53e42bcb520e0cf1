//! Plain loads and stores of the program, which are announced before they happen.

use weakspot_live::{Ended, Op, OpKind, Order, Sync};

use crate::access::pending::{Pending, settle};
use crate::entry::frame::Call;
use crate::entry::guest::{Area, Guest};
use crate::execution::monitors::Event;
use crate::memory::check::{check, wrong};
use crate::memory::errors::{Use, returned};
use crate::memory::frames::stack_of;
use crate::memory::shadow::Seen;
use crate::schedule::finish::finish;
use crate::schedule::spin::{Idle, Long};
use crate::schedule::threads::Varying;
use crate::schedule::turns::channels;
use crate::schedule::turns::{let_others, step, step_conditional, store_step};
use crate::{Rt, Runtime};

/// What is so many bytes below the stack pointer of its own thread may be a variable of a function that
/// has returned.
const BELOW: usize = 1 << 20;

/// Whether an access by a caller with this stack pointer needs more than a look at one cell of the
/// shadow.
pub extern "C" fn quick<const LEN: usize, const WRITE: bool>(addr: usize, sp: usize) -> bool {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { return false };
    let rt: &mut Runtime = &mut rt;
    if sp.wrapping_sub(addr).wrapping_sub(1) < BELOW {
        return true;
    }
    let Some(cell) = rt.shadow.cell(addr) else { return true };
    let there = rt.heap.blocks.fine::<LEN>(addr);
    let known = if LEN <= 4 && addr & 3 <= 4 - LEN {
        rt.private.knows::<WRITE>(cell.one().into(), false)
    } else if LEN == 8 && addr & 7 == 0 {
        rt.private.knows::<WRITE>(cell.two(), true)
    } else {
        false
    };
    if !WRITE {
        rt.private.load();
    } else if known && there {
        rt.private.store(addr, LEN);
    }
    !known || !there || rt.private.is_long()
}

/// A load or store of `LEN` bytes.
pub extern "C" fn slow<const LEN: usize, const WRITE: bool>(addr: usize) {
    // SAFETY: entered from the program, see `Rt::live`; it is about to access these bytes.
    if let (Some(mut rt), area) = unsafe { (Rt::live(), Area::at(addr, LEN)) } {
        let call = rt.call();
        check_own_stack(&mut rt, area, WRITE, call);
        access(&mut rt, area, WRITE, call);
    }
}

/// A function that calls, as instrumented ones do for their accesses, keeps nothing below its stack
/// pointer: what is there belonged to a function that has returned.
fn check_own_stack(rt: &mut Rt, area: Area, write: bool, call: Call) {
    let sp = call.stack_pointer();
    if sp.wrapping_sub(area.addr()).wrapping_sub(1) < BELOW {
        let slot = rt.coroutines.slot(rt.threads.current());
        // It may be on another stack, such as that of a signal handler.
        if slot.holds(sp - 1) && slot.holds(area.addr()) {
            wrong(rt, &returned(area, Use::of(write)), call.pc());
        }
    }
}

/// A load or store of `LEN` bytes that is `volatile`.
pub extern "C" fn slow_volatile<const LEN: usize, const WRITE: bool>(addr: usize) {
    // SAFETY: entered from the program, see `Rt::live`; it is about to access these bytes.
    if let (Some(mut rt), area) = unsafe { (Rt::live(), Area::at(addr, LEN)) } {
        let call = rt.call();
        check_own_stack(&mut rt, area, WRITE, call);
        volatile_access(&mut rt, area, WRITE, call);
    }
}

/// A load of `LEN` bytes and a store to them.
pub extern "C" fn slow_both<const LEN: usize>(addr: usize) {
    // SAFETY: entered from the program, see `Rt::live`; it is about to access these bytes.
    if let (Some(mut rt), area) = unsafe { (Rt::live(), Area::at(addr, LEN)) } {
        let call = rt.call();
        check_own_stack(&mut rt, area, true, call);
        access(&mut rt, area, false, call);
        access(&mut rt, area, true, call);
    }
}

/// A store to some bits of `LEN` bytes: the bytes are read, and then all of them are written. The
/// program will do both when this returns, so that it has to find what was there when they were read.
pub extern "C" fn bits<const LEN: usize>(bytes: Guest<[u8; LEN]>) {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        let call = rt.call();
        access(&mut rt, bytes.area(), false, call);
        let before = bytes.get();
        access(&mut rt, bytes.area(), true, call);
        bytes.set(before);
    }
}

/// A load of many bytes. If a store of many bytes was announced just before, this is a copy whose
/// compiler says it in the wrong order: the store is announced again, after the load.
pub extern "C" fn read_range(addr: usize, len: usize) {
    // SAFETY: entered from the program, see `Rt::live`; it is about to access these bytes.
    let (Some(mut rt), area) = (unsafe { (Rt::live(), Area::at(addr, len)) }) else { return };
    let rt = &mut rt;
    let call = rt.call();
    let thread = rt.threads.me_mut();
    let pending = thread.pending.take_if(|p| p.area.len() as usize == len);
    if pending.as_ref().is_some_and(|p| p.buffered) {
        thread.buffer.pop();
    }
    access(rt, area, false, call);
    if let Some(p) = pending {
        store_step(rt, p.area, p.pc);
        check(rt, p.area, Use::Write, p.pc);
        let buffered = rt.buffer(p.area, p.order, p.pc);
        rt.threads.me_mut().pending = Some(Pending { buffered, ..p });
    }
}

/// A store of many bytes.
pub extern "C" fn write_range(addr: usize, len: usize) {
    // SAFETY: entered from the program, see `Rt::live`; it is about to access these bytes.
    if let (Some(mut rt), area) = unsafe { (Rt::live(), Area::at(addr, len)) } {
        let call = rt.call();
        access(&mut rt, area, true, call);
    }
}

/// A plain access of the current thread is about to happen; returns when it may.
pub fn access(rt: &mut Rt, area: Area, write: bool, call: Call) {
    access_with(rt, area, write, call, Sync::Usual);
}

/// The same for one that is `volatile`, or in assembly.
pub fn volatile_access(rt: &mut Rt, area: Area, write: bool, call: Call) {
    access_with(rt, area, write, call, Sync::Volatile);
}

fn access_with(rt: &mut Rt, area: Area, write: bool, call: Call, sync: Sync) {
    if area.len() == 0 {
        return;
    }
    let (pc, what) = (call.pc(), Use::of(write));
    if rt.threads.alone() {
        if !rt.shadow.is_shared(area) {
            if write {
                rt.private.store(area.addr(), area.len() as usize);
            }
            check(rt, area, what, pc);
            if !write && rt.config.trace {
                // What it has stored before comes before it.
                settle(rt);
                rt.looks(area, pc);
            }
            return;
        }
    } else if rt.config.filter {
        match rt.touch(area, write) {
            Seen::Private => {
                check(rt, area, what, pc);
                return private_access(rt, area, write, call);
            }
            Seen::Shared => {}
            Seen::News => rt.learn(area.addr(), area.len() as usize),
        }
    }
    let order = Order::Plain;
    if write {
        store_step(rt, area, pc);
        check(rt, area, what, pc);
        let buffered = rt.buffer(area, order, pc);
        let old = area.value();
        let pending = Pending { area, update: false, order, pc, old, sync, buffered };
        rt.threads.me_mut().pending = Some(pending);
    } else {
        let op = area.op(OpKind::Read);
        read_step(rt, area, op, call, None);
        rt.threads.me_mut().spin.undone.loads();
        check(rt, area, what, pc);
        rt.record(Event::new(op, order, pc).with(area.value(), None).orders(sync));
    }
}

/// An access to bytes that only the current thread has touched is no step, unless the thread seems
/// to wait for them.
fn private_access(rt: &mut Rt, area: Area, write: bool, call: Call) {
    if write {
        return rt.private.store(area.addr(), area.len() as usize);
    }
    match rt.private.long() {
        Long::No => {}
        Long::LetOthers => let_others(rt),
        Long::LookedAt => {
            settle(rt);
            if rt.spins(call, area, 0) != Idle::No {
                step_conditional(rt, area.op(OpKind::Read), None);
                rt.threads.me_mut().spin.go();
            }
        }
    }
}

/// Announces a load, or what may turn out to be one.
pub fn read_step(rt: &mut Rt, area: Area, op: Op, call: Call, varying: Option<Varying>) {
    if rt.threads.alone() {
        if varying.is_none() {
            look_for_endless_wait(rt, area, call);
        }
        return step(rt, op);
    }
    settle(rt);
    channels::enter(rt, area);
    let expected = match varying {
        Some(Varying::Exchange(_, expected)) => expected as u64 ^ (expected >> 64) as u64,
        _ => 0,
    };
    let idle = rt.spins(call, area, expected);
    if idle != Idle::No {
        channels::leave(rt);
    }
    // Transactions end where they do: a round within one belongs to it.
    // In virtual time, who sleeps goes on only when all others wait, so that executions without this round are not explored.
    let explored_without = rt.config.transactions.is_none() && !rt.config.virtual_time;
    let again = rt.threads.me().spin.is_again() && explored_without;
    let undone = rt.undone(call, area);
    if idle == Idle::No && varying.is_none() && !again && undone == 0 {
        step(rt, op);
    } else {
        let thread = rt.threads.me_mut();
        (thread.again, thread.undone) = (again, undone);
        step_conditional(rt, op, varying);
    }
    rt.threads.me_mut().spin.go();
}

/// The last loads of an execution that will have too many steps, by the only thread that is left: if they
/// are those of a loop that does the same again and again, nobody will ever end it.
fn look_for_endless_wait(rt: &mut Rt, area: Area, call: Call) {
    const LOOKED_AT: u64 = 64;
    const LAST: u64 = 8;
    let left = rt.config.steps.saturating_sub(rt.exploration.steps());
    if left > LOOKED_AT {
        return;
    }
    settle(rt);
    // Time that passes, and chance, may end it.
    let expected = rt.clock.state();
    if rt.spins(call, area, expected) == Idle::Certain && left < LAST {
        let me = rt.threads.current();
        rt.related_finding("livelock", None, 0, "main loops", &[("loops", Some(me), call.pc())]);
        finish(rt, Ended::Deadlock);
    }
}

impl Runtime {
    /// The current thread touches bytes while others are there.
    fn touch(&mut self, area: Area, write: bool) -> Seen {
        let (me, addr, len) = (self.threads.current(), area.addr(), area.len() as usize);
        if let Some(of) = stack_of(addr)
            && of != me
            && of < self.threads.count()
            // Rust sees to it that variables outlive their users, by counts whose order is not explored.
            && self.config.quiet_traps.is_empty()
            && self.frames.lend(of, addr, len)
        {
            // Functions that have begun did not say so.
            self.start_again();
        }
        self.shadow.touch(me, area, write)
    }

    /// The current thread reads bytes in code that is not instrumented. Whether others touch them.
    pub fn notices_read(&mut self, area: Area) -> bool {
        match self.threads.alone() {
            true => return self.shadow.is_shared(area),
            false if !self.config.filter => return true,
            false => {}
        }
        match self.touch(area, false) {
            Seen::Private => false,
            Seen::Shared => true,
            Seen::News => {
                self.learn(area.addr(), area.len() as usize);
                true
            }
        }
    }

    /// The current thread touches bytes by a step in any case: if that makes them shared, the
    /// exploration starts again.
    pub fn touch_by_step(&mut self, area: Area, write: bool) {
        if !self.threads.alone() && self.config.filter && self.touch(area, write) == Seen::News {
            self.learn(area.addr(), area.len() as usize);
        }
    }
}
