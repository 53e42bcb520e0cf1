//! Reading blocks. A block counts when both of its checksums are right. If one is wrong, what is
//! left of the file is searched for the header of another block: if there is one, the file is
//! damaged, which is an error; if not, its tail is torn, and what came before it is good.
//!
//! Cost: one pass for the checksum and one that copies and checks the events at the same time.

use weakspot_core::{Bytes, LogBatch, LogEvent, LogKind, LogLoc, LogTables, LogValue};

use super::{BlockKind, HEADER, Header, MAGIC, NARROW, VERSION, WIDE, u32_at, u64_at};
use crate::decoded::{Decoded, Places, Run};
use crate::error::{LogError, LogPlace, Torn};
use crate::event;
use crate::names::Names;
use crate::source::{LONGEST, Source};

/// Reads block by block.
pub(crate) struct Blocks {
    /// How many blocks were good.
    number: u64,
    /// Where the last good one ends.
    good: u64,
    /// Whether a block was bad and the rest is searched for others.
    searching: bool,
    torn: Option<Torn>,
}

impl Blocks {
    pub(crate) fn new() -> Blocks {
        Blocks { number: 0, good: 0, searching: false, torn: None }
    }

    /// What is lost at the end.
    pub(crate) fn torn(&self) -> Option<Torn> {
        self.torn
    }

    /// How many blocks are good, and where the last of them ends.
    pub(crate) fn good(&self) -> (u64, u64) {
        (self.number, self.good)
    }

    /// Reads one block.
    pub(crate) fn step(
        &mut self,
        source: &mut Source,
        names: &mut Names,
        batch: &mut LogBatch,
        places: &mut Places,
    ) -> Result<Decoded, LogError> {
        if self.searching {
            return self.search(source);
        }
        let (data, ended) = (source.data(), source.ended);
        if data.is_empty() {
            return Ok(if ended { Decoded::End } else { Decoded::More });
        }
        let is_log = MAGIC.starts_with(&data[..data.len().min(MAGIC.len())]);
        if self.number == 0 && !is_log {
            let message = "no .wslog file: it does not begin with the bytes 89 57 53 4c";
            return Err(self.error(message));
        }
        if data.len() < HEADER {
            return Ok(if ended { self.tear(source) } else { Decoded::More });
        }
        let Some(header) = Header::decode(data) else {
            self.searching = true;
            source.consume(1);
            return Ok(Decoded::Done);
        };
        let (kind, length) = self.check(&header)?;
        let end = HEADER + length;
        if data.len() < end {
            return Ok(if ended { self.tear(source) } else { Decoded::More });
        }
        let payload = &data[HEADER..end];
        if crc32fast::hash(payload) != header.payload_crc {
            self.searching = true;
            source.consume(end);
            return Ok(Decoded::Done);
        }
        let block = Block { payload, count: header.count as usize, offset: source.offset() };
        let step = match kind {
            BlockKind::Trace => {
                places.trace = Some(LogPlace::Offset(block.offset));
                Decoded::Trace(block.trace()?)
            }
            BlockKind::Threads => {
                block.names(|name| names.add_thread(name)).map(|()| Decoded::Done)?
            }
            BlockKind::Sites => block.names(|name| names.add_site(name)).map(|()| Decoded::Done)?,
            BlockKind::Locs => block.locs(names).map(|()| Decoded::Done)?,
            BlockKind::Events | BlockKind::ValuedEvents => {
                let size = if kind == BlockKind::Events { NARROW } else { WIDE };
                let offset = block.offset + HEADER as u64;
                places.runs.push(Run { first: batch.events.len(), offset, size: size as u64 });
                if kind == BlockKind::Events {
                    block.events(&names.tables, batch)?;
                } else {
                    block.valued_events(&names.tables, batch)?;
                }
                Decoded::Done
            }
        };
        source.consume(end);
        self.number += 1;
        self.good = source.offset();
        Ok(step)
    }

