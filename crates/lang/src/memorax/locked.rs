//! `locked` blocks, `locked write` and `cas`: one step, or none.
//!
//! A block that contains a write first waits until the process's buffer is empty, and its writes
//! go to memory at once. A branch that would block somewhere inside has not happened at all, so
//! it must leave neither the lock held nor a trace in memory or registers. The three ways out:
//!
//! - One read and one write of the same place is an `Update`. If a condition fails, it stores what
//!   it read, and the process tries again.
//! - At most one access needs no lock: the access is the moment at which the block happens.
//! - Everything else runs between `Lock` and `Unlock`, registers in scratch copies until nothing
//!   can fail any more. If a condition comes after a write, the branch is tried without its writes
//!   first; then it is run.
//!
//! Memorax lets a block that only reads run with a full buffer. With several reads that has no
//! counterpart here and is refused.

use std::collections::BTreeMap;

use weakspot_core::{BinOp, Expr as Core, Fence, Instr, PointId, RegId, Span};

use super::build::Act;
use super::statements::{Access, Builder, Env, Piece, Simple, assign, check_all, simple};
use super::syntax::{FenceKind, Stmt, StmtKind};
use crate::Diagnostic;
use crate::balanced::balanced;

/// A block has at most so many statements once nested blocks are multiplied out.
const MAX_STATEMENTS: usize = 10_000;
/// Larger conditions and values are not packed into an `Update`.
const MAX_UPDATE_SIZE: usize = 256;

/// The statements of a branch with their spans.
type Branch<'f> = Vec<(Simple<'f>, Span)>;

