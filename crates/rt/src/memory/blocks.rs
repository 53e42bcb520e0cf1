//! Which bytes of the program's heaps belong to blocks, and who has allocated and freed those.
//!
//! Blocks of a heap are kept in the order of their addresses, which is the order in which they were
//! made. Most accesses do not search there: each word of eight bytes has a mark, the number of its
//! first bytes that are known to belong to a block in use. A word without a mark may be in a block
//! as well: large ones are marked a page at a time, when they are accessed. So neither does an
//! allocation cost more than a page of marks, nor an access more than a look at one or two of them.
//!
//! Marks are next to each other from [`MARKS`] on, in the order of what they are about.

use std::collections::BTreeMap;

use crate::config::MOST_THREADS;
use crate::entry::guest::Area;
use crate::schedule::coroutine;
use crate::sys;

/// Where the heaps are.
pub const HEAPS: usize = 0x3000_0000_0000;
/// From one heap to the next.
pub const STRIDE: usize = 1 << 32;
/// Where the last one ends.
pub const END: usize = HEAPS + MOST_THREADS * STRIDE;
/// More than this is given back to the system instead of being cleared.
const LARGE: usize = 1 << 20;
const PAGE: usize = 4096;

/// Where the marks are.
const MARKS: usize = 0x2800_0000_0000;
/// Blocks of at most this size are marked when they are allocated.
const SMALL: usize = 1 << 12;
const WHOLE: u8 = 8;

const _: () = assert!(
    coroutine::STACKS + MOST_THREADS * coroutine::STRIDE <= MARKS
        && MARKS + MOST_THREADS * (STRIDE / 8) <= HEAPS
);

/// Where something was done, and by whom.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The address in the program.
    pub pc: usize,
    /// The number of the thread.
    pub thread: u16,
}

/// A block.
#[derive(Clone, Copy)]
pub struct Block {
    /// Its first address.
    pub start: usize,
    /// How many bytes the program asked for.
    pub size: usize,
    /// Its allocation.
    pub made: Done,
    /// How it was freed, if it was.
    pub freed: Option<Done>,
    /// Whether others than who freed it can still use it: that is in a buffer.
    pub leaving: bool,
    /// A thread that used something in it to wait or to let others go on, and whether there were others.
    pub synchronised: Option<(u16, bool)>,
    /// Its users are counted in a way that nobody looks at: who frees it does not matter.
    pub quiet: bool,
}

impl Block {
    /// The first address behind it.
    pub fn end(&self) -> usize {
        self.start + self.size
    }

    /// Whether a thread may access it.
    pub fn is_there_for(&self, thread: usize) -> bool {
        self.freed.is_none_or(|freed| self.leaving && usize::from(freed.thread) != thread)
    }
}

/// What is at an address of the heaps.
pub enum Found {
    /// A block.
    Block(Block),
    /// No block: the nearest one before, and the nearest one behind.
    Gap(Option<Block>, Option<Block>),
}

/// The blocks of all heaps.
pub struct Blocks {
    /// By heap, those in it by rising address.
    heaps: Vec<Vec<Block>>,
    /// Those that were there before `main`, and whether one of them was freed since.
    before: Vec<Block>,
    changed: bool,
    /// How many bytes of addresses have marks.
    span: usize,
    /// If executions are traced: the calls that led to where blocks were allocated, and freed.
    traced: BTreeMap<usize, [Vec<usize>; 2]>,
}

impl Blocks {
    /// None.
    pub fn new() -> Blocks {
        let (heaps, before, traced) = (Vec::new(), Vec::new(), BTreeMap::new());
        Blocks { heaps, before, changed: false, span: 0, traced }
    }

    /// A process starts, in which nothing is mapped that was not mapped in its parent.
    pub fn forget_mapped(&mut self) {
        self.span = 0;
    }

