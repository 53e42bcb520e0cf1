//! Transactions, which our histories do not have. One of a single operation is that operation, and
//! one that reads a variable and writes it is an atomic update. All others are read as their
//! operations one after the other, which is less than the file says, so it is noted.

use crate::history::build::Builder;

/// What was lost of the transactions of a history.
#[derive(Default)]
pub(crate) struct Txns {
    /// How many are read as several operations.
    pub(crate) several: usize,
    /// How many transactions did not happen.
    pub(crate) dropped: usize,
}

impl Txns {
    /// Ends the transaction whose operations are those from `start` on.
    pub(crate) fn end(&mut self, start: usize, committed: bool, builder: &mut Builder) {
        if builder.marks.is_some() {
            builder.end_txn(committed);
        } else if committed {
            builder.fuse(start);
            self.several += usize::from(builder.len() > start + 1);
        } else {
            builder.drop_from(start);
            self.dropped += 1;
        }
    }

    /// Says what was lost, and starts afresh.
    pub(crate) fn note(&mut self, builder: &mut Builder) {
        let Txns { several, dropped } = std::mem::take(self);
        let count = |n: usize| match n {
            1 => "1 transaction".to_owned(),
            n => format!("{n} transactions"),
        };
        if several > 0 {
            let (it, its, they) = match several {
                1 => ("is", "its", "it is"),
                _ => ("are", "their", "they are"),
            };
            builder.notes.push(format!(
                "{} of several operations {it} read as {its} operations one after the other; \
                 whether {they} atomic is not checked",
                count(several)
            ));
            builder.unchecked.push(format!("atomicity of {}", count(several)));
        }
        if dropped > 0 {
            let it = if dropped == 1 { "is" } else { "are" };
            builder.notes.push(format!(
                "{} that did not happen (aborted, failed or not committed) {it} left out",
                count(dropped)
            ));
        }
    }
}
