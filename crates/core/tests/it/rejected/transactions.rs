//! Transactions: of traces, of programs, of executions that are read event by event.

use weakspot_core::certify::{Rejected, search_trace, search_transactions, trace, transactions};
use weakspot_core::serial::{
    BufferedReads, Conflicts, CycleCheck, NoCycle, OrderCheck, TraceEvidence, TraceMode, TxnCycle,
    TxnRefutation, TxnVar,
};
use weakspot_core::testing::trace_of;
use weakspot_core::{
    Evidence, Model, PointId, Program, ThreadId, Transactions, TxnEvent, TxnMark, Verdict, Wide,
};

use super::programs::{IN_ORDER, RELAXED, run, sb};
use super::{Case, case};
use crate::serial::evidence::{EXACT, PREDICTIVE, execution, groups, refutation};

const EXACTLY: BufferedReads = BufferedReads::Exact;

fn check(text: &str, mode: TraceMode, evidence: &TraceEvidence) -> Result<(), Rejected> {
    let verdict = match evidence {
        TraceEvidence::Groups(_) => Verdict::Holds,
        _ => Verdict::Violated,
    };
    trace(&trace_of(text), mode, &verdict, evidence)
}

/// Events with commits.
fn events(text: &str) -> Vec<TxnEvent> {
    match execution(text, &[]) {
        TraceEvidence::Execution { events, .. } => events,
        _ => Vec::new(),
    }
}

pub(super) fn cases() -> Vec<Case> {
    [executions(), grouped(), refuted(), programs(), cycles_in_passing(), orders_in_passing()]
        .into_iter()
        .flatten()
        .collect()
}

