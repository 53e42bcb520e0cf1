//! Atomic updates, fences and some loads that nobody has instrumented, inside of Rust's standard library and in `asm!`, and functions of the
//! library that read what they get: each has a trap in
//! the place of its first byte, so that it is announced like any other. Then a copy of the instruction
//! is executed, which goes back to what follows it.
//!
//! The handler runs on the stack of the thread that it interrupts, and may let other threads run before
//! it returns. A signal costs the kernel two microseconds, so where there is room for it, there is a jump
//! instead of a trap (`traps/jumps.rs`).

mod jumps;

use core::ffi::c_void;

use weakspot_live::wire::BEHIND_FIRST;
use weakspot_live::x86::{self, Fence, Update};
use weakspot_live::{OpKind, Order};

use crate::Rt;
use crate::access::atomics::full;
use crate::access::pending::settle;
use crate::config::Config;
use crate::entry::guest::Area;
use crate::execution::monitors::Event;
use crate::memory::check::check;
use crate::memory::errors::Use;
use crate::schedule::threads::Varying;
use crate::schedule::turns::{step, step_conditional};
use crate::sync::words::{turn_to_free, turn_to_free_mutex, wait_for_mutex};
use crate::sys;

/// Instructions with a trap, by rising address.
pub struct Traps(Vec<Trap>);

/// An instruction with a trap.
struct Trap {
    addr: usize,
    /// Where its copy is.
    copy: usize,
    does: Does,
}

/// What an instruction does, to us.
#[derive(Clone, Copy)]
enum Does {
    Update(Update),
    /// An update whose order nobody can notice: a fence.
    Quiet(Update),
    Fence(Fence),
    /// A load that matters.
    Load(Update),
    /// A function begins that reads so many bytes where its first argument is, or as many as its second one says.
    Reads(u32),
}

impl Does {
    /// `quiet`: the order of an update cannot be noticed.
    fn of(bytes: &[u8], quiet: bool) -> Option<Does> {
        match x86::instruction(bytes)?.fence {
            Some(fence) => Some(Does::Fence(fence)),
            None if quiet => x86::update(bytes).map(Does::Quiet),
            None => {
                x86::update(bytes).map(Does::Update).or_else(|| x86::load(bytes).map(Does::Load))
            }
        }
    }
}

/// A byte for the place of an instruction, and the signal that comes of it.
type Byte = (u8, i32);
/// `int3`.
const TRAP: Byte = (0xcc, libc::SIGTRAP);
/// No instruction. Debuggers need the other one for themselves.
const INVALID: Byte = (0x06, libc::SIGILL);

fn byte(config: &Config) -> Byte {
    if config.stop > 0 { INVALID } else { TRAP }
}

/// `jmp [rip]`; the address follows.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
/// The longest instruction.
const LONGEST: usize = 15;
/// What gets a trap: how far from the beginning of the program, how long the instruction is and whether it is only a fence, if that is
/// known, and how many bytes are read.
type Site = (u64, Option<(u64, bool)>, u32);
/// Room for a call, some instructions, and a jump.
const ROOM: usize = 128;
const PAGE: usize = 4096;

/// Where the kernel keeps them.
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

impl Traps {
    /// None.
    pub fn new() -> Traps {
        Traps(Vec::new())
    }

