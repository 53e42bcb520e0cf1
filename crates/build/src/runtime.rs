//! The runtime library, which this program carries and unpacks.

use std::fs::{DirBuilder, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io, process};

/// The library, as `build.rs` has packed it.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.deflate"));

/// How long it is when it is unpacked, and its checksum.
mod library {
    include!(concat!(env!("OUT_DIR"), "/runtime.rs"));
}

/// The header with the marks that a program may have.
static HEADER: &[u8] = include_bytes!("weakspot.h");

/// That with functions of other checkers, under the name by which programs for GenMC ask for them.
static VERIFIER: &[u8] = include_bytes!("genmc.h");

/// That by which the functions of `std::string` are instrumented, under the name by which all of libstdc++ asks for its own.
static STRINGS: &[u8] = include_bytes!("strings.h");

/// What its file is called.
pub const NAME: &str = "libweakspot_rt.so";

/// The folder with the library and the header: in the user's cache, or else in the temporary folder. It is written if
/// it is not there, or is not what it should be.
///
/// What is in it runs inside of the user's programs, so it has to be the user's own: folders that others own or may
/// write to are refused, and so are links.
///
/// Once in a process, and unpacked only where it has to be written: that takes longer than most tests.
pub fn unpack() -> Result<PathBuf, String> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOLDER.get_or_init(unpack_now).clone()
}

fn unpack_now() -> Result<PathBuf, String> {
    // Different versions do not get into each other's way.
    let mut hasher = DefaultHasher::new();
    (library::LEN, library::SUM, HEADER, VERIFIER, STRINGS).hash(&mut hasher);
    let name = format!("runtime-{:016x}", hasher.finish());
    let folder = cache()?.join(name);
    // Others may run what was built with it.
    private(&folder, 0o755)?;
    private(&folder.join("bits"), 0o755)?;
    let is_library =
        |bytes: &[u8]| bytes.len() == library::LEN && crc32fast::hash(bytes) == library::SUM;
    write_unless(is_library, &folder.join(NAME), || {
        miniz_oxide::inflate::decompress_to_vec(PACKED)
            .map_err(|e| format!("the runtime library of this program is damaged: {e}"))
    })?;
    let headers = [("weakspot.h", HEADER), ("genmc.h", VERIFIER), ("bits/c++config.h", STRINGS)];
    for (name, header) in headers {
        write_unless(|bytes| bytes == header, &folder.join(name), || Ok(header.to_vec()))?;
    }
    Ok(folder)
}

/// Writes a file, unless what is there is what it should be.
fn write_unless(
    is_same: impl Fn(&[u8]) -> bool,
    file: &Path,
    bytes: impl Fn() -> Result<Vec<u8>, String>,
) -> Result<(), String> {
    // What others may write to is theirs, whatever its checksum is.
    let user = user()?;
    let is_own =
        |data: fs::Metadata| data.is_file() && data.uid() == user && data.mode() & 0o022 == 0;
    let same = fs::symlink_metadata(file).is_ok_and(is_own)
        && fs::read(file).is_ok_and(|found| is_same(&found));
    if same {
        return Ok(());
    }
    write(file, &bytes()?).map_err(|e| format!("failed to write {}: {e}", file.display()))
}

/// Others may do the same at the same time: the file appears as a whole.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let part = file.with_extension(format!("{}-{number}.part", process::id()));
    // What an earlier process with this number may have left.
    let _ = fs::remove_file(&part);
    let mut new = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&part)?;
    new.write_all(bytes)?;
    drop(new);
    fs::rename(&part, file)
}

/// The folder of this program in the user's cache; without one, a folder of the user's in the temporary one.
fn cache() -> Result<PathBuf, String> {
    let set = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(".cache")));
    match cache {
        Some(cache) => {
            let folder = cache.join("weakspot");
            fs::create_dir_all(&folder)
                .map_err(|e| format!("failed to make {}: {e}", folder.display()))?;
            Ok(folder)
        }
        None => {
            let folder = env::temp_dir().join(format!("weakspot-{}", user()?));
            private(&folder, 0o700)?;
            Ok(folder)
        }
    }
}

/// The number of the user: the owner of what the kernel shows of this process.
fn user() -> Result<u32, String> {
    let data = fs::metadata("/proc/self").map_err(|e| format!("failed to read /proc: {e}"))?;
    Ok(data.uid())
}

/// Makes a folder that only the user can write to, if it is not there; refuses one that is not like that.
fn private(folder: &Path, mode: u32) -> Result<(), String> {
    let shown = folder.display();
    match DirBuilder::new().mode(mode).create(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("failed to make {shown}: {error}")),
    }
    let data = fs::symlink_metadata(folder).map_err(|e| format!("failed to read {shown}: {e}"))?;
    if !data.is_dir() {
        return Err(format!("{shown} is no folder: the runtime library is not put there"));
    }
    if data.uid() != user()? || data.mode() & 0o022 != 0 {
        return Err(format!(
            "{shown} belongs to somebody else, or others may write to it: the runtime library is not put there; \
             remove it, or set HOME"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn folders_that_others_may_write_to_are_refused() {
        let base = env::temp_dir().join(format!("weakspot-runtime-test-{}", process::id()));
        fs::create_dir_all(&base).unwrap();
        let folder = base.join("mine");
        assert_eq!(private(&folder, 0o700), Ok(()));
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(private(&folder, 0o700), Ok(()));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(private(&folder, 0o700).unwrap_err().contains("others may write to it"));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(private(&folder, 0o700), Ok(()));
        let link = base.join("link");
        symlink(&folder, &link).unwrap();
        assert!(private(&link, 0o700).unwrap_err().contains("is no folder"));
        fs::remove_dir_all(&base).unwrap();
    }
}
