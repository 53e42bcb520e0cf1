//! Signals: crashes of the program, and the one by which the keeper asks why no step is taken.

use core::ffi::c_void;

use weakspot_live::Ended;

use crate::entry::frame::latest;
use crate::execution::ends::refuse;
use crate::report::Reporter;
use crate::schedule::finish::finish;
use crate::schedule::threads::Parked;
use crate::schedule::turns::park;
use crate::sys;
use crate::{Rt, Runtime};

/// The signal by which the keeper asks why no step is taken.
pub const HANG: i32 = 63;

const CRASHES: [(i32, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGABRT, "SIGABRT"),
];

/// Has crashes handled in this process, on a stack of their own.
pub fn catch_crashes() {
    const SIZE: usize = 64 << 10;
    let stack = libc::stack_t {
        ss_sp: Vec::<u8>::with_capacity(SIZE).leak().as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: SIZE,
    };
    // SAFETY: the stack is large enough, and nobody else has it.
    unsafe { sys::call(libc::SYS_sigaltstack, [&raw const stack as usize, 0, 0, 0, 0, 0]) };
    for signal in CRASHES.iter().map(|c| c.0).chain([HANG]) {
        // SAFETY: an action is plain numbers; what the handler may do is said there.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = crashed as *const () as usize;
            // The handler may never return, so the signal must not stay blocked.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(signal, &raw const action, core::ptr::null_mut());
        }
    }
}

extern "C" fn crashed(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the code that was interrupted never goes on after a crash, so that what it may have
    // borrowed is not in use; and while the keeper only asks, nothing is changed.
    let Some(mut rt) = (unsafe { Rt::live() }) else {
        if signal != HANG {
            // SAFETY: nobody else handles the signal now.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        return;
    };
    let rt = &mut rt;
    // SAFETY: the kernel passes what the thread was doing, and what the signal is about.
    let (registers, addr) = unsafe {
        (&(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs, (*info).si_addr() as usize)
    };
    let at = registers[libc::REG_RIP as usize] as usize;
    let sp = registers[libc::REG_RSP as usize] as usize;
    if signal == HANG {
        return silent(rt, at, sp);
    }
    // A crash in here is one of the program that gave a bad address.
    let pc = if rt.reporter.is_own(at) { latest().pc() } else { at };
    rt.used_stack(sp);
    rt.threads.me_mut().pending = None;
    let me = rt.threads.current();
    let slot = rt.coroutines.slot(me);
    let overflow = slot.holds(addr) && addr < slot.bottom();
    let name = CRASHES.iter().find(|c| c.0 == signal).map_or("signal", |c| c.1);
    let text = if overflow { "the stack is too small" } else { name };
    rt.finding("crash", Some(me), pc, text);
    finish(rt, Ended::Over)
}

/// Where threads were found that take no steps any more.
pub struct SilentPlaces(Vec<usize>);

impl SilentPlaces {
    /// None.
    pub fn new() -> SilentPlaces {
        SilentPlaces(Vec::new())
    }
}

/// The keeper has not seen a step for some time: is there a reason to give up on the thread that
/// runs? If not, it goes on.
fn silent(rt: &mut Rt, at: usize, sp: usize) {
    if rt.signals().busy() {
        return;
    }
    if rt.signals().take_blocked() {
        let pc = rt.called_from(sp);
        refuse(rt, "something that blocks", pc);
    }
    if let Some(start) = empty_loop(&rt.reporter, at) {
        rt.used_stack(sp);
        park(rt, start, Parked::Endless);
    }
    // Where in a loop it was interrupted is chance; where it called last is not.
    let slot = rt.coroutines.slot(rt.threads.current());
    let pc = if slot.holds(latest().addr()) { latest().pc() } else { 0 };
    let known = rt.silent_places.0.contains(&pc);
    if known || rt.signals().sure() {
        if !known {
            rt.silent_places.0.push(pc);
        }
        rt.used_stack(sp);
        park(rt, pc, Parked::Silent);
    }
}

impl Runtime {
    /// The current thread was interrupted with this stack pointer.
    fn used_stack(&mut self, sp: usize) {
        let slot = self.coroutines.slot(self.threads.current());
        if slot.holds(sp) {
            let lowest = sp.max(slot.bottom());
            self.threads.me_mut().used_down_to(lowest);
        }
    }

    /// From where the program called what it is in: the first return address on the stack that
    /// belongs to it.
    fn called_from(&self, sp: usize) -> usize {
        let slot = self.coroutines.slot(self.threads.current());
        let Some(program) = self.reporter.modules().first() else { return 0 };
        let words = if slot.holds(sp) { (slot.top() - sp) / 8 } else { 0 };
        (0..words.min(4096))
            // SAFETY: the stack is mapped up to its top, and the thread on it is interrupted.
            .map(|i| unsafe { (sp as *const usize).add(i).read() })
            .find(|at| (program.base..program.end).contains(at))
            .unwrap_or(0)
    }
}

/// The place of the loop of nothing but pauses and a jump that an instruction is in.
fn empty_loop(reporter: &Reporter, at: usize) -> Option<usize> {
    /// More pauses than this are not looked for.
    const LONGEST: usize = 64;
    if !reporter.modules().iter().any(|m| (m.base + LONGEST..m.end - LONGEST).contains(&at)) {
        return None;
    }
    // SAFETY: the processor is executing the instruction there, and the file is mapped around it.
    let code = unsafe { core::slice::from_raw_parts((at - LONGEST) as *const u8, 2 * LONGEST) };
    let pause = |at: usize| match code[at..] {
        [0xf3, 0x90, ..] => Some(2),
        [0x90, ..] => Some(1),
        _ => None,
    };
    let mut end = LONGEST;
    while let Some(len) = pause(end).filter(|len| end + len + 5 < code.len()) {
        end += len;
    }
    let start = match code[end..] {
        [0xeb, by, ..] => (end + 2).checked_add_signed(isize::from(by.cast_signed())),
        [0xe9, a, b, c, d, ..] => {
            (end + 5).checked_add_signed(i32::from_le_bytes([a, b, c, d]) as isize)
        }
        _ => None,
    };
    let start = start.filter(|&start| start <= LONGEST)?;
    let mut next = start;
    while let Some(len) = pause(next).filter(|_| next < end) {
        next += len;
    }
    // Places are where calls return to, so this is one byte behind where it begins.
    (next == end).then_some(at - LONGEST + start + 1)
}

/// Whether a signal is handled in here.
pub fn is_caught(signal: i32) -> bool {
    [HANG, libc::SIGTRAP].contains(&signal) || CRASHES.iter().any(|c| c.0 == signal)
}
