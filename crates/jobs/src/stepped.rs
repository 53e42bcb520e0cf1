//! The run that a witness has, to be stepped through.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use weakspot_core::Evidence;
use weakspot_input::Input;
use weakspot_lang::COptions;
use weakspot_report::{Witness, input_hash, run_of_schedule};

/// Larger files are not read.
const MAX_FILE: u64 = 1 << 30;

fn question_of(witness: &str) -> Option<Value> {
    serde_json::from_str(witness).ok().map(|value: Value| value["question"].clone())
}

/// Refuses a witness about what is no program, whose run the answer has.
///
/// # Errors
///
/// It is one.
pub fn about_no_program(witness: &str, name: &str) -> Result<()> {
    let question = question_of(witness);
    match question.as_ref().and_then(Value::as_str) {
        Some(asked @ ("monitor" | "serial")) => bail!(
            "{name} is about a log: to step through what it shows, use the answer, as in `weakspot {asked} --format \
             json LOG | weakspot show -`"
        ),
        Some("history") => bail!("{name} is about a history, which has no steps of a program"),
        _ => Ok(()),
    }
}

/// The run of a witness about a program.
///
/// # Errors
///
/// It has none, or is about something else.
pub fn of_witness((input, options): (&Path, &COptions), witness: &Path) -> Result<Value> {
    let name = witness.display();
    let text = read(witness)?;
    about_no_program(&text, &name.to_string())?;
    match question_of(&text).as_ref().and_then(Value::as_str) {
        Some("run") => bail!(
            "{name} is about a real program: to step through what it shows, use the number that `weakspot run` \
             printed behind --replay, as in `weakspot show --replay 1 {}`",
            input.display()
        ),
        Some("fence") => bail!(
            "{name} is about fences, with a run for each set that is too small: `weakspot robust --witness` writes \
             one run, to step through"
        ),
        _ => {}
    }
    let witness = Witness::from_json(&text)
        .with_context(|| format!("{name} is no witness about a program"))?;
    let source = Input::new(input, (None, options)).read()?;
    let text = &source.text;
    if input_hash(source.identity().as_bytes()) != witness.input_hash {
        bail!("{name} is about another input: {} has changed, or is not it", input.display());
    }
    let Evidence::Run(schedule) = &witness.evidence else {
        bail!("{name} has no run: it says that all of them were searched");
    };
    let parsed = source.parse(input).map_err(|why| {
        let (line, column) = why.span.line_column(text);
        anyhow!("{}:{line}:{column}: {}", input.display(), why.message)
    })?;
    let parsed = if witness.question == "litmus" { parsed.with_observed_asked() } else { parsed };
    let (program, names) = (&parsed.program, &parsed.names);
    let run = run_of_schedule(program, names, text, witness.model, schedule)
        .with_context(|| format!("{name} does not fit {}", input.display()))?;
    Ok(json!({"file": input.display().to_string(), "name": names.program, "run": run}))
}

/// A text of a size that people read, or that of standard input.
///
/// # Errors
///
/// It cannot be read.
pub fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    let mut read = || match path == Path::new("-") {
        true => std::io::stdin().take(MAX_FILE).read_to_string(&mut text),
        false => std::fs::File::open(path)?.take(MAX_FILE).read_to_string(&mut text),
    };
    read().with_context(|| format!("failed to read {}", path.display()))?;
    Ok(text)
}
