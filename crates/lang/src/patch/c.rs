//! C: a fence before a statement, or at the end of a block. A single statement gets braces.

use std::collections::BTreeSet;

use weakspot_core::Span;

use super::edit::{Edit, before, indent, line_end, line_start};
use super::{Change, Site};
use crate::Diagnostic;
use crate::c::ast::{Block, Stmt, StmtKind};
use crate::c::{Setting, parse};

pub(super) fn sites(text: &str, setting: &Setting) -> Result<Vec<Site>, Diagnostic> {
    let unit = parse(text, setting)?;
    let mut finder = Finder { text, seen: BTreeSet::new(), sites: Vec::new() };
    for function in &unit.functions {
        let first = function.body.stmts.first().map_or(Span::default(), |s| s.at);
        finder.block(first, &function.body);
    }
    finder.sites.sort_by_key(|(at, _)| *at);
    Ok(finder.sites.into_iter().map(|(_, site)| site).collect())
}

struct Finder<'t> {
    text: &'t str,
    /// Macros bring several statements to one place; the first is the one that is written there.
    seen: BTreeSet<(usize, bool)>,
    sites: Vec<(usize, Site)>,
}

impl Finder<'_> {
    fn block(&mut self, head: Span, block: &Block) {
        let mut last = head;
        for stmt in &block.stmts {
            // No statement may stand between a label and a declaration, or before a case.
            let is_label = matches!(stmt.kind, StmtKind::Case(_) | StmtKind::Label(_));
            // A `;` alone is often what is left of a macro; the next place is as good.
            let is_empty = matches!(stmt.kind, StmtKind::Empty);
            if !stmt.expanded && !is_label && !is_empty {
                self.before(last, stmt);
            }
            self.inside(stmt);
            last = stmt.at;
        }
        let Some(close) = block.close else { return };
        let close = close.start as usize;
        let leaves = |stmt: &Stmt| {
            matches!(
                stmt.kind,
                StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_)
            )
        };
        if block.stmts.last().is_some_and(leaves) {
            return;
        }
        let edit = self.at_end(close, block);
        self.push(
            close,
            true,
            Site { after: last, before: None, change: Change::Edits(vec![edit]) },
        );
    }

    fn before(&mut self, after: Span, stmt: &Stmt) {
        let at = stmt.at.start as usize;
        let edit = before(self.text, at, (";", "; "));
        let change = Change::Edits(vec![edit]);
        self.push(at, false, Site { after, before: Some(stmt.at), change });
    }

    /// The statements of a statement.
    fn inside(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::If(_, yes, no) => {
                self.branch(stmt.at, yes);
                if let Some(no) = no {
                    self.branch(stmt.at, no);
                }
            }
            StmtKind::While(_, body) | StmtKind::DoWhile(body, _) | StmtKind::For { body, .. } => {
                self.branch(stmt.at, body);
            }
            StmtKind::Switch(_, body) => {
                if let StmtKind::Block(block) = &body.kind {
                    self.block(stmt.at, block);
                }
            }
            StmtKind::Block(block) => self.block(stmt.at, block),
            _ => {}
        }
    }

    /// A single statement, which gets braces.
    fn branch(&mut self, head: Span, stmt: &Stmt) {
        if let StmtKind::Block(block) = &stmt.kind {
            return self.block(head, block);
        }
        if !stmt.expanded {
            let (start, end) = (stmt.at.start as usize, stmt.at.end as usize);
            let close = |edit: Edit| edit.closing(start);
            let first = vec![Edit::insert(start, "{ ", "; "), close(Edit::replace(end, end, " }"))];
            let site = Site { after: head, before: Some(stmt.at), change: Change::Edits(first) };
            self.push(start, false, site);
            let last =
                vec![Edit::replace(start, start, "{ "), close(Edit::insert(end, " ", "; }"))];
            let site = Site { after: stmt.at, before: None, change: Change::Edits(last) };
            self.push(end, true, site);
        }
        self.inside(stmt);
    }

    /// A fence as the last statement of a block.
    fn at_end(&self, close: usize, block: &Block) -> Edit {
        if let Some(outer) = indent(self.text, close) {
            let last = block.stmts.last().map(|stmt| stmt.at.start as usize);
            let inner = last.and_then(|at| indent(self.text, at)).map(str::to_owned);
            let inner = inner.unwrap_or_else(|| format!("{outer}    "));
            let end = format!(";{}", line_end(self.text));
            return Edit::insert(line_start(self.text, close), &inner, &end);
        }
        let head = self.text[..close].trim_end();
        let space = if head.len() == close { " " } else { "" };
        Edit::insert(head.len(), " ", &format!(";{space}"))
    }

    fn push(&mut self, at: usize, end: bool, site: Site) {
        if self.seen.insert((at, end)) {
            self.sites.push((at, site));
        }
    }
}
