//! The memory of the library itself: a mapping that the keeper shares with its workers, so that
//! what one worker has learnt is there for the next, and that no snapshot of the program contains.
//!
//! Blocks come in size classes, four to each power of two; freed blocks wait in a list per class.
//! Only one process allocates at a time: the keeper before the first worker starts and after one has
//! died, the worker in between.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::memory::heap;
use crate::sys;

/// Where the arena is. Fixed, because pointers into it must mean the same in every run.
pub const BASE: usize = 0x1000_0000_0000;
/// How far it may grow; pages are taken from the system only when they are touched.
pub const SIZE: usize = 1 << 37;

/// Where blocks are whose addresses the program gets to see: they must not depend on what else the
/// library has allocated.
const SEEN: usize = 0x1c00_0000_0000;
const SEEN_SIZE: usize = 1 << 34;

const CLASSES: usize = 4 * 48;
const SMALLEST: usize = 16;

/// The head of the arena.
struct Head {
    top: usize,
    seen: usize,
    free: [*mut u8; CLASSES],
}

static READY: AtomicBool = AtomicBool::new(false);

/// Maps the arena. `false`: the system does not give it.
pub fn open() -> bool {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let ready = sys::map_at(BASE, SIZE, rights, libc::MAP_SHARED)
        && sys::map_at(SEEN, SEEN_SIZE, rights, libc::MAP_SHARED);
    if ready {
        // SAFETY: the mapping is new, large enough and aligned.
        unsafe {
            (BASE as *mut Head).write(Head {
                top: BASE + size_of::<Head>(),
                seen: SEEN,
                free: [null_mut(); CLASSES],
            });
        }
        READY.store(true, Ordering::Relaxed);
    }
    ready
}

/// A block that the program gets to see, zeroed and never given back; null if there is no room.
pub unsafe fn seen(size: usize, align: usize) -> *mut u8 {
    let head = BASE as *mut Head;
    let start = (*head).seen.next_multiple_of(align.max(64));
    match start.checked_add(size) {
        Some(end) if end <= SEEN + SEEN_SIZE => {
            (*head).seen = end;
            start as *mut u8
        }
        _ => null_mut(),
    }
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

/// The allocator of the library's own data.
pub struct Arena;

// SAFETY: blocks come from the arena, each to one owner at a time, aligned as asked; before the arena
// is there, from libc.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !READY.load(Ordering::Relaxed) {
            return heap::__libc_memalign(layout.align().max(16), layout.size()).cast();
        }
        let head = BASE as *mut Head;
        let (class, size) = class(layout.size());
        if layout.align() <= 16 && class < CLASSES && !(*head).free[class].is_null() {
            let block = (*head).free[class];
            (*head).free[class] = *block.cast::<*mut u8>();
            return block;
        }
        let start = (*head).top.next_multiple_of(layout.align().max(16));
        match start.checked_add(size) {
            Some(end) if end <= BASE + SIZE && class < CLASSES => {
                (*head).top = end;
                start as *mut u8
            }
            _ => null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !(BASE..BASE + SIZE).contains(&(block as usize)) {
            return heap::__libc_free(block.cast());
        }
        let head = BASE as *mut Head;
        let (class, _) = class(layout.size());
        if layout.align() <= 16 {
            *block.cast::<*mut u8>() = (*head).free[class];
            (*head).free[class] = block;
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let inside = (BASE..BASE + SIZE).contains(&(block as usize));
        if inside && class(layout.size()) == class(size) {
            return block;
        }
        let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !new.is_null() {
            block.copy_to_nonoverlapping(new, layout.size().min(size));
            self.dealloc(block, layout);
        }
        new
    }
}
