//! Is there a cycle in a group? By SAT, for which there is a variable for each transaction and each
//! direction of an undirected tie, and a theory that knows which ties are possible together.
//!
//! The clauses are those that [`TxnRefutation`] describes. Values that satisfy them contain a cycle:
//! from a transaction that is on it one gets to the next for ever, and directed ties alone have no
//! cycle. When there are none, the proof is the evidence.
//!
//! The problem is NP-hard (Theorem 6 of the paper: it is coNP-complete whether a trace is
//! serializable). Cost: exponential, bounded by the limits only.

use std::collections::HashMap;

use weakspot_core::serial::{TxnRefutation, TxnVar};
use weakspot_core::{Limit, LratStep};
use weakspot_sat::{Lit, Meter, Solver, Theory};

use crate::acyclic::Acyclic;
use crate::part::Part;

/// The answer.
pub(crate) enum Solved {
    /// Ties that make a cycle, and what else that demands: sides of choices that are possible with
    /// them, and overwritten writes.
    Cycle(Vec<(usize, usize)>, Vec<(usize, usize)>),
    /// There is no cycle.
    Refuted(TxnRefutation),
}

/// Looks for a cycle. `graph` is the graph of the part's order.
pub(crate) fn solve(
    part: &Part<'_>,
    graph: &mut Acyclic,
    meter: &mut Meter<'_>,
) -> Result<Solved, Limit> {
    let vars = part.txns.iter().map(|&txn| TxnVar::On(txn));
    let vars = vars.chain(part.ties.iter().map(|tie| TxnVar::Uses(tie.events.0, tie.events.1)));
    let choices = part.order.choices.iter();
    let mut vars: Vec<TxnVar> =
        vars.chain(choices.map(|&(write, read)| TxnVar::First(write, read))).collect();
    let first = vars.len();
    for found in &part.overwritten {
        vars.push(TxnVar::Overwritten(found.read));
        vars.extend(found.by.iter().map(|&write| TxnVar::Overwrites(write, found.read)));
    }
    meter.room(graph.bytes() + vars.len() as u64 * 300)?;
    let mut solver = Solver::new(true);
    solver.grow(vars.len());
    clauses(part, first, &mut solver, meter)?;
    let mut theory = Validity { part, vars: &vars, graph, marks: Vec::new() };
    let found = solver.solve(&mut theory, meter);
    graph.truncate(0);
    if !found? {
        return Ok(Solved::Refuted(refutation(&vars, solver)));
    }
    let holds = |at: usize| solver.value(Lit::new(at as u32, true)) == Some(true);
    let (mut ties, mut more) = (Vec::new(), Vec::new());
    for (at, &var) in vars.iter().enumerate() {
        match var {
            TxnVar::On(_) | TxnVar::Overwritten(_) => {}
            TxnVar::Overwrites(write, read) if holds(at) => {
                more.extend(part.order.overwrites(write, read));
            }
            TxnVar::Overwrites(..) => {}
            TxnVar::Uses(from, to) => ties.extend(holds(at).then_some((from, to))),
            TxnVar::First(write, read) => {
                more.push(part.order.choice((write, read))[usize::from(!holds(at))]);
            }
        }
    }
    Ok(Solved::Cycle(ties, more))
}

