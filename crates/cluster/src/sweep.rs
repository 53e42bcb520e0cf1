//! The connections of a sweep: all processes are connected with process 0, which hands out inputs.

use std::path::Path;
use std::time::Duration;

use crate::cluster::{Cluster, Place};
use crate::hosts::Hosts;
use crate::peer::Joined;
use crate::token::Token;
use crate::{PATIENCE, Question, handshake, local};

/// How long others may take to come at least.
const LEAST: Duration = Duration::from_secs(10);

/// Connects this process with process 0, or process 0 with all others. `timeout`: how long a question may
/// take.
///
/// # Errors
///
/// What is wrong with the files, or that another process was asked something else.
pub fn join_sweep(
    (hosts, token): (&Path, &Path),
    process: usize,
    question: &Question<'_>,
    timeout: Duration,
    asked_to_stop: fn() -> bool,
) -> Result<Joined, String> {
    local::end_with_starter();
    let (hosts, token) = (Hosts::read(hosts)?, Token::read(token)?);
    let version = format!("{} on {}", question.version, std::env::consts::ARCH);
    let asked = vec![
        ("the version", version),
        ("the question", handshake::digest(question.what.as_bytes())),
        ("the list of inputs", handshake::digest(question.text.as_bytes())),
        ("the list of hosts", handshake::digest(hosts.0.join("\n").as_bytes())),
    ];
    // Many questions may have little time each, which says little about how long a machine takes.
    let patience = timeout.clamp(LEAST, PATIENCE);
    Cluster::star(Place { hosts, process, token, patience, asked_to_stop }, asked)
}
