//! How a thread announces what it is about to do, and gets its turn. All of it may switch to other
//! threads.

use core::mem::transmute;

use weakspot_live::wire::Message;
use weakspot_live::{Agent, Ended, Next, Op, OpKind, Order};

use crate::access::pending::settle;
use crate::entry::frame;
use crate::execution::monitors::Event;
use crate::execution::{ends, exits};
use crate::report::DEFECT;
use crate::runtime::{Rt, Runtime};
use crate::schedule::choice::choose;
use crate::schedule::coroutine::switch;
use crate::schedule::threads::{Parked, Patience, Until, Varying};
use crate::sys;

/// The current thread announces a step; returns when it is its turn.
pub fn step(rt: &mut Rt, op: Op) {
    settle(rt);
    if rt.threads.alone() {
        return step_alone(rt);
    }
    rt.announce(op);
    pass_turn(rt);
}

/// The current thread announces a step that it cannot take before something holds; returns when it
/// is its turn. Whether it held then.
pub fn wait(rt: &mut Rt, op: Op, until: Until, patience: Patience) -> bool {
    settle(rt);
    let me = rt.threads.current();
    if rt.threads.alone() && (patience == Patience::Timed || until.holds(rt, me)) {
        step_alone(rt);
        return until.holds(rt, me);
    }
    let thread = rt.threads.me_mut();
    thread.until = Some(until);
    thread.patience = patience;
    rt.announce_conditional(op);
    pass_turn(rt);
    rt.threads.me_mut().spin.go();
    until.holds(rt, me)
}

/// The current thread announces a step that its loop repeats, or one that depends on what is in
/// memory when it is taken.
pub fn step_conditional(rt: &mut Rt, op: Op, varying: Option<Varying>) {
    settle(rt);
    if rt.threads.alone() {
        return step_alone(rt);
    }
    rt.threads.me_mut().varying = varying;
    rt.announce_conditional(op);
    pass_turn(rt);
}

/// The current thread has gone on for long without a step: others come first, if they can.
pub fn let_others(rt: &mut Rt) {
    let me = rt.threads.current();
    let others = |n: &Next| n.enabled && usize::from(n.agent.of()) != me;
    if rt.scheduler.next().iter().any(others) {
        settle(rt);
        rt.threads.me_mut().spin.tired();
        step_conditional(rt, Op::plain(OpKind::Yield), None);
        rt.threads.me_mut().spin.clear();
    }
}

/// The current thread will never take a step again: others go on. It may be in a signal handler.
pub fn park(rt: &mut Rt, pc: usize, why: Parked) -> ! {
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
    leave_for(rt.threads.get(to).sp)
}

/// The execution is over, from wherever that is noticed: the worker goes on.
pub fn finish(rt: &mut Rt, ended: Ended) -> ! {
    rt.exploration.set_ended(ended);
    rt.remember_stack();
    rt.set_live(false);
    rt.coroutines.set_main_thread_pointer();
    leave_for(rt.coroutines.base())
}

/// Goes on at another stack pointer, and never comes back.
fn leave_for(sp: usize) -> ! {
    let mut nowhere = 0;
    // SAFETY: the stack pointer is one that `switch` or `prepare` has left, of a coroutine that does
    // not run; what this one has borrowed is never used again.
    unsafe { switch(&raw mut nowhere, sp) };
    sys::quit(DEFECT)
}

/// Starts the first thread; returns when the execution is over.
pub fn run_first(rt: &mut Rt) {
    rt.enter(0);
    rt.set_live(true);
    let to = rt.threads.get(0).sp;
    let base = rt.coroutines.base_place();
    // SAFETY: the thread was prepared and did not run yet. The place for the stack pointer is in the
    // runtime, which outlives the switch; nothing else of the runtime is borrowed.
    unsafe { switch(base, to) };
}

/// A new thread, which takes its first step when it is chosen. `None`: there are too many.
pub fn add(rt: &mut Runtime, start: usize, arg: usize) -> Option<usize> {
    let t = rt.threads.count();
    if t >= rt.config.threads || !rt.coroutines.make(t) {
        return None;
    }
    let slot = rt.coroutines.slot(t);
    rt.threads.add((start, arg), rt.scheduler.next().len(), slot.top());
    let thread = rt.threads.get_mut(t);
    // SAFETY: no thread with this number runs on the slot yet.
    thread.sp = unsafe { slot.prepare(run, t) };
    if t == 0 {
        rt.keys.values_before(&mut thread.values);
    }
    rt.scheduler.add(t);
    Some(t)
}

