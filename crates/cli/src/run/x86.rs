//! How long instructions of x86-64 are, and which of them are atomic updates.

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) len: usize,
    /// It updates memory atomically: it has a lock prefix, or exchanges a register with memory.
    pub(crate) update: bool,
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
pub(crate) fn instruction(bytes: &[u8]) -> Option<Instruction> {
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
    let form = match opcode {
        0x0f => {
            let second = *bytes.get(at)?;
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
    let mut memory = false;
    if form.operands {
        let operands = *bytes.get(at)?;
        at += 1;
        let (mode, base) = (operands >> 6, operands & 7);
        memory = mode != 3;
        if memory {
            let mut base = base;
            if base == 4 {
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
    (at <= bytes.len())
        .then_some(Instruction { len: at, update: memory && (lock || exchange) && !segment })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], len: usize, update: bool) {
        let mut longer = bytes.to_vec();
        longer.extend([0x90; 15]);
        assert_eq!(instruction(&longer), Some(Instruction { len, update }), "{bytes:x?}");
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
}
