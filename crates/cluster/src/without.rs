//! Sweeps where the feature is left out: nobody can be connected.

use std::io;
use std::path::Path;
use std::time::Duration;

use weakspot_core::LostProcess;

use crate::{LEFT_OUT, Question};

/// There is none.
pub enum Peer {}

/// The processes of a sweep; without clusters there are none.
pub struct Joined {
    /// None.
    pub peers: Vec<Peer>,
    /// None.
    pub absent: Vec<usize>,
}

/// Says that there is only this process.
///
/// # Errors
///
/// Always.
pub fn join_sweep(
    _: (&Path, &Path),
    _: usize,
    _: &Question<'_>,
    _: Duration,
    _: fn() -> bool,
) -> Result<Joined, String> {
    Err(LEFT_OUT.to_owned())
}

#[expect(missing_docs, clippy::missing_errors_doc, reason = "there is nobody to call them for")]
impl Peer {
    pub fn process(&self) -> usize {
        match *self {}
    }

    pub fn send(&self, _: u8, _: &[u8]) -> io::Result<()> {
        match *self {}
    }

    pub fn receive(&self) -> Result<Option<(u8, Vec<u8>)>, LostProcess> {
        match *self {}
    }

    pub fn finish(&self) {
        match *self {}
    }

    pub fn close(&self) {
        match *self {}
    }
}
