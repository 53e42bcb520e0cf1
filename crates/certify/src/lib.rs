//! Witness files, checked against the inputs that they are about: by the definitions in `core`, without any
//! of the searches. Besides them it takes only what reads programs, logs and histories.

mod claim;
mod executions;
mod fences;
mod files;
mod histories;
mod logs;
mod programs;
mod transactional;
mod transactions;

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use weakspot_core::Diagnostic;
use weakspot_core::certify::Rejected;
use weakspot_lang::{COptions, Format};
use weakspot_trace::{HistoryFormat, LogError, LogFormat, LogPlace};
use weakspot_witness::{
    FENCE, InputHash, RUN, RunWitness, TRANSACTIONAL, is_log_witness, witness_question,
};

pub use claim::Claim;
pub use files::{End, Said, certify_all, witnesses};

/// What a witness came to.
#[derive(Debug)]
pub enum Checked {
    /// It shows what it claims, and by what: `by a run of 4 steps`.
    Certified(String),
    /// To check it takes too much work.
    Unknown(String),
    /// It does not show what it claims.
    Rejected(String),
    /// The input is no program.
    Refused {
        /// Its text.
        text: String,
        /// What is wrong with it.
        why: Diagnostic,
    },
}

/// How files are opened.
pub type Open<'a> = &'a dyn Fn(&Path) -> Result<Box<dyn Read + Send>, LogError>;

/// Who executes a program again, and says whether it does what a witness claims.
pub type Execute<'a> = &'a dyn Fn(&Path, &RunWitness) -> Result<Checked>;

/// Opens a file, and nothing else.
///
/// # Errors
///
/// It cannot be opened.
pub fn file(path: &Path) -> Result<Box<dyn Read + Send>, LogError> {
    match std::fs::File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(LogError {
            message: format!("failed to read: {error}"),
            place: LogPlace::Offset(0),
        }),
    }
}

/// A witness and what it is said to be about.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The input.
    pub input: &'a Path,
    /// The witness.
    pub witness: &'a Path,
    /// How much is looked at by definition, if not as much as is usual for the kind of input.
    pub max_states: Option<usize>,
    /// The formats of the input, if it is of that kind, that are not those that it ends in.
    pub formats: Formats,
    /// What programs in C are compiled with.
    pub options: &'a COptions,
    /// How the input is opened.
    pub open: Open<'a>,
    /// How executions of a program are compared with a witness about them, where that can be done.
    pub execute: Option<Execute<'a>>,
}

/// What an input is to be read as.
#[derive(Clone, Copy, Debug, Default)]
pub struct Formats {
    /// A program.
    pub language: Option<Format>,
    /// A log.
    pub log: Option<LogFormat>,
    /// Histories.
    pub history: Option<HistoryFormat>,
}

/// Witnesses with more bytes are not read.
const MAX_WITNESS: u64 = 1 << 32;

/// Checks a witness against its input. `claim`: what it claims, as soon as it is read.
///
/// # Errors
///
/// A file cannot be read, or the witness is about another input.
pub fn check(asked: &Asked<'_>, claim: &mut Option<Claim>) -> Result<Checked> {
    let text = witness_text(asked.witness)?;
    match witness_question(&text).as_deref() {
        Some("serial") => transactions::check(asked, &text, claim),
        _ if is_log_witness(&text) => logs::check(asked, &text, claim),
        Some("history") => histories::check(asked, &text, claim),
        Some(TRANSACTIONAL) => transactional::check(asked, &text, claim),
        Some(RUN) => executions::check(asked, &text, claim),
        Some(FENCE) => fences::check(asked, &text, claim),
        _ => programs::check(asked, &text, claim),
    }
}

fn witness_text(path: &Path) -> Result<String> {
    let read = || {
        let mut text = String::new();
        let file = std::fs::File::open(path)?;
        let read = file.take(MAX_WITNESS).read_to_string(&mut text)?;
        match read as u64 == MAX_WITNESS {
            true => Err(std::io::Error::other("it has more than 4 GiB")),
            false => Ok(text),
        }
    };
    read().with_context(|| format!("failed to read {}", path.display()))
}

impl Asked<'_> {
    /// What the file of a witness is called when it is wrong.
    fn unread(&self) -> String {
        format!("failed to read the witness {}", self.witness.display())
    }

    /// What the input is called.
    fn name(&self) -> String {
        self.input.display().to_string()
    }

    /// Refuses a witness of another input. `what` the input is.
    fn is_about(&self, hash: &str, what: &str) -> Result<()> {
        let is = hash_of(self.input, self.open)
            .with_context(|| format!("failed to read {}", self.name()))?;
        self.is_same(&is, hash, what)
    }

    /// The same for an input that was read already: its hash, and that of the witness.
    fn is_same(&self, is: &str, hash: &str, what: &str) -> Result<()> {
        if is != hash {
            bail!(
                "the witness is about another {what}: {} has changed, or is not the file that was \
                 asked about",
                self.name()
            );
        }
        Ok(())
    }
}

/// The hash of a file's bytes.
fn hash_of(path: &Path, open: Open<'_>) -> std::io::Result<String> {
    let mut file = open(path).map_err(|error| std::io::Error::other(error.message))?;
    let mut hash = InputHash::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hash.end()),
            n => hash.add(&block[..n]),
        }
    }
}

/// What the definitions say; `too_large`: what is said of an input with more than so many parts.
fn judged(checked: Result<String, Rejected>, too_large: impl FnOnce(usize) -> String) -> Checked {
    match checked {
        Ok(by) => Checked::Certified(by),
        Err(Rejected::TooLarge(n)) => Checked::Unknown(too_large(n)),
        Err(rejected) => Checked::Rejected(rejected.to_string()),
    }
}
