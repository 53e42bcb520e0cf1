//! Which final states are asked for: what `litmus --show=STATE` reads. The language is that of conditions,
//! over the names that final states are shown with, whatever the language of the program.

use weakspot_core::{BinOp, Expr, LocId, Quantifier, RegId, Value};

use crate::Parsed;
use crate::balanced::balanced;
use crate::litmus::fold::not;
use crate::suggest::nearest;

/// How deep parentheses may nest.
const DEEPEST: usize = 200;

/// Final states that are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedState {
    /// What they satisfy; `Reg(i)` stands for the component `i` of a state.
    pub prop: Expr,
    /// The values of components that this says, if it says nothing else.
    pub components: Option<Vec<(usize, Value)>>,
    /// The proposition as it was written, without a quantifier.
    pub text: String,
}

impl Parsed {
    /// The final states that `0:EAX=0; x=1` speaks of, or a condition as litmus tests have them: of
    /// `exists` and `~exists` those that it is about, of `forall` those that break it.
    ///
    /// # Errors
    /// What is wrong with the text, with the column.
    pub fn asked_state(&self, text: &str) -> Result<AskedState, String> {
        let mut reader = Reader { parsed: self, text, at: 0, depth: 0 };
        let quantifier = reader.quantifier();
        let start = reader.at;
        let prop = reader.list()?;
        if reader.at < text.len() {
            return Err(reader.expected("`/\\`, `\\/`, `=>` or `;`"));
        }
        let written = text[start..].trim().trim_end_matches(';').trim_end();
        Ok(match quantifier {
            Quantifier::Forall => {
                AskedState { prop: not(prop), components: None, text: format!("not ({written})") }
            }
            _ => AskedState { components: components(&prop), prop, text: written.to_owned() },
        })
    }
}

