//! Mutexes, read-write locks and spin locks. Their state is in the program's own objects, so that it
//! is restored with them, and objects that were initialised statically need nothing else.

use weakspot_live::{Op, OpKind, Order, Sync};

use crate::access::pending::settle;
use crate::access::plain::read_step;
use crate::entry::frame::{Call, stand_in};
use crate::entry::guest::{Area, Guest, Question};
use crate::execution::monitors::Event;
use crate::schedule::threads::{Patience, Until, Varying};
use crate::schedule::turns::{step, wait};
use crate::{Rt, Runtime};

/// What of `pthread_mutex_t` we use, where glibc has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Mutex {
    held: u32,
    count: u32,
    /// The number of the thread that holds it, plus one.
    owner: u32,
    users: u32,
    kind: i32,
}

const MUTEX: u32 = 40;
const RECURSIVE: i32 = 1;
const CHECKED: i32 = 2;

impl Mutex {
    fn kind(self) -> i32 {
        self.kind & 3
    }

    fn is_held_by(self, thread: u32) -> bool {
        self.held != 0 && self.owner == thread
    }
}

/// What of `pthread_rwlock_t` we use.
#[derive(Clone, Copy)]
#[repr(C)]
struct RwLock {
    readers: u32,
    unused: [u32; 5],
    /// The number of the thread that writes, plus one.
    writer: u32,
}

const RW_LOCK: u32 = 56;
const SPIN_LOCK: u32 = 4;

/// A step that is about an object of this size.
pub(super) fn op<T: Copy>(kind: OpKind, object: Guest<T>, len: u32) -> Op {
    Op { kind, len, addr: object.addr() as u64 }
}

/// How objects name the current thread.
fn me(rt: &Runtime) -> u32 {
    rt.threads.current() as u32 + 1
}

/// The current thread has taken or freed a lock, or has found that it cannot.
fn done(rt: &mut Runtime, op: Op, pc: usize) {
    // An attempt that failed says nothing about what others did.
    let sync = if op.kind == OpKind::Compare { Sync::Nothing } else { Sync::Usual };
    done_with(rt, op, pc, sync);
}

fn done_with(rt: &mut Runtime, op: Op, pc: usize, sync: Sync) {
    let spin = &mut rt.threads.me_mut().spin;
    match op.kind {
        OpKind::Acquire => spin.locked(),
        OpKind::Release => spin.unlocked(),
        _ => {}
    }
    rt.record(Event::new(op, Order::SeqCst, pc).orders(sync));
}

/// Announces that a lock is taken; returns when it is this thread's turn. Whether it can.
fn wait_for(rt: &mut Rt, op: Op, free: Question<bool>, patience: Patience, call: Call) -> bool {
    if !rt.threads.alone() {
        settle(rt);
        rt.spins(call, Area::place(op.addr as usize), 0);
    }
    wait(rt, op, Until::Object(free), patience)
}

/// Announces an attempt to take a lock that is an update only if it succeeds.
pub(super) fn try_step(rt: &mut Rt, op: Op, varying: Varying, call: Call) {
    // SAFETY: the bytes are those of the object that the program passed.
    let area = unsafe { Area::at(op.addr as usize, op.len as usize) };
    read_step(rt, area, op, call, Some(varying));
}

fn mutex_is_free(mutex: Guest<Mutex>) -> bool {
    mutex.get().held == 0
}

/// Takes a mutex, after waiting for it; 0 or an error.
pub fn lock(rt: &mut Rt, mutex: Guest<Mutex>, patience: Patience) -> i32 {
    let call = rt.call();
    let state = mutex.get();
    if state.is_held_by(me(rt)) {
        match state.kind() {
            RECURSIVE => {
                mutex.set(Mutex { count: state.count + 1, ..state });
                return 0;
            }
            CHECKED => return libc::EDEADLK,
            _ => {}
        }
    }
    let free = Question::about(mutex, mutex_is_free);
    if !wait_for(rt, op(OpKind::Acquire, mutex, MUTEX), free, patience, call) {
        return libc::ETIMEDOUT;
    }
    take(rt, mutex, call.pc());
    0
}

