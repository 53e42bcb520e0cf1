//! What an execution has told the kernel about signals: handlers, the mask, the stack that handlers run
//! on. It is put back after the execution. Rust's standard library ignores SIGPIPE before each `main`,
//! so this is on the path of every execution of a program in Rust.

use core::ptr::null;

use crate::Rt;
use crate::entry::frame::stand_in;
use crate::entry::guest::Guest;
use crate::entry::native::native;
use crate::execution::crashes::is_caught;
use crate::execution::ends::refuse;
use crate::sys;
use crate::world::kept::{Kept, change, look};

/// How it was before `main`, of what the execution has changed.
pub struct Handlers {
    /// The actions of signals, each as it was before it was changed first.
    actions: Vec<(i32, Action)>,
    mask: Option<u64>,
    stack: Option<libc::stack_t>,
    /// Which signals threads have blocked, of those that have said so, or whose creators have. The kernel knows one
    /// thread only, and is told at each switch.
    masks: Vec<(usize, u64)>,
    /// Signals that threads have sent to themselves and blocked.
    raised: Vec<(usize, i32)>,
}

/// An action as the kernel has it: handler, flags, restorer, mask.
type Action = [usize; 4];

impl Handlers {
    /// Nothing is changed.
    pub fn new() -> Handlers {
        let (masks, raised) = (Vec::new(), Vec::new());
        Handlers { actions: Vec::new(), mask: None, stack: None, masks, raised }
    }

    /// Before an execution: all threads have the mask of the first.
    pub fn begin(&mut self) {
        self.masks.clear();
        self.raised.clear();
    }

    /// The program is about to change the action of a signal.
    fn keep_action(&mut self, signal: i32) {
        if self.actions.iter().any(|(known, _)| *known == signal) {
            return;
        }
        let mut action: Action = [0; 4];
        if ask_action(signal, null(), &raw mut action) {
            self.actions.push((signal, action));
        }
    }

    /// The program is about to change which signals are blocked.
    fn keep_mask(&mut self) {
        if self.mask.is_none() {
            let mut mask = 0_u64;
            set_mask(null(), &raw mut mask);
            self.mask = Some(mask);
        }
    }

    /// A thread has changed which signals are blocked for it.
    fn changed_mask(&mut self, thread: usize) {
        let mut mask = 0_u64;
        set_mask(null(), &raw mut mask);
        self.masks.retain(|(known, _)| *known != thread);
        self.masks.push((thread, mask));
    }

    fn mask_of(&self, thread: usize) -> Option<u64> {
        let own = self.masks.iter().find(|(known, _)| *known == thread);
        own.map(|(_, mask)| *mask).or(self.mask)
    }

    /// A thread becomes the current one.
    #[inline(always)]
    pub fn enter(&self, thread: usize) {
        if !self.masks.is_empty()
            && let Some(mask) = self.mask_of(thread)
        {
            set_mask(&raw const mask, core::ptr::null_mut());
        }
    }

    /// A thread creates another one, which has the same signals blocked.
    pub fn create(&mut self, by: usize, thread: usize) {
        if let Some(&(_, mask)) = self.masks.iter().find(|(known, _)| *known == by) {
            self.masks.push((thread, mask));
        }
    }

    /// A signal that a thread has sent to itself, and that is not blocked any more.
    fn take_raised(&mut self, thread: usize) -> Option<i32> {
        let open = |&(of, signal): &(usize, i32)| of == thread && !is_blocked(signal);
        let at = self.raised.iter().position(open)?;
        Some(self.raised.remove(at).1)
    }

    /// The program is about to change the stack of handlers.
    fn keep_stack(&mut self) {
        if self.stack.is_none() {
            // SAFETY: a description of a stack is plain numbers.
            let mut stack: libc::stack_t = unsafe { core::mem::zeroed() };
            set_stack(null(), &raw mut stack);
            self.stack = Some(stack);
        }
    }

    /// Puts back what the execution has changed. `false`: a signal that was blocked is still to come,
    /// and would come to the next execution.
    pub fn restore(&mut self) -> bool {
        let waits = !self.raised.is_empty();
        if self.mask.is_some() && (waits || is_pending()) {
            return false;
        }
        for (signal, action) in self.actions.drain(..) {
            ask_action(signal, &raw const action, core::ptr::null_mut());
        }
        if let Some(mask) = self.mask.take() {
            set_mask(&raw const mask, core::ptr::null_mut());
        }
        if let Some(stack) = self.stack.take() {
            set_stack(&raw const stack, core::ptr::null_mut());
        }
        true
    }
}

/// Signals in a mask of the kernel are bits of 8 bytes.
const MASK: usize = 8;

