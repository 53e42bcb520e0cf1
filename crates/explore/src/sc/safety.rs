//! Control points, assertions and conditions on final states under SC: a watch over the product of
//! the threads.
//!
//! A condition that has to hold in all final states, or in none, and that only speaks of locations, is
//! one more thing that must not be reached: a state in which all threads have ended and that violates
//! it. Sleep sets and persistent sets leave out no state in which nobody can go on. Threads may change
//! places if what the condition looks at stays where it is.

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Failure, FailureKind};
use weakspot_core::{
    Condition, Evidence, Instr, Limits, Observable, PointId, Program, Progress, Quantifier, RegId,
    ThreadId, Value, Verdict, Violation,
};

use crate::answer::{NoAnswer, Reach};
use crate::meter::Meter;
use crate::sc::frame::{Fields, Row};
use crate::sc::independence::Access;
use crate::sc::packed::{Ended, Plan};
use crate::sc::product::{Product, Taken, Watch};
use crate::sc::spread::search_together;
use crate::sc::threads::{ActKind, Missing, Threads};

/// Whether the condition of `program` is answered here, with everything else.
pub(crate) fn answers_condition(program: &Program) -> bool {
    let Some(condition) = &program.condition else { return true };
    condition.quantifier != Quantifier::Exists
        && mentioned(condition).iter().all(|r| match program.observed[r.index()].what {
            Observable::Loc(l) => program.wide(l).is_none(),
            Observable::Reg(..) => false,
        })
}

/// The components of a final state that a condition mentions.
fn mentioned(condition: &Condition) -> Vec<RegId> {
    let mut all = Vec::new();
    condition.prop.for_each_reg(&mut |r| all.push(r));
    all
}

/// Can a forbidden combination of control points be reached under SC, or an assertion fail? If
/// neither, does the condition hold, where [`answers_condition`]?
pub(crate) fn reach(
    program: &Program,
    plan: Plan<'_>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let condition = program.condition.as_ref().filter(|_| answers_condition(program));
    let answer = search_for(program, condition, plan, limits, progress)?;
    if answer.violation != Some(Violation::FinalStates) || !asks_more(program) {
        return Ok(answer);
    }
    // What is violated on the way to the final states is told first. Only the search before this one is kept.
    let plan = Plan { keep: None, ..plan };
    let first = search_for(program, None, plan, limits, progress)?;
    let states = answer.states + first.states;
    let told = if first.verdict == Verdict::Violated { first } else { answer };
    Ok(Reach { states, ..told })
}

/// Whether `program` asks about more than final states.
pub(crate) fn asks_more(program: &Program) -> bool {
    let mut edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    !program.forbidden.is_empty() || edges.any(|e| matches!(e.instr, Instr::Assert(_)))
}

fn search_for(
    program: &Program,
    condition: Option<&Condition>,
    plan: Plan<'_>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut threads = Threads::new(program, false);
    let mut product = Product::new(program, &threads, Bad { program, condition });
    if let Some(condition) = condition {
        let addr = |r: &RegId| match program.observed[r.index()].what {
            Observable::Loc(l) => Some(program.locs[l.index()].addr),
            Observable::Reg(..) => None,
        };
        let seen: Vec<Value> = mentioned(condition).iter().filter_map(addr).collect();
        product = product.with_symmetry_that_keeps(&seen);
    }
    let initial = product.initial(&mut threads, &mut meter).map_err(NoAnswer::Fault)?;
    let found = search_together(&product, threads, initial, plan, &mut meter)?;
    let states = found.states;
    let mut threads = found.tables;
    let (verdict, violation, evidence) = match found.ended {
        Ended::Fault(failure) => return Err(NoAnswer::Fault(failure)),
        Ended::Limit(limit) => (Verdict::Unknown(limit), None, None),
        Ended::Complete => (Verdict::Holds, None, Some(Evidence::Exhausted { states })),
        Ended::Found(rows) => {
            let hit = product.run(&mut threads, &rows);
            let wrong = NoAnswer::Rejected(Rejected::WrongState);
            let hit = hit.ok_or(wrong.clone())?;
            let violation = match hit.goal.ok_or(wrong)? {
                Goal::ControlPoints => Violation::ControlPoints,
                Goal::FinalState => Violation::FinalStates,
                Goal::Assertion { t, point, edge } => {
                    let thread = ThreadId::new(hit.who[t]);
                    let span = program.edge(thread, point, edge as usize).span;
                    let kind = FailureKind::Assertion;
                    Violation::Assertion(Failure { thread, span, kind })
                }
            };
            (Verdict::Violated, Some(violation), Some(Evidence::Run(hit.run)))
        }
    };
    Ok(Reach { verdict, violation, evidence, states, algorithm: "sc" })
}

