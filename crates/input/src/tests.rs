//! Folders, standard input and traces of files.

use std::path::{Path, PathBuf};

use weakspot_trace::LogPlace;

use crate::{PROGRAM_ENDINGS, Stop, TraceOf, expand, expand_histories, expand_logs, read_by};

const NEVER: Stop = Stop { at: None, asked: || false };

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    folder
}

fn names(paths: &[PathBuf], below: &Path) -> Vec<String> {
    let name = |path: &PathBuf| path.strip_prefix(below).expect("below").display().to_string();
    paths.iter().map(name).collect()
}

/// A folder stands for what is below it, by name, once, and of texts for programs only.
#[test]
fn what_folders_stand_for() {
    let folder = folder(&[
        ("d.txt", "# a comment\n\nthread t\n"),
        ("b.weak", ""),
        ("sub/a.litmus", ""),
        ("c.txt", "memory_size 4\nthread t\n"),
        ("e.txt", "thread-safe notes\n"),
        ("a.weak", ""),
        ("f.csv", ""),
    ]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path(), folder.path().join("sub/again")).expect("a link");
    let whole = [folder.path().to_owned()];
    let found = expand(&whole, None, &PROGRAM_ENDINGS).expect("programs");
    let found: Vec<PathBuf> = found.into_iter().map(|input| input.path).collect();
    let all = ["a.weak", "b.weak", "c.txt", "d.txt", "sub/a.litmus"];
    assert_eq!(names(&found, folder.path()), all);
    // Who names a file means it.
    let named = expand(&[folder.path().join("e.txt")], None, &PROGRAM_ENDINGS);
    assert_eq!(named.expect("the file").len(), 1);
    assert_eq!(names(&expand_histories(&whole).expect("one"), folder.path()), ["f.csv"]);
    let error = expand_logs(&whole).expect_err("no log").to_string();
    assert!(error.starts_with("no .wstrace, .jsonl, .json, .std or .wslog file"), "{error}");
    assert!(read_by(Path::new("a.weak")).is_some() && read_by(Path::new("a.txt")).is_none());
}

#[test]
fn standard_input_is_read_once() {
    let [input, file] = ["-", "a.wslog"].map(PathBuf::from);
    for (paths, is_fine) in [
        (vec![input.clone(), file.clone(), file], true),
        (vec![input.clone(), input.clone()], false),
        (vec![input; 3], false),
    ] {
        assert_eq!(expand_logs(&paths).is_ok(), is_fine, "{paths:?}");
        assert_eq!(expand_histories(&paths).is_ok(), is_fine, "{paths:?}");
    }
}

/// What is known of a trace is known of all of it, and of no other.
#[test]
fn traces_are_looked_through() {
    let many = "t1: rd x\n".repeat(5000);
    let text = format!("trace a\nt0: wr x\nt0: com x\n{many}trace b\nt0: wr y\n");
    let folder = folder(&[("two.wstrace", &text)]);
    let path = &folder.path().join("two.wstrace");
    let trace = |number| TraceOf { path, format: None, number, stop: NEVER };
    let [first, second] = [0, 1].map(|n| trace(Some(n)).scan().expect("read"));
    assert_eq!((first.is_there, first.has_commits), (true, true));
    assert_eq!((second.is_there, second.has_commits), (true, false));
    assert_eq!((first.tables.locs.len(), &*second.tables.locs[0].name), (1, "y"));
    assert!(!trace(Some(2)).scan().expect("read").is_there);
    let line = |line| Some(LogPlace::Line { line, column: 1 });
    for (number, event, place) in [
        (0, 0, line(2)),
        (0, 1, line(3)),
        (0, 5001, line(5003)),
        (0, 5002, None),
        (1, 0, line(5005)),
        (1, 1, None),
    ] {
        assert_eq!(trace(Some(number)).place(event), place, "event {event} of {number}");
    }
}
