//! Verdicts and the evidence that they carry.

use std::time::Duration;

use crate::ThreadId;
use crate::evidence::abstraction::Abstraction;
use crate::evidence::inductive::StateSet;
use crate::evidence::omission::Omission;
use crate::machine::{Failure, Schedule};

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What was asked holds.
    Holds,
    /// What was asked does not hold.
    Violated,
    /// The search ended at a limit before it could tell.
    Unknown(Limit),
}

/// What a program can do that it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Reach a forbidden combination of control points.
    ControlPoints,
    /// Fail an assertion.
    Assertion(Failure),
    /// End in final states that its condition does not allow.
    FinalStates,
}

/// Why a verdict is to be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A run of the machine that ends in a state which decides the question.
    Run(Schedule),
    /// No state decides it the other way: the whole state space was searched.
    Exhausted {
        /// How many states the engine visited.
        states: u64,
    },
    /// No state decides it the other way: all states are like some that were searched.
    Abstracted {
        /// How many of these the engine visited.
        states: u64,
        /// What is kept of the values of counters.
        abstraction: Abstraction,
    },
    /// No state decides it the other way: here are all that matter.
    Inductive(StateSet),
}

/// How a process was lost that searched together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostProcess {
    /// It has ended, or its connection.
    Gone,
    /// Nothing was heard of it for a while.
    Silent,
    /// It did not come in the first place.
    Absent,
    /// It said something that has no meaning.
    Garbled,
}

/// What stopped a search before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It took longer than this.
    Time(Duration),
    /// It needed more than this many bytes.
    Memory(u64),
    /// A store buffer was full: stores had to wait that on the real machine would not.
    Buffer {
        /// The thread that owns the buffer.
        thread: ThreadId,
        /// How many stores it held.
        entries: usize,
        /// A loop was found that adds stores for ever, so that no limit would have been enough.
        unbounded: bool,
    },
    /// The user asked to stop.
    Interrupted,
    /// One of several processes that search together was lost.
    Process {
        /// The number of the lost process.
        process: usize,
        /// How it was lost.
        why: LostProcess,
    },
    /// The input ends in the middle of something; all before this many bytes was read.
    Torn(u64),
    /// The input was looked at in windows of so many operations, and is longer.
    Window(usize),
    /// Accesses overlap in part, and what that allows is not decided.
    Overlap,
    /// The machine lets a load overtake a store-conditional, which is not looked at.
    Conditional,
    /// So many executions of a program were looked at, and there are more.
    Executions(u64),
    /// After so many executions of a program something was found, which was to end the search.
    Finding(u64),
    /// Only executions with so many preemptions were looked at.
    Preemptions(u32),
    /// Executions were given up after this many steps.
    Steps(u64),
    /// Executions were given up because a thread computed for long without a step.
    Silent,
    /// Executions did not come out the same again, because the program depends on something outside.
    Unrepeatable,
    /// Threads in loops were taken to wait for others, without certainty.
    Loops,
    /// In executions with store buffers every atomic update waits for the stores before it, and it need not.
    Updates,
    /// The program did something that cannot be controlled.
    Uncontrolled,
    /// The search came to its end, but kept only hashes of states, so that it may have taken one for another.
    Hashes(Omission),
}
