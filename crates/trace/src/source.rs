//! Where the bytes of a log come from. Each read takes what has arrived and no more, so that a
//! log can be followed while the program that writes it still runs.

use std::io::{ErrorKind, Read, Result, empty};

/// No line, value or block may be longer than this, so that memory is bounded whatever the input.
pub(crate) const LONGEST: usize = 1 << 20;

/// Some editors put this before the first character of a text.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Enough to make the calls to the system cheap, and little enough for the second-level cache. Four
/// full blocks of a `.wslog` fit with little to spare, so that little has to be moved to the front.
const CHUNK: usize = 260 << 10;

/// Bytes that were read and not yet used.
pub(crate) struct Source {
    inner: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    used: u64,
    /// Whether there is nothing more to read.
    pub(crate) ended: bool,
}

impl Source {
    pub(crate) fn new(inner: Box<dyn Read + Send>) -> Source {
        Source { inner, buffer: vec![0; CHUNK], start: 0, end: 0, used: 0, ended: false }
    }

    /// All of this, and nothing else.
    pub(crate) fn whole(bytes: Vec<u8>) -> Source {
        let end = bytes.len();
        Source { inner: Box::new(empty()), buffer: bytes, start: 0, end, used: 0, ended: true }
    }

    /// What was read and not used.
    pub(crate) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Where in the log [`data`](Source::data) begins.
    pub(crate) fn offset(&self) -> u64 {
        self.used
    }

    /// How much was read in all.
    pub(crate) fn position(&self) -> u64 {
        self.used + (self.end - self.start) as u64
    }

    /// The first `n` bytes are done with.
    pub(crate) fn consume(&mut self, n: usize) {
        assert!(n <= self.end - self.start);
        self.start += n;
        self.used += n as u64;
    }

    /// Reads once, and waits if nothing is there.
    pub(crate) fn fill(&mut self) -> Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.end == self.buffer.len() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
        }
        loop {
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(n) => {
                    self.end += n;
                    self.ended = n == 0;
                    return Ok(());
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}
