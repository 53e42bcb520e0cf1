//! One strategy that is followed by several of the program at a time, each of which explores parts of the
//! whole. Together they hear what one would have heard alone.

use std::time::Duration;

use weakspot_live::wire::Config;
use weakspot_live::{Parts, Plan};

use crate::explore::heard::Heard;
use crate::explore::pieces::merged;
use crate::{Campaign, Control, Ended, Result, Shared, SoFar, Start};

/// Follows a strategy with several workers; nothing if it is one that cannot be shared. `known` is shared
/// memory that is known, `enough` whether no more is wanted of what one of them has heard.
pub(crate) fn follow(
    campaign: &Campaign<'_>,
    config: &Config,
    left: Duration,
    known: &[(u64, u64)],
    enough: &dyn Fn(&Heard) -> bool,
) -> Result<Option<(Ended, Heard)>> {
    let Campaign { runtime, control, question, .. } = *campaign;
    let since = control.elapsed();
    let stop = || control.interrupted();
    // What was learnt here.
    let mut learnt: Vec<(u64, u64)> = Vec::new();
    loop {
        let Some(whole) = config.plan.whole() else { return Ok(None) };
        let all = [known, &learnt].concat();
        let left = left.saturating_sub(control.elapsed().saturating_sub(since));
        let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
        let most = Some(config.executions).filter(|&most| most > 0);
        // How many executions there are in all is up to the parts.
        let config =
            Config { shared: merged(&all), executions: 0, timeout: millis, ..config.clone() };
        let start = Start { config: &config, output: true, most: left, stop: &stop };
        let mut parts = Parts::of(whole, most);
        let mut heard: Vec<Heard> = Vec::new();
        let shared =
            runtime.run_parts(&start, question.workers, &mut parts, &mut |who, message| {
                while heard.len() <= who {
                    let learnt = heard.first().map_or(0, |first| first.shared.len());
                    heard.push(Heard::nothing(all.len() + learnt));
                }
                let others = heard.iter().enumerate().filter(|(i, _)| *i != who);
                let before = others.fold(SoFar::default(), |sum, (_, h)| SoFar {
                    executions: sum.executions + h.executions,
                    steps: sum.steps + h.steps,
                    findings: sum.findings + h.found(),
                    ..sum
                });
                heard[who].hear(message, &Together { control, before });
                enough(&heard[who])
            })?;
        if shared.again {
            learnt.extend(heard.iter_mut().flat_map(|heard| std::mem::take(&mut heard.shared)));
            continue;
        }
        let how = ended(&parts, &config.plan, &heard);
        let mut joined = joined(heard, &shared, &parts);
        joined.done = how;
        joined.shared.splice(0..0, learnt);
        return Ok(Some((shared.ended, joined)));
    }
}

/// Why an exploration by several workers has ended; `None` if a worker has not ended.
fn ended(parts: &Parts, plan: &Plan, heard: &[Heard]) -> Option<String> {
    let done = |how: &str| heard.iter().any(|h| h.done.as_deref() == Some(how));
    let how = match () {
        () if heard.iter().any(|h| h.done.is_none()) => return None,
        () if done("timeout") => "timeout",
        () if !parts.is_over() || done("defect") || done("incomplete") => "incomplete",
        () if parts.complete() => "complete",
        () if parts.is_limited() || matches!(plan, Plan::Random { .. } | Plan::Pct { .. }) => {
            "limit"
        }
        () => "incomplete",
    };
    Some(how.to_owned())
}

/// What all of them heard.
fn joined(heard: Vec<Heard>, shared: &Shared, parts: &Parts) -> Heard {
    let first = |who: usize, execution: u64| {
        let given = shared.given.get(who).map_or(&[][..], |given| given);
        let at = given.partition_point(|&(_, before)| before < execution);
        match at.checked_sub(1).map(|at| given[at]) {
            Some((part, before)) => parts.executions_before(part) + execution - before,
            None => execution,
        }
    };
    Heard::joined(heard, &first)
}

/// The clock and the progress line of one of several.
struct Together<'a> {
    control: &'a dyn Control,
    /// How far the other workers are, together.
    before: SoFar,
}

impl Control for Together<'_> {
    fn elapsed(&self) -> Duration {
        self.control.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.control.interrupted()
    }

    fn progress(&self, so_far: SoFar) {
        let SoFar { executions, steps, findings, .. } = self.before;
        self.control.progress(SoFar {
            executions: executions + so_far.executions,
            steps: steps + so_far.steps,
            findings: findings + so_far.findings,
            ..so_far
        });
    }
}
