//! `weakspot cargo`, on crates that are built here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Ran, run, run_in};

/// A new folder for a crate, so that nothing is written beside its sources.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cargo").join(name);
    let _ = fs::remove_dir_all(folder.join("src"));
    let _ = fs::remove_dir_all(folder.join("tests"));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A new library with these tests.
pub(crate) fn library(name: &str, text: &str) -> PathBuf {
    let folder = folder(name);
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::write(folder.join("Cargo.toml"), MANIFEST).expect("written");
    fs::write(folder.join("src/lib.rs"), text).expect("written");
    folder
}

/// How all executions of a library's tests end, which are `random_0`, `random_1`, ... and panic with
/// `ended` and their numbers; nothing stands for a deadlock.
pub(crate) fn ends_of<const N: usize>(
    name: &str,
    text: &str,
    tests: usize,
) -> Vec<BTreeSet<Option<[u32; N]>>> {
    let ours = ["--format", "json", "--strategy", "dpor", "--model", "tso", "--timeout", "5m"];
    let ran = cargo("test", &library(name, text), &ours, &[]);
    let mut found = vec![BTreeSet::new(); tests];
    for line in ran.out.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        if answer["model"] != "sc" {
            continue;
        }
        let name = answer["file"].as_str().and_then(|file| file.rsplit('_').next());
        let test: usize = name.and_then(|name| name.parse().ok()).expect("a number");
        assert_eq!(answer["complete"], true, "{line}");
        for failure in answer["failures"].as_array().expect("failures") {
            let text = failure["text"].as_str().unwrap_or_default();
            let numbers = text.split("ended ").nth(1).map(|numbers| {
                let mut numbers = numbers.split(' ').map(|n| n.parse().expect("a number"));
                [(); N].map(|()| numbers.next().expect("one more"))
            });
            assert!(numbers.is_some() || failure["kind"] == "deadlock", "{failure}");
            found[test].insert(numbers);
        }
    }
    assert!(found.iter().all(|ends| !ends.is_empty()), "{}", ran.err);
    found
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        match path.is_dir() {
            true if name != "target" => copy(&path, &to.join(name)),
            true => {}
            false => drop(fs::copy(&path, to.join(name)).expect("copied")),
        }
    }
}

/// Runs a command of cargo for a crate: options of ours, then those of cargo.
pub(crate) fn cargo(command: &str, folder: &Path, ours: &[&str], cargos: &[&str]) -> Ran {
    let manifest = folder.join("Cargo.toml");
    let target = folder.join("target");
    let mut words = vec!["cargo", command];
    words.extend(ours);
    words.extend(["--manifest-path", manifest.to_str().expect("UTF-8")]);
    words.extend(["--target-dir", target.to_str().expect("UTF-8")]);
    words.extend(cargos);
    run_in(folder, &words, "")
}

/// Those that are too large to be explored to the end here.
const LARGE: [&str; 2] = ["barrier", "channel"];

