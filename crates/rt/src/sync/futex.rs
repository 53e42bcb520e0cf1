//! `syscall`: Rust's standard library and libstdc++ wait with it, on words of memory.

use weakspot_live::{Op, OpKind};

use crate::access::plain::Order;
use crate::entry::frame::{Frame, entry, frame, stack_argument};
use crate::execution::ends::refuse;
use crate::runtime::{LIVE, Runtime, live};
use crate::schedule::threads::{Patience, Varying, changed, happened, step, step_special};
use crate::sync::waits;
use crate::sys;
use crate::world::clock;

unsafe extern "C" fn syscall_inner(
    number: i64,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
) -> isize {
    let rt = live();
    let f = stack_argument(0);
    let frame = frame();
    let pc = (*frame).pc;
    let answer = match number {
        libc::SYS_futex => futex(rt, [a, b, c, d, e], frame),
        libc::SYS_getrandom => clock::fill(rt, a, b),
        libc::SYS_sched_yield => {
            step(rt, Op::plain(OpKind::Yield));
            0
        }
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => {
            refuse(rt, "fork", pc)
        }
        libc::SYS_execve | libc::SYS_execveat => refuse(rt, "exec", pc),
        libc::SYS_exit_group | libc::SYS_exit => refuse(rt, "exit-by-syscall", pc),
        _ => sys::call(number, [a, b, c, d, e, f]),
    };
    finish(answer)
}

/// What C programs get for an answer of the kernel.
unsafe extern "C" fn finish(answer: isize) -> isize {
    if (-4095..0).contains(&answer) {
        *libc::__errno_location() = -answer as i32;
        return -1;
    }
    answer
}

/// Waits on a word, or wakes who waits on it.
unsafe fn futex(rt: *mut Runtime, args: [usize; 5], frame: *const Frame) -> isize {
    let pc = (*frame).pc;
    let [addr, command, value, timeout, other] = args;
    let word = Op { kind: OpKind::Update, len: 4, addr: addr as u64 };
    match command as i32 & 0x7f {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            step(rt, word);
            if *(addr as *const u32) != value as u32 {
                done(rt, Op { kind: OpKind::Read, ..word }, pc);
                return -(libc::EAGAIN as isize);
            }
            let patience = if timeout == 0 { Patience::Endless } else { Patience::Timed };
            waits::enter(rt, addr);
            waits::entered(rt, word, patience, pc);
            let leave = Op { kind: OpKind::Acquire, ..word };
            let woken = waits::leave(rt, leave, addr, patience, frame);
            done(rt, waits::left(leave, woken), pc);
            if woken { 0 } else { -(libc::ETIMEDOUT as isize) }
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let release = Op { kind: OpKind::Release, ..word };
            step_special(rt, release, Some(Varying::Other(waits::wake_kind, addr)));
            let n = waits::wake(rt, addr, value.min(i32::MAX as usize) as u32);
            done(rt, release, pc);
            n as isize
        }
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
            // Who is moved to another word is woken instead, which waiters must expect anyway.
            let _ = other;
            let release = Op { kind: OpKind::Release, ..word };
            step_special(rt, release, Some(Varying::Other(waits::wake_kind, addr)));
            let n = waits::wake(rt, addr, u32::MAX);
            done(rt, release, pc);
            n as isize
        }
        _ => refuse(rt, "futex", pc),
    }
}

unsafe fn done(rt: *mut Runtime, op: Op, pc: usize) {
    let me = (*rt).current;
    if op.kind != OpKind::Read && op.kind != OpKind::Compare {
        changed(rt, me);
    }
    happened(rt, me, op, Order::Strong, pc, None, None);
}

entry! {
    weakspot_syscall => syscall_inner;
}

/// Stands in for `syscall`. While the program is not under control it may have several threads of the
/// system, so nothing may be kept aside: the call is made at once.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        "cmp qword ptr [rip + {live}], 0",
        "jne {controlled}",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "mov rdi, rax",
        "jmp {finish}",
        live = sym LIVE,
        controlled = sym weakspot_syscall,
        finish = sym finish,
    )
}
