//! Our own text, one event per line, for people to read and write: `t1: rd x = 5 @ main.c:12`.
//! `docs/reference/logs.md` has the grammar.

use std::borrow::Cow;
use std::io::Write;

use weakspot_core::{Bytes, LogBatch, LogEvent, LogKind, LogLoc, LogTables, LogValue};

use crate::event::{self, Operand};
use crate::lines::{Fault, Line};
use crate::names::{Names, name_of};

/// Reads one line.
pub(crate) fn parse(line: &str, names: &mut Names, batch: &mut LogBatch) -> Result<Line, Fault> {
    let mut cursor = Cursor { line, at: 0 };
    if cursor.at_end() {
        return Ok(Line::Empty);
    }
    if cursor.peek_word() == "trace" {
        cursor.at += "trace".len();
        let id = if cursor.at_end() { None } else { Some(cursor.name("")?.into_owned()) };
        cursor.expect_end("the end of the line")?;
        return Ok(Line::Trace(id));
    }
    let start = cursor.at;
    let thread = cursor.thread()?;
    let thread = names.thread(&thread).map_err(|m| Fault::new(start, m))?;
    if cursor.at_end() {
        return Err(Fault::new(cursor.at, "expected an event, such as `rd x`"));
    }
    let start = cursor.at;
    let word = cursor.peek_word();
    let kind = event::kind_of(word).map_err(|m| Fault::new(start, m))?;
    cursor.at += word.len();
    let mut event = LogEvent::new(thread, kind, 0);
    match event::operand(kind) {
        Operand::None => {}
        Operand::Thread => {
            let start = cursor.operand(kind, "a thread")?;
            let other = cursor.name("")?;
            event.loc = names.thread(&other).map_err(|m| Fault::new(start, m))?.into();
        }
        Operand::Loc => event.loc = cursor.loc(kind, names)?,
    }
    let value = if event::has_value(kind) { cursor.values(kind)? } else { None };
    event.valued = value.is_some();
    loop {
        cursor.skip_blanks();
        let start = cursor.at;
        match cursor.rest().as_bytes().first() {
            Some(b'@') if event.site == 0 => {
                cursor.at += 1;
                if cursor.at_end() {
                    return Err(Fault::new(cursor.at, "expected a source position behind `@`"));
                }
                let site = cursor.name("")?;
                event.site = names.site(&site).map_err(|m| Fault::new(start, m))?;
            }
            Some(b'#') if event.txn == 0 => {
                cursor.at += 1;
                let word = cursor.peek_word();
                let number = word.parse().ok().filter(|_| word.as_bytes()[0].is_ascii_digit());
                event.txn = number.and_then(|n: u32| n.checked_add(1)).ok_or_else(|| {
                    let most = u32::MAX - 1;
                    Fault::new(start, format!("expected a transaction from #0 to #{most}"))
                })?;
                cursor.at += word.len();
            }
            _ => break,
        }
    }
    cursor.expect_end(match kind {
        LogKind::Update if value.is_none() => "values such as `0 -> 1`, `@ position`, `#number`",
        _ if value.is_none() && event::has_value(kind) => {
            "a value such as `= 1`, `@ position`, `#number`"
        }
        _ => "`@ position`, `#number`",
    })?;
    batch.events.push(event);
    batch.values.extend(value);
    Ok(Line::Event)
}

