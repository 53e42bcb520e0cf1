//! `weakspot cargo test` and `weakspot cargo run`.

pub(crate) mod suite;

use std::ffi::OsString;

use anyhow::{Context, Result, bail};
use weakspot_campaign::Program;
use weakspot_cargo::{Built, Cargo, Listed};

use self::suite::Test;
use crate::args::words::Words;
use crate::args::{CargoRunArgs, CargoTestArgs, Replay};
use crate::real::run::{Subject, explore};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::kept::Kept;

/// Explores each test of a crate.
pub(crate) fn test(args: &CargoTestArgs) -> Result<Exit> {
    let mut words = Words::of_test(&args.args, &args.rest)?;
    let only_list = words.rest.iter().any(|word| word == "--list");
    words.rest.retain(|word| word != "--list");
    let cargo = Cargo::find(&words, args.run.shared.quiet)?;
    // Programs and examples are built, too, because tests may start them.
    let mut binaries = cargo.build("test", &["--no-run"])?;
    binaries.retain(|built| built.test);
    // Cargo builds side by side.
    binaries.sort_by_key(Built::id);
    if binaries.is_empty() {
        bail!("there are no tests: cargo has built no program for tests");
    }
    if args.no_run {
        for built in &binaries {
            println!("{} ({})", built.id(), built.file.display());
        }
        return Ok(Exit::Holds);
    }
    let Listed { mut tests, mut skipped, failed } = weakspot_cargo::tests(&binaries, &words.rest);
    skipped
        .extend(cargo.doctests(&binaries).iter().map(|package| format!("{package}: its doctests")));
    if only_list {
        for (built, name) in &tests {
            println!("{}::{name}: test", built.id());
        }
        return end_of_list(&tests, &skipped, &failed);
    }
    let kept = Kept::below(&cargo.folder());
    if let Some(Replay::Number(number)) = args.run.replay {
        // It says which test it is of.
        let entry = kept.read(number)?;
        tests.retain(|(built, name)| test_name(built, name) == entry.program);
        if tests.is_empty() {
            bail!("schedule {number} is of {}, which is not among the tests", entry.program);
        }
    }
    let subjects: Vec<Subject> = tests
        .iter()
        .map(|(built, name)| subject(built, name, &words, &kept, binaries.len() > 1))
        .collect();
    if subjects.is_empty() && failed.is_empty() {
        for note in &skipped {
            eprintln!("note: skipped {note}");
        }
        match words.rest.is_empty() {
            true => bail!("there are no tests in {}", names(&binaries)),
            false => {
                bail!("no test in {} is selected by {}", names(&binaries), words.rest.join(" "))
            }
        }
    }
    if (args.run.replay.is_some() || args.run.shared.witness.is_some()) && subjects.len() > 1 {
        let what = if args.run.replay.is_some() { "schedule" } else { "witness" };
        bail!(
            "a {what} is for one test, and {} are selected: name it, as in -- --exact {}",
            subjects.len(),
            tests.first().map_or("", |(_, name)| name)
        );
    }
    let tests: Vec<Test> = tests
        .iter()
        .zip(subjects)
        .map(|((built, name), subject)| Test { binary: built.id(), name: name.clone(), subject })
        .collect();
    suite::explore(&args.run, &tests, &skipped, &failed)
}

/// Explores a program of a crate.
pub(crate) fn run(args: &CargoRunArgs) -> Result<Exit> {
    let words = Words::of_run(&args.args, &args.rest)?;
    let cargo = Cargo::find(&words, args.run.shared.quiet)?;
    let binaries = cargo.build("build", &[])?;
    let programs: Vec<&Built> = binaries.iter().filter(|b| b.runs).collect();
    let program = match &programs[..] {
        [] => bail!("there is no program to run: cargo has built none"),
        [one] => *one,
        several => *several.iter().find(|b| b.default).with_context(|| {
            format!("there are several programs: name one by --bin, of {}", names(&binaries))
        })?,
    };
    let mut command: Vec<OsString> = vec![program.file.clone().into()];
    command.extend(words.rest.iter().map(OsString::from));
    let subject = Subject {
        program: Program {
            command,
            name: [std::slice::from_ref(&program.name), &words.rest].concat().join(" "),
            folder: None,
            root: Some(program.root.clone()),
            variables: program.variables(),
            rust: true,
            harness: false,
            linked: program.linked.clone(),
        },
        explorer: "weakspot cargo run",
        target: words.shown(),
        kept: Kept::below(&cargo.folder()),
        kept_target: words.shown(),
    };
    Ok(explore(&args.run, &[subject])?.0)
}

fn names(binaries: &[Built]) -> String {
    let names: Vec<String> = binaries.iter().map(Built::id).collect();
    names.join(", ")
}

/// One test as a program; `several`: there are others, which may have a test of the same name.
fn subject(binary: &Built, name: &str, words: &Words, kept: &Kept, several: bool) -> Subject {
    let flags = ["--exact", "--include-ignored", "--test-threads=1", "--nocapture"];
    let mut command: Vec<OsString> = vec![binary.file.clone().into(), name.into()];
    command.extend(flags.map(OsString::from));
    let selection = ["--", "--exact", name].map(str::to_owned);
    Subject {
        program: Program {
            command,
            name: test_name(binary, name),
            folder: Some(binary.folder.clone()),
            root: Some(binary.root.clone()),
            variables: binary.variables(),
            rust: true,
            harness: true,
            linked: binary.linked.clone(),
        },
        explorer: "weakspot cargo test",
        target: match several {
            true => [&words.narrowed(&binary.package, &binary.option())[..], &selection].concat(),
            false => [&words.cargo[..], &selection].concat(),
        },
        kept: kept.clone(),
        kept_target: words.cargo.clone(),
    }
}

/// What a test is called among all of them.
fn test_name(binary: &Built, name: &str) -> String {
    format!("{}::{name}", binary.id())
}

/// After a list of tests: how many, and what is missing.
fn end_of_list(
    tests: &[(&Built, String)],
    skipped: &[String],
    failed: &[(String, String)],
) -> Result<Exit> {
    println!("\n{} test{}", tests.len(), if tests.len() == 1 { "" } else { "s" });
    for note in skipped {
        eprintln!("note: skipped {note}");
    }
    for (id, error) in failed {
        eprintln!("error: {id}: {error}");
    }
    Ok(if failed.is_empty() { Exit::Holds } else { Exit::Bad })
}
