//! Files that an execution opens and does not close are closed after it, and files that were open
//! before are put back to where they were.

use std::fs;

use crate::memory::arena::on_behalf_of_runtime;
use crate::sys;
use crate::world::handlers::Handlers;

/// What the program has changed in the kernel.
pub struct Outside {
    /// The execution has left something there: the next one needs a new process.
    soiled: bool,
    /// The lowest number of a descriptor that was free before `main`.
    first_free: i32,
    /// What was told about signals, which can be put back.
    pub handlers: Handlers,
}

impl Outside {
    /// Nothing.
    pub fn new() -> Outside {
        Outside { soiled: false, first_free: 0, handlers: Handlers::new() }
    }

    /// Before the first execution of a worker.
    pub fn begin(&mut self, descriptors: &Descriptors) {
        self.soiled = false;
        self.first_free = descriptors.free;
    }

    /// The execution leaves something that cannot be put back.
    pub fn soil(&mut self) {
        self.soiled = true;
    }

    /// Whether the execution has left something that cannot be put back.
    pub fn soiled(&self) -> bool {
        self.soiled
    }

    /// Whether the program may close this descriptor: not if it is one of ours. One from before
    /// `main` cannot be put back.
    pub fn may_change(&mut self, fd: i32) -> bool {
        self.soiled |= fd < self.first_free;
        fd < FAR
    }
}

/// The descriptors that were open before `main`.
pub struct Descriptors {
    open: Vec<i32>,
    /// The lowest number that was free: the first file that is opened gets it.
    free: i32,
    /// Those that can be put back, and where they were.
    places: Vec<(i32, i64)>,
}

/// Descriptors from this one on are not those of the program.
pub const FAR: i32 = 900;

/// Whether this is a file, which outlives an execution.
pub fn is_file(fd: i32) -> bool {
    fd > 2 && kind(fd) == Some(libc::S_IFREG)
}

/// The kind of file that a descriptor stands for.
fn kind(fd: i32) -> Option<u32> {
    // SAFETY: a stat record is plain numbers, and the kernel writes only it.
    unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        let args = [fd as usize, &raw mut stat as usize, 0, 0, 0, 0];
        (sys::call(libc::SYS_fstat, args) >= 0).then_some(stat.st_mode & libc::S_IFMT)
    }
}

/// Whether a call on this descriptor may have to wait for somebody: it is a pipe, a socket, or
/// something without a name, and is in blocking mode.
pub fn blocks(fd: i32) -> bool {
    // What tests print is written in many small parts, so the kernel is not asked about that.
    fd > 2 && matches!(kind(fd), Some(libc::S_IFIFO | libc::S_IFSOCK | 0)) && sys::waits(fd)
}

fn all() -> Vec<i32> {
    // What libc allocates for that must not move the program's own blocks.
    let numbers = on_behalf_of_runtime(|| -> Vec<i32> {
        let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
        entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
    });
    // The folder itself was open while it was read.
    numbers.into_iter().filter(|&fd| sys::is_open(fd)).collect()
}

impl Descriptors {
    /// What is open now; `report` is none of the program's business.
    pub fn now(report: i32) -> Descriptors {
        let open = all();
        let free = (0..).find(|fd| !open.contains(fd)).unwrap_or(i32::MAX);
        let place = |&fd: &i32| {
            let at = sys::seek(fd, 0, libc::SEEK_CUR);
            (fd != report && at >= 0).then_some((fd, at))
        };
        let places = open.iter().filter(|&&fd| fd <= 2).filter_map(place).collect();
        Descriptors { open, free, places }
    }

    /// Puts things back.
    pub fn restore(&self) {
        for &(fd, at) in &self.places {
            sys::seek(fd, at, libc::SEEK_SET);
        }
        if sys::is_open(self.free) {
            for fd in all() {
                if !self.open.contains(&fd) {
                    sys::close(fd);
                }
            }
        }
    }
}
