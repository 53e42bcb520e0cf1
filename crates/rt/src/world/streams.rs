//! Streams of stdio, and folders that are read: each keeps where it is, which threads that share it go on from in any order.
//!
//! Over pipes and sockets, libc's own functions would wait for real, so that nobody else could go on, and whoever looks for
//! data races would not hear that what was sent comes before what follows its receipt.
//! So before a stream reads, the thread waits until its descriptor has something, unless there is something left in the buffer of the
//! stream. Functions that may need more than comes at once get it byte by byte, under the lock of the stream, as in libc; but
//! `fscanf` and `getline` wait before the first byte only.

use core::ffi::c_int;

use crate::Rt;
use crate::access::variadic::{Arguments, variadic};
use crate::entry::frame::stand_in;
use crate::entry::guest::Guest;
use crate::entry::native::native;
use crate::world::blocking::{Direction, before};
use crate::world::descriptors::blocks;
use crate::world::kept::{Kept, change, look};
use crate::world::stdio::{File, lock, unlock};

unsafe extern "C" {
    static stdin: *mut ();
    static stdout: *mut ();
    static stderr: *mut ();
    fn __fpending(file: *mut ()) -> usize;
    fn __isoc99_vfscanf(file: *mut (), format: *const u8, list: *mut Arguments) -> c_int;
}

/// The descriptor of a stream, if it is one on which calls may wait for somebody.
fn descriptor(file: File) -> Option<i32> {
    // SAFETY: the program says that there is a stream.
    let fd = file.given().map(|file| unsafe { libc::fileno(file.pointer().cast()) })?;
    (fd > 2 && blocks(fd)).then_some(fd)
}

/// Whether somebody may find out in which order threads write to a stream: not if it is printed.
fn is_kept(file: File) -> bool {
    // SAFETY: nobody under control gives these other values.
    let printed = unsafe { [stdout, stderr] };
    !printed.contains(&file.pointer())
}

/// The current thread goes on in a stream.
fn moves(rt: &mut Rt, file: File) {
    if is_kept(file) {
        change(rt, Kept::Object(file.addr()));
    }
}

/// The current thread is about to write to a stream.
pub fn writes(file: File, what: &'static str) {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        moves(&mut rt, file);
        if let Some(fd) = descriptor(file) {
            before(&mut rt, fd, Direction::Out, what);
        }
    }
}

/// What a stream reads, up to the byte `end` or until there are so many. `None` if that is left to libc.
pub fn reads(file: File, most: usize, end: Option<u8>, what: &'static str) -> Option<Vec<u8>> {
    // SAFETY: entered from the program, see `Rt::live`.
    let mut rt = unsafe { Rt::live() }?;
    let rt = &mut rt;
    moves(rt, file);
    let fd = descriptor(file)?;
    let mut bytes = Vec::new();
    lock(rt, file);
    while bytes.len() < most {
        fill(rt, file, fd, what);
        let byte = native!(getc_unlocked(file: File) -> c_int);
        let Ok(byte) = u8::try_from(byte) else { break };
        bytes.push(byte);
        if Some(byte) == end {
            break;
        }
    }
    unlock(rt, file);
    Some(bytes)
}

/// Standard input.
fn input() -> File {
    // SAFETY: nobody under control gives it another value, and it is a stream.
    unsafe { Guest::at(stdin as usize) }
}

/// Waits for a descriptor unless its stream has something in its buffer.
fn fill(rt: &mut Rt, file: File, fd: i32, what: &'static str) {
    // SAFETY: a stream of glibc begins with its flags, the next byte to be read, and the end of those that were.
    let [_, next, end] = unsafe { Guest::<[usize; 3]>::at(file.addr()) }.get();
    if next >= end {
        before(rt, fd, Direction::In, what);
    }
}

/// Before libc's own function reads from a stream.
fn begin_to_read(rt: &mut Rt, file: File, what: &'static str) {
    moves(rt, file);
    if let Some(fd) = descriptor(file) {
        fill(rt, file, fd, what);
    }
}

/// Before what is left in the buffer of a stream is written.
fn flush(rt: &mut Rt, file: File, what: &'static str) {
    if let Some(fd) = descriptor(file)
        // SAFETY: the program says that there is a stream.
        && unsafe { __fpending(file.pointer()) } > 0
    {
        before(rt, fd, Direction::Out, what);
    }
}

macro_rules! reads_one {
    ($($name:ident)*) => {
        stand_in! {$(
            /// It reads one character, or a word.
            fn $name(rt, file: File) -> c_int {
                begin_to_read(rt, file, stringify!($name));
                native!($name(file: File) -> c_int)
            }
        )*}
    };
}

