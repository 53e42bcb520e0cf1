//! `weakspot convert`.

use std::path::PathBuf;

use clap::Args;

use crate::list::{Lacks, Means, Usage};
use crate::refused::{ABOUT_QUESTIONS, NO_SEARCH};
use crate::values::{InputFormat, Takes, format_of};

/// Convert a log of an execution, or histories, from one format to another.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot convert run.wslog run.wstrace
  weakspot convert --from std --to jsonl - - < trace.txt
  weakspot convert corpus/histories/store-buffering.axe sb.jsonl",
    after_help = "\
Logs by ending: .wstrace is text for people, .jsonl and .json are JSON Lines,
.std is RAPID's STD, .wslog is binary. Histories: .wshist is text for people,
.jsonl and .json are JSON Lines, .axe, .hist (dbcop), .plume, .awdit and .edn
are those of other checkers. If text or JSON Lines become text or JSON Lines,
what INPUT looks like decides. Nothing is left out: what OUTPUT's format cannot
say is an error with its place. If a .wslog has a torn tail, all before it is
converted, with a warning."
)]
pub(crate) struct Convert {
    /// The log or the histories; `-` is standard input.
    input: PathBuf,
    /// Where to write; `-` is standard output.
    #[arg(value_name = "OUTPUT")]
    place: Option<PathBuf>,
    /// The same as OUTPUT.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format of INPUT; by default what it ends in, else what it looks like.
    #[arg(long, visible_alias = "from", value_name = "FORMAT", value_parser = format_of(Takes::LogsAndHistories))]
    input_format: Option<InputFormat>,
    /// The format of OUTPUT; by default what it ends in.
    #[arg(long, short, visible_alias = "to", value_name = "FORMAT", value_parser = format_of(Takes::ToLogsAndHistories))]
    format: Option<InputFormat>,
    /// No warnings.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug)]
pub struct ConvertArgs {
    pub input: PathBuf,
    pub output: PathBuf,
    pub from: Option<InputFormat>,
    pub to: Option<InputFormat>,
    pub quiet: bool,
}

impl Means<ConvertArgs> for Convert {
    const LACKS: Lacks = &[
        NO_SEARCH,
        (ABOUT_QUESTIONS, "it asks nothing: `weakspot monitor`, `serial` and `history` do"),
        ("timeout memory", "it goes on as long as its input, in constant memory; Ctrl-C ends it"),
        ("verbose color progress", "it writes OUTPUT and nothing else"),
    ];

    fn meant(self) -> Result<ConvertArgs, Usage> {
        let Convert { input, place, output, input_format, format, quiet } = self;
        let output = match (place, output) {
            (Some(output), None) | (None, Some(output)) => output,
            (None, None) => {
                return Err(Usage(
                    "expected two files, as in `weakspot convert INPUT OUTPUT`; OUTPUT may be `-`"
                        .to_owned(),
                ));
            }
            (Some(_), Some(_)) => return Err(Usage("expected one OUTPUT, not two".to_owned())),
        };
        Ok(ConvertArgs { input, output, from: input_format, to: format, quiet })
    }
}
