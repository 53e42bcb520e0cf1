//! Histories of transactions: which models they satisfy, by the engine, the definition, and after
//! they were written and read.

use std::io::Cursor;
use std::time::Duration;

use weakspot_core::testing::{Rng, TxnHistorySize, random_txn_history};
use weakspot_core::transactional::{TxnOp, satisfies, serializable_within};
use weakspot_core::{Certification, INITIAL, Limits, OpNames, TxnHistory, TxnModel, Verdict};
use weakspot_history::classify_transactions;
use weakspot_trace::{HistoryFormat, HistoryReader, RecordedTxns, write_transactions};

use crate::{Disagreement, Stop, Subject, Until};

/// Up to so many transactions the definition is asked.
const SMALL: usize = 6;

/// All questions about a random history of transactions.
pub(crate) fn check(rng: &mut Rng, compared: &mut u64, stop: Stop<'_>) -> Option<Disagreement> {
    let size = TxnHistorySize {
        sessions: 1 + rng.below(4),
        txns: if rng.one_in(4) { 30 } else { SMALL },
        ops: 1 + rng.below(5),
        vars: 1 + rng.below(4),
        lists: rng.one_in(2),
        mistakes: 4 + rng.below(30),
        serial: rng.one_in(2),
        aborted: if rng.one_in(3) { 8 } else { 0 },
    };
    let history = random_txn_history(rng, size);
    let what = questions(&history, compared, stop).err()?;
    let text = text(&history).unwrap_or_default();
    Some(Disagreement {
        subject: Subject::Histories,
        round: 0,
        what,
        files: vec![("edn", text)],
        commands: vec!["weakspot history FILE.edn".to_owned()],
    })
}

fn questions(history: &TxnHistory, compared: &mut u64, stop: Stop<'_>) -> Result<(), String> {
    let verdicts = verdicts(history, stop)?;
    for (model, verdict) in TxnModel::ALL.into_iter().zip(&verdicts) {
        let Some(holds) = *verdict else { continue };
        let defined = match model {
            _ if history.txns() <= SMALL => Some(satisfies(history, model)),
            TxnModel::Serializable => serializable_within(history, 10_000),
            _ => None,
        };
        if let Some(defined) = defined {
            *compared += 1;
            if defined != holds {
                return Err(format!("{}: the definition says {defined}", model.key()));
            }
        }
    }
    let again = text(history).and_then(|text| read(&text));
    if let Some(again) = again.filter(|again| again.txns() == history.txns()) {
        *compared += 1;
        let after = self::verdicts(&again, stop)?;
        let differ = |(a, b): (&Option<bool>, &Option<bool>)| a.is_some() && b.is_some() && a != b;
        if verdicts.iter().zip(&after).any(differ) {
            return Err("another answer after it was written and read".to_owned());
        }
    }
    Ok(())
}

/// Whether it satisfies each model; `None` where that takes too long.
fn verdicts(history: &TxnHistory, stop: Stop<'_>) -> Result<Vec<Option<bool>>, String> {
    let time = Some(Duration::from_secs(2));
    let limits = Limits { time, memory: Some(256 << 20), ..Limits::UNLIMITED };
    let found = classify_transactions(history, &TxnModel::ALL, &limits, &mut Until(stop))
        .map_err(|(model, why)| format!("{}: rejected: {why}", model.key()))?;
    let one = |found: &weakspot_history::TxnClassified| match found.answer.verdict {
        Verdict::Unknown(_) => Ok(None),
        _ if found.answer.certification() == Certification::NotChecked => {
            Err(format!("{}: nothing was checked", found.model.key()))
        }
        ref verdict => Ok(Some(*verdict == Verdict::Holds)),
    };
    found.iter().map(one).collect()
}

/// The history in the text of Elle.
fn text(history: &TxnHistory) -> Option<String> {
    let value = |op: u32| match history.op(op) {
        TxnOp::Write { .. } => i64::from(op) + 1,
        TxnOp::Read { from: INITIAL, .. } => 0,
        TxnOp::Read { from, .. } => i64::from(from) + 1,
    };
    let names = OpNames {
        threads: (0..history.sessions()).map(|s| format!("t{s}")).collect(),
        vars: (0..history.vars()).map(|v| v.to_string()).collect(),
        initial: vec![0; history.vars()],
        values: (0..history.len() as u32).map(value).collect(),
    };
    let (notes, unchecked, lines) = (Vec::new(), Vec::new(), Vec::new());
    let txns = history.clone();
    let recorded = RecordedTxns { id: None, txns, names, notes, unchecked, lines };
    let mut text = Vec::new();
    write_transactions(&mut text, HistoryFormat::Edn, &recorded).ok()?;
    String::from_utf8(text).ok()
}

fn read(text: &str) -> Option<TxnHistory> {
    let source = Box::new(Cursor::new(text.to_owned()));
    let mut reader = HistoryReader::new(source, HistoryFormat::Edn);
    reader.keep_transactions();
    Some(reader.next_transactions().ok()??.txns)
}
