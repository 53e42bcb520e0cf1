//! Builds the runtime library (`crates/rt`), whatever is being built otherwise, so that the binary
//! can carry it. A library of its own target cannot be had from cargo in another way.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What the library is made of.
const PARTS: [&str; 5] = ["rt", "live", "serial", "sat", "core"];

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    let var = |name: &str| env::var_os(name).ok_or_else(|| format!("{name} is not set"));
    let root = PathBuf::from(var("CARGO_MANIFEST_DIR")?).join("../..");
    let out = PathBuf::from(var("OUT_DIR")?);
    for part in PARTS {
        let folder = root.join("crates").join(part);
        println!("cargo::rerun-if-changed={}", folder.join("src").display());
        println!("cargo::rerun-if-changed={}", folder.join("Cargo.toml").display());
    }
    let target = shared_target(&out);
    let mut cargo = Command::new(var("CARGO")?);
    // While this is developed the library should be there soon; what is installed should be fast.
    let quickly = var("PROFILE")? == "debug";
    let target = if quickly { target.join("quick") } else { target };
    if quickly {
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
        cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "none");
    }
    let status = cargo
        .args(["build", "--release", "--locked", "--quiet", "-p", "weakspot-rt", "--target-dir"])
        .arg(&target)
        .current_dir(&root)
        // What is asked of the build around this one (clippy, coverage, other flags) is not meant
        // for the library.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("CARGO_TARGET_DIR")
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if !status.success() {
        return Err("the runtime library, crates/rt, was not built".to_string());
    }
    let library = target.join("release/libweakspot_rt.so");
    if !library.is_file() {
        return Err(format!("there is no {}", library.display()));
    }
    // A copy that stays what it is while others build.
    let copy = out.join("libweakspot_rt.so");
    std::fs::copy(&library, &copy).map_err(|e| format!("cannot copy the library: {e}"))?;
    println!("cargo::rustc-env=WEAKSPOT_RUNTIME={}", copy.display());
    Ok(())
}

/// A folder beside those of the profiles, so that all of them share the library; else one that is
/// only for this build.
fn shared_target(out: &Path) -> PathBuf {
    let is_build = |folder: &Path| folder.file_name() == Some(&OsString::from("build"));
    match out
        .ancestors()
        .nth(2)
        .filter(|folder| is_build(folder))
        .and_then(|f| f.ancestors().nth(2))
    {
        Some(target) => target.join("runtime"),
        None => out.join("runtime"),
    }
}
