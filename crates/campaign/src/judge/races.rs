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

#[cfg(test)]
mod tests {
    use weakspot_live::wire::{Place, Related};

    use super::*;
    use crate::answer::ShownRelated;
    use crate::explore::findings::{Failure, Seen};

    /// What else goes wrong on the same lines is not taken for the same thing.
    #[test]
    fn only_races_are_one_for_their_lines() {
        let place = |offset| Place { module: None, offset };
        let shown = |kind: &str, at: u64, lines: [&str; 2]| ShownFailure {
            failure: Failure {
                kind: kind.to_owned(),
                thread: None,
                place: Some(place(at)),
                text: String::new(),
                related: vec![Related { what: String::new(), thread: None, place: place(at + 1) }],
                seen: Seen { executions: at, first: 1, schedule: String::new(), known: 0 },
            },
            shared: Vec::new(),
            text: String::new(),
            thread: None,
            frames: vec![lines[0].to_owned()],
            related: vec![ShownRelated {
                what: String::new(),
                thread: None,
                at: vec![lines[1].to_owned()],
                wait: None,
            }],
            late: Vec::new(),
            threads: Vec::new(),
            steps: Vec::new(),
            alone: 0,
        };
        let symbols = Symbols::with_names(Default::default());
        for (kind, expected) in [("data-race", 2), ("use-after-free", 4)] {
            let all = [(2, ["a.c:1", "a.c:2"]), (3, ["a.c:2", "a.c:1"]), (9, ["a.c:1", "a.c:3"])];
            let all = all.into_iter().chain([(7, ["a.c:1 in f", "a.c:2 in g"])]);
            let all: Vec<ShownFailure> = all.map(|(at, lines)| shown(kind, at, lines)).collect();
            let kept = once_per_lines(all, &symbols);
            assert_eq!(kept.len(), expected, "{kind}");
            // Those that are left out were seen as often as the most frequent of them.
            let most = if kind == "data-race" { 7 } else { 2 };
            assert_eq!(kept[0].failure.seen.executions, most);
        }
    }
}
