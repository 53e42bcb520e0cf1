//! Programs in C: `reach`, `robust` and `fence` on their texts, and `run` on what a compiler makes of them.

use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::Value;

use crate::printed::transcripts::check;
use crate::{root, run};

fn json(args: &[&str]) -> Vec<Value> {
    let ran = run(args, "");
    assert!(ran.code < Some(2), "{args:?}: {}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn verdict<'a>(answers: &'a [Value], question: &str, model: &str) -> &'a str {
    let is = |a: &&Value| a["question"] == question && a["model"] == model;
    answers.iter().find(is).and_then(|a| a["verdict"].as_str()).unwrap_or("none")
}

/// Compiles a program for `weakspot run`.
fn compiled(source: &Path, name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c-programs");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join(name);
    let (to, from) = (program.to_str().expect("UTF-8"), source.to_str().expect("UTF-8"));
    let built = run(&["cc", "-O1", "-pthread", "-o", to, from], "");
    assert_eq!(built.code, Some(0), "{name}: {}", built.err);
    program
}

/// The search of the text and the exploration of the compiled program agree, and the text with the
/// fences that are proposed is compiled and fails no more.
#[test]
fn the_text_and_the_compiled_program_agree() {
    for name in [
        "dekker",
        "peterson",
        "peterson-relaxed",
        "ticket",
        "chase-lev",
        "chase-lev-fenced",
        "deque-growing",
        "mcs",
        "clh",
        "seqlock",
        "spin-asm",
    ] {
        let source = root().join(format!("corpus/c-programs/{name}.c"));
        let text = source.to_str().expect("UTF-8");
        let reached = json(&["reach", "--format", "json", "--model", "tso,pso", text]);
        let robust = json(&["robust", "--format", "json", "--model", "tso,pso", text]);
        let program = compiled(&source, name);
        let program = program.to_str().expect("UTF-8");
        let ran = json(&["run", "--format", "json", "--model", "tso,pso", program]);
        for model in ["tso", "pso"] {
            let found = verdict(&ran, "failures", model);
            assert_eq!(found, verdict(&reached, "reach", model), "{name}: failures, {model}");
            let found = verdict(&ran, "run", model);
            assert_eq!(found, verdict(&robust, "robust", model), "{name}: robust, {model}");
        }
        let patched = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-patched.c"));
        let patched_text = patched.to_str().expect("UTF-8");
        let made = run(&["fence", "--model", "tso", "-o", patched_text, text], "");
        assert!(made.code < Some(2), "{name}: {}{}", made.out, made.err);
        let program = compiled(&patched, &format!("{name}-patched"));
        let program = program.to_str().expect("UTF-8");
        let ran = json(&["run", "--format", "json", "--model", "tso", program]);
        assert_eq!(verdict(&ran, "run", "tso"), "holds", "{name} with fences");
    }
}

#[test]
fn fences_for_dekker() {
    check(
        &["fence", "corpus/c-programs/dekker.c"],
        "",
        expect![[r#"
            dekker TSO needs 1 fence to be robust; no fewer do
              corpus/c-programs/dekker.c:13: a fence in enter#1, enter#2, between `flag[me] = 1;` and `while (flag[1 - me]) {…`: the store of line 13 reaches memory before line 14 takes effect
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            --- corpus/c-programs/dekker.c
            +++ corpus/c-programs/dekker.c
            @@ -11,6 +11,7 @@

             static void lock(int me) {
                 flag[me] = 1;
            +    __sync_synchronize();
                 while (flag[1 - me]) {
                     if (turn != me) {
                         flag[me] = 0;
            --- exit 1
        "#]],
    );
}

#[test]
fn a_lock_is_broken() {
    check(
        &["reach", "--model", "tso", "corpus/c-programs/peterson-relaxed.c"],
        "",
        expect![[r#"
            peterson-relaxed TSO violated: the assertion in line 34 can fail
            A run of peterson-relaxed under TSO, time running downwards

            thread   step                                                │ memory
            ─────────────────────────────────────────────────────────────┼──────────────────
                                                                         │ turn=0 count=0
                                                                         │ number[0]=0
                                                                         │ number[1]=1
                                                                         │ flag[0]=0
                                                                         │ flag[1]=0
                                                                         │ enter#1 done=0
                                                                         │ enter#2 done=0
                     ... 3 steps of enter#1, 2 of enter#2 ...            │
            enter#1  buffers turn=1 as (2)  at peterson-relaxed.c:18     │
                       atomic_store_explicit(&turn, other,               │
                       memory_order_release);                            │
            enter#1  (1) flag[0]=1 reaches memory                        │ flag[0]=1
            enter#1  reads flag[1]=0 from memory                         │
                       at peterson-relaxed.c:19-20                       │
                       atomic_load_explicit(&flag[other], memory_order_… │
            enter#2  buffers flag[1]=1 as (3)  at peterson-relaxed.c:17  │
                       atomic_store_explicit(&flag[me], true,            │
                       memory_order_release);                            │
            enter#2  buffers turn=0 as (4)  at peterson-relaxed.c:18     │
                       atomic_store_explicit(&turn, other,               │
                       memory_order_release);                            │
            enter#2  (3) flag[1]=1 reaches memory                        │ flag[1]=1
            enter#2  (4) turn=0 reaches memory                           │ turn=0
            enter#2  reads flag[0]=1 from memory                         │
                       at peterson-relaxed.c:19-20                       │
                       atomic_load_explicit(&flag[other], memory_order_… │
            enter#1  (2) turn=1 reaches memory,                          │ turn=1
                       overtaken by lines 19-20                          │
                     ... 5 steps of enter#1, 2 of enter#2 ...            │ count=1 flag[0]=0
            enter#1  reads enter#1 done=0 and writes enter#1 done=1 at   │ enter#1 done=1
                       once                                              │
                       at peterson-relaxed.c:14                          │
                       enter                                             │
            main     reads enter#1 done=1 from memory                    │
                       at peterson-relaxed.c:33                          │
                       pthread_join(t[i], NULL);                         │
            enter#2  buffers count=1 as (7)  at peterson-relaxed.c:22    │
                       count++;                                          │
            enter#2  buffers flag[1]=0 as (8)  at peterson-relaxed.c:23  │
                       atomic_store_explicit(&flag[me], false,           │
                       memory_order_release);                            │
            enter#2  (7) count=1 reaches memory                          │ count=1
            enter#2  (8) flag[1]=0 reaches memory                        │ flag[1]=0
            enter#2  reads enter#2 done=0 and writes enter#2 done=1 at   │ enter#2 done=1
                       once                                              │
                       at peterson-relaxed.c:14                          │
                       enter                                             │
            main     reads enter#2 done=1 from memory                    │
                       at peterson-relaxed.c:33                          │
            main     reads count=1 from memory  at peterson-relaxed.c:34 │
                       assert(count == 2);                               │
            main     fails  at peterson-relaxed.c:34                     │
                       assert(count == 2);                               │

            The run fails (line 34): the assertion does not hold
            enter#1's store turn=1 (line 18) was still in its buffer when enter#1 loaded
            flag[1] (lines 19-20).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              enter#1  line    18  stores turn=1     -po->  program order of enter#1
              enter#1  line 19-20  loads flag[1]=0   -fr->  read flag[1]=0, which the next
                                                            overwrites
              enter#2  line    17  stores flag[1]=1  -po->  program order of enter#2
              enter#2  line    18  stores turn=0     -co->  wrote turn=0, which the next
                                                            overwrites
              enter#1  line    18  stores turn=1  (back at the start)

            --- exit 1
        "#]],
    );
    check(
        &["reach", "corpus/c/keys.c"],
        "",
        expect![[r#"
        --- standard error
        error: unknown type `pthread_key_t`
         --> corpus/c/keys.c:8:8
          |
        8 | static pthread_key_t key;
          |        ^^^^^^^^^^^^^ expected a declaration
          |
          = help: `weakspot run` explores compiled programs, with all that C has
        --- exit 2
    "#]],
    );
}

#[test]
fn logs_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    for model in ["sc", "tso"] {
        let tests = ["corpus/litmus/SB.litmus", "corpus/litmus/MP.litmus"];
        let ran = run(&["litmus", "--model", model, tests[0], tests[1]], "");
        std::fs::write(path(model), ran.out).expect("written");
    }
    let same = run(&["compare", &path("tso"), &path("tso")], "");
    assert_eq!((same.code, same.out.as_str()), (Some(0), "2 tests, no difference\n"));
    let differs = run(&["compare", &path("sc"), &path("tso")], "");
    assert_eq!(differs.code, Some(1));
    expect![[r#"
        SB: states that only tso.log has
          0:EAX=0; 1:EAX=0;
        1 of 2 tests differs
    "#]]
    .assert_eq(&differs.out.replace(&path("tso"), "tso.log"));
    let bad = run(&["compare", &path("sc"), "Cargo.toml"], "");
    assert_eq!(bad.code, Some(2));
    expect![[r#"
        error: Cargo.toml:1: there is no test in this log: expected a line such as `Test SB Allowed`
    "#]]
    .assert_eq(&bad.err);
}

/// A program in C whose threads do nothing that could fail; `%` is what `main` does before it starts them.
const STARTS: &str = "#include <assert.h>\n#include <pthread.h>\nint x;\n\
    static void *t(void *a) { x = 1; return 0; }\nint main(void) {\n%\n\
    pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); }\n";

#[test]
fn assertions_that_are_decided_at_the_start_are_checked() {
    let ask = |main: &str, words: &[&str]| {
        let args = [words, &["--input-format", "c", "-q", "-"]].concat();
        let ran = run(&args, &STARTS.replace('%', main));
        (ran.out + &ran.err, ran.code)
    };
    let (said, code) = ask("assert(x == 0);", &["reach", "-m", "tso"]);
    assert!(said.contains("TSO holds: no assertion fails") && code == Some(0), "{said}");
    let (said, code) = ask("assert(x == 1);", &["reach", "-m", "tso"]);
    assert!(said.contains("the assertion in line 6 can fail") && code == Some(1), "{said}");
    let (said, code) = ask("", &["reach", "-m", "tso"]);
    assert_eq!(
        (said.as_str(), code),
        ("error: -: the program asks nothing: expected `assert` in some thread\n", Some(2))
    );
    let (said, _) = ask("", &["fence", "--goal", "safe"]);
    assert!(said.contains("expected `assert` in some thread; or --goal robust"), "{said}");
    let (said, _) = ask("assert(x == 0);", &["litmus"]);
    assert!(said.contains("`weakspot reach` answers for its assertions"), "{said}");
}

#[test]
fn folders_of_c_programs_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    write("a.c", &STARTS.replace('%', "assert(x == 0);")).expect("a file");
    write("b.weak", "shared x\nthread t { x = 1; assert(x == 1) }\n").expect("a file");
    let path = folder.path().to_str().expect("UTF-8");
    for command in ["reach", "robust"] {
        let ran = run(&[command, "-q", "-m", "tso", path], "");
        let names: Vec<&str> = ran.out.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!((names, ran.code), (vec!["a", "b"], Some(0)), "{command}: {}", ran.err);
    }
}

/// Macros and headers from outside, through questions, witnesses and fences.
#[test]
fn options_of_compilers() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c-options");
    std::fs::create_dir_all(folder.join("include")).expect("a folder");
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let text = "#include <pthread.h>
#include \"shared.h\"
static void *left(void *a) { STORE(x, 1); FENCE; r = LOAD(y); return a; }
static void *right(void *a) { STORE(y, 1); FENCE; s = LOAD(x); return a; }
int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, left, 0);
    pthread_create(&t[1], 0, right, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    assert(r + s > 0);
}
";
    let header = "#pragma once
#include <assert.h>
#include <stdatomic.h>
#ifndef FENCE
#define FENCE ((void)0)
#endif
#define STORE(x, v) atomic_store_explicit(&(x), v, memory_order_relaxed)
#define LOAD(x) atomic_load_explicit(&(x), memory_order_relaxed)
static atomic_int x, y;
static int r, s;
";
    std::fs::write(folder.join("sb.c"), text).expect("written");
    std::fs::write(folder.join("include/shared.h"), header).expect("written");
    let (sb, include, witness) = (path("sb.c"), path("include"), path("sb.json"));
    let ran = run(&["robust", &sb], "");
    assert!(ran.code == Some(2) && ran.err.contains("-I FOLDER"), "{}", ran.err);
    let fence = "-DFENCE=__sync_synchronize()";
    for (options, code) in [(vec![], 1), (vec![fence], 0), (vec![fence, "-U", "FENCE"], 1)] {
        let asked = |command: &[&str], files: &[&str]| {
            let folder = ["-I", &include];
            let args = [command, &folder, &options, files].concat();
            let ran = run(&args, "");
            (ran.code, ran.out + &ran.err)
        };
        let question = ["robust", "--model", "tso", "--witness", &witness];
        let (ended, said) = asked(&question, &[&sb]);
        assert_eq!(ended, Some(code), "{options:?}: {said}");
        let (ended, said) = asked(&["certify"], &[&sb, &witness]);
        assert!(ended == Some(0) && said.starts_with("certified"), "{options:?}: {said}");
        // Without its options it is another program.
        let ran = run(&["certify", &sb, &witness], "");
        assert_eq!(ran.code, Some(2), "{options:?}: {}", ran.out);
        let (ended, said) = asked(&["fence", "--model", "tso"], &[&sb]);
        assert_eq!(ended, Some(code), "{options:?}: {said}");
        if code == 1 {
            assert!(said.contains("__sync_synchronize(); FENCE; r"), "{said}");
            let (ended, said) = asked(&["show"], &[&sb, &witness]);
            assert!(ended == Some(0) && said.contains("STORE(x, 1)"), "{options:?}: {said}");
        }
    }
    let ran = run(&["robust", "-D", "2=3", &sb], "");
    assert!(ran.code == Some(2) && ran.err.contains("NAME=VALUE"), "{}", ran.err);
}

/// A thread that waits for a condition variable may be woken at any time.
#[test]
fn condition_variables() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("condition.c");
    let text = |wait: &str| {
        format!(
            "#include <pthread.h>
#include <assert.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready, data;
static void *put(void *a) {{
    pthread_mutex_lock(&m);
    data = 7;
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return a;
}}
int main(void) {{
    pthread_t t;
    pthread_create(&t, 0, put, 0);
    pthread_mutex_lock(&m);
    {wait} (!ready) pthread_cond_wait(&c, &m);
    assert(data ==
           7);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
}}
"
        )
    };
    for (wait, code) in [("while", 0), ("if", 1)] {
        std::fs::write(&file, text(wait)).expect("written");
        let name = file.to_str().expect("UTF-8");
        let ran = run(&["reach", "-q", name], "");
        assert_eq!(ran.code, Some(code), "{wait}: {}{}", ran.out, ran.err);
        // A statement has all of its lines.
        let fails = ran.out.contains("the assertion in lines 19-20 can fail");
        assert_eq!(fails, code == 1, "{wait}: {}", ran.out);
        assert_eq!(run(&["robust", "-q", name], "").code, Some(0), "{wait}");
    }
}

/// Tickets grow for ever, and nothing can overtake a store: that needs no search.
#[test]
fn an_endless_ticket_lock_is_robust() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tickets.c");
    let text = "#include <pthread.h>
#include <stdatomic.h>
static atomic_ulong now, next;
static int owners;
static void *work(void *a) {
    for (;;) {
        unsigned long mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
        while (atomic_load_explicit(&now, memory_order_acquire) != mine) {}
        owners++;
        owners--;
        atomic_fetch_add_explicit(&now, 1, memory_order_release);
    }
    return a;
}
int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, work, 0);
    pthread_create(&t[1], 0, work, 0);
}
";
    std::fs::write(&file, text).expect("written");
    let (name, witness) = (file.to_str().expect("UTF-8"), file.with_extension("json"));
    let witness = witness.to_str().expect("UTF-8");
    for model in ["tso", "pso"] {
        let ran = run(&["robust", "--model", model, "--witness", witness, name], "");
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("(no access can overtake a store)\n"), "{}", ran.out);
        let ran = run(&["certify", name, witness], "");
        assert!(ran.out.contains("certified"), "{}{}", ran.out, ran.err);
    }
}

/// A mark in the lower bits of a function's address is taken off again, and leads to that function.
#[test]
fn functions_with_a_mark() {
    let source = "#include <assert.h>
#include <pthread.h>
static volatile int x, y, a = 9, b = 9;
static void *none(void *v) { return 0; }
static void *left(void *v) { x = 1; a = y; return 0; }
static void *other(void *v) { return 0; }
static void *right(void *v) { y = 1; b = x; return 0; }
int main(void) {
    pthread_t t, u;
    long one = (long)left | 1, two = (long)right | 1;
    pthread_create(&t, 0, (void *(*)(void *))(one & ~1L), 0);
    pthread_create(&u, 0, (void *(*)(void *))(two & ~1L), 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(a || b);
    return 0;
}
";
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("marked.c");
    std::fs::write(&file, source).expect("a folder");
    let ran = run(&["robust", "-q", "--model", "tso", file.to_str().expect("UTF-8")], "");
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    // Between two functions there is none.
    std::fs::write(&file, source.replace("one & ~1L", "one")).expect("a folder");
    let ran = run(&["robust", "-q", "--model", "tso", file.to_str().expect("UTF-8")], "");
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
}

/// What is not built to its end does not take the place of what was there.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_former_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("none.c"), folder.path().join("none"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("written");
    let build = |limit: &str| {
        let command = format!("{limit}exec \"$0\" cc -o \"$1\" \"$2\"");
        let ran = std::process::Command::new("sh")
            .args(["-c", &command, env!("CARGO_BIN_EXE_weakspot")])
            .args([&program, &source])
            .output()
            .expect("a shell");
        ran.status.success()
    };
    assert!(build(""));
    let before = std::fs::read(&program).expect("a program");
    // Enough for an object, and too little for a program.
    assert!(!build("ulimit -f 20; "));
    assert_eq!(std::fs::read(&program).expect("it is still there"), before);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2);
}

/// What comes from one macro or one header is all at the same place in the text, and still several objects.
#[test]
fn objects_of_one_macro_and_of_one_header() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c-objects");
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    write(
        "own.h",
        r"static int *one(void) { static int v; return &v; }
static int *two(void) { static int v; return &v; }
static int first(int i) { const int tab[2] = {1, 2}; return tab[i]; }
static int second(int i) { const int tab[2] = {3, 4}; return tab[i]; }
",
    );
    let store_buffering = r#"#include <pthread.h>
#include "own.h"
int a, b;
void *f(void *p) { *one() = 1; a = *two(); return 0; }
void *g(void *p) { *two() = 1; b = *one(); return 0; }
int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, f, 0); pthread_create(&t, 0, g, 0);
    return 0;
}
"#;
    let file = write("own.c", store_buffering);
    let robust = json(&["robust", "--format", "json", "--model", "tso", &file]);
    assert_eq!(verdict(&robust, "robust", "tso"), "violated");
    for claim in [
        "first(1) == 2 && second(1) == 4",
        "one() != two()",
        "LITERALS",
        "twice(1) == 3",
        "MASK == 15 && TOP < 0 && (int)LESS == -1 && LESS > 0",
        "chosen(15) == 1",
        r"'\r' == 13 && '\12' == 10 && '\x41' == 65 && '\a' == 7 && '\0' == 0 && '\'' == 39",
        "state - 1 > 0 && LESS_STATE - 1 < 0",
        "u.s.x == 0 && u.s.y == 2 && w.a == 0",
        // What gcc does where C leaves the order open.
        "(lg = 0, sum(at(1), at(2)), lg == 15)",
        "(v = 1, t[bump()] = v, t[0] == 5)",
        "(v = 1, t[bump()] = (0, (int)(unsigned)v), t[0] == 5)",
        "(v = 1, t[bump()] = v + 0, t[0] == 1)",
        "(v = 1, t[bump()] = w4[v], t[0] == 8)",
    ] {
        let text = |claim: &str| {
            format!(
                r#"#include <assert.h>
#include "own.h"
#define LITERALS differ(&(int){{4}}, &(int){{5}})
#define COUNT(n) int t = n; {{ int t = n + 6; (void)t; }} return t + 2;
enum state {{ IDLE, BUSY }};
enum signs {{ NEGATIVE = -1, LESS_STATE }};
static enum state state;
static union {{ struct {{ int x, y; }} s; long l; }} u = {{.s = {{1, 2}}, .s.x = 0}};
static union {{ int a; long l; }} w = {{.a = 5, .l = 0}};
static int lg, v, t[2], w4[6] = {{7, 8, 9, 10, 11, 12}};
static int at(int k) {{ lg = lg * 7 + k; return k; }}
static int sum(int a, int b) {{ return a + b; }}
static int bump(void) {{ v = 5; return 0; }}
enum {{ MASK = ~0u >> 28, TOP = 1 << 31, LESS = 1u - 2 }};
#if (1 << 40) > 0 && -1 < 0
static int differ(int *p, int *q) {{ return *p != *q; }}
#endif
static int twice(int n) {{ COUNT(n) }}
static int chosen(int x) {{ switch (x) {{ case ~0u >> 28: return 1; }} return 0; }}
int main(void) {{ assert({claim}); return 0; }}
"#
            )
        };
        for (claim, expected) in [(claim.to_owned(), "holds"), (format!("!({claim})"), "violated")]
        {
            let file = write("claim.c", &text(&claim));
            let reached = json(&["reach", "--format", "json", "--model", "sc", &file]);
            assert_eq!(verdict(&reached, "reach", "sc"), expected, "{claim}");
        }
    }
}

/// Names are shortened, values are not, and they have the signs that their types have.
#[test]
fn values_behind_long_names() {
    const SOURCE: &str = "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
_Atomic uint64_t the_producer_has_published_this, the_consumer_has_published_this;
uint64_t what_the_first_thread_saw_of_the_other, what_the_second_thread_saw_of_the_other;
static void *first(void *p) {
    atomic_store_explicit(&the_producer_has_published_this, -1, memory_order_relaxed);
    what_the_first_thread_saw_of_the_other = atomic_load(&the_consumer_has_published_this);
    return p;
}
static void *second(void *p) {
    uint64_t mine = -2;
    atomic_store_explicit(&the_consumer_has_published_this, mine, memory_order_relaxed);
    what_the_second_thread_saw_of_the_other = atomic_load(&the_producer_has_published_this);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(what_the_first_thread_saw_of_the_other || what_the_second_thread_saw_of_the_other);
}
";
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("long-names.c");
    std::fs::write(&file, SOURCE).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let out = run(&["reach", "--model", "tso", file], "").out;
    let wide = out.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "{out}");
    for (part, times) in [
        // Beside the thread, in memory, and on the cycle; of the late one also when it is issued, and in words.
        ("=18446744073709551615", 3),
        ("=18446744073709551614", 6),
        // The statement that reads both is shown with the first read, and where it fails.
        ("    assert(what_the", 2),
        ("=-", 0),
    ] {
        assert_eq!(out.matches(part).count(), times, "{part} in {out}");
    }
    let answers = json(&["reach", "--model", "tso", "--format", "json", file]);
    let steps = answers[0]["run"]["steps"].as_array().expect("steps");
    let stored = |value: u64| steps.iter().any(|step| step["value"] == value);
    assert!(stored(u64::MAX) && stored(u64::MAX - 1), "{steps:?}");
    let last = steps.last().expect("a step");
    assert_eq!(
        (&last["kind"], &last["note"]),
        (&"fail".into(), &"the assertion does not hold".into())
    );
}
