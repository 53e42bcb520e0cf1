//! How it begins: the program's `main` is caught on its way to libc; the process becomes the keeper
//! of a worker that runs it, again and again.

use core::ffi::{CStr, c_char};
use core::sync::atomic::Ordering;

use std::ffi::CString;

use weakspot_core::Model;
use weakspot_live::wire::{Message, Place};
use weakspot_live::{Diverged, Ended, Extra, Next, Schedule, Transactions, Watch};

use crate::access::marks;
use crate::access::traps;
use crate::config::{self, Config};
use crate::entry::frame::{self, entry};
use crate::entry::native::native;
use crate::execution::ends;
use crate::execution::panics;
use crate::execution::watchdog;
use crate::memory::arena;
use crate::memory::heap;
use crate::memory::mappings;
use crate::memory::shadow::Shadow;
use crate::memory::snapshot::{self, Snapshot};
use crate::report;
use crate::runtime::{HOME, LIVE, Runtime, home};
use crate::schedule::buffers;
use crate::schedule::coroutine::{self, switch};
use crate::schedule::threads;
use crate::schedule::threads::Parked;
use crate::sys;
use crate::world::descriptors;
use crate::world::descriptors::Descriptors;

type Main = unsafe extern "C" fn(i32, *mut *mut c_char, *mut *mut c_char) -> i32;

