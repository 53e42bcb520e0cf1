//! The integration tests of the command, in rooms:
//! - `real`: programs in C, C++ and Rust that are compiled and executed;
//! - `programs`: those that are written down, in .weak, as litmus tests, as families;
//! - `recorded`: logs, histories, transactions;
//! - `printed`: text, pictures, pages and JSON, whatever the question;
//! - `processes`: what several processes share, and the page that is served;
//! - `house`: pages that show what commands print, and imports that go one way.
//!
//! Besides: `bench`, measurements; `certified`, answers about the corpus were checked; `ends`, exit codes, limits and
//! signals at the edges; `limits`, while files are read; `same`, same input, same output; `scale`, many files; `shell`,
//! completions and man pages.

mod bench;
mod certified;
mod ends;
mod house;
mod limits;
mod printed;
mod processes;
mod programs;
mod real;
mod recorded;
mod same;
mod scale;
mod shell;

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
    command
        .current_dir(root())
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .env("LC_ALL", "C.UTF-8");
    command
}

/// What a finished command left behind.
struct Ran {
    out: String,
    err: String,
    code: Option<i32>,
}

fn run(args: &[&str], stdin: &str) -> Ran {
    run_in(&root(), args, stdin)
}

/// The same in another folder.
fn run_in(folder: &Path, args: &[&str], stdin: &str) -> Ran {
    let mut child = weakspot()
        .current_dir(folder)
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
    let out = text(output.stdout);
    if args.contains(&"json") {
        printed::schema::validate(args, &out);
    }
    Ran { out, err: text(output.stderr), code: output.status.code() }
}

/// Standard output, standard error and exit code, times left out.
fn transcript(args: &[&str], stdin: &str) -> String {
    let ran = run(args, stdin);
    let mut text = String::new();
    for line in ran.out.lines() {
        let line = match (line.starts_with("Time "), line.split_once("\"time_s\":")) {
            (true, _) => line.rsplit_once(' ').map_or(line, |(head, _)| head).to_owned() + " _",
            (_, Some((head, tail))) => {
                let rest = tail.find([',', '}']).map_or("", |i| &tail[i..]);
                format!("{head}\"time_s\":_{rest}")
            }
            _ => line.to_owned(),
        };
        text += &format!("{}\n", line.trim_end());
    }
    if !ran.err.is_empty() {
        text += &format!("--- standard error\n{}", ran.err);
    }
    text + &format!("--- exit {}\n", ran.code.unwrap_or(-1))
}
