//! Names of tests: that of the family, then what orders the accesses of each thread.

use std::cmp::Ordering;

use super::edge::{Com, Dir, Edge, FenceKind};

/// Families by the first and last access of each thread.
const FAMILIES: [(&str, &str); 36] = [
    ("WW+RR", "MP"),
    ("WR+WR", "SB"),
    ("WR+WR+WR", "3.SB"),
    ("WR+WR+WR+WR", "4.SB"),
    ("RW+RW", "LB"),
    ("RW+RW+RW", "3.LB"),
    ("RW+RW+RW+RW", "4.LB"),
    ("WW+WR", "R"),
    ("WW+RW", "S"),
    ("WW+WW", "2+2W"),
    ("WW+WW+WW", "3.2W"),
    ("WW+WW+WW+WW", "4.2W"),
    ("W+RW+RR", "WRC"),
    ("W+RR+WR", "RWC"),
    ("W+RW+WR", "WRW+WR"),
    ("W+RR+WW", "WRR+2W"),
    ("W+RW+RW", "WWC"),
    ("W+RW+WW", "WRW+2W"),
    ("WW+RR+WR", "W+RWC"),
    ("WW+RW+RR", "ISA2"),
    ("W+RR+W+RR", "IRIW"),
    ("W+RR+W+RW", "IRRWIW"),
    ("W+RW+W+RR", "IRRWIW"),
    ("W+RW+W+RW", "IRWIW"),
    ("WW+RW+WR", "Z6.0"),
    ("WW+WW+RW", "Z6.1"),
    ("WW+RW+RW", "Z6.2"),
    ("WW+WW+RR", "Z6.3"),
    ("WW+WR+WR", "Z6.4"),
    ("WW+WW+WR", "Z6.5"),
    ("one WW", "CoWW"),
    ("one RW", "CoRW1"),
    ("one W+RW", "CoRW2"),
    ("one W+WR", "CoWR"),
    ("one W+RR", "CoRR"),
    ("one WR", "CoWR0"),
];

/// The steps from the beginning of a thread: the first one, or else the one that the first step between threads leads to.
pub(super) fn from_a_thread(edges: &[Edge]) -> Vec<Edge> {
    let at = match edges.last() {
        Some(last) if last.is_external() => 0,
        _ => edges.iter().position(|e| e.is_external()).map_or(0, |i| i + 1),
    };
    rotated(edges, at)
}

/// The steps from the thread with which diy7 writes and names this cycle: the least by the shapes of its threads, then by
/// how many steps the first thread has, then by the steps.
pub(super) fn canonical(edges: &[Edge]) -> Vec<Edge> {
    let first = from_a_thread(edges);
    let n = first.len();
    let starts = (1..n).filter(|&i| first[i - 1].is_external());
    // Not every two steps are in one order (see `compare_steps`), so the order of comparison matters.
    starts.map(|i| rotated(&first, i)).fold(first.clone(), |least, other| {
        match compare(&least, &other) {
            Ordering::Less => least,
            _ => other,
        }
    })
}

fn rotated(edges: &[Edge], at: usize) -> Vec<Edge> {
    let mut rotated = edges.to_vec();
    rotated.rotate_left(at);
    rotated
}

fn compare(one: &[Edge], two: &[Edge]) -> Ordering {
    let shapes = |edges: &[Edge]| -> Vec<usize> {
        let rank = |shape: String| SHAPES.iter().position(|&s| s == shape).unwrap_or(SHAPES.len());
        shapes(edges).into_iter().map(rank).collect()
    };
    let inside = |edges: &[Edge]| edges.iter().take_while(|e| !e.is_external()).count();
    let steps = || {
        let each = one.iter().zip(two).map(|(one, two)| compare_steps(one, two));
        each.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    };
    shapes(one).cmp(&shapes(two)).then(inside(one).cmp(&inside(two))).then_with(steps)
}

/// What threads look like, in the order in which they come first.
const SHAPES: [&str; 6] = ["W", "WW", "RR", "RW", "WR", "R"];

