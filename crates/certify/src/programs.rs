//! Witnesses about programs.

use std::io::Read;

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::certify::{Rejected, Shows};
use weakspot_core::machine::Machine;
use weakspot_core::serial::{BufferedReads, relation, txn_run};
use weakspot_core::{Evidence, certify};
use weakspot_lang::{Format, Parsed};
use weakspot_witness::{SERIAL_PROGRAM, Witness, input_hash};

use crate::{Asked, Checked, judged};

/// So many states are looked at by definition.
const MAX_STATES: usize = 1_000_000;

/// Checks a witness about a program.
pub(crate) fn check(asked: &Asked<'_>, text: &str) -> Result<Checked> {
    // First of all: what the input should be, the witness says.
    let witness = Witness::from_json(text).with_context(|| asked.unread())?;
    let max_states = asked.max_states.unwrap_or(MAX_STATES);
    let text = read(asked).with_context(|| asked.name())?;
    let format = asked.formats.language.or_else(|| Format::of_path(asked.input));
    let parsed = match weakspot_lang::parse(format.unwrap_or_else(|| Format::guess(&text)), &text) {
        Ok(parsed) => parsed,
        Err(why) => return Ok(Checked::Refused { text, why }),
    };
    asked.is_same(&input_hash(text.as_bytes()), &witness.input_hash, "input")?;
    let parsed = match witness.question.as_str() {
        "litmus" => parsed.with_observed_asked(),
        _ => parsed,
    };
    let (program, model) = (&parsed.program, witness.model);
    let checked =
        match witness.question.as_str() {
            "litmus" => certify::condition(program, model, &witness.verdict, &witness.evidence)
                .and_then(|()| match witness.evidence {
                    Evidence::Run(_) => Ok("the run is one of the machine, and its end decides"),
                    Evidence::Exhausted { .. }
                    | Evidence::Abstracted { .. }
                    | Evidence::Inductive(_) => {
                        certify::search(program, model, &witness.verdict, max_states)
                            .map(|()| "a search of all states by definition finds the same")
                    }
                }),
            "reach" => certify::everything(program, model, &witness.verdict, &witness.evidence)
                .and_then(|()| match witness.evidence {
                    Evidence::Run(_) => Ok("the run is one of the machine, and its end decides"),
                    Evidence::Abstracted { ref abstraction, .. } => {
                        certify::search_abstraction(program, model, abstraction, max_states)
                            .map(|()| "every state is like one of finitely many, and none is bad")
                    }
                    Evidence::Inductive(ref set) => {
                        certify::inductive(program, model, Shows::Everything, set)
                            .map(|()| "no step leads out of the set of states, and none is bad")
                    }
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
                    Evidence::Inductive(ref set) => {
                        certify::inductive(program, model, Shows::Robust, set).map(
                            |()| "no step leads out of the set of states, and none closes a cycle",
                        )
                    }
                    Evidence::Exhausted { .. } | Evidence::Abstracted { .. } => {
                        certify::search_robust(program, model, &witness.verdict, max_states)
                            .map(|()| "SC allows every execution by definition")
                    }
                }),
            SERIAL_PROGRAM => transactions(&parsed, &witness, max_states),
            other => bail!("no way to certify an answer to `{other}`"),
        };
    Ok(match checked {
        Err(Rejected::OutOfReach(n)) => Checked::Unknown(format!(
            "the claim that the program is robust was not checked. All executions can be listed by \
             definition only for a program without loops, with declared memory that has one initial \
             value, and with at most {n} executions (--max-states allows more)"
        )),
        Err(Rejected::Coarse) => Checked::Unknown(
            "the abstraction forgets too much to show, step by step, that the program holds"
                .to_owned(),
        ),
        checked => judged(checked, |n| {
            format!("more than {n} states by definition; --max-states allows more")
        }),
    })
}

/// Whether the transactions of a program are serializable. A cycle is found by the definition.
fn transactions(
    parsed: &Parsed,
    witness: &Witness,
    max_steps: usize,
) -> Result<&'static str, Rejected> {
    let Parsed { program, transactions, .. } = parsed;
    let (model, verdict) = (witness.model, &witness.verdict);
    // Before there was a choice the reading was static.
    let reads = witness.buffered.unwrap_or(BufferedReads::Static);
    let asked = (model, reads);
    let cycle = match &witness.evidence {
        Evidence::Run(run) => {
            let machine = Machine { program, model };
            certify::replay(machine, run)?;
            let run = txn_run(program, transactions, model, run).map_err(Rejected::Step)?;
            let cycle = run.cycle(relation(model, reads));
            Some(cycle.ok_or(Rejected::Trace("the run is serializable"))?)
        }
        Evidence::Exhausted { .. } | Evidence::Abstracted { .. } | Evidence::Inductive(_) => None,
    };
    let evidence = &witness.evidence;
    certify::transactions(program, transactions, asked, verdict, evidence, cycle.as_ref())?;
    if cycle.is_some() {
        return Ok("the run is one of the machine, and its transactions have to come before each \
                   other in a cycle");
    }
    certify::search_transactions(program, transactions, asked, verdict, max_steps)
        .map(|()| "all executions are serializable, by definition")
}

/// The text of the program.
fn read(asked: &Asked<'_>) -> Result<String> {
    let mut bytes = Vec::new();
    let mut source = (asked.open)(asked.input).map_err(|error| anyhow!(error.message))?;
    source.read_to_end(&mut bytes).context("failed to read")?;
    let format = asked.formats.language.or_else(|| Format::of_path(asked.input));
    Format::decode(format, bytes).context("it is no UTF-8 text")
}
