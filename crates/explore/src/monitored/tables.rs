//! Which places of a program overlap, as monitors want to hear it: as ranges of bytes.

use std::collections::BTreeMap;

use weakspot_core::{Bytes, LocId, LogLoc, LogTables, Program};

/// The locations and wide places of `program`; nothing if none overlap. The cells of a wide place
/// follow one another, so that each counts as one byte behind the one before it.
pub(super) fn of(program: &Program) -> LogTables {
    let mut tables = LogTables::default();
    if program.wides.is_empty() {
        return tables;
    }
    let pairs = program.wides.iter().flat_map(|wide| wide.cells.windows(2));
    let next: BTreeMap<LocId, LocId> = pairs.map(|pair| (pair[0].loc, pair[1].loc)).collect();
    let mut byte: BTreeMap<LocId, u64> = BTreeMap::new();
    let mut free = 0;
    let firsts = (0..program.locs.len()).map(LocId::new);
    for first in firsts.filter(|loc| next.values().all(|follower| follower != loc)) {
        let mut at = Some(first);
        while let Some(cell) = at.filter(|cell| !byte.contains_key(cell)) {
            byte.insert(cell, free);
            free += 1;
            at = next.get(&cell).copied();
        }
        // What does not belong together does not touch.
        free += 1;
    }
    for loc in (0..program.locs.len() + program.wides.len()).map(LocId::new) {
        let mut cells = program.cells(loc);
        let start = cells.next().and_then(|cell| byte.get(&cell)).copied();
        let len = 1 + cells.count() as u32;
        let bytes = start.map(|start| Bytes { start, len });
        tables.locs.push(LogLoc { name: String::new(), bytes });
    }
    tables
}
