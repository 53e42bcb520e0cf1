//! One log from beginning to end: the monitors that were asked for, and afterwards, in a second
//! pass, what their cycles and orders are about, each accepted by the checks of `core`.

use std::collections::HashMap;

use weakspot_core::certify::Rejected;
use weakspot_core::serial::{
    BadLog, Conflicts, Cut, CycleCheck, OrderCheck, Passed, Question, TxnCycle, TxnReader,
};
use weakspot_core::{LogEvent, LogKind, LogTables, TxnEvent, TxnKind};

use crate::journal::{Journal, NotedCycle};
use crate::online::{Online, Peak};
use crate::touched::{Extent, Touched, TouchedEvents, touched};

/// Questions about a log, while it is followed. Without commits it is an execution of SC.
pub struct Follow {
    reader: TxnReader,
    has_commits: bool,
    monitors: Vec<Monitor>,
    journal: Option<Journal>,
}

struct Monitor {
    question: Question,
    online: Online,
    cycle: Option<TxnCycle>,
    /// What the journal says about the cycle.
    noted: Option<Result<(TouchedEvents, Passed), Rejected>>,
    /// The event of the log that closed the cycle, if a journal was kept.
    closed: Option<u64>,
}

/// Why a log cannot be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has to be followed again from the beginning, because it has commits.
    HasCommits,
    /// It has to be followed again from the beginning, because a location cuts others.
    Cut,
    /// The log is inconsistent.
    Bad(BadLog),
}

impl Follow {
    /// Before the first event of a log that is about these names. Orders of transactions are kept
    /// on demand; they need memory for each.
    #[must_use]
    pub fn new(
        questions: &[Question],
        has_commits: bool,
        tables: &LogTables,
        order: bool,
    ) -> Follow {
        let monitor = |&question: &Question| {
            let asked = by_units(question);
            let online = if order { Online::with_order(asked) } else { Online::new(asked) };
            Monitor { question, online, cycle: None, noted: None, closed: None }
        };
        Follow {
            reader: TxnReader::new(has_commits, tables),
            has_commits,
            monitors: questions.iter().map(monitor).collect(),
            journal: None,
        }
    }

    /// The same for a log that cannot be read again: notes are taken, so that cycles can be
    /// [described](Follow::noted) all the same.
    #[must_use]
    pub fn with_journal(mut self) -> Follow {
        self.journal = Some(Journal::new(self.has_commits));
        self
    }

    /// Goes on with more names.
    ///
    /// # Errors
    /// When the log has to be followed again from the beginning with these names.
    pub fn learn(&mut self, tables: &LogTables) -> Result<(), Stop> {
        self.reader.learn(tables).map_err(|Cut| Stop::Cut)
    }

    /// Follows the next events.
    ///
    /// # Errors
    /// When the log cannot be followed any further. The events before that were followed.
    pub fn events(&mut self, events: &[LogEvent]) -> Result<(), Stop> {
        if self.journal.is_some() {
            return self.noted_events(events);
        }
        let Follow { reader, has_commits, monitors, .. } = self;
        for event in events {
            if event.kind == LogKind::Commit && !*has_commits {
                return Err(Stop::HasCommits);
            }
            let read = reader.event(event, |event, unit| {
                for monitor in monitors.iter_mut().filter(|monitor| monitor.cycle.is_none()) {
                    monitor.follow((event, unit), *has_commits);
                }
            });
            for &thread in reader.over() {
                monitors.iter_mut().for_each(|monitor| monitor.online.end(thread));
            }
            read.map_err(Stop::Bad)?;
        }
        Ok(())
    }

    /// The same with a journal.
    fn noted_events(&mut self, events: &[LogEvent]) -> Result<(), Stop> {
        let Follow { reader, has_commits, monitors, journal } = self;
        let Some(journal) = journal else { return Ok(()) };
        for log in events {
            if log.kind == LogKind::Commit && !*has_commits {
                return Err(Stop::HasCommits);
            }
            let number = reader.events();
            let labelled = reader.labelled(log);
            let read = reader.event(log, |event, unit| {
                journal.note(&labelled, number, event, unit);
                for monitor in monitors.iter_mut().filter(|monitor| monitor.cycle.is_none()) {
                    monitor.follow((event, unit), *has_commits);
                    monitor.closed = monitor.cycle.as_ref().map(|_| number);
                    // What are events for one question are transactions for the journal.
                    let by_events = monitor.question == Question::ScEquivalent;
                    if let Some(cycle) = monitor.cycle.as_ref().filter(|_| !by_events) {
                        let relation = relation_of(monitor.question, *has_commits);
                        monitor.noted = Some(journal.describe(relation, cycle));
                    }
                }
            });
            for &thread in reader.over() {
                monitors.iter_mut().for_each(|monitor| monitor.online.end(thread));
            }
            read.map_err(Stop::Bad)?;
            if journal.is_full() {
                let waiting = monitors.iter().filter(|monitor| monitor.cycle.is_none());
                let needed = waiting.flat_map(|monitor| monitor.online.live_events()).collect();
                journal.retain(needed, reader);
            }
        }
        Ok(())
    }

