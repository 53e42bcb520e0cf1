//! Witnesses about real programs: `weakspot run --witness`, and `weakspot certify`, which executes them again.

use std::path::PathBuf;

use crate::run;

/// Store buffering with this between its store and its load, and what has to hold in the end if there is an argument.
fn source(fence: &str, check: &str) -> String {
    format!(
        "#include <assert.h>
#include <pthread.h>
volatile int x, y; int r1 = 1, r2 = 1;
void *p(void *a) {{ x = x + 1; {fence} r1 = y; return a; }}
void *q(void *a) {{ y = y + 1; {fence} r2 = x; return a; }}
int main(int n, char **words) {{
    (void)words;
    pthread_t a, b;
    pthread_create(&a, 0, p, 0);
    pthread_create(&b, 0, q, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(n == 1 || ({check}));
    return 0;
}}
"
    )
}

struct Program {
    _folder: tempfile::TempDir,
    path: PathBuf,
    witness: PathBuf,
}

impl Program {
    fn compiled(source: &str) -> Program {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, path) = (folder.path().join("a.c"), folder.path().join("a"));
        std::fs::write(&file, source).expect("written");
        let words = ["cc", "-g", "-O1", "-pthread", "-o"].map(str::to_owned);
        let words =
            [&words[..], &[path.display().to_string(), file.display().to_string()]].concat();
        let built = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
        assert_eq!(built.code, Some(0), "{}", built.err);
        let witness = folder.path().join("w.json");
        Program { _folder: folder, path, witness }
    }

    fn path(&self) -> &str {
        self.path.to_str().expect("UTF-8")
    }

    fn witness(&self) -> &str {
        self.witness.to_str().expect("UTF-8")
    }

    /// Explores it with one argument; the exit code.
    fn explore(&self, options: &[&str]) -> Option<i32> {
        let words = [&["run", "-q", "--witness", self.witness()], options, &[self.path(), "arg"]];
        run(&words.concat(), "").code
    }

    /// What is said about the witness, and the exit code.
    fn certify(&self) -> String {
        let ran = run(&["certify", self.path(), self.witness()], "");
        format!("{}{}{}", ran.out, ran.err, ran.code.expect("a code"))
    }

    /// The same about an altered one, which is put back.
    fn altered(&self, from: &str, to: &str) -> String {
        let right = std::fs::read_to_string(&self.witness).expect("a witness");
        assert!(right.contains(from), "{from} in {right}");
        std::fs::write(&self.witness, right.replacen(from, to, 1)).expect("written");
        let said = self.certify();
        std::fs::write(&self.witness, right).expect("written");
        said
    }
}

const CHECK: &str = "r1 == 1 || r2 == 1";

#[test]
fn an_execution_that_fails() {
    let program = Program::compiled(&source("", CHECK));
    assert_eq!(program.explore(&[]), Some(1));
    let again = "certified: run under TSO: violated, by an execution that fails (assertion), \
                 executed again, with --under tso\n0";
    assert_eq!(program.certify(), again);
    let other = program.altered("\"failure\":\"assertion\"", "\"failure\":\"deadlock\"");
    let not = "rejected: run under TSO: violated, not shown: executed again, it is not one that \
               fails (deadlock)\n1";
    assert_eq!(other, not);
    // Without its argument nothing fails.
    assert!(program.altered("[\"arg\"]", "[]").starts_with("rejected: "));
    // Another schedule, and a token that was changed.
    assert!(program.altered("\"token\":\"ws1_", "\"token\":\"ws1_0_").ends_with('2'));
    // Nothing of a witness makes a file, or takes options that mean something else.
    let file = program.path.with_extension("wslog");
    let log = format!("\"options\": [\"--log\",\"{}\",", file.display());
    let said = program.altered("\"options\": [", &log);
    assert!(
        said.contains("an option that none may have: `--log`") && said.ends_with('2'),
        "{said}"
    );
    assert!(!file.exists());
    // It is about this program.
    let other = Program::compiled(&source("__sync_synchronize();", CHECK));
    std::fs::copy(&program.witness, &other.witness).expect("copied");
    assert!(other.certify().contains("the witness is about another program"));
}

#[test]
fn an_access_that_overtakes_a_store() {
    let program = Program::compiled(&source("", "1"));
    assert_eq!(program.explore(&["--robust", "--model", "tso"]), Some(1));
    let said = program.certify();
    assert!(
        said.starts_with("certified: run under TSO: violated, by an execution that lets "),
        "{said}"
    );
    let said = program.altered("a.c:4", "a.c:9");
    assert!(said.starts_with("rejected: ") && said.ends_with('1'), "{said}");
}

