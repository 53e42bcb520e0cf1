//! `weakspot monitor --program`: its three modes, JSON, witnesses and what it refuses.

use expect_test::{Expect, expect};

use crate::{run, transcript};

/// The transcript without times and without the numbers that tell how much the search did.
fn check(args: &[&str], stdin: &str, expected: Expect) {
    let mut text = String::new();
    for line in transcript(args, stdin).lines() {
        let mut line = line.to_owned();
        for (before, after) in [("searched (", " "), ("\"states\":", "}"), ("overtake it (", " ")] {
            if let Some((head, tail)) = line.split_once(before) {
                let rest = tail.find(after).map_or("", |i| &tail[i..]);
                line = format!("{head}{before}_{rest}");
            }
        }
        // Times have three digits after the point, and nothing else has.
        let time = |word: &&str| {
            word.split_once('.').is_some_and(|(a, b)| {
                a.parse::<u32>().is_ok() && b.len() == 3 && b.parse::<u32>().is_ok()
            })
        };
        let found = line.split(' ').find(time).map(str::to_owned);
        if let Some(time) = found {
            line = line.replacen(&time, "_.___", 1);
        }
        text += &line;
        text.push('\n');
    }
    expected.assert_eq(&text);
}

const SB: &str = "corpus/litmus/SB.litmus";
const DEKKER: &str = "corpus/programs/dekker.weak";

#[test]
fn all_executions() {
    check(&["monitor", "--program", "--model", "tso", SB], "", expect![[""]]);
    check(
        &["monitor", "--program", "-q", SB, "corpus/litmus/SB+mfences.litmus", DEKKER],
        "",
        expect![[""]],
    );
}

#[test]
fn few_preemptions() {
    check(
        &["monitor", "--program", "--preemptions", "1", "--model", "tso", DEKKER],
        "",
        expect![[""]],
    );
    check(&["monitor", "--program", "--preemptions", "0", "-q", SB], "", expect![[""]]);
}

#[test]
fn random_executions() {
    check(
        &["monitor", "--program", "--random", "100", "--seed", "7", "-q", SB, DEKKER],
        "",
        expect![[""]],
    );
    let again =
        |seed| run(&["monitor", "--program", "--random", "9", "--seed", seed, "-q", SB], "");
    assert_eq!(again("4").code, again("4").code);
}

#[test]
fn json() {
    for mode in [&["--schedules", "all"][..], &["--preemptions", "1"], &["--random", "5"]] {
        let args = [&["monitor", "--program", "--format", "json", "--model", "tso"], mode, &[SB]];
        check(&args.concat(), "", expect![[""]]);
    }
}

#[test]
fn witnesses() {
    let folder = std::env::temp_dir().join(format!("weakspot-monitor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("witness.json");
    let path = file.to_str().unwrap();
    let mut text = String::new();
    for (mode, input) in [
        (&["--schedules", "all"][..], SB),
        (&["--schedules", "all"], "corpus/litmus/SB+mfences.litmus"),
        (&["--preemptions", "1"], DEKKER),
        (&["--random", "20"], DEKKER),
    ] {
        let args =
            [&["monitor", "--program", "-q", "--model", "tso", "--witness", path], mode, &[input]];
        let asked = run(&args.concat(), "");
        text += &transcript(&["certify", input, path], "");
        text += &format!("asked: exit {:?}\n", asked.code);
    }
    let none = ["monitor", "--program", "-q", "--random", "3", "--model", "tso", "--witness", path];
    text += &run(&[&none[..], &["corpus/litmus/SB+mfences.litmus"]].concat(), "").err;
    let _ = std::fs::remove_dir_all(&folder);
    expect![[""]].assert_eq(&text);
}

#[test]
fn refused() {
    check(&["monitor", "--program", "--model", "sc", SB], "", expect![[""]]);
    check(&["monitor", "--program", "no-such.weak"], "", expect![[""]]);
    check(
        &["monitor", "--program", "--preemptions", "1", "-"],
        "shared x = 0\nthread p { var r = 1 / x }\n",
        expect![[""]],
    );
}
