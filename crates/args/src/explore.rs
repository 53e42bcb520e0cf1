//! How real programs are explored, whatever command builds or starts them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use weakspot_core::Model;

use crate::meant::{
    self, PSO, Shared, TIMEOUT, TSO, Usage, distinct, file, or, refuse, refuse_csv,
};
use crate::refused::Lack;
use crate::typed;
use crate::values::{OutputFormat, Replay, buffers, model};

/// How a program is explored, however it came to be.
#[derive(Debug, Args)]
pub(crate) struct Explore {
    /// Memory models: tso, pso (which heeds the orders of C11 atomics), pso-own (in which an atomic
    /// update waits only for stores to its own address); by default tso, and pso as advice that does not
    /// count for the exit code.
    #[arg(long, short, value_name = "MODEL", value_delimiter = ',', value_parser = model)]
    pub(crate) model: Vec<Model>,
    /// Pairs of accesses count for the exit code even if no execution fails because of them.
    #[arg(long)]
    pub(crate) robust: bool,
    /// Accept the pairs that this file lists: what `--format json` has printed before.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Execute the program with the store buffers of tso or pso, instead of watching executions of
    /// SC for what these would do: assertions that fail only there fail.
    #[arg(long, value_name = "MODEL", value_parser = buffers)]
    pub(crate) under: Option<Model>,
    /// Which executions, and in which order [default: auto].
    #[arg(long, value_name = "STRATEGY")]
    pub(crate) strategy: Option<RunStrategy>,
    /// At most this many preemptions: a thread stops that could go on.
    #[arg(long, value_name = "K")]
    pub(crate) preemptions: Option<u32>,
    /// random, pct: the seed of the schedules [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// pct: the depth of the bug, how many orders between steps it needs [default: 3].
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<usize>,
    /// Execute only the schedule that a finding came with: its number, or the schedule itself.
    #[arg(long, value_name = "SCHEDULE")]
    pub(crate) replay: Option<Replay>,
    /// At most this many executions.
    #[arg(long, value_name = "N")]
    pub(crate) executions: Option<u64>,
    /// At most this many steps per execution, once a second thread was started [default: 100000].
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u64>,
    /// Treat a thread as waiting after it has read the same values this many times, although it
    /// does not do exactly the same again [default: 32].
    #[arg(long, value_name = "N")]
    pub(crate) spins: Option<u32>,
    /// Stop at the first finding.
    #[arg(long, alias = "first")]
    pub(crate) fail_fast: bool,
    /// How memory is put back between executions [default: auto].
    #[arg(long, value_name = "HOW")]
    pub(crate) isolate: Option<Isolate>,
    /// What the program prints: nothing of it, that of its first execution, or all [default: none].
    #[arg(long, alias = "output", value_name = "WHICH")]
    pub(crate) program_output: Option<ProgramOutput>,
    /// An exit code other than 0 is no failure.
    #[arg(long)]
    pub(crate) ignore_exit_code: bool,
    /// Run the program in a new, empty folder, which is also its TMPDIR, and remove that afterwards.
    #[arg(long)]
    pub(crate) scratch: bool,
    /// A thread that sleeps, or waits with a timeout, goes on only when no other can, in the order of deadlines.
    #[arg(long)]
    pub(crate) virtual_time: bool,
    /// Freed memory is given out again, so that a program may meet an address twice.
    #[arg(long)]
    pub(crate) reuse: bool,
    /// Data races are no failures.
    #[arg(long)]
    pub(crate) no_races: bool,
    /// What these functions do is a transaction each: are executions serializable? Others are marked
    /// by WEAKSPOT_BEGIN() and WEAKSPOT_END() of weakspot.h.
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    pub(crate) transaction: Vec<String>,
    /// Watch transactions that only the code marks.
    #[arg(long)]
    pub(crate) transactions: bool,
    /// Look at the program as if each transaction ended in a fence.
    #[arg(long)]
    pub(crate) fence_transactions: bool,
    /// Find the fewest fences and stronger orders that prevent all pairs, as a diff of the source.
    #[arg(long)]
    pub(crate) fences: bool,
    /// Write the execution that is replayed to this log, for `weakspot monitor` or `serial`.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// With --replay: stop in gdb at the store that is late, or else at the last step before the failure.
    #[arg(long)]
    pub(crate) gdb: bool,
    #[command(flatten)]
    pub(crate) shared: typed::Shared,
    #[command(flatten)]
    pub(crate) threads: typed::Threads,
}

/// Strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunStrategy {
    /// All with dpor if there are few; otherwise those with 0, 1 and 2 preemptions first.
    Auto,
    /// With 0, 1, 2, ... preemptions.
    Bounded,
    /// One for each order of conflicting steps.
    Dpor,
    /// One for each way in which loads read from stores: do executions fail? Nothing is watched for.
    Rf,
    /// At random.
    Random,
    /// Probabilistic concurrency testing: random priorities that change a few times.
    Pct,
}

/// How executions are kept from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Isolate {
    /// Memory is copied back, unless the first executions show that this is not enough.
    Auto,
    /// Memory is copied back.
    Memory,
    /// Each has a process of its own.
    Fork,
}

/// Which output of the program is shown, on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramOutput {
    None,
    First,
    All,
}

/// How a program is explored, however it came to be.
#[derive(Clone, Debug)]
pub struct RunArgs {
    pub model: Vec<Model>,
    /// Whether all of them count, and not only SC and TSO.
    pub all_count: bool,
    pub robust: bool,
    pub baseline: Option<PathBuf>,
    pub under: Option<Model>,
    pub strategy: RunStrategy,
    pub preemptions: Option<u32>,
    pub seed: u64,
    pub depth: usize,
    pub replay: Option<Replay>,
    /// How many of the program explore it at a time.
    pub workers: usize,
    pub executions: Option<u64>,
    pub steps: u64,
    pub spins: u32,
    pub first: bool,
    pub isolate: Isolate,
    pub output: ProgramOutput,
    pub codes: bool,
    pub scratch: bool,
    pub virtual_time: bool,
    pub reuse: bool,
    pub races: bool,
    pub transaction: Vec<String>,
    pub transactions: bool,
    pub fence_transactions: bool,
    pub fences: bool,
    pub log: Option<PathBuf>,
    pub gdb: bool,
    pub shared: Shared,
}

/// After how many times a thread that reads the same again is taken to wait.
pub const SPINS: u32 = 32;

/// How one program is explored, with all processors.
pub(crate) fn alone(typed: Explore, witness: typed::Witness) -> Result<RunArgs, Usage> {
    let run = explore(typed, witness, TIMEOUT)?;
    Ok(RunArgs { workers: run.shared.threads, ..run })
}

