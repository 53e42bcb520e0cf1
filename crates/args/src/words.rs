//! What was typed for cargo, taken apart.

use crate::CARGO_WITH_VALUE;
use crate::meant::Usage;

/// The words.
#[derive(Debug)]
pub struct Words {
    /// The toolchain, as in `cargo +nightly`.
    pub toolchain: Option<String>,
    /// Options of cargo.
    pub cargo: Vec<String>,
    /// What selects tests, or the arguments of the program.
    pub rest: Vec<String>,
}

/// Options of cargo that make no sense here, and why.
const REFUSED: [(&str, &str); 3] = [
    ("--message-format", "weakspot reads the messages of cargo itself"),
    ("--doc", "tests in documentation are not explored"),
    ("--unit-graph", "weakspot reads the messages of cargo itself"),
];

/// Options of cargo that choose targets.
pub const TARGETS: [&str; 10] = [
    "--lib",
    "--bin",
    "--bins",
    "--test",
    "--tests",
    "--example",
    "--examples",
    "--bench",
    "--benches",
    "--all-targets",
];

/// Those of them that choose more than one, or need no name.
const GROUPS: [&str; 6] =
    ["--lib", "--bins", "--tests", "--examples", "--benches", "--all-targets"];

impl Words {
    /// Of `cargo test`: names of tests may come before `--`, too.
    ///
    /// # Errors
    ///
    /// An option of cargo makes no sense here.
    pub fn of_test(words: &[String], rest: &[String]) -> Result<Words, Usage> {
        Words::new(words, rest, false)
    }

    /// Of `cargo run`: after its first argument everything is for the program.
    ///
    /// # Errors
    ///
    /// An option of cargo makes no sense here.
    pub fn of_run(words: &[String], rest: &[String]) -> Result<Words, Usage> {
        Words::new(words, rest, true)
    }

    fn new(words: &[String], after: &[String], first_ends: bool) -> Result<Words, Usage> {
        let mut cargo = Vec::new();
        let mut rest = Vec::new();
        let mut words = words.iter().peekable();
        let toolchain = words.next_if(|word| word.starts_with('+')).cloned();
        while let Some(word) = words.next() {
            let name = word.split_once('=').map_or(&word[..], |(name, _)| name);
            if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
                return Err(Usage(format!("cargo's {name} cannot be used here: {why}")));
            }
            if word == "--" {
                break;
            } else if CARGO_WITH_VALUE.contains(&&word[..]) {
                cargo.push(word.clone());
                cargo.extend(words.next().cloned());
            } else if word.starts_with('-') {
                cargo.push(word.clone());
            } else {
                rest.push(word.clone());
                if first_ends {
                    break;
                }
            }
        }
        rest.extend(words.cloned());
        rest.extend_from_slice(after);
        Ok(Words { toolchain, cargo, rest })
    }

    /// All of them, to be typed again.
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        let between = if self.rest.is_empty() { &[][..] } else { &["--".to_owned()] };
        [self.toolchain.as_slice(), &self.cargo, between, &self.rest].concat()
    }

    /// Whether one of these options was typed.
    #[must_use]
    pub fn has(&self, names: &[&str]) -> bool {
        self.cargo.iter().any(|word| {
            let name = word.split_once('=').map_or(&word[..], |(name, _)| name);
            names.contains(&name)
        })
    }

    /// The options of cargo that lead to one target of a package, whatever else was built.
    #[must_use]
    pub fn narrowed(&self, package: &str, target: &[String]) -> Vec<String> {
        let mut words = self.cargo.clone();
        if !self.has(&["-p", "--package"]) {
            // These would be as strong as a name.
            words.retain(|word| !["--workspace", "--all"].contains(&&word[..]));
            words.extend(["-p".to_owned(), package.to_owned()]);
        }
        words.retain(|word| !GROUPS.contains(&&word[..]));
        if !self.has(&["--bin", "--test", "--example", "--bench"]) {
            words.extend_from_slice(target);
        }
        words
    }

    /// The value of an option of cargo: the last one.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut found = None;
        for (i, word) in self.cargo.iter().enumerate() {
            if word == name {
                found = self.cargo.get(i + 1).map(|word| &word[..]);
            } else if let Some((option, value)) = word.split_once('=')
                && option == name
            {
                found = Some(value);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: Result<Words, Usage>, cargo: &str, rest: &str) {
        let words = words.unwrap();
        assert_eq!((words.cargo.join(" "), words.rest.join(" ")), (cargo.into(), rest.into()));
    }

    #[test]
    fn words_of_cargo_and_of_tests() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        check(
            Words::of_test(&words("--release -p a --features=x push -- --exact b::c"), &[]),
            "--release -p a --features=x",
            "push --exact b::c",
        );
        check(Words::of_run(&words("--bin a -- -p 1"), &[]), "--bin a", "-p 1");
        check(Words::of_run(&words("--release 1 -p -- 2"), &[]), "--release", "1 -p -- 2");
        check(Words::of_test(&[], &words("--exact b::c")), "", "--exact b::c");
        let run = Words::of_run(&words("--release"), &words("-p 1")).unwrap();
        assert_eq!(run.shown().join(" "), "--release -- -p 1");
        let one = Words::of_test(&words("--profile=a --profile b --test"), &[]).unwrap();
        assert_eq!(one.value("--profile"), Some("b"));
        assert_eq!(one.value("--test"), None);
        let other = Words::of_test(&words("+nightly --workspace --tests a"), &[]).unwrap();
        assert_eq!(other.toolchain.as_deref(), Some("+nightly"));
        assert_eq!(other.narrowed("b", &words("--test c")).join(" "), "-p b --test c");
        assert_eq!(other.shown().join(" "), "+nightly --workspace --tests -- a");
        assert!(Words::of_test(&words("--doc"), &[]).is_err());
        assert!(Words::of_test(&words("--message-format=json"), &[]).is_err());
    }
}