/// Exit code of a worker that failed itself.
const DEFECT: i32 = 70;
/// What the program's first instructions call.
unsafe extern "C" fn start(
    main: Main,
    argc: i32,
    argv: *mut *mut c_char,
    init: usize,
    fini: usize,
    rtld_fini: usize,
) -> i32 {
    // The seventh argument is on the stack, beyond what the entry has pushed there.
    let stack_end = frame::stack_argument(0);
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
unsafe fn variable(name: &str) -> Option<String> {
    let mut name = name.as_bytes().to_vec();
    name.push(0);
    let value = libc::getenv(name.as_ptr().cast());
    (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
}

/// Ends a program that cannot be run under control.
fn give_up(text: &str) -> ! {
    sys::write_all(2, format!("weakspot: {text}\n").as_bytes());
    sys::quit(2)
}

/// Before anything of the program runs: same addresses in each run, and all symbols bound, because a
/// symbol that is bound during an execution is forgotten with it.
unsafe fn prepare(text: &str, main: Main, argc: i32, argv: *mut *mut c_char) {
    let config = match config::read(text) {
        Ok(config) => config,
        Err(error) => give_up(&format!("{}: {error}", config::VARIABLE)),
    };
    const ASK: u64 = 0xffff_ffff;
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
    let mut config = config;
    if let Some(path) = config.report.take() {
        config.fd = open_report(&path);
    }
    let Some(shadow) = arena::open().then(Shadow::open).flatten() else {
        give_up("failed to reserve memory")
    };
    let mut shadow = shadow;
    for &(addr, len) in &config.shared {
        shadow.set_shared(addr as usize, len as usize);
    }
    let strategy = config.plan.strategy(config.under != Model::Sc);
    let rt = Box::new(Runtime {
        mine: 0,
        mine_written: 0,
        alone: true,
        private_stores: 0,
        near: 0,
        quiet: 0,
        rounds: 0,
        current: 0,
        threads: Vec::new(),
        count: 0,
        unjoined: 0,
        next: Vec::new(),
        all: Vec::new(),
        buffered: false,
        special: 0,
        last: None,
        steps: 0,
        strategy,
        schedule: Schedule::new(),
        taken: Vec::new(),
        learning: false,
        ended: Ended::Over,
        wakes: Vec::new(),
        at_exit: Vec::new(),
        at_exit_before: 0,
        keys: Vec::new(),
        keys_before: (0, Vec::new()),
        exiting: false,
        base: 0,
        slots: Vec::new(),
        main_tcb: 0,
        can_write_fs: coroutine::can_write_fs(),
        heap: heap::Heap::default(),
        mappings: Vec::new(),
        finishers: Vec::new(),
        shadow,
        config,
        modules: Vec::new(),
        own_code: (0, 0),
        findings: Vec::new(),
        watch: None,
        unserializable: String::new(),
        transactions: Vec::new(),
        traps: Vec::new(),
        unsupported: Vec::new(),
        executions: 0,
        all_steps: 0,
        restarts: 0,
        cut: 0,
        guesses: 0,
        exits: 0,
        soiled: false,
        first_free: 0,
        files: Vec::new(),
        busy: false,
        silent_places: Vec::new(),
        sure: false,
        blocked: false,
        within: false,
        finished: None,
        stop: false,
        started: false,
        silent: false,
        said: panics::Said::default(),
        now: 0,
        random: 0,
        arguments: (argc as usize, argv as usize, 0),
        main: main as usize,
    });
    HOME.store(Box::into_raw(rt), Ordering::Relaxed);
    std::panic::set_hook(Box::new(|what| {
        let rt = home();
        // SAFETY: the runtime is there since before the hook was set.
        let fd = unsafe { (*rt).config.fd };
        report::tell(fd, &Message::Defect(what.to_string()));
        sys::quit(DEFECT);
    }));
}

/// The keeper, in the place of `main`: constructors have run, libc is ready.
unsafe extern "C" fn keep(argc: i32, argv: *mut *mut c_char, envp: *mut *mut c_char) -> i32 {
    let rt = home();
    (*rt).arguments = (argc as usize, argv as usize, envp as usize);
    (*rt).main_tcb = coroutine::thread_pointer();
    (*rt).at_exit_before = (*rt).at_exit.len();
    (*rt).keys_before.0 = (*rt).keys.len();
    let (modules, own) = snapshot::modules();
    (*rt).modules = modules;
    (*rt).own_code = own;
    (*rt).finishers = ends::finishers();
    report::modules(rt);
    (*rt).watch = monitors(rt);
    marks::find(rt);
    traps::set(rt);
    let began = sys::nanoseconds(libc::CLOCK_MONOTONIC);
    let mut told = began;
    // A worker that dies without having done anything would be followed by the next one for ever.
    let mut idle_deaths = 0;
    let how = loop {
        let before = ((*rt).executions, (*rt).restarts);
        let pid = libc::fork();
        match pid {
            -1 => give_up("failed to start a worker"),
            0 => work(rt),
            _ => {}
        }
        let status = watchdog::watch(rt, pid, began, &mut told);
        // Workers that are gone at once are not looked after for long.
        watchdog::look(rt, began, &mut told);
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == DEFECT {
            break "defect";
        }
        if let Some(how) = (*rt).finished {
            break how;
        }
        if (*rt).stop {
            break "timeout";
        }
        if (*rt).busy {
            // It died while it thought about what to do next, and nobody can go on with that.
            break "incomplete";
        }
        let lost = !(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        if (*rt).within && !lost {
            // By a system call that nobody saw.
            report::unsupported(rt, "exit or exec behind our back", 0);
            (*rt).ended = Ended::Cut;
            (*rt).next.clear();
            close(rt);
        } else if (*rt).within {
            let text = if libc::WIFSIGNALED(status) {
                format!("the process died of signal {}", libc::WTERMSIG(status))
            } else {
                format!("the process ended with status {}", libc::WEXITSTATUS(status))
            };
            report::finding(rt, "lost", Some((*rt).current), 0, &text);
            (*rt).ended = Ended::Over;
            (*rt).next.clear();
            close(rt);
        }
        idle_deaths =
            if ((*rt).executions, (*rt).restarts) == before { idle_deaths + 1 } else { 0 };
        if idle_deaths > 3 {
            break "defect";
        }
    };
    report::done(rt, how);
    sys::quit(0)
}

/// The worker: executions one after the other.
unsafe fn work(rt: *mut Runtime) -> ! {
    let args = [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize, 0, 0, 0, 0];
    sys::call(libc::SYS_prctl, args);
    ends::catch_crashes();
    traps::catch(rt);
    for t in 0..(*rt).slots.len() {
        coroutine::map_stack(t);
    }
    (*rt).silent = false;
    if (*rt).started {
        heap::map(rt);
        heap::restore(rt);
        quiet(rt);
    } else {
        heap::keep(rt);
        (*rt).started = true;
    }
    let mut snapshot = (!(*rt).config.fork).then(|| Snapshot::take(rt));
    // To look at what is open, libc allocates, and not for the program.
    let descriptors = heap::on_behalf_of_runtime(|| Descriptors::now((*rt).config.fd));
    (*rt).first_free = descriptors.free;
    (*rt).soiled = false;
    loop {
        if (*rt).stop {
            (*rt).finished = Some("timeout");
            break;
        }
        let limit = (*rt).config.executions;
        if limit > 0 && (*rt).executions >= limit {
            (*rt).finished = Some("limit");
            break;
        }
        if !(*rt).strategy.begin() {
            let complete = (*rt).strategy.complete();
            (*rt).finished = Some(if complete { "complete" } else { "incomplete" });
            break;
        }
        execute(rt);
        close(rt);
        quiet(rt);
        let Some(snapshot) = &mut snapshot else { break };
        if (*rt).soiled {
            break;
        }
        mappings::restore(rt);
        snapshot.restore();
        descriptors.restore();
        heap::restore(rt);
        snapshot::clear_stacks(rt);
    }
    sys::quit(0)
}

/// The monitors that the configuration asks for.
unsafe fn monitors(rt: *mut Runtime) -> Option<Watch> {
    let Config { models, fences, .. } = &(*rt).config;
    let address = |place: Place| match place.module {
        Some(m) => (&(*rt).modules).get(usize::from(m)).map(|m| m.base as u64 + place.offset),
        None => Some(place.offset),
    };
    let extra: Vec<Extra> = fences.iter().filter_map(|f| f.addressed(address)).collect();
    let transactions = match ((*rt).config.transactions.is_some(), (*rt).config.fence_transactions)
    {
        (false, _) => Transactions::None,
        (true, false) => Transactions::Watched,
        (true, true) => Transactions::Fenced,
    };
    (!models.is_empty() || transactions != Transactions::None)
        .then(|| Watch::new(models, &extra).with_transactions(transactions))
}

/// Opens the file for the report, with a number that the program will not get.
unsafe fn open_report(path: &str) -> i32 {
    let Ok(name) = CString::new(path) else { give_up("the name of the report has a zero byte") };
    let fd = libc::open(name.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC, 0o644);
    let far = if fd < 0 { fd } else { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, descriptors::FAR) };
    if far < 0 {
        give_up(&format!("failed to open {path}"));
    }
    sys::call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
    far
}

/// One execution.
unsafe fn execute(rt: *mut Runtime) {
    (*rt).within = true;
    if let Some(watch) = &mut (*rt).watch {
        watch.begin();
    }
    threads::begin(rt);
    if threads::add(rt, (*rt).main, 0).is_none() {
        give_up("failed to make a stack");
    }
    threads::enter(rt, 0);
    LIVE.store(rt, Ordering::Relaxed);
    let to = (&(*rt).threads)[0].sp;
    switch(&raw mut (*rt).base, to);
}

/// After an execution.
unsafe fn close(rt: *mut Runtime) {
    (*rt).busy = true;
    let count = (*rt).count;
    let threads = &(&(*rt).threads)[..count];
    if threads.iter().any(|t| matches!(t.parked, Some((_, Parked::Silent)))) {
        // Who knows what it would have done.
        (*rt).ended = Ended::Cut;
    }
    end_of(rt);
    (*rt).within = false;
    (*rt).busy = false;
}

unsafe fn end_of(rt: *mut Runtime) {
    let ended = (*rt).ended;
    if (*rt).learning {
        // The bytes that were learnt would have been scheduling points from the start.
        (*rt).restarts += 1;
        (*rt).strategy = (*rt).config.plan.strategy((*rt).config.under != Model::Sc);
        (*rt).executions = 0;
        (*rt).all_steps = 0;
        (*rt).cut = 0;
        (*rt).guesses = 0;
        (*rt).exits = 0;
        (*rt).watch = monitors(rt);
        report::again(rt);
        return;
    }
    if let Some(watch) = &mut (*rt).watch {
        let new = watch.end();
        if new > 0 {
            report::overtakings(rt, new);
        }
        if watch.unserializable() == (1, (*rt).executions) {
            (*rt).unserializable = (*rt).schedule.to_string();
        }
    }
    (*rt).executions += 1;
    if (*rt).stop && ended == Ended::Cut {
        // It would have gone on, had there been time: nothing is left for the strategy to learn.
        return;
    }
    if ended == Ended::Over {
        // It was not about to do that, it has done it.
        let current = (*rt).current;
        (*rt).next.retain(|n: &Next| n.agent.of() as usize != current);
    }
    (*rt).cut += u64::from(ended == Ended::Cut && (*rt).steps > (*rt).config.steps);
    if (*rt).config.under == Model::Sc {
        (*rt).strategy.end(ended, &(*rt).next);
    } else {
        let mut left = (*rt).next.clone();
        buffers::next(rt, &mut left);
        (*rt).strategy.end(ended, &left);
    }
    if let Some(diverged) = (*rt).strategy.diverged() {
        let Diverged { step, agent } = diverged;
        let (step, thread) = (step as u64, agent.of());
        report::tell((*rt).config.fd, &Message::Diverged { step, thread });
    }
}

/// From the second execution on, what the program prints is not shown.
unsafe fn quiet(rt: *mut Runtime) {
    if (*rt).config.all_output || (*rt).silent {
        return;
    }
    let null = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
    for fd in [1, 2] {
        if null >= 0 && fd != (*rt).config.fd {
            sys::call(libc::SYS_dup3, [null as usize, fd as usize, 0, 0, 0, 0]);
        }
    }
    sys::call(libc::SYS_close, [null as usize, 0, 0, 0, 0, 0]);
    (*rt).silent = true;
}

entry! {
    __libc_start_main => start;
}
