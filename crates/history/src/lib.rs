//! Questions about a recorded history: which of the models from causal to sequential consistency
//! does it satisfy?

mod answer;
mod meter;

pub use answer::{Answer, DecidedBy};
pub use meter::Meter;
