//! `weakspot certify`.

use std::path::PathBuf;

use clap::Args;
use weakspot_lang::COptions;

use crate::list::{Lacks, Means, Usage};
use crate::meant::{self, Bounds};
use crate::refused::NO_SEARCH;
use crate::typed;
use crate::values::{InputFormat, Takes, format_of};

/// Check the witness of an answer by the definitions alone.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  weakspot litmus --model tso --witness sb.json corpus/litmus/SB.litmus
  weakspot certify corpus/litmus/SB.litmus sb.json
  weakspot certify corpus/litmus/*.litmus witnesses/*.json")]
pub(crate) struct Certify {
    /// The input that the question was about, and the witness that `--witness` wrote. Of more than two
    /// files, those that are witnesses are checked, each against the input whose hash it names.
    #[arg(required = true, num_args = 2.., value_names = ["INPUT", "WITNESS"])]
    files: Vec<PathBuf>,
    /// One object per witness on a line of its own.
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    format: Option<String>,
    /// Give up the re-derivation of a claim of completeness after this many states, or events of a log
    /// (by default 1000000), or operations of a history (by default 100).
    #[arg(long, value_name = "N")]
    max_states: Option<usize>,
    /// Read the input as this format, whatever its ending.
    #[arg(long, aliases = ["history-format", "log-format"], value_name = "FORMAT", value_parser = format_of(Takes::Anything))]
    input_format: Option<InputFormat>,
    #[command(flatten)]
    in_c: typed::InC,
    #[command(flatten)]
    bounds: typed::Bounds,
}

#[derive(Debug)]
pub struct CertifyArgs {
    /// An input and its witness, or inputs and witnesses.
    pub files: Vec<PathBuf>,
    /// Print JSON.
    pub json: bool,
    /// How much is looked at by definition, if not as much as is usual for the kind of input.
    pub max_states: Option<usize>,
    /// The format of the input, if it is not the one that it ends in.
    pub input_format: Option<InputFormat>,
    /// What programs in C are compiled with.
    pub options: COptions,
    pub bounds: Bounds,
}

impl Means<CertifyArgs> for Certify {
    const LACKS: Lacks = &[
        NO_SEARCH,
        ("model witness", "the witness, which is an argument, says what is claimed"),
        (
            "buffer-limit fail-fast threads",
            "it follows the definitions, one state after the other; --max-states bounds that",
        ),
        (
            "output quiet verbose progress",
            "it says one line for each witness; the exit code is all that a script needs",
        ),
    ];

    fn meant(self) -> Result<CertifyArgs, Usage> {
        let Certify { files, format, max_states, input_format, in_c, bounds } = self;
        let options = meant::in_c(in_c)?;
        let json = format.is_some_and(|format| format == "json");
        let bounds = meant::bounds(&bounds);
        Ok(CertifyArgs { files, json, max_states, input_format, options, bounds })
    }
}
