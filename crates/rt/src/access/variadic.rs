//! Arguments of functions that take any number of them, as the calling convention of x86-64 passes them.

use crate::entry::guest::Guest;

/// What C calls a `va_list`: where the next argument is.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Arguments {
    /// How far the next integer is from `saved`; up to 48 there are some.
    integers: u32,
    /// The same for the next floating-point number; up to 176.
    floats: u32,
    /// The next one on the stack.
    stack: usize,
    /// Where registers were saved.
    saved: usize,
}

impl Arguments {
    /// These and no others: integers and pointers, one after the other.
    pub fn of(words: &[usize]) -> Arguments {
        Arguments { integers: 48, floats: 176, stack: words.as_ptr() as usize, saved: 0 }
    }

    /// The next one, an integer or a pointer.
    ///
    /// # Safety
    /// The caller has passed one.
    pub unsafe fn integer(&mut self) -> usize {
        if self.integers < 48 {
            self.integers += 8;
            // SAFETY: the registers were saved there.
            return unsafe { word(self.saved + self.integers as usize - 8) };
        }
        // SAFETY: as the caller says.
        unsafe { self.on_stack() }
    }

    /// Leaves out a floating-point number.
    pub fn skip_float(&mut self) {
        if self.floats < 176 {
            self.floats += 16;
        } else {
            self.stack += 8;
        }
    }

    /// Leaves out a `long double`.
    pub fn skip_long_float(&mut self) {
        self.stack = self.stack.next_multiple_of(16) + 16;
    }

    unsafe fn on_stack(&mut self) -> usize {
        self.stack += 8;
        // SAFETY: as the caller says.
        unsafe { word(self.stack - 8) }
    }
}

/// # Safety
/// There is a word.
unsafe fn word(at: usize) -> usize {
    // SAFETY: as the caller says.
    unsafe { Guest::<usize>::at(at) }.get()
}

/// Exports functions with any number of arguments behind `$fixed` others: each goes on in a function that
/// gets these and, in the register that is named, its [`Arguments`].
macro_rules! variadic {
    ($($name:ident => $inner:path, $fixed:literal, $register:literal;)*) => {$(
        #[doc = concat!("Stands in for `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// Only the program calls it, with the arguments of the function that it stands in for.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rbp",
                "push rbx",
                "push r12",
                "push r13",
                "push r14",
                "push r15",
                ".cfi_adjust_cfa_offset 48",
                "mov [rip + {frame}], rsp",
                // 176 bytes for registers, 24 for the arguments, and the stack stays aligned.
                "sub rsp, 216",
                ".cfi_adjust_cfa_offset 216",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "movaps [rsp + 48], xmm0",
                "movaps [rsp + 64], xmm1",
                "movaps [rsp + 80], xmm2",
                "movaps [rsp + 96], xmm3",
                "movaps [rsp + 112], xmm4",
                "movaps [rsp + 128], xmm5",
                "movaps [rsp + 144], xmm6",
                "movaps [rsp + 160], xmm7",
                "mov dword ptr [rsp + 176], 8 * {fixed}",
                "mov dword ptr [rsp + 180], 48",
                // Behind the six registers and the return address.
                "lea rax, [rsp + 272]",
                "mov [rsp + 184], rax",
                "mov [rsp + 192], rsp",
                concat!("lea ", $register, ", [rsp + 176]"),
                "call {inner}",
                "call {clear}",
                "add rsp, 264",
                ".cfi_adjust_cfa_offset -264",
                "ret",
                ".cfi_endproc",
                frame = sym $crate::entry::frame::FRAME,
                fixed = const $fixed,
                inner = sym $inner,
                clear = sym $crate::entry::frame::clear_below,
            )
        }
    )*};
}

pub(crate) use variadic;
