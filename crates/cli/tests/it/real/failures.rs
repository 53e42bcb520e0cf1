//! What counts as a failure of a program that `weakspot run` explores.

use std::path::PathBuf;

use serde_json::Value;

use crate::real::run::two;
use crate::run;

/// Compiles a program and explores it; what is said, and the exit code.
pub(crate) fn explore(file: &str, source: &str, args: &[&str]) -> (String, Option<i32>) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("failures");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(file);
    std::fs::write(&path, source).expect("written");
    let program = path.with_extension("");
    let (path, program) = (path.to_str().expect("UTF-8"), program.to_str().expect("UTF-8"));
    let compiler = if file.ends_with(".c") { "cc" } else { "c++" };
    let built = run(&[compiler, "-O1", "-pthread", path, "-o", program], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let mut words = vec!["run"];
    words.extend(args);
    words.push(program);
    let ran = run(&words, "");
    (ran.out + &ran.err, ran.code)
}

/// A stack without locks whose nodes are freed while others may still look at them.
const STACK: &str = "#include <atomic>
#include <thread>
struct Node { int value; Node *next; };
static std::atomic<Node *> top;
static void push(int value) {
    Node *node = new Node{value, top.load()};
    while (!top.compare_exchange_weak(node->next, node)) {}
}
static int pop() {
    Node *node = top.load();
    while (node && !top.compare_exchange_weak(node, node->next)) {}
    int value = node ? node->value : 0;
    delete node;
    return value;
}
int main() {
    push(1);
    push(2);
    std::thread a(pop), b(pop);
    a.join();
    b.join();
    return 0;
}
";

#[test]
fn memory_is_used_after_it_was_freed() {
    let (out, code) = explore("stack.cpp", STACK, &[]);
    assert_eq!(code, Some(1), "{out}");
    let parts = [
        "use-after-free reads 8 bytes, 8 bytes into a block of 16 bytes, after it was",
        "stack.cpp:11 in pop",
        "freed here by pop#2 at ",
        "stack.cpp:13 in pop",
        "allocated here by main at ",
        "stack.cpp:6 in push",
    ];
    for part in parts {
        assert!(out.contains(part), "{part}: {out}");
    }
    let schedule = out.split("--replay ").nth(1).and_then(|rest| rest.split(' ').next());
    let (again, code) = explore("stack.cpp", STACK, &["--replay", schedule.expect("a schedule")]);
    assert_eq!(code, Some(1), "{again}");
    assert!(again.contains("use-after-free") && again.contains("1 execution"), "{again}");

    let (out, _) = explore("stack.cpp", STACK, &["--format", "json"]);
    let objects = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let failures: Vec<Value> =
        objects.filter_map(|o| o["failures"].get(0).cloned()).take(1).collect();
    let failure = failures.first().unwrap_or_else(|| panic!("{out}"));
    assert_eq!(failure["kind"], "use-after-free");
    assert_eq!(failure["related"][0]["what"], "freed here", "{failure}");
    assert_eq!(failure["related"][1]["what"], "allocated here", "{failure}");
}

/// Who waits for the end of a thread second gets an error, whoever that is.
#[test]
fn two_wait_for_the_end_of_one() {
    let source = "#include <assert.h>
#include <pthread.h>
static pthread_t one;
static void *ends(void *x) { return x; }
static void *waits(void *x) { assert(!pthread_join(one, 0)); return x; }
int main(void) {
    pthread_t two;
    pthread_create(&one, 0, ends, 0);
    pthread_create(&two, 0, waits, 0);
    assert(!pthread_join(one, 0));
    pthread_join(two, 0);
}
";
    let (out, code) = explore("joins.c", source, &["--strategy", "bounded"]);
    assert_eq!(code, Some(1), "{out}");
    // Where lines end depends on the folder.
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in ["joins.c:5: !pthread_join(one, 0)", "joins.c:10: !pthread_join(one, 0)"] {
        assert!(words.contains(line), "{line}: {out}");
    }
    // Which of them is second is not explored by each strategy, so that nothing holds.
    let careless = source.replacen("assert(!pthread_join(one, 0))", "pthread_join(one, 0)", 1);
    let (out, code) = explore("careless.c", &careless, &[]);
    assert!(code != Some(0) && out.contains("a thread that was joined before"), "{out}");
}

