//! The calls that are on the stacks of threads.

use core::ops::Range;

use crate::Runtime;

/// So many calls are told, and so many words of the stack are looked at.
const MOST: (usize, usize) = (12, 512);

/// So many words a function has on the stack, that it is known to have begun.
const MOST_OF_ONE: usize = 1 << 16;

impl Runtime {
    /// Where the program called, and where its callers seem to have: words on the stack that are addresses
    /// of the program behind a call. Some may be left from calls that are over, but in a run whose functions say when
    /// they begin.
    pub fn calls(&self) -> Vec<usize> {
        let call = self.call();
        let mut calls = vec![call.pc()];
        calls.extend(self.calls_above(self.threads.current(), call.stack_pointer()));
        calls
    }

    /// The same by frame pointers, as far as the program has them: none is left from calls that are over.
    pub fn framed_calls(&self) -> Vec<usize> {
        let call = self.call();
        let Some(program) = self.reporter.modules().first() else { return Vec::new() };
        if !returns(call.pc(), &program.code) {
            return Vec::new();
        }
        let mut calls = vec![call.pc()];
        let slot = self.coroutines.slot(self.threads.current());
        let (mut frame, mut below) = (call.frame_pointer(), call.addr());
        while calls.len() < MOST.0
            && frame.is_multiple_of(8)
            && frame > below
            && slot.holds(frame)
            && slot.holds(frame + 15)
        {
            // SAFETY: both words are on the stack of the thread, above what it uses now; it belongs to the
            // program, so that they are only copied.
            let [next, at] = unsafe { (frame as *const [usize; 2]).read() };
            if !returns(at, &program.code) {
                break;
            }
            calls.push(at);
            (frame, below) = (next, frame);
        }
        calls
    }

    /// The same for a thread that does not run, and waits.
    pub fn calls_of(&self, t: usize) -> Vec<usize> {
        let thread = self.threads.get(t);
        let mut calls = vec![thread.announced_at()];
        if let Some(end) = thread.end_of_stack() {
            calls.extend(self.calls_above(t, end));
        }
        calls
    }

    /// Functions that have said that they began are known with where they return to; between them the stack is that of
    /// others.
    fn calls_above(&self, t: usize, from: usize) -> Vec<usize> {
        let slot = self.coroutines.slot(t);
        let Some(program) = self.reporter.modules().first() else { return Vec::new() };
        if !slot.holds(from) {
            return Vec::new();
        }
        let words = (slot.top() - from) / 8;
        // SAFETY: the stack of the thread reaches from there to its top, which stays as long as the
        // thread does; it belongs to the program, so that it is only copied.
        let word = |i: usize| unsafe { (from as *const usize).add(i).read() };
        let mut open = self.frames.open_of(t);
        let mut own = open.find(|function| function.sp >= from);
        let (mut calls, mut looked, mut at) = (Vec::new(), 0, 0);
        while at < words && looked < MOST.1 && calls.len() < MOST.0 {
            let mut back = word(at);
            if let Some(function) = own.filter(|function| function.sp <= from + 8 * at) {
                // What is before are its variables, and what was left there.
                let end = (at..words.min(at + MOST_OF_ONE)).find(|&i| word(i) == function.back);
                own = open.find(|around| around.sp >= from + 8 * end.map_or(at, |end| end + 1));
                let Some(end) = end else { continue };
                (at, back) = (end, function.back);
            } else {
                looked += 1;
            }
            if returns(back, &program.code) {
                calls.push(back);
            }
            at += 1;
        }
        calls
    }
}

/// Whether a call could return there: there is one before it.
fn returns(at: usize, code: &Range<usize>) -> bool {
    const LONGEST: usize = 7;
    if at < code.start + LONGEST || at >= code.end {
        return false;
    }
    // SAFETY: the instructions of the program stay where they are, and may be read.
    let before = unsafe { ((at - LONGEST) as *const [u8; LONGEST]).read() };
    // `call` to an address, or by a register or a word of memory: that is 2 in the three bits of the byte
    // behind 0xff, which says how many more belong to it.
    let direct = before[2] == 0xe8;
    let by =
        |back: usize| before[LONGEST - back] == 0xff && before[LONGEST - back + 1] & 0x38 == 0x10;
    direct || [2, 3, 4, 6, 7].into_iter().any(by)
}
