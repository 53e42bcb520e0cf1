//! What the search starts from: demands that are met exactly by the states that are asked for.
//!
//! **States with pending stores.** A thread of the dual semantics takes a store when the machine
//! would commit it, so it never has pending stores; it only lags behind. Where nobody holds the
//! lock, this is no loss: pending stores can be committed and no control point changes. While
//! thread p holds the lock, other threads can stand still with stores that p does not see. So for
//! p at a forbidden point inside of a block, the others may first take a *tail* of steps back that
//! has stores which never reach memory and loads of what was there before the block.

use weakspot_core::{BinOp, Condition, Expr, Limit, Observable, PointId, UnOp, Value};

use super::demand::{Demand, Source, Wants, takes_weaker_wants};
use super::facts::ANY;
use super::graph::{Graphs, Item, Label, What};
use super::search::{Goal, GoalKind, Search, Tail};

/// A thread at the begin of a tail.
struct Lagging {
    local: u32,
    wants: Wants,
    tail: Tail,
}

impl Lagging {
    fn not(thread: usize, local: u32) -> Lagging {
        let tail = Tail { thread, arcs: Vec::new(), end: local };
        Lagging { local, wants: Wants::default(), tail }
    }
}

/// Adds forbidden control points and steps that fail.
pub(crate) fn add_safety(search: &mut Search<'_, '_, '_>) -> Result<(), Limit> {
    let graphs = search.graphs;
    for points in &graphs.program.forbidden {
        add_points(search, points)?;
        for m in 0..graphs.moments.len() {
            let moment = &graphs.moments[m];
            if let What::Inside(p) = moment.what
                && points[moment.thread] == Some(p)
            {
                add_inside(search, points, m as u32)?;
            }
        }
    }
    for (m, moment) in graphs.moments.iter().enumerate() {
        if let Some(failure) = graphs.failure(moment) {
            let mut demand = anything(graphs);
            demand.locals[moment.thread] = moment.from;
            demand.pins = moment.reads.clone();
            let (moment, tails) = (Some(m as u32), Vec::new());
            search.goal(demand, Goal { kind: GoalKind::Fails(failure), moment, tails })?;
        }
    }
    Ok(())
}

fn anything(graphs: &Graphs<'_>) -> Demand {
    let n = graphs.threads.len();
    Demand { locals: vec![ANY; n], pins: Vec::new(), wants: vec![Wants::default(); n] }
}

/// The local states of thread `t` at `point`.
fn locals_at(graphs: &Graphs<'_>, t: usize, point: Option<PointId>) -> Vec<u32> {
    match point {
        None => vec![ANY],
        Some(p) => (0..graphs.count(t) as u32).filter(|&q| graphs.point(t, q) == p).collect(),
    }
}

/// The threads at these points, all of them outside of atomic blocks.
fn add_points(search: &mut Search<'_, '_, '_>, points: &[Option<PointId>]) -> Result<(), Limit> {
    let graphs = search.graphs;
    let choices: Vec<Vec<u32>> =
        points.iter().enumerate().map(|(t, &p)| locals_at(graphs, t, p)).collect();
    let lengths: Vec<usize> = choices.iter().map(Vec::len).collect();
    for_each_choice(&lengths, &mut |choice| {
        let mut demand = anything(graphs);
        for (local, (c, &i)) in demand.locals.iter_mut().zip(choices.iter().zip(choice)) {
            *local = c[i];
        }
        search.goal(demand, Goal { kind: GoalKind::ControlPoints, moment: None, tails: Vec::new() })
    })
}

/// The threads at these points, the one of moment `m` inside of an atomic block.
fn add_inside(
    search: &mut Search<'_, '_, '_>,
    points: &[Option<PointId>],
    m: u32,
) -> Result<(), Limit> {
    let graphs = search.graphs;
    let moment = &graphs.moments[m as usize];
    let mut lagging = Vec::new();
    for (t, &point) in points.iter().enumerate() {
        lagging.push(match point {
            _ if t == moment.thread => vec![Lagging::not(t, moment.from)],
            None => vec![Lagging::not(t, ANY)],
            Some(p) => tails(search, t, p)?,
        });
    }
    let lengths: Vec<usize> = lagging.iter().map(Vec::len).collect();
    for_each_choice(&lengths, &mut |choice| {
        let mut demand = anything(graphs);
        let mut tails = Vec::new();
        for (t, (list, &i)) in lagging.iter().zip(choice).enumerate() {
            let Lagging { local, wants, tail } = &list[i];
            demand.locals[t] = *local;
            demand.wants[t] = wants.clone();
            if !tail.arcs.is_empty() {
                tails.push(tail.clone());
            }
        }
        demand.pins = moment.reads.clone();
        demand.settle();
        search.goal(demand, Goal { kind: GoalKind::ControlPoints, moment: Some(m), tails })
    })
}

