//! The integration tests, one binary of them:
//! - `causal`: the causal models against their definitions, on random histories; every violation
//!   comes with evidence that the checker accepts;
//! - `coherent`: coherence against its definition, on random histories and on long ones;
//! - `complete`: completions of the store order against the definitions of SC, TSO and PSO, on
//!   random histories and on some that are hard by design; every verdict comes with evidence that
//!   the checker accepts;
//! - `corpus`: the shipped histories satisfy the models that stand beside them: by every method,
//!   and by the definitions;
//! - `open`: open pairs of writes against the definitions of the partial store orders, and of the
//!   orders against each other;
//! - `parts`: several models at once, and smallest parts that violate a model, against the
//!   definitions;
//! - `real_time`: models that are about real time against their definitions, on random histories and on
//!   long ones;
//! - `strong`: SC, TSO and PSO against their definitions, on random histories, by all stages; every
//!   answer comes with evidence that the checker accepts;
//! - `transactions`: histories of transactions against the definitions of their models; every answer
//!   comes with evidence that the checker accepts;
//! - `ways`: histories of which it is open what some reads read, against all choices by definition;
//! - `window`: windows of histories that are still being written: what they find is there, what
//!   fits into one is found, and memory stays as it is.

mod causal;
mod coherent;
mod complete;
mod corpus;
mod open;
mod parts;
mod real_time;
mod strong;
mod transactions;
mod ways;
mod window;
