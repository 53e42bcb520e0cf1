//! Fences in the texts of the corpus: what a place in a text means, and how many are needed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weakspot_core::testing::scaled;
use weakspot_core::{
    Drain, Fence, FenceCosts, Goal, Limits, Model, PlacedFence, Program, Silent, Verdict,
    same_program,
};
use weakspot_explore::{FenceQuestion, fenced, fences, misses_goal};
use weakspot_lang::Format;
use weakspot_lang::patch::{has_fence, patches};

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: Some(4 << 30),
    buffer: 16,
    workers: 1,
    ..Limits::UNLIMITED
};

fn corpus() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths = Vec::new();
    for folder in ["litmus", "litmus-c", "programs", "trencher", "memorax", "c-programs"] {
        for entry in std::fs::read_dir(corpus.join(folder)).expect("a part of the project") {
            let path = entry.expect("a readable folder").path();
            if Format::of_path(&path).is_some() {
                paths.push(path);
            }
        }
    }
    paths.sort();
    assert!(paths.len() > 250);
    paths
}

fn read(path: &Path) -> (Format, String) {
    let format = Format::of_path(path).expect("a known ending");
    let bytes = std::fs::read(path).expect("a readable file");
    (format, Format::decode(Some(format), bytes).expect("a text"))
}

/// The text with a fence in a place compiles to the program with a fence in that place.
#[test]
fn a_place_in_the_text_is_that_place_in_the_program() {
    let mut places = 0;
    for (i, path) in corpus().into_iter().enumerate() {
        let (format, text) = read(&path);
        let found = match patches(format, &text) {
            Ok(found) => found,
            // Rows that share a line leave no room; nothing is claimed about such a test.
            Err(refused) => {
                assert!(
                    path.ends_with("one-line.litmus"),
                    "{}: {}",
                    path.display(),
                    refused.message
                );
                continue;
            }
        };
        assert_eq!(found.patched(&[]), text);
        let original = weakspot_lang::parse(format, &text).expect("a shipped program").program;
        let name = path.display();
        assert!(same_program(&original, &fenced(&found.places, &[])), "{name} without fences");
        assert!(same_program(&original, &found.places.program), "{name} with places");
        // Every third place, unless there is time for all.
        let every = if scaled(100) < 25 { 3 } else { 1 };
        for (place, edges) in found.places.places.iter().enumerate().skip(i % every).step_by(every)
        {
            places += every * usize::from(!edges.is_empty());
            for kind in [Fence::Full, Fence::StoreStore] {
                let fence = [PlacedFence { place, kind }];
                if has_fence(format, kind) && !edges.is_empty() {
                    let patched = found.program(&fence);
                    let patched = patched.unwrap_or_else(|d| panic!("{name}: {}", d.message));
                    let site = found.sites[place].after.line_column(&text);
                    let same = same_program(&patched, &fenced(&found.places, &fence));
                    assert!(same, "{name}: a fence after {site:?}\n{}", found.patched(&fence));
                }
            }
        }
    }
    assert!(places > 1_000, "{places}");
}

/// A label first in an alternative is entered by a step that does nothing, which a fence in front of it
/// replaces. That step does not make another program of it, unless somebody asks about the label.
#[test]
fn labels_in_alternatives() {
    let text = |asked: &str| {
        format!(
            "shared x, y
             thread p {{ var r; x = 1; choose {{ l: r = y }} or {{ r = y }} }}
             thread q {{ var s; y = 1; choose {{ m: s = x }} or {{ s = x }} }}
             {asked}"
        )
    };
    for asked in ["", "never at (p.l, q.m)"] {
        let text = text(asked);
        let found = patches(Format::Weak, &text).unwrap_or_else(|d| panic!("{}", d.message));
        let original = weakspot_lang::parse(Format::Weak, &text).expect("a good program").program;
        assert!(same_program(&original, &fenced(&found.places, &[])), "{asked}");
        assert!(same_program(&original, &found.places.program), "{asked}");
        for place in 0..found.places.places.len() {
            let fence = [PlacedFence { place, kind: Fence::Full }];
            let patched = found.program(&fence).expect("a program with a fence");
            assert!(same_program(&patched, &fenced(&found.places, &fence)), "{asked} {place}");
            assert!(!same_program(&patched, &original), "{asked} {place}");
        }
    }
    let found = patches(Format::Weak, &text("")).unwrap_or_else(|d| panic!("{}", d.message));
    let asked = question(Model::Tso, Goal::Robust, Format::Weak);
    let answer = fences(&found.places, asked, &LIMITS, &mut Silent).expect("an answer");
    assert!(answer.optimal && answer.fences.as_ref().is_some_and(|f| f.len() == 2));
}

