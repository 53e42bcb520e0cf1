//! The program's heap: addresses are the same in each execution with the same choices.
//!
//! Each thread has a heap of its own that only grows; freed memory is not given out again, unless
//! the configuration asks for that (it makes addresses depend on what others free, and so shows
//! errors that need an address to come back). Between blocks there is room that belongs to none, so
//! that accesses beside a block are noticed (`blocks.rs`). To free a block that others have touched
//! is a step: a store to all of its bytes, as far as conflicts and monitors go.
//! After an execution the used part is cleared, but for what was allocated before `main`.

use core::ffi::c_void;

use weakspot_live::wire::{MemoryChange, TOO_MUCH};
use weakspot_live::{Ended, Op, OpKind, Order, Sync};

use crate::entry::frame::entry;
use crate::entry::guest::{Area, Guest};
use crate::entry::native::native;
use crate::execution::ends;
use crate::execution::monitors::Event;
use crate::execution::signals::Signals;
use crate::memory::arena::{
    self, __libc_calloc, __libc_free, __libc_malloc, __libc_memalign, __libc_realloc,
};
use crate::memory::blocks::{Block, Blocks, Done, END, Found, HEAPS, STRIDE, clear};
use crate::memory::check::wrong;
use crate::memory::errors::{MemoryError, history};
use crate::schedule::coroutine::STACKS;
use crate::schedule::finish::finish;
use crate::schedule::turns::free_step;
use crate::sys;
use crate::{Rt, Runtime};

/// Before each block is at least so much that belongs to none.
const GAP: usize = 16;
/// Behind large blocks there is more, up to so much.
const MOST_GAP: usize = 2048;
const PAGE: usize = 4096;
/// Where addresses of programs end.
const ADDRESSES: usize = 1 << 47;
/// Classes of block sizes for reuse: powers of two.
const CLASSES: usize = 48;

/// The heaps of all threads.
pub struct Heap {
    /// Per thread: where the next block will be.
    tops: Vec<usize>,
    /// What the first heap had before `main`.
    before: Vec<u8>,
    /// What belongs to blocks.
    pub blocks: Blocks,
    /// Freed blocks by class, if they are to be used again.
    free: Vec<Vec<usize>>,
    /// Whether freed blocks are used again.
    reuses: bool,
    /// How many heaps are mapped in this process.
    mapped: usize,
}

/// Where a block is from.
enum Origin {
    /// Our heaps.
    Heaps,
    /// The arena: it is never given back.
    Arena,
    /// glibc's heap.
    Libc,
}

fn origin(block: usize) -> Origin {
    if (HEAPS..END).contains(&block) {
        Origin::Heaps
    } else if arena::holds(block) {
        Origin::Arena
    } else {
        Origin::Libc
    }
}

/// Where the heap of a thread begins.
fn start_of(t: usize) -> usize {
    HEAPS + t * STRIDE
}

impl Heap {
    /// No heaps yet; `reuses`: freed memory is given out again.
    pub fn new(reuses: bool) -> Heap {
        let (tops, before, blocks) = (Vec::new(), Vec::new(), Blocks::new());
        Heap { tops, before, blocks, free: Vec::new(), reuses, mapped: 0 }
    }

    /// Maps what earlier workers had mapped.
    pub fn map(&mut self) {
        self.mapped = 0;
        self.blocks.forget_mapped();
        self.map_up_to(self.tops.len());
    }

    /// Maps the heaps of the first `n` threads.
    fn map_up_to(&mut self, n: usize) {
        for t in self.mapped..n {
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            sys::map_at(start_of(t), STRIDE, rights, libc::MAP_PRIVATE);
            self.blocks.map(t);
            if self.tops.len() == t {
                self.tops.push(start_of(t));
            }
        }
        self.mapped = self.mapped.max(n);
    }

    /// Remembers what is there before `main`.
    pub fn keep(&mut self) {
        self.map_up_to(1);
        let used = self.tops[0] - HEAPS;
        // SAFETY: the heap is mapped, and the program, whose it is, does not run.
        self.before = unsafe { core::slice::from_raw_parts(HEAPS as *const u8, used) }.to_vec();
        self.blocks.keep();
    }

