//! All that the library knows, in one place in the arena.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use weakspot_live::{Agent, Ended, Next, Schedule, Strategy, Watch};

use crate::access::traps::Trap;
use crate::config::Config;
use crate::execution::panics::Said;
use crate::memory::heap::Heap;
use crate::memory::shadow::Shadow;
use crate::report::{Finding, Module};
use crate::schedule::coroutine::Slot;
use crate::schedule::threads::Thread;

/// The runtime, while threads of the program run under control; null in a program that runs on its
/// own, before its `main`, and between executions.
pub static LIVE: AtomicPtr<Runtime> = AtomicPtr::new(null_mut());

/// The runtime, once there is one.
pub static HOME: AtomicPtr<Runtime> = AtomicPtr::new(null_mut());

/// The runtime if the program is under control now, or null.
#[inline(always)]
pub fn live() -> *mut Runtime {
    LIVE.load(Ordering::Relaxed)
}

/// The runtime if there is one, or null.
#[inline(always)]
pub fn home() -> *mut Runtime {
    HOME.load(Ordering::Relaxed)
}

/// What the library knows.
pub struct Runtime {
    /// What a thread leaves in cells of memory that only it reads, and only it touches.
    pub mine: u16,
    /// The same for cells that it also writes.
    pub mine_written: u16,
    /// Whether no thread but the current one exists or has existed without being joined.
    pub alone: bool,
    /// How many stores to its own memory the current thread has made.
    pub private_stores: u64,
    /// The end of what it has written on its stack lately, close enough to be part of its state.
    pub near: usize,
    /// How many loads of its own memory the current thread made since its last step.
    pub quiet: u32,
    /// How often that were too many.
    pub rounds: u32,
    /// The thread that runs.
    pub current: usize,
    /// The threads of this execution, and room for those of later ones.
    pub threads: Vec<Thread>,
    /// How many of them belong to this execution.
    pub count: usize,
    /// How many of them were not joined, the first one left out.
    pub unjoined: usize,
    /// What threads are about to do, by rising number.
    pub next: Vec<Next>,
    /// The same with buffers, if there are any.
    pub all: Vec<Next>,
    /// Whether stores go through buffers now.
    pub buffered: bool,
    /// How many threads have something that must be looked at before somebody is chosen.
    pub special: usize,
    /// Who took the last step.
    pub last: Option<Agent>,
    /// How many steps this execution had.
    pub steps: u64,
    /// Who says who is next.
    pub strategy: Box<dyn Strategy>,
    /// What it said in this execution.
    pub schedule: Schedule,
    /// For each step that the monitors were told of, how many choices came before.
    pub taken: Vec<usize>,
    /// The strategy is not asked any more: this execution is only there to learn from.
    pub learning: bool,
    /// How the execution ended.
    pub ended: Ended,
    /// Wake-ups that were given and not yet taken, by address of what is waited for.
    pub wakes: Vec<(usize, u32)>,
    /// Functions to be called at the end of the program, and how many of them come from before
    /// `main`.
    pub at_exit: Vec<AtExit>,
    /// How many of them come from before `main`.
    pub at_exit_before: usize,
    /// What is called with a thread's value of a key when the thread ends, for each key.
    pub keys: Vec<Option<unsafe extern "C" fn(*mut libc::c_void)>>,
    /// How many keys come from before `main`, and what the first thread set them to.
    pub keys_before: (usize, Vec<usize>),
    /// The thread that is ending the program.
    pub exiting: bool,
    /// Where the worker goes on when an execution is over.
    pub base: usize,
    /// Stacks and thread-local storage.
    pub slots: Vec<Slot>,
    /// The thread pointer of the process.
    pub main_tcb: usize,
    /// Whether thread pointers can be changed without the kernel.
    pub can_write_fs: bool,
    /// The program's heaps, one per thread.
    pub heap: Heap,
    /// What the program has mapped in this execution: address and length.
    pub mappings: Vec<(usize, usize)>,
    /// Functions of the program that run at its end, after those that it registers.
    pub finishers: Vec<unsafe extern "C" fn()>,
    /// Who touched what.
    pub shadow: Shadow,
    /// What to do.
    pub config: Config,
    /// Files that are mapped.
    pub modules: Vec<Module>,
    /// The library's own code, from and to.
    pub own_code: (usize, usize),
    /// What was found.
    pub findings: Vec<Finding>,
    /// The monitors, if there are any.
    pub watch: Option<Watch>,
    /// The schedule of the first execution that is not serializable.
    pub unserializable: String,
    /// Functions that are transactions, from and to.
    pub transactions: Vec<(usize, usize)>,
    /// Instructions with a trap, by rising address.
    pub traps: Vec<Trap>,
    /// What was said to be unsupported.
    pub unsupported: Vec<&'static str>,
    /// Executions that are over.
    pub executions: u64,
    /// Steps of all of them.
    pub all_steps: u64,
    /// How often the exploration started again.
    pub restarts: u64,
    /// Executions that were given up because they had too many steps.
    pub cut: u64,
    /// How often a thread was taken to wait without certainty.
    pub guesses: u64,
    /// How many executions ended with an exit code that is not 0.
    pub exits: u64,
    /// The execution has left something in the kernel: the next one needs a new process.
    pub soiled: bool,
    /// The lowest number of a descriptor that was free before `main`.
    pub first_free: i32,
    /// Files of `stdio` that are locked, by whom, and how often.
    pub files: Vec<(usize, usize, u32)>,
    /// The strategy is at work, which may take its time and must not be interrupted.
    pub busy: bool,
    /// Where threads were found that take no steps any more.
    pub silent_places: Vec<usize>,
    /// The keeper asks why no step is taken: whether it is sure that none will be.
    pub sure: bool,
    /// It sees that the worker waits for something in the kernel.
    pub blocked: bool,
    /// Whether an execution is going on: set while the strategy expects its end.
    pub within: bool,
    /// Whether the worker has nothing left to do, and why.
    pub finished: Option<&'static str>,
    /// The keeper wants an end.
    pub stop: bool,
    /// Whether an execution was begun, ever.
    pub started: bool,
    /// Whether what the program prints has been switched off.
    pub silent: bool,
    /// What this execution has said about its failure.
    pub said: Said,
    /// Virtual time in nanoseconds.
    pub now: u64,
    /// State of what is random for the program.
    pub random: u64,
    /// What `main` gets.
    pub arguments: (usize, usize, usize),
    /// The program's `main`.
    pub main: usize,
}

/// A function to be called at the end of the program or of a thread.
#[derive(Clone, Copy)]
pub struct AtExit {
    /// The function.
    pub f: unsafe extern "C" fn(*mut libc::c_void),
    /// What it gets.
    pub arg: *mut libc::c_void,
}
