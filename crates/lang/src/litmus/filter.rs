//! `filter`: which final states count. Each part of the conjunction is about the registers of one
//! thread, so that the thread can wait at its end for what does not come: a run that the filter
//! discards never ends.

use weakspot_core::{BinOp, Edge, Expr, Instr, Point, PointId, Span, Thread, UnOp, View};

use super::ast::{Atom, Frame, Prop, Term};
use super::fold::not;
use super::layout::pattern;
use super::observe::Threads;
use crate::Diagnostic;

/// Makes `threads` wait at their ends for what the filter demands of them.
pub(super) fn filter<T: Threads>(
    frame: &Frame,
    table: &T,
    threads: &mut [Thread],
) -> Result<(), Diagnostic> {
    let mut parts = Vec::new();
    if let Some(prop) = &frame.filter {
        conjuncts(prop, &mut parts);
    }
    for part in parts {
        let mut owner = None;
        let expr = lower(part, table, &mut owner)?;
        // A part without registers holds, or does not, for all runs.
        let (index, span) = owner.unwrap_or_default();
        if let Some(thread) = threads.get_mut(index) {
            wait_at_end(thread, &expr, span);
        }
    }
    Ok(())
}

fn conjuncts<'a>(prop: &'a Prop, parts: &mut Vec<&'a Prop>) {
    match prop {
        Prop::Paren(inner) => conjuncts(inner, parts),
        Prop::And(all) => all.iter().for_each(|p| conjuncts(p, parts)),
        other => parts.push(other),
    }
}

/// The proposition over the registers of one thread, `owner`.
fn lower<T: Threads>(
    prop: &Prop,
    table: &T,
    owner: &mut Option<(usize, Span)>,
) -> Result<Expr, Diagnostic> {
    let mut many = |parts: &[Prop], op, unit| {
        parts.iter().try_fold(Expr::Const(unit), |sum, p| {
            Ok(Expr::binary(op, sum, lower(p, table, owner)?))
        })
    };
    match prop {
        Prop::True => Ok(Expr::Const(1)),
        Prop::False => Ok(Expr::Const(0)),
        Prop::Paren(p) => lower(p, table, owner),
        Prop::Not(p) => Ok(not(lower(p, table, owner)?)),
        Prop::And(parts) => many(parts, BinOp::And, 1),
        Prop::Or(parts) => many(parts, BinOp::Or, 0),
        Prop::Implies(l, r, _) => {
            let left = not(lower(l, table, owner)?);
            Ok(Expr::binary(BinOp::Or, left, lower(r, table, owner)?))
        }
        Prop::Atom(Atom { left, right, negated }) => {
            let (l, view) = side(left, View::Full, table, owner)?;
            let (r, _) = side(right, view, table, owner)?;
            let equal = Expr::binary(BinOp::Eq, l, r);
            Ok(if *negated { not(equal) } else { equal })
        }
    }
}

fn side<T: Threads>(
    term: &Term,
    view: View,
    table: &T,
    owner: &mut Option<(usize, Span)>,
) -> Result<(Expr, View), Diagnostic> {
    match term {
        Term::Number(n, place) => match pattern(*n, 64) {
            Some(value) => Ok((Expr::Const(view.apply(value)), view)),
            None => Err(Diagnostic::new(place.0, "this number is too large", "")),
        },
        Term::Reg(r) => {
            let seen = table.seen(r)?;
            if owner.is_some_and(|(thread, _)| thread != seen.thread) {
                return Err(unsupported(r.place.0));
            }
            *owner = Some((seen.thread, r.place.0));
            let reg = Expr::Reg(seen.reg);
            let expr = match seen.view {
                View::Full | View::Unsigned(64) => reg,
                View::Signed(bits) => Expr::unary(UnOp::SignExtend(bits), reg),
                View::Unsigned(bits) => Expr::unary(UnOp::ZeroExtend(bits), reg),
            };
            Ok((expr, seen.view))
        }
        other => Err(unsupported(other.place().0)),
    }
}

fn unsupported(span: Span) -> Diagnostic {
    Diagnostic::new(
        span,
        "a filter on locations, or on several threads at once, is not supported",
        "expected a conjunction whose parts are about one thread each",
    )
}

/// An `assume` behind every end of a thread.
fn wait_at_end(thread: &mut Thread, expr: &Expr, span: Span) {
    let end = PointId::new(thread.points.len());
    for point in thread.points.iter_mut().filter(|point| point.edges.is_empty()) {
        point.edges.push(Edge { instr: Instr::Assume(expr.clone()), to: end, span });
    }
    thread.points.push(Point::default());
}
