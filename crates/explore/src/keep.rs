//! Searches that are kept, so that they can go on another time: what a search has to know of the place
//! where that happens, and how numbers are written there. Files and their checksums are the affair of
//! whoever implements [`Keep`].

use std::io::{self, Read, Write};

use weakspot_core::{Limit, Value};

use crate::answer::NoAnswer;

/// Where a search is kept.
pub trait Keep: Sync {
    /// What an earlier search of the same question has written, if this one is to go on from there. The error is
    /// [`io::ErrorKind::Interrupted`] if a signal has come before it could be read.
    fn earlier(&self) -> Option<io::Result<Box<dyn Read + '_>>>;

    /// Whether it is time to keep the search as it is.
    fn is_due(&self) -> bool;

    /// Keeps what `write` writes, in the place of what was kept before; unless its error is
    /// [`io::ErrorKind::Interrupted`], because the search is not whole any more.
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

impl NotKept {
    /// The limit that was reached, or why there is no answer.
    pub(crate) fn limit(self) -> Result<Limit, NoAnswer> {
        match self {
            NotKept::Limit(limit) => Ok(limit),
            NotKept::Damaged => {
                let why = "it has a good checksum, but is not what a search of this program writes";
                Err(NoAnswer::NotResumed(why.to_owned()))
            }
            NotKept::Read(error) if error.kind() == io::ErrorKind::Interrupted => {
                Ok(Limit::Interrupted)
            }
            NotKept::Read(error) => Err(NoAnswer::NotResumed(error.to_string())),
        }
    }
}

/// One of the searches, one after the other, that answer a question: what is kept says which one it is of, and how many
/// states those before it have visited.
pub(crate) struct Phase<'k> {
    pub(crate) keep: &'k dyn Keep,
    pub(crate) number: u8,
    pub(crate) before: u64,
}

impl<'k> Phase<'k> {
    /// The first one.
    pub(crate) fn first(keep: &'k dyn Keep) -> Phase<'k> {
        Phase { keep, number: 0, before: 0 }
    }

    /// The one that was kept, or else the first.
    pub(crate) fn of(keep: &'k dyn Keep) -> Result<Phase<'k>, NotKept> {
        let (number, before) = match keep.earlier() {
            None => (0, 0),
            Some(from) => Phase::head(&mut *from.map_err(NotKept::Read)?)?,
        };
        Ok(Phase { keep, number, before })
    }

    /// The one after this, which has visited so many states.
    pub(crate) fn next(&self, states: u64) -> Phase<'k> {
        Phase { number: self.number + 1, before: self.before + states, ..*self }
    }

    fn head(from: &mut dyn Read) -> Result<(u8, u64), NotKept> {
        let mut head = [0; 9];
        from.read_exact(&mut head).map_err(NotKept::Read)?;
        let (&number, states) = head.split_first().ok_or(NotKept::Damaged)?;
        let states = states.first_chunk().ok_or(NotKept::Damaged)?;
        Ok((number, u64::from_le_bytes(*states)))
    }
}

impl Keep for Phase<'_> {
    fn earlier(&self) -> Option<io::Result<Box<dyn Read + '_>>> {
        let mut from = match self.keep.earlier()? {
            Ok(from) => from,
            Err(error) => return Some(Err(error)),
        };
        match Phase::head(&mut *from) {
            Ok((number, _)) if number == self.number => Some(Ok(from)),
            // It is of an earlier search, which has ended since.
            Ok((number, _)) if number < self.number => None,
            Ok(_) | Err(_) => Some(Err(io::ErrorKind::InvalidData.into())),
        }
    }

    fn is_due(&self) -> bool {
        self.keep.is_due()
    }

    fn keep(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        self.keep.keep(&mut |to| {
            to.write_all(&[self.number])?;
            to.write_all(&self.before.to_le_bytes())?;
            write(to)
        });
    }
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

    /// Writes a number for each of these, after how many there are.
    pub(crate) fn all<T: Copy>(&mut self, items: &[T], one: impl Fn(&mut Self, T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|&item| one(self, item));
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

    /// Something for each of what [`Out::all`] has written.
    pub(crate) fn all<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, NotKept>,
    ) -> Result<Vec<T>, NotKept> {
        let count = self.at_most(u32::MAX)?;
        // Memory is taken only for what is there.
        (0..count).map(|_| one(self)).collect()
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

    /// So many bytes. Memory is taken only for what is there.
    pub(crate) fn block(&mut self, len: usize) -> Result<Vec<u8>, NotKept> {
        let mut all = Vec::new();
        while all.len() < len {
            let start = all.len();
            all.resize(len.min(start + BLOCK), 0);
            self.bytes(&mut all[start..])?;
        }
        Ok(all)
    }

    /// There must be nothing more.
    pub(crate) fn end(mut self) -> Result<(), NotKept> {
        if self.at < self.buffer.len() || self.fill()? { Err(NotKept::Damaged) } else { Ok(()) }
    }
}
