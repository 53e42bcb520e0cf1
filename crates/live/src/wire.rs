//! What the runtime library is told ([`Config`]) and what it reports: lines of words, one [`Message`]
//! each.
//!
//! Words have no blanks: those, `%` and what is not printable are written as `%XX`, and what is not
//! there as `-`.

mod awaited;
mod config;
mod memory;

use std::fmt;

use weakspot_core::{Met, Model};

use crate::op::KINDS;
use crate::{Extra, Op, OpKind, Order};

pub use self::awaited::{Awaited, Waiter};
pub use self::config::{BEHIND_FIRST, Config, VARIABLE};
pub use self::memory::{MemoryChange, MemoryStep, StackFrame};

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A file is mapped. Places count these from 0.
    Module {
        /// Where: its first byte.
        base: u64,
        /// The first byte behind it.
        end: u64,
        /// The file.
        path: String,
    },
    /// An execution went wrong under the model that it was executed under.
    Failure {
        /// Counted from 1.
        number: u64,
        /// What: `assertion`, `crash`, `deadlock`, ...
        kind: String,
        /// Which thread was at fault.
        thread: Option<u16>,
        /// Where it was.
        place: Option<Place>,
        /// In which execution, from 1.
        execution: u64,
        /// The schedule, to be replayed.
        schedule: String,
        /// What is known about it.
        text: String,
        /// Other places that have to do with it.
        related: Vec<Related>,
    },
    /// A weaker model would let an access overtake a store.
    Overtaking {
        /// Counted from 1.
        number: u64,
        /// The model.
        model: Model,
        /// Where the store is.
        store: Place,
        /// Where the access is.
        access: Place,
        /// In which execution, from 1.
        execution: u64,
        /// The schedule, to be replayed.
        schedule: String,
        /// Fences any one of which prevents it there.
        fences: Vec<PlacedFence>,
    },
    /// How many executions showed a failure.
    Seen {
        /// Its number.
        number: u64,
        /// How many.
        executions: u64,
    },
    /// The program changes something outside of itself, which every execution repeats.
    Outside {
        /// What it does, as "writes to a file".
        what: String,
        /// Where, and which calls led there, the innermost first.
        places: Vec<Place>,
    },
    /// The program does something that cannot be controlled.
    Unsupported {
        /// What.
        what: String,
        /// Where.
        place: Option<Place>,
    },
    /// How many executions showed an overtaking.
    Overtaken {
        /// Its number.
        number: u64,
        /// How many.
        executions: u64,
    },
    /// Bytes turned out to be shared.
    Shared {
        /// The first one.
        addr: u64,
        /// How many.
        len: u64,
    },
    /// Because of that the exploration starts again: what was found before may be found again, with
    /// other numbers.
    Again,
    /// A schedule for a failure that came without, or with one that is not right any more.
    Token {
        /// Its number.
        number: u64,
        /// In which execution, from 1.
        execution: u64,
        /// The schedule.
        schedule: String,
    },
    /// A schedule that is replayed was not followed.
    Diverged {
        /// From which step on.
        step: u64,
        /// Whose turn it was.
        thread: u16,
    },
    /// An execution whose transactions are not serializable: the first one, and how many there were.
    Unserializable {
        /// The first one, from 1.
        execution: u64,
        /// Its schedule.
        schedule: String,
        /// How many.
        executions: u64,
    },
    /// How often a thread was taken to wait in a loop without certainty.
    Idle(u64),
    /// How many executions ended with an exit code that is not 0.
    Exits(u64),
    /// How many executions ended because an assumption did not hold.
    Assumed(u64),
    /// How many executions were left where threads wait in loops, because what follows is part of others.
    Left(u64),
    /// How often a round of a loop was left out that nobody would miss but monitors, which may see what comes of its steps.
    Undone(u64),
    /// How many transactions were executed.
    Transactions(u64),
    /// How many threads the execution with most of them had, the harness of a test left out.
    Threads(u64),
    /// Accesses overlap in part, so that overtakings may be missing.
    Mixed(Model),
    /// There are `volatile` accesses, or some in assembly, which are no data races: where the first is.
    Volatile(Option<Place>),
    /// How far it is.
    Progress {
        /// Executions that are over.
        executions: u64,
        /// Steps of all of them.
        steps: u64,
    },
    /// How many executions had so many preemptions, if the exploration is profiled.
    Preempted {
        /// How many preemptions.
        preemptions: u64,
        /// How many executions.
        executions: u64,
    },
    /// An access that a thread has made while there were others, and on which sides of it conflicting ones of
    /// another thread were seen; the same.
    Met {
        /// Where it is.
        place: Place,
        /// The thread of the access.
        thread: u16,
        /// The other thread, if there is one.
        other: Option<u16>,
        /// Which sides.
        met: Met,
    },
    /// A step of an execution, if these are asked for.
    Step(TracedStep),
    /// What the only thread that is left has read of what others wrote, if steps are asked for and the execution
    /// fails. It is no step, because nobody can come in between; the number of steps before it, and as a step.
    Looked(u64, TracedStep),
    /// What happens to memory between the steps of an execution, if these are asked for.
    Memory(MemoryStep),
    /// The function that has the variable which the next step uses, if steps are asked for.
    Frame(StackFrame),
    /// The calls that led to the last step, if executions are traced: the innermost first, as far as that can be
    /// seen.
    Calls(Vec<Place>),
    /// A thread that waits when nobody can go on, if executions are traced.
    Waits(Waiter),
    /// The end.
    Done {
        /// `complete`, `incomplete`, `limit`, `timeout`, `defect`; of one who has explored parts `parts`, or
        /// `again` if all parts have to be made again because of bytes that turned out to be shared.
        how: String,
        /// Executions.
        executions: u64,
        /// Steps of all of them.
        steps: u64,
    },
    /// What a part of an exploration that others share has led to; the next one is waited for.
    Rest {
        /// Executions so far.
        executions: u64,
        /// Steps of all of them.
        steps: u64,
        /// For the [whole](crate::Whole).
        rest: String,
    },
    /// The library itself failed.
    Defect(String),
}

