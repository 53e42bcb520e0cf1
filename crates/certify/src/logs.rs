//! Witnesses about logs of one execution.

use anyhow::{Context, Result, anyhow};
use weakspot_args::{CertifyArgs, InputFormat};
use weakspot_core::certify;
use weakspot_input::{Stop, read_trace};
use weakspot_monitor::{Form, reference};
use weakspot_report::LogWitness;

use crate::{Checked, is_about, unread};

/// So many events are looked at by definition.
const MAX_EVENTS: usize = 1_000_000;

/// Checks a witness about a log.
pub(crate) fn check(args: &CertifyArgs, text: &str, stop: Stop) -> Result<Checked> {
    let witness = LogWitness::from_json(text).with_context(|| unread(args))?;
    is_about(args, &witness.input_hash, "log")?;
    let name = args.input.display().to_string();
    let format = args.input_format.and_then(InputFormat::log);
    let max_events = args.max_states.unwrap_or(MAX_EVENTS);
    let most = witness.run.as_ref().map_or(max_events.saturating_add(1), |run| run.access + 1);
    let (events, tables) = read_trace(&args.input, format, witness.trace, most, stop)
        .map_err(|error| anyhow!(error.of(&name)))?;
    if let Some(run) = &witness.run {
        return Ok(match certify::delayed(&events, &tables, run) {
            Ok(()) => Checked::Certified(format!(
                "the program of the log has the run under {}, and SC has none like it",
                witness.model
            )),
            Err(rejected) => Checked::Rejected(rejected.to_string()),
        });
    }
    if events.len() > max_events {
        return Ok(Checked::Unknown(format!(
            "the log has more than {max_events} events; --max-states allows more"
        )));
    }
    let form = if witness.last_only { Form::Last } else { Form::All };
    let found = reference::reports(&events, &tables, witness.model, form);
    Ok(match found.first() {
        None => Checked::Certified("the monitor by definition reports nothing either".to_owned()),
        Some(report) => Checked::Rejected(format!(
            "the monitor by definition reports that event {} overtakes event {}",
            report.access + 1,
            report.store + 1
        )),
    })
}
