//! Functions of libc on strings and bytes that programs call for memory which may be shared. Libc is
//! not instrumented, so these announce what they read and write.

use core::ffi::{c_char, c_int, c_void};

use crate::access::plain::{Order, access};
use crate::entry::frame::{Frame, entry, frame};

entry! {
    __wrap_strcpy => strcpy;
    __wrap_stpcpy => stpcpy;
    __wrap_strncpy => strncpy;
    __wrap_strcat => strcat;
    __wrap_strncat => strncat;
    __wrap_strlen => strlen;
    __wrap_strcmp => strcmp;
    __wrap_strncmp => strncmp;
    __wrap_memcmp => memcmp;
    __wrap_bcopy => bcopy;
    __wrap_bzero => bzero;
}

unsafe fn reads(from: *const c_char, len: usize, frame: *const Frame) {
    access(from as usize, len, false, Order::Plain, frame);
}

unsafe fn writes(to: *mut c_char, len: usize, frame: *const Frame) {
    access(to as usize, len, true, Order::Plain, frame);
}

/// Reads a string of at most so many bytes; how long it is when it is read.
unsafe fn reads_string(from: *const c_char, most: usize, frame: *const Frame) -> usize {
    let len = libc::strnlen(from, most);
    reads(from, (len + 1).min(most), frame);
    libc::strnlen(from, most)
}

/// Writes so many bytes of a string, and a zero.
unsafe fn put(to: *mut c_char, from: *const c_char, len: usize, frame: *const Frame) {
    writes(to, len + 1, frame);
    from.copy_to(to, len);
    to.add(len).write(0);
}

unsafe extern "C" fn stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
    let frame = frame();
    let len = reads_string(from, usize::MAX, frame);
    put(to, from, len, frame);
    to.add(len)
}

unsafe extern "C" fn strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
    stpcpy(to, from);
    to
}

unsafe extern "C" fn strncpy(to: *mut c_char, from: *const c_char, n: usize) -> *mut c_char {
    let frame = frame();
    let len = reads_string(from, n, frame);
    writes(to, n, frame);
    from.copy_to(to, len);
    to.add(len).write_bytes(0, n - len);
    to
}

unsafe extern "C" fn strncat(to: *mut c_char, from: *const c_char, n: usize) -> *mut c_char {
    let frame = frame();
    let end = reads_string(to, usize::MAX, frame);
    let len = reads_string(from, n, frame);
    put(to.add(end), from, len, frame);
    to
}

unsafe extern "C" fn strcat(to: *mut c_char, from: *const c_char) -> *mut c_char {
    strncat(to, from, usize::MAX)
}

unsafe extern "C" fn strlen(from: *const c_char) -> usize {
    reads_string(from, usize::MAX, frame())
}

unsafe extern "C" fn strncmp(a: *const c_char, b: *const c_char, n: usize) -> c_int {
    let frame = frame();
    reads_string(a, n, frame);
    reads_string(b, n, frame);
    libc::strncmp(a, b, n)
}

unsafe extern "C" fn strcmp(a: *const c_char, b: *const c_char) -> c_int {
    strncmp(a, b, usize::MAX)
}

unsafe extern "C" fn memcmp(a: *const c_void, b: *const c_void, n: usize) -> c_int {
    let frame = frame();
    reads(a.cast(), n, frame);
    reads(b.cast(), n, frame);
    libc::memcmp(a, b, n)
}

unsafe extern "C" fn bcopy(from: *const c_char, to: *mut c_char, n: usize) {
    let frame = frame();
    reads(from, n, frame);
    writes(to, n, frame);
    from.copy_to(to, n);
}

unsafe extern "C" fn bzero(to: *mut c_char, n: usize) {
    writes(to, n, frame());
    to.write_bytes(0, n);
}
