//! Runs of programs, and claims that everything was searched.

use weakspot_core::certify::{self, Rejected};
use weakspot_core::machine::{Schedule, Step};
use weakspot_core::{
    BinOp, Condition, Evidence, Expr, Instr, Model, Observable, Observed, PointId, Program,
    Quantifier, RegId, ThreadId, Undeclared, Value, Verdict, View,
};

use super::{Case, case};

pub(super) const X: Value = 1;
pub(super) const Y: Value = 2;

pub(super) fn store(addr: Value) -> Instr {
    Instr::Store { addr: Expr::Const(addr), value: Expr::Const(1) }
}

pub(super) fn load(addr: Value) -> Instr {
    Instr::Load { reg: RegId(0), addr: Expr::Const(addr) }
}

/// Threads without branches and with one register each, which is what is observed.
pub(super) fn straight(threads: &[&[Instr]]) -> Program {
    let seen = |t| Observed { what: Observable::Reg(ThreadId::new(t), RegId(0)), view: View::Full };
    let observed = (0..threads.len()).map(seen).collect();
    Program { observed, ..crate::straight(threads, &[X, Y], Undeclared::Fault) }
}

/// Store buffering, which asks whether both loads may find 0.
pub(super) fn sb() -> Program {
    let mut program = straight(&[&[store(X), load(Y)], &[store(Y), load(X)]]);
    program.condition = Some(both_zero(Quantifier::Exists));
    program
}

fn both_zero(quantifier: Quantifier) -> Condition {
    let zero = |i| {
        let reg = Box::new(Expr::Reg(RegId(i)));
        Box::new(Expr::Binary(BinOp::Eq, reg, Box::new(Expr::Const(0))))
    };
    Condition { quantifier, prop: Expr::Binary(BinOp::And, zero(0), zero(1)) }
}

/// `0` is a step of thread 0, `0x` the commit of its store to x.
pub(super) fn run(text: &str) -> Schedule {
    let step = |word: &str| {
        let (number, place) = word.split_at(1);
        let thread = ThreadId(number.parse().expect("a thread"));
        match place {
            "" => Step::Execute { thread, edge: 0, choice: 0 },
            "x" => Step::Commit { thread, addr: X },
            _ => Step::Commit { thread, addr: Y },
        }
    };
    Schedule { init: vec![0, 0], steps: text.split_whitespace().map(step).collect() }
}

/// Both loads come before the stores reach memory.
pub(super) const RELAXED: &str = "0 0 1 1 0x 1y";
/// One thread after the other.
pub(super) const IN_ORDER: &str = "0 0x 0 1 1y 1";

fn evidence(text: &str) -> Evidence {
    Evidence::Run(run(text))
}

const SEARCHED: Evidence = Evidence::Exhausted { states: 7 };

type Question = fn(&Program, Model, &Verdict, &Evidence) -> Result<(), Rejected>;

/// A verdict on a program under TSO.
fn ask(
    question: Question,
    program: &Program,
    verdict: Verdict,
    evidence: &Evidence,
) -> Result<(), Rejected> {
    question(program, Model::Tso, &verdict, evidence)
}

/// Store buffering in which both threads must not have ended.
fn forbidding(points: [u32; 2]) -> Program {
    let mut program = sb();
    program.condition = None;
    program.forbidden = vec![points.iter().map(|&p| Some(PointId(p))).collect()];
    program
}

pub(super) fn cases() -> Vec<Case> {
    [conditions(), safety(), robustness(), races(), replays(), searches()]
        .into_iter()
        .flatten()
        .collect()
}

