//! The operations of a history as chains: sequences whose order no witness can change. Under SC
//! each thread is one. Under TSO a thread has a main chain, its reads, updates and fences, and one
//! of its plain writes, in the order in which they reach memory; under PSO one of these per
//! variable. A write waits for the main chain before it, an update or fence for the writes before,
//! under PSO-own an update only for those to its variable.
//!
//! This is the part of program order that counts in memory ([`Within::Global`]). What is left of
//! it, on one variable, `coherence` turns into derived edges, so that engines need no second
//! relation.
//!
//! [`Within::Global`]: weakspot_core::Within::Global

use weakspot_core::{History, HistoryEvidence, INITIAL, OpKind, Within};

use crate::graph::explain::{Explain, Ppo};
use crate::graph::extra::Extra;
use crate::graph::walk::{Link, LinkKind};

/// The chains of a history. Main chains come first and have the numbers of their threads.
pub(crate) struct Chains<'a> {
    pub(crate) ops: &'a History,
    pub(crate) ppo: Ppo,
    /// Per [`BLOCK`] of operations the thread of the first one, and at last that of the last operation: most
    /// blocks are of one thread.
    thread: Vec<u32>,
    /// With relaxed program order, per operation its chain.
    chain: Vec<u32>,
    /// With relaxed program order, per operation the next one of its chain.
    next: Vec<u32>,
    /// Per chain its first operation.
    first: Vec<u32>,
    /// Where the chains of writes of each thread begin, and where those of the last one end.
    writes: Vec<u32>,
    /// With relaxed program order, per operation the one of the main chain before it.
    main_before: Vec<u32>,
    /// Where updates wait for some writes only, per update the chain of the writes of its thread
    /// to its variable; [`END`] for others, and if there is none before it.
    waited: Vec<u32>,
}

/// No operation: what follows the last one of a chain. It is above all operations.
pub(crate) const END: u32 = u32::MAX;

/// How many operations share an entry about their threads.
const BLOCK: usize = 16;

