//! Atomic updates that are not instrumented: those inside of Rust's standard library, which comes
//! compiled. They are found in the program, and the runtime library puts a trap on each.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use weakspot_live::x86::instruction;

use crate::Result;
use crate::symbols::unread;

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
enum Kind {
    Synchronizes,
    /// Its updates are fences, whose order does not matter.
    Quiet,
    Skipped,
}

fn kind(function: &str) -> Kind {
    // Methods are told as `<std::sync::Barrier>::wait`, or `<X as Trait>::f`.
    let name = function.trim_start_matches(['<', '&']);
    if SKIPPED.iter().any(|part| name.starts_with(part)) || name.contains("<test::") {
        return Kind::Skipped;
    }
    // References are counted there, too, which nobody can notice.
    let counts = name.contains("alloc::sync::Arc<");
    if !counts && SYNCHRONIZES.iter().any(|part| name.starts_with(part)) || !is_library(name) {
        return Kind::Synchronizes;
    }
    Kind::Quiet
}

fn is_library(name: &str) -> bool {
    ["std::", "core::", "alloc::"].iter().any(|part| name.starts_with(part))
}

/// The updates of a program: how far from its beginning they are, and how long.
#[derive(Default)]
pub(crate) struct Updates {
    pub(crate) seen: Vec<(u64, u64)>,
    /// Those that are only fences.
    pub(crate) quiet: Vec<(u64, u64)>,
}

/// Finds them.
pub(crate) fn updates(program: &Path) -> Result<Updates> {
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let base = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
    let mut found = Updates::default();
    for symbol in file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0) {
        let section = symbol.section_index().and_then(|i| file.section_by_index(i).ok());
        let code = section.and_then(|s| s.data_range(symbol.address(), symbol.size()).ok());
        let (Some(code), Ok(name)) = (code.flatten(), symbol.name()) else { continue };
        let mut kind = None;
        let mut at = 0;
        // What cannot be read may be data: nothing after it is touched.
        while let Some(next) = instruction(&code[at..]) {
            if next.update {
                let site = (symbol.address() + at as u64 - base, next.len as u64);
                let plain = || addr2line::demangle_auto(name.into(), None);
                match *kind.get_or_insert_with(|| self::kind(&plain())) {
                    Kind::Synchronizes => found.seen.push(site),
                    Kind::Quiet => found.quiet.push(site),
                    Kind::Skipped => {}
                }
            }
            at += next.len;
        }
    }
    // Functions with the same code may have become one.
    for sites in [&mut found.seen, &mut found.quiet] {
        sites.sort_unstable();
        sites.dedup();
    }
    let Updates { seen, quiet } = &mut found;
    quiet.retain(|site| seen.binary_search(site).is_err());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_functions_are() {
        for (name, expected) in [
            ("<std::sync::barrier::Barrier>::wait", Kind::Synchronizes),
            ("<std::sys::sync::once::futex::Once>::call", Kind::Synchronizes),
            ("std::thread::functions::park", Kind::Synchronizes),
            ("<mine::Lock>::lock", Kind::Synchronizes),
            ("<alloc::sync::Arc<std::thread::scoped::ScopeData>>::drop_slow", Kind::Quiet),
            ("<&std::io::stdio::Stdout as std::io::Write>::write", Kind::Quiet),
            ("std::thread::current::current_or_unnamed", Kind::Quiet),
            ("<std::sync::mpmc::list::Channel<test::event::CompletedTest>>::write", Kind::Skipped),
            ("test::run_test", Kind::Skipped),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }
}
