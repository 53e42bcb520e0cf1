//! Threads as the program makes them: `pthread_create` and what belongs to a thread.

use core::ffi::c_void;
use core::mem::transmute;

use weakspot_live::{Op, OpKind};

use crate::access::plain::Order;
use crate::entry::frame::{caller, entry};
use crate::entry::native::native;
use crate::execution::ends::refuse;
use crate::report;
use crate::runtime::{Runtime, home, live};
use crate::schedule::coroutine;
use crate::schedule::threads::{Patience, add, changed, happened, step, wait};

/// Keys from here on are ours; those before were made before the library was asked.
const OUR_KEYS: usize = 512;
const ALL_KEYS: usize = 1024;
/// How often destructors of keys are called if they set values again.
const ROUNDS: usize = 4;

/// The number of the thread that the program knows as `handle`.
unsafe fn number(rt: *mut Runtime, handle: usize) -> Option<usize> {
    let count = (*rt).count;
    (&(*rt).slots)[..count].iter().position(|slot| slot.tcb == handle)
}

/// Makes a thread; its handle.
pub unsafe fn create(rt: *mut Runtime, f: usize, arg: usize, pc: usize) -> usize {
    let op = Op { kind: OpKind::Spawn, len: 0, addr: (*rt).count as u64 };
    step(rt, op);
    let me = (*rt).current;
    // Another thread may have made one since that was announced.
    let op = Op { addr: (*rt).count as u64, ..op };
    let Some(t) = add(rt, f, arg) else {
        // What it would do without the thread is not what it does on its own.
        refuse(rt, "more-threads", pc)
    };
    // libstdc++ leaves locks out as long as this says that there is one thread.
    (&raw mut __libc_single_threaded).write(0);
    happened(rt, me, op, Order::Plain, pc, None, None);
    (&(*rt).slots)[t].tcb
}

/// Waits for the end of a thread; what it returned, or an error.
pub unsafe fn join(rt: *mut Runtime, handle: usize, pc: usize) -> Result<usize, i32> {
    let t = number(rt, handle).ok_or(libc::ESRCH)?;
    let me = (*rt).current;
    let thread = &(&(*rt).threads)[t];
    if thread.detached || thread.joined {
        return Err(libc::EINVAL);
    }
    if t == me {
        return Err(libc::EDEADLK);
    }
    let op = Op { kind: OpKind::Join, len: 0, addr: t as u64 };
    wait(rt, op, is_over, t, Patience::Endless);
    if (*rt).buffered && me == 0 && (*rt).unjoined == 1 {
        // From here on nobody else looks, so that nothing has to be in a buffer.
        step(rt, Op::plain(OpKind::Fence));
    }
    let thread = &mut (&mut (*rt).threads)[t];
    thread.joined = true;
    let value = thread.value;
    if t > 0 {
        (*rt).unjoined -= 1;
    }
    (*rt).alone = (*rt).unjoined == 0 && me == 0;
    happened(rt, me, op, Order::Plain, pc, None, None);
    Ok(value)
}

unsafe fn is_over(rt: *mut Runtime, _thread: usize, other: usize) -> bool {
    let thread = &(&(*rt).threads)[other];
    thread.over && thread.buffer.is_empty()
}

/// Nobody will wait for a thread.
pub unsafe fn detach(rt: *mut Runtime, handle: usize) -> i32 {
    let Some(t) = number(rt, handle) else { return libc::ESRCH };
    let thread = &mut (&mut (*rt).threads)[t];
    if thread.detached || thread.joined {
        return libc::EINVAL;
    }
    thread.detached = true;
    0
}

unsafe extern "C" fn create_inner(
    handle: *mut usize,
    attributes: *const libc::pthread_attr_t,
    f: usize,
    arg: usize,
) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_create(handle: *mut usize, attributes: *const libc::pthread_attr_t, f: usize, arg: usize) -> i32);
    }
    let pc = caller();
    let made = create(rt, f, arg, pc);
    *handle = made;
    let mut detached = 0;
    if !attributes.is_null() {
        pthread_attr_getdetachstate(attributes, &raw mut detached);
    }
    if detached == libc::PTHREAD_CREATE_DETACHED {
        detach(rt, made);
    }
    0
}

