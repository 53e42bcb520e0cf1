//! `weakspot cargo test` and `weakspot cargo run`.

mod build;
mod words;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use weakspot_build::runtime;
use weakspot_campaign::{Asked, Judged, Program, libraries, status_text};
use weakspot_report::{RealOutcome, RealQuestion, RealVerdict, real_summary};

use self::build::{Built, Cargo};
use self::words::Words;
use crate::args::{CargoRunArgs, CargoTestArgs, OutputFormat};
use crate::exit::Exit;
use crate::run::{Outcome, Subject, explore};

/// How long a program may take to list its tests.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Explores each test of a crate.
pub(crate) fn test(args: &CargoTestArgs) -> Result<Exit> {
    let words = Words::of_test(&args.args, &args.rest)?;
    let cargo = Cargo::find(&words, args.run.shared.quiet)?;
    let binaries = cargo.build("test", &["--no-run"])?;
    if binaries.is_empty() {
        bail!("there are no tests: cargo has built no program for tests");
    }
    let mut subjects = Vec::new();
    for binary in &binaries {
        for name in tests(binary, &words.rest)? {
            subjects.push(subject(binary, &name, &words));
        }
    }
    if subjects.is_empty() {
        match words.rest.is_empty() {
            true => bail!("there are no tests in {}", names(&binaries)),
            false => {
                bail!("no test in {} is selected by {}", names(&binaries), words.rest.join(" "))
            }
        }
    }
    if args.run.replay.is_some() && subjects.len() > 1 {
        bail!(
            "a schedule is for one test, and {} are selected: name it, as in -- --exact {}",
            subjects.len(),
            subjects
                .first()
                .and_then(|s| s.program.name.split_once("::"))
                .map_or("", |(_, name)| name)
        );
    }
    let (exit, outcomes) = explore(&args.run, &subjects)?;
    let shared = &args.run.shared;
    if shared.format == OutputFormat::Text && !shared.quiet && subjects.len() > 1 {
        // Nobody may be left who reads it.
        write!(std::io::stdout(), "\n{}", summary(&outcomes))?;
    }
    Ok(exit)
}

/// A line for each test, and how many of them are all right.
fn summary(outcomes: &[Outcome]) -> String {
    let asked = |asked: Asked| match asked {
        Asked::Failures => RealQuestion::Failures,
        Asked::Robustness => RealQuestion::Robust,
        Asked::Serializability => RealQuestion::Serial,
        Asked::FencedSerializability => RealQuestion::SerialFenced,
    };
    let verdict = |judged: &Judged| RealVerdict {
        question: asked(judged.asked),
        model: judged.model,
        verdict: judged.verdict.clone(),
        advisory: judged.advisory,
    };
    let verdicts: Vec<Vec<RealVerdict>> =
        outcomes.iter().map(|o| o.verdicts.iter().map(verdict).collect()).collect();
    let rows: Vec<RealOutcome<'_>> = outcomes
        .iter()
        .zip(&verdicts)
        .map(|(o, verdicts)| RealOutcome { name: &o.name, executions: o.executions, verdicts })
        .collect();
    real_summary(&rows)
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
            variables: variables(program),
            rust: true,
            harness: false,
        },
        explorer: "weakspot cargo run",
        target: words.shown(),
    };
    Ok(explore(&args.run, &[subject])?.0)
}

fn names(binaries: &[Built]) -> String {
    let names: Vec<&str> = binaries.iter().map(|b| &b.name[..]).collect();
    names.join(", ")
}

/// One test as a program.
fn subject(binary: &Built, name: &str, words: &Words) -> Subject {
    let flags = ["--exact", "--include-ignored", "--test-threads=1", "--nocapture"];
    let mut command: Vec<OsString> = vec![binary.file.clone().into(), name.into()];
    command.extend(flags.map(OsString::from));
    let selection = ["--", "--exact", name].map(str::to_owned);
    Subject {
        program: Program {
            command,
            name: format!("{}::{name}", binary.name),
            folder: Some(binary.folder.clone()),
            variables: variables(binary),
            rust: true,
            harness: true,
        },
        explorer: "weakspot cargo test",
        target: [&words.cargo[..], &selection].concat(),
    }
}

/// What cargo would put into the environment, and what keeps panics short.
fn variables(binary: &Built) -> Vec<(&'static str, OsString)> {
    vec![
        ("CARGO_MANIFEST_DIR", binary.folder.clone().into()),
        ("CARGO_MANIFEST_PATH", binary.folder.join("Cargo.toml").into()),
        ("CARGO_PKG_NAME", binary.package.clone().into()),
        ("CARGO_PKG_VERSION", binary.version.clone().into()),
        ("RUST_BACKTRACE", "0".into()),
        ("RUST_LIB_BACKTRACE", "0".into()),
        // Otherwise the harness reads all about the terminal, in each execution.
        ("TERM", "".into()),
    ]
}

/// The tests of a program that are selected. The program says so itself, and is not under control
/// when it does.
fn tests(binary: &Built, selection: &[String]) -> Result<Vec<String>> {
    let has = |flag: &str| selection.iter().any(|word| word == flag);
    let all = list(binary, selection, &[])?;
    if has("--ignored") || has("--include-ignored") {
        return Ok(all);
    }
    let ignored = list(binary, selection, &["--ignored"])?;
    Ok(all.into_iter().filter(|test| !ignored.contains(test)).collect())
}

fn list(binary: &Built, selection: &[String], more: &[&str]) -> Result<Vec<String>> {
    let runtime = runtime::unpack().map_err(|message| anyhow!(message))?;
    let failed = || format!("failed to list the tests of {}", binary.name);
    let mut child = Command::new(&binary.file)
        .args(["--list", "--format", "terse"])
        .args(more)
        .args(selection)
        .current_dir(&binary.folder)
        .envs(variables(binary))
        .env("LD_LIBRARY_PATH", libraries(&runtime))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(failed)?;
    let mut stdout = child.stdout.take().with_context(failed)?;
    let reader = std::thread::spawn(move || {
        let mut listed = Vec::new();
        stdout.read_to_end(&mut listed).map(|_| listed)
    });
    // Without the usual harness it may do anything instead.
    let until = Instant::now() + LIST_TIMEOUT;
    let status = loop {
        if let Some(status) = child.try_wait().with_context(failed)? {
            break status;
        }
        if Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            bail!("{}: it takes too long; does it have a harness of its own?", failed());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if !status.success() {
        bail!("{}: it {}", failed(), status_text(status));
    }
    let listed = reader.join().ok().with_context(failed)?.with_context(failed)?;
    let listed = String::from_utf8_lossy(&listed);
    Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
