//! Threads as the program makes them: `pthread_create` and what belongs to a thread.

use core::ffi::c_void;

use weakspot_live::wire::Awaited;
use weakspot_live::{Op, OpKind, Order};

use crate::access::pending::settle;
use crate::access::plain::{access, read_step};
use crate::entry::frame::{entry, stand_in};
use crate::entry::guest::{Area, Guest, Question};
use crate::entry::native::native;
use crate::execution::ends::refuse;
use crate::execution::monitors::Event;
use crate::schedule::coroutine;
use crate::schedule::life::add;
use crate::schedule::threads::{Function, Patience, Start, Until};
use crate::schedule::turns::{step, wait};
use crate::world::handlers::raise_own;
use crate::{Rt, Runtime};

unsafe extern "C" {
    static mut __libc_single_threaded: u8;
    fn pthread_attr_getdetachstate(a: *const libc::pthread_attr_t, state: *mut i32) -> i32;
    fn pthread_attr_setstack(a: *mut libc::pthread_attr_t, start: *mut c_void, len: usize) -> i32;
}

impl Runtime {
    /// The number of the thread that the program knows as `handle`.
    fn number(&self, handle: usize) -> Option<usize> {
        self.coroutines.find(handle, self.threads.count())
    }
}

/// Stands for the number that the next thread will have: no program has anything there.
const NUMBER: Area = Area::nowhere(0x1028, 8);

/// The current thread is about to make another one. Strategies know threads by their numbers, which they get as they are made.
/// Where several make threads these depend on who comes first, so that it is explored in all orders, as if each took a lock. Whether it
/// has taken one.
fn takes_number(rt: &mut Rt) -> bool {
    if rt.threads.alone() {
        return false;
    }
    if rt.threads.are_made_by_others() && !rt.shadow.is_shared(NUMBER) {
        let (addr, len) = (NUMBER.addr(), NUMBER.len() as usize);
        rt.shadow.set_shared(addr, len);
        rt.learn(addr, len);
    }
    let takes = rt.shadow.is_shared(NUMBER);
    if takes {
        let free = Until::Known(|rt, _, _| !rt.threads.is_number_taken(), 0);
        wait(rt, NUMBER.op(OpKind::Acquire), free, Patience::Endless);
        rt.threads.set_number_taken(true);
    }
    takes
}

/// Makes a thread; its handle.
pub fn create(rt: &mut Rt, f: Function, arg: usize) -> usize {
    let pc = rt.pc();
    let takes = takes_number(rt);
    let spawn = |rt: &Rt| Op { kind: OpKind::Spawn, len: 0, addr: rt.threads.count() as u64 };
    let announced = spawn(rt);
    step(rt, announced);
    // Another thread may have made one since that was announced, if nobody knew that several do.
    let op = spawn(rt);
    let Some(t) = add(rt, Start::Function(f, arg)) else {
        // What the program would do without the thread is not what it does on its own.
        refuse(rt, "more-threads", pc)
    };
    // libstdc++ leaves locks out as long as this says that there is one thread.
    // SAFETY: nobody has a reference to this flag of libc, and there is one thread of the system.
    unsafe { (&raw mut __libc_single_threaded).write(0) };
    // What it will execute is told as the value.
    rt.record(Event::new(op, Order::Plain, pc).with(f as usize as u64, None));
    if takes {
        step(rt, NUMBER.op(OpKind::Release));
        rt.threads.set_number_taken(false);
    }
    rt.coroutines.slot(t).handle()
}

