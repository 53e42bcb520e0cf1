//! Histories that are as hard to check as clauses are to satisfy.

use super::Rng;
use crate::{History, INITIAL, OpKind};

/// A history that is sequentially consistent exactly if the clauses can all be true; with fences
/// it is the same for TSO and PSO. Literals are `v` and `-v`, v > 0; no clause is empty.
///
/// Each occurrence of a literal is a variable with two writes, p and q; p first means that the
/// literal is false. A clause with the literals 1, 2, ... has a thread per literal, which writes
/// its q and then reads the p of the next one (the first one's after the last): if all are false,
/// each read comes before the next thread's write, in a circle. Two occurrences of which one says
/// the opposite of the other must not both be true: after its p, the thread of each reads the
/// other's q. Nothing else can close a cycle: what is read comes before p only when the literal is
/// true, and from there all ways end in reads of false literals.
#[must_use]
pub fn ops_of_clauses(clauses: &[Vec<i32>], fences: bool) -> History {
    let literals: Vec<i32> = clauses.iter().flatten().copied().collect();
    let mut threads: Vec<Vec<Access>> = Vec::new();
    let mut start = 0;
    for clause in clauses {
        for at in 0..clause.len() {
            let next = start + (at + 1) % clause.len();
            threads.push(vec![Access::WriteQ(start + at), Access::ReadP(next)]);
        }
        start += clause.len();
    }
    for (at, &literal) in literals.iter().enumerate() {
        let opposite = (0..literals.len()).filter(|&other| literals[other] == -literal);
        threads.push([Access::WriteP(at)].into_iter().chain(opposite.map(Access::ReadQ)).collect());
    }
    build(literals.len(), &threads, fences)
}

/// Random clauses of three literals.
pub fn random_3_sat(rng: &mut Rng, vars: usize, count: usize) -> Vec<Vec<i32>> {
    let literal = |rng: &mut Rng| {
        let var = rng.below(vars) as i32 + 1;
        if rng.one_in(2) { var } else { -var }
    };
    (0..count).map(|_| (0..3).map(|_| literal(rng)).collect()).collect()
}

/// Clauses that say that there is a hole of its own for every pigeon.
#[must_use]
pub fn pigeonhole(pigeons: i32, holes: i32) -> Vec<Vec<i32>> {
    let sits = |pigeon: i32, hole: i32| pigeon * holes + hole + 1;
    let mut clauses = Vec::new();
    for pigeon in 0..pigeons {
        clauses.push((0..holes).map(|hole| sits(pigeon, hole)).collect());
        for other in 0..pigeon {
            clauses.extend((0..holes).map(|hole| vec![-sits(pigeon, hole), -sits(other, hole)]));
        }
    }
    clauses
}

/// What a thread does, to the variable of which occurrence.
#[derive(Clone, Copy)]
enum Access {
    WriteP(usize),
    WriteQ(usize),
    ReadP(usize),
    ReadQ(usize),
}

fn build(vars: usize, threads: &[Vec<Access>], fences: bool) -> History {
    let mut ops = History::new();
    let (mut p, mut q) = (vec![INITIAL; vars], vec![INITIAL; vars]);
    let mut reads = Vec::new();
    for thread in threads {
        ops.thread();
        for &step in thread {
            let now = ops.len() as u32;
            match step {
                Access::WriteP(x) | Access::WriteQ(x) => {
                    let is_p = matches!(step, Access::WriteP(_));
                    *if is_p { &mut p[x] } else { &mut q[x] } = now;
                    ops.push(OpKind::Write, x as u32, INITIAL);
                    if fences {
                        ops.push(OpKind::Fence, 0, INITIAL);
                    }
                }
                Access::ReadP(x) | Access::ReadQ(x) => {
                    reads.push((now, step));
                    ops.push(OpKind::Read, x as u32, INITIAL);
                }
            }
        }
    }
    for (read, step) in reads {
        match step {
            Access::ReadP(x) => ops.set_from(read, p[x]),
            Access::ReadQ(x) => ops.set_from(read, q[x]),
            Access::WriteP(_) | Access::WriteQ(_) => {}
        }
    }
    ops
}