/// An address of the program that is the same in all runs: a module, and how far from its base; or
/// an address outside of all modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The number of the module, if it is in one.
    pub module: Option<u16>,
    /// The offset, or the address.
    pub offset: u64,
}

/// What a thread did that slept in an execution which failed. There is one for each call on its stack,
/// the innermost first, as far as that can be seen.
pub const SLEPT: &str = "slept";

/// The calls that led to where an execution fails, if executions are traced: one for each, the innermost
/// first, as far as that can be seen.
pub const CALLS: &str = "calls";

/// The kind of a [`Message::Failure`] that is none: the execution was given up because it had too many
/// steps.
pub const TOO_LONG: &str = "too-long";

/// The same because a thread computed for too long without a step.
pub const SILENT: &str = "silent";

/// The same because the program has allocated more than it may.
pub const TOO_MUCH: &str = "memory";

/// The kind of a [`Message::Failure`] in which nobody can go on because a thread is in an empty loop without
/// end, which the failure's place is in. Suites write their own `assume` that way, so whoever knows the
/// names of functions says what it means.
pub const ENDLESS: &str = "endless";

/// The same, but all that is known is that the thread has given way very often, in the same state each time. Code
/// that is not instrumented may end such a loop.
pub const GIVES_WAY: &str = "gives-way";

/// What a thread does in a deadlock or livelock that will not take a step, whatever others do.
pub const HANGS: &str = "hangs";

/// A place that has to do with a failure: where memory was freed, the other access of a data race, ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What happened there, in words.
    pub what: String,
    /// Which thread did it.
    pub thread: Option<u16>,
    /// Where.
    pub place: Place,
}

/// A fence between two places, or a stronger order at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlacedFence {
    /// A full fence, when a thread goes from the first place to the second.
    Full(Place, Place),
    /// A store-store fence there.
    Stores(Place, Place),
    /// At least this order.
    Order(Place, Order),
}

/// A step of an execution with what it read and wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedStep {
    /// Who.
    pub thread: u16,
    /// What. Additions are told as the updates that they are.
    pub kind: OpKind,
    /// In which order.
    pub order: Order,
    /// The first byte, or the number of the other thread.
    pub addr: u64,
    /// How many bytes.
    pub len: u32,
    /// What an update saw, or a store has overwritten, if that is known.
    pub old: Option<u64>,
    /// What was read or written.
    pub value: Option<u64>,
    /// Where in the program.
    pub place: Option<Place>,
}

impl TracedStep {
    /// What it does to memory.
    #[must_use]
    pub fn op(&self) -> Op {
        Op { kind: self.kind, len: self.len, addr: self.addr }
    }

