//! Questions about a recorded history: which of the models from causal to sequential consistency
//! does it satisfy?

mod answer;
mod causal;
mod clocks;
mod convergent_memory;
mod explain;
mod extra;
mod memory;
mod meter;
mod past;
mod store;
mod walk;
mod weak;

pub use answer::{Answer, DecidedBy};
pub use causal::check_causal;
pub use meter::Meter;
