//! An execution as a graph for Graphviz: threads are columns with program order running down, the
//! arcs between them do not take part in the layout.

use std::fmt::Write;

use weakspot_core::cycle::{Arc, Link, sc_cycle};
use weakspot_core::machine::Schedule;
use weakspot_core::{EventId, Fence, Model, Names, Op, Program, ThreadId};

use crate::run::communication::{MAX_EVENTS, communication};
use crate::run::replay::{Did, Run};
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
    let show = Show { program, names, source };
    let mut out = String::from("digraph execution {\n");
    let _ =
        writeln!(out, "  label={};", quoted(&format!("{} under {model}", plain(&names.program))));
    out.push_str("  labelloc=t; fontname=\"monospace\"; nodesep=0.8; ranksep=0.6;\n");
    out.push_str("  node [shape=box, style=rounded, fontname=\"monospace\"];\n");
    out.push_str("  edge [fontname=\"monospace\"];\n");
    let Some(run) = Run::replay(program, model, schedule) else {
        out.push_str("}\n");
        return out;
    };
    let events = &run.execution.history.events;
    let cycle = match events.len() {
        0..=MAX_EVENTS => sc_cycle(&run.execution).unwrap_or_default(),
        _ => Vec::new(),
    };
    push_init(&mut out, show, &run);
    for t in 0..program.threads.len() {
        let thread = ThreadId::new(t);
        let _ = writeln!(out, "  subgraph cluster_{t} {{");
        let _ = writeln!(out, "    label={}; color=gray;", quoted(&show.thread(thread)));
        let mine: Vec<usize> = (0..events.len()).filter(|&i| events[i].thread == thread).collect();
        for &i in &mine {
            let (_, taken) = run.issued(EventId::new(i));
            let instr = cut(&show.instr(thread, taken.edge), 60);
            let label = format!("{instr}\n{}", event(show, events[i].op, taken.did));
            let on_cycle = cycle.iter().any(|arc| arc.from.index() == i);
            let bold = if on_cycle { ", penwidth=3" } else { "" };
            let _ = writeln!(out, "    e{i} [label={}{bold}];", quoted(&label));
        }
        for pair in mine.windows(2) {
            let arc =
                Arc { from: EventId::new(pair[0]), link: Link::Po, to: EventId::new(pair[1]) };
            push_arc(&mut out, "    ", &arc, &cycle);
        }
        out.push_str("  }\n");
    }
    let drawn = communication(&run.execution);
    for arc in &drawn {
        push_arc(&mut out, "  ", arc, &cycle);
    }
    // A shortest cycle takes shortcuts: program order past events between, coherence past writes.
    let next_in_thread = |arc: &Arc| {
        let between = &events[arc.from.index() + 1..arc.to.index().max(arc.from.index() + 1)];
        between.iter().all(|e| e.thread != events[arc.from.index()].thread)
    };
    for arc in &cycle {
        let shown = match arc.link {
            Link::Po => next_in_thread(arc),
            _ => drawn.contains(arc),
        };
        if !shown {
            push_arc(&mut out, "  ", arc, &cycle);
        }
    }
    out.push_str("}\n");
    out
}

/// The initial values, above everything, with an arc to each read that saw one.
fn push_init(out: &mut String, show: Show<'_>, run: &Run<'_>) {
    let events = run.execution.history.events.iter().zip(&run.execution.history.reads_from);
    let readers: Vec<usize> = events
        .enumerate()
        .filter(|(_, (event, from))| event.op.read().is_some() && from.is_none())
        .map(|(i, _)| i)
        .collect();
    if readers.is_empty() {
        return;
    }
    let mut values: Vec<String> = Vec::new();
    for &i in &readers {
        let value = match run.issued(EventId::new(i)).1.did {
            Did::Load { addr, value, .. } => show.cell_value(addr, value),
            Did::Update { addr, old, .. } => show.cell_value(addr, old),
            _ => continue,
        };
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values.sort();
    let label = format!("initially {}", values.join(" "));
    let _ = writeln!(out, "  init [label={}, color=gray];", quoted(&label));
    for i in readers {
        let _ = writeln!(
            out,
            "  init -> e{i} [label=\"rf\", color=\"gray\", fontcolor=\"gray\", style=dashed];"
        );
    }
}

fn push_arc(out: &mut String, indent: &str, arc: &Arc, cycle: &[Arc]) {
    let color = match arc.link {
        Link::Po => "black",
        Link::Rf => "red3",
        Link::Co => "blue3",
        Link::Fr => "darkorange3",
        Link::Block | Link::Start | Link::Join => "gray40",
    };
    let name = arc.link.name();
    let bold = if cycle.contains(arc) { ", penwidth=3" } else { "" };
    let free = if arc.link == Link::Po { ", weight=10" } else { ", constraint=false" };
    let _ = writeln!(
        out,
        "{indent}e{} -> e{} [label=\"{name}\", color=\"{color}\", fontcolor=\"{color}\"{bold}{free}];",
        arc.from.0, arc.to.0,
    );
}

/// The event in the usual letters: `W x=1`, `R y=0`.
fn event(show: Show<'_>, op: Op, did: Did) -> String {
    match did {
        Did::Load { addr, value, .. } => format!("R {}", show.cell_value(addr, value)),
        Did::Store { addr, value, .. } => format!("W {}", show.cell_value(addr, value)),
        Did::Update { addr, old, new } => {
            format!("U {} to {}", show.cell_value(addr, old), show.value(new))
        }
        _ => match op {
            Op::Fence(Fence::StoreStore) => "store-store fence".to_owned(),
            Op::Lock => "lock".to_owned(),
            Op::Unlock => "unlock".to_owned(),
            _ => "fence".to_owned(),
        },
    }
}

/// The text as a quoted string of the DOT language.
fn quoted(text: &str) -> String {
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
