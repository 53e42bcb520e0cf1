//! The checker of evidence about histories of transactions. It knows the definitions and nothing
//! of the engines.

use crate::Verdict;
use crate::evidence::rejected::Rejected;

use super::definition::serializable_within;
use super::evidence::{Fact, Reason, TxnEvidence};
use super::orders::{misread, version_orders};
use super::recorded::{BEGINNING, TxnHistory, TxnModel};

/// Checks the evidence for a verdict: a commit order against everything that the model asks of it,
/// a cycle fact by fact. A claim that all orders were tried is only checked for being the right
/// kind of claim (see [`search_transactional`]).
pub fn transactional(
    history: &TxnHistory,
    model: TxnModel,
    verdict: &Verdict,
    evidence: &TxnEvidence,
) -> Result<(), Rejected> {
    if !history.is_well_formed() {
        return Err(Rejected::Start);
    }
    let versions = version_orders(history);
    match (verdict, evidence) {
        (Verdict::Holds, TxnEvidence::Order(order)) => {
            OrderCheck::new(history, order)?.check(model, &versions)
        }
        (Verdict::Violated, TxnEvidence::Misread { op, what }) => {
            match (*op as usize) < history.len() {
                true if misread(history, &versions, *op) == Some(*what) => Ok(()),
                _ => Err(Rejected::Trace("the read is as it should be")),
            }
        }
        (Verdict::Violated, TxnEvidence::Cycle { facts, cycle }) => {
            let check = FactCheck { history, model, versions: &versions, facts };
            for number in 0..facts.len() {
                check.fact(number).map_err(|why| Rejected::HistoryOrder(number, why))?;
            }
            let ends = check.path(cycle, facts.len());
            match ends.map_err(|why| Rejected::HistoryOrder(facts.len(), why))? {
                (from, to) if from == to => Ok(()),
                _ => Err(Rejected::HistoryOrder(facts.len(), "it is no cycle")),
            }
        }
        (Verdict::Violated, TxnEvidence::Searched) if model == TxnModel::Serializable => Ok(()),
        _ => Err(Rejected::WrongKind),
    }
}

/// Tries again all orders of a history that is said not to be serializable, up to so many states.
pub fn search_transactional(history: &TxnHistory, most: usize) -> Result<(), Rejected> {
    match serializable_within(history, most) {
        None => Err(Rejected::TooLarge(most)),
        Some(true) => Err(Rejected::Contradicted),
        Some(false) => Ok(()),
    }
}

struct FactCheck<'a> {
    history: &'a TxnHistory,
    model: TxnModel,
    versions: &'a [Vec<u32>],
    facts: &'a [Fact],
}