impl<'f> Builder<'_, 'f> {
    /// A `locked` statement of any kind.
    pub(super) fn locked(
        &mut self,
        s: &'f Stmt,
        from: PointId,
        to: PointId,
    ) -> Result<(), Diagnostic> {
        let branches = flatten(s)?;
        let writes = branches.iter().flatten().any(|(simple, _)| is_write(simple));
        let is_fence = |s: &Simple<'_>| matches!(s, Simple::Fence(FenceKind::Full));
        for branch in &branches {
            // A write makes all branches wait, a fence its own.
            let drains = writes || branch.iter().any(|(simple, _)| is_fence(simple));
            let reads = branch.iter().filter(|(s, _)| is_read(s)).count();
            if !drains && reads > 1 {
                return Err(Diagnostic::new(
                    s.at.0,
                    "a locked block that reads more than once and does not write",
                    "expected at most one read, or a write as well",
                )
                .help("add a `fence` to the block if it may wait for an empty buffer"));
            }
            let steps = match self.update(branch)? {
                Some(steps) => steps,
                None => self.block(branch, drains)?,
            };
            self.automaton.chain(from, steps, to, s.at.0);
        }
        Ok(())
    }

    /// The branch as an `Update`, if it reads and then writes one place.
    fn update(&mut self, branch: &Branch<'f>) -> Result<Option<Vec<Act>>, Diagnostic> {
        let accesses: Vec<&Simple<'f>> =
            branch.iter().map(|(s, _)| s).filter(|s| is_read(s) || is_write(s)).collect();
        let [read, write] = accesses[..] else { return Ok(None) };
        if !is_read(read) || !is_write(write) {
            return Ok(None);
        }
        let tmp = self.automaton.scratch(0);
        let mut env = Env::new();
        let mut conditions = Vec::new();
        let (mut place, mut stored) = (None, None);
        for &(simple, span) in branch {
            let piece = self.piece(simple, span, &env, tmp)?;
            conditions.extend(piece.before);
            conditions.extend(piece.after);
            match piece.access {
                Some(Access::Load { addr }) => place = Some(addr),
                Some(Access::Store { addr, value }) if Some(&addr) == place.as_ref() => {
                    stored = Some(value);
                }
                Some(Access::Store { .. }) => return Ok(None),
                None => {}
            }
            if let Some((reg, value)) = piece.assign {
                env.insert(reg, value);
            }
            let exprs = conditions.iter().chain(env.values()).chain(&stored);
            if exprs.map(size).sum::<usize>() > MAX_UPDATE_SIZE {
                return Ok(None);
            }
        }
        let (Some(addr), Some(value)) = (place, stored) else { return Ok(None) };
        let (late, early): (Vec<Core>, Vec<Core>) =
            conditions.into_iter().partition(|c| mentions(c, tmp));
        let mut steps = Vec::from_iter(check_all(early));
        if late.is_empty() {
            steps.push(Act::Do(Instr::Update { reg: tmp, addr, value }));
        } else {
            let late = balanced(BinOp::And, late, 1);
            let value = Core::select(late.clone(), value, Core::Reg(tmp));
            steps.push(Act::Do(Instr::Update { reg: tmp, addr, value }));
            steps.push(Act::Check(late));
        }
        steps.extend(self.assign_all(env));
        Ok(Some(steps))
    }

    /// Assigns all registers at once.
    fn assign_all(&mut self, env: Env) -> Vec<Act> {
        let regs: Vec<RegId> = env.keys().copied().collect();
        let tangled =
            env.len() > 1 && env.values().any(|value| regs.iter().any(|reg| mentions(value, *reg)));
        if !tangled {
            return env.into_iter().filter_map(|(r, v)| assign(r, v)).map(Act::Do).collect();
        }
        let copies: Vec<RegId> = (1..=regs.len()).map(|n| self.automaton.scratch(n)).collect();
        let first = env.into_values().zip(&copies).map(|(value, copy)| (*copy, value));
        let second = regs.iter().zip(&copies).map(|(reg, copy)| (*reg, Core::Reg(*copy)));
        first.chain(second).map(|(reg, value)| Act::Do(Instr::Assign { reg, value })).collect()
    }

    /// The branch with its accesses one after another, under the lock if there are several.
    fn block(&mut self, branch: &Branch<'f>, drains: bool) -> Result<Vec<Act>, Diagnostic> {
        let writes = branch.iter().filter(|(s, _)| is_write(s)).count();
        let reads = branch.iter().filter(|(s, _)| is_read(s)).count();
        let lock = reads + writes > 1;
        let mut steps = Vec::new();
        if lock {
            steps.push(Act::Do(Instr::Lock));
        } else if drains && writes == 0 {
            steps.push(Act::Do(Instr::Fence(Fence::Full)));
        }
        self.block_body(branch, drains, &mut steps)?;
        if lock {
            steps.push(Act::Do(Instr::Unlock));
        } else if writes == 1 {
            // The store and the fence are one: nothing of the process comes between them.
            steps.push(Act::Do(Instr::Fence(Fence::Full)));
        }
        Ok(steps)
    }

    fn block_body(
        &mut self,
        branch: &Branch<'f>,
        drains: bool,
        steps: &mut Vec<Act>,
    ) -> Result<(), Diagnostic> {
        let any_read = branch.iter().any(|(s, _)| is_read(s));
        let tmp = if any_read { self.automaton.scratch(0) } else { RegId::new(0) };
        // Which statements can fail does not depend on what stands for the registers.
        let mut last_check = None;
        let mut first_write = None;
        for (i, &(simple, span)) in branch.iter().enumerate() {
            let piece = self.piece(simple, span, &Env::new(), tmp)?;
            if !piece.before.is_empty() || !piece.after.is_empty() {
                last_check = Some(i);
            }
            if is_write(&simple) && first_write.is_none() {
                first_write = Some(i);
            }
        }
        let tried = last_check.map_or(0, |i| i + 1);
        // The check of a write comes before the write.
        let try_first = first_write.is_some_and(|w| w + 1 < tried);
        let used = usize::from(any_read);
        let mut attempt = Attempt { copies: BTreeMap::new(), pending: Vec::new(), tmp, used };
        for &(simple, span) in &branch[..tried] {
            let fence = self.attempt(simple, span, &mut attempt, steps)?;
            if !drains && !try_first {
                steps.extend(fence.map(|f| Act::Do(Instr::Fence(f))));
            }
        }
        let rest = if try_first {
            // Nothing can fail now: run all of it for good.
            &branch[..]
        } else {
            for (reg, copy) in &attempt.copies {
                steps.push(Act::Do(Instr::Assign { reg: *reg, value: Core::Reg(*copy) }));
            }
            steps.extend(
                attempt
                    .pending
                    .drain(..)
                    .map(|(addr, value)| Act::Do(Instr::Store { addr, value })),
            );
            &branch[tried..]
        };
        for &(simple, span) in rest {
            let Piece { access, assign: assigned, fence, .. } =
                self.piece(simple, span, &Env::new(), tmp)?;
            steps.extend(access.map(|a| Act::Do(a.instr(tmp))));
            steps.extend(assigned.and_then(|(reg, value)| assign(reg, value)).map(Act::Do));
            if !drains {
                steps.extend(fence.map(|f| Act::Do(Instr::Fence(f))));
            }
        }
        Ok(())
    }

    /// A statement that something after it, or its own condition, may yet undo: registers are
    /// written to copies, and writes to memory are remembered. The result is its fence.
    fn attempt(
        &mut self,
        simple: Simple<'f>,
        span: Span,
        attempt: &mut Attempt,
        steps: &mut Vec<Act>,
    ) -> Result<Option<Fence>, Diagnostic> {
        let tmp = attempt.tmp;
        let env = attempt.copies.iter().map(|(reg, copy)| (*reg, Core::Reg(*copy))).collect();
        let piece = self.piece(simple, span, &env, tmp)?;
        steps.extend(check_all(piece.before));
        match piece.access {
            None => {}
            Some(Access::Load { addr }) => {
                steps.push(Act::Do(Instr::Load { reg: tmp, addr: addr.clone() }));
                for (written, value) in &attempt.pending {
                    let value = match (&addr, written) {
                        (Core::Const(a), Core::Const(b)) if a != b => continue,
                        (Core::Const(_), Core::Const(_)) => value.clone(),
                        _ => {
                            let same = Core::binary(BinOp::Eq, addr.clone(), written.clone());
                            Core::select(same, value.clone(), Core::Reg(tmp))
                        }
                    };
                    steps.push(Act::Do(Instr::Assign { reg: tmp, value }));
                }
            }
            Some(Access::Store { addr, value }) => {
                let addr = self.save(addr, attempt, steps);
                let value = self.save(value, attempt, steps);
                attempt.pending.push((addr, value));
            }
        }
        steps.extend(check_all(piece.after));
        if let Some((reg, value)) = piece.assign {
            let copy = match attempt.copies.get(&reg) {
                Some(copy) => *copy,
                None => self.fresh(attempt),
            };
            attempt.copies.insert(reg, copy);
            steps.push(Act::Do(Instr::Assign { reg: copy, value }));
        }
        Ok(piece.fence)
    }

    /// A copy of a value that later assignments do not change.
    fn save(&mut self, value: Core, attempt: &mut Attempt, steps: &mut Vec<Act>) -> Core {
        if matches!(value, Core::Const(_)) {
            return value;
        }
        let reg = self.fresh(attempt);
        steps.push(Act::Do(Instr::Assign { reg, value }));
        Core::Reg(reg)
    }

    fn fresh(&mut self, attempt: &mut Attempt) -> RegId {
        attempt.used += 1;
        self.automaton.scratch(attempt.used - 1)
    }
}

