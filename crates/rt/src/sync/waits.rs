//! Condition variables, semaphores and barriers, and the queue in which threads wait for a wake-up.
//!
//! A wake-up may go to any thread that waited when it was given: it is kept beside the queue until
//! one of them is chosen. Waiting is two steps, to enter the queue and to leave it; who waits on a
//! condition variable frees the mutex in between, while it is already in the queue, so that no
//! wake-up can be lost that would not be lost in reality.

use weakspot_live::{Op, OpKind};

use crate::access::plain::{Order, read_step};
use crate::entry::frame::{Frame, caller, entry, frame};
use crate::entry::native::native;
use crate::runtime::{Runtime, live};
use crate::schedule::spin;
use crate::schedule::threads::{
    Patience, Varying, changed, happened, settle, step, step_special, wait,
};
use crate::sync::locks::{self, Mutex};

const CONDITION: u32 = 48;
const SEMAPHORE: u32 = 32;
const BARRIER: u32 = 32;

fn op(kind: OpKind, addr: usize, len: u32) -> Op {
    Op { kind, len, addr: addr as u64 }
}

unsafe fn done(rt: *mut Runtime, op: Op, pc: usize) {
    let me = (*rt).current;
    if op.kind != OpKind::Read && op.kind != OpKind::Compare {
        changed(rt, me);
    }
    // All of them are full fences, which for monitors only what concerns locks is.
    let kind = if op.kind == OpKind::Update { OpKind::Release } else { op.kind };
    happened(rt, me, Op { kind, ..op }, Order::Strong, pc, None, None);
}

/// The current thread has entered a queue. Who leaves it for lack of patience has changed nothing in
/// the end; loops that wait for some time again and again do that.
pub unsafe fn entered(rt: *mut Runtime, op: Op, patience: Patience, pc: usize) {
    if patience != Patience::Timed {
        return done(rt, op, pc);
    }
    let me = (*rt).current;
    happened(rt, me, op, Order::Strong, pc, None, None);
}

/// What leaving a queue was.
pub fn left(op: Op, woken: bool) -> Op {
    Op { kind: if woken { OpKind::Acquire } else { OpKind::Compare }, ..op }
}

/// How many wake-ups are waiting for a thread of the queue.
unsafe fn wakes(rt: *mut Runtime, queue: usize) -> u32 {
    (&(*rt).wakes).iter().find(|w| w.0 == queue).map_or(0, |w| w.1)
}

unsafe fn set_wakes(rt: *mut Runtime, queue: usize, n: u32) {
    let wakes = &mut (*rt).wakes;
    match wakes.iter().position(|w| w.0 == queue) {
        Some(i) if n == 0 => {
            wakes.swap_remove(i);
        }
        Some(i) => wakes[i].1 = n,
        None if n > 0 => wakes.push((queue, n)),
        None => {}
    }
}

/// The current thread is in the queue from now on.
pub unsafe fn enter(rt: *mut Runtime, queue: usize) {
    let me = (*rt).current;
    (&mut (*rt).threads)[me].queue = Some((queue, false));
}

/// The current thread waits for a wake-up and leaves the queue. Whether it got one.
pub unsafe fn leave(
    rt: *mut Runtime,
    op: Op,
    queue: usize,
    patience: Patience,
    frame: *const Frame,
) -> bool {
    if patience == Patience::Timed && !(*rt).alone {
        // A loop may wait again and again.
        settle(rt);
        spin::load(rt, frame, queue, 0, 0);
    }
    let woken = wait(rt, op, is_woken, queue, patience);
    let me = (*rt).current;
    (&mut (*rt).threads)[me].queue = None;
    let left = wakes(rt, queue) - u32::from(woken);
    // Nobody keeps more wake-ups than there are threads that may take them.
    let count = (*rt).count;
    let threads = &mut (&mut (*rt).threads)[..count];
    let may = threads.iter().filter(|t| t.queue == Some((queue, true))).count() as u32;
    if left == 0 {
        threads.iter_mut().filter(|t| t.queue == Some((queue, true))).for_each(|t| {
            t.queue = Some((queue, false));
        });
    }
    set_wakes(rt, queue, left.min(may));
    woken
}

unsafe fn is_woken(rt: *mut Runtime, thread: usize, queue: usize) -> bool {
    (&(*rt).threads)[thread].queue == Some((queue, true)) && wakes(rt, queue) > 0
}

/// What giving a wake-up is: others may be there already.
pub unsafe fn wake_kind(rt: *mut Runtime, queue: usize) -> OpKind {
    if wakes(rt, queue) == 0 { OpKind::Release } else { OpKind::Update }
}

