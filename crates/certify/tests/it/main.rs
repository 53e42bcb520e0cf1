//! The program `weakspot-certify`: many witnesses at once, in text and JSON, and none that was altered.

use std::path::{Path, PathBuf};
use std::process::Command;

use weakspot_core::certify;
use weakspot_core::machine::{Machine, Outcome, Schedule, State};
use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Evidence, Model, Program, Verdict};
use weakspot_lang::{Format, parse};
use weakspot_witness::{Witness, input_hash};

const SB: &str = "X86 SB\n{}\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n \
                  MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
const MP: &str = "X86 MP\n{}\n P0         | P1          ;\n MOV [x],$1 | MOV EAX,[y] ;\n \
                  MOV [y],$1 | MOV EBX,[x] ;\nexists (1:EAX=1 /\\ 1:EBX=0)\n";

/// A run whose end satisfies the condition, by brute force.
fn run(program: &Program) -> Option<Schedule> {
    let machine = Machine { program, model: Model::Tso };
    let init: Vec<i64> = program.locs.iter().map(|loc| loc.init[0]).collect();
    let mut todo: Vec<(State, Schedule)> =
        vec![(machine.initial_state(&init), Schedule { init, steps: vec![] })];
    while let Some((state, schedule)) = todo.pop() {
        let evidence = Evidence::Run(schedule.clone());
        if certify::condition(program, Model::Tso, &Verdict::Holds, &evidence).is_ok() {
            return Some(schedule);
        }
        for step in machine.steps(&state) {
            if let Outcome::Next(next) = machine.take(&state, step) {
                let mut longer = schedule.clone();
                longer.steps.push(step);
                todo.push((next, longer));
            }
        }
    }
    None
}

fn witness(text: &str) -> Witness {
    let program = parse(Format::Litmus, text).expect("a program").program;
    let (verdict, evidence) = match run(&program) {
        Some(run) => (Verdict::Holds, Evidence::Run(run)),
        None => (Verdict::Violated, Evidence::Exhausted { states: 0 }),
    };
    Witness {
        question: "litmus".to_owned(),
        input_hash: input_hash(text.as_bytes()),
        model: Model::Tso,
        buffered: None,
        verdict,
        evidence,
    }
}

/// Files in a folder of their own.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    }
}

/// What is printed, without the folder, and the exit code.
fn certify(folder: &Folder, options: &[&str], files: &[&Path]) -> (String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_weakspot-certify"))
        .args(options)
        .args(files)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let root = format!("{}/", folder.0.path().display());
    (text.replace(&root, ""), output.status.code().expect("a code"))
}

const SHOWN: &str = "litmus under TSO: holds, by a run of 6 steps";
const SEARCHED: &str = "litmus under TSO: violated, by a search of all states";

