//! Assumptions, loops without end, and what is drawn where nobody goes on.

use crate::real::failures::explore;

/// No execution reads 2.
const NEVER: &str = r"#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
void __VERIFIER_assume(int);
static atomic_int x;
static void *w(void *p) { atomic_store(&x, 1); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); int r = atomic_load(&x); pthread_join(t, 0); __VERIFIER_assume(r == 2); return 0; }
";

/// The same with an assumption of the program's own.
const NEVER_OWN: &str = r"#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
static atomic_int x;
static __attribute__((noinline)) void assume(int c) { if (!c) for (;;); }
static void *w(void *p) { atomic_store(&x, 1); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); int r = atomic_load(&x); pthread_join(t, 0); assume(r == 2); return 0; }
";

/// Two threads wait for each other, and a third one assumes what one of them would do.
const HIDDEN: &str = r"#include <pthread.h>
#include <stdatomic.h>
void __VERIFIER_assume(int);
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static atomic_int done;
static void *one(void *p) { pthread_mutex_lock(&a); pthread_mutex_lock(&b); pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); return 0; }
static void *two(void *p) { pthread_mutex_lock(&b); pthread_mutex_lock(&a); atomic_store(&done, 1); pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); return 0; }
static void *three(void *p) { __VERIFIER_assume(atomic_load(&done)); return 0; }
int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, one, 0); pthread_create(&t[1], 0, two, 0); pthread_create(&t[2], 0, three, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    return 0;
}
";

/// A loop with a bounded number of tries, the first of which is assumed to be in vain.
const TRIES: &str = r"#include <pthread.h>
#include <stdatomic.h>
void __VERIFIER_assume(int);
static atomic_int go;
static void *one(void *p) {
    int seen = 0, i = 0;
    for (; i < 100 && !seen; i++) seen = atomic_load(&go);
    __VERIFIER_assume(i > 1);
    return 0;
}
static void *two(void *p) { atomic_store(&go, 1); return 0; }
int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, one, 0); pthread_create(&t[1], 0, two, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}
";

/// Who waits for a lock waits for the thread that assumes.
const NEEDED: &str = r"#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static atomic_int x, y;
static __attribute__((noinline)) void assume(int c) { if (!c) for (;;); }
static void *one(void *p) { pthread_mutex_lock(&a); assume(atomic_load(&x)); pthread_mutex_unlock(&a); return 0; }
static void *two(void *p) { pthread_mutex_lock(&a); atomic_store(&y, 1); pthread_mutex_unlock(&a); atomic_store(&x, 1); return 0; }
int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, one, 0); pthread_create(&t[1], 0, two, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}
";

/// Where a loop is followed further than at first, what is said is about the executions of that alone.
#[test]
fn assumptions_are_counted_once() {
    let (out, code) = explore("tries.c", TRIES, &["--model", "tso"]);
    assert_eq!(code, Some(0), "{out}");
    let ended = "executions end where an assumption does not hold";
    let notes: Vec<&str> = out.lines().filter(|line| line.contains(ended)).collect();
    assert_eq!(notes.len(), 1, "{out}");
    assert!(notes[0].contains("1 of 101 "), "{out}");
}

