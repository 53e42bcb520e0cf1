//! Questions about a recorded history: which of the models from causal to sequential consistency
//! does it satisfy?

mod answer;
mod causal;
mod check;
mod classify;
mod clock;
mod coherent;
mod follow;
mod gradual;
mod graph;
mod linearizable;
mod minimise;
mod open;
mod settled;
mod transactions;
mod ways;
mod window;

pub use answer::{Answer, Complete, DecidedBy, Method};
pub use check::check;
pub use classify::{Classified, Defect, classify};
pub use follow::{Broken, Following, Stopped};
pub use minimise::{Minimal, Shown, minimal_part, minimise};
pub use open::{Pairs, open_pairs};
pub use transactions::{TxnAnswer, TxnClassified, classify_transactions};
pub use ways::{Chosen, classify_open};
pub use weakspot_sat::Meter;
pub use window::{Excerpt, Refused, RefusedWhy, Window};
