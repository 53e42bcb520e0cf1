//! Loops that go on until another thread has done something, by calls of libc.

use crate::real::run::{explore, two};

/// Who wakes others again and again until one of them goes on waits for that one.
#[test]
fn a_loop_that_wakes_until_somebody_goes_on() {
    let front = "static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int done;";
    let waits =
        "pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); done = 1;";
    let source = two(front, waits, "while (!done) pthread_cond_signal(&c);", "done");
    for how in [&["--model", "tso"][..], &["--under", "tso"], &["--under", "pso"]] {
        let (out, code) = explore("wakes_on", &source, how);
        assert_eq!(code, Some(0), "{how:?}: {out}");
    }
}

/// Who tries again for some time goes on when the lock is free.
#[test]
fn a_loop_that_tries_for_some_time() {
    let time = "#include <time.h>\nstatic struct timespec now = {0, 1}; static int n;";
    for (name, lock, locks, unlocks) in [
        (
            "mutex",
            "static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;",
            "pthread_mutex_timedlock",
            "pthread_mutex_unlock",
        ),
        (
            "rwlock",
            "static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;",
            "pthread_rwlock_timedwrlock",
            "pthread_rwlock_unlock",
        ),
    ] {
        let section = format!("while ({locks}(&l, &now)); n++; {unlocks}(&l);");
        let source = two(&format!("{time} {lock}"), &section, &section, "n == 2");
        for how in [&["--model", "tso"][..], &["--under", "tso"]] {
            let (out, code) = explore(&format!("tries_{name}"), &source, how);
            assert_eq!(code, Some(0), "{name} {how:?}: {out}");
        }
        // What never comes is still waited for in vain.
        let kept = two(
            &format!("{time} {lock}"),
            &format!("while ({locks}(&l, &now)); n++;"),
            &format!("while ({locks}(&l, &now)); n++;"),
            "1",
        );
        let (out, code) = explore(&format!("tries_{name}_kept"), &kept, &["--model", "tso"]);
        assert_eq!(code, Some(1), "{name}: {out}");
        assert!(out.contains("livelock"), "{name}: {out}");
    }
}

/// A loop that takes something of which there is an end is not where it was, though its memory is the same.
#[test]
fn a_loop_that_comes_to_an_end() {
    let front = "#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>
static volatile int f; static char *words[] = {\"p\", \"-a\", \"-a\", 0};";
    let stream = "FILE *s = fopen(\"/proc/self/comm\", \"r\");";
    for (name, ends) in [
        ("descriptors", "while (!f) assert(dup(0) < 12);".to_owned()),
        ("stream", format!("{stream} while (!f) assert(getc(s) != EOF);")),
        ("input", "while (!f) assert(getchar() != EOF);".to_owned()),
        ("place", format!("{stream} while (!f) fseek(s, 1, SEEK_CUR), assert(ftell(s) < 4);")),
        (
            "seek",
            "int d = open(\"/proc/self/comm\", 0); while (!f) assert(lseek(d, 1, SEEK_CUR) < 4);"
                .to_owned(),
        ),
        ("folder", "DIR *d = opendir(\"/proc/tty\"); while (!f) assert(readdir(d));".to_owned()),
        ("options", "while (!f) assert(getopt(3, words, \"a\") != -1);".to_owned()),
        ("niceness", "while (!f) assert(nice(1) < 19);".to_owned()),
    ] {
        let ends = ends.as_str();
        let source = two(front, ends, "f = 1;", "1");
        let (out, code) = explore(&format!("ends_{name}"), &source, &["--model", "tso"]);
        assert_eq!(code, Some(1), "{name}: {out}");
        assert!(out.contains("assertion"), "{name}: {out}");
    }
}

/// What is undone is only what is announced: rounds that store something and undo that come to an end of what libc keeps, or of what
/// functions change that are not instrumented.
#[test]
fn rounds_that_undo_what_they_store_come_to_an_end() {
    let front = "#include <fcntl.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>
#include <stdatomic.h>
static atomic_int f, x; static char text[] = \"1 2 3 4 5 6 7 8 9 a b c\", *rest = text;
static char *words[] = {\"p\", \"-a\", \"-a\", \"-a\", \"-a\", \"-a\", \"-a\", \"-a\", \"-a\", \"-a\", 0};";
    for (name, open, next) in [
        ("seek", "int d = open(\"/proc/self/exe\", 0);", "lseek(d, 1, SEEK_CUR) < 12"),
        ("options", "", "getopt(10, words, \"a\") != -1"),
        ("words", "", "strsep(&rest, \" \")"),
    ] {
        for (step, undo) in [("x = 1", "x = 0"), ("x++", "x--")] {
            let first = format!("{open} while (!f) {{ {step}; assert({next}); {undo}; }}");
            let source = two(front, &first, "int seen = x; (void)seen; f = 1;", "1");
            let (out, code) =
                explore(&format!("undone_{name}"), &source, &["--model", "tso", "--no-races"]);
            assert_eq!(code, Some(1), "{name}: {out}");
            assert!(out.contains("assertion"), "{name}: {out}");
        }
    }
}
