//! What the checks of evidence object to.

use std::fmt;

use crate::LratError;

/// Why evidence was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The machine does not allow this step of the run.
    Step(usize),
    /// The run does not start in an initial state of the program.
    Start,
    /// The run ends before all threads have terminated and all buffers have drained.
    NotFinal,
    /// The run ends in a state that does not decide the question as claimed.
    WrongState,
    /// The verdict needs evidence of another kind.
    WrongKind,
    /// A full search by definition finds a state that contradicts the verdict.
    Contradicted,
    /// A full search by definition has more states than this.
    TooLarge(usize),
    /// All executions can be listed only for programs without loops and with declared memory that
    /// has one initial value, and this one is none, or it has more than this many executions.
    OutOfReach(usize),
    /// The program asks nothing about final states.
    NoQuestion,
    /// The run is one that SC has, too: its events can be put into one order.
    AllowedBySc,
    /// The proof that fences are optimal does not hold.
    Fences(&'static str),
    /// Something bad is like a state that is reached: the abstraction forgets too much to show the
    /// verdict, which may be right all the same.
    Coarse,
    /// The counters of an abstraction are none, and why.
    Abstraction(&'static str),
    /// This state of a set that shows a verdict is wrong, and how.
    Set(u64, &'static str),
    /// The run has no triangular race.
    NoRace,
    /// The run with delayed stores goes wrong at this place in the log, and how.
    Delayed(usize, &'static str),
    /// The machine does not allow this step of a history's run, and why.
    HistoryStep(usize, &'static str),
    /// This derivation does not hold, or, if there are no more, the cycle itself, and why.
    HistoryOrder(usize, &'static str),
    /// The evidence is not about the choices of what reads read that there are, and why.
    Ways(&'static str),
    /// The evidence about a trace with transactions does not hold, and why.
    Trace(&'static str),
    /// The proof that choices contradict each other is wrong.
    Lrat(LratError),
    /// The cycle or the order of transactions goes wrong at this event of the execution, and how.
    Transactions(u64, &'static str),
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejected::Step(i) => write!(f, "the machine does not allow step {} of the run", i + 1),
            Rejected::Start => f.write_str("the run does not start in an initial state"),
            Rejected::NotFinal => f.write_str("the run does not end in a final state"),
            Rejected::WrongState => {
                f.write_str("the run's last state does not decide the question")
            }
            Rejected::WrongKind => f.write_str("the verdict needs evidence of another kind"),
            Rejected::Contradicted => f.write_str("a full search contradicts the verdict"),
            Rejected::TooLarge(n) => write!(f, "a full search has more than {n} states"),
            Rejected::OutOfReach(n) => {
                write!(f, "the program has loops, or more than {n} executions by definition")
            }
            Rejected::AllowedBySc => f.write_str("sequential consistency allows the run"),
            Rejected::Abstraction(why)
            | Rejected::Fences(why)
            | Rejected::Trace(why)
            | Rejected::Ways(why) => f.write_str(why),
            Rejected::Coarse => f.write_str("the abstraction forgets too much to show the verdict"),
            Rejected::Set(state, why) => write!(f, "state {} of the set: {why}", state + 1),
            Rejected::NoRace => f.write_str("the run has no triangular race"),
            Rejected::Delayed(place, why) => write!(f, "event {} of the log: {why}", place + 1),
            Rejected::HistoryStep(step, why) => write!(f, "step {} of the run: {why}", step + 1),
            Rejected::HistoryOrder(at, why) => {
                write!(f, "derivation {} of the cycle: {why}", at + 1)
            }
            Rejected::Lrat(error) => write!(f, "the proof: {error}"),
            Rejected::Transactions(event, why) => write!(f, "event {}: {why}", event + 1),
            Rejected::NoQuestion => f.write_str("the program asks nothing about final states"),
        }
    }
}

impl std::error::Error for Rejected {}
