//! What may be typed after `history`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weakspot_core::HistoryModel;
use weakspot_history::Complete;
use weakspot_trace::HistoryFormat;

use super::Shared;

/// Which memory models does a recorded history satisfy?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot history corpus/histories/classic.wshist
  weakspot history --model tso --minimise corpus/histories/store-buffering.axe
  weakspot record --operations 100000 | weakspot history --model tso,sc -
  weakspot history --follow run.wshist",
    after_help = "\
A history says what each thread read and wrote, in the order of that thread. It satisfies a model
if the model explains all of it. The models are causal consistency (cc), causal convergence (ccv),
causal memory (cm), convergent causal memory (ccm), what is left of it under TSO (wccm), partial
store order (pso), total store order (tso) and sequential consistency (sc). `all` draws which of
them are satisfied, the stronger above the weaker.

A file may have many histories: JSON Lines, text, or those of Axe, dbcop, Plume, AWDIT and Jepsen.
`-` is standard input, a folder stands for all histories in it. A violation is shown as a cycle of
operations, each before the next one for the reason given; -q leaves all but the first line out.

--follow waits for more at the end of a file, as `tail -f` does, and looks at the last operations
together, in constant memory. Such a file is text, Axe, Plume, or JSON with one operation per line.",
    mut_arg("timeout", |a| a.help(
        "Give up on a question after this time [default: 60s]; with --follow end after it [default: never]"
    )),
    mut_arg("quiet", |a| a.help("One line per answer; no warnings, no summary"))
)]
pub(crate) struct HistoryCheckArgs {
    /// Histories, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Models: cc, ccv, cm, ccm, wccm, pso, tso, sc, separated by commas, or all [default: all; with
    /// --follow sc,tso].
    #[arg(long, value_name = "MODEL", value_delimiter = ',', value_parser = models)]
    pub(crate) model: Vec<Models>,
    /// Show a smallest part of a history that violates the model as well.
    #[arg(long)]
    pub(crate) minimise: bool,
    /// How to complete the store order for SC, TSO and PSO; all give the same answers.
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) complete: CompleteKey,
    /// Do not derive orders between writes before the store order is completed.
    #[arg(long)]
    pub(crate) no_saturation: bool,
    /// Read the files as this format, whatever their ending.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) input_format: Option<HistoryFormatKey>,
    /// Check a history while it is written, operation by operation, until it is violated.
    #[arg(long, conflicts_with = "witness")]
    pub(crate) follow: bool,
    /// With --follow: how many operations to look at together.
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "follow", value_parser = clap::value_parser!(u32).range(2..=10_000_000))]
    pub(crate) window: u32,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

impl HistoryCheckArgs {
    /// The models that are asked about.
    pub(crate) fn models(&self) -> Vec<HistoryModel> {
        let each = |models: &Models| match *models {
            Models::All => HistoryModel::ALL.to_vec(),
            Models::One(model) => vec![model],
        };
        match (self.model.is_empty(), self.follow) {
            (true, true) => vec![HistoryModel::Sc, HistoryModel::Tso],
            (true, false) => HistoryModel::ALL.to_vec(),
            (false, _) => self.model.iter().flat_map(each).collect(),
        }
    }
}

/// A model, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Models {
    One(HistoryModel),
    All,
}

fn models(text: &str) -> Result<Models, String> {
    let key = text.trim().to_ascii_lowercase();
    if key == "all" {
        return Ok(Models::All);
    }
    let model = HistoryModel::ALL.into_iter().find(|model| model.key() == key);
    let expected = "expected cc, ccv, cm, ccm, wccm, pso, tso, sc or all";
    model.map(Models::One).ok_or_else(|| expected.to_owned())
}

/// How the store order is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompleteKey {
    /// A greedy run first, at last SAT.
    Auto,
    /// A search that remembers where it failed.
    Search,
    /// All store orders, one after the other.
    Enum,
    /// SAT on the pairs of writes that are open.
    Sat,
}

impl From<CompleteKey> for Complete {
    fn from(key: CompleteKey) -> Complete {
        match key {
            CompleteKey::Auto => Complete::Auto,
            CompleteKey::Search => Complete::Search,
            CompleteKey::Enum => Complete::Enum,
            CompleteKey::Sat => Complete::Sat,
        }
    }
}

/// The formats of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryFormatKey {
    /// JSON Lines.
    Jsonl,
    /// One operation per line, for people.
    #[value(alias = "wshist")]
    Text,
    /// Axe.
    Axe,
    /// The text of dbcop.
    Dbcop,
    /// The JSON of dbcop.
    DbcopJson,
    /// Plume, PolySI and AWDIT.
    Plume,
    /// AWDIT's tests.
    Awdit,
    /// Jepsen.
    #[value(aliases = ["jepsen", "elle"])]
    Edn,
}

impl From<HistoryFormatKey> for HistoryFormat {
    fn from(key: HistoryFormatKey) -> HistoryFormat {
        match key {
            HistoryFormatKey::Jsonl => HistoryFormat::Jsonl,
            HistoryFormatKey::Text => HistoryFormat::Text,
            HistoryFormatKey::Axe => HistoryFormat::Axe,
            HistoryFormatKey::Dbcop => HistoryFormat::Dbcop,
            HistoryFormatKey::DbcopJson => HistoryFormat::DbcopJson,
            HistoryFormatKey::Plume => HistoryFormat::Plume,
            HistoryFormatKey::Awdit => HistoryFormat::Awdit,
            HistoryFormatKey::Edn => HistoryFormat::Edn,
        }
    }
}
