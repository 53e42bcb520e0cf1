//! What all witness files have in common: how they begin, how they name their input, and how their
//! parts are read.

use std::fmt;
use std::fmt::Write;

use serde_json::Value as Json;

use weakspot_core::serial::BufferedReads;

use crate::object::push_string;

/// Why a text is not a witness: a clause that says where and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadWitness(pub(crate) String);

impl fmt::Display for BadWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadWitness {}

/// The hash by which a witness knows its input: 64-bit FNV-1a over the bytes of the file. It tells
/// apart files that were mixed up or edited; it is no defence against someone who wants two files
/// to have the same hash, and need not be one, because the evidence is checked on the input.
#[must_use]
pub fn input_hash(input: &[u8]) -> String {
    let mut hash = InputHash::new();
    hash.add(input);
    hash.end()
}

/// [`input_hash`] of a file that is read in pieces.
#[derive(Clone, Copy, Debug)]
pub struct InputHash(u64);

impl InputHash {
    /// The hash of no bytes.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "there is nothing that it could be by default")]
    pub fn new() -> InputHash {
        InputHash(0xcbf2_9ce4_8422_2325)
    }

    /// Goes on with these bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 =
            bytes.iter().fold(self.0, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    }

    /// The hash of all bytes.
    #[must_use]
    pub fn end(self) -> String {
        format!("fnv1a64:{:016x}", self.0)
    }
}

/// The first lines of a witness file, up to the verdict.
pub(crate) fn beginning(question: &str, input_hash: &str, model: &str, verdict: &str) -> String {
    let mut out = String::from("{\n  \"witness\": 1");
    let parts =
        [("question", question), ("input", input_hash), ("model", model), ("verdict", verdict)];
    for (key, value) in parts {
        let _ = write!(out, ",\n  \"{key}\": ");
        push_string(&mut out, value);
    }
    out
}

/// Appends which reads count as reads of the buffer, if that is known.
pub(crate) fn push_buffered(out: &mut String, reads: Option<BufferedReads>) {
    if let Some(reads) = reads {
        let _ = write!(out, ",\n  \"buffered\": \"{}\"", reads.key());
    }
}

/// Which reads count as reads of the buffer, if the file says so.
pub(crate) fn buffered(root: &At<'_>) -> Result<Option<BufferedReads>, BadWitness> {
    let Some(at) = root.find("buffered") else { return Ok(None) };
    let key = at.string()?;
    let found = BufferedReads::ALL.into_iter().find(|reads| reads.key() == key);
    found.map(Some).ok_or_else(|| at.bad("`exact` or `static`"))
}

/// Appends a list with a line for each of its elements.
pub(crate) fn push_list(out: &mut String, indent: usize, key: &str, lines: &[String]) {
    let _ = write!(out, "{:indent$}\"{key}\": [", "");
    for (i, line) in lines.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\n{:1$}{line}", "", indent + 2);
    }
    match lines.is_empty() {
        true => out.push(']'),
        false => {
            let _ = write!(out, "\n{:indent$}]", "");
        }
    }
}

/// What a witness says it is about: `litmus`, `monitor`, `history`, ...
#[must_use]
pub fn witness_question(text: &str) -> Option<String> {
    let json: Json = serde_json::from_str(text).ok()?;
    json.get("question")?.as_str().map(str::to_owned)
}

/// A part of a JSON document, with the way to it for messages.
pub(crate) struct At<'j> {
    pub(crate) path: String,
    pub(crate) json: &'j Json,
}

impl<'j> At<'j> {
    /// All of a witness, if it is of this version.
    pub(crate) fn root(json: &'j Json) -> Result<At<'j>, BadWitness> {
        let root = At { path: String::new(), json };
        let version = root.get("witness")?;
        if version.integer::<u64>("the number 1")? != 1 {
            return Err(version.bad("the number 1; this witness is of another version"));
        }
        Ok(root)
    }

    pub(crate) fn find(&self, key: &str) -> Option<At<'j>> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let json = self.json.get(key)?;
        Some(At { path: format!("{}{dot}{key}", self.path), json })
    }

    pub(crate) fn get(&self, key: &str) -> Result<At<'j>, BadWitness> {
        self.find(key).ok_or_else(|| self.bad(&format!("an object with `{key}`")))
    }

    pub(crate) fn string(&self) -> Result<&'j str, BadWitness> {
        self.json.as_str().ok_or_else(|| self.bad("a string"))
    }

    pub(crate) fn list(&self) -> Result<Vec<At<'j>>, BadWitness> {
        let list = self.json.as_array().ok_or_else(|| self.bad("a list"))?;
        let at = |(i, json)| At { path: format!("{}[{i}]", self.path), json };
        Ok(list.iter().enumerate().map(at).collect())
    }

    pub(crate) fn integer<T: TryFrom<i128>>(&self, what: &str) -> Result<T, BadWitness> {
        let number = self.json.as_i64().map(i128::from).or(self.json.as_u64().map(i128::from));
        number.and_then(|n| T::try_from(n).ok()).ok_or_else(|| self.bad(what))
    }

    pub(crate) fn bad(&self, expected: &str) -> BadWitness {
        let path = if self.path.is_empty() { "the witness" } else { &self.path };
        BadWitness(format!("{path}: expected {expected}"))
    }
}

/// A file in which a few bytes are missing, doubled or changed.
#[cfg(test)]
pub(crate) fn damaged(good: &[u8], seed: u64) -> String {
    let mut rng = weakspot_core::testing::Rng::new(seed);
    let mut bytes = good.to_vec();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(bytes.len());
        match rng.below(3) {
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, bytes[at]),
            _ => bytes[at] = rng.next_u64() as u8,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes() {
        assert_eq!(input_hash(b""), "fnv1a64:cbf29ce484222325");
        assert_eq!(input_hash(b"a"), "fnv1a64:af63dc4c8601ec8c");
        assert_eq!(input_hash(b"foobar"), "fnv1a64:85944171f73967e8");
    }
}
