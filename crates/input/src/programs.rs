//! Programs.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use weakspot_core::{Diagnostic, Limit, Limits, Span};
use weakspot_lang::{COptions, Format, Parsed, Setting};

use crate::folders::{self, NoFiles, is_stdin, read_by};
use crate::process::resident;

/// The endings of the files that hold programs.
pub const PROGRAM_ENDINGS: [&str; 5] = ["weak", "litmus", "txt", "tso", "rmm"];

/// The same with programs in C, which ask nothing about final states and record nothing.
pub const CHECKED_ENDINGS: [&str; 6] = ["weak", "litmus", "c", "txt", "tso", "rmm"];

/// One input: what it is called in answers, and how to read it.
#[derive(Clone, Debug)]
pub struct Input {
    /// The path as typed, or found in a folder as typed.
    pub path: PathBuf,
    format: Option<Format>,
    options: COptions,
}

/// How inputs are read.
#[derive(Clone, Debug)]
pub struct Reading {
    language: Option<Format>,
    options: COptions,
}

impl From<Option<Format>> for Reading {
    fn from(language: Option<Format>) -> Reading {
        Reading { language, options: COptions::default() }
    }
}

/// The language, if it is not the one that a file ends in, and what programs in C are compiled with.
impl From<(Option<Format>, &COptions)> for Reading {
    fn from((language, options): (Option<Format>, &COptions)) -> Reading {
        Reading { language, options: options.clone() }
    }
}

impl AsRef<Path> for Input {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// A text that was read.
#[derive(Debug)]
pub struct Source {
    /// All of it.
    pub text: String,
    /// What it is written in.
    pub format: Format,
    /// What it is compiled with, if it is in C.
    pub setting: Setting,
}

/// The inputs that `paths` stand for: a folder stands for the files below it that have one of
/// these `endings`, by name. Of those that end in `.txt`, which many do, only programs count.
///
/// # Errors
///
/// A folder has none.
pub fn expand(
    paths: &[PathBuf],
    reading: impl Into<Reading>,
    endings: &[&str],
) -> Result<Vec<Input>, NoFiles> {
    let Reading { language: format, options } = reading.into();
    let input = |path: PathBuf| {
        // That a file is not there is said when it is read, so that the other inputs get their answers.
        let is_there = is_stdin(&path) || path.exists();
        let format = format.or((!is_there).then_some(Format::Litmus));
        Input { format, options: options.clone(), path }
    };
    let mut files = folders::expand(paths, endings)?;
    let found = files.len();
    files.retain(|path| format.is_some() || paths.contains(path) || !is_foreign(path));
    if files.is_empty() && found > 0 {
        return Err(NoFiles(format!("no program in the folder {}", paths[0].display())));
    }
    Ok(files.into_iter().map(input).collect())
}

/// Whether a file ends in `.txt` and does not begin as programs of Trencher do, behind comments.
fn is_foreign(path: &Path) -> bool {
    let is_text = path.extension().is_some_and(|ending| ending == "txt");
    let Ok(file) = File::open(path) else { return false };
    if !is_text {
        return false;
    }
    let mut lines = BufReader::new(file.take(1 << 16)).lines().map_while(Result::ok);
    let first = lines.find(|line| !matches!(line.trim_start().chars().next(), None | Some('#')));
    let word = first.as_deref().and_then(|line| line.split_whitespace().next());
    !matches!(word, Some("thread" | "memory_size"))
}

impl Input {
    /// A file in this language, or in the one that it ends in.
    #[must_use]
    pub fn new(path: &Path, reading: impl Into<Reading>) -> Input {
        let Reading { language, options } = reading.into();
        Input { path: path.to_owned(), format: language, options }
    }

    /// What the input is called in answers.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Reads and parses within limits, and until an end is asked for, whatever the file is: an endless
    /// device, a pipe that nobody writes to. A thread of its own does it, which is left alone at a limit.
    ///
    /// `asked` says whether an end is asked for; `working`, how many inputs share the memory of this
    /// process.
    ///
    /// # Errors
    ///
    /// It is no text, or a limit was reached.
    pub fn load(
        &self,
        limits: &Limits,
        asked: fn() -> bool,
        working: u64,
    ) -> Result<Loaded, Unread> {
        let given_up = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = sync_channel(1);
        let (input, limits, stop) = (self.clone(), limits.begin(), given_up.clone());
        std::thread::spawn(move || {
            let loaded = input.read_until(limits.memory, &stop).map(|source| {
                let parsed = source.parse(&input.path);
                Loaded { source, parsed }
            });
            let _ = sender.send(loaded);
        });
        loop {
            let limit = match receiver.recv_timeout(TICK) {
                Ok(loaded) => return loaded,
                Err(RecvTimeoutError::Disconnected) => {
                    let message =
                        "the parser gave up; this is a defect of weakspot, please report it";
                    return Err(Unread::Bad(Unreadable::new(message)));
                }
                Err(RecvTimeoutError::Timeout) => match limits.check(0) {
                    _ if asked() => Limit::Interrupted,
                    Err(limit) => limit,
                    Ok(()) => match limits.memory {
                        Some(most) if resident() / working.max(1) > most => Limit::Memory(most),
                        _ => continue,
                    },
                },
            };
            given_up.store(true, Ordering::Relaxed);
            return Err(Unread::Limit(limit));
        }
    }

