//! Whether histories satisfy models, as text, JSON and DOT.

mod coherence;
mod cycle;
mod json;
mod lattice;
mod run;
mod value;

use std::borrow::Cow;
use std::fmt::Write;

use weakspot_core::{
    Certification, History, HistoryEvidence, HistoryModel, Limit, Names, OpKind, OpNames, Value,
    Verdict, initial_write_var,
};

use crate::answer::{Answer, Head, ModelName};
use crate::format::Format;
use crate::json::verdict_key;
use crate::tables;
use crate::text::limit::limit_text;
use crate::text::show::{counted, grouped, plain};
use crate::text::table::{Paint, Style, paragraph};

pub use value::HistoryValue;

use json::history_json;
use lattice::history_all_text;

/// The answer for one history under one model.
#[derive(Clone, Copy, Debug)]
pub struct HistoryAnswer<'a> {
    /// What it has in common with all answers.
    pub head: Head<'a, HistoryModel>,
    /// What the history is called in the file.
    pub id: Option<&'a str>,
    /// Which one of the file it is, from 1, if files of the format may have several.
    pub number: Option<usize>,
    /// The history.
    pub ops: &'a History,
    /// Its names and values.
    pub names: &'a OpNames,
    /// The lines of the file on which its operations stand; empty if not known.
    pub lines: &'a [u32],
    /// Where the file says more than the history does.
    pub notes: &'a [String],
    /// What of this no model asks about, a few words each.
    pub unchecked: &'a [String],
    /// Why.
    pub evidence: Option<&'a HistoryEvidence>,
    /// The stage that decided, as scripts read it.
    pub decided_by: &'a str,
    /// The model whose evidence this is, if this one was not asked itself.
    pub implied_by: Option<HistoryModel>,
    /// A small part that violates the model as well.
    pub minimal: Option<&'a HistoryPart>,
    /// What is known besides of a history that was followed while it was written.
    pub followed: Option<HistoryFollowed<'a>>,
    /// Units of work done.
    pub explored: u64,
}

/// What only models with real time ask about, as it stands in [`unchecked`](HistoryAnswer::unchecked).
const REAL_TIME: &str = "real-time order";

/// The answers for one history.
#[derive(Clone, Copy, Debug)]
pub struct HistoryAnswers<'a> {
    /// One for each model.
    pub answers: &'a [HistoryAnswer<'a>],
    /// Whether all models were asked about, so that a picture shows which of them hold.
    pub are_all: bool,
}

impl Answer for HistoryAnswers<'_> {
    fn text(&self, style: Style) -> String {
        match self.are_all {
            true => history_all_text(self.answers, style),
            false => history_text(self.answers, style),
        }
    }

    fn json(&self) -> String {
        self.answers.iter().map(history_json).collect()
    }

    fn too_large(&self) -> Option<String> {
        let models: Vec<String> =
            self.answers.iter().filter_map(|answer| answer.head.too_large()).collect();
        (!models.is_empty()).then(|| models.join(", "))
    }
}

/// A history that was followed while it was written: the operations of the answer are those of a
/// window.
#[derive(Clone, Copy, Debug)]
pub struct HistoryFollowed<'a> {
    /// How many operations had come.
    pub operations: u64,
    /// Of how many threads.
    pub threads: usize,
    /// On how many variables.
    pub variables: usize,
    /// How many operations a window has.
    pub window: usize,
    /// How many reads were left out because their writes were not known.
    pub left_out: u64,
    /// After how many operations the model is violated unless a value is written again, if that was seen.
    pub held: Option<u64>,
    /// Whether all of it was looked at together when it had ended.
    pub is_checked_whole: bool,
    /// The threads of the window by their numbers in the whole history.
    pub thread_numbers: &'a [u32],
    /// Per operation of the window its number in its thread.
    pub indices: &'a [u64],
}

/// A part of a history that violates a model.
#[derive(Clone, Debug)]
pub struct HistoryPart {
    /// Its operations, by their numbers in the history.
    pub kept: Vec<u32>,
    /// It as text that can be checked again.
    pub text: String,
    /// It as a JSON object that can be checked again.
    pub json: String,
    /// Whether nothing can be left out.
    pub is_minimal: bool,
}

