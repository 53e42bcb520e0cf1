//! Text to syntax tree. Trencher takes any word where it wants a name, so that a forgotten operand
//! swallows the next line and a mistyped one becomes a register that is 0 for ever; words that can
//! only be such slips are refused here.

use weakspot_core::Span;

use super::syntax::{At, Expr, ExprKind, File, Instr, MemorySize, Name, Op, Thread, Transition};
use super::words::{Word, words};
use crate::Diagnostic;
use crate::suggest::did_you_mean;
use crate::tree::end_of_text;

/// Deeper expressions are refused: every reader of the tree recurses.
const MAX_DEPTH: usize = 200;
/// Larger expressions are refused, powers counted as the products that they stand for.
const MAX_SIZE: u64 = 4096;
const MAX_EXPONENT: i64 = 64;

const SECTIONS: [&str; 6] = ["thread", "initial", "final", "transition", "end", "memory_size"];
const INSTRUCTIONS: [&str; 8] =
    ["read", "write", "local", "check", "noop", "mfence", "lock", "unlock"];

/// Parses a Trencher program.
pub fn parse(text: &str) -> Result<File, Diagnostic> {
    Parser { words: words(text), at: 0, end: end_of_text(text) }.file()
}

struct Parser<'t> {
    words: Vec<Word<'t>>,
    at: usize,
    /// The end of the text.
    end: Span,
}

impl<'t> Parser<'t> {
    fn file(mut self) -> Result<File, Diagnostic> {
        let mut file = File { memory_size: None, threads: Vec::new() };
        while let Some(word) = self.next() {
            match word.text {
                "thread" => file.threads.push(self.thread()?),
                "memory_size" => {
                    let size = self.memory_size(word)?;
                    if file.memory_size.is_some() {
                        return Err(Diagnostic::new(size.at.0, "a second `memory_size`", ""));
                    }
                    file.memory_size = Some(size);
                }
                other => {
                    let refused = Diagnostic::new(
                        word.span,
                        format!("unexpected `{other}`"),
                        "expected `thread`",
                    );
                    return Err(if other.starts_with('#') {
                        refused.help("put a space after the `#` of a comment")
                    } else {
                        did_you_mean(refused, other, ["thread", "memory_size"])
                    });
                }
            }
        }
        Ok(file)
    }

    fn memory_size(&mut self, keyword: Word<'t>) -> Result<MemorySize, Diagnostic> {
        let word = self.operand("a number of memory cells")?;
        match number(word)? {
            Some(cells) if cells >= 0 => Ok(MemorySize { cells, at: join(keyword, word) }),
            _ => Err(Diagnostic::new(
                word.span,
                format!("`{}` is not a number of memory cells", word.text),
                "expected a number that is not negative",
            )),
        }
    }

    fn thread(&mut self) -> Result<Thread, Diagnostic> {
        let name = self.name("a thread name")?;
        let (mut initial, mut goal) = (None, None);
        let mut transitions = Vec::new();
        loop {
            let expected = "expected `initial`, `final`, `transition` or `end`";
            let Some(word) = self.next() else {
                return Err(self.ended(format!("thread `{}` is not ended", name.text), expected));
            };
            match word.text {
                "end" => break,
                "initial" => self.state_of_thread(word, &mut initial, "an initial state")?,
                "final" => self.state_of_thread(word, &mut goal, "a final state")?,
                "transition" => transitions.push(self.transition(word)?),
                "thread" | "memory_size" => {
                    let message = format!("`{}` inside thread `{}`", word.text, name.text);
                    return Err(Diagnostic::new(word.span, message, expected)
                        .help(format!("end thread `{}` with `end` first", name.text)));
                }
                other => {
                    let refused =
                        Diagnostic::new(word.span, format!("unexpected `{other}`"), expected);
                    return Err(if other.starts_with('#') {
                        refused.help("put a space after the `#` of a comment")
                    } else {
                        did_you_mean(refused, other, SECTIONS)
                    });
                }
            }
        }
        let Some(initial) = initial else {
            let message = format!("thread `{}` has no initial state", name.text);
            return Err(Diagnostic::new(name.at.0, message, "")
                .help("name the state in which it starts: `initial q0`"));
        };
        Ok(Thread { name, initial, goal, transitions })
    }

    fn state_of_thread(
        &mut self,
        keyword: Word<'t>,
        slot: &mut Option<Name>,
        what: &str,
    ) -> Result<(), Diagnostic> {
        let state = self.name(what)?;
        match slot {
            None => *slot = Some(state),
            Some(first) => {
                let message = format!("a second `{}` state `{}`", keyword.text, state.text);
                return Err(Diagnostic::new(state.at.0, message, "")
                    .help(format!("the first is `{}`", first.text)));
            }
        }
        Ok(())
    }

