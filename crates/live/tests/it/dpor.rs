//! The strategy `dpor` against brute force: on thousands of random programs it explores one execution
//! of each class, no less and, where the paper says so, no more.

use std::collections::BTreeSet;

use weakspot_core::testing::{Rng, scaled};
use weakspot_live::testing::{
    Buffers, Instr, State, Steps, System, SystemSize, Visit, all_executions, attempt, byte,
    canonical, random_system, run, shrink_system, traces,
};
use weakspot_live::{Agent, Dpor, DporWhole, Ended, Op, Parts, Strategy};

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

#[derive(Default)]
struct Explored {
    traces: BTreeSet<Steps>,
    states: BTreeSet<State>,
    executions: usize,
    stopped: usize,
    complete: bool,
}

/// Executes it in parts: so many are out at most, with so many executions each. Says whether that was everything.
fn run_in_parts(system: &System, (ahead, most): (usize, u64), visit: Visit<'_>) -> bool {
    let mut strategy = Dpor::new(system.buffers != Buffers::None);
    let mut parts = Parts::with(Box::new(DporWhole::new()), None, ahead, most);
    while !parts.is_over() {
        let out: Vec<(u64, String)> = std::iter::from_fn(|| parts.hand_out()).collect();
        // The last one is done first: who is fast must not matter.
        for (number, part) in out.into_iter().rev() {
            assert!(strategy.start(&part));
            let mut executions = 0;
            let finished = run(system, &mut strategy, 100_000, &mut |steps, state, ended| {
                executions += 1;
                visit(steps, state, ended);
            });
            assert!(finished && strategy.diverged().is_none());
            assert!(executions <= most);
            assert!(parts.hand_in(number, strategy.rest(), executions));
        }
    }
    parts.complete()
}

impl Explored {
    fn note(&mut self, system: &System, steps: &[(Agent, Op)], state: &State, ended: Ended) {
        self.executions += 1;
        if ended == Ended::Stopped {
            self.stopped += 1;
        } else {
            self.traces.insert(canonical(system, steps));
            self.states.insert(state.clone());
        }
    }
}

fn explore_in_parts(system: &System, ahead: usize, most: u64) -> Explored {
    let mut e = Explored::default();
    e.complete = run_in_parts(system, (ahead, most), &mut |steps, state, ended| {
        e.note(system, steps, state, ended);
    });
    e
}

fn explore(system: &System) -> Explored {
    let mut strategy = Dpor::new(system.buffers != Buffers::None);
    let mut e = Explored::default();
    let finished = run(system, &mut strategy, 100_000, &mut |steps, state, ended| {
        e.note(system, steps, state, ended);
    });
    e.complete = strategy.complete();
    assert!(finished && strategy.diverged().is_none());
    e
}

/// What is wrong with the exploration of a program.
fn wrong(system: &System, optimal: bool) -> Option<String> {
    let known = traces(system, 800)?;
    let whole = explore(system);
    let differs = |ahead, most| {
        let e = explore_in_parts(system, ahead, most);
        let differs = wrong_of(system, (optimal, true), &e, &known);
        let counts = (e.executions - e.stopped, whole.executions - whole.stopped);
        let differs = differs.or_else(|| {
            let same = counts.0 == counts.1 || !optimal || !e.complete;
            (!same).then(|| format!("{counts:?} executions"))
        });
        differs.map(|differs| format!("{ahead} parts with {most}: {differs}"))
    };
    let all = wrong_of(system, (optimal, false), &whole, &known);
    // Whichever, but the same for the same program.
    let sizes = [(1, 1), (2, 1), (5, 1), (2, 2), (3, 3), (9, 5)];
    let (ahead, most) = sizes[whole.executions % sizes.len()];
    all.or_else(|| differs(ahead, most))
}

