//! How a thread announces what it is about to do, and gets its turn. All of it may switch to other
//! threads.

use weakspot_live::{Agent, BEYOND_MEMORY, Ended, Next, Op, OpKind, Plan};

use crate::access::pending::settle;
use crate::entry::frame;
use crate::entry::guest::Area;
use crate::schedule::choice::choose;
use crate::schedule::coroutine::switch;
use crate::schedule::finish::{count, finish, leave_for};
use crate::schedule::threads::{Parked, Patience, Until, Varying};
use crate::{Rt, Runtime};

pub mod channels;

/// The current thread announces a step; returns when it is its turn.
pub fn step(rt: &mut Rt, op: Op) {
    settle(rt);
    if op.kind == OpKind::Yield {
        channels::leave(rt);
    }
    if op.kind != OpKind::Yield {
        rt.threads.me_mut().yields.clear();
    }
    if rt.threads.alone() {
        return access_alone(rt, op, None);
    }
    rt.announce(op);
    pass_turn(rt);
}

/// The current thread announces a store; returns when it is its turn. If another thread empties the
/// buffers of all, it matters whether the store comes before.
pub fn store_step(rt: &mut Rt, area: Area, pc: usize) {
    channels::enter(rt, area);
    let kind = rt.store_kind(pc);
    store_into_buffer(rt, area.op(kind));
}

/// The same for what frees bytes.
pub fn free_step(rt: &mut Rt, area: Area, pc: usize) {
    let kind = rt.free_kind(pc);
    store_into_buffer(rt, area.op(kind));
}

fn store_into_buffer(rt: &mut Rt, op: Op) {
    if rt.stores_are_buffered() && rt.shadow.is_shared(ALL_BUFFERS) {
        step(rt, ALL_BUFFERS.op(OpKind::Read));
    }
    step(rt, op);
}

/// The current thread empties the buffers of all threads.
pub fn empty_all_buffers(rt: &mut Rt) {
    if !rt.stores_are_buffered() {
        return step(rt, Op::plain(OpKind::Fence));
    }
    if !rt.shadow.is_shared(ALL_BUFFERS) {
        let (addr, len) = (ALL_BUFFERS.addr(), ALL_BUFFERS.len() as usize);
        rt.shadow.set_shared(addr, len);
        rt.learn(addr, len);
    }
    let empty = Until::Known(|rt, _, _| rt.threads.buffers_are_empty(), 0);
    wait(rt, ALL_BUFFERS.op(OpKind::Acquire), empty, Patience::Endless);
}

/// Stands for what is in all buffers: no program has anything there.
const ALL_BUFFERS: Area = Area::nowhere(0x1000, 8);

/// The current thread announces a step that it cannot take before something holds; returns when it
/// is its turn. Whether it held then.
pub fn wait(rt: &mut Rt, op: Op, until: Until, patience: Patience) -> bool {
    settle(rt);
    rt.threads.me_mut().yields.clear();
    let me = rt.threads.current();
    if patience != Patience::Endless || !until.holds(rt, me) {
        channels::leave(rt);
    }
    let timeout = rt.threads.me_mut().timeout.take().filter(|_| patience == Patience::Timed);
    if rt.threads.alone() && (patience == Patience::Timed || until.holds(rt, me)) {
        step_alone(rt);
        return is_over(rt, until, timeout);
    }
    let pc = rt.pc();
    let virtual_time = rt.config.virtual_time;
    let thread = rt.threads.me_mut();
    thread.announced_at = pc;
    thread.until = Some(until);
    thread.patience = patience;
    thread.deadline = thread.deadline.or(timeout.filter(|_| virtual_time));
    rt.announce_conditional(op);
    pass_turn(rt);
    rt.threads.me_mut().spin.go();
    is_over(rt, until, timeout)
}

/// Whether what the current thread has waited for holds. If not, the time is over that it would wait.
fn is_over(rt: &mut Rt, until: Until, timeout: Option<u64>) -> bool {
    let holds = until.holds(rt, rt.threads.current());
    if let (false, Some(timeout)) = (holds, timeout) {
        rt.threads.me_mut().spin.undone.passes();
        rt.is_late(timeout);
    }
    holds
}

/// The current thread announces a step that its loop repeats, or one that depends on what is in
/// memory when it is taken.
pub fn step_conditional(rt: &mut Rt, op: Op, varying: Option<Varying>) {
    settle(rt);
    rt.threads.me_mut().yields.clear();
    if rt.threads.alone() {
        return access_alone(rt, op, varying);
    }
    let pc = rt.pc();
    let thread = rt.threads.me_mut();
    thread.announced_at = pc;
    thread.varying = varying;
    rt.announce_conditional(op);
    pass_turn(rt);
}

/// The current thread has gone on for long without a step: others come first, if they can.
pub fn let_others(rt: &mut Rt) {
    let me = rt.threads.current();
    let others = |n: &Next| n.enabled && usize::from(n.agent.of()) != me;
    if rt.scheduler.next().iter().any(others) {
        channels::leave(rt);
        settle(rt);
        rt.threads.me_mut().spin.tired();
        step_conditional(rt, Op::plain(OpKind::Yield), None);
        rt.threads.me_mut().spin.clear();
    }
}

