//! One run as every format shows it: who did what and when, what was in buffers and in memory, and
//! why SC cannot do the same. It is made from a run of a program , from a log, or
//! from a history; drawings and graphs are made from it, and `--format json` carries it as `run`.
//!

use std::collections::BTreeSet;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use weakspot_core::{Span, Value};

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The key of the model that it is a run of: `sc`, `tso`, `pso`, ...
    pub model: &'static str,
    /// The threads, by their numbers.
    pub threads: Vec<RunThread>,
    /// The locations that it is about.
    pub locations: Vec<RunLocation>,
    /// What they hold before the first step, as far as that is known.
    #[serde(serialize_with = "map")]
    pub init: Vec<(String, RunValue)>,
    /// What happens, in this order. The numbers of the steps rise, but there may be gaps where steps
    /// are left out that do not matter.
    pub steps: Vec<RunStep>,
    /// Why SC cannot do this: each step comes before the next, and the last before the first.
    pub cycle: Vec<RunArc>,
    /// The stores that reached memory after a later access of their thread, each with the first
    /// such access, or the one that others noticed.
    pub late: Vec<RunLate>,
    /// Of a long run the numbers of the steps that tell what went wrong; drawings fold the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub telling: Vec<u64>,
    /// What reads read, and which writes overwrite what, where a run has few enough events to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<RunArc>,
    /// Whether SC allows the same, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sc: Option<ScSays>,
    /// What the run comes to, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
}

/// A thread of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunThread {
    /// What it is called.
    pub name: String,
    /// The function that it executes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Where that is, as `file:line`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// A location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunLocation {
    /// What it is called.
    pub name: String,
    /// The type of what it holds.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Stores in a buffer, each with its location and value.
pub(crate) type Buffered = Vec<(String, RunValue)>;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunStep {
    /// Its number, from 1, by which others refer to it.
    pub n: u64,
    /// Whose it is: an index into [`Run::threads`].
    pub thread: usize,
    /// What kind of step.
    pub kind: StepKind,
    /// Which location it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// What was read or written; of an atomic update what was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<RunValue>,
    /// What an atomic update read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<RunValue>,
    /// The register that was set.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "map")]
    pub sets: Vec<(String, RunValue)>,
    /// The file of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of its source, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The last line of its source, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// The text of its source, or what it did in words where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What is to be said about it, such as that it is one access of a data race.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where a value that was read came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<ReadFrom>,
    /// For a commit the number of its store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The transaction that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// The stores that wait in buffers after this step, oldest first, by threads that have some.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "buffers")]
    pub buffers: Option<Vec<(String, Buffered)>>,
    /// What is in memory after this step.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_map")]
    pub memory: Option<Vec<(String, RunValue)>>,
    /// Whether this store is in memory at once, where others wait in buffers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
    /// For a store the number of the step with which it reaches memory, its own if it does so at
    /// once; `None` if it never does.
    #[serde(skip)]
    pub effect: Option<u64>,
    /// The piece of a program's text that it is.
    #[serde(skip)]
    pub span: Option<Span>,
    /// Whether its thread has another access on the same line, so that only the column tells them apart.
    #[serde(skip)]
    pub shares_line: bool,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic update.
    Update,
    /// A full fence.
    Fence,
    /// A fence between stores.
    StoreFence,
    /// An atomic block begins, or a lock is taken.
    Lock,
    /// It ends, or the lock is released.
    Unlock,
    /// The thread waits until it is woken, or was woken.
    Wait,
    /// It wakes others.
    Wake,
    /// The thread starts another one.
    Spawn,
    /// The thread waits for the end of another one.
    Join,
    /// A transaction begins.
    Begin,
    /// It ends.
    End,
    /// Nothing that memory sees.
    Local,
    /// A store reaches memory.
    Commit,
    /// The run fails here.
    Fail,
    /// A block of memory is allocated.
    Alloc,
    /// It is freed.
    Free,
    /// A function returns whose variables others use.
    Return,
    /// The thread ends, and its memory with it.
    Exit,
}

/// A value: a number, or the name of the location whose address it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RunValue {
    /// A number.
    Number(Value),
    /// A number of 64 bits without a sign.
    Unsigned(u64),
    /// The name of a location.
    Name(String),
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// From memory, which nobody had written to.
    Memory,
    /// From the thread's own buffer.
    Buffer,
    /// From memory, which the step with this number had written to.
    Step(u64),
}

/// Why one step comes before another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunArc {
    /// The number of the one.
    pub from: u64,
    /// The number of the other.
    pub to: u64,
    /// `po`, `rf`, `co` or `fr`; `atomic`, `start` or `join`.
    pub edge: &'static str,
    /// The same in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A store that was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunLate {
    /// The number of the store.
    pub store: u64,
    /// The number of the access of its thread that came later and took effect before it.
    pub behind: u64,
}

/// What SC says to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScSays {
    /// It has the same accesses with the same values.
    Allows,
    /// It has no such run, as the cycle shows.
    Forbids,
    /// The run has so many events that this was not checked.
    NotChecked,
}

