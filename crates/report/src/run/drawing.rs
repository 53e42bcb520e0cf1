//! One run of the machine, drawn so that it explains itself: who delayed what past whom, and why
//! no interleaving of the threads gives the same.

use std::collections::BTreeSet;
use std::fmt::Write;

use weakspot_core::cycle::{Arc, Link};
use weakspot_core::machine::{Local, Schedule};
use weakspot_core::{EventId, Fence, Model, Names, Program, ThreadId, Value};

use crate::run::communication::MAX_EVENTS;
use crate::run::replay::{Did, Run, Stop, Taken};
use crate::text::diagnostic::failure_message;
use crate::text::show::{Show, clip, plain};
use crate::text::table::{self, Paint, Row, cut, pad, width};

/// Explains one run: a table with a column per thread and one for memory, time running downwards,
/// then the final state, the delays that matter and, if SC does not allow the run, the cycle that
/// shows it. A schedule that the program does not allow is drawn as far as it goes.
#[must_use]
pub fn draw_run(
    program: &Program,
    names: &Names,
    source: &str,
    model: Model,
    schedule: &Schedule,
    color: bool,
) -> String {
    draw(Show { program, names, source }, model, schedule, color, false)
}

/// The same, on demand with the source line of each event of the cycle.
pub(crate) fn draw(
    show: Show<'_>,
    model: Model,
    schedule: &Schedule,
    color: bool,
    lines: bool,
) -> String {
    draw_with(show, model, schedule, color, Some(lines), &[])
}

/// The run alone, not what SC says to it, with the numbers of events, for each of which there is the
/// step that it comes from.
pub(crate) fn draw_only(
    show: Show<'_>,
    model: Model,
    schedule: &Schedule,
    color: bool,
    events: &[usize],
) -> String {
    draw_with(show, model, schedule, color, None, events)
}

/// With a comparison if it is known whether that has source lines.
fn draw_with(
    show: Show<'_>,
    model: Model,
    schedule: &Schedule,
    color: bool,
    lines: Option<bool>,
    events: &[usize],
) -> String {
    let Show { program, names, .. } = show;
    let paint = Paint(color);
    let mut out = String::new();
    let of = if names.program.is_empty() { "" } else { " of " };
    let title = format!("A run{of}{} under {model}", plain(&names.program));
    let _ = writeln!(out, "{}, time running downwards\n", paint.bold(&title));
    let Some(run) = Run::replay(program, model, schedule) else {
        out.push_str("the run does not fit the program: it starts with other locations\n");
        return out;
    };
    let drawing =
        Drawing { show, run: &run, marks: marks(&run), lines: lines == Some(true), events };
    let threads: Vec<String> =
        (0..program.threads.len()).map(|t| show.thread(ThreadId::new(t)).into_owned()).collect();
    out.push_str(&table::draw(&threads, &drawing.memory(), &drawing.rows(), paint));
    out.push('\n');
    out.push_str(&drawing.end());
    if lines.is_some() && model != Model::Sc && !matches!(run.stop, Stop::Impossible(_)) {
        drawing.push_comparison(&mut out);
    }
    out
}

struct Drawing<'a> {
    show: Show<'a>,
    run: &'a Run<'a>,
    /// For each step the number by which the drawing refers to its store.
    marks: Vec<Option<usize>>,
    /// Whether the events of the cycle are shown with their source lines.
    lines: bool,
    /// For each event that has a number the step that it comes from.
    events: &'a [usize],
}

/// Numbers the stores that stayed in a buffer for longer than it took to get there.
fn marks(run: &Run<'_>) -> Vec<Option<usize>> {
    let mut last = 0;
    let mut mark = |(i, taken): (usize, &Taken<'_>)| match taken.did {
        Did::Store { commit, .. } if commit.is_none_or(|c| c > i + 1) => {
            last += 1;
            Some(last)
        }
        _ => None,
    };
    run.steps.iter().enumerate().map(&mut mark).collect()
}

