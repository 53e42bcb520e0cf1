//! The phases of an exploration: one strategy after the other, until one has explored everything.

pub(crate) mod config;
pub(crate) mod course;
pub(crate) mod findings;
pub(crate) mod heard;
pub(crate) mod isolate;
pub(crate) mod pieces;
pub(crate) mod record;
pub(crate) mod sharing;

use std::cell::RefCell;
use std::time::Duration;

use weakspot_core::{Course, Limit, Model};
use weakspot_live::wire::{Config, GIVES_WAY, HANGS, Message, TOO_LONG, TOO_MUCH};
use weakspot_live::{Choices, Plan};

use crate::explore::course::{Blocked, Contacts, Followed, add_contacts, add_counts, lines};
use crate::explore::findings::{DOUBTED, Failure, Findings, RACE, Seen};
use crate::explore::heard::Heard;
use crate::explore::pieces::merged;
use crate::facts::native::{self, Silent};
use crate::facts::symbols::Symbols;
use crate::question::always_counts;
use crate::{Campaign, Control, Ended, Error, Question, Result, Start, Strategy, Until};

/// In auto, so many executions and this share of all limits are for a look whether there are few classes of them.
const LOOK_EXECUTIONS: u64 = 10_000;
const LOOK_SHARE: u32 = 8;
/// If no more executions than these are wanted, the look is all: whoever needs no more comes to an end. With more, those
/// with few preemptions are worth their share, since most failures show there.
const FEW_EXECUTIONS: u64 = 64;
/// Then the preemptions before all executions are explored, and how many executions of these are
/// looked at at most: what is found has few preemptions, but there are too many to wait for.
const FIRST_PREEMPTIONS: u32 = 2;
const FIRST_EXECUTIONS: u64 = 1000;
/// So many executions show which bytes are shared.
const LEARNT: u64 = 2000;
/// So many sets of shared bytes are tried for a schedule that cannot be followed.
const MOST_TRIED: usize = 16;

/// How often a thread may read the same again where it was taken to wait before, for how long, and in
/// how many executions.
const PATIENT_SPINS: u32 = 5000;
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENT_EXECUTIONS: u64 = 5000;
/// So many places at which executions were given up are named.
const MOST_CUT_OFF: usize = 3;
/// What is said where threads were taken to wait.
const WAITING: &str =
    "threads that read the same again and again were taken to wait for another one";

/// What an exploration came to.
pub(crate) struct Explored {
    /// What was found.
    pub(crate) findings: Findings,
    /// Executions of all strategies together.
    pub(crate) executions: u64,
    /// Their steps.
    pub(crate) steps: u64,
    /// The threads of the execution that had most; 0 if that is not known.
    pub(crate) threads: u64,
    /// The transactions that were executed, as far as is known.
    pub(crate) transactions: u64,
    /// The executions of these that ended because an assumption did not hold.
    pub(crate) assumed: u64,
    /// Executions that were left where threads wait in loops; these are not among the others.
    pub(crate) left: u64,
    /// The strategies that were followed.
    pub(crate) strategies: Vec<&'static str>,
    /// Why not everything was explored; nothing if it was.
    pub(crate) limit: Option<Limit>,
    /// Whether there is code that nobody has instrumented.
    pub(crate) unseen: bool,
    /// The models for which overtakings may be missing, because accesses overlap in part.
    pub(crate) mixed: Vec<Model>,
    /// Rounds of loops were left out that monitors may miss.
    pub(crate) undone: bool,
    /// Bytes that were found to be shared, in the order in which they were.
    pub(crate) shared: Vec<(u64, u64)>,
    /// What the user should know.
    pub(crate) remarks: Vec<String>,
    /// What addresses are called.
    pub(crate) symbols: Symbols,
    /// How it went.
    pub(crate) course: Course,
}

impl Explored {
    /// The executions that ended before their time.
    pub(crate) fn blocked(&self) -> Blocked {
        Blocked { assumed: self.assumed, left: self.left }
    }

    /// The memory that was known to be shared when something was seen.
    pub(crate) fn known(&self, seen: &Seen) -> Vec<(u64, u64)> {
        merged(&self.shared[..seen.known.min(self.shared.len())])
    }

