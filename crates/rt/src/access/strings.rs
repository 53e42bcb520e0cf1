//! Functions of libc on strings and bytes that programs call for memory which may be shared. Libc is
//! not instrumented, so these announce what they read and write, if the program is under control.
//! The compiler makes calls of `__wrap_NAME` from those of `NAME`, so that libc's own can be used here.

use core::ffi::c_int;

use crate::Rt;
use crate::access::plain::access;
use crate::entry::frame::{Call, entry, latest};
use crate::entry::guest::{Area, Guest};

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

/// Bytes of the program, or a string.
type Text = Guest<u8>;

/// The text behind so many bytes.
fn after(text: Text, n: usize) -> Text {
    // SAFETY: the program has that many bytes there, and asks for what is behind them.
    unsafe { Guest::at(text.addr() + n) }
}

fn announce(text: Text, len: usize, write: bool, call: Call) {
    // SAFETY: the program calls.
    if let Some(mut rt) = unsafe { Rt::live() } {
        // SAFETY: the program wants these bytes to be read or written.
        access(&mut rt, unsafe { Area::at(text.addr(), len) }, write, call);
    }
}

fn length(text: Text, most: usize) -> usize {
    // SAFETY: the program says that there are `most` bytes, or a zero before.
    unsafe { libc::strnlen(text.pointer().cast(), most) }
}

/// Reads a string of at most so many bytes; how long it is when it is read.
fn reads(from: Text, most: usize, call: Call) -> usize {
    announce(from, (length(from, most) + 1).min(most), false, call);
    length(from, most)
}

fn copy(to: Text, from: Text, len: usize) {
    // SAFETY: the program says that there are so many bytes at both addresses.
    unsafe { from.pointer().copy_to(to.pointer(), len) };
}

fn clear(to: Text, byte: u8, len: usize) {
    // SAFETY: the program says that there are so many bytes.
    unsafe { to.pointer().write_bytes(byte, len) };
}

/// Writes so many bytes of a string, and a zero.
fn put(to: Text, from: Text, len: usize, call: Call) {
    announce(to, len + 1, true, call);
    copy(to, from, len);
    after(to, len).set(0);
}

/// Reads bytes and writes them elsewhere.
pub fn moves(to: Text, from: Text, len: usize) {
    let call = latest();
    announce(from, len, false, call);
    announce(to, len, true, call);
    copy(to, from, len);
}

/// Writes the same byte to all.
pub fn fills(to: Text, byte: u8, len: usize) {
    announce(to, len, true, latest());
    clear(to, byte, len);
}

extern "C" fn stpcpy(to: Text, from: Text) -> Text {
    let call = latest();
    let len = reads(from, usize::MAX, call);
    put(to, from, len, call);
    after(to, len)
}

extern "C" fn strcpy(to: Text, from: Text) -> Text {
    stpcpy(to, from);
    to
}

extern "C" fn strncpy(to: Text, from: Text, n: usize) -> Text {
    let call = latest();
    let len = reads(from, n, call);
    announce(to, n, true, call);
    copy(to, from, len);
    clear(after(to, len), 0, n - len);
    to
}

extern "C" fn strncat(to: Text, from: Text, n: usize) -> Text {
    let call = latest();
    let end = reads(to, usize::MAX, call);
    let len = reads(from, n, call);
    put(after(to, end), from, len, call);
    to
}

extern "C" fn strcat(to: Text, from: Text) -> Text {
    strncat(to, from, usize::MAX)
}

extern "C" fn strlen(from: Text) -> usize {
    reads(from, usize::MAX, latest())
}

extern "C" fn strncmp(a: Text, b: Text, n: usize) -> c_int {
    let call = latest();
    reads(a, n, call);
    reads(b, n, call);
    // SAFETY: the program says that both are strings, or have so many bytes.
    unsafe { libc::strncmp(a.pointer().cast(), b.pointer().cast(), n) }
}

extern "C" fn strcmp(a: Text, b: Text) -> c_int {
    strncmp(a, b, usize::MAX)
}

extern "C" fn memcmp(a: Text, b: Text, n: usize) -> c_int {
    let call = latest();
    announce(a, n, false, call);
    announce(b, n, false, call);
    // SAFETY: the program says that both have so many bytes.
    unsafe { libc::memcmp(a.pointer().cast(), b.pointer().cast(), n) }
}

extern "C" fn bcopy(from: Text, to: Text, n: usize) {
    moves(to, from, n);
}

extern "C" fn bzero(to: Text, n: usize) {
    fills(to, 0, n);
}
