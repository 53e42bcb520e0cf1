//! Witnesses about histories.

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::{HistoryEvidence, HistoryModel, certify};
use weakspot_trace::{HistoryFormat, HistoryReader, LogError, Recorded, nth_history};
use weakspot_witness::HistoryWitness;

use crate::{Asked, Checked, judged};

/// So many operations are looked at by definition, which takes the fourth power of them.
const MAX_OPERATIONS: usize = 100;

/// Checks a witness about a history.
pub(crate) fn check(asked: &Asked<'_>, text: &str) -> Result<Checked> {
    let mut witness = HistoryWitness::from_json(text).with_context(|| asked.unread())?;
    asked.is_about(&witness.input_hash, "history")?;
    let name = asked.name();
    let number = witness.number;
    let read = read(asked, number).map_err(|error| anyhow!(error.of(&name)))?;
    let Some(Recorded { ops, .. }) = read else {
        bail!("{name} has no history number {number}");
    };
    witness.complete(&ops);
    let HistoryWitness { model, verdict, evidence, .. } = &witness;
    let max_ops = asked.max_states.unwrap_or(MAX_OPERATIONS);
    let checked = certify::history(&ops, *model, verdict, evidence).and_then(|()| match evidence {
        HistoryEvidence::Linear { .. } if *model == HistoryModel::Coherence => {
            Ok("the order of each variable does what was recorded")
        }
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
    Ok(judged(checked, |n| {
        format!(
            "nothing small shows that a causal model holds, and the history has more than {n} \
             operations; --max-states allows more"
        )
    }))
}

fn read(asked: &Asked<'_>, number: usize) -> Result<Option<Recorded>, LogError> {
    let source = (asked.open)(asked.input)?;
    let mut reader = match asked.formats.history.or_else(|| HistoryFormat::from_path(asked.input)) {
        Some(format) => HistoryReader::new(source, format),
        None => HistoryReader::sniff(source)?,
    };
    nth_history(&mut reader, number)
}
