//! Many witnesses and many inputs: a witness says which input it is about.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use weakspot_witness::Object;

use crate::{Asked, Checked, Claim, Open, check, hash_of, witness_text};

/// How all of it ends, in rising order of importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// All witnesses show what they claim.
    Certified,
    /// One takes too much work.
    Unknown,
    /// One does not show what it claims.
    Rejected,
    /// A file cannot be read.
    Bad,
}

impl End {
    /// The exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            End::Certified => 0,
            End::Rejected => 1,
            End::Bad => 2,
            End::Unknown => 3,
        }
    }
}

/// What is said about one witness.
#[derive(Debug)]
pub struct Said<'a> {
    /// The witness.
    pub witness: &'a Path,
    /// The input that it is about, if that is among the files.
    pub input: Option<&'a Path>,
    /// What it claims, if it could be read.
    pub claim: Option<Claim>,
    /// What it came to.
    pub checked: Result<Checked>,
}

impl Said<'_> {
    /// The outcome, from which the exit code follows.
    #[must_use]
    pub fn end(&self) -> End {
        match &self.checked {
            Ok(Checked::Certified(_)) => End::Certified,
            Ok(Checked::Unknown(_)) => End::Unknown,
            Ok(Checked::Rejected(_)) => End::Rejected,
            Ok(Checked::Refused { .. }) | Err(_) => End::Bad,
        }
    }

    /// One word, and why.
    fn words(&self) -> (&'static str, String) {
        let claim = self.claim.as_ref().map(Claim::text);
        let claimed = |what: &str, why: &str| match &claim {
            Some(claim) => format!("{claim}, {what}{why}"),
            None => why.to_owned(),
        };
        match &self.checked {
            Ok(Checked::Certified(by)) => ("certified", claimed("", by)),
            Ok(Checked::Unknown(why)) => ("unknown", claimed("not checked: ", why)),
            Ok(Checked::Rejected(why)) => ("rejected", claimed("not shown: ", why)),
            Ok(Checked::Refused { text, why }) => {
                let (line, column) = why.span.line_column(text);
                let name = self.input.map_or_else(String::new, |i| i.display().to_string());
                ("error", format!("{name}:{line}:{column}: {}", why.message))
            }
            Err(error) => ("error", format!("{error:#}")),
        }
    }

    /// A line for people, with the name of the witness if there are many, or one of JSON.
    #[must_use]
    pub fn line(&self, json: bool, many: bool) -> String {
        let (word, why) = self.words();
        let witness = self.witness.display();
        if !json {
            return match many {
                true => format!("{witness}: {word}: {why}\n"),
                false => format!("{word}: {why}\n"),
            };
        }
        let mut object = Object::new();
        if let Some(input) = self.input {
            object.string("file", &input.display().to_string());
        }
        object.string("question", "certify");
        object.string("witness", &witness.to_string());
        object.string("verdict", word);
        if let Some(claim) = &self.claim {
            object.raw("claim", claim.json());
        }
        object.string("message", &why).raw("schema", 1);
        object.end() + "\n"
    }
}

/// Checks every witness among the files, each against the input with the hash that it names. Of two
/// files, the first is the input. `asked` adds the limits and formats.
pub fn certify_all<'a>(
    files: &'a [PathBuf],
    open: Open<'a>,
    asked: &dyn Fn(&'a Path, &'a Path) -> Asked<'a>,
    say: &mut dyn FnMut(&Said<'a>),
) -> End {
    let mut worst = End::Certified;
    let mut say = |said: Said<'a>| {
        worst = worst.max(said.end());
        say(&said);
    };
    if let [input, witness] = files {
        let mut claim = None;
        let checked = check(&asked(input, witness), &mut claim);
        say(Said { witness, input: Some(input), claim, checked });
        return worst;
    }
    let mut inputs: HashMap<String, &'a Path> = HashMap::new();
    let mut witnesses = Vec::new();
    for file in files {
        match hash_in(file) {
            Some(hash) => witnesses.push((file, hash)),
            None => match hash_of(file, open) {
                Ok(hash) => drop(inputs.entry(hash).or_insert(file)),
                Err(error) => {
                    let checked = Err(anyhow!(error)).with_context(|| "failed to read it");
                    say(Said { witness: file, input: None, claim: None, checked });
                }
            },
        }
    }
    if witnesses.is_empty() {
        let checked = Err(anyhow!("none of the files is a witness"));
        say(Said { witness: &files[files.len() - 1], input: None, claim: None, checked });
    }
    let is_json = |path: &Path| path.extension().is_some_and(|ending| ending == "json");
    let is_needed = |hash: &String| witnesses.iter().any(|(_, of)| of == hash);
    let mut others: Vec<&Path> = (inputs.iter())
        .filter(|(hash, file)| is_json(file) && !is_needed(hash))
        .map(|(_, &file)| file)
        .collect();
    others.sort_unstable();
    for witness in others {
        // It may be one that was damaged.
        let checked = Err(anyhow!("this is no witness, nor what one of the others is about"));
        say(Said { witness, input: None, claim: None, checked });
    }
    for (witness, hash) in witnesses {
        let input = inputs.get(&hash).copied();
        let mut claim = None;
        let checked = match input {
            Some(input) => check(&asked(input, witness), &mut claim),
            None => Err(anyhow!("none of the files is the input that this witness is about")),
        };
        say(Said { witness, input, claim, checked });
    }
    worst
}

/// The witnesses among the files, of which two are an input and its witness.
#[must_use]
pub fn witnesses(files: &[PathBuf]) -> Vec<&Path> {
    match files {
        [_, witness] => vec![witness],
        files => files.iter().map(|file| &**file).filter(|file| hash_in(file).is_some()).collect(),
    }
}

/// The hash of the input that a witness is about; `None` for what is no witness.
fn hash_in(path: &Path) -> Option<String> {
    if path.extension()? != "json" {
        return None;
    }
    let json: serde_json::Value = serde_json::from_str(&witness_text(path).ok()?).ok()?;
    json.get("witness")?;
    json.get("input")?.as_str().map(str::to_owned)
}