/// A line for each model that says what was found and, with `details`, why. The answers are for one
/// history.
fn history_text(answers: &[HistoryAnswer<'_>], style: Style) -> String {
    let details = style.details;
    let mut out = String::new();
    for (i, a) in answers.iter().enumerate() {
        let shown = answers[..i].iter().find(|b| same_violation(a, b));
        let outcome = match shown.filter(|_| details) {
            Some(shown) => format!("violated, as shown for {}", shown.head.model.name()),
            None => outcome(a),
        };
        let head = format!("{} {}: ", head(a), a.head.model.name());
        let line = format!("{head}{outcome}\n");
        out += &Paint(style.color).headline(&line, head.len(), a.head.verdict);
        if !details {
            continue;
        }
        push_notes(&mut out, a, &answers[..i]);
        let why = why(a, &answers[..i], style);
        if !why.is_empty() {
            out += &why;
            out.push('\n');
        }
    }
    out
}

/// Counts per model, of all histories; `None` stands for bad input.
#[must_use]
pub fn history_summary<M: ModelName + PartialEq>(
    results: &[(M, Option<Verdict>)],
    histories: usize,
) -> String {
    let mut models: Vec<M> = Vec::new();
    for &(model, _) in results {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let noun = if histories == 1 { "history" } else { "histories" };
    let mut out = format!("{} {noun}\n", grouped(histories as u128));
    let wide = models.iter().map(|model| model.name().len()).max().unwrap_or(0).max(7);
    let _ = writeln!(
        out,
        "{:wide$} {:>9} {:>9} {:>9} {:>8}",
        "model", "satisfied", "violated", "unknown", "errors"
    );
    for model in models {
        let count = |wanted: fn(&Option<Verdict>) -> bool| {
            results.iter().filter(|(m, verdict)| *m == model && wanted(verdict)).count()
        };
        let _ = writeln!(
            out,
            "{:wide$} {:9} {:9} {:9} {:8}",
            model.name(),
            count(|v| *v == Some(Verdict::Holds)),
            count(|v| *v == Some(Verdict::Violated)),
            count(|v| matches!(v, Some(Verdict::Unknown(_)))),
            count(Option::is_none),
        );
    }
    out
}

/// The counts of [`history_summary`] as a table with commas.
#[must_use]
pub fn history_summary_table<M: ModelName>(
    format: Format,
    results: &[(M, Option<Verdict>)],
    models: &[M],
) -> String {
    let end = |verdict: &Option<Verdict>| verdict.as_ref().map_or("error", verdict_key);
    let answers: Vec<_> =
        results.iter().map(|(model, verdict)| (Some(model.key()), end(verdict))).collect();
    tables::summary(format, models, &answers)
}

/// The file, and which history of it.
fn head(a: &HistoryAnswer<'_>) -> String {
    let file = plain(a.head.file);
    match (a.id, a.number) {
        (Some(id), _) => format!("{file} {}", plain(id)),
        (None, Some(number)) => format!("{file} history {number}"),
        (None, None) => file.into_owned(),
    }
}

/// What was found, in a clause.
fn outcome(a: &HistoryAnswer<'_>) -> String {
    if let Some(outcome) = outcome_followed(a) {
        return outcome;
    }
    let operations = match a.followed {
        None => counted(a.ops.len() as u64, "operation"),
        Some(f) => format!("within the first {}", counted(f.operations, "operation")),
    };
    let under = match a.implied_by {
        Some(model) => format!(" under {}", model.name()),
        None => String::new(),
    };
    let unchecked = unchecked(a);
    match (a.head.verdict, a.evidence) {
        (Verdict::Unknown(limit), _) => {
            format!("unknown: {operations}, {}{}", stopped(limit), hint(limit))
        }
        (_, Some(HistoryEvidence::Linear { .. }))
            if a.head.model == HistoryModel::Coherence && a.implied_by.is_none() =>
        {
            let orders = counted(a.ops.vars() as u64, "variable");
            format!("satisfied{unchecked}: {operations}, shown by an order for each of {orders}")
        }
        (_, Some(HistoryEvidence::Linear { steps, .. })) => {
            let steps = counted(run::length(a.ops, steps) as u64, "step");
            format!("satisfied{unchecked}: {operations}, shown by a run of {steps}{under}")
        }
        (_, Some(HistoryEvidence::Cycle(cycle))) => {
            let length = cycle::length(a.head.model, cycle);
            match coherence::broken(&ShowOps::of(a), a.head.model, cycle) {
                Some(broken) => format!("violated: {broken}"),
                None => format!("violated: {operations}, shown by {length}"),
            }
        }
        (_, Some(HistoryEvidence::Refuted { pairs, conflicts, .. })) => {
            let pairs = counted(pairs.len() as u64, "pair");
            let conflicts = counted(conflicts.len() as u64, "cycle");
            format!("violated: {operations}, whatever the order of {pairs} of writes: {conflicts}")
        }
        (Verdict::Holds, _) => {
            let how = match a.head.certified {
                Certification::Checked => "computed with clocks and checked by the definition",
                _ => "computed with clocks, there is no small evidence",
            };
            format!("satisfied{unchecked}: {operations} ({how})")
        }
        (Verdict::Violated, _) => format!("violated: {operations}"),
    }
}

/// What was found in a history that was followed, unless it is a violation.
fn outcome_followed(a: &HistoryAnswer<'_>) -> Option<String> {
    let followed = a.followed?;
    let all = counted(followed.operations, "operation");
    match a.head.verdict {
        Verdict::Violated => None,
        Verdict::Holds if followed.operations > followed.window as u64 => {
            let how = match followed.is_checked_whole {
                true => "checked as a whole at the end",
                false => "all of which were settled",
            };
            Some(format!("satisfied{}: {all}, {how}", unchecked(a)))
        }
        Verdict::Holds => Some(format!("satisfied{}: {all}, all in one window", unchecked(a))),
        Verdict::Unknown(limit) => {
            let why = match limit {
                Limit::Interrupted => "following was interrupted".to_owned(),
                Limit::Time(_) => "the time to follow it was over (--timeout)".to_owned(),
                _ => stopped(limit),
            };
            Some(match followed.held {
                Some(first) => format!(
                    "unknown: {all}, of which the first {} violate it unless a value that was read is \
                     written again, but {why}",
                    grouped(u128::from(first))
                ),
                None => format!("unknown: {all} without a violation, but {why}"),
            })
        }
    }
}

fn stopped(limit: &Limit) -> String {
    limit_text(limit, &Names::default())
}

/// What may help against a limit.
fn hint(limit: &Limit) -> &'static str {
    match limit {
        Limit::Time(_) => "; a higher --timeout may decide it",
        Limit::Memory(_) => "; a higher --memory may decide it",
        _ => "",
    }
}

/// What a history that satisfies a model was not asked, in brackets.
fn unchecked(a: &HistoryAnswer<'_>) -> String {
    // Some models ask about real time.
    let is_asked = |part: &str| part == REAL_TIME && a.head.model.has_real_time();
    let parts: Vec<&str> =
        a.unchecked.iter().map(String::as_str).filter(|part| !is_asked(part)).collect();
    match &parts[..] {
        [] => String::new(),
        parts => format!(" (not checked: {})", parts.join(", ")),
    }
}

/// Whether two answers have the same cycle to show.
fn same_violation(a: &HistoryAnswer<'_>, b: &HistoryAnswer<'_>) -> bool {
    *a.head.verdict == Verdict::Violated
        && a.head.verdict == b.head.verdict
        && a.evidence == b.evidence
}

/// What is wrong with a history that is asked about real time.
pub const NO_TIMES: &str =
    "no operation says when it began or ended, which `lin` and `tso-rt` are about";

/// What helps where nobody wrote what was read.
pub const UNWRITTEN: &str =
    "hint: if all writes were recorded, this is a violation: --complete-recording says so\n";

/// What is said about a history in which it is open what so many reads read.
#[must_use]
pub fn open_reads_note(reads: usize) -> String {
    let what = match reads {
        1 => "1 read is of a value that was".to_owned(),
        reads => format!("{reads} reads are of values that were"),
    };
    format!(
        "{what} written more than once: a model is satisfied if it is with some choice of the writes, and \
         what is shown is about one of them"
    )
}

/// What is to be said, unless it was said before.
fn push_notes(out: &mut String, a: &HistoryAnswer<'_>, before: &[HistoryAnswer<'_>]) {
    let is_new = |note: &&String| !before.iter().any(|other| other.notes.contains(note));
    for note in a.notes.iter().filter(is_new) {
        let _ = writeln!(out, "  note: {}", plain(note));
    }
}

