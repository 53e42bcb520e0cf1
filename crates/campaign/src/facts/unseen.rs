//! Atomic updates and fences that are not instrumented: those inside of Rust's standard library, which
//! comes compiled, and in `asm!`. They are found in the program, and the runtime library puts a trap on
//! each.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use weakspot_live::wire::BEHIND_FIRST;
use weakspot_live::x86::{Flow, Instruction, Update, instruction, load, moved};

use crate::Result;
use crate::facts::symbols::unread;

/// Functions that begin with one of these do what other threads are meant to notice.
const SYNCHRONIZES: [&str; 7] = [
    "std::sync::",
    "std::sys::sync::",
    "std::thread::functions::",
    "std::thread::scoped::",
    "std::thread::thread::",
    "std::env::",
    "std::sys::env::",
];

/// What these do is part of the harness, or of starting and ending a thread, which are fences anyway.
const SKIPPED: [&str; 11] = [
    "test::",
    "std::thread::lifecycle",
    "std::thread::spawnhook",
    "std::thread::id",
    "std::sys::thread::",
    "std::sys::pal::",
    "std::panicking",
    "std::rt::",
    "std::backtrace_rs::",
    "gimli::",
    "addr2line::",
];

/// What a function is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Synchronizes,
    /// Its updates are fences, whose order does not matter.
    Quiet,
    Skipped,
}

fn kind(function: &str) -> Role {
    // Methods are told as `<std::sync::Barrier>::wait`, or `<X as Trait>::f`.
    let name = function.trim_start_matches(['<', '&']);
    if SKIPPED.iter().any(|part| name.starts_with(part)) || name.contains("<test::") {
        return Role::Skipped;
    }
    // References are counted there, too, which nobody can notice.
    let counts = name.contains("alloc::sync::Arc<");
    if !counts && SYNCHRONIZES.iter().any(|part| name.starts_with(part)) || !is_library(name) {
        return Role::Synchronizes;
    }
    Role::Quiet
}

/// Whether a function is of the standard library.
pub(crate) fn is_library(name: &str) -> bool {
    ["std::", "core::", "alloc::"].iter().any(|part| name.starts_with(part))
}

/// The updates of a program: how far from its beginning they are, and how long.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    pub(crate) seen: Vec<(u64, u64)>,
    /// Those that are only fences, and fences.
    pub(crate) quiet: Vec<(u64, u64)>,
    /// Functions that read what their first argument points to, and how many bytes; none if their second one says that.
    pub(crate) reads: Vec<(u64, u64)>,
    /// Those of both that a jump may stand for, and how many bytes it stands for.
    pub(crate) jumps: Vec<(u64, u64)>,
}

/// How many bytes a jump has.
const JUMP: u64 = 5;

/// Finds them.
pub(crate) fn updates(program: &Path) -> Result<Updates> {
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let base = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
    let mut found = Updates::default();
    // Where jumps go to, of the whole program; and the functions in which jumps may be put.
    let mut targets = Vec::new();
    let mut open = Vec::new();
    // Those at whose beginning there may be one.
    let mut begin = Vec::new();
    for symbol in file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0) {
        let section = symbol.section_index().and_then(|i| file.section_by_index(i).ok());
        let code = section.and_then(|s| s.data_range(symbol.address(), symbol.size()).ok());
        let (Some(code), Ok(name)) = (code.flatten(), symbol.name()) else { continue };
        let read = bytes_read(name);
        found.reads.extend(read.map(|len| (symbol.address() - base, len)));
        let first = found.seen.len() + found.quiet.len();
        let mut kind = None;
        let mut library = false;
        let mut looked = false;
        let mut at = 0;
        let mut elsewhere = false;
        // What cannot be read may be data: nothing after it is touched.
        while let Some(next) = instruction(&code[at..]) {
            let here = symbol.address() + at as u64;
            if next.update || next.fence.is_some() {
                let site = (here - base, next.len as u64);
                let plain = || addr2line::demangle_auto(name.into(), None);
                match *kind.get_or_insert_with(|| {
                    let plain = plain();
                    library = is_library(plain.trim_start_matches(['<', '&']));
                    self::kind(&plain)
                }) {
                    Role::Skipped => {}
                    Role::Synchronizes if next.update => {
                        // The first update frees the mutex, after a look at the condition variable.
                        if !looked && is_condition_wait(&plain()) {
                            let look = last_load(&code[..at]);
                            let look = look.map(|(at, len)| (symbol.address() + at - base, len));
                            found.seen.extend(look);
                        }
                        looked = true;
                        found.seen.push(site);
                    }
                    Role::Synchronizes | Role::Quiet => found.quiet.push(site),
                }
            }
            at += next.len;
            match next.flow {
                Flow::Branch(far) | Flow::Jump(far) | Flow::Call(Some(far)) => {
                    targets.push((here + next.len as u64).wrapping_add_signed(far.into()));
                }
                Flow::Elsewhere => elsewhere = true,
                Flow::Next | Flow::Call(None) | Flow::Never => {}
            }
        }
        // Others may use registers that a jump of ours does not keep.
        let readable = at == code.len() && !elsewhere;
        if readable && library && found.seen.len() + found.quiet.len() > first {
            open.push((symbol.address(), code));
        }
        if readable && read.is_some() {
            begin.push((symbol.address(), code));
        }
    }
    // Functions with the same code may have become one.
    for sites in [&mut found.seen, &mut found.quiet] {
        sites.sort_unstable();
        sites.dedup();
    }
    found.reads.sort_unstable();
    found.reads.dedup();
    let Updates { seen, quiet, jumps, .. } = &mut found;
    quiet.retain(|site| seen.binary_search(site).is_err());
    targets.sort_unstable();
    for (address, code) in open {
        jumps.extend(jumpable(address, code, &targets).map(|(at, len)| (at - base, len)));
    }
    for (address, code) in begin {
        let covered =
            instruction(code).and_then(|first| covered(address, code, (0, first), &targets));
        jumps.extend(covered.map(|len| (address - base, len)));
    }
    jumps.sort_unstable();
    jumps.dedup();
    Ok(found)
}

