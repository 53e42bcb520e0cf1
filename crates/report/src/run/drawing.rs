//! One run of the machine, drawn so that it explains itself: who delayed what past whom, and why
//! no interleaving of the threads gives the same.

use weakspot_core::machine::Schedule;
use weakspot_core::{Model, Names, Program};

use super::object::{ReadFrom, Run, RunArc, RunEnd, RunStep, ScSays, StepKind, cell};
use super::of_schedule::of_schedule;
use crate::text::folding::{folded, kept, narrowed, without_repeated};
use crate::text::show::{Show, plain};
use crate::text::table::{
    self, Paint, Row, Style, beside_each_other, cut, pad, paragraph, shortened, width,
};

/// Explains one run: a table with a column per thread and one for memory, time running downwards,
/// then the final state, the delays that matter and, if SC does not allow the run, the cycle that
/// shows it. A schedule that the program does not allow is drawn as far as it goes.
#[must_use]
pub(crate) fn draw_run(
    program: &Program,
    names: &Names,
    source: &str,
    model: Model,
    schedule: &Schedule,
    style: Style,
) -> String {
    draw(Show { file: "", program, names, source }, model, schedule, style, false)
}

/// The same, on demand with the source line of each event of the cycle.
pub(crate) fn draw(
    show: Show<'_>,
    model: Model,
    schedule: &Schedule,
    style: Style,
    lines: bool,
) -> String {
    draw_with(show, model, schedule, style, Some(lines), &[])
}

/// The run alone, not what SC says to it, with the numbers of events, for each of which there is the
/// step that it comes from.
pub(crate) fn draw_only(
    show: Show<'_>,
    model: Model,
    schedule: &Schedule,
    style: Style,
    events: &[usize],
) -> String {
    draw_with(show, model, schedule, style, None, events)
}

/// With a comparison if it is known whether that has source lines.
fn draw_with(
    show: Show<'_>,
    model: Model,
    schedule: &Schedule,
    style: Style,
    lines: Option<bool>,
    events: &[usize],
) -> String {
    let title = title(show.names, model);
    match of_schedule(show, model, schedule, lines.is_some()) {
        Some(run) => explain(&run, &title, style, lines == Some(true), events),
        None => {
            heading(&title, style)
                + "the run does not fit the program: it starts with other locations\n"
        }
    }
}

/// What a run of a program is called.
pub(crate) fn title(names: &Names, model: Model) -> String {
    let name = plain(&names.program);
    let of = if name.is_empty() { "" } else { " of " };
    format!("A run{of}{name} under {model}")
}

/// The title, and how to read what comes below.
fn heading(title: &str, style: Style) -> String {
    let lines = paragraph(&format!("{title}, time running downwards"), style.columns(), 0);
    let painted = match lines.strip_prefix(title) {
        Some(rest) => Paint(style.color).bold(title) + rest,
        None => lines,
    };
    painted + "\n"
}

/// The run in a table and in words. `lines`: whether events of the cycle are shown with their source
/// lines; `events`: for each event that has a number the step that it comes from.
pub(crate) fn explain(
    run: &Run,
    title: &str,
    style: Style,
    lines: bool,
    events: &[usize],
) -> String {
    let drawing = Drawing { run, marks: marks(run), lines, events, columns: style.columns() };
    let threads: Vec<String> = run.threads.iter().map(|thread| thread.name.clone()).collect();
    let mut rows = drawing.rows(&threads);
    let mut columns = threads;
    // In C, `main` often does nothing but start the others.
    if run.steps.iter().any(|step| step.file.is_some()) {
        (rows, columns) = narrowed(rows, columns);
    }
    let memory: Vec<String> =
        run.init.iter().map(|(location, value)| cell(location, Some(value))).collect();
    let mut out = heading(title, style);
    out.push_str(&table::draw(&columns, &memory, &rows, Paint(style.color), style.columns()));
    out.push('\n');
    out.push_str(&drawing.end());
    drawing.push_comparison(&mut out);
    out
}

/// The cycle of a run alone, with the source lines of its events.
pub(crate) fn cycle_lines(run: &Run, style: Style) -> String {
    let (marks, columns) = (marks(run), style.columns());
    let mut out = String::new();
    Drawing { run, marks, lines: true, events: &[], columns }.push_cycle(&mut out);
    out
}

/// Of longer runs only the rows that are not folded are worked out: what overtook a store, say, takes a look
/// at all that came after it.
const MOST_STEPS: usize = 4_000;

