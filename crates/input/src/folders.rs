//! The files that paths stand for.

use std::fmt;
use std::path::{Path, PathBuf};

/// Paths that stand for no files, and why.
#[derive(Debug)]
pub struct NoFiles(pub(crate) String);

impl fmt::Display for NoFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoFiles {}

/// Whether the path stands for standard input.
#[must_use]
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

pub(crate) fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|e| endings.iter().any(|&w| e == w))
}

/// The files that `paths` stand for: a folder stands for the files below it that have one of these
/// endings, by name.
pub(crate) fn expand(paths: &[PathBuf], endings: &[&str]) -> Result<Vec<PathBuf>, NoFiles> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        add_folder(path, endings, &mut files).map_err(|error| {
            NoFiles(format!("failed to read the folder {}: {error}", path.display()))
        })?;
        if files.len() == before {
            return Err(NoFiles(no_file(endings, path)));
        }
    }
    Ok(files)
}

/// The bytes of a file; what may be endless, such as a device or a pipe, is refused.
///
/// # Errors
///
/// It is no file, or cannot be read.
pub fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    match path.metadata()?.is_file() {
        true => std::fs::read(path),
        false => Err(std::io::Error::other("this is no file")),
    }
}

/// What files with the ending of this one are, and which commands read them; nothing if several languages have it.
#[must_use]
pub fn read_by(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "wshist" | "axe" | "hist" | "plume" | "awdit" | "edn" => {
            Some("a history, which `weakspot history` reads")
        }
        "wstrace" | "wslog" => Some("a log, which `weakspot monitor` and `weakspot serial` read"),
        "litmus" => Some("a litmus test, which `weakspot litmus` reads"),
        "weak" | "tso" | "rmm" => {
            Some("a program, which `weakspot reach` and `weakspot robust` read")
        }
        _ => None,
    }
}

/// That a folder has no file with one of these endings.
#[must_use]
pub fn no_file(endings: &[&str], folder: &Path) -> String {
    let listed = match endings {
        [many @ .., last] if !many.is_empty() => format!("{} or .{last}", many.join(", .")),
        _ => endings.concat(),
    };
    format!("no .{listed} file in the folder {}", folder.display())
}

fn add_folder(folder: &Path, endings: &[&str], files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        // Links to folders are not followed: they may lead back to where one came from.
        if path.is_dir() && !path.is_symlink() {
            add_folder(&path, endings, files)?;
        } else if path.is_file() && has_ending(&path, endings) {
            files.push(path);
        }
    }
    Ok(())
}
