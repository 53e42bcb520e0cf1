//! Who runs: threads announce what they are about to do, the strategy says who goes on.

use std::fmt::Write;

use weakspot_core::Model;
use weakspot_live::wire::{Message, TracedStep};
use weakspot_live::{Agent, Choice, Ended, Next, Op, OpKind, Plan, Step, waits};

use crate::access::plain::{Order, Pending};
use crate::entry::frame::FRAME;
use crate::execution::ends;
use crate::memory::shadow::mark;
use crate::report;
use crate::runtime::{AtExit, LIVE, Runtime};
use crate::schedule::buffers::{self, Buffer};
use crate::schedule::coroutine::{self, make_slot, set_thread_pointer, switch};
use crate::schedule::spin::{Idle, Spin};
use crate::sync::unwind::Exception;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

/// Whether what a thread waits for is there; the argument is what it said when it began to wait.
pub type Ready = unsafe fn(rt: *mut Runtime, thread: usize, arg: usize) -> bool;

/// What a thread does that waits for something which does not come.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Patience {
    /// It waits for ever.
    #[default]
    Endless,
    /// It may give up at any time: nobody knows how long a span of time is for the others.
    Timed,
    /// It goes on when nobody else can do anything.
    Last,
}

/// A step whose kind depends on what is in memory when it is taken.
#[derive(Clone, Copy)]
pub enum Varying {
    /// An update if so many bytes at the address are as expected, else a comparison.
    Exchange(usize, u32, u128),
    /// Something else.
    Other(unsafe fn(rt: *mut Runtime, arg: usize) -> OpKind, usize),
}

impl Varying {
    /// What it would be now.
    unsafe fn kind(self, rt: *mut Runtime) -> OpKind {
        match self {
            Varying::Exchange(addr, len, expected) => {
                let equal = crate::access::plain::bytes(addr, len) == expected;
                if equal { OpKind::Update } else { OpKind::Compare }
            }
            Varying::Other(kind, arg) => kind(rt, arg),
        }
    }
}

/// A thread of the program.
#[derive(Default)]
pub struct Thread {
    /// Where it goes on.
    pub sp: usize,
    /// The lowest address of its stack that is known to have been used.
    pub lowest: usize,
    /// What it runs, and with which argument.
    pub start: (usize, usize),
    /// What it returned.
    pub value: usize,
    /// It has no steps left.
    pub over: bool,
    /// Nobody will join it.
    pub detached: bool,
    /// Somebody has.
    pub joined: bool,
    /// Its place in [`Runtime::next`].
    pub position: usize,
    /// What it waits for.
    ready: Option<(Ready, usize)>,
    /// What happens if that does not come.
    patience: Patience,
    /// What kind of step it is about to take depends on memory.
    varying: Option<Varying>,
    /// One of the three above holds, or it waits in a loop.
    special: bool,
    /// It will never take a step again: where it is, and why.
    pub parked: Option<(usize, Parked)>,
    /// A store that it was allowed to do and has done by its next call.
    pub pending: Option<Pending>,
    /// Its stores that others do not see yet.
    pub buffer: Buffer,
    /// How many steps it made that changed shared memory; taking and freeing a lock, which loops
    /// do in turn, is none.
    pub stores: u64,
    /// How many locks it holds.
    pub held: u32,
    /// How many transactions are open, within each other.
    pub depth: u32,
    /// How many stores to its own memory, while it does not run, and how far on its stack.
    pub private_stores: u64,
    near: usize,
    /// What it has read lately.
    pub spin: Spin,
    /// The queue that it waits in, and whether it may take a wake-up that was given to it.
    pub queue: Option<(usize, bool)>,
    /// The round of a barrier that it waits for.
    pub round: u32,
    /// The last of what its functions have registered to be cleaned up.
    pub cleanup: usize,
    /// Where on its stack the functions of the program begin.
    pub first: usize,
    /// By which it ends in the middle of them.
    pub exception: Exception,
    /// What is to be called when it ends.
    pub at_exit: Vec<AtExit>,
    /// Its values of keys.
    pub keys: Vec<usize>,
}