/// Communication comes before program order, and that before fences; but fences come before reads-from and program order.
fn compare_steps(one: &Edge, two: &Edge) -> Ordering {
    let is_fenced = |edge: &Edge| matches!(edge, Edge::Po { fence: Some(_), .. });
    let is_behind =
        |edge: &Edge| matches!(edge, Edge::Po { fence: None, .. } | Edge::Com { com: Com::Rf, .. });
    if is_fenced(one) && is_behind(two) {
        return Ordering::Less;
    }
    if is_behind(one) && is_fenced(two) {
        return Ordering::Greater;
    }
    // Steps inside of a thread, to the same location and from writes come first among their kind.
    let key = |edge: &Edge| match *edge {
        Edge::Com { com, external } => (0, com as usize, external, false, false),
        Edge::Po { fence: None, same, from, to } => (1, 0, !same, from == Dir::R, to == Dir::R),
        Edge::Po { fence: Some(fence), same, from, to } => {
            (2, fence as usize, !same, from == Dir::R, to == Dir::R)
        }
    };
    key(one).cmp(&key(two))
}

/// The threads: for each the steps inside of it.
fn threads(edges: &[Edge]) -> Vec<&[Edge]> {
    let mut threads: Vec<&[Edge]> = edges.split(|e| e.is_external()).collect();
    // The last step leads back to the first thread.
    threads.pop();
    threads
}

/// The first and last access of each thread.
fn shapes(edges: &[Edge]) -> Vec<String> {
    let mut at = 0;
    let shape = |thread: &[Edge]| {
        let (first, last) = (edges[at].from(), edges[at + thread.len()].from());
        at += thread.len() + 1;
        if thread.is_empty() { format!("{first:?}") } else { format!("{first:?}{last:?}") }
    };
    threads(edges).into_iter().map(shape).collect()
}

fn family(edges: &[Edge]) -> String {
    let shape = shapes(edges).join("+");
    let find = |shape: &str| FAMILIES.iter().find(|(s, _)| *s == shape).map(|(_, name)| *name);
    let is_one = !edges.iter().any(|e| e.changes_location());
    let of_one = is_one.then(|| find(&format!("one {shape}"))).flatten();
    of_one.or_else(|| find(&shape)).map_or(shape, str::to_owned)
}

/// The name of the test of a cycle, wherever that begins.
pub(super) fn name(edges: &[Edge]) -> String {
    let edges = &canonical(edges)[..];
    let base = family(edges);
    let orders: Vec<String> =
        threads(edges).iter().filter(|t| !t.is_empty()).map(|t| order(t)).collect();
    let same = orders.windows(2).all(|pair| pair[0] == pair[1]);
    match (orders.first().map(String::as_str), orders.len()) {
        (None, _) => base,
        (Some("po"), _) if same => base,
        (Some("pos"), 1) => base,
        (Some(only), 1) => format!("{base}+{only}"),
        (Some(one), _) if same => format!("{base}+{one}s"),
        _ => format!("{base}+{}", orders.join("+")),
    }
}

/// What orders the accesses of one thread.
fn order(edges: &[Edge]) -> String {
    let is_order = |e: Option<&Edge>| matches!(e, Some(Edge::Po { .. }));
    let words: Vec<String> = edges
        .iter()
        .enumerate()
        .map(|(i, edge)| {
            let word = match edge {
                Edge::Po { same, fence, .. } => {
                    let word = match fence {
                        None => "po",
                        Some(FenceKind::Full) => "mfence",
                        Some(FenceKind::StoreStore) => "sfence",
                    };
                    format!("{word}{}", if *same { "s" } else { "" })
                }
                Edge::Com { com: Com::Rf, .. } => "rfi".to_owned(),
                Edge::Com { com: Com::Fr, .. } => "fri".to_owned(),
                Edge::Com { com: Com::Co, .. } => "coi".to_owned(),
            };
            // Between two orders it has to be said what the access is.
            let dir = match is_order(Some(edge)) && is_order(edges.get(i + 1)) {
                true if edge.to() == Dir::R => "R",
                true => "W",
                false => "",
            };
            word + dir
        })
        .collect();
    words.join("-")
}
