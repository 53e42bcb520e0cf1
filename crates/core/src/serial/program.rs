//! Programs with transactions: what a run of the machine did, as an execution; all executions of a
//! program, by brute force; and the checker of answers about programs.

use std::collections::VecDeque;

use super::execution::{conflict_cycle_before, pair, without_commits};
use super::stream::CycleCheck;
use super::{BufferedReads, Conflicts, TxnCycle, TxnEvent, TxnKind};
use crate::evidence::reference::{GoOn, work_of};
use crate::evidence::rejected::Rejected;
use crate::evidence::replay::replay;
use crate::machine::{FailureKind, Machine, Outcome, Schedule, State, Step};
use crate::{
    Evidence, Instr, Model, Open, Part, Program, Span, ThreadId, Transactions, Value, Verdict,
    is_event,
};

/// What a run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnRun {
    /// Its events. Under SC there are no commits.
    pub events: Vec<TxnEvent>,
    /// For each the step of the schedule.
    pub steps: Vec<usize>,
    /// For each the instruction; for a commit that of the store.
    pub spans: Vec<Span>,
    /// The addresses of the variables. Declared locations come first, in their order.
    pub addrs: Vec<Value>,
}

/// The relation that says what conflicts in a run under this model.
#[must_use]
pub fn relation(model: Model, reads: BufferedReads) -> Conflicts {
    if model == Model::Sc { Conflicts::Sc } else { Conflicts::Tso(reads) }
}

/// The events of a run.
///
/// # Errors
/// The first step that the machine does not allow.
pub fn txn_run(
    program: &Program,
    transactions: &Transactions,
    model: Model,
    schedule: &Schedule,
) -> Result<TxnRun, usize> {
    let mut walk = Walk::new(program, transactions, model);
    let mut state = walk.machine.initial_state(&schedule.init);
    let mut steps = Vec::new();
    for (i, &step) in schedule.steps.iter().enumerate() {
        let Outcome::Next(next) = walk.machine.take(&state, step) else { return Err(i) };
        walk.take(&state, &next, step).ok_or(i)?;
        steps.resize(walk.events.len(), i);
        state = next;
    }
    Ok(TxnRun { events: walk.events, steps, spans: walk.spans, addrs: walk.addrs })
}

impl TxnRun {
    /// A shortest cycle of transactions.
    #[must_use]
    pub fn cycle(&self, relation: Conflicts) -> Option<TxnCycle> {
        let mut events = self.events.clone();
        if relation != Conflicts::Sc {
            // What is in the buffers will be committed, whenever that is.
            let mut buffers: Vec<VecDeque<TxnEvent>> = Vec::new();
            for event in &self.events {
                let thread = event.thread as usize;
                buffers.resize(buffers.len().max(thread + 1), VecDeque::new());
                match event.kind {
                    TxnKind::Write => buffers[thread].push_back(*event),
                    TxnKind::Commit => drop(buffers[thread].pop_front()),
                    _ => {}
                }
            }
            let rest = buffers.into_iter().flatten();
            events.extend(rest.map(|write| TxnEvent { kind: TxnKind::Commit, ..write }));
        }
        let execution = match relation {
            Conflicts::Sc => without_commits(&events),
            _ => pair(&events).ok()?,
        };
        let cycle = conflict_cycle_before(&execution, relation, self.events.len())?;
        Some(TxnCycle(cycle.into_iter().map(|(a, b)| (a as u64, b as u64)).collect()))
    }
}

/// Checks the evidence for a verdict on whether all executions of a program are serializable: a run
/// with a cycle. A claim of completeness is only checked for being of the right kind (see
/// [`search_transactions`]).
pub fn transactions(
    program: &Program,
    marks: &Transactions,
    (model, reads): (Model, BufferedReads),
    verdict: &Verdict,
    evidence: &Evidence,
    cycle: Option<&TxnCycle>,
) -> Result<(), Rejected> {
    // Accesses that overlap would have to conflict.
    if !program.wides.is_empty() {
        return Err(Rejected::WrongKind);
    }
    match (verdict, evidence, cycle) {
        (Verdict::Holds, Evidence::Exhausted { .. }, None) => Ok(()),
        (Verdict::Violated, Evidence::Run(schedule), Some(cycle)) => {
            replay(Machine { program, model }, schedule)?;
            let run = txn_run(program, marks, model, schedule).map_err(Rejected::Step)?;
            let mut check = CycleCheck::new(relation(model, reads), cycle);
            run.events.iter().try_for_each(|&event| check.event(event))?;
            check.end().map(drop)
        }
        _ => Err(Rejected::WrongKind),
    }
}

/// The longest execution that is looked at by definition.
const MAX_DEPTH: usize = 500;

