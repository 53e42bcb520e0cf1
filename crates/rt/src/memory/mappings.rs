//! Memory that the program maps itself: unmapped after each execution.

use core::ffi::c_void;

use crate::entry::frame::{caller, entry};
use crate::entry::native::native;
use crate::memory::heap;
use crate::report;
use crate::runtime::{Runtime, live};
use crate::sys;

unsafe extern "C" fn map(
    addr: usize,
    len: usize,
    prot: i32,
    flags: i32,
    fd: i32,
    offset: usize,
) -> isize {
    let rt = live();
    let args = [addr, len, prot as usize, flags as usize, fd as usize, offset];
    if !rt.is_null() && flags & libc::MAP_NORESERVE == 0 && prot != libc::PROT_NONE {
        heap::count(rt, len, caller());
    }
    let got = sys::call(libc::SYS_mmap, args);
    if (-4095..0).contains(&got) {
        *libc::__errno_location() = -got as i32;
        return -1;
    }
    if !rt.is_null() {
        (*rt).mappings.push((got as usize, len));
        if flags & libc::MAP_SHARED != 0 && flags & libc::MAP_ANONYMOUS == 0 {
            // What is written there is in a file, and stays.
            report::unsupported(rt, "mmap-shared-file", caller());
        }
    }
    got
}

unsafe extern "C" fn unmap(addr: usize, len: usize) -> i32 {
    let rt = live();
    if !rt.is_null() {
        let end = addr.saturating_add(len);
        let known = |m: &(usize, usize)| m.0 <= addr && end <= m.0 + m.1.next_multiple_of(4096);
        if !(*rt).mappings.iter().any(known) {
            // It was there before `main`.
            (*rt).soiled = true;
        }
    }
    native!(munmap(addr: usize, len: usize) -> i32)
}

unsafe extern "C" fn remap(
    old: usize,
    len: usize,
    new: usize,
    flags: i32,
    to: usize,
) -> *mut c_void {
    let rt = live();
    let got =
        native!(mremap(old: usize, len: usize, new: usize, flags: i32, to: usize) -> *mut c_void);
    if !rt.is_null() && got != libc::MAP_FAILED {
        (*rt).mappings.push((got as usize, new));
    }
    got
}

/// Unmaps what the execution has mapped. What it unmapped itself may be in use by nobody else.
pub unsafe fn restore(rt: *mut Runtime) {
    while let Some((addr, len)) = (*rt).mappings.pop() {
        sys::call(libc::SYS_munmap, [addr, len, 0, 0, 0, 0]);
    }
}

entry! {
    mmap => map;
    mmap64 => map;
    munmap => unmap;
    mremap => remap;
}
