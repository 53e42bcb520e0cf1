//! Threads that do the same. Which of them is which makes no difference to a search: of all states
//! that differ in their places only, one is looked at, and the final states of the others follow.
//!
//! Two threads are alike if they have the same code and the same is observed of them, up to the
//! names of locations that belong to one thread alone.

use weakspot_core::machine::Step;
use weakspot_core::{Expr, Instr, Observable, Program, ThreadId, Value, View};

use crate::buffers::roles::{Role, Roles};

/// Which threads are alike.
#[derive(Clone, Debug)]
pub(crate) struct Alike {
    /// Per thread the first one that is like it.
    pub(crate) first: Vec<usize>,
    /// The classes of at least two threads.
    pub(crate) classes: Vec<Vec<usize>>,
}

impl Alike {
    /// The classes of `program`.
    pub(crate) fn of(program: &Program, roles: &Roles) -> Alike {
        let n = program.threads.len();
        let mut first: Vec<usize> = Vec::with_capacity(n);
        for t in 0..n {
            let like = |&r: &usize| first[r] == r && are_alike(program, roles, r, t);
            let own = (0..t).find(like).unwrap_or(t);
            first.push(own);
        }
        let members = |r| (0..n).filter(|&t| first[t] == r).collect::<Vec<_>>();
        let classes = (0..n).map(members).filter(|m: &Vec<usize>| m.len() > 1).collect();
        Alike { first, classes }
    }

    /// No thread is like another.
    pub(crate) fn none(program: &Program) -> Alike {
        Alike { first: (0..program.threads.len()).collect(), classes: Vec::new() }
    }

    /// Puts the parts of a state, one per thread, into the order that stands for all orders of
    /// threads that are alike. Returns where each part was before, if there are such threads.
    pub(crate) fn sort(&self, parts: &mut [u32]) -> Option<Vec<u16>> {
        if self.classes.is_empty() {
            return None;
        }
        let mut places: Vec<u16> = (0..parts.len() as u16).collect();
        for class in &self.classes {
            let mut sorted: Vec<(u32, u16)> = class.iter().map(|&t| (parts[t], t as u16)).collect();
            sorted.sort_unstable();
            for (&t, (part, from)) in class.iter().zip(sorted) {
                (parts[t], places[t]) = (part, from);
            }
        }
        Some(places)
    }

    /// Whether thread `t` is like one before it that is in the same part of the state, so that it
    /// can do nothing else.
    pub(crate) fn repeats(&self, parts: &[u32], t: usize) -> bool {
        self.first[t] != t
            && (self.first[t]..t).any(|u| self.first[u] == self.first[t] && parts[u] == parts[t])
    }

    /// Calls `visit` with each way to give the parts of threads that are alike to these threads;
    /// ways that give equal parts are one. Stops when `visit` returns false.
    pub(crate) fn arrangements(&self, parts: &[u32], visit: &mut dyn FnMut(&[u32]) -> bool) {
        let mut parts = parts.to_vec();
        self.arrange(0, &mut parts, visit);
    }

    fn arrange(&self, c: usize, parts: &mut [u32], visit: &mut dyn FnMut(&[u32]) -> bool) -> bool {
        let Some(class) = self.classes.get(c) else { return visit(parts) };
        let mut own: Vec<u32> = class.iter().map(|&t| parts[t]).collect();
        own.sort_unstable();
        loop {
            class.iter().zip(&own).for_each(|(&t, &part)| parts[t] = part);
            if !self.arrange(c + 1, parts, visit) {
                return false;
            }
            if !next_permutation(&mut own) {
                return true;
            }
        }
    }