fn question(model: Model, goal: Goal, format: Format) -> FenceQuestion {
    let store_store = has_fence(format, Fence::StoreStore).then_some(1);
    FenceQuestion { model, goal, costs: FenceCosts { full: 1, store_store } }
}

/// The number of fences of a text, by the word for them.
fn fences_in(text: &str) -> usize {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.filter(|line| line.split([' ', ';']).any(|w| w == "fence" || w == "fence.ss")).count()
}

/// What the project's own fenced programs have is never beaten by more.
#[test]
fn no_more_fences_than_by_hand() {
    let mut compared = 0;
    for path in corpus() {
        let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        let by_hand = path.with_file_name(format!("{name}-fenced.weak"));
        if path.extension().is_none_or(|e| e != "weak") || !by_hand.exists() {
            continue;
        }
        let (format, text) = read(&path);
        let (_, fenced_text) = read(&by_hand);
        let most = fences_in(&fenced_text) - fences_in(&text);
        let found = patches(format, &text).expect("a shipped program");
        let by_hand = weakspot_lang::parse(format, &fenced_text).expect("a shipped program");
        for model in [Model::Tso, Model::Pso(Drain::All)] {
            for goal in [Goal::Robust, Goal::Safe] {
                let reached = |program: &Program| {
                    let answer = misses_goal(program, model, goal, &LIMITS, &mut Silent);
                    answer.map(|(verdict, _)| verdict == Verdict::Holds).expect("an answer")
                };
                let asked = question(model, goal, format);
                let answer = fences(&found.places, asked, &LIMITS, &mut Silent);
                let answer = answer.unwrap_or_else(|e| panic!("{name}: {e:?}"));
                assert!(answer.optimal, "{name} {model} {goal:?}: {:?}", answer.limit);
                let chosen =
                    answer.fences.clone().unwrap_or_else(|| panic!("{name} {model} {goal:?}"));
                let patched = found.program(&chosen).expect("a program with fences");
                assert!(reached(&patched), "{name} {model} {goal:?}: {chosen:?}");
                if reached(&by_hand.program) {
                    assert!(chosen.len() <= most, "{name} {model} {goal:?}: {chosen:?}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

/// Litmus tests in C and for RISC-V that are not robust get fences that make them so, written as they write fences.
#[test]
fn litmus_tests_of_other_languages_become_robust() {
    let mut written: Vec<String> = Vec::new();
    for path in corpus() {
        let name = path.display();
        let (format, text) = read(&path);
        if format != Format::Litmus || !(text.starts_with("C ") || text.starts_with("RISCV ")) {
            continue;
        }
        let found = patches(format, &text).expect("a shipped test");
        for model in [Model::Tso, Model::Pso(Drain::All)] {
            let asked = question(model, Goal::Robust, format);
            let answer = fences(&found.places, asked, &LIMITS, &mut Silent).expect("an answer");
            let chosen =
                answer.fences.clone().unwrap_or_else(|| panic!("{name} {model}: no fences help"));
            let patched = found.program(&chosen).expect("a test with fences");
            let after = misses_goal(&patched, model, Goal::Robust, &LIMITS, &mut Silent);
            assert_eq!(after.map(|(verdict, _)| verdict).ok(), Some(Verdict::Holds), "{name}");
            let fenced = found.patched(&chosen);
            assert_eq!(chosen.is_empty(), fenced == text, "{name}");
            let words = ["smp_mb()", "smp_wmb()", "seq_cst);", "rw,rw", "w,w"];
            let added = |word: &&str| fenced.matches(*word).count() > text.matches(*word).count();
            written.extend(words.into_iter().filter(added).map(str::to_owned));
        }
    }
    written.sort();
    written.dedup();
    assert_eq!(written, ["rw,rw", "seq_cst);", "smp_mb()", "smp_wmb()", "w,w"]);
}
