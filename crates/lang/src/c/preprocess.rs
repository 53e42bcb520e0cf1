//! Macros and conditions of the preprocessor. Headers of the system are known; what others bring stands where they are
//! included.

use std::collections::HashMap;

use weakspot_core::Span;

use super::headers;
use super::parse;
use super::setting::{Setting, is_of_system};
use super::token::{Kind, Token, bytes, tokens};
use crate::Diagnostic;

/// What compilers for x86-64 define.
const DEFINED: [(&str, u64); 5] = [
    ("__x86_64__", 1),
    ("__linux__", 1),
    ("__GNUC__", 12),
    ("__STDC__", 1),
    ("__STDC_VERSION__", 201_112),
];

/// Steps of expansion after which a text is refused.
const MOST_TOKENS: usize = 1_000_000;

/// How deep macros nest, and headers.
const DEEPEST: usize = 100;

#[derive(Clone, Debug)]
struct Macro {
    /// `None` if it is used without parentheses.
    params: Option<Vec<String>>,
    /// The last parameter takes all further arguments.
    variadic: bool,
    body: Vec<Token>,
}

/// An argument of a macro as it was given, and with the macros in it replaced.
type Argument<'a> = (&'a [Token], Vec<Token>);

impl Macro {
    /// What it stands for with these arguments, before other macros are replaced.
    fn with(&self, given: &[Argument<'_>], span: Span) -> Result<Vec<Token>, Diagnostic> {
        let params = self.params.as_deref().unwrap_or_default();
        let argument = |token: Option<&Token>| match &token?.kind {
            Kind::Name(n) => given.get(params.iter().position(|p| p == n)?),
            _ => None,
        };
        let sign = |i: usize, sign| self.body.get(i).is_some_and(|t| t.kind == Kind::Sign(sign));
        let mut body: Vec<Token> = Vec::new();
        let mut i = 0;
        // `##` stands before the next token; nothing before it is left to be joined.
        let (mut joins, mut nothing) = (false, false);
        while i < self.body.len() {
            if sign(i, "##") {
                (joins, i) = (true, i + 1);
                continue;
            }
            let mut made: Vec<Token> = match argument(self.body.get(i + 1)) {
                Some((raw, _)) if sign(i, "#") => {
                    i += 1;
                    let words: Vec<String> = raw.iter().map(spelled).collect();
                    let kind = Kind::Text(words.join(" "));
                    vec![Token { kind, span, first: false, expanded: true }]
                }
                _ => match argument(self.body.get(i)) {
                    Some((raw, _)) if joins || sign(i + 1, "##") => raw.to_vec(),
                    Some((_, replaced)) => replaced.clone(),
                    None => vec![self.body[i].clone()],
                },
            };
            i += 1;
            if joins {
                let comma = body.last().is_some_and(|t| t.kind == Kind::Sign(","));
                if comma && self.variadic {
                    // `, ##__VA_ARGS__`: without further arguments the comma goes as well.
                    if made.is_empty() {
                        body.pop();
                    }
                } else if !nothing
                    && !made.is_empty()
                    && let Some(left) = body.pop()
                {
                    let right = made.remove(0);
                    let joined = tokens(&format!("{}{}", spelled(&left), spelled(&right)))
                        .map_err(|_| {
                            Diagnostic::new(span, "`##` does not make a token here", "")
                        })?;
                    // There is an end behind them.
                    body.extend(joined.into_iter().filter(|t| t.kind != Kind::End));
                }
            }
            nothing = made.is_empty() && (!joins || nothing);
            body.extend(made);
            joins = false;
        }
        Ok(body)
    }
}

/// A token as it is written.
fn spelled(token: &Token) -> String {
    match &token.kind {
        Kind::Name(name) => name.clone(),
        Kind::Number { value, unsigned, long, .. } => {
            let suffix = |is: bool, s| if is { s } else { "" };
            format!("{value}{}{}", suffix(*unsigned, "u"), suffix(*long, "l"))
        }
        Kind::Text(text) => format!("\"{text}\""),
        Kind::Sign(sign) => (*sign).to_owned(),
        Kind::End => String::new(),
    }
}

/// Whether a name stands directly before a token.
fn follows_name(line: &[Token], token: &Token) -> bool {
    let at = line.iter().position(|t| std::ptr::eq(t, token)).unwrap_or(0);
    at > 0 && matches!(line[at - 1].kind, Kind::Name(_))
}

/// The tokens of a text after preprocessing.
pub(super) fn preprocess(text: &str, setting: &Setting) -> Result<Vec<Token>, Diagnostic> {
    let mut state = State {
        setting,
        macros: HashMap::new(),
        out: Vec::new(),
        conditions: Vec::new(),
        headers: Vec::new(),
        once: Vec::new(),
    };
    for (name, value) in DEFINED {
        let body = vec![number(value, Span::default())];
        state.macros.insert(name.to_owned(), Macro { params: None, variadic: false, body });
    }
    let refused = |why: Diagnostic| {
        let message = format!("what -D and -U say: {}", why.message);
        Diagnostic { span: Span::default(), message, ..why }
    };
    state.text(&without_end(tokens(&setting.directives).map_err(refused)?)).map_err(refused)?;
    state.text(&tokens(text)?)?;
    match state.conditions.last() {
        Some(open) => {
            Err(Diagnostic::new(open.span, "this condition is never closed", "expected `#endif`"))
        }
        None => Ok(state.out),
    }
}

/// The tokens of a text that is not the last.
fn without_end(mut tokens: Vec<Token>) -> Vec<Token> {
    tokens.retain(|token| token.kind != Kind::End);
    tokens
}

/// An `#if` that is open.
struct Condition {
    span: Span,
    /// The lines now are taken.
    active: bool,
    /// Some branch was taken already, or none may be.
    done: bool,
}

struct State<'a> {
    setting: &'a Setting,
    macros: HashMap<String, Macro>,
    out: Vec<Token>,
    conditions: Vec<Condition>,
    /// The headers that are being read.
    headers: Vec<&'a str>,
    /// Headers with `#pragma once` or the like, which are read once.
    once: Vec<&'a str>,
}

