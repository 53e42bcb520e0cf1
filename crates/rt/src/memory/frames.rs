//! Variables on the stack of one thread that others use: they are gone when their function returns,
//! which is a step then.
//!
//! Which bytes of a stack others have touched is remembered over executions, as one range for each
//! thread. Only if there is one, functions announce that they begin and end. Functions that are left by
//! an exception or by `longjmp` do not say so: that is noticed when the next one says something.

use core::sync::atomic::Ordering;

use crate::access::functions::{FRAMES, NAMED};
use crate::config::MOST_THREADS;
use crate::schedule::coroutine::{LOCAL, STACKS, STRIDE};

/// What is known of the functions of all threads.
pub struct Frames {
    /// By thread: what others have touched of its stack.
    lent: Vec<Option<(usize, usize)>>,
    /// By thread: the functions that it is in.
    open: Vec<Vec<Open>>,
}

/// A function that has begun.
#[derive(Clone, Copy)]
pub struct Open {
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer, if it has one.
    pub bp: usize,
    /// Where in it that was.
    pub pc: usize,
    /// Where it returns to.
    pub back: usize,
}

/// A function that has ended.
pub struct Ended {
    pub function: Open,
    /// Where the one around it begins.
    pub around: Option<usize>,
    /// Its variables are not below this.
    pub below: usize,
    /// Where on the stack the address is that it returns to, if that is known.
    pub back: Option<usize>,
}

/// The thread on whose stack an address is.
pub fn stack_of(addr: usize) -> Option<usize> {
    let at = addr.checked_sub(STACKS)?;
    (at % STRIDE >= LOCAL).then_some(at / STRIDE)
}

impl Frames {
    /// Nothing.
    pub fn new() -> Frames {
        Frames { lent: Vec::new(), open: Vec::new() }
    }

    /// A process starts: functions say when they begin and end if that may matter.
    pub fn start(&self, traced: bool) {
        if traced {
            NAMED.fetch_or(FRAMES, Ordering::Relaxed);
        }
        self.watch();
    }

    /// Functions say when they begin and end if others use their variables. Whether they did not before.
    fn watch(&self) -> bool {
        let lent = self.lent.iter().any(Option::is_some);
        lent && NAMED.fetch_or(FRAMES, Ordering::Relaxed) & FRAMES == 0
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.open.iter_mut().for_each(Vec::clear);
    }

    /// Another thread touches bytes of a stack. Whether functions say only from now on when they begin.
    pub fn lend(&mut self, thread: usize, addr: usize, len: usize) -> bool {
        if self.lent.len() <= thread {
            self.lent.resize(thread + 1, None);
        }
        let lent = &mut self.lent[thread];
        let (from, to) = lent.unwrap_or((usize::MAX, 0));
        if from <= addr && addr + len <= to {
            return false;
        }
        *lent = Some((from.min(addr), to.max(addr + len)));
        self.watch()
    }

    /// Bytes are known to be shared: others have touched those that are on a stack, in executions that these
    /// were learnt from, and the steps of an execution depend on it.
    pub fn lend_all(&mut self, shared: &[(u64, u64)]) {
        for &(addr, len) in shared {
            if let Some(thread) = stack_of(addr as usize).filter(|&thread| thread < MOST_THREADS) {
                self.lend(thread, addr as usize, len as usize);
            }
        }
    }

    /// What others have touched of the stack of a thread.
    pub fn lent_by(&self, thread: usize) -> Option<(usize, usize)> {
        self.lent.get(thread).copied().flatten()
    }

    /// A function of a thread begins.
    pub fn enter(&mut self, thread: usize, function: Open) {
        self.leave(thread, function.sp);
        self.open[thread].push(function);
    }

    /// Forgets functions of a thread that are not there any more, with this stack pointer.
    fn leave(&mut self, thread: usize, sp: usize) {
        if self.open.len() <= thread {
            self.open.resize_with(thread + 1, Vec::new);
        }
        let open = &mut self.open[thread];
        while open.last().is_some_and(|last| last.sp < sp) {
            open.pop();
        }
    }

    /// The functions of a thread that have said that they began, the innermost first. Some may be over.
    pub fn open_of(&self, thread: usize) -> impl Iterator<Item = Open> + '_ {
        self.open.get(thread).into_iter().flatten().rev().copied()
    }

    /// The function whose variable an address is, if it has said that it began.
    pub fn owner(&self, addr: usize) -> Option<Open> {
        let open = self.open.get(stack_of(addr)?)?;
        open.iter().find(|function| function.sp <= addr).copied()
    }

    /// A function of a thread ends, as it says from `pc`: by a call, or by a jump once its frame is gone (as LLVM
    /// makes it of a call that comes last), which looks like a call from where it returns to.
    pub fn exit(&mut self, thread: usize, sp: usize, pc: usize) -> Option<Ended> {
        let open = self.open.get_mut(thread)?;
        while let Some(function) = open.pop() {
            let jumped = function.sp < sp && function.back == pc;
            // A function that has taken more of the stack since it began is below where it did. Others
            // were left without a word.
            if jumped || function.sp >= sp {
                let around = open.last().map(|around| around.sp);
                let (below, back) = if jumped { (function.sp, Some(sp - 8)) } else { (sp, None) };
                return Some(Ended { function, around, below, back });
            }
        }
        None
    }
}