    fn transition(&mut self, keyword: Word<'t>) -> Result<Transition, Diagnostic> {
        let from = self.name("the state that the transition leaves")?;
        let to = self.name("the state that the transition enters")?;
        let word = self.operand("an instruction")?;
        let instr = match word.text {
            "read" => Instr::Read { reg: self.register()?, addr: self.expr("an address")? },
            "write" => Instr::Write {
                value: self.expr("a value")?,
                addr: self.expr("an address after the value")?,
            },
            "local" => Instr::Local { reg: self.register()?, value: self.expr("a value")? },
            "check" => Instr::Check(self.expr("an expression")?),
            "noop" => Instr::Noop,
            "mfence" => Instr::Mfence,
            "lock" => Instr::Lock,
            "unlock" => Instr::Unlock,
            other => {
                let refused = Diagnostic::new(
                    word.span,
                    format!("unknown instruction `{other}`"),
                    "expected `read`, `write`, `local`, `check`, `noop`, `mfence`, `lock` or \
                     `unlock`",
                );
                return Err(match other {
                    "cas" | "atomic" => refused
                        .help("write an atomic update as `lock`, `read`, `write` and `unlock`"),
                    _ => did_you_mean(refused, other, INSTRUCTIONS),
                });
            }
        };
        let last = self.words[self.at - 1];
        Ok(Transition { from, to, instr, at: join(keyword, last) })
    }

    fn register(&mut self) -> Result<Name, Diagnostic> {
        let word = self.operand("a register")?;
        if number(word)?.is_some() || is_operator(word.text) {
            return Err(Diagnostic::new(
                word.span,
                format!("`{}` is not a register", word.text),
                "expected a register",
            ));
        }
        check_register(word)?;
        Ok(Name { text: word.text.to_owned(), at: At(word.span) })
    }

    fn expr(&mut self, what: &str) -> Result<Expr, Diagnostic> {
        Ok(self.sized_expr(what, 0)?.0)
    }

    /// An expression and how many nodes it stands for.
    fn sized_expr(&mut self, what: &str, depth: usize) -> Result<(Expr, u64), Diagnostic> {
        let word = self.operand(what)?;
        if depth > MAX_DEPTH {
            let message = format!("an expression that is nested more than {MAX_DEPTH} deep");
            return Err(Diagnostic::new(word.span, message, ""));
        }
        let operand = |parser: &mut Self| {
            parser.sized_expr(&format!("an operand of `{}`", word.text), depth + 1)
        };
        let (kind, size) = if let Some(value) = number(word)? {
            (ExprKind::Int(value), 1)
        } else if let Some(op) = Op::from_symbol(word.text) {
            let (left, left_size) = operand(self)?;
            let (right, right_size) = operand(self)?;
            if matches!(op, Op::Div | Op::Rem) && constant(&right) == Some(0) {
                let message = format!("`{}` by the constant 0", word.text);
                return Err(Diagnostic::new(
                    right.at.0,
                    message,
                    "expected a divisor that is not 0",
                ));
            }
            let size = left_size + right_size + 1;
            (ExprKind::Binary(op, Box::new(left), Box::new(right)), size)
        } else if word.text == "!" {
            let (inner, size) = operand(self)?;
            (ExprKind::Not(Box::new(inner)), size + 1)
        } else if word.text == "^" {
            let (base, size) = operand(self)?;
            let exponent = self.exponent()?;
            let size = (size + 1).saturating_mul(u64::from(exponent.max(1)));
            (ExprKind::Power(Box::new(base), exponent), size)
        } else {
            check_register(word)?;
            (ExprKind::Reg(word.text.to_owned()), 1)
        };
        let at = join(word, self.words[self.at - 1]);
        if size > MAX_SIZE {
            let message = format!("an expression with more than {MAX_SIZE} parts");
            return Err(Diagnostic::new(at.0, message, ""));
        }
        Ok((Expr { kind, at }, size))
    }

