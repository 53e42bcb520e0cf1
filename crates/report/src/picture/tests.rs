use super::graph::pictures;
use super::labels::Point;
use super::layout::{Layout, lay_out};
use super::{SCREEN, tex};
use crate::format::{Format, Printed};
use crate::json::Tool;

/// The runs in some objects as pictures in a format; nothing if there are none.
pub(crate) fn draw_pictures(format: Format, objects: &str) -> String {
    let tool = Tool { name: "weakspot", version: "0", commit: None };
    let mut printed = Printed::new(format, tool);
    printed.part(objects).into_owned() + &printed.end()
}

/// Store buffering as JSON has it.
const SB: &str = r#"{"file":"SB.litmus","question":"litmus","model":"tso","verdict":"holds","name":"SB","run":{"model":"tso","threads":[{"name":"P0"},{"name":"P1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"x":0,"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"text":"MOV [x],$1"},{"n":2,"thread":0,"kind":"load","location":"y","value":0,"text":"MOV EAX,[y]","from":"memory"},{"n":3,"thread":1,"kind":"store","location":"y","value":1,"text":"MOV [y],$1"},{"n":4,"thread":1,"kind":"commit","of":3,"location":"y","value":1},{"n":5,"thread":1,"kind":"load","location":"x","value":0,"text":"MOV EAX,[x]","from":"memory"},{"n":6,"thread":0,"kind":"commit","of":1,"location":"x","value":1}],"cycle":[{"from":1,"to":2,"edge":"po"},{"from":2,"to":3,"edge":"fr"},{"from":3,"to":5,"edge":"po"},{"from":5,"to":1,"edge":"fr"}],"late":[{"store":1,"behind":2}],"relations":[{"from":2,"to":3,"edge":"fr"},{"from":5,"to":1,"edge":"fr"}]}}"#;

