//! What a compiler writes takes its place only when it is complete: it is written beside it, and renamed. A compiler that
//! fails, as on a full disk, leaves what was there before.

use std::path::PathBuf;
use std::{fs, process};

/// A file that a compiler writes beside its place.
pub(crate) struct Beside {
    written: PathBuf,
    place: PathBuf,
    is_done: bool,
}

impl Beside {
    /// Changes where a call of a compiler writes: what follows `-o`, or `usual` if there is none. `None` if it has to be
    /// written where it is: to a device, or with other files that are named after it.
    pub(crate) fn of(args: &mut Vec<String>, usual: Option<&str>) -> Option<Beside> {
        if args.iter().any(|arg| arg.starts_with("-gsplit-dwarf") || arg.starts_with("-save-temps"))
        {
            return None;
        }
        let at = args.iter().rposition(|arg| arg == "-o").map(|at| at + 1);
        let named = match at {
            Some(at) => args.get(at)?.clone(),
            None => usual?.to_owned(),
        };
        // A link stays one, and what it leads to is replaced.
        let place = fs::canonicalize(&named).unwrap_or_else(|_| PathBuf::from(&named));
        let is_new_or_file = fs::metadata(&place).map_or(true, |found| found.is_file());
        let name = place.file_name()?.to_str()?;
        let written = place.with_file_name(format!(".{name}.weakspot-{}", process::id()));
        let word = written.to_str()?.to_owned();
        if !is_new_or_file {
            return None;
        }
        match at {
            Some(at) => args[at] = word,
            None => args.extend(["-o".to_owned(), word]),
        }
        Some(Beside { written, place, is_done: false })
    }

    /// It is complete, and takes its place.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        let failed = |e| format!("cannot write {}: {e}", self.place.display());
        fs::rename(&self.written, &self.place).map_err(failed)?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = fs::remove_file(&self.written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn where_it_is_written() {
        let folder = std::env::temp_dir().join(format!("weakspot-beside-{}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let place = folder.join("prog");
        let named = format!("-o x -o {}", place.display());
        let mut args = words(&named);
        let beside = Beside::of(&mut args, None).expect("a new file");
        assert_eq!(args[..3], words("-o x -o"));
        assert_eq!(args[3], beside.written.to_str().expect("a name"));
        fs::write(&beside.written, "new").expect("written");
        fs::write(&place, "old").expect("written");
        drop(beside);
        // It was not complete.
        assert_eq!(fs::read(&place).expect("the old one"), b"old");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
        let beside = Beside::of(&mut words(&named), None).expect("a file");
        fs::write(&beside.written, "new").expect("written");
        beside.finish().expect("renamed");
        assert_eq!(fs::read(&place).expect("the new one"), b"new");
        fs::remove_dir_all(&folder).expect("it was there");
    }

    #[test]
    fn what_stays_where_it_is() {
        for text in ["-o /dev/null", "-o", "-o /tmp", "-gsplit-dwarf -o x", "-c x.c"] {
            let mut args = words(text);
            assert!(Beside::of(&mut args, None).is_none(), "{text}");
            assert_eq!(args, words(text));
        }
        let mut args = words("x.c");
        let beside = Beside::of(&mut args, Some("a.out")).expect("a file");
        assert_eq!(args[1..], ["-o", beside.written.to_str().expect("a name")]);
    }
}
