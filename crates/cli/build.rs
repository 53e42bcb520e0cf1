//! What is shipped has no tables for unwinding: a panic ends it at once (see the profiles in Cargo.toml), and they
//! are a tenth of the program.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=no-unwinding.ld");
    // No variable says how panics end, or which profile this is; only `dist` asks for small code.
    let is_shipped = env::var("OPT_LEVEL").is_ok_and(|level| level == "z");
    let is_elf = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if is_shipped && is_elf {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
        println!("cargo::rustc-link-arg-bins=-T{folder}/no-unwinding.ld");
    }
}
