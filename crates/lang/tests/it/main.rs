//! The integration tests, one binary of them:
//! - `memorax_semantics`: compiled Memorax programs against a direct reading of Memorax's rules:
//!   random processes without jumps, run statement by statement, have to reach the same states at
//!   their labels;
//! - `reachable`: the example programs of `corpus/trencher` and `corpus/memorax` reach their goals
//!   under exactly the models that their comments name.

mod memorax_semantics;
mod reachable;
mod states;
