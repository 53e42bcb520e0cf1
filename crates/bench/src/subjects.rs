//! What `weakspot bench programs` measures: the seven programs of Fig. 6 of the lazy TSO
//! reachability paper, two whose counters grow for ever, and the families of its other figures.

use anyhow::{Result, anyhow};
use weakspot_lang::families::{Family, Syntax};
use weakspot_lang::{Format, Parsed};

/// A program to ask questions about.
pub(crate) struct Subject {
    pub(crate) name: String,
    /// The family and the size, if it is a member of one that grows.
    pub(crate) member: Option<(Family, usize)>,
    source: Source,
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

/// All of them, those of a family by rising size.
pub(crate) fn all() -> Vec<Subject> {
    let mut all: Vec<Subject> = Vec::new();
    for (name, text) in SEVEN.into_iter().chain(UNBOUNDED) {
        all.push(Subject { name: name.into(), member: None, source: Source::Shipped(text) });
    }
    for family in Family::PROGRAMS {
        if family.range().is_none() {
            let source = Source::Family(family, None);
            all.push(Subject { name: family.key().into(), member: None, source });
        }
        for &n in family.sizes() {
            let (name, source) = (format!("{}-{n}", family.key()), Source::Family(family, Some(n)));
            all.push(Subject { name, member: Some((family, n)), source });
        }
    }
    all
}

impl Subject {
    /// Whether `word` is its name or that of its family.
    pub(crate) fn answers_to(&self, word: &str) -> bool {
        self.name == word || self.member.is_some_and(|(family, _)| family.key() == word)
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