    /// Puts the heaps back to what they were before `main`.
    ///
    /// # Safety
    /// The program does not run, and the heaps are mapped.
    pub unsafe fn restore(&mut self, signals: &Signals) {
        signals.set_memory(0);
        // SAFETY: as the caller says.
        unsafe { self.blocks.restore(&self.tops, HEAPS + self.before.len()) };
        for (t, top) in self.tops.iter_mut().enumerate() {
            let mut start = start_of(t);
            if t == 0 {
                let (from, len) = (self.before.as_ptr(), self.before.len());
                // SAFETY: the heap had at least so many bytes when they were copied.
                unsafe { from.copy_to_nonoverlapping(start as *mut u8, len) };
                start += len;
            }
            let used = top.saturating_sub(start);
            // SAFETY: `used` bytes of the heap are mapped, and the rest of the last page, too.
            unsafe { clear(start, used) };
            *top = start;
        }
        self.free.iter_mut().for_each(Vec::clear);
    }

    /// A freed block of this size, if blocks are to be used again.
    fn reused(&mut self, whole: usize) -> Option<usize> {
        self.free.get_mut(whole.trailing_zeros() as usize)?.pop()
    }

    /// Nobody can use a block any more that was freed.
    pub fn gone(&mut self, block: usize) {
        self.blocks.gone(block);
        self.use_again(block);
    }

    fn use_again(&mut self, block: usize) {
        let Some(Found::Block(Block { size, .. })) = self.reuses.then(|| self.blocks.at(block))
        else {
            return;
        };
        if self.free.is_empty() {
            self.free.resize_with(CLASSES, Vec::new);
        }
        if let Some(free) = self.free.get_mut(class_of(size).trailing_zeros() as usize) {
            free.push(block);
        }
    }
}

/// The size of blocks that can be used again for so many bytes.
fn class_of(size: usize) -> usize {
    size.max(16).checked_next_power_of_two().unwrap_or(usize::MAX)
}

/// A block for the current thread; 0 if there is none.
fn take(rt: &mut Rt, align: usize, size: usize, pc: usize) -> usize {
    let live = rt.is_live();
    let t = if live { rt.threads.current() } else { 0 };
    if live {
        // Nobody gets that address again.
        rt.threads.me_mut().spin.undone.clear();
    }
    rt.heap.map_up_to(t + 1);
    let align = align.max(16);
    let whole = size.checked_next_multiple_of(16).unwrap_or(usize::MAX).max(16);
    let reuse = rt.config.reuse;
    let whole = if reuse { class_of(whole) } else { whole };
    let made = Done { pc, thread: t as u16 };
    if reuse
        && align == 16
        && let Some(block) = rt.heap.reused(whole)
    {
        rt.heap.blocks.add(block, size, made);
        // Whoever freed it comes before whoever has it now.
        rt.new_for_races(block, whole);
        rt.owners.forget(block, whole);
        return block;
    }
    let used = rt.signals().memory().saturating_add(whole);
    let block = (rt.heap.tops[t] + GAP).next_multiple_of(align);
    let gap = (size / 8).min(MOST_GAP) & !15;
    let end = block.saturating_add(whole).saturating_add(gap);
    if used > rt.config.memory || end >= start_of(t + 1) {
        // Nobody has so much, on any machine; what some have is not said to be refused.
        if size >= ADDRESSES || !live {
            sys::set_errno(libc::ENOMEM);
            return 0;
        }
        too_much(rt, pc);
    }
    rt.heap.tops[t] = end;
    rt.signals().set_memory(used);
    rt.heap.blocks.add(block, size, made);
    if rt.config.trace && live {
        trace_block(rt, block, size);
    }
    block
}

/// Tells where a block was allocated, with the calls that led there: in Rust the innermost ones are those
/// of the standard library.
#[cold]
fn trace_block(rt: &mut Rt, start: usize, size: usize) {
    let calls = rt.calls();
    rt.trace_memory(MemoryChange::Allocated, (start, size), &calls);
    rt.heap.blocks.trace(start, calls);
}

/// Counts memory that the program has mapped itself; too much of it ends the execution.
pub fn count(rt: &mut Rt, len: usize, pc: usize) {
    rt.threads.me_mut().spin.undone.clear();
    let used = rt.signals().memory().saturating_add(len);
    if used > rt.config.memory && len <= rt.config.memory {
        too_much(rt, pc);
    }
    rt.signals().set_memory(used);
}