/// Asks for the action of a signal, or sets it, if there is one; whether there is such a signal.
fn ask_action(signal: i32, new: *const Action, old: *mut Action) -> bool {
    let args = [signal as usize, new as usize, old as usize, MASK, 0, 0];
    // SAFETY: the kernel reads one action and writes the other; one that is set was got from it.
    unsafe { sys::call(libc::SYS_rt_sigaction, args) == 0 }
}

/// Whether a signal waits for being allowed.
fn is_pending() -> bool {
    let mut pending = 0_u64;
    let args = [&raw mut pending as usize, MASK, 0, 0, 0, 0];
    // SAFETY: the kernel writes the mask.
    let known = unsafe { sys::call(libc::SYS_rt_sigpending, args) == 0 };
    !known || pending != 0
}

fn set_mask(new: *const u64, old: *mut u64) {
    let args = [libc::SIG_SETMASK as usize, new as usize, old as usize, MASK, 0, 0];
    // SAFETY: the kernel reads one mask and writes the other.
    unsafe { sys::call(libc::SYS_rt_sigprocmask, args) };
}

fn set_stack(new: *const libc::stack_t, old: *mut libc::stack_t) {
    // SAFETY: the kernel reads one description and writes the other; one that is set was got from it.
    unsafe { sys::call(libc::SYS_sigaltstack, [new as usize, old as usize, 0, 0, 0, 0]) };
}

/// Whether a signal waits until it is no longer blocked.
fn is_blocked(signal: i32) -> bool {
    let mut mask = 0_u64;
    set_mask(null(), &raw mut mask);
    mask >> (signal - 1) & 1 != 0
}

/// The current thread sends a signal to itself. While the kernel runs a handler, its signal is blocked for all threads, because to the
/// kernel ours are one. So the handler is called, which is over before this returns, too.
pub fn raise_own(rt: &mut Rt, signal: i32) -> i32 {
    look(rt, Kept::Handlers);
    let mut action: Action = [0; 4];
    let known = ask_action(signal, null(), &raw mut action);
    let [handler, flags, ..] = action;
    let handled = known && ![libc::SIG_DFL, libc::SIG_IGN].contains(&handler);
    if !handled || rt.threads.alone() {
        return native!(raise(signal: i32) -> i32);
    }
    if is_blocked(signal) {
        // Others may not have blocked it.
        let mine = (rt.threads.current(), signal);
        if !rt.outside.handlers.raised.contains(&mine) {
            rt.outside.handlers.raised.push(mine);
        }
        return 0;
    }
    if flags & (libc::SA_SIGINFO | libc::SA_RESETHAND | libc::SA_ONSTACK) as usize != 0 {
        let pc = rt.pc();
        refuse(rt, "raise beside other threads", pc);
    }
    // SAFETY: the program has said that this function handles the signal, by its number alone.
    let handler: extern "C" fn(i32) = unsafe { core::mem::transmute(handler) };
    rt.run_program(|| handler(signal));
    0
}

/// After the current thread has changed which signals are blocked for it.
fn mask_changed(rt: &mut Rt) {
    let me = rt.threads.current();
    rt.outside.handlers.changed_mask(me);
    while let Some(signal) = rt.outside.handlers.take_raised(me) {
        raise_own(rt, signal);
    }
}

stand_in! {
    fn raise(rt, signal: i32) -> i32 {
        raise_own(rt, signal)
    }

    /// The program's own handlers of crashes would hide them.
    fn sigaction(rt, signal: i32, new: Guest<libc::sigaction>, old: Guest<libc::sigaction>) -> i32 {
        let new = if is_caught(signal) { Guest::null() } else { new };
        if new.given().is_none() {
            look(rt, Kept::Handlers);
        } else {
            change(rt, Kept::Handlers);
            rt.outside.handlers.keep_action(signal);
        }
        native!(sigaction(signal: i32, new: Guest<libc::sigaction>, old: Guest<libc::sigaction>) -> i32)
    }

    fn signal(rt, signal: i32, handler: usize) -> usize {
        if is_caught(signal) {
            return libc::SIG_DFL;
        }
        change(rt, Kept::Handlers);
        rt.outside.handlers.keep_action(signal);
        native!(signal(signal: i32, handler: usize) -> usize)
    }

    fn sigprocmask(rt, how: i32, new: usize, old: usize) -> i32 {
        rt.outside.handlers.keep_mask();
        let answer = native!(sigprocmask(how: i32, new: usize, old: usize) -> i32);
        mask_changed(rt);
        answer
    }

    fn pthread_sigmask(rt, how: i32, new: usize, old: usize) -> i32 {
        rt.outside.handlers.keep_mask();
        let answer = native!(pthread_sigmask(how: i32, new: usize, old: usize) -> i32);
        mask_changed(rt);
        answer
    }

    fn sigaltstack(rt, new: usize, old: usize) -> i32 {
        rt.outside.handlers.keep_stack();
        native!(sigaltstack(new: usize, old: usize) -> i32)
    }
}