#[test]
fn exit_codes_are_failures() {
    let source = "#include <stdlib.h>
int main(void) {
    exit(3);
}
";
    let (out, code) = explore("three.c", source, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("exit code 3") && out.contains("three.c:3"), "{out}");
    let (out, code) = explore("three.c", source, &["--ignore-exit-code"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("ended with an exit code that is not 0"), "{out}");
    // The shell gets eight bits of it.
    let (out, code) = explore("round.c", &source.replace('3', "256"), &[]);
    assert_eq!(code, Some(0), "{out}");
}

#[test]
fn uncaught_exceptions_are_failures() {
    let thrown = |by: &str| {
        format!(
            "#include <stdexcept>
#include <thread>
struct Closed : std::runtime_error {{ Closed() : runtime_error(\"the queue is closed\") {{}} }};
static void pass(int n) {{
    if (n > 0)
        {by};
}}
int main() {{
    std::thread t([] {{
        try {{ throw 1; }} catch (int n) {{ pass(n); }}
    }});
    t.join();
    return 0;
}}
"
        )
    };
    let cases = [
        ("closed.cpp", "throw Closed()", "exception Closed: the queue is closed"),
        ("number.cpp", "throw 5L", "exception long"),
        ("again.cpp", "throw", "exception int"),
        (
            "kept.cpp",
            "std::rethrow_exception(std::make_exception_ptr(Closed()))",
            "exception Closed: the queue is closed",
        ),
    ];
    for (file, by, text) in cases {
        let (out, code) = explore(file, &thrown(by), &[]);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains(text), "{file}: {out}");
        let line = if by == "throw" { 10 } else { 6 };
        assert!(out.contains(&format!("{file}:{line}")), "{file}: {out}");
    }
    let (out, code) = explore("abort.cpp", &thrown("std::abort()"), &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("abort    abort"), "{out}");
}

/// What only looks like an error of a program in C++.
#[test]
fn exceptions_and_objects_that_are_fine() {
    let source = "#include <cassert>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
struct alignas(64) Line { int x[16]; };
struct Owner { int *p = new int(3); ~Owner() { delete p; } };
static int deep(int n) {
    Owner owner;
    volatile int here[8];
    here[n & 7] = n;
    if (n == 20) throw std::string(\"deep\");
    return deep(n + 1) + *owner.p;
}
int main() {
    std::mutex mutex;
    std::vector<std::string> log;
    auto work = [&](int id) {
        try { deep(0); } catch (const std::string &what) {
            std::lock_guard<std::mutex> guard(mutex);
            log.push_back(what + std::to_string(id));
        }
        try {
            try { throw std::logic_error(\"again\"); } catch (...) { throw; }
        } catch (const std::exception &) {}
        Line *lines = new Line[3];
        lines[2].x[15] = id;
        delete[] lines;
        int *numbers = new (std::nothrow) int[10];
        numbers[9] = 1;
        delete[] numbers;
    };
    { std::thread a(work, 1), b(work, 2); a.join(); b.join(); }
    auto shared = std::make_shared<std::map<int, std::string>>();
    (*shared)[1] = \"a string that is too long to be stored in place\";
    std::thread c([shared] { assert(shared->size() == 1); });
    shared.reset();
    c.join();
    auto later = std::async(std::launch::async, [] { throw std::runtime_error(\"kept\"); return 1; });
    try { later.get(); assert(false); } catch (const std::runtime_error &) {}
    std::ostringstream out;
    out << 42 << log.size();
    assert(out.str() == \"422\");
    return 0;
}
";
    for under in [&["--executions", "100"][..], &["--executions", "100", "--under", "tso"]] {
        let (out, code) = explore("objects.cpp", source, under);
        assert!(matches!(code, Some(0 | 3)), "{out}");
        assert!(!out.contains("fails"), "{out}");
    }
}

/// What is registered for `quick_exit` is called by it, the last one first, natively and under control.
#[test]
fn functions_for_a_quick_exit() {
    let source = "#include <stdlib.h>
static int n = 1;
static void last(void) { _Exit(n); }
static void first(void) { n = 7; }
static void never(void) { _Exit(2); }
int main(void) {
    atexit(never);
    at_quick_exit(last);
    at_quick_exit(first);
    quick_exit(0);
}
";
    let (out, code) = explore("quick.c", source, &["-q", "--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("exit at"), "{out}");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("failures/quick");
    let status = std::process::Command::new(program).status().expect("it runs");
    assert_eq!(status.code(), Some(7));
}

/// Who ends the program at once may do so at any time: what others do before that is looked at.
#[test]
fn an_exit_at_once_that_comes_late() {
    for (name, ends) in [("ends.c", "_exit(0)"), ("ends_quickly.c", "quick_exit(0)")] {
        let front = "#include <stdatomic.h>\n#include <stdlib.h>\n#include <unistd.h>\nstatic atomic_int x;";
        let source = two(front, &format!("x = 1; {ends};"), "assert(!x);", "1");
        let (out, code) = explore(name, &source, &["-q", "--model", "tso"]);
        assert_eq!(code, Some(1), "{name}: {out}");
        assert!(out.contains("assertion at"), "{name}: {out}");
    }
}

/// Two threads take two locks in different orders; others wait for whatever there is to wait for.
const STUCK: &str = "#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static void *one(void *p) {
    pthread_mutex_lock(&a);
    sem_wait(&sem);
    pthread_mutex_lock(&b);
    return p;
}
static void *two(void *p) {
    pthread_mutex_lock(&b);
    pthread_rwlock_rdlock(&rw);
    sem_post(&sem);
    pthread_mutex_lock(&a);
    return p;
}
static void *writes(void *p) {
    pthread_rwlock_wrlock(&rw);
    pthread_barrier_wait(&barrier);
    return p;
}
static void *waits(void *p) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    pthread_cond_wait(&cond, &own);
    return p;
}
static void *arrives(void *p) {
    pthread_barrier_wait(&barrier);
    return p;
}
static void *takes(void *p) {
    sem_wait(&sem);
    sem_wait(&sem);
    return p;
}
int main(int argc, char **argv) {
    pthread_t t[5];
    sem_init(&sem, 0, 0);
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t[0], 0, one, 0);
    pthread_create(&t[1], 0, two, 0);
    pthread_join(t[0], 0);
    return 0;
}
";

#[test]
fn who_waits_for_what_and_who_has_it() {
    let (out, code) = explore("stuck.c", STUCK, &["--fail-fast"]);
    assert_eq!(code, Some(1), "{out}");
    let parts = [
        "main waits for the end of one#1\n",
        "one#1 waits for b, which two#2 holds since ",
        "stuck.c:15\n",
        "two#2 waits for a, which one#1 holds since ",
        "stuck.c:9\n",
        ". blocked  ",
    ];
    parts.iter().for_each(|part| assert!(out.contains(part), "{part}: {out}"));
    let number = out.split("--replay ").nth(1).and_then(|rest| rest.split(' ').next());
    let (again, _) = explore("stuck.c", STUCK, &["--replay", number.expect("a number")]);
    assert!(again.contains("one#1 waits for b, which two#2 holds since "), "{again}");
    let (out, _) = explore("stuck.c", STUCK, &["--fail-fast", "--format", "json"]);
    let answer: Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
    let related = &answer["failures"][0]["related"][1];
    assert_eq!((&related["what"], &related["for"]), (&"waits".into(), &"b".into()));
    assert_eq!(related["held_by"][0]["thread"], "two#2");
    let since = related["held_by"][0]["since"].as_str().expect("a place");
    assert!(since.ends_with("stuck.c:15"), "{since}");
}

/// The same for each kind of object, in a program where nobody else gets in the way.
#[test]
fn what_is_waited_for_is_told() {
    let main = STUCK.find("int main").expect("a main");
    for (function, words) in [
        ("waits", "waits to be woken by cond"),
        ("arrives", "waits at the barrier barrier"),
        ("takes", "waits for the semaphore sem"),
    ] {
        let source = format!(
            "{}int main(void) {{
    pthread_t t;
    sem_init(&sem, 0, 1);
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t, 0, {function}, 0);
    (void)one; (void)two; (void)writes; (void)waits; (void)arrives; (void)takes;
    pthread_join(t, 0);
    return 0;
}}\n",
            &STUCK[..main]
        );
        let (out, code) = explore(&format!("{function}.c"), &source, &["--fail-fast"]);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains(&format!("{function}#1 {words}\n")), "{words}: {out}");
    }
}

/// Two threads store to the same variable, and each makes another one then. The second of the two is made late, so that it has another
/// number where the first one is slower.
const MAKERS: &str = "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static pthread_t first, second, later;
static void *idle(void *p) { return p; }
static void *store(void *value) {
    pthread_t other;
    atomic_store(&x, (int)(long)value);
    pthread_create(&other, 0, idle, 0);
    pthread_join(other, 0);
    return 0;
}
static void *makes(void *p) { pthread_create(&second, 0, store, (void *)2); return p; }
int main(void) {
    pthread_create(&first, 0, store, (void *)1);
    pthread_create(&later, 0, makes, 0);
    pthread_join(later, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    assert(x != LAST);
    return 0;
}
";

/// Threads are known by numbers, which depend on who makes them first where several do.
#[test]
fn threads_are_made_by_several() {
    for last in ["1", "2"] {
        let source = MAKERS.replace("LAST", last);
        for args in [&["-q"][..], &["-q", "--under", "tso", "--strategy", "rf"]] {
            let (out, code) = explore("makers.c", &source, args);
            assert_eq!(code, Some(1), "{out}");
        }
        let (out, _) = explore("makers.c", &source, &["-v"]);
        let schedule = out.split_whitespace().find(|word| word.starts_with("ws1_")).expect("one");
        let (out, code) = explore("makers.c", &source, &["--replay", schedule]);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains(&format!("makers.c:21: x != {last}")), "{out}");
    }
    let (out, code) = explore("makers.c", &MAKERS.replace("LAST", "3"), &[]);
    assert_eq!(code, Some(0), "{out}");
    // The first thread makes its own before each of the three others, or after all of them; in the last two cases either
    // store may be the last.
    assert!(out.contains("SC: no execution fails (6 executions explored)"), "{out}");
}