    /// Whether it is a store that no buffer holds back: it is in memory at once, after all that was in the buffer.
    #[must_use]
    pub(crate) fn is_at_once(&self) -> bool {
        self.kind == OpKind::Write && self.order == Order::SeqCst
    }

    fn read<'a>(mut word: impl FnMut() -> Option<&'a str>) -> Option<TracedStep> {
        Some(TracedStep {
            thread: word()?.parse().ok()?,
            kind: OpKind::named(word()?)?,
            order: Order::named(word()?)?,
            addr: hex(word()?)?,
            len: word()?.parse().ok()?,
            old: optional(word()?, |w| w.parse().ok())?,
            value: optional(word()?, |w| w.parse().ok())?,
            place: optional(word()?, place)?,
        })
    }
}

impl Message {
    /// Reads a line without its end.
    pub fn parse(line: &str) -> Result<Message, String> {
        let mut words = line.split(' ');
        let message = read(&mut words).ok_or_else(|| format!("`{line}` is no message"))?;
        match words.next() {
            Some(_) => Err(format!("`{line}` has too many words")),
            None => Ok(message),
        }
    }
}

fn read<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Message> {
    let kind = words.next()?;
    let mut word = || words.next();
    Some(match kind {
        "module" => {
            Message::Module { base: hex(word()?)?, end: hex(word()?)?, path: unescape(word()?)? }
        }
        "finding" => Message::Failure {
            number: word()?.parse().ok()?,
            kind: word()?.to_owned(),
            thread: optional(word()?, |w| w.parse().ok())?,
            place: optional(word()?, place)?,
            execution: word()?.parse().ok()?,
            schedule: unescape(word()?)?,
            text: unescape(word()?)?,
            related: list(word()?, Related::parse)?,
        },
        "overtaking" => Message::Overtaking {
            number: word()?.parse().ok()?,
            model: model(word()?)?,
            store: place(word()?)?,
            access: place(word()?)?,
            execution: word()?.parse().ok()?,
            schedule: unescape(word()?)?,
            fences: fences(word()?)?,
        },
        "seen" => {
            Message::Seen { number: word()?.parse().ok()?, executions: word()?.parse().ok()? }
        }
        "outside" => Message::Outside { what: unescape(word()?)?, places: list(word()?, place)? },
        "unsupported" => {
            Message::Unsupported { what: unescape(word()?)?, place: optional(word()?, place)? }
        }
        "overtaken" => {
            Message::Overtaken { number: word()?.parse().ok()?, executions: word()?.parse().ok()? }
        }
        "shared" => Message::Shared { addr: hex(word()?)?, len: hex(word()?)? },
        "again" => Message::Again,
        "token" => Message::Token {
            number: word()?.parse().ok()?,
            execution: word()?.parse().ok()?,
            schedule: unescape(word()?)?,
        },
        "diverged" => {
            Message::Diverged { step: word()?.parse().ok()?, thread: word()?.parse().ok()? }
        }
        "unserializable" => Message::Unserializable {
            execution: word()?.parse().ok()?,
            schedule: unescape(word()?)?,
            executions: word()?.parse().ok()?,
        },
        "idle" => Message::Idle(word()?.parse().ok()?),
        "threads" => Message::Threads(word()?.parse().ok()?),
        "mixed" => Message::Mixed(model(word()?)?),
        "volatile" => Message::Volatile(optional(word()?, place)?),
        "transactions" => Message::Transactions(word()?.parse().ok()?),
        "exits" => Message::Exits(word()?.parse().ok()?),
        "assumed" => Message::Assumed(word()?.parse().ok()?),
        "left" => Message::Left(word()?.parse().ok()?),
        "undone" => Message::Undone(word()?.parse().ok()?),
        "progress" => {
            Message::Progress { executions: word()?.parse().ok()?, steps: word()?.parse().ok()? }
        }
        "preempted" => Message::Preempted {
            preemptions: word()?.parse().ok()?,
            executions: word()?.parse().ok()?,
        },
        "met" => Message::Met {
            place: place(word()?)?,
            thread: word()?.parse().ok()?,
            other: optional(word()?, |w| w.parse().ok())?,
            met: Met { before: word()?.parse().ok()?, after: word()?.parse().ok()? },
        },
        "step" => Message::Step(TracedStep::read(word)?),
        "looked" => Message::Looked(word()?.parse().ok()?, TracedStep::read(word)?),
        "calls" => Message::Calls(list(word()?, place)?),
        "waits" => Message::Waits(Waiter::read(word)?),
        "memory" => Message::Memory(MemoryStep::read(word)?),
        "frame" => Message::Frame(StackFrame::read(word)?),
        "done" => Message::Done {
            how: word()?.to_owned(),
            executions: word()?.parse().ok()?,
            steps: word()?.parse().ok()?,
        },
        "rest" => Message::Rest {
            executions: word()?.parse().ok()?,
            steps: word()?.parse().ok()?,
            rest: unescape(word()?)?,
        },
        "defect" => Message::Defect(unescape(word()?)?),
        _ => return None,
    })
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Module { base, end, path } => {
                write!(f, "module {base:#x} {end:#x} {}", escape(path))
            }
            Message::Failure {
                number,
                kind,
                thread,
                place,
                execution,
                schedule,
                text,
                related,
            } => write!(
                f,
                "finding {number} {kind} {} {} {execution} {} {} {}",
                or_none(*thread),
                or_none(*place),
                escape(schedule),
                escape(text),
                joined(related)
            ),
            Message::Overtaking { number, model, store, access, execution, schedule, fences } => {
                let (fences, schedule) = (joined(fences), escape(schedule));
                write!(
                    f,
                    "overtaking {number} {model} {store} {access} {execution} {schedule} {fences}"
                )
            }
            Message::Seen { number, executions } => write!(f, "seen {number} {executions}"),
            Message::Outside { what, places } => {
                write!(f, "outside {} {}", escape(what), joined(places))
            }
            Message::Unsupported { what, place } => {
                write!(f, "unsupported {} {}", escape(what), or_none(*place))
            }
            Message::Overtaken { number, executions } => {
                write!(f, "overtaken {number} {executions}")
            }
            Message::Shared { addr, len } => write!(f, "shared {addr:#x} {len:#x}"),
            Message::Again => write!(f, "again"),
            Message::Token { number, execution, schedule } => {
                write!(f, "token {number} {execution} {}", escape(schedule))
            }
            Message::Diverged { step, thread } => write!(f, "diverged {step} {thread}"),
            Message::Unserializable { execution, schedule, executions } => {
                write!(f, "unserializable {execution} {} {executions}", escape(schedule))
            }
            Message::Idle(times) => write!(f, "idle {times}"),
            Message::Threads(most) => write!(f, "threads {most}"),
            Message::Mixed(model) => write!(f, "mixed {model}"),
            Message::Volatile(place) => write!(f, "volatile {}", or_none(*place)),
            Message::Transactions(number) => write!(f, "transactions {number}"),
            Message::Exits(executions) => write!(f, "exits {executions}"),
            Message::Assumed(executions) => write!(f, "assumed {executions}"),
            Message::Left(executions) => write!(f, "left {executions}"),
            Message::Undone(times) => write!(f, "undone {times}"),
            Message::Progress { executions, steps } => write!(f, "progress {executions} {steps}"),
            Message::Preempted { preemptions, executions } => {
                write!(f, "preempted {preemptions} {executions}")
            }
            Message::Met { place, thread, other, met: Met { before, after } } => {
                write!(f, "met {place} {thread} {} {before} {after}", or_none(*other))
            }
            Message::Step(step) => write!(f, "step {step}"),
            Message::Looked(after, step) => write!(f, "looked {after} {step}"),
            Message::Memory(step) => write!(f, "memory {step}"),
            Message::Frame(frame) => write!(f, "frame {frame}"),
            Message::Calls(places) => write!(f, "calls {}", joined(places)),
            Message::Waits(waiter) => write!(f, "waits {waiter}"),
            Message::Done { how, executions, steps } => {
                write!(f, "done {how} {executions} {steps}")
            }
            Message::Rest { executions, steps, rest } => {
                write!(f, "rest {executions} {steps} {}", escape(rest))
            }
            Message::Defect(text) => write!(f, "defect {}", escape(text)),
        }
    }
}

