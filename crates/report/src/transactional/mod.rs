//! Whether histories of transactions satisfy models, as text and JSON.

mod json;
mod show;

use std::fmt::Write;

use weakspot_core::transactional::{BEGINNING, Fact, Misread, Reason, anomaly};
use weakspot_core::{HistoryModel, Names, OpNames, TxnEvidence, TxnHistory, TxnModel, Verdict};

use crate::answer::{Answer, Head, ModelName, note};
use crate::text::limit::limit_text;
use crate::text::show::{counted, plain};
use crate::text::table::{Style, pad, paragraph, width};

use show::{Show, link};

/// So many facts of a cycle are shown at most.
const MAX_SHOWN: usize = 40;

/// The answer for one history of transactions under one model.
#[derive(Clone, Copy, Debug)]
pub struct TxnHistoryAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a, TxnModel>,
    /// What the history is called in the file.
    pub id: Option<&'a str>,
    /// Which history of the file, from 1.
    pub number: usize,
    /// The history.
    pub history: &'a TxnHistory,
    /// Its names and values.
    pub names: &'a OpNames,
    /// The lines of the file on which its operations stand; empty if not known.
    pub lines: &'a [u32],
    /// Details in the file that the history does not model.
    pub notes: &'a [String],
    /// What of this no model asks about, a few words each.
    pub unchecked: &'a [String],
    /// Why.
    pub evidence: Option<&'a TxnEvidence>,
    /// The stage that decided, as scripts read it.
    pub decided_by: &'a str,
    /// The weaker model whose evidence this is.
    pub implied_by: Option<TxnModel>,
}

/// The answers for one history of transactions.
#[derive(Clone, Copy, Debug)]
pub struct TxnHistoryAnswers<'a> {
    /// One for each model.
    pub answers: &'a [TxnHistoryAnswer<'a>],
}

impl Answer for TxnHistoryAnswers<'_> {
    fn text(&self, style: Style) -> String {
        let mut out = String::new();
        for (i, a) in self.answers.iter().enumerate() {
            let _ = writeln!(out, "{}", outcome(a));
            if !style.details {
                continue;
            }
            if i == 0 {
                for note in a.notes {
                    out += &paragraph(&format!("  note: {}", plain(note)), style.columns(), 4);
                }
            }
            let shown = |b: &&TxnHistoryAnswer<'_>| b.evidence == a.evidence;
            if a.implied_by.is_none() || !self.answers[..i].iter().any(|b| shown(&b)) {
                out += &why(a, style.columns());
            }
        }
        out
    }

    fn json(&self) -> String {
        self.answers.iter().map(json::transactional_json).collect()
    }

    fn too_large(&self) -> Option<String> {
        let models: Vec<String> =
            self.answers.iter().filter_map(|answer| answer.head.too_large()).collect();
        (!models.is_empty()).then(|| models.join(", "))
    }
}

impl ModelName for TxnModel {
    fn key(self) -> &'static str {
        TxnModel::key(self)
    }

    fn name(self) -> String {
        txn_model_name(self).to_owned()
    }
}

/// A model that histories are asked about: of memory, or of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedModel {
    /// Of memory.
    Memory(HistoryModel),
    /// Of transactions.
    Transactions(TxnModel),
}

impl ModelName for AskedModel {
    fn key(self) -> &'static str {
        match self {
            AskedModel::Memory(model) => model.key(),
            AskedModel::Transactions(model) => model.key(),
        }
    }

    fn name(self) -> String {
        match self {
            AskedModel::Memory(model) => model.name().to_owned(),
            AskedModel::Transactions(model) => model.name(),
        }
    }
}

/// The name of a model as people write it.
#[must_use]
pub fn txn_model_name(model: TxnModel) -> &'static str {
    match model {
        TxnModel::ReadCommitted => "read committed",
        TxnModel::ReadAtomic => "read atomic",
        TxnModel::Causal => "transactional causal",
        TxnModel::Serializable => "serializable",
    }
}

/// What was found, in a line.
fn outcome(a: &TxnHistoryAnswer<'_>) -> String {
    let file = plain(a.head.file);
    let id = a.id.map_or(String::new(), |id| format!(" {}", plain(id)));
    let model = txn_model_name(a.head.model);
    let txns = counted(committed(a.history), "transaction");
    let what = match (a.head.verdict, a.evidence) {
        (Verdict::Unknown(limit), _) => {
            format!("unknown: {txns}, {}", limit_text(limit, &Names::default()))
        }
        (Verdict::Holds, _) => {
            let unchecked = match a.unchecked {
                [] => String::new(),
                // The others do not ask about it by their definitions.
                _ if a.head.model != TxnModel::Serializable => String::new(),
                parts => format!(" (not checked: {})", parts.join(", ")),
            };
            format!("satisfied{unchecked}: {txns}, shown by a commit order")
        }
        (Verdict::Violated, evidence) => {
            let found = evidence.and_then(|e| anomaly(a.history, a.head.model, e));
            let found = found.map_or(String::new(), |f| format!("{}, {}", f.key, f.words));
            format!("violated: {found}")
        }
    };
    format!("{file}{id} {model}: {what}")
}