/// A place in a line.
struct Cursor<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.line.len() - self.rest().trim_ascii_start().len();
    }

    /// Whether nothing but a comment follows.
    fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty() || self.rest().starts_with("//")
    }

    fn expect_end(&mut self, expected: &str) -> Result<(), Fault> {
        if self.at_end() {
            return Ok(());
        }
        let message = format!("expected {expected} or a comment, found `{}`", self.peek_word());
        Err(Fault::new(self.at, message))
    }

    /// What comes before the next blank.
    fn peek_word(&self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len())]
    }

    /// A name in quotes, or up to the next blank or one of the characters in `stops`.
    fn name(&mut self, stops: &str) -> Result<Cow<'a, str>, Fault> {
        if self.rest().starts_with('"') {
            return self.quoted().map(Cow::Owned);
        }
        let word = self.peek_word();
        let word = &word[..word.find(|c| stops.contains(c)).unwrap_or(word.len())];
        self.at += word.len();
        Ok(Cow::Borrowed(word))
    }

    fn quoted(&mut self) -> Result<String, Fault> {
        let bytes = self.rest().as_bytes();
        let mut end = 1;
        while end < bytes.len() && bytes[end] != b'"' {
            end += 1 + usize::from(bytes[end] == b'\\');
        }
        let text = self.rest().get(..=end);
        let name = text.and_then(|t| serde_json::from_str(t).ok()).ok_or_else(|| {
            Fault::new(self.at, "expected a name in quotes, as JSON writes strings")
        })?;
        self.at += end + 1;
        Ok(name)
    }

    /// A name and the colon behind it. Colons within a name are part of it.
    fn thread(&mut self) -> Result<Cow<'a, str>, Fault> {
        let start = self.at;
        let expected = "expected a thread and a colon, such as `t0: rd x`";
        if self.rest().starts_with('"') {
            let name = self.quoted()?;
            if !self.rest().starts_with(':') {
                return Err(Fault::new(self.at, "expected a colon behind the thread"));
            }
            self.at += 1;
            return Ok(Cow::Owned(name));
        }
        let word = self.peek_word();
        let name = word.strip_suffix(':').filter(|name| !name.is_empty());
        let glued = word.contains(':') && !word.starts_with(':');
        let expected = match glued {
            true => "expected a blank behind the thread and its colon, as in `t0: rd x`",
            false => expected,
        };
        let name = name.ok_or_else(|| Fault::new(start, expected))?;
        self.at += word.len();
        Ok(Cow::Borrowed(name))
    }

    /// Where the operand begins, which has to be there.
    fn operand(&mut self, kind: LogKind, what: &str) -> Result<usize, Fault> {
        if self.at_end() || self.rest().starts_with(['@', '#']) {
            let message = format!("expected {what} behind `{}`", kind.word());
            return Err(Fault::new(self.at, message));
        }
        Ok(self.at)
    }

    /// `x`, `0x1000/4`, `x@0x1000/4`; the name may be in quotes.
    fn loc(&mut self, kind: LogKind, names: &mut Names) -> Result<u32, Fault> {
        let start = self.operand(kind, "a location")?;
        let is_quoted = self.rest().starts_with('"');
        let name = self.name("@=")?;
        let fault = |m| Fault::new(start, m);
        if !is_quoted && name.is_empty() {
            return Err(fault("expected a location".into()));
        }
        if !is_quoted && hex(&name).is_some() && name.contains('/') {
            let bytes = bytes_of(&name).map_err(fault)?;
            return names.nameless(bytes).map_err(fault);
        }
        let bytes = if self.rest().starts_with('@') {
            self.at += 1;
            let at = self.at;
            Some(bytes_of(&self.name("=")?).map_err(|m| Fault::new(at, m))?)
        } else {
            None
        };
        names.loc(&name, bytes).map_err(fault)
    }

    /// `= 1` or `1`, and for updates `0 -> 1`.
    fn values(&mut self, kind: LogKind) -> Result<Option<LogValue>, Fault> {
        self.skip_blanks();
        let assigned = self.rest().starts_with('=');
        self.at += usize::from(assigned);
        let Some(first) = self.number()? else {
            let message = "expected a number behind `=`";
            return if assigned { Err(Fault::new(self.at, message)) } else { Ok(None) };
        };
        self.skip_blanks();
        if assigned || kind != LogKind::Update || !self.rest().starts_with("->") {
            return Ok(Some(LogValue { value: first, old: None }));
        }
        self.at += "->".len();
        let value = self.number()?;
        let value = value.ok_or_else(|| Fault::new(self.at, "expected a number behind `->`"))?;
        Ok(Some(LogValue { value, old: Some(first) }))
    }

    /// A number of 64 bits, if one follows: decimal, with or without a sign, or hexadecimal.
    fn number(&mut self) -> Result<Option<i64>, Fault> {
        self.skip_blanks();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with(['-', '+']));
        if !rest.as_bytes().get(sign).is_some_and(u8::is_ascii_digit) {
            return Ok(None);
        }
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.';
        let end = sign + rest[sign..].find(is_end).unwrap_or(rest.len() - sign);
        let text = &rest[..end];
        let unsigned = |number: Result<u64, _>| number.ok().map(u64::cast_signed);
        let number = match hex(text) {
            Some(hex) => unsigned(u64::from_str_radix(hex, 16)),
            None => text.parse().ok().or_else(|| unsigned(text.parse())),
        };
        let message = || format!("expected a number of 64 bits, found `{text}`");
        let number = number.ok_or_else(|| Fault::new(self.at, message()))?;
        self.at += end;
        Ok(Some(number))
    }
}

