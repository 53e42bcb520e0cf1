//! The program's heap: addresses are the same in each execution with the same choices.
//!
//! Each thread has a heap of its own that only grows; freed memory is not given out again, unless
//! the configuration asks for that (it makes addresses depend on what others free, and so shows
//! errors that need an address to come back). A block has a header of sixteen bytes before it.
//! After an execution the used part is cleared, but for what was allocated before `main`.

use core::ffi::c_void;

use weakspot_live::Ended;

use crate::Rt;
use crate::config::MOST_THREADS;
use crate::entry::frame::entry;
use crate::entry::guest::Guest;
use crate::execution::ends;
use crate::execution::signals::Signals;
use crate::memory::arena::{
    self, __libc_calloc, __libc_free, __libc_malloc, __libc_memalign, __libc_realloc,
};
use crate::schedule::finish::finish;
use crate::sys;

/// Where the heaps are.
pub const HEAPS: usize = 0x3000_0000_0000;
/// From one heap to the next.
const STRIDE: usize = 1 << 32;
/// Where the last one ends.
pub const END: usize = HEAPS + MOST_THREADS * STRIDE;
/// A used part that is larger is given back to the system instead of being cleared.
const LARGE: usize = 1 << 20;
const HEADER: usize = 16;
const PAGE: usize = 4096;
const LIVE_MARK: u64 = 0x5eed_0a11_0ca7_ed00;
const FREE_MARK: u64 = 0x5eed_0f4e_ed00_0000;
/// Classes of block sizes for reuse: powers of two.
const CLASSES: usize = 48;

/// The heaps of all threads.
pub struct Heap {
    /// Per thread: where the next block will be.
    tops: Vec<usize>,
    /// What the first heap had before `main`.
    before: Vec<u8>,
    /// Freed blocks by class, if they are to be used again.
    free: Vec<Vec<usize>>,
    /// How many heaps are mapped in this process.
    mapped: usize,
}

/// What is before a block.
#[derive(Clone, Copy)]
#[repr(C)]
struct Header {
    size: usize,
    mark: u64,
}

