//! What helps in a shell, made from the syntax: completions and man pages.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::commands::Cli;

/// What completes command lines.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "weakspot", &mut out);
    out
}

/// A page for each command that the help names, by the names of their files.
pub(crate) fn man_pages() -> Vec<(String, Vec<u8>)> {
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages);
    pages
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
