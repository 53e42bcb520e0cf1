//! How executions end: `main` returns, `exit`, a crash, a failed assertion, no end at all.

use core::ffi::{CStr, c_char, c_void};
use std::borrow::Cow;

use weakspot_live::wire::Message;
use weakspot_live::{Ended, Op, OpKind};

use crate::entry::frame::{caller, entry, frame};
use crate::entry::native::native;
use crate::execution::panics;
use crate::report;
use crate::runtime::{AtExit, Runtime, home, live};
use crate::schedule::buffers;
use crate::schedule::threads::{Parked, Patience, Thread, finish, park, settle, wait};
use crate::sys;

/// The signal by which the keeper tells that an execution hangs.
pub const HANG: i32 = 63;

/// How many steps other threads have when one wants to end the program. Their steps do not depend on
/// its wish, so that waiting loses nothing but programs whose threads go on for ever.
const PATIENCE: u64 = 1000;

const CRASHES: [(i32, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGABRT, "SIGABRT"),
];

/// Has crashes handled in this process, on a stack of their own.
pub unsafe fn catch_crashes() {
    const SIZE: usize = 64 << 10;
    let stack = libc::stack_t {
        ss_sp: Vec::<u8>::with_capacity(SIZE).leak().as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: SIZE,
    };
    sys::call(libc::SYS_sigaltstack, [&raw const stack as usize, 0, 0, 0, 0, 0]);
    for signal in CRASHES.iter().map(|c| c.0).chain([HANG]) {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = crashed as *const () as usize;
        // The handler never returns, so the signal must not stay blocked.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigaction(signal, &raw const action, core::ptr::null_mut());
    }
}

unsafe extern "C" fn crashed(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let rt = live();
    if rt.is_null() {
        if signal != HANG {
            libc::signal(signal, libc::SIG_DFL);
        }
        return;
    }
    let context = &(*context.cast::<libc::ucontext_t>()).uc_mcontext;
    let at = context.gregs[libc::REG_RIP as usize] as usize;
    let sp = context.gregs[libc::REG_RSP as usize] as usize;
    let (from, to) = (*rt).own_code;
    // A crash in here is one of the program that gave a bad address.
    let pc = if (from..to).contains(&at) { (*frame()).pc } else { at };
    if signal == HANG {
        return silent(rt, at, sp);
    }
    let me = (*rt).current;
    let thread = &mut (&mut (*rt).threads)[me];
    let slot = &(&(*rt).slots)[me];
    if slot.holds(sp) {
        thread.lowest = thread.lowest.min(sp.max(slot.top - crate::schedule::coroutine::STACK));
    }
    thread.pending = None;
    let name = CRASHES.iter().find(|c| c.0 == signal).map_or("signal", |c| c.1);
    let addr = (*info).si_addr() as usize;
    let overflow = slot.holds(addr) && addr < slot.top - crate::schedule::coroutine::STACK;
    let text = if overflow { "the stack is too small" } else { name };
    report::finding(rt, "crash", Some(me), pc, text);
    finish(rt, Ended::Over)
}

/// The keeper has not seen a step for some time: is there a reason to give up on the thread that
/// runs? If not, it goes on.
unsafe fn silent(rt: *mut Runtime, at: usize, sp: usize) {
    if (*rt).busy {
        return;
    }
    if core::mem::take(&mut (*rt).blocked) {
        refuse(rt, "something that blocks", called_from(rt, sp));
    }
    let me = (*rt).current;
    let slot = &(&(*rt).slots)[me];
    if slot.holds(sp) {
        let thread = &mut (&mut (*rt).threads)[me];
        thread.lowest = thread.lowest.min(sp.max(slot.top - crate::schedule::coroutine::STACK));
    }
    if jumps_to_itself(rt, at) {
        park(rt, at, Parked::Stopped);
    }
    // Where in a loop it was interrupted is chance; where it was heard of last is not.
    let pc = if slot.holds(frame() as usize) { (*frame()).pc } else { 0 };
    let known = (*rt).silent_places.contains(&pc);
    if known || (*rt).sure {
        if !known {
            (*rt).silent_places.push(pc);
        }
        park(rt, pc, Parked::Silent);
    }
}

