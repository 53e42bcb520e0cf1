//! Serializability against what executions read and leave: one that is called serializable has the
//! values of one in which transactions have to do with memory one after the other.

use std::collections::BTreeSet;

use weakspot_core::TxnEvent;
use weakspot_core::serial::{
    BufferedReads, Conflicts, Executions, Values, is_serial, pair, scheduled, schedules,
    serializable, trace_serializable, values,
};
use weakspot_core::testing::{
    Rng, TxnSize, overwriting_trace, random_trace, scaled, show_trace, trace_of,
};

/// What the serial executions of these threads read and leave.
fn serial_values(threads: &[TxnEvent]) -> BTreeSet<Values> {
    let mut all = BTreeSet::new();
    schedules(threads, &mut |steps| {
        let events = scheduled(threads, steps);
        let execution = pair(&events).expect("an execution");
        if is_serial(&execution) {
            all.insert(values(&execution));
        }
        true
    });
    all
}

fn random(seed: u64) -> Vec<TxnEvent> {
    let mut rng = Rng::new(seed);
    if seed.is_multiple_of(2) {
        return overwriting_trace(&mut rng, 6);
    }
    let size = TxnSize {
        threads: 2 + rng.below(2) as u32,
        vars: 1 + rng.below(3) as u32,
        events: 3 + rng.below(3),
        txn: 1 + rng.below(3),
        fences: rng.below(2) * 6,
    };
    random_trace(&mut rng, size)
}

/// Each execution of a trace that is serializable is explained; and the static reading calls some
/// serializable that are not.
#[test]
fn serializable_executions_have_serial_values() {
    let mut counts = [0; 3];
    for seed in 0..scaled(1200) as u64 {
        let trace = random(seed);
        let explained = serial_values(&trace);
        for events in Executions::new(&trace) {
            let execution = pair(&events).expect("an execution");
            let is_explained = explained.contains(&values(&execution));
            let [exact, by_the_paper] =
                BufferedReads::ALL.map(|reads| serializable(&execution, Conflicts::Tso(reads)));
            assert!(is_explained || !exact, "{}", show_trace(&events));
            counts[0] += usize::from(exact);
            counts[1] += usize::from(!is_explained);
            counts[2] += usize::from(by_the_paper && !is_explained);
        }
    }
    assert!(
        counts[0] > scaled(5000) && counts[1] > scaled(500) && counts[2] > scaled(20),
        "{counts:?}"
    );
}

/// The same for all executions of programs without branches.
#[test]
fn serializable_programs_have_serial_values() {
    let mut counts = [0; 3];
    for seed in 0..scaled(600) as u64 {
        let threads = random(seed);
        let explained = serial_values(&threads);
        let mut all = [true; 2];
        let mut is_explained = true;
        schedules(&threads, &mut |steps| {
            let events = scheduled(&threads, steps);
            let execution = pair(&events).expect("an execution");
            is_explained &= explained.contains(&values(&execution));
            for (all, reads) in all.iter_mut().zip(BufferedReads::ALL) {
                *all = *all && serializable(&execution, Conflicts::Tso(reads));
            }
            is_explained || all[0]
        });
        assert!(is_explained || !all[0], "{}", show_trace(&threads));
        counts[usize::from(all[0])] += 1;
        counts[2] += usize::from(!is_explained);
    }
    assert!(counts.iter().all(|&count| count > scaled(80)), "{counts:?}");
}

/// The thread that wrote x reads another value there, and then an old value of y.
#[test]
fn what_no_machine_explains() {
    let trace = trace_of("wr0(x)^0 wr1(x)^1 wr1(y)^1 rd0(x)^2 rd0(y)^3");
    let explained = serial_values(&trace);
    let is_explained =
        |events: &Vec<TxnEvent>| explained.contains(&values(&pair(events).expect("an execution")));
    assert!(!Executions::new(&trace).all(|events| is_explained(&events)));
    assert!(trace_serializable(&trace, BufferedReads::Static));
    assert!(!trace_serializable(&trace, BufferedReads::Exact));
}
