//! Instructions: text to syntax tree.

use super::ast::{Instruction, Operand};
use super::mnemonics::{Op, decode, known, refused};
use super::registers;
use crate::litmus::ast::Symbol;
use crate::litmus::parse::{Parser, Parsing};
use crate::suggest::did_you_mean;
use crate::{At, Diagnostic};

impl Parser<'_> {
    /// An instruction of RISC-V.
    pub(in crate::litmus) fn riscv_instruction(&mut self) -> Parsing<Instruction> {
        let start = self.start();
        let span = self.here();
        let Some(word) = self.ident(0) else {
            return Err(self.unexpected("an instruction, `|`, `;` or a condition"));
        };
        let mnemonic = word.to_ascii_lowercase();
        let Some(op) = decode(&mnemonic) else {
            if let Some(why) = refused(&mnemonic) {
                return Err(Diagnostic::new(span, format!("`{word}` is not supported"), why));
            }
            let message = format!("unknown instruction `{word}`");
            let diagnostic = Diagnostic::new(span, message, "expected an instruction of RISC-V");
            return Err(did_you_mean(diagnostic, &mnemonic, known()));
        };
        self.bump();
        let mut operands = Vec::new();
        let shape = op.shape();
        let is_bare_fence = op == Op::Fence && (self.is("|") || self.is(";"));
        if !is_bare_fence {
            for (i, kind) in shape.chars().enumerate() {
                if i > 0 && !self.eat(",") {
                    let message = format!(
                        "`{word}` takes {} operands, but {i} {} given",
                        shape.len(),
                        if i == 1 { "was" } else { "were" }
                    );
                    return Err(match self.is("|") || self.is(";") {
                        true => Diagnostic::new(self.since(start).0, message, ""),
                        false => self.unexpected("`,` and another operand"),
                    });
                }
                operands.push(self.riscv_operand(kind)?);
            }
        }
        Ok(Instruction { mnemonic, operands, place: self.since(start) })
    }

    fn riscv_operand(&mut self, kind: char) -> Parsing<Operand> {
        let start = self.start();
        match kind {
            'r' => {
                let reg = self.riscv_register()?;
                Ok(Operand::Reg(reg, self.since(start)))
            }
            'n' => {
                let (n, place) = self.number()?;
                Ok(Operand::Number(n, place))
            }
            'm' => {
                let mut offset = 0;
                if self.at_number() {
                    let (n, place) = self.number()?;
                    offset = i64::try_from(n)
                        .map_err(|_| Diagnostic::new(place.0, "this offset is too large", ""))?;
                }
                self.expect("(", "memory, such as `0(x5)`")?;
                let base = self.riscv_register()?;
                self.expect(")", "`)`")?;
                Ok(Operand::Mem { offset, base, place: self.since(start) })
            }
            'f' => {
                let bits = self.ident(0).filter(|w| w.chars().all(|c| "iorw".contains(c)));
                let Some(bits) = bits else {
                    return Err(self.unexpected("some of `r`, `w`, `i` and `o`"));
                };
                self.bump();
                Ok(Operand::Name(Symbol {
                    name: bits.to_owned(),
                    index: None,
                    place: self.since(start),
                }))
            }
            _ => {
                let Some(name) = self.ident(0) else { return Err(self.unexpected("a label")) };
                let place = At(self.here());
                self.bump();
                Ok(Operand::Name(Symbol { name: name.to_owned(), index: None, place }))
            }
        }
    }

    fn riscv_register(&mut self) -> Parsing<u8> {
        let Some(name) = self.ident(0) else { return Err(self.unexpected("a register")) };
        let Some(reg) = registers::parse(name) else {
            return Err(self.unknown_register(name, self.here()));
        };
        self.bump();
        Ok(reg)
    }
}

/// An instruction as text.
pub(in crate::litmus) fn print(i: &Instruction) -> String {
    let operands: Vec<String> = i
        .operands
        .iter()
        .map(|o| match o {
            Operand::Reg(reg, _) => registers::name(*reg),
            Operand::Number(n, _) => n.to_string(),
            Operand::Mem { offset, base, .. } => format!("{offset}({})", registers::name(*base)),
            Operand::Name(s) => s.name.clone(),
        })
        .collect();
    format!("{} {}", i.mnemonic, operands.join(",")).trim_end().to_owned()
}
