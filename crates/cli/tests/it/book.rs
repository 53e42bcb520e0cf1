//! The README and the tours of the book: every command in them is run, in a folder of its own, and what it prints is
//! what the page shows. `UPDATE_EXPECT=1` writes the pages anew.
//!
//! A block of the language `console` holds commands, each behind `$ `, with their output. A comment `<!-- file: NAME -->` before
//! another block makes that block a file. Times are not compared.
//!
//! In the other pages, what stands behind `$ ` in blocks of any language but `text` is run as well, and compared with
//! what is shown; a line `...` there stands for lines that are left out. Where nothing is shown, the command must
//! be one that works.

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
    ran(command, folder).0
}

/// The same with its exit code.
fn ran(command: &str, folder: &Path) -> (String, Option<i32>) {
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
    (String::from_utf8(shell.stdout).expect("UTF-8"), shell.status.code())
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

/// Commands of pages that are not run, by a part of them: they are about programs that the reader has, or
/// do not end by themselves, or take long, or depend on the machine.
const NOT_RUN: [&str; 15] = [
    "weakspot selfcheck",
    "--strategy",
    "./deque",
    "./test",
    "TOKEN",
    "./queue",
    "./mp",
    "./stack",
    "./pool",
    "my-crate",
    "weakspot cargo",
    "weakspot bench",
    "weakspot serve",
    "litmus --run",
    "--follow",
];

/// A line without times: those in words, in JSON, and in lines of litmus tests.
fn masked(line: &str) -> String {
    let line = line.trim_end();
    if let Some(name) = line.strip_prefix("Time ").and_then(|rest| rest.rsplit_once(' ')) {
        return format!("Time {}", name.0);
    }
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\"time_s\":") {
        out += before;
        rest = after.trim_start_matches(|c: char| !matches!(c, ',' | '}'));
    }
    out += rest;
    let words: Vec<&str> = out.split(' ').collect();
    let is_rate = |i: usize| {
        let next = words.get(i + 1).copied().unwrap_or_default();
        matches!(next.trim_end_matches([',', ')', ';']), "s" | "per" | "thousand" | "million")
    };
    // Seconds in a table.
    let is_time = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let word = |(i, word): (usize, &&str)| match is_rate(i) || is_time(word) {
        true => "#".to_owned(),
        false => (*word).to_owned(),
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// Whether the lines that are printed are those that are shown, with others where `...` stands.
fn is_shown(shown: &[String], printed: &[String]) -> bool {
    let is_left_out = |line: &String| matches!(line.trim(), "..." | "…");
    let mut at = 0;
    let mut free = false;
    for part in shown.split_inclusive(is_left_out) {
        let leaves_out = part.last().is_some_and(is_left_out);
        let part = if leaves_out { &part[..part.len() - 1] } else { part };
        let fits = |&from: &usize| printed.get(from..from + part.len()) == Some(part);
        let most = if free { printed.len() } else { at };
        let Some(from) = (at..=most).find(fits) else { return false };
        at = from + part.len();
        free = leaves_out;
    }
    // The last part may stand at the end only.
    let last = shown.rsplit(is_left_out).next().unwrap_or_default();
    free || at == printed.len() || printed.ends_with(last) && last.len() < shown.len()
}

#[test]
fn parts_are_found() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let is = |shown: &str, printed: &str| is_shown(&lines(shown), &lines(printed));
    assert!(is("a b c", "a b c") && !is("a b", "a b c") && !is("b c", "a b c"));
    assert!(is("... c", "a b c") && is("a ...", "a b c") && is("a ... c", "a b c"));
    assert!(is("a ... c", "a c b c") && !is("a ... b", "a b c") && !is("... d", "a b c"));
}

/// Every command with its output, in all pages but those that have tests of their own.
#[test]
fn all_pages() {
    let docs = root().join("docs");
    let of = |folder: &str| -> Vec<std::path::PathBuf> {
        let files = fs::read_dir(docs.join(folder)).expect("a folder");
        let files = files.map(|entry| entry.expect("a file").path());
        files.filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
    };
    let mut pages: Vec<_> = ["", "reference", "how", "how/strategies"].map(of).concat();
    pages.retain(|path| !path.ends_with("errata.md"));
    pages.sort();
    let corpus = root().canonicalize().expect("the root").join("corpus");
    let (mut run, mut wrong) = (0, Vec::new());
    for path in pages {
        let page = fs::read_to_string(&path).expect("a page");
        let folder = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(&corpus, folder.path().join("corpus")).expect("a link");
        let mut lines = page.lines().enumerate().peekable();
        let mut block: Option<&str> = None;
        while let Some((at, line)) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                block = if block.is_some() { None } else { Some(language) };
                continue;
            }
            let Some(command) = line.strip_prefix("$ ").filter(|_| block.is_some()) else {
                continue;
            };
            let mut shown = Vec::new();
            while let Some((_, line)) =
                lines.next_if(|(_, l)| !l.starts_with("$ ") && !l.starts_with("```"))
            {
                shown.push(masked(line));
            }
            if block == Some("text") || NOT_RUN.iter().any(|part| command.contains(part)) {
                continue;
            }
            run += 1;
            let (printed, code) = ran(command, folder.path());
            let printed: Vec<String> = printed.lines().map(masked).collect();
            let trimmed = |lines: &[String]| {
                let end = lines.iter().rposition(|l| !l.is_empty()).map_or(0, |at| at + 1);
                lines[..end].to_vec()
            };
            let (shown, shorter) = (trimmed(&shown), trimmed(&printed));
            // Where only the command is shown, it must be one that works.
            let is_right =
                if shown.is_empty() { code != Some(2) } else { is_shown(&shown, &shorter) };
            if !is_right {
                let name = path.strip_prefix(root()).unwrap_or(&path).display();
                let printed = printed.join("\n");
                wrong.push(format!("{name}:{}: $ {command}\n{printed}", at + 1));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} commands print something else:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
    assert!(run >= 30, "{run} commands");
}
