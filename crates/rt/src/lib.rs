//! The library inside of an instrumented program: its threads are coroutines of one thread of the
//! system, its memory is put back after each execution, and everything that threads may notice of
//! each other is announced to a [`Strategy`](weakspot_live::Strategy) that says who goes on.
//!
//! Without `WEAKSPOT_RUN` in the environment it does nothing.
//!
//! What the `unsafe` in here relies on, besides what each block says:
//! - There is one thread of the system while the program is under control.
//! - Functions that stand in for one of libc get what the caller would have given to that one
//!   (`entry/guest.rs`); where the program breaks that rule it crashes here as it would have there,
//!   and that is reported as its crash.
//! - The runtime and all that it owns is in the arena, which the program does not know.
//!
//! # Who may switch coroutines
//!
//! A function that takes `&mut Rt` may switch to another thread of the program, or call a function of
//! the program (`Rt::run_program`), which may switch. A function that takes a part of the `Runtime`, or
//! a reference to all of it, cannot: it has no `Rt`, and only entries of the library make one.
//!
//! So the compiler sees to it that no reference lives across a switch. Whatever is borrowed from the
//! runtime is borrowed from an `Rt`; a call that takes `&mut Rt` needs all of it, which ends every
//! such borrow. Each thread that is in the middle of a call has an `Rt` of its own, but only that of
//! the thread that runs is in use.
//!
//! # The files
//!
//! Calls of the program come in through `entry/`, which keeps the caller's registers and calls libc
//! where the program is not under control. `access/` announces loads and stores, `sync/` what
//! threads do with each other, `world/` what they do with time, files and the kernel; all of them
//! take turns through `schedule/`, where threads are coroutines and a strategy is asked who goes
//! on. `execution/` is the keeper and its worker, a process that runs `main` again and again, after
//! `memory/` has put back what it changed; there `blocks.rs` knows what belongs to blocks of the
//! heap, `frames.rs` which variables on stacks others use, and `errors.rs` what is wrong with an
//! access. What outlives a worker is in the arena (`memory/arena.rs`). `lib.rs` has the parts of
//! all that and says who may switch to another thread: a function that takes `&mut Rt`, and no
//! other, so that the compiler ends every borrow before a switch. `config.rs` is what the library
//! is told, `report.rs` what it reports.

mod access;
mod config;
mod entry;
mod execution;
mod memory;
mod report;
mod schedule;
mod sync;
mod sys;
mod world;

use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::access::functions::Functions;
use crate::access::sites::Sites;
use crate::access::traps::Traps;
use crate::config::Config;
use crate::execution::crashes::SilentPlaces;
use crate::execution::exits::Exits;
use crate::execution::exploration::Exploration;
use crate::execution::monitors::Monitors;
use crate::execution::panics::Said;
use crate::execution::parts::Parts;
use crate::execution::signals::Signals;
use crate::execution::start::Program;
use crate::memory::arena;
use crate::memory::frames::Frames;
use crate::memory::heap::Heap;
use crate::memory::mappings::Mappings;
use crate::memory::shadow::Shadow;
use crate::report::Reporter;
use crate::schedule::choice::Scheduler;
use crate::schedule::coroutine::Coroutines;
use crate::schedule::spin::Private;
use crate::schedule::threads::Threads;
use crate::schedule::turns::channels::Channels;
use crate::sync::barriers::Barriers;
use crate::sync::keys::Keys;
use crate::sync::misuse::Destroyed;
use crate::sync::mutex::Owners;
use crate::sync::queues::WakeUps;
use crate::sync::verifier::Verifier;
use crate::sync::words::Words;
use crate::world::clock::Clock;
use crate::world::descriptors::Outside;
use crate::world::stdio::Files;

#[global_allocator]
static ARENA: arena::Arena = arena::Arena;

