//! Bytes <-> histories: what threads read and wrote, without the order in which it happened.
//! `docs/reference/histories-files.md` describes the formats for users.
//!
//! A decoder (`text`, `axe`, `csv`, `json`, and those of `databases`) reads item by item from what has arrived (`scan`,
//! `items`) and hands operations to `build`, which finds out what reads read, or hands them on one by one (`op_reader`).
//! In `databases`, `transactions` keeps which operations belong together, `elle` reads Jepsen's EDN so, and `write_txns`
//! writes it.

mod axe;
mod build;
mod csv;
mod databases;
mod decoder;
mod format;
mod items;
mod json;
mod op_reader;
mod reader;
mod scan;
mod text;
mod value;
mod write;

pub use build::{OpenRead, Recorded};
pub use csv::Columns;
pub use databases::transactions::RecordedTxns;
pub use databases::write_txns::write_transactions;
pub use format::HistoryFormat;
pub use op_reader::{NextOps, OpReader};
pub use reader::{Cut, HistoryReader};
pub use write::{write_history, write_open_history};
