//! How a search or an exploration went, as JSON. The page of `--report` draws it.

use std::time::Duration;

use serde::Serialize;
use weakspot_core::{Course, Met, SharedLine};

use crate::json::line;

/// How an exploration of a real program went.
pub(crate) fn exploration_json(course: &Course) -> String {
    let over_time = course.samples().iter().map(|s| SampleJson {
        time_s: seconds(s.at),
        executions: Some(s.count),
        steps: Some(s.steps),
        states: None,
    });
    let phase = |&(strategy, since)| PhaseJson { strategy, since_s: seconds(since) };
    line(&CourseJson {
        phases: Some(course.phases.iter().map(phase).collect()),
        over_time: over_time.collect(),
        by_preemptions: Some(&course.by_preemptions),
        lines: Some(course.lines.iter().map(LineJson::of).collect()),
    })
}

/// How a search went that took so long and had so many states in the end; nothing if it was over before anybody
/// looked.
pub(crate) fn search_json(course: &Course, time: Duration, states: u64) -> Option<CourseJson<'_>> {
    let sample = |at, states| SampleJson {
        time_s: seconds(at),
        executions: None,
        steps: None,
        states: Some(states),
    };
    let last = course.samples().last()?.count;
    let seen = course.samples().iter().map(|s| sample(s.at, s.count));
    let over_time = seen.chain([sample(time, states.max(last))]).collect();
    Some(CourseJson { over_time, ..CourseJson::default() })
}

/// Milliseconds are enough to draw it.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e3).round() / 1e3
}

#[derive(Default, Serialize)]
pub(crate) struct CourseJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    phases: Option<Vec<PhaseJson>>,
    over_time: Vec<SampleJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_preemptions: Option<&'a [u64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<LineJson<'a>>>,
}

#[derive(Serialize)]
struct PhaseJson {
    strategy: &'static str,
    since_s: f64,
}

#[derive(Serialize)]
struct SampleJson {
    time_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    executions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<u64>,
}

#[derive(Serialize)]
struct LineJson<'a> {
    file: &'a str,
    line: u32,
    interleaved: bool,
    before: bool,
    after: bool,
}

impl<'a> LineJson<'a> {
    fn of(line: &'a SharedLine) -> LineJson<'a> {
        let SharedLine { ref file, line, interleaved, met: Met { before, after } } = *line;
        LineJson { file, line, interleaved, before, after }
    }
}
