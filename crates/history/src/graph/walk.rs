//! Visits operations in an order that respects program order, reads-from and derived edges, or
//! finds the cycle that prevents it.
//!
//! Every thread runs until its next operation has to wait for one that was not visited, and goes
//! on when that one was. If reads may overtake writes (what TSO's memory sees), each thread is
//! two chains, its reads and its writes; a write waits for the reads before it, fences and updates
//! are in both chains. Cost: linear in operations and edges, and in threads per wait.

use weakspot_core::{History, OpKind};
use weakspot_sat::Lit;

use crate::graph::extra::Extra;

/// What to visit, and by which edges.
pub(crate) struct Walk<'a> {
    pub(crate) ops: &'a History,
    /// Whether program order is relaxed. Reads-from then counts between different threads only.
    pub(crate) relaxed: bool,
    /// Whether reads may be visited before earlier writes of their thread. That makes a difference
    /// only with relaxed program order and derived edges that start in reads: from a read, all
    /// other edges lead to later operations of the thread, and to writes among them the earlier
    /// write has an edge, too.
    pub(crate) overtake: bool,
    pub(crate) extra: &'a Extra,
}

/// One edge of a cycle or path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: LinkKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    Po,
    Rf,
    /// The derived edge with this number.
    Extra(u32),
    /// This choice between two writes.
    Chosen(Lit),
    /// A read before what overwrites what it reads, by this choice.
    Overtaken(Lit),
}

/// How far the threads are.
struct Front {
    /// Per thread the next of its reads; of all its operations if reads do not overtake.
    read: Vec<u32>,
    /// Per thread the next of its writes.
    write: Vec<u32>,
    end: Vec<u32>,
}