/// Makes everything ready for an execution, with thread 0 about to start.
pub unsafe fn begin(rt: *mut Runtime) {
    (*rt).count = 0;
    (*rt).unjoined = 0;
    (*rt).alone = true;
    (*rt).next.clear();
    (*rt).special = 0;
    (*rt).buffered = (*rt).config.under != Model::Sc;
    (*rt).last = None;
    (*rt).schedule.clear();
    (*rt).taken.clear();
    (*rt).steps = 0;
    (*rt).learning = false;
    (*rt).ended = Ended::Over;
    (*rt).wakes.clear();
    (*rt).files.clear();
    (*rt).exiting = false;
    (*rt).now = 0;
    (*rt).said.clear();
    (*rt).random = (*rt).config.seed;
    let keys = (*rt).keys_before.0;
    (*rt).keys.truncate(keys);
    let before = (*rt).at_exit_before;
    (*rt).at_exit.truncate(before);
}

/// A new thread, which takes its first step when it is chosen. `None`: there are too many.
pub unsafe fn add(rt: *mut Runtime, start: usize, arg: usize) -> Option<usize> {
    let t = (*rt).count;
    if t >= (*rt).config.threads {
        return None;
    }
    if (*rt).slots.len() == t {
        let slot = make_slot(rt, t)?;
        (*rt).slots.push(slot);
    }
    if (*rt).threads.len() == t {
        (*rt).threads.push(Thread::default());
    }
    let position = (*rt).next.len();
    let top = (&(*rt).slots)[t].top;
    let thread = &mut (&mut (*rt).threads)[t];
    let old = core::mem::take(thread);
    *thread = Thread { start: (start, arg), position, lowest: top, ..old.emptied() };
    thread.sp = (&(*rt).slots)[t].prepare(run, t);
    if t == 0 {
        let before = (*rt).keys_before.1.clone();
        (&mut (*rt).threads)[0].keys.extend(before);
    }
    let op = Op::plain(OpKind::Start);
    (*rt).next.push(Next { agent: Agent::thread(t as u16), op, enabled: true, idle: false });
    (*rt).count += 1;
    if t > 0 {
        (*rt).unjoined += 1;
        (*rt).alone = false;
    }
    Some(t)
}

impl Thread {
    /// A new thread with the room of this one.
    fn emptied(self) -> Thread {
        let Thread { mut spin, mut at_exit, mut keys, mut buffer, .. } = self;
        buffer.clear();
        spin.clear();
        at_exit.clear();
        keys.clear();
        Thread { spin, at_exit, keys, buffer, ..Thread::default() }
    }
}

/// The first function of every coroutine.
unsafe extern "C" fn run(t: usize) -> ! {
    let rt = LIVE.load(Ordering::Relaxed);
    turn_of(rt, t);
    happened(rt, t, Op::plain(OpKind::Start), Order::Plain, 0, None, None);
    let (start, arg) = (&(*rt).threads)[t].start;
    (&mut (*rt).threads)[t].first = &raw const arg as usize;
    if t == 0 {
        let main: extern "C" fn(usize, usize, usize) -> i32 = core::mem::transmute(start);
        let (argc, argv, envp) = (*rt).arguments;
        let code = main(argc, argv, envp);
        ends::leave(rt, code)
    } else {
        let f: extern "C" fn(usize) -> usize = core::mem::transmute(start);
        let value = f(arg);
        end(rt, value)
    }
}

/// The current thread is over.
pub unsafe fn end(rt: *mut Runtime, value: usize) -> ! {
    unsafe fn drained(rt: *mut Runtime, _thread: usize, _arg: usize) -> bool {
        buffers::all_empty(rt)
    }
    ends::thread_functions(rt);
    if (*rt).buffered && (&(*rt).next).len() == 1 {
        // The last thread: strategies have to see what is left in buffers, because it could have left
        // them earlier.
        wait(rt, Op::plain(OpKind::Exit), drained, 0, Patience::Endless);
    } else {
        step(rt, Op::plain(OpKind::Exit));
    }
    let me = (*rt).current;
    happened(rt, me, Op::plain(OpKind::Exit), Order::Plain, 0, None, None);
    let thread = &mut (&mut (*rt).threads)[me];
    thread.value = value;
    thread.over = true;
    let position = thread.position;
    (*rt).next.remove(position);
    for n in (&(*rt).next)[position..].iter() {
        (&mut (*rt).threads)[n.agent.of() as usize].position -= 1;
    }
    if (*rt).next.is_empty() {
        ends::leave_last(rt, 0);
    }
    let to = choose(rt);
    go(rt, me, to);
    let text = "a thread went on after its end".to_owned();
    report::tell((*rt).config.fd, &Message::Defect(text));
    crate::sys::quit(70)
}

