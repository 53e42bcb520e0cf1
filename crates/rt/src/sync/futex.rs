//! `syscall`: Rust's standard library and libstdc++ wait with it, on words of memory.

use weakspot_live::wire::Awaited;
use weakspot_live::{Op, OpKind, Order};

use crate::access::pending::settle;
use crate::entry::frame::{Call, entry};
use crate::entry::guest::{Area, Guest, Question};
use crate::execution::ends::refuse;
use crate::execution::monitors::Event;
use crate::memory::check::check;
use crate::memory::errors::Use;
use crate::report::DEFECT;
use crate::schedule::threads::{Patience, Until};
use crate::schedule::turns::{empty_all_buffers, step, wait};
use crate::schedule::yields::give_way;
use crate::sync::waits;
use crate::sync::words::PARKED;
use crate::sys;
use crate::{LIVE, Rt, Runtime};

const SYS_FUTEX_WAITV: i64 = 449;

extern "C" fn syscall_inner(
    number: i64,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
) -> isize {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { sys::quit(DEFECT) };
    let rt = &mut rt;
    let call = rt.call();
    let answer = match number {
        libc::SYS_futex => futex(rt, [a, b, c, d], call),
        libc::SYS_getrandom => {
            // SAFETY: the program wants so many bytes there to be filled.
            rt.clock.fill(unsafe { Guest::at(a) }, b)
        }
        libc::SYS_sched_yield => {
            give_way(rt, call.pc());
            0
        }
        libc::SYS_membarrier => membarrier(rt, a, call.pc()),
        libc::SYS_rseq => refuse(rt, "rseq", call.pc()),
        SYS_FUTEX_WAITV => refuse(rt, "futex_waitv", call.pc()),
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => {
            refuse(rt, "fork", call.pc())
        }
        libc::SYS_execve | libc::SYS_execveat => refuse(rt, "exec", call.pc()),
        libc::SYS_exit_group | libc::SYS_exit => refuse(rt, "exit-by-syscall", call.pc()),
        // SAFETY: the program asks for this, with addresses of its own; the seventh argument is on
        // the stack.
        _ => unsafe { sys::call(number, [a, b, c, d, e, call.stack_argument(0)]) },
    };
    sys::to_c(answer)
}

/// Waits on a word, or wakes who waits on it.
fn futex(rt: &mut Rt, args: [usize; 4], call: Call) -> isize {
    let pc = call.pc();
    let [addr, command, value, timeout] = args;
    // SAFETY: the program says that it has a word there.
    let word: Guest<u32> = unsafe { Guest::at(addr) };
    let op = |kind| word.area().op(kind);
    let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET].contains(&(command as i32 & 0x7f));
    if timeout != 0 && waits {
        rt.threads.me_mut().spin.undone.waits_for_time();
    }
    match command as i32 & 0x7f {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET if rt.words.is_parker(addr) => {
            park(rt, word, (timeout, command as i32 & 0x7f == libc::FUTEX_WAIT), call)
        }
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            let enter = waits::entering(rt, op(OpKind::Update));
            step(rt, enter);
            check(rt, word.area(), Use::Read, pc);
            if word.get() != value as u32 {
                done(rt, op(OpKind::Read), pc);
                return -(libc::EAGAIN as isize);
            }
            let patience = if timeout == 0 { Patience::Endless } else { Patience::Timed };
            rt.wait_until(timeout, command as i32 & 0x7f == libc::FUTEX_WAIT);
            rt.enter_queue(addr);
            waits::entered(rt, op(OpKind::Update), patience, pc);
            let acquire = op(OpKind::Acquire);
            let leave = waits::leave(rt, acquire, addr, patience, call);
            if leave.woken {
                rt.threads.me_mut().spin.changed();
            }
            let event = Event::new(waits::left(acquire, leave.woken), Order::SeqCst, pc);
            rt.record(leave.seen(event));
            if leave.woken { 0 } else { -(libc::ETIMEDOUT as isize) }
        }
        // Whoever changed the word has let the thread go on.
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET if rt.words.is_parker(addr) => 0,
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let most = value.min(i32::MAX as usize) as u32;
            wake(rt, op(OpKind::Release), most, pc)
        }
        // Who is moved to another word is woken instead, which waiters must expect anyway.
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
            wake(rt, op(OpKind::Release), u32::MAX, pc)
        }
        other => refuse(rt, futex_name(other), pc),
    }
}

