//! Memorax: a fence before a statement, before or behind its label, or at the end of a list of
//! statements in a branch or loop. A branch that is a single statement gets braces. Not inside of
//! `locked` blocks.
//!
//! With macros, one text stands for several statements, and where a statement ends is not known
//! for sure: then fences only come before statements.

use std::collections::BTreeSet;

use weakspot_core::Span;

use super::edit::{Edit, before};
use super::{Change, Site};
use crate::Diagnostic;
use crate::memorax::{Stmt, StmtKind, WriteKind, parse};

pub(super) fn sites(text: &str) -> Result<Vec<Site>, Diagnostic> {
    let file = parse(text)?;
    let macros = text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "macro");
    let mut finder = Finder { text, macros, seen: BTreeSet::new(), sites: Vec::new() };
    for process in &file.processes {
        finder.list(process.at.0, &process.text, List::Process);
    }
    finder.sites.sort_by_key(|(at, _)| *at);
    Ok(finder.sites.into_iter().map(|(_, site)| site).collect())
}

/// Whose statements a list has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// Nothing comes before the first or after the last that a fence could keep in order.
    Process,
    Block,
    /// One of several; see [`may_turn_back`].
    Alternative,
}

/// A statement that finds in memory that it cannot happen now has not happened, so that another
/// alternative may be taken instead. A fence in front of it would settle on this one.
fn may_turn_back(kind: &StmtKind) -> bool {
    !matches!(
        kind,
        StmtKind::Write { kind: WriteKind::Plain, .. }
            | StmtKind::Nop
            | StmtKind::Assign { .. }
            | StmtKind::Assume(_)
            | StmtKind::Fence(_)
            | StmtKind::Goto(_)
    )
}

struct Finder<'t> {
    text: &'t str,
    macros: bool,
    /// Where there is a fence already.
    seen: BTreeSet<(usize, bool)>,
    sites: Vec<(usize, Site)>,
}

impl Finder<'_> {
    /// Statements one after another.
    fn list(&mut self, head: Span, list: &[Stmt], kind: List) {
        let mut last = head;
        let top = kind == List::Process;
        for (i, stmt) in list.iter().enumerate() {
            let first = i == 0 && (top || kind == List::Alternative && may_turn_back(&stmt.kind));
            if let Some(label) = &stmt.label {
                if !first {
                    self.before(last, label.at.0.start as usize, stmt);
                }
                last = label.at.0;
            }
            if !first || top && stmt.label.is_some() {
                self.before(last, stmt.at.0.start as usize, stmt);
            }
            self.inside(stmt);
            last = stmt.at.0;
        }
        if let (Some(stmt), false, false) = (list.last(), top, self.macros) {
            let at = stmt.at.0.end as usize;
            let edit = Edit::insert(at, "; ", "").closing(stmt.at.0.start as usize);
            self.push(
                at,
                true,
                Site { after: last, before: None, change: Change::Edits(vec![edit]) },
            );
        }
    }

    fn before(&mut self, after: Span, at: usize, stmt: &Stmt) {
        let edit = before(self.text, at, (";", "; "));
        let change = Change::Edits(vec![edit]);
        self.push(at, false, Site { after, before: Some(stmt.at.0), change });
    }

    /// The statements of a statement.
    fn inside(&mut self, stmt: &Stmt) {
        let head = stmt.at.0;
        match &stmt.kind {
            StmtKind::If { then, otherwise, .. } => {
                self.branch(head, then);
                if let Some(otherwise) = otherwise {
                    self.branch(head, otherwise);
                }
            }
            StmtKind::While { body, .. } => self.branch(head, body),
            StmtKind::Either(branches) => {
                branches.iter().for_each(|list| self.list(head, list, List::Alternative));
            }
            StmtKind::Block(list) => self.list(head, list, List::Block),
            _ => {}
        }
    }

    /// A single statement, which gets braces.
    fn branch(&mut self, head: Span, stmt: &Stmt) {
        let braced = matches!(stmt.kind, StmtKind::Block(_)) && stmt.label.is_none();
        if !braced && !self.macros {
            let (start, end) = (stmt.at.0.start as usize, stmt.at.0.end as usize);
            let close = |edit: Edit| edit.closing(start);
            if let Some(label) = &stmt.label {
                let at = label.at.0.start as usize;
                let edits =
                    vec![Edit::insert(at, "{ ", "; "), close(Edit::replace(end, end, " }"))];
                let change = Change::Edits(edits);
                self.push(at, false, Site { after: head, before: Some(stmt.at.0), change });
            }
            let after = stmt.label.as_ref().map_or(head, |label| label.at.0);
            let first = vec![Edit::insert(start, "{ ", "; "), close(Edit::replace(end, end, " }"))];
            let change = Change::Edits(first);
            self.push(start, false, Site { after, before: Some(stmt.at.0), change });
            let last =
                vec![Edit::replace(start, start, "{ "), close(Edit::insert(end, "; ", " }"))];
            let change = Change::Edits(last);
            self.push(end, true, Site { after: stmt.at.0, before: None, change });
        }
        self.inside(stmt);
    }

    fn push(&mut self, at: usize, end: bool, site: Site) {
        if self.seen.insert((at, end)) {
            self.sites.push((at, site));
        }
    }
}
