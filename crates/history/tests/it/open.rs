//! Open pairs of writes against the definitions of the partial store orders, and of the orders
//! against each other.

use weakspot_core::testing::{OpsSize, OpsSource, Rng, random_ops, scaled};
use weakspot_core::{History, HistoryModel, INITIAL, Limits, OpKind, Silent};
use weakspot_history::{Pairs, open_pairs};

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };

fn open(ops: &History, model: HistoryModel) -> Option<Pairs> {
    open_pairs(ops, model, &NO_LIMITS, &mut Silent).expect("no limits")
}

type Matrix = Vec<Vec<bool>>;

fn close(m: &mut Matrix) {
    for k in 0..m.len() {
        for i in 0..m.len() {
            for j in 0..m.len() {
                m[i][j] |= m[i][k] && m[k][j];
            }
        }
    }
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> + Clone {
    (0..n).flat_map(move |a| (0..n).map(move |b| (a, b)))
}

fn is_ww(ops: &History, a: usize, b: usize) -> bool {
    let (a, b) = (a as u32, b as u32);
    a != b && ops.writes(a) && ops.writes(b) && ops.var(a) == ops.var(b)
}

/// Adds `a` to `w` wherever `a` comes before a read of `w` and both write to the variable.
fn conflicts(ops: &History, order: &Matrix, reads: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (a, r) in pairs(ops.len()) {
        if order[a][r]
            && reads(r)
            && ops.reads(r as u32)
            && let Some(w) = ops.from(r as u32)
            && is_ww(ops, a, w as usize)
        {
            found.push((a, w as usize));
        }
    }
    found
}

fn co(ops: &History) -> Matrix {
    let mut co = vec![vec![false; ops.len()]; ops.len()];
    for (a, b) in pairs(ops.len()) {
        let same = ops.thread_of(a as u32) == ops.thread_of(b as u32);
        let reads = ops.reads(b as u32) && ops.from(b as u32) == Some(a as u32);
        co[a][b] = same && a < b || reads;
    }
    close(&mut co);
    co
}

/// The open pairs of (order on writes to one variable, and cf\[order\])⁺.
fn definition(ops: &History, order: &Matrix, with_conflicts: bool) -> Pairs {
    let n = ops.len();
    let mut ww = vec![vec![false; n]; n];
    for (a, b) in pairs(n) {
        ww[a][b] = order[a][b] && is_ww(ops, a, b);
    }
    for (a, b) in conflicts(ops, order, |_| with_conflicts) {
        ww[a][b] = true;
    }
    close(&mut ww);
    let all = pairs(n).filter(|&(a, b)| a < b && is_ww(ops, a, b));
    let open = all.clone().filter(|&(a, b)| !ww[a][b] && !ww[b][a]).count() as u64;
    Pairs { all: all.count() as u64, open }
}

/// hb: what the reads of some thread demand, all threads together.
fn hb(ops: &History) -> Matrix {
    let co = co(ops);
    let mut all = co.clone();
    for thread in 0..ops.threads() {
        let Some(last) = ops.of_thread(thread).last().map(|op| op as usize) else { continue };
        let mut own = co.clone();
        for (a, b) in pairs(ops.len()) {
            own[a][b] &= co[a][last] && (b == last || co[b][last]);
        }
        let mine = |r: usize| ops.thread_of(r as u32) == thread;
        loop {
            close(&mut own);
            let found = conflicts(ops, &own, mine);
            if found.iter().all(|&(a, b)| own[a][b]) {
                break;
            }
            found.into_iter().for_each(|(a, b)| own[a][b] = true);
        }
        pairs(ops.len()).for_each(|(a, b)| all[a][b] |= own[a][b]);
    }
    close(&mut all);
    all
}

#[test]
fn pairs_are_counted_as_defined() {
    let size = OpsSize { threads: 4, vars: 2, ops: 24, fences: 12, updates: 6 };
    for seed in 0..scaled(6000) as u64 {
        let ops = random_ops(&mut Rng::new(seed), size, OpsSource::Sc);
        let (co, hb) = (co(&ops), hb(&ops));
        let (of_co, of_cf) = (definition(&ops, &co, false), definition(&ops, &co, true));
        assert_eq!(open(&ops, HistoryModel::Cc), Some(of_co), "seed {seed}");
        assert_eq!(open(&ops, HistoryModel::Cm), Some(of_co), "seed {seed}");
        assert_eq!(open(&ops, HistoryModel::Ccv), Some(of_cf), "seed {seed}");
        let of_hb = definition(&ops, &hb, true);
        assert_eq!(open(&ops, HistoryModel::Ccm), Some(of_hb), "seed {seed}");
    }
}

/// Stronger models settle more; what holds in every witness of TSO holds in every one of SC.
#[test]
fn saturation_leaves_the_fewest_open() {
    use HistoryModel::{Cc, Ccm, Ccv, Pso, Sc, Tso, Wccm};
    let size = OpsSize { threads: 4, vars: 4, ops: 120, fences: 20, updates: 10 };
    let mut less = 0;
    for seed in 0..scaled(1200) as u64 {
        let ops = random_ops(&mut Rng::new(seed), size, OpsSource::Sc);
        let open = |model| open(&ops, model).expect("no violation");
        for (weak, strong) in [(Cc, Ccv), (Ccv, Ccm), (Ccm, Sc), (Wccm, Tso), (Pso, Tso), (Tso, Sc)]
        {
            let (weak, strong) = (open(weak), open(strong));
            assert_eq!(weak.all, strong.all, "seed {seed}");
            assert!(weak.open >= strong.open, "seed {seed}");
            less += usize::from(weak.open > strong.open);
        }
    }
    assert!(less > scaled(4000), "{less}");
}

#[test]
fn violations_have_no_order() {
    let mut ops = History::new();
    ops.thread();
    ops.push(OpKind::Write, 0, INITIAL);
    ops.push(OpKind::Write, 0, INITIAL);
    ops.push(OpKind::Read, 0, 0);
    for model in [HistoryModel::Ccm, HistoryModel::Wccm, HistoryModel::Sc, HistoryModel::Tso] {
        assert_eq!(open(&ops, model), None, "{model:?}");
    }
}