/// The header of a block.
fn header(block: usize) -> Guest<Header> {
    // SAFETY: blocks are the program's, and so is what is before them: nothing of the library is near.
    unsafe { Guest::at(block - HEADER) }
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
    /// No heaps yet.
    pub fn new() -> Heap {
        Heap { tops: Vec::new(), before: Vec::new(), free: Vec::new(), mapped: 0 }
    }

    /// Maps what earlier workers had mapped.
    pub fn map(&mut self) {
        self.mapped = 0;
        self.map_up_to(self.tops.len());
    }

    /// Maps the heaps of the first `n` threads.
    fn map_up_to(&mut self, n: usize) {
        for t in self.mapped..n {
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            sys::map_at(start_of(t), STRIDE, rights, libc::MAP_PRIVATE);
            if self.tops.len() == t {
                self.tops.push(start_of(t) + HEADER);
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
    }

    /// Puts the heaps back to what they were before `main`.
    ///
    /// # Safety
    /// The program does not run, and the heaps are mapped.
    pub unsafe fn restore(&mut self, signals: &Signals) {
        signals.set_memory(0);
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
            *top = start.max(start_of(t) + HEADER);
        }
        self.free.iter_mut().for_each(Vec::clear);
    }

    /// A freed block of this size, if blocks are to be used again.
    fn reused(&mut self, whole: usize) -> Option<usize> {
        self.free.get_mut(whole.trailing_zeros() as usize)?.pop()
    }

    /// A block was freed that may be used again.
    fn reuse(&mut self, block: usize, size: usize) {
        if self.free.is_empty() {
            self.free.resize_with(CLASSES, Vec::new);
        }
        let whole = size.max(16).next_power_of_two();
        if let Some(free) = self.free.get_mut(whole.trailing_zeros() as usize) {
            free.push(block);
        }
    }
}

/// Makes memory zero.
///
/// # Safety
/// So many bytes are mapped and nobody uses them, nor the rest of the last page.
unsafe fn clear(start: usize, len: usize) {
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

/// A block for the current thread; 0 if there is none.
fn take(rt: &mut Rt, align: usize, size: usize, pc: usize) -> usize {
    let live = rt.is_live();
    let t = if live { rt.threads.current() } else { 0 };
    rt.heap.map_up_to(t + 1);
    let align = align.max(16);
    let whole = size.checked_next_multiple_of(16).unwrap_or(usize::MAX).max(16);
    let reuse = rt.config.reuse;
    let whole = if reuse { whole.checked_next_power_of_two().unwrap_or(usize::MAX) } else { whole };
    if reuse
        && align == 16
        && let Some(block) = rt.heap.reused(whole)
    {
        header(block).set(Header { size, mark: LIVE_MARK });
        // Whoever freed it comes before whoever has it now.
        rt.new_for_races(block, whole);
        return block;
    }
    let used = rt.signals().memory().saturating_add(whole);
    let block = (rt.heap.tops[t] + HEADER).next_multiple_of(align);
    let end = block.saturating_add(whole);
    if used > rt.config.memory || end > start_of(t + 1) {
        if size > STRIDE || !live {
            sys::set_errno(libc::ENOMEM);
            return 0;
        }
        too_much(rt, pc);
    }
    rt.heap.tops[t] = end;
    rt.signals().set_memory(used);
    header(block).set(Header { size, mark: LIVE_MARK });
    block
}

/// Counts memory that the program has mapped itself; too much of it ends the execution.
pub fn count(rt: &mut Rt, len: usize, pc: usize) {
    let used = rt.signals().memory().saturating_add(len);
    if used > rt.config.memory && len <= rt.config.memory {
        too_much(rt, pc);
    }
    rt.signals().set_memory(used);
}

fn too_much(rt: &mut Rt, pc: usize) -> ! {
    let me = rt.threads.current();
    rt.finding("memory", Some(me), pc, "the program allocates more than it may");
    finish(rt, Ended::Over)
}

/// Frees a block of our heaps.
fn give_back(rt: &mut Rt, block: usize, pc: usize) {
    let head = header(block).get();
    if head.mark != LIVE_MARK {
        let what = match head.mark {
            FREE_MARK => "memory is freed twice",
            _ => "what is freed was never allocated",
        };
        ends::fail(rt, "free", pc, what);
    }
    header(block).set(Header { mark: FREE_MARK, ..head });
    if rt.config.reuse {
        rt.heap.reuse(block, head.size);
    }
}

/// A block from wherever it has to come from: `None` for glibc's heap.
fn allocate(align: usize, size: usize) -> Option<*mut c_void> {
    if let Some(block) = arena::for_runtime(align, size) {
        return Some(block.cast());
    }
    // SAFETY: the program calls, or libc for it.
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
            // SAFETY: the program calls, or libc for it.
            if let Some(mut rt) = unsafe { Rt::home() } {
                let pc = rt.pc();
                give_back(&mut rt, block as usize, pc);
            }
        }
        // SAFETY: the program says that glibc has allocated it.
        Origin::Libc => unsafe { __libc_free(block) },
    }
}

extern "C" fn realloc_inner(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc_inner(size);
    }
    // SAFETY: the program calls, or libc for it.
    let home = unsafe { Rt::home() };
    let origin = origin(block as usize);
    if matches!(origin, Origin::Libc) && home.is_none() {
        // SAFETY: the program says that glibc has allocated it.
        return unsafe { __libc_realloc(block, size) };
    }
    let pc = home.map_or(0, |rt| rt.pc());
    let old = match origin {
        // How large it is was not kept; behind it is more of the arena, which may be read.
        Origin::Arena => size,
        _ => usable_inner(block),
    };
    let Some(new) = allocate(16, size) else { return core::ptr::null_mut() };
    if new.is_null() {
        return new;
    }
    // SAFETY: both blocks are as large as what is copied.
    unsafe { block.copy_to_nonoverlapping(new, old.min(size)) };
    match origin {
        Origin::Heaps => {
            // SAFETY: the program calls, or libc for it.
            if let Some(mut rt) = unsafe { Rt::home() } {
                give_back(&mut rt, block as usize, pc);
            }
        }
        Origin::Arena => {}
        // SAFETY: the program says that glibc has allocated it.
        Origin::Libc => unsafe { __libc_free(block) },
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
        Origin::Heaps => header(block as usize).get().size,
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