/// Writes a field that may be missing, `-` for `None`.
fn or_none<T: fmt::Display>(it: Option<T>) -> String {
    it.map_or("-".to_owned(), |it| it.to_string())
}

impl fmt::Display for TracedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TracedStep { thread, kind, order, addr, len, old, value, place } = self;
        let (old, value, place) = (or_none(*old), or_none(*value), or_none(*place));
        write!(f, "{thread} {kind:?} {order:?} {addr:#x} {len} {old} {value} {place}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.module {
            Some(module) => write!(f, "{module}+{:#x}", self.offset),
            None => write!(f, "{:#x}", self.offset),
        }
    }
}

impl fmt::Display for PlacedFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacedFence::Full(after, before) => write!(f, "f:{after}:{before}"),
            PlacedFence::Stores(after, before) => write!(f, "s:{after}:{before}"),
            PlacedFence::Order(at, order) => write!(f, "o:{at}:{order:?}"),
        }
    }
}

impl fmt::Display for Related {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Related { what, thread, place } = self;
        let thread = thread.map_or("-".to_owned(), |t| t.to_string());
        write!(f, "{thread}:{place}:{}", escape(what).replace(',', "%2C"))
    }
}

impl Related {
    fn parse(word: &str) -> Option<Related> {
        let mut words = word.splitn(3, ':');
        let thread = optional(words.next()?, |w| w.parse().ok())?;
        let place = place(words.next()?)?;
        Some(Related { what: unescape(words.next()?)?, thread, place })
    }
}

