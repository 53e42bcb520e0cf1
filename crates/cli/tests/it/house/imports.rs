//! The files of each crate import each other without cycles.
//!
//! A file may use its own submodules and they may use it; besides that, imports go one way. Read
//! from the source are the `use` declarations and the paths that start with `crate`, `self`,
//! `super` or the name of a submodule. A name that a module re-exports counts as the file where it
//! is defined, so that no cycle hides behind a crate's root. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::root;

#[test]
fn files_import_each_other_without_cycles() {
    let mut cycles = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("crates") {
        let folder = entry.expect("a folder").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let source = folder.join("src");
        if !source.is_dir() {
            continue;
        }
        let modules = Modules::read(&source);
        // A facade may be one file; where there are more, they have to be found.
        let alone = std::fs::read_dir(&source).expect("files").count() == 1;
        assert!(alone || modules.files.len() > 1, "{name} has no modules");
        for cycle in components(&modules.edges()) {
            cycles.push(format!("{name}: {}", cycle.join(" <-> ")));
        }
    }
    cycles.sort();
    assert!(cycles.is_empty(), "cycles of imports:\n{}", cycles.join("\n"));
}

#[test]
fn cycles_are_found() {
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let modules = Modules::of(|path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, t)| (*t).to_owned())
        });
        let found: Vec<String> =
            components(&modules.edges()).iter().map(|cycle| cycle.join(" ")).collect();
        assert_eq!(found, expected);
    };
    let root = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;\n");
    // Through the names that the root re-exports.
    check(
        &[root, ("a.rs", "use crate::B;\npub struct A;"), ("b.rs", "use crate::{A, a};")],
        &["a b"],
    );
    // One way only; comments and tests do not count.
    let tests = "// crate::a\npub struct B;\n#[cfg(test)]\nmod tests { use crate::A; }\n";
    check(&[root, ("a.rs", "fn f() { crate::b::g() }"), ("b.rs", tests)], &[]);
    // A file and its own submodules.
    let parent = ("a.rs", "mod c;\nuse c::C;\npub struct A;");
    check(&[root, parent, ("a/c.rs", "use super::A;"), ("b.rs", "use crate::a;")], &[]);
    // Two submodules of one file.
    let parent = ("a.rs", "mod c;\nmod d;\n");
    let (c, d) = (("a/c.rs", "use super::d::D;"), ("a/d.rs", "use crate::a::c;"));
    check(&[root, parent, c, d, ("b.rs", "")], &["a::c a::d"]);
    // Two rooms.
    let (c, b) = (("a/c.rs", "use crate::b::B;"), ("b/mod.rs", "use crate::a::f;"));
    check(&[root, ("a.rs", "mod c;\npub use c::C;\nfn f() { c::g() }"), c, b], &["a a::c b"]);
}

/// A path of module names from the root of a crate.
type Module = Vec<String>;

/// The modules of a crate, each with what its file says, without comments and tests.
struct Modules {
    files: BTreeMap<Module, String>,
}

impl Modules {
    fn read(source: &Path) -> Modules {
        Modules::of(|path| std::fs::read_to_string(source.join(path)).ok())
    }

    fn of(read: impl Fn(&Path) -> Option<String>) -> Modules {
        let mut modules = Modules { files: BTreeMap::new() };
        let text = ["lib.rs", "main.rs"].iter().find_map(|name| read(Path::new(name)));
        let mut todo = vec![(Module::new(), PathBuf::new(), text.expect("the root of a crate"))];
        while let Some((module, folder, text)) = todo.pop() {
            let text = without_tests(&without_comments(&text));
            for name in declared(&text) {
                let inner = folder.join(&name);
                let file = [inner.with_extension("rs"), inner.join("mod.rs")];
                if let Some(text) = file.iter().find_map(|file| read(file)) {
                    todo.push(([&module[..], &[name]].concat(), inner, text));
                }
            }
            modules.files.insert(module, text);
        }
        modules
    }

