//! Which orders hold in every witness of SC, TSO or PSO? Derives them by two rules, to a fixpoint:
//! a write before a read of another write to the variable comes before that write, too; and what
//! reads a write comes before every write to the variable that the write comes before.
//!
//! The paper's pww and wpww (sections 3.2 and 4.2) apply them once, to program order and
//! reads-from; here what is derived feeds both rules again, so more is ordered, and it still lies
//! below every witness. What comes before an operation is one number per chain (`chains.rs`).
//!
//! Rounds of: visit everything in an order that respects all edges so far, compute the clocks, and
//! add what the rules say. It ends when they say nothing new, or a cycle prevents the visit, which
//! shows that there is no witness. No cycle shows nothing: the rules are incomplete.
//!
//! Cost: operations times chains per round, for memory, too.

use weakspot_core::{History, HistoryEvidence, Limit, OpKind, Within};
use weakspot_sat::Meter;

use crate::gradual::chains::{Chains, END, coherence, walk};
use crate::graph::explain::{Explain, Ppo};
use crate::graph::extra::Extra;
use crate::graph::store::Readers;
use crate::graph::writes::Writes;

/// What comes before what.
pub(crate) struct Orders<'a> {
    pub(crate) chains: Chains<'a>,
    /// The derived edges. Each follows from program order, reads-from and those before it.
    pub(crate) extra: Extra,
    /// Per operation, per chain: everything of the chain with a smaller number is before it, or
    /// is it. In the chains of writes that speaks of updates, too.
    rows: Vec<u32>,
    writes: Writes,
    /// Per thread that writes a variable the chain whose clock speaks of all these writes: the main
    /// chain if all are updates.
    writing: Vec<u32>,
}

/// Saturates a history, or finds that there is no witness. Without `rules` it computes only what
/// program order, reads-from and coherence say.
pub(crate) fn saturate<'a>(
    ops: &'a History,
    ppo: Ppo,
    rules: bool,
    meter: &mut Meter<'_>,
) -> Result<Result<Orders<'a>, HistoryEvidence>, Limit> {
    let chains = Chains::new(ops, ppo);
    let extra = match coherence(&chains) {
        Ok(extra) => extra,
        Err(evidence) => return Ok(Err(evidence)),
    };
    let cells = (ops.len() as u64).saturating_mul(chains.len() as u64);
    let fixed = chains.bytes() + 16 * ops.len() as u64;
    meter.room(4 * cells + fixed + extra.bytes())?;
    let writes = Writes::new(ops);
    let chain = |writer| writes.of(writer).iter().map(|&w| chains.of(w) as u32).max();
    let writing = writes.all().iter().map(|writer| chain(writer).unwrap_or(0)).collect();
    let readers = Readers::new(ops);
    let mut orders = Orders { rows: vec![0; cells as usize], chains, extra, writes, writing };
    loop {
        let known = orders.extra.len();
        let bytes = 4 * cells + fixed + orders.extra.bytes();
        let Orders { chains, extra, rows, writes, writing } = &mut orders;
        let last = vec![END; chains.len()];
        // Edges are added while earlier ones are in use, so the round has its own list.
        let mut round =
            Round { chains, rows, writes, writing, readers: &readers, last, found: Vec::new() };
        let walked = walk(chains, extra, |op| {
            round.visit(extra, op);
            meter.work(chains.len() as u64, || bytes + 12 * round.found.len() as u64)
        })?;
        if let Err(cycle) = walked {
            let evidence = Explain::strong(ops, ppo, extra).cycle(Within::Global, &cycle);
            return Ok(Err(evidence));
        }
        let mut found = round.found;
        found.sort_unstable_by_key(|&(from, to, _)| (to, from));
        found.dedup_by_key(|&mut (from, to, _)| (to, from));
        for (from, to, read) in found.into_iter().take_while(|_| rules) {
            extra.push(from, to, read);
        }
        if orders.extra.len() == known {
            return Ok(Ok(orders));
        }
    }
}

