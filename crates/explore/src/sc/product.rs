//! The SC runs of a program as a system to search: the product of its threads over one memory,
//! and of a [`Watch`] that looks for something.
//!
//! A row is the local state of each thread, who holds the lock, the fields of the watch, and per
//! location the number of its value and further fields of the watch.
//! Reductions, each of which keeps the answer:
//! - steps that memory does not see are collapsed ([`threads`](crate::sc::threads)), and an atomic
//!   block is one step;
//! - *persistent sets*: where no other thread can ever again conflict with what a thread may do
//!   next, and the watch does not mind, only that thread moves. It must not be in a loop, so that
//!   nobody is put off for ever;
//! - *sleep sets*: of two independent moves one order is enough;
//! - *symmetry*: threads that are copies of each other change places ([`symmetry`]).
//!
//! [`symmetry`]: crate::sc::symmetry

use weakspot_core::machine::{Failure, Schedule, Step};
use weakspot_core::{Instr, Limit, PointId, Program, ThreadId, Value};

use crate::flow::in_loop;
use crate::meter::Meter;
use crate::sc::frame::{Fields, Frame, Row};
use crate::sc::independence::{Access, future};
use crate::sc::moves::{
    MOST_ASLEEP, Sink, Stopped, WithSteps, initial_rows, next_access, next_accesses, not_asleep,
    past_fences, retry, run_block, steps_of,
};
use crate::sc::normal::Normal;
use crate::sc::packed::{Expanded, Next, Retraced, Sleep, Successors, System};
use crate::sc::symmetry::Symmetry;
use crate::sc::threads::{Act, ActKind, Missing, Threads};
use crate::sc::walk::full;
use crate::sc::wire::Framed;

/// What is looked for along the runs.
pub(crate) trait Watch: Sync {
    /// What is found.
    type Goal;
    /// Which fields the watch adds to rows.
    const FIELDS: Fields;

    /// Whether a state is what is looked for.
    fn is_goal(&self, threads: &Threads<'_>, row: &Row<'_>) -> Option<Self::Goal>;

    /// Follows an act of thread `t` from `row`. `next` is what the act alone makes of it, but for
    /// the local state of `t`; all rows that the watch makes of that go to `out`.
    fn follow(
        &self,
        step: &Taken<'_>,
        row: &Row<'_>,
        next: Vec<u32>,
        out: &mut Vec<Vec<u32>>,
    ) -> Option<Self::Goal>;

    /// Whether fences of thread `t` mean something here; else it passes them unseen.
    fn minds_fences(&self, row: &Row<'_>, t: usize) -> bool;

    /// Whether it is all the same to the watch if thread `t`, which may do no other accesses than
    /// `next`, moves before all others. What the tables lack is asked for: the answer must not depend on
    /// what was met before, or else the number of states would.
    fn may_go_first(
        &self,
        threads: &Threads<'_>,
        row: &Row<'_>,
        t: usize,
        next: Access,
    ) -> Result<bool, Missing>;

    /// Whether nothing will be found from here on, by what each thread may do in future.
    fn is_hopeless(&self, row: &Row<'_>, future: &dyn Fn(usize) -> Access) -> bool;

    /// Whether a row was made to say that something was found, and leads nowhere.
    fn is_find(&self, _: &Row<'_>) -> bool {
        false
    }

    /// Whether there may be such rows at all.
    fn makes_finds(&self) -> bool {
        false
    }
}

/// An act that was taken.
pub(crate) struct Taken<'a> {
    pub(crate) threads: &'a Threads<'a>,
    pub(crate) t: usize,
    pub(crate) act: Act,
    /// The number of the value that was at the location of the act.
    pub(crate) seen: u32,
    /// The local state before.
    pub(crate) local: u32,
}

/// The product of a program's threads and a watch.
pub(crate) struct Product<'p, W> {
    program: &'p Program,
    pub(crate) watch: W,
    pub(crate) frame: Frame,
    symmetry: Symmetry,
    /// Per thread and point what the thread may access from there on.
    future: Vec<Vec<Access>>,
    /// Per thread and point whether the thread may come back to it.
    in_loop: Vec<Vec<bool>>,
}

/// Successors on their way into the store, each in its normal form.
struct Normalised<'a, 'p, W> {
    product: &'a Product<'p, W>,
    threads: &'a Threads<'p>,
    out: &'a mut Successors,
}

impl<W: Watch> Sink for Normalised<'_, '_, W> {
    fn push(&mut self, row: &[u32], asleep: u32, _: &dyn Fn() -> Vec<Step>) -> Result<(), Missing> {
        match self.product.normal(self.threads, row, asleep)? {
            Some(normal) => self.out.push(&normal.row, normal.asleep),
            None => self.out.push(row, asleep),
        }
        Ok(())
    }
}

