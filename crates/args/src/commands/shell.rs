//! What helps in a shell, made from the syntax: completions and man pages.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::list::{Lacks, Means, Usage};
use crate::refused::{ABOUT_OUTPUT, ABOUT_QUESTIONS, NO_SEARCH};

/// Print what completes command lines in a shell.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  source <(weakspot completions bash)")]
pub(crate) struct Completions {
    /// Which shell.
    shell: Shell,
}

/// What is printed.
#[derive(Debug)]
pub struct CompletionsArgs {
    pub text: Vec<u8>,
}

const FOR_A_SHELL: &str = "it prints a text for a shell and nothing else";

impl Means<CompletionsArgs> for Completions {
    const LACKS: Lacks = &[
        NO_SEARCH,
        (ABOUT_QUESTIONS, "it asks nothing: it is for a shell"),
        ("format", FOR_A_SHELL),
        (ABOUT_OUTPUT, FOR_A_SHELL),
    ];

    fn meant(self) -> Result<CompletionsArgs, Usage> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "weakspot", &mut text);
        Ok(CompletionsArgs { text })
    }
}

/// Write a man page for each command to a folder.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Man {
    /// Where they go.
    folder: PathBuf,
}

#[derive(Debug)]
pub struct ManArgs {
    /// A page for each command that the help names, by the names of their files.
    pub pages: Vec<(String, Vec<u8>)>,
    pub folder: PathBuf,
}

impl Means<ManArgs> for Man {
    fn meant(self) -> Result<ManArgs, Usage> {
        let mut command = Cli::command();
        command.build();
        let mut pages = Vec::new();
        add(&command, &mut pages);
        Ok(ManArgs { pages, folder: self.folder })
    }
}

fn add(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    // Nothing fails to be written to memory.
    if clap_mangen::Man::new(command.clone()).render(&mut page).is_ok() {
        pages.push((format!("{name}.1"), page));
    }
    let shown = |c: &&clap::Command| !c.is_hide_set() && c.get_name() != "help";
    for inner in command.get_subcommands().filter(shown) {
        add(inner, pages);
    }
}
