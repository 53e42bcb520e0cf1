//! `weakspot print`.

use std::path::PathBuf;

use clap::Args;
use weakspot_lang::Format;

use crate::meant::{self, Bounds};
use crate::typed;
use crate::values::{InputFormat, Takes, format_of};

/// Print a program in the canonical form of its language.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot print corpus/programs/peterson.weak")]
pub(crate) struct Print {
    /// The program.
    pub(crate) file: PathBuf,
    /// Read the input as this language, whatever its ending.
    #[arg(long, value_name = "LANGUAGE", value_parser = format_of(Takes::Programs))]
    pub(crate) input_format: Option<InputFormat>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bounds: typed::Bounds,
}

#[derive(Debug)]
pub struct PrintArgs {
    pub file: PathBuf,
    pub input_format: Option<Format>,
    pub output: Option<PathBuf>,
    pub bounds: Bounds,
}

pub(super) fn print(typed: Print) -> PrintArgs {
    let Print { file, input_format, output, bounds } = typed;
    let input_format = input_format.and_then(InputFormat::language);
    PrintArgs { file, input_format, output, bounds: meant::bounds(&bounds) }
}