impl Drawing<'_> {
    /// The initial values of the cells that the run touches, or of all if it touches none.
    fn memory(&self) -> Vec<String> {
        let touched: BTreeSet<Value> =
            self.run.steps.iter().filter_map(|t| address(&t.did)).collect();
        let start = &self.run.start.memory;
        let all = || start.keys().copied().collect();
        let shown = if touched.is_empty() { all() } else { touched };
        let value = |addr: &Value| start.get(addr).copied().unwrap_or(0);
        shown.iter().map(|addr| self.show.cell_value(*addr, value(addr))).collect()
    }

    fn rows(&self) -> Vec<Row> {
        let locals = self.local_effects();
        let steps = self.run.steps.iter().enumerate();
        let mut rows: Vec<Row> =
            steps.filter_map(|(i, taken)| self.row(i, taken, locals[i].as_deref())).collect();
        if let Stop::Failed(failure, edge) = &self.run.stop {
            rows.push(Row {
                column: failure.thread.index(),
                head: self.show.instr(failure.thread, edge),
                body: vec!["fails".to_owned()],
                memory: String::new(),
                marked: true,
            });
        }
        rows
    }

    /// `None` for a step that is not worth a line: one that goes with another step of the same
    /// instruction, or a commit that its store's line tells of.
    fn row(&self, i: usize, taken: &Taken<'_>, local: Option<&str>) -> Option<Row> {
        let buffers = self.run.machine.model != Model::Sc;
        let mut memory = String::new();
        let mut marked = false;
        let mut head = None;
        let numbers = self.numbers(i, &taken.did);
        let body = match taken.did {
            Did::Local(_) => vec![local?.to_owned()],
            Did::Load { addr, value, own } => {
                let read = format!("reads {}", self.show.cell_value(addr, value));
                vec![match own.map(|store| self.marks[store]) {
                    Some(Some(mark)) => format!("{read} from its buffer ({mark})"),
                    Some(None) => format!("{read} from its buffer"),
                    None if buffers => format!("{read} from memory"),
                    None => read,
                }]
            }
            Did::Store { addr, value, .. } => {
                let written = self.show.cell_value(addr, value);
                vec![match self.marks[i] {
                    Some(mark) => format!("buffers {written} as ({mark})"),
                    None => {
                        memory.clone_from(&written);
                        format!("writes {written} to memory")
                    }
                }]
            }
            Did::Update { addr, old, new } => {
                memory = self.show.cell_value(addr, new);
                let old = self.show.cell_value(addr, old);
                vec![format!("reads {old} and writes {memory} at once")]
            }
            Did::Fence(Fence::Full, _) if buffers => vec!["finds its buffer empty".to_owned()],
            Did::Fence(Fence::StoreStore, true)
                if matches!(self.run.machine.model, Model::Pso(_)) =>
            {
                vec!["holds later stores back".to_owned()]
            }
            Did::Fence(..) => Vec::new(),
            Did::Lock => vec!["takes the lock".to_owned()],
            Did::Unlock => vec!["frees the lock".to_owned()],
            Did::Commit { store } => {
                let Did::Store { addr, value, .. } = self.run.steps[store].did else { return None };
                memory = self.show.cell_value(addr, value);
                head = Some(format!("({})", self.marks[store]?));
                let late = self.overtaken_by(store);
                marked = late.is_some();
                let reaches = format!("{numbers}{memory} reaches memory");
                match late {
                    Some(late) => vec![format!("{reaches},"), late],
                    None => vec![reaches],
                }
            }
        };
        let head =
            head.unwrap_or_else(|| numbers.clone() + &self.show.instr(taken.thread, taken.edge));
        let body = body.into_iter().filter(|line| !line.is_empty()).collect();
        Some(Row { column: taken.thread.index(), head, body, memory, marked })
    }

    /// The numbers of the events of a line: `4. `, or `4, 5. ` for a store and how it reaches memory
    /// if that has no line.
    fn numbers(&self, step: usize, did: &Did) -> String {
        let commit = match did {
            Did::Store { commit, .. } if self.marks[step].is_none() => *commit,
            _ => None,
        };
        // The steps rise.
        let of = |step: usize| {
            let (from, to) = (|s: &usize| *s < step, |s: &usize| *s <= step);
            self.events.partition_point(from)..self.events.partition_point(to)
        };
        let commit = commit.filter(|&commit| commit != step);
        let numbers = of(step).chain(commit.map_or(0..0, of));
        let numbers: Vec<String> = numbers.map(|number| (number + 1).to_string()).collect();
        if numbers.is_empty() { String::new() } else { numbers.join(", ") + ". " }
    }

    /// For each step that computes within its thread what to say about it, once per instruction
    /// of the source, and nothing if another step of the instruction has a line.
    fn local_effects(&self) -> Vec<Option<String>> {
        let steps = &self.run.steps;
        let mut effects = vec![None; steps.len()];
        for t in 0..self.run.start.threads.len() {
            let mine: Vec<usize> = (0..steps.len())
                .filter(|&i| {
                    steps[i].thread.index() == t && !matches!(steps[i].did, Did::Commit { .. })
                })
                .collect();
            for group in mine.chunk_by(|&a, &b| steps[a].edge.span == steps[b].edge.span) {
                let is_local = |&i: &usize| matches!(steps[i].did, Did::Local(_));
                let in_source = !clip(self.show.source, steps[group[0]].edge.span).is_empty();
                if !in_source || !group.iter().all(is_local) {
                    continue;
                }
                let mut set: Vec<(String, Value)> = Vec::new();
                for &i in group {
                    if let Did::Local(Some((reg, value))) = steps[i].did {
                        let name = self.show.reg(steps[i].thread, reg).into_owned();
                        set.retain(|(known, _)| *known != name);
                        set.push((name, value));
                    }
                }
                let set: Vec<String> =
                    set.iter().map(|(name, v)| format!("{name}={}", self.show.value(*v))).collect();
                effects[group[0]] = Some(set.join(" "));
            }
        }
        effects
    }

    /// Which later accesses of its thread overtook the store of this step.
    fn overtaken_by(&self, store: usize) -> Option<String> {
        let all = self.run.overtakers(store);
        let (&first, rest) = all.split_first()?;
        let taken = &self.run.steps[first];
        let first = match self.marks[first] {
            Some(mark) => format!("({mark})"),
            None => cut(&self.show.instr(taken.thread, taken.edge), 24),
        };
        Some(match rest.len() {
            0 => format!("overtaken by {first}"),
            more => format!("overtaken by {first} and {more} more"),
        })
    }

    /// What the run comes to.
    fn end(&self) -> String {
        let mut out = String::new();
        let run = self.run;
        match &run.stop {
            Stop::End if run.machine.is_final(&run.end) => {
                let values = run.machine.observe(&run.end);
                let named = values.iter().zip(&self.show.names.observed);
                let state: Vec<String> = named
                    .map(|(v, name)| format!("{}={};", plain(name), self.show.value(*v)))
                    .collect();
                if !state.is_empty() {
                    let _ = writeln!(out, "Final state: {}", state.join(" "));
                }
            }
            Stop::End => self.push_points(&mut out),
            Stop::Failed(failure, edge) => {
                let message = failure_message(self.show.program, self.show.names, failure);
                let at = self.show.at_line(edge.span);
                let _ = writeln!(out, "The run fails{at}: {message}");
            }
            Stop::Impossible(step) => {
                let _ = writeln!(
                    out,
                    "step {} is not possible: the run does not fit the program",
                    step + 1
                );
            }
        }
        for (i, taken) in run.steps.iter().enumerate() {
            if let Did::Store { addr, value, commit: None } = taken.did
                && let Some(mark) = self.marks[i]
            {
                let written = self.show.cell_value(addr, value);
                let thread = self.show.thread(taken.thread);
                let _ = writeln!(
                    out,
                    "At the end ({mark}) {written} is still in the buffer of {thread}."
                );
            }
        }
        out
    }

    /// Where the threads stand, as far as these places have names.
    fn push_points(&self, out: &mut String) {
        let names = &self.show.names.points;
        let stand = |(t, local): (usize, &Local)| {
            let point = names.get(t)?.get(local.point.index()).filter(|name| !name.is_empty())?;
            Some(format!("{} at {}", self.show.thread(ThreadId::new(t)), plain(point)))
        };
        let stand: Vec<String> =
            self.run.end.threads.iter().enumerate().filter_map(stand).collect();
        if !stand.is_empty() {
            let _ = writeln!(out, "The run ends with {}.", stand.join(", "));
        }
    }

    /// Whether SC allows the run, too, and if not, why not.
    fn push_comparison(&self, out: &mut String) {
        let events = self.run.execution.history.events.len();
        if events > MAX_EVENTS {
            let _ = writeln!(
                out,
                "Whether SC allows this was not checked: the run has {events} events."
            );
            return;
        }
        let Some(cycle) = self.run.cycle() else {
            let delayed = self.marks.iter().any(Option::is_some);
            if delayed && self.run.end.lock.is_some() {
                // The open block keeps buffers from draining, so that this moment is not one of SC.
                out.push_str(
                    "SC allows the same accesses, but only with stores delayed past an open atomic \
                     block can the threads stand at these points together.\n",
                );
                return;
            }
            out.push_str(match delayed {
                true => "SC allows the same: no thread can tell that stores were delayed.\n",
                false => "SC allows the same.\n",
            });
            return;
        };
        for arc in &cycle {
            if let Some(sentence) = self.delay(arc) {
                let _ = writeln!(out, "{sentence}");
            }
        }
        out.push_str("\nSC cannot do this: each arrow means \"comes before\", and together they form a circle.\n");
        self.push_cycle(out, &cycle);
    }

    /// The sentence for a step of the cycle that goes against time: the store was issued first and
    /// reached memory last.
    fn delay(&self, arc: &Arc) -> Option<String> {
        let (_, store) = self.run.issued(arc.from);
        let (_, access) = self.run.issued(arc.to);
        let Did::Store { addr, value, .. } = store.did else { return None };
        if !self.run.goes_back(arc) {
            return None;
        }
        let thread = self.show.thread(store.thread);
        let at = self.show.at_line(access.edge.span);
        let then = match access.did {
            Did::Load { addr, .. } => format!("{thread} loaded {}{at}", self.show.cell(addr)),
            Did::Store { addr, value, .. } => {
                format!("its later store {}{at} reached memory", self.show.cell_value(addr, value))
            }
            Did::Update { addr, .. } => format!("{thread} updated {}{at}", self.show.cell(addr)),
            _ => return None,
        };
        Some(format!(
            "{thread}'s store {}{} was still in its buffer when {then}.",
            self.show.cell_value(addr, value),
            self.show.at_line(store.edge.span),
        ))
    }

    fn push_cycle(&self, out: &mut String, cycle: &[Arc]) {
        let thread = |arc: &Arc| self.show.thread(self.run.issued(arc.from).1.thread);
        let name_width = cycle.iter().map(|arc| width(&thread(arc))).max().unwrap_or(0);
        let line = |arc: &Arc| match self.lines {
            true => self.show.line(self.run.issued(arc.from).1.edge.span),
            false => None,
        };
        let digits = cycle.iter().filter_map(line).max().map_or(0, |n| n.to_string().len());
        let text = |arc: &Arc| {
            let (_, taken) = self.run.issued(arc.from);
            let instr = cut(&self.show.instr(taken.thread, taken.edge), 40);
            let at = match line(arc) {
                Some(line) => format!("line {line:digits$}  "),
                None => String::new(),
            };
            format!("{}  {at}{instr}", pad(&thread(arc), name_width))
        };
        let texts: Vec<String> = cycle.iter().map(text).collect();
        let widest = texts.iter().map(|t| width(t)).max().unwrap_or(0);
        let arrow = |arc: &Arc| format!("-{}->", arc.link.name());
        let longest = cycle.iter().map(|arc| arrow(arc).len()).max().unwrap_or(0);
        for (arc, text) in cycle.iter().zip(&texts) {
            let (text, arrow) = (pad(text, widest), pad(&arrow(arc), longest));
            let _ = writeln!(out, "  {text}  {arrow}  {}", self.reason(arc));
        }
        if let Some(first) = texts.first() {
            let _ = writeln!(out, "  {first}  (back at the start)");
        }
    }

    fn reason(&self, arc: &Arc) -> String {
        let op = |e: EventId| self.run.issued(e).1;
        let cell_value = |read: bool| match op(arc.from).did {
            Did::Load { addr, value, .. } | Did::Store { addr, value, .. } => {
                self.show.cell_value(addr, value)
            }
            Did::Update { addr, old, new } => {
                self.show.cell_value(addr, if read { old } else { new })
            }
            _ => String::new(),
        };
        match arc.link {
            Link::Po => format!("program order of {}", self.show.thread(op(arc.from).thread)),
            Link::Rf => format!("wrote {}, which the next reads", cell_value(false)),
            Link::Co => format!("wrote {}, which the next overwrites", cell_value(false)),
            Link::Fr => format!("read {}, which the next overwrites", cell_value(true)),
            Link::Block => "in one atomic block with the next".to_owned(),
            Link::Start => "starts the thread of the next".to_owned(),
            Link::Join => "in the thread that the next waits for".to_owned(),
        }
    }
}

/// The cell that a step reads or writes.
fn address(did: &Did) -> Option<Value> {
    match *did {
        Did::Load { addr, .. } | Did::Store { addr, .. } | Did::Update { addr, .. } => Some(addr),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