    /// Reads the text, however long that takes.
    ///
    /// # Errors
    ///
    /// It is no text.
    pub fn read(&self) -> Result<Source, Unreadable> {
        match self.read_until(None, &AtomicBool::new(false)) {
            Ok(source) => Ok(source),
            Err(Unread::Bad(why)) => Err(why),
            Err(Unread::Limit(_)) => Err(Unreadable::new("failed to read")),
        }
    }

    /// Reads the text. An ending that says nothing is an error; standard input is a litmus test or
    /// a .weak program unless the user says otherwise.
    fn read_until(&self, memory: Option<u64>, stop: &AtomicBool) -> Result<Source, Unread> {
        let stdin = is_stdin(&self.path);
        let format = match self.format.or_else(|| Format::of_path(&self.path)) {
            Some(format) => Some(format),
            None if stdin => None,
            None => {
                let why = "the ending names no input language";
                let expected = match read_by(&self.path) {
                    Some(commands) => format!("it is that of {commands}"),
                    None => "expected .litmus, .weak, .c, .txt, .tso or .rmm, or --input-format"
                        .to_owned(),
                };
                return Err(Unread::Bad(Unreadable::new(format!("{why}: {expected}"))));
            }
        };
        let bytes = match stdin {
            true => read_all(std::io::stdin().lock(), memory, stop),
            false => File::open(&self.path)
                .map_err(Unread::failed)
                .and_then(|file| read_all(file, memory, stop)),
        }?;
        let source = |text: String| {
            // Standard input has no ending.
            let format = format.unwrap_or_else(|| Format::guess(&text));
            let setting = match format {
                Format::C => self.setting(&text, memory, stop),
                _ => Setting::default(),
            };
            Source { format, text, setting }
        };
        Format::decode(format, bytes).map(source).map_err(|e| {
            let good = e.utf8_error().valid_up_to();
            let head = String::from_utf8_lossy(&e.as_bytes()[..good]).into_owned();
            let (line, column) = Span::new(good, good).line_column(&head);
            Unread::Bad(Unreadable {
                message: format!(
                    "not UTF-8 text: a stray byte 0x{:02x} at line {line}, column {column}",
                    e.as_bytes()[good]
                ),
                place: Some((line, column)),
            })
        })
    }
}

impl Input {
    /// What a text in C is compiled with.
    fn setting(&self, text: &str, memory: Option<u64>, stop: &AtomicBool) -> Setting {
        Setting::of(text, &self.path, &self.options, &mut |path| {
            let failed = |_| std::io::Error::other("failed to read");
            let bytes = read_all(File::open(path)?, memory, stop).map_err(failed)?;
            Format::decode(Some(Format::C), bytes).map_err(std::io::Error::other)
        })
    }
}

/// How often limits are looked at while a file is read.
const TICK: Duration = Duration::from_millis(20);

/// A text takes at least so many times its size while it is read and parsed.
const PARSED: u64 = 4;

/// All bytes, unless they are too many to be parsed, or nobody waits for them any more.
fn read_all(
    mut source: impl Read,
    memory: Option<u64>,
    stop: &AtomicBool,
) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    loop {
        let block = 1 << 20;
        let read = source.by_ref().take(block).read_to_end(&mut bytes).map_err(Unread::failed)?;
        if read == 0 {
            return Ok(bytes);
        }
        if let Some(most) = memory.filter(|most| bytes.len() as u64 > most / PARSED) {
            return Err(Unread::Limit(Limit::Memory(most)));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Unread::Limit(Limit::Interrupted));
        }
    }
}

/// What a file came to.
#[derive(Debug)]
pub struct Loaded {
    /// The text.
    pub source: Source,
    /// The program in it, or why there is none.
    pub parsed: Result<Parsed, Diagnostic>,
}

/// Why a file came to nothing.
#[derive(Debug)]
pub enum Unread {
    /// There is no text.
    Bad(Unreadable),
    /// A limit was reached first.
    Limit(Limit),
}

impl Unread {
    fn failed(error: std::io::Error) -> Unread {
        Unread::Bad(Unreadable::new(format!("failed to read: {error}")))
    }
}

/// Why there is no text.
#[derive(Debug)]
pub struct Unreadable {
    /// What is wrong.
    pub message: String,
    /// Line and column, if there is one.
    pub place: Option<(usize, usize)>,
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
    /// What it is known by, in witnesses and checkpoints: its text, with all that it is compiled with.
    #[must_use]
    pub fn identity(&self) -> Cow<'_, str> {
        self.setting.identity(&self.text)
    }

    /// The program. A language without program names takes the file's.
    ///
    /// # Errors
    ///
    /// The text is no program.
    pub fn parse(&self, path: &Path) -> Result<Parsed, Diagnostic> {
        let mut parsed = weakspot_lang::parse_with(self.format, &self.text, &self.setting)?;
        if parsed.names.program.is_empty() {
            parsed.names.program =
                path.file_stem().map_or_else(|| "-".into(), |s| s.to_string_lossy()).into_owned();
        }
        Ok(parsed)
    }
}
