//! Control points and assertions under SC: a watch over the product of the threads.

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Failure, FailureKind};
use weakspot_core::{Evidence, Limits, PointId, Program, Progress, ThreadId, Verdict, Violation};

use crate::answer::{NoAnswer, Reach};
use crate::meter::Meter;
use crate::sc::frame::{Fields, Row};
use crate::sc::independence::Access;
use crate::sc::packed::{Ended, Plan, search};
use crate::sc::product::{Product, Taken, Watch};
use crate::sc::threads::{ActKind, Threads};

/// Can a forbidden combination of control points be reached under SC, or an assertion fail?
pub(crate) fn reach(
    program: &Program,
    plan: Plan,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut threads = Threads::new(program, false);
    let product = Product::new(program, &threads, Bad { program });
    let initial = product.initial(&mut threads, &mut meter).map_err(NoAnswer::Fault)?;
    let found = search(&product, threads, initial, plan, &mut meter);
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
    Assertion { t: usize, point: PointId, edge: u32 },
}

/// Looks for what the program forbids.
struct Bad<'p> {
    program: &'p Program,
}

impl Bad<'_> {
    /// Whether a forbidden combination names this point of thread `t`, or any for `None`.
    fn names(&self, t: usize, point: Option<PointId>) -> bool {
        let mut named = self.program.forbidden.iter().filter_map(|f| f.get(t).copied().flatten());
        named.any(|p| point.is_none_or(|q| p == q))
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
    fn may_go_first(&self, threads: &Threads<'_>, row: &Row<'_>, t: usize, _: Access) -> bool {
        let local = row.row[t];
        let named = |l: u32| self.names(t, Some(threads.point(t, l)));
        let stays_away = || {
            threads.acts(t, local).is_ok_and(|acts| {
                acts.iter().enumerate().all(|(i, &act)| {
                    let seen = row.row[row.frame.value(act.loc)];
                    let after = threads.after(t, local, i, act, seen);
                    after.is_ok_and(|(_, to)| to.iter().all(|&l| !named(l)))
                })
            })
        };
        !self.names(t, None) || !named(local) && stays_away()
    }

    fn is_hopeless(&self, _: &Row<'_>, _: &dyn Fn(usize) -> Access) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::{Size, check_programs};
    use weakspot_core::{Model, PointId, Silent, certify, reference};

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
            let plan = Plan { order, workers, large: 4 };
            let Ok(answer) = reach(program, plan, &limits, &mut Silent) else { return true };
            let violated = expected.forbidden || expected.failure.is_some();
            violated != (answer.verdict == Verdict::Violated)
                || answer.evidence.is_none_or(|evidence| {
                    certify::safety(program, Model::Sc, &answer.verdict, &evidence).is_err()
                })
        })
    }

    fn check(seed: u64, count: usize, size: Size) {
        check_programs(seed, count, size, &[Model::Sc], &|program, _| {
            let mut program = program.clone();
            // A combination in the middle of the threads, and one that leaves threads open.
            let middle = |t: &weakspot_core::Thread| Some(PointId::new(t.points.len() / 2));
            program.forbidden = vec![program.threads.iter().map(middle).collect()];
            let open = program.threads.iter().enumerate().map(|(i, t)| {
                let last = Some(PointId::new(t.points.len() - 1));
                if i % 2 == 0 { last } else { None }
            });
            let open = open.collect();
            differs(&program) || {
                program.forbidden = vec![open];
                differs(&program)
            }
        });
    }

    #[test]
    fn straight_programs_agree_with_the_reference() {
        check(3_000_000, 800, Size { threads: 4, instrs: 5, total: 12, locs: 4, loops: false });
    }

    #[test]
    fn loops_agree_with_the_reference() {
        check(3_100_000, 800, Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true });
    }

    #[test]
    fn copies_of_threads_agree_with_the_reference() {
        for seed in 0..1_500 {
            let program = crate::sc::symmetry::tests::copies(seed);
            assert!(!differs(&program), "seed {seed}\n{}", weakspot_core::testing::show(&program));
        }
    }
}