    /// The kind and the length of the payload, if the header makes sense. Its checksum is right,
    /// so whoever wrote it did not mean what we read.
    fn check(&self, header: &Header) -> Result<(BlockKind, usize), LogError> {
        if header.version != VERSION {
            let version = header.version;
            return Err(self.error(format!(
                "version {version} of the format; this program reads version {VERSION}"
            )));
        }
        if header.number != self.number {
            let (found, expected) = (header.number, self.number);
            return Err(self.error(format!("block {found} where block {expected} has to be")));
        }
        let Some(kind) = BlockKind::from_byte(header.kind) else {
            return Err(self.error(format!("a block of the unknown kind {}", header.kind)));
        };
        if header.reserved != 0 {
            return Err(self.error("bytes 6 and 7 of the block are not 0"));
        }
        let (length, count) = (header.length as usize, header.count as usize);
        if length > LONGEST {
            return Err(self.error(format!("a block of {length} bytes, of at most {LONGEST}")));
        }
        let fits = match kind {
            BlockKind::Trace => count == 1 || count == 0 && length == 0,
            BlockKind::Threads | BlockKind::Sites => count <= length / 4,
            BlockKind::Locs => count <= length / 16,
            BlockKind::Events => length == NARROW * count,
            BlockKind::ValuedEvents => length == WIDE * count,
        };
        if !fits {
            return Err(self.error(format!("{count} entries in a block of {length} bytes")));
        }
        Ok((kind, length))
    }

    /// Looks for a header behind a bad block.
    fn search(&mut self, source: &mut Source) -> Result<Decoded, LogError> {
        let data = source.data();
        let is_header = |at: usize| Header::decode(&data[at..]).is_some();
        let starts = (data.len() + 1).saturating_sub(HEADER);
        if (0..starts).any(|at| data[at] == MAGIC[0] && is_header(at)) {
            return Err(self.error("the block is damaged: its checksum is wrong"));
        }
        source.consume(starts);
        Ok(if source.ended { self.tear(source) } else { Decoded::More })
    }

    fn tear(&mut self, source: &Source) -> Decoded {
        self.torn = Some(Torn { offset: self.good, lost: source.position() - self.good });
        Decoded::End
    }

    /// An error about the block that comes after the good ones.
    fn error(&self, message: impl Into<String>) -> LogError {
        LogError::new(LogPlace::Offset(self.good), message)
    }
}

/// The payload of a block whose checksums are right.
struct Block<'a> {
    payload: &'a [u8],
    count: usize,
    /// Where the header begins.
    offset: u64,
}

impl<'a> Block<'a> {
    fn error(&self, at: usize, message: impl Into<String>) -> LogError {
        LogError::new(LogPlace::Offset(self.offset + (HEADER + at) as u64), message)
    }

    fn text(&self, at: usize, bytes: &[u8]) -> Result<String, LogError> {
        let text = std::str::from_utf8(bytes);
        text.map(str::to_owned).map_err(|_| self.error(at, "a name that is not UTF-8 text"))
    }

    fn trace(&self) -> Result<Option<String>, LogError> {
        let id = (self.count == 1).then_some(self.payload);
        id.map(|id| self.text(0, id)).transpose()
    }

    /// The bytes from `at` on, so many.
    fn bytes(&self, at: usize, length: usize) -> Result<&'a [u8], LogError> {
        let bytes = at.checked_add(length).and_then(|end| self.payload.get(at..end));
        bytes.ok_or_else(|| self.error(at, "an entry that ends behind its block"))
    }

    fn names(&self, mut add: impl FnMut(String) -> Result<(), String>) -> Result<(), LogError> {
        let mut at = 0;
        for _ in 0..self.count {
            let length = u32_at(self.bytes(at, 4)?, 0) as usize;
            let name = self.text(at + 4, self.bytes(at + 4, length)?)?;
            add(name).map_err(|m| self.error(at, m))?;
            at += 4 + length;
        }
        self.finish(at)
    }

    fn locs(&self, names: &mut Names) -> Result<(), LogError> {
        let mut at = 0;
        for _ in 0..self.count {
            let fixed = self.bytes(at, 16)?;
            let (start, len) = (u64_at(fixed, 0), u32_at(fixed, 8));
            let length = u32_at(fixed, 12) as usize;
            let name = self.text(at + 16, self.bytes(at + 16, length)?)?;
            if len == 0 && start != 0 {
                return Err(self.error(at, "a location with an address and no bytes"));
            }
            let bytes = (len > 0).then_some(Bytes { start, len });
            names.add_loc(LogLoc { name, bytes }).map_err(|m| self.error(at, m))?;
            at += 16 + length;
        }
        self.finish(at)
    }

    fn finish(&self, at: usize) -> Result<(), LogError> {
        if at == self.payload.len() {
            return Ok(());
        }
        Err(self.error(at, "bytes behind the last entry of a block"))
    }

    fn events(&self, tables: &LogTables, batch: &mut LogBatch) -> Result<(), LogError> {
        let limits = Limits::new(tables);
        let mut left = 0;
        let before = batch.events.len();
        let (records, _) = self.payload.as_chunks::<NARROW>();
        batch.events.extend(records.iter().map(|record| {
            left |= limits.left(record);
            event(record)
        }));
        if left >= 0 {
            return Ok(());
        }
        // One of them is bad; those before it still count.
        for (i, record) in records.iter().enumerate() {
            let said = match record[3] {
                0 => check(record, None, tables),
                flags => Err(format!("values (flags {flags}) in a block without values")),
            };
            if let Err(message) = said {
                batch.events.truncate(before + i);
                return Err(self.error(i * NARROW, message));
            }
        }
        Err(self.error(0, "a bad event"))
    }

    fn valued_events(&self, tables: &LogTables, batch: &mut LogBatch) -> Result<(), LogError> {
        let (halves, _) = self.payload.as_chunks::<NARROW>();
        for (i, [record, values]) in halves.as_chunks::<2>().0.iter().enumerate() {
            let (value, old) = (u64_at(values, 0).cast_signed(), u64_at(values, 8).cast_signed());
            let value = match (record[3], value, old) {
                (0, 0, 0) => None,
                (1, _, 0) => Some(LogValue { value, old: None }),
                (3, _, _) => Some(LogValue { value, old: Some(old) }),
                (flags, ..) => {
                    let message = format!("flags {flags} that do not fit the values");
                    return Err(self.error(i * WIDE, message));
                }
            };
            check(record, value, tables).map_err(|m| self.error(i * WIDE, m))?;
            batch.events.push(LogEvent { valued: value.is_some(), ..event(record) });
            batch.values.extend(value);
        }
        Ok(())
    }
}