    /// Functions of libraries whose accesses are not seen are mentioned, if there was a second thread.
    pub(crate) fn mention(&mut self, silent: &Silent) {
        for (library, names) in [("libc", &silent.libc), ("libstdc++", &silent.classes)] {
            if !names.is_empty() && self.threads != 1 {
                let names = names.join(", ");
                self.remarks
                    .push(format!("what {library} does to shared memory is not seen in: {names}"));
            }
        }
    }

    /// Code that nobody has instrumented may do anything to what threads share: then not everything was
    /// explored, unless there was one thread only.
    pub(crate) fn heed_unseen(&mut self, unseen: &[String]) {
        const MOST: usize = 5;
        if unseen.is_empty() || self.threads == 1 {
            return;
        }
        let (named, more) = unseen.split_at(unseen.len().min(MOST));
        for what in named {
            self.remarks.push(format!("{what} is not instrumented: what it does is not seen"));
        }
        if !more.is_empty() {
            self.remarks.push(format!("neither are {} others", more.len()));
        }
        self.unseen = true;
        self.limit.get_or_insert(Limit::Uncontrolled);
    }
}

/// A strategy.
struct Phase {
    name: &'static str,
    plan: Plan,
    /// All that it can explore, if that is less than everything.
    bound: Option<u32>,
    /// At most so many executions, if another one follows.
    most: Option<u64>,
}

impl Phase {
    /// Whether it ends when everything was explored, and not by chance.
    fn is_exhaustive(&self) -> bool {
        matches!(self.plan, Plan::Bounded(_) | Plan::Dpor | Plan::Rf)
    }
}

/// The strategies that are followed. `watched`: monitors look at executions, which need one of each
/// class of `dpor`.
fn phases(strategy: &Strategy, watched: bool) -> Vec<Phase> {
    let phase = |name, plan| Phase { name, plan, bound: None, most: None };
    let bounded = |bound| Phase { bound, ..phase("bounded", Plan::Bounded(bound)) };
    let first = || Phase { most: Some(FIRST_EXECUTIONS), ..bounded(Some(FIRST_PREEMPTIONS)) };
    let dpor = || phase("dpor", Plan::Dpor);
    let rf = || phase("rf", Plan::Rf);
    match *strategy {
        Strategy::Auto if watched => vec![first(), dpor()],
        Strategy::Auto => vec![first(), rf(), dpor()],
        Strategy::Bounded(most) => vec![bounded(most)],
        Strategy::Dpor => vec![dpor()],
        Strategy::Rf => vec![rf()],
        Strategy::Random { seed } => vec![phase("random", Plan::Random { seed })],
        Strategy::Pct { depth, seed } => vec![phase("pct", Plan::Pct { depth, seed })],
        Strategy::Replay(ref schedule) => vec![phase("replay", Plan::Replay(schedule.clone()))],
    }
}

/// By what auto looks whether anything is wrong. `rf` takes additions, barriers, readers and so on in all orders, even if
/// nobody can tell them apart.
fn look_plan(watched: bool, in_no_order: bool) -> Plan {
    if watched || in_no_order { Plan::Dpor } else { Plan::Rf }
}

/// Follows one strategy after the other, as the question says.
pub(crate) fn explore(campaign: &Campaign<'_>, base: &Config) -> Result<Explored> {
    // Time has been running since the question was asked.
    let question = campaign.question;
    let base = if question.profile { &crate::explore::config::profiled(base) } else { base };
    explore_until(campaign, base, question.until, Duration::ZERO, question.shared.clone())
}

