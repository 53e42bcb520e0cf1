//! The configuration that every run of a program is a variation of.

use weakspot_live::wire::Config;
use weakspot_live::{Plan, Rules};

use crate::{Facts, Question};

/// How many threads an execution may have.
const THREADS: usize = 1024;
/// Milliseconds of processor time without a step after which an execution hangs.
pub(crate) const HANG: u64 = 2000;
/// Milliseconds between two messages about progress.
const PROGRESS: u64 = 200;
/// How much text may say what is shared: there is no room for more in a variable of the environment, and
/// the library finds out by itself.
const MOST_KNOWN: usize = 60_000;

/// What holds for exploring, replaying, comparing and measuring alike. These differ in the strategy, in
/// how much is looked at, and in whether steps are traced.
pub(crate) fn base(question: &Question, facts: &Facts) -> Config {
    Config {
        fd: 2,
        report: None,
        parts: None,
        models: question.models.clone(),
        under: question.under,
        delayed: Vec::new(),
        races: question.races.then_some(match facts.rust {
            true => Rules::Rust,
            false => Rules::C11,
        }),
        transactions: facts.transactions.clone(),
        fence_transactions: question.fence_transactions,
        fences: Vec::new(),
        plan: Plan::Bounded(None),
        seed: 0,
        executions: 0,
        steps: question.steps,
        threads: THREADS,
        memory: usize::try_from(question.memory).unwrap_or(usize::MAX),
        hang: HANG,
        timeout: 0,
        spins: question.spins,
        filter: true,
        reuse: question.reuse,
        all_output: question.all_output,
        fork: false,
        shared: Vec::new(),
        // The harness of tests says by its code whether they fail.
        codes: question.codes || facts.harness,
        traps: facts.traps.clone(),
        quiet_traps: facts.quiet_traps.clone(),
        jumps: facts.jumps.clone(),
        harness: facts.harness,
        trace: false,
        stop: 0,
        virtual_time: question.virtual_time,
        progress: PROGRESS,
    }
}

/// Pieces of shared memory as a configuration has them: in order, those that touch each other as one.
pub(crate) fn merged(pieces: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut ends: Vec<(u64, u64)> =
        pieces.iter().map(|&(addr, len)| (addr, addr.saturating_add(len))).collect();
    ends.sort_unstable();
    ends.dedup_by(|next, last| {
        let together = next.0 <= last.1;
        if together {
            last.1 = last.1.max(next.1);
        }
        together
    });
    let mut text = 0;
    let pieces = ends.into_iter().map(|(from, to)| (from, to - from));
    pieces
        .take_while(|(addr, len)| {
            text += format!("{addr:#x}+{len:#x},").len();
            text <= MOST_KNOWN
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn pieces_that_touch_are_one() {
        assert_eq!(merged(&[(8, 4), (0, 4), (4, 4), (20, 1)]), [(0, 12), (20, 1)]);
        assert_eq!(merged(&[(0, 8), (2, 2)]), [(0, 8)]);
        assert_eq!(merged(&[]), []);
        let far: Vec<(u64, u64)> = (0..10_000).map(|i| (i * 64, 8)).collect();
        assert!(merged(&far).len() < far.len());
    }
}
