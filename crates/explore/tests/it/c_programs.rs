//! Programs in C: those of `corpus/c` get the labels that were found by other means, random ones
//! the answers of the same program in our own language.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Drain, FenceCosts, Goal, Limits, Model, Program, Silent, Verdict};
use weakspot_explore::{
    Algorithm, Decide, FenceQuestion, NoAnswer, fences, misses_goal, reach, robust,
};
use weakspot_lang::patch::patches;
use weakspot_lang::{Format, parse};

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(20)),
    memory: Some(4 << 30),
    buffer: 16,
    workers: 1,
    ..Limits::UNLIMITED
};

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// `holds`, `fails` or `unknown`. A fault is how a program fails.
fn reached(program: &Program, model: Model) -> &'static str {
    match reach(program, model, Algorithm::Auto, &LIMITS, &mut Silent) {
        Ok(answer) => match answer.verdict {
            Verdict::Holds => "holds",
            Verdict::Violated => "fails",
            Verdict::Unknown(_) => "unknown",
        },
        Err(NoAnswer::Fault(_)) => "fails",
        Err(other) => panic!("{other:?}"),
    }
}

fn robustness(program: &Program, model: Model) -> &'static str {
    match robust(program, model, Decide::Pending, &LIMITS, &mut Silent) {
        Ok(answer) => match answer.verdict {
            Verdict::Holds => "yes",
            Verdict::Violated => "no",
            Verdict::Unknown(_) => "unknown",
        },
        Err(NoAnswer::Fault(_)) => "fault",
        Err(other) => panic!("{other:?}"),
    }
}

