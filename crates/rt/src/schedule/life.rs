//! A thread from its first step to its last.

use weakspot_live::wire::{MemoryChange, Message};
use weakspot_live::{Op, OpKind, Order};

use crate::entry::frame::{self, Call, Frame};
use crate::execution::monitors::Event;
use crate::execution::{ends, exits};
use crate::report::DEFECT;
use crate::schedule::choice::choose;
use crate::schedule::coroutine::{STACKS, STRIDE, switch};
use crate::schedule::threads::{Patience, Start, Until};
use crate::schedule::turns::{begin_turn, step, switch_to, wait};
use crate::sys;
use crate::{Rt, Runtime};

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
pub fn add(rt: &mut Runtime, start: Start) -> Option<usize> {
    let t = rt.threads.count();
    if t >= rt.config.threads || !rt.coroutines.make(t) {
        return None;
    }
    let slot = rt.coroutines.slot(t);
    rt.threads.add(start, rt.scheduler.next().len(), slot.top());
    let thread = rt.threads.get_mut(t);
    // SAFETY: no thread with this number runs on the slot yet.
    thread.sp = unsafe { slot.prepare(run, t) };
    if t == 0 {
        rt.keys.values_before(&mut thread.values);
    }
    rt.outside.handlers.create(rt.threads.current(), t);
    rt.scheduler.add(t);
    Some(t)
}

/// The first function of every coroutine.
extern "C" fn run(t: usize) -> ! {
    // SAFETY: the coroutine that was left to come here borrows nothing.
    let Some(mut rt) = (unsafe { Rt::live() }) else { sys::quit(DEFECT) };
    let rt = &mut rt;
    let outside = Frame::NONE;
    frame::go_on(Call::in_frame(&outside));
    begin_turn(rt);
    rt.threads.me_mut().begin();
    rt.record(Event::new(Op::plain(OpKind::Start), Order::Plain, 0));
    let start = rt.threads.get(t).start;
    rt.threads.me_mut().unwinding.begin_at(&raw const start as usize);
    match start {
        Start::Main => {
            let (main, (argc, argv, envp)) = (rt.program.main(), rt.program.arguments());
            // SAFETY: `main` gets what libc would have passed to it.
            let code = rt.run_program(|| unsafe { main(argc, argv, envp) });
            ends::leave(rt, code, 0)
        }
        Start::Function(f, arg) => {
            let value = rt.run_program(|| f(arg));
            end(rt, value)
        }
    }
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
    let me = rt.threads.current();
    rt.trace_memory(MemoryChange::Ended, (STACKS + me * STRIDE, STRIDE), &[]);
    let thread = rt.threads.me_mut();
    thread.set_value(value);
    thread.set_over();
    let position = thread.position;
    rt.forget_next(position);
    if rt.scheduler.next().is_empty() {
        ends::leave_last(rt, 0, 0);
    }
    let to = choose(rt);
    switch_to(rt, to);
    let text = "a thread went on after its end".to_owned();
    rt.reporter.send(&Message::Defect(text));
    sys::quit(DEFECT)
}

impl Runtime {
    /// The thread at this place among the next steps takes no more of them.
    fn forget_next(&mut self, position: usize) {
        self.scheduler.remove(position);
        for n in &self.scheduler.next()[position..] {
            self.threads.get_mut(usize::from(n.agent.of())).position -= 1;
        }
    }
}
