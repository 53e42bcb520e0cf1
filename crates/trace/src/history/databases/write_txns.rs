//! Writing a history of transactions in the formats that have them.

use std::io::Write;

use weakspot_core::transactional::TxnOp;
use weakspot_core::{INITIAL, TxnHistory, Value};

use super::transactions::RecordedTxns;
use crate::error::WriteError;
use crate::history::HistoryFormat;

/// Bytes are passed on when there are so many.
const CHUNK: usize = 1 << 16;

/// Writes a history of transactions. Names that a format cannot say are replaced by numbers.
///
/// # Errors
/// When bytes cannot be written, or the format cannot say the history; then nothing is written.
pub fn write_transactions(
    out: &mut dyn Write,
    format: HistoryFormat,
    history: &RecordedTxns,
) -> Result<(), WriteError> {
    let RecordedTxns { txns, names, .. } = history;
    if !txns.is_well_formed() || names.values.len() != txns.len() || names.vars.len() < txns.vars()
    {
        return Err(WriteError::other("a history whose parts do not belong together"));
    }
    check(format, history)?;
    let mut writer = Writer { out, bytes: Vec::new(), history, vars: var_names(format, history) };
    match format {
        HistoryFormat::Dbcop => writer.dbcop()?,
        HistoryFormat::DbcopJson => writer.dbcop_json()?,
        HistoryFormat::Plume => writer.plume()?,
        HistoryFormat::Awdit => writer.awdit()?,
        HistoryFormat::Edn => writer.edn()?,
        HistoryFormat::Jsonl | HistoryFormat::Text | HistoryFormat::Axe | HistoryFormat::Csv => {
            let message = format!("{} has no transactions", format.key());
            return Err(WriteError::other(message));
        }
    }
    writer.pass_on(0)
}

/// What a format cannot say.
fn check(format: HistoryFormat, history: &RecordedTxns) -> Result<(), WriteError> {
    let RecordedTxns { txns, names, .. } = history;
    let refuse =
        |op: u32, message: String| Err(WriteError::Unsayable { event: Some(op as usize), message });
    if format != HistoryFormat::Edn && txns.has_lists() {
        let message = format!("{} has no lists, only registers", format.key());
        return Err(WriteError::other(message));
    }
    for op in 0..txns.len() as u32 {
        let value = names.values[op as usize];
        let is_said = format == HistoryFormat::Edn || value >= 0;
        if !is_said {
            return refuse(op, format!("{} has no negative values, as {value}", format.key()));
        }
        let is_zero = txns.writes(op) && value == 0;
        if is_zero && format == HistoryFormat::Plume {
            return refuse(
                op,
                "0 is what variables are at first in plume; here it is written".into(),
            );
        }
        let is_initial = matches!(txns.op(op), TxnOp::Read { from: INITIAL, .. });
        if is_initial && format == HistoryFormat::Awdit {
            return refuse(op, "awdit has no reads of initial values".into());
        }
        if format == HistoryFormat::Awdit && !txns.committed(txns.txn_of(op)) {
            return refuse(op, "awdit has no transactions that were not committed".into());
        }
    }
    Ok(())
}

/// The variables as the format can name them.
fn var_names(format: HistoryFormat, history: &RecordedTxns) -> Vec<String> {
    let vars = &history.names.vars;
    let is_number = |v: &String| v.parse::<u64>().is_ok_and(|n| n.to_string() == *v);
    let is_word =
        |v: &String| !v.is_empty() && v.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let keep = match format {
        HistoryFormat::Dbcop => vars.iter().all(is_word),
        _ => vars.iter().all(is_number),
    };
    match format {
        _ if keep => vars.clone(),
        HistoryFormat::Dbcop => (0..vars.len()).map(|v| format!("v{v}")).collect(),
        HistoryFormat::Edn => vars.iter().map(|v| format!("\"{}\"", v.escape_default())).collect(),
        _ => (0..vars.len()).map(|v| v.to_string()).collect(),
    }
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    bytes: Vec<u8>,
    history: &'a RecordedTxns,
    vars: Vec<String>,
}

