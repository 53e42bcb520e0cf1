//! What strategies cost per step, without a program: threads that only have a number of steps left,
//! so that the time is that of the strategy. `cargo bench -p weakspot-live`; items are steps.

use divan::Bencher;
use divan::counter::ItemsCount;
use weakspot_live::{Agent, Choice, Ended, Next, Op, OpKind, Plan};

fn main() {
    divan::main();
}

const THREADS: usize = 4;

/// The `i`th step of a thread: most steps are to words of its own, one in `shared` to one of a few
/// that all threads use.
fn op(t: usize, i: usize, shared: usize) -> Op {
    let kind = if (i * 7 + t).is_multiple_of(3) { OpKind::Write } else { OpKind::Read };
    let word = if i % shared == t { i / shared % 4 } else { 8 + t * 16 + i % 8 };
    Op { kind, len: 8, addr: 8 * word as u64 }
}

fn execute(strategy: &mut dyn weakspot_live::Strategy, steps: usize, shared: usize) -> bool {
    if !strategy.begin() {
        return false;
    }
    let mut done = [0; THREADS];
    let mut last = None;
    let mut next = Vec::with_capacity(THREADS);
    let ended = loop {
        next.clear();
        for (t, &i) in done.iter().enumerate().filter(|(_, i)| **i < steps / THREADS) {
            let op = op(t, i, shared);
            let agent = Agent::thread(t as u16);
            next.push(Next {
                agent,
                op,
                enabled: true,
                idle: false,
                varies: false,
                again: false,
                undone: 0,
            });
        }
        if next.is_empty() {
            break Ended::Over;
        }
        match strategy.choose(&next, last) {
            Choice::Stop => break Ended::Stopped,
            Choice::Run(agent) => {
                done[usize::from(agent.of())] += 1;
                last = Some(agent);
            }
        }
    };
    strategy.end(ended, &next);
    true
}

fn bench(bencher: Bencher<'_, '_>, plan: &str, steps: usize, shared: usize) {
    let plan: Plan = plan.parse().expect("plans of benchmarks can be read");
    let mut strategy = plan.strategy(false);
    bencher.counter(ItemsCount::new(steps * 100)).bench_local(|| {
        for _ in 0..100 {
            if !execute(&mut *strategy, steps, shared) {
                strategy = plan.strategy(false);
            }
        }
    });
}

#[divan::bench(args = [20, 100, 1000])]
fn random(bencher: Bencher<'_, '_>, steps: usize) {
    bench(bencher, "random:1", steps, 4);
}

#[divan::bench(args = [20, 100, 1000])]
fn pct(bencher: Bencher<'_, '_>, steps: usize) {
    bench(bencher, "pct:3:1", steps, 4);
}

#[divan::bench(args = [20, 100, 1000])]
fn bounded(bencher: Bencher<'_, '_>, steps: usize) {
    bench(bencher, "bounded:2", steps, 4);
}

#[divan::bench(args = [20, 100, 1000])]
fn dpor(bencher: Bencher<'_, '_>, steps: usize) {
    bench(bencher, "dpor", steps, 4);
}

#[divan::bench(args = [20, 100, 1000])]
fn dpor_few_shared(bencher: Bencher<'_, '_>, steps: usize) {
    bench(bencher, "dpor", steps, 20);
}

/// The first execution, which has all of its races before it.
#[divan::bench(args = [20, 100, 1000, 10_000])]
fn dpor_first(bencher: Bencher<'_, '_>, steps: usize) {
    let plan = Plan::Dpor;
    bencher
        .counter(ItemsCount::new(steps))
        .bench_local(|| execute(&mut *plan.strategy(false), steps, 4));
}
