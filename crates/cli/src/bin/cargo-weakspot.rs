//! `weakspot cargo` as a command of cargo: `cargo weakspot test`.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let beside = std::env::current_exe().map(|own| own.with_file_name("weakspot"));
    let weakspot = beside.ok().filter(|path| path.is_file()).unwrap_or_else(|| "weakspot".into());
    // Cargo passes the name of the command, too.
    let mut words = std::env::args_os().skip(1).peekable();
    let _ = words.next_if(|word| word == "weakspot");
    let is_version = words.peek().is_some_and(|word| word == "--version" || word == "-V");
    let mut command = Command::new(&weakspot);
    if !is_version {
        command.arg("cargo");
    }
    let error = command.args(words).exec();
    #[expect(clippy::print_stderr, reason = "there is nobody else to tell it to")]
    {
        eprintln!("error: cannot start {}: {error}", weakspot.display());
    }
    ExitCode::from(2)
}
