//! Assumptions, loops without end, and what is drawn where nobody goes on.

use crate::failures::explore;

/// No execution reads 2.
const NEVER: &str = r"#include <pthread.h>
#include <stdatomic.h>
void __VERIFIER_assume(int);
static atomic_int x;
static void *w(void *p) { atomic_store(&x, 1); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); int r = atomic_load(&x); pthread_join(t, 0); __VERIFIER_assume(r == 2); return 0; }
";

/// The same with an assumption of the program's own.
const NEVER_OWN: &str = r"#include <pthread.h>
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

#[test]
fn nothing_holds_if_no_execution_satisfies_its_assumption() {
    for (file, source) in [("never.c", NEVER), ("never_own.c", NEVER_OWN)] {
        let (out, code) = explore(file, source, &["-q"]);
        assert_eq!(code, Some(3), "{out}");
        for model in ["SC", "TSO", "PSO"] {
            let line = out.lines().find(|line| line.contains(&format!(" {model}: ")));
            let says = line.is_some_and(|line| line.contains("assumption that does not hold"));
            assert!(says, "{model}: {out}");
        }
    }
    // One that holds sometimes is fine.
    let (out, code) = explore("once.c", &NEVER.replace("r == 2", "r == 1"), &[]);
    assert_eq!(code, Some(0), "{out}");
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
