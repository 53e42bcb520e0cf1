//! What was recorded: logs, histories, transactions.

mod convert;
mod follow;
pub(crate) mod history;
mod history_input;
mod monitor;
mod real_time;
mod serial;
mod serial_buffered;
mod transactions;
