//! A picture for LaTeX: TikZ without libraries.

use std::fmt::Write;

use super::NOTHING_TO_DRAW;
use super::graph::Look;
use super::labels::Point;
use super::layout::{LINE, Layout, SAMPLE};
use crate::writer::{Description, Drawing, Writer};

pub(crate) const FORMAT: Description = Description {
    name: "tex",
    about: "The same for LaTeX, with TikZ",
    writer: Writer::Picture(Drawing {
        room: ROOM,
        draw: |layouts| layouts.iter().map(tex).collect(),
        is_one_each: true,
        empty: || format!("% {NOTHING_TO_DRAW}\n\\texttt{{{NOTHING_TO_DRAW}}}\n"),
    }),
};

/// What is as wide as the text of an article, in pixels.
pub(super) const ROOM: f64 = TEXT_WIDTH / POINTS;
const TEXT_WIDTH: f64 = 345.0;
const POINTS: f64 = 0.75;

/// A `tikzpicture`, made smaller if it is too wide all the same.
fn tex(layout: &Layout) -> String {
    let mut out = format!("% {}\n", layout.title.replace('\n', " "));
    out.push_str("% needs \\usepackage{tikz}\n");
    let _ = write!(out, "\\begin{{tikzpicture}}[x={POINTS}pt,y=-{POINTS}pt,>=latex,");
    if layout.width > ROOM {
        let _ = write!(out, "scale={:.3},transform shape,", ROOM / layout.width);
    }
    out.push_str(
        "every node/.style={inner sep=0pt,font=\\ttfamily\\frenchspacing\\fontsize{8}{9}\\selectfont}]\n",
    );
    let mut kinds: Vec<_> = layout.lines.iter().map(|line| line.kind).collect();
    kinds.dedup();
    for kind in super::graph::Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)) {
        let _ = writeln!(out, "\\definecolor{{{}}}{{HTML}}{{{}}}", color(kind), upper(kind));
    }
    out.push_str("\\definecolor{wsbar}{HTML}{FDB863}\n");
    for (at, line) in &layout.title_lines {
        let at = Point { y: at.y - 4.0, ..*at };
        node(&mut out, at, "anchor=west", &format!("{}", Bold(line)));
    }
    let init_at = Point { y: layout.init_at.y - 4.0, ..layout.init_at };
    node(&mut out, init_at, "anchor=west,gray", &escaped(&layout.init));
    for (at, name) in &layout.heads {
        let at = Point { x: at.x, y: at.y - 4.0 };
        node(&mut out, at, "", &format!("{}", Bold(name)));
    }
    for bar in &layout.bars {
        let (x, y) = (bar.x + bar.w, bar.y + bar.h);
        let _ =
            writeln!(out, "\\fill[wsbar] ({:.1},{:.1}) rectangle ({x:.1},{y:.1});", bar.x, bar.y);
    }
    for b in &layout.boxes {
        let look = match b.look {
            Look::Plain => "gray",
            Look::Bold => "very thick",
            Look::Commit => "dashed",
            Look::Fold => "draw=none",
        };
        let (x, y) = (b.at.x + b.at.w, b.at.y + b.at.h);
        let _ = writeln!(
            out,
            "\\draw[{look},rounded corners=2pt] ({:.1},{:.1}) rectangle ({x:.1},{y:.1});",
            b.at.x, b.at.y
        );
        for (i, line) in b.lines.iter().enumerate() {
            let at = Point { x: b.at.middle().x, y: b.at.y + LINE * (i as f64 + 0.5) + 4.0 };
            node(&mut out, at, if i == 0 { "" } else { "gray" }, &escaped(line));
        }
    }
    for line in &layout.lines {
        let bold = if line.bold { ",very thick" } else { "" };
        let points: Vec<String> =
            line.points.iter().map(|p| format!("({:.1},{:.1})", p.x, p.y)).collect();
        let color = color(line.kind);
        let _ = writeln!(out, "\\draw[->,{color}{bold}] {};", points.join(" -- "));
        if let Some(label) = &line.label {
            node(&mut out, label.at.middle(), color, &escaped(&label.text));
        }
    }
    for &(at, kind) in &layout.legend {
        let (color, end) = (color(kind), at.x + SAMPLE);
        let (x, y) = (at.x, at.y);
        let _ = writeln!(out, "\\draw[->,{color}] ({x:.1},{y:.1}) -- ({end:.1},{y:.1});");
        let at = Point { x: end + 8.0, y };
        node(&mut out, at, &format!("anchor=west,{color}"), &escaped(kind.about()));
    }
    if let Some(at) = layout.bar_legend {
        let (x, y, end) = (at.x, at.y, at.x + SAMPLE);
        let (top, bottom) = (y - 2.5, y + 2.5);
        let _ = writeln!(out, "\\fill[wsbar] ({x:.1},{top:.1}) rectangle ({end:.1},{bottom:.1});");
        node(&mut out, Point { x: end + 8.0, y }, "anchor=west", "a store waits in its buffer");
    }
    out.push_str("\\end{tikzpicture}\n");
    out
}

struct Bold<'a>(&'a str);

impl std::fmt::Display for Bold<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\\textbf{{{}}}", escaped(self.0))
    }
}

fn color(kind: super::graph::Kind) -> &'static str {
    use super::graph::Kind;
    match kind {
        Kind::Po => "wspo",
        Kind::Rf => "wsrf",
        Kind::Co => "wsco",
        Kind::Fr => "wsfr",
        Kind::Rt => "wsrt",
        Kind::Other => "wsother",
    }
}

fn upper(kind: super::graph::Kind) -> String {
    kind.color().to_uppercase()
}

fn node(out: &mut String, at: Point, look: &str, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "\\node[{look}] at ({:.1},{:.1}) {{{text}}};", at.x, at.y);
    }
}

/// The text as LaTeX writes it: what it gives a meaning to is named, signs that fonts join (`--`, `<<`) are
/// kept apart, and letters that few fonts have are numbers.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut last = ' ';
    for c in text.chars() {
        if c == last && "-<>,'`".contains(c) || c == '`' && "!?".contains(last) {
            out.push_str("{}");
        }
        last = c;
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '{' | '}' | '$' | '&' | '#' | '%' | '_' => {
                out.push('\\');
                out.push(c);
            }
            '^' => out.push_str("\\textasciicircum{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '…' => out.push_str("\\ldots{}"),
            '"' => out.push_str("\\char34{}"),
            c if c > '\u{ff}' => {
                let _ = write!(out, "<U+{:04X}>", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}