    /// Which thread may stand at each place: a way to give the places to threads that are alike
    /// such that `fits(place, thread)` for all of them.
    pub(crate) fn assign(
        &self,
        n: usize,
        fits: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Option<Vec<usize>> {
        let mut who: Vec<usize> = (0..n).collect();
        if (0..n).any(|t| self.classes.iter().all(|c| !c.contains(&t)) && !fits(t, t)) {
            return None;
        }
        for class in &self.classes {
            let table: Vec<Vec<bool>> =
                class.iter().map(|&p| class.iter().map(|&t| fits(p, t)).collect()).collect();
            for (&place, thread) in class.iter().zip(matching(&table)?) {
                who[place] = class[thread];
            }
        }
        Some(who)
    }
}

/// The next order of `row`, where the first one is sorted; false after the last.
fn next_permutation(row: &mut [u32]) -> bool {
    let Some(i) = (1..row.len()).rfind(|&i| row[i - 1] < row[i]) else { return false };
    let Some(j) = (i..row.len()).rfind(|&j| row[i - 1] < row[j]) else { return false };
    row.swap(i - 1, j);
    row[i..].reverse();
    true
}

/// A column for each row such that all are different and allowed (augmenting paths).
fn matching(allowed: &[Vec<bool>]) -> Option<Vec<usize>> {
    fn place(
        row: usize,
        allowed: &[Vec<bool>],
        seen: &mut [bool],
        taken: &mut [Option<usize>],
    ) -> bool {
        (0..taken.len()).any(|c| {
            if !allowed[row][c] || std::mem::replace(&mut seen[c], true) {
                return false;
            }
            let free = taken[c].is_none_or(|other| place(other, allowed, seen, taken));
            if free {
                taken[c] = Some(row);
            }
            free
        })
    }
    let n = allowed.len();
    let mut taken = vec![None; n];
    let all = (0..n).all(|row| place(row, allowed, &mut vec![false; n], &mut taken));
    let column = |row| taken.iter().position(|&r| r == Some(row));
    if all { (0..n).map(column).collect() } else { None }
}

/// The step as `thread` takes it.
pub(crate) fn by(thread: usize, step: Step) -> Step {
    let thread = ThreadId::new(thread);
    match step {
        Step::Execute { edge, choice, .. } => Step::Execute { thread, edge, choice },
        Step::Commit { addr, .. } => Step::Commit { thread, addr },
    }
}

fn are_alike(program: &Program, roles: &Roles, a: usize, b: usize) -> bool {
    let (x, y) = (&program.threads[a], &program.threads[b]);
    x.entry == y.entry
        && x.regs == y.regs
        && x.points.len() == y.points.len()
        && roles.own[a].len() == roles.own[b].len()
        && roles.own[a].iter().zip(&roles.own[b]).all(|(&l, &m)| {
            let (l, m) = (&program.locs[l.index()], &program.locs[m.index()]);
            l.init == m.init && l.range == m.range
        })
        && observed(program, roles, a).eq(observed(program, roles, b))
        && x.points.iter().zip(&y.points).all(|(p, q)| {
            p.edges.len() == q.edges.len()
                && p.edges
                    .iter()
                    .zip(&q.edges)
                    .all(|(e, f)| e.to == f.to && same_instr(program, roles, &e.instr, &f.instr))
        })
}

/// What is observed of thread `t`: registers, and behind them its own cells.
fn observed<'a>(
    program: &'a Program,
    roles: &'a Roles,
    t: usize,
) -> impl Iterator<Item = (usize, View)> + 'a {
    program.observed.iter().filter_map(move |o| match o.what {
        Observable::Reg(thread, r) => (thread.index() == t).then_some((r.index(), o.view)),
        Observable::Loc(l) => {
            let cell = roles.own[t].iter().position(|&own| own == l)?;
            Some((program.threads[t].regs.len() + cell, o.view))
        }
    })
}

fn same_instr(program: &Program, roles: &Roles, a: &Instr, b: &Instr) -> bool {
    let cell = |addr: &Expr| match addr {
        Expr::Const(addr) => own_cell(program, roles, *addr),
        _ => None,
    };
    let same_addr = |a: &Expr, b: &Expr| match (cell(a), cell(b)) {
        (None, None) => a == b,
        (a, b) => a == b,
    };
    match (a, b) {
        (Instr::Load { reg, addr }, Instr::Load { reg: r, addr: a }) => {
            reg == r && same_addr(addr, a)
        }
        (Instr::Store { addr, value }, Instr::Store { addr: a, value: v }) => {
            value == v && same_addr(addr, a)
        }
        (Instr::Update { reg, addr, value }, Instr::Update { reg: r, addr: a, value: v }) => {
            reg == r && value == v && same_addr(addr, a)
        }
        _ => a == b,
    }
}

fn own_cell(program: &Program, roles: &Roles, addr: Value) -> Option<usize> {
    match roles.role(program.loc_at(addr)?.0) {
        Role::Own(cell) => Some(cell),
        _ => None,
    }
}