/// The current thread announces a step; returns when it is its turn.
pub unsafe fn step(rt: *mut Runtime, op: Op) {
    settle(rt);
    if (*rt).alone {
        count(rt);
        (*rt).last = Some(Agent::thread((*rt).current as u16));
        return;
    }
    let me = (*rt).current;
    let position = (&(*rt).threads)[me].position;
    (&mut (*rt).next)[position].op = op;
    pass(rt);
}

/// The current thread announces a step that it cannot take before `ready`; returns when it is its
/// turn. Whether it was ready.
pub unsafe fn wait(rt: *mut Runtime, op: Op, ready: Ready, arg: usize, patience: Patience) -> bool {
    settle(rt);
    let me = (*rt).current;
    if (*rt).alone && (patience == Patience::Timed || ready(rt, me, arg)) {
        count(rt);
        (*rt).last = Some(Agent::thread(me as u16));
        return ready(rt, me, arg);
    }
    let thread = &mut (&mut (*rt).threads)[me];
    thread.ready = Some((ready, arg));
    thread.patience = patience;
    thread.special = true;
    (*rt).special += 1;
    let position = thread.position;
    (&mut (*rt).next)[position].op = op;
    pass(rt);
    (&mut (*rt).threads)[me].spin.go();
    ready(rt, me, arg)
}

/// The current thread announces a step that its loop repeats, or one that depends on what is in
/// memory when it is taken.
pub unsafe fn step_special(rt: *mut Runtime, op: Op, varying: Option<Varying>) {
    settle(rt);
    if (*rt).alone {
        return step(rt, op);
    }
    let me = (*rt).current;
    let thread = &mut (&mut (*rt).threads)[me];
    thread.varying = varying;
    thread.special = true;
    (*rt).special += 1;
    let position = thread.position;
    (&mut (*rt).next)[position].op = op;
    pass(rt);
}

/// The current thread has gone on for long without a step: others come first, if they can.
pub unsafe fn let_others(rt: *mut Runtime) {
    let me = (*rt).current;
    let others = |n: &Next| n.enabled && n.agent.of() as usize != me;
    if (&(*rt).next).iter().any(others) {
        settle(rt);
        (&mut (*rt).threads)[me].spin.tired();
        step_special(rt, Op::plain(OpKind::Yield), None);
        (&mut (*rt).threads)[me].spin.clear();
    }
}

/// Somebody is chosen; returns when it is the turn of the current thread.
unsafe fn pass(rt: *mut Runtime) {
    let me = (*rt).current;
    let to = choose(rt);
    if to != me {
        go(rt, me, to);
    }
    turn_of(rt, me);
}

/// It is the turn of a thread.
unsafe fn turn_of(rt: *mut Runtime, t: usize) {
    let thread = &mut (&mut (*rt).threads)[t];
    if thread.special {
        thread.special = false;
        thread.ready = None;
        thread.patience = Patience::Endless;
        thread.varying = None;
        (*rt).special -= 1;
        let n = &mut (&mut (*rt).next)[thread.position];
        n.enabled = true;
        n.idle = false;
    }
    if t > 0 || !(*rt).config.harness {
        (*rt).last = Some(Agent::thread(t as u16));
    }
}

/// Another thread goes on.
unsafe fn go(rt: *mut Runtime, from: usize, to: usize) {
    let here = 0_u8;
    let (private, near) = ((*rt).private_stores, (*rt).near);
    let thread = &mut (&mut (*rt).threads)[from];
    thread.private_stores = private;
    thread.near = near;
    thread.lowest = thread.lowest.min(&raw const here as usize);
    let sp = &raw mut thread.sp;
    let frame = FRAME.load(Ordering::Relaxed);
    enter(rt, to);
    switch(sp, (&(*rt).threads)[to].sp);
    FRAME.store(frame, Ordering::Relaxed);
}

