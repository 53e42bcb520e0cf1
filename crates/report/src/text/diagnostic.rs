//! Diagnostics as people see them: the place, the line with a mark under the offending text, what
//! was expected there, and a way out. And what is said of a run that fails.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use weakspot_core::machine::{Failure, FailureKind};
use weakspot_core::{Diagnostic, Expr, Instr, Names, Program, Span, Wide};

use crate::text::show::{Show, plain, thread_name};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is taken, but perhaps not as it was meant.
    Warning,
}

/// Draws a diagnostic about `text`, which is the content of `path`. Whatever the span, this never
/// panics: it is moved into the text, and of several lines only the first is shown. Very long
/// lines are cut around the offending text.
#[must_use]
pub fn render(path: &str, text: &str, d: &Diagnostic, severity: Severity, color: bool) -> String {
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let (shown, line, span) = excerpt(text, d.span);
    let mut mark = AnnotationKind::Primary.span(span);
    if !d.expected.is_empty() {
        mark = mark.label(plain(&d.expected));
    }
    let snippet = Snippet::source(shown).path(plain(path)).line_start(line).annotation(mark);
    let mut group: Group<'_> = level.primary_title(plain(&d.message)).element(snippet);
    if let Some(help) = &d.help {
        group = group.element(Level::HELP.message(plain(help)));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = renderer.render(&[group]);
    out.push('\n');
    out
}

/// The line on which the span starts, its number, and the part of it that the span covers. The
/// renderer cuts long lines and widens tabs; other control characters it must not see.
fn excerpt(text: &str, span: Span) -> (String, usize, Range<usize>) {
    let start = text.floor_char_boundary(span.start as usize);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let line = text[line_start..line_end].trim_end_matches('\r');
    let from = (start - line_start).min(line.len());
    let to = line.ceil_char_boundary((span.end as usize).saturating_sub(line_start)).max(from);
    let clean = |part: &str| part.split('\t').map(plain).collect::<Vec<_>>().join("\t");
    let mut shown = clean(&line[..from]);
    let new_from = shown.len();
    shown.push_str(&clean(&line[from..to]));
    let new_to = shown.len();
    shown.push_str(&clean(&line[to..]));
    (shown, Span::new(start, start).line_column(text).0, new_from..new_to)
}

/// The lines from the first to the second of two spans, the number of the first line, and the parts
/// of them that the spans cover, each on its first line only.
pub(crate) fn excerpt_of_two(text: &str, spans: [Span; 2]) -> (String, usize, [Range<usize>; 2]) {
    let on_one_line = spans.map(|span| {
        let start = text.floor_char_boundary(span.start as usize);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        start..text.ceil_char_boundary(span.end as usize).clamp(start, line_end)
    });
    let [a, b] = &on_one_line;
    let first = text[..a.start.min(b.start)].rfind('\n').map_or(0, |at| at + 1);
    let last = a.end.max(b.end);
    let last = text[last..].find('\n').map_or(text.len(), |at| last + at);
    let mut cuts = vec![a.start, a.end, b.start, b.end, last];
    cuts.sort_unstable();
    let clean = |part: &str| {
        let keep = |c: char| c == '\t' || c == '\n';
        part.split_inclusive(keep)
            .map(|piece| match piece.strip_suffix(keep) {
                Some(head) => {
                    format!("{}{}", plain(head.trim_end_matches('\r')), &piece[head.len()..])
                }
                None => plain(piece.trim_end_matches('\r')).into_owned(),
            })
            .collect::<String>()
    };
    let (mut shown, mut done) = (String::new(), first);
    let mut moved = Vec::new();
    for cut in cuts {
        shown.push_str(&clean(&text[done..cut]));
        done = cut;
        moved.push((cut, shown.len()));
    }
    let to = |old: usize| moved.iter().find(|(cut, _)| *cut == old).map_or(0, |(_, new)| *new);
    let line = Span::new(first, first).line_column(text).0;
    (shown, line, on_one_line.map(|range| to(range.start)..to(range.end)))
}

/// What a run that fails says about the program, at the instruction that failed.
#[must_use]
pub fn failure_diagnostic(program: &Program, names: &Names, failure: &Failure) -> Diagnostic {
    let thread = thread_name(names, failure.thread);
    let (expected, help) = match failure.kind {
        FailureKind::Assertion => (format!("does not hold in some run of {thread}"), None),
        FailureKind::BadAddress(_) => {
            (format!("reached in some run of {thread}"), Some(declared(names)))
        }
        FailureKind::OutOfRange(_) | FailureKind::DivisionByZero => {
            (format!("reached in some run of {thread}"), None)
        }
    };
    let d = Diagnostic::new(failure.span, failure_message(program, names, failure), expected);
    match help {
        Some(help) => d.help(help),
        None => d,
    }
}

/// What went wrong, without the place.
pub(crate) fn failure_message(program: &Program, names: &Names, failure: &Failure) -> String {
    let show = Show { file: "", program, names, source: "" };
    let access = access_at(program, failure);
    match failure.kind {
        FailureKind::Assertion => "the assertion does not hold".to_owned(),
        FailureKind::BadAddress(addr) => {
            let what = match access {
                Some(Instr::Load { .. }) => "load from",
                Some(Instr::Store { .. }) => "store to",
                Some(Instr::Update { .. }) => "atomic update of",
                _ => "access to",
            };
            let addr = if program.wides.is_empty() { addr } else { Wide::first_byte(addr) };
            format!("{what} address {addr}, where no location is declared")
        }
        FailureKind::OutOfRange(value) => {
            let addr = match access {
                Some(Instr::Store { addr, .. } | Instr::Update { addr, .. }) => Some(addr),
                _ => None,
            };
            let loc = match addr {
                Some(Expr::Const(addr)) => program.loc_at(*addr).map(|l| (*addr, l)),
                _ => None,
            };
            let value = show.value(value);
            match loc.and_then(|(addr, l)| Some((addr, program.locs.get(l.index())?.range?))) {
                Some((addr, (low, high))) => {
                    let cell = show.cell(addr);
                    format!("store of {value} to {cell}, whose values are {low} to {high}")
                }
                None => format!("store of {value}, outside of the declared range"),
            }
        }
        FailureKind::DivisionByZero => "division by zero".to_owned(),
    }
}

fn declared(names: &Names) -> String {
    let shown: Vec<_> = names.locs.iter().take(8).map(|name| format!("`{name}`")).collect();
    match names.locs.len() {
        0 => "no location is declared at all".to_owned(),
        n if n > shown.len() => {
            format!("declared are {} and {} more", shown.join(", "), n - shown.len())
        }
        _ => format!("declared are {}", shown.join(", ")),
    }
}

/// The access that stands at the span of the failure: the source of one instruction may have been
/// compiled to several.
fn access_at<'p>(program: &'p Program, failure: &Failure) -> Option<&'p Instr> {
    let mut edges =
        program.threads.get(failure.thread.index())?.points.iter().flat_map(|p| &p.edges);
    let is_access =
        |i: &Instr| matches!(i, Instr::Load { .. } | Instr::Store { .. } | Instr::Update { .. });
    let store_only = matches!(failure.kind, FailureKind::OutOfRange(_));
    edges
        .find(|e| {
            e.span.start < e.span.end
                && e.span == failure.span
                && is_access(&e.instr)
                && !(store_only && matches!(e.instr, Instr::Load { .. }))
        })
        .map(|e| &e.instr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sample::sample;
    use expect_test::{Expect, expect};
    use weakspot_core::ThreadId;
    use weakspot_core::testing::Rng;

    /// The offending text stands between `«` and `»`.
    fn check(marked: &str, expected: Expect) {
        let start = marked.find('«').unwrap();
        let end = marked.find('»').unwrap() - '«'.len_utf8();
        let text = marked.replace(['«', '»'], "");
        let d = Diagnostic::new(Span::new(start, end), "unknown instruction", "expected `MOV`");
        let d = d.help("did you mean `MOV`?");
        expected.assert_eq(&render("dir/a.litmus", &text, &d, Severity::Error, false));
    }

    #[test]
    fn places() {
        check(
            "X86 SB\n«MVO» [x],$1 ;\n",
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:2:1
                  |
                2 | MVO [x],$1 ;
                  | ^^^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        check(
            "X86 SB\r\n\tMOV EAX,«[y]» | ;\r\nmore\r\n",
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:2:10
                  |
                2 |     MOV EAX,[y] | ;
                  |             ^^^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        check(
            "X86 SB\n MOV «»\n",
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:2:6
                  |
                2 |  MOV 
                  |      ^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        check(
            "X86 SB\n«»",
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:2:1
                  |
                2 |
                  | ^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        check(
            "«»",
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:1:1
                  |
                1 |
                  | ^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        check(
            "no line end«»",
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:1:12
                  |
                1 | no line end
                  |            ^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        check(
            "one «line\nanother» line\n",
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:1:5
                  |
                1 | one line
                  |     ^^^^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        check(
            "変数 «é\u{1b}» \u{202e}x\n",
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:1:4
                  |
                1 | 変数 é� �x
                  |      ^^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        check(
            "first«\n»second\n",
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:1:6
                  |
                1 | first
                  |      ^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        let long = format!("{}«MVO»{}", "a ".repeat(500), " b".repeat(500));
        check(
            &long,
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:1:1001
                  |
                1 | ...a a a a a a a a a a a a a a a a a a a a a a a a a a a a MVO b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b ...
                  |                                                            ^^^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
        check(
            &format!("«{}»", "z".repeat(1000)),
            expect![[r#"
                error: unknown instruction
                 --> dir/a.litmus:1:1
                  |
                1 | zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz...zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz
                  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^...^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ expected `MOV`
                  |
                  = help: did you mean `MOV`?
            "#]],
        );
    }

    #[test]
    fn kinds() {
        let d = Diagnostic::new(Span::new(0, 7), "`clflush` has no effect\x1b[31m here", "");
        expect![[r#"
            warning: `clflush` has no effect�[31m here
             --> a:1:1
              |
            1 | clflush [x]
              | ^^^^^^^
        "#]]
        .assert_eq(&render("a", "clflush [x]", &d, Severity::Warning, false));
        let colored = render("a", "clflush [x]", &d, Severity::Warning, true);
        expect![[r#"
            ^[1m^[33mwarning^[0m^[1m: `clflush` has no effect�[31m here^[0m
             ^[1m^[94m--> ^[0ma:1:1
              ^[1m^[94m|^[0m
            ^[1m^[94m1^[0m ^[1m^[94m|^[0m clflush [x]
              ^[1m^[94m|^[0m ^[1m^[33m^^^^^^^^[0m
        "#]]
        .assert_eq(&colored.replace('\x1b', "^"));
    }

    #[test]
    fn failures() {
        let mut s =
            sample("f", " MOV [5],$1 | MOV EAX,[6] ;\n INC [x] | XINC [7] ;\n ASSERT EAX ;");
        s.program.locs[0].range = Some((0, 3));
        let check = |thread: usize, text: &str, kind, expected: Expect| {
            let start = s.source.find(text).unwrap();
            let span = Span::new(start, start + text.len());
            let failure = Failure { thread: ThreadId::new(thread), span, kind };
            let d = failure_diagnostic(&s.program, &s.names, &failure);
            expected.assert_eq(&render("f.litmus", &s.source, &d, Severity::Error, false));
        };
        check(
            0,
            "MOV [5],$1",
            FailureKind::BadAddress(5),
            expect![[r#"
                error: store to address 5, where no location is declared
                 --> f.litmus:3:2
                  |
                3 |  MOV [5],$1 | MOV EAX,[6] ;
                  |  ^^^^^^^^^^ reached in some run of P0
                  |
                  = help: declared are `x`, `y`, `z`
            "#]],
        );
        check(
            1,
            "MOV EAX,[6]",
            FailureKind::BadAddress(6),
            expect![[r#"
                error: load from address 6, where no location is declared
                 --> f.litmus:3:15
                  |
                3 |  MOV [5],$1 | MOV EAX,[6] ;
                  |               ^^^^^^^^^^^ reached in some run of P1
                  |
                  = help: declared are `x`, `y`, `z`
            "#]],
        );
        check(
            1,
            "XINC [7]",
            FailureKind::BadAddress(7),
            expect![[r#"
                error: atomic update of address 7, where no location is declared
                 --> f.litmus:4:12
                  |
                4 |  INC [x] | XINC [7] ;
                  |            ^^^^^^^^ reached in some run of P1
                  |
                  = help: declared are `x`, `y`, `z`
            "#]],
        );
        check(
            0,
            "INC [x]",
            FailureKind::OutOfRange(4),
            expect![[r#"
                error: store of 4 to x, whose values are 0 to 3
                 --> f.litmus:4:2
                  |
                4 |  INC [x] | XINC [7] ;
                  |  ^^^^^^^ reached in some run of P0
            "#]],
        );
        check(
            0,
            "ASSERT EAX",
            FailureKind::Assertion,
            expect![[r#"
                error: the assertion does not hold
                 --> f.litmus:5:2
                  |
                5 |  ASSERT EAX ;
                  |  ^^^^^^^^^^ does not hold in some run of P0
            "#]],
        );
        check(
            9,
            "ASSERT EAX",
            FailureKind::DivisionByZero,
            expect![[r#"
                error: division by zero
                 --> f.litmus:5:2
                  |
                5 |  ASSERT EAX ;
                  |  ^^^^^^^^^^ reached in some run of P9
            "#]],
        );
    }

    /// Any span in any text.
    #[test]
    fn never_panics() {
        let pieces = [
            "a",
            "\n",
            "\r\n",
            "\r",
            "\t",
            "é",
            "変",
            "e\u{301}",
            "\u{1f600}",
            "\0",
            "\u{200b}",
            " ",
        ];
        for seed in 0..5000 {
            let mut rng = Rng::new(seed);
            let long = if seed % 10 == 0 { 400 } else { 12 };
            let text: String = (0..rng.below(long)).map(|_| pieces[rng.below(12)]).collect();
            let mut offset = || match rng.below(20) {
                0 => u32::MAX,
                _ => rng.below(text.len() + 3) as u32,
            };
            let span = Span { start: offset(), end: offset() };
            let d =
                Diagnostic::new(span, "m\n", if seed % 2 == 0 { "e\r" } else { "" }).help("h\n");
            for color in [false, true] {
                let shown = render("p\n", &text, &d, Severity::Error, color);
                // A place between `\r` and `\n` is shown as the end of the line.
                let (line, column) = span.line_column(&text);
                let column = if text.contains('\r') { String::new() } else { column.to_string() };
                assert!(shown.contains(&format!(":{line}:{column}")), "seed {seed}: {shown}");
            }
        }
    }
}
