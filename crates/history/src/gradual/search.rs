//! A run of the machine that does what was recorded, by a search of frontiers: how far each chain
//! is, and which write each variable holds. Reads happen as soon as they can, which is never a
//! mistake. Of the writes that may reach memory, each is tried; a frontier from which all of them
//! failed is remembered, and not searched again.
//!
//! A frontier fails as soon as chains wait for each other in a circle, whatever else could still
//! go on. Of several writes, those that others wait for are tried first.
//!
//! Cost: with k chains there are at most n^k frontiers times the last writes; each costs k.

use std::collections::HashSet;

use weakspot_core::{INITIAL, Limit};
use weakspot_sat::Meter;

use crate::gradual::chains::{Chains, END};
use crate::gradual::saturate::Orders;
use crate::graph::extra::Extra;
use crate::graph::store::Readers;

/// The order in which operations take effect in memory, if there is one.
pub(crate) fn search(
    orders: &Orders<'_>,
    meter: &mut Meter<'_>,
) -> Result<Option<Vec<u32>>, Limit> {
    let chains = &orders.chains;
    let ops = chains.ops;
    let mut front = Front {
        chains,
        extra: &orders.extra,
        readers: Readers::new(ops),
        heads: chains.first().to_vec(),
        memory: vec![INITIAL; ops.vars()],
        trail: Vec::with_capacity(ops.len()),
    };
    let mut failed: HashSet<Box<[u32]>> = HashSet::new();
    let key = 4 * (chains.len() + ops.vars()) as u64 + 40;
    let fixed = orders.bytes() + 24 * ops.len() as u64;
    // Per choice that was made how long the trail was, and what is left to try, the next one last.
    let mut tries: Vec<(usize, Vec<u32>)> = Vec::new();
    let mut tried = 0;
    loop {
        let candidates = front.settle();
        if front.trail.len() == ops.len() {
            return Ok(Some(front.trail.iter().map(|&(op, _)| op).collect()));
        }
        let units = (chains.len() + ops.vars()) as u64;
        meter.work(units, || fixed + key * failed.len() as u64 + 4 * tried)?;
        let candidates = candidates.filter(|_| !failed.contains(&front.key()));
        let candidates = candidates.unwrap_or_default();
        tried += candidates.len() as u64;
        tries.push((front.trail.len(), candidates));
        // The next write to try, here or after going back.
        loop {
            let Some((length, candidates)) = tries.last_mut() else { return Ok(None) };
            front.rewind(*length);
            if let Some(w) = candidates.pop() {
                tried -= 1;
                front.perform(w);
                break;
            }
            failed.insert(front.key());
            tries.pop();
        }
    }
}

struct Front<'r, 'a> {
    chains: &'r Chains<'a>,
    extra: &'r Extra,
    readers: Readers,
    heads: Vec<u32>,
    /// Per variable the write that is in memory.
    memory: Vec<u32>,
    /// What was done, and what it replaced in memory.
    trail: Vec<(u32, u32)>,
}

impl Front<'_, '_> {
    /// Does all reads that can be done. Returns the writes that may come next, the best one last;
    /// `None` if chains wait for each other.
    fn settle(&mut self) -> Option<Vec<u32>> {
        let chains = self.chains;
        let mut waits = vec![END; chains.len()];
        let mut again = true;
        while std::mem::take(&mut again) {
            for (chain, wait) in waits.iter_mut().enumerate() {
                while self.heads[chain] != END {
                    let op = self.heads[chain];
                    *wait = self.blocker(op).unwrap_or(END);
                    if *wait != END || chains.ops.writes(op) {
                        break;
                    }
                    self.perform(op);
                    again = true;
                }
            }
        }
        // Where each chain ends that follows what it waits for.
        let mut wanted = vec![false; chains.len()];
        for start in 0..chains.len() {
            let mut chain = start;
            let mut steps = 0;
            while self.heads[chain] != END && waits[chain] != END {
                chain = chains.of(waits[chain]);
                steps += 1;
                if steps > chains.len() {
                    return None;
                }
            }
            wanted[chain] |= steps > 0;
        }
        let free = |chain: &usize| self.heads[*chain] != END && waits[*chain] == END;
        let (first, last): (Vec<usize>, Vec<usize>) =
            (0..chains.len()).filter(free).partition(|&chain| wanted[chain]);
        Some(last.into_iter().chain(first).map(|chain| self.heads[chain]).collect())
    }

    /// What an operation has to wait for.
    fn blocker(&self, op: u32) -> Option<u32> {
        let chains = self.chains;
        let is_done = |op: u32| chains.is_done(&self.heads, op);
        let program = chains.waits_for(&self.heads, op);
        let value = || chains.reads_from(op).filter(|&w| !is_done(w));
        let order = || {
            let mut edges = self.extra.leading_to(op).map(|(_, edge)| edge.from);
            edges.find(|&from| !is_done(from))
        };
        let readers = || {
            let var = chains.ops.var(op) as usize;
            let current = self.memory[var];
            let source = if current == INITIAL { chains.ops.len() + var } else { current as usize };
            self.readers.of(source).find(|&read| read != op && !is_done(read))
        };
        program.or_else(value).or_else(order).or_else(|| match chains.ops.writes(op) {
            true => readers(),
            false => None,
        })
    }

    fn perform(&mut self, op: u32) {
        let ops = self.chains.ops;
        let before = match ops.writes(op) {
            true => std::mem::replace(&mut self.memory[ops.var(op) as usize], op),
            false => INITIAL,
        };
        self.trail.push((op, before));
        self.heads[self.chains.of(op)] = self.chains.next(op);
    }

    fn rewind(&mut self, length: usize) {
        let ops = self.chains.ops;
        for (op, before) in self.trail.drain(length..).rev() {
            if ops.writes(op) {
                self.memory[ops.var(op) as usize] = before;
            }
            self.heads[self.chains.of(op)] = op;
        }
    }

    fn key(&self) -> Box<[u32]> {
        self.heads.iter().chain(&self.memory).copied().collect()
    }
}