#[test]
fn one_and_many() {
    let folder = Folder::new();
    let (sb, mp) = (folder.write("SB.litmus", SB), folder.write("MP.litmus", MP));
    let (w, v) = (witness(SB), witness(MP));
    let (w, v) = (folder.write("w.json", &w.to_json()), folder.write("v.json", &v.to_json()));
    assert_eq!(certify(&folder, &[], &[&sb, &w]), (format!("certified: {SHOWN}\n"), 0));
    assert_eq!(certify(&folder, &[], &[&mp, &v]), (format!("certified: {SEARCHED}\n"), 0));
    // In any order.
    let both = format!("v.json: certified: {SEARCHED}\nw.json: certified: {SHOWN}\n");
    assert_eq!(certify(&folder, &[], &[&v, &sb, &mp, &w]), (both, 0));
    let json = "{\"file\":\"SB.litmus\",\"question\":\"certify\",\"witness\":\"w.json\",\"verdict\":\
                \"certified\",\"claim\":{\"question\":\"litmus\",\"model\":\"tso\",\"verdict\":\"holds\"},\
                \"message\":\"litmus under TSO: holds, by a run of 6 steps\",\"schema\":1}\n";
    assert_eq!(certify(&folder, &["--json"], &[&sb, &w]), (json.to_owned(), 0));
    // The worst one is the exit code.
    let few = certify(&folder, &["--max-states", "2"], &[&sb, &mp, &v, &w]);
    assert_eq!(few.1, 3, "{}", few.0);
    let bad = witness(SB).to_json().replacen("\"holds\"", "\"violated\"", 1);
    let bad = folder.write("bad.json", &bad);
    let (said, code) = certify(&folder, &[], &[&sb, &mp, &v, &bad, &w]);
    assert_eq!(code, 1, "{said}");
    let needs = "litmus under TSO: violated, not shown: the verdict needs evidence of another kind";
    assert!(said.contains(&format!("bad.json: rejected: {needs}")), "{said}");
    let (said, code) = certify(&folder, &[], &[&mp, &v, &w]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("w.json: error: none of the files is the input"), "{said}");
    let (said, code) = certify(&folder, &[], &[&mp, &w]);
    assert_eq!(code, 2, "{said}");
    assert!(said.starts_with("error: the witness is about another input"), "{said}");
    // What may be a damaged witness is not taken for an input that nobody asks about.
    let cut = folder.write("cut.json", &witness(SB).to_json()[..200]);
    let (said, code) = certify(&folder, &[], &[&sb, &w, &cut]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("cut.json: error: this is no witness"), "{said}");
    assert!(said.contains(&format!("w.json: certified: {SHOWN}")), "{said}");
    assert_eq!(certify(&folder, &[], &[&sb]).1, 2);
    assert_eq!(certify(&folder, &["--what"], &[&sb, &w]).1, 2);
    assert_eq!(certify(&folder, &[], &[&sb, &mp, &sb]).1, 2);
}

/// A set of states shows that a program with loops is robust; with any character of it changed, it shows nothing.
#[test]
fn sets_of_states() {
    let folder = Folder::new();
    let text = "shared x, lock\nthread p[2] {\n  while (1) { await (cas(lock, 0, 1)); x = 1; x = 0; lock = 0 }\n}\n";
    let program = parse(Format::Weak, text).expect("a program").program;
    let asked = (certify::Shows::Robust, certify::Over::Pending);
    let set = certify::reached(&program, Model::Tso, asked, &mut |_| true).expect("a set");
    let right = Witness {
        question: "robust".to_owned(),
        input_hash: input_hash(text.as_bytes()),
        model: Model::Tso,
        buffered: None,
        verdict: Verdict::Holds,
        evidence: Evidence::Inductive(set),
    };
    let input = folder.write("lock.weak", text);
    let json = right.to_json();
    let file = folder.write("w.json", &json);
    let shown = "certified: robust under TSO: holds, by an inductive set of 27 states\n";
    assert_eq!(certify(&folder, &[], &[&input, &file]), (shown.to_owned(), 0));
    let start = json.find("\"packed\"").expect("the set") + 10;
    let mut rng = Rng::new(1);
    for _ in 0..scaled(200) {
        let at = start + rng.below(json.len() - start);
        let mut bad = json.clone().into_bytes();
        bad[at] = b"ABZaz019+/="[rng.below(11)];
        if bad != json.as_bytes() {
            let file = folder.write("bad.json", &String::from_utf8_lossy(&bad));
            let (said, code) = certify(&folder, &[], &[&input, &file]);
            assert!(matches!(code, 1 | 2), "{said}");
        }
    }
}