impl Writer<'_> {
    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn pass_on(&mut self, least: usize) -> Result<(), WriteError> {
        if self.bytes.len() > least {
            self.out.write_all(&self.bytes).map_err(WriteError::Io)?;
            self.bytes.clear();
        }
        Ok(())
    }

    fn txns(&self) -> &TxnHistory {
        &self.history.txns
    }

    /// Whether an operation writes, its variable, and its value; `None` for the initial one.
    fn op(&self, op: u32) -> (bool, String, Option<Value>) {
        let value = self.history.names.values[op as usize];
        let var = self.vars[self.txns().var(op) as usize].clone();
        match self.txns().op(op) {
            TxnOp::Read { from: INITIAL, .. } => (false, var, None),
            TxnOp::Read { .. } => (false, var, Some(value)),
            TxnOp::Write { .. } => (true, var, Some(value)),
        }
    }

    fn dbcop(&mut self) -> Result<(), WriteError> {
        if let Some(id) = &self.history.id {
            let id = format!("// {}\n", id.escape_debug());
            self.text(&id);
        }
        for session in 0..self.txns().sessions() {
            self.text(if session > 0 { "---\n" } else { "" });
            for txn in self.txns().of_session(session) {
                let ops: Vec<String> = (self.txns().of_txn(txn))
                    .map(|op| match self.op(op) {
                        (true, var, value) => format!("{var}:={}", value.unwrap_or(0)),
                        (false, var, Some(value)) => format!("{var}=={value}"),
                        (false, var, None) => format!("{var}==?"),
                    })
                    .collect();
                let end = if self.txns().committed(txn) { "" } else { "!" };
                self.text(&format!("[{}]{end}\n", ops.join(" ")));
                self.pass_on(CHUNK)?;
            }
        }
        Ok(())
    }

    /// With all members that dbcop asks for.
    fn dbcop_json(&mut self) -> Result<(), WriteError> {
        let history = self.txns();
        let (sessions, vars) = (history.sessions(), history.vars());
        let most = |sizes: &mut dyn Iterator<Item = usize>| sizes.max().unwrap_or(0);
        let txns = most(&mut (0..sessions).map(|s| history.of_session(s).len()));
        let events = most(&mut (0..history.txns() as u32).map(|t| history.of_txn(t).len()));
        let id = self.history.id.as_deref().unwrap_or("").escape_default().to_string();
        let when = "1970-01-01T00:00:00+00:00";
        self.text(&format!(
            "{{\"params\":{{\"id\":0,\"n_node\":{sessions},\"n_variable\":{vars},\
             \"n_transaction\":{txns},\"n_event\":{events}}},\"info\":\"{id}\",\
             \"start\":\"{when}\",\"end\":\"{when}\",\"data\":["
        ));
        for session in 0..sessions {
            self.text(if session > 0 { ",[" } else { "[" });
            let range = self.txns().of_session(session);
            for txn in range.clone() {
                let ops: Vec<String> = (self.txns().of_txn(txn))
                    .map(|op| {
                        let (writes, var, value) = self.op(op);
                        let kind = if writes { "Write" } else { "Read" };
                        let value = value.map_or("null".into(), |v| v.to_string());
                        format!("{{\"{kind}\":{{\"variable\":{var},\"version\":{value}}}}}")
                    })
                    .collect();
                let comma = if txn > range.start { "," } else { "" };
                let (ops, committed) = (ops.join(","), self.txns().committed(txn));
                self.text(&format!("{comma}{{\"events\":[{ops}],\"committed\":{committed}}}"));
                self.pass_on(CHUNK)?;
            }
            self.text("]");
        }
        self.text("]}\n");
        Ok(())
    }

    fn plume(&mut self) -> Result<(), WriteError> {
        for session in 0..self.txns().sessions() {
            for txn in self.txns().of_session(session) {
                let number = if self.txns().committed(txn) { i64::from(txn) } else { -1 };
                for op in self.txns().of_txn(txn) {
                    let (writes, var, value) = self.op(op);
                    let (kind, value) = (if writes { "w" } else { "r" }, value.unwrap_or(0));
                    self.text(&format!("{kind}({var},{value},{session},{number})\n"));
                }
                self.pass_on(CHUNK)?;
            }
        }
        Ok(())
    }

    fn awdit(&mut self) -> Result<(), WriteError> {
        let mut is_later = false;
        for session in 0..self.txns().sessions() {
            let range = self.txns().of_session(session);
            if !range.is_empty() && std::mem::replace(&mut is_later, true) {
                self.text("=====\n");
            }
            for txn in range.clone() {
                self.text(if txn > range.start { "-----\n" } else { "" });
                for op in self.txns().of_txn(txn) {
                    let (writes, var, value) = self.op(op);
                    let (kind, value) = (if writes { "w" } else { "r" }, value.unwrap_or(0));
                    self.text(&format!("{kind} {var} {value}\n"));
                }
                self.pass_on(CHUNK)?;
            }
        }
        Ok(())
    }

    /// One completed operation per transaction; when they began is not known.
    fn edn(&mut self) -> Result<(), WriteError> {
        for session in 0..self.txns().sessions() {
            for txn in self.txns().of_session(session) {
                let ops: Vec<String> = (self.txns().of_txn(txn)).map(|op| self.micro(op)).collect();
                let kind = if self.txns().committed(txn) { "ok" } else { "fail" };
                let ops = ops.join(" ");
                self.text(&format!(
                    "{{:type :{kind}, :f :txn, :value [{ops}], :process {session}, :index {txn}}}\n"
                ));
                self.pass_on(CHUNK)?;
            }
        }
        Ok(())
    }

    fn micro(&self, op: u32) -> String {
        let (writes, var, value) = self.op(op);
        let history = self.txns();
        let nil = value.map_or("nil".into(), |v| v.to_string());
        match (writes, history.has_lists()) {
            (true, true) => format!("[:append {var} {nil}]"),
            (true, false) => format!("[:w {var} {nil}]"),
            (false, false) => format!("[:r {var} {nil}]"),
            (false, true) => {
                let value = |&w: &u32| self.history.names.values[w as usize].to_string();
                let list: Vec<String> = history.list(op).iter().map(value).collect();
                format!("[:r {var} [{}]]", list.join(" "))
            }
        }
    }
}
