//! Who goes on: the strategy is asked, after those who wait were looked at.

use core::fmt::Write;

use weakspot_core::Model;
use weakspot_live::wire::{Awaited, ENDLESS, GIVES_WAY, HANGS, Message, Waiter};
use weakspot_live::{Agent, Choice, Ended, Next, Op, OpKind, Plan, Strategy};

use crate::access::pending::settle;
use crate::config::Config;
use crate::entry::guest::Area;
use crate::schedule::closed::report_deadlock;
use crate::schedule::finish::{count, finish};
use crate::schedule::spin::Idle;
use crate::schedule::threads::{Parked, Patience, Thread};
use crate::{Rt, Runtime};

/// Dummy address for compare-and-swaps with mixed-size accesses; never mapped.
const MIXED: Area = Area::nowhere(0x1010, 8);

/// What threads are about to do, and who says who goes on.
pub struct Scheduler {
    /// What threads are about to do, by rising number.
    next: Vec<Next>,
    /// The same with buffers, if there are any.
    with_buffers: Vec<Next>,
    /// Whether stores go through buffers now.
    buffered: bool,
    /// How many threads have announced a conditional step.
    conditional: usize,
    /// Who took the last step.
    last: Option<Agent>,
    /// What was next when the strategy did not go on and the execution did, and a number from which choices are drawn.
    stopped: Option<(Vec<Next>, u64)>,
    /// An execution that went on so did not come to an end.
    endless: bool,
    /// The stores that may wait in buffers, by their addresses; any if there are none.
    pub(super) delayed: Vec<usize>,
    strategy: Box<dyn Strategy>,
}

/// The strategy that the configuration asks for.
fn strategy(config: &Config) -> Box<dyn Strategy> {
    config.plan.strategy(config.under != Model::Sc)
}

impl Scheduler {
    /// With the strategy that the configuration asks for.
    pub fn new(config: &Config) -> Scheduler {
        Scheduler {
            next: Vec::new(),
            with_buffers: Vec::new(),
            buffered: false,
            conditional: 0,
            last: None,
            stopped: None,
            endless: false,
            delayed: Vec::new(),
            strategy: strategy(config),
        }
    }

    /// The exploration starts again.
    pub fn restart(&mut self, config: &Config) {
        self.strategy = strategy(config);
        self.endless = false;
    }

    /// Only stores at these addresses may wait in buffers, unless there are none.
    pub fn delay_only(&mut self, delayed: Vec<usize>) {
        self.delayed = delayed;
    }

    /// Before an execution.
    pub fn clear(&mut self, config: &Config) {
        self.next.clear();
        self.conditional = 0;
        self.buffered = config.under != Model::Sc;
        self.last = None;
        self.stopped = None;
    }

    /// Who explores.
    pub fn strategy(&mut self) -> &mut dyn Strategy {
        &mut *self.strategy
    }

    /// What threads are about to do.
    pub fn next(&self) -> &[Next] {
        &self.next
    }

    /// Nobody is about to do anything that is known.
    pub fn forget_next(&mut self) {
        self.next.clear();
    }

    /// What a thread was about to do it has done, as the last step of the execution.
    pub fn forget_next_of(&mut self, t: usize) {
        self.next.retain(|n| usize::from(n.agent.of()) != t);
    }

    /// Whether the execution goes on although the strategy does not.
    pub(super) fn goes_on_alone(&self) -> bool {
        self.stopped.is_some()
    }

    /// How the execution ended for the strategy, which may not have gone on for so long.
    pub fn ended(&self, ended: Ended) -> Ended {
        if self.stopped.is_some() && ended != Ended::Cut { Ended::Stopped } else { ended }
    }

    /// Tells the strategy how an execution ended; `buffers` are about to do this.
    pub fn end(&mut self, ended: Ended, buffers: &[Next]) {
        if let Some((next, _)) = self.stopped.take() {
            self.endless |= ended == Ended::Cut;
            self.strategy.end(ended, &next);
        } else if buffers.is_empty() {
            self.strategy.end(ended, &self.next);
        } else {
            self.strategy.end(ended, &[&self.next, buffers].concat());
        }
    }

