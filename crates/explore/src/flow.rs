//! The control flow of a thread: loops, and the order in which facts about it are found in few
//! passes. All of it is linear in the thread's edges, because programs may be long.

use weakspot_core::Thread;

/// The points in the order in which a depth-first walk is done with them: the points that an edge
/// leads to come first, unless it closes a loop. Facts that flow backwards are found in one pass
/// per depth of nested loops in this order.
pub(crate) fn postorder(code: &Thread) -> Vec<usize> {
    let n = code.points.len();
    let mut order = Vec::with_capacity(n);
    let mut seen = vec![false; n];
    for start in (0..n).filter(|&p| p == code.entry.index()).chain(0..n) {
        let mut path = if seen[start] { Vec::new() } else { vec![(start, 0)] };
        seen[start] = true;
        while let Some((p, i)) = path.pop() {
            match code.points[p].edges.get(i) {
                None => order.push(p),
                Some(edge) => {
                    path.push((p, i + 1));
                    let q = edge.to.index();
                    if !std::mem::replace(&mut seen[q], true) {
                        path.push((q, 0));
                    }
                }
            }
        }
    }
    order
}

/// Numbers for the points of a thread, the same for points that lead to each other and only for
/// these (Kosaraju).
pub(crate) fn components(code: &Thread) -> Vec<u32> {
    let n = code.points.len();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (p, point) in code.points.iter().enumerate() {
        point.edges.iter().for_each(|edge| before[edge.to.index()].push(p));
    }
    let mut numbers = vec![u32::MAX; n];
    for (number, &start) in postorder(code).iter().rev().enumerate() {
        let mut todo = vec![start];
        while let Some(p) = todo.pop() {
            if numbers[p] == u32::MAX {
                numbers[p] = number as u32;
                todo.extend(&before[p]);
            }
        }
    }
    numbers
}

/// Per point whether a way leads back to it.
pub(crate) fn in_loop(code: &Thread) -> Vec<bool> {
    let numbers = components(code);
    let mut members = vec![0u32; code.points.len()];
    numbers.iter().for_each(|&number| members[number as usize] += 1);
    let alone = |p: usize| members[numbers[p] as usize] == 1;
    let points = code.points.iter().enumerate();
    points.map(|(p, point)| !alone(p) || point.edges.iter().any(|e| e.to.index() == p)).collect()
}

#[cfg(test)]
mod tests {
    use weakspot_core::{Edge, Instr, Point, PointId, Span};

    use super::*;

    fn thread(to: &[Vec<usize>]) -> Thread {
        let edge = |to| Edge { instr: Instr::Nop, to: PointId::new(to), span: Span::default() };
        let point = |to: &Vec<usize>| Point { edges: to.iter().map(|&t| edge(t)).collect() };
        let points = to.iter().map(point).collect();
        Thread { regs: Vec::new(), entry: PointId::new(0), points }
    }

    /// A loop of two points, a way out, a loop of one point.
    #[test]
    fn loops_are_found() {
        let code = thread(&[vec![1], vec![2, 0], vec![3], vec![3, 4], vec![]]);
        let numbers = components(&code);
        assert_eq!(numbers[0], numbers[1]);
        let distinct: std::collections::BTreeSet<u32> = numbers.into_iter().collect();
        assert_eq!(distinct.len(), 4);
        assert_eq!(in_loop(&code), [true, true, false, true, false]);
    }

    /// What follows comes first, whatever the numbers of the points.
    #[test]
    fn facts_flow_in_one_pass() {
        let there: Vec<Vec<usize>> = (0..100_000).map(|p| vec![p + 1]).chain([vec![]]).collect();
        assert!(postorder(&thread(&there)).iter().copied().eq((0..=100_000).rev()));
        let (mut code, n) = (thread(&there), 100_000);
        code.entry = PointId::new(n);
        for (p, point) in code.points.iter_mut().enumerate() {
            point.edges.iter_mut().for_each(|e| e.to = PointId::new(p.saturating_sub(1)));
            if p == 0 {
                point.edges.clear();
            } else if p == n {
                let span = Span::default();
                point.edges = vec![Edge { instr: Instr::Nop, to: PointId::new(n - 1), span }];
            }
        }
        assert!(postorder(&code).iter().copied().eq(0..=n));
        assert!(in_loop(&code).iter().all(|&inside| !inside));
    }
}
