//! What a program under control reports.

use weakspot_core::Model;
use weakspot_live::wire::{Message, Place, PlacedFence};

use super::Until;
use crate::pool;

/// An overtaking as it was reported.
pub(super) struct Overtaking {
    pub(super) number: u64,
    pub(super) model: Model,
    pub(super) store: Place,
    pub(super) access: Place,
    pub(super) first: u64,
    pub(super) schedule: String,
    pub(super) executions: u64,
    /// How many pieces of memory were known to be shared.
    pub(super) known: usize,
    /// Any one of these prevents it where it was first seen.
    pub(super) fences: Vec<PlacedFence>,
}

/// A failure as it was reported.
pub(super) struct Failure {
    pub(super) number: u64,
    pub(super) kind: String,
    pub(super) thread: Option<u16>,
    pub(super) place: Option<Place>,
    pub(super) first: u64,
    pub(super) schedule: String,
    pub(super) text: String,
    pub(super) executions: u64,
    /// How many pieces of memory were known to be shared.
    pub(super) known: usize,
}

/// Executions that are not serializable.
pub(super) struct Unserializable {
    pub(super) first: u64,
    pub(super) schedule: String,
    pub(super) executions: u64,
    /// How many pieces of memory were known to be shared.
    pub(super) known: usize,
}

/// What was heard while one strategy was followed.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) modules: Vec<(u64, u64, String)>,
    pub(super) overtakings: Vec<Overtaking>,
    pub(super) failures: Vec<Failure>,
    pub(super) unsupported: Vec<(String, Option<Place>)>,
    /// Bytes that were found to be shared.
    pub(super) shared: Vec<(u64, u64)>,
    pub(super) idle: u64,
    pub(super) exits: u64,
    pub(super) mixed: Vec<Model>,
    pub(super) cut: u64,
    pub(super) diverged: Option<u64>,
    pub(super) unserializable: Option<Unserializable>,
    pub(super) executions: u64,
    pub(super) steps: u64,
    /// How it ended.
    pub(super) done: Option<String>,
    pub(super) defect: Option<String>,
}

impl Heard {
    /// Whether what was found is all that is wanted.
    pub(super) fn is_enough(&self, until: Until) -> bool {
        match until {
            Until::End => false,
            // A failure may come without a schedule at first.
            Until::Found => {
                let shown = |failure: &Failure| !failure.schedule.is_empty();
                !self.overtakings.is_empty() || self.failures.iter().any(shown)
            }
            Until::Overtaken => !self.overtakings.is_empty(),
        }
    }

    pub(super) fn hear(&mut self, message: Message) {
        match message {
            Message::Module { base, end, path } => self.modules.push((base, end, path)),
            Message::Failure { number, kind, thread, place, execution, schedule, text } => {
                let (first, executions) = (execution, 1);
                self.executions = self.executions.max(execution);
                self.failures.push(Failure {
                    number,
                    kind,
                    thread,
                    place,
                    first,
                    schedule,
                    text,
                    executions,
                    known: 0,
                });
            }
            Message::Overtaking { number, model, store, access, execution, schedule, fences } => {
                let (first, executions) = (execution, 1);
                self.executions = self.executions.max(execution);
                self.overtakings.push(Overtaking {
                    number,
                    model,
                    store,
                    access,
                    first,
                    schedule,
                    executions,
                    known: 0,
                    fences,
                });
            }
            Message::Seen { number, executions } => {
                if let Some(found) = self.failures.iter_mut().find(|f| f.number == number) {
                    found.executions = executions;
                }
            }
            Message::Unsupported { what, place } => self.unsupported.push((what, place)),
            Message::Overtaken { number, executions } => {
                if let Some(found) = self.overtakings.iter_mut().find(|o| o.number == number) {
                    found.executions = executions;
                }
            }
            Message::Shared { addr, len } => self.shared.push((addr, len)),
            Message::Again => {
                self.overtakings.clear();
                for failure in &mut self.failures {
                    failure.schedule.clear();
                }
            }
            Message::Token { number, execution, schedule } => {
                if let Some(found) = self.failures.iter_mut().find(|f| f.number == number) {
                    (found.first, found.schedule) = (execution, schedule);
                }
            }
            Message::Diverged { step, thread: _ } => self.diverged = Some(step),
            Message::Cut(executions) => self.cut = executions,
            Message::Unserializable { execution, schedule, executions } => {
                self.unserializable =
                    Some(Unserializable { first: execution, schedule, executions, known: 0 });
            }
            Message::Idle(times) => self.idle = times,
            Message::Mixed(model) => self.mixed.push(model),
            Message::Exits(executions) => self.exits = executions,
            Message::Progress { executions, steps } => {
                (self.executions, self.steps) = (executions, steps);
                pool::follow_executions(executions, steps);
            }
            Message::Step(_) => {}
            Message::Done { how, executions, steps } => {
                (self.executions, self.steps) = (executions, steps);
                self.done = Some(how);
            }
            Message::Defect(text) => self.defect = Some(text),
        }
    }
}
