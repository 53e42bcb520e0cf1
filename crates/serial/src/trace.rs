//! Is a trace serializable, with all that it stands for? In stages:
//! 1. an execution that is cheap to make (`runs.rs`);
//! 2. groups of transactions in which alone there can be cycles; most traces that are serializable
//!    have none but groups of one transaction (`groups.rs`), or of some that have one point in time
//!    each (`points.rs`); unless that is so, more executions, which show most violations;
//! 3. within the others, a search of cycles with few ties (`chains.rs`);
//! 4. SAT, which also proves what the search found (`cycles.rs`).
//!
//! What a cycle has to be is in `part.rs`. The paper (Enea and Farzan, "On atomicity in presence of
//! non-atomic writes", TACAS 2016) has the definitions in section 5, stages 2 and 3 in section 6;
//! but its notion of valid directions is that of the mode [`TraceMode::Literal`], which has
//! violations that no execution of the trace has.

use std::collections::HashMap;

use weakspot_core::certify::Rejected;
use weakspot_core::serial::{
    BadTrace, NoCycle, Trace, TraceEvidence, TraceMode, TraceOrder, TxnCycle, TxnGroup,
};
use weakspot_core::{Certified, Claim, Effort, Limit, Limits, Progress, TxnEvent, Verdict};
use weakspot_sat::Meter;

use crate::acyclic::Acyclic;
use crate::chains::{Searched, Steps, search};
use crate::cycles::{Solved, solve};
use crate::groups::{Txns, groups, is_tree};
use crate::part::Part;
use crate::points::points;
use crate::runs::{Which, violating_run};

/// The answer about a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceAnswer {
    /// Whether it is serializable.
    pub verdict: Verdict,
    /// Why; `None` when the verdict is unknown.
    pub evidence: Option<TraceEvidence>,
    /// The stage that decided.
    pub decided_by: TraceStage,
}

impl Claim for TraceAnswer {
    type Evidence = TraceEvidence;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&TraceEvidence> {
        self.evidence.as_ref()
    }
}

/// Why there is no answer about a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoTraceAnswer {
    /// The events are no trace.
    Bad(BadTrace),
    /// The evidence did not pass its check: a defect of this crate.
    Rejected(Rejected),
}

/// The stage that gave an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceStage {
    /// An execution that is cheap to make.
    Runs,
    /// The groups of transactions between which ties lead in one direction.
    Groups,
    /// The search of all cycles that cannot be made simpler.
    Chains,
    /// SAT.
    Sat,
}

impl TraceStage {
    /// The stage as it is written in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            TraceStage::Runs => "runs",
            TraceStage::Groups => "groups",
            TraceStage::Chains => "chains",
            TraceStage::Sat => "sat",
        }
    }
}

/// Which stages are to be used for groups of several transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceMethod {
    /// All stages.
    Auto,
    /// One execution only is tried, and there is no SAT unless the mode needs choices. That there is
    /// no cycle is then a claim ([`NoCycle::Searched`]); all other answers can be checked.
    Chains,
    /// One execution only is tried, and nothing is searched.
    Sat,
}

/// So many beginnings of cycles are looked at before SAT is asked.
const BEGINNINGS: u64 = 100_000;

/// What the groups of a trace need, about, and their check: ties between transactions, and lists of
/// events.
const BYTES_PER_EVENT: u64 = 200;

/// So many transactions of a large group are looked at together first.
const WINDOW: usize = 256;

