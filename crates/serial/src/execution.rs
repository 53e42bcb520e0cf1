//! The answer about one execution, certified by going through its log again: the cycle that a
//! monitor found is looked up event by event, the order that it kept is compared with all conflicts.

use weakspot_core::certify::Rejected;
use weakspot_core::serial::{BadLog, Passed, Question, TxnCycle};
use weakspot_core::{Certified, Claim, Limit, LogEvent, LogKind, LogTables, Verdict};

use crate::follow::{Explain, Follow, Ordered, Stop};
use crate::journal::NotedCycle;
use crate::touched::TouchedEvents;

/// The answer about one execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionAnswer {
    /// Whether it is as the question asks.
    pub verdict: Verdict,
    /// Why; `None` for an unknown, and where the order of the transactions was not kept.
    pub evidence: Option<ExecutionEvidence>,
    /// What the events of the cycle are, if they could be looked at again.
    pub events: Option<CycleEvents>,
}

/// Why an answer about an execution is to be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutionEvidence {
    /// Each of these transactions has to come before the next.
    Cycle(TxnCycle),
    /// The transactions in an order that all conflicts respect.
    Order(Vec<u32>),
}

/// What is known about the events of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CycleEvents {
    /// They were read again.
    Read(TouchedEvents),
    /// They were noted when the log went by.
    Noted(NotedCycle),
}

impl Claim for ExecutionAnswer {
    type Evidence = ExecutionEvidence;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&ExecutionEvidence> {
        self.evidence.as_ref()
    }
}

/// What a log is gone through again for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// To look up the events of a cycle, up to the last of them.
    Cycle,
    /// To compare an order with all conflicts.
    Order,
    /// To ask another question.
    Question,
}

/// Goes through the events of a log again as long as the second argument wants more. Whether it
/// could.
pub type Replay<'a> = &'a mut dyn FnMut(Pass, &mut dyn FnMut(&[LogEvent]) -> bool) -> bool;

/// Why there is no answer about an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The events are no execution.
    Bad(BadLog),
    /// The evidence did not pass its check: a defect of this crate.
    Rejected(Rejected),
}

/// Whether the execution of a log that is in memory is as `question` asks. Without commits it is
/// one of SC.
///
/// # Errors
/// When the events make no sense, or the evidence did not pass its check.
pub fn check_execution(
    events: &[LogEvent],
    tables: &LogTables,
    question: Question,
) -> Result<Certified<ExecutionAnswer>, NoAnswer> {
    let has_commits = events.iter().any(|event| event.kind == LogKind::Commit);
    let mut follow = Follow::new(&[question], has_commits, tables, true);
    match follow.events(events) {
        Ok(()) => {}
        Err(Stop::Bad(bad)) => return Err(NoAnswer::Bad(bad)),
        // All names and commits were known from the beginning.
        Err(Stop::HasCommits | Stop::Cut) => return Err(NoAnswer::Rejected(Rejected::WrongKind)),
    }
    follow.end().map_err(NoAnswer::Bad)?;
    let mut replay = |_: Pass, look: &mut dyn FnMut(&[LogEvent]) -> bool| {
        look(events);
        true
    };
    follow.answer(question, tables, None, &mut replay).map_err(NoAnswer::Rejected)
}

impl Follow {
    /// The answer to a question when the log has been followed to its end, or to `limit`. The order
    /// that answers it is not kept any longer.
    ///
    /// # Errors
    /// When the evidence did not pass its check.
    pub fn answer(
        &mut self,
        question: Question,
        tables: &LogTables,
        limit: Option<&Limit>,
        replay: Replay<'_>,
    ) -> Result<Certified<ExecutionAnswer>, Rejected> {
        if let Some(cycle) = self.cycle(question).cloned() {
            let read = explain(self.has_commits(), tables, question, &cycle, replay)?;
            let (events, passed) = match (read, self.noted(question)) {
                (Some((read, passed)), _) => (Some(CycleEvents::Read(read)), Some(passed)),
                // What was noted on the way is enough, and the rest is gone.
                (None, Some(noted)) => {
                    let noted = noted?;
                    let passed = noted.passed.clone();
                    (Some(CycleEvents::Noted(noted)), Some(passed))
                }
                (None, None) => (None, None),
            };
            let evidence = Some(ExecutionEvidence::Cycle(cycle));
            let answer = ExecutionAnswer { verdict: Verdict::Violated, evidence, events };
            return certified(answer, passed);
        }
        let none = |verdict| ExecutionAnswer { verdict, evidence: None, events: None };
        if let Some(limit) = limit {
            return Ok(Certified::not_checked(none(Verdict::Unknown(limit.clone()))));
        }
        let Some(order) = self.take_order(question) else {
            return Ok(Certified::too_large(none(Verdict::Holds)));
        };
        let passed = check_order(self.has_commits(), tables, question, &order, replay)?;
        let evidence = Some(ExecutionEvidence::Order(order));
        certified(ExecutionAnswer { evidence, ..none(Verdict::Holds) }, passed)
    }
}

/// Whether an execution is equivalent to one of SC, by what is known of its serializability under
/// SC; `None` if that cannot be said.
///
/// # Errors
/// When the evidence did not pass its check.
pub fn sc_equivalent(
    serializable: &Verdict,
    has_commits: bool,
    tables: &LogTables,
    replay: Replay<'_>,
) -> Result<Option<bool>, Rejected> {
    match serializable {
        // An order of transactions that respects program order is one of their events.
        Verdict::Holds => return Ok(Some(true)),
        Verdict::Violated => {}
        Verdict::Unknown(_) => return Ok(None),
    }
    let question = Question::ScEquivalent;
    let mut follow = Follow::new(&[question], has_commits, tables, true);
    let mut followed = true;
    let could = replay(Pass::Question, &mut |events| {
        followed = follow.events(events).is_ok();
        followed
    });
    if !could || !followed {
        return Ok(None);
    }
    let answer = follow.answer(question, tables, None, replay)?;
    Ok(Some(answer.verdict == Verdict::Holds))
}

fn certified(
    answer: ExecutionAnswer,
    passed: Option<Passed>,
) -> Result<Certified<ExecutionAnswer>, Rejected> {
    match passed {
        Some(passed) => Certified::passed(answer, passed),
        None => Ok(Certified::too_large(answer)),
    }
}

/// Checks a cycle, and finds out what its events are; `None` if they are gone.
fn explain(
    has_commits: bool,
    tables: &LogTables,
    question: Question,
    cycle: &TxnCycle,
    replay: Replay<'_>,
) -> Result<Option<(TouchedEvents, Passed)>, Rejected> {
    let mut explain = Explain::new(question, has_commits, tables, cycle);
    let mut wrong = Ok(false);
    let could = replay(Pass::Cycle, &mut |events| {
        wrong = explain.events(events);
        matches!(wrong, Ok(false))
    });
    match (could, wrong?) {
        (true, true) => explain.end().map(Some),
        _ => Ok(None),
    }
}

/// Checks an order; `None` if the events are gone.
fn check_order(
    has_commits: bool,
    tables: &LogTables,
    question: Question,
    order: &[u32],
    replay: Replay<'_>,
) -> Result<Option<Passed>, Rejected> {
    let mut check = Ordered::new(question, has_commits, tables, order)?;
    let mut wrong = Ok(());
    let could = replay(Pass::Order, &mut |events| {
        wrong = check.events(events);
        wrong.is_ok()
    });
    wrong?;
    match could {
        true => check.end().map(Some),
        false => Ok(None),
    }
}