#[test]
fn no_execution_satisfies_its_assumption() {
    let note = "note: no execution comes to its end: in each an assumption does not hold";
    for (file, source) in [("never.c", NEVER), ("never_own.c", NEVER_OWN)] {
        // What is behind it is never executed.
        let last = source.rfind("return 0;").expect("it ends");
        let (out, code) = explore(file, &format!("{}abort(); }}\n", &source[..last]), &[]);
        assert_eq!(code, Some(0), "{out}");
        assert!(out.contains("SC: no execution fails (2 blocked executions explored)"), "{out}");
        assert!(out.contains(note), "{out}");
    }
    // Where one does, there is nothing to be said.
    let (out, code) = explore("once.c", &NEVER.replace("r == 2", "r == 1"), &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(!out.contains(note), "{out}");
    // What comes before the assumption is executed.
    let before =
        NEVER.replace("__VERIFIER_assume(r == 2)", "if (r) abort(); __VERIFIER_assume(r == 2)");
    let (out, code) = explore("before.c", &before, &[]);
    assert_eq!(code, Some(1), "{out}");
}

#[test]
fn an_assumption_hides_only_what_depends_on_it() {
    let (out, code) = explore("hidden.c", HIDDEN, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("one#1 waits for b, which two#2 holds"), "{out}");
    assert!(!out.contains("three#3 waits"), "{out}");
    let (out, code) = explore("needed.c", NEEDED, &[]);
    assert_eq!(code, Some(0), "{out}");
    // The same with a lock of the thread that does not hold it any more.
    let hangs = HIDDEN.replace("pthread_mutex_lock(&a); pthread_mutex_lock(&b);", "for (;;);");
    let (out, code) = explore("hangs.c", &hangs, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("livelock"), "{out}");
}

/// The same with other locks, and with a mutex whose owner has ended.
#[test]
fn all_locks_with_an_owner_count_beside_an_assumption() {
    let spin = HIDDEN
        .replace(
            "static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;",
            "static pthread_spinlock_t a, b;",
        )
        .replace("pthread_mutex_", "pthread_spin_");
    let written = HIDDEN
        .replace("static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;", "static pthread_rwlock_t a = PTHREAD_RWLOCK_INITIALIZER, b = PTHREAD_RWLOCK_INITIALIZER;")
        .replace("pthread_mutex_lock", "pthread_rwlock_wrlock")
        .replace("pthread_mutex_unlock", "pthread_rwlock_unlock");
    let ended = HIDDEN
        .replace("pthread_mutex_lock(&b); pthread_mutex_unlock(&b); pthread_mutex_unlock(&a);", "");
    for (file, source) in [("spin.c", spin), ("written.c", written), ("ended.c", ended)] {
        let (out, code) = explore(file, &source, &[]);
        assert_eq!(code, Some(1), "{file}: {out}");
        assert!(out.contains("  deadlock main waits for the end of "), "{file}: {out}");
        assert!(!out.contains("three#3 waits"), "{file}: {out}");
    }
    // A reader that holds it may be anybody.
    let read = NEEDED
        .replace(
            "static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;",
            "static pthread_rwlock_t a = PTHREAD_RWLOCK_INITIALIZER;",
        )
        .replace("pthread_mutex_unlock", "pthread_rwlock_unlock")
        .replacen("pthread_mutex_lock", "pthread_rwlock_rdlock", 1)
        .replace("pthread_mutex_lock", "pthread_rwlock_wrlock");
    let (out, code) = explore("read.c", &read, &[]);
    assert_eq!(code, Some(0), "{out}");
}

#[test]
fn loops_are_drawn_as_loops() {
    let (out, code) = explore("forever.c", "int main(void) { for (;;); }\n", &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("1. loops"), "{out}");
    let source = "#include <stdatomic.h>\nstatic atomic_int x;\nint main(void) {\n    while (!atomic_load(&x));\n}\n";
    let (out, code) = explore("reads.c", source, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains(". loops"), "{out}");
}

/// A pair that breaks SC ends the first look at the program; what was assumed before counts all the same.
#[test]
fn a_look_that_ends_early_knows_of_assumptions() {
    let source = r"#include <pthread.h>
#include <stdatomic.h>
static __attribute__((noinline)) void assume(int c) { if (!c) for (;;); }
static atomic_int x, y;
static void *w(void *p) { atomic_store_explicit(&x, 1, memory_order_relaxed); assume(atomic_load_explicit(&y, memory_order_relaxed)); return 0; }
static void *v(void *p) { atomic_store_explicit(&y, 1, memory_order_relaxed); return (void *)(long)atomic_load_explicit(&x, memory_order_relaxed); }
int main(void) { pthread_t t, u; pthread_create(&t, 0, w, 0); pthread_create(&u, 0, v, 0); pthread_join(t, 0); pthread_join(u, 0); return 0; }
";
    let (out, code) = explore("pair.c", source, &["-q"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("SC: no execution fails"), "{out}");
    // None satisfies its assumption.
    let many = r"#include <pthread.h>
#include <stdatomic.h>
void __VERIFIER_assume(int);
static atomic_int x;
static void *w(void *p) { for (int i = 0; i < 3; i++) atomic_fetch_add(&x, 1); return 0; }
int main(void) { pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, w, 0); for (int i = 0; i < 3; i++) pthread_join(t[i], 0); __VERIFIER_assume(x == 100); return 0; }
";
    let (out, code) = explore("many.c", many, &["-q"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains(" blocked execution explored"), "{out}");
}

/// A thread that never goes on is no failure if the main thread ends without it.
#[test]
fn the_program_ends_with_its_main_thread() {
    let source = r"#include <pthread.h>
#include <stdatomic.h>
void __VERIFIER_assume(int);
static atomic_int y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *v(void *p) { pthread_mutex_lock(&m); atomic_store(&y, 1); STUCK; return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, v, 0); __VERIFIER_assume(atomic_load(&y) == 1); return 0; }
";
    for (file, stuck) in [("lock.c", "pthread_mutex_lock(&m)"), ("loop.c", "for (;;)")] {
        let (out, code) = explore(file, &source.replace("STUCK", stuck), &["-q"]);
        assert_eq!(code, Some(0), "{stuck}: {out}");
    }
}

/// Both stores of two threads that exclude each other have a consequence.
#[test]
fn each_pair_has_its_consequence() {
    let source = r"#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int want[2];
static int inside;
static void *p(void *v) {
    atomic_store_explicit(&want[0], 1, memory_order_release);
    if (!atomic_load_explicit(&want[1], memory_order_acquire)) { int n = ++inside; assert(n == 1); inside--; }
    return 0;
}
static void *q(void *v) {
    atomic_store_explicit(&want[1], 1, memory_order_release);
    if (!atomic_load_explicit(&want[0], memory_order_acquire)) { int n = ++inside; assert(n == 1); inside--; }
    return 0;
}
int main(void) { pthread_t t, u; pthread_create(&t, 0, p, 0); pthread_create(&u, 0, q, 0); pthread_join(t, 0); pthread_join(u, 0); return 0; }
";
    let (out, code) = explore("two.c", source, &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert_eq!(out.matches("then     fails: ").count(), 2, "{out}");
    assert!(!out.contains("unnoticed by these tests: no"), "{out}");
}

/// While one store waits, several others of a thread are in memory at once, one after the other.
#[test]
fn stores_that_do_not_wait() {
    let source = r"#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int in[2], out;
static void *a(void *v) {
    for (int i = 0; i < 2; i++) atomic_store_explicit(&in[i], 1, memory_order_relaxed);
    return (void *)(long)atomic_load_explicit(&out, memory_order_relaxed);
}
static void *b(void *v) {
    atomic_store_explicit(&out, 1, memory_order_relaxed);
    return (void *)(long)atomic_load_explicit(&in[1], memory_order_relaxed);
}
int main(void) {
    pthread_t t, u; void *r, *s;
    pthread_create(&t, 0, a, 0); pthread_create(&u, 0, b, 0);
    pthread_join(t, &r); pthread_join(u, &s);
    assert(r || s);
}
";
    let (out, code) = explore("on_time.c", source, &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert_eq!(out.matches("then     fails: ").count(), 2, "{out}");
}

/// Of accesses by one line, those that race are named.
#[test]
fn races_in_loops() {
    let source = r"#include <pthread.h>
int a[3];
static void *w(void *v) { a[0]++; return 0; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, w, 0);
    for (int i = 0; i < 3; i++)
        a[i] = 7;
    pthread_join(t, 0);
    return 0;
}
";
    let (out, code) = explore("races_in_loops.c", source, &["--model", "tso", "--fences"]);
    assert_eq!(code, Some(1), "{out}");
    // There are no changes that it could be left by.
    assert!(out.contains("1 data race needs another kind of change"), "{out}");
    assert!(out.contains("data-race on a[0]: "), "{out}");
    assert!(!out.contains("a[2]"), "{out}");
    // What else has the same name is numbered.
    let source = r"#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static int p(void) { static atomic_int hits; return atomic_fetch_add(&hits, 1); }
static int q(void) { static atomic_int hits; return atomic_fetch_add(&hits, 1); }
static void *w(void *v) { p(); q(); return 0; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, w, 0);
    assert(p() + q() < 2);
    pthread_join(t, 0);
    return 0;
}
";
    let (out, code) = explore("two_hits.c", source, &["--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("upd hits=") && out.contains("upd hits#2="), "{out}");
}

/// Several data races of one execution have each its own other access.
#[test]
fn races_that_read_alike() {
    let source = r"#include <pthread.h>
static int a, b;
static void *w1(void *x) { a = 1; return 0; }
static void *w2(void *x) { b = 1; return 0; }
static void *r(void *x) {
    int v = a;
    v += b;
    return (void *)(long)v;
}
int main(void) {
    pthread_t t, u, v;
    pthread_create(&t, 0, w1, 0); pthread_create(&u, 0, w2, 0); pthread_create(&v, 0, r, 0);
    pthread_join(t, 0); pthread_join(u, 0); pthread_join(v, 0);
    return 0;
}
";
    let (out, _) = explore("alike.c", source, &["--model", "tso"]);
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    let of = |place: &str| {
        let found = lines.windows(2).find(|l| l[0].starts_with("at ") && l[0].contains(place));
        found.map_or("", |l| l[1])
    };
    for (load, writer, store) in [("6", "by w1#1", "alike.c:3"), ("7", "by w2#2", "alike.c:4")] {
        let other = of(&format!("alike.c:{load} in r"));
        assert!(other.contains(writer) && other.contains(store), "{out}");
    }
}

/// Whether changes that are proposed prevent a race as well was not tried, and here they do.
#[test]
fn races_may_be_left_with_fences() {
    let source = |order: &str| {
        format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
             int buf;\natomic_int flag;\n\
             void *p(void *a) {{\n    buf = 1;\n    \
             atomic_store_explicit(&flag, 1, memory_order_{order});\n    return 0;\n}}\n\
             int main(void) {{\n    pthread_t t;\n    pthread_create(&t, 0, p, 0);\n    \
             while (!atomic_load_explicit(&flag, memory_order_acquire));\n    \
             assert(buf == 1);\n    pthread_join(t, 0);\n}}\n"
        )
    };
    let (out, code) = explore("fences-race.c", &source("relaxed"), &["--fences"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("its order at least release"), "{out}");
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("1 data race may be left with these changes: build with them"), "{out}");
    let (out, code) = explore("fences-raceless.c", &source("release"), &["--fences"]);
    assert_eq!(code, Some(0), "{out}");
}
