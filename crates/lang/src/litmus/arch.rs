//! What the code of a test is written in.

/// The architectures and languages we read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// 32-bit registers, usually in Intel syntax.
    X86,
    /// 64-bit registers, usually in AT&T syntax.
    X86_64,
    /// RISC-V with the extension Ztso, 64-bit registers.
    Riscv,
    /// C, as the Linux kernel or C11 has it.
    C,
}

impl Arch {
    /// All of them.
    pub const ALL: [Arch; 4] = [Arch::X86, Arch::X86_64, Arch::Riscv, Arch::C];

    /// The architecture as the first word of a file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Arch::X86 => "X86",
            Arch::X86_64 => "X86_64",
            Arch::Riscv => "RISCV",
            Arch::C => "C",
        }
    }

    /// Bytes in a general-purpose register, and in an address.
    #[must_use]
    pub fn word(self) -> u8 {
        match self {
            Arch::X86 => 4,
            Arch::X86_64 | Arch::Riscv | Arch::C => 8,
        }
    }
}
