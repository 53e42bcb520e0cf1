//! Functions of libc on strings and bytes that programs call for memory which may be shared. Libc is
//! not instrumented, so these announce what they read and write, if the program is under control.
//! The compiler makes calls of `__wrap_NAME` from those of `NAME`, so that libc's own can be used here.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::access::plain::access;
use crate::entry::frame::{Call, entry, latest};
use crate::entry::guest::{Area, Guest};
use crate::{LIVE, Rt};

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
    __wrap_bcmp => memcmp;
    __wrap_bcopy => bcopy;
    __wrap_bzero => bzero;
    __wrap_strdup => strdup;
    __wrap_strndup => strndup;
    __wrap_strchr => strchr;
    __wrap_strrchr => strrchr;
    __wrap_strstr => strstr;
    __wrap_memchr => memchr;
    __wrap_atoi => atoi;
    __wrap_strtol => strtol;
    __wrap_strtoul => strtoul;
    __wrap___isoc23_strtol => strtol;
    __wrap___isoc23_strtoul => strtoul;
    __wrap_atol => atol;
    __wrap_atoll => atol;
    __wrap_strtoll => strtol;
    __wrap_strtoull => strtoul;
    __wrap___isoc23_strtoll => strtol;
    __wrap___isoc23_strtoull => strtoul;
    __wrap_strtoimax => strtol;
    __wrap_strtoumax => strtoul;
    __wrap___isoc23_strtoimax => strtol;
    __wrap___isoc23_strtoumax => strtoul;
    __wrap_strtof => strtof;
    __wrap_atof => atof;
    __wrap_strtod => strtod;
    __wrap_mempcpy => mempcpy;
    __wrap_memrchr => memrchr;
    __wrap_strnlen => strnlen;
    __wrap_strcasecmp => strcasecmp;
    __wrap_strncasecmp => strncasecmp;
    __wrap_strspn => strspn;
    __wrap_strcspn => strcspn;
    __wrap_strpbrk => strpbrk;
    __wrap_localtime_r => localtime_r;
    __wrap_gmtime_r => gmtime_r;
    __wrap_strtok => strtok;
    __wrap_strtok_r => strtok_r;
    __wrap_qsort => qsort;
}

/// Bytes of the program, or a string.
pub type Text = Guest<u8>;

/// The text behind so many bytes.
pub fn after(text: Text, n: usize) -> Text {
    // SAFETY: the program has that many bytes there, and asks for what is behind them.
    unsafe { Guest::at(text.addr() + n) }
}

pub fn announce(text: Text, len: usize, write: bool, call: Call) {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        // SAFETY: the program wants these bytes to be read or written.
        access(&mut rt, unsafe { Area::at(text.addr(), len) }, write, call);
    }
}

pub fn length(text: Text, most: usize) -> usize {
    // SAFETY: the program says that there are `most` bytes, or a zero before.
    unsafe { libc::strnlen(text.pointer().cast(), most) }
}

/// Reads a string of at most so many bytes; how long it is when it is read.
pub fn reads(from: Text, most: usize, call: Call) -> usize {
    announce(from, (length(from, most) + 1).min(most), false, call);
    length(from, most)
}

