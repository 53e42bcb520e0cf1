//! Why one event of an execution comes before another.

/// Why one event comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Earlier in the program of the same thread.
    Po,
    /// The second reads what the first wrote.
    Rf,
    /// The second overwrites what the first wrote.
    Co,
    /// The second overwrites what the first read.
    Fr,
    /// Both stand in one atomic block, which counts as one event.
    Block,
    /// The first starts the thread of the second.
    Start,
    /// The second waits for the end of the thread of the first.
    Join,
}

impl Link {
    /// The usual two letters, or a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Link::Po => "po",
            Link::Rf => "rf",
            Link::Co => "co",
            Link::Fr => "fr",
            Link::Block => "atomic",
            Link::Start => "start",
            Link::Join => "join",
        }
    }
}
