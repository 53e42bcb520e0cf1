//! Functions of other checkers, by which programs say what they assume and which parts are atomic: those
//! of SV-COMP, Nidhugg, GenMC and Dartagnan. A program needs no definition of them, and no header.

use weakspot_live::{Op, OpKind, Order, Sync};

use crate::Rt;
use crate::Runtime;
use crate::entry::frame::{entry, stand_in};
use crate::execution::ends::{end_quietly, fail, refuse};
use crate::execution::monitors::Event;
use crate::report::DEFECT;
use crate::schedule::threads::{Patience, Until};
use crate::schedule::turns::{step, wait};
use crate::sync::pthread;
use crate::sys;

/// Who is in an atomic part, and what was chosen.
#[derive(Default)]
pub struct Verifier {
    /// The thread that is in an atomic part, and how deep.
    atomic: Option<(usize, u32)>,
    /// What has been chosen so far, choice by choice, and by whom.
    chosen: Vec<(usize, bool)>,
}

impl Verifier {
    /// Before an execution.
    pub fn clear(&mut self) {
        self.atomic = None;
        self.chosen.clear();
    }
}

/// A byte that no program has, for what only strategies are to know: the lock of all atomic parts.
const NOWHERE: u64 = 0x10;

fn nowhere(kind: OpKind) -> Op {
    Op { kind, len: 1, addr: NOWHERE }
}

/// The same for each choice: its byte depends on what its thread has chosen before, and not on others.
fn chosen(rt: &Runtime, kind: OpKind, choice: usize) -> Op {
    /// The addresses of programs are lower.
    const FIRST: u64 = 1 << 56;
    let thread = rt.verifier.chosen[choice].0;
    let before = rt.verifier.chosen[..choice].iter().filter(|chosen| chosen.0 == thread).count();
    Op { kind, len: 1, addr: FIRST + ((thread as u64) << 32) + before as u64 }
}

fn can_be_atomic(rt: &Runtime, thread: usize, _: usize) -> bool {
    rt.verifier.atomic.is_none_or(|(owner, _)| owner == thread)
}

/// Atomic parts exclude each other. What other threads do outside of such parts is not kept out.
fn atomic_begin(rt: &mut Rt) {
    let (me, pc) = (rt.threads.current(), rt.pc());
    if let Some((owner, depth)) = &mut rt.verifier.atomic
        && *owner == me
    {
        *depth += 1;
        return;
    }
    let acquire = nowhere(OpKind::Acquire);
    wait(rt, acquire, Until::Known(can_be_atomic, 0), Patience::Endless);
    rt.verifier.atomic = Some((me, 1));
    rt.threads.me_mut().spin.locked();
    rt.record(Event::new(acquire, Order::SeqCst, pc));
}

fn atomic_end(rt: &mut Rt) {
    let (me, pc) = (rt.threads.current(), rt.pc());
    match &mut rt.verifier.atomic {
        Some((owner, depth)) if *owner == me && *depth > 1 => *depth -= 1,
        Some((owner, _)) if *owner == me => {
            let release = nowhere(OpKind::Release);
            step(rt, release);
            rt.verifier.atomic = None;
            rt.threads.me_mut().spin.unlocked();
            rt.record(Event::new(release, Order::SeqCst, pc));
        }
        _ => {}
    }
}

/// Chooses, as if another thread had decided: one that stores to a byte which this one reads. So every
/// strategy knows that there are two ways to go on.
fn choose(rt: &mut Rt) -> bool {
    extern "C" fn decide(choice: usize) -> usize {
        // SAFETY: a thread of the program runs this, and nothing of the runtime is borrowed.
        let Some(mut rt) = (unsafe { Rt::live() }) else { sys::quit(DEFECT) };
        let rt = &mut rt;
        // With store buffers nobody would ever see a store to a byte that is not there.
        step(rt, chosen(rt, OpKind::Update, choice));
        let write = chosen(rt, OpKind::Write, choice);
        rt.verifier.chosen[choice].1 = true;
        rt.record(Event::new(write, Order::SeqCst, 0).orders(Sync::Nothing));
        0
    }
    let pc = rt.pc();
    let choice = rt.verifier.chosen.len();
    let me = rt.threads.current();
    rt.verifier.chosen.push((me, false));
    let other = pthread::create(rt, decide, choice);
    let read = chosen(rt, OpKind::Read, choice);
    step(rt, read);
    let chosen = rt.verifier.chosen[choice].1;
    rt.record(Event::new(read, Order::Relaxed, pc).orders(Sync::Nothing));
    // It was made here, so that it can be waited for.
    let _ = pthread::join(rt, other);
    chosen
}

