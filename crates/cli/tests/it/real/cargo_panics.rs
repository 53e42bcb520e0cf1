//! Which panic a test fails by, where several threads have panicked.

use serde_json::Value;

use super::cargo::{cargo, library};

/// Each test is wrong in the line that ends in `// here`, and its thread has this number.
const WRONG: &str = r#"
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;

#[test]
fn expected_1() {
    static X: AtomicUsize = AtomicUsize::new(0);
    assert!(thread::spawn(|| panic!("on purpose")).join().is_err());
    let t = thread::spawn(|| X.store(1, SeqCst));
    let x = X.load(SeqCst);
    t.join().unwrap();
    assert_eq!(x, 0, "it was there"); // here expected_1
}

#[test]
fn caught_1() {
    static X: AtomicUsize = AtomicUsize::new(0);
    let _ = catch_unwind(|| panic!("on purpose"));
    let t = thread::spawn(|| X.store(1, SeqCst));
    let x = X.load(SeqCst);
    t.join().unwrap();
    assert_eq!(x, 0, "it was there"); // here caught_1
}

#[test]
fn unwrapped_3() {
    assert!(thread::spawn(|| panic!("on purpose")).join().is_err());
    let t = thread::spawn(|| assert_eq!(1, 2, "the cause")); // here unwrapped_3
    t.join().unwrap();
}

#[test]
fn asserted_2() {
    let t = thread::spawn(|| panic!("the cause")); // here asserted_2
    assert!(t.join().is_ok());
}

#[test]
fn resumed_2() {
    let t = thread::spawn(|| panic!("the cause")); // here resumed_2
    t.join().unwrap_or_else(|thrown| std::panic::resume_unwind(thrown));
}

#[test]
fn scope_3() {
    thread::scope(|s| {
        assert!(s.spawn(|| panic!("on purpose")).join().is_err());
        s.spawn(|| panic!("the cause")); // here scope_3
    });
}

#[test]
fn poisoned_1() {
    static M: Mutex<usize> = Mutex::new(0);
    let t = thread::spawn(|| {
        let _held = M.lock().unwrap();
        panic!("on purpose")
    });
    assert!(t.join().is_err());
    *M.lock().unwrap() += 1; // here poisoned_1
}

#[test]
fn disconnected_1() {
    let (sender, receiver) = channel::<usize>();
    let _detached = thread::spawn(move || {
        let _sender = sender;
        panic!("the reason")
    });
    receiver.recv().unwrap(); // here disconnected_1
}

#[test]
fn detached_1() {
    static X: AtomicUsize = AtomicUsize::new(0);
    thread::spawn(|| panic!("nobody asks"));
    let t = thread::spawn(|| X.store(1, SeqCst));
    let x = X.load(SeqCst);
    t.join().unwrap();
    assert_eq!(x, 0, "it was there"); // here detached_1
}

#[test]
fn returns_1() -> Result<(), String> {
    let _ = catch_unwind(|| panic!("on purpose"));
    let t = thread::spawn(|| ());
    t.join().unwrap();
    Err("returned".to_owned())
}
"#;

/// A panic that somebody has caught, or found where a thread was joined, is not what a test fails by; one that is
/// passed on is.
#[test]
fn a_test_fails_by_the_panic_that_is_left() {
    let ran =
        cargo("test", &library("panics", WRONG), &["--format", "json", "--model", "tso"], &[]);
    let mut seen = 0;
    for line in ran.out.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        if answer["model"] != "sc" || answer["question"] != "failures" {
            continue;
        }
        let name = answer["file"].as_str().and_then(|file| file.rsplit("::").next());
        let name = name.expect("a name");
        let failures = answer["failures"].as_array().expect("failures");
        assert!(!failures.is_empty(), "{answer}");
        seen += 1;
        for failure in failures {
            let (text, thread) = (failure["text"].as_str(), failure["thread"].as_str());
            let text = text.expect("a text");
            let (test, number) = name.rsplit_once('_').expect("a number");
            if test == "returns" {
                assert_eq!((&failure["kind"], text), (&Value::from("exit"), "returns an error"));
                continue;
            }
            let here = format!("// here {name}");
            let at = WRONG.lines().position(|line| line.ends_with(&here)).expect("a line") + 1;
            assert!(text.starts_with(&format!("src/lib.rs:{at}:")), "{failure:#}");
            assert_eq!(thread, Some(format!("{name}#{number}").as_str()), "{failure:#}");
            // The way on to the test is told, or what may be the reason; what was expected is not.
            let then = ["unwrapped", "asserted", "scope"].contains(&test);
            assert_eq!(text.contains("; then src/lib.rs:"), then, "{failure:#}");
            let after = ["poisoned", "disconnected"].contains(&test);
            assert_eq!(text.contains("; after src/lib.rs:"), after, "{failure:#}");
            assert_eq!(text.contains("on purpose"), test == "poisoned", "{failure:#}");
            assert!(!text.contains("nobody asks"), "{failure:#}");
        }
    }
    assert_eq!(seen, 10, "{}", ran.out);
}
