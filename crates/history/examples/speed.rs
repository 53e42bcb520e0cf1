use std::time::Instant;
use weakspot_core::testing::{OpsSize, OpsSource, Rng, mutate_ops, random_ops};
use weakspot_core::{HistoryModel, Limits, Silent, certify};
use weakspot_history::{Complete, Method, check};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n = |i: usize| a[i].parse::<usize>().unwrap();
    let size = OpsSize { threads: n(1), vars: n(2), ops: n(3), fences: n(6), updates: n(7) };
    let source = match a[4].as_str() {
        "sc" => OpsSource::Sc,
        "tso" => OpsSource::Tso,
        _ => OpsSource::Pso,
    };
    let ops = random_ops(&mut Rng::new(n(8) as u64), size, source);
    let mut ops = ops;
    if let Some(c) = a.get(9) {
        mutate_ops(&mut Rng::new(7), &mut ops, c.parse().unwrap());
    }
    let limits = Limits { time: None, memory: None, buffer: 0, workers: 1 };
    for m in a[5].split(',') {
        let model = *HistoryModel::ALL.iter().find(|x| x.key() == m).unwrap();
        let t = Instant::now();
        let answer = check(
            &ops,
            model,
            Method { complete: Complete::Auto, saturate: true },
            &limits,
            &mut Silent,
        );
        let e = t.elapsed();
        let ok =
            answer.evidence.as_ref().map(|ev| certify::history(&ops, model, &answer.verdict, ev));
        println!(
            "{m} {:?} {:?} {:?} {:?} certify {:?}",
            answer.verdict,
            answer.decided_by,
            e,
            ok,
            t.elapsed() - e
        );
    }
}
