//! What the search starts from: demands that are met exactly by the states that are asked for.

use weakspot_core::{BinOp, Condition, Expr, Limit, Observable, PointId, UnOp, Value};

use super::facts::ANY;
use super::graph::{Drains, Graphs, Item, What};
use super::search::{Demanded, Goal, GoalKind, Search};

/// Adds the goals with the threads at these points of which the one of a moment is inside of an
/// atomic block.
pub(crate) type Inside<D> =
    fn(&mut Search<'_, '_, '_, D>, &[Option<PointId>], u32) -> Result<(), Limit>;

/// Adds forbidden control points and steps that fail.
pub(crate) fn add_safety<D: Demanded>(
    search: &mut Search<'_, '_, '_, D>,
    inside: Inside<D>,
) -> Result<(), Limit> {
    let graphs = search.graphs;
    for points in &graphs.program.forbidden {
        add_points(search, points)?;
        for m in 0..graphs.moments.len() {
            let moment = &graphs.moments[m];
            if let What::Inside(p) = moment.what
                && points[moment.thread] == Some(p)
            {
                inside(search, points, m as u32)?;
            }
        }
    }
    for (m, moment) in graphs.moments.iter().enumerate() {
        if let Some(failure) = graphs.failure(moment) {
            let mut demand = D::anything(graphs);
            demand.place(moment.thread, moment.from);
            demand.pins().clone_from(&moment.reads);
            demand.drain(search.facts, moment.thread, moment.drains);
            let (moment, tails) = (Some(m as u32), Vec::new());
            search.goal(demand, Goal { kind: GoalKind::Fails(failure), moment, tails })?;
        }
    }
    Ok(())
}

/// The local states of thread `t` at `point`.
pub(crate) fn locals_at(graphs: &Graphs<'_>, t: usize, point: Option<PointId>) -> Vec<u32> {
    match point {
        None => vec![ANY],
        Some(p) => (0..graphs.count(t) as u32).filter(|&q| graphs.point(t, q) == p).collect(),
    }
}

/// The threads at these points, all of them outside of atomic blocks.
fn add_points<D: Demanded>(
    search: &mut Search<'_, '_, '_, D>,
    points: &[Option<PointId>],
) -> Result<(), Limit> {
    let graphs = search.graphs;
    let choices: Vec<Vec<u32>> =
        points.iter().enumerate().map(|(t, &p)| locals_at(graphs, t, p)).collect();
    let lengths: Vec<usize> = choices.iter().map(Vec::len).collect();
    for_each_choice(&lengths, &mut |choice| {
        let mut demand = D::anything(graphs);
        for (t, (c, &i)) in choices.iter().zip(choice).enumerate() {
            demand.place(t, c[i]);
        }
        search.goal(demand, Goal { kind: GoalKind::ControlPoints, moment: None, tails: Vec::new() })
    })
}

/// The threads at these points, the one of moment `m` inside of an atomic block, where demands say
/// what is in store buffers.
pub(crate) fn add_inside<D: Demanded>(
    search: &mut Search<'_, '_, '_, D>,
    points: &[Option<PointId>],
    m: u32,
) -> Result<(), Limit> {
    let graphs = search.graphs;
    let moment = &graphs.moments[m as usize];
    let mut choices: Vec<Vec<u32>> =
        points.iter().enumerate().map(|(t, &p)| locals_at(graphs, t, p)).collect();
    choices[moment.thread] = vec![moment.from];
    let lengths: Vec<usize> = choices.iter().map(Vec::len).collect();
    for_each_choice(&lengths, &mut |choice| {
        let mut demand = D::anything(graphs);
        for (t, (c, &i)) in choices.iter().zip(choice).enumerate() {
            demand.place(t, c[i]);
        }
        demand.pins().clone_from(&moment.reads);
        demand.drain(search.facts, moment.thread, moment.drains);
        let tails = Vec::new();
        search.goal(demand, Goal { kind: GoalKind::ControlPoints, moment: Some(m), tails })
    })
}

/// Calls `each` with every choice of one index below each length.
pub(crate) fn for_each_choice(
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
pub(crate) fn add_final<D: Demanded>(
    search: &mut Search<'_, '_, '_, D>,
    condition: &Condition,
    wanted: bool,
) -> Result<(), Limit> {
    let program = search.graphs.program;
    let values = vec![None; program.observed.len()];
    let demand = D::anything(search.graphs);
    choose_end(search, &condition.prop, wanted, 0, (demand, None), values)
}

/// Chooses how each thread from `t` on has ended.
fn choose_end<D: Demanded>(
    search: &mut Search<'_, '_, '_, D>,
    prop: &Expr,
    wanted: bool,
    t: usize,
    (demand, moment): (D, Option<u32>),
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
            demand.place(t, q);
            demand.drain(search.facts, t, Drains::All);
            let values = with(graphs.regs(t, q));
            choose_end(search, prop, wanted, t + 1, (demand, moment), values)?;
        }
    }
    if moment.is_none() {
        for (m, moment) in graphs.moments.iter().enumerate().filter(|(_, m)| m.thread == t) {
            if let What::Ended(regs) = &moment.what {
                let mut demand = demand.clone();
                demand.place(t, moment.from);
                demand.drain(search.facts, t, Drains::All);
                let moment = Some(m as u32);
                choose_end(search, prop, wanted, t + 1, (demand, moment), with(regs))?;
            }
        }
    }
    Ok(())
}

/// Chooses what the locations hold in the end, until the proposition is decided.
fn choose_memory<D: Demanded>(
    search: &mut Search<'_, '_, '_, D>,
    prop: &Expr,
    wanted: bool,
    locs: &[u32],
    (demand, moment): (D, Option<u32>),
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
fn before_moment<D: Demanded>(
    graphs: &Graphs<'_>,
    mut demand: D,
    moment: Option<u32>,
) -> Option<D> {
    if let Some(m) = moment {
        let moment = &graphs.moments[m as usize];
        for &item in &moment.writes {
            if !demand.pin(graphs, item) {
                return None;
            }
        }
        demand.pins().retain(|p| !moment.writes.contains(p));
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
