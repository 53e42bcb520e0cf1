//! Mutexes, read-write locks and spin locks. Their state is in the program's own objects, so that it
//! is restored with them, and objects that were initialised statically need nothing else.

use weakspot_live::{Op, OpKind};

use crate::access::plain::{Order, read_step};
use crate::entry::frame::{Frame, caller, entry, frame};
use crate::entry::native::native;
use crate::runtime::{Runtime, live};
use crate::schedule::spin;
use crate::schedule::threads::{Patience, Ready, Varying, happened, settle, step, wait};

/// What of `pthread_mutex_t` we use, where glibc has it.
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

/// What of `pthread_rwlock_t` we use.
#[repr(C)]
struct RwLock {
    readers: u32,
    unused: [u32; 5],
    /// The number of the thread that writes, plus one.
    writer: u32,
}

const RW_LOCK: u32 = 56;

fn op(kind: OpKind, addr: usize, len: u32) -> Op {
    Op { kind, len, addr: addr as u64 }
}

/// The current thread has taken or freed a lock.
unsafe fn done(rt: *mut Runtime, op: Op, pc: usize) {
    let me = (*rt).current;
    let held = &mut (&mut (*rt).threads)[me].held;
    match op.kind {
        OpKind::Acquire => *held += 1,
        OpKind::Release => *held = held.saturating_sub(1),
        _ => {}
    }
    happened(rt, me, op, Order::Strong, pc, None, None);
}

unsafe fn mutex_free(_rt: *mut Runtime, _thread: usize, mutex: usize) -> bool {
    (*(mutex as *const Mutex)).held == 0
}

/// Announces that a lock is taken; returns when it is this thread's turn. Whether it can.
unsafe fn wait_for(
    rt: *mut Runtime,
    op: Op,
    ready: Ready,
    patience: Patience,
    frame: *const Frame,
) -> bool {
    if !(*rt).alone {
        settle(rt);
        spin::load(rt, frame, op.addr as usize, 0, 0);
    }
    wait(rt, op, ready, op.addr as usize, patience)
}

/// Takes a mutex, after waiting for it; 0 or an error.
pub unsafe fn lock(
    rt: *mut Runtime,
    mutex: *mut Mutex,
    patience: Patience,
    frame: *const Frame,
) -> i32 {
    let pc = (*frame).pc;
    let me = (*rt).current as u32 + 1;
    if (*mutex).held != 0 && (*mutex).owner == me {
        match (*mutex).kind & 3 {
            RECURSIVE => {
                (*mutex).count += 1;
                return 0;
            }
            CHECKED => return libc::EDEADLK,
            _ => {}
        }
    }
    let op = op(OpKind::Acquire, mutex as usize, MUTEX);
    if !wait_for(rt, op, mutex_free, patience, frame) {
        return libc::ETIMEDOUT;
    }
    take(rt, mutex, pc);
    0
}

/// Takes a mutex again that a wait has freed.
pub unsafe fn relock(rt: *mut Runtime, mutex: *mut Mutex, pc: usize) {
    let op = op(OpKind::Acquire, mutex as usize, MUTEX);
    wait(rt, op, mutex_free, mutex as usize, Patience::Endless);
    take(rt, mutex, pc);
}

unsafe fn take(rt: *mut Runtime, mutex: *mut Mutex, pc: usize) {
    (*mutex).held = 1;
    (*mutex).count = 1;
    (*mutex).owner = (*rt).current as u32 + 1;
    done(rt, op(OpKind::Acquire, mutex as usize, MUTEX), pc);
}

/// Takes a mutex if it is free.
pub unsafe fn try_lock(rt: *mut Runtime, mutex: *mut Mutex, frame: *const Frame) -> i32 {
    let me = (*rt).current as u32 + 1;
    let pc = (*frame).pc;
    if (*mutex).held != 0 && (*mutex).owner == me && (*mutex).kind & 3 == RECURSIVE {
        (*mutex).count += 1;
        return 0;
    }
    let addr = mutex as usize;
    let varying = Some(Varying::Exchange(addr, 4, 0));
    read_step(rt, op(OpKind::Update, addr, MUTEX), frame, varying);
    if (*mutex).held != 0 {
        done(rt, op(OpKind::Compare, addr, MUTEX), pc);
        return libc::EBUSY;
    }
    take(rt, mutex, pc);
    0
}

