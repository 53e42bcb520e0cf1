//! Sets of states that nothing leads out of.

use weakspot_core::certify::{
    self, Over, Rejected, Shows, StateSet, inductive, inductive_while, inductive_within, reached,
};
use weakspot_core::{
    Condition, Evidence, Expr, Instr, Model, PointId, Program, Quantifier, RegId, Verdict,
};

use super::programs::{X, Y, straight};
use super::{Case, case};

/// Threads that store and then load, each going round for ever.
fn storing_and_loading() -> Program {
    let store = |to| Instr::Store { addr: Expr::Const(to), value: Expr::Const(1) };
    let load = |from| Instr::Load { reg: RegId(0), addr: Expr::Const(from) };
    let mut program = straight(&[&[store(X), load(Y)], &[store(X), load(X)]]);
    program.observed.clear();
    for thread in &mut program.threads {
        thread.points[1].edges[0].to = PointId(0);
    }
    program
}

pub(super) fn cases() -> Vec<Case> {
    let program = storing_and_loading();
    let asked = (Model::Sc, Shows::Everything);
    let everything = |program: &Program, set: &StateSet| inductive(program, asked.0, asked.1, set);
    let right = reached(&program, asked.0, (asked.1, Over::Machine), &mut |_| true).expect("a set");
    let good = || everything(&program, &right);
    let bad = |change: &dyn Fn(&mut Program, &mut StateSet)| {
        let (mut program, mut set) = (program.clone(), right.clone());
        change(&mut program, &mut set);
        everything(&program, &set)
    };
    // All but the first member of a set, which is an initial state: all of its bytes are 0.
    let rest = |set: &StateSet| {
        let first = 2 + usize::from(set.packed[1]);
        let mut packed = set.packed[first..].to_vec();
        let (common, length) = (packed[0], packed[1]);
        packed.splice(..2, [0, common + length]);
        packed.splice(2..2, vec![0; usize::from(common)]);
        StateSet { states: set.states - 1, packed, ..set.clone() }
    };
    let asking = |quantifier| Some(Condition { quantifier, prop: Expr::Const(1) });
    let kind = "inductive new: WrongKind";
    let wrong = "inductive check: it is bad, or a step from it is";
    let order = "inductive check: it does not come after the one before it, or is cut off";
    vec![
        case(kind, good(), bad(&|_, set| set.over = Over::Pending)),
        case(kind, good(), inductive(&program, Model::Tso, Shows::Robust, &right)),
        case(
            kind,
            bad(&|program, _| program.condition = asking(Quantifier::Forall)),
            bad(&|program, _| program.condition = asking(Quantifier::Exists)),
        ),
        case(order, good(), bad(&|_, set| set.packed.truncate(set.packed.len() - 1))),
        case(order, good(), bad(&|_, set| set.packed.extend([0, 1, 0]))),
        case(
            "inductive check: TooLarge",
            inductive_within(&program, asked.0, asked.1, &right, 100),
            inductive_within(&program, asked.0, asked.1, &right, 10),
        ),
        case(
            "inductive check: TooLarge",
            inductive_while(&program, asked.0, asked.1, &right, &mut || true),
            inductive_while(&program, asked.0, asked.1, &right, &mut || false),
        ),
        case(
            "inductive check: there are more or less than it says",
            good(),
            bad(&|_, set| set.states += 1),
        ),
        case(
            "inductive check: an initial state is missing",
            good(),
            bad(&|_, set| *set = rest(set)),
        ),
        case(
            "inductive check: it is no state of the program",
            good(),
            bad(&|_, set| {
                set.packed.extend([0, 1, 9]);
                set.states += 1;
            }),
        ),
        case(wrong, good(), bad(&|p, _| p.forbidden = vec![vec![None, Some(PointId(1))]])),
        case(
            "inductive check: a step from it leads out of the set",
            good(),
            bad(&|program, _| {
                let two = Instr::Store { addr: Expr::Const(X), value: Expr::Const(2) };
                program.threads[1].points[0].edges[0].instr = two;
            }),
        ),
    ]
}

/// The answers that sets belong to.
#[test]
fn sets_show_that_something_holds() {
    let program = storing_and_loading();
    let set = reached(&program, Model::Tso, (Shows::Robust, Over::Pending), &mut |_| true);
    let evidence = Evidence::Inductive(set.expect("a set"));
    for (verdict, expected) in
        [(Verdict::Holds, Ok(())), (Verdict::Violated, Err(Rejected::WrongKind))]
    {
        assert_eq!(certify::robust(&program, Model::Tso, &verdict, &evidence), expected);
        assert_eq!(certify::everything(&program, Model::Tso, &verdict, &evidence), expected);
    }
}