/// How many bytes a function of the standard library reads that was compiled with it and shows a value: that of a number, or of a text,
/// whose length is its second argument. A value may be shared all the same. Others look for a byte in a text.
fn bytes_read(mangled: &str) -> Option<u64> {
    if mangled.contains("4core5slice6memchr") {
        let name = addr2line::demangle_auto(mangled.into(), None);
        let searches = ["core::slice::memchr::memchr_aligned", "core::slice::memchr::memrchr"];
        return searches.contains(&&*name).then_some(BEHIND_FIRST);
    }
    if !mangled.contains("4core3fmt") || !mangled.ends_with("3fmt") {
        return None;
    }
    let name = addr2line::demangle_auto(mangled.into(), None);
    let (of, shows) =
        name.strip_prefix('<')?.strip_suffix(">::fmt")?.split_once(" as core::fmt::")?;
    let number = ["Display", "LowerHex", "UpperHex", "Octal", "Binary", "LowerExp", "UpperExp"];
    let is_told = |shown: &[&str]| shown.contains(&shows);
    let len = match of {
        "str" if is_told(&["Display", "Debug"]) => 0,
        "bool" if is_told(&["Display"]) => 1,
        "char" | "f32" | "f64" if is_told(&["Display", "Debug"]) => {
            if of == "f64" {
                8
            } else {
                4
            }
        }
        "u8" | "i8" if is_told(&number) => 1,
        "u16" | "i16" if is_told(&number) => 2,
        "u32" | "i32" if is_told(&number) => 4,
        "u64" | "i64" | "usize" | "isize" if is_told(&number) => 8,
        "u128" | "i128" if is_told(&number) => 16,
        _ => return None,
    };
    Some(len)
}

/// Whether a function waits for a condition variable. It reads it, frees the mutex, and sleeps unless it has changed
/// since: a wake-up between what the program did before and that look is lost, so that the look is a step.
fn is_condition_wait(function: &str) -> bool {
    let name = function.trim_start_matches('<').replace(">::", "::");
    name.starts_with("std::sys::sync::condvar::futex::Condvar::wait")
}

/// The last load of a word from elsewhere than the stack: where, and how long the instruction is.
fn last_load(code: &[u8]) -> Option<(u64, u64)> {
    const STACK: [Option<usize>; 2] = [Some(4), Some(5)];
    let mut last = None;
    let mut at = 0;
    while let Some(next) = code.get(at..).and_then(instruction) {
        let is_look = |l: &Update| l.len == 4 && l.relative.is_none() && !STACK.contains(&l.base);
        if load(&code[at..]).is_some_and(|load| is_look(&load)) {
            last = Some((at as u64, next.len as u64));
        }
        at += next.len;
    }
    last
}

/// The updates of a function that a jump may stand for, each with the instructions behind it that the
/// jump covers: nobody comes to those but from the update. A landing pad is never behind an instruction
/// that goes on with the next one.
fn jumpable<'a>(
    address: u64,
    code: &'a [u8],
    targets: &'a [u64],
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        let next = instruction(code.get(at..)?)?;
        let here = at;
        at += next.len;
        Some((here, next))
    })
    .filter(|(_, next)| next.update || next.fence.is_some())
    .filter_map(move |(here, next)| {
        let covered = covered(address, code, (here, next), targets)?;
        Some((address + here as u64, covered))
    })
}

