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
    // How much of the line of a source was cut off on the left, and of what points at it below.
    let mut cut_off = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let (inner, end) = match line.strip_suffix('\n') {
            Some(inner) => (inner, "\n"),
            None => (line, ""),
        };
        // What stands around changes belongs to them.
        is_diff = inner.starts_with("--- ") || is_diff && inner.starts_with([' ', '+', '-', '@']);
        let pointed = marked_columns(lines.peek().copied().unwrap_or_default());
        let shifted = if cut_off > 0 { without_blanks(inner, cut_off) } else { None };
        cut_off = 0;
        let inner = shifted.as_deref().unwrap_or(inner);
        if !is_wide(inner, columns) || is_diff {
            out.push_str(inner);
        } else if let (Some(gutter), Some(pointed)) = (source_gutter(inner), pointed) {
            cut_off = push_around(&mut out, inner, gutter, pointed, columns);
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

/// Where the text begins in the line of a source, `12 | text`, in columns.
fn source_gutter(line: &str) -> Option<usize> {
    let (number, _) = line.split_once('|')?;
    let digits = uncoloured(number);
    let is_number = digits.trim().bytes().all(|c| c.is_ascii_digit()) && !digits.trim().is_empty();
    is_number.then(|| seen(number) + 2)
}

/// The columns that marks below a source take, from the first to behind the last.
fn marked_columns(line: &str) -> Option<(usize, usize)> {
    let plain = uncoloured(line);
    let (marks, _) = marked(&plain).or_else(|| {
        let marks = plain.trim_end();
        marks.ends_with('^').then_some((marks, ""))
    })?;
    let first = marks.find('^')?;
    plain.trim_start().starts_with('|').then(|| (width(&marks[..first]), width(marks)))
}

/// The line of a source with as much as fits around what is pointed at; how many columns are left out on the left.
fn push_around(
    out: &mut String,
    line: &str,
    gutter: usize,
    (from, to): (usize, usize),
    columns: usize,
) -> usize {
    const DOTS: &str = "...";
    let room = columns.saturating_sub(gutter + 2 * DOTS.len()).max(1);
    let wanted = (to - from).min(room);
    // A third of what is left stands before it.
    let start = match to <= columns.saturating_sub(DOTS.len()) {
        true => gutter,
        false => from.saturating_sub((room - wanted) / 3).max(gutter),
    };
    let left_out = start.saturating_sub(gutter);
    let (before, kept) = match left_out {
        0 => ("", columns - DOTS.len() - gutter),
        _ => (DOTS, room),
    };
    let rest = seen(line).saturating_sub(start + kept);
    out.push_str(&window(line, 0, gutter));
    out.push_str(before);
    out.push_str(&window(line, start, start + kept));
    out.push_str(if rest > 0 { DOTS } else { "" });
    left_out.saturating_sub(before.len())
}

/// What is seen of a line from a column to another, with its colours.
fn window(line: &str, from: usize, to: usize) -> String {
    let mut out = String::new();
    let (mut at, mut rest) = (0, line);
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\x1b' => rest.find('m').map_or(rest.len(), |end| end + 1),
            c => c.len_utf8(),
        };
        let (piece, after) = rest.split_at(taken);
        let wide = if c == '\x1b' { 0 } else { width(piece) };
        if c == '\x1b' && at < to || at >= from && at + wide <= to && wide > 0 {
            out.push_str(piece);
        }
        at += wide;
        rest = after;
    }
    out
}

/// What points at a source, so much further to the left.
fn without_blanks(line: &str, columns: usize) -> Option<String> {
    let bar = line.find('|')? + 1;
    let blanks = line[bar..].find(" ".repeat(columns).as_str())? + bar;
    Some(format!("{}{}", &line[..blanks], &line[blanks + columns..]))
}

fn uncoloured(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&rest[..at]);
        rest = rest[at..].find('m').map_or("", |end| &rest[at + end + 1..]);
    }
    out + rest
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
        // Of the line of a source stays what is pointed at.
        let source = "2 | one two three four five six seven eight nine ten eleven\n";
        let pointed = |blanks: usize| format!("{source}  | {}^^^^^ x\n", " ".repeat(blanks));
        check(&pointed(34), "2 | ...x seven eight nine ten eleven\n  |            ^^^^^ x\n");
        check(&pointed(8), "2 | one two three four five six seven...\n  |         ^^^^^ x\n");
        let coloured = pointed(34).replace('|', "\x1b[34m|\x1b[0m").replace('^', "\x1b[1m^\x1b[0m");
        assert_eq!(uncoloured(&fit_lines(&coloured, 40)), fit_lines(&pointed(34), 40));
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
