//! What `weakspot run` shows of an execution: names, drawings, time.

use crate::real::run::{explore, two};

/// Condition variables are no locks, and what fails is drawn.
#[test]
fn drawings_say_what_happens() {
    let front = "#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int ready, data;";
    let p = "pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
    data = 2;";
    let q = "pthread_mutex_lock(&m);
    while (!ready) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m); data = 1;";
    let (out, code) = explore("drawn", &two(front, p, q, "data == 1"), &[]);
    assert_eq!(code, Some(1), "{out}");
    for part in ["wake c", "lock m", "unlock m", "races with ", ". fails ", "data-race"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("unlock c"), "{out}");
}

/// Memory is called by what it was assigned to.
#[test]
fn memory_has_names() {
    let front = "#include <stdlib.h>
struct node { int value; struct node *next; };
struct node *volatile head;";
    let p = "struct node *n = malloc(sizeof *n);
    n->value = 7; n->next = 0; head = n;";
    let source =
        two(front, p, "struct node *h = head; if (h) h->value = 8;", "!head || head->value == 7");
    let (out, code) = explore("names", &source, &["--no-races"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("wr n->value=8") && out.contains("q#2"), "{out}");
}

/// A thread finds its own variables gone, too.
#[test]
fn functions_that_have_returned() {
    let source = "int *g;
__attribute__((noinline)) void f(void) { int x = 1; g = &x; *(volatile int *)g = 2; }
int main(void) {
    f();
    return *(volatile int *)g & 0;
}
";
    let (out, code) = explore("returned", source, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("use-after-return reads 4 bytes of a variable whose function has"),
        "{out}"
    );
    let schedule = out.split("--replay ").nth(1).and_then(|rest| rest.split(' ').next());
    let (out, code) = explore("returned", source, &["--replay", schedule.expect("a schedule")]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("use-after-return"), "{out}");
}

/// In virtual time, sleeping orders what is meant to be ordered by it.
#[test]
fn sleepers_wake_in_the_order_of_their_deadlines() {
    let front = "#include <stdatomic.h>\n#include <unistd.h>\natomic_int x, r1, r2;";
    let source = two(
        front,
        "usleep(2000); r1 = x;",
        "x = 1; usleep(1000); r2 = x; x = 2;",
        "r1 == 2 && r2 == 1",
    );
    let (out, code) = explore("sleepers", &source, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("sleeping orders nothing here"), "{out}");
    let (out, code) = explore("sleepers", &source, &["--virtual-time"]);
    assert_eq!(code, Some(0), "{out}");
}

/// Who waits in a loop for one who sleeps waits until that one has woken, and then goes on.
#[test]
fn loops_wait_for_sleepers() {
    let front = "#include <stdatomic.h>\n#include <unistd.h>\natomic_int x; int after;";
    for (asserted, expected) in [("after == 1", Some(0)), ("after == 0", Some(1))] {
        let source = two(front, "while (!x); after = 1;", "usleep(1000); x = 1;", asserted);
        for strategy in ["auto", "dpor", "bounded"] {
            let args = ["--virtual-time", "--strategy", strategy, "--model", "tso"];
            let (out, code) = explore("awaits_sleeper", &source, &args);
            assert_eq!(code, expected, "{strategy}: {out}");
        }
    }
}

/// Without time there is no strategy to name.
#[test]
fn no_time_at_all() {
    let source = two("int x;", "x = 1;", "", "1");
    let (out, code) = explore("no-time", &source, &["--timeout", "0s"]);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("0 executions with 0 steps in "), "{out}");
}

/// What is on the stack of `main`, and of two threads that execute the same function.
const LOCALS: &str = r"#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
struct pair { atomic_int want[2]; int count; };
struct job { struct pair *pair; int me; };
static void *run(void *arg) {
    struct job *job = arg;
    struct pair *p = job->pair;
    atomic_store_explicit(&p->want[job->me], 1, memory_order_release);
    if (!atomic_load_explicit(&p->want[!job->me], memory_order_acquire)) p->count++;
    return NULL;
}
int main(void) {
    struct pair pair = {0};
    struct job left = {&pair, 0}, right = {&pair, 1};
    pthread_t a, b;
    pthread_create(&a, NULL, run, &left);
    pthread_create(&b, NULL, run, &right);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(pair.count < 2);
    return 0;
}
";

/// Variables of functions have their names, whatever the compiler keeps their frames by.
#[test]
fn variables_of_functions_have_names() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join("locals.c");
    std::fs::write(&source, LOCALS).expect("written");
    for level in ["-O0", "-O2", "-fno-omit-frame-pointer"] {
        let program = folder.join(format!("locals{level}"));
        let (source, program) = (source.to_str().expect("UTF-8"), program.to_str().expect("UTF-8"));
        let built = crate::run(&["cc", level, "-pthread", source, "-o", program], "");
        assert_eq!(built.code, Some(0), "{}", built.err);
        let ran = crate::run(&["run", program], "");
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        // In words, and in the drawing with values, which are never cut.
        assert!(ran.out.contains("run#1  wr pair.want[0]  at"), "{level}: {}", ran.out);
        let words = ran.out.replace('│', " ");
        let words: Vec<&str> = words.split_whitespace().collect();
        let words = words.join(" ").replace(" =", "=");
        for part in [". wr pair.want[0]=1 ", ". rd pair.want[1]=0 ", ". rd pair.count=0 "] {
            assert!(words.contains(part), "{level} {part}: {}", ran.out);
        }
        assert!(!ran.out.contains("0x"), "{level}: {}", ran.out);
        // What nobody writes explains nothing.
        assert!(!ran.out.contains("left.me"), "{level}: {}", ran.out);
    }
}