/// From where the program called what it is in: the first return address on the stack that belongs
/// to it.
unsafe fn called_from(rt: *const Runtime, sp: usize) -> usize {
    let me = (*rt).current;
    let top = (&(*rt).slots)[me].top;
    let Some(program) = (&(*rt).modules).first() else { return 0 };
    let words = if (&(*rt).slots)[me].holds(sp) { (top - sp) / 8 } else { 0 };
    let stack = core::slice::from_raw_parts(sp as *const usize, words.min(4096));
    stack.iter().copied().find(|at| (program.base..program.end).contains(at)).unwrap_or(0)
}

/// Whether the instruction is a jump to itself, with nothing but a pause on the way.
unsafe fn jumps_to_itself(rt: *const Runtime, at: usize) -> bool {
    if !(&(*rt).modules).iter().any(|m| (m.base..m.end - 8).contains(&at)) {
        return false;
    }
    let code = core::slice::from_raw_parts(at as *const u8, 5);
    matches!(code, [0xeb, 0xfe, ..] | [0xe9, 0xfb, 0xff, 0xff, 0xff] | [0xf3, 0x90, 0xeb, 0xfc, _])
}

/// The program fails here: reported, and the execution is over when the others have done what they
/// can, because what they do does not depend on it.
pub unsafe fn fail(rt: *mut Runtime, kind: &'static str, pc: usize, text: &str) -> ! {
    if live().is_null() {
        report::tell((*rt).config.fd, &Message::Defect(text.to_owned()));
        sys::quit(70);
    }
    let me = (*rt).current;
    fail_in(rt, me, kind, pc, text)
}

/// The same, by the fault of another thread.
pub unsafe fn fail_in(
    rt: *mut Runtime,
    thread: usize,
    kind: &'static str,
    pc: usize,
    text: &str,
) -> ! {
    settle(rt);
    report::finding(rt, kind, Some(thread), pc, text);
    let limit = (*rt).steps + PATIENCE;
    wait(rt, Op::plain(OpKind::Exit), alone_at_last, limit as usize, Patience::Last);
    finish(rt, Ended::Over)
}

/// The program does something that cannot be done under control.
pub unsafe fn refuse(rt: *mut Runtime, what: &'static str, pc: usize) -> ! {
    report::unsupported(rt, what, pc);
    settle(rt);
    finish(rt, Ended::Cut)
}

/// The current thread ends the program: when the others have done what they can.
pub unsafe fn leave(rt: *mut Runtime, code: i32) -> ! {
    if !(*rt).exiting {
        let op = Op::plain(OpKind::Exit);
        let limit = (*rt).steps + PATIENCE;
        wait(rt, op, alone_at_last, limit as usize, Patience::Last);
    }
    leave_last(rt, code)
}

unsafe fn alone_at_last(rt: *mut Runtime, thread: usize, limit: usize) -> bool {
    let alone = (&(*rt).next).iter().all(|n| n.agent.of() as usize == thread);
    (*rt).steps > limit as u64 || alone && buffers::all_empty(rt)
}

/// The current thread ends the program now: what was registered for the end runs, then what is left
/// in the buffers of `stdio` is written.
pub unsafe fn leave_last(rt: *mut Runtime, code: i32) -> ! {
    settle(rt);
    (*rt).exiting = true;
    thread_functions(rt);
    while let Some(AtExit { f, arg }) = (*rt).at_exit.pop() {
        f(arg);
    }
    for i in (0..(*rt).finishers.len()).rev() {
        (&(*rt).finishers)[i]();
    }
    libc::fflush(core::ptr::null_mut());
    settle(rt);
    panics::code(rt, code, 0);
    finish(rt, Ended::Over)
}