fn executions() -> Vec<Case> {
    let text = "wr0(x)^0 wr1(x)^1 rd0(x)^0 rd1(y)^1";
    let run = "wr0(x)^0 cm0(x)^0 wr1(x)^1 cm1(x)^1 rd0(x)^0 rd1(y)^1";
    let cycle = [(1, 3), (3, 4)];
    let good = || check(text, EXACT, &execution(run, &cycle));
    let bad = |run, cycle: &[(u64, u64)]| check(text, EXACT, &execution(run, cycle));
    let predicted = |run| check(text, PREDICTIVE, &execution(run, &cycle));
    let other = "serial/check check_predicted: the threads do something else in the execution";
    let no_conflict = "serial/check check_cycle: events of the cycle do not conflict in this order";
    let apart = "serial/check check_cycle: the cycle does not go from transaction to transaction";
    let literal = |cycle: &[(u64, u64)]| {
        let cycle = TraceEvidence::Directions(TxnCycle(cycle.to_vec()));
        check("wr0(x)^0 rd0(x)^0 wr1(x)^1", TraceMode::Literal, &cycle)
    };
    let search =
        |events: &[TxnEvent], mode, verdict, most| search_trace(events, &[], mode, &verdict, most);
    let small = trace_of("wr0(x)^0 rd0(x)^0 wr1(x)^1");
    let committed = events("wr0(x)^0 cm0(x)^0 rd0(x)^0 wr1(x)^1");
    let many = trace_of(
        "wr0(x)^0 wr0(x)^1 wr0(x)^2 rd1(x)^3 rd1(x)^4 rd1(x)^5 rd1(x)^6 rd1(x)^7 rd1(x)^8 rd1(x)^9",
    );
    let halves = trace_of("wr0(x)^0 wr0(y)^0 rd1(x)^1 rd1(y)^1");
    let turned = "rd0(x)^0 wr1(x)^1 cm1(x)^1 fn1^1 rd0(x)^0";
    vec![
        case(
            "serial/check trace: these events are no trace",
            good(),
            trace(&events(run), EXACT, &Verdict::Violated, &execution(run, &cycle)),
        ),
        case(
            "serial/check trace: WrongKind",
            good(),
            trace(&trace_of(text), EXACT, &Verdict::Holds, &execution(run, &cycle)),
        ),
        case(
            "serial/check trace: WrongKind",
            literal(&[(0, 2), (2, 1)]),
            check(
                "wr0(x)^0 rd0(x)^0 wr1(x)^1",
                EXACT,
                &TraceEvidence::Directions(TxnCycle(vec![(0, 2), (2, 1)])),
            ),
        ),
        case(
            "serial/check search_trace: these events are no trace",
            search(&small, EXACT, Verdict::Holds, 8),
            search(&committed, EXACT, Verdict::Holds, 8),
        ),
        case(
            "serial/check search_trace: TooLarge",
            search(&small, EXACT, Verdict::Holds, 3),
            search(&small, EXACT, Verdict::Holds, 2),
        ),
        // Three stores and seven reads have too many directions, and few executions.
        case(
            "serial/check search_trace: TooLarge",
            search(&many, EXACT, Verdict::Holds, 10).and(search(&many, EXACT, Verdict::Holds, 10)),
            search(&many, TraceMode::Literal, Verdict::Holds, 10),
        ),
        // Parts of one access are done together.
        case(
            "serial/check search_trace: Contradicted",
            search_trace(&halves, &[0, 0, 1, 1], EXACT, &Verdict::Holds, 8),
            search_trace(&halves, &[], EXACT, &Verdict::Holds, 8),
        ),
        case(
            "serial/check search_trace: Contradicted",
            search_trace(&halves, &[0, 1, 2, 3], EXACT, &Verdict::Violated, 8),
            search_trace(&halves, &[0, 0, 1, 1], EXACT, &Verdict::Violated, 8),
        ),
        case(
            "serial/check search_trace: Contradicted",
            search(&small, EXACT, Verdict::Holds, 8),
            search(&small, EXACT, Verdict::Violated, 8),
        ),
        case(
            "serial/check search_trace: Contradicted",
            search(&small, PREDICTIVE, Verdict::Violated, 8),
            search(&small, PREDICTIVE, Verdict::Holds, 8),
        ),
        case(
            "serial/check search_trace: Contradicted",
            search(&small, TraceMode::Literal, Verdict::Violated, 8),
            search(&small, TraceMode::Literal, Verdict::Holds, 8),
        ),
        case(
            "serial/check check_execution: the events are no complete execution",
            good(),
            bad("wr0(x)^0 cm0(x)^0 wr1(x)^1 rd0(x)^0 rd1(y)^1", &cycle),
        ),
        case(
            "serial/check check_execution: the execution is not one of the trace",
            good(),
            bad("wr0(x)^0 cm0(x)^0 wr1(x)^1 cm1(x)^1 rd1(y)^1 rd0(x)^0", &[(1, 3), (3, 5)]),
        ),
        case(
            "serial/check check_execution: the execution is not one of the trace",
            good(),
            bad("wr0(x)^0 cm0(x)^0 wr1(x)^1 cm1(x)^1 rd0(x)^0", &cycle),
        ),
        case(other, predicted(run), predicted("wr0(x)^0 cm0(x)^0 wr1(x)^1 cm1(x)^1 rd0(x)^0")),
        case(
            other,
            predicted(run),
            predicted("wr0(x)^0 cm0(x)^0 wr1(x)^1 cm1(x)^1 rd0(x)^0 rd1(z)^1"),
        ),
        case(
            "serial/check check_predicted: a conflict has another direction in the execution",
            check(
                "rd0(x)^0 wr1(x)^1 fn1^1 rd0(x)^0",
                PREDICTIVE,
                &execution(turned, &[(0, 2), (2, 4)]),
            ),
            check(
                "wr1(x)^1 fn1^1 rd0(x)^0 rd0(x)^0",
                PREDICTIVE,
                &execution(turned, &[(0, 2), (2, 4)]),
            ),
        ),
        case("serial/check check_cycle: the cycle is empty", good(), bad(run, &[])),
        case(no_conflict, good(), bad(run, &[(3, 1), (1, 3)])),
        case(no_conflict, good(), bad(run, &[(1, 3), (3, 5)])),
        case(no_conflict, good(), bad(run, &[(1, 1), (1, 3), (3, 4)])),
        case(no_conflict, good(), bad(run, &[(1, 6), (3, 4)])),
        case(no_conflict, good(), bad(run, &[(1, 3), (6, 4)])),
        case(apart, good(), bad(run, &[(1, 3)])),
        case(apart, good(), bad(run, &[(1, 3), (1, 3)])),
        case(apart, good(), bad(run, &[(0, 1), (1, 3), (3, 4)])),
        case(
            "serial/check check_cycle: the cycle is empty",
            literal(&[(0, 2), (2, 1)]),
            literal(&[]),
        ),
        case(no_conflict, literal(&[(0, 2), (2, 1)]), literal(&[(0, 0), (0, 2), (2, 1)])),
        // What is directed does not go the other way.
        case(
            no_conflict,
            literal(&[(0, 2), (2, 1)]),
            check(
                "wr0(x)^0 fn0^0 rd1(x)^1",
                TraceMode::Literal,
                &TraceEvidence::Directions(TxnCycle(vec![(0, 2), (2, 0)])),
            ),
        ),
        case(
            "serial/check check_predicted: a conflict has another direction in the execution",
            check(
                "up0(x)^0 up1(x)^1 up0(x)^0",
                PREDICTIVE,
                &execution("up0(x)^0 up1(x)^1 up0(x)^0", &[(0, 1), (1, 2)]),
            ),
            check(
                "up0(x)^0 up1(x)^1 up0(x)^0",
                PREDICTIVE,
                &execution("up1(x)^1 up0(x)^0 up0(x)^0", &[(0, 1), (1, 2)]),
            ),
        ),
        case(
            "serial/check check_directions: the directions make a cycle of events",
            literal(&[(0, 2), (2, 1)]),
            literal(&[(0, 2), (2, 0)]),
        ),
    ]
}

