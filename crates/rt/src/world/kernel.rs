//! Calls that leave something in the kernel which putting memory back does not put back, and calls
//! that start other programs.

use crate::Rt;
use crate::access::plain::access;
use crate::entry::frame::{entry, stand_in};
use crate::entry::guest::Guest;
use crate::entry::native::native;
use crate::execution::ends::{refuse, refused};
use crate::sys;
use crate::world::descriptors::FAR;
use crate::world::kept::{Kept, change, look};

macro_rules! soils {
    ($($name:ident)*) => {
        stand_in! {$(
            /// The next execution gets a process of its own. Only the first six arguments matter.
            fn $name(rt, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
                rt.outside.soil();
                change(rt, Kept::Other);
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
                change(rt, Kept::Other);
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

/// The current thread gets something new, about which others need not care, such as a stream.
fn goes_on(rt: &mut Rt, _: Kept) {
    rt.threads.me_mut().spin.changed();
}

/// The current thread asks for what passes by itself, such as the time that it has used.
fn asks(rt: &mut Rt, _: Kept) {
    rt.threads.me_mut().spin.asks();
}

macro_rules! remembers {
    ($how:ident: $($name:ident)*) => {
        stand_in! {$(
            /// What it returns depends on calls before it. Only the first six arguments matter.
            fn $name(rt, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
                $how(rt, Kept::Other);
                native!($name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize)
            }
        )*}
    };
}

// A place in libc or the kernel, or what paths stand for.
remembers! { change:
    getopt getopt_long getopt_long_only
    getpwent getpwent_r setpwent endpwent getgrent getgrent_r setgrent endgrent
    gethostent sethostent endhostent getnetent setnetent endnetent getservent setservent endservent
    getprotoent setprotoent endprotoent getutent getutxent setutent endutent setutxent endutxent
    getspent setspent endspent getusershell setusershell endusershell
    mblen mbtowc wctomb hsearch hcreate hdestroy setlocale textdomain
    brk sbrk setpriority setlogmask
    semget semop semctl msgget msgsnd msgctl shmget shmat shmdt shmctl mq_open mq_send mq_unlink
    timer_settime timerfd_settime wait waitid waitpid wait3 wait4
    link symlink linkat symlinkat unlinkat renameat mkdirat mkfifo truncate truncate64 remove
    chmod utime utimes shm_open shm_unlink
}

remembers! { goes_on:
    fopen fopen64 freopen freopen64 fdopen tmpfile tmpfile64 fmemopen open_memstream opendir fdopendir fts_open setmntent
    mkstemp mkstemp64 mkostemp mkdtemp mktemp tmpnam tempnam dlopen dlclose dlerror
}

remembers! { asks:
    times getrusage getitimer timer_gettime timerfd_gettime ftime
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
    change(rt, Kept::Descriptors);
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
        change(rt, Kept::Descriptor(fd));
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
        duplicates(rt, from, to);
        native!(dup2(from: i32, to: i32) -> i32)
    }

    fn dup3(rt, from: i32, to: i32, flags: i32) -> i32 {
        if !rt.outside.may_change(to) {
            return bad_descriptor();
        }
        duplicates(rt, from, to);
        native!(dup3(from: i32, to: i32, flags: i32) -> i32)
    }

    fn dup(rt, fd: i32) -> i32 {
        change(rt, Kept::Descriptors);
        native!(dup(fd: i32) -> i32)
    }

    fn lseek(rt, fd: i32, by: i64, from: i32) -> i64 {
        change(rt, Kept::Descriptor(fd));
        native!(lseek(fd: i32, by: i64, from: i32) -> i64)
    }

    fn lseek64(rt, fd: i32, by: i64, from: i32) -> i64 {
        change(rt, Kept::Descriptor(fd));
        native!(lseek64(fd: i32, by: i64, from: i32) -> i64)
    }

    fn getdents64(rt, fd: i32, to: usize, len: usize) -> isize {
        change(rt, Kept::Descriptor(fd));
        native!(getdents64(fd: i32, to: usize, len: usize) -> isize)
    }

    fn ftruncate(rt, fd: i32, len: i64) -> i32 {
        change(rt, Kept::Descriptor(fd));
        native!(ftruncate(fd: i32, len: i64) -> i32)
    }

    fn ftruncate64(rt, fd: i32, len: i64) -> i32 {
        change(rt, Kept::Descriptor(fd));
        native!(ftruncate64(fd: i32, len: i64) -> i32)
    }

    fn ioctl(rt, fd: i32, request: usize, argument: usize) -> i32 {
        change(rt, Kept::Descriptor(fd));
        native!(ioctl(fd: i32, request: usize, argument: usize) -> i32)
    }

    fn fcntl(rt, fd: i32, command: i32, argument: usize) -> i32 {
        controls(rt, fd, command);
        native!(fcntl(fd: i32, command: i32, argument: usize) -> i32)
    }

    fn fcntl64(rt, fd: i32, command: i32, argument: usize) -> i32 {
        controls(rt, fd, command);
        native!(fcntl64(fd: i32, command: i32, argument: usize) -> i32)
    }

    fn socketpair(rt, domain: i32, kind: i32, protocol: i32, ends: Guest<[i32; 2]>) -> i32 {
        two_ends(rt, ends, |both| {
            native!(socketpair(domain: i32, kind: i32, protocol: i32, both: *mut [i32; 2]) -> i32)
        })
    }

    fn pipe(rt, ends: Guest<[i32; 2]>) -> i32 {
        pipe_with(rt, ends, 0)
    }

    fn pipe2(rt, ends: Guest<[i32; 2]>, flags: i32) -> i32 {
        pipe_with(rt, ends, flags)
    }
}

fn pipe_with(rt: &mut Rt, ends: Guest<[i32; 2]>, flags: i32) -> i32 {
    two_ends(rt, ends, |both| native!(pipe2(both: *mut [i32; 2], flags: i32) -> i32))
}

/// Both ends of something new, which are stored where the program says.
fn two_ends(rt: &mut Rt, ends: Guest<[i32; 2]>, make: impl FnOnce(*mut [i32; 2]) -> i32) -> i32 {
    let call = rt.call();
    change(rt, Kept::Descriptors);
    let mut new = [0; 2];
    let answer = make(&raw mut new);
    if answer == 0 {
        access(rt, ends.area(), true, call);
        ends.set(new);
    }
    answer
}

/// Asks something about a descriptor, or makes another one.
fn controls(rt: &mut Rt, fd: i32, command: i32) {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => change(rt, Kept::Descriptors),
        libc::F_GETFD | libc::F_GETFL => look(rt, Kept::Descriptor(fd)),
        _ => change(rt, Kept::Descriptor(fd)),
    }
}

/// A descriptor becomes the same as another one.
fn duplicates(rt: &mut Rt, from: i32, to: i32) {
    look(rt, Kept::Descriptor(from));
    change(rt, Kept::Descriptor(to));
}

macro_rules! opens {
    ($($name:ident)*) => {
        stand_in! {$(
            /// It gets the lowest descriptor that is free. Only the first four arguments matter.
            fn $name(rt, a: usize, b: usize, c: usize, d: usize) -> i32 {
                change(rt, Kept::Descriptors);
                native!($name(a: usize, b: usize, c: usize, d: usize) -> i32)
            }
        )*}
    };
}

opens! {
    open
    open64
    openat
    openat64
    creat
    socket
    eventfd
    epoll_create
    epoll_create1
    memfd_create
    signalfd
    timerfd_create
    inotify_init
    inotify_init1
}

fn bad_descriptor() -> i32 {
    sys::set_errno(libc::EBADF);
    -1
}

entry! {
    vfork => vfork_as_fork;
}
