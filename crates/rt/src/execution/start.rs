//! How it begins: the program's `main` is caught on its way to libc; the process becomes the keeper
//! of a worker that runs it, again and again.

use core::ffi::{CStr, c_char};

use std::ffi::CString;

use weakspot_live::wire::{Message, SILENT};
use weakspot_live::{Diverged, Ended, Plan};

use crate::access::functions::{CHANNELS, Functions, TRANSACTIONS};
use crate::access::sites::Sites;
use crate::access::strings;
use crate::access::traps::Traps;
use crate::config;
use crate::entry::frame::{entry, latest};
use crate::entry::native::native;
use crate::execution::crashes::{SilentPlaces, catch_crashes};
use crate::execution::exits::Exits;
use crate::execution::exploration::Exploration;
use crate::execution::monitors::Monitors;
use crate::execution::panics::Said;
use crate::execution::parts::Parts;
use crate::execution::watchdog::{Watchdog, leave_keeper};
use crate::memory::arena;
use crate::memory::frames::Frames;
use crate::memory::heap::Heap;
use crate::memory::mappings::Mappings;
use crate::memory::shadow::Shadow;
use crate::memory::snapshot::{self, Snapshot};
use crate::report::{DEFECT, Reporter};
use crate::schedule::choice::Scheduler;
use crate::schedule::coroutine::Coroutines;
use crate::schedule::life;
use crate::schedule::spin::Private;
use crate::schedule::threads::{Parked, Start, Threads};
use crate::schedule::turns::channels::Channels;
use crate::sync::barriers::Barriers;
use crate::sync::keys::Keys;
use crate::sync::misuse::Destroyed;
use crate::sync::mutex::Owners;
use crate::sync::queues::WakeUps;
use crate::sync::verifier::Verifier;
use crate::sync::words::Words;
use crate::sys;
use crate::world::clock::Clock;
use crate::world::descriptors::{Descriptors, FAR, Outside};
use crate::world::kept;
use crate::world::stdio::Files;
use crate::{Rt, Runtime};

/// The type of the program's `main`.
pub type Main = unsafe extern "C" fn(i32, *mut *mut c_char, *mut *mut c_char) -> i32;

type Arguments = (i32, *mut *mut c_char, *mut *mut c_char);

/// The program as libc would have started it, and how far it has come.
pub struct Program {
    main: Main,
    /// What `main` gets.
    arguments: Arguments,
    /// Whether any execution has started.
    started: bool,
    /// Why the worker has nothing left to do, if so.
    finished: Option<&'static str>,
    /// Whether what the program prints has been switched off in this process.
    silent: bool,
}

impl Program {
    /// Its `main`.
    pub fn main(&self) -> Main {
        self.main
    }

    /// What `main` gets: how many arguments, where they are, where the environment is.
    pub fn arguments(&self) -> Arguments {
        self.arguments
    }
}

/// What the program's first instructions call. Exceptions that nobody catches pass it on the way to where the search for
/// a handler ends.
extern "C-unwind" fn start(
    main: Main,
    argc: i32,
    argv: *mut *mut c_char,
    init: usize,
    fini: usize,
    rtld_fini: usize,
) -> i32 {
    // The seventh argument is on the stack, beyond what the entry has pushed there.
    // SAFETY: `__libc_start_main` has seven arguments.
    let stack_end = unsafe { latest().stack_argument(0) };
    let main = match variable(config::VARIABLE) {
        Some(text) => {
            prepare(&text, main, argc, argv);
            keep as Main
        }
        None => main,
    };
    native!(__libc_start_main(main: Main, argc: i32, argv: *mut *mut c_char, init: usize, fini: usize, rtld_fini: usize, stack_end: usize) -> i32)
}

