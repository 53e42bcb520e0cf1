//! How the program comes in: small pieces of assembly that keep what the caller had in its
//! registers, and from where it called, before anything in Rust runs.

use core::ptr::null;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::Runtime;
use crate::memory::blocks::HEAPS;
use crate::schedule::coroutine::{STACK, STACKS, STRIDE};

/// What [`entry!`] has pushed: the registers that belong to the caller, and the return address. The
/// caller's stack follows.
#[repr(C)]
pub struct Frame {
    /// r15, r14, r13, r12, rbx, rbp.
    registers: [usize; 6],
    /// Where the caller goes on.
    pc: usize,
}

impl Frame {
    /// Of a thread that has not called yet: there is no place in the program.
    pub const NONE: Frame = Frame { registers: [0; 6], pc: 0 };
}

/// The frame of the latest call into the library.
pub static FRAME: AtomicPtr<Frame> = AtomicPtr::new(null::<Frame>().cast_mut());

/// A call of the program that is being handled. It is not kept beyond that call.
#[derive(Clone, Copy)]
pub struct Call(*const Frame);

impl Runtime {
    /// The call of the current thread that is being handled.
    pub fn call(&self) -> Call {
        latest()
    }

    /// From where the program called.
    pub fn pc(&self) -> usize {
        self.call().pc()
    }
}

/// The latest call of anybody: in a program that is not under control, threads overwrite each
/// other's.
pub fn latest() -> Call {
    Call(FRAME.load(Ordering::Relaxed))
}

impl Call {
    /// What is handled in this frame, which stays where it is as long as that lasts.
    pub fn in_frame(frame: &Frame) -> Call {
        Call(frame)
    }

    /// From where the program called.
    pub fn pc(self) -> usize {
        // SAFETY: the first entry is that of `__libc_start_main`, before anybody asks; and a frame
        // is on the stack of its thread as long as the call is handled.
        unsafe { (*self.0).pc }
    }

    /// The stack pointer of the caller, when this call is over.
    pub fn stack_pointer(self) -> usize {
        self.0 as usize + size_of::<Frame>()
    }

    /// The frame pointer of the caller, if it has one.
    pub fn frame_pointer(self) -> usize {
        // SAFETY: as for `pc`.
        unsafe { (*self.0).registers[5] }
    }

    /// The lowest address of what the caller had: its registers, then its stack.
    pub fn addr(self) -> usize {
        self.0 as usize
    }

    /// An argument that the caller passed on the stack, beyond the six in registers.
    ///
    /// # Safety
    /// The function that was called has so many arguments.
    pub unsafe fn stack_argument(self, i: usize) -> usize {
        // SAFETY: the caller has put its further arguments right above the return address.
        unsafe { self.0.add(1).cast::<usize>().add(i).read() }
    }

    /// A word of the caller's registers and stack.
    ///
    /// # Safety
    /// The stack of the current thread reaches that far.
    #[inline(always)]
    pub unsafe fn word(self, i: usize) -> u64 {
        // SAFETY: as the caller says; the stack belongs to the program, so that it is only copied.
        unsafe { self.0.cast::<u64>().add(i).read() }
    }
}

/// The current thread goes on with this call.
pub fn go_on(call: Call) {
    FRAME.store(call.0.cast_mut(), Ordering::Relaxed);
}

/// Clears what the library has left below the stack pointer of its caller, as far as it usually gets. The program may find
/// it in what it copies or keeps without having written it, and it differs from execution to execution: where
/// things are in memory of the library. Then steps would differ that are the same, and a thread that is back in the
/// same state would not seem to be. Changes no register that a function returns something in.
///
/// Only the stack of a thread under control is cleared, and not its last part, below which it ends: what is below another one,
/// as of a coroutine that the program has made, may be anything.
#[unsafe(naked)]
pub extern "C" fn clear_below() {
    core::arch::naked_asm!(
        "lea rdi, [rsp - 8 * {words}]",
        "mov rcx, rdi",
        "shr rcx, {place}",
        "cmp ecx, {stacks}",
        "jne 2f",
        "test edi, {stack}",
        "je 2f",
        "mov rsi, rax",
        "xor eax, eax",
        "mov ecx, {words}",
        "rep stosq",
        "mov rax, rsi",
        "2:",
        "ret",
        words = const 384,
        place = const PLACE,
        stacks = const STACKS >> PLACE,
        stack = const STACK,
    )
}