    /// Maps the marks of heap `t`, the next one.
    pub fn map(&mut self, t: usize) {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // Those of the first heap may be there already, from before the worker.
        sys::map_at(mark_of(HEAPS + t * STRIDE), STRIDE / 8, rights, libc::MAP_PRIVATE);
        if self.heaps.len() <= t {
            self.heaps.resize_with(t + 1, Vec::new);
        }
        self.span = self.span.max((t + 1) * STRIDE);
    }

    /// What is there now was there before `main`.
    pub fn keep(&mut self) {
        self.before = self.heaps.first().cloned().unwrap_or_default();
    }

    /// Only what was there before `main` is there. `used` is up to where each heap was used, and
    /// `first` up to where the first one was used then.
    ///
    /// # Safety
    /// The program does not run, and the heaps are mapped up to there.
    pub unsafe fn restore(&mut self, used: &[usize], first: usize) {
        for (t, (heap, &top)) in self.heaps.iter_mut().zip(used).enumerate() {
            heap.truncate(if t == 0 { self.before.len() } else { 0 });
            let from = mark_of(if t == 0 { first } else { HEAPS + t * STRIDE });
            let to = mark_of(top.next_multiple_of(8));
            // SAFETY: as the caller says; marks belong to the library.
            unsafe { clear(from, to.saturating_sub(from)) };
        }
        if let (true, Some(heap)) = (core::mem::take(&mut self.changed), self.heaps.first_mut()) {
            heap.copy_from_slice(&self.before);
            heap.iter().for_each(mark_small);
        }
    }

    /// One more block, behind all others of its heap, or in the place of one that was freed.
    pub fn add(&mut self, start: usize, size: usize, made: Done) {
        let block = Block {
            start,
            size,
            made,
            freed: None,
            leaving: false,
            synchronised: None,
            quiet: false,
        };
        mark_small(&block);
        let heap = &mut self.heaps[heap_of(start)];
        if heap.last().is_none_or(|last| last.start < start) {
            heap.push(block);
        } else if let Some(old) = self.find_mut(start) {
            *old = block;
        }
    }

    /// A block is freed; `leaving` if others can still use it.
    pub fn free(&mut self, start: usize, freed: Done, leaving: bool) {
        let before = self.before.last().is_some_and(|last| start <= last.start);
        self.changed |= before;
        let Some(block) = self.find_mut(start) else { return };
        (block.freed, block.leaving) = (Some(freed), leaving);
        let (from, to) = (mark_of(start), mark_of(block.end().next_multiple_of(8)));
        // SAFETY: marks of a block are mapped and belong to the library. The rest of the last page,
        // if it is given back as a whole, is about memory that is not in use yet or can be marked
        // again.
        unsafe { clear(from, to - from) };
    }

    /// These calls have led to where a block was allocated.
    pub fn trace(&mut self, start: usize, calls: Vec<usize>) {
        self.traced.insert(start, [calls, Vec::new()]);
    }

    /// These calls have led to where it was freed.
    pub fn trace_free(&mut self, start: usize, calls: Vec<usize>) {
        if let Some([_, freed]) = self.traced.get_mut(&start) {
            *freed = calls;
        }
    }

    /// What led to where a block was allocated, and freed, as far as it was traced.
    pub fn calls(&self, start: usize) -> [&[usize]; 2] {
        self.traced.get(&start).map_or([&[], &[]], |[made, freed]| [&made[..], &freed[..]])
    }

    /// Nobody can use a block any more that was freed.
    pub fn gone(&mut self, start: usize) {
        if let Some(block) = self.find_mut(start) {
            block.leaving = false;
        }
    }

    /// A thread waits by something in a block, or lets others go on.
    pub fn synchronise(&mut self, addr: usize, thread: usize) {
        let before = self.before.last().is_some_and(|last| addr < last.end());
        self.changed |= before;
        let Some(block) = self.find_mut(addr).filter(|block| addr < block.end()) else { return };
        let me = thread as u16;
        let (first, others) = block.synchronised.unwrap_or((me, false));
        block.synchronised = Some((first, others || first != me));
    }

