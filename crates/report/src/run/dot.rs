//! A run as a graph for Graphviz: threads are columns with program order running down, the arcs
//! between them do not take part in the layout.

use std::fmt::Write;

use weakspot_core::machine::Schedule;
use weakspot_core::{Model, Names, Program};

use super::object::{ReadFrom, Run, RunArc, RunStep, StepKind, cell};
use super::of_schedule::of_schedule;
use crate::text::show::{Show, plain};
use crate::text::table::cut;

/// The execution that `schedule` is a run of. If SC does not allow it, the events and arcs of one
/// cycle that shows so are drawn bold.
#[must_use]
pub fn draw_dot(
    program: &Program,
    names: &Names,
    source: &str,
    model: Model,
    schedule: &Schedule,
) -> String {
    let title = format!("{} under {model}", plain(&names.program));
    let run = of_schedule(Show { program, names, source }, model, schedule, true);
    graph(&title, run.as_ref())
}

/// The graph of a run; only a title if there is none.
pub(crate) fn graph(title: &str, run: Option<&Run>) -> String {
    let mut out = String::from("digraph execution {\n");
    let _ = writeln!(out, "  label={};", quoted(title));
    out.push_str("  labelloc=t; fontname=\"monospace\"; nodesep=0.8; ranksep=0.6;\n");
    out.push_str("  node [shape=box, style=rounded, fontname=\"monospace\"];\n");
    out.push_str("  edge [fontname=\"monospace\"];\n");
    if let Some(run) = run {
        let events: Vec<&RunStep> = run.steps.iter().filter(|step| step.is_event()).collect();
        let graph = Graph { run, events };
        graph.push_init(&mut out);
        graph.push_threads(&mut out);
        graph.push_arcs(&mut out);
    }
    out.push_str("}\n");
    out
}

struct Graph<'a> {
    run: &'a Run,
    /// What memory sees, by the numbers of the nodes.
    events: Vec<&'a RunStep>,
}

impl Graph<'_> {
    /// The node of a step.
    fn node(&self, n: u64) -> usize {
        self.events.binary_search_by_key(&n, |step| step.n).unwrap_or_else(|at| at)
    }

    /// The initial values, above everything, with an arc to each read that saw one.
    fn push_init(&self, out: &mut String) {
        let saw_start = |step: &&&RunStep| step.from == Some(ReadFrom::Memory);
        let readers: Vec<&RunStep> = self.events.iter().filter(saw_start).copied().collect();
        if readers.is_empty() {
            return;
        }
        let mut values: Vec<String> = Vec::new();
        for step in &readers {
            let read = if step.kind == StepKind::Update { &step.old } else { &step.value };
            let value = cell(step.location.as_deref().unwrap_or_default(), read.as_ref());
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values.sort();
        let label = format!("initially {}", values.join(" "));
        let _ = writeln!(out, "  init [label={}, color=gray];", quoted(&label));
        for step in readers {
            let _ = writeln!(
                out,
                "  init -> e{} [label=\"rf\", color=\"gray\", fontcolor=\"gray\", style=dashed];",
                self.node(step.n)
            );
        }
    }

    /// A column for each thread.
    fn push_threads(&self, out: &mut String) {
        for (t, thread) in self.run.threads.iter().enumerate() {
            let _ = writeln!(out, "  subgraph cluster_{t} {{");
            let _ = writeln!(out, "    label={}; color=gray;", quoted(&thread.name));
            let mine: Vec<&RunStep> =
                self.events.iter().filter(|step| step.thread == t).copied().collect();
            for step in &mine {
                let instr = cut(step.text.as_deref().unwrap_or_default(), 60);
                let label = format!("{instr}\n{}", event(step));
                let on_cycle = self.run.cycle.iter().any(|arc| arc.from == step.n);
                let bold = if on_cycle { ", penwidth=3" } else { "" };
                let node = self.node(step.n);
                let _ = writeln!(out, "    e{node} [label={}{bold}];", quoted(&label));
            }
            for pair in mine.windows(2) {
                self.push_arc(out, "    ", &po(pair[0].n, pair[1].n));
            }
            out.push_str("  }\n");
        }
    }

    /// What goes from thread to thread, and what the cycle has besides: program order past events
    /// between, coherence past writes.
    fn push_arcs(&self, out: &mut String) {
        let same = |a: &RunArc, b: &RunArc| (a.from, a.to, a.edge) == (b.from, b.to, b.edge);
        for arc in &self.run.relations {
            self.push_arc(out, "  ", arc);
        }
        for arc in &self.run.cycle {
            let shown = match arc.edge {
                "po" => self.is_next_in_thread(arc),
                _ => self.run.relations.iter().any(|other| same(arc, other)),
            };
            if !shown {
                self.push_arc(out, "  ", arc);
            }
        }
    }

    fn is_next_in_thread(&self, arc: &RunArc) -> bool {
        let (from, to) = (self.node(arc.from), self.node(arc.to));
        let thread = self.events.get(from).map(|step| step.thread);
        let between = self.events.get(from + 1..to.max(from + 1)).unwrap_or_default();
        between.iter().all(|step| Some(step.thread) != thread)
    }

    fn push_arc(&self, out: &mut String, indent: &str, arc: &RunArc) {
        let color = match arc.edge {
            "po" => "black",
            "rf" => "red3",
            "co" => "blue3",
            "fr" => "darkorange3",
            _ => "gray40",
        };
        let (from, to, name) = (self.node(arc.from), self.node(arc.to), arc.edge);
        let on_cycle =
            |other: &RunArc| (other.from, other.to, other.edge) == (arc.from, arc.to, arc.edge);
        let bold = if self.run.cycle.iter().any(on_cycle) { ", penwidth=3" } else { "" };
        let free = if name == "po" { ", weight=10" } else { ", constraint=false" };
        let _ = writeln!(
            out,
            "{indent}e{from} -> e{to} [label=\"{name}\", color=\"{color}\", \
             fontcolor=\"{color}\"{bold}{free}];",
        );
    }
}