    fn exponent(&mut self) -> Result<u32, Diagnostic> {
        let word = self.operand("an exponent")?;
        number(word)?
            .filter(|n| (0..=MAX_EXPONENT).contains(n))
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| {
                let message = format!("the exponent `{}`", word.text);
                let expected = format!("expected a number from 0 to {MAX_EXPONENT}");
                Diagnostic::new(word.span, message, expected)
            })
    }

    fn name(&mut self, what: &str) -> Result<Name, Diagnostic> {
        let word = self.operand(what)?;
        Ok(Name { text: word.text.to_owned(), at: At(word.span) })
    }

    /// The next word, which must not be the start of the next declaration.
    fn operand(&mut self, what: &str) -> Result<Word<'t>, Diagnostic> {
        let Some(word) = self.next() else {
            return Err(self.ended("the text ends here".to_owned(), &format!("expected {what}")));
        };
        if word.starts_line && SECTIONS.contains(&word.text) {
            let message = format!("`{}` where {what} is missing", word.text);
            return Err(Diagnostic::new(word.span, message, format!("expected {what}"))
                .help("the line before lacks an operand; a name like this may not start a line"));
        }
        Ok(word)
    }

    fn next(&mut self) -> Option<Word<'t>> {
        let word = self.words.get(self.at).copied();
        self.at += usize::from(word.is_some());
        word
    }

    fn ended(&self, message: String, expected: &str) -> Diagnostic {
        Diagnostic::new(self.end, message, expected)
    }
}

/// The value of a word that starts like a number. Trencher itself reads `1abc` as 1, and a number
/// that does not fit as a register.
fn number(word: Word<'_>) -> Result<Option<i64>, Diagnostic> {
    let digits = word.text.strip_prefix(['+', '-']).unwrap_or(word.text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    if let Some(junk) = digits.find(|c: char| !c.is_ascii_digit()) {
        let message = format!("`{}` is not a number", word.text);
        return Err(Diagnostic::new(
            word.span,
            message,
            "expected a number, a register or an operator",
        )
        .help(format!(
            "names of registers do not start with a digit; Trencher reads this as {}",
            &word.text[..word.text.len() - digits.len() + junk]
        )));
    }
    match word.text.parse::<i32>() {
        Ok(value) => Ok(Some(i64::from(value))),
        Err(_) => {
            let message = format!("`{}` does not fit in 32 bits", word.text);
            Err(Diagnostic::new(word.span, message, ""))
        }
    }
}

/// Refuses words that are neither number nor operator but cannot be meant as a register either.
fn check_register(word: Word<'_>) -> Result<(), Diagnostic> {
    let text = word.text;
    let expected = "expected a number, a register or an operator";
    if !text.contains(|c: char| c.is_alphanumeric() || c == '_') {
        let refused = Diagnostic::new(word.span, format!("unknown operator `{text}`"), expected);
        return Err(if text == "=" {
            refused.help("did you mean `==`?")
        } else {
            did_you_mean(refused, text, Op::ALL.iter().map(|(symbol, _)| *symbol))
        });
    }
    // `%` is left out because assembler registers are written `%eax`.
    if text.starts_with(['+', '-', '*', '/', '!', '=', '<', '>', '&', '|', '^']) {
        let operator = &text[..text.find(|c: char| c.is_alphanumeric() || c == '_').unwrap_or(1)];
        let message = format!("`{text}` is not a register");
        return Err(Diagnostic::new(word.span, message, expected)
            .help(format!("put a space after `{operator}`")));
    }
    Ok(())
}

fn is_operator(word: &str) -> bool {
    word == "!" || word == "^" || Op::from_symbol(word).is_some()
}

/// The value of an expression without registers.
fn constant(e: &Expr) -> Option<i64> {
    let truth = i64::from;
    Some(match &e.kind {
        ExprKind::Int(value) => *value,
        ExprKind::Reg(_) => return None,
        ExprKind::Not(inner) => truth(constant(inner)? == 0),
        ExprKind::Power(base, exponent) => constant(base)?.wrapping_pow(*exponent),
        ExprKind::Binary(op, left, right) => {
            let (l, r) = (constant(left)?, constant(right)?);
            match op {
                Op::Eq => truth(l == r),
                Op::Ne => truth(l != r),
                Op::Lt => truth(l < r),
                Op::Le => truth(l <= r),
                Op::Gt => truth(l > r),
                Op::Ge => truth(l >= r),
                Op::And => truth(l != 0 && r != 0),
                Op::Or => truth(l != 0 || r != 0),
                Op::Add => l.wrapping_add(r),
                Op::Sub => l.wrapping_sub(r),
                Op::Mul => l.wrapping_mul(r),
                Op::Div => l.checked_div(r)?,
                Op::Rem => l.checked_rem(r)?,
                Op::BitAnd => l & r,
            }
        }
    })
}

fn join(first: Word<'_>, last: Word<'_>) -> At {
    At(Span { start: first.span.start, end: last.span.end })
}
