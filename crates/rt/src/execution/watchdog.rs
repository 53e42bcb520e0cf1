//! How the keeper looks after its worker: time that is over, loops that take no steps, calls that
//! wait in the kernel.

use crate::execution::ends;
use crate::report;
use crate::runtime::Runtime;
use crate::sys;

/// After so many milliseconds of processor time without a step the keeper asks whether there is an
/// obvious reason.
const PROBE: u64 = 30;
/// How many milliseconds a worker has to end by itself.
const GRACE: u64 = 500;
/// How often in a row the keeper must see its worker wait in the kernel.
const ASLEEP: u32 = 10;
/// The keeper looks after its worker so often, in milliseconds.
const LOOK: u64 = 20;

/// Waits for the end of a worker, and helps it out of executions that hang.
pub unsafe fn watch(rt: *mut Runtime, pid: i32, began: u64, told: &mut u64) -> i32 {
    let config = &(*rt).config;
    let pidfd = sys::call(libc::SYS_pidfd_open, [pid as usize, 0, 0, 0, 0, 0]);
    let clock = ((!pid) << 3) | 2;
    let mut seen = u64::MAX;
    let mut since = (0, 0);
    let mut asked = false;
    let mut sleeping = 0;
    loop {
        let mut poll = libc::pollfd { fd: pidfd as i32, events: libc::POLLIN, revents: 0 };
        let span = libc::timespec { tv_sec: 0, tv_nsec: LOOK as i64 * 1_000_000 };
        let count = usize::from(pidfd >= 0);
        let args = [&raw mut poll as usize, count, &raw const span as usize, 0, 8, 0];
        sys::call(libc::SYS_ppoll, args);
        let mut status = 0;
        let wait = if asked || poll.revents == 0 { libc::WNOHANG } else { 0 };
        let args = [pid as usize, &raw mut status as usize, wait as usize, 0, 0, 0];
        if sys::call(libc::SYS_wait4, args) == pid as isize {
            if pidfd >= 0 {
                sys::call(libc::SYS_close, [pidfd as usize, 0, 0, 0, 0, 0]);
            }
            return status;
        }
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let cpu = sys::nanoseconds(clock);
        look(rt, began, told);
        // It should have heard.
        if config.timeout > 0 && millis(began, now) > config.timeout + GRACE {
            sys::call(libc::SYS_kill, [pid as usize, libc::SIGKILL as usize, 0, 0, 0, 0]);
        }
        // Memory that it takes is a sign of life, too: there is a limit to it.
        let steps = (&raw const (*rt).all_steps).read_volatile()
            + (&raw const (*rt).executions).read_volatile()
            + (&raw const (*rt).heap.used).read_volatile() as u64;
        let live = (&raw const (*rt).within).read_volatile();
        sleeping = if steps == seen && live && sleeps(pid) { sleeping + 1 } else { 0 };
        if steps != seen {
            (seen, since, asked) = (steps, (now, cpu), false);
        } else if sleeping > ASLEEP && !asked {
            (&raw mut (*rt).blocked).write_volatile(true);
            sys::call(libc::SYS_kill, [pid as usize, ends::HANG as usize, 0, 0, 0, 0]);
            (since, asked) = ((now, cpu), true);
        } else if millis(since.1, cpu) > config.hang || millis(since.0, now) > 10 * config.hang {
            let busy = (&raw const (*rt).busy).read_volatile();
            let signal = if asked && !busy { libc::SIGKILL } else { ends::HANG };
            (&raw mut (*rt).sure).write_volatile(true);
            sys::call(libc::SYS_kill, [pid as usize, signal as usize, 0, 0, 0, 0]);
            (since, asked) = ((now, cpu), !busy);
        } else if millis(since.1, cpu) > PROBE && !asked {
            (&raw mut (*rt).sure).write_volatile(false);
            sys::call(libc::SYS_kill, [pid as usize, ends::HANG as usize, 0, 0, 0, 0]);
        }
    }
}

/// Milliseconds from one time to another.
fn millis(from: u64, to: u64) -> u64 {
    to.saturating_sub(from) / 1_000_000
}

/// Looks at the clock: wants an end when time is over, and tells how far it is.
pub unsafe fn look(rt: *mut Runtime, began: u64, told: &mut u64) {
    let config = &(*rt).config;
    let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
    if config.timeout > 0 && millis(began, now) > config.timeout {
        (&raw mut (*rt).stop).write_volatile(true);
    }
    if config.progress > 0 && millis(*told, now) >= config.progress {
        *told = now;
        report::progress(rt);
    }
}

/// Whether a process waits for something in the kernel. Nothing may be allocated here.
unsafe fn sleeps(pid: i32) -> bool {
    let mut name = [0_u8; 32];
    let mut digits = pid.unsigned_abs();
    let mut at = 20;
    name[at..at + 5].copy_from_slice(b"/stat");
    while digits > 0 {
        at -= 1;
        name[at] = b'0' + (digits % 10) as u8;
        digits /= 10;
    }
    let from = at - 6;
    name[from..at].copy_from_slice(b"/proc/");
    let cwd = libc::AT_FDCWD as usize;
    let path = name[from..].as_ptr() as usize;
    let fd = sys::call(libc::SYS_openat, [cwd, path, libc::O_RDONLY as usize, 0, 0, 0]);
    if fd < 0 {
        return false;
    }
    let mut text = [0_u8; 256];
    let args = [fd as usize, text.as_mut_ptr() as usize, text.len(), 0, 0, 0];
    let n = sys::call(libc::SYS_read, args).max(0) as usize;
    sys::call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
    // The name of the program is in parentheses, then comes the state.
    let state = text[..n].iter().rposition(|&b| b == b')').and_then(|end| text.get(end + 2));
    state == Some(&b'S')
}
