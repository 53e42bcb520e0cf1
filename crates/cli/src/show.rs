//! `weakspot show`: a run, step by step.

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use weakspot_core::Evidence;
use weakspot_input::Input;
use weakspot_lang::COptions;
use weakspot_report::{Witness, input_hash, run_of_schedule};
use weakspot_show::{Steps, as_text, step};

use crate::args::{ShowArgs, Showing};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::terminal::{fitted, is_ascii_locale};

/// Larger files are not read.
const MAX_FILE: u64 = 1 << 30;

/// Steps through a run in a terminal; elsewhere all steps are printed.
pub(crate) fn run(args: &ShowArgs) -> Result<Exit> {
    let answer = match &args.showing {
        Showing::Witness { input, witness, options } => of_witness((input, options), witness)?,
        Showing::Answers(file) => of_answers(&read(file)?, &file.display().to_string())?,
        Showing::Replay { schedule, under, program } => {
            let weakspot = std::env::current_exe().context("failed to find weakspot")?;
            let mut run = Command::new(weakspot);
            run.args(["run", "--format", "json", "--replay", schedule]);
            run.args(under.iter().flat_map(|model| ["--under", model])).args(program);
            let run = run.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
            let output = run.context("failed to run the program")?;
            if output.status.code() == Some(2) {
                // It has said why.
                return Ok(Exit::Bad);
            }
            of_answers(&String::from_utf8_lossy(&output.stdout), "the execution")?
        }
    };
    let source = |file: &str| read(Path::new(file)).ok().filter(|_| Path::new(file).is_file());
    let steps = Steps::of(&answer, &source).map_err(|why| anyhow!(why))?;
    let ascii = args.ascii || is_ascii_locale();
    if std::io::stdout().is_terminal() {
        interrupt::watch();
        step(&steps, ascii, &interrupt::asked).context("failed to use the terminal")?;
    } else {
        print!("{}", fitted(&as_text(&steps), ascii));
    }
    Ok(Exit::Holds)
}

/// The first of these answers that has a run.
fn of_answers(text: &str, name: &str) -> Result<Value> {
    let is_witness = |value: Value| value.get("witness").is_some_and(Value::is_number);
    if serde_json::from_str(text).is_ok_and(is_witness) {
        bail!("{name} is a witness: name its input, too, as in `weakspot show INPUT {name}`");
    }
    for (i, line) in text.lines().enumerate() {
        let answer: Value = serde_json::from_str(line)
            .with_context(|| format!("{name}:{}: no answer of --format json", i + 1))?;
        if Steps::of(&answer, &|_| None).is_ok() {
            return Ok(answer);
        }
    }
    bail!(
        "{name} has no run to step through: `litmus` answers have one with --show, and executions that fail or break SC"
    )
}

/// The run of a witness about a program.
fn of_witness((input, options): (&Path, &COptions), witness: &Path) -> Result<Value> {
    let name = witness.display();
    let text = read(witness)?;
    let question = serde_json::from_str(&text).ok().map(|value: Value| value["question"].clone());
    match question.as_ref().and_then(Value::as_str) {
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

fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    let mut read = || match path == Path::new("-") {
        true => std::io::stdin().take(MAX_FILE).read_to_string(&mut text),
        false => std::fs::File::open(path)?.take(MAX_FILE).read_to_string(&mut text),
    };
    read().with_context(|| format!("failed to read {}", path.display()))?;
    Ok(text)
}