/// A variable of the environment.
fn variable(name: &str) -> Option<String> {
    let name = CString::new(name).ok()?;
    // SAFETY: nothing of the program runs yet that could change the environment.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// Ends a program that cannot be run under control.
fn give_up(text: &str) -> ! {
    sys::write_all(2, format!("weakspot: {text}\n").as_bytes());
    sys::quit(2)
}

/// Before anything of the program runs: makes the runtime.
fn prepare(text: &str, main: Main, argc: i32, argv: *mut *mut c_char) {
    let mut config = match config::read(text) {
        Ok(config) => config,
        Err(error) => give_up(&format!("{}: {error}", config::VARIABLE)),
    };
    settle_addresses(argv);
    if let Some(path) = config.report.take() {
        config.fd = open_far(&path, libc::O_WRONLY | libc::O_CREAT);
    }
    let parts = config.parts.take().map_or(-1, |path| open_far(&path, libc::O_RDONLY));
    let Some(mut shadow) = arena::open().then(Shadow::open).flatten() else {
        give_up("failed to reserve memory")
    };
    for &(addr, len) in &config.shared {
        shadow.set_shared(addr as usize, len as usize);
    }
    let mut frames = Frames::new();
    // Rust sees to it that variables outlive their users.
    if config.quiet_traps.is_empty() {
        frames.lend_all(&config.shared);
    }
    let fd = config.fd;
    let runtime = Runtime {
        private: Private::new(),
        threads: Threads::new(),
        coroutines: Coroutines::new(),
        scheduler: Scheduler::new(&config),
        exploration: Exploration::new(),
        parts: Parts::new(parts),
        shadow,
        heap: Heap::new(config.reuse),
        mappings: Mappings::new(),
        outside: Outside::new(),
        files: Files::new(),
        clock: Clock::new(),
        owners: Owners::new(),
        wake_ups: WakeUps::new(),
        words: Words::new(),
        mixed_swaps: false,
        barriers: Barriers::default(),
        verifier: Verifier::default(),
        destroyed: Destroyed::new(),
        frames,
        keys: Keys::new(),
        exits: Exits::new(),
        silent_places: SilentPlaces::new(),
        said: Said::default(),
        reporter: Reporter::new(fd),
        monitors: Monitors::new(),
        transactions: Functions::new(),
        channels: Channels::new(),
        patient: Sites::new(),
        locks: Sites::new(),
        unlocks: Sites::new(),
        rwlocks: Sites::new(),
        tries: Sites::new(),
        counts: Sites::new(),
        references: Sites::new(),
        parks: Sites::new(),
        unused: Sites::new(),
        traps: Traps::new(),
        program: Program {
            main,
            arguments: (argc, argv, core::ptr::null_mut()),
            started: false,
            finished: None,
            silent: false,
        },
        config,
    };
    // SAFETY: the arena was opened, and this runs once.
    unsafe { Rt::make(runtime) };
    std::panic::set_hook(Box::new(move |what| {
        crate::report::send(fd, &Message::Defect(what.to_string()));
        sys::quit(DEFECT);
    }));
}

/// Sees to it that addresses are the same in each run, and all symbols bound, because a symbol that
/// is bound during an execution is forgotten with it: if need be, the program starts again.
fn settle_addresses(argv: *mut *mut c_char) {
    const ASK: u64 = 0xffff_ffff;
    // SAFETY: nothing of the program runs yet. It is started again with its own arguments.
    unsafe {
        let personality = libc::personality(ASK);
        let random = personality & libc::ADDR_NO_RANDOMIZE == 0;
        if (random || variable("LD_BIND_NOW").is_none()) && variable("WEAKSPOT_AGAIN").is_none() {
            libc::personality((personality | libc::ADDR_NO_RANDOMIZE) as u64);
            libc::setenv(c"LD_BIND_NOW".as_ptr(), c"1".as_ptr(), 1);
            libc::setenv(c"WEAKSPOT_AGAIN".as_ptr(), c"1".as_ptr(), 1);
            libc::execv(c"/proc/self/exe".as_ptr(), argv.cast_const().cast());
            give_up("failed to start the program again at fixed addresses");
        }
        libc::unsetenv(c"WEAKSPOT_AGAIN".as_ptr());
        // What the program starts is not under control.
        libc::unsetenv(c"WEAKSPOT_RUN".as_ptr());
    }
}

/// Opens a file of ours, with a number that the program will not get.
fn open_far(path: &str, flags: i32) -> i32 {
    let Ok(name) = CString::new(path) else { give_up("the name of a file has a zero byte") };
    let far = sys::move_up(sys::open(&name, flags), FAR);
    if far < 0 {
        give_up(&format!("failed to open {path}"));
    }
    far
}

/// The keeper, in the place of `main`: constructors have run, libc is ready.
extern "C" fn keep(argc: i32, argv: *mut *mut c_char, envp: *mut *mut c_char) -> i32 {
    // SAFETY: libc calls this instead of `main`, so that nothing of the runtime is borrowed.
    let Some(mut rt) = (unsafe { Rt::home() }) else { sys::quit(DEFECT) };
    let rt = &mut rt;
    rt.program.arguments = (argc, argv, envp);
    rt.get_ready();
    let mut watchdog = Watchdog::new(rt);
    // A worker that dies without having done anything would be followed by the next one for ever.
    let mut idle_deaths = 0;
    let how = loop {
        let before = (rt.signals().executions(), rt.exploration.restarts());
        // SAFETY: there is one thread of the system, so that the child is as good as its parent.
        let pid = match unsafe { libc::fork() } {
            -1 => give_up("failed to start a worker"),
            0 => work(rt),
            pid => pid,
        };
        let status = watchdog.watch(pid);
        // Workers that are gone at once are not looked after for long.
        watchdog.look();
        if let Some(how) = rt.after_worker(status) {
            break how;
        }
        let after = (rt.signals().executions(), rt.exploration.restarts());
        idle_deaths = if after == before { idle_deaths + 1 } else { 0 };
        if idle_deaths > 3 {
            break "defect";
        }
    };
    rt.report_end(how);
    sys::quit(0)
}

impl Runtime {
    /// Before the first worker: what is there before `main`.
    fn get_ready(&mut self) {
        self.coroutines.libc_is_ready();
        self.exits.keep();
        self.keys.keep();
        let (modules, own_code) = snapshot::modules();
        self.reporter.set_modules(modules, own_code);
        self.monitors.start(&self.config, &self.reporter);
        let address = |place| self.reporter.address(place).map(|address| address as usize);
        let delayed = self.config.delayed.iter().filter_map(|&place| address(place));
        self.scheduler.delay_only(delayed.collect());
        let base = self.reporter.program();
        let transactions = self.config.transactions.as_deref().unwrap_or_default();
        self.transactions.find(transactions, base, TRANSACTIONS);
        self.channels.operations.find(&self.config.channels, base, CHANNELS);
        self.patient.find(&self.config.patient, base);
        self.locks.find(&self.config.locks, base);
        self.unlocks.find(&self.config.unlocks, base);
        self.rwlocks.find(&self.config.rwlocks, base);
        self.tries.find(&self.config.tries, base);
        self.counts.find(&self.config.counts, base);
        self.references.find(&self.config.references, base);
        self.parks.find(&self.config.parks, base);
        self.unused.find(&self.config.unused, base);
        // SAFETY: the configuration was made for this program, and only this function runs.
        unsafe { self.traps.set(&self.config, base) };
    }

    /// A worker is gone: how the exploration ends, if it does. Otherwise the next worker goes on.
    fn after_worker(&mut self, (status, given_up): (i32, bool)) -> Option<&'static str> {
        let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        if code == Some(DEFECT) {
            return Some("defect");
        }
        if self.program.finished.is_some() {
            return self.program.finished;
        }
        if self.signals().stopped() {
            return Some("timeout");
        }
        if self.signals().busy() {
            // It died while the strategy was at work, whose state is lost with that.
            return Some("incomplete");
        }
        if !self.signals().within() {
            return None;
        }
        if given_up {
            self.finding(SILENT, Some(self.threads.current()), 0, "");
            self.exploration.set_ended(Ended::Cut);
        } else if code == Some(0) {
            // By a system call that nobody saw.
            self.unsupported("exit or exec behind our back", 0);
            self.exploration.set_ended(Ended::Cut);
        } else {
            let text = match code {
                Some(code) => format!("the process ended with status {code}"),
                None => format!("the process died of signal {}", libc::WTERMSIG(status)),
            };
            self.finding("lost", Some(self.threads.current()), 0, &text);
            self.exploration.set_ended(Ended::Over);
        }
        self.scheduler.forget_next();
        self.close();
        None
    }
}

