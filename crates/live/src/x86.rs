//! Instructions of x86-64: how long they are, which of them are atomic updates, and of what.

mod moved;
mod result;

pub use moved::moved;
pub use result::{Effect, result};

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// How many bytes it has.
    pub len: usize,
    /// It updates memory atomically: it has a lock prefix, or exchanges a register with memory.
    pub update: bool,
    /// It is a fence.
    pub fence: Option<Fence>,
    /// Where in it the offset of its operand is, if that is relative to the next instruction.
    pub relative: Option<usize>,
    /// What is executed after it.
    pub flow: Flow,
}

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// `mfence`, and what waits until all that came before is done: `cpuid`, `serialize`.
    Full,
    /// `sfence`.
    Stores,
}

/// How an instruction goes on. Displacements count from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next instruction follows.
    Next,
    /// A conditional jump: the next instruction follows, or the one this far away.
    Branch(i32),
    /// A jump to the instruction this far away.
    Jump(i32),
    /// With a function, this far away if that is known, and then with the one behind it.
    Call(Option<i32>),
    /// At an address that was computed: it may be one of a table.
    Elsewhere,
    /// Not in this function: a return, a trap, or a jump to a function whose address is in memory.
    Never,
}

/// What follows an opcode.
struct Form {
    /// A byte that says where the operands are.
    operands: bool,
    /// Bytes of an immediate value.
    immediate: usize,
}

const NONE: Form = Form { operands: false, immediate: 0 };
const OPERANDS: Form = Form { operands: true, immediate: 0 };
const OPERANDS_BYTE: Form = Form { operands: true, immediate: 1 };

fn immediate(immediate: usize) -> Form {
    Form { operands: false, immediate }
}

/// The instruction that the bytes begin with; `None` if it is unknown or cut off.
#[must_use]
pub fn instruction(bytes: &[u8]) -> Option<Instruction> {
    let mut at = 0;
    let (mut short, mut lock, mut segment) = (false, false, false);
    loop {
        match bytes.get(at)? {
            0x66 => short = true,
            0xf0 => lock = true,
            0x64 | 0x65 => segment = true,
            0x67 | 0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 => {}
            _ => break,
        }
        at += 1;
    }
    let mut wide = false;
    if let 0x40..=0x4f = bytes.get(at)? {
        wide = bytes[at] & 8 != 0;
        at += 1;
    }
    let opcode = *bytes.get(at)?;
    at += 1;
    let mut exchange = false;
    let mut second = 0;
    let form = match opcode {
        0x0f => {
            second = *bytes.get(at)?;
            at += 1;
            match second {
                0x38 | 0x3a => {
                    at += 1;
                    if second == 0x38 { OPERANDS } else { OPERANDS_BYTE }
                }
                _ => second_map(second)?,
            }
        }
        // Vector instructions: two or three more bytes come before the opcode.
        0xc5 => {
            let third = *bytes.get(at + 1)?;
            at += 2;
            vector(1, third)
        }
        0xc4 => {
            let (map, opcode) = (bytes.get(at)? & 0x1f, *bytes.get(at + 2)?);
            at += 3;
            vector(map, opcode)
        }
        0x62 => {
            let (map, opcode) = (bytes.get(at)? & 7, *bytes.get(at + 3)?);
            at += 4;
            vector(map, opcode)
        }
        0x86 | 0x87 => {
            exchange = true;
            OPERANDS
        }
        0xf6 | 0xf7 => {
            // Only the first two of this group have an immediate value.
            let test = bytes.get(at)? >> 3 & 7 < 2;
            let size = if opcode == 0xf6 { 1 } else { word(short) };
            Form { operands: true, immediate: if test { size } else { 0 } }
        }
        _ => first_map(opcode, short, wide)?,
    };
    let first = at;
    let mut memory = false;
    let mut indexed = false;
    let mut relative = None;
    if form.operands {
        let operands = *bytes.get(at)?;
        at += 1;
        let (mode, base) = (operands >> 6, operands & 7);
        relative = (mode == 0 && base == 5).then_some(at);
        memory = mode != 3;
        if memory {
            let mut base = base;
            if base == 4 {
                indexed = true;
                base = bytes.get(at)? & 7;
                at += 1;
            }
            at += match mode {
                0 if base == 5 => 4,
                1 => 1,
                2 => 4,
                _ => 0,
            };
        }
    }
    at += form.immediate;
    let whole = bytes.get(..at)?;
    let update = memory && (lock || exchange) && !segment;
    let flow = match opcode {
        // Compilers go through a table by a register, or by memory with an index.
        0xff if matches!(bytes.get(first)? >> 3 & 7, 4 | 5) => match memory && !indexed {
            true => Flow::Never,
            false => Flow::Elsewhere,
        },
        0xff if matches!(bytes.get(first)? >> 3 & 7, 2 | 3) => Flow::Call(None),
        _ => flow(opcode, second, whole),
    };
    // Without memory these are fences, and they have no operands.
    let fence = match (opcode, second, bytes.get(first)) {
        (0x0f, 0xae, Some(0xf0)) => Some(Fence::Full),
        (0x0f, 0xae, Some(0xf8)) => Some(Fence::Stores),
        (0x0f, 0xa2, _) => Some(Fence::Full),
        // With a prefix it is another instruction.
        (0x0f, 0x01, Some(0xe8)) if bytes[0] == 0x0f => Some(Fence::Full),
        _ => None,
    };
    Some(Instruction { len: at, update, fence, relative, flow })
}