/// The labels of `corpus/c` are of other engines, and of a translation by hand.
#[test]
fn the_labels_of_the_corpus() {
    let table = std::fs::read_to_string(corpus().join("c/expected.tsv")).expect("a table");
    let (mut same, mut unknown, mut refused) = (0, 0, Vec::new());
    let mut wrong = String::new();
    for line in table.lines().filter(|l| !l.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, flags, sc, tso, pso, _, robust_tso, robust_pso, _, finding, ..] = cells[..]
        else {
            panic!("{line}");
        };
        // Deadlocks are no assertions, and these searches take minutes.
        if finding == "deadlock" || flags.contains("HARNESS=2") {
            continue;
        }
        let mut text = String::new();
        for flag in flags.split(' ').filter_map(|f| f.strip_prefix("-D")) {
            let (name, value) = flag.split_once('=').unwrap_or((flag, "1"));
            writeln!(text, "#define {name} {value}").expect("a string");
        }
        text += &std::fs::read_to_string(corpus().join("c").join(file)).expect("a program");
        let parsed = match parse(Format::C, &text) {
            Ok(parsed) => parsed,
            Err(diagnostic) => {
                refused.push(format!("{file} {flags}: {}", diagnostic.message));
                continue;
            }
        };
        let pso_model = Model::Pso(Drain::All);
        let answers = [
            ("sc", sc, reached(&parsed.program, Model::Sc)),
            ("tso", tso, reached(&parsed.program, Model::Tso)),
            ("pso", pso, reached(&parsed.program, pso_model)),
            ("robust tso", robust_tso, robustness(&parsed.program, Model::Tso)),
            ("robust pso", robust_pso, robustness(&parsed.program, pso_model)),
        ];
        for (question, expected, answer) in answers {
            match answer {
                "unknown" | "fault" => unknown += 1,
                _ if answer == expected => same += 1,
                _ => writeln!(wrong, "{file} {flags} {question}: {answer}, not {expected}")
                    .expect("a string"),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // One program crashes under SC, and has no answer about robustness.
    assert!(same >= 470 && unknown <= 2, "{same} same, {unknown} unknown");
    assert!(refused.len() <= 17, "{refused:#?}");
}

/// `weakspot fence` mends what is broken: the text with its fences is accepted and misses nothing.
#[test]
fn fences_in_the_text() {
    for name in ["dekker", "peterson-relaxed", "chase-lev", "spsc"] {
        let path = corpus().join(format!("c-programs/{name}.c"));
        let text = std::fs::read_to_string(path).expect("a program");
        let places = patches(Format::C, &text).unwrap_or_else(|d| panic!("{name}: {}", d.message));
        for (model, goal) in [
            (Model::Tso, Goal::Safe),
            (Model::Tso, Goal::Robust),
            (Model::Pso(Drain::All), Goal::Safe),
        ] {
            let costs = FenceCosts { full: 1, store_store: Some(1) };
            let question = FenceQuestion { model, goal, costs };
            let found = fences(&places.places, question, &LIMITS, &mut Silent)
                .unwrap_or_else(|e| panic!("{name}: {e:?}"));
            let chosen = found.fences.as_ref().unwrap_or_else(|| panic!("{name}: no fences"));
            // Both ends of the ring may see an old index, which does no harm.
            let none = name == "spsc" && goal == Goal::Safe;
            assert_eq!(chosen.is_empty(), none, "{name} {model:?} {goal:?}");
            let program = places.program(chosen).expect("a program");
            let (verdict, _) = misses_goal(&program, model, goal, &LIMITS, &mut Silent)
                .unwrap_or_else(|e| panic!("{name}: {e:?}"));
            assert_eq!(verdict, Verdict::Holds, "{name}:\n{}", places.patched(chosen));
        }
    }
}

/// One program in two languages.
#[derive(Default)]
struct Twin {
    c: String,
    weak: String,
}

impl Twin {
    fn both(&mut self, c: &str, weak: &str) {
        self.c += c;
        self.weak += weak;
    }
}

/// A few statements over the locals `a` and `b` and the shared `x`, `y` and `z[2]`.
fn statements(rng: &mut Rng, count: usize, depth: usize, twin: &mut Twin) {
    for _ in 0..count {
        let place = ["x", "y", "z[0]", "z[1]", "z[a & 1]"][rng.below(5)];
        let local = ["a", "b"][rng.below(2)];
        let n = rng.below(3);
        match rng.below(if depth > 0 { 11 } else { 8 }) {
            0 | 1 => twin.both(&format!("{place} = {n};\n"), &format!("{place} = {n}\n")),
            2 => twin.both(
                &format!("put(&{place}, {local} + 1);\n"),
                &format!("{place} = {local} + 1\n"),
            ),
            3 | 4 => {
                twin.both(&format!("{local} = {place};\n"), &format!("{local} = {place}\n"));
            }
            5 => {
                let (c, weak) = [
                    ("__sync_synchronize();\n", "fence\n"),
                    ("__atomic_thread_fence(__ATOMIC_RELEASE);\n", "fence.ss\n"),
                ][rng.below(2)];
                twin.both(c, weak);
            }
            6 => twin.both(
                &format!("{local} = __sync_fetch_and_add(&{place}, {n});\n"),
                &format!("{local} = fetch_add({place}, {n})\n"),
            ),
            7 => twin.both(
                &format!("{local} = __sync_bool_compare_and_swap(&{place}, {n}, 2);\n"),
                &format!("{local} = cas({place}, {n}, 2)\n"),
            ),
            8 => {
                twin.both(
                    &format!("if ({local} == {n} && {place}) {{\n"),
                    &format!("if ({local} == {n} && {place} != 0) {{\n"),
                );
                statements(rng, 1, depth - 1, twin);
                twin.both("} else {\n", "} else {\n");
                statements(rng, 1, depth - 1, twin);
                twin.both("}\n", "}\n");
            }
            9 => {
                twin.both("for (int i = 0; i < 2; i++) {\n", "i = 0\nwhile (i < 2) {\n");
                statements(rng, 1, 0, twin);
                twin.both("}\n", "i = i + 1\n}\n");
            }
            _ => twin.both(
                &format!("switch ({local}) {{ case 1: {place} = 1; break; case {}: break; default: {local}++; }}\n", 2 + n),
                &format!("if ({local} == 1) {{ {place} = 1 }} else if ({local} != {}) {{ {local} = {local} + 1 }}\n", 2 + n),
            ),
        }
    }
}

/// A program whose threads hand back their locals, with a question about them.
fn twin(rng: &mut Rng) -> Twin {
    let threads = 2 + rng.below(2);
    let passing = rng.one_in(3);
    let mut all = Twin {
        c: "#include <pthread.h>\n#include <assert.h>\nvolatile int x, y, z[2];\n\
            static inline void put(volatile int *p, int v) { *p = v; }\n"
            .to_owned(),
        weak: "shared x, y, z[2]\n".to_owned(),
    };
    for t in 0..threads {
        all.both(
            &format!("void *t{t}(void *arg) {{\nint a = 0, b = 0;\n"),
            &format!("thread t{t} {{\nvar a = 0, b = 0, i = 0\n"),
        );
        // Most threads have two accesses that may change places.
        let (p, q) = if t % 2 == 0 { ("x", "y") } else { ("y", "x") };
        let shape = match (passing, t % 2) {
            _ if rng.one_in(4) => String::new(),
            (true, 0) => "z[1] = 1; x = 1;\n".to_owned(),
            (true, _) => "a = x; b = z[1];\n".to_owned(),
            _ => format!("{p} = 1; a = {q};\n"),
        };
        all.both(&shape, &shape);
        let count = rng.below(if shape.is_empty() { 4 } else { 2 });
        statements(rng, count, 1, &mut all);
        all.both("return (void *)(long)(10 * a + b);\n}\n", "}\n");
    }
    all.c += "int main(void) {\n";
    for t in 0..threads {
        writeln!(all.c, "pthread_t h{t}; void *r{t};\npthread_create(&h{t}, 0, t{t}, 0);")
            .expect("a string");
    }
    let mut conditions = (Vec::new(), Vec::new());
    for t in 0..threads {
        writeln!(all.c, "pthread_join(h{t}, &r{t});").expect("a string");
        if threads == 2 || !rng.one_in(3) {
            let value = match rng.one_in(2) {
                true if passing && t % 2 == 1 => 10,
                true => 0,
                false => 10 * rng.below(2) + rng.below(2),
            };
            conditions.0.push(format!("(long)r{t} == {value}"));
            conditions.1.push(format!("t{t}.a * 10 + t{t}.b == {value}"));
        }
    }
    if conditions.0.is_empty() || rng.one_in(5) {
        let value = rng.below(3);
        conditions.0.push(format!("x != {value}"));
        conditions.1.push(format!("x != {value}"));
    }
    writeln!(all.c, "assert(!({}));\n}}", conditions.0.join(" && ")).expect("a string");
    writeln!(all.weak, "never ({})", conditions.1.join(" && ")).expect("a string");
    all
}

#[test]
fn the_same_as_in_our_own_language() {
    let mut counts = [[0; 2]; 5];
    for seed in 0..scaled(600) as u64 {
        let twin = twin(&mut Rng::new(seed));
        let c = parse(Format::C, &twin.c).unwrap_or_else(|d| panic!("{d:?}\n{}", twin.c)).program;
        let weak = parse(Format::Weak, &twin.weak);
        let weak = weak.unwrap_or_else(|d| panic!("{d:?}\n{}", twin.weak)).program;
        let models = [Model::Sc, Model::Tso, Model::Pso(Drain::All)];
        for (i, model) in models.into_iter().enumerate() {
            let (got, expected) = (reached(&c, model), reached(&weak, model));
            assert_eq!(got, expected, "{seed} {model:?}\n{}\n{}", twin.c, twin.weak);
            counts[i][usize::from(got == "holds")] += 1;
        }
        for (i, model) in models.into_iter().enumerate().skip(1) {
            let (got, expected) = (robustness(&c, model), robustness(&weak, model));
            assert_eq!(got, expected, "{seed} {model:?}\n{}\n{}", twin.c, twin.weak);
            counts[2 + i][usize::from(got == "yes")] += 1;
        }
    }
    // Both answers of each question, and answers that only some models have.
    assert!(counts.iter().flatten().all(|n| *n >= scaled(50)), "{counts:?}");
    let fails = [counts[0][0], counts[1][0], counts[2][0]];
    assert!(fails[0] + scaled(10) <= fails[1] && fails[1] + scaled(5) <= fails[2], "{counts:?}");
}
