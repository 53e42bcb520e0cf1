//! The instructions: their operands and what they do.

use weakspot_core::BinOp;

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Load {
        bytes: u8,
        signed: bool,
        order: Order,
    },
    Store {
        bytes: u8,
        order: Order,
    },
    /// On 32 bits if `word`; the last operand may be a number.
    Compute {
        alu: Alu,
        word: bool,
        immediate: bool,
    },
    /// `li`.
    Set,
    /// `la`.
    Address,
    /// `lui`.
    Upper,
    /// `mv` and others with one source: combined with a constant, from the left if `flipped`.
    Unary {
        alu: Alu,
        with: i64,
        flipped: bool,
        word: bool,
    },
    Branch(Test),
    Jump,
    Fence,
    /// `fence.tso`.
    FenceTso,
    Nop,
    Reserve {
        bytes: u8,
        order: Order,
    },
    Conditional {
        bytes: u8,
        order: Order,
    },
    Amo {
        combine: Amo,
        bytes: u8,
    },
}

/// The `.aq` and `.rl` of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) acquire: bool,
    pub(super) release: bool,
}

/// An operation on registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alu {
    Plain(BinOp),
    LessUnsigned,
}

/// What an AMO stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amo {
    Swap,
    With(BinOp),
    Min,
    Max,
    MinUnsigned,
    MaxUnsigned,
}

/// The test of a branch: how the operands compare, whether the second is 0, whether they change
/// places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) compare: BinOp,
    pub(super) unsigned: bool,
    pub(super) zero: bool,
    pub(super) swapped: bool,
}

const COMPUTE: [(&str, Alu); 11] = [
    ("add", Alu::Plain(BinOp::Add)),
    ("sub", Alu::Plain(BinOp::Sub)),
    ("mul", Alu::Plain(BinOp::Mul)),
    ("and", Alu::Plain(BinOp::BitAnd)),
    ("or", Alu::Plain(BinOp::BitOr)),
    ("xor", Alu::Plain(BinOp::BitXor)),
    ("sll", Alu::Plain(BinOp::Shl)),
    ("srl", Alu::Plain(BinOp::Shr)),
    ("sra", Alu::Plain(BinOp::Sar)),
    ("slt", Alu::Plain(BinOp::Lt)),
    ("sltu", Alu::LessUnsigned),
];

const AMOS: [(&str, Amo); 9] = [
    ("amoswap", Amo::Swap),
    ("amoadd", Amo::With(BinOp::Add)),
    ("amoxor", Amo::With(BinOp::BitXor)),
    ("amoand", Amo::With(BinOp::BitAnd)),
    ("amoor", Amo::With(BinOp::BitOr)),
    ("amomin", Amo::Min),
    ("amomax", Amo::Max),
    ("amominu", Amo::MinUnsigned),
    ("amomaxu", Amo::MaxUnsigned),
];

const BRANCHES: [(&str, BinOp, bool, bool); 10] = [
    ("beq", BinOp::Eq, false, false),
    ("bne", BinOp::Ne, false, false),
    ("blt", BinOp::Lt, false, false),
    ("bge", BinOp::Ge, false, false),
    ("bgt", BinOp::Lt, false, true),
    ("ble", BinOp::Ge, false, true),
    ("bltu", BinOp::Lt, true, false),
    ("bgeu", BinOp::Ge, true, false),
    ("bgtu", BinOp::Lt, true, true),
    ("bleu", BinOp::Ge, true, true),
];

/// What a mnemonic in lower case means.
pub(super) fn decode(mnemonic: &str) -> Option<Op> {
    let unary =
        |alu, with, flipped, word| Some(Op::Unary { alu: Alu::Plain(alu), with, flipped, word });
    match mnemonic {
        "li" => return Some(Op::Set),
        "la" => return Some(Op::Address),
        "lui" => return Some(Op::Upper),
        "mv" => return unary(BinOp::Add, 0, false, false),
        "not" => return unary(BinOp::BitXor, -1, false, false),
        "neg" => return unary(BinOp::Sub, 0, true, false),
        "negw" => return unary(BinOp::Sub, 0, true, true),
        "seqz" => return unary(BinOp::Eq, 0, false, false),
        "snez" => return unary(BinOp::Ne, 0, false, false),
        "sltz" => return unary(BinOp::Lt, 0, false, false),
        "sgtz" => return unary(BinOp::Gt, 0, false, false),
        "sext.w" => return unary(BinOp::Add, 0, false, true),
        "j" => return Some(Op::Jump),
        // Loads are in order anyway.
        "nop" | "fence.i" => return Some(Op::Nop),
        "fence" => return Some(Op::Fence),
        "fence.tso" => return Some(Op::FenceTso),
        _ => {}
    }
    if let Some(op) = compute(mnemonic) {
        return Some(op);
    }
    for (name, compare, unsigned, swapped) in BRANCHES {
        if mnemonic == name {
            return Some(Op::Branch(Test { compare, unsigned, zero: false, swapped }));
        }
        if mnemonic.strip_suffix('z') == Some(name) && !unsigned {
            return Some(Op::Branch(Test { compare, unsigned, zero: true, swapped }));
        }
    }
    memory(mnemonic)
}

