//! Files that an execution opens and does not close are closed after it, and files that were open
//! before are put back to where they were.

use std::fs;

use crate::{heap, sys};

/// The descriptors that were open before `main`.
pub struct Descriptors {
    open: Vec<i32>,
    /// The lowest number that was free: the first file that is opened gets it.
    free: i32,
    /// Those that can be put back, and where they were.
    places: Vec<(i32, i64)>,
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
