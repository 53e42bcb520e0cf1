//! `weakspot serial`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weakspot_core::Model;
use weakspot_core::serial::BufferedReads;
use weakspot_lang::{COptions, Format};
use weakspot_trace::LogFormat;

use crate::list::{Lacks, Means, Usage};
use crate::meant::{self, BUFFER_LIMIT, Common, Shared, TSO, distinct, or, processes, refuse};
use crate::refused::{ANSWERS_GO_OUT, EVERY_QUESTION_IS_ANSWERED};
use crate::typed;
use crate::values::{InputFormat, Lines, Takes, format_of, lines, sc_or_tso};

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
`transaction { ... }`, or in the lines that --transaction names; anything else
is one of its own. A violation comes with a run.

In logs a transaction is what a thread does between `begin` and `end`, or under
one number; anything else is a transaction of its own. A log with `com` events
is one execution of TSO, and is asked about under both models. One without is an
execution of SC, and under TSO a trace: it stands for all executions in which
the threads do the same in the same order, whenever their stores reach memory. A
violation comes with a cycle through transactions, two events for each; -q
leaves it out.",
    mut_arg("timeout", |a| a.help(
        "Give up on a question after this time, from opening its file [default: 60s; none for logs]"
    )),
    mut_arg("buffer_limit", |a| a.help(
        "Programs: entries that a buffer may hold at most in a thread that stores in a loop \
[default: 1024]"
    ))
)]
pub(crate) struct Serial {
    /// Programs (.weak, .litmus, .txt, .tso, .rmm), or logs: text, JSONL, RAPID's STD or .wslog; `-` is standard input. A folder stands for the programs and logs in it.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Memory models: sc, tso [default: sc,tso].
    #[arg(long, short, value_name = "MODEL", value_delimiter = ',', value_parser = sc_or_tso)]
    model: Vec<Model>,
    /// Programs: what stands on these lines in a thread (in each, if none is named) is one transaction.
    #[arg(long, value_name = "[THREAD:]FIRST[-LAST]", value_parser = lines)]
    transaction: Vec<Lines>,
    #[command(flatten)]
    buffers: typed::Buffers,
    /// Read the inputs as programs in this language, or as logs in this format, whatever their ending.
    #[arg(long, alias = "log-format", value_name = "FORMAT", value_parser = format_of(Takes::ProgramsAndLogs))]
    input_format: Option<InputFormat>,
    /// Put a fence at the end of each transaction, and tell what that buys under TSO.
    #[arg(long)]
    fence_transactions: bool,
    /// Traces under TSO: warn if one of the schedules nearby, in which conflicts that TSO cannot turn stay as they are, is not serializable.
    #[arg(long)]
    predict: bool,
    /// Traces under TSO: tell what the test of the paper says, which also counts what is no execution.
    #[arg(long)]
    literal: bool,
    /// TSO: which reads of a variable that their thread wrote itself later reads may overtake [default:
    /// exact].
    #[arg(long, value_enum, value_name = "READING")]
    buffered: Option<Buffered>,
    #[command(flatten)]
    processes: typed::Processes,
    #[command(flatten)]
    checkpoint: typed::Checkpoint,
    #[command(flatten)]
    witness: typed::Witness,
    #[command(flatten)]
    threads: typed::Threads,
    #[command(flatten)]
    shared: typed::Shared,
}

/// Which reads count as reads of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Buffered {
    /// Those that take the value of the own store.
    Exact,
    /// All since the last fence, as in the paper, even if they take another thread's value.
    Static,
}

#[derive(Debug)]
pub struct SerialArgs {
    pub files: Vec<PathBuf>,
    pub model: Vec<Model>,
    pub transaction: Vec<Lines>,
    pub buffer_limit: usize,
    /// What all files are: programs in this language, or logs in this format; else each what its
    /// ending says.
    pub language: Option<Format>,
    pub log_format: Option<LogFormat>,
    pub fence_transactions: bool,
    pub predict: bool,
    pub literal: bool,
    pub buffered: BufferedReads,
    pub shared: Shared,
}

