//! Searches by several processes that are killed, interrupted or end at a limit, and go on with another number of them.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::processes::cluster::{Started, children, signal};
use crate::programs::checkpoint::{Folder, REACH, counting, ended, object, start};
use crate::{Ran, run};

/// The words of a question for so many processes, none for one that is alone.
fn by<'w>(processes: &'w str, question: &[&'w str]) -> Vec<&'w str> {
    match processes {
        "0" => [question, &["-j", "2"]].concat(),
        _ => [&["cluster", "local", processes, "--"], question, &["-j", "1"]].concat(),
    }
}

/// Waits for a file.
fn wait_for(file: &str) {
    let began = Instant::now();
    while !Path::new(file).exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing is kept");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the answer says, and how long its run is: which one of the shortest it is depends on who is quicker, and so
/// does how much was searched up to it.
fn said(ran: &Ran) -> (Value, Option<Value>, Option<usize>) {
    let object = object(ran);
    let is_whole = object["verdict"] == "holds";
    let steps = object["schedule"].as_array().map(Vec::len);
    (object["verdict"].clone(), is_whole.then(|| object["explored"].clone()), steps)
}

#[test]
fn another_number_of_processes_goes_on() {
    let folder = Folder::new();
    for seen in [[22, 0, 0], [19, 20, 21]] {
        let program = folder.write("p.weak", &counting(22, seen));
        let file = folder.path("kept");
        let expected = said(&run(&[&REACH[..], &["-j", "1", &program]].concat(), ""));
        let goes_on = format!("{program}: --resume {file} goes on from here\n");
        // A small part of what the search takes, wherever that is quick.
        let short = ["reach", "--model", "sc", "--format", "json", "--timeout", "150ms"];
        let mut stopped = 0;
        for processes in ["2", "0", "3", "1", "2", "0"] {
            let mut more = vec!["--checkpoint", &file, &program];
            if Path::new(&file).exists() {
                more.extend(["--resume", &file]);
            }
            // In the end it may take as long as it takes.
            let question = if stopped < 3 { &short[..] } else { &REACH };
            let ran = run(&by(processes, &[question, &more].concat()), "");
            if ran.code == Some(3) {
                assert!(ran.err.is_empty() || ran.err == goes_on, "{}", ran.err);
                stopped += 1;
                continue;
            }
            assert_eq!(said(&ran), expected, "{processes}: {}", ran.err);
            break;
        }
        assert!(stopped > 0);
        let _ = std::fs::remove_file(&file);
    }
}

/// kill -9 of one process, then of all of them.
#[test]
fn what_is_left_of_killed_processes_goes_on() {
    let folder = Folder::new();
    let program = folder.write("p.weak", &counting(26, [26, 0, 0]));
    let expected = object(&run(&[&REACH[..], &["-j", "1", &program]].concat(), ""));
    let file = folder.path("kept");
    let kept = [&REACH[..], &["-j", "1", "--checkpoint", &file, &program]].concat();
    let mut started = Started::none(2);
    (0..2).for_each(|process| started.ask(process, "token", &kept));
    wait_for(&file);
    signal(&started.children[1], "-9");
    let began = Instant::now();
    let ran = started.end(0);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert_eq!(object(&ran)["limit"]["lost"], "gone");
    assert_eq!(ran.err, format!("{program}: --resume {file} goes on from here\n"));
    let child = start(&by("2", &[&kept[..], &["--resume", &file]].concat()));
    std::thread::sleep(Duration::from_millis(900));
    let processes = children(child.id());
    for process in [&processes[..], &[child.id()]].concat() {
        // It may have ended.
        let kill = ["-9", &process.to_string()];
        let _ = std::process::Command::new("kill").args(kill).status();
    }
    ended(child);
    let ran = run(&[&REACH[..], &["-j", "2", "--resume", &file, &program]].concat(), "");
    assert_eq!(object(&ran), expected, "{}", ran.err);
}

/// All processes say so at once, and the first one why.
#[test]
fn files_that_are_none_are_refused() {
    let folder = Folder::new();
    let program = folder.write("p.weak", &counting(60, [60, 0, 0]));
    let (file, bad) = (folder.path("kept"), folder.path("bad"));
    let short = ["reach", "--model", "sc", "--timeout", "600ms", "--checkpoint", &file, &program];
    let ran = run(&by("2", &short), "");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let mut bytes = std::fs::read(&file).expect("a checkpoint");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&bad, bytes).expect("written");
    let mut started = Started::none(2);
    let question = [&REACH[..], &["-j", "1", "--resume", &bad, &program]].concat();
    let began = Instant::now();
    (0..2).for_each(|process| started.ask(process, "token", &question));
    let why = format!("{bad}: damaged: its checksum is wrong");
    for why in [why.as_str(), "process 0 cannot go on with its checkpoint"] {
        let ran = started.end(0);
        assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let robust = ["robust", "--model", "tso", "--resume", &file, &program];
    let ran = run(&by("2", &robust), "");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("asked is `robust TSO Weak`"), "{}", ran.err);
    // Only one search can be kept so.
    for question in ["litmus --model sc", "reach --model sc q.weak", "history q.jsonl"] {
        let question: Vec<&str> = question.split(' ').collect();
        let ran = run(&by("2", &[&question[..], &["--checkpoint", &file, &program]].concat()), "");
        assert_eq!(ran.code, Some(2));
        assert!(ran.err.contains("of several processes the search of"), "{}", ran.err);
    }
}
