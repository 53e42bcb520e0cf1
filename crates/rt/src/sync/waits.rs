//! Condition variables and semaphores, and the queue in which threads wait for a wake-up.
//!
//! A condition variable counts, where glibc does, the threads that are within a wait. Whoever wakes others looks at that first; if it
//! is 0, there is nothing else to do, and that is no fence. So to enter a wait and to leave it are additions, which need not be in an
//! order with each other, but are in one with those who look.
//!
//! A wake-up may go to any thread that waited when it was given: it is kept beside the queue until
//! one of them is chosen. If all of them are woken, there is nothing to choose, and in which order they leave does not matter; nor
//! does the order in which threads enter. Waiting is two steps, to enter the queue and to leave it; who waits on a
//! condition variable frees the mutex in between, while it is already in the queue, so that no
//! wake-up can be lost that would not be lost in reality.

use weakspot_live::wire::Awaited;
use weakspot_live::{Op, OpKind, Order, Sync};

use crate::access::pending::settle;
use crate::access::plain::read_step;
use crate::entry::frame::{Call, stand_in};
use crate::entry::guest::{Area, Guest, Question};
use crate::execution::monitors::Event;
use crate::memory::check::check_object;
use crate::schedule::threads::{Patience, Until, Varying};
use crate::schedule::turns::{step, step_conditional, wait};
use crate::sync::late::begin_to_wait;
use crate::sync::locks::{self, area_of, look, op, try_step};
use crate::sync::misuse::{destroyed, misuse};
use crate::sync::mutex::Mutex;
use crate::sys;
use crate::{Rt, Runtime};

pub(super) const CONDITION: u32 = 48;
pub(super) const SEMAPHORE: u32 = 32;

/// The current thread has taken a step on an object that others wait for.
fn done(rt: &mut Runtime, op: Op, pc: usize) {
    // An attempt that failed says nothing about what others did.
    let failed = matches!(op.kind, OpKind::Compare | OpKind::Read);
    done_with(rt, op, pc, if failed { Sync::Use } else { Sync::Lock });
}

/// The same, with what the step orders.
pub(super) fn done_with(rt: &mut Runtime, op: Op, pc: usize, sync: Sync) {
    if op.kind != OpKind::Read && op.kind != OpKind::Compare {
        rt.threads.me_mut().spin.changed();
    }
    // All of them are full fences; of these, monitors know only those of locks.
    let kind = if op.kind == OpKind::Update { OpKind::Release } else { op.kind };
    rt.record(Event::new(Op { kind, ..op }, Order::SeqCst, pc).orders(sync));
}

/// The operation that leaving a queue counts as.
pub(super) fn left(op: Op, woken: bool) -> Op {
    Op { kind: if woken { OpKind::Acquire } else { OpKind::Compare }, ..op }
}

/// The current thread has entered a queue. Who leaves it for lack of patience has changed nothing in
/// the end; loops that wait for some time again and again do that.
pub(super) fn entered(rt: &mut Runtime, op: Op, patience: Patience, pc: usize) {
    let mut kind = op.kind;
    if patience != Patience::Timed {
        rt.threads.me_mut().spin.changed();
        kind = OpKind::Release;
    }
    let event = Event::new(Op { kind, ..op }, Order::SeqCst, pc).orders(Sync::Use);
    match rt.waits_commute() {
        true if op.len == CONDITION => rt.record_unordered(event),
        true => rt.record(event.seen_as(OpKind::Compare)),
        false => rt.record(event),
    }
}

/// The step by which a thread enters a queue.
pub(super) fn entering(rt: &Runtime, op: Op) -> Op {
    let kind = match rt.waits_commute() {
        true if op.len == CONDITION => OpKind::Add,
        true => OpKind::Read,
        false => op.kind,
    };
    Op { kind, ..op }
}

/// What it is to leave a queue: if all in it were woken, nobody notices the order. But who could have left earlier,
/// by a wake-up that another thread has taken, is in an order with that one.
fn leaving(rt: &Runtime, thread: usize) -> OpKind {
    let waiting = &rt.threads.get(thread).waiting;
    if waiting.granted && !waiting.contends { OpKind::Read } else { OpKind::Acquire }
}

/// The same for a condition variable.
fn leaving_condition(rt: &Runtime, thread: usize) -> OpKind {
    if leaving(rt, thread) == OpKind::Read { OpKind::Add } else { OpKind::Acquire }
}

