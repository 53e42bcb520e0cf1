//! `weakspot selfcheck`.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use weakspot_report::{
    SelfcheckAnswer, SelfcheckDisagreement, SelfcheckSubject, selfcheck_json, selfcheck_text,
};
use weakspot_selfcheck::{Checked, Disagreement, Options, Subject, check};

use crate::args::{OutputFormat, SelfcheckArgs, When};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::signed::signed;
use weakspot_jobs::terminal::{self, Count};
use weakspot_jobs::within::or_asked;
use weakspot_jobs::{interrupt, output};

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(500);

/// Compares answers until there is no time left.
pub(crate) fn run(args: &SelfcheckArgs) -> Result<Exit> {
    interrupt::watch();
    let since = Instant::now();
    // One that nobody has tried, short enough to be typed.
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_millis() as u64);
    let seed = args.seed.unwrap_or_else(|| now() % 1_000_000_000);
    let options = Options {
        seed,
        first: args.round.unwrap_or(0),
        rounds: args.round.map(|_| 1),
        threads: args.threads,
        command: std::env::current_exe().ok(),
    };
    let is_terminal = terminal::is_terminal();
    let shows = match args.progress {
        When::Always => true,
        When::Never => false,
        When::Auto => !args.quiet && is_terminal,
    };
    let drawn = Mutex::new(since);
    let time = args.time;
    let stop = move || interrupt::asked() || since.elapsed() > time;
    let heard = move |so_far: &Checked| {
        if let Ok(mut drawn) = drawn.try_lock()
            && shows
            && drawn.elapsed() > TICK
        {
            *drawn = Instant::now();
            let inputs: u64 = so_far.rounds.iter().sum();
            let (left, wrong) = (time.saturating_sub(since.elapsed()), so_far.disagreements.len());
            let (inputs, left) = (Count(inputs), left.as_secs());
            let text = format!(
                "seed {seed}: {inputs} inputs, {wrong} with different answers, {left} s left"
            );
            match is_terminal {
                true => terminal::draw(&text),
                false => eprintln!("{text}"),
            }
        }
    };
    let so_far = Arc::new(Mutex::new(Checked::default()));
    let (known, rounds) = (Arc::clone(&so_far), options.rounds);
    let done = or_asked(move || {
        check(&options, &stop, &|checked: &Checked| {
            known.lock().unwrap_or_else(PoisonError::into_inner).clone_from(checked);
            heard(checked);
        })
    })?;
    terminal::clear();
    let is_all = |done: &Checked| rounds.is_some_and(|all| done.rounds.iter().sum::<u64>() >= all);
    let interrupted = interrupt::asked() && !done.as_ref().is_some_and(is_all);
    let known = || so_far.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let checked = done.unwrap_or_else(known);
    let files = save(&args.output, seed, &checked.disagreements)?;
    let subjects = Subject::ALL.into_iter().enumerate().map(|(i, subject)| SelfcheckSubject {
        subject: subject.name(),
        inputs: checked.rounds[i],
        compared: checked.compared[i],
    });
    let answer = SelfcheckAnswer {
        seed,
        subjects: subjects.collect(),
        disagreements: checked.disagreements.iter().zip(&files).map(shown).collect(),
        without: checked.without.as_deref(),
        time: since.elapsed(),
        interrupted,
    };
    let text = match args.format {
        OutputFormat::Json => selfcheck_json(&answer),
        _ => terminal::fitted(&selfcheck_text(&answer, args.quiet), false).into_owned(),
    };
    print!("{}", signed(args.format, &text));
    Ok(match answer.disagreements.is_empty() {
        true if interrupted => Exit::Unknown,
        true => Exit::Holds,
        false => Exit::Violated,
    })
}

/// Writes the inputs, and says where each of them is, without the endings of their names.
fn save(folder: &Path, seed: u64, all: &[Disagreement]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for found in all {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("failed to make the folder {}", folder.display()))?;
        let name = folder.join(format!("{seed}-{}", found.round));
        for (ending, text) in &found.files {
            output::write(Path::new(&format!("{}.{ending}", name.display())), text)?;
        }
        files.push(name.display().to_string());
    }
    Ok(files)
}

/// A disagreement as it is shown, with its files.
fn shown<'a>((found, file): (&'a Disagreement, &String)) -> SelfcheckDisagreement<'a> {
    SelfcheckDisagreement {
        subject: found.subject.name(),
        round: found.round,
        what: &found.what,
        files: found.files.iter().map(|(ending, _)| format!("{file}.{ending}")).collect(),
        commands: found.commands.iter().map(|command| command.replace("FILE", file)).collect(),
    }
}
