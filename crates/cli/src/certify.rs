//! `weakspot certify`.

use std::io::IsTerminal;

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::certify::Rejected;
use weakspot_core::machine::Machine;
use weakspot_core::serial::txn_run;
use weakspot_core::{Evidence, HistoryEvidence, Names, certify};
use weakspot_lang::Parsed;
use weakspot_monitor::{Form, reference};
use weakspot_report::{
    HistoryWitness, LogWitness, Severity, Witness, input_hash, is_log_witness, limit_text, render,
    witness_question,
};
use weakspot_trace::Recorded;

use crate::args::{CertifyArgs, InputFormat};
use crate::exit::Exit;
use crate::history_files::{hash_file, read_history};
use crate::input::Input;
use crate::log::read_trace;
use crate::serial;
use crate::terminal::colored;
use crate::within::within;

/// States of a program, events of a log: so many are looked at by definition.
const MAX_STATES: usize = 1_000_000;
/// The same for operations of a history, whose definitions take the fourth power of them.
const MAX_OPERATIONS: usize = 100;

/// Checks a witness against its input, within limits.
pub(crate) fn run(args: CertifyArgs) -> Result<Exit> {
    let name = args.input.display().to_string();
    let checked = within(args.bounds, move || check(&args))?;
    Ok(checked.unwrap_or_else(|limit| {
        println!("unknown: {name}: {}", limit_text(&limit, &Names::default()));
        Exit::Unknown
    }))
}

fn check(args: &CertifyArgs) -> Result<Exit> {
    let text = std::fs::read_to_string(&args.witness)
        .with_context(|| format!("failed to read {}", args.witness.display()))?;
    if witness_question(&text).is_some_and(|question| question == "serial") {
        return serial::certify(args, &text);
    }
    if is_log_witness(&text) {
        return log(args, &text);
    }
    if witness_question(&text).is_some_and(|question| question == "history") {
        return history(args, &text);
    }
    // First of all: what the input should be, the witness says.
    let witness = Witness::from_json(&text)
        .with_context(|| format!("failed to read the witness {}", args.witness.display()))?;
    let max_states = args.max_states.unwrap_or(MAX_STATES);
    let format = args.input_format.and_then(InputFormat::language);
    let input = Input::new(&args.input, format);
    let source = input.read().with_context(|| input.name())?;
    let parsed = match source.parse(&input.path) {
        Ok(parsed) => parsed,
        Err(d) => {
            let color = colored(args.bounds.color, std::io::stderr().is_terminal());
            eprint!("{}", render(&input.name(), &source.text, &d, Severity::Error, color));
            return Ok(Exit::Bad);
        }
    };
    if witness.input_hash != input_hash(source.text.as_bytes()) {
        bail!(
            "the witness is about another input: {} has changed, or is not the file that was asked about",
            input.name()
        );
    }
    let (program, model) = (&parsed.program, witness.model);
    let checked =
        match witness.question.as_str() {
            "litmus" => certify::condition(program, model, &witness.verdict, &witness.evidence)
                .and_then(|()| match witness.evidence {
                    Evidence::Run(_) => Ok("the run is one of the machine, and its end decides"),
                    Evidence::Exhausted { .. } => {
                        certify::search(program, model, &witness.verdict, max_states)
                            .map(|()| "a search of all states by definition finds the same")
                    }
                }),
            "reach" => certify::everything(program, model, &witness.verdict, &witness.evidence)
                .and_then(|()| match witness.evidence {
                    Evidence::Run(_) => Ok("the run is one of the machine, and its end decides"),
                    Evidence::Exhausted { .. } => {
                        certify::search_everything(program, model, &witness.verdict, max_states)
                            .map(|()| "a search of all states by definition finds the same")
                    }
                }),
            "robust" => certify::robust(program, model, &witness.verdict, &witness.evidence)
                .and_then(|()| match witness.evidence {
                    Evidence::Run(_) => {
                        Ok("the run is one of the machine, and SC has none like it")
                    }
                    Evidence::Exhausted { .. } => {
                        certify::search_robust(program, model, &witness.verdict, max_states)
                            .map(|()| "SC allows every execution by definition")
                    }
                }),
            serial::PROGRAM_QUESTION => transactions(&parsed, &witness, max_states),
            other => bail!("no way to certify an answer to `{other}`"),
        };
    match checked {
        Ok(how) => {
            println!("certified: {how}");
            Ok(Exit::Holds)
        }
        Err(certify::Rejected::TooLarge(n)) => {
            println!("unknown: more than {n} states by definition; --max-states allows more");
            Ok(Exit::Unknown)
        }
        Err(certify::Rejected::OutOfReach(n)) => {
            println!(
                "unknown: the claim that the program is robust was not checked. All executions can \
                 be listed by definition only for a program without loops, with declared memory \
                 that has one initial value, and with at most {n} executions (--max-states allows \
                 more)"
            );
            Ok(Exit::Unknown)
        }
        Err(rejected) => {
            println!("rejected: {rejected}");
            Ok(Exit::Violated)
        }
    }
}

