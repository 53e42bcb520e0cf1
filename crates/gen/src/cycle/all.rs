//! All critical cycles up to a size: those that the steps of no shorter cycle make up. A thread has
//! at most two accesses, to different locations, and communication between threads is reads-from,
//! from-reads, coherence, or one of the latter two and then reads-from (Shasha and Snir 1988).

use std::collections::BTreeSet;

use super::edge::{Com, Dir, Edge};
use super::events::Cycle;
use super::name::canonical;

/// The critical cycles of at most `size` steps, shortest first.
#[must_use]
pub fn critical(size: usize) -> Vec<Cycle> {
    let com = |com| Edge::Com { com, external: true };
    let po = |from, to| Edge::Po { same: false, fence: None, from, to };
    let alphabet = [
        po(Dir::R, Dir::R),
        po(Dir::R, Dir::W),
        po(Dir::W, Dir::R),
        po(Dir::W, Dir::W),
        com(Com::Rf),
        com(Com::Fr),
        com(Com::Co),
    ];
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for length in 3..=size {
        let mut steps = Vec::new();
        extend(&alphabet, length, &mut steps, &mut |steps| {
            let least = (0..length).map(|i| {
                let mut rotated = steps.to_vec();
                rotated.rotate_left(i);
                rotated
            });
            if least.min().is_some_and(|least| seen.insert(least)) {
                found.extend(Cycle::new(&canonical(steps)));
            }
        });
    }
    found
}

fn extend(
    alphabet: &[Edge],
    length: usize,
    steps: &mut Vec<Edge>,
    visit: &mut impl FnMut(&[Edge]),
) {
    if steps.len() == length {
        if (0..length).all(|i| follows(steps, i)) {
            visit(steps);
        }
        return;
    }
    for &edge in alphabet {
        steps.push(edge);
        let n = steps.len();
        if n < 2 || may_follow(steps[n - 2], edge) {
            extend(alphabet, length, steps, visit);
        }
        steps.pop();
    }
}

/// Whether the step after step `i`, in the circle, may follow it, and no three in a row are
/// communication.
fn follows(steps: &[Edge], i: usize) -> bool {
    let at = |k: usize| steps[(i + k) % steps.len()];
    let all_communicate = (0..3).all(|k| at(k).is_external());
    may_follow(at(0), at(1)) && !all_communicate
}

fn may_follow(first: Edge, second: Edge) -> bool {
    if first.to() != second.from() {
        return false;
    }
    match (first, second) {
        (Edge::Com { com: one, .. }, Edge::Com { com: two, .. }) => {
            one != Com::Rf && two == Com::Rf
        }
        (Edge::Po { .. }, Edge::Po { .. }) => false,
        _ => true,
    }
}