/// The variables of reads whose own write may be overwritten have the numbers from `first` on.
fn clauses(
    part: &Part<'_>,
    first: usize,
    solver: &mut Solver,
    meter: &mut Meter<'_>,
) -> Result<(), Limit> {
    let on = |txn: u32, value: bool| Lit::new(txn, value);
    let tie = |number: usize, value: bool| Lit::new((part.txns.len() + number) as u32, value);
    let all: Vec<Lit> = (0..part.txns.len() as u32).map(|txn| on(txn, true)).collect();
    solver.add(&all);
    let mut leaving: Vec<Vec<Lit>> = Vec::new();
    for (txn, next) in part.next.iter().enumerate() {
        let next = next.iter().map(|&(to, _)| on(to, true));
        leaving.push([on(txn as u32, false)].into_iter().chain(next).collect());
    }
    for (number, used) in part.ties.iter().enumerate() {
        leaving[used.from as usize].push(tie(number, true));
        solver.add(&[tie(number, false), on(used.to, true)]);
        meter.work(16, || part.ties.len() as u64 * 300)?;
    }
    let mut at = first as u32;
    for found in &part.overwritten {
        let by = at + 1..at + 1 + found.by.len() as u32;
        leaving[found.from as usize].push(Lit::new(at, true));
        let leads = found.to.iter().map(|&to| on(to, true));
        solver.add(&[Lit::new(at, false)].into_iter().chain(leads).collect::<Vec<Lit>>());
        let some = by.clone().map(|by| Lit::new(by, true));
        solver.add(&[Lit::new(at, false)].into_iter().chain(some).collect::<Vec<Lit>>());
        meter.work(16 + 4 * found.by.len() as u64, || part.ties.len() as u64 * 300)?;
        at = by.end;
    }
    for clause in leaving {
        meter.work(4 * clause.len() as u64, || part.ties.len() as u64 * 300)?;
        solver.add(&clause);
    }
    Ok(())
}

/// Which ties are possible together.
struct Validity<'a> {
    part: &'a Part<'a>,
    vars: &'a [TxnVar],
    graph: &'a mut Acyclic,
    /// Per literal that became true the length of the graph before.
    marks: Vec<usize>,
}

impl Theory for Validity<'_> {
    fn assign(&mut self, lit: Lit, _: &mut Vec<Lit>) -> Result<(), Vec<Lit>> {
        self.marks.push(self.graph.len());
        let order = self.part.order;
        let mut overwrites = None;
        let (tie, side) = match (self.vars[lit.var()], lit.is_positive()) {
            (TxnVar::Uses(from, to), true) => (Some(order.demands(from, to)), None),
            (TxnVar::Overwrites(write, read), true) => {
                overwrites = Some(order.overwrites(write, read));
                (None, None)
            }
            (TxnVar::First(write, read), first) => {
                (None, Some(order.choice((write, read))[usize::from(!first)]))
            }
            _ => (None, None),
        };
        let overwrites = overwrites.into_iter().flatten();
        for (before, after) in tie.into_iter().flatten().chain(side).chain(overwrites) {
            if let Err(labels) = self.graph.add(before, after, lit.index() as u32) {
                return Err(labels.into_iter().map(|label| !Lit::at(label)).collect());
            }
        }
        Ok(())
    }

    fn retract(&mut self, count: usize) {
        if let Some(&length) = self.marks.get(count) {
            self.graph.truncate(length);
            self.marks.truncate(count);
        }
    }

    fn explain(&mut self, lit: Lit, _: usize) -> Vec<Lit> {
        vec![lit]
    }

    fn complete(&mut self) -> usize {
        0
    }

    fn first_value(&mut self, _: usize, saved: Option<bool>) -> bool {
        saved.unwrap_or(false)
    }

    fn take_work(&mut self) -> u64 {
        self.graph.take_work()
    }

    fn bytes(&self) -> u64 {
        self.graph.bytes()
    }
}

/// The evidence, with numbers for the variables that are used only.
fn refutation(vars: &[TxnVar], solver: Solver) -> TxnRefutation {
    let found = solver.proof().refutation();
    let (mut numbers, mut used) = (HashMap::new(), Vec::new());
    let mut renumber = |number: i32| {
        let var = number.unsigned_abs() as usize - 1;
        let new = *numbers.entry(var).or_insert_with(|| {
            used.push(vars[var]);
            used.len() as i32
        });
        number.signum() * new
    };
    let mut clauses = Vec::with_capacity(found.clauses.len());
    for clause in &found.clauses {
        clauses.push(clause.iter().map(|lit| renumber(lit.number())).collect());
    }
    let mut proof = found.steps;
    for step in &mut proof {
        if let LratStep::Add { clause, .. } = step {
            clause.iter_mut().for_each(|number| *number = renumber(*number));
        }
    }
    TxnRefutation { vars: used, clauses, proof }
}
