//! The answer to a question about a real program.

use std::rc::Rc;

use weakspot_core::{Course, DelayedRun, DelayedValue, Limit, LogKind, Model, Verdict};
use weakspot_live::wire::{Place, TracedStep};

use crate::advice::Advice;
use crate::explore::course::Blocked;
use crate::explore::findings::{Failure, Overtaking, Seen};
use crate::judge::accepted::Accepted;
use crate::replay::log::{Logged, Replayed};
use crate::runtime::debugger::Stop;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// How many executions were looked at.
    pub executions: u64,
    /// Those that ended before their time.
    pub blocked: Blocked,
    /// How many steps they took together, as far as is known.
    pub steps: u64,
    /// How many threads the execution with most of them had, if that is known: 1 if the program starts
    /// no second one.
    pub threads: Option<u64>,
    /// How they were chosen, one strategy after the other.
    pub strategies: Vec<&'static str>,
    /// How it went, if somebody looks at that.
    pub course: Option<Course>,
    /// Whether each execution had a process of its own.
    pub fork: bool,
    /// What the user should know.
    pub remarks: Vec<String>,
    /// The first execution that was given up, if any was, with the memory that was known to be shared.
    pub cut_off: Option<(Seen, Vec<(u64, u64)>)>,
    /// Whether executions fail under the model that they are executed under, and then under those that
    /// were asked about.
    pub failed: Vec<Failed>,
    /// Whether models would let accesses overtake stores.
    pub models: Vec<ModelAnswer>,
    /// Whether transactions are serializable, if somebody asked.
    pub transactions: Option<Transactions>,
    /// Which changes prevent all findings, if somebody asked.
    pub advice: Option<Advice>,
    /// The execution that was asked for.
    pub log: Option<Logged>,
    /// Where a debugger stops in it, if one is wanted.
    pub stop: Option<Stop>,
}

/// What a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Does an execution fail?
    Failures,
    /// Can an access overtake a store?
    Robustness,
    /// Are transactions serializable?
    Serializability,
    /// Would they be with a fence at the end of each?
    FencedSerializability,
}

/// Whether executions fail under a model.
#[derive(Debug)]
pub struct Failed {
    /// The model.
    pub model: Model,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it is only advice.
    pub advisory: bool,
    /// All that went wrong.
    pub failures: Vec<ShownFailure>,
    /// Why others may be missing; nothing if all executions were explored.
    pub limit: Option<Limit>,
    /// So many of these, the first ones, go wrong under SC as well.
    pub as_under_sc: usize,
    /// How many executions were looked at for this: none if it follows from those under SC.
    pub executions: u64,
    /// Those that ended before their time.
    pub blocked: Blocked,
    /// How many steps they took together.
    pub steps: u64,
    /// How they were chosen, one strategy after the other.
    pub strategies: Vec<&'static str>,
}

/// What comes of a pair of accesses in executions with store buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// This failure, by its number among those of the model.
    Fails(usize),
    /// No execution fails in which the store waits: all were explored in which others do not, or all. None
    /// fails under SC either.
    Unnoticed,
    /// No failure came of it but those under SC, which may hide others.
    AsUnderSc,
    /// The consequence is not known.
    Unknown,
}

/// Something that went wrong.
#[derive(Clone, Debug)]
pub struct ShownFailure {
    /// The failure itself.
    pub failure: Failure,
    /// The memory that was known to be shared then, which its schedule depends on.
    pub shared: Vec<(u64, u64)>,
    /// What is known about it, with the names of threads.
    pub text: String,
    /// What the thread is called.
    pub thread: Option<String>,
    /// The source, innermost function first.
    pub frames: Vec<String>,
    /// Related events with their places.
    pub related: Vec<ShownRelated>,
    /// Which stores were late in it, in words.
    pub late: Vec<String>,
    /// What threads are called, by their numbers.
    pub threads: Vec<String>,
    /// What led to it: what threads did to memory, in this order. None if that was not looked at.
    pub steps: Vec<ShownStep>,
    /// So many of these, the first ones, come before any other thread was started.
    pub alone: usize,
}

/// Another place that has to do with a failure.
#[derive(Clone, Debug)]
pub struct ShownRelated {
    /// What happened there.
    pub what: String,
    /// The thread's name.
    pub thread: Option<String>,
    /// The source, innermost function first.
    pub at: Vec<String>,
    /// What the thread waits for, if it does and that is known.
    pub wait: Option<ShownWait>,
}

/// What a thread waits for that cannot go on.
#[derive(Clone, Debug)]
pub struct ShownWait {
    /// The waiting thread, by its number.
    pub thread: u16,
    /// All of it in words: `waits for b, which two#2 holds since dl.c:11`.
    pub text: String,
    /// The same without who has it.
    pub short: String,
    /// What it waits for.
    pub object: Option<String>,
    /// Who has that, and where it took it.
    pub holders: Vec<(String, Option<String>)>,
    /// Where it waits.
    pub place: Option<Place>,
}

