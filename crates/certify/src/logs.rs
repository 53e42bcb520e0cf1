//! Witnesses about logs of one execution.

use anyhow::{Context, Result, anyhow};
use weakspot_core::monitors::{Form, reports};
use weakspot_core::{LogEvent, LogTables, Verdict, certify};
use weakspot_trace::{LogError, LogFormat, LogReader, sc_events};
use weakspot_witness::{LogWitness, model_key};

use crate::{Asked, Checked, Claim};

/// So many events are looked at by definition.
const MAX_EVENTS: usize = 1_000_000;

/// Why a witness is rejected that names a trace by a number that none has, or none of several.
pub(crate) const NO_TRACE: &str = "the witness is about a trace that the log does not have";

/// Checks a witness about a log.
pub(crate) fn check(asked: &Asked<'_>, text: &str, claim: &mut Option<Claim>) -> Result<Checked> {
    let witness = LogWitness::from_json(text).with_context(|| asked.unread())?;
    let model = (model_key(witness.model), witness.model.to_string());
    let verdict = if witness.run.is_some() { Verdict::Violated } else { Verdict::Holds };
    let option = witness.last_only.then_some("--pending last");
    *claim = Some(Claim::new("monitor", model, &verdict).with(option));
    asked.is_about(&witness.input_hash, "log")?;
    let name = asked.name();
    let max_events = asked.max_states.unwrap_or(MAX_EVENTS);
    let most = witness.run.as_ref().map_or(max_events.saturating_add(1), |run| run.access + 1);
    let read = open(asked).and_then(|mut reader| sc_events(&mut reader, witness.trace, most));
    let Some((events, tables)) = read.map_err(|error| anyhow!(error.of(&name)))? else {
        return Ok(Checked::Rejected(NO_TRACE.to_owned()));
    };
    let checked = checked(&witness, &events, &tables, max_events);
    Ok(of_trace(checked, witness.trace))
}

/// What the evidence shows about a trace.
fn checked(
    witness: &LogWitness,
    events: &[LogEvent],
    tables: &LogTables,
    max_events: usize,
) -> Checked {
    if let Some(run) = &witness.run {
        return match certify::delayed(events, tables, run) {
            Ok(()) => {
                Checked::Certified("by a run of the log's program that SC does not have".to_owned())
            }
            Err(rejected) => Checked::Rejected(rejected.to_string()),
        };
    }
    if events.len() > max_events {
        return Checked::Unknown(format!(
            "the log has more than {max_events} events; --max-states allows more"
        ));
    }
    let form = if witness.last_only { Form::Last } else { Form::All };
    let found = reports(events, tables, witness.model, form);
    match found.first() {
        None => Checked::Certified("by the definition of the monitor".to_owned()),
        Some(report) => Checked::Rejected(format!(
            "the monitor by definition reports that event {} overtakes event {}",
            report.access + 1,
            report.store + 1
        )),
    }
}

/// Says of which trace of its log something was certified, if that has several.
pub(crate) fn of_trace(checked: Checked, trace: Option<usize>) -> Checked {
    match (checked, trace) {
        (Checked::Certified(by), Some(trace)) => {
            Checked::Certified(format!("{by} (trace {} of the log)", trace + 1))
        }
        (checked, _) => checked,
    }
}

/// The input as a log.
pub(crate) fn open(asked: &Asked<'_>) -> Result<LogReader, LogError> {
    let source = (asked.open)(asked.input)?;
    match asked.formats.log.or_else(|| LogFormat::from_path(asked.input)) {
        Some(format) => Ok(LogReader::new(source, format)),
        None => LogReader::sniff(source),
    }
}
