//! Help for the tests of all languages: a language as a value whose every use is checked, programs
//! as short text, and broken versions of good texts.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Drain, Expr, Fence, Instr, Model, Names, Observable, Program, UnOp};

use crate::{Diagnostic, Parsed};

/// The three models, PSO in its strict reading.
pub(crate) const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso(Drain::All)];

/// The three functions that make up a language.
pub(crate) struct Language<T> {
    /// Text to tree.
    pub(crate) parse: fn(&str) -> Result<T, Diagnostic>,
    /// Tree to text.
    pub(crate) print: fn(&T) -> String,
    /// Tree to program.
    pub(crate) compile: fn(&T) -> Result<Parsed, Diagnostic>,
}

impl<T: Debug + PartialEq> Language<T> {
    /// What becomes of a text, any text: a printed tree has to be the tree again, programs have to
    /// be well-formed, and what is said has to have a place in the text.
    #[track_caller]
    pub(crate) fn read(&self, text: &str) -> Result<Parsed, Diagnostic> {
        let result = (self.parse)(text).and_then(|tree| {
            let printed = (self.print)(&tree);
            match (self.parse)(&printed) {
                Ok(again) => assert_eq!(again, tree, "{text}\nis printed as\n{printed}"),
                Err(d) => panic!("{} in\n{printed}\nprinted from\n{text}", describe(&printed, &d)),
            }
            (self.compile)(&tree)
        });
        match &result {
            Err(refused) => assert_in_text(text, refused),
            Ok(parsed) => {
                assert_well_formed(&parsed.program, &parsed.names);
                parsed.warnings.iter().for_each(|w| assert_in_text(text, w));
            }
        }
        result
    }

    /// The program of a text that has to be accepted.
    #[track_caller]
    pub(crate) fn accept(&self, text: &str) -> Parsed {
        match self.read(text) {
            Ok(parsed) => parsed,
            Err(d) => panic!("{} in\n{text}", describe(text, &d)),
        }
    }

    /// What is said about a text that has to be refused.
    #[track_caller]
    pub(crate) fn refuse(&self, text: &str) -> Diagnostic {
        match self.read(text) {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(refused) => refused,
        }
    }

    /// What is said about a text that has to be accepted.
    #[track_caller]
    pub(crate) fn warnings(&self, text: &str) -> Vec<String> {
        self.accept(text).warnings.iter().map(|w| describe(text, w)).collect()
    }
}

/// Where a diagnostic points, what it says, and its hint.
pub(crate) fn describe(text: &str, d: &Diagnostic) -> String {
    let (line, column) = d.span.line_column(text);
    let marked = &text[d.span.start as usize..d.span.end as usize];
    let help = d.help.as_ref().map_or(String::new(), |h| format!(" ({h})"));
    format!("{line}:{column} `{marked}` {}{help}", d.message)
}

/// The texts of the instructions of a program, in the order of its edges, repeats left out.
pub(crate) fn spans<'t>(text: &'t str, program: &Program) -> Vec<&'t str> {
    let points = program.threads.iter().flat_map(|t| &t.points);
    let spans = points.flat_map(|p| &p.edges).map(|e| e.span);
    let mut pieces: Vec<&str> = spans.map(|s| &text[s.start as usize..s.end as usize]).collect();
    pieces.dedup();
    pieces
}

/// A program as lines of the form `thread: point -> point: instruction`. Unnamed points are
/// numbered, and lines of threads that are alike are not merged.
pub(crate) fn show(parsed: &Parsed) -> String {
    let Parsed { program, names, .. } = parsed;
    let mut lines = Vec::new();
    for (l, loc) in program.locs.iter().enumerate() {
        let range = loc.range.map_or(String::new(), |(low, high)| format!(" in {low}..{high}"));
        lines.push(format!("[{}] {} = {:?}{range}", loc.addr, names.locs[l], loc.init));
    }
    for (t, thread) in program.threads.iter().enumerate() {
        let entry = point(names, t, thread.entry.index());
        let regs: Vec<String> =
            names.regs[t].iter().zip(&thread.regs).map(|(n, v)| format!(" {n}={v}")).collect();
        lines.push(format!("{} at {entry}{}", names.threads[t], regs.concat()));
        for (p, from) in thread.points.iter().enumerate() {
            for edge in &from.edges {
                let (from, to) = (point(names, t, p), point(names, t, edge.to.index()));
                lines.push(format!("  {from} -> {to}: {}", show_instr(parsed, t, &edge.instr)));
            }
        }
    }
    for combination in &program.forbidden {
        let row: Vec<String> = combination
            .iter()
            .enumerate()
            .map(|(t, p)| p.map_or("*".to_owned(), |p| point(names, t, p.index())))
            .collect();
        lines.push(format!("forbidden {}", row.join(" ")));
    }
    lines.join("\n")
}

