//! Why no run ends with certain values, in words and as an execution that can be drawn.

use serde::Serialize;
use weakspot_core::axioms::Axiom;
use weakspot_core::cycle::{Arc, Link};
use weakspot_core::why_not::{Forbidden, NoReason, WhyNot};
use weakspot_core::{EventId, Fence, Model, Op, ThreadId, Value};

use crate::json::model_key;
use crate::run::communication::communication;
use crate::run::drawing::cycle_lines;
use crate::run::object::{
    ReadFrom, Run, RunArc, RunLocation, RunStep, RunThread, RunValue, StepKind,
};
use crate::text::show::{Lines, Show, clip, location_name, observed_value, plain};
use crate::text::table::{Style, paragraph};

/// The reason, or why there is none.
pub(crate) type Reason<'a> = Result<&'a WhyNot, NoReason>;

/// The reason in words, with the cycle.
pub(crate) fn why_not_text(
    show: Show<'_>,
    model: Model,
    reason: Reason<'_>,
    style: Style,
) -> String {
    let say = |text: &str| paragraph(text, style.columns(), 0);
    match reason {
        Err(_) => say(
            "Why not is explained for programs without loops and with few candidate executions \
             only.",
        ),
        Ok(WhyNot::NoCandidate { components, instead }) => {
            say(&no_candidate(show, components, instead.iter().copied()))
        }
        Ok(WhyNot::Cycle(forbidden)) => {
            let run = of_forbidden(show, model, forbidden);
            let head = match forbidden.axiom {
                Axiom::Coherence => "The accesses to one location would each come before the next:",
                _ => "Each of these would come before the next:",
            };
            say(head) + &cycle_lines(&run, style) + &say(&others(forbidden))
        }
    }
}

fn no_candidate(
    show: Show<'_>,
    components: &[usize],
    instead: impl Iterator<Item = Value>,
) -> String {
    let names: Vec<_> = components.iter().map(|&c| plain(name(show, c)).into_owned()).collect();
    let component = components.first().copied().unwrap_or(usize::MAX);
    let shown = |value| observed_value(show.program, show.names, (component, value)).to_string();
    let values: Vec<String> = instead.map(shown).collect();
    match (&names[..], &values[..]) {
        ([name], [rest @ .., last]) => {
            let is = if rest.is_empty() {
                last.clone()
            } else {
                format!("{} or {last}", rest.join(", "))
            };
            format!("Whatever memory does, {name} is {is}: nobody stores what would change that.")
        }
        ([one, other], _) if components[0] == components[1] && one == other => {
            format!("That is a contradiction: {one} has one value in a final state.")
        }
        ([] | [_], _) => "Whatever memory does, no run of the threads ends.".to_owned(),
        (names, _) => format!(
            "Whatever memory does, the threads do not compute these values of {} together.",
            names.join(", ")
        ),
    }
}

fn name(show: Show<'_>, component: usize) -> &str {
    show.names.observed.get(component).map_or("", String::as_str)
}

/// What is to be said about the other executions with these values.
fn others(forbidden: &Forbidden) -> String {
    let Forbidden { candidates, incoherent, axiom, .. } = *forbidden;
    if candidates == 1 {
        return "No other execution has these values.".to_owned();
    }
    let which = match (incoherent, axiom) {
        (0, _) | (_, Axiom::Coherence) => "; this is a shortest one".to_owned(),
        (n, _) => {
            format!(", {n} of them at one location alone; this is a shortest one of the rest")
        }
    };
    format!("All {candidates} candidate executions with these values have such a cycle{which}.")
}

/// The forbidden execution in the form of a run. Its steps are in no order of time: those of a thread
/// follow each other, and threads follow threads.
pub(crate) fn of_forbidden(show: Show<'_>, model: Model, forbidden: &Forbidden) -> Run {
    let of = Of { show, model, forbidden, lines: Lines::new(show.source) };
    let execution = &forbidden.execution;
    let mut run = Run::new(model_key(model));
    let threads = 0..show.program.threads.len();
    run.threads = threads.map(|t| RunThread::new(show.thread(ThreadId::new(t)))).collect();
    run.steps = (0..execution.events.len()).map(|i| of.step(i)).collect();
    for step in &run.steps {
        if let Some(location) = &step.location
            && !run.locations.iter().any(|known| known.name == *location)
        {
            run.locations.push(RunLocation::new(location.clone()));
        }
    }
    run.locations.sort_by(|a, b| a.name.cmp(&b.name));
    let start = |location: &RunLocation| {
        let at = show.names.locs.iter().position(|known| plain(known) == location.name)?;
        let known = show.program.locs.get(at)?;
        Some((location.name.clone(), show.value_at(known.addr, *known.init.first()?)))
    };
    run.init = run.locations.iter().filter_map(start).collect();
    run.relations = communication(execution).iter().map(|arc| of.arc(arc)).collect();
    let with_reason = |arc: &Arc| RunArc { why: of.why(arc), ..of.arc(arc) };
    run.cycle = forbidden.cycle.iter().map(with_reason).collect();
    run
}

struct Of<'a> {
    show: Show<'a>,
    model: Model,
    forbidden: &'a Forbidden,
    lines: Lines<'a>,
}