/// Takes a mutex again that a wait has freed.
pub fn relock(rt: &mut Rt, mutex: Guest<Mutex>, pc: usize) {
    let free = Until::Object(Question::about(mutex, mutex_is_free));
    wait(rt, op(OpKind::Acquire, mutex, MUTEX), free, Patience::Endless);
    take(rt, mutex, pc);
}

fn take(rt: &mut Runtime, mutex: Guest<Mutex>, pc: usize) {
    mutex.set(Mutex { held: 1, count: 1, owner: me(rt), ..mutex.get() });
    done(rt, op(OpKind::Acquire, mutex, MUTEX), pc);
}

/// Takes a mutex if it is free.
pub fn try_lock(rt: &mut Rt, mutex: Guest<Mutex>) -> i32 {
    let call = rt.call();
    let state = mutex.get();
    if state.is_held_by(me(rt)) && state.kind() == RECURSIVE {
        mutex.set(Mutex { count: state.count + 1, ..state });
        return 0;
    }
    let varying = free_word(mutex);
    try_step(rt, op(OpKind::Update, mutex, MUTEX), varying, call);
    if mutex.get().held != 0 {
        done(rt, op(OpKind::Compare, mutex, MUTEX), call.pc());
        return libc::EBUSY;
    }
    take(rt, mutex, call.pc());
    0
}

/// A step that is an update if the first word of an object is 0.
fn free_word<T: Copy>(object: Guest<T>) -> Varying {
    // SAFETY: the objects that this is asked for begin with a word.
    Varying::Exchange(unsafe { Area::at(object.addr(), 4) }, 0)
}

/// Frees a mutex.
pub fn unlock(rt: &mut Rt, mutex: Guest<Mutex>, pc: usize) -> i32 {
    let state = mutex.get();
    let kind = state.kind();
    if (kind == RECURSIVE || kind == CHECKED) && !state.is_held_by(me(rt)) {
        return libc::EPERM;
    }
    if kind == RECURSIVE && state.count > 1 {
        mutex.set(Mutex { count: state.count - 1, ..state });
        return 0;
    }
    let op = op(OpKind::Release, mutex, MUTEX);
    step(rt, op);
    mutex.set(Mutex { held: 0, count: 0, owner: 0, ..mutex.get() });
    done(rt, op, pc);
    0
}

stand_in! {
    fn pthread_mutex_lock(rt, mutex: Guest<Mutex>) -> i32 {
        lock(rt, mutex, Patience::Endless)
    }

    fn pthread_mutex_trylock(rt, mutex: Guest<Mutex>) -> i32 {
        try_lock(rt, mutex)
    }

    fn pthread_mutex_timedlock(rt, mutex: Guest<Mutex>, until: usize) -> i32 {
        let _ = until;
        lock(rt, mutex, Patience::Timed)
    }

    fn pthread_mutex_clocklock(rt, mutex: Guest<Mutex>, clock: i32, until: usize) -> i32 {
        let _ = (clock, until);
        lock(rt, mutex, Patience::Timed)
    }

    fn pthread_mutex_unlock(rt, mutex: Guest<Mutex>) -> i32 {
        let pc = rt.pc();
        unlock(rt, mutex, pc)
    }
}

fn can_read(lock: Guest<RwLock>) -> bool {
    lock.get().writer == 0
}

fn can_write(lock: Guest<RwLock>) -> bool {
    let lock = lock.get();
    lock.writer == 0 && lock.readers == 0
}

