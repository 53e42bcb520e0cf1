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
    for (name, front, [first, second], setup, fence) in [
        ("once", once, ["pthread_once(&o, nothing);"; 2], "pthread_once(&o, nothing);", false),
        ("spintry", spin, ["pthread_spin_trylock(&l);", "pthread_spin_trylock(&m);"], spins, true),
        ("trywait", "static sem_t s;", ["sem_trywait(&s);"; 2], "sem_init(&s, 0, 0);", false),
        ("post", "static sem_t s, t;", ["sem_post(&s);", "sem_post(&t);"], "", true),
        ("tryrd", rw, ["pthread_rwlock_tryrdlock(&l);"; 2], "pthread_rwlock_wrlock(&l);", false),
        ("trywr", rw, ["pthread_rwlock_trywrlock(&l);"; 2], "pthread_rwlock_wrlock(&l);", false),
        ("trymutex", mutex, ["pthread_mutex_trylock(&l);"; 2], "pthread_mutex_lock(&l);", true),
    ] {
        let source = between(front, [first, second], setup);
        let name = format!("fence_{name}");
        for (how, model) in [("--model", "tso"), ("--under", "tso")] {
            let (out, code) = explore(&name, &source, &[how, model]);
            assert_eq!(code, Some(i32::from(!fence)), "{name} {how}: {out}");
        }
        let (out, code) = explore(&name, &source, &["--robust", "--model", "tso"]);
        assert_eq!(code, Some(i32::from(!fence)), "{name}: {out}");
    }
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
