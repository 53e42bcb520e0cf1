//! Lists and trees of C++, whose nodes are linked by functions of libstdc++.

use std::path::PathBuf;
use std::process::Command;

use crate::real::failures::explore;

/// Two threads with a container that both use.
fn program(container: &str, p: &str, q: &str) -> String {
    let headers = ["list", "map", "set", "sstream", "stdexcept", "string", "unordered_map"];
    let named = |name: &&&str| match **name {
        "sstream" | "stdexcept" => p.contains("stream") || q.contains("throw"),
        name => container.contains(&format!("std::{name}")),
    };
    let includes: String =
        headers.iter().filter(named).map(|name| format!("#include <{name}>\n")).collect();
    format!(
        "{includes}#include <cassert>
#include <mutex>
#include <thread>
static {container};
static std::mutex lock;
static volatile int sink;
int main() {{
    std::thread a([] {{ {p} }}), b([] {{ {q} }});
    a.join();
    b.join();
}}
"
    )
}

/// Without a lock, a walk meets nodes that are being linked, or are not there any more.
#[test]
fn that_nobody_guards() {
    const WALK: &str = "for (int v : all) sink = v;";
    const EMPTY: &str = "sink = all.empty();";
    for (name, container, p, q, found) in [
        (
            "list_erase",
            "std::list<int> all{1, 2}",
            "all.erase(std::next(all.begin()));",
            WALK,
            "use-after-free",
        ),
        ("list_push", "std::list<int> all", "all.push_back(1);", EMPTY, "data-race"),
        (
            "list_splice",
            "std::list<int> all{1}, others",
            "others.splice(others.end(), all, all.begin());",
            EMPTY,
            "data-race",
        ),
        ("list_swap", "std::list<int> all{1}, others", "all.swap(others);", EMPTY, "data-race"),
        ("list_turn", "std::list<int> all{1, 2}", "all.reverse();", WALK, "data-race"),
        ("set_erase", "std::set<int> all{1, 2, 3}", "all.erase(3);", WALK, "use-after-free"),
        (
            "map_back",
            "std::map<int, int> all{{1, 1}, {2, 2}}",
            "all[0] = 5;",
            "for (auto i = all.rbegin(); i != all.rend(); ++i) sink = i->second;",
            "data-race",
        ),
        (
            "hash",
            "std::unordered_map<std::string, int> all; std::string key(40, 'a')",
            "key[39] = 'b';",
            "all[key] = 1;",
            "data-race",
        ),
    ] {
        let source = program(container, p, q);
        let (out, code) = explore(&format!("{name}.cpp"), &source, &["-q", "--model", "tso"]);
        assert_eq!(code, Some(1), "{name}: {out}");
        assert!(out.contains(found), "{name}: {out}");
    }
}

/// Strings are the compiler's in every version of C++, and messages of exceptions are read from them. Of string streams nothing
/// is seen, which is said.
#[test]
fn strings() {
    for (name, p, q, found) in [
        ("string_longer", "all.append(\"x\");", "sink = all.size();", "data-race"),
        (
            "string_message",
            "all[3] = 'x';",
            "try { throw std::out_of_range(all); } catch (std::exception &) {}",
            "data-race",
        ),
        (
            "string_stream",
            "static std::ostringstream out; out << 1;",
            "",
            "what libstdc++ does to shared memory is not seen in: std::ostringstream",
        ),
    ] {
        let source = program("std::string all(40, 'a')", p, q);
        let (out, code) = explore(&format!("{name}.cpp"), &source, &["--model", "tso"]);
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(found), "{name}: {out}");
        assert_eq!(code, Some(i32::from(found == "data-race")), "{name}: {out}");
    }
}

/// With one, nothing is wrong, also where threads only read without it.
#[test]
fn that_are_guarded() {
    const GUARD: &str = "std::lock_guard<std::mutex> guard(lock);";
    for (name, container, p, q) in [
        (
            "list_guarded",
            "std::list<int> all{1, 2}",
            "all.push_front(0); all.pop_back();",
            "for (int v : all) sink = v; all.reverse();",
        ),
        (
            "map_guarded",
            "std::map<int, int> all{{1, 1}, {2, 2}, {3, 3}}",
            "all.erase(2); all[4] = 4;",
            "int sum = 0; for (auto &entry : all) sum += entry.second; assert(sum == 6 || sum == 8);",
        ),
    ] {
        let source = program(container, &format!("{GUARD} {p}"), &format!("{GUARD} {q}"));
        for under in [&["-q", "--robust"][..], &["-q", "--under", "tso"]] {
            let (out, code) = explore(&format!("{name}.cpp"), &source, under);
            assert_eq!(code, Some(0), "{name} {under:?}: {out}");
        }
    }
    let walk = "for (auto i = all.end(); i != all.begin();) sink = *--i;";
    let reads = program("std::set<int> all{1, 2, 3}", walk, "for (int v : all) sink = v;");
    let (out, code) = explore("set_read.cpp", &reads, &["-q", "--model", "tso"]);
    assert_eq!(code, Some(0), "{out}");
}

/// Trees and lists are those that libstdc++ itself makes, node by node, with our library and without, under control and not.
#[test]
fn are_what_they_were() {
    let source = include_str!("containers.cpp");
    let (out, code) = explore("containers.cpp", source, &["-q", "--model", "tso"]);
    assert_eq!(code, Some(0), "{out}");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("failures");
    let ours = Command::new(folder.join("containers")).arg("3000").output().expect("it runs");
    let plain = folder.join("containers-plain");
    let built = Command::new("g++")
        .args(["-O1", "-o"])
        .arg(&plain)
        .arg(folder.join("containers.cpp"))
        .status()
        .expect("g++");
    assert!(built.success());
    let theirs = Command::new(plain).arg("3000").output().expect("it runs");
    assert!(ours.status.success() && theirs.status.success(), "{ours:?} {theirs:?}");
    assert!(!ours.stdout.is_empty());
    assert_eq!(ours.stdout, theirs.stdout);
}