impl<'a> State<'a> {
    fn text(&mut self, all: &[Token]) -> Result<(), Diagnostic> {
        let is_directive = |t: &Token| t.first && t.kind == Kind::Sign("#");
        let mut i = 0;
        while i < all.len() {
            let token = &all[i];
            if is_directive(token) {
                let end = (i + 1..all.len()).find(|&j| all[j].first).unwrap_or(all.len());
                self.directive(token.span, &all[i + 1..end])?;
                i = end;
                continue;
            }
            // Text up to the next directive, so that a macro's arguments may stand on several lines.
            let end = (i..all.len()).find(|&j| is_directive(&all[j])).unwrap_or(all.len());
            if self.active() {
                let expanded = self.expand(&all[i..end], &mut Vec::new(), None)?;
                self.out.extend(expanded);
            } else if let Some(last) = all[i..end].last().filter(|t| t.kind == Kind::End) {
                self.out.push(last.clone());
            }
            i = end;
        }
        Ok(())
    }

    /// What a header brings stands where it is included.
    fn include(&mut self, rest: &[Token], span: Span) -> Result<(), Diagnostic> {
        let Some((name, at)) = header(rest, span) else {
            return Err(Diagnostic::new(span, "a header is missing here", ""));
        };
        let setting = self.setting;
        let Some(text) = setting.header(&name) else {
            refuse_unless_known(rest, &name, at)?;
            return match headers::macros(&name) {
                Some(text) => self.text(&without_end(tokens(&text)?)),
                None => Ok(()),
            };
        };
        let own = self.headers.len();
        if self.once.contains(&text) {
            return Ok(());
        }
        if own >= DEEPEST {
            let message = format!("headers include each other more than {DEEPEST} deep");
            return Err(Diagnostic::new(at, message, ""));
        }
        let refused = |why: Diagnostic| {
            let (line, column) = why.span.line_column(text);
            let message = format!("in {name}:{line}:{column}: {}", why.message);
            Diagnostic { span: at, message, ..why }
        };
        let tokens = without_end(tokens(text).map_err(refused)?);
        self.headers.push(text);
        let (before, conditions) = (self.out.len(), self.conditions.len());
        self.text(&tokens).map_err(refused)?;
        self.headers.truncate(own);
        for token in &mut self.out[before..] {
            (token.span, token.expanded) = (at, true);
        }
        match self.conditions.len() > conditions {
            true => Err(Diagnostic::new(at, format!("a condition in {name} is never closed"), "")),
            false => Ok(()),
        }
    }

    fn active(&self) -> bool {
        self.conditions.iter().all(|c| c.active)
    }

