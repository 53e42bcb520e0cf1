//! Functions of other checkers: assumptions, atomic parts and choices.

use crate::real::run::{MAIN, explore};

/// A program for other checkers, which declares what it uses of them.
fn verifier(body: &str) -> String {
    format!(
        "#include <assert.h>
#include <genmc.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, y; int n, seen;
{body}
{MAIN}"
    )
}

/// There is no execution in which an assumption does not hold; all others are explored.
#[test]
fn assumptions() {
    let source = |last: &str| {
        verifier(&format!(
            "void *p(void *a) {{ (void)a; y = 1; x = 1; return 0; }}
void *q(void *a) {{ (void)a; __VERIFIER_assume(x); {last} return 0; }}"
        ))
    };
    let (out, code) = explore("assumed", &source("assert(y);"), &["--strategy", "dpor", "-q"]);
    assert!(out.contains("SC: no execution fails"), "{out}");
    assert_eq!(code, Some(0), "{out}");
    let (out, code) = explore("assumed_bad", &source("__VERIFIER_assert(!y);"), &["-q"]);
    assert!(out.contains("SC: fails: 1 failure"), "{out}");
    assert_eq!(code, Some(1), "{out}");
}

#[test]
fn atomic_parts_exclude_each_other() {
    let source = |begin: &str, end: &str| {
        verifier(&format!(
            "void *p(void *a) {{ {begin} n++; {end} return a; }}
void *q(void *a) {{ {begin} n++; {end} return a; }}"
        ))
    };
    let free = source("__VERIFIER_atomic_begin();", "__VERIFIER_atomic_end();");
    assert_eq!(explore("atomic_parts", &free, &["-q"]).1, Some(0));
    assert_eq!(explore("atomic_parts_bad", &source("", ""), &["-q"]).1, Some(1));
}

/// Both values of a choice are explored; where there are more, that is reported.
#[test]
fn choices() {
    let source = |check: &str| {
        verifier(&format!(
            "void *p(void *a) {{ int b = __VERIFIER_nondet_bool(), c = __VERIFIER_nondet_bool();
    {check} return a; }}
void *q(void *a) {{ return a; }}"
        ))
    };
    let any = source("if (b && !c) __VERIFIER_error();");
    let (out, code) = explore("choices", &any, &["--strategy", "dpor"]);
    assert!(out.contains("__VERIFIER_error is reached"), "{out}");
    assert_eq!(code, Some(1), "{out}");
    for strategy in ["dpor", "rf"] {
        let (out, code) =
            explore("choices", &any, &["--under", "tso", "--strategy", strategy, "-q"]);
        assert!(out.contains("TSO: fails: 1 failure"), "{out}");
        assert_eq!(code, Some(1), "{out}");
    }
    let none = source("__VERIFIER_assume(b != c); assert(b + c == 1);");
    let (out, code) = explore("choices_none", &none, &["--strategy", "dpor", "-q"]);
    assert_eq!(code, Some(0), "{out}");
    let more = source("assert(__VERIFIER_nondet_int() != 7);");
    let (out, code) = explore("choices_more", &more, &["--strategy", "dpor"]);
    assert!(out.contains("__VERIFIER_nondet_int"), "{out}");
    assert_eq!(code, Some(3), "{out}");
}
