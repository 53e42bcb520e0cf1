//! Schedules that are kept in a folder, so that a number is enough to execute one again: `.weakspot` beside
//! the user, or cargo's folder of what was built.
//!
//! A file per schedule has all that it depends on: the program's name, the options that it was found with,
//! and which memory was known to be shared.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

/// So many are kept in a folder.
const MOST: u64 = 10_000;

/// A folder with schedules.
#[derive(Clone, Debug)]
pub struct Kept {
    folder: PathBuf,
}

/// A schedule with what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the program is called.
    pub program: String,
    /// The options that matter for it.
    pub options: Vec<String>,
    /// The schedule as a token.
    pub schedule: String,
    /// The memory that was known to be shared.
    pub shared: Vec<(u64, u64)>,
}

impl Kept {
    /// Those below this folder.
    pub fn below(folder: &Path) -> Kept {
        Kept { folder: folder.join("schedules") }
    }

    /// Keeps a schedule and gives its number; nothing if it cannot be written.
    pub fn keep(&self, entry: &Entry) -> Option<u64> {
        let text = entry.json().to_string() + "\n";
        std::fs::create_dir_all(&self.folder).ok()?;
        // Nobody wants to commit them.
        let ignore = self.folder.parent()?.join(".gitignore");
        if self.folder.parent()?.file_name()? == ".weakspot" && !ignore.exists() {
            std::fs::write(ignore, "*\n").ok()?;
        }
        for number in 1..=MOST {
            let path = self.path(number);
            match std::fs::read_to_string(&path) {
                Ok(known) if known == text => return Some(number),
                Ok(_) => continue,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => return None,
            }
            // Others may be looking for a number at the same time: a file that is there is complete.
            let mut new = tempfile::NamedTempFile::new_in(&self.folder).ok()?;
            std::io::Write::write_all(&mut new, text.as_bytes()).ok()?;
            if new.persist_noclobber(&path).is_ok() {
                return Some(number);
            }
        }
        None
    }

    /// The schedule with a number.
    pub fn read(&self, number: u64) -> Result<Entry> {
        let path = self.path(number);
        let name = path.display();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("there is no schedule {number}: {name} does not exist")
            }
            Err(error) => return Err(error).with_context(|| format!("failed to read {name}")),
        };
        let value = serde_json::from_str(&text).ok();
        value.as_ref().and_then(Entry::of).ok_or_else(|| anyhow!("{name} is no schedule"))
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.json"))
    }
}

impl Entry {
    fn json(&self) -> Value {
        let Entry { program, options, schedule, shared } = self;
        json!({"program": program, "options": options, "schedule": schedule, "shared": shared})
    }

    fn of(value: &Value) -> Option<Entry> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let piece = |value: &Value| Some((value.get(0)?.as_u64()?, value.get(1)?.as_u64()?));
        Some(Entry {
            program: text(value.get("program")?)?,
            options: value.get("options")?.as_array()?.iter().map(text).collect::<Option<_>>()?,
            schedule: text(value.get("schedule")?)?,
            shared: value.get("shared")?.as_array()?.iter().map(piece).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_schedules() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::below(&folder.path().join(".weakspot"));
        let entry = |schedule: &str| Entry {
            program: "./a b".to_owned(),
            options: vec!["--under".to_owned(), "tso".to_owned()],
            schedule: schedule.to_owned(),
            shared: vec![(u64::MAX, 1), (16, 8)],
        };
        assert_eq!(kept.keep(&entry("x")), Some(1));
        assert_eq!(kept.keep(&entry("y")), Some(2));
        assert_eq!(kept.keep(&entry("x")), Some(1));
        assert_eq!(kept.read(2).unwrap(), entry("y"));
        let missing = kept.read(3).unwrap_err().to_string();
        assert!(missing.starts_with("there is no schedule 3: "), "{missing}");
        std::fs::write(folder.path().join(".weakspot/schedules/4.json"), "{}").unwrap();
        assert!(kept.read(4).unwrap_err().to_string().ends_with("is no schedule"));
    }
}