impl<'a> Chains<'a> {
    pub(crate) fn new(ops: &'a History, ppo: Ppo) -> Chains<'a> {
        let k = ops.threads();
        let firsts = (0..ops.len()).step_by(BLOCK).chain(ops.len().checked_sub(1));
        let thread = firsts.map(|op| ops.thread_of(op as u32) as u32).collect();
        let (chain, writes, waited) = match ppo {
            Ppo::Full => (Vec::new(), vec![k as u32; k + 1], Vec::new()),
            _ => chains_of_writes(ops, ppo),
        };
        let count = writes.last().copied().unwrap_or(0) as usize;
        let mut chains = Chains {
            ops,
            ppo,
            thread,
            chain,
            next: Vec::new(),
            first: vec![END; count],
            writes,
            main_before: Vec::new(),
            waited,
        };
        if !ppo.is_relaxed() {
            for (thread, first) in chains.first.iter_mut().enumerate() {
                let range = ops.of_thread(thread);
                *first = if range.is_empty() { END } else { range.start };
            }
            return chains;
        }
        chains.next = vec![END; ops.len()];
        for op in (0..ops.len() as u32).rev() {
            let chain = chains.of(op);
            chains.next[op as usize] = std::mem::replace(&mut chains.first[chain], op);
        }
        chains.main_before.reserve_exact(ops.len());
        for thread in 0..k {
            let mut main = END;
            for op in ops.of_thread(thread) {
                chains.main_before.push(main);
                main = if ops.kind(op) == OpKind::Write { main } else { op };
            }
        }
        chains
    }

    /// How many chains there are.
    pub(crate) fn len(&self) -> usize {
        self.first.len()
    }

    /// The first operations of all chains.
    pub(crate) fn first(&self) -> &[u32] {
        &self.first
    }

    /// The thread of an operation.
    pub(crate) fn thread(&self, op: u32) -> usize {
        let block = op as usize / BLOCK;
        match (self.thread[block], self.thread[block + 1]) {
            (first, last) if first == last => first as usize,
            _ => self.ops.thread_of(op),
        }
    }

    /// The next operation of the same chain.
    pub(crate) fn next(&self, op: u32) -> u32 {
        if self.ppo == Ppo::Full {
            let end = self.ops.of_thread(self.thread(op)).end;
            return if op + 1 < end { op + 1 } else { END };
        }
        self.next[op as usize]
    }

    /// With relaxed program order: the operation of the main chain right before this one.
    pub(crate) fn main_before(&self, op: u32) -> Option<u32> {
        self.main_before.get(op as usize).copied().filter(|&main| main != END)
    }

    /// The chain of an operation.
    pub(crate) fn of(&self, op: u32) -> usize {
        match self.ppo {
            Ppo::Full => self.thread(op),
            _ => self.chain[op as usize] as usize,
        }
    }

    /// The chains in which a thread writes, if these are not its main chain.
    pub(crate) fn all_of_writes(&self, thread: usize) -> std::ops::Range<usize> {
        self.writes[thread] as usize..self.writes[thread + 1] as usize
    }

    /// Whether an operation was passed by its chain, if these are the next ones of all chains.
    pub(crate) fn is_done(&self, heads: &[u32], op: u32) -> bool {
        heads[self.of(op)] > op
    }

    /// What the next operation of a chain has to wait for by program order.
    pub(crate) fn waits_for(&self, heads: &[u32], op: u32) -> Option<u32> {
        if self.ppo == Ppo::Full {
            return None;
        }
        let thread = self.thread(op);
        match self.ops.kind(op) {
            OpKind::Read => None,
            // Not for the next one of the main chain: there may be many before it is its turn.
            OpKind::Write => self.main_before(op).filter(|&main| heads[thread] <= main),
            OpKind::Update | OpKind::Fence => {
                heads[self.waited(op)].iter().copied().find(|&head| head < op)
            }
        }
    }

    /// The chains of writes for which an update or a fence waits, as far as they are before it.
    pub(crate) fn waited(&self, op: u32) -> std::ops::Range<usize> {
        if self.ppo.is_barrier(self.ops.kind(op)) {
            return self.all_of_writes(self.thread(op));
        }
        match self.waited.get(op as usize) {
            Some(&chain) if chain != END => chain as usize..chain as usize + 1,
            _ => 0..0,
        }
    }

    /// The write of another chain that a read has to wait for.
    pub(crate) fn reads_from(&self, op: u32) -> Option<u32> {
        let w = self.ops.from(op)?;
        (self.ppo == Ppo::Full || self.thread(w) != self.thread(op)).then_some(w)
    }

    pub(crate) fn bytes(&self) -> u64 {
        4 * (self.thread.capacity()
            + self.chain.capacity()
            + self.next.capacity()
            + self.first.capacity()
            + self.waited.capacity()
            + self.main_before.capacity()) as u64
    }
}

/// Per operation its chain if program order is relaxed, where the chains of writes of each thread
/// begin, and under PSO-own which of them an update waits for. Under PSO a thread has as many as it writes variables, in the order in which it
/// first does.
fn chains_of_writes(ops: &History, ppo: Ppo) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut waited = vec![END; if ppo == Ppo::PsoOwn { ops.len() } else { 0 }];
    let mut chain = Vec::with_capacity(ops.len());
    let mut starts = vec![ops.threads() as u32];
    let mut count = ops.threads() as u32;
    // Per variable the chain of the thread that wrote it last; of another thread if too small.
    let mut of_var = vec![0; ops.vars()];
    for thread in 0..ops.threads() {
        let start = count;
        count += u32::from(ppo == Ppo::Tso);
        for op in ops.of_thread(thread) {
            chain.push(match (ops.kind(op), ppo) {
                (OpKind::Write, Ppo::Pso | Ppo::PsoOwn) => {
                    let known = &mut of_var[ops.var(op) as usize];
                    if *known < start.max(1) {
                        *known = count;
                        count += 1;
                    }
                    *known
                }
                (OpKind::Write, _) => start,
                _ => thread as u32,
            });
            if ppo == Ppo::PsoOwn && ops.kind(op) == OpKind::Update {
                let known = of_var[ops.var(op) as usize];
                waited[op as usize] = if known < start.max(1) { END } else { known };
            }
        }
        starts.push(count);
    }
    (chain, starts, waited)
}

/// What reads say about the earlier writes of their own thread to the same variable, and reads of
/// initial values about all writes. The evidence, if that is a contradiction in itself.
pub(crate) fn coherence(chains: &Chains<'_>) -> Result<Extra, HistoryEvidence> {
    let ops = chains.ops;
    let mut extra = Extra::new(ops.len());
    // Per variable the last write of the thread, and the last read of the initial value.
    let mut last_write = vec![INITIAL; ops.vars()];
    let mut last_initial = vec![INITIAL; ops.vars()];
    let mut first_writes: Vec<(u32, u32)> = Vec::new();
    let mut initial_reads: Vec<(u32, u32)> = Vec::new();
    for thread in 0..ops.threads() {
        let range = ops.of_thread(thread);
        for op in range.clone() {
            let (kind, var) = (ops.kind(op), ops.var(op));
            if kind == OpKind::Fence {
                continue;
            }
            let own = last_write[var as usize];
            if ops.reads(op) {
                let from = ops.from(op);
                match from {
                    Some(w) if w >= op && range.contains(&w) => {
                        return Err(reads_ahead(chains, w, op));
                    }
                    Some(w) if own != INITIAL && w != own => {
                        // Under SC this is derived like everything else.
                        if chains.ppo.is_relaxed() || range.contains(&w) {
                            extra.push(own, w, op);
                        }
                    }
                    None if own != INITIAL => return Err(reads_over(chains, own, op)),
                    Some(_) => {}
                    None => last_initial[var as usize] = op,
                }
            }
            if ops.writes(op) {
                if own == INITIAL {
                    first_writes.push((var, op));
                }
                last_write[var as usize] = op;
            }
        }
        for op in range {
            let var = ops.var(op) as usize;
            if last_initial.get(var) == Some(&op) && ops.kind(op) != OpKind::Fence {
                initial_reads.push((var as u32, op));
                last_initial[var] = INITIAL;
            }
            if let Some(last) = last_write.get_mut(var) {
                *last = INITIAL;
            }
        }
    }
    first_writes.sort_unstable();
    for &(var, read) in &initial_reads {
        let start = first_writes.partition_point(|&(x, _)| x < var);
        for &(_, w) in first_writes[start..].iter().take_while(|&&(x, _)| x == var) {
            // An update that reads the initial value is itself a first write.
            let later = chains.thread(w) == chains.thread(read) && w > read;
            if w != read && !(later && chains.ppo == Ppo::Full) {
                extra.push(read, w, read);
            }
        }
    }
    Ok(extra)
}

