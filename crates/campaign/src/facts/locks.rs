//! Where locks of Rust's standard library are taken and freed: the first attempt to take one is inlined into
//! the program and instrumented with it, or is in the standard library and has a trap. The runtime library is told,
//! so that it lets threads wait there until the lock is free. Other places of atomic operations that it knows more about are found
//! with these: where references are counted, and additions whose results nobody uses.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use addr2line::Loader;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, SymbolKind};
use object::{RelocationTarget, read::elf::ElfFile64};
use weakspot_live::x86::{Flow, instruction};

use crate::Result;
use crate::facts::symbols::unread;
use crate::facts::unseen::is_library;
use crate::facts::unused::is_unused;

/// Places in a program: how far from its beginning, and how many bytes it is from there to where a call returns to,
/// or one byte for an instruction with a trap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// Where mutexes are taken.
    pub locks: Vec<(u64, u64)>,
    /// Where they are freed.
    pub unlocks: Vec<(u64, u64)>,
    /// Where read-write locks are taken and freed.
    pub rwlocks: Vec<(u64, u64)>,
    /// Where threads try to take one for reading.
    pub tries: Vec<(u64, u64)>,
    /// Where the threads of a scope are counted, of which only the end of the last one is noticed.
    pub counts: Vec<(u64, u64)>,
    /// Where references are counted: who drops one is told whether it was the last.
    pub references: Vec<(u64, u64)>,
    /// Where threads begin to park.
    pub parks: Vec<(u64, u64)>,
    /// Additions of the program itself whose results nobody uses.
    pub unused: Vec<(u64, u64)>,
}

/// What compilers call for what is done with the words of locks.
const ANNOUNCED: [&str; 3] =
    ["__tsan_atomic32_load", "__tsan_atomic32_compare_exchange_val", "__tsan_atomic32_exchange"];
/// Functions that compilers call for atomic additions and subtractions.
const ADDITIONS: [&str; 8] = [
    "__tsan_atomic8_fetch_add",
    "__tsan_atomic8_fetch_sub",
    "__tsan_atomic16_fetch_add",
    "__tsan_atomic16_fetch_sub",
    "__tsan_atomic32_fetch_add",
    "__tsan_atomic32_fetch_sub",
    "__tsan_atomic64_fetch_add",
    "__tsan_atomic64_fetch_sub",
];
const MUTEX: &str = "std::sys::sync::mutex::futex::Mutex::";
const RWLOCK: &str = "std::sys::sync::rwlock::futex::RwLock::";
const PARKER: &str = "std::sys::sync::thread_parking::futex::Parker::";
const SCOPE: &str = "std::thread::scoped::ScopeData::";
/// How methods end that count references, and what they are of.
const REFERENCES: [(&str, &[&str]); 3] = [
    ("alloc::sync::Arc<", &[" as core::clone::Clone::clone", " as core::ops::drop::Drop::drop"]),
    ("alloc::sync::Weak<", &[" as core::clone::Clone::clone", " as core::ops::drop::Drop::drop"]),
    ("std::sync::mpmc::counter::", &["::acquire", "::release"]),
];

impl Locks {
    /// Those of a program, which has these instructions with traps. None if there is no debug information.
    pub(crate) fn of(program: &Path, traps: &[(u64, u64)]) -> Result<Locks> {
        let bytes = std::fs::read(program).map_err(unread(program))?;
        let file = ElfFile64::<object::Endianness>::parse(&*bytes).map_err(unread(program))?;
        let base = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
        let Ok(loader) = Loader::new(program) else { return Ok(Locks::default()) };
        let calls = calls(&file);
        let calls = calls.into_iter().map(|c| (c.address, c.address - base, c.len, c.unused));
        let traps = traps.iter().map(|&(offset, _)| (base + offset, offset, 1, false));
        let mut found = Locks::default();
        for (address, offset, len, unused) in calls.chain(traps) {
            let Some(method) = method(&loader, address) else { continue };
            let of = |kind: &str| method.strip_prefix(kind);
            let sites = match (of(MUTEX), of(RWLOCK), of(SCOPE)) {
                (Some("lock"), ..) => &mut found.locks,
                (Some("unlock"), ..) => &mut found.unlocks,
                (_, Some("read" | "write" | "read_unlock" | "write_unlock"), _) => {
                    &mut found.rwlocks
                }
                (_, Some("try_read"), _) => &mut found.tries,
                (.., Some("increment_num_running_threads" | "decrement_num_running_threads")) => {
                    &mut found.counts
                }
                _ if counts_references(&method) => &mut found.references,
                _ if method.strip_prefix(PARKER).is_some_and(|m| m.starts_with("park")) => {
                    &mut found.parks
                }
                // What the standard library adds to may be a word that threads wait for.
                _ if unused && !is_library(method.trim_start_matches('&')) => &mut found.unused,
                _ => continue,
            };
            sites.push((offset, len));
        }
        let Locks { locks, unlocks, rwlocks, tries, counts, references, parks, unused } =
            &mut found;
        for sites in [locks, unlocks, rwlocks, tries, counts, references, parks, unused] {
            sites.sort_unstable();
            sites.dedup();
        }
        Ok(found)
    }
}

/// Whether a method takes or drops a reference.
fn counts_references(method: &str) -> bool {
    // Functions that are passed to a method have their types behind its name.
    let method = match method.find("::release::<") {
        Some(at) => &method[..at + "::release".len()],
        None => method,
    };
    REFERENCES.iter().any(|(kind, ends)| {
        method.starts_with(kind) && ends.iter().any(|end| method.ends_with(end))
    })
}