fn too_much(rt: &mut Rt, pc: usize) -> ! {
    let me = rt.threads.current();
    rt.finding(TOO_MUCH, Some(me), pc, "");
    finish(rt, Ended::Cut)
}

/// Frees a block of our heaps, after something was done with it for the last time.
fn give_back(rt: &mut Rt, start: usize, pc: usize, last: impl FnOnce()) {
    let block = freeable(rt, start, pc);
    let area = if rt.is_live() { announced(rt, &block) } else { None };
    if let Some(area) = area {
        // With buffers the step is a store into one, and that it leaves it is another.
        free_step(rt, area, pc);
        // Another thread may have freed it, or touched more of it, in the meantime.
        let block = freeable(rt, start, pc);
        announced(rt, &block);
        rt.threads.me_mut().spin.changed();
        rt.record_free(area, &block, pc);
    }
    if rt.config.trace && rt.is_live() {
        let mut calls = rt.calls();
        rt.heap.blocks.trace_free(start, calls.clone());
        if calls.first() != Some(&pc) {
            calls.insert(0, pc);
        }
        rt.trace_memory(MemoryChange::Freed, (start, block.size), &calls);
    }
    last();
    let thread = if rt.is_live() { rt.threads.current() as u16 } else { 0 };
    match area {
        Some(area) if rt.stores_are_buffered() => {
            rt.heap.blocks.free(start, Done { pc, thread }, true);
            rt.buffer_free(area, start, pc);
        }
        _ => {
            rt.heap.blocks.free(start, Done { pc, thread }, false);
            rt.heap.use_again(start);
        }
    }
}

/// The block that begins there and may be freed. What else is freed is an error.
fn freeable(rt: &mut Rt, start: usize, pc: usize) -> Block {
    let found = rt.heap.blocks.hold(start).then(|| rt.heap.blocks.at(start));
    let (kind, text, near) = match found {
        Some(Found::Block(block)) if block.start == start => {
            if block.freed.is_none() {
                return block;
            }
            ("double-free", format!("frees a block of {} bytes again", block.size), Some(block))
        }
        Some(Found::Block(block)) => {
            let into = start - block.start;
            let text = format!("frees what is {into} bytes into a block of {} bytes", block.size);
            ("invalid-free", text, Some(block))
        }
        _ => ("invalid-free", "frees what was not allocated".to_owned(), None),
    };
    if !rt.is_live() {
        ends::fail(rt, kind, pc, &text);
    }
    let related = near.map_or(Vec::new(), |block| history(&block, &rt.heap.blocks));
    let me = rt.threads.current();
    let other = |block: &Block| block.freed.is_some_and(|freed| usize::from(freed.thread) != me);
    // SAFETY: the program has said that it has a block there.
    let shared = near.filter(other).map(|block| unsafe { Area::at(block.start, 4) });
    let op = Op { kind: OpKind::Free, len: 1, addr: start as u64 };
    wrong(rt, &MemoryError { kind, text, related, shared, op }, pc)
}

/// The bytes of a block that other threads have touched: that it is freed is a step because of them.
fn announced(rt: &mut Rt, block: &Block) -> Option<Area> {
    if rt.threads.alone() || block.size == 0 || block.quiet {
        return None;
    }
    let me = rt.threads.current();
    // SAFETY: the block belongs to the program, which gives it back.
    let all = unsafe { Area::at(block.start, block.size) };
    let waited = block.synchronised.is_some_and(|(t, others)| others || usize::from(t) != me);
    if !rt.config.filter || waited || rt.has_buffered(all) {
        rt.shadow.free(me, all);
        return Some(all);
    }
    let (from, to, news) = rt.shadow.free(me, all)?;
    if news {
        rt.learn(from, to - from);
    }
    // SAFETY: as above.
    Some(unsafe { Area::at(from, to - from) })
}

impl Runtime {
    /// The current thread frees bytes of a block: monitors see stores to what others have stored there.
    /// With buffers it is one store.
    fn record_free(&mut self, area: Area, block: &Block, pc: usize) {
        if self.stores_are_buffered() {
            // An access that is in no order with it is found as one to memory that is not there.
            let store = Event::new(area.op(OpKind::Write), Order::Plain, pc);
            return self.record(store.orders(Sync::Nothing));
        }
        let (from, to) = (block.start as u64, block.end() as u64);
        for (addr, len) in self.monitors.stored_within(self.threads.current(), from, to) {
            // SAFETY: the bytes are in the block, which the program gives back.
            let area = unsafe { Area::at(addr as usize, len as usize) };
            let store = Event::new(area.op(OpKind::Write), Order::Plain, pc);
            self.record(store.orders(Sync::Free));
        }
    }
}

