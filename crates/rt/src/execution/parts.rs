//! Parts of an exploration that several programs share: which ones comes through a pipe, and what they
//! have led to is reported.

use weakspot_live::wire::Message;

use crate::Runtime;
use crate::sys;

/// How often it is looked whether an end is wanted, in milliseconds.
const LOOK: i64 = 20;

/// Where parts come from, and the one that is explored.
pub struct Parts {
    /// The pipe, or negative: then everything is explored.
    fd: i32,
    /// What was read from it, and not yet used.
    read: Vec<u8>,
    /// The part, if there is one.
    part: Option<String>,
    /// Whether it is the first of all: nothing else was explored yet.
    first: bool,
    /// It has to be explored again, and so has everything else.
    again: bool,
}

impl Parts {
    /// From this pipe, or, if negative, everything.
    pub fn new(fd: i32) -> Parts {
        Parts { fd, read: Vec::new(), part: None, first: false, again: false }
    }
}

impl Runtime {
    /// Begins the next execution; why there is none, if so.
    pub fn begin_next(&mut self) -> Option<&'static str> {
        if self.parts.fd < 0 {
            if self.scheduler.strategy().begin() {
                return None;
            }
            let complete = self.scheduler.strategy().complete();
            return Some(if complete { "complete" } else { "incomplete" });
        }
        loop {
            if self.parts.again {
                return Some("again");
            }
            if self.parts.part.is_some() {
                if self.scheduler.strategy().begin() {
                    return None;
                }
                let rest = self.scheduler.strategy().rest();
                let (executions, steps) = (self.signals().executions(), self.signals().steps());
                self.reporter.send(&Message::Rest { executions, steps, rest });
                self.parts.part = None;
            }
            let part = match self.wait_for_part() {
                Ok(part) => part,
                Err(how) => return Some(how),
            };
            let (number, text) = part.split_once(' ').unwrap_or(("", &part));
            if !self.scheduler.strategy().start(text) {
                return Some("defect");
            }
            self.parts.first = number == "0";
            self.parts.part = Some(text.to_owned());
        }
    }

    /// The exploration starts again. The first part can be explored again; the others belong to a whole
    /// that knew less.
    pub fn restart_part(&mut self) {
        let Some(part) = &self.parts.part else { return };
        if self.parts.first {
            self.scheduler.strategy().start(part);
        } else {
            self.parts.again = true;
        }
    }

    /// The next line of the pipe; why there is none.
    fn wait_for_part(&mut self) -> Result<String, &'static str> {
        loop {
            if let Some(end) = self.parts.read.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.parts.read.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.signals().stopped() {
                return Err("timeout");
            }
            if !sys::is_readable(self.parts.fd, LOOK) {
                continue;
            }
            let mut bytes = [0_u8; 4096];
            match sys::read(self.parts.fd, &mut bytes) {
                0 => return Err("parts"),
                n => self.parts.read.extend_from_slice(&bytes[..n]),
            }
        }
    }
}