/// One visit of everything.
struct Round<'r, 'a> {
    chains: &'r Chains<'a>,
    rows: &'r mut [u32],
    writes: &'r Writes,
    writing: &'r [u32],
    readers: &'r Readers,
    /// Per chain what was visited last.
    last: Vec<u32>,
    found: Vec<(u32, u32, u32)>,
}

impl Round<'_, '_> {
    fn visit(&mut self, extra: &Extra, op: u32) {
        let (chains, ops) = (self.chains, self.chains.ops);
        let width = chains.len();
        let thread = chains.thread(op);
        let kind = ops.kind(op);
        let own = op as usize * width;
        // A row only grows from round to round, because edges are only added.
        let mut join = |from: u32| {
            let at = from as usize * width;
            for i in 0..width {
                self.rows[own + i] = self.rows[own + i].max(self.rows[at + i]);
            }
        };
        let chain = chains.of(op);
        let last = |chain: usize| Some(self.last[chain]).filter(|&last| last != END);
        last(chain).into_iter().for_each(&mut join);
        match kind {
            OpKind::Read => {}
            OpKind::Write => chains.main_before(op).into_iter().for_each(&mut join),
            OpKind::Update | OpKind::Fence => {
                chains.waited(op).filter_map(last).for_each(&mut join);
            }
        }
        if let Some(w) = chains.reads_from(op) {
            join(w);
        }
        if extra.leads_to(op) {
            extra.leading_to(op).for_each(|(_, edge)| join(edge.from));
        }
        self.last[chain] = op;
        self.rows[own + chain] = op + 1;
        if matches!(kind, OpKind::Update | OpKind::Fence) {
            self.rows[own..own + width][chains.waited(op)].fill(op + 1);
        }
        if kind == OpKind::Fence {
            return;
        }
        let var = ops.var(op);
        for number in self.writes.numbers(var) {
            let writer = &self.writes.all()[number];
            let bound = self.rows[own + self.writing[number] as usize];
            let bound = if writer.thread as usize == thread { bound.min(op) } else { bound };
            let Some(last) = self.writes.last(writer, bound) else { continue };
            if let Some(w) = ops.from(op)
                && ops.reads(op)
                && last != w
                && !is_before(chains, self.rows, last, w)
            {
                self.found.push((last, w, op));
            }
            if ops.writes(op) {
                for read in self.readers.of(last as usize) {
                    if read != op && !is_before(chains, self.rows, read, op) {
                        self.found.push((read, op, read));
                    }
                }
            }
        }
    }
}

fn is_before(chains: &Chains<'_>, rows: &[u32], a: u32, b: u32) -> bool {
    rows[b as usize * chains.len() + chains.of(a)] > a
}

impl Orders<'_> {
    /// Whether one operation comes before another, or is it.
    pub(crate) fn has_before(&self, a: u32, b: u32) -> bool {
        is_before(&self.chains, &self.rows, a, b)
    }

    pub(crate) fn bytes(&self) -> u64 {
        4 * self.rows.len() as u64 + self.chains.bytes() + self.extra.bytes()
    }

    /// The number of pairs of writes to one variable, and of those that are not ordered.
    pub(crate) fn pairs(&self) -> (u64, u64) {
        let ops = self.chains.ops;
        let (mut all, mut ordered) = (0, 0);
        for var in 0..ops.vars() as u32 {
            let count = self.writes_to(var).len() as u64;
            all += count * count.saturating_sub(1) / 2;
            for writer in self.writes.writers(var) {
                for &w in self.writes.of(writer) {
                    for number in self.writes.numbers(var) {
                        let other = &self.writes.all()[number];
                        let row = w as usize * self.chains.len();
                        let bound = self.rows[row + self.writing[number] as usize];
                        let bound =
                            if other.thread == writer.thread { bound.min(w) } else { bound };
                        let before = self.writes.of(other).partition_point(|&w| w < bound);
                        ordered += before as u64;
                    }
                }
            }
        }
        (all, all - ordered)
    }

    /// The writes of all threads to a variable, updates included.
    pub(crate) fn writes_to(&self, var: u32) -> &[u32] {
        self.writes.to(var)
    }
}
