//! Questions about a recorded history: which of the models from causal to sequential consistency
//! does it satisfy?

mod answer;
mod causal;
mod chains;
mod check;
mod classify;
mod clocks;
mod convergent_memory;
mod enumerate;
mod explain;
mod extra;
mod follow;
mod greedy;
mod linear;
mod memory;
mod minimise;
mod open;
mod order;
mod part;
mod past;
mod refuted;
mod sat;
mod saturate;
mod search;
mod store;
mod walk;
mod weak;
mod window;

pub use answer::{Answer, Complete, DecidedBy, Method};
pub use causal::check_causal;
pub use check::check;
pub use classify::{Classified, classify};
pub use follow::{Broken, Following, Stopped};
pub use minimise::{Minimal, minimise};
pub use open::{Pairs, open_pairs};
pub use weakspot_sat::Meter;
pub use window::{Excerpt, Refused, RefusedWhy, Window};
