//! `weakspot c++` under one name, for `make` and others that want a compiler to be one word.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let beside = std::env::current_exe().map(|own| own.with_file_name("weakspot"));
    let weakspot = beside.ok().filter(|path| path.is_file()).unwrap_or_else(|| "weakspot".into());
    let error = Command::new(&weakspot).arg("c++").args(std::env::args_os().skip(1)).exec();
    #[expect(clippy::print_stderr, reason = "there is nobody else to tell it to")]
    {
        eprintln!("error: cannot start {}: {error}", weakspot.display());
    }
    ExitCode::from(2)
}
