//! Places for the labels of arrows: beside their line, and on nothing else.

use crate::text::table::width;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

/// A text, and the room that it takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Label {
    pub(super) text: String,
    pub(super) at: Rect,
}

/// A label is written smaller than what is in boxes.
const LETTER: f64 = 6.7;
const HEIGHT: f64 = 12.0;
/// What stays free between a label and the lines beside it.
const SPACE: f64 = 3.0;

impl Rect {
    pub(super) fn middle(&self) -> Point {
        Point { x: self.x + self.w / 2.0, y: self.y + self.h / 2.0 }
    }

    pub(super) fn meets(&self, other: &Rect) -> bool {
        self.x < other.x + other.w
            && other.x < self.x + self.w
            && self.y < other.y + other.h
            && other.y < self.y + self.h
    }

    /// Whether a straight line goes through it: it is cut down to the part inside, from side to side.
    pub(super) fn is_crossed(&self, a: Point, b: Point) -> bool {
        let (mut first, mut last) = (0.0_f64, 1.0_f64);
        for (start, step, low, high) in
            [(a.x, b.x - a.x, self.x, self.x + self.w), (a.y, b.y - a.y, self.y, self.y + self.h)]
        {
            if step.abs() < 1e-9 {
                if start <= low || start >= high {
                    return false;
                }
                continue;
            }
            let (t, u) = ((low - start) / step, (high - start) / step);
            first = first.max(t.min(u));
            last = last.min(t.max(u));
        }
        first < last
    }
}

/// A place for each text that is not empty, if there is one.
pub(super) fn put_labels(
    paths: &[&[Point]],
    texts: &[String],
    obstacles: &[Rect],
) -> Vec<Option<Label>> {
    let mut placed: Vec<Rect> = Vec::new();
    let mut labels = Vec::new();
    for (path, text) in paths.iter().zip(texts) {
        let (w, h) = (width(text) as f64 * LETTER, HEIGHT);
        let is_free = |at: &Rect| {
            let around =
                Rect { x: at.x - SPACE, y: at.y - 1.0, w: at.w + 2.0 * SPACE, h: at.h + 2.0 };
            at.x >= 0.0
                && !obstacles.iter().chain(&placed).any(|other| at.meets(other))
                && !paths
                    .iter()
                    .any(|path| path.windows(2).any(|pair| around.is_crossed(pair[0], pair[1])))
        };
        let at = match text.is_empty() {
            true => None,
            false => candidates(path, w, h).into_iter().find(is_free),
        };
        placed.extend(at);
        labels.push(at.map(|at| Label { text: text.clone(), at }));
    }
    labels
}

/// Beside each piece of the path, the longest first, from its middle outwards.
fn candidates(path: &[Point], w: f64, h: f64) -> Vec<Rect> {
    let length = |pair: &[Point]| (pair[1].x - pair[0].x).hypot(pair[1].y - pair[0].y);
    let mut pieces: Vec<&[Point]> = path.windows(2).collect();
    pieces.sort_by(|a, b| length(b).total_cmp(&length(a)));
    let mut found = Vec::new();
    for distance in [5.0, 9.0, 15.0] {
        for piece in &pieces {
            let (a, b) = (piece[0], piece[1]);
            let length = length(piece).max(1e-9);
            let (nx, ny) = (-(b.y - a.y) / length, (b.x - a.x) / length);
            let away = distance + (w * nx.abs() + h * ny.abs()) / 2.0;
            for t in [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.12, 0.88] {
                for side in [-1.0, 1.0] {
                    let x = a.x + (b.x - a.x) * t + side * nx * away;
                    let y = a.y + (b.y - a.y) * t + side * ny * away;
                    found.push(Rect { x: x - w / 2.0, y: y - h / 2.0, w, h });
                }
            }
        }
    }
    found
}
