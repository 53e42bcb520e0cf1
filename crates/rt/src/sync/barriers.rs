//! Barriers.
//!
//! In which order threads arrive cannot be told but by who is the last. If the program does not use what it is told about that
//! (`weakspot cc` finds this out), and if no more threads come to a barrier than it waits for, all arrivals of a round may be
//! exchanged: to arrive is to add to a byte that stands for the round, and to go on comes after all of these. Where somebody uses it, or
//! other threads come, which shows in an execution, the exploration starts again, and the last one is in an order with all others.

use weakspot_live::wire::Awaited;
use weakspot_live::{Op, OpKind, Order, Sync};

use crate::entry::frame::stand_in;
use crate::entry::guest::{Area, Guest, Question};
use crate::entry::native::native;
use crate::execution::monitors::Event;
use crate::memory::check::check_object;
use crate::schedule::threads::{Patience, Until, Varying};
use crate::schedule::turns::{step, step_conditional, wait};
use crate::sync::locks::{area_of, op};
use crate::sync::misuse::{destroyed, misuse};
use crate::sync::waits::done_with;
use crate::{Rt, Runtime};

pub(super) const BARRIER: u32 = 32;

/// Stands for all barriers at which it matters who is the last: no program has anything there.
const LAST_ONES: Area = Area::nowhere(0x1018, 8);

/// What is known of the barriers of a program.
#[derive(Default)]
pub struct Barriers {
    /// Some arrivals are told whether they are the last, and some are not. That is so in all executions.
    told: bool,
    untold: bool,
    /// The threads that came to each barrier since it was made.
    came: Vec<(usize, usize)>,
}

impl Barriers {
    /// Before an execution.
    pub fn clear(&mut self) {
        self.came.clear();
    }

    fn made(&mut self, barrier: usize) {
        self.came.retain(|came| came.0 != barrier);
    }

    /// A thread comes to a barrier; how many did.
    fn comes(&mut self, barrier: usize, thread: usize) -> usize {
        if !self.came.contains(&(barrier, thread)) {
            self.came.push((barrier, thread));
        }
        self.came.iter().filter(|came| came.0 == barrier).count()
    }
}

impl Runtime {
    /// The current thread comes to a barrier for so many, and may be told whether it is the last. Whether that matters to nobody.
    fn comes_to_barrier(&mut self, barrier: usize, size: u32, told: bool) -> bool {
        if !self.lets_steps_commute() {
            return false;
        }
        let me = self.threads.current();
        let barriers = &mut self.barriers;
        barriers.told |= told;
        barriers.untold |= !told;
        let many = barriers.comes(barrier, me) > size as usize;
        let matters = barriers.untold && (barriers.told || many);
        if matters && !self.shadow.is_shared(LAST_ONES) {
            let (addr, len) = (LAST_ONES.addr(), LAST_ONES.len() as usize);
            self.shadow.set_shared(addr, len);
            self.learn(addr, len);
        }
        !told && !self.shadow.is_shared(LAST_ONES)
    }
}

/// A barrier, in the place of glibc's.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Barrier {
    size: u32,
    arrived: u32,
    round: u32,
}

/// A new barrier for so many threads.
pub(super) fn make(rt: &mut Runtime, barrier: Guest<Barrier>, size: u32) {
    barrier.set(Barrier { size, arrived: 0, round: 0 });
    rt.barriers.made(barrier.addr());
}

stand_in! {
    /// Who was let go may still be on the way.
    fn pthread_barrier_destroy(rt, barrier: Guest<Barrier>) -> i32 {
        let pc = rt.pc();
        let update = op(OpKind::Update, barrier, BARRIER);
        step(rt, update);
        there(rt, barrier, "destroys", pc);
        let state = barrier.get();
        if state.arrived != 0 {
            misuse(rt, barrier.addr(), pc, "destroys a barrier that a thread waits at");
        }
        barrier.set(Barrier { size: 0, arrived: BARRIER_GONE, ..state });
        done_with(rt, update, pc, Sync::Use);
        destroyed(rt, barrier.addr(), pc);
        0
    }

    fn pthread_barrier_wait(rt, barrier: Guest<Barrier>) -> i32 {
        arrive(rt, barrier, true)
    }

    /// The same where the program does not use the result.
    fn __weakspot_barrier_wait(rt, barrier: Guest<Barrier>) -> i32 {
        arrive(rt, barrier, false)
    } else {
        native!(pthread_barrier_wait(barrier: Guest<Barrier>) -> i32)
    }
}

