//! Clients, and what the machines make of them.

use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Drain, Model, OpKind};
use weakspot_gen::{Client, ClientError, Run, Source, explains, generate};

const CLIENT: Client = Client {
    cpus: 3,
    operations: 1000,
    variables: 4,
    read_ratio: 0.5,
    updates: 0.1,
    fences: 0.1,
    seed: 5,
};

fn run(source: Source, seed: u64) -> Run {
    Run { source, bug: None, store_buffer: false, seed, check: false }
}

#[test]
fn clients_are_what_was_asked_for() {
    let ops = CLIENT.operations().expect("a client");
    assert_eq!((ops.len(), ops.threads(), ops.vars()), (1000, 3, 4));
    assert_eq!((0..3).map(|t| ops.of_thread(t).len()).collect::<Vec<_>>(), [334, 333, 333]);
    let count = |kind| (0..1000).filter(|&op| ops.kind(op) == kind).count();
    for (kind, expected) in
        [(OpKind::Fence, 100), (OpKind::Update, 100), (OpKind::Read, 400), (OpKind::Write, 400)]
    {
        assert!(count(kind).abs_diff(expected) < 60, "{kind:?}: {}", count(kind));
    }
    assert_eq!(CLIENT.operations(), CLIENT.operations());
    assert_ne!(CLIENT.operations(), Client { seed: 6, ..CLIENT }.operations());
    let only_reads = Client { read_ratio: 1.0, updates: 0.0, fences: 0.0, ..CLIENT };
    let ops = only_reads.operations().expect("a client");
    assert!((0..1000).all(|op| ops.kind(op) == OpKind::Read));
}

#[test]
fn bad_clients_are_refused() {
    let refused = |client: Client| client.operations().expect_err("no client");
    assert_eq!(refused(Client { cpus: 0, ..CLIENT }), ClientError::Cpus);
    assert_eq!(refused(Client { cpus: 70_000, ..CLIENT }), ClientError::Cpus);
    assert_eq!(refused(Client { variables: 0, ..CLIENT }), ClientError::Variables);
    assert_eq!(refused(Client { operations: usize::MAX, ..CLIENT }), ClientError::Operations);
    assert_eq!(refused(Client { read_ratio: f64::NAN, ..CLIENT }), ClientError::Share);
    assert_eq!(refused(Client { updates: 0.6, fences: 0.6, ..CLIENT }), ClientError::Share);
}

#[test]
fn each_machine_stays_within_its_model_and_uses_it() {
    let models = [Model::Sc, Model::Tso, Model::Pso(Drain::All)];
    let sources = [Source::Atomic, Source::Tso, Source::Pso];
    for (s, source) in sources.into_iter().enumerate() {
        let mut beyond = [0; 3];
        for seed in 0..scaled(1200) as u64 {
            let mut rng = Rng::new(seed);
            let client = Client {
                cpus: 1 + rng.below(5),
                operations: rng.below(200),
                variables: 1 + rng.below(5),
                seed,
                ..CLIENT
            };
            let ops = client.operations().expect("a client");
            let history = generate(&ops, &run(source, seed)).expect("a history");
            assert!(history.ops.is_well_formed());
            let order = history.order.expect("an order");
            for (m, &model) in models.iter().enumerate() {
                match explains(&history.ops, &order, model) {
                    Err(breach) if m >= s => panic!("{client:?}: {breach:?}"),
                    Err(_) => beyond[m] += 1,
                    Ok(()) => {}
                }
            }
        }
        for weaker in &beyond[..s] {
            assert!(*weaker > scaled(400), "{}: {beyond:?}", source.key());
        }
    }
}

#[test]
fn no_value_is_written_twice_and_values_say_what_was_read() {
    let ops = CLIENT.operations().expect("a client");
    let history = generate(&ops, &run(Source::Tso, 1)).expect("a history");
    let mut written = std::collections::HashSet::new();
    for op in 0..ops.len() as u32 {
        if ops.writes(op) {
            assert!(written.insert((ops.var(op), history.names.values[op as usize])));
        }
        if ops.kind(op) == OpKind::Read {
            let value = |from: u32| history.names.values[from as usize];
            assert_eq!(history.names.values[op as usize], history.ops.from(op).map_or(0, value));
        }
    }
}
