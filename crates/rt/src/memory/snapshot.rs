//! The program's memory before `main`, and how to put it back.
//!
//! All private writable mappings are copied. After an execution it would be enough to copy back what
//! was changed; the kernel says which pages those may be: a page that the worker still shares with
//! the keeper, from which it was forked, has never been written. Whether more pages were written than
//! the last time we asked shows in the number of page faults, which is cheap to ask.

use std::fs;

use crate::Runtime;
use crate::config::MOST_THREADS;
use crate::memory::{arena, blocks};
use crate::report::Module;
use crate::schedule::coroutine;
use crate::sys;
use crate::world::descriptors::FAR;

const PAGE: usize = 4096;
/// Pieces of at most this size are copied without asking what was touched of them.
const SMALL: usize = 1 << 20;

/// A piece of memory and what was in it.
struct Piece {
    start: usize,
    len: usize,
    /// Nothing if it was all zeros.
    bytes: Option<Vec<u8>>,
    /// Pages that were written, as runs of bytes: offset and length.
    dirty: Vec<(usize, usize)>,
}

/// The memory of the program.
pub struct Snapshot {
    pieces: Vec<Piece>,
    faults: i64,
    pagemap: i32,
}

/// A line of `/proc/self/maps`.
struct Mapping {
    start: usize,
    end: usize,
    writable: bool,
    private: bool,
    executable: bool,
    path: String,
}

fn mappings() -> Vec<Mapping> {
    let text = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    text.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    // Address, rights, offset, device, inode, blanks, path: only the path may have blanks of its own.
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let rights = words.next()?.as_bytes();
    let path = words.nth(3).unwrap_or("").trim_start();
    // Linux writes it so that each file has one line.
    let path = path.strip_suffix(" (deleted)").unwrap_or(path).replace("\\012", "\n");
    Some(Mapping {
        start: usize::from_str_radix(start, 16).ok()?,
        end: usize::from_str_radix(end, 16).ok()?,
        writable: rights.get(1) == Some(&b'w'),
        private: rights.get(3) == Some(&b'p'),
        executable: rights.get(2) == Some(&b'x'),
        path,
    })
}

/// The files that are mapped, one entry each; and where this library is.
pub fn modules() -> (Vec<Module>, (usize, usize)) {
    let mut modules: Vec<Module> = Vec::new();
    for m in mappings() {
        if !m.path.starts_with('/') || m.path == "/dev/zero" {
            continue;
        }
        let code = if m.executable { m.start..m.end } else { 0..0 };
        match modules.iter_mut().find(|known| known.path == m.path) {
            Some(known) => {
                known.end = m.end;
                if known.code.is_empty() {
                    known.code = code;
                }
            }
            None => modules.push(Module { base: m.start, end: m.end, code, path: m.path }),
        }
    }
    let here = mapping as *const () as usize;
    let own = modules.iter().find(|m| (m.base..m.end).contains(&here));
    let own = own.map_or((0, 0), |m| (m.base, m.end));
    (modules, own)
}

impl Snapshot {
    /// Copies the memory of the program, before it runs.
    pub fn take(rt: &Runtime) -> Snapshot {
        // The program gets the same numbers for its files as without us.
        let pagemap = sys::move_up(sys::open(c"/proc/self/pagemap", libc::O_RDONLY), FAR);
        let arguments = rt.program.arguments().1 as usize;
        let mut pieces = Vec::new();
        for (start, m) in of_program(rt.reporter.own_code(), arguments) {
            let len = m.end - start;
            // Large variables without initial value have mostly pages that nobody has touched.
            let untouched = |page| m.path.is_empty() && untouched(pagemap, page);
            let mut at = start;
            while at < m.end {
                let blank = untouched(at);
                let from = at;
                while at < m.end && (len <= SMALL || untouched(at) == blank) {
                    at = ((at & !(PAGE - 1)) + PAGE).min(m.end);
                }
                let len = at - from;
                let bytes = if blank && len > SMALL {
                    None
                } else {
                    // SAFETY: the kernel says that these bytes are mapped, and the program, whose
                    // they are, does not run.
                    Some(unsafe { core::slice::from_raw_parts(from as *const u8, len) }.to_vec())
                };
                pieces.push(Piece { start: from, len, bytes, dirty: vec![(0, len)] });
            }
        }
        Snapshot { pieces, faults: -1, pagemap }
    }

