//! A picture for Graphviz, with all places: `neato -n2` keeps them, `neato -n` those of the boxes.

use std::fmt::Write;

use super::graph::{Kind, Look};
use super::labels::Point;
use super::layout::{Layout, letters};
use super::{NOTHING_TO_DRAW, SCREEN};
use crate::writer::{Description, Drawing, Writer};

pub(crate) const FORMAT: Description = Description {
    name: "dot",
    about: "The same for Graphviz: `neato -n2 -Tpdf`",
    writer: Writer::Picture(Drawing {
        room: SCREEN,
        draw: |layouts| layouts.iter().map(dot).collect(),
        is_one_each: true,
        empty: || format!("digraph execution {{\n  label=\"{NOTHING_TO_DRAW}\";\n}}\n"),
    }),
};

/// Graphviz counts in points, 72 to an inch, and upwards.
const POINTS: f64 = 0.75;

/// A `digraph`.
fn dot(layout: &Layout) -> String {
    let place = |p: Point| format!("{:.1},{:.1}", p.x * POINTS, (layout.height - p.y) * POINTS);
    let mut out = String::from("digraph execution {\n");
    let _ = writeln!(out, "  // neato -n2 -Tpdf");
    out.push_str("  graph [fontname=\"monospace\", fontsize=9, splines=line];\n");
    out.push_str("  node [shape=box, fontname=\"monospace\", fontsize=9, fixedsize=true];\n");
    out.push_str("  edge [fontname=\"monospace\", fontsize=8, arrowsize=0.6];\n");
    let word = |out: &mut String, name: &str, at: Point, text: &str, color: &str| {
        if !text.is_empty() {
            let wide = (letters(text) + 8.0) * POINTS / 72.0;
            let middle = Point { x: at.x + letters(text) / 2.0, y: at.y - 4.0 };
            let _ = writeln!(
                out,
                "  {name} [shape=plaintext, label={}, pos=\"{}\", width={wide:.2}, height=0.15, \
                 fontcolor=\"#{color}\"];",
                quoted(text),
                place(middle)
            );
        }
    };
    for (i, (at, line)) in layout.title_lines.iter().enumerate() {
        let name = if i == 0 { "title".to_owned() } else { format!("title{i}") };
        word(&mut out, &name, *at, line, "000000");
    }
    word(&mut out, "init", layout.init_at, &layout.init, "555555");
    for (i, (at, name)) in layout.heads.iter().enumerate() {
        let left = Point { x: at.x - letters(name) / 2.0, y: at.y };
        word(&mut out, &format!("t{i}"), left, name, "000000");
    }
    for (i, b) in layout.boxes.iter().enumerate() {
        let look = match b.look {
            Look::Plain => "color=\"#777777\"",
            Look::Bold => "penwidth=2",
            Look::Commit => "style=dashed, color=\"#b35806\"",
            Look::Fold => "shape=plaintext",
        };
        let (w, h) = (b.at.w * POINTS / 72.0, b.at.h * POINTS / 72.0);
        let _ = writeln!(
            out,
            "  e{i} [label={}, pos=\"{}\", width={w:.2}, height={h:.2}, {look}];",
            quoted(&b.lines.join("\n")),
            place(b.at.middle())
        );
    }
    for (i, bar) in layout.bars.iter().enumerate() {
        let (w, h) = (bar.w * POINTS / 72.0, bar.h * POINTS / 72.0);
        let _ = writeln!(
            out,
            "  b{i} [label=\"\", pos=\"{}\", width={w:.2}, height={h:.2}, style=filled, \
             color=\"#fdb863\"];",
            place(bar.middle())
        );
    }
    for line in &layout.lines {
        let ends =
            [line.points.first(), line.points.last()].map(|p| p.and_then(|p| at(layout, *p)));
        let [Some(from), Some(to)] = ends else { continue };
        let bold = if line.bold { ", penwidth=2" } else { "" };
        let label = line.label.as_ref().map_or(String::new(), |label| {
            format!(", label={}, lp=\"{}\"", quoted(&label.text), place(label.at.middle()))
        });
        let color = line.kind.color();
        let _ = writeln!(
            out,
            "  e{from} -> e{to} [color=\"#{color}\", fontcolor=\"#{color}\"{bold}{label}, \
             pos=\"{}\"];",
            spline(&line.points, &place)
        );
    }
    for (i, &(at, kind)) in layout.legend.iter().enumerate() {
        let at = Point { x: at.x, y: at.y + 4.0 };
        word(&mut out, &format!("l{i}"), at, kind.about(), Kind::color(kind));
    }
    if let Some(at) = layout.bar_legend {
        let at = Point { x: at.x, y: at.y + 4.0 };
        word(&mut out, "lb", at, "bar: a store waits in its buffer", "b35806");
    }
    out.push_str("}\n");
    out
}

/// The box that an end of an arrow touches.
fn at(layout: &Layout, p: Point) -> Option<usize> {
    layout.boxes.iter().position(|b| {
        let near = |v: f64, low: f64, size: f64| v >= low - 0.01 && v <= low + size + 0.01;
        near(p.x, b.at.x, b.at.w) && near(p.y, b.at.y, b.at.h)
    })
}

/// Straight pieces as Graphviz writes them, with the point of the arrow first.
fn spline(points: &[Point], place: &dyn Fn(Point) -> String) -> String {
    let mut points = points.to_vec();
    let mut out = String::new();
    if let [.., before, last] = &mut points[..] {
        out = format!("e,{}", place(*last));
        let (dx, dy) = (last.x - before.x, last.y - before.y);
        let back = 8.0_f64 / dx.hypot(dy).max(8.0);
        (last.x, last.y) = (last.x - dx * back, last.y - dy * back);
    }
    if let Some(first) = points.first() {
        let _ = write!(out, " {}", place(*first));
    }
    for pair in points.windows(2) {
        let part = |t: f64| Point {
            x: pair[0].x + (pair[1].x - pair[0].x) * t,
            y: pair[0].y + (pair[1].y - pair[0].y) * t,
        };
        let _ = write!(out, " {} {} {}", place(part(0.33)), place(part(0.67)), place(pair[1]));
    }
    out
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
