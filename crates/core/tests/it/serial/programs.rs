//! How serializability under SC and TSO and robustness belong together, on random programs without
//! branches: all of their executions.

use weakspot_core::serial::{
    BufferedReads, Conflicts, pair, sc_equivalent, scheduled, schedules, serializable,
};
use weakspot_core::testing::{Rng, TxnSize, random_trace, scaled, show_trace, trace_of};
use weakspot_core::{TxnEvent, TxnKind};

/// What holds for all executions of a program.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    tso_serializable: bool,
    by_the_paper: bool,
    sc_serializable: bool,
    robust: bool,
}

fn ask(threads: &[TxnEvent]) -> Program {
    ask_about(threads, &|_| true)
}

/// The same for some executions of the program.
fn ask_about(threads: &[TxnEvent], is_possible: &dyn Fn(&[TxnEvent]) -> bool) -> Program {
    let mut found =
        Program { tso_serializable: true, by_the_paper: true, sc_serializable: true, robust: true };
    schedules(threads, &mut |steps| {
        let events = scheduled(threads, steps);
        if !is_possible(&events) {
            return true;
        }
        let execution = pair(&events).expect("an execution");
        let [tso, fixed] =
            BufferedReads::ALL.map(|reads| serializable(&execution, Conflicts::Tso(reads)));
        let sc = serializable(&execution, Conflicts::TsoPo);
        let equivalent = sc_equivalent(&execution);
        // The same for one execution.
        assert!(!sc || tso && equivalent, "{}", show_trace(&events));
        assert!(!tso || fixed, "{}", show_trace(&events));
        let writes = (0..events.len()).filter(|&at| events[at].kind == TxnKind::Write);
        let is_sc = writes.into_iter().all(|at| execution.commit_of(at) == Some(at + 1));
        found.tso_serializable &= tso;
        found.by_the_paper &= fixed;
        found.sc_serializable &= sc || !is_sc;
        found.robust &= equivalent;
        true
    });
    found
}

fn random(seed: u64, fenced: bool) -> Vec<TxnEvent> {
    let mut rng = Rng::new(seed);
    let size = TxnSize {
        threads: 2,
        vars: 1 + rng.below(3) as u32,
        events: 2 + rng.below(4),
        txn: 1 + rng.below(3),
        fences: rng.below(2) * 6,
    };
    let mut events = random_trace(&mut rng, size);
    if fenced {
        // A fence at the end of each transaction.
        let ends = |at: &usize| {
            let after = &events[at + 1..];
            !after.iter().any(|e| e.txn == events[*at].txn)
        };
        let ends: Vec<usize> = (0..events.len()).filter(ends).collect();
        for at in ends.into_iter().rev() {
            events.insert(at + 1, TxnEvent { kind: TxnKind::Fence, var: 0, ..events[at] });
        }
    }
    events
}

/// Theorem 2.
#[test]
fn robust_and_sc_serializable_programs_are_tso_serializable() {
    let mut count = [0, 0];
    for seed in 0..1200 {
        let threads = random(seed, false);
        let program = ask(&threads);
        if program.robust && program.sc_serializable {
            assert!(program.tso_serializable, "{}", show_trace(&threads));
            count[0] += 1;
        } else {
            count[1] += usize::from(program.tso_serializable);
        }
    }
    assert!(count[0] > 100 && count[1] > 0, "{count:?}");
}

/// Theorem 3.
#[test]
fn fenced_programs() {
    let mut count = [0, 0];
    for seed in 0..scaled(800) as u64 {
        let threads = random(seed, true);
        let program = ask(&threads);
        let both = program.robust && program.sc_serializable;
        assert_eq!(program.tso_serializable, both, "{}", show_trace(&threads));
        assert_eq!(program.by_the_paper, both, "{}", show_trace(&threads));
        count[usize::from(both)] += 1;
    }
    assert!(count.iter().all(|&count| count > scaled(100)), "{count:?}");
}

/// The converse of Theorem 2 is false in both ways.
#[test]
fn tso_serializable_programs() {
    // Reads see what was there at the start.
    let is_possible = |events: &[TxnEvent]| {
        let is_first = |at: usize| {
            let other = |e: &TxnEvent| e.kind == TxnKind::Commit && e.var == events[at].var;
            !events[..at].iter().any(other)
        };
        (0..events.len()).all(|at| events[at].kind != TxnKind::Read || is_first(at))
    };
    let check = |text, sc_serializable, robust| {
        let (tso_serializable, by_the_paper) = (true, true);
        let expected = Program { tso_serializable, by_the_paper, sc_serializable, robust };
        assert_eq!(ask_about(&trace_of(text), &is_possible), expected, "{text}");
    };
    check("wr0(x)^0 rd0(y)^1 wr1(y)^2 rd1(x)^3", true, false);
    check("wr0(x)^0 rd0(y)^1 rd1(x)^2 wr1(y)^2", false, true);
}