/// The evidence, drawn unless it was drawn before.
fn why(a: &HistoryAnswer<'_>, shown: &[HistoryAnswer<'_>], style: Style) -> String {
    let show = ShowOps::of(a);
    let mut out = match a.evidence {
        _ if shown.iter().any(|b| same_violation(a, b)) => String::new(),
        Some(HistoryEvidence::Linear { steps, .. }) => match a.head.model {
            HistoryModel::Coherence if a.implied_by.is_none() => {
                coherence::orders(&show, steps, style.columns())
            }
            model => run::drawing(&show, model, steps, style),
        },
        Some(HistoryEvidence::Cycle(cycle)) => {
            cycle::drawing(&show, a.head.model, cycle, style.columns())
        }
        Some(HistoryEvidence::Refuted { pairs, conflicts, .. }) => {
            cycle::conflicts(&show, a.head.model, pairs, conflicts, style.columns())
        }
        Some(HistoryEvidence::ByDefinition) | None => String::new(),
    };
    let drawn =
        |b: &&HistoryAnswer<'_>| b.evidence == a.evidence && b.head.verdict == a.head.verdict;
    if *a.head.verdict == Verdict::Holds
        && let Some(shown) = shown.iter().find(drawn).filter(|_| !out.is_empty())
    {
        out = format!("  It is the run shown for {}.\n", shown.head.model.name());
    }
    if let Some(part) = a.minimal {
        let count = counted(part.kept.len() as u64, "operation");
        let perhaps = match part.is_minimal {
            true => "",
            false => "; perhaps fewer do, a limit was reached",
        };
        let text = format!("  {count} of these violate it without the others{perhaps}:");
        let _ = writeln!(out, "\n{}", paragraph(&text, style.columns(), 2));
        for line in part.text.lines() {
            let _ = writeln!(out, "    {}", plain(line));
        }
    }
    out
}