fn wrong_of(
    system: &System,
    (optimal, in_parts): (bool, bool),
    e: &Explored,
    (traces, states): &(BTreeSet<Steps>, BTreeSet<State>),
) -> Option<String> {
    let not = |what: &str| {
        let (t, n) = (e.traces.len(), traces.len());
        Some(format!(
            "{what}: {t} of {n} classes, {} executions, {} stopped",
            e.executions, e.stopped
        ))
    };
    let code = || system.threads.iter().flatten();
    let swaps = code().any(|i| matches!(i, Instr::Swap(..)));
    let tries = swaps || code().any(|i| matches!(i, Instr::Leave(..)));
    // A swap of bytes that others access in part is said not to be explored completely.
    if !e.complete && swaps && code().any(|i| format!("{i:?}").contains("len: 2")) {
        return None;
    }
    match () {
        () if !e.complete => not("not complete"),
        () if e.traces != *traces => not("classes"),
        () if e.states != *states => not("states"),
        () if optimal && e.executions - e.stopped != traces.len() => not("repeated"),
        () if optimal && !tries && e.stopped > 0 && !in_parts => not("stopped"),
        () => None,
    }
}

fn check(size: SystemSize, seed: u64, all: usize, optimal: bool) {
    let mut rng = Rng::new(seed);
    for n in 0..scaled(all) {
        let system = random_system(&mut rng, size);
        if let Some(first) = wrong(&system, optimal) {
            let system = shrink_system(&system, &|s| wrong(s, optimal).is_some());
            let last = wrong(&system, optimal);
            panic!("program {n} of seed {seed}: {first}\n{system:?}\n{last:?}");
        }
    }
}

#[test]
fn memory_only() {
    check(SMALL, 1, 8_000, true);
    check(SystemSize { bytes: 1, ..SMALL }, 2, 4_000, true);
    check(SystemSize { threads: 2, total: 10, instrs: 5, ..SMALL }, 3, 4_000, true);
}

#[test]
fn spawn_and_join() {
    check(SystemSize { spawns: true, ..SMALL }, 4, 8_000, true);
}

#[test]
fn locks() {
    check(SystemSize { locks: true, ..SMALL }, 5, 8_000, true);
    check(SystemSize { locks: true, spawns: true, bytes: 1, ..SMALL }, 6, 8_000, true);
}

#[test]
fn semaphores() {
    check(SystemSize { locks: true, semaphores: true, spawns: true, ..SMALL }, 7, 10_000, false);
    let post = vec![Instr::Post(0); 2];
    let e = explore(&System { threads: vec![post; 3], buffers: Buffers::None, framed: false });
    assert_eq!((e.executions, e.stopped, e.complete), (1, 0, true));
}

/// An attempt that only looks if it fails would have been an update, had it come earlier.
#[test]
fn attempts_that_only_look() {
    let mut rng = Rng::new(31);
    for n in 0..scaled(8_000) {
        let size = SystemSize { semaphores: true, spawns: n % 4 == 0, total: 6, ..SMALL };
        let buffers = [Buffers::None, Buffers::None, Buffers::Tso, Buffers::Pso][n % 4];
        let total = if buffers == Buffers::None { 6 } else { 5 };
        let mut system = random_system(&mut rng, SystemSize { total, buffers, ..size });
        attempt(&mut system, &mut rng);
        if let Some(first) = wrong(&system, false) {
            let system = shrink_system(&system, &|s| wrong(s, false).is_some());
            panic!("program {n}: {first}\n{system:?}\n{:?}", wrong(&system, false));
        }
    }
}

#[test]
fn loops() {
    check(SystemSize { loops: true, bytes: 2, ..SMALL }, 8, 6_000, false);
    check(
        SystemSize { loops: true, locks: true, spawns: true, bytes: 2, ..SMALL },
        9,
        6_000,
        false,
    );
}

#[test]
fn buffers() {
    for (seed, buffers) in [(10, Buffers::Tso), (11, Buffers::Pso)] {
        let size = SystemSize { buffers, total: 6, ..SMALL };
        check(size, seed, 2_800, false);
        check(SystemSize { locks: true, spawns: true, ..size }, seed + 10, 2_800, false);
    }
}

