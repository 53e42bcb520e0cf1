//! `weakspot compare`.

use std::path::PathBuf;

use clap::Args;

use crate::list::{Lacks, Means, Usage};
use crate::refused::{ABOUT_OUTPUT, ABOUT_QUESTIONS, NO_SEARCH};
use crate::values::{OutputFormat, rows};

/// Compare two logs of litmus tests, of herd7, litmus7 or `weakspot litmus`.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot litmus --model tso tests > tso.log
  weakspot compare tso.log litmus7.log
  weakspot compare --format csv tso.log litmus7.log",
    after_help = "\
Tests are known by their names; where a log has a test under several models, by
name and model. States that only one of the logs has are listed. Exit code: 0
no difference; 1 some difference; 2 a log cannot be read."
)]
pub(crate) struct Compare {
    /// A log.
    first: PathBuf,
    /// The log that it is compared with.
    second: PathBuf,
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = rows())]
    format: Option<OutputFormat>,
}

#[derive(Debug)]
pub struct CompareArgs {
    pub first: PathBuf,
    pub second: PathBuf,
    pub format: OutputFormat,
}

impl Means<CompareArgs> for Compare {
    const LACKS: Lacks = &[
        NO_SEARCH,
        (ABOUT_QUESTIONS, "it asks nothing: it compares what was answered"),
        (ABOUT_OUTPUT, "it prints which states differ and nothing else"),
    ];

    fn meant(self) -> Result<CompareArgs, Usage> {
        let Compare { first, second, format } = self;
        Ok(CompareArgs { first, second, format: format.unwrap_or(OutputFormat::Text) })
    }
}
