//! Where everything is. Threads are columns from left to right, time or program order goes
//! downwards, arrows between threads go through the free space between columns and rows, and labels
//! stand where there is nothing else.
//!
//! Lengths are in pixels of a text whose letters are 12 pixels high.

use super::graph::{Arc, Kind, Look, Node, Picture};
use super::labels::{Label, Point, Rect, put_labels};
use crate::text::table::{cut, fold, width};

/// A picture with all places.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(super) title: String,
    /// The same in lines, each with where it begins.
    pub(super) title_lines: Vec<(Point, String)>,
    pub(super) init_at: Point,
    pub(super) init: String,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The names of the threads, each above the middle of its column.
    pub(super) heads: Vec<(Point, String)>,
    pub(super) boxes: Vec<Box>,
    /// Where stores wait.
    pub(super) bars: Vec<Rect>,
    pub(super) lines: Vec<Line>,
    /// What the colours mean: where the line begins, and its kind.
    pub(super) legend: Vec<(Point, Kind)>,
    /// Where the legend says what bars are.
    pub(super) bar_legend: Option<Point>,
}

#[derive(Clone, Debug)]
pub(super) struct Box {
    pub(super) at: Rect,
    pub(super) lines: Vec<String>,
    pub(super) look: Look,
}

/// An arrow: straight from point to point.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) points: Vec<Point>,
    pub(super) kind: Kind,
    pub(super) bold: bool,
    /// `None` where there was no room for it: the colour says the same.
    pub(super) label: Option<Label>,
}

/// What one letter takes, and one line.
pub(super) const LETTER: f64 = 7.3;
pub(super) const LINE: f64 = 15.0;
const MARGIN: f64 = 16.0;
/// Where the first line stands.
const TOP: f64 = 24.0;
/// Between columns, and how many letters of a line are in a box: as far as there is room, and else less and less.
const WIDTHS: [(f64, usize); 4] = [(110.0, usize::MAX), (84.0, 24), (64.0, 18), (52.0, 14)];
/// Minimum width reserved for titles, as far as there is room.
const TITLE: f64 = 640.0;
/// So many lines of a title are shown.
const MAX_TITLE: usize = 3;
const GAP: f64 = 26.0;
const BAR: f64 = 5.0;
const LANE: f64 = 9.0;
/// So many arrows go round boxes beside each other.
const MOST_ROUND: usize = 6;
/// The length of a line in the legend.
pub(super) const SAMPLE: f64 = 26.0;

/// Finds a place for everything, if possible in so many pixels from left to right.
pub(super) fn lay_out(picture: &Picture, room: f64) -> Layout {
    let layout = |(gutter, letters)| laid_out(&narrowed(picture, letters), gutter, room);
    let [first, narrower @ ..] = WIDTHS;
    let widest = layout(first);
    narrower.into_iter().fold(widest, |wider, widths| match wider.width > room {
        true => layout(widths),
        false => wider,
    })
}

/// The picture with at most so many letters in a line of a box.
fn narrowed(picture: &Picture, letters: usize) -> Picture {
    let mut picture = picture.clone();
    for node in &mut picture.nodes {
        node.lines = node.lines.iter().flat_map(|line| fold(line, letters)).collect();
    }
    for name in &mut picture.columns {
        *name = cut(name, letters);
    }
    picture
}

fn laid_out(picture: &Picture, gutter: f64, room: f64) -> Layout {
    let of = Of::new(picture, gutter, room);
    let boxes: Vec<Box> = (picture.nodes.iter().enumerate())
        .map(|(i, node)| Box { at: of.rect(i), lines: node.lines.clone(), look: node.look })
        .collect();
    let bars = of.bars();
    let mut lines = of.lines();
    let heads: Vec<(Point, String)> = (picture.columns.iter().enumerate())
        .map(|(c, name)| (Point { x: of.middle(c), y: of.top - GAP / 2.0 - 4.0 }, name.clone()))
        .collect();
    let obstacles: Vec<Rect> = boxes.iter().map(|b| b.at).chain(bars.iter().copied()).collect();
    let texts: Vec<String> = picture
        .arcs
        .iter()
        .map(|arc| match (arc.number, arc.kind.name()) {
            (Some(number), name) => format!("{number} {name}").trim_end().to_owned(),
            // Program order is clear from where things are.
            (None, _) if arc.kind == Kind::Po => String::new(),
            (None, name) => name.to_owned(),
        })
        .collect();
    let paths: Vec<&[Point]> = lines.iter().map(|line| &line.points[..]).collect();
    let labels = put_labels(&paths, &texts, &obstacles);
    for (line, label) in lines.iter_mut().zip(labels) {
        line.label = label;
    }
    let mut at = Point { x: MARGIN, y: of.bottom + GAP };
    let mut legend = Vec::new();
    for kind in Kind::ALL {
        if lines.iter().any(|line| line.kind == kind) {
            legend.push((at, kind));
            at.y += LINE;
        }
    }
    let bar_legend = (!bars.is_empty()).then_some(at);
    let height = at.y + if bars.is_empty() { 0.0 } else { LINE };
    let title_lines: Vec<(Point, String)> = (of.title.iter().enumerate())
        .map(|(i, line)| (Point { x: MARGIN, y: TOP + LINE * i as f64 }, line.clone()))
        .collect();
    let init_at = Point { x: MARGIN, y: TOP + LINE * of.title.len() as f64 };
    let widest = of.title.iter().chain([&of.init]).map(|t| letters(t)).fold(0.0, f64::max);
    Layout {
        title: picture.title.clone(),
        title_lines,
        init_at,
        init: of.init.clone(),
        width: of.right.max(widest + 2.0 * MARGIN).max(300.0),
        height,
        heads,
        boxes,
        bars,
        lines,
        legend,
        bar_legend,
    }
}

