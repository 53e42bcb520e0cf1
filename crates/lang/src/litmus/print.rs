//! Syntax tree to text: one form for each test, with columns that line up. Comments are not in
//! the tree and are lost; everything else comes back.

use std::fmt::Write as _;

use weakspot_core::Quantifier;

use super::ast::{
    Atom, CType, Cell, Frame, HeaderLine, InitItem, InitValue, Listed, Prop, RegRef, Symbol, Table,
    Target, Term,
};

/// Initial states that fit into this many columns stand on one line.
const WIDTH: usize = 80;

/// What stands before the code.
pub(super) fn head(frame: &Frame) -> String {
    let mut out = format!("{} {}", frame.arch.name(), frame.name);
    if let Some(label) = &frame.label {
        // A `*` right after the parenthesis would begin a comment.
        let blank = if label.starts_with('*') { " " } else { "" };
        put(&mut out, format_args!(" ({blank}{label})"));
    }
    out.push('\n');
    if let Some(doc) = &frame.doc {
        put(&mut out, format_args!("\"{doc}\"\n"));
    }
    for line in &frame.header {
        match line {
            HeaderLine::Info { key, value } => put(&mut out, format_args!("{key}={value}\n")),
            HeaderLine::Text(text) => put(&mut out, format_args!("{text}\n")),
        }
    }
    out.push_str(&init(frame));
    out
}

/// What stands behind the code.
pub(super) fn tail(frame: &Frame) -> String {
    let mut out = String::new();
    if !frame.locations.is_empty() {
        let items: Vec<String> = frame.locations.iter().map(listed).collect();
        put(&mut out, format_args!("locations [{};]\n", items.join("; ")));
    }
    if let Some(filter) = &frame.filter {
        put(&mut out, format_args!("filter {}\n", prop(filter)));
    }
    if let Some(condition) = &frame.condition {
        let quantifier = quantifier(condition.quantifier);
        put(&mut out, format_args!("{quantifier} {}\n", prop(&condition.prop)));
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

pub(super) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

fn init(frame: &Frame) -> String {
    let items: Vec<String> = frame.init.iter().map(|i| init_item(i) + ";").collect();
    if items.is_empty() {
        return "{}\n".to_owned();
    }
    let line = format!("{{ {} }}\n", items.join(" "));
    if line.len() <= WIDTH {
        return line;
    }
    format!("{{\n {}\n}}\n", items.join("\n "))
}

fn init_item(item: &InitItem) -> String {
    let mut out = item.ctype.as_ref().map(ctype).unwrap_or_default();
    match &item.target {
        Target::Reg(r) => out.push_str(&reg_ref(r)),
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

fn reg_ref(r: &RegRef) -> String {
    format!("{}:{}", r.thread, r.reg)
}

pub(super) fn symbol(s: &Symbol) -> String {
    match s.index {
        Some(index) => format!("{}[{index}]", s.name),
        None => s.name.clone(),
    }
}

fn listed(item: &Listed) -> String {
    let behind = match &item.ctype {
        Some(t) if t.pointer && t.name.is_empty() => "*".to_owned(),
        Some(t) => format!(" {}{}", t.name, if t.pointer { "*" } else { "" }),
        None => String::new(),
    };
    term(&item.what) + &behind
}

fn prop(p: &Prop) -> String {
    let join = |parts: &[Prop], with: &str| parts.iter().map(prop).collect::<Vec<_>>().join(with);
    match p {
        Prop::True => "true".to_owned(),
        Prop::False => "false".to_owned(),
        Prop::Atom(Atom { left, right, negated }) => {
            let sign = if *negated { "!=" } else { "=" };
            format!("{}{sign}{}", term(left), term(right))
        }
        Prop::Not(inner) => format!("not {}", prop(inner)),
        Prop::And(parts) => join(parts, " /\\ "),
        Prop::Or(parts) => join(parts, " \\/ "),
        Prop::Implies(left, right, _) => format!("{} => {}", prop(left), prop(right)),
        Prop::Paren(inner) => format!("({})", prop(inner)),
    }
}

fn term(t: &Term) -> String {
    match t {
        Term::Number(n, _) => n.to_string(),
        Term::Reg(r) => reg_ref(r),
        Term::Name(s) => symbol(s),
        Term::Content(s) => format!("[{}]", symbol(s)),
        Term::Address(s) => format!("&{}", symbol(s)),
        Term::List(terms, _) => {
            format!("{{{}}}", terms.iter().map(term).collect::<Vec<_>>().join(","))
        }
    }
}

/// The head of the columns and the rows.
pub(super) fn table<I>(table: &Table<I>, instruction: impl Fn(&I) -> String) -> String {
    let head = table.threads.iter().map(|t| format!("P{}", t.id)).collect::<Vec<_>>();
    let rows = table.rows.iter().map(|row| row.iter().map(|c| cell(c, &instruction)).collect());
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let mut widths = vec![0; table.threads.len()];
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

fn cell<I>(cell: &Cell<I>, instruction: impl Fn(&I) -> String) -> String {
    let labels = cell.labels.iter().map(|l| format!("{}:", l.text));
    labels.chain(cell.instr.as_ref().map(instruction)).collect::<Vec<_>>().join(" ")
}