    /// Puts traps on the instructions that the configuration names, of the program that begins at
    /// `base`.
    ///
    /// # Safety
    /// The configuration names whole instructions of this program, and none of them is executed now.
    pub unsafe fn set(&mut self, config: &Config, base: usize) {
        let loud = config.traps.iter().map(|&(offset, len)| (offset, len, false));
        let quiet = config.quiet_traps.iter().map(|&(offset, len)| (offset, len, true));
        let sites = loud.chain(quiet).map(|(offset, len, quiet)| (offset, Some((len, quiet)), 0));
        let reads = config.reads.iter().map(|&(offset, bytes)| (offset, None, bytes as u32));
        let mut sites: Vec<Site> = sites.chain(reads).collect();
        sites.sort_unstable();
        sites.dedup_by_key(|site| site.0);
        if sites.is_empty() {
            return;
        }
        let space = sites.len() * ROOM;
        let Some(room) = near(base, space) else { return };
        let mut patches: Vec<Vec<u8>> = Vec::new();
        for (i, (offset, known, reads)) in sites.into_iter().enumerate() {
            let addr = base.wrapping_add(offset as usize);
            // SAFETY: a function begins there, which has more bytes than any instruction, or others follow.
            let first = || unsafe { core::slice::from_raw_parts(addr as *const u8, LONGEST) };
            let found = known.or_else(|| Some((x86::instruction(first())?.len as u64, false)));
            let Some((len, quiet)) = found else { continue };
            let jump = config.jumps.iter().find(|jump| jump.0 == offset);
            let covered = jump.map_or(len, |jump| jump.1) as usize;
            // SAFETY: the caller says that whole instructions are there.
            let bytes = unsafe { core::slice::from_raw_parts(addr as *const u8, covered) };
            let copy = room + i * ROOM;
            let does = match known {
                Some(_) => Does::of(&bytes[..len as usize], quiet),
                None => Some(Does::Reads(reads)),
            };
            let Some(does) = does else { continue };
            let call = if jump.is_some() { jumps::call(self.0.len()) } else { Vec::new() };
            let Some(mut code) = copied(bytes, addr, copy, call) else { continue };
            code.extend(JUMP);
            code.extend((addr + covered).to_le_bytes());
            if code.len() > ROOM {
                continue;
            }
            // SAFETY: the copy is in memory that was just mapped, and no longer than its place.
            unsafe { (copy as *mut u8).copy_from_nonoverlapping(code.as_ptr(), code.len()) };
            let patch = jump.and_then(|_| jumps::to(addr, copy, covered));
            patches.push(patch.unwrap_or_else(|| vec![byte(config).0]));
            self.0.push(Trap { addr, copy, does });
        }
        protect(room, space, libc::PROT_READ | libc::PROT_EXEC);
        let writable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return };
        let end = last.addr + patches.last().map_or(0, Vec::len);
        let (from, len) = (first.addr, end - first.addr);
        if !protect(from, len, writable) {
            self.0.clear();
            return;
        }
        for (trap, patch) in self.0.iter().zip(&patches) {
            // SAFETY: the pages are writable now, and nobody executes the instructions.
            unsafe {
                (trap.addr as *mut u8).copy_from_nonoverlapping(patch.as_ptr(), patch.len());
            }
        }
        protect(from, len, libc::PROT_READ | libc::PROT_EXEC);
    }

    /// Has traps handled in this process.
    pub fn catch(&self, config: &Config) {
        if self.0.is_empty() {
            return;
        }
        // SAFETY: an action is plain numbers, and the handler returns to what was interrupted.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = trapped as *const () as usize;
            // Other threads of the program run while the handler waits, and they may come here, too.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            libc::sigaction(byte(config).1, &raw const action, core::ptr::null_mut());
        }
    }

    /// The trap before this address.
    fn before(&self, at: usize) -> Option<&Trap> {
        let found = self.0.binary_search_by_key(&(at.wrapping_sub(1)), |trap| trap.addr);
        found.ok().map(|found| &self.0[found])
    }
}

/// Copies of instructions for another place, behind `code`. `None` if one of them cannot be copied.
fn copied(bytes: &[u8], from: usize, to: usize, mut code: Vec<u8>) -> Option<Vec<u8>> {
    let mut at = 0;
    while at < bytes.len() {
        let len = x86::instruction(&bytes[at..])?.len;
        code.extend(x86::moved(&bytes[at..], (from + at) as u64, (to + code.len()) as u64)?);
        at += len;
    }
    Some(code)
}

/// Changes what may be done with pages of code.
fn protect(from: usize, len: usize, rights: i32) -> bool {
    let start = from & !(PAGE - 1);
    let args = [start, from + len - start, rights as usize, 0, 0, 0];
    // SAFETY: code stays readable and executable, so that nobody notices.
    unsafe { sys::call(libc::SYS_mprotect, args) == 0 }
}

/// Memory below the program, so near that relative addresses reach it.
fn near(program: usize, len: usize) -> Option<usize> {
    const STEP: usize = 1 << 20;
    let len = len.next_multiple_of(PAGE);
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    (1..512)
        .filter_map(|n| program.checked_sub(len + n * STEP))
        .map(|start| start & !(PAGE - 1))
        .find(|&start| sys::map_at(start, len, rights, libc::MAP_PRIVATE))
}

extern "C" fn trapped(signal: i32, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes what it will go on with, which is ours until then.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    // Behind the byte; the kernel stays before one that is no instruction.
    let at = registers[libc::REG_RIP as usize] as usize + usize::from(signal == INVALID.1);
    // SAFETY: traps are in code of the program, and the library has no traps of its own.
    let home = unsafe { Rt::home() };
    let Some(Trap { copy, does, .. }) = home.as_ref().and_then(|rt| rt.traps.before(at)) else {
        // The program has traps of its own.
        // SAFETY: it gets what it would have got without us.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        sys::kill(std::process::id() as i32, signal);
        return;
    };
    let (copy, does) = (*copy, *does);
    let of = |n: i32| registers[n as usize] as usize;
    reached(does, &REGISTERS.map(of), at);
    registers[libc::REG_RIP as usize] = copy as i64;
}

/// The program comes to a jump that stands for an instruction.
fn jumped(index: usize, registers: &Registers) {
    // SAFETY: jumps are in code of the program.
    let home = unsafe { Rt::home() };
    if let Some(Trap { addr, does, .. }) = home.as_ref().and_then(|rt| rt.traps.0.get(index)) {
        let (at, does) = (addr + 1, *does);
        reached(does, registers, at);
    }
}

