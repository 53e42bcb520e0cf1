//! Which functions of the program are transactions, and how many are open.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::config::Config;
use crate::report::Reporter;

/// Why it matters where functions begin and end: 0 if it does not.
pub static NAMED: AtomicU8 = AtomicU8::new(0);
/// A bit of [`NAMED`]: some functions are transactions.
const SOME: u8 = 1;
/// A bit of [`NAMED`]: other threads may use variables on the stack.
pub const FRAMES: u8 = 2;

/// Functions of the program that are transactions, from and to.
pub struct Transactions(Vec<(usize, usize)>);

impl Transactions {
    /// No functions: [`find`](Transactions::find) adds them.
    pub fn new() -> Transactions {
        Transactions(Vec::new())
    }

    /// Finds the functions that the configuration names.
    pub fn find(&mut self, config: &Config, reporter: &Reporter) {
        let Some(ranges) = &config.transactions else { return };
        let base = reporter.program();
        let range = |&(offset, len): &(u64, u64)| {
            let start = base.wrapping_add(offset as usize);
            (start, start.wrapping_add(len as usize))
        };
        self.0 = ranges.iter().map(range).collect();
        NAMED.store(if self.0.is_empty() { 0 } else { SOME }, Ordering::Relaxed);
    }

    /// Whether what returns to this address, or is called there, is one of them.
    pub fn holds(&self, pc: usize) -> bool {
        self.0.iter().any(|&(start, end)| start < pc && pc <= end)
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
