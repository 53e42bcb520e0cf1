//! The instructions we know: from a mnemonic to what it does and how wide its suffix makes it.

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Mov,
    /// `movnti`: a store that bypasses the caches.
    MovNt,
    /// `movntdqa`: a load that may bypass the caches, into a register of SSE.
    LoadNt,
    /// `movzx`, `movsx` and their AT&T spellings, which name the width of the source.
    Extend {
        signed: bool,
        from: Option<u8>,
    },
    Lea,
    Alu(Alu),
    Cmp,
    Test,
    Unary(Unary),
    Shift(Shift),
    Xchg,
    /// `uxch`: an exchange that is not atomic, which only simulators have.
    UnlockedXchg,
    Cmpxchg,
    Xadd,
    Bit(Bit),
    Cmov(Cond),
    Set(Cond),
    Jump,
    Branch(Cond),
    Mfence,
    Sfence,
    Lfence,
    /// Does nothing.
    Nop,
    /// Does nothing, and may name an operand in memory to be longer.
    LongNop,
    /// Moves cache lines about, which no model here can see.
    Cache,
    Ret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alu {
    Add,
    Adc,
    Sub,
    Sbb,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Inc,
    Dec,
    Neg,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    Left,
    Right,
    Arithmetic,
}

/// What becomes of the bit that is copied to the carry flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bit {
    Keep,
    Set,
    Reset,
    Flip,
}

/// A condition on the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cond {
    pub(super) base: Base,
    pub(super) negated: bool,
}

/// The conditions of which all others are negations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Overflow,
    Below,
    Equal,
    BelowOrEqual,
    Sign,
    Parity,
    Less,
    LessOrEqual,
}

/// A known mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) op: Op,
    /// The width in bytes that the suffix gives.
    pub(super) suffix: Option<u8>,
}

/// Mnemonics that may carry a suffix.
const SIZED: [(&str, Op); 29] = [
    ("mov", Op::Mov),
    ("movabs", Op::Mov),
    ("movnti", Op::MovNt),
    ("lea", Op::Lea),
    ("add", Op::Alu(Alu::Add)),
    ("adc", Op::Alu(Alu::Adc)),
    ("sub", Op::Alu(Alu::Sub)),
    ("sbb", Op::Alu(Alu::Sbb)),
    ("and", Op::Alu(Alu::And)),
    ("or", Op::Alu(Alu::Or)),
    ("xor", Op::Alu(Alu::Xor)),
    ("cmp", Op::Cmp),
    ("test", Op::Test),
    ("inc", Op::Unary(Unary::Inc)),
    ("dec", Op::Unary(Unary::Dec)),
    ("neg", Op::Unary(Unary::Neg)),
    ("not", Op::Unary(Unary::Not)),
    ("shl", Op::Shift(Shift::Left)),
    ("sal", Op::Shift(Shift::Left)),
    ("shr", Op::Shift(Shift::Right)),
    ("sar", Op::Shift(Shift::Arithmetic)),
    ("xchg", Op::Xchg),
    ("uxch", Op::UnlockedXchg),
    ("cmpxchg", Op::Cmpxchg),
    ("xadd", Op::Xadd),
    ("bt", Op::Bit(Bit::Keep)),
    ("bts", Op::Bit(Bit::Set)),
    ("btr", Op::Bit(Bit::Reset)),
    ("btc", Op::Bit(Bit::Flip)),
];

