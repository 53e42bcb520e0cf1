//! Which strategy, as people and configurations name it.

use std::fmt;
use std::str::FromStr;

use crate::strategy::random::Numbered;
use crate::{
    Bounded, BoundedWhole, Choices, Dpor, DporWhole, Pct, Random, Replay, Rf, Strategy, Whole,
};

/// A strategy and its parameters. As text: `bounded`, `bounded:3`, `dpor`, `rf`, `random:SEED`,
/// `pct:DEPTH:SEED`, `replay:TOKEN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// By rising number of preemptions, at most so many, or without end.
    Bounded(Option<u32>),
    /// One execution of each class of equivalent ones.
    Dpor,
    /// One execution of each class that agrees in what reads read from.
    Rf,
    /// A random walk.
    Random {
        /// The same seed, the same executions.
        seed: u64,
    },
    /// Random priorities.
    Pct {
        /// How many orderings of steps a bug may need.
        depth: usize,
        /// The same seed, the same executions.
        seed: u64,
    },
    /// One execution again.
    Replay(Choices),
}

impl Plan {
    /// The strategy. `buffered`: stores go through simulated buffers.
    #[must_use]
    pub fn strategy(&self, buffered: bool) -> Box<dyn Strategy> {
        match self {
            Plan::Bounded(most) => Box::new(Bounded::new(*most)),
            Plan::Dpor => Box::new(Dpor::new(buffered)),
            Plan::Rf => Box::new(Rf::new(buffered)),
            Plan::Random { seed } => Box::new(Random::new(*seed)),
            Plan::Pct { depth, seed } => Box::new(Pct::new(*seed, *depth)),
            Plan::Replay(schedule) => Box::new(Replay::new(schedule.clone())),
        }
    }
}

impl Plan {
    /// The same for several workers, if that is possible.
    #[must_use]
    pub fn whole(&self) -> Option<Box<dyn Whole>> {
        match self {
            Plan::Bounded(_) => Some(Box::new(BoundedWhole::new())),
            Plan::Dpor => Some(Box::new(DporWhole::new())),
            Plan::Random { .. } | Plan::Pct { .. } => Some(Box::new(Numbered::default())),
            Plan::Rf | Plan::Replay(_) => None,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plan::Bounded(None) => write!(f, "bounded"),
            Plan::Bounded(Some(most)) => write!(f, "bounded:{most}"),
            Plan::Dpor => write!(f, "dpor"),
            Plan::Rf => write!(f, "rf"),
            Plan::Random { seed } => write!(f, "random:{seed}"),
            Plan::Pct { depth, seed } => write!(f, "pct:{depth}:{seed}"),
            Plan::Replay(schedule) => write!(f, "replay:{schedule}"),
        }
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Plan, String> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let number = |what: &str, text: &str| {
            text.parse::<u64>().map_err(|_| format!("{what} is a number, not {text:?}"))
        };
        match (name, rest) {
            ("bounded", None) => Ok(Plan::Bounded(None)),
            ("bounded", Some(most)) => {
                let most = u32::try_from(number("the number of preemptions", most)?);
                most.map(|most| Plan::Bounded(Some(most)))
                    .map_err(|_| "the number of preemptions is too large".to_owned())
            }
            ("dpor", None) => Ok(Plan::Dpor),
            ("rf", None) => Ok(Plan::Rf),
            ("random", Some(seed)) => Ok(Plan::Random { seed: number("the seed", seed)? }),
            ("pct", Some(rest)) => {
                let (depth, seed) = rest.split_once(':').ok_or("pct needs a depth and a seed")?;
                let depth = number("the depth", depth)?.min(1 << 16) as usize;
                Ok(Plan::Pct { depth, seed: number("the seed", seed)? })
            }
            ("replay", Some(token)) => {
                token.parse().map(Plan::Replay).map_err(|wrong| wrong.to_string())
            }
            _ => Err(format!(
                "unknown strategy {text:?}; there are bounded[:MOST], dpor, rf, random:SEED, \
                 pct:DEPTH:SEED, replay:TOKEN"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for text in
            ["bounded", "bounded:2", "dpor", "rf", "random:7", "pct:3:9", "replay:ws1_e8b6ecea"]
        {
            assert_eq!(text.parse::<Plan>().map(|plan| plan.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, wrong) in [
            ("bounded:x", "the number of preemptions is a number, not \"x\""),
            ("bounded:4294967296", "the number of preemptions is too large"),
            ("pct:3", "pct needs a depth and a seed"),
            (
                "replay:ws1_0_00000000",
                "the check at the end does not fit: some of it was changed (at character 7)",
            ),
            (
                "dfs",
                "unknown strategy \"dfs\"; there are bounded[:MOST], dpor, rf, random:SEED, pct:DEPTH:SEED, replay:TOKEN",
            ),
        ] {
            assert_eq!(text.parse::<Plan>(), Err(wrong.to_owned()));
        }
    }
}
