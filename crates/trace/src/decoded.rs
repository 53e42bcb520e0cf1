//! What the decoders of logs hand out.

use crate::error::LogPlace;

/// What a decoder did.
pub(crate) enum Decoded {
    /// It added to the batch, or used some bytes.
    Done,
    /// It came to the beginning of a trace.
    Trace(Option<String>),
    /// It needs more bytes than have been read.
    More,
    /// It came to the end.
    End,
}

/// Where the events of a batch are: one by one, or in runs of records of the same size.
#[derive(Default)]
pub(crate) struct Places {
    pub(crate) each: Vec<LogPlace>,
    pub(crate) runs: Vec<Run>,
    /// Where the last trace begins.
    pub(crate) trace: Option<LogPlace>,
}

/// From its first event on, records that follow each other.
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}
