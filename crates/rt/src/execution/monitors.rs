//! Everything that happens, in its order: the one place from which the monitors get their events.

use std::collections::VecDeque;

use weakspot_core::Model;
use weakspot_live::wire::{
    MemoryChange, MemoryStep, Message, Place, PlacedFence, StackFrame, TracedStep,
};
use weakspot_live::{
    Agent, Choices, Extra, Finding, Next, Op, OpKind, Order, Profile, Races, Step, Sync,
    Transactions, Watch, preventing,
};

use crate::Runtime;
use crate::config::Config;
use crate::entry::guest::Area;
use crate::execution::exploration::Exploration;
use crate::report::Reporter;

/// What the monitors have seen.
pub struct Monitors {
    /// The monitors, if there are any.
    watch: Option<Watch>,
    /// What watches for data races, if anybody does.
    pub races: Option<Races>,
    /// How the exploration goes, if anybody wants to know.
    profile: Option<Profile>,
    /// For each event that they got, how many choices came before.
    taken: Vec<usize>,
    /// How many steps were traced.
    traced: u64,
    /// What the only thread that is left has read last of what others wrote, each after so many steps.
    looked: VecDeque<(u64, TracedStep)>,
    /// The schedule of the first execution that is not serializable.
    unserializable: String,
}

/// A step that was taken.
pub struct Event {
    op: Op,
    /// What the source says about its order.
    order: Order,
    /// From where.
    pc: usize,
    /// What was read or written.
    value: Option<u64>,
    /// What an update has read, or a store has overwritten.
    old: Option<u64>,
    /// What it orders.
    sync: Sync,
    /// What the monitors take it for.
    seen: OpKind,
}

impl Event {
    /// A step whose values do not matter.
    pub fn new(op: Op, order: Order, pc: usize) -> Event {
        Event { op, order, pc, value: None, old: None, sync: Sync::Usual, seen: op.kind }
    }

    /// The step has read or written this; an update has read `old`, and a store has overwritten it.
    pub fn with(self, value: u64, old: Option<u64>) -> Event {
        Event { value: Some(value), old, ..self }
    }

    /// The step is shown as what it is, but to the monitors it is this, because of what it can be exchanged with.
    pub fn seen_as(self, kind: OpKind) -> Event {
        Event { seen: kind, ..self }
    }

    /// The step orders more, or less, than its kind says.
    pub fn orders(self, sync: Sync) -> Event {
        Event { sync, ..self }
    }
}

impl Runtime {
    /// The current thread has taken a step.
    pub fn record(&mut self, event: Event) {
        self.record_of(self.threads.current(), event);
    }

    /// The current thread has taken a step that is a fence, and to the monitors an addition: its order among such steps does
    /// not matter.
    pub fn record_unordered(&mut self, event: Event) {
        self.fence_for_monitors(event.pc);
        self.record(event.seen_as(OpKind::Add));
    }

    /// The current thread has a fence that nobody is shown, and that orders nothing for the detector of data races: what it calls
    /// has one.
    pub fn fence_for_monitors(&mut self, pc: usize) {
        if let Some(watch) = &mut self.monitors.watch {
            let (thread, at) = (self.threads.current() as u16, pc as u64);
            let op = Op::plain(OpKind::Fence);
            watch.step(Step { thread, op, order: Order::SeqCst, at });
            self.monitors.taken.push(self.exploration.choices().len());
        }
    }

    /// The current thread has made all others have a fence here.
    pub fn record_fence_of_all(&mut self, pc: usize) {
        let fence = || Event::new(Op::plain(OpKind::Fence), Order::SeqCst, pc);
        self.record(fence());
        let me = self.threads.current();
        if let Some(watch) = &mut self.monitors.watch {
            watch.fence_all(me as u16);
        }
        for t in (0..self.threads.count()).filter(|&t| t != me) {
            if self.threads.get(t).has_begun() && !self.threads.get(t).is_over() {
                self.trace(t, &fence());
            }
        }
    }

    /// The current thread has a fence that no monitor looks at.
    pub fn trace_load_fence(&mut self, order: Order) {
        let event = Event::new(Op::plain(OpKind::LoadFence), order, self.pc());
        self.trace(self.threads.current(), &event);
    }

    /// A thread, or its buffer, has taken a step.
    pub fn record_of(&mut self, t: usize, event: Event) {
        let &Event { op, order, pc, sync, seen, .. } = &event;
        // Those with bytes are of barriers.
        if op.kind == OpKind::Join && op.len == 0 {
            self.said.joined(t, op.addr as usize);
        }
        if op.kind == OpKind::Write || op.waits() {
            self.threads.get_mut(t).has_stored = op.kind == OpKind::Write;
        }
        let step = Step { thread: t as u16, op, order, at: pc as u64 };
        let seen = Step { op: Op { kind: seen, ..op }, ..step };
        if let Some(watch) = &mut self.monitors.watch {
            watch.step(seen);
            self.monitors.taken.push(self.exploration.choices().len());
        }
        if self.monitors.races.is_some() {
            self.look_for_races(&step, sync);
        }
        let harness = self.config.harness && t == 0;
        if let Some(profile) = &mut self.monitors.profile
            && !self.threads.alone()
            && !harness
        {
            profile.step(&seen);
        }
        self.trace(t, &event);
    }