unsafe extern "C" {
    static mut __libc_single_threaded: u8;
    fn pthread_attr_getdetachstate(a: *const libc::pthread_attr_t, state: *mut i32) -> i32;
    fn pthread_attr_setstack(a: *mut libc::pthread_attr_t, start: *mut c_void, len: usize) -> i32;
}

unsafe extern "C" fn join_inner(handle: usize, value: *mut usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_join(handle: usize, value: *mut usize) -> i32);
    }
    let pc = caller();
    match join(rt, handle, pc) {
        Ok(returned) => {
            if !value.is_null() {
                *value = returned;
            }
            0
        }
        Err(error) => error,
    }
}

unsafe extern "C" fn try_join(handle: usize, value: *mut usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_tryjoin_np(handle: usize, value: *mut usize) -> i32);
    }
    // The strategy does not know that it matters whether this comes before the end of the thread.
    report::unsupported(rt, "pthread_tryjoin_np", caller());
    step(rt, Op::plain(OpKind::Yield));
    match number(rt, handle) {
        None => libc::ESRCH,
        Some(t) if !(&(*rt).threads)[t].over => libc::EBUSY,
        Some(_) => join_inner(handle, value),
    }
}

/// Its time is never over, which is told.
unsafe extern "C" fn timed_join(handle: usize, value: *mut usize, until: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_timedjoin_np(handle: usize, value: *mut usize, until: usize) -> i32);
    }
    report::unsupported(rt, "pthread_timedjoin_np", caller());
    join_inner(handle, value)
}

unsafe extern "C" fn clock_join(handle: usize, value: *mut usize, clock: i32, until: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_clockjoin_np(handle: usize, value: *mut usize, clock: i32, until: usize) -> i32);
    }
    report::unsupported(rt, "pthread_clockjoin_np", caller());
    join_inner(handle, value)
}

unsafe extern "C" fn detach_inner(handle: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_detach(handle: usize) -> i32);
    }
    detach(rt, handle)
}

unsafe extern "C" fn cancel(handle: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_cancel(handle: usize) -> i32);
    }
    refuse(rt, "pthread_cancel", caller())
}

unsafe extern "C" fn kill(handle: usize, signal: i32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_kill(handle: usize, signal: i32) -> i32);
    }
    match number(rt, handle) {
        None => libc::ESRCH,
        Some(_) if signal == 0 => 0,
        Some(_) => refuse(rt, "pthread_kill", caller()),
    }
}

/// Where the stack of a thread is: glibc's own answer would be that of the process.
unsafe extern "C" fn attributes(handle: usize, to: *mut libc::pthread_attr_t) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_getattr_np(handle: usize, to: *mut libc::pthread_attr_t) -> i32);
    }
    let Some(t) = number(rt, handle) else { return libc::ESRCH };
    let start = (&(*rt).slots)[t].top - coroutine::STACK;
    libc::pthread_attr_init(to);
    pthread_attr_setstack(to, start as *mut c_void, coroutine::STACK)
}

unsafe extern "C" fn yield_inner() -> i32 {
    let rt = live();
    if !rt.is_null() {
        step(rt, Op::plain(OpKind::Yield));
    }
    0
}

/// A function that is to run once and ends by an exception: the next thread tries again.
struct Undone {
    rt: *mut Runtime,
    control: *mut i32,
    pc: usize,
}

impl Drop for Undone {
    fn drop(&mut self) {
        let Undone { rt, control, pc } = *self;
        let op = Op { kind: OpKind::Release, len: 4, addr: control as u64 };
        // SAFETY: the control word is the caller's, who is still waiting; the runtime outlives all.
        unsafe {
            step(rt, op);
            *control = 0;
            let me = (*rt).current;
            changed(rt, me);
            happened(rt, me, op, Order::Strong, pc, None, None);
        }
    }
}

