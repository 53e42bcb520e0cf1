//! What is refused, where, and with which words.
//!
//! The cases stand in tables, one on each line: a piece of a test, ` --> `, the line and the column
//! where it has to be refused, and the message. `\n` in a piece is a line end; `\0`, `\7` and
//! `\x8c` are control characters.

mod code;
mod conditions;
mod frame;

use super::*;

const SB: &str = "X86 SB
{ x=0; y=0; }
 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MOV EAX,[y] | MOV EAX,[x] ;
exists (0:EAX=0 /\\ 1:EAX=0)
";

/// Checks a table; `test` makes a whole test of a piece.
#[track_caller]
fn table(test: impl Fn(&str) -> String, table: &str) {
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty()) {
        let (piece, expected) = line.split_once(" --> ").expect("a piece and what is said");
        let piece = piece.replace("\\n", "\n").replace("\\0", "\0").replace("\\7", "\u{7}");
        let piece = piece.replace("\\x8c", "\u{8c}");
        let text = test(&piece);
        let found = match LITMUS.read(&text) {
            Ok(_) => "accepted".to_owned(),
            Err(d) => {
                let (line, column) = d.span.line_column(&text);
                format!("{line}:{column} {}", d.message.replace('\0', "\\0"))
            }
        };
        if found != expected {
            wrong.push(format!("{line}\n    but found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// [`SB`] with one thing changed.
#[track_caller]
fn sb(from: &str, to: &str) -> String {
    assert!(SB.contains(from), "{from}");
    SB.replacen(from, to, 1)
}