struct Drawing<'a> {
    run: &'a Run,
    /// For each step the number by which the drawing refers to its store.
    marks: Vec<Option<usize>>,
    /// Whether the events of the cycle are shown with their source lines.
    lines: bool,
    /// For each event that has a number the step that it comes from.
    events: &'a [usize],
    /// How many columns there are.
    columns: usize,
}

/// Numbers the stores that stayed in a buffer for longer than it took to get there.
fn marks(run: &Run) -> Vec<Option<usize>> {
    let mut last = 0;
    let mut mark = |step: &RunStep| {
        let waits = step.effect.is_none_or(|effect| effect > step.n + 1);
        (step.kind == StepKind::Store && waits).then(|| {
            last += 1;
            last
        })
    };
    run.steps.iter().map(&mut mark).collect()
}

/// The number of the step with which an access took effect in memory, never for a store that did
/// not.
fn effect(step: &RunStep) -> u64 {
    match step.kind {
        StepKind::Store => step.effect.unwrap_or(u64::MAX),
        _ => step.n,
    }
}

/// The instruction of a step.
fn text(step: &RunStep) -> &str {
    step.text.as_deref().unwrap_or_default()
}

/// What an access of a cycle did, where its statement may be long.
fn did(step: &RunStep) -> String {
    match step.kind {
        StepKind::Load => format!("loads {}", step.cell()),
        StepKind::Store => format!("stores {}", step.cell()),
        StepKind::Update => format!("updates {}", step.cell()),
        _ => text(step).to_owned(),
    }
}

