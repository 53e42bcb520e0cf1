//! Explorations that several workers share: what is to be explored is handed out in parts, and what each
//! part leads to is handed in.
//!
//! The answer must not depend on who was faster. So parts are made at fixed moments: at most
//! `AHEAD` of them are out at a time, what they lead to is taken in the order in which they were made,
//! and after each of them as many new ones are made as there is room for. Which parts there are, and
//! what is in them, is then the same with one worker as with many.

use std::collections::VecDeque;
use std::fmt::Write;

/// So many parts are out at most: enough for as many workers, and few enough that what one finds out
/// is soon known to the others.
const AHEAD: usize = 16;

/// A part has at most so many executions.
const MOST: u64 = 400;

/// All that is to be explored, with one strategy.
pub trait Whole {
    /// The next part, of at most so many executions; nothing if there is none, or none until more of what
    /// is out was handed in.
    fn next(&mut self, most: u64) -> Option<String>;

    /// Takes what the oldest part that is out has led to; whether it is understood.
    fn merge(&mut self, rest: &str) -> bool;

    /// Whether everything was explored, when there are no parts left.
    fn complete(&self) -> bool;
}

/// Hands out the parts of a whole.
pub struct Parts {
    whole: Box<dyn Whole>,
    /// Those that were made and not yet taken in, from number `first` on.
    out: VecDeque<Part>,
    first: u64,
    /// The first that nobody has.
    next: u64,
    /// How many executions there may still be.
    left: u64,
    /// How many may be out, and how many executions each may have.
    ahead: usize,
    most: u64,
    /// How many executions there were up to each part that was taken in, and this one.
    sums: Vec<u64>,
}

struct Part {
    text: String,
    /// What it has led to, and in how many executions.
    rest: Option<(String, u64)>,
}

impl Parts {
    /// Of at most so many executions.
    #[must_use]
    pub fn of(whole: Box<dyn Whole>, executions: Option<u64>) -> Parts {
        Parts::with(whole, executions, AHEAD, MOST)
    }

    /// The same with other sizes: so many are out at most, with so many executions each.
    #[must_use]
    pub fn with(whole: Box<dyn Whole>, executions: Option<u64>, ahead: usize, most: u64) -> Parts {
        let left = executions.unwrap_or(u64::MAX);
        let mut parts = Parts {
            whole,
            out: VecDeque::new(),
            first: 0,
            next: 0,
            left,
            ahead,
            most,
            sums: Vec::new(),
        };
        parts.make();
        parts
    }

    /// A part for somebody who has none, by its number; nothing if there is none now.
    pub fn hand_out(&mut self) -> Option<(u64, String)> {
        let part = self.out.get((self.next - self.first) as usize)?;
        self.next += 1;
        Some((self.next - 1, part.text.clone()))
    }

    /// Whether there is a part that nobody has.
    #[must_use]
    pub fn has_more(&self) -> bool {
        (self.next - self.first) < self.out.len() as u64
    }

    /// What a part has led to, in so many executions; whether it is understood.
    pub fn hand_in(&mut self, number: u64, rest: String, executions: u64) -> bool {
        let at = number.checked_sub(self.first).map(|at| at as usize);
        let Some(part) = at.and_then(|at| self.out.get_mut(at)) else { return false };
        part.rest = Some((rest, executions));
        while let Some((rest, executions)) = self.out.front_mut().and_then(|p| p.rest.take()) {
            self.out.pop_front();
            self.first += 1;
            self.left = self.left.saturating_sub(executions);
            self.sums.push(self.sums.last().copied().unwrap_or(0) + executions);
            if !self.whole.merge(&rest) {
                return false;
            }
            self.make();
        }
        true
    }

    /// Whether nothing is out and nothing will be.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.out.is_empty()
    }

    /// Whether there were as many executions as there may be.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.left == 0
    }

    /// How many executions came before a part, in the order of parts; of those that were not taken in
    /// nothing is known.
    #[must_use]
    pub fn executions_before(&self, part: u64) -> u64 {
        let known = self.sums.len().min(part as usize);
        known.checked_sub(1).map_or(0, |last| self.sums[last])
    }

    /// Whether everything was explored.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.is_over() && self.left > 0 && self.whole.complete()
    }

    fn make(&mut self) {
        // Towards the end of what is allowed one part at a time, so that there is not one too many.
        let few = self.left < (self.ahead as u64 + 1) * self.most;
        let ahead = if few { 1 } else { self.ahead };
        while self.out.len() < ahead && self.left > 0 {
            let Some(text) = self.whole.next(self.left.min(self.most)) else { break };
            self.out.push_back(Part { text, rest: None });
        }
    }
}

/// Numbers as text without blanks.
#[derive(Default)]
pub(crate) struct Written(pub(crate) String);

impl Written {
    pub(crate) fn put(&mut self, number: impl Into<u64>) {
        let separator = if self.0.is_empty() { "" } else { "," };
        let _ = write!(self.0, "{separator}{:x}", number.into());
    }

    /// How many, then each of them.
    pub(crate) fn all<T>(&mut self, items: &[T], mut one: impl FnMut(&mut Written, &T)) {
        self.put(items.len() as u64);
        items.iter().for_each(|item| one(self, item));
    }
}

/// Reads the numbers of a [`Written`].
pub(crate) struct Read<'a>(std::str::Split<'a, char>);

impl<'a> Read<'a> {
    pub(crate) fn new(text: &'a str) -> Read<'a> {
        Read(text.split(','))
    }

    pub(crate) fn long(&mut self) -> Option<u64> {
        u64::from_str_radix(self.0.next()?, 16).ok()
    }

    pub(crate) fn short(&mut self) -> Option<u32> {
        u32::try_from(self.long()?).ok()
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        match self.long()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(crate) fn all<T>(
        &mut self,
        mut one: impl FnMut(&mut Read<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        (0..self.long()?).map(|_| one(self)).collect()
    }
}