    /// Whether stores go through buffers now.
    pub fn buffered(&self) -> bool {
        self.buffered
    }

    /// Tells the strategy of a step for which there is no choice. Whether the execution goes on.
    pub(super) fn tell(&mut self, next: Next) -> bool {
        self.strategy.choose(&[next], self.last) != Choice::Stop
    }

    pub(super) fn set_last(&mut self, agent: Agent) {
        self.last = Some(agent);
    }

    /// A thread is about to start.
    pub(super) fn add(&mut self, t: usize) {
        let op = Op::plain(OpKind::Start);
        let agent = Agent::thread(t as u16);
        self.next.push(Next {
            agent,
            op,
            enabled: true,
            idle: false,
            varies: false,
            again: false,
            undone: 0,
        });
    }

    pub(super) fn remove(&mut self, position: usize) {
        self.next.remove(position);
    }

    pub(super) fn announce(&mut self, position: usize, op: Op) {
        self.next[position].op = op;
    }

    pub(super) fn announce_conditional(&mut self, position: usize, op: Op) {
        self.conditional += 1;
        self.next[position].op = op;
    }

    pub(super) fn no_longer_conditional(&mut self, position: usize) {
        self.conditional -= 1;
        let n = &mut self.next[position];
        n.enabled = true;
        n.idle = false;
        n.varies = false;
        n.again = false;
        n.undone = 0;
    }
}

/// Who is next.
pub(super) fn choose(rt: &mut Rt) -> usize {
    if rt.scheduler.buffered {
        return choose_buffered(rt);
    }
    count(rt);
    if rt.scheduler.conditional > 0 {
        refresh(rt);
    }
    if rt.harness_goes_on() {
        return 0;
    }
    if rt.exploration.learning() {
        return rt.anybody();
    }
    if rt.scheduler.stopped.is_some() {
        return go_on(rt);
    }
    rt.signals().set_busy(true);
    let Scheduler { strategy, next, last, .. } = &mut rt.scheduler;
    let choice = strategy.choose(next, *last);
    rt.signals().set_busy(false);
    match choice {
        Choice::Run(agent) => chosen(rt, agent),
        Choice::Stop if rt.scheduler.next.iter().any(|n| n.undone > 0) => {
            rt.exploration.leave();
            if rt.scheduler.endless {
                finish(rt, Ended::Stopped);
            }
            rt.scheduler.stopped = Some((rt.scheduler.next.clone(), 1));
            go_on(rt)
        }
        Choice::Stop => stop(rt),
    }
}

/// This thread goes on.
fn chosen(rt: &mut Rt, agent: Agent) -> usize {
    let runtime: &mut Runtime = rt;
    runtime.exploration.chosen(agent);
    runtime.monitors.chosen(&runtime.scheduler.next, agent);
    usize::from(agent.of())
}

/// Somebody goes on although the strategy does not, because threads are back where rounds of their loops began that they have
/// undone. All that may follow is explored elsewhere, but for one thing: whether anything but more such rounds does. It does if
/// the execution comes to an end by some choices, which are drawn, so that every thread goes on in the middle of rounds of others.
fn go_on(rt: &mut Rt) -> usize {
    let Scheduler { next, stopped, .. } = &mut rt.scheduler;
    let ready = next.iter().filter(|n| n.ready()).count() as u64;
    let drawn = stopped.as_mut().map_or(0, |(_, state)| {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    });
    let nth = (drawn % ready.max(1)) as usize;
    let ready = next.iter().filter(|n| n.ready()).nth(nth);
    let found = ready.or_else(|| next.iter().find(|n| n.enabled)).map(|n| n.agent);
    match found {
        Some(agent) => chosen(rt, agent),
        None => finish(rt, Ended::Stopped),
    }
}

/// The strategy does not go on.
fn stop(rt: &mut Rt) -> ! {
    if rt.scheduler.next.iter().any(|n| n.again) {
        rt.exploration.leave();
    }
    finish(rt, Ended::Stopped)
}

