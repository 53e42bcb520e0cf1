//! Parts of histories, written down.

use weakspot_core::{History, OpNames};
use weakspot_report::HistoryPart;
use weakspot_trace::{HistoryFormat, Recorded, write_open_history};

/// Which operations of a history, threads and variables are in a part of it.
pub struct Kept {
    /// The operations, by their numbers in the whole.
    pub ops: Vec<u32>,
    /// The threads.
    pub threads: Vec<usize>,
    /// The variables.
    pub vars: Vec<u32>,
    /// The operations of the part of which it is open what they read, in rising order.
    pub open: Vec<u32>,
    /// Whether nothing can be left out.
    pub is_minimal: bool,
}

/// A part of a history, written down so that it can be checked again. `place` says where an
/// operation of the history comes from.
pub fn part(
    id: Option<&str>,
    names: &OpNames,
    ops: History,
    kept: Kept,
    place: &dyn Fn(u32) -> String,
) -> HistoryPart {
    let Kept { ops: kept, threads, vars, open, is_minimal } = kept;
    let recorded = Recorded {
        id: id.map(str::to_owned),
        ops,
        names: OpNames {
            threads: threads.iter().map(|&t| names.threads[t].clone()).collect(),
            vars: vars.iter().map(|&x| names.vars[x as usize].clone()).collect(),
            initial: vars.iter().map(|&x| names.initial[x as usize]).collect(),
            values: kept.iter().map(|&op| names.values[op as usize]).collect(),
        },
        notes: Vec::new(),
        unchecked: Vec::new(),
    };
    let place = |op: u32| place(kept[op as usize]);
    let mut text = Vec::new();
    let mut json = Vec::new();
    // Both formats can say every history; a part that is not said is not shown.
    let _ = write_open_history(&mut text, HistoryFormat::Text, &recorded, &open, &place);
    let _ = write_open_history(&mut json, HistoryFormat::Jsonl, &recorded, &open, &place);
    HistoryPart {
        kept,
        text: String::from_utf8_lossy(&text).into_owned(),
        json: String::from_utf8_lossy(&json).trim_end().to_owned(),
        is_minimal,
    }
}