/// What it is to leave a condition variable when the time is over: whoever looks finds one thread less. In virtual time that is the
/// same step as to be woken.
fn giving_up(rt: &Runtime, _thread: usize) -> OpKind {
    match () {
        () if rt.config.virtual_time => OpKind::Acquire,
        () if rt.waits_commute() => OpKind::Add,
        () => OpKind::Update,
    }
}

/// How a thread has left a queue.
#[derive(Clone, Copy)]
pub(super) struct Leave {
    /// Whether it got a wake-up.
    pub(super) woken: bool,
    /// Whether all in the queue got one.
    all: bool,
}

impl Leave {
    /// What the monitors take it for, of what it is.
    pub(super) fn seen(self, event: Event) -> Event {
        if self.all { event.seen_as(OpKind::Compare) } else { event }
    }
}

/// The current thread waits for a wake-up and leaves the queue.
pub(super) fn leave(rt: &mut Rt, op: Op, queue: usize, patience: Patience, call: Call) -> Leave {
    fn is_woken(rt: &Runtime, thread: usize, queue: usize) -> bool {
        let waiting = &rt.threads.get(thread).waiting;
        waiting.granted || waiting.queue == Some((queue, true)) && rt.wake_ups.of(queue) > 0
    }
    if patience == Patience::Timed && !rt.threads.alone() {
        // A loop may wait again and again.
        settle(rt);
        rt.spins(call, Area::place(queue), 0);
    }
    let what = if op.len == CONDITION { Awaited::Condition } else { Awaited::Word };
    rt.threads.me_mut().awaits = Some(what);
    let kind: Option<fn(&Runtime, usize) -> OpKind> = match op.len {
        _ if rt.threads.alone() => None,
        CONDITION if patience == Patience::Timed => Some(giving_up),
        _ if !rt.waits_commute() || patience != Patience::Endless => None,
        CONDITION => Some(leaving_condition),
        _ => Some(leaving),
    };
    if let Some(kind) = kind {
        let me = rt.threads.current();
        rt.threads.me_mut().set_varying(Varying::Known(kind, me));
    }
    let woken = wait(rt, op, Until::Known(is_woken, queue), patience);
    let granted = rt.threads.me_mut().waiting.granted;
    rt.leave_queue();
    if granted {
        let contends = rt.threads.me().waiting.contends;
        let all = rt.waits_commute() && patience == Patience::Endless && !contends;
        return Leave { woken, all };
    }
    let left = rt.wake_ups.of(queue) - u32::from(woken);
    // Nobody keeps more wake-ups than there are threads that may take them.
    let may = rt.threads.iter().filter(|t| t.waiting.queue == Some((queue, true))).count() as u32;
    if left == 0 {
        for thread in rt.threads.iter_mut().filter(|t| t.waiting.is_in(queue)) {
            thread.waiting.queue = Some((queue, false));
        }
    }
    rt.wake_ups.set(queue, left.min(may));
    Leave { woken, all: false }
}

/// What it is to give a wake-up, which others that were given before may make superfluous.
pub fn wakes(rt: &Runtime, queue: usize) -> OpKind {
    if rt.wake_ups.of(queue) == 0 { OpKind::Release } else { OpKind::Update }
}

/// Announces that a wake-up is given, which others that were given before may make superfluous.
pub(super) fn wake_step(rt: &mut Rt, op: Op, queue: usize) {
    step_conditional(rt, op, Some(Varying::Known(wakes, queue)));
}

/// A condition variable, of which only the address matters.
pub type Condition = Guest<()>;

/// What a condition variable begins with once it was destroyed.
const GONE: u64 = 0x5eed_dead_c0de_0000;

/// A condition variable that is used has to be there.
fn usable(rt: &mut Rt, condition: Condition, what: &str, pc: usize) {
    check_object(rt, area_of(op(OpKind::Update, condition, CONDITION)), pc);
    if first_word(condition).get() == GONE {
        let text = format!("{what} a condition variable that was destroyed");
        misuse(rt, condition.addr(), pc, &text);
    }
}

fn first_word(condition: Condition) -> Guest<u64> {
    // SAFETY: the program says that there is a condition variable, which has more bytes than that.
    unsafe { Guest::at(condition.addr()) }
}

/// Where a condition variable has [`USER`] for each thread that is within a wait; lower bits are its attributes.
fn users(condition: usize) -> Guest<u32> {
    // SAFETY: the program says that there is a condition variable, which has more bytes than that.
    unsafe { Guest::at(condition + 0x24) }
}

const USER: u32 = 8;

