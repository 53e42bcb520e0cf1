//! The strategies that draw, and replay: the same seed gives the same executions, every execution can
//! be had again from its token, and what is rare for one strategy is not for the other.

use weakspot_core::testing::Rng;
use weakspot_live::testing::{
    Buffers, Instr, System, SystemSize, all_executions, byte, random_system, run,
};
use weakspot_live::{
    Agent, Bounded, Choice, Choices, Diverged, Dpor, Ended, Next, Op, OpKind, Pct, Plan, Random,
    Replay, Rf, Strategy,
};

const SIZE: SystemSize = SystemSize {
    threads: 4,
    instrs: 6,
    total: 16,
    bytes: 3,
    locks: true,
    semaphores: true,
    loops: true,
    crashes: true,
    spawns: true,
    buffers: Buffers::None,
};

fn executions(system: &System, strategy: &mut dyn Strategy, most: usize) -> Vec<Vec<Agent>> {
    let mut all = Vec::new();
    run(system, strategy, most, &mut |steps, _, _| {
        all.push(steps.iter().map(|s| s.0).collect());
    });
    all
}

#[test]
fn the_same_seed_the_same_executions() {
    let mut rng = Rng::new(1);
    for seed in 0..300 {
        let buffers = [Buffers::None, Buffers::Tso, Buffers::Pso][seed as usize % 3];
        let system = random_system(&mut rng, SystemSize { buffers, ..SIZE });
        for plan in [
            Plan::Random { seed },
            Plan::Pct { depth: 3, seed },
            Plan::Bounded(None),
            Plan::Dpor,
            Plan::Rf,
        ] {
            let again = || executions(&system, &mut *plan.strategy(buffers != Buffers::None), 30);
            assert_eq!(again(), again(), "{plan} {system:?}");
        }
    }
}

#[test]
fn every_execution_can_be_had_again() {
    let mut rng = Rng::new(2);
    for seed in 0..100 {
        let buffers = [Buffers::None, Buffers::Tso, Buffers::Pso][seed as usize % 3];
        let system = random_system(&mut rng, SystemSize { buffers, ..SIZE });
        let strategies: [&mut dyn Strategy; 5] = [
            &mut Random::new(seed),
            &mut Pct::new(seed, 3),
            &mut Bounded::new(None),
            &mut Dpor::new(buffers != Buffers::None),
            &mut Rf::new(buffers != Buffers::None),
        ];
        for strategy in strategies {
            let mut all = Vec::new();
            run(&system, strategy, 20, &mut |steps, state, ended| {
                all.push((steps.to_vec(), state.clone(), ended));
            });
            for (steps, state, ended) in all.into_iter().filter(|e| e.2 != Ended::Stopped) {
                let mut schedule = Choices::new();
                steps.iter().for_each(|s| schedule.push(s.0));
                let mut replay = Replay::new(schedule.to_string().parse().unwrap());
                let mut count = 0;
                assert!(run(&system, &mut replay, 2, &mut |again, s, e| {
                    count += 1;
                    assert_eq!((again, s, e), (&steps[..], &state, ended));
                }));
                assert_eq!((count, replay.diverged()), (1, None));
            }
        }
    }
}

#[test]
fn replay_says_where_a_program_does_not_follow() {
    use Instr::{Lock, Unlock, Write};
    let thread = vec![Lock(0), Write(byte(0), 1), Unlock(0)];
    let threads = vec![thread.clone(), thread];
    let system = System { threads, buffers: Buffers::None, framed: false };
    let replay = |agents: &[u16]| {
        let mut schedule = Choices::new();
        agents.iter().for_each(|&t| schedule.push(Agent::thread(t)));
        let mut replay = Replay::new(schedule);
        let mut ended = None;
        run(&system, &mut replay, 1, &mut |steps, _, e| ended = Some((steps.len(), e)));
        (ended.unwrap(), replay.diverged())
    };
    let diverged = |step, t| Some(Diverged { step, agent: Agent::thread(t) });
    assert_eq!(replay(&[]), ((6, Ended::Over), None));
    assert_eq!(replay(&[1, 1]), ((6, Ended::Over), None));
    assert_eq!(replay(&[1, 0]), ((1, Ended::Stopped), diverged(1, 0)));
    assert_eq!(replay(&[0, 7]), ((1, Ended::Stopped), diverged(1, 7)));
    assert_eq!(replay(&[1, 1, 1, 0, 0, 0, 0]), ((6, Ended::Over), diverged(6, 0)));
}

