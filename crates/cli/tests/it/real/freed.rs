//! What is drawn of an execution in which memory is used that is gone: who allocated it, who freed it, and
//! who used it.

use serde_json::Value;

use crate::real::failures::explore;

/// One thread reads a node that another one frees.
const READ: &str = r"#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
struct node { int v; struct node *next; };
static _Atomic(struct node *) head;
static void *reader(void *a) {
    struct node *n = atomic_load(&head);
    if (n) return (void *)(long)n->v;
    return 0;
}
static void *freer(void *a) {
    struct node *n = atomic_exchange(&head, NULL);
    free(n);
    return 0;
}
int main(void) {
    struct node *n = malloc(sizeof *n);
    n->v = 7; n->next = 0;
    atomic_store(&head, n);
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, freer, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    return 0;
}
";

/// A hazard pointer that is published by a relaxed store.
const HAZARD: &str = r"#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
static _Atomic(int *) p;
static _Atomic(int *) hazard;
static void *reader(void *a) {
    int *q = atomic_load_explicit(&p, memory_order_acquire);
    if (!q) return 0;
    atomic_store_explicit(&hazard, q, memory_order_relaxed);
    if (atomic_load_explicit(&p, memory_order_acquire) != q) return 0;
    int v = *q;
    atomic_store_explicit(&hazard, NULL, memory_order_release);
    return (void *)(long)v;
}
static void *reclaimer(void *a) {
    int *q = atomic_exchange(&p, NULL);
    if (atomic_load(&hazard) != q) free(q);
    return 0;
}
int main(void) {
    int *n = malloc(4);
    *n = 3;
    atomic_store(&p, n);
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, reclaimer, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    return 0;
}
";

/// A variable on a stack is used after its function has returned.
const RETURNED: &str = r"#include <pthread.h>
#include <stdatomic.h>
static _Atomic(int *) p;
static __attribute__((noinline)) void lend(void) { volatile int mine = 5; atomic_store(&p, (int *)&mine); while (mine == 9); }
static void *owner(void *x) { lend(); atomic_store(&p, (int *)0); return 0; }
static void *user(void *x) { int *q = atomic_load(&p); if (q) *q = 6; return 0; }
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, owner, 0);
    pthread_create(&u, 0, user, 0);
    pthread_join(t, 0); pthread_join(u, 0);
    return 0;
}
";

/// What was found under a model: kinds of failures with the steps that led to them.
fn runs(out: &str, model: &str) -> Vec<(String, Value)> {
    let objects = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut found = Vec::new();
    for object in objects.filter(|o| o["question"] == "failures" && o["model"] == model) {
        for failure in object["failures"].as_array().into_iter().flatten() {
            let kind = failure["kind"].as_str().unwrap_or_default().to_owned();
            found.push((kind, failure["run"].clone()));
        }
    }
    found
}

/// The first step of a kind.
fn step<'a>(run: &'a Value, kind: &str) -> &'a Value {
    let steps = run["steps"].as_array().expect("steps");
    steps.iter().find(|step| step["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {run:#}"))
}

#[test]
fn a_use_after_free_shows_its_free() {
    let (out, code) = explore("read.c", READ, &["--format", "json"]);
    assert_eq!(code, Some(1), "{out}");
    let runs = runs(&out, "sc");
    let find = |kind: &str| &runs.iter().find(|(k, _)| k == kind).expect("a failure").1;
    let run = find("use-after-free");
    let (alloc, free, fail) = (step(run, "alloc"), step(run, "free"), step(run, "fail"));
    assert_eq!((&alloc["location"], &alloc["line"]), (&"n".into(), &17.into()), "{run:#}");
    assert_eq!((&free["location"], &free["line"]), (&"n".into(), &13.into()), "{run:#}");
    assert_eq!((&fail["location"], &fail["line"]), (&"n->v".into(), &8.into()), "{run:#}");
    assert!(alloc["n"].as_u64() < free["n"].as_u64() && free["n"].as_u64() < fail["n"].as_u64());
    let note = format!("use-after-free: reads n->v, freed by {}", free["n"]);
    assert_eq!(fail["note"], note);
    // It is a race as well, and there the free is no plain store either.
    let race = find("data-race");
    assert!(step(race, "free")["note"].as_str().is_some_and(|n| n.starts_with("races")));

    let (out, _) = explore("read.c", READ, &[]);
    for part in ["alloc(n)", "free(n)", "freed by ", "data-race on n: free of the block"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn a_free_is_shown_with_buffers() {
    let (out, code) = explore("hazard.c", HAZARD, &["--format", "json"]);
    assert_eq!(code, Some(1), "{out}");
    let runs = runs(&out, "tso");
    let (kind, run) = runs.first().expect("a failure");
    assert_eq!(kind, "use-after-free");
    let free = step(run, "free");
    let steps = run["steps"].as_array().expect("steps");
    let commit = steps.iter().find(|step| step["of"] == free["n"]).expect("it leaves the buffer");
    assert_eq!((&commit["kind"], &commit["location"]), (&"commit".into(), &free["location"]));
    let late = run["late"].as_array().expect("late stores");
    assert!(!late.is_empty(), "the pointer is published late: {run:#}");
}

#[test]
fn an_execution_with_a_function_that_returned_is_the_same_again() {
    let (out, code) =
        explore("returned.c", RETURNED, &["--format", "json", "--strategy", "bounded"]);
    assert_eq!(code, Some(1), "{out}");
    let runs = runs(&out, "sc");
    let ends = |kind: &str| {
        runs.iter().any(|(_, run)| {
            run["steps"].as_array().is_some_and(|s| s.iter().any(|step| step["kind"] == kind))
        })
    };
    assert!(ends("return") && ends("exit"), "{out}");
    let (out, _) = explore("returned.c", RETURNED, &["--strategy", "bounded"]);
    let numbers: Vec<&str> = out.split("--replay ").skip(1).collect();
    assert!(!numbers.is_empty(), "{out}");
    for number in numbers {
        let number = number.split(' ').next().unwrap_or_default();
        let (again, code) = explore("returned.c", RETURNED, &["--replay", number]);
        assert_eq!(code, Some(1), "{again}");
        assert!(again.contains("use-after-return"), "{again}");
    }
}