/// The digits behind `0x`.
fn hex(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
}

/// `0x1000/4`: four bytes from this address on.
fn bytes_of(text: &str) -> Result<Bytes, String> {
    let parts = hex(text).and_then(|t| t.split_once('/'));
    let bytes = parts.and_then(|(start, len)| {
        let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric());
        let start = u64::from_str_radix(start, 16).ok().filter(|_| digits(start))?;
        let len = len.parse().ok().filter(|_| digits(len))?;
        Some(Bytes { start, len })
    });
    // The last byte has to have an address, too.
    let bytes = bytes.filter(|b| b.len > 0 && b.start.checked_add(u64::from(b.len) - 1).is_some());
    bytes.ok_or_else(|| format!("expected an address and a size, such as 0x1000/4, found `{text}`"))
}

/// Writes the line that begins a trace.
pub(crate) fn write_trace(out: &mut Vec<u8>, id: Option<&str>) {
    out.extend_from_slice(b"trace");
    if let Some(id) = id {
        out.push(b' ');
        write_name(out, id);
    }
    out.push(b'\n');
}

/// Writes the line of an event.
pub(crate) fn write(
    out: &mut Vec<u8>,
    event: &LogEvent,
    value: Option<LogValue>,
    tables: &LogTables,
) {
    write_name(out, &tables.threads[usize::from(event.thread)]);
    out.extend_from_slice(b": ");
    out.extend_from_slice(event.kind.word().as_bytes());
    match event::operand(event.kind) {
        Operand::None => {}
        Operand::Loc => {
            out.push(b' ');
            write_loc(out, &tables.locs[event.loc as usize]);
        }
        Operand::Thread => {
            out.push(b' ');
            write_name(out, &tables.threads[event.loc as usize]);
        }
    }
    if let Some(LogValue { value, old }) = value {
        // Writing to a vector does not fail.
        let _ = match old {
            Some(old) => write!(out, " {old} -> {value}"),
            None => write!(out, " = {value}"),
        };
    }
    if event.site > 0 {
        out.extend_from_slice(b" @ ");
        write_name(out, &tables.sites[event.site as usize - 1]);
    }
    if event.txn > 0 {
        let _ = write!(out, " #{}", event.txn - 1);
    }
    out.push(b'\n');
}

fn write_loc(out: &mut Vec<u8>, loc: &LogLoc) {
    let LogLoc { name, bytes } = loc;
    match bytes {
        Some(bytes) if *name == name_of(*bytes) => out.extend_from_slice(name.as_bytes()),
        _ if hex(name).is_some() && name.contains('/') => write_quoted(out, name),
        _ => write_name(out, name),
    }
    if let Some(bytes) = bytes.filter(|&b| *name != name_of(b)) {
        out.push(b'@');
        out.extend_from_slice(name_of(bytes).as_bytes());
    }
}

/// Writes a name, in quotes if the line could be read differently without them.
fn write_name(out: &mut Vec<u8>, name: &str) {
    let strange = |c: char| c.is_whitespace() || c.is_control() || "\"\\@#=".contains(c);
    if name.is_empty() || name.starts_with("//") || name.contains(strange) {
        write_quoted(out, name);
    } else {
        out.extend_from_slice(name.as_bytes());
    }
}

fn write_quoted(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(serde_json::Value::from(name).to_string().as_bytes());
}