fn compute(mnemonic: &str) -> Option<Op> {
    let (base, word) = match mnemonic.strip_suffix('w') {
        Some(base) => (base, true),
        None => (mnemonic, false),
    };
    let find = |name: &str| COMPUTE.iter().find(|(n, _)| *n == name).map(|(_, alu)| *alu);
    let wide = |name: &str| ["add", "sub", "mul", "sll", "srl", "sra"].contains(&name);
    let immediate = match base {
        "sltiu" => Some("sltu"),
        _ => base.strip_suffix('i'),
    };
    if let Some(name) = immediate.filter(|n| !["sub", "mul"].contains(n))
        && let Some(alu) = find(name)
    {
        return (!word || wide(name)).then_some(Op::Compute { alu, word, immediate: true });
    }
    let alu = find(base)?;
    (!word || wide(base)).then_some(Op::Compute { alu, word, immediate: false })
}

fn memory(mnemonic: &str) -> Option<Op> {
    let mut parts = mnemonic.split('.');
    let name = parts.next()?;
    let mut order = Order::default();
    let mut bytes = None;
    for part in parts {
        match part {
            "w" => bytes = Some(4),
            "d" => bytes = Some(8),
            "aq" => order.acquire = true,
            "rl" => order.release = true,
            "aqrl" => order = Order { acquire: true, release: true },
            _ => return None,
        }
    }
    let plain = |bytes, signed| Op::Load { bytes, signed, order };
    let op = match (name, bytes) {
        ("lb", None) => plain(1, true),
        ("lbu", None) => plain(1, false),
        ("lh", None) => plain(2, true),
        ("lhu", None) => plain(2, false),
        ("lw", None) => plain(4, true),
        ("lwu", None) => plain(4, false),
        ("ld", None) => plain(8, true),
        ("sb", None) => Op::Store { bytes: 1, order },
        ("sh", None) => Op::Store { bytes: 2, order },
        ("sw", None) => Op::Store { bytes: 4, order },
        ("sd", None) => Op::Store { bytes: 8, order },
        ("lr", Some(bytes)) => Op::Reserve { bytes, order },
        ("sc", Some(bytes)) => Op::Conditional { bytes, order },
        (_, Some(bytes)) => {
            let (_, combine) = AMOS.iter().find(|(n, _)| *n == name)?;
            Op::Amo { combine: *combine, bytes }
        }
        _ => return None,
    };
    Some(op)
}

impl Op {
    /// The kinds of the operands: register, number, memory, label, location, or the bits of fences.
    pub(super) fn shape(self) -> &'static str {
        match self {
            Op::Load { .. } | Op::Store { .. } | Op::Reserve { .. } => "rm",
            Op::Compute { immediate: true, .. } => "rrn",
            Op::Compute { immediate: false, .. } => "rrr",
            Op::Set | Op::Upper => "rn",
            Op::Address => "rl",
            Op::Unary { .. } => "rr",
            Op::Branch(Test { zero: true, .. }) => "rl",
            Op::Branch(_) => "rrl",
            Op::Jump => "l",
            Op::Fence => "ff",
            Op::FenceTso | Op::Nop => "",
            Op::Conditional { .. } | Op::Amo { .. } => "rrm",
        }
    }

    /// Whether it is about memory.
    pub(super) fn is_memory(self) -> bool {
        matches!(
            self,
            Op::Load { .. }
                | Op::Store { .. }
                | Op::Fence
                | Op::FenceTso
                | Op::Reserve { .. }
                | Op::Amo { .. }
        )
    }
}

/// Why a known instruction is refused.
pub(super) fn refused(mnemonic: &str) -> Option<&'static str> {
    if mnemonic == "auipc" || mnemonic.starts_with("jal") || mnemonic == "ret" {
        return Some("addresses of code are not supported");
    }
    if mnemonic.starts_with("cbo.") {
        return Some("the model is about memory, not about instructions and caches");
    }
    let float = mnemonic.starts_with('f') && mnemonic.contains('.');
    (float || matches!(mnemonic, "flw" | "fld" | "fsw" | "fsd"))
        .then_some("floating-point instructions are not supported")
}

/// Names for suggestions.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    let more = [
        "lb",
        "lbu",
        "lh",
        "lhu",
        "lw",
        "lwu",
        "ld",
        "sb",
        "sh",
        "sw",
        "sd",
        "li",
        "la",
        "mv",
        "addi",
        "andi",
        "ori",
        "xori",
        "addiw",
        "fence",
        "fence.tso",
        "lr.w",
        "lr.d",
        "sc.w",
        "sc.d",
        "amoswap.w",
        "amoadd.w",
        "beqz",
        "bnez",
        "j",
        "nop",
        "sext.w",
    ];
    COMPUTE.iter().map(|(n, _)| *n).chain(BRANCHES.iter().map(|b| b.0)).chain(more)
}
