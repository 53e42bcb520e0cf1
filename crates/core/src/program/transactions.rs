//! Which instructions of a program belong to transactions.
//!
//! This is a table beside the program, which stays what it is: whoever does not ask about
//! transactions never sees it. An instruction of a block `transaction { ... }`, or of lines that the
//! user named, has the number of the block. A thread that goes from one instruction of a block to
//! another stays in the same transaction; whatever comes from elsewhere, or through the entry of the
//! block, begins a new one.

use std::collections::BTreeMap;

use crate::{Fence, Instr, PointId, Program, ThreadId};

/// The instructions of a program that belong to transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    marks: BTreeMap<(ThreadId, PointId, usize), TxnMark>,
}

/// What is known about an instruction of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TxnMark {
    /// Which block of its thread it belongs to.
    pub block: u32,
    /// It is the entry of the block, which does nothing else.
    pub begins: bool,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Open {
    /// In no transaction that has done something.
    #[default]
    Outside,
    /// In a transaction of this block.
    Block(u32),
    /// In an atomic block outside of all, which is a transaction.
    Atomic,
}

/// To which transaction of its thread an event belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// It is the first of its transaction.
    New,
    /// It belongs to the same one as the event of the thread before it.
    Same,
}

impl Transactions {
    /// Marks an instruction.
    pub fn mark(&mut self, thread: ThreadId, point: PointId, edge: usize, mark: TxnMark) {
        self.marks.insert((thread, point, edge), mark);
    }

    /// The mark of an instruction.
    #[must_use]
    pub fn get(&self, thread: ThreadId, point: PointId, edge: usize) -> Option<TxnMark> {
        self.marks.get(&(thread, point, edge)).copied()
    }

    /// No instruction is marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Marks the instructions of `threads` that start on these lines of the text, counted from 1.
    /// They are one block in each thread. False if there are none.
    pub fn mark_lines(
        &mut self,
        program: &Program,
        text: &str,
        threads: &dyn Fn(ThreadId) -> bool,
        lines: std::ops::RangeInclusive<usize>,
    ) -> bool {
        let numbers = self.marks.values().map(|mark| mark.block + 1);
        let block = numbers.max().unwrap_or(0);
        let mut found = false;
        for (t, thread) in program.threads.iter().enumerate() {
            let id = ThreadId::new(t);
            if !threads(id) {
                continue;
            }
            for (p, point) in thread.points.iter().enumerate() {
                for (e, edge) in point.edges.iter().enumerate() {
                    if lines.contains(&edge.span.line_column(text).0) {
                        found = true;
                        let mark = TxnMark { block, begins: false };
                        self.marks.entry((id, PointId::new(p), e)).or_insert(mark);
                    }
                }
            }
        }
        found
    }
}

impl Open {
    /// After an instruction with this mark; and to which transaction it belongs, if it is one that
    /// memory sees.
    #[must_use]
    pub fn after(self, mark: Option<TxnMark>, instr: &Instr) -> (Open, Option<Part>) {
        let is_event = is_event(instr);
        if self == Open::Atomic {
            let next = if *instr == Instr::Unlock { Open::Outside } else { Open::Atomic };
            return (next, is_event.then_some(Part::Same));
        }
        let stays = mark.is_some_and(|m| !m.begins && self == Open::Block(m.block));
        match (is_event, mark) {
            (false, _) => (if stays { self } else { Open::Outside }, None),
            (true, _) if stays => (self, Some(Part::Same)),
            (true, Some(mark)) => (Open::Block(mark.block), Some(Part::New)),
            (true, None) if *instr == Instr::Lock => (Open::Atomic, Some(Part::New)),
            (true, None) => (Open::Outside, Some(Part::New)),
        }
    }
}

/// Whether an instruction is an event of a transaction. A store-store fence is none: it does nothing
/// under SC and TSO.
#[must_use]
pub fn is_event(instr: &Instr) -> bool {
    match instr {
        Instr::Nop
        | Instr::Assign { .. }
        | Instr::Choose { .. }
        | Instr::Assume(_)
        | Instr::Assert(_)
        | Instr::Fence(Fence::StoreStore) => false,
        Instr::Load { .. }
        | Instr::Store { .. }
        | Instr::Update { .. }
        | Instr::Fence(Fence::Full)
        | Instr::Lock
        | Instr::Unlock => true,
    }
}