/// What it is to wake those who wait on a condition variable: if there are none, it is a look.
fn wakes_condition(rt: &Runtime, condition: usize) -> OpKind {
    if users(condition).get() < USER { OpKind::Read } else { wakes(rt, condition) }
}

/// Ends a condition variable. Who was woken may still be on the way.
pub fn condition_destroy(rt: &mut Rt, condition: Condition, pc: usize) {
    let update = op(OpKind::Update, condition, CONDITION);
    step(rt, update);
    usable(rt, condition, "destroys", pc);
    let queue = condition.addr();
    let waiting = rt.threads.iter().filter(|t| t.waiting.is_in(queue)).count();
    if waiting > rt.wake_ups.of(queue) as usize {
        misuse(rt, queue, pc, "destroys a condition variable that a thread waits on");
    }
    first_word(condition).set(GONE);
    done_with(rt, update, pc, Sync::Use);
    destroyed(rt, queue, pc);
}

/// Whether somebody who was not woken waits on a condition variable with another mutex.
fn waits_with_another(rt: &Runtime, queue: usize, mutex: usize) -> bool {
    let others = rt.threads.iter().map(|t| &t.waiting);
    let different = others.filter(|w| w.is_in(queue) && w.mutex != mutex).count();
    different > rt.wake_ups.of(queue) as usize
}

/// Waits on a condition variable.
pub fn condition_wait(
    rt: &mut Rt,
    condition: Condition,
    mutex: Guest<Mutex>,
    patience: Patience,
) -> i32 {
    let call = rt.call();
    let (pc, queue) = (call.pc(), condition.addr());
    let update = op(OpKind::Update, condition, CONDITION);
    let enter = entering(rt, update);
    step(rt, enter);
    usable(rt, condition, "waits on", pc);
    if waits_with_another(rt, queue, mutex.addr()) {
        let text = "waits on a condition variable with another mutex than others do";
        misuse(rt, queue, pc, text);
    }
    rt.enter_queue(queue);
    users(queue).set(users(queue).get().wrapping_add(USER));
    rt.threads.me_mut().waiting.mutex = mutex.addr();
    entered(rt, update, patience, pc);
    let error = locks::unlock(rt, mutex, pc);
    if error != 0 {
        rt.leave_queue();
        users(queue).set(users(queue).get().wrapping_sub(USER));
        return error;
    }
    let acquire = op(OpKind::Acquire, condition, CONDITION);
    let leave = leave(rt, acquire, queue, patience, call);
    users(queue).set(users(queue).get().wrapping_sub(USER));
    // A wait may end without a reason, so that it says nothing about whoever gave the wake-up.
    if leave.woken {
        rt.threads.me_mut().spin.changed();
    }
    let event = Event::new(left(acquire, leave.woken), Order::SeqCst, pc).orders(Sync::Nothing);
    if leave.all || !leave.woken && rt.waits_commute() {
        rt.record_unordered(event);
    } else {
        rt.record(if leave.woken { event } else { event.seen_as(OpKind::Update) });
    }
    locks::relock(rt, mutex, pc);
    if leave.woken { 0 } else { libc::ETIMEDOUT }
}

/// Wakes at most `n` threads that wait on a condition variable.
pub fn condition_wake(rt: &mut Rt, condition: Condition, n: u32) {
    let call = rt.call();
    let (pc, queue) = (call.pc(), condition.addr());
    let release = op(OpKind::Release, condition, CONDITION);
    let kind = Varying::Known(wakes_condition, queue);
    read_step(rt, users(queue).area(), release, call, Some(kind));
    usable(rt, condition, "signals", pc);
    let kind = if users(queue).get() < USER { OpKind::Read } else { OpKind::Release };
    // A loop that goes on to wake those who are on their way already waits for them.
    if kind == OpKind::Release && rt.wake(queue, n) > 0 {
        rt.threads.me_mut().spin.changed();
    }
    // How many it may wake tells it from those who wait.
    let event = Event::new(Op { kind, ..release }, Order::SeqCst, pc).with(u64::from(n), None);
    rt.record(event.orders(Sync::Use));
}

