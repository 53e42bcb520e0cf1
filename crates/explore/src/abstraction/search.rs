//! The search of all abstracted states, breadth first.

use weakspot_core::machine::{Schedule, Step};
use weakspot_core::{Condition, Program, Quantifier, Value, Violation};

use super::rows::{Row, decode, encode};
use super::steps::{Machine, Stop, Successor};
use crate::intern::Interner;
use crate::meter::Meter;

/// How a search ended.
pub(super) enum Ended {
    /// Nothing bad is reached.
    Complete,
    /// Something bad, in the abstraction.
    Found(Violation, Schedule),
    Stopped(Stop),
}

/// Where a state was found: from which one, as which of its successors; or from which initial
/// memory.
#[derive(Clone, Copy)]
enum From {
    Init { memory: u32, which: u32 },
    State { before: u32, which: u32 },
}

/// Searches all states of `machine`.
pub(super) fn search(machine: &Machine<'_>, meter: &mut Meter<'_>) -> Ended {
    Search {
        machine,
        states: Interner::new(),
        found_from: Vec::new(),
        starts: Vec::new(),
        bytes: Vec::new(),
    }
    .run(meter)
    .unwrap_or_else(Ended::Stopped)
}

struct Search<'a, 'p> {
    machine: &'a Machine<'p>,
    states: Interner<u8>,
    found_from: Vec<From>,
    /// Initial memories.
    starts: Vec<Vec<Value>>,
    bytes: Vec<u8>,
}

/// More initial states are too many.
const MOST_STARTS: usize = 10_000;

impl Search<'_, '_> {
    fn run(&mut self, meter: &mut Meter<'_>) -> Result<Ended, Stop> {
        let program = self.machine.program;
        let definition =
            weakspot_core::machine::Machine { program, model: weakspot_core::Model::Sc };
        for (memory, init) in definition.initial_values().enumerate() {
            if memory >= MOST_STARTS {
                return Err(Stop::GiveUp);
            }
            let all = self.machine.start(&init)?;
            self.starts.push(init);
            for (which, successor) in all.iter().enumerate() {
                let from = From::Init { memory: memory as u32, which: which as u32 };
                if let Some(ended) = self.add(successor, from, meter)? {
                    return Ok(ended);
                }
            }
        }
        let (mut row, mut successors) = (Row::new(), Vec::new());
        let mut next = 0;
        while (next as usize) < self.states.len() {
            decode(self.states.get(next), &mut row);
            self.machine.successors(&row, &mut successors)?;
            for (which, successor) in successors.iter().enumerate() {
                let from = From::State { before: next, which: which as u32 };
                if let Some(ended) = self.add(successor, from, meter)? {
                    return Ok(ended);
                }
            }
            next += 1;
            let (states, from) = (&self.states, &self.found_from);
            let usage = || {
                let bytes = states.bytes() + from.capacity() * size_of::<From>();
                ((states.len() - next as usize) as u64, bytes as u64)
            };
            meter.work(usage).map_err(Stop::Limit)?;
        }
        Ok(Ended::Complete)
    }

    /// Keeps a state if it is new; if it is bad, the way to it.
    fn add(
        &mut self,
        successor: &Successor,
        from: From,
        meter: &mut Meter<'_>,
    ) -> Result<Option<Ended>, Stop> {
        let Successor { row, failure, .. } = successor;
        if let Some(failure) = failure {
            let run = self.way(from)?;
            return Ok(Some(Ended::Found(Violation::Assertion(failure.clone()), run)));
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        encode(row, &mut bytes);
        let (_, is_new) = self.states.insert(&bytes);
        self.bytes = bytes;
        if !is_new {
            return Ok(None);
        }
        self.found_from.push(from);
        meter.states += 1;
        let program = self.machine.program;
        if is_forbidden(program, self.machine, row) {
            return Ok(Some(Ended::Found(Violation::ControlPoints, self.way(from)?)));
        }
        if let Some(condition) = &program.condition
            && self.machine.is_final(row)
            && self.ends_badly(row, condition)?
        {
            return Ok(Some(Ended::Found(Violation::FinalStates, self.way(from)?)));
        }
        Ok(None)
    }

    fn ends_badly(&self, row: &Row, condition: &Condition) -> Result<bool, Stop> {
        let wanted = condition.quantifier == Quantifier::Forall;
        let ends = self.machine.ends(row, &condition.prop)?;
        Ok(ends.iter().any(|row| condition.prop.holds(&self.machine.observe(row)) != wanted))
    }

    /// The steps to a state.
    fn way(&self, mut from: From) -> Result<Schedule, Stop> {
        let mut parts: Vec<Vec<Step>> = Vec::new();
        loop {
            match from {
                From::Init { memory, which } => {
                    let init = self.starts.get(memory as usize).ok_or(Stop::GiveUp)?.clone();
                    let start = self.machine.start(&init)?.swap_remove(which as usize);
                    parts.push(start.steps);
                    parts.reverse();
                    return Ok(Schedule { init, steps: parts.concat() });
                }
                From::State { before, which } => {
                    let (mut row, mut successors) = (Row::new(), Vec::new());
                    decode(self.states.get(before), &mut row);
                    self.machine.successors(&row, &mut successors)?;
                    parts.push(successors.swap_remove(which as usize).steps);
                    from = self.found_from[before as usize];
                }
            }
        }
    }
}

fn is_forbidden(program: &Program, machine: &Machine<'_>, row: &Row) -> bool {
    program.forbidden.iter().any(|combination| {
        let at = |(t, point): (usize, &Option<weakspot_core::PointId>)| {
            point.is_none_or(|p| p.index() == machine.layout.point(row, t))
        };
        combination.iter().enumerate().all(at)
    })
}
