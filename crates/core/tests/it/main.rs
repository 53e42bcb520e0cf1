//! The integration tests, one binary of them:
//! - `delayed`: the checker of what monitors report: runs with delayed stores;
//! - `history_edges`: which edges cycles of histories may have, and what follows from them, pair by pair;
//! - `history_evidence`: the checker of evidence for histories accepts what is right, and nothing
//!   that is wrong;
//! - `history_models`: what the models mean: axioms against machines on random histories, the
//!   known small histories, and which model implies which;
//! - `in_order`: programs that are robust at a glance, against all executions;
//! - `machine`: the steps of the machine one by one;
//! - `machine_and_axioms`: the two meanings of each model agree: on the outcomes of whole programs,
//!   and on single runs;
//! - `real_time`: models that are about real time: by all orders, axioms and machines with a clock;
//! - `rejected`: every way in which a checker says no, with evidence in which only that is wrong;
//! - `serial_clauses`: clauses of refutations, against whether there is a cycle;
//! - `serial_cycles`: cycles of traces that cannot be made simpler: Corollary 1 and Propositions 3
//!   to 5 of the paper (Enea and Farzan, TACAS 2016), with the validity of executions, and points
//!   in time;
//! - `serial_evidence`: the checker of evidence about traces: it accepts what is right, and nothing
//!   else;
//! - `serial_logs`: what logs say about transactions, and reads whose own write may be overwritten, by small cases;
//! - `serial_programs`: how serializability under SC and TSO and robustness belong together, on
//!   random programs without branches: all of their executions;
//! - `serial_runs`: all executions of programs with transactions, against every schedule of the machine;
//! - `serial_streams`: the checks of executions event by event, against the definition of conflicts;
//! - `serial_traces`: the notions of serializable traces against each other: by executions and by
//!   directions of ties;
//! - `serial_values`: serializability against what executions read and leave;
//! - `transactional`: histories of transactions: the checker of commit orders and the search against
//!   the definition;
//! - `wide`: accesses that overlap: the machine against the axioms, and recorded runs.

mod delayed;
mod history_edges;
mod history_evidence;
mod history_models;
mod in_order;
mod inductive;
mod machine;
mod machine_and_axioms;
mod real_time;
mod rejected;
mod serial_clauses;
mod serial_cycles;
mod serial_evidence;
mod serial_logs;
mod serial_programs;
mod serial_runs;
mod serial_streams;
mod serial_traces;
mod serial_values;
mod transactional;
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
