//! From the paths that were typed to programs.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use weakspot_core::{Diagnostic, Span};
use weakspot_lang::{Format, Parsed};

/// The endings of the files that hold programs.
pub(crate) const PROGRAM_ENDINGS: [&str; 5] = ["weak", "litmus", "txt", "tso", "rmm"];

/// One input: what it is called in answers, and how to read it.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// The path as typed, or found in a folder as typed.
    pub(crate) path: PathBuf,
    format: Option<Format>,
}

impl AsRef<Path> for Input {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// A text that was read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) format: Format,
}

/// The inputs that `paths` stand for: a folder stands for the files below it that have one of
/// these `endings`, by name.
pub(crate) fn expand(
    paths: &[PathBuf],
    format: Option<Format>,
    endings: &[&str],
) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path != Path::new("-") && !path.exists() {
            // Said when it is read, so that the other inputs get their answers.
            inputs.push(Input { path: path.clone(), format: format.or(Some(Format::Litmus)) });
        } else if path.is_dir() {
            let before = inputs.len();
            add_folder(path, format, endings, &mut inputs)
                .with_context(|| format!("failed to read the folder {}", path.display()))?;
            if inputs.len() == before {
                bail!("no .{} file in the folder {}", endings.join(" or ."), path.display());
            }
        } else {
            inputs.push(Input { path: path.clone(), format });
        }
    }
    Ok(inputs)
}

fn add_folder(
    folder: &Path,
    format: Option<Format>,
    endings: &[&str],
    inputs: &mut Vec<Input>,
) -> std::io::Result<()> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        // Links to folders are not followed: they may lead in circles.
        if path.is_dir() && !path.is_symlink() {
            add_folder(&path, format, endings, inputs)?;
        } else if path.is_file()
            && path.extension().is_some_and(|e| endings.iter().any(|&w| e == w))
        {
            inputs.push(Input { path, format });
        }
    }
    Ok(())
}

impl Input {
    pub(crate) fn new(path: &Path, format: Option<Format>) -> Input {
        Input { path: path.to_owned(), format }
    }

    /// What the input is called in answers.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Reads the text. An ending that says nothing is an error; standard input is a litmus test or
    /// a .weak program unless the user says otherwise.
    pub(crate) fn read(&self) -> Result<Source, Unreadable> {
        let stdin = self.path == Path::new("-");
        let format = match self.format.or_else(|| Format::of_path(&self.path)) {
            Some(format) => Some(format),
            None if stdin => None,
            None => {
                return Err(Unreadable::new(
                    "the ending names no input language: expected .litmus, .weak, .txt, .tso or \
                     .rmm, or --input-format",
                ));
            }
        };
        let bytes = if stdin {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(&self.path)
        };
        let bytes = bytes.map_err(|e| Unreadable::new(format!("failed to read: {e}")))?;
        let source = |text: String| {
            // Standard input has no ending; a litmus test begins with its architecture.
            let is_litmus =
                text.trim_start().get(..3).is_some_and(|s| s.eq_ignore_ascii_case("x86"));
            let guess = if is_litmus { Format::Litmus } else { Format::Weak };
            Source { format: format.unwrap_or(guess), text }
        };
        String::from_utf8(bytes).map(source).map_err(|e| {
            let good = e.utf8_error().valid_up_to();
            let head = String::from_utf8_lossy(&e.as_bytes()[..good]).into_owned();
            let (line, column) = Span::new(good, good).line_column(&head);
            Unreadable {
                message: format!(
                    "not UTF-8 text: a stray byte 0x{:02x} at line {line}, column {column}",
                    e.as_bytes()[good]
                ),
                place: Some((line, column)),
            }
        })
    }
}

/// Why there is no text.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) message: String,
    pub(crate) place: Option<(usize, usize)>,
}

impl Unreadable {
    fn new(message: impl Into<String>) -> Unreadable {
        Unreadable { message: message.into(), place: None }
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unreadable {}

impl Source {
    /// The program. A language without program names takes the file's.
    pub(crate) fn parse(&self, path: &Path) -> Result<Parsed, Diagnostic> {
        let mut parsed = weakspot_lang::parse(self.format, &self.text)?;
        if parsed.names.program.is_empty() {
            parsed.names.program =
                path.file_stem().map_or_else(|| "-".into(), |s| s.to_string_lossy()).into_owned();
        }
        Ok(parsed)
    }
}