fn grouped() -> Vec<Case> {
    let text = "rd0(x)^0 wr1(x)^1 fn1^1 rd2(x)^2";
    let open = "rd0(x)^0 wr1(x)^1 rd2(x)^2";
    let two = "wr1(x)^1 wr1(y)^1 rd2(x)^2 rd2(y)^2";
    let check = |text, all: &[&[u32]], why| check(text, EXACT, &groups(all, why));
    let good = || check(text, &[&[0], &[1], &[2]], NoCycle::Single);
    let tree = || check(open, &[&[0], &[1, 2]], NoCycle::Tree);
    let searched = || NoCycle::Searched { steps: 0 };
    let points_text = "wr0(p)^0 wr0(s)^0 wr1(s)^1 wr1(q)^1 wr0(s)^2 wr0(p)^2 wr1(s)^3 wr1(q)^3";
    let points = |mode, points: &[usize]| {
        let evidence = groups(&[&[0, 1, 2, 3]], NoCycle::Points(points.to_vec()));
        super::transactions::check(points_text, mode, &evidence)
    };
    let has_points = || points(EXACT, &[1, 2, 4, 6]);
    let no_points =
        "serial/check check_groups: the transactions of a group do not have these points in time";
    vec![
        case(
            "serial/check check_groups: a transaction is in two groups",
            good(),
            check(text, &[&[0], &[1], &[2], &[0]], NoCycle::Single),
        ),
        case(
            "serial/check check_groups: a transaction is in no group",
            good(),
            check(text, &[&[0], &[1]], NoCycle::Single),
        ),
        case(
            "serial/check check_groups: a group has a transaction that is not in the trace",
            good(),
            check(text, &[&[0], &[1], &[2], &[3]], NoCycle::Single),
        ),
        // Transactions that there are not would make up for events that are too many.
        case(
            "serial/check check_groups: a group has a transaction that is not in the trace",
            check(open, &[&[0], &[1, 2]], NoCycle::Events),
            check(two, &[&[1, 2, 3, 4]], NoCycle::Events),
        ),
        case(
            "serial/check check_groups: a group has several transactions",
            tree(),
            check(open, &[&[0], &[1, 2]], NoCycle::Single),
        ),
        case(
            "serial/check check_groups: a transaction has several events",
            check(open, &[&[0], &[1, 2]], NoCycle::Events),
            check(two, &[&[1, 2]], NoCycle::Events),
        ),
        case(no_points, has_points(), points(PREDICTIVE, &[1, 2, 4, 6])),
        case(no_points, has_points(), points(EXACT, &[0, 2, 4, 6])),
        case(no_points, has_points(), points(EXACT, &[1, 2, 4])),
        case(no_points, has_points(), points(EXACT, &[1, 2, 4, 6, 6])),
        case(no_points, has_points(), points(EXACT, &[2, 1, 4, 6])),
        case(no_points, has_points(), points(EXACT, &[1, 2, 4, 8])),
        case(
            "serial/check check_forward: a conflict leads to an earlier group",
            good(),
            check(text, &[&[1], &[0], &[2]], NoCycle::Single),
        ),
        case(
            "serial/check check_forward: a conflict leads to an earlier group",
            good(),
            check(text, &[&[0], &[2], &[1]], NoCycle::Single),
        ),
        case(
            "serial/check check_forward: an undirected conflict may lead to an earlier group",
            check(open, &[&[0], &[1, 2]], searched()),
            check(open, &[&[0], &[1], &[2]], NoCycle::Single),
        ),
        case(
            "serial/check check_tree: a group is no tree",
            tree(),
            check(two, &[&[1, 2]], NoCycle::Tree),
        ),
        case(
            "serial/check check_tree: a group is no tree",
            tree(),
            check(text, &[&[0], &[1, 2]], NoCycle::Tree),
        ),
        case(
            "serial/check check_tree: a group is no tree",
            tree(),
            check("wr0(x)^0 wr1(x)^1 wr2(x)^2", &[&[0, 1, 2]], NoCycle::Tree),
        ),
        // What leaves the group says nothing about its points.
        case(
            no_points,
            super::transactions::check(
                &format!("{points_text} fn0^2 fn1^3 rd2(s)^4"),
                EXACT,
                &groups(&[&[0, 1, 2, 3], &[4]], NoCycle::Points(vec![1, 2, 4, 6])),
            ),
            points(EXACT, &[1, 2, 4, 7]),
        ),
    ]
}

