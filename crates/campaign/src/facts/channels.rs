//! Channels of Rust's standard library: the functions that are their operations, which the runtime library lets come one after
//! the other, and the loops in which they wait for another thread. They are generic, so that
//! they are compiled and instrumented with the program. Loops count how often they went round, which
//! decides nothing but how long they wait: the runtime library is told which calls are in them, so that it does
//! not take the count for something that ends them.

use std::path::Path;

use addr2line::Loader;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use weakspot_live::x86::{Flow, instruction};

use crate::Result;
use crate::facts::symbols::unread;

/// The channels: unbounded, bounded, and those that hand over from thread to thread. What they share, such as
/// waiting for a time, is elsewhere.
const CHANNELS: [&str; 3] =
    ["std::sync::mpmc::list::", "std::sync::mpmc::array::", "std::sync::mpmc::zero::"];
/// How compilers write what all of them begin with.
const MANGLED: &str = "4sync4mpmc";

/// Calls from the code of channels: how far from the beginning of the program, and how long. None if there is
/// no debug information, because code of the user, such as what drops a message, may be among it.
pub(crate) fn waits(program: &Path) -> Result<Vec<(u64, u64)>> {
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let base = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
    let mut calls = Vec::new();
    for symbol in functions(&file, &[MANGLED], is_channel) {
        let section = symbol.section_index().and_then(|i| file.section_by_index(i).ok());
        let code = section.and_then(|s| s.data_range(symbol.address(), symbol.size()).ok());
        let Some(code) = code.flatten() else { continue };
        let mut at = 0;
        while let Some(next) = instruction(&code[at..]) {
            if matches!(next.flow, Flow::Call(_)) {
                calls.push((symbol.address() + at as u64, next.len as u64));
            }
            at += next.len;
        }
    }
    if calls.is_empty() {
        return Ok(calls);
    }
    let Ok(loader) = Loader::new(program) else { return Ok(Vec::new()) };
    calls.retain(|&(address, _)| is_of_channel(&loader, address));
    calls.iter_mut().for_each(|(address, _)| *address -= base);
    calls.sort_unstable();
    calls.dedup();
    Ok(calls)
}

/// Functions that are operations of channels: how far from the beginning of the program, and how long. Not among them are
/// those that drop messages, which is code of the user, and the channel of the harness of tests, which nobody asks about.
pub(crate) fn operations(program: &Path) -> Result<Vec<(u64, u64)>> {
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let base = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
    let operations = functions(&file, &MANGLED_ENDS, is_operation);
    let mut found: Vec<(u64, u64)> =
        operations.map(|symbol| (symbol.address() - base, symbol.size())).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Functions that are of a kind by their names, which have one of these parts as compilers write them. Others have them in the
/// names of their types.
fn functions<'f>(
    file: &'f object::File<'f>,
    mangled: &'f [&str],
    is: fn(&str) -> bool,
) -> impl Iterator<Item = object::Symbol<'f, 'f>> {
    let code = file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0);
    code.filter(move |symbol| {
        let name = symbol.name().ok().filter(|name| mangled.iter().any(|part| name.contains(part)));
        name.is_some_and(|name| is(&addr2line::demangle_auto(name.into(), None)))
    })
}

/// Types whose methods are operations, and the methods.
const ENDS: [&str; 8] = [
    "std::sync::mpsc::Sender<",
    "std::sync::mpsc::SyncSender<",
    "std::sync::mpsc::Receiver<",
    "std::sync::mpmc::Sender<",
    "std::sync::mpmc::Receiver<",
    "std::sync::mpmc::list::Channel<",
    "std::sync::mpmc::array::Channel<",
    "std::sync::mpmc::zero::Channel<",
];
const METHODS: [&str; 11] = [
    "send",
    "try_send",
    "send_timeout",
    "send_deadline",
    "recv",
    "try_recv",
    "recv_timeout",
    "recv_deadline",
    "disconnect_senders",
    "is_disconnected",
    "len",
];
const MANGLED_ENDS: [&str; 2] = [MANGLED, "4sync4mpsc"];
const HARNESS: &str = "<test::event::CompletedTest>";

fn is_operation(function: &str) -> bool {
    let name = function.trim_start_matches('<').replace(">>::", ">::");
    let Some((of, method)) = name.rsplit_once("::") else { return false };
    METHODS.contains(&method) && ENDS.iter().any(|end| of.starts_with(end)) && !of.contains(HARNESS)
}

fn is_channel(function: &str) -> bool {
    let name = function.trim_start_matches('<');
    CHANNELS.iter().any(|channel| name.starts_with(channel))
}

/// Whether the source of a call is in a channel, and not in what was inlined into it, but for atomics.
fn is_of_channel(loader: &Loader, address: u64) -> bool {
    const ATOMICS: &str = "core::sync::atomic::";
    let Ok(mut frames) = loader.find_frames(address) else { return false };
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref().and_then(|name| name.demangle().ok());
        let Some(name) = name else { return false };
        if !name.trim_start_matches('<').starts_with(ATOMICS) {
            return is_channel(&name);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{is_channel, is_operation};

    #[test]
    fn which_functions_are_operations() {
        for (function, expected) in [
            ("<std::sync::mpmc::list::Channel<i32>>::send", true),
            ("std::sync::mpmc::zero::Channel<()>::recv", true),
            ("<std::sync::mpsc::SyncSender<alloc::vec::Vec<u8>>>::try_send", true),
            ("<std::sync::mpmc::list::Channel<i32>>::recv::{closure#1}", false),
            // It drops messages.
            ("<std::sync::mpmc::list::Channel<i32>>::disconnect_receivers", false),
            ("<std::sync::mpmc::zero::Channel<test::event::CompletedTest>>::send", false),
            (
                "<std::sync::mpmc::counter::Sender<std::sync::mpmc::list::Channel<i32>>>::acquire",
                false,
            ),
            ("<std::sync::mpsc::Sender<i32> as core::clone::Clone>::clone", false),
            ("mine::std::sync::mpsc::Sender<i32>::send", false),
        ] {
            assert_eq!(is_operation(function), expected, "{function}");
        }
    }

    #[test]
    fn which_functions_are_of_channels() {
        for (function, expected) in [
            ("<std::sync::mpmc::list::Channel<i32>>::start_recv", true),
            ("std::sync::mpmc::list::Slot<T>::wait_write", true),
            ("<std::sync::mpmc::zero::Channel<i32>>::recv::{closure#1}", true),
            // It asks for the time.
            ("<std::sync::mpmc::context::Context>::wait_until", false),
            ("core::ptr::drop_in_place::<std::sync::mpmc::array::Channel<i32>>", false),
            ("mine::std::sync::mpmc::list::Channel", false),
        ] {
            assert_eq!(is_channel(function), expected, "{function}");
        }
    }
}