fn point(names: &Names, thread: usize, point: usize) -> String {
    match names.points[thread][point].as_str() {
        "" => point.to_string(),
        name => name.to_owned(),
    }
}

/// An instruction of thread `t`; memory is written in brackets.
pub(crate) fn show_instr(parsed: &Parsed, t: usize, instr: &Instr) -> String {
    let regs = &parsed.names.regs[t];
    let e = |e: &Expr| show_expr(parsed, regs, e);
    match instr {
        Instr::Nop => "nop".to_owned(),
        Instr::Assign { reg, value } => format!("{} := {}", regs[reg.index()], e(value)),
        Instr::Choose { reg, low, high } => format!("{} := {low}..{high}", regs[reg.index()]),
        Instr::Assume(c) => format!("assume {}", e(c)),
        Instr::Assert(c) => format!("assert {}", e(c)),
        Instr::Load { reg, addr } => format!("{} := [{}]", regs[reg.index()], e(addr)),
        Instr::Store { addr, value } => format!("[{}] := {}", e(addr), e(value)),
        Instr::Update { reg, addr, value } => {
            format!("{} := [{}] := {}", regs[reg.index()], e(addr), e(value))
        }
        Instr::Fence(Fence::Full) => "fence".to_owned(),
        Instr::Fence(Fence::StoreStore) => "fence.ss".to_owned(),
        Instr::Lock => "lock".to_owned(),
        Instr::Unlock => "unlock".to_owned(),
    }
}

/// An expression over registers with the names `regs`.
pub(crate) fn show_expr(parsed: &Parsed, regs: &[String], expr: &Expr) -> String {
    let e = |e: &Expr| show_expr(parsed, regs, e);
    match expr {
        Expr::Const(v) => match parsed.program.loc_at(*v) {
            Some(loc) if parsed.names.addresses_are_symbolic => parsed.names.loc(loc).to_owned(),
            _ => v.to_string(),
        },
        Expr::Reg(r) => regs[r.index()].clone(),
        Expr::Unary(UnOp::Neg, x) => format!("-{}", e(x)),
        Expr::Unary(UnOp::Not, x) => format!("!{}", e(x)),
        Expr::Unary(UnOp::ZeroExtend(bits), x) => format!("u{bits}({})", e(x)),
        Expr::Unary(UnOp::SignExtend(bits), x) => format!("i{bits}({})", e(x)),
        Expr::Unary(op, x) => format!("{op:?}({})", e(x)),
        Expr::Binary(op, l, r) => format!("({} {} {})", e(l), op.symbol(), e(r)),
        Expr::Select(parts) => {
            let (c, yes, no) = &**parts;
            format!("({} ? {} : {})", e(c), e(yes), e(no))
        }
    }
}

/// Calls `check` with `rounds` broken versions of `texts` (as many with a quarter of random inputs), the same
/// ones each time: pieces deleted,
/// doubled, moved, replaced by pieces of any of the texts or of `extra`, and bytes replaced by any
/// bytes. Then with all beginnings and ends of the first text.
pub(crate) fn for_each_mutation(
    texts: &[&str],
    extra: &[&str],
    rounds: usize,
    mut check: impl FnMut(&str),
) {
    let mut check = |text: &str| {
        // A parser that panics does not say on what.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(text))) {
            let words = panic.downcast_ref::<&str>().copied();
            let words = words.or(panic.downcast_ref::<String>().map(String::as_str));
            panic!("{} on {text:?}", words.unwrap_or("panicked"));
        }
    };
    let pieces: Vec<&str> =
        texts.iter().flat_map(|t| words(t)).chain(extra.iter().copied()).collect();
    for seed in 0..scaled(4 * rounds) as u64 {
        let mut rng = Rng::new(seed);
        let mut bytes = texts[rng.below(texts.len())].as_bytes().to_vec();
        for _ in 0..=rng.below(3) {
            let start = rng.below(bytes.len() + 1);
            let end = (start + rng.below(12)).min(bytes.len());
            let piece = pieces[rng.below(pieces.len())];
            match rng.below(7) {
                0 => drop(bytes.drain(start..end)),
                1 => {
                    let copy = bytes[start..end].to_vec();
                    bytes.splice(start..start, copy);
                }
                2 => {
                    let piece: Vec<u8> = bytes.drain(start..end).collect();
                    let at = rng.below(bytes.len() + 1);
                    bytes.splice(at..at, piece);
                }
                3 => drop(bytes.splice(start..start, piece.bytes())),
                4 => drop(bytes.splice(start..end, piece.bytes())),
                5 => {
                    // A whole word for another one.
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let mut words = words(&text);
                    if !words.is_empty() {
                        let at = rng.below(words.len());
                        words[at] = piece;
                        bytes = words.concat().into_bytes();
                    }
                }
                _ => drop(bytes.splice(start..end.min(start + 1), [rng.next_u64() as u8])),
            }
        }
        check(&String::from_utf8_lossy(&bytes));
    }
    for at in (0..=texts[0].len()).filter(|&at| texts[0].is_char_boundary(at)) {
        check(&texts[0][..at]);
        check(&texts[0][at..]);
    }
}