impl FactCheck<'_> {
    fn is_committed(&self, txn: u32) -> bool {
        (txn as usize) < self.history.txns() && self.history.committed(txn)
    }

    fn fact(&self, number: usize) -> Result<(), &'static str> {
        let Fact { from, to, reason } = &self.facts[number];
        let (from, to) = (*from, *to);
        if from == to {
            return Err("a transaction before itself");
        }
        if [from, to].iter().any(|&t| t != BEGINNING && !self.is_committed(t)) {
            return Err("a transaction that was not committed");
        }
        let good = match reason {
            Reason::Beginning => from == BEGINNING,
            Reason::Session => {
                from < to
                    && to != BEGINNING
                    && self.history.session_of(from) == self.history.session_of(to)
            }
            Reason::Reads(op) => self.source_of(*op, to)? == from,
            Reason::Versions(first, second) => self.versions(from, to, *first, *second),
            Reason::Older { read, path } => {
                let (reader, var) = self.reader(*read)?;
                self.source_of(*read, reader)? == to
                    && from != BEGINNING
                    && from != reader
                    && self.history.last_write(from, var).is_some()
                    && self.path(path, number)? == (from, reader)
                    && self.sees(path, *read)
            }
            Reason::Overwrites { read, path } => {
                let (reader, var) = self.reader(*read)?;
                self.model == TxnModel::Serializable
                    && reader == from
                    && to != BEGINNING
                    && self.history.last_write(to, var).is_some()
                    && self.path(path, number)? == (self.source_of(*read, reader)?, to)
            }
        };
        if good { Ok(()) } else { Err("the reason does not apply") }
    }

    /// The committed transaction of a read, and the variable.
    fn reader(&self, read: u32) -> Result<(u32, u32), &'static str> {
        if read as usize >= self.history.len() || self.history.writes(read) {
            return Err("a read that is none");
        }
        let txn = self.history.txn_of(read);
        if !self.is_committed(txn) {
            return Err("a read by a transaction that was not committed");
        }
        Ok((txn, self.history.var(read)))
    }

    /// What a read of this transaction reads from another one.
    fn source_of(&self, read: u32, reader: u32) -> Result<u32, &'static str> {
        if self.reader(read)?.0 != reader {
            return Err("a read of another transaction");
        }
        self.history.source(read).ok_or("a read of what its own transaction wrote")
    }

    fn versions(&self, from: u32, to: u32, first: u32, second: u32) -> bool {
        let history = self.history;
        let is_write = |op: u32| (op as usize) < history.len() && history.writes(op);
        if !is_write(first) || !is_write(second) || history.var(first) != history.var(second) {
            return false;
        }
        let list = self.versions.get(history.var(first) as usize).map_or(&[][..], Vec::as_slice);
        let place = |op: u32| list.iter().position(|&w| w == op);
        history.txn_of(first) == from
            && history.txn_of(second) == to
            && place(first).is_some_and(|first| place(second).is_none_or(|second| first < second))
    }

    /// Where a path of facts before `number` starts and ends.
    fn path(&self, path: &[u32], number: usize) -> Result<(u32, u32), &'static str> {
        if path.iter().any(|&fact| fact as usize >= number) {
            return Err("it rests on facts that do not stand before it");
        }
        let fact = |i: &u32| &self.facts[*i as usize];
        if path.windows(2).any(|pair| fact(&pair[0]).to != fact(&pair[1]).from) {
            return Err("it rests on a path with a gap");
        }
        let (Some(first), Some(last)) = (path.first(), path.last()) else {
            return Err("it rests on nothing");
        };
        Ok((fact(first).from, fact(last).to))
    }

    /// Whether along this path the transaction of the read sees where it starts.
    fn sees(&self, path: &[u32], read: u32) -> bool {
        let mut reasons = path.iter().map(|&fact| &self.facts[fact as usize].reason);
        match self.model {
            TxnModel::ReadCommitted => {
                path.len() == 1 && reasons.all(|r| matches!(r, Reason::Reads(op) if *op < read))
            }
            TxnModel::ReadAtomic => {
                path.len() == 1 && reasons.all(|r| matches!(r, Reason::Reads(_) | Reason::Session))
            }
            TxnModel::Causal => reasons.all(|r| matches!(r, Reason::Reads(_) | Reason::Session)),
            TxnModel::Serializable => true,
        }
    }
}

/// From which place in the order on variables are wanted, for the current transaction or session.
struct Wanted {
    /// Per variable for whom it is wanted, and from where on.
    of_var: Vec<(u32, u32)>,
    vars: Vec<u32>,
    now: u32,
}

impl Wanted {
    fn new(vars: usize) -> Wanted {
        Wanted { of_var: vec![(u32::MAX, 0); vars], vars: Vec::new(), now: 0 }
    }

    fn begin(&mut self, now: u32) {
        self.now = now;
        self.vars.clear();
    }

    fn is_wanted(&self, var: u32) -> bool {
        self.of_var[var as usize].0 == self.now
    }

    fn get(&self, var: u32) -> u32 {
        if self.is_wanted(var) { self.of_var[var as usize].1 } else { 0 }
    }

    fn want(&mut self, var: u32, place: u32) {
        let place = place.max(self.get(var));
        if !self.is_wanted(var) {
            self.vars.push(var);
        }
        self.of_var[var as usize] = (self.now, place);
    }
}

/// A commit order while it is checked.
struct OrderCheck<'a> {
    history: &'a TxnHistory,
    order: &'a [u32],
    /// Where a transaction stands in it, from 1; what is there at first stands before all, at 0.
    place: Vec<u32>,
}

