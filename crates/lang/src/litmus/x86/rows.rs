//! Instructions with their prefixes.

use weakspot_core::Span;

use super::ast::Instruction;
use super::mnemonics::{self, Op};
use crate::litmus::parse::{Parser, Parsing, SECTIONS};
use crate::suggest::did_you_mean;
use crate::{At, Diagnostic};

impl Parser<'_> {
    /// An instruction of x86.
    pub(in crate::litmus) fn x86_instruction(&mut self) -> Parsing<Instruction> {
        let start = self.start();
        let lock = self.lock_prefix()?;
        let mnemonic_place = At(self.here());
        let Some(word) = self.ident(0) else {
            return Err(self.unexpected(match lock {
                Some(_) => "an instruction after `lock`",
                None => "an instruction, `|`, `;` or a condition",
            }));
        };
        let mnemonic = word.to_ascii_lowercase();
        let Some(decoded) = mnemonics::decode(&mnemonic) else {
            return Err(unknown_instruction(word, mnemonic_place.0));
        };
        self.bump();
        let mut operands = Vec::new();
        let (least, most) = decoded.op.arity();
        let jump = matches!(decoded.op, Op::Jump | Op::Branch(_));
        // Operands that may be missing are not looked for on the next line.
        let more = least > 0 || (most > 0 && !self.on_new_line());
        if more && !self.is("|") && !self.is(";") {
            loop {
                if self.on_new_line() && self.at_section() {
                    break;
                }
                operands.push(if jump { self.label_operand()? } else { self.operand()? });
                if !self.eat(",") {
                    break;
                }
            }
        }
        if most == 0 && !self.on_new_line() && (self.is("(") || self.is("[") || self.is("%")) {
            let message = format!("`{word}` takes no operand");
            return Err(Diagnostic::new(self.here(), message, "expected `|` or `;`"));
        }
        let place = self.since(start);
        if !(least..=most).contains(&operands.len()) {
            let found = operands.len();
            let wanted = match least {
                _ if least == most => most.to_string(),
                0 => format!("at most {most}"),
                _ => format!("{least} to {most}"),
            };
            let s = if most == 1 { "" } else { "s" };
            // A line that runs on is more likely a missing `|` than a missing operand.
            if found < least && !self.is("|") && !self.is(";") && !self.on_new_line() {
                return Err(self.unexpected("`,` and another operand"));
            }
            return Err(Diagnostic::new(
                place.0,
                format!(
                    "`{word}` takes {wanted} operand{s}, but {found} {} given",
                    if found == 1 { "was" } else { "were" }
                ),
                match (least, found) {
                    (2, 1) => "expected `,` and another operand".to_owned(),
                    _ => format!("expected {wanted} operand{s}"),
                },
            ));
        }
        Ok(Instruction { lock, mnemonic, mnemonic_place, operands, place })
    }

    /// `lock`, if it stands here.
    fn lock_prefix(&mut self) -> Parsing<Option<At>> {
        if !self.ident(0).is_some_and(is_lock) {
            return Ok(None);
        }
        let lock = At(self.here());
        self.bump();
        // Printers of litmus tests write `lock;` before the instruction.
        self.eat(";");
        let second = self.ident(0).is_some_and(is_lock);
        if second || self.is("|") || self.is(";") || self.at_section() {
            let (place, message) = match second {
                true => (self.here(), "a second `lock` before one instruction"),
                false => (lock.0, "`lock` without an instruction"),
            };
            return Err(Diagnostic::new(place, message, "expected an instruction after `lock`"));
        }
        Ok(Some(lock))
    }
}

pub(super) fn is_lock(word: &str) -> bool {
    word.eq_ignore_ascii_case("lock")
}

fn unknown_instruction(word: &str, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::new(
        span,
        format!("unknown instruction `{word}`"),
        "expected an instruction of x86",
    );
    let lower = word.to_ascii_lowercase();
    let hint = match lower.as_str() {
        "rep" => Some("for `rep; nop` write `pause`; string instructions: write out their steps"),
        "push" | "pop" | "pushq" | "popq" | "call" | "callq" => {
            Some("there is no stack: use `mov` and a location of its own")
        }
        "mul" | "imul" | "div" | "idiv" => Some("of arithmetic there are additions and shifts"),
        "cpuid" | "iret" | "iretq" => Some("what serialises a CPU is written `serialize`"),
        "cli" | "sti" | "hlt" | "invlpg" | "wbinvd" | "rdmsr" | "wrmsr" | "in" | "out" => {
            Some("privileged instructions are not supported")
        }
        "xbegin" | "xend" | "xabort" => Some("transactions of memory are not supported"),
        _ => None,
    };
    if let Some(hint) = hint {
        return diagnostic.help(hint);
    }
    let sse = ["movnt", "movap", "movup", "movdq", "movd", "movss", "movsd", "padd", "vmov"];
    if matches!(lower.as_str(), "repe" | "repz" | "repne" | "repnz")
        || ["movsb", "movsw", "movsl", "movsq", "stosb", "stosw", "stosl", "stosq"]
            .contains(&&*lower)
    {
        return diagnostic.help("string instructions are not supported: write out their steps");
    }
    if sse.iter().any(|prefix| lower.starts_with(prefix)) && lower != "movnti" {
        return diagnostic
            .help("of SSE and AVX there is only `movntdqa`: use general-purpose registers");
    }
    did_you_mean(diagnostic, word, mnemonics::known().chain(SECTIONS))
}