/// An assumption that does not hold: there is no such execution.
fn not_assumed(rt: &mut Rt) -> ! {
    end_quietly(rt)
}

stand_in! {
    fn __VERIFIER_assume(rt, holds: i32) {
        if holds == 0 {
            not_assumed(rt);
        }
    } else {
        if holds == 0 {
            sys::quit(0);
        }
    }

    fn __VERIFIER_kill_thread(rt, kill: i32) {
        if kill & 1 != 0 {
            not_assumed(rt);
        }
    } else {
        if kill & 1 != 0 {
            sys::quit(0);
        }
    }

    fn __VERIFIER_assert(rt, holds: i32) {
        if holds == 0 {
            let pc = rt.pc();
            fail(rt, "assertion", pc, "__VERIFIER_assert");
        }
    } else {
        if holds == 0 {
            sys::write_all(2, b"__VERIFIER_assert failed\n");
            sys::quit(134);
        }
    }

    fn __VERIFIER_error(rt) {
        let pc = rt.pc();
        fail(rt, "assertion", pc, "__VERIFIER_error is reached")
    } else {
        sys::write_all(2, b"__VERIFIER_error is reached\n");
        sys::quit(134)
    }

    fn __VERIFIER_atomic_begin(rt) {
        atomic_begin(rt);
    } else {}

    fn __VERIFIER_atomic_end(rt) {
        atomic_end(rt);
    } else {}

    fn __VERIFIER_nondet_bool(rt) -> i32 {
        i32::from(choose(rt))
    } else { 0 }

    fn __VERIFIER_opt_begin(rt) -> i32 {
        i32::from(choose(rt))
    } else { 1 }
}

/// Choices among more than two values, which are not explored: these are reported by name.
macro_rules! undetermined {
    ($($name:ident)*) => {
        stand_in! {$(
            fn $name(rt) -> usize {
                let pc = rt.pc();
                refuse(rt, stringify!($name), pc)
            } else { 0 }
        )*}
    };
}

undetermined! {
    __VERIFIER_nondet_char
    __VERIFIER_nondet_double
    __VERIFIER_nondet_float
    __VERIFIER_nondet_int
    __VERIFIER_nondet_long
    __VERIFIER_nondet_longlong
    __VERIFIER_nondet_pointer
    __VERIFIER_nondet_short
    __VERIFIER_nondet_size_t
    __VERIFIER_nondet_u8
    __VERIFIER_nondet_u16
    __VERIFIER_nondet_u32
    __VERIFIER_nondet_uchar
    __VERIFIER_nondet_uint
    __VERIFIER_nondet_ulong
    __VERIFIER_nondet_ulonglong
    __VERIFIER_nondet_unsigned
    __VERIFIER_nondet_unsigned_char
    __VERIFIER_nondet_unsigned_int
    __VERIFIER_nondet_unsigned_long
    __VERIFIER_nondet_unsigned_short
    __VERIFIER_nondet_ushort
}

/// Hints that other checkers need, and this one does not.
extern "C" fn nothing() {}

entry! {
    __VERIFIER_loop_begin => nothing;
    __VERIFIER_loop_bound => nothing;
    __VERIFIER_spin_start => nothing;
    __VERIFIER_spin_end => nothing;
    __VERIFIER_faiZNE_spin_end => nothing;
    __VERIFIER_lockZNE_spin_end => nothing;
    __VERIFIER_pbarrier => nothing;
}