/// Who is next, after the buffers have done what they do before.
fn choose_buffered(rt: &mut Rt) -> usize {
    rt.threads.me_mut().buffer.hide();
    if let Some(agent) = rt.leaves_at_once() {
        // The strategy has heard of it as an update. A schedule has the step, so that it can be
        // followed where all stores may wait.
        rt.exploration.chosen(agent);
        commit(rt, agent);
    }
    loop {
        count(rt);
        refresh(rt);
        if rt.harness_goes_on() {
            rt.threads.get_mut(0).buffer.show();
            return 0;
        }
        let signals = rt.signals();
        let runtime: &mut Runtime = rt;
        let Scheduler { strategy, next, with_buffers, last, .. } = &mut runtime.scheduler;
        with_buffers.clear();
        with_buffers.extend_from_slice(next);
        runtime.threads.next_of_buffers(with_buffers);
        signals.set_busy(true);
        let choice = strategy.choose(with_buffers, *last);
        signals.set_busy(false);
        let Choice::Run(agent) = choice else { stop(rt) };
        let runtime: &mut Runtime = rt;
        runtime.exploration.chosen(agent);
        runtime.monitors.chosen(&runtime.scheduler.with_buffers, agent);
        if !agent.is_buffer() {
            let to = usize::from(agent.of());
            rt.threads.get_mut(to).buffer.show();
            return to;
        }
        rt.scheduler.last = Some(agent);
        commit(rt, agent);
    }
}

/// A store leaves its buffer.
fn commit(rt: &mut Rt, agent: Agent) {
    if let Some((error, pc)) = rt.commit(agent) {
        let thread = usize::from(agent.of());
        rt.trace_misuse(thread, error.op, pc);
        rt.related_finding(error.kind, Some(thread), pc, &error.text, &error.related);
        finish(rt, Ended::Over);
    }
}

/// Looks at the threads that wait for something: who can go on now? If nobody can, the execution is
/// over.
fn refresh(rt: &mut Rt) {
    match rt.look_at_all() {
        Outlook { going: true, .. } => {}
        Outlook { waiting: true, .. } => rt.let_those_go_who_only_wait(),
        Outlook { .. } => stuck(rt),
    }
}

/// What was seen of the threads together.
struct Outlook {
    /// Some thread or buffer can go on.
    going: bool,
    /// Some thread can go on if nobody else can.
    waiting: bool,
}

impl Runtime {
    /// The harness of a test is not explored: it goes on whenever it can.
    fn harness_goes_on(&self) -> bool {
        let first = self.scheduler.next.first();
        self.config.harness && first.is_some_and(|n| n.agent.of() == 0 && n.enabled)
    }

    /// Whoever can go on, when the strategy is not asked.
    fn anybody(&self) -> usize {
        let next = &self.scheduler.next;
        let current = self.threads.current();
        let after = next.iter().find(|n| n.enabled && usize::from(n.agent.of()) >= current);
        let found = after.or_else(|| next.iter().find(|n| n.enabled));
        found.map_or(0, |n| n.agent.of().into())
    }

    fn look_at_all(&mut self) -> Outlook {
        // What is in a buffer can always leave it.
        let going = self.threads.iter().any(|t| !t.buffer.is_empty());
        let mut all = Outlook { going, waiting: false };
        for i in 0..self.scheduler.next.len() {
            let one = self.look_at(i);
            all.going |= one.going;
            all.waiting |= one.waiting;
        }
        all
    }

