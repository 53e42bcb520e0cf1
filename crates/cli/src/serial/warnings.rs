//! What a log may lack.

use weakspot_report::plain;
use weakspot_trace::LogPlace;

use super::Asked;
use super::current::Current;

/// How many transactions without an end are listed.
const MAX_UNENDED: usize = 5;

impl Asked<'_> {
    /// What a user may not have meant.
    pub(super) fn warnings(&self, current: &Current) -> Vec<String> {
        let mut warnings = Vec::new();
        let follow = &current.follow;
        if follow.count() == 0 {
            warnings.push("the log has no events".to_owned());
        } else if !follow.is_marked() && current.limit.is_none() {
            let why = "no transaction is marked, so that each event is one of its own; write `begin` and \
                       `end`, or give numbers to events, as in `#3`";
            warnings.push(why.to_owned());
        }
        // What was not followed to its end may end later.
        let unended = if current.limit.is_none() { follow.unended() } else { Vec::new() };
        for &(thread, event) in unended.iter().take(MAX_UNENDED) {
            let thread = current.tables.threads.get(usize::from(thread));
            let thread = thread.map_or("a thread", String::as_str);
            let at = match self.place(current.number, event) {
                Some(LogPlace::Line { line, .. }) => format!("line {line}"),
                _ => format!("event {}", event + 1),
            };
            warnings.push(format!("the transaction that {thread} began at {at} never ends"));
        }
        if unended.len() > MAX_UNENDED {
            let more = unended.len() - MAX_UNENDED;
            warnings.push(format!("{more} more transactions never end"));
        }
        warnings
    }

    pub(super) fn warn(&mut self, current: &Current, warning: &str) {
        if !self.args.shared.quiet {
            let of = self.name(current);
            self.job.answer.err += &format!("warning: {}: {}\n", plain(&of), plain(warning));
        }
    }

    /// The file, and the trace if it has a name.
    pub(super) fn name(&self, current: &Current) -> String {
        match &current.id {
            Some(id) => format!("{} {id}", self.job.file),
            None => self.job.file.clone(),
        }
    }
}
