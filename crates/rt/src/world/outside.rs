//! The world outside: calls that wait for it, and calls that leave something in the kernel which
//! putting memory back does not put back.
//!
//! Threads of a program may talk to each other by way of the kernel, through pipes and sockets. So
//! a call that would block is a step that waits until it would not. If nobody else can do anything, the
//! outside world is waited for, which cannot be controlled: that is told, with the place of the call.

use core::ffi::c_void;

use weakspot_live::{Op, OpKind};

use crate::access::plain::Order;
use crate::entry::frame::{caller, entry};
use crate::entry::native::native;
use crate::execution::ends::refuse;
use crate::execution::panics;
use crate::runtime::{HOME, Runtime, live};
use crate::schedule::threads::{Patience, happened, step, wait};
use crate::sys;
use crate::world::clock::sleep_for;
use crate::world::descriptors;

/// All that goes through the kernel is one object to the strategy.
fn op(kind: OpKind) -> Op {
    Op { kind, len: 8, addr: &raw const HOME as u64 }
}

/// What a thread waits for.
struct Wanted {
    call: i64,
    args: [usize; 6],
}

/// Whether a call that asks which descriptors are ready has an answer.
unsafe fn answers(_rt: *mut Runtime, _thread: usize, wanted: usize) -> bool {
    let Wanted { call, args } = &*(wanted as *const Wanted);
    // What the kernel writes there must not be there if it is asked again.
    let mut kept = [[0_u8; 128]; 3];
    let sets = if *call == libc::SYS_pselect6 { &args[1..4] } else { &[] };
    for (set, kept) in sets.iter().zip(&mut kept).filter(|(set, _)| **set != 0) {
        (*set as *const u8).copy_to_nonoverlapping(kept.as_mut_ptr(), 128);
    }
    let answer = sys::call(*call, *args);
    if answer == 0 {
        for (set, kept) in sets.iter().zip(&kept).filter(|(set, _)| **set != 0) {
            kept.as_ptr().copy_to_nonoverlapping(*set as *mut u8, 128);
        }
    }
    answer != 0
}

/// Waits until a call has an answer, and then until it is this thread's turn. Whether it has one.
unsafe fn until(
    rt: *mut Runtime,
    wanted: &Wanted,
    patience: Patience,
    what: &'static str,
    pc: usize,
) -> bool {
    let ready = wait(rt, op(OpKind::Acquire), answers, &raw const *wanted as usize, patience);
    if !ready && patience == Patience::Last {
        refuse(rt, what, pc);
    }
    let kind = if ready { OpKind::Acquire } else { OpKind::Compare };
    let me = (*rt).current;
    happened(rt, me, op(kind), Order::Strong, pc, None, None);
    ready
}

/// Before a call that may block on a descriptor.
unsafe fn before(rt: *mut Runtime, fd: i32, events: i16, what: &'static str, pc: usize) {
    if !descriptors::blocks(fd) {
        return;
    }
    let mut poll = libc::pollfd { fd, events, revents: 0 };
    let args = [&raw mut poll as usize, 1, &raw const NO_TIME as usize, 0, 8, 0];
    until(rt, &Wanted { call: libc::SYS_ppoll, args }, Patience::Last, what, pc);
}

static NO_TIME: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

macro_rules! blocking {
    ($($inner:ident, $name:ident, $events:expr, ($($arg:ident: $t:ty),*);)*) => {$(
        unsafe extern "C" fn $inner(fd: i32 $(, $arg: $t)*) -> isize {
            let rt = live();
            if !rt.is_null() {
                before(rt, fd, $events, stringify!($name), caller());
            }
            native!($name(fd: i32 $(, $arg: $t)*) -> isize)
        }
    )*};
}

blocking! {
    read_inner, read, libc::POLLIN, (to: usize, len: usize);
    readv_inner, readv, libc::POLLIN, (to: usize, n: i32);
    recv_inner, recv, libc::POLLIN, (to: usize, len: usize, flags: i32);
    recvfrom_inner, recvfrom, libc::POLLIN, (to: usize, len: usize, flags: i32, addr: usize, n: usize);
    recvmsg_inner, recvmsg, libc::POLLIN, (message: usize, flags: i32);
    write_inner, write, libc::POLLOUT, (from: usize, len: usize);
    writev_inner, writev, libc::POLLOUT, (from: usize, n: i32);
    send_inner, send, libc::POLLOUT, (from: usize, len: usize, flags: i32);
    sendto_inner, sendto, libc::POLLOUT, (from: usize, len: usize, flags: i32, addr: usize, n: u32);
    sendmsg_inner, sendmsg, libc::POLLOUT, (message: usize, flags: i32);
}

