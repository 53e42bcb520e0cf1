//! What drawings of real programs show: values as their types say, the cause of a failure, lines of C++.

use crate::real::failures::explore;
use crate::run;

/// All parts are there, in this order.
fn assert_told(out: &str, parts: &[&str]) {
    let mut rest = out;
    for part in parts {
        let at = rest.find(part);
        assert!(at.is_some(), "{part} is not told:\n{out}");
        rest = at.map_or("", |at| &rest[at..]);
    }
}

#[test]
fn values_are_told_by_their_types() {
    const SOURCE: &str = "#include <pthread.h>
#include <assert.h>
volatile unsigned big;
volatile float ratio;
volatile enum { IDLE, READY = 7 } state;
struct { volatile unsigned a : 3; volatile int b : 4; } bits;
union { volatile int i; volatile float f; } both;
static void *writer(void *p) {
    (void)p;
    ratio = 1.5f;
    big = 4000000000u;
    bits.a = 5;
    both.f = 2.5f;
    state = READY;
    return 0;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    assert(!(state == READY && big && ratio > 1 && bits.a && both.i));
    pthread_join(t, 0);
    return 0;
}
";
    let (out, code) = explore("types.c", SOURCE, &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    let parts = ["wr ratio=1.5", "wr big=4000000000", "wr bits.{a,b}={5,0}"];
    assert_told(&out, &parts);
    assert_told(&out, &["wr both={i:1075838976,f:2.5}", "wr state=READY", "rd state=READY"]);
    // It is shown once for all that it reads, and where it fails.
    assert_eq!(out.matches("  assert(!(state == READY").count(), 2, "{out}");
    let (json, _) = explore("types.c", SOURCE, &["--model", "tso", "--format", "json"]);
    let store = r#""kind":"store","location":"both","value":"{i:1075838976,f:2.5}""#;
    assert_told(&json, &[store]);
}

/// A sequentially consistent store is in memory at once; what reaches memory later is the weaker one behind it.
#[test]
fn strong_stores_are_in_memory_at_once() {
    const SOURCE: &str = "#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int want[2], inside;
static void *enter(void *p) {
    int me = p != 0;
    want[me] = 5;
    atomic_store_explicit(&want[me], 1, memory_order_release);
    if (atomic_load_explicit(&want[!me], memory_order_acquire) != 1) {
        assert(++inside == 1);
        inside--;
    }
    return 0;
}
int main(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, enter, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
";
    let (json, code) = explore("strong.c", SOURCE, &["--model", "tso", "--format", "json"]);
    assert_eq!(code, Some(1), "{json}");
    let run = json.lines().find_map(|line| {
        let answer: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let failures = answer["failures"].as_array().into_iter().flatten();
        failures.filter_map(|failure| failure.get("run")).next().cloned()
    });
    let run = run.unwrap_or_else(|| panic!("no run: {json}"));
    let steps = run["steps"].as_array().expect("steps");
    let stores =
        |line: u64| steps.iter().filter(move |s| s["kind"] == "store" && s["line"] == line);
    assert!(stores(7).count() > 0 && stores(7).all(|s| s["at_once"] == true), "{run}");
    assert!(stores(8).count() > 0 && stores(8).all(|s| s["at_once"].is_null()), "{run}");
    let commits = || steps.iter().filter(|s| s["kind"] == "commit");
    let of = |commit: &serde_json::Value| stores(8).any(|s| s["n"] == commit["of"]);
    assert!(commits().count() > 0 && commits().all(of), "{run}");
    assert!(run["late"].as_array().is_some_and(|late| !late.is_empty()), "{run}");
}

/// A store that waits while many others do: of these only their number is told.
#[test]
fn long_runs_keep_the_cause() {
    const SOURCE: &str = "#include <pthread.h>
#include <assert.h>
volatile int want[2], inside, noise[16];
static void *enter(void *p) {
    long me = (long)p;
    want[me] = 1;
    if (want[1 - me] == 0) {
        for (int i = 0; i < 12; i++) noise[i] = i;
        inside = inside + 1;
    }
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, enter, (void *)0);
    pthread_create(&b, 0, enter, (void *)1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(inside != 2);
    return 0;
}
";
    let (out, code) = explore("long.c", SOURCE, &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    let late = out.lines().filter(|line| line.starts_with("  late ")).count();
    assert_eq!(late, 1, "{out}");
    let parts = ["wr want[0]=1", "stays in the buffer", "rd want[1]=0", "... ", " of enter#1"];
    assert_told(&out, &parts);
    let parts = ["wr want[1]=1", "rd want[0]=0", "want[0]=1\n", "rd inside=2", "fails"];
    assert_told(&out, &parts);
    assert!(out.lines().take_while(|l| !l.contains("breaks SC")).count() < 60, "{out}");
}

/// Without optimisation, operators of `std::atomic` and guards of locks are functions of their own.
#[test]
fn lines_of_cxx_without_optimisation() {
    const SOURCE: &str = "#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
std::atomic<int> x;
std::atomic<bool> turn;
std::mutex lock;
int main() {
    std::thread a([] {
        x = 1;
        std::lock_guard<std::mutex> guard(lock);
        turn = true;
    });
    std::thread b([] {
        std::lock_guard<std::mutex> guard(lock);
        if (turn) assert(x == 0);
    });
    a.join();
    b.join();
}
";
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (path, program) = (folder.join("unoptimised.cpp"), folder.join("unoptimised"));
    std::fs::write(&path, SOURCE).expect("written");
    let [path, program] = [&path, &program].map(|path| path.to_str().expect("UTF-8"));
    let built = run(&["c++", "-O0", "-pthread", path, "-o", program], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let ran = run(&["run", "--model", "tso", program], "");
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    let parts = ["wr x=1", "lock lock", "wr turn=1", "unlock lock", "rd turn=1", "rd x=1", "fails"];
    assert_told(&ran.out, &parts);
}

/// What a store with release order is made of has one row.
#[test]
fn one_row_for_a_release_store() {
    let file = "corpus/litmus-c/MP+pooncerelease+poacquireonce.litmus";
    let ran = run(&["litmus", "--model", "pso", "--show", file], "");
    let drawn = ran.out.split("A run of").nth(1).unwrap_or_default();
    assert_eq!(drawn.matches("smp_store_release(y, 1)").count(), 1, "{drawn}");
    assert!(drawn.contains("writes y=1 to memory"), "{drawn}");
    // A fence of its own has a row.
    let file = "corpus/litmus-c/MP+wmbonceonce+rmbonceonce.litmus";
    let ran = run(&["litmus", "--model", "pso", "--show", file], "");
    assert!(ran.out.contains("smp_wmb()"), "{}", ran.out);
}

/// The verdict is coloured by every command, and said in words.
#[test]
fn verdicts_have_colours() {
    let peterson = "corpus/programs/peterson.weak";
    for (args, said) in [
        (&["litmus", "--model", "tso", "corpus/litmus/SB.litmus"][..], "^[32mOk^[0m"),
        (&["litmus", "--model", "sc", "corpus/litmus/SB.litmus"], "^[31mNo^[0m"),
        (&["litmus", "-q", "--model", "sc", "corpus/litmus/SB.litmus"], "^[31mviolated^[0m"),
        (&["reach", "--model", "tso", peterson], "^[31mviolated^[0m: "),
        (&["reach", "--model", "sc", peterson], "^[32mholds^[0m: "),
        (&["robust", "--model", "tso", peterson], "^[31mnot robust^[0m: "),
        (&["fence", "--timeout", "0s", peterson], "^[33munknown^[0m: "),
        (&["history", "--model", "sc", "corpus/histories/classic.wshist"], "^[31mviolated^[0m"),
    ] {
        let ran = run(&[args, &["--color", "always"]].concat(), "");
        assert!(ran.out.replace('\x1b', "^").contains(said), "{args:?}: {}", ran.out);
        assert!(!run(args, "").out.contains('\x1b'), "{args:?}");
    }
}