impl Drawing<'_> {
    fn step(&self, n: u64) -> Option<(usize, &RunStep)> {
        let at = self.run.steps.binary_search_by_key(&n, |step| step.n).ok()?;
        Some((at, &self.run.steps[at]))
    }

    fn rows(&self, threads: &[String]) -> Vec<Row> {
        let locals = self.local_effects();
        let is_telling = self.run.matters();
        let is_long = self.run.steps.len() > MOST_STEPS;
        let (mut rows, mut matters, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (i, step) in self.run.steps.iter().enumerate() {
            let local = locals[i].as_deref();
            let row = if is_long { self.blank(i, step, local) } else { self.row(i, step, local) };
            if let Some(row) = row {
                matters.push(row.marked || is_telling(step));
                rows.push(row);
                places.push(i);
            }
        }
        if is_long {
            for at in kept(rows.len(), &matters) {
                let i = places[at];
                let row = self.row(i, &self.run.steps[i], locals[i].as_deref());
                rows[at] = row.unwrap_or_else(|| rows[at].clone());
            }
        }
        without_repeated(folded(rows, threads, &matters))
    }

    /// What is needed of a row to fold it; `None` for a step that is not worth a line.
    fn blank(&self, i: usize, step: &RunStep, local: Option<&str>) -> Option<Row> {
        let memory = match step.kind {
            StepKind::Local => local.map(|_| String::new())?,
            StepKind::Store if self.marks[i].is_none() => step.cell(),
            StepKind::Update => step.cell(),
            StepKind::Commit => {
                let (store, _) = self.step(step.of?)?;
                self.marks[store].map(|_| step.cell())?
            }
            StepKind::StoreFence if step.file.is_some() || self.is_part_of_store(i, step) => {
                return None;
            }
            _ => String::new(),
        };
        Some(Row {
            column: step.thread,
            head: String::new(),
            site: None,
            source: None,
            body: Vec::new(),
            memory,
            marked: step.kind == StepKind::Fail,
        })
    }

    /// `None` for a step that is not worth a line: one that goes with another step of the same
    /// instruction, or a commit that the line of its store shows.
    fn row(&self, i: usize, step: &RunStep, local: Option<&str>) -> Option<Row> {
        let buffers = self.run.model != "sc";
        let mut memory = String::new();
        let mut marked = false;
        let mut head = None;
        let numbers = self.numbers(i, step);
        let body = match step.kind {
            StepKind::Local => vec![local?.to_owned()],
            StepKind::Fail => {
                marked = true;
                vec!["fails".to_owned()]
            }
            StepKind::Load => {
                let read = format!("reads {}", step.cell());
                vec![match (step.from, self.own_store(i, step)) {
                    (Some(ReadFrom::Buffer), Some(mark)) => {
                        format!("{read} from its buffer ({mark})")
                    }
                    (Some(ReadFrom::Buffer), None) => format!("{read} from its buffer"),
                    _ if buffers => format!("{read} from memory"),
                    _ => read,
                }]
            }
            StepKind::Store => {
                let written = step.cell();
                vec![match self.marks[i] {
                    Some(mark) => format!("buffers {written} as ({mark})"),
                    None => {
                        memory.clone_from(&written);
                        format!("writes {written} to memory")
                    }
                }]
            }
            StepKind::Update => {
                memory = step.cell();
                let old = cell(step.location.as_deref().unwrap_or_default(), step.old.as_ref());
                vec![format!("reads {old} and writes {memory} at once")]
            }
            StepKind::Fence if buffers => vec!["finds its buffer empty".to_owned()],
            StepKind::StoreFence if self.run.model.starts_with("pso") && self.waits(i, step) => {
                vec!["holds later stores back".to_owned()]
            }
            // The store that it belongs to has a line.
            StepKind::StoreFence if step.file.is_some() || self.is_part_of_store(i, step) => {
                return None;
            }
            StepKind::Lock => vec!["takes the lock".to_owned()],
            StepKind::Unlock => vec!["frees the lock".to_owned()],
            StepKind::Commit => {
                let (store, _) = self.step(step.of?)?;
                memory = step.cell();
                head = Some(format!("({})", self.marks[store]?));
                let late = self.overtaken_by(store);
                marked = late.is_some();
                let reaches = format!("{numbers}{memory} reaches memory");
                match late {
                    Some(late) => vec![format!("{reaches},"), late],
                    None => vec![reaches],
                }
            }
            _ => Vec::new(),
        };
        let mut body: Vec<String> = body.into_iter().filter(|line| !line.is_empty()).collect();
        let mut row = Row {
            column: step.thread,
            head: String::new(),
            site: None,
            source: None,
            body: Vec::new(),
            memory,
            marked,
        };
        row.head = match (head, step.site_of_line()) {
            (Some(head), _) => head,
            // Statements are long: what was done stands first, with its place.
            (None, Some(site)) if !body.is_empty() => {
                row.site = Some(site);
                row.source = step.text.clone();
                numbers + &body.remove(0)
            }
            (None, site) => {
                row.site = site;
                numbers + text(step)
            }
        };
        row.body = body;
        Some(row)
    }

    /// The mark of the store in its own buffer that a load reads from.
    fn own_store(&self, i: usize, load: &RunStep) -> Option<usize> {
        let is_own = |step: &RunStep| {
            step.thread == load.thread
                && step.kind == StepKind::Store
                && step.location == load.location
        };
        let own = (0..i).rev().find(|&store| is_own(&self.run.steps[store]))?;
        self.marks[own]
    }

    /// Whether the next step of the same thread is a store of the same instruction: one with release order is a fence and
    /// a store.
    fn is_part_of_store(&self, i: usize, step: &RunStep) -> bool {
        let mut later = self.run.steps[i + 1..].iter();
        let next = later.find(|s| s.thread == step.thread && s.kind != StepKind::Commit);
        let place = |step: &RunStep| (step.line, step.column, step.text.clone());
        next.is_some_and(|next| next.kind == StepKind::Store && place(next) == place(step))
    }

    /// Whether a store of the step's thread waits in a buffer.
    fn waits(&self, i: usize, step: &RunStep) -> bool {
        self.run.steps[..i].iter().any(|store| {
            store.thread == step.thread && store.kind == StepKind::Store && effect(store) > step.n
        })
    }

    /// The numbers of the events of a line: `4. `, or `4, 5. ` for a store and how it reaches memory
    /// if that has no line.
    fn numbers(&self, i: usize, step: &RunStep) -> String {
        let commit = match step.kind {
            StepKind::Store if self.marks[i].is_none() => step.effect,
            _ => None,
        };
        let commit = commit.filter(|&commit| commit != step.n);
        let commit = commit.and_then(|commit| self.step(commit)).map(|(at, _)| at);
        // The steps rise.
        let of = |step: usize| {
            let (from, to) = (|s: &usize| *s < step, |s: &usize| *s <= step);
            self.events.partition_point(from)..self.events.partition_point(to)
        };
        let numbers = of(i).chain(commit.map_or(0..0, of));
        let numbers: Vec<String> = numbers.map(|number| (number + 1).to_string()).collect();
        if numbers.is_empty() { String::new() } else { numbers.join(", ") + ". " }
    }

    /// For each step that computes within its thread what to say about it, once per instruction
    /// of the source, and nothing if another step of the instruction has a line.
    fn local_effects(&self) -> Vec<Option<String>> {
        let steps = &self.run.steps;
        let mut effects = vec![None; steps.len()];
        for thread in 0..self.run.threads.len() {
            let is_mine = |&i: &usize| {
                steps[i].thread == thread
                    && !matches!(steps[i].kind, StepKind::Commit | StepKind::Fail)
            };
            let mine: Vec<usize> = (0..steps.len()).filter(is_mine).collect();
            let place = |i: usize| (steps[i].line, steps[i].column, &steps[i].text);
            for group in mine.chunk_by(|&a, &b| place(a) == place(b)) {
                let is_local = |&i: &usize| steps[i].kind == StepKind::Local;
                if steps[group[0]].line.is_none() || !group.iter().all(is_local) {
                    continue;
                }
                let mut set: Vec<&(String, _)> = Vec::new();
                // What has no name in the source says nothing.
                let named = |sets: &&(String, _)| !sets.0.starts_with('$');
                for sets in group.iter().flat_map(|&i| &steps[i].sets).filter(named) {
                    set.retain(|(known, _)| *known != sets.0);
                    set.push(sets);
                }
                let set: Vec<String> = set.iter().map(|(name, v)| format!("{name}={v}")).collect();
                effects[group[0]] = Some(set.join(" "));
            }
        }
        effects
    }

    /// Which later accesses of its thread overtook the store of this step.
    fn overtaken_by(&self, store: usize) -> Option<String> {
        let all = self.overtakers(store);
        let (&first, rest) = all.split_first()?;
        let first = match self.marks[first] {
            Some(mark) => format!("({mark})"),
            None => match self.run.steps[first].site_of_line() {
                Some(_) => self.run.steps[first].at_line().trim_matches([' ', '(', ')']).to_owned(),
                None => cut(text(&self.run.steps[first]), 24),
            },
        };
        Some(match rest.len() {
            0 => format!("overtaken by {first}"),
            more => format!("overtaken by {first} and {more} more"),
        })
    }

    /// The later accesses of its thread that took effect in memory before the store of this step.
    fn overtakers(&self, store: usize) -> Vec<usize> {
        let steps = &self.run.steps;
        let until = effect(&steps[store]);
        let is_overtaker = |&i: &usize| {
            steps[i].thread == steps[store].thread
                && match steps[i].kind {
                    StepKind::Load => steps[i].from != Some(ReadFrom::Buffer),
                    StepKind::Store | StepKind::Update => effect(&steps[i]) < until,
                    _ => false,
                }
        };
        let before = (store + 1..steps.len()).take_while(|&i| steps[i].n < until);
        before.filter(is_overtaker).collect()
    }

    /// What the run comes to.
    fn end(&self) -> String {
        let mut out = String::new();
        let mut say = |text: &str| out.push_str(&paragraph(text, self.columns, 2));
        match &self.run.end {
            Some(RunEnd::State(state)) if !state.is_empty() => {
                let state: Vec<String> = state.iter().map(|(n, v)| format!("{n}={v};")).collect();
                say(&format!("Final state: {}", state.join(" ")));
            }
            Some(RunEnd::At(points)) if !points.is_empty() => {
                let at: Vec<String> = points.iter().map(|(t, p)| format!("{t} at {p}")).collect();
                say(&format!("The run ends with {}.", at.join(", ")));
            }
            Some(RunEnd::Fails(message)) => {
                let at = self.run.steps.last().map_or(String::new(), RunStep::at_line);
                say(&format!("The run fails{at}: {message}"));
            }
            Some(RunEnd::Impossible(step)) => {
                say(&format!("step {step} is not possible: the run does not fit the program"));
            }
            Some(RunEnd::State(_) | RunEnd::At(_)) | None => {}
        }
        for (step, mark) in self.run.steps.iter().zip(&self.marks) {
            if let (Some(mark), None) = (mark, step.effect) {
                let (written, thread) = (step.cell(), self.run.thread(step.thread));
                say(&format!("At the end ({mark}) {written} is still in the buffer of {thread}."));
            }
        }
        out
    }

    /// Whether SC allows the run, too, and if not, why not.
    fn push_comparison(&self, out: &mut String) {
        let mut say = |text: &str| out.push_str(&paragraph(text, self.columns, 0));
        match self.run.sc {
            None => {}
            Some(ScSays::NotChecked) => {
                let events = self.run.steps.iter().filter(|step| step.is_event()).count();
                say(&format!(
                    "Whether SC allows this was not checked: the run has {events} events."
                ));
            }
            Some(ScSays::Allows) => {
                let delayed = self.marks.iter().any(Option::is_some);
                say(match (delayed, self.is_locked()) {
                    // The open block keeps buffers from draining, so that this moment is not one of
                    // SC.
                    (true, true) => {
                        "SC allows the same accesses, but only with stores delayed past an open \
                         atomic block can the threads stand at these points together."
                    }
                    (true, false) => {
                        "SC allows the same: no thread can tell that stores were delayed."
                    }
                    (false, _) => "SC allows the same.",
                });
            }
            Some(ScSays::Forbids) => {
                for sentence in self.run.cycle.iter().filter_map(|arc| self.delay(arc)) {
                    say(&sentence);
                }
                out.push('\n');
                out.push_str(&paragraph(
                    "SC cannot do this: each arrow means \"comes before\", and they form a cycle.",
                    self.columns,
                    0,
                ));
                self.push_cycle(out);
            }
        }
    }

    /// Whether an atomic block is open at the end.
    fn is_locked(&self) -> bool {
        let is_about = |step: &&RunStep| matches!(step.kind, StepKind::Lock | StepKind::Unlock);
        let last = self.run.steps.iter().rev().find(is_about);
        last.is_some_and(|step| step.kind == StepKind::Lock)
    }

    /// The sentence for a step of the cycle that goes against time: the store was issued first and
    /// reached memory last.
    fn delay(&self, arc: &RunArc) -> Option<String> {
        let ((_, store), (_, access)) = (self.step(arc.from)?, self.step(arc.to)?);
        let goes_back = arc.edge == "po" && effect(store) > effect(access);
        if store.kind != StepKind::Store || !goes_back {
            return None;
        }
        let thread = self.run.thread(store.thread);
        let at = access.at_line();
        let location = access.location.as_deref().unwrap_or_default();
        let then = match access.kind {
            StepKind::Load => format!("{thread} loaded {location}{at}"),
            StepKind::Store => format!("its later store {}{at} reached memory", access.cell()),
            StepKind::Update => format!("{thread} updated {location}{at}"),
            _ => return None,
        };
        Some(format!(
            "{thread}'s store {}{} was still in its buffer when {then}.",
            store.cell(),
            store.at_line(),
        ))
    }

    fn push_cycle(&self, out: &mut String) {
        let steps: Vec<&RunStep> =
            self.run.cycle.iter().filter_map(|arc| Some(self.step(arc.from)?.1)).collect();
        let thread = |step: &RunStep| self.run.thread(step.thread).to_owned();
        let name_width = steps.iter().map(|step| width(&thread(step))).max().unwrap_or(0);
        let line = |step: &RunStep| step.line_text().filter(|_| self.lines || step.file.is_some());
        let digits = steps.iter().filter_map(|s| line(s)).map(|line| line.len()).max().unwrap_or(0);
        let instr = (self.columns / 2).min(40);
        let text = |step: &&RunStep| {
            let at = match line(step) {
                Some(line) => format!("line {line:>digits$}  "),
                None => String::new(),
            };
            let what = match &step.file {
                Some(_) => did(step),
                None => text(step).to_owned(),
            };
            format!("{}  {at}{}", pad(&thread(step), name_width), shortened(&what, instr))
        };
        let texts: Vec<String> = steps.iter().map(text).collect();
        let widest = texts.iter().map(|t| width(t)).max().unwrap_or(0);
        let arrow = |arc: &RunArc| format!("-{}->", arc.edge);
        let longest = self.run.cycle.iter().map(|arc| arrow(arc).len()).max().unwrap_or(0);
        for (arc, text) in self.run.cycle.iter().zip(&texts) {
            let (text, arrow) = (pad(text, widest), pad(&arrow(arc), longest));
            let left = format!("  {text}  {arrow}");
            let taken = width(&left);
            out.push_str(&match taken <= self.columns {
                true => beside_each_other(&left, &arc.why, self.columns),
                // The arrow is what the reason is about.
                false => {
                    let right = format!("{}  {}", arrow.trim_end(), arc.why);
                    beside_each_other(&format!("  {text}"), &right, self.columns)
                }
            });
        }
        if let Some(first) = texts.first() {
            let first = format!("  {first}");
            out.push_str(&beside_each_other(&first, "(back at the start)", self.columns));
        }
    }
}

#[cfg(test)]
mod tests;
