//! What may be typed for `weakspot serial`.

use std::path::PathBuf;

use clap::Args;
use weakspot_core::Model;

use super::{InputFormat, LogFormatKey, Shared, model};

/// Are the transactions of a program or log serializable, under SC and under TSO?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot serial corpus/programs/task-pool.weak
  weakspot serial --transaction 6-7 corpus/litmus/SB.litmus
  weakspot serial corpus/transactions/task-pool.wstrace
  weakspot serial --model sc run.wslog
  my-program | weakspot serial --model sc -
  weakspot serial --fence-transactions corpus/transactions/task-pool.wstrace",
    after_help = "\
Of programs all executions are asked about. A transaction is what stands in
`transaction { ... }`, or in the lines that --transaction names; anything else is
one of its own. A violation comes with a run.

In logs a transaction is what a thread does between `begin` and `end`, or under one
number; anything else is a transaction of its own. A log with `com` events is one
execution of TSO, and is asked about under both models. One without is an execution
of SC, and under TSO a trace: it stands for all executions in which the threads do
the same in the same order, whenever their stores reach memory. A violation comes
with a cycle through transactions, two events for each; -q leaves it out."
)]
pub(crate) struct SerialArgs {
    /// Programs (.weak, .litmus, .txt, .tso, .rmm), or logs: text, JSONL, RAPID's STD or .wslog; `-` is standard input. A folder stands for the programs and logs in it.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Memory models: sc, tso.
    #[arg(long, value_name = "MODEL", value_delimiter = ',', default_value = "sc,tso", value_parser = sc_or_tso)]
    pub(crate) model: Vec<Model>,
    /// Programs: what stands on these lines in a thread (in each, if none is named) is one transaction.
    #[arg(long, value_name = "[THREAD:]FIRST[-LAST]", value_parser = lines)]
    pub(crate) transaction: Vec<Lines>,
    /// Programs: entries that a buffer may hold at most in a thread that stores in a loop.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) buffer_limit: usize,
    /// Read the inputs as programs in this language, whatever their ending.
    #[arg(long, value_name = "LANGUAGE", conflicts_with = "log_format")]
    pub(crate) input_format: Option<InputFormat>,
    /// Put a fence at the end of each transaction, and tell what that buys under TSO.
    #[arg(long)]
    pub(crate) fence_transactions: bool,
    /// Traces under TSO: warn if one of the schedules nearby, in which conflicts that TSO cannot turn stay as they are, is not serializable.
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

impl SerialArgs {
    /// The question about one log under SC.
    pub(crate) fn of_log(log: PathBuf, shared: Shared) -> SerialArgs {
        SerialArgs {
            files: vec![log],
            model: vec![Model::Sc],
            transaction: Vec::new(),
            buffer_limit: 0,
            input_format: None,
            fence_transactions: false,
            predict: false,
            literal: false,
            log_format: None,
            shared,
        }
    }
}

/// Lines of a thread, or of all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) thread: Option<String>,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

fn sc_or_tso(text: &str) -> Result<Model, String> {
    model(text).map_err(|_| "expected sc or tso (which is x86)".to_owned())
}

fn lines(text: &str) -> Result<Lines, String> {
    let expected = || "expected [THREAD:]FIRST[-LAST], as in `P0:3-5` or `7`".to_owned();
    let (thread, numbers) = match text.rsplit_once(':') {
        Some((thread, numbers)) => (Some(thread.to_owned()), numbers),
        None => (None, text),
    };
    let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let number = |text: &str| text.parse::<usize>().ok().filter(|&n| n > 0).ok_or_else(expected);
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!("line {first} comes after line {last}; expected {last}-{first}?"));
    }
    if thread.as_ref().is_some_and(String::is_empty) {
        return Err(expected());
    }
    Ok(Lines { thread, first, last })
}
