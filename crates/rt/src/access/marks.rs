//! What the program marks: transactions, by functions that are named or by calls, and fences in
//! inline assembly, which `weakspot cc` puts calls beside.

use core::sync::atomic::{AtomicU8, Ordering};

use weakspot_live::{Op, OpKind};

use crate::access::plain::{Order, access};
use crate::entry::frame::{caller, entry, frame};
use crate::runtime::{Runtime, live};
use crate::schedule::threads::{Parked, happened, park, settle};

/// Whether functions are transactions, so that it matters where they begin and end.
static NAMED: AtomicU8 = AtomicU8::new(0);

/// Finds the functions that are transactions.
pub unsafe fn find(rt: *mut Runtime) {
    let Some(ranges) = &(*rt).config.transactions else { return };
    let base = program(rt);
    let range = |&(offset, len): &(u64, u64)| {
        let start = base.wrapping_add(offset as usize);
        (start, start.wrapping_add(len as usize))
    };
    let found = ranges.iter().map(range).collect::<Vec<_>>();
    NAMED.store(u8::from(!found.is_empty()), Ordering::Relaxed);
    (*rt).transactions = found;
}

/// Where the program begins.
pub unsafe fn program(rt: *const Runtime) -> usize {
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let modules = &(*rt).modules;
    let module = modules.iter().find(|m| std::path::Path::new(&m.path) == program);
    module.or(modules.first()).map_or(0, |m| m.base)
}

/// Exports functions that do nothing unless functions are transactions.
macro_rules! if_named {
    ($($name:ident => $slow:path;)*) => {$(
        #[doc = concat!("Stands in for `", stringify!($name), "`.")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "cmp byte ptr [rip + {named}], 0",
                "jne {slow}",
                "ret",
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

unsafe extern "C" fn function_begins() {
    let rt = live();
    if !rt.is_null() && is_transaction(rt, caller()) {
        open(rt, caller());
    }
}

unsafe extern "C" fn function_ends() {
    let rt = live();
    if !rt.is_null() && is_transaction(rt, caller()) {
        close(rt, caller());
    }
}

/// The program is about to do nothing for ever.
unsafe extern "C" fn endless() {
    let rt = live();
    if !rt.is_null() {
        park(rt, caller(), Parked::Stopped);
    }
}

unsafe extern "C" fn begin() {
    let rt = live();
    if !rt.is_null() {
        open(rt, caller());
    }
}

unsafe extern "C" fn end() {
    let rt = live();
    if !rt.is_null() {
        close(rt, caller());
    }
}

unsafe fn is_transaction(rt: *const Runtime, pc: usize) -> bool {
    (&(*rt).transactions).iter().any(|&(start, end)| start < pc && pc <= end)
}

unsafe fn open(rt: *mut Runtime, pc: usize) {
    settle(rt);
    let me = (*rt).current;
    let thread = &mut (&mut (*rt).threads)[me];
    thread.depth += 1;
    if thread.depth == 1 {
        happened(rt, me, Op::plain(OpKind::Begin), Order::Plain, pc, None, None);
    }
}

unsafe fn close(rt: *mut Runtime, pc: usize) {
    settle(rt);
    let me = (*rt).current;
    let thread = &mut (&mut (*rt).threads)[me];
    if thread.depth > 0 {
        thread.depth -= 1;
        if thread.depth == 0 {
            happened(rt, me, Op::plain(OpKind::End), Order::Plain, pc, None, None);
        }
    }
}

/// Exports functions that inline assembly calls: nothing that the caller has in registers may
/// change, so all of it is kept while `$inner` is called with one number.
macro_rules! from_assembly {
    ($($name:ident => $inner:path, $number:literal;)*) => {$(
        #[doc = concat!("Called beside inline assembly, see `", stringify!($inner), "`.")]
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
    __weakspot_asm_pause => crate::sync::pthread::sched_yield, 0;
    __weakspot_asm_endless => __weakspot_endless, 0;
}

/// Called before an access in inline assembly, with what it is and its address on the stack. All
/// registers are kept, and all of them belong to the state of the thread, because the assembly may be
/// a loop.
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
    )
}

/// An access in inline assembly: 0 a load, 1 a store, 2 an atomic update, times 256, and its size.
unsafe extern "C" fn assembly_access(addr: usize, what: usize) {
    let len = what & 0xff;
    match what >> 8 {
        0 => access(addr, len, false, Order::Volatile, frame()),
        1 => access(addr, len, true, Order::Volatile, frame()),
        _ => crate::access::atomics::update_follows(addr, len as u32),
    }
}
