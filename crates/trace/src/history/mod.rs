//! Bytes <-> histories: what threads read and wrote, without the order in which it happened.
//! `docs/reference/histories-files.md` describes the formats for users.
//!
//! A decoder (`text`, `axe`, `csv`, `json`, `dbcop`, `dbcop_json`, `plume`, `edn`) reads item by item from
//! what has arrived (`scan`, `items`) and hands operations to `build`, which finds out what reads
//! read, or hands them on one by one (`op_reader`). Of databases, `transactions` keeps which
//! operations belong together, `elle` reads Jepsen's EDN so, and `write_txns` writes it.

mod axe;
mod build;
mod csv;
mod dbcop;
mod dbcop_json;
mod decoder;
mod edn;
mod elle;
mod form;
mod format;
mod items;
mod jepsen;
mod json;
mod op_reader;
mod plume;
mod reader;
mod scan;
mod text;
mod transactions;
mod txns;
mod value;
mod write;
mod write_txns;

pub use build::{OpenRead, Recorded};
pub use csv::Columns;
pub use format::HistoryFormat;
pub use op_reader::{NextOps, OpReader};
pub use reader::HistoryReader;
pub use transactions::RecordedTxns;
pub use write::{write_history, write_open_history};
pub use write_txns::write_transactions;
