//! Atomic updates that nobody has instrumented, inside of Rust's standard library: each has a trap in
//! the place of its first byte, so that it is announced like any other. Then a copy of the instruction
//! is executed, which goes back to what follows it.
//!
//! The handler runs on the stack of the thread that it interrupts, and may let other threads run before
//! it returns.

use core::ffi::c_void;

use weakspot_live::x86::{self, Update};
use weakspot_live::{Op, OpKind};

use crate::access::plain::Order;
use crate::memory::shadow::Seen;
use crate::runtime::{Runtime, home, live};
use crate::schedule::threads::{Varying, changed, happened, learn, step, step_special};
use crate::sys;

/// An instruction with a trap.
pub struct Trap {
    addr: usize,
    /// Where its copy is.
    copy: usize,
    update: Update,
    /// It is only a fence.
    quiet: bool,
}

const INT3: u8 = 0xcc;
/// `jmp [rip]`; the address follows.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
/// Room for an instruction, and a jump.
const ROOM: usize = 32;
const PAGE: usize = 4096;

/// Registers as instructions number them.
const REGISTERS: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Puts traps on the instructions that the configuration names.
pub unsafe fn set(rt: *mut Runtime) {
    let take = |sites: &mut Vec<(u64, u64)>, quiet: bool| {
        core::mem::take(sites).into_iter().map(move |(offset, len)| (offset, len, quiet))
    };
    let config = &mut (*rt).config;
    let mut sites: Vec<(u64, u64, bool)> = take(&mut config.traps, false).collect();
    sites.extend(take(&mut config.quiet_traps, true));
    sites.sort_unstable();
    if sites.is_empty() {
        return;
    }
    let base = crate::access::marks::program(rt);
    let space = sites.len() * ROOM;
    let Some(room) = near(base, space) else { return };
    for (i, (offset, len, quiet)) in sites.into_iter().enumerate() {
        let addr = base.wrapping_add(offset as usize);
        let bytes = core::slice::from_raw_parts(addr as *const u8, len as usize);
        let Some(update) = x86::update(bytes) else { continue };
        let copy = room + i * ROOM;
        let mut code = bytes.to_vec();
        if let Some(at) = update.relative {
            // The copy is elsewhere, what it is about is not.
            let end = bytes.len() as i64;
            let moved = update.offset as i64 - end + (addr as i64 - copy as i64);
            let Ok(moved) = i32::try_from(moved) else { continue };
            code[at..at + 4].copy_from_slice(&moved.to_le_bytes());
        }
        code.extend(JUMP);
        code.extend((addr + bytes.len()).to_le_bytes());
        (copy as *mut u8).copy_from_nonoverlapping(code.as_ptr(), code.len());
        (*rt).traps.push(Trap { addr, copy, update, quiet });
    }
    protect(room, space, libc::PROT_READ | libc::PROT_EXEC);
    let writable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let (Some(first), Some(last)) = ((*rt).traps.first(), (*rt).traps.last()) else { return };
    let (from, len) = (first.addr, last.addr + 1 - first.addr);
    if !protect(from, len, writable) {
        (*rt).traps.clear();
        return;
    }
    for trap in &(*rt).traps {
        (trap.addr as *mut u8).write_volatile(INT3);
    }
    protect(from, len, libc::PROT_READ | libc::PROT_EXEC);
}

unsafe fn protect(from: usize, len: usize, rights: i32) -> bool {
    let start = from & !(PAGE - 1);
    sys::call(libc::SYS_mprotect, [start, from + len - start, rights as usize, 0, 0, 0]) == 0
}

/// Memory below the program, so near that relative addresses reach it.
unsafe fn near(program: usize, len: usize) -> Option<usize> {
    const STEP: usize = 1 << 20;
    let len = len.next_multiple_of(PAGE);
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    (1..512)
        .filter_map(|n| program.checked_sub(len + n * STEP))
        .map(|start| start & !(PAGE - 1))
        .find(|&start| sys::map_at(start, len, rights, libc::MAP_PRIVATE))
}

/// Has traps handled in this process.
pub unsafe fn catch(rt: *const Runtime) {
    if (*rt).traps.is_empty() {
        return;
    }
    let mut action: libc::sigaction = core::mem::zeroed();
    action.sa_sigaction = trapped as *const () as usize;
    // Other threads of the program run while the handler waits, and they may come here, too.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
    libc::sigaction(libc::SIGTRAP, &raw const action, core::ptr::null_mut());
}

unsafe extern "C" fn trapped(signal: i32, _info: *mut libc::siginfo_t, context: *mut c_void) {
    let context = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
    let at = context.gregs[libc::REG_RIP as usize] as usize;
    let traps = &(*home()).traps;
    let Ok(found) = traps.binary_search_by_key(&(at.wrapping_sub(1)), |trap| trap.addr) else {
        // The program has traps of its own.
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        return;
    };
    let Trap { copy, update, quiet, .. } = traps[found];
    let rt = live();
    let harness = !rt.is_null() && (*rt).config.harness && (*rt).current == 0;
    if rt.is_null() || harness {
        // Nobody wants to know.
    } else if quiet {
        let fence = Op::plain(OpKind::Fence);
        step(rt, fence);
        happened(rt, (*rt).current, fence, Order::Strong, at, None, None);
    } else {
        announce(rt, &update, &context.gregs, at);
    }
    context.gregs[libc::REG_RIP as usize] = copy as i64;
}

/// Announces an update; returns when it may be done.
unsafe fn announce(rt: *mut Runtime, update: &Update, registers: &[i64; 23], next: usize) {
    let register = |n: usize| registers[REGISTERS[n & 15] as usize] as usize;
    let addr = match (update.relative, update.base) {
        // Relative to the next instruction, where its bytes are counted from the trap.
        (Some(_), _) => update.offset.wrapping_add(next - 1),
        (None, base) => {
            let index = update.index.map_or(0, |(n, times)| register(n).wrapping_mul(times));
            base.map_or(0, register).wrapping_add(index).wrapping_add(update.offset)
        }
    };
    let op = Op { kind: OpKind::Update, len: update.len, addr: addr as u64 };
    let me = (*rt).current;
    if !(*rt).alone
        && (*rt).config.filter
        && (*rt).shadow.touch(me, addr, op.len as usize, true) == Seen::News
    {
        learn(rt, addr, op.len as usize);
    }
    let expected = match op.len {
        _ if !update.compares => None,
        16 => Some(u128::from(register(2) as u64) << 64 | u128::from(register(0) as u64)),
        8 => Some(u128::from(register(0) as u64)),
        len => Some(u128::from(register(0) as u64 & ((1 << (8 * len)) - 1))),
    };
    let varying = expected.map(|expected| Varying::Exchange(addr, op.len, expected));
    step_special(rt, op, varying);
    if expected.is_none_or(|expected| crate::access::plain::bytes(addr, op.len) == expected) {
        changed(rt, me);
        happened(rt, me, op, Order::Strong, next, None, None);
    } else {
        let compare = Op { kind: OpKind::Compare, ..op };
        happened(rt, me, compare, Order::Strong, next, None, None);
    }
}