pub fn copy(to: Text, from: Text, len: usize) {
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

extern "C" fn strnlen(from: Text, most: usize) -> usize {
    reads(from, most, latest())
}

extern "C" fn strlen(from: Text) -> usize {
    reads(from, usize::MAX, latest())
}

/// Reads two strings, no further than to the first bytes that are not alike.
fn reads_alike(a: Text, b: Text, n: usize, alike: fn(u8, u8) -> bool) {
    let call = latest();
    let same = (0..n).take_while(|&i| {
        let byte = after(a, i).get();
        byte != 0 && alike(byte, after(b, i).get())
    });
    let compared = (same.count() + 1).min(n);
    announce(a, compared, false, call);
    announce(b, compared, false, call);
}

extern "C" fn strncasecmp(a: Text, b: Text, n: usize) -> c_int {
    reads_alike(a, b, n, |a, b| a.eq_ignore_ascii_case(&b));
    // SAFETY: the program says that both are strings, or have so many bytes.
    unsafe { libc::strncasecmp(a.pointer().cast(), b.pointer().cast(), n) }
}

extern "C" fn strcasecmp(a: Text, b: Text) -> c_int {
    strncasecmp(a, b, usize::MAX)
}

extern "C" fn strncmp(a: Text, b: Text, n: usize) -> c_int {
    reads_alike(a, b, n, |a, b| a == b);
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

extern "C" fn mempcpy(to: Text, from: Text, n: usize) -> Text {
    moves(to, from, n);
    after(to, n)
}

extern "C" fn bcopy(from: Text, to: Text, n: usize) {
    moves(to, from, n);
}

extern "C" fn bzero(to: Text, n: usize) {
    fills(to, 0, n);
}

extern "C" fn strndup(from: Text, n: usize) -> Text {
    let call = latest();
    reads(from, n, call);
    // SAFETY: the program says that it is a string, or has so many bytes.
    let new = unsafe { libc::strndup(from.pointer().cast(), n) };
    if new.is_null() {
        return Guest::null();
    }
    // SAFETY: libc has just made it.
    let new: Text = unsafe { Guest::at(new as usize) };
    announce(new, length(new, usize::MAX) + 1, true, call);
    new
}

extern "C" fn strdup(from: Text) -> Text {
    strndup(from, usize::MAX)
}

/// What a search in a string found, as the caller gets it.
fn found(at: *mut libc::c_char) -> Text {
    // SAFETY: it is in the string of the program, or null.
    unsafe { Guest::at(at as usize) }
}

extern "C" fn strchr(text: Text, byte: c_int) -> Text {
    let call = latest();
    // SAFETY: the program says that it is a string, or has the byte before its end.
    let natively = || unsafe { libc::strchr(text.pointer().cast(), byte) };
    // It looks no further than to the first.
    match natively() as usize {
        0 => {
            reads(text, usize::MAX, call);
        }
        at => announce(text, at - text.addr() + 1, false, call),
    }
    found(natively())
}

extern "C" fn strrchr(text: Text, byte: c_int) -> Text {
    reads(text, usize::MAX, latest());
    // SAFETY: the program says that it is a string.
    found(unsafe { libc::strrchr(text.pointer().cast(), byte) })
}

extern "C" fn strstr(text: Text, part: Text) -> Text {
    let call = latest();
    reads(text, usize::MAX, call);
    reads(part, usize::MAX, call);
    // SAFETY: the program says that both are strings.
    found(unsafe { libc::strstr(text.pointer().cast(), part.pointer().cast()) })
}

extern "C" fn memchr(bytes: Text, byte: c_int, n: usize) -> Text {
    let natively = || {
        // SAFETY: the program says that there are so many bytes, or the byte before.
        let at = unsafe { libc::memchr(bytes.pointer().cast(), byte, n) } as usize;
        if at == 0 { (0, n) } else { (at, at - bytes.addr() + 1) }
    };
    announce(bytes, natively().1, false, latest());
    found(natively().0 as *mut libc::c_char)
}

extern "C" fn memrchr(bytes: Text, byte: c_int, n: usize) -> Text {
    // SAFETY: the program says that there are so many bytes.
    let natively = || unsafe { libc::memrchr(bytes.pointer().cast(), byte, n) };
    // It looks from the end.
    let from = (natively() as usize).saturating_sub(bytes.addr());
    announce(after(bytes, from), n - from, false, latest());
    found(natively().cast())
}

/// Reads the bytes at the beginning of a text among which are, or are not, those of another one; how many.
fn reads_span(
    text: Text,
    of: Text,
    span: unsafe extern "C" fn(*const c_char, *const c_char) -> usize,
) -> usize {
    let call = latest();
    // SAFETY: the program says that both are strings.
    let natively = || unsafe { span(text.pointer().cast(), of.pointer().cast()) };
    reads(of, usize::MAX, call);
    announce(text, natively() + 1, false, call);
    natively()
}

extern "C" fn strspn(text: Text, of: Text) -> usize {
    reads_span(text, of, libc::strspn)
}

extern "C" fn strcspn(text: Text, of: Text) -> usize {
    reads_span(text, of, libc::strcspn)
}

extern "C" fn strpbrk(text: Text, of: Text) -> Text {
    let found = after(text, reads_span(text, of, libc::strcspn));
    if found.get() == 0 { Guest::null() } else { found }
}

/// Reads the seconds and writes the fields of a time.
fn splits_time(time: Guest<i64>, fields: Guest<libc::tm>) {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        let call = latest();
        access(&mut rt, time.area(), false, call);
        access(&mut rt, fields.area(), true, call);
    }
}

extern "C" fn localtime_r(time: Guest<i64>, fields: Guest<libc::tm>) -> usize {
    splits_time(time, fields);
    // SAFETY: the program says that there are a time and fields.
    unsafe { libc::localtime_r(time.pointer(), fields.pointer()) as usize }
}

extern "C" fn gmtime_r(time: Guest<i64>, fields: Guest<libc::tm>) -> usize {
    splits_time(time, fields);
    // SAFETY: the program says that there are a time and fields.
    unsafe { libc::gmtime_r(time.pointer(), fields.pointer()) as usize }
}

/// Reads a number, and what shows that it ends there.
fn reads_number(text: Text, base: c_int) {
    let call = latest();
    let mut end = core::ptr::null_mut();
    // SAFETY: the program says that it is a string, or has more than a number there.
    unsafe { libc::strtol(text.pointer().cast(), &raw mut end, base) };
    announce(text, (end as usize).saturating_sub(text.addr()) + 1, false, call);
}

extern "C" fn atoi(text: Text) -> c_int {
    reads_number(text, 10);
    // SAFETY: the program says that it is a string.
    unsafe { libc::atoi(text.pointer().cast()) }
}

extern "C" fn atol(text: Text) -> i64 {
    reads_number(text, 10);
    // SAFETY: the program says that it is a string.
    unsafe { libc::atol(text.pointer().cast()) }
}

/// The same for one with a fraction.
fn reads_fraction(text: Text) {
    let mut end = core::ptr::null_mut();
    // SAFETY: the program says that it is a string, or has more than a number there.
    unsafe { libc::strtod(text.pointer().cast(), &raw mut end) };
    announce(text, (end as usize).saturating_sub(text.addr()) + 1, false, latest());
}

extern "C" fn atof(text: Text) -> f64 {
    reads_fraction(text);
    // SAFETY: the program says that it is a string.
    unsafe { libc::atof(text.pointer().cast()) }
}

/// Stores where a number ends, if the program wants to know.
fn ends(end: Guest<usize>, at: *mut c_char) {
    if end.given().is_some() {
        let call = latest();
        // SAFETY: the program has the place of a pointer there.
        announce(unsafe { Guest::at(end.addr()) }, size_of::<usize>(), true, call);
        end.set(at as usize);
    }
}

extern "C" fn strtod(text: Text, end: Guest<usize>) -> f64 {
    reads_fraction(text);
    let mut at = core::ptr::null_mut();
    // SAFETY: the program says that it is a string.
    let number = unsafe { libc::strtod(text.pointer().cast(), &raw mut at) };
    ends(end, at);
    number
}

extern "C" fn strtof(text: Text, end: Guest<usize>) -> f32 {
    reads_fraction(text);
    let mut at = core::ptr::null_mut();
    // SAFETY: the program says that it is a string.
    let number = unsafe { libc::strtof(text.pointer().cast(), &raw mut at) };
    ends(end, at);
    number
}

extern "C" fn strtol(text: Text, end: Guest<usize>, base: c_int) -> i64 {
    reads_number(text, base);
    let mut at = core::ptr::null_mut();
    // SAFETY: the program says that it is a string.
    let number = unsafe { libc::strtol(text.pointer().cast(), &raw mut at, base) };
    ends(end, at);
    number
}

extern "C" fn strtoul(text: Text, end: Guest<usize>, base: c_int) -> u64 {
    reads_number(text, base);
    let mut at = core::ptr::null_mut();
    // SAFETY: the program says that it is a string.
    let number = unsafe { libc::strtoul(text.pointer().cast(), &raw mut at, base) };
    ends(end, at);
    number
}

/// The next part of a text between some of the bytes `by`, which ends where one of them was; nothing if there is none. `rest` is
/// where the one after it begins.
fn next_token(text: Text, by: Text, rest: &mut usize, call: Call) -> Text {
    let nothing = || Guest::null();
    let text = if text.given().is_some() { text.addr() } else { *rest };
    if text == 0 {
        return nothing();
    }
    // SAFETY: the program says that there is a string, or what is left of one.
    let text: Text = unsafe { Guest::at(text) };
    let found = || {
        // SAFETY: the program says that both are strings.
        unsafe {
            let skipped = libc::strspn(text.pointer().cast(), by.pointer().cast());
            let begin = after(text, skipped);
            (skipped, libc::strcspn(begin.pointer().cast(), by.pointer().cast()))
        }
    };
    reads(by, usize::MAX, call);
    let (skipped, len) = found();
    announce(text, skipped + len + 1, false, call);
    let (skipped, len) = found();
    let (begin, end) = (after(text, skipped), after(text, skipped + len));
    *rest = end.addr();
    if len == 0 {
        return nothing();
    }
    if end.get() != 0 {
        announce(end, 1, true, call);
        end.set(0);
        *rest = end.addr() + 1;
    }
    begin
}

/// Where `strtok` goes on: one place for all threads, which is read and written like memory of the program. POSIX and
/// C say that `strtok` need not avoid data races, and that of glibc does not.
static POSITION: AtomicUsize = AtomicUsize::new(0);

/// Before an execution.
pub fn begin() {
    POSITION.store(0, Ordering::Relaxed);
}

extern "C" fn strtok(text: Text, by: Text) -> Text {
    if !LIVE.load(Ordering::Relaxed) {
        // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
        return found(unsafe { libc::strtok(text.pointer().cast(), by.pointer().cast()) });
    }
    // SAFETY: it has the size of a pointer, and may change at any time.
    strtok_r(text, by, unsafe { Guest::at(POSITION.as_ptr() as usize) })
}

extern "C" fn strtok_r(text: Text, by: Text, kept: Guest<usize>) -> Text {
    let call = latest();
    // SAFETY: the program has the place of a pointer there.
    let place: Text = unsafe { Guest::at(kept.addr()) };
    if text.given().is_none() {
        announce(place, size_of::<usize>(), false, call);
    }
    let mut rest = if text.given().is_none() { kept.get() } else { 0 };
    let token = next_token(text, by, &mut rest, call);
    announce(place, size_of::<usize>(), true, call);
    kept.set(rest);
    token
}

/// Sorts, with a function of the program, which takes steps of its own.
extern "C" fn qsort(array: Text, n: usize, size: usize, compare: usize) {
    if n > 1 {
        let call = latest();
        announce(array, n.saturating_mul(size), false, call);
        announce(array, n.saturating_mul(size), true, call);
    }
    type Compare = unsafe extern "C" fn(*const libc::c_void, *const libc::c_void) -> c_int;
    // SAFETY: the program passes a function that compares two of `n` elements of an array.
    unsafe {
        let compare = core::mem::transmute::<usize, Option<Compare>>(compare);
        libc::qsort(array.pointer().cast(), n, size, compare);
    }
}
