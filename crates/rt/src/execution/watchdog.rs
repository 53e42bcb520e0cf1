//! How the keeper looks after its worker: time that is over, loops that take no steps, calls that
//! wait in the kernel. While the worker runs, the keeper looks only at [`Signals`], and allocates
//! nothing.

use core::ffi::CStr;
use core::fmt::Write;

use crate::Rt;
use crate::execution::crashes::HANG;
use crate::execution::signals::Signals;
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

/// What the keeper has to know while its worker runs.
pub struct Watchdog {
    signals: &'static Signals,
    /// Milliseconds in all, 0 for no end.
    timeout: u64,
    /// After how many milliseconds of processor time without a step an execution hangs.
    hang: u64,
    /// Milliseconds between two reports, 0 for none.
    progress: u64,
    /// When it all began.
    began: u64,
    /// When progress was asked for last.
    reported: u64,
}

impl Watchdog {
    /// Time runs from now on. Who asks for an end, by [`END`], gets the last messages, too; when nobody
    /// is left to hear them, the keeper goes as well.
    pub fn new(rt: &Rt) -> Watchdog {
        mask(libc::SIG_BLOCK);
        die_with_parent();
        let began = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        Watchdog {
            signals: rt.signals(),
            timeout: rt.config.timeout,
            hang: rt.config.hang,
            progress: rt.config.progress,
            began,
            reported: began,
        }
    }

    /// Waits for the end of a worker, and helps it out of executions that hang; its status, and whether
    /// it had to be ended because it took no step.
    pub fn watch(&mut self, pid: i32) -> (i32, bool) {
        let signals = self.signals;
        let worker = Worker::of(pid);
        let clock = ((!pid) << 3) | 2;
        let mut seen = u64::MAX;
        let mut since = (0, 0);
        let mut asked = false;
        let mut sleeping = 0;
        let mut given_up = false;
        loop {
            if let Some(status) = worker.ended(asked) {
                return (status, given_up);
            }
            let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
            let cpu = sys::nanoseconds(clock);
            self.look();
            // The worker has seen the signal to stop at its next step, if it takes any.
            if self.timeout > 0 && millis(self.began, now) > self.timeout + GRACE {
                sys::kill(pid, libc::SIGKILL);
            }
            let pulse = signals.pulse();
            let waits = pulse == seen && signals.within() && sleeps(pid);
            sleeping = if waits { sleeping + 1 } else { 0 };
            if pulse != seen {
                (seen, since, asked) = (pulse, (now, cpu), false);
            } else if sleeping > ASLEEP && !asked {
                signals.set_blocked();
                sys::kill(pid, HANG);
                (since, asked) = ((now, cpu), true);
            } else if millis(since.1, cpu) > self.hang || millis(since.0, now) > 10 * self.hang {
                let busy = signals.busy();
                given_up |= asked && !busy;
                let signal = if asked && !busy { libc::SIGKILL } else { HANG };
                signals.set_sure(true);
                sys::kill(pid, signal);
                (since, asked) = ((now, cpu), !busy);
            } else if millis(since.1, cpu) > PROBE && !asked {
                signals.set_sure(false);
                sys::kill(pid, HANG);
            }
        }
    }

    /// Looks at the clock: wants an end when time is over or somebody asks for it, and a report of how
    /// far it is.
    pub fn look(&mut self) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let late = self.timeout > 0 && millis(self.began, now) > self.timeout;
        if late || is_end_wanted() {
            self.signals.stop();
        }
        if self.progress > 0 && millis(self.reported, now) >= self.progress {
            self.reported = now;
            self.signals.ask_for_progress();
        }
    }
}

/// The signal by which whoever explores the program asks for an end, as a set of signals.
const END: u64 = 1 << (libc::SIGTERM - 1);

/// In a worker: the signal is the program's again, and the worker goes with its keeper.
pub fn leave_keeper() {
    die_with_parent();
    mask(libc::SIG_UNBLOCK);
}

fn die_with_parent() {
    let args = [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize, 0, 0, 0, 0];
    // SAFETY: no memory is touched.
    unsafe { sys::call(libc::SYS_prctl, args) };
}

fn mask(how: i32) {
    let set = END;
    let args = [how as usize, &raw const set as usize, 0, size_of::<u64>(), 0, 0];
    // SAFETY: the kernel reads `set`.
    unsafe { sys::call(libc::SYS_rt_sigprocmask, args) };
}

/// Whether somebody has asked for an end.
fn is_end_wanted() -> bool {
    let mut pending = 0_u64;
    let args = [&raw mut pending as usize, size_of::<u64>(), 0, 0, 0, 0];
    // SAFETY: the kernel writes `pending`.
    unsafe { sys::call(libc::SYS_rt_sigpending, args) };
    pending & END != 0
}

/// A process that is waited for.
struct Worker {
    pid: i32,
    /// A descriptor that says when it ends, or negative.
    fd: i32,
}

impl Worker {
    fn of(pid: i32) -> Worker {
        // SAFETY: no memory is touched.
        let fd = unsafe { sys::call(libc::SYS_pidfd_open, [pid as usize, 0, 0, 0, 0, 0]) };
        Worker { pid, fd: fd as i32 }
    }

    /// Waits for its end, for a while; its status. After a signal it may be too early to ask for a
    /// status that is there in a moment.
    fn ended(&self, asked: bool) -> Option<i32> {
        let mut poll = libc::pollfd { fd: self.fd, events: libc::POLLIN, revents: 0 };
        let span = libc::timespec { tv_sec: 0, tv_nsec: LOOK as i64 * 1_000_000 };
        let count = usize::from(self.fd >= 0);
        let args = [&raw mut poll as usize, count, &raw const span as usize, 0, 8, 0];
        // SAFETY: the kernel reads `span` and writes `poll`.
        unsafe { sys::call(libc::SYS_ppoll, args) };
        let mut status = 0;
        let wait = if asked || poll.revents == 0 { libc::WNOHANG } else { 0 };
        let args = [self.pid as usize, &raw mut status as usize, wait as usize, 0, 0, 0];
        // SAFETY: the kernel writes `status`.
        let ended = unsafe { sys::call(libc::SYS_wait4, args) } == self.pid as isize;
        ended.then_some(status)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.fd >= 0 {
            sys::close(self.fd);
        }
    }
}

/// Milliseconds from one time to another.
fn millis(from: u64, to: u64) -> u64 {
    to.saturating_sub(from) / 1_000_000
}

/// Whether a process waits for something in the kernel.
fn sleeps(pid: i32) -> bool {
    let mut name = Text::<32>::new();
    if write!(name, "/proc/{pid}/stat\0").is_err() {
        return false;
    }
    let Ok(name) = CStr::from_bytes_with_nul(name.bytes()) else { return false };
    let fd = sys::open(name, libc::O_RDONLY);
    if fd < 0 {
        return false;
    }
    let mut text = [0_u8; 256];
    let n = sys::read(fd, &mut text);
    sys::close(fd);
    // The name of the program is in parentheses, then comes the state.
    let state = text[..n].iter().rposition(|&b| b == b')').and_then(|end| text.get(end + 2));
    state == Some(&b'S')
}

/// A short text that is written in place.
struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    fn new() -> Text<N> {
        Text { bytes: [0; N], len: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        let end = self.len + s.len();
        self.bytes.get_mut(self.len..end).ok_or(core::fmt::Error)?.copy_from_slice(s.as_bytes());
        self.len = end;
        Ok(())
    }
}
