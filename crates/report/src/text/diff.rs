//! What changed in a text, as a unified diff that `patch` understands.

use std::fmt::Write;

use crate::text::show::plain;

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;
/// How far ahead a line that both texts have is looked for.
const LOOK_AHEAD: usize = 1000;

/// The changes from `old` to `new`; empty if there are none. Texts with few changes are compared
/// in linear time.
#[must_use]
pub fn unified_diff(file: &str, old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let changes = changes(&old, &new);
    let mut out = String::new();
    if changes.is_empty() {
        return out;
    }
    let file = plain(file);
    // `patch` takes a name with blanks for longer only if a tab ends it.
    let end = if file.contains(char::is_whitespace) { "\t" } else { "" };
    let _ = writeln!(out, "--- {file}{end}\n+++ {file}{end}");
    let mut rest = &changes[..];
    while let Some(first) = rest.first() {
        // Changes whose contexts touch are shown together.
        let together =
            rest.windows(2).take_while(|pair| pair[1].old.0 <= pair[0].old.1 + 2 * CONTEXT).count();
        let (hunk, later) = rest.split_at(together + 1);
        rest = later;
        let before = first.old.0.min(CONTEXT);
        let last = &hunk[together];
        let after = (old.len() - last.old.1).min(CONTEXT);
        let range = |start: usize, end: usize| match end - start {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            n => format!("{},{n}", start + 1),
        };
        let olds = range(first.old.0 - before, last.old.1 + after);
        let news = range(first.new.0 - before, last.new.1 + after);
        let _ = writeln!(out, "@@ -{olds} +{news} @@");
        let mut at = first.old.0 - before;
        for change in hunk {
            lines(&mut out, ' ', &old[at..change.old.0]);
            lines(&mut out, '-', &old[change.old.0..change.old.1]);
            lines(&mut out, '+', &new[change.new.0..change.new.1]);
            at = change.old.1;
        }
        lines(&mut out, ' ', &old[at..at + after]);
    }
    out
}

fn lines(out: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        let text = line.trim_end_matches(['\n', '\r']).split('\t').map(plain);
        let text: Vec<_> = text.collect();
        let _ = writeln!(out, "{mark}{}", text.join("\t"));
        if !line.ends_with('\n') {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}

/// Lines of the old text and the lines that take their place.
struct Change {
    old: (usize, usize),
    new: (usize, usize),
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let mut changes = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        // The nearest pair of equal lines, inserted lines first.
        let meet = (1..LOOK_AHEAD).find_map(|sum| {
            (0..=sum).map(|gone| (i + gone, j + sum - gone)).find(|&(a, b)| {
                match (old.get(a), new.get(b)) {
                    (Some(a), Some(b)) => a == b,
                    (None, None) => true,
                    _ => false,
                }
            })
        });
        let (a, b) = meet.unwrap_or((old.len(), new.len()));
        changes.push(Change { old: (i, a), new: (j, b) });
        (i, j) = (a, b);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(old: &str, new: &str, expected: Expect) {
        expected.assert_eq(&unified_diff("f", old, new));
    }

    #[test]
    fn names_with_blanks_end_in_a_tab() {
        let diff = unified_diff("x y.c", "a\n", "b\n");
        assert!(diff.starts_with("--- x y.c\t\n+++ x y.c\t\n@@"), "{diff}");
    }

    #[test]
    fn nothing_changed() {
        check("a\nb\n", "a\nb\n", expect![""]);
    }

    #[test]
    fn inserted_and_changed_lines() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n",
            "1\n2\n3\n4\nnew\n5\n6\n7\n8\n9\n10\n11\n12\nx13\n14\n",
            expect![[r#"
                --- f
                +++ f
                @@ -2,6 +2,7 @@
                 2
                 3
                 4
                +new
                 5
                 6
                 7
                @@ -10,5 +11,5 @@
                 10
                 11
                 12
                -13
                +x13
                 14
            "#]],
        );
    }

    #[test]
    fn the_ends_of_a_text() {
        check(
            "a",
            "new\na",
            expect![[r#"
                --- f
                +++ f
                @@ -1 +1,2 @@
                +new
                 a
                \ No newline at end of file
            "#]],
        );
        check(
            "",
            "a\n",
            expect![[r#"
                --- f
                +++ f
                @@ -0,0 +1 @@
                +a
            "#]],
        );
    }
}