/// All executions of two threads with three steps each, drawn about equally often where all have the
/// same number of choices, and each at least now and then.
#[test]
fn a_random_walk_comes_everywhere() {
    let thread = |a| vec![Instr::Write(byte(a), 1); 3];
    let system =
        System { threads: vec![thread(0), thread(1)], buffers: Buffers::None, framed: false };
    let mut all = 0;
    assert!(all_executions(&system, 1000, &mut |_, _, _| all += 1));
    let mut seen = executions(&system, &mut Random::new(5), 2000);
    seen.sort();
    seen.dedup();
    assert_eq!((seen.len(), all), (20, 20));
}

/// One thread has to read just before the last of many steps of another: a random walk has a chance
/// of about 2^-31, PCT with depth 2 one of about 1 in 2 * 33.
#[test]
fn pct_finds_what_a_random_walk_does_not() {
    let mut long = vec![Instr::Write(byte(0), 1)];
    long.extend([Instr::Read(byte(1)); 30]);
    long.push(Instr::Write(byte(0), 2));
    let short = vec![Instr::Read(byte(0))];
    let system = System { threads: vec![long, short], buffers: Buffers::None, framed: false };
    let found = |strategy: &mut dyn Strategy| {
        let mut found = 0;
        run(&system, strategy, 1000, &mut |steps, _, _| {
            found += usize::from(steps[31].0 == Agent::thread(1));
        });
        found
    };
    assert_eq!(found(&mut Random::new(1)), 0);
    let often = found(&mut Pct::new(1, 2));
    assert!((5..50).contains(&often), "{often}");
}

/// With depth 1 priorities never change: a thread that can run is never stopped.
#[test]
fn pct_without_changes_has_no_preemptions() {
    let mut rng = Rng::new(3);
    for seed in 0..100 {
        let size =
            SystemSize { loops: false, spawns: false, locks: false, semaphores: false, ..SIZE };
        let system = random_system(&mut rng, size);
        let yields = system.threads.iter().flatten().any(|i| *i == Instr::Yield);
        for agents in executions(&system, &mut Pct::new(seed, 1), 5).iter().filter(|_| !yields) {
            let mut threads = agents.clone();
            threads.dedup();
            let turns = threads.len();
            threads.sort();
            threads.dedup();
            assert_eq!(turns, threads.len(), "{system:?} {agents:?}");
        }
    }
}

/// Those that wait in loops get turns in turn if there is nobody else, with every strategy.
#[test]
fn waiting_threads_take_turns() {
    let wait = |t| Next {
        agent: Agent::thread(t),
        op: Op { kind: OpKind::Read, len: 1, addr: t.into() },
        enabled: true,
        idle: true,
        varies: false,
        again: false,
        undone: 0,
    };
    let next = [wait(0), wait(1), wait(2)];
    for plan in ["bounded", "dpor", "rf", "random:1", "pct:3:1", "replay:ws1_e8b6ecea"] {
        let mut strategy = plan.parse::<Plan>().unwrap().strategy(false);
        assert!(strategy.begin());
        let mut turns = [0; 3];
        let mut last = None;
        for _ in 0..60 {
            let Choice::Run(agent) = strategy.choose(&next, last) else { panic!("{plan}") };
            turns[usize::from(agent.of())] += 1;
            last = Some(agent);
        }
        assert!(turns.iter().all(|&n| n >= 5), "{plan} {turns:?}");
        strategy.end(Ended::Cut, &next);
        assert!(!strategy.complete());
    }
}
