//! Read-write locks and spin locks.
//!
//! Nobody can tell in which order readers take a lock and free it. So these steps may be exchanged with each other, but not
//! with those of writers. An attempt that may fail, or one that ends at a time, is in an order with all others; so is
//! who frees a lock that another thread has taken for reading, because that is an error if it comes before.

use weakspot_core::Model;
use weakspot_live::{OpKind, Order, Sync};

use crate::access::atomics::full;
use crate::entry::frame::stand_in;
use crate::entry::guest::{Guest, Question};
use crate::execution::monitors::Event;
use crate::memory::check::check_object;
use crate::report::thread_name;
use crate::schedule::threads::{Patience, Varying};
use crate::schedule::turns::store_step;
use crate::sync::locks::{
    done, done_with, free_word, look, me, op, taken, try_step, turn, turn_to_end, wait_for,
};
use crate::sync::misuse::{destroyed, misuse};
use crate::sync::mutex::{GONE, RW_LOCK, RwLock, SPIN_LOCK};
use crate::{Rt, Runtime};

/// The flags of a lock that readers wait for while a writer does, even if they have it already.
const WRITERS_FIRST: u32 = 2;

fn can_read(lock: Guest<RwLock>) -> bool {
    lock.get().writer == 0
}

pub(super) fn can_write(lock: Guest<RwLock>) -> bool {
    let lock = lock.get();
    lock.writer == 0 && lock.readers == 0
}

/// How a thread wants a read-write lock.
#[derive(Clone, Copy)]
enum Wish {
    /// Waits for it.
    Wait,
    /// Waits for some time.
    Timed,
    /// Does not wait.
    Try,
}

fn usable(rt: &mut Rt, lock: Guest<RwLock>, what: &str, pc: usize) {
    if lock.get().gone == GONE {
        misuse(rt, lock.addr(), pc, &format!("{what} a read-write lock that was destroyed"));
    }
}

fn rw_lock(rt: &mut Rt, lock: Guest<RwLock>, write: bool, wish: Wish) -> i32 {
    let call = rt.call();
    if !write && lock.get().flags == WRITERS_FIRST {
        rt.unsupported("pthread_rwlock_rdlock of a lock that prefers writers", call.pc());
    }
    let me = me(rt);
    let free = if write { can_write } else { can_read };
    let patience = match wish {
        Wish::Wait => Patience::Endless,
        Wish::Timed => Patience::Timed,
        Wish::Try => {
            let kind: fn(Guest<RwLock>) -> OpKind =
                if write { |l| look(can_write(l)) } else { |l| look(can_read(l)) };
            let varying = Varying::Object(Question::about(lock, kind));
            try_step(rt, op(OpKind::Update, lock, RW_LOCK), varying, call);
            usable(rt, lock, "locks", call.pc());
            if !free(lock) {
                done(rt, op(OpKind::Read, lock, RW_LOCK), call.pc());
                return libc::EBUSY;
            }
            return take_rw(rt, lock, write, call.pc());
        }
    };
    if lock.get().writer == me {
        return libc::EDEADLK;
    }
    let shares = !write && patience == Patience::Endless && rt.lets_steps_commute();
    let acquire = op(if shares { OpKind::Share } else { OpKind::Acquire }, lock, RW_LOCK);
    let got = wait_for(rt, acquire, Question::about(lock, free), patience, call);
    usable(rt, lock, "locks", call.pc());
    if !got {
        done(rt, op(OpKind::Compare, lock, RW_LOCK), call.pc());
        return libc::ETIMEDOUT;
    }
    take_rw(rt, lock, write, call.pc())
}

fn take_rw(rt: &mut Runtime, lock: Guest<RwLock>, write: bool, pc: usize) -> i32 {
    let state = lock.get();
    lock.set(if write {
        RwLock { writer: me(rt), ..state }
    } else {
        RwLock { readers: state.readers + 1, ..state }
    });
    if state.readers > 0 {
        let me = rt.threads.current();
        rt.owners.share(lock.addr(), me);
    } else {
        // Whoever is known to have had it had what was there before.
        taken(rt, lock.addr());
    }
    done_as(rt, OpKind::Acquire, lock, pc, write);
    0
}

