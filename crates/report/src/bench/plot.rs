//! Plots of how long things take, as SVG: panels side by side, a line per series with its name at its
//! end, both axes logarithmic, one legend. Knows nothing about programs.

use std::fmt::Write;

/// A plot of seconds.
#[derive(Clone, Debug)]
pub struct Plot {
    /// What it shows, above everything.
    pub title: String,
    /// What the series are called. A series looks the same in every panel.
    pub series: Vec<String>,
    /// Where points that were not finished are drawn: the time limit in seconds.
    pub limit: f64,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// One panel.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// What runs to the right.
    pub axis: Axis,
    /// The points, in the order in which the lines run.
    pub points: Vec<Mark>,
}

/// What runs to the right in a panel.
#[derive(Clone, Debug)]
pub enum Axis {
    /// A size, on a logarithmic scale.
    Size,
    /// Things that have names and no order: no lines are drawn between them.
    Names(Vec<String>),
}

/// A point.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// The number of the series.
    pub series: usize,
    /// The size, or the number of the name.
    pub x: usize,
    /// Seconds; `None` if it was not finished.
    pub seconds: Option<f64>,
    /// The least and the most of several runs.
    pub spread: Option<(f64, f64)>,
}

const COLORS: [&str; 8] =
    ["#4477aa", "#dd7722", "#228844", "#aa3377", "#2299bb", "#888833", "#cc3333", "#777777"];

/// Width and height of a panel with everything around it, and of the frame in it.
const PANEL: (f64, f64) = (520.0, 330.0);
const FRAME: (f64, f64) = (320.0, 215.0);
/// Where the frame begins in its panel.
const CORNER: (f64, f64) = (80.0, 35.0);
/// How far apart the names of lines are at least.
const NAME_LINE: f64 = 13.0;
const TOP: f64 = 46.0;
const LEGEND_LINE: f64 = 22.0;
/// About the width of a digit.
const DIGIT: f64 = 7.0;
const PER_ROW: usize = 2;

