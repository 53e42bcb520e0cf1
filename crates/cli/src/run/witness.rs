//! Witnesses about real programs: written after an exploration, and executed again.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};
use weakspot_campaign::{Answer, Shown, ShownFailure};
use weakspot_certify::Checked;
use weakspot_core::{Model, Verdict};
use weakspot_report::{InputHash, RunEvidence, RunWitness, Wrong, model_key};

use super::question::options;
use super::{Subject, explored};
use crate::args::{Bounds, Command, Isolate, ProgramOutput, RunArgs, RunStrategy};

/// The options that a witness may have, and whether a value follows. There is none that writes a file or reads one.
const OPTIONS: [(&str, bool); 18] = [
    ("--under", true),
    ("--model", true),
    ("--transaction", true),
    ("--steps", true),
    ("--spins", true),
    ("--isolate", true),
    ("--strategy", true),
    ("--preemptions", true),
    ("--executions", true),
    ("--seed", true),
    ("--depth", true),
    ("--transactions", false),
    ("--fence-transactions", false),
    ("--ignore-exit-code", false),
    ("--scratch", false),
    ("--virtual-time", false),
    ("--reuse", false),
    ("--no-races", false),
];

/// The witness of an answer; nothing if it is unknown, or if what is wrong cannot be executed again.
pub(super) fn witness(
    args: &RunArgs,
    subject: &Subject,
    found: &Answer,
) -> Result<Option<RunWitness>> {
    let Some((evidence, options)) = evidence(args, found) else { return Ok(None) };
    let command = &subject.program.command;
    let program = command.first().context("there is no program")?;
    let name = Path::new(program).display();
    let bytes = std::fs::read(program)
        .with_context(|| format!("no witness is written: failed to read {name}"))?;
    let mut hash = InputHash::new();
    hash.add(&bytes);
    let words = command[1..].iter().map(|word| word.to_str().map(str::to_owned));
    let arguments = words
        .collect::<Option<_>>()
        .context("no witness is written: an argument of the program is no UTF-8 text")?;
    Ok(Some(RunWitness { input_hash: hash.end(), arguments, options, evidence }))
}

/// What was found, and the options that lead there.
fn evidence(args: &RunArgs, found: &Answer) -> Option<(RunEvidence, Vec<String>)> {
    let schedule = |model, token: &str, shared: &[(u64, u64)], wrong| RunEvidence::Schedule {
        model,
        token: token.to_owned(),
        shared: shared.to_vec(),
        wrong,
    };
    let violated = |verdict: &Verdict| *verdict == Verdict::Violated;
    if let Some(failed) = found.failed.iter().find(|f| !f.advisory && violated(&f.verdict)) {
        let under = (failed.model != Model::Sc).then_some(failed.model);
        let known = |f: &&ShownFailure| !f.failure.seen.schedule.is_empty();
        let shown = failed.failures.iter().find(known)?;
        let wrong = Wrong::Failure(shown.failure.kind.clone());
        let token = &shown.failure.seen.schedule;
        let evidence = schedule(failed.model, token, &shown.shared, wrong);
        return Some((evidence, options(args, under, found.fork)));
    }
    if let Some(answer) = found.models.iter().find(|m| !m.advisory && violated(&m.verdict)) {
        let pair = answer.findings.iter().find(|f| matches!(f.shown, Shown::Again(_)))?;
        let wrong = Wrong::Pair(pair.places.clone());
        let evidence = schedule(answer.model, &pair.found.seen.schedule, &pair.shared, wrong);
        return Some((evidence, options(args, args.under, found.fork)));
    }
    if let Some(transactions) = &found.transactions
        && violated(&transactions.verdict)
    {
        let token = &transactions.found.as_ref()?.schedule;
        let evidence = schedule(Model::Sc, token, &transactions.shared, Wrong::Transactions);
        return Some((evidence, options(args, args.under, found.fork)));
    }
    let verdicts = found.verdicts();
    let mut counted = verdicts.iter().filter(|judged| !judged.advisory);
    if args.replay.is_some() || counted.any(|judged| judged.verdict != Verdict::Holds) {
        return None;
    }
    let of_model = found.failed.iter().filter(|failed| !failed.advisory);
    let explored = of_model.map(|f| (f.model, f.executions, f.steps)).collect();
    Some((RunEvidence::Explored(explored), exploring(args)))
}

