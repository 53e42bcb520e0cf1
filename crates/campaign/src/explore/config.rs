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

/// The same where somebody looks at how it went.
const OFTEN: u64 = 20;

/// The configuration of an exploration that is looked at: how it goes is reported.
pub(crate) fn profiled(base: &Config) -> Config {
    Config { progress: OFTEN, profile: true, ..base.clone() }
}

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
        // The library around the program needs some memory, too.
        memory: usize::try_from(question.memory / 4).unwrap_or(usize::MAX),
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
        reads: facts.reads.clone(),
        jumps: facts.jumps.clone(),
        patient: facts.patient.clone(),
        channels: facts.channels.clone(),
        locks: facts.locks.locks.clone(),
        unlocks: facts.locks.unlocks.clone(),
        rwlocks: facts.locks.rwlocks.clone(),
        tries: facts.locks.tries.clone(),
        counts: facts.locks.counts.clone(),
        references: facts.locks.references.clone(),
        parks: facts.locks.parks.clone(),
        unused: facts.locks.unused.clone(),
        harness: facts.harness,
        trace: false,
        stop: 0,
        virtual_time: question.virtual_time,
        announced: facts.announced,
        progress: PROGRESS,
        profile: false,
    }
}
