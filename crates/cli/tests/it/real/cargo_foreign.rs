//! `weakspot cargo test` on crates with code that is not Rust: C of build scripts, archives, assembly.

use std::fs;

use crate::real::cargo::{cargo, library};

/// A build script that compiles C as the crate `cc` would, or with another compiler.
const SCRIPT: &str = r#"
use std::process::Command;
fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    let target = std::env::var("TARGET").unwrap();
    let named = ["COMPILER".to_owned(), format!("CC_{target}")];
    let compiler = named.iter().find_map(|name| std::env::var(name).ok()).unwrap();
    let mut compile = Command::new(compiler);
    compile.args(["-O1", "-g", "-c", "count.c", "-o"]).arg(format!("{out}/count.o"));
    assert!(compile.status().unwrap().success());
    let archive = format!("{out}/libcount.a");
    assert!(Command::new("ar").args(["crs", &archive, &format!("{out}/count.o")]).status().unwrap().success());
    println!("cargo:rustc-link-lib=static=count\ncargo:rustc-link-search=native={out}");
}
"#;

const COUNT: &str = "#include <string.h>\nstatic int n;\nvoid add(void) { n = n + 1; }\nint count(void) { return n; }\n\
    static char text[8];\nvoid put(const char *from) { memcpy(text, from, 8); }\nint last(void) { return text[7]; }\n";

const LIBRARY: &str = r#"
extern "C" {
    fn add();
    fn count() -> i32;
    fn put(from: *const u8);
    fn last() -> i32;
}
#[test]
fn counts() {
    let other = std::thread::spawn(|| unsafe { add() });
    unsafe { add() };
    other.join().unwrap();
    assert_eq!(unsafe { count() }, 2);
}
#[test]
fn copies() {
    let other = std::thread::spawn(|| unsafe { put([1; 8].as_ptr()) });
    std::hint::black_box(unsafe { last() });
    other.join().unwrap();
}
#[test]
fn alone() {
    unsafe { add() };
    assert_eq!(unsafe { count() }, 1);
}
"#;

#[test]
fn c_of_build_scripts_is_instrumented() {
    let folder = library("with-c", LIBRARY);
    fs::write(folder.join("build.rs"), SCRIPT).expect("written");
    fs::write(folder.join("count.c"), COUNT).expect("written");
    let ran = cargo("test", &folder, &["--strategy", "dpor"], &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("PASS") && ran.out.contains("small alone: SC holds"), "{}", ran.out);
    assert!(ran.out.contains("small counts: SC fails"), "{}", ran.out);
    // What functions of libc do for it is seen, too.
    assert!(ran.out.contains("small copies: SC fails"), "{}", ran.out);
}

#[test]
fn other_archives_are_named() {
    let folder = library("with-archive", LIBRARY);
    let plain =
        SCRIPT.replace("let named", "std::env::set_var(\"COMPILER\", \"gcc\");\n    let named");
    fs::write(folder.join("build.rs"), plain).expect("written");
    fs::write(folder.join("count.c"), COUNT).expect("written");
    let ran = cargo("test", &folder, &["--strategy", "dpor"], &[]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("libcount.a(count.o) is not instrumented"), "{}", ran.out);
    // With one thread there is nobody to notice.
    assert!(ran.out.contains("small alone: SC holds, TSO robust, PSO robust"), "{}", ran.out);
    assert!(ran.out.contains("3 tests: 1 hold, 0 violated, 2 unknown"), "{}", ran.out);
}

const ASSEMBLY: &str = r#"
use std::arch::asm;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
fn both(fence: fn()) {
    static X: AtomicU32 = AtomicU32::new(0);
    static Y: AtomicU32 = AtomicU32::new(0);
    let other = std::thread::spawn(move || {
        X.store(1, Relaxed);
        fence();
        Y.load(Relaxed)
    });
    Y.store(1, Relaxed);
    fence();
    let a = X.load(Relaxed);
    assert!(a + other.join().unwrap() > 0);
}
#[test]
fn fences() {
    both(|| unsafe { asm!("mfence", options(nostack, preserves_flags)) });
}
#[test]
fn serialising() {
    both(|| drop(unsafe { std::arch::x86_64::__cpuid(0) }));
}
#[test]
fn stores() {
    both(|| unsafe { asm!("sfence", options(nostack, preserves_flags)) });
}
#[test]
fn updates() {
    both(|| {
        let mut word = 0_u32;
        let at = &raw mut word;
        unsafe { asm!("xchg dword ptr [{0}], {1:e}", in(reg) at, inout(reg) 1 => _) }
    });
}
"#;

const MOVES: &str = r#"
#[inline(never)]
pub fn read(at: *const u32) -> u32 {
    let value: u32;
    unsafe { std::arch::asm!("mov {1:e}, dword ptr [{0}]", in(reg) at, out(reg) value) };
    value
}
#[test]
fn moves() {
    let other = std::thread::spawn(|| read(&1));
    assert_eq!(other.join().unwrap(), 1);
}
"#;

#[test]
fn assembly_in_rust() {
    let folder = library("with-asm", ASSEMBLY);
    let ran = cargo("test", &folder, &["--strategy", "dpor", "--model", "tso"], &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    for test in ["fences", "serialising", "updates"] {
        let part = format!("small {test}: SC holds, TSO robust");
        assert!(ran.out.contains(&part), "{part}: {}", ran.out);
    }
    // A fence between stores is none for a store and a load.
    assert!(ran.out.contains("small stores: SC holds, TSO fails"), "{}", ran.out);

    let folder = library("with-mov", MOVES);
    let ran = cargo("test", &folder, &["--strategy", "dpor"], &[]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    // Where the line is folded depends on the folder.
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("src/lib.rs:5: assembly `movl"), "{}", ran.out);
    assert!(words.contains("is not instrumented"), "{}", ran.out);
}

const OUTSIDE: &str = r#"
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
static DONE: AtomicBool = AtomicBool::new(false);
#[test]
fn sleeps() {
    let other = std::thread::spawn(|| {
        std::fs::write("made", "x").unwrap();
        DONE.store(true, SeqCst);
    });
    std::thread::sleep(Duration::from_secs(1));
    let done = DONE.load(SeqCst);
    other.join().unwrap();
    assert!(done);
}
"#;

/// Sleeping orders nothing, which a failure says; files are written for real, but not in the crate.
#[test]
fn what_is_outside() {
    let folder = library("outside", OUTSIDE);
    let _ = fs::remove_file(folder.join("made"));
    let ran = cargo("test", &folder, &["--strategy", "dpor", "--scratch"], &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let slept = "sleeping orders nothing here: slept by sleeps#1 at src/lib.rs:11";
    assert!(ran.out.contains(slept), "{}", ran.out);
    assert!(ran.out.contains("the program writes to a file at src/lib.rs:"), "{}", ran.out);
    assert!(ran.out.contains("weakspot cargo test --replay"), "{}", ran.out);
    assert!(!folder.join("made").exists());
    let ran = cargo("test", &folder, &["--strategy", "dpor"], &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(folder.join("made").exists());
}
