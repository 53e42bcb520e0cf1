//! The README and the tours of the book: every command in them is run, in a folder of its own, and what it prints is
//! what the page shows. `UPDATE_EXPECT=1` writes the pages anew.
//!
//! A block of the language `console` holds commands, each behind `$ `, with their output. A comment `<!-- file: NAME -->` before
//! another block makes that block a file. Times are not compared.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::root;

/// The page as it should be: what commands print is what they print now.
fn as_it_should_be(page: &str, folder: &Path) -> String {
    let mut out = String::new();
    let mut say = |line: &str| {
        out.push_str(line.trim_end());
        out.push('\n');
    };
    let mut file = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        say(line);
        if let Some(name) = line.strip_prefix("<!-- file: ") {
            file = name.strip_suffix(" -->");
        }
        if !line.starts_with("```") {
            continue;
        }
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if line == "```console" {
            for command in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                say(&format!("$ {command}"));
                printed(command, folder).lines().for_each(&mut say);
            }
        } else {
            if let Some(name) = file.take() {
                fs::write(folder.join(name), block.join("\n") + "\n").expect("written");
            }
            block.iter().for_each(|line| say(line));
        }
        say("```");
    }
    out
}

/// What a command of the page prints, on both streams.
fn printed(command: &str, folder: &Path) -> String {
    let tool = Path::new(env!("CARGO_BIN_EXE_weakspot")).parent().expect("a folder");
    let path = std::env::var("PATH").expect("a path");
    let shell = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", tool.display()))
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR")
        .output()
        .expect("a shell");
    String::from_utf8(shell.stdout).expect("UTF-8")
}

/// Without what is different each time: how long it took.
fn untimed(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for line in text.lines() {
        for word in line.split(' ') {
            let is_unit = matches!(word.trim_end_matches([',', ')', ';']), "s" | "per");
            if let Some(number) = words.last_mut().filter(|_| is_unit)
                && number.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
            {
                *number = "#".to_owned();
            }
            words.push(word.to_owned());
        }
        words.push("\n".to_owned());
    }
    words.join(" ")
}

fn page_is_real(name: &str) {
    let path = root().join(name);
    let page = fs::read_to_string(&path).expect("a page");
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = root().canonicalize().expect("the root").join("corpus");
    std::os::unix::fs::symlink(corpus, folder.path().join("corpus")).expect("a link");
    let real = as_it_should_be(&page, folder.path());
    if untimed(&page) != untimed(&real) && std::env::var_os("UPDATE_EXPECT").is_some() {
        return fs::write(&path, real).expect("written");
    }
    for (at, (shown, real)) in page.lines().zip(real.lines()).enumerate() {
        assert_eq!(untimed(shown), untimed(real), "{name}, line {}", at + 1);
    }
    assert_eq!(page.lines().count(), real.lines().count(), "{name}");
}

#[test]
fn readme() {
    page_is_real("README.md");
}

#[test]
fn c() {
    page_is_real("docs/tour/c.md");
}

#[test]
fn rust() {
    page_is_real("docs/tour/rust.md");
}

#[test]
fn hardware() {
    page_is_real("docs/tour/hardware.md");
}

#[test]
fn research() {
    page_is_real("docs/tour/research.md");
}
