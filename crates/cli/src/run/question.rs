//! What was typed for an exploration, as a question; and as what is to be typed to ask it again.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use weakspot_campaign::{self as campaign, Marks, Question, Strategy, Until};
use weakspot_core::{Drain, Model};
use weakspot_report::model_key;

use super::Subject;
use crate::args::{Isolate, ProgramOutput, RunArgs, RunStrategy, SPINS};

/// How many steps an execution may have unless the user says something else.
const STEPS: u64 = 100_000;

/// What is asked.
pub(super) fn question(args: &RunArgs) -> Result<Question> {
    let strategy = match (&args.replay, args.strategy) {
        (Some(schedule), _) => Strategy::Replay(schedule.clone()),
        (None, RunStrategy::Auto) => match args.preemptions {
            Some(most) => Strategy::Bounded(Some(most)),
            None => Strategy::Auto,
        },
        (None, RunStrategy::Bounded) => Strategy::Bounded(args.preemptions),
        (None, RunStrategy::Dpor) => Strategy::Dpor,
        (None, RunStrategy::Rf) => Strategy::Rf,
        (None, RunStrategy::Random) => Strategy::Random { seed: args.seed },
        (None, RunStrategy::Pct) => Strategy::Pct { depth: args.depth, seed: args.seed },
    };
    let transactions = match (&args.transaction[..], args.transactions) {
        ([], false) => None,
        ([], true) => Some(Marks::Marked),
        (functions, _) => Some(Marks::Functions(functions.to_vec())),
    };
    let watches = args.under.is_none() && args.strategy != RunStrategy::Rf;
    let baseline = args.baseline.as_deref().map(baseline).transpose()?;
    Ok(Question {
        robust: args.robust,
        all_count: args.all_count,
        baseline: baseline.unwrap_or_default(),
        models: if watches { args.model.clone() } else { Vec::new() },
        under: args.under.unwrap_or(Model::Sc),
        strategy,
        workers: args.workers,
        executions: args.executions,
        steps: args.steps,
        spins: args.spins,
        until: if args.first { Until::Found } else { Until::End },
        isolate: match args.isolate {
            Isolate::Auto => campaign::Isolate::Auto,
            Isolate::Memory => campaign::Isolate::Memory,
            Isolate::Fork => campaign::Isolate::Fork,
        },
        all_output: args.output == ProgramOutput::All,
        codes: args.codes,
        reuse: args.reuse,
        races: args.races,
        transactions,
        fence_transactions: args.fence_transactions,
        advice: args.fences,
        log: args.log.is_some(),
        details: args.shared.format.is_of_objects() || !args.shared.quiet,
        timeout: args.shared.timeout,
        // The library around the program needs some memory, too.
        memory: args.shared.memory / 4,
    })
}

/// The pairs in what an exploration has printed as JSON: the places of stores and accesses.
fn baseline(path: &Path) -> Result<Vec<[String; 2]>> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {name}"))?;
    let mut pairs = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let object: Value = serde_json::from_str(line).map_err(|error| {
            anyhow!("{name}:{}:{}: not a line of JSON: {error}", number + 1, error.column())
        })?;
        for violation in object["violations"].as_array().into_iter().flatten() {
            let at = |end: &str| violation[end]["at"].as_str().map(str::to_owned);
            let pair = at("store").zip(at("access")).with_context(|| {
                format!("{name}:{}: a pair has no places of its store and access", number + 1)
            })?;
            pairs.push([pair.0, pair.1]);
        }
    }
    Ok(pairs)
}

/// The command that explores the program as it was, without schedule and program; `under`: the model
/// whose buffers were executed; `fork`: each execution had a process of its own.
pub(super) fn command(
    args: &RunArgs,
    subject: &Subject,
    under: Option<Model>,
    fork: bool,
) -> String {
    let mut words = vec![subject.explorer.to_owned()];
    match under {
        Some(model) => words.push(format!("--under {}", model_key(model))),
        None if args.model != [Model::Tso, Model::Pso(Drain::All)] => {
            let models: Vec<&str> = args.model.iter().map(|&model| model_key(model)).collect();
            words.push(format!("--model {}", models.join(",")));
        }
        None => {}
    }
    // Transactions are watched in executions of SC.
    let watched = under.is_none();
    if watched && !args.transaction.is_empty() {
        words.push(format!("--transaction {}", quoted(&args.transaction.join(","))));
    }
    if args.steps != STEPS {
        words.push(format!("--steps {}", args.steps));
    }
    if args.spins != SPINS {
        words.push(format!("--spins {}", args.spins));
    }
    let flags = [
        (watched && args.transactions, "--transactions"),
        (watched && args.fence_transactions, "--fence-transactions"),
        (!args.codes, "--ignore-exit-code"),
        (args.scratch, "--scratch"),
        (args.reuse, "--reuse"),
        (!args.races, "--no-races"),
        (fork, "--isolate fork"),
    ];
    words.extend(flags.iter().filter(|(on, _)| *on).map(|(_, flag)| (*flag).to_owned()));
    words.join(" ")
}

/// The program as that command names it.
pub(super) fn target(subject: &Subject) -> String {
    let words: Vec<String> = subject.target.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// A word as it is typed into a shell.
fn quoted(word: &str) -> String {
    // No word of a command line has a zero byte, which is all that cannot be quoted.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |word| word.into_owned())
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, expected) in
            [("./sb", "./sb"), ("./a b", "'./a b'"), ("a;rm", "'a;rm'"), ("it's", "\"it's\"")]
        {
            assert_eq!(quoted(word), expected);
            let back = shlex::split(&quoted(word));
            assert_eq!(back, Some(vec![word.to_owned()]));
        }
    }
}
