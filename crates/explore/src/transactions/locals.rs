//! The local states of one thread of a [`Marked`] program: control point, live registers, buffer.
//!
//! Only events are steps of the search. What memory does not see happens at once after the event
//! before it: that commutes with all that other threads do, and whoever does not get to it in a run
//! might as well have. So a thread *stops* where an event may follow, or where nothing can.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use weakspot_core::machine::{Failure, FailureKind, Step};
use weakspot_core::{Edge, Fence, Instr, Limit, Model, Part, PointId, ThreadId, Value, is_event};

use super::marked::Marked;
use crate::buffers::local::{newest, stores_in_a_loop};
use crate::buffers::space::Stop;
use crate::eval::eval;
use crate::intern::Interner;
use crate::liveness::live_registers;
use crate::memory::Memories;
use crate::meter::Meter;

/// An event that may follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    pub(super) edge: u32,
    pub(super) part: Part,
    pub(super) what: What,
}

/// What an event does.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// Reads memory, or this value from the buffer.
    Read {
        loc: u32,
        buffered: Option<Value>,
    },
    Store {
        loc: u32,
        value: Value,
    },
    Update {
        loc: u32,
    },
    Fence,
    Lock,
    Unlock,
    Fail(FailureKind),
}

pub(super) struct Locals<'p> {
    pub(super) thread: ThreadId,
    marked: &'p Marked,
    model: Model,
    live: Vec<Vec<bool>>,
    states: Interner<Value>,
    acts: FxHashMap<u32, Rc<[Act]>>,
    stops: FxHashMap<u32, Rc<[u32]>>,
    /// How many stores the buffer may hold, if the thread stores in a loop.
    buffer_limit: Option<usize>,
    pub(super) was_full: bool,
    bytes: usize,
    scratch: Vec<Value>,
}

