//! Threads of the program as coroutines: a stack and a block of thread-local storage each.
//!
//! Thread `t` always has the stack at [`STACKS`]` + t * `[`STRIDE`], so addresses of its variables
//! are the same in all executions. The gap below each stack is not mapped: what grows into it
//! crashes. Blocks of thread-local storage, below the gap, are made by the dynamic linker, which knows
//! what has to be in them, and are put back to their first content when a thread starts.

use core::arch::{asm, naked_asm};
use core::ffi::c_void;

use crate::memory::arena::on_behalf_of_runtime;
use crate::sys;

/// Where the stacks are.
pub const STACKS: usize = 0x2000_0000_0000;
/// From one stack to the next.
pub const STRIDE: usize = 16 << 20;
/// The size of a stack.
pub const STACK: usize = 8 << 20;
/// Room for thread-local storage, at the other end of the gap below the stack.
pub const LOCAL: usize = 1 << 20;
/// A stack of which more than this was used is given back to the system instead of being cleared.
const LARGE: usize = 256 << 10;
const PAGE: usize = 4096;

/// What threads stand on, and the worker below them.
pub struct Coroutines {
    slots: Vec<Slot>,
    /// Where the worker goes on when an execution is over.
    base: usize,
    /// The thread pointer of the process.
    main_tcb: usize,
    /// Whether thread pointers can be changed without the kernel.
    can_write_fs: bool,
}

/// What a coroutine stands on. It is kept from execution to execution.
pub struct Slot {
    /// The end of the stack, its highest address.
    top: usize,
    /// The thread pointer: where the thread-local storage ends and glibc's thread record begins.
    tcb: usize,
    /// Where the block of thread-local storage begins, and what is in it at first. Thread 0 has the
    /// block of the process, which the snapshot restores.
    pristine: Option<(usize, Vec<u8>)>,
}

unsafe extern "C" {
    fn _dl_allocate_tls(mem: *mut libc::c_void) -> *mut libc::c_void;
    fn _dl_get_tls_static_info(size: *mut usize, align: *mut usize);
    fn __ctype_init();
    /// How large glibc's thread record is, and where the number of the thread is in it: meant for
    /// debuggers, as bits, count and offset.
    static _thread_db_sizeof_pthread: u32;
    static _thread_db_pthread_tid: [u32; 3];
}

/// Whether the processor and the kernel let programs change the thread pointer themselves.
fn can_write_fs() -> bool {
    const FSGSBASE: u64 = 1 << 1;
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}

/// The thread pointer of who calls.
fn thread_pointer() -> usize {
    let tcb: usize;
    // SAFETY: on x86-64 the thread record begins with its own address.
    unsafe { asm!("mov {}, fs:[0x10]", out(reg) tcb, options(nostack, readonly)) };
    tcb
}

impl Coroutines {
    /// No slots yet.
    pub fn new() -> Coroutines {
        let main_tcb = thread_pointer();
        Coroutines { slots: Vec::new(), base: 0, main_tcb, can_write_fs: can_write_fs() }
    }

    /// libc is ready: the thread pointer is that of the process from now on.
    pub fn libc_is_ready(&mut self) {
        self.main_tcb = thread_pointer();
    }

    /// Where the worker goes on.
    pub fn base(&self) -> usize {
        self.base
    }

    /// The place for where the worker goes on.
    pub fn base_place(&mut self) -> *mut usize {
        &raw mut self.base
    }

    /// What the thread with this number stands on.
    pub fn slot(&self, t: usize) -> &Slot {
        &self.slots[t]
    }

    /// The number of the thread that the program knows by this handle.
    pub fn find(&self, handle: usize, count: usize) -> Option<usize> {
        self.slots[..count].iter().position(|slot| slot.tcb == handle)
    }

    /// Makes the slot of thread `t`, if there is none. `false`: the system gives no memory.
    pub fn make(&mut self, t: usize) -> bool {
        if self.slots.len() == t {
            let Some(slot) = self.new_slot(t) else { return false };
            self.slots.push(slot);
        }
        true
    }

    /// Maps the stacks that earlier workers had.
    pub fn map(&self) {
        for t in 0..self.slots.len() {
            map_stack(t);
        }
    }

