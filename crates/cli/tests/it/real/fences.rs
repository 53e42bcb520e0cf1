//! Which functions let no store of their thread wait any longer, as those of glibc do on x86, and which do not.

use crate::real::run::{explore, two};
use crate::run;

/// Store buffering with something between the store and the load of each thread.
fn between(front: &str, [first, second]: [&str; 2], setup: &str) -> String {
    let front = format!("#include <semaphore.h>\nvolatile int x, y, r1, r2;\n{front}");
    let source = two(
        &front,
        &format!("x = 1; {first} r1 = y;"),
        &format!("y = 1; {second} r2 = x;"),
        "r1 || r2",
    );
    source.replace("pthread_t a, b;", &format!("pthread_t a, b; {setup}"))
}

#[test]
fn functions_that_are_fences_and_those_that_are_none() {
    let once = "static pthread_once_t o = PTHREAD_ONCE_INIT; static void nothing(void) {}";
    let spin = "static pthread_spinlock_t l, m;";
    let spins = "pthread_spin_init(&l, 0); pthread_spin_init(&m, 0);";
    let rw = "static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;";
    let mutex =
        "static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER, m = PTHREAD_MUTEX_INITIALIZER;";
    let condition = "#include <threads.h>
static pthread_cond_t l = PTHREAD_COND_INITIALIZER; static cnd_t m;";
    let rws = "static pthread_rwlock_t l, m;";
    let bar = "static pthread_barrier_t l, m;";
    let bars = "pthread_barrier_init(&l, 0, 2); pthread_barrier_init(&m, 0, 2);";
    let timed = "#include <time.h>
static struct timespec now = {0, 1}; static pthread_mutex_t l;";
    let timedrw = "#include <time.h>
static struct timespec now = {0, 1}; static pthread_rwlock_t l;";
    let readers = "pthread_rwlock_rdlock(&l);";
    let others = "static pthread_t s, t; static void *ends(void *a) { return a; }";
    let started = "pthread_create(&s, 0, ends, 0); pthread_create(&t, 0, ends, 0);";
    let mut read = 0;
    for (name, front, [first, second], setup, fence) in [
        ("once", once, ["pthread_once(&o, nothing);"; 2], "pthread_once(&o, nothing);", false),
        ("spintry", spin, ["pthread_spin_trylock(&l);", "pthread_spin_trylock(&m);"], spins, true),
        ("trywait", "static sem_t s;", ["sem_trywait(&s);"; 2], "sem_init(&s, 0, 0);", false),
        ("post", "static sem_t s, t;", ["sem_post(&s);", "sem_post(&t);"], "", true),
        ("tryrd", rw, ["pthread_rwlock_tryrdlock(&l);"; 2], "pthread_rwlock_wrlock(&l);", false),
        ("trywr", rw, ["pthread_rwlock_trywrlock(&l);"; 2], "pthread_rwlock_wrlock(&l);", false),
        ("trymutex", mutex, ["pthread_mutex_trylock(&l);"; 2], "pthread_mutex_lock(&l);", true),
        ("signal", condition, ["pthread_cond_signal(&l);", "cnd_broadcast(&m);"], "", false),
        ("endcond", condition, ["pthread_cond_destroy(&l);", "cnd_destroy(&m);"], "", true),
        (
            "endmutex",
            mutex,
            ["pthread_mutex_destroy(&l);", "pthread_mutex_destroy(&m);"],
            "",
            false,
        ),
        ("endrw", rws, ["pthread_rwlock_destroy(&l);", "pthread_rwlock_destroy(&m);"], "", false),
        ("endspin", spin, ["pthread_spin_destroy(&l);", "pthread_spin_destroy(&m);"], spins, false),
        ("endsem", "static sem_t s, t;", ["sem_destroy(&s);", "sem_destroy(&t);"], "", false),
        (
            "endbar",
            bar,
            ["pthread_barrier_destroy(&l);", "pthread_barrier_destroy(&m);"],
            bars,
            true,
        ),
        (
            "timed",
            timed,
            ["pthread_mutex_timedlock(&l, &now);"; 2],
            "pthread_mutex_lock(&l);",
            true,
        ),
        ("timedrw", timedrw, ["pthread_rwlock_timedwrlock(&l, &now);"; 2], readers, true),
        ("join", others, ["pthread_join(s, 0);", "pthread_join(t, 0);"], started, true),
        ("detach", others, ["pthread_detach(s);", "pthread_detach(t);"], started, true),
    ] {
        let source = between(front, [first, second], setup);
        let name = format!("fence_{name}");
        for (how, model) in [("--model", "tso"), ("--under", "tso")] {
            let (out, code) = explore(&name, &source, &[how, model]);
            assert_eq!(code, Some(i32::from(!fence)), "{name} {how}: {out}");
        }
        let (out, code) = explore(&name, &source, &["--robust", "--model", "tso"]);
        assert_eq!(code, Some(i32::from(!fence)), "{name}: {out}");
        // The text says the same, where it can be read.
        let file = format!("{}/run/{name}.c", env!("CARGO_TARGET_TMPDIR"));
        let ran = run(&["robust", "--model", "tso", &file], "");
        let refused = ran.code == Some(2);
        assert!(refused || ran.code == Some(i32::from(!fence)), "{name}: {}{}", ran.out, ran.err);
        read += usize::from(!refused);
    }
    assert!(read >= 10, "{read} were read");
}

