//! Programs in C, compiled and explored by the command itself, and the same programs as `.weak`.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;
use weakspot_core::testing::Rng;
use weakspot_core::{Drain, Limits, Model, Silent, Verdict};
use weakspot_explore::{Algorithm, Strategy, reach};
use weakspot_lang::{Format, parse};

use crate::statements::{Shape, Text};
use crate::{Disagreement, Subject};

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso(Drain::All)];

/// Whether a random program fails, under each model. An error if programs cannot be compiled here.
pub(crate) fn check(
    command: &Path,
    rng: &mut Rng,
    compared: &mut u64,
) -> Result<Option<Disagreement>, String> {
    let shape = Shape { threads: 3, statements: 7, loops: true, waits: false };
    let text = Text::random(rng, shape);
    let Some(what) = disagreement(command, &text, compared)? else { return Ok(None) };
    let fails = |text: &Text| matches!(disagreement(command, text, &mut 0), Ok(Some(_)));
    let text = text.shrunk(&fails);
    let what = disagreement(command, &text, &mut 0)?.unwrap_or(what);
    Ok(Some(Disagreement {
        subject: Subject::Real,
        round: 0,
        what,
        files: vec![("c", text.c()), ("weak", text.weak())],
        commands: vec![
            "weakspot cc -g -O1 FILE.c -o FILE && weakspot run FILE".to_owned(),
            "weakspot reach FILE.weak".to_owned(),
        ],
    }))
}

fn disagreement(command: &Path, text: &Text, compared: &mut u64) -> Result<Option<String>, String> {
    let folder = tempfile::tempdir().map_err(|why| format!("no temporary folder: {why}"))?;
    let (source, program) = (folder.path().join("p.c"), folder.path().join("p"));
    std::fs::write(&source, text.c()).map_err(|why| format!("failed to write a program: {why}"))?;
    let built =
        output(Command::new(command).args(["cc", "-g", "-O1", "-o"]).args([&program, &source]))?;
    if !built.status.success() {
        return Err(format!("`weakspot cc` fails: {}", String::from_utf8_lossy(&built.stderr)));
    }
    let mut run = Command::new(command);
    run.args(["run", "--format", "json", "--model", "tso,pso", "--timeout", "20s"]).arg(&program);
    let ran = output(run.current_dir(folder.path()))?;
    let answers: Vec<Value> = String::from_utf8_lossy(&ran.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let parsed = parse(Format::Weak, &text.weak()).map_err(|why| why.message)?;
    for model in MODELS {
        let fails =
            |answer: &&Value| answer["model"] == key(model) && answer.get("failures").is_some();
        let Some(answer) = answers.iter().find(fails) else {
            let why = String::from_utf8_lossy(&ran.stderr);
            return Ok(Some(format!("{model}: `weakspot run` says nothing: {why}")));
        };
        let said = match answer["verdict"].as_str() {
            Some("holds") => Verdict::Holds,
            Some("violated") => Verdict::Violated,
            _ => continue,
        };
        let time = Some(Duration::from_secs(10));
        let limits = Limits { time, memory: Some(512 << 20), buffer: 16, ..Limits::UNLIMITED };
        let eager = Algorithm::Eager(Strategy::Auto);
        let expected = match reach(&parsed.program, model, eager, &limits, &mut Silent) {
            Ok(expected) => expected.into_answer().verdict,
            Err(why) => return Ok(Some(format!("{model}: reach: {why:?}"))),
        };
        if matches!(expected, Verdict::Unknown(_)) {
            continue;
        }
        *compared += 1;
        if said != expected {
            return Ok(Some(format!(
                "{model}: run says {said:?} in C, reach {expected:?} in .weak"
            )));
        }
    }
    Ok(None)
}

fn key(model: Model) -> &'static str {
    match model {
        Model::Sc => "sc",
        Model::Tso => "tso",
        Model::Pso(_) => "pso",
    }
}

fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|why| format!("failed to start `weakspot`: {why}"))
}
