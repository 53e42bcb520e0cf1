//! The tables of a log while it is read or written, with the way from a name to its number.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use weakspot_core::{Bytes, LogLoc, LogTables};

/// Tables in which every name stands once. They grow with the number of names, never with the
/// length of the log.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) tables: LogTables,
    threads: HashTable<u32>,
    locs: HashTable<u32>,
    sites: HashTable<u32>,
    nameless: FxHashMap<Bytes, u32>,
    /// Which locations are locks, in a format where they are named apart.
    pub(crate) locks: Vec<bool>,
}

/// Names that stand once each, in the order in which they came.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) names: Vec<String>,
    numbers: HashTable<u32>,
}

impl Index {
    /// The number of a name, which is entered if it is new.
    #[inline]
    pub(crate) fn number(&mut self, name: &[u8]) -> Result<u32, String> {
        match self.find(name) {
            Some(number) => Ok(number),
            None => self.enter(name),
        }
    }

    /// The number of a name, if there is one.
    #[inline]
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        self.numbers.find(hash(name), |&i| self.names[i as usize].as_bytes() == name).copied()
    }

    #[cold]
    fn enter(&mut self, name: &[u8]) -> Result<u32, String> {
        let name = std::str::from_utf8(name).map_err(|_| "bytes that are not UTF-8 text")?;
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        let names = &self.names;
        let again = |&i: &u32| hash(names[i as usize].as_bytes());
        self.numbers.insert_unique(hash(name.as_bytes()), number, again);
        Ok(number)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}

fn hash(value: impl std::hash::Hash) -> u64 {
    FxBuildHasher.hash_one(value)
}

/// The number of a name in a list.
fn position(index: &HashTable<u32>, list: &[String], name: &str) -> Option<u32> {
    index.find(hash(name), |&i| list[i as usize] == name).copied()
}

fn push(index: &mut HashTable<u32>, list: &mut Vec<String>, name: String) -> u32 {
    let number = list.len() as u32;
    let h = hash(name.as_str());
    list.push(name);
    index.insert_unique(h, number, |&i| hash(list[i as usize].as_str()));
    number
}

impl Names {
    /// Starts afresh, as another trace does.
    pub(crate) fn clear(&mut self) {
        *self = Names::default();
    }

    /// The thread of this name.
    pub(crate) fn thread(&mut self, name: &str) -> Result<u16, String> {
        match position(&self.threads, &self.tables.threads, name) {
            Some(number) => Ok(number as u16),
            None => {
                self.add_thread(name.to_owned())?;
                Ok((self.tables.threads.len() - 1) as u16)
            }
        }
    }

    /// The source position of this name, plus one.
    pub(crate) fn site(&mut self, name: &str) -> Result<u32, String> {
        match position(&self.sites, &self.tables.sites, name) {
            Some(number) => Ok(number + 1),
            None => {
                self.add_site(name.to_owned())?;
                Ok(self.tables.sites.len() as u32)
            }
        }
    }

    /// The location of this name that is these bytes.
    pub(crate) fn loc(&mut self, name: &str, bytes: Option<Bytes>) -> Result<u32, String> {
        match self.known_loc(name, bytes) {
            Some(number) => Ok(number),
            None => {
                self.add_loc(LogLoc { name: name.to_owned(), bytes })?;
                Ok((self.tables.locs.len() - 1) as u32)
            }
        }
    }

    /// The location that is these bytes and is called after them.
    pub(crate) fn nameless(&mut self, bytes: Bytes) -> Result<u32, String> {
        match self.nameless.get(&bytes) {
            Some(&number) => Ok(number),
            None => {
                let number = self.loc(&name_of(bytes), Some(bytes))?;
                self.nameless.insert(bytes, number);
                Ok(number)
            }
        }
    }

    fn known_loc(&self, name: &str, bytes: Option<Bytes>) -> Option<u32> {
        let locs = &self.tables.locs;
        let same = |&i: &u32| locs[i as usize].bytes == bytes && locs[i as usize].name == name;
        self.locs.find(hash((name, bytes)), same).copied()
    }

    /// Adds a thread that must not be there.
    pub(crate) fn add_thread(&mut self, name: String) -> Result<(), String> {
        if self.tables.threads.len() > usize::from(u16::MAX) {
            return Err("more than 65536 threads".into());
        }
        if position(&self.threads, &self.tables.threads, &name).is_some() {
            return Err(format!("there are two threads `{name}`"));
        }
        push(&mut self.threads, &mut self.tables.threads, name);
        Ok(())
    }

    /// Adds a source position that must not be there.
    pub(crate) fn add_site(&mut self, name: String) -> Result<(), String> {
        if self.tables.sites.len() >= u32::MAX as usize {
            return Err("too many source positions".into());
        }
        if position(&self.sites, &self.tables.sites, &name).is_some() {
            return Err(format!("there are two source positions `{name}`"));
        }
        push(&mut self.sites, &mut self.tables.sites, name);
        Ok(())
    }

    /// Adds a location that must not be there.
    pub(crate) fn add_loc(&mut self, loc: LogLoc) -> Result<(), String> {
        if self.tables.locs.len() >= u32::MAX as usize {
            return Err("too many locations".into());
        }
        if self.known_loc(&loc.name, loc.bytes).is_some() {
            return Err(format!("there are two locations `{}`", loc.name));
        }
        let locs = &mut self.tables.locs;
        let h = hash((loc.name.as_str(), loc.bytes));
        let number = locs.len() as u32;
        locs.push(loc);
        let again = |&i: &u32| hash((locs[i as usize].name.as_str(), locs[i as usize].bytes));
        self.locs.insert_unique(h, number, again);
        Ok(())
    }

    /// Takes over what `tables` have beyond these, which must be a beginning of them.
    pub(crate) fn extend(&mut self, tables: &LogTables) -> Result<(), String> {
        let LogTables { threads, locs, sites } = tables;
        for name in &threads[self.tables.threads.len().min(threads.len())..] {
            self.add_thread(name.clone())?;
        }
        for loc in &locs[self.tables.locs.len().min(locs.len())..] {
            self.add_loc(loc.clone())?;
        }
        for name in &sites[self.tables.sites.len().min(sites.len())..] {
            self.add_site(name.clone())?;
        }
        Ok(())
    }
}

/// What a location without a name is called: `0x1000/4`.
pub(crate) fn name_of(bytes: Bytes) -> String {
    format!("{:#x}/{}", bytes.start, bytes.len)
}
