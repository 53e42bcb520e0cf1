//! Where things stand in a source text, and what they are called there.

use crate::{LocId, RegId, ThreadId};

/// A piece of source text, as byte offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from byte `start` up to, not including, byte `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Span {
        let clamp = |n| u32::try_from(n).unwrap_or(u32::MAX);
        Span { start: clamp(start), end: clamp(end) }
    }

    /// Line and column of the start, both from 1; columns count characters.
    #[must_use]
    pub fn line_column(self, text: &str) -> (usize, usize) {
        let mut at = (self.start as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let line_start = text[..at].rfind('\n').map_or(0, |n| n + 1);
        let line = text[..at].bytes().filter(|&b| b == b'\n').count() + 1;
        (line, text[line_start..at].chars().count() + 1)
    }
}

/// What the parts of a program are called. Engines never look in here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The program.
    pub program: String,
    /// Its threads.
    pub threads: Vec<String>,
    /// The registers of each thread.
    pub regs: Vec<Vec<String>>,
    /// The memory locations, then the wide places.
    pub locs: Vec<String>,
    /// The control points of each thread; unnamed ones are empty.
    pub points: Vec<Vec<String>>,
    /// The components of a final state, such as `0:EAX` and `x`.
    pub observed: Vec<String>,
    /// The condition as the user would write it, without the quantifier.
    pub condition: String,
    /// A value that equals the address of a location is to be shown as its name.
    pub addresses_are_symbolic: bool,
    /// What holds numbers without a sign.
    pub unsigned: Unsigned,
}

/// Which locations and registers hold numbers of 64 bits without a sign: it is a matter of how they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsigned {
    /// Whether each location is unsigned; missing ones are signed.
    pub locs: Vec<bool>,
    /// The same for the registers of each thread.
    pub regs: Vec<Vec<bool>>,
}

impl Unsigned {
    /// Whether a location is unsigned.
    #[must_use]
    pub fn loc(&self, loc: LocId) -> bool {
        self.locs.get(loc.index()).is_some_and(|unsigned| *unsigned)
    }

    /// Whether a register of a thread is unsigned.
    #[must_use]
    pub fn reg(&self, thread: ThreadId, reg: RegId) -> bool {
        let regs = self.regs.get(thread.index());
        regs.and_then(|regs| regs.get(reg.index())).is_some_and(|unsigned| *unsigned)
    }
}

impl Names {
    /// The name of a thread.
    #[must_use]
    pub fn thread(&self, t: ThreadId) -> &str {
        &self.threads[t.index()]
    }

    /// The name of a location.
    #[must_use]
    pub fn loc(&self, l: LocId) -> &str {
        &self.locs[l.index()]
    }
}