/// What a thread did to memory.
#[derive(Clone, Debug)]
pub struct ShownStep {
    /// The step.
    pub step: TracedStep,
    /// What its bytes are called.
    pub location: Option<String>,
    /// The value that an update read, and the one that was read or written, as its type says: what an address points
    /// to, a number, the name of an enumerator. Nothing if the type is not known.
    pub in_words: [Option<String>; 2],
    /// Where it is in the source, as `file:line`.
    pub site: Option<String>,
    /// The text of the source line.
    pub text: Option<String>,
    /// Whether it is in code of the user's own, and not only in a standard library.
    pub own: bool,
    /// The call of a channel that it begins, with how many steps that takes: those who do not want to know everything
    /// are shown the call instead of them.
    pub call: Option<String>,
    /// Whether it is a store that is in memory at once, where others wait in buffers.
    pub at_once: bool,
    /// What is to be said about it, such as that it is one access of a data race.
    pub note: Option<String>,
    /// What it is.
    pub what: ShownKind,
}

/// What is shown of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownKind {
    /// The step itself.
    Step,
    /// What the only thread that is left reads: no step, and those that wrote it are none either.
    Looks,
    /// A block is allocated.
    Allocates,
    /// A block is freed.
    Frees,
    /// A function returns whose variables others use.
    Returns,
    /// The thread ends.
    Ends,
    /// No step, but where the thread fails.
    Fails,
}

/// Whether a model would let accesses overtake stores.
#[derive(Debug)]
pub struct ModelAnswer {
    /// The model.
    pub model: Model,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it is only advice.
    pub advisory: bool,
    /// All pairs that were found.
    pub findings: Vec<ShownOvertaking>,
    /// Why others may be missing; nothing if all executions were explored.
    pub limit: Option<Limit>,
}

/// An access that can overtake a store.
#[derive(Debug)]
pub struct ShownOvertaking {
    /// The store, and the access that overtakes it.
    pub found: Overtaking,
    /// The memory that was known to be shared then, which its schedule depends on.
    pub shared: Vec<(u64, u64)>,
    /// The source of the store and of the access, innermost function first.
    pub frames: [Vec<String>; 2],
    /// The places of the store and of the access, in short.
    pub places: [String; 2],
    /// What came of executing it again.
    pub shown: Shown,
    /// What the overtaking leads to.
    pub consequence: Consequence,
    /// Whether the user knows it and accepts it.
    pub accepted: Option<Accepted>,
}

/// What came of executing a finding again.
#[derive(Debug)]
pub enum Shown {
    /// It was seen again.
    Again(Evidence),
    /// It was not executed again: there were enough others, or there was no time.
    NotAgain,
    /// It was executed again and did not come out the same.
    Unrepeatable,
}

/// An execution with the run that shows what a model would do.
#[derive(Debug)]
pub struct Evidence {
    /// The execution.
    pub log: Rc<Replayed>,
    /// What the monitor reports about the pair, and the checked run that shows it.
    pub report: (weakspot_core::Overtaking, Option<DelayedRun>),
    /// What is read and written on the run's cycle, as far as it is known.
    pub values: Vec<DelayedValue>,
}

impl Evidence {
    /// Whether an atomic update overtakes the store in it, which it never does in executions with store buffers.
    pub(crate) fn update_overtakes(&self, model: Model) -> bool {
        let (_, Some(run)) = &self.report else { return false };
        let events = &self.log.under(model).events;
        let Some(store) = events.get(run.store) else { return false };
        events.iter().take(run.access + 1).skip(run.store + 1).any(|event| {
            event.thread == store.thread && event.kind == LogKind::Update && event.loc != store.loc
        })
    }
}

/// Whether transactions are serializable.
#[derive(Debug)]
pub struct Transactions {
    /// Under SC.
    pub verdict: Verdict,
    /// Under TSO with a fence at the end of each, if somebody asked.
    pub fenced: Option<Verdict>,
    /// How many were executed, as far as is known: if there were none, nothing was asked.
    pub executed: u64,
    /// The executions that are not, if there are any.
    pub found: Option<Seen>,
    /// The memory that was known to be shared then, which its schedule depends on.
    pub shared: Vec<(u64, u64)>,
    /// The first of them, if it could be executed again.
    pub log: Option<Logged>,
}

/// A verdict, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// What was asked.
    pub asked: Asked,
    /// Under which model.
    pub model: Model,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it is only advice, which does not count for the exit code.
    pub advisory: bool,
}

impl Answer {
    /// All verdicts, from which exit codes and summaries are made.
    #[must_use]
    pub fn verdicts(&self) -> Vec<Judged> {
        let judged = |asked, model, verdict: &Verdict, advisory| {
            let verdict = verdict.clone();
            Judged { asked, model, verdict, advisory }
        };
        let mut all = Vec::new();
        for f in &self.failed {
            all.push(judged(Asked::Failures, f.model, &f.verdict, f.advisory));
        }
        for m in &self.models {
            all.push(judged(Asked::Robustness, m.model, &m.verdict, m.advisory));
        }
        if let Some(Transactions { verdict, fenced, .. }) = &self.transactions {
            all.push(judged(Asked::Serializability, Model::Sc, verdict, false));
            if let Some(fenced) = fenced {
                all.push(judged(Asked::FencedSerializability, Model::Tso, fenced, false));
            }
        }
        all
    }
}