/// Operations on futexes that cannot be controlled.
fn futex_name(command: i32) -> &'static str {
    match command {
        libc::FUTEX_WAKE_OP => "FUTEX_WAKE_OP",
        libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 => "FUTEX_LOCK_PI",
        libc::FUTEX_UNLOCK_PI => "FUTEX_UNLOCK_PI",
        libc::FUTEX_TRYLOCK_PI => "FUTEX_TRYLOCK_PI",
        libc::FUTEX_WAIT_REQUEUE_PI => "FUTEX_WAIT_REQUEUE_PI",
        libc::FUTEX_CMP_REQUEUE_PI => "FUTEX_CMP_REQUEUE_PI",
        _ => "futex",
    }
}

/// A fence in all threads: global or of this process, which are the same here. Who has to register may
/// do so, but need not.
fn membarrier(rt: &mut Rt, command: usize, pc: usize) -> isize {
    const QUERY: usize = 0;
    const FENCES: usize = 1 | 2 | 8 | 32;
    const REGISTRATIONS: usize = 4 | 16 | 64;
    match command {
        QUERY => (FENCES | REGISTRATIONS) as isize,
        _ if !command.is_power_of_two() => -(libc::EINVAL as isize),
        _ if command & FENCES != 0 => {
            empty_all_buffers(rt);
            rt.record_fence_of_all(pc);
            0
        }
        _ if command & REGISTRATIONS != 0 => 0,
        _ => refuse(rt, "membarrier with rseq", pc),
    }
}

/// A thread of Rust parks, by a word that others change when they unpark it: what wakes it is the change, because a wake-up always
/// follows, and nobody else waits there.
fn park(rt: &mut Rt, word: Guest<u32>, (timeout, relative): (usize, bool), call: Call) -> isize {
    let patience = if timeout == 0 { Patience::Endless } else { Patience::Timed };
    rt.wait_until(timeout, relative);
    if patience == Patience::Timed && !rt.threads.alone() {
        settle(rt);
        rt.spins(call, Area::place(word.addr()), 0);
    }
    rt.threads.me_mut().awaits = Some(Awaited::Word);
    let unparked = Until::Object(Question::about(word, |word: Guest<u32>| word.get() != PARKED));
    let acquire = word.area().op(OpKind::Acquire);
    let woken = wait(rt, acquire, unparked, patience);
    check(rt, word.area(), Use::Read, call.pc());
    done(rt, waits::left(acquire, woken), call.pc());
    if woken { 0 } else { -(libc::ETIMEDOUT as isize) }
}

fn wake(rt: &mut Rt, release: Op, most: u32, pc: usize) -> isize {
    let queue = release.addr as usize;
    // To change a condition variable of Rust and to wake those who wait for it is one step: whoever comes in between finds it changed.
    if rt.threads.me_mut().waiting.notifies.take() != Some(queue) {
        waits::wake_step(rt, release, queue);
    }
    let n = rt.wake(queue, most);
    rt.threads.me_mut().spin.changed();
    // How many it wakes tells it from waiting.
    rt.record(Event::new(release, Order::SeqCst, pc).with(u64::from(n), None));
    n as isize
}

fn done(rt: &mut Runtime, op: Op, pc: usize) {
    if op.kind != OpKind::Read && op.kind != OpKind::Compare {
        rt.threads.me_mut().spin.changed();
    }
    rt.record(Event::new(op, Order::SeqCst, pc));
}

/// What C programs get for an answer of the kernel.
extern "C" fn finish(answer: isize) -> isize {
    sys::to_c(answer)
}

entry! {
    weakspot_syscall => syscall_inner;
}

/// Stands in for `syscall`. While the program is not under control it may have several threads of the
/// system, so nothing may be kept aside: the call is made at once.
///
/// # Safety
/// Only the program calls it, with the arguments of `syscall`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        "cmp byte ptr [rip + {live}], 0",
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
