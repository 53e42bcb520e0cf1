//! Pictures as SVG, below each other in one file.

use std::fmt::Write;

use super::graph::{Kind, Look};
use super::labels::Point;
use super::layout::{LINE, Layout, SAMPLE};
use super::{NOTHING_TO_DRAW, SCREEN};
use crate::writer::{Description, Drawing, Writer};

pub(crate) const FORMAT: Description = Description {
    name: "svg",
    about: "A picture of the run or cycle that decides the answer",
    writer: Writer::Picture(Drawing { room: SCREEN, draw: svg, is_one_each: false, empty }),
};

const BETWEEN: f64 = 30.0;

fn empty() -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"620\" height=\"40\" \
         font-family=\"monospace\" font-size=\"12\">\n\
         <text x=\"16\" y=\"24\">{NOTHING_TO_DRAW}</text>\n</svg>\n"
    )
}

/// One file with all pictures.
fn svg(layouts: &[Layout]) -> String {
    let width = layouts.iter().map(|l| l.width).fold(0.0, f64::max);
    let height: f64 = layouts.iter().map(|l| l.height + BETWEEN).sum();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"monospace\" font-size=\"12\">\n"
    );
    out.push_str("<defs>\n");
    for kind in Kind::ALL {
        let _ = writeln!(
            out,
            "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"9\" \
             markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
             <path d=\"M0 0L8 4L0 8z\" fill=\"#{}\"/></marker>",
            marker(kind),
            kind.color()
        );
    }
    out.push_str("</defs>\n");
    let _ = writeln!(out, "<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>");
    let mut y = 0.0;
    for layout in layouts {
        let _ = writeln!(out, "<g transform=\"translate(0 {y:.1})\">");
        picture(&mut out, layout);
        out.push_str("</g>\n");
        y += layout.height + BETWEEN;
    }
    out.push_str("</svg>\n");
    out
}

fn marker(kind: Kind) -> &'static str {
    if kind.name().is_empty() { "before" } else { kind.name() }
}

fn picture(out: &mut String, layout: &Layout) {
    let _ = writeln!(out, "<title>{}</title>", escaped(&layout.title));
    for (at, line) in &layout.title_lines {
        text(out, *at, "font-weight=\"bold\"", line);
    }
    text(out, layout.init_at, "fill=\"#555555\"", &layout.init);
    for (at, name) in &layout.heads {
        text(out, *at, "text-anchor=\"middle\" font-weight=\"bold\"", name);
    }
    for bar in &layout.bars {
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#fdb863\"/>",
            bar.x, bar.y, bar.w, bar.h
        );
    }
    for b in &layout.boxes {
        let (line, look) = match b.look {
            Look::Plain => ("#777777", ""),
            Look::Bold => ("#000000", " stroke-width=\"2.5\""),
            Look::Commit => ("#b35806", " stroke-dasharray=\"4 2\""),
            Look::Fold => ("none", ""),
        };
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\" \
             fill=\"#ffffff\" stroke=\"{line}\"{look}/>",
            b.at.x, b.at.y, b.at.w, b.at.h
        );
        for (i, written) in b.lines.iter().enumerate() {
            let at = Point { x: b.at.middle().x, y: b.at.y + LINE * (i as f64 + 1.0) };
            let color = if i == 0 { "#000000" } else { "#555555" };
            text(out, at, &format!("text-anchor=\"middle\" fill=\"{color}\""), written);
        }
    }
    for line in &layout.lines {
        arrow(out, &line.points, line.kind, line.bold);
        if let Some(label) = &line.label {
            let at = Point { x: label.at.middle().x, y: label.at.y + label.at.h - 2.5 };
            let look =
                format!("text-anchor=\"middle\" font-size=\"11\" fill=\"#{}\"", line.kind.color());
            text(out, at, &look, &label.text);
        }
    }
    for &(at, kind) in &layout.legend {
        arrow(out, &[at, Point { x: at.x + SAMPLE, y: at.y }], kind, false);
        let at = Point { x: at.x + SAMPLE + 8.0, y: at.y + 4.0 };
        text(out, at, &format!("font-size=\"11\" fill=\"#{}\"", kind.color()), kind.about());
    }
    if let Some(at) = layout.bar_legend {
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{SAMPLE}\" height=\"5\" fill=\"#fdb863\"/>",
            at.x,
            at.y - 2.5
        );
        let at = Point { x: at.x + SAMPLE + 8.0, y: at.y + 4.0 };
        text(out, at, "font-size=\"11\"", "a store waits in its buffer");
    }
}

fn arrow(out: &mut String, points: &[Point], kind: Kind, bold: bool) {
    let points: Vec<String> = points.iter().map(|p| format!("{:.1},{:.1}", p.x, p.y)).collect();
    let wide = if bold { 2.2 } else { 1.1 };
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#{}\" stroke-width=\"{wide}\" \
         marker-end=\"url(#{})\"/>",
        points.join(" "),
        kind.color(),
        marker(kind)
    );
}

fn text(out: &mut String, at: Point, look: &str, text: &str) {
    if !text.is_empty() {
        let text = escaped(text);
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" {look}>{text}</text>", at.x, at.y);
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