/// A history with its names.
#[derive(Clone, Copy)]
struct ShowOps<'a> {
    ops: &'a History,
    names: &'a OpNames,
    lines: &'a [u32],
    followed: Option<HistoryFollowed<'a>>,
}

impl<'a> ShowOps<'a> {
    fn of(a: &HistoryAnswer<'a>) -> ShowOps<'a> {
        ShowOps { ops: a.ops, names: a.names, lines: a.lines, followed: a.followed }
    }
}

impl ShowOps<'_> {
    fn thread(&self, thread: usize) -> Cow<'_, str> {
        match self.names.threads.get(thread) {
            Some(name) => plain(name),
            None => format!("t{thread}").into(),
        }
    }

    /// The name of a variable. A number stands in brackets, not to be taken for a value.
    fn var(&self, var: u32) -> Cow<'_, str> {
        match self.names.vars.get(var as usize) {
            Some(name) if name.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("[{}]", plain(name)).into()
            }
            Some(name) => plain(name),
            None => format!("x{var}").into(),
        }
    }

    /// `x=1`.
    fn cell(&self, var: u32, value: Value) -> String {
        format!("{}={value}", self.var(var))
    }

    fn initial(&self, var: u32) -> Value {
        self.names.initial.get(var as usize).copied().unwrap_or(0)
    }

    fn written(&self, op: u32) -> Value {
        self.names.values.get(op as usize).copied().unwrap_or(0)
    }

    /// The value that an operation reads.
    fn read(&self, op: u32) -> Value {
        match self.ops.from(op) {
            Some(w) => self.written(w),
            None => self.initial(self.ops.var(op)),
        }
    }

    /// `w x 1`, or what an initial write is.
    fn op(&self, op: u32) -> String {
        if let Some(var) = initial_write_var(op) {
            return format!("{} at the start", self.cell(var, self.initial(var)));
        }
        let var = self.var(self.ops.var(op));
        match self.ops.kind(op) {
            OpKind::Read => format!("r {var} {}", self.read(op)),
            OpKind::Write => format!("w {var} {}", self.written(op)),
            OpKind::Update => format!("u {var} {} -> {}", self.read(op), self.written(op)),
            OpKind::Fence => "fence".to_owned(),
        }
    }

    /// The number of an operation in its thread, from 0.
    fn index(&self, op: u32) -> u64 {
        let index = op - self.ops.of_thread(self.ops.thread_of(op)).start;
        let known = self.followed.and_then(|f| f.indices.get(op as usize).copied());
        known.unwrap_or(index.into())
    }

    /// The number of the thread of an operation.
    fn thread_of(&self, op: u32) -> usize {
        let thread = self.ops.thread_of(op);
        let known = self.followed.and_then(|f| f.thread_numbers.get(thread).copied());
        known.map_or(thread, |thread| thread as usize)
    }

    /// `t0 3`; nothing for initial writes.
    fn place(&self, op: u32) -> String {
        match initial_write_var(op) {
            Some(_) => String::new(),
            None => format!("{} {}", self.thread(self.ops.thread_of(op)), self.index(op)),
        }
    }

    /// `t0 3 w x 1`.
    fn placed(&self, op: u32) -> String {
        format!("{} {}", self.place(op), self.op(op)).trim_start().to_owned()
    }

    /// `line 7`, if it is known.
    fn line(&self, op: u32) -> String {
        match self.lines.get(op as usize) {
            Some(line) => format!("line {line}"),
            None => String::new(),
        }
    }
}
