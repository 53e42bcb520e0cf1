//! Answers of engines, which only become certified ones if their evidence is good.

use weakspot_core::certify::Rejected;
use weakspot_core::monitors::Form;
use weakspot_core::serial::{Conflicts, CycleCheck, TraceEvidence, TxnCycle};
use weakspot_core::testing::trace_of;
use weakspot_core::{
    Certification, Certified, Claim, Clause, DelayedRun, Effort, Evidence, FenceClaim, FencePlaces,
    Goal, Limit, Limits, Model, PlacedFence, Program, Quantifier, Verdict,
};

use super::fences::{COSTS, FIRST, clause, full};
use super::programs::{RELAXED, X, Y, load, run, sb, store, straight};
use super::{Case, case};
use crate::delayed;
use crate::serial::evidence::{EXACT, execution};

struct Answer<E> {
    verdict: Verdict,
    evidence: Option<E>,
}

impl<E> Claim for Answer<E> {
    type Evidence = E;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&E> {
        self.evidence.as_ref()
    }
}

struct Fences {
    clauses: Vec<Clause>,
    verdict: Verdict,
    fences: Option<Vec<PlacedFence>>,
}

impl Claim for Fences {
    type Evidence = [Clause];

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&[Clause]> {
        Some(&self.clauses)
    }
}

impl FenceClaim for Fences {
    fn fences(&self) -> Option<&[PlacedFence]> {
        self.fences.as_deref()
    }

    fn is_optimal(&self) -> bool {
        false
    }
}

/// What was too large to check is not an error; here it counts as one.
fn told<A>(certified: Result<Certified<A>, Rejected>) -> Result<(), Rejected> {
    match certified?.certification() {
        Certification::TooLarge => Err(Rejected::TooLarge(0)),
        _ => Ok(()),
    }
}

fn effort(work: u64) -> Effort {
    Effort { work, ..Effort::within(&Limits::UNLIMITED.begin()) }
}

fn searched() -> Evidence {
    Evidence::Exhausted { states: 0 }
}

pub(super) fn cases() -> Vec<Case> {
    [any(), programs(), fences(), recorded()].into_iter().flatten().collect()
}

fn any() -> Vec<Case> {
    let condition = |verdict, evidence| {
        told(Certified::condition(&sb(), Model::Tso, Answer { verdict, evidence }, effort(5000)))
    };
    let run = || Some(Evidence::Run(run(RELAXED)));
    let unknown = || Verdict::Unknown(Limit::Interrupted);
    let passed = |verdict| {
        let cycle = TxnCycle(vec![(0, 1), (1, 2)]);
        let mut check = CycleCheck::new(Conflicts::Sc, &cycle);
        let events = trace_of("wr0(x)^0 wr1(x)^1 rd0(x)^0");
        events.into_iter().try_for_each(|event| check.event(event))?;
        told(Certified::passed(Answer::<()> { verdict, evidence: None }, check.end()?))
    };
    let kind = "certified checked: WrongKind";
    vec![
        case(kind, condition(unknown(), None), condition(unknown(), run())),
        case(kind, condition(Verdict::Holds, run()), condition(Verdict::Holds, None)),
        case("certified passed: WrongKind", passed(Verdict::Violated), passed(Verdict::Holds)),
        // A claim that everything was searched is derived again.
        case(
            "certify search_within: Contradicted",
            condition(Verdict::Holds, run()),
            condition(Verdict::Violated, Some(searched())),
        ),
    ]
}

fn programs() -> Vec<Case> {
    let free = |program: &Program, work| {
        let answer = Answer { verdict: Verdict::Holds, evidence: Some(searched()) };
        told(Certified::triangular_race_free(program, answer, effort(work)))
    };
    let robust = |program: &Program, work| {
        let answer = Answer { verdict: Verdict::Holds, evidence: Some(searched()) };
        told(Certified::robust(program, Model::Tso, answer, effort(work)))
    };
    let reading = straight(&[&[load(X)], &[store(X)]]);
    let loads = (0..499).map(|_| load(X));
    let long: Vec<_> = std::iter::once(store(Y)).chain(loads).collect();
    vec![
        case("certified triangular_race_free: TooLarge", free(&reading, 5000), free(&reading, 2)),
        case(
            "certified triangular_race_free: Contradicted",
            free(&reading, 5000),
            free(&sb(), 5000),
        ),
        case(
            "certified search_robust: TooLarge",
            robust(&straight(&[&long[..499]]), 50_000),
            robust(&straight(&[&long]), 50_000),
        ),
        case(
            "certify search_robust_within: Contradicted",
            robust(&reading, 5000),
            robust(&sb(), 50_000),
        ),
    ]
}

