//! System calls without libc: what the library asks of the kernel must not go through functions
//! that it replaces itself.

use core::arch::asm;

/// A system call with up to six arguments; the kernel's answer, negative for errors.
///
/// # Safety
/// The arguments have to be what the call with this number expects.
pub unsafe fn call(number: i64, args: [usize; 6]) -> isize {
    let answer;
    asm!(
        "syscall",
        inlateout("rax") number as isize => answer,
        in("rdi") args[0],
        in("rsi") args[1],
        in("rdx") args[2],
        in("r10") args[3],
        in("r8") args[4],
        in("r9") args[5],
        lateout("rcx") _,
        lateout("r11") _,
        options(nostack),
    );
    answer
}

/// Maps anonymous memory at exactly this address, or nowhere.
pub fn map_at(addr: usize, len: usize, prot: i32, flags: i32) -> bool {
    let flags = flags | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: MAP_FIXED_NOREPLACE leaves all memory that is in use as it is.
    let got =
        unsafe { call(libc::SYS_mmap, [addr, len, prot as usize, flags as usize, usize::MAX, 0]) };
    got == addr as isize
}

/// Writes all of it; gives up on errors, because there is nobody to tell.
pub fn write_all(fd: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the kernel only reads `bytes`.
        let n = unsafe {
            call(libc::SYS_write, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0])
        };
        match n {
            n if n > 0 => bytes = bytes.get(n as usize..).unwrap_or(&[]),
            n if n == -(libc::EINTR as isize) => {}
            _ => return,
        }
    }
}

/// Ends the process at once.
pub fn quit(code: i32) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Nanoseconds of a clock.
pub fn nanoseconds(clock: i32) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes only `t`.
    unsafe { call(libc::SYS_clock_gettime, [clock as usize, &raw mut t as usize, 0, 0, 0, 0]) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
