//! `weakspot certify`.

use std::io::IsTerminal;

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::{Evidence, certify};
use weakspot_monitor::{Form, reference};
use weakspot_report::{LogWitness, Severity, Witness, input_hash, is_log_witness, render};

use crate::args::{CertifyArgs, When};
use crate::exit::Exit;
use crate::input::Input;
use crate::log::read_trace;
use crate::pool::colored;

/// Checks a witness against its input.
pub(crate) fn run(args: &CertifyArgs) -> Result<Exit> {
    let text = std::fs::read_to_string(&args.witness)
        .with_context(|| format!("failed to read {}", args.witness.display()))?;
    if is_log_witness(&text) {
        return log(args, &text);
    }
    let format = args.input_format.map(Into::into);
    let input = Input::new(&args.input, format);
    let source = input.read().with_context(|| input.name())?;
    let parsed = match source.parse(&input.path) {
        Ok(parsed) => parsed,
        Err(d) => {
            let color = colored(When::Auto, std::io::stderr().is_terminal());
            eprint!("{}", render(&input.name(), &source.text, &d, Severity::Error, color));
            return Ok(Exit::Bad);
        }
    };
    let witness = Witness::from_json(&text)
        .with_context(|| format!("failed to read the witness {}", args.witness.display()))?;
    if witness.input_hash != input_hash(source.text.as_bytes()) {
        bail!(
            "the witness is about another input: {} has changed, or is not the file that was asked about",
            input.name()
        );
    }
    let (program, model) = (&parsed.program, witness.model);
    let checked = match witness.question.as_str() {
        "litmus" => certify::condition(program, model, &witness.verdict, &witness.evidence)
            .and_then(|()| match witness.evidence {
                Evidence::Run(_) => Ok("the run is one of the machine, and its end decides"),
                Evidence::Exhausted { .. } => {
                    certify::search(program, model, &witness.verdict, args.max_states)
                        .map(|()| "a search of all states by definition finds the same")
                }
            }),
        "reach" => certify::everything(program, model, &witness.verdict, &witness.evidence)
            .and_then(|()| match witness.evidence {
                Evidence::Run(_) => Ok("the run is one of the machine, and its end decides"),
                Evidence::Exhausted { .. } => {
                    certify::search_everything(program, model, &witness.verdict, args.max_states)
                        .map(|()| "a search of all states by definition finds the same")
                }
            }),
        "robust" => {
            certify::robust(program, model, &witness.verdict, &witness.evidence).and_then(|()| {
                match witness.evidence {
                    Evidence::Run(_) => {
                        Ok("the run is one of the machine, and SC has none like it")
                    }
                    Evidence::Exhausted { .. } => {
                        certify::search_robust(program, model, &witness.verdict, args.max_states)
                            .map(|()| "SC allows every execution by definition")
                    }
                }
            })
        }
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
    let format = args.log_format.map(Into::into);
    let most = witness.run.as_ref().map_or(args.max_states.saturating_add(1), |run| run.access + 1);
    let (events, tables) = read_trace(&args.input, format, witness.trace, most)
        .map_err(|error| anyhow!(error.of(&name)))?;
    let Some(run) = &witness.run else {
        if events.len() > args.max_states {
            println!(
                "unknown: the log has more than {} events; --max-states allows more",
                args.max_states
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