    /// After the last event.
    ///
    /// # Errors
    /// When stores are pending.
    pub fn end(&self) -> Result<(), BadLog> {
        self.reader.end()
    }

    /// How many events there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.reader.events()
    }

    /// How many transactions there were, but for the starts and ends of threads.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        self.reader.transactions().into()
    }

    /// Whether the log has commits.
    #[must_use]
    pub fn has_commits(&self) -> bool {
        self.has_commits
    }

    /// The cycle that answers a question.
    #[must_use]
    pub fn cycle(&self, question: Question) -> Option<&TxnCycle> {
        self.monitors.iter().find(|monitor| monitor.question == question)?.cycle.as_ref()
    }

    /// What the cycle is about that answers a question, if a journal was kept.
    ///
    /// # Errors
    /// When the cycle is none by the notes of the journal.
    pub fn noted(&self, question: Question) -> Option<Result<NotedCycle, Rejected>> {
        let monitor = self.monitors.iter().find(|monitor| monitor.question == question)?;
        let journal = self.journal.as_ref()?;
        let (events, passed) = match monitor.noted.clone()? {
            Ok(noted) => noted,
            Err(rejected) => return Some(Err(rejected)),
        };
        let txns = events.values().map(|touched| touched.event.txn);
        let transactions = txns.filter_map(|txn| Some((txn, journal.transaction(txn)?))).collect();
        Some(Ok(NotedCycle { events, transactions, passed }))
    }

    /// Which event of the log closed the cycle that answers a question, if a journal was kept.
    pub fn closed(&self) -> impl Iterator<Item = (Question, u64)> {
        self.monitors.iter().filter_map(|monitor| Some((monitor.question, monitor.closed?)))
    }

    /// Whether some transaction has brackets or a number.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.reader.is_marked()
    }

    /// The transactions that began with a bracket and have not ended, by thread and event.
    #[must_use]
    pub fn unended(&self) -> Vec<(u16, u64)> {
        self.reader.unended()
    }

    /// How many questions have a cycle for an answer.
    #[must_use]
    pub fn found(&self) -> u64 {
        self.monitors.iter().filter(|monitor| monitor.cycle.is_some()).count() as u64
    }

    /// The memory in use, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let monitors = self.monitors.iter().map(|monitor| monitor.online.bytes());
        let journal = self.journal.as_ref().map_or(0, Journal::bytes);
        self.reader.bytes() + journal + monitors.sum::<u64>()
    }

    /// How much one of the monitors remembered at most.
    #[must_use]
    pub fn peak(&self) -> Peak {
        self.monitors.iter().fold(Peak::default(), |most, monitor| {
            let Peak { nodes, edges } = monitor.online.peak();
            Peak { nodes: most.nodes.max(nodes), edges: most.edges.max(edges) }
        })
    }

    /// The order of the transactions that answers a question, which is not to be followed any
    /// further.
    #[must_use]
    pub fn take_order(&mut self, question: Question) -> Option<Vec<u32>> {
        let at = self.monitors.iter().position(|monitor| monitor.question == question)?;
        let monitor = self.monitors.remove(at);
        match monitor.cycle {
            None => monitor.online.into_order(),
            Some(_) => None,
        }
    }

    /// How many transactions the orders have at most.
    #[must_use]
    pub fn ordered(&self) -> usize {
        self.monitors.iter().map(|monitor| monitor.online.ordered()).max().unwrap_or(0)
    }

    /// From now on no orders are kept.
    pub fn forget_orders(&mut self) {
        for monitor in &mut self.monitors {
            monitor.online.forget_order();
        }
    }
}

/// SC-equivalence is SC-serializability if each event of the log is a transaction: an access that
/// consists of several variables is one event.
fn by_units(question: Question) -> Question {
    match question {
        Question::ScEquivalent => Question::ScSerializable,
        question => question,
    }
}

/// The relation whose cycles answer a question.
fn relation_of(question: Question, has_commits: bool) -> Conflicts {
    if has_commits { question.conflicts() } else { Conflicts::Sc }
}

fn as_asked(question: Question, (event, unit): (TxnEvent, u32)) -> TxnEvent {
    match question {
        Question::ScEquivalent => TxnEvent { txn: unit, ..event },
        _ => event,
    }
}

impl Monitor {
    #[inline]
    fn follow(&mut self, event: (TxnEvent, u32), has_commits: bool) {
        let event = as_asked(self.question, event);
        self.cycle = match has_commits {
            // The reader has checked that commits fit.
            true => self.online.event(event).unwrap_or(None),
            false => self.online.sc_event(event),
        };
    }
}

/// Goes through a log again to check a cycle, and to find out what its events are.
pub struct Explain<'a> {
    question: Question,
    reader: TxnReader,
    check: CycleCheck<'a>,
    wanted: HashMap<u64, Option<Touched>>,
    last: u64,
    /// The number of the next event of the execution.
    now: u64,
}

