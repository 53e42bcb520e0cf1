//! What is wrong with an access: the bytes are not in a block, or not any more, or on a stack that is
//! gone. Nothing is said about memory of others: variables, what was mapped, what libc keeps to itself.

use weakspot_live::{Op, OpKind};

use crate::Runtime;
use crate::entry::guest::Area;
use crate::memory::blocks::{Block, Blocks, Done, Found};
use crate::memory::frames::stack_of;
use crate::report::thread_name;
use crate::schedule::coroutine::{STACKS, STRIDE};

/// Something that a program must not do with memory.
pub struct MemoryError {
    /// As it is reported.
    pub kind: &'static str,
    /// What happened, in words.
    pub text: String,
    /// Where else it comes from: what, by whom, where.
    pub related: Vec<(&'static str, Option<usize>, usize)>,
    /// Bytes by which others have to do with it, whom the strategy has to know of.
    pub shared: Option<Area>,
    /// What is done with which bytes.
    pub op: Op,
}

/// What is done with bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// They are read.
    Read,
    /// They are written, or both.
    Write,
    /// A store to them leaves the buffer of its thread.
    Commit,
}

impl Use {
    /// Reading or writing.
    pub fn of(write: bool) -> Use {
        if write { Use::Write } else { Use::Read }
    }

    fn op(self, area: Area) -> Op {
        area.op(match self {
            Use::Read => OpKind::Read,
            Use::Write => OpKind::Write,
            Use::Commit => OpKind::Commit,
        })
    }

    fn words(self, len: u32) -> String {
        let bytes = if len == 1 { "1 byte".to_owned() } else { format!("{len} bytes") };
        match self {
            Use::Read => format!("reads {bytes}"),
            Use::Write => format!("writes {bytes}"),
            Use::Commit => format!("a store of {bytes} leaves its buffer"),
        }
    }
}

fn bytes(n: usize) -> String {
    if n == 1 { "1 byte".to_owned() } else { format!("{n} bytes") }
}

impl Runtime {
    /// What is wrong with an access of a thread, if anything is.
    pub fn memory_error(&self, thread: usize, area: Area, what: Use) -> Option<MemoryError> {
        let addr = area.addr();
        if self.heap.blocks.hold(addr) {
            return self.heap_error(thread, area, what);
        }
        let slot = addr.wrapping_sub(STACKS) / STRIDE;
        if slot < self.threads.count() {
            return self.stack_error(thread, slot, area, what);
        }
        None
    }

    fn heap_error(&self, thread: usize, area: Area, what: Use) -> Option<MemoryError> {
        let (addr, len) = (area.addr(), area.len() as usize);
        let (kind, place, block) = match self.heap.blocks.at(addr) {
            Found::Block(block) => {
                let offset = addr - block.start;
                // What a thread has stored before it freed the block itself is no use of it.
                let own = |freed: Done| usize::from(freed.thread) == thread;
                let early = what == Use::Commit && block.freed.is_some_and(own);
                let there = block.freed.is_none() || early || self.is_leaving(&block, thread);
                if block.size == 0 {
                    ("out-of-bounds", "at the place of".to_owned(), block)
                } else if offset + len > block.size {
                    let behind = offset + len - block.size;
                    let place = format!("{} of them behind the end of", bytes(behind));
                    ("out-of-bounds", place, block)
                } else if there {
                    self.heap.blocks.mark(&block, addr);
                    return None;
                } else {
                    let place = match offset {
                        0 => "at the beginning of".to_owned(),
                        offset => format!("{} into", bytes(offset)),
                    };
                    ("use-after-free", place, block)
                }
            }
            Found::Gap(before, next) => {
                let behind = before.map(|block| (addr - block.end(), block, true));
                let ahead = next.map(|block| (block.start - addr, block, false));
                let nearest = match (behind, ahead) {
                    (Some(a), Some(b)) => Some(if a.0 < b.0 { a } else { b }),
                    (a, b) => a.or(b),
                };
                let Some((far, block, is_behind)) = nearest else {
                    let text = format!("{} where no block is", what.words(area.len()));
                    return Some(MemoryError {
                        kind: "out-of-bounds",
                        text,
                        related: Vec::new(),
                        shared: None,
                        op: what.op(area),
                    });
                };
                let place = match (far, is_behind) {
                    (0, true) => "right behind".to_owned(),
                    (far, true) => format!("{} behind", bytes(far)),
                    (far, false) => format!("{} before", bytes(far)),
                };
                ("out-of-bounds", place, block)
            }
        };
        let state = if kind == "use-after-free" { ", after it was freed" } else { "" };
        let text =
            format!("{}, {place} a block of {}{state}", what.words(area.len()), bytes(block.size));
        let others = block.freed.is_some_and(|freed| usize::from(freed.thread) != thread);
        let shared = (others && kind == "use-after-free").then_some(area);
        let (related, op) = (history(&block, &self.heap.blocks), what.op(area));
        Some(MemoryError { kind, text, related, shared, op })
    }