/// Gives up to `n` wake-ups to those in the queue; how many.
pub unsafe fn wake(rt: *mut Runtime, queue: usize, n: u32) -> u32 {
    let before = wakes(rt, queue);
    let count = (*rt).count;
    let threads = &mut (&mut (*rt).threads)[..count];
    let waiting = threads.iter().filter(|t| t.queue.is_some_and(|q| q.0 == queue)).count() as u32;
    let given = n.min(waiting.saturating_sub(before));
    if given > 0 {
        threads.iter_mut().filter(|t| t.queue.is_some_and(|q| q.0 == queue)).for_each(|t| {
            t.queue = Some((queue, true));
        });
        set_wakes(rt, queue, before + given);
    }
    given
}

/// Waits on a condition variable.
pub unsafe fn condition_wait(
    rt: *mut Runtime,
    condition: usize,
    mutex: *mut Mutex,
    patience: Patience,
    frame: *const Frame,
) -> i32 {
    let pc = (*frame).pc;
    let update = op(OpKind::Update, condition, CONDITION);
    step(rt, update);
    enter(rt, condition);
    entered(rt, update, patience, pc);
    let error = locks::unlock(rt, mutex, pc);
    if error != 0 {
        let me = (*rt).current;
        (&mut (*rt).threads)[me].queue = None;
        return error;
    }
    let acquire = op(OpKind::Acquire, condition, CONDITION);
    let woken = leave(rt, acquire, condition, patience, frame);
    done(rt, left(acquire, woken), pc);
    locks::relock(rt, mutex, pc);
    if woken { 0 } else { libc::ETIMEDOUT }
}

/// Wakes one or all that wait on a condition variable.
pub unsafe fn condition_wake(rt: *mut Runtime, condition: usize, n: u32, pc: usize) {
    let op = op(OpKind::Release, condition, CONDITION);
    step_special(rt, op, Some(Varying::Other(wake_kind, condition)));
    wake(rt, condition, n);
    done(rt, op, pc);
}

unsafe extern "C" fn cond_wait(condition: usize, mutex: *mut Mutex) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_cond_wait(condition: usize, mutex: *mut Mutex) -> i32);
    }
    condition_wait(rt, condition, mutex, Patience::Endless, frame())
}

unsafe extern "C" fn cond_timedwait(condition: usize, mutex: *mut Mutex, until: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_cond_timedwait(condition: usize, mutex: *mut Mutex, until: usize) -> i32);
    }
    condition_wait(rt, condition, mutex, Patience::Timed, frame())
}

unsafe extern "C" fn cond_clockwait(
    condition: usize,
    mutex: *mut Mutex,
    clock: i32,
    until: usize,
) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_cond_clockwait(condition: usize, mutex: *mut Mutex, clock: i32, until: usize) -> i32);
    }
    condition_wait(rt, condition, mutex, Patience::Timed, frame())
}

unsafe extern "C" fn cond_signal(condition: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_cond_signal(condition: usize) -> i32);
    }
    let pc = caller();
    condition_wake(rt, condition, 1, pc);
    0
}

unsafe extern "C" fn cond_broadcast(condition: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_cond_broadcast(condition: usize) -> i32);
    }
    let pc = caller();
    condition_wake(rt, condition, u32::MAX, pc);
    0
}

/// The destruction of a condition variable would wait for threads in glibc's own queue.
unsafe extern "C" fn cond_destroy(condition: usize) -> i32 {
    if live().is_null() {
        return native!(pthread_cond_destroy(condition: usize) -> i32);
    }
    0
}

unsafe fn positive(_rt: *mut Runtime, _thread: usize, semaphore: usize) -> bool {
    *(semaphore as *const u32) > 0
}

unsafe fn try_kind(_rt: *mut Runtime, semaphore: usize) -> OpKind {
    if *(semaphore as *const u32) > 0 { OpKind::Update } else { OpKind::Compare }
}

unsafe fn raise_kind(_rt: *mut Runtime, semaphore: usize) -> OpKind {
    if *(semaphore as *const u32) > 0 { OpKind::Update } else { OpKind::Release }
}

unsafe fn semaphore_wait(
    rt: *mut Runtime,
    semaphore: *mut u32,
    patience: Patience,
    frame: *const Frame,
) -> i32 {
    let pc = (*frame).pc;
    let op = op(OpKind::Acquire, semaphore as usize, SEMAPHORE);
    if patience == Patience::Timed && !(*rt).alone {
        settle(rt);
        spin::load(rt, frame, semaphore as usize, 4, 0);
    }
    if !wait(rt, op, positive, semaphore as usize, patience) {
        done(rt, left(op, false), pc);
        *libc::__errno_location() = libc::ETIMEDOUT;
        return -1;
    }
    *semaphore -= 1;
    done(rt, op, pc);
    0
}

unsafe extern "C" fn sem_wait_inner(semaphore: *mut u32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(sem_wait(semaphore: *mut u32) -> i32);
    }
    semaphore_wait(rt, semaphore, Patience::Endless, frame())
}