/// By what comes before so many bits, addresses on stacks are known. A stack is one half of its part.
const PLACE: u32 = 44;
const _: () =
    assert!(STACKS >> PLACE != HEAPS >> PLACE && STRIDE == 2 * STACK && STACK.is_power_of_two());

/// Exports functions under a name of libc or of the instrumentation: each keeps the caller's
/// registers in a [`Frame`] and goes on in a Rust function with the same arguments.
macro_rules! entry {
    ($($name:ident => $inner:path;)*) => {$(
        #[doc = concat!("Stands in for `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// Only the program calls it, with the arguments of the function that it stands in for.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                // Exceptions and `pthread_exit` go through here.
                ".cfi_startproc",
                "push rbp",
                ".cfi_adjust_cfa_offset 8",
                "push rbx",
                ".cfi_adjust_cfa_offset 8",
                "push r12",
                ".cfi_adjust_cfa_offset 8",
                "push r13",
                ".cfi_adjust_cfa_offset 8",
                "push r14",
                ".cfi_adjust_cfa_offset 8",
                "push r15",
                ".cfi_adjust_cfa_offset 8",
                "mov [rip + {frame}], rsp",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "call {inner}",
                "call {clear}",
                "add rsp, 56",
                ".cfi_adjust_cfa_offset -56",
                "ret",
                ".cfi_endproc",
                frame = sym $crate::entry::frame::FRAME,
                inner = sym $inner,
                clear = sym $crate::entry::frame::clear_below,
            )
        }
    )*};
}

/// Exports functions that announce a plain access: most are answered by `quick`, which says
/// whether `slow` has to be asked, too.
macro_rules! access_entry {
    ($($name:ident: $quick:path, $slow:path;)*) => {$(
        #[doc = concat!("Stands in for `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// Only the program calls it, with the arguments of the function that it stands in for.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                // The stack pointer of the caller.
                "lea rsi, [rsp + 8]",
                "push rdi",
                "call {quick}",
                "pop rdi",
                "test al, al",
                "jne 2f",
                "ret",
                "2:",
                "push rbp",
                "push rbx",
                "push r12",
                "push r13",
                "push r14",
                "push r15",
                "mov [rip + {frame}], rsp",
                "sub rsp, 8",
                "call {slow}",
                "call {clear}",
                "add rsp, 56",
                "ret",
                quick = sym $quick,
                slow = sym $slow,
                clear = sym $crate::entry::frame::clear_below,
                frame = sym $crate::entry::frame::FRAME,
            )
        }
    )*};
}

/// Functions that stand in for those of libc: `fn name(rt, arg: type, ...) -> type { ... }`. The body
/// runs in a program under control, with the [`Rt`](crate::Rt) that it names. Otherwise
/// libc's own function is called, or what stands behind `else`.
macro_rules! stand_in {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($rt:ident $(, $arg:ident: $t:ty)* $(,)?) $(-> $r:ty)? $body:block
        $(else $other:block)?
    )*) => {$(
        const _: () = {
            $(#[$doc])*
            extern "C" fn controlled($($arg: $t),*) $(-> $r)? {
                // SAFETY: entered from the program, see `Rt::live`.
                match unsafe { $crate::Rt::live() } {
                    Some(mut rt) => {
                        let $rt = &mut rt;
                        // Whatever it asks libc for may end a loop.
                        $rt.threads.me_mut().yields.clear();
                        $body
                    }
                    None => $crate::entry::frame::otherwise!(
                        $({ $other })? $name($($arg: $t),*) $(-> $r)?
                    ),
                }
            }
            $crate::entry::frame::entry! { $name => controlled; }
        };
    )*};
}

/// What [`stand_in!`] does in a program that is not under control.
macro_rules! otherwise {
    ({ $other:block } $($native:tt)*) => { $other };
    ($($native:tt)*) => { $crate::entry::native::native!($($native)*) };
}

pub(crate) use {access_entry, entry, otherwise, stand_in};