/// The ways in which thread `t` can be at `point` with stores that have not reached memory: where
/// it is in the dual semantics, and what it has to see from there on. Only those without a tail,
/// or whose tail begins with a store: the others are found from these.
fn tails(search: &mut Search<'_, '_, '_>, t: usize, point: PointId) -> Result<Vec<Lagging>, Limit> {
    let graphs = search.graphs;
    let mut all: Vec<Lagging> =
        locals_at(graphs, t, Some(point)).into_iter().map(|q| Lagging::not(t, q)).collect();
    let mut next = 0;
    while next < all.len() {
        let (local, wants, tail) =
            (all[next].local, all[next].wants.clone(), all[next].tail.clone());
        next += 1;
        for &a in &search.facts.ways(graphs, t, local).arcs {
            search.work()?;
            let arc = graphs.arcs[a as usize];
            let mut before: Vec<(Wants, Source)> = Vec::new();
            match arc.label {
                Label::Load(item) => {
                    let pending = search.facts.can_be_pending(t, arc.from, item);
                    let found = |wants, source| before.push((wants, source));
                    wants.before_load(graphs, item, pending, found);
                }
                Label::Store(item) if wants.allows_store(graphs, item) => {
                    let mut wants = wants.clone();
                    wants.fulfil(item);
                    before.push((wants, Source::Memory));
                }
                Label::Silent | Label::Store(_) | Label::Atomic(_) => {}
            }
            for (wants, source) in before {
                if all.iter().any(|l| l.local == arc.from && is_weaker(&l.wants, &wants)) {
                    continue;
                }
                let mut longer = tail.clone();
                longer.arcs.insert(0, (a, source));
                all.push(Lagging { local: arc.from, wants, tail: longer });
            }
        }
    }
    let begins_with_a_store = |tail: &Tail| {
        tail.arcs
            .first()
            .is_none_or(|&(a, _)| matches!(graphs.arcs[a as usize].label, Label::Store(_)))
    };
    all.retain(|l| begins_with_a_store(&l.tail));
    Ok(all)
}

fn is_weaker(a: &Wants, b: &Wants) -> bool {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    a.pack(&mut left);
    b.pack(&mut right);
    takes_weaker_wants(&mut &left[..], &mut &right[..])
}

/// Calls `each` with every choice of one index below each length.
fn for_each_choice(
    lengths: &[usize],
    each: &mut dyn FnMut(&[usize]) -> Result<(), Limit>,
) -> Result<(), Limit> {
    if lengths.contains(&0) {
        return Ok(());
    }
    let mut choice = vec![0; lengths.len()];
    loop {
        each(&choice)?;
        let Some(turn) = (0..choice.len()).find(|&i| choice[i] + 1 < lengths[i]) else {
            return Ok(());
        };
        choice[turn] += 1;
        choice[..turn].fill(0);
    }
}

/// Adds the final states in which the proposition of `condition` has the value `wanted`.
pub(crate) fn add_final(
    search: &mut Search<'_, '_, '_>,
    condition: &Condition,
    wanted: bool,
) -> Result<(), Limit> {
    let program = search.graphs.program;
    let values = vec![None; program.observed.len()];
    let demand = anything(search.graphs);
    choose_end(search, &condition.prop, wanted, 0, (demand, None), values)
}

