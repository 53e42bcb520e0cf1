//! The memory of the library itself: a mapping that the keeper shares with its workers, so that
//! what one worker has learnt is there for the next, and that no snapshot of the program contains.
//!
//! Blocks come in size classes, four to each power of two; freed blocks wait in a list per class.
//! Only one process allocates at a time: the keeper before the first worker starts and after one has
//! died, the worker in between.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// Where the arena is. Fixed, because pointers into it must mean the same in every run.
pub const BASE: usize = 0x1000_0000_0000;
/// How far it may grow; pages are taken from the system only when they are touched.
pub const SIZE: usize = 1 << 37;

/// Where blocks are whose addresses the program gets to see: they must not depend on what else the
/// library has allocated.
const SEEN: usize = 0x1c00_0000_0000;
const SEEN_SIZE: usize = 1 << 34;

/// A place at a fixed address, for the runtime itself.
pub const FIRST: usize = BASE + 0x1000;
/// How large it is.
pub const FIRST_SIZE: usize = 0x3000;

const CLASSES: usize = 4 * 48;
const SMALLEST: usize = 16;

/// The head of the arena.
struct Head {
    top: usize,
    seen: usize,
    free: [*mut u8; CLASSES],
}

const HEAD: *mut Head = BASE as *mut Head;
const _: () = assert!(size_of::<Head>() <= FIRST - BASE);

static READY: AtomicBool = AtomicBool::new(false);

/// Maps the arena. `false`: the system does not give it.
pub fn open() -> bool {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let ready = sys::map_at(BASE, SIZE, rights, libc::MAP_SHARED)
        && sys::map_at(SEEN, SEEN_SIZE, rights, libc::MAP_SHARED);
    if ready {
        // SAFETY: the mapping is new, large enough and aligned.
        unsafe {
            HEAD.write(Head { top: FIRST + FIRST_SIZE, seen: SEEN, free: [null_mut(); CLASSES] });
        }
        READY.store(true, Ordering::Relaxed);
    }
    ready
}

/// A block that the program gets to see, zeroed and never given back; null if there is no room.
/// The arena must be open.
fn seen(size: usize, align: usize) -> *mut u8 {
    debug_assert!(READY.load(Ordering::Relaxed));
    // SAFETY: one process at a time allocates, in one thread, and nobody keeps references to the head.
    let top = unsafe { &mut (*HEAD).seen };
    take(top, size, align.max(64), SEEN + SEEN_SIZE)
}

/// The next block of a stretch of memory that ends at `end`; null if there is no room.
fn take(top: &mut usize, size: usize, align: usize, end: usize) -> *mut u8 {
    let start = top.next_multiple_of(align);
    match start.checked_add(size) {
        Some(new) if new <= end => {
            *top = new;
            start as *mut u8
        }
        _ => null_mut(),
    }
}

static FOR_RUNTIME: AtomicBool = AtomicBool::new(false);

/// Runs something that allocates for the runtime, though with the program's functions.
pub fn on_behalf_of_runtime<T>(f: impl FnOnce() -> T) -> T {
    FOR_RUNTIME.store(true, Ordering::Relaxed);
    let got = f();
    FOR_RUNTIME.store(false, Ordering::Relaxed);
    got
}

/// A block for the runtime, though it is asked for with the program's functions; `None` if it is for the
/// program.
pub fn for_runtime(align: usize, size: usize) -> Option<*mut u8> {
    FOR_RUNTIME.load(Ordering::Relaxed).then(|| seen(size, align))
}

/// Whether an address belongs to the library.
pub fn holds(addr: usize) -> bool {
    (BASE..BASE + SIZE).contains(&addr) || (SEEN..SEEN + SEEN_SIZE).contains(&addr)
}

/// The class of a size and the size of its blocks.
fn class(size: usize) -> (usize, usize) {
    let size = size.max(SMALLEST);
    let log = (size - 1).checked_ilog2().unwrap_or(0) as usize;
    // Classes are at (4 + q) / 4 of a power of two, for q = 1 to 4.
    let step = (1usize << log) >> 2;
    let quarter = (size - (1 << log)).div_ceil(step.max(1)).clamp(1, 4);
    (4 * log + quarter - 1, (1 << log) + quarter * step)
}

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

/// The allocator of the library's own data.
pub struct Arena;

fn inside(block: *mut u8) -> bool {
    (BASE..BASE + SIZE).contains(&(block as usize))
}

// SAFETY: blocks come from the arena, each to one owner at a time, aligned as asked; before the arena
// is there, from libc.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !READY.load(Ordering::Relaxed) {
            // SAFETY: alignments of layouts are powers of two.
            return unsafe { __libc_memalign(layout.align().max(16), layout.size()).cast() };
        }
        let (class, size) = class(layout.size());
        if class >= CLASSES {
            return null_mut();
        }
        // SAFETY: the arena is there. One process at a time allocates, in one thread, and nobody keeps
        // references to the head. A freed block begins with the address of the next one.
        unsafe {
            let head = &mut *HEAD;
            let free = &mut head.free[class];
            if layout.align() <= 16 && !free.is_null() {
                let block = *free;
                *free = *block.cast::<*mut u8>();
                return block;
            }
            take(&mut head.top, size, layout.align().max(16), BASE + SIZE)
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !inside(block) {
            // SAFETY: it was allocated by libc, before the arena was there.
            return unsafe { __libc_free(block.cast()) };
        }
        let (class, _) = class(layout.size());
        if layout.align() <= 16 {
            // SAFETY: as for `alloc`; the block is large enough for an address, and nobody's now.
            unsafe {
                let free = &mut (*HEAD).free[class];
                *block.cast::<*mut u8>() = *free;
                *free = block;
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if inside(block) && class(layout.size()) == class(size) {
            return block;
        }
        // SAFETY: the caller vouches for the block and for the new layout; both blocks are as large
        // as what is copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                block.copy_to_nonoverlapping(new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}
