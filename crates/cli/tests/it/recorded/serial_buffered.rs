//! `weakspot serial --buffered`: both readings of buffered reads, and witnesses that say which of them
//! they are about.

use std::path::PathBuf;

use crate::run;

const PROGRAM: &str = "corpus/programs/serial-overwritten.weak";
const LOG: &str = "corpus/transactions/overwritten.wstrace";

/// The exit code, and what is said.
fn ask(args: &[&str]) -> (Option<i32>, String) {
    let ran = run(&[&["serial"], args].concat(), "");
    (ran.code, ran.out + &ran.err)
}

#[test]
fn programs_and_logs() {
    const NOTE: &str = "(--buffered static)";
    for input in [PROGRAM, LOG] {
        for asked in [&["-m", "tso"][..], &["-m", "tso", "--buffered", "exact"]] {
            let (code, said) = ask(&[asked, &[input]].concat());
            assert_eq!(code, Some(1), "{said}");
            assert!(said.contains("TSO: not serializable") && !said.contains(NOTE), "{said}");
        }
        let (code, said) = ask(&["-m", "tso", "--buffered", "static", input]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(NOTE) && !said.contains("not serializable"), "{said}");
        for reading in ["exact", "static"] {
            let (_, said) = ask(&["--format", "json", "--buffered", reading, input]);
            let key = format!("\"buffered\":\"{reading}\"");
            for line in said.lines().filter(|line| line.starts_with('{')) {
                assert_eq!(line.contains(&key), line.contains("\"model\":\"tso\""), "{line}");
            }
        }
    }
}

#[test]
fn only_under_tso() {
    let (code, said) = ask(&["-m", "sc", "--buffered", "static", LOG]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--buffered makes a difference under TSO only"), "{said}");
}

/// Each is accepted as what it is, and not as the other.
#[test]
fn witnesses() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("serial-buffered");
    std::fs::create_dir_all(&folder).expect("a folder");
    let witness = folder.join("witness.json");
    let witness = witness.to_str().expect("UTF-8");
    let trace = folder.join("trace.wstrace");
    let text = "t1: wr x\nt2: wr x #1\nt2: wr y #1\nt1: rd x\nt1: rd y\n";
    std::fs::write(&trace, text).expect("written");
    let trace = trace.to_str().expect("UTF-8");
    for input in [PROGRAM, LOG, trace] {
        for (reading, other, code) in [("exact", "static", 1), ("static", "exact", 0)] {
            let asked = ["serial", "-q", "-m", "tso", "--buffered", reading, "--witness", witness];
            let ran = run(&[&asked[..], &[input]].concat(), "");
            assert_eq!(ran.code, Some(code), "{input} {reading} {}{}", ran.out, ran.err);
            let ran = run(&["certify", input, witness], "");
            assert_eq!(ran.code, Some(0), "{input} {reading} {}{}", ran.out, ran.err);
            let text = std::fs::read_to_string(witness).expect("a witness");
            let key = |reading: &str| format!("\"buffered\": \"{reading}\"");
            assert!(text.contains(&key(reading)), "{text}");
            std::fs::write(witness, text.replace(&key(reading), &key(other))).expect("written");
            let ran = run(&["certify", input, witness], "");
            assert_eq!(ran.code, Some(1), "{input} {reading} {}{}", ran.out, ran.err);
        }
    }
}