/// The current thread has taken or freed a lock.
fn done_as(rt: &mut Runtime, kind: OpKind, lock: Guest<RwLock>, pc: usize, write: bool) {
    let op = op(kind, lock, RW_LOCK);
    if write || !rt.lets_steps_commute() {
        let sync = if write { Sync::Lock } else { Sync::Reader };
        return done_with(rt, op, pc, sync);
    }
    let spin = &mut rt.threads.me_mut().spin;
    if kind == OpKind::Acquire {
        spin.locked()
    } else {
        spin.unlocked()
    }
    rt.record_unordered(Event::new(op, Order::SeqCst, pc).orders(Sync::Reader));
}

stand_in! {
    fn pthread_rwlock_destroy(rt, lock: Guest<RwLock>) -> i32 {
        let pc = rt.pc();
        turn_to_end(rt, lock, RW_LOCK, pc);
        usable(rt, lock, "destroys", pc);
        let state = lock.get();
        if state.writer != 0 {
            let text = format!("destroys a read-write lock that {} holds", thread_name(state.writer as usize - 1));
            misuse(rt, lock.addr(), pc, &text);
        }
        if state.readers != 0 {
            misuse(rt, lock.addr(), pc, "destroys a read-write lock that is held");
        }
        lock.set(RwLock { gone: GONE, ..state });
        destroyed(rt, lock.addr(), pc);
        0
    }

    fn pthread_rwlock_rdlock(rt, lock: Guest<RwLock>) -> i32 {
        rw_lock(rt, lock, false, Wish::Wait)
    }

    fn pthread_rwlock_tryrdlock(rt, lock: Guest<RwLock>) -> i32 {
        rw_lock(rt, lock, false, Wish::Try)
    }

    fn pthread_rwlock_timedrdlock(rt, lock: Guest<RwLock>, until: usize) -> i32 {
        rt.wait_until(until, false);
        rw_lock(rt, lock, false, Wish::Timed)
    }

    fn pthread_rwlock_clockrdlock(rt, lock: Guest<RwLock>, clock: i32, until: usize) -> i32 {
        let _ = clock;
        rt.wait_until(until, false);
        rw_lock(rt, lock, false, Wish::Timed)
    }

    fn pthread_rwlock_wrlock(rt, lock: Guest<RwLock>) -> i32 {
        rw_lock(rt, lock, true, Wish::Wait)
    }

    fn pthread_rwlock_trywrlock(rt, lock: Guest<RwLock>) -> i32 {
        rw_lock(rt, lock, true, Wish::Try)
    }

    fn pthread_rwlock_timedwrlock(rt, lock: Guest<RwLock>, until: usize) -> i32 {
        rt.wait_until(until, false);
        rw_lock(rt, lock, true, Wish::Timed)
    }

    fn pthread_rwlock_clockwrlock(rt, lock: Guest<RwLock>, clock: i32, until: usize) -> i32 {
        let _ = clock;
        rt.wait_until(until, false);
        rw_lock(rt, lock, true, Wish::Timed)
    }

    fn pthread_rwlock_unlock(rt, lock: Guest<RwLock>) -> i32 {
        let pc = rt.pc();
        let thread = rt.threads.current();
        // Who is known to have one that nobody reads had what was there before.
        let reads = |state: RwLock| state.readers > 0 && rt.owners.has(lock.addr(), thread);
        // When a reader leaves, another could have come before.
        let kind = match lock.get() {
            state if state.writer != 0 => OpKind::Release,
            state if rt.lets_steps_commute() && reads(state) => OpKind::Add,
            _ => OpKind::Update,
        };
        turn(rt, op(kind, lock, RW_LOCK), pc);
        usable(rt, lock, "unlocks", pc);
        let state = lock.get();
        if state.writer == 0 && state.readers == 0 {
            misuse(rt, lock.addr(), pc, "unlocks a read-write lock that nobody holds");
        }
        if state.writer != 0 && state.writer != me(rt) {
            let text = format!("unlocks a read-write lock that {} holds", thread_name(state.writer as usize - 1));
            misuse(rt, lock.addr(), pc, &text);
        }
        lock.set(if state.writer != 0 {
            RwLock { writer: 0, ..state }
        } else {
            RwLock { readers: state.readers.saturating_sub(1), ..state }
        });
        if state.readers <= 1 {
            rt.owners.free(lock.addr());
        } else {
            rt.owners.leave(lock.addr(), thread);
        }
        done_as(rt, OpKind::Release, lock, pc, state.writer != 0);
        0
    }
}

