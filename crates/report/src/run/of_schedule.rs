//! A run from a schedule of a program, replayed on the machine.

use std::collections::BTreeSet;

use weakspot_core::cycle::{Arc, Link};
use weakspot_core::machine::{Local, Schedule};
use weakspot_core::{EventId, Fence, Model, Names, Program, ThreadId, Value};

use super::communication::{MAX_EVENTS, communication};
use super::object::{
    ReadFrom, Run, RunArc, RunEnd, RunLate, RunLocation, RunStep, RunThread, RunValue, ScSays,
    StepKind,
};
use super::replay::{Did, Replay, Stop, Taken};
use super::telling::telling;
use crate::json::model_key;
use crate::text::diagnostic::failure_message;
use crate::text::show::{Lines, Show, clip, observed_value, plain};

/// Runs with more steps do not say after each of them what is in buffers and in memory.
const MAX_STATES: usize = 2_000;

/// The run that a schedule of a program is, with why SC does not allow it; `None` if it starts with other
/// locations than the program has.
#[must_use]
pub fn run_of_schedule(
    program: &Program,
    names: &Names,
    source: &str,
    model: Model,
    schedule: &Schedule,
) -> Option<Run> {
    of_schedule(Show { file: "", program, names, source }, model, schedule, true)
}

/// The run that a schedule is, `None` if it starts with other locations than the program has. A
/// schedule that the program does not allow is a run as far as it goes. With `compare` it says
/// whether SC allows the same.
pub(crate) fn of_schedule(
    show: Show<'_>,
    model: Model,
    schedule: &Schedule,
    compare: bool,
) -> Option<Run> {
    let replay = Replay::of(show.program, model, schedule)?;
    let of = Of { show, replay: &replay, lines: Lines::new(show.source) };
    let mut run = Run::new(model_key(model));
    let threads = 0..show.program.threads.len();
    run.threads = threads.map(|t| RunThread::new(show.thread(ThreadId::new(t)))).collect();
    run.init = of.init();
    run.locations = run.init.iter().map(|(name, _)| RunLocation::new(name.clone())).collect();
    run.steps = replay.steps.iter().enumerate().map(|(i, taken)| of.step(i, taken)).collect();
    of.put_reads(&mut run);
    of.put_states(&mut run);
    run.late = of.late();
    if let Stop::Failed(failure, edge) = &replay.stop {
        let mut step =
            RunStep::new(replay.steps.len() as u64 + 1, failure.thread.index(), StepKind::Fail);
        of.put_source(&mut step, &Taken { thread: failure.thread, edge, did: Did::Local(None) });
        step.note = Some(failure_message(show.program, show.names, failure));
        run.steps.push(step);
    }
    run.end = of.end();
    let events = replay.execution.events.len();
    if events <= MAX_EVENTS {
        run.relations = communication(&replay.execution).iter().map(|arc| of.arc(arc)).collect();
    }
    if compare && model != Model::Sc && !matches!(replay.stop, Stop::Impossible(_)) {
        // With accesses of different widths all pairs of events are looked at.
        let is_too_large = events > MAX_EVENTS && !replay.execution.wides.is_empty();
        run.sc = Some(match is_too_large {
            true => ScSays::NotChecked,
            false => match replay.cycle() {
                None => ScSays::Allows,
                Some(cycle) => {
                    let arc = |arc: &Arc| RunArc { why: of.reason(arc), ..of.arc(arc) };
                    run.cycle = cycle.iter().map(arc).collect();
                    ScSays::Forbids
                }
            },
        });
    }
    run.telling = telling(&run);
    run.mark_shared_lines();
    Some(run)
}

struct Of<'a> {
    show: Show<'a>,
    replay: &'a Replay<'a>,
    lines: Lines<'a>,
}