pub(crate) fn explore(
    typed: Explore,
    witness: typed::Witness,
    timeout: Duration,
) -> Result<RunArgs, Usage> {
    let Explore {
        model,
        robust,
        baseline,
        under,
        strategy,
        preemptions,
        seed,
        depth,
        replay,
        executions,
        steps,
        spins,
        fail_fast,
        isolate,
        program_output,
        ignore_exit_code,
        scratch,
        virtual_time,
        reuse,
        no_races,
        transaction,
        transactions,
        fence_transactions,
        fences,
        log,
        gdb,
        shared,
        threads,
    } = typed;
    let transactional = [
        ("--transaction", !transaction.is_empty()),
        ("--transactions", transactions),
        ("--fence-transactions", fence_transactions),
    ];
    if under.is_some() {
        refuse(
            &[("--model", !model.is_empty())],
            "is watched for, and --under executed: expected one",
        )?;
        refuse(&transactional, "watches executions of SC: leave out --under")?;
        let watched =
            [("--fences", fences), ("--robust", robust), ("--baseline", baseline.is_some())];
        refuse(&watched, "is about what is watched for: leave out --under")?;
    }
    if model.contains(&Model::Sc) {
        return Err(Usage(
            "executions are those of SC, and what fails in them is reported with every model; expected \
             --model tso, pso or pso-own"
                .to_owned(),
        ));
    }
    if fence_transactions && transaction.is_empty() && !transactions {
        return Err(Usage(
            "--fence-transactions needs --transaction FUNCTION, or --transactions".to_owned(),
        ));
    }
    if let Some(schedule) = &replay {
        let searching =
            [("--strategy", strategy.is_some()), ("--preemptions", preemptions.is_some())];
        refuse(&searching, "is for a search: leave out --replay")?;
        if let Replay::Number(_) = schedule {
            let kept = [
                ("--under", under.is_some()),
                ("--model", !model.is_empty()),
                ("--steps", steps.is_some()),
                ("--spins", spins.is_some()),
                ("--isolate", isolate.is_some()),
                ("--ignore-exit-code", ignore_exit_code),
                ("--reuse", reuse),
                ("--no-races", no_races),
                ("--scratch", scratch),
                ("--virtual-time", virtual_time),
            ];
            refuse(&kept, "was kept with the schedule: leave it out")?;
            refuse(&transactional, "was kept with the schedule: leave it out")?;
        }
        if let Replay::Schedule(schedule) = schedule
            && under.is_none()
            && schedule.runs().iter().any(|(agent, _)| agent.is_buffer())
        {
            return Err(Usage(
                "the schedule has steps of buffers: it belongs to --under tso or --under pso"
                    .to_owned(),
            ));
        }
    }
    refuse(
        &[("--log", log.is_some() && replay.is_none())],
        "writes one execution: expected --replay SCHEDULE, too",
    )?;
    refuse(
        &[("--gdb", gdb && replay.is_none())],
        "looks at one execution: expected --replay SCHEDULE, too",
    )?;
    let watched = [
        ("--model", !model.is_empty()),
        ("--robust", robust),
        ("--fences", fences),
        ("--transaction", !transaction.is_empty()),
        ("--transactions", transactions),
    ];
    if strategy == Some(RunStrategy::Rf) {
        refuse(&watched, "depends on the order of all stores: take --strategy dpor")?;
    }
    let pct = strategy == Some(RunStrategy::Pct);
    let seeded = pct || strategy == Some(RunStrategy::Random);
    refuse(&[("--seed", seed.is_some() && !seeded)], "is for --strategy random and pct")?;
    for (option, number) in [("--executions", executions), ("--steps", steps)] {
        if number == Some(0) {
            return Err(Usage(format!(
                "{option} 0 leaves nothing to look at: expected at least 1"
            )));
        }
    }
    refuse(&[("--depth", depth.is_some() && !pct)], "is for --strategy pct")?;
    let bounded = matches!(strategy, None | Some(RunStrategy::Auto | RunStrategy::Bounded));
    refuse(
        &[("--preemptions", preemptions.is_some() && !bounded)],
        "is for --strategy auto and bounded",
    )?;
    let mut shared = Shared {
        timeout: shared.timeout.unwrap_or(timeout),
        ..meant::shared(shared, Some(&threads), None)?
    };
    refuse_csv(&shared)?;
    refuse(
        &[("--gdb", gdb && shared.format != OutputFormat::Text)],
        "has the terminal: leave out --format",
    )?;
    let all_count = !model.is_empty();
    let model = distinct(or(model, &[TSO, PSO]))?;
    let log = file("--log", log)?;
    shared.witness = file("--witness", witness.witness)?;
    refuse(
        &[("--witness", shared.witness.is_some() && replay.is_some())],
        "is for a search: leave out --replay",
    )?;
    Ok(RunArgs {
        workers: 1,
        all_count,
        model,
        robust,
        baseline,
        under,
        strategy: strategy.unwrap_or(RunStrategy::Auto),
        preemptions,
        seed: seed.unwrap_or(1),
        depth: depth.unwrap_or(3),
        replay,
        executions,
        steps: steps.unwrap_or(100_000),
        spins: spins.unwrap_or(SPINS),
        first: fail_fast,
        isolate: isolate.unwrap_or(Isolate::Auto),
        output: program_output.unwrap_or(ProgramOutput::None),
        codes: !ignore_exit_code,
        scratch,
        virtual_time,
        reuse,
        races: !no_races,
        transaction,
        transactions,
        fence_transactions,
        fences,
        log,
        gdb,
        shared,
    })
}

pub(crate) const NO_TEXT: Lack = ("input-format", "what is explored is a program, not a text");
pub(crate) const NO_BUFFER_LIMIT: Lack =
    ("buffer-limit", "buffers are as long as the program makes them; --steps bounds executions");

/// What --threads is for where there is one program.
pub(crate) const EXPLORING_THREADS: &str = "Copies of the program that explore it in parallel; by default one per processor. The answer is the same";