fn refuted() -> Vec<Case> {
    let with = |change: &dyn Fn(&mut TxnRefutation)| {
        let mut changed = refutation();
        change(&mut changed);
        let evidence = groups(&[&[0, 1]], NoCycle::Refuted(changed));
        check("wr0(x)^0 rd0(x)^0 wr1(x)^1", EXACT, &evidence)
    };
    let good = || with(&|_| ());
    let nothing = "serial/check check_refutation: a variable means nothing";
    let meaning = |var: TxnVar| case(nothing, good(), with(&|r| r.vars.push(var)));
    let unknown = "serial/check check: a clause has an unknown variable";
    let no_clause = "serial/check check: a clause does not follow";
    vec![
        meaning(TxnVar::On(2)),
        meaning(TxnVar::Uses(0, 0)),
        meaning(TxnVar::Uses(0, 3)),
        meaning(TxnVar::Uses(0, 1)),
        meaning(TxnVar::First(0, 1)),
        meaning(TxnVar::Overwritten(0)),
        meaning(TxnVar::Overwrites(2, 0)),
        case("serial/check check_refutation: Lrat", good(), with(&|r| drop(r.proof.pop()))),
        case(unknown, good(), with(&|r| r.clauses.push(vec![7]))),
        case(unknown, good(), with(&|r| r.clauses.push(vec![0]))),
        case(no_clause, good(), with(&|r| r.clauses.push(vec![1]))),
        case(no_clause, good(), with(&|r| r.clauses.push(vec![1, 3, 5]))),
        case(no_clause, good(), with(&|r| r.clauses.push(vec![]))),
        case(no_clause, good(), with(&|r| r.clauses.push(vec![-1, 3]))),
        case(no_clause, good(), with(&|r| r.clauses.push(vec![-3, 1]))),
        case(no_clause, good(), with(&|r| r.clauses.push(vec![-3]))),
        case(no_clause, good(), with(&|r| r.clauses.push(vec![-3, -5]))),
    ]
}

