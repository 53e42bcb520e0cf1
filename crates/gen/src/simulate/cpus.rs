//! The CPUs in front of the caches: in order, with one access under way, or, with store buffers,
//! one access of the CPU and one of its buffer.

use std::collections::VecDeque;

use weakspot_core::{History, INITIAL, OpKind};

use super::cache::{Data, EMPTY, PER_LINE, line_of, slot_of};
use crate::Recorded;

/// The most stores that a store buffer holds.
const BUFFER: usize = 8;

/// Who of a CPU accesses its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The CPU.
    Cpu,
    /// Its store buffer.
    Buffer,
}

pub(super) struct Cpus {
    ops: History,
    cpus: Vec<Cpu>,
    buffered: bool,
    order: Vec<u32>,
    /// Per line the last writes of its variables, for the check of copies.
    latest: Vec<Data>,
    /// CPUs with work left.
    live: usize,
}

struct Cpu {
    next: u32,
    end: u32,
    waits: bool,
    buffer: VecDeque<u32>,
    buffer_waits: bool,
    /// What an update that has been split has read already.
    peeked: Option<u32>,
}

impl Cpus {
    pub(super) fn new(client: &History, buffered: bool) -> Cpus {
        let cpus: Vec<Cpu> = (0..client.threads())
            .map(|t| Cpu {
                next: client.of_thread(t).start,
                end: client.of_thread(t).end,
                waits: false,
                buffer: VecDeque::new(),
                buffer_waits: false,
                peeked: None,
            })
            .collect();
        Cpus {
            ops: client.clone(),
            live: cpus.iter().filter(|cpu| cpu.next < cpu.end).count(),
            cpus,
            buffered,
            order: Vec::with_capacity(client.len()),
            latest: vec![EMPTY; client.vars().div_ceil(PER_LINE)],
        }
    }

    pub(super) fn buffered(&self) -> bool {
        self.buffered
    }

    pub(super) fn all_done(&self) -> bool {
        self.live == 0
    }

    /// How many operations have taken effect.
    pub(super) fn done(&self) -> usize {
        self.order.len()
    }

    pub(super) fn var(&self, op: u32) -> u32 {
        self.ops.var(op)
    }

    pub(super) fn kind(&self, op: u32) -> OpKind {
        self.ops.kind(op)
    }

    /// The last writes to the variables of a line.
    pub(super) fn latest(&self, line: u32) -> Data {
        self.latest.get(line as usize).copied().unwrap_or(EMPTY)
    }

    /// The operation that the CPU or its buffer should do next, unless it waits for one.
    pub(super) fn wants(&self, cpu: usize, who: Who) -> Option<u32> {
        let cpu = &self.cpus[cpu];
        match who {
            Who::Cpu => (!cpu.waits && cpu.next < cpu.end).then_some(cpu.next),
            Who::Buffer if cpu.buffer_waits => None,
            Who::Buffer => cpu.buffer.front().copied(),
        }
    }

    /// Does what needs no cache: a fence, a store into the buffer, a load out of it.
    pub(super) fn does_alone(&mut self, cpu: usize, op: u32, who: Who) -> bool {
        if who == Who::Buffer {
            return false;
        }
        let (kind, var) = (self.ops.kind(op), self.ops.var(op));
        let me = &mut self.cpus[cpu];
        match kind {
            OpKind::Fence if me.buffer.is_empty() => self.order.push(op),
            OpKind::Write if self.buffered && me.buffer.len() < BUFFER => me.buffer.push_back(op),
            OpKind::Read => match me.buffer.iter().rev().find(|&&w| self.ops.var(w) == var) {
                Some(&own) => {
                    self.ops.set_from(op, own);
                    self.order.push(op);
                }
                None => return false,
            },
            _ => return false,
        }
        self.advance(cpu);
        true
    }

    /// Whether the operation may go to the cache now.
    pub(super) fn may_access(&self, cpu: usize, op: u32, who: Who) -> bool {
        match self.ops.kind(op) {
            OpKind::Fence => false,
            OpKind::Read => true,
            OpKind::Write => who == Who::Buffer || !self.buffered,
            OpKind::Update => self.cpus[cpu].buffer.is_empty(),
        }
    }

    /// The access has been asked for.
    pub(super) fn wait(&mut self, cpu: usize, who: Who) {
        match who {
            Who::Cpu => self.cpus[cpu].waits = true,
            Who::Buffer => self.cpus[cpu].buffer_waits = true,
        }
    }

    /// An update reads without being done.
    pub(super) fn peek(&mut self, cpu: usize, op: u32, data: &Data) {
        self.cpus[cpu].peeked = Some(data[slot_of(self.ops.var(op))]);
    }

    /// The operation takes effect on the line.
    pub(super) fn perform(&mut self, cpu: usize, op: u32, data: &mut Data) {
        let (kind, var) = (self.ops.kind(op), self.ops.var(op));
        let slot = slot_of(var);
        match kind {
            OpKind::Read => self.ops.set_from(op, data[slot]),
            OpKind::Update => {
                let peeked = self.cpus[cpu].peeked.take();
                self.ops.set_from(op, peeked.unwrap_or(data[slot]));
            }
            OpKind::Write | OpKind::Fence => {}
        }
        if matches!(kind, OpKind::Write | OpKind::Update) {
            data[slot] = op;
            self.latest[line_of(var) as usize][slot] = op;
        }
        self.order.push(op);
        if self.buffered && kind == OpKind::Write {
            let me = &mut self.cpus[cpu];
            me.buffer.pop_front();
            me.buffer_waits = false;
            if me.buffer.is_empty() && me.next == me.end {
                self.live -= 1;
            }
        } else {
            self.advance(cpu);
        }
    }

    fn advance(&mut self, cpu: usize) {
        let me = &mut self.cpus[cpu];
        me.next += 1;
        me.waits = false;
        if me.next == me.end && me.buffer.is_empty() {
            self.live -= 1;
        }
    }

    pub(super) fn into_recorded(self) -> Recorded {
        Recorded::new(self.ops, Some(self.order))
    }

    /// Who waits for what, for errors.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{} of {} operations done", self.order.len(), self.ops.len());
        for (i, cpu) in self.cpus.iter().enumerate().take(8) {
            let op = if cpu.next < cpu.end { cpu.next } else { INITIAL };
            if op != INITIAL && (cpu.waits || cpu.buffer_waits) {
                let (kind, var) = (self.ops.kind(op), self.ops.var(op));
                text += &format!(", CPU {i} waits at {kind:?} of variable {var}");
            }
        }
        text
    }
}
