//! Packs the runtime library (`weakspot-rt`), so that the binary can carry it.
//!
//! The library is a build dependency: cargo builds it, from a checkout or from a registry, before this
//! runs, and shares what it is made of with the rest. Nothing of it is linked into this script, which
//! does not mention it (its functions have the names of libc's).

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;
use std::{env, fs};

fn main() -> ExitCode {
    // The library itself is no such file: where it changes, cargo runs this again.
    println!("cargo::rerun-if-changed=build.rs");
    match pack() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

fn pack() -> Result<(), String> {
    let library = find()?;
    let bytes =
        fs::read(&library).map_err(|e| format!("cannot read {}: {e}", library.display()))?;
    let packed = miniz_oxide::deflate::compress_to_vec(&bytes, 9);
    // Which one it is can be seen without unpacking it.
    let sum = crc32fast::hash(&bytes);
    let about = format!(
        "pub(super) const LEN: usize = {};\npub(super) const SUM: u32 = {sum};\n",
        bytes.len()
    );
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let write = |name: &str, bytes: &[u8]| fs::write(Path::new(&out).join(name), bytes);
    write("runtime.deflate", &packed)
        .and_then(|()| write("runtime.rs", about.as_bytes()))
        .map_err(|e| format!("cannot write the packed library: {e}"))
}

/// Where cargo put the library: with what else it built for build scripts. Its name has no hash in a
/// workspace, and has one if it came from a registry.
fn find() -> Result<PathBuf, String> {
    let script = env::current_exe().map_err(|e| format!("cannot find this script: {e}"))?;
    let folder = script
        .ancestors()
        .nth(3)
        .ok_or_else(|| format!("{} is not where cargo runs scripts", script.display()))?
        .join("deps");
    let plain = folder.join("libweakspot_rt.so");
    if plain.is_file() {
        return Ok(plain);
    }
    let entries =
        fs::read_dir(&folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libweakspot_rt-") && name.ends_with(".so")
        })
        .max_by_key(|entry| {
            entry.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
        })
        .map(|entry| entry.path())
        .ok_or_else(|| format!("there is no libweakspot_rt.so in {}", folder.display()))
}
