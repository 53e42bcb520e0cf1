//! How the program comes in: small pieces of assembly that keep what the caller had in its
//! registers, and from where it called, before anything in Rust runs.

use core::ptr::null;
use core::sync::atomic::{AtomicPtr, Ordering};

/// What [`entry!`] has pushed: the registers that belong to the caller, and the return address. The
/// caller's stack follows.
#[repr(C)]
pub struct Frame {
    /// r15, r14, r13, r12, rbx, rbp.
    pub registers: [usize; 6],
    /// Where the caller goes on.
    pub pc: usize,
}

/// The frame of the latest call into the library.
pub static FRAME: AtomicPtr<Frame> = AtomicPtr::new(null::<Frame>().cast_mut());

/// The frame of the call that is being handled, in a program under control: otherwise its threads
/// overwrite each other's. Right only until coroutines are switched, so it is asked first.
pub fn frame() -> *const Frame {
    FRAME.load(Ordering::Relaxed)
}

/// From where the program called.
pub unsafe fn caller() -> usize {
    (*frame()).pc
}

/// An argument that the caller passed on the stack, beyond the six in registers.
pub unsafe fn stack_argument(i: usize) -> usize {
    *frame().add(1).cast::<usize>().add(i)
}

/// Exports functions under a name of libc or of the instrumentation: each keeps the caller's
/// registers in a [`Frame`] and goes on in a Rust function with the same arguments.
macro_rules! entry {
    ($($name:ident => $inner:path;)*) => {$(
        #[doc = concat!("Stands in for `", stringify!($name), "`.")]
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
                "add rsp, 56",
                ".cfi_adjust_cfa_offset -56",
                "ret",
                ".cfi_endproc",
                frame = sym $crate::entry::frame::FRAME,
                inner = sym $inner,
            )
        }
    )*};
}

/// Exports functions that announce a plain access: most are answered by `quick`, which says
/// whether `slow` has to be asked, too.
macro_rules! access_entry {
    ($($name:ident: $quick:path, $slow:path;)*) => {$(
        #[doc = concat!("Stands in for `", stringify!($name), "`.")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
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
                "add rsp, 56",
                "ret",
                quick = sym $quick,
                slow = sym $slow,
                frame = sym $crate::entry::frame::FRAME,
            )
        }
    )*};
}

pub(crate) use {access_entry, entry};
