//! Witnesses about histories of transactions.

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::{TxnEvidence, certify};
use weakspot_trace::{HistoryFormat, HistoryReader, LogError, RecordedTxns};
use weakspot_witness::TxnHistoryWitness;

use crate::{Asked, Checked, judged};

/// So many sets of transactions are tried.
const MAX_SETS: usize = 1_000_000;

/// Checks a witness about a history of transactions.
pub(crate) fn check(asked: &Asked<'_>, text: &str) -> Result<Checked> {
    let witness = TxnHistoryWitness::from_json(text).with_context(|| asked.unread())?;
    asked.is_about(&witness.input_hash, "history")?;
    let name = asked.name();
    let read = read(asked).map_err(|error| anyhow!(error.of(&name)))?;
    let Some(RecordedTxns { txns, .. }) = read else { bail!("{name} has no history") };
    let TxnHistoryWitness { model, verdict, evidence, .. } = &witness;
    let most = asked.max_states.unwrap_or(MAX_SETS);
    let checked =
        certify::transactional(&txns, *model, verdict, evidence).and_then(|()| match evidence {
            TxnEvidence::Order(_) => Ok("the commit order is one that the model allows"),
            TxnEvidence::Cycle { .. } => Ok("every fact holds, and together they form a cycle"),
            TxnEvidence::Misread { .. } => Ok("the read is wrong under every model"),
            TxnEvidence::Searched => certify::search_transactional(&txns, most)
                .map(|()| "no order of the transactions explains what was read"),
        });
    Ok(judged(checked, |n| {
        format!(
            "nothing small shows it, and there are more than {n} sets of transactions to try; \
             --max-states allows more"
        )
    }))
}

fn read(asked: &Asked<'_>) -> Result<Option<RecordedTxns>, LogError> {
    let source = (asked.open)(asked.input)?;
    let mut reader = match asked.formats.history.or_else(|| HistoryFormat::from_path(asked.input)) {
        Some(format) => HistoryReader::new(source, format),
        None => HistoryReader::sniff(source)?,
    };
    if !reader.format().has_transactions() {
        return Ok(None);
    }
    reader.keep_transactions();
    reader.next_transactions()
}
