//! `--hash-compact` and `--disk`: searches that take less memory have the same counts.

use serde_json::Value;

use crate::run;

/// Three threads that count, and one that looks at them once.
fn counting(size: u32, seen: u32) -> String {
    let count = |name: &str, shared: &str| {
        format!("thread {name} {{ while (1) {{ {shared} = ({shared} + 1) % {size} }} }}\n")
    };
    format!(
        "shared a = 0, b = 0, c = 0\n{}{}{}thread s {{ var x; atomic {{ x = a; if (x == {seen}) {{ x = b; \
         if (x == {seen}) {{ x = c; assert(x != {seen}) }} }} }} }}\n",
        count("p", "a"),
        count("q", "b"),
        count("r", "c"),
    )
}

/// The exit code and what was printed, without what differs each time.
fn asked(program: &str, options: &[&str]) -> (Option<i32>, Value) {
    let words = ["reach", "--model", "sc", "--format", "json", "--input-format", "weak", "-"];
    let ran = run(&[&words[..], options].concat(), program);
    let mut object: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    object.as_object_mut().expect("an object").remove("time_s");
    (ran.code, object)
}

fn steps(object: &Value) -> usize {
    object["schedule"].as_array().expect("a run").len()
}

#[test]
fn hashes_find_what_there_is_and_prove_nothing() {
    let held = counting(15, 15);
    let (code, plain) = asked(&held, &[]);
    assert_eq!((code, &plain["verdict"]), (Some(0), &"holds".into()));
    let (code, hashes) = asked(&held, &["--hash-compact=48"]);
    assert_eq!((code, &hashes["verdict"]), (Some(3), &"unknown".into()));
    assert_eq!(hashes["explored"], plain["explored"]);
    let limit = &hashes["limit"];
    assert_eq!((&limit["kind"], &limit["bits"]), (&"hashes".into(), &48.into()));
    let (n, omitted) = (limit["kept"].as_f64(), limit["expected_omitted"].as_f64());
    let (n, omitted) = (n.expect("a number"), omitted.expect("a number"));
    assert!(n > 20_000.0 && (omitted / (n * (n - 1.0) / 2f64.powi(49)) - 1.0).abs() < 1e-9);

    let violated = counting(15, 14);
    let (code, plain) = asked(&violated, &[]);
    assert_eq!(code, Some(1));
    let (code, hashes) = asked(&violated, &["--hash-compact"]);
    assert_eq!((code, &hashes["certified"]), (Some(1), &true.into()));
    assert_eq!(steps(&hashes), steps(&plain));
}

#[test]
fn what_does_not_fit_memory_fits_the_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let small = ["--memory", "1MiB", "--threads", "2"];
    let held = counting(20, 20);
    let (code, none) = asked(&held, &small);
    assert_eq!((code, &none["limit"]["kind"]), (Some(3), &"memory".into()));
    let plain = asked(&held, &[]);
    let disk = asked(&held, &[&small[..], &["--disk", &path]].concat());
    assert_eq!(disk, plain);
    let violated = counting(20, 19);
    let (_, plain) = asked(&violated, &[]);
    let (code, disk) = asked(&violated, &[&small[..], &["--disk", &path]].concat());
    assert_eq!((code, &disk["certified"]), (Some(1), &true.into()));
    assert_eq!(steps(&disk), steps(&plain));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);

    let ran = run(&["reach", "--disk", "/no/such", "corpus/programs/dekker-fenced.weak"], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("--disk /no/such: "), "{}", ran.err);
}

#[test]
fn where_they_are_refused() {
    let refused = |words: &str| {
        let ran = run(&words.split(' ').collect::<Vec<_>>(), "");
        assert_eq!(ran.code, Some(2), "{words}");
        ran.err
    };
    for (words, why) in [
        ("reach --model tso --hash-compact a.weak", "for `reach --model sc`"),
        ("reach --disk . --algorithm eager a.weak", "for `reach --model sc`"),
        ("reach --hash-compact --disk . a.weak", "leave out one"),
        ("reach --hash-compact --witness w.json a.weak", "no evidence"),
        ("robust --disk . --model tso --checkpoint c a.weak", "without checkpoints"),
        ("robust --hash-compact --trf a.weak", "--trf is not for"),
        ("robust --hash-compact=39 a.weak", "40"),
    ] {
        let said = refused(words);
        assert!(said.contains(why), "{words}: {said}");
    }
}
