//! Lines of sources, read once.

use std::collections::HashMap;

/// Sources by their paths; nothing if one cannot be read.
#[derive(Default)]
pub(crate) struct Lines(HashMap<String, Option<String>>);

impl Lines {
    /// A line of a file, from 1.
    pub(crate) fn line(&mut self, path: String, number: u32) -> Option<&str> {
        let source = self.0.entry(path);
        let source =
            source.or_insert_with_key(|path| std::fs::read_to_string(path).ok()).as_ref()?;
        source.lines().nth(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}
