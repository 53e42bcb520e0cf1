//! From a pair to its consequence: does an execution fail because a store waits in its buffer?
//!
//! What is safe under SC and robust under a model is safe under the model, and needs no execution with
//! buffers. Otherwise the store of each pair is looked at on its own: it may wait in its buffer while all
//! others are in memory at once ([`Config::delayed`]), which is hardly more to explore than SC. If no
//! execution fails like that, all stores may wait. Executions of both kinds are executions of the
//! machine, so a failure is one; that there is none is known only if all of the second kind were explored.

use std::time::Duration;

use weakspot_core::{Limit, Model, Verdict};
use weakspot_live::late;
use weakspot_live::wire::{Config, Place};

use crate::answer::{Consequence, Failed, ModelAnswer, Shown, ShownFailure};
use crate::explore::course::Blocked;
use crate::explore::findings::RACE;
use crate::explore::{Explored, explore_until};
use crate::judge::failures::show_failures;
use crate::judge::races::{are_alike, once_per_lines};

use crate::question::is_executable;
use crate::replay::Replays;
use crate::{Campaign, Question, Result, Strategy, Until};

/// The stores of so many places are looked at on their own.
const MOST_STORES: usize = 20;

/// When it is known that executions fail, all that do are listed if there are at most so many classes.
const MOST_OF_REST: u64 = 1000;

/// What was found under the models that were asked about.
pub(crate) struct Sought {
    /// One for each model that can be executed.
    pub(crate) failed: Vec<Failed>,
    /// What the user should know.
    pub(crate) remarks: Vec<String>,
}

/// Whether executions fail under the models that were asked about, after those under SC. The pairs
/// of the models get their consequences.
pub(crate) fn seek(
    campaign: &Campaign<'_>,
    base: &Config,
    explored: &Explored,
    sc: &Failed,
    models: &mut [ModelAnswer],
) -> Result<Sought> {
    let mut sought = Sought { failed: Vec::new(), remarks: Vec::new() };
    let all = models.iter().filter(|answer| is_executable(answer.model)).count();
    for answer in models.iter_mut().filter(|answer| is_executable(answer.model)) {
        let left = campaign.question.timeout.saturating_sub(campaign.control.elapsed());
        let share = left / u32::try_from(all - sought.failed.len()).unwrap_or(1);
        let seeker = Seeker { campaign: *campaign, base, explored, sc, model: answer.model };
        let wanted = campaign.question.until == Until::End || sought.needs(sc, &seeker, answer);
        let failed = match wanted {
            true => seeker.seek(answer, share, &mut sought.remarks)?,
            false => seeker.not_sought(answer),
        };
        sought.failed.push(failed);
    }
    Ok(sought)
}

impl Sought {
    /// Whether a failure under one more model would be the first finding that counts.
    fn needs(&self, sc: &Failed, seeker: &Seeker<'_>, pairs: &ModelAnswer) -> bool {
        let Question { robust, .. } = seeker.campaign.question;
        let counts = |failed: &Failed| !failed.advisory && failed.verdict == Verdict::Violated;
        // A finding has ended the exploration, and advice has time.
        let advice = sc.limit.is_some() && seeker.campaign.question.is_advisory(seeker.model);
        let pair = *robust && pairs.verdict == Verdict::Violated;
        !(advice || pair || self.failed.iter().chain([sc]).any(counts))
    }
}

/// A failure that is not there under SC.
struct Found {
    /// The number of the failure.
    failure: usize,
    /// Which stores were late in it.
    late: Vec<Place>,
}

/// A data race that is not there under SC.
struct Race {
    shown: ShownFailure,
    /// Which stores were late where it was seen.
    late: Vec<Place>,
}

struct Seeker<'a> {
    campaign: Campaign<'a>,
    base: &'a Config,
    explored: &'a Explored,
    sc: &'a Failed,
    model: Model,
}

