//! Traces in which one access is several events: against the definition.

use weakspot_core::serial::{
    BufferedReads, TraceEvidence, TraceMode, is_whole, whole_serializable,
};
use weakspot_core::testing::{Rng, scaled, show_trace};
use weakspot_core::{Limits, Silent, TxnEvent, TxnKind, Verdict};
use weakspot_serial::check_whole_trace;

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };

/// A random trace, some of whose accesses are of two or three variables at once.
fn random(rng: &mut Rng) -> (Vec<TxnEvent>, Vec<u32>) {
    let (mut trace, mut access) = (Vec::new(), Vec::new());
    let mut txns = [0, 100, 200];
    for number in 0..3 + rng.below(3) as u32 {
        let thread = rng.below(3) as u32;
        let txn = &mut txns[thread as usize];
        *txn += rng.below(2) as u32;
        let kind = match rng.below(10) {
            0..4 => TxnKind::Read,
            4..9 => TxnKind::Write,
            _ => TxnKind::Fence,
        };
        let parts = if kind == TxnKind::Fence { 1 } else { [1, 1, 2, 3][rng.below(4)] };
        let first = rng.below(4 - parts) as u32;
        for var in first..first + parts as u32 {
            trace.push(TxnEvent { thread, kind, var, txn: *txn });
            access.push(number);
        }
    }
    (trace, access)
}

#[test]
fn answers_are_right() {
    let mut count = [0; 2];
    for seed in 0..scaled(12_000) as u64 {
        let (trace, access) = random(&mut Rng::new(seed));
        let reads = BufferedReads::ALL[seed as usize % 2];
        if trace.len() > 8 {
            continue;
        }
        let answer =
            check_whole_trace(&trace, &access, TraceMode::Exact(reads), &NO_LIMITS, &mut Silent)
                .expect("a trace");
        assert_eq!(answer.evidence.is_some(), answer.certification().is_checked());
        if let Some(TraceEvidence::Execution { events, .. }) = &answer.evidence {
            assert!(is_whole(events, &trace, &access), "seed {seed}: {}", show_trace(&trace));
        }
        let at = match &answer.verdict {
            Verdict::Holds => 0,
            Verdict::Violated => 1,
            Verdict::Unknown(limit) => panic!("{limit:?}"),
        };
        count[at] += 1;
        let holds = whole_serializable(&trace, &access, reads);
        assert_eq!(holds, at == 0, "seed {seed}: {} {access:?}", show_trace(&trace));
    }
    assert!(count[0] > scaled(2000) && count[1] > scaled(1200), "{count:?}");
}
