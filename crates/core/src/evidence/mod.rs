//! Verdicts, the evidence that they carry, and the checker of evidence.

pub(crate) mod abstraction;
pub(crate) mod certified;
pub mod certify;
pub mod fence_proof;
pub(crate) mod in_order;
pub(crate) mod inductive;
pub(crate) mod live;
pub(crate) mod lrat;
pub mod monitors;
pub(crate) mod omission;
pub(crate) mod packing;
pub(crate) mod pending;
pub(crate) mod quiet;
pub mod reference;
pub(crate) mod rejected;
pub(crate) mod replay;
pub(crate) mod verdict;
pub mod why_not;
