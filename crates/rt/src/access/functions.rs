//! Functions of the program of which it matters where they begin and end, and how many transactions are open.

use core::sync::atomic::{AtomicU8, Ordering};

/// Why it matters where functions begin and end: 0 if it does not.
pub static NAMED: AtomicU8 = AtomicU8::new(0);
/// A bit of [`NAMED`]: some functions are transactions.
pub const TRANSACTIONS: u8 = 1;
/// A bit of [`NAMED`]: other threads may use variables on the stack.
pub const FRAMES: u8 = 2;
/// A bit of [`NAMED`]: some functions are operations of channels.
pub const CHANNELS: u8 = 4;

/// Some functions of the program, from and to.
pub struct Functions(Vec<(usize, usize)>);

impl Functions {
    /// No functions: [`find`](Functions::find) adds them.
    pub fn new() -> Functions {
        Functions(Vec::new())
    }

    /// Those that the configuration has, of the program that begins at `base`; `why` it matters where they begin and end.
    pub fn find(&mut self, functions: &[(u64, u64)], base: usize, why: u8) {
        let range = |&(offset, len): &(u64, u64)| {
            let start = base.wrapping_add(offset as usize);
            (start, start.wrapping_add(len as usize))
        };
        self.0 = functions.iter().map(range).collect();
        self.0.sort_unstable();
        if !self.0.is_empty() {
            NAMED.fetch_or(why, Ordering::Relaxed);
        }
    }

    /// Where the one begins that has this address, to which it returns or at which it is called.
    pub fn start(&self, pc: usize) -> Option<usize> {
        let &(start, end) = self.0[..self.0.partition_point(|&(start, _)| start < pc)].last()?;
        (pc <= end).then_some(start)
    }

    /// Whether what returns to this address, or is called there, is one of them.
    pub fn hold(&self, pc: usize) -> bool {
        self.start(pc).is_some()
    }
}

/// How many transactions of a thread are open, within each other.
#[derive(Default)]
pub struct Nesting(u32);

impl Nesting {
    /// One more; whether it is the outermost.
    pub fn open(&mut self) -> bool {
        self.0 += 1;
        self.0 == 1
    }

    /// One less; whether it was the outermost.
    pub fn close(&mut self) -> bool {
        let was_open = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        was_open && self.0 == 0
    }
}
