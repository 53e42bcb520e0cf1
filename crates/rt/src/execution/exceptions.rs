//! Exceptions of C++ that nobody catches: its library ends the program by `abort`, and only who has
//! seen them being thrown knows from where.
//!
//! Tables of virtual functions are as in the Itanium ABI, which gcc and clang follow on Linux.

use core::ffi::{CStr, c_char, c_void};

use crate::Rt;
use crate::entry::frame::{entry, latest};
use crate::entry::guest::Guest;
use crate::entry::native::native;

/// What a thread has thrown.
#[derive(Clone, Copy)]
pub struct Exception {
    object: usize,
    /// Its `std::type_info`.
    kind: usize,
    /// From where.
    pc: usize,
}

/// The exceptions of a thread.
#[derive(Default)]
pub struct Exceptions {
    /// Thrown last, and not caught so far.
    thrown: Option<Exception>,
    /// Caught last.
    caught: Option<Exception>,
}

/// What the current thread has thrown and nobody has caught, in words, and from where.
pub fn uncaught(rt: &mut Rt) -> Option<(String, usize)> {
    let Exception { object, kind, pc } = rt.threads.me().exceptions.thrown?;
    // SAFETY: the compiler has passed both to who throws, and the object is there until it is caught.
    let text = rt.run_program(|| unsafe {
        match what(object, kind) {
            Some(what) => format!("{}: {what}", name(kind)),
            None => name(kind),
        }
    });
    Some((text, pc))
}

/// The name of a type, as the source has it if the library of C++ says so.
///
/// # Safety
/// There is a `std::type_info`.
unsafe fn name(kind: usize) -> String {
    type Demangle =
        unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut i32) -> *mut c_char;
    // SAFETY: the name is the second word. The function has this type; what it returns is a string.
    unsafe {
        let mangled = (kind as *const *const c_char).add(1).read();
        let mangled = if *mangled == b'*' as c_char { mangled.add(1) } else { mangled };
        let mut shown = mangled.cast_mut();
        if let Some(f) = find(c"__cxa_demangle") {
            let demangle = core::mem::transmute::<usize, Demangle>(f);
            let (none, mut status) = (core::ptr::null_mut(), 0);
            let found = demangle(mangled, none, none.cast(), &raw mut status);
            if !found.is_null() {
                shown = found;
            }
        }
        CStr::from_ptr(shown).to_string_lossy().into_owned()
    }
}

/// What an exception says about itself, if it is a `std::exception`.
///
/// # Safety
/// There is such an object, of this type.
unsafe fn what(object: usize, kind: usize) -> Option<String> {
    type DoCatch = unsafe extern "C" fn(usize, usize, *mut usize, u32) -> bool;
    type What = unsafe extern "C" fn(usize) -> *const c_char;
    let base = find(c"_ZTISt9exception")?;
    // SAFETY: a type has a virtual function that says whether it catches another, and where in the
    // object it is then; `std::exception` has its destructors, then the function that is asked here.
    unsafe {
        let catches = virtual_function(base, 4);
        let mut base_object = object;
        let catches = core::mem::transmute::<usize, DoCatch>(catches);
        if !catches(base, kind, &raw mut base_object, 1) {
            return None;
        }
        let what = core::mem::transmute::<usize, What>(virtual_function(base_object, 2));
        let text = what(base_object);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// A function of the table that an object begins with.
///
/// # Safety
/// There is such an object, with so many functions.
unsafe fn virtual_function(object: usize, n: usize) -> usize {
    // SAFETY: as the caller says.
    unsafe { (*(object as *const *const usize)).add(n).read() }
}

fn find(name: &CStr) -> Option<usize> {
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    (found != 0).then_some(found)
}

extern "C-unwind" fn throw(object: usize, kind: usize, destroy: usize) {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        let pc = latest().pc();
        rt.threads.me_mut().exceptions.thrown = Some(Exception { object, kind, pc });
    }
    native!(__cxa_throw(object: usize, kind: usize, destroy: usize));
}

extern "C-unwind" fn throw_again() {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() }
        // Before it ends the program, the library of C++ looks at what was thrown in this way.
        && !is_library(&rt, latest().pc())
    {
        let exceptions = &mut rt.threads.me_mut().exceptions;
        exceptions.thrown = exceptions.caught;
    }
    native!(__cxa_rethrow());
}

/// Throws what a `std::exception_ptr` keeps, of which the program passes the place.
extern "C-unwind" fn throw_kept(kept: Guest<usize>) {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() }
        && let Some(f) = find(c"_ZNKSt15__exception_ptr13exception_ptr20__cxa_exception_typeEv")
    {
        type KindOf = unsafe extern "C" fn(Guest<usize>) -> usize;
        // SAFETY: the function of this name has this type.
        let kind = unsafe { core::mem::transmute::<usize, KindOf>(f)(kept) };
        let (object, pc) = (kept.get(), latest().pc());
        if object != 0 && kind != 0 {
            rt.threads.me_mut().exceptions.thrown = Some(Exception { object, kind, pc });
        }
    }
    native!(_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE(kept: Guest<usize>));
}

extern "C-unwind" fn begin_catch(exception: usize) -> *mut c_void {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        let pc = latest().pc();
        // The library of C++ itself catches what it ends the program for.
        if !is_library(&rt, pc) {
            let exceptions = &mut rt.threads.me_mut().exceptions;
            if let Some(thrown) = exceptions.thrown.take() {
                exceptions.caught = Some(thrown);
            }
        }
    }
    native!(__cxa_begin_catch(exception: usize) -> *mut c_void)
}

/// Whether this is code of the library of C++.
fn is_library(rt: &Rt, pc: usize) -> bool {
    let module = rt.reporter.modules().iter().find(|m| (m.base..m.end).contains(&pc));
    module.is_some_and(|m| m.path.contains("libstdc++") || m.path.contains("libc++"))
}

entry! {
    __cxa_throw => throw;
    __cxa_rethrow => throw_again;
    __cxa_begin_catch => begin_catch;
    _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE => throw_kept;
}
