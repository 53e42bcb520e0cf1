//! States with pending stores, for TSO.
//!
//! A thread of the dual semantics takes a store when the machine would commit it, so it never has
//! pending stores; it only lags behind. Where nobody holds the lock, this is no loss: pending
//! stores can be committed and no control point changes. While thread p holds the lock, other
//! threads can stand still with stores that p does not see. So for p at a forbidden point inside
//! of a block, the others may first take a *tail* of steps back that has stores which never reach
//! memory and loads of what was there before the block.

use weakspot_core::{Limit, PointId};

use super::demand::{Demand, Wants, takes_weaker_wants};
use super::facts::ANY;
use super::goals::{for_each_choice, locals_at};
use super::graph::Label;
use super::search::{Demanded, Goal, GoalKind, Search, Source, Tail};

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

/// The threads at these points, the one of moment `m` inside of an atomic block.
pub(crate) fn add_inside(
    search: &mut Search<'_, '_, '_, Demand>,
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
        let mut demand = Demand::anything(graphs);
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
fn tails(
    search: &mut Search<'_, '_, '_, Demand>,
    t: usize,
    point: PointId,
) -> Result<Vec<Lagging>, Limit> {
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
                Label::Silent | Label::Store(_) | Label::Barrier | Label::Atomic(_) => {}
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