    fn directive(&mut self, hash: Span, line: &[Token]) -> Result<(), Diagnostic> {
        let Some(Token { kind: Kind::Name(word), span, .. }) = line.first() else { return Ok(()) };
        let rest = &line[1..];
        let active = self.active();
        match word.as_str() {
            "ifdef" | "ifndef" => {
                let defined = self.macros.contains_key(name(rest, *span)?);
                let holds = defined == (word == "ifdef");
                self.conditions.push(Condition {
                    span: hash,
                    active: active && holds,
                    done: !active || holds,
                });
            }
            "if" => {
                let holds = active && self.holds(rest, *span)?;
                self.conditions.push(Condition {
                    span: hash,
                    active: holds,
                    done: !active || holds,
                });
            }
            "elif" | "else" | "endif" => {
                let Some(mut open) = self.conditions.pop() else {
                    let message = format!("`#{word}` without `#if`");
                    return Err(Diagnostic::new(*span, message, ""));
                };
                if word == "endif" {
                    return Ok(());
                }
                let holds = !open.done && (word == "else" || self.holds(rest, *span)?);
                open.active = holds;
                open.done |= holds;
                self.conditions.push(open);
            }
            _ if !active => {}
            "define" => self.define(rest, *span)?,
            "undef" => {
                self.macros.remove(name(rest, *span)?);
            }
            "include" => self.include(rest, *span)?,
            "pragma" if rest.first().is_some_and(|t| t.kind == Kind::Name("once".to_owned())) => {
                self.once.extend(self.headers.last());
            }
            "pragma" | "line" | "ident" | "warning" => {}
            "error" => return Err(Diagnostic::new(*span, "the text refuses to be compiled", "")),
            _ => {
                let message = format!("unknown directive `#{word}`");
                return Err(Diagnostic::new(*span, message, ""));
            }
        }
        Ok(())
    }

    fn define(&mut self, rest: &[Token], span: Span) -> Result<(), Diagnostic> {
        let own = name(rest, span)?.to_owned();
        let end = rest[0].span.end;
        let mut body = &rest[1..];
        let (mut params, mut variadic) = (None, false);
        // Parameters follow without a space.
        if body.first().is_some_and(|t| t.kind == Kind::Sign("(") && t.span.start == end) {
            let close = body.iter().position(|t| t.kind == Kind::Sign(")"));
            let Some(close) = close else {
                return Err(Diagnostic::new(body[0].span, "this `(` is never closed", ""));
            };
            let mut names = Vec::new();
            for token in body[1..close].iter().filter(|t| t.kind != Kind::Sign(",")) {
                match &token.kind {
                    Kind::Name(n) if !variadic => names.push(n.clone()),
                    Kind::Sign("...") if !variadic => {
                        variadic = true;
                        // `rest...` names them.
                        if !follows_name(&body[1..close], token) {
                            names.push("__VA_ARGS__".to_owned());
                        }
                    }
                    _ => {
                        let message = "this is no parameter of a macro";
                        return Err(Diagnostic::new(token.span, message, "expected a name"));
                    }
                }
            }
            params = Some(names);
            body = &body[close + 1..];
        }
        self.macros.insert(own, Macro { params, variadic, body: body.to_vec() });
        Ok(())
    }

    /// Whether the condition of an `#if` holds.
    fn holds(&self, line: &[Token], span: Span) -> Result<bool, Diagnostic> {
        let mut decided = Vec::new();
        let mut i = 0;
        while i < line.len() {
            if line[i].kind != Kind::Name("defined".to_owned()) {
                decided.push(line[i].clone());
                i += 1;
                continue;
            }
            let parens = line.get(i + 1).is_some_and(|t| t.kind == Kind::Sign("("));
            let own = name(line.get(i + 1 + usize::from(parens)..).unwrap_or_default(), span)?;
            decided.push(number(u64::from(self.macros.contains_key(own)), line[i].span));
            i += if parens { 4 } else { 2 };
        }
        let mut expanded = self.expand(&decided, &mut Vec::new(), None)?;
        for token in &mut expanded {
            if matches!(token.kind, Kind::Name(_)) {
                *token = number(0, token.span);
            }
        }
        expanded.push(Token { kind: Kind::End, span, first: true, expanded: false });
        Ok(parse::constant(expanded)? != 0)
    }

