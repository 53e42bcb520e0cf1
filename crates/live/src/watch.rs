//! The monitors on executions of a real program, one execution after the other.
//!
//! Steps become events of a log ([`Watch::step`]); what the orders of C11 atomics demand becomes
//! fences beside them. There are two readings of PSO: [`Model::Pso`]`(Drain::All)` here stands for
//! the one that honours those orders (a release store waits for the stores before it, a
//! sequentially consistent one also for itself), `Drain::Own` for the one of the monitoring papers,
//! in which an atomic update waits only for stores to its own address and orders do not count.
//! Locks are full fences under both.
//!
//! Each execution stands for all those of its class (`class.rs`): what is reported does not depend
//! on the order of steps that have nothing to do with each other.

pub(crate) mod added;
pub(crate) mod advice;
pub(crate) mod class;
pub(crate) mod compiled;
pub(crate) mod late;
pub(crate) mod overlap;
pub(crate) mod profile;
pub(crate) mod races;

use rustc_hash::FxHashMap;
use weakspot_core::serial::Question;
use weakspot_core::{Drain, LogKind, Model};
use weakspot_serial::Follow;

use crate::Extra;
use crate::step::Step;
use crate::watch::added::Added;
use crate::watch::class::{Classes, Pair};
use crate::watch::compiled::{Names, compile};
use crate::watch::overlap::overtaken;

/// An access that can overtake a pending store, by the program addresses of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Under which model.
    pub model: Model,
    /// Steps of the first execution that had it, by their numbers: only these, in this order, are
    /// one that ends in the access.
    pub shown: Vec<usize>,
    /// Which of them is the store.
    pub at: usize,
    /// The program address of the store.
    pub store: u64,
    /// The program address of the access.
    pub access: u64,
    /// In how many executions it was reported.
    pub executions: u64,
    /// The first of them, from 0.
    pub first: u64,
    /// The last of them.
    last: u64,
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
    /// The fences that were added to the execution, each before a step.
    fences: Vec<(usize, LogKind)>,
    /// Whether the execution has fences that no log has.
    barriers: bool,
    /// The models for which something may be missing.
    mixed: Vec<Model>,
    executions: u64,
    /// Whether transactions are watched.
    transactions: Transactions,
    /// Executions that are not serializable: how many, and the first.
    unserializable: (u64, u64),
    findings: Vec<Finding>,
    known: FxHashMap<(Model, u64, u64), usize>,
}

/// Monitors that see the same events.
#[derive(Debug)]
struct Side {
    classes: Classes,
    /// Which of the two readings of PSO theirs is; it says whether orders of atomics count.
    drain: Drain,
}

