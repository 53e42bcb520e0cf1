//! What the syntax trees of all languages have in common: positions and names.

use weakspot_core::Span;

/// Where something stands in the source. All positions are equal, so that trees compare by what
/// they say and a printed tree equals the tree that it was parsed from.
#[derive(Clone, Copy, Debug, Default)]
pub struct At(pub Span);

impl PartialEq for At {
    fn eq(&self, _: &At) -> bool {
        true
    }
}

impl Eq for At {}

/// A name as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The characters.
    pub text: String,
    /// Where they stand.
    pub at: At,
}
