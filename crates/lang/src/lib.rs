//! Text to [`Program`] and back, for the four input languages. Each language is a module with a
//! syntax tree, a parser (text to tree), a compiler (tree to program) and a printer (tree to text).

mod balanced;
pub mod families;
pub mod litmus;
pub mod memorax;
pub mod patch;
mod suggest;
#[cfg(test)]
mod test_support;
mod tree;
pub mod trencher;
pub mod weak;

use std::path::Path;

pub use tree::{At, Name};
pub use weakspot_core::Diagnostic;
use weakspot_core::{Names, Program, Transactions};

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
}

/// The input languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// X86 and X86_64 litmus tests, `.litmus`.
    Litmus,
    /// Our own language, `.weak`.
    Weak,
    /// Trencher's automata, `.txt` or `.tso`.
    Trencher,
    /// Memorax's programs, `.rmm`.
    Memorax,
}

impl Format {
    /// The language of a text whose name does not tell: a litmus test begins with its architecture.
    #[must_use]
    pub fn guess(text: &str) -> Format {
        let is_litmus = text.trim_start().get(..3).is_some_and(|s| s.eq_ignore_ascii_case("x86"));
        if is_litmus { Format::Litmus } else { Format::Weak }
    }

    /// The language that a file's ending stands for.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "litmus" => Some(Format::Litmus),
            "weak" => Some(Format::Weak),
            "txt" | "tso" => Some(Format::Trencher),
            "rmm" => Some(Format::Memorax),
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
    match format {
        Format::Litmus => litmus::compile(&litmus::parse(text)?),
        Format::Weak => weak::compile(&weak::parse(text)?),
        Format::Trencher => trencher::compile(&trencher::parse(text)?),
        Format::Memorax => memorax::compile(&memorax::parse(text)?),
    }
}

/// A text in its language's canonical form.
pub fn reprint(format: Format, text: &str) -> Result<String, Diagnostic> {
    Ok(match format {
        Format::Litmus => litmus::print(&litmus::parse(text)?),
        Format::Weak => weak::print(&weak::parse(text)?),
        Format::Trencher => trencher::print(&trencher::parse(text)?),
        Format::Memorax => memorax::print(&memorax::parse(text)?),
    })
}