fn committed(history: &TxnHistory) -> u64 {
    (0..history.txns() as u32).filter(|&t| history.committed(t)).count() as u64
}

/// The evidence of a violation.
fn why(a: &TxnHistoryAnswer<'_>, columns: usize) -> String {
    let mut show = Show { history: a.history, names: a.names, lines: a.lines, txns: Vec::new() };
    let body = match a.evidence {
        None | Some(TxnEvidence::Order(_)) => return String::new(),
        Some(TxnEvidence::Searched) => {
            let text = "  Nothing small shows it: all orders of the transactions were tried.";
            return match a.head.certified.is_checked() {
                true => paragraph(text, columns, 2) + "\n",
                false => paragraph(text, columns, 2) + &note(a.head.model.name()) + "\n",
            };
        }
        Some(TxnEvidence::Misread { op, what }) => {
            let text = misread(&mut show, *op, *what);
            paragraph(&format!("  {text}"), columns, 2)
        }
        Some(TxnEvidence::Cycle { facts, cycle }) => {
            let text = format!(
                "  Under {} this cannot be: each arrow means \"is committed before\", and \
                 together they form a cycle.",
                a.head.model.name()
            );
            paragraph(&text, columns, 2) + &drawing(&mut show, facts, cycle, columns)
        }
    };
    format!("\n{}\n{body}\n", show.transactions(columns))
}

fn misread(show: &mut Show<'_>, op: u32, what: Misread) -> String {
    let history = show.history;
    let reader = show.name(history.txn_of(op));
    let read = show.op(op);
    let mut writer = |wanted: &dyn Fn(u32) -> bool| {
        let from = [history.list(op), &show.from(op)].concat();
        let writer = from.into_iter().find(|&w| wanted(w)).map(|w| history.txn_of(w));
        writer.map_or(String::new(), |txn| show.name(txn))
    };
    match what {
        Misread::Aborted => {
            let writer = writer(&|w| !history.committed(history.txn_of(w)));
            format!("{reader} reads what {writer} wrote, which was not committed: {read}.")
        }
        Misread::Intermediate => {
            let writer = writer(&|_| true);
            format!("{reader} reads what {writer} overwrote itself before its end: {read}.")
        }
        Misread::Internal => {
            format!("{reader} contradicts what it wrote itself: {read}.")
        }
        Misread::Duplicate => format!("{reader} reads a list with an element twice: {read}."),
        Misread::Incompatible => {
            let other = show.longest(op);
            let text = other.map_or(String::new(), |other| {
                let by = show.name(history.txn_of(other));
                format!(", and {by} {}", show.op(other))
            });
            format!("Neither list begins with the other: {reader} {read}{text}.")
        }
    }
}

/// The cycle, one fact per line, and below it what others follow from.
fn drawing(show: &mut Show<'_>, facts: &[Fact], cycle: &[u32], columns: usize) -> String {
    let mut numbered: Vec<u32> = Vec::new();
    let mut out = match unrolled(facts, cycle) {
        Some(unrolled) => past_reader(show, facts, &unrolled, &mut numbered, columns),
        None => lines(show, facts, cycle, &mut numbered, columns),
    };
    let mut next = 0;
    while let Some(&fact) = numbered.get(next) {
        next += 1;
        if next > MAX_SHOWN {
            let _ = writeln!(out, "\n  and more; --witness writes them all");
            break;
        }
        let text = format!("  ({next}) {}", reason(show, &facts[fact as usize]));
        out += "\n";
        out += &paragraph(&text, columns, 6);
        if let Reason::Older { path, .. } | Reason::Overwrites { path, .. } =
            &facts[fact as usize].reason
        {
            out += &lines(show, facts, path, &mut numbered, columns);
        }
    }
    out
}

/// A cycle with a single read of something older than what is seen.
struct Unrolled<'a> {
    /// Who overwrites what is read.
    writer: u32,
    read: u32,
    /// From there to the reader.
    path: &'a [u32],
    /// Why that one is later than what is read.
    rest: Vec<u32>,
}