/// What a branch has done that nobody has seen.
struct Attempt {
    /// The scratch copies of registers.
    copies: BTreeMap<RegId, RegId>,
    /// Addresses and values of writes.
    pending: Vec<(Core, Core)>,
    /// Takes what is read.
    tmp: RegId,
    /// Scratch registers in use.
    used: usize,
}

/// The branches of a `locked` statement, nested blocks multiplied out.
fn flatten(s: &Stmt) -> Result<Vec<Branch<'_>>, Diagnostic> {
    let one = |simple| Ok(vec![vec![(simple, s.at.0)]]);
    match &s.kind {
        StmtKind::Write { place, value, .. } => one(Simple::Write(place, value)),
        StmtKind::Cas { place, old, new } => Ok(vec![vec![
            (Simple::ReadAssert(place, old), s.at.0),
            (Simple::Write(place, new), s.at.0),
        ]]),
        StmtKind::Locked(branches) => {
            let mut all = Vec::new();
            for list in branches {
                all.extend(flatten_sequence(list)?);
                check_size(&all, s.at.0)?;
            }
            Ok(all)
        }
        StmtKind::Block(list) => flatten_sequence(list),
        StmtKind::Goto(_) => refused(s, "goto"),
        StmtKind::SyncRead(_) => refused(s, "syncrd"),
        StmtKind::If { .. } => refused(s, "if"),
        StmtKind::While { .. } => refused(s, "while"),
        StmtKind::Either(_) => refused(s, "either"),
        kind => simple(kind).map_or_else(|| refused(s, "this"), one),
    }
}

