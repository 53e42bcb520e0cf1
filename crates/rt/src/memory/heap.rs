//! The program's heap: addresses are the same in each execution with the same choices.
//!
//! Each thread has a heap of its own that only grows; freed memory is not given out again, unless
//! the configuration asks for that (it makes addresses depend on what others free, and so shows
//! errors that need an address to come back). A block has a header of sixteen bytes before it.
//! After an execution the used part is cleared, but for what was allocated before `main`.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::config::MOST_THREADS;
use crate::entry::frame::{caller, entry};
use crate::execution::ends;
use crate::memory::arena;
use crate::report;
use crate::runtime::{Runtime, home, live};
use crate::schedule::threads;
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
const LIVE_MARK: u64 = 0x5eed_0a11_0ca7_ed00;
const FREE_MARK: u64 = 0x5eed_0f4e_ed00_0000;
/// Classes of block sizes for reuse: powers of two.
const CLASSES: usize = 48;

unsafe extern "C" {
    /// glibc's own allocator.
    pub fn __libc_malloc(size: usize) -> *mut c_void;
    /// glibc's own allocator.
    pub fn __libc_calloc(n: usize, size: usize) -> *mut c_void;
    /// glibc's own allocator.
    pub fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    /// glibc's own allocator.
    pub fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    /// glibc's own allocator.
    pub fn __libc_free(block: *mut c_void);
}

/// The heaps of all threads.
#[derive(Default)]
pub struct Heap {
    /// Per thread: where the next block will be.
    tops: Vec<usize>,
    /// What the first heap had before `main`.
    before: Vec<u8>,
    /// Bytes allocated in this execution.
    pub used: usize,
    /// Freed blocks by class, if they are to be used again.
    free: Vec<Vec<usize>>,
    /// How many heaps are mapped in this process.
    mapped: usize,
}

#[repr(C)]
struct Header {
    size: usize,
    mark: u64,
}

static FOR_RUNTIME: AtomicBool = AtomicBool::new(false);

/// Runs something that allocates for the runtime, though with the program's functions.
pub fn on_behalf_of_runtime<T>(f: impl FnOnce() -> T) -> T {
    FOR_RUNTIME.store(true, Ordering::Relaxed);
    let got = f();
    FOR_RUNTIME.store(false, Ordering::Relaxed);
    got
}

fn ours(block: usize) -> bool {
    (HEAPS..END).contains(&block)
}

fn in_arena(block: usize) -> bool {
    arena::holds(block)
}

/// Maps what earlier workers had mapped.
pub unsafe fn map(rt: *mut Runtime) {
    let n = (*rt).heap.tops.len();
    (*rt).heap.mapped = 0;
    map_up_to(rt, n);
}

