//! From events to JSON.

use std::io::Write;

use weakspot_core::{LogEvent, LogTables, LogValue};

use crate::event::{self, Operand};
use crate::names::name_of;

/// Writes events, one per line unless a trace was begun.
#[derive(Default)]
pub(crate) struct Writer {
    trace: Trace,
}

/// Where in a trace writing goes on.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Trace {
    #[default]
    None,
    Empty,
    Begun,
}

impl Writer {
    /// Ends the trace before, if there is one, and begins another.
    pub(crate) fn trace(&mut self, out: &mut Vec<u8>, id: Option<&str>) {
        self.finish(out);
        self.trace = Trace::Empty;
        out.push(b'{');
        if let Some(id) = id {
            out.extend_from_slice(b"\"id\":");
            string(out, id);
            out.push(b',');
        }
        out.extend_from_slice(b"\"events\":[");
    }

    /// Ends the trace that was begun.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if self.trace != Trace::None {
            out.extend_from_slice(b"]}\n");
        }
    }

    /// Writes an event. Writing to a vector does not fail, so results are not looked at.
    pub(crate) fn write(
        &mut self,
        out: &mut Vec<u8>,
        event: &LogEvent,
        value: Option<LogValue>,
        tables: &LogTables,
    ) {
        match self.trace {
            Trace::None => {}
            Trace::Empty => self.trace = Trace::Begun,
            Trace::Begun => out.push(b','),
        }
        out.extend_from_slice(b"{\"t\":");
        thread(out, &tables.threads[usize::from(event.thread)]);
        let _ = write!(out, ",\"k\":\"{}\"", event.kind.word());
        match event::operand(event.kind) {
            Operand::None => {}
            Operand::Thread => {
                out.extend_from_slice(b",\"x\":");
                thread(out, &tables.threads[event.loc as usize]);
            }
            Operand::Loc => {
                let loc = &tables.locs[event.loc as usize];
                out.extend_from_slice(b",\"x\":");
                match loc.bytes {
                    None => string(out, &loc.name),
                    Some(bytes) if loc.name == name_of(bytes) => {
                        let _ = write!(out, "\"{:#x}\",\"size\":{}", bytes.start, bytes.len);
                    }
                    Some(bytes) => {
                        string(out, &loc.name);
                        let (start, len) = (bytes.start, bytes.len);
                        let _ = write!(out, ",\"addr\":\"{start:#x}\",\"size\":{len}");
                    }
                }
            }
        }
        if let Some(value) = value {
            let _ = write!(out, ",\"v\":{}", value.value);
            if let Some(old) = value.old {
                let _ = write!(out, ",\"old\":{old}");
            }
        }
        if event.site > 0 {
            out.extend_from_slice(b",\"at\":");
            string(out, &tables.sites[event.site as usize - 1]);
        }
        if event.txn > 0 {
            let _ = write!(out, ",\"tr\":{}", event.txn - 1);
        }
        out.extend_from_slice(if self.trace == Trace::None { b"}\n" } else { b"}" });
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    // Serialising a string to a vector does not fail.
    let _ = serde_json::to_writer(out, text);
}

/// The number of a thread that is called `t0`, `t1` and so on, or the name.
fn thread(out: &mut Vec<u8>, name: &str) {
    let digits = name.strip_prefix('t').filter(|d| *d == "0" || !d.starts_with(['0', '+']));
    match digits.filter(|d| d.parse::<u32>().is_ok()) {
        Some(digits) => out.extend_from_slice(digits.as_bytes()),
        None => string(out, name),
    }
}
