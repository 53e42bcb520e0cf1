//! What an instruction does with the register in which functions leave their result.

/// That.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It reads it, or may do so.
    Uses,
    /// It writes all of it, and does not read it.
    Replaces,
    /// Neither.
    Leaves,
}

/// What an instruction does with the register `rax`. Where it goes on is not looked at: what is said of a call is how it
/// comes to its address. What is not known uses it.
#[must_use]
pub fn result(bytes: &[u8]) -> Effect {
    read(bytes).unwrap_or(Effect::Uses)
}

/// An instruction without prefixes but for the one that makes it wide: its opcode is behind that.
struct Code<'a> {
    /// The bits of that prefix, 0 if there is none.
    prefix: u8,
    rest: &'a [u8],
}

fn read(bytes: &[u8]) -> Option<Effect> {
    let (prefix, rest) = match *bytes.first()? {
        prefix @ 0x40..=0x4f => (prefix, &bytes[1..]),
        _ => (0, bytes),
    };
    let code = Code { prefix, rest };
    let opcode = *rest.first()?;
    Some(match opcode {
        // call and jump to what is near, or only if some flag is set; ud2
        0xe8 | 0xe9 | 0xeb | 0x70..=0x7f => Effect::Leaves,
        0x0f => return code.long(),
        // push; pop; mov of a number
        0x50..=0x57 => code.named(opcode, Effect::Uses),
        0x58..=0x5f | 0xb8..=0xbf => code.named(opcode, Effect::Replaces),
        // xor of a register with itself
        0x31 | 0x33 if prefix & 5 == 0 && rest.get(1) == Some(&0xc0) => Effect::Replaces,
        // add, or, and, sub, xor, cmp, test
        0x01 | 0x03 | 0x09 | 0x0b | 0x21 | 0x23 | 0x29 | 0x2b | 0x31 | 0x33 | 0x39 | 0x3b
        | 0x85 => code.uses(code.operand(1)? || code.register(1, false)?),
        // mov
        0x89 => match code.register(1, false)? || code.address(1)? {
            true => Effect::Uses,
            false => code.writes(code.operand(1)?),
        },
        0x8b => match code.operand(1)? {
            true => Effect::Uses,
            false => code.writes(code.register(1, false)?),
        },
        // lea, whose operand is only an address
        0x8d => match code.address(1)? {
            true => Effect::Uses,
            false => code.writes(code.register(1, false)?),
        },
        0xc7 if rest.get(1)? >> 3 & 7 == 0 => match code.address(1)? {
            true => Effect::Uses,
            false => code.writes(code.operand(1)?),
        },
        // mov of a byte
        0x88 | 0x8a => code.uses(code.byte(1)? || code.register(1, true)?),
        0xc6 | 0x80 => code.uses(code.byte(1)?),
        // arithmetic with a number; shifts
        0x81 | 0x83 | 0xc1 | 0xd1 | 0xd3 => code.uses(code.operand(1)?),
        // test of a number, not, neg; inc, dec, call, jmp, push
        0xf7 if rest.get(1)? >> 3 & 7 < 4 => code.uses(code.operand(1)?),
        0xff => code.uses(code.operand(1)?),
        0x90 if prefix == 0 => Effect::Leaves,
        _ => Effect::Uses,
    })
}

