//! Files that an execution opens and does not close are closed after it, and files that were open
//! before are put back to where they were.

use std::fs;

use crate::memory::heap;
use crate::sys;

/// The descriptors that were open before `main`.
pub struct Descriptors {
    open: Vec<i32>,
    /// The lowest number that was free: the first file that is opened gets it.
    pub free: i32,
    /// Those that can be put back, and where they were.
    places: Vec<(i32, i64)>,
}

/// Descriptors from this one on are not those of the program.
pub const FAR: i32 = 900;

/// Whether a call on this descriptor may have to wait for somebody: it is a pipe, a socket, or
/// something without a name, and was not told not to wait.
pub fn blocks(fd: i32) -> bool {
    const TYPE: u32 = libc::S_IFMT;
    if fd <= 2 {
        return false;
    }
    // SAFETY: a stat record is plain numbers, and the kernel writes only it.
    let kind = unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        let args = [fd as usize, &raw mut stat as usize, 0, 0, 0, 0];
        if sys::call(libc::SYS_fstat, args) < 0 {
            return false;
        }
        stat.st_mode & TYPE
    };
    let flags = call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize, 0]);
    matches!(kind, libc::S_IFIFO | libc::S_IFSOCK | 0) && flags & libc::O_NONBLOCK as isize == 0
}

fn call(number: i64, args: [usize; 3]) -> isize {
    // SAFETY: only for calls that touch no memory.
    unsafe { sys::call(number, [args[0], args[1], args[2], 0, 0, 0]) }
}

fn is_open(fd: i32) -> bool {
    call(libc::SYS_fcntl, [fd as usize, libc::F_GETFD as usize, 0]) >= 0
}

fn all() -> Vec<i32> {
    // What libc allocates for that must not move the program's own blocks.
    let numbers = heap::on_behalf_of_runtime(|| -> Vec<i32> {
        let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
        entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
    });
    // The folder itself was open while it was read.
    numbers.into_iter().filter(|&fd| is_open(fd)).collect()
}

impl Descriptors {
    /// What is open now; `report` is none of the program's business.
    pub fn now(report: i32) -> Descriptors {
        let open = all();
        let free = (0..).find(|fd| !open.contains(fd)).unwrap_or(i32::MAX);
        let place = |&fd: &i32| {
            let at = call(libc::SYS_lseek, [fd as usize, 0, libc::SEEK_CUR as usize]);
            (fd != report && at >= 0).then_some((fd, at as i64))
        };
        let places = open.iter().filter(|&&fd| fd <= 2).filter_map(place).collect();
        Descriptors { open, free, places }
    }

    /// Puts things back.
    pub fn restore(&self) {
        for &(fd, at) in &self.places {
            call(libc::SYS_lseek, [fd as usize, at as usize, libc::SEEK_SET as usize]);
        }
        if is_open(self.free) {
            for fd in all() {
                if !self.open.contains(&fd) {
                    call(libc::SYS_close, [fd as usize, 0, 0]);
                }
            }
        }
    }
}
