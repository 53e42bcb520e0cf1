//! Trencher: a fence at a state. The state keeps what leads to it; what leaves it leaves from a
//! new state, which the fence leads to.

use std::collections::HashSet;

use super::edit::{Edit, Piece, indent, line_end};
use super::{Change, Site};
use crate::Diagnostic;
use crate::trencher::{Thread, parse};

pub(super) fn sites(text: &str) -> Result<Vec<Site>, Diagnostic> {
    let mut sites = Vec::new();
    for thread in &parse(text)?.threads {
        let mut names = state_names(thread);
        let mut seen = HashSet::new();
        for first in &thread.transitions {
            let state = first.from.text.as_str();
            if seen.insert(state) {
                let fresh = fresh(state, &names);
                sites.push(site(text, thread, state, &fresh));
                names.insert(fresh);
            }
        }
    }
    Ok(sites)
}

fn site(text: &str, thread: &Thread, state: &str, fresh: &str) -> Site {
    let leaving: Vec<_> = thread.transitions.iter().filter(|t| t.from.text == state).collect();
    let first = leaving.first().map_or(thread.name.at.0, |t| t.at.0);
    let start = first.start as usize;
    let gap = match indent(text, start) {
        Some(indent) => format!("{}{indent}", line_end(text)),
        None => " ".to_owned(),
    };
    let line = Edit {
        start,
        end: start,
        pieces: vec![
            Piece::Mark(0),
            Piece::Text(format!("transition {state} {fresh} ")),
            Piece::Word(0),
            Piece::Text(gap),
        ],
        closes: None,
    };
    let mut edits = vec![line];
    edits.extend(leaving.iter().map(|t| {
        let name = t.from.at.0;
        Edit::replace(name.start as usize, name.end as usize, fresh)
    }));
    let entering = thread.transitions.iter().find(|t| t.to.text == state);
    let after = entering.map_or(thread.initial.at.0, |t| t.at.0);
    Site { after, before: Some(first), change: Change::Edits(edits) }
}

fn state_names(thread: &Thread) -> HashSet<String> {
    let ends = thread.transitions.iter().flat_map(|t| [&t.from, &t.to]);
    let all = ends.chain([&thread.initial]).chain(&thread.goal);
    all.map(|name| name.text.clone()).collect()
}

/// A name for the state behind the fence.
fn fresh(state: &str, names: &HashSet<String>) -> String {
    let first = format!("{state}_fenced");
    let more = (2..).map(|n| format!("{state}_fenced{n}"));
    let mut all = std::iter::once(first.clone()).chain(more);
    all.find(|name| !names.contains(name)).unwrap_or(first)
}
