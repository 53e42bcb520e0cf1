//! Counters that grow for ever.

use weakspot_core::certify::{self, Rejected};
use weakspot_core::{
    Abstraction, BinOp, Condition, Expr, Instr, Model, PointId, Program, Quantifier, RegId,
    Undeclared, Value,
};

use super::programs::{X, Y, straight};
use super::{Case, case};

/// Takes a ticket and stores the one after it, for ever, with `other` in between.
fn tickets(by: Value, other: Instr) -> Program {
    let ticket = || Expr::Reg(RegId(0));
    let more = |by| Expr::binary(BinOp::Add, ticket(), Expr::Const(by));
    let take = Instr::Update { reg: RegId(0), addr: Expr::Const(X), value: more(1) };
    let give = Instr::Store { addr: Expr::Const(Y), value: more(by) };
    let mut program = straight(&[&[take, other, give]]);
    program.observed.clear();
    program.threads[0].points[2].edges[0].to = PointId(0);
    program
}

fn check(program: &Program, abstraction: &Abstraction, most: usize) -> Result<(), Rejected> {
    let said = certify::search_abstraction(program, Model::Tso, abstraction, most);
    // It is asked now and then whether to go on: so few states are over before.
    let again = |go_on: &mut dyn FnMut() -> bool| {
        certify::search_abstraction_while(program, Model::Tso, abstraction, most, go_on)
    };
    assert_eq!((&again(&mut || true), &again(&mut || false)), (&said, &said));
    said
}

pub(super) fn cases() -> Vec<Case> {
    let program = tickets(1, Instr::Nop);
    let class = Some(0);
    let right = Abstraction {
        regs: vec![vec![vec![None], vec![class], vec![class], vec![None]]],
        locs: vec![class, class],
        zero: vec![false],
        gap: 1,
    };
    let good = || check(&program, &right, 100);
    let bad = |change: &dyn Fn(&mut Program, &mut Abstraction)| {
        let (mut program, mut abstraction) = (program.clone(), right.clone());
        change(&mut program, &mut abstraction);
        check(&program, &abstraction, 100)
    };
    let misused = "abstraction check_within: a counter is used like a plain number";
    let far = "abstraction check_within: a counter is too far from 0";
    let bad_state = "abstraction check_within: Coarse";
    let unfit = "abstraction well_formed: the classes of counters do not fit the program";
    let sizes = "abstraction well_formed: gaps are told apart below 1, or too far";
    let asking = |quantifier| Some(Condition { quantifier, prop: Expr::Const(1) });
    let looking = |e| check(&tickets(1, Instr::Assume(e)), &right, 100);
    let ticket = || Expr::Reg(RegId(0));
    let twice = Expr::binary(BinOp::Mul, ticket(), Expr::Const(2));
    let same = Expr::binary(BinOp::Eq, ticket(), ticket());
    vec![
        case("abstraction check_within: TooLarge", good(), check(&program, &right, 2)),
        case(bad_state, good(), bad(&|p, _| p.forbidden = vec![vec![Some(PointId(2))]])),
        case(
            bad_state,
            check(&tickets(1, Instr::Assert(Expr::Const(1))), &right, 100),
            check(&tickets(1, Instr::Assert(Expr::Const(0))), &right, 100),
        ),
        case(
            "abstraction spread: TooLarge",
            good(),
            check(&tickets(1 << 20, Instr::Nop), &right, 100),
        ),
        case(far, good(), bad(&|p, _| p.locs[0].init = vec![Value::MAX])),
        case(far, good(), check(&tickets(1 << 41, Instr::Nop), &right, 100)),
        case(misused, good(), bad(&|_, a| a.locs[1] = None)),
        case(misused, good(), bad(&|_, a| a.locs[0] = None)),
        case(misused, looking(same), looking(twice)),
        case(
            misused,
            looking(Expr::binary(BinOp::Lt, ticket(), ticket())),
            // Nothing says where 0 is.
            looking(Expr::binary(BinOp::Lt, ticket(), Expr::Const(3))),
        ),
        case(
            "abstraction well_formed: counters need declared memory with accesses of one width",
            good(),
            bad(&|p, _| p.undeclared = Undeclared::Zero),
        ),
        case(unfit, good(), bad(&|_, a| a.zero.clear())),
        // A class that nothing belongs to.
        case(unfit, good(), bad(&|_, a| a.zero.push(false))),
        case(unfit, good(), bad(&|_, a| a.locs.truncate(1))),
        case(unfit, good(), bad(&|_, a| a.regs[0].truncate(1))),
        case(sizes, good(), bad(&|_, a| a.gap = 0)),
        case(sizes, good(), bad(&|_, a| a.gap = Value::MAX)),
        case(
            "abstraction well_formed: a counter has a range",
            good(),
            bad(&|p, _| p.locs[0].range = Some((0, 9))),
        ),
        case(
            "abstraction well_formed: WrongKind",
            bad(&|p, _| p.condition = asking(Quantifier::Forall)),
            bad(&|p, _| p.condition = asking(Quantifier::Exists)),
        ),
        case(
            "abstraction well_formed_edge: a register changes its class",
            good(),
            bad(&|_, a| a.regs[0][1][0] = None),
        ),
    ]
}