/// What a run comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// To a final state, of which this is observed.
    #[serde(serialize_with = "map")]
    State(Vec<(String, RunValue)>),
    /// The threads stand at points that have names.
    #[serde(serialize_with = "map")]
    At(Vec<(String, String)>),
    /// The last step fails, for this reason.
    Fails(String),
    /// The program does not allow the step with this number.
    Impossible(u64),
}

/// How the reason of [`RunEnd::Fails`] begins where threads wait for each other.
const DEADLOCK: &str = "deadlock";

/// How it begins where nobody goes on because threads loop.
const LIVELOCK: &str = "livelock";

impl Run {
    /// Nothing of a run yet.
    #[must_use]
    pub fn new(model: &'static str) -> Run {
        Run {
            model,
            threads: Vec::new(),
            locations: Vec::new(),
            init: Vec::new(),
            steps: Vec::new(),
            cycle: Vec::new(),
            late: Vec::new(),
            telling: Vec::new(),
            relations: Vec::new(),
            sc: None,
            end: None,
        }
    }

    /// The step with this number.
    #[must_use]
    pub fn step(&self, n: u64) -> Option<&RunStep> {
        let at = self.steps.binary_search_by_key(&n, |step| step.n).ok()?;
        self.steps.get(at)
    }

    /// Whether a step is about what the run shows: the cycle, a late store, what fails.
    pub(crate) fn matters(&self) -> impl Fn(&RunStep) -> bool {
        let arcs = self.cycle.iter().flat_map(|arc| [arc.from, arc.to]);
        let late = self.late.iter().flat_map(|late| [late.store, late.behind]);
        let numbers: BTreeSet<u64> = arcs.chain(late).collect();
        move |step| {
            if !self.telling.is_empty() {
                return self.telling.binary_search(&step.n).is_ok();
            }
            numbers.contains(&step.n)
                || step.of.is_some_and(|of| numbers.contains(&of))
                || self.is_marked(step)
        }
    }

    /// Whether a step stands out by itself.
    pub(crate) fn is_marked(&self, step: &RunStep) -> bool {
        matches!(step.kind, StepKind::Fail | StepKind::Alloc | StepKind::Free)
            || step.note.is_some()
    }

    /// What a thread does at a step of the kind `fail`: where nobody can go on, no thread fails by itself.
    pub(crate) fn stops(&self, step: &RunStep) -> &'static str {
        let Some(RunEnd::Fails(why)) = &self.end else { return "fails" };
        let note = step.note.as_deref().unwrap_or_default();
        if why.starts_with(LIVELOCK) && (note.starts_with("loops") || note.starts_with("hangs")) {
            return "loops";
        }
        if why.starts_with(DEADLOCK) || why.starts_with(LIVELOCK) { "blocked" } else { "fails" }
    }

    /// Finds the accesses that their lines do not tell apart.
    pub(crate) fn mark_shared_lines(&mut self) {
        let place = |step: &RunStep| ((step.thread, step.line), step.column);
        let accesses = self.steps.iter().filter(|step| step.is_event() && step.column.is_some());
        let all: BTreeSet<_> = accesses.map(place).collect();
        for step in self.steps.iter_mut().filter(|step| step.is_event()) {
            let (line, column) = place(step);
            let mut same = all.range((line, None)..).take_while(|(other, _)| *other == line);
            step.shares_line = column.is_some() && same.any(|(_, other)| *other != column);
        }
    }

    /// The name of a thread.
    pub(crate) fn thread(&self, thread: usize) -> &str {
        self.threads.get(thread).map_or("", |thread| &thread.name)
    }
}

impl RunThread {
    /// A thread of which only the name is known.
    #[must_use]
    pub fn new(name: impl Into<String>) -> RunThread {
        RunThread { name: name.into(), function: None, at: None }
    }
}

impl RunLocation {
    /// A location of which only the name is known.
    #[must_use]
    pub fn new(name: impl Into<String>) -> RunLocation {
        RunLocation { name: name.into(), kind: None }
    }
}

impl RunStep {
    /// A step of which nothing else is known.
    #[must_use]
    pub fn new(n: u64, thread: usize, kind: StepKind) -> RunStep {
        RunStep {
            n,
            thread,
            kind,
            location: None,
            value: None,
            old: None,
            sets: Vec::new(),
            file: None,
            line: None,
            column: None,
            text: None,
            note: None,
            from: None,
            of: None,
            transaction: None,
            buffers: None,
            memory: None,
            at_once: false,
            effect: None,
            span: None,
            end_line: None,
            shares_line: false,
        }
    }

    /// Says where in the source it is: `a.c:14`, `a.c:14:3`, or any other words, which then are its
    /// file.
    pub(crate) fn put_at(&mut self, site: &str) {
        let number = |text: &str| text.parse::<u64>().ok().filter(|n| *n > 0);
        let (rest, last) = site.rsplit_once(':').unwrap_or((site, ""));
        match (rest.rsplit_once(':'), number(last)) {
            (Some((file, line)), Some(column)) if number(line).is_some() => {
                self.file = Some(file.to_owned());
                self.line = number(line);
                self.column = Some(column);
            }
            (_, Some(line)) => {
                self.file = Some(rest.to_owned());
                self.line = Some(line);
            }
            _ => self.file = Some(site.to_owned()),
        }
    }

