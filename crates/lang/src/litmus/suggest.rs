//! "Did you mean": the nearest of some known words.

/// The candidate nearest to `word`, if it is near enough to be a slip of the pen. Case does not
/// count.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(32).map(|c| c.to_ascii_lowercase()).collect();
    let limit = match word.len() {
        0 => return None,
        1..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .map(|c| {
            (distance(&word, &c.chars().map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>()), c)
        })
        .filter(|(d, c)| *d <= limit && *d < c.chars().count().max(2))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Edits, where swapping two neighbours is one edit.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut table = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = usize::from(a[i - 1] != b[j - 1]);
                let mut best = (table[(i - 1) * width + j] + 1)
                    .min(table[i * width + j - 1] + 1)
                    .min(table[(i - 1) * width + j - 1] + change);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(table[(i - 2) * width + j - 2] + 1);
                }
                best
            };
        }
    }
    table[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips() {
        let known = ["mov", "mfence", "xchg", "cmpxchg"];
        assert_eq!(nearest("mvo", known), Some("mov"));
        assert_eq!(nearest("MFENSE", known), Some("mfence"));
        assert_eq!(nearest("xhcg", known), Some("xchg"));
        assert_eq!(nearest("frobnicate", known), None);
        assert_eq!(nearest("", known), None);
    }
}
