//! What the tests of this crate are about: locks and a queue that use atomics only.

pub mod mutex;
pub mod ring;
pub mod spin;