/// A block from wherever it has to come from: `None` for glibc's heap.
fn allocate(align: usize, size: usize) -> Option<*mut c_void> {
    if let Some(block) = arena::for_runtime(align, size) {
        return Some(block.cast());
    }
    // SAFETY: entered from the program, perhaps by way of libc, see `Rt::live`.
    let mut rt = unsafe { Rt::home() }?;
    let pc = rt.pc();
    Some(take(&mut rt, align, size, pc) as *mut c_void)
}

extern "C" fn malloc_inner(size: usize) -> *mut c_void {
    allocate(16, size).unwrap_or_else(|| {
        // SAFETY: any size will do.
        unsafe { __libc_malloc(size) }
    })
}

extern "C" fn calloc_inner(n: usize, size: usize) -> *mut c_void {
    let Some(whole) = n.checked_mul(size) else {
        sys::set_errno(libc::ENOMEM);
        return core::ptr::null_mut();
    };
    let Some(block) = allocate(16, whole) else {
        // SAFETY: any size will do.
        return unsafe { __libc_calloc(n, size) };
    };
    // SAFETY: as in `allocate`.
    let reuse = unsafe { Rt::home() }.is_some_and(|rt| rt.config.reuse);
    // Memory that was never used is zero.
    if !block.is_null() && reuse {
        // SAFETY: the block is new, and that large.
        unsafe { block.cast::<u8>().write_bytes(0, whole) };
    }
    block
}

extern "C" fn free_inner(block: *mut c_void) {
    match origin(block as usize) {
        _ if block.is_null() => {}
        Origin::Arena => {}
        Origin::Heaps => {
            // SAFETY: entered from the program, perhaps by way of libc, see `Rt::live`.
            if let Some(mut rt) = unsafe { Rt::home() } {
                let pc = rt.pc();
                give_back(&mut rt, block as usize, pc, || {});
            }
        }
        Origin::Libc => {
            // SAFETY: entered from the program, perhaps by way of libc, see `Rt::live`.
            if let Some(mut rt) = unsafe { Rt::live() }
                && is_no_block(&rt, block as usize)
            {
                let pc = rt.pc();
                let text = "frees what was not allocated".to_owned();
                wrong(
                    &mut rt,
                    &MemoryError {
                        kind: "invalid-free",
                        text,
                        related: Vec::new(),
                        shared: None,
                        op: Op { kind: OpKind::Free, len: 1, addr: block as u64 },
                    },
                    pc,
                );
            }
            // SAFETY: the program says that glibc has allocated it.
            unsafe { __libc_free(block) }
        }
    }
}

/// Whether glibc cannot have allocated what is there: a variable, a stack, something that the
/// program has mapped itself, or no address of a block.
fn is_no_block(rt: &Runtime, addr: usize) -> bool {
    let variable = rt.reporter.modules().iter().any(|m| (m.base..m.end).contains(&addr));
    let stack = (STACKS..HEAPS).contains(&addr);
    variable || stack || !addr.is_multiple_of(16) || rt.mappings.holds(addr, 1)
}

extern "C" fn realloc_inner(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc_inner(size);
    }
    // SAFETY: entered from the program, perhaps by way of libc, see `Rt::live`.
    let home = unsafe { Rt::home() };
    let origin = origin(block as usize);
    if matches!(origin, Origin::Libc) && home.is_none() {
        // SAFETY: the program says that glibc has allocated it.
        return unsafe { __libc_realloc(block, size) };
    }
    let (mut old, mut pc) = (0, 0);
    if let Some(mut rt) = home {
        pc = rt.pc();
        if matches!(origin, Origin::Heaps) {
            old = freeable(&mut rt, block as usize, pc).size;
        }
    }
    match origin {
        // How large it is was not kept; behind it is more of the arena, which may be read.
        Origin::Arena => old = size,
        Origin::Libc => old = usable_inner(block),
        Origin::Heaps => {}
    }
    let Some(new) = allocate(16, size) else { return core::ptr::null_mut() };
    if new.is_null() {
        return new;
    }
    // SAFETY: both blocks are as large as what is copied.
    let copy = || unsafe { block.copy_to_nonoverlapping(new, old.min(size)) };
    match origin {
        Origin::Heaps => {
            // SAFETY: entered from the program, perhaps by way of libc, see `Rt::live`.
            if let Some(mut rt) = unsafe { Rt::home() } {
                give_back(&mut rt, block as usize, pc, copy);
            }
        }
        Origin::Arena => copy(),
        Origin::Libc => {
            copy();
            // SAFETY: the program says that glibc has allocated it.
            unsafe { __libc_free(block) }
        }
    }
    new
}