/// The evidence for a read of a later write of its own thread.
fn reads_ahead(chains: &Chains<'_>, w: u32, read: u32) -> HistoryEvidence {
    let rf = Link { from: w, to: read, kind: LinkKind::Rf };
    let po = Link { from: read, to: w, kind: LinkKind::Po };
    on_one_variable(chains, &Extra::new(chains.ops.len()), [rf, po])
}

/// The evidence for a read of the initial value after a write of its own thread.
fn reads_over(chains: &Chains<'_>, w: u32, read: u32) -> HistoryEvidence {
    let mut extra = Extra::new(chains.ops.len());
    extra.push(read, w, read);
    let po = Link { from: w, to: read, kind: LinkKind::Po };
    let overtaken = Link { from: read, to: w, kind: LinkKind::Extra(0) };
    on_one_variable(chains, &extra, [po, overtaken])
}

fn on_one_variable(chains: &Chains<'_>, extra: &Extra, cycle: [Link; 2]) -> HistoryEvidence {
    let within = if chains.ppo.is_relaxed() { Within::Local } else { Within::Global };
    Explain::strong(chains.ops, chains.ppo, extra).cycle(within, &cycle)
}

/// Visits all operations in an order that respects chains, reads-from and derived edges, or finds
/// the cycle that prevents it. Every chain runs until it has to wait for an operation of another.
/// Cost: linear in operations and edges.
pub(crate) fn walk<E>(
    chains: &Chains<'_>,
    extra: &Extra,
    mut visit: impl FnMut(u32) -> Result<(), E>,
) -> Result<Result<(), Vec<Link>>, E> {
    let mut heads = chains.first().to_vec();
    // Per operation the first of the chains that wait for it; per chain the next one.
    let mut waiter = vec![END; chains.ops.len()];
    let mut next_waiter = vec![END; chains.len()];
    let mut ready: Vec<usize> = (0..chains.len()).rev().filter(|&c| heads[c] != END).collect();
    while let Some(chain) = ready.pop() {
        while heads[chain] != END {
            let op = heads[chain];
            if let Some(link) = blocker(chains, extra, &heads, op) {
                next_waiter[chain] =
                    std::mem::replace(&mut waiter[link.from as usize], chain as u32);
                break;
            }
            visit(op)?;
            heads[chain] = chains.next(op);
            let mut who = std::mem::replace(&mut waiter[op as usize], END);
            while who != END {
                ready.push(who as usize);
                who = std::mem::replace(&mut next_waiter[who as usize], END);
            }
        }
    }
    let stuck = heads.iter().copied().find(|&head| head != END);
    Ok(stuck.map_or(Ok(()), |op| Err(cycle(chains, extra, &heads, op))))
}

fn blocker(chains: &Chains<'_>, extra: &Extra, heads: &[u32], op: u32) -> Option<Link> {
    if let Some(w) = chains.reads_from(op)
        && !chains.is_done(heads, w)
    {
        return Some(Link { from: w, to: op, kind: LinkKind::Rf });
    }
    if let Some(from) = chains.waits_for(heads, op) {
        return Some(Link { from, to: op, kind: LinkKind::Po });
    }
    if !extra.leads_to(op) {
        return None;
    }
    extra.leading_to(op).find(|(_, edge)| !chains.is_done(heads, edge.from)).map(|(i, edge)| Link {
        from: edge.from,
        to: op,
        kind: LinkKind::Extra(i),
    })
}

/// Goes from an operation that waits to what it waits for, until it has been there before.
fn cycle(chains: &Chains<'_>, extra: &Extra, heads: &[u32], start: u32) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut op = start;
    loop {
        if let Some(at) = links.iter().position(|link| link.to == op) {
            links.drain(..at);
            links.reverse();
            return links;
        }
        // Every operation that is stuck waits for another one.
        let Some(link) = blocker(chains, extra, heads, op) else { return Vec::new() };
        links.push(link);
        op = heads[chains.of(link.from)];
        if op != link.from {
            links.push(Link { from: op, to: link.from, kind: LinkKind::Po });
        }
    }
}