/// Mnemonics that stand alone.
const PLAIN: [(&str, Op); 37] = [
    ("movntdqa", Op::LoadNt),
    ("movzx", Op::Extend { signed: false, from: None }),
    ("movsx", Op::Extend { signed: true, from: None }),
    ("movsxd", Op::Extend { signed: true, from: Some(4) }),
    ("jmp", Op::Jump),
    ("jmpq", Op::Jump),
    ("mfence", Op::Mfence),
    ("sfence", Op::Sfence),
    ("lfence", Op::Lfence),
    ("nop", Op::LongNop),
    ("nopw", Op::LongNop),
    ("nopl", Op::LongNop),
    ("nopq", Op::LongNop),
    ("pause", Op::Nop),
    ("endbr64", Op::Nop),
    ("endbr32", Op::Nop),
    ("leave", Op::Nop),
    ("leaveq", Op::Nop),
    ("leavel", Op::Nop),
    ("ret", Op::Ret),
    ("retq", Op::Ret),
    ("retl", Op::Ret),
    ("retn", Op::Ret),
    ("clflush", Op::Cache),
    ("clflushopt", Op::Cache),
    ("clwb", Op::Cache),
    ("cldemote", Op::Cache),
    ("prefetch", Op::Cache),
    ("prefetchw", Op::Cache),
    ("prefetchwt1", Op::Cache),
    ("prefetchnta", Op::Cache),
    ("prefetcht0", Op::Cache),
    ("prefetcht1", Op::Cache),
    ("prefetcht2", Op::Cache),
    ("prefetchit0", Op::Cache),
    ("prefetchit1", Op::Cache),
    ("serialize", Op::Mfence),
];

const CONDITIONS: [(&str, Base, bool); 32] = [
    ("o", Base::Overflow, false),
    ("no", Base::Overflow, true),
    ("b", Base::Below, false),
    ("c", Base::Below, false),
    ("nae", Base::Below, false),
    ("ae", Base::Below, true),
    ("nb", Base::Below, true),
    ("nc", Base::Below, true),
    ("e", Base::Equal, false),
    ("z", Base::Equal, false),
    ("ne", Base::Equal, true),
    ("nz", Base::Equal, true),
    ("be", Base::BelowOrEqual, false),
    ("na", Base::BelowOrEqual, false),
    ("a", Base::BelowOrEqual, true),
    ("nbe", Base::BelowOrEqual, true),
    ("s", Base::Sign, false),
    ("ns", Base::Sign, true),
    ("p", Base::Parity, false),
    ("pe", Base::Parity, false),
    ("np", Base::Parity, true),
    ("po", Base::Parity, true),
    ("l", Base::Less, false),
    ("lt", Base::Less, false),
    ("nge", Base::Less, false),
    ("ge", Base::Less, true),
    ("nl", Base::Less, true),
    ("le", Base::LessOrEqual, false),
    ("ng", Base::LessOrEqual, false),
    ("g", Base::LessOrEqual, true),
    ("gt", Base::LessOrEqual, true),
    ("nle", Base::LessOrEqual, true),
];

/// What the mnemonic `name`, in lower case, stands for.
pub(super) fn decode(name: &str) -> Option<Decoded> {
    if let Some((_, op)) = SIZED.iter().chain(&PLAIN).find(|(n, _)| *n == name) {
        return Some(Decoded { op: *op, suffix: None });
    }
    if let Some(op) = conditional(name) {
        return Some(Decoded { op, suffix: None });
    }
    // Between a register of SSE and another one, or memory.
    if name == "movd" {
        return Some(Decoded { op: Op::Mov, suffix: Some(4) });
    }
    if let Some(found) = extension(name) {
        return Some(found);
    }
    let (stem, bytes) = split_suffix(name)?;
    let suffix = Some(bytes);
    if let Some((_, op)) = SIZED.iter().find(|(n, _)| *n == stem) {
        return Some(Decoded { op: *op, suffix });
    }
    match conditional(stem) {
        Some(op @ Op::Cmov(_)) => Some(Decoded { op, suffix }),
        _ => None,
    }
}

impl Op {
    /// The least and greatest number of operands.
    pub(super) fn arity(self) -> (usize, usize) {
        match self {
            Op::Mfence | Op::Sfence | Op::Lfence | Op::Nop => (0, 0),
            Op::LongNop | Op::Ret => (0, 1),
            Op::Unary(_) | Op::Set(_) | Op::Jump | Op::Branch(_) | Op::Cache => (1, 1),
            Op::Shift(_) => (1, 2),
            _ => (2, 2),
        }
    }