fn conditions() -> Vec<Case> {
    let check = |program: &Program, verdict, evidence: &Evidence| {
        ask(certify::condition, program, verdict, evidence)
    };
    let good = || check(&sb(), Verdict::Holds, &evidence(RELAXED));
    let bad = |evidence: &Evidence| check(&sb(), Verdict::Holds, evidence);
    let silent = Program { condition: None, ..sb() };
    let asking = |quantifier| Program { condition: Some(both_zero(quantifier)), ..sb() };
    let (none, all) = (asking(Quantifier::NotExists), asking(Quantifier::Forall));
    vec![
        case(
            "certify condition: NoQuestion",
            good(),
            check(&silent, Verdict::Holds, &evidence(RELAXED)),
        ),
        case("certify condition: NotFinal", good(), bad(&evidence("0 0 1 1 0x"))),
        case("certify condition: NotFinal", good(), bad(&evidence("0 0 1 0x 1y"))),
        case("certify condition: WrongState", good(), bad(&evidence(IN_ORDER))),
        case(
            "certify condition: WrongState",
            check(&none, Verdict::Violated, &evidence(RELAXED)),
            check(&none, Verdict::Violated, &evidence(IN_ORDER)),
        ),
        case(
            "certify condition: WrongState",
            check(&all, Verdict::Violated, &evidence(IN_ORDER)),
            check(&all, Verdict::Violated, &evidence(RELAXED)),
        ),
        case("certify condition: WrongKind", good(), bad(&SEARCHED)),
        case(
            "certify condition: WrongKind",
            check(&sb(), Verdict::Violated, &SEARCHED),
            check(&sb(), Verdict::Violated, &evidence(IN_ORDER)),
        ),
        case(
            "certify condition: WrongKind",
            check(&none, Verdict::Holds, &SEARCHED),
            check(&none, Verdict::Holds, &evidence(IN_ORDER)),
        ),
        case(
            "certify condition: WrongKind",
            check(&all, Verdict::Holds, &SEARCHED),
            check(&all, Verdict::Violated, &SEARCHED),
        ),
    ]
}

fn safety() -> Vec<Case> {
    let check = |program: &Program, evidence: &Evidence| {
        ask(certify::safety, program, Verdict::Violated, evidence)
    };
    let ends = forbidding([2, 2]);
    let good = || check(&ends, &evidence("0 0 1 1"));
    let faulty = |value| {
        let divided = Expr::Binary(BinOp::Div, Box::new(Expr::Const(1)), Box::new(Expr::Const(0)));
        let value = if value { Expr::Const(0) } else { divided };
        straight(&[&[Instr::Assert(value)]])
    };
    let everything = |program: &Program, verdict, evidence: &Evidence| {
        ask(certify::everything, program, verdict, evidence)
    };
    let both = Program { forbidden: ends.forbidden.clone(), ..sb() };
    let both = Program { condition: Some(both_zero(Quantifier::NotExists)), ..both };
    vec![
        case(
            "certify safety: WrongState",
            check(&forbidding([0, 0]), &evidence("")),
            check(&ends, &evidence("")),
        ),
        case("certify safety: Step", good(), check(&ends, &evidence("0 0 1 1 1x"))),
        case("certify safety: WrongState", good(), check(&ends, &evidence("0 0 1"))),
        case(
            "certify safety: WrongState",
            check(&faulty(true), &evidence("0")),
            check(&faulty(false), &evidence("0")),
        ),
        case("certify safety: WrongKind", good(), check(&ends, &SEARCHED)),
        case(
            "certify safety: WrongKind",
            ask(certify::safety, &ends, Verdict::Holds, &SEARCHED),
            ask(certify::safety, &ends, Verdict::Holds, &evidence("0 0 1 1")),
        ),
        // Everything that is asked: one of the two is enough.
        case(
            "certify condition: WrongState",
            everything(
                &Program { forbidden: vec![], ..both.clone() },
                Verdict::Violated,
                &evidence(RELAXED),
            ),
            everything(
                &Program { forbidden: vec![], ..both.clone() },
                Verdict::Violated,
                &evidence(IN_ORDER),
            ),
        ),
        case(
            "certify condition: NotFinal",
            everything(&both, Verdict::Violated, &evidence("0 0 1 1")),
            everything(&both, Verdict::Violated, &evidence("0 0 1")),
        ),
        case(
            "certify safety: WrongKind",
            everything(&ends, Verdict::Holds, &SEARCHED),
            everything(&ends, Verdict::Violated, &SEARCHED),
        ),
        case(
            "certify condition: WrongKind",
            everything(&both, Verdict::Holds, &SEARCHED),
            everything(&both, Verdict::Violated, &SEARCHED),
        ),
        case(
            "certify safety: WrongKind",
            everything(&both, Verdict::Violated, &evidence(RELAXED)),
            everything(&both, Verdict::Holds, &evidence(RELAXED)),
        ),
    ]
}

