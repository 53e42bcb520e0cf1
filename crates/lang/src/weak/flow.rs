//! Statements that are never reached.

use super::lower::blocks;
use super::syntax::*;
use crate::Diagnostic;

/// Warns about each first statement that nothing leads to.
pub(super) fn unreachable(body: &Block, warnings: &mut Vec<Diagnostic>) {
    continues(body, warnings);
}

/// The end of a block can be reached, as far as the text shows.
fn continues(block: &Block, warnings: &mut Vec<Diagnostic>) -> bool {
    let mut reached = true;
    let mut warned = false;
    for stmt in &block.stmts {
        if let StmtKind::Label(_) = stmt.kind {
            reached = true;
            continue;
        }
        if !reached && !warned && !matches!(stmt.kind, StmtKind::Var(_)) {
            let expected = "nothing leads here";
            warnings.push(Diagnostic::new(stmt.at.0, "this statement is never reached", expected));
            warned = true;
        }
        let mut inner: Vec<bool> = blocks(stmt).map(|b| continues(b, warnings)).collect();
        reached &= match &stmt.kind {
            StmtKind::Break | StmtKind::Continue | StmtKind::Stop | StmtKind::Goto(_) => false,
            StmtKind::Loop(body) => breaks(body),
            StmtKind::While(cond, body) => cond.kind != ExprKind::Bool(true) || breaks(body),
            StmtKind::If(_, otherwise) => {
                inner.push(otherwise.is_none());
                inner.contains(&true)
            }
            StmtKind::Choose(_) | StmtKind::Atomic(_) | StmtKind::Transaction(_) => {
                inner.contains(&true)
            }
            _ => true,
        };
    }
    reached
}

/// A block contains a `break` that belongs to the loop around it.
fn breaks(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::Loop(_) | StmtKind::While(..) => false,
        _ => blocks(stmt).any(breaks),
    })
}