/// The first function of every coroutine.
extern "C" fn run(t: usize) -> ! {
    // SAFETY: the coroutine that was left to come here borrows nothing.
    let Some(mut rt) = (unsafe { Rt::live() }) else { sys::quit(DEFECT) };
    let rt = &mut rt;
    begin_turn(rt);
    rt.record(Event::new(Op::plain(OpKind::Start), Order::Plain, 0));
    let (start, arg) = rt.threads.get(t).start;
    rt.threads.me_mut().unwinding.begin_at(&raw const arg as usize);
    if t == 0 {
        let (argc, argv, envp) = rt.program.arguments();
        // SAFETY: this is `main` of the program, as `__libc_start_main` got it.
        let main: extern "C" fn(usize, usize, usize) -> i32 = unsafe { transmute(start) };
        let code = rt.run_program(|| main(argc, argv, envp));
        ends::leave(rt, code)
    }
    // SAFETY: the program passed this function to be run by a thread.
    let f: extern "C" fn(usize) -> usize = unsafe { transmute(start) };
    let value = rt.run_program(|| f(arg));
    end(rt, value)
}

/// The current thread is over.
pub fn end(rt: &mut Rt, value: usize) -> ! {
    exits::thread_functions(rt);
    let exit = Op::plain(OpKind::Exit);
    if rt.scheduler.buffered() && rt.scheduler.next().len() == 1 {
        // The last thread: strategies have to see what is left in buffers, because it could have left
        // them earlier.
        let drained = Until::Known(|rt, _, _| rt.threads.buffers_are_empty(), 0);
        wait(rt, exit, drained, Patience::Endless);
    } else {
        step(rt, exit);
    }
    rt.record(Event::new(exit, Order::Plain, 0));
    let thread = rt.threads.me_mut();
    thread.set_value(value);
    thread.set_over();
    let position = thread.position;
    rt.forget_next(position);
    if rt.scheduler.next().is_empty() {
        ends::leave_last(rt, 0);
    }
    let to = choose(rt);
    switch_to(rt, to);
    let text = "a thread went on after its end".to_owned();
    rt.reporter.send(&Message::Defect(text));
    sys::quit(DEFECT)
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
fn begin_turn(rt: &mut Runtime) {
    let me = rt.threads.current();
    let thread = rt.threads.me_mut();
    let position = thread.position;
    if thread.go() {
        rt.scheduler.no_longer_conditional(position);
    }
    if me > 0 || !rt.config.harness {
        rt.scheduler.set_last(Agent::thread(me as u16));
    }
}

/// A step of the first thread while there is no other.
fn step_alone(rt: &mut Rt) {
    count(rt);
    let me = rt.threads.current();
    rt.scheduler.set_last(Agent::thread(me as u16));
}

/// One more step; an execution with too many of them ends here.
pub(super) fn count(rt: &mut Rt) {
    rt.private.step();
    rt.signals().add_step();
    let limit = rt.config.steps;
    if rt.exploration.add_step(limit) || rt.signals().stopped() {
        finish(rt, Ended::Cut);
    }
}

/// Another thread goes on; returns when somebody switches back to this one.
fn switch_to(rt: &mut Rt, to: usize) {
    let runtime: &mut Runtime = rt;
    let from = runtime.threads.current();
    let here = 0_u8;
    let thread = runtime.threads.me_mut();
    runtime.private.leave(&mut thread.spin);
    thread.used_down_to(&raw const here as usize);
    runtime.enter(to);
    let to = runtime.threads.get(to).sp;
    let sp = &raw mut runtime.threads.get_mut(from).sp;
    let call = frame::latest();
    // SAFETY: `to` was left by `switch` or `prepare`, and its thread does not run. What this one has
    // borrowed from the runtime has ended, but for the place of its stack pointer, which is written
    // before anybody else runs.
    unsafe { switch(sp, to) };
    frame::go_on(call);
}

impl Runtime {
    /// Makes a thread the current one.
    fn enter(&mut self, to: usize) {
        self.threads.set_current(to);
        self.private.enter(to, &self.threads.me().spin);
        self.coroutines.set_thread_pointer(to);
    }

    /// The current thread has used its stack down to here, unless it is on another one, in a signal
    /// handler.
    fn remember_stack(&mut self) {
        let here = 0_u8;
        let here = &raw const here as usize;
        if self.coroutines.slot(self.threads.current()).holds(here) {
            self.threads.me_mut().used_down_to(here);
        }
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

    /// The thread at this place among the next steps takes no more of them.
    fn forget_next(&mut self, position: usize) {
        self.scheduler.remove(position);
        for n in &self.scheduler.next()[position..] {
            self.threads.get_mut(usize::from(n.agent.of())).position -= 1;
        }
    }
}