impl<'p> Locals<'p> {
    pub(super) fn new(marked: &'p Marked, model: Model, t: usize, limit: usize) -> Locals<'p> {
        let thread = ThreadId::new(t);
        let loops = stores_in_a_loop(&marked.program.threads[t]);
        Locals {
            thread,
            marked,
            model,
            live: live_registers(&marked.program, thread),
            states: Interner::new(),
            acts: FxHashMap::default(),
            stops: FxHashMap::default(),
            buffer_limit: (model != Model::Sc && loops).then_some(limit),
            was_full: false,
            bytes: 0,
            scratch: Vec::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.states.bytes() + (self.acts.capacity() + self.stops.capacity()) * 24 + self.bytes
    }

    pub(super) fn initial(&mut self) -> u32 {
        let code = &self.marked.program.threads[self.thread.index()];
        self.intern(code.entry, &code.regs, &[])
    }

    fn intern(&mut self, point: PointId, regs: &[Value], buffer: &[Value]) -> u32 {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.push(Value::from(point.0));
        let live = &self.live[point.index()];
        scratch.extend(regs.iter().zip(live).map(|(&v, &live)| if live { v } else { 0 }));
        scratch.extend_from_slice(buffer);
        let id = self.states.insert(&scratch).0;
        self.scratch = scratch;
        id
    }

    fn point(&self, local: u32) -> PointId {
        PointId(self.states.get(local)[0] as u32)
    }

    fn regs(&self, local: u32) -> &[Value] {
        let count = self.marked.program.threads[self.thread.index()].regs.len();
        &self.states.get(local)[1..=count]
    }

    /// The stores in the buffer: location and value in turn.
    pub(super) fn buffer(&self, local: u32) -> &[Value] {
        let count = self.marked.program.threads[self.thread.index()].regs.len();
        &self.states.get(local)[1 + count..]
    }

    fn edges(&self, local: u32) -> &'p [Edge] {
        &self.marked.program.threads[self.thread.index()].points[self.point(local).index()].edges
    }

    /// Whether a transaction is open that may go on.
    pub(super) fn is_open(&self, local: u32) -> bool {
        self.marked.open[self.thread.index()][self.point(local).index()]
    }

    /// Whether no event of the thread can follow, besides commits.
    pub(super) fn is_last(&mut self, local: u32, mems: &mut Memories) -> bool {
        self.acts(local, mems).is_empty()
    }

    pub(super) fn failure(&self, local: u32, edge: u32, kind: FailureKind) -> Failure {
        Failure { thread: self.thread, span: self.edges(local)[edge as usize].span, kind }
    }

    /// The events that may follow.
    pub(super) fn acts(&mut self, local: u32, mems: &mut Memories) -> Rc<[Act]> {
        if let Some(acts) = self.acts.get(&local) {
            return acts.clone();
        }
        let parts = &self.marked.parts[self.thread.index()][self.point(local).index()];
        let mut acts = Vec::new();
        for (i, edge) in self.edges(local).iter().enumerate() {
            let Some(part) = parts[i] else { continue };
            let what = self.what(local, &edge.instr, mems).unwrap_or_else(What::Fail);
            acts.push(Act { edge: i as u32, part, what });
        }
        self.bytes += acts.len() * size_of::<Act>() + 16;
        let acts: Rc<[Act]> = acts.into();
        self.acts.insert(local, acts.clone());
        acts
    }

    fn what(&self, local: u32, instr: &Instr, mems: &mut Memories) -> Result<What, FailureKind> {
        let regs = self.regs(local);
        Ok(match instr {
            Instr::Load { addr, .. } => {
                let loc = mems.loc(eval(addr, regs)?)?;
                What::Read { loc, buffered: newest(self.buffer(local), loc) }
            }
            Instr::Store { addr, value } => {
                let value = eval(value, regs);
                let loc = mems.loc(eval(addr, regs)?)?;
                let value = value?;
                mems.check(loc, value)?;
                What::Store { loc, value }
            }
            Instr::Update { addr, .. } => What::Update { loc: mems.loc(eval(addr, regs)?)? },
            Instr::Lock => What::Lock,
            Instr::Unlock => What::Unlock,
            _ => What::Fence,
        })
    }

    /// After an act that saw this value in memory: the value to be stored there, if there is one,
    /// and the local state. `None` if the act has to wait.
    pub(super) fn after(
        &mut self,
        local: u32,
        act: Act,
        seen: Value,
        mems: &Memories,
    ) -> Result<Option<(Option<Value>, u32)>, FailureKind> {
        let edge = &self.edges(local)[act.edge as usize];
        let mut regs = self.regs(local).to_vec();
        let mut buffer = self.buffer(local).to_vec();
        let waits = !buffer.is_empty();
        let mut stored = None;
        match (act.what, &edge.instr) {
            (What::Read { buffered, .. }, Instr::Load { reg, .. }) => {
                regs[reg.index()] = buffered.unwrap_or(seen);
            }
            (What::Store { value, .. }, _) if self.model == Model::Sc => stored = Some(value),
            (What::Store { loc, value }, _) => {
                if self.buffer_limit.is_some_and(|limit| buffer.len() / 2 >= limit) {
                    self.was_full = true;
                    return Ok(None);
                }
                buffer.extend([Value::from(loc), value]);
            }
            (What::Update { loc }, Instr::Update { reg, value, .. }) if !waits => {
                regs[reg.index()] = seen;
                let new = eval(value, &regs)?;
                mems.check(loc, new)?;
                stored = Some(new);
            }
            (What::Fence | What::Lock | What::Unlock, _) if !waits => {}
            (What::Fail(kind), _) => return Err(kind),
            _ => return Ok(None),
        }
        Ok(Some((stored, self.intern(edge.to, &regs, &buffer))))
    }

    /// After the oldest store has left the buffer.
    pub(super) fn committed(&mut self, local: u32) -> u32 {
        let regs = self.regs(local).to_vec();
        let buffer = self.buffer(local).get(2..).unwrap_or_default().to_vec();
        self.intern(self.point(local), &regs, &buffer)
    }

    /// Where the thread may stop, from `local` on.
    pub(super) fn stops(
        &mut self,
        local: u32,
        mems: &Memories,
        meter: &mut Meter<'_>,
    ) -> Result<Rc<[u32]>, Stop> {
        if let Some(stops) = self.stops.get(&local) {
            return Ok(stops.clone());
        }
        let mut stops = Vec::new();
        let mut seen = FxHashSet::from_iter([local]);
        let mut todo = vec![local];
        while let Some(at) = todo.pop() {
            let bytes = mems.bytes() + self.bytes() + seen.len() * 16;
            meter.work(|| (todo.len() as u64, bytes as u64)).map_err(Stop::Limit)?;
            let mut moved = false;
            self.unseen_steps(at, &mut |next, _| {
                moved = true;
                if seen.insert(next) {
                    todo.push(next);
                }
            })?;
            let is_stop = self.edges(at).iter().any(|edge| is_event(&edge.instr));
            if is_stop || !moved {
                stops.push(at);
            }
        }
        // A thread that is busy with itself for ever.
        if stops.is_empty() {
            stops.push(local);
        }
        stops.sort_unstable();
        self.bytes += stops.len() * 4 + 16;
        let stops: Rc<[u32]> = stops.into();
        self.stops.insert(local, stops.clone());
        Ok(stops)
    }

    /// The steps from `local` to the stop `to`.
    pub(super) fn steps_to(&mut self, local: u32, to: u32) -> Vec<Step> {
        let mut came: FxHashMap<u32, Option<(u32, Step)>> = FxHashMap::from_iter([(local, None)]);
        let mut todo = std::collections::VecDeque::from([local]);
        while let Some(at) = todo.pop_front() {
            if at == to {
                break;
            }
            // What fails was met by the search, which ended there.
            let _ = self.unseen_steps(at, &mut |next, step| {
                came.entry(next).or_insert_with(|| {
                    todo.push_back(next);
                    Some((at, step))
                });
            });
        }
        let mut steps = Vec::new();
        let mut at = to;
        while let Some(&Some((from, step))) = came.get(&at) {
            steps.push(step);
            at = from;
        }
        steps.reverse();
        steps
    }

    /// The steps that memory does not see. An assertion that fails is one that does not pass.
    fn unseen_steps(&mut self, local: u32, each: &mut dyn FnMut(u32, Step)) -> Result<(), Stop> {
        let thread = self.thread;
        let regs = self.regs(local).to_vec();
        let buffer = self.buffer(local).to_vec();
        for (i, edge) in self.edges(local).iter().enumerate() {
            let fault = |kind| Stop::Fault(Failure { thread, span: edge.span, kind });
            let step = |choice| Step::Execute { thread, edge: i as u32, choice };
            let mut with = |this: &mut Self, reg: usize, value: Value, choice: Value| {
                let mut regs = regs.clone();
                regs[reg] = value;
                each(this.intern(edge.to, &regs, &buffer), step(choice));
            };
            match &edge.instr {
                Instr::Nop | Instr::Fence(Fence::StoreStore) => {
                    each(self.intern(edge.to, &regs, &buffer), step(0));
                }
                Instr::Assign { reg, value } => {
                    let value = eval(value, &regs).map_err(fault)?;
                    with(self, reg.index(), value, 0);
                }
                Instr::Choose { reg, low, high } => {
                    (*low..=*high).for_each(|choice| with(self, reg.index(), choice, choice));
                }
                Instr::Assume(e) | Instr::Assert(e) => {
                    let passes = eval(e, &regs).map_err(fault)? != 0;
                    if passes {
                        each(self.intern(edge.to, &regs, &buffer), step(0));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The limit that was met, if the buffer was full.
    pub(super) fn limit(&self) -> Option<Limit> {
        let entries = self.buffer_limit.filter(|_| self.was_full)?;
        Some(Limit::Buffer { thread: self.thread, entries, unbounded: false })
    }
}