extern "C" fn memalign_inner(align: usize, size: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        sys::set_errno(libc::EINVAL);
        return core::ptr::null_mut();
    }
    allocate(align, size).unwrap_or_else(|| {
        // SAFETY: the alignment is a power of two.
        unsafe { __libc_memalign(align, size) }
    })
}

extern "C" fn posix_memalign_inner(to: Guest<*mut c_void>, align: usize, size: usize) -> i32 {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let block = memalign_inner(align, size);
    if block.is_null() {
        return libc::ENOMEM;
    }
    to.set(block);
    0
}

extern "C" fn valloc_inner(size: usize) -> *mut c_void {
    memalign_inner(PAGE, size)
}

extern "C" fn usable_inner(block: *mut c_void) -> usize {
    match origin(block as usize) {
        _ if block.is_null() => 0,
        // How large it is was not kept.
        Origin::Arena => 0,
        Origin::Heaps => {
            // SAFETY: entered from the program, perhaps by way of libc, see `Rt::live`.
            let Some(rt) = (unsafe { Rt::home() }) else { return 0 };
            match rt.heap.blocks.hold(block as usize).then(|| rt.heap.blocks.at(block as usize)) {
                Some(Found::Block(block)) => block.size,
                _ => 0,
            }
        }
        Origin::Libc => {
            // SAFETY: glibc's allocator keeps the size in the word before each of its blocks.
            let word = unsafe { block.cast::<usize>().sub(1).read() };
            let mapped = word & 2 != 0;
            (word & !7).saturating_sub(if mapped { 16 } else { 8 })
        }
    }
}

entry! {
    malloc => malloc_inner;
    calloc => calloc_inner;
    realloc => realloc_inner;
    free => free_inner;
    memalign => memalign_inner;
    aligned_alloc => memalign_inner;
    posix_memalign => posix_memalign_inner;
    valloc => valloc_inner;
    malloc_usable_size => usable_inner;
}

/// Memory for an object of C++; what happens if there is none is up to its library.
macro_rules! new {
    ($($name:ident, $inner:ident;)*) => {
        $(extern "C-unwind" fn $inner(size: usize) -> *mut c_void {
            match allocate(16, size) {
                Some(block) if !block.is_null() => block,
                _ => native!($name(size: usize) -> *mut c_void),
            }
        })*
        entry! { $($name => $inner;)* }
    };
}

macro_rules! new_aligned {
    ($($name:ident, $inner:ident;)*) => {
        $(extern "C-unwind" fn $inner(size: usize, align: usize) -> *mut c_void {
            match allocate(align, size) {
                Some(block) if !block.is_null() => block,
                _ => native!($name(size: usize, align: usize) -> *mut c_void),
            }
        })*
        entry! { $($name => $inner;)* }
    };
}

// They would call `malloc` and `free` as well, but nobody would know for whom.
new! {
    _Znwm, new_one;
    _Znam, new_array;
}

new_aligned! {
    _ZnwmSt11align_val_t, new_one_aligned;
    _ZnamSt11align_val_t, new_array_aligned;
}

entry! {
    _ZnwmRKSt9nothrow_t => malloc_inner;
    _ZnamRKSt9nothrow_t => malloc_inner;
    _ZdlPv => free_inner;
    _ZdaPv => free_inner;
    _ZdlPvm => free_inner;
    _ZdaPvm => free_inner;
    _ZdlPvSt11align_val_t => free_inner;
    _ZdaPvSt11align_val_t => free_inner;
    _ZdlPvmSt11align_val_t => free_inner;
    _ZdaPvmSt11align_val_t => free_inner;
    _ZdlPvRKSt9nothrow_t => free_inner;
    _ZdaPvRKSt9nothrow_t => free_inner;
}
