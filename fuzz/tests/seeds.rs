//! The seeds of the targets, and each of them with a few bytes changed: what a normal test can see of a target.

use std::path::Path;

use weakspot_core::testing::Rng;
use weakspot_fuzz::{check_serve, check_token, check_wire, check_witness};

/// Calls `check` with each file, and with versions of it in which bytes are missing, doubled or changed.
fn replay(target: &str, versions: u64, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let seed = std::fs::read(entry.expect("an entry").path()).expect("a seed");
        files += 1;
        check(&seed);
        for version in 0..versions {
            let mut rng = Rng::new(version);
            let mut bytes = seed.clone();
            for _ in 0..1 + rng.below(3) {
                let at = rng.below(bytes.len());
                match rng.below(4) {
                    0 if bytes.len() > 1 => drop(bytes.remove(at)),
                    1 => bytes.insert(at, bytes[at]),
                    2 => bytes[at] = b"0123456789-\"[]{},:_%+xbq"[rng.below(24)],
                    _ => bytes[at] = rng.next_u64() as u8,
                }
            }
            check(&bytes);
        }
    }
    assert!(files > 1, "{target} has no seeds");
}

#[test]
fn witness() {
    replay("witness", 3_000, check_witness);
}

#[test]
fn token() {
    replay("token", 20_000, check_token);
}

#[test]
fn wire() {
    replay("wire", 20_000, check_wire);
}

#[test]
fn serve() {
    replay("serve", 50, check_serve);
}