/// A program that may end early in one thread: every class that does not is explored, and every way
/// in which a thread ends the program.
#[test]
fn crashes() {
    let size = SystemSize { crashes: true, locks: true, spawns: true, bytes: 2, ..SMALL };
    let mut rng = Rng::new(30);
    let wrong = |system: &System| {
        let (mut want, mut got) =
            ((BTreeSet::new(), BTreeSet::new()), (BTreeSet::new(), BTreeSet::new()));
        let note =
            |set: &mut (BTreeSet<Steps>, BTreeSet<_>), steps: &[_], state: &State| match state
                .crash()
            {
                Some(how) => drop(set.1.insert(how)),
                None => drop(set.0.insert(canonical(system, steps))),
            };
        if !all_executions(system, 800, &mut |steps, state, _| note(&mut want, steps, state)) {
            return None;
        }
        let mut strategy = Dpor::new(false);
        run(system, &mut strategy, 100_000, &mut |steps, state, ended| {
            if ended != Ended::Stopped {
                note(&mut got, steps, state);
            }
        });
        let lost = strategy.complete() && got != want;
        lost.then_some((got.0.len(), want.0.len(), got.1, want.1))
    };
    let mut crashed = 0;
    for n in 0..scaled(6000) {
        let system = random_system(&mut rng, size);
        crashed +=
            usize::from(system.threads.iter().flatten().any(|i| matches!(i, Instr::CrashIf(_))));
        if wrong(&system).is_some() {
            let small = shrink_system(&system, &|s| wrong(s).is_some());
            panic!("program {n}: {small:?}\n{:?}", wrong(&small));
        }
    }
    assert!(crashed > scaled(400));
}

/// Nobody goes on after a round of a loop in vain, and still every crash, every way to end, and everybody who waits for
/// ever is found.
#[test]
fn loops_lose_nothing() {
    let wrong = |system: &System| {
        let (mut want, mut got) = (Ends::default(), Ends::default());
        if !all_executions(system, 800, &mut |_, state, ended| want.note(system, state, ended)) {
            return None;
        }
        let mut strategy = Dpor::new(system.buffers != Buffers::None);
        run(system, &mut strategy, 100_000, &mut |_, state, ended| got.note(system, state, ended));
        (strategy.complete() && got != want).then_some((got, want))
    };
    let mut rng = Rng::new(33);
    let mut stuck = 0;
    for n in 0..scaled(6000) {
        let buffers = [Buffers::None, Buffers::Tso, Buffers::Pso][n % 3];
        let total = if buffers == Buffers::None { 8 } else { 6 };
        let size =
            SystemSize { loops: true, crashes: true, locks: n % 2 == 0, spawns: true, ..SMALL };
        let mut system = random_system(&mut rng, SystemSize { bytes: 2, total, buffers, ..size });
        // One more loop than chance has put there.
        let code = &mut system.threads[n % 2];
        code.insert(rng.below(code.len() + 1), Instr::Await(byte(n as u8 % 2), 1));
        if let Some((_, want)) = wrong(&system) {
            let small = shrink_system(&system, &|s| wrong(s).is_some());
            panic!("program {n}: {want:?}\n{small:?}\n{:?}", wrong(&small));
        }
        let mut waits = false;
        all_executions(&system, 50, &mut |_, _, ended| waits |= ended == Ended::Deadlock);
        stuck += usize::from(waits);
    }
    assert!(stuck > scaled(1000), "{stuck}");
}

/// How executions of a program ended: who crashed, in which states the others ended, who waits for ever.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ends {
    crashes: BTreeSet<(u16, usize, u64)>,
    states: BTreeSet<State>,
    stuck: BTreeSet<Vec<(Agent, bool)>>,
}

impl Ends {
    fn note(&mut self, system: &System, state: &State, ended: Ended) {
        match (state.crash(), ended) {
            (Some(how), _) => drop(self.crashes.insert(how)),
            (None, Ended::Over) => drop(self.states.insert(state.clone())),
            (None, Ended::Deadlock) => {
                let next = state.next(system);
                self.stuck.insert(next.iter().map(|n| (n.agent, n.idle)).collect());
            }
            _ => {}
        }
    }
}