/// The text cut into words, blanks and signs.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = |c: char| c.is_alphanumeric() || c == '_';
        let len = match in_word(first) {
            true => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        words.push(&rest[..len]);
        rest = &rest[len..];
    }
    words
}

/// A span that can be shown: inside the text and at character boundaries.
fn assert_in_text(text: &str, d: &Diagnostic) {
    let (start, end) = (d.span.start as usize, d.span.end as usize);
    assert!(start <= end && text.get(start..end).is_some(), "{d:?} in {text:?}");
    assert!(!d.message.is_empty());
}

/// The edges of a program stay within its points and registers.
fn assert_well_formed(program: &Program, names: &Names) {
    assert_eq!(program.threads.len(), names.threads.len());
    let places = program.locs.len() + program.wides.len();
    assert_eq!(places, names.locs.len());
    assert!(program.locs.is_sorted_by(|a, b| a.addr < b.addr));
    assert!(program.wides.is_sorted_by(|a, b| a.addr < b.addr));
    for wide in &program.wides {
        assert!(program.locs.iter().all(|l| l.addr != wide.addr));
        assert!(wide.cells.iter().all(|part| part.loc.index() < program.locs.len()));
        let bits: u32 = wide.cells.iter().map(|part| u32::from(part.bits)).sum();
        assert!((8..=64).contains(&bits));
    }
    for (t, thread) in program.threads.iter().enumerate() {
        assert_eq!(thread.regs.len(), names.regs[t].len());
        assert_eq!(thread.points.len(), names.points[t].len());
        assert!(thread.entry.index() < thread.points.len());
        for edge in thread.points.iter().flat_map(|p| &p.edges) {
            assert!(edge.to.index() < thread.points.len());
            let (reg, exprs) = match &edge.instr {
                Instr::Assign { reg, value: e } | Instr::Load { reg, addr: e } => {
                    (Some(reg), vec![e])
                }
                Instr::Assume(e) | Instr::Assert(e) => (None, vec![e]),
                Instr::Store { addr, value } => (None, vec![addr, value]),
                Instr::Update { reg, addr, value } => (Some(reg), vec![addr, value]),
                Instr::Choose { reg, low, high } => {
                    assert!(low <= high);
                    (Some(reg), Vec::new())
                }
                Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => (None, Vec::new()),
            };
            assert!(reg.is_none_or(|r| r.index() < thread.regs.len()));
            exprs.into_iter().for_each(|e| assert_registers(e, thread.regs.len()));
        }
    }
    assert_eq!(program.observed.len(), names.observed.len());
    for seen in &program.observed {
        assert!(match seen.what {
            Observable::Reg(t, r) => r.index() < program.threads[t.index()].regs.len(),
            Observable::Loc(l) => l.index() < places,
        });
    }
    if let Some(condition) = &program.condition {
        assert_registers(&condition.prop, program.observed.len());
    }
    for row in &program.forbidden {
        assert_eq!(row.len(), program.threads.len());
        for (t, p) in row.iter().enumerate() {
            assert!(p.is_none_or(|p| p.index() < program.threads[t].points.len()));
        }
    }
}

/// The registers of an expression exist.
fn assert_registers(e: &Expr, count: usize) {
    e.for_each_reg(&mut |r| assert!(r.index() < count, "{r:?} of {count}"));
}
