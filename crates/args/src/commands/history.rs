//! `weakspot history`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weakspot_core::{HistoryModel, TxnModel};
use weakspot_history::Complete;
use weakspot_trace::{Columns, HistoryFormat};

use crate::list::{Lacks, Means, Usage};
use crate::meant::{self, Shared, distinct, processes, refuse, refuse_csv};
use crate::refused::{ANSWERS_GO_OUT, EVERY_QUESTION_IS_ANSWERED};
use crate::typed;
use crate::values::{InputFormat, Models, Takes, format_of, models};

/// Which models does a recorded history satisfy, of memory or of transactions?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot history corpus/histories/classic.wshist
  weakspot history --model tso --minimise corpus/histories/store-buffering.axe
  weakspot history --model coherence corpus/histories/stale-read.wshist
  weakspot history --columns cycle,core,op,addr,data log.txt
  weakspot record --operations 100000 | weakspot history --model tso,sc -
  weakspot history --follow run.wshist
  weakspot history --model serializable corpus/databases/write-skew.edn",
    after_help = "\
A history says what each thread read and wrote, in the order of that thread. It
satisfies a model if the model explains all of it. The models are causal
consistency (cc), causal convergence (ccv), causal memory (cm), convergent
causal memory (ccm), what is left of it under TSO (wccm), cache coherence, which
is SC of each variable by itself (coherence), partial store order (pso), total
store order (tso) and sequential consistency (sc). `all` draws which of them are
satisfied, the stronger above the weaker. pso-own is PSO where an atomic update
waits only for earlier writes to its own variable.

If a history says when operations began and ended, lin is linearizability: what
ended before something else began comes first. tso-rt is TSO where each
operation is done in between, and what it writes may reach memory later.

Files of dbcop, Plume, AWDIT and Jepsen (Elle) have transactions, and are asked
for read-committed (rc), read-atomic (ra), transactional-causal (tcc) and
serializable (ser); a violation is named as Elle does, such as G1a or G-single.
If models of memory are asked for, the operations are looked at one by one.

A file may have many histories: JSON Lines, text, or those of Axe, dbcop, Plume,
AWDIT and Jepsen, or a table with a column for each of core, operation, address
and value. `-` is standard input, a folder stands for all histories in
it. A violation is shown as a cycle of operations, each before the next one for
the reason given; -q leaves all but the first line out. A read of a value that
nobody wrote is bad input, because far more often a write was not recorded; with
--complete-recording it is a violation.

--follow waits for more at the end of a file, as `tail -f` does, and looks at
the last operations together, in constant memory. Such a file is text, Axe,
Plume, or JSON with one operation per line.",
    mut_arg("timeout", |a| a.help(
        "Give up on a question after this time [default: 60s; with --follow none]; with --follow end after it"
    )),
    mut_arg("quiet", |a| a.help("One line per answer; no warnings, no summary"))
)]
pub(crate) struct History {
    /// Histories, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Models: cc, ccv, cm, ccm, wccm, coherence, pso, pso-own, tso, tso-rt, sc, lin, or of transactions
    /// rc, ra, tcc, ser, separated by commas, or all, which is all but pso-own, tso-rt and lin [default: all; with --follow sc,tso].
    #[arg(long, short, value_name = "MODEL", value_delimiter = ',', value_parser = models)]
    model: Vec<Models>,
    /// Show a smallest part of a history that violates the model as well.
    #[arg(long)]
    minimise: bool,
    /// How to complete the store order for SC, TSO and PSO; all give the same answers [default: auto].
    #[arg(long, value_name = "HOW")]
    complete: Option<CompleteKey>,
    /// Do not derive orders between writes before the store order is completed.
    #[arg(long)]
    no_saturation: bool,
    /// Read the files as this format, whatever their ending.
    #[arg(long, alias = "history-format", value_name = "FORMAT", value_parser = format_of(Takes::Histories))]
    input_format: Option<InputFormat>,
    /// What the columns of a log are, such as cycle,core,op,addr,data,size; - is a column that is not
    /// used, and addr:hex has hexadecimal digits without 0x.
    #[arg(long, value_name = "NAMES", value_parser = weakspot_trace::Columns::parse, allow_hyphen_values = true)]
    columns: Option<weakspot_trace::Columns>,
    /// Take a read of a value that nobody wrote for a violation: all writes were recorded.
    #[arg(long)]
    complete_recording: bool,
    /// Check a history while it is written, operation by operation, until it is violated.
    #[arg(long)]
    follow: bool,
    /// With --follow: how many operations to look at together [default: 100000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000_000))]
    window: Option<u32>,
    /// With --follow: nobody writes a value twice to a variable, so that violations are told at once.
    #[arg(long)]
    distinct_values: bool,
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

#[derive(Debug)]
pub struct HistoryCheckArgs {
    pub files: Vec<PathBuf>,
    /// Of memory; none if only models of transactions were asked for.
    pub models: Vec<HistoryModel>,
    /// Of transactions; none if only models of memory were asked for. If there are both, files of
    /// transactions are asked about these, and the others about those.
    pub txn_models: Vec<TxnModel>,
    pub minimise: bool,
    pub complete: Complete,
    pub no_saturation: bool,
    pub input_format: Option<HistoryFormat>,
    pub columns: Option<Columns>,
    pub complete_recording: bool,
    pub follow: bool,
    pub window: u32,
    pub distinct_values: bool,
    pub shared: Shared,
}

impl Means<HistoryCheckArgs> for History {
    const LACKS: Lacks = &[
        ANSWERS_GO_OUT,
        EVERY_QUESTION_IS_ANSWERED,
        ("buffer-limit", "what was recorded is bounded; there are no buffers to explore"),
    ];

