//! `weakspot convert`.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use weakspot_core::LogBatch;
use weakspot_trace::{LogFormat, LogReader, LogWriter, Next, WriteError};

use crate::args::ConvertArgs;
use crate::exit::Exit;

/// Converts one log.
pub(crate) fn run(args: &ConvertArgs) -> Result<Exit> {
    let ConvertArgs { input, output, from, to } = args;
    let Some(to) = to.map(LogFormat::from).or_else(|| LogFormat::from_path(output)) else {
        bail!("the ending of the output names no format: expected {ENDINGS}, or --to");
    };
    let name = input.display().to_string();
    let source: Box<dyn Read + Send> = if input == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(input).with_context(|| format!("failed to read {name}"))?)
    };
    if is_same_file(input, output) {
        bail!("{name} cannot be converted to itself");
    }
    let mut reader = match from.map(LogFormat::from).or_else(|| LogFormat::from_path(input)) {
        Some(format) => LogReader::new(source, format),
        None => LogReader::sniff(source).map_err(|e| anyhow!(e.of(&name)))?,
    };
    let sink: Box<dyn Write> = if output == Path::new("-") {
        Box::new(std::io::stdout())
    } else {
        let created = File::create(output);
        Box::new(created.with_context(|| format!("failed to write {}", output.display()))?)
    };
    let mut writer = LogWriter::new(sink, to);
    let mut batch = LogBatch::default();
    let converted = loop {
        let written = match reader.next(&mut batch) {
            Ok(Next::Events) => writer.write(&batch, reader.tables()),
            Ok(Next::Trace(id)) => writer.trace(id.as_deref()),
            Ok(Next::End) => break Ok(()),
            Err(error) => break Err(anyhow!(error.of(&name))),
        };
        // A log that still grows is converted as it grows.
        match written.and_then(|()| writer.flush()) {
            Ok(()) => {}
            Err(WriteError::Io(error)) => return Err(error.into()),
            Err(WriteError::Unsayable { event, message }) => {
                let place = reader.place(event.unwrap_or(0)).of(&name);
                break Err(anyhow!("{place}: {message}"));
            }
        }
    };
    // What was converted before an error stays, and is a whole log.
    match writer.finish() {
        Ok(_) => {}
        Err(WriteError::Io(error)) => return Err(error.into()),
        Err(error) => return Err(error.into()),
    }
    converted?;
    if let Some(torn) = reader.torn() {
        eprintln!("warning: {name}: {torn}");
    }
    Ok(Exit::Holds)
}

const ENDINGS: &str = ".wstrace, .jsonl, .json, .std or .wslog";

fn is_same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok().filter(|p| p.is_file());
    real(a).is_some_and(|a| real(b) == Some(a))
}
