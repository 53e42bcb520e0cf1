//! `weakspot bench`.

use expect_test::expect;
use serde_json::Value;

use crate::printed::transcripts::check;
use crate::run;

#[test]
fn help() {
    check(
        &["help", "bench"],
        "",
        expect![[r#"
            Measure how long the searches take

            Usage: weakspot bench <COMMAND>

            Commands:
              litmus    Families of litmus tests whose size grows, both searches side by side
              programs  Programs and families of programs: every algorithm side by side
              monitor   The monitors on random logs: events per processor second
              history   Checks of histories: time, memory, and how far each stage gets
              serial    The monitors for transactions on logs that are serializable: time, memory
              real      The seven programs of the paper on monitoring, compiled from C: its tables with our
                        figures beside
              help      Print this message or the help of the given subcommand(s)

            Options:
              -h, --help  Print help
            --- exit 0
        "#]],
    );
    check(
        &["help", "bench", "programs"],
        "",
        expect![[r#"
            Example:
              weakspot bench programs
              weakspot bench programs lamport fig12 --timeout 5s
              weakspot bench programs --format json --svg times.svg > times.jsonl

            Programs and families of programs: every algorithm side by side

            Usage: weakspot bench programs [OPTIONS] [NAME]...

            Arguments:
              [NAME]...
                      Only these programs and families; all if none is named

            Options:
                  --timeout <TIME>
                      Give up on a question after this time [default: 20s]

                  --svg <FILE.svg>
                      Draw the processor times to this file

              -f, --format <FORMAT>
                      What to print [default: text]

                      Possible values:
                      - text:     For people
                      - json:     JSON Lines, one object per file and model
                      - csv:      Commas: the rows of `bench`, the summary of many files
                      - markdown: The same as a table of Markdown
                      - tabular:  The same as a table of LaTeX

              -h, --help
                      Print help (see a summary with '-h')

            Each question is answered in a process of its own, so that processor time and
            memory are its own. `weakspot gen family --list` tells about the families.
            --- exit 0
        "#]],
    );
}

#[test]
fn unknown_programs() {
    check(
        &["bench", "programs", "parker", "lampert"],
        "",
        expect![[r#"
        --- standard error
        error: no program or family `lampert`; there are parker, peterson, dekker, lamport-fast-3, mcs-4, clh-3, treiber-4, ticket-4, bakery-3, lamport, diamond, loop, fig12, ticket-pso-4, ticket-pso-5, mcs-5, peterson-4, ticket-twice-5
        --- exit 2
    "#]],
    );
}

/// A row per program and question; the verdicts that are known; numbers that can be.
#[test]
fn rows_of_two_programs() {
    let svg = std::env::temp_dir().join(format!("weakspot-bench-{}.svg", std::process::id()));
    let path = svg.to_str().expect("UTF-8");
    let args = ["bench", "programs", "diamond", "parker", "--format", "json", "--svg", path];
    let ran = run(&args, "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let rows: Vec<Value> =
        ran.out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let names: Vec<&str> = rows.iter().map(|r| r["name"].as_str().expect("a name")).collect();
    for name in ["parker", "diamond-2", "diamond-1000"] {
        assert!(names.iter().filter(|n| **n == name).count() >= 4, "{names:?}");
    }
    for row in rows.iter().filter(|row| row["limit"]["kind"] != "n/a") {
        assert_eq!(row["verdict"], "violated", "{row}");
        assert_eq!(row["threads"], 2, "{row}");
        assert!(row["explored"].as_u64().is_some_and(|n| n > 0), "{row}");
        assert!(row["time_s"].as_f64().is_some_and(|s| s > 0.0), "{row}");
        if cfg!(target_os = "linux") {
            assert!(row["cpu_s"].as_f64().is_some_and(|s| s > 0.0), "{row}");
            assert!(row["peak_bytes"].as_u64().is_some_and(|b| b > 1 << 20), "{row}");
        }
        let named = row["name"].as_str().is_some_and(|n| n.starts_with("diamond-"));
        assert_eq!(row["family"] == "diamond", named, "{row}");
    }
    let picture = std::fs::read_to_string(&svg).expect("the picture");
    std::fs::remove_file(&svg).expect("the picture");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("N-branching diamond") && picture.contains(">parker<"), "{picture}");
}

/// What the process of a row says about itself.
#[test]
fn a_row_has_a_process_of_its_own() {
    let ran = run(&["bench", "cell", "fig12", "robust-tso-pending", "--timeout", "20s"], "");
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.ends_with(" violated \n"), "{}", ran.out);
    let ran = run(&["bench", "cell", "fig12", "robust-tso-luck", "--timeout", "20s"], "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), "error: no such question\n"));
}

fn json_rows(args: &[&str]) -> Vec<Value> {
    let ran = run(args, "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    ran.out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
}

/// Every way gives the same verdicts, and says who decided.
#[test]
fn ways_to_check_histories() {
    let svg = std::env::temp_dir().join(format!("weakspot-histories-{}.svg", std::process::id()));
    let path = svg.to_str().expect("UTF-8");
    let args = ["bench", "history", "violations", "--quick", "--format", "json", "--svg", path];
    let rows = json_rows(&args);
    assert_eq!(rows.len(), 7 * 4);
    for of_cpus in rows.chunks(4) {
        let ways: Vec<&str> = of_cpus.iter().filter_map(|row| row["way"].as_str()).collect();
        assert_eq!(ways, ["auto", "sat", "enum", "plain"]);
        for row in of_cpus {
            assert_eq!(row["table"], "violations", "{row}");
            assert_eq!(row["done"], true, "{row}");
            assert_eq!(row["violated"], of_cpus[0]["violated"], "{row}");
            let (holds, violated) = (row["holds"].as_u64(), row["violated"].as_u64());
            assert_eq!(holds.zip(violated).map(|(h, v)| h + v), Some(4), "{row}");
            assert!(row["decided_by"].as_str().is_some_and(|by| by.contains(':')), "{row}");
            if cfg!(target_os = "linux") {
                assert!(row["cpu_s"].as_f64().is_some_and(|s| s > 0.0), "{row}");
                assert!(row["peak_bytes"].as_u64().is_some_and(|b| b > 1 << 20), "{row}");
            }
        }
    }
    assert!(rows.iter().any(|row| row["violated"] != 0), "{rows:?}");
    let picture = std::fs::read_to_string(&svg).expect("the picture");
    std::fs::remove_file(&svg).expect("the picture");
    assert!(picture.contains("SC, N CPUs with 50 operations each, bugs"), "{picture}");
}

/// Stronger models leave fewer pairs open and catch more.
#[test]
fn shares_of_histories() {
    let rows = json_rows(&["bench", "history", "pairs", "caught", "--quick", "--format", "json"]);
    let (pairs, caught): (Vec<&Value>, Vec<&Value>) =
        rows.iter().partition(|row| row["table"] == "pairs");
    assert_eq!((pairs.len(), caught.len()), (15, 8));
    for row in pairs {
        let open = |key: &str| row["open_percent"][key].as_f64().expect("a share");
        for (weak, strong) in [("co", "ccv"), ("ccv", "ccm"), ("ccm", "sc"), ("wccm", "tso")] {
            assert!((0.0..=open(weak)).contains(&open(strong)), "{row}");
        }
    }
    for row in caught {
        let of_sc = |key: &str| row["of_sc"][key].as_u64().expect("a count");
        assert!(of_sc("cc") <= of_sc("ccv") && of_sc("ccv") <= of_sc("ccm"), "{row}");
        assert!(row["not_sc"].as_u64().is_some_and(|n| n > 0 && of_sc("ccm") <= n), "{row}");
        assert_eq!(row["not_tso"], row["of_sc"]["tso"], "{row}");
    }
}

#[test]
fn a_cell_of_histories_has_a_process_of_its_own() {
    let ran = run(&["bench", "history-cell", "tso,3,200,5,2,tso,auto", "--timeout", "20s"], "");
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.starts_with("2 0 true ") && ran.out.ends_with(" greedy:2\n"), "{}", ran.out);
    let ran = run(&["bench", "history-cell", "tso,3,200,5,2,tso,luck", "--timeout", "20s"], "");
    let message = "error: no such measurement: tso,3,200,5,2,tso,luck\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), message));
    // No time at all: whatever was not decided is not counted.
    let ran = run(&["bench", "history-cell", "atomic,4,200000,5,1,sc,sat", "--timeout", "0ms"], "");
    assert!(ran.out.starts_with("0 0 false "), "{}", ran.out);
}

/// What the paper found: TSO breaks the two locks, its PSO breaks all seven.
#[test]
fn real_programs() {
    let ran = run(&["bench", "real", "--executions", "200", "--format", "json"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let rows: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), 21, "{}", ran.out);
    for row in &rows {
        if row["table"] == "rates" {
            assert!(row["rate"].as_f64() > Some(0.0), "{row}");
            continue;
        }
        let name = row["name"].as_str().expect("a name");
        let broken = |model: &str| row[model].as_u64().expect("a number") > 0;
        assert_eq!(broken("tso"), ["dekker", "bakery"].contains(&name), "{row}");
        assert!(broken("pso"), "{row}");
    }
}

/// Tables of measurements fit 80 columns, and so do the words below them.
#[test]
fn tables_fit() {
    let all: [&[&str]; 6] = [
        &["programs", "parker", "--timeout", "1s"],
        &[
            "monitor",
            "--processes",
            "2,64",
            "--addresses",
            "1000",
            "--events",
            "2000",
            "--rounds",
            "2",
        ],
        &["history", "violations", "pairs", "caught", "--quick", "--timeout", "1ms"],
        &["serial", "--quick", "lengths"],
        &["real", "--executions", "2"],
        &["litmus", "--timeout", "1ms"],
    ];
    for args in all {
        let ran = run(&[&["bench"], args].concat(), "");
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        let wide: Vec<&str> = ran.out.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{args:?}:\n{}", wide.join("\n"));
        assert!(ran.out.lines().count() > 5, "{args:?}:\n{}", ran.out);
    }
}

/// Short questions are asked several times, and the rows say how far the figures differ.
#[test]
fn figures_have_a_spread() {
    let svg = tempfile::NamedTempFile::new().expect("a file");
    let path = svg.path().to_str().expect("UTF-8");
    for row in json_rows(&["bench", "programs", "parker", "--format", "json", "--svg", path]) {
        if row["verdict"] == "unknown" || !cfg!(target_os = "linux") {
            continue;
        }
        assert!(row["runs"].as_u64().is_some_and(|runs| runs >= 3), "{row}");
        let of = |key: &str| row[key].as_f64().expect("seconds");
        assert!((of("cpu_least_s")..=of("cpu_most_s")).contains(&of("cpu_s")), "{row}");
    }
    let picture = std::fs::read_to_string(path).expect("the picture");
    // The bars from the least to the most.
    assert!(!cfg!(target_os = "linux") || picture.matches("h6m-3 0V").count() >= 8, "{picture}");
}