/// The store that frees a spin lock waits behind those before it.
#[test]
fn to_free_a_spin_lock_is_a_store() {
    let front = "volatile int x, y, r1, r2; static pthread_spinlock_t l, m;";
    let section = |lock: &str, store: &str| {
        format!("pthread_spin_lock(&{lock}); {store} = 1; pthread_spin_unlock(&{lock});")
    };
    let source = two(
        front,
        &format!("{} r1 = y;", section("l", "x")),
        &format!("{} r2 = x;", section("m", "y")),
        "r1 || r2",
    );
    for how in [&["--model", "tso"][..], &["--under", "tso"], &["--robust", "--model", "tso"]] {
        let (out, code) = explore("fence_spin", &source, how);
        assert_eq!(code, Some(1), "{how:?}: {out}");
    }
    // The text says the same.
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/run/fence_spin.c");
    let ran = run(&["robust", "--model", "tso", file], "");
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    // What it protects is safe all the same.
    let counts = "pthread_spin_lock(&l); n++; pthread_spin_unlock(&l);";
    let source = two("static int n; static pthread_spinlock_t l;", counts, counts, "n == 2");
    for model in ["tso", "pso"] {
        for how in ["--under", "--model"] {
            let (out, code) = explore("spin_counts", &source, &[how, model]);
            assert_eq!(code, Some(0), "{how} {model}: {out}");
        }
    }
}

/// To wake somebody is a fence. In between, whether there is somebody is explored in all orders.
#[test]
fn to_wake_is_a_fence_if_somebody_waits() {
    let front = "#include <time.h>
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int waits;
volatile int x, y, r1, r2;
static void *waiter(void *a) {
    pthread_mutex_lock(&m);
    waits = 1;
    WAIT;
    pthread_mutex_unlock(&m);
    return a;
}";
    let first = "BEFORE x = 1; pthread_cond_signal(&c); r1 = y;";
    let last = "y = 1; __sync_synchronize(); r2 = x;";
    let source = two(front, first, last, "r1 || r2");
    let started = "pthread_t a, b, w; pthread_create(&w, 0, waiter, 0);";
    let source = source.replace("pthread_t a, b;", started);
    let there = "while (!waits); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);";
    let for_ever = source.replace("WAIT", "pthread_cond_wait(&c, &m)").replace("BEFORE", there);
    let until = "struct timespec now = {0, 1}; pthread_cond_timedwait(&c, &m, &now)";
    let for_a_time = source.replace("WAIT", until).replace("BEFORE", "");
    for (name, source, fence) in
        [("wakes_one", for_ever, true), ("wakes_perhaps", for_a_time, false)]
    {
        for how in [&["--model", "tso"][..], &["--under", "tso"], &["--robust", "--model", "tso"]] {
            let (out, code) = explore(name, &source, how);
            assert_eq!(code, Some(i32::from(!fence)), "{name} {how:?}: {out}");
        }
    }
}

/// An attempt that comes first succeeds, and then it waits for the buffer, although it did not where it failed.
#[test]
fn an_attempt_that_would_have_succeeded_earlier() {
    let front = "#include <semaphore.h>\nstatic sem_t s; volatile int x;";
    let first = "sem_trywait(&s);";
    let source = two(front, first, "x = 1; if (sem_trywait(&s) == 0) abort();", "1");
    let source = source.replace("pthread_t a, b;", "pthread_t a, b; sem_init(&s, 0, 1);");
    for strategy in ["auto", "dpor", "rf"] {
        for model in ["tso", "pso"] {
            let (out, code) =
                explore("try_first", &source, &["--under", model, "--strategy", strategy]);
            assert_eq!(code, Some(1), "{strategy} {model}: {out}");
        }
    }
}
