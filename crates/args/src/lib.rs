//! From the words of the user to what is meant. `commands` lists the commands: each is a type of what clap reads and
//! a type of what is done, every default and conflict decided, in one file; `list` says how they are listed. `typed`
//! and `meant` are the two for options that commands share, `explore` for real programs, `clients` for random ones.
//! `refused` has the vocabulary of all commands: what one of them lacks is refused with the reason.

#![expect(
    missing_docs,
    reason = "the fields are the options of the commands, whose help texts say what they mean"
)]

mod cargo_words;
mod clients;
mod commands;
mod explore;
mod list;
mod meant;
mod refused;
#[cfg(test)]
mod tests;
mod typed;
mod values;
pub mod words;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches};

use list::Means;

pub use cargo_words::WITH_VALUE as CARGO_WITH_VALUE;
pub use commands::*;
pub use explore::{Isolate, ProgramOutput, RunArgs, RunStrategy, SPINS};
pub use meant::{
    Bounds, CheckpointArgs, Common, ProcessArgs, Shared, StorageArgs, SweepArgs, Usage,
};
pub use values::{InputFormat, Lines, OutputFormat, Replay, When};

/// How measurements are printed: in all formats but graphs.
pub type BenchFormat = OutputFormat;

/// Why there is nothing to do.
pub enum Stop {
    /// What clap has to say: help, or what it does not understand.
    Clap(clap::Error),
    Usage(meant::Usage),
}

/// What the words of a command line mean, the first of which is the name of the program.
pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Command, Stop> {
    let syntax = syntax();
    let words = helped(cargo_words::sorted(&syntax, words.into_iter().collect()));
    let is_plain = !words.iter().any(|word| word == "--");
    let matches = syntax.clone().try_get_matches_from(words).map_err(Stop::Clap)?;
    refused::check(&syntax, &matches).map_err(Stop::Usage)?;
    let cli = commands::Cli::from_arg_matches(&matches).map_err(Stop::Clap)?;
    let mut command = cli.command.meant().map_err(Stop::Usage)?;
    if let Command::Run(run) = &mut command
        && is_plain
    {
        run.doubtful = option_behind(&syntax, &run.command);
    }
    Ok(command)
}

/// The first argument of a program that is an option of `weakspot run`, too, which may have been meant.
fn option_behind(syntax: &clap::Command, program: &[OsString]) -> Option<String> {
    let run = syntax.find_subcommand("run")?;
    let mut words = program.get(1..)?.iter().filter_map(|word| word.to_str());
    let is_option =
        |word: &&str| word.starts_with("--") && cargo_words::option(run, word).is_some();
    words.find(is_option).map(str::to_owned)
}

/// `weakspot cc -h` is a question about `cc`, although all other words behind it are the compiler's.
fn helped(mut words: Vec<OsString>) -> Vec<OsString> {
    let is = |at: usize, any: &[&str]| words.get(at).is_some_and(|w| any.iter().any(|a| w == a));
    if words.len() == 3 && is(1, &["cc", "c++"]) && is(2, &["-h", "--help"]) {
        words[2] = "help".into();
        words.swap(1, 2);
    }
    words
}

/// The version, with the commit that it was built from if that is known.
pub const VERSION: &str = match option_env!("WEAKSPOT_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// The commit that this was built from, if it is known.
pub const COMMIT: Option<&str> = option_env!("WEAKSPOT_COMMIT");

/// All commands and options, with those that are refused.
fn syntax() -> clap::Command {
    commands::Typed::refusing(commands::Cli::command())
}
