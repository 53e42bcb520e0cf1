//! Histories of transactions, as clients of a database record them: what read committed, read
//! atomic, transactional causal consistency and serializability mean, by definition, and why a
//! verdict on such a history is to be believed.

mod anomaly;
mod check;
mod definition;
mod evidence;
mod orders;
mod recorded;

pub use anomaly::{Anomaly, anomaly};
pub use check::{search_transactional, transactional};
pub use definition::{satisfies, serializable_within};
pub use evidence::{Fact, Reason, TxnEvidence};
pub use orders::{Misread, misread, version_orders};
pub use recorded::{BEGINNING, ListReads, TxnHistory, TxnModel, TxnOp};
