//! The operational meaning of SC, TSO and PSO, written for reading and not for speed.
//!
//! Follows Figs. 1-3 of the monitoring paper and Fig. 2 of the lazy TSO paper. A store enters its
//! thread's buffer, a commit moves it to memory, a load looks into its own thread's buffer first.
//! Under SC a store goes to memory at once; under TSO commits keep the order of the buffer; under
//! PSO they keep only the order of stores to one address, and a store-store fence leaves a barrier
//! in the buffer that no later store passes.
//!
//! The papers let an update *drain* the buffer as part of its step. Here it *waits* until commits
//! have emptied the buffer, which reaches the same states and keeps each step small.
//!
//! Accesses may overlap without being equal (see [`Wide`](crate::Wide)): a load then takes each of
//! its cells from the newest buffered store that covers it, else from memory, and under PSO a store
//! overtakes older ones with which it shares no cell.

use crate::{
    Drain, Edge, Expr, Fence, Instr, Memory, Model, PointId, Program, Span, ThreadId, Undeclared,
    Value,
};

/// A program on a memory model.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'p> {
    /// The program that is run.
    pub program: &'p Program,
    /// The memory that it runs on.
    pub model: Model,
}

/// A state of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Each thread.
    pub threads: Vec<Local>,
    /// The memory: declared locations, and others once they have been stored to.
    pub memory: Memory,
    /// Who holds the global lock.
    pub lock: Option<ThreadId>,
}

/// The part of a state that belongs to one thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// Where it stands.
    pub point: PointId,
    /// Its registers.
    pub regs: Vec<Value>,
    /// Its store buffer, oldest entry first.
    pub buffer: Vec<Entry>,
}

/// An entry of a store buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A store that is not yet in memory.
    Store {
        /// Where it goes.
        addr: Value,
        /// What it stores.
        value: Value,
    },
    /// A store-store fence (PSO only).
    Barrier,
}

/// One step of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A thread takes an edge of the control point at which it stands.
    Execute {
        /// Who.
        thread: ThreadId,
        /// Which edge.
        edge: u32,
        /// The value that a [`Instr::Choose`] takes; 0 for every other instruction.
        choice: Value,
    },
    /// The oldest buffered store of a thread to an address reaches memory.
    Commit {
        /// Whose store.
        thread: ThreadId,
        /// To where.
        addr: Value,
    },
}

/// A run of the machine: where memory starts and what happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The initial value of each declared location.
    pub init: Vec<Value>,
    /// The steps.
    pub steps: Vec<Step>,
}

impl Schedule {
    /// This run of the SC machine as a run under `model` in which every store reaches memory at
    /// once. `None` if it is not a run of the SC machine.
    #[must_use]
    pub fn committing_at_once(&self, program: &Program, model: Model) -> Option<Schedule> {
        let machine = Machine { program, model };
        let mut state = machine.initial_state(&self.init);
        let mut steps = Vec::new();
        let mut take = |state: &mut State, step| match machine.take(state, step) {
            Outcome::Next(next) => {
                *state = next;
                steps.push(step);
                Some(())
            }
            Outcome::Blocked | Outcome::Failed(_) => None,
        };
        for &step in &self.steps {
            take(&mut state, step)?;
            for t in 0..state.threads.len() {
                if let Some(&Entry::Store { addr, .. }) = state.threads[t].buffer.first() {
                    take(&mut state, Step::Commit { thread: ThreadId::new(t), addr })?;
                }
            }
        }
        Some(Schedule { init: self.init.clone(), steps })
    }
}

/// Why a run cannot go on, and where in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The thread at fault.
    pub thread: ThreadId,
    /// The instruction at fault.
    pub span: Span,
    /// What happened.
    pub kind: FailureKind,
}