/// Each thread of store buffering is a transaction.
pub(super) fn marked() -> Transactions {
    let mut marks = Transactions::default();
    for thread in 0..2 {
        for point in 0..2 {
            marks.mark(ThreadId(thread), PointId(point), 0, TxnMark { block: 0, begins: false });
        }
    }
    marks
}

fn programs() -> Vec<Case> {
    let asked = (Model::Tso, EXACTLY);
    let check = |verdict, text, cycle: Option<&[(u64, u64)]>| {
        let evidence = match text {
            "" => Evidence::Exhausted { states: 0 },
            text => Evidence::Run(run(text)),
        };
        let cycle = cycle.map(|cycle| TxnCycle(cycle.to_vec()));
        transactions(&sb(), &marked(), asked, &verdict, &evidence, cycle.as_ref())
    };
    // The loads come before the other thread's stores.
    let cycle: [(u64, u64); 2] = [(1, 5), (3, 4)];
    let good = || check(Verdict::Violated, RELAXED, Some(&cycle));
    let wrong = "serial/program transactions: WrongKind";
    let search = |marks: &Transactions, verdict, most| {
        search_transactions(&sb(), marks, asked, &verdict, most)
    };
    let (one, none) = (marked(), Transactions::default());
    // Accesses may overlap, which is no conflict here.
    let wide = || {
        let wides = vec![Wide { addr: 100, cells: Vec::new() }];
        let (program, evidence) = (Program { wides, ..sb() }, Evidence::Exhausted { states: 0 });
        transactions(&program, &marked(), asked, &Verdict::Holds, &evidence, None)
    };
    vec![
        case(wrong, check(Verdict::Holds, "", None), wide()),
        case(wrong, good(), check(Verdict::Holds, RELAXED, Some(&cycle))),
        case(wrong, good(), check(Verdict::Violated, RELAXED, None)),
        case(wrong, check(Verdict::Holds, "", None), check(Verdict::Holds, "", Some(&cycle))),
        case(wrong, check(Verdict::Holds, "", None), check(Verdict::Violated, "", None)),
        case(
            "serial/stream check: it does not conflict with the event before it on the cycle",
            good(),
            check(Verdict::Violated, IN_ORDER, Some(&[(2, 4), (5, 1)])),
        ),
        case(
            "serial/program search_transactions_within: TooLarge",
            search(&none, Verdict::Holds, 100_000),
            search(&none, Verdict::Holds, 10),
        ),
        case(
            "serial/program search_transactions_within: Contradicted",
            search(&one, Verdict::Violated, 100_000),
            search(&one, Verdict::Holds, 100_000),
        ),
        case(
            "serial/program search_transactions_within: Contradicted",
            search(&none, Verdict::Holds, 100_000),
            search(&none, Verdict::Violated, 100_000),
        ),
    ]
}

