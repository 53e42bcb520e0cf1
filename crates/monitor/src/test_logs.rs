//! Short logs for tests.

use weakspot_core::testing::Rng;
use weakspot_core::{Bytes, LogEvent, LogKind, LogLoc, LogTables};

const LOCS: &str = "xyzvwu";
const KINDS: &str = "rwulmfs><be";

/// Four threads, and the locations `x`, `y`, `z`, and `v` with its halves `w` and `u`.
pub(crate) fn tables() -> LogTables {
    let bytes = |name| match name {
        'v' => Some(Bytes { start: 8, len: 8 }),
        'w' => Some(Bytes { start: 8, len: 4 }),
        'u' => Some(Bytes { start: 12, len: 4 }),
        _ => None,
    };
    LogTables {
        threads: (0..4).map(|t| format!("P{t}")).collect(),
        locs: LOCS.chars().map(|c| LogLoc { name: c.to_string(), bytes: bytes(c) }).collect(),
        sites: Vec::new(),
    }
}

/// Events from a text like `0wx 1ry 0f 0>1`: the thread, the kind (`r`ead, `w`rite, `u`pdate,
/// `l`ock, unlock `m`, `f`ence, `s`tore-store fence, `>` start, `<` join, `b`egin, `e`nd), and the
/// location or other thread.
pub(crate) fn log(text: &str) -> Vec<LogEvent> {
    let event = |word: &str| {
        let letters: Vec<char> = word.chars().collect();
        let thread = letters[0].to_digit(10).expect("a thread") as u16;
        let at = KINDS.find(letters[1]).expect("a kind");
        let loc = letters.get(2).map_or(0, |&c| match c.to_digit(10) {
            Some(thread) => thread,
            None => LOCS.find(c).expect("a location") as u32,
        });
        LogEvent::new(thread, LogKind::ALL[at], loc)
    };
    text.split_whitespace().map(event).collect()
}

/// A random log of three threads; `halves` says whether it has locations that overlap.
pub(crate) fn random_log(rng: &mut Rng, length: usize, halves: bool) -> Vec<LogEvent> {
    let locs = if halves { 6 } else { 2 + rng.below(2) };
    let event = |_| {
        let thread = rng.below(3) as u16;
        let kind = match rng.below(40) {
            0..16 => LogKind::Read,
            16..31 => LogKind::Write,
            31 | 32 => LogKind::Update,
            33 => LogKind::Acquire,
            34 => LogKind::Fence,
            35 | 36 => LogKind::StoreFence,
            37 => LogKind::Begin,
            38 => LogKind::Spawn,
            _ => LogKind::Join,
        };
        let loc = match kind {
            LogKind::Spawn | LogKind::Join => rng.below(3),
            kind if kind.is_access() => rng.below(locs),
            _ => 0,
        };
        LogEvent::new(thread, kind, loc as u32)
    };
    (0..length).map(event).collect()
}
