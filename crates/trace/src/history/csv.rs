//! Logs of hardware: one access per line, in columns between commas, tabs, semicolons or blanks. A
//! first line, or `--columns`, says what the columns are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use weakspot_core::{OpKind, Times};

use super::build::Builder;
use super::decoder::{Decoded, Decoder};
use super::scan::{Cursor, Place, Scan, Stop, fault, hex};

/// What the columns of a log are, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    columns: Vec<Column>,
}

/// What a column is; numbers may be hexadecimal without saying so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column {
    what: What,
    is_hex: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A column that is ignored.
    Skipped,
    /// When it happened, or began, or ended: nobody says which.
    Cycle,
    /// When it began.
    Start,
    /// When it ended.
    End,
    /// The core that did the operation.
    Core,
    /// The kind of operation.
    Op,
    /// The address, or the name of a variable.
    Addr,
    /// The value that was read or written.
    Data,
    /// What an update read.
    Old,
    /// How many bytes.
    Size,
}

const EXPECTED: &str =
    "expected columns of start, end, cycle, core, op, addr, data, old, size and - (not used)";

const OPERATIONS: &str =
    "R, read, load or ld, W, write, store or st, rmw, amo, swap or cas, or fence";

impl Column {
    fn of_name(name: &str) -> Option<Column> {
        let name = name.trim().to_ascii_lowercase();
        let (name, is_hex) = match name.strip_suffix(":hex") {
            Some(name) => (name, true),
            None => (&name[..], false),
        };
        // Units may stand behind a name, as in `Time (ns)`.
        let name = name.split(['(', '[']).next().unwrap_or_default().trim_end();
        let what = match name {
            "-" | "_" => What::Skipped,
            "cycle" | "time" | "timestamp" | "clock" | "tick" => What::Cycle,
            "start" | "begin" | "invoke" | "issue" => What::Start,
            "end" | "finish" | "response" | "complete" => What::End,
            "core" | "thread" | "hart" | "cpu" | "tid" | "proc" | "agent" => What::Core,
            "op" | "kind" | "type" | "cmd" | "command" | "operation" => What::Op,
            "addr" | "address" | "var" | "variable" | "location" => What::Addr,
            "data" | "value" | "val" => What::Data,
            "old" => What::Old,
            "size" | "bytes" | "width" => What::Size,
            _ => return None,
        };
        Some(Column { what, is_hex })
    }
}

impl Columns {
    /// Reads names between commas, such as `cycle,core,op,addr,data,size`.
    ///
    /// # Errors
    /// When a name is not known or comes twice, or a log with these columns would not say enough.
    pub fn parse(text: &str) -> Result<Columns, String> {
        let names: Vec<(usize, &str)> = text.split(',').map(|name| (0, name.trim())).collect();
        let unknown = || unknown(&names).map_or(EXPECTED.to_owned(), |(_, message)| message);
        Columns::of_names(text.split(','))?.ok_or_else(unknown)
    }

    /// The columns of these names; `None` if they are not all names.
    fn of_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<Option<Columns>, String> {
        let Some(columns) = names.map(Column::of_name).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let count = |what: What| columns.iter().filter(|column| column.what == what).count();
        for (what, name) in [
            (What::Core, "core"),
            (What::Op, "op"),
            (What::Addr, "addr"),
            (What::Data, "data"),
            (What::Cycle, "cycle"),
            (What::Start, "start"),
            (What::End, "end"),
            (What::Old, "old"),
            (What::Size, "size"),
        ] {
            let is_needed = matches!(what, What::Core | What::Op | What::Addr | What::Data);
            match count(what) {
                0 if is_needed => return Err(format!("no column is the {name}; {EXPECTED}")),
                0 | 1 => {}
                _ => return Err(format!("two columns are the {name}")),
            }
        }
        Ok(Some(Columns { columns }))
    }

    fn find(&self, what: What) -> Option<usize> {
        self.columns.iter().position(|column| column.what == what)
    }

    /// Whether these are names of the columns in words of their own: no operation, and not a digit.
    fn is_named_by(&self, fields: &[(usize, &str)]) -> bool {
        let op = self.find(What::Op).and_then(|at| fields.get(at));
        let has_digit = |(_, field): &(usize, &str)| field.contains(|c: char| c.is_ascii_digit());
        op.is_some_and(|(_, op)| kind(op).is_none()) && !fields.iter().any(has_digit)
    }

    /// Whether a line looks like one that names columns.
    pub(crate) fn is_header(line: &[u8]) -> bool {
        let Ok(line) = std::str::from_utf8(comment(line)) else { return false };
        let fields = Separator::of(line).split(line).into_iter().map(|(_, field)| field);
        matches!(Columns::of_names(fields), Ok(Some(_)))
    }
}

