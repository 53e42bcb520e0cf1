//! Writing blocks.

use weakspot_core::{LogEvent, LogTables, LogValue};

use super::{BlockKind, HEADER, Header, VERSION};
use crate::source::LONGEST;

/// Events that are not yet in a block are lost when the program dies, and small blocks cost.
const EVENTS: u32 = 4096;
/// A block of names ends when it has so many bytes.
const NAMES: usize = 1 << 16;

/// Collects events to blocks.
#[derive(Default)]
pub(crate) struct Writer {
    /// How many blocks there are.
    number: u64,
    /// The events of the block that is not written yet.
    payload: Vec<u8>,
    count: u32,
    wide: bool,
    /// How many threads, locations and source positions were written.
    written: [usize; 3],
}

impl Writer {
    /// A writer that goes on behind so many blocks, with tables that were written in them.
    pub(crate) fn resume(number: u64, tables: &LogTables) -> Writer {
        let written = [tables.threads.len(), tables.locs.len(), tables.sites.len()];
        Writer { number, written, ..Writer::default() }
    }

    /// Begins a trace.
    pub(crate) fn trace(&mut self, out: &mut Vec<u8>, id: Option<&str>) -> Result<(), String> {
        let id_bytes = id.unwrap_or_default().as_bytes();
        if id_bytes.len() > LONGEST {
            return Err("the name of a trace is longer than 1 MiB".into());
        }
        self.flush(out);
        self.block(out, BlockKind::Trace, u32::from(id.is_some()), id_bytes);
        self.written = [0; 3];
        Ok(())
    }

    /// Writes the names that are new.
    pub(crate) fn tables(&mut self, out: &mut Vec<u8>, tables: &LogTables) -> Result<(), String> {
        let [threads, locs, sites] = self.written;
        self.names(out, BlockKind::Threads, tables.threads.get(threads..), |name, payload| {
            entry(payload, &[], name)
        })?;
        self.names(out, BlockKind::Locs, tables.locs.get(locs..), |loc, payload| {
            let (start, len) = loc.bytes.map_or((0, 0), |b| (b.start, b.len));
            let mut fixed = [0; 12];
            fixed[..8].copy_from_slice(&start.to_le_bytes());
            fixed[8..].copy_from_slice(&len.to_le_bytes());
            entry(payload, &fixed, &loc.name)
        })?;
        self.names(out, BlockKind::Sites, tables.sites.get(sites..), |name, payload| {
            entry(payload, &[], name)
        })?;
        self.written = [tables.threads.len(), tables.locs.len(), tables.sites.len()];
        Ok(())
    }

    fn names<T>(
        &mut self,
        out: &mut Vec<u8>,
        kind: BlockKind,
        list: Option<&[T]>,
        add: impl Fn(&T, &mut Vec<u8>) -> Result<(), String>,
    ) -> Result<(), String> {
        let (mut payload, mut count) = (Vec::new(), 0);
        let mut one = Vec::new();
        for item in list.unwrap_or_default() {
            one.clear();
            add(item, &mut one)?;
            if payload.len() + one.len() > NAMES && count > 0 {
                self.block(out, kind, count, &payload);
                payload.clear();
                count = 0;
            }
            payload.extend_from_slice(&one);
            count += 1;
        }
        if count > 0 {
            self.block(out, kind, count, &payload);
        }
        Ok(())
    }

    /// Adds an event whose names have been written.
    pub(crate) fn event(&mut self, out: &mut Vec<u8>, event: &LogEvent, value: Option<LogValue>) {
        if self.count == EVENTS || value.is_some() && !self.wide {
            self.flush(out);
            self.wide = value.is_some();
        }
        let flags = match value {
            None => 0,
            Some(LogValue { old: None, .. }) => 1,
            Some(LogValue { old: Some(_), .. }) => 3,
        };
        let mut record = [0; 32];
        record[..2].copy_from_slice(&event.thread.to_le_bytes());
        record[2] = event.kind as u8;
        record[3] = flags;
        record[4..8].copy_from_slice(&event.loc.to_le_bytes());
        record[8..12].copy_from_slice(&event.site.to_le_bytes());
        record[12..16].copy_from_slice(&event.txn.to_le_bytes());
        if let Some(LogValue { value, old }) = value {
            record[16..24].copy_from_slice(&value.to_le_bytes());
            record[24..].copy_from_slice(&old.unwrap_or(0).to_le_bytes());
        }
        self.payload.extend_from_slice(&record[..if self.wide { 32 } else { 16 }]);
        self.count += 1;
    }

    /// Writes the block of the events that were added.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        if self.count > 0 {
            let kind = if self.wide { BlockKind::ValuedEvents } else { BlockKind::Events };
            let payload = std::mem::take(&mut self.payload);
            self.block(out, kind, self.count, &payload);
            self.payload = payload;
        }
        self.payload.clear();
        self.count = 0;
        self.wide = false;
    }

    fn block(&mut self, out: &mut Vec<u8>, kind: BlockKind, count: u32, payload: &[u8]) {
        let header = Header {
            version: VERSION,
            kind: kind as u8,
            reserved: 0,
            length: payload.len() as u32,
            count,
            number: self.number,
            payload_crc: crc32fast::hash(payload),
        };
        out.reserve(HEADER + payload.len());
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(payload);
        self.number += 1;
    }
}

/// Adds an entry of a table: something fixed, the length of the name, the name.
fn entry(payload: &mut Vec<u8>, fixed: &[u8], name: &str) -> Result<(), String> {
    if name.len() > LONGEST - 16 {
        return Err(format!("a name of {} bytes, of at most {}", name.len(), LONGEST - 16));
    }
    payload.extend_from_slice(fixed);
    payload.extend_from_slice(&(name.len() as u32).to_le_bytes());
    payload.extend_from_slice(name.as_bytes());
    Ok(())
}