impl Seeker<'_> {
    /// What is known before anything is executed with buffers.
    fn as_under_sc(&self) -> Failed {
        Failed {
            model: self.model,
            verdict: self.sc.verdict.clone(),
            advisory: self.campaign.question.is_advisory(self.model),
            failures: self.sc.failures.clone(),
            limit: self.sc.limit.clone(),
            as_under_sc: self.sc.failures.len(),
            executions: 0,
            blocked: Blocked::default(),
            steps: 0,
            strategies: Vec::new(),
        }
    }

    /// What is said where what was found is enough.
    fn not_sought(&self, pairs: &ModelAnswer) -> Failed {
        let mut failed = self.as_under_sc();
        if pairs.verdict != Verdict::Holds {
            let limit = Limit::Finding(self.explored.executions);
            if failed.verdict == Verdict::Holds {
                failed.verdict = Verdict::Unknown(limit.clone());
            }
            failed.limit.get_or_insert(limit);
        }
        failed
    }

    fn seek(
        &self,
        pairs: &mut ModelAnswer,
        share: Duration,
        remarks: &mut Vec<String>,
    ) -> Result<Failed> {
        let mut failed = self.as_under_sc();
        let mut races = Vec::new();
        let until = self.campaign.control.elapsed() + share;
        // An execution ends where it fails: what would have come of a pair behind that is not seen.
        if !self.sc.failures.is_empty() {
            pairs.findings.iter_mut().for_each(|f| f.consequence = Consequence::AsUnderSc);
        }
        match &pairs.verdict {
            Verdict::Holds => return Ok(failed),
            Verdict::Unknown(Limit::Overlap) | Verdict::Violated => {}
            Verdict::Unknown(limit) => {
                if failed.verdict == Verdict::Holds {
                    failed.verdict = Verdict::Unknown(limit.clone());
                }
                failed.limit = Some(limit.clone());
                return Ok(failed);
            }
        }
        let mut stores: Vec<Place> = Vec::new();
        for finding in &pairs.findings {
            if !stores.contains(&finding.found.store) {
                stores.push(finding.found.store);
            }
        }
        for (i, &store) in stores.iter().take(MOST_STORES).enumerate() {
            let left = self.left(until) / 2;
            let share = left / u32::try_from(stores.len().min(MOST_STORES) - i).unwrap_or(1);
            let Some(steered) = self.explore(&[store], share, &failed)? else { break };
            let new = self.take(&mut failed, &mut races, &steered)?;
            for finding in pairs.findings.iter_mut().filter(|f| f.found.store == store) {
                finding.consequence = match new.first() {
                    Some(found) => Consequence::Fails(found.failure),
                    None if !self.sc.failures.is_empty() => Consequence::AsUnderSc,
                    None if steered.limit.is_none() => Consequence::Unnoticed,
                    None => Consequence::Unknown,
                };
            }
            remarks.extend(steered.remarks);
        }
        let timeout = self.campaign.question.timeout;
        let found = failed.failures.len() > failed.as_under_sc;
        let untried = match self.executions_left(&failed) {
            Some(0) => Limit::Executions(self.explored.executions + failed.executions),
            _ if self.campaign.control.interrupted() => Limit::Interrupted,
            // What was found ended it.
            _ if found && !self.left(until).is_zero() => Limit::Finding(failed.executions),
            _ => Limit::Time(timeout),
        };
        if found || self.sc.verdict == Verdict::Violated {
            failed.verdict = Verdict::Violated;
            failed.limit = Some(untried);
            // That something fails is known. What else does is looked for if that takes little.
            if let Some(rest) = self.explore_rest(self.left(until), &failed)? {
                self.take(&mut failed, &mut races, &rest)?;
                failed.limit = of_all(rest.limit, &failed);
            }
            self.heed_updates(pairs, &mut failed);
            heed_races(pairs, &mut failed, races);
            return Ok(failed);
        }
        failed.verdict = Verdict::Unknown(untried.clone());
        failed.limit = Some(untried);
        if let Some(all) = self.explore(&[], self.left(until), &failed)? {
            let new = self.take(&mut failed, &mut races, &all)?;
            // How much time there was for this is of no interest.
            failed.limit = match of_all(all.limit.clone(), &failed) {
                Some(Limit::Time(_)) => Some(Limit::Time(timeout)),
                limit => limit,
            };
            failed.verdict = match &failed.limit {
                _ if !new.is_empty() => Verdict::Violated,
                None => Verdict::Holds,
                Some(limit) => Verdict::Unknown(limit.clone()),
            };
            for finding in &mut pairs.findings {
                let shows = |found: &&Found| found.late.contains(&finding.found.store);
                match (new.iter().find(shows), &all.limit) {
                    (Some(found), _) => finding.consequence = Consequence::Fails(found.failure),
                    (None, None) if new.is_empty() => finding.consequence = Consequence::Unnoticed,
                    _ => {}
                }
            }
            remarks.extend(all.remarks);
        }
        self.heed_updates(pairs, &mut failed);
        heed_races(pairs, &mut failed, races);
        Ok(failed)
    }

    /// Nobody has executed what comes of an update that overtakes a store: that nothing fails says nothing about it.
    fn heed_updates(&self, pairs: &mut ModelAnswer, failed: &mut Failed) {
        for finding in &mut pairs.findings {
            let overtakes = match &finding.shown {
                Shown::Again(evidence) => evidence.update_overtakes(self.model),
                Shown::NotAgain | Shown::Unrepeatable => false,
            };
            if !overtakes || finding.consequence != Consequence::Unnoticed {
                continue;
            }
            finding.consequence = Consequence::Unknown;
            failed.limit.get_or_insert(Limit::Updates);
            if failed.verdict == Verdict::Holds {
                failed.verdict = Verdict::Unknown(Limit::Updates);
            }
        }
    }

    fn left(&self, until: Duration) -> Duration {
        until.saturating_sub(self.campaign.control.elapsed())
    }

    /// What all strategies together find under the model when only these stores may wait, or all if
    /// there are none; nothing if there is no time.
    fn explore(
        &self,
        delayed: &[Place],
        most: Duration,
        so_far: &Failed,
    ) -> Result<Option<Explored>> {
        let Campaign { control, .. } = self.campaign;
        let executions = self.executions_left(so_far);
        if most.is_zero() || executions == Some(0) || control.interrupted() {
            return Ok(None);
        }
        // What fails under SC fails here, too, and is no reason to stop.
        let safe = self.sc.failures.is_empty();
        let until = if safe && !delayed.is_empty() { Until::Failed } else { Until::End };
        let question = Question { executions, ..self.question(most) };
        self.explore_by(&question, delayed, until).map(Some)
    }

    /// All executions in which any store may wait, if there are few classes of them; nothing if nobody
    /// wants to know, or if there is no time.
    fn explore_rest(&self, most: Duration, so_far: &Failed) -> Result<Option<Explored>> {
        let question = self.campaign.question;
        let strategy = match &question.strategy {
            Strategy::Auto => Strategy::Rf,
            Strategy::Rf | Strategy::Dpor | Strategy::Bounded(_) => question.strategy.clone(),
            Strategy::Random { .. } | Strategy::Pct { .. } | Strategy::Replay(_) => {
                return Ok(None);
            }
        };
        let executions = self.executions_left(so_far).unwrap_or(u64::MAX).min(MOST_OF_REST);
        let stops = question.until != Until::End || self.campaign.control.interrupted();
        if most.is_zero() || executions == 0 || stops {
            return Ok(None);
        }
        let executions = Some(executions);
        let question = Question { executions, strategy, ..self.question(most) };
        self.explore_by(&question, &[], Until::End).map(Some)
    }

    fn explore_by(&self, question: &Question, delayed: &[Place], until: Until) -> Result<Explored> {
        let control = self.campaign.control;
        let campaign = Campaign { question, ..self.campaign };
        let config = Config { delayed: delayed.to_vec(), ..self.config() };
        let shared = self.explored.shared.clone();
        let mut explored = explore_until(&campaign, &config, until, control.elapsed(), shared)?;
        if self.explored.unseen {
            explored.limit.get_or_insert(Limit::Uncontrolled);
        }
        Ok(explored)
    }

    fn executions_left(&self, so_far: &Failed) -> Option<u64> {
        let question = self.campaign.question;
        // Samples of SC have no end by themselves, and would leave none: with store buffers there are as many again.
        let before = match question.strategy {
            Strategy::Random { .. } | Strategy::Pct { .. } => 0,
            Strategy::Auto
            | Strategy::Bounded(_)
            | Strategy::Dpor
            | Strategy::Rf
            | Strategy::Replay(_) => self.explored.executions,
        };
        question.executions.map(|most| most.saturating_sub(before + so_far.executions))
    }

    fn question(&self, timeout: Duration) -> Question {
        let (models, under) = (Vec::new(), self.model);
        Question { models, under, timeout, transactions: None, ..self.campaign.question.clone() }
    }

    /// The configuration of executions with buffers.
    fn config(&self) -> Config {
        let (models, under) = (Vec::new(), self.model);
        let (transactions, fence_transactions) = (None, false);
        // What races under SC does so here, too: the program means nothing already.
        let races = self.base.races.filter(|_| !self.sc.failures.iter().any(is_race));
        Config { models, under, transactions, fence_transactions, races, ..self.base.clone() }
    }

    /// Adds what was found, data races apart. Those failures that are not there under SC.
    fn take(
        &self,
        failed: &mut Failed,
        races: &mut Vec<Race>,
        explored: &Explored,
    ) -> Result<Vec<Found>> {
        // Several searches are counted as one.
        let before = failed.executions;
        failed.executions += explored.executions;
        failed.blocked.add(explored.blocked());
        failed.steps += explored.steps;
        for &strategy in &explored.strategies {
            if !failed.strategies.contains(&strategy) {
                failed.strategies.push(strategy);
            }
        }
        let question = self.question(self.campaign.question.timeout);
        let campaign = Campaign { question: &question, ..self.campaign };
        let config = self.config();
        let replays = Replays::new(&campaign, &config, explored);
        let mut new = Vec::new();
        let all = show_failures(&campaign, explored, &replays)?;
        for mut shown in once_per_lines(all, &explored.symbols) {
            shown.failure.seen.first += before;
            let failure = &shown.failure;
            let traced = match replays.has_time() {
                true => replays.trace(&failure.seen.schedule, failure.seen.known)?,
                false => None,
            };
            let steps = traced.unwrap_or_default().steps;
            let late = late(&steps).into_iter().filter_map(|(store, _)| steps[store].place);
            let late: Vec<Place> = late.collect();
            if is_race(&shown) {
                match races.iter_mut().find(|old| are_alike(&old.shown, &shown)) {
                    Some(old) => old.late.extend(late),
                    None => races.push(Race { shown, late }),
                }
                continue;
            }
            let same = |old: &ShownFailure| old.failure.is_same(failure);
            match failed.failures.iter().position(same) {
                Some(old) if old < failed.as_under_sc => {}
                Some(old) => {
                    failed.failures[old].failure.seen.executions += failure.seen.executions;
                    new.push(Found { failure: old, late });
                }
                None => {
                    new.push(Found { failure: failed.failures.len(), late });
                    failed.failures.push(shown);
                }
            }
        }
        Ok(new)
    }
}

/// If nothing else fails that does not under SC, data races are what the pairs lead to; otherwise they come along with that.
fn heed_races(pairs: &mut ModelAnswer, failed: &mut Failed, races: Vec<Race>) {
    if races.is_empty() || failed.failures.len() > failed.as_under_sc {
        return;
    }
    failed.verdict = Verdict::Violated;
    for Race { shown, late } in races {
        let consequence = Consequence::Fails(failed.failures.len());
        for finding in pairs.findings.iter_mut().filter(|f| late.contains(&f.found.store)) {
            if !matches!(finding.consequence, Consequence::Fails(_)) {
                finding.consequence = consequence;
            }
        }
        failed.failures.push(shown);
    }
}

fn is_race(shown: &ShownFailure) -> bool {
    shown.failure.kind == RACE
}

/// What ended a search, where the executions of all searches under a model are counted together.
fn of_all(limit: Option<Limit>, failed: &Failed) -> Option<Limit> {
    match limit {
        Some(Limit::Executions(_)) => Some(Limit::Executions(failed.executions)),
        limit => limit,
    }
}
