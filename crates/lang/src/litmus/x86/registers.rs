//! The registers of x86 and how they overlap.

use crate::litmus::arch::Arch;

/// A register: a part of a family of overlapping registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register {
    /// The family.
    pub family: Family,
    /// Which part of it.
    pub part: Part,
}

/// Registers that share their bits, such as `al`, `ax`, `eax` and `rax`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the usual ones")]
pub enum Family {
    Ax,
    Bx,
    Cx,
    Dx,
    Si,
    Di,
    Bp,
    Sp,
    /// `r8` to `r15`.
    R(u8),
    /// The instruction pointer, which holds its initial value for ever here.
    Ip,
    /// A segment register: `cs`, `ds`, `es`, `fs`, `gs`, `ss`, in this order.
    Segment(u8),
    /// The low 8 bytes of `xmm0` to `xmm15`, which `movntdqa` loads; only X86_64.
    Xmm(u8),
}

/// A part of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// All 64 bits.
    Quad,
    /// The low 32 bits; a write clears the upper half.
    Dword,
    /// The low 16 bits; a write keeps the others.
    Word,
    /// The low 8 bits; a write keeps the others.
    Low,
    /// Bits 8 to 15; a write keeps the others.
    High,
}

const SEGMENTS: [&str; 6] = ["cs", "ds", "es", "fs", "gs", "ss"];

/// The families whose names end in two letters, with the letters.
const NAMED: [(Family, &str); 8] = [
    (Family::Ax, "ax"),
    (Family::Bx, "bx"),
    (Family::Cx, "cx"),
    (Family::Dx, "dx"),
    (Family::Si, "si"),
    (Family::Di, "di"),
    (Family::Bp, "bp"),
    (Family::Sp, "sp"),
];

impl Part {
    /// Its bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Part::Quad => 64,
            Part::Dword => 32,
            Part::Word => 16,
            Part::Low | Part::High => 8,
        }
    }

    /// The part of `bytes` bytes at the low end.
    #[must_use]
    pub fn low(bytes: u8) -> Part {
        match bytes {
            1 => Part::Low,
            2 => Part::Word,
            4 => Part::Dword,
            _ => Part::Quad,
        }
    }
}

impl Register {
    /// The register called `name`, in any case, if the architecture has it.
    #[must_use]
    pub fn parse(arch: Arch, name: &str) -> Option<Register> {
        let reg = Register::parse_any(&name.to_ascii_lowercase())?;
        let only_64 = reg.part == Part::Quad
            || matches!(reg.family, Family::R(_))
            || (reg.part == Part::Low && name.len() == 3);
        (arch == Arch::X86_64 || !only_64).then_some(reg)
    }

    /// The register called `name` in lower case, on either architecture.
    fn parse_any(name: &str) -> Option<Register> {
        let reg = |family, part| Some(Register { family, part });
        if let Some(i) = SEGMENTS.iter().position(|s| *s == name) {
            return reg(Family::Segment(i as u8), Part::Word);
        }
        match name {
            "rip" => return reg(Family::Ip, Part::Quad),
            "eip" => return reg(Family::Ip, Part::Dword),
            _ => {}
        }
        if let Some(digits) = name.strip_prefix("xmm") {
            let number = (0..16).find(|n: &u8| n.to_string() == digits)?;
            return reg(Family::Xmm(number), Part::Quad);
        }
        for (family, two) in NAMED {
            if name == two {
                return reg(family, Part::Word);
            }
            if let Some(first) = name.strip_suffix(two) {
                match first {
                    "r" => return reg(family, Part::Quad),
                    "e" => return reg(family, Part::Dword),
                    _ => {}
                }
            }
            let letter = &two[..1];
            if two.ends_with('x') {
                match name.strip_prefix(letter) {
                    Some("l") => return reg(family, Part::Low),
                    Some("h") => return reg(family, Part::High),
                    _ => {}
                }
            } else if name.strip_prefix(two) == Some("l") {
                return reg(family, Part::Low);
            }
        }
        let rest = name.strip_prefix('r')?;
        let digits = rest.trim_end_matches(|c: char| !c.is_ascii_digit());
        let number: u8 = digits.parse().ok().filter(|n| (8..16).contains(n))?;
        if digits.starts_with('0') {
            return None;
        }
        let part = match &rest[digits.len()..] {
            "" => Part::Quad,
            "d" => Part::Dword,
            "w" => Part::Word,
            "b" | "l" => Part::Low,
            _ => return None,
        };
        reg(Family::R(number), part)
    }

    /// Whether `name` is a register of X86_64 that X86 lacks.
    #[must_use]
    pub(crate) fn needs_64(name: &str) -> bool {
        Register::parse(Arch::X86, name).is_none() && Register::parse(Arch::X86_64, name).is_some()
    }