fn flatten_sequence(list: &[Stmt]) -> Result<Vec<Branch<'_>>, Diagnostic> {
    let mut all: Vec<Branch<'_>> = vec![Vec::new()];
    for s in list {
        if let Some(label) = &s.label {
            let message = format!("the label `{}` in a locked block", label.text);
            return Err(Diagnostic::new(
                label.at.0,
                message,
                "expected a statement without a label",
            )
            .help("a locked block is one step: there is no place inside of it"));
        }
        let tails = flatten(s)?;
        if let [tail] = &tails[..] {
            all.iter_mut().for_each(|head| head.extend_from_slice(tail));
        } else {
            let mut joined = Vec::new();
            for head in &all {
                joined.extend(tails.iter().map(|tail| [&head[..], tail].concat()));
                check_size(&joined, s.at.0)?;
            }
            all = joined;
        }
        check_size(&all, s.at.0)?;
    }
    Ok(all)
}

fn check_size(branches: &[Branch<'_>], span: Span) -> Result<(), Diagnostic> {
    if branches.iter().map(|b| b.len() + 1).sum::<usize>() <= MAX_STATEMENTS {
        return Ok(());
    }
    let message = "a locked block that is too large once its branches are written out";
    Err(Diagnostic::new(span, message, format!("expected at most {MAX_STATEMENTS} statements")))
}

fn refused<T>(s: &Stmt, what: &str) -> Result<T, Diagnostic> {
    let message = format!("`{what}` in a locked block");
    Err(Diagnostic::new(
        s.at.0,
        message,
        "expected `nop`, an assignment, `assume`, `read`, `write`, `cas`, a fence or `locked`",
    )
    .help("choices are written as branches of the block, separated by `or`"))
}

fn is_read(s: &Simple<'_>) -> bool {
    matches!(s, Simple::ReadAssert(..) | Simple::ReadAssign(..))
}

fn is_write(s: &Simple<'_>) -> bool {
    matches!(s, Simple::Write(..))
}

fn mentions(e: &Core, reg: RegId) -> bool {
    let mut found = false;
    e.for_each_reg(&mut |r| found |= r == reg);
    found
}

fn size(e: &Core) -> usize {
    match e {
        Core::Const(_) | Core::Reg(_) => 1,
        Core::Unary(_, e) => 1 + size(e),
        Core::Binary(_, l, r) => 1 + size(l) + size(r),
        Core::Select(parts) => 1 + size(&parts.0) + size(&parts.1) + size(&parts.2),
    }
}