fn po(from: u64, to: u64) -> RunArc {
    RunArc { from, to, edge: "po", why: String::new() }
}

/// The event in the usual letters: `W x=1`, `R y=0`.
fn event(step: &RunStep) -> String {
    let old = || cell(step.location.as_deref().unwrap_or_default(), step.old.as_ref());
    match (step.kind, &step.value) {
        (StepKind::Load, _) => format!("R {}", step.cell()),
        (StepKind::Store, _) => format!("W {}", step.cell()),
        (StepKind::Update, Some(new)) => format!("U {} to {new}", old()),
        (StepKind::StoreFence, _) => "store-store fence".to_owned(),
        (StepKind::Lock, _) => "lock".to_owned(),
        (StepKind::Unlock, _) => "unlock".to_owned(),
        _ => "fence".to_owned(),
    }
}

/// The text as a quoted string of the DOT language.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sample::{Sample, run, sample, sb};
    use expect_test::{Expect, expect};

    fn check(sample: &Sample, steps: &str, expected: Expect) {
        let Sample { program, names, source } = sample;
        expected.assert_eq(&draw_dot(program, names, source, Model::Tso, &run(steps)));
    }

    #[test]
    fn graphs() {
        check(
            &sb(),
            "0 0 1 1 0x 1y",
            expect![[r#"
            digraph execution {
              label="SB under TSO";
              labelloc=t; fontname="monospace"; nodesep=0.8; ranksep=0.6;
              node [shape=box, style=rounded, fontname="monospace"];
              edge [fontname="monospace"];
              init [label="initially x=0 y=0", color=gray];
              init -> e1 [label="rf", color="gray", fontcolor="gray", style=dashed];
              init -> e3 [label="rf", color="gray", fontcolor="gray", style=dashed];
              subgraph cluster_0 {
                label="P0"; color=gray;
                e0 [label="MOV [x],$1\nW x=1", penwidth=3];
                e1 [label="MOV EAX,[y]\nR y=0", penwidth=3];
                e0 -> e1 [label="po", color="black", fontcolor="black", penwidth=3, weight=10];
              }
              subgraph cluster_1 {
                label="P1"; color=gray;
                e2 [label="MOV [y],$1\nW y=1", penwidth=3];
                e3 [label="MOV EAX,[x]\nR x=0", penwidth=3];
                e2 -> e3 [label="po", color="black", fontcolor="black", penwidth=3, weight=10];
              }
              e1 -> e2 [label="fr", color="darkorange3", fontcolor="darkorange3", penwidth=3, constraint=false];
              e3 -> e0 [label="fr", color="darkorange3", fontcolor="darkorange3", penwidth=3, constraint=false];
            }
        "#]],
        );
        let mut odd = sb();
        odd.names.program = "a \"quoted\" \\ name".to_owned();
        check(
            &odd,
            "0 0x 0 1 1 1y",
            expect![[r#"
            digraph execution {
              label="a \"quoted\" \\ name under TSO";
              labelloc=t; fontname="monospace"; nodesep=0.8; ranksep=0.6;
              node [shape=box, style=rounded, fontname="monospace"];
              edge [fontname="monospace"];
              init [label="initially y=0", color=gray];
              init -> e1 [label="rf", color="gray", fontcolor="gray", style=dashed];
              subgraph cluster_0 {
                label="P0"; color=gray;
                e0 [label="MOV [x],$1\nW x=1"];
                e1 [label="MOV EAX,[y]\nR y=0"];
                e0 -> e1 [label="po", color="black", fontcolor="black", weight=10];
              }
              subgraph cluster_1 {
                label="P1"; color=gray;
                e2 [label="MOV [y],$1\nW y=1"];
                e3 [label="MOV EAX,[x]\nR x=1"];
                e2 -> e3 [label="po", color="black", fontcolor="black", weight=10];
              }
              e1 -> e2 [label="fr", color="darkorange3", fontcolor="darkorange3", constraint=false];
              e0 -> e3 [label="rf", color="red3", fontcolor="red3", constraint=false];
            }
        "#]],
        );
    }

    /// The cycle goes past a fence and past a write in between.
    #[test]
    fn shortcuts() {
        let rows = " MOV [x],$1 | MOV [y],$1 ;\n MOV EBX,[z] | MFENCE ;\n MOV EAX,[y] | XINC [x] ;";
        check(
            &sample("R", rows),
            "0 0 0 1 1y 1 1 0x",
            expect![[r#"
            digraph execution {
              label="R under TSO";
              labelloc=t; fontname="monospace"; nodesep=0.8; ranksep=0.6;
              node [shape=box, style=rounded, fontname="monospace"];
              edge [fontname="monospace"];
              init [label="initially x=0 y=0 z=0", color=gray];
              init -> e1 [label="rf", color="gray", fontcolor="gray", style=dashed];
              init -> e2 [label="rf", color="gray", fontcolor="gray", style=dashed];
              init -> e5 [label="rf", color="gray", fontcolor="gray", style=dashed];
              subgraph cluster_0 {
                label="P0"; color=gray;
                e0 [label="MOV [x],$1\nW x=1", penwidth=3];
                e1 [label="MOV EBX,[z]\nR z=0"];
                e2 [label="MOV EAX,[y]\nR y=0", penwidth=3];
                e0 -> e1 [label="po", color="black", fontcolor="black", weight=10];
                e1 -> e2 [label="po", color="black", fontcolor="black", weight=10];
              }
              subgraph cluster_1 {
                label="P1"; color=gray;
                e3 [label="MOV [y],$1\nW y=1", penwidth=3];
                e4 [label="MFENCE\nfence"];
                e5 [label="XINC [x]\nU x=0 to 1", penwidth=3];
                e3 -> e4 [label="po", color="black", fontcolor="black", weight=10];
                e4 -> e5 [label="po", color="black", fontcolor="black", weight=10];
              }
              e5 -> e0 [label="co", color="blue3", fontcolor="blue3", penwidth=3, constraint=false];
              e2 -> e3 [label="fr", color="darkorange3", fontcolor="darkorange3", penwidth=3, constraint=false];
              e0 -> e2 [label="po", color="black", fontcolor="black", penwidth=3, weight=10];
              e3 -> e5 [label="po", color="black", fontcolor="black", penwidth=3, weight=10];
            }
        "#]],
        );
    }
}
