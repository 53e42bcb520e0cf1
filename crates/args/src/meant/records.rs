//! What is meant for the questions about logs and histories.

use std::path::PathBuf;

use weakspot_core::serial::BufferedReads;
use weakspot_core::{Drain, HistoryModel, Model, TxnModel};
use weakspot_history::Complete;
use weakspot_lang::{COptions, Format};
use weakspot_trace::{Columns, HistoryFormat, LogFormat};

use super::{BUFFER_LIMIT, Common, PSO, Shared, TSO, Usage, distinct, or, refuse, refuse_csv};
use crate::typed::{self, CompleteKey, MonitorAlgorithm, PendingForm};
use crate::values::{InputFormat, Lines, Models};

#[derive(Debug)]
pub struct MonitorArgs {
    pub files: Vec<PathBuf>,
    /// The files are programs.
    pub program: bool,
    /// Of programs: executions with at most so many preemptions, not all.
    pub preemptions: Option<u32>,
    /// Of programs: so many random executions, not all.
    pub random: Option<u64>,
    pub seed: u64,
    pub steps: u32,
    /// Of logs: stop at the first violation.
    pub first: bool,
    pub pending: PendingForm,
    pub algorithm: MonitorAlgorithm,
    pub log_format: Option<LogFormat>,
    pub common: Common,
}

pub(super) fn monitor(mut typed: typed::Monitor) -> Result<MonitorArgs, Usage> {
    let processes = std::mem::take(&mut typed.processes);
    let kept = std::mem::take(&mut typed.checkpoint);
    let question = super::asked(&mut typed, |typed| &mut typed.common.threads);
    let kept = super::answers_checkpoint(kept, &typed.files, &processes, question)?;
    let sweep = super::cluster::sweep(processes, &typed.files, &typed)?;
    let typed::Monitor {
        files,
        program,
        schedules,
        preemptions,
        random,
        seed,
        steps,
        all,
        fail_fast,
        pending,
        algorithm,
        witness,
        common,
        ..
    } = typed;
    let of_programs = [
        ("--schedules", schedules.is_some()),
        ("--preemptions", preemptions.is_some()),
        ("--random", random.is_some()),
        ("--seed", seed.is_some()),
        ("--steps", steps.is_some()),
    ];
    let of_logs = [
        ("--all", all),
        ("--fail-fast", fail_fast),
        ("--hosts", sweep.is_some()),
        ("--checkpoint or --resume", kept.is_some()),
        ("--pending", pending.is_some()),
        ("--algorithm", algorithm.is_some()),
    ];
    if program {
        refuse(&of_logs, "is about logs: leave it out, or --program")?;
    } else {
        refuse(&of_programs, "is about programs: expected --program, too")?;
    }
    refuse(&[("--all", all && fail_fast)], "and --fail-fast contradict each other")?;
    let executions = [&of_programs[0], &of_programs[1], &of_programs[2]];
    if executions.iter().filter(|(_, is_typed)| *is_typed).count() > 1 {
        return Err(Usage("expected one of --schedules, --preemptions and --random".to_owned()));
    }
    let one_by_one = preemptions.is_some() || random.is_some();
    refuse(&[("--seed", seed.is_some() && random.is_none())], "is for --random")?;
    refuse(&[("--steps", steps.is_some() && !one_by_one)], "is for --preemptions and --random")?;
    let algorithm = algorithm.unwrap_or(MonitorAlgorithm::Monitor);
    let sober = algorithm != MonitorAlgorithm::Monitor;
    let models = match (program, sober) {
        (true, _) => &[TSO, PSO, Model::Pso(Drain::Own)][..],
        (false, true) => &[TSO],
        (false, false) => &[TSO, PSO],
    };
    let (input_format, timeout) = (common.input_format, common.shared.timeout);
    let mut common = super::common(common, models, None, Some(witness))?;
    (common.shared.reading, common.shared.sweep) = (timeout.filter(|_| !program), sweep);
    common.shared.checkpoint = kept;
    if program {
        refuse_csv(&common.shared)?;
    }
    if common.model.contains(&Model::Sc) {
        return Err(Usage(match program {
            true => "nothing is violated under sc: a violation is what SC does not do; expected \
                     --model tso, pso or pso-own"
                .to_owned(),
            false => {
                "a log is one of an SC execution, so nothing breaks SC; expected --model tso, \
                      pso or pso-own"
                    .to_owned()
            }
        }));
    }
    if sober && common.model != [TSO] {
        return Err(Usage("SOBER is about TSO only: expected --model tso".to_owned()));
    }
    let log_format = input_format.and_then(InputFormat::log);
    if program {
        let of_logs = log_format.is_some();
        refuse(&[("the --input-format", of_logs)], "is one of logs: leave out --program")?;
    } else {
        let of_programs = common.language.is_some();
        refuse(
            &[("the --input-format", of_programs)],
            "is one of programs: expected --program, too",
        )?;
    }
    Ok(MonitorArgs {
        files,
        program,
        preemptions,
        random,
        seed: seed.unwrap_or(1),
        steps: steps.unwrap_or(1_000),
        first: fail_fast,
        pending: pending.unwrap_or(PendingForm::All),
        algorithm,
        log_format,
        common,
    })
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

pub(super) fn serial(mut typed: typed::Serial) -> Result<SerialArgs, Usage> {
    let processes = std::mem::take(&mut typed.processes);
    let kept = std::mem::take(&mut typed.checkpoint);
    let question = super::asked(&mut typed, |typed| &mut typed.threads);
    let kept = super::answers_checkpoint(kept, &typed.files, &processes, question)?;
    let sweep = super::cluster::sweep(processes, &typed.files, &typed)?;
    let typed::Serial {
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
    } = typed;
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
    let is_log = |file: &PathBuf| file.as_os_str() == "-" || LogFormat::from_path(file).is_some();
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
            Some(typed::Buffered::Static) => BufferedReads::Static,
            Some(typed::Buffered::Exact) | None => BufferedReads::Exact,
        },
        shared: Shared {
            reading: shared.timeout,
            sweep,
            checkpoint: kept,
            ..super::shared(shared, Some(&threads), Some(witness))?
        },
    })
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

pub(super) fn history(mut typed: typed::History) -> Result<HistoryCheckArgs, Usage> {
    let processes = std::mem::take(&mut typed.processes);
    let kept = std::mem::take(&mut typed.checkpoint);
    let question = super::asked(&mut typed, |typed| &mut typed.threads);
    let kept = super::answers_checkpoint(kept, &typed.files, &processes, question)?;
    let sweep = super::cluster::sweep(processes, &typed.files, &typed)?;
    let typed::History {
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
    } = typed;
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
        ..super::shared(shared, Some(&threads), Some(witness))?
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
