//! Plain loads and stores of the program, which are announced before they happen.

use weakspot_core::Model;
use weakspot_live::{Op, OpKind};

use crate::entry::frame::{Frame, frame};
use crate::memory::shadow::{Seen, Shadow};
use crate::runtime::{Runtime, live};
use crate::schedule::spin::{self, Idle};
use crate::schedule::threads::{self, Varying, happened, settle, step, step_special};

/// What the source says about the order of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Plain,
    /// It is volatile.
    Volatile,
    /// Relaxed atomic.
    Relaxed,
    /// Acquire or consume.
    Acquire,
    /// Release.
    Release,
    /// Acquire and release.
    AcquireRelease,
    /// Sequentially consistent.
    Strong,
}

impl From<Order> for weakspot_live::Order {
    fn from(order: Order) -> weakspot_live::Order {
        match order {
            Order::Plain | Order::Volatile => weakspot_live::Order::Plain,
            Order::Relaxed => weakspot_live::Order::Relaxed,
            Order::Acquire => weakspot_live::Order::Acquire,
            Order::Release => weakspot_live::Order::Release,
            Order::AcquireRelease => weakspot_live::Order::AcqRel,
            Order::Strong => weakspot_live::Order::SeqCst,
        }
    }
}

impl Order {
    /// The order that a compiler passes as this number.
    pub fn of(number: i32) -> Order {
        match number & 0x7fff {
            0 => Order::Relaxed,
            1 | 2 => Order::Acquire,
            3 => Order::Release,
            4 => Order::AcquireRelease,
            _ => Order::Strong,
        }
    }
}

/// A store that was announced, has its turn, and is done when its thread calls the next time.
pub struct Pending {
    /// The store.
    pub op: Op,
    /// Its order.
    pub order: Order,
    /// From where.
    pub pc: usize,
    /// What was there before.
    pub old: u64,
    /// Whether it goes into the buffer of its thread.
    pub buffered: bool,
}

/// Whether an access needs more than a look at one cell.
pub unsafe extern "C" fn quick<const LEN: usize, const WRITE: bool>(addr: usize) -> bool {
    let rt = live();
    if rt.is_null() {
        return false;
    }
    let cell = Shadow::cell(addr);
    if cell.is_null() {
        return true;
    }
    let mine = (*rt).mine;
    let written = (*rt).mine_written;
    let known = if LEN <= 4 && addr & 3 <= 4 - LEN {
        let cell = *cell;
        cell == written || (!WRITE && cell == mine)
    } else if LEN == 8 && addr & 7 == 0 {
        let cell = *cell.cast::<u32>();
        let twice = |mark: u16| u32::from(mark) << 16 | u32::from(mark);
        cell == twice(written) || (!WRITE && cell == twice(mine))
    } else {
        false
    };
    if WRITE {
        if known {
            spin::private_store(rt, addr, LEN);
        }
    } else {
        (*rt).quiet += 1;
    }
    !known || (*rt).quiet > QUIET
}

/// After so many loads without a step, a thread may wait for bytes of which nobody knows yet that
/// they are shared: so many loads more are looked at.
const QUIET: u32 = 10_000;
const LOOKED_AT: u32 = 200;
/// After so many times of that the thread may go on for ever, with stores to bytes of which nobody
/// knows yet that they are shared: others come first.
const ROUNDS: u32 = 20;

/// A load or store of `LEN` bytes.
pub unsafe extern "C" fn slow<const LEN: usize, const WRITE: bool, const VOLATILE: bool>(
    addr: usize,
) {
    let order = if VOLATILE { Order::Volatile } else { Order::Plain };
    access(addr, LEN, WRITE, order, frame());
}

/// A load of `LEN` bytes and a store to them.
pub unsafe extern "C" fn slow_both<const LEN: usize>(addr: usize) {
    let frame = frame();
    access(addr, LEN, false, Order::Plain, frame);
    access(addr, LEN, true, Order::Plain, frame);
}

/// A store to some bits of `LEN` bytes: the bytes are read, and then all of them are written. The
/// program will do both when this returns, so that it has to find what was there when they were read.
pub unsafe extern "C" fn bits<const LEN: usize>(addr: usize) {
    let frame = frame();
    if live().is_null() {
        return;
    }
    access(addr, LEN, false, Order::Plain, frame);
    let before = (addr as *const [u8; LEN]).read();
    access(addr, LEN, true, Order::Plain, frame);
    (addr as *mut [u8; LEN]).write(before);
}

