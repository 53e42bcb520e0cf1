//! What `weakspot bench programs` measures: the seven programs of Fig. 6 of the lazy TSO
//! reachability paper, two whose counters grow for ever, locks that many threads make hard, and the
//! families of its other figures.

use anyhow::{Result, anyhow};
use weakspot_lang::families::{Family, Syntax};
use weakspot_lang::{Format, Parsed};

/// A program to ask questions about.
pub(crate) struct Subject {
    pub(crate) name: String,
    /// The family and the size, if it is a member of one that grows.
    pub(crate) member: Option<(Family, usize)>,
    source: Source,
    /// By question, what one earlier measurement had.
    before: &'static [(&'static str, &'static str)],
    pub(crate) is_lock: bool,
}

enum Source {
    Shipped(&'static str),
    Family(Family, Option<usize>),
}

/// The programs of Fig. 6, as they are in the corpus.
const SEVEN: [(&str, &str); 7] = [
    ("parker", include_str!("corpus/parker.weak")),
    ("peterson", include_str!("corpus/peterson.weak")),
    ("dekker", include_str!("corpus/dekker.weak")),
    ("lamport-fast-3", include_str!("corpus/lamport-fast-3.weak")),
    ("mcs-4", include_str!("corpus/mcs-4.weak")),
    ("clh-3", include_str!("corpus/clh-3.weak")),
    ("treiber-4", include_str!("corpus/treiber-4.weak")),
];

/// Programs whose counters grow for ever.
const UNBOUNDED: [(&str, &str); 2] = [
    ("ticket-4", include_str!("corpus/ticket-4.weak")),
    ("bakery-3", include_str!("corpus/bakery-3-fenced.weak")),
];

/// A lock, and by question what one earlier measurement had: CPU seconds, unless it says so.
type Lock = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Locks for many threads. PSO breaks all of them; the last one, which each thread takes twice, asks about
/// final states. What was measured before is the search of the states alone.
const LOCKS: [Lock; 5] = [
    ("ticket-pso-4", include_str!("corpus/ticket-pso-4.weak"), &[("reach-pso-auto", "8.8")]),
    ("ticket-pso-5", include_str!("corpus/ticket-pso-5.weak"), &[("reach-pso-auto", "> 45")]),
    ("mcs-5", include_str!("corpus/mcs-5.weak"), &[("reach-pso-auto", "25")]),
    ("peterson-4", include_str!("corpus/peterson-4.weak"), &[("reach-pso-auto", "7.4")]),
    (
        "ticket-twice-5",
        include_str!("corpus/ticket-twice-5.weak"),
        &[("reach-sc-auto", "779790 nodes")],
    ),
];

/// All of them, those of a family by rising size.
pub(crate) fn all() -> Vec<Subject> {
    let mut all: Vec<Subject> = Vec::new();
    let mut add = |name: String, member, source| {
        all.push(Subject { name, member, source, before: &[], is_lock: false });
    };
    for (name, text) in SEVEN.into_iter().chain(UNBOUNDED) {
        add(name.into(), None, Source::Shipped(text));
    }
    for family in Family::PROGRAMS {
        if family.range().is_none() {
            let source = Source::Family(family, None);
            add(family.key().into(), None, source);
        }
        for &n in family.sizes() {
            let (name, source) = (format!("{}-{n}", family.key()), Source::Family(family, Some(n)));
            add(name, Some((family, n)), source);
        }
    }
    for (name, text, before) in LOCKS {
        let source = Source::Shipped(text);
        all.push(Subject { name: name.into(), member: None, source, before, is_lock: true });
    }
    all
}

impl Subject {
    /// Whether `word` is its name or that of its family.
    pub(crate) fn answers_to(&self, word: &str) -> bool {
        self.name == word || self.member.is_some_and(|(family, _)| family.key() == word)
    }

    /// What one earlier measurement had for a question.
    pub(crate) fn before(&self, key: &str) -> Option<&'static str> {
        self.before.iter().find(|(q, _)| *q == key).map(|(_, before)| *before)
    }

    pub(crate) fn parse(&self) -> Result<Parsed> {
        let text = match self.source {
            Source::Shipped(text) => text.to_owned(),
            Source::Family(family, size) => family.text(Syntax::Weak, size)?,
        };
        weakspot_lang::parse(Format::Weak, &text)
            .map_err(|d| anyhow!("failed to read {}: {}", self.name, d.message))
    }
}
