//! The checker of clauses about cycles of a trace: of a trace that has a cycle it accepts no
//! clauses that contradict each other, and of others it accepts enough of them.

use weakspot_core::certify::{Rejected, trace};
use weakspot_core::serial::{
    BufferedReads, NoCycle, Trace, TraceEvidence, TraceMode, TraceOrder, TxnGroup, TxnRefutation,
    TxnVar, each_open_tie, open_ties, overwritten, predicted_serializable, trace_serializable,
};
use weakspot_core::testing::{Rng, TxnSize, overwriting_trace, random_trace, show_trace, trace_of};
use weakspot_core::{TxnEvent, Verdict};

const MOST_VARS: usize = 11;

/// A trace as one group of transactions, with all variables that clauses may have.
struct Asked<'a> {
    events: &'a [TxnEvent],
    mode: TraceMode,
    txns: Vec<u32>,
    vars: Vec<TxnVar>,
}

impl<'a> Asked<'a> {
    /// Unless there are too many variables.
    fn new(events: &'a [TxnEvent], mode: TraceMode) -> Option<Asked<'a>> {
        let all: Vec<usize> = (0..events.len()).collect();
        let trace = Trace::new(events, mode).ok()?;
        let mut txns: Vec<u32> = events.iter().map(|e| e.txn).collect();
        txns.sort_unstable();
        txns.dedup();
        let mut vars: Vec<TxnVar> = txns.iter().map(|&txn| TxnVar::On(txn)).collect();
        vars.extend(open_ties(&trace, &all).into_iter().map(|(a, b)| TxnVar::Uses(a, b)));
        for found in overwritten(&trace, &all) {
            let by = trace.overwriting(found.read);
            vars.push(TxnVar::Overwritten(found.read));
            vars.extend(by.map(|write| TxnVar::Overwrites(write, found.read)));
        }
        let choices = TraceOrder::new(&trace).choices;
        vars.extend(choices.into_iter().map(|(write, read)| TxnVar::First(write, read)));
        (vars.len() <= MOST_VARS).then_some(Asked { events, mode, txns, vars })
    }

    /// Whether the checker says that each cycle makes this clause true.
    fn accepts(&self, clause: &[i32]) -> bool {
        let (vars, clauses) = (self.vars.clone(), vec![clause.to_vec()]);
        let why = NoCycle::Refuted(TxnRefutation { vars, clauses, proof: vec![] });
        let evidence = TraceEvidence::Groups(vec![TxnGroup { txns: self.txns.clone(), why }]);
        match trace(self.events, self.mode, &Verdict::Holds, &evidence) {
            // There is no proof.
            Err(Rejected::Lrat(_)) => true,
            Err(Rejected::Trace("a clause does not follow")) => false,
            other => panic!("{other:?}"),
        }
    }

    /// Clauses that may follow: all small ones, and what each variable says of others.
    fn clauses(&self) -> Vec<Vec<i32>> {
        let n = self.vars.len() as i32;
        let literals: Vec<i32> = (1..=n).flat_map(|var| [var, -var]).collect();
        let is_on = |var: i32| matches!(self.vars[var as usize - 1], TxnVar::On(_));
        let mut clauses: Vec<Vec<i32>> = vec![(1..=n).filter(|&var| is_on(var)).collect()];
        for (at, &a) in literals.iter().enumerate() {
            clauses.push(vec![a]);
            for (other, &b) in literals.iter().enumerate().skip(at + 1) {
                clauses.push(vec![a, b]);
                let demands = |literal: i32| {
                    !is_on(literal.abs())
                        && (literal < 0
                            || matches!(self.vars[literal as usize - 1], TxnVar::First(..)))
                };
                let third = literals.iter().skip(other + 1).filter(|&&c| demands(c));
                if demands(a) && demands(b) {
                    clauses.extend(third.map(|&c| vec![a, b, c]));
                }
            }
        }
        for var in 1..=n {
            // Whatever it may lead to, without its own kind and without the transactions.
            let others = (1..=n).filter(|&other| other != var);
            clauses.push([-var].into_iter().chain(others.clone()).collect());
            let events = |other: &i32| !is_on(*other);
            clauses.push([-var].into_iter().chain(others.clone().filter(events)).collect());
            let on = |other: &i32| is_on(*other);
            clauses.push([-var].into_iter().chain(others.clone().filter(on)).collect());
            for left in others.clone() {
                let rest = others.clone().filter(|&other| other != left);
                clauses.push([-var].into_iter().chain(rest.clone()).collect());
                clauses.push([var].into_iter().chain(rest).collect());
            }
        }
        clauses
    }
}

/// Whether clauses can be true together.
fn is_satisfiable(vars: usize, clauses: &[Vec<i32>]) -> bool {
    let masks = |clause: &Vec<i32>| {
        let of = |sign: i32| {
            let mine = clause.iter().filter(|literal| **literal * sign > 0);
            mine.fold(0u32, |mask, literal| mask | 1 << (literal.abs() - 1))
        };
        (of(1), of(-1))
    };
    let clauses: Vec<(u32, u32)> = clauses.iter().map(masks).collect();
    (0..1 << vars)
        .any(|chosen: u32| clauses.iter().all(|&(yes, no)| chosen & yes != 0 || !chosen & no != 0))
}

fn random(seed: u64) -> Vec<TxnEvent> {
    let mut rng = Rng::new(seed);
    if seed % 14 == 1 {
        // A store that is in memory before a read whose own store may come before or after it.
        let mut events = trace_of("wr1(a)^1 wr0(a)^0 fn0^0 rd1(a)^1");
        let size = TxnSize { threads: 2, vars: 2, events: 3, txn: 2, fences: 0 };
        let rest = random_trace(&mut rng, size).into_iter();
        events.extend(rest.map(|e| TxnEvent { txn: e.txn + 2, ..e }));
        return events;
    }
    if !seed.is_multiple_of(3) {
        return overwriting_trace(&mut rng, 7);
    }
    let size = TxnSize { threads: 3, vars: 2, events: 5, txn: 3, fences: 5 };
    random_trace(&mut rng, size)
}

#[test]
fn clauses_contradict_each_other_only_without_cycles() {
    const EXACT: TraceMode = TraceMode::Exact(BufferedReads::Exact);
    const PREDICTIVE: TraceMode = TraceMode::Predictive(BufferedReads::Exact);
    let mut counts = [[0; 2]; 2];
    let (mut kinds, mut refuted) = ([0; 5], 0);
    for seed in 0..600 {
        let events = random(seed);
        let mode = if seed % 2 == 0 { EXACT } else { PREDICTIVE };
        let Some(asked) = Asked::new(&events, mode) else { continue };
        let is_rare = |var: &TxnVar| !matches!(var, TxnVar::On(_) | TxnVar::Uses(..));
        if !asked.vars.iter().any(is_rare) && seed % 24 != 0 {
            continue;
        }
        let trace = Trace::new(&events, mode).expect("a trace");
        let holds = match mode {
            TraceMode::Exact(reads) => trace_serializable(&events, reads),
            _ => predicted_serializable(&trace),
        };
        let accepted: Vec<Vec<i32>> =
            asked.clauses().into_iter().filter(|clause| asked.accepts(clause)).collect();
        let contradicts = !is_satisfiable(asked.vars.len(), &accepted);
        assert!(holds || !contradicts, "{mode:?} {}", show_trace(&events));
        counts[usize::from(mode == EXACT)][usize::from(holds)] += 1;
        refuted += usize::from(contradicts);
        for var in &asked.vars {
            let kind = match var {
                TxnVar::On(_) => 0,
                TxnVar::Uses(..) => 1,
                TxnVar::First(..) => 2,
                TxnVar::Overwritten(_) => 3,
                TxnVar::Overwrites(..) => 4,
            };
            kinds[kind] += 1;
        }
    }
    assert!(counts.as_flattened().iter().all(|&n| n >= 5), "{counts:?}");
    assert!(kinds.iter().all(|&n| n > 20), "{kinds:?}");
    // Fewer would mean that clauses are refused that follow.
    assert_eq!(refuted, 15);
}

/// Whether a clause is accepted, of variables that all mean something.
fn accepts(text: &str, mode: TraceMode, vars: &[TxnVar], clause: &[i32]) -> bool {
    let events = trace_of(text);
    let mut txns: Vec<u32> = events.iter().map(|e| e.txn).collect();
    txns.sort_unstable();
    txns.dedup();
    Asked { events: &events, mode, txns, vars: vars.to_vec() }.accepts(clause)
}

fn means_nothing(text: &str, mode: TraceMode, var: TxnVar) -> bool {
    let why = NoCycle::Refuted(TxnRefutation { vars: vec![var], clauses: vec![], proof: vec![] });
    let events = trace_of(text);
    let mut txns: Vec<u32> = events.iter().map(|e| e.txn).collect();
    txns.sort_unstable();
    txns.dedup();
    let evidence = TraceEvidence::Groups(vec![TxnGroup { txns, why }]);
    let said = trace(&events, mode, &Verdict::Holds, &evidence);
    said == Err(Rejected::Trace("a variable means nothing"))
}

/// A read that may find its own store overwritten, and another one that comes after it then.
#[test]
fn overwritten_reads() {
    let mode = TraceMode::Exact(BufferedReads::Exact);
    let text = "wr1(a)^1 wr0(a)^0 rd0(a)^0 rd0(b)^2";
    let vars = [
        TxnVar::On(0),
        TxnVar::On(2),
        TxnVar::Uses(0, 1),
        TxnVar::Uses(1, 0),
        TxnVar::Uses(2, 0),
        TxnVar::Overwritten(2),
        TxnVar::Overwrites(0, 2),
    ];
    let check = |clause: &[i32]| accepts(text, mode, &vars, clause);
    // How a cycle may leave the transaction of the read.
    assert!(check(&[-1, 4, 5, 6]));
    assert!(!check(&[-1, 4, 5]) && !check(&[-1, 4, 6]) && !check(&[-1, 5, 6]));
    // It leads to the later read, and is overwritten by that store, which is after its own then.
    assert!(check(&[-6, 2]) && check(&[-6, 7]) && check(&[-7, -3]));
    assert!(!check(&[-6]) && !check(&[-6, 1]) && !check(&[-7]) && !check(&[-7, -4]));
    let nothing = |text, var| means_nothing(text, mode, var);
    assert!(!nothing(text, TxnVar::Overwrites(0, 2)));
    assert!(nothing(text, TxnVar::Overwrites(1, 2)));
    // Without a later read nothing comes after it.
    assert!(nothing("wr1(a)^1 wr0(a)^0 rd0(a)^0", TxnVar::Overwrites(0, 2)));
}

/// A store in memory before a read is before the own store of that, or after it.
#[test]
fn choices() {
    let mode = TraceMode::Predictive(BufferedReads::Exact);
    let vars = [TxnVar::First(1, 3), TxnVar::Uses(0, 1), TxnVar::Uses(1, 0)];
    let check = |clause: &[i32]| accepts("wr1(a)^1 wr0(a)^0 fn0^0 rd1(a)^1", mode, &vars, clause);
    assert!(check(&[-1, -2]));
    assert!(!check(&[-1]) && !check(&[1]) && !check(&[1, -2]) && !check(&[-1, -3]));
    let nothing = |text, write, read| means_nothing(text, mode, TxnVar::First(write, read));
    assert!(!nothing("wr0(a)^0 wr1(a)^1 fn0^0 rd1(a)^1", 0, 3));
    // There is nothing to choose if it is before the own store anyway, and for two reads once.
    assert!(nothing("wr0(a)^0 fn0^0 wr1(a)^1 rd1(a)^1", 0, 3));
    let twice = "wr1(a)^1 wr0(a)^0 fn0^0 rd1(a)^1 rd1(a)^1";
    assert!(!nothing(twice, 1, 3) && nothing(twice, 1, 4));
    let events = trace_of(twice);
    let trace = Trace::new(&events, mode).expect("a trace");
    let order = TraceOrder::new(&trace);
    assert_eq!((0..5).map(|at| order.commit(at)).collect::<Vec<_>>(), [5, 6, 2, 3, 4]);
    let mut calls = [0; 2];
    let events = trace_of("wr0(a)^0 wr1(a)^1 wr0(b)^2 wr1(b)^3");
    let trace = Trace::new(&events, mode).expect("a trace");
    for (goes_on, calls) in [false, true].into_iter().zip(&mut calls) {
        each_open_tie(&trace, &[0, 1, 2, 3], &mut |_| {
            *calls += 1;
            goes_on
        });
    }
    assert_eq!(calls, [1, 4]);
}

/// By directions alone, what one thread does is in its order.
#[test]
fn directions() {
    let vars = [TxnVar::Uses(2, 0), TxnVar::Uses(1, 2), TxnVar::Uses(0, 2)];
    let check =
        |clause: &[i32]| accepts("wr0(x)^0 rd0(x)^0 wr1(x)^1", TraceMode::Literal, &vars, clause);
    assert!(check(&[-1, -2]) && check(&[-1, -3]));
    assert!(!check(&[-1]) && !check(&[-2]) && !check(&[-2, -3]));
}

/// Points in time of transactions with reads that may find their own store overwritten: all choices
/// of points, of which none may be accepted where the trace is not serializable.
#[test]
fn points_of_overwritten_reads() {
    let reads = BufferedReads::Exact;
    let mode = TraceMode::Exact(reads);
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..1500 {
        let events = overwriting_trace(&mut Rng::new(seed), 7);
        let all: Vec<usize> = (0..events.len()).collect();
        let checked = Trace::new(&events, mode).expect("a trace");
        if overwritten(&checked, &all).is_empty() {
            continue;
        }
        let mut txns: Vec<u32> = events.iter().map(|e| e.txn).collect();
        txns.sort_unstable();
        txns.dedup();
        let mut choices = vec![Vec::new()];
        for &txn in &txns {
            let of_txn = || all.iter().copied().filter(|&at| events[at].txn == txn);
            choices = choices
                .iter()
                .flat_map(|points: &Vec<usize>| {
                    of_txn().map(move |at| [&points[..], &[at]].concat())
                })
                .collect();
        }
        let holds = trace_serializable(&events, reads);
        for points in choices {
            let group = TxnGroup { txns: txns.clone(), why: NoCycle::Points(points) };
            let evidence = TraceEvidence::Groups(vec![group]);
            match trace(&events, mode, &Verdict::Holds, &evidence) {
                Ok(()) => {
                    assert!(holds, "{evidence:?} {}", show_trace(&events));
                    accepted += 1;
                }
                Err(_) => rejected += 1,
            }
        }
    }
    // As many as before: others would be refused although they fit.
    assert_eq!((accepted, rejected), (91, 1207));
}

/// A read that finds its own store overwritten comes before the next read of its thread, which no event of
/// the group says: transaction 1 before 2, 2 before 4, and 4, which does not see `wr0(z)`, before 1. The points
/// are right for all other conflicts.
#[test]
fn points_that_only_an_overwritten_read_contradicts() {
    let mode = TraceMode::Exact(BufferedReads::Exact);
    let group = |txns: &[u32], why| TxnGroup { txns: txns.to_vec(), why };
    let rest = "rd0(x)^1 wr0(z)^1 rd0(y)^2 wr2(y)^4 rd2(z)^4";
    let check = |first: &str, groups: &[TxnGroup]| {
        let events = trace_of(&format!("{first} {rest}"));
        let holds = trace_serializable(&events, BufferedReads::Exact);
        let evidence = TraceEvidence::Groups(groups.to_vec());
        (holds, trace(&events, mode, &Verdict::Holds, &evidence))
    };
    let (holds, checked) = check(
        "wr0(x)^0",
        &[group(&[0], NoCycle::Single), group(&[1, 2, 4], NoCycle::Points(vec![2, 3, 5]))],
    );
    assert!(holds);
    assert_eq!(checked, Ok(()));
    let (holds, checked) = check(
        "wr0(x)^0 wr1(x)^3 fn1^5",
        &[
            group(&[0, 3], NoCycle::Events),
            group(&[5], NoCycle::Single),
            group(&[1, 2, 4], NoCycle::Points(vec![4, 5, 7])),
        ],
    );
    assert!(!holds);
    let why = "the transactions of a group do not have these points in time";
    assert_eq!(checked, Err(Rejected::Trace(why)));
}