/// Frees a mutex.
pub unsafe fn unlock(rt: *mut Runtime, mutex: *mut Mutex, pc: usize) -> i32 {
    let me = (*rt).current as u32 + 1;
    let kind = (*mutex).kind & 3;
    if (kind == RECURSIVE || kind == CHECKED) && ((*mutex).held == 0 || (*mutex).owner != me) {
        return libc::EPERM;
    }
    if kind == RECURSIVE && (*mutex).count > 1 {
        (*mutex).count -= 1;
        return 0;
    }
    let op = op(OpKind::Release, mutex as usize, MUTEX);
    step(rt, op);
    (*mutex).held = 0;
    (*mutex).count = 0;
    (*mutex).owner = 0;
    done(rt, op, pc);
    0
}

unsafe extern "C" fn mutex_lock(mutex: *mut Mutex) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_mutex_lock(mutex: *mut Mutex) -> i32);
    }
    lock(rt, mutex, Patience::Endless, frame())
}

unsafe extern "C" fn mutex_trylock(mutex: *mut Mutex) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_mutex_trylock(mutex: *mut Mutex) -> i32);
    }
    try_lock(rt, mutex, frame())
}

unsafe extern "C" fn mutex_timedlock(mutex: *mut Mutex, until: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_mutex_timedlock(mutex: *mut Mutex, until: usize) -> i32);
    }
    lock(rt, mutex, Patience::Timed, frame())
}

unsafe extern "C" fn mutex_clocklock(mutex: *mut Mutex, clock: i32, until: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_mutex_clocklock(mutex: *mut Mutex, clock: i32, until: usize) -> i32);
    }
    lock(rt, mutex, Patience::Timed, frame())
}

unsafe extern "C" fn mutex_unlock(mutex: *mut Mutex) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_mutex_unlock(mutex: *mut Mutex) -> i32);
    }
    let pc = caller();
    unlock(rt, mutex, pc)
}

unsafe fn can_read(_rt: *mut Runtime, _thread: usize, lock: usize) -> bool {
    (*(lock as *const RwLock)).writer == 0
}

unsafe fn can_write(_rt: *mut Runtime, _thread: usize, lock: usize) -> bool {
    let lock = lock as *const RwLock;
    (*lock).writer == 0 && (*lock).readers == 0
}

unsafe fn read_kind(rt: *mut Runtime, lock: usize) -> OpKind {
    if can_read(rt, 0, lock) { OpKind::Update } else { OpKind::Compare }
}

unsafe fn write_kind(rt: *mut Runtime, lock: usize) -> OpKind {
    if can_write(rt, 0, lock) { OpKind::Update } else { OpKind::Compare }
}

/// How a thread wants a read-write lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// Waits for it.
    Wait,
    /// Waits for some time.
    Timed,
    /// Does not wait.
    Try,
}

unsafe fn rw_lock(rt: *mut Runtime, lock: *mut RwLock, write: bool, wish: Wish) -> i32 {
    let frame = frame();
    let pc = (*frame).pc;
    let me = (*rt).current as u32 + 1;
    let addr = lock as usize;
    let ready = if write { can_write } else { can_read };
    if wish == Wish::Try {
        let kind = if write { write_kind } else { read_kind };
        let varying = Some(Varying::Other(kind, addr));
        read_step(rt, op(OpKind::Update, addr, RW_LOCK), frame, varying);
        if !ready(rt, 0, addr) {
            done(rt, op(OpKind::Compare, addr, RW_LOCK), pc);
            return libc::EBUSY;
        }
    } else {
        if (*lock).writer == me {
            return libc::EDEADLK;
        }
        let op = op(OpKind::Acquire, addr, RW_LOCK);
        let patience = if wish == Wish::Timed { Patience::Timed } else { Patience::Endless };
        if !wait_for(rt, op, ready, patience, frame) {
            return libc::ETIMEDOUT;
        }
    }
    if write {
        (*lock).writer = me;
    } else {
        (*lock).readers += 1;
    }
    done(rt, op(OpKind::Acquire, addr, RW_LOCK), pc);
    0
}

macro_rules! rw_locks {
    ($($inner:ident, $name:ident, $write:expr, $patience:ident, ($($arg:ident: $t:ty),*);)*) => {$(
        unsafe extern "C" fn $inner(lock: *mut RwLock $(, $arg: $t)*) -> i32 {
            let rt = live();
            if rt.is_null() {
                return native!($name(lock: *mut RwLock $(, $arg: $t)*) -> i32);
            }
            rw_lock(rt, lock, $write, Wish::$patience)
        }
    )*};
}

