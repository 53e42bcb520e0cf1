use expect_test::expect;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::*;

fn sample() -> Steps {
    let run = json!({
        "model": "tso",
        "threads": [{"name": "p"}, {"name": "q"}],
        "init": {"x": 0, "y": 0},
        "steps": [
            {"n": 1, "thread": 0, "kind": "store", "location": "x", "value": 1, "text": "x = 1", "line": 2},
            {"n": 2, "thread": 0, "kind": "load", "location": "y", "value": 0, "text": "r = y", "line": 3, "from": "memory"},
            {"n": 3, "thread": 1, "kind": "store", "location": "y", "value": 1, "text": "y = 1", "line": 6},
            {"n": 4, "thread": 1, "kind": "commit", "location": "y", "value": 1, "of": 3},
            {"n": 5, "thread": 0, "kind": "commit", "location": "x", "value": 1, "of": 1},
        ],
        "cycle": [], "late": [{"store": 1, "behind": 2}],
        "end": {"state": {"r": 0}},
    });
    let source = "thread p {\n    x = 1\n    r = y\n}\nthread q {\n    y = 1\n}\n";
    let answer = json!({"file": "sb.weak", "name": "sb", "run": run});
    Steps::of(&answer, &|_| Some(source.to_owned())).expect("steps")
}

fn screen(view: &View<'_>, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal.draw(|frame| view.draw(frame)).expect("a screen");
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(width as usize);
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned() + "\n"
    };
    lines.map(line).collect()
}

#[test]
fn screens() {
    let run = sample();
    let mut view = View { run: &run, done: 0, ascii: false };
    view.press(Press::Late);
    view.press(Press::Next);
    expect![[r#"
        A run of sb under TSO                                                step 2 of 5
        ┌sb.weak───────────────────────────────────┐┌memory────────────────────────────┐
        │    1 thread p {                          ││ x = 0                            │
        │    2     x = 1                           ││ y = 0                            │
        │>   3     r = y                           ││                                  │
        │    4 }                                   ││store buffers, oldest first       │
        │    5 thread q {                          ││ p: memory <- [x=1]               │
        │    6     y = 1                           ││ q: memory <- (empty)             │
        │    7 }                                   ││                                  │
        │                                          ││                                  │
        │                                          ││                                  │
        │                                          ││                                  │
        │                                          ││                                  │
        │                                          ││                                  │
        │                                          ││                                  │
        │                                          ││                                  │
        │                                          ││                                  │
        │                                          ││                                  │
        └──────────────────────────────────────────┘└──────────────────────────────────┘
        p  r = y  sb.weak:3
        reads y=0


         n/p next, previous  Home/End  l late store  m reaches memory  q quit
    "#]]
    .assert_eq(&screen(&view, 80, 24));
    view.press(Press::Last);
    view.ascii = true;
    expect![[r#"
        A run of sb under TSO                            step 5 of 5
        +sb.weak------------------------++memory-------------------+
        |    1 thread p {               ||>x = 1                   |
        |    2     x = 1                || y = 1                   |
        |>   3     r = y                ||                         |
        |    4 }                        ||store buffers, oldest    |
        |    5 thread q {               ||first                    |
        |    6     y = 1                ||>p: memory <- (empty)    |
        |    7 }                        || q: memory <- (empty)    |
        |                               ||                         |
        +-------------------------------++-------------------------+
        p
        x=1 reaches memory (store of step 1). Final state: r=0


         n/p next, previous  Home/End  l late store  m reaches memor
    "#]]
    .assert_eq(&screen(&view, 60, 16));
}

#[test]
fn keys_lead_there() {
    let run = sample();
    let mut view = View { run: &run, done: 0, ascii: false };
    let mut after = |press| {
        view.press(press);
        view.done
    };
    assert_eq!(after(Press::Previous), 0);
    assert_eq!(after(Press::Late), 1);
    assert_eq!(after(Press::Reaches), 5);
    assert_eq!(after(Press::Next), 5);
    assert_eq!(after(Press::Late), 1);
    assert_eq!(after(Press::Last), 5);
    assert_eq!(after(Press::Previous), 4);
    assert_eq!(after(Press::First), 0);
}

/// However small or large a terminal is, something is drawn.
#[test]
fn all_sizes() {
    let run = sample();
    for done in 0..=run.steps.len() {
        let view = View { run: &run, done, ascii: true };
        for width in [1, 2, 10, 39, 80, 200] {
            for height in [1, 2, 5, 24, 60] {
                assert_eq!(screen(&view, width, height).lines().count(), height as usize);
            }
        }
        assert!(screen(&view, 80, 24).is_ascii());
    }
}