/// What the program does that it must not.
enum Goal {
    ControlPoints,
    FinalState,
    Assertion { t: usize, point: PointId, edge: u32 },
}

/// Looks for what the program forbids.
struct Bad<'p> {
    program: &'p Program,
    /// The condition on final states, if it is looked at.
    condition: Option<&'p Condition>,
}

impl Bad<'_> {
    /// Whether a forbidden combination names this point of thread `t`, or any for `None`.
    fn names(&self, t: usize, point: Option<PointId>) -> bool {
        let mut named = self.program.forbidden.iter().filter_map(|f| f.get(t).copied().flatten());
        named.any(|p| point.is_none_or(|q| p == q))
    }

    /// Whether all threads have ended in a state that the condition does not allow.
    fn ends_badly(&self, threads: &Threads<'_>, row: &Row<'_>) -> bool {
        let Some(condition) = self.condition else { return false };
        let mut codes = self.program.threads.iter().enumerate();
        let ended = codes
            .all(|(t, code)| code.points[threads.point(t, row.row[t]).index()].edges.is_empty());
        if !ended {
            return false;
        }
        let value = |o: &weakspot_core::Observed| match o.what {
            Observable::Loc(l) if l.index() < self.program.locs.len() => {
                o.view.apply(threads.locs.value(l.0, row.row[row.frame.value(l.0)]))
            }
            _ => 0,
        };
        let observed: Vec<Value> = self.program.observed.iter().map(value).collect();
        condition.prop.holds(&observed) == (condition.quantifier == Quantifier::NotExists)
    }
}