/// How an instruction without operands goes on: its opcode, the second byte of that, and all of it.
fn flow(opcode: u8, second: u8, whole: &[u8]) -> Flow {
    let near = whole.last().map_or(0, |byte| i32::from(*byte as i8));
    let far = || whole.last_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
    match opcode {
        0x70..=0x7f | 0xe0..=0xe3 => Flow::Branch(near),
        0xeb => Flow::Jump(near),
        0xe9 => Flow::Jump(far()),
        0xe8 => Flow::Call(Some(far())),
        0x0f if matches!(second, 0x80..=0x8f) => Flow::Branch(far()),
        0x0f if second == 0x0b => Flow::Never,
        0xc2 | 0xc3 | 0xca | 0xcb | 0xcc | 0xcf | 0xf4 => Flow::Never,
        _ => Flow::Next,
    }
}

/// The bytes of an immediate value that is a word.
fn word(short: bool) -> usize {
    if short { 2 } else { 4 }
}

fn first_map(opcode: u8, short: bool, wide: bool) -> Option<Form> {
    Some(match opcode {
        0x00..=0x3f => match opcode & 7 {
            0..=3 => OPERANDS,
            4 => immediate(1),
            5 => immediate(word(short)),
            _ => return None,
        },
        0x50..=0x5f | 0x90..=0x99 | 0x9b..=0x9f | 0xa4..=0xa7 | 0xaa..=0xaf => NONE,
        0x63 | 0x84..=0x8f | 0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => OPERANDS,
        0x68 | 0xa9 => immediate(word(short)),
        0x69 | 0x81 | 0xc7 => Form { operands: true, immediate: word(short) },
        0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xcd | 0xe0..=0xe7 | 0xeb => immediate(1),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => OPERANDS_BYTE,
        0x6c..=0x6f | 0xc3 | 0xc9 | 0xcb | 0xcc | 0xcf | 0xd7 | 0xec..=0xef => NONE,
        0xa0..=0xa3 => immediate(8),
        0xb8..=0xbf => immediate(if wide { 8 } else { word(short) }),
        0xc2 | 0xca => immediate(2),
        0xc8 => immediate(3),
        0xe8 | 0xe9 => immediate(4),
        0xf1 | 0xf4 | 0xf5 | 0xf8..=0xfd => NONE,
        _ => return None,
    })
}

fn second_map(opcode: u8) -> Option<Form> {
    Some(match opcode {
        0x05..=0x09 | 0x0b | 0x30..=0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa | 0xc8..=0xcf => NONE,
        0x80..=0x8f => immediate(4),
        0x0f | 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => OPERANDS_BYTE,
        0x04 | 0x0a | 0x0c | 0x24..=0x27 | 0x39 | 0x3b..=0x3f => return None,
        _ => OPERANDS,
    })
}

fn vector(map: u8, opcode: u8) -> Form {
    match (map, opcode) {
        (1, 0x77) => NONE,
        (1, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6) | (3, _) => OPERANDS_BYTE,
        _ => OPERANDS,
    }
}

/// What an atomic update does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The register that makes the address.
    pub base: Option<usize>,
    /// Index register and scale.
    pub index: Option<(usize, usize)>,
    /// What is added to them.
    pub offset: usize,
    /// How many bytes.
    pub len: u32,
    /// It compares first, with the register rax, or with rdx and rax.
    pub compares: bool,
    /// Where in the instruction its offset is, if that is relative to the next one.
    pub relative: Option<usize>,
}

/// What an atomic update does; `None` if it is none of those that are known.
#[must_use]
pub fn update(bytes: &[u8]) -> Option<Update> {
    operand(bytes, false)
}

/// What a plain load reads (`mov` to a register); `None` if it is none.
#[must_use]
pub fn load(bytes: &[u8]) -> Option<Update> {
    operand(bytes, true)
}

