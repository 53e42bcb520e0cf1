//! Several children that explore parts of a whole.

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use tempfile::TempDir;
use weakspot_live::Parts;
use weakspot_live::wire::{Config, Message};

use super::{Child, Group, LOOK, OVERTIME, name_of, pass_on, status_text};
use crate::explore::pieces::merged;
use crate::explore::record::{Call, Exchange};
use crate::{Ended, Error, Result, Shared, Start};

/// A line of who has this number.
type Line = (usize, String);

/// A child.
struct Worker {
    group: Group,
    _scratch: Option<TempDir>,
    /// Our ends of its pipes. Parts go through the first; nothing if there will be no more.
    parts: Option<PipeWriter>,
    /// Its own ends, which it opens by name, until it has.
    ends: Option<(PipeReader, PipeWriter)>,
    /// The part that it explores.
    part: Option<u64>,
    /// Its executions up to that part.
    executions: u64,
    /// What it exchanges with other workers.
    exchange: Exchange,
    done: bool,
    /// Whether it ended because there were no more parts.
    is_through: bool,
}

/// All of them.
struct Workers<'a> {
    child: &'a Child<'a>,
    /// What all of them get.
    config: Config,
    all: Vec<Worker>,
    sender: Sender<Line>,
    /// Whether the program changes something outside of itself, so that there may be one only.
    outside: bool,
    /// What was heard of those who were ended so that it can be kept, and what parts led to.
    call: Call,
    /// Since when no parts are handed out, so that all end.
    ending: Option<Instant>,
    /// When the time is over.
    until: Instant,
}

/// Lets at most so many children explore the parts.
pub(super) fn run(
    child: &Child<'_>,
    start: &Start<'_>,
    most: usize,
    parts: &mut Parts,
    hear: &mut dyn FnMut(usize, Message) -> bool,
) -> Result<Shared> {
    let (sender, lines) = channel();
    let config = start.config.clone();
    let call = child.record.map(|record| record.begin(&config)).unwrap_or_default();
    let (all, outside, ending) = (Vec::new(), false, None);
    let until = Instant::now() + start.most;
    let mut workers = Workers { child, config, all, sender, outside, call, ending, until };
    if workers.hear_again(parts, hear)? {
        return Ok(workers.shared(Ended::Heard, false));
    }
    match workers.call.ended {
        Some(again) => return Ok(workers.shared(Ended::Heard, again)),
        None if !parts.is_over() => workers.add(start.output && workers.call.parts.is_empty())?,
        None => {}
    }
    let (ended, again) = workers.follow(start, most, parts, &lines, hear)?;
    // Who was stopped has not said all.
    let is_whole = parts.is_over() && workers.all.iter().all(|worker| worker.is_through);
    if child.record.is_some() && ended == Ended::Heard && (again || is_whole) {
        workers.call.ended = Some(again);
        workers.keep(Instant::now());
    }
    Ok(workers.shared(ended, again))
}

