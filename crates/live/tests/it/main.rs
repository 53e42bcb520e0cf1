//! The integration tests, one binary of them:
//! - `bounded`: the strategy `bounded` against brute force: round by round exactly the executions
//!   with so many preemptions, each once;
//! - `classics`: programs of the papers on partial order reduction, with the numbers of classes
//!   that are known for them: the strategy `dpor` explores as many executions, and stops none;
//! - `dpor`: the strategy `dpor` against brute force: on thousands of random programs it explores
//!   one execution of each class, no less and, where the paper says so, no more;
//! - `races`: data races against their definition: happens-before as a transitive closure, on random
//!   executions and on all executions of random programs; `races_buffered`: the same with store buffers;
//! - `rf`: the strategy `rf` against brute force: all reads-from classes, and few executions more;
//! - `random`: the strategies that draw, and replay: the same seed gives the same executions, every
//!   execution can be had again from its token, and what is rare for one strategy is not for the
//!   other;
//! - `watched`: what monitors say of single executions.

mod bounded;
mod classics;
mod dpor;
mod races;
mod races_buffered;
mod random;
mod rf;
mod watched;
