//! What schedules depend on besides the program: which bytes were known to be shared when they were
//! made, because steps are counted there only. It is kept in the user's cache, in one file for each
//! program, so that a schedule can be executed again later. Without it, it has to be found out again,
//! and what is found out may be something else.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use weakspot_build::runtime;

use super::Subject;

fn file(subject: &Subject) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (&subject.command, &subject.folder, std::env::current_dir().ok()).hash(&mut hasher);
    runtime::cache().join("schedules").join(format!("{:016x}", hasher.finish()))
}

/// Keeps what was known when each of the schedules was made.
pub(super) fn keep<'a>(subject: &Subject, schedules: impl Iterator<Item = (&'a str, String)>) {
    let lines: Vec<String> =
        schedules.map(|(schedule, known)| format!("{schedule} {}\n", known.trim())).collect();
    let file = file(subject);
    if lines.is_empty() {
        return;
    }
    // A schedule can be executed without it, most of the time.
    if let Some(folder) = file.parent() {
        let _ = fs::create_dir_all(folder);
    }
    let _ = fs::write(file, lines.concat());
}

/// The bytes that were known to be shared when a schedule was made.
pub(super) fn find(subject: &Subject, schedule: &str) -> Option<Vec<(u64, u64)>> {
    let text = fs::read_to_string(file(subject)).ok()?;
    let known = text.lines().find_map(|line| line.strip_prefix(schedule)?.strip_prefix(' '))?;
    let pieces = known.strip_prefix("shared=")?.split(',');
    let hex = |s: &str| u64::from_str_radix(s.strip_prefix("0x")?, 16).ok();
    pieces.map(|piece| piece.split_once('+').and_then(|(a, l)| Some((hex(a)?, hex(l)?)))).collect()
}