    /// The current thread is this one, as far as thread-local variables go.
    pub fn set_thread_pointer(&self, t: usize) {
        // SAFETY: the slot has a thread record, which stays.
        unsafe { self.write_thread_pointer(self.slots[t].tcb) };
    }

    /// Thread-local variables are those of the process.
    pub fn set_main_thread_pointer(&self) {
        // SAFETY: the record is the one that libc has made.
        unsafe { self.write_thread_pointer(self.main_tcb) };
    }

    fn new_slot(&self, t: usize) -> Option<Slot> {
        let start = STACKS + t * STRIDE + (STRIDE - STACK);
        if !map_stack(t) {
            return None;
        }
        let main = self.main_tcb;
        if t == 0 {
            return Some(Slot { top: start + STACK, tcb: main, pristine: None });
        }
        let (mut size, mut align) = (0, 0);
        // SAFETY: glibc writes two numbers.
        unsafe { _dl_get_tls_static_info(&raw mut size, &raw mut align) };
        // The size counts glibc's thread record, which begins at the thread pointer.
        // SAFETY: a constant of glibc.
        let record = unsafe { _thread_db_sizeof_pthread } as usize;
        let below = size.saturating_sub(record);
        let wanted = (STACKS + t * STRIDE + LOCAL - record) & !(align.max(64) - 1);
        if size + align > LOCAL {
            return None;
        }
        // What the linker needs besides must not be in the program's memory: it would not be there
        // after a restore.
        // SAFETY: there is room for the record above `wanted` and for the storage below it, in a
        // mapping that nobody else uses.
        let tcb = on_behalf_of_runtime(|| unsafe { _dl_allocate_tls(wanted as *mut _) }) as usize;
        if tcb == 0 {
            return None;
        }
        // SAFETY: the record of the process and the new one are `record` bytes each, and only we use
        // the new one. Libc's tables for characters are found through the thread pointer, which is
        // put back.
        unsafe {
            // What the beginning of the record must say: itself, twice, and the secrets for canaries
            // and mangled pointers, the flags for the shadow stack, and the number of the thread in
            // the system.
            let copy = |offset: usize, len: usize| {
                let from = (main + offset) as *const u8;
                from.copy_to_nonoverlapping((tcb + offset) as *mut u8, len);
            };
            (tcb as *mut usize).write(tcb);
            ((tcb + 0x10) as *mut usize).write(tcb);
            copy(0x20, 0x18);
            copy(0x48, 0x8);
            copy(_thread_db_pthread_tid[2] as usize, 4);
            // Any thread may be the one that creates the first thread with this number.
            let current = thread_pointer();
            self.write_thread_pointer(tcb);
            __ctype_init();
            self.write_thread_pointer(current);
        }
        let from = tcb - below;
        // SAFETY: these bytes were just made, and nobody else uses them.
        let pristine = unsafe { core::slice::from_raw_parts(from as *const u8, size) }.to_vec();
        Some(Slot { top: start + STACK, tcb, pristine: Some((from, pristine)) })
    }

    /// Changes the thread pointer.
    ///
    /// # Safety
    /// It points to a thread record of glibc that stays.
    unsafe fn write_thread_pointer(&self, tcb: usize) {
        if self.can_write_fs {
            // SAFETY: the instruction is there; the library has no thread-local variables.
            unsafe { asm!("wrfsbase {}", in(reg) tcb, options(nostack, preserves_flags)) };
        } else {
            const ARCH_SET_FS: usize = 0x1002;
            // SAFETY: as above, by way of the kernel.
            unsafe { sys::call(libc::SYS_arch_prctl, [ARCH_SET_FS, tcb, 0, 0, 0, 0]) };
        }
    }
}

/// Maps the stack of thread `t` and its thread-local storage in this process, if that was not done.
fn map_stack(t: usize) -> bool {
    let start = STACKS + t * STRIDE;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let of_stack = if executable() { rights | libc::PROT_EXEC } else { rights };
    sys::map_at(start, LOCAL, rights, libc::MAP_PRIVATE)
        && sys::map_at(start + STRIDE - STACK, STACK, of_stack, libc::MAP_PRIVATE)
}