/// What went wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// An assertion does not hold. This is an answer about the program; the others say that the
    /// program is wrong.
    Assertion,
    /// An access to an address where no location was declared.
    BadAddress(Value),
    /// A store of a value outside the declared range of its location.
    OutOfRange(Value),
    /// A division or remainder by zero.
    DivisionByZero,
}

/// What an attempt to take a step gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The next state.
    Next(State),
    /// The step is not possible in this state.
    Blocked,
    /// The run fails.
    Failed(Failure),
}

impl<'p> Machine<'p> {
    /// The initial states: one for each choice of the locations' initial values.
    #[must_use]
    pub fn initial_states(&self) -> Vec<State> {
        self.initial_values().map(|init| self.initial_state(&init)).collect()
    }

    /// The initial values of the declared locations: every combination. There may be very many, so
    /// they are made one by one; the last location changes fastest.
    pub fn initial_values(&self) -> impl Iterator<Item = Vec<Value>> + use<'p> {
        let locs = &self.program.locs;
        let first = locs.iter().all(|l| !l.init.is_empty()).then(|| vec![0; locs.len()]);
        let choices = std::iter::successors(first, |choice: &Vec<usize>| {
            let turn = (0..choice.len()).rfind(|&i| choice[i] + 1 < locs[i].init.len())?;
            let mut next = choice.clone();
            next[turn] += 1;
            next[turn + 1..].fill(0);
            Some(next)
        });
        choices.map(|choice| locs.iter().zip(choice).map(|(l, c)| l.init[c]).collect())
    }

    /// The initial state in which the declared locations hold `init`.
    #[must_use]
    pub fn initial_state(&self, init: &[Value]) -> State {
        State {
            threads: self
                .program
                .threads
                .iter()
                .map(|t| Local { point: t.entry, regs: t.regs.clone(), buffer: Vec::new() })
                .collect(),
            memory: self.program.locs.iter().zip(init).map(|(l, &v)| (l.addr, v)).collect(),
            lock: None,
        }
    }

    /// Every step that is worth trying in `state`; some may turn out to be blocked.
    #[must_use]
    pub fn steps(&self, state: &State) -> Vec<Step> {
        let mut steps = Vec::new();
        for (t, local) in state.threads.iter().enumerate() {
            let thread = ThreadId::new(t);
            for (i, edge) in self.edges(thread, local).iter().enumerate() {
                let choices = match edge.instr {
                    Instr::Choose { low, high, .. } => low..=high,
                    _ => 0..=0,
                };
                let edge = i as u32;
                steps.extend(choices.map(|choice| Step::Execute { thread, edge, choice }));
            }
            for (i, entry) in local.buffer.iter().enumerate() {
                if let Entry::Store { addr, .. } = *entry
                    && self.commits_next(&local.buffer, addr) == Some(i)
                {
                    steps.push(Step::Commit { thread, addr });
                }
            }
        }
        steps
    }

    /// Takes one step.
    #[must_use]
    pub fn take(&self, state: &State, step: Step) -> Outcome {
        let mut next = state.clone();
        match self.advance(&mut next, step) {
            Ok(true) => Outcome::Next(next),
            Ok(false) => Outcome::Blocked,
            Err(failure) => Outcome::Failed(failure),
        }
    }

    /// Takes one step in place: false if it is not possible, and then the state stays as it is.
    ///
    /// # Errors
    /// The run fails; the state is then of no use.
    pub fn advance(&self, state: &mut State, step: Step) -> Result<bool, Failure> {
        let thread = match step {
            Step::Execute { thread, .. } | Step::Commit { thread, .. } => thread,
        };
        if thread.index() >= state.threads.len() || state.lock.is_some_and(|owner| owner != thread)
        {
            return Ok(false);
        }
        match step {
            Step::Commit { addr, .. } => Ok(self.commit(state, thread, addr)),
            Step::Execute { edge, choice, .. } => {
                match self.edges(thread, &state.threads[thread.index()]).get(edge as usize) {
                    None => Ok(false),
                    // Where nothing is to be chosen, nothing else was.
                    Some(edge) if choice != 0 && !matches!(edge.instr, Instr::Choose { .. }) => {
                        Ok(false)
                    }
                    Some(edge) => self
                        .execute(state, thread, edge, choice)
                        .map_err(|kind| Failure { thread, span: edge.span, kind }),
                }
            }
        }
    }

    /// All threads have terminated and all buffers have drained.
    #[must_use]
    pub fn is_final(&self, state: &State) -> bool {
        state.threads.iter().enumerate().all(|(t, local)| {
            local.buffer.is_empty() && self.edges(ThreadId::new(t), local).is_empty()
        })
    }

    /// The projection of a state to what the program observes.
    #[must_use]
    pub fn observe(&self, state: &State) -> Vec<Value> {
        use crate::Observable;
        let value = |what| match what {
            Observable::Reg(t, r) => state.threads[ThreadId::index(t)].regs[r.index()],
            Observable::Loc(l) => match self.program.wide(l) {
                None => state.memory[&self.program.locs[l.index()].addr],
                Some(wide) => self.program.content(&state.memory, wide.addr).unwrap_or(0),
            },
        };
        self.program.observed.iter().map(|o| o.view.apply(value(o.what))).collect()
    }

    fn edges(&self, thread: ThreadId, local: &Local) -> &'p [Edge] {
        &self.program.threads[thread.index()].points[local.point.index()].edges
    }

    /// The position in `buffer` of the store to `addr` that may reach memory now.
    fn commits_next(&self, buffer: &[Entry], addr: Value) -> Option<usize> {
        let to_addr = |e: &Entry| matches!(e, Entry::Store { addr: a, .. } if *a == addr);
        match self.model {
            Model::Sc => None,
            Model::Tso => buffer.first().filter(|e| to_addr(e)).map(|_| 0),
            Model::Pso(_) => {
                let at =
                    buffer.iter().take_while(|e| !matches!(e, Entry::Barrier)).position(to_addr)?;
                let free = self.program.wides.is_empty() || !self.is_covered(&buffer[..at], addr);
                free.then_some(at)
            }
        }
    }

    /// Whether some store in `buffer` shares a location with `addr`.
    fn is_covered(&self, buffer: &[Entry], addr: Value) -> bool {
        buffer.iter().any(|e| {
            matches!(e, Entry::Store { addr: a, .. } if self.program.addresses_overlap(*a, addr))
        })
    }

    /// What a load from `addr` finds in the buffer of its thread or else in memory.
    fn find(&self, buffer: &[Entry], memory: &Memory, addr: Value) -> Result<Value, FailureKind> {
        let program = self.program;
        let in_memory = self.read(memory, addr)?;
        let newest = |found: &dyn Fn(Value, Value) -> Option<Value>| {
            buffer.iter().rev().find_map(|e| match e {
                Entry::Store { addr, value } => found(*addr, *value),
                Entry::Barrier => None,
            })
        };
        let (false, Some(loc)) = (program.wides.is_empty(), program.loc_at(addr)) else {
            return Ok(newest(&|a, value| (a == addr).then_some(value)).unwrap_or(in_memory));
        };
        let cell = |cell| {
            let found = newest(&|a, value| program.part(program.loc_at(a)?, value, cell));
            found.unwrap_or_else(|| memory[&program.locs[cell.index()].addr])
        };
        Ok(program.wide(loc).map_or_else(|| cell(loc), |wide| wide.join(cell)))
    }

    fn commit(&self, state: &mut State, thread: ThreadId, addr: Value) -> bool {
        let buffer = &mut state.threads[thread.index()].buffer;
        let Some(at) = self.commits_next(buffer, addr) else { return false };
        if let Entry::Store { addr, value } = buffer.remove(at) {
            self.program.put(&mut state.memory, addr, value);
        }
        while buffer.first() == Some(&Entry::Barrier) {
            buffer.remove(0);
        }
        true
    }

    /// False means blocked.
    fn execute(
        &self,
        state: &mut State,
        thread: ThreadId,
        edge: &Edge,
        choice: Value,
    ) -> Result<bool, FailureKind> {
        let State { threads, memory, lock } = state;
        let Local { point, regs, buffer } = &mut threads[thread.index()];
        let eval = |e: &Expr, regs: &[Value]| e.eval(regs).map_err(|_| FailureKind::DivisionByZero);
        match &edge.instr {
            Instr::Nop => {}
            Instr::Assign { reg, value } => regs[reg.index()] = eval(value, regs)?,
            Instr::Choose { reg, low, high } => {
                if !(*low..=*high).contains(&choice) {
                    return Ok(false);
                }
                regs[reg.index()] = choice;
            }
            Instr::Assume(e) => {
                if eval(e, regs)? == 0 {
                    return Ok(false);
                }
            }
            Instr::Assert(e) => {
                if eval(e, regs)? == 0 {
                    return Err(FailureKind::Assertion);
                }
            }
            Instr::Load { reg, addr } => {
                let addr = eval(addr, regs)?;
                regs[reg.index()] = self.find(buffer, memory, addr)?;
            }
            Instr::Store { addr, value } => {
                let (addr, value) = (eval(addr, regs)?, eval(value, regs)?);
                self.check_store(addr, value)?;
                if self.model == Model::Sc {
                    self.program.put(memory, addr, value);
                } else {
                    buffer.push(Entry::Store { addr, value });
                }
            }
            Instr::Update { reg, addr, value } => {
                let addr = eval(addr, regs)?;
                let old = self.read(memory, addr)?;
                if !self.update_may_run(buffer, addr) {
                    return Ok(false);
                }
                regs[reg.index()] = old;
                let value = eval(value, regs)?;
                self.check_store(addr, value)?;
                self.program.put(memory, addr, value);
            }
            Instr::Fence(Fence::Full) => {
                if !buffer.is_empty() {
                    return Ok(false);
                }
            }
            Instr::Fence(Fence::StoreStore) => {
                if matches!(self.model, Model::Pso(_)) && !buffer.is_empty() {
                    buffer.push(Entry::Barrier);
                }
            }
            Instr::Lock => {
                if lock.is_some() || !buffer.is_empty() {
                    return Ok(false);
                }
                *lock = Some(thread);
            }
            Instr::Unlock => {
                if *lock != Some(thread) || !buffer.is_empty() {
                    return Ok(false);
                }
                *lock = None;
            }
        }
        *point = edge.to;
        Ok(true)
    }

    fn update_may_run(&self, buffer: &[Entry], addr: Value) -> bool {
        match self.model {
            Model::Sc | Model::Tso | Model::Pso(Drain::All) => buffer.is_empty(),
            Model::Pso(Drain::Own) => {
                !buffer.contains(&Entry::Barrier) && !self.is_covered(buffer, addr)
            }
        }
    }

    fn read(&self, memory: &Memory, addr: Value) -> Result<Value, FailureKind> {
        match (self.program.content(memory, addr), self.program.undeclared) {
            (Some(v), _) => Ok(v),
            (None, Undeclared::Zero) => Ok(0),
            (None, Undeclared::Fault) => Err(FailureKind::BadAddress(addr)),
        }
    }

    fn check_store(&self, addr: Value, value: Value) -> Result<(), FailureKind> {
        match self.program.loc_at(addr) {
            Some(l) => match self.program.locs.get(l.index()).and_then(|l| l.range) {
                Some((low, high)) if !(low..=high).contains(&value) => {
                    Err(FailureKind::OutOfRange(value))
                }
                _ => Ok(()),
            },
            None if self.program.undeclared == Undeclared::Zero => Ok(()),
            None => Err(FailureKind::BadAddress(addr)),
        }
    }
}