/// What is wrong with a record, in words.
fn check(record: &[u8; NARROW], value: Option<LogValue>, tables: &LogTables) -> Result<(), String> {
    if usize::from(record[2]) >= LogKind::ALL.len() {
        return Err(format!("an event of the unknown kind {}", record[2]));
    }
    let event = LogEvent { valued: value.is_some(), ..event(record) };
    event::check(&event, value, tables)
}

/// The largest numbers that an event may have. Those of the location are by kind, of all that a
/// byte can say, and -1 for kinds that do not exist, so that there is nothing to branch on.
struct Limits {
    locs: [i64; 256],
    thread: i64,
    site: i64,
}

impl Limits {
    fn new(tables: &LogTables) -> Limits {
        let mut limits = Limits {
            locs: [-1; 256],
            thread: tables.threads.len() as i64 - 1,
            site: tables.sites.len() as i64,
        };
        for (limit, kind) in limits.locs.iter_mut().zip(LogKind::ALL) {
            *limit = i64::from(event::loc_limit(kind, tables)) - 1;
        }
        limits
    }

    /// How much is left to the limits: negative if the event is beyond one of them, or has flags.
    #[inline]
    fn left(&self, record: &[u8; NARROW]) -> i64 {
        let bits = u128::from_le_bytes(*record);
        let number = |shift: u32, mask: u32| i64::from((bits >> shift) as u32 & mask);
        (self.thread - number(0, 0xffff))
            | (self.locs[usize::from((bits >> 16) as u8)] - number(32, u32::MAX))
            | (self.site - number(64, u32::MAX))
            | -number(24, 0xff)
    }
}

/// The event in a record, without its value; its numbers may be out of range.
#[inline]
fn event(record: &[u8; NARROW]) -> LogEvent {
    let bits = u128::from_le_bytes(*record);
    let number = |shift: u32| (bits >> shift) as u32;
    let (thread, kind) = (bits as u16, kind(number(16) as u8));
    LogEvent { thread, kind, valued: false, loc: number(32), site: number(64), txn: number(96) }
}

/// The kind of this number. Since the kinds have the same numbers in memory, this costs no table.
#[inline]
fn kind(number: u8) -> LogKind {
    match number {
        0 => LogKind::Read,
        1 => LogKind::Write,
        2 => LogKind::Update,
        3 => LogKind::Acquire,
        4 => LogKind::Release,
        5 => LogKind::Fence,
        6 => LogKind::StoreFence,
        7 => LogKind::Spawn,
        8 => LogKind::Join,
        9 => LogKind::Begin,
        10 => LogKind::End,
        // Numbers above are refused before anybody sees the event.
        _ => LogKind::Commit,
    }
}
