//! Macros: `macro NAME(PARAMETERS) tokens endmacro`, and `NAME(ARGUMENTS)` from there on.
//! Arguments are any tokens; parentheses in them are balanced and commas separate them.

use std::collections::HashMap;

use weakspot_core::Span;

use super::lexer::{Token, TokenKind};
use crate::Diagnostic;

/// Calls in calls in calls are refused from here on.
const MAX_NESTING: usize = 64;
/// Programs that are longer than this after expansion are refused.
const MAX_TOKENS: usize = 1 << 20;

/// The tokens of a program with its macros expanded. `tokens` ends with an `End`.
pub(super) fn expand(tokens: Vec<Token<'_>>) -> Result<Vec<Token<'_>>, Diagnostic> {
    // Most programs have none.
    if !tokens.iter().any(|t| is(t, "macro")) {
        return Ok(tokens);
    }
    let mut expander = Expander { macros: HashMap::new(), out: Vec::new(), work: 0 };
    expander.run(&tokens, &mut Vec::new())?;
    Ok(expander.out)
}

struct Expander<'t> {
    macros: HashMap<&'t str, Macro<'t>>,
    out: Vec<Token<'t>>,
    /// Calls and tokens so far. Calls of empty macros would else be free.
    work: usize,
}

#[derive(Clone)]
struct Macro<'t> {
    parameters: Vec<&'t str>,
    body: Vec<Token<'t>>,
}