impl<'a> Explain<'a> {
    /// Before the first event of the log, with all names that it is about.
    #[must_use]
    pub fn new(
        question: Question,
        has_commits: bool,
        tables: &LogTables,
        cycle: &'a TxnCycle,
    ) -> Explain<'a> {
        let relation = relation_of(question, has_commits);
        let events = || cycle.0.iter().flat_map(|&(a, b)| [a, b]);
        Explain {
            question,
            reader: TxnReader::new(has_commits, tables),
            check: CycleCheck::new(relation, cycle),
            wanted: events().map(|event| (event, None)).collect(),
            last: events().max().unwrap_or(0),
            now: 0,
        }
    }

    /// Goes through the next events; whether there are enough.
    ///
    /// # Errors
    /// When the log is not the one that the cycle was found in.
    pub fn events(&mut self, events: &[LogEvent]) -> Result<bool, Rejected> {
        let Explain { question, reader, check, wanted, now, .. } = self;
        for log in events {
            let number = reader.events();
            let mut end = Ok(());
            let read = reader.event(log, |event, unit| {
                if let Some(touched) = wanted.get_mut(now) {
                    *touched = Some(self::touched(log, number, event, unit));
                }
                if end.is_ok() {
                    end = check.event(as_asked(*question, (event, unit)));
                }
                *now += 1;
            });
            read.map_err(|bad| Rejected::Transactions(bad.event, "it does not fit the log"))?;
            end?;
            if *now > self.last {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the events of the cycle are, by their numbers.
    ///
    /// # Errors
    /// When the cycle is none.
    pub fn end(self) -> Result<(TouchedEvents, Passed), Rejected> {
        let passed = self.check.end()?;
        let touched =
            self.wanted.into_iter().filter_map(|(event, touched)| Some((event, touched?)));
        Ok((touched.collect(), passed))
    }
}

/// Goes through a log again to check an order of its transactions.
pub struct Ordered {
    question: Question,
    reader: TxnReader,
    check: OrderCheck,
}

impl Ordered {
    /// Before the first event of the log, with all names that it is about.
    ///
    /// # Errors
    /// When the order names a transaction twice.
    pub fn new(
        question: Question,
        has_commits: bool,
        tables: &LogTables,
        order: &[u32],
    ) -> Result<Ordered, Rejected> {
        let relation = relation_of(question, has_commits);
        let check = OrderCheck::new(relation, order)?;
        Ok(Ordered { question, reader: TxnReader::new(has_commits, tables), check })
    }

    /// Goes through the next events.
    ///
    /// # Errors
    /// When they do not respect the order.
    pub fn events(&mut self, events: &[LogEvent]) -> Result<(), Rejected> {
        for log in events {
            let mut end = Ok(());
            let check = &mut self.check;
            let question = self.question;
            let read = self.reader.event(log, |event, unit| {
                if end.is_ok() {
                    end = check.event(as_asked(question, (event, unit)));
                }
            });
            read.map_err(|bad| Rejected::Transactions(bad.event, "it does not fit the log"))?;
            end?;
        }
        Ok(())
    }

    /// After the last event.
    ///
    /// # Errors
    /// When stores are pending.
    pub fn end(&self) -> Result<Passed, Rejected> {
        self.check.end()
    }
}

/// Goes through a log again to find out where transactions begin and end.
pub struct Extents {
    reader: TxnReader,
    all: bool,
    found: HashMap<u32, Extent>,
    events: HashMap<u64, Option<LogEvent>>,
}

impl Extents {
    /// Looks for these transactions, or for all of them.
    #[must_use]
    pub fn new(has_commits: bool, tables: &LogTables, wanted: Option<&[u32]>) -> Extents {
        let found = wanted.unwrap_or_default().iter().map(|&txn| (txn, Extent::NONE)).collect();
        let reader = TxnReader::new(has_commits, tables);
        Extents { reader, all: wanted.is_none(), found, events: HashMap::new() }
    }

    /// Looks for these events of the log, too.
    pub fn look_for(&mut self, numbers: impl Iterator<Item = u64>) {
        self.events.extend(numbers.map(|number| (number, None)));
    }

    /// Goes through the next events, which have been followed before.
    pub fn events(&mut self, events: &[LogEvent]) {
        for log in events {
            let number = self.reader.events();
            if let Some(event) = self.events.get_mut(&number) {
                *event = Some(*log);
            }
            let (all, found) = (self.all, &mut self.found);
            let labelled = self.reader.labelled(log);
            // What does not fit was found when the log was followed.
            let _ = self.reader.event(log, |event, unit| {
                if event.kind == TxnKind::Commit || !all && !found.contains_key(&event.txn) {
                    return;
                }
                let touched = touched(log, number, event, unit);
                found.entry(event.txn).or_insert(Extent::NONE).add(&labelled, &touched);
            });
        }
    }

    /// An event that was looked for.
    #[must_use]
    pub fn event(&self, number: u64) -> Option<&LogEvent> {
        self.events.get(&number)?.as_ref()
    }

    /// The transactions so far, by their numbers.
    #[must_use]
    pub fn found(&self) -> &HashMap<u32, Extent> {
        &self.found
    }

    /// The transactions, by their numbers.
    #[must_use]
    pub fn end(self) -> HashMap<u32, Extent> {
        self.found
    }
}
