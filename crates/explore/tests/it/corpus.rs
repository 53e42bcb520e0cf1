//! The shipped programs get the answers that stand beside them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weakspot_core::serial::{
    BufferedReads, RunBounds, TxnRun, each_run, pair, relation, sc_equivalent,
};
use weakspot_core::{
    Drain, Limits, Model, Program, Silent, Transactions, Value, Verdict, certify, reference,
};
use weakspot_explore::{Algorithm, Decide, Strategy, outcomes, reach, robust, serializable};
use weakspot_lang::Format;

const MODELS: [(&str, Model); 3] =
    [("sc", Model::Sc), ("tso", Model::Tso), ("pso", Model::Pso(Drain::All))];

const WEAK: [(&str, Model); 3] =
    [("tso", Model::Tso), ("pso", Model::Pso(Drain::All)), ("pso-own", Model::Pso(Drain::Own))];

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the corpus is part of the project")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

fn parsed(path: &Path) -> weakspot_lang::Parsed {
    let bytes = std::fs::read(path).expect("a readable file");
    let format = Format::of_path(path).expect("a known ending");
    let text = Format::decode(Some(format), bytes).expect("text");
    weakspot_lang::parse(format, &text)
        .unwrap_or_else(|d| panic!("{}: {}", path.display(), d.message))
}

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: Some(8 << 30),
    buffer: 16,
    workers: 1,
    ..Limits::UNLIMITED
};

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// One word for everything that a program asks.
fn verdict(path: &Path, program: &Program, model: Model) -> &'static str {
    let answer = reach(program, model, Algorithm::Auto, &LIMITS, &mut Silent)
        .unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
    word(&answer.verdict)
}

/// A line per model on whether the program is robust. What the definition can decide it decides,
/// too; `decided` counts these.
fn robustness(path: &Path, program: &Program, decided: &mut usize) -> String {
    let models = WEAK.map(|(_, model)| model);
    let by_definition = reference::robust(program, &models, 20_000);
    *decided += usize::from(by_definition.is_some());
    let mut lines = String::new();
    for (i, (name, model)) in WEAK.into_iter().enumerate() {
        let answer = robust(program, model, Decide::Pending, &LIMITS, &mut Silent)
            .unwrap_or_else(|e| panic!("{} {name}: {e:?}", path.display()));
        if let Some(expected) = &by_definition {
            assert_eq!(answer.verdict == Verdict::Holds, expected[i], "{} {name}", path.display());
        }
        lines += &format!("robust {name} {}\n", word(&answer.verdict));
    }
    lines
}

/// A line per model on whether all executions are serializable, which the definition decides, too.
fn transactions(path: &Path, program: &Program, marks: &Transactions) -> String {
    let mut lines = String::new();
    let (exact, by_the_paper) = (BufferedReads::Exact, BufferedReads::Static);
    for (name, model, reads) in [
        ("sc", Model::Sc, exact),
        ("tso", Model::Tso, exact),
        ("tso static", Model::Tso, by_the_paper),
    ] {
        let answer = serializable(program, marks, (model, reads), &LIMITS, &mut Silent)
            .unwrap_or_else(|e| panic!("{} {name}: {e:?}", path.display()));
        certify::search_transactions(program, marks, (model, reads), &answer.verdict, 1_000_000)
            .unwrap_or_else(|e| panic!("{} {name}: {e}", path.display()));
        let line = format!("serial {name} {}\n", word(&answer.verdict));
        // The paper's reading is told only where it differs.
        let last = lines.lines().last().and_then(|line: &str| line.rsplit(' ').next());
        if reads == exact || last != Some(word(&answer.verdict)) {
            lines += &line;
        }
    }
    lines
}

/// What is known of all executions of the task pool, with and without fences.
#[test]
fn executions_of_the_task_pool() {
    let count = |file: &str, model: Model| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/programs");
        let parsed = parsed(&folder.join(file));
        let (mut cyclic, mut not_sc) = (0, 0);
        let bounds = RunBounds { steps: 1_000_000, depth: 100 };
        let mut each = |run: &TxnRun| {
            let has_cycle = run.cycle(relation(model, BufferedReads::Exact)).is_some();
            let equivalent =
                model == Model::Sc || sc_equivalent(&pair(&run.events).expect("an execution"));
            assert!(has_cycle != equivalent, "the same executions");
            cyclic += u64::from(has_cycle);
            not_sc += u64::from(!equivalent);
            true
        };
        let all = each_run(&parsed.program, &parsed.transactions, model, bounds, &mut each);
        (all, cyclic, not_sc)
    };
    assert_eq!(count("task-pool.weak", Model::Sc), (Some(68), 0, 0));
    assert_eq!(count("task-pool.weak", Model::Tso), (Some(29_072), 25_810, 25_810));
    assert_eq!(count("task-pool-fenced.weak", Model::Tso), (Some(1_272), 0, 0));
}

#[test]
fn programs() {
    let all = [("programs", "weak"), ("trencher", "txt"), ("memorax", "rmm"), ("c-programs", "c")];
    let (mut decided, mut transactional) = (0, 0);
    for path in all.iter().flat_map(|(folder, ending)| files(folder, ending)) {
        let parsed = parsed(&path);
        let program = parsed.program;
        let mut found: String = (MODELS.iter())
            .map(|(name, m)| format!("{name} {}\n", verdict(&path, &program, *m)))
            .collect();
        found += &robustness(&path, &program, &mut decided);
        if !parsed.transactions.is_empty() {
            found += &transactions(&path, &program, &parsed.transactions);
            transactional += 1;
        }
        expect_test::expect_file![path.with_extension("expected")].assert_eq(&found);
    }
    assert_eq!(transactional, 5);
    assert!(decided >= 4, "{decided} decided by definition");
}

/// The blocks that `weakspot litmus` prints, without the time.
#[test]
fn litmus_tests() {
    let mut paths = files("litmus", "litmus");
    assert!(paths.len() >= 250);
    paths.extend(files("litmus-c", "litmus"));
    let mut decided = 0;
    for path in paths {
        let parsed = parsed(&path);
        let limits =
            Limits { time: None, memory: None, buffer: 16, workers: 1, ..Limits::UNLIMITED };
        let mut found = String::new();
        for (name, model) in MODELS {
            let mut all = outcomes(&parsed.program, model, Strategy::Auto, &limits, &mut Silent)
                .unwrap_or_else(|f| panic!("{}: {f:?}", path.display()));
            assert_eq!(all.stopped, None, "{}", path.display());
            let judged = all
                .judge(&parsed.program, model)
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            // What is claimed to be complete is derived again, by definition.
            certify::search(&parsed.program, model, &judged.verdict, 2_000_000)
                .unwrap_or_else(|e| panic!("{} {name}: {e}", path.display()));
            let verdict = if judged.verdict == Verdict::Holds { "ok" } else { "no" };
            let (p, n) = (judged.positive, judged.negative);
            found += &format!("{name} {verdict} {p} {n}\n");
            all.set.for_each(|row| {
                let value = |v: Value| match parsed.program.loc_at(v) {
                    Some(loc) => parsed.names.loc(loc).to_owned(),
                    None => v.to_string(),
                };
                for (name, &v) in parsed.names.observed.iter().zip(row) {
                    found += &format!(" {name}={};", value(v));
                }
                found.push('\n');
                true
            });
        }
        found += &robustness(&path, &parsed.program, &mut decided);
        expect_test::expect_file![path.with_extension("expected")].assert_eq(&found);
    }
    assert!(decided >= 200, "{decided} decided by definition");
}
