//! Functions of libc that print, scan, read and write: what they do to memory of the program is announced,
//! as in `strings.rs`. What they read from files comes into memory of ours first, so that it is known how
//! much it is before anything is written.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering;

use weakspot_live::formats::{Argument, printed, scanned};

use crate::LIVE;
use crate::access::strings::{Text, after, announce, copy, length, reads};
use crate::access::variadic::{Arguments, variadic};
use crate::entry::frame::{Call, entry, latest};
use crate::entry::guest::Guest;
use crate::world::blocking::writes_to;
use crate::world::stdio::File;
use crate::world::streams;

type List = Guest<Arguments>;

variadic! {
    __wrap_printf => vprintf, 1, "rsi";
    __wrap_fprintf => vfprintf, 2, "rdx";
    __wrap_dprintf => vdprintf, 2, "rdx";
    __wrap_sprintf => vsprintf, 2, "rdx";
    __wrap_snprintf => vsnprintf, 3, "rcx";
    __wrap_asprintf => vasprintf, 2, "rdx";
    __wrap_sscanf => vsscanf, 2, "rdx";
    __wrap___isoc99_sscanf => vsscanf, 2, "rdx";
    __wrap___isoc23_sscanf => vsscanf, 2, "rdx";
}

entry! {
    __wrap_vprintf => vprintf;
    __wrap_vfprintf => vfprintf;
    __wrap_vdprintf => vdprintf;
    __wrap_vsprintf => vsprintf;
    __wrap_vsnprintf => vsnprintf;
    __wrap_vasprintf => vasprintf;
    __wrap_vsscanf => vsscanf;
    __wrap___isoc99_vsscanf => vsscanf;
    __wrap___isoc23_vsscanf => vsscanf;
    __wrap_puts => puts;
    __wrap_fputs => fputs;
    __wrap_fgets => fgets;
    __wrap_fread => fread;
    __wrap_fwrite => fwrite;
    __wrap_fputs_unlocked => fputs;
    __wrap_fgets_unlocked => fgets;
    __wrap_fread_unlocked => fread;
    __wrap_fwrite_unlocked => fwrite;
}

/// libc's own functions. Their lists of arguments are ours.
mod libcs {
    use super::{Arguments, c_int};

    unsafe extern "C" {
        pub fn vfprintf(file: *mut u8, format: *const u8, list: *mut Arguments) -> c_int;
        pub fn vdprintf(fd: c_int, format: *const u8, list: *mut Arguments) -> c_int;
        pub fn vsnprintf(to: *mut u8, n: usize, format: *const u8, list: *mut Arguments) -> c_int;
        pub fn vasprintf(to: *mut *mut u8, format: *const u8, list: *mut Arguments) -> c_int;
        pub fn __isoc99_vsscanf(from: *const u8, format: *const u8, list: *mut Arguments) -> c_int;
        pub fn fputs(text: *const u8, file: *mut u8) -> c_int;
        pub fn fgets(to: *mut u8, n: c_int, file: *mut u8) -> *mut u8;
        pub fn fread(to: *mut u8, size: usize, n: usize, file: *mut u8) -> usize;
        pub fn fwrite(from: *const u8, size: usize, n: usize, file: *mut u8) -> usize;
        pub static stdout: *mut u8;
    }
}

/// The bytes of a string.
fn bytes(text: Text) -> Vec<u8> {
    let len = length(text, usize::MAX);
    // SAFETY: the program says that there is a string, which is as long as that.
    unsafe { core::slice::from_raw_parts(text.pointer(), len) }.to_vec()
}

/// Text at an address.
fn text(addr: usize) -> Text {
    // SAFETY: the program says that it has a string there.
    unsafe { Guest::at(addr) }
}

