//! The calls that are on the stack of the current thread.

use crate::Runtime;

/// So many calls are told, and so many words of the stack are looked at.
const MOST: (usize, usize) = (12, 512);

impl Runtime {
    /// Where the program called, and where its callers seem to have: words on the stack that are addresses
    /// of the program. Some may be left from calls that are over.
    pub fn calls(&self) -> Vec<usize> {
        let call = self.call();
        let mut calls = vec![call.pc()];
        let slot = self.coroutines.slot(self.threads.current());
        if let Some(program) = self.reporter.modules().first()
            && slot.holds(call.addr())
        {
            let words = ((slot.top() - call.addr()) / 8).min(MOST.1);
            // SAFETY: the stack of the current thread reaches that far.
            let words = (0..words).map(|i| unsafe { call.word(i) } as usize);
            let calls_of_program = words.filter(|at| (program.base..program.end).contains(at));
            calls.extend(calls_of_program.take(MOST.0));
        }
        calls
    }
}
