//! How the parts of a program are written for people: names where there are some, source text
//! where there is some, and a rendering of the instruction where there is none.

use std::borrow::Cow;

use weakspot_core::{
    Edge, Expr, Fence, HistoryModel, Instr, Names, Program, RegId, Span, ThreadId, UnOp, Value,
};

use crate::run::object::RunValue;

/// The name of the model, or models, with these keys of JSON.
pub(crate) fn named_models(keys: &str) -> String {
    let name = |key: &str| match HistoryModel::from_key(key) {
        Some(model) => model.name().to_owned(),
        // Those of transactions are words.
        None => key.replace('-', " "),
    };
    keys.split(',').map(name).collect::<Vec<_>>().join(",")
}

/// Where the lines of a text begin, for those who ask about many places: [`Span::line_column`] counts from
/// the beginning each time.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Lines<'a> {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Lines { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Line and column of the beginning of a piece of the text, from 1; columns count characters.
    pub(crate) fn line_column(&self, span: Span) -> (usize, usize) {
        let mut at = (span.start as usize).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.starts.partition_point(|&start| start <= at);
        (line, self.text[self.starts[line - 1]..at].chars().count() + 1)
    }

    /// The line of the last character of a piece of the text.
    pub(crate) fn last_line(&self, span: Span) -> usize {
        let last = (span.end as usize).saturating_sub(1).max(span.start as usize);
        self.starts.partition_point(|&start| start <= last)
    }
}

/// A program with its names and its text.
#[derive(Clone, Copy)]
pub(crate) struct Show<'a> {
    /// Where the text is, if that is known.
    pub(crate) file: &'a str,
    pub(crate) program: &'a Program,
    pub(crate) names: &'a Names,
    pub(crate) source: &'a str,
}

/// Expressions nested deeper than this are cut; nobody reads them in a drawing.
const MAX_DEPTH: usize = 8;

impl<'a> Show<'a> {
    pub(crate) fn thread(&self, thread: ThreadId) -> Cow<'a, str> {
        thread_name(self.names, thread)
    }

    pub(crate) fn reg(&self, thread: ThreadId, reg: RegId) -> Cow<'a, str> {
        let names = self.names.regs.get(thread.index());
        match names.and_then(|regs| regs.get(reg.index())).filter(|name| !name.is_empty()) {
            Some(name) => plain(name),
            None => format!("r{}", reg.0).into(),
        }
    }

    /// The cell at an address: its name, or `[addr]`.
    pub(crate) fn cell(&self, addr: Value) -> Cow<'a, str> {
        let name = self.program.loc_at(addr).and_then(|l| self.names.locs.get(l.index()));
        match name.filter(|name| !name.is_empty()) {
            Some(name) => plain(name),
            None => format!("[{addr}]").into(),
        }
    }

    /// `x=1`.
    pub(crate) fn cell_value(&self, addr: Value, value: Value) -> String {
        format!("{}={}", self.cell(addr), self.value_at(addr, value))
    }

    /// A value of the cell at an address, as it is declared.
    pub(crate) fn value_at(&self, addr: Value, value: Value) -> RunValue {
        let loc = self.program.loc_at(addr);
        self.typed(value, loc.is_some_and(|loc| self.names.unsigned.loc(loc)))
    }

    /// A value of a register, as it is declared.
    pub(crate) fn value_of(&self, thread: ThreadId, reg: RegId, value: Value) -> RunValue {
        self.typed(value, self.names.unsigned.reg(thread, reg))
    }

    fn typed(&self, value: Value, is_unsigned: bool) -> RunValue {
        match location_name(self.program, self.names, value) {
            Some(name) => RunValue::Name(plain(name).into_owned()),
            None if is_unsigned => RunValue::Unsigned(value.cast_unsigned()),
            None => RunValue::Number(value),
        }
    }

    pub(crate) fn value(&self, value: Value) -> String {
        let mut text = String::new();
        push_value(&mut text, self.program, self.names, value);
        text
    }

    /// The instruction as it stands in the source, on one line.
    pub(crate) fn instr(&self, thread: ThreadId, edge: &Edge) -> String {
        let text = one_line(clip(self.source, edge.span));
        if text.is_empty() { self.rendered(thread, &edge.instr) } else { text }
    }

    /// The file that steps are said to be in: one of a language in which people look for lines of files.
    pub(crate) fn source_file(&self) -> Option<String> {
        self.file.ends_with(".c").then(|| plain(self.file).into_owned())
    }

    /// The line on which a piece of source starts, if there is such a piece.
    pub(crate) fn line(&self, span: Span) -> Option<usize> {
        let text = clip(self.source, span);
        (!text.is_empty()).then(|| span.line_column(self.source).0)
    }

    fn rendered(&self, thread: ThreadId, instr: &Instr) -> String {
        let reg = |r: &RegId| self.reg(thread, *r);
        let expr = |e: &Expr| self.expr(thread, e, 0);
        let cell = |e: &Expr| match e {
            Expr::Const(addr) => self.cell(*addr).into_owned(),
            e => format!("[{}]", self.expr(thread, e, 0)),
        };
        match instr {
            Instr::Nop => "nop".to_owned(),
            Instr::Assign { reg: r, value } => format!("{} := {}", reg(r), expr(value)),
            Instr::Choose { reg: r, low, high } => format!("{} := {low}..{high}", reg(r)),
            Instr::Assume(e) => format!("assume {}", expr(e)),
            Instr::Assert(e) => format!("assert {}", expr(e)),
            Instr::Load { reg: r, addr } => format!("{} := {}", reg(r), cell(addr)),
            Instr::Store { addr, value } => format!("{} := {}", cell(addr), expr(value)),
            Instr::Update { reg: r, addr, value } => {
                format!("atomic {0} := {1}; {1} := {2}", reg(r), cell(addr), expr(value))
            }
            Instr::Fence(Fence::Full) => "fence".to_owned(),
            Instr::Fence(Fence::StoreStore) => "store-store fence".to_owned(),
            Instr::Lock => "lock".to_owned(),
            Instr::Unlock => "unlock".to_owned(),
        }
    }

    fn expr(&self, thread: ThreadId, e: &Expr, depth: usize) -> String {
        if depth > MAX_DEPTH {
            return "...".to_owned();
        }
        let inner = |e| self.expr(thread, e, depth + 1);
        match e {
            Expr::Const(v) => self.value(*v),
            Expr::Reg(r) => self.reg(thread, *r).into_owned(),
            Expr::Unary(UnOp::ZeroExtend(bits), e) => format!("zero{bits}({})", inner(e)),
            Expr::Unary(UnOp::SignExtend(bits), e) => format!("sign{bits}({})", inner(e)),
            Expr::Unary(UnOp::Neg, e) => format!("-{}", inner(e)),
            Expr::Unary(UnOp::Not, e) => format!("!{}", inner(e)),
            Expr::Unary(UnOp::BitNot, e) => format!("~{}", inner(e)),
            Expr::Binary(op, l, r) => {
                let text = format!("{} {} {}", inner(l), op.symbol(), inner(r));
                if depth == 0 { text } else { format!("({text})") }
            }
            Expr::Select(parts) => {
                let (c, t, e) = &**parts;
                format!("({} ? {} : {})", inner(c), inner(t), inner(e))
            }
        }
    }
}

