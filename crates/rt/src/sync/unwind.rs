//! How a thread ends in the middle of its functions: `pthread_exit` runs what they have registered
//! to be cleaned up, and the destructors of C++, from the innermost function to the outermost.

use core::ffi::c_void;

use crate::entry::frame::entry;
use crate::entry::native::native;
use crate::execution::ends;
use crate::runtime::{Runtime, live};
use crate::schedule::threads::end;
use crate::sys;

/// What the unwinder wants to know of an exception.
#[repr(C, align(16))]
#[derive(Default)]
pub struct Exception {
    class: u64,
    cleanup: usize,
    private: [u64; 4],
}

/// What C programs put on their stacks for `pthread_cleanup_push`; the place of glibc's own list.
#[repr(C)]
struct Cleanup {
    /// As `setjmp` has filled it.
    jump: [usize; 9],
    /// The one before it in the same thread.
    before: *mut Cleanup,
    rest: [usize; 3],
}

type Stop = unsafe extern "C" fn(i32, i32, u64, *mut Exception, *mut c_void, *mut c_void) -> i32;

unsafe extern "C" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, arg: *mut c_void) -> i32;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _longjmp(to: *mut usize, value: i32) -> !;
}

/// The current thread ends with this value, after its functions were cleaned up.
pub unsafe fn exit(rt: *mut Runtime, value: usize) -> ! {
    let me = (*rt).current;
    (&mut (*rt).threads)[me].value = value;
    unwind(rt)
}

/// Goes on with that.
unsafe fn unwind(rt: *mut Runtime) -> ! {
    let me = (*rt).current;
    let thread = &mut (&mut (*rt).threads)[me];
    thread.exception =
        Exception { class: 0, cleanup: caught as *const () as usize, private: [0; 4] };
    _Unwind_ForcedUnwind(&raw mut thread.exception, stop, core::ptr::null_mut());
    // There is nothing to be unwound.
    over(rt)
}

unsafe fn over(rt: *mut Runtime) -> ! {
    let me = (*rt).current;
    let value = (&(*rt).threads)[me].value;
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
    let rt = live();
    let me = (*rt).current;
    let thread = &mut (&mut (*rt).threads)[me];
    let frame = _Unwind_GetCFA(context);
    let cleanup = thread.cleanup as *mut Cleanup;
    if !cleanup.is_null() && (cleanup as usize) < frame {
        thread.cleanup = (*cleanup).before as usize;
        _longjmp((&raw mut (*cleanup).jump).cast(), 1);
    }
    let (from, to) = (*rt).own_code;
    let ours = (from..to).contains(&_Unwind_GetIP(context)) && frame > thread.first;
    if ours || actions & END_OF_STACK != 0 {
        over(rt);
    }
    NO_REASON
}

/// The program has caught what it may only look at.
unsafe extern "C" fn caught(_reason: i32, _exception: *mut Exception) {
    let rt = live();
    if rt.is_null() {
        sys::quit(70);
    }
    ends::fail(rt, "abort", 0, "what pthread_exit unwinds was caught and not thrown again");
}

unsafe extern "C" fn register(cleanup: *mut Cleanup) {
    let rt = live();
    if rt.is_null() {
        return native!(__pthread_register_cancel(cleanup: *mut Cleanup));
    }
    let me = (*rt).current;
    let thread = &mut (&mut (*rt).threads)[me];
    (*cleanup).before = thread.cleanup as *mut Cleanup;
    thread.cleanup = cleanup as usize;
}

unsafe extern "C" fn unregister(cleanup: *mut Cleanup) {
    let rt = live();
    if rt.is_null() {
        return native!(__pthread_unregister_cancel(cleanup: *mut Cleanup));
    }
    let me = (*rt).current;
    (&mut (*rt).threads)[me].cleanup = (*cleanup).before as usize;
}

unsafe extern "C" fn next(cleanup: *mut Cleanup) {
    let rt = live();
    if rt.is_null() {
        return native!(__pthread_unwind_next(cleanup: *mut Cleanup));
    }
    unwind(rt)
}

unsafe extern "C" fn exit_inner(value: usize) {
    let rt = live();
    if rt.is_null() {
        return native!(pthread_exit(value: usize));
    }
    exit(rt, value)
}

entry! {
    pthread_exit => exit_inner;
    __pthread_register_cancel => register;
    __pthread_unregister_cancel => unregister;
    __pthread_unwind_next => next;
}
