//! Random programs, and smaller ones that are like them.

use weakspot_core::testing::Rng;

use super::{Buffers, Bytes, Instr, System, byte};

/// How large random programs are, and what is in them.
#[derive(Clone, Copy, Debug)]
pub struct SystemSize {
    /// At least 2 threads, at most this many.
    pub threads: usize,
    /// At most this many instructions per thread.
    pub instrs: usize,
    /// At most this many instructions in all.
    pub total: usize,
    /// At most this many bytes of memory.
    pub bytes: u8,
    /// Whether there are locks.
    pub locks: bool,
    /// Whether locks are taken without being freed, and semaphores raised.
    pub semaphores: bool,
    /// Whether threads wait in loops.
    pub loops: bool,
    /// Whether the program may crash.
    pub crashes: bool,
    /// Whether threads are spawned and joined.
    pub spawns: bool,
    /// Whether stores are buffered.
    pub buffers: Buffers,
}

/// A random program.
#[must_use]
pub fn random_system(rng: &mut Rng, size: SystemSize) -> System {
    let count = 2 + rng.below(size.threads - 1);
    let mut left = size.total;
    let mut threads = Vec::new();
    for t in 0..count {
        let most = size.instrs.min(left.saturating_sub(count - 1 - t)).max(1);
        let n = 1 + rng.below(most);
        left = left.saturating_sub(n);
        threads.push(random_code(rng, n, size));
    }
    if size.spawns && rng.one_in(2) {
        let t = 1 + rng.below(count - 1);
        let by = rng.below(t);
        let at = rng.below(threads[by].len() + 1);
        threads[by].insert(at, Instr::Spawn(t as u16));
        if rng.one_in(2) {
            threads[by].push(Instr::Join(t as u16));
        }
    } else if size.spawns && rng.one_in(2) {
        let (by, of) = (rng.below(count), rng.below(count));
        let at = rng.below(threads[by].len() + 1);
        threads[by].insert(at, Instr::Join(of as u16));
    }
    System { threads, buffers: size.buffers, framed: rng.one_in(8) }
}

/// The same program, with every other load or so an attempt on a semaphore that only looks if it fails.
pub fn attempt(system: &mut System, rng: &mut Rng) {
    for instr in system.threads.iter_mut().flatten() {
        if matches!(instr, Instr::Read(_) | Instr::Swap(..)) && rng.one_in(2) {
            *instr = Instr::Try(rng.below(2) as u8);
        }
    }
}

fn random_code(rng: &mut Rng, n: usize, size: SystemSize) -> Vec<Instr> {
    let mut code = Vec::new();
    let mut held = None;
    while code.len() < n {
        let at = random_bytes(rng, size.bytes);
        let value = rng.below(2) as u8;
        let s = rng.below(2) as u8;
        let instr = match rng.below(32) {
            0..8 => Instr::Read(at),
            8..14 => Instr::Write(at, 1 + value),
            14..16 => Instr::WriteLast(at),
            16 => Instr::ReadAt(byte(at.addr.min(size.bytes.saturating_sub(2)))),
            17 => Instr::Add(at, 1),
            18 => Instr::Count(at, 1 + value),
            19..22 => Instr::Swap(at, value, 1 + value),
            22..24 if !code.is_empty() => Instr::If(value, 1),
            24..27 if size.locks => match held.take() {
                Some(s) => Instr::Unlock(s),
                None => {
                    held = Some(s);
                    Instr::Lock(s)
                }
            },
            27 if size.semaphores => Instr::Post(s),
            28 if size.semaphores && value == 0 => Instr::Lock(s),
            28 if size.semaphores => Instr::Try(s),
            29 if size.loops => Instr::Await(at, 1 + value),
            30 if size.crashes => Instr::CrashIf(value),
            31 if size.buffers != Buffers::None => match rng.below(2) {
                0 => Instr::Fence,
                _ => Instr::StoreFence,
            },
            31 => Instr::Yield,
            _ => continue,
        };
        code.push(instr);
    }
    code.extend(held.filter(|_| !size.semaphores).map(Instr::Unlock));
    code
}

fn random_bytes(rng: &mut Rng, bytes: u8) -> Bytes {
    let addr = rng.below(bytes.into()) as u8;
    let len = if rng.one_in(4) { 2.min(bytes - addr) } else { 1 };
    Bytes { addr, len }
}

/// The smallest program that still `fails`, by leaving out instructions one by one.
#[must_use]
pub fn shrink_system(system: &System, fails: &dyn Fn(&System) -> bool) -> System {
    let mut smallest = system.clone();
    'again: loop {
        for t in 0..smallest.threads.len() {
            for at in 0..smallest.threads[t].len() {
                let mut smaller = smallest.clone();
                smaller.threads[t].remove(at);
                if fails(&smaller) {
                    smallest = smaller;
                    continue 'again;
                }
            }
        }
        return smallest;
    }
}