/// Whatever is changed in a witness, it never shows the other verdict.
#[test]
fn altered_witnesses() {
    let (sb, mp) = (witness(SB).to_json(), witness(MP).to_json());
    let flip = |text: &str| match text.contains("\"holds\"") {
        true => text.replacen("\"holds\"", "\"violated\"", 1),
        false => text.replacen("\"violated\"", "\"holds\"", 1),
    };
    let folder = Folder::new();
    let inputs = [folder.write("SB.litmus", SB), folder.write("MP.litmus", MP)];
    let mut files: Vec<PathBuf> = inputs.to_vec();
    for seed in 0..scaled(2_000) as u64 {
        let mut rng = Rng::new(seed);
        let mut text = flip(if rng.one_in(2) { &sb } else { &mp }).into_bytes();
        for _ in 0..rng.below(3) {
            // Behind the head, so that it stays one about this input with this verdict.
            let from = text.windows(10).position(|w| w == b"\"evidence\"").expect("evidence");
            let at = from + 10 + rng.below(text.len() - from - 10);
            match rng.below(3) {
                0 if text[at].is_ascii_digit() => text[at] = b'0' + rng.below(3) as u8,
                1 => drop(text.remove(at)),
                _ => text[at] = b"01,[]{} "[rng.below(8)],
            }
        }
        files.push(folder.write(&format!("{seed}.json"), &String::from_utf8_lossy(&text)));
    }
    for files in files[2..].chunks(200) {
        let all: Vec<&Path> = inputs.iter().chain(files).map(PathBuf::as_path).collect();
        let (said, _) = certify(&folder, &[], &all);
        assert!(!said.contains(": certified"), "{said}");
    }
}

/// A text in which exactly one thing is replaced.
fn with(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
    text.replace(from, to)
}

/// What is said of a witness that is right, and of those in which one thing is wrong.
fn one_thing_is_wrong(input: (&str, &str), json: &str, right: &str, wrong: &[(&str, &str, &str)]) {
    let folder = Folder::new();
    let (name, text) = input;
    let input = folder.write(name, text);
    let json = with(json, "HASH", &input_hash(text.as_bytes()));
    let file = folder.write("w.json", &json);
    assert_eq!(certify(&folder, &[], &[&input, &file]), (format!("certified: {right}\n"), 0));
    for (from, to, expected) in wrong {
        let file = folder.write("bad.json", &with(&json, from, to));
        let (said, code) = certify(&folder, &[], &[&input, &file]);
        assert!(said.contains(expected) && matches!(code, 1 | 2), "{from} -> {to}: {said}");
    }
}

#[test]
fn a_trace_that_is_not_there_shows_nothing() {
    let log =
        "trace a\nt0: wr x = 1\nt0: rd y = 0\nt1: wr y = 1\nt1: rd x = 1\ntrace b\nt0: wr x = 1\n";
    let json = r#"{"witness": 1, "question": "monitor", "input": "HASH", "model": "tso", "verdict": "holds",
        "evidence": {"none": {"trace": 1, "pending": "all"}}}"#;
    let absent = "the witness is about a trace that the log does not have";
    one_thing_is_wrong(
        ("log.wstrace", log),
        json,
        "monitor under TSO: holds, by the definition of the monitor (trace 2 of the log)",
        &[
            ("\"trace\": 1", "\"trace\": 0", "the monitor by definition reports"),
            ("\"trace\": 1", "\"trace\": 2", absent),
            ("\"trace\": 1", "\"trace\": null", absent),
            ("\"monitor\"", "\"robust\"", "question: expected `monitor`"),
            ("\"all\"", "\"all\", \"note\": 1", "evidence.none.note: expected no such key"),
        ],
    );
}

#[test]
fn histories_count_from_one() {
    let json = r#"{"witness": 1, "question": "history", "input": "HASH", "model": "cc", "verdict": "holds",
        "history": 1, "evidence": {"definition": true}}"#;
    one_thing_is_wrong(
        ("a.wshist", "t0: w x 1\nt1: r x 1\n"),
        json,
        "history under CC: holds, by the definition, evaluated literally",
        &[
            ("\"history\": 1", "\"history\": 0", "has no history number 0"),
            ("\"history\": 1", "\"history\": 2", "has no history number 2"),
            ("\"cc\"", "\"lin\"", "says when it began or ended, which `lin` is about"),
            ("true", "false", "evidence.definition: expected `true`"),
            ("true", "true, \"definition\": true", "the key `definition` is there twice"),
        ],
    );
    one_thing_is_wrong(
        ("a.wshist", "history first\nt0: w x 1\nt1: r x 1\nhistory second\nt0: r x 1\n"),
        json,
        "history under CC: holds, by the definition, evaluated literally (history 1 of the file)",
        &[("\"history\": 1", "\"history\": 3", "has no history number 3")],
    );
}

