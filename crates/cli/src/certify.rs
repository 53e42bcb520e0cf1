//! `weakspot certify`.

use std::io::IsTerminal;

use anyhow::{Context, Result, bail};
use weakspot_core::{Evidence, certify};
use weakspot_report::{Severity, Witness, input_hash, render};

use crate::args::{CertifyArgs, When};
use crate::exit::Exit;
use crate::input::Input;
use crate::pool::colored;

/// Checks a witness against its input.
pub(crate) fn run(args: &CertifyArgs) -> Result<Exit> {
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
    let text = std::fs::read_to_string(&args.witness)
        .with_context(|| format!("failed to read {}", args.witness.display()))?;
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