    fn trace(&mut self, t: usize, event: &Event) {
        if self.config.trace {
            let &Event { op: Op { kind, len, addr }, order, pc, value, old, .. } = event;
            // That it may be exchanged with others matters only to who explores.
            let kind = if kind.updates() { OpKind::Update } else { kind };
            if kind == OpKind::Spawn {
                self.monitors.looked.clear();
            }
            self.trace_frame(addr as usize);
            let (thread, place) = (t as u16, self.reporter.place(pc));
            let step = TracedStep { thread, kind, order, addr, len, old, value, place };
            self.reporter.send(&Message::Step(step));
            self.monitors.traced += 1;
            if self.monitors.traced == self.config.stop {
                let call = self.call();
                weakspot_stops_here(call.pc(), call.stack_pointer());
            }
            // What threads do with each other is mostly in code of the standard library: in Rust, and in C++ without
            // optimisation, which has frame pointers.
            let harness = self.config.harness;
            let calls = t == self.threads.current() && (t > 0 || !harness);
            if calls && kind != OpKind::Commit {
                let calls = if harness { self.calls() } else { self.framed_calls() };
                let places: Vec<Place> =
                    calls.into_iter().filter_map(|pc| self.reporter.place(pc)).collect();
                if harness || !places.is_empty() {
                    self.reporter.send(&Message::Calls(places));
                }
            }
        }
    }
}

/// So many of the last reads are kept of a thread that is the only one left.
const MOST_LOOKED: usize = 16;

impl Runtime {
    /// The only thread that is left reads bytes that are not shared: that is no step, but what others have left there may
    /// be what an assertion looks at. For executions that are traced.
    pub fn looks(&mut self, area: Area, pc: usize) {
        let me = self.threads.current();
        if area.len() > 8 || !self.shadow.is_of_another(me, area) {
            return;
        }
        let (thread, place) = (me as u16, self.reporter.place(pc));
        let Op { kind, len, addr } = area.op(OpKind::Read);
        let (order, old, value) = (Order::Plain, None, Some(area.value()));
        let step = TracedStep { thread, kind, order, addr, len, old, value, place };
        let Monitors { looked, traced, .. } = &mut self.monitors;
        // What a loop looks at again and again counts once.
        looked.retain(|(_, before)| *before != step);
        if looked.len() == MOST_LOOKED {
            looked.pop_front();
        }
        looked.push_back((*traced, step));
    }

    /// Tells what that thread has read.
    pub fn trace_looks(&mut self) {
        for (after, step) in core::mem::take(&mut self.monitors.looked) {
            self.reporter.send(&Message::Looked(after, step));
        }
    }
}

/// A debugger has a breakpoint here, and learns where the program will go on, on which stack.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn weakspot_stops_here(pc: usize, stack: usize) {
    core::hint::black_box((pc, stack));
}

impl Runtime {
    /// Tells in which function an address is a variable.
    fn trace_frame(&self, addr: usize) {
        if let Some(function) = self.frames.owner(addr)
            && let Some(place) = self.reporter.place(function.pc)
        {
            let (sp, bp) = (function.sp as u64, function.bp as u64);
            self.reporter.send(&Message::Frame(StackFrame { sp, bp, place }));
        }
    }

    /// Tells what the current thread has done to bytes, with the calls that led there, if executions are
    /// traced.
    pub fn trace_memory(&self, what: MemoryChange, (addr, len): (usize, usize), calls: &[usize]) {
        self.trace_memory_of(self.threads.current(), what, (addr as u64, len as u64), calls);
    }

    /// Tells that a thread uses bytes that are not there.
    pub fn trace_misuse(&self, thread: usize, op: Op, pc: usize) {
        let what = MemoryChange::Misused(op.kind);
        self.trace_memory_of(thread, what, (op.addr, op.len.into()), &[pc]);
    }

    fn trace_memory_of(
        &self,
        thread: usize,
        what: MemoryChange,
        (addr, len): (u64, u64),
        calls: &[usize],
    ) {
        if self.config.trace {
            let places = calls.iter().filter_map(|&pc| self.reporter.place(pc)).collect();
            let step = MemoryStep { what, thread: thread as u16, addr, len, places };
            self.reporter.send(&Message::Memory(step));
        }
    }
}

impl Monitors {
    /// None yet.
    pub fn new() -> Monitors {
        let (taken, unserializable) = (Vec::new(), String::new());
        Monitors {
            watch: None,
            races: None,
            profile: None,
            taken,
            traced: 0,
            looked: VecDeque::new(),
            unserializable,
        }
    }