    /// Replaces macros. Those in `hidden` are being replaced; `at` is where the outermost is used.
    fn expand(
        &self,
        input: &[Token],
        hidden: &mut Vec<String>,
        at: Option<Span>,
    ) -> Result<Vec<Token>, Diagnostic> {
        let mut out = Vec::new();
        let mut i = 0;
        if let (true, Some(at)) = (hidden.len() > DEEPEST, at) {
            let message = format!("macros nest more than {DEEPEST} deep");
            return Err(Diagnostic::new(at, message, ""));
        }
        while i < input.len() {
            let token = &input[i];
            i += 1;
            let found = match &token.kind {
                Kind::Name(n) if !hidden.contains(n) => self.macros.get(n).map(|m| (n, m)),
                _ => None,
            };
            let Some((own, found)) = found else {
                out.push(token.clone());
                continue;
            };
            let mut span = token.span;
            let mut given = Vec::new();
            if let Some(params) = &found.params {
                if input.get(i).is_none_or(|t| t.kind != Kind::Sign("(")) {
                    out.push(token.clone());
                    continue;
                }
                let most = if found.variadic { params.len() } else { usize::MAX };
                let (mut arguments, behind) = arguments(input, i, most)?;
                span.end = input[behind - 1].span.end;
                i = behind;
                if found.variadic && arguments.len() + 1 == params.len() {
                    arguments.push(&[]);
                }
                if arguments.len() != params.len()
                    && !(params.is_empty() && arguments[0].is_empty())
                {
                    let message = format!(
                        "`{own}` takes {} arguments, but {} were given",
                        params.len(),
                        arguments.len()
                    );
                    return Err(Diagnostic::new(at.unwrap_or(span), message, ""));
                }
                for argument in arguments {
                    given.push((argument, self.expand(argument, hidden, at)?));
                }
            }
            let span = at.unwrap_or(span);
            let mut body = found.with(&given, span)?;
            for token in &mut body {
                (token.span, token.expanded, token.first) = (span, true, false);
            }
            hidden.push(own.clone());
            let body = self.expand(&body, hidden, Some(span))?;
            hidden.pop();
            out.extend(body);
            if out.len() > MOST_TOKENS {
                return Err(Diagnostic::new(span, "macros make this text too long", ""));
            }
        }
        Ok(out)
    }
}

/// The arguments in the parentheses that open at `open`, at most so many, and where the text goes on.
fn arguments(
    input: &[Token],
    open: usize,
    most: usize,
) -> Result<(Vec<&[Token]>, usize), Diagnostic> {
    let mut depth = 0;
    let mut all = Vec::new();
    let mut start = open + 1;
    for (j, token) in input.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Sign("(" | "[" | "{") => depth += 1,
            Kind::Sign(")" | "]" | "}") => {
                depth -= 1;
                if depth == 0 {
                    all.push(&input[start..j]);
                    return Ok((all, j + 1));
                }
            }
            Kind::Sign(",") if depth == 1 && all.len() + 1 < most => {
                all.push(&input[start..j]);
                start = j + 1;
            }
            _ => {}
        }
    }
    Err(Diagnostic::new(input[open].span, "this `(` is never closed", ""))
}

fn number(value: u64, span: Span) -> Token {
    let kind = Kind::Number { value, unsigned: false, long: false, decimal: true };
    Token { kind, span, first: false, expanded: true }
}

fn name(line: &[Token], span: Span) -> Result<&str, Diagnostic> {
    match line.first() {
        Some(Token { kind: Kind::Name(name), .. }) => Ok(name),
        other => {
            let span = other.map_or(span, |t| t.span);
            Err(Diagnostic::new(span, "a name is missing here", "expected a name"))
        }
    }
}

/// The name of a header, and where it stands.
fn header(rest: &[Token], span: Span) -> Option<(String, Span)> {
    let at = Span { end: rest.last().map_or(span.end, |t| t.span.end), ..rest.first()?.span };
    let mut header = String::new();
    for token in rest {
        match &token.kind {
            Kind::Name(n) => header += n,
            Kind::Text(n) => header += &String::from_utf8_lossy(&bytes(n)),
            Kind::Number { value, .. } => header += &value.to_string(),
            Kind::Sign(s) if !matches!(*s, "<" | ">") => header += s,
            _ => {}
        }
    }
    Some((header, at))
}

/// Refuses a header that was not read, unless it is one of the system.
fn refuse_unless_known(rest: &[Token], header: &str, at: Span) -> Result<(), Diagnostic> {
    if is_of_system(header) {
        return Ok(());
    }
    let help =
        "-I FOLDER says where headers are; `weakspot run` explores programs of several files";
    Err(match rest.first().map(|token| &token.kind) {
        Some(Kind::Sign("<")) => {
            let message = format!("the header `{header}` is not known");
            Diagnostic::new(at, message, "expected a header of C or pthreads").help(help)
        }
        _ => Diagnostic::new(at, format!("the header `{header}` is not found"), "").help(help),
    })
}