/// Makes a thread the current one.
pub unsafe fn enter(rt: *mut Runtime, to: usize) {
    (*rt).current = to;
    (*rt).mine = mark(to, false);
    (*rt).mine_written = mark(to, true);
    (*rt).private_stores = (&(*rt).threads)[to].private_stores;
    (*rt).near = (&(*rt).threads)[to].near;
    set_thread_pointer(rt, (&(*rt).slots)[to].tcb);
}

/// One more step.
unsafe fn count(rt: *mut Runtime) {
    (*rt).quiet = 0;
    (*rt).rounds = 0;
    (*rt).steps += 1;
    (*rt).all_steps += 1;
    if (*rt).steps > (*rt).config.steps || (*rt).stop {
        finish(rt, Ended::Cut);
    }
}

/// Who is next.
unsafe fn choose(rt: *mut Runtime) -> usize {
    if (*rt).buffered {
        return choose_buffered(rt);
    }
    count(rt);
    if (*rt).special > 0 {
        refresh(rt);
    }
    if harness_goes_on(rt) {
        return 0;
    }
    if (*rt).learning {
        return any(rt);
    }
    let last = (*rt).last;
    (*rt).busy = true;
    let choice = (*rt).strategy.choose(&(*rt).next, last);
    (*rt).busy = false;
    match choice {
        Choice::Run(agent) => {
            (*rt).schedule.push(agent);
            agent.of() as usize
        }
        Choice::Stop => finish(rt, Ended::Stopped),
    }
}

/// Who is next, after the buffers have done what they do before.
unsafe fn choose_buffered(rt: *mut Runtime) -> usize {
    let me = (*rt).current;
    (&mut (*rt).threads)[me].buffer.hide();
    loop {
        count(rt);
        refresh(rt);
        if harness_goes_on(rt) {
            (&mut (*rt).threads)[0].buffer.show();
            return 0;
        }
        let mut all = core::mem::take(&mut (*rt).all);
        all.clear();
        all.extend_from_slice(&(*rt).next);
        buffers::next(rt, &mut all);
        (*rt).all = all;
        let last = (*rt).last;
        (*rt).busy = true;
        let choice = (*rt).strategy.choose(&(*rt).all, last);
        (*rt).busy = false;
        let Choice::Run(agent) = choice else { finish(rt, Ended::Stopped) };
        (*rt).schedule.push(agent);
        if !agent.is_buffer() {
            let to = agent.of() as usize;
            (&mut (*rt).threads)[to].buffer.show();
            return to;
        }
        buffers::commit(rt, agent);
        (*rt).last = Some(agent);
    }
}

/// What the harness of a test does is nobody's business: it goes on whenever it can.
unsafe fn harness_goes_on(rt: *const Runtime) -> bool {
    let first = (&(*rt).next).first();
    (*rt).config.harness && first.is_some_and(|n| n.agent.of() == 0 && n.enabled)
}

/// Why a thread takes no steps any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parked {
    /// It is in an empty loop without end.
    Stopped,
    /// Nobody has heard of it for long.
    Silent,
}

/// The current thread will never take a step again: others go on. It may be in a signal handler.
pub unsafe fn park(rt: *mut Runtime, pc: usize, why: Parked) -> ! {
    unsafe fn never(_rt: *mut Runtime, _thread: usize, _arg: usize) -> bool {
        false
    }
    settle(rt);
    let me = (*rt).current;
    let thread = &mut (&mut (*rt).threads)[me];
    let here = &raw const me as usize;
    if (&(*rt).slots)[me].holds(here) {
        thread.lowest = thread.lowest.min(here);
    }
    thread.parked = Some((pc, why));
    thread.ready = Some((never, 0));
    thread.patience = Patience::Endless;
    thread.varying = None;
    thread.special = true;
    (*rt).special += 1;
    (&mut (*rt).next)[thread.position].op = Op::plain(OpKind::Yield);
    let to = choose(rt);
    enter(rt, to);
    let mut nowhere = 0;
    switch(&raw mut nowhere, (&(*rt).threads)[to].sp);
    crate::sys::quit(70)
}