/// Whoever crashes while the others wait for its lock has not been seen to race with them otherwise.
#[test]
fn a_crash_with_a_lock_held() {
    use Instr::{CrashIf, Lock, Read, Unlock, Write};
    let first = vec![Lock(0), Read(byte(0)), CrashIf(0), Unlock(0)];
    let second = vec![Lock(0), Write(byte(0), 1), Unlock(0)];
    let threads = vec![first, second];
    let e = explore(&System { threads, buffers: Buffers::None, framed: false });
    assert_eq!((e.complete, e.states.len(), e.executions), (true, 2, 2));
}

/// A race that is covered by whoever sleeps may not be so after the same steps with another end.
#[test]
fn races_are_looked_at_again() {
    use Instr::{Add, Read, ReadAt, Swap, Write, WriteLast};
    let third = vec![WriteLast(byte(2)), Read(byte(2)), ReadAt(byte(0))];
    let fourth = vec![Write(byte(2), 1), Write(byte(1), 1)];
    let threads = vec![vec![Swap(byte(1), 1, 2)], vec![Add(byte(2), 1)], third, fourth];
    let system = System { threads, buffers: Buffers::None, framed: false };
    assert_eq!(wrong(&system, true), None);
    assert_eq!(explore(&system).executions, 51);
}

/// When a store leaves its buffer does not matter to its own thread.
#[test]
fn own_stores_are_read_in_one_way() {
    use Instr::{Read, Write};
    let own = |a| (1..=8).flat_map(|i| [Write(byte(a), i), Read(byte(a))]).collect::<Vec<_>>();
    for buffers in [Buffers::None, Buffers::Tso, Buffers::Pso] {
        for (other, classes) in [(own(8), 1), (vec![Read(byte(0))], 9)] {
            let threads = vec![own(0), other];
            let e = explore(&System { threads, buffers, framed: false });
            assert_eq!((e.complete, e.executions), (true, classes), "{buffers:?}");
        }
    }
}

/// Threads that hold references, and others that they clone; each looks at something when it is the last to let go.
fn counted(rng: &mut Rng) -> System {
    let mut system = random_system(rng, SystemSize { total: 5, instrs: 2, ..SMALL });
    let (count, all) = (byte(5), system.threads.len() as u8);
    for code in &mut system.threads {
        let mut refs = vec![Instr::Leave(count, all)];
        if rng.one_in(3) {
            // It clones its own, and drops both.
            refs = vec![Instr::Count(count, 255), Instr::Leave(count, all), refs[0]];
        }
        let mut places: Vec<usize> = refs.iter().map(|_| rng.below(code.len() + 1)).collect();
        places.sort_unstable();
        for (i, (place, instr)) in places.into_iter().zip(refs).enumerate() {
            code.insert(place + i, instr);
        }
        code.extend([Instr::If(1, 1), Instr::WriteLast(byte(0))]);
    }
    if rng.one_in(3) {
        // Somebody asks how many there are.
        system.threads[0].insert(0, Instr::Read(count));
    }
    system
}

#[test]
fn counts_of_references() {
    let mut rng = Rng::new(31);
    for i in 0..scaled(4000) {
        let system = counted(&mut rng);
        if let Some(what) = wrong(&system, true) {
            let smaller = shrink_system(&system, &|s| wrong(s, true).is_some_and(|w| w == what));
            panic!("{i}: {what}\n{smaller:#?}");
        }
    }
}

/// All threads meet, some of them twice: who comes when is in no order, and all that follows comes after it.
#[test]
fn barriers() {
    let mut rng = Rng::new(34);
    for i in 0..scaled(4000) {
        let size =
            SystemSize { locks: i % 3 == 0, loops: i % 4 == 0, total: 6, instrs: 3, ..SMALL };
        let size = match i % 5 {
            0 => SystemSize { buffers: Buffers::Tso, total: 4, ..size },
            1 => SystemSize { buffers: Buffers::Pso, total: 4, ..size },
            _ => size,
        };
        let mut system = random_system(&mut rng, size);
        let all = system.threads.len() as u8;
        let rounds = 1 + rng.below(2) as u8;
        for code in &mut system.threads {
            for round in 0..rounds {
                let earlier = code.iter().rposition(|i| matches!(i, Instr::Depart(..)));
                let from = earlier.map_or(0, |at| at + 1);
                let at = from + rng.below(code.len() + 1 - from);
                let meet = [Instr::Arrive(6 + round), Instr::Depart(6 + round, all)];
                code.splice(at..at, meet);
            }
        }
        let skips = system.threads.iter().flatten().any(|i| matches!(i, Instr::If(..)));
        // Who may leave a barrier out lets others wait for ever, which is fine, but who leaves out one half is not.
        if skips {
            continue;
        }
        if let Some(what) = wrong(&system, false) {
            panic!("{i}: {what}\n{system:#?}");
        }
    }
    let meet = |round| [Instr::Arrive(round), Instr::Depart(round, 3)];
    let threads = vec![[meet(0), meet(1)].concat(); 3];
    let e = explore(&System { threads, buffers: Buffers::None, framed: false });
    assert_eq!((e.executions, e.stopped, e.complete), (1, 0, true));
}