rw_locks! {
    rdlock, pthread_rwlock_rdlock, false, Wait, ();
    tryrdlock, pthread_rwlock_tryrdlock, false, Try, ();
    timedrdlock, pthread_rwlock_timedrdlock, false, Timed, (until: usize);
    clockrdlock, pthread_rwlock_clockrdlock, false, Timed, (clock: i32, until: usize);
    wrlock, pthread_rwlock_wrlock, true, Wait, ();
    trywrlock, pthread_rwlock_trywrlock, true, Try, ();
    timedwrlock, pthread_rwlock_timedwrlock, true, Timed, (until: usize);
    clockwrlock, pthread_rwlock_clockwrlock, true, Timed, (clock: i32, until: usize);
}

unsafe extern "C" fn rw_unlock(lock: *mut RwLock) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_rwlock_unlock(lock: *mut RwLock) -> i32);
    }
    let pc = caller();
    // When a reader leaves, another could have come before.
    let kind = if (*lock).writer != 0 { OpKind::Release } else { OpKind::Update };
    let op = op(kind, lock as usize, RW_LOCK);
    step(rt, op);
    if (*lock).writer != 0 {
        (*lock).writer = 0;
    } else {
        (*lock).readers = (*lock).readers.saturating_sub(1);
    }
    done(rt, Op { kind: OpKind::Release, ..op }, pc);
    0
}

/// Spin locks are one word: 0 when free, which is not what glibc writes into them.
unsafe extern "C" fn spin_init(lock: *mut u32, shared: i32) -> i32 {
    if live().is_null() {
        return native!(pthread_spin_init(lock: *mut u32, shared: i32) -> i32);
    }
    *lock = 0;
    0
}

unsafe fn spin_free(_rt: *mut Runtime, _thread: usize, lock: usize) -> bool {
    *(lock as *const u32) == 0
}

unsafe extern "C" fn spin_lock(lock: *mut u32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_spin_lock(lock: *mut u32) -> i32);
    }
    let frame = frame();
    let pc = (*frame).pc;
    let op = op(OpKind::Acquire, lock as usize, 4);
    wait_for(rt, op, spin_free, Patience::Endless, frame);
    *lock = 1;
    done(rt, op, pc);
    0
}

unsafe extern "C" fn spin_trylock(lock: *mut u32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_spin_trylock(lock: *mut u32) -> i32);
    }
    let frame = frame();
    let pc = (*frame).pc;
    let addr = lock as usize;
    let varying = Some(Varying::Exchange(addr, 4, 0));
    read_step(rt, op(OpKind::Update, addr, 4), frame, varying);
    if *lock != 0 {
        done(rt, op(OpKind::Compare, addr, 4), pc);
        return libc::EBUSY;
    }
    *lock = 1;
    done(rt, op(OpKind::Acquire, addr, 4), pc);
    0
}

unsafe extern "C" fn spin_unlock(lock: *mut u32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_spin_unlock(lock: *mut u32) -> i32);
    }
    let pc = caller();
    let op = op(OpKind::Release, lock as usize, 4);
    step(rt, op);
    *lock = 0;
    done(rt, op, pc);
    0
}

entry! {
    pthread_mutex_lock => mutex_lock;
    pthread_mutex_trylock => mutex_trylock;
    pthread_mutex_timedlock => mutex_timedlock;
    pthread_mutex_clocklock => mutex_clocklock;
    pthread_mutex_unlock => mutex_unlock;
    pthread_rwlock_rdlock => rdlock;
    pthread_rwlock_tryrdlock => tryrdlock;
    pthread_rwlock_timedrdlock => timedrdlock;
    pthread_rwlock_clockrdlock => clockrdlock;
    pthread_rwlock_wrlock => wrlock;
    pthread_rwlock_trywrlock => trywrlock;
    pthread_rwlock_timedwrlock => timedwrlock;
    pthread_rwlock_clockwrlock => clockwrlock;
    pthread_rwlock_unlock => rw_unlock;
    pthread_spin_init => spin_init;
    pthread_spin_lock => spin_lock;
    pthread_spin_trylock => spin_trylock;
    pthread_spin_unlock => spin_unlock;
}
