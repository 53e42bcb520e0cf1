//! Witnesses about histories.

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::{HistoryEvidence, HistoryModel, certify};
use weakspot_trace::{HistoryFormat, HistoryReader, LogError, Recorded, nth_history};
use weakspot_witness::HistoryWitness;

use crate::claim::counted;
use crate::{Asked, Checked, Claim, judged};

/// So many operations are looked at by definition, which takes the fourth power of them.
const MAX_OPERATIONS: usize = 100;

/// Checks a witness about a history.
pub(crate) fn check(asked: &Asked<'_>, text: &str, claim: &mut Option<Claim>) -> Result<Checked> {
    let mut witness = HistoryWitness::from_json(text).with_context(|| asked.unread())?;
    let key = witness.model.key();
    let name = match witness.model {
        HistoryModel::Coherence => key.to_owned(),
        HistoryModel::Lin => "linearizability".to_owned(),
        HistoryModel::TsoRt => "TSO-rt".to_owned(),
        _ => key.to_uppercase(),
    };
    *claim = Some(Claim::new("history", (key, name), &witness.verdict));
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
        HistoryEvidence::ByDefinition => certify::search_history(&ops, *model, verdict, max_ops)
            .map(|()| "by the definition, evaluated literally".to_owned()),
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