/// Readers do not wait for each other, and nobody can tell in which order they take a lock and free it.
#[test]
fn readers_and_writers() {
    let mut rng = Rng::new(35);
    for i in 0..scaled(6000) {
        let size =
            SystemSize { loops: i % 4 == 0, spawns: i % 3 == 0, total: 5, instrs: 3, ..SMALL };
        let size = match i % 5 {
            0 => SystemSize { buffers: Buffers::Tso, total: 3, ..size },
            1 => SystemSize { buffers: Buffers::Pso, total: 3, ..size },
            _ => size,
        };
        let mut system = random_system(&mut rng, size);
        for code in &mut system.threads {
            for _ in 0..1 + rng.below(2) {
                let s = rng.below(2) as u8;
                let (take, free) = match rng.below(3) {
                    0 => (Instr::Claim(s), Instr::Unclaim(s)),
                    _ => (Instr::Share(s), Instr::Unshare(s)),
                };
                let from =
                    code.iter().rposition(|i| matches!(i, Instr::Unshare(_) | Instr::Unclaim(_)));
                let from = if rng.one_in(4) { 0 } else { from.map_or(0, |at| at + 1) };
                let at = from + rng.below(code.len() + 1 - from);
                let to = at + rng.below(code.len() + 1 - at);
                code.insert(to, free);
                code.insert(at, take);
            }
        }
        // Who may leave out one half frees what he does not have.
        if system.threads.iter().flatten().any(|i| matches!(i, Instr::If(..))) {
            continue;
        }
        if let Some(what) = wrong(&system, false) {
            panic!("{i}: {what}\n{system:#?}");
        }
    }
    let read = [Instr::Share(0), Instr::Unshare(0)];
    let readers =
        System { threads: vec![[read, read].concat(); 3], buffers: Buffers::None, framed: false };
    let e = explore(&readers);
    assert_eq!((e.executions, e.stopped, e.complete), (1, 0, true));
}

/// Whoever lets go last is told, and nothing else; and what nobody reads is in no order.
#[test]
fn only_the_last_one_is_told() {
    let all = |code: &[Instr], threads: usize| System {
        threads: vec![code.to_vec(); threads],
        buffers: Buffers::None,
        framed: false,
    };
    for threads in 2..6 {
        let e = explore(&all(&[Instr::Leave(byte(0), threads as u8)], threads));
        assert_eq!((e.executions - e.stopped, e.complete), (threads, true));
        let e = explore(&all(&[Instr::Count(byte(0), 1), Instr::Count(byte(0), 2)], threads));
        assert_eq!((e.executions, e.stopped, e.complete), (1, 0, true));
    }
}

/// Where accesses to the bytes of a compare-and-swap overlap in part, it is explored completely if it counts as an update.
#[test]
fn swaps_of_mixed_bytes() {
    let mut rng = Rng::new(41);
    let mut mixed = 0;
    for n in 0..scaled(12_000) {
        let size = SystemSize { locks: n % 3 == 0, loops: n % 2 == 0, ..SMALL };
        let mut system = random_system(&mut rng, size);
        let mut strategy = Dpor::new(false);
        run(&system, &mut strategy, 2000, &mut |_, _, _| {});
        if !strategy.mixes() {
            continue;
        }
        mixed += 1;
        for instr in system.threads.iter_mut().flatten() {
            if let Instr::Swap(at, old, new) = *instr {
                *instr = Instr::Exchange(at, old, new);
            }
        }
        if let Some(what) = wrong(&system, false) {
            panic!("{n}: {what}\n{system:?}");
        }
    }
    assert!(mixed > scaled(300), "{mixed}");
}