fn fences() -> Vec<Case> {
    let check = |program: &Program, verdict, clauses: &[Clause], fences: Option<&[usize]>| {
        let places = FencePlaces::at_points(program);
        let fences = fences.map(full);
        let answer = Fences { clauses: clauses.to_vec(), verdict, fences };
        let (asked, effort) = ((Model::Tso, Goal::Robust), effort(50_000));
        told(Certified::fences(&places, asked, &COSTS, answer, effort, &mut || true))
    };
    let reading = straight(&[&[load(X)], &[store(X)]]);
    let first = clause(FIRST, &[1]);
    let good = || check(&sb(), Verdict::Violated, std::slice::from_ref(&first), Some(&[1, 3]));
    let kind = "fence_proof check_claim_while: WrongKind";
    vec![
        case(kind, good(), check(&sb(), Verdict::Violated, &[], Some(&[1, 3]))),
        case(kind, good(), check(&sb(), Verdict::Holds, std::slice::from_ref(&first), Some(&[]))),
        case(
            kind,
            check(&reading, Verdict::Holds, &[], Some(&[])),
            check(&reading, Verdict::Holds, &[], Some(&[0])),
        ),
        case(
            kind,
            check(&reading, Verdict::Holds, &[], Some(&[])),
            check(&reading, Verdict::Holds, &[], None),
        ),
        // The fences do not suffice.
        case(
            "certify search_robust_within: Contradicted",
            good(),
            check(&sb(), Verdict::Violated, std::slice::from_ref(&first), Some(&[1])),
        ),
        case(
            "certify robust: AllowedBySc",
            good(),
            check(
                &sb(),
                Verdict::Violated,
                &[clause("0 0 0x 0 0 1 1 1y 1 1", &[1])],
                Some(&[1, 3]),
            ),
        ),
    ]
}

/// Fences take runs away, so that they are not asked for a run that is there.
#[test]
fn existence_is_no_goal() {
    let check = |quantifier| {
        let mut program = sb();
        program.condition.as_mut().expect("a condition").quantifier = quantifier;
        let places = FencePlaces::at_points(&program);
        let answer = Fences { clauses: vec![], verdict: Verdict::Holds, fences: Some(vec![]) };
        let under = (Model::Sc, Goal::Safe);
        told(Certified::fences(&places, under, &COSTS, answer, effort(50_000), &mut || true))
    };
    assert_eq!(check(Quantifier::Exists), Ok(()));
    assert_eq!(check(Quantifier::NotExists), Ok(()));
    assert_eq!(check(Quantifier::Forall), Err(Rejected::Contradicted));
}

fn recorded() -> Vec<Case> {
    // The read takes both halves of what the other thread wrote, which are one access.
    let text = "wr0(x)^0 wr0(y)^0 wr1(x)^1 wr1(y)^1 rd0(x)^0";
    let found = "wr0(x)^0 wr0(y)^0 cm0(x)^0 cm0(y)^0 wr1(x)^1 wr1(y)^1 cm1(x)^1 cm1(y)^1 rd0(x)^0";
    let torn = "wr0(x)^0 wr0(y)^0 cm0(x)^0 wr1(x)^1 wr1(y)^1 cm1(x)^1 cm0(y)^0 cm1(y)^1 rd0(x)^0";
    let trace = |execution: TraceEvidence| {
        let answer = Answer { verdict: Verdict::Violated, evidence: Some(execution) };
        let access = [0, 0, 1, 1, 2];
        told(Certified::trace(&trace_of(text), &access, EXACT, answer, effort(5000)))
    };
    let (events, delay) = delayed::run("0wx 0ry 1wy 1rx", Model::Tso, delayed::SB);
    let tables = delayed::tables();
    let late = |verdict| {
        let answer = Answer { verdict, evidence: Some(delay.clone()) };
        told(Certified::delayed(&events, &tables, answer))
    };
    let silent = |verdict, events| {
        let answer: Answer<DelayedRun> = Answer { verdict, evidence: None };
        told(Certified::silent(events, &tables, (Model::Tso, Form::All), answer))
    };
    vec![
        case(
            "certified trace: an access is taken apart",
            trace(execution(found, &[(2, 6), (6, 8)])),
            trace(execution(torn, &[(2, 5), (5, 8)])),
        ),
        case("certified delayed: WrongKind", late(Verdict::Violated), late(Verdict::Holds)),
        case(
            "certified silent: WrongKind",
            silent(Verdict::Holds, &events[..3]),
            silent(Verdict::Violated, &events[..3]),
        ),
        case(
            "certified silent: Contradicted",
            silent(Verdict::Holds, &events[..3]),
            silent(Verdict::Holds, &events),
        ),
    ]
}
