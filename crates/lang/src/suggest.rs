//! The known word that someone probably meant.

use crate::Diagnostic;

/// Adds "did you mean" to a diagnostic about `word` if one of `known` is a likely slip away.
pub(crate) fn did_you_mean<'a>(
    diagnostic: Diagnostic,
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    match nearest(word, known) {
        Some(best) => diagnostic.help(format!("did you mean `{best}`?")),
        None => diagnostic,
    }
}

/// The word of `known` that is nearest to `word`, if it is near: one slip in a short word, two in
/// a longer one. Words like `q0` and `$r` are never near to anything.
fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().collect();
    // Nobody mistypes forty letters, and the table below is quadratic.
    if word.len() < 3 || word.len() > 40 {
        return None;
    }
    let allowed = if word.len() < 5 { 1 } else { 2 };
    known
        .into_iter()
        .map(|k| (slips(&word, &k.chars().take(44).collect::<Vec<_>>()), k))
        .filter(|&(n, _)| n > 0 && n <= allowed)
        .min_by_key(|&(n, _)| n)
        .map(|(_, k)| k)
}

/// Edit distance with swaps of neighbours.
fn slips(a: &[char], b: &[char]) -> usize {
    let mut table = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in table.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in table[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = best;
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let known = ["read", "write", "mfence", "unlock"];
        assert_eq!(nearest("wrtie", known), Some("write"));
        assert_eq!(nearest("fence", known), Some("mfence"));
        assert_eq!(nearest("raed", known), Some("read"));
        assert_eq!(nearest("store", known), None);
        assert_eq!(nearest("$r", ["$s"]), None);
    }
}