/// The values that a conjunction of equations says.
fn components(prop: &Expr) -> Option<Vec<(usize, Value)>> {
    let mut found = Vec::new();
    let mut rest = vec![prop];
    while let Some(part) = rest.pop() {
        match part {
            Expr::Binary(BinOp::And, l, r) => rest.extend([&**l, r]),
            Expr::Binary(BinOp::Eq, l, r) => match (&**l, &**r) {
                (Expr::Reg(component), Expr::Const(value)) => {
                    found.push((component.index(), *value));
                }
                _ => return None,
            },
            _ => return None,
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

struct Reader<'a> {
    parsed: &'a Parsed,
    text: &'a str,
    /// How many bytes were read.
    at: usize,
    depth: usize,
}

type Reading<T> = Result<T, String>;

impl<'a> Reader<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    /// A word, if it is the next one.
    fn eat_word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let Some(behind) = rest.strip_prefix(word) else { return false };
        let ends = !behind.starts_with(|c: char| c.is_alphanumeric() || "_:.[=".contains(c))
            && !behind.trim_start().starts_with(['=', '!', '<']);
        if ends {
            self.at += word.len();
        }
        ends
    }

    fn quantifier(&mut self) -> Quantifier {
        let start = self.at;
        if self.eat_word("exists") {
            return Quantifier::Exists;
        }
        if self.eat_word("forall") {
            return Quantifier::Forall;
        }
        if (self.eat("~") || self.eat_word("not")) && self.eat_word("exists") {
            return Quantifier::NotExists;
        }
        self.at = start;
        Quantifier::Exists
    }

    /// An error at a byte of the text.
    fn error(&self, at: usize, message: &str) -> String {
        let column = self.text[..at].chars().count() + 1;
        format!("column {column}: {message}")
    }

    fn expected(&mut self, what: &str) -> String {
        let rest = self.rest();
        let found = match rest.split(|c: char| c.is_whitespace()).next() {
            None | Some("") => "the end".to_owned(),
            Some(word) => format!("`{word}`"),
        };
        self.error(self.at, &format!("expected {what}, found {found}"))
    }

    /// Propositions with `;` or `,` between them.
    fn list(&mut self) -> Reading<Expr> {
        let mut parts = Vec::new();
        loop {
            while self.eat(";") || self.eat(",") {}
            if self.rest().is_empty() {
                break;
            }
            parts.push(self.or()?);
            if !(self.eat(";") || self.eat(",")) {
                break;
            }
        }
        Ok(balanced(BinOp::And, parts, 1))
    }

    fn or(&mut self) -> Reading<Expr> {
        let mut parts = vec![self.and()?];
        while self.eat("\\/") {
            parts.push(self.and()?);
        }
        Ok(balanced(BinOp::Or, parts, 0))
    }

    fn and(&mut self) -> Reading<Expr> {
        let mut parts = vec![self.implies()?];
        while self.eat("/\\") {
            parts.push(self.implies()?);
        }
        Ok(balanced(BinOp::And, parts, 1))
    }

    fn implies(&mut self) -> Reading<Expr> {
        let left = self.unary()?;
        if !self.eat("=>") {
            return Ok(left);
        }
        let right = self.deeper(Reader::implies)?;
        Ok(Expr::binary(BinOp::Or, not(left), right))
    }

    fn unary(&mut self) -> Reading<Expr> {
        if self.eat("~") || self.eat_word("not") {
            return Ok(not(self.deeper(Reader::unary)?));
        }
        for (word, value) in [("true", 1), ("false", 0)] {
            if self.eat_word(word) {
                return Ok(Expr::Const(value));
            }
        }
        if self.eat("(") {
            let inner = self.deeper(Reader::list)?;
            return match self.eat(")") {
                true => Ok(inner),
                false => Err(self.expected("`/\\`, `\\/`, `=>` or `)`")),
            };
        }
        self.atom()
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Reading<Expr>) -> Reading<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error(self.at, &format!("nested more than {DEEPEST} deep")));
        }
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn atom(&mut self) -> Reading<Expr> {
        let (at, name) = self.word("a register, a location or `(`")?;
        let Some(component) = self.component(name) else {
            let known = &self.parsed.names.observed;
            let like = nearest(name, known.iter().map(String::as_str));
            let like = like.map_or(String::new(), |like| format!(" (did you mean `{like}`?)"));
            let known = known.join(", ");
            let message = format!("no `{name}` in the final states{like}: expected {known}");
            return Err(self.error(at, &message));
        };
        let op = if self.eat("!=") || self.eat("<>") {
            BinOp::Ne
        } else if self.rest().starts_with("==") || !self.eat("=") {
            return Err(self.expected("`=` and a value"));
        } else {
            BinOp::Eq
        };
        let (at, word) = self.word("a value")?;
        let value = self.value(component, word).ok_or_else(|| {
            let message = format!("`{word}` is no value: expected a number, as in `x=1; y=0`");
            self.error(at, &message)
        })?;
        Ok(Expr::binary(op, Expr::Reg(RegId::new(component)), value))
    }

    /// What stands until the next operator, and where.
    fn word(&mut self, expected: &str) -> Reading<(usize, &'a str)> {
        let rest = self.rest();
        let operators = ["/\\", "\\/", "=>", "<>", "!="];
        let ends = |(i, c): &(usize, char)| {
            c.is_whitespace()
                || "()=;,~".contains(*c)
                || operators.iter().any(|op| rest[*i..].starts_with(op))
        };
        let end = rest.char_indices().find(ends).map_or(rest.len(), |(i, _)| i);
        if end == 0 {
            return Err(self.expected(expected));
        }
        let at = self.at;
        self.at += end;
        Ok((at, &rest[..end]))
    }

    /// The component that is called so: `x`, `[x]` and `*x` are the same.
    fn component(&self, name: &str) -> Option<usize> {
        let names = &self.parsed.names.observed;
        let is = |wanted: &str| names.iter().position(|n| n == wanted);
        let inner = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
        let inner = inner.or_else(|| name.strip_prefix('*'));
        let any_case =
            || names.iter().position(|n| n.contains(':') && n.eq_ignore_ascii_case(name));
        is(name).or_else(|| is(inner?)).or_else(any_case)
    }

    /// A number as the component has it, an address, or `[y]`, the value of another component.
    fn value(&self, component: usize, word: &str) -> Option<Expr> {
        if let Some(number) = number(word) {
            return Some(Expr::Const(
                self.parsed.program.observed.get(component)?.view.apply(number),
            ));
        }
        let names = &self.parsed.names;
        let location = word.strip_prefix('&').unwrap_or(word);
        let location = names.locs.iter().position(|n| n == location);
        let address = location.and_then(|loc| self.parsed.program.address(LocId::new(loc)));
        match address {
            Some(address) => Some(Expr::Const(address)),
            None => self.component(word).map(|other| Expr::Reg(RegId::new(other))),
        }
    }
}

