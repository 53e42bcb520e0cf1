//! Fences in the texts of the corpus: what a place in a text means, and how many are needed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weakspot_core::{
    Drain, Fence, FenceCosts, Goal, Limits, Model, PlacedFence, Silent, Verdict, same_program,
};
use weakspot_explore::{FenceQuestion, fenced, fences, misses_goal};
use weakspot_lang::Format;
use weakspot_lang::patch::{has_fence, patches};

const LIMITS: Limits =
    Limits { time: Some(Duration::from_secs(60)), memory: Some(4 << 30), buffer: 16, workers: 1 };

fn corpus() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths = Vec::new();
    for folder in ["litmus", "programs", "trencher", "memorax"] {
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
    let text = std::fs::read_to_string(path).expect("a readable file");
    (Format::of_path(path).expect("a known ending"), text)
}

/// The text with a fence in a place compiles to the program with a fence in that place.
#[test]
fn a_place_in_the_text_is_that_place_in_the_program() {
    let mut places = 0;
    for path in corpus() {
        let (format, text) = read(&path);
        let found = patches(format, &text).expect("a shipped program");
        assert_eq!(found.patched(&[]), text);
        let original = weakspot_lang::parse(format, &text).expect("a shipped program").program;
        let name = path.display();
        assert!(same_program(&original, &fenced(&found.places, &[])), "{name} without fences");
        for (place, edges) in found.places.places.iter().enumerate() {
            places += usize::from(!edges.is_empty());
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
