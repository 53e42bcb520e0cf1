//! The programs of `corpus/c`: what `weakspot run` says about them, and whether the fences that it
//! proposes mend them. `scripts/corpus-run` is for all variants.

use std::path::{Path, PathBuf};

use serde_json::Value;
use weakspot_core::testing::{sampled, scaled};

use crate::{root, run};

/// Compiles a program into a file of its own.
fn build(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("corpus-c");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join(name);
    let mut args = vec!["cc", "-O1", "-pthread"];
    args.extend(flags);
    args.extend(["-o", program.to_str().expect("UTF-8"), source.to_str().expect("UTF-8")]);
    let built = run(&args, "");
    assert_eq!(built.code, Some(0), "{name}: {}", built.err);
    program
}

/// The answers about a program.
fn answers(program: &Path, args: &[&str]) -> Vec<Value> {
    let mut words = vec!["run", "--format", "json"];
    words.extend(args);
    words.push(program.to_str().expect("UTF-8"));
    let ran = run(&words, "");
    assert!(ran.code < Some(2) || ran.code == Some(3), "{words:?}: {}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn verdict<'a>(answers: &'a [Value], question: &str, model: &str) -> &'a str {
    let is = |a: &&Value| a["question"] == question && a["model"] == model;
    answers.iter().find(is).and_then(|a| a["verdict"].as_str()).unwrap_or("none")
}

/// These are small enough to be explored completely in a short time.
const SMALL: [&str; 24] = [
    "dekker",
    "bakery",
    "msn",
    "ms2",
    "peterson",
    "treiber",
    "chase-lev",
    "seqlock",
    "ticket",
    "mcs",
    "clh",
    "spinlock",
    "sb",
    "mp",
    "2+2w",
    "c11-atomics",
    "late-null",
    "double-checked",
    "lost-update",
    "condvar",
    "lost-wakeup",
    "semaphore",
    "lock-order",
    "c11-threads",
];

#[test]
fn verdicts_are_those_of_the_labels() {
    let table = std::fs::read_to_string(root().join("corpus/c/expected.tsv")).expect("a table");
    let mut checked = 0;
    let lines = table.lines().filter(|line| !line.starts_with('#')).collect();
    for line in sampled(lines) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [file, flags, sc, fails_tso, fails_pso, _, tso, pso, own, ..] = columns[..] else {
            panic!("{line}");
        };
        let name = file.trim_end_matches(".c");
        // More rounds are for when there is more time.
        if !SMALL.contains(&name) || flags.contains("ROUNDS") || flags.contains("THREADS") {
            continue;
        }
        let words: Vec<&str> = flags.split(' ').filter(|flag| *flag != "-").collect();
        let source = root().join("corpus/c").join(file);
        let program = build(&source, &format!("{name}{}", flags.replace(' ', "")), &words);
        let answers = answers(&program, &["--model", "tso,pso,pso-own"]);
        let expected = |label| if matches!(label, "holds" | "yes") { "holds" } else { "violated" };
        let found = |question, model| verdict(&answers, question, model);
        for (model, label) in [("sc", sc), ("tso", fails_tso), ("pso", fails_pso)] {
            assert_eq!(found("failures", model), expected(label), "{line}: failures under {model}");
        }
        for (model, label) in [("tso", tso), ("pso", pso), ("pso-own", own)] {
            assert_eq!(found("run", model), expected(label), "{line}: {model}");
        }
        checked += 1;
    }
    assert!(checked > scaled(100).min(25) * 45 / 100, "{checked}");
}

/// A program with the changes that were proposed is compiled again, and nothing is found. The
/// number of changes is what was proposed; that of corpus/c beside it, where it differs.
#[test]
fn proposed_fences_mend_programs() {
    for (name, flags, models, changes) in [
        ("sb", "", "tso,pso", 2),
        ("mp", "", "tso,pso", 1),
        ("c11-atomics", "", "tso,pso", 2),
        ("dekker", "", "tso,pso", 2),
        ("dekker", "-DROUNDS=2", "tso,pso", 4),
        ("bakery", "", "tso,pso", 4),
        ("peterson", "", "tso,pso,pso-own", 3),
        ("chase-lev", "", "tso,pso", 2),
        ("seqlock", "", "tso,pso", 2),
        ("mcs", "", "tso,pso", 2),
        ("msn", "", "pso-own", 1),
        ("treiber", "", "pso-own", 1),
    ] {
        let flags: Vec<&str> = flags.split_whitespace().collect();
        let text =
            std::fs::read_to_string(root().join(format!("corpus/c/{name}.c"))).expect("text");
        assert_eq!(fixed(name, &text, &flags, models), changes, "{name} {flags:?}");
    }
}

/// How many changes are proposed for a program; they are made, and it is checked that they are enough.
fn fixed(name: &str, text: &str, flags: &[&str], models: &str) -> usize {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fixed");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join(format!("{name}.c"));
    std::fs::write(&source, text).expect("written");
    let program = build(&source, &format!("{name}-unmended"), flags);
    let got = answers(&program, &["--fences", "--model", models]);
    let advice = got.iter().find(|a| a["question"] == "fence").expect("advice");
    assert_eq!(advice["fixable"], true, "{name}: {advice}");
    assert_eq!(advice["limit"], Value::Null, "{name}: {advice}");
    let patched = applied(text, advice["diff"].as_str().expect("a diff"));
    std::fs::write(&source, &patched).expect("written");
    let program = build(&source, &format!("{name}-fixed"), flags);
    let again = answers(&program, &["--model", models]);
    for model in models.split(',') {
        assert_eq!(verdict(&again, "run", model), "holds", "{name} {model}:\n{patched}");
    }
    let fences = advice["fences"].as_array().map_or(&[][..], Vec::as_slice);
    fences.iter().filter(|change| change["language"] == false).count()
}

