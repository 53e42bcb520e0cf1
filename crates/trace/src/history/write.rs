//! Writing a history, whatever the format.

use std::io::Write;

use weakspot_core::{History, OpKind, OpNames, Times, Value, WriteTable, Written};

use super::{HistoryFormat, Recorded};
use crate::error::WriteError;

/// Bytes are passed on when there are so many.
const CHUNK: usize = 1 << 16;

/// Writes a history. Names that a format cannot say are replaced by numbers, and the history's own
/// name and its notes are left out where there is no place for them; all else that it cannot say
/// is an error.
///
/// # Errors
/// When bytes cannot be written, or the format cannot say the history; then nothing is written.
pub fn write_history(
    out: &mut dyn Write,
    format: HistoryFormat,
    history: &Recorded,
) -> Result<(), WriteError> {
    write_open_history(out, format, history, &[], &|_| String::new())
}

/// The same, in text with a comment behind each operation. What the operations in `open`, in rising
/// order, read is left open.
///
/// # Errors
/// As [`write_history`].
pub fn write_open_history(
    out: &mut dyn Write,
    format: HistoryFormat,
    history: &Recorded,
    open: &[u32],
    comment: &dyn Fn(u32) -> String,
) -> Result<(), WriteError> {
    let Recorded { ops, names, .. } = history;
    if !ops.is_well_formed()
        || names.values.len() != ops.len()
        || names.threads.len() != ops.threads()
        || names.vars.len() < ops.vars()
        || names.initial.len() < ops.vars()
    {
        return Err(WriteError::other("a history whose parts do not belong together"));
    }
    let by_value = ByValue::new(ops, names, open);
    if format != HistoryFormat::Jsonl && format != HistoryFormat::Text {
        check(format, ops, names, &by_value)?;
    }
    let mut sink = Sink { out, bytes: Vec::new() };
    match format {
        HistoryFormat::Jsonl => jsonl(&mut sink, history, &by_value),
        HistoryFormat::Text => text(&mut sink, history, &by_value, comment),
        HistoryFormat::Axe => axe(&mut sink, history),
        HistoryFormat::Dbcop => dbcop(&mut sink, history),
        HistoryFormat::DbcopJson => dbcop_json(&mut sink, history),
        HistoryFormat::Plume => plume(&mut sink, history),
        HistoryFormat::Awdit => awdit(&mut sink, history),
        HistoryFormat::Edn | HistoryFormat::Csv => Ok(()),
    }?;
    sink.pass_on(0)
}

/// Writes whatever is formatted, in large pieces.
struct Sink<'a> {
    out: &'a mut dyn Write,
    bytes: Vec<u8>,
}

impl Sink<'_> {
    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: Value) {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut rest = number.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            self.bytes.push(b'-');
        }
        self.bytes.extend_from_slice(&digits[at..]);
    }

    fn quoted(&mut self, name: &str) {
        self.bytes.extend_from_slice(serde_json::Value::from(name).to_string().as_bytes());
    }

    /// A name of our text, in quotes if the line could be read differently without them.
    fn name(&mut self, name: &str) {
        let strange = |c: char| c.is_whitespace() || c.is_control() || c == '"' || c == '\\';
        let begins_strange = name.starts_with("//") || name.starts_with(['{', '[']);
        if name.is_empty() || begins_strange || name.contains(strange) {
            self.quoted(name);
        } else {
            self.text(name);
        }
    }

    /// The end of a line of our text, with a comment if there is one.
    fn comment(&mut self, comment: &str) {
        if !comment.is_empty() {
            self.text("  // ");
            self.text(&comment.replace(['\n', '\r'], " "));
        }
        self.text("\n");
    }

    /// When an operation began and ended, as Axe and our text have it.
    fn times(&mut self, times: Times) {
        if times == Times::UNKNOWN {
            return;
        }
        self.text(" @ ");
        if times.start != i64::MIN {
            self.number(times.start);
        }
        self.text(":");
        if times.end != i64::MAX {
            self.number(times.end);
        }
    }

    /// The same in JSON.
    fn times_json(&mut self, times: Times) {
        if times.start != i64::MIN {
            self.text(",\"start\":");
            self.number(times.start);
        }
        if times.end != i64::MAX {
            self.text(",\"end\":");
            self.number(times.end);
        }
    }

    fn pass_on(&mut self, least: usize) -> Result<(), WriteError> {
        if self.bytes.len() >= least {
            let written = self.out.write_all(&self.bytes);
            self.bytes.clear();
            written?;
        }
        Ok(())
    }
}

