//! The monitors on executions of a real program, one execution after the other.
//!
//! Steps become events of a log ([`Watch::step`]); what the orders of C11 atomics demand becomes
//! fences beside them. There are two readings of PSO: [`Model::Pso`]`(Drain::All)` here stands for
//! the one that honours those orders (a release store waits for the stores before it, a
//! sequentially consistent one also for itself), `Drain::Own` for the one of the monitoring papers,
//! in which an atomic update waits only for stores to its own address and orders do not count.
//! Locks are full fences under both.
//!
//! An execution is kept as events and given to the monitors when it is over, all at once, which is
//! what they are fastest at.

use rustc_hash::FxHashMap;
use weakspot_core::serial::Question;
use weakspot_core::{Bytes, Drain, LogEvent, LogKind, LogLoc, LogTables, Model, Overtaking};
use weakspot_monitor::{Form, Monitor};
use weakspot_serial::{Follow, fence_transactions};

use crate::added::Added;
use crate::{Extra, Op, OpKind};

/// The order of an access, as C11 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// It is not atomic.
    Plain,
    /// Atomic, with no more than that.
    Relaxed,
    /// Acquire or consume.
    Acquire,
    /// Release.
    Release,
    /// Both.
    AcqRel,
    /// Sequentially consistent.
    SeqCst,
}

/// An access that can overtake a pending store, by the program addresses of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Under which model.
    pub model: Model,
    /// The first report.
    pub report: Overtaking,
    /// The program address of the store.
    pub store: u64,
    /// The program address of the access.
    pub access: u64,
    /// In how many executions it was reported.
    pub executions: u64,
    /// The first of them, from 0.
    pub first: u64,
}

/// What is watched about transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transactions {
    /// Nothing.
    None,
    /// Whether executions are serializable under SC.
    Watched,
    /// The same, and the other monitors see a fence at the end of each.
    Fenced,
}

/// A step of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who.
    pub thread: u16,
    /// What was done.
    pub op: Op,
    /// In which order, if it is atomic.
    pub order: Order,
    /// The program address.
    pub at: u64,
}

/// The monitors and what they have found.
#[derive(Debug)]
pub struct Watch {
    steps: Vec<Step>,
    /// TSO, and PSO with orders.
    ordered: Option<Side>,
    /// PSO as in the papers.
    own: Option<Side>,
    names: Names,
    extra: Vec<Extra>,
    added: Option<Added>,
    executions: u64,
    /// Whether transactions are watched.
    transactions: Transactions,
    /// Executions that are not serializable: how many, and the first.
    unserializable: (u64, u64),
    findings: Vec<Finding>,
    known: FxHashMap<(Model, u64, u64), usize>,
}

/// The numbers of locations and program addresses. Programs are deterministic, so that they are
/// mostly the same in all executions.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tables: LogTables,
    locs: FxHashMap<(u64, u32), u32>,
    sites: FxHashMap<u64, u32>,
    /// By the number of a site: its program address.
    addresses: Vec<u64>,
}

/// A monitor with the models that it watches.
#[derive(Debug)]
struct Side {
    monitor: Monitor,
    models: Vec<Model>,
    /// Whether orders of atomics count.
    orders: bool,
    events: Vec<LogEvent>,
}