impl Workers<'_> {
    /// Hears what was kept; whether that is enough.
    fn hear_again(
        &mut self,
        parts: &mut Parts,
        hear: &mut dyn FnMut(usize, Message) -> bool,
    ) -> Result<bool> {
        self.call.restore(parts)?;
        let mut enough = false;
        for number in 0..self.call.workers.len() {
            for line in &self.call.workers[number].lines {
                let message = Message::parse(line).map_err(Error::because(
                    "the checkpoint says something that is not understood",
                ))?;
                match message {
                    Message::Shared { addr, len } if number == 0 => {
                        learn(&mut self.config, addr, len)
                    }
                    Message::Outside { .. } => self.outside = true,
                    _ => {}
                }
                enough |= hear(number, message);
            }
        }
        Ok(enough)
    }

    /// Whether those who have ended did so because nothing was handed out, and there is more.
    fn may_go_on(&self, parts: &Parts) -> bool {
        !parts.is_over() && self.all.iter().all(|worker| worker.is_through)
    }

    /// What came of all of them.
    fn shared(&self, ended: Ended, again: bool) -> Shared {
        let running = self.all.iter().map(|worker| &worker.exchange);
        let given = self.call.workers.iter().chain(running).map(|exchange| exchange.given.clone());
        Shared { ended, again, given: given.collect() }
    }

    /// Keeps what is known. All have ended.
    fn keep(&mut self, since: Instant) {
        let Some(record) = self.child.record else { return };
        self.call.workers.extend(self.all.drain(..).map(|worker| worker.exchange));
        record.keep(&self.call, since);
    }

    fn add(&mut self, output: bool) -> Result<()> {
        let failed = || Error::because("failed to make a pipe");
        let (reader, report) = pipe().map_err(failed())?;
        let (source, parts) = pipe().map_err(failed())?;
        let config = Config {
            report: Some(name_of(&report)),
            parts: Some(name_of(&source)),
            timeout: self.until.saturating_duration_since(Instant::now()).as_millis().max(1) as u64,
            ..self.config.clone()
        };
        let (group, scratch) = self.child.begin(&config, output)?;
        let number = self.call.workers.len() + self.all.len();
        let sender = self.sender.clone();
        pass_on(reader, move |line| sender.send((number, line)).is_ok());
        self.all.push(Worker {
            group,
            _scratch: scratch,
            parts: Some(parts),
            ends: Some((source, report)),
            part: None,
            executions: 0,
            exchange: Exchange::default(),
            done: false,
            is_through: false,
        });
        Ok(())
    }

    /// Passes on messages until all have ended; why that is so, and whether all parts have to be made again.
    fn follow(
        &mut self,
        start: &Start<'_>,
        most: usize,
        parts: &mut Parts,
        lines: &Receiver<Line>,
        hear: &mut dyn FnMut(usize, Message) -> bool,
    ) -> Result<(Ended, bool)> {
        let mut until = Instant::now() + start.most + OVERTIME;
        let mut asked = false;
        // Since when somebody is gone without having said so.
        let mut gone: Option<Instant> = None;
        let ended = |asked: bool| if asked { Ended::Stopped } else { Ended::Heard };
        loop {
            self.end_to_keep(parts);
            self.hand_out(parts, most)?;
            match lines.recv_timeout(LOOK) {
                Ok((number, line)) => {
                    gone = None;
                    let message = Message::parse(&line).map_err(Error::because(
                        "the runtime library said something that is not understood",
                    ))?;
                    let how = match &message {
                        Message::Done { how, .. } => Some(how.clone()),
                        _ => None,
                    };
                    if self.take(number, message, parts, hear)? {
                        return Ok((Ended::Heard, false));
                    }
                    if how.as_deref() == Some("again") {
                        return Ok((ended(asked), true));
                    }
                    if self.all.iter().all(|worker| worker.done) {
                        match self.ending.take() {
                            // Others go on.
                            Some(since) if !asked && self.may_go_on(parts) => {
                                self.keep(since);
                                self.add(false)?;
                            }
                            _ => return Ok((ended(asked), false)),
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    // What it said last may still be on its way, on a machine with much to do.
                    if let Some(status) = self.gone()?
                        && gone.get_or_insert_with(Instant::now).elapsed() > OVERTIME
                    {
                        return Ok((if asked { Ended::Stopped } else { status }, false));
                    }
                }
                // There is a sender as long as this is.
                Err(RecvTimeoutError::Disconnected) => return Ok((ended(asked), false)),
            }
            if !asked && (start.stop)() {
                asked = true;
                for worker in &self.all {
                    until = worker.group.ask_to_end();
                }
            }
            if Instant::now() > until {
                return Ok((if asked { Ended::Stopped } else { Ended::Overdue }, false));
            }
        }
    }

    /// Takes a message; whether it was the last one that is wanted.
    fn take(
        &mut self,
        number: usize,
        message: Message,
        parts: &mut Parts,
        hear: &mut dyn FnMut(usize, Message) -> bool,
    ) -> Result<bool> {
        let at = number.checked_sub(self.call.workers.len());
        // One that was ended says nothing more.
        let Some(worker) = at.and_then(|at| self.all.get_mut(at)) else { return Ok(false) };
        // It has opened its ends of the pipes by now.
        worker.ends = None;
        if self.child.record.is_some() && is_kept(&message) {
            worker.exchange.lines.push(message.to_string());
        }
        match message {
            Message::Rest { executions, steps, rest } => {
                let Some(part) = worker.part.take() else {
                    return Err(Error::defect("a part was handed in that nobody has"));
                };
                let own = executions - worker.executions;
                worker.executions = executions;
                if self.child.record.is_some() {
                    self.call.take(part, &rest, own);
                }
                if !parts.hand_in(part, rest, own) {
                    return Err(Error::defect("what came of a part is not understood"));
                }
                return Ok(hear(number, Message::Progress { executions, steps }));
            }
            // Only the first one learns before there are others.
            Message::Shared { addr, len } if number == 0 => learn(&mut self.config, addr, len),
            Message::Outside { .. } => self.outside = true,
            Message::Done { ref how, .. } => {
                (worker.done, worker.is_through) = (true, how == "parts");
            }
            _ => {}
        }
        Ok(hear(number, message))
    }

    /// Lets all of them end when it is time to keep what is known.
    fn end_to_keep(&mut self, parts: &Parts) {
        let Some(record) = self.child.record else { return };
        if self.ending.is_none() && !parts.is_over() && record.is_due() {
            self.ending = Some(Instant::now());
        }
        if self.ending.is_some() && self.all.iter().all(|worker| worker.part.is_none()) {
            self.all.iter_mut().for_each(|worker| worker.parts = None);
        }
    }

    /// Gives those parts who have none. If there is nothing left, and nothing will be, all of them end.
    fn hand_out(&mut self, parts: &mut Parts, most: usize) -> Result<()> {
        loop {
            if parts.is_over() {
                self.all.iter_mut().for_each(|worker| worker.parts = None);
                return Ok(());
            }
            if self.ending.is_some() || !parts.has_more() {
                return Ok(());
            }
            let free = |worker: &Worker| worker.part.is_none() && worker.parts.is_some();
            let Some(at) = self.all.iter().position(free) else {
                if self.all.len() >= most || self.outside {
                    return Ok(());
                }
                self.add(false)?;
                continue;
            };
            let Some((number, text)) = parts.hand_out() else { return Ok(()) };
            let worker = &mut self.all[at];
            worker.part = Some(number);
            worker.exchange.given.push((number, worker.executions));
            if let Some(pipe) = &mut worker.parts {
                // Who is gone says so otherwise.
                let _ = pipe.write_all(format!("{number} {text}\n").as_bytes());
            }
        }
    }

    /// How one has ended who should not have, if any.
    fn gone(&mut self) -> Result<Option<Ended>> {
        for worker in self.all.iter_mut().filter(|worker| !worker.done) {
            let status = worker.group.child.try_wait();
            let status = status.map_err(Error::because("failed to wait for the program"))?;
            if let Some(status) = status {
                return Ok(Some(Ended::Silent(status_text(status))));
            }
        }
        Ok(None)
    }
}

/// Whether a message is wanted again by who goes on.
fn is_kept(message: &Message) -> bool {
    !matches!(message, Message::Rest { .. } | Message::Progress { .. })
}

/// What the first one has found to be shared is known to all that come after it.
fn learn(config: &mut Config, addr: u64, len: u64) {
    let known = [&config.shared[..], &[(addr, len)]].concat();
    config.shared = merged(&known);
}