fn cycles_in_passing() -> Vec<Case> {
    let check = |relation, text, cycle: &[(u64, u64)]| {
        let cycle = TxnCycle(cycle.to_vec());
        let mut check = CycleCheck::new(relation, &cycle);
        events(text).into_iter().try_for_each(|event| check.event(event))?;
        check.end().map(drop)
    };
    let tso = |text, cycle: &[(u64, u64)]| check(Conflicts::Tso(EXACTLY), text, cycle);
    let text = "wr0(x)^0 cm0(x)^0 wr1(x)^1 cm1(x)^1 rd0(x)^0";
    let cycle = [(1, 3), (3, 4)];
    let good = || tso(text, &cycle);
    let bad = |cycle: &[(u64, u64)]| tso(text, cycle);
    let in_sc = "wr0(x)^0 wr1(x)^1 rd0(x)^0";
    let drains = "serial/stream take: a fence or update while stores are in the buffer";
    let oldest = "serial/stream take: a commit that is not of the oldest store in the buffer";
    vec![
        case(
            "serial/stream take: a commit in an execution of SC",
            check(Conflicts::Sc, in_sc, &[(0, 1), (1, 2)]),
            check(Conflicts::Sc, text, &cycle),
        ),
        case(oldest, good(), tso("wr0(x)^0 cm0(y)^0 wr1(x)^1 cm1(x)^1 rd0(x)^0", &cycle)),
        case(oldest, good(), tso("wr0(x)^0 cm0(x)^2 wr1(x)^1 cm1(x)^1 rd0(x)^0", &cycle)),
        case(oldest, good(), tso("rd0(x)^0 cm0(x)^0 wr1(x)^1 cm1(x)^1 rd0(x)^0", &cycle)),
        case(
            drains,
            tso("wr0(x)^0 cm0(x)^0 wr1(x)^1 cm1(x)^1 fn1^1 rd0(x)^0", &[(1, 3), (3, 5)]),
            tso("wr0(x)^0 cm0(x)^0 wr1(x)^1 fn1^1 cm1(x)^1 rd0(x)^0", &[(1, 4), (4, 5)]),
        ),
        case("serial/stream check: the execution ends before", good(), bad(&[(1, 3), (3, 5)])),
        case("serial/stream check: there is no cycle", good(), bad(&[])),
        case("serial/stream check: the cycle does not hold together", good(), bad(&[(1, 3)])),
        case(
            "serial/stream check: an edge of the cycle stays in one transaction",
            good(),
            bad(&[(0, 1), (1, 3), (3, 4)]),
        ),
        case(
            "serial/stream check: it does not conflict with the event before it on the cycle",
            good(),
            bad(&[(0, 3), (3, 4)]),
        ),
        case(
            "serial/stream check: it does not conflict with the event before it on the cycle",
            good(),
            bad(&[(4, 3), (3, 4)]),
        ),
    ]
}

fn orders_in_passing() -> Vec<Case> {
    let check = |text, order: &[u32]| {
        let mut check = OrderCheck::new(Conflicts::Tso(EXACTLY), order)?;
        events(text).into_iter().try_for_each(|event| check.event(event))?;
        check.end().map(drop)
    };
    let text = "wr0(x)^0 cm0(x)^0 rd1(x)^1";
    let good = || check(text, &[0, 1]);
    vec![
        case(
            "serial/stream new: the order names a transaction twice",
            good(),
            check(text, &[0, 1, 0]),
        ),
        case("serial/stream event: its transaction is not in the order", good(), check(text, &[0])),
        case(
            "serial/stream end: the store is never committed",
            good(),
            check("wr0(x)^0 rd1(x)^1", &[0, 1]),
        ),
        case(
            "serial/stream end: the order names a transaction that the execution does not have",
            good(),
            check(text, &[0, 9, 1]),
        ),
        case(
            "serial/stream end: in the order it comes before an event that it conflicts with",
            good(),
            check(text, &[1, 0]),
        ),
    ]
}

/// Under TSO a read may come before an older store of its thread, in another transaction.
#[test]
fn reads_overtake_stores() {
    let check = |relation, order: &[u32]| {
        let mut check = OrderCheck::new(relation, order)?;
        let all = events("wr0(x)^0 rd0(y)^1 cm0(x)^0");
        all.into_iter().try_for_each(|event| check.event(event))?;
        check.end().map(drop)
    };
    assert_eq!(check(Conflicts::Tso(EXACTLY), &[0, 1]), Ok(()));
    assert_eq!(check(Conflicts::Tso(EXACTLY), &[1, 0]), Ok(()));
    assert!(check(Conflicts::TsoPo, &[1, 0]).is_err());
}

/// A run starts as the program says.
#[test]
fn runs_that_start_elsewhere() {
    let mut schedule = run(RELAXED);
    schedule.init = vec![5, 0];
    let (evidence, cycle) = (Evidence::Run(schedule), TxnCycle(vec![(1, 5), (3, 4)]));
    let asked = (Model::Tso, EXACTLY);
    let said = transactions(&sb(), &marked(), asked, &Verdict::Violated, &evidence, Some(&cycle));
    assert_eq!(said, Err(Rejected::Start));
}