/// How long a text is.
pub(super) fn letters(text: &str) -> f64 {
    width(text) as f64 * LETTER
}

struct Of<'a> {
    picture: &'a Picture,
    /// The title in lines, and what memory holds at the start.
    title: Vec<String>,
    init: String,
    /// Per column where its boxes begin, and how wide they are.
    columns: Vec<(f64, f64)>,
    /// Per row where it begins, and how high it is.
    rows: Vec<(f64, f64)>,
    /// Per bar its lane, counted from its column.
    lanes: Vec<usize>,
    /// Per arrow its lane, if it goes round boxes of its column.
    rounds: Vec<usize>,
    top: f64,
    bottom: f64,
    right: f64,
}

impl Of<'_> {
    fn new(picture: &Picture, gutter: f64, room: f64) -> Of<'_> {
        let lanes = lanes(picture);
        let mut columns = Vec::new();
        let mut x = MARGIN;
        for (c, name) in picture.columns.iter().enumerate() {
            let mine = picture.nodes.iter().filter(|node| node.column == c);
            let texts = mine.flat_map(|node| &node.lines).map(|line| letters(line) + 16.0);
            let wide = texts.fold(letters(name).max(80.0), f64::max);
            let bars = (picture.waits.iter().zip(&lanes))
                .filter(|((store, _), _)| picture.nodes[*store].column == c);
            let bars = bars.map(|(_, lane)| lane + 1).max().unwrap_or(0);
            x += bars as f64 * LANE;
            columns.push((x, wide));
            x += wide + gutter;
        }
        // Arrows within the last column go round its boxes.
        let right = x - gutter + 70.0 + MARGIN;
        let most = ((right.max(room.min(TITLE)) - 2.0 * MARGIN) / LETTER) as usize;
        let mut title = fold(&picture.title, most);
        if title.len() > MAX_TITLE {
            title.truncate(MAX_TITLE);
            title[MAX_TITLE - 1] = cut(&format!("{} …", title[MAX_TITLE - 1]), most);
        }
        let init = cut(&picture.init, most);
        let lines = title.len() + usize::from(!init.is_empty());
        let top = MARGIN + LINE * lines as f64 + 2.0 * GAP;
        let mut rows = Vec::new();
        let mut y = top;
        for row in 0..picture.nodes.iter().map(|node| node.row + 1).max().unwrap_or(0) {
            let mine = picture.nodes.iter().filter(|node| node.row == row);
            let high = mine.map(|node| node.lines.len()).max().unwrap_or(0) as f64 * LINE + 8.0;
            rows.push((y, high));
            y += high + GAP;
        }
        let (rounds, bottom) = (rounds(picture), y - GAP);
        Of { picture, title, init, columns, rows, lanes, rounds, top, bottom, right }
    }

    fn rect(&self, node: usize) -> Rect {
        let node = &self.picture.nodes[node];
        let ((x, w), (y, _)) = (self.columns[node.column], self.rows[node.row]);
        Rect { x, y, w, h: node.lines.len() as f64 * LINE + 8.0 }
    }

    fn middle(&self, column: usize) -> f64 {
        let (x, w) = self.columns[column];
        x + w / 2.0
    }

    /// Left of the column, from the store to where it reaches memory.
    fn bars(&self) -> Vec<Rect> {
        let bar = |(&(store, commit), &lane): (&(usize, usize), &usize)| {
            let (from, to) = (self.rect(store), self.rect(commit));
            let x = from.x - (lane + 1) as f64 * LANE;
            let y = from.y + from.h / 2.0;
            Rect { x, y, w: BAR, h: to.y + to.h / 2.0 - y }
        };
        self.picture.waits.iter().zip(&self.lanes).map(bar).collect()
    }

    fn lines(&self) -> Vec<Line> {
        let mut ports: Vec<(usize, bool, usize)> = Vec::new();
        let mut lines = Vec::new();
        for (arc, round) in self.picture.arcs.iter().zip(&self.rounds) {
            let nodes = &self.picture.nodes;
            let (a, b) = (&nodes[arc.from], &nodes[arc.to]);
            let points = if a.column != b.column {
                let rightwards = a.column < b.column;
                let from = self.port(&mut ports, arc.from, rightwards);
                let to = self.port(&mut ports, arc.to, !rightwards);
                if a.column.abs_diff(b.column) == 1 {
                    vec![from, to]
                } else {
                    self.through_gap(from, to, (a.row, b.row), rightwards)
                }
            } else if goes_down(self.picture, arc) {
                let (from, to) = (self.rect(arc.from), self.rect(arc.to));
                let x = self.middle(a.column);
                vec![Point { x, y: from.y + from.h }, Point { x, y: to.y }]
            } else {
                let from = self.port(&mut ports, arc.from, true);
                let to = self.port(&mut ports, arc.to, true);
                let (x, w) = self.columns[a.column];
                let x = x + w + 8.0 + (round % MOST_ROUND) as f64 * LANE;
                vec![from, Point { x, y: from.y }, Point { x, y: to.y }, to]
            };
            let bold = arc.number.is_some();
            lines.push(Line { points, kind: arc.kind, bold, label: None });
        }
        lines
    }

    /// Where an arrow meets the right or left side of a box: each has a place of its own.
    fn port(&self, ports: &mut Vec<(usize, bool, usize)>, node: usize, right: bool) -> Point {
        let rect = self.rect(node);
        let used = match ports.iter_mut().find(|(n, side, _)| (*n, *side) == (node, right)) {
            Some((_, _, used)) => {
                *used += 1;
                *used
            }
            None => {
                ports.push((node, right, 0));
                0
            }
        };
        let shift = [0.0, -6.0, 6.0, -10.0, 10.0][used % 5];
        let x = if right { rect.x + rect.w } else { rect.x };
        Point { x, y: rect.y + rect.h / 2.0 + shift }
    }

    /// Past columns between: through the space above or below the row of the target.
    fn through_gap(
        &self,
        from: Point,
        to: Point,
        (from_row, to_row): (usize, usize),
        rightwards: bool,
    ) -> Vec<Point> {
        let (y, h) = self.rows[to_row];
        let y = if from_row > to_row { y + h + GAP / 2.0 } else { y - GAP / 2.0 };
        let beside = if rightwards { 34.0 } else { -34.0 };
        vec![from, Point { x: from.x + beside, y }, Point { x: to.x - beside, y }, to]
    }
}