/// Whoever can go on, when the strategy does not care.
unsafe fn any(rt: *mut Runtime) -> usize {
    let next = &(*rt).next;
    let current = (*rt).current;
    let can = |n: &&Next| n.enabled;
    let after = next.iter().find(|n| n.enabled && n.agent.of() as usize >= current);
    after.or_else(|| next.iter().find(can)).map_or(0, |n| n.agent.of() as usize)
}

/// Looks at the threads that wait for something: who can go on now?
unsafe fn refresh(rt: *mut Runtime) {
    // A schedule that was shortened may let them go on while others could, too.
    let early = matches!((*rt).config.plan, Plan::Replay(_));
    let count = (*rt).count;
    // What is in a buffer can always leave it.
    let mut going = (&(*rt).threads)[..count].iter().any(|t| !t.buffer.is_empty());
    let mut waiting = false;
    for i in 0..(&(*rt).next).len() {
        let t = (&(*rt).next)[i].agent.of() as usize;
        let thread = &mut (&mut (*rt).threads)[t];
        let stores = !thread.buffer.is_empty();
        let kind = (&(*rt).next)[i].op.kind;
        if !thread.special {
            let enabled = !(stores && waits(kind));
            going |= enabled;
            (&mut (*rt).next)[i].enabled = enabled;
            continue;
        }
        let ready = thread.ready;
        let patience = thread.patience;
        let woken = thread.queue.is_some_and(|(_, woken)| woken);
        let (mut enabled, idle);
        if let Some(varying) = thread.varying {
            (&mut (*rt).next)[i].op.kind = varying.kind(rt);
        }
        let thread = &mut (&mut (*rt).threads)[t];
        if stores {
            thread.buffer.show();
        }
        let spin = thread.spin.idle();
        if stores {
            thread.buffer.hide();
        }
        let is_ready = ready.is_none_or(|(ready, arg)| ready(rt, t, arg));
        let op = &mut (&mut (*rt).next)[i].op;
        if patience == Patience::Timed {
            // Without what it waits for, it looks and gives up: it could have come before whoever
            // made it ready, unlike those who have to wait.
            op.kind = if is_ready { OpKind::Update } else { OpKind::Compare };
        }
        if is_ready || patience == Patience::Timed {
            idle = spin != Idle::No && !(is_ready && woken);
            enabled = !idle || early && spin == Idle::Guess;
            enabled &= !(stores && waits(op.kind));
            waiting |= spin == Idle::Guess;
        } else {
            idle = patience == Patience::Last;
            enabled = early && idle;
            waiting |= idle;
        }
        going |= enabled;
        let n = &mut (&mut (*rt).next)[i];
        n.enabled = enabled;
        n.idle = idle;
    }
    if going {
        return;
    }
    if !waiting {
        stuck(rt);
    }
    // Who wants to end the program does that before others are found to wait for the outside world.
    let ends = |n: &Next| n.idle && n.op.kind == OpKind::Exit;
    let ending = (&(*rt).next).iter().any(ends);
    for i in 0..(&(*rt).next).len() {
        let t = (&(*rt).next)[i].agent.of() as usize;
        let thread = &(&(*rt).threads)[t];
        let n = &mut (&mut (*rt).next)[i];
        if ending && n.op.kind == OpKind::Acquire {
            continue;
        }
        n.enabled =
            n.idle && (thread.patience == Patience::Last || thread.spin.idle() == Idle::Guess);
    }
}