impl PlacedFence {
    /// The fence at the addresses that its places have in a run; nothing if they have none.
    pub fn addressed(self, address: impl Fn(Place) -> Option<u64>) -> Option<Extra> {
        Some(match self {
            PlacedFence::Full(after, before) => Extra::Full(address(after)?, address(before)?),
            PlacedFence::Stores(after, before) => Extra::Stores(address(after)?, address(before)?),
            PlacedFence::Order(at, order) => Extra::Order(address(at)?, order),
        })
    }

    /// Replaces the program addresses in a fence by source places.
    pub fn placed(extra: Extra, place: impl Fn(u64) -> Place) -> PlacedFence {
        match extra {
            Extra::Full(after, before) => PlacedFence::Full(place(after), place(before)),
            Extra::Stores(after, before) => PlacedFence::Stores(place(after), place(before)),
            Extra::Order(at, order) => PlacedFence::Order(place(at), order),
        }
    }
}

/// Fences as they are written in messages, with commas.
#[must_use]
pub fn fences(word: &str) -> Option<Vec<PlacedFence>> {
    let fence = |word: &str| {
        let mut words = word.split(':');
        let kind = words.next()?;
        let (at, last) = (place(words.next()?)?, words.next()?);
        let fence = match kind {
            "f" => PlacedFence::Full(at, place(last)?),
            "s" => PlacedFence::Stores(at, place(last)?),
            "o" => PlacedFence::Order(at, Order::named(last)?),
            _ => return None,
        };
        words.next().is_none().then_some(fence)
    };
    list(word, fence)
}

/// Things with commas between them.
fn list<T>(word: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    if word == "-" { Some(Vec::new()) } else { word.split(',').map(read).collect() }
}

/// Writes a list that [`list`] reads.
fn joined<T: fmt::Display>(items: &[T]) -> String {
    let words: Vec<String> = items.iter().map(T::to_string).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(",") }
}

fn place(word: &str) -> Option<Place> {
    Some(match word.split_once('+') {
        Some((module, offset)) => {
            Place { module: Some(module.parse().ok()?), offset: hex(offset)? }
        }
        None => Place { module: None, offset: hex(word)? },
    })
}

fn model(word: &str) -> Option<Model> {
    Model::ALL.into_iter().find(|model| model.to_string() == word)
}