/// What the library knows. Each part is described, and changed, in the file of its subject.
pub(crate) struct Runtime {
    /// What the library is told to do.
    pub config: Config,
    /// What the current thread does with memory that only it touches.
    pub private: Private,
    /// The threads of the program.
    pub threads: Threads,
    /// The coroutines that the threads run on.
    pub coroutines: Coroutines,
    /// What they are about to do, and who says who goes on.
    pub scheduler: Scheduler,
    /// How far the exploration is, and how the execution goes.
    pub exploration: Exploration,
    /// Which parts of the whole are explored.
    pub parts: Parts,
    /// Who touched which bytes.
    pub shadow: Shadow,
    /// Variables on stacks that others use.
    pub frames: Frames,
    /// The program's heaps.
    pub heap: Heap,
    /// What the program has mapped itself.
    pub mappings: Mappings,
    /// What the program has changed in the kernel.
    pub outside: Outside,
    /// Files of libc that are locked.
    pub files: Files,
    /// A compare-and-swap is an update even if it fails.
    pub mixed_swaps: bool,
    /// Virtual time, and chance.
    pub clock: Clock,
    /// Who holds which locks.
    pub owners: Owners,
    /// Wake-ups that nobody has taken yet.
    pub wake_ups: WakeUps,
    /// Words that Rust's standard library waits for.
    pub words: Words,
    /// Barriers, and who came to them.
    pub barriers: Barriers,
    /// Which thread is in an atomic part, and what was chosen.
    pub verifier: Verifier,
    /// Locks that were destroyed.
    pub destroyed: Destroyed,
    /// Keys of thread-specific values.
    pub keys: Keys,
    /// Functions to be called at the end of the program.
    pub exits: Exits,
    /// Where threads were found that take no steps any more.
    pub silent_places: SilentPlaces,
    /// What this execution has said about its failure.
    pub said: Said,
    /// What was found, and to whom it is reported.
    pub reporter: Reporter,
    /// What the monitors have seen.
    pub monitors: Monitors,
    /// Functions that are transactions.
    pub transactions: Functions,
    /// Operations of channels.
    pub channels: Channels,
    /// Calls from loops in which channels wait.
    pub patient: Sites,
    /// Where mutexes of Rust are taken, or waited for.
    pub locks: Sites,
    /// Where they are freed.
    pub unlocks: Sites,
    /// Where read-write locks of Rust are taken and freed.
    pub rwlocks: Sites,
    /// Where threads try to take one for reading.
    pub tries: Sites,
    /// Where something is counted of which only the last update is noticed.
    pub counts: Sites,
    /// Where references are counted.
    pub references: Sites,
    /// Where threads of Rust begin to park.
    pub parks: Sites,
    /// Additions whose results nobody uses.
    pub unused: Sites,
    /// Instructions that are announced by a trap.
    pub traps: Traps,
    /// The program as libc would have started it.
    pub program: Program,
}

/// What is at the beginning of the arena. The signals are beside the runtime and not in it, because
/// the keeper looks at them while its worker uses the rest.
struct Home {
    signals: Signals,
    runtime: Runtime,
}

const HOME: *mut Home = arena::FIRST as *mut Home;
const _: () = assert!(size_of::<Home>() <= arena::FIRST_SIZE);

/// Whether threads of the program run under control: not in a program that runs on its own, nor
/// before its `main` or between executions.
pub(crate) static LIVE: AtomicBool = AtomicBool::new(false);

/// Whether the runtime is in its place.
static READY: AtomicBool = AtomicBool::new(false);

/// The right to use the runtime, and to switch to other threads of the program.
pub(crate) struct Rt(());

impl Rt {
    /// The runtime, if the program is under control now.
    ///
    /// # Safety
    /// The caller was called by the program, directly or by a signal, and returns to it before the
    /// code of the library that was interrupted, if any, goes on: so no other `Rt` is in use.
    #[inline(always)]
    pub unsafe fn live() -> Option<Rt> {
        LIVE.load(Ordering::Relaxed).then_some(Rt(()))
    }

    /// The runtime, if there is one.
    ///
    /// # Safety
    /// As for [`Rt::live`].
    #[inline(always)]
    pub unsafe fn home() -> Option<Rt> {
        READY.load(Ordering::Relaxed).then_some(Rt(()))
    }

    /// Puts the runtime in its place.
    ///
    /// # Safety
    /// The arena is open, and there is no runtime yet.
    pub unsafe fn make(runtime: Runtime) -> Rt {
        // SAFETY: the arena keeps this place, which is large enough and aligned to pages.
        unsafe { HOME.write(Home { signals: Signals::new(), runtime }) };
        READY.store(true, Ordering::Relaxed);
        Rt(())
    }

    /// Calls a function of the program. It comes back into the library, with an `Rt` of its own, and
    /// may switch: so nothing may be borrowed from this one. Its calls are over then, and that goes on
    /// which was handled before. Always a part of its caller: exceptions of C++ that nobody catches would find a frame
    /// that they must not leave.
    #[inline(always)]
    pub fn run_program<R>(&mut self, f: impl FnOnce() -> R) -> R {
        let call = entry::frame::latest();
        entry::frame::clear_below();
        let result = f();
        entry::frame::go_on(call);
        result
    }

    /// Whether the program is under control now, and not between executions.
    pub fn is_live(&self) -> bool {
        LIVE.load(Ordering::Relaxed)
    }

    /// The program is under control from now on, or is not any more.
    pub fn set_live(&mut self, live: bool) {
        LIVE.store(live, Ordering::Relaxed);
    }
}

impl Runtime {
    /// What the keeper and its worker say to each other.
    #[inline(always)]
    pub fn signals(&self) -> &'static Signals {
        signals()
    }
}

impl Rt {
    /// What the keeper and its worker say to each other, without a look at the runtime.
    pub fn signals(&self) -> &'static Signals {
        signals()
    }
}

#[inline(always)]
fn signals() -> &'static Signals {
    // SAFETY: whoever has an `Rt`, or what it refers to, comes after `make`; signals are beside the
    // runtime, and atomic.
    unsafe { &(*HOME).signals }
}

impl Deref for Rt {
    type Target = Runtime;

    #[inline(always)]
    fn deref(&self) -> &Runtime {
        // SAFETY: an `Rt` exists only after `make`. That of the thread that runs is the only one in
        // use, and what is borrowed from it ends before others run, see the head of this file.
        unsafe { &(*HOME).runtime }
    }
}

impl DerefMut for Rt {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Runtime {
        // SAFETY: as for `deref`.
        unsafe { &mut (*HOME).runtime }
    }
}