/// Whether the program wants to execute what is on its stacks, as functions within functions do in C of GNU.
fn executable() -> bool {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        to: *mut c_void,
    ) -> i32 {
        // SAFETY: the dynamic linker describes a program that is mapped; `to` is what was passed below.
        unsafe {
            let headers = (*info).dlpi_phdr;
            let all = (0..(*info).dlpi_phnum as usize).map(|i| *headers.add(i));
            let mut stacks = all.filter(|header| header.p_type == libc::PT_GNU_STACK);
            *to.cast::<bool>() = stacks.any(|header| header.p_flags & libc::PF_X != 0);
        }
        // The program itself comes first, and only it matters.
        1
    }
    let mut found = false;
    // SAFETY: `first` gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
    found
}

impl Slot {
    /// The end of the stack, its highest address.
    pub fn top(&self) -> usize {
        self.top
    }

    /// The lowest address of the stack.
    pub fn bottom(&self) -> usize {
        self.top - STACK
    }

    /// By what the program knows the thread.
    pub fn handle(&self) -> usize {
        self.tcb
    }

    /// The addresses of the stack and of the gap below it.
    pub fn holds(&self, addr: usize) -> bool {
        addr < self.top && addr >= self.top - STRIDE
    }

    /// Puts the thread-local storage back and prepares the stack, so that the first switch to the
    /// returned stack pointer calls `f(arg)`.
    ///
    /// # Safety
    /// Nobody runs on the stack, or will go on there.
    pub unsafe fn prepare(&self, f: extern "C" fn(usize) -> !, arg: usize) -> usize {
        if let Some((from, bytes)) = &self.pristine {
            // SAFETY: the storage has that many bytes, and the thread that used it is over.
            unsafe { bytes.as_ptr().copy_to_nonoverlapping(*from as *mut u8, bytes.len()) };
        }
        let sp = (self.top - 128) as *mut usize;
        // What `switch` pops: floating point settings, six registers, the return address.
        let control = 0x1f80_u64 | 0x37f << 32;
        let frame = [control as usize, 0, 0, f as usize, arg, 0, 0, begin as *const () as usize];
        // SAFETY: the stack is mapped, and nobody is on it.
        unsafe { sp.copy_from_nonoverlapping(frame.as_ptr(), frame.len()) };
        sp as usize
    }

    /// Clears what was used of the stack, from the lowest address that is known to have been used
    /// and as far below as pages are not empty: what a function finds in variables that it forgot to
    /// set must be the same in each execution.
    ///
    /// # Safety
    /// Nobody runs on the stack, or will go on there.
    pub unsafe fn clear(&self, lowest: usize) {
        let bottom = self.bottom();
        let mut from = (lowest & !(PAGE - 1)).clamp(bottom, self.top);
        // SAFETY: all pages between `bottom` and `top` are mapped, and nobody is on the stack.
        unsafe {
            while from > bottom && !is_empty(from - PAGE) {
                from -= PAGE;
            }
            let used = self.top - from;
            if used > LARGE {
                sys::give_back(from, used);
            } else {
                (from as *mut u8).write_bytes(0, used);
            }
        }
    }
}

/// Whether a page has only zeros.
///
/// # Safety
/// The page is mapped, and nobody writes to it.
unsafe fn is_empty(page: usize) -> bool {
    // SAFETY: as the caller says.
    let words = unsafe { core::slice::from_raw_parts(page as *const u64, PAGE / 8) };
    words.iter().all(|&word| word == 0)
}

/// Goes on at the stack pointer `to`, and keeps at `from` where this one is to go on.
///
/// # Safety
/// `to` was left there by this function or by [`Slot::prepare`], and its coroutine does not run.
/// Nothing is borrowed from the runtime.
#[unsafe(naked)]
pub unsafe extern "C" fn switch(from: *mut usize, to: usize) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// The first instructions of a coroutine: `prepare` put the function into r13 and its argument into
/// r12.
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!("mov rdi, r12", "xor ebp, ebp", "and rsp, -16", "call r13", "ud2")
}