/// Whether an arrow goes straight to the next box of its column.
fn goes_down(picture: &Picture, arc: &Arc) -> bool {
    let (a, b) = (&picture.nodes[arc.from], &picture.nodes[arc.to]);
    let between = |n: &Node| n.column == a.column && a.row < n.row && n.row < b.row;
    arc.kind == Kind::Po && a.row < b.row && !picture.nodes.iter().any(between)
}

/// Per arrow its lane right of its column, if it goes round boxes there: the shorter, the nearer, and none on another.
fn rounds(picture: &Picture) -> Vec<usize> {
    let rows = |arc: &Arc| {
        let (a, b) = (&picture.nodes[arc.from], &picture.nodes[arc.to]);
        let is_round = a.column == b.column && !goes_down(picture, arc);
        is_round.then(|| (a.column, a.row.min(b.row), a.row.max(b.row)))
    };
    let mut order: Vec<usize> = (0..picture.arcs.len()).collect();
    order.sort_by_key(|&i| rows(&picture.arcs[i]).map(|(_, from, to)| to - from));
    let mut lanes = vec![0; picture.arcs.len()];
    let mut taken: Vec<(usize, (usize, usize, usize))> = Vec::new();
    for i in order {
        let Some(mine @ (column, from, to)) = rows(&picture.arcs[i]) else { continue };
        let is_free = |lane: &usize| {
            !taken.iter().any(|&(other, (c, start, end))| {
                (other, c) == (*lane, column) && start <= to && from <= end
            })
        };
        lanes[i] = (0..).find(is_free).unwrap_or(0);
        taken.push((lanes[i], mine));
    }
    lanes
}

/// Bars of a thread that are there at the same time stand beside each other.
fn lanes(picture: &Picture) -> Vec<usize> {
    let mut lanes: Vec<usize> = Vec::new();
    let rows = |(store, commit): (usize, usize)| {
        let node = |i: usize| &picture.nodes[i];
        (node(store).column, node(store).row, node(commit).row)
    };
    for (i, &wait) in picture.waits.iter().enumerate() {
        let (column, from, to) = rows(wait);
        let taken = |lane: &usize| {
            (0..i).any(|j| {
                let (other, start, end) = rows(picture.waits[j]);
                lanes[j] == *lane && other == column && start <= to && from <= end
            })
        };
        let lane = (0..).find(|lane| !taken(lane)).unwrap_or(0);
        lanes.push(lane);
    }
    lanes
}