unsafe extern "C" fn accept_inner(fd: i32, addr: usize, len: usize) -> i32 {
    let rt = live();
    if !rt.is_null() {
        before(rt, fd, libc::POLLIN, "accept", caller());
    }
    native!(accept(fd: i32, addr: usize, len: usize) -> i32)
}

unsafe extern "C" fn accept4_inner(fd: i32, addr: usize, len: usize, flags: i32) -> i32 {
    let rt = live();
    if !rt.is_null() {
        before(rt, fd, libc::POLLIN, "accept4", caller());
    }
    native!(accept4(fd: i32, addr: usize, len: usize, flags: i32) -> i32)
}

/// How long to wait: milliseconds, less than 0 for ever.
unsafe fn several(rt: *mut Runtime, wanted: &Wanted, none: bool, span: i64, what: &'static str) {
    let pc = caller();
    if none && span >= 0 {
        return sleep_for(rt, span as u64 * 1_000_000);
    }
    let patience = if span < 0 { Patience::Last } else { Patience::Timed };
    until(rt, wanted, patience, what, pc);
}

unsafe extern "C" fn poll_inner(fds: usize, n: usize, span: i32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(poll(fds: usize, n: usize, span: i32) -> i32);
    }
    let args = [fds, n, &raw const NO_TIME as usize, 0, 8, 0];
    several(rt, &Wanted { call: libc::SYS_ppoll, args }, n == 0, span.into(), "poll");
    let span = 0;
    native!(poll(fds: usize, n: usize, span: i32) -> i32)
}

unsafe extern "C" fn ppoll_inner(
    fds: usize,
    n: usize,
    span: *const libc::timespec,
    mask: usize,
) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(ppoll(fds: usize, n: usize, span: *const libc::timespec, mask: usize) -> i32);
    }
    let args = [fds, n, &raw const NO_TIME as usize, 0, 8, 0];
    let wanted = Wanted { call: libc::SYS_ppoll, args };
    several(rt, &wanted, n == 0, milliseconds(span), "ppoll");
    let span = &raw const NO_TIME;
    native!(ppoll(fds: usize, n: usize, span: *const libc::timespec, mask: usize) -> i32)
}

unsafe fn milliseconds(span: *const libc::timespec) -> i64 {
    if span.is_null() {
        return -1;
    }
    (*span).tv_sec.clamp(0, 1 << 32) * 1000 + (*span).tv_nsec / 1_000_000
}

unsafe extern "C" fn select_inner(
    n: i32,
    read: usize,
    write: usize,
    bad: usize,
    span: *const libc::timeval,
) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(select(n: i32, read: usize, write: usize, bad: usize, span: *const libc::timeval) -> i32);
    }
    let span = if span.is_null() {
        -1
    } else {
        (*span).tv_sec.clamp(0, 1 << 32) * 1000 + (*span).tv_usec / 1000
    };
    choose(rt, [n as usize, read, write, bad], span, "select")
}

unsafe extern "C" fn pselect_inner(
    n: i32,
    read: usize,
    write: usize,
    bad: usize,
    span: *const libc::timespec,
    mask: usize,
) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(pselect(n: i32, read: usize, write: usize, bad: usize, span: *const libc::timespec, mask: usize) -> i32);
    }
    choose(rt, [n as usize, read, write, bad], milliseconds(span), "pselect")
}

unsafe fn choose(rt: *mut Runtime, sets: [usize; 4], span: i64, what: &'static str) -> i32 {
    let mut time = NO_TIME;
    let [n, read, write, bad] = sets;
    let args = [n, read, write, bad, &raw mut time as usize, 0];
    // The answer is asked for on copies: the sets are overwritten by it.
    let mut copies = [[0_u8; 128]; 3];
    let mut asked = args;
    for (copy, set) in copies.iter_mut().zip(&mut asked[1..4]).filter(|(_, set)| **set != 0) {
        (*set as *const u8).copy_to_nonoverlapping(copy.as_mut_ptr(), 128.min(n.div_ceil(64) * 8));
        *set = copy.as_mut_ptr() as usize;
    }
    several(rt, &Wanted { call: libc::SYS_pselect6, args: asked }, n == 0, span, what);
    let answer = sys::call(libc::SYS_pselect6, args);
    if answer < 0 {
        *libc::__errno_location() = -answer as i32;
        return -1;
    }
    answer as i32
}

