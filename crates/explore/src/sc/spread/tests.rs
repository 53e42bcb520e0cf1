//! Several processes against one, on random programs: same end, same number of states, same length of
//! the way to what is found. The processes are threads here, which send each other by queues.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use weakspot_core::testing::{Rng, Size, random_program, scaled, show};
use weakspot_core::{
    Drain, Evidence, Expr, Instr, Limits, Model, Program, Progress, Silent, Snapshot, Undeclared,
    Value, Verdict,
};

use super::*;
use crate::sc::frame::{Fields, Row};
use crate::sc::independence::Access;
use crate::sc::product::{Product, Taken, Watch};
use crate::sc::threads::{ActKind, Missing};

/// What was sent: in which level, if in one, and by whom.
type Message = (Option<u64>, usize, Vec<u8>);

/// What all workers of a search share.
#[derive(Default)]
struct Bus {
    /// Per worker what was sent to it.
    queues: Vec<VecDeque<Message>>,
    /// Per worker how many levels it has ended.
    ended: Vec<u64>,
}

/// The searches so far, one after the other.
type Searches = Arc<Mutex<Vec<Arc<Mutex<Bus>>>>>;

struct Process {
    place: (usize, usize),
    searches: Searches,
    /// The number of the search, and how many threads it has.
    current: Mutex<(usize, usize)>,
}

struct Queue {
    bus: Arc<Mutex<Bus>>,
    index: usize,
    level: u64,
}

impl Process {
    fn all(processes: usize) -> Vec<Process> {
        let searches = Searches::default();
        let process = |i| Process {
            place: (processes, i),
            searches: Arc::clone(&searches),
            current: Mutex::default(),
        };
        (0..processes).map(process).collect()
    }
}

impl Team for Process {
    fn place(&self) -> (usize, usize) {
        self.place
    }

    fn begin(&self, threads: usize) -> Result<(), Limit> {
        let mut current = self.current.lock().expect("a lock");
        let mut searches = self.searches.lock().expect("a lock");
        if searches.len() == current.0 {
            let workers = self.place.0 * threads;
            let queues = vec![VecDeque::new(); workers];
            searches.push(Arc::new(Mutex::new(Bus { queues, ended: vec![0; workers] })));
        }
        *current = (current.0 + 1, threads);
        Ok(())
    }

    fn link(&self, thread: usize) -> Result<Box<dyn Link>, Limit> {
        let (search, threads) = *self.current.lock().expect("a lock");
        let bus = Arc::clone(&self.searches.lock().expect("a lock")[search - 1]);
        Ok(Box::new(Queue { bus, index: self.place.1 * threads + thread, level: 0 }))
    }

    fn end(&self) {}
}

impl Queue {
    fn bus(&self) -> MutexGuard<'_, Bus> {
        self.bus.lock().expect("a lock")
    }
}

impl Link for Queue {
    fn send(&mut self, to: usize, at_once: bool, message: Vec<u8>) {
        let mut bus = self.bus();
        let level = (!at_once).then_some(bus.ended[self.index]);
        bus.queues[to].push_back((level, self.index, message));
    }

    fn receive(&mut self) -> Option<(usize, Vec<u8>)> {
        let level = self.level;
        let queue = &mut self.bus().queues[self.index];
        let at = queue.iter().position(|m| m.0.is_none_or(|l| l <= level))?;
        queue.remove(at).map(|(_, from, message)| (from, message))
    }

    fn has_room(&self) -> bool {
        true
    }

    fn end_level(&mut self) {
        let index = self.index;
        self.bus().ended[index] += 1;
    }

    fn is_level_over(&self) -> bool {
        self.bus().ended.iter().all(|&ended| ended > self.level)
    }

    fn next_level(&mut self) {
        self.level += 1;
    }

    fn step(&mut self, may_wait: bool) {
        if may_wait {
            std::thread::yield_now();
        }
    }

    fn lost(&self) -> Option<Limit> {
        None
    }

    fn bytes(&self) -> usize {
        0
    }
}

/// Looks for a final state in which the first location holds a value; none if there is no value.
struct Ends<'p> {
    program: &'p Program,
    value: Option<Value>,
}