    /// Which file uses which; what a submodule uses of the files above it is left out.
    fn edges(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let mut exports: BTreeMap<&Module, BTreeMap<String, Module>> = BTreeMap::new();
        let mut uses: Vec<(&Module, Module)> = Vec::new();
        for (module, text) in &self.files {
            let (declarations, rest) = use_declarations(text);
            for (is_public, path) in declarations {
                let (path, name) = match path.split_once(" as ") {
                    Some((path, name)) => (path.to_owned(), Some(name.trim().to_owned())),
                    None => (path, None),
                };
                let Some(mut path) = self.absolute(module, &path) else { continue };
                if path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                if is_public && let Some(name) = name.or(path.last().cloned()) {
                    exports.entry(module).or_default().insert(name, path.clone());
                }
                uses.push((module, path));
            }
            uses.extend(
                paths(&rest).filter_map(|p| self.absolute(module, &p)).map(|path| (module, path)),
            );
        }
        let mut edges: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, path) in uses {
            let used = self.defining(&exports, path);
            if !module.starts_with(&used) {
                edges.entry(module.clone()).or_default().insert(used);
            }
        }
        edges
    }

    /// `path` from the root of the crate, `None` if it is of another crate.
    fn absolute(&self, module: &Module, path: &str) -> Option<Module> {
        let mut parts = path.split("::").map(str::trim).peekable();
        let mut from = module.clone();
        match *parts.peek()? {
            "crate" => {
                from.clear();
                parts.next();
            }
            "self" => drop(parts.next()),
            "super" => {
                while parts.next_if_eq(&"super").is_some() {
                    from.pop()?;
                }
            }
            first => {
                let inner = [&module[..], &[first.to_owned()]].concat();
                self.files.get(&inner)?;
            }
        }
        from.extend(parts.map(str::to_owned));
        Some(from)
    }

    /// The module whose file defines what `path` names.
    fn defining(
        &self,
        exports: &BTreeMap<&Module, BTreeMap<String, Module>>,
        mut path: Module,
    ) -> Module {
        // Re-exports may lead in a circle where names of values and modules are the same.
        for _ in 0..20 {
            let known = (0..=path.len()).rev().find(|&n| self.files.contains_key(&path[..n]));
            let known = known.unwrap_or(0);
            let exported = path.get(known).and_then(|name| {
                exports.get(&path[..known].to_vec()).and_then(|names| names.get(name))
            });
            match exported {
                Some(target) if *target != path[..=known] => {
                    path = [&target[..], &path[known + 1..]].concat();
                }
                _ => {
                    path.truncate(known);
                    break;
                }
            }
        }
        path
    }
}

/// The text without comments, and with what is in string literals left out.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
        } else if let Some(hashes) = raw_string(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = 2 + hashes;
            rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len())
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.push(' ');
        rest = &rest[skipped..];
    }
    out
}

/// How many `#` a raw string literal has that starts here.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.strip_prefix('r')?.bytes().take_while(|&b| b == b'#').count();
    text[1 + hashes..].starts_with('"').then_some(hashes)
}

/// The text without modules that are for tests only.
fn without_tests(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("#[cfg(test)]") {
        let behind = &rest[at + "#[cfg(test)]".len()..];
        out.push_str(&rest[..at]);
        let end = behind.find([';', '{']).unwrap_or(behind.len());
        let is_block = behind[end..].starts_with('{');
        let mut depth = 0;
        let block = behind[end..].find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        let block = if is_block { block } else { Some(0) };
        rest = block.map_or("", |n| behind.get(end + n + 1..).unwrap_or_default());
    }
    out + rest
}

/// The modules that have a file of their own.
fn declared(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let names = words.windows(2).filter(|pair| pair[0] == "mod");
    names.filter_map(|pair| pair[1].strip_suffix(';')).map(str::to_owned).collect()
}

/// The paths of all `use` declarations, each with whether it is public, and the text without them.
pub(crate) fn use_declarations(text: &str) -> (Vec<(bool, String)>, String) {
    let (mut found, mut out) = (Vec::new(), String::new());
    let mut text = text;
    while let Some(at) = find_word(text, "use") {
        let Some(end) = text[at..].find(';').map(|n| at + n) else { break };
        let before = text[..at].trim_end();
        let start = before.rfind([';', '{', '}', ']', '\n']).map_or(0, |n| n + 1);
        let is_public = before[start..].trim_start().starts_with("pub");
        expand(text[at + 3..end].trim(), "", &mut |path| found.push((is_public, path)));
        out.push_str(&text[..at]);
        text = &text[end + 1..];
    }
    (found, out + text)
}

/// Where `word` stands alone.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        !text[..at].ends_with(part) && text[at + word.len()..].starts_with(char::is_whitespace)
    })
}

/// All paths of a tree like `a::{b, c::{self, d}}`.
fn expand(tree: &str, before: &str, found: &mut dyn FnMut(String)) {
    let Some((head, list)) = tree.split_once('{') else {
        return found(format!("{before}{}", tree.trim()));
    };
    let before = format!("{before}{}", head.trim());
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            if !list[start..at].trim().is_empty() {
                expand(list[start..at].trim(), &before, found);
            }
            start = at + 1;
        }
    }
}

/// The paths of two or more names in a text.
fn paths(text: &str) -> impl Iterator<Item = String> + '_ {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = text.split(move |c: char| !part(c));
    words.filter(|word| !word.starts_with("::")).filter_map(|word| {
        let path = word.trim_end_matches(':');
        path.contains("::").then(|| path.to_owned())
    })
}

/// The sets of modules, by name, in which each leads to each other.
fn components(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<String>> {
    let reach = |from: &Module| {
        let mut seen: BTreeSet<&Module> = BTreeSet::new();
        let mut todo: Vec<&Module> = edges.get(from).into_iter().flatten().collect();
        while let Some(module) = todo.pop() {
            if seen.insert(module) {
                todo.extend(edges.get(module).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        edges.keys().map(|module| (module, reach(module))).collect();
    let together = |a: &Module, b: &Module| {
        reached.get(a).is_some_and(|r| r.contains(b))
            && reached.get(b).is_some_and(|r| r.contains(a))
    };
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for module in edges.keys() {
        let cycle: Vec<String> =
            edges.keys().filter(|other| together(module, other)).map(|m| m.join("::")).collect();
        if cycle.len() > 1 {
            found.insert(cycle);
        }
    }
    found.into_iter().collect()
}