impl Watch {
    /// Watches for these models, as if the program had some more fences.
    #[must_use]
    pub fn new(models: &[Model], extra: &[Extra]) -> Watch {
        let asked = |model| models.contains(&model);
        let (tso, pso) = (asked(Model::Tso), asked(Model::Pso(Drain::All)));
        let own = asked(Model::Pso(Drain::Own));
        let side = |tso, pso, drain| Side { classes: Classes::new(tso, pso), drain };
        Watch {
            steps: Vec::new(),
            ordered: (tso || pso).then(|| side(tso, pso, Drain::All)),
            own: own.then(|| side(false, true, Drain::Own)),
            names: Names::default(),
            extra: extra.to_vec(),
            added: Added::new(extra),
            fences: Vec::new(),
            barriers: false,
            mixed: Vec::new(),
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
        self.fences.clear();
        self.barriers = false;
        if let Some(added) = &mut self.added {
            added.begin();
        }
        for side in [&mut self.ordered, &mut self.own].into_iter().flatten() {
            side.classes.begin();
        }
    }

    /// A thread took a step.
    pub fn step(&mut self, mut step: Step) {
        let fence = self.added.as_mut().and_then(|added| added.step(&mut step));
        self.fences.extend(fence.map(|kind| (self.steps.len(), kind)));
        let fenced = self.transactions == Transactions::Fenced;
        if let Some(side) = &mut self.ordered {
            side.classes.step(&step, true, fence, fenced);
        }
        if let Some(side) = &mut self.own {
            side.classes.step(&step, false, fence, fenced);
        }
        self.steps.push(step);
    }

    /// All threads have a fence where this one is, after its last step.
    pub fn fence_all(&mut self, thread: u16) {
        self.barriers = true;
        for side in [&mut self.ordered, &mut self.own].into_iter().flatten() {
            side.classes.fence_all(thread);
        }
    }

    /// Which bytes between these addresses have stores of other threads than this one that may be
    /// pending: what a thread that frees them all would store to.
    #[must_use]
    pub fn stored_within(&self, thread: u16, from: u64, to: u64) -> Vec<(u64, u32)> {
        let sides = [&self.ordered, &self.own].into_iter().flatten();
        let mut found: Vec<(u64, u32)> =
            sides.flat_map(|side| side.classes.stored_within(thread, from, to)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The execution is over; how many findings are new. They stand at the end of
    /// [`findings`](Watch::findings).
    pub fn end(&mut self) -> usize {
        let before = self.findings.len();
        if self.transactions != Transactions::None && !self.is_serializable() {
            if self.unserializable.0 == 0 {
                self.unserializable.1 = self.executions;
            }
            self.unserializable.0 += 1;
        }
        let fenced = self.barriers || self.transactions == Transactions::Fenced;
        let Watch { steps, ordered, own, fences, mixed, executions, findings, known, .. } = self;
        let mut found = |model, store: usize, access: usize, shown: &dyn Fn() -> Vec<usize>| {
            let [from, to] = [store, access].map(|at| steps[at].at);
            let at = *known.entry((model, from, to)).or_insert(findings.len());
            if at == findings.len() {
                let shown = shown();
                let at = shown.iter().position(|&at| at == store).unwrap_or(0);
                let (first, last) = (*executions, *executions);
                findings.push(Finding {
                    model,
                    shown,
                    at,
                    store: from,
                    access: to,
                    executions: 1,
                    first,
                    last,
                });
            } else if findings[at].last != *executions {
                findings[at].last = *executions;
                findings[at].executions += 1;
            }
        };
        for Side { classes, drain } in [ordered, own].into_iter().flatten() {
            let model = |tso| if tso { Model::Tso } else { Model::Pso(*drain) };
            for pair in classes.pairs() {
                let shown = || classes.shown(pair, steps);
                found(model(pair.tso), pair.store, pair.access, &shown);
            }
            for tso in [true, false] {
                let Some(from) = classes.beside(tso) else { continue };
                let orders = *drain == Drain::All;
                match overtaken(steps, fences, orders, tso, from).filter(|_| !fenced) {
                    // What the monitors report of an access is enough.
                    Some(more) => more
                        .iter()
                        .filter(|o| {
                            let seen = |p: &Pair| (p.tso, p.access) == (tso, o.access);
                            !classes.pairs().iter().any(seen)
                        })
                        .for_each(|o| found(model(tso), o.store, o.access, &|| o.shown.clone())),
                    None if !mixed.contains(&model(tso)) => mixed.push(model(tso)),
                    None => {}
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
        let mut follow = Follow::new(&[question], false, self.names.tables(), false);
        // What does not fit is a transaction that ends without having begun: its thread was in it
        // before anybody looked.
        let _ = follow.events(&events);
        follow.cycle(question).is_none()
    }

    /// The models for which something may be missing, because accesses overlap in part.
    #[must_use]
    pub fn mixed(&self) -> &[Model] {
        &self.mixed
    }

    /// What was found so far, in the order in which it was found.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The steps of the execution so far.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The fences that the program is looked at as if it had.
    #[must_use]
    pub fn extra(&self) -> &[Extra] {
        &self.extra
    }

    /// How many executions there have been.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.executions
    }
}

/// Steps for tests.
#[cfg(test)]
pub(crate) mod test_steps {
    use super::*;
    use crate::{Op, OpKind, Order};

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
    use crate::Order;

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
