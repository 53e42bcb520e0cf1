//! What the library tells: [messages](weakspot_live::wire), a line each, written to the descriptor
//! that the configuration names.

use core::fmt::Write;

use weakspot_live::wire::{Message, Place, PlacedFence};
use weakspot_live::{Schedule, Watch, preventing};

use crate::runtime::Runtime;
use crate::sys;

/// A file that is mapped.
pub struct Module {
    /// The lowest address, to which offsets are relative.
    pub base: usize,
    /// The end of the mapping.
    pub end: usize,
    /// The file.
    pub path: String,
}

/// Something that was found, once for all executions that show it.
pub struct Finding {
    kind: &'static str,
    place: Option<Place>,
    text: String,
    times: u64,
    /// Whether there is a schedule for it that is right.
    replayable: bool,
}

/// Writes a message.
pub fn tell(fd: i32, message: &Message) {
    sys::write_all(fd, format!("{message}\n").as_bytes());
}

/// An address as it can be looked up in any run; 0 is none.
pub unsafe fn place(rt: *const Runtime, pc: usize) -> Option<Place> {
    let modules = &(*rt).modules;
    let module = modules.iter().position(|m| (m.base..m.end).contains(&pc));
    let base = module.map_or(0, |m| modules[m].base);
    let offset = (pc - base) as u64;
    (pc != 0).then_some(Place { module: module.and_then(|m| u16::try_from(m).ok()), offset })
}

/// Reports something that an execution showed; only its first time is a message.
pub unsafe fn finding(
    rt: *mut Runtime,
    kind: &'static str,
    thread: Option<usize>,
    pc: usize,
    text: &str,
) {
    let place = place(rt, pc);
    let findings = &mut (*rt).findings;
    let known = findings.iter().position(|f| f.kind == kind && f.place == place && f.text == text);
    let number = known.unwrap_or(findings.len()) as u64 + 1;
    let (fd, execution) = ((*rt).config.fd, (*rt).executions + 1);
    // An execution to learn from has steps that were not announced, so it cannot be replayed.
    let replayable = !(*rt).learning;
    let schedule = if replayable { (*rt).schedule.to_string() } else { String::new() };
    if let Some(known) = known {
        let known = &mut findings[known];
        known.times += 1;
        if replayable && !known.replayable {
            known.replayable = true;
            tell(fd, &Message::Token { number, execution, schedule });
        }
        return;
    }
    findings.push(Finding { kind, place, text: text.to_owned(), times: 1, replayable });
    let thread = thread.map(|t| t as u16);
    let (kind, text) = (kind.to_owned(), text.to_owned());
    tell(fd, &Message::Failure { number, kind, thread, place, execution, schedule, text });
}

/// Reports the last `new` findings of the monitors.
pub unsafe fn overtakings(rt: *mut Runtime, new: usize) {
    let Some(watch) = &(*rt).watch else { return };
    let findings = watch.findings();
    let nowhere = Place { module: None, offset: 0 };
    let at = |pc: u64| place(rt, pc as usize).unwrap_or(nowhere);
    for (i, f) in findings.iter().enumerate().skip(findings.len() - new) {
        let fences = preventing(watch.steps(), f, watch.extra())
            .into_iter()
            .map(|extra| PlacedFence::placed(extra, at))
            .collect();
        let message = Message::Overtaking {
            number: i as u64 + 1,
            model: f.model,
            store: at(f.store),
            access: at(f.access),
            execution: (*rt).executions + 1,
            schedule: shown(rt, watch, f).to_string(),
            fences,
        };
        tell((*rt).config.fd, &message);
    }
}

/// The schedule of those steps of the last execution that show a finding.
unsafe fn shown(rt: *const Runtime, watch: &Watch, finding: &weakspot_live::Finding) -> Schedule {
    let mut until = vec![0; (*rt).count];
    for &step in &finding.shown {
        until[usize::from(watch.steps()[step].thread)] = (&(*rt).taken)[step];
    }
    (&(*rt).schedule).part(&until)
}

/// Reports once that the program does something that the library cannot.
pub unsafe fn unsupported(rt: *mut Runtime, what: &'static str, pc: usize) {
    if !(*rt).unsupported.contains(&what) {
        (*rt).unsupported.push(what);
        let place = place(rt, pc);
        tell((*rt).config.fd, &Message::Unsupported { what: what.to_owned(), place });
    }
}

/// The files that are mapped.
pub unsafe fn modules(rt: *const Runtime) {
    for m in &(*rt).modules {
        let (base, end) = (m.base as u64, m.end as u64);
        tell((*rt).config.fd, &Message::Module { base, end, path: m.path.clone() });
    }
}

/// The exploration starts again: schedules and counts that were told mean nothing any more.
pub unsafe fn again(rt: *mut Runtime) {
    tell((*rt).config.fd, &Message::Again);
    for f in &mut (*rt).findings {
        f.times = 0;
        f.replayable = false;
    }
}

/// Bytes turn out to be shared.
pub unsafe fn shared(rt: *const Runtime, addr: usize, len: usize) {
    tell((*rt).config.fd, &Message::Shared { addr: addr as u64, len: len as u64 });
}

/// How far it is. The keeper says that while the worker runs, so nothing may be allocated.
pub unsafe fn progress(rt: *const Runtime) {
    struct Text([u8; 80], usize);
    impl Write for Text {
        fn write_str(&mut self, s: &str) -> core::fmt::Result {
            let end = self.1 + s.len();
            self.0.get_mut(self.1..end).ok_or(core::fmt::Error)?.copy_from_slice(s.as_bytes());
            self.1 = end;
            Ok(())
        }
    }
    let mut text = Text([0; 80], 0);
    if writeln!(text, "progress {} {}", (*rt).executions, (*rt).all_steps).is_ok() {
        sys::write_all((*rt).config.fd, &text.0[..text.1]);
    }
}

/// The last messages.
pub unsafe fn done(rt: *const Runtime, how: &str) {
    let tell = |message: Message| tell((*rt).config.fd, &message);
    let number = |i: usize| i as u64 + 1;
    for (i, f) in (&(*rt).findings).iter().enumerate() {
        tell(Message::Seen { number: number(i), executions: f.times });
    }
    if let Some(watch) = &(*rt).watch {
        watch.mixed().into_iter().for_each(|model| tell(Message::Mixed(model)));
        for (i, f) in watch.findings().iter().enumerate() {
            tell(Message::Overtaken { number: number(i), executions: f.executions });
        }
        let (executions, first) = watch.unserializable();
        if executions > 0 {
            let (execution, schedule) = (first + 1, (*rt).unserializable.clone());
            tell(Message::Unserializable { execution, schedule, executions });
        }
    }
    if (*rt).cut > 0 {
        tell(Message::Cut((*rt).cut));
    }
    if (*rt).guesses > 0 {
        tell(Message::Idle((*rt).guesses));
    }
    if (*rt).exits > 0 {
        tell(Message::Exits((*rt).exits));
    }
    let (executions, steps) = ((*rt).executions, (*rt).all_steps);
    tell(Message::Done { how: how.to_owned(), executions, steps });
}