/// Whether the trace is serializable.
///
/// ```
/// use weakspot_core::serial::{BufferedReads, TraceMode};
/// use weakspot_core::testing::trace_of;
/// use weakspot_core::{Limits, Silent, Verdict};
/// use weakspot_serial::{TraceMethod, check_trace};
///
/// // Transaction 0 writes x and reads it back, after transaction 1 has written it.
/// let events = trace_of("wr0(x)^0 wr1(x)^1 rd0(x)^0 rd1(y)^1");
/// let (mode, method) = (TraceMode::Exact(BufferedReads::Exact), TraceMethod::Auto);
/// let answer = check_trace(&events, mode, method, &Limits::UNLIMITED, &mut Silent).unwrap();
/// assert_eq!(answer.verdict, Verdict::Violated);
/// assert!(answer.certification().is_checked());
/// ```
///
/// # Errors
/// When the events are no trace, or the evidence did not pass its check.
pub fn check_trace(
    events: &[TxnEvent],
    mode: TraceMode,
    method: TraceMethod,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<TraceAnswer>, NoTraceAnswer> {
    let limits = limits.begin();
    let answer = decide(events, mode, method, &limits, progress).map_err(NoTraceAnswer::Bad)?;
    Certified::trace(events, &[], mode, answer, Effort::within(&limits))
        .map_err(NoTraceAnswer::Rejected)
}

/// The answer before its evidence is checked.
pub(crate) fn decide(
    events: &[TxnEvent],
    mode: TraceMode,
    method: TraceMethod,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<TraceAnswer, BadTrace> {
    let trace = Trace::new(events, mode)?;
    let mut meter = Meter::new(limits, progress);
    let mut checker = Checker { trace: &trace, method, stage: TraceStage::Runs };
    let (verdict, evidence) = match checker.check(&mut meter) {
        Ok(evidence @ TraceEvidence::Groups(_)) => (Verdict::Holds, Some(evidence)),
        Ok(evidence) => (Verdict::Violated, Some(evidence)),
        Err(limit) => (Verdict::Unknown(limit), None),
    };
    Ok(TraceAnswer { verdict, evidence, decided_by: checker.stage })
}

/// All groups.
struct Split {
    txns: Vec<Vec<u32>>,
    events: Vec<Vec<usize>>,
    directed: Vec<Vec<(usize, usize)>>,
}

impl Split {
    fn new(trace: &Trace<'_>, txns: &Txns) -> Split {
        let groups = groups(trace, txns);
        let mut group_of = vec![0; txns.numbers.len()];
        for (number, group) in groups.iter().enumerate() {
            group.iter().for_each(|&txn| group_of[txn as usize] = number);
        }
        let mut events: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
        for (at, &txn) in txns.of.iter().enumerate() {
            events[group_of[txn as usize]].push(at);
        }
        let mut directed: Vec<Vec<(usize, usize)>> = vec![Vec::new(); groups.len()];
        if groups.iter().any(|group| group.len() > 1) {
            trace.each_directed(&mut |from, to| {
                let (a, b) = (txns.of[from], txns.of[to]);
                let number = group_of[a as usize];
                if a != b && number == group_of[b as usize] {
                    directed[number].push((from, to));
                }
            });
        }
        Split { txns: groups, events, directed }
    }

    fn group(&self, number: usize) -> Group<'_> {
        Group {
            txns: &self.txns[number],
            events: &self.events[number],
            directed: &self.directed[number],
        }
    }
}

/// A group of transactions, sorted, with its events and the directed ties within.
struct Group<'a> {
    txns: &'a [u32],
    events: &'a [usize],
    directed: &'a [(usize, usize)],
}

impl Group<'_> {
    fn part<'a>(
        &self,
        order: &'a TraceOrder<'a>,
        txns: &Txns,
        meter: &mut Meter<'_>,
    ) -> Result<Part<'a>, Limit> {
        Part::new(order, txns, self.txns, self.events, self.directed, meter)
    }
}

struct Checker<'a> {
    trace: &'a Trace<'a>,
    method: TraceMethod,
    /// The last stage that was needed.
    stage: TraceStage,
}

