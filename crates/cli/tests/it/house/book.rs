//! The README and the tours of the book: every command in them is run, in a folder of its own, and what it prints is
//! what the page shows. `UPDATE_EXPECT=1` writes the pages anew.
//!
//! A block of the language `console` holds commands, each behind `$ `, with their output; a line `...` stands for lines of it. A comment `<!-- file: NAME -->` before
//! another block makes that block a file. Times are not compared.
//!
//! In the other pages, what stands behind `$ ` in blocks of any language but `text` is run as well, and compared with
//! what is shown; a line `...` there stands for lines that are left out. Where nothing is shown, the command must
//! be one that works. Commands are quick: what takes longer than two seconds is left to the reader, in words.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

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
            let is_command = |line: &&str| line.starts_with("$ ");
            for (at, line) in block.iter().enumerate().filter(|(_, line)| is_command(line)) {
                say(line);
                let shown: Vec<&str> =
                    block[at + 1..].iter().copied().take_while(|line| !is_command(line)).collect();
                let printed = printed(&line[2..], folder);
                let masked = |lines: &mut dyn Iterator<Item = &str>| -> Vec<String> {
                    lines.map(masked).collect()
                };
                let is_part = shown.iter().any(|line| is_left_out(line))
                    && is_shown(&masked(&mut shown.iter().copied()), &masked(&mut printed.lines()));
                match is_part {
                    true => shown.iter().for_each(|line| say(line)),
                    false => printed.lines().for_each(&mut say),
                }
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
        for word in without_rate(line).split(' ') {
            let is_unit = matches!(word.trim_end_matches([',', ')', ';']), "s" | "per");
            if let Some(number) = words.last_mut().filter(|_| is_unit)
                && number.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
            {
                *number = "#".to_owned();
            }
            words.push(word.to_owned());
        }
        // The last line of a litmus test.
        if let Some(time) = words.last_mut().filter(|_| line.starts_with("Time ")) {
            *time = "#".to_owned();
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

/// Commands of pages that are not run, by a part of them, and why.
const NOT_RUN: [(&str, &str); 6] = [
    ("weakspot selfcheck", "takes as long as it is allowed to"),
    ("weakspot cargo", "builds crates; the tour of Rust does"),
    ("weakspot bench", "takes minutes"),
    ("weakspot serve", "does not end by itself"),
    ("litmus --run corpus", "counts what this CPU does"),
    ("--follow run.wshist", "waits for more"),
];

/// A line without the rate at its end, which is shown of what takes a second.
fn without_rate(line: &str) -> &str {
    let timed = line.strip_suffix(" per second").and_then(|rest| rest.rsplit_once(", "));
    timed.map_or(line, |(rest, _)| rest)
}

/// A line without times: those in words, in JSON, and in lines of litmus tests.
fn masked(line: &str) -> String {
    let line = line.trim_end();
    if let Some(name) = line.strip_prefix("Time ").and_then(|rest| rest.rsplit_once(' ')) {
        return format!("Time {}", name.0);
    }
    let line = without_rate(line);
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

/// Whether a line stands for those that are left out.
fn is_left_out(line: &str) -> bool {
    matches!(line.trim(), "..." | "…")
}

/// Whether the lines that are printed are those that are shown, with others where `...` stands.
fn is_shown(shown: &[String], printed: &[String]) -> bool {
    let is_left_out = |line: &String| is_left_out(line);
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

/// A command of a page, on its lines `at..shown_from`, and what is shown below it, up to `end`.
struct Shown {
    command: String,
    at: usize,
    shown_from: usize,
    end: usize,
}

/// The commands of a page and its files, with their contents. A command goes on after a line that ends in `|`.
fn commands(lines: &[&str]) -> (Vec<Shown>, Vec<(String, String)>) {
    let (mut found, mut files) = (Vec::new(), Vec::new());
    let mut file = None;
    let mut at = 0;
    while at < lines.len() {
        if let Some(name) = lines[at].strip_prefix("<!-- file: ") {
            file = name.strip_suffix(" -->");
        }
        let Some(language) = lines[at].strip_prefix("```") else {
            at += 1;
            continue;
        };
        let from = at + 1;
        let end = (from..lines.len()).find(|&i| lines[i].starts_with("```")).expect("an end");
        at = end + 1;
        if let Some(name) = file.take() {
            files.push((name.to_owned(), lines[from..end].join("\n") + "\n"));
        }
        if language == "text" {
            continue;
        }
        let mut line = from;
        while line < end {
            let Some(first) = lines[line].strip_prefix("$ ") else {
                line += 1;
                continue;
            };
            let mut command = first.to_owned();
            let at = line;
            line += 1;
            while command.ends_with('|') {
                command = format!("{command}\n{}", lines[line]);
                line += 1;
            }
            let shown_from = line;
            line = (line..end).find(|&i| lines[i].starts_with("$ ")).unwrap_or(end);
            found.push(Shown { command, at, shown_from, end: line });
        }
    }
    (found, files)
}

/// How many commands of a page were run, and what those print that print something else.
fn page_with_commands(path: &Path) -> (usize, Vec<String>) {
    let page = fs::read_to_string(path).expect("a page");
    let lines: Vec<&str> = page.lines().collect();
    let (commands, files) = commands(&lines);
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = root().canonicalize().expect("the root").join("corpus");
    std::os::unix::fs::symlink(&corpus, folder.path().join("corpus")).expect("a link");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("written");
    }
    // Built with the tests of all crates, and not with those of this one alone.
    let tool = Path::new(env!("CARGO_BIN_EXE_weakspot")).with_file_name("weakspot-certify");
    let is_run = |command: &str| {
        NOT_RUN.iter().all(|(part, _)| !command.contains(part))
            && (tool.exists() || !command.contains("weakspot-certify"))
    };
    let (mut run, mut wrong) = (0, Vec::new());
    let mut real = String::new();
    let mut copied = 0;
    for Shown { command, at, shown_from, end } in commands {
        if !is_run(&command) {
            continue;
        }
        run += 1;
        let (printed, code) = ran(&command, folder.path());
        let trimmed = |lines: &mut dyn Iterator<Item = &str>| {
            let mut lines: Vec<String> = lines.map(masked).collect();
            let end = lines.iter().rposition(|l| !l.is_empty()).map_or(0, |at| at + 1);
            lines.truncate(end);
            lines
        };
        let shown = trimmed(&mut lines[shown_from..end].iter().copied());
        // Where only the command is shown, it must be one that works.
        let is_right = match shown.is_empty() {
            true => code != Some(2),
            false => is_shown(&shown, &trimmed(&mut printed.lines())),
        };
        if is_right {
            continue;
        }
        let is_whole = !shown.is_empty() && !lines[shown_from..end].iter().any(|l| is_left_out(l));
        if is_whole && std::env::var_os("UPDATE_EXPECT").is_some() {
            lines[copied..shown_from].iter().for_each(|line| real += &format!("{line}\n"));
            printed.trim_end().lines().for_each(|line| real += &format!("{}\n", line.trim_end()));
            // What separates it from the next command.
            copied = end - usize::from(lines[end - 1].is_empty());
        } else {
            let name = path.strip_prefix(root()).unwrap_or(path).display();
            wrong.push(format!("{name}:{}: $ {command}\n{printed}", at + 1));
        }
    }
    if copied > 0 {
        lines[copied..].iter().for_each(|line| real += &format!("{line}\n"));
        fs::write(path, real).expect("written");
    }
    (run, wrong)
}

/// The pages of the book, but for the tours and the one on errata, which have tests of their own.
fn pages() -> Vec<std::path::PathBuf> {
    let of = |folder: &str| -> Vec<std::path::PathBuf> {
        let files = fs::read_dir(root().join("docs").join(folder)).expect("a folder");
        let files = files.map(|entry| entry.expect("a file").path());
        files.filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
    };
    let mut pages: Vec<_> = ["", "reference", "how", "how/strategies"].map(of).concat();
    pages.retain(|path| !path.ends_with("errata.md"));
    pages.sort();
    pages
}

/// Every command with its output.
#[test]
fn all_pages() {
    let pages = pages();
    let next = AtomicUsize::new(0);
    let worker = || {
        let (mut run, mut wrong) = (0, Vec::new());
        while let Some(path) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (more, others) = page_with_commands(path);
            run += more;
            wrong.extend(others);
        }
        (run, wrong)
    };
    let (mut run, mut wrong) = (0, Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            let (more, others) = worker.join().expect("a page could be read");
            run += more;
            wrong.extend(others);
        }
    });
    wrong.sort();
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} commands print something else:\n{}", wrong.join("\n\n"));
    assert!(run >= 150, "{run} commands");
}

/// What looks like a command is one and stands behind `$ `, or it is a pattern in a block of the language `text`, with
/// something to fill in.
#[test]
fn commands_are_known_as_such() {
    let mut wrong = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page");
        let mut block: Option<&str> = None;
        for (at, line) in page.lines().enumerate() {
            if let Some(language) = line.strip_prefix("```") {
                block = if block.is_some() { None } else { Some(language) };
                continue;
            }
            let first = line.split(' ').next().unwrap_or_default();
            let is_command = matches!(first, "weakspot" | "weakspot-certify" | "weakspot-cc");
            let is_pattern = block == Some("text")
                && line.split([' ', '[', ',', '=']).any(|word| {
                    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
                    word.split(['.', ':']).any(|w| {
                        !w.is_empty() && w.chars().all(|c| c.is_ascii_uppercase() || c == '-')
                    })
                });
            if block.is_some() && is_command && !is_pattern {
                wrong.push(format!("{}:{}: {line}", path.display(), at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "neither `$ ` nor a pattern:\n{}", wrong.join("\n"));
}
