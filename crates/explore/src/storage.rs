//! Searches that take less memory: what a search has to know of how it may.

use std::fmt::Debug;
use std::fs::File;
use std::io;

/// How the states of a search are kept, so that they take less memory.
#[derive(Clone, Copy, Debug)]
pub enum Storage<'s> {
    /// Of each state a hash of so many bits, 40 to 64. A search that finds nothing proves nothing then; see
    /// [`weakspot_core::Omission`].
    Hashes(u32),
    /// In files, those that there is no room for in memory.
    Disk(&'s dyn Scratch),
}

/// Where there are files for a while.
pub trait Scratch: Sync + Debug {
    /// An empty file that nobody else has, and that is gone when it is closed.
    ///
    /// # Errors
    ///
    /// There is none.
    fn file(&self) -> io::Result<File>;

    /// What went wrong with a file, in words.
    fn say(&self, error: &io::Error) -> String;
}
