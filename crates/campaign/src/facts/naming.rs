//! What sources are called, wherever an answer names them: from the folder that one is in.

use std::path::{Component, Path, PathBuf};

/// What sources are called. A crate that is neither above nor below the folder that one is in is named as its compiler does,
/// from its own root.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    here: PathBuf,
    root: Option<PathBuf>,
}

impl Naming {
    /// Those of a program whose compiler names sources from a root, if not from where it was called.
    #[must_use]
    pub fn of(root: Option<&Path>) -> Naming {
        let here = std::env::current_dir().unwrap_or_default();
        Naming { here, root: root.map(Path::to_owned) }
    }

    /// The root of a crate that is elsewhere, from which sources are named instead.
    #[must_use]
    pub fn elsewhere(&self) -> Option<&Path> {
        let is_far = |root: &&Path| !root.starts_with(&self.here) && !self.here.starts_with(root);
        self.root.as_deref().filter(is_far)
    }

    /// What a file is called.
    pub(crate) fn name(&self, path: &str) -> String {
        let path = without_detours(path);
        let from = self.elsewhere().unwrap_or(&self.here);
        let name = match path.strip_prefix(from) {
            Ok(below) => below.to_owned(),
            Err(_) if self.is_near(&path) => way(&self.here, &path),
            Err(_) => path,
        };
        name.display().to_string()
    }

    /// Whether a file that is not below is so near that the way to it is shorter than its path: in the crate that one is in, or
    /// beside the folder of a build.
    fn is_near(&self, path: &Path) -> bool {
        let has = |folder: &Path| folder.parent().is_some() && path.starts_with(folder);
        let crate_of = self.root.as_deref().filter(|root| self.here.starts_with(root));
        crate_of.is_some_and(has) || self.here.parent().is_some_and(has)
    }

    /// All that a file may be called: also as it is from its root, and with all of its folders.
    pub(crate) fn names(&self, path: &str) -> [String; 3] {
        let whole = without_detours(path);
        let below = self.root.as_ref().and_then(|root| whole.strip_prefix(root).ok());
        let below = below.unwrap_or(&whole).display().to_string();
        [self.name(path), below, whole.display().to_string()]
    }

    /// What a panic says: the compiler has written the place, from the root.
    pub(crate) fn said(&self, text: &str) -> String {
        let renamed = |root: &PathBuf| {
            let (file, rest) = text.split_once(':')?;
            let path = root.join(file);
            (rest.starts_with(|c: char| c.is_ascii_digit()) && path.is_file())
                .then(|| format!("{}:{rest}", self.name(&path.to_string_lossy())))
        };
        self.root.as_ref().and_then(renamed).unwrap_or_else(|| text.to_owned())
    }

    /// What files are called in a diff, which `patch` takes only of files below a folder, and that folder if it is another than
    /// one is in.
    #[must_use]
    pub fn in_diff(&self, paths: &[&Path]) -> (Option<String>, Vec<String>) {
        let paths: Vec<PathBuf> =
            paths.iter().map(|path| without_detours(&path.to_string_lossy())).collect();
        let has_all = |folder: &&Path| paths.iter().all(|path| path.starts_with(folder));
        let near = self.here.parent().into_iter().flat_map(Path::ancestors);
        let near = near.filter(|folder| folder.parent().is_some());
        let mut folders = [&*self.here].into_iter().chain(self.elsewhere()).chain(near);
        let top = || paths.first().and_then(|path| path.parent()?.ancestors().find(has_all));
        let Some(folder) = folders.find(has_all).or_else(top) else { return (None, Vec::new()) };
        let name = |path: &PathBuf| path.strip_prefix(folder).unwrap_or(path).display().to_string();
        let shown =
            if self.here.starts_with(folder) { way(&self.here, folder) } else { folder.to_owned() };
        let is_other = folder != self.here;
        (is_other.then(|| shown.display().to_string()), paths.iter().map(name).collect())
    }
}

/// The way to a file from a folder, by their absolute names.
fn way(folder: &Path, file: &Path) -> PathBuf {
    let common = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(file.components().skip(common)).collect()
}

/// A path without `.` and `..`.
fn without_detours(path: &str) -> PathBuf {
    let mut short = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if short.file_name().is_some() => {
                short.pop();
            }
            Component::CurDir => {}
            part => short.push(part),
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming(here: &str, root: &str) -> Naming {
        Naming { here: here.into(), root: (!root.is_empty()).then(|| root.into()) }
    }

    #[test]
    fn sources_are_named_from_here() {
        let name = |here, root, path| naming(here, root).name(path);
        assert_eq!(name("/w", "/w/sub", "/w/sub/src/lib.rs"), "sub/src/lib.rs");
        assert_eq!(name("/w/sub", "/w/sub", "/w/sub/src/lib.rs"), "src/lib.rs");
        assert_eq!(name("/w/sub/src", "/w", "/w/other/src/lib.rs"), "../../other/src/lib.rs");
        // What is elsewhere is named from its root, and what is in no crate with all of its folders.
        assert_eq!(name("/h", "/w/sub", "/w/sub/src/lib.rs"), "src/lib.rs");
        assert_eq!(name("/w", "", "/usr/include/a.h"), "/usr/include/a.h");
        assert_eq!(name("/p/w/build", "", "/p/w/build/../src/a.c"), "../src/a.c");
    }

    #[test]
    fn diffs_are_of_files_below_a_folder() {
        let in_diff = |here, root, paths: &[&str]| {
            let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
            let (folder, names) = naming(here, root).in_diff(&paths);
            (folder.unwrap_or_default(), names.join(" "))
        };
        let is = |folder: &str, names: &str| (folder.to_owned(), names.to_owned());
        assert_eq!(in_diff("/w", "/w/sub", &["/w/sub/src/lib.rs"]), is("", "sub/src/lib.rs"));
        assert_eq!(in_diff("/h", "/w", &["/w/src/lib.rs"]), is("/w", "src/lib.rs"));
        assert_eq!(in_diff("/w/b", "", &["/w/b/../a.c", "/w/s/b.c"]), is("..", "a.c s/b.c"));
        assert_eq!(in_diff("/h", "", &["/w/x/a.c", "/w/b.c"]), is("/w", "x/a.c b.c"));
    }
}