impl Watch {
    /// Watches for these models, as if the program had some more fences.
    #[must_use]
    pub fn new(models: &[Model], extra: &[Extra]) -> Watch {
        let (own, ordered): (Vec<Model>, Vec<Model>) = models
            .iter()
            .filter(|model| **model != Model::Sc)
            .partition(|model| **model == Model::Pso(Drain::Own));
        Watch {
            steps: Vec::new(),
            ordered: Side::new(ordered, true),
            own: Side::new(own, false),
            names: Names::default(),
            extra: extra.to_vec(),
            added: Added::new(extra),
            transactions: Transactions::None,
            unserializable: (0, 0),
            executions: 0,
            findings: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// The same, and whether each execution is serializable is watched, too.
    #[must_use]
    pub fn with_transactions(self, transactions: Transactions) -> Watch {
        Watch { transactions, ..self }
    }

    /// How many executions were not serializable under SC, and the first of them, from 0.
    #[must_use]
    pub fn unserializable(&self) -> (u64, u64) {
        self.unserializable
    }

    /// An execution begins.
    pub fn begin(&mut self) {
        self.steps.clear();
        if let Some(added) = &mut self.added {
            added.begin();
        }
    }

    /// A thread took a step.
    pub fn step(&mut self, step: Step) {
        match &mut self.added {
            None => self.steps.push(step),
            Some(added) => added.step(step, &mut self.steps),
        }
    }

    /// The execution is over; how many findings are new. They stand at the end of
    /// [`findings`](Watch::findings).
    pub fn end(&mut self) -> usize {
        let before = self.findings.len();
        let fence = self.transactions == Transactions::Fenced;
        if self.transactions != Transactions::None && !self.is_serializable() {
            if self.unserializable.0 == 0 {
                self.unserializable.1 = self.executions;
            }
            self.unserializable.0 += 1;
        }
        let Watch { steps, ordered, own, names, executions, findings, known, .. } = self;
        for side in [ordered, own].into_iter().flatten() {
            side.follow(steps, fence, names);
            for &model in &side.models {
                if side.monitor.pairs(model) == 0 {
                    continue;
                }
                for report in side.monitor.reports(model) {
                    let [store, access] =
                        [report.store, report.access].map(|end| names.address(end.site));
                    let at = *known.entry((model, store, access)).or_insert(findings.len());
                    if at == findings.len() {
                        let first = *executions;
                        findings.push(Finding {
                            model,
                            report,
                            store,
                            access,
                            executions: 0,
                            first,
                        });
                    }
                    findings[at].executions += 1;
                }
            }
        }
        self.executions += 1;
        self.findings.len() - before
    }

    /// Whether the execution is, under SC.
    fn is_serializable(&mut self) -> bool {
        let mut events = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            compile(step, true, &mut self.names, &mut events);
        }
        let question = Question::ScSerializable;
        let mut follow = Follow::new(&[question], false, &self.names.tables, false);
        // What does not fit is a transaction that ends without having begun: its thread was in it
        // before anybody looked.
        let _ = follow.events(&events);
        follow.cycle(question).is_none()
    }

    /// What was found so far, in the order in which it was found.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The steps of the execution so far, with the fences that it is looked at as if it had.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The fences that the program is looked at as if it had.
    #[must_use]
    pub fn extra(&self) -> &[Extra] {
        &self.extra
    }

    /// The bytes of a location in a report.
    #[must_use]
    pub fn bytes(&self, loc: u32) -> Option<Bytes> {
        self.names.tables.locs.get(loc as usize)?.bytes
    }

    /// How many executions there have been.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.executions
    }
}

impl Side {
    fn new(models: Vec<Model>, orders: bool) -> Option<Side> {
        // Under both readings of PSO an update drains its own address; orders are fences beside it.
        let asked = models.iter().map(|model| match model {
            Model::Pso(_) => Model::Pso(Drain::Own),
            model => *model,
        });
        let monitor = Monitor::new(&asked.collect::<Vec<_>>(), Form::All);
        (!models.is_empty()).then_some(Side { monitor, models, orders, events: Vec::new() })
    }

    fn follow(&mut self, steps: &[Step], fence: bool, names: &mut Names) {
        self.events.clear();
        for step in steps {
            compile(step, self.orders, names, &mut self.events);
        }
        if fence {
            self.events = fence_transactions(&self.events).events;
        }
        self.monitor.restart();
        self.monitor.learn(&names.tables);
        // Steps become no commits, and the runtime has fewer threads than a monitor can follow.
        let followed = self.monitor.events(&self.events);
        debug_assert!(followed.is_ok(), "{followed:?}");
    }
}

/// Steps as monitors see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The events.
    pub events: Vec<LogEvent>,
    /// The bytes of their locations.
    pub locs: Vec<Bytes>,
    /// The program addresses of their sites.
    pub sites: Vec<u64>,
}