    /// Whether a block was freed by a store into a buffer, and this thread is not the one that did. Once
    /// there are no buffers any more, nothing is in them.
    fn is_leaving(&self, block: &Block, thread: usize) -> bool {
        block.leaving && self.scheduler.buffered() && block.is_there_for(thread)
    }

    /// Stacks are there as long as their threads, and variables as long as their functions. What is on
    /// the stack of a thread that does not run is above its stack pointer.
    fn stack_error(&self, thread: usize, of: usize, area: Area, what: Use) -> Option<MemoryError> {
        // The first thread may be about to end the program, and nobody waits for its functions.
        if of == thread || of == self.threads.current() || of == 0 && self.exits.leaving() {
            return None;
        }
        let owner = self.threads.get(of);
        let name = thread_name(of);
        let local = stack_of(area.addr()).is_none();
        let place = match (local, owner.is_over()) {
            (_, true) if of == 0 => return None,
            (true, true) => format!("of a thread-local variable of {name}, which has ended"),
            (false, true) => format!("of the stack of {name}, which has ended"),
            (false, false) if self.is_below(of, area) => {
                format!("of a variable of {name} whose function has returned")
            }
            _ => return None,
        };
        let text = format!("{} {place}", what.words(area.len()));
        let (kind, related) = ("use-after-return", Vec::new());
        Some(MemoryError { kind, text, related, shared: Some(area), op: what.op(area) })
    }

    /// Whether bytes are below what a thread that does not run has on its stack; not if it is on another
    /// stack than its own.
    fn is_below(&self, thread: usize, area: Area) -> bool {
        let Some(end) = self.threads.get(thread).end_of_stack() else { return false };
        let slot = self.coroutines.slot(thread);
        (slot.bottom()..slot.top()).contains(&end) && area.addr() < end
    }
}

/// An access to a variable of the same thread whose function has returned.
pub fn returned(area: Area, what: Use) -> MemoryError {
    let text = format!("{} of a variable whose function has returned", what.words(area.len()));
    let (kind, related) = ("use-after-return", Vec::new());
    MemoryError { kind, text, related, shared: None, op: what.op(area) }
}

/// Where a block was freed and allocated: if executions are traced, with the calls that led there.
pub fn history(block: &Block, blocks: &Blocks) -> Vec<(&'static str, Option<usize>, usize)> {
    let mut related = Vec::new();
    let [made, freed] = blocks.calls(block.start);
    let mut add = |what, done: Done, calls: &[usize]| {
        let is_it = calls.first() == Some(&done.pc);
        let calls = if is_it { calls } else { core::slice::from_ref(&done.pc) };
        related.extend(calls.iter().map(|&pc| (what, Some(usize::from(done.thread)), pc)));
    };
    if let Some(done) = block.freed {
        add("freed here", done, freed);
    }
    add("allocated here", block.made, made);
    related
}