/// The cycle as one through the reader, if that is simpler.
fn unrolled<'a>(facts: &'a [Fact], cycle: &[u32]) -> Option<Unrolled<'a>> {
    let is_plain = |fact: &u32| {
        !matches!(facts[*fact as usize].reason, Reason::Older { .. } | Reason::Overwrites { .. })
    };
    let derived: Vec<usize> = (0..cycle.len()).filter(|&i| !is_plain(&cycle[i])).collect();
    let [at] = derived[..] else { return None };
    let fact = &facts[cycle[at] as usize];
    let Reason::Older { read, path } = &fact.reason else { return None };
    let mut rest = [&cycle[at + 1..], &cycle[..at]].concat();
    rest.retain(|&fact| facts[fact as usize].reason != Reason::Beginning);
    path.iter().all(is_plain).then_some(Unrolled { writer: fact.from, read: *read, path, rest })
}

fn past_reader(
    show: &mut Show<'_>,
    facts: &[Fact],
    unrolled: &Unrolled<'_>,
    numbered: &mut Vec<u32>,
    columns: usize,
) -> String {
    let mut out = lines(show, facts, unrolled.path, numbered, columns);
    let (reader, writer) =
        (show.name(show.history.txn_of(unrolled.read)), show.name(unrolled.writer));
    let read = show.op(unrolled.read);
    let row = format!("  {reader} -rw-> {writer}  ");
    let text = format!("{row}{reader} has {read}, which {writer} overwrites");
    out += &paragraph(&text, columns, width(&row));
    if !unrolled.rest.is_empty() {
        let source = show.source(unrolled.read);
        let text = format!("\n  It does so because it comes after {source}, which is read:");
        out += &text;
        out.push('\n');
        out += &lines(show, facts, &unrolled.rest, numbered, columns);
    }
    out
}

fn lines(
    show: &mut Show<'_>,
    facts: &[Fact],
    path: &[u32],
    numbered: &mut Vec<u32>,
    columns: usize,
) -> String {
    let mut rows = Vec::new();
    for &number in path.iter().take(MAX_SHOWN) {
        let fact = &facts[number as usize];
        let (from, to) = (show.name(fact.from), show.name(fact.to));
        let text = match fact.reason {
            Reason::Overwrites { read, .. } if show.history.source(read) == Some(BEGINNING) => {
                format!("{from} has {}, which {to} overwrites", show.op(read))
            }
            Reason::Older { .. } | Reason::Overwrites { .. } => {
                let at = numbered.iter().position(|&n| n == number).unwrap_or_else(|| {
                    numbered.push(number);
                    numbered.len() - 1
                });
                format!("see ({})", at + 1)
            }
            _ => reason(show, fact),
        };
        rows.push((format!("{from} -{}-> {to}", link(&fact.reason)), text));
    }
    let wide = rows.iter().map(|(row, _)| width(row)).max().unwrap_or(0);
    let mut out = String::new();
    for (row, text) in rows {
        out += &paragraph(&format!("  {}  {text}", pad(&row, wide)), columns, wide + 4);
    }
    if path.len() > MAX_SHOWN {
        let more = counted((path.len() - MAX_SHOWN) as u64, "more step");
        let _ = writeln!(out, "  and {more}; --witness writes them all");
    }
    out
}

/// Why a fact holds, in a sentence without its end.
fn reason(show: &mut Show<'_>, fact: &Fact) -> String {
    let (from, to) = (show.name(fact.from), show.name(fact.to));
    match &fact.reason {
        Reason::Beginning => "all transactions come after what is there at first".to_owned(),
        Reason::Session => {
            let session = show.session(show.history.session_of(fact.from));
            format!("both are of {session}, in this order")
        }
        Reason::Reads(op) => format!("{to} has {}, which {from} wrote", show.op(*op)),
        Reason::Versions(first, second) => {
            let var = show.var(show.history.var(*first));
            let (a, b) = (show.value(*first), show.value(*second));
            match show.is_listed(*second) {
                true => format!("in the list {var}, {a} stands before {b}"),
                false => format!("{b} is in no list {var} that was read, so it comes after {a}"),
            }
        }
        Reason::Older { read, .. } => {
            let reader = show.name(show.history.txn_of(*read));
            let var = show.var(show.history.var(*read));
            format!(
                "{reader} has {}, which is of {to}, but it sees {from}, which writes {var} as \
                 well; so {from} is older than {to}. It sees {from}:",
                show.op(*read)
            )
        }
        Reason::Overwrites { read, .. } => {
            let source = show.source(*read);
            let var = show.var(show.history.var(*read));
            format!(
                "{from} has {}, which is of {source}, and {to} writes {var} after {source}; so \
                 {from} comes before {to}. It is after {source}:",
                show.op(*read)
            )
        }
    }
}