/// The current thread will never take a step again: others go on. It may be in a signal handler.
pub fn park(rt: &mut Rt, pc: usize, why: Parked) -> ! {
    channels::leave(rt);
    settle(rt);
    rt.remember_stack();
    let thread = rt.threads.me_mut();
    thread.park(pc, why);
    thread.until = Some(Until::Known(|_, _, _| false, 0));
    thread.patience = Patience::Endless;
    thread.varying = None;
    rt.announce_conditional(Op::plain(OpKind::Yield));
    let to = choose(rt);
    rt.enter(to);
    // SAFETY: the thread that was chosen does not run, and `switch` or `prepare` has left its stack
    // pointer there.
    unsafe { leave_for(rt.threads.get(to).sp) }
}

/// Somebody is chosen; returns when it is the turn of the current thread.
fn pass_turn(rt: &mut Rt) {
    let to = choose(rt);
    if to != rt.threads.current() {
        switch_to(rt, to);
    }
    begin_turn(rt);
}

/// It is the turn of the current thread.
pub(super) fn begin_turn(rt: &mut Runtime) {
    let me = rt.threads.current();
    rt.has_looked_at_time();
    let thread = rt.threads.me_mut();
    let position = thread.position;
    let op = rt.scheduler.next()[position].op;
    if !is_pure(op.kind) && op.addr < BEYOND_MEMORY {
        thread.spin.noticed();
    }
    thread.spin.undone.step(op.kind);
    if thread.go() {
        rt.scheduler.no_longer_conditional(position);
    }
    if me > 0 || !rt.config.harness {
        rt.scheduler.set_last(Agent::thread(me as u16));
    }
}

/// Whether nobody else can notice such a step.
fn is_pure(kind: OpKind) -> bool {
    use OpKind::{Compare, Fence, LoadFence, Read, StoreFence, Yield};
    matches!(kind, Read | Compare | Fence | StoreFence | LoadFence | Yield)
}

/// A step of a thread while there is no other, which may be a load.
fn access_alone(rt: &mut Rt, op: Op, varying: Option<Varying>) {
    // What a thread does that is created now comes after what those did that were joined.
    if rt.threads.count() > 1 && (op.touches() || op.kind == OpKind::Spawn) {
        if rt.config.plan == Plan::Rf && !rt.config.harness && !rt.exploration.learning() {
            tell_alone(rt, op, varying);
        } else if op.touches() && op.kind != OpKind::Write {
            rt.exploration.loaded_alone();
        }
    }
    step_alone(rt);
}

/// Tells the strategy what the last thread does alone: for `rf`, what it reads is part of the class. It is
/// no choice, so that schedules do not have it.
fn tell_alone(rt: &mut Rt, op: Op, varying: Option<Varying>) {
    let kind = match varying.map_or(op.kind, |varying| varying.kind(rt)) {
        // It does not go through the buffer.
        OpKind::Write if rt.scheduler.buffered() => OpKind::Update,
        kind => kind,
    };
    let agent = Agent::thread(rt.threads.current() as u16);
    let varies = varying.is_some() && kind != OpKind::Release;
    let op = Op { kind, ..op };
    rt.signals().set_busy(true);
    let goes_on = rt.scheduler.tell(Next {
        agent,
        op,
        enabled: true,
        idle: false,
        varies,
        again: false,
        undone: 0,
    });
    rt.signals().set_busy(false);
    if !goes_on {
        finish(rt, Ended::Stopped);
    }
}

/// A step of a thread while there is no other.
fn step_alone(rt: &mut Rt) {
    count(rt);
    rt.has_looked_at_time();
    rt.threads.me_mut().spin.undone.clear();
    let me = rt.threads.current();
    rt.scheduler.set_last(Agent::thread(me as u16));
}

/// Another thread goes on; returns when somebody switches back to this one.
pub(super) fn switch_to(rt: &mut Rt, to: usize) {
    let runtime: &mut Runtime = rt;
    let from = runtime.threads.current();
    let here = 0_u8;
    let thread = runtime.threads.me_mut();
    runtime.private.leave(&mut thread.spin);
    thread.used_down_to(&raw const here as usize);
    runtime.enter(to);
    let to = runtime.threads.get(to).sp;
    let call = frame::latest();
    let thread = runtime.threads.get_mut(from);
    thread.stop_at(call.stack_pointer(), &raw const here as usize);
    let sp = &raw mut thread.sp;
    // SAFETY: `to` was left by `switch` or `prepare`, and its thread does not run. What this one has
    // borrowed from the runtime has ended, but for the place of its stack pointer, which is written
    // before anybody else runs.
    unsafe { switch(sp, to) };
    frame::go_on(call);
}

impl Runtime {
    /// Makes a thread the current one.
    pub(super) fn enter(&mut self, to: usize) {
        self.threads.set_current(to);
        self.private.enter(to, &self.threads.me().spin);
        self.coroutines.set_thread_pointer(to);
        self.outside.handlers.enter(to);
    }

    /// What the current thread is about to do.
    fn announce(&mut self, op: Op) {
        let position = self.threads.me().position;
        self.scheduler.announce(position, op);
    }

    /// What the current thread is about to do, as a conditional step.
    fn announce_conditional(&mut self, op: Op) {
        let thread = self.threads.me_mut();
        thread.conditional = true;
        let position = thread.position;
        self.scheduler.announce_conditional(position, op);
    }
}
