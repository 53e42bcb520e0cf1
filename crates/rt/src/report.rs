//! What the library reports: [messages](weakspot_live::wire), a line each, written to the descriptor
//! that the configuration names.

use weakspot_live::wire::{CALLS, Message, Place, Related, SLEPT};

use crate::Runtime;
use crate::sys;

/// Exit code of a process in which the library itself has failed.
pub const DEFECT: i32 = 70;

/// What was reported, and where things are in the files of the program.
pub struct Reporter {
    fd: i32,
    /// Files that are mapped.
    modules: Vec<Module>,
    /// The library's own code, from and to.
    own_code: (usize, usize),
    /// What was found.
    findings: Vec<Finding>,
    /// What was said to be unsupported.
    unsupported: Vec<&'static str>,
    /// What was said to happen outside.
    outside: Vec<&'static str>,
}

/// A file that is mapped.
pub struct Module {
    /// The lowest address, to which offsets are relative.
    pub base: usize,
    /// The end of the mapping.
    pub end: usize,
    /// Its instructions.
    pub code: core::ops::Range<usize>,
    /// The file.
    pub path: String,
}

/// Something that was found, once for all executions that show it.
struct Finding {
    kind: &'static str,
    place: Option<Place>,
    text: String,
    related: Vec<Place>,
    times: u64,
    /// Whether there is a schedule for it that is right.
    replayable: bool,
}

/// What a thread is called.
pub fn thread_name(thread: usize) -> String {
    if thread == 0 { "main".to_owned() } else { format!("T{thread}") }
}

/// Writes a message.
pub fn send(fd: i32, message: &Message) {
    sys::write_all(fd, format!("{message}\n").as_bytes());
}

impl Runtime {
    /// Where threads have slept in this execution.
    fn slept(&self) -> Vec<Related> {
        let place = |thread: usize, pc: usize| {
            let (what, thread) = (SLEPT.to_owned(), Some(thread as u16));
            Some(Related { what, thread, place: self.reporter.place(pc)? })
        };
        let slept = self.clock.slept().iter();
        slept.flat_map(|(t, calls)| calls.iter().filter_map(|&pc| place(*t, pc))).collect()
    }

    /// Reports something that the current execution shows; only its first time is a message.
    pub fn finding(&mut self, kind: &'static str, thread: Option<usize>, pc: usize, text: &str) {
        self.related_finding(kind, thread, pc, text, &[]);
    }

    /// The same with other places that have to do with it: what happened, by which thread, where.
    pub fn related_finding(
        &mut self,
        kind: &'static str,
        thread: Option<usize>,
        pc: usize,
        text: &str,
        related: &[(&str, Option<usize>, usize)],
    ) {
        let execution = self.signals().executions() + 1;
        let schedule = self.exploration.replayable();
        let related = related.iter().filter_map(|&(what, thread, pc)| {
            let thread = thread.map(|t| t as u16);
            Some(Related { what: what.to_owned(), thread, place: self.reporter.place(pc)? })
        });
        let related = related.collect();
        let mut slept = self.slept();
        if self.config.trace && pc != 0 && thread == Some(self.threads.current()) {
            let calls = self.calls().into_iter().filter_map(|pc| self.reporter.place(pc));
            let (what, thread) = (CALLS, thread.map(|t| t as u16));
            slept.extend(calls.map(|place| Related { what: what.to_owned(), thread, place }));
            self.trace_looks();
        }
        self.reporter.finding(kind, thread, pc, text, (related, slept), (execution, schedule));
    }

    /// Reports once that the program does something that the library cannot.
    pub fn unsupported(&mut self, what: &'static str, pc: usize) {
        self.reporter.unsupported(what, pc);
    }

    /// Reports once that the program changes something outside of itself.
    pub fn changes_outside(&mut self, what: &'static str) {
        if !self.reporter.outside.contains(&what) {
            let calls = self.calls();
            let reporter = &mut self.reporter;
            reporter.outside.push(what);
            let places = calls.iter().filter_map(|&pc| reporter.place(pc)).collect();
            reporter.send(&Message::Outside { what: what.to_owned(), places });
        }
    }

    /// The last messages.
    pub fn report_end(&self, how: &str) {
        let send = |message: Message| self.reporter.send(&message);
        for (i, f) in self.reporter.findings.iter().enumerate() {
            send(Message::Seen { number: i as u64 + 1, executions: f.times });
        }
        self.monitors.report(&self.reporter);
        let counts = self.exploration.counts();
        if counts.guesses > 0 {
            send(Message::Idle(counts.guesses));
        }
        if counts.exits > 0 {
            send(Message::Exits(counts.exits));
        }
        if counts.assumed > 0 {
            send(Message::Assumed(counts.assumed));
        }
        if counts.left > 0 {
            send(Message::Left(counts.left));
        }
        if counts.undone > 0 {
            send(Message::Undone(counts.undone));
        }
        if counts.transactions > 0 {
            send(Message::Transactions(counts.transactions));
        }
        let harness = usize::from(self.config.harness);
        send(Message::Threads(self.exploration.threads().saturating_sub(harness) as u64));
        let (executions, steps) = (self.signals().executions(), self.signals().steps());
        send(Message::Done { how: how.to_owned(), executions, steps });
    }
}

