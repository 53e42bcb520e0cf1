//! Witness files, checked against the inputs that they are about: by the definitions in `core`, without any
//! of the searches.

mod histories;
mod logs;
mod programs;
mod transactions;

use anyhow::{Context, Result, bail};
use weakspot_args::CertifyArgs;
use weakspot_core::certify::Rejected;
use weakspot_input::{Stop, hash_file};
use weakspot_report::{is_log_witness, witness_question};

/// What a witness came to.
#[derive(Debug)]
pub enum Checked {
    /// It shows what it claims, and how.
    Certified(String),
    /// To check it takes too much work.
    Unknown(String),
    /// It does not show what it claims.
    Rejected(String),
    /// The input is no program: a diagnostic.
    Refused(String),
}

/// Checks a witness against its input, which is read until `stop`. `color`: for diagnostics.
///
/// # Errors
///
/// A file cannot be read, or the witness is about another input.
pub fn check(args: &CertifyArgs, stop: Stop, color: bool) -> Result<Checked> {
    let text = std::fs::read_to_string(&args.witness)
        .with_context(|| format!("failed to read {}", args.witness.display()))?;
    match witness_question(&text).as_deref() {
        Some("serial") => transactions::check(args, &text, stop),
        _ if is_log_witness(&text) => logs::check(args, &text, stop),
        Some("history") => histories::check(args, &text, stop),
        _ => programs::check(args, &text, color),
    }
}

/// What the file of a witness is called when it is wrong.
fn unread(args: &CertifyArgs) -> String {
    format!("failed to read the witness {}", args.witness.display())
}

/// Refuses a witness of another input. `what` the input is.
fn is_about(args: &CertifyArgs, hash: &str, what: &str) -> Result<()> {
    let is = hash_file(&args.input)
        .with_context(|| format!("failed to read {}", args.input.display()))?;
    is_same(args, &is, hash, what)
}

/// The same for an input that was read already: its hash, and that of the witness.
fn is_same(args: &CertifyArgs, is: &str, hash: &str, what: &str) -> Result<()> {
    let name = args.input.display();
    if is != hash {
        bail!(
            "the witness is about another {what}: {name} has changed, or is not the file that was \
             asked about"
        );
    }
    Ok(())
}

/// What the definitions say; `too_large`: what is said of an input with more than so many parts.
fn judged(
    checked: Result<&'static str, Rejected>,
    too_large: impl FnOnce(usize) -> String,
) -> Checked {
    match checked {
        Ok(how) => Checked::Certified(how.to_owned()),
        Err(Rejected::TooLarge(n)) => Checked::Unknown(too_large(n)),
        Err(rejected) => Checked::Rejected(rejected.to_string()),
    }
}