/// A load of many bytes. If a store of many bytes was announced just before, this is a copy whose
/// compiler says it in the wrong order: the store is announced again, after the load.
pub unsafe extern "C" fn read_range(addr: usize, len: usize) {
    let rt = live();
    let frame = frame();
    if rt.is_null() {
        return;
    }
    let me = (*rt).current;
    let thread = &mut (&mut (*rt).threads)[me];
    let pending = thread.pending.take_if(|p| p.op.len as usize == len);
    if pending.as_ref().is_some_and(|p| p.buffered) {
        thread.buffer.pop();
    }
    access(addr, len, false, Order::Plain, frame);
    if let Some(p) = pending {
        step(rt, p.op);
        let buffered = buffer(rt, p.op, p.order, p.pc);
        (&mut (*rt).threads)[me].pending = Some(Pending { buffered, ..p });
    }
}

/// A store of many bytes.
pub unsafe extern "C" fn write_range(addr: usize, len: usize) {
    access(addr, len, true, Order::Plain, frame());
}

/// An access of the current thread is about to happen; returns when it may.
pub unsafe fn access(addr: usize, len: usize, write: bool, order: Order, frame: *const Frame) {
    let rt = live();
    if rt.is_null() || len == 0 {
        return;
    }
    let me = (*rt).current;
    if (*rt).alone {
        if !Shadow::is_shared(addr, len) {
            return;
        }
    } else if (*rt).config.filter {
        match (*rt).shadow.touch(me, addr, len, write) {
            Seen::Private => {
                if write {
                    spin::private_store(rt, addr, len);
                }
                if write || (*rt).quiet <= QUIET {
                    return;
                }
                (*rt).quiet += 1;
                if (*rt).quiet > QUIET + LOOKED_AT {
                    (*rt).quiet = 0;
                    (*rt).rounds += 1;
                    if (*rt).rounds >= ROUNDS {
                        (*rt).rounds = 0;
                        threads::let_others(rt);
                    }
                    return;
                }
                settle(rt);
                let len = u32::try_from(len).unwrap_or(u32::MAX);
                if spin::load(rt, frame, addr, len, 0) != Idle::No {
                    let op = Op { kind: OpKind::Read, len, addr: addr as u64 };
                    step_special(rt, op, None);
                    (&mut (*rt).threads)[me].spin.go();
                }
                return;
            }
            Seen::Shared => {}
            Seen::News => threads::learn(rt, addr, len),
        }
    }
    let pc = (*frame).pc;
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    if write {
        let op = Op { kind: OpKind::Write, len, addr: addr as u64 };
        step(rt, op);
        let buffered = buffer(rt, op, order, pc);
        let pending = Pending { op, order, pc, old: value(addr, len), buffered };
        (&mut (*rt).threads)[me].pending = Some(pending);
    } else {
        let op = Op { kind: OpKind::Read, len, addr: addr as u64 };
        read_step(rt, op, frame, None);
        happened(rt, me, op, order, pc, Some(value(addr, len)), None);
    }
}

/// A store that has its turn goes into the buffer of its thread, if there are buffers.
pub unsafe fn buffer(rt: *mut Runtime, op: Op, order: Order, pc: usize) -> bool {
    let buffered = (*rt).buffered && !(*rt).alone;
    if buffered {
        let by_place = (*rt).config.under != Model::Tso;
        let me = (*rt).current;
        (&mut (*rt).threads)[me].buffer.push(op, pc, order, by_place);
    }
    buffered
}

/// Announces a load, or what may turn out to be one.
pub unsafe fn read_step(rt: *mut Runtime, op: Op, frame: *const Frame, varying: Option<Varying>) {
    if (*rt).alone {
        return step(rt, op);
    }
    settle(rt);
    let expected = match varying {
        Some(Varying::Exchange(_, _, expected)) => expected as u64 ^ (expected >> 64) as u64,
        _ => 0,
    };
    let idle = spin::load(rt, frame, op.addr as usize, op.len, expected);
    if idle == Idle::No && varying.is_none() {
        step(rt, op);
    } else {
        step_special(rt, op, varying);
    }
    let me = (*rt).current;
    (&mut (*rt).threads)[me].spin.go();
}

/// What is in memory, as a number: the bytes themselves if there are at most eight, otherwise a
/// hash of them.
pub unsafe fn value(addr: usize, len: u32) -> u64 {
    match len {
        1 => u64::from((addr as *const u8).read_volatile()),
        2 => u64::from((addr as *const u16).read_unaligned()),
        4 => u64::from((addr as *const u32).read_unaligned()),
        8 => (addr as *const u64).read_unaligned(),
        len if len < 8 => {
            let mut bytes = [0; 8];
            (addr as *const u8).copy_to_nonoverlapping(bytes.as_mut_ptr(), len as usize);
            u64::from_le_bytes(bytes)
        }
        len => {
            let bytes = core::slice::from_raw_parts(addr as *const u8, len as usize);
            bytes.iter().fold(0, |hash, &b| {
                (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5)
            })
        }
    }
}

/// At most sixteen bytes of memory.
pub unsafe fn bytes(addr: usize, len: u32) -> u128 {
    if len == 16 { (addr as *const u128).read_unaligned() } else { value(addr, len).into() }
}
