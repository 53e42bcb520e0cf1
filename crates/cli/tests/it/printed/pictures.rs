//! Pictures of runs, in all formats and for all commands that have runs.

use crate::run;

const QUESTIONS: [&[&str]; 9] = [
    &["litmus", "--model", "tso", "corpus/litmus/SB.litmus"],
    &["litmus", "--model", "tso", "--show=1:EAX=1; 1:EBX=0", "corpus/litmus/MP.litmus"],
    &["reach", "--model", "tso", "corpus/programs/peterson.weak"],
    &["robust", "--model", "pso", "corpus/programs/peterson.weak"],
    &["monitor", "corpus/traces/dekker.wstrace"],
    &["monitor", "--program", "--model", "tso", "corpus/programs/peterson.weak"],
    &["serial", "--model", "tso", "corpus/programs/task-pool.weak"],
    &["serial", "--model", "tso", "corpus/transactions/task-pool-execution.wstrace"],
    &["history", "--model", "sc", "corpus/histories/store-buffering.wshist"],
];

#[test]
fn everything_is_drawn() {
    for args in QUESTIONS {
        let draw = |format: &str| {
            let args: Vec<&str> = args.iter().copied().chain(["--format", format]).collect();
            let ran = run(&args, "");
            assert!(ran.code == Some(0) || ran.code == Some(1), "{args:?}: {}", ran.err);
            assert!(ran.err.is_empty(), "{args:?}: {}", ran.err);
            ran.out
        };
        let (svg, dot, tex) = (draw("svg"), draw("dot"), draw("tex"));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{args:?}: {svg}");
        assert_eq!(svg.matches("<svg").count(), 1, "{args:?}");
        let pictures = svg.matches("<title>").count();
        assert!(pictures > 0, "{args:?}");
        assert_eq!(dot.matches("digraph execution {").count(), pictures, "{args:?}");
        assert_eq!(tex.matches("\\begin{tikzpicture}").count(), pictures, "{args:?}");
        // Every run of these has a cycle, whose arrows are numbered.
        assert!(svg.contains(">1 ") && dot.contains("label=\"1 "), "{args:?}: {svg}");
    }
}

/// Where there is no run, the picture says so, and mistakes are said as always.
#[test]
fn nothing_to_draw() {
    const WHY: &str =
        "nothing to draw: no answer has a run or a cycle, which a violation would have";
    for (format, begin) in [("svg", "<svg "), ("dot", "digraph "), ("tex", "% nothing")] {
        let ran = run(&["robust", "--format", format, "corpus/programs/peterson-fenced.weak"], "");
        assert_eq!((ran.err.trim_end(), ran.code), (WHY, Some(0)), "{format}");
        assert!(ran.out.starts_with(begin) && ran.out.contains(WHY), "{}", ran.out);
    }
    let ran = run(&["robust", "--format", "tex", "-"], "nonsense");
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(2)));
    assert!(ran.err.contains("error"), "{}", ran.err);
    let ran = run(&["fence", "--format", "svg", "corpus/litmus/SB.litmus"], "");
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(2)));
}