/// Runs a function unless that was done; waits while another thread does it.
pub unsafe fn once(rt: *mut Runtime, control: *mut i32, f: usize, pc: usize) {
    const RUNNING: i32 = 1;
    const DONE: i32 = 2;
    unsafe fn rests(_rt: *mut Runtime, _thread: usize, control: usize) -> bool {
        *(control as *const i32) != RUNNING
    }
    let op = Op { kind: OpKind::Acquire, len: 4, addr: control as u64 };
    wait(rt, op, rests, control as usize, Patience::Endless);
    let me = (*rt).current;
    if *control == DONE {
        happened(rt, me, Op { kind: OpKind::Read, ..op }, Order::Acquire, pc, None, None);
        return;
    }
    *control = RUNNING;
    changed(rt, me);
    happened(rt, me, op, Order::Strong, pc, None, None);
    let f: extern "C-unwind" fn() = transmute(f);
    let undone = Undone { rt, control, pc };
    f();
    core::mem::forget(undone);
    let op = Op { kind: OpKind::Release, ..op };
    step(rt, op);
    *control = DONE;
    changed(rt, me);
    happened(rt, me, op, Order::Strong, pc, None, None);
}

unsafe extern "C-unwind" fn once_inner(control: *mut i32, f: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_once(control: *mut i32, f: usize) -> i32);
    }
    let pc = caller();
    once(rt, control, f, pc);
    0
}

type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

/// One of the functions on keys.
pub unsafe extern "C" fn key_create(key: *mut u32, destructor: Destructor) -> i32 {
    let rt = home();
    if rt.is_null() {
        return native!(pthread_key_create(key: *mut u32, destructor: Destructor) -> i32);
    }
    let i = (*rt).keys.len();
    if OUR_KEYS + i >= ALL_KEYS {
        return libc::EAGAIN;
    }
    (*rt).keys.push(destructor);
    *key = (OUR_KEYS + i) as u32;
    0
}

/// One of the functions on keys.
pub unsafe extern "C" fn key_delete(key: u32) -> i32 {
    let rt = home();
    if rt.is_null() || (key as usize) < OUR_KEYS {
        return native!(pthread_key_delete(key: u32) -> i32);
    }
    if let Some(destructor) = (&mut (*rt).keys).get_mut(key as usize - OUR_KEYS) {
        *destructor = None;
    }
    0
}

/// The values of the current thread.
unsafe fn values(rt: *mut Runtime) -> *mut Vec<usize> {
    if live().is_null() {
        return &raw mut (*rt).keys_before.1;
    }
    let me = (*rt).current;
    &raw mut (&mut (*rt).threads)[me].keys
}

/// One of the functions on keys.
pub unsafe extern "C" fn set_specific(key: u32, value: usize) -> i32 {
    let rt = home();
    if rt.is_null() || (key as usize) < OUR_KEYS {
        return native!(pthread_setspecific(key: u32, value: usize) -> i32);
    }
    let i = key as usize - OUR_KEYS;
    if i >= (*rt).keys.len() {
        return libc::EINVAL;
    }
    let values = &mut *values(rt);
    if values.len() <= i {
        values.resize(i + 1, 0);
    }
    values[i] = value;
    0
}

/// One of the functions on keys.
pub unsafe extern "C" fn get_specific(key: u32) -> usize {
    let rt = home();
    if rt.is_null() || (key as usize) < OUR_KEYS {
        return native!(pthread_getspecific(key: u32) -> usize);
    }
    let values = &*values(rt);
    values.get(key as usize - OUR_KEYS).copied().unwrap_or(0)
}

/// Calls the destructors of the current thread's keys.
pub unsafe fn key_functions(rt: *mut Runtime) {
    for _ in 0..ROUNDS {
        let mut any = false;
        let n = (*values(rt)).len();
        for i in 0..n {
            let value = core::mem::take(&mut (&mut (*values(rt)))[i]);
            let destructor = (&(*rt).keys).get(i).copied().flatten();
            if let (true, Some(destructor)) = (value != 0, destructor) {
                any = true;
                destructor(value as *mut c_void);
            }
        }
        if !any {
            return;
        }
    }
}

entry! {
    pthread_create => create_inner;
    pthread_join => join_inner;
    pthread_tryjoin_np => try_join;
    pthread_timedjoin_np => timed_join;
    pthread_clockjoin_np => clock_join;
    pthread_detach => detach_inner;
    pthread_cancel => cancel;
    pthread_kill => kill;
    pthread_getattr_np => attributes;
    pthread_yield => yield_inner;
    sched_yield => yield_inner;
    pthread_once => once_inner;
    pthread_key_create => key_create;
    pthread_key_delete => key_delete;
    pthread_setspecific => set_specific;
    pthread_getspecific => get_specific;
}
