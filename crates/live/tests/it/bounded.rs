//! The strategy `bounded` against brute force: round by round exactly the executions with so many
//! preemptions, each once.

use std::collections::BTreeMap;

use weakspot_core::testing::{Rng, scaled};
use weakspot_live::testing::{
    Buffers, Instr, State, System, SystemSize, all_executions, byte, random_system, run,
    shrink_system,
};
use weakspot_live::{Agent, Bounded, BoundedWhole, Op, OpKind, Parts, Strategy};

type Rounds = BTreeMap<u32, Vec<Vec<Agent>>>;

fn agents(steps: &[(Agent, Op)]) -> Vec<Agent> {
    steps.iter().map(|s| s.0).collect()
}

/// What an execution costs, by the definition, computed from what could have been done instead.
fn cost(system: &System, steps: &[(Agent, Op)]) -> u32 {
    let mut state = State::new(system);
    let mut thread = None;
    let mut held: Vec<Agent> = Vec::new();
    let mut cost = 0;
    for &(agent, _) in steps {
        let next = state.next(system);
        held.retain(|queue| next.iter().any(|n| n.agent == *queue));
        let eager =
            |n: &&weakspot_live::Next| n.agent.is_buffer() && n.ready() && !held.contains(&n.agent);
        if let Some(n) = next.iter().find(eager)
            && n.agent != agent
        {
            cost += 1;
            held.push(n.agent);
        }
        if !agent.is_buffer() {
            let goes_on = |n: &&weakspot_live::Next| {
                Some(n.agent) == thread
                    && n.ready()
                    && !matches!(n.op.kind, OpKind::Yield | OpKind::Exit)
            };
            cost += u32::from(thread != Some(agent) && next.iter().any(|n| goes_on(&n)));
            thread = Some(agent);
        }
        state.step(system, agent);
    }
    cost
}

fn expected(system: &System) -> Option<Rounds> {
    let mut rounds = Rounds::new();
    let all = all_executions(system, 3000, &mut |steps, _, _| {
        rounds.entry(cost(system, steps)).or_default().push(agents(steps));
    });
    rounds.values_mut().for_each(|round| round.sort());
    all.then_some(rounds)
}

fn explored(system: &System, most: Option<u32>) -> (Rounds, bool) {
    let mut strategy = Bounded::new(most);
    let mut rounds = Rounds::new();
    let mut costs = Vec::new();
    let finished = run(system, &mut strategy, 10_000, &mut |steps, _, _| {
        let cost = cost(system, steps);
        costs.push(cost);
        rounds.entry(cost).or_default().push(agents(steps));
    });
    assert!(finished && costs.is_sorted(), "{costs:?}");
    rounds.values_mut().for_each(|round| round.sort());
    (rounds, strategy.complete())
}

/// The same in parts, of which so many are out at most, with so many executions each.
fn explored_in_parts(
    system: &System,
    most: Option<u32>,
    ahead: usize,
    each: u64,
) -> (Rounds, bool) {
    let mut strategy = Bounded::new(most);
    let mut parts = Parts::with(Box::new(BoundedWhole::new()), None, ahead, each);
    let mut rounds = Rounds::new();
    while !parts.is_over() {
        let out: Vec<(u64, String)> = std::iter::from_fn(|| parts.hand_out()).collect();
        let mut costs = Vec::new();
        for (number, part) in out.into_iter().rev() {
            assert!(strategy.start(&part));
            let mut executions = 0;
            run(system, &mut strategy, 10_000, &mut |steps, _, _| {
                executions += 1;
                let cost = cost(system, steps);
                costs.push(cost);
                rounds.entry(cost).or_default().push(agents(steps));
            });
            assert!(executions <= each && parts.hand_in(number, strategy.rest(), executions));
        }
        // Those that are out together are of one round.
        assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
    }
    rounds.values_mut().for_each(|round| round.sort());
    (rounds, parts.complete())
}

fn wrong(system: &System, most: Option<u32>) -> bool {
    let Some(mut want) = expected(system) else { return false };
    let all = want.keys().max().copied();
    let (got, complete) = explored(system, most);
    let sizes = [(1, 1), (3, 1), (2, 3), (5, 7)];
    let (ahead, each) = sizes[want.values().map(Vec::len).sum::<usize>() % sizes.len()];
    if explored_in_parts(system, most, ahead, each) != (got.clone(), complete) {
        return true;
    }
    let cut = most.is_some_and(|most| all.is_some_and(|all| all > most));
    if let Some(most) = most {
        want.retain(|&cost, _| cost <= most);
    }
    got != want || complete == cut
}

fn check(size: SystemSize, seed: u64, all: usize) {
    let mut rng = Rng::new(seed);
    for n in 0..scaled(all) {
        let system = random_system(&mut rng, size);
        for most in [None, Some(0), Some(2)] {
            if wrong(&system, most) {
                let small = shrink_system(&system, &|s| wrong(s, most));
                let (want, got) = (expected(&small), explored(&small, most));
                panic!("{n} of seed {seed}, at most {most:?}: {small:?}\n{want:?}\n{got:?}");
            }
        }
    }
}

const SIZE: SystemSize = SystemSize {
    threads: 3,
    instrs: 4,
    total: 7,
    bytes: 2,
    locks: true,
    semaphores: true,
    loops: true,
    crashes: true,
    spawns: true,
    buffers: Buffers::None,
};

#[test]
fn rounds_are_those_of_brute_force() {
    check(SIZE, 1, 2_400);
}

#[test]
fn rounds_with_buffers() {
    check(SystemSize { buffers: Buffers::Tso, total: 5, ..SIZE }, 2, 1_200);
    check(SystemSize { buffers: Buffers::Pso, total: 5, ..SIZE }, 3, 1_200);
}

/// Two threads that store and load crosswise: with no preemption one runs after the other.
#[test]
fn store_buffering_by_rounds() {
    use Instr::{Read, Write};
    let thread = |a, b| vec![Write(byte(a), 1), Read(byte(b))];
    let threads = vec![thread(0, 8), thread(8, 0)];
    let count = |buffers| {
        let system = System { threads: threads.clone(), buffers, framed: false };
        explored(&system, None).0.values().map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!(count(Buffers::None), [2, 2, 2]);
    assert_eq!(count(Buffers::Tso)[0], 2);
}
