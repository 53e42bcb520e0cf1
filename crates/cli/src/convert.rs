//! `weakspot convert`.

mod history;

use std::io::{IsTerminal, Read};

use anyhow::{Result, anyhow, bail};
use weakspot_core::LogBatch;
use weakspot_input::source;
use weakspot_trace::{HistoryFormat, LogFormat, LogReader, LogWriter, Next, WriteError};

use crate::args::ConvertArgs;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::output::{Sink, is_same_file};

/// Converts one file of logs or histories.
pub(crate) fn run(args: &ConvertArgs) -> Result<Exit> {
    let ConvertArgs { input, output, from, to, quiet } = args;
    let name = input.display().to_string();
    // A pipe that is asked to end has ended: what came until then is converted.
    interrupt::watch();
    let mut source = source(input, interrupt::stop(None))
        .map_err(|error| anyhow!("{name}: {}", error.message))?;
    if is_same_file(input, output) {
        bail!("{name} cannot be converted to itself");
    }
    let from_log = match from {
        Some(key) => key.log(),
        None => LogFormat::from_path(input),
    };
    let from_history = match from {
        Some(key) => key.history(),
        None => HistoryFormat::from_path(input),
    };
    let to_log = match to {
        Some(key) => key.log(),
        None => LogFormat::from_path(output),
    };
    let to_history = match to {
        Some(key) => key.history(),
        None => history::by_ending(output),
    };
    if to_log.is_none() && to_history.is_none() {
        bail!("the ending of the output names no format: expected {ENDINGS}, or --format");
    }
    // Histories of databases are JSON as well.
    let from_log =
        from_log.filter(|&log| from.is_some() || to_log.is_some() || log != LogFormat::Jsonl);
    // A format that only one of the two has decides; else what the input looks like.
    let is_known = from_log.is_some() || from_history.is_some();
    let is_history = match () {
        () if to_log.is_none() || is_known && from_log.is_none() => true,
        () if to_history.is_none() || is_known && from_history.is_none() => false,
        () => {
            let (first, again) = history::peek(source)?;
            source = again;
            history::looks_like_one(&first)
        }
    };
    let to_terminal = output.as_os_str() == "-" && std::io::stdout().is_terminal();
    if to_terminal && to_log == Some(LogFormat::Wslog) {
        bail!(".wslog is binary, and standard output is a terminal: expected the name of a file");
    }
    let sink = || Sink::create(Some(output));
    match (is_history, to_history, to_log) {
        (true, Some(to), _) if from_history.is_some() || !is_known => {
            history::convert(&name, source, from_history, sink()?, to, *quiet)?;
        }
        (false, _, Some(to)) if from_log.is_some() || !is_known => {
            convert_log(&name, source, from_log, sink()?, to, *quiet)?;
        }
        _ => bail!("a log cannot be converted to a history, nor a history to a log"),
    }
    if interrupt::asked() {
        eprintln!("{name}: interrupted; what came until then is converted");
        return Ok(Exit::Unknown);
    }
    Ok(Exit::Holds)
}

fn convert_log(
    name: &str,
    source: Box<dyn Read + Send>,
    from: Option<LogFormat>,
    sink: Sink,
    to: LogFormat,
    quiet: bool,
) -> Result<()> {
    let mut reader = match from {
        Some(format) => LogReader::new(source, format),
        None => LogReader::sniff(source).map_err(|e| anyhow!(e.of(name)))?,
    };
    let mut writer = LogWriter::new(sink, to);
    let mut batch = LogBatch::default();
    let converted = loop {
        let written = match reader.next(&mut batch) {
            _ if interrupt::asked() => break Ok(()),
            Ok(Next::Events) => writer.write(&batch, reader.tables()),
            Ok(Next::Trace(id)) => writer.trace(id.as_deref()),
            Ok(Next::End) => break Ok(()),
            Err(error) => break Err(anyhow!(error.of(name))),
        };
        // A log that still grows is converted as it grows.
        match written.and_then(|()| writer.flush()) {
            Ok(()) => {}
            Err(WriteError::Io(error)) => return Err(error.into()),
            Err(WriteError::Unsayable { event, message }) => {
                let place = reader.place(event.unwrap_or(0)).of(name);
                break Err(anyhow!("{place}: {message}"));
            }
        }
    };
    // What was converted before an error stays, and is a whole log.
    match writer.finish() {
        Ok(sink) => sink.finish()?,
        Err(WriteError::Io(error)) => return Err(error.into()),
        Err(error) => return Err(error.into()),
    }
    converted?;
    if let (Some(torn), false) = (reader.torn(), quiet) {
        eprintln!("warning: {name}: {torn}");
    }
    Ok(())
}

const ENDINGS: &str = ".wstrace, .jsonl, .json, .std or .wslog for a log, or .wshist, .jsonl, .json, \
                       .axe, .hist, .plume or .awdit for histories";