/// A text with the changes of a diff of it.
fn applied(text: &str, diff: &str) -> String {
    let old: Vec<&str> = text.lines().collect();
    let mut new: Vec<&str> = Vec::new();
    let mut at = 0;
    for line in diff.lines().skip(2) {
        match (line.get(..1), line.get(1..)) {
            (Some("@"), _) => {
                let start = line.split(['-', ',']).nth(1).and_then(|n| n.parse::<usize>().ok());
                let start = start.expect("a line") - 1;
                new.extend(&old[at..start]);
                at = start;
            }
            (Some("+"), Some(rest)) => new.push(rest),
            (Some(mark), Some(rest)) => {
                assert_eq!(old[at], rest, "{diff}");
                new.extend((mark == " ").then_some(rest));
                at += 1;
            }
            _ => panic!("{line}"),
        }
    }
    new.extend(&old[at..]);
    new.join("\n") + "\n"
}

const MAIN: &str = "
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, p, 0);
    pthread_create(&b, 0, q, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// Orders are made stronger where they are written down; lines with several statements, loops and
/// macros get their fences where they belong.
#[test]
fn proposals_for_all_kinds_of_lines() {
    let relaxed = format!(
        "#include <pthread.h>
#include <stdatomic.h>
atomic_int data, ready;
int seen;
void *p(void *a) {{
    atomic_store_explicit(&data, 1, memory_order_relaxed);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return a;
}}
void *q(void *a) {{
    if (atomic_load_explicit(&ready, memory_order_relaxed))
        seen = atomic_load_explicit(&data, memory_order_relaxed);
    return a;
}}
{MAIN}"
    );
    assert_eq!(fixed("released", &relaxed, &[], "tso,pso"), 1);
    let patched = std::fs::read_to_string(
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fixed/released.c"),
    );
    let patched = patched.expect("a text");
    assert!(patched.contains("&ready, 1, memory_order_release)"), "{patched}");
    assert!(patched.contains("&ready, memory_order_acquire)"), "{patched}");

    let one_line = format!(
        "#include <pthread.h>
#define LOAD(x) (*(volatile int *)&(x))
volatile int x, y, r, s;
void *p(void *a) {{ x = 1; while (LOAD(r) > 9) ; if (LOAD(y) == 0) return a; return 0; }}
static inline void go(void) {{ y = 1; }}
void *q(void *a) {{ for (int i = 0; i < 1; i++) {{ go(); s = x; }} return a; }}
{MAIN}"
    );
    assert_eq!(fixed("line", &one_line, &[], "tso,pso"), 2);
}

/// Functions that others call, too, stay as they are: fences stand where the calls part. A fence in both threads
/// is right by C11, too, while a sequentially consistent store alone would not be.
#[test]
fn wrapped_accesses_get_fences_between_calls() {
    let wrapped = format!(
        "#include <pthread.h>
#include <stdatomic.h>
static inline void put(atomic_int *to, int value) {{
    atomic_store_explicit(to, value, memory_order_relaxed);
}}
static inline int get(atomic_int *from) {{
    return atomic_load_explicit(from, memory_order_relaxed);
}}
atomic_int x, y;
int r, s;
static inline int enter(atomic_int *mine, atomic_int *other) {{
    put(mine, 1);
    return get(other);
}}
void *p(void *a) {{
    r = enter(&x, &y);
    return a;
}}
void *q(void *a) {{
    put(&y, 1);
    s = get(&x);
    return a;
}}
{MAIN}"
    );
    assert_eq!(fixed("wrapped", &wrapped, &[], "tso"), 2);
    let patched = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fixed/wrapped.c");
    let patched = std::fs::read_to_string(patched).expect("a text");
    let fence = "atomic_thread_fence(memory_order_seq_cst);";
    let fence =
        if patched.contains(fence) { fence } else { "__atomic_thread_fence(__ATOMIC_SEQ_CST);" };
    for part in [
        format!("    put(mine, 1);\n    {fence}\n    return get(other);"),
        format!("    put(&y, 1);\n    {fence}\n    s = get(&x);"),
    ] {
        assert!(patched.contains(&part), "{patched}");
    }
}

/// A fence that belongs inside of a statement is not written down.
#[test]
fn what_cannot_be_written_is_told() {
    let text = format!(
        "#include <pthread.h>
volatile int x, y, r, s;
#define BOTH(a, b) ((a) = 1, (b))
void *p(void *a) {{
    r = BOTH(x, y);
    return a;
}}
void *q(void *a) {{
    y = 1;
    __sync_synchronize();
    s = x;
    return a;
}}
{MAIN}"
    );
    let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("inside.c");
    std::fs::write(&source, text).expect("written");
    let program = build(&source, "inside", &[]);
    let ran = run(&["run", "--fences", "-q", program.to_str().expect("UTF-8")], "");
    let got = "inside.c:5: a fence between two accesses of this line";
    assert!(ran.out.contains(got), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("+++"), "{}", ran.out);
}
