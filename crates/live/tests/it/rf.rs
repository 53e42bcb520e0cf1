//! The strategy `rf` against brute force: on thousands of random programs it explores every class of
//! executions that agree in what is read from where, and finds every way to crash and to get stuck.

use std::collections::BTreeSet;

use weakspot_core::testing::{Rng, scaled};
use weakspot_live::testing::{
    Buffers, Instr, ReadsFrom, State, System, SystemSize, all_executions, attempt, byte,
    random_system, reads_from, run, shrink_system,
};
use weakspot_live::{Ended, Rf, Strategy};

use Instr::{Add, Await, Lock, Read, Unlock, Write, WriteLast};

const SMALL: SystemSize = SystemSize {
    threads: 4,
    instrs: 4,
    total: 8,
    bytes: 3,
    locks: false,
    semaphores: false,
    loops: false,
    crashes: false,
    spawns: false,
    buffers: Buffers::None,
};

/// What was seen of all executions of a program.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    classes: BTreeSet<(ReadsFrom, bool)>,
    crashes: BTreeSet<(u16, usize, u64)>,
}

impl Seen {
    fn add(
        &mut self,
        system: &System,
        steps: &[(weakspot_live::Agent, weakspot_live::Op)],
        state: &State,
        ended: Ended,
    ) {
        match state.crash() {
            Some(how) => drop(self.crashes.insert(how)),
            None => {
                self.classes.insert((reads_from(system, steps), ended == Ended::Deadlock));
            }
        }
    }
}

struct Explored {
    seen: Seen,
    executions: usize,
    stopped: usize,
    complete: bool,
    diverged: bool,
}

fn explore(system: &System, most: usize) -> Explored {
    let mut strategy = Rf::new(system.buffers != Buffers::None);
    let mut e = Explored {
        seen: Seen::default(),
        executions: 0,
        stopped: 0,
        complete: false,
        diverged: false,
    };
    let finished = run(system, &mut strategy, most, &mut |steps, state, ended| {
        e.executions += 1;
        if ended == Ended::Stopped {
            e.stopped += 1;
        } else {
            e.seen.add(system, steps, state, ended);
        }
    });
    e.complete = strategy.complete();
    e.diverged = strategy.diverged().is_some() || !finished;
    e
}

/// What is wrong with the exploration of a program; and how many executions it took for how many
/// classes.
fn wrong(system: &System) -> Result<(usize, usize, bool), String> {
    let mut want = Seen::default();
    if !all_executions(system, 1000, &mut |steps, state, ended| {
        want.add(system, steps, state, ended)
    }) {
        return Ok((0, 0, true));
    }
    let e = explore(system, 5000);
    if e.diverged || e.complete && e.seen != want || !e.seen.classes.is_subset(&want.classes) {
        return Err(format!(
            "{} of {} classes, {} of {} crashes, {} executions, {} stopped, diverged: {}",
            e.seen.classes.len(),
            want.classes.len(),
            e.seen.crashes.len(),
            want.crashes.len(),
            e.executions,
            e.stopped,
            e.diverged
        ));
    }
    Ok((e.executions, want.classes.len() + want.crashes.len(), e.complete))
}

/// Random programs: all classes; at most so many executions in a hundred more, and so many in a thousand
/// not explored completely.
fn check(size: SystemSize, seed: u64, all: usize, more: usize, incomplete: usize) {
    let mut rng = Rng::new(seed);
    let (mut executions, mut classes, mut open) = (0, 0, 0);
    let count = scaled(all);
    for n in 0..count {
        let system = random_system(&mut rng, size);
        match wrong(&system) {
            Ok((e, c, complete)) => {
                executions += e;
                classes += c;
                open += usize::from(!complete);
            }
            Err(first) => {
                let system = shrink_system(&system, &|s| wrong(s).is_err());
                panic!("program {n} of seed {seed}: {first}\n{system:?}\n{:?}", wrong(&system));
            }
        }
    }
    assert!(executions * 100 <= classes * (100 + more), "{executions} for {classes}");
    assert!(open * 1000 <= count * incomplete, "{open} of {count}");
}

#[test]
fn memory_only() {
    check(SMALL, 1, 4_000, 10, 0);
    check(SystemSize { bytes: 1, ..SMALL }, 2, 2_000, 10, 0);
    check(SystemSize { threads: 2, total: 10, instrs: 5, ..SMALL }, 3, 2_000, 10, 0);
}

#[test]
fn spawn_and_join() {
    check(SystemSize { spawns: true, ..SMALL }, 4, 4_000, 10, 0);
}

#[test]
fn locks() {
    check(SystemSize { locks: true, ..SMALL }, 5, 4_000, 10, 0);
    check(SystemSize { locks: true, spawns: true, bytes: 1, ..SMALL }, 6, 4_000, 10, 0);
}

