//! Data races as they are shown.

use std::collections::HashMap;

use weakspot_live::wire::CALLS;

use crate::answer::ShownFailure;
use crate::facts::symbols::Symbols;

/// Data races once for each pair of lines, whatever the compiler made of these, and none that are the library's own.
pub(crate) fn once_per_lines(failures: Vec<ShownFailure>, symbols: &Symbols) -> Vec<ShownFailure> {
    let mut known: HashMap<[String; 2], usize> = HashMap::new();
    let mut kept: Vec<ShownFailure> = Vec::new();
    for failure in failures {
        if let Some(lines) = racing_lines(&failure) {
            if is_of_shared_pointers(&failure, symbols) {
                continue;
            }
            if let Some(&first) = known.get(&lines) {
                // Often the same executions show both.
                let seen = &mut kept[first].failure.seen.executions;
                *seen = (*seen).max(failure.failure.seen.executions);
                continue;
            }
            known.insert(lines, kept.len());
        }
        kept.push(failure);
    }
    kept
}

/// Whether an access is one that `std::atomic<std::shared_ptr>` makes while it has its lock. libstdc++ frees that with relaxed order after it
/// has only read, so that by the letter whoever comes next races with it; no program can do anything about it.
fn is_of_shared_pointers(failure: &ShownFailure, symbols: &Symbols) -> bool {
    let is_locked =
        |name: &str| name.contains("std::_Sp_atomic<") && !name.contains("::_Sp_atomic(");
    let other = failure.failure.related.iter().find(|related| related.what != CALLS);
    let places = failure.failure.place.into_iter().chain(other.map(|related| related.place));
    // Not the frames that are shown: these are the user's own.
    places
        .flat_map(|place| symbols.frames(place))
        .any(|frame| frame.function.as_deref().is_some_and(is_locked))
}

/// Whether two failures are data races of the same pair of lines.
pub(crate) fn are_alike(a: &ShownFailure, b: &ShownFailure) -> bool {
    racing_lines(a).is_some_and(|lines| racing_lines(b) == Some(lines))
}

fn racing_lines(failure: &ShownFailure) -> Option<[String; 2]> {
    // Where threads slept comes behind it.
    let other = failure.related.first()?;
    // Where the program's own code was inlined matters. The standard library of Rust is inlined
    // everywhere, and which of its lines it is says little.
    let own = |frames: &[String]| {
        let own = |frame: &&String| !frame.starts_with("library/") && !frame.contains("/rustc/");
        let lines: Vec<&str> = frames.iter().filter(own).map(|f| line(f)).collect();
        if lines.is_empty() { frames.join(" ") } else { lines.join(" ") }
    };
    let mut lines = [own(&failure.frames), own(&other.at)];
    lines.sort();
    (failure.failure.kind == "data-race").then_some(lines)
}

/// A frame without the function that it is in.
fn line(frame: &str) -> &str {
    frame.split_once(" in ").map_or(frame, |(line, _)| line)
}