impl Of<'_> {
    fn op(&self, event: EventId) -> Op {
        self.forbidden.execution.events[event.index()].op
    }

    fn step(&self, i: usize) -> RunStep {
        let execution = &self.forbidden.execution;
        let event = execution.events[i];
        let n = i as u64 + 1;
        let mut step = RunStep::new(n, event.thread.index(), kind(event.op));
        let address = event.op.loc().and_then(|loc| self.show.program.address(loc));
        step.location = address.map(|addr| self.show.cell(addr).into_owned());
        let (read, written) = (event.op.read(), event.op.write());
        let shown = |(_, value)| self.show.value_at(address.unwrap_or_default(), value);
        step.value = written.or(read).map(shown);
        step.old = read.filter(|_| written.is_some()).map(shown);
        step.effect = written.map(|_| n);
        if read.is_some() {
            let sources = execution.sources(EventId::new(i));
            let from = sources.iter().filter_map(|(_, from)| *from).max();
            step.from =
                Some(from.map_or(ReadFrom::Memory, |w| ReadFrom::Step(w.index() as u64 + 1)));
        }
        let (point, index) = self.forbidden.edges[i];
        let edge = self.show.program.edge(event.thread, point, index);
        step.text = Some(self.show.instr(event.thread, edge));
        if !clip(self.show.source, edge.span).is_empty() {
            let (line, column) = self.lines.line_column(edge.span);
            step.span = Some(edge.span);
            (step.line, step.column) = (Some(line as u64), Some(column as u64));
        }
        step
    }

    fn arc(&self, arc: &Arc) -> RunArc {
        let n = |event: EventId| event.index() as u64 + 1;
        RunArc { from: n(arc.from), to: n(arc.to), edge: arc.link.name(), why: String::new() }
    }

    /// Why the model keeps a step of the cycle.
    fn why(&self, arc: &Arc) -> String {
        let cell = |place: Option<(weakspot_core::LocId, Value)>| {
            let place = place.and_then(|(loc, v)| Some((self.show.program.address(loc)?, v)));
            place.map_or(String::new(), |(addr, value)| self.show.cell_value(addr, value))
        };
        let from = self.op(arc.from);
        match arc.link {
            Link::Po => self.why_po(arc),
            Link::Rf => format!("wrote {}, which the next reads", cell(from.write())),
            Link::Co => format!("wrote {}, which the next overwrites", cell(from.write())),
            Link::Fr => format!("read {}, which the next overwrites", cell(from.read())),
            Link::Block => "in one atomic block with the next".to_owned(),
            Link::Start | Link::Join => String::new(),
        }
    }

    fn why_po(&self, arc: &Arc) -> String {
        let (first, second) = (self.op(arc.from), self.op(arc.to));
        let thread = self.forbidden.execution.events[arc.from.index()].thread;
        let order = format!("program order of {}", self.show.thread(thread));
        if self.forbidden.axiom == Axiom::Coherence {
            return order + ", same location";
        }
        let model = self.model;
        let is = |of: fn(&Op) -> bool| of(&first) || of(&second);
        if model == Model::Sc {
            order
        } else if is(|op| matches!(op, Op::Fence(_))) {
            order + ", kept at a fence"
        } else if is(|op| matches!(op, Op::Update { .. })) {
            order + ", kept at an atomic update"
        } else if is(|op| matches!(op, Op::Lock | Op::Unlock)) {
            order + ", kept at an atomic block"
        } else {
            let word = |op| if matches!(op, Op::Read { .. }) { "load" } else { "store" };
            let same = first.loc() == second.loc() && word(first) == "store";
            let at = if same { ", same location" } else { "" };
            format!("{order}: {model} keeps {} before {}{at}", word(first), word(second))
        }
    }
}

fn kind(op: Op) -> StepKind {
    match op {
        Op::Read { .. } => StepKind::Load,
        Op::Write { .. } => StepKind::Store,
        Op::Update { .. } => StepKind::Update,
        Op::Fence(Fence::Full) => StepKind::Fence,
        Op::Fence(Fence::StoreStore) => StepKind::StoreFence,
        Op::Lock => StepKind::Lock,
        Op::Unlock => StepKind::Unlock,
    }
}

/// The reason in JSON.
#[derive(Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub(crate) enum WhyNotJson {
    /// Every candidate execution has a cycle.
    Cycle { axiom: &'static str, candidates: usize, incoherent: usize, execution: Box<Run> },
    /// The threads do not compute these values.
    Values { components: Vec<String>, instead: Vec<RunValue> },
    /// Not explained.
    TooLarge,
}

/// The reason in JSON.
pub(crate) fn why_not_json(show: Show<'_>, model: Model, reason: Reason<'_>) -> WhyNotJson {
    match reason {
        Err(_) => WhyNotJson::TooLarge,
        Ok(WhyNot::NoCandidate { components, instead }) => WhyNotJson::Values {
            components: components.iter().map(|&c| name(show, c).to_owned()).collect(),
            instead: instead
                .iter()
                .map(|&value| match location_name(show.program, show.names, value) {
                    Some(name) => RunValue::Name(name.to_owned()),
                    None => RunValue::Number(value),
                })
                .collect(),
        },
        Ok(WhyNot::Cycle(forbidden)) => WhyNotJson::Cycle {
            axiom: match forbidden.axiom {
                Axiom::Sc => "sc",
                Axiom::Coherence => "coherence",
                Axiom::GlobalOrder => "global-order",
            },
            candidates: forbidden.candidates,
            incoherent: forbidden.incoherent,
            execution: Box::new(of_forbidden(show, model, forbidden)),
        },
    }
}