unsafe extern "C" fn sem_timedwait_inner(semaphore: *mut u32, until: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(sem_timedwait(semaphore: *mut u32, until: usize) -> i32);
    }
    semaphore_wait(rt, semaphore, Patience::Timed, frame())
}

unsafe extern "C" fn sem_clockwait_inner(semaphore: *mut u32, clock: i32, until: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(sem_clockwait(semaphore: *mut u32, clock: i32, until: usize) -> i32);
    }
    semaphore_wait(rt, semaphore, Patience::Timed, frame())
}

unsafe extern "C" fn sem_trywait_inner(semaphore: *mut u32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(sem_trywait(semaphore: *mut u32) -> i32);
    }
    let frame = frame();
    let pc = (*frame).pc;
    let addr = semaphore as usize;
    let varying = Some(Varying::Other(try_kind, addr));
    read_step(rt, op(OpKind::Update, addr, SEMAPHORE), frame, varying);
    if *semaphore == 0 {
        done(rt, op(OpKind::Compare, addr, SEMAPHORE), pc);
        *libc::__errno_location() = libc::EAGAIN;
        return -1;
    }
    *semaphore -= 1;
    done(rt, op(OpKind::Acquire, addr, SEMAPHORE), pc);
    0
}

unsafe extern "C" fn sem_post_inner(semaphore: *mut u32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(sem_post(semaphore: *mut u32) -> i32);
    }
    let pc = caller();
    let op = op(OpKind::Release, semaphore as usize, SEMAPHORE);
    step_special(rt, op, Some(Varying::Other(raise_kind, semaphore as usize)));
    *semaphore += 1;
    done(rt, op, pc);
    0
}

unsafe extern "C" fn sem_getvalue_inner(semaphore: *const u32, value: *mut i32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(sem_getvalue(semaphore: *const u32, value: *mut i32) -> i32);
    }
    let frame = frame();
    let pc = (*frame).pc;
    let op = op(OpKind::Read, semaphore as usize, SEMAPHORE);
    read_step(rt, op, frame, None);
    *value = *semaphore as i32;
    done(rt, op, pc);
    0
}

/// A barrier, in the place of glibc's.
#[repr(C)]
struct Barrier {
    size: u32,
    arrived: u32,
    round: u32,
}

unsafe extern "C" fn barrier_init(barrier: *mut Barrier, attributes: usize, n: u32) -> i32 {
    if live().is_null() {
        return native!(pthread_barrier_init(barrier: *mut Barrier, attributes: usize, n: u32) -> i32);
    }
    if n == 0 {
        return libc::EINVAL;
    }
    barrier.write(Barrier { size: n, arrived: 0, round: 0 });
    0
}

unsafe extern "C" fn barrier_destroy(barrier: *mut Barrier) -> i32 {
    if live().is_null() {
        return native!(pthread_barrier_destroy(barrier: *mut Barrier) -> i32);
    }
    0
}

unsafe fn next_round(rt: *mut Runtime, thread: usize, barrier: usize) -> bool {
    (*(barrier as *const Barrier)).round != (&(*rt).threads)[thread].round
}

unsafe fn arrive_kind(_rt: *mut Runtime, barrier: usize) -> OpKind {
    let barrier = barrier as *const Barrier;
    if (*barrier).arrived + 1 >= (*barrier).size { OpKind::Release } else { OpKind::Update }
}

unsafe extern "C" fn barrier_wait(barrier: *mut Barrier) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_barrier_wait(barrier: *mut Barrier) -> i32);
    }
    let pc = caller();
    let addr = barrier as usize;
    let update = op(OpKind::Update, addr, BARRIER);
    step_special(rt, update, Some(Varying::Other(arrive_kind, addr)));
    let round = (*barrier).round;
    (*barrier).arrived += 1;
    let last = (*barrier).arrived >= (*barrier).size;
    if last {
        (*barrier).arrived = 0;
        (*barrier).round = round.wrapping_add(1);
    }
    done(rt, update, pc);
    let me = (*rt).current;
    (&mut (*rt).threads)[me].round = round;
    let acquire = op(OpKind::Acquire, addr, BARRIER);
    wait(rt, acquire, next_round, addr, Patience::Endless);
    done(rt, acquire, pc);
    if last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}

entry! {
    pthread_cond_wait => cond_wait;
    pthread_cond_timedwait => cond_timedwait;
    pthread_cond_clockwait => cond_clockwait;
    pthread_cond_signal => cond_signal;
    pthread_cond_broadcast => cond_broadcast;
    pthread_cond_destroy => cond_destroy;
    sem_wait => sem_wait_inner;
    sem_timedwait => sem_timedwait_inner;
    sem_clockwait => sem_clockwait_inner;
    sem_trywait => sem_trywait_inner;
    sem_post => sem_post_inner;
    sem_getvalue => sem_getvalue_inner;
    pthread_barrier_init => barrier_init;
    pthread_barrier_destroy => barrier_destroy;
    pthread_barrier_wait => barrier_wait;
}
