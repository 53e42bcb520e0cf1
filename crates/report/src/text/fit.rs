//! Text for a terminal whose width is known: no line is wider.

use std::borrow::Cow;

use super::table::width;

/// The text with lines that are too wide folded at blanks. Changes of a text (`+ ...`), pieces of a
/// source (`12 | ...`) and drawings stay as they are: they mean nothing in pieces, and drawings fit
/// already. A word that is too long stays whole: it may be a name to copy.
#[must_use]
pub fn fit_lines(text: &str, columns: usize) -> Cow<'_, str> {
    let columns = columns.max(40);
    if !text.lines().any(|line| is_wide(line, columns)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut is_diff = false;
    for line in text.split_inclusive('\n') {
        let (inner, end) = match line.strip_suffix('\n') {
            Some(inner) => (inner, "\n"),
            None => (line, ""),
        };
        // What stands around changes belongs to them.
        is_diff = inner.starts_with("--- ") || is_diff && inner.starts_with([' ', '+', '-', '@']);
        if !is_wide(inner, columns) || is_diff {
            out.push_str(inner);
        } else if let Some((marks, words)) = marked(inner) {
            fold_marked(&mut out, marks, words, columns);
        } else if inner.trim_start().starts_with("again by ") {
            // A command goes on behind a backslash when it is pasted.
            fold_line(&mut out, inner, columns - 2, " \\");
        } else if !is_fixed(inner) {
            fold_line(&mut out, inner, columns, "");
        } else {
            out.push_str(inner);
        }
        out.push_str(end);
    }
    out.into()
}

fn is_wide(line: &str, columns: usize) -> bool {
    // Nothing takes more columns than bytes.
    line.len() > columns && seen(line) > columns
}

/// The columns that a line takes, without its colours.
fn seen(line: &str) -> usize {
    let mut rest = line;
    let mut columns = 0;
    while let Some(at) = rest.find('\x1b') {
        columns += width(&rest[..at]);
        rest = rest[at..].find('m').map_or("", |end| &rest[at + end + 1..]);
    }
    columns + width(rest)
}

fn is_fixed(line: &str) -> bool {
    let source = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    // An answer about standard input begins with `- `.
    line.starts_with('+')
        || line.starts_with('-') && !line.starts_with("- ")
        || line.starts_with("@@")
        || source.trim_start().starts_with('|')
        || line.contains('│')
}

/// What points at a piece of a source, `  |    ^^^^ words`: the marks, and the words beside them.
fn marked(line: &str) -> Option<(&str, &str)> {
    let gutter = line.find('|')?;
    let first = line[gutter..].find('^')? + gutter;
    let is_marks = |text: &str| text.chars().all(|c| matches!(c, ' ' | '|'));
    // There may be several on one line.
    let words = first + line[first..].find(|c| !matches!(c, '^' | '-' | ' '))?;
    is_marks(&line[..first]).then(|| (line[..words].trim_end(), line[words..].trim()))
}

/// The words go below the marks.
fn fold_marked(out: &mut String, marks: &str, words: &str, columns: usize) {
    out.push_str(marks);
    let gutter = marks.find('|').map_or(0, |at| at + 1);
    let column = (marks.len() - marks.trim_start_matches([' ', '|']).len()).min(columns / 2);
    let start = format!("{}{}", &marks[..gutter], " ".repeat(column.saturating_sub(gutter)));
    let mut used = columns;
    for word in words.split(' ') {
        if used + 1 + seen(word) > columns {
            out.push('\n');
            out.push_str(&start);
            used = seen(&start);
        } else {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += seen(word);
    }
}

/// Each line but the last ends with `goes_on`.
fn fold_line(out: &mut String, line: &str, columns: usize, goes_on: &str) {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let indent = (blanks + 4).min(columns / 2);
    out.push_str(&line[..blanks]);
    let mut used = blanks;
    let mut is_first = true;
    for word in line[blanks..].split_inclusive(' ') {
        let taken = seen(word.trim_end());
        if used + taken > columns && !is_first {
            out.truncate(out.trim_end_matches(' ').len());
            out.push_str(goes_on);
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        }
        out.push_str(word);
        used += seen(word);
        is_first = false;
    }
    out.truncate(out.trim_end_matches(' ').len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded() {
        let check = |text: &str, expected: &str| assert_eq!(fit_lines(text, 40), expected);
        check("short\n", "short\n");
        let diff = "--- a.c\n+++ a.c\n context of a change that is wider than forty columns\n";
        check(diff, diff);
        check("", "");
        let words = "  one two three four five six seven eight nine ten eleven\nend";
        check(words, "  one two three four five six seven\n      eight nine ten eleven\nend");
        check(
            "  again by weakspot run --replay 9 a/long/folder\n",
            "  again by weakspot run --replay 9 \\\n      a/long/folder\n",
        );
        let coloured = "\x1b[31mone\x1b[0m two three four five six seven eight";
        check(coloured, coloured);
        let long = "x".repeat(50);
        check(&format!("see {long} there\n"), &format!("see\n    {long}\n    there\n"));
        check(
            "  |             ^^^^^^^^^^ this store is still in the buffer\n",
            "  |             ^^^^^^^^^^\n  |             this store is still in\n  |             the \
             buffer\n",
        );
        for fixed in ["+", "12 | ", "x │ ", "@@ -1 "] {
            let line = format!("{fixed}{}", "word ".repeat(20));
            check(&line, &line);
        }
    }

    /// Whatever the text, nothing is lost but blanks, and lines fit if their words do.
    #[test]
    fn nothing_is_lost() {
        let mut rng = weakspot_core::testing::Rng::new(1);
        for _ in 0..500 {
            let mut text = String::new();
            for _ in 0..rng.below(60) {
                text += &"ab€字".repeat(rng.below(4));
                text.push([' ', ' ', ' ', '\n'][rng.below(4)]);
            }
            let fitted = fit_lines(&text, 40);
            let words = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(words(&fitted), words(&text));
            assert!(fitted.lines().all(|line| seen(line.trim_end()) <= 40), "{text:?}");
        }
    }
}
