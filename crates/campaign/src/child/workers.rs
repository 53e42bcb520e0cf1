//! Several children that explore parts of a whole.

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use tempfile::TempDir;
use weakspot_live::Parts;
use weakspot_live::wire::{Config, Message};

use super::{Child, Group, LOOK, OVERTIME, name_of, pass_on, status_text};
use crate::pieces::merged;
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
    given: Vec<(u64, u64)>,
    done: bool,
}

/// All of them.
struct Workers<'a> {
    child: &'a Child<'a>,
    /// What all of them are told.
    config: Config,
    all: Vec<Worker>,
    sender: Sender<Line>,
    /// Whether the program changes something outside of itself, so that there may be one only.
    outside: bool,
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
    let mut workers = Workers { child, config, all: Vec::new(), sender, outside: false };
    workers.add(start.output)?;
    let (ended, again) = workers.follow(start, most, parts, &lines, hear)?;
    let given = workers.all.iter().map(|worker| worker.given.clone()).collect();
    Ok(Shared { ended, again, given })
}

impl Workers<'_> {
    fn add(&mut self, output: bool) -> Result<()> {
        let failed = || Error::because("failed to make a pipe");
        let (reader, report) = pipe().map_err(failed())?;
        let (source, parts) = pipe().map_err(failed())?;
        let config = Config {
            report: Some(name_of(&report)),
            parts: Some(name_of(&source)),
            ..self.config.clone()
        };
        let (group, scratch) = self.child.begin(&config, output)?;
        let (number, sender) = (self.all.len(), self.sender.clone());
        pass_on(reader, move |line| sender.send((number, line)).is_ok());
        self.all.push(Worker {
            group,
            _scratch: scratch,
            parts: Some(parts),
            ends: Some((source, report)),
            part: None,
            executions: 0,
            given: Vec::new(),
            done: false,
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
                        return Ok((ended(asked), false));
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
        let worker = &mut self.all[number];
        // It has opened its ends of the pipes by now.
        worker.ends = None;
        match message {
            Message::Rest { executions, steps, rest } => {
                let Some(part) = worker.part.take() else {
                    return Err(Error::defect("a part was handed in that nobody has"));
                };
                let own = executions - worker.executions;
                worker.executions = executions;
                if !parts.hand_in(part, rest, own) {
                    return Err(Error::defect("what came of a part is not understood"));
                }
                return Ok(hear(number, Message::Progress { executions, steps }));
            }
            // Only the first one learns before there are others.
            Message::Shared { addr, len } if number == 0 => {
                let known = [&self.config.shared[..], &[(addr, len)]].concat();
                self.config.shared = merged(&known);
            }
            Message::Outside { .. } => self.outside = true,
            Message::Done { .. } => worker.done = true,
            _ => {}
        }
        Ok(hear(number, message))
    }

    /// Gives those parts who have none. If there is nothing left, and nothing will be, all of them end.
    fn hand_out(&mut self, parts: &mut Parts, most: usize) -> Result<()> {
        loop {
            if parts.is_over() {
                self.all.iter_mut().for_each(|worker| worker.parts = None);
                return Ok(());
            }
            if !parts.has_more() {
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
            worker.given.push((number, worker.executions));
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