pub(crate) fn thread_name(names: &Names, thread: ThreadId) -> Cow<'_, str> {
    match names.threads.get(thread.index()).filter(|name| !name.is_empty()) {
        Some(name) => plain(name),
        None => format!("P{}", thread.0).into(),
    }
}

/// The name of the location whose address `value` is, where addresses are shown as names.
pub(crate) fn location_name<'a>(
    program: &Program,
    names: &'a Names,
    value: Value,
) -> Option<&'a str> {
    if !names.addresses_are_symbolic {
        return None;
    }
    names.locs.get(program.loc_at(value)?.index()).map(String::as_str)
}

/// Appends a value, or the name of the location that it points to.
pub(crate) fn push_value(out: &mut String, program: &Program, names: &Names, value: Value) {
    match location_name(program, names, value) {
        Some(name) => out.push_str(&plain(name)),
        None => push_integer(out, value),
    }
}

/// Appends the value of an observed component of a final state, as its type has it.
pub(crate) fn push_observed(
    out: &mut String,
    program: &Program,
    names: &Names,
    (component, value): (usize, Value),
) {
    match (location_name(program, names, value), unsigned(program, component, value)) {
        (Some(name), _) => out.push_str(&plain(name)),
        (None, Some(number)) => push_digits(out, number),
        (None, None) => push_integer(out, value),
    }
}

/// The value of an observed component of a final state, as its type has it.
pub(crate) fn observed_value(
    program: &Program,
    names: &Names,
    (component, value): (usize, Value),
) -> RunValue {
    match (location_name(program, names, value), unsigned(program, component, value)) {
        (Some(name), _) => RunValue::Name(name.to_owned()),
        (None, Some(number)) => RunValue::Unsigned(number),
        (None, None) => RunValue::Number(value),
    }
}

fn unsigned(program: &Program, component: usize, value: Value) -> Option<u64> {
    program.observed.get(component)?.view.unsigned(value)
}

/// Appends a number. The formatting machinery takes several times as long, and there may be
/// millions of numbers.
fn push_integer(out: &mut String, value: Value) {
    if value < 0 {
        out.push('-');
    }
    push_digits(out, value.unsigned_abs());
}

fn push_digits(out: &mut String, mut rest: u64) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while rest > 0 || at == digits.len() {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// The piece of `text` that `span` covers, as far as it lies in the text.
pub(crate) fn clip(text: &str, span: Span) -> &str {
    let start = text.floor_char_boundary(span.start as usize);
    let end = text.ceil_char_boundary(span.end as usize);
    if start < end { &text[start..end] } else { "" }
}

/// The text with runs of white space made one space.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&plain(word));
    }
    out
}

/// The text without anything that a terminal would obey instead of showing it.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    let bad =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.contains(bad) { text.replace(bad, "\u{fffd}").into() } else { text.into() }
}

/// A number with its noun.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n.into()), if n == 1 { "" } else { "s" })
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(n: u128) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_spans() {
        for text in ["", "\n", "a", "a\nbä\n\nc", "ä\r\nö", "x\n"] {
            let lines = Lines::new(text);
            for at in 0..=text.len() + 2 {
                let span = Span::new(at, at);
                assert_eq!(lines.line_column(span), span.line_column(text), "{text:?} at {at}");
            }
        }
    }

    #[test]
    fn integers() {
        for value in [0, 1, 9, 10, -1, -10, 1234567890, Value::MAX, Value::MIN] {
            let mut text = String::new();
            push_integer(&mut text, value);
            assert_eq!(text, value.to_string());
        }
    }

    #[test]
    fn pieces_of_text() {
        let text = "a é\u{1b}[31m\tb\r\n  c";
        let check = |start, end, expected: &str| {
            assert_eq!(one_line(clip(text, Span { start, end })), expected);
        };
        check(0, 1, "a");
        check(0, 100, "a é\u{fffd}[31m b c");
        check(3, 4, "é");
        check(5, 3, "");
        check(90, u32::MAX, "");
    }
}
