//! A program with transactions as one whose control points say whether a transaction is open.
//!
//! Points are doubled where a thread may come with and without an open transaction; edges keep
//! their places, so that a run of the one is a run of the other, step by step. A transaction counts
//! as closed as soon as nothing that memory sees can follow in it.

use std::collections::{BTreeMap, BTreeSet};

use weakspot_core::{
    Edge, Fence, Instr, Open, Part, Point, PointId, Program, Thread, ThreadId, Transactions,
    is_event,
};

/// The program, and what its edges are.
pub(super) struct Marked {
    /// A program that does the same.
    pub(super) program: Program,
    /// Per thread and point: whether a transaction is open that may go on.
    pub(super) open: Vec<Vec<bool>>,
    /// Per thread, point and edge: to which transaction an event belongs.
    pub(super) parts: Vec<Vec<Vec<Option<Part>>>>,
}

impl Marked {
    pub(super) fn new(program: &Program, transactions: &Transactions) -> Marked {
        let mut marked = Marked {
            program: Program {
                threads: Vec::new(),
                locs: program.locs.clone(),
                wides: program.wides.clone(),
                undeclared: program.undeclared,
                observed: Vec::new(),
                condition: None,
                forbidden: Vec::new(),
            },
            open: Vec::new(),
            parts: Vec::new(),
        };
        for (t, thread) in program.threads.iter().enumerate() {
            marked.add(ThreadId::new(t), thread, transactions);
        }
        marked
    }

    fn add(&mut self, t: ThreadId, thread: &Thread, transactions: &Transactions) {
        let goes_on = GoesOn::new(t, thread, transactions);
        let normal = |(point, open): At| {
            if goes_on.is(point, open) { (point, open) } else { (point, Open::Outside) }
        };
        let start = (thread.entry, Open::Outside);
        let mut numbers: BTreeMap<At, PointId> = BTreeMap::from([(start, PointId::new(0))]);
        let mut found = vec![start];
        let mut points = Vec::new();
        let mut parts = Vec::new();
        while let Some(&(point, open)) = found.get(points.len()) {
            let mut edges = Vec::new();
            let mut own = Vec::new();
            for (e, edge) in thread.points[point.index()].edges.iter().enumerate() {
                let (after, part) = open.after(transactions.get(t, point, e), &edge.instr);
                let next = normal((edge.to, after));
                let to = *numbers.entry(next).or_insert_with(|| {
                    found.push(next);
                    PointId::new(found.len() - 1)
                });
                edges.push(Edge { instr: edge.instr.clone(), to, span: edge.span });
                own.push(part);
            }
            points.push(Point { edges });
            parts.push(own);
        }
        self.open.push(found.iter().map(|(_, open)| *open != Open::Outside).collect());
        self.parts.push(parts);
        let (regs, entry) = (thread.regs.clone(), PointId::new(0));
        self.program.threads.push(Thread { regs, entry, points });
    }

    /// Whether between a store and a read of another transaction of the same thread there is always
    /// something that waits for the buffer.
    pub(super) fn is_fenced(&self) -> bool {
        (0..self.program.threads.len()).all(|t| self.is_thread_fenced(t))
    }

    fn is_thread_fenced(&self, t: usize) -> bool {
        let thread = &self.program.threads[t];
        // Whether a store of the current transaction, or of one before, may be in the buffer.
        let mut seen = BTreeSet::from([(thread.entry, false, false)]);
        let mut todo = vec![(thread.entry, false, false)];
        while let Some((point, own, older)) = todo.pop() {
            for (e, edge) in thread.points[point.index()].edges.iter().enumerate() {
                let (own, older) = match self.parts[t][point.index()][e] {
                    Some(Part::New) => (false, own || older),
                    _ => (own, older),
                };
                let after = match &edge.instr {
                    Instr::Load { .. } if older => return false,
                    Instr::Store { .. } => (true, older),
                    instr if drains(instr) => (false, false),
                    _ => (own, older),
                };
                let next = (edge.to, after.0, after.1);
                if seen.insert(next) {
                    todo.push(next);
                }
            }
        }
        true
    }
}

/// Whether an instruction waits until the buffer is empty.
pub(super) fn drains(instr: &Instr) -> bool {
    matches!(instr, Instr::Update { .. } | Instr::Fence(Fence::Full) | Instr::Lock | Instr::Unlock)
}

type At = (PointId, Open);

/// Where an open transaction may go on: whether an event of it may follow.
struct GoesOn(BTreeSet<At>);

impl GoesOn {
    fn new(t: ThreadId, thread: &Thread, transactions: &Transactions) -> GoesOn {
        let mut blocks = vec![Open::Atomic];
        for (p, point) in thread.points.iter().enumerate() {
            for e in 0..point.edges.len() {
                if let Some(mark) = transactions.get(t, PointId::new(p), e)
                    && !blocks.contains(&Open::Block(mark.block))
                {
                    blocks.push(Open::Block(mark.block));
                }
            }
        }
        let mut known = GoesOn(BTreeSet::new());
        for open in blocks {
            // Backwards from the events, through what memory does not see.
            loop {
                let mut changed = false;
                for (p, point) in thread.points.iter().enumerate().rev() {
                    let at = (PointId::new(p), open);
                    if known.is(at.0, open) {
                        continue;
                    }
                    let goes_on = point.edges.iter().enumerate().any(|(e, edge)| {
                        let mark = transactions.get(t, at.0, e);
                        let (after, part) = open.after(mark, &edge.instr);
                        part == Some(Part::Same)
                            || !is_event(&edge.instr) && after == open && known.is(edge.to, open)
                    });
                    if goes_on {
                        known.0.insert(at);
                        changed = true;
                    }
                }
                if !changed {
                    break;
                }
            }
        }
        known
    }

    fn is(&self, point: PointId, open: Open) -> bool {
        self.0.contains(&(point, open))
    }
}
