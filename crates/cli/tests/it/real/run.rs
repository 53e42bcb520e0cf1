//! `weakspot cc` and `weakspot run`, on programs that are compiled here.

use std::io::Write;
use std::path::PathBuf;

use crate::{Ran, root, run, run_in};

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("run");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Compiles a C program and explores it; what is said, and the exit code.
pub(crate) fn explore(name: &str, source: &str, args: &[&str]) -> (String, Option<i32>) {
    let dir = folder();
    let file = dir.join(format!("{name}.c"));
    std::fs::write(&file, source).expect("written");
    let program: PathBuf = dir.join(name);
    let (file, program) = (file.to_str().expect("UTF-8"), program.to_str().expect("UTF-8"));
    let built = run(&["cc", "-O1", "-pthread", file, "-o", program], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let mut words = vec!["run"];
    words.extend(args);
    words.push(program);
    let ran = run(&words, "");
    (ran.out + &ran.err, ran.code)
}

pub(crate) const MAIN: &str = "
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, p, 0);
    pthread_create(&b, 0, q, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

fn store_buffering(fence: &str) -> String {
    format!(
        "#include <pthread.h>
volatile int x, y; int r1, r2;
void *p(void *a) {{
    (void)a;
    x = 1;
    {fence}
    r1 = y;
    return 0;
}}
void *q(void *a) {{
    (void)a;
    y = 1;
    {fence}
    r2 = x;
    return 0;
}}
{MAIN}"
    )
}

#[test]
fn stores_are_overtaken_on_these_lines() {
    let (out, code) = explore("sb", &store_buffering(""), &["--model", "tso", "--robust"]);
    assert_eq!(code, Some(1), "{out}");
    for part in ["store    p#1  wr x", "sb.c:5", "access   q#2  rd x", "sb.c:14", "was checked"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // The other half of the time is for executions with buffers.
    let args = ["--model", "tso", "--strategy", "random", "--timeout", "1s"];
    let (out, _) = explore("sb", &store_buffering(""), &args);
    for part in ["SC: unknown: the search stopped at the time limit of 500 ms", "half of the time"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn fences_mend_it() {
    for (name, fence) in [
        ("sb_fence", "__sync_synchronize();"),
        ("sb_asm", "__asm__ volatile(\"mfence\" ::: \"memory\");"),
        ("sb_builtin", "__builtin_ia32_mfence();"),
        ("sb_lock", "__asm__ volatile(\"lock; addl $0,(%%rsp)\" ::: \"memory\", \"cc\");"),
    ] {
        let args = ["--model", "tso", "--strategy", "bounded"];
        let (out, code) = explore(name, &store_buffering(fence), &args);
        assert_eq!(code, Some(0), "{name}: {out}");
        assert!(out.contains("TSO: robust"), "{out}");
    }
}

/// The end of a function is a step of its own, which a jump to what announces it would hide.
#[test]
fn a_variable_is_used_after_its_function_in_optimised_code() {
    let source = "#pragma GCC optimize(\"O2\")
#include <pthread.h>
#include <semaphore.h>
sem_t there, seen;
int *kept;
volatile int sum;
__attribute__((noinline)) void lends(int n) {
    int local[4] = {n, n, n, n};
    kept = local;
    sem_post(&there);
    sem_wait(&seen);
}
void *other(void *a) {
    sem_wait(&there);
    int *p = kept;
    sum = p[1];
    sem_post(&seen);
    sum = p[2];
    return a;
}
int main(void) {
    pthread_t t;
    sem_init(&there, 0, 0);
    sem_init(&seen, 0, 0);
    pthread_create(&t, 0, other, 0);
    lends(3);
    pthread_join(t, 0);
    return 0;
}
";
    let (out, code) = explore("lends", source, &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("use-after-return") && out.contains("lends.c:18"), "{out}");
}

#[test]
fn assertions_fail_and_are_replayed() {
    let source = format!(
        "#include <assert.h>
#include <pthread.h>
volatile int n;
void *p(void *a) {{ (void)a; n = n + 1; return 0; }}
void *q(void *a) {{ (void)a; n = n + 1; assert(n == 2 || n == 1); assert(n != 1); return 0; }}
{MAIN}"
    );
    let (out, code) = explore("count", &source, &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("n != 1"), "{out}");
    let schedule = out.split("--replay ").nth(1).and_then(|rest| rest.split(' ').next());
    let schedule = schedule.expect("a schedule");
    assert!(schedule.parse::<u64>().is_ok(), "{out}");
    let (again, code) = explore("count", &source, &["--replay", schedule]);
    assert_eq!(code, Some(1), "{again}");
    assert!(again.contains("1 execution") && again.contains("n != 1"), "{again}");
}

#[test]
fn transactions_by_marks_and_by_functions() {
    let source = |lock: &str, unlock: &str| {
        format!(
            "#include <pthread.h>
#include <weakspot.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int n;
__attribute__((noinline)) void raise(void) {{ {lock} n = n + 1; {unlock} }}
void *p(void *a) {{ (void)a; WEAKSPOT_BEGIN(); raise(); WEAKSPOT_END(); return 0; }}
void *q(void *a) {{ (void)a; raise(); return 0; }}
{MAIN}"
        )
    };
    let args = ["--model", "tso", "--transaction", "raise"];
    let (out, code) = explore("lost", &source("", ""), &args);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("SC: transactions: not serializable"), "{out}");
    assert!(out.contains("lost.c:5"), "{out}");
    let held = source("pthread_mutex_lock(&m);", "pthread_mutex_unlock(&m);");
    for args in [
        ["--strategy", "bounded", "--transaction", "raise", "--fence-transactions"],
        ["--strategy", "bounded", "--transactions", "--model", "tso"],
    ] {
        let (out, code) = explore("held", &held, &args);
        assert_eq!(code, Some(0), "{out}");
        assert!(out.contains("SC: transactions: serializable"), "{out}");
    }
}

#[test]
fn what_was_not_compiled_for_it_is_told() {
    let ran = run(&["run", "/bin/true"], "");
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("was not compiled by `weakspot cc`"), "{}", ran.err);
    let ran = run(&["run", "./no-such-program"], "");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}

#[test]
fn neighbouring_bit_fields_are_lost() {
    let source = |width: u32| {
        format!(
            "#include <assert.h>
#include <pthread.h>
struct {{ unsigned a : {width}, b : {width}; }} s;
void *p(void *x) {{ (void)x; s.a = 1; return 0; }}
void *q(void *x) {{ (void)x; s.b = 1; return 0; }}
{}",
            MAIN.replace("return 0;\n}", "assert(s.a && s.b);\n    return 0;\n}")
        )
    };
    let (out, code) = explore("bits", &source(1), &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("s.a && s.b"), "{out}");
    // These have bytes of their own, but are one memory location to C11.
    let args = ["--strategy", "bounded", "--no-races"];
    let (out, code) = explore("bytes", &source(8), &args);
    assert_eq!(code, Some(0), "{out}");
}

#[test]
fn atomic_instructions_in_assembly_are_seen() {
    let source = format!(
        "#include <assert.h>
#include <pthread.h>
int lock, n;
static int exchange(int *at, int value) {{
    __asm__ volatile(\"xchgl %0, %1\" : \"+r\"(value), \"+m\"(*at) : : \"memory\");
    return value;
}}
static int add(int *at, int by) {{
    __asm__ volatile(\"lock; xaddl %0, %1\" : \"+r\"(by), \"+m\"(*at) : : \"memory\", \"cc\");
    return by;
}}
int count;
void *p(void *x) {{
    (void)x;
    while (exchange(&lock, 1)) __asm__ volatile(\"pause\");
    n = n + 1;
    exchange(&lock, 0);
    add(&count, 1);
    return 0;
}}
void *q(void *x) {{ return p(x); }}
{}",
        MAIN.replace("return 0;\n}", "assert(n == 2 && count == 2);\n    return 0;\n}")
    );
    let args = ["--strategy", "bounded", "--model", "tso"];
    let (out, code) = explore("assembly", &source, &args);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("SC: no execution fails") && out.contains("TSO: robust"), "{out}");
}

/// What is left of the last round is no state of a loop.
#[test]
fn loops_of_code_that_is_not_optimised() {
    let source = format!(
        "#include <pthread.h>
#include <stdatomic.h>
static int v[3];
static _Atomic(int *) at = v;
static atomic_bool set;
static _Atomic short n;
void *p(void *a) {{
    while (atomic_load(&at) != v + 2) ;
    while (!atomic_load(&set)) ;
    while (atomic_load(&n) != 2) ;
    return a;
}}
void *q(void *a) {{
    atomic_store(&at, v + 1);
    atomic_store(&at, v + 2);
    atomic_store(&set, 1);
    atomic_store(&n, 1);
    atomic_store(&n, 2);
    return a;
}}
{MAIN}"
    );
    let (out, code) = explore("rounds", &source, &["--strategy", "dpor", "--model", "tso"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("SC: no execution fails (1 execution explored)"), "{out}");
}

/// What is built without optimisation computes what it should, executed directly and explored: where assembly of the program
/// has labels, and with atomic variables of 16 bytes.
#[test]
fn code_that_is_not_optimised_is_right() {
    let source = r#"
#include <assert.h>
#include <stdatomic.h>
typedef struct { long x, y; } Two;
_Atomic Two two;
_Atomic int five = 5;
static int get(void) { return 5; }
static int load(int *p) { return *p; }
int main(void) {
    int x; x = get();
    if (x < 3) return 1;
    int w = atomic_load(&five);
    __asm__ volatile("jmp 2f\n2:\n");
    assert(load(&x) == 5 && w == 5);
    Two y = atomic_load(&two);
    y.x += 1;
    atomic_store(&two, y);
    return (int)atomic_load(&two).x - 1;
}
"#;
    let path = folder().join("right.c");
    std::fs::write(&path, source).expect("written");
    let (file, program) = (path.to_str().expect("UTF-8"), path.with_extension(""));
    let program = program.to_str().expect("UTF-8");
    let built = run(&["cc", "-O0", file, "-o", program], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(std::process::Command::new(program).status().expect("it starts").success());
    let ran = run(&["run", "-q", program], "");
    assert_eq!(ran.code, Some(0), "{}", ran.out);
}

#[test]
fn stores_past_the_cache_are_told_where_they_are_called() {
    let source = format!(
        "#include <emmintrin.h>
#include <pthread.h>
int x;
void *p(void *a) {{
    int three = 3;
    _mm_stream_si32(&x, three);
    return a;
}}
void *q(void *a) {{ return a; }}
{MAIN}"
    );
    let (out, code) = explore("stream", &source, &["--model", "tso"]);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("stream.c:6: assembly `movnti"), "{out}");
}

#[test]
fn the_empty_loop_of_an_assumption_gives_an_execution_up() {
    let source = format!(
        "#include <assert.h>
#include <pthread.h>
static void assume(int c) {{ if (!c) for (;;); }}
volatile int x;
void *p(void *a) {{ (void)a; x = 1; return 0; }}
void *q(void *a) {{ (void)a; int seen = x; assume(seen == 1); assert(x == 1); return 0; }}
{MAIN}"
    );
    let (out, code) = explore("assume", &source, &["--strategy", "dpor", "--model", "tso"]);
    assert!(out.contains("SC: no execution fails") && out.contains("loop of `assume`"), "{out}");
    assert_eq!(code, Some(0), "{out}");
}

#[test]
fn what_cannot_be_controlled_is_not_called_right() {
    let source = "#include <unistd.h>\nint main(void) {\n    int ends[2];\n    char c;\n    \
                  if (pipe(ends)) return 1;\n    return (int)read(ends[0], &c, 1);\n}\n";
    let (out, code) = explore("blocked", source, &[]);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("calls read at") && out.contains("blocked.c:6"), "{out}");
    let source = "#include <unistd.h>\nint main(void) { return execl(\"/bin/true\", \"true\", (char *)0); }\n";
    let (out, code) = explore("execs", source, &[]);
    assert_eq!(code, Some(3), "{out}");
    let front = "#include <signal.h>\nstatic volatile int n, blocked; static void on(int s) { (void)s; n++; }";
    let raises = "signal(SIGUSR1, on); raise(SIGUSR1);";
    let masks = "sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); \
                 pthread_sigmask(SIG_BLOCK, &s, 0); blocked = 1;";
    // A handler is over when the signal was raised, and may lose what others do.
    for (assertion, expected) in [("n > 0", 0), ("n == 2", 1)] {
        let source = two(front, raises, raises, assertion);
        let (out, code) = explore("raises", &source, &["--no-races", "-q"]);
        assert_eq!(code, Some(expected), "{assertion}: {out}");
    }
    // Alone, nothing is wrong with them.
    let source = format!(
        "#include <assert.h>\n{front}\nint main(void) {{ {masks} sigprocmask(SIG_UNBLOCK, &s, 0); {raises} assert(n == 1); return 0; }}"
    );
    let source = source.replace("pthread_sigmask", "sigprocmask");
    let (out, code) = explore("raises_alone", &source, &["--no-races"]);
    assert_eq!(code, Some(0), "{out}");
}

/// Functions within functions, which GNU's C has, are called by way of code on the stack.
#[test]
fn code_on_the_stack() {
    let front = "volatile int x; static int call(int (*f)(int)) { return f(1); }";
    let nested = "int by = 2; int add(int y) { return by + y; } x = call(add);";
    let source = two(front, nested, "", "x == 3");
    let (out, code) = explore("nested", &source, &["--no-races", "-q"]);
    assert_eq!(code, Some(0), "{out}");
}

#[test]
fn executions_that_soil_each_other_get_processes_of_their_own() {
    // A system call that nobody looks at changes something that memory does not show.
    let source = format!(
        "#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
volatile int n;
void *p(void *a) {{ (void)a; n = 1; assert(syscall(SYS_umask, 077) != 077); return 0; }}
void *q(void *a) {{ (void)a; n = 2; return 0; }}
{MAIN}"
    );
    let args = ["--model", "tso", "--strategy", "dpor"];
    let (out, _) = explore("soiled", &source, &args);
    assert!(out.contains("SC: no execution fails") && out.contains("--isolate fork"), "{out}");
    let args = ["--model", "tso", "--isolate", "memory"];
    let (out, code) = explore("soiled", &source, &args);
    assert_eq!(code, Some(1), "{out}");
}

/// On x86 one side would do: an exchange waits for the buffer, and loads stay in their order.
#[test]
fn advice_is_right_in_the_language() {
    let front = "#include <stdatomic.h>\natomic_int x, y; int r1, r2;";
    let half = two(
        front,
        "atomic_exchange_explicit(&x, 1, memory_order_acq_rel);\n    r1 = atomic_load(&y);\n",
        "atomic_store_explicit(&y, 1, memory_order_release);\n    r2 = atomic_load(&x);\n",
        "r1 || r2",
    );
    // In the folder of a build, it says how the diff is applied from there.
    let (file, build) = (folder().join("half.c"), folder().join("build"));
    std::fs::create_dir_all(&build).expect("a folder");
    std::fs::write(&file, &half).expect("written");
    let built = run_in(&build, &["cc", "-O1", "-pthread", "../half.c", "-o", "half"], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let Ran { out, code, .. } = run_in(&build, &["run", "--fences", "./half"], "");
    assert_eq!(code, Some(1), "{out}");
    std::fs::write(build.join("half.txt"), &out).expect("written");
    let command = out.lines().find_map(|line| line.strip_prefix("to apply this from here: "));
    let command = command.unwrap_or_else(|| panic!("{out}")).replace("FILE", "half.txt");
    let mut patch = std::process::Command::new("sh");
    let patched = patch.args(["-c", &command]).current_dir(&build).status();
    assert!(patched.expect("patch").success(), "{command}: {out}");
    let patched = std::fs::read_to_string(&file).expect("the source");
    assert_eq!(patched.matches("\n    atomic_thread_fence(").count(), 2, "{patched}");
    assert!(out.contains("1 change of the source would prevent all of these pairs"), "{out}");
    assert!(out.contains("(for the rules of C11 and Rust)"), "{out}");
    assert_eq!(
        out.matches("\n+    atomic_thread_fence(memory_order_seq_cst);").count(),
        2,
        "{out}"
    );
    let passing = two(
        front,
        "atomic_store_explicit(&x, 1, memory_order_relaxed);\n    \
         atomic_store_explicit(&y, 1, memory_order_relaxed);\n",
        "r1 = 1;\n    if (atomic_load_explicit(&y, memory_order_relaxed))\n        \
         r1 = atomic_load_explicit(&x, memory_order_relaxed);\n",
        "r1",
    );
    let (out, code) = explore("passing", &passing, &["--model", "pso", "--fences"]);
    assert_eq!(code, Some(1), "{out}");
    for line in
        ["(&y, 1, memory_order_release);", "if (atomic_load_explicit(&y, memory_order_acquire))"]
    {
        assert!(out.contains(line), "{out}");
    }
    // Either of two flags may be read: each is released, and the second one is for the language alone.
    let flags = two(
        &format!("{front} atomic_int z;"),
        "atomic_store_explicit(&x, 1, memory_order_relaxed);\n    \
         atomic_store_explicit(&y, 1, memory_order_relaxed);\n    \
         atomic_store_explicit(&z, 1, memory_order_relaxed);\n",
        "r1 = !atomic_load_explicit(&y, memory_order_acquire);\n    \
         r1 &= !atomic_load_explicit(&z, memory_order_acquire);\n    \
         r1 |= atomic_load_explicit(&x, memory_order_acquire);\n",
        "r1",
    );
    let (out, code) = explore("flags", &flags, &["--model", "pso", "--fences"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("1 change of the source would prevent this, and 1 more is asked"),
        "{out}"
    );
    assert_eq!(out.matches("\n+    atomic_store_explicit").count(), 2, "{out}");
    let ordered = passing.replace("(&y, 1, memory_order_relaxed)", "(&y, 1, memory_order_release)");
    let (out, code) = explore("ordered", &ordered, &["--model", "pso", "--fences"]);
    assert_eq!(code, Some(0), "{out}");
}

/// What the language asks for may do what the machine asks for.
#[test]
fn advice_has_nothing_that_is_superfluous() {
    let front = "#include <stdatomic.h>\natomic_int x, y; int r1, r2;";
    let store = |at: &str, value: u8| {
        format!("    atomic_store_explicit(&{at}, {value}, memory_order_relaxed);\n")
    };
    let (p, q) = (store("x", 1) + &store("y", 2), store("y", 1) + &store("x", 2));
    let source = two(front, p.trim_start(), q.trim_start(), "x != 1 || y != 1");
    let (out, code) = explore("fewest", &source, &["--model", "tso,pso", "--fences"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("PSO: 2 changes of the source would prevent all of these pairs;"),
        "{out}"
    );
    let fence = "\n+    atomic_thread_fence(memory_order_seq_cst);";
    assert_eq!(out.matches(fence).count(), 2, "{out}");
    assert_eq!(out.matches("\n+   ").count(), 2, "{out}");
    // What a macro stands for may be anything, but not where its line is in the function of the other access.
    let front =
        format!("{front}\n#define SET(at) atomic_store_explicit(&at, 1, memory_order_release)");
    let side = |own: &str, other: &str| {
        let load = format!("atomic_load_explicit(&{other}, memory_order_acquire)");
        format!("do {{\n        SET({own});\n    }} while ({load} == 7);")
    };
    let source = two(&front, &side("x", "y"), &side("y", "x"), "1");
    let (out, _) = explore("macros", &source, &["--model", "tso", "--fences"]);
    assert!(out.contains("2 changes of the source would prevent all of these pairs;"), "{out}");
    assert_eq!(out.matches("\n         SET(").count(), 2, "{out}");
    assert_eq!(out.matches("\n+        atomic_thread_fence(").count(), 2, "{out}");
    assert!(!out.contains("not in the diff"), "{out}");
}

#[test]
fn clang_builds_what_gcc_builds() {
    let there = std::process::Command::new("clang").arg("--version").output();
    if !there.is_ok_and(|out| out.status.success()) {
        let _ = writeln!(std::io::stderr(), "skipped: there is no clang");
        return;
    }
    let dir = folder();
    for (name, fence, code) in [("clang_sb", "", 1), ("clang_fenced", "__sync_synchronize();", 0)] {
        let file = dir.join(format!("{name}.c"));
        std::fs::write(&file, store_buffering(fence)).expect("written");
        let program = dir.join(name);
        let built = std::process::Command::new(env!("CARGO_BIN_EXE_weakspot"))
            .env("WEAKSPOT_CC", "clang")
            .args(["cc", "-O2", "-pthread", "-o"])
            .args([&program, &file])
            .output()
            .expect("started");
        assert!(built.status.success(), "{built:?}");
        let program = program.to_str().expect("UTF-8");
        let ran = run(&["run", "--robust", "--model", "tso", "--strategy", "bounded", program], "");
        assert_eq!(ran.code, Some(code), "{}{}", ran.out, ran.err);
    }
}

/// Two threads, `p` and `q`, with what is in front of them, and an assertion at the end.
pub(crate) fn two(front: &str, p: &str, q: &str, assertion: &str) -> String {
    let main = MAIN.replace("return 0;\n}", &format!("assert({assertion});\n    return 0;\n}}"));
    format!(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdint.h>\n#include <string.h>\n{front}
void *p(void *a) {{ (void)a; {p} return 0; }}
void *q(void *a) {{ (void)a; {q} return 0; }}
{main}"
    )
}

#[test]
fn buffers_are_executed() {
    let front = "volatile int x, y, r1, r2;";
    let source = two(front, "x = 1; r1 = y;", "y = 1; r2 = x;", "r1 || r2");
    let (out, code) = explore("buffers", &source, &["--under", "tso", "-v"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("TSO: fails: 1 failure"), "{out}");
    assert!(out.contains("wr x") && out.contains("reaches memory after rd y"), "{out}");
    assert!(out.contains("weakspot run --under tso --replay ws1_"), "{out}");
    let source = two(front, "x = 1; y = 1;", "r1 = y; r2 = x;", "!r1 || r2");
    let (out, code) = explore("order", &source, &["--under", "tso", "-q"]);
    assert_eq!(code, Some(0), "{out}");
    let (out, code) = explore("order", &source, &["--under", "pso"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("wr x") && out.contains("reaches memory after wr y"), "{out}");
}

/// What is left in a buffer when the program ends could have left it before.
#[test]
fn the_end_of_the_program_does_not_hide_what_is_in_buffers() {
    let source = "#include <assert.h>\n#include <pthread.h>\nvolatile int data, ready;
void *p(void *a) { (void)a; data = 1; ready = 1; return 0; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, p, 0);
    if (ready) assert(data);
    return 0;
}";
    let (out, code) = explore("left", source, &["--under", "pso", "--strategy", "dpor", "-q"]);
    assert_eq!(code, Some(1), "{out}");
    let (out, code) = explore("left", source, &["--under", "tso", "--strategy", "dpor", "-q"]);
    assert_eq!(code, Some(0), "{out}");
}

/// A loop that counts is explored, and where it goes round too often for that, nothing is called
/// right.
#[test]
fn loops_that_count_are_no_waiting() {
    let front = "int f; int s = 1; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;";
    let reads = |rounds: u32| {
        format!(
            "int t = 0; for (int i = 0; i < {rounds}; i++) {{ pthread_mutex_lock(&m); t += f; \
             pthread_mutex_unlock(&m); }} s = t;"
        )
    };
    let sets = "pthread_mutex_lock(&m); f = 1; pthread_mutex_unlock(&m);";
    let source = two(front, &reads(12), sets, "s != 0");
    let (out, code) = explore("counts", &source, &["--strategy", "dpor", "--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    let source = two(front, &reads(40), sets, "s >= 0");
    let (out, code) = explore("counts_far", &source, &["--strategy", "dpor", "--model", "tso"]);
    assert_eq!(code, Some(0), "{out}");
    let source = two(front, &reads(3_000), sets, "s >= 0");
    let args = ["--strategy", "dpor", "--model", "tso", "--timeout", "60s"];
    let (out, code) = explore("counts_further", &source, &args);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("were taken to wait for others, which may be"), "{out}");
    // A counter far up on the stack.
    let front = "volatile int f; int s; __attribute__((noinline)) int get(void) { volatile char pad[2000]; pad[0] = 0; return f + pad[0]; }";
    let source = two(front, "int n = 0; while (!get() && n < 3) n++; s = n;", "f = 1;", "s != 3");
    let (out, code) = explore("deep", &source, &["--strategy", "dpor", "--model", "tso", "-q"]);
    assert_eq!(code, Some(1), "{out}");
}

/// Time that passes, and chance, may end a loop whose thread is in the same state in each round: no livelock.
#[test]
fn loops_that_time_or_chance_ends() {
    let front = "#include <stdlib.h>\n#include <time.h>\n\
        static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); \
        return t.tv_sec * 1000000000L + t.tv_nsec; }\n\
        volatile int f; volatile int s; unsigned seed; unsigned short seeds[3];";
    let loops = [
        ("rand", "while (rand() % 50 != 7) f;"),
        ("random", "while (random() % 50 != 7) f;"),
        ("rand_r", "while (rand_r(&seed) % 50 != 7) f;"),
        ("drand48", "while (drand48() < 0.95) f;"),
        ("nrand48", "while (nrand48(seeds) % 50 != 7) f;"),
        ("deadline", "long end = now() + 50000; while (!f) if (now() > end) break;"),
        ("far", "long end = now() + 60000000000L; while (!f) if (now() > end) break;"),
    ];
    for (name, body) in loops {
        let source = two(front, body, "s = 1;", "s == 1");
        let (out, code) = explore(name, &source, &["--model", "tso", "--no-races", "-q"]);
        assert!(!out.contains("livelock"), "{name}: {out}");
        assert_ne!(code, Some(1), "{name}: {out}");
        // What comes behind the loop is reached.
        let source = two(front, &format!("{body} s = 2;"), "", "s != 2");
        let (out, code) = explore(name, &source, &["--model", "tso", "--no-races", "-q"]);
        assert_eq!(code, Some(1), "{name}: {out}");
        assert!(!out.contains("livelock"), "{name}: {out}");
    }
    // Neither is asked in the loop.
    let source = two(front, "s = rand() != 0; now(); while (!f) s;", "", "1");
    let (out, code) = explore("asked_before", &source, &["--model", "tso", "--no-races", "-q"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("livelock"), "{out}");
}

/// What runs at the end of the program does so while threads go on that nobody waits for.
#[test]
fn exit_handlers_and_other_threads() {
    let source = |register: &str, waits: &str, end: &str| {
        format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>
            static atomic_int n;
            {register} static void last(void) {{ assert(n == 1); }}
            static void *t(void *a) {{ n++; return a; }}
            int main(void) {{
                pthread_t id;
                pthread_create(&id, 0, t, 0);
                {waits}
                {end}
            }}"
        )
    };
    let destructor = "__attribute__((destructor))";
    for (name, register, end) in [
        ("destructor", destructor, "return 0;"),
        ("registered", "", "atexit(last); return 0;"),
        ("called", "", "atexit(last); exit(0);"),
    ] {
        for (waits, code) in [("pthread_detach(id);", 1), ("pthread_join(id, 0);", 0)] {
            let source = source(register, waits, end);
            let (out, found) = explore(&format!("exit_{name}"), &source, &["-q"]);
            assert_eq!(found, Some(code), "{name} {waits}: {out}");
        }
    }
}

/// Robustness of accesses that overlap in part is decided, also where stores of two threads have to be
/// late at once.
#[test]
fn accesses_that_overlap() {
    let front = "union { volatile uint16_t half[2]; volatile uint32_t all; } u; volatile int r;";
    let source =
        two(front, "u.half[0] = 1; r = u.half[1];", "u.all = 0x30003;", "r || u.half[0] == 3");
    let (out, code) = explore("wide", &source, &["--model", "tso", "-q"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("TSO: fails") && out.contains("TSO: breaks SC"), "{out}");
    let (out, code) = explore("wide", &source, &["--under", "tso", "-q"]);
    assert_eq!(code, Some(1), "{out}");
    let between = |fence: &str| {
        format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdint.h>
            union {{ uint64_t all; uint32_t half[2]; }} x; int z; uint32_t r, s;

#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
            static void *p(void *a) {{ STORE(x.all, 0x200000002); return a; }}
            static void *t(void *a) {{ STORE(x.half[1], 1); {fence} r = LOAD(z); return a; }}
            static void *q(void *a) {{
                __atomic_store_n(&z, 1, __ATOMIC_SEQ_CST);
                s = LOAD(x.half[0]);
                return a;
            }}
            int main(void) {{
                pthread_t id[3];
                pthread_create(&id[0], 0, p, 0);
                pthread_create(&id[1], 0, t, 0);
                pthread_create(&id[2], 0, q, 0);
                for (int i = 0; i < 3; i++) pthread_join(id[i], 0);
                assert(r || s || x.half[1] != 1 || !x.half[0]);
                return 0;
            }}"
        )
    };
    let (out, code) = explore("between", &between(""), &["--robust"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("TSO: fails") && out.contains("4 -co-> 5 -po-> 6 -fr-> 8"), "{out}");
    let fence = "__atomic_thread_fence(__ATOMIC_SEQ_CST);";
    let (out, code) = explore("between_fenced", &between(fence), &["--robust", "-q"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("TSO: robust") && out.contains("PSO: robust"), "{out}");
}

#[test]
fn strings_are_seen() {
    let front = "char x[8], y[8]; volatile int r1, r2;";
    let source = two(
        front,
        "strcpy(x, \"a\"); r1 = strlen(y);",
        "strcpy(y, \"a\"); r2 = strlen(x);",
        "r1 || r2",
    );
    let (out, code) = explore("strings", &source, &["--model", "tso", "--no-races", "-q"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("SC: no execution fails") && out.contains("TSO: breaks SC"), "{out}");
}

#[test]
fn what_is_not_for_it_is_refused() {
    for (args, says) in [
        (&["run", "--bogus", "./x"][..], "there is no option --bogus"),
        (&["run", "--under", "sc", "./x"], "expected tso or pso"),
        (&["run", "--seed", "3", "./x"], "--seed is for --strategy random and pct"),
        (&["run", "--executions", "0", "./x"], "--executions 0 leaves nothing to look at"),
        (&["run", "--under", "tso", "--replay", "1", "./x"], "was kept with the schedule"),
        (&["run", "--replay", "ws1_b0_00000000", "./x"], "invalid value 'ws1_b0_00000000'"),
        (&["run", "Cargo.toml"], "is no compiled program; expected one that `weakspot cc` made"),
        (
            &["run", "corpus/c/dekker.c"],
            "weakspot cc -g -pthread 'corpus/c/dekker.c' -o 'corpus/c/dekker'",
        ),
        // What has no end.
        (&["run", "/dev/zero"], "/dev/zero is no compiled program: it is no file"),
        (&["run", "--baseline", "/dev/zero", "./x"], "failed to read /dev/zero: this is no file"),
        // What another command reads.
        (
            &["monitor", "corpus/histories/by-cases.wshist"],
            "the ending is that of a history, which `weakspot history` reads",
        ),
        (
            &["litmus", "corpus/histories/by-cases.wshist"],
            "it is that of a history, which `weakspot history` reads",
        ),
    ] {
        let ran = run(args, "");
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
}

/// Findings of one model do not hide those of another, however many there are.
#[test]
fn many_findings_hide_none() {
    const MANY: usize = 119;
    let accesses = |access: &dyn Fn(usize) -> String| (0..MANY).map(access).collect::<String>();
    let stores = accesses(&|i| format!("    W(x[{i}]);\n"));
    let loads = accesses(&|i| format!("    s += R(x[{}]);\n", MANY - 1 - i));
    let source = format!(
        "#include <pthread.h>
#include <stdatomic.h>
#define W(at) atomic_store_explicit(&at, 1, memory_order_relaxed)
#define R(at) atomic_load_explicit(&at, memory_order_relaxed)
atomic_int x[{MANY}], y, z;
int r[3];
void *a(void *p) {{\n{stores}    return p;\n}}
void *b(void *p) {{\n    int s = 0;\n{loads}    r[0] = s;\n    return p;\n}}
void *c(void *p) {{ W(y); r[1] = R(z); return p; }}
void *d(void *p) {{ W(z); r[2] = R(y); return p; }}
int main(void) {{
    pthread_t t[4];
    void *(*all[4])(void *) = {{ a, b, c, d }};
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, all[i], 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    return 0;
}}
"
    );
    let (out, code) = explore("many", &source, &["-q", "--robust", "--executions", "1500"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("TSO: breaks SC: 2 pairs"), "{out}");
    assert!(out.contains("PSO: breaks SC: 120 pairs"), "{out}");
}

/// Message passing, which only PSO breaks.
fn message_passing(ok: &str) -> String {
    let front = "volatile int data, ready, r1, r2;";
    two(front, "data = 1;\nready = 1;", "r1 = ready;\nr2 = data;", ok)
}

#[test]
fn what_happens_counts_and_the_rest_is_advice() {
    // Noticed under TSO.
    let noticed = two("volatile int x, y, r1, r2;", "x = 1; r1 = y;", "y = 1; r2 = x;", "r1 || r2");
    let (out, code) = explore("noticed", &noticed, &[]);
    assert_eq!(code, Some(1), "{out}");
    let drawn = ["p#1", "1. wr x=1", "stays in the buffer", "1. reaches memory"];
    let said = ["SC: no execution fails", "TSO: fails: 1 failure", "then     fails: assertion"];
    for part in said.into_iter().chain(drawn) {
        assert!(out.contains(part), "{part}: {out}");
    }
    let again = out.lines().find_map(|line| line.strip_prefix("  again by weakspot run "));
    let again: Vec<&str> = again.expect("a command").split(' ').collect();
    let (out, code) = explore("noticed", &noticed, &again[..2]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("TSO: fails: 1 failure in 1 execution"), "{out}");
    // In short, and in full.
    let (out, _) = explore("noticed", &noticed, &["-q"]);
    assert!(out.contains("TSO: fails: 1 failure in "), "{out}");
    assert!(out.contains(": assertion at ") && !out.contains("--replay"), "{out}");
    let (out, _) = explore("noticed", &noticed, &["-v"]);
    assert!(out.contains("weakspot run --under tso --replay ws1_"), "{out}");
    // Nobody looks.
    let unnoticed = two("volatile int x, y, r1, r2;", "x = 1; r1 = y;", "y = 1; r2 = x;", "1");
    let (out, code) = explore("unnoticed", &unnoticed, &[]);
    assert_eq!(code, Some(0), "{out}");
    for part in ["TSO: no execution fails", "TSO: breaks SC: 2 pairs", "unnoticed by these tests"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (out, code) = explore("unnoticed", &unnoticed, &["--robust"]);
    assert_eq!(code, Some(1), "{out}");
    // Only on weaker machines.
    let (out, code) = explore("weaker", &message_passing("!r1 || r2"), &[]);
    assert_eq!(code, Some(0), "{out}");
    let (main, advice) = out.split_once("on weaker machines").expect("advice");
    assert!(main.contains("TSO: no execution fails: robust, and none fails under SC"), "{out}");
    assert!(advice.contains("PSO: fails: 1 failure"), "{out}");
    let (out, code) = explore("weaker", &message_passing("!r1 || r2"), &["--model", "pso"]);
    assert_eq!(code, Some(1), "{out}");
}

/// Models that were asked for count when a schedule is executed again, also if they are those that are watched for anyway.
#[test]
fn numbers_know_the_models_that_were_asked_for() {
    let source = message_passing("!r1 || r2");
    for (args, expected) in [(&["--model", "tso,pso"][..], 1), (&[], 3)] {
        let (out, _) = explore("asked", &source, args);
        let again = out.lines().filter_map(|line| line.strip_prefix("  again by weakspot run "));
        let again: Vec<Vec<&str>> = again.map(|words| words.split(' ').collect()).collect();
        // The failure, then the pair.
        assert_eq!(again.len(), 2, "{out}");
        let (pair, code) = explore("asked", &source, &again[1][..2]);
        assert!(pair.contains("PSO: breaks SC: 1 pair of accesses in 1 execution"), "{pair}");
        assert_eq!(code, Some(expected), "{pair}");
    }
}

#[test]
fn advice_is_marked_in_json() {
    let args = ["--format", "json"];
    let (out, code) = explore("advisory", &message_passing("!r1 || r2"), &args);
    assert_eq!(code, Some(0), "{out}");
    let seen: Vec<(String, String, String, bool)> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .map(|o| {
            let text = |key: &str| o[key].as_str().unwrap_or("").to_owned();
            (text("question"), text("model"), text("verdict"), o["advisory"] == true)
        })
        .collect();
    let row = |q: &str, m: &str, v: &str, a| (q.to_owned(), m.to_owned(), v.to_owned(), a);
    assert_eq!(
        seen,
        [
            row("failures", "sc", "holds", false),
            row("failures", "tso", "holds", false),
            row("run", "tso", "holds", false),
            row("failures", "pso", "violated", true),
            row("run", "pso", "violated", true),
        ]
    );
}

#[test]
fn known_pairs_are_accepted() {
    let source = two("volatile int x, y, r1, r2;", "x = 1; r1 = y;", "y = 1; r2 = x;", "1");
    let (out, code) = explore("known", &source, &["--robust", "--format", "json"]);
    assert_eq!(code, Some(1), "{out}");
    let baseline = folder().join("known.jsonl");
    std::fs::write(&baseline, &out).expect("written");
    let baseline = baseline.to_str().expect("UTF-8");
    let (out, code) = explore("known", &source, &["--robust", "--baseline", baseline]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("accepted by the baseline: 2 pairs"), "{out}");
    std::fs::write(baseline, "nonsense\n").expect("written");
    let (_, code) = explore("known", &source, &["--robust", "--baseline", baseline]);
    assert_eq!(code, Some(2));
    std::fs::write(baseline, "").expect("written");
    let (out, code) = explore("known", &source, &["--robust", "--baseline", baseline]);
    assert_eq!(code, Some(2), "{out}");
    assert!(out.contains("has no answer about pairs"), "{out}");
    let p = "x = 1; // weakspot: benign\n r1 = y;";
    let source = two("volatile int x, y, r1, r2;", p, "y = 1; // weakspot: benign\n r2 = x;", "1");
    let (out, code) = explore("benign", &source, &["--robust"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("accepted by comments: 2 pairs"), "{out}");
    // They need no change either.
    let (out, _) = explore("benign", &source, &["--model", "tso", "--robust", "--fences"]);
    assert!(out.contains("TSO: no fence is needed"), "{out}");
}

/// What the last thread reads when it is alone depends on the order of stores: each is a class of its own.
#[test]
fn final_values_are_not_lost() {
    let front = "#include <stdatomic.h>\natomic_int x;";
    let store = |value: u8| format!("atomic_store_explicit(&x, {value}, memory_order_relaxed);");
    let source = two(front, &store(2), &store(1), "x != 2");
    for args in [&["--under", "tso", "-q"][..], &["-q"]] {
        let (out, code) = explore("final", &source, args);
        assert_eq!(code, Some(1), "{out}");
    }
    let (out, code) = explore("final", &source, &["--strategy", "rf", "-q"]);
    assert_eq!(code, Some(1), "{out}");
}

/// A loop with a bounded number of tries is followed to its last branch.
#[test]
fn bounded_tries_come_to_an_end() {
    let front = "#include <stdatomic.h>\natomic_int go; int r;";
    let tries = "for (int i = 0; i < 200 && !r; i++) if (atomic_load(&go)) r = 1; if (!r) r = 2;";
    let source = two(front, tries, "atomic_store(&go, 1);", "r != 2");
    let (out, code) = explore("tries", &source, &["-q"]);
    assert_eq!(code, Some(1), "{out}");
    // The store comes before one of the tries, or after all of them. What was explored before is not counted again.
    assert!(out.contains("SC: fails: 1 failure in 201 executions"), "{out}");
}

/// What depends on memory that is given out again is seen again when it is executed again.
#[test]
fn findings_with_reused_memory_are_repeated() {
    let front = "#include <stdlib.h>\nvolatile int x, y, r1, r2;";
    let p = "char *m = malloc(40); free(m); char *n = malloc(40); \
             if (n == m) { x = 1; r1 = y; } free(n);";
    let source = two(front, p, "y = 1; r2 = x;", "1");
    let args = ["--model", "tso", "--robust", "--reuse", "-v"];
    let (out, code) = explore("reuse", &source, &args);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("TSO: breaks SC: 2 pairs") && out.contains("was checked"), "{out}");
    assert!(out.contains("weakspot run --model tso --reuse --replay ws1_"), "{out}");
    let (out, code) = explore("reuse", &source, &["--model", "tso"]);
    assert_eq!(code, Some(0), "{out}");
}

#[test]
fn the_first_finding_is_no_lack_of_accesses() {
    let (out, code) =
        explore("first", &store_buffering(""), &["--robust", "--model", "tso", "--first"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("TSO: breaks SC: 1 pair"), "{out}");
    assert!(!out.contains("no access to shared memory") && !out.contains(" 0 steps"), "{out}");
}

/// What is only advice is no finding to stop at. Where a pair counts, nobody waits for what comes of it.
#[test]
fn the_first_finding_counts() {
    // Under PSO the stores change places, so that 1 and 0 are read.
    let front = "volatile int x, y, r1, r2;";
    let source = two(front, "x = 1; y = 1;", "r1 = y; r2 = x;", "1");
    let said = |args: &[&str]| {
        let (out, code) = explore("first-advice", &source, args);
        let (all, times) = out.trim_end().rsplit_once('\n').expect("lines");
        assert!(times.contains(" in "), "{out}");
        (all.to_owned(), code)
    };
    let (out, code) = said(&["--fail-fast"]);
    assert!(out.contains("PSO: breaks SC: 1 pair of accesses in 3 executions"), "{out}");
    assert_eq!((out, code), said(&[]));
    let (out, code) = said(&["--fail-fast", "--model", "pso", "--robust"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("PSO: breaks SC: 1 pair of accesses in 1 execution"), "{out}");
    assert!(!out.contains("with store buffers"), "{out}");
}

/// A sequentially consistent store is in memory at once, after those before it.
#[test]
fn late_stores_were_in_a_buffer() {
    let front = "#include <stdatomic.h>\natomic_int x, y, z; volatile int r1, r2;";
    let relaxed = |at: &str| format!("atomic_store_explicit(&{at}, 1, memory_order_relaxed);");
    let p = format!("atomic_store(&z, 1); {} r1 = y;", relaxed("x"));
    let q = format!("{} r2 = x;", relaxed("y"));
    let source = two(front, &p, &q, "r1 || r2");
    let (out, code) = explore("late", &source, &["--under", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    let late: Vec<&str> = out.lines().filter(|line| line.starts_with("  late")).collect();
    assert!(late.iter().any(|line| line.contains("wr x")), "{out}");
    assert!(!late.iter().any(|line| line.contains("wr z")), "{out}");
}

/// A schedule is for the options that it was found with, and that is said.
#[test]
fn a_schedule_without_buffers_is_not_called_another_program() {
    // With buffers, the atomic update waits for the store before it.
    let front = "#include <stdatomic.h>\natomic_int n; volatile int x, y, z, r1, r2, r3;";
    let p = "z = 1; atomic_fetch_add(&n, 1); x = 1; r1 = y;";
    let source = two(front, p, "r3 = z; y = 1; r2 = x;", "1");
    let (out, _) = explore("no_buffers", &source, &["--model", "tso", "-v"]);
    let mut words = out.split(' ');
    let schedule = words.find(|word| word.starts_with("ws1_")).expect("a schedule");
    let (out, code) = explore("no_buffers", &source, &["--under", "tso", "--replay", schedule]);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("an exploration without --under"), "{out}");
    assert!(!out.contains("another program"), "{out}");
}

/// Schedules depend on what was known to be shared when they were made.
#[test]
fn schedules_of_a_bounded_queue_are_followed() {
    let source = include_str!("queue.c");
    for strategy in ["auto", "dpor", "pct", "random"] {
        let args = ["--under", "tso", "--strategy", strategy, "--executions", "2000", "--first"];
        let (out, code) = explore("queue", source, &args);
        assert_eq!(code, Some(1), "{out}");
        let schedule = out.split("--replay ").nth(1).and_then(|rest| rest.split(' ').next());
        let args = ["--replay", schedule.expect("a schedule")];
        let (out, code) = explore("queue", source, &args);
        assert_eq!(code, Some(1), "{strategy}: {out}");
        assert!(!out.contains("could not be followed"), "{strategy}: {out}");
    }
}

/// Paths with blanks have lines like others, and what is to be typed again is quoted.
#[test]
fn paths_may_have_blanks() {
    let name = "a folder/it's sb";
    std::fs::create_dir_all(folder().join("a folder")).expect("a folder");
    let (out, code) = explore(name, &store_buffering(""), &["--model", "tso", "--robust"]);
    assert_eq!(code, Some(1), "{out}");
    for part in ["wr x", "rd x", "it's sb.c:5", "it's sb.c:14"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let line = out.lines().find_map(|line| line.strip_prefix("  again by weakspot "));
    let command = format!("\"$0\" {}", line.expect("a command"));
    let again = std::process::Command::new("sh")
        .args(["-c", &command, env!("CARGO_BIN_EXE_weakspot")])
        .current_dir(root())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&again.stdout).into_owned();
    assert_eq!(again.status.code(), Some(1), "{command}: {said}");
    assert!(said.contains("TSO: breaks SC: "), "{said}");
}

/// Two threads whose executions are too many to be explored, the first of which breaks SC.
fn endless() -> String {
    let front = "#include <stdatomic.h>\nvolatile int x, y, r1, r2; atomic_int n;";
    let rounds = "for (int i = 0; i < 40; i++) atomic_exchange(&n, i);";
    let p = format!("x = 1; r1 = y; {rounds}");
    let q = format!("y = 1; r2 = x; {rounds}");
    two(front, &p, &q, "1")
}

/// Whoever wants an end gets what was found until then, and nothing of the program is left.
#[test]
fn signals_end_an_exploration_with_an_answer() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader, Read};
    let (out, _) = explore("endless", &endless(), &["--executions", "1", "-q"]);
    let program = folder().join("endless");
    let program = program.to_str().expect("UTF-8");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        // Who runs the tests in the background may have them ignored, and then they stay ignored.
        if is_ignored(signal.as_raw()) {
            continue;
        }
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_weakspot"))
            .args([
                "run",
                "--robust",
                "--model",
                "tso",
                "--progress",
                "always",
                "--timeout",
                "10m",
                program,
            ])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let going = lines.any(|line| line.is_ok_and(|line| line.contains("executions")));
        assert!(going, "{out}");
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
        kill_process(pid, signal).expect("sent");
        let mut said = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
        let status = child.wait().expect("ended");
        assert_eq!(status.code(), Some(1), "{signal:?}: {said}");
        assert!(said.contains("TSO: breaks SC: "), "{signal:?}: {said}");
        assert!(said.contains("SC: unknown: the search was interrupted"), "{signal:?}: {said}");
        assert!(!said.contains("unrepeatable") && !said.contains("did not come"), "{said}");
        for process in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            assert!(!command.starts_with(program.as_bytes()), "{signal:?}: a process is left");
        }
    }
}

/// Whether a signal is ignored here, and so by all that is started from here.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = u64::from_str_radix(mask.expect("a mask").trim(), 16).expect("a mask");
    mask >> (signal - 1) & 1 == 1
}

/// Without a home, the runtime library is put where only the user can write.
#[test]
fn the_runtime_library_is_the_users_own() {
    let (_, code) = explore("own", &store_buffering(""), &["--robust", "--executions", "1", "-q"]);
    assert_eq!(code, Some(1));
    let program = folder().join("own");
    let temporary = tempfile::tempdir().expect("a folder");
    let homeless = |args: &[&str]| {
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_weakspot"))
            .args(args)
            .arg(&program)
            .env_remove("HOME")
            .env_remove("XDG_CACHE_HOME")
            .env("TMPDIR", temporary.path())
            .output()
            .expect("started");
        (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
    };
    let args = ["run", "--robust", "--executions", "1", "-q"];
    assert_eq!(homeless(&args).0, Some(1));
    let own = std::fs::read_dir(temporary.path()).expect("a folder").flatten().next();
    let own = own.expect("the folder of the library").path();
    // A damaged library, and one that others may write to, are replaced.
    let folder = std::fs::read_dir(&own).expect("a folder").flatten().next().expect("a version");
    let library = folder.path().join("libweakspot_rt.so");
    let bytes = std::fs::read(&library).expect("the library");
    let mut damaged = bytes.clone();
    damaged[1000] ^= 1;
    std::fs::write(&library, damaged).expect("written");
    assert_eq!(homeless(&args).0, Some(1));
    assert!(std::fs::read(&library).expect("the library") == bytes);
    let mode = |of: u32| std::os::unix::fs::PermissionsExt::from_mode(of);
    std::fs::set_permissions(&library, mode(0o666)).expect("changed");
    assert_eq!(homeless(&args).0, Some(1));
    let left = std::fs::metadata(&library).expect("the library").permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&left) & 0o777, 0o644);
    // Somebody else was there before.
    let other = temporary.path().join("other");
    std::fs::rename(&own, &other).expect("renamed");
    std::os::unix::fs::symlink(&other, &own).expect("a link");
    let (code, said) = homeless(&args);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the runtime library is not put there"), "{said}");
}

/// An explanation that cannot be had does not cost the answer, and is not left out in silence.
#[test]
fn a_missing_explanation_is_reported() {
    let source = two("int n;", "n = n + 1;", "n = n + 1;", "1");
    let source = source.replace("void *p", "__attribute__((noinline)) void *p");
    let (out, code) = explore("unexplained", &source, &["--model", "tso", "--transaction", "p,q"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("transactions: not serializable"), "{out}");
    assert!(out.contains("unexplained.c"), "{out}");
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_weakspot"))
        .args(["run", "--model", "tso", "--transaction", "p,q"])
        .arg(folder().join("unexplained"))
        .env("TMPDIR", "/nonexistent")
        .output()
        .expect("started");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("no explanation: failed to write a log"), "{said}");
}

/// What JSON says of a violation beside the verdict: whether it was checked, whether all was looked at, and under which model the
/// same was told before.
#[test]
fn violations_are_told_in_full() {
    let objects = |name: &str, source: &str, args: &[&str]| -> Vec<serde_json::Value> {
        let args = [&["-q", "-f", "json", "--robust", "--model", "tso,pso"], args].concat();
        let (out, code) = explore(name, source, &args);
        assert_eq!(code, Some(1), "{out}");
        out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let front = "volatile int x, y, r1, r2;";
    let source = two(front, "x = 1; r1 = y;", "y = 1; r2 = x;", "r1 || r2");
    let all = objects("in_full", &source, &[]);
    let of = |question: &str, model: &str| {
        let is_it = |o: &&serde_json::Value| o["question"] == question && o["model"] == model;
        all.iter().find(is_it).expect("an answer").clone()
    };
    for model in ["tso", "pso"] {
        // One of the pairs is executed again, and shows the verdict.
        assert_eq!(
            (&of("run", model)["certified"], &of("run", model)["complete"]),
            (&true.into(), &true.into())
        );
        assert_eq!(of("run", model)["violations"].as_array().map(Vec::len), Some(2));
    }
    assert!(of("failures", "tso")["failures"][0]["as_under"].is_null());
    assert_eq!(of("failures", "pso")["failures"][0]["as_under"], "tso");
    let all = objects(
        "in_part",
        &two(front, "x = 1; r1 = y;", "y = 1; r2 = x;", "0"),
        &["--executions", "1"],
    );
    let violated: Vec<_> = all.iter().filter(|o| o["verdict"] == "violated").collect();
    for question in ["run", "failures"] {
        assert!(
            violated.iter().any(|o| o["question"] == question && o["complete"] == false),
            "{violated:?}"
        );
    }
}

/// Who hangs elsewhere is not excused by another thread whose assumption does not hold.
#[test]
fn an_empty_loop_beside_that_of_an_assumption() {
    let front = "static void __attribute__((noinline)) my_assume(int c) { if (!c) for (;;); }\nvolatile int x;";
    for (q, code) in [("for (;;);", 1), ("my_assume(x == 3);", 0)] {
        let source = two(front, "my_assume(x == 2);", q, "1");
        let (out, found) = explore(&format!("hangs_{code}"), &source, &["-q"]);
        assert_eq!(found, Some(code), "{out}");
    }
}