#[test]
fn none_that_fails() {
    let program = Program::compiled(&source("__sync_synchronize();", CHECK));
    assert_eq!(program.explore(&[]), Some(0));
    let said = program.certify();
    assert!(said.starts_with("certified: run under SC, TSO: holds, by all executions ("), "{said}");
    assert!(said.contains("none of which fails, executed again"), "{said}");
    let said = program.altered("\"executions\":", "\"executions\":1");
    assert!(
        said.starts_with("rejected: run under SC, TSO: holds, not shown: there are "),
        "{said}"
    );
    // A program in which one fails does not get the witness of another.
    let other = Program::compiled(&source("", CHECK));
    std::fs::copy(&program.witness, &other.witness).expect("copied");
    let hash = |program: &Program| {
        let text = std::fs::read(&program.path).expect("a program");
        weakspot_report::input_hash(&text)
    };
    let said = other.altered(&hash(&program), &hash(&other));
    assert!(said.starts_with("rejected: run under SC, TSO: holds, not shown: "), "{said}");
    // An unknown has none.
    std::fs::remove_file(&program.witness).expect("removed");
    let words = ["run", "--executions", "1", "--witness", program.witness(), program.path()];
    let ran = run(&words, "");
    assert_eq!(ran.code, Some(3), "{}", ran.out);
    assert!(ran.err.contains("no witness is written: the answer is unknown"), "{}", ran.err);
    assert!(!program.witness.exists());
}

/// A witness that cannot be written costs nothing of the answer.
#[test]
fn nowhere_to_write() {
    let program = Program::compiled(&source("__sync_synchronize();", CHECK));
    let ran = run(&["run", "--witness", "/no/such/folder/w.json", program.path()], "");
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(
        ran.err.contains("failed to write /no/such/folder/w.json: No such file"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("SC: no execution fails"), "{}", ran.out);
}

/// Tests of a crate: the program that cargo has built is executed again, with the name of the test.
#[test]
fn tests_of_crates_have_witnesses_too() {
    let folder = crate::real::cargo::folder("witness");
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(folder.join("src")).expect("a folder");
        std::fs::write(folder.join(name), text).expect("written");
    };
    write("Cargo.toml", "[package]\nname = \"w\"\nedition = \"2021\"\n[workspace]\n");
    let body = "use std::sync::atomic::{AtomicUsize, Ordering::*};
static X: AtomicUsize = AtomicUsize::new(0);
static Y: AtomicUsize = AtomicUsize::new(0);
fn both(order: std::sync::atomic::Ordering) -> usize {
    let load = if order == SeqCst { SeqCst } else { Relaxed };
    let p = std::thread::spawn(move || { X.store(1, order); Y.load(load) });
    Y.store(1, order);
    let r = X.load(load);
    r + p.join().unwrap()
}
#[test] fn weak() { assert!(both(Relaxed) > 0) }
#[test] fn strong() { assert!(both(SeqCst) > 0) }
";
    write("src/lib.rs", body);
    let witness = folder.join("w.json");
    let witness = witness.to_str().expect("UTF-8");
    let built = crate::real::cargo::cargo("test", &folder, &[], &["--no-run"]);
    let program = built.out.split(['(', ')']).nth(1).unwrap_or_else(|| panic!("{}", built.err));
    for (test, code, said) in [
        ("weak", Some(1), "certified: run under TSO: violated, by an execution that fails (panic)"),
        (
            "strong",
            Some(0),
            "certified: run under SC, TSO: holds, by all executions (3), none of which fails",
        ),
    ] {
        let ours = ["-q", "--witness", witness];
        let ran = crate::real::cargo::cargo("test", &folder, &ours, &["--", "--exact", test]);
        assert_eq!(ran.code, code, "{test}: {} {}", ran.out, ran.err);
        let checked = run(&["certify", program, witness], "");
        assert_eq!(checked.code, Some(0), "{test}: {} {}", checked.out, checked.err);
        assert!(checked.out.contains(said), "{test}: {}", checked.out);
        // The other test, and other counts, are not what was seen.
        let text = std::fs::read_to_string(witness).expect("a witness");
        let other = text.replace(test, if test == "weak" { "strong" } else { "weak" });
        let changed = [other, text.replace("\"executions\":", "\"executions\":1")];
        for changed in changed.iter().filter(|changed| **changed != text) {
            std::fs::write(witness, changed).expect("written");
            let checked = run(&["certify", program, witness], "");
            assert_eq!(checked.code, Some(1), "{test}: {changed} {}", checked.out);
        }
    }
    let two = crate::real::cargo::cargo("test", &folder, &["--witness", witness], &[]);
    assert!(two.err.contains("a witness is for one test, and 2 are selected"), "{}", two.err);
}