/// What reads would be taken to read by their values alone.
struct ByValue<'a> {
    writes: WriteTable,
    /// The operations of which it is not said what they read.
    open: &'a [u32],
    /// Whether a value is written twice.
    repeated: bool,
}

impl<'a> ByValue<'a> {
    fn new(ops: &History, names: &OpNames, open: &'a [u32]) -> ByValue<'a> {
        let all = 0..ops.len() as u32;
        let mut writes =
            WriteTable::with_room_for(all.clone().filter(|&op| ops.writes(op)).count());
        let mut repeated = false;
        for op in all.filter(|&op| ops.writes(op)) {
            repeated |= !writes.insert(ops.var(op), names.values[op as usize], op);
        }
        ByValue { writes, open, repeated }
    }

    /// Whether it is to be said what an operation reads; of all if a value is written twice.
    fn is_said(&self, op: u32, ops: &History, names: &OpNames) -> bool {
        self.repeated && self.open.is_empty() || !self.is_clear(op, ops, names)
    }

    /// Whether it is clear what an operation reads, or nobody says it.
    fn is_clear(&self, op: u32, ops: &History, names: &OpNames) -> bool {
        if self.open.binary_search(&op).is_ok() {
            return true;
        }
        let (var, value) = (ops.var(op), read_value(op, ops, names));
        let is_initial = names.initial[var as usize] == value;
        match (self.writes.find(var, value), ops.from(op)) {
            (Written::Never, None) => true,
            (Written::Once(found), Some(from)) => found == from && !is_initial,
            _ => false,
        }
    }
}

/// The value that an operation reads.
fn read_value(op: u32, ops: &History, names: &OpNames) -> Value {
    match ops.from(op) {
        Some(from) => names.values[from as usize],
        None => names.initial[ops.var(op) as usize],
    }
}

/// Whether a format of others can say a history.
fn check(
    format: HistoryFormat,
    ops: &History,
    names: &OpNames,
    by_value: &ByValue<'_>,
) -> Result<(), WriteError> {
    let said_by = match format {
        HistoryFormat::Axe => "Axe",
        HistoryFormat::Dbcop | HistoryFormat::DbcopJson => "dbcop",
        HistoryFormat::Plume => "Plume",
        HistoryFormat::Awdit => "AWDIT",
        _ => "EDN",
    };
    let refuse = |op: u32, what: String| {
        Err(WriteError::event(op as usize, format!("{said_by} cannot say {what}")))
    };
    if format == HistoryFormat::Edn {
        let message = "EDN says when operations began and ended, which a history does not know";
        return Err(WriteError::other(message));
    }
    if format == HistoryFormat::Csv {
        return Err(WriteError::other("tables of columns are read, not written"));
    }
    // Nine digits are the most that Axe reads.
    let most = if format == HistoryFormat::Axe { 999_999_999 } else { Value::MAX };
    for op in 0..ops.len() as u32 {
        let times = ops.times(op);
        if format == HistoryFormat::Axe {
            let is_negative = |time: i64| time < 0 && time != i64::MIN;
            if let Some(time) = [times.start, times.end].into_iter().find(|&t| is_negative(t)) {
                return refuse(op, format!("the time {time}"));
            }
        }
        let value = names.values[op as usize];
        let var = names.vars.get(ops.var(op) as usize).map_or("", |v| v);
        match ops.kind(op) {
            OpKind::Fence if format != HistoryFormat::Axe => return refuse(op, "fences".into()),
            OpKind::Fence => continue,
            _ => {}
        }
        if names.initial[ops.var(op) as usize] != 0 {
            return refuse(op, format!("that `{var}` is not 0 at first"));
        }
        if !(0..=most).contains(&value) {
            return refuse(op, format!("the value {value}"));
        }
        if value == 0 && ops.writes(op) {
            return refuse(op, format!("that the initial value 0 is written to `{var}`"));
        }
        if format == HistoryFormat::Awdit && ops.reads(op) && ops.from(op).is_none() {
            return refuse(op, format!("that the initial value of `{var}` is read"));
        }
        if ops.reads(op) && !by_value.is_clear(op, ops, names) {
            let what = read_value(op, ops, names);
            return refuse(op, format!("which of the writes of {what} to `{var}` is read"));
        }
        if by_value.repeated {
            let is_again = by_value.writes.find(ops.var(op), value) == Written::Often;
            if ops.writes(op) && is_again {
                return refuse(op, format!("that {value} is written to `{var}` twice"));
            }
        }
    }
    Ok(())
}

fn jsonl(
    sink: &mut Sink<'_>,
    history: &Recorded,
    by_value: &ByValue<'_>,
) -> Result<(), WriteError> {
    let Recorded { id, ops, names, .. } = history;
    sink.text("{");
    if let Some(id) = id {
        sink.text("\"id\":");
        sink.quoted(id);
        sink.text(",");
    }
    let mut before = "\"init\":{";
    for (name, &value) in names.vars.iter().zip(&names.initial) {
        if value != 0 {
            sink.text(std::mem::replace(&mut before, ","));
            sink.quoted(name);
            sink.text(":");
            sink.number(value);
        }
    }
    sink.text(if before == "," { "},\"threads\":[" } else { "\"threads\":[" });
    let vars: Vec<String> =
        names.vars.iter().map(|v| serde_json::Value::from(v.as_str()).to_string()).collect();
    for thread in 0..ops.threads() {
        sink.text(if thread == 0 { "[" } else { ",[" });
        let range = ops.of_thread(thread);
        for op in range.clone() {
            sink.text(if op == range.start { "{\"kind\":\"" } else { ",{\"kind\":\"" });
            let kind = ops.kind(op);
            if kind == OpKind::Fence {
                sink.text("f\"");
                sink.times_json(ops.times(op));
                sink.text("}");
                continue;
            }
            sink.text(match kind {
                OpKind::Read => "r\",\"var\":",
                OpKind::Write => "w\",\"var\":",
                _ => "u\",\"var\":",
            });
            sink.text(&vars[ops.var(op) as usize]);
            if kind == OpKind::Update {
                sink.text(",\"old\":");
                sink.number(read_value(op, ops, names));
                sink.text(",\"new\":");
            } else {
                sink.text(",\"val\":");
            }
            sink.number(names.values[op as usize]);
            if ops.reads(op) && by_value.is_said(op, ops, names) {
                match ops.from(op) {
                    None => sink.text(",\"from\":\"init\""),
                    Some(from) => {
                        let of = ops.thread_of(from);
                        let index = from - ops.of_thread(of).start;
                        sink.text(&format!(",\"from\":[{of},{index}]"));
                    }
                }
            }
            sink.times_json(ops.times(op));
            sink.text("}");
            sink.pass_on(CHUNK)?;
        }
        sink.text("]");
    }
    sink.text("]}\n");
    Ok(())
}

fn text(
    sink: &mut Sink<'_>,
    history: &Recorded,
    by_value: &ByValue<'_>,
    comment: &dyn Fn(u32) -> String,
) -> Result<(), WriteError> {
    let Recorded { id, ops, names, .. } = history;
    sink.text("history");
    if let Some(id) = id {
        sink.text(" ");
        sink.name(id);
    }
    sink.text("\n");
    for (name, &value) in names.vars.iter().zip(&names.initial) {
        if value != 0 {
            sink.text("init ");
            sink.name(name);
            sink.text(" ");
            sink.number(value);
            sink.text("\n");
        }
    }
    let says_from = |op: u32| ops.reads(op) && by_value.is_said(op, ops, names);
    // A read may name a thread that comes later, so all of them are named before.
    let mut all = 0..ops.len() as u32;
    let is_first = all.any(says_from);
    for name in names.threads.iter().filter(|_| is_first) {
        sink.name(name);
        sink.text(":\n");
    }
    for (thread, name) in names.threads.iter().enumerate() {
        if ops.of_thread(thread).is_empty() && !is_first {
            sink.name(name);
            sink.text(":\n");
        }
        for op in ops.of_thread(thread) {
            sink.name(name);
            let kind = ops.kind(op);
            if kind == OpKind::Fence {
                sink.text(": fence");
                sink.times(ops.times(op));
                sink.comment(&comment(op));
                continue;
            }
            sink.text(match kind {
                OpKind::Read => ": r ",
                OpKind::Write => ": w ",
                _ => ": u ",
            });
            sink.name(&names.vars[ops.var(op) as usize]);
            sink.text(" ");
            if kind == OpKind::Update {
                sink.number(read_value(op, ops, names));
                sink.text(" -> ");
            }
            sink.number(names.values[op as usize]);
            if says_from(op) {
                match ops.from(op) {
                    None => sink.text(" from init"),
                    Some(from) => {
                        let of = ops.thread_of(from);
                        sink.text(" from ");
                        sink.name(&names.threads[of]);
                        sink.text(&format!(" {}", from - ops.of_thread(of).start));
                    }
                }
            }
            sink.times(ops.times(op));
            sink.comment(&comment(op));
            sink.pass_on(CHUNK)?;
        }
    }
    Ok(())
}

/// Names as numbers: the numbers that they are, behind this beginning, or else their positions.
fn numbers(names: &[String], beginning: &str) -> Vec<String> {
    let number = |name: &String| {
        let digits = name.strip_prefix(beginning)?;
        let is_plain = digits.bytes().all(|b| b.is_ascii_digit()) && digits.len() < 10;
        let number: u32 = digits.parse().ok().filter(|_| is_plain)?;
        (number.to_string() == digits).then(|| digits.to_owned())
    };
    let given: Option<Vec<String>> = names.iter().map(number).collect();
    given.unwrap_or_else(|| (0..names.len()).map(|n| n.to_string()).collect())
}

fn axe(sink: &mut Sink<'_>, history: &Recorded) -> Result<(), WriteError> {
    let Recorded { id, ops, names, .. } = history;
    if let Some(id) = id {
        sink.text(&format!("# {}\n", id.escape_debug()));
    }
    let (threads, vars) = (numbers(&names.threads, "t"), numbers(&names.vars, ""));
    for (thread, name) in threads.iter().enumerate() {
        for op in ops.of_thread(thread) {
            sink.text(name);
            if ops.kind(op) == OpKind::Fence {
                sink.text(": sync");
                sink.times(ops.times(op));
                sink.text("\n");
                continue;
            }
            let var = &vars[ops.var(op) as usize];
            let is_update = ops.kind(op) == OpKind::Update;
            sink.text(if is_update { ": { M[" } else { ": M[" });
            sink.text(var);
            if ops.reads(op) {
                sink.text("] == ");
                sink.number(read_value(op, ops, names));
            }
            if is_update {
                sink.text("; M[");
                sink.text(var);
            }
            if ops.writes(op) {
                sink.text("] := ");
                sink.number(names.values[op as usize]);
            }
            sink.text(if is_update { " }" } else { "" });
            sink.times(ops.times(op));
            sink.text("\n");
            sink.pass_on(CHUNK)?;
        }
    }
    sink.text("check\n");
    Ok(())
}

fn dbcop(sink: &mut Sink<'_>, history: &Recorded) -> Result<(), WriteError> {
    let Recorded { id, ops, names, .. } = history;
    if let Some(id) = id {
        sink.text(&format!("// {}\n", id.escape_debug()));
    }
    let is_plain =
        |v: &String| !v.is_empty() && v.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let replaced: Vec<String>;
    let vars = if names.vars.iter().all(is_plain) {
        &names.vars
    } else {
        replaced = (0..names.vars.len()).map(|v| format!("v{v}")).collect();
        &replaced
    };
    for thread in 0..ops.threads() {
        if thread > 0 {
            sink.text("---\n");
        }
        for op in ops.of_thread(thread) {
            let var = &vars[ops.var(op) as usize];
            sink.text("[");
            if ops.reads(op) {
                sink.text(var);
                sink.text("==");
                match ops.from(op) {
                    None => sink.text("?"),
                    Some(_) => sink.number(read_value(op, ops, names)),
                }
            }
            if ops.writes(op) {
                sink.text(if ops.reads(op) { " " } else { "" });
                sink.text(var);
                sink.text(":=");
                sink.number(names.values[op as usize]);
            }
            sink.text("]\n");
            sink.pass_on(CHUNK)?;
        }
    }
    Ok(())
}

fn dbcop_json(sink: &mut Sink<'_>, history: &Recorded) -> Result<(), WriteError> {
    let Recorded { id, ops, names, .. } = history;
    let vars = numbers(&names.vars, "");
    sink.text("{\"info\":");
    sink.quoted(id.as_deref().unwrap_or(""));
    sink.text(",\"data\":[");
    for thread in 0..ops.threads() {
        sink.text(if thread == 0 { "[" } else { ",[" });
        let range = ops.of_thread(thread);
        for op in range.clone() {
            let var = &vars[ops.var(op) as usize];
            sink.text(if op == range.start { "{\"events\":[" } else { ",{\"events\":[" });
            if ops.reads(op) {
                sink.text(&format!("{{\"Read\":{{\"variable\":{var},\"version\":"));
                match ops.from(op) {
                    None => sink.text("null"),
                    Some(_) => sink.number(read_value(op, ops, names)),
                }
                sink.text("}}");
            }
            if ops.writes(op) {
                sink.text(if ops.reads(op) { "," } else { "" });
                sink.text(&format!("{{\"Write\":{{\"variable\":{var},\"version\":"));
                sink.number(names.values[op as usize]);
                sink.text("}}");
            }
            sink.text("],\"committed\":true}");
            sink.pass_on(CHUNK)?;
        }
        sink.text("]");
    }
    sink.text("]}\n");
    Ok(())
}

fn plume(sink: &mut Sink<'_>, history: &Recorded) -> Result<(), WriteError> {
    let Recorded { ops, names, .. } = history;
    let (threads, vars) = (numbers(&names.threads, "t"), numbers(&names.vars, ""));
    for (thread, name) in threads.iter().enumerate() {
        for op in ops.of_thread(thread) {
            let mut event = |kind: &str, value: Value| {
                sink.text(kind);
                sink.text(&vars[ops.var(op) as usize]);
                sink.text(",");
                sink.number(value);
                sink.text(&format!(",{name},{op})\n"));
            };
            if ops.reads(op) {
                event("r(", read_value(op, ops, names));
            }
            if ops.writes(op) {
                event("w(", names.values[op as usize]);
            }
            sink.pass_on(CHUNK)?;
        }
    }
    Ok(())
}

fn awdit(sink: &mut Sink<'_>, history: &Recorded) -> Result<(), WriteError> {
    let Recorded { ops, names, .. } = history;
    let vars = numbers(&names.vars, "");
    let mut is_later = false;
    for thread in (0..ops.threads()).filter(|&t| !ops.of_thread(t).is_empty()) {
        if std::mem::replace(&mut is_later, true) {
            sink.text("=====\n");
        }
        let range = ops.of_thread(thread);
        for op in range.clone() {
            let var = &vars[ops.var(op) as usize];
            sink.text(if op > range.start { "-----\n" } else { "" });
            if ops.reads(op) {
                sink.text(&format!("r {var} {}\n", read_value(op, ops, names)));
            }
            if ops.writes(op) {
                sink.text(&format!("w {var} {}\n", names.values[op as usize]));
            }
            sink.pass_on(CHUNK)?;
        }
    }
    Ok(())
}