unsafe extern "C" fn epoll_inner(fd: i32, events: usize, n: i32, span: i32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(epoll_wait(fd: i32, events: usize, n: i32, span: i32) -> i32);
    }
    // An epoll descriptor is itself readable when it has events, and asking does not consume them.
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let args = [&raw mut poll as usize, 1, &raw const NO_TIME as usize, 0, 8, 0];
    several(rt, &Wanted { call: libc::SYS_ppoll, args }, false, span.into(), "epoll_wait");
    let span = 0;
    native!(epoll_wait(fd: i32, events: usize, n: i32, span: i32) -> i32)
}

macro_rules! refused {
    ($($inner:ident, $name:ident;)*) => {$(
        /// Only its first six arguments matter to the real one.
        unsafe extern "C" fn $inner(
            a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
        ) -> isize {
            let rt = live();
            if rt.is_null() {
                return native!($name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize);
            }
            refuse(rt, stringify!($name), caller())
        }
    )*};
}

refused! {
    pause_inner, pause;
    sigwait_inner, sigwait;
    sigwaitinfo_inner, sigwaitinfo;
    sigtimedwait_inner, sigtimedwait;
    sigsuspend_inner, sigsuspend;
    setitimer_inner, setitimer;
    timer_create_inner, timer_create;
    sem_open_inner, sem_open;
    mq_receive_inner, mq_receive;
    msgrcv_inner, msgrcv;
}

unsafe extern "C" fn alarm_inner(seconds: u32) -> u32 {
    let rt = live();
    if rt.is_null() {
        return native!(alarm(seconds: u32) -> u32);
    }
    if seconds > 0 {
        refuse(rt, "alarm", caller());
    }
    0
}

macro_rules! soils {
    ($($inner:ident, $name:ident;)*) => {$(
        /// The next execution gets a process of its own. Only its first six arguments matter.
        unsafe extern "C" fn $inner(
            a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
        ) -> isize {
            let rt = live();
            if !rt.is_null() {
                (*rt).soiled = true;
            }
            native!($name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize)
        }
    )*};
}

soils! {
    chdir_inner, chdir;
    fchdir_inner, fchdir;
    umask_inner, umask;
    sigprocmask_inner, sigprocmask;
    pthread_sigmask_inner, pthread_sigmask;
    sigaltstack_inner, sigaltstack;
    mprotect_inner, mprotect;
    setrlimit_inner, setrlimit;
    prctl_inner, prctl;
    ptrace_inner, ptrace;
    setsid_inner, setsid;
    setpgid_inner, setpgid;
    nice_inner, nice;
}

/// Descriptors of ours cannot be closed, and those from before `main` are there again for the next
/// execution.
unsafe extern "C" fn close_inner(fd: i32) -> i32 {
    let rt = live();
    if !rt.is_null() {
        if fd >= descriptors::FAR {
            *libc::__errno_location() = libc::EBADF;
            return -1;
        }
        (*rt).soiled |= fd < (*rt).first_free;
    }
    native!(close(fd: i32) -> i32)
}

unsafe extern "C" fn close_range_inner(first: u32, last: u32, flags: i32) -> i32 {
    let rt = live();
    let mut last = last;
    if !rt.is_null() {
        (*rt).soiled = true;
        last = last.min(descriptors::FAR as u32 - 1);
    }
    native!(close_range(first: u32, last: u32, flags: i32) -> i32)
}

unsafe extern "C" fn closefrom_inner(first: i32) {
    let rt = live();
    if rt.is_null() {
        return native!(closefrom(first: i32));
    }
    close_range_inner(first.max(0) as u32, u32::MAX, 0);
}

unsafe extern "C" fn dup2_inner(from: i32, to: i32) -> i32 {
    dup3_with(from, to, 0)
}

unsafe extern "C" fn dup3_inner(from: i32, to: i32, flags: i32) -> i32 {
    dup3_with(from, to, flags)
}

unsafe fn dup3_with(from: i32, to: i32, flags: i32) -> i32 {
    let rt = live();
    if !rt.is_null() {
        if to >= descriptors::FAR {
            *libc::__errno_location() = libc::EBADF;
            return -1;
        }
        (*rt).soiled |= to < (*rt).first_free;
    }
    if flags == 0 {
        return native!(dup2(from: i32, to: i32) -> i32);
    }
    native!(dup3(from: i32, to: i32, flags: i32) -> i32)
}