    /// Whether the thread at this place among the next steps can go on, and with what kind of step.
    fn look_at(&mut self, i: usize) -> Outlook {
        let n = &mut self.scheduler.next[i];
        let t = usize::from(n.agent.of());
        // A schedule that was shortened may let threads go on while others could, too, but for the
        // harness of a test, which has no steps in schedules.
        let harness = self.config.harness && t == 0;
        let early = matches!(self.config.plan, Plan::Replay(_)) && !harness;
        let thread = self.threads.get_mut(t);
        let stores = !thread.buffer.is_empty();
        if !thread.conditional {
            n.enabled = !(stores && n.op.waits());
            return Outlook { going: n.enabled, waiting: false };
        }
        let spin = idle_as_seen_by(thread);
        let spin = if self.has_no_writer(t) { Idle::No } else { spin };
        let (thread, n) = (self.threads.get(t), &self.scheduler.next[i]);
        let kind = thread.varying.map_or(n.op.kind, |varying| varying.kind(self));
        let is_ready = thread.until.is_none_or(|until| until.holds(self, t));
        let patience = self.patience_of(t);
        let timed = patience == Patience::Timed;
        let kind = match is_ready {
            // Without what it waits for, it looks and gives up: it could have come before whoever
            // made it ready, unlike those who have to wait.
            _ if !timed => kind,
            true => OpKind::Update,
            false if thread.varying.is_some() => kind,
            false => OpKind::Compare,
        };
        let op = Op { kind, ..self.scheduler.next[i].op };
        let (enabled, idle, waiting);
        if is_ready || timed {
            idle = spin != Idle::No && !(is_ready && thread.waiting.is_woken());
            enabled = (!idle || early && spin == Idle::Guess) && !(stores && op.waits());
            waiting = spin == Idle::Guess;
        } else {
            idle = patience == Patience::Last;
            enabled = early && idle;
            waiting = idle;
        }
        let n = &mut self.scheduler.next[i];
        n.op = op;
        n.enabled = enabled;
        n.idle = idle;
        n.varies = timed || thread.varying.is_some() && kind != OpKind::Release;
        n.again = thread.again;
        n.undone = thread.undone;
        Outlook { going: enabled, waiting }
    }

    /// Whether a thread has waited for the writer of a read-write lock, which is there no more.
    fn has_no_writer(&self, t: usize) -> bool {
        self.threads.get(t).spin.writer().is_some_and(|lock| !self.owners.is_wanted(lock))
    }

    /// Nobody can go on but those who wait for something that nobody will do.
    fn let_those_go_who_only_wait(&mut self) {
        let next = &mut self.scheduler.next;
        let only_waits = |n: &Next| {
            let thread = self.threads.get(usize::from(n.agent.of()));
            let last = patience_in(&self.config, thread.patience) == Patience::Last;
            n.idle && (last || thread.spin.idle() == Idle::Guess)
        };
        let deadline = |n: &Next| self.threads.get(usize::from(n.agent.of())).deadline;
        // Who wants to end the program does that before others are found to wait for the outside
        // world.
        let ending = next.iter().any(|n| n.idle && n.op.kind == OpKind::Exit);
        // Who waits for a time does so until nobody else goes on, and then it is that of the first.
        let first = next.iter().filter(|n| only_waits(n)).map(deadline).min().flatten();
        for n in next {
            if ending && n.op.takes() {
                continue;
            }
            n.enabled = only_waits(n) && deadline(n) == first;
        }
    }

    fn patience_of(&self, t: usize) -> Patience {
        patience_in(&self.config, self.threads.get(t).patience)
    }
}

/// In virtual time, who waits for some time goes on when nobody else can.
fn patience_in(config: &Config, patience: Patience) -> Patience {
    match patience {
        Patience::Timed if config.virtual_time => Patience::Last,
        patience => patience,
    }
}

/// Whether a thread waits in a loop, with its own stores in memory.
fn idle_as_seen_by(thread: &mut Thread) -> Idle {
    let stores = !thread.buffer.is_empty();
    if stores {
        thread.buffer.show();
    }
    let idle = thread.spin.idle();
    if stores {
        thread.buffer.hide();
    }
    idle
}