/// The picture. It brings its own background, light or dark as the reader prefers.
#[must_use]
pub fn plot_svg(plot: &Plot) -> String {
    // Nothing was measured for the others.
    let panels: Vec<&Panel> = plot.panels.iter().filter(|p| !p.points.is_empty()).collect();
    let rows = panels.len().div_ceil(PER_ROW).max(1);
    let width = PANEL.0 * PER_ROW as f64;
    let legend_rows = (plot.series.len() + 1).div_ceil(4);
    let panels_top = TOP + LEGEND_LINE * legend_rows as f64;
    let height = panels_top + PANEL.1 * rows as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n"
    );
    out += "\
<style>
.back { fill: #ffffff }
.text { fill: #222222 }
.grid { stroke: #dddddd }
.frame { stroke: #888888; fill: none }
@media (prefers-color-scheme: dark) {
  .back { fill: #1e1e1e }
  .text { fill: #dddddd }
  .grid { stroke: #404040 }
}
</style>
";
    let _ = writeln!(out, "<rect class=\"back\" width=\"{width}\" height=\"{height}\"/>");
    text(&mut out, (16.0, 24.0), "font-size=\"15\"", &plot.title);
    legend(&mut out, plot, width);
    let scale = Seconds::of(plot);
    for (i, panel) in panels.into_iter().enumerate() {
        let x = PANEL.0 * (i % PER_ROW) as f64 + CORNER.0;
        let y = panels_top + PANEL.1 * (i / PER_ROW) as f64 + CORNER.1;
        draw_panel(&mut out, plot, panel, &scale, (x, y));
    }
    out + "</svg>\n"
}

fn legend(out: &mut String, plot: &Plot, width: f64) {
    let place = |i: usize| {
        let column = width / 4.0 - 8.0;
        (24.0 + column * (i % 4) as f64, TOP + LEGEND_LINE * (i / 4) as f64)
    };
    for (i, name) in plot.series.iter().enumerate() {
        let (x, y) = place(i);
        marker(out, i, (x, y - 4.0), true);
        text(out, (x + 12.0, y), "", name);
    }
    let (x, y) = place(plot.series.len());
    marker(out, 0, (x, y - 4.0), false);
    text(out, (x + 12.0, y), "", "hollow: no answer within the limits");
}

/// The vertical axis: whole powers of ten around everything that is drawn.
struct Seconds {
    low: i32,
    high: i32,
}

impl Seconds {
    fn of(plot: &Plot) -> Seconds {
        let marks = plot.panels.iter().flat_map(|p| &p.points);
        let spreads =
            marks.clone().filter_map(|m| m.spread).flat_map(|(least, most)| [least, most]);
        let all = marks.filter_map(|m| m.seconds).chain(spreads).chain([plot.limit]);
        let all: Vec<f64> = all.map(positive).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        let low = positive(least).log10().floor() as i32;
        Seconds { low, high: (positive(most).log10().ceil() as i32).max(low + 1) }
    }

    /// How far down the frame.
    fn down(&self, seconds: f64) -> f64 {
        let part =
            (positive(seconds).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        FRAME.1 * (1.0 - part.clamp(0.0, 1.0))
    }
}

/// Nothing takes less than a microsecond, and a logarithm needs something.
fn positive(seconds: f64) -> f64 {
    if seconds.is_finite() { seconds.max(1e-6) } else { 1e-6 }
}

fn draw_panel(out: &mut String, plot: &Plot, panel: &Panel, scale: &Seconds, at: (f64, f64)) {
    let (left, top) = at;
    text(out, (left, top - 10.0), "font-weight=\"bold\"", &panel.title);
    for power in scale.low..=scale.high {
        let y = top + scale.down(10f64.powi(power));
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{left:.1} {y:.1}h{:.1}\"/>", FRAME.0);
        text(out, (left - 6.0, y + 4.0), "text-anchor=\"end\"", &time_label(power));
    }
    let limit = top + scale.down(plot.limit);
    let _ = writeln!(
        out,
        "<path class=\"frame\" stroke-dasharray=\"5 4\" d=\"M{left:.1} {limit:.1}h{:.1}\"/>",
        FRAME.0
    );
    let right = Right::of(panel);
    for (x, label) in right.ticks(panel) {
        let (x, y) = (left + x, top + FRAME.1);
        let _ = writeln!(out, "<path class=\"frame\" d=\"M{x:.1} {y:.1}v4\"/>");
        match panel.axis {
            Axis::Size if label.is_empty() => {}
            Axis::Size => text(out, (x, y + 18.0), "text-anchor=\"middle\"", &label),
            Axis::Names(_) => {
                let turn = format!("text-anchor=\"end\" transform=\"rotate(-30 {x:.1} {y:.1})\"");
                text(out, (x + 2.0, y + 14.0), &turn, &label);
            }
        }
    }
    if matches!(panel.axis, Axis::Size) {
        let below = (left + FRAME.0 / 2.0, top + FRAME.1 + 38.0);
        text(out, below, "text-anchor=\"middle\"", "size N");
    }
    let beside = (left - 62.0, top + FRAME.1 / 2.0);
    let turn =
        format!("text-anchor=\"middle\" transform=\"rotate(-90 {:.1} {:.1})\"", beside.0, beside.1);
    text(out, beside, &turn, "time");
    let _ = writeln!(
        out,
        "<rect class=\"frame\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{}\" height=\"{}\"/>",
        FRAME.0, FRAME.1
    );
    // Side by side where there are no lines to tell them apart.
    let middle = (plot.series.len() as f64 - 1.0) / 2.0;
    let spread = (FRAME.0 / (right.to - right.from) * 0.8 / (plot.series.len() as f64)).min(8.0);
    let mut ends: Vec<(f64, usize)> = Vec::new();
    for series in 0..plot.series.len() {
        let marks = panel.points.iter().filter(|m| m.series == series);
        let color = COLORS[series % COLORS.len()];
        let marks: Vec<(f64, f64, bool)> = marks
            .map(|m| {
                let y = m.seconds.map_or(scale.down(plot.limit), |s| scale.down(s));
                let aside = if right.named { (series as f64 - middle) * spread } else { 0.0 };
                let x = left + right.along(m.x) + aside;
                if let (Some((least, most)), true) = (m.spread, m.seconds.is_some()) {
                    let (low, high) = (top + scale.down(least), top + scale.down(most));
                    let _ = writeln!(
                        out,
                        "<path stroke=\"{color}\" d=\"M{:.1} {high:.1}h6m-3 0V{low:.1}m-3 0h6\"/>",
                        x - 3.0
                    );
                }
                (x, top + y, m.seconds.is_some())
            })
            .collect();
        if matches!(panel.axis, Axis::Size) && marks.len() > 1 {
            let path: Vec<String> =
                marks.iter().map(|(x, y, _)| format!("{x:.1} {y:.1}")).collect();
            let _ = writeln!(
                out,
                "<path fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\" d=\"M{}\"/>",
                path.join("L")
            );
        }
        if let (Axis::Size, Some(&(_, y, _))) = (&panel.axis, marks.last()) {
            ends.push((y, series));
        }
        for (x, y, done) in marks {
            marker(out, series, (x, y), done);
        }
    }
    for (y, series) in apart(ends, top + FRAME.1) {
        let color = COLORS[series % COLORS.len()];
        let style = format!("font-size=\"11\" style=\"fill: {color}\"");
        text(out, (left + FRAME.0 + 8.0, y + 4.0), &style, &plot.series[series]);
    }
}

/// The names of lines beside the ends of these, from top to bottom, moved so that none covers another
/// and none is below `bottom`.
fn apart(mut ends: Vec<(f64, usize)>, bottom: f64) -> Vec<(f64, usize)> {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for i in 1..ends.len() {
        ends[i].0 = ends[i].0.max(ends[i - 1].0 + NAME_LINE);
    }
    let mut lowest = bottom;
    for end in ends.iter_mut().rev() {
        end.0 = end.0.min(lowest);
        lowest = end.0 - NAME_LINE;
    }
    ends
}

/// The horizontal axis.
struct Right {
    /// The least and the greatest place, as numbers that grow evenly.
    from: f64,
    to: f64,
    named: bool,
}

impl Right {
    fn of(panel: &Panel) -> Right {
        if let Axis::Names(names) = &panel.axis {
            return Right { from: -0.5, to: (names.len().max(1) as f64) - 0.5, named: true };
        }
        let sizes = panel.points.iter().map(|m| m.x.max(1));
        let (least, most) = sizes.fold((usize::MAX, 1), |(a, b), x| (a.min(x), b.max(x)));
        let (from, to) = ((least.min(most) as f64).ln(), (most as f64).ln());
        // A little room on both sides, and a width even for a single size.
        let room = ((to - from) * 0.05).max(0.05);
        Right { from: from - room, to: to + room, named: false }
    }

    fn along(&self, x: usize) -> f64 {
        let place = if self.named { x as f64 } else { (x.max(1) as f64).ln() };
        FRAME.0 * (place - self.from) / (self.to - self.from)
    }

    fn ticks(&self, panel: &Panel) -> Vec<(f64, String)> {
        if let Axis::Names(names) = &panel.axis {
            return names.iter().enumerate().map(|(i, n)| (self.along(i), n.clone())).collect();
        }
        let mut sizes: Vec<usize> = panel.points.iter().map(|m| m.x).collect();
        sizes.sort_unstable();
        sizes.dedup();
        // A size whose label would touch the one before it stays without.
        let mut free = f64::NEG_INFINITY;
        let label = |n: usize| {
            let (at, text) = (self.along(n), n.to_string());
            let half = DIGIT * text.len() as f64 / 2.0;
            if at - half < free {
                return (at, String::new());
            }
            free = at + half + DIGIT;
            (at, text)
        };
        sizes.into_iter().map(label).collect()
    }
}

/// Circles, squares, diamonds and triangles, so that the series differ without colours, too.
fn marker(out: &mut String, series: usize, (x, y): (f64, f64), filled: bool) {
    let color = COLORS[series % COLORS.len()];
    let paint = if filled {
        format!("fill=\"{color}\"")
    } else {
        format!("class=\"back\" stroke=\"{color}\" stroke-width=\"1.5\"")
    };
    let shape = match series % 4 {
        0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4.0),
        1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        2 => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
        _ => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
    };
    let _ = writeln!(out, "<path {paint} d=\"{shape}\"/>");
}

fn text(out: &mut String, (x, y): (f64, f64), attributes: &str, text: &str) {
    let space = if attributes.is_empty() { "" } else { " " };
    let safe: String = text
        .chars()
        .filter(|c| !c.is_control())
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            c => c.to_string(),
        })
        .collect();
    let _ = writeln!(
        out,
        "<text class=\"text\" x=\"{x:.1}\" y=\"{y:.1}\"{space}{attributes}>{safe}</text>"
    );
}

/// `10 ms` for -2.
fn time_label(power: i32) -> String {
    match power {
        ..=-4 => format!("{} µs", 10i64.pow((power + 6).max(0) as u32)),
        -3..=-1 => format!("{} ms", 10i64.pow((power + 3) as u32)),
        _ => format!("{} s", 10i64.pow(power.min(9) as u32)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn mark(series: usize, x: usize, seconds: Option<f64>) -> Mark {
        Mark { series, x, seconds, spread: None }
    }

    #[test]
    fn a_small_plot() {
        let plot = Plot {
            title: "CPU time & more".into(),
            series: vec!["reach tso, eager".into(), "robust tso".into()],
            limit: 20.0,
            panels: vec![
                Panel {
                    title: "Lamport".into(),
                    axis: Axis::Size,
                    points: vec![
                        Mark { spread: Some((0.01, 0.04)), ..mark(0, 2, Some(0.02)) },
                        mark(0, 4, None),
                        mark(1, 2, Some(0.1)),
                    ],
                },
                Panel {
                    title: "programs".into(),
                    axis: Axis::Names(vec!["a<b".into(), "c".into()]),
                    points: vec![mark(0, 0, Some(0.02)), mark(1, 1, Some(3.0))],
                },
            ],
        };
        expect![[r##"
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1040 398" width="1040" height="398" font-family="sans-serif" font-size="12">
            <style>
            .back { fill: #ffffff }
            .text { fill: #222222 }
            .grid { stroke: #dddddd }
            .frame { stroke: #888888; fill: none }
            @media (prefers-color-scheme: dark) {
              .back { fill: #1e1e1e }
              .text { fill: #dddddd }
              .grid { stroke: #404040 }
            }
            </style>
            <rect class="back" width="1040" height="398"/>
            <text class="text" x="16.0" y="24.0" font-size="15">CPU time &amp; more</text>
            <path fill="#4477aa" d="M20.0 42.0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"/>
            <text class="text" x="36.0" y="46.0">reach tso, eager</text>
            <path fill="#dd7722" d="M272.5 38.5h7v7h-7z"/>
            <text class="text" x="288.0" y="46.0">robust tso</text>
            <path class="back" stroke="#4477aa" stroke-width="1.5" d="M524.0 42.0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"/>
            <text class="text" x="540.0" y="46.0">hollow: no answer within the limits</text>
            <text class="text" x="80.0" y="93.0" font-weight="bold">Lamport</text>
            <path class="grid" d="M80.0 318.0h320.0"/>
            <text class="text" x="74.0" y="322.0" text-anchor="end">10 ms</text>
            <path class="grid" d="M80.0 264.2h320.0"/>
            <text class="text" x="74.0" y="268.2" text-anchor="end">100 ms</text>
            <path class="grid" d="M80.0 210.5h320.0"/>
            <text class="text" x="74.0" y="214.5" text-anchor="end">1 s</text>
            <path class="grid" d="M80.0 156.8h320.0"/>
            <text class="text" x="74.0" y="160.8" text-anchor="end">10 s</text>
            <path class="grid" d="M80.0 103.0h320.0"/>
            <text class="text" x="74.0" y="107.0" text-anchor="end">100 s</text>
            <path class="frame" stroke-dasharray="5 4" d="M80.0 140.6h320.0"/>
            <path class="frame" d="M100.2 318.0v4"/>
            <text class="text" x="100.2" y="336.0" text-anchor="middle">2</text>
            <path class="frame" d="M379.8 318.0v4"/>
            <text class="text" x="379.8" y="336.0" text-anchor="middle">4</text>
            <text class="text" x="240.0" y="356.0" text-anchor="middle">size N</text>
            <text class="text" x="18.0" y="210.5" text-anchor="middle" transform="rotate(-90 18.0 210.5)">time</text>
            <rect class="frame" x="80.0" y="103.0" width="320" height="215"/>
            <path stroke="#4477aa" d="M97.2 285.6h6m-3 0V318.0m-3 0h6"/>
            <path fill="none" stroke="#4477aa" stroke-width="1.5" d="M100.2 301.8L379.8 140.6"/>
            <path fill="#4477aa" d="M96.2 301.8a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"/>
            <path class="back" stroke="#4477aa" stroke-width="1.5" d="M375.8 140.6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"/>
            <path fill="#dd7722" d="M96.7 260.8h7v7h-7z"/>
            <text class="text" x="408.0" y="144.6" font-size="11" style="fill: #4477aa">reach tso, eager</text>
            <text class="text" x="408.0" y="268.2" font-size="11" style="fill: #dd7722">robust tso</text>
            <text class="text" x="600.0" y="93.0" font-weight="bold">programs</text>
            <path class="grid" d="M600.0 318.0h320.0"/>
            <text class="text" x="594.0" y="322.0" text-anchor="end">10 ms</text>
            <path class="grid" d="M600.0 264.2h320.0"/>
            <text class="text" x="594.0" y="268.2" text-anchor="end">100 ms</text>
            <path class="grid" d="M600.0 210.5h320.0"/>
            <text class="text" x="594.0" y="214.5" text-anchor="end">1 s</text>
            <path class="grid" d="M600.0 156.8h320.0"/>
            <text class="text" x="594.0" y="160.8" text-anchor="end">10 s</text>
            <path class="grid" d="M600.0 103.0h320.0"/>
            <text class="text" x="594.0" y="107.0" text-anchor="end">100 s</text>
            <path class="frame" stroke-dasharray="5 4" d="M600.0 140.6h320.0"/>
            <path class="frame" d="M680.0 318.0v4"/>
            <text class="text" x="682.0" y="332.0" text-anchor="end" transform="rotate(-30 680.0 318.0)">a&lt;b</text>
            <path class="frame" d="M840.0 318.0v4"/>
            <text class="text" x="842.0" y="332.0" text-anchor="end" transform="rotate(-30 840.0 318.0)">c</text>
            <text class="text" x="538.0" y="210.5" text-anchor="middle" transform="rotate(-90 538.0 210.5)">time</text>
            <rect class="frame" x="600.0" y="103.0" width="320" height="215"/>
            <path fill="#4477aa" d="M672.0 301.8a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"/>
            <path fill="#dd7722" d="M840.5 181.4h7v7h-7z"/>
            </svg>
        "##]].assert_eq(&plot_svg(&plot));
    }

    #[test]
    fn labels_do_not_touch() {
        let points = [100, 200, 300, 400, 500, 1_000, 10_000, 100_000, 1_000_000];
        let points = points.map(|n| mark(0, n, Some(0.1))).to_vec();
        let panel = Panel { title: String::new(), axis: Axis::Size, points };
        let ticks = Right::of(&panel).ticks(&panel);
        let labels: Vec<&str> = ticks.iter().map(|(_, label)| label.as_str()).collect();
        expect!["100  300   1000 10000 100000 1000000"].assert_eq(&labels.join(" "));
    }

    #[test]
    fn names_of_lines_do_not_touch() {
        let placed = apart(vec![(100.0, 0), (99.0, 1), (20.0, 2), (101.0, 3)], 110.0);
        assert_eq!(placed, [(20.0, 2), (84.0, 1), (97.0, 0), (110.0, 3)]);
    }

    /// Nothing was measured: no empty panel is drawn.
    #[test]
    fn empty_panels_are_left_out() {
        let empty = Panel { title: "nobody".into(), axis: Axis::Size, points: vec![] };
        let panels = vec![empty];
        let svg = plot_svg(&Plot { title: "t".into(), series: vec![], limit: 1.0, panels });
        assert!(!svg.contains("nobody"), "{svg}");
    }

    /// Nothing to draw, or numbers that have no logarithm, still give a picture without holes.
    #[test]
    fn odd_numbers() {
        let points = vec![
            mark(0, 0, Some(0.0)),
            mark(9, 1, Some(f64::NAN)),
            mark(0, 1, Some(f64::INFINITY)),
        ];
        let panel = Panel { title: String::new(), axis: Axis::Size, points };
        let empty = Panel { title: String::new(), axis: Axis::Size, points: vec![] };
        let nobody = Panel { title: String::new(), axis: Axis::Names(vec![]), points: vec![] };
        for panels in [vec![], vec![panel], vec![empty], vec![nobody]] {
            for limit in [0.0, 20.0, f64::NAN, 1e30] {
                let plot = Plot {
                    title: String::new(),
                    series: vec!["one".into()],
                    limit,
                    panels: panels.clone(),
                };
                let svg = plot_svg(&plot);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert!(svg.ends_with("</svg>\n"));
            }
        }
    }
}
