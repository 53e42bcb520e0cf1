//! Recorded histories: what the models mean, by definition and on machines, and why a
//! verdict on a history is to be believed.

pub(crate) mod recorded;
pub(crate) mod write_table;

mod check;
mod cycle;
mod evidence;
mod machine;
mod models;
mod real_time;
mod replay;
mod stream;

pub use check::{history, history_ways, search_history};
pub use evidence::{
    Derivation, HistoryCycle, HistoryEdge, HistoryEvidence, HistoryStep, HistoryWay, Rule, Why,
    Within, initial_write, initial_write_var,
};
pub use machine::{machine_allows, machine_run};
pub use models::satisfies;
pub use real_time::RealTime;
pub use stream::LinearStream;