/// The worker: executions one after the other.
fn work(rt: &mut Rt) -> ! {
    let signals = rt.signals();
    leave_keeper();
    catch_crashes();
    rt.traps.catch(&rt.config);
    rt.frames.start(rt.config.trace);
    rt.coroutines.map();
    rt.program.silent = false;
    if rt.program.started {
        rt.heap.map();
        // SAFETY: nothing of the program runs.
        unsafe { rt.heap.restore(signals) };
        rt.silence();
    } else {
        rt.heap.keep();
        rt.program.started = true;
    }
    let mut snapshot = (!rt.config.fork).then(|| Snapshot::take(rt));
    let descriptors = Descriptors::now(rt.config.fd);
    rt.outside.begin(&descriptors);
    while execute(rt) {
        let Some(snapshot) = &mut snapshot else { break };
        if rt.outside.soiled() || !rt.outside.handlers.restore() {
            break;
        }
        rt.mappings.restore();
        // SAFETY: the program does not run, and its memory is mapped as it was when the snapshot was
        // taken.
        unsafe { snapshot.restore() };
        descriptors.restore();
        // SAFETY: the program does not run.
        unsafe {
            rt.heap.restore(signals);
            rt.clear_stacks();
        }
    }
    sys::quit(0)
}

/// One execution. `false`: there is nothing left to explore.
fn execute(rt: &mut Rt) -> bool {
    let limit = rt.config.executions;
    let finished = if rt.signals().stopped() {
        Some("timeout")
    } else {
        // A class of executions by what loads read says nothing about loads that nobody announced.
        let unannounced = rt.config.plan == Plan::Rf && rt.exploration.counts().alone > 0;
        rt.signals().set_busy(true);
        let how = rt.begin_next();
        rt.signals().set_busy(false);
        match how {
            Some("complete") if unannounced => Some("incomplete"),
            // Only if there is another one is the limit in its way.
            None if limit > 0 && rt.signals().executions() >= limit => Some("limit"),
            how => how,
        }
    };
    if finished.is_some() {
        rt.program.finished = finished;
        return false;
    }
    rt.begin();
    if life::add(rt, Start::Main).is_none() {
        give_up("failed to make a stack");
    }
    life::run_first(rt);
    rt.close();
    rt.silence();
    true
}

