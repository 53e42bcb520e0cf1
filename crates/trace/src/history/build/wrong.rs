//! What is wrong with a history, for people.

use weakspot_core::{Value, Written};

use super::{Builder, numbers};
use crate::error::{LastWrite, LogError, UnwrittenRead};

/// So many writes are named when a read has none.
const LAST_WRITES: usize = 4;

/// Why a history cannot be used.
pub(crate) struct Wrong {
    pub(crate) error: LogError,
    /// That it is because of a read of a value that nobody wrote.
    pub(crate) unwritten: Option<Box<UnwrittenRead>>,
}

impl From<LogError> for Wrong {
    fn from(error: LogError) -> Wrong {
        Wrong { error, unwritten: None }
    }
}

impl Builder {
    #[cold]
    pub(super) fn not_found(
        &self,
        found: &Written,
        var: u32,
        value: Value,
        starts: &[u32],
    ) -> String {
        let name = self.shown_var(var);
        match found {
            Written::Once(_) => format!(
                "{value} is the initial value of `{name}` and is written to it as well, so it is \
                 not clear what this reads"
            ),
            Written::Often => {
                let is_write = |number: u32| {
                    let op = self.ops[number as usize];
                    op.writes() && op.var() == var && self.values[number as usize] == value
                };
                let writes = numbers(&self.of, starts).zip(&self.places);
                let mut lines = writes.filter(|(n, _)| is_write(*n)).map(|(_, place)| place.line());
                let first = lines.next().unwrap_or_default();
                let second = lines.next().unwrap_or_default();
                format!(
                    "{value} is written to `{name}` more than once (lines {first} and {second}), \
                     and this does not say which write it reads; in jsonl and text reads can say \
                     `from`"
                )
            }
            Written::Never if self.dropped.contains(&(var, value)) => format!(
                "{value} was written to `{name}` only by a transaction that was aborted, failed \
                 or not committed"
            ),
            Written::Never => format!("nobody wrote {value} to `{name}`"),
        }
    }

    /// A read, by its place in the file, of a value that nobody wrote; `None` if somebody did who
    /// was left out.
    #[cold]
    pub(super) fn unwritten(
        &self,
        at: usize,
        var: u32,
        value: Value,
        starts: &[u32],
        initial: &[Value],
    ) -> Option<Box<UnwrittenRead>> {
        if self.dropped.contains(&(var, value)) {
            return None;
        }
        let is_write = |&(_, number): &(usize, u32)| {
            let op = self.ops[number as usize];
            op.writes() && op.var() == var
        };
        let writes: Vec<_> = numbers(&self.of, starts).enumerate().filter(is_write).collect();
        let thread = |i: usize| self.threads.names[self.of[i] as usize].clone();
        let before = writes.iter().rev().filter(|(i, _)| *i < at).take(LAST_WRITES);
        let last = |&(i, number): &(usize, u32)| LastWrite {
            thread: thread(i),
            value: self.values[number as usize],
            line: self.places[i].line(),
        };
        Some(Box::new(UnwrittenRead {
            id: self.id.clone(),
            thread: thread(at),
            var: self.shown_var(var),
            value,
            initial: initial[var as usize],
            last_writes: before.map(last).collect(),
            writes: writes.len(),
        }))
    }
}