    /// The whole register of the family.
    #[must_use]
    pub fn whole(arch: Arch, family: Family) -> Register {
        let part = match (arch, family) {
            (_, Family::Segment(_)) => Part::Word,
            (Arch::X86, _) => Part::Dword,
            _ => Part::Quad,
        };
        Register { family, part }
    }

    /// Its name, in the case that is usual for the architecture.
    #[must_use]
    pub fn name(self, arch: Arch) -> String {
        let lower = self.lower_name();
        if arch == Arch::X86 { lower.to_ascii_uppercase() } else { lower }
    }

    fn lower_name(self) -> String {
        match self.family {
            Family::Segment(i) => SEGMENTS[usize::from(i) % SEGMENTS.len()].to_owned(),
            Family::Xmm(n) => format!("xmm{n}"),
            Family::Ip => if self.part == Part::Quad { "rip" } else { "eip" }.to_owned(),
            Family::R(n) => {
                let suffix = match self.part {
                    Part::Quad => "",
                    Part::Dword => "d",
                    Part::Word => "w",
                    Part::Low | Part::High => "b",
                };
                format!("r{n}{suffix}")
            }
            _ => {
                let two = NAMED.iter().find(|(f, _)| *f == self.family).map_or("ax", |(_, s)| s);
                let letter = &two[..1];
                match self.part {
                    Part::Quad => format!("r{two}"),
                    Part::Dword => format!("e{two}"),
                    Part::Word => two.to_owned(),
                    Part::Low if two.ends_with('x') => format!("{letter}l"),
                    Part::Low => format!("{two}l"),
                    Part::High => format!("{letter}h"),
                }
            }
        }
    }

    /// Its place among all registers, as they are shown.
    pub(super) fn rank(self) -> u32 {
        let family = match self.family {
            Family::R(n) => 8 + u32::from(n),
            Family::Ip => 30,
            Family::Segment(n) => 31 + u32::from(n),
            Family::Xmm(n) => 40 + u32::from(n),
            named => NAMED.iter().position(|(f, _)| *f == named).map_or(0, |i| i as u32),
        };
        family * 8 + self.part as u32
    }

    /// The same family's low part of `bytes` bytes.
    #[must_use]
    pub(crate) fn resized(self, bytes: u8) -> Register {
        Register { family: self.family, part: Part::low(bytes) }
    }

    /// Whether instructions may compute with it.
    #[must_use]
    pub(crate) fn is_general(self) -> bool {
        !matches!(self.family, Family::Ip | Family::Segment(_) | Family::Xmm(_))
    }

    /// Whether it is one of SSE.
    #[must_use]
    pub(crate) fn is_xmm(self) -> bool {
        matches!(self.family, Family::Xmm(_))
    }

    /// Whether it may stand in an address of the architecture.
    #[must_use]
    pub(crate) fn is_address(self, arch: Arch) -> bool {
        matches!(self.part, Part::Dword | Part::Quad)
            && !self.is_xmm()
            && (self.part == Part::Dword || arch == Arch::X86_64)
    }

    /// All names of the architecture, for suggestions.
    pub(in crate::litmus) fn all_names(arch: Arch) -> Vec<String> {
        let parts = [Part::Quad, Part::Dword, Part::Word, Part::Low, Part::High];
        let families = NAMED.iter().map(|(f, _)| *f).chain((8..16).map(Family::R));
        let mut names = Vec::new();
        for family in families {
            for part in parts {
                let name = Register { family, part }.name(arch);
                if Register::parse(arch, &name) == Some(Register { family, part }) {
                    names.push(name);
                }
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for arch in [Arch::X86, Arch::X86_64] {
            let names = Register::all_names(arch);
            assert_eq!(names.len(), if arch == Arch::X86 { 8 + 8 + 8 } else { 32 + 36 });
            for name in names {
                let reg = Register::parse(arch, &name).expect("a register");
                assert_eq!(reg.name(arch), name);
                assert_eq!(Register::parse(arch, &name.to_ascii_uppercase()), Some(reg));
                assert_eq!(Register::parse(arch, &name.to_ascii_lowercase()), Some(reg));
            }
        }
    }

    #[test]
    fn what_is_no_register() {
        for name in ["", "r", "r7", "r16", "r08", "r8x", "rxx", "xl", "eal", "raxx", "é", "rsil"] {
            assert_eq!(Register::parse(Arch::X86_64, name), None, "{name}");
        }
        for name in ["rax", "r8", "r8d", "sil", "rip"] {
            assert_eq!(Register::parse(Arch::X86, name), None, "{name}");
            assert!(Register::needs_64(name));
        }
    }
}
