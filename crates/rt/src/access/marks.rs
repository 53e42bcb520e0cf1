//! What the program marks: transactions, by functions that are named or by calls, and fences in
//! inline assembly, which `weakspot cc` puts calls beside.

use core::sync::atomic::Ordering;

use weakspot_live::wire::MemoryChange;
use weakspot_live::{Op, OpKind, Order};

use crate::access::atomics::update_follows;
use crate::access::functions::{CHANNELS, FRAMES, NAMED, TRANSACTIONS};
use crate::access::pending::settle;
use crate::access::plain::{access, volatile_access};
use crate::entry::frame::entry;
use crate::entry::guest::Area;
use crate::execution::monitors::Event;
use crate::memory::frames::{Ended, Open};
use crate::schedule::spin::PASSED;
use crate::schedule::threads::Parked;
use crate::schedule::turns::channels;
use crate::schedule::turns::{park, step};
use crate::{Rt, Runtime};

/// Exports functions that only count unless functions are transactions.
macro_rules! if_named {
    ($($name:ident => $slow:path;)*) => {$(
        #[doc = concat!("Stands in for `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// Only the program calls it.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "inc qword ptr [rip + {passed}]",
                "cmp byte ptr [rip + {named}], 0",
                "jne {slow}",
                "ret",
                passed = sym PASSED,
                named = sym NAMED,
                slow = sym $slow,
            )
        }
    )*};
}

if_named! {
    __tsan_func_entry => __weakspot_function_begins;
    __tsan_func_exit => __weakspot_function_ends;
}

entry! {
    __weakspot_function_begins => function_begins;
    __weakspot_function_ends => function_ends;
    __weakspot_begin => begin;
    __weakspot_endless => endless;
    __weakspot_end => end;
}

extern "C" fn function_begins(back: usize) {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { return };
    let (me, call) = (rt.threads.current(), rt.call());
    let (sp, bp, pc) = (call.stack_pointer(), call.frame_pointer(), call.pc());
    let why = NAMED.load(Ordering::Relaxed);
    if why & CHANNELS != 0 {
        channels::begin(&mut rt, call, back);
    }
    if why & (FRAMES | TRANSACTIONS) == 0 {
        return;
    }
    rt.frames.enter(me, Open { sp, bp, pc, back });
    if rt.transactions.hold(pc) {
        rt.open_transaction();
    }
}

extern "C" fn function_ends() {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { return };
    let (me, sp, pc) = (rt.threads.current(), rt.call().stack_pointer(), rt.pc());
    let why = NAMED.load(Ordering::Relaxed);
    if why & CHANNELS != 0 {
        channels::end(&mut rt, sp, pc);
    }
    if why & (FRAMES | TRANSACTIONS) == 0 {
        return;
    }
    let ended = rt.frames.exit(me, sp, pc);
    if let Some(ended) = &ended
        && why & FRAMES != 0
    {
        variables_end(&mut rt, ended);
    }
    // A call is in the function that ends, a jump seems to come from the one around it.
    let jumped = ended.filter(|ended| ended.back.is_some());
    if rt.transactions.hold(jumped.map_or(pc, |ended| ended.function.pc)) {
        rt.close_transaction();
    }
}

/// The variables of a function are gone: a step if others have touched some of them.
fn variables_end(rt: &mut Rt, ended: &Ended) {
    let (me, sp) = (rt.threads.current(), ended.below);
    let Ended { function, around, .. } = *ended;
    let Some((from, to)) = rt.frames.lent_by(me).filter(|_| !rt.threads.alone()) else { return };
    let top = rt.coroutines.slot(me).top();
    if to <= sp || from >= around.unwrap_or(top) {
        return;
    }
    // Its variables end where it keeps the address to return to.
    const MOST_WORDS: usize = 1 << 16;
    let limit = around.unwrap_or(top).min(top);
    let words = (limit.saturating_sub(function.sp) / 8).min(MOST_WORDS);
    // SAFETY: the stack of the thread reaches to `top`.
    let word = |i: usize| unsafe { (function.sp as *const usize).add(i).read() };
    let find = || Some(function.sp + 8 * (0..words).find(|&i| word(i) == function.back)?);
    let Some(end) = ended.back.or_else(find) else { return };
    let (from, to) = (from.max(sp), to.min(end));
    if from < to {
        // SAFETY: the program is done with these bytes.
        let area = unsafe { Area::at(from, to - from) };
        let Some((from, to, news)) = rt.shadow.free(me, area).filter(|_| rt.config.filter) else {
            return;
        };
        if news {
            rt.learn(from, to - from);
        }
        // SAFETY: as above.
        let area = unsafe { Area::at(from, to - from) };
        step(rt, area.op(OpKind::Free));
        let pc = rt.pc();
        rt.trace_memory(MemoryChange::Returned, (from, to - from), &[pc]);
    }
}