/// Readers and writers of single bytes with hundreds of classes: those that are explored in larger parts by several
/// are those that one explores.
#[test]
fn many_classes_in_parts() {
    let differs = |system: &System| {
        let alone = explore(system);
        [(5, 3), (16, 10), (16, 40)].into_iter().any(|(ahead, most)| {
            let e = explore_in_parts(system, ahead, most);
            let repeats = e.executions - e.stopped != alone.traces.len();
            !e.complete || e.traces != alone.traces || repeats
        })
    };
    // One of sixteen classes was lost once.
    let write = |addr| Instr::Write(byte(addr), 2);
    let read = |addr| Instr::Read(byte(addr));
    let lost = vec![
        vec![write(0), write(2)],
        vec![read(1)],
        vec![read(2), read(1)],
        vec![write(0), write(1)],
    ];
    let random = (0..scaled(300) as u64).map(|seed| {
        let mut rng = Rng::new(9_000_000 + seed);
        let thread = |rng: &mut Rng| {
            let writes = rng.below(2) == 0;
            let access = |rng: &mut Rng| match (writes, rng.below(4) as u8) {
                (true, addr) => write(addr),
                (false, addr) => read(addr),
            };
            (0..2 + rng.below(3)).map(|_| access(rng)).collect()
        };
        (0..4).map(|_| thread(&mut rng)).collect()
    });
    for (i, threads) in std::iter::once(lost).chain(random).enumerate() {
        let system = System { threads, buffers: Buffers::None, framed: false };
        if differs(&system) {
            panic!("program {i}: {:#?}", shrink_system(&system, &differs));
        }
    }
}

/// The same with everything that threads do, with and without store buffers: every class, every crash, every way to
/// end, and everybody who waits for ever is found in parts as alone.
#[test]
fn parts_lose_nothing() {
    let sizes = [(2, 2), (5, 3), (16, 10), (16, 40)];
    let all = |system: &System, seen: &mut (Ends, BTreeSet<Steps>), parts: Option<_>| {
        let note = &mut |steps: &[(Agent, Op)], state: &State, ended: Ended| {
            seen.0.note(system, state, ended);
            if ended == Ended::Over && state.crash().is_none() {
                seen.1.insert(canonical(system, steps));
            }
        };
        match parts {
            Some(size) => run_in_parts(system, size, note),
            None => {
                let mut strategy = Dpor::new(system.buffers != Buffers::None);
                run(system, &mut strategy, 100_000, note) && strategy.complete()
            }
        }
    };
    let differs = |system: &System| {
        let mut alone = Default::default();
        if !all(system, &mut alone, None) {
            return None;
        }
        let lost = sizes.into_iter().find(|&size| {
            let mut seen = Default::default();
            all(system, &mut seen, Some(size)) && seen != alone
        });
        Some((lost, alone.1.len()))
    };
    let mut rng = Rng::new(34);
    let mut many = 0;
    for n in 0..scaled(900) {
        let buffers = [Buffers::None, Buffers::Tso, Buffers::Pso][n % 3];
        let total = if buffers == Buffers::None { 12 } else { 8 };
        let kinds = rng.below(16);
        let size = SystemSize {
            instrs: 5,
            total,
            bytes: 2,
            buffers,
            locks: kinds & 1 > 0,
            loops: kinds & 2 > 0,
            crashes: kinds & 4 > 0,
            spawns: kinds & 8 > 0,
            ..SMALL
        };
        let system = random_system(&mut rng, size);
        let Some((lost, classes)) = differs(&system) else { continue };
        many += usize::from(classes > 40);
        if let Some(size) = lost {
            let lost = |s: &System| differs(s).is_some_and(|(lost, _)| lost.is_some());
            panic!("program {n}, parts {size:?}: {:#?}", shrink_system(&system, &lost));
        }
    }
    assert!(many > scaled(60), "{many}");
}
