//! The plain numbers in a program: by how much counters are moved, and what counts as large.

use weakspot_core::{Expr, Instr, Program, RegId, Value};

/// The sum of the largest parts of an expression that have nothing to do with counters.
pub(super) fn plain_parts(e: &Expr, regs: &[Value], class: &dyn Fn(RegId) -> Option<usize>) -> u64 {
    let mut is_plain = true;
    e.for_each_reg(&mut |r| is_plain &= class(r).is_none());
    let part = |e: &Expr| plain_parts(e, regs, class);
    match e {
        _ if is_plain => e.eval(regs).map_or(0, Value::unsigned_abs),
        Expr::Const(_) | Expr::Reg(_) => 0,
        Expr::Unary(_, e) => part(e),
        Expr::Binary(_, l, r) => part(l).saturating_add(part(r)),
        Expr::Select(parts) => {
            part(&parts.0).saturating_add(part(&parts.1)).saturating_add(part(&parts.2))
        }
    }
}

/// The largest number in a program.
pub(super) fn largest(program: &Program) -> Value {
    fn of(e: &Expr) -> Value {
        match e {
            Expr::Const(v) => v.saturating_abs(),
            Expr::Reg(_) => 0,
            Expr::Unary(_, e) => of(e),
            Expr::Binary(_, l, r) => of(l).max(of(r)),
            Expr::Select(parts) => of(&parts.0).max(of(&parts.1)).max(of(&parts.2)),
        }
    }
    let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    let in_code = edges.map(|edge| match &edge.instr {
        Instr::Assign { value: e, .. } | Instr::Assume(e) | Instr::Assert(e) => of(e),
        Instr::Store { addr, value } | Instr::Update { addr, value, .. } => of(addr).max(of(value)),
        Instr::Choose { low, high, .. } => low.saturating_abs().max(high.saturating_abs()),
        _ => 0,
    });
    let regs = program.threads.iter().flat_map(|t| &t.regs);
    let init = regs.chain(program.locs.iter().flat_map(|l| &l.init)).map(|v| v.saturating_abs());
    in_code.chain(init).max().unwrap_or(0)
}
