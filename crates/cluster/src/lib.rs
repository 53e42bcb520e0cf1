//! One search, or many inputs, by several processes, on one machine or many.
//!
//! The search itself is that of `weakspot_explore`, which knows the processes as a [`Team`]. Here is
//! how they are connected: timely brings what workers send to each other and knows when a level of
//! the search is over; what comes before timely gets a connection, and who watches whether everybody is
//! still there, is ours. So are the connections of a sweep ([`join_sweep`]), where inputs are handed out and
//! answers come back.

#[cfg(feature = "timely")]
mod cluster;
#[cfg(feature = "timely")]
mod handshake;
#[cfg(feature = "timely")]
mod hosts;
#[cfg(feature = "timely")]
mod link;
mod local;
#[cfg(feature = "timely")]
mod parcel;
#[cfg(feature = "timely")]
mod peer;
#[cfg(feature = "timely")]
mod stream;
#[cfg(feature = "timely")]
mod sweep;
mod token;
#[cfg(feature = "timely")]
mod watch;
#[cfg(not(feature = "timely"))]
mod without;

use std::path::Path;

use weakspot_core::Limits;
use weakspot_explore::{NoAnswer, Team};

#[cfg(feature = "timely")]
pub use cluster::{Cluster, Place};
#[cfg(feature = "timely")]
pub use handshake::Asked;
#[cfg(feature = "timely")]
pub use hosts::Hosts;
pub use local::{Ended, local};
#[cfg(feature = "timely")]
pub use peer::{Joined, Peer};
#[cfg(feature = "timely")]
pub use sweep::join_sweep;
pub use token::Token;
#[cfg(not(feature = "timely"))]
pub use without::{Joined, Peer, join_sweep};

/// What is asked, which has to be the same in all processes.
#[derive(Clone, Debug)]
pub struct Question<'q> {
    /// The version of the program that asks.
    pub version: &'q str,
    /// The command and the model; in a sweep all that was typed.
    pub what: String,
    /// The text of the program; in a sweep the names of all inputs.
    pub text: &'q str,
}

/// Connects process number `process` of those in the file of hosts with all others, which have the same
/// token, and asks.
///
/// # Errors
///
/// What is wrong with the files, or that another process was asked something else; and what comes of
/// the question.
#[cfg(feature = "timely")]
pub fn ask<T>(
    (hosts, token): (&Path, &Path),
    process: usize,
    question: &Question<'_>,
    limits: &Limits,
    asked_to_stop: fn() -> bool,
    ask: impl FnOnce(&dyn Team) -> Result<T, NoAnswer>,
) -> Result<T, NoAnswer> {
    local::end_with_starter();
    let join = || {
        let (hosts, token) = (Hosts::read(hosts)?, Token::read(token)?);
        let version = format!("{} on {}", question.version, std::env::consts::ARCH);
        let asked = vec![
            ("the version", version),
            ("the question", question.what.clone()),
            ("the program", handshake::digest(question.text.as_bytes())),
            ("--threads", limits.workers.to_string()),
            ("the list of hosts", handshake::digest(hosts.0.join("\n").as_bytes())),
        ];
        let patience = limits.time_left().map_or(PATIENCE, |left| left.min(PATIENCE));
        Cluster::join(Place { hosts, process, token, patience, asked_to_stop }, asked)
    };
    ask(&join().map_err(NoAnswer::NotTogether)?)
}

/// How long others may take to come.
#[cfg(feature = "timely")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

#[cfg(not(feature = "timely"))]
const LEFT_OUT: &str = "this weakspot was built without the feature `cluster`";

/// Says that there is only this process.
///
/// # Errors
///
/// Always.
#[cfg(not(feature = "timely"))]
pub fn ask<T>(
    _: (&Path, &Path),
    _: usize,
    _: &Question<'_>,
    _: &Limits,
    _: fn() -> bool,
    _: impl FnOnce(&dyn Team) -> Result<T, NoAnswer>,
) -> Result<T, NoAnswer> {
    Err(NoAnswer::NotApplicable(LEFT_OUT))
}
