//! Operands in both syntaxes. What an operand is can be told from itself; only the order of the
//! operands depends on the syntax, and that is decided when the instruction is compiled.

use weakspot_core::Span;

use super::ast::{Mem, MemStyle, Operand};
use super::registers::{Family, Register};
use super::rows::is_lock;
use crate::litmus::arch::Arch;
use crate::litmus::ast::Symbol;
use crate::litmus::lex::TokenKind;
use crate::litmus::parse::{Parser, Parsing};
use crate::{At, Diagnostic};

impl Parser<'_> {
    /// The target of a jump.
    pub(super) fn label_operand(&mut self) -> Parsing<Operand> {
        let place = At(self.here());
        let Some(name) = self.ident(0) else {
            return Err(self.unexpected("a label"));
        };
        self.bump();
        Ok(Operand::Name(Symbol { name: name.to_owned(), index: None, place }))
    }

    /// An operand of anything but a jump.
    pub(super) fn operand(&mut self) -> Parsing<Operand> {
        let start = self.start();
        let size = self.size_prefix();
        self.segment_prefix()?;
        if self.is("%") && size.is_none() {
            let reg = self.percent_register()?;
            return Ok(Operand::Reg { reg, percent: true, place: self.since(start) });
        }
        if self.is("$") && size.is_none() {
            return self.immediate();
        }
        if self.at_number() {
            let (value, place) = self.number()?;
            if self.is("[") || self.is("(") || size.is_some() {
                let disp = displacement(value, place)?;
                return self.mem(start, Mem { disp, ..empty(size) });
            }
            return Ok(Operand::Number { value, dollar: false, place });
        }
        if self.is("[") || self.is("(") {
            return self.mem(start, empty(size));
        }
        let Some(word) = self.ident(0) else {
            return Err(self.unexpected("an operand"));
        };
        if is_lock(word) {
            return Err(self.unexpected("an operand").help("`lock` stands before the instruction"));
        }
        if let Some(reg) = Register::parse(self.arch, word) {
            if size.is_some() {
                return Err(self.unexpected("a memory operand, such as `[x]`"));
            }
            self.bump();
            return Ok(Operand::Reg { reg, percent: false, place: self.since(start) });
        }
        if self.arch == Arch::X86 && Register::needs_64(word) {
            return Err(self.unknown_register(word, self.here()));
        }
        if word.eq_ignore_ascii_case("offset") && self.ident(1).is_some() {
            self.bump();
            return Ok(Operand::Address(self.symbol()?));
        }
        let symbol = self.symbol()?;
        let disp = self.offset()?;
        if self.is("[") || self.is("(") || disp != 0 || size.is_some() {
            return self.mem(start, Mem { disp, symbol: Some(symbol), ..empty(size) });
        }
        Ok(Operand::Name(symbol))
    }

    /// `DWORD PTR` and the like, in bytes.
    fn size_prefix(&mut self) -> Option<u8> {
        let word = self.ident(0)?.to_ascii_lowercase();
        let bytes = match word.as_str() {
            "byte" => 1,
            "word" => 2,
            "dword" => 4,
            "qword" => 8,
            _ => return None,
        };
        if self.ident(1).is_some_and(|w| w.eq_ignore_ascii_case("ptr")) {
            self.bump();
        } else if !self.is_at(1, "[") {
            return None;
        }
        self.bump();
        Some(bytes)
    }

    /// `%cs:` or `ds:`, which change nothing in the flat memory that we model.
    fn segment_prefix(&mut self) -> Parsing<()> {
        let percent = usize::from(self.is("%"));
        let Some(word) = self.ident(percent) else { return Ok(()) };
        let reg = Register::parse(self.arch, word);
        let Some(Register { family: Family::Segment(n), .. }) = reg else { return Ok(()) };
        if !self.is_at(percent + 1, ":") {
            return Ok(());
        }
        if n == 3 || n == 4 {
            return Err(Diagnostic::new(
                self.here(),
                format!("the segment `{word}` has its own base address, which is not supported"),
                "",
            ));
        }
        for _ in 0..percent + 2 {
            self.bump();
        }
        Ok(())
    }

    /// `%eax`.
    fn percent_register(&mut self) -> Parsing<Register> {
        let start = self.start();
        self.expect("%", "`%`")?;
        let Some(word) = self.ident(0) else {
            return Err(self.unexpected("a register"));
        };
        self.bump();
        Register::parse(self.arch, word)
            .ok_or_else(|| self.unknown_register(word, self.since(start).0))
    }

    /// `$1` or `$x`.
    fn immediate(&mut self) -> Parsing<Operand> {
        let start = self.start();
        self.expect("$", "`$`")?;
        if self.ident(0).is_some_and(|word| Register::parse(self.arch, word).is_some()) {
            return Err(self
                .unexpected("a number or the name of a location after `$`")
                .help("registers are written without `$`"));
        }
        if self.ident(0).is_some() {
            let mut symbol = self.symbol()?;
            symbol.place = self.since(start);
            return Ok(Operand::Address(symbol));
        }
        if !self.at_number() {
            return Err(self.unexpected("a number or the name of a location after `$`"));
        }
        let (value, _) = self.number()?;
        Ok(Operand::Number { value, dollar: true, place: self.since(start) })
    }

    /// `+8` or `-8`.
    fn offset(&mut self) -> Parsing<i64> {
        if (self.is("+") || self.is("-")) && self.at_number() {
            let (value, place) = self.number()?;
            return displacement(value, place);
        }
        Ok(0)
    }

    /// The rest of a memory operand, from its bracket or parenthesis on if it has one.
    fn mem(&mut self, start: usize, mut mem: Mem) -> Parsing<Operand> {
        if self.is("[") {
            self.brackets(&mut mem)?;
        } else if self.is("(") {
            mem.style = MemStyle::Parens;
            self.parens(&mut mem)?;
        }
        mem.place = self.since(start);
        // An address relative to the instruction pointer is the address of its symbol.
        if mem.base.is_some_and(|r| r.family == Family::Ip) && mem.symbol.is_some() {
            mem.base = None;
            mem.percent &= mem.index.is_some();
        }
        for reg in mem.base.iter().chain(mem.index.iter().map(|(r, _)| r)) {
            if !reg.is_address(self.arch) || !reg.is_general() {
                let name = reg.name(self.arch);
                return Err(Diagnostic::new(
                    mem.place.0,
                    format!("`{name}` cannot hold an address"),
                    format!(
                        "expected {}",
                        if self.arch == Arch::X86 {
                            "a 32-bit register"
                        } else {
                            "a 64-bit register"
                        }
                    ),
                ));
            }
        }
        Ok(Operand::Mem(mem))
    }

    /// `[EBX+ECX*4+x-8]`: a sum in any order.
    fn brackets(&mut self, mem: &mut Mem) -> Parsing<()> {
        let open = self.here();
        self.expect("[", "`[`")?;
        if self.ident(0) == Some("rel") && self.ident(1).is_some() {
            self.bump();
        }
        let mut negative = false;
        loop {
            self.term(mem, negative)?;
            if self.eat("]") {
                return Ok(());
            }
            negative = self.is("-");
            if !self.eat("+") && !self.eat("-") {
                let found = self.unexpected("`]`");
                return Err(match self.peek(0) {
                    TokenKind::Punct("," | ";" | "|" | ")" | "[")
                    | TokenKind::End
                    | TokenKind::Rest => {
                        Diagnostic::new(open, "unbalanced `[`", "expected a closing `]`")
                    }
                    _ => found,
                });
            }
        }
    }

    /// A term of the sum between brackets.
    fn term(&mut self, mem: &mut Mem, negative: bool) -> Parsing<()> {
        if self.at_number() {
            let (value, place) = self.number()?;
            if self.eat("*") {
                let start = self.start();
                let reg =
                    self.address_register(mem)?.ok_or_else(|| self.unexpected("a register"))?;
                let at = At(self.since(start).0);
                return self.add_register(mem, reg, Some((value, place)), negative, at.0);
            }
            let value = if negative { -value } else { value };
            mem.disp = mem.disp.wrapping_add(displacement(value, place)?);
            return Ok(());
        }
        let start = self.start();
        if let Some(reg) = self.address_register(mem)? {
            let scale = if self.eat("*") { Some(self.number()?) } else { None };
            return self.add_register(mem, reg, scale, negative, self.since(start).0);
        }
        if self.ident(0).is_none() {
            return Err(self.unexpected("a location or a register"));
        }
        let symbol = self.symbol()?;
        self.add_symbol(mem, symbol, negative)
    }

    /// `8(%rax,%rcx,8)`, from the parenthesis on.
    fn parens(&mut self, mem: &mut Mem) -> Parsing<()> {
        let open = self.here();
        self.expect("(", "`(`")?;
        let start = self.start();
        if let Some(reg) = self.address_register(mem)? {
            self.add_register(mem, reg, None, false, self.since(start).0)?;
        } else if self.ident(0).is_some() {
            let symbol = self.symbol()?;
            self.add_symbol(mem, symbol, false)?;
            mem.disp = mem.disp.wrapping_add(self.offset()?);
            if self.is(",") {
                // Only registers have something after a comma: `x(,%rax,8)`.
                return Err(self.unexpected("`)`"));
            }
        } else if self.at_number() {
            let (value, place) = self.number()?;
            mem.disp = mem.disp.wrapping_add(displacement(value, place)?);
        } else if !self.is(",") {
            return Err(self.unexpected("a location or a register"));
        }
        if self.eat(",") {
            let start = self.start();
            let Some(reg) = self.address_register(mem)? else {
                return Err(self.unexpected("a register"));
            };
            let at = self.since(start).0;
            let scale = if self.eat(",") { self.number()? } else { (1, At(at)) };
            self.add_register(mem, reg, Some(scale), false, at)?;
        }
        if self.eat(")") {
            return Ok(());
        }
        let found = self.unexpected("`)`");
        Err(match self.peek(0) {
            TokenKind::Punct(";" | "|") | TokenKind::End | TokenKind::Rest => {
                Diagnostic::new(open, "unbalanced `(`", "expected a closing `)`")
            }
            _ => found,
        })
    }

    /// A register that can hold an address, if one stands here. Without a `%`, the name of a
    /// register that is too narrow for an address is taken for a location.
    fn address_register(&mut self, mem: &mut Mem) -> Parsing<Option<Register>> {
        if self.is("%") {
            mem.percent = true;
            return self.percent_register().map(Some);
        }
        let Some(word) = self.ident(0) else { return Ok(None) };
        if self.arch == Arch::X86 && Register::needs_64(word) {
            return Err(self.unknown_register(word, self.here()));
        }
        let found = Register::parse(self.arch, word).filter(|r| r.is_address(self.arch));
        if found.is_some() {
            self.bump();
        }
        Ok(found)
    }

    fn add_register(
        &self,
        mem: &mut Mem,
        reg: Register,
        scale: Option<(i128, At)>,
        negative: bool,
        span: Span,
    ) -> Parsing<()> {
        if negative {
            return Err(Diagnostic::new(span, "a register cannot be subtracted in an address", ""));
        }
        let factor = match scale {
            None => None,
            Some((n @ (0 | 1 | 2 | 4 | 8), _)) => Some(n as u8),
            Some((n, place)) => {
                return Err(Diagnostic::new(
                    place.0,
                    format!("`{n}` is not a scale"),
                    "expected 1, 2, 4 or 8",
                ));
            }
        };
        match factor {
            None if mem.base.is_none() => mem.base = Some(reg),
            _ if mem.index.is_none() => mem.index = Some((reg, factor.unwrap_or(1))),
            _ => return Err(Diagnostic::new(span, "too many registers in an address", "")),
        }
        Ok(())
    }

    fn add_symbol(&self, mem: &mut Mem, symbol: Symbol, negative: bool) -> Parsing<()> {
        if negative || mem.symbol.is_some() {
            let what = if negative { "cannot be subtracted" } else { "is the second location" };
            return Err(Diagnostic::new(
                symbol.place.0,
                format!("`{}` {what} in an address", symbol.name),
                "",
            ));
        }
        mem.symbol = Some(symbol);
        Ok(())
    }
}

fn empty(size: Option<u8>) -> Mem {
    Mem {
        style: MemStyle::Brackets,
        size,
        symbol: None,
        disp: 0,
        base: None,
        index: None,
        percent: false,
        place: At::default(),
    }
}

fn displacement(value: i128, place: At) -> Parsing<i64> {
    i64::try_from(value).map_err(|_| {
        Diagnostic::new(
            place.0,
            format!("the displacement `{value}` is too large"),
            "expected at most 63 bits",
        )
    })
}
