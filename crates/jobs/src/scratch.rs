//! Searches that take less memory, as the user asks for it.

use std::fs::File;
use std::io;
use std::path::Path;

use weakspot_args::StorageArgs;
use weakspot_explore::{NoAnswer, Scratch, Storage};

/// Asks a question with less memory.
///
/// # Errors
///
/// As the question has; also if no file can be made where states are to be put.
pub fn with_storage<T>(
    args: &StorageArgs,
    ask: impl FnOnce(Storage<'_>) -> Result<T, NoAnswer>,
) -> Result<T, NoAnswer> {
    match args {
        StorageArgs::Hashes(bits) => ask(Storage::Hashes(*bits)),
        StorageArgs::Disk(path) => {
            let folder = Folder { path };
            // Better now than in an hour.
            folder.file().map_err(|error| NoAnswer::NotStored(folder.say(&error)))?;
            ask(Storage::Disk(&folder))
        }
    }
}

/// Files without names in a folder: whatever ends the process, nothing is left of them.
#[derive(Debug)]
struct Folder<'p> {
    path: &'p Path,
}

impl Scratch for Folder<'_> {
    fn file(&self) -> io::Result<File> {
        tempfile::tempfile_in(self.path)
    }

    fn say(&self, error: &io::Error) -> String {
        format!("--disk {}: states cannot be put there: {error}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_in_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = Folder { path: folder.path() };
        let file = scratch.file().expect("a file");
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let args = StorageArgs::Disk("/nowhere/at/all".into());
        let asked = with_storage(&args, |_| Ok(()));
        let Err(NoAnswer::NotStored(why)) = asked else { panic!("{asked:?}") };
        assert!(why.starts_with("--disk /nowhere/at/all: "), "{why}");
    }
}