impl Walk<'_> {
    /// Visits everything.
    pub(crate) fn run<E>(
        &self,
        visit: impl FnMut(u32) -> Result<(), E>,
    ) -> Result<Result<(), Vec<Link>>, E> {
        let start: Vec<u32> =
            (0..self.ops.threads()).map(|t| self.ops.of_thread(t).start).collect();
        let end: Vec<u32> = (0..self.ops.threads()).map(|t| self.ops.of_thread(t).end).collect();
        self.run_between(&start, &end, visit)
    }

    /// Visits the operations from `start` to `end` in each thread; what is before counts as
    /// visited. The links of the cycle meet head to tail.
    pub(crate) fn run_between<E>(
        &self,
        start: &[u32],
        end: &[u32],
        mut visit: impl FnMut(u32) -> Result<(), E>,
    ) -> Result<Result<(), Vec<Link>>, E> {
        let mut front = Front { read: start.to_vec(), write: start.to_vec(), end: end.to_vec() };
        let mut ready: Vec<usize> = (0..start.len()).rev().collect();
        // Per thread who waits for which of its operations.
        let mut waiting: Vec<Vec<(u32, usize)>> = vec![Vec::new(); start.len()];
        while let Some(thread) = ready.pop() {
            let blocked = match self.overtake {
                false => self.advance(&mut front, thread, &mut visit)?,
                true => self.advance_relaxed(&mut front, thread, &mut visit)?,
            };
            for on in blocked.into_iter().flatten() {
                let other = self.ops.thread_of(on);
                if !waiting[other].contains(&(on, thread)) {
                    waiting[other].push((on, thread));
                }
            }
            let mut i = 0;
            while i < waiting[thread].len() {
                let (on, who) = waiting[thread][i];
                if self.visited(&front, on) {
                    waiting[thread].swap_remove(i);
                    if !ready.contains(&who) {
                        ready.push(who);
                    }
                } else {
                    i += 1;
                }
            }
        }
        let stuck = (0..start.len()).find_map(|t| self.next(&front, t));
        Ok(stuck.map_or(Ok(()), |op| Err(self.cycle(&front, op))))
    }

    /// The next operation of a thread that is not visited.
    fn next(&self, front: &Front, thread: usize) -> Option<u32> {
        let next = match self.overtake {
            true => front.read[thread].min(front.write[thread]),
            false => front.read[thread],
        };
        (next < front.end[thread]).then_some(next)
    }

    fn visited(&self, front: &Front, op: u32) -> bool {
        let thread = self.ops.thread_of(op);
        match self.overtake && self.ops.writes(op) {
            true => op < front.write[thread],
            false => op < front.read[thread],
        }
    }

    /// What an operation has to wait for.
    fn blocker(&self, front: &Front, op: u32) -> Option<Link> {
        if let Some(w) = self.ops.from(op)
            && !self.visited(front, w)
            && !(self.relaxed && self.ops.thread_of(w) == self.ops.thread_of(op))
        {
            return Some(Link { from: w, to: op, kind: LinkKind::Rf });
        }
        if !self.extra.leads_to(op) {
            return None;
        }
        self.extra
            .leading_to(op)
            .find(|(_, edge)| !self.visited(front, edge.from))
            .map(|(i, edge)| Link { from: edge.from, to: op, kind: LinkKind::Extra(i) })
    }

    /// Visits what the thread can do, and says what it waits for then.
    fn advance<E>(
        &self,
        front: &mut Front,
        thread: usize,
        visit: &mut impl FnMut(u32) -> Result<(), E>,
    ) -> Result<[Option<u32>; 2], E> {
        while front.read[thread] < front.end[thread] {
            let op = front.read[thread];
            if let Some(link) = self.blocker(front, op) {
                return Ok([Some(link.from), None]);
            }
            visit(op)?;
            front.read[thread] += 1;
        }
        Ok([None, None])
    }

    fn advance_relaxed<E>(
        &self,
        front: &mut Front,
        thread: usize,
        visit: &mut impl FnMut(u32) -> Result<(), E>,
    ) -> Result<[Option<u32>; 2], E> {
        let end = front.end[thread];
        loop {
            let mut moved = false;
            let mut blocked = [None, None];
            while front.read[thread] < end {
                let op = front.read[thread];
                let kind = self.ops.kind(op);
                if kind == OpKind::Read {
                    if let Some(link) = self.blocker(front, op) {
                        blocked[0] = Some(link.from);
                        break;
                    }
                    visit(op)?;
                } else if kind != OpKind::Write && front.write[thread] <= op {
                    break;
                }
                front.read[thread] += 1;
                moved = true;
            }
            while front.write[thread] < end {
                let op = front.write[thread];
                let kind = self.ops.kind(op);
                if kind != OpKind::Read {
                    if front.read[thread] < op {
                        break;
                    }
                    if let Some(link) = self.blocker(front, op) {
                        blocked[1] = Some(link.from);
                        break;
                    }
                    visit(op)?;
                }
                front.write[thread] += 1;
                moved = true;
            }
            if !moved {
                return Ok(blocked);
            }
        }
    }

    /// Goes from an operation that waits to what it waits for, until it has been there before.
    fn cycle(&self, front: &Front, start: u32) -> Vec<Link> {
        let mut links: Vec<Link> = Vec::new();
        let mut op = start;
        loop {
            if let Some(at) = links.iter().position(|link| link.to == op) {
                links.drain(..at);
                links.reverse();
                return links;
            }
            let Some(link) = self.blocker(front, op).or_else(|| self.po_blocker(front, op)) else {
                // Every operation that is stuck waits for another one.
                return Vec::new();
            };
            links.push(link);
            op = link.from;
            let thread = self.ops.thread_of(op);
            let first = match self.overtake && self.ops.writes(op) {
                true => front.write[thread],
                false => front.read[thread],
            };
            if first != op && link.kind != LinkKind::Po {
                // The chain stands at an earlier operation.
                links.push(Link { from: first, to: op, kind: LinkKind::Po });
                op = first;
            }
        }
    }

    /// If reads overtake: the operation of the same thread that a write, fence or update
    /// waits for.
    fn po_blocker(&self, front: &Front, op: u32) -> Option<Link> {
        let thread = self.ops.thread_of(op);
        let first = match front.read[thread] < op {
            true => front.read[thread],
            false => front.write[thread],
        };
        (first < op).then_some(Link { from: first, to: op, kind: LinkKind::Po })
    }
}
