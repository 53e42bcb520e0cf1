//! Names of tests: that of the family, then what orders the accesses of each thread.

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

/// The steps, from the beginning of a thread: the one with which the family is usually written, or
/// else the first.
pub(super) fn usual_rotation(edges: &[Edge]) -> Vec<Edge> {
    let n = edges.len();
    let mut rotations = (0..n).filter(|&i| edges[(i + n - 1) % n].is_external()).map(|i| {
        let mut rotated = edges.to_vec();
        rotated.rotate_left(i);
        rotated
    });
    let first = rotations.next().unwrap_or_default();
    if family(&first).is_some() {
        return first;
    }
    rotations.find(|r| family(r).is_some()).unwrap_or(first)
}

/// The threads: for each the steps inside of it.
fn threads(edges: &[Edge]) -> Vec<&[Edge]> {
    let mut threads: Vec<&[Edge]> = edges.split(|e| e.is_external()).collect();
    // The last step leads back to the first thread.
    threads.pop();
    threads
}

fn shape(edges: &[Edge]) -> String {
    let mut at = 0;
    let mut words = Vec::new();
    for thread in threads(edges) {
        let (first, last) = (edges[at].from(), edges[at + thread.len()].from());
        words.push(if thread.is_empty() {
            format!("{first:?}")
        } else {
            format!("{first:?}{last:?}")
        });
        at += thread.len() + 1;
    }
    let one = if edges.iter().any(|e| e.changes_location()) { "" } else { "one " };
    format!("{one}{}", words.join("+"))
}

fn family(edges: &[Edge]) -> Option<&'static str> {
    let shape = shape(edges);
    FAMILIES.iter().find(|(s, _)| *s == shape).map(|(_, name)| *name)
}

/// The name of a test whose steps begin with a thread.
pub(super) fn name(edges: &[Edge]) -> String {
    let base = match family(edges) {
        Some(family) => family.to_owned(),
        None => shape(edges).replace("one ", "Co"),
    };
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