/// Re-derives a verdict on whether all executions of a program are serializable from nothing.
pub fn search_transactions(
    program: &Program,
    marks: &Transactions,
    (model, reads): (Model, BufferedReads),
    verdict: &Verdict,
    max_steps: usize,
) -> Result<(), Rejected> {
    search_transactions_within(program, marks, (model, reads), verdict, max_steps, &mut |_| true)
}

/// The same, as long as `go_on` says so, which hears of the work of looking at each execution.
pub(crate) fn search_transactions_within(
    program: &Program,
    marks: &Transactions,
    (model, reads): (Model, BufferedReads),
    verdict: &Verdict,
    max_steps: usize,
    go_on: GoOn<'_>,
) -> Result<(), Rejected> {
    let too_large = Err(Rejected::TooLarge(max_steps));
    if work_of(program, go_on).is_none() {
        return too_large;
    }
    let (mut holds, mut given_up) = (true, false);
    let mut each = |run: &TxnRun| {
        let events = run.events.len() as u64;
        given_up = !go_on(1 + events * events / 16);
        holds = given_up || run.cycle(relation(model, reads)).is_none();
        holds && !given_up
    };
    let bounds = RunBounds { steps: max_steps, depth: MAX_DEPTH };
    let counted = each_run(program, marks, model, bounds, &mut each);
    match (counted, verdict) {
        _ if given_up => too_large,
        (None, _) if holds => too_large,
        (_, Verdict::Holds) if holds => Ok(()),
        (_, Verdict::Violated) if !holds => Ok(()),
        _ => Err(Rejected::Contradicted),
    }
}

/// How many executions are looked at by [`each_run`].
#[derive(Clone, Copy, Debug)]
pub struct RunBounds {
    /// So many steps in all.
    pub steps: usize,
    /// So many steps in one execution. Longer ones are cut off.
    pub depth: usize,
}

/// Gives all executions of a program that cannot go on to `each`, until that returns false. How many
/// there are; `None` if some were left out or cut off, or if the program does what has no meaning.
/// An execution that differs only in when threads do what memory does not see is given once.
pub fn each_run(
    program: &Program,
    marks: &Transactions,
    model: Model,
    bounds: RunBounds,
    each: &mut dyn FnMut(&TxnRun) -> bool,
) -> Option<u64> {
    let walk = Walk::new(program, marks, model);
    let starts = program.locs.iter().try_fold(1usize, |n, l| n.checked_mul(l.init.len()));
    if starts.is_none_or(|n| n > bounds.steps) {
        return None;
    }
    let mut all = All { left: bounds.steps, count: 0, ended: false, cut: false, each };
    for state in walk.machine.initial_states() {
        all.go_on(&walk, &state, bounds.depth)?;
    }
    (!all.cut).then_some(all.count)
}

/// A search of all executions.
struct All<'a> {
    left: usize,
    count: u64,
    ended: bool,
    cut: bool,
    each: &'a mut dyn FnMut(&TxnRun) -> bool,
}

impl All<'_> {
    fn go_on(&mut self, walk: &Walk<'_>, state: &State, depth: usize) -> Option<()> {
        let program = walk.machine.program;
        // What memory does not see is done at once.
        let unseen = state.threads.iter().enumerate().position(|(t, local)| {
            let edges = &program.threads[t].points[local.point.index()].edges;
            state.lock.is_none_or(|owner| owner.index() == t)
                && !edges.is_empty()
                && edges.iter().all(|e| !is_event(&e.instr))
                && !self.is_stuck(walk, state, t)
        });
        let mut went_on = false;
        for step in walk.machine.steps(state) {
            if self.ended {
                return Some(());
            }
            let thread = match step {
                Step::Execute { thread, .. } => Some(thread.index()),
                Step::Commit { .. } => None,
            };
            if unseen.is_some() && unseen != thread {
                continue;
            }
            match walk.machine.take(state, step) {
                Outcome::Next(_) if depth == 0 => self.cut = true,
                Outcome::Next(next) => {
                    self.left = self.left.checked_sub(1)?;
                    went_on = true;
                    let mut walk = walk.clone();
                    walk.take(state, &next, step)?;
                    self.go_on(&walk, &next, depth - 1)?;
                }
                Outcome::Failed(failure) if failure.kind != FailureKind::Assertion => return None,
                Outcome::Failed(_) | Outcome::Blocked => {}
            }
        }
        if !went_on && !self.ended {
            self.count += 1;
            let run = TxnRun {
                events: walk.events.clone(),
                steps: Vec::new(),
                spans: walk.spans.clone(),
                addrs: walk.addrs.clone(),
            };
            self.ended = !(self.each)(&run);
        }
        Some(())
    }

    /// Whether a thread cannot take any step of its program.
    fn is_stuck(&self, walk: &Walk<'_>, state: &State, t: usize) -> bool {
        let own = |step: &Step| matches!(step, Step::Execute { thread, .. } if thread.index() == t);
        let blocked = |step| match walk.machine.take(state, step) {
            Outcome::Blocked => true,
            Outcome::Failed(failure) => failure.kind == FailureKind::Assertion,
            Outcome::Next(_) => false,
        };
        walk.machine.steps(state).into_iter().filter(own).all(blocked)
    }
}