    fn meant(mut self) -> Result<HistoryCheckArgs, Usage> {
        let processes = std::mem::take(&mut self.processes);
        let kept = std::mem::take(&mut self.checkpoint);
        let question = meant::asked(&mut self, |typed| &mut typed.threads);
        let kept = meant::answers_checkpoint(kept, &self.files, &processes, question)?;
        let sweep = processes::sweep(processes, &self.files, &self)?;
        let History {
            files,
            model,
            minimise,
            complete,
            no_saturation,
            input_format,
            columns,
            complete_recording,
            follow,
            window,
            distinct_values,
            witness,
            threads,
            shared,
            ..
        } = self;
        if follow {
            refuse(
                &[("--witness", witness.witness.is_some())],
                "is about a whole file: leave out --follow",
            )?;
            refuse(
                &[
                    ("--threads", threads.threads.is_some()),
                    ("--hosts", sweep.is_some()),
                    ("--checkpoint or --resume", kept.is_some()),
                ],
                "is for several files: --follow takes one",
            )?;
            refuse(
                &[("--complete-recording", complete_recording)],
                "is about a whole file: leave out --follow",
            )?;
        }
        refuse(
            &[
                ("--window", window.is_some() && !follow),
                ("--distinct-values", distinct_values && !follow),
            ],
            "is for --follow",
        )?;
        if columns.is_some() {
            let is_table = input_format.is_none_or(|format| format == InputFormat::Csv);
            refuse(&[("--columns", !is_table)], "is for tables: leave out --input-format")?;
            refuse(
                &[("--witness", witness.witness.is_some())],
                "is for files that say themselves what their columns are: put a line with the names \
                 first and leave out --columns",
            )?;
        }
        let is_all = model.contains(&Models::All) || model.is_empty();
        let of_memory = |models: &Models| match *models {
            Models::All => HistoryModel::ALL.to_vec(),
            Models::One(model) => vec![model],
            Models::Txn(_) => Vec::new(),
        };
        let of_txns = |models: &Models| match *models {
            Models::Txn(model) => vec![model],
            Models::All | Models::One(_) => Vec::new(),
        };
        let models: Vec<HistoryModel> = match (model.is_empty(), follow) {
            (true, true) => vec![HistoryModel::Sc, HistoryModel::Tso],
            (true, false) => HistoryModel::ALL.to_vec(),
            (false, _) => model.iter().flat_map(of_memory).collect(),
        };
        let own = follow && models.contains(&HistoryModel::PsoOwn);
        refuse(&[("--model pso-own", own)], "is for whole files: leave out --follow")?;
        // What is about models of memory only asks all files about these.
        let txn_models: Vec<TxnModel> = match (is_all, follow || complete_recording) {
            (true, true) => Vec::new(),
            (true, false) => TxnModel::ALL.to_vec(),
            (false, _) => model.iter().flat_map(of_txns).collect(),
        };
        if !txn_models.is_empty() && !is_all {
            if !models.is_empty() {
                return Err(Usage(
                    "models of memory and of transactions are asked about one after the other: \
                     expected --model with one kind"
                        .to_owned(),
                ));
            }
            let of_memory = [
                ("--follow", follow),
                ("--minimise", minimise),
                ("--complete", complete.is_some()),
                ("--no-saturation", no_saturation),
                ("--columns", columns.is_some()),
                ("--complete-recording", complete_recording),
            ];
            refuse(&of_memory, "is about models of memory, not of transactions")?;
        }
        let shared = Shared {
            reading: shared.timeout.filter(|_| follow),
            sweep,
            checkpoint: kept,
            ..meant::shared(shared, Some(&threads), Some(witness))?
        };
        if follow {
            refuse_csv(&shared)?;
        }
        Ok(HistoryCheckArgs {
            files,
            models: distinct(models)?,
            txn_models: distinct(txn_models)?,
            minimise,
            complete: match complete {
                None | Some(CompleteKey::Auto) => Complete::Auto,
                Some(CompleteKey::Search) => Complete::Search,
                Some(CompleteKey::Enum) => Complete::Enum,
                Some(CompleteKey::Sat) => Complete::Sat,
            },
            no_saturation,
            input_format: input_format.and_then(InputFormat::history),
            columns,
            complete_recording,
            follow,
            window: window.unwrap_or(100_000),
            distinct_values,
            shared,
        })
    }
}
