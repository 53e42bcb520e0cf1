//! Random clients, and the format of the histories of what they do.

use std::path::PathBuf;

use clap::Args;
use weakspot_gen::Client;
use weakspot_trace::HistoryFormat;

use crate::meant::Usage;
use crate::values::InputFormat;

/// What random clients do.
#[derive(Debug, Args)]
pub(crate) struct Mix {
    /// How many variables the clients have [default: 10].
    #[arg(long, value_name = "N")]
    pub(crate) variables: Option<usize>,
    /// The share of reads in plain accesses [default: 0.5].
    #[arg(long, value_name = "SHARE")]
    pub(crate) read_ratio: Option<f64>,
    /// The share of atomic updates in all operations [default: 0].
    #[arg(long, value_name = "SHARE")]
    pub(crate) updates: Option<f64>,
    /// The share of full fences in all operations [default: 0].
    #[arg(long, value_name = "SHARE")]
    pub(crate) fences: Option<f64>,
    /// What the clients are made from [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

pub(crate) fn client(mix: &Mix, cpus: usize, operations: usize) -> Client {
    Client {
        cpus,
        operations,
        variables: mix.variables.unwrap_or(10),
        read_ratio: mix.read_ratio.unwrap_or(0.5),
        updates: mix.updates.unwrap_or(0.0),
        fences: mix.fences.unwrap_or(0.0),
        seed: mix.seed.unwrap_or(1),
    }
}

/// The format of histories that are written: the one that was typed, that of the ending, JSON Lines.
pub(crate) fn written(
    typed: Option<InputFormat>,
    output: Option<&PathBuf>,
) -> Result<HistoryFormat, Usage> {
    let ending = || output.and_then(|output| HistoryFormat::from_path(output));
    let format = typed.and_then(InputFormat::history).or_else(ending);
    match format.unwrap_or(HistoryFormat::Jsonl) {
        HistoryFormat::Edn => {
            Err(Usage("EDN is not written; expected another ending, such as .jsonl".to_owned()))
        }
        HistoryFormat::Csv => {
            Err(Usage("CSV is not written; expected another ending, such as .jsonl".to_owned()))
        }
        format => Ok(format),
    }
}

/// Why what writes inputs has no options of questions.
pub(crate) const ASKS_NOTHING: &str = "it asks nothing: it writes inputs for other commands";
