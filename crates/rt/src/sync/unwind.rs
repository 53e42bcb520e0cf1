//! How a thread ends in the middle of its functions: `pthread_exit` runs what they have registered
//! to be cleaned up, and the destructors of C++, from the innermost function to the outermost.

use core::ffi::c_void;

use crate::Rt;
use crate::entry::frame::{entry, stand_in};
use crate::entry::guest::Guest;
use crate::entry::native::native;
use crate::execution::ends;
use crate::report::DEFECT;
use crate::schedule::life::end;
use crate::sync::unwinding::{Exception, Unwinding};
use crate::sys;

/// What C programs put on their stacks for `pthread_cleanup_push`; the place of glibc's own list.
#[derive(Clone, Copy)]
#[repr(C)]
struct Cleanup {
    /// As `setjmp` has filled it.
    jump: [usize; 9],
    /// The address of the one before it in the same thread.
    before: usize,
    rest: [usize; 3],
}

type Stop = unsafe extern "C" fn(i32, i32, u64, *mut Exception, *mut c_void, *mut c_void) -> i32;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, arg: *mut c_void) -> i32;
}

unsafe extern "C" {
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _longjmp(to: *mut usize, value: i32) -> !;
}

/// The current thread ends with this value, after its functions were cleaned up.
fn exit(rt: &mut Rt, value: usize) -> ! {
    rt.threads.me_mut().set_value(value);
    unwind(rt)
}

/// The current thread goes on to clean up its functions, from the one that calls.
fn unwind(rt: &mut Rt) -> ! {
    let cleanup = caught as *const () as usize;
    let exception = Box::new(Exception { class: 0, cleanup, private: [0; 4] });
    let exception = &raw mut **rt.threads.me_mut().unwinding.exception.insert(exception);
    // SAFETY: the exception stays until its thread begins again, in another execution. Frames of the
    // library between here and the program have nothing to drop.
    unsafe { _Unwind_ForcedUnwind(exception, stop, core::ptr::null_mut()) };
    // There is nothing to be unwound.
    over(rt)
}

fn over(rt: &mut Rt) -> ! {
    let value = rt.threads.me().value();
    end(rt, value)
}

/// Before each function is left: whether it has something to be cleaned up, or was the last.
unsafe extern "C" fn stop(
    _version: i32,
    actions: i32,
    _class: u64,
    _exception: *mut Exception,
    context: *mut c_void,
    _arg: *mut c_void,
) -> i32 {
    const END_OF_STACK: i32 = 16;
    const NO_REASON: i32 = 0;
    // SAFETY: whoever has called the unwinder borrows nothing of the runtime.
    let Some(mut rt) = (unsafe { Rt::live() }) else { sys::quit(DEFECT) };
    // SAFETY: the unwinder calls this, with its context.
    let (frame, pc) = unsafe { (_Unwind_GetCFA(context), _Unwind_GetIP(context)) };
    let &Unwinding { cleanup, first, .. } = &rt.threads.me().unwinding;
    if cleanup != 0 && cleanup < frame {
        // SAFETY: the program has registered this, and it is still on its stack; the functions below
        // it were cleaned up.
        unsafe {
            let cleanup = cleanup as *mut Cleanup;
            rt.threads.me_mut().unwinding.cleanup = (*cleanup).before;
            _longjmp((&raw mut (*cleanup).jump).cast(), 1);
        }
    }
    if rt.reporter.is_own(pc) && frame > first || actions & END_OF_STACK != 0 {
        over(&mut rt);
    }
    NO_REASON
}

/// The program has caught what it may only look at.
extern "C" fn caught(_reason: i32, _exception: *mut Exception) {
    // SAFETY: entered from the program by way of the unwinder, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { sys::quit(DEFECT) };
    let text = "what pthread_exit unwinds was caught and not thrown again";
    ends::fail(&mut rt, "abort", 0, text);
}

extern "C-unwind" fn exit_inner(value: usize) {
    // SAFETY: entered from the program, see `Rt::live`.
    match unsafe { Rt::live() } {
        Some(mut rt) => exit(&mut rt, value),
        None => native!(pthread_exit(value: usize)),
    }
}

/// `thrd_exit`, which is the same with another type of values.
extern "C-unwind" fn exit_c11(value: i32) {
    // SAFETY: entered from the program, see `Rt::live`.
    match unsafe { Rt::live() } {
        Some(mut rt) => exit(&mut rt, value as usize),
        None => native!(thrd_exit(value: i32)),
    }
}

extern "C-unwind" fn next(cleanup: Guest<Cleanup>) {
    // SAFETY: entered from the program, see `Rt::live`.
    match unsafe { Rt::live() } {
        Some(mut rt) => unwind(&mut rt),
        None => native!(__pthread_unwind_next(cleanup: Guest<Cleanup>)),
    }
}

entry! {
    pthread_exit => exit_inner;
    thrd_exit => exit_c11;
    __pthread_unwind_next => next;
}

stand_in! {
    fn __pthread_register_cancel(rt, cleanup: Guest<Cleanup>) {
        let last = &mut rt.threads.me_mut().unwinding.cleanup;
        cleanup.set(Cleanup { before: *last, ..cleanup.get() });
        *last = cleanup.addr();
    }

    fn __pthread_unregister_cancel(rt, cleanup: Guest<Cleanup>) {
        rt.threads.me_mut().unwinding.cleanup = cleanup.get().before;
    }
}