/// Waits for the end of a thread; what it returned, or an error.
pub fn join(rt: &mut Rt, handle: usize) -> Result<usize, i32> {
    fn is_over(rt: &Runtime, _thread: usize, other: usize) -> bool {
        let other = rt.threads.get(other);
        other.is_over() && other.buffer.is_empty()
    }
    let pc = rt.pc();
    let t = rt.number(handle).ok_or(libc::ESRCH)?;
    if !rt.threads.get(t).joinable() {
        return Err(not_joinable(rt, t, pc));
    }
    if t == rt.threads.current() {
        return Err(libc::EDEADLK);
    }
    fence(rt, pc);
    let op = Op { kind: OpKind::Join, len: 0, addr: t as u64 };
    rt.threads.me_mut().awaits = Some(Awaited::End);
    wait(rt, op, Until::Known(is_over, t), Patience::Endless);
    if rt.scheduler.buffered() && rt.threads.almost_alone() {
        // From here on nobody else looks, so that nothing has to be in a buffer.
        step(rt, Op::plain(OpKind::Fence));
    }
    rt.record(Event::new(op, Order::Plain, pc));
    // Another thread may have waited for it as well, and been the first.
    if !rt.threads.get(t).joinable() {
        return Err(not_joinable(rt, t, pc));
    }
    Ok(rt.threads.join(t))
}

/// The error of who waits for a thread that nobody can wait for any more. POSIX leaves open what a second join does, and
/// strategies do not know that it matters who comes first.
fn not_joinable(rt: &mut Rt, t: usize, pc: usize) -> i32 {
    if rt.threads.get(t).is_joined() {
        rt.unsupported("pthread_join for a thread that was joined before", pc);
    }
    libc::EINVAL
}

/// The current thread says of another one who waits for its end, which glibc does by a locked instruction: what it has stored does not
/// wait any longer.
fn fence(rt: &mut Rt, pc: usize) {
    settle(rt);
    if rt.threads.me_mut().has_stored {
        if rt.scheduler.buffered() {
            step(rt, Op::plain(OpKind::Fence));
        }
        rt.fence_for_monitors(pc);
    }
}

/// Nobody will wait for a thread.
pub fn detach(rt: &mut Rt, handle: usize) -> i32 {
    let pc = rt.pc();
    fence(rt, pc);
    let Some(t) = rt.number(handle) else { return libc::ESRCH };
    let thread = rt.threads.get_mut(t);
    if !thread.joinable() {
        return libc::EINVAL;
    }
    thread.detach();
    0
}

/// Waits for the end of a thread, as the functions of pthreads do; 0 or an error.
fn join_into(rt: &mut Rt, handle: usize, value: Guest<usize>) -> i32 {
    match join(rt, handle) {
        Ok(returned) => {
            if let Some(value) = value.given() {
                let call = rt.call();
                access(rt, value.area(), true, call);
                value.set(returned);
            }
            0
        }
        Err(error) => error,
    }
}

type Attributes = Guest<libc::pthread_attr_t>;

