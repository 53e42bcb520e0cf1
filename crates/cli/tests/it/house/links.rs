//! Links between pages lead somewhere, and the book lists every page once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// All files below a folder, but for what compilers make and what programs of others are.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_dir = entry.file_type().expect("a kind").is_dir();
        if is_dir && name != "target" && !name.starts_with('.') {
            files(&entry.path(), found);
        } else if !is_dir {
            found.push(entry.path());
        }
    }
}

fn all(endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), &mut found);
    let ends = |path: &PathBuf| {
        let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        endings.contains(&ending.as_str())
    };
    found.retain(ends);
    found.sort();
    found
}

/// The part behind `#` by which a heading is linked to, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines of a page that are not in blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

fn anchors(page: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(page).expect("a readable page");
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for line in prose(&text).filter(|line| line.starts_with('#')) {
        let name = anchor(line.trim_start_matches('#'));
        let seen = found.entry(name.clone()).or_default();
        names.insert(if *seen == 0 { name } else { format!("{name}-{seen}") });
        *seen += 1;
    }
    names
}

/// The targets of the links of a page, without those into the web.
fn links(text: &str) -> Vec<String> {
    let prose: Vec<&str> = prose(text).collect();
    let prose = prose.join("\n");
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|link| !link.contains("://")).map(str::to_owned).collect()
}

#[test]
fn links_lead_somewhere() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in all(&["md"]) {
        let text = fs::read_to_string(&page).expect("a readable page");
        for link in links(&text) {
            let (path, part) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                _ => page.parent().expect("a folder").join(path),
            };
            count += 1;
            let is_page = target.extension().is_some_and(|e| e == "md");
            let has_part = part.is_empty() || !is_page || anchors(&target).contains(part);
            if !target.exists() || !has_part {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
    assert!(count > 200, "{count} links");
}

/// What comments, messages, help texts and scripts call `docs/...` is there.
#[test]
fn what_is_named_is_there() {
    let mut named = all(&["rs", "toml", "md", "c", "h", "weak", "litmus", "html", "js", "json"]);
    files(&root().join("scripts"), &mut named);
    let (mut count, mut wrong) = (0, Vec::new());
    for path in named {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let is_of_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.');
        // A path that is part of a longer one is another file.
        for (at, _) in text.match_indices("docs/") {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| is_of_path(c) && c != '/') {
                continue;
            }
            let end = text[at..].find(|c| !is_of_path(c)).map_or(text.len(), |end| at + end);
            let name = text[at..end].trim_end_matches(['.', '/']);
            if name == "docs" {
                continue;
            }
            count += 1;
            if !root().join(name).exists() {
                wrong.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "files that are named and not there:\n{}", wrong.join("\n"));
    assert!(count > 60, "{count} names");
}

/// mdBook shows only what docs/SUMMARY.md lists.
#[test]
fn the_book_lists_every_page_once() {
    let docs = root().join("docs");
    let text = fs::read_to_string(docs.join("SUMMARY.md")).expect("the summary");
    let mut listed = links(&text);
    let mut pages = Vec::new();
    files(&docs, &mut pages);
    let mut pages: Vec<String> = pages
        .iter()
        .filter_map(|path| path.strip_prefix(&docs).ok()?.to_str().map(str::to_owned))
        .filter(|path| path.ends_with(".md") && path != "SUMMARY.md")
        .collect();
    listed.sort();
    pages.sort();
    assert_eq!(listed, pages);
}

/// The first page of the book leads to every page, too.
#[test]
fn the_first_page_leads_to_all() {
    let docs = root().join("docs");
    let read = |name| fs::read_to_string(docs.join(name)).expect("a page");
    let linked: BTreeSet<String> = links(&read("README.md")).into_iter().collect();
    let listed = links(&read("SUMMARY.md"));
    let missing = listed.iter().filter(|page| *page != "README.md" && !linked.contains(*page));
    let missing: Vec<&String> = missing.collect();
    assert!(missing.is_empty(), "not on docs/README.md: {missing:?}");
}