/// Parses a field in which `-` means `None`.
fn optional<T>(word: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if word == "-" { Some(None) } else { read(word).map(Some) }
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// A word for any text; an empty one is `-`, and `-` is escaped.
fn escape(text: &str) -> String {
    use fmt::Write;
    match text {
        "" => return "-".to_owned(),
        "-" => return "%2D".to_owned(),
        _ => {}
    }
    let mut out = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn unescape(word: &str) -> Option<String> {
    if word == "-" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    // A program may print what is no UTF-8.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

impl OpKind {
    fn named(word: &str) -> Option<OpKind> {
        KINDS.into_iter().find(|kind| format!("{kind:?}") == word)
    }
}

impl Order {
    fn named(word: &str) -> Option<Order> {
        use Order::{AcqRel, Acquire, Plain, Relaxed, Release, SeqCst};
        [Plain, Relaxed, Acquire, Release, AcqRel, SeqCst]
            .into_iter()
            .find(|order| format!("{order:?}") == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weakspot_core::Drain;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let place = Place { module: Some(2), offset: 0x1f };
        let alone = Place { module: None, offset: 0xffff };
        let fences = vec![
            PlacedFence::Full(place, alone),
            PlacedFence::Stores(alone, place),
            PlacedFence::Order(place, Order::Release),
        ];
        let messages = [
            Message::Module { base: 0x5555_0000, end: 0x5556_0000, path: "/a b/%prog-é".into() },
            Message::Failure {
                number: 1,
                kind: "assertion".into(),
                thread: Some(3),
                place: Some(place),
                execution: 17,
                schedule: "w1.0*3".into(),
                text: "x == 1\nfoo".into(),
                related: vec![
                    Related { what: "freed, here: it".into(), thread: Some(2), place },
                    Related { what: String::new(), thread: None, place: alone },
                ],
            },
            Message::Failure {
                number: 2,
                kind: "deadlock".into(),
                thread: None,
                place: None,
                execution: 1,
                schedule: String::new(),
                text: "-".into(),
                related: Vec::new(),
            },
            Message::Overtaking {
                number: 3,
                model: Model::Pso(Drain::Own),
                store: place,
                access: alone,
                execution: 9,
                schedule: "s".into(),
                fences,
            },
            Message::Seen { number: 3, executions: 44 },
            Message::Outside { what: "writes to a file".into(), places: Vec::new() },
            Message::Memory(MemoryStep {
                what: MemoryChange::Allocated,
                thread: 2,
                addr: 0x3000,
                len: 24,
                places: vec![Place { module: Some(0), offset: 16 }],
            }),
            Message::Memory(MemoryStep {
                what: MemoryChange::Misused(OpKind::Free),
                thread: 0,
                addr: 0x3000,
                len: 1,
                places: Vec::new(),
            }),
            Message::Frame(StackFrame { sp: 0x2000, bp: 0, place }),
            Message::Calls(vec![place, alone]),
            Message::Waits(Waiter {
                thread: 1,
                what: Awaited::Lock,
                addr: 0x3000,
                len: 40,
                calls: vec![place],
            }),
            Message::Unsupported { what: "fork".into(), place: None },
            Message::Overtaken { number: 3, executions: 5 },
            Message::Shared { addr: 0x4010, len: 8 },
            Message::Again,
            Message::Token { number: 1, execution: 2, schedule: "w1".into() },
            Message::Diverged { step: 4, thread: 1 },
            Message::Unserializable { execution: 2, schedule: "w1".into(), executions: 3 },
            Message::Idle(0),
            Message::Threads(2),
            Message::Exits(3),
            Message::Assumed(4),
            Message::Left(5),
            Message::Undone(6),
            Message::Transactions(2),
            Message::Mixed(Model::Tso),
            Message::Volatile(Some(place)),
            Message::Volatile(None),
            Message::Progress { executions: 5, steps: 6 },
            Message::Preempted { preemptions: 2, executions: 9 },
            Message::Met {
                place,
                thread: 1,
                other: Some(2),
                met: Met { before: true, after: false },
            },
            Message::Met { place: alone, thread: 1, other: None, met: Met::default() },
            Message::Step(TracedStep {
                thread: 1,
                kind: OpKind::Update,
                order: Order::AcqRel,
                addr: 0x10,
                len: 8,
                old: Some(u64::MAX),
                value: None,
                place: Some(place),
            }),
            Message::Looked(
                3,
                TracedStep {
                    thread: 0,
                    kind: OpKind::Read,
                    order: Order::Plain,
                    addr: 0x10,
                    len: 4,
                    old: None,
                    value: Some(7),
                    place: None,
                },
            ),
            Message::Done { how: "complete".into(), executions: 7, steps: 8 },
            Message::Defect("oh no".into()),
        ];
        for message in messages {
            let line = message.to_string();
            assert!(!line.contains('\n'));
            assert_eq!(Message::parse(&line), Ok(message), "{line}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for line in ["", "module", "module 12 x", "seen 1 2 3", "step 0 Jump Relaxed 0x1 1 - - -"] {
            assert!(Message::parse(line).is_err(), "{line}");
        }
    }
}