fn robustness() -> Vec<Case> {
    let check = |verdict, evidence: &Evidence| ask(certify::robust, &sb(), verdict, evidence);
    let good = || check(Verdict::Violated, &evidence(RELAXED));
    vec![
        case("certify robust: NotFinal", good(), check(Verdict::Violated, &evidence("0 0 1 1 1y"))),
        case("certify robust: AllowedBySc", good(), check(Verdict::Violated, &evidence(IN_ORDER))),
        case("certify robust: WrongKind", good(), check(Verdict::Holds, &evidence(RELAXED))),
        case(
            "certify robust: WrongKind",
            check(Verdict::Holds, &SEARCHED),
            check(Verdict::Violated, &SEARCHED),
        ),
    ]
}

fn races() -> Vec<Case> {
    let check =
        |verdict, evidence: &Evidence| certify::triangular_race_free(&sb(), &verdict, evidence);
    // The load of y, with the store to x pending, and then y is written.
    let good = || check(Verdict::Violated, &evidence("0 0 1 1y"));
    vec![
        case(
            "certify triangular_race_free: NoRace",
            good(),
            check(Verdict::Violated, &evidence("0 0 1 0x 1y")),
        ),
        case(
            "certify triangular_race_free: WrongKind",
            good(),
            check(Verdict::Holds, &evidence("0 0 1 1y")),
        ),
        case("replay replay: Start", good(), {
            let run = Schedule { init: vec![0, 1], ..run("0 0 1 1y") };
            check(Verdict::Violated, &Evidence::Run(run))
        }),
        case(
            "certify triangular_race_free: WrongKind",
            check(Verdict::Holds, &SEARCHED),
            check(Verdict::Violated, &SEARCHED),
        ),
    ]
}

fn replays() -> Vec<Case> {
    let check = |schedule: Schedule| {
        ask(certify::condition, &sb(), Verdict::Holds, &Evidence::Run(schedule))
    };
    let good = || check(run(RELAXED));
    let starting = |init: &[Value]| check(Schedule { init: init.to_vec(), ..run(RELAXED) });
    let step = |step| {
        let mut schedule = run(RELAXED);
        schedule.steps[1] = step;
        check(schedule)
    };
    let thread = ThreadId(0);
    vec![
        case("replay replay: Start", good(), starting(&[0, 1])),
        case("replay replay: Start", good(), starting(&[0])),
        case("replay replay: Start", good(), starting(&[0, 0, 0])),
        case("replay replay: Step", good(), step(Step::Commit { thread, addr: Y })),
        case("replay replay: Step", good(), step(Step::Execute { thread, edge: 1, choice: 0 })),
        // There is nothing to choose.
        case("replay replay: Step", good(), step(Step::Execute { thread, edge: 0, choice: 1 })),
        case(
            "replay replay: Step",
            good(),
            step(Step::Execute { thread: ThreadId(2), edge: 0, choice: 0 }),
        ),
        case("replay replay: Step", good(), step(Step::Commit { thread: ThreadId(2), addr: X })),
    ]
}

