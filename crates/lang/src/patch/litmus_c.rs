//! Litmus tests in C: a fence before a statement. A single statement of a branch or loop gets braces.

use weakspot_core::Span;

use super::edit::{Edit, before};
use super::{Change, Site};
use crate::litmus::{Function, Stmt, StmtKind};

/// The places in these functions.
pub(super) fn sites(text: &str, functions: &[Function]) -> Vec<Site> {
    let mut finder = Finder { text, sites: Vec::new() };
    for function in functions {
        finder.statements(None, &function.body);
    }
    finder.sites
}

struct Finder<'t> {
    text: &'t str,
    sites: Vec<Site>,
}

impl Finder<'_> {
    /// Statements in braces; `last` is what comes before them, if that is anything.
    fn statements(&mut self, mut last: Option<Span>, statements: &[Stmt]) {
        for stmt in statements {
            let at = stmt.place.0;
            // Of a loop that ends in its condition, the start is not known; what is left of a macro is no place.
            let is_place = !matches!(stmt.kind, StmtKind::DoWhile(..) | StmtKind::Empty);
            if let (Some(after), true) = (last, is_place) {
                let edit = before(self.text, at.start as usize, (";", "; "));
                let change = Change::Edits(vec![edit]);
                self.sites.push(Site { after, before: Some(at), change });
            }
            self.inside(stmt);
            last = Some(at);
        }
    }

    fn inside(&mut self, stmt: &Stmt) {
        let head = stmt.place.0;
        match &stmt.kind {
            StmtKind::If(_, yes, no) => {
                self.branch(head, yes);
                self.branch(head, no.as_deref().unwrap_or_default());
            }
            StmtKind::While(_, body) | StmtKind::DoWhile(body, _) => self.branch(head, body),
            StmtKind::Block(inner) => self.statements(Some(head), inner),
            _ => {}
        }
    }

    /// What a branch or loop does, with braces or without.
    fn branch(&mut self, head: Span, statements: &[Stmt]) {
        let [stmt] = statements else { return self.statements(Some(head), statements) };
        let (start, end) = (stmt.place.0.start as usize, stmt.place.0.end as usize);
        if self.text[..start].trim_end().ends_with('{') {
            return self.statements(Some(head), statements);
        }
        let is_simple =
            matches!(stmt.kind, StmtKind::Declare(..) | StmtKind::Assign(..) | StmtKind::Do(_));
        if let (true, Some(semicolon)) = (is_simple, self.text[end..].find(';')) {
            let end = end + semicolon + 1;
            let close = Edit::replace(end, end, " }").closing(start);
            let change = Change::Edits(vec![Edit::insert(start, "{ ", "; "), close]);
            self.sites.push(Site { after: head, before: Some(stmt.place.0), change });
        }
        self.inside(stmt);
    }
}