/// Reports that no thread can go on.
fn stuck(rt: &mut Rt) -> ! {
    let mut text = String::new();
    let mut related = Vec::new();
    let mut loops = false;
    let mut endless = None;
    let mut yields = None;
    let mut silent = false;
    for n in &rt.scheduler.next {
        let t = usize::from(n.agent.of());
        let thread = rt.threads.get(t);
        let parked = thread.parked();
        let word = match n.op.kind {
            _ if let Some((pc, why)) = parked => {
                match why {
                    Parked::Endless => endless = endless.or(Some((t, pc))),
                    Parked::Yields => {
                        loops = true;
                        yields = yields.or(Some((t, pc)));
                    }
                    Parked::Silent => silent = true,
                }
                HANGS
            }
            _ if thread.spin.idle() != Idle::No => {
                loops = true;
                "loops"
            }
            OpKind::Join => "joins",
            _ => "waits",
        };
        let separator = if text.is_empty() { "" } else { ", " };
        let _ = match t {
            0 => write!(text, "{separator}main {word}"),
            _ => write!(text, "{separator}T{t} {word}"),
        };
        related.push((word, Some(t), parked.map_or(thread.announced_at, |(pc, _)| pc)));
    }
    // What a loop waits for may have been changed before it was known to be shared.
    if silent || rt.exploration.learning() && loops {
        finish(rt, Ended::Cut);
    }
    // Whoever only gives way may come to an end, so that nobody else is in a livelock for certain.
    let kind = if yields.is_some() { GIVES_WAY } else { ENDLESS };
    if let Some((thread, pc)) = yields.or(endless) {
        // The loop may be an assumption.
        report_deadlock(rt);
        rt.related_finding(kind, Some(thread), pc, &text, &related);
        finish(rt, if kind == GIVES_WAY { Ended::Cut } else { Ended::Deadlock });
    }
    let kind = if loops { "livelock" } else { "deadlock" };
    if rt.config.trace {
        rt.tell_who_waits(|_| true);
    }
    rt.related_finding(kind, None, 0, &text, &related);
    finish(rt, Ended::Deadlock)
}

impl Runtime {
    /// Tells what each thread waits for.
    pub(super) fn tell_who_waits(&self, is_told: impl Fn(usize) -> bool) {
        for n in &self.scheduler.next {
            let t = usize::from(n.agent.of());
            if !is_told(t) {
                continue;
            }
            let thread = self.threads.get(t);
            let loops = thread.spin.idle() != Idle::No;
            // A round of a barrier stands for the barrier.
            let at_barrier = thread.awaits == Some(Awaited::Barrier);
            let (addr, len) = match at_barrier {
                true => {
                    (thread.waiting.barrier as u64, size_of::<libc::pthread_barrier_t>() as u32)
                }
                false => (n.op.addr, n.op.len),
            };
            let calls = if t == self.threads.current() { self.calls() } else { self.calls_of(t) };
            self.reporter.send(&Message::Waits(Waiter {
                thread: t as u16,
                what: thread.awaits.filter(|_| !loops).unwrap_or(Awaited::Other),
                addr,
                len,
                calls: calls.into_iter().filter_map(|pc| self.reporter.place(pc)).collect(),
            }));
        }
    }

    /// Whether a compare-and-swap is an update even if it fails.
    pub fn has_mixed_swaps(&self) -> bool {
        self.mixed_swaps
    }

    /// After an execution: if the bytes of a compare-and-swap were accessed in parts, the exploration starts again.
    pub fn look_for_mixed_swaps(&mut self) {
        if !self.mixed_swaps && self.scheduler.strategy.mixes() {
            let (addr, len) = (MIXED.addr(), MIXED.len() as usize);
            self.shadow.set_shared(addr, len);
            self.mixed_swaps = true;
            self.learn(addr, len);
        }
    }

    /// Before the first execution: whether that was learnt by others.
    pub fn know_mixed_swaps(&mut self) {
        self.mixed_swaps |= self.shadow.is_shared(MIXED);
    }

    /// Bytes turn out to be shared: the exploration starts again after this execution.
    pub fn learn(&mut self, addr: usize, len: usize) {
        self.reporter.shared(addr, len);
        self.start_again();
    }

    /// The exploration starts again after this execution, which is only there to learn from.
    pub fn start_again(&mut self) {
        self.exploration.learn();
        if self.scheduler.buffered {
            settle(self);
            self.threads.me_mut().buffer.hide();
            self.threads.empty_buffers();
            self.scheduler.buffered = false;
            for n in &mut self.scheduler.next {
                n.enabled |= !self.threads.get(usize::from(n.agent.of())).conditional;
            }
        }
        // A thread that waits for these bytes did not know that it does.
        self.threads.iter_mut().for_each(|thread| thread.spin.clear());
    }
}
