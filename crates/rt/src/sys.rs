//! System calls without libc: what the library asks of the kernel must not go through functions
//! that it replaces itself.

use core::arch::asm;
use core::ffi::CStr;

/// A system call with up to six arguments; the kernel's answer, negative for errors.
///
/// # Safety
/// The arguments have to be what the call with this number expects, and memory that the kernel
/// writes for it must not be borrowed by anybody.
pub unsafe fn call(number: i64, args: [usize; 6]) -> isize {
    let answer;
    // SAFETY: the instruction changes rax, rcx and r11, and the memory that the caller vouches for.
    unsafe {
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
    }
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

/// Gives pages back to the system, which are zero when they are touched again.
///
/// # Safety
/// They are anonymous memory that nobody borrows and that may become zero.
pub unsafe fn give_back(from: usize, len: usize) {
    // SAFETY: as the caller says.
    unsafe { call(libc::SYS_madvise, [from, len, libc::MADV_DONTNEED as usize, 0, 0, 0]) };
}

/// Writes all of it; gives up on errors, because there is nobody to report them to.
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

/// Reads once; how many bytes.
pub fn read(fd: i32, to: &mut [u8]) -> usize {
    // SAFETY: the kernel writes only `to`.
    let n =
        unsafe { call(libc::SYS_read, [fd as usize, to.as_mut_ptr() as usize, to.len(), 0, 0, 0]) };
    n.max(0) as usize
}

/// Reads words of a file from this offset on; whether all of them were there.
pub fn read_words(fd: i32, to: &mut [u64], offset: usize) -> bool {
    let len = size_of_val(to);
    // SAFETY: the kernel writes only `to`.
    let n = unsafe {
        call(libc::SYS_pread64, [fd as usize, to.as_mut_ptr() as usize, len, offset, 0, 0])
    };
    n == len as isize
}

/// Opens a file that is not passed on to programs that this one starts; negative if there is none.
pub fn open(path: &CStr, flags: i32) -> i32 {
    let flags = (flags | libc::O_CLOEXEC) as usize;
    let (folder, path) = (libc::AT_FDCWD as usize, path.as_ptr() as usize);
    // SAFETY: the kernel only reads the name.
    unsafe { call(libc::SYS_openat, [folder, path, flags, 0o644, 0, 0]) as i32 }
}

/// Closes a descriptor.
pub fn close(fd: i32) {
    on_descriptor(libc::SYS_close, fd, 0, 0);
}

/// Whether a descriptor is open.
pub fn is_open(fd: i32) -> bool {
    on_descriptor(libc::SYS_fcntl, fd, libc::F_GETFD as usize, 0) >= 0
}

/// Whether calls on a descriptor wait until they can be done.
pub fn waits(fd: i32) -> bool {
    let flags = on_descriptor(libc::SYS_fcntl, fd, libc::F_GETFL as usize, 0);
    flags & libc::O_NONBLOCK as isize == 0
}

/// Waits for a while until something can be read, or its end is there; whether it is so.
pub fn is_readable(fd: i32, millis: i64) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let span = libc::timespec { tv_sec: 0, tv_nsec: millis * 1_000_000 };
    let args = [&raw mut poll as usize, 1, &raw const span as usize, 0, 8, 0];
    // SAFETY: the kernel reads `span` and writes `poll`.
    unsafe { call(libc::SYS_ppoll, args) == 1 }
}

/// Moves a descriptor to a number from `lowest` on; negative if there is none.
pub fn move_up(fd: i32, lowest: i32) -> i32 {
    if fd < 0 {
        return fd;
    }
    let command = libc::F_DUPFD_CLOEXEC as usize;
    let copy = on_descriptor(libc::SYS_fcntl, fd, command, lowest as usize);
    close(fd);
    copy as i32
}

/// Makes a descriptor mean the same as another one.
pub fn copy_over(fd: i32, to: i32) {
    on_descriptor(libc::SYS_dup3, fd, to as usize, 0);
}

/// Goes to a place in a file, as `lseek`; where that is, or negative.
pub fn seek(fd: i32, offset: i64, from: i32) -> i64 {
    on_descriptor(libc::SYS_lseek, fd, offset as usize, from as usize) as i64
}

/// One of the calls that take a descriptor and two numbers, and touch no memory: `close`, `dup3`,
/// `lseek`, and `fcntl` with the commands that are used here.
fn on_descriptor(number: i64, fd: i32, a: usize, b: usize) -> isize {
    // SAFETY: the kernel neither reads nor writes memory for them.
    unsafe { call(number, [fd as usize, a, b, 0, 0, 0]) }
}

/// Sends a signal to a process.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: no memory of this process is touched.
    unsafe { call(libc::SYS_kill, [pid as usize, signal as usize, 0, 0, 0, 0]) };
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

/// Sets the error number that the current thread of the program sees.
pub fn set_errno(error: i32) {
    // SAFETY: libc says where the number of the current thread is.
    unsafe { libc::__errno_location().write(error) };
}

/// What C programs get for an answer of the kernel: errors are -1, with their number aside.
pub fn to_c(answer: isize) -> isize {
    if (-4095..0).contains(&answer) {
        set_errno(-answer as i32);
        return -1;
    }
    answer
}
