//! How executions end: `main` returns, `exit`, a failed assertion, something that is not supported.

use core::ffi::{CStr, c_char};
use std::borrow::Cow;

use weakspot_live::wire::Message;
use weakspot_live::{Ended, Op, OpKind};

use crate::access::pending::settle;
use crate::entry::frame::{entry, stand_in};
use crate::entry::guest::Guest;
use crate::execution::exceptions::uncaught;
use crate::execution::exits;
use crate::execution::panics::Fails;
use crate::report::DEFECT;
use crate::schedule::closed::report_closed;
use crate::schedule::finish::finish;
use crate::schedule::threads::{Patience, Until};
use crate::schedule::turns::wait;
use crate::sys;
use crate::{Rt, Runtime};

/// How many steps other threads have when one wants to end the program. Their steps do not depend on
/// its wish, so that waiting loses nothing but programs whose threads go on for ever.
const PATIENCE: u64 = 1000;

/// The program fails here: reported, and the execution is over when the others have done what they
/// can, because what they do does not depend on it.
pub fn fail(rt: &mut Rt, kind: &'static str, pc: usize, text: &str) -> ! {
    if !rt.is_live() {
        rt.reporter.send(&Message::Defect(text.to_owned()));
        sys::quit(DEFECT);
    }
    let me = rt.threads.current();
    fail_in(rt, me, kind, pc, text)
}

/// The same, by the fault of another thread.
pub fn fail_in(rt: &mut Rt, thread: usize, kind: &'static str, pc: usize, text: &str) -> ! {
    fail_with(rt, thread, kind, pc, text, &[])
}

/// The same with other places that have to do with it: what happened, by which thread, where.
pub fn fail_with(
    rt: &mut Rt,
    thread: usize,
    kind: &'static str,
    pc: usize,
    text: &str,
    related: &[(&str, Option<usize>, usize)],
) -> ! {
    settle(rt);
    rt.related_finding(kind, Some(thread), pc, text, related);
    wait_for_others(rt);
    finish(rt, Ended::Over)
}

/// There is no such execution: it ends without a word, when the others have done what they can, so that
/// strategies know what could have come before. What others cannot come out of, whatever this thread does,
/// is a failure all the same.
pub fn end_quietly(rt: &mut Rt) -> ! {
    settle(rt);
    rt.exploration.not_assumed();
    wait_for_others(rt);
    report_closed(rt);
    finish(rt, Ended::Over)
}

/// The program does something that cannot be done under control.
pub fn refuse(rt: &mut Rt, what: &'static str, pc: usize) -> ! {
    rt.unsupported(what, pc);
    settle(rt);
    finish(rt, Ended::Cut)
}

/// The current thread ends the program, from here or by the end of `main`. What was registered for that runs while
/// others go on; then they do what they can.
pub fn leave(rt: &mut Rt, code: i32, pc: usize) -> ! {
    if !rt.exits.exiting() {
        rt.exits.leave();
        settle(rt);
        exits::program_functions(rt);
        settle(rt);
        wait_for_others(rt);
    }
    leave_last(rt, code, pc)
}

/// Waits until no other thread can do anything, or has done enough.
fn wait_for_others(rt: &mut Rt) {
    fn alone_at_last(rt: &Runtime, thread: usize, limit: usize) -> bool {
        let alone = rt.scheduler.next().iter().all(|n| usize::from(n.agent.of()) == thread);
        rt.exploration.steps() > limit as u64 || alone && rt.threads.buffers_are_empty()
    }
    let limit = rt.exploration.steps() + PATIENCE;
    let until = Until::Known(alone_at_last, limit as usize);
    wait(rt, Op::plain(OpKind::Exit), until, Patience::Last);
}

/// The current thread ends the program now: what was registered for the end runs, then what is left
/// in the buffers of `stdio` is written.
pub fn leave_last(rt: &mut Rt, code: i32, pc: usize) -> ! {
    settle(rt);
    exits::program_functions(rt);
    // SAFETY: libc writes its own buffers, through functions of ours.
    rt.run_program(|| unsafe { libc::fflush(core::ptr::null_mut()) });
    settle(rt);
    end_with_code(rt, code, pc);
    finish(rt, Ended::Over)
}

/// Functions that the program may not call under control: `name, "what is reported";`. Only the
/// first six arguments of each matter to the real one.
macro_rules! refused {
    ($($name:ident, $what:expr;)*) => {
        $crate::entry::frame::stand_in! {$(
            fn $name(rt, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
                let _ = (a, b, c, d, e, f);
                let pc = rt.pc();
                $crate::execution::ends::refuse(rt, $what, pc)
            }
        )*}
    };
}

pub(crate) use refused;

extern "C" fn exit_at_once(code: i32) {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { sys::quit(code) };
    let pc = rt.pc();
    leave_at_once(&mut rt, code, pc)
}

/// The current thread ends the program without what was registered for the end. Others may have gone on before.
fn leave_at_once(rt: &mut Rt, code: i32, pc: usize) -> ! {
    settle(rt);
    wait_for_others(rt);
    end_with_code(rt, code, pc);
    finish(rt, Ended::Over)
}

/// The program ends with this code: a failure if it is not 0 and codes matter.
fn end_with_code(rt: &mut Rt, code: i32, pc: usize) {
    // Nobody gets more of it.
    let code = code & 0xff;
    if code == 0 {
        return;
    }
    rt.exploration.failed_by_code();
    if !rt.config.codes {
        return;
    }
    // The harness starts the test.
    let thread = if rt.config.harness { 1 } else { rt.threads.current() };
    match rt.said.fails(thread, code) {
        Some(Fails { thread, text }) => fail_in(rt, thread, "panic", 0, &text),
        None => {
            let code = || rt.said.with_reason(thread, format!("exit code {code}"));
            let text = rt.said.note().unwrap_or_else(code);
            fail(rt, "exit", pc, &text)
        }
    }
}

fn text<'a>(text: Guest<c_char>) -> Cow<'a, str> {
    // SAFETY: the program passes a string for what is reported.
    let text = text.given().map(|text| unsafe { CStr::from_ptr(text.pointer()) });
    text.map_or(Cow::Borrowed(""), CStr::to_string_lossy)
}

stand_in! {
    fn exit(rt, code: i32) {
        let pc = rt.pc();
        leave(rt, code, pc)
    }

    fn quick_exit(rt, code: i32) {
        let pc = rt.pc();
        settle(rt);
        exits::quick_functions(rt);
        leave_at_once(rt, code, pc)
    }

    fn abort(rt) {
        let pc = rt.pc();
        let me = rt.threads.current();
        if let Some(Fails { thread, text }) = rt.said.aborts(me) {
            fail_in(rt, thread, "panic", if thread == me { pc } else { 0 }, &text);
        }
        match uncaught(rt) {
            Some((text, thrown)) => fail(rt, "exception", thrown, &text),
            None => {
                let text = rt.said.with_reason(me, "abort".to_owned());
                fail(rt, "abort", pc, &text)
            }
        }
    }

    fn __assert_fail(
        rt, what: Guest<c_char>, file: Guest<c_char>, line: u32, function: Guest<c_char>,
    ) {
        let _ = function;
        let (what, place) = (text(what), text(file));
        let pc = rt.pc();
        fail(rt, "assertion", pc, &format!("{place}:{line}: {what}"))
    }
}

entry! {
    _exit => exit_at_once;
    _Exit => exit_at_once;
}
