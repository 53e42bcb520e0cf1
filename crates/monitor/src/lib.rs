//! Questions about a stream: could TSO or PSO have broken this SC execution, and where?

mod cells;
pub mod reference;
pub mod sober;
mod witness;

pub use reference::{Form, Report};
pub use sober::Sober;
pub use witness::witness;

#[cfg(test)]
mod test_logs;
