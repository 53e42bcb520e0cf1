//! The runtime library, which this program carries and unpacks.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

/// The library, as `build.rs` has packed it.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.deflate"));

/// The header with the marks that a program may have.
static HEADER: &[u8] = include_bytes!("weakspot.h");

/// What its file is called.
pub const NAME: &str = "libweakspot_rt.so";

/// The folder with the library and the header: in the user's cache, or else in a temporary one. It is written if it
/// is not there, or is not what it should be.
pub fn unpack() -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    (PACKED, HEADER).hash(&mut hasher);
    let library = miniz_oxide::inflate::decompress_to_vec(PACKED)
        .map_err(|e| format!("the runtime library of this program is damaged: {e}"))?;
    // Different versions do not get into each other's way.
    let folder = cache().join(format!("runtime-{:016x}", hasher.finish()));
    let file = folder.join(NAME);
    for (file, bytes) in [(file, &library[..]), (folder.join("weakspot.h"), HEADER)] {
        if !fs::read(&file).is_ok_and(|found| found == bytes) {
            write(&folder, &file, bytes)
                .map_err(|e| format!("cannot write {}: {e}", file.display()))?;
        }
    }
    Ok(folder)
}

/// Others may do the same at the same time: the file appears as a whole.
fn write(folder: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let part = folder.join(format!("{NAME}.{}", process::id()));
    fs::write(&part, bytes)?;
    fs::rename(&part, file)
}

fn cache() -> PathBuf {
    let set = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(env::temp_dir)
        .join("weakspot")
}
