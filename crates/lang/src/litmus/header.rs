//! The head of a test: everything before the `{` of the initial state. It is made of lines.

use weakspot_core::Span;

use super::arch::Arch;
use super::ast::HeaderLine;
use super::lex::comment_end;
use crate::Diagnostic;
use crate::tree::{end_of_text, first_byte};

/// What the head says, and where the initial state begins.
pub(super) struct Header {
    pub(super) arch: Arch,
    pub(super) name: String,
    pub(super) label: Option<String>,
    pub(super) doc: Option<String>,
    pub(super) lines: Vec<HeaderLine>,
    /// The byte of the `{`.
    pub(super) init: usize,
}

/// Reads the head of `text`.
pub(super) fn parse(text: &str) -> Result<Header, Diagnostic> {
    let mut at = skip_space(text, first_byte(text), true)?;
    if at == text.len() {
        return Err(Diagnostic::new(
            end_of_text(text),
            "the file is empty",
            "expected `X86`, `X86_64`, `RISCV` or `C` and the name of the test",
        ));
    }
    let word = word_at(text, at);
    let arch = arch(word, Span::new(at, at + word.len()))?;
    at = skip_space(text, at + word.len(), false)?;
    let name = name_at(text, at);
    if name.is_empty() {
        return Err(Diagnostic::new(
            here(text, at),
            format!("the test has no name after `{word}`"),
            "expected a name",
        ));
    }
    let mut header =
        Header { arch, name: name.to_owned(), label: None, doc: None, lines: Vec::new(), init: 0 };
    at = skip_space(text, at + name.len(), false)?;
    if text[at..].starts_with('(') {
        let line = line_at(text, at);
        let Some(close) = line.find(')') else {
            return Err(Diagnostic::new(
                Span::new(at, at + 1),
                "unbalanced `(` after the name of the test",
                "expected `)` on the same line",
            ));
        };
        header.label = Some(line[1..close].trim().to_owned());
        at += close + 1;
    }
    lines(text, at, header)
}

/// Reads on from behind the name, line by line, up to the `{`.
fn lines(text: &str, mut at: usize, mut header: Header) -> Result<Header, Diagnostic> {
    // The last line and where it begins.
    let mut last = (at, "");
    loop {
        at = skip_space(text, at, true)?;
        let rest = &text[at..];
        let line = line_at(text, at);
        if rest.is_empty() {
            return Err(Diagnostic::new(
                end_of_text(text),
                "the test has no initial state",
                "expected `{`",
            )
            .help("write `{}` before the threads to begin with zeros everywhere"));
        }
        if rest.starts_with('{') {
            header.init = at;
            return Ok(header);
        }
        if let Some(inside) = rest.strip_prefix('"') {
            let Some(len) = inside.find('"') else {
                return Err(Diagnostic::new(
                    Span::new(at, at + 1),
                    "the string that begins here never ends",
                    "expected a closing `\"`",
                ));
            };
            let doc = inside[..len].trim().to_owned();
            if header.doc.is_none() {
                header.doc = Some(doc);
            }
            at += len + 2;
        } else if rest.starts_with(';') {
            at += 1;
        } else if let Some((key, value)) = info(line) {
            check_quotes(line, at)?;
            header.lines.push(HeaderLine::Info { key: key.to_owned(), value: value.to_owned() });
            last = (at, line);
            at += line.len();
        } else if let Some(len) = thread_head(line) {
            return Err(no_init(last, &line[..len], at));
        } else {
            let end = line.find('{').into_iter().chain(line.find("(*")).min().unwrap_or(line.len());
            check_quotes(&line[..end], at)?;
            if let Some(bad) = line[..end].find(|c: char| c.is_control() && c != '\t' && c != '\r')
            {
                return Err(Diagnostic::new(
                    here(text, at + bad),
                    "unexpected control character in the head of the test",
                    "",
                ));
            }
            header.lines.push(HeaderLine::Text(line[..end].trim().to_owned()));
            last = (at, &line[..end]);
            at += end;
        }
    }
}

