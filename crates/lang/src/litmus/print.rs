//! Syntax tree to text: one form for each test, with columns that line up. Comments are not in
//! the tree and are lost; everything else comes back.

use std::fmt::Write as _;

use weakspot_core::Quantifier;

use super::ast::{
    Arch, Atom, CType, Cell, HeaderLine, InitItem, InitValue, Instruction, Listed, Mem, MemStyle,
    Operand, Prop, RegRef, Symbol, Target, Term, Test,
};
use super::registers::Register;

/// Initial states that fit into this many columns stand on one line.
const WIDTH: usize = 80;

/// The test as text.
#[must_use]
pub fn print(test: &Test) -> String {
    let mut out = format!("{} {}", test.arch.name(), test.name);
    if let Some(label) = &test.label {
        // A `*` right after the parenthesis would begin a comment.
        let blank = if label.starts_with('*') { " " } else { "" };
        put(&mut out, format_args!(" ({blank}{label})"));
    }
    out.push('\n');
    if let Some(doc) = &test.doc {
        put(&mut out, format_args!("\"{doc}\"\n"));
    }
    for line in &test.header {
        match line {
            HeaderLine::Info { key, value } => put(&mut out, format_args!("{key}={value}\n")),
            HeaderLine::Text(text) => put(&mut out, format_args!("{text}\n")),
        }
    }
    out.push_str(&init(test));
    out.push_str(&table(test));
    if !test.locations.is_empty() {
        let items: Vec<String> = test.locations.iter().map(|l| listed(test.arch, l)).collect();
        put(&mut out, format_args!("locations [{};]\n", items.join("; ")));
    }
    if let Some(condition) = &test.condition {
        let quantifier = quantifier(condition.quantifier);
        put(&mut out, format_args!("{quantifier} {}\n", prop(test.arch, &condition.prop)));
    }
    out
}