impl Watch for Ends<'_> {
    type Goal = ();
    const FIELDS: Fields =
        Fields { fields: 0, threads: &[], masks: &[], locs: &[], per_loc: 0, values: &[] };

    fn is_goal(&self, threads: &Threads<'_>, row: &Row<'_>) -> Option<()> {
        let mut codes = self.program.threads.iter().enumerate();
        let ended =
            codes.all(|(t, c)| c.points[threads.point(t, row.row[t]).index()].edges.is_empty());
        let holds = || threads.locs.value(0, row.row[row.frame.value(0)]);
        (ended && Some(holds()) == self.value).then_some(())
    }

    fn follow(
        &self,
        step: &Taken<'_>,
        _: &Row<'_>,
        next: Vec<u32>,
        out: &mut Vec<Vec<u32>>,
    ) -> Option<()> {
        if step.act.kind != ActKind::Assertion {
            out.push(next);
        }
        None
    }

    fn minds_fences(&self, _: &Row<'_>, _: usize) -> bool {
        false
    }

    fn may_go_first(
        &self,
        _: &Threads<'_>,
        _: &Row<'_>,
        _: usize,
        _: Access,
    ) -> Result<bool, Missing> {
        Ok(true)
    }

    fn is_hopeless(&self, _: &Row<'_>, _: &dyn Fn(usize) -> Access) -> bool {
        false
    }
}

/// Ends a search that may have no end.
pub(crate) struct Few;

impl Progress for Few {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        snapshot.states < 20_000
    }
}

/// What came of a search: how it ended, how long the way is, and how many states were expanded if that
/// is the same for all.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Complete(u64),
    Found(usize),
    Fault,
    Limit,
}

/// What comes of the search for a final state in which the first location holds a value, by this plan.
pub(crate) fn came(
    program: &Program,
    value: Option<Value>,
    plan: Plan<'_>,
    progress: &mut dyn Progress,
) -> Came {
    let limits = Limits { memory: Some(1 << 30), ..Limits::UNLIMITED };
    let mut meter = Meter::new(limits, progress);
    let mut threads = Threads::new(program, false);
    let product = Product::new(program, &threads, Ends { program, value });
    let Ok(initial) = product.initial(&mut threads, &mut meter) else { return Came::Fault };
    let found = search_together(&product, threads, initial, plan, &mut meter);
    let found = found.expect("what was kept is good");
    let mut threads = found.tables;
    match found.ended {
        Ended::Complete => Came::Complete(found.states),
        Ended::Found(rows) => {
            // The way is one of this process, too.
            let hit = product.run(&mut threads, &rows).expect("a run");
            assert!(hit.goal.is_some());
            Came::Found(rows.len())
        }
        Ended::Fault(_) => Came::Fault,
        Ended::Limit(_) => Came::Limit,
    }
}

/// What all processes come to.
pub(crate) fn together<T: Send>(processes: usize, ask: impl Fn(&dyn Team) -> T + Sync) -> Vec<T> {
    let team = Process::all(processes);
    std::thread::scope(|scope| {
        let ask = &ask;
        let asked: Vec<_> = team.iter().map(|p| scope.spawn(move || ask(p))).collect();
        asked.into_iter().map(|p| p.join().expect("no panic")).collect()
    })
}

const SETTINGS: [(usize, usize); 4] = [(1, 1), (2, 1), (2, 2), (3, 1)];

/// Addresses that are not declared are met on the way, each process in its own order.
pub(crate) fn with_computed_addresses(mut program: Program, rng: &mut Rng) -> Program {
    program.undeclared = Undeclared::Zero;
    for thread in &mut program.threads {
        if thread.regs.is_empty() {
            continue;
        }
        for edge in thread.points.iter_mut().flat_map(|p| &mut p.edges) {
            let far = Expr::binary(
                weakspot_core::BinOp::Add,
                Expr::Const(100 + rng.below(3) as Value),
                Expr::Reg(weakspot_core::RegId::new(rng.below(thread.regs.len()))),
            );
            match &mut edge.instr {
                Instr::Load { addr, .. } | Instr::Store { addr, .. } if rng.one_in(3) => {
                    *addr = far
                }
                _ => {}
            }
        }
    }
    program
}

