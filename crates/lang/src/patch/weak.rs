//! `.weak`: a fence before a statement, or at the end of a block. Not in front of what a thread
//! starts with, where its buffer is empty, and not inside of atomic blocks.

use weakspot_core::Span;

use super::edit::{Edit, before, indent, line_end, line_start};
use super::{Change, Site};
use crate::Diagnostic;
use crate::weak::parse;
use crate::weak::syntax::{Block, ItemKind, Stmt, StmtKind};

pub(super) fn sites(text: &str) -> Result<Vec<Site>, Diagnostic> {
    let file = parse(text)?;
    let mut finder = Finder { text, sites: Vec::new() };
    for item in &file.items {
        if let ItemKind::Thread(thread) = &item.kind {
            let mut started = false;
            let mut last = thread.name.at.0;
            for stmt in &thread.body.stmts {
                if started {
                    finder.before(last, stmt);
                }
                // Registers that are declared first get their values before the thread starts.
                started |= !matches!(stmt.kind, StmtKind::Var(_));
                finder.inside(stmt);
                last = stmt.at.0;
            }
        }
    }
    Ok(finder.sites)
}

struct Finder<'t> {
    text: &'t str,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn before(&mut self, after: Span, stmt: &Stmt) {
        let edit = before(self.text, stmt.at.0.start as usize, ("", "; "));
        let change = Change::Edits(vec![edit]);
        self.sites.push(Site { after, before: Some(stmt.at.0), change });
    }

    /// The blocks of a statement.
    fn inside(&mut self, stmt: &Stmt) {
        let head = stmt.at.0;
        match &stmt.kind {
            StmtKind::If(arms, otherwise) => {
                for arm in arms {
                    self.block(arm.at.0, &arm.body);
                }
                if let Some(block) = otherwise {
                    self.block(arms.last().map_or(head, |arm| arm.at.0), block);
                }
            }
            StmtKind::While(_, block) | StmtKind::Loop(block) | StmtKind::Transaction(block) => {
                self.block(head, block);
            }
            StmtKind::Choose(all) => all.iter().for_each(|block| self.block(head, block)),
            _ => {}
        }
    }

    fn block(&mut self, head: Span, block: &Block) {
        let mut last = head;
        for stmt in &block.stmts {
            self.before(last, stmt);
            self.inside(stmt);
            last = stmt.at.0;
        }
        let edit = self.at_end(block);
        self.sites.push(Site { after: last, before: None, change: Change::Edits(vec![edit]) });
    }

    /// A fence as the last statement of a block.
    fn at_end(&self, block: &Block) -> Edit {
        let close = block.close.0.start as usize;
        if let Some(outer) = indent(self.text, close) {
            let last = block.stmts.last().map(|stmt| stmt.at.0.start as usize);
            let inner = last.and_then(|at| indent(self.text, at)).map(str::to_owned);
            let inner = inner.unwrap_or_else(|| format!("{outer}    "));
            return Edit::insert(line_start(self.text, close), &inner, line_end(self.text));
        }
        let head = self.text[..close].trim_end();
        let separator = if head.ends_with(['{', ';', ':', '}']) { " " } else { "; " };
        let space = if head.len() == close { " " } else { "" };
        Edit::insert(head.len(), separator, space)
    }
}