/// A run that was looked for.
pub(crate) struct Hit<G> {
    pub(crate) run: Schedule,
    /// `None` if the last of the rows is what was looked for.
    pub(crate) goal: Option<G>,
    /// The rows of the run in their normal form, each with the number of steps before it.
    pub(crate) rows: Vec<(Vec<u32>, usize)>,
    /// Which thread of the program is in which place in the end.
    pub(crate) who: Vec<usize>,
}

impl<'p, W: Watch> Product<'p, W> {
    /// The product for `program`, whose threads are `threads`.
    pub(crate) fn new(program: &'p Program, threads: &Threads<'p>, watch: W) -> Product<'p, W> {
        let n = program.threads.len();
        Product {
            program,
            watch,
            frame: Frame::new(n, &W::FIELDS),
            symmetry: Symmetry::of(program),
            future: (0..n).map(|t| future(program, threads, t)).collect(),
            in_loop: program.threads.iter().map(in_loop).collect(),
        }
    }

    /// The same, where it matters which of several copies of a thread does something.
    pub(crate) fn without_symmetry(self) -> Product<'p, W> {
        Product { symmetry: Symmetry::default(), ..self }
    }

    /// The same, where it matters what the locations at these addresses hold in the end: threads
    /// that have some of them for their own, or whose numbers may be in them, keep their places.
    pub(crate) fn with_symmetry_that_keeps(mut self, addrs: &[Value]) -> Product<'p, W> {
        self.symmetry.classes.retain(|class| {
            let is_plain = |&a: &Value| class.ids.is_empty() || !class.holds_number(a);
            addrs.iter().all(is_plain) && class.addrs.iter().flatten().all(|a| !addrs.contains(a))
        });
        self
    }

    /// The initial rows; `Err` if a limit was reached before the last of them.
    pub(crate) fn initial(
        &self,
        threads: &mut Threads<'p>,
        meter: &mut Meter<'_>,
    ) -> Result<Result<Successors, Limit>, Failure> {
        let Frame { n, .. } = self.frame;
        let (between, each) = (self.frame.value(0) - n, self.frame.value(1) - self.frame.value(0));
        initial_rows(self.program, threads, between, each, meter, &mut |threads, row| {
            let normal = retry(threads, &mut |threads| self.normal(threads, &row, 0))?;
            Ok(normal.map_or(row, |n| n.row))
        })
    }

    /// The row that stands for `row` and all that are like it but for the places of threads, if
    /// it is another one.
    fn normal(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        asleep: u32,
    ) -> Result<Option<Normal>, Missing> {
        self.symmetry.normal(threads, self.frame, &W::FIELDS, row, asleep)
    }

    /// All moves, or those that suffice if sleep sets are given.
    fn moves(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        sleep: Option<Sleep>,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<W::Goal>> {
        let n = self.frame.n;
        let view = Row { frame: self.frame, row };
        if let Some(goal) = self.watch.is_goal(threads, &view) {
            return Err(Stopped::Goal(Vec::new(), goal));
        }
        if self.watch.is_find(&view) {
            return Ok(());
        }
        let owner = row[self.frame.owner()];
        if owner != 0 {
            return self.move_thread(threads, row, owner as usize - 1, &|_| 0, sink);
        }
        let Some(sleep) = sleep else {
            return (0..n).try_for_each(|t| self.move_thread(threads, row, t, &|_| 0, sink));
        };
        let future = |t: usize| self.future[t][threads.point(t, row[t]).index()];
        if self.watch.is_hopeless(&view, &future) {
            return Ok(());
        }
        let may_go_alone = |t: usize, next: Access| {
            let may = next != Access::default()
                && next != Access::ALL
                && !self.in_loop[t][threads.point(t, row[t]).index()]
                && (0..n).all(|u| u == t || !future(u).conflicts(next));
            if may { self.watch.may_go_first(threads, &view, t, next) } else { Ok(false) }
        };
        let access = |_, act: &Act| Access::of(act);
        if n > MOST_ASLEEP {
            for t in 0..n {
                if may_go_alone(t, next_access(threads, row, t, access)?)? {
                    return self.move_thread(threads, row, t, &|_| 0, sink);
                }
            }
            return (0..n).try_for_each(|t| self.move_thread(threads, row, t, &|_| 0, sink));
        }
        let next = next_accesses(threads, row, n, access)?;
        let mut alone = None;
        for (t, &next) in next[..n].iter().enumerate() {
            if may_go_alone(t, next)? {
                alone = Some(t);
                break;
            }
        }
        not_asleep(sleep, &next[..n], alone, access, |t, asleep| {
            self.move_thread(threads, row, t, asleep, sink)
        })
    }

    /// All moves of thread `t`.
    fn move_thread(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        t: usize,
        asleep: &dyn Fn(&Act) -> u32,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<W::Goal>> {
        let view = Row { frame: self.frame, row };
        let local = row[t];
        let owner = row[self.frame.owner()];
        let mut nexts = Vec::new();
        for (i, &act) in threads.acts(t, local)?.iter().enumerate() {
            if act.kind.has_to_wait(owner) {
                continue;
            }
            let thread = ThreadId::new(t);
            let first = Step::Execute { thread, edge: act.edge, choice: act.choice };
            let seen = row[self.frame.value(act.loc).min(row.len() - 1)];
            let (stored, targets) = threads.after(t, local, i, act, seen)?;
            let mut next = row.to_vec();
            match act.kind {
                ActKind::Lock => next[self.frame.owner()] = t as u32 + 1,
                ActKind::Unlock => next[self.frame.owner()] = 0,
                ActKind::Write | ActKind::Update => next[self.frame.value(act.loc)] = stored,
                _ => {}
            }
            nexts.clear();
            let step = Taken { threads, t, act, seen, local };
            if let Some(goal) = self.watch.follow(&step, &view, next, &mut nexts) {
                return Err(Stopped::Goal(vec![first], goal));
            }
            let asleep = asleep(&act);
            for next in &mut nexts {
                // What was found is found with the act; what would follow may not, once it is
                // seen under the model.
                if self.watch.is_find(&Row { frame: self.frame, row: next }) {
                    sink.push(next, 0, &|| vec![first])?;
                    continue;
                }
                let minds = self.watch.minds_fences(&Row { frame: self.frame, row: next }, t);
                for &target in targets {
                    next[t] = if minds { target } else { past_fences(threads, t, target)? };
                    let target = next[t];
                    let steps = || steps_of(threads, t, (local, act, seen), target, !minds);
                    if owner == 0 && next[self.frame.owner()] != 0 {
                        let owner = self.frame.owner();
                        let goal = |row: &[u32]| {
                            self.watch.is_goal(threads, &Row { frame: self.frame, row })
                        };
                        run_block(next, owner, &steps, sink, goal, |row, inner| {
                            self.move_thread(threads, row, t, &|_| 0, inner)
                        })?;
                    } else {
                        sink.push(next, asleep, &steps)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Where the threads of `row` are in `normal`, if that is its normal form with some threads asleep,
    /// out of `ties`.
    fn places(
        &self,
        threads: &mut Threads<'p>,
        row: &Vec<u32>,
        normal: &Vec<u32>,
        ties: u32,
    ) -> Option<Vec<usize>> {
        let mut asleep = 0;
        loop {
            let found = retry(threads, &mut |threads| self.normal(threads, row, asleep)).ok()?;
            if found.as_ref().map_or(row, |n| &n.row) == normal {
                return Some(found.map_or_else(|| (0..self.frame.n).collect(), |n| n.places));
            }
            // The next part of them.
            asleep = asleep.wrapping_sub(ties) & ties;
            if asleep == 0 {
                return None;
            }
        }
    }

    /// All normal forms of a row: which one a search has depends on who is asleep, if threads look alike.
    fn normal_forms(&self, threads: &mut Threads<'p>, row: Vec<u32>, out: &mut Vec<Vec<u32>>) {
        let ask = |threads: &Threads<'p>| self.symmetry.ties(threads, self.frame, &W::FIELDS, &row);
        let ties = retry(threads, &mut { ask }).unwrap_or(0);
        let (first, mut asleep) = (out.len(), 0);
        loop {
            let normal = retry(threads, &mut |threads| self.normal(threads, &row, asleep));
            if let Ok(normal) = normal {
                let form = normal.map_or_else(|| row.clone(), |normal| normal.row);
                if !out[first..].contains(&form) {
                    out.push(form);
                }
            }
            asleep = asleep.wrapping_sub(ties) & ties;
            if asleep == 0 {
                return;
            }
        }
    }

    /// Which of some rows has the normal form `normal`, and where its threads are there.
    fn find(
        &self,
        threads: &mut Threads<'p>,
        rows: &[(Vec<u32>, Vec<Step>)],
        normal: &Vec<u32>,
    ) -> Option<(usize, Vec<usize>)> {
        let awake = rows.iter().enumerate();
        let found = awake.map(|(i, (row, _))| Some((i, self.places(threads, row, normal, 0)?)));
        if let Some(found) = found.flatten().next() {
            return Some(found);
        }
        // Threads that look alike but differ in what they know of others: the search had them in an order that
        // depends on who was asleep.
        rows.iter().enumerate().find_map(|(i, (row, _))| {
            let ask =
                |threads: &Threads<'p>| self.symmetry.ties(threads, self.frame, &W::FIELDS, row);
            let ties = retry(threads, &mut { ask }).ok()?;
            Some((i, self.places(threads, row, normal, ties)?))
        })
    }

    /// The steps of a run, with choices only where something is chosen.
    fn with_choices(&self, mut steps: Vec<Step>) -> Vec<Step> {
        let mut points: Vec<PointId> = self.program.threads.iter().map(|t| t.entry).collect();
        for step in &mut steps {
            let Step::Execute { thread, edge, choice } = step else { continue };
            let point = &mut points[thread.index()];
            let edge = self.program.edge(*thread, *point, *edge as usize);
            if !matches!(edge.instr, Instr::Choose { .. }) {
                *choice = 0;
            }
            *point = edge.to;
        }
        steps
    }

    /// The run through `rows`, which are in their normal form, to what was looked for.
    pub(crate) fn run(&self, threads: &mut Threads<'p>, rows: &[Vec<u32>]) -> Option<Hit<W::Goal>> {
        // The normal form of an initial row is an initial row itself.
        let mut at = full(self, threads, rows.first()?);
        let value = |l| threads.locs.value(l, at[self.frame.value(l)]);
        let init = (0..self.program.locs.len() as u32).map(value).collect();
        let mut steps = Vec::new();
        for (t, &local) in at[..self.frame.n].iter().enumerate() {
            let start = threads.start(t)?;
            steps.extend(threads.silent_path(t, start, local, true));
        }
        let mut passed = vec![(at.clone(), steps.len())];
        // Which thread of the run is in which place of the rows, and the other way round.
        let mut who: Vec<usize> = (0..self.frame.n).collect();
        let mut rest = rows[1..].iter();
        loop {
            let real = |step: &Step| match *step {
                Step::Execute { thread, edge, choice } => Step::Execute {
                    thread: ThreadId::new(who[thread.index()]),
                    edge,
                    choice: self.symmetry.value(&who, choice),
                },
                commit => commit,
            };
            let mut found = WithSteps::new();
            // Without reductions new locations may be met.
            at = full(self, threads, &at);
            if rest.len() == 0 && self.keeps(&at) {
                let run = Schedule { init, steps: self.with_choices(steps) };
                return Some(Hit { run, goal: None, rows: passed, who });
            }
            match self.moves(threads, &at, None, &mut found) {
                // For the same reason a goal may show up earlier than in the search.
                Err(Stopped::Goal(more, goal)) => {
                    steps.extend(more.iter().map(real));
                    let run = Schedule { init, steps: self.with_choices(steps) };
                    return Some(Hit { run, goal: Some(goal), rows: passed, who });
                }
                Err(Stopped::Missing(missing)) => threads.resolve(missing).ok()?,
                Ok(()) => {
                    let row = full(self, threads, rest.next()?);
                    let (i, places) = self.find(threads, &found, &row)?;
                    steps.extend(found[i].1.iter().map(real));
                    let before = who.clone();
                    for (from, to) in places.into_iter().enumerate() {
                        who[to] = before[from];
                    }
                    passed.push((row.clone(), steps.len()));
                    at = row;
                }
            }
        }
    }
}

impl<'p, W: Watch> Retraced for Product<'p, W> {
    fn next_rows(&self, threads: &mut Threads<'p>, row: &[u32]) -> Next {
        let found = loop {
            let row = full(self, threads, row);
            let mut found = WithSteps::new();
            match self.moves(threads, &row, None, &mut found) {
                Ok(()) => break found,
                Err(Stopped::Goal(..)) => return Next::Goal,
                Err(Stopped::Missing(missing)) => {
                    if threads.resolve(missing).is_err() {
                        return Next::Rows(Vec::new());
                    }
                }
            }
        };
        let mut rows = Vec::new();
        for (row, _) in found {
            self.normal_forms(threads, row, &mut rows);
        }
        Next::Rows(rows)
    }
}

impl<W: Watch> Framed for Product<'_, W> {
    fn frame(&self) -> (Frame, Fields) {
        (self.frame, W::FIELDS)
    }
}

impl<'p, W: Watch> System for Product<'p, W> {
    type Tables = Threads<'p>;
    type Missing = Missing;

    fn width(&self, threads: &Threads<'p>) -> usize {
        self.frame.value(threads.locs.len() as u32)
    }

    fn expand(
        &self,
        threads: &Threads<'p>,
        row: &[u32],
        sleep: Sleep,
        out: &mut Successors,
    ) -> Expanded<Missing> {
        let mut sink = Normalised { product: self, threads, out };
        self.moves(threads, row, Some(sleep), &mut sink).into()
    }

    fn resolve(&self, threads: &mut Threads<'p>, missing: Missing) -> Result<(), Failure> {
        threads.resolve(missing)
    }

    fn bytes(&self, threads: &Threads<'p>) -> usize {
        threads.bytes()
    }

    fn keeps(&self, row: &[u32]) -> bool {
        self.watch.is_find(&Row { frame: self.frame, row })
    }

    fn keeps_some(&self) -> bool {
        self.watch.makes_finds()
    }
}
