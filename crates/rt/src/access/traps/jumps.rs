//! A jump in the place of an instruction, and how it comes here: to a copy of the instruction, before
//! which there is a call that keeps all registers, the flags, and what is below the end of the stack,
//! where functions that call nobody keep things.
//!
//! Only for code of Rust's standard library: it knows no vector registers but those of SSE.

use core::arch::naked_asm;

use super::{Registers, jumped};

/// The bytes below the end of the stack that belong to a function.
const RED_ZONE: usize = 128;

/// Code that announces the instruction with this number, before its copy.
pub(super) fn call(index: usize) -> Vec<u8> {
    let mut code = Vec::new();
    // lea rsp, [rsp - 128]
    code.extend([0x48, 0x8d, 0x64, 0x24, 0x80]);
    // push index
    code.push(0x68);
    code.extend((index as i32).to_le_bytes());
    // call [rip + 2]; jmp over the address
    code.extend([0xff, 0x15, 2, 0, 0, 0, 0xeb, 8]);
    code.extend((arrive as *const () as usize).to_le_bytes());
    // lea rsp, [rsp + 136], which leaves the flags alone
    code.extend([0x48, 0x8d, 0xa4, 0x24, 0x88, 0, 0, 0]);
    code
}

/// A jump that covers so many bytes, if it reaches that far.
pub(super) fn to(from: usize, target: usize, covered: usize) -> Option<Vec<u8>> {
    const TRAP: u8 = 0xcc;
    let distance = i32::try_from(target as i64 - from as i64 - 5).ok()?;
    let mut code = vec![0xe9];
    code.extend(distance.to_le_bytes());
    // Nobody comes to the rest.
    code.resize(covered.max(code.len()), TRAP);
    Some(code)
}

/// What [`arrive`] has pushed.
#[repr(C)]
struct Kept {
    registers: Registers,
    flags: usize,
    back: usize,
    index: usize,
}

/// Keeps everything, and goes on in Rust.
#[unsafe(naked)]
unsafe extern "C" fn arrive() {
    naked_asm!(
        "pushfq",
        "push r15",
        "push r14",
        "push r13",
        "push r12",
        "push r11",
        "push r10",
        "push r9",
        "push r8",
        "push rdi",
        "push rsi",
        "push rbp",
        "push rsp",
        "push rbx",
        "push rdx",
        "push rcx",
        "push rax",
        "mov rdi, rsp",
        "mov rbp, rsp",
        "sub rsp, 512",
        "and rsp, -16",
        "fxsave64 [rsp]",
        "call {inner}",
        "fxrstor64 [rsp]",
        "mov rsp, rbp",
        "pop rax",
        "pop rcx",
        "pop rdx",
        "pop rbx",
        "lea rsp, [rsp + 8]",
        "pop rbp",
        "pop rsi",
        "pop rdi",
        "pop r8",
        "pop r9",
        "pop r10",
        "pop r11",
        "pop r12",
        "pop r13",
        "pop r14",
        "pop r15",
        "popfq",
        "ret",
        inner = sym arrived,
    )
}

extern "C" fn arrived(kept: &Kept) {
    const RSP: usize = 4;
    let mut registers = kept.registers;
    registers[RSP] = &raw const *kept as usize + size_of::<Kept>() + RED_ZONE;
    jumped(kept.index, &registers);
}