/// Chooses how each thread from `t` on has ended.
fn choose_end(
    search: &mut Search<'_, '_, '_>,
    prop: &Expr,
    wanted: bool,
    t: usize,
    (demand, moment): (Demand, Option<u32>),
    values: Vec<Option<Value>>,
) -> Result<(), Limit> {
    search.work()?;
    if partly(prop, &values) == Some(!wanted) {
        return Ok(());
    }
    let graphs = search.graphs;
    if t == graphs.threads.len() {
        let locs = (0..graphs.program.locs.len() as u32).collect::<Vec<_>>();
        return choose_memory(search, prop, wanted, &locs, (demand, moment), values);
    }
    let with = |regs: &[Value]| {
        let mut values = values.clone();
        for (value, observed) in values.iter_mut().zip(&graphs.program.observed) {
            if let Observable::Reg(thread, reg) = observed.what
                && thread.index() == t
            {
                *value = Some(observed.view.apply(regs[reg.index()]));
            }
        }
        values
    };
    for q in 0..graphs.count(t) as u32 {
        if graphs.code(t).points[graphs.point(t, q).index()].edges.is_empty() {
            let mut demand = demand.clone();
            demand.locals[t] = q;
            let values = with(graphs.regs(t, q));
            choose_end(search, prop, wanted, t + 1, (demand, moment), values)?;
        }
    }
    if moment.is_none() {
        for (m, moment) in graphs.moments.iter().enumerate().filter(|(_, m)| m.thread == t) {
            if let What::Ended(regs) = &moment.what {
                let mut demand = demand.clone();
                demand.locals[t] = moment.from;
                let moment = Some(m as u32);
                choose_end(search, prop, wanted, t + 1, (demand, moment), with(regs))?;
            }
        }
    }
    Ok(())
}

/// Chooses what the locations hold in the end, until the proposition is decided.
fn choose_memory(
    search: &mut Search<'_, '_, '_>,
    prop: &Expr,
    wanted: bool,
    locs: &[u32],
    (demand, moment): (Demand, Option<u32>),
    values: Vec<Option<Value>>,
) -> Result<(), Limit> {
    search.work()?;
    let graphs = search.graphs;
    match (partly(prop, &values), locs.split_first()) {
        (Some(value), _) if value != wanted => Ok(()),
        (Some(_), _) | (None, None) => {
            let goal = Goal { kind: GoalKind::Final, moment, tails: Vec::new() };
            match before_moment(graphs, demand, moment) {
                Some(demand) => search.goal(demand, goal),
                None => Ok(()),
            }
        }
        (None, Some((&loc, rest))) => {
            let observed = &graphs.program.observed;
            let is_loc = |what| matches!(what, Observable::Loc(l) if l.0 == loc);
            if !observed.iter().any(|o| is_loc(o.what)) {
                return choose_memory(search, prop, wanted, rest, (demand, moment), values);
            }
            for item in (0..graphs.items.len() as Item).filter(|&i| graphs.loc(i) == loc) {
                let mut values = values.clone();
                for (value, o) in values.iter_mut().zip(observed) {
                    if is_loc(o.what) {
                        *value = Some(o.view.apply(graphs.value(item)));
                    }
                }
                let mut demand = demand.clone();
                demand.pin(graphs, item);
                choose_memory(search, prop, wanted, rest, (demand, moment), values)?;
            }
            Ok(())
        }
    }
}

/// From what memory has to hold after a moment to what it has to hold before.
fn before_moment(graphs: &Graphs<'_>, mut demand: Demand, moment: Option<u32>) -> Option<Demand> {
    if let Some(m) = moment {
        let moment = &graphs.moments[m as usize];
        for &item in &moment.writes {
            if !demand.pin(graphs, item) {
                return None;
            }
        }
        demand.pins.retain(|p| !moment.writes.contains(p));
        for &item in &moment.reads {
            if !demand.pin(graphs, item) {
                return None;
            }
        }
    }
    Some(demand)
}

/// The truth of a proposition as [`Expr::holds`] has it, if the known values decide it.
fn partly(prop: &Expr, values: &[Option<Value>]) -> Option<bool> {
    match prop {
        Expr::Unary(UnOp::Not, e) => partly(e, values).map(|b| !b),
        Expr::Binary(BinOp::And, l, r) => match (partly(l, values), partly(r, values)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Expr::Binary(BinOp::Or, l, r) => match (partly(l, values), partly(r, values)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        e => {
            let mut known = true;
            e.for_each_reg(&mut |r| known &= values[r.index()].is_some());
            let all: Vec<Value> = values.iter().map(|v| v.unwrap_or(0)).collect();
            known.then(|| e.holds(&all))
        }
    }
}