/// The same up to another end, with time that runs since then, when some bytes are known to be shared.
pub(crate) fn explore_until(
    campaign: &Campaign<'_>,
    base: &Config,
    until: Until,
    since: Duration,
    shared: Vec<(u64, u64)>,
) -> Result<Explored> {
    let symbols = Symbols::with_names(campaign.facts.naming.clone());
    let mut exploration = Exploration {
        campaign: *campaign,
        base: base.clone(),
        until,
        since,
        explored: Explored {
            findings: Findings::none(),
            executions: 0,
            steps: 0,
            threads: 0,
            transactions: 0,
            assumed: 0,
            left: 0,
            strategies: Vec::new(),
            limit: Some(Limit::Executions(0)),
            unseen: false,
            mixed: Vec::new(),
            undone: false,
            shared,
            remarks: Vec::new(),
            symbols,
            course: Course::default(),
        },
        course: RefCell::default(),
        met: Contacts::new(),
    };
    // To start a program takes longer than to say that nobody waits for it any more.
    match campaign.control.interrupted() {
        true => exploration.explored.limit = Some(Limit::Interrupted),
        false => exploration.follow_phases()?,
    }
    let explored = &mut exploration.explored;
    explored.course = exploration.course.into_inner();
    explored.course.lines = lines(&exploration.met, &explored.symbols);
    // As in "assume what must not be, then fail": no failure is what was to be shown. It may as well be a slip.
    let all = explored.limit.is_none() && explored.executions > 0;
    if all && explored.assumed == explored.executions {
        explored.remarks.insert(0, NEVER_ASSUMED.to_owned());
    }
    Ok(exploration.explored)
}

/// An exploration that is under way.
struct Exploration<'a> {
    campaign: Campaign<'a>,
    base: Config,
    until: Until,
    since: Duration,
    explored: Explored,
    course: RefCell<Course>,
    /// Accesses by place and thread, with conflicting ones of other threads.
    met: Contacts,
}

/// What is said where the time limit seems to be another one.
const HALF: &str = "half of the time (--timeout) was for executions of SC, the other half is for those with store \
                    buffers, because a pair was found";