    /// Whether `lock` may stand before it, given a destination in memory.
    pub(super) fn can_lock(self) -> bool {
        match self {
            Op::Bit(bit) => bit != Bit::Keep,
            Op::Alu(_) | Op::Unary(_) | Op::Xchg | Op::Cmpxchg | Op::Xadd => true,
            _ => false,
        }
    }
}

/// All mnemonics, for suggestions; of those with a suffix only the stems.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    let jumps =
        ["je", "jne", "jz", "jnz", "jl", "jg", "jle", "jge", "jb", "ja", "jbe", "jae", "js"];
    SIZED.iter().chain(&PLAIN).map(|(n, _)| *n).chain(jumps).chain(["lock"])
}

fn conditional(name: &str) -> Option<Op> {
    let cond = |text: &str| {
        CONDITIONS
            .iter()
            .find(|(n, _, _)| *n == text)
            .map(|(_, base, negated)| Cond { base: *base, negated: *negated })
    };
    if let Some(c) = name.strip_prefix("cmov").and_then(cond) {
        return Some(Op::Cmov(c));
    }
    if let Some(c) = name.strip_prefix("set").and_then(cond) {
        return Some(Op::Set(c));
    }
    name.strip_prefix('j').and_then(cond).map(Op::Branch)
}

/// `movzbl` and its relatives.
fn extension(name: &str) -> Option<Decoded> {
    let (signed, widths) = match (name.strip_prefix("movz"), name.strip_prefix("movs")) {
        (Some(widths), _) => (false, widths),
        (_, Some(widths)) => (true, widths),
        _ => return None,
    };
    let mut chars = widths.chars();
    let (from, to) = (suffix(chars.next()?)?, suffix(chars.next()?)?);
    if chars.next().is_some() || from >= to {
        return None;
    }
    Some(Decoded { op: Op::Extend { signed, from: Some(from) }, suffix: Some(to) })
}

fn split_suffix(name: &str) -> Option<(&str, u8)> {
    let last = name.chars().next_back()?;
    Some((&name[..name.len() - last.len_utf8()], suffix(last)?))
}

/// The bytes that a suffix stands for.
fn suffix(letter: char) -> Option<u8> {
    match letter {
        'b' => Some(1),
        'w' => Some(2),
        'l' => Some(4),
        'q' => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, op: Op, suffix: Option<u8>) {
        assert_eq!(decode(name), Some(Decoded { op, suffix }), "{name}");
    }

    #[test]
    fn known_names() {
        let less = Cond { base: Base::Less, negated: false };
        let carry = Cond { base: Base::Below, negated: false };
        check("mov", Op::Mov, None);
        check("movq", Op::Mov, Some(8));
        check("movb", Op::Mov, Some(1));
        check("movntil", Op::MovNt, Some(4));
        check("movzbl", Op::Extend { signed: false, from: Some(1) }, Some(4));
        check("movslq", Op::Extend { signed: true, from: Some(4) }, Some(8));
        check("shl", Op::Shift(Shift::Left), None);
        check("shll", Op::Shift(Shift::Left), Some(4));
        check("setb", Op::Set(carry), None);
        check("cmovl", Op::Cmov(less), None);
        check("cmovcl", Op::Cmov(carry), Some(4));
        check("jlt", Op::Branch(less), None);
        check("btsq", Op::Bit(Bit::Set), Some(8));
        check("cmpxchgl", Op::Cmpxchg, Some(4));
        check("subl", Op::Alu(Alu::Sub), Some(4));
    }

    #[test]
    fn unknown_names() {
        for name in ["", "q", "movx", "movzlb", "jfoo", "movsd", "é", "mfencel", "setbq", "lock"] {
            assert_eq!(decode(name), None, "{name}");
        }
    }
}
