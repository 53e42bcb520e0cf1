//! Readers that have seen enough, and the line that shows progress.

use std::process::{Command, Stdio};

use crate::weakspot;

/// Whoever reads has gone before the first word is written: no panic, no message.
#[test]
fn a_reader_that_has_gone_is_no_error() {
    let lines: [&[&str]; 14] = [
        &["--help"],
        &["litmus", "corpus/litmus"],
        &["reach", "corpus/programs/peterson.weak"],
        &["robust", "--format", "json", "corpus/programs/peterson.weak"],
        &["fence", "corpus/programs/peterson.weak"],
        &["monitor", "--program", "corpus/programs/peterson.weak"],
        &["serial", "corpus/transactions/task-pool.wstrace"],
        &["history", "corpus/histories/classic.wshist"],
        &["print", "corpus/programs/peterson.weak"],
        &["convert", "corpus/histories/store-buffering.axe", "-", "--to", "jsonl"],
        &["gen", "family", "lamport"],
        &["gen", "family", "--list"],
        &["gen", "history", "--operations", "20000"],
        &[
            "bench",
            "monitor",
            "--processes",
            "2",
            "--addresses",
            "10",
            "--events",
            "100",
            "--rounds",
            "1",
        ],
    ];
    for words in lines {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = weakspot();
        let child = command.args(words).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let child = child.spawn().expect("the command starts");
        // Our end of the pipe goes away with the command.
        drop(command);
        let output = child.wait_with_output().expect("the command ends");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!message.contains("panicked"), "{words:?}: {message}");
        assert!(!message.contains("roken pipe"), "{words:?}: {message}");
        assert!(output.status.code().is_some_and(|code| code <= 3), "{words:?}: {message}");
    }
    // The same for messages.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = weakspot();
    let status = command.args(["litmus", "no-such-file.litmus"]).stderr(writer).status();
    assert_eq!(status.expect("the command ends").code(), Some(2));
}

/// The screen after a command in a terminal of 80 columns: what `text` leaves on it, line by line.
fn screen(text: &str) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), Vec::<char>::new());
    let mut column = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => column = 0,
            '\n' => {
                lines.push(line.iter().collect::<String>());
                line.clear();
                column = 0;
            }
            '\x1b' => {
                let code: String =
                    std::iter::from_fn(|| chars.next_if(|c| !c.is_ascii_alphabetic())).collect();
                if let (Some('K'), "[") = (chars.next(), &code[..]) {
                    line.truncate(column);
                }
            }
            c => {
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
    }
    lines.push(line.iter().collect());
    lines
}

/// In a terminal progress is shown, never wraps, and is gone in the end.
#[cfg(target_os = "linux")]
#[test]
fn no_progress_line_stays() {
    let weakspot = env!("CARGO_BIN_EXE_weakspot");
    let command = format!(
        "stty cols 40; '{weakspot}' reach --progress always -q --model sc --timeout 1500ms corpus/programs/bakery.weak \
         corpus/litmus/SB.litmus; echo the end"
    );
    // A terminal of its own; without `script` there is nothing to test with.
    let run = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(crate::root())
        .stdin(Stdio::null())
        .output();
    let Ok(output) = run else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = screen(&text);
    assert!(lines.iter().any(|line| line == "the end"), "{text:?}");
    assert!(!lines.iter().any(|line| line.contains("files, ")), "{text:?}");
    for drawn in text.split('\r').filter(|part| part.contains("files, ")) {
        let length = drawn.split('\x1b').next().unwrap_or_default().chars().count();
        assert!(length < 40, "{drawn:?}");
    }
}