impl Code<'_> {
    /// Of an opcode of two bytes.
    fn long(&self) -> Option<Effect> {
        Some(match *self.rest.get(1)? {
            // ud2, and jumps if some flag is set
            0x0b | 0x80..=0x8f => Effect::Leaves,
            // nop; mov of vectors
            0x1f => Effect::Leaves,
            0x10 | 0x11 | 0x28 | 0x29 => self.uses(self.address(2)?),
            // mov from less than a word
            0xb6 | 0xb7 | 0xbe | 0xbf => match self.byte(2)? {
                true => Effect::Uses,
                false => self.writes(self.register(2, false)?),
            },
            // setcc
            0x90..=0x9f => self.uses(self.byte(2)?),
            // cmov
            0x40..=0x4f => self.uses(self.operand(2)? || self.register(2, false)?),
            _ => Effect::Uses,
        })
    }

    fn uses(&self, uses: bool) -> Effect {
        if uses { Effect::Uses } else { Effect::Leaves }
    }

    fn writes(&self, writes: bool) -> Effect {
        if writes { Effect::Replaces } else { Effect::Leaves }
    }

    /// Of an opcode that names a register itself.
    fn named(&self, opcode: u8, effect: Effect) -> Effect {
        let is_result = opcode & 7 == 0 && self.prefix & 1 == 0;
        if is_result { effect } else { Effect::Leaves }
    }

    /// Whether the register operand is it. Of bytes, two registers are parts of it.
    fn register(&self, at: usize, byte: bool) -> Option<bool> {
        let number = self.rest.get(at)? >> 3 & 7;
        Some(self.prefix & 4 == 0 && (number == 0 || byte && number == 4))
    }

    /// Whether the other operand is it, or in memory at an address that is made of it.
    fn operand(&self, at: usize) -> Option<bool> {
        let operands = *self.rest.get(at)?;
        match operands >> 6 {
            3 => Some(self.prefix & 1 == 0 && operands & 7 == 0),
            _ => self.address(at),
        }
    }

    /// The same for a byte, where two registers are parts of it.
    fn byte(&self, at: usize) -> Option<bool> {
        let operands = *self.rest.get(at)?;
        match operands >> 6 {
            3 => Some(self.prefix & 1 == 0 && matches!(operands & 7, 0 | 4)),
            _ => self.address(at),
        }
    }

    /// Whether the other operand is in memory at an address that is made of it.
    fn address(&self, at: usize) -> Option<bool> {
        let operands = *self.rest.get(at)?;
        let (mode, base) = (operands >> 6, operands & 7);
        if mode == 3 {
            return Some(false);
        }
        if base != 4 {
            return Some(base == 0 && self.prefix & 1 == 0);
        }
        let more = *self.rest.get(at + 1)?;
        let is_base = more & 7 == 0 && self.prefix & 1 == 0;
        let is_index = more >> 3 & 7 == 0 && self.prefix & 2 == 0;
        Some(is_base || is_index)
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, result};

    #[test]
    fn what_instructions_do() {
        use Effect::{Leaves, Replaces, Uses};
        let cases: [(&[u8], Effect); 48] = [
            (&[0x50], Uses),                             // push rax
            (&[0x41, 0x50], Leaves),                     // push r8
            (&[0x5b], Leaves),                           // pop rbx
            (&[0x58], Replaces),                         // pop rax
            (&[0x31, 0xc0], Replaces),                   // xor eax, eax
            (&[0x31, 0xc9], Leaves),                     // xor ecx, ecx
            (&[0x31, 0xc1], Uses),                       // xor ecx, eax
            (&[0x45, 0x31, 0xc0], Leaves),               // xor r8d, r8d
            (&[0x44, 0x31, 0xc0], Uses),                 // xor eax, r8d
            (&[0x48, 0x83, 0xf8, 0x01], Uses),           // cmp rax, 1
            (&[0x49, 0x83, 0xf8, 0x01], Leaves),         // cmp r8, 1
            (&[0x83, 0xc3, 0x01], Leaves),               // add ebx, 1
            (&[0x01, 0xc3], Uses),                       // add ebx, eax
            (&[0x44, 0x01, 0xc3], Leaves),               // add ebx, r8d
            (&[0x89, 0xc3], Uses),                       // mov ebx, eax
            (&[0x89, 0xd8], Replaces),                   // mov eax, ebx
            (&[0x49, 0x89, 0xd8], Leaves),               // mov r8, rbx
            (&[0x89, 0x18], Uses),                       // mov [rax], ebx
            (&[0x48, 0x89, 0x5c, 0x24, 0x08], Leaves),   // mov [rsp + 8], rbx
            (&[0x48, 0x89, 0x5c, 0x04, 0x08], Uses),     // mov [rsp + rax + 8], rbx
            (&[0x4a, 0x89, 0x5c, 0x04, 0x08], Leaves),   // mov [rsp + r8 + 8], rbx
            (&[0x48, 0x8b, 0x45, 0xf8], Replaces),       // mov rax, [rbp - 8]
            (&[0x48, 0x8b, 0x40, 0x08], Uses),           // mov rax, [rax + 8]
            (&[0x48, 0x8b, 0x58, 0x08], Uses),           // mov rbx, [rax + 8]
            (&[0x49, 0x8b, 0x58, 0x08], Leaves),         // mov rbx, [r8 + 8]
            (&[0x48, 0x8d, 0x3d, 0, 0, 0, 0], Leaves),   // lea rdi, [rip]
            (&[0x48, 0x8d, 0x05, 0, 0, 0, 0], Replaces), // lea rax, [rip]
            (&[0x8d, 0x58, 0x01], Uses),                 // lea ebx, [rax + 1]
            (&[0xb8, 1, 0, 0, 0], Replaces),             // mov eax, 1
            (&[0xbf, 1, 0, 0, 0], Leaves),               // mov edi, 1
            (&[0x48, 0xc7, 0xc0, 1, 0, 0, 0], Replaces), // mov rax, 1
            (&[0xc7, 0x00, 1, 0, 0, 0], Uses),           // mov dword [rax], 1
            (&[0xc7, 0x03, 1, 0, 0, 0], Leaves),         // mov dword [rbx], 1
            (&[0xc6, 0x44, 0x24, 0x07, 0x01], Leaves),   // mov byte [rsp + 7], 1
            (&[0xb0, 1], Uses),                          // mov al, 1
            (&[0x88, 0xe3], Uses),                       // mov bl, ah
            (&[0x84, 0xc0], Uses),                       // test al, al
            (&[0x0f, 0xb6, 0xc0], Uses),                 // movzx eax, al
            (&[0x0f, 0xb6, 0xc3], Replaces),             // movzx eax, bl
            (&[0x0f, 0x94, 0xc0], Uses),                 // sete al
            (&[0x0f, 0x44, 0xc3], Uses),                 // cmove eax, ebx
            (&[0x0f, 0x29, 0x44, 0x24, 0x10], Leaves),   // movaps [rsp + 16], xmm0
            (&[0xff, 0xd0], Uses),                       // call rax
            (&[0xff, 0x15, 0, 0, 0, 0], Leaves),         // call [rip]
            (&[0xf7, 0xe3], Uses),                       // mul ebx
            (&[0x48, 0x98], Uses),                       // cdqe
            (&[0x66, 0x89, 0xd8], Uses),                 // mov ax, bx
            (&[0xc3], Uses),                             // ret
        ];
        for (bytes, effect) in cases {
            assert_eq!(result(bytes), effect, "{bytes:x?}");
        }
    }
}