#[test]
fn commits_of_traces() {
    let log = "t0: begin\nt0: wr x\nt1: rd x\nt0: wr x\nt0: end\n";
    let json = r#"{"witness": 1, "question": "serial", "input": "HASH", "model": "tso", "verdict": "violated",
        "buffered": "exact", "evidence": {"trace": null, "of": "trace",
        "commits": [{"before":2,"thread":0}, {"before":4,"thread":0}],
        "cycle": [{"from":2,"to":3}, {"from":3,"to":5}]}}"#;
    one_thing_is_wrong(
        ("log.wstrace", log),
        json,
        "serial under TSO: violated, by an execution of the trace with a cycle of 2 conflicts",
        &[
            ("\"before\":4", "\"before\":5", "a commit before it is out of order"),
            ("\"before\":4", "\"before\":1", "a commit before it is out of order"),
            ("\"before\":4,\"thread\":0", "\"before\":4,\"thread\":1", "has no store"),
        ],
    );
    let json = r#"{"witness": 1, "question": "serial", "input": "HASH", "model": "tso", "verdict": "holds",
        "buffered": "exact", "evidence": {"trace": null, "of": "trace", "commits": [],
        "groups": [{"txns":[0],"why":"single"}]}}"#;
    one_thing_is_wrong(
        ("log.wstrace", "t0: wr x\n"),
        json,
        "serial under TSO: holds, by 1 group without a cycle",
        &[(
            "\"commits\": []",
            "\"commits\": [{\"before\":1,\"thread\":0}]",
            "the verdict needs evidence of another kind",
        )],
    );
}

/// What is certified is an answer to a question that can be asked.
#[test]
fn questions_that_nobody_asks() {
    let json = |question: &str, buffered: &str| {
        format!(
            r#"{{"witness": 1, "question": "{question}", "input": "HASH", "model": "tso", "verdict": "holds",
            {buffered} "evidence": {{"exhausted": {{}}}}}}"#
        )
    };
    let input = ("x.weak", "shared x\nthread a { x = 1 }\nthread b { x = 2 }\n");
    let buffered = "\"buffered\": \"exact\",";
    let other = "`buffered` is about transactions under TSO, and this is another question";
    one_thing_is_wrong(
        input,
        &json("serial-program", buffered),
        "serial under TSO: holds, by all executions, which are serializable",
        &[
            ("\"tso\"", "\"pso\"", "transactions are asked about under SC and TSO only"),
            ("\"tso\"", "\"pso-own\"", "transactions are asked about under SC and TSO only"),
            ("\"tso\"", "\"sc\"", other),
            ("serial-program", "robust", other),
        ],
    );
    one_thing_is_wrong(
        input,
        &json("robust", ""),
        "robust under TSO: holds, by its text: no access can overtake a store",
        &[("\"tso\"", "\"sc\"", "every program is robust against SC")],
    );
    let json = r#"{"witness": 1, "question": "fence", "input": "HASH", "model": "tso", "verdict": "holds", "goal": "robust",
        "costs": {"full":1,"store_store":1}, "optimal": true, "fences": [], "clauses": [], "enough": {"exhausted": {}}}"#;
    one_thing_is_wrong(
        input,
        json,
        "fence under TSO: holds, by its text: no access can overtake a store",
        &[
            ("\"tso\"", "\"sc\"", "no program needs fences under SC"),
            ("\"full\":1", "\"full\":0", "costs.full: expected a cost of at least 1"),
            (
                "\"store_store\":1",
                "\"store_store\":0",
                "costs.store_store: expected a cost of at least 1",
            ),
        ],
    );
}