/// What an attempt is that succeeds, or not.
pub(super) fn attempt(succeeds: bool) -> OpKind {
    if succeeds { OpKind::Update } else { OpKind::Compare }
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

fn rw_lock(rt: &mut Rt, lock: Guest<RwLock>, write: bool, wish: Wish) -> i32 {
    let call = rt.call();
    let me = me(rt);
    let free = if write { can_write } else { can_read };
    let patience = match wish {
        Wish::Wait => Patience::Endless,
        Wish::Timed => Patience::Timed,
        Wish::Try => {
            let kind: fn(Guest<RwLock>) -> OpKind =
                if write { |l| attempt(can_write(l)) } else { |l| attempt(can_read(l)) };
            let varying = Varying::Object(Question::about(lock, kind));
            try_step(rt, op(OpKind::Update, lock, RW_LOCK), varying, call);
            if !free(lock) {
                done(rt, op(OpKind::Compare, lock, RW_LOCK), call.pc());
                return libc::EBUSY;
            }
            return take_rw(rt, lock, write, call.pc());
        }
    };
    if lock.get().writer == me {
        return libc::EDEADLK;
    }
    let acquire = op(OpKind::Acquire, lock, RW_LOCK);
    if !wait_for(rt, acquire, Question::about(lock, free), patience, call) {
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
    let sync = if write { Sync::Usual } else { Sync::Reader };
    done_with(rt, op(OpKind::Acquire, lock, RW_LOCK), pc, sync);
    0
}

stand_in! {
    fn pthread_rwlock_rdlock(rt, lock: Guest<RwLock>) -> i32 {
        rw_lock(rt, lock, false, Wish::Wait)
    }

    fn pthread_rwlock_tryrdlock(rt, lock: Guest<RwLock>) -> i32 {
        rw_lock(rt, lock, false, Wish::Try)
    }

    fn pthread_rwlock_timedrdlock(rt, lock: Guest<RwLock>, until: usize) -> i32 {
        let _ = until;
        rw_lock(rt, lock, false, Wish::Timed)
    }

    fn pthread_rwlock_clockrdlock(rt, lock: Guest<RwLock>, clock: i32, until: usize) -> i32 {
        let _ = (clock, until);
        rw_lock(rt, lock, false, Wish::Timed)
    }

    fn pthread_rwlock_wrlock(rt, lock: Guest<RwLock>) -> i32 {
        rw_lock(rt, lock, true, Wish::Wait)
    }

    fn pthread_rwlock_trywrlock(rt, lock: Guest<RwLock>) -> i32 {
        rw_lock(rt, lock, true, Wish::Try)
    }

    fn pthread_rwlock_timedwrlock(rt, lock: Guest<RwLock>, until: usize) -> i32 {
        let _ = until;
        rw_lock(rt, lock, true, Wish::Timed)
    }

    fn pthread_rwlock_clockwrlock(rt, lock: Guest<RwLock>, clock: i32, until: usize) -> i32 {
        let _ = (clock, until);
        rw_lock(rt, lock, true, Wish::Timed)
    }

    fn pthread_rwlock_unlock(rt, lock: Guest<RwLock>) -> i32 {
        let pc = rt.pc();
        // When a reader leaves, another could have come before.
        let kind = if lock.get().writer != 0 { OpKind::Release } else { OpKind::Update };
        step(rt, op(kind, lock, RW_LOCK));
        let state = lock.get();
        lock.set(if state.writer != 0 {
            RwLock { writer: 0, ..state }
        } else {
            RwLock { readers: state.readers.saturating_sub(1), ..state }
        });
        let sync = if state.writer != 0 { Sync::Usual } else { Sync::Reader };
        done_with(rt, op(OpKind::Release, lock, RW_LOCK), pc, sync);
        0
    }
}

// Spin locks are one word: 0 when free, which is not what glibc writes into them.
stand_in! {
    fn pthread_spin_init(_rt, lock: Guest<u32>, shared: i32) -> i32 {
        let _ = shared;
        lock.set(0);
        0
    }

    fn pthread_spin_lock(rt, lock: Guest<u32>) -> i32 {
        let call = rt.call();
        let op = op(OpKind::Acquire, lock, SPIN_LOCK);
        let free = Question::about(lock, |lock: Guest<u32>| lock.get() == 0);
        wait_for(rt, op, free, Patience::Endless, call);
        lock.set(1);
        done(rt, op, call.pc());
        0
    }

    fn pthread_spin_trylock(rt, lock: Guest<u32>) -> i32 {
        let call = rt.call();
        try_step(rt, op(OpKind::Update, lock, SPIN_LOCK), free_word(lock), call);
        if lock.get() != 0 {
            done(rt, op(OpKind::Compare, lock, SPIN_LOCK), call.pc());
            return libc::EBUSY;
        }
        lock.set(1);
        done(rt, op(OpKind::Acquire, lock, SPIN_LOCK), call.pc());
        0
    }

    fn pthread_spin_unlock(rt, lock: Guest<u32>) -> i32 {
        let pc = rt.pc();
        let op = op(OpKind::Release, lock, SPIN_LOCK);
        step(rt, op);
        lock.set(0);
        done(rt, op, pc);
        0
    }
}