impl Means<SerialArgs> for Serial {
    const LACKS: Lacks = &[ANSWERS_GO_OUT, EVERY_QUESTION_IS_ANSWERED];

    fn meant(mut self) -> Result<SerialArgs, Usage> {
        let processes = std::mem::take(&mut self.processes);
        let kept = std::mem::take(&mut self.checkpoint);
        let question = meant::asked(&mut self, |typed| &mut typed.threads);
        let kept = meant::answers_checkpoint(kept, &self.files, &processes, question)?;
        let sweep = processes::sweep(processes, &self.files, &self)?;
        let Serial {
            files,
            model,
            transaction,
            buffers,
            input_format,
            fence_transactions,
            predict,
            literal,
            buffered,
            witness,
            threads,
            shared,
            ..
        } = self;
        let model = distinct(or(model, &[Model::Sc, TSO]))?;
        if model.iter().any(|model| !matches!(model, Model::Sc | Model::Tso)) {
            return Err(Usage(
                "transactions are asked about under SC and TSO only: expected --model sc, tso or both"
                    .to_owned(),
            ));
        }
        if !model.contains(&TSO) {
            let fences =
                [("--fence-transactions", fence_transactions), ("--buffered", buffered.is_some())];
            refuse(&fences, "makes a difference under TSO only: expected --model tso")?;
            let traces = [("--predict", predict), ("--literal", literal)];
            refuse(&traces, "is about traces under TSO: expected --model tso")?;
        }
        if fence_transactions {
            let traces = [("--predict", predict), ("--literal", literal)];
            refuse(&traces, "is about traces as they are: leave out --fence-transactions")?;
        }
        let log_format = input_format.and_then(InputFormat::log);
        if log_format.is_some() {
            let of_programs = [
                ("--transaction", !transaction.is_empty()),
                ("--buffer-limit", buffers.buffer_limit.is_some()),
            ];
            refuse(&of_programs, "is about programs, and --input-format names a format of logs")?;
        }
        let is_log =
            |file: &PathBuf| file.as_os_str() == "-" || LogFormat::from_path(file).is_some();
        if log_format.is_none() && input_format.is_none() && files.iter().all(is_log) {
            let of_programs = [("--buffer-limit", buffers.buffer_limit.is_some())];
            refuse(&of_programs, "is about programs: a log says itself what was buffered")?;
        }
        Ok(SerialArgs {
            files,
            model,
            transaction,
            buffer_limit: buffers.buffer_limit.unwrap_or(BUFFER_LIMIT),
            language: input_format.and_then(InputFormat::language),
            log_format,
            fence_transactions,
            predict,
            literal,
            buffered: match buffered {
                Some(Buffered::Static) => BufferedReads::Static,
                Some(Buffered::Exact) | None => BufferedReads::Exact,
            },
            shared: Shared {
                reading: shared.timeout,
                sweep,
                checkpoint: kept,
                ..meant::shared(shared, Some(&threads), Some(witness))?
            },
        })
    }
}

impl SerialArgs {
    /// What it shares with all questions about programs.
    pub fn of_programs(&self) -> Common {
        Common {
            model: self.model.clone(),
            buffer_limit: self.buffer_limit,
            language: self.language,
            options: COptions::default(),
            processes: None,
            storage: None,
            shared: self.shared.clone(),
        }
    }

    /// The question about one log under SC.
    pub fn of_log(log: PathBuf, shared: Shared) -> SerialArgs {
        SerialArgs {
            files: vec![log],
            model: vec![Model::Sc],
            transaction: Vec::new(),
            buffer_limit: BUFFER_LIMIT,
            language: None,
            log_format: None,
            fence_transactions: false,
            predict: false,
            literal: false,
            buffered: BufferedReads::Exact,
            shared,
        }
    }
}
