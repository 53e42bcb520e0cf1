//! Calls that leave something in the kernel which putting memory back does not put back, and calls
//! that start other programs.

use crate::Rt;
use crate::entry::frame::{entry, stand_in};
use crate::entry::native::native;
use crate::execution::ends::{refuse, refused};
use crate::sys;
use crate::world::descriptors::FAR;

macro_rules! soils {
    ($($name:ident)*) => {
        stand_in! {$(
            /// The next execution gets a process of its own. Only the first six arguments matter.
            fn $name(rt, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
                rt.outside.soil();
                native!($name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize)
            }
        )*}
    };
}

soils! {
    chdir
    fchdir
    umask
    setrlimit
    prctl
    ptrace
    setsid
    setpgid
    nice
}

macro_rules! lasts {
    ($($name:ident, $what:expr;)*) => {
        stand_in! {$(
            /// It outlives the execution. Only the first six arguments matter.
            fn $name(rt, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
                rt.changes_outside($what);
                native!($name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize)
            }
        )*}
    };
}

lasts! {
    unlink, "removes a file";
    rename, "renames a file";
    mkdir, "makes a folder";
    rmdir, "removes a folder";
    connect, "connects a socket";
    bind, "binds a socket";
}

refused! {
    fork, "fork";
    posix_spawn, "posix_spawn";
    posix_spawnp, "posix_spawn";
    system, "system";
    popen, "popen";
    execve, "exec";
    execv, "exec";
    execvp, "exec";
    fexecve, "exec";
    daemon, "fork";
}

/// The child of a `vfork` would return from here before its parent does.
extern "C" fn vfork_as_fork() -> isize {
    // SAFETY: entered from the program, see `Rt::live`.
    match unsafe { Rt::live() } {
        Some(mut rt) => {
            let pc = rt.pc();
            refuse(&mut rt, "fork", pc)
        }
        None => native!(fork() -> isize),
    }
}

/// Closes all descriptors from the first to the last.
fn close_range_of(rt: &mut Rt, first: u32, last: u32, flags: i32) -> i32 {
    rt.outside.soil();
    let last = last.min(FAR as u32 - 1);
    native!(close_range(first: u32, last: u32, flags: i32) -> i32)
}

stand_in! {
    /// Descriptors of ours cannot be closed, and those from before `main` are there again for the next
    /// execution.
    fn close(rt, fd: i32) -> i32 {
        if !rt.outside.may_change(fd) {
            return bad_descriptor();
        }
        native!(close(fd: i32) -> i32)
    }

    fn close_range(rt, first: u32, last: u32, flags: i32) -> i32 {
        close_range_of(rt, first, last, flags)
    }

    fn closefrom(rt, first: i32) {
        close_range_of(rt, first.max(0) as u32, u32::MAX, 0);
    }

    fn dup2(rt, from: i32, to: i32) -> i32 {
        if !rt.outside.may_change(to) {
            return bad_descriptor();
        }
        native!(dup2(from: i32, to: i32) -> i32)
    }

    fn dup3(rt, from: i32, to: i32, flags: i32) -> i32 {
        if !rt.outside.may_change(to) {
            return bad_descriptor();
        }
        native!(dup3(from: i32, to: i32, flags: i32) -> i32)
    }
}

fn bad_descriptor() -> i32 {
    sys::set_errno(libc::EBADF);
    -1
}

entry! {
    vfork => vfork_as_fork;
}
