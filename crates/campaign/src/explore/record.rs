//! Explorations in parts that are kept, so that they can go on another time.
//!
//! What the children of an exploration have said is all that it knows ([`workers`](crate::runtime::child)). So that is what is kept, for
//! each exploration that a campaign makes: which parts were handed in, with what they led to, and what each
//! child said of its own. Children say in the end how often they have seen something; so they are
//! ended before it is kept, and others go on. Who reads it hears all of it again, in the same order, and explores
//! the parts that are left. Which parts these are does not depend on who explores them
//! ([`Parts`]), nor does the answer.
//!
//! Explorations that are not made in parts, such as the first look, are made again: they are short, or
//! stop at what they find.

use std::io::Read;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weakspot_explore::Keep;
use weakspot_live::Parts;
use weakspot_live::wire::{Config, Message};

use crate::{Error, Result};

/// Children are ended at most so often, and so that this takes less than this share of the time.
const PAUSE: Duration = Duration::from_millis(500);
const SHARE: u32 = 20;

/// What is known of the explorations of a campaign.
pub struct Record<'k> {
    keep: &'k dyn Keep,
    state: Mutex<State>,
}

struct State {
    calls: Vec<Call>,
    /// The first of them that was not asked for.
    next: usize,
    due: Instant,
}

/// An exploration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    /// Which one: its configuration, without what depends on the clock.
    key: String,
    /// What each part led to, in their order, and in how many executions.
    pub(crate) parts: Vec<(String, u64)>,
    /// What the workers that explored the parts have exchanged.
    pub(crate) workers: Vec<Exchange>,
    /// Whether it came to its end; then, whether all parts have to be made again.
    pub(crate) ended: Option<bool>,
}

/// What a child was given and has said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) given: Vec<(u64, u64)>,
    /// Its messages, apart from what parts led to.
    pub(crate) lines: Vec<String>,
}

impl<'k> Record<'k> {
    /// What was kept there, if anything.
    pub fn new(keep: &'k dyn Keep) -> Result<Record<'k>> {
        let mut text = String::new();
        if let Some(earlier) = keep.earlier() {
            let read = earlier.and_then(|mut from| from.read_to_string(&mut text));
            read.map_err(Error::because("failed to read the checkpoint"))?;
        }
        let calls = parse(&text).ok_or_else(|| {
            Error::new("the checkpoint has a good checksum, but is not what an exploration writes")
        })?;
        let state = State { calls, next: 0, due: Instant::now() + PAUSE };
        Ok(Record { keep, state: Mutex::new(state) })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of the exploration with this configuration, if it is the next one.
    pub(crate) fn begin(&self, config: &Config) -> Call {
        let config = Config { timeout: 0, hang: 0, report: None, parts: None, ..config.clone() };
        let key = config.to_string();
        let mut state = self.state();
        let at = state.next;
        state.next += 1;
        match state.calls.get(at) {
            Some(call) if call.key == key => call.clone(),
            // Something else comes now, so that what would follow it is not known either.
            _ => {
                state.calls.truncate(at);
                Call { key, ..Call::default() }
            }
        }
    }

    /// Whether it is time to end the children.
    pub(crate) fn is_due(&self) -> bool {
        self.keep.is_due() && Instant::now() >= self.state().due
    }

    /// Keeps what is known of the exploration that is under way. Ending the children took since then.
    pub(crate) fn keep(&self, call: &Call, since: Instant) {
        let mut state = self.state();
        let at = state.next.saturating_sub(1);
        state.calls.truncate(at);
        state.calls.push(call.clone());
        let text: String = state.calls.iter().map(Call::to_text).collect();
        self.keep.keep(&mut |to| to.write_all(text.as_bytes()));
        state.due = Instant::now() + PAUSE.max(since.elapsed() * SHARE);
    }
}

impl Call {
    /// Hands in the parts again, as they were.
    pub(crate) fn restore(&self, parts: &mut Parts) -> Result<()> {
        // Those of one that has to be made again are not needed, and not all there.
        let known = if self.ended == Some(true) { &[][..] } else { &self.parts };
        for (at, (rest, executions)) in known.iter().enumerate() {
            let number = at as u64;
            let is_next = parts.hand_out().is_some_and(|(next, _)| next == number);
            if !is_next || !parts.hand_in(number, rest.clone(), *executions) {
                return Err(Error::new("the checkpoint is not of this program and these options"));
            }
        }
        Ok(())
    }

    /// What a part has led to. Parts may be handed in out of their order.
    pub(crate) fn take(&mut self, part: u64, rest: &str, executions: u64) {
        let at = part as usize;
        if self.parts.len() <= at {
            self.parts.resize(at + 1, Default::default());
        }
        self.parts[at] = (rest.to_owned(), executions);
    }

    /// As lines. Messages have no line ends.
    fn to_text(&self) -> String {
        let ended = match self.ended {
            None => "open",
            Some(false) => "ended",
            Some(true) => "again",
        };
        let mut text = format!("call {ended} {}\n", self.key);
        for (rest, executions) in &self.parts {
            text += &format!("part {executions} {rest}\n");
        }
        for worker in &self.workers {
            text += "worker\n";
            for (part, before) in &worker.given {
                text += &format!("given {part} {before}\n");
            }
            for line in &worker.lines {
                text += &format!("said {line}\n");
            }
        }
        text
    }
}

/// What [`Call::to_text`] has written.
fn parse(text: &str) -> Option<Vec<Call>> {
    let mut calls: Vec<Call> = Vec::new();
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "call" {
            let (ended, key) = rest.split_once(' ')?;
            let ended = match ended {
                "open" => None,
                "ended" => Some(false),
                "again" => Some(true),
                _ => return None,
            };
            calls.push(Call { key: key.to_owned(), ended, ..Call::default() });
            continue;
        }
        let call = calls.last_mut()?;
        match word {
            "part" => {
                let (executions, rest) = rest.split_once(' ')?;
                call.parts.push((rest.to_owned(), executions.parse().ok()?));
            }
            "worker" => call.workers.push(Exchange::default()),
            "given" => {
                let (part, before) = rest.split_once(' ')?;
                let given = (part.parse().ok()?, before.parse().ok()?);
                call.workers.last_mut()?.given.push(given);
            }
            "said" => {
                Message::parse(rest).ok()?;
                call.workers.last_mut()?.lines.push(rest.to_owned());
            }
            _ => return None,
        }
    }
    Some(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_back() {
        let exchange = Exchange {
            given: vec![(0, 0), (1, 40)],
            lines: vec![
                Message::Shared { addr: 16, len: 8 }.to_string(),
                Message::Done { how: "complete".to_owned(), executions: 44, steps: 99 }.to_string(),
            ],
        };
        let call = |ended| Call {
            key: "fd=3 strategy=dpor".to_owned(),
            parts: vec![("1,2,a".to_owned(), 40), (String::new(), 4)],
            workers: vec![exchange.clone(), Exchange::default()],
            ended,
        };
        let calls = vec![call(Some(true)), call(Some(false)), call(None)];
        let text: String = calls.iter().map(Call::to_text).collect();
        assert_eq!(parse(&text), Some(calls));
        assert_eq!(parse(""), Some(Vec::new()));
        for bad in ["part 1 2", "call shut x", "call open x\nsaid nonsense that no one says", "x"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
