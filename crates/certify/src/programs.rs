//! Witnesses about programs.

use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::certify::{Rejected, Shows, StateSet};
use weakspot_core::machine::{Machine, Schedule};
use weakspot_core::serial::{BufferedReads, relation, txn_run};
use weakspot_core::{Evidence, Model, Program, Verdict, certify};
use weakspot_lang::{Format, Parsed, Setting};
use weakspot_witness::{SERIAL_PROGRAM, Witness, input_hash, model_key};

use crate::claim::{counted, reading};
use crate::{Asked, Checked, Claim, judged};

/// So many states are looked at by definition.
pub(crate) const MAX_STATES: usize = 1_000_000;

/// Checks a witness about a program.
pub(crate) fn check(asked: &Asked<'_>, text: &str, claim: &mut Option<Claim>) -> Result<Checked> {
    // First of all: what the input should be, the witness says.
    let witness = Witness::from_json(text).with_context(|| asked.unread())?;
    let question = match witness.question.as_str() {
        "litmus" => "litmus",
        "reach" => "reach",
        "robust" => "robust",
        SERIAL_PROGRAM => "serial",
        other => bail!("no way to certify an answer to `{other}`"),
    };
    is_asked(question, witness.model, witness.buffered)?;
    let model = (model_key(witness.model), witness.model.to_string());
    let option = (question == "serial").then(|| reading(witness.model, witness.buffered)).flatten();
    *claim = Some(Claim::new(question, model, &witness.verdict).with(option));
    let max_states = asked.max_states.unwrap_or(MAX_STATES);
    let (text, format, setting) = read(asked).with_context(|| asked.name())?;
    let parsed = match weakspot_lang::parse_with(format, &text, &setting) {
        Ok(parsed) => parsed,
        Err(why) => return Ok(Checked::Refused { text, why }),
    };
    asked.is_same(&input_hash(setting.identity(&text).as_bytes()), &witness.input_hash, "input")?;
    if !matches!(witness.evidence, Evidence::Run(_)) && is_too_strong(&parsed, witness.model) {
        return Ok(Checked::Unknown(TOO_STRONG.to_owned()));
    }
    let parsed = match question {
        "litmus" => parsed.with_observed_asked(),
        _ => parsed,
    };
    let program = &parsed.program;
    let under = (witness.model, &witness.verdict);
    let checked = match question {
        "litmus" => litmus(program, &witness, max_states),
        "reach" => reach(program, under, &witness.evidence, max_states),
        "robust" => robust(program, under, &witness.evidence, max_states),
        _ => transactions(&parsed, &witness, max_states),
    };
    Ok(judged_program(checked))
}

/// What can be shown by a run alone, where a machine does more than the program does here.
pub(crate) const TOO_STRONG: &str =
    "a load may overtake an `sc` of the test, and such runs are not looked at";

pub(crate) fn is_too_strong(parsed: &Parsed, model: Model) -> bool {
    parsed.too_strong.is_some() && model != Model::Sc
}

/// Refuses questions that nobody asks: what they would mean is defined nowhere, or nothing.
fn is_asked(question: &str, model: Model, buffered: Option<BufferedReads>) -> Result<()> {
    match (question, model) {
        ("robust", Model::Sc) => bail!("every program is robust against SC, and no answer says so"),
        ("serial", Model::Pso(_)) => bail!("transactions are asked about under SC and TSO only"),
        _ => {}
    }
    if buffered.is_some() && (question, model) != ("serial", Model::Tso) {
        bail!("`buffered` is about transactions under TSO, and this is another question");
    }
    Ok(())
}

/// What the definitions say about a program.
pub(crate) fn judged_program(checked: Result<String, Rejected>) -> Checked {
    match checked {
        Err(Rejected::OutOfReach(n)) => Checked::Unknown(format!(
            "all executions can be listed by definition only for a program without loops, with declared memory that has one initial \
             value, and with at most {n} executions (--max-states allows more)"
        )),
        Err(Rejected::Coarse) => Checked::Unknown(
            "the abstraction forgets too much to show, step by step, that the program holds"
                .to_owned(),
        ),
        checked => judged(checked, |n| {
            format!("more than {n} states by definition; --max-states allows more")
        }),
    }
}

