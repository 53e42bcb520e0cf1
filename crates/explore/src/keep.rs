//! Searches that are kept, so that they can go on another time: what a search has to know of the place
//! where that happens, and how numbers are written there. Files and their checksums are the affair of
//! whoever implements [`Keep`].

use std::io::{self, Read, Write};

use weakspot_core::{Limit, Value};

/// Where a search is kept.
pub trait Keep: Sync {
    /// What an earlier search of the same question has written, if this one is to go on from there.
    fn earlier(&self) -> Option<io::Result<Box<dyn Read + '_>>>;

    /// Whether it is time to keep the search as it is.
    fn is_due(&self) -> bool;

    /// Keeps what `write` writes, in the place of what was kept before.
    fn keep(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>);
}

/// Why a search cannot go on from what was kept.
#[derive(Debug)]
pub(crate) enum NotKept {
    /// No search writes such a thing.
    Damaged,
    Read(io::Error),
    Limit(Limit),
}

/// Numbers on their way to where they are kept.
pub(crate) struct Out<'w> {
    to: &'w mut dyn Write,
    buffer: Vec<u8>,
    failed: io::Result<()>,
}

/// Bytes that are written, or read, at a time.
const BLOCK: usize = 1 << 16;

impl<'w> Out<'w> {
    pub(crate) fn new(to: &'w mut dyn Write) -> Out<'w> {
        Out { to, buffer: Vec::with_capacity(BLOCK + 16), failed: Ok(()) }
    }

    /// Writes a number, 7 bits per byte.
    pub(crate) fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.buffer.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.buffer.push(n as u8);
        if self.buffer.len() >= BLOCK {
            self.flush();
        }
    }

    /// Writes a number of either sign: small ones take few bytes.
    pub(crate) fn value(&mut self, v: Value) {
        self.number((v << 1 ^ v >> 63) as u64);
    }

    /// Writes bytes whose number the reader knows.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BLOCK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.failed.is_ok() {
            self.failed = self.to.write_all(&self.buffer);
        }
        self.buffer.clear();
    }

    pub(crate) fn end(mut self) -> io::Result<()> {
        self.flush();
        self.failed
    }
}

/// Numbers that were kept.
pub(crate) struct In<'r> {
    from: &'r mut dyn Read,
    buffer: Vec<u8>,
    at: usize,
}

impl<'r> In<'r> {
    pub(crate) fn new(from: &'r mut dyn Read) -> In<'r> {
        In { from, buffer: Vec::new(), at: 0 }
    }

    /// Has more bytes ready; false at the end.
    fn fill(&mut self) -> Result<bool, NotKept> {
        self.buffer.clear();
        self.at = 0;
        let mut block = (&mut *self.from).take(BLOCK as u64);
        block.read_to_end(&mut self.buffer).map_err(NotKept::Read)?;
        Ok(!self.buffer.is_empty())
    }

    fn byte(&mut self) -> Result<u8, NotKept> {
        if self.at == self.buffer.len() && !self.fill()? {
            return Err(NotKept::Damaged);
        }
        self.at += 1;
        Ok(self.buffer[self.at - 1])
    }

    pub(crate) fn number(&mut self) -> Result<u64, NotKept> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(NotKept::Damaged)
    }

    pub(crate) fn value(&mut self) -> Result<Value, NotKept> {
        let n = self.number()?;
        Ok((n >> 1) as Value ^ -((n & 1) as Value))
    }

    /// A number that is at most this.
    pub(crate) fn at_most(&mut self, most: u32) -> Result<u32, NotKept> {
        match u32::try_from(self.number()?) {
            Ok(n) if n <= most => Ok(n),
            _ => Err(NotKept::Damaged),
        }
    }

    /// Reads as many bytes as there is room for.
    pub(crate) fn bytes(&mut self, mut to: &mut [u8]) -> Result<(), NotKept> {
        while !to.is_empty() {
            if self.at == self.buffer.len() && !self.fill()? {
                return Err(NotKept::Damaged);
            }
            let n = to.len().min(self.buffer.len() - self.at);
            let (now, later) = to.split_at_mut(n);
            now.copy_from_slice(&self.buffer[self.at..self.at + n]);
            self.at += n;
            to = later;
        }
        Ok(())
    }

    /// There must be nothing more.
    pub(crate) fn end(mut self) -> Result<(), NotKept> {
        if self.at < self.buffer.len() || self.fill()? { Err(NotKept::Damaged) } else { Ok(()) }
    }
}