    /// `a.c:14`, as far as it is known.
    pub(crate) fn site(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match (self.line, self.column) {
            (None, _) => file.clone(),
            (Some(line), None) => format!("{file}:{line}"),
            (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        })
    }

    /// `a.c:14`, without folders, if both are known.
    pub(crate) fn site_of_line(&self) -> Option<String> {
        let file = self.file.as_ref()?.rsplit('/').next()?;
        Some(format!("{file}:{}", self.line_text()?))
    }

    /// `x=1`, or only the location if the value is not known.
    pub(crate) fn cell(&self) -> String {
        cell(self.location.as_deref().unwrap_or_default(), self.value.as_ref())
    }

    /// ` (line 5)`, ` (lines 5-6)`, or nothing.
    pub(crate) fn at_line(&self) -> String {
        let lines = if self.end_line.is_some() { "lines" } else { "line" };
        self.line_text().map(|line| format!(" ({lines} {line})")).unwrap_or_default()
    }

    /// `5`, `5-6` where it goes on, or `5:12` where its thread has several accesses on the line.
    pub(crate) fn line_text(&self) -> Option<String> {
        if let (Some(line), Some(end)) = (self.line, self.end_line) {
            return Some(format!("{line}-{end}"));
        }
        let column = self.column.filter(|_| self.shares_line);
        let column = column.map(|column| format!(":{column}")).unwrap_or_default();
        Some(format!("{}{column}", self.line?))
    }

    /// Whether memory sees it, other than as a commit.
    pub(crate) fn is_event(&self) -> bool {
        use StepKind::{Fence, Load, Lock, Store, StoreFence, Unlock, Update};
        matches!(self.kind, Load | Store | Update | Fence | StoreFence | Lock | Unlock)
    }
}

/// `x=1`, or only the location if the value is not known.
pub(crate) fn cell(location: &str, value: Option<&RunValue>) -> String {
    match value {
        Some(value) => format!("{location}={value}"),
        None => location.to_owned(),
    }
}

impl fmt::Display for RunValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunValue::Number(number) => write!(f, "{number}"),
            RunValue::Unsigned(number) => write!(f, "{number}"),
            RunValue::Name(name) => f.write_str(name),
        }
    }
}

impl Serialize for ReadFrom {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            ReadFrom::Memory => s.serialize_str("memory"),
            ReadFrom::Buffer => s.serialize_str("buffer"),
            ReadFrom::Step(n) => s.serialize_u64(*n),
        }
    }
}

/// Pairs as an object, in their order.
fn map<S: Serializer, V: Serialize>(pairs: &[(String, V)], s: S) -> Result<S::Ok, S::Error> {
    let mut object = s.serialize_map(Some(pairs.len()))?;
    for (key, value) in pairs {
        object.serialize_entry(key, value)?;
    }
    object.end()
}

fn some_map<S: Serializer>(
    pairs: &Option<Vec<(String, RunValue)>>,
    s: S,
) -> Result<S::Ok, S::Error> {
    map(pairs.as_deref().unwrap_or_default(), s)
}

fn buffers<S: Serializer>(
    threads: &Option<Vec<(String, Buffered)>>,
    s: S,
) -> Result<S::Ok, S::Error> {
    map(threads.as_deref().unwrap_or_default(), s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_of_one_line() {
        let mut run = Run::new("tso");
        for (n, thread, line, column) in [(1, 0, 5, 2), (2, 0, 5, 9), (3, 1, 5, 2), (4, 0, 6, 2)] {
            let mut step = RunStep::new(n, thread, StepKind::Load);
            (step.line, step.column) = (Some(line), Some(column));
            run.steps.push(step);
        }
        run.mark_shared_lines();
        let lines: Vec<String> = run.steps.iter().map(RunStep::at_line).collect();
        assert_eq!(lines, [" (line 5:2)", " (line 5:9)", " (line 5)", " (line 6)"]);
    }

    #[test]
    fn places() {
        let at = |site: &str| {
            let mut step = RunStep::new(1, 0, StepKind::Load);
            step.put_at(site);
            assert_eq!(step.site().as_deref(), Some(site));
            (step.file.unwrap_or_default(), step.line, step.column)
        };
        assert_eq!(at("a.c:14"), ("a.c".to_owned(), Some(14), None));
        assert_eq!(at("a b.c:14:3"), ("a b.c".to_owned(), Some(14), Some(3)));
        assert_eq!(at("C:14:a.c"), ("C:14:a.c".to_owned(), None, None));
        assert_eq!(at("main+0x12"), ("main+0x12".to_owned(), None, None));
        assert_eq!(at("line:0"), ("line:0".to_owned(), None, None));
        assert_eq!(at(""), (String::new(), None, None));
    }
}
