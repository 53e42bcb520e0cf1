//! Time and chance, made the same in each execution: clocks go forward by a microsecond whenever
//! they are read, and by the whole time when somebody sleeps; random bytes come from the seed.

use core::ffi::c_void;

use weakspot_live::{Op, OpKind};

use crate::entry::frame::{caller, entry};
use crate::entry::native::native;
use crate::execution::ends::refuse;
use crate::runtime::{Runtime, live};
use crate::schedule::threads::step;

/// When an execution begins, in seconds since 1970.
const START: u64 = 1_700_000_000;
const SECOND: u64 = 1_000_000_000;

/// The time, in nanoseconds.
unsafe fn now(rt: *mut Runtime) -> u64 {
    (*rt).now += 1000;
    START * SECOND + (*rt).now
}

/// Sleeps: others may run.
pub unsafe fn sleep_for(rt: *mut Runtime, span: u64) {
    step(rt, Op::plain(OpKind::Yield));
    (*rt).now = (*rt).now.saturating_add(span.min(SECOND << 32));
}

fn timespec(t: u64) -> libc::timespec {
    libc::timespec { tv_sec: (t / SECOND) as i64, tv_nsec: (t % SECOND) as i64 }
}

unsafe fn span(t: *const libc::timespec) -> u64 {
    let seconds = (*t).tv_sec.clamp(0, 1 << 32) as u64;
    seconds * SECOND + (*t).tv_nsec.clamp(0, SECOND as i64) as u64
}

unsafe extern "C" fn gettime(id: i32, to: *mut libc::timespec) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(clock_gettime(id: i32, to: *mut libc::timespec) -> i32);
    }
    *to = timespec(now(rt));
    0
}

unsafe extern "C" fn timespec_get_inner(to: *mut libc::timespec, base: i32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(timespec_get(to: *mut libc::timespec, base: i32) -> i32);
    }
    *to = timespec(now(rt));
    base
}

unsafe extern "C" fn gettimeofday_inner(to: *mut libc::timeval, zone: *mut c_void) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(gettimeofday(to: *mut libc::timeval, zone: *mut c_void) -> i32);
    }
    let t = timespec(now(rt));
    if !to.is_null() {
        *to = libc::timeval { tv_sec: t.tv_sec, tv_usec: t.tv_nsec / 1000 };
    }
    0
}

unsafe extern "C" fn time_inner(to: *mut i64) -> i64 {
    let rt = live();
    if rt.is_null() {
        return native!(time(to: *mut i64) -> i64);
    }
    let t = timespec(now(rt)).tv_sec;
    if !to.is_null() {
        *to = t;
    }
    t
}

unsafe extern "C" fn processor_time() -> i64 {
    let rt = live();
    if rt.is_null() {
        return native!(clock() -> i64);
    }
    (now(rt) - START * SECOND) as i64 / 1000
}

unsafe extern "C" fn sleep_inner(seconds: u32) -> u32 {
    let rt = live();
    if rt.is_null() {
        return native!(sleep(seconds: u32) -> u32);
    }
    sleep_for(rt, u64::from(seconds) * SECOND);
    0
}

unsafe extern "C" fn usleep_inner(micros: u32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(usleep(micros: u32) -> i32);
    }
    sleep_for(rt, u64::from(micros) * 1000);
    0
}

unsafe extern "C" fn nanosleep_inner(t: *const libc::timespec, left: *mut libc::timespec) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(nanosleep(t: *const libc::timespec, left: *mut libc::timespec) -> i32);
    }
    sleep_for(rt, span(t));
    0
}

unsafe extern "C" fn thread_sleep(t: *const libc::timespec, left: *mut libc::timespec) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(thrd_sleep(t: *const libc::timespec, left: *mut libc::timespec) -> i32);
    }
    sleep_for(rt, span(t));
    0
}

unsafe extern "C" fn clock_nanosleep_inner(
    id: i32,
    flags: i32,
    t: *const libc::timespec,
    left: *mut libc::timespec,
) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(clock_nanosleep(id: i32, flags: i32, t: *const libc::timespec, left: *mut libc::timespec) -> i32);
    }
    let span = if flags & libc::TIMER_ABSTIME != 0 {
        span(t).saturating_sub(START * SECOND + (*rt).now)
    } else {
        span(t)
    };
    sleep_for(rt, span);
    0
}

/// Fills memory with bytes from the seed.
pub unsafe fn fill(rt: *mut Runtime, to: usize, len: usize) -> isize {
    for i in 0..len {
        let state = (*rt).random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (*rt).random = state;
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        *((to + i) as *mut u8) = (mixed ^ mixed >> 27) as u8;
    }
    len as isize
}

unsafe extern "C" fn getrandom_inner(to: usize, len: usize, flags: u32) -> isize {
    let rt = live();
    if rt.is_null() {
        return native!(getrandom(to: usize, len: usize, flags: u32) -> isize);
    }
    fill(rt, to, len)
}

unsafe extern "C" fn getentropy_inner(to: usize, len: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(getentropy(to: usize, len: usize) -> i32);
    }
    fill(rt, to, len);
    0
}

macro_rules! refused {
    ($($inner:ident, $name:ident, $what:literal;)*) => {$(
        /// Only its first six arguments matter to the real one.
        unsafe extern "C" fn $inner(
            a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
        ) -> isize {
            let rt = live();
            if rt.is_null() {
                return native!($name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize);
            }
            refuse(rt, $what, caller())
        }
    )*};
}

refused! {
    fork_inner, fork, "fork";
    vfork_inner, fork, "fork";
    spawn_inner, posix_spawn, "posix_spawn";
    spawnp_inner, posix_spawnp, "posix_spawn";
    system_inner, system, "system";
    popen_inner, popen, "popen";
    execve_inner, execve, "exec";
    execv_inner, execv, "exec";
    execvp_inner, execvp, "exec";
    fexecve_inner, fexecve, "exec";
    daemon_inner, daemon, "fork";
}

entry! {
    clock_gettime => gettime;
    timespec_get => timespec_get_inner;
    gettimeofday => gettimeofday_inner;
    time => time_inner;
    clock => processor_time;
    sleep => sleep_inner;
    usleep => usleep_inner;
    nanosleep => nanosleep_inner;
    thrd_sleep => thread_sleep;
    clock_nanosleep => clock_nanosleep_inner;
    getrandom => getrandom_inner;
    getentropy => getentropy_inner;
    fork => fork_inner;
    vfork => vfork_inner;
    posix_spawn => spawn_inner;
    posix_spawnp => spawnp_inner;
    system => system_inner;
    popen => popen_inner;
    execve => execve_inner;
    execv => execv_inner;
    execvp => execvp_inner;
    fexecve => fexecve_inner;
    daemon => daemon_inner;
}