    /// Those that the configuration asks for, from the beginning.
    pub fn start(&mut self, config: &Config, reporter: &Reporter) {
        self.traced = 0;
        self.looked.clear();
        let address = |place: Place| reporter.address(place);
        let extra: Vec<Extra> =
            config.fences.iter().filter_map(|fence| fence.addressed(address)).collect();
        let transactions = match (config.transactions.is_some(), config.fence_transactions) {
            (false, _) => Transactions::None,
            (true, false) => Transactions::Watched,
            (true, true) => Transactions::Fenced,
        };
        self.watch = (!config.models.is_empty() || transactions != Transactions::None)
            .then(|| Watch::new(&config.models, &extra).with_transactions(transactions));
        self.profile = config.profile.then(|| Profile::new(config.under != Model::Sc));
        self.races = config.races.map(Races::new);
    }

    /// Which bytes between these addresses have stores of other threads than this one that may be
    /// pending, as far as anybody watches.
    pub fn stored_within(&self, thread: usize, from: u64, to: u64) -> Vec<(u64, u32)> {
        let watch = self.watch.as_ref();
        watch.map_or_else(Vec::new, |watch| watch.stored_within(thread as u16, from, to))
    }

    /// Before an execution.
    pub fn begin(&mut self) {
        self.taken.clear();
        if let Some(watch) = &mut self.watch {
            watch.begin();
        }
        if let Some(races) = &mut self.races {
            races.begin();
        }
        if let Some(profile) = &mut self.profile {
            profile.begin();
        }
    }

    /// Of those who could go on, an agent was chosen.
    #[inline(always)]
    pub fn chosen(&mut self, next: &[Next], agent: Agent) {
        if let Some(profile) = &mut self.profile {
            profile.chosen(next, agent);
        }
    }

    /// The execution that is over is counted.
    pub fn count(&mut self) {
        if let Some(profile) = &mut self.profile {
            profile.end();
        }
    }

    /// After an execution: what is new is reported. `executions` were over before it.
    pub fn end(&mut self, reporter: &Reporter, exploration: &Exploration, executions: u64) {
        let Some(watch) = &mut self.watch else { return };
        let new = watch.end();
        if watch.unserializable() == (1, executions) {
            self.unserializable = exploration.choices().to_string();
        }
        let Some(watch) = &self.watch else { return };
        let nowhere = Place { module: None, offset: 0 };
        let at = |pc: u64| reporter.place(pc as usize).unwrap_or(nowhere);
        let findings = watch.findings();
        for (i, f) in findings.iter().enumerate().skip(findings.len() - new) {
            let fences = preventing(watch.steps(), f, watch.extra())
                .into_iter()
                .map(|extra| PlacedFence::placed(extra, at))
                .collect();
            reporter.send(&Message::Overtaking {
                number: i as u64 + 1,
                model: f.model,
                store: at(f.store),
                access: at(f.access),
                execution: executions + 1,
                schedule: self.shown(watch, f, exploration).to_string(),
                fences,
            });
        }
    }

    /// The schedule of those steps of the last execution that show a finding.
    fn shown(&self, watch: &Watch, finding: &Finding, exploration: &Exploration) -> Choices {
        let threads = watch.steps().iter().map(|step| usize::from(step.thread) + 1).max();
        let mut until = vec![0; threads.unwrap_or(0)];
        for &step in &finding.shown {
            until[usize::from(watch.steps()[step].thread)] = self.taken[step];
        }
        exploration.choices().part(&until)
    }

    /// After the last execution.
    pub fn report(&self, reporter: &Reporter) {
        if let Some(at) = self.races.as_ref().and_then(Races::volatile) {
            reporter.send(&Message::Volatile(reporter.place(at as usize)));
        }
        if let Some(profile) = &self.profile {
            report_profile(profile, reporter);
        }
        let Some(watch) = &self.watch else { return };
        watch.mixed().iter().for_each(|&model| reporter.send(&Message::Mixed(model)));
        for (i, f) in watch.findings().iter().enumerate() {
            let number = i as u64 + 1;
            reporter.send(&Message::Overtaken { number, executions: f.executions });
        }
        let (executions, first) = watch.unserializable();
        if executions > 0 {
            let (execution, schedule) = (first + 1, self.unserializable.clone());
            reporter.send(&Message::Unserializable { execution, schedule, executions });
        }
    }
}

fn report_profile(profile: &Profile, reporter: &Reporter) {
    let by_preemptions = profile.by_preemptions().iter().enumerate();
    for (preemptions, &executions) in by_preemptions.filter(|(_, executions)| **executions > 0) {
        reporter.send(&Message::Preempted { preemptions: preemptions as u64, executions });
    }
    for (contact, met) in profile.contacts() {
        if let Some(place) = reporter.place(contact.at as usize) {
            let (thread, other) = (contact.thread, contact.other);
            reporter.send(&Message::Met { place, thread, other, met });
        }
    }
}
