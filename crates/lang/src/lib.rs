//! Text to [`Program`] and back, for the five input languages. Each language is a module with a
//! syntax tree, a parser (text to tree), a compiler (tree to program) and a printer (tree to text).
//!
//! # The files
//!
//! In `lang/src/c`, `preprocess.rs` and `parse/` make a tree, `lower/` a draft of each thread with
//! all functions in the places of their calls, `specialise.rs` runs `main` as far as it is decided
//! and so finds the threads, `tidy.rs` makes threads of drafts. What it shares with tests in C, the
//! arithmetic and the orders, is in `litmus/c`.

mod asked;
mod balanced;
mod c;
pub mod families;
pub mod litmus;
pub mod memorax;
pub mod patch;
mod short;
mod suggest;
#[cfg(test)]
mod test_support;
mod tree;
pub mod trencher;
pub mod weak;

use std::path::Path;
use std::string::FromUtf8Error;

use crate::short::short;
pub use asked::AskedState;
pub use c::{COptions, Setting};
pub use tree::{At, Name};
pub use weakspot_core::Diagnostic;
use weakspot_core::{Condition, Expr, Model, Names, Program, Quantifier, Transactions};

/// A program with the names of its parts and what the user should be told about it.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What the engines see.
    pub program: Program,
    /// What people see.
    pub names: Names,
    /// Which instructions belong to transactions.
    pub transactions: Transactions,
    /// Things that were accepted but may surprise.
    pub warnings: Vec<Diagnostic>,
    /// Whose model answers are of, where the language has one of its own.
    pub of_machine: Option<&'static str>,
    /// Where the program does less than the machine does under models weaker than SC, so that what is not found there
    /// may be possible.
    pub too_strong: Option<Diagnostic>,
}

impl Parsed {
    /// Why a question about all runs under `model` cannot be answered: the program does less there than the
    /// machine does.
    #[must_use]
    pub fn refused_under(&self, model: Model) -> Option<Diagnostic> {
        let at = self.too_strong.as_ref().filter(|_| model != Model::Sc)?;
        let message = "a load may overtake this `sc` under TSO and PSO, which is not supported; \
                       `weakspot litmus` answers as far as it goes";
        Some(Diagnostic::new(at.span, message, "`--model sc` is possible"))
    }

    /// The program with the question about its final states: where things are only observed, all
    /// final states are the answer, and `forall (true)` the question.
    #[must_use]
    pub fn with_observed_asked(mut self) -> Parsed {
        if self.program.condition.is_none() && !self.program.observed.is_empty() {
            let prop = Expr::Const(1);
            self.program.condition = Some(Condition { quantifier: Quantifier::Forall, prop });
            self.names.condition = "true".to_owned();
        }
        self
    }
}

/// The input languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Litmus tests for X86, X86_64 and RISC-V and in C, `.litmus`.
    Litmus,
    /// Our own language, `.weak`.
    Weak,
    /// Trencher's automata, `.txt` or `.tso`.
    Trencher,
    /// Memorax's programs, `.rmm`.
    Memorax,
    /// Programs in a part of C, `.c`.
    C,
}

impl Format {
    /// The language of a text whose name does not tell: a litmus test begins with its architecture.
    #[must_use]
    pub fn guess(text: &str) -> Format {
        let first = text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        let is_litmus = ["X86", "X86_64", "C", "RISCV"].contains(&first.as_str());
        if is_litmus { Format::Litmus } else { Format::Weak }
    }

    /// The text of a file. Old litmus tests have comments in Latin-1, whose bytes are characters; outside
    /// of comments the parser refuses these.
    ///
    /// # Errors
    /// When it is no UTF-8.
    pub fn decode(format: Option<Format>, bytes: Vec<u8>) -> Result<String, FromUtf8Error> {
        match String::from_utf8(bytes) {
            Err(bad) if format == Some(Format::Litmus) => {
                Ok(bad.into_bytes().into_iter().map(char::from).collect())
            }
            decoded => decoded,
        }
    }

    /// The language that a file's ending stands for.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "litmus" => Some(Format::Litmus),
            "weak" => Some(Format::Weak),
            "txt" | "tso" => Some(Format::Trencher),
            "rmm" => Some(Format::Memorax),
            "c" => Some(Format::C),
            _ => None,
        }
    }
}

/// The program that a text means.
///
/// ```
/// use weakspot_lang::{Format, parse};
///
/// let text = "shared x, y\nthread p { var r; x = 1; r = y }\nthread q { var r; y = 1; r = x }\n";
/// let parsed = parse(Format::Weak, text).map_err(|diagnostic| diagnostic.message)?;
/// assert_eq!(parsed.names.threads, ["p", "q"]);
/// assert_eq!(parsed.program.locs.len(), 2);
///
/// let diagnostic = parse(Format::Weak, "shared x\nthread p { x = }\n").unwrap_err();
/// assert!(diagnostic.span.start > 0);
/// # Ok::<(), String>(())
/// ```
pub fn parse(format: Format, text: &str) -> Result<Parsed, Diagnostic> {
    parse_with(format, text, &Setting::default())
}

/// The program that a text means, if it is in C with these macros and headers.
pub fn parse_with(format: Format, text: &str, setting: &Setting) -> Result<Parsed, Diagnostic> {
    let parsed = match format {
        Format::Litmus => litmus::parse(text).and_then(|tree| litmus::compile(&tree)),
        Format::Weak => weak::parse(text).and_then(|tree| weak::compile(&tree)),
        Format::Trencher => trencher::parse(text).and_then(|tree| trencher::compile(&tree)),
        Format::Memorax => memorax::parse(text).and_then(|tree| memorax::compile(&tree)),
        Format::C => c::parse(text, setting).and_then(|tree| c::compile(&tree, text)),
    };
    parsed.map_err(short)
}

/// A text in its language's canonical form.
pub fn reprint(format: Format, text: &str) -> Result<String, Diagnostic> {
    let printed = match format {
        Format::Litmus => litmus::parse(text).map(|tree| litmus::print(&tree)),
        Format::Weak => weak::parse(text).map(|tree| weak::print(&tree)),
        Format::Trencher => trencher::parse(text).map(|tree| trencher::print(&tree)),
        Format::Memorax => memorax::parse(text).map(|tree| memorax::print(&tree)),
        // Macros and comments are gone in the tree: the text is its own form.
        Format::C => c::parse(text, &Setting::default()).map(|_| text.to_owned()),
    };
    printed.map_err(short)
}