/// Where the first name is that no column has, and what to say about all of these.
fn unknown(names: &[(usize, &str)]) -> Option<(usize, String)> {
    let unknown = || names.iter().filter(|(_, name)| Column::of_name(name).is_none());
    let quoted: Vec<String> = unknown().map(|(_, name)| format!("`{name}`")).collect();
    let (at, _) = unknown().next()?;
    let are = if quoted.len() == 1 { "is no name of a column" } else { "are no names of columns" };
    Some((*at, format!("{} {are}; {EXPECTED}", quoted.join(", "))))
}

/// What stands behind `#`.
fn comment(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"#").unwrap_or(line)
}

/// What stands between fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Byte(char),
    Blanks,
}

impl Separator {
    /// The one that a line has.
    fn of(line: &str) -> Separator {
        let found = [',', '\t', ';'].into_iter().find(|&byte| line.contains(byte));
        found.map_or(Separator::Blanks, Separator::Byte)
    }

    /// The fields, each with where it begins, without quotes and blanks around them.
    fn split(self, line: &str) -> Vec<(usize, &str)> {
        let mut fields = Vec::new();
        let mut at = 0;
        let mut push = |part: &str, end: usize| {
            let field = &line[at..end];
            let inner = field.trim_start();
            let start = at + field.len() - inner.len();
            let inner = inner.trim_end();
            let is_quoted = inner.len() > 1 && inner.starts_with('"') && inner.ends_with('"');
            let plain = if is_quoted { &inner[1..inner.len() - 1] } else { inner };
            if !(self == Separator::Blanks && inner.is_empty()) {
                fields.push((start + usize::from(is_quoted), plain));
            }
            at = end + part.len();
        };
        for (end, part) in line.match_indices(|c: char| match self {
            Separator::Byte(byte) => c == byte,
            Separator::Blanks => c.is_ascii_whitespace(),
        }) {
            push(part, end);
        }
        push("", line.len());
        fields
    }
}

/// Reads line by line.
#[derive(Default)]
pub(crate) struct Csv {
    /// What was said about the columns before the first line.
    said: Option<Columns>,
    /// What the columns are, once that is known, and what is between them.
    columns: Option<(Arc<Columns>, Separator)>,
    has_cycles: bool,
    /// Addresses with the sizes of the accesses to them, of a log that is followed.
    sizes: BTreeMap<u64, u64>,
    /// The operations of a log with sizes: into which parts bytes fall is known when all are.
    kept: Vec<Access>,
    /// The same of variables that have names.
    named_sizes: FxHashMap<String, u64>,
}

/// An operation.
#[derive(Debug)]
struct Access {
    place: Place,
    thread: u32,
    kind: OpKind,
    to: To,
    /// What an update read, and the value that was read or written.
    old: i64,
    value: i64,
    times: Times,
}

/// What is accessed.
#[derive(Clone, Copy, Debug)]
enum To {
    /// By a fence.
    Nothing,
    Var(u32),
    /// At an address so many, at least one.
    Bytes(u64, u64),
}

impl Access {
    /// Tells the builder of it; how many operations it became. Bytes are cut at these addresses, and
    /// accessed one part after the other.
    fn push(&self, cuts: &BTreeSet<u64>, builder: &mut Builder) -> Result<usize, String> {
        let Access { place, thread, kind, to, old, value, times } = *self;
        let (address, size) = match to {
            To::Bytes(address, size) => (address, size),
            To::Nothing | To::Var(_) => {
                let var = if let To::Var(var) = to { var } else { 0 };
                match kind {
                    OpKind::Update => builder.push_update(place, thread, var, old, value)?,
                    kind => builder.push(place, thread, kind, var, value)?,
                }
                builder.set_last_times(times);
                return Ok(1);
            }
        };
        let starts: Vec<u64> = cuts.range(address..=address + (size - 1)).copied().collect();
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).map_or(size, |next| next - address);
            let part = |value| bytes(value, start - address, end);
            let var = builder.var(format!("{start:#x}").as_bytes())?;
            match kind {
                OpKind::Update => {
                    builder.push_update(place, thread, var, part(old), part(value))?;
                }
                kind => builder.push(place, thread, kind, var, part(value))?,
            }
            // It begins with the first part, and ends with the last.
            builder.set_last_times(Times {
                start: if i == 0 { times.start } else { i64::MIN },
                end: if i + 1 == starts.len() { times.end } else { i64::MAX },
            });
        }
        Ok(starts.len())
    }
}