/// The functions in the program's table of those to be run at its end, unless it is only the one that
/// compilers put there for libc.
pub unsafe fn finishers() -> Vec<unsafe extern "C" fn()> {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        to: *mut c_void,
    ) -> i32 {
        const DT_FINI_ARRAY: usize = 26;
        const DT_FINI_ARRAYSZ: usize = 28;
        let to = &mut *to.cast::<Vec<unsafe extern "C" fn()>>();
        let base = (*info).dlpi_addr as usize;
        let (mut table, mut bytes) = (0, 0);
        for i in 0..(*info).dlpi_phnum as usize {
            let header = &*(*info).dlpi_phdr.add(i);
            if header.p_type != libc::PT_DYNAMIC {
                continue;
            }
            let mut entry = (base + header.p_vaddr as usize) as *const [usize; 2];
            while (*entry)[0] != 0 {
                match (*entry)[0] {
                    DT_FINI_ARRAY => table = base + (*entry)[1],
                    DT_FINI_ARRAYSZ => bytes = (*entry)[1],
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
        let n = bytes / size_of::<usize>();
        if n > 1 && table != 0 {
            let table = table as *const unsafe extern "C" fn();
            to.extend_from_slice(core::slice::from_raw_parts(table, n));
        }
        // The program itself comes first, and only it matters.
        1
    }
    let mut found: Vec<unsafe extern "C" fn()> = Vec::new();
    libc::dl_iterate_phdr(Some(first), (&raw mut found).cast());
    found
}

fn is_caught(signal: i32) -> bool {
    [HANG, libc::SIGTRAP].contains(&signal) || CRASHES.iter().any(|c| c.0 == signal)
}

/// The program's own handlers of crashes would hide them.
unsafe extern "C" fn sigaction_inner(
    signal: i32,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> i32 {
    let caught = is_caught(signal);
    let new = if !live().is_null() && caught { core::ptr::null() } else { new };
    if !live().is_null() && !new.is_null() {
        (*live()).soiled = true;
    }
    native!(sigaction(signal: i32, new: *const libc::sigaction, old: *mut libc::sigaction) -> i32)
}

unsafe extern "C" fn signal_inner(signal: i32, handler: usize) -> usize {
    let caught = is_caught(signal);
    if !live().is_null() && caught {
        return libc::SIG_DFL;
    }
    if !live().is_null() {
        (*live()).soiled = true;
    }
    native!(signal(signal: i32, handler: usize) -> usize)
}

/// Calls what the current thread has registered for its end.
pub unsafe fn thread_functions(rt: *mut Runtime) {
    let me = (*rt).current;
    let last = |threads: *mut Vec<Thread>| (&mut (*threads))[me].at_exit.pop();
    while let Some(AtExit { f, arg }) = last(&raw mut (*rt).threads) {
        f(arg);
    }
    crate::sync::pthread::key_functions(rt);
}

unsafe extern "C" fn exit_inner(code: i32) {
    let rt = live();
    if rt.is_null() { native!(exit(code: i32)) } else { leave(rt, code) }
}

unsafe extern "C" fn exit_at_once(code: i32) {
    let rt = live();
    if rt.is_null() {
        sys::quit(code)
    }
    settle(rt);
    panics::code(rt, code, caller());
    finish(rt, Ended::Over)
}

unsafe extern "C" fn abort_inner() {
    let rt = live();
    if rt.is_null() {
        native!(abort())
    } else {
        let text = panics::reason(rt).map_or("abort".into(), Cow::Owned);
        fail(rt, "abort", caller(), &text)
    }
}

unsafe fn text<'a>(text: *const c_char) -> Cow<'a, str> {
    if text.is_null() { "".into() } else { CStr::from_ptr(text).to_string_lossy() }
}

unsafe extern "C" fn assert_fail(
    what: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
) {
    let rt = live();
    if rt.is_null() {
        native!(__assert_fail(what: *const c_char, file: *const c_char, line: u32, function: *const c_char))
    } else {
        let what = text(what);
        let place = text(file);
        fail(rt, "assertion", caller(), &format!("{place}:{line}: {what}"))
    }
}

unsafe extern "C" fn at_exit(
    f: unsafe extern "C" fn(*mut c_void),
    arg: *mut c_void,
    dso: *mut c_void,
) -> i32 {
    let rt = home();
    if rt.is_null() {
        return native!(__cxa_atexit(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void, dso: *mut c_void) -> i32);
    }
    (*rt).at_exit.push(AtExit { f, arg });
    0
}

unsafe extern "C" fn thread_at_exit(
    f: unsafe extern "C" fn(*mut c_void),
    arg: *mut c_void,
    dso: *mut c_void,
) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(__cxa_thread_atexit_impl(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void, dso: *mut c_void) -> i32);
    }
    let me = (*rt).current;
    (&mut (*rt).threads)[me].at_exit.push(AtExit { f, arg });
    0
}

entry! {
    sigaction => sigaction_inner;
    signal => signal_inner;
    exit => exit_inner;
    _exit => exit_at_once;
    _Exit => exit_at_once;
    quick_exit => exit_at_once;
    abort => abort_inner;
    __assert_fail => assert_fail;
    __cxa_atexit => at_exit;
    __cxa_thread_atexit_impl => thread_at_exit;
}
