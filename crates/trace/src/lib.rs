//! Bytes <-> logs: the formats in which executions are recorded, read and written.
//!
//! [`LogReader`] hands a log out in batches, as they arrive, and [`LogWriter`] takes batches.
//! [`HistoryReader`] and [`write_history`] do the same for histories, and [`OpReader`] reads one
//! that is still being written.
//! `docs/reference/logs.md` describes the formats for users, `docs/reference/wslog.md` the binary one byte by byte,
//! `docs/reference/histories-files.md` those of histories.
//!
//! # The files
//!
//! `reader.rs` drives one decoder per format (`lines.rs` with `text.rs` or `rapid.rs`, `json/`,
//! `wslog/`) over what has arrived (`source.rs`) and hands out batches of 16-byte events
//! (`core/src/log.rs`); `names.rs` keeps the tables of names, `writer.rs` goes the other way.
//! Histories are in `history/`: a decoder per format reads item by item from what has arrived
//! (`scan.rs`), `build.rs` sorts by thread and finds what reads read, `op_reader.rs` hands single
//! operations out of a log that is still written, `write.rs` goes the other way; `transactions.rs`
//! keeps together what a transaction did, `elle.rs` reads Jepsen's files so.

mod decoded;
mod error;
mod event;
mod format;
mod history;
mod json;
mod lines;
mod names;
mod one;
mod rapid;
mod reader;
mod source;
mod text;
mod writer;
mod wslog;

pub use error::{LastWrite, LogError, LogPlace, Torn, UnwrittenRead, WriteError};
pub use format::LogFormat;
pub use history::{
    Columns, Cut, HistoryFormat, HistoryReader, NextOps, OpReader, OpenRead, Recorded,
    RecordedTxns, write_history, write_open_history, write_transactions,
};
pub use one::{each_batch, nth_history, sc_events};
pub use reader::{LogReader, Next};
pub use writer::{LogWriter, Resumed};