/// The bytes of a value from one place to another: the lowest come first. Those behind the eighth are 0.
fn bytes(value: i64, from: u64, to: u64) -> i64 {
    match (from, to - from) {
        (8.., _) => 0,
        (_, 8..) => value,
        (from, length) => ((value as u64 >> (8 * from)) & ((1 << (8 * length)) - 1)) as i64,
    }
}

impl Csv {
    /// Tells the builder of the operations that were kept.
    fn pass_on(&mut self, builder: &mut Builder) -> Result<(), String> {
        let kept = std::mem::take(&mut self.kept);
        let mut cuts = BTreeSet::new();
        for access in &kept {
            if let To::Bytes(address, size) = access.to {
                cuts.extend([address, address.wrapping_add(size)]);
            }
        }
        let mut cut = 0;
        for access in &kept {
            cut += usize::from(access.push(&cuts, builder)? > 1);
        }
        if cut > 0 {
            let accesses = if cut == 1 { "1 access".into() } else { format!("{cut} accesses") };
            builder.unchecked.push(format!("atomicity of {accesses} that others overlap in part"));
            builder.notes.push(format!(
                "{accesses} that others overlap in part: the parts are looked at one after the other"
            ));
        }
        Ok(())
    }

    pub(crate) fn with_columns(columns: Option<Columns>) -> Csv {
        Csv { said: columns, ..Csv::default() }
    }

    fn end(&mut self, builder: &mut Builder) -> Result<(), String> {
        self.pass_on(builder)?;
        if self.has_cycles {
            builder.unchecked.push("real-time order".into());
            builder
                .notes
                .push("the cycles are not used: the order of each core's own lines counts".into());
        }
        *self = Csv::with_columns(self.said.take());
        Ok(())
    }

    /// The columns, which the first line may name; `None` if the line was that.
    fn columns(&mut self, line: &str, start: usize) -> Scan<Option<(Arc<Columns>, Separator)>> {
        if let Some(known) = &self.columns {
            return Ok(Some(known.clone()));
        }
        let separator = Separator::of(line);
        let names = separator.split(line).into_iter().map(|(_, field)| field);
        let header = Columns::of_names(names).or_else(|m| fault(start, m))?;
        let is_header = header.is_some();
        let Some(columns) = self.said.clone().or(header) else {
            let fields = separator.split(line);
            let is_number =
                |(_, field): &(usize, &str)| field.starts_with(|c: char| c.is_ascii_digit());
            let is_known = |(_, field): &(usize, &str)| Column::of_name(field).is_some();
            let names = fields.iter().any(is_known) && !fields.iter().any(is_number);
            if let Some((at, message)) = unknown(&fields).filter(|_| names) {
                return fault(start + at, message);
            }
            return fault(
                start,
                "expected a first line that names the columns, such as `cycle,core,op,addr,data`, \
                 or --columns",
            );
        };
        let is_header = is_header || columns.is_named_by(&separator.split(line));
        self.columns = Some((Arc::new(columns), separator));
        Ok(if is_header { None } else { self.columns.clone() })
    }
}

impl Decoder for Csv {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        if cursor.solid()?.is_none() {
            self.end(builder).or_else(|m| fault(cursor.at, m))?;
            return Ok(Decoded::End);
        }
        let start = cursor.at;
        let line = cursor.word(|b| b != b'\n')?;
        let Ok(line) = std::str::from_utf8(line) else {
            return fault(start, "bytes that are not UTF-8 text");
        };
        if let Some(rest) = line.strip_prefix('#') {
            let names = self.columns.is_none() && Columns::is_header(rest.as_bytes());
            if names {
                self.columns(rest, start)?;
            }
            return Ok(Decoded::Item);
        }
        let Some((columns, separator)) = self.columns(line, start)? else {
            return Ok(Decoded::Item);
        };
        let fields = separator.split(line);
        let row = Row { columns: &columns, fields, start, end: start + line.trim_end().len() };
        self.has_cycles |= columns.find(What::Cycle).is_some();
        self.row(&row, cursor, builder)?;
        Ok(Decoded::Item)
    }
}

