//! A program with a fence at the end of each transaction that may have a store in the buffer then.
//!
//! What may be in the buffer is taken from the control flow alone. A fence stands where the next
//! transaction of the thread begins, so that one at the very end of a thread, which nothing follows,
//! is left out.

use std::collections::BTreeMap;

use weakspot_core::{
    Edge, Fence, Instr, Open, Part, Point, PointId, Program, Span, Thread, ThreadId, Transactions,
    TxnMark,
};

use super::marked::drains;

/// A program with fences.
#[derive(Clone, Debug)]
pub struct FencedProgram {
    /// The program.
    pub program: Program,
    /// Its transactions.
    pub transactions: Transactions,
    /// Where fences were put.
    pub fences: Vec<AddedFence>,
}

/// Where a fence was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedFence {
    /// In which thread.
    pub thread: ThreadId,
    /// The instruction that it comes before.
    pub before: Span,
    /// The beginning of the marked transaction that it is at the end of, if it is of one.
    pub ends: Option<Span>,
}

/// Puts a fence at the end of each transaction that may have stored something since its last one.
#[must_use]
pub fn fence_program(program: &Program, transactions: &Transactions) -> FencedProgram {
    let mut fenced = FencedProgram {
        program: Program {
            threads: Vec::new(),
            observed: Vec::new(),
            condition: None,
            forbidden: Vec::new(),
            ..program.clone()
        },
        transactions: Transactions::default(),
        fences: Vec::new(),
    };
    for (t, thread) in program.threads.iter().enumerate() {
        let done = FenceThread::new(ThreadId::new(t), thread, transactions, &mut fenced).points();
        let (regs, entry) = (thread.regs.clone(), PointId::new(0));
        fenced.program.threads.push(Thread { regs, entry, points: done });
    }
    fenced.fences.sort_by_key(|fence| (fence.thread, fence.before.start, fence.before.end));
    fenced.fences.dedup();
    fenced
}

/// Where a thread is: the point, whether a transaction is open, whether a store of it or of the one
/// before may be in the buffer, and which edge it is bound for, if it is already decided.
type At = (PointId, Open, bool, Option<usize>);

struct FenceThread<'a> {
    t: ThreadId,
    thread: &'a Thread,
    marks: &'a Transactions,
    fenced: &'a mut FencedProgram,
    numbers: BTreeMap<At, PointId>,
    found: Vec<At>,
}

impl<'a> FenceThread<'a> {
    fn new(
        t: ThreadId,
        thread: &'a Thread,
        marks: &'a Transactions,
        fenced: &'a mut FencedProgram,
    ) -> FenceThread<'a> {
        let start = (thread.entry, Open::Outside, false, None);
        let numbers = BTreeMap::from([(start, PointId::new(0))]);
        FenceThread { t, thread, marks, fenced, numbers, found: vec![start] }
    }

    fn number(&mut self, at: At) -> PointId {
        let found = &mut self.found;
        *self.numbers.entry(at).or_insert_with(|| {
            found.push(at);
            PointId::new(found.len() - 1)
        })
    }

    fn points(mut self) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        while let Some(&(point, open, dirty, only)) = self.found.get(points.len()) {
            let here = PointId::new(points.len());
            let all = &self.thread.points[point.index()].edges;
            let bound: Vec<usize> =
                (0..all.len()).filter(|&e| only.is_none_or(|o| o == e)).collect();
            let needs: Vec<usize> = bound
                .iter()
                .copied()
                .filter(|&e| dirty && self.needs_fence(point, open, e))
                .collect();
            let mut edges = Vec::new();
            if let (Some(&first), true) = (needs.first(), needs == bound) {
                edges.push(self.fence(here, 0, (point, open, false, only), all[first].span));
            } else {
                for e in bound {
                    let next = edges.len();
                    let edge = match needs.contains(&e) {
                        true => self.fence(here, next, (point, open, false, Some(e)), all[e].span),
                        false => self.edge(here, next, (point, open, dirty), e),
                    };
                    edges.push(edge);
                }
            }
            points.push(Point { edges });
        }
        points
    }

    /// Whether an edge begins another transaction and is nothing that waits for the buffer.
    fn needs_fence(&self, point: PointId, open: Open, e: usize) -> bool {
        let instr = &self.thread.points[point.index()].edges[e].instr;
        let mark = self.marks.get(self.t, point, e);
        let begins = mark.is_some_and(|mark| mark.begins) && open != Open::Atomic;
        begins || open.after(mark, instr).1 == Some(Part::New) && !drains(instr)
    }

    /// A fence, which belongs to the open transaction.
    fn fence(&mut self, here: PointId, place: usize, to: At, span: Span) -> Edge {
        if let Open::Block(block) = to.1 {
            let mark = TxnMark { block, begins: false };
            self.fenced.transactions.mark(self.t, here, place, mark);
        }
        let ends = match to.1 {
            Open::Block(block) => self.beginning(block),
            _ => None,
        };
        self.fenced.fences.push(AddedFence { thread: self.t, before: span, ends });
        Edge { instr: Instr::Fence(Fence::Full), to: self.number(to), span }
    }

    /// The first instruction of a block by its place in the text.
    fn beginning(&self, block: u32) -> Option<Span> {
        let points = self.thread.points.iter().enumerate();
        let edges = points.flat_map(|(p, point)| {
            point.edges.iter().enumerate().map(move |(e, edge)| (PointId::new(p), e, edge.span))
        });
        let mine = edges.filter(|&(point, e, _)| {
            self.marks.get(self.t, point, e).is_some_and(|mark| mark.block == block)
        });
        mine.map(|(.., span)| span).min_by_key(|span| span.start)
    }

    fn edge(&mut self, here: PointId, place: usize, from: (PointId, Open, bool), e: usize) -> Edge {
        let (point, open, dirty) = from;
        let edge = &self.thread.points[point.index()].edges[e];
        let mark = self.marks.get(self.t, point, e);
        if let Some(mark) = mark {
            self.fenced.transactions.mark(self.t, here, place, mark);
        }
        let dirty = match &edge.instr {
            Instr::Store { .. } => true,
            instr => dirty && !drains(instr),
        };
        let to = self.number((edge.to, open.after(mark, &edge.instr).0, dirty, None));
        Edge { instr: edge.instr.clone(), to, span: edge.span }
    }
}
