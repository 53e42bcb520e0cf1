//! Memory that the program maps itself: unmapped after each execution.

use core::ffi::c_void;

use weakspot_live::OpKind;

use crate::Rt;
use crate::entry::frame::{entry, stand_in};
use crate::entry::guest::Area;
use crate::entry::native::native;
use crate::memory::heap;
use crate::schedule::turns::{empty_all_buffers, step};
use crate::sys;

const PAGE: usize = 4096;

/// What the program has mapped in this execution: address and length.
pub struct Mappings(Vec<(usize, usize)>);

impl Mappings {
    /// Nothing.
    pub fn new() -> Mappings {
        Mappings(Vec::new())
    }

    /// Whether all of these bytes were mapped in this execution.
    pub fn holds(&self, addr: usize, len: usize) -> bool {
        let end = addr.saturating_add(len);
        self.0.iter().any(|m| m.0 <= addr && end <= m.0 + m.1.next_multiple_of(PAGE))
    }

    /// Unmaps what the execution has mapped. What it unmapped itself is in use by nobody else.
    pub fn restore(&mut self) {
        while let Some((addr, len)) = self.0.pop() {
            // SAFETY: the execution that has mapped this is over.
            unsafe { sys::call(libc::SYS_munmap, [addr, len, 0, 0, 0, 0]) };
        }
    }
}

/// Before there is libc's own function, so the kernel is asked in any case.
extern "C" fn map(addr: usize, len: usize, prot: i32, flags: i32, fd: i32, offset: usize) -> isize {
    // SAFETY: entered from the program, see `Rt::live`.
    let mut rt = unsafe { Rt::live() };
    if let Some(rt) = &mut rt
        && flags & libc::MAP_NORESERVE == 0
        && prot != libc::PROT_NONE
    {
        let pc = rt.pc();
        heap::count(rt, len, pc);
    }
    let args = [addr, len, prot as usize, flags as usize, fd as usize, offset];
    // SAFETY: the program asks for this, with addresses of its own.
    let got = unsafe { sys::call(libc::SYS_mmap, args) };
    if let Some(rt) = &mut rt
        && !(-4095..0).contains(&got)
    {
        rt.mappings.0.push((got as usize, len));
        // Another thread may have unmapped what was there.
        rt.new_for_races(got as usize, len);
        rt.owners.forget(got as usize, len);
        if flags & libc::MAP_SHARED != 0 && flags & libc::MAP_ANONYMOUS == 0 {
            // What is written there is in a file, and stays.
            let pc = rt.pc();
            rt.unsupported("mmap-shared-file", pc);
        }
    }
    sys::to_c(got)
}

/// Bytes are about to be unmapped, or protected: a step like an update of those that other threads have touched. Their stores
/// have reached memory by then, because the kernel interrupts them.
fn about_to_go(rt: &mut Rt, addr: usize, len: usize) {
    if rt.threads.alone() || len == 0 {
        return;
    }
    // SAFETY: the program says that it has these bytes, and none of them are looked at here.
    let area = |from: usize, to: usize| unsafe { Area::at(from, to - from) };
    let all = area(addr, addr.saturating_add(len));
    let me = rt.threads.current();
    let touched = rt.shadow.free(me, all);
    let all = match touched {
        _ if !rt.config.filter || rt.has_buffered(all) => all,
        None => return,
        Some((from, to, news)) => {
            if news {
                rt.learn(from, to - from);
            }
            area(from, to)
        }
    };
    let buffered = rt.stores_are_buffered();
    loop {
        if buffered {
            empty_all_buffers(rt);
        }
        step(rt, all.op(OpKind::Update));
        // Others may have stored in between.
        if rt.threads.buffers_are_empty() {
            return;
        }
    }
}

stand_in! {
    fn munmap(rt, addr: usize, len: usize) -> i32 {
        about_to_go(rt, addr, len);
        if !rt.mappings.holds(addr, len) {
            // It was there before `main`.
            rt.outside.soil();
        }
        native!(munmap(addr: usize, len: usize) -> i32)
    }

    fn mprotect(rt, addr: usize, len: usize, prot: i32) -> i32 {
        about_to_go(rt, addr, len);
        if !rt.mappings.holds(addr, len) {
            rt.outside.soil();
        }
        native!(mprotect(addr: usize, len: usize, prot: i32) -> i32)
    }

    fn mremap(rt, old: usize, len: usize, new: usize, flags: i32, to: usize) -> *mut c_void {
        about_to_go(rt, old, len);
        let got = native!(mremap(old: usize, len: usize, new: usize, flags: i32, to: usize) -> *mut c_void);
        if got != libc::MAP_FAILED {
            rt.mappings.0.push((got as usize, new));
        }
        got
    }
}

entry! {
    mmap => map;
    mmap64 => map;
}