/// Refuses a line in which a string begins or ends but not both.
fn check_quotes(line: &str, start: usize) -> Result<(), Diagnostic> {
    match line.rfind('"') {
        Some(quote) if line.matches('"').count() % 2 == 1 => Err(Diagnostic::new(
            Span::new(start + quote, start + quote + 1),
            "unbalanced `\"` in the head of the test",
            "expected a `\"` at both ends of the string",
        )),
        _ => Ok(()),
    }
}

/// The error that the threads begin with `head`, at byte `at`, and no initial state has been seen.
fn no_init((start, last): (usize, &str), head: &str, at: usize) -> Diagnostic {
    // What ends like an initial state lacks only its beginning.
    if last.trim_end().ends_with(['}', ']']) {
        return Diagnostic::new(
            Span::new(start, start + last.trim_end().len()),
            "this looks like an initial state without its `{`",
            "expected `{` at the beginning",
        );
    }
    Diagnostic::new(
        Span::new(at, at + head.len()),
        format!("the threads begin at `{head}`, but there is no initial state"),
        "expected `{` before the threads",
    )
    .help("write `{}` before the threads to begin with zeros everywhere")
}

/// What a test may begin with.
const EXPECTED: &str = "expected `X86`, `X86_64`, `RISCV` or `C`";

fn arch(word: &str, span: Span) -> Result<Arch, Diagnostic> {
    let upper = word.to_ascii_uppercase();
    if let Some(arch) = Arch::ALL.into_iter().find(|arch| arch.name() == upper) {
        return Ok(arch);
    }
    match upper.as_str() {
        "AARCH64" | "ARM" | "PPC" | "MIPS" | "LISA" | "BELL" | "CPP" | "BPF" | "ASL" | "JAVA"
        | "PTX" | "GPU_PTX" | "OPENCL" => {
            Err(Diagnostic::new(span, format!("tests for `{word}` are not supported"), EXPECTED))
        }
        _ if word.is_empty() => {
            Err(Diagnostic::new(span, "the test does not begin with an architecture", EXPECTED))
        }
        _ if ["//", "/*", "#"].iter().any(|sign| word.starts_with(sign)) => {
            Err(Diagnostic::new(span, format!("unexpected `{word}`"), EXPECTED)
                .help("comments are written `(* like this *)`"))
        }
        _ => Err(Diagnostic::new(span, format!("unknown architecture `{word}`"), EXPECTED)
            .help("a litmus test begins with its architecture and its name, such as `X86 SB`")),
    }
}

/// Blanks and comments, and line ends too if `lines`.
fn skip_space(text: &str, mut at: usize, lines: bool) -> Result<usize, Diagnostic> {
    let bytes = text.as_bytes();
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\r') => at += 1,
            Some(b'\n' | 0x0c) if lines => at += 1,
            Some(b'(') if bytes.get(at + 1) == Some(&b'*') => at = comment_end(text, at)?,
            _ => return Ok(at),
        }
    }
}

/// The rest of the line from `at`.
fn line_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.find('\n').unwrap_or(rest.len())]
}

fn word_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.find(|c: char| c.is_whitespace() || "({;\"".contains(c)).unwrap_or(rest.len())]
}

/// A test's name: anything up to a blank or what may follow a name.
fn name_at(text: &str, at: usize) -> &str {
    let word = word_at(text, at);
    &word[..word.find(|c: char| c.is_control()).unwrap_or(word.len())]
}

/// The character at `at`, or the end of the text.
fn here(text: &str, at: usize) -> Span {
    Span::new(at, at + text[at..].chars().next().map_or(0, char::len_utf8))
}

/// `key = value`.
fn info(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim_end();
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || "_/.-".contains(c));
    is_key.then(|| (key, value.trim()))
}

/// The length of the `P0` of a line that begins with a column's head.
fn thread_head(line: &str) -> Option<usize> {
    let rest = line.strip_prefix('P')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = rest[digits..].trim_start();
    (digits > 0 && after.starts_with(['|', ';'])).then_some(digits + 1)
}
