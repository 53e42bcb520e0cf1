//! The integration tests, one binary of them:
//! - `delayed`: the checker of what monitors report: runs with delayed stores;
//! - `history`: histories, and the checker of evidence about them;
//! - `in_order`: programs that are robust at a glance, against all executions;
//! - `machine`: the steps of the machine one by one;
//! - `machine_and_axioms`: the two meanings of each model agree: on the outcomes of whole programs, and on single
//!   runs;
//! - `rejected`: every way in which a checker says no, with evidence in which only that is wrong;
//! - `serial`: traces and programs with transactions, and the checker of evidence about them;
//! - `wide`: accesses that overlap: the machine against the axioms, and recorded runs.

mod delayed;
mod history;
mod in_order;
mod inductive;
mod machine;
mod machine_and_axioms;
mod rejected;
mod serial;
mod why_not;
mod wide;

use weakspot_core::{
    Edge, Instr, Location, Point, PointId, Program, Span, Thread, Undeclared, Value,
};

/// References allocate a lot: this makes them faster by a third.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Threads without branches, with one register each, and locations that begin as 0.
fn straight(threads: &[&[Instr]], locs: &[Value], undeclared: Undeclared) -> Program {
    let thread = |instrs: &&[Instr]| {
        let edge = |(i, instr): (usize, &Instr)| Point {
            edges: vec![Edge {
                instr: instr.clone(),
                to: PointId::new(i + 1),
                span: Span::new(i, i + 1),
            }],
        };
        let points = instrs.iter().enumerate().map(edge).chain([Point::default()]).collect();
        Thread { regs: vec![0], entry: PointId(0), points }
    };
    let loc = |&addr: &Value| Location { addr, init: vec![0], range: None };
    Program {
        threads: threads.iter().map(thread).collect(),
        locs: locs.iter().map(loc).collect(),
        wides: vec![],
        undeclared,
        observed: vec![],
        condition: None,
        forbidden: vec![],
    }
}