/// What was done so far.
#[derive(Clone)]
struct Walk<'p> {
    machine: Machine<'p>,
    marks: &'p Transactions,
    /// Per thread where it is, its transaction, and the stores in its buffer.
    open: Vec<Open>,
    txns: Vec<u32>,
    buffers: Vec<VecDeque<(TxnEvent, Span)>>,
    last_txn: u32,
    events: Vec<TxnEvent>,
    spans: Vec<Span>,
    addrs: Vec<Value>,
}

impl<'p> Walk<'p> {
    fn new(program: &'p Program, marks: &'p Transactions, model: Model) -> Walk<'p> {
        let n = program.threads.len();
        Walk {
            machine: Machine { program, model },
            marks,
            open: vec![Open::Outside; n],
            txns: vec![0; n],
            buffers: vec![VecDeque::new(); n],
            last_txn: 0,
            events: Vec::new(),
            spans: Vec::new(),
            addrs: program.locs.iter().map(|l| l.addr).collect(),
        }
    }

    /// Follows a step from one state to the next; `None` if it is none.
    fn take(&mut self, state: &State, next: &State, step: Step) -> Option<()> {
        let (thread, edge) = match step {
            Step::Commit { thread, .. } => {
                let (write, span) = self.buffers[thread.index()].pop_front()?;
                self.events.push(TxnEvent { kind: TxnKind::Commit, ..write });
                self.spans.push(span);
                return Some(());
            }
            Step::Execute { thread, edge, .. } => (thread, edge as usize),
        };
        let t = thread.index();
        let local = &state.threads[t];
        let program = self.machine.program;
        let taken = program.threads[t].points[local.point.index()].edges.get(edge)?;
        let mark = self.marks.get(thread, local.point, edge);
        let (open, part) = self.open[t].after(mark, &taken.instr);
        self.open[t] = open;
        let Some(part) = part else { return Some(()) };
        if part == Part::New {
            self.last_txn += 1;
            self.txns[t] = self.last_txn;
        }
        let (kind, addr) = match &taken.instr {
            Instr::Load { addr, .. } => (TxnKind::Read, Some(addr)),
            Instr::Store { addr, .. } => (TxnKind::Write, Some(addr)),
            Instr::Update { addr, .. } => (TxnKind::Update, Some(addr)),
            _ => (TxnKind::Fence, None),
        };
        let var = match addr {
            Some(addr) => self.var(addr.eval(&local.regs).ok()?),
            None => 0,
        };
        let event = TxnEvent { thread: ThreadId::new(t).0, kind, var, txn: self.txns[t] };
        if next.threads[t].buffer.len() > local.buffer.len() {
            self.buffers[t].push_back((event, taken.span));
        }
        self.events.push(event);
        self.spans.push(taken.span);
        Some(())
    }

    fn var(&mut self, addr: Value) -> u32 {
        let known = self.addrs.iter().position(|&a| a == addr);
        known.unwrap_or_else(|| {
            self.addrs.push(addr);
            self.addrs.len() - 1
        }) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Undeclared;

    /// Wherever the search is stopped, there is no answer.
    #[test]
    fn searches_that_are_stopped() {
        let program = Program {
            threads: vec![],
            locs: vec![],
            wides: vec![],
            undeclared: Undeclared::Zero,
            observed: vec![],
            condition: None,
            forbidden: vec![],
        };
        let marks = Transactions::default();
        let asked = (Model::Tso, BufferedReads::Exact);
        let search = |verdict: &Verdict, most: usize| {
            let mut times = 0;
            let mut go_on = |_| {
                times += 1;
                times <= most
            };
            let said = search_transactions_within(&program, &marks, asked, verdict, 9, &mut go_on);
            (said, times)
        };
        let (said, times) = search(&Verdict::Holds, usize::MAX);
        assert!(said == Ok(()) && times > 0);
        for most in 0..times {
            for verdict in [Verdict::Holds, Verdict::Violated] {
                assert_eq!(search(&verdict, most).0, Err(Rejected::TooLarge(9)));
            }
        }
    }
}