impl Csv {
    fn row(&mut self, row: &Row<'_>, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<()> {
        let (columns, fields) = (row.columns.columns.len(), row.fields.len());
        let (op_at, op) = row.need(What::Op, "an operation")?;
        let Some(kind) = kind(op) else {
            return fault(op_at, format!("expected {OPERATIONS}, found `{op}`"));
        };
        if fields > columns || fields < columns && kind != OpKind::Fence {
            return fault(
                row.start,
                format!(
                    "expected {columns} columns, found {fields}; a column of the name - is not used"
                ),
            );
        }
        let (core_at, core) = row.need(What::Core, "a core")?;
        let name = row.core(core);
        let place = cursor.place(row.start);
        let thread = builder.thread(name.as_bytes()).or_else(|m| fault(core_at, m))?;
        let keeps = row.columns.find(What::Size).is_some() && !builder.is_followed();
        let (mut to, mut old, mut value) = (To::Nothing, 0, 0);
        if kind != OpKind::Fence {
            let (addr_at, addr) = row.need(What::Addr, "an address")?;
            let address = row.address(addr_at, addr)?;
            let size = self.size(row, &address, keeps)?;
            to = match (size, hex(address.as_bytes())) {
                (Some(size), Some(address)) if keeps => To::Bytes(address, size),
                _ => To::Var(builder.var(address.as_bytes()).or_else(|m| fault(addr_at, m))?),
            };
            (old, value) = match kind {
                OpKind::Update => row.update(size)?,
                _ => (0, row.value(What::Data, size)?),
            };
        }
        let times = row.times(thread, builder)?;
        let access = Access { place, thread, kind, to, old, value, times };
        if keeps {
            self.kept.push(access);
        } else {
            access.push(&BTreeSet::new(), builder).or_else(|m| fault(row.start, m))?;
        }
        Ok(())
    }

    /// How many bytes an access has. In a log that is followed, those that overlap have to be of the same bytes.
    fn size(&mut self, row: &Row<'_>, name: &str, keeps: bool) -> Scan<Option<u64>> {
        if row.columns.find(What::Size).is_none() {
            return Ok(None);
        }
        let (at, text) = row.need(What::Size, "a size")?;
        let size = row.number(What::Size, at, text)?;
        let Some(size) = u64::try_from(size).ok().filter(|size| (1..=64).contains(size)) else {
            return fault(at, format!("expected a size from 1 to 64 bytes, found `{text}`"));
        };
        let Some(address) = hex(name.as_bytes()) else {
            let known = *self.named_sizes.entry(name.to_owned()).or_insert(size);
            if known != size {
                return overlap(
                    row,
                    &format!("{size} bytes of {name} overlap {known} bytes of it"),
                );
            }
            return Ok(Some(size));
        };
        let Some(last) = address.checked_add(size - 1) else {
            return fault(at, format!("{size} bytes at {address:#x} do not end within 64 bits"));
        };
        if keeps || self.sizes.get(&address) == Some(&size) {
            return Ok(Some(size));
        }
        let before = self.sizes.range(..=last).next_back();
        if let Some((&other, &length)) = before.filter(|(other, n)| **other + (**n - 1) >= address)
        {
            return overlap(
                row,
                &format!("{size} bytes at {address:#x} overlap {length} bytes at {other:#x}"),
            );
        }
        self.sizes.insert(address, size);
        Ok(Some(size))
    }
}

fn overlap<T>(row: &Row<'_>, what: &str) -> Scan<T> {
    fault(
        row.start,
        format!(
            "{what} in part: accesses of different sizes are compared at addresses only, and not while a log is followed"
        ),
    )
}

/// One line.
struct Row<'a> {
    columns: &'a Columns,
    fields: Vec<(usize, &'a str)>,
    start: usize,
    end: usize,
}

impl<'a> Row<'a> {
    /// Where a field is, and what stands in it.
    fn field(&self, what: What) -> Option<(usize, &'a str)> {
        let (at, field) = *self.fields.get(self.columns.find(what)?)?;
        (!field.is_empty()).then_some((self.start + at, field))
    }

    fn need(&self, what: What, name: &str) -> Scan<(usize, &'a str)> {
        self.field(what).map_or_else(|| fault(self.end, format!("a line without {name}")), Ok)
    }

    /// When the operation began and ended; a field without anything is a time that is not known.
    fn times(&self, thread: u32, builder: &mut Builder) -> Scan<Times> {
        let (start, end) = (self.field(What::Start), self.field(What::End));
        let Some((first, _)) = start.or(end) else { return Ok(Times::UNKNOWN) };
        let mut times = Times::UNKNOWN;
        if let Some((at, text)) = start {
            times.start = self.number(What::Start, at, text)?;
        }
        if let Some((at, text)) = end {
            times.end = self.number(What::End, at, text)?;
        }
        builder.check_times(thread, times).or_else(|m| fault(first, m))?;
        Ok(times)
    }

    fn is_hex(&self, what: What) -> bool {
        self.columns.find(what).is_some_and(|column| self.columns.columns[column].is_hex)
    }

