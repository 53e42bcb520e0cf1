//! Against the definition: the monitor by the paper, on what happens before each access.

use weakspot_core::testing::scaled;
use weakspot_core::{Drain, LogEvent, LogLoc, LogTables, Model};
use weakspot_monitor::Form;
use weakspot_monitor::reference::reports;

use super::*;
use crate::step::Order;
use crate::watch::compiled::compiled;
use crate::watch::overlap::{Overtaken, overtaken};
use crate::{Op, OpKind, Watch};

/// A random number below `n`.
fn below(state: &mut u64, n: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) % n
}

/// Random steps. With `mixed`, accesses have several sizes and overlap.
fn random_steps(seed: u64, threads: u16, len: usize, mixed: bool) -> Vec<Step> {
    random_steps_with(seed, threads, len, (mixed, 0))
}

/// The same, and how many of 20 are additions.
fn random_steps_with(
    seed: u64,
    threads: u16,
    len: usize,
    (mixed, additions): (bool, u64),
) -> Vec<Step> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut steps = Vec::new();
    let fences = below(&mut state, 3);
    for at in 0..len {
        let kind = match below(&mut state, 20 + 2 * fences) {
            n if n < additions => OpKind::Add,
            0..9 => OpKind::Read,
            9..16 => OpKind::Write,
            16 => OpKind::Update,
            17 => OpKind::Compare,
            18 => OpKind::Acquire,
            19 => OpKind::Release,
            20..22 => OpKind::StoreFence,
            _ => OpKind::Fence,
        };
        let order = match below(&mut state, 8) {
            0 => Order::Release,
            1 => Order::SeqCst,
            2 => Order::AcqRel,
            _ => Order::Relaxed,
        };
        let thread = below(&mut state, threads.into()) as u16;
        let (addr, len) = if mixed {
            (0x100 + below(&mut state, 6), 1 + below(&mut state, 4) as u32)
        } else {
            (0x100 + 8 * below(&mut state, 3), 8)
        };
        let touches = Op { kind, len, addr }.touches();
        let op = if touches { Op { kind, len, addr } } else { Op::plain(kind) };
        steps.push(Step { thread, op, order, at: at as u64 + 1 });
    }
    steps
}

/// Which of some steps happen before the last, itself included.
fn before_last(steps: &[Step], orders: bool) -> Vec<usize> {
    before_but(steps, orders, |_| false)
}

/// The same, if what some steps access does not bring them before the last one.
fn before_but(steps: &[Step], orders: bool, late: impl Fn(usize) -> bool) -> Vec<usize> {
    let op = |step: &Step| match step.op.kind {
        OpKind::Compare if !orders => Op { kind: OpKind::Update, ..step.op },
        _ => step.op,
    };
    let mut kept = vec![steps.len() - 1];
    for at in (0..steps.len() - 1).rev() {
        let step = &steps[at];
        let last = steps.len() - 1;
        let leads = |&k: &usize| {
            let conflicts = op(step).conflicts(op(&steps[k])) && !(k == last && late(at));
            steps[k].thread == step.thread || conflicts
        };
        if kept.iter().any(leads) {
            kept.push(at);
        }
    }
    kept.reverse();
    kept
}

/// The definition. The monitor takes the order of additions for one that somebody sees: what it reports is none if
/// nothing else brings the store before the access.
fn expected(steps: &[Step], orders: bool, model: Model) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for access in 0..steps.len() {
        let kept = before_last(&steps[..=access], orders);
        let part: Vec<Step> = kept.iter().map(|&at| steps[at]).collect();
        for (store, last) in linear(&part, orders, model) {
            let (store, thread) = (kept[store], part[store].thread);
            let late = |at: usize| at >= store && steps[at].thread == thread;
            if last + 1 == part.len()
                && before_but(&steps[..=access], orders, late).contains(&store)
            {
                pairs.push((store, access));
            }
        }
    }
    pairs
}

/// What the monitor says about one order: steps of the store and of the access.
fn linear(steps: &[Step], orders: bool, model: Model) -> Vec<(usize, usize)> {
    // Sites tell which step an event belongs to.
    let numbered: Vec<Step> =
        steps.iter().enumerate().map(|(i, s)| Step { at: i as u64, ..*s }).collect();
    let compiled = compiled(&numbered, orders);
    let loc = |bytes: &weakspot_core::Bytes| LogLoc { name: String::new(), bytes: Some(*bytes) };
    let tables =
        LogTables { locs: compiled.locs.iter().map(loc).collect(), ..LogTables::default() };
    let step = |event: &LogEvent| compiled.sites[event.site as usize - 1] as usize;
    reports(&compiled.events, &tables, model, Form::All)
        .into_iter()
        .map(|r| (step(&compiled.events[r.store]), step(&compiled.events[r.access])))
        .collect()
}

/// Steps in short.
fn text(steps: &[Step]) -> String {
    let step = |(i, s): (usize, &Step)| {
        let Op { kind, addr, len } = s.op;
        format!("{i}: {} {kind:?} {addr:x}+{len} {:?}\n", s.thread, s.order)
    };
    steps.iter().enumerate().map(step).collect()
}