impl<'t> Expander<'t> {
    /// Expands `tokens`, which stand in the bodies of the `open` macros.
    fn run(&mut self, tokens: &[Token<'t>], open: &mut Vec<&'t str>) -> Result<(), Diagnostic> {
        let mut at = 0;
        while let Some(&token) = tokens.get(at) {
            if is(&token, "macro") {
                at = self.define(tokens, at)?;
            } else if token.kind == TokenKind::Name && self.macros.contains_key(token.text) {
                at = self.call(tokens, at, open)?;
            } else {
                self.out.push(token);
                at += 1;
            }
            self.work += 1;
            if self.work > MAX_TOKENS {
                let message = format!("a program of more than {MAX_TOKENS} tokens");
                return Err(Diagnostic::new(token.span, message, ""));
            }
        }
        Ok(())
    }

    /// Reads the definition at `at`; the result is where it ends.
    fn define(&mut self, tokens: &[Token<'t>], at: usize) -> Result<usize, Diagnostic> {
        let keyword = tokens[at];
        let name = get(tokens, at + 1);
        if name.kind != TokenKind::Name || is(&name, "macro") || is(&name, "endmacro") {
            return Err(unexpected(&name, "the name of the macro"));
        }
        if self.macros.contains_key(name.text) {
            let message = format!("a second macro `{}`", name.text);
            return Err(Diagnostic::new(name.span, message, "expected a new name"));
        }
        let (parameters, mut at) = parameters(tokens, at + 2)?;
        let mut body = Vec::new();
        let origin = u32::try_from(self.macros.len() + 1).unwrap_or(u32::MAX);
        loop {
            let token = get(tokens, at);
            at += 1;
            if is(&token, "endmacro") {
                break;
            }
            if token.kind == TokenKind::End {
                let message = format!("macro `{}` does not end", name.text);
                return Err(Diagnostic::new(keyword.span, message, "expected `endmacro` after it"));
            }
            if is(&token, "macro") {
                let message = format!("a macro inside macro `{}`", name.text);
                return Err(Diagnostic::new(token.span, message, "expected `endmacro` first"));
            }
            body.push(Token { origin, ..token });
        }
        self.macros.insert(name.text, Macro { parameters, body });
        Ok(at)
    }

    /// Expands the call at `at`; the result is where it ends.
    fn call(
        &mut self,
        tokens: &[Token<'t>],
        at: usize,
        open: &mut Vec<&'t str>,
    ) -> Result<usize, Diagnostic> {
        let name = tokens[at];
        if open.contains(&name.text) {
            let message = format!("macro `{}` calls itself", name.text);
            return Err(Diagnostic::new(name.span, message, ""));
        }
        if open.len() >= MAX_NESTING {
            let message = format!("macro calls that are nested more than {MAX_NESTING} deep");
            return Err(Diagnostic::new(name.span, message, ""));
        }
        let (arguments, end) = arguments(tokens, at)?;
        let Some(called) = self.macros.get(name.text) else { return Ok(end) };
        if arguments.len() != called.parameters.len() {
            let (given, wanted) = (arguments.len(), called.parameters.len());
            let message = format!("macro `{}` is given {given} arguments", name.text);
            let span = Span { start: name.span.start, end: get(tokens, end - 1).span.end };
            let span = if span.start <= span.end { span } else { name.span };
            return Err(Diagnostic::new(span, message, format!("expected {wanted}")));
        }
        let mut body = Vec::new();
        for token in &called.body {
            match called
                .parameters
                .iter()
                .position(|p| token.kind == TokenKind::Name && *p == token.text)
            {
                Some(i) => body.extend_from_slice(arguments[i]),
                None => body.push(*token),
            }
            if body.len() > MAX_TOKENS {
                let message = format!("a program of more than {MAX_TOKENS} tokens");
                return Err(Diagnostic::new(name.span, message, ""));
            }
        }
        open.push(name.text);
        self.run(&body, open)?;
        open.pop();
        Ok(end)
    }
}

/// The parameters of a definition, and the place after them.
fn parameters<'t>(
    tokens: &[Token<'t>],
    mut at: usize,
) -> Result<(Vec<&'t str>, usize), Diagnostic> {
    if !is_symbol(&get(tokens, at), "(") {
        return Err(unexpected(&get(tokens, at), "`(`"));
    }
    at += 1;
    let mut names = Vec::new();
    if is_symbol(&get(tokens, at), ")") {
        return Ok((names, at + 1));
    }
    loop {
        let name = get(tokens, at);
        if name.kind != TokenKind::Name {
            return Err(unexpected(&name, "the name of a parameter"));
        }
        if names.contains(&name.text) {
            let message = format!("a second parameter `{}`", name.text);
            return Err(Diagnostic::new(name.span, message, "expected a new name"));
        }
        names.push(name.text);
        let after = get(tokens, at + 1);
        at += 2;
        if is_symbol(&after, ")") {
            return Ok((names, at));
        }
        if !is_symbol(&after, ",") {
            return Err(unexpected(&after, "`,` or `)`"));
        }
    }
}

/// The arguments of the call at `at`, and the place after them.
fn arguments<'a, 't>(
    tokens: &'a [Token<'t>],
    at: usize,
) -> Result<(Vec<&'a [Token<'t>]>, usize), Diagnostic> {
    let name = tokens[at];
    if !is_symbol(&get(tokens, at + 1), "(") {
        let token = get(tokens, at + 1);
        return Err(unexpected(&token, "`(`")
            .help(format!("`{}` is a macro and takes arguments in parentheses", name.text)));
    }
    let mut found = Vec::new();
    let mut depth = 0;
    let first = at + 2;
    let mut start = first;
    for (here, &token) in tokens.iter().enumerate().skip(first) {
        if is_symbol(&token, "(") {
            depth += 1;
        } else if depth > 0 && is_symbol(&token, ")") {
            depth -= 1;
        } else if depth == 0 && (is_symbol(&token, ")") || is_symbol(&token, ",")) {
            let last = token.text == ")";
            if start < here {
                found.push(&tokens[start..here]);
            } else if !last || !found.is_empty() {
                return Err(unexpected(&token, "an argument"));
            }
            if last {
                return Ok((found, here + 1));
            }
            start = here + 1;
        } else if is(&token, "macro") || is(&token, "endmacro") || token.kind == TokenKind::End {
            break;
        }
    }
    let message = format!("the arguments of macro `{}` do not end", name.text);
    Err(Diagnostic::new(name.span, message, "expected `)` after them"))
}

/// The token at `at`, or the last one, which is the end of the text or of a macro's body.
fn get<'t>(tokens: &[Token<'t>], at: usize) -> Token<'t> {
    let last = tokens[tokens.len() - 1];
    tokens.get(at).copied().unwrap_or(Token { kind: TokenKind::End, text: "", ..last })
}

fn is(token: &Token<'_>, word: &str) -> bool {
    token.kind == TokenKind::Name && token.text == word
}

fn is_symbol(token: &Token<'_>, symbol: &str) -> bool {
    token.kind == TokenKind::Symbol && token.text == symbol
}

fn unexpected(token: &Token<'_>, wanted: &str) -> Diagnostic {
    let message = match token.kind {
        TokenKind::End => "the text ends here".to_owned(),
        _ => format!("unexpected `{}`", token.text),
    };
    Diagnostic::new(token.span, message, format!("expected {wanted}"))
}
