//! What the stages find.

use weakspot_core::HistoryEvidence;

/// What a stage finds.
pub(crate) enum Found {
    /// The order in which operations take effect in memory.
    Run(Vec<u32>),
    /// Why there is none.
    Contradiction(HistoryEvidence),
}