/// Announces what printing with a format reads: the format, and strings. Where `%n` writes to is announced as
/// well.
fn printing(format: Text, list: List, call: Call) {
    if !LIVE.load(Ordering::Relaxed) {
        return;
    }
    reads(format, usize::MAX, call);
    let Some(arguments) = printed(&bytes(format)) else { return };
    let mut list = list.get();
    let mut most = None;
    for argument in arguments {
        match argument {
            Argument::Float => list.skip_float(),
            Argument::LongFloat => list.skip_long_float(),
            argument => {
                // SAFETY: the format says that there is one.
                let word = unsafe { list.integer() };
                match argument {
                    // A negative one is none.
                    Argument::Precision => most = usize::try_from(word as i32).ok(),
                    Argument::Text(limit) => {
                        let limit = limit.or(most.take()).unwrap_or(usize::MAX);
                        if word != 0 && limit > 0 {
                            reads(text(word), limit, call);
                        }
                    }
                    Argument::Count(len) if word != 0 => announce(text(word), len, true, call),
                    _ => {}
                }
            }
        }
    }
}

extern "C" fn vprintf(format: Text, list: List) -> c_int {
    printing(format, list, latest());
    // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
    unsafe { libcs::vfprintf(libcs::stdout, format.pointer(), list.pointer()) }
}

extern "C" fn vfprintf(file: File, format: Text, list: List) -> c_int {
    printing(format, list, latest());
    streams::writes(file, "fprintf");
    // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
    unsafe { libcs::vfprintf(file.pointer().cast(), format.pointer(), list.pointer()) }
}

extern "C" fn vdprintf(fd: c_int, format: Text, list: List) -> c_int {
    printing(format, list, latest());
    writes_to(fd, "dprintf");
    // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
    unsafe { libcs::vdprintf(fd, format.pointer(), list.pointer()) }
}

extern "C" fn vsprintf(to: Text, format: Text, list: List) -> c_int {
    vsnprintf(to, c_int::MAX as usize, format, list)
}

/// Prints into memory of ours, then writes what is there.
extern "C" fn vsnprintf(to: Text, n: usize, format: Text, list: List) -> c_int {
    let call = latest();
    printing(format, list, call);
    if !LIVE.load(Ordering::Relaxed) {
        // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
        return unsafe { libcs::vsnprintf(to.pointer(), n, format.pointer(), list.pointer()) };
    }
    let mut again = list.get();
    // SAFETY: nothing is written to no bytes.
    let len =
        unsafe { libcs::vsnprintf(core::ptr::null_mut(), 0, format.pointer(), &raw mut again) };
    let Ok(whole) = usize::try_from(len) else { return len };
    if n == 0 {
        return len;
    }
    let mut made = vec![0_u8; whole + 1];
    // SAFETY: there is room for all of it, and the list is read once.
    unsafe { libcs::vsnprintf(made.as_mut_ptr(), whole + 1, format.pointer(), list.pointer()) };
    let put = whole.min(n - 1);
    announce(to, put + 1, true, call);
    copy(to, text(made.as_ptr() as usize), put);
    after(to, put).set(0);
    len
}

/// Prints into a new block, and stores where that is.
extern "C" fn vasprintf(to: Guest<usize>, format: Text, list: List) -> c_int {
    let call = latest();
    printing(format, list, call);
    let mut block = core::ptr::null_mut();
    // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`, and room for a pointer.
    let len = unsafe { libcs::vasprintf(&raw mut block, format.pointer(), list.pointer()) };
    if len >= 0 {
        let new = text(block as usize);
        announce(new, length(new, usize::MAX) + 1, true, call);
        announce(text(to.addr()), size_of::<usize>(), true, call);
        to.set(block as usize);
    }
    len
}

