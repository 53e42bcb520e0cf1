//! Code in a crate that is not Rust: C and C++ that build scripts compile are compiled by `weakspot cc`,
//! and what else they link in is noted; so is assembly in Rust that no trap finds.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;
use weakspot_build::FOR_BUILD_SCRIPTS;
use weakspot_build::assembly::untrapped;
use weakspot_campaign::Linked;

/// The names by which this program is a compiler, and the variables that name one.
const COMPILERS: [(&str, &str); 2] = [("weakspot-cc", "CC"), ("weakspot-cxx", "CXX")];

/// Has build scripts for this target call us as their compiler.
pub(crate) fn compilers(build: &mut Command, target: &str, folder: &Path) -> Result<()> {
    let failed = || format!("failed to write to {}", folder.display());
    let own = std::env::current_exe().context("this program does not know where it is")?;
    std::fs::create_dir_all(folder).with_context(failed)?;
    let plain = target.replace('-', "_");
    for (name, variable) in COMPILERS {
        let link = folder.join(name);
        if std::fs::read_link(&link).ok().as_ref() != Some(&own) {
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&own, &link).with_context(failed)?;
        }
        let names = [
            format!("{variable}_{target}"),
            format!("{variable}_{plain}"),
            format!("TARGET_{variable}"),
            variable.to_owned(),
        ];
        // The compiler that the user has chosen is the one that we call.
        let chosen = format!("WEAKSPOT_{variable}");
        let of_user = names.iter().find_map(std::env::var_os).filter(|v| is_word(v));
        if let (Some(compiler), None) = (of_user, std::env::var_os(&chosen)) {
            build.env(chosen, compiler);
        }
        for name in names {
            build.env(name, &link);
        }
    }
    build.env(FOR_BUILD_SCRIPTS, "1");
    Ok(())
}

fn is_word(value: &OsStr) -> bool {
    value.to_str().is_some_and(|text| !text.is_empty() && !text.contains(' '))
}

/// Whether the compiler that we are is called for code that is not to be instrumented: that of build
/// scripts themselves and of procedural macros, which are built without our flags.
pub fn is_for_host() -> bool {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    std::env::var_os(FOR_BUILD_SCRIPTS).is_some() && !flags.contains("sanitizer=thread")
}

/// The compiler that we stand for.
pub fn plain_compiler(variable: &str, usual: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| usual.into())
}

/// What the messages of cargo say about code that is not Rust.
pub(crate) fn linked(messages: &[Value]) -> Linked {
    let mut archives = BTreeSet::new();
    for message in messages.iter().filter(|m| m["reason"] == "build-script-executed") {
        let texts = |key: &str| {
            let list = message[key].as_array().map_or(&[][..], Vec::as_slice);
            list.iter().filter_map(Value::as_str).collect::<Vec<_>>()
        };
        for library in texts("linked_libs") {
            let name = library.rsplit('=').next().unwrap_or("").split(':').next().unwrap_or("");
            for path in texts("linked_paths") {
                let folder = path.split_once('=').map_or(path, |(_, folder)| folder);
                let archive = Path::new(folder).join(format!("lib{name}.a"));
                if archive.is_file() {
                    archives.insert(archive);
                }
            }
        }
    }
    Linked { archives: archives.into_iter().collect(), assembly: assembly(messages) }
}

/// What cannot be seen of `asm!`, from the assembly that the compiler has written beside its results.
fn assembly(messages: &[Value]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for message in messages.iter().filter(|m| m["reason"] == "compiler-artifact") {
        let files = message["filenames"].as_array().map_or(&[][..], Vec::as_slice);
        let executable = message["executable"].as_str();
        let files = files.iter().filter_map(Value::as_str).chain(executable);
        let listings: BTreeSet<PathBuf> = files.flat_map(|file| beside(Path::new(file))).collect();
        for listing in listings {
            // Names in it need not be UTF-8, but what we look for is.
            let Ok(text) = std::fs::read(&listing) else { continue };
            for (function, unseen) in untrapped(&String::from_utf8_lossy(&text)) {
                let place = unseen.place.map(|(file, line)| format!("{file}:{line}: "));
                let what = format!(
                    "{}assembly `{}`",
                    place.unwrap_or_default(),
                    unseen.instruction.replace('\t', " ")
                );
                found.push((function, what));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The assembly of an artifact: files with its name and hash.
fn beside(artifact: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(stem)) = (artifact.parent(), artifact.file_stem()) else {
        return Vec::new();
    };
    let stem = stem.to_string_lossy();
    let stem = match artifact.extension() {
        Some(_) => stem.strip_prefix("lib").unwrap_or(&stem),
        None => &stem,
    };
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "s"))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'))
        })
        .collect()
}

/// Whether a package in the graph of a crate has assembly in its sources.
pub(crate) fn mentions_assembly(metadata: &Value) -> bool {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    packages
        .iter()
        .filter_map(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .any(|folder| mentions(folder, 0))
}

fn mentions(folder: &Path, depth: usize) -> bool {
    const MOST: usize = 12;
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    depth < MOST
        && entries.flatten().any(|entry| {
            let (path, kind) = (entry.path(), entry.file_type());
            match kind.is_ok_and(|kind| kind.is_dir()) {
                true => !path.ends_with("target") && mentions(&path, depth + 1),
                false => {
                    path.extension().is_some_and(|ending| ending == "rs")
                        && std::fs::read_to_string(&path).is_ok_and(|text| text.contains("asm!"))
                }
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_of_build_scripts_are_found() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libfoo.a"), "").unwrap();
        let message = serde_json::json!({
            "reason": "build-script-executed",
            "linked_libs": ["static=foo", "static:+whole-archive=bar", "z"],
            "linked_paths": [format!("native={}", folder.path().display())],
        });
        assert_eq!(linked(&[message]).archives, [folder.path().join("libfoo.a")]);
    }
}
