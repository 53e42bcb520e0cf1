//! Witnesses about histories of transactions.

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::{TxnEvidence, certify};
use weakspot_trace::{HistoryFormat, HistoryReader, LogError, RecordedTxns};
use weakspot_witness::TxnHistoryWitness;

use crate::claim::counted;
use crate::histories::of_history;
use crate::{Asked, Checked, Claim, judged};

/// So many sets of transactions are tried.
const MAX_SETS: usize = 1_000_000;

/// Checks a witness about a history of transactions.
pub(crate) fn check(asked: &Asked<'_>, text: &str, claim: &mut Option<Claim>) -> Result<Checked> {
    let witness = TxnHistoryWitness::from_json(text).with_context(|| asked.unread())?;
    let key = witness.model.key();
    *claim = Some(Claim::new("history", (key, key.replace('-', " ")), &witness.verdict));
    asked.is_about(&witness.input_hash, "history")?;
    let name = asked.name();
    let read = read(asked, witness.number).map_err(|error| anyhow!(error.of(&name)))?;
    let Some((RecordedTxns { txns, .. }, is_alone)) = read else {
        bail!("{name} has no history {}", witness.number)
    };
    let TxnHistoryWitness { model, verdict, evidence, .. } = &witness;
    let most = asked.max_states.unwrap_or(MAX_SETS);
    let checked =
        certify::transactional(&txns, *model, verdict, evidence).and_then(|()| match evidence {
            TxnEvidence::Order(order) => {
                Ok(format!("by a commit order of {}", counted(order.len(), "transaction")))
            }
            TxnEvidence::Cycle { cycle, .. } => {
                Ok(format!("by a cycle of {} that hold", counted(cycle.len(), "fact")))
            }
            TxnEvidence::Misread { .. } => {
                Ok("by a read that is wrong under every model".to_owned())
            }
            TxnEvidence::Searched => certify::search_transactional(&txns, most)
                .map(|()| "by a search of all orders of the transactions".to_owned()),
        });
    let checked = checked.map(|by| of_history(by, witness.number, is_alone));
    Ok(judged(checked, |n| {
        format!(
            "nothing small shows it, and there are more than {n} sets of transactions to try; \
             --max-states allows more"
        )
    }))
}

/// The history of a file with this number, and whether the file has no other one.
fn read(asked: &Asked<'_>, number: usize) -> Result<Option<(RecordedTxns, bool)>, LogError> {
    let source = (asked.open)(asked.input)?;
    let mut reader = match asked.formats.history.or_else(|| HistoryFormat::from_path(asked.input)) {
        Some(format) => HistoryReader::new(source, format),
        None => HistoryReader::sniff(source)?,
    };
    if !reader.format().has_transactions() {
        return Ok(None);
    }
    reader.keep_transactions();
    for _ in 1..number {
        if reader.next_transactions()?.is_none() {
            return Ok(None);
        }
    }
    let Some(found) = reader.next_transactions()? else { return Ok(None) };
    let is_alone = number == 1 && matches!(reader.next_transactions(), Ok(None));
    Ok(Some((found, is_alone)))
}
