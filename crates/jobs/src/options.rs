//! The options that ask about a real program once more, as they are typed.

use weakspot_args::{Isolate, RunArgs, RunStrategy, SPINS};
use weakspot_core::{Drain, Model};
use weakspot_report::model_key;

/// How many steps an execution may have unless the user says something else.
const STEPS: u64 = 100_000;

/// The options that explore a program as it was; `under`: the model whose buffers were executed;
/// `fork`: each execution had a process of its own.
pub fn options(args: &RunArgs, under: Option<Model>, fork: bool) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    match under {
        Some(model) => add("--under", model_key(model).to_owned()),
        // Models that were asked for count, also if they are those that are watched for anyway.
        None if args.all_count || args.model != [Model::Tso, Model::Pso(Drain::All)] => {
            let models: Vec<&str> = args.model.iter().map(|&model| model_key(model)).collect();
            add("--model", models.join(","));
        }
        None => {}
    }
    // Transactions are watched in executions of SC.
    let watched = under.is_none();
    if watched && !args.transaction.is_empty() {
        add("--transaction", args.transaction.join(","));
    }
    if args.steps != STEPS {
        add("--steps", args.steps.to_string());
    }
    if args.spins != SPINS {
        add("--spins", args.spins.to_string());
    }
    let flags = [
        (watched && args.transactions, "--transactions"),
        (watched && args.fence_transactions, "--fence-transactions"),
        (!args.codes, "--ignore-exit-code"),
        (args.scratch, "--scratch"),
        (args.virtual_time, "--virtual-time"),
        (args.reuse, "--reuse"),
        (!args.races, "--no-races"),
    ];
    if fork {
        add("--isolate", "fork".to_owned());
    }
    words.extend(flags.iter().filter(|(on, _)| *on).map(|(_, flag)| (*flag).to_owned()));
    words
}

/// The options of an exploration.
pub fn exploring(args: &RunArgs) -> Vec<String> {
    let fork = args.isolate == Isolate::Fork;
    let mut words = options(args, args.under, fork);
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    if args.isolate == Isolate::Memory {
        add("--isolate", "memory".to_owned());
    }
    let strategy = match args.strategy {
        RunStrategy::Auto => None,
        RunStrategy::Bounded => Some("bounded"),
        RunStrategy::Dpor => Some("dpor"),
        RunStrategy::Rf => Some("rf"),
        RunStrategy::Random => Some("random"),
        RunStrategy::Pct => Some("pct"),
    };
    if let Some(strategy) = strategy {
        add("--strategy", strategy.to_owned());
    }
    if let Some(most) = args.preemptions {
        add("--preemptions", most.to_string());
    }
    if let Some(most) = args.executions {
        add("--executions", most.to_string());
    }
    if matches!(args.strategy, RunStrategy::Random | RunStrategy::Pct) {
        add("--seed", args.seed.to_string());
    }
    if args.strategy == RunStrategy::Pct {
        add("--depth", args.depth.to_string());
    }
    words
}
