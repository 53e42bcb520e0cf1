//! What `weakspot run` shows of an execution: names, drawings, time.

use crate::run::{explore, two};

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

/// Without time there is no strategy to name.
#[test]
fn no_time_at_all() {
    let source = two("int x;", "x = 1;", "", "1");
    let (out, code) = explore("no-time", &source, &["--timeout", "0s"]);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("0 executions with 0 steps in "), "{out}");
}