fn searches() -> Vec<Case> {
    let (tso, holds, violated) = (Model::Tso, &Verdict::Holds, &Verdict::Violated);
    let most = 1000;
    let robust = |verdict, most| certify::search_robust(&sb(), tso, verdict, most);
    let ends = forbidding([2, 2]);
    let everything =
        |program: &Program, verdict, most| certify::search_everything(program, tso, verdict, most);
    let divided = Expr::Binary(BinOp::Div, Box::new(Expr::Const(1)), Box::new(Expr::Const(0)));
    let assertion = |e| straight(&[&[Instr::Assert(e)]]);
    let asking = |quantifier| Program { condition: Some(both_zero(quantifier)), ..sb() };
    let condition = |program: &Program, verdict, most| certify::search(program, tso, verdict, most);
    // Under SC one of the loads finds 1; and loads alone find 0.
    let under_sc =
        |quantifier, verdict| certify::search(&asking(quantifier), Model::Sc, verdict, most);
    let loads = Program {
        condition: Some(both_zero(Quantifier::Forall)),
        ..straight(&[&[load(X)], &[load(Y)]])
    };
    let contradicted = "certify search_within: Contradicted";
    // All final states satisfy it, if there are any.
    let always = Condition { quantifier: Quantifier::Forall, prop: Expr::Const(1) };
    let asserting = |e| {
        let program = Program { condition: Some(always.clone()), ..assertion(e) };
        certify::search(&program, Model::Sc, holds, most)
    };
    let in_all = "certify search_everything_within: Contradicted";
    vec![
        case(
            "certify search_robust_within: OutOfReach",
            robust(violated, most),
            robust(violated, 1),
        ),
        case(
            "certify search_robust_within: Contradicted",
            robust(violated, most),
            robust(holds, most),
        ),
        case(
            "certify search_robust_within: Contradicted",
            certify::search_robust(&sb(), Model::Sc, holds, most),
            certify::search_robust(&sb(), Model::Sc, violated, most),
        ),
        case(
            "certify search_everything_within: TooLarge",
            everything(&ends, violated, most),
            everything(&ends, violated, 3),
        ),
        case(in_all, everything(&ends, violated, most), everything(&ends, holds, most)),
        case(contradicted, asserting(Expr::Const(1)), asserting(divided.clone())),
        case(
            in_all,
            everything(&assertion(Expr::Const(0)), violated, most),
            everything(&assertion(divided.clone()), violated, most),
        ),
        case(
            in_all,
            everything(&assertion(Expr::Const(1)), holds, most),
            everything(&assertion(divided), holds, most),
        ),
        case(
            in_all,
            everything(&assertion(Expr::Const(1)), holds, most),
            everything(&assertion(Expr::Const(0)), holds, most),
        ),
        case(in_all, everything(&sb(), holds, most), everything(&sb(), violated, most)),
        case(
            in_all,
            everything(&asking(Quantifier::NotExists), violated, most),
            everything(&asking(Quantifier::NotExists), holds, most),
        ),
        case(
            "certify search_within: NoQuestion",
            condition(&sb(), holds, most),
            condition(&Program { condition: None, ..sb() }, holds, most),
        ),
        case(
            "certify search_within: TooLarge",
            condition(&sb(), holds, most),
            condition(&sb(), holds, 3),
        ),
        case(contradicted, condition(&sb(), holds, most), condition(&sb(), violated, most)),
        case(
            contradicted,
            condition(&asking(Quantifier::NotExists), violated, most),
            condition(&asking(Quantifier::NotExists), holds, most),
        ),
        case(
            contradicted,
            condition(&asking(Quantifier::Forall), violated, most),
            condition(&asking(Quantifier::Forall), holds, most),
        ),
        case(
            contradicted,
            under_sc(Quantifier::Exists, violated),
            under_sc(Quantifier::Exists, holds),
        ),
        case(
            contradicted,
            under_sc(Quantifier::NotExists, holds),
            under_sc(Quantifier::NotExists, violated),
        ),
        case(contradicted, condition(&loads, holds, most), condition(&loads, violated, most)),
    ]
}
