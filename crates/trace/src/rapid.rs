//! The STD format of RAPID, a framework for race detection: `T0|w(V1)|17`, which is a thread, an
//! operation with its operand, and a source position. Variables and locks have names of their own
//! there: a variable and a lock that are called alike have nothing to do with each other.

use weakspot_core::{LogBatch, LogEvent, LogKind, LogTables, LogValue};

use crate::event::{self, Operand};
use crate::lines::{Fault, Line};
use crate::names::Names;

/// What RAPID takes for a number, and what no position is.
const NOWHERE: &str = "-1";

fn word(kind: LogKind) -> Option<&'static str> {
    match kind {
        LogKind::Read => Some("r"),
        LogKind::Write => Some("w"),
        LogKind::Acquire => Some("acq"),
        LogKind::Release => Some("rel"),
        LogKind::Spawn => Some("fork"),
        LogKind::Join => Some("join"),
        LogKind::Begin => Some("begin"),
        LogKind::End => Some("end"),
        LogKind::Update | LogKind::Fence | LogKind::StoreFence | LogKind::Commit => None,
    }
}

fn kind_of(text: &str) -> Option<LogKind> {
    LogKind::ALL.into_iter().find(|&k| word(k) == Some(text))
}

/// Whether a line looks like one of this format.
pub(crate) fn is_event(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = line.split(|&b| b == b'|').collect();
    let [thread, operation, _] = fields[..] else { return false };
    if thread.contains(&b' ') {
        return false;
    }
    let word = operation.split(|&b| b == b'(').next().unwrap_or_default();
    std::str::from_utf8(word).ok().and_then(kind_of).is_some()
}

/// Reads one line.
pub(crate) fn parse(line: &str, names: &mut Names, batch: &mut LogBatch) -> Result<Line, Fault> {
    if line.is_empty() {
        return Ok(Line::Empty);
    }
    let expected = "expected thread|operation|position, such as T0|w(V1)|17";
    let (thread, rest) = line.split_once('|').ok_or_else(|| Fault::new(line.len(), expected))?;
    let start = thread.len() + 1;
    let (operation, site) = rest.split_once('|').ok_or_else(|| Fault::new(line.len(), expected))?;
    let site_at = start + operation.len() + 1;
    if let Some(extra) = site.find('|') {
        return Err(Fault::new(site_at + extra, expected));
    }
    check_name(thread, 0, "a thread")?;
    let (word, argument) = match operation.split_once('(') {
        Some((word, argument)) => {
            let end = start + operation.len();
            let argument = argument.strip_suffix(')');
            let argument = argument.ok_or_else(|| Fault::new(end, "expected `)`"))?;
            (word, Some(argument))
        }
        None => (operation, None),
    };
    let kind = kind_of(word).ok_or_else(|| {
        let all = "r, w, acq, rel, fork, join, begin or end";
        Fault::new(start, format!("unknown operation `{word}`: expected {all}"))
    })?;
    let argument_at = start + word.len() + 1;
    let fault = |at| move |m: String| Fault::new(at, m);
    let thread = names.thread(thread).map_err(fault(0))?;
    let mut event = LogEvent::new(thread, kind, 0);
    // What stands in the brackets of `begin` and `end` has no meaning to RAPID, either.
    if event::operand(kind) != Operand::None {
        let example = if event::operand(kind) == Operand::Thread { "T1" } else { "V1" };
        let argument = argument.ok_or_else(|| {
            Fault::new(start + word.len(), format!("expected an operand: {word}({example})"))
        })?;
        event.loc = match event::operand(kind) {
            Operand::Thread => {
                check_name(argument, argument_at, "a thread")?;
                names.thread(argument).map_err(fault(argument_at))?.into()
            }
            _ => {
                let is_lock = matches!(kind, LogKind::Acquire | LogKind::Release);
                check_name(argument, argument_at, if is_lock { "a lock" } else { "a variable" })?;
                loc(names, argument, is_lock).map_err(fault(argument_at))?
            }
        };
    }
    if !site.is_empty() && site != NOWHERE {
        event.site = names.site(site).map_err(fault(site_at))?;
    }
    batch.events.push(event);
    Ok(Line::Event)
}

fn check_name(name: &str, at: usize, what: &str) -> Result<(), Fault> {
    if name.is_empty() {
        return Err(Fault::new(at, format!("expected {what}")));
    }
    match name.find(char::is_whitespace) {
        Some(blank) => Err(Fault::new(at + blank, format!("{what} with a blank in its name"))),
        None => Ok(()),
    }
}

/// The location of a variable or a lock. If the other one of the two has the name already, this
/// one is called differently, by a name that nothing else in such a log can have.
fn loc(names: &mut Names, name: &str, is_lock: bool) -> Result<u32, String> {
    let number = names.loc(name, None)?;
    names.locks.resize(names.tables.locs.len(), is_lock);
    if names.locks[number as usize] == is_lock {
        return Ok(number);
    }
    let other = format!("{name} ({})", if is_lock { "lock" } else { "variable" });
    let number = names.loc(&other, None)?;
    names.locks.resize(names.tables.locs.len(), is_lock);
    Ok(number)
}

/// Writes events, and remembers which locations were locks.
#[derive(Default)]
pub(crate) struct Writer {
    uses: Vec<Option<bool>>,
}

impl Writer {
    /// Writes the line of an event, if the format can say it.
    pub(crate) fn write(
        &mut self,
        out: &mut Vec<u8>,
        event: &LogEvent,
        value: Option<LogValue>,
        tables: &LogTables,
    ) -> Result<(), String> {
        let word =
            word(event.kind).ok_or_else(|| format!("STD cannot say `{}`", event.kind.word()))?;
        if value.is_some() {
            return Err("STD cannot say values".into());
        }
        if event.txn > 0 {
            return Err("STD cannot say to which transaction an event belongs".into());
        }
        let thread = sayable(&tables.threads[usize::from(event.thread)], "the thread")?;
        let operand = match event::operand(event.kind) {
            Operand::None => None,
            Operand::Thread => Some(sayable(&tables.threads[event.loc as usize], "the thread")?),
            Operand::Loc => {
                let loc = &tables.locs[event.loc as usize];
                if loc.bytes.is_some() {
                    return Err(format!("STD cannot say which bytes `{}` is", loc.name));
                }
                let name = sayable(&loc.name, "the location")?;
                let is_lock = event.kind.is_update();
                self.uses.resize(tables.locs.len(), None);
                if *self.uses[event.loc as usize].get_or_insert(is_lock) != is_lock {
                    return Err(format!("STD cannot say that `{name}` is a lock and a variable"));
                }
                Some(name)
            }
        };
        let site = match event.site {
            0 => NOWHERE,
            site => match tables.sites[site as usize - 1].as_str() {
                s if s.is_empty()
                    || s == NOWHERE
                    || s.contains(['|', '\n', '\r'])
                    || s.trim_ascii_end() != s =>
                {
                    return Err(format!("STD cannot say the source position `{s}`"));
                }
                s => s,
            },
        };
        for part in [thread, "|", word] {
            out.extend_from_slice(part.as_bytes());
        }
        if let Some(operand) = operand {
            out.push(b'(');
            out.extend_from_slice(operand.as_bytes());
            out.push(b')');
        }
        for part in ["|", site, "\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        Ok(())
    }
}

fn sayable<'a>(name: &'a str, what: &str) -> Result<&'a str, String> {
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '|') {
        return Err(format!("STD cannot say the name of {what} `{name}`"));
    }
    Ok(name)
}