impl Runtime {
    /// Before an execution.
    fn begin(&mut self) {
        self.signals().set_within(true);
        self.monitors.begin();
        self.threads.clear();
        self.scheduler.clear(&self.config);
        self.exploration.clear();
        self.owners.clear();
        self.wake_ups.clear();
        self.words.clear();
        self.channels.clear();
        self.outside.handlers.begin();
        self.know_mixed_swaps();
        strings::begin();
        kept::begin();
        self.barriers.clear();
        self.verifier.clear();
        self.destroyed.clear();
        self.frames.clear();
        self.files.clear();
        self.exits.clear();
        self.keys.clear();
        self.said.clear();
        self.clock.clear(self.config.seed);
    }

    /// After an execution.
    fn close(&mut self) {
        self.signals().set_busy(true);
        let silent =
            self.threads.iter().enumerate().find_map(|(t, thread)| match thread.parked() {
                Some((pc, Parked::Silent)) => Some((t, pc)),
                _ => None,
            });
        if let Some((t, pc)) = silent {
            // What the thread would have done is not known, so that the execution was not seen to
            // its end.
            self.finding(SILENT, Some(t), pc, "");
            self.exploration.set_ended(Ended::Cut);
        }
        self.doubt_counts();
        self.look_for_time();
        self.look_for_mixed_swaps();
        if self.exploration.learning() {
            self.restart();
        } else {
            self.end_execution();
        }
        if self.signals().take_progress() {
            let (executions, steps) = (self.signals().executions(), self.signals().steps());
            self.reporter.send(&Message::Progress { executions, steps });
        }
        self.signals().set_within(false);
        self.signals().set_busy(false);
    }

    /// The exploration starts again: the bytes that were learnt would have been scheduling points
    /// from the start.
    fn restart(&mut self) {
        self.exploration.restart();
        self.scheduler.restart(&self.config);
        self.restart_part();
        self.signals().restart();
        self.monitors.start(&self.config, &self.reporter);
        self.reporter.again();
    }

    fn end_execution(&mut self) {
        let signals = self.signals();
        self.exploration.count_threads(self.threads.count());
        let ended = self.scheduler.ended(self.exploration.ended());
        self.monitors.end(&self.reporter, &self.exploration, signals.executions());
        // One that was given up is part of one that is known.
        if ended != Ended::Stopped {
            signals.add_execution();
            self.exploration.count();
            self.monitors.count();
        }
        if signals.stopped() && ended == Ended::Cut {
            // It would have gone on, had there been time: nothing is left for the strategy to learn.
            return;
        }
        if ended == Ended::Over {
            // What the current thread was about to do, it has done.
            self.scheduler.forget_next_of(self.threads.current());
        }
        let mut buffers = Vec::new();
        self.threads.next_of_buffers(&mut buffers);
        self.scheduler.end(ended, &buffers);
        if let Some(Diverged { step, agent }) = self.scheduler.strategy().diverged() {
            let (step, thread) = (step as u64, agent.of());
            self.reporter.send(&Message::Diverged { step, thread });
        }
    }

    /// From the second execution on, what the program prints is not shown.
    fn silence(&mut self) {
        if self.config.all_output || self.program.silent {
            return;
        }
        let null = sys::open(c"/dev/null", libc::O_WRONLY);
        for fd in [1, 2] {
            if null >= 0 && fd != self.config.fd {
                sys::copy_over(null, fd);
            }
        }
        sys::close(null);
        self.program.silent = true;
    }

    /// Clears the stacks of the threads that ran.
    ///
    /// # Safety
    /// None of them will go on.
    unsafe fn clear_stacks(&self) {
        for (t, thread) in self.threads.iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { self.coroutines.slot(t).clear(thread.lowest()) };
        }
    }
}

entry! {
    __libc_start_main => start;
}