stand_in! {
    fn pthread_cond_wait(rt, condition: Condition, mutex: Guest<Mutex>) -> i32 {
        condition_wait(rt, condition, mutex, Patience::Endless)
    }

    fn pthread_cond_timedwait(rt, condition: Condition, mutex: Guest<Mutex>, until: usize) -> i32 {
        rt.wait_until(until, false);
        condition_wait(rt, condition, mutex, Patience::Timed)
    }

    fn pthread_cond_clockwait(
        rt, condition: Condition, mutex: Guest<Mutex>, clock: i32, until: usize,
    ) -> i32 {
        let _ = clock;
        rt.wait_until(until, false);
        condition_wait(rt, condition, mutex, Patience::Timed)
    }

    fn pthread_cond_signal(rt, condition: Condition) -> i32 {
        condition_wake(rt, condition, 1);
        0
    }

    fn pthread_cond_broadcast(rt, condition: Condition) -> i32 {
        condition_wake(rt, condition, u32::MAX);
        0
    }

    /// glibc would wait for threads in its own queue.
    fn pthread_cond_destroy(rt, condition: Condition) -> i32 {
        let pc = rt.pc();
        condition_destroy(rt, condition, pc);
        0
    }
}

/// A semaphore: how often it can be taken.
pub(super) type Semaphore = Guest<u32>;

pub(super) fn is_positive(semaphore: Semaphore) -> bool {
    semaphore.get() > 0
}

fn semaphore_wait(rt: &mut Rt, semaphore: Semaphore, patience: Patience) -> i32 {
    let call = rt.call();
    let op = op(OpKind::Acquire, semaphore, SEMAPHORE);
    begin_to_wait(rt, semaphore.addr());
    if patience == Patience::Timed && !rt.threads.alone() {
        settle(rt);
        rt.spins(call, semaphore.area(), 0);
    }
    let positive = Until::Object(Question::about(semaphore, is_positive));
    rt.threads.me_mut().awaits = Some(Awaited::Semaphore);
    let got = wait(rt, op, positive, patience);
    check_object(rt, area_of(op), call.pc());
    if !got {
        done(rt, left(op, false), call.pc());
        sys::set_errno(libc::ETIMEDOUT);
        return -1;
    }
    semaphore.set(semaphore.get() - 1);
    done(rt, op, call.pc());
    0
}

stand_in! {
    fn sem_wait(rt, semaphore: Semaphore) -> i32 {
        semaphore_wait(rt, semaphore, Patience::Endless)
    }

    fn sem_timedwait(rt, semaphore: Semaphore, until: usize) -> i32 {
        rt.wait_until(until, false);
        semaphore_wait(rt, semaphore, Patience::Timed)
    }

    fn sem_clockwait(rt, semaphore: Semaphore, clock: i32, until: usize) -> i32 {
        let _ = clock;
        rt.wait_until(until, false);
        semaphore_wait(rt, semaphore, Patience::Timed)
    }

    fn sem_trywait(rt, semaphore: Semaphore) -> i32 {
        let call = rt.call();
        let kind = Question::about(semaphore, |s: Semaphore| look(is_positive(s)));
        try_step(rt, op(OpKind::Update, semaphore, SEMAPHORE), Varying::Object(kind), call);
        if !is_positive(semaphore) {
            done(rt, op(OpKind::Read, semaphore, SEMAPHORE), call.pc());
            sys::set_errno(libc::EAGAIN);
            return -1;
        }
        semaphore.set(semaphore.get() - 1);
        done(rt, op(OpKind::Acquire, semaphore, SEMAPHORE), call.pc());
        0
    }

    fn sem_post(rt, semaphore: Semaphore) -> i32 {
        let pc = rt.pc();
        let op = op(OpKind::Release, semaphore, SEMAPHORE);
        // Nobody can tell in which order it is raised.
        let commutes = rt.lets_steps_commute();
        if commutes {
            step(rt, Op { kind: OpKind::Add, ..op });
        } else {
            let kind = |s: Semaphore| if is_positive(s) { OpKind::Update } else { OpKind::Release };
            step_conditional(rt, op, Some(Varying::Object(Question::about(semaphore, kind))));
        }
        check_object(rt, area_of(op), pc);
        semaphore.set(semaphore.get() + 1);
        if commutes {
            rt.threads.me_mut().spin.changed();
            rt.record_unordered(Event::new(op, Order::SeqCst, pc).orders(Sync::Lock));
        } else {
            done(rt, op, pc);
        }
        0
    }

    fn sem_getvalue(rt, semaphore: Semaphore, value: Guest<i32>) -> i32 {
        let call = rt.call();
        let op = op(OpKind::Read, semaphore, SEMAPHORE);
        // SAFETY: the program says that there is a semaphore, which has that many bytes.
        let area = unsafe { Area::at(semaphore.addr(), SEMAPHORE as usize) };
        read_step(rt, area, op, call, None);
        value.set(semaphore.get() as i32);
        done(rt, op, call.pc());
        0
    }
}
