//! Protocols without bugs: no deadlock, no surprise, one writer or many readers with the last
//! values after every step, and the order of steps explains what was read. Protocols with bugs:
//! always a whole history, and for every bug some that the order of steps does not explain.

use weakspot_core::Model;
use weakspot_core::testing::{Rng, scaled};
use weakspot_gen::{Breach, Bug, Client, Run, Source, explains, generate};

/// Small clients of all shapes.
fn random_client(rng: &mut Rng) -> Client {
    Client {
        cpus: 1 + rng.below(6),
        operations: 1 + rng.below(300),
        variables: 1 + rng.below(40),
        read_ratio: 0.1 * (1 + rng.below(9)) as f64,
        updates: [0.0, 0.1, 0.3][rng.below(3)],
        fences: [0.0, 0.05][rng.below(2)],
        seed: rng.next_u64(),
    }
}

fn protocols() -> impl Iterator<Item = Source> {
    Source::ALL.into_iter().filter(|source| source.is_protocol())
}

fn check(rounds: u64, base: u64, store_buffer: bool) {
    for source in protocols() {
        for round in 0..rounds {
            let client = random_client(&mut Rng::new(base + round));
            let ops = client.operations().expect("a client");
            let run = Run { source, bug: None, store_buffer, seed: round, check: true };
            let history =
                generate(&ops, &run).unwrap_or_else(|e| panic!("{client:?}, {run:?}: {e}"));
            assert!(history.ops.is_well_formed(), "{client:?}, {run:?}");
            let order = history.order.expect("an order");
            let explained = explains(&history.ops, &order, source.model(store_buffer));
            assert_eq!(explained, Ok(()), "{client:?}, {run:?}");
        }
    }
}

#[test]
fn sound_protocols_are_sequentially_consistent() {
    check(1000, 1_000_000, false);
}

#[test]
fn sound_protocols_behind_store_buffers_are_tso() {
    check(1000, 2_000_000, true);
}

#[test]
fn store_buffers_do_break_sequential_consistency() {
    for source in protocols() {
        let relaxed = (0..50).any(|seed| {
            let client = Client { cpus: 3, operations: 60, variables: 3, ..busy(seed) };
            let ops = client.operations().expect("a client");
            let run = Run { source, bug: None, store_buffer: true, seed, check: true };
            let history = generate(&ops, &run).expect("a history");
            explains(&history.ops, &history.order.expect("an order"), Model::Sc).is_err()
        });
        assert!(relaxed, "{}", source.key());
    }
}

#[test]
fn many_cpus_and_long_runs() {
    for source in protocols() {
        let shapes = [(64, 4_000, 100), (16, 4_000, 3), (2, 20_000, 10), (4, 20_000, 1000)];
        for (cpus, operations, variables) in shapes {
            let client = Client { cpus, operations, variables, ..busy(7) };
            let ops = client.operations().expect("a client");
            let run = Run { source, bug: None, store_buffer: false, seed: 7, check: false };
            let history = generate(&ops, &run).expect("a history");
            let order = history.order.expect("an order");
            assert_eq!(explains(&history.ops, &order, Model::Sc), Ok(()), "{client:?} {run:?}");
        }
    }
}

fn busy(seed: u64) -> Client {
    Client {
        cpus: 4,
        operations: 400,
        variables: 12,
        read_ratio: 0.6,
        updates: 0.05,
        fences: 0.01,
        seed,
    }
}

#[test]
fn bugs_never_stop_a_run_and_all_of_them_show() {
    for source in protocols() {
        for bug in source.bugs() {
            let mut broken = 0;
            for seed in 0..scaled(1200) as u64 {
                let client = random_client(&mut Rng::new(3_000_000 + seed));
                let client = if seed < 240 { client } else { busy(seed) };
                let ops = client.operations().expect("a client");
                let store_buffer = seed % 2 == 1;
                let run = Run { source, bug: Some(bug), store_buffer, seed, check: false };
                let history =
                    generate(&ops, &run).unwrap_or_else(|e| panic!("{client:?}, {run:?}: {e}"));
                assert!(history.ops.is_well_formed(), "{client:?}, {run:?}");
                let order = history.order.expect("an order");
                match explains(&history.ops, &order, source.model(store_buffer)) {
                    Ok(()) => {}
                    // Whatever the caches do, the CPUs go on in order.
                    Err(Breach::Value(_)) => broken += 1,
                    Err(other) => panic!("{client:?}, {run:?}: {other:?}"),
                }
            }
            assert!(broken > 0, "{} in {} never shows", bug.key(), source.key());
        }
    }
}

#[test]
fn a_bug_belongs_to_some_protocols() {
    let ops = busy(1).operations().expect("a client");
    for source in Source::ALL {
        for bug in Bug::ALL {
            let run = Run { source, bug: Some(bug), store_buffer: false, seed: 1, check: false };
            assert_eq!(generate(&ops, &run).is_ok(), bug.sources().contains(&source));
        }
        assert_eq!(source.bugs().count() >= 4, source.is_protocol());
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let ops = busy(3).operations().expect("a client");
    for source in Source::ALL {
        let run = |seed| {
            let run = Run { source, bug: None, store_buffer: false, seed, check: false };
            generate(&ops, &run).expect("a history")
        };
        assert_eq!(run(11), run(11));
        assert_ne!(run(11).ops, run(12).ops, "{}", source.key());
    }
}
