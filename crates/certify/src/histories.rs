//! Witnesses about histories.

use anyhow::{Context, Result, anyhow, bail};
use weakspot_args::{CertifyArgs, InputFormat};
use weakspot_core::{HistoryEvidence, certify};
use weakspot_input::{Stop, read_history};
use weakspot_report::HistoryWitness;
use weakspot_trace::Recorded;

use crate::{Checked, is_about, judged, unread};

/// So many operations are looked at by definition, which takes the fourth power of them.
const MAX_OPERATIONS: usize = 100;

/// Checks a witness about a history.
pub(crate) fn check(args: &CertifyArgs, text: &str, stop: Stop) -> Result<Checked> {
    let mut witness = HistoryWitness::from_json(text).with_context(|| unread(args))?;
    is_about(args, &witness.input_hash, "history")?;
    let name = args.input.display().to_string();
    let format = args.input_format.and_then(InputFormat::history);
    let number = witness.number;
    let read = read_history(&args.input, format, number, stop);
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
    Ok(judged(checked, |n| {
        format!(
            "nothing small shows that a causal model holds, and the history has more than {n} \
             operations; --max-states allows more"
        )
    }))
}