/// Scans into memory of ours, then writes what was found.
extern "C" fn vsscanf(from: Text, format: Text, list: List) -> c_int {
    let call = latest();
    let natively = |list: *mut Arguments| {
        // SAFETY: the program's own arguments, see `entry/guest.rs`, or places of ours that are large enough.
        unsafe { libcs::__isoc99_vsscanf(from.pointer(), format.pointer(), list) }
    };
    if !LIVE.load(Ordering::Relaxed) {
        return natively(list.pointer());
    }
    reads(format, usize::MAX, call);
    let len = reads(from, usize::MAX, call);
    let Some(arguments) = scanned(&bytes(format)) else { return natively(list.pointer()) };
    // Nobody writes this as a number of bytes.
    const UNTOUCHED: u8 = 0xfe;
    let room = |argument: &Argument| match argument {
        Argument::Out(size) | Argument::Count(size) => (*size).max(8),
        _ => len + 1,
    };
    let mut places: Vec<Vec<u8>> = arguments.iter().map(|a| vec![UNTOUCHED; room(a)]).collect();
    let words: Vec<usize> = places.iter_mut().map(|place| place.as_mut_ptr() as usize).collect();
    let mut ours = Arguments::of(&words);
    let found = natively(&raw mut ours);
    let mut list = list.get();
    let mut left = found.max(0);
    for (argument, place) in arguments.iter().zip(&places) {
        // SAFETY: the format says that there is one.
        let to = text(unsafe { list.integer() });
        let here = text(place.as_ptr() as usize);
        let size = match argument {
            Argument::Count(size) if place[..*size].iter().all(|&b| b == UNTOUCHED) => continue,
            Argument::Count(size) => *size,
            _ if left == 0 => break,
            Argument::Out(size) => *size,
            _ => length(here, place.len()) + 1,
        };
        left -= c_int::from(!matches!(argument, Argument::Count(_)));
        announce(to, size, true, call);
        copy(to, here, size);
    }
    found
}

extern "C" fn puts(line: Text) -> c_int {
    reads(line, usize::MAX, latest());
    // SAFETY: the program's own argument, see `entry/guest.rs`, and a string of ours.
    unsafe {
        let printed = libcs::fputs(line.pointer(), libcs::stdout);
        if printed < 0 { printed } else { libcs::fputs(c"\n".as_ptr().cast(), libcs::stdout) }
    }
}

extern "C" fn fputs(line: Text, file: File) -> c_int {
    reads(line, usize::MAX, latest());
    streams::writes(file, "fputs");
    // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
    unsafe { libcs::fputs(line.pointer(), file.pointer().cast()) }
}

extern "C" fn fgets(to: Text, n: c_int, file: File) -> Text {
    let call = latest();
    if !LIVE.load(Ordering::Relaxed) || n <= 0 {
        // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
        return text(unsafe { libcs::fgets(to.pointer(), n, file.pointer().cast()) } as usize);
    }
    let most = n as usize - 1;
    if let Some(mut line) = streams::reads(file, most, Some(b'\n'), "fgets") {
        if line.is_empty() && most > 0 {
            return Guest::null();
        }
        line.push(0);
        announce(to, line.len(), true, call);
        copy(to, text(line.as_ptr() as usize), line.len());
        return to;
    }
    let mut line = vec![0_u8; n as usize];
    // SAFETY: there is that much room.
    let got = unsafe { libcs::fgets(line.as_mut_ptr(), n, file.pointer().cast()) };
    if got.is_null() {
        return Guest::null();
    }
    let here = text(got as usize);
    let len = length(here, line.len()) + 1;
    announce(to, len, true, call);
    copy(to, here, len);
    to
}

extern "C" fn fread(to: Text, size: usize, n: usize, file: File) -> usize {
    let call = latest();
    if !LIVE.load(Ordering::Relaxed) {
        // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
        return unsafe { libcs::fread(to.pointer(), size, n, file.pointer().cast()) };
    }
    let most = size.saturating_mul(n);
    if let Some(bytes) = streams::reads(file, most, None, "fread") {
        announce(to, bytes.len(), true, call);
        copy(to, text(bytes.as_ptr() as usize), bytes.len());
        return bytes.len().checked_div(size).unwrap_or(0);
    }
    let mut all = vec![MaybeUninit::<u8>::uninit(); most];
    // SAFETY: there is that much room.
    let got = unsafe { libcs::fread(all.as_mut_ptr().cast(), size, n, file.pointer().cast()) };
    announce(to, got * size, true, call);
    copy(to, text(all.as_ptr() as usize), got * size);
    got
}

extern "C" fn fwrite(from: Text, size: usize, n: usize, file: File) -> usize {
    announce(from, size.saturating_mul(n), false, latest());
    streams::writes(file, "fwrite");
    // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
    unsafe { libcs::fwrite(from.pointer(), size, n, file.pointer().cast()) }
}
