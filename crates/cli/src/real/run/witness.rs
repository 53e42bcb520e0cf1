//! Witnesses about real programs: written after an exploration, and executed again.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};
use weakspot_campaign::{Answer, Unconfirmed, confirmed, evidence};
use weakspot_certify::Checked;
use weakspot_core::Model;
use weakspot_report::{BuiltBy, InputHash, RunEvidence, RunWitness, Wrong};

use super::{Subject, explored};
use crate::args::{Bounds, Command, ProgramOutput, RunArgs};
use weakspot_jobs::options::{exploring, options};

/// The options that a witness may have, and whether a value follows. There is none that writes a file or reads one.
const OPTIONS: [(&str, bool); 18] = [
    ("--under", true),
    ("--model", true),
    ("--transaction", true),
    ("--steps", true),
    ("--spins", true),
    ("--isolate", true),
    ("--strategy", true),
    ("--preemptions", true),
    ("--executions", true),
    ("--seed", true),
    ("--depth", true),
    ("--transactions", false),
    ("--fence-transactions", false),
    ("--ignore-exit-code", false),
    ("--scratch", false),
    ("--virtual-time", false),
    ("--reuse", false),
    ("--no-races", false),
];

/// The witness of an answer; nothing if it is unknown, or if what is wrong cannot be executed again.
pub(super) fn witness(
    args: &RunArgs,
    subject: &Subject,
    found: &Answer,
) -> Result<Option<RunWitness>> {
    let Some(evidence) = evidence(found) else { return Ok(None) };
    let options = match &evidence {
        RunEvidence::Schedule { model, wrong: Wrong::Failure(_), .. } => {
            let under = (*model != Model::Sc).then_some(*model);
            options(args, under, found.fork)
        }
        RunEvidence::Schedule { .. } => options(args, args.under, found.fork),
        // One execution is not all of them.
        RunEvidence::Explored(_) if args.replay.is_some() => return Ok(None),
        RunEvidence::Explored(_) => exploring(args),
    };
    let command = &subject.program.command;
    let program = command.first().context("there is no program")?;
    let name = Path::new(program).display();
    let bytes = std::fs::read(program)
        .with_context(|| format!("no witness is written: failed to read {name}"))?;
    let mut hash = InputHash::new();
    hash.add(&bytes);
    let words = command[1..].iter().map(|word| word.to_str().map(str::to_owned));
    let arguments = words
        .collect::<Option<_>>()
        .context("no witness is written: an argument of the program is no UTF-8 text")?;
    let built = match (subject.program.rust, subject.program.harness) {
        (false, _) => BuiltBy::Compiler,
        (true, false) => BuiltBy::Cargo,
        (true, true) => BuiltBy::CargoTest,
    };
    Ok(Some(RunWitness { input_hash: hash.end(), arguments, options, built, evidence }))
}

/// Executes again what a witness is about, with this program.
pub(crate) fn check(program: &Path, witness: &RunWitness, bounds: Bounds) -> Result<Checked> {
    let mut words: Vec<OsString> = vec!["weakspot".into(), "run".into()];
    let mut shared = Vec::new();
    if let RunEvidence::Schedule { token, shared: known, .. } = &witness.evidence {
        words.extend(["--replay".into(), token.into()]);
        shared = known.clone();
    }
    let mut given = witness.options.iter();
    while let Some(option) = given.next() {
        let Some((_, has_value)) = OPTIONS.iter().find(|(known, _)| known == option) else {
            bail!("the witness has an option that none may have: `{option}`");
        };
        words.push(option.into());
        if *has_value {
            words.push(given.next().context("an option of the witness has no value")?.into());
        }
    }
    // A name without a folder is looked for elsewhere.
    let path = match program.components().count() {
        1 => Path::new(".").join(program),
        _ => program.to_path_buf(),
    };
    words.push(path.into());
    words.extend(witness.arguments.iter().map(OsString::from));
    let Ok(Command::Run(typed)) = weakspot_args::read(words) else {
        bail!("the options of the witness are not understood");
    };
    let mut args = RunArgs { output: ProgramOutput::None, ..typed.run };
    args.shared.timeout = bounds.timeout;
    args.shared.memory = bounds.memory;
    let mut subject = Subject::program(typed.command);
    subject.program.rust = witness.built != BuiltBy::Compiler;
    subject.program.harness = witness.built == BuiltBy::CargoTest;
    if subject.program.rust {
        subject.program.variables = weakspot_cargo::variables();
    }
    let found = explored(&args, &subject, shared, None)?.0;
    Ok(match confirmed(&witness.evidence, &found) {
        // They are part of the question.
        Ok(by) if !witness.options.is_empty() => {
            Checked::Certified(format!("{by}, with {}", witness.options.join(" ")))
        }
        Ok(by) => Checked::Certified(by),
        Err(Unconfirmed::Otherwise(why)) => Checked::Rejected(why),
        Err(Unconfirmed::Unknown(why)) => Checked::Unknown(why),
    })
}
