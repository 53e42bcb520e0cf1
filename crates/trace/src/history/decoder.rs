//! What a decoder of histories does.

use super::build::Builder;
use super::scan::{Cursor, Scan};

/// Reads the items of a format.
pub(crate) trait Decoder {
    /// Reads one item. What it did before it stopped is undone by starting again, so it has to
    /// change nothing until it has read all of the item.
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded>;
}

/// What a decoder did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// It read an item.
    Item,
    /// It came to the end of a history.
    History,
    /// It came to the end of the text, where a history may end as well.
    End,
}