impl Exploration<'_> {
    fn follow_phases(&mut self) -> Result<()> {
        let question = self.campaign.question;
        // `rf` does not know of stores that may not wait.
        let watched = !self.base.models.is_empty()
            || self.base.transactions.is_some()
            || !self.base.delayed.is_empty();
        let mut looked = None;
        if question.strategy == Strategy::Auto {
            looked = self.look(watched)?;
            // It was all that there is to explore.
            if !self.explored.strategies.is_empty() {
                return self.follow_loops();
            }
        }
        let phases = phases(&question.strategy, watched);
        let last = phases.len() - 1;
        for (i, phase) in phases.into_iter().enumerate() {
            // Those that follow need time and executions, too.
            let share = if i < last { 2 } else { 1 };
            let left = self.time_left() / share;
            let executions = self.explored.executions;
            let most = question.executions.map(|most| most.saturating_sub(executions));
            let most = most.map(|most| most.div_ceil(u64::from(share)));
            let most = [most, phase.most].into_iter().flatten().min();
            if left.is_zero() {
                self.explored.limit = Some(Limit::Time(question.timeout));
                break;
            }
            if most == Some(0) {
                break;
            }
            let (ended, heard) = self.follow(&phase, left, most)?;
            let limit = self.limit_of(&phase, &heard, &ended)?;
            // A strategy that only comes first leaves the time to those that come after it.
            let enough = phase.most.is_some_and(|most| heard.executions >= most);
            let bound = phase.bound.filter(|_| enough && limit != Some(Limit::Interrupted));
            self.explored.limit = bound.map(Limit::Preemptions).or(limit);
            if self.explored.limit == Some(Limit::Time(question.timeout / 2)) {
                self.explored.remarks.push(HALF.to_owned());
            }
            match self.explored.limit {
                None => self.take_all(phase.name, heard),
                Some(_) => self.take(phase.name, heard),
            }
            if self.explored.limit.is_none() || self.is_interrupted() || self.is_enough() {
                break;
            }
        }
        self.follow_loops()?;
        // Who had no time to find it again does not lose it.
        if let Some(looked) = looked {
            self.explored.findings.add_missing(looked);
        }
        Ok(())
    }

    /// Whoever explores everything also comes to what was executed before, which is not counted twice, and says
    /// again what is to be said about it. What was found before has fewer preemptions, and is shown.
    fn take_all(&mut self, name: &'static str, heard: Heard) {
        let explored = &mut self.explored;
        (explored.executions, explored.steps, explored.transactions) = (0, 0, 0);
        (explored.assumed, explored.left) = (0, 0);
        explored.remarks.clear();
        let before = std::mem::replace(&mut explored.findings, Findings::none());
        self.take(name, heard);
        self.explored.findings.show_by(before.clone());
        self.explored.findings.add_missing(before);
    }

    fn is_interrupted(&self) -> bool {
        self.explored.limit == Some(Limit::Interrupted)
    }

    /// Most programs have few classes of executions: then these are all that is executed. Otherwise
    /// strategies follow that come to those with few preemptions first, and what was found is returned, to be kept
    /// for the case that they do not get so far.
    fn look(&mut self, watched: bool) -> Result<Option<Findings>> {
        let question = self.campaign.question;
        let few = question.executions.is_some_and(|most| most <= FEW_EXECUTIONS);
        let share = if few { 1 } else { LOOK_SHARE };
        let left = self.time_left() / share;
        let most = question.executions.map_or(u64::MAX, |most| most / u64::from(share));
        let most = most.min(LOOK_EXECUTIONS);
        if left.is_zero() {
            return Ok(None);
        }
        let plan = look_plan(watched, self.campaign.facts.in_no_order);
        let name = if plan == Plan::Dpor { "dpor" } else { "rf" };
        let phase = Phase { name, plan, bound: None, most: Some(most) };
        let enough = |heard: &Heard| heard.ends_look(self.until);
        let (ended, heard) =
            self.follow_until(&phase, left, phase.most, &self.explored.shared, enough)?;
        let limit = self.limit_of(&phase, &heard, &ended)?;
        let ends = matches!(limit, None | Some(Limit::Interrupted | Limit::Loops));
        if ends || few || heard.is_enough(self.until) {
            let found = heard.has_findings() && limit != Some(Limit::Interrupted);
            self.explored.limit = limit;
            self.take(name, heard);
            if found {
                self.shorten()?;
            }
            return Ok(None);
        }
        // What it is about is heard again by those that follow, who say so.
        let before = self.explored.remarks.clone();
        let findings = std::mem::replace(&mut self.explored.findings, Findings::none());
        self.take(name, heard);
        self.explored.strategies.pop();
        self.explored.remarks = before;
        Ok(Some(std::mem::replace(&mut self.explored.findings, findings)))
    }

    /// Looks for what was found in executions with few preemptions, which are easier to read. All is known
    /// about it but these schedules, so that the executions do not count.
    fn shorten(&mut self) -> Result<()> {
        let Campaign { runtime, control, .. } = self.campaign;
        let left = self.time_left() / LOOK_SHARE;
        if left.is_zero() {
            return Ok(());
        }
        let shared = &self.explored.shared;
        let plan = Plan::Bounded(Some(FIRST_PREEMPTIONS));
        let config = self.config(plan, left, FIRST_EXECUTIONS, shared);
        let config = Config { trace: false, ..config };
        let stop = || control.interrupted();
        let start = Start { config: &config, output: false, most: left, stop: &stop };
        let mut heard = Heard::nothing(shared.len());
        let mut shown = 0;
        runtime.run(&start, &mut |message| {
            heard.hear(message, control);
            let more = heard.shown() > shown;
            shown = heard.shown();
            more && heard.shows(&self.explored.findings)
        })?;
        self.judge(&mut heard);
        self.explored.shared.append(&mut heard.shared);
        self.explored.findings.show_by(heard.findings());
        Ok(())
    }

    fn time_left(&self) -> Duration {
        let spent = self.campaign.control.elapsed().saturating_sub(self.since);
        self.campaign.question.timeout.saturating_sub(spent)
    }

    /// Threads were taken to wait in loops, which is a guess: loops with a bounded number of tries go
    /// on behind the last one. So they may go round for much longer, in a share of the time that is
    /// left and as many executions as such loops take. If that explores everything, there was no
    /// guess.
    fn follow_loops(&mut self) -> Result<()> {
        if self.explored.limit != Some(Limit::Loops) {
            return Ok(());
        }
        let question = self.campaign.question;
        let left = (self.time_left() / 4).min(PATIENCE);
        let executions = self.explored.executions;
        let most = question.executions.map(|most| most.saturating_sub(executions));
        let most = most.unwrap_or(u64::MAX).min(PATIENT_EXECUTIONS);
        if left.is_zero() || most == 0 || self.base.spins >= PATIENT_SPINS {
            return Ok(());
        }
        let phase = Phase { name: "patient dpor", plan: Plan::Dpor, bound: None, most: None };
        let spins = std::mem::replace(&mut self.base.spins, PATIENT_SPINS);
        let followed = self.follow(&phase, left, Some(most));
        self.base.spins = spins;
        let (ended, heard) = followed?;
        let limit = self.limit_of(&phase, &heard, &ended)?;
        if limit.is_none() {
            self.explored.limit = None;
            self.take_all(phase.name, heard);
            return Ok(());
        }
        if limit == Some(Limit::Interrupted) {
            self.explored.limit = limit;
        }
        self.take(phase.name, heard);
        Ok(())
    }

    /// Follows one strategy. A schedule depends on which bytes were known to be shared when it was
    /// made: if it cannot be followed, others are tried.
    fn follow(&self, phase: &Phase, left: Duration, most: Option<u64>) -> Result<(Ended, Heard)> {
        let shared = &self.explored.shared;
        let first = self.follow_knowing(phase, left, most, shared)?;
        let replays = matches!(phase.plan, Plan::Replay(_));
        if !replays || first.1.diverged.is_none() {
            return Ok(first);
        }
        // If none can be followed, the one that led farthest says most about why.
        let mut farthest = first;
        for known in self.learn(left)? {
            let (ended, heard) = self.follow_knowing(phase, left, most, &known)?;
            let is_followed = heard.diverged.is_none();
            if is_followed || heard.diverged > farthest.1.diverged {
                farthest = (ended, heard.with_shared(known));
            }
            if is_followed {
                break;
            }
        }
        Ok(farthest)
    }

    fn follow_knowing(
        &self,
        phase: &Phase,
        left: Duration,
        most: Option<u64>,
        shared: &[(u64, u64)],
    ) -> Result<(Ended, Heard)> {
        self.follow_until(phase, left, most, shared, |heard| {
            heard.is_enough(self.until) || self.leaves_time(heard)
        })
    }

    fn follow_until(
        &self,
        phase: &Phase,
        left: Duration,
        most: Option<u64>,
        shared: &[(u64, u64)],
        enough: impl Fn(&Heard) -> bool,
    ) -> Result<(Ended, Heard)> {
        let Campaign { runtime, control, .. } = self.campaign;
        self.course.borrow_mut().begin(phase.name, control.elapsed());
        let control = &Followed { control, course: &self.course, strategy: phase.name };
        let campaign = &Campaign { control, ..self.campaign };
        let config = self.config(phase.plan.clone(), left, most.unwrap_or(0), shared);
        if self.is_shared(phase)
            && let Some(followed) = sharing::follow(campaign, &config, left, shared, &enough)?
        {
            return Ok(followed);
        }
        let mut heard = Heard::nothing(shared.len());
        let stop = || control.interrupted();
        let start = Start { config: &config, output: true, most: left, stop: &stop };
        let ended = runtime.run(&start, &mut |message| {
            heard.hear(message, control);
            enough(&heard)
        })?;
        Ok((ended, heard))
    }

    /// Whether several of the program may follow a strategy. Who stops at the first finding explores
    /// alone: which one is the first must not depend on who is faster. `dpor` is followed in parts even by one,
    /// so that the answer does not depend on how many there are; and what is kept is kept by parts.
    fn is_shared(&self, phase: &Phase) -> bool {
        let Campaign { question, runtime, .. } = self.campaign;
        let several = question.workers > 1 || phase.plan == Plan::Dpor || runtime.is_kept();
        several && self.until == Until::End && phase.most.is_none()
    }

    /// Whether it is time to look for the consequences of what was found.
    fn leaves_time(&self, heard: &Heard) -> bool {
        let Campaign { question, control, .. } = self.campaign;
        let sought = self.base.under == Model::Sc && question.seeks_consequences();
        let found =
            heard.is_enough(Until::Overtaken) || !self.explored.findings.overtakings.is_empty();
        sought && found && control.elapsed().saturating_sub(self.since) > question.timeout / 2
    }

    fn config(&self, plan: Plan, left: Duration, most: u64, shared: &[(u64, u64)]) -> Config {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Config {
            plan,
            executions: most,
            timeout: millis(left).max(1),
            hang: millis(left / 10).clamp(200, crate::explore::config::HANG),
            shared: merged(shared),
            ..self.base.clone()
        }
    }

    /// The sets of bytes that may have been known to be shared when a schedule was made, the last ones
    /// that were learnt first. Executions with buffers may have been explored from the start, or after
    /// those of SC.
    fn learn(&self, left: Duration) -> Result<Vec<Vec<(u64, u64)>>> {
        let mut sets: Vec<Vec<(u64, u64)>> = Vec::new();
        let under = self.base.under;
        let chains: &[&[Model]] = match under {
            Model::Sc => &[&[Model::Sc]],
            _ => &[&[Model::Sc, under], &[under]],
        };
        for chain in chains {
            let mut known = Vec::new();
            let mut found = Vec::new();
            for &under in *chain {
                let look = look_plan(under == Model::Sc, self.campaign.facts.in_no_order);
                let ends_look = |heard: &Heard| heard.ends_look(self.until);
                self.learn_by(look, under, left, ends_look, &mut known, &mut found)?;
                for plan in [Plan::Bounded(Some(FIRST_PREEMPTIONS)), Plan::Dpor] {
                    self.learn_by(plan, under, left, |_| false, &mut known, &mut found)?;
                }
                found.push(known.clone());
            }
            for set in found.into_iter().rev() {
                if !sets.iter().any(|known| merged(known) == merged(&set)) {
                    sets.push(set);
                }
            }
        }
        sets.truncate(MOST_TRIED);
        Ok(sets)
    }

    /// Adds what one strategy learns to what is known, and the sets on the way to those that were found.
    fn learn_by(
        &self,
        plan: Plan,
        under: Model,
        left: Duration,
        enough: impl Fn(&Heard) -> bool,
        known: &mut Vec<(u64, u64)>,
        found: &mut Vec<Vec<(u64, u64)>>,
    ) -> Result<()> {
        let Campaign { runtime, control, .. } = self.campaign;
        let config = self.config(plan, left, LEARNT, known);
        let config = Config { trace: false, under, ..config };
        let stop = || control.interrupted();
        let start = Start { config: &config, output: false, most: left, stop: &stop };
        let mut heard = Heard::nothing(known.len());
        runtime.run(&start, &mut |message| {
            match message {
                Message::Shared { addr, len } => known.push((addr, len)),
                Message::Again => found.push(known.clone()),
                _ => {}
            }
            heard.hear(message, control);
            enough(&heard)
        })?;
        Ok(())
    }

    /// Why a strategy has not explored everything.
    fn limit_of(&self, phase: &Phase, heard: &Heard, ended: &Ended) -> Result<Option<Limit>> {
        if let Some(defect) = &heard.defect {
            return Err(Error::defect(defect));
        }
        let name = &self.campaign.facts.name;
        let timeout = self.campaign.question.timeout;
        let executions = self.explored.executions + heard.executions;
        Ok(match (ended, heard.done.as_deref()) {
            // Where everything was explored when the stop came, nothing is missing.
            (Ended::Stopped, how) if how != Some("complete") => Some(Limit::Interrupted),
            (Ended::Heard, _) if heard.is_enough(self.until) => Some(match self.until {
                Until::Found { .. } | Until::Failed => Limit::Finding(executions),
                Until::End | Until::Overtaken => Limit::Executions(executions),
            }),
            (Ended::Heard, None) if self.leaves_time(heard) => Some(Limit::Time(timeout / 2)),
            (Ended::Overdue, _) | (_, Some("timeout")) => Some(Limit::Time(timeout)),
            // A call that is not controlled may do something else in another run.
            (_, Some("complete" | "incomplete")) if !heard.unsupported.is_empty() => {
                Some(Limit::Uncontrolled)
            }
            // A strategy that was not followed has not seen what it thinks it has.
            (_, Some("complete")) if heard.diverged.is_some() => Some(Limit::Uncontrolled),
            (_, Some("complete")) if heard.idle > 0 => Some(Limit::Loops),
            (_, Some("complete")) => None,
            (_, Some("incomplete"))
                if phase.is_exhaustive() && heard.cut_off().next().is_some() =>
            {
                let has = |kind: &str| heard.cut_off().any(|cut_off| cut_off.kind == kind);
                let is_long = heard.cut_off().all(|cut_off| cut_off.kind == TOO_LONG);
                Some(match has(TOO_MUCH) {
                    true => Limit::Memory(self.campaign.question.memory),
                    false if is_long => Limit::Steps(self.base.steps),
                    false => Limit::Silent,
                })
            }
            (_, Some("incomplete")) if phase.bound.is_some() => phase.bound.map(Limit::Preemptions),
            (Ended::Heard | Ended::Stopped, _) => Some(Limit::Executions(executions)),
            (Ended::Silent(how), _) if heard.modules.is_empty() => {
                return Err(Error::new(format!(
                    "{name} {how} before it could be controlled; does it run on its own, and was it \
                     compiled by `weakspot cc` or `weakspot c++`?"
                )));
            }
            (Ended::Silent(how), _) => {
                return Err(Error::defect(format!("{name} {how} under control")));
            }
        })
    }

    fn is_enough(&self) -> bool {
        let Findings { overtakings, failures, .. } = &self.explored.findings;
        match self.until {
            Until::End => false,
            Until::Found { advice } => {
                overtakings.iter().any(|o| advice || always_counts(o.model)) || !failures.is_empty()
            }
            Until::Failed => failures.iter().any(|failure| failure.kind != RACE),
            Until::Overtaken => !overtakings.is_empty(),
        }
    }

    /// Decides what failures are that only the whole program can tell. Returns how many executions ended
    /// because an assumption did not hold, and what to say about them.
    fn judge(&self, heard: &mut Heard) -> (u64, Vec<String>) {
        let Campaign { facts, .. } = self.campaign;
        let symbols = &self.explored.symbols;
        let mut remarks = Vec::new();
        let (all, mut assumed) = (heard.executions, heard.assumed);
        if assumed > 0 {
            remarks.push(format!(
                "{assumed} of {all} executions end where an assumption does not hold, and do not count"
            ));
        }
        heard.judge_endless(|failure| {
            let function = assumption(failure, symbols);
            if let Some(function) = &function {
                let ended = failure.seen.executions;
                assumed += ended;
                remarks.push(format!(
                    "{ended} of {all} executions end in the empty loop of `{function}`, and do not count"
                ));
            }
            function.is_some()
        });
        if let Some(test) = facts.test {
            heard.blame_test(test);
        }
        heard.doubt_livelocks(|| {
            let unseen = native::unseen_in_libraries(symbols.files());
            !facts.unseen.is_empty() || !unseen.is_empty()
        });
        (assumed, remarks)
    }

    /// Adds what was heard.
    fn take(&mut self, name: &'static str, mut heard: Heard) {
        let rust = self.campaign.facts.rust;
        self.explored.shared.append(&mut heard.shared);
        self.explored.symbols.fill(std::mem::take(&mut heard.modules));
        let (assumed, mut remarks) = self.judge(&mut heard);
        let explored = &mut self.explored;
        explored.strategies.push(name);
        if let Some(step) = heard.diverged {
            remarks.push(diverged(step, self.campaign.question));
        }
        for cut_off in heard.cut_off().take(MOST_CUT_OFF) {
            let why = match &*cut_off.kind {
                TOO_LONG => format!("after {} steps (--steps)", self.base.steps),
                TOO_MUCH => {
                    "where the program allocates more than a quarter of --memory".to_owned()
                }
                DOUBTED => "in a loop that code which is not seen may end".to_owned(),
                GIVES_WAY => {
                    "in a loop that seems to do nothing but to give way for ever".to_owned()
                }
                _ => "after a long computation without an access to what threads share".to_owned(),
            };
            let at = cut_off.place.map(|place| explored.symbols.text(place));
            let at = at.map_or(String::new(), |at| format!(" at {at}"));
            remarks.push(format!("executions were given up{at} {why}"));
        }
        for (what, place) in std::mem::take(&mut heard.unsupported) {
            let at = place.map_or(String::new(), |p| format!(" at {}", explored.symbols.text(p)));
            remarks.push(format!("the program calls {what}{at}, which cannot be controlled"));
        }
        for (what, places) in std::mem::take(&mut heard.outside) {
            let at = explored.symbols.own_text(&places);
            let at = at.map_or(String::new(), |at| format!(" at {at}"));
            remarks.push(format!(
                "the program {what}{at}: each execution does so for real, and finds what others left"
            ));
        }
        explored.mixed.append(&mut heard.mixed);
        explored.undone |= heard.undone > 0;
        if heard.exits > 0 && !self.base.codes {
            let (exits, all) = (heard.exits, heard.executions);
            remarks.push(format!(
                "{exits} of {all} executions by {name} ended with an exit code that is not 0, which is no \
                 failure"
            ));
        }
        if let Some(place) = heard.volatile
            && !explored.remarks.iter().any(|remark| remark.starts_with(VOLATILE))
        {
            let at = place.map_or(String::new(), |p| format!(" (at {})", explored.symbols.text(p)));
            remarks.push(format!(
                "{VOLATILE}{at} are taken for release and acquire, and for no data races"
            ));
        }
        if heard.idle > 0 {
            remarks.push(WAITING.to_owned());
        }
        // The main thread begins and ends, whatever it does. Who was stopped has not said what he saw.
        let few = heard.steps <= 2 * heard.executions && heard.executions > 0;
        // A program without a second thread shares nothing.
        let alone = heard.threads == 1;
        if few && !alone && heard.done.is_some() && !heard.has_findings() && !rust {
            remarks.push(
                "no access to shared memory was seen: was the program compiled by `weakspot cc`?"
                    .to_owned(),
            );
        }
        for remark in remarks {
            if !explored.remarks.contains(&remark) {
                explored.remarks.push(remark);
            }
        }
        let course = self.course.get_mut();
        course.reach(self.campaign.control.elapsed(), heard.executions, heard.steps);
        add_counts(&mut course.by_preemptions, &heard.by_preemptions);
        add_contacts(&mut self.met, std::mem::take(&mut heard.met));
        let before = explored.executions;
        explored.executions += heard.executions;
        explored.steps += heard.steps;
        explored.threads = explored.threads.max(heard.threads);
        explored.transactions += heard.transactions;
        explored.assumed += assumed;
        explored.left += heard.left;
        explored.findings.add(heard.findings(), before);
    }
}