/// Functions that are called one after the other have their variables at the same place.
#[test]
fn variables_at_the_same_place() {
    let front = "struct s { _Atomic int a, b; };
static void *w(void *p) { struct s *s = p; s->a = 1; return (void *)(long)s->b; }
static int with(struct s *s) {
    pthread_t t; void *r;
    pthread_create(&t, 0, w, s); s->b = 1; int q = s->a; pthread_join(t, &r);
    return q + (int)(long)r;
}
__attribute__((noinline)) static int first(void) { struct s one = {0}; return with(&one); }
__attribute__((noinline)) static int second(void) { struct s two = {0}; return with(&two); }";
    let source = format!(
        "#include <assert.h>\n#include <pthread.h>\n{front}\n\
         int main(void) {{ assert(first()); assert(second() == 2); return 0; }}\n"
    );
    let (out, code) = crate::real::failures::explore("same_place.c", &source, &["--no-races"]);
    assert_eq!(code, Some(1), "{out}");
    for part in ["one.a|two.a", "one.b|two.b"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

/// Who fails behind a join has waited for all that the other thread did, whatever it did itself before.
#[test]
fn what_joined_threads_did_is_drawn() {
    let source = "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, go;
int a, b;
void *p(void *arg) { while (!atomic_load(&go)) {} a = atomic_exchange(&x, 1); return arg; }
void *q(void *arg) { while (!atomic_load(&go)) {} b = atomic_exchange(&x, 2); return arg; }
int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, p, 0);
    pthread_create(&t[1], 0, q, 0);
    atomic_store(&go, 1);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    assert(a == 0);
    return 0;
}
";
    let (out, code) = explore("joined", source, &["--format", "json"]);
    assert_eq!(code, Some(1), "{out}");
    let object: serde_json::Value =
        serde_json::from_str(out.lines().next().expect("a line")).expect("an object");
    let steps = object["failures"][0]["run"]["steps"].as_array().expect("steps");
    let of = |thread: u64| {
        let steps = steps.iter().filter(move |step| step["thread"] == thread);
        steps.map(|step| step["kind"].as_str().unwrap_or_default()).collect::<Vec<_>>()
    };
    let threads = object["failures"][0]["run"]["threads"].as_array().expect("threads");
    let number = |name: &str| {
        let at = threads.iter().position(|thread| thread["name"] == name);
        at.expect("a thread") as u64
    };
    // That it starts with what it reads in the end is not said.
    assert_eq!(of(number("main")), ["store", "load", "fail"], "{out}");
    assert_eq!(object["failures"][0]["run"]["init"]["a"], serde_json::Value::Null, "{out}");
    assert_eq!(of(number("p#1")).last(), Some(&"update"), "{out}");
    assert_eq!(of(number("q#2")).last(), Some(&"update"), "{out}");
}

/// An update that overtakes a store is executed by nobody, so that nothing is known of what comes of it.
#[test]
fn updates_that_overtake_are_not_executed() {
    let front = "#include <stdatomic.h>
atomic_int data, flag;
int seen = 1;";
    let p = "atomic_store_explicit(&data, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&flag, 1, ORDER);";
    let q = "if (atomic_load(&flag)) seen = atomic_load(&data);";
    let with = |order: &str| two(front, &p.replace("ORDER", order), q, "seen");
    let options = ["--model", "pso", "--no-races"];
    let (out, code) = explore("overtakes", &with("memory_order_relaxed"), &options);
    assert!(
        out.contains("PSO: unknown: executions with store buffers let each atomic update"),
        "{out}"
    );
    assert!(out.contains("not known") && !out.contains("then     unnoticed"), "{out}");
    assert_eq!(code, Some(3), "{out}");
    let (out, code) = explore("waits", &with("memory_order_release"), &options);
    assert!(out.contains("PSO: no execution fails"), "{out}");
    assert_eq!(code, Some(0), "{out}");
}

/// The last that is drawn is what the assertion saw, also if nobody else is left who could change it.
#[test]
fn drawings_end_with_what_the_assertion_saw() {
    let front = "#include <stdatomic.h>
atomic_int x, y; int r, s, t;";
    let p = "atomic_store_explicit(&x, 1, memory_order_relaxed);
    r = atomic_load_explicit(&y, memory_order_relaxed); t = 7;";
    let q = "atomic_store_explicit(&y, 1, memory_order_relaxed);
    s = atomic_load_explicit(&x, memory_order_relaxed);";
    let (out, code) = explore("saw", &two(front, p, q, "r + s >= 1"), &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    let drawn = out.split(" breaks SC").next().unwrap_or_default();
    let [r, s, fails] = [" rd r=0", " rd s=0", ". fails"].map(|part| drawn.find(part));
    assert!(r.is_some() && r < s && s < fails, "{out}");
    // It did not look at others.
    assert!(!drawn.contains("rd t"), "{out}");
}

/// That the program needs more memory than it gets is no failure of it.
#[test]
fn too_little_memory_is_a_limit() {
    let front = "#include <stdlib.h>
char *big;";
    let source = two(front, "big = malloc(100000); big[0] = 1;", "", "1");
    let (out, code) = explore("memory", &source, &["--memory", "1KiB"]);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("SC: unknown: the search stopped at the memory limit of 1 KiB"), "{out}");
    assert!(out.contains("allocates more than a") && !out.contains("fails:"), "{out}");
    // Somebody has five gigabytes.
    let huge =
        source.replace("malloc(100000); big[0] = 1;", "malloc(5UL << 30); if (big) big[0] = 1;");
    let (out, code) = explore("memory", &huge, &[]);
    assert_eq!(code, Some(3), "{out}");
    let (out, code) = explore("memory", &source, &["--memory", "1GiB", "--color", "always"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("SC: \x1b[32mno execution fails\x1b[0m ("), "{out}");
}