/// Locks of files of `stdio`, which threads hold across calls: libc's own would wait for real.
unsafe fn file_free(rt: *mut Runtime, thread: usize, file: usize) -> bool {
    let locks = &(*rt).files;
    locks.iter().all(|&(locked, owner, _)| locked != file || owner == thread)
}

unsafe fn file_op(rt: *mut Runtime, kind: OpKind, file: usize, pc: usize) {
    let me = (*rt).current;
    let op = Op { kind, len: 8, addr: file as u64 };
    happened(rt, me, op, Order::Strong, pc, None, None);
}

unsafe fn take_file(rt: *mut Runtime, file: usize) {
    let me = (*rt).current;
    match (&mut (*rt).files).iter_mut().find(|lock| lock.0 == file) {
        Some(lock) => lock.2 += 1,
        None => (*rt).files.push((file, me, 1)),
    }
}

unsafe extern "C" fn flockfile_inner(file: *mut c_void) {
    let rt = live();
    if rt.is_null() {
        return native!(flockfile(file: *mut c_void));
    }
    let (file, pc) = (file as usize, caller());
    let op = Op { kind: OpKind::Acquire, len: 8, addr: file as u64 };
    wait(rt, op, file_free, file, Patience::Endless);
    take_file(rt, file);
    file_op(rt, OpKind::Acquire, file, pc);
}

unsafe extern "C" fn ftrylockfile_inner(file: *mut c_void) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(ftrylockfile(file: *mut c_void) -> i32);
    }
    let (file, pc) = (file as usize, caller());
    step(rt, Op { kind: OpKind::Update, len: 8, addr: file as u64 });
    let me = (*rt).current;
    let free = file_free(rt, me, file);
    if free {
        take_file(rt, file);
    }
    file_op(rt, if free { OpKind::Acquire } else { OpKind::Compare }, file, pc);
    i32::from(!free)
}

unsafe extern "C" fn funlockfile_inner(file: *mut c_void) {
    let rt = live();
    if rt.is_null() {
        return native!(funlockfile(file: *mut c_void));
    }
    let (file, pc) = (file as usize, caller());
    step(rt, Op { kind: OpKind::Release, len: 8, addr: file as u64 });
    let files = &mut (*rt).files;
    if let Some(i) = files.iter().position(|lock| lock.0 == file) {
        files[i].2 -= 1;
        if files[i].2 == 0 {
            files.swap_remove(i);
        }
    }
    file_op(rt, OpKind::Release, file, pc);
}

unsafe extern "C" fn say(fd: i32, from: usize, len: usize) -> isize {
    panics::heard(fd, from as *const u8, len);
    write_inner(fd, from, len)
}

unsafe extern "C" fn say_parts(fd: i32, from: usize, n: i32) -> isize {
    panics::heard_parts(fd, from as *const libc::iovec, n);
    writev_inner(fd, from, n)
}

entry! {
    read => read_inner;
    readv => readv_inner;
    recv => recv_inner;
    recvfrom => recvfrom_inner;
    recvmsg => recvmsg_inner;
    write => say;
    writev => say_parts;
    send => send_inner;
    sendto => sendto_inner;
    sendmsg => sendmsg_inner;
    accept => accept_inner;
    accept4 => accept4_inner;
    poll => poll_inner;
    ppoll => ppoll_inner;
    select => select_inner;
    pselect => pselect_inner;
    epoll_wait => epoll_inner;
    pause => pause_inner;
    sigwait => sigwait_inner;
    sigwaitinfo => sigwaitinfo_inner;
    sigtimedwait => sigtimedwait_inner;
    sigsuspend => sigsuspend_inner;
    setitimer => setitimer_inner;
    timer_create => timer_create_inner;
    sem_open => sem_open_inner;
    mq_receive => mq_receive_inner;
    msgrcv => msgrcv_inner;
    alarm => alarm_inner;
    chdir => chdir_inner;
    fchdir => fchdir_inner;
    umask => umask_inner;
    sigprocmask => sigprocmask_inner;
    pthread_sigmask => pthread_sigmask_inner;
    sigaltstack => sigaltstack_inner;
    mprotect => mprotect_inner;
    setrlimit => setrlimit_inner;
    prctl => prctl_inner;
    ptrace => ptrace_inner;
    setsid => setsid_inner;
    setpgid => setpgid_inner;
    nice => nice_inner;
    close => close_inner;
    close_range => close_range_inner;
    closefrom => closefrom_inner;
    dup2 => dup2_inner;
    dup3 => dup3_inner;
    flockfile => flockfile_inner;
    ftrylockfile => ftrylockfile_inner;
    funlockfile => funlockfile_inner;
}
