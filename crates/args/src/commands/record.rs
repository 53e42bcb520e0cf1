//! `weakspot record`.

use std::path::PathBuf;

use clap::Args;
use weakspot_gen::Client;
use weakspot_trace::HistoryFormat;

use crate::clients::{ASKS_NOTHING, Mix, client, written};
use crate::list::{Lacks, Means, Usage};
use crate::meant::refuse;
use crate::refused::{ABOUT_KEEPING, ABOUT_QUESTIONS};
use crate::values::{InputFormat, Takes, format_of};

/// Record what threads on this very CPU read and write.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot record --cpus 2 --operations 1000000 -o cpu.jsonl
  weakspot gen history --cpus 2 --count 1000 | weakspot record - > cpu.jsonl",
    after_help = "\
Plain loads and stores for reads and writes, exchanges for updates, full fences
for fences; one thread per CPU of the client, started together. The history is
written as by `gen history`. Of the histories in FILE only the operations count,
not what they read; each is run once."
)]
pub(crate) struct Record {
    /// Clients: histories in any format, `-` is standard input; without it, a random client.
    #[arg(value_name = "FILE")]
    client: Option<PathBuf>,
    /// How many threads the client has; by default one per processor, at least 2.
    #[arg(long, value_name = "N")]
    cpus: Option<usize>,
    /// How many operations they do, all threads together [default: 1000000].
    #[arg(long, value_name = "N")]
    operations: Option<usize>,
    #[command(flatten)]
    mix: Mix,
    /// Variables side by side, not each on a cache line of its own.
    #[arg(long)]
    packed: bool,
    /// Read FILE as this format, whatever its ending.
    #[arg(long, value_name = "FORMAT", value_parser = format_of(Takes::Histories))]
    input_format: Option<InputFormat>,
    /// The format; by default what the FILE of -o ends in, else JSON Lines.
    #[arg(long, short, value_name = "FORMAT", value_parser = format_of(Takes::ToHistories))]
    format: Option<InputFormat>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Do not say how fast it was.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug)]
pub struct RecordArgs {
    pub clients: Clients,
    pub packed: bool,
    pub format: HistoryFormat,
    pub output: Option<PathBuf>,
    pub quiet: bool,
}

/// What threads do.
#[derive(Debug)]
pub enum Clients {
    Random(Client),
    /// What the histories of a file do, in a format that is not the one that it ends in.
    Of(PathBuf, Option<HistoryFormat>),
}

impl Means<RecordArgs> for Record {
    const LACKS: Lacks = &[
        (ABOUT_KEEPING, ASKS_NOTHING),
        (ABOUT_QUESTIONS, "it asks nothing: pipe it into `weakspot history --model tso -`"),
        ("timeout memory", "--operations says how much there is to do"),
        ("verbose color progress", "it says how fast it was, and nothing else; -q leaves that out"),
    ];

    fn meant(self) -> Result<RecordArgs, Usage> {
        let Record {
            client: file,
            cpus,
            operations,
            mix,
            packed,
            input_format,
            format,
            output,
            quiet,
        } = self;
        let clients = match file {
            Some(file) => {
                let of_random = [
                    ("--cpus", cpus.is_some()),
                    ("--operations", operations.is_some()),
                    ("--variables", mix.variables.is_some()),
                    ("--read-ratio", mix.read_ratio.is_some()),
                    ("--updates", mix.updates.is_some()),
                    ("--fences", mix.fences.is_some()),
                    ("--seed", mix.seed.is_some()),
                ];
                refuse(&of_random, "is about random clients: leave out FILE")?;
                Clients::Of(file, input_format.and_then(InputFormat::history))
            }
            None => {
                refuse(&[("--input-format", input_format.is_some())], "is for FILE")?;
                let processors =
                    || std::thread::available_parallelism().map_or(2, usize::from).max(2);
                let cpus = cpus.unwrap_or_else(processors);
                Clients::Random(client(&mix, cpus, operations.unwrap_or(1_000_000)))
            }
        };
        let format = written(format, output.as_ref())?;
        Ok(RecordArgs { clients, packed, format, output, quiet })
    }
}