/// Each test of the corpus is what `expected.tsv` says. Among them are two that a checker calls wrong
/// which takes sequentially consistent accesses for release and acquire (`store_buffering_seq_cst`,
/// `dekker_seq_cst`), one that a search misses which compares a store with the last access only
/// (`load_overtaken_wrong`), and one that fails beyond SC only (`store_buffering_relaxed`).
#[test]
fn the_corpus_is_as_expected() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/rust");
    let folder = folder("corpus");
    copy(&corpus, &folder);
    // Executions are counted, so that answers do not depend on time.
    let ours =
        ["--format", "json", "--executions", "600", "--timeout", "10m", "--isolate", "memory"];
    let ran = cargo("test", &folder, &ours, &["--", "--include-ignored"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let mut verdicts: BTreeMap<(String, String), String> = BTreeMap::new();
    for line in ran.out.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| answer[key].as_str().unwrap_or("").to_owned();
        // The package, its target, the test.
        let file = text("file");
        let test = file.splitn(3, "::").nth(2).expect("a test");
        verdicts.insert((test.to_owned(), text("model")), text("verdict"));
    }
    let expected = fs::read_to_string(corpus.join("expected.tsv")).expect("read");
    let mut tests = BTreeSet::new();
    let mut wrong = Vec::new();
    for line in expected.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let test = columns[0];
        tests.insert(test);
        for (model, label) in [("sc", columns[1]), ("tso", columns[5]), ("pso", columns[6])] {
            let verdict = match label {
                "holds" | "yes" => "holds",
                _ => "violated",
            };
            let said = verdicts.get(&(test.to_owned(), model.to_owned())).map(|said| &said[..]);
            let right = said == Some(verdict) || LARGE.contains(&test) && said == Some("unknown");
            if !right {
                wrong.push(format!("{test} {model}: {said:?} instead of {verdict}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(tests.len() * 3, verdicts.len(), "tests that are not in expected.tsv");

    // Panics are told with their places, and schedules show them again.
    let ran = cargo("test", &folder, &["--first"], &["--", "--exact", "lost_update_wrong"]);
    assert!(ran.out.contains("panic    tests/atomics.rs:130:5: assertion"), "{}", ran.out);
    let schedule = ran.out.split("--replay ").nth(1).and_then(|rest| rest.split(' ').next());
    let ours = ["--replay", schedule.expect("a schedule")];
    let again = cargo("test", &folder, &ours, &["--", "--exact", "lost_update_wrong"]);
    assert!(again.out.contains("fails: 1 failure in 1 execution"), "{}", again.out);
    // From above, its files are named from there, in all that is said.
    let (page, manifest) = (folder.join("page.html"), "corpus/Cargo.toml");
    let page_name = page.to_str().expect("UTF-8");
    let words = ["cargo", "test", "--model", "tso", "--fences", "--report", page_name];
    let cargos = ["--manifest-path", manifest, "--target-dir", "corpus/target"];
    let one = ["--", "--exact", "store_buffering_relaxed"];
    let above = folder.parent().expect("a folder above");
    let ran = run_in(above, &[&words[..], &cargos, &one].concat(), "");
    let file = "corpus/tests/atomics.rs";
    for part in ["wr x  at _:20", "rd x  at _:27", "+++ _\n", "\n  _:20: behind it", "panic    _:"]
    {
        assert!(ran.out.contains(&part.replace('_', file)), "{part}: {}", ran.out);
    }
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains(&format!("\"{file}:20")), "{}", ran.out);
    assert_eq!(page.matches("tests/atomics.rs").count(), page.matches(file).count());
    // Locks and threads, too, although what takes a lock is in the standard library.
    let exact = ["--", "--ignored", "--exact", "lock_order"];
    let ran = cargo("test", &folder, &["--first"], &exact);
    let words: Vec<&str> = ran.out.split_whitespace().collect();
    for part in
        ["lock_order#2 waits in Mutex::lock for b, which lock_order#3 holds", "upd a=1 (was 0)"]
    {
        assert!(words.join(" ").contains(part), "{part}: {}", ran.out);
    }
    // With buffers, what fails beyond SC fails.
    let ours = ["--under", "tso", "--first"];
    let ran = cargo("test", &folder, &ours, &["--", "--exact", "store_buffering_relaxed"]);
    assert!(ran.out.contains("each thread missed the store of the other"), "{}", ran.out);

    // A schedule is for one test; names may select none.
    let ran = cargo("test", &folder, &ours, &["no_such_test"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("is selected by no_such_test"), "{}", ran.err);
    let schedule = ["--replay", "ws1_0_9b4ab0e1"];
    let ran = cargo("test", &folder, &schedule, &["store"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
}

pub(crate) const MANIFEST: &str =
    "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";

const LIBRARY: &str = r#"
use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

thread_local!(static WHO: Cell<u32> = Cell::new(0));

#[test]
#[should_panic(expected = "on purpose")]
fn panics() {
    panic!("on purpose");
}

/// A thread that creates threads keeps its own variables.
#[test]
fn threads_of_threads() {
    WHO.set(1);
    let inner = thread::spawn(|| {
        WHO.set(2);
        let innermost = thread::spawn(|| WHO.get());
        assert_eq!(WHO.get(), 2);
        assert_eq!(innermost.join().unwrap(), 0);
    });
    inner.join().unwrap();
    assert_eq!(WHO.get(), 1);
    assert_eq!(env!("CARGO_PKG_NAME"), std::env::var("CARGO_PKG_NAME").unwrap());
}

#[test]
fn time_passes() {
    let began = Instant::now();
    thread::sleep(Duration::from_secs(3600));
    assert!(began.elapsed() >= Duration::from_secs(3600));
}

#[test]
#[ignore]
fn ignored() {
    unreachable!();
}
"#;

const PROGRAM: &str = r#"
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
static CODE: AtomicI32 = AtomicI32::new(0);
fn main() {
    let code: i32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let other = std::thread::spawn(move || CODE.store(code, Relaxed));
    let seen = CODE.load(Relaxed);
    other.join().unwrap();
    std::process::exit(seen);
}
"#;

#[test]
fn libraries_and_programs() {
    let folder = library("small", LIBRARY);
    fs::write(folder.join("src/main.rs"), PROGRAM).expect("written");
    let ran = cargo("test", &folder, &["--strategy", "dpor"], &["--lib"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("3 tests: 3 hold, 0 violated, 0 unknown"), "{}", ran.out);

    // In some of its executions the program ends with the code that it is given.
    let ran = cargo("run", &folder, &["--model", "tso"], &["--", "7"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("exit     exit code 7"), "{}", ran.out);
    assert!(ran.out.contains("weakspot cargo run --replay"), "{}", ran.out);
    let ran = cargo("run", &folder, &["--model", "tso"], &["--", "0"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);

    // What cargo says about a crate that does not build is what the user sees.
    fs::write(folder.join("src/lib.rs"), "pub fn wrong() -> u32 {}").expect("written");
    let ran = cargo("test", &folder, &[], &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("mismatched types"), "{}", ran.err);
}

/// A workspace with everything that cargo builds for `cargo test`. What is no test of ours ends badly.
fn workspace() -> PathBuf {
    let folder = folder("members");
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    };
    let package = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
    };
    write("Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"one\", \"two\", \"mac\"]\n");
    let own = "[[test]]\nname = \"own\"\nharness = false\n";
    write("one/Cargo.toml", &package("one", own));
    write(
        "one/src/lib.rs",
        "//! ```\n//! panic!();\n//! ```\n#[test]\nfn same() {}\n#[test]\nfn wrong() { panic!() }\n",
    );
    write("one/tests/own.rs", "fn main() { std::process::exit(3) }");
    write(
        "one/tests/more.rs",
        "#[test]\nfn same() { std::thread::spawn(|| ()).join().unwrap() }\n",
    );
    write("one/examples/shown.rs", "fn main() { std::process::exit(4) }");
    write("one/src/bin/tool.rs", "fn main() { std::process::exit(5) }");
    write("two/Cargo.toml", &package("two", "[dependencies]\nmac = { path = \"../mac\" }\n"));
    write("two/src/lib.rs", "#[test]\nfn same() { mac::nothing!() }\n");
    write("mac/Cargo.toml", &package("mac", "[lib]\nproc-macro = true\n"));
    write(
        "mac/src/lib.rs",
        "#[proc_macro]\npub fn nothing(text: proc_macro::TokenStream) -> proc_macro::TokenStream \
         { text }\n#[test]\nfn inside() { panic!() }\n",
    );
    folder
}

#[test]
fn only_tests_are_executed() {
    let folder = workspace();
    // Options in any order.
    let ran = cargo("test", &folder, &[], &["--workspace", "--strategy", "dpor", "--tests"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let lines = |out: &str| -> Vec<String> {
        out.lines()
            .filter_map(|line| line.split_once("s] "))
            .map(|(_, name)| name.split(" (").next().unwrap_or("").to_owned())
            .collect()
    };
    let robust = "SC holds, TSO robust, PSO robust";
    assert_eq!(
        lines(&ran.out),
        [
            format!("one same: {robust}"),
            "one wrong: SC fails, TSO fails, PSO fails".to_owned(),
            format!("one::more same: {robust}"),
            format!("two same: {robust}"),
            "4 tests: 3 hold, 1 violated, 0 unknown".to_owned(),
        ],
        "{}",
        ran.out
    );
    for part in [
        "SKIP mac: a procedural macro runs inside of the compiler",
        "SKIP one::own: it has a harness of its own",
        "3 tests start no second thread",
        "again by weakspot cargo test --replay 1 ",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let order = ["PASS", "failures:", "panic    one/src/lib.rs:7", "Summary"];
    let places: Vec<_> = order.iter().map(|part| ran.out.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {}", ran.out);

    let ran = cargo("test", &folder, &[], &["--", "--list"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let listed =
        "one::same: test\none::wrong: test\none::more::same: test\ntwo::same: test\n\n4 tests\n";
    assert_eq!(ran.out, listed);
    assert!(ran.err.contains("note: skipped one: its doctests"), "{}", ran.err);
    let ran = cargo("test", &folder, &["--no-run"], &["-p", "two"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("two (") && ran.out.lines().count() == 1, "{}", ran.out);

    let ran = cargo("test", &folder, &["--format", "junit"], &["-p", "one", "--lib"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("<testsuite name=\"one\" tests=\"2\" failures=\"1\""), "{}", ran.out);
    assert!(ran.out.contains("<failure message=\"SC fails"), "{}", ran.out);
}

/// One program that cannot say which tests it has does not keep the others from being explored.
#[test]
fn a_program_that_ends_badly_is_one_error() {
    let folder = folder("bad");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::create_dir_all(folder.join("tests")).expect("a folder");
    fs::write(folder.join("Cargo.toml"), MANIFEST).expect("written");
    fs::write(folder.join("src/lib.rs"), "#[test]\nfn fine() {}\n").expect("written");
    let early = "#[used]\n#[link_section = \".init_array\"]\nstatic EARLY: extern \"C\" fn() = {\n    \
                 extern \"C\" fn early() { std::process::exit(7) }\n    early\n};\n#[test]\nfn never() {}\n";
    fs::write(folder.join("tests/early.rs"), early).expect("written");
    let ran = cargo("test", &folder, &[], &[]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    for part in
        ["small fine: SC holds", "error: small::early: failed to list", "1 hold", "1 with errors"]
    {
        assert!(ran.out.contains(part), "{part}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn what_is_no_crate_is_told() {
    let ran = run(&["cargo", "test", "--manifest-path", "/no/such/folder/Cargo.toml"], "");
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("/no/such/folder/Cargo.toml"), "{}", ran.err);
    let ran = run(&["cargo", "test", "--doc"], "");
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("tests in documentation are not explored"), "{}", ran.err);
}

const TRANSACTIONS: &str = r#"
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

#[inline(never)]
fn add_one(count: &AtomicUsize) {
    let seen = count.load(SeqCst);
    count.store(seen + 1, SeqCst);
}

#[test]
fn raised_by_two() {
    let count = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&count);
    let thread = std::thread::spawn(move || add_one(&other));
    add_one(&count);
    thread.join().unwrap();
}

#[test]
fn raised_by_one() {
    add_one(&AtomicUsize::new(0));
}
"#;

/// What is said of the transactions of a test counts in the summary and for the exit code.
#[test]
fn transactions_count() {
    let folder = library("transactions", TRANSACTIONS);
    let ran = cargo("test", &folder, &["--transaction", "small::add_one"], &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("small::raised_by_two SC: transactions: not serializable"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("2 tests: 1 hold, 1 violated"), "{}", ran.out);
    let ran = cargo("test", &folder, &["--transaction", "add_one"], &[]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    let hint = "expected its whole name, such as `small::add_one`";
    assert_eq!(ran.out.matches(hint).count(), 1, "{}", ran.out);
}

/// A function that returns nothing says that it ends by a jump, whose frame is gone: neither one that calls it is over
/// by that, nor does it go on itself.
#[test]
fn transactions_that_end_by_a_jump() {
    let folder = library(
        "jumps",
        "use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
static A: AtomicU32 = AtomicU32::new(0);
static B: AtomicU32 = AtomicU32::new(0);
#[inline(never)]
pub fn add_one() { A.fetch_add(1, SeqCst); }
#[inline(never)]
fn helper() { B.fetch_add(1, SeqCst); }
#[inline(never)]
pub fn raise() { let a = A.load(SeqCst); helper(); A.store(a + 1, SeqCst); }
#[inline(never)]
pub fn raised() -> u32 { let a = A.load(SeqCst); helper(); A.store(a + 1, SeqCst); a }
#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{scope, spawn};
    #[test]
    fn once() { let t = spawn(|| add_one()); add_one(); t.join().unwrap(); }
    #[test]
    fn called() { let t = spawn(|| raise()); raise(); t.join().unwrap(); }
    #[test]
    fn returned() { let t = spawn(|| { raised(); }); raised(); t.join().unwrap(); }
    #[test]
    fn lent() {
        let x = AtomicU32::new(0);
        scope(|s| {
            s.spawn(|| x.store(1, SeqCst));
            add_one();
            x.load(SeqCst);
        });
    }
}
",
    );
    let names = "small::add_one,small::raise,small::raised";
    let ran = cargo("test", &folder, &["--model", "tso", "--transaction", names], &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("4 tests: 2 hold, 2 violated"), "{}", ran.out);
    for test in ["called", "returned"] {
        let said = format!("small::tests::{test} SC: transactions: not serializable");
        assert!(ran.out.contains(&said), "{}", ran.out);
    }
    assert!(ran.out.contains("a cycle through 2 transactions"), "{}", ran.out);
}

/// Threads of Rust that wait for each other are told by the user's own lines, and the harness is left out.
#[test]
fn deadlocks_are_told_by_own_lines() {
    let folder = folder("stuck");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let manifest =
        "[package]\nname = \"stuck\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest).expect("written");
    let source = "#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex, RwLock};
    use std::thread;
    #[test]
    fn locks() {
        let a = Arc::new(Mutex::new(0));
        let b = Arc::new(RwLock::new(0));
        let (c, d) = (a.clone(), b.clone());
        let t = thread::spawn(move || {
            let x = c.lock().unwrap();
            let y = d.write().unwrap();
            drop((x, y));
        });
        let y = b.read().unwrap();
        let x = a.lock().unwrap();
        drop((x, y));
        t.join().unwrap();
    }
    #[test]
    fn lost() {
        let a = Arc::new((Mutex::new(false), Condvar::new()));
        let b = a.clone();
        let t = thread::spawn(move || *b.0.lock().unwrap() = true);
        let mut g = a.0.lock().unwrap();
        while !*g {
            g = a.1.wait(g).unwrap();
        }
        drop(g);
        t.join().unwrap();
    }
}
";
    fs::write(folder.join("src/lib.rs"), source).expect("written");
    let ran = cargo("test", &folder, &[], &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let parts = [
        "locks#1 waits in Mutex::lock for *a, which ",
        " holds since src/lib.rs:11\n    at src/lib.rs:16 in stuck::tests::locks\n",
        " waits in RwLock::write for *b, which locks#1 holds since src/lib.rs:15\n    at src/lib.rs:12",
        "lost#1 waits in Condvar::wait\n    at src/lib.rs:27 in stuck::tests::lost\n",
    ];
    parts.iter().for_each(|part| assert!(ran.out.contains(part), "{part}: {}", ran.out));
    assert!(!ran.out.contains("main waits") && !ran.out.contains("futex.rs"), "{}", ran.out);
}

/// Ways in which threads of Rust wait are explored in one process, and what channels do is drawn.
#[test]
fn waiting_in_rust_shares_a_process() {
    let folder = folder("waiting");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let manifest =
        "[package]\nname = \"waiting\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest).expect("written");
    let source = "#[cfg(test)]
mod tests {
    use std::sync::{mpsc, Arc, Barrier, Once};
    use std::thread;
    #[test]
    fn sent() {
        let (s, r) = mpsc::channel::<i32>();
        let s2 = s.clone();
        let t = thread::spawn(move || s2.send(1).unwrap());
        s.send(2).unwrap();
        t.join().unwrap();
        assert_eq!(r.recv().unwrap(), 1);
    }
    #[test]
    fn received() {
        let (s, r) = mpsc::channel::<i32>();
        let t = thread::spawn(move || s.send(1).unwrap());
        assert_eq!(r.recv().unwrap(), 2);
        t.join().unwrap();
    }
    #[test]
    fn park() {
        let me = thread::current();
        let t = thread::spawn(move || me.unpark());
        thread::park();
        t.join().unwrap();
    }
    #[test]
    fn once() {
        static O: Once = Once::new();
        let t = thread::spawn(|| O.call_once(|| ()));
        O.call_once(|| ());
        t.join().unwrap();
    }
    #[test]
    fn barrier() {
        let b = Arc::new(Barrier::new(2));
        let c = b.clone();
        let t = thread::spawn(move || c.wait().is_leader());
        let leads = b.wait().is_leader();
        assert_ne!(t.join().unwrap(), leads);
    }
    #[test]
    fn scope() {
        let mut a = 0;
        thread::scope(|s| {
            s.spawn(|| a = 1);
        });
        assert_eq!(a, 1);
    }
}
";
    fs::write(folder.join("src/lib.rs"), source).expect("written");
    let ran = cargo("test", &folder, &["--timeout", "2m"], &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let out = ran.out + &ran.err;
    assert!(out.contains("4 hold, 2 violated, 0 unknown"), "{out}");
    assert!(!out.contains("a process of its own"), "{out}");
    // Calls that are over have left their lines on the stack.
    assert!(out.contains("Receiver::recv") && !out.contains("Channel::recv"), "{out}");
    assert!(out.contains("src/lib.rs:12:9: assertion") && out.contains("s.send(2)"), "{out}");
}
