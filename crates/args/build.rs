//! Finds out which commit a release is built from. Other builds do not ask: they would be built again
//! after each commit.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=WEAKSPOT_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let known = std::env::var("WEAKSPOT_COMMIT").ok();
    let Some(commit) = known.or_else(|| release.then(asked).flatten()) else { return };
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rustc-env=WEAKSPOT_COMMIT={commit}");
    println!("cargo::rustc-env=WEAKSPOT_VERSION={version} ({commit})");
}

/// What git says; nothing if there is no git, or no repository.
fn asked() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
    };
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}