/// The events of some steps; `orders` says whether those of atomics count, as they do under all models
/// but `Pso(Drain::Own)`.
#[must_use]
pub fn compiled(steps: &[Step], orders: bool) -> Compiled {
    let mut names = Names::default();
    let mut events = Vec::with_capacity(steps.len());
    steps.iter().for_each(|step| compile(step, orders, &mut names, &mut events));
    let locs = names.tables.locs.iter().filter_map(|loc| loc.bytes).collect();
    Compiled { events, locs, sites: names.addresses }
}

/// Appends the events of a step.
pub(crate) fn compile(step: &Step, orders: bool, names: &mut Names, out: &mut Vec<LogEvent>) {
    let Step { thread, op, order, at } = *step;
    let site = names.site(at);
    let event = |kind, loc| LogEvent { site, ..LogEvent::new(thread, kind, loc) };
    let order = if orders { order } else { Order::Relaxed };
    match op.kind {
        OpKind::Read => out.push(event(LogKind::Read, names.loc(op))),
        // On x86 it waits for the stores of its thread, whether it succeeds or not.
        OpKind::Compare => {
            if orders {
                out.push(event(LogKind::Fence, 0));
            }
            out.push(event(LogKind::Read, names.loc(op)));
        }
        OpKind::Write if !orders && step.order == Order::SeqCst => {
            out.push(event(LogKind::Update, names.loc(op)));
        }
        OpKind::Write => {
            if order >= Order::Release {
                out.push(event(LogKind::StoreFence, 0));
            }
            out.push(event(LogKind::Write, names.loc(op)));
            if order == Order::SeqCst {
                out.push(event(LogKind::Fence, 0));
            }
        }
        OpKind::Update => {
            match order {
                Order::Plain | Order::Relaxed | Order::Acquire => {}
                Order::Release | Order::AcqRel => out.push(event(LogKind::StoreFence, 0)),
                Order::SeqCst => out.push(event(LogKind::Fence, 0)),
            }
            out.push(event(LogKind::Update, names.loc(op)));
        }
        OpKind::Acquire => {
            out.extend([event(LogKind::Fence, 0), event(LogKind::Acquire, names.loc(op))]);
        }
        OpKind::Release => {
            out.extend([event(LogKind::Fence, 0), event(LogKind::Release, names.loc(op))]);
        }
        OpKind::Fence => out.push(event(LogKind::Fence, 0)),
        OpKind::StoreFence => out.push(event(LogKind::StoreFence, 0)),
        OpKind::Spawn => out.push(event(LogKind::Spawn, op.addr as u32)),
        OpKind::Join => out.push(event(LogKind::Join, op.addr as u32)),
        OpKind::Begin => out.push(event(LogKind::Begin, 0)),
        OpKind::End => out.push(event(LogKind::End, 0)),
        OpKind::Start | OpKind::Exit | OpKind::Yield | OpKind::Commit => {}
    }
}

impl Names {
    fn loc(&mut self, op: Op) -> u32 {
        let next = self.tables.locs.len() as u32;
        let loc = *self.locs.entry((op.addr, op.len)).or_insert(next);
        if loc == next {
            let bytes = Some(Bytes { start: op.addr, len: op.len.max(1) });
            self.tables.locs.push(LogLoc { name: String::new(), bytes });
        }
        loc
    }

    fn site(&mut self, at: u64) -> u32 {
        let next = self.addresses.len() as u32 + 1;
        let site = *self.sites.entry(at).or_insert(next);
        if site == next {
            self.addresses.push(at);
        }
        site
    }

    /// The program address of a site of a report.
    fn address(&self, site: u32) -> u64 {
        (site as usize).checked_sub(1).and_then(|at| self.addresses.get(at)).map_or(0, |a| *a)
    }
}

/// Steps for tests.
#[cfg(test)]
pub(crate) mod test_steps {
    use super::*;