#[test]
fn semaphores() {
    check(SystemSize { locks: true, semaphores: true, spawns: true, ..SMALL }, 7, 5_000, 40, 0);
}

/// An attempt that only looks if it fails waits for its buffer if it does not.
#[test]
fn attempts_that_only_look() {
    let mut rng = Rng::new(32);
    for n in 0..scaled(6_000) {
        let buffers = [Buffers::None, Buffers::Tso, Buffers::Pso][n % 3];
        let size = SystemSize { locks: true, semaphores: true, spawns: n % 4 == 0, ..SMALL };
        let mut system = random_system(&mut rng, SystemSize { total: 6, buffers, ..size });
        attempt(&mut system, &mut rng);
        if let Err(first) = wrong(&system) {
            let system = shrink_system(&system, &|s| wrong(s).is_err());
            panic!("program {n}: {first}\n{system:?}\n{:?}", wrong(&system));
        }
    }
}

#[test]
fn loops() {
    check(SystemSize { loops: true, bytes: 2, ..SMALL }, 8, 3_000, 40, 20);
    check(
        SystemSize { loops: true, locks: true, spawns: true, bytes: 2, ..SMALL },
        9,
        3_000,
        40,
        20,
    );
}

#[test]
fn buffers() {
    for (seed, buffers) in [(10, Buffers::Tso), (11, Buffers::Pso)] {
        let size = SystemSize { buffers, total: 6, ..SMALL };
        check(size, seed, 1_400, 10, 0);
        check(SystemSize { locks: true, spawns: true, ..size }, seed + 10, 1_400, 10, 0);
    }
}

/// Everything at once.
#[test]
fn all_of_it() {
    for (seed, buffers) in [(40, Buffers::None), (41, Buffers::Tso), (42, Buffers::Pso)] {
        let size = SystemSize {
            crashes: true,
            locks: true,
            semaphores: true,
            loops: true,
            spawns: true,
            buffers,
            total: 7,
            bytes: 2,
            ..SMALL
        };
        check(size, seed, 2_000, 100, 20);
    }
}

#[test]
fn crashes() {
    let size = SystemSize { crashes: true, locks: true, spawns: true, bytes: 2, ..SMALL };
    check(size, 30, 3_000, 100, 0);
}

/// How many executions are explored.
fn executions(threads: Vec<Vec<Instr>>, buffers: Buffers) -> usize {
    let e = explore(&System { threads, buffers, framed: false }, 1_000_000);
    assert!(e.complete && !e.diverged);
    e.executions
}

/// Programs with few reads-from classes and many orders of writes.
#[test]
fn known_counts() {
    let own = |a| {
        let rounds = (1..=8).flat_map(|i| [Write(byte(a), i), Read(byte(a))]);
        rounds.collect::<Vec<_>>()
    };
    for buffers in [Buffers::None, Buffers::Tso, Buffers::Pso] {
        assert_eq!(executions(vec![own(0), own(8)], buffers), 1);
        assert_eq!(executions(vec![own(0), vec![Read(byte(0))]], buffers), 9);
        let writes = || (1..=4).map(|i| Write(byte(0), i)).collect::<Vec<_>>();
        assert_eq!(executions(vec![writes(); 3], buffers), 1);
        let reads = vec![Read(byte(0)), Read(byte(0))];
        assert_eq!(executions(vec![writes(), writes(), reads], buffers), 61);
    }
    // Updates that read each other's results are in some order.
    assert_eq!(executions(vec![vec![Add(byte(0), 1)]; 4], Buffers::None), 24);
    let locked = vec![Lock(0), Read(byte(0)), WriteLast(byte(0)), Unlock(0)];
    assert_eq!(executions(vec![locked; 4], Buffers::None), 24);
}

/// A thread that waits for a value which comes and goes: it may see it, or wait for ever.
#[test]
fn waiting_for_ever() {
    let threads = vec![vec![Await(byte(0), 1)], vec![Write(byte(0), 2)], vec![Write(byte(0), 1)]];
    let e = explore(&System { threads, buffers: Buffers::None, framed: false }, 100);
    assert_eq!((e.complete, e.seen.classes.len()), (true, 6));
    assert_eq!(e.seen.classes.iter().filter(|c| c.1).count(), 2);
}

/// What a thread reads that has waited for all others is what was stored last.
#[test]
fn reading_behind_the_last_join() {
    use Instr::{Join, Spawn};
    let main = vec![
        Spawn(1),
        Spawn(2),
        Join(1),
        Join(2),
        Write(byte(1), 7),
        Spawn(3),
        Join(3),
        Read(byte(0)),
    ];
    let threads = vec![main, vec![Write(byte(0), 1)], vec![Write(byte(0), 2)], vec![Read(byte(1))]];
    for framed in [false, true] {
        let e = explore(&System { threads: threads.clone(), buffers: Buffers::None, framed }, 100);
        assert_eq!((e.complete, e.seen.classes.len()), (true, 2));
    }
}
