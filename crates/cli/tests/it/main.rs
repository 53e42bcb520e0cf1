//! The integration tests of the command:
//! - `fences`: what `weakspot fence` prints;
//! - `graph`: the crates depend on each other as ARCHITECTURE.md says;
//! - `readme`: what the README shows is what the command prints;
//! - `transcripts`: commands with their output and exit codes, good input and bad;
//! - `scale`: many files, limits, interruption.

mod fences;
mod graph;
mod readme;
mod scale;
mod transcripts;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The built command, to be run in the root of the project.
fn weakspot() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weakspot"));
    command.current_dir(root()).env_remove("NO_COLOR");
    command
}

/// What a finished command left behind.
struct Ran {
    out: String,
    err: String,
    code: Option<i32>,
}

fn run(args: &[&str], stdin: &str) -> Ran {
    let mut child = weakspot()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // A command that does not read its input may have ended already.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("the command ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}
