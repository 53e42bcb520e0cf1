//! Histories of databases, in which operations belong to transactions.

pub(in crate::history) mod dbcop;
pub(in crate::history) mod dbcop_json;
pub(in crate::history) mod edn;
pub(in crate::history) mod elle;
pub(in crate::history) mod form;
pub(in crate::history) mod jepsen;
pub(in crate::history) mod plume;
pub(in crate::history) mod transactions;
pub(in crate::history) mod txns;
pub(in crate::history) mod write_txns;