/// Registers as instructions number them.
type Registers = [usize; 16];

/// The program is about to execute an instruction, the first byte of which is before `at`.
fn reached(does: Does, registers: &Registers, at: usize) {
    // SAFETY: entered from the program by a trap or a jump, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { return };
    let rt = &mut rt;
    // What the harness of a test does is not explored.
    if rt.config.harness && rt.threads.current() == 0 {
        return;
    }
    rt.threads.me_mut().interrupted = true;
    match does {
        Does::Update(update) => announce(rt, &update, registers, at),
        Does::Quiet(update) => {
            let addr = address(&update, registers, at);
            if rt.heap.blocks.hold(addr) {
                rt.heap.blocks.quieten(addr);
            }
            full(rt, OpKind::Fence, Order::SeqCst, at);
        }
        Does::Fence(Fence::Full) => full(rt, OpKind::Fence, Order::SeqCst, at),
        Does::Fence(Fence::Stores) => full(rt, OpKind::StoreFence, Order::Release, at),
        Does::Load(load) => {
            let addr = address(&load, registers, at);
            // SAFETY: the instruction is about to read these bytes.
            let area = unsafe { Area::at(addr, load.len as usize) };
            // Only who waits for a condition variable has one.
            rt.words.add_condition(area.addr());
            rt.touch_by_step(area, false);
            step(rt, area.op(OpKind::Read));
            check(rt, area, Use::Read, at);
            let event = Event::new(area.op(OpKind::Read), Order::Relaxed, at);
            rt.record(event.with(area.bits() as u64, None));
        }
        Does::Reads(len) => {
            const FIRST: usize = 7;
            const SECOND: usize = 6;
            const THIRD: usize = 2;
            let (start, len) = match u64::from(len) {
                0 => (registers[FIRST], registers[SECOND]),
                BEHIND_FIRST => (registers[SECOND], registers[THIRD]),
                _ => (registers[FIRST], len as usize),
            };
            // SAFETY: the function is about to read these bytes.
            let area = unsafe { Area::at(start, len) };
            if len > 0 && rt.notices_read(area) {
                settle(rt);
                step(rt, area.op(OpKind::Read));
                check(rt, area, Use::Read, at);
                let event = Event::new(area.op(OpKind::Read), Order::Plain, at);
                rt.record(event.with(area.value(), None));
            }
        }
    }
    rt.threads.me_mut().interrupted = false;
}

/// What an instruction updates, the first byte of which is before `next`.
fn address(update: &Update, registers: &Registers, next: usize) -> usize {
    let register = |n: usize| registers[n & 15];
    match (update.relative, update.base) {
        // Relative to the next instruction, where its bytes are counted from the trap.
        (Some(_), _) => update.offset.wrapping_add(next - 1),
        (None, base) => {
            let index = update.index.map_or(0, |(n, times)| register(n).wrapping_mul(times));
            base.map_or(0, register).wrapping_add(index).wrapping_add(update.offset)
        }
    }
}

/// Announces an update; returns when it may be done.
fn announce(rt: &mut Rt, update: &Update, registers: &Registers, next: usize) {
    let register = |n: usize| registers[n & 15];
    let addr = address(update, registers, next);
    // SAFETY: the instruction is about to update these bytes.
    let area = unsafe { Area::at(addr, update.len as usize) };
    rt.touch_by_step(area, true);
    let expected = match update.len {
        _ if !update.compares => None,
        16 => Some(u128::from(register(2) as u64) << 64 | u128::from(register(0) as u64)),
        8 => Some(u128::from(register(0) as u64)),
        len => Some(u128::from(register(0) as u64 & ((1 << (8 * len)) - 1))),
    };
    let mut known = true;
    if expected == Some(0) && rt.locks.hold(next) {
        wait_for_mutex(rt, area, None);
    } else if expected.is_none() && rt.unlocks.hold(next) {
        turn_to_free_mutex(rt, area);
    } else if expected.is_none() && rt.rwlocks.hold(next) {
        turn_to_free(rt, area);
    } else if rt.counts.hold(next) {
        // Nobody notices in which order.
    } else {
        known = false;
        if rt.parks.hold(next) {
            rt.words.add_parker(area.addr());
        }
        let varying = match expected {
            Some(expected) => Some(Varying::Exchange(area, expected)),
            None => rt.waking(area),
        };
        step_conditional(rt, area.op(OpKind::Update), varying);
        rt.updated_word(area);
    }
    check(rt, area, Use::Write, next);
    if expected.is_none_or(|expected| area.bits() == expected) {
        let spin = &mut rt.threads.me_mut().spin;
        if !known {
            spin.stored();
        }
        spin.undone.follows(area);
        rt.record(Event::new(area.op(OpKind::Update), Order::SeqCst, next));
    } else {
        rt.threads.me_mut().spin.undone.nothing();
        rt.record(Event::new(area.op(OpKind::Compare), Order::SeqCst, next));
    }
}
