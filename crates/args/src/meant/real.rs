//! What is meant for real code.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use weakspot_core::Model;

use super::{PSO, Shared, TSO, Usage, distinct, file, or, refuse, refuse_csv};
use crate::typed::{self, Isolate, ProgramOutput, RunStrategy};
use crate::values::{OutputFormat, Replay};

/// The arguments of a compiler, as they are.
#[derive(Debug)]
pub struct CompilerArgs {
    pub args: Vec<String>,
}

#[derive(Debug)]
pub struct RunProgramArgs {
    pub command: Vec<OsString>,
    /// An argument of the program that looks as if it were for `weakspot run`.
    pub doubtful: Option<String>,
    pub run: RunArgs,
}

pub(super) fn run(typed: typed::Run) -> Result<RunProgramArgs, Usage> {
    let typed::Run { command, witness, checkpoint, explore, threads } = typed;
    let first = command.first().map(|word| word.to_string_lossy());
    if let Some(option) = first.filter(|word| word.starts_with('-')) {
        return Err(Usage(format!(
            "there is no option {option}; `weakspot run --help` lists them"
        )));
    }
    let mut run = alone(explore, &threads)?;
    add_witness(&mut run, witness)?;
    let kept = super::checkpoint_of_run(checkpoint)?;
    if kept.is_some() {
        let alone = [
            ("--replay", run.replay.is_some()),
            ("--fail-fast", run.first),
            ("--strategy rf", run.strategy == RunStrategy::Rf),
        ];
        refuse(
            &alone,
            "is not explored in parts, and only these are kept: leave out --checkpoint",
        )?;
    }
    run.shared.checkpoint = kept;
    Ok(RunProgramArgs { command, doubtful: None, run })
}

#[derive(Debug)]
pub struct CargoTestArgs {
    /// Only build.
    pub no_run: bool,
    pub run: RunArgs,
    pub args: Vec<String>,
    pub rest: Vec<String>,
}

pub(super) fn cargo_test(typed: typed::CargoTest) -> Result<CargoTestArgs, Usage> {
    let typed::CargoTest { no_run, witness, explore, threads, mut args, rest } = typed;
    if let Some(jobs) = threads.threads {
        args.insert(0, format!("--jobs={jobs}"));
    }
    let mut run = self::explore(explore, &threads, TEST_TIMEOUT)?;
    add_witness(&mut run, witness)?;
    Ok(CargoTestArgs { no_run, run, args, rest })
}

#[derive(Debug)]
pub struct CargoRunArgs {
    pub run: RunArgs,
    pub args: Vec<String>,
    pub rest: Vec<String>,
}

pub(super) fn cargo_run(typed: typed::CargoRun) -> Result<CargoRunArgs, Usage> {
    let typed::CargoRun { witness, explore, threads, args, rest } = typed;
    let mut run = alone(explore, &threads)?;
    add_witness(&mut run, witness)?;
    Ok(CargoRunArgs { run, args, rest })
}

fn add_witness(run: &mut RunArgs, witness: typed::Witness) -> Result<(), Usage> {
    run.shared.witness = file("--witness", witness.witness)?;
    match run.shared.witness.is_some() && run.replay.is_some() {
        true => Err(Usage("--witness is for a search: leave out --replay".to_owned())),
        false => Ok(()),
    }
}

/// How one program is explored, with all processors.
fn alone(typed: typed::Explore, threads: &typed::Threads) -> Result<RunArgs, Usage> {
    let run = explore(typed, threads, TIMEOUT)?;
    Ok(RunArgs { workers: run.shared.threads, ..run })
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
/// How long the exploration of a program goes on.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The same for one of many tests.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

fn explore(
    typed: typed::Explore,
    threads: &typed::Threads,
    timeout: Duration,
) -> Result<RunArgs, Usage> {
    let typed::Explore {
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
    let shared = Shared {
        timeout: shared.timeout.unwrap_or(timeout),
        ..super::shared(shared, Some(threads), None)?
    };
    refuse_csv(&shared)?;
    refuse(
        &[("--gdb", gdb && shared.format != OutputFormat::Text)],
        "has the terminal: leave out --format",
    )?;
    Ok(RunArgs {
        workers: 1,
        all_count: !model.is_empty(),
        model: distinct(or(model, &[TSO, PSO]))?,
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
        log: file("--log", log)?,
        gdb,
        shared,
    })
}