fn check(seed: u64, count: usize, size: Size, computed: bool) {
    let mut ends = [0; 3];
    for seed in seed..seed + scaled(count) as u64 {
        let mut rng = Rng::new(seed);
        let mut program = random_program(&mut rng, size);
        if computed {
            program = with_computed_addresses(program, &mut rng);
        }
        program.forbidden.clear();
        let value = [None, Some(0), Some(1), Some(2)][seed as usize % 4];
        let expected = came(&program, value, Plan::breadth_first(1), &mut Few);
        match expected {
            Came::Complete(_) => ends[0] += 1,
            Came::Found(_) => ends[1] += 1,
            _ => ends[2] += 1,
        }
        if expected == Came::Limit {
            continue;
        }
        let (processes, threads) = SETTINGS[seed as usize / 4 % SETTINGS.len()];
        let plan = Plan::breadth_first(threads);
        let ask =
            |team: &dyn Team| came(&program, value, Plan { team: Some(team), ..plan }, &mut Few);
        for found in together(processes, ask) {
            assert_eq!(
                found,
                expected,
                "seed {seed}, {processes} processes with {threads} threads\n{}",
                show(&program)
            );
        }
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}

#[test]
fn processes_agree_with_one_thread() {
    check(
        5_000_000,
        1_600,
        Size { threads: 4, instrs: 5, total: 12, locs: 4, loops: false },
        false,
    );
}

#[test]
fn processes_agree_with_one_thread_on_loops() {
    check(5_100_000, 1_600, Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true }, false);
}

#[test]
fn processes_agree_with_one_thread_on_computed_addresses() {
    check(5_200_000, 1_600, Size { threads: 3, instrs: 5, total: 10, locs: 2, loops: false }, true);
}

#[test]
fn processes_agree_with_one_thread_on_copies_of_threads() {
    for seed in 0..scaled(800) as u64 {
        let mut program = crate::sc::symmetry::tests::copies(seed);
        program.forbidden.clear();
        let value = [None, Some(1), Some(2)][seed as usize % 3];
        let expected = came(&program, value, Plan::breadth_first(1), &mut Few);
        let (processes, threads) = SETTINGS[seed as usize / 3 % SETTINGS.len()];
        let plan = Plan::breadth_first(threads);
        let ask =
            |team: &dyn Team| came(&program, value, Plan { team: Some(team), ..plan }, &mut Few);
        for found in together(processes, ask) {
            assert_eq!(found, expected, "seed {seed}\n{}", show(&program));
        }
    }
}

/// The questions that are asked of several processes get the answers of one, with evidence that passes
/// its check.
#[test]
fn questions_get_the_same_answers() {
    let size = Size { threads: 3, instrs: 5, total: 11, locs: 3, loops: true };
    let mut violated = 0;
    for seed in 5_300_000..5_300_000 + scaled(600) as u64 {
        let mut program = random_program(&mut Rng::new(seed), size);
        let middle =
            |t: &weakspot_core::Thread| Some(weakspot_core::PointId::new(t.points.len() / 2));
        program.forbidden = vec![program.threads.iter().map(middle).collect()];
        let limits = Limits { workers: 1 + seed as usize % 2, ..Limits::UNLIMITED };
        if weakspot_core::reference::reachable(&program, Model::Sc, 20_000).is_none() {
            continue;
        }
        let model = [Model::Tso, Model::Pso(Drain::All)][seed as usize / 2 % 2];
        let reach = crate::reach(&program, Model::Sc, crate::Algorithm::Auto, &limits, &mut Silent);
        let robust = crate::robust(&program, model, crate::Decide::Pending, &limits, &mut Silent);
        let processes = 2 + seed as usize / 4 % 2;
        let found = together(processes, |team| {
            let reach = crate::reach_together(&program, team, None, &limits, &mut Silent);
            let robust = crate::robust_together(&program, model, team, None, &limits, &mut Silent);
            let reach = reach.ok().map(|r| (r.verdict.clone(), r.states));
            (reach, robust.ok().map(|r| (r.verdict.clone(), r.states, r.evidence.clone())))
        });
        let same = |a: &(Verdict, u64), b: &(Verdict, u64)| {
            a.0 == b.0 && (a.1 == b.1 || a.0 == Verdict::Violated)
        };
        for (own_reach, own_robust) in found {
            let expected = reach.as_ref().ok().map(|r| (r.verdict.clone(), r.states));
            match (&own_reach, &expected) {
                (Some(a), Some(b)) => assert!(same(a, b), "seed {seed}: {a:?} {b:?}"),
                (a, b) => assert_eq!(a, b, "seed {seed}"),
            }
            let expected = robust.as_ref().ok().map(|r| (r.verdict.clone(), r.states));
            let own = own_robust.as_ref().map(|r| (r.0.clone(), r.1));
            match (&own, &expected) {
                (Some(a), Some(b)) => assert!(same(a, b), "seed {seed}: {a:?} {b:?}"),
                (a, b) => assert_eq!(a, b, "seed {seed}"),
            }
            violated += usize::from(matches!(own_robust, Some((_, _, Some(Evidence::Run(_))))));
        }
    }
    assert!(violated > 0);
}
