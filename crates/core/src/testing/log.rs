//! Random logs for tests.

use super::Rng;
use crate::{Bytes, LogEvent, LogKind, LogLoc, LogTables};

/// How large random logs are, and what is in them.
#[derive(Clone, Copy, Debug)]
pub struct LogSize {
    /// So many threads, at least 2.
    pub threads: usize,
    /// So many locations, at least 1.
    pub locs: usize,
    /// So many source positions; with 0, events have none.
    pub sites: usize,
    /// So many events.
    pub events: usize,
    /// Whether some locations are bytes, which may overlap.
    pub bytes: bool,
    /// Whether events may belong to transactions.
    pub txns: bool,
}

/// A random log with all kinds of events but commits, which no SC execution has. Reads and writes
/// are most of it. All entries of the tables are different.
pub fn random_log(rng: &mut Rng, size: LogSize) -> (LogTables, Vec<LogEvent>) {
    let mut tables = LogTables {
        threads: (0..size.threads).map(|t| format!("t{t}")).collect(),
        locs: Vec::new(),
        sites: (0..size.sites).map(|s| format!("main.c:{}", 10 + s)).collect(),
    };
    for l in 0..size.locs {
        // Sizes from 1 to 8 at addresses this close overlap often.
        let start = 0x1000 + rng.below(4 * size.locs) as u64;
        let bytes = Bytes { start, len: 1 << rng.below(4) };
        let name = match rng.below(2) {
            0 => format!("x{l}"),
            _ => format!("{:#x}/{}", bytes.start, bytes.len),
        };
        let loc = LogLoc { name, bytes: Some(bytes) };
        let is_new = size.bytes && !rng.one_in(3) && !tables.locs.contains(&loc);
        let plain = LogLoc { name: format!("x{l}"), bytes: None };
        tables.locs.push(if is_new { loc } else { plain });
    }
    let events = (0..size.events)
        .map(|_| {
            let thread = rng.below(size.threads) as u16;
            let kind = match rng.below(20) {
                0..7 => LogKind::Read,
                7..14 => LogKind::Write,
                _ => LogKind::ALL[2 + rng.below(9)],
            };
            let loc = match kind {
                LogKind::Spawn | LogKind::Join => {
                    (usize::from(thread) + 1 + rng.below(size.threads - 1)) % size.threads
                }
                _ if kind.is_access() => rng.below(size.locs),
                _ => 0,
            };
            let site = if size.sites > 0 { rng.below(size.sites + 1) } else { 0 };
            let txn = if size.txns { rng.below(4) } else { 0 };
            let (site, txn) = (site as u32, txn as u32);
            LogEvent { site, txn, ..LogEvent::new(thread, kind, loc as u32) }
        })
        .collect();
    (tables, events)
}