/// Maps the heaps of the first `n` threads.
unsafe fn map_up_to(rt: *mut Runtime, n: usize) {
    for t in (*rt).heap.mapped..n {
        let start = HEAPS + t * STRIDE;
        sys::map_at(start, STRIDE, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
        if (*rt).heap.tops.len() == t {
            (*rt).heap.tops.push(start + HEADER);
        }
    }
    (*rt).heap.mapped = (*rt).heap.mapped.max(n);
}

/// Remembers what is there before `main`.
pub unsafe fn keep(rt: *mut Runtime) {
    map_up_to(rt, 1);
    let used = (&(*rt).heap.tops)[0] - HEAPS;
    (*rt).heap.before = core::slice::from_raw_parts(HEAPS as *const u8, used).to_vec();
}

/// Puts the heaps back to what they were before `main`.
pub unsafe fn restore(rt: *mut Runtime) {
    let heap = &mut (*rt).heap;
    for (t, top) in heap.tops.iter_mut().enumerate() {
        let mut start = HEAPS + t * STRIDE;
        if t == 0 {
            let before = &heap.before;
            before.as_ptr().copy_to_nonoverlapping(start as *mut u8, before.len());
            start += before.len();
        }
        let used = top.saturating_sub(start);
        if used > LARGE {
            let from = start.next_multiple_of(4096);
            (start as *mut u8).write_bytes(0, from - start);
            let len = (start + used).next_multiple_of(4096) - from;
            sys::call(libc::SYS_madvise, [from, len, libc::MADV_DONTNEED as usize, 0, 0, 0]);
        } else if used > 0 {
            (start as *mut u8).write_bytes(0, used);
        }
        *top = start.max(HEAPS + t * STRIDE + HEADER);
    }
    heap.used = 0;
    heap.free.iter_mut().for_each(Vec::clear);
}

/// A block for the current thread.
unsafe fn take(rt: *mut Runtime, align: usize, size: usize, pc: usize) -> *mut c_void {
    let live = !live().is_null();
    let t = if live { (*rt).current } else { 0 };
    map_up_to(rt, t + 1);
    let align = align.max(16);
    let whole = size.checked_next_multiple_of(16).unwrap_or(usize::MAX).max(16);
    let reuse = (*rt).config.reuse;
    let whole = if reuse { whole.checked_next_power_of_two().unwrap_or(usize::MAX) } else { whole };
    let used = (*rt).heap.used.saturating_add(whole);
    let heap = &mut (*rt).heap;
    if reuse && align == 16 {
        let class = whole.trailing_zeros() as usize;
        if let Some(block) = heap.free.get_mut(class).and_then(Vec::pop) {
            set_header(block, size);
            return block as *mut c_void;
        }
    }
    let top = heap.tops[t];
    let block = (top + HEADER).next_multiple_of(align);
    let end = block.saturating_add(whole);
    if used > (*rt).config.memory || end > HEAPS + (t + 1) * STRIDE {
        if size > STRIDE || !live {
            *libc::__errno_location() = libc::ENOMEM;
            return null_mut();
        }
        too_much(rt, pc);
    }
    heap.tops[t] = end;
    heap.used = used;
    set_header(block, size);
    block as *mut c_void
}

/// Counts memory that the program has mapped itself; too much of it ends the execution.
pub unsafe fn count(rt: *mut Runtime, len: usize, pc: usize) {
    let used = (*rt).heap.used.saturating_add(len);
    if used > (*rt).config.memory && len <= (*rt).config.memory {
        too_much(rt, pc);
    }
    (*rt).heap.used = used;
}

unsafe fn too_much(rt: *mut Runtime, pc: usize) -> ! {
    let me = (*rt).current;
    report::finding(rt, "memory", Some(me), pc, "the program allocates more than it may");
    threads::finish(rt, weakspot_live::Ended::Over)
}

unsafe fn set_header(block: usize, size: usize) {
    ((block - HEADER) as *mut Header).write(Header { size, mark: LIVE_MARK });
}

unsafe fn give_back(rt: *mut Runtime, block: usize, pc: usize) {
    let header = (block - HEADER) as *mut Header;
    if (*header).mark != LIVE_MARK {
        let what = match (*header).mark {
            FREE_MARK => "memory is freed twice",
            _ => "what is freed was never allocated",
        };
        ends::fail(rt, "free", pc, what);
    }
    (*header).mark = FREE_MARK;
    if (*rt).config.reuse {
        let whole = (*header).size.max(16).next_power_of_two();
        let free = &mut (*rt).heap.free;
        if free.is_empty() {
            free.resize_with(CLASSES, Vec::new);
        }
        if let Some(free) = free.get_mut(whole.trailing_zeros() as usize) {
            free.push(block);
        }
    }
}

/// How many bytes a block has.
unsafe fn size_of_block(block: usize) -> usize {
    (*((block - HEADER) as *const Header)).size
}

/// A block from wherever it has to come from: `None` for glibc's heap.
unsafe fn allocate(align: usize, size: usize) -> Option<*mut c_void> {
    if FOR_RUNTIME.load(Ordering::Relaxed) {
        return Some(arena::seen(size, align).cast());
    }
    let rt = home();
    if rt.is_null() {
        return None;
    }
    Some(take(rt, align, size, caller()))
}

unsafe extern "C" fn malloc_inner(size: usize) -> *mut c_void {
    match allocate(16, size) {
        Some(block) => block,
        None => __libc_malloc(size),
    }
}

unsafe extern "C" fn calloc_inner(n: usize, size: usize) -> *mut c_void {
    let Some(whole) = n.checked_mul(size) else {
        *libc::__errno_location() = libc::ENOMEM;
        return null_mut();
    };
    match allocate(16, whole) {
        Some(block) => {
            let rt = home();
            // Memory that was never used is zero.
            if !block.is_null() && !rt.is_null() && (*rt).config.reuse {
                block.cast::<u8>().write_bytes(0, whole);
            }
            block
        }
        None => __libc_calloc(n, size),
    }
}

unsafe extern "C" fn free_inner(block: *mut c_void) {
    let addr = block as usize;
    if addr == 0 || in_arena(addr) {
    } else if ours(addr) {
        let pc = caller();
        give_back(home(), addr, pc);
    } else {
        __libc_free(block);
    }
}

unsafe extern "C" fn realloc_inner(block: *mut c_void, size: usize) -> *mut c_void {
    let addr = block as usize;
    if addr == 0 {
        return malloc_inner(size);
    }
    if !ours(addr) && !in_arena(addr) && home().is_null() {
        return __libc_realloc(block, size);
    }
    let pc = if home().is_null() { 0 } else { caller() };
    let old = if ours(addr) { size_of_block(addr) } else { libc_usable(block) };
    let Some(new) = allocate(16, size) else { return null_mut() };
    if !new.is_null() {
        block.copy_to_nonoverlapping(new, old.min(size));
        if ours(addr) {
            give_back(home(), addr, pc);
        } else if !in_arena(addr) {
            __libc_free(block);
        }
    }
    new
}

/// The size that glibc's allocator keeps before each of its blocks.
unsafe fn libc_usable(block: *mut c_void) -> usize {
    let word = *(block as *const usize).sub(1);
    let mapped = word & 2 != 0;
    (word & !7).saturating_sub(if mapped { 16 } else { 8 })
}

unsafe extern "C" fn memalign_inner(align: usize, size: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        *libc::__errno_location() = libc::EINVAL;
        return null_mut();
    }
    match allocate(align, size) {
        Some(block) => block,
        None => __libc_memalign(align, size),
    }
}

unsafe extern "C" fn posix_memalign_inner(to: *mut *mut c_void, align: usize, size: usize) -> i32 {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let block = memalign_inner(align, size);
    if block.is_null() {
        return libc::ENOMEM;
    }
    *to = block;
    0
}

unsafe extern "C" fn valloc_inner(size: usize) -> *mut c_void {
    memalign_inner(4096, size)
}

unsafe extern "C" fn usable_inner(block: *mut c_void) -> usize {
    match block as usize {
        0 => 0,
        addr if ours(addr) => size_of_block(addr),
        _ => libc_usable(block),
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
