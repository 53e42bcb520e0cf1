//! `weakspot print`.

use std::path::PathBuf;

use clap::Args;
use weakspot_lang::Format;

use crate::list::{Lacks, Means, Usage};
use crate::meant::{self, Bounds};
use crate::refused::{ABOUT_QUESTIONS, NO_SEARCH};
use crate::typed;
use crate::values::{InputFormat, Takes, format_of};

/// Print a program in the canonical form of its language.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot print corpus/programs/peterson.weak")]
pub(crate) struct Print {
    /// The program.
    file: PathBuf,
    /// Read the input as this language, whatever its ending.
    #[arg(long, value_name = "LANGUAGE", value_parser = format_of(Takes::Programs))]
    input_format: Option<InputFormat>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    bounds: typed::Bounds,
}

#[derive(Debug)]
pub struct PrintArgs {
    pub file: PathBuf,
    pub input_format: Option<Format>,
    pub output: Option<PathBuf>,
    pub bounds: Bounds,
}

impl Means<PrintArgs> for Print {
    const LACKS: Lacks = &[
        NO_SEARCH,
        ("format", "a program is printed in its own language"),
        (ABOUT_QUESTIONS, "it asks nothing: `weakspot litmus`, `reach` and `robust` do"),
        ("quiet verbose progress", "it prints the program and nothing else"),
    ];

    fn meant(self) -> Result<PrintArgs, Usage> {
        let Print { file, input_format, output, bounds } = self;
        let input_format = input_format.and_then(InputFormat::language);
        Ok(PrintArgs { file, input_format, output, bounds: meant::bounds(&bounds) })
    }
}