    /// The users of a block are counted in a way that nobody looks at.
    pub fn quieten(&mut self, addr: usize) {
        if let Some(block) = self.find_mut(addr).filter(|block| addr < block.end()) {
            block.quiet = true;
        }
    }

    /// Whether it is certain that these bytes belong to a block in use, or to no heap.
    #[inline(always)]
    pub fn fine<const LEN: usize>(&self, addr: usize) -> bool {
        if addr.wrapping_sub(HEAPS) >= self.span {
            return true;
        }
        let mark = mark_of(addr) as *const u8;
        // SAFETY: addresses in the span have marks, and one more is there behind the last but for the
        // last word of all, which no block reaches.
        unsafe {
            let first = usize::from(*mark);
            let inside = addr & 7;
            if inside + LEN <= 8 {
                inside + LEN <= first
            } else {
                first == 8 && LEN + inside <= 8 + usize::from(*mark.add(1))
            }
        }
    }

    /// The same for any number of bytes; not certain for many.
    #[inline(always)]
    pub fn fine_all(&self, area: Area) -> bool {
        match area.len() {
            1 => self.fine::<1>(area.addr()),
            2 => self.fine::<2>(area.addr()),
            4 => self.fine::<4>(area.addr()),
            8 => self.fine::<8>(area.addr()),
            _ => !self.hold(area.addr()),
        }
    }

    /// Whether an address belongs to the heaps.
    #[inline(always)]
    pub fn hold(&self, addr: usize) -> bool {
        addr.wrapping_sub(HEAPS) < self.span
    }

    /// What is at an address of the heaps.
    pub fn at(&self, addr: usize) -> Found {
        let heap = &self.heaps[heap_of(addr)];
        let next = heap.partition_point(|block| block.start <= addr);
        let before = next.checked_sub(1).map(|at| heap[at]);
        match before {
            Some(block) if addr < block.end() || addr == block.start => Found::Block(block),
            _ => Found::Gap(before, heap.get(next).copied()),
        }
    }

    /// These bytes were found to belong to a block: if it is in use they are marked, with some around
    /// them.
    pub fn mark(&self, block: &Block, addr: usize) {
        if block.freed.is_some() {
            return;
        }
        let page = addr & !(SMALL - 1);
        set_marks(page.max(block.start), (page + SMALL).min(block.end()));
    }

    fn find_mut(&mut self, addr: usize) -> Option<&mut Block> {
        let heap = self.heaps.get_mut(heap_of(addr))?;
        let at = heap.partition_point(|block| block.start <= addr).checked_sub(1)?;
        Some(&mut heap[at])
    }
}

fn heap_of(addr: usize) -> usize {
    (addr - HEAPS) / STRIDE
}

/// Where the mark of an address is.
#[inline(always)]
fn mark_of(addr: usize) -> usize {
    MARKS + (addr - HEAPS) / 8
}

fn mark_small(block: &Block) {
    if block.size <= SMALL && block.freed.is_none() {
        set_marks(block.start, block.end());
    }
}

/// Marks bytes as belonging to a block in use. They begin with a word.
fn set_marks(from: usize, to: usize) {
    let words = (to - from) / 8;
    let rest = ((to - from) % 8) as u8;
    let first = mark_of(from) as *mut u8;
    // SAFETY: heaps have marks as far as they have blocks, and only this file uses them.
    unsafe {
        first.write_bytes(WHOLE, words);
        if rest > 0 {
            first.add(words).write(rest);
        }
    }
}

/// Makes memory zero.
///
/// # Safety
/// So many bytes are mapped and nobody uses them, nor the rest of the last page.
pub unsafe fn clear(start: usize, len: usize) {
    // SAFETY: as the caller says.
    unsafe {
        if len > LARGE {
            let from = start.next_multiple_of(PAGE);
            (start as *mut u8).write_bytes(0, from - start);
            sys::give_back(from, (start + len).next_multiple_of(PAGE) - from);
        } else if len > 0 {
            (start as *mut u8).write_bytes(0, len);
        }
    }
}