impl<'a> OrderCheck<'a> {
    fn new(history: &'a TxnHistory, order: &'a [u32]) -> Result<OrderCheck<'a>, Rejected> {
        let mut place = vec![0; history.txns()];
        for (i, &txn) in order.iter().enumerate() {
            match place.get_mut(txn as usize) {
                Some(place) if *place == 0 && history.committed(txn) => *place = i as u32 + 1,
                _ => return Err(Rejected::Trace("a transaction stands where it cannot be")),
            }
        }
        let is_whole =
            (0..history.txns() as u32).all(|t| place[t as usize] > 0 || !history.committed(t));
        match is_whole {
            true => Ok(OrderCheck { history, order, place }),
            false => Err(Rejected::Trace("a committed transaction is missing in the order")),
        }
    }

    fn place(&self, txn: u32) -> u32 {
        if txn == BEGINNING { 0 } else { self.place[txn as usize] }
    }

    fn check(&self, model: TxnModel, versions: &[Vec<u32>]) -> Result<(), Rejected> {
        let history = self.history;
        if (0..history.len() as u32).any(|op| misread(history, versions, op).is_some()) {
            return Err(Rejected::Trace("a read is wrong whatever the order is"));
        }
        for session in 0..history.sessions() {
            let mut last = 0;
            for txn in history.of_session(session).filter(|&t| history.committed(t)) {
                if self.place(txn) < last {
                    return Err(Rejected::Trace("the order contradicts that of a session"));
                }
                last = self.place(txn);
            }
        }
        for &txn in self.order {
            let mut reads = history.of_txn(txn).filter_map(|op| history.source(op));
            if reads.any(|source| self.place(source) >= self.place(txn)) {
                return Err(Rejected::Trace("a transaction comes before one that it reads from"));
            }
        }
        self.check_versions(versions)?;
        let good = match model {
            TxnModel::ReadCommitted => self.reads_committed(),
            TxnModel::ReadAtomic => self.reads_atomically(),
            TxnModel::Causal => self.reads_causally(),
            TxnModel::Serializable => self.is_serial(),
        };
        match good {
            true => Ok(()),
            false => Err(Rejected::Trace("a read should have seen a later transaction")),
        }
    }

    fn check_versions(&self, versions: &[Vec<u32>]) -> Result<(), Rejected> {
        let history = self.history;
        let mut is_read = vec![false; if versions.is_empty() { 0 } else { history.len() }];
        for list in versions {
            let mut last = 0;
            for &write in list {
                let place = self.place(history.txn_of(write));
                if place < last {
                    return Err(Rejected::Trace("the order contradicts a list"));
                }
                last = place;
                is_read[write as usize] = true;
            }
        }
        for write in (0..is_read.len() as u32).filter(|&op| history.writes(op)) {
            let txn = history.txn_of(write);
            let last = versions[history.var(write) as usize].last();
            let last = last.map_or(0, |&last| self.place(history.txn_of(last)));
            if history.committed(txn) && !is_read[write as usize] && self.place(txn) < last {
                return Err(Rejected::Trace("what was appended is in no list that was read later"));
            }
        }
        Ok(())
    }

    /// Whether no read of a transaction is older than what it has seen before.
    fn reads_committed(&self) -> bool {
        let history = self.history;
        let mut wanted = Wanted::new(history.vars());
        let reads = |txn| {
            let ops = history.of_txn(txn);
            ops.filter_map(|op| Some((history.var(op), history.source(op)?)))
        };
        self.order.iter().all(|&txn| {
            wanted.begin(txn);
            reads(txn).for_each(|(var, _)| wanted.want(var, 0));
            let mut last = BEGINNING;
            reads(txn).all(|(var, source)| {
                let good = self.place(source) >= wanted.get(var);
                if source != last {
                    self.see(source, &mut wanted);
                    last = source;
                }
                good
            })
        })
    }

    /// Of the wanted variables those that a transaction wrote are wanted at least from there.
    fn see(&self, source: u32, wanted: &mut Wanted) {
        if source == BEGINNING {
            return;
        }
        let place = self.place(source);
        let written = self.history.written_by(source);
        if written.len() <= wanted.vars.len() {
            for &(var, _) in written {
                if wanted.is_wanted(var) {
                    wanted.want(var, place);
                }
            }
        } else {
            for i in 0..wanted.vars.len() {
                let var = wanted.vars[i];
                if self.history.last_write(source, var).is_some() {
                    wanted.want(var, place);
                }
            }
        }
    }

    fn reads_atomically(&self) -> bool {
        let history = self.history;
        let mut wanted = Wanted::new(history.vars());
        // The last writer in the session, which is the latest one, too.
        let mut own = Wanted::new(history.vars());
        (0..history.sessions()).all(|session| {
            own.begin(session as u32);
            history.of_session(session).filter(|&t| history.committed(t)).all(|txn| {
                let reads = || {
                    let ops = history.of_txn(txn);
                    ops.filter_map(|op| Some((history.var(op), history.source(op)?)))
                };
                wanted.begin(txn);
                reads().for_each(|(var, _)| wanted.want(var, own.get(var)));
                reads().for_each(|(_, source)| self.see(source, &mut wanted));
                for &(var, _) in history.written_by(txn) {
                    own.want(var, self.place(txn));
                }
                reads().all(|(var, source)| self.place(source) >= wanted.get(var))
            })
        })
    }

    /// With clocks: per transaction and session how many of that session happen before it. In a
    /// session later writers are later in the order as well, so the last one that is seen counts.
    fn reads_causally(&self) -> bool {
        let history = self.history;
        let sessions = history.sessions();
        let mut clocks: Vec<Option<Box<[u32]>>> = vec![None; history.txns()];
        let mut of_session: Vec<Box<[u32]>> = vec![vec![0; sessions].into(); sessions];
        let mut writers: Vec<Vec<(u32, Vec<u32>)>> = vec![Vec::new(); history.vars()];
        for session in 0..sessions {
            for txn in history.of_session(session).filter(|&t| history.committed(t)) {
                for (var, _) in history.written_by(txn) {
                    let of_var = &mut writers[*var as usize];
                    match of_var.last_mut() {
                        Some((s, txns)) if *s as usize == session => txns.push(txn),
                        _ => of_var.push((session as u32, vec![txn])),
                    }
                }
            }
        }
        let is_read = self.readers();
        for &txn in self.order {
            let session = history.session_of(txn) as usize;
            let mut clock = std::mem::take(&mut of_session[session]);
            for source in history.of_txn(txn).filter_map(|op| history.source(op)) {
                if source == BEGINNING {
                    continue;
                }
                if let Some(other) = &clocks[source as usize] {
                    for (mine, theirs) in clock.iter_mut().zip(other) {
                        *mine = (*mine).max(*theirs);
                    }
                }
            }
            for op in history.of_txn(txn) {
                let Some(source) = history.source(op) else { continue };
                let place = self.place(source);
                let var = history.var(op);
                for (s, txns) in &writers[var as usize] {
                    let seen = txns.partition_point(|&t| t < clock[*s as usize]);
                    if seen > 0 && self.place(txns[seen - 1]) > place {
                        return false;
                    }
                }
            }
            clock[session] = txn + 1;
            if is_read[txn as usize] {
                clocks[txn as usize] = Some(clock.clone());
            }
            of_session[session] = clock;
        }
        true
    }

    /// Which transactions others read from: only their clocks are kept.
    fn readers(&self) -> Vec<bool> {
        let mut is_read = vec![false; self.history.txns()];
        for &txn in self.order {
            for source in self.history.of_txn(txn).filter_map(|op| self.history.source(op)) {
                if source != BEGINNING {
                    is_read[source as usize] = true;
                }
            }
        }
        is_read
    }

    /// Whether each read takes the value of the last one before it that wrote the variable.
    fn is_serial(&self) -> bool {
        let history = self.history;
        let mut last = vec![BEGINNING; history.vars()];
        self.order.iter().all(|&txn| {
            let mut ops = history.of_txn(txn);
            let good = ops.all(|op| {
                history.source(op).is_none_or(|source| source == last[history.var(op) as usize])
            });
            for &(var, _) in history.written_by(txn) {
                last[var as usize] = txn;
            }
            good
        })
    }
}
