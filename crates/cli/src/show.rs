//! `weakspot show`: a run, step by step.

use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use weakspot_show::{Steps, as_text, step};

use crate::args::{ShowArgs, Showing};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::stepped::{about_no_program, of_witness, read};
use weakspot_jobs::terminal::{fitted, is_ascii_locale};

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
        about_no_program(text, name)?;
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
