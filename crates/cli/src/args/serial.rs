//! What may be typed for `weakspot serial`.

use std::path::PathBuf;

use clap::Args;
use weakspot_core::Model;

use super::{LogFormatKey, Shared, model};

/// Are the transactions of a log serializable, under SC and under TSO?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot serial corpus/transactions/task-pool.wstrace
  weakspot serial --model sc run.wslog
  my-program | weakspot serial --model sc -
  weakspot serial --fence-transactions corpus/transactions/task-pool.wstrace",
    after_help = "\
A transaction is what a thread does between `begin` and `end`, or under one number; anything else is
a transaction of its own. A log with `com` events is one execution of TSO, and is asked about under
both models. One without is an execution of SC, and under TSO a trace: it stands for all executions in
which the threads do the same in the same order, whenever their stores reach memory. A violation
comes with a cycle through transactions, two events for each; -q leaves it out."
)]
pub(crate) struct SerialArgs {
    /// Logs: text, JSONL, RAPID's STD or .wslog; `-` is standard input. A folder stands for all logs in it.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) files: Vec<PathBuf>,
    /// Memory models: sc, tso.
    #[arg(long, value_name = "MODEL", value_delimiter = ',', default_value = "sc,tso", value_parser = model)]
    pub(crate) model: Vec<Model>,
    /// Put a fence at the end of each transaction, and tell what that buys under TSO.
    #[arg(long)]
    pub(crate) fence_transactions: bool,
    /// Traces under TSO: warn if another schedule of the same events has an execution that is not serializable.
    #[arg(long, conflicts_with = "fence_transactions")]
    pub(crate) predict: bool,
    /// Traces under TSO: tell what the test of the paper says, which also counts what is no execution.
    #[arg(long, conflicts_with = "fence_transactions")]
    pub(crate) literal: bool,
    /// Read the logs as this format, whatever their ending.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormatKey>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}
