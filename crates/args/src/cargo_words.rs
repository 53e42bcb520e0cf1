//! `weakspot cargo test` takes its own options and those of cargo in any order: ours are put first, so
//! that clap reads them, and the others are left for cargo. Of `weakspot run`, whose program and arguments
//! may begin with `-` as well, only letters with their values are taken apart.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

/// Options of cargo whose value may be the next word.
pub const WITH_VALUE: [&str; 20] = [
    "-p",
    "--package",
    "--exclude",
    "--bin",
    "--example",
    "--test",
    "--bench",
    "-F",
    "--features",
    "-j",
    "--jobs",
    "--profile",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--lockfile-path",
    "--color",
    "--config",
    "-Z",
    "-C",
];

/// The words of a command line; those behind `weakspot cargo test` or `run` with ours first. A toolchain
/// before the command of cargo (`+nightly`) goes behind it.
pub(crate) fn sorted(syntax: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    match words.get(1).and_then(|word| word.to_str()) {
        Some("cargo") => {}
        Some("run") => return run(syntax, words),
        _ => return words,
    }
    let is_toolchain = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with('+'));
    let toolchain = words.get(2).is_some_and(is_toolchain).then(|| words.remove(2));
    let command = words.get(2).and_then(|word| word.to_str()).map(str::to_owned);
    let of_cargo = syntax.find_subcommand("cargo");
    let known = of_cargo.zip(command.as_ref()).and_then(|(c, name)| c.find_subcommand(name));
    let Some(known) = known else {
        // Whatever is wrong is said about what was typed.
        words.splice(2..2, toolchain);
        return words;
    };
    let first_ends = known.get_name() == "run";
    let mut rest = words.split_off(3).into_iter().peekable();
    let mut theirs: Vec<OsString> = toolchain.into_iter().collect();
    while let Some(word) = rest.next() {
        let Some(text) = word.to_str() else {
            theirs.push(word);
            continue;
        };
        if text == "--" || first_ends && !text.starts_with('-') {
            theirs.push(word);
            break;
        }
        let ours = option(known, text);
        let (to, value) = match ours {
            Some((_, value)) => (&mut words, value),
            None => (&mut theirs, WITH_VALUE.contains(&text)),
        };
        match ours.and_then(|_| apart(known, text)) {
            Some(parts) => to.extend(parts.map(OsString::from)),
            None => to.push(word),
        }
        if value {
            to.extend(rest.next_if(|next| next != "--"));
        }
    }
    words.extend(theirs);
    words.extend(rest);
    words
}

/// The same for `weakspot run`, up to the program.
fn run(syntax: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let Some(known) = syntax.find_subcommand("run") else { return words };
    let mut rest = words.split_off(2).into_iter();
    while let Some(word) = rest.next() {
        let found = word.to_str().and_then(|text| Some((text, option(known, text)?)));
        let Some((text, (_, value))) = found else {
            // The program, `--`, or a word that there is no option for.
            words.push(word);
            break;
        };
        match apart(known, text) {
            Some(parts) => words.extend(parts.map(OsString::from)),
            None => words.push(word),
        }
        if value {
            words.extend(rest.next());
        }
    }
    words.extend(rest);
    words
}

/// A letter of ours and the value that is joined to it, as in `-j1`: clap takes such a word for one of
/// cargo's, because all of these may begin with `-`.
fn apart<'a>(known: &Command, word: &'a str) -> Option<[&'a str; 2]> {
    let joined = word.starts_with('-') && !word.starts_with("--") && word.len() > 2;
    let (letter, value) = joined.then(|| word.split_at_checked(2)).flatten()?;
    let (_, takes_value) = option(known, letter)?;
    takes_value.then(|| [letter, value.strip_prefix('=').unwrap_or(value)])
}

/// The option of ours that a word is, and whether its value is the next word.
pub(crate) fn option<'a>(known: &'a Command, word: &str) -> Option<(&'a Arg, bool)> {
    let named = |name: &str| {
        known.get_arguments().find(|arg| {
            arg.get_long() == Some(name)
                || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
        })
    };
    let takes_value = |arg: &Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    if let Some(long) = word.strip_prefix("--") {
        let (name, joined) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        return match name {
            "help" => Some((known.get_arguments().next()?, false)),
            _ => named(name).map(|arg| (arg, takes_value(arg) && !joined)),
        };
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    if letter == 'h' {
        return Some((known.get_arguments().next()?, false));
    }
    let arg = known.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
    Some((arg, takes_value(arg) && letters.next().is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_come_first() {
        let check = |typed: &str, expected: &str| {
            let words = typed.split(' ').map(OsString::from).collect();
            let sorted = sorted(&crate::syntax(), words);
            let sorted: Vec<&str> = sorted.iter().filter_map(|word| word.to_str()).collect();
            assert_eq!(sorted.join(" "), expected);
        };
        check(
            "weakspot cargo test --release --model tso -p a queue --timeout=5s -q -- --exact b",
            "weakspot cargo test --model tso --timeout=5s -q --release -p a queue -- --exact b",
        );
        check(
            "weakspot cargo test -j1 --workspace -fjson -q",
            "weakspot cargo test -j 1 -f json -q --workspace",
        );
        // The value of an option of cargo may look like one of ours, and the other way round.
        check(
            "weakspot cargo test --features model -m tso --workspace",
            "weakspot cargo test -m tso --features model --workspace",
        );
        check("weakspot cargo +nightly test --lib", "weakspot cargo test +nightly --lib");
        check(
            "weakspot cargo run --bin a --model tso -- --model b",
            "weakspot cargo run --model tso --bin a -- --model b",
        );
        check("weakspot cargo run --release 1 --model", "weakspot cargo run --release 1 --model");
        check("weakspot cargo +nightly tset", "weakspot cargo +nightly tset");
        check("weakspot run --model tso ./a --model", "weakspot run --model tso ./a --model");
        check("weakspot run -j1 -mtso ./a -j1", "weakspot run -j 1 -m tso ./a -j1");
        check("weakspot run -q -j 1 ./a -j1", "weakspot run -q -j 1 ./a -j1");
        check("weakspot run -- ./a -j1", "weakspot run -- ./a -j1");
    }
}
