//! `weakspot selfcheck`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::json;
use weakspot_selfcheck::{Checked, Disagreement, Options, Subject, check};

use crate::args::{OutputFormat, SelfcheckArgs, When};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::signed::signed;
use weakspot_jobs::terminal::{self, Count};
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
    let shown = Mutex::new(since);
    let checked = check(&options, &|so_far: &Checked| {
        if let Ok(mut shown) = shown.try_lock()
            && shows
            && shown.elapsed() > TICK
        {
            *shown = Instant::now();
            let inputs: u64 = so_far.rounds.iter().sum();
            let (left, wrong) =
                (args.time.saturating_sub(since.elapsed()), so_far.disagreements.len());
            let (inputs, left) = (Count(inputs), left.as_secs());
            let text = format!(
                "seed {seed}: {inputs} inputs, {wrong} with different answers, {left} s left"
            );
            match is_terminal {
                true => terminal::draw(&text),
                false => eprintln!("{text}"),
            }
        }
        interrupt::asked() || since.elapsed() > args.time
    });
    terminal::clear();
    let files = save(&args.output, seed, &checked.disagreements)?;
    let text = match args.format {
        OutputFormat::Json => json(seed, &checked, &files, since.elapsed()),
        _ => text((args.quiet, seed), &checked, &files, since.elapsed()),
    };
    print!("{}", signed(args.format, &text));
    Ok(if checked.disagreements.is_empty() { Exit::Holds } else { Exit::Violated })
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

fn text((quiet, seed): (bool, u64), checked: &Checked, files: &[String], time: Duration) -> String {
    let mut out = String::new();
    for (found, file) in checked.disagreements.iter().zip(files) {
        let _ = writeln!(out, "{} {}: {}", found.subject.name(), file, found.what);
        for command in &found.commands {
            let _ = writeln!(out, "  shown by {}", command.replace("FILE", file));
        }
        let round = found.round;
        let _ = writeln!(out, "  again by weakspot selfcheck --seed {seed} --round {round}");
    }
    if quiet {
        return out;
    }
    for (i, subject) in Subject::ALL.into_iter().enumerate() {
        let (inputs, compared) = (Count(checked.rounds[i]), Count(checked.compared[i]));
        if checked.rounds[i] > 0 {
            let _ = writeln!(out, "{inputs} {}, {compared} answers compared", subject.name());
        }
    }
    if let Some(why) = &checked.without {
        let _ = writeln!(out, "note: no C programs: {}", why.trim());
    }
    let seconds = time.as_secs_f64();
    let _ = match checked.disagreements.len() {
        0 => writeln!(out, "all answers agree (seed {seed}, {seconds:.1} s)"),
        1 => writeln!(out, "answers differ on 1 input (seed {seed}, {seconds:.1} s)"),
        n => writeln!(out, "answers differ on {n} inputs (seed {seed}, {seconds:.1} s)"),
    };
    out
}

fn json(seed: u64, checked: &Checked, files: &[String], time: Duration) -> String {
    let subjects: Vec<_> = Subject::ALL
        .into_iter()
        .enumerate()
        .map(|(i, subject)| {
            let (inputs, compared) = (checked.rounds[i], checked.compared[i]);
            json!({"subject": subject.name(), "inputs": inputs, "compared": compared})
        })
        .collect();
    let differ: Vec<_> = checked
        .disagreements
        .iter()
        .zip(files)
        .map(|(found, file)| {
            let endings = found.files.iter().map(|(ending, _)| format!("{file}.{ending}"));
            json!({
                "subject": found.subject.name(),
                "round": found.round,
                "what": found.what,
                "files": endings.collect::<Vec<_>>(),
                "commands":
                    found.commands.iter().map(|c| c.replace("FILE", file)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let verdict = if differ.is_empty() { "holds" } else { "violated" };
    let object = json!({
        "question": "selfcheck",
        "verdict": verdict,
        "seed": seed,
        "subjects": subjects,
        "disagreements": differ,
        "time_s": time.as_secs_f64(),
        "schema": 1,
    });
    format!("{object}\n")
}
