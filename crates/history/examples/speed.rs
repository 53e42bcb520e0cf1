//! x
use weakspot_core::testing::*;
use weakspot_core::*;
fn main() {
    let a: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let size = OpsSize { threads: a[0], vars: a[1], ops: a[2], fences: 0, updates: 0 };
    let source = OpsSource::ALL[a[3]];
    let mut ops = random_ops(&mut Rng::new(1), size, source);
    if a.len() > 4 {
        mutate_ops(&mut Rng::new(7), &mut ops, a[4]);
    }
    let limits = Limits { time: None, memory: None, buffer: 0, workers: 1 };
    for model in HistoryModel::ALL.into_iter().take(5) {
        let start = std::time::Instant::now();
        let answer = weakspot_history::check_causal(&ops, model, &limits, &mut Silent);
        let e = start.elapsed();
        let ok =
            answer.evidence.as_ref().map(|e| certify::history(&ops, model, &answer.verdict, e));
        let len = match &answer.evidence {
            Some(HistoryEvidence::Cycle(c)) => (c.edges.len(), c.derivations.len()),
            _ => (0, 0),
        };
        println!(
            "{:5} {:?} {:?} cycle {:?} certify {:?} {:?}",
            model.key(),
            answer.verdict,
            e,
            len,
            ok,
            start.elapsed() - e
        );
    }
    let s = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", s.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