    /// The name of an address. A decimal number is the same address as the hexadecimal one.
    fn address(&self, at: usize, text: &str) -> Scan<String> {
        if self.is_hex(What::Addr) && !text.starts_with("0x") {
            return Ok(format!("0x{text}"));
        }
        if !text.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(text.to_owned());
        }
        match text.parse::<u64>() {
            Ok(address) if text.len() == 1 || !text.starts_with('0') => Ok(format!("{address:#x}")),
            _ => fault(
                at,
                format!(
                    "expected a decimal address, or a hexadecimal one behind 0x or in a column \
                     that is called `addr:hex`, found `{text}`"
                ),
            ),
        }
    }

    /// The name of a core: numbers are the same however they are written.
    fn core(&self, text: &str) -> String {
        let number = match self.is_hex(What::Core) {
            true => u64::from_str_radix(text, 16).ok(),
            false if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
            false => None,
        };
        let number = number.or_else(|| hex(text.as_bytes()));
        number.map_or_else(|| text.to_owned(), |number| format!("core{number}"))
    }

    fn value(&self, what: What, size: Option<u64>) -> Scan<i64> {
        let (at, text) = self.need(what, "a value")?;
        self.sized(what, at, text, size)
    }

    /// A value of so many bytes: with its sign or without, it is the same.
    fn sized(&self, what: What, at: usize, text: &str, size: Option<u64>) -> Scan<i64> {
        let value = self.number(what, at, text)?;
        if size.is_some_and(|size| size > 8) && text.starts_with('-') {
            return fault(at, "negative values of more than 8 bytes are not compared yet");
        }
        let Some(size) = size.filter(|size| *size < 8) else { return Ok(value) };
        let bits = 8 * size;
        if !(-(1 << (bits - 1))..1 << bits).contains(&value) {
            return fault(at, format!("`{text}` does not fit into {bits} bits"));
        }
        Ok(value & ((1 << bits) - 1))
    }

    fn number(&self, what: What, at: usize, text: &str) -> Scan<i64> {
        let prefixed = match self.is_hex(what) && !text.starts_with("0x") {
            true => format!("0x{text}"),
            false => text.to_owned(),
        };
        let mut cursor = Cursor::new(prefixed.as_bytes(), true, super::scan::Place::FIRST);
        match cursor.integer("a number") {
            Ok(value) if cursor.at == prefixed.len() => Ok(value),
            Err(Stop::More) => Err(Stop::More),
            _ if is_whole(&prefixed) => fault(
                at,
                format!(
                    "expected a number, found `{text}`, which does not fit into 64 bits with a \
                     sign: {} to {}, or up to 16 hexadecimal digits, which are the bits",
                    i64::MIN,
                    i64::MAX
                ),
            ),
            _ => {
                let expected = "a number: decimal, or hexadecimal behind 0x, or in a column that is \
                                called `data:hex` and so on";
                fault(at, format!("expected {expected}, found `{text}`"))
            }
        }
    }

    /// What an update read and wrote: in the columns `old` and `data`, or `0->1` in `data`.
    fn update(&self, size: Option<u64>) -> Scan<(i64, i64)> {
        if self.field(What::Old).is_some() {
            return Ok((self.value(What::Old, size)?, self.value(What::Data, size)?));
        }
        let (at, text) = self.need(What::Data, "a value")?;
        let Some((old, new)) = text.split_once("->") else {
            return fault(
                at,
                "an update reads one value and writes another: expected both, as in `0->1`, or a \
                 column `old`",
            );
        };
        let new_at = at + old.len() + 2;
        let value = |at, text: &str| self.sized(What::Data, at, text.trim(), size);
        Ok((value(at, old)?, value(new_at, new)?))
    }
}

/// Whether a text has the form of a number, perhaps of one that is too large.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let all = |digits: &str, base| !digits.is_empty() && digits.chars().all(|c| c.is_digit(base));
    all(digits, 10) || digits.strip_prefix("0x").is_some_and(|digits| all(digits, 16))
}

fn kind(word: &str) -> Option<OpKind> {
    match &word.to_ascii_lowercase()[..] {
        "r" | "rd" | "read" | "l" | "ld" | "load" => Some(OpKind::Read),
        "w" | "wr" | "write" | "s" | "st" | "store" => Some(OpKind::Write),
        "u" | "rmw" | "amo" | "swap" | "cas" | "xchg" | "atomic" | "update" => Some(OpKind::Update),
        "f" | "fence" | "mfence" | "mb" | "membar" | "sync" | "dmb" | "barrier" => {
            Some(OpKind::Fence)
        }
        _ => None,
    }
}
