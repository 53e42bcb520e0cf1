//! Witness files, given to the checker as users do: a true one is certified, and none of a claim that is known to be
//! false.
//!
//! The evidence for a false claim is that of another input, which differs a little and of which the claim is true. It
//! is tried as it is, and altered at random: numbers, and elements of lists that are left out, doubled, exchanged or
//! added.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use weakspot_certify::{Asked, Checked, Formats, check, file};
use weakspot_core::testing::Rng;
use weakspot_lang::COptions;
use weakspot_witness::input_hash;

use crate::{Disagreement, Subject};

/// So often evidence is altered.
const TRIES: usize = 8;

/// An input, in a file, and the file of a witness.
pub(crate) struct Input<'a> {
    ending: &'static str,
    text: &'a str,
    _folder: tempfile::TempDir,
    input: PathBuf,
    witness: PathBuf,
}

impl Input<'_> {
    /// `None` where there is no room for files.
    pub(crate) fn new<'a>(ending: &'static str, text: &'a str) -> Option<Input<'a>> {
        let folder = tempfile::tempdir().ok()?;
        let input = folder.path().join(format!("input.{ending}"));
        fs::write(&input, text).ok()?;
        let witness = folder.path().join("witness.json");
        Some(Input { ending, text, _folder: folder, input, witness })
    }

    /// What is wrong with a witness about it.
    pub(crate) fn wrong(&self, subject: Subject, what: String, witness: String) -> Disagreement {
        Disagreement {
            subject,
            round: 0,
            what,
            files: vec![(self.ending, self.text.to_owned()), ("json", witness)],
            commands: vec![format!("weakspot certify FILE.{} FILE.json", self.ending)],
        }
    }

    /// Whether a witness is certified.
    pub(crate) fn certifies(&self, witness: &str) -> bool {
        let asked = Asked {
            input: &self.input,
            witness: &self.witness,
            max_states: None,
            formats: Formats::default(),
            options: &COptions::default(),
            open: &file,
            execute: None,
        };
        fs::write(&self.witness, witness).is_ok()
            && matches!(check(&asked, &mut None), Ok(Checked::Certified(_)))
    }

    /// A witness that is certified, made of one about another input, whose claim is false of this one.
    pub(crate) fn forged(
        &self,
        rng: &mut Rng,
        witness: &str,
        compared: &mut u64,
    ) -> Option<String> {
        let mut json: Value = serde_json::from_str(witness).ok()?;
        json["input"] = input_hash(self.text.as_bytes()).into();
        (0..TRIES).find_map(|times| {
            let mut altered = json.clone();
            (0..times).for_each(|_| alter(rng, &mut altered["evidence"]));
            *compared += 1;
            let altered = altered.to_string();
            self.certifies(&altered).then_some(altered)
        })
    }
}

/// Alters one of the values that a value is made of.
fn alter(rng: &mut Rng, value: &mut Value) {
    let mut before = rng.below(count(value));
    alter_after(&mut before, rng, value);
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(all) => all.iter().map(count).sum(),
        Value::Object(all) => all.values().map(count).sum(),
        _ => 0,
    }
}

/// Alters the value that so many others come before; whether it was there.
fn alter_after(before: &mut usize, rng: &mut Rng, value: &mut Value) -> bool {
    if let Some(less) = before.checked_sub(1) {
        *before = less;
        return match value {
            Value::Array(all) => all.iter_mut().any(|value| alter_after(before, rng, value)),
            Value::Object(all) => all.values_mut().any(|value| alter_after(before, rng, value)),
            _ => false,
        };
    }
    match value {
        Value::Number(_) => *value = rng.below(12).into(),
        Value::String(why) if ["events", "single", "tree"].contains(&why.as_str()) => {
            *why = ["events", "single", "tree"][rng.below(3)].to_owned();
        }
        Value::Array(all) if all.is_empty() => all.push(rng.below(12).into()),
        Value::Array(all) => {
            let (one, other) = (rng.below(all.len()), rng.below(all.len()));
            match rng.below(4) {
                0 => drop(all.remove(one)),
                1 => all.push(all[one].clone()),
                2 => all.swap(one, other),
                _ => all.push(rng.below(12).into()),
            }
        }
        _ => {}
    }
    true
}