impl Reporter {
    /// To this descriptor; nothing is known of files yet.
    pub fn new(fd: i32) -> Reporter {
        Reporter {
            fd,
            modules: Vec::new(),
            own_code: (0, 0),
            findings: Vec::new(),
            unsupported: Vec::new(),
            outside: Vec::new(),
        }
    }

    /// Writes a message.
    pub fn send(&self, message: &Message) {
        send(self.fd, message);
    }

    /// The files that are mapped, which are reported, and where the library itself is.
    pub fn set_modules(&mut self, modules: Vec<Module>, own_code: (usize, usize)) {
        self.modules = modules;
        self.own_code = own_code;
        for m in &self.modules {
            let (base, end) = (m.base as u64, m.end as u64);
            self.send(&Message::Module { base, end, path: m.path.clone() });
        }
    }

    /// The files that are mapped.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// The library's own code, from and to.
    pub fn own_code(&self) -> (usize, usize) {
        self.own_code
    }

    /// Whether an address is one of the library's own code.
    pub fn is_own(&self, pc: usize) -> bool {
        (self.own_code.0..self.own_code.1).contains(&pc)
    }

    /// Where the program begins.
    pub fn program(&self) -> usize {
        let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        let module = self.modules.iter().find(|m| std::path::Path::new(&m.path) == program);
        module.or(self.modules.first()).map_or(0, |m| m.base)
    }

    /// An address as it can be looked up in any run; 0 is none.
    pub fn place(&self, pc: usize) -> Option<Place> {
        let module = self.modules.iter().position(|m| (m.base..m.end).contains(&pc));
        let base = module.map_or(0, |m| self.modules[m].base);
        let offset = (pc - base) as u64;
        (pc != 0).then_some(Place { module: module.and_then(|m| u16::try_from(m).ok()), offset })
    }

    /// The address of a place, in this run.
    pub fn address(&self, place: Place) -> Option<u64> {
        match place.module {
            Some(m) => self.modules.get(usize::from(m)).map(|m| m.base as u64 + place.offset),
            None => Some(place.offset),
        }
    }

    fn finding(
        &mut self,
        kind: &'static str,
        thread: Option<usize>,
        pc: usize,
        text: &str,
        (mut related, slept): (Vec<Related>, Vec<Related>),
        (execution, schedule): (u64, Option<String>),
    ) {
        let place = self.place(pc);
        let findings = &mut self.findings;
        let places: Vec<Place> = related.iter().map(|related| related.place).collect();
        let same = |f: &Finding| {
            f.kind == kind && f.place == place && f.text == text && f.related == places
        };
        let known = findings.iter().position(same);
        let number = known.unwrap_or(findings.len()) as u64 + 1;
        if let Some(known) = known {
            let known = &mut findings[known];
            known.times += 1;
            if let Some(schedule) = schedule
                && !known.replayable
            {
                known.replayable = true;
                self.send(&Message::Token { number, execution, schedule });
            }
            return;
        }
        let replayable = schedule.is_some();
        let text = text.to_owned();
        findings.push(Finding {
            kind,
            place,
            text: text.clone(),
            related: places,
            times: 1,
            replayable,
        });
        let (thread, schedule) = (thread.map(|t| t as u16), schedule.unwrap_or_default());
        let kind = kind.to_owned();
        // These make no other failure of it.
        related.extend(slept);
        self.send(&Message::Failure {
            number,
            kind,
            thread,
            place,
            execution,
            schedule,
            text,
            related,
        });
    }

    fn unsupported(&mut self, what: &'static str, pc: usize) {
        if !self.unsupported.contains(&what) {
            self.unsupported.push(what);
            let place = self.place(pc);
            self.send(&Message::Unsupported { what: what.to_owned(), place });
        }
    }

    /// The exploration starts again: schedules and counts that were reported mean nothing any more.
    pub fn again(&mut self) {
        self.send(&Message::Again);
        for f in &mut self.findings {
            f.times = 0;
            f.replayable = false;
        }
    }

    /// Bytes turn out to be shared.
    pub fn shared(&self, addr: usize, len: usize) {
        self.send(&Message::Shared { addr: addr as u64, len: len as u64 });
    }
}