impl Of<'_> {
    /// The initial values of the cells that the run touches, or of all if it touches none.
    fn init(&self) -> Vec<(String, RunValue)> {
        let touched: BTreeSet<Value> =
            self.replay.steps.iter().filter_map(|t| address(&t.did)).collect();
        let start = &self.replay.start.memory;
        let all = || start.iter().map(|(&addr, _)| addr).collect();
        let shown = if touched.is_empty() { all() } else { touched };
        let value = |addr: &Value| self.show.program.content(start, *addr).unwrap_or(0);
        shown
            .iter()
            .map(|addr| (self.cell(*addr), self.show.value_at(*addr, value(addr))))
            .collect()
    }

    fn cell(&self, addr: Value) -> String {
        self.show.cell(addr).into_owned()
    }

    fn step(&self, i: usize, taken: &Taken<'_>) -> RunStep {
        let mut step = RunStep::new(i as u64 + 1, taken.thread.index(), kind(taken.did));
        let mut cell = |addr, value| {
            step.location = Some(self.cell(addr));
            step.value = Some(self.show.value_at(addr, value));
        };
        match taken.did {
            Did::Load { addr, value, .. } => cell(addr, value),
            Did::Store { addr, value, commit } => {
                cell(addr, value);
                step.effect = commit.map(|commit| commit as u64 + 1);
            }
            Did::Update { addr, old, new } => {
                cell(addr, new);
                step.old = Some(self.show.value_at(addr, old));
            }
            Did::Local(Some((reg, value))) => {
                let name = self.show.reg(taken.thread, reg).into_owned();
                step.sets = vec![(name, self.show.value_of(taken.thread, reg, value))];
            }
            Did::Commit { store } => {
                if let Did::Store { addr, value, .. } = self.replay.steps[store].did {
                    cell(addr, value);
                }
                step.of = Some(store as u64 + 1);
            }
            Did::Local(None) | Did::Fence(..) | Did::Lock | Did::Unlock => {}
        }
        if !matches!(taken.did, Did::Commit { .. }) {
            self.put_source(&mut step, taken);
        }
        step
    }

    fn put_source(&self, step: &mut RunStep, taken: &Taken<'_>) {
        step.text = Some(self.show.instr(taken.thread, taken.edge));
        if !clip(self.show.source, taken.edge.span).is_empty() {
            let (line, column) = self.lines.line_column(taken.edge.span);
            step.span = Some(taken.edge.span);
            step.file = self.show.source_file();
            (step.line, step.column) = (Some(line as u64), Some(column as u64));
            let end = self.lines.last_line(taken.edge.span);
            step.end_line = Some(end as u64).filter(|_| end > line);
        }
    }

    /// Says of each read where its value came from.
    fn put_reads(&self, run: &mut Run) {
        let execution = &self.replay.execution;
        for (i, event) in execution.events.iter().enumerate() {
            if event.op.read().is_none() {
                continue;
            }
            let (at, taken) = self.replay.issued(EventId::new(i));
            // Of the parts of a wide place, the last write that was read.
            let sources = execution.sources(EventId::new(i));
            let source = sources.iter().filter_map(|(_, from)| *from).max_by_key(|&w| self.n(w));
            run.steps[at].from = Some(match (taken.did, source) {
                (Did::Load { own: Some(_), .. }, _) => ReadFrom::Buffer,
                (_, Some(write)) => ReadFrom::Step(self.n(write)),
                (_, None) => ReadFrom::Memory,
            });
        }
    }

    /// Says after each step what is in buffers and in memory.
    fn put_states(&self, run: &mut Run) {
        if run.steps.len() > MAX_STATES {
            return;
        }
        let program = self.show.program;
        let mut memory = self.replay.start.memory.clone();
        let touched: BTreeSet<Value> =
            self.replay.steps.iter().filter_map(|t| address(&t.did)).collect();
        let mut pending: Vec<(ThreadId, usize, (Value, Value))> = Vec::new();
        for (i, taken) in self.replay.steps.iter().enumerate() {
            match taken.did {
                Did::Store { addr, value, commit } if commit == Some(i) => {
                    program.put(&mut memory, addr, value);
                }
                Did::Store { addr, value, .. } => pending.push((taken.thread, i, (addr, value))),
                Did::Update { addr, new, .. } => program.put(&mut memory, addr, new),
                Did::Commit { store } => {
                    if let Some(at) = pending.iter().position(|&(_, step, _)| step == store) {
                        let (_, _, (addr, value)) = pending.remove(at);
                        program.put(&mut memory, addr, value);
                    }
                }
                _ => {}
            }
            let content = |addr| program.content(&memory, addr).unwrap_or(0);
            let shown = |&addr: &Value| (self.cell(addr), self.show.value_at(addr, content(addr)));
            run.steps[i].memory = Some(touched.iter().map(shown).collect());
            let mut buffers = Vec::new();
            for thread in (0..self.show.program.threads.len()).map(ThreadId::new) {
                let mine = pending.iter().filter(|(of, ..)| *of == thread);
                let stores: Vec<_> = mine
                    .map(|(.., (addr, value))| {
                        (self.cell(*addr), self.show.value_at(*addr, *value))
                    })
                    .collect();
                if !stores.is_empty() {
                    buffers.push((self.show.thread(thread).into_owned(), stores));
                }
            }
            run.steps[i].buffers = Some(buffers);
        }
    }

    fn late(&self) -> Vec<RunLate> {
        let late = |(store, behind)| RunLate { store: store as u64 + 1, behind: behind as u64 + 1 };
        self.replay.overtakers().into_iter().map(late).collect()
    }

    fn end(&self) -> Option<RunEnd> {
        let replay = self.replay;
        Some(match &replay.stop {
            Stop::End if replay.machine.is_final(&replay.end) => {
                let values = replay.machine.observe(&replay.end);
                let Show { program, names, .. } = self.show;
                let named = values.iter().zip(&names.observed).enumerate();
                let state = named.map(|(i, (v, name))| {
                    (plain(name).into_owned(), observed_value(program, names, (i, *v)))
                });
                RunEnd::State(state.collect())
            }
            Stop::End => RunEnd::At(self.points()),
            Stop::Failed(failure, _) => {
                RunEnd::Fails(failure_message(self.show.program, self.show.names, failure))
            }
            Stop::Impossible(step) => RunEnd::Impossible(*step as u64 + 1),
        })
    }

    /// Where the threads stand, as far as these places have names.
    fn points(&self) -> Vec<(String, String)> {
        let names = &self.show.names.points;
        let stand = |(t, local): (usize, &Local)| {
            let point = names.get(t)?.get(local.point.index()).filter(|name| !name.is_empty())?;
            Some((self.show.thread(ThreadId::new(t)).into_owned(), plain(point).into_owned()))
        };
        self.replay.end.threads.iter().enumerate().filter_map(stand).collect()
    }

    /// The number of the step that issued an event.
    fn n(&self, event: EventId) -> u64 {
        self.replay.issued(event).0 as u64 + 1
    }

    fn arc(&self, arc: &Arc) -> RunArc {
        let Arc { from, link, to } = *arc;
        RunArc { from: self.n(from), to: self.n(to), edge: link.name(), why: String::new() }
    }

    fn reason(&self, arc: &Arc) -> String {
        let op = |e: EventId| self.replay.issued(e).1;
        let cell_value = |read: bool| match op(arc.from).did {
            Did::Load { addr, value, .. } | Did::Store { addr, value, .. } => {
                self.show.cell_value(addr, value)
            }
            Did::Update { addr, old, new } => {
                self.show.cell_value(addr, if read { old } else { new })
            }
            _ => String::new(),
        };
        match arc.link {
            Link::Po => format!("program order of {}", self.show.thread(op(arc.from).thread)),
            Link::Rf => format!("wrote {}, which the next reads", cell_value(false)),
            Link::Co => format!("wrote {}, which the next overwrites", cell_value(false)),
            Link::Fr => format!("read {}, which the next overwrites", cell_value(true)),
            Link::Block => "in one atomic block with the next".to_owned(),
            Link::Start => "starts the thread of the next".to_owned(),
            Link::Join => "in the thread that the next waits for".to_owned(),
        }
    }
}

fn kind(did: Did) -> StepKind {
    match did {
        Did::Local(_) => StepKind::Local,
        Did::Load { .. } => StepKind::Load,
        Did::Store { .. } => StepKind::Store,
        Did::Update { .. } => StepKind::Update,
        Did::Fence(Fence::Full) => StepKind::Fence,
        Did::Fence(Fence::StoreStore) => StepKind::StoreFence,
        Did::Lock => StepKind::Lock,
        Did::Unlock => StepKind::Unlock,
        Did::Commit { .. } => StepKind::Commit,
    }
}

/// The cell that a step reads or writes.
fn address(did: &Did) -> Option<Value> {
    match *did {
        Did::Load { addr, .. } | Did::Store { addr, .. } | Did::Update { addr, .. } => Some(addr),
        _ => None,
    }
}
