//! What variables are called in answers: by their names, and where several have one name, by what tells them apart.

use std::collections::HashMap;

use weakspot_core::Span;

/// The name of a variable, and where it is from.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    pub(super) name: String,
    /// The thread whose own it is; empty if all have it.
    pub(super) thread: String,
    /// The function that declares it; empty outside of functions.
    pub(super) function: String,
    pub(super) at: Span,
}

impl Label {
    /// The name of what no other has the name of.
    pub(super) fn only(name: String) -> Label {
        Label { name, ..Label::default() }
    }

    /// The name with as much of its origin as the level says.
    fn spelled(&self, level: usize, text: &str) -> String {
        let mut name = self.name.clone();
        if level > 0 && !self.function.is_empty() {
            name = format!("{}::{name}", self.function);
        }
        if level > 1 {
            name = format!("{name}@{}", self.at.line_column(text).0);
        }
        if self.thread.is_empty() { name } else { format!("{}:{name}", self.thread) }
    }
}

/// A name for each that no other one has: `v`, `f::v`, `f::v@12` where `v` is declared twice in `f`, and with a
/// number where that is in one line.
pub(super) fn distinct(labels: &[&Label], text: &str) -> Vec<String> {
    let mut levels = vec![0; labels.len()];
    let spelled = |levels: &[usize]| -> Vec<String> {
        labels.iter().zip(levels).map(|(label, level)| label.spelled(*level, text)).collect()
    };
    for _ in 0..2 {
        let names = spelled(&levels);
        let count = counted(&names);
        let shared = names.iter().map(|name| usize::from(count[name.as_str()] > 1));
        levels.iter_mut().zip(shared).for_each(|(level, more)| *level += more);
    }
    let names = spelled(&levels);
    let count = counted(&names);
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let numbered = names.iter().map(|name| {
        let number = seen.entry(name).or_default();
        *number += 1;
        if count[name.as_str()] > 1 { format!("{name}#{number}") } else { name.clone() }
    });
    numbered.collect()
}

fn counted(names: &[String]) -> HashMap<&str, usize> {
    let mut count = HashMap::new();
    names.iter().for_each(|name| *count.entry(name.as_str()).or_default() += 1);
    count
}
