//! Data races that only executions with store buffers have.

use std::path::PathBuf;

use crate::real::run::{explore, two};
use crate::run;

/// Each thread says that it wants to be alone, and looks whether the other one does.
fn entrances(order: &str, fence: &str) -> String {
    let enter = |own: &str, other: &str| {
        format!(
            "__atomic_store_n(&{own}, 1, __ATOMIC_{order}); {fence}
             if (!__atomic_load_n(&{other}, __ATOMIC_SEQ_CST)) inside++;"
        )
    };
    two("int x, y, inside;", &enter("x", "y"), &enter("y", "x"), "1")
}

/// Nothing is asserted: that both are inside at once is a data race.
#[test]
fn threads_that_meet_because_a_store_is_late() {
    let relaxed = entrances("RELAXED", "");
    let (out, code) = explore("meet", &relaxed, &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("SC: no execution fails"), "{out}");
    assert!(out.contains("TSO: fails: 1 failure in"), "{out}");
    assert!(out.contains("data-race on inside"), "{out}");
    for strategy in ["auto", "dpor", "rf"] {
        for model in ["tso", "pso"] {
            let args = ["--under", model, "--strategy", strategy];
            let (out, code) = explore("meet", &relaxed, &args);
            assert_eq!(code, Some(1), "{strategy} {model}: {out}");
            assert!(out.contains("data-race on inside"), "{out}");
        }
    }
    let (out, code) = explore("meet", &relaxed, &["--model", "tso", "--no-races"]);
    assert_eq!(code, Some(0), "{out}");
}

/// What is read from a store that has left its buffer was released by it.
#[test]
fn what_is_ordered_in_executions_with_buffers() {
    let full = "__atomic_thread_fence(__ATOMIC_SEQ_CST);";
    let publish = |store: &str| {
        let first = format!("data = 1; {store} r1 = __atomic_load_n(&other, __ATOMIC_RELAXED);");
        let last = "__atomic_store_n(&other, 1, __ATOMIC_RELAXED);
            if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) r2 = data;";
        two("int data, ready, other; volatile int r1, r2;", &first, last, "1")
    };
    for (name, source) in [
        ("alone_fence", entrances("RELAXED", full)),
        ("alone_order", entrances("SEQ_CST", "")),
        ("published", publish("__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);")),
        (
            "published_fence",
            publish(
                "__atomic_thread_fence(__ATOMIC_RELEASE); __atomic_store_n(&ready, 1, __ATOMIC_RELAXED);",
            ),
        ),
    ] {
        for strategy in ["dpor", "rf"] {
            for model in ["tso", "pso"] {
                let args = ["--under", model, "--strategy", strategy];
                let (out, code) = explore(name, &source, &args);
                assert_eq!(code, Some(0), "{name} {strategy} {model}: {out}");
            }
        }
    }
}

/// libstdc++ frees its lock of an atomic shared pointer with relaxed order after a load. What the program does with these is looked at.
#[test]
fn atomic_shared_pointers() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("racing");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, shared, code) in
        [("atomic_shared", "std::atomic<std::shared_ptr<int>>", 0), ("shared", "Plain", 1)]
    {
        let source = format!(
            "#include <atomic>
#include <memory>
#include <thread>
struct Plain : std::shared_ptr<int> {{
    void store(std::shared_ptr<int> p) {{ std::shared_ptr<int>::operator=(p); }}
    std::shared_ptr<int> load() {{ return *this; }}
}};
static {shared} kept;
int main() {{
    kept.store(std::make_shared<int>(1));
    std::thread one([] {{ kept.store(std::make_shared<int>(2)); }});
    std::thread two([] {{ auto now = kept.load(); if (*now > 2) throw 1; }});
    one.join();
    two.join();
}}
"
        );
        let path = folder.join(name).with_extension("cpp");
        std::fs::write(&path, source).expect("written");
        let program = path.with_extension("");
        let [path, program] = [&path, &program].map(|path| path.to_str().expect("UTF-8"));
        for level in ["-O0", "-O1"] {
            let words = ["c++", "-std=c++20", level, "-g", "-pthread", path, "-o", program];
            let built = run(&words, "");
            assert_eq!(built.code, Some(0), "{}", built.err);
            let ran = run(&["run", "--model", "tso", program], "");
            assert_eq!(ran.code, Some(code), "{name} {level}: {}{}", ran.out, ran.err);
        }
    }
}
