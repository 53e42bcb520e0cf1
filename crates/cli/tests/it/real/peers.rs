//! Kinds of programs that other checkers are tested with, and what there is to say about them.

use crate::real::run::explore;

/// Two threads `p` and `q` with these declarations before them.
fn program(before: &str, p: &str, q: &str) -> String {
    format!(
        "#include <assert.h>
#include <genmc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
{before}
void *p(void *a) {{ {p} return a; }}
void *q(void *a) {{ {q} return a; }}
int main(void) {{
    pthread_t a, b;
    pthread_create(&a, 0, p, 0);
    pthread_create(&b, 0, q, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}}
"
    )
}

/// Accesses through a null pointer crash, whatever their size and kind, with buffers and without.
#[test]
fn null_pointers() {
    for (name, access) in [
        ("null_store", "*(int *)place = 1;"),
        ("null_byte", "*(char *)place = 1;"),
        ("null_load", "sink = *(char *)place;"),
        ("null_relaxed", "atomic_store_explicit(place, 1, memory_order_relaxed);"),
    ] {
        let source = program(
            "atomic_int ready, *_Atomic shared; volatile int sink;",
            "ready = 1;",
            &format!("if (ready) {{ atomic_int *place = shared; {access} }}"),
        );
        for under in [&["-q"][..], &["-q", "--under", "tso"]] {
            let (out, code) = explore(name, &source, under);
            assert_eq!(code, Some(1), "{name} {under:?}: {out}");
            assert!(out.contains("crash at"), "{name} {under:?}: {out}");
        }
    }
}

/// Executions that are given up are no failures: the answer is unknown, and says why, where, and how to
/// see one again.
#[test]
fn executions_that_are_given_up() {
    let add = "for (int i = 0; i < 300; i++) x++;";
    let (out, code) = explore("too_long", &program("atomic_int x;", add, add), &["--steps", "200"]);
    assert_eq!(code, Some(3), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["SC: unknown: executions with more than 200 steps", "too_long.c:", "again by"] {
        assert!(words.contains(part), "{part}: {out}");
    }
    let compute = "unsigned long sum = 1;
    for (unsigned long i = 0; i < 5000000000ul; i++) {
        sum = sum * 6364136223846793005ul + i;
        __asm__ volatile (\"\" : : \"r\"(sum));
    }
    x = 1;";
    let silent = program("atomic_int x;", compute, "x = 2;");
    let (out, code) = explore("silent", &silent, &["--timeout", "3s"]);
    assert_eq!(code, Some(3), "{out}");
    // On a busy machine time is over first.
    assert!(
        out.contains("SC: unknown: a thread computed for too long") || out.contains("time limit")
    );
}

/// Empty loops hang for ever, with a pause in them or without, alone or beside others.
#[test]
fn empty_loops() {
    let pause = "for (;;) __builtin_ia32_pause();";
    let spins = "while (!x);";
    for (name, p, q) in [
        ("empty_loop", "x = 1;", "if (x) for (;;);"),
        ("empty_pause", "x = 1;", &*format!("if (x) {pause}")),
        ("empty_both", pause, "for (;;);"),
        ("empty_beside", "for (;;);", spins),
    ] {
        let source = program("atomic_int x;", p, q);
        let (out, code) = explore(name, &source, &[]);
        assert_eq!(code, Some(1), "{name}: {out}");
        assert!(out.contains("livelock") && out.contains(&format!("{name}.c:")), "{name}: {out}");
    }
    let (out, code) = explore("empty_main", "int main(void) { while (1); }", &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("livelock"), "{out}");
}

/// What locks of glibc do beyond what is modelled makes the answer unknown.
#[test]
fn locks_that_are_not_modelled() {
    let writers_first = program(
        "pthread_rwlock_t l = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;",
        "pthread_rwlock_rdlock(&l); pthread_rwlock_rdlock(&l);
    pthread_rwlock_unlock(&l); pthread_rwlock_unlock(&l);",
        "pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l);",
    );
    let writers_first = format!("#define _GNU_SOURCE\n{writers_first}");
    let robust = program("pthread_mutex_t m;", "pthread_mutex_lock(&m);", "").replace(
        "pthread_t a, b;",
        "pthread_t a, b; pthread_mutexattr_t t; pthread_mutexattr_init(&t);
    pthread_mutexattr_setrobust(&t, PTHREAD_MUTEX_ROBUST); pthread_mutex_init(&m, &t);",
    );
    let robust = robust.replace("return 0;\n}\n", "return pthread_mutex_lock(&m) == 0;\n}\n");
    for (name, source, what) in [
        ("writers_first", writers_first, "of a lock that prefers writers"),
        ("robust_mutex", robust, "of a robust mutex"),
    ] {
        let (out, code) = explore(name, &source, &[]);
        assert_eq!(code, Some(3), "{name}: {out}");
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(what) && words.contains(&format!("{name}.c:")), "{out}");
    }
}

/// What the header declares besides functions of the library: hints, which do what they are about, and
/// threads.
#[test]
fn hints_and_threads_of_genmc() {
    let source = program(
        "atomic_int x, y; __VERIFIER_plock_t lock = { PTHREAD_MUTEX_INITIALIZER }; int n;
static void *add(void *a) {
    __VERIFIER_plock_lock(&lock); n++; __VERIFIER_plock_unlock(&lock);
    return a;
}",
        "int old = 0;
    __VERIFIER_local_write(x = 1);
    __VERIFIER_helping_CAS(atomic_compare_exchange_strong(&x, &old, 2));
    if (__VERIFIER_speculative_read(x) == 1) __VERIFIER_final_write(y = 1);",
        "__VERIFIER_thread_t one = __VERIFIER_spawn(add, &n);
    __VERIFIER_thread_t two = __VERIFIER_spawn_symmetric(add, &n, one);
    assert(__VERIFIER_join(one) == &n);
    int *_Atomic place = malloc(sizeof *place);
    __VERIFIER_hp_t *hp = __VERIFIER_hp_alloc();
    int *got = __VERIFIER_hp_protect(hp, &place);
    __VERIFIER_hp_retire(got); *got = 1;
    __VERIFIER_hp_clear(hp); __VERIFIER_hp_free(hp);
    __VERIFIER_join_symmetric(two);
    assert(n == 2);",
    );
    let (out, code) = explore("hints", &source, &["-q", "--model", "tso"]);
    assert_eq!(code, Some(0), "{out}");
    let (out, code) = explore("hints_bad", &source.replace("n == 2", "y == 1"), &["-q"]);
    assert_eq!(code, Some(1), "{out}");
}

/// There is one way to take the steps before a second thread is started, so their number has no limit.
#[test]
fn one_thread_may_take_its_time() {
    let source = |before: u32, p: u32| {
        let body =
            program("atomic_int n;", &format!("for (int i = 0; i < {p}; i++) n++;"), "(void)n;");
        body.replace(
            "pthread_t a, b;",
            &format!(
                "pthread_t a, b; for (int i = 0; i < {before}; i++) n++; if ({p} == 0) return 0;"
            ),
        )
    };
    for (name, before, p, expected) in
        [("alone", 5000, 0, 0), ("alone_first", 5000, 1, 0), ("not_alone", 1, 5000, 3)]
    {
        let (out, code) =
            explore(name, &source(before, p), &["--steps", "1000", "--executions", "500"]);
        assert_eq!(code, Some(expected), "{name}: {out}");
        assert_eq!(out.contains("given up"), expected == 3, "{name}: {out}");
    }
}

/// Code that another compiler has made is found wherever the linker takes it from, and then nothing holds
/// unless there is one thread only.
#[test]
fn prebuilt_archives_are_not_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let command = |program: &str, args: &[&str]| {
        let done = std::process::Command::new(program).args(args).current_dir(&folder).status();
        assert!(done.expect("started").success(), "{program} {args:?}");
    };
    std::fs::write(path("bump.c"), "int shared; int bump(void) { return shared++; }")
        .expect("written");
    std::fs::write(path("idle.c"), "void idle(void) {}").expect("written");
    let main = program("void bump(void);", "bump();", "bump();");
    std::fs::write(path("main.c"), &main).expect("written");
    let alone = "void bump(void); int main(void) { bump(); return 0; }";
    std::fs::write(path("alone.c"), alone).expect("written");
    command("gcc", &["-O1", "-c", "bump.c", "idle.c"]);
    command("ar", &["rcs", "libbump.a", "bump.o", "idle.o"]);
    let ask = |inputs: &[&str]| {
        let out = path("program");
        let words =
            ["cc", "-O1", "-pthread", "-o", &out, "-L", folder.path().to_str().expect("UTF-8")];
        let built = crate::run(&[&words[..], inputs].concat(), "");
        assert_eq!(built.code, Some(0), "{}", built.err);
        let ran = crate::run(&["run", &out], "");
        (built.err, ran.out + &ran.err, ran.code)
    };
    let (main, alone, archive) = (path("main.c"), path("alone.c"), path("libbump.a"));
    for inputs in [&[&main[..], "-lbump"][..], &[&main, &archive], &[&main, &path("bump.o")]] {
        let (built, out, code) = ask(inputs);
        assert!(built.contains("was not compiled by `weakspot cc`"), "{inputs:?}: {built}");
        assert!(!built.contains("idle.o"), "it is not linked: {built}");
        assert!(out.contains("bump.o"), "{inputs:?}: {out}");
        assert_eq!(code, Some(3), "{inputs:?}: {out}");
    }
    assert_eq!(ask(&[&alone, "-lbump"]).2, Some(0));
    // It may end a loop in which nothing else changes.
    let waits = "#include <pthread.h>\nint bump(void); _Atomic int f;
        static void *t(void *a) { while (!f) if (bump() > 50) break; return a; }
        int main(void) { pthread_t id; pthread_create(&id, 0, t, 0); return pthread_join(id, 0); }";
    std::fs::write(path("waits.c"), waits).expect("written");
    let (_, out, code) = ask(&[&path("waits.c"), "-lbump"]);
    assert_eq!(code, Some(3), "{out}");
    let words: Vec<&str> = out.split_whitespace().collect();
    assert!(words.join(" ").contains("in a loop that code which is not seen may end"), "{out}");
    // Two objects that became one, of which one is ours.
    let built = crate::run(&["cc", "-O1", "-c", &main, "-o", &path("main.o")], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    command("ld", &["-r", "-o", "both.o", "main.o", "bump.o"]);
    let (built, out, code) = ask(&[&path("both.o")]);
    assert!(built.contains("was not compiled by `weakspot cc`"), "{built}");
    assert_eq!(code, Some(3), "{out}");
    // No function is exempt.
    for attribute in ["no_sanitize(\"thread\")", "__no_sanitize_thread__"] {
        let exempt =
            format!("int shared; __attribute__(({attribute})) void bump(void) {{ shared++; }}");
        std::fs::write(path("exempt.c"), exempt).expect("written");
        let (_, out, code) = ask(&[&main, &path("exempt.c")]);
        assert_eq!(code, Some(1), "{attribute}: {out}");
    }
    // The same with an archive of ours: a data race.
    let built = crate::run(&["cc", "-O1", "-c", &path("bump.c"), "-o", &path("bump.o")], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    std::fs::remove_file(&archive).expect("removed");
    command("ar", &["rcs", "libbump.a", "bump.o"]);
    let (built, out, code) = ask(&[&main, "-lbump"]);
    assert_eq!((built.as_str(), code), ("", Some(1)), "{out}");
}

/// Additions whose results are not used come in no order, and neither do arrivals at a barrier but for the last; what depends on
/// their order is found all the same.
#[test]
fn what_may_be_exchanged() {
    let threads = |declared: &str, code: &str, after: &str| {
        format!(
            "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <semaphore.h>
#include <stdlib.h>
{declared}
void *p(void *a) {{ long n = (long)a; {code} return 0; }}
int main(void) {{
    pthread_t t[3];
    {after}
}}
"
        )
    };
    let start = "for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, p, (void *)i);";
    let end = "for (int i = 0; i < 3; i++) pthread_join(t[i], 0);";
    let barrier = format!("pthread_barrier_init(&meet, 0, 3); {start} {end} return 0;");
    let declared = "atomic_int x; int y[3], z; pthread_barrier_t meet; atomic_int last;
sem_t raised; pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;";
    let add = "for (int i = 0; i < 3; i++) atomic_fetch_add(&x, n + 1); x--;";
    for (name, code, after, executions, failure) in [
        ("adds", add, format!("{start} {end} assert(x == 15); return 0;"), "(1 execution", ""),
        // Whoever reads is in an order with those who add.
        ("adds_read", add, format!("{start} assert(x != 5); {end} return 0;"), "", "assertion"),
        // With release and acquire, one order has no race and the other one has.
        (
            "adds_race",
            "if (n == 0) z = 1; x++; if (n == 1) z = 2;",
            format!("{start} {end} return 0;"),
            "",
            "data-race",
        ),
        (
            "meets",
            "y[n] = 1; pthread_barrier_wait(&meet); assert(y[(n + 1) % 3] == 1); pthread_barrier_wait(&meet);",
            barrier.clone(),
            "(1 execution",
            "",
        ),
        // What only a check for errors looks at is the same for all.
        (
            "meets_checked",
            "int r = pthread_barrier_wait(&meet); if (r && r != PTHREAD_BARRIER_SERIAL_THREAD) abort(); y[n] = 1;",
            barrier.clone(),
            "(1 execution",
            "",
        ),
        // More threads come than the barrier waits for, so that it matters who meets whom.
        (
            "meets_others",
            "pthread_barrier_wait(&meet); if (n == 0) pthread_barrier_wait(&meet);",
            format!("pthread_barrier_init(&meet, 0, 2); {start} {end} return 0;"),
            "",
            "deadlock",
        ),
        (
            "meets_last",
            "if (pthread_barrier_wait(&meet)) last = n; pthread_barrier_wait(&meet); assert(last != 1);",
            barrier.clone(),
            "",
            "assertion",
        ),
        (
            "reads",
            "pthread_rwlock_rdlock(&lock); y[n] = z; pthread_rwlock_unlock(&lock);",
            format!("{start} {end} return 0;"),
            "(1 execution",
            "",
        ),
        // Whoever writes is in an order with all of them.
        (
            "reads_and_writes",
            "for (int i = 0; i < 2; i++) { pthread_rwlock_rdlock(&lock); y[n] += z; pthread_rwlock_unlock(&lock); }",
            format!(
                "{start} pthread_rwlock_wrlock(&lock); z = 1; pthread_rwlock_unlock(&lock); {end}
                 assert(!(y[0] == 0 && y[1] == 1 && y[2] == 2)); return 0;"
            ),
            "",
            "assertion",
        ),
        // Who frees what another thread has taken may come first, which is an error.
        (
            "reads_of_others",
            "if (n == 0) pthread_rwlock_rdlock(&lock); if (n == 1) pthread_rwlock_unlock(&lock);",
            format!("{start} {end} return 0;"),
            "",
            "misuse",
        ),
        (
            "raises",
            "sem_post(&raised); sem_post(&raised);",
            format!(
                "sem_init(&raised, 0, 0); {start} {end} for (int i = 0; i < 6; i++) sem_wait(&raised); return 0;"
            ),
            "(1 execution",
            "",
        ),
        // Whoever waits goes on after any of them.
        (
            "raises_waits",
            "y[n] = 1; sem_post(&raised);",
            format!(
                "sem_init(&raised, 0, 0); {start} sem_wait(&raised); assert(y[0] || y[1]); {end} return 0;"
            ),
            "",
            "assertion",
        ),
        (
            "raises_race",
            "if (n == 0) z = 1; if (n < 2) sem_post(&raised); else { sem_wait(&raised); sem_wait(&raised); z = 2; }",
            format!("sem_init(&raised, 0, 0); {start} {end} return 0;"),
            "",
            "",
        ),
        // A reader knows nothing of what others did that read.
        (
            "reads_race",
            "if (n == 0) z = 1; pthread_rwlock_rdlock(&lock); pthread_rwlock_unlock(&lock); if (n == 1) z = 2;",
            format!("{start} {end} return 0;"),
            "",
            "data-race",
        ),
        ("meets_race", "pthread_barrier_wait(&meet); y[0]++;", barrier, "", "data-race"),
    ] {
        let (out, ended) = explore(name, &threads(declared, code, &after), &["--strategy", "dpor"]);
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(executions) && words.contains(failure), "{name}: {out}");
        assert_eq!(ended, Some(i32::from(!failure.is_empty())), "{name}: {out}");
        // With store buffers, too, but for races, which nobody looks for there.
        if failure == "data-race" {
            continue;
        }
        let (out, ended) = explore(name, &threads(declared, code, &after), &["--under", "tso"]);
        assert!(out.contains(executions.trim_start_matches('(')), "{name}: {out}");
        assert_eq!(ended, Some(i32::from(!failure.is_empty())), "{name}: {out}");
    }
}

/// What functions of libc store where others look at it is seen.
#[test]
fn what_libc_stores() {
    let before = "#include <string.h>
#include <time.h>
#include <sys/time.h>
#include <sys/stat.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>
void *got; struct timespec now; struct timeval day; time_t seconds; char text[8] = \"a,b\", *rest; int array[3] = {3, 2, 1}; atomic_int sink;
int exponent, ends[2]; double whole; unsigned seed; unsigned short seeds[3]; struct stat file; sigset_t set; struct tm fields;
int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
void *five(void *a) { return (void *)5; }";
    for (name, stores, looks, failure) in [
        ("stores_join", "pthread_t t; pthread_create(&t, 0, five, 0); pthread_join(t, &got);", "got", true),
        ("stores_clock", "clock_gettime(CLOCK_REALTIME, &now);", "now.tv_sec", true),
        ("stores_day", "gettimeofday(&day, 0);", "day.tv_usec", true),
        ("stores_time", "time(&seconds);", "seconds", true),
        ("stores_sorted", "qsort(array, 3, 4, compare);", "array[2]", true),
        ("stores_token", "strtok(text, \",\");", "text[1]", true),
        ("stores_token_not", "strtok(text, \",\");", "text[3]", false),
        ("stores_tokens_of_both", "char own[] = \"a b\"; strtok(own, \" \");", "strtok(text, \",\")", true),
        ("stores_exponent", "frexp(8, &exponent);", "exponent", true),
        ("stores_whole", "modf(1.5, &whole);", "whole", true),
        ("stores_seed", "rand_r(&seed);", "seed", true),
        ("stores_seeds", "nrand48(seeds);", "seeds[1]", true),
        ("stores_file", "stat(\"/\", &file);", "file.st_size", true),
        ("stores_signal", "sigaddset(&set, SIGUSR1);", "sigismember(&set, SIGUSR2)", true),
        ("stores_signal_not", "sigismember(&set, SIGUSR1);", "sigismember(&set, SIGUSR2)", false),
        ("stores_fields", "mktime(&fields);", "fields.tm_wday", true),
        ("stores_printed", "asprintf(&rest, \"%d\", 1);", "rest", true),
        ("stores_end", "strtol(text, &rest, 10);", "rest", true),
        ("stores_pipe", "pipe(ends);", "ends[1]", true),
        ("stores_sleep", "now.tv_nsec = 1;", "nanosleep(&now, 0)", true),
        ("stores_token_r", "strtok_r(text, \",\", &rest);", "rest", true),
        ("stores_own", "int own[3] = {3, 2, 1}; qsort(own, 3, 4, compare); assert(own[0] == 1 && own[2] == 3);", "array[0]", false),
        (
            "stores_tokens",
            "char own[] = \",,a,b;c,\"; assert(!strcmp(strtok(own, \",\"), \"a\"));
             assert(!strcmp(strtok(0, \";\"), \"b\")); assert(!strcmp(strtok(0, \",;\"), \"c\")); assert(!strtok(0, \",\"));",
            "text[0]",
            false,
        ),
    ] {
        let source = program(before, stores, &format!("sink = (long){looks} != 0;"));
        let (out, code) = explore(name, &source, &["-q", "--strategy", "dpor"]);
        assert_eq!(code, Some(i32::from(failure)), "{name}: {out}");
        assert_eq!(out.contains("data-race"), failure, "{name}: {out}");
    }
}

/// What libc and the kernel keep once for all threads is used in all orders.
#[test]
fn what_is_kept_once() {
    let before = "#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
void nothing(void) {} void handle(int n) { (void)n; } struct sigaction old; char byte;";
    for (name, p, q, executions) in [
        ("kept_random", "rand();", "random();", "(2 executions"),
        ("kept_seed", "srand(1);", "rand();", "(2 executions"),
        ("kept_seed_own", "unsigned own = 1; rand_r(&own);", "rand();", "(1 execution "),
        ("kept_variable", "setenv(\"A\", \"1\", 1);", "getenv(\"A\");", "(2 executions"),
        ("kept_variables", "getenv(\"B\");", "getenv(\"A\");", "(1 execution "),
        ("kept_exits", "atexit(nothing);", "at_quick_exit(nothing);", "(2 executions"),
        ("kept_open", "open(\"/dev/null\", 0);", "open(\"/dev/zero\", 0);", "(2 executions"),
        ("kept_closed", "close(50);", "read(50, &byte, 1);", "(2 executions"),
        ("kept_closed_other", "close(51);", "read(50, &byte, 1);", "(1 execution "),
        // First the one that is copied is looked at.
        ("kept_copied", "dup2(0, 50);", "dup(0);", "(3 executions"),
        ("kept_place", "lseek(0, 1, SEEK_CUR);", "read(0, &byte, 1);", "(2 executions"),
        ("kept_place_seen", "lseek(50, 0, SEEK_CUR);", "pread(51, &byte, 1, 0);", "(1 execution "),
        ("kept_stream", "fseek(stdin, 1, SEEK_SET);", "getchar();", "(2 executions"),
        ("kept_stream_seen", "feof(stdin);", "ftell(stdin);", "(1 execution "),
        ("kept_printed", "fputc('a', stdout);", "putchar('b');", "(1 execution "),
        ("kept_written", "fputc('a', stdin);", "fputs(\"b\", stdin);", "(2 executions"),
        ("kept_options", "getopt(0, 0, \"\");", "getopt(0, 0, \"\");", "(2 executions"),
        (
            "kept_handler",
            "signal(SIGUSR1, handle);",
            "sigaction(SIGUSR1, 0, &old);",
            "(2 executions",
        ),
    ] {
        // What comes before and after takes no step, whatever that does.
        let source = program(before, p, q);
        let (out, code) = explore(name, &source, &["-q", "--model", "tso", "--strategy", "dpor"]);
        assert_eq!(code, Some(0), "{name}: {out}");
        assert!(out.contains(executions), "{name}: {out}");
    }
    // None of it is a fence.
    let both = |own: &str, other: &str| {
        format!(
            "atomic_store_explicit(&{own}, 1, memory_order_relaxed); rand();
             seen_by_{own} = atomic_load_explicit(&{other}, memory_order_relaxed);"
        )
    };
    let before = "atomic_int x, y; int seen_by_x, seen_by_y;
__attribute__((destructor)) void end(void) { assert(seen_by_x || seen_by_y); }";
    let source = program(before, &both("x", "y"), &both("y", "x"));
    let (out, code) = explore("kept_no_fence", &source, &["-q", "--model", "tso"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("SC: no execution fails") && out.contains("TSO: fails"), "{out}");
}

/// Memory goes while another thread uses it, which crashes if it comes too late. What it has stored before is there, also with buffers.
#[test]
fn what_is_unmapped() {
    for (name, gone, failure) in [
        ("unmapped", "munmap(page, 4096);", true),
        ("protected", "mprotect(page, 4096, PROT_READ);", true),
        ("unmapped_later", "pthread_join(b, 0); munmap(page, 4096); return 0;", false),
    ] {
        let source = format!(
            "#include <pthread.h>
#include <sys/mman.h>
static int *page;
static void *q(void *a) {{ page[3] = 1; return a; }}
int main(void) {{
    pthread_t b;
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&b, 0, q, 0);
    {gone}
    pthread_join(b, 0);
    return 0;
}}
"
        );
        let (out, code) = explore(name, &source, &["-q", "--model", "tso"]);
        assert_eq!(code, Some(i32::from(failure)), "{name}: {out}");
        assert_eq!(out.contains("crash at"), failure, "{name}: {out}");
        // With buffers by chance: not all orders are explored.
        let by_chance = ["-q", "--under", "tso", "--strategy", "random", "--executions", "60"];
        let (out, _) = explore(name, &source, &by_chance);
        assert_eq!(out.contains("crash at"), failure, "{name}: {out}");
    }
}

/// Which signals are blocked is a matter of each thread.
#[test]
fn masks_belong_to_threads() {
    let before = "#include <signal.h>
atomic_int blocked, handled; static _Thread_local volatile sig_atomic_t mine;
void handle(int n) { mine = 1; handled++; }
__attribute__((constructor)) void set(void) { signal(SIGUSR1, handle); }
void mask(int how) { sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); pthread_sigmask(how, &s, 0); }";
    let block = "mask(SIG_BLOCK); blocked = 1;";
    for (name, p, q, failure) in [
        ("masks", block, "raise(SIGUSR1); assert(mine);", false),
        ("masks_killed", block, "pthread_kill(pthread_self(), SIGUSR1); assert(mine);", false),
        // It is blocked by one and handled by the other at the same time.
        ("masks_both", block, "raise(SIGUSR1); assert(!blocked);", true),
        (
            "masks_later",
            "mask(SIG_BLOCK); raise(SIGUSR1); assert(!mine); mask(SIG_UNBLOCK); assert(mine);",
            "assert(!mine);",
            false,
        ),
        (
            "masks_inherited",
            "mask(SIG_BLOCK); pthread_t t; pthread_create(&t, 0, (void *(*)(void *))raise, (void *)(long)SIGUSR1); pthread_join(t, 0); assert(!handled);",
            "",
            false,
        ),
    ] {
        let (out, code) = explore(name, &program(before, p, q), &["-q", "--strategy", "dpor"]);
        assert_eq!(code, Some(i32::from(failure)), "{name}: {out}");
    }
}

/// A compare-and-swap whose bytes others store to one by one is explored completely.
#[test]
fn swaps_of_mixed_bytes() {
    let before = "static union { _Atomic short both; _Atomic char each[2]; } u; atomic_int won;
void *r(void *a) { u.each[1] = 1; return a; }";
    let swap = "pthread_t t; pthread_create(&t, 0, r, 0); short old = 0x0101; if (atomic_compare_exchange_strong(&u.both, &old, 7)) won = 1; pthread_join(t, 0);";
    for (name, p, failure) in [
        ("mixed_swap", "u.each[0] = 1;", 0),
        ("mixed_swap_wrong", "u.each[0] = 1; assert(!won);", 1),
    ] {
        let (out, code) = explore(name, &program(before, p, swap), &["-q", "--strategy", "dpor"]);
        assert_eq!(code, Some(failure), "{name}: {out}");
    }
}

/// Who was woken may wait again before the next signal comes, with store buffers, too.
#[test]
fn signals_one_after_the_other() {
    let source = "#include <assert.h>
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
void *waiter(void *v) {
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    pthread_cond_wait(&c, &m);
    assert(0);
    return v;
}
void *signaller(void *v) { pthread_cond_signal(&c); pthread_cond_signal(&c); return v; }
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, waiter, 0);
    pthread_create(&u, 0, signaller, 0);
    pthread_join(u, 0);
    pthread_join(t, 0);
}
";
    for under in [&[][..], &["--under", "tso"], &["--under", "pso"]] {
        let options = [&["-q", "--no-races", "--strategy", "dpor"], under].concat();
        let (out, code) = explore("signals", source, &options);
        assert_eq!(code, Some(1), "{under:?}: {out}");
        for kind in ["assertion", "deadlock"] {
            assert!(out.contains(kind), "{under:?} {kind}: {out}");
        }
    }
}

/// Transactions conflict by additions, although nobody uses the results.
#[test]
fn transactions_that_add() {
    let source = "#include <pthread.h>
#include <stdatomic.h>
atomic_int x, z;
__attribute__((noinline)) void t1(void) { atomic_fetch_add(&x, 1); atomic_fetch_add(&z, 1); }
__attribute__((noinline)) void t2(void) { atomic_fetch_add(&z, 1); atomic_fetch_add(&x, 1); }
void *a(void *v) { t1(); return v; }
void *b(void *v) { t2(); return v; }
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, a, 0);
    pthread_create(&u, 0, b, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
}
";
    let (out, code) = explore("transactions_that_add", source, &["--transaction", "t1,t2"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("transactions: not serializable"), "{out}");
}