impl Watch for Bad<'_> {
    type Goal = Goal;
    const FIELDS: Fields =
        Fields { fields: 0, threads: &[], masks: &[], locs: &[], per_loc: 0, values: &[] };

    fn is_goal(&self, threads: &Threads<'_>, row: &Row<'_>) -> Option<Goal> {
        let at = |t: usize, point: Option<PointId>| {
            point.is_none_or(|p| threads.point(t, row.row[t]) == p)
        };
        let forbidden = &self.program.forbidden;
        forbidden
            .iter()
            .any(|f| f.iter().enumerate().all(|(t, &point)| at(t, point)))
            .then_some(Goal::ControlPoints)
            .or_else(|| self.ends_badly(threads, row).then_some(Goal::FinalState))
    }

    fn follow(
        &self,
        step: &Taken<'_>,
        _: &Row<'_>,
        next: Vec<u32>,
        out: &mut Vec<Vec<u32>>,
    ) -> Option<Goal> {
        if step.act.kind == ActKind::Assertion {
            let point = step.threads.point(step.t, step.local);
            return Some(Goal::Assertion { t: step.t, point, edge: step.act.edge });
        }
        out.push(next);
        None
    }

    fn minds_fences(&self, _: &Row<'_>, _: usize) -> bool {
        false
    }

    /// A thread must not stand at a point that is named, nor come to one.
    fn may_go_first(
        &self,
        threads: &Threads<'_>,
        row: &Row<'_>,
        t: usize,
        _: Access,
    ) -> Result<bool, Missing> {
        let local = row.row[t];
        let named = |l: u32| self.names(t, Some(threads.point(t, l)));
        if !self.names(t, None) {
            return Ok(true);
        }
        if named(local) {
            return Ok(false);
        }
        for (i, &act) in threads.acts(t, local)?.iter().enumerate() {
            // What comes later in the row was met by now, too.
            let seen = row.row.get(row.frame.value(act.loc)).copied().unwrap_or(0);
            let (_, to) = threads.after(t, local, i, act, seen)?;
            if to.iter().any(|&l| named(l)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_hopeless(&self, _: &Row<'_>, _: &dyn Fn(usize) -> Access) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::{Size, check_programs, scaled};
    use weakspot_core::{
        BinOp, Expr, LocId, Model, Observed, PointId, Silent, View, certify, reference,
    };

    use super::*;
    use crate::sc::packed::Order;

    /// Breadth first and depth first, alone and with others from the first states on: the answer
    /// of the brute-force reference, with a run that replays.
    fn differs(program: &Program) -> bool {
        let Some(expected) = reference::reachable(program, Model::Sc, 100_000) else {
            return false;
        };
        if expected.failure.as_ref().is_some_and(|f| f.kind != FailureKind::Assertion) {
            // Such a program has no answer.
            return false;
        }
        let limits =
            Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };
        let plans = [(Order::Breadth, 1), (Order::Depth, 1), (Order::Breadth, 3)];
        // Workers that wait for each other at every level of a tiny search take their time.
        let plans = &plans[..if expected.states % 16 == 0 { 3 } else { 2 }];
        plans.iter().any(|&(order, workers)| {
            let plan = Plan { order, large: 4, ..Plan::breadth_first(workers) };
            let Ok(answer) = reach(program, plan, &limits, &mut Silent) else { return true };
            let unsafe_ = expected.forbidden || expected.failure.is_some();
            let ends_badly = program.condition.as_ref().is_some_and(|condition| {
                let wrong = condition.quantifier == Quantifier::NotExists;
                expected.outcomes.iter().any(|row| condition.prop.holds(row) == wrong)
            });
            (unsafe_ || ends_badly) != (answer.verdict == Verdict::Violated)
                || unsafe_ && answer.violation == Some(Violation::FinalStates)
                || answer.evidence.is_none_or(|evidence| {
                    certify::everything(program, Model::Sc, &answer.verdict, &evidence).is_err()
                })
        })
    }

    /// `program` with a condition on what some location holds in the end, or on two of them.
    fn with_condition(program: &Program, seed: usize) -> Program {
        let mut program = program.clone();
        program.observed = (0..program.locs.len())
            .map(|l| Observed { what: Observable::Loc(LocId::new(l)), view: View::Full })
            .collect();
        let column = |i: usize| Expr::Reg(RegId::new(i % program.locs.len()));
        let prop = match seed % 3 {
            0 => Expr::binary(BinOp::Eq, column(seed / 3), column(seed / 7)),
            v => Expr::binary(BinOp::Eq, column(seed / 3), Expr::Const(v as Value - 1)),
        };
        let quantifier = [Quantifier::Forall, Quantifier::NotExists][seed / 2 % 2];
        program.condition = Some(Condition { quantifier, prop });
        program
    }

    fn check(seed: u64, all: usize, size: Size) {
        check_programs(seed, scaled(all), size, &[Model::Sc], &|program, _| {
            let mut program = program.clone();
            // A combination in the middle of the threads, and one that leaves threads open.
            let middle = |t: &weakspot_core::Thread| Some(PointId::new(t.points.len() / 2));
            program.forbidden = vec![program.threads.iter().map(middle).collect()];
            let open = program.threads.iter().enumerate().map(|(i, t)| {
                let last = Some(PointId::new(t.points.len() - 1));
                if i % 2 == 0 { last } else { None }
            });
            let open = open.collect();
            let seed = program.threads.iter().map(|t| 7 * t.points.len() + t.regs.len()).sum();
            differs(&program)
                || {
                    program.forbidden = vec![open];
                    differs(&with_condition(&program, seed))
                }
                || {
                    program.forbidden.clear();
                    differs(&with_condition(&program, seed))
                }
        });
    }

    #[test]
    fn straight_programs_agree_with_the_reference() {
        check(3_000_000, 3_200, Size { threads: 4, instrs: 5, total: 12, locs: 4, loops: false });
    }

    #[test]
    fn loops_agree_with_the_reference() {
        check(3_100_000, 3_200, Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true });
    }

    #[test]
    fn copies_of_threads_agree_with_the_reference() {
        for seed in 0..scaled(6_000) as u64 {
            let program = crate::sc::symmetry::tests::copies(seed);
            assert!(!differs(&program), "seed {seed}\n{}", weakspot_core::testing::show(&program));
            let mut program = with_condition(&program, seed as usize);
            program.forbidden.clear();
            assert!(!differs(&program), "seed {seed}\n{}", weakspot_core::testing::show(&program));
        }
    }
}