/// What an instruction does with memory, of the loads or of the atomic updates.
fn operand(bytes: &[u8], of_loads: bool) -> Option<Update> {
    let mut at = 0;
    let mut short = false;
    loop {
        match bytes.get(at)? {
            0x66 => short = true,
            0xf0 | 0xf2 | 0xf3 | 0x3e => {}
            _ => break,
        }
        at += 1;
    }
    let mut rex = 0;
    if let 0x40..=0x4f = bytes.get(at)? {
        rex = bytes[at];
        at += 1;
    }
    let word = match (rex & 8 != 0, short) {
        (true, _) => 8,
        (false, true) => 2,
        (false, false) => 4,
    };
    let mut opcode = u16::from(*bytes.get(at)?);
    at += 1;
    if opcode == 0x0f {
        opcode = 0x0f00 | u16::from(*bytes.get(at)?);
        at += 1;
    }
    let operands = *bytes.get(at)?;
    let group = operands >> 3 & 7;
    let len = match opcode {
        0x8b if of_loads => word,
        _ if of_loads => return None,
        // add, or, adc, sbb, and, sub, xor with a register or a value; not, neg, inc, dec
        0x00..=0x31 if opcode & 7 == 0 => 1,
        0x00..=0x31 if opcode & 7 == 1 => word,
        0x80 if group != 7 => 1,
        0x81 | 0x83 if group != 7 => word,
        0xf6 if group == 2 || group == 3 => 1,
        0xf7 if group == 2 || group == 3 => word,
        0xfe if group < 2 => 1,
        0xff if group < 2 => word,
        // xchg, xadd, cmpxchg
        0x86 | 0x0fc0 | 0x0fb0 => 1,
        0x87 | 0x0fc1 | 0x0fb1 => word,
        // cmpxchg8b and cmpxchg16b
        0x0fc7 if group == 1 && word == 8 => 16,
        // bts, btr and btc with a value; with a register they may be about other words
        0x0fba if group >= 5 => word,
        _ => return None,
    };
    let compares = matches!(opcode, 0x0fb0 | 0x0fb1 | 0x0fc7);
    at += 1;
    let (mode, low) = (operands >> 6, operands & 7);
    let extended = |bit: u8, n: u8| usize::from(n) | if rex & bit != 0 { 8 } else { 0 };
    let mut base = Some(extended(1, low));
    let mut index = None;
    let mut relative = None;
    match (mode, low) {
        (3, _) => return None,
        (_, 4) => {
            let scaled = *bytes.get(at)?;
            at += 1;
            let n = extended(2, scaled >> 3 & 7);
            index = (n != 4).then_some((n, 1_usize << (scaled >> 6)));
            base = (mode != 0 || scaled & 7 != 5).then_some(extended(1, scaled & 7));
        }
        (0, 5) => {
            base = None;
            relative = Some(at);
        }
        _ => {}
    }
    let wide = || Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as isize);
    let offset = match mode {
        1 => *bytes.get(at)? as i8 as isize,
        2 => wide()?,
        _ if base.is_none() => wide()?,
        _ => 0,
    };
    // Relative to the end of the instruction; kept relative to its beginning.
    let offset = if relative.is_some() { offset + bytes.len() as isize } else { offset };
    Some(Update { base, index, offset: offset as usize, len, compares, relative })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], len: usize, update: bool) {
        let mut longer = bytes.to_vec();
        longer.extend([0x90; 15]);
        let read = instruction(&longer).map(|read| (read.len, read.update));
        assert_eq!(read, Some((len, update)), "{bytes:x?}");
        assert_eq!(instruction(&bytes[..bytes.len() - 1]), None, "{bytes:x?}");
    }

    #[test]
    fn lengths() {
        check(&[0xc3], 1, false);
        check(&[0x48, 0x89, 0xe5], 3, false);
        // mov rax, [rip + x]; mov byte [rsp + 8], 1; movabs; jne; call
        check(&[0x48, 0x8b, 0x05, 1, 2, 3, 4], 7, false);
        check(&[0xc6, 0x44, 0x24, 8, 1], 5, false);
        check(&[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8], 10, false);
        check(&[0x0f, 0x85, 1, 2, 3, 4], 6, false);
        check(&[0xe8, 1, 2, 3, 4], 5, false);
        // test eax, imm32; neg eax; cmp word [rdi], imm16; movups; vmovups; vpternlogd
        check(&[0xf7, 0xc0, 1, 2, 3, 4], 6, false);
        check(&[0xf7, 0xd8], 2, false);
        check(&[0x66, 0x81, 0x3f, 1, 2], 5, false);
        check(&[0x0f, 0x11, 0x44, 0x24, 0x10], 5, false);
        check(&[0xc5, 0xfc, 0x11, 0x07], 4, false);
        check(&[0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 0xff], 7, false);
    }

    #[test]
    fn flows() {
        for (bytes, flow) in [
            (&[0x48, 0x89, 0xe5][..], Flow::Next),
            (&[0x75, 0xfe], Flow::Branch(-2)),
            (&[0x0f, 0x84, 1, 0, 0, 0], Flow::Branch(1)),
            (&[0xeb, 0x10], Flow::Jump(16)),
            (&[0xe9, 0xff, 0xff, 0xff, 0xff], Flow::Jump(-1)),
            (&[0xe8, 0, 1, 0, 0], Flow::Call(Some(256))),
            // call [rip + x]; call rax; jmp rax; notrack jmp [rax + 8 * rcx]; inc dword [rax]
            (&[0xff, 0x15, 1, 2, 3, 4], Flow::Call(None)),
            (&[0xff, 0xd0], Flow::Call(None)),
            (&[0xff, 0xe0], Flow::Elsewhere),
            (&[0x3e, 0xff, 0x24, 0xc8], Flow::Elsewhere),
            // jmp [rip + x]; jmp [rax + 24]
            (&[0xff, 0x25, 1, 2, 3, 4], Flow::Never),
            (&[0xff, 0x60, 24], Flow::Never),
            (&[0xff, 0x00], Flow::Next),
            (&[0xc3], Flow::Never),
            (&[0xf3, 0xc3], Flow::Never),
            (&[0x0f, 0x0b], Flow::Never),
            // pshufb, whose second opcode byte is not the last
            (&[0x66, 0x0f, 0x38, 0x0b, 0xc1], Flow::Next),
        ] {
            assert_eq!(instruction(bytes).map(|read| read.flow), Some(flow), "{bytes:x?}");
        }
    }

    #[test]
    fn fences() {
        // cpuid; what comes next is none of it
        let cpuid = instruction(&[0x0f, 0xa2, 0xf0]);
        assert_eq!(cpuid.map(|read| (read.len, read.fence)), Some((2, Some(Fence::Full))));
        // xresldtrk
        assert_eq!(instruction(&[0xf2, 0x0f, 0x01, 0xe9]).map(|read| read.fence), Some(None));
        assert_eq!(instruction(&[0xf2, 0x0f, 0x01, 0xe8]).map(|read| read.fence), Some(None));
        // mfence; sfence; serialize; lfence; clflush [rax]
        for (bytes, fence) in [
            ([0x0f, 0xae, 0xf0], Some(Fence::Full)),
            ([0x0f, 0xae, 0xf8], Some(Fence::Stores)),
            ([0x0f, 0x01, 0xe8], Some(Fence::Full)),
            ([0x0f, 0xae, 0xe8], None),
            ([0x0f, 0xae, 0x38], None),
        ] {
            assert_eq!(instruction(&bytes).map(|read| (read.len, read.fence)), Some((3, fence)));
        }
    }

    #[test]
    fn updates() {
        // lock cmpxchg [rdi], ecx; lock xadd [rip + x], rax; lock dec qword [rax]; lock or dword [rsp-64], 0
        check(&[0xf0, 0x0f, 0xb1, 0x0f], 4, true);
        check(&[0xf0, 0x48, 0x0f, 0xc1, 0x05, 1, 2, 3, 4], 9, true);
        check(&[0xf0, 0x48, 0xff, 0x08], 4, true);
        check(&[0xf0, 0x83, 0x4c, 0x24, 0xc0, 0], 6, true);
        // xchg [rdi], eax; xchg eax, ecx
        check(&[0x87, 0x07], 2, true);
        check(&[0x87, 0xc1], 2, false);
    }

    #[test]
    fn what_updates_do() {
        let plain = Update {
            base: Some(7),
            index: None,
            offset: 0,
            len: 4,
            compares: false,
            relative: None,
        };
        // lock cmpxchg [rdi], ecx; lock dec qword [r12 + 8]; xchg [rdi + 4 * rcx + 16], al
        assert_eq!(update(&[0xf0, 0x0f, 0xb1, 0x0f]), Some(Update { compares: true, ..plain }));
        assert_eq!(
            update(&[0xf0, 0x49, 0xff, 0x4c, 0x24, 8]),
            Some(Update { base: Some(12), offset: 8, len: 8, ..plain })
        );
        assert_eq!(
            update(&[0x86, 0x44, 0x8f, 16]),
            Some(Update { index: Some((1, 4)), offset: 16, len: 1, ..plain })
        );
        // lock xadd [rip - 1], rax; lock cmpxchg16b [rbx]
        assert_eq!(
            update(&[0xf0, 0x48, 0x0f, 0xc1, 0x05, 0xff, 0xff, 0xff, 0xff]),
            Some(Update { base: None, offset: 8, len: 8, relative: Some(5), ..plain })
        );
        assert_eq!(
            update(&[0xf0, 0x48, 0x0f, 0xc7, 0x0b]),
            Some(Update { base: Some(3), len: 16, compares: true, ..plain })
        );
        assert_eq!(update(&[0x87, 0xc1]), None);
        assert_eq!(update(&[0xf0]), None);
    }
}
