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

/// The first of the words of `known` that are nearest to `word`, if that is near: one slip in a
/// short word, two in a longer one. Case does not count. Words like `q0` and `$r` are never near
/// to anything.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = lower(word);
    let allowed = match letters.len() {
        // Nobody mistypes forty letters, and the table of slips is quadratic.
        0..3 | 41.. => return None,
        3..5 => 1,
        _ => 2,
    };
    known
        .into_iter()
        .filter(|&k| k != word)
        .map(|k| (slips(&letters, &lower(k)), k))
        .filter(|&(n, _)| n <= allowed)
        .min_by_key(|&(n, _)| n)
        .map(|(_, k)| k)
}

/// The letters of a word, as many as matter.
fn lower(word: &str) -> Vec<char> {
    word.chars().take(44).map(|c| c.to_ascii_lowercase()).collect()
}

/// How many insertions, deletions, replacements and swaps of neighbours lead from one word to the
/// other.
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

    fn check(word: &str, known: &[&str], expected: Option<&str>) {
        assert_eq!(nearest(word, known.iter().copied()), expected, "{word}");
    }

    #[test]
    fn slips_are_found() {
        let known = ["read", "write", "mfence", "unlock", "mov", "cmpxchg", "flag", "EAX"];
        check("wrtie", &known, Some("write"));
        check("fence", &known, Some("mfence"));
        check("MFENSE", &known, Some("mfence"));
        check("raed", &known, Some("read"));
        check("mvo", &known, Some("mov"));
        check("cmpxhcg", &known, Some("cmpxchg"));
        check("flg", &known, Some("flag"));
        check("Flag", &known, Some("flag"));
        check("eaz", &known, Some("EAX"));
        check("thraed", &["thead", "thread"], Some("thread"));
        check("reas", &["read", "real"], Some("read"));
    }

    #[test]
    fn other_words_are_not_near() {
        let known = ["read", "write", "x", "y", "$s", "q1"];
        check("", &known, None);
        check("x", &known, None);
        check("z", &known, None);
        check("$r", &known, None);
        check("q0", &known, None);
        check("store", &known, None);
        check("read", &known, None);
        check(&"read".repeat(20), &known, None);
    }
}
