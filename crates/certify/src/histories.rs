//! Witnesses about histories.

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::certify::Rejected;
use weakspot_core::{
    History, HistoryEvidence, HistoryModel, HistoryWay, INITIAL, Verdict, certify,
    initial_write_var,
};
use weakspot_trace::{HistoryFormat, HistoryReader, LogError, OpenRead, Recorded, nth_history};
use weakspot_witness::HistoryWitness;

use crate::claim::counted;
use crate::{Asked, Checked, Claim, judged};

/// So many operations are looked at by definition, which takes the fourth power of them.
const MAX_OPERATIONS: usize = 100;

/// Checks a witness about a history.
pub(crate) fn check(asked: &Asked<'_>, text: &str, claim: &mut Option<Claim>) -> Result<Checked> {
    let mut witness = HistoryWitness::from_json(text).with_context(|| asked.unread())?;
    let key = witness.model.key();
    let name = witness.model.name().to_owned();
    *claim = Some(Claim::new("history", (key, name), &witness.verdict));
    asked.is_about(&witness.input_hash, "history")?;
    let name = asked.name();
    let number = witness.number;
    let read = read(asked, number).map_err(|error| anyhow!(error.of(&name)))?;
    let Some((Recorded { ops, .. }, open, is_alone)) = read else {
        bail!("{name} has no history number {number}");
    };
    if witness.model.has_real_time() && !ops.has_times() {
        bail!("no operation of {name} says when it began or ended, which `{key}` is about");
    }
    witness.complete(&ops);
    let max_ops = asked.max_states.unwrap_or(MAX_OPERATIONS);
    let checked = certify::history_ways(&ops, &open, &witness.verdict, &witness.ways)
        .and_then(|()| shown(&ops, &witness, max_ops));
    let checked = checked.map(|by| of_history(by, number, is_alone));
    Ok(judged(checked, |n| {
        format!(
            "nothing small shows that a causal model holds, and the history has more than {n} \
             operations; --max-states allows more"
        )
    }))
}

/// Says of which history of a file something was certified, unless that is alone there.
pub(crate) fn of_history(by: String, number: usize, is_alone: bool) -> String {
    if is_alone { by } else { format!("{by} (history {number} of the file)") }
}

/// What the evidence shows, choice by choice.
fn shown(ops: &History, witness: &HistoryWitness, max_ops: usize) -> Result<String, Rejected> {
    let mut how = String::new();
    for HistoryWay { reads, evidence } in &witness.ways {
        let mut ops = ops.clone();
        for &(read, from) in reads {
            ops.set_from(read, source(from));
        }
        how = shown_by(&ops, (witness.model, &witness.verdict), evidence, max_ops)?;
    }
    Ok(match (&witness.ways[..], &witness.verdict) {
        ([way], _) if way.reads.is_empty() => how,
        (_, Verdict::Holds) => format!("{how}, with a choice of what was read"),
        (ways, _) => format!("for each of {} of what was read", counted(ways.len(), "choice")),
    })
}

/// What an operation reads, as histories have it.
fn source(from: u32) -> u32 {
    if initial_write_var(from).is_some() { INITIAL } else { from }
}

/// What the evidence shows about a history, in words.
fn shown_by(
    ops: &History,
    (model, verdict): (HistoryModel, &Verdict),
    evidence: &HistoryEvidence,
    max_ops: usize,
) -> Result<String, Rejected> {
    certify::history(ops, model, verdict, evidence).and_then(|()| match evidence {
        HistoryEvidence::Linear { .. } if model == HistoryModel::Coherence => {
            Ok("by an order of the operations on each variable".to_owned())
        }
        HistoryEvidence::Linear { steps, .. } => {
            Ok(format!("by a run of {}", counted(steps.len(), "step")))
        }
        HistoryEvidence::Cycle(_) => Ok("by a cycle of orders that all hold".to_owned()),
        HistoryEvidence::Refuted { conflicts, .. } => Ok(format!(
            "by {} and a proof that they leave no order",
            counted(conflicts.len(), "cycle")
        )),
        HistoryEvidence::ByDefinition => certify::search_history(ops, model, verdict, max_ops)
            .map(|()| "by the definition, evaluated literally".to_owned()),
    })
}

/// A history, its reads of which it is open what they read, and whether the file has no other history.
type Read = (Recorded, Vec<OpenRead>, bool);

fn read(asked: &Asked<'_>, number: usize) -> Result<Option<Read>, LogError> {
    let source = (asked.open)(asked.input)?;
    let mut reader = match asked.formats.history.or_else(|| HistoryFormat::from_path(asked.input)) {
        Some(format) => HistoryReader::new(source, format),
        None => HistoryReader::sniff(source)?,
    };
    reader.leave_open();
    let Some(found) = nth_history(&mut reader, number)? else { return Ok(None) };
    let open = reader.open_reads().to_vec();
    // What is wrong with another one is not asked.
    let is_alone = number == 1 && matches!(reader.next(), Ok(None));
    Ok(Some((found, open, is_alone)))
}