/// The options of an exploration.
fn exploring(args: &RunArgs) -> Vec<String> {
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

/// Executes again what a witness is about, with this program.
pub(crate) fn check(program: &Path, witness: &RunWitness, bounds: Bounds) -> Result<Checked> {
    let mut words: Vec<OsString> = vec!["weakspot".into(), "run".into()];
    let mut shared = Vec::new();
    if let RunEvidence::Schedule { token, shared: known, .. } = &witness.evidence {
        words.extend(["--replay".into(), token.into()]);
        shared = known.clone();
    }
    let mut given = witness.options.iter();
    while let Some(option) = given.next() {
        let Some((_, has_value)) = OPTIONS.iter().find(|(known, _)| known == option) else {
            bail!("the witness has an option that none may have: `{option}`");
        };
        words.push(option.into());
        if *has_value {
            words.push(given.next().context("an option of the witness has no value")?.into());
        }
    }
    // A name without a folder is looked for elsewhere.
    let path = match program.components().count() {
        1 => Path::new(".").join(program),
        _ => program.to_path_buf(),
    };
    words.push(path.into());
    words.extend(witness.arguments.iter().map(OsString::from));
    let Ok(Command::Run(typed)) = weakspot_args::read(words) else {
        bail!("the options of the witness are not understood");
    };
    let mut args = RunArgs { output: ProgramOutput::None, ..typed.run };
    args.shared.timeout = bounds.timeout;
    args.shared.memory = bounds.memory;
    let found = explored(&args, &Subject::program(typed.command), shared)?.0;
    Ok(compared(witness, &found))
}

/// Whether what was executed is what the witness claims.
fn compared(witness: &RunWitness, found: &Answer) -> Checked {
    match &witness.evidence {
        RunEvidence::Schedule { model, wrong, .. } => {
            let is_seen = match wrong {
                Wrong::Failure(kind) => found
                    .failed
                    .iter()
                    .filter(|failed| failed.model == *model)
                    .any(|failed| failed.failures.iter().any(|f| f.failure.kind == *kind)),
                Wrong::Pair(places) => found
                    .models
                    .iter()
                    .filter(|answer| answer.model == *model)
                    .any(|answer| answer.findings.iter().any(|f| f.places == *places)),
                Wrong::Transactions => {
                    let answer = found.transactions.as_ref();
                    answer.is_some_and(|answer| answer.verdict == Verdict::Violated)
                }
            };
            let what = match wrong {
                Wrong::Failure(kind) => format!("fails ({kind})"),
                Wrong::Pair([store, access]) => {
                    format!("lets {access} overtake the store at {store}")
                }
                Wrong::Transactions => "is not serializable".to_owned(),
            };
            match is_seen {
                true => Checked::Certified(format!("by an execution that {what}, executed again")),
                false => Checked::Rejected(format!("executed again, it is not one that {what}")),
            }
        }
        RunEvidence::Explored(claimed) => {
            for &(model, executions, steps) in claimed {
                let key = model_key(model);
                let Some(failed) = found.failed.iter().find(|failed| failed.model == model) else {
                    return Checked::Rejected(format!("{key} is not asked about"));
                };
                if let Verdict::Unknown(_) = failed.verdict {
                    let why = "not everything could be executed again within the limits";
                    return Checked::Unknown(why.to_owned());
                }
                if failed.verdict != Verdict::Holds {
                    return Checked::Rejected(format!("an execution under {model} fails"));
                }
                let seen = (failed.executions, failed.steps);
                if seen != (executions, steps) {
                    return Checked::Rejected(format!(
                        "there are {} executions with {} steps under {model}, not {executions} with {steps}",
                        seen.0, seen.1
                    ));
                }
            }
            let all: u64 = claimed.iter().map(|&(_, executions, _)| executions).sum();
            Checked::Certified(format!("by all executions ({all}), executed again"))
        }
    }
}
