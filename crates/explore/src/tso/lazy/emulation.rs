//! A program that emulates another one: it does under SC what the original does under TSO or PSO.
//!
//! Control points, registers and edges are added and edges replaced, so each edge says which edge
//! of the original it stands for. A store that the original has issued but that sits in auxiliary
//! registers here is in the original's buffer; it leaves the buffer when the emulation stores it.

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{FailureKind, Machine, Outcome, Schedule, State, Step};
use weakspot_core::{Edge, Fence, Instr, Model, PointId, Program, Thread, ThreadId};

use crate::answer::NoAnswer;

/// A program and how its runs are to be read as runs of the original program.
#[derive(Clone, Debug)]
pub struct Emulation {
    /// What is run under SC. Threads, locations and the original's registers keep their ids.
    pub program: Program,
    /// Per thread, control point and edge: the edge that the original thread takes at the same
    /// time, from where it stands. `None` for edges that are there for bookkeeping only.
    takes: Vec<Vec<Vec<Option<u32>>>>,
    /// Per thread, how many registers the original has. Those behind them are auxiliary.
    original_regs: Vec<usize>,
}

/// An edge of a thread: an instruction at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// The control point.
    pub point: PointId,
    /// Which of its edges.
    pub edge: usize,
}

/// A thread of an emulation while it is being built.
pub(crate) struct Growing<'a> {
    pub(crate) thread: &'a mut Thread,
    takes: &'a mut Vec<Vec<Option<u32>>>,
}

impl Emulation {
    /// A program as the emulation of itself.
    #[must_use]
    pub fn of(program: &Program) -> Emulation {
        let takes = program.threads.iter().map(|thread| {
            let points = thread.points.iter();
            points.map(|p| (0..p.edges.len() as u32).map(Some).collect()).collect()
        });
        Emulation {
            takes: takes.collect(),
            original_regs: program.threads.iter().map(|t| t.regs.len()).collect(),
            program: program.clone(),
        }
    }

    /// How many registers of a thread are the original's own; they come first.
    #[must_use]
    pub(crate) fn original_regs(&self, thread: ThreadId) -> usize {
        self.original_regs[thread.index()]
    }

    /// About how many bytes it takes, with what a search keeps for each of its control points.
    pub(crate) fn bytes(&self) -> u64 {
        let thread = |t: &Thread| {
            let edges: usize = t.points.iter().map(|p| p.edges.len()).sum();
            t.points.len() * (100 + t.regs.len()) + 150 * edges
        };
        self.program.threads.iter().map(thread).sum::<usize>() as u64
    }

    /// The edge, and which edge of the original it stands for.
    pub(crate) fn edge(&self, thread: ThreadId, at: At) -> Option<(&Edge, Option<u32>)> {
        let points = &self.program.threads.get(thread.index())?.points;
        let edge = points.get(at.point.index())?.edges.get(at.edge)?;
        Some((edge, self.takes[thread.index()][at.point.index()][at.edge]))
    }