fn long(steps: usize) -> String {
    let step = |n: usize| {
        format!(
            r#"{{"n":{n},"thread":{},"kind":"store","location":"x{}","value":{n}}}"#,
            n % 3,
            n % 5
        )
    };
    let steps: Vec<String> = (1..=steps).map(step).collect();
    let relations: Vec<String> =
        (1..30).map(|n| format!(r#"{{"from":{n},"to":{},"edge":"co"}}"#, n + 5)).collect();
    format!(
        r#"{{"file":"a.c","question":"run","model":"pso","violations":[{{"run":{{"threads":[{{"name":"A"}},{{"name":"B_{{}}"}},{{"name":"C"}}],"steps":[{}],"cycle":[{{"from":2,"to":9,"edge":"co"}},{{"from":9,"to":2,"edge":"fr"}}],"relations":[{}]}}}}]}}"#,
        steps.join(","),
        relations.join(",")
    )
}

/// No label is on a line, a box or another label, and nothing is outside.
fn check(layout: &Layout) {
    let labels: Vec<_> = layout.lines.iter().filter_map(|line| line.label.as_ref()).collect();
    for (i, label) in labels.iter().enumerate() {
        for line in &layout.lines {
            for pair in line.points.windows(2) {
                assert!(!label.at.is_crossed(pair[0], pair[1]), "{} is on a line", label.text);
            }
        }
        assert!(!layout.boxes.iter().any(|b| b.at.meets(&label.at)), "{} is on a box", label.text);
        assert!(!labels[..i].iter().any(|l| l.at.meets(&label.at)), "two labels in one place");
    }
    for (i, b) in layout.boxes.iter().enumerate() {
        assert!(
            b.at.x >= 0.0 && b.at.x + b.at.w <= layout.width && b.at.y + b.at.h <= layout.height
        );
        assert!(
            !layout.boxes[..i].iter().any(|other| other.at.meets(&b.at)),
            "two boxes in one place"
        );
    }
    let ends = |p: &Point| p.x >= 0.0 && p.x <= layout.width && p.y >= 0.0 && p.y <= layout.height;
    assert!(layout.lines.iter().all(|line| line.points.iter().all(ends)));
}

#[test]
fn places() {
    let [picture] = &pictures(SB)[..] else { panic!("one picture") };
    assert_eq!(picture.columns, ["P0", "P1"]);
    // The store of P1 reaches memory at once and is drawn once, the other twice.
    assert_eq!((picture.nodes.len(), picture.waits.len()), (5, 1));
    let layout = lay_out(picture, SCREEN);
    check(&layout);
    let on_cycle = layout.lines.iter().filter(|line| line.bold);
    assert!(on_cycle.clone().all(|line| line.label.is_some()));
    assert_eq!(on_cycle.count(), 4);
    let heads: Vec<f64> = layout.heads.iter().map(|(at, _)| at.x).collect();
    assert!(heads.is_sorted());
}

/// Long runs are folded, whatever they look like, and all formats can write them.
#[test]
fn long_runs() {
    for steps in [1, 5, 29, 31, 60, 400] {
        let object = long(steps);
        for picture in &pictures(&object) {
            check(&lay_out(picture, SCREEN));
            assert!(picture.nodes.len() <= 40, "{} boxes", picture.nodes.len());
            let folded = picture.nodes.iter().any(|n| n.lines[0].contains("steps"));
            assert_eq!(folded, steps > 30);
        }
        let tex = draw_pictures(Format::Tex, &object);
        assert!(tex.contains("B\\_\\{\\}"));
        assert_balanced(&tex);
    }
}

/// The braces of a text in TeX, but for those that are written.
fn assert_balanced(tex: &str) {
    let mut depth = 0;
    let mut chars = tex.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        assert!(depth >= 0, "a brace too many");
    }
    assert_eq!(depth, 0, "an open brace");
}

#[test]
fn formats() {
    let svg = draw_pictures(Format::Svg, &format!("{SB}\n{SB}\n"));
    assert_eq!(svg.matches("<svg").count(), 1);
    assert_eq!(svg.matches("SB under TSO</title>").count(), 2);
    assert_eq!(draw_pictures(Format::Dot, &format!("{SB}\n{SB}\n")).matches("digraph").count(), 2);
    // What another model has, too, is drawn once.
    let both = format!("{SB}\n{}\n", SB.replacen(r#""model":"tso""#, r#""model":"pso""#, 1));
    let dot = draw_pictures(Format::Dot, &both);
    assert_eq!(dot.matches("digraph").count(), 1, "{dot}");
    assert!(dot.contains("SB under TSO; SB under PSO"), "{dot}");
    assert_balanced(&draw_pictures(Format::Tex, SB));
    // What LaTeX would join, or does not know.
    let odd = SB.replace("MOV [x],$1", "x--, y<<2, '→' \\\"é\\\"");
    let odd = draw_pictures(Format::Tex, &odd);
    assert!(odd.contains("x-{}-, y<{}<2, '<U+2192>' \\char34{}é\\char34{}"), "{odd}");
    for format in [Format::Svg, Format::Dot, Format::Tex] {
        assert_eq!(draw_pictures(format, "{}\nnonsense\n"), "");
        assert_eq!(draw_pictures(format, r#"{"run":{"steps":[]}}"#), "");
        // Runs that refer to what is not there.
        let odd = r#"{"run":{"steps":[{}],"cycle":[{"from":7,"to":8}],"late":3,"threads":0}}"#;
        assert!(!draw_pictures(format, odd).is_empty());
    }
}

/// Store buffering by so many threads, with statements as long as those of real programs.
fn wide(threads: usize) -> String {
    let names: Vec<String> = (0..threads).map(|t| format!(r#"{{"name":"worker#{t}"}}"#)).collect();
    let step = |n: usize| {
        let (thread, kind) = (n / 2, ["store", "load"][n % 2]);
        format!(
            r#"{{"n":{},"thread":{thread},"kind":"{kind}","location":"wants[{thread}]","value":1,"file":"source/of/it.c","line":7,"text":"atomic_store_explicit(&wants[me], 1, memory_order_release);"}}"#,
            n + 1
        )
    };
    let steps: Vec<String> = (0..2 * threads).map(step).collect();
    let arc = |n: usize| {
        format!(r#"{{"from":{},"to":{},"edge":"fr"}}"#, n + 1, (n + 2) % (2 * threads) + 1)
    };
    let cycle: Vec<String> = (0..2 * threads).map(arc).collect();
    format!(
        r#"{{"file":"a","question":"failures","model":"tso","verdict":"violated","failures":[{{"message":"{}","run":{{"threads":[{}],"steps":[{}],"cycle":[{}]}}}}]}}"#,
        "a word and another ".repeat(50),
        names.join(","),
        steps.join(","),
        cycle.join(",")
    )
}

/// Whatever is written in a picture, it is no wider than what it is for, as long as letters can be read.
#[test]
fn wide_pictures() {
    for threads in 2..=6 {
        let [picture] = &pictures(&wide(threads))[..] else { panic!("one picture") };
        let layout = lay_out(picture, SCREEN);
        check(&layout);
        assert!(layout.width <= SCREEN, "{threads} threads: {} pixels", layout.width);
        let printed = lay_out(picture, tex::ROOM);
        check(&printed);
        let text = draw_pictures(Format::Tex, &wide(threads));
        let scale = text.split("scale=").nth(1).and_then(|rest| rest.split(',').next());
        let scale: f64 = scale.map_or(1.0, |scale| scale.parse().expect("a number"));
        assert!(printed.width * scale <= tex::ROOM + 1.0, "{threads} threads: {scale}");
        assert!(threads > 4 || scale > 0.5, "{threads} threads: {scale}");
    }
}