/// Nobody can go on.
unsafe fn stuck(rt: *mut Runtime) -> ! {
    let mut text = String::new();
    let mut loops = false;
    let mut hangs = None;
    for n in &(*rt).next {
        let t = n.agent.of() as usize;
        let parked = (&(*rt).threads)[t].parked;
        hangs = hangs.or(parked.map(|(pc, why)| (t, pc, why)));
        let word = match n.op.kind {
            _ if parked.is_some() => "hangs",
            _ if (&(*rt).threads)[t].spin.idle() != Idle::No => {
                loops = true;
                "loops"
            }
            OpKind::Join => "joins",
            _ => "waits",
        };
        let _ = write!(text, "{}{}:{word}", if text.is_empty() { "" } else { " " }, n.agent.of());
    }
    if (*rt).learning && loops {
        // What the loop waits for may have been changed before it was known to be shared.
        finish(rt, Ended::Cut);
    }
    match hangs {
        Some((t, pc, Parked::Silent)) => {
            report::finding(rt, "hang", Some(t), pc, "no step is taken any more");
            finish(rt, Ended::Cut)
        }
        // Who stops in an empty loop wants to: that is how an execution is given up that is of no
        // interest.
        Some((_, _, Parked::Stopped)) => finish(rt, Ended::Deadlock),
        None => {}
    }
    report::finding(rt, if loops { "livelock" } else { "deadlock" }, None, 0, &text);
    finish(rt, Ended::Deadlock)
}

/// Bytes turn out to be shared: the exploration starts again after this execution.
pub unsafe fn learn(rt: *mut Runtime, addr: usize, len: usize) {
    report::shared(rt, addr, len);
    (*rt).learning = true;
    if (*rt).buffered {
        settle(rt);
        let me = (*rt).current;
        (&mut (*rt).threads)[me].buffer.hide();
        buffers::empty(rt);
        (*rt).buffered = false;
        for n in &mut (*rt).next {
            n.enabled |= !(&(*rt).threads)[n.agent.of() as usize].special;
        }
    }
    // A thread that waits for these bytes did not know that it does.
    let count = (*rt).count;
    for thread in &mut (&mut (*rt).threads)[..count] {
        thread.spin.clear();
    }
}

/// The store that the current thread was allowed to do has been done.
#[inline]
pub unsafe fn settle(rt: *mut Runtime) {
    let me = (*rt).current;
    if (&(*rt).threads)[me].pending.is_some() {
        settle_now(rt, me);
    }
}

unsafe fn settle_now(rt: *mut Runtime, me: usize) {
    if let Some(p) = (&mut (*rt).threads)[me].pending.take() {
        let value = crate::access::plain::value(p.op.addr as usize, p.op.len);
        if value != p.old {
            changed(rt, me);
        }
        if p.buffered {
            (&mut (*rt).threads)[me].buffer.settle();
        }
        let old = (p.op.kind == OpKind::Update).then_some(p.old);
        happened(rt, me, p.op, p.order, p.pc, Some(value), old);
    }
}

/// A thread has changed shared memory.
pub unsafe fn changed(rt: *mut Runtime, t: usize) {
    (&mut (*rt).threads)[t].stores += 1;
}

/// Everything that happens, in its order: the one place from which monitors are told.
pub unsafe fn happened(
    rt: *mut Runtime,
    t: usize,
    op: Op,
    order: Order,
    pc: usize,
    value: Option<u64>,
    old: Option<u64>,
) {
    let order = weakspot_live::Order::from(order);
    if let Some(watch) = &mut (*rt).watch {
        watch.step(Step { thread: t as u16, op, order, at: pc as u64 });
        (*rt).taken.push((*rt).schedule.len());
    }
    if (*rt).config.trace {
        let Op { kind, len, addr } = op;
        let (thread, place) = (t as u16, report::place(rt, pc));
        let step = TracedStep { thread, kind, order, addr, len, old, value, place };
        report::tell((*rt).config.fd, &Message::Step(step));
    }
}

/// The execution is over, from wherever that is noticed.
pub unsafe fn finish(rt: *mut Runtime, ended: Ended) -> ! {
    (*rt).ended = ended;
    let here = 0_u8;
    let me = (*rt).current;
    if (&(*rt).slots)[me].holds(&raw const here as usize) {
        let thread = &mut (&mut (*rt).threads)[me];
        thread.lowest = thread.lowest.min(&raw const here as usize);
    }
    LIVE.store(null_mut(), Ordering::Relaxed);
    set_thread_pointer(rt, (*rt).main_tcb);
    let mut nowhere = 0;
    coroutine::switch(&raw mut nowhere, (*rt).base);
    crate::sys::quit(70)
}