/// The function that an instruction belongs to in the source, without those of atomics that were inlined into it.
fn method(loader: &Loader, address: u64) -> Option<String> {
    let mut frames = loader.find_frames(address).ok()?;
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function?.demangle().ok()?.into_owned();
        let name = name.trim_start_matches('<');
        if !name.starts_with("core::sync::atomic::") {
            // Compilers differ in whether they write `<Mutex>::lock`.
            return Some(name.replace(">::", "::"));
        }
    }
    None
}

/// A call of a function that announces an update of a word.
struct Call {
    address: u64,
    len: u64,
    /// It is an addition, whose result nobody uses.
    unused: bool,
}

/// All of them.
fn calls(file: &ElfFile64<'_>) -> Vec<Call> {
    let slots = slots(file);
    let begins = begins(file);
    let is_function = |at: u64| slots.stubs.contains_key(&at) || begins.contains(&at);
    let mut found = Vec::new();
    for symbol in file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0) {
        let section = symbol.section_index().and_then(|i| file.section_by_index(i).ok());
        let code = section.and_then(|s| s.data_range(symbol.address(), symbol.size()).ok());
        let Some(code) = code.flatten() else { continue };
        let mut at = 0;
        while let Some(next) = instruction(&code[at..]) {
            let here = symbol.address() + at as u64;
            let after = here + next.len as u64;
            let slot = match next.flow {
                // By way of a jump through the slot.
                Flow::Call(Some(far)) => {
                    let stub = after.wrapping_add_signed(far.into());
                    slots.stubs.get(&stub).copied()
                }
                Flow::Call(None) => through(&code[at..at + next.len], 0x15, after),
                _ => None,
            };
            let adds = slot.is_some_and(|slot| slots.additions.contains(&slot));
            if adds || slot.is_some_and(|slot| slots.announced.contains(&slot)) {
                let unused = adds && is_unused((code, symbol.address()), after, is_function);
                found.push(Call { address: here, len: next.len as u64, unused });
            }
            at += next.len;
        }
    }
    found
}

/// Where functions begin. Parts of one that are elsewhere have a symbol, too.
fn begins(file: &ElfFile64<'_>) -> HashSet<u64> {
    let functions = file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0);
    let whole = functions.filter(|s| s.name().is_ok_and(|name| !name.contains(".cold")));
    whole.map(|symbol| symbol.address()).collect()
}

/// How a program calls functions of other files.
struct Slots {
    /// Where it keeps the addresses of those that announce what is done with words of locks.
    announced: Vec<u64>,
    /// Where it keeps the addresses of those that announce additions.
    additions: Vec<u64>,
    /// Small pieces of code that jump to what a slot holds.
    stubs: HashMap<u64, u64>,
}

fn slots(file: &ElfFile64<'_>) -> Slots {
    let (mut announced, mut additions) = (Vec::new(), Vec::new());
    let symbols = file.dynamic_symbol_table();
    for (slot, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let symbol = symbols.as_ref().and_then(|all| all.symbol_by_index(index).ok());
        match symbol.and_then(|symbol| symbol.name().ok()) {
            Some(name) if ANNOUNCED.contains(&name) => announced.push(slot),
            Some(name) if ADDITIONS.contains(&name) => additions.push(slot),
            _ => {}
        }
    }
    let mut stubs = HashMap::new();
    for section in file.sections() {
        if !section.name().is_ok_and(|name| name.starts_with(".plt")) {
            continue;
        }
        let Ok(code) = section.data() else { continue };
        // Each has 16 bytes, or 8, and may begin with a mark.
        for at in (0..code.len()).step_by(8) {
            let stub = section.address() + at as u64;
            let mark = if code[at..].starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 };
            let jump = &code[at + mark..];
            let after = stub + mark as u64 + 6;
            if let Some(slot) = through(jump.get(..6).unwrap_or(&[]), 0x25, after) {
                stubs.insert(stub, slot);
            }
        }
    }
    Slots { announced, additions, stubs }
}

/// The slot through which an instruction goes: a call (0x15) or a jump (0x25), relative to what is behind it.
fn through(code: &[u8], kind: u8, after: u64) -> Option<u64> {
    match *code {
        [0xff, how, a, b, c, d] if how == kind => {
            let far = i32::from_le_bytes([a, b, c, d]);
            Some(after.wrapping_add_signed(far.into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{counts_references, through};

    #[test]
    fn which_methods_count_references() {
        let channel = "std::sync::mpmc::counter::Sender<std::sync::mpmc::list::Channel<i32>>";
        for (method, expected) in [
            ("alloc::sync::Arc<i32> as core::clone::Clone::clone", true),
            ("alloc::sync::Arc<dyn Fn()> as core::ops::drop::Drop::drop", true),
            ("alloc::sync::Weak<i32> as core::ops::drop::Drop::drop", true),
            (&format!("{channel}::acquire"), true),
            (
                &format!("{channel}::release::<<X as core::ops::drop::Drop>::drop::{{closure#0}}>"),
                true,
            ),
            ("alloc::sync::Weak<i32>::upgrade", false),
            ("alloc::sync::Arc<i32>::try_unwrap", false),
            ("alloc::sync::Arc<i32>::is_unique", false),
            ("mine::Arc<i32> as core::clone::Clone::clone", false),
        ] {
            assert_eq!(counts_references(method), expected, "{method}");
        }
    }

    #[test]
    fn slots_are_relative_to_the_next_instruction() {
        assert_eq!(through(&[0xff, 0x15, 0x10, 0, 0, 0], 0x15, 0x1006), Some(0x1016));
        assert_eq!(through(&[0xff, 0x25, 0xf0, 0xff, 0xff, 0xff], 0x25, 0x1006), Some(0xff6));
        assert_eq!(through(&[0xff, 0x25, 0x10, 0, 0, 0], 0x15, 0x1006), None);
        assert_eq!(through(&[0xff, 0x15], 0x15, 0x1006), None);
    }
}