fn arrive(rt: &mut Rt, barrier: Guest<Barrier>, told: bool) -> i32 {
    let pc = rt.pc();
    let whole = op(OpKind::Update, barrier, BARRIER);
    let commutes = rt.lets_steps_commute();
    let Barrier { size, round, .. } = barrier.get();
    let alike = rt.comes_to_barrier(barrier.addr(), size, told);
    // One byte for each of two rounds: nobody comes to the one after the next before all have gone on.
    let round_of = |kind| Op { kind, len: 1, addr: whole.addr + u64::from(round & 1) };
    if alike {
        step(rt, round_of(OpKind::Add));
    } else {
        let kind = Question::about(barrier, if commutes { arrival_in_any_order } else { arrival });
        step_conditional(rt, whole, Some(Varying::Object(kind)));
    }
    there(rt, barrier, "waits at", pc);
    let Barrier { size, arrived, round } = barrier.get();
    let last = arrived + 1 >= size;
    barrier.set(if last {
        Barrier { size, arrived: 0, round: round.wrapping_add(1) }
    } else {
        Barrier { size, arrived: arrived + 1, round }
    });
    if commutes && !last {
        let event = Event::new(op(OpKind::Release, barrier, BARRIER), Order::SeqCst, pc);
        rt.record_unordered(event.orders(Sync::Arrival { last }));
        rt.threads.me_mut().spin.changed();
    } else {
        done_with(rt, whole, pc, Sync::Arrival { last });
    }
    let waiting = &mut rt.threads.me_mut().waiting;
    (waiting.round, waiting.barrier) = (round, barrier.addr());
    let acquire = op(OpKind::Acquire, barrier, BARRIER);
    let goes_on = if alike { round_of(OpKind::Acquire) } else { acquire };
    rt.threads.me_mut().awaits = Some(Awaited::Barrier);
    if commutes && !rt.threads.alone() {
        let me = rt.threads.current();
        let departure = if alike { departure_of_all } else { departure };
        rt.threads.me_mut().set_varying(Varying::Known(departure, me));
    }
    wait(rt, goes_on, Until::Known(round_is_over, barrier.addr()), Patience::Endless);
    rt.threads.me_mut().spin.changed();
    let event = Event::new(acquire, Order::SeqCst, pc).orders(Sync::Nothing);
    rt.record(if commutes { event.seen_as(OpKind::Compare) } else { event });
    if last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}

/// How many threads have arrived at a barrier that was destroyed.
const BARRIER_GONE: u32 = 0x5eed_dead;

/// A barrier that is used has to be there.
fn there(rt: &mut Rt, barrier: Guest<Barrier>, what: &str, pc: usize) {
    check_object(rt, area_of(op(OpKind::Update, barrier, BARRIER)), pc);
    let Barrier { size, arrived, .. } = barrier.get();
    if size == 0 {
        let how = if arrived == BARRIER_GONE { "was destroyed" } else { "was not initialised" };
        misuse(rt, barrier.addr(), pc, &format!("{what} a barrier that {how}"));
    }
}

/// What it is to arrive at a barrier: the last one lets all others go.
fn arrival(barrier: Guest<Barrier>) -> OpKind {
    let barrier = barrier.get();
    if barrier.arrived >= barrier.size.saturating_sub(1) { OpKind::Release } else { OpKind::Update }
}

/// The same, where the order of those who are not the last does not matter: only the last one is told.
fn arrival_in_any_order(barrier: Guest<Barrier>) -> OpKind {
    if arrival(barrier) == OpKind::Release { OpKind::Release } else { OpKind::Add }
}

/// What it is to go on from a barrier: nobody can notice it, once the round is over.
fn departure(rt: &Runtime, thread: usize) -> OpKind {
    let barrier = rt.threads.get(thread).waiting.barrier;
    if round_is_over(rt, thread, barrier) { OpKind::Fence } else { OpKind::Acquire }
}

/// The same where it comes after all arrivals.
fn departure_of_all(rt: &Runtime, thread: usize) -> OpKind {
    let barrier = rt.threads.get(thread).waiting.barrier;
    if round_is_over(rt, thread, barrier) { OpKind::Join } else { OpKind::Acquire }
}

fn round_is_over(rt: &Runtime, thread: usize, barrier: usize) -> bool {
    // SAFETY: the thread waits at a barrier that the program says is there.
    let barrier: Guest<Barrier> = unsafe { Guest::at(barrier) };
    barrier.get().round != rt.threads.get(thread).waiting.round
}
