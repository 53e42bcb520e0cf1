//! What may be typed after `gen history` and `record`.

use std::path::PathBuf;

use clap::Args;
use weakspot_gen::{Bug, Source};

/// Histories of random clients on a memory, a machine or a cache coherence protocol.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot gen history --source tso --cpus 4 --operations 1000 -o tso.jsonl
  weakspot gen history --source mesi --bug lost-ack --count 100 > lost-ack.jsonl
  weakspot gen history --list",
    after_help = "\
JSON Lines, one history per line, to standard output unless -o names a file. Of each variable no
value is written twice. History number i is that of the seed plus i; the same seed, the same
history."
)]
pub(crate) struct HistoryArgs {
    /// Who runs the clients; --list tells which there are.
    #[arg(long, value_name = "SOURCE", default_value = "atomic", hide_possible_values = true,
        value_parser = clap::builder::PossibleValuesParser::new(Source::ALL.map(Source::key)))]
    pub(crate) source: String,
    /// A bug in the protocol; --list tells which there are.
    #[arg(long, value_name = "NAME", hide_possible_values = true,
        value_parser = clap::builder::PossibleValuesParser::new(Bug::ALL.map(Bug::key)))]
    pub(crate) bug: Option<String>,
    /// Put a store buffer between each CPU and its cache: histories become TSO instead of SC.
    #[arg(long)]
    pub(crate) store_buffer: bool,
    /// How many CPUs the clients have.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) cpus: usize,
    /// How many operations they do, all CPUs together.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) operations: usize,
    #[command(flatten)]
    pub(crate) mix: Mix,
    /// How many histories.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) count: u64,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// List the sources and their bugs.
    #[arg(long)]
    pub(crate) list: bool,
}

/// What random clients do.
#[derive(Debug, Args)]
pub(crate) struct Mix {
    /// How many variables the clients have.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) variables: usize,
    /// The share of reads in plain accesses.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub(crate) read_ratio: f64,
    /// The share of atomic updates in all operations.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) updates: f64,
    /// The share of full fences in all operations.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) fences: f64,
    /// What the clients are made from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Record what threads on this very CPU read and write.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot record --cpus 2 --operations 1000000 -o cpu.jsonl
  weakspot gen history --cpus 2 --count 1000 | weakspot record - > cpu.jsonl",
    after_help = "\
Plain loads and stores for reads and writes, exchanges for updates, full fences for fences; one
thread per CPU of the client, started together. The history is written as by `gen history`. Of
the histories in FILE only the operations count, not what they read; each is run once."
)]
pub(crate) struct RecordArgs {
    /// Clients: histories in any format, `-` is standard input; without it, a random client.
    #[arg(value_name = "FILE",
        conflicts_with_all = ["cpus", "operations", "variables", "read_ratio", "updates", "fences", "seed"])]
    pub(crate) client: Option<PathBuf>,
    /// How many threads the client has [default: one per processor, at least 2].
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<usize>,
    /// How many operations they do, all threads together.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) operations: usize,
    #[command(flatten)]
    pub(crate) mix: Mix,
    /// Variables side by side, not each on a cache line of its own.
    #[arg(long)]
    pub(crate) packed: bool,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Do not say how fast it was.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