fn spin_usable(rt: &mut Rt, lock: Guest<u32>, what: &str, pc: usize) {
    if lock.get() == GONE {
        misuse(rt, lock.addr(), pc, &format!("{what} a spin lock that was destroyed"));
    }
}

/// One that was destroyed is nothing to wait for.
pub(super) fn spin_is_free(lock: Guest<u32>) -> bool {
    matches!(lock.get(), 0 | GONE)
}

// Spin locks are one word: 0 when free, which is not what glibc writes into them, otherwise the number of their owner
// plus one.
stand_in! {
    fn pthread_spin_destroy(rt, lock: Guest<u32>) -> i32 {
        let pc = rt.pc();
        turn_to_end(rt, lock, SPIN_LOCK, pc);
        spin_usable(rt, lock, "destroys", pc);
        if lock.get() != 0 {
            misuse(rt, lock.addr(), pc, "destroys a spin lock that is held");
        }
        lock.set(GONE);
        destroyed(rt, lock.addr(), pc);
        0
    }

    fn pthread_spin_lock(rt, lock: Guest<u32>) -> i32 {
        let call = rt.call();
        let op = op(OpKind::Acquire, lock, SPIN_LOCK);
        wait_for(rt, op, Question::about(lock, spin_is_free), Patience::Endless, call);
        spin_usable(rt, lock, "locks", call.pc());
        lock.set(me(rt));
        taken(rt, lock.addr());
        done(rt, op, call.pc());
        0
    }

    fn pthread_spin_trylock(rt, lock: Guest<u32>) -> i32 {
        let call = rt.call();
        try_step(rt, op(OpKind::Update, lock, SPIN_LOCK), free_word(lock), call);
        spin_usable(rt, lock, "locks", call.pc());
        if lock.get() != 0 {
            done(rt, op(OpKind::Compare, lock, SPIN_LOCK), call.pc());
            return libc::EBUSY;
        }
        lock.set(me(rt));
        taken(rt, lock.addr());
        done(rt, op(OpKind::Acquire, lock, SPIN_LOCK), call.pc());
        0
    }

    fn pthread_spin_unlock(rt, lock: Guest<u32>) -> i32 {
        let pc = rt.pc();
        // It is a store with release order, which may wait in a buffer.
        let (op, area) = (op(OpKind::Release, lock, SPIN_LOCK), lock.area());
        if rt.stores_are_buffered() {
            if rt.config.under != Model::Tso {
                full(rt, OpKind::StoreFence, Order::Release, pc);
            }
            store_step(rt, area, pc);
            check_object(rt, area, pc);
        } else {
            turn(rt, op, pc);
        }
        spin_usable(rt, lock, "unlocks", pc);
        if lock.get() == 0 {
            misuse(rt, lock.addr(), pc, "unlocks a spin lock that nobody holds");
        }
        if lock.get() != me(rt) {
            let text = format!("unlocks a spin lock that {} holds", thread_name(lock.get() as usize - 1));
            misuse(rt, lock.addr(), pc, &text);
        }
        let held_by = lock.get();
        let buffered = rt.buffer(area, Order::Release, pc);
        lock.set(0);
        if buffered {
            rt.threads.me_mut().buffer.settle();
        }
        rt.owners.free(lock.addr());
        rt.threads.me_mut().spin.unlocked();
        let event = Event::new(area.op(OpKind::Write), Order::Release, pc);
        rt.record(event.with(0, Some(u64::from(held_by))));
        0
    }
}