/// A decimal or hexadecimal number of 64 bits, with a sign or without.
fn number(word: &str) -> Option<Value> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let value = match hex {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse::<u64>().ok()?,
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || hex.is_some_and(|h| h.starts_with('+'))
    {
        return None;
    }
    match negative {
        true => 0i64.checked_sub_unsigned(value),
        false => Some(value.cast_signed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    const TEST: &str = "X86_64 T\n{ uint64_t x; int8_t y; p=x; uint64_t 1:rax; }\n P0 | P1 ;\n movq $1,(x) | movq (x),%rax ;\nlocations [x; y; p; 1:rax; 0:eax]\n";

    fn asked(text: &str) -> Result<AskedState, String> {
        crate::parse(Format::Litmus, TEST).expect("a test").asked_state(text)
    }

    /// Which of these states, in the order of the names, are meant.
    fn states(text: &str) -> Vec<usize> {
        let asked = asked(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        // 0:eax, 1:rax, p, x, y
        let all = [[0, 0, 0, 0, 0], [1, -1, 0, 1, -1], [0, 1, 0, 2, 0], [1, 2, 0, 2, 1]];
        (0..all.len()).filter(|&i| asked.prop.holds(&all[i])).collect()
    }

    #[test]
    fn spellings() {
        for text in [
            "0:eax=1; x=2",
            "0:eax=1 /\\ x=2",
            "0:EAX = 1, [x] = 0x2;",
            "exists (0:eax=1 /\\ [x]=2)",
            "~exists ((0:eax=1) /\\ *x=2)",
            "not exists 0:eax=1/\\x=2",
            "forall (0:eax=1 => x!=2)",
            "~(0:eax=0) /\\ ~ x<>2",
            "not (0:eax!=1 \\/ x=0 \\/ x=1)",
            "(0:eax=1; x=2)",
            "true /\\ x=2 /\\ (false \\/ 0:eax=1)",
        ] {
            assert_eq!(states(text), [3], "{text}");
        }
        assert_eq!(states("x=[1:rax]"), [0, 3]);
        assert_eq!(states("1:rax=18446744073709551615"), [1]);
        assert_eq!(states("y=255 \\/ y=0"), [0, 1, 2]);
        assert_eq!(states(""), [0, 1, 2, 3]);
    }

    #[test]
    fn values_that_are_said() {
        let components = |text| asked(text).expect("a state").components;
        assert_eq!(components("exists (x=1 /\\ (1:rax=0))"), Some(vec![(1, 0), (3, 1)]));
        assert_eq!(components("x=1 \\/ 1:rax=0"), None);
        assert_eq!(components("x!=1"), None);
        assert_eq!(asked("exists (x=1);").expect("a state").text, "(x=1)");
    }

    #[test]
    fn errors_have_columns() {
        for (text, why) in [
            ("x=1 and y=1", "column 5: expected `/\\`, `\\/`, `=>` or `;`, found `and`"),
            ("x=1 /\\ (y=1", "column 12: expected `/\\`, `\\/`, `=>` or `)`, found the end"),
            ("exists x=1)", "column 11: expected `/\\`, `\\/`, `=>` or `;`, found `)`"),
            ("z=1", "column 1: no `z` in the final states: expected 0:eax, 1:rax, p, x, y"),
            ("x==1", "column 2: expected `=` and a value, found `==1`"),
            ("x=", "column 3: expected a value, found the end"),
            ("x", "column 2: expected `=` and a value, found the end"),
            ("x=1 /\\ y=q", "column 10: `q` is no value: expected a number, as in `x=1; y=0`"),
            (
                "x=99999999999999999999",
                "column 3: `99999999999999999999` is no value: expected a number, as in `x=1; y=0`",
            ),
        ] {
            assert_eq!(asked(text), Err(why.to_owned()), "{text}");
        }
        let deep = format!("{}x=1", "(".repeat(1_000_000));
        assert!(asked(&deep).is_err_and(|why| why.ends_with("nested more than 200 deep")));
        assert!(asked(&"~".repeat(1_000_000)).is_err());
    }
}
