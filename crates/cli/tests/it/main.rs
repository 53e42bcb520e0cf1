//! The integration tests of the command:
//! - `ascii`: drawings in ASCII, long ones folded;
//! - `bench`: measurements;
//! - `book`: the commands in README and the book print what the pages show;
//! - `browser`: pages in Chromium, see `scripts/pages`;
//! - `c_programs`: `reach`, `robust` and `fence` on C, against `run`; `compare`;
//! - `cargo`: `weakspot cargo` on Rust crates; `cargo_std`: on what the standard library has for threads;
//! - `certified`: answers about the corpus were checked;
//! - `checkpoint`: searches that are killed, and go on;
//! - `formats`: what all answers have in common in JSON, and tables with commas;
//! - `convert`: logs and histories from format to format;
//! - `cluster`: one search by several processes; `cluster_sweep`: many files by several processes;
//! - `corpus_c`: `weakspot run` on the programs of corpus/c, and the fences that it proposes;
//! - `generate`: the families that `weakspot gen` writes;
//! - `errata`: what the page on errors of others shows is what the command prints;
//! - `ends`: exit codes, limits and signals at the edges;
//! - `fences`: what `weakspot fence` prints;
//! - `follow`: `weakspot history --follow`;
//! - `graph`: the crates depend on each other as ARCHITECTURE.md says;
//! - `history`: what `weakspot history` answers, and its witnesses;
//! - `history_input`: what it reads, good and bad;
//! - `imports`: files import each other without cycles;
//! - `links`: links between pages lead somewhere, the book lists every page;
//! - `limits`: limits and signals while files are read;
//! - `monitor`: `weakspot monitor` on logs, and its witnesses;
//! - `monitor_program`: `weakspot monitor --program`;
//! - `on_cpu`: `weakspot litmus --run`;
//! - `peers`: programs of the kinds that other checkers are tested with;
//! - `races`: data races in the programs of corpus/races;
//! - `readme`: what the README shows is what the command prints;
//! - `real_time`: `weakspot history --model lin` and `tso-rt`;
//! - `robust`: `weakspot robust` and the witnesses of its answers;
//! - `run`: `weakspot cc` and `weakspot run` on C programs;
//! - `show`: `weakspot show` as text, and in a terminal;
//! - `shown`: what `weakspot run` shows of executions: names, drawings, time;
//! - `serial`: `weakspot serial` on logs, and its witnesses; `serial_program`: on programs;
//!   `serial_buffered`: both readings of buffered reads;
//! - `serve`: `weakspot serve`, whom it answers and whom not;
//! - `terminal`: progress lines, and readers that have gone;
//! - `state_storage`: `--hash-compact` and `--disk`;
//! - `told`: an answer says the same in every format;
//! - `transactions`: `weakspot history` on transactions of databases, and its witnesses;
//! - `trust`: what verdicts rest on is what the page on it says;
//! - `transcripts`: commands with their output and exit codes, good input and bad;
//! - `same`: same input, same output, whatever the number of threads;
//! - `scale`: many files, limits, interruption;
//! - `schema`: what is printed as JSON is what docs/schema says;
//! - `widths`: drawings fit the terminal.

mod ascii;
mod assumed;
mod bench;
mod book;
mod browser;
mod c_programs;
mod cargo;
mod cargo_foreign;
mod cargo_rwlocks;
mod cargo_std;
mod certified;
mod checkpoint;
mod cluster;
mod cluster_checkpoint;
mod cluster_sweep;
mod convert;
mod corpus_c;
mod debugger;
mod drawn;
mod ends;
mod errata;
mod failures;
mod fences;
mod follow;
mod formats;
mod freed;
mod generate;
mod graph;
mod history;
mod history_input;
mod imports;
mod limits;
mod links;
mod monitor;
mod monitor_program;
mod on_cpu;
mod pages;
mod peers;
mod pictures;
mod races;
mod readme;
mod real_time;
mod robust;
mod run;
mod run_witness;
mod same;
mod scale;
mod schema;
mod serial;
mod serial_buffered;
mod serial_program;
mod serve;
mod shell;
mod show;
mod shown;
mod state_storage;
mod terminal;
mod told;
mod transactions;
mod transcripts;
mod trust;
mod why_not;
mod wide_lines;
mod widths;

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
        schema::validate(args, &out);
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
