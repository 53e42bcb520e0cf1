//! What a trace stands for.

use super::BufferedReads;

/// What a trace stands for, and which of its reads count as reads of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceMode {
    /// Its executions: the events in the order of the trace, and commits anywhere.
    Exact(BufferedReads),
    /// All executions in which the threads do the same and directed ties have the same direction.
    Predictive(BufferedReads),
    /// All directions of undirected ties that make no cycle with the directed ones. Not all of them
    /// are executions. This is the test of the paper, which knows its own reading only.
    Literal,
}

impl TraceMode {
    /// All of them. With the static reading each has the violations of the one before it, and more.
    #[must_use]
    pub fn all(reads: BufferedReads) -> [TraceMode; 3] {
        [TraceMode::Exact(reads), TraceMode::Predictive(reads), TraceMode::Literal]
    }

    /// Which reads count as reads of the buffer.
    #[must_use]
    pub fn buffered_reads(self) -> BufferedReads {
        match self {
            TraceMode::Exact(reads) | TraceMode::Predictive(reads) => reads,
            TraceMode::Literal => BufferedReads::Static,
        }
    }

    /// Whether the events have the order of the trace.
    #[must_use]
    pub fn is_exact(self) -> bool {
        matches!(self, TraceMode::Exact(_))
    }
}
