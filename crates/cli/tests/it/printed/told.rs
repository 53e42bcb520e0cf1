//! An answer says the same in every format.

use serde_json::Value;

use crate::real::run::{explore, two};
use crate::run;

/// What fails under SC may hide what comes of a pair.
#[test]
fn failures_under_sc_hide_others() {
    let front = "volatile int x, y, r1, r2, n;";
    let source = two(front, "x = 1; r1 = y; n = n + 1;", "y = 1; r2 = x; n = n + 1;", "n == 2");
    let (out, code) = explore("hidden", &source, &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("then     not known: executions fail under SC already"), "{out}");
    assert!(!out.contains("no execution fails"), "{out}");
    // Both accesses stand on one line.
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("a fence in p#1 between wr x and rd y at "), "{out}");
    let (out, _) = explore("hidden", &source, &["--model", "tso", "--format", "json"]);
    assert!(out.contains(r#""consequence":"unknown""#), "{out}");
    assert!(!out.contains(r#""consequence":"unnoticed""#), "{out}");
}

/// The store that overtakes is the one that the other thread saw before it missed the late one.
#[test]
fn a_seqlock_needs_its_last_store_ordered() {
    let front = "#include <stdatomic.h>
atomic_int seq, d1, d2;
#define STORE(x, v) atomic_store_explicit(&x, v, memory_order_relaxed)
#define LOAD(x) atomic_load_explicit(&x, memory_order_acquire)";
    let p = "STORE(seq, 1);
    atomic_thread_fence(memory_order_release);
    STORE(d1, 1);
    STORE(d2, 1);
    STORE(seq, 2);";
    let q = "int s = LOAD(seq), x = LOAD(d1), y = LOAD(d2);
    if (s == LOAD(seq) && !(s & 1)) assert(x == y);";
    let source = two(front, p, q, "1");
    let (out, _) = explore("seqlock", &source, &["--model", "pso"]);
    let late: String =
        out.split("  late  ").nth(1).expect("a late store").chars().take(200).collect();
    let words: Vec<&str> = late.split_whitespace().collect();
    assert!(words.join(" ").contains("reaches memory after wr seq"), "{late}");
    let (out, _) = explore("seqlock", &source, &["--model", "pso", "--format", "json"]);
    let objects = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let failed: Vec<Value> = objects.filter(|o| o["failures"][0].is_object()).collect();
    let run = &failed[0]["failures"][0]["run"];
    let steps = run["steps"].as_array().expect("steps");
    let by = steps.iter().find(|step| step["n"] == run["late"][0]["behind"]).expect("a step");
    assert_eq!(by["location"], "seq", "{run}");
}

/// A read that shows that a causal model is violated is in each picture of it.
#[test]
fn reads_of_histories() {
    let read =
        "core2 r [0x1000] 5 (line 6): reads [0x1000]=5, which core0 1 w [0x1000] 7 had overwritten";
    let file = "corpus/histories/stale-read.wshist";
    for model in ["cc", "ccv", "cm"] {
        let ran = run(&["history", "--model", model, "--format", "github", file], "");
        assert!(ran.out.contains(read), "{}", ran.out);
        let ran = run(&["history", "--model", model, "--format", "svg", file], "");
        assert!(ran.out.contains("r [0x1000] 5") && ran.out.contains("3 fr"), "{}", ran.out);
    }
    let ran = run(&["history", "--model", "coherence", "--format", "svg", file], "");
    assert!(ran.out.contains("r [0x1000] 5"), "{}", ran.out);
    // What derived orders follow from.
    let classic = "corpus/histories/classic.wshist";
    let ran = run(&["history", "--model", "ccv", "--format", "github", classic], "");
    let because = "t0 0 w x 1 is older than t1 0 w x 2, because t2 1 r x 2 comes after it";
    assert!(ran.out.contains(because), "{}", ran.out);
}

/// Programs and logs in one call are one document.
#[test]
fn programs_and_logs_together() {
    let files = ["corpus/programs/task-pool.weak", "corpus/transactions/task-pool.wstrace"];
    let ran = |format: &str| run(&["serial", "--format", format, files[0], files[1]], "").out;
    let sarif: Value = serde_json::from_str(&ran("sarif")).expect("one document");
    let text = sarif.to_string();
    assert!(text.contains("task-pool.weak") && text.contains("task-pool.wstrace"), "{text}");
    assert_eq!(ran("junit").matches("<?xml").count(), 1);
    assert_eq!(ran("svg").matches("<svg ").count(), 1);
    assert_eq!(ran("csv").matches("model,").count(), 1);
    let page = std::env::temp_dir().join(format!("weakspot-both-{}.html", std::process::id()));
    run(&["serial", "--report", page.to_str().expect("UTF-8"), files[0], files[1]], "");
    let written = std::fs::read_to_string(&page).expect("a page");
    std::fs::remove_file(&page).expect("removed");
    for file in files {
        assert!(written.contains(&format!(r#""file":"{file}""#)), "{file}");
    }
}

/// A pair of a program is annotated in its file.
#[test]
fn annotations_of_programs_that_are_monitored() {
    let args = ["monitor", "--program", "--model", "tso", "--format"];
    let ran = |format: &str| {
        let args: Vec<&str> =
            args.into_iter().chain([format, "corpus/programs/dekker.weak"]).collect();
        run(&args, "").out
    };
    let out = ran("github");
    let first = out.lines().next().expect("an annotation");
    assert!(
        first.starts_with("::error file=corpus/programs/dekker.weak,line=17,col=9,"),
        "{first}"
    );
    assert!(first.contains("`while (flag[1 - me] == 1)` by p[1]"), "{first}");
    let sarif: Value = serde_json::from_str(&ran("sarif")).expect("a document");
    let at = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(at["artifactLocation"]["uri"], "corpus/programs/dekker.weak", "{sarif}");
    assert_eq!(at["region"]["startLine"], 17, "{sarif}");
}

/// A program whose states under SC are many, and whose question is about a part of it that is small.
pub(crate) fn wide_program() -> String {
    let mut text = String::new();
    for i in 0..6 {
        text += &format!(
            "shared x{i} in 0..20\nthread p{i} {{\n    var i = 0\n    while (i < {}) {{\n        x{i} = i\n        \
             i = i + 1\n    }}\n}}\n",
            9 + i
        );
    }
    text + "shared z in 0..5\nthread q {\n    var r\n    r = z\n    if (r == 5) {\n        bad: r = 0\n    }\n}\n\
            never at q.bad\n"
}

/// What holds under a weaker memory holds under a stronger one, whatever the search there comes to.
#[test]
fn weaker_memories_answer_for_stronger_ones() {
    let args = ["reach", "--memory", "4MiB", "--input-format", "weak", "--model"];
    let ask = |model: &str| {
        let args: Vec<&str> = args.into_iter().chain([model, "-"]).collect();
        run(&args, &wide_program())
    };
    let alone = ask("sc");
    assert_eq!(alone.code, Some(3), "{}", alone.out);
    let all = ask("sc,tso,pso");
    assert_eq!(all.code, Some(0), "{}", all.out);
    assert!(
        all.out.contains("never reached together (as under TSO, which allows more)"),
        "{}",
        all.out
    );
    // That there is a state says nothing about fewer states.
    let exists = wide_program() + "exists (z == 0)\n";
    let ran = run(&["reach", "--memory", "4MiB", "--input-format", "weak", "-"], &exists);
    assert_eq!(ran.code, Some(3), "{}", ran.out);
    assert!(!ran.out.contains("as under"), "{}", ran.out);
}

/// Witnesses of logs are not stepped through, and the message says what is.
#[test]
fn witnesses_of_logs_are_not_stepped_through() {
    let path = std::env::temp_dir().join(format!("weakspot-told-{}.json", std::process::id()));
    let (log, path) = ("corpus/traces/store-buffering.wstrace", path.to_str().expect("UTF-8"));
    run(&["monitor", "--model", "tso", "--witness", path, log], "");
    for words in [&["show", path][..], &["show", log, path]] {
        let ran = run(words, "");
        assert!(
            ran.err.contains("`weakspot monitor --format json LOG | weakspot show -`"),
            "{}",
            ran.err
        );
    }
    std::fs::remove_file(path).expect("removed");
}

/// The table of monitored programs fits.
#[test]
fn tables_of_monitored_programs_fit() {
    for columns in ["60", "72", "80"] {
        let mut command = crate::weakspot();
        command.args(["monitor", "--program", "-q", "corpus/programs/peterson.weak"]);
        let out = command.env("COLUMNS", columns).output().expect("it runs").stdout;
        let out = String::from_utf8(out).expect("UTF-8");
        let most = columns.parse().expect("a number");
        for line in out.lines() {
            assert!(line.chars().count() <= most, "{columns}: {line}");
        }
    }
}

/// Fences give SC at best, which is said where that is not enough.
#[test]
fn fences_do_not_help_against_what_sc_does() {
    let thread = |name: &str| {
        format!(
            "thread {name} {{\n    var r\n    transaction {{\n        r = x\n        x = r + 1\n    }}\n}}\n"
        )
    };
    let program = format!("shared x\n{}{}", thread("a"), thread("b"));
    let ran = run(&["serial", "--input-format", "weak", "-q", "-"], &program);
    let note = "note: under SC it is not serializable either: no fence helps";
    assert_eq!(ran.out.matches(note).count(), 1, "{}", ran.out);
    let ran = run(&["serial", "-q", "corpus/programs/task-pool.weak"], "");
    assert!(!ran.out.contains("no fence helps"), "{}", ran.out);
}
