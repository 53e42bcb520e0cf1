//! What does not count for the exit code: advice, and pairs that the user accepts.

use crate::text::table::{Style, paragraph};

/// What stands before answers that do not count.
const ADVICE: &str = "on weaker machines, or unnoticed by these tests: does not count for the exit \
                      code (--robust and --model pso make it count)";

/// What stands before answers that do not count, on lines of its own.
#[must_use]
pub fn advisory_text(style: Style) -> String {
    format!("\n{}", paragraph(ADVICE, style.columns(), 0))
}

/// How many pairs of places are accepted, of each once, and why: by the `baseline`, or because a comment calls
/// them `benign`.
pub fn accepted_text<'a>(accepted: impl Iterator<Item = (&'a [String; 2], &'a str)>) -> String {
    let mut known: Vec<(&[String; 2], &str)> = Vec::new();
    for (places, why) in accepted {
        if known.iter().all(|(other, _)| *other != places) {
            known.push((places, why));
        }
    }
    let mut out = String::new();
    for (why, text) in [("baseline", "the baseline"), ("benign", "comments")] {
        let number = known.iter().filter(|(_, w)| *w == why).count();
        if number > 0 {
            let pairs = if number == 1 { "pair" } else { "pairs" };
            out += &format!("accepted by {text}: {number} {pairs}\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::accepted_text;

    #[test]
    fn pairs_of_places_are_counted_once() {
        let pair = |store: &str, access: &str| [store.to_owned(), access.to_owned()];
        let pairs =
            [pair("a:1", "a:2"), pair("a:1", "a:3"), pair("b:1", "a:2"), pair("a:1", "a:2")];
        let why = ["baseline", "baseline", "benign", "baseline"];
        assert_eq!(
            accepted_text(pairs.iter().zip(why)),
            "accepted by the baseline: 2 pairs\naccepted by comments: 1 pair\n"
        );
    }
}
