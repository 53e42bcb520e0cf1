//! Rust crates built with instrumentation, by cargo: which programs and tests came of it, and what in
//! them is not Rust's.

mod build;
mod foreign;
mod list;

pub use build::{Built, Cargo, TargetKind, variables};
pub use foreign::{is_for_host, plain_compiler};
pub use list::{Listed, tests};