stand_in! {
    fn pthread_create(
        rt, handle: Guest<usize>, attributes: Attributes, f: Function, arg: usize,
    ) -> i32 {
        let made = create(rt, f, arg);
        handle.set(made);
        let mut detached = 0;
        if let Some(attributes) = attributes.given() {
            // SAFETY: the program passes attributes; libc reads them and writes a number.
            unsafe { pthread_attr_getdetachstate(attributes.pointer(), &raw mut detached) };
        }
        if detached == libc::PTHREAD_CREATE_DETACHED {
            detach(rt, made);
        }
        0
    }

    fn pthread_join(rt, handle: usize, value: Guest<usize>) -> i32 {
        join_into(rt, handle, value)
    }

    fn pthread_tryjoin_np(rt, handle: usize, value: Guest<usize>) -> i32 {
        // The strategy does not know that it matters whether this comes before the end of the thread.
        let pc = rt.pc();
        rt.unsupported("pthread_tryjoin_np", pc);
        step(rt, Op::plain(OpKind::Yield));
        match rt.number(handle) {
            None => libc::ESRCH,
            Some(t) if !rt.threads.get(t).is_over() => libc::EBUSY,
            Some(_) => join_into(rt, handle, value),
        }
    }

    /// Its time is never over, which is reported.
    fn pthread_timedjoin_np(rt, handle: usize, value: Guest<usize>, until: usize) -> i32 {
        let _ = until;
        let pc = rt.pc();
        rt.unsupported("pthread_timedjoin_np", pc);
        join_into(rt, handle, value)
    }

    fn pthread_clockjoin_np(
        rt, handle: usize, value: Guest<usize>, clock: i32, until: usize,
    ) -> i32 {
        let _ = (clock, until);
        let pc = rt.pc();
        rt.unsupported("pthread_clockjoin_np", pc);
        join_into(rt, handle, value)
    }

    fn pthread_detach(rt, handle: usize) -> i32 {
        detach(rt, handle)
    }

    fn pthread_cancel(rt, handle: usize) -> i32 {
        let _ = handle;
        let pc = rt.pc();
        refuse(rt, "pthread_cancel", pc)
    }

    fn pthread_kill(rt, handle: usize, signal: i32) -> i32 {
        let pc = rt.pc();
        match rt.number(handle) {
            None => libc::ESRCH,
            Some(_) if signal == 0 => 0,
            Some(t) if t == rt.threads.current() => raise_own(rt, signal),
            Some(_) => refuse(rt, "pthread_kill", pc),
        }
    }

    /// Where the stack of a thread is: glibc's own answer would be that of the process.
    fn pthread_getattr_np(rt, handle: usize, to: Attributes) -> i32 {
        let Some(t) = rt.number(handle) else { return libc::ESRCH };
        let start = rt.coroutines.slot(t).bottom();
        // SAFETY: the program wants its attributes to be overwritten.
        unsafe {
            libc::pthread_attr_init(to.pointer());
            pthread_attr_setstack(to.pointer(), start as *mut c_void, coroutine::STACK)
        }
    }
}

const RUNNING: i32 = 1;
const DONE: i32 = 2;

/// A function that is to run once and ends by an exception: the next thread tries again.
struct Undone {
    control: Guest<i32>,
    pc: usize,
}

impl Drop for Undone {
    fn drop(&mut self) {
        // SAFETY: the program's exception passes by, so that nothing of the runtime is borrowed.
        if let Some(mut rt) = unsafe { Rt::live() } {
            set_once(&mut rt, self.control, 0, self.pc);
        }
    }
}

/// The function is not running any more.
fn set_once(rt: &mut Rt, control: Guest<i32>, state: i32, pc: usize) {
    let op = control.area().op(OpKind::Release);
    step(rt, op);
    control.set(state);
    rt.threads.me_mut().spin.changed();
    rt.record(Event::new(op, Order::SeqCst, pc));
}

/// Runs a function unless that was done; waits while another thread does it.
pub fn once(rt: &mut Rt, control: Guest<i32>, f: extern "C-unwind" fn()) {
    let call = rt.call();
    let pc = call.pc();
    // Who finds that it was done has only looked, which is no fence.
    let look = control.area().op(OpKind::Read);
    read_step(rt, control.area(), look, call, None);
    rt.record(Event::new(look, Order::Acquire, pc));
    if control.get() == DONE {
        return;
    }
    let op = control.area().op(OpKind::Acquire);
    let rests = Question::about(control, |control: Guest<i32>| control.get() != RUNNING);
    wait(rt, op, Until::Object(rests), Patience::Endless);
    if control.get() == DONE {
        rt.record(Event::new(look, Order::Acquire, pc));
        return;
    }
    control.set(RUNNING);
    rt.threads.me_mut().spin.changed();
    rt.record(Event::new(op, Order::SeqCst, pc));
    let undone = Undone { control, pc };
    rt.run_program(|| f());
    core::mem::forget(undone);
    set_once(rt, control, DONE, pc);
}

extern "C-unwind" fn once_inner(control: Guest<i32>, f: extern "C-unwind" fn()) -> i32 {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else {
        return native!(pthread_once(control: Guest<i32>, f: extern "C-unwind" fn()) -> i32);
    };
    once(&mut rt, control, f);
    0
}

entry! {
    pthread_once => once_inner;
}