/// Checks a witness about a log.
fn log(args: &CertifyArgs, text: &str) -> Result<Exit> {
    let witness = LogWitness::from_json(text)
        .with_context(|| format!("failed to read the witness {}", args.witness.display()))?;
    let name = args.input.display().to_string();
    let bytes = std::fs::read(&args.input).with_context(|| format!("failed to read {name}"))?;
    if witness.input_hash != input_hash(&bytes) {
        bail!(
            "the witness is about another log: {name} has changed, or is not the file that was \
             asked about"
        );
    }
    drop(bytes);
    let format = args.input_format.and_then(InputFormat::log);
    let max_events = args.max_states.unwrap_or(MAX_STATES);
    let most = witness.run.as_ref().map_or(max_events.saturating_add(1), |run| run.access + 1);
    let (events, tables) = read_trace(&args.input, format, witness.trace, most)
        .map_err(|error| anyhow!(error.of(&name)))?;
    let Some(run) = &witness.run else {
        if events.len() > max_events {
            println!(
                "unknown: the log has more than {max_events} events; --max-states allows more"
            );
            return Ok(Exit::Unknown);
        }
        let form = if witness.last_only { Form::Last } else { Form::All };
        let found = reference::reports(&events, &tables, witness.model, form);
        return Ok(match found.first() {
            None => {
                println!("certified: the monitor by definition reports nothing either");
                Exit::Holds
            }
            Some(report) => {
                println!(
                    "rejected: the monitor by definition reports that event {} overtakes event {}",
                    report.access + 1,
                    report.store + 1
                );
                Exit::Violated
            }
        });
    };
    match certify::delayed(&events, &tables, run) {
        Ok(()) => {
            println!(
                "certified: the program of the log has the run under {}, and SC has none like it",
                witness.model
            );
            Ok(Exit::Holds)
        }
        Err(rejected) => {
            println!("rejected: {rejected}");
            Ok(Exit::Violated)
        }
    }
}

/// Checks a witness about a history.
fn history(args: &CertifyArgs, text: &str) -> Result<Exit> {
    let mut witness = HistoryWitness::from_json(text)
        .with_context(|| format!("failed to read the witness {}", args.witness.display()))?;
    let name = args.input.display().to_string();
    let hash = hash_file(&args.input).with_context(|| format!("failed to read {name}"))?;
    if witness.input_hash != hash {
        bail!(
            "the witness is about another history: {name} has changed, or is not the file that \
             was asked about"
        );
    }
    let format = args.input_format.and_then(InputFormat::history);
    let number = witness.number;
    let read = read_history(&args.input, format, number);
    let Some(Recorded { ops, .. }) = read.map_err(|error| anyhow!(error.of(&name)))? else {
        bail!("{name} has no history number {number}");
    };
    witness.complete(&ops);
    let HistoryWitness { model, verdict, evidence, .. } = &witness;
    let max_ops = args.max_states.unwrap_or(MAX_OPERATIONS);
    let checked = certify::history(&ops, *model, verdict, evidence).and_then(|()| match evidence {
        HistoryEvidence::Linear { .. } => {
            Ok("the run is one of the machine, and does what was recorded")
        }
        HistoryEvidence::Cycle(_) => Ok("every edge of the cycle is there"),
        HistoryEvidence::Refuted { .. } => {
            Ok("every edge of the cycles is there, and the proof leaves no order of the writes")
        }
        HistoryEvidence::ByDefinition => certify::search_history(&ops, *model, verdict, max_ops)
            .map(|()| "the definition, evaluated literally, says the same"),
    });
    match checked {
        Ok(how) => {
            println!("certified: {how}");
            Ok(Exit::Holds)
        }
        Err(certify::Rejected::TooLarge(n)) => {
            println!(
                "unknown: nothing small shows that a causal model holds, and the history has more \
                 than {n} operations; --max-states allows more"
            );
            Ok(Exit::Unknown)
        }
        Err(rejected) => {
            println!("rejected: {rejected}");
            Ok(Exit::Violated)
        }
    }
}

/// Whether the transactions of a program are serializable. A cycle is found by the definition.
fn transactions(
    parsed: &Parsed,
    witness: &Witness,
    max_steps: usize,
) -> Result<&'static str, Rejected> {
    let Parsed { program, transactions, .. } = parsed;
    let (model, verdict) = (witness.model, &witness.verdict);
    let cycle = match &witness.evidence {
        Evidence::Run(run) => {
            let machine = Machine { program, model };
            certify::replay(machine, run)?;
            let run = txn_run(program, transactions, model, run).map_err(Rejected::Step)?;
            Some(run.cycle(model).ok_or(Rejected::Trace("the run is serializable"))?)
        }
        Evidence::Exhausted { .. } => None,
    };
    let evidence = &witness.evidence;
    certify::transactions(program, transactions, model, verdict, evidence, cycle.as_ref())?;
    if cycle.is_some() {
        return Ok("the run is one of the machine, and its transactions have to come before each \
                   other in a circle");
    }
    certify::search_transactions(program, transactions, model, verdict, max_steps)
        .map(|()| "all executions are serializable, by definition")
}
