//! Histories of this CPU: what can be said of them whatever the CPU does, and that an x86 is TSO.

use weakspot_core::OpKind;
use weakspot_gen::{Client, Layout, record};
#[cfg(target_arch = "x86_64")]
use {
    weakspot_core::{HistoryModel, Limits, Silent, Verdict},
    weakspot_history::{Complete, Method, check},
};

#[test]
fn what_was_read_had_been_written_to_that_variable() {
    for layout in [Layout::Apart, Layout::Packed] {
        for (cpus, variables, seed) in [(1, 3, 1), (2, 1, 2), (4, 10, 3), (9, 100, 4)] {
            let client = Client {
                cpus,
                operations: 20_000,
                variables,
                read_ratio: 0.5,
                updates: 0.05,
                fences: 0.02,
                seed,
            };
            let ops = client.operations().expect("a client");
            let (history, _) = record(&ops, layout);
            assert!(history.ops.is_well_formed());
            assert_eq!(history.ops.len(), ops.len());
            for op in 0..ops.len() as u32 {
                assert_eq!(
                    (history.ops.kind(op), history.ops.var(op)),
                    (ops.kind(op), ops.var(op))
                );
            }
        }
    }
}

#[test]
fn one_thread_reads_what_it_wrote_last() {
    let client = Client {
        cpus: 1,
        operations: 10_000,
        variables: 5,
        read_ratio: 0.5,
        updates: 0.1,
        fences: 0.1,
        seed: 1,
    };
    let ops = client.operations().expect("a client");
    let (history, _) = record(&ops, Layout::Packed);
    let mut last = [None; 5];
    for op in 0..ops.len() as u32 {
        if ops.reads(op) {
            assert_eq!(history.ops.from(op), last[ops.var(op) as usize]);
        }
        if ops.writes(op) {
            last[ops.var(op) as usize] = Some(op);
        }
    }
}

#[test]
fn no_two_updates_of_real_threads_read_the_same_write() {
    let client = Client {
        cpus: 4,
        operations: 40_000,
        variables: 2,
        read_ratio: 0.5,
        updates: 1.0,
        fences: 0.0,
        seed: 1,
    };
    let ops = client.operations().expect("a client");
    let (history, _) = record(&ops, Layout::Apart);
    let mut read: Vec<(u32, Option<u32>)> = (0..ops.len() as u32)
        .filter(|&op| ops.kind(op) == OpKind::Update)
        .map(|op| (ops.var(op), history.ops.from(op)))
        .collect();
    let all = read.len();
    read.sort_unstable();
    read.dedup();
    assert_eq!(read.len(), all);
}

#[test]
fn a_client_without_threads_or_operations_is_fine() {
    let (history, _) = record(&weakspot_core::History::new(), Layout::Apart);
    assert!(history.ops.is_empty());
}

/// The model of x86 is TSO. Few variables and many stores, so that loads do overtake stores.
#[cfg(target_arch = "x86_64")]
#[test]
fn this_cpu_is_tso() {
    let limits = Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };
    let method = Method { complete: Complete::Auto, saturate: true };
    let mix = Client {
        cpus: 2,
        operations: 4_000,
        variables: 2,
        read_ratio: 0.5,
        updates: 0.0,
        fences: 0.0,
        seed: 0,
    };
    let clients = [
        (mix, 100),
        (Client { operations: 200_000, variables: 10, ..mix }, 5),
        (Client { cpus: 3, operations: 20_000, updates: 0.02, fences: 0.02, ..mix }, 20),
    ];
    for (client, count) in clients {
        for seed in 0..count {
            for layout in [Layout::Apart, Layout::Packed] {
                let client = Client { seed, ..client };
                let ops = client.operations().expect("a client");
                let (history, _) = record(&ops, layout);
                let answer = check(&history.ops, HistoryModel::Tso, method, &limits, &mut Silent)
                    .expect("evidence");
                assert_eq!(answer.verdict, Verdict::Holds, "{client:?}, {layout:?}");
                assert!(answer.certification().is_checked(), "{client:?}, {layout:?}");
            }
        }
    }
}
