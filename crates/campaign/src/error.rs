//! What stops an exploration without an answer.

use std::fmt;

/// A message that continues "failed: ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

/// The result of an operation that may fail with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }

    /// Something that must not happen.
    pub(crate) fn defect(what: impl fmt::Display) -> Error {
        Error(format!("{what}; this is a defect of weakspot, please report it with the program"))
    }

    /// For what was to be done, and why it was not.
    pub(crate) fn because<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Error {
        move |why| Error(format!("{what}: {why}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