/// The word for a quantifier.
pub(super) fn quantifier(q: Quantifier) -> &'static str {
    match q {
        Quantifier::Exists => "exists",
        Quantifier::NotExists => "~exists",
        Quantifier::Forall => "forall",
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

fn init(test: &Test) -> String {
    let items: Vec<String> = test.init.iter().map(|i| init_item(test.arch, i) + ";").collect();
    if items.is_empty() {
        return "{}\n".to_owned();
    }
    let line = format!("{{ {} }}\n", items.join(" "));
    if line.len() <= WIDTH {
        return line;
    }
    format!("{{\n {}\n}}\n", items.join("\n "))
}

fn init_item(arch: Arch, item: &InitItem) -> String {
    let mut out = item.ctype.as_ref().map(ctype).unwrap_or_default();
    match &item.target {
        Target::Reg(r) => out.push_str(&reg_ref(arch, r)),
        Target::Array(s) => out.push_str(&symbol(s)),
        Target::Loc(s) if s.index.is_some() => put(&mut out, format_args!("[{}]", symbol(s))),
        Target::Loc(s) => out.push_str(&s.name),
    }
    if let Some(value) = &item.value {
        put(&mut out, format_args!("={}", init_value(value)));
    }
    out
}

/// The type and what separates it from what follows.
fn ctype(t: &CType) -> String {
    match (t.name.as_str(), t.pointer) {
        ("", _) => "*".to_owned(),
        (name, true) => format!("{name} *"),
        (name, false) => format!("{name} "),
    }
}

fn init_value(value: &InitValue) -> String {
    match value {
        InitValue::Number(n, _) => n.to_string(),
        InitValue::Address(s) => symbol(s),
        InitValue::List(values, _) => {
            format!("{{{}}}", values.iter().map(init_value).collect::<Vec<_>>().join(","))
        }
    }
}

fn reg_ref(arch: Arch, r: &RegRef) -> String {
    format!("{}:{}", r.thread, r.reg.name(arch))
}

fn symbol(s: &Symbol) -> String {
    match s.index {
        Some(index) => format!("{}[{index}]", s.name),
        None => s.name.clone(),
    }
}

/// The head of the columns and the rows.
fn table(test: &Test) -> String {
    let head = test.threads.iter().map(|t| format!("P{}", t.id)).collect::<Vec<_>>();
    let rows = test.rows.iter().map(|row| row.iter().map(|c| cell(test.arch, c)).collect());
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let mut widths = vec![0; test.threads.len()];
    for line in &lines {
        for (width, text) in widths.iter_mut().zip(line) {
            *width = (*width).max(text.chars().count());
        }
    }
    let mut out = String::new();
    for line in &lines {
        for (i, (text, width)) in line.iter().zip(&widths).enumerate() {
            put(&mut out, format_args!("{} {text:width$} ", if i == 0 { "" } else { "|" }));
        }
        out.push_str(";\n");
    }
    out
}

fn cell(arch: Arch, cell: &Cell) -> String {
    let labels = cell.labels.iter().map(|l| format!("{}:", l.text));
    labels.chain(cell.instr.as_ref().map(|i| instruction(arch, i))).collect::<Vec<_>>().join(" ")
}

/// An instruction as text, upper case in X86 and lower case in X86_64.
pub(super) fn instruction(arch: Arch, i: &Instruction) -> String {
    let mut out = String::new();
    if i.lock.is_some() {
        out.push_str("lock ");
    }
    out.push_str(&i.mnemonic);
    if arch == Arch::X86 {
        out.make_ascii_uppercase();
    }
    for (n, o) in i.operands.iter().enumerate() {
        out.push(if n == 0 { ' ' } else { ',' });
        out.push_str(&operand(arch, o));
    }
    out
}

fn operand(arch: Arch, o: &Operand) -> String {
    match o {
        Operand::Reg { reg, percent, .. } => register(arch, *reg, *percent),
        Operand::Number { value, dollar, .. } => {
            format!("{}{value}", if *dollar { "$" } else { "" })
        }
        Operand::Address(s) => format!("${}", symbol(s)),
        Operand::Name(s) => symbol(s),
        Operand::Mem(m) => mem(arch, m),
    }
}

fn register(arch: Arch, reg: Register, percent: bool) -> String {
    format!("{}{}", if percent { "%" } else { "" }, reg.name(arch))
}

fn mem(arch: Arch, m: &Mem) -> String {
    let size = match m.size {
        Some(1) => "BYTE PTR ",
        Some(2) => "WORD PTR ",
        Some(4) => "DWORD PTR ",
        Some(_) => "QWORD PTR ",
        None => "",
    };
    let reg = |r: &Register| register(arch, *r, m.percent);
    match m.style {
        MemStyle::Brackets => {
            let mut terms: Vec<String> = Vec::new();
            terms.extend(m.symbol.as_ref().map(symbol));
            terms.extend(m.base.as_ref().map(reg));
            terms.extend(m.index.as_ref().map(|(r, scale)| format!("{}*{scale}", reg(r))));
            let mut sum = terms.join("+");
            if m.disp != 0 || terms.is_empty() {
                let plus = if terms.is_empty() || m.disp < 0 { "" } else { "+" };
                put(&mut sum, format_args!("{plus}{}", m.disp));
            }
            format!("{size}[{sum}]")
        }
        MemStyle::Parens => {
            let registers = match (&m.base, &m.index) {
                (None, None) => None,
                (Some(base), None) => Some(reg(base)),
                (base, Some((index, scale))) => {
                    let base = base.as_ref().map(reg).unwrap_or_default();
                    Some(format!("{base},{},{scale}", reg(index)))
                }
            };
            let mut front = m.symbol.as_ref().map(symbol).unwrap_or_default();
            if m.disp != 0 || (front.is_empty() && registers.is_none()) {
                let plus = if front.is_empty() || m.disp < 0 { "" } else { "+" };
                put(&mut front, format_args!("{plus}{}", m.disp));
            }
            match registers {
                Some(registers) => format!("{size}{front}({registers})"),
                None => format!("{size}({front})"),
            }
        }
    }
}

fn listed(arch: Arch, item: &Listed) -> String {
    let behind = match &item.ctype {
        Some(t) if t.pointer && t.name.is_empty() => "*".to_owned(),
        Some(t) => format!(" {}{}", t.name, if t.pointer { "*" } else { "" }),
        None => String::new(),
    };
    term(arch, &item.what) + &behind
}

fn prop(arch: Arch, p: &Prop) -> String {
    let join = |parts: &[Prop], with: &str| {
        parts.iter().map(|p| prop(arch, p)).collect::<Vec<_>>().join(with)
    };
    match p {
        Prop::True => "true".to_owned(),
        Prop::False => "false".to_owned(),
        Prop::Atom(Atom { left, right, negated }) => {
            let sign = if *negated { "!=" } else { "=" };
            format!("{}{sign}{}", term(arch, left), term(arch, right))
        }
        Prop::Not(inner) => format!("not {}", prop(arch, inner)),
        Prop::And(parts) => join(parts, " /\\ "),
        Prop::Or(parts) => join(parts, " \\/ "),
        Prop::Implies(left, right, _) => format!("{} => {}", prop(arch, left), prop(arch, right)),
        Prop::Paren(inner) => format!("({})", prop(arch, inner)),
    }
}

fn term(arch: Arch, t: &Term) -> String {
    match t {
        Term::Number(n, _) => n.to_string(),
        Term::Reg(r) => reg_ref(arch, r),
        Term::Name(s) => symbol(s),
        Term::Content(s) => format!("[{}]", symbol(s)),
        Term::Address(s) => format!("&{}", symbol(s)),
        Term::List(terms, _) => {
            format!("{{{}}}", terms.iter().map(|t| term(arch, t)).collect::<Vec<_>>().join(","))
        }
    }
}
