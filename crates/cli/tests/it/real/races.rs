//! The programs of `corpus/races`: each is free of data races as it is, and has one on the lines that say
//! so with `-DRACY`; of its tests in Rust, those in `free.rs` have none and those in `racy.rs` one each.

use std::path::{Path, PathBuf};

use serde_json::Value;
use weakspot_core::testing::sampled;

use crate::real::cargo::{cargo, copy, folder};
use crate::{root, run};

/// The lines of a file that say that they race.
fn marked(source: &Path) -> Vec<usize> {
    let text = std::fs::read_to_string(source).expect("a program");
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains("// racy"));
    lines.map(|(i, _)| i + 1).collect()
}

/// The lines of a file that stand in some frames.
fn lines<'a>(frames: &'a Value, file: &'a str) -> impl Iterator<Item = usize> + 'a {
    let frames = frames.as_array().into_iter().flatten().filter_map(Value::as_str);
    frames.filter_map(move |frame| {
        let (_, behind) = frame.split_once(file)?;
        let digits: String =
            behind.strip_prefix(':')?.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

/// What is wrong with an answer: there are to be races, on marked lines, or nothing at all.
fn wrong(answer: &Value, source: &Path, racy: bool) -> Option<String> {
    let failures = answer["failures"].as_array().expect("failures");
    let races: Vec<&Value> = failures.iter().filter(|f| f["kind"] == "data-race").collect();
    let expected = if racy { "violated" } else { "holds" };
    // What is done twice may be freed twice, too.
    if answer["verdict"] != expected || races.is_empty() == racy {
        return Some(format!("{} is not {expected}: {failures:?}", answer["verdict"]));
    }
    let (marked, file) = (marked(source), source.file_name()?.to_str()?);
    let is_marked = |race: &&Value| {
        [&race["at"], &race["related"][0]["at"]]
            .iter()
            .all(|frames| lines(frames, file).any(|line| marked.contains(&line)))
    };
    let elsewhere = races.iter().find(|race| !is_marked(race));
    let unshown = races.iter().find(|r| r["schedule"].as_str().is_none_or(str::is_empty));
    match (elsewhere, unshown) {
        // What is destroyed twice races inside of the library, too.
        (Some(race), _) if file != "shared-ptr.cpp" || !races.iter().any(is_marked) => {
            Some(format!("on a line that is not marked: {race}"))
        }
        (_, Some(race)) => Some(format!("without a schedule: {race}")),
        _ => None,
    }
}

fn check(source: &Path, compiler: &[&str], flag: Option<&str>) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("races");
    std::fs::create_dir_all(&folder).expect("a folder");
    let name = source.file_stem().and_then(|name| name.to_str()).expect("a name");
    let language = compiler[0];
    let program = folder.join(format!("{name}-{language}{}", flag.unwrap_or("")));
    let mut args = compiler.to_vec();
    args.extend(["-O1", "-g", "-pthread"]);
    args.extend(flag);
    args.extend(["-o", program.to_str().expect("UTF-8"), source.to_str().expect("UTF-8")]);
    let built = run(&args, "");
    assert_eq!(built.code, Some(0), "{name}: {}", built.err);
    let words = ["run", "--format", "json", "--model", "tso", program.to_str().expect("UTF-8")];
    let ran = run(&words, "");
    let answer = ran.out.lines().next().unwrap_or_else(|| panic!("{name}: {}", ran.err));
    let answer: Value = serde_json::from_str(answer).expect("JSON");
    if let Some(wrong) = wrong(&answer, source, flag.is_some()) {
        panic!("{name} {flag:?}: {wrong}");
    }
}

fn sources(language: &str, ending: &str) -> Vec<PathBuf> {
    let folder = root().join("corpus/races").join(language);
    let all = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> =
        all.filter(|path| path.extension().is_some_and(|e| e == ending)).collect();
    all.sort();
    all
}

#[test]
fn in_c() {
    let sources = sources("c", "c");
    assert!(sources.len() >= 43);
    for source in sampled(sources) {
        let two = source.ends_with("fences.c");
        let flags: &[Option<&str>] = match two {
            true => &[None, Some("-DRACY=1"), Some("-DRACY=2")],
            false => &[None, Some("-DRACY")],
        };
        flags.iter().for_each(|flag| check(&source, &["cc"], *flag));
    }
}

#[test]
fn in_cxx() {
    for source in sampled(sources("cxx", "cpp")) {
        for flag in [None, Some("-DRACY")] {
            check(&source, &["c++", "-std=c++20"], flag);
        }
    }
}

/// Not asked for, not looked for.
#[test]
fn only_where_they_are_asked_for() {
    let source = root().join("corpus/races/c/mp.c");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("races-off");
    let [source, program] = [&source, &program].map(|path| path.to_str().expect("UTF-8"));
    let built = run(&["cc", "-O1", "-g", "-pthread", "-DRACY", "-o", program, source], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    for (options, code) in [
        (&["--model", "tso"][..], Some(1)),
        (&["--model", "tso", "--no-races"], Some(0)),
        (&["--under", "tso"], Some(1)),
        (&["--under", "tso", "--no-races"], Some(0)),
    ] {
        let mut words = vec!["run"];
        words.extend(options);
        words.push(program);
        let ran = run(&words, "");
        assert_eq!(ran.code, code, "{options:?}: {}{}", ran.out, ran.err);
    }
}

/// A schedule that is shown leads to the same race.
#[test]
fn schedules_show_them_again() {
    let source = root().join("corpus/races/c/dekker.c");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("races-again");
    let [source, program] = [&source, &program].map(|path| path.to_str().expect("UTF-8"));
    let built = run(&["cc", "-O1", "-g", "-pthread", "-DRACY", "-o", program, source], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let first = |words: &[&str]| -> Value {
        let ran = run(words, "");
        serde_json::from_str(ran.out.lines().next().expect("an answer")).expect("JSON")
    };
    let found = first(&["run", "--format", "json", "--model", "tso", program]);
    let race = &found["failures"][0];
    let schedule = race["schedule"].as_str().expect("a schedule");
    let again =
        first(&["run", "--format", "json", "--model", "tso", "--replay", schedule, program]);
    assert_eq!(again["failures"][0]["kind"], "data-race");
    assert_eq!(again["failures"][0]["at"], race["at"]);
    assert_eq!(again["failures"][0]["related"], race["related"]);
}

#[test]
fn in_rust() {
    let folder = folder("races");
    let corpus = root().join("corpus/races/rust");
    copy(&corpus, &folder);
    let ours = ["--format", "json", "--model", "tso", "--executions", "600", "--timeout", "10m"];
    let ran = cargo("test", &folder, &ours, &[]);
    let mut checked = 0;
    for line in ran.out.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        if answer["question"] != "failures" || answer["model"] != "sc" {
            continue;
        }
        let name = answer["file"].as_str().expect("a name").to_owned();
        let racy = name.contains("racy");
        let source = corpus.join(if racy { "tests/racy.rs" } else { "tests/free.rs" });
        // Some have more executions than there is time for.
        let mut answer = answer;
        if !racy && answer["verdict"] == "unknown" {
            answer["verdict"] = "holds".into();
        }
        if let Some(wrong) = wrong(&answer, &source, racy) {
            panic!("{name}: {wrong}\n{answer}");
        }
        checked += 1;
    }
    assert_eq!(checked, 36, "{}", ran.err);
}