/// The program is about to do nothing for ever.
extern "C" fn endless() {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        let pc = rt.called_from_assembly();
        park(&mut rt, pc, Parked::Endless);
    }
}

extern "C" fn begin() {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        rt.open_transaction();
    }
}

extern "C" fn end() {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        rt.close_transaction();
    }
}

impl Runtime {
    /// From where the program called one of the functions below, which has called the library: its frame
    /// begins where its rbp points, below the address that the program called from.
    pub fn called_from_assembly(&self) -> usize {
        const RBP: usize = 5;
        // SAFETY: the stack holds the frames of both callers.
        unsafe { (self.call().word(RBP) as *const usize).add(1).read() }
    }

    fn open_transaction(&mut self) {
        settle(self);
        if self.threads.me_mut().nesting.open() {
            self.exploration.count_transaction();
            self.record(Event::new(Op::plain(OpKind::Begin), Order::Plain, self.pc()));
        }
    }

    fn close_transaction(&mut self) {
        settle(self);
        if self.threads.me_mut().nesting.close() {
            self.record(Event::new(Op::plain(OpKind::End), Order::Plain, self.pc()));
        }
    }
}

/// Exports functions that inline assembly calls: nothing that the caller has in registers may
/// change, so all of it is kept while `$inner` is called with one number.
macro_rules! from_assembly {
    ($($name:ident => $inner:path, $number:literal;)*) => {$(
        #[doc = concat!("Called beside inline assembly, see `", stringify!($inner), "`.")]
        ///
        /// # Safety
        /// Only the program calls it.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "pushfq",
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                "and rsp, -16",
                "sub rsp, 512",
                "fxsave64 [rsp]",
                "mov edi, {number}",
                "call {inner}",
                "fxrstor64 [rsp]",
                "lea rsp, [rbp - 80]",
                "pop r11",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "popfq",
                "pop rbp",
                "ret",
                number = const $number,
                inner = sym $inner,
            )
        }
    )*};
}

from_assembly! {
    __weakspot_asm_fence => crate::access::atomics::__tsan_atomic_thread_fence, 5;
    __weakspot_asm_store_fence => crate::access::atomics::__tsan_atomic_thread_fence, 3;
    __weakspot_asm_pause => crate::schedule::yields::__weakspot_pause, 0;
    __weakspot_asm_endless => __weakspot_endless, 0;
}

/// Called before an access in inline assembly, with what it is and its address on the stack. All
/// registers are kept, and all of them belong to the state of the thread, because the assembly may be
/// a loop.
///
/// # Safety
/// Only the program calls it.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __weakspot_asm_access() {
    core::arch::naked_asm!(
        "pushfq",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        // The return address is above these nine; then what it is, then the address.
        "mov rsi, [rsp + 80]",
        "mov rdi, [rsp + 88]",
        "push [rsp + 72]",
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rip + {frame}], rsp",
        "mov rbp, rsp",
        "and rsp, -16",
        "sub rsp, 512",
        "fxsave64 [rsp]",
        "call {inner}",
        "call {clear}",
        "fxrstor64 [rsp]",
        "mov rsp, rbp",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "add rsp, 8",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "popfq",
        "ret",
        frame = sym crate::entry::frame::FRAME,
        inner = sym assembly_access,
        clear = sym crate::entry::frame::clear_below,
    )
}

/// An access in inline assembly: 0 a load, 1 a store, 2 an atomic update, times 256, and its size.
extern "C" fn assembly_access(addr: usize, what: usize) {
    // SAFETY: entered from the program, see `Rt::live`; it is about to access these bytes.
    let (Some(mut rt), area) = (unsafe { (Rt::live(), Area::at(addr, what & 0xff)) }) else {
        return;
    };
    let call = rt.call();
    match what >> 8 {
        0 => volatile_access(&mut rt, area, false, call),
        1 => volatile_access(&mut rt, area, true, call),
        3 => access(&mut rt, area, false, call),
        4 => access(&mut rt, area, true, call),
        _ => update_follows(&mut rt, area),
    }
}