    /// Steps from words like `0wx` or `1rx.sc`: thread, what, where, order. The program address is
    /// the place in the text, from 1.
    pub(crate) fn steps(text: &str) -> Vec<Step> {
        let step = |(i, word): (usize, &str)| {
            let (what, order) = word.split_once('.').unwrap_or((word, ""));
            let letters: Vec<char> = what.chars().collect();
            let kind = match letters[1] {
                'r' => OpKind::Read,
                'w' => OpKind::Write,
                'u' => OpKind::Update,
                'l' => OpKind::Acquire,
                'm' => OpKind::Release,
                'f' => OpKind::Fence,
                's' => OpKind::StoreFence,
                other => panic!("{other}"),
            };
            let order = match order {
                "" => Order::Plain,
                "rlx" => Order::Relaxed,
                "rel" => Order::Release,
                "sc" => Order::SeqCst,
                other => panic!("{other}"),
            };
            let op = match letters.get(2) {
                Some(&c) => Op { kind, len: 4, addr: 0x1000 + 16 * c as u64 },
                None => Op::plain(kind),
            };
            let thread = letters[0].to_digit(10).expect("a thread") as u16;
            Step { thread, op, order, at: i as u64 + 1 }
        };
        text.split_whitespace().enumerate().map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::test_steps::steps;
    use super::*;

    const PSO: Model = Model::Pso(Drain::All);
    const OWN: Model = Model::Pso(Drain::Own);

    /// The findings of one execution: model, place of the store, place of the access.
    fn found(text: &str, extra: &[Extra]) -> Vec<(Model, u64, u64)> {
        let mut watch = Watch::new(&[Model::Tso, PSO, OWN], extra);
        for _ in 0..2 {
            watch.begin();
            steps(text).into_iter().for_each(|step| watch.step(step));
            watch.end();
        }
        assert!(watch.findings().iter().all(|f| (f.executions, f.first) == (2, 0)));
        watch.findings().iter().map(|f| (f.model, f.store, f.access)).collect()
    }

    #[test]
    fn store_buffering() {
        let all = [(Model::Tso, 1, 4), (PSO, 1, 4), (OWN, 1, 4)];
        assert_eq!(found("0wx 0ry 1wy 1rx", &[]), all);
        assert_eq!(found("0wx.rel 0ry 1wy.rel 1rx", &[]), all);
        assert_eq!(found("0wx.sc 0ry 1wy.sc 1rx", &[]), []);
        assert_eq!(found("0wx 0f 0ry 1wy 1f 1rx", &[]), []);
        assert_eq!(found("0wx 0ry 1wy 1rx", &[Extra::Full(1, 2)]), []);
        assert_eq!(found("0wx 0ry 1wy 1rx", &[Extra::Full(2, 1), Extra::Full(1, 4)]), all);
        assert_eq!(found("0wx 0ry 1wy 1rx", &[Extra::Stores(1, 2)]), all);
        assert_eq!(found("0wx.rlx 0ry 1wy.rlx 1rx", &[Extra::Order(1, Order::SeqCst)]), []);
        assert_eq!(found("0wx.rlx 0ry 1wy.rlx 1rx", &[Extra::Order(1, Order::Release)]), all);
        // Nothing that is not atomic has an order.
        assert_eq!(found("0wx 0ry 1wy 1rx", &[Extra::Order(1, Order::SeqCst)]), all);
    }

    #[test]
    fn message_passing() {
        let pso = [(PSO, 1, 4), (OWN, 1, 4)];
        assert_eq!(found("0wx 0wy 1ry 1rx", &[]), pso);
        assert_eq!(found("0wx 0wy.rel 1ry 1rx", &[]), [(OWN, 1, 4)]);
        assert_eq!(found("0wx 0uy.rel 1ry 1rx", &[]), [(OWN, 1, 4)]);
        assert_eq!(found("0wx 0uy.sc 1ry 1rx", &[]), [(OWN, 1, 4)]);
        assert_eq!(found("0wx 0uy 1ry 1rx", &[]), pso);
        assert_eq!(found("0wx 0s 0wy 1ry 1rx", &[]), []);
        assert_eq!(found("0wx 0wy 1ry 1rx", &[Extra::Stores(1, 2)]), []);
        let released = [Extra::Order(2, Order::Release)];
        assert_eq!(found("0wx 0wy.rlx 1ry 1rx", &released), [(OWN, 1, 4)]);
        assert_eq!(found("0wx 0uy.rlx 1ry 1rx", &released), [(OWN, 1, 4)]);
        assert_eq!(found("0wx 0my 1ly 1rx", &[]), []);
    }
}