impl Checker<'_> {
    fn check(&mut self, meter: &mut Meter<'_>) -> Result<TraceEvidence, Limit> {
        // One is always tried, so that in what follows directed ties have no cycle.
        if let Some((events, cycle)) = violating_run(self.trace, Which::First, meter)? {
            return Ok(TraceEvidence::Execution { events, cycle });
        }
        self.stage = TraceStage::Groups;
        meter.room(self.trace.events.len() as u64 * BYTES_PER_EVENT)?;
        let txns = Txns::new(self.trace);
        let split = Split::new(self.trace, &txns);
        let mut why: Vec<Option<NoCycle>> = vec![None; split.txns.len()];
        let mut open = Vec::new();
        for (number, why) in why.iter_mut().enumerate() {
            *why = self.plain(&txns, &split.group(number));
            if why.is_none() {
                open.push(number);
            }
        }
        // Small groups first: they may decide before a large one reaches a limit.
        open.sort_by_key(|&number| split.events[number].len());
        if !open.is_empty() {
            if self.method == TraceMethod::Auto {
                // These take a while, and most traces are answered by now.
                self.stage = TraceStage::Runs;
                if let Some((events, cycle)) = violating_run(self.trace, Which::Others, meter)? {
                    return Ok(TraceEvidence::Execution { events, cycle });
                }
            }
            let order = TraceOrder::new(self.trace);
            let sorted = order.sorted(&[]).unwrap_or_default();
            let mut graph = Acyclic::new(&sorted, &order.edges);
            for number in open {
                let group = split.group(number);
                if let Some(violation) = self.windows(&order, &txns, &group, &mut graph, meter)? {
                    return Ok(violation);
                }
                let part = group.part(&order, &txns, meter)?;
                match self.part(&part, &mut graph, meter)? {
                    Ok(no_cycle) => why[number] = Some(no_cycle),
                    Err(violation) => return Ok(violation),
                }
            }
        }
        let group = |(group, why): (&Vec<u32>, Option<NoCycle>)| {
            Some(TxnGroup { txns: txns.numbers_of(group), why: why? })
        };
        Ok(TraceEvidence::Groups(split.txns.iter().zip(why).filter_map(group).collect()))
    }

    /// Why a group has no cycle, if that is easy to see.
    fn plain(&self, txns: &Txns, group: &Group<'_>) -> Option<NoCycle> {
        if group.txns.len() <= 1 {
            return Some(NoCycle::Single);
        }
        if group.txns.len() == group.events.len() {
            return Some(NoCycle::Events);
        }
        if is_tree(self.trace, txns, group.txns, group.events) {
            return Some(NoCycle::Tree);
        }
        if !self.trace.mode.is_exact() || self.method != TraceMethod::Auto {
            return None;
        }
        let numbers = txns.numbers_of(group.txns);
        points(self.trace, &numbers, group.events, group.directed).map(NoCycle::Points)
    }

    /// Looks for cycles of transactions of a large group that are near each other. A group has
    /// quadratically many ties; these have not.
    fn windows<'a>(
        &mut self,
        order: &'a TraceOrder<'a>,
        txns: &Txns,
        group: &Group<'_>,
        graph: &mut Acyclic,
        meter: &mut Meter<'_>,
    ) -> Result<Option<TraceEvidence>, Limit> {
        let is_large = group.txns.len() > 2 * WINDOW;
        if self.method != TraceMethod::Auto || !is_large || !order.choices.is_empty() {
            return Ok(None);
        }
        self.stage = self.stage_at_least(TraceStage::Chains);
        // A window is two halves; an event or tie belongs to those windows that have all of it.
        let mut halves: HashMap<u32, usize> = HashMap::new();
        halves.extend(group.txns.iter().enumerate().map(|(at, &txn)| (txn, 2 * at / WINDOW)));
        let half = |event: usize| halves[&txns.of[event]];
        let windows = group.txns.len().div_ceil(WINDOW / 2) - 1;
        let mut events = vec![Vec::new(); windows];
        for &at in group.events {
            let windows = &mut events[half(at).saturating_sub(1)..=half(at).min(windows - 1)];
            windows.iter_mut().for_each(|window| window.push(at));
        }
        let mut directed = vec![Vec::new(); windows];
        for &(from, to) in group.directed {
            let (low, high) = (half(from).min(half(to)), half(from).max(half(to)));
            if high > low + 1 {
                continue;
            }
            let windows = &mut directed[high.saturating_sub(1)..=low.min(windows - 1)];
            windows.iter_mut().for_each(|window| window.push((from, to)));
        }
        for with in Steps::ALL {
            for (at, window) in group.txns.windows(WINDOW).step_by(WINDOW / 2).enumerate() {
                let near = Group { txns: window, events: &events[at], directed: &directed[at] };
                let part = near.part(order, txns, meter)?;
                if with == Steps::All && part.overwritten.is_empty() {
                    continue;
                }
                let found = search(&part, graph, with, Some(BEGINNINGS / 10), meter)?;
                if let Searched::Cycle(ties, more) = found {
                    return Ok(part.violation(&ties, &more, meter));
                }
            }
        }
        Ok(None)
    }

    /// Why a group has no cycle, or evidence that it has one.
    fn part(
        &mut self,
        part: &Part<'_>,
        graph: &mut Acyclic,
        meter: &mut Meter<'_>,
    ) -> Result<Result<NoCycle, TraceEvidence>, Limit> {
        let violation =
            |ties: &[(usize, usize)], more: &[(usize, usize)], meter: &mut Meter<'_>| {
                // If there was none, that would be a defect, which the checker of evidence notices.
                let (events, cycle) = (Vec::new(), TxnCycle(Vec::new()));
                let none = TraceEvidence::Execution { events, cycle };
                Err(part.violation(ties, more, meter).unwrap_or(none))
            };
        let mut searched = None;
        if self.method != TraceMethod::Sat && part.order.choices.is_empty() {
            let most = (self.method == TraceMethod::Auto).then_some(BEGINNINGS);
            self.stage = self.stage_at_least(TraceStage::Chains);
            // Most cycles need nothing but ties, and there are fewer of them.
            let needed = |with: &Steps| *with == Steps::Ties || !part.overwritten.is_empty();
            for with in Steps::ALL.into_iter().filter(needed) {
                match search(part, graph, with, most, meter)? {
                    Searched::Cycle(ties, more) => return Ok(violation(&ties, &more, meter)),
                    Searched::Nothing(steps) => searched = Some(NoCycle::Searched { steps }),
                    Searched::TooMany => searched = None,
                }
            }
        }
        match searched {
            Some(no_cycle) if self.method == TraceMethod::Chains => return Ok(Ok(no_cycle)),
            Some(_) => {}
            None => self.stage = TraceStage::Sat,
        }
        // What was searched is proved again, for those who do not believe it.
        Ok(match solve(part, graph, meter)? {
            Solved::Cycle(ties, more) => violation(&ties, &more, meter),
            Solved::Refuted(refutation) => Ok(NoCycle::Refuted(refutation)),
        })
    }

    fn stage_at_least(&self, stage: TraceStage) -> TraceStage {
        if self.stage == TraceStage::Sat { self.stage } else { stage }
    }
}