    /// Puts it back.
    ///
    /// # Safety
    /// The program does not run, and what was mapped when the snapshot was taken is mapped now.
    pub unsafe fn restore(&mut self) {
        let faults = page_faults();
        if faults != self.faults {
            self.find_dirty();
            self.faults = page_faults();
        }
        for piece in &self.pieces {
            for &(at, len) in &piece.dirty {
                let to = (piece.start + at) as *mut u8;
                // SAFETY: the piece is mapped, and nobody but the program uses it.
                unsafe {
                    match &piece.bytes {
                        Some(bytes) => bytes.as_ptr().add(at).copy_to_nonoverlapping(to, len),
                        None => to.write_bytes(0, len),
                    }
                }
            }
        }
    }

    /// Asks which pages the worker has for itself, because it wrote them.
    fn find_dirty(&mut self) {
        if self.pagemap < 0 {
            return;
        }
        let mut entries = [0_u64; 512];
        for piece in &mut self.pieces {
            piece.dirty.clear();
            let end = piece.start + piece.len;
            let mut page = piece.start & !(PAGE - 1);
            while page < end {
                let n = (end - page).div_ceil(PAGE).min(entries.len());
                let known = sys::read_words(self.pagemap, &mut entries[..n], page / PAGE * 8);
                for &entry in &entries[..n] {
                    if !known || was_written(entry) {
                        piece.add_dirty(page.max(piece.start), (page + PAGE).min(end));
                    }
                    page += PAGE;
                }
            }
        }
    }
}

impl Piece {
    /// The bytes between these addresses have to be put back.
    fn add_dirty(&mut self, from: usize, to: usize) {
        let at = from - self.start;
        match self.dirty.last_mut() {
            Some((a, len)) if *a + *len == at => *len += to - from,
            _ => self.dirty.push((at, to - from)),
        }
    }
}

/// Whether a page may have been written, by its entry in the page map.
fn was_written(entry: u64) -> bool {
    const EXCLUSIVE: u64 = 1 << 56;
    const FILE: u64 = 1 << 61;
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    // A page of the file itself has not been written either.
    let clean = entry & (PRESENT | SWAPPED) == 0
        || entry & PRESENT != 0 && (entry & EXCLUSIVE == 0 || entry & FILE != 0);
    !clean
}

/// The mappings that belong to the program and that it can change, each with the address from which
/// on; `own` is where this library is, whose variables follow its file without a gap.
fn of_program(own: (usize, usize), arguments: usize) -> Vec<(usize, Mapping)> {
    let mut found = Vec::new();
    let mut own_end = own.1;
    for m in mappings() {
        let is_own = m.start >= own.0 && m.start < own.1;
        // The library's variables without initial value follow its file, without a name.
        let own_rest = m.start == own_end && m.path.is_empty();
        if own_rest {
            own_end = m.end;
        }
        let reserved = (arena::BASE..blocks::END).contains(&m.start);
        if !m.writable || !m.private || is_own || own_rest || reserved {
            continue;
        }
        if m.path == "[stack]" {
            // Only what the kernel put there: arguments and environment. The rest is the worker's
            // own stack.
            found.push((arguments.max(m.start), m));
        } else if !m.path.starts_with("[v") {
            found.push((m.start, m));
        }
    }
    found
}

/// Whether a page of memory without a file was never touched.
fn untouched(pagemap: i32, addr: usize) -> bool {
    let mut entry = [u64::MAX];
    pagemap >= 0 && sys::read_words(pagemap, &mut entry, addr / PAGE * 8) && entry[0] >> 62 == 0
}

/// How many pages were touched for the first time, or written for the first time, so far.
fn page_faults() -> i64 {
    // SAFETY: rusage is plain numbers, and the kernel writes only it.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        sys::call(libc::SYS_getrusage, [0, &raw mut usage as usize, 0, 0, 0, 0]);
        usage.ru_minflt + usage.ru_majflt
    }
}

const _: () = assert!(
    arena::BASE + arena::SIZE < coroutine::STACKS
        && coroutine::STACKS + MOST_THREADS * coroutine::STRIDE <= blocks::HEAPS
);