reads_one! {
    fgetc
    getc
    getw
    fgetwc
    getwc
    fgetc_unlocked
    getc_unlocked
}

stand_in! {
    fn getline(rt, line: usize, size: usize, file: File) -> isize {
        begin_to_read(rt, file, "getline");
        native!(getline(line: usize, size: usize, file: File) -> isize)
    }

    fn getdelim(rt, line: usize, size: usize, end: c_int, file: File) -> isize {
        begin_to_read(rt, file, "getdelim");
        native!(getdelim(line: usize, size: usize, end: c_int, file: File) -> isize)
    }

    /// What `getline` is where it is inlined.
    fn __getdelim(rt, line: usize, size: usize, end: c_int, file: File) -> isize {
        begin_to_read(rt, file, "getdelim");
        native!(__getdelim(line: usize, size: usize, end: c_int, file: File) -> isize)
    }

    fn getchar(rt) -> c_int {
        begin_to_read(rt, input(), "getchar");
        native!(getchar() -> c_int)
    }

    fn fgetws(rt, to: usize, n: c_int, file: File) -> usize {
        begin_to_read(rt, file, "fgetws");
        native!(fgetws(to: usize, n: c_int, file: File) -> usize)
    }

    fn ungetc(rt, byte: c_int, file: File) -> c_int {
        moves(rt, file);
        native!(ungetc(byte: c_int, file: File) -> c_int)
    }

    fn fputc(_rt, byte: c_int, file: File) -> c_int {
        writes(file, "fputc");
        native!(fputc(byte: c_int, file: File) -> c_int)
    }

    fn putc(_rt, byte: c_int, file: File) -> c_int {
        writes(file, "putc");
        native!(putc(byte: c_int, file: File) -> c_int)
    }

    fn fflush(rt, file: File) -> c_int {
        flush(rt, file, "fflush");
        native!(fflush(file: File) -> c_int)
    }

    fn fclose(rt, file: File) -> c_int {
        moves(rt, file);
        flush(rt, file, "fclose");
        native!(fclose(file: File) -> c_int)
    }
}

macro_rules! of_object {
    ($how:ident: $($name:ident($($arg:ident: $t:ty),*) -> $r:ty;)*) => {
        stand_in! {$(
            /// The first argument is a stream, or a folder that is read.
            fn $name(rt, object: File $(, $arg: $t)*) -> $r {
                $how(rt, Kept::Object(object.addr()));
                native!($name(object: File $(, $arg: $t)*) -> $r)
            }
        )*}
    };
}

of_object! { change:
    fseek(by: i64, from: c_int) -> c_int;
    fseeko(by: i64, from: c_int) -> c_int;
    fseeko64(by: i64, from: c_int) -> c_int;
    fsetpos(to: usize) -> c_int;
    fsetpos64(to: usize) -> c_int;
    rewind() -> c_int;
    clearerr() -> c_int;
    readdir() -> usize;
    readdir64() -> usize;
    readdir_r(entry: usize, found: usize) -> c_int;
    readdir64_r(entry: usize, found: usize) -> c_int;
    rewinddir() -> c_int;
    seekdir(to: i64) -> c_int;
    closedir() -> c_int;
    fts_read() -> usize;
    getmntent() -> usize;
    fgetpwent() -> usize;
    fgetgrent() -> usize;
}

of_object! { look:
    ftell() -> i64;
    ftello() -> i64;
    ftello64() -> i64;
    fgetpos(to: usize) -> c_int;
    fgetpos64(to: usize) -> c_int;
    feof() -> c_int;
    ferror() -> c_int;
    telldir() -> i64;
}

variadic! {
    fscanf => vfscanf, 2, "rdx";
    __isoc99_fscanf => vfscanf, 2, "rdx";
    __isoc23_fscanf => vfscanf, 2, "rdx";
    scanf => vscanf, 1, "rsi";
    __isoc99_scanf => vscanf, 1, "rsi";
    __isoc23_scanf => vscanf, 1, "rsi";
}

extern "C" fn vscanf(format: Guest<u8>, list: Guest<Arguments>) -> c_int {
    vfscanf(input(), format, list)
}

extern "C" fn vfscanf(file: File, format: Guest<u8>, list: Guest<Arguments>) -> c_int {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        begin_to_read(&mut rt, file, "fscanf");
    }
    // SAFETY: the program's own arguments for this function of libc, see `entry/guest.rs`.
    unsafe { __isoc99_vfscanf(file.pointer(), format.pointer(), list.pointer()) }
}