fn check(seed: u64, steps: &[Step], classes: &mut [Classes; 2]) -> [usize; 2] {
    let adds = steps.iter().any(|step| step.op.kind == OpKind::Add);
    let mut more = [0; 2];
    for (classes, orders) in classes.iter_mut().zip([true, false]) {
        classes.begin();
        steps.iter().for_each(|step| classes.step(step, orders, None, false));
        for tso in [true, false] {
            let model = if tso { Model::Tso } else { Model::Pso(Drain::Own) };
            let pair = |p: &Pair| (p.tso == tso).then_some((p.store, p.access));
            let mut found: Vec<_> = classes.pairs().iter().filter_map(pair).collect();
            found.sort_unstable();
            let mut wanted = expected(steps, orders, model);
            wanted.sort_unstable();
            assert_eq!(found, wanted, "{model} {orders} {seed}\n{}", text(steps));
            let linear = linear(steps, orders, model);
            // The order of additions is none of the class.
            assert!(adds || linear.iter().all(|pair| found.contains(pair)), "{seed}");
            more[usize::from(!tso)] += usize::from(linear.is_empty() && !found.is_empty());
        }
        for pair in classes.pairs() {
            assert_eq!(
                classes.shown(pair, steps),
                before_last(&steps[..=pair.access], orders),
                "{seed}"
            );
        }
    }
    more
}

#[test]
fn it_is_the_monitor_on_what_happens_before() {
    let mut classes = [Classes::new(true, true), Classes::new(true, true)];
    let mut more = [0; 2];
    for seed in 0..3000 {
        let (threads, len) = (2 + (seed % 3) as u16, 4 + (seed % 22) as usize);
        if seed % 5 == 0 {
            // Locations that were never seen before.
            classes = [Classes::new(true, true), Classes::new(true, true)];
        }
        let steps = random_steps(seed, threads, len, seed % 2 == 0);
        let [tso, pso] = check(seed, &steps, &mut classes);
        more[0] += tso;
        more[1] += pso;
    }
    // There are executions whose own order shows nothing.
    assert!(more.iter().all(|&n| n > 0), "{more:?}");
}

/// The same with additions, which may be exchanged.
#[test]
fn additions_do_not_happen_before_each_other() {
    let mut classes = [Classes::new(true, true), Classes::new(true, true)];
    for seed in 0..scaled(6000) as u64 {
        let (threads, len) = (2 + (seed % 3) as u16, 4 + (seed % 22) as usize);
        let steps = random_steps_with(seed, threads, len, (seed % 2 == 0, 3 + seed % 5));
        check(seed, &steps, &mut classes);
    }
}

/// Whether another thread stores, before the access, to what the store that can be overtaken stores to, or one behind
/// it in its buffer.
fn passes_a_store(steps: &[Step], overtaken: &Overtaken) -> bool {
    let between = overtaken.store..overtaken.access;
    let is_store = |at: &usize| steps[*at].op.kind == OpKind::Write;
    let held = |at: &usize| is_store(at) && steps[*at].thread == steps[overtaken.store].thread;
    between.clone().filter(held).any(|held| {
        let others = (held..between.end).filter(is_store);
        others
            .map(|at| &steps[at])
            .any(|step| step.thread != steps[held].thread && step.op.conflicts(steps[held].op))
    })
}

/// Whether there is a report for the same threads in some other order of their steps.
fn in_another_order(steps: &[Step], model: Model, seed: u64) -> bool {
    let mut state = seed | 1;
    (0..10_000).any(|_| {
        let mut left: Vec<Step> = steps.to_vec();
        let mut watch = Watch::new(&[model], &[]);
        watch.begin();
        while !left.is_empty() {
            let thread = left[below(&mut state, left.len() as u64) as usize].thread;
            let next = left.iter().position(|step| step.thread == thread).unwrap_or(0);
            watch.step(left.remove(next));
        }
        watch.end();
        !watch.findings().is_empty()
    })
}

/// Executions whose accesses overlap: what is asked again, and only from where it has to be, finds
/// something whenever looking at every access does. But for a store that is held back past one of another thread to
/// the same bytes: that is reported in the execution in which that one comes first, as by the monitor of the paper.
#[test]
fn nothing_is_missing_where_accesses_overlap() {
    let models = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];
    let (mut missed, mut found, mut elsewhere) = (0, 0, 0);
    for seed in 0..scaled(20_000) as u64 {
        let (threads, len) = (2 + (seed % 3) as u16, 4 + (seed % 14) as usize);
        let additions = if seed % 2 == 0 { 0 } else { 4 };
        let steps = random_steps_with(seed, threads, len, (true, additions));
        let mut watch = Watch::new(&models, &[]);
        watch.begin();
        steps.iter().for_each(|&step| watch.step(step));
        watch.end();
        assert_eq!(watch.mixed(), []);
        for model in models {
            let orders = model != Model::Pso(Drain::Own);
            let all = overtaken(&steps, &[], orders, model == Model::Tso, 0).expect("it is short");
            let reported = watch.findings().iter().any(|finding| finding.model == model);
            let passed = |o: &Overtaken| passes_a_store(&steps, o);
            if !reported && !all.is_empty() && all.iter().all(passed) {
                assert!(in_another_order(&steps, model, seed), "{model} {seed}\n{}", text(&steps));
                elsewhere += 1;
                continue;
            }
            assert_eq!(reported, !all.is_empty(), "{model} {seed}\n{}", text(&steps));
            // What the monitor of the paper reports by itself.
            missed += usize::from(reported && expected(&steps, orders, own(model)).is_empty());
            found += usize::from(reported);
        }
    }
    assert!(found > missed && missed > 0, "{found} {missed}");
    assert!(elsewhere * 1000 < found, "{elsewhere} {found}");
}

/// Orders are fences in the log.
fn own(model: Model) -> Model {
    if model == Model::Tso { model } else { Model::Pso(Drain::Own) }
}