/// The function by which a program gives up the execution that ended in an empty loop, which is known by its
/// name.
fn assumption(failure: &Failure, symbols: &Symbols) -> Option<String> {
    let hangs = failure.related.iter().filter(|related| related.what == HANGS);
    let innermost = hangs.map(|related| symbols.frames(related.place).into_iter().next()?.function);
    // Whoever hangs elsewhere does so whatever is assumed.
    let names: Option<Vec<String>> = innermost.collect();
    let is_assumption = |names: &Vec<String>| names.iter().all(|name| name.contains("assume"));
    names.filter(is_assumption)?.into_iter().next()
}

const NEVER_ASSUMED: &str = "no execution comes to its end: in each an assumption does not hold, and what is behind \
                             it was never executed";

const VOLATILE: &str = "volatile accesses and those in assembly";

/// Why a schedule may not have been followed.
fn diverged(step: u64, question: &Question) -> String {
    let buffers = |schedule: &Choices| schedule.runs().iter().any(|(agent, _)| agent.is_buffer());
    let why = match &question.strategy {
        Strategy::Replay(schedule) if question.under != Model::Sc && !buffers(schedule) => {
            "it has no steps of store buffers, so it is probably of an exploration without --under"
        }
        Strategy::Replay(_) => {
            "it is of another program or of other options (--under, --reuse, --isolate, \
             --transaction), or the program depends on something outside of it"
        }
        _ => "the program depends on something outside of it",
    };
    format!("the schedule could not be followed beyond step {step}: {why}")
}