/// Whether its condition on final states is valid.
fn litmus(program: &Program, witness: &Witness, max_states: usize) -> Result<String, Rejected> {
    let Witness { model, verdict, evidence, .. } = witness;
    certify::condition(program, *model, verdict, evidence)?;
    match evidence {
        Evidence::Run(run) => Ok(by_run(run)),
        Evidence::Exhausted { .. } | Evidence::Abstracted { .. } | Evidence::Inductive(_) => {
            certify::search(program, *model, verdict, max_states)
                .map(|()| "by a search of all states".to_owned())
        }
    }
}

/// Whether everything holds that it asks.
pub(crate) fn reach(
    program: &Program,
    (model, verdict): (Model, &Verdict),
    evidence: &Evidence,
    max_states: usize,
) -> Result<String, Rejected> {
    certify::everything(program, model, verdict, evidence)?;
    match evidence {
        Evidence::Run(run) => Ok(by_run(run)),
        Evidence::Abstracted { abstraction, .. } => {
            certify::search_abstraction(program, model, abstraction, max_states)
                .map(|()| "by finitely many states that all others are like".to_owned())
        }
        Evidence::Inductive(set) => {
            certify::inductive(program, model, Shows::Everything, set).map(|()| by_set(set))
        }
        Evidence::Exhausted { .. } => {
            certify::search_everything(program, model, verdict, max_states)
                .map(|()| "by a search of all states".to_owned())
        }
    }
}

/// Whether it is robust.
pub(crate) fn robust(
    program: &Program,
    (model, verdict): (Model, &Verdict),
    evidence: &Evidence,
    max_states: usize,
) -> Result<String, Rejected> {
    certify::robust(program, model, verdict, evidence)?;
    match evidence {
        Evidence::Run(run) => Ok(format!("{} that SC does not have", by_run(run))),
        Evidence::Inductive(set) => {
            certify::inductive(program, model, Shows::Robust, set).map(|()| by_set(set))
        }
        _ if certify::keeps_order(program, model) => {
            Ok("by its text: no access can overtake a store".to_owned())
        }
        Evidence::Exhausted { .. } | Evidence::Abstracted { .. } => {
            certify::search_robust(program, model, verdict, max_states)
                .map(|()| "by all executions, which SC allows".to_owned())
        }
    }
}

fn by_run(run: &Schedule) -> String {
    format!("by a run of {}", counted(run.steps.len(), "step"))
}

fn by_set(set: &StateSet) -> String {
    let states = usize::try_from(set.states).unwrap_or(usize::MAX);
    format!("by an inductive set of {}", counted(states, "state"))
}

/// Whether the transactions of a program are serializable. A cycle is found by the definition.
fn transactions(parsed: &Parsed, witness: &Witness, max_steps: usize) -> Result<String, Rejected> {
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
    if let (Some(_), Evidence::Run(run)) = (&cycle, evidence) {
        return Ok(format!("{} and a cycle of its transactions", by_run(run)));
    }
    certify::search_transactions(program, transactions, asked, verdict, max_steps)
        .map(|()| "by all executions, which are serializable".to_owned())
}

/// The text of the program, and its language.
pub(crate) fn read(asked: &Asked<'_>) -> Result<(String, Format, Setting)> {
    let bytes = |path: &Path| {
        let mut bytes = Vec::new();
        let mut source = (asked.open)(path).map_err(|error| anyhow!(error.message))?;
        source.read_to_end(&mut bytes).context("failed to read")?;
        anyhow::Ok(bytes)
    };
    let format = asked.formats.language.or_else(|| Format::of_path(asked.input));
    let text = Format::decode(format, bytes(asked.input)?).context("it is no UTF-8 text")?;
    let format = format.unwrap_or_else(|| Format::guess(&text));
    let mut header = |path: &Path| {
        // Not every place has the header.
        let bytes = if path.is_file() { bytes(path) } else { Err(anyhow!("no file")) };
        String::from_utf8(bytes.map_err(io::Error::other)?).map_err(io::Error::other)
    };
    let setting = match format {
        Format::C => Setting::of(&text, asked.input, asked.options, &mut header),
        _ => Setting::default(),
    };
    Ok((text, format, setting))
}
