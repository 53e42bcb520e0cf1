//! Every answer about the corpus that says `holds` or `violated` was checked, or says that it is too
//! large to be.

use crate::run;

/// Asks with these arguments and looks at every answer: how many were checked.
fn check(args: &[&str]) -> usize {
    let args = [args, &["--format", "json", "--timeout", "20s", "--quiet"]].concat();
    let ran = run(&args, "");
    let (mut answers, mut checked) = (0, 0);
    for line in ran.out.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let (verdict, certified) = (&answer["verdict"], &answer["certified"]);
        match verdict.as_str() {
            Some("holds" | "violated") => {
                answers += 1;
                checked += usize::from(*certified == true);
                assert!(*certified == true || *certified == "too large", "{args:?}: {line}");
            }
            Some("unknown") => assert_eq!(*certified, false, "{args:?}: {line}"),
            _ => {}
        }
    }
    assert!(answers > 0, "{args:?}: {}", ran.err);
    checked
}

#[test]
fn questions_about_programs() {
    assert!(check(&["litmus", "--model", "sc,tso,pso", "corpus/litmus"]) > 50);
    assert!(check(&["robust", "--model", "tso,pso", "corpus/litmus"]) > 50);
    assert!(check(&["robust", "--trf", "--model", "tso", "corpus/litmus"]) > 20);
    assert!(check(&["reach", "--model", "sc,tso", "corpus/trencher"]) > 10);
    assert!(check(&["fence", "--model", "tso", "corpus/litmus/SB.litmus"]) > 0);
    // Which fences suffice in a loop is not derived again by brute force, but by the text if nothing overtakes a store.
    assert_eq!(check(&["fence", "--model", "tso", "corpus/c-programs/dekker.c"]), 0);
    assert_eq!(check(&["fence", "--model", "tso", "corpus/trencher/dekker.txt"]), 1);
    assert!(check(&["serial", "--model", "sc,tso", "corpus/programs/serial-not-sc.weak"]) > 0);
}

#[test]
fn questions_about_what_was_recorded() {
    assert!(check(&["history", "--model", "all", "corpus/histories"]) > 50);
    assert!(check(&["monitor", "--model", "tso,pso", "corpus/traces"]) > 5);
    assert!(check(&["serial", "--model", "sc,tso", "corpus/transactions"]) > 5);
}
