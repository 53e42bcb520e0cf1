//! Drawings in ASCII, by `--ascii` and by the locale, and stretches of long runs that are folded.

use crate::weakspot;

/// Commands that draw.
const DRAWN: [&[&str]; 11] = [
    &["litmus", "--model", "sc,tso,pso", "--show", "corpus/litmus"],
    &["litmus", "--model", "tso", "--show=1:EAX=1; 1:EBX=0", "corpus/litmus/MP.litmus"],
    &["reach", "corpus/programs/peterson.weak", "corpus/programs/dekker.weak"],
    &["robust", "corpus/programs/peterson.weak", "corpus/trencher"],
    &["robust", "--trf", "--model", "tso", "corpus/programs/dekker.weak"],
    &["fence", "corpus/programs/peterson.weak"],
    &["monitor", "corpus/traces"],
    &["monitor", "--program", "--model", "tso", "corpus/programs/peterson.weak"],
    &["serial", "corpus/transactions", "corpus/programs/task-pool.weak"],
    &["history", "corpus/histories"],
    &["history", "--model", "tso,sc,cc", "corpus/histories"],
];

fn printed(args: &[&str], ascii: &[&str], locale: &str, columns: usize) -> String {
    let (command, rest) = args.split_first().expect("a command");
    let output = weakspot()
        .arg(command)
        .args(ascii)
        .args(rest)
        .env("COLUMNS", columns.to_string())
        .env("LC_ALL", locale)
        .output()
        .expect("the command ends");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The text without times, which differ from run to run.
fn timeless(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("Time ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn only_ascii_and_no_wider() {
    for args in DRAWN {
        // Hundreds of pictures take their time.
        let many = args[0] == "litmus" && args[args.len() - 1] == "corpus/litmus";
        for &columns in if many { &[40, 80][..] } else { &[40, 60, 80, 120] } {
            let unicode = printed(args, &[], "C.UTF-8", columns);
            let ascii = printed(args, &["--ascii"], "C.UTF-8", columns);
            assert!(ascii.is_ascii(), "{args:?}: {ascii}");
            // The same lines, each as wide; only that of logs says how fast it was.
            let widths = |text: &str| -> Vec<usize> {
                timeless(text).lines().map(|line| line.chars().count()).collect()
            };
            if args[0] != "monitor" {
                assert_eq!(widths(&ascii), widths(&unicode), "{args:?}");
            }
            // Pieces of the source stay as wide as they are where there are only 40 columns.
            let is_drawn = |line: &str| columns > 40 || line.contains('│') || line.contains('─');
            for line in unicode.lines().filter(|line| is_drawn(line)) {
                let width = line.chars().count();
                assert!(width <= columns, "{args:?}: {width} > {columns}: {line}");
            }
        }
    }
}

#[test]
fn the_locale_decides() {
    let args = DRAWN[1];
    let args = &[args[0], "--model", "pso", "--show", "corpus/litmus/MP.litmus"];
    let unicode = timeless(&printed(args, &[], "de_DE.UTF-8", 80));
    assert!(unicode.contains('│'), "{unicode}");
    let ascii = timeless(&printed(args, &["--ascii"], "C.UTF-8", 80));
    for locale in ["C", "POSIX", "de_DE.ISO-8859-1", "en_US"] {
        assert_eq!(timeless(&printed(args, &[], locale, 80)), ascii, "{locale}");
    }
    // JSON and pictures are UTF-8 everywhere.
    let json = printed(&["litmus", "--format", "json", "corpus/litmus/MP.litmus"], &[], "C", 80);
    assert!(json.starts_with('{'), "{json}");
}

/// A store that is late for long: what comes between is folded, what matters is drawn.
#[test]
fn long_stretches_are_folded() {
    let program = "shared x in 0..1
shared y in 0..30

thread p {
    var i = 0
    x = 1
    while (i < 30) {
        i = i + 1
        y = i
    }
}

thread q {
    var a, b
    a = y
    b = x
    assert(!(a == 30 && b == 0))
}
";
    let file = tempfile::Builder::new().suffix(".weak").tempfile().expect("a file");
    std::fs::write(file.path(), program).expect("written");
    let path = file.path().to_str().expect("UTF-8");
    for columns in [40, 60, 80, 120] {
        let text = printed(&["reach", "--model", "pso", path], &[], "C.UTF-8", columns);
        let folded: Vec<&str> =
            text.lines().filter(|line| line.contains(" steps of p ...")).collect();
        assert!(!folded.is_empty(), "{text}");
        assert!(columns < 80 || text.lines().count() < 45, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= columns || !line.contains('│')),
            "{text}"
        );
        assert!(text.contains("buffers x=1 as (1)"), "{text}");
    }
}