    /// A thread to be changed.
    pub(crate) fn grow(&mut self, thread: ThreadId) -> Growing<'_> {
        Growing {
            thread: &mut self.program.threads[thread.index()],
            takes: &mut self.takes[thread.index()],
        }
    }

    /// Puts a full fence before each atomic update: what an update waits for where it waits for
    /// all earlier stores of its thread.
    pub(crate) fn fence_updates(&mut self) {
        for t in 0..self.program.threads.len() {
            let mut growing = self.grow(ThreadId::new(t));
            for p in 0..growing.thread.points.len() {
                for e in 0..growing.thread.points[p].edges.len() {
                    let edge = growing.thread.points[p].edges[e].clone();
                    if let Instr::Update { .. } = edge.instr {
                        let behind = growing.point();
                        let at = At { point: PointId::new(p), edge: e };
                        let takes = growing.takes[p][e];
                        let instr = Instr::Fence(Fence::Full);
                        growing.replace(at, Edge { instr, to: behind, span: edge.span }, None);
                        growing.edge(behind, edge, takes);
                    }
                }
            }
        }
    }

    /// The run of the original under `model` that the run `sc` of the emulation under SC stands
    /// for.
    pub(crate) fn original_run(
        &self,
        original: &Program,
        model: Model,
        sc: &Schedule,
    ) -> Result<Schedule, NoAnswer> {
        let here = Machine { program: &self.program, model: Model::Sc };
        let mut state = here.initial_state(&sc.init);
        let mut there = Replay::new(original, model, sc);
        for (i, &step) in sc.steps.iter().enumerate() {
            let rejected = || NoAnswer::Rejected(Rejected::Step(i));
            let Step::Execute { thread, edge, choice } = step else { return Err(rejected()) };
            let at = At { point: state.threads[thread.index()].point, edge: edge as usize };
            let (taken, takes) = self.edge(thread, at).ok_or_else(rejected)?;
            let stored = match &taken.instr {
                Instr::Store { addr, .. } => Some(addr),
                Instr::Update { addr, .. } if takes.is_none() => Some(addr),
                _ => None,
            };
            let stored = stored.map(|addr| addr.eval(&state.threads[thread.index()].regs));
            if let Some(edge) = takes {
                let step = Step::Execute { thread, edge, choice };
                if there.take(step)?.ok_or_else(rejected)? == Went::Failed {
                    break;
                }
            }
            let Outcome::Next(next) = here.take(&state, step) else { return Err(rejected()) };
            state = next;
            if let Some(Ok(addr)) = stored {
                there.take(Step::Commit { thread, addr })?.ok_or_else(rejected)?;
            }
        }
        Ok(there.run)
    }
}

/// What a step of the original did.
#[derive(PartialEq, Eq)]
enum Went {
    On,
    /// It failed an assertion, which ends the run.
    Failed,
}

struct Replay<'p> {
    machine: Machine<'p>,
    state: State,
    run: Schedule,
}

impl<'p> Replay<'p> {
    fn new(program: &'p Program, model: Model, sc: &Schedule) -> Replay<'p> {
        let machine = Machine { program, model };
        let state = machine.initial_state(&sc.init);
        Replay { machine, state, run: Schedule { init: sc.init.clone(), steps: Vec::new() } }
    }

    /// `None` if the machine does not allow the step.
    fn take(&mut self, step: Step) -> Result<Option<Went>, NoAnswer> {
        let went = match self.machine.take(&self.state, step) {
            Outcome::Next(next) => {
                self.state = next;
                Went::On
            }
            Outcome::Failed(f) if f.kind == FailureKind::Assertion => Went::Failed,
            // A store is checked when it is issued; the emulation may find out only later.
            Outcome::Failed(failure) => return Err(NoAnswer::Fault(failure)),
            Outcome::Blocked => return Ok(None),
        };
        self.run.steps.push(step);
        Ok(Some(went))
    }
}

impl Growing<'_> {
    /// A new control point.
    pub(crate) fn point(&mut self) -> PointId {
        self.thread.points.push(weakspot_core::Point::default());
        self.takes.push(Vec::new());
        PointId::new(self.thread.points.len() - 1)
    }

    /// A new edge out of `from`.
    pub(crate) fn edge(&mut self, from: PointId, edge: Edge, takes: Option<u32>) {
        self.thread.points[from.index()].edges.push(edge);
        self.takes[from.index()].push(takes);
    }

    /// Puts an edge where another one was.
    pub(crate) fn replace(&mut self, at: At, edge: Edge, takes: Option<u32>) {
        self.thread.points[at.point.index()].edges[at.edge] = edge;
        self.takes[at.point.index()][at.edge] = takes;
    }

    /// Forgets all control points.
    pub(crate) fn clear(&mut self) {
        self.thread.points.clear();
        self.takes.clear();
    }
}
