//! A run of weakspot, step by step: in a terminal with keys, or all of it as text.
//!
//! What is shown is the object `run` of JSON answers, so that it does not matter which command made it.

mod model;
mod screen;
mod terminal;
mod text;

pub use model::{State, Steps};
pub use terminal::step;
pub use text::as_text;