/// How many bytes a jump stands for in the place of an instruction, with those behind it that it covers.
fn covered(
    address: u64,
    code: &[u8],
    (here, first): (usize, Instruction),
    targets: &[u64],
) -> Option<u64> {
    let mut covered = first.len;
    let mut ended = false;
    while (covered as u64) < JUMP {
        let at = here + covered;
        let next = instruction(code.get(at..)?)?;
        let place = address + at as u64;
        let known = targets.binary_search(&place).is_ok();
        let site = next.update || next.fence.is_some();
        if ended || known || site || moved(&code[at..], place, place).is_none() {
            return None;
        }
        ended = matches!(next.flow, Flow::Jump(_) | Flow::Never);
        covered += next.len;
    }
    Some(covered as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_functions_are() {
        for (name, expected) in [
            ("<std::sync::barrier::Barrier>::wait", Role::Synchronizes),
            ("<std::sys::sync::once::futex::Once>::call", Role::Synchronizes),
            ("std::thread::functions::park", Role::Synchronizes),
            ("<mine::Lock>::lock", Role::Synchronizes),
            ("<alloc::sync::Arc<std::thread::scoped::ScopeData>>::drop_slow", Role::Quiet),
            ("<&std::io::stdio::Stdout as std::io::Write>::write", Role::Quiet),
            ("std::thread::current::current_or_unnamed", Role::Quiet),
            ("<std::sync::mpmc::list::Channel<test::event::CompletedTest>>::write", Role::Skipped),
            ("test::run_test", Role::Skipped),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_shown_is_read() {
        for (name, len) in [
            ("_RNvXs0_NtNtNtCsgEmfK2I1SDS_4core3fmt3num3impmNtB9_7Display3fmt", Some(4)),
            ("_RNvXsg_NtCsgEmfK2I1SDS_4core3fmteNtB5_7Display3fmt", Some(0)),
            ("_RNvXsg_NtCsgEmfK2I1SDS_4core3fmtmNtB5_5Debug3fmt", None),
            ("_RNvXsg_NtCsgEmfK2I1SDS_4core3fmtRmNtB5_7Display3fmt", None),
            ("_RNvNtNtCsgEmfK2I1SDS_4core5slice6memchr14memchr_aligned", Some(BEHIND_FIRST)),
            ("main", None),
        ] {
            assert_eq!(bytes_read(name), len, "{name}");
        }
    }

    #[test]
    fn looks_at_condition_variables() {
        assert!(is_condition_wait("<std::sys::sync::condvar::futex::Condvar>::wait_timeout"));
        assert!(is_condition_wait("std::sys::sync::condvar::futex::Condvar::wait"));
        assert!(!is_condition_wait("<std::sys::sync::condvar::futex::Condvar>::notify_one"));
        // mov r14, rdi; mov r15d, [rdi]; mov eax, [rbp-8]; xor eax, eax
        let code = [0x49, 0x89, 0xfe, 0x44, 0x8b, 0x3f, 0x8b, 0x45, 0xf8, 0x31, 0xc0];
        assert_eq!(last_load(&code), Some((3, 3)));
        assert_eq!(last_load(&code[..3]), None);
    }

    #[test]
    fn a_jump_covers_only_what_nobody_else_comes_to() {
        // lock cmpxchg [rdi], ecx; jne +0; ret: the branch is covered, what it leads to is behind.
        let code = [0xf0, 0x0f, 0xb1, 0x0f, 0x75, 0x00, 0xc3];
        let sites =
            |code: &[u8], targets: &[u64]| jumpable(0x1000, code, targets).collect::<Vec<_>>();
        assert_eq!(sites(&code, &[0x1006]), [(0x1000, 6)]);
        assert_eq!(sites(&code, &[0x1000, 0x1006]), [(0x1000, 6)]);
        assert_eq!(sites(&code, &[0x1004]), []);
        // Long enough on its own; what is behind may be a target.
        let long = [0xf0, 0x48, 0x0f, 0xb1, 0x0f, 0xc3];
        assert_eq!(sites(&long, &[0x1005]), [(0x1000, 5)]);
        // xchg [rdi], eax; ret: too short, and the next function is not ours.
        assert_eq!(sites(&[0x87, 0x07, 0xc3], &[]), []);
        assert_eq!(sites(&[0x87, 0x07, 0xc3, 0x90, 0x90], &[]), []);
        // A call, and another update, stay where they are.
        assert_eq!(sites(&[0x87, 0x07, 0xe8, 0, 0, 0, 0], &[]), []);
        assert_eq!(sites(&[0x87, 0x07, 0x87, 0x07, 0x90], &[]), []);
        // push rbp; mov rbp, rsp; push r15: how a function begins.
        let begins = [0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xc3];
        let first = || instruction(&begins).expect("an instruction");
        assert_eq!(covered(0x1000, &begins, (0, first()), &[0x1000, 0x1006]), Some(6));
        assert_eq!(covered(0x1000, &begins, (0, first()), &[0x1004]), None);
    }
}
