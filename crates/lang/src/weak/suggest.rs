//! "did you mean": the known word nearest to an unknown one.

/// A hint that names the candidate nearest to `word`, if one is near enough to be a slip.
pub(super) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let limit = match word.chars().count() {
        0 | 1 => return None,
        2..=4 => 1,
        _ => 2,
    };
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|&(d, _)| d <= limit)
        .min_by_key(|&(d, _)| d)
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// How many insertions, deletions, replacements and swaps of neighbours lead from one word to
/// the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().flat_map(char::to_lowercase).take(64).collect();
    let to: Vec<char> = to.chars().flat_map(char::to_lowercase).take(64).collect();
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut row = vec![i + 1];
        for j in 0..to.len() {
            let replaced = last[j] + usize::from(from[i] != to[j]);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j] {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    fn check(word: &str, candidates: &[&str], expected: Option<&str>) {
        let expected = expected.map(|e| format!("did you mean `{e}`?"));
        assert_eq!(did_you_mean(word, candidates.iter().copied()), expected, "{word}");
    }

    #[test]
    fn only_slips_are_corrected() {
        check("flg", &["turn", "flag"], Some("flag"));
        check("fense", &["fence", "else"], Some("fence"));
        check("thraed", &["thread"], Some("thread"));
        check("Flag", &["flag"], Some("flag"));
        check("x", &["y"], None);
        check("queue", &["stack"], None);
    }
}
