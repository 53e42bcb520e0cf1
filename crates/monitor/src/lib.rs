//! Questions about a stream: could TSO or PSO have broken this SC execution, and where?

pub mod programs;
pub mod reference;

pub use reference::{Form, Report};

#[cfg(test)]
mod test_logs;
