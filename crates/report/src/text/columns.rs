//! Tables of words and numbers. One that is too wide has its cells folded at blanks, in the columns that are widest;
//! nothing is cut.

use super::table::{fold, pad, width};

/// What tables may take where nobody knows how wide the terminal is.
pub(crate) const USUAL: usize = 80;

/// Lines of cells as columns, in at most so many columns if folding at blanks can do that. The cells from `right` on stand to
/// the right.
#[must_use]
pub fn table_text(lines: &[Vec<String>], right: usize, most: usize) -> String {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let of = |i: usize| lines.iter().filter_map(move |line| line.get(i));
    let word = |cell: &String| {
        let blanks = cell.len() - cell.trim_start_matches(' ').len();
        blanks + cell.split(' ').map(width).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> =
        (0..count).map(|i| of(i).map(|cell| width(cell)).max().unwrap_or(0)).collect();
    let least: Vec<usize> = (0..count).map(|i| of(i).map(word).max().unwrap_or(0)).collect();
    let gaps = 2 * count.saturating_sub(1);
    let is_possible = least.iter().sum::<usize>() + gaps <= most;
    while is_possible && widths.iter().sum::<usize>() + gaps > most {
        let can = (0..count).filter(|&i| widths[i] > least[i]);
        let Some(widest) = can.max_by_key(|&i| widths[i]) else { break };
        widths[widest] -= 1;
    }
    let folded = |line: &Vec<String>| -> Vec<Vec<String>> {
        line.iter().zip(&widths).map(|(cell, &wide)| indented(cell, wide)).collect()
    };
    let lines: Vec<Vec<Vec<String>>> = lines.iter().map(folded).collect();
    // Lines that were folded may be shorter than there was room for.
    let taken = |i: usize| {
        lines.iter().filter_map(|line| line.get(i)).flatten().map(|part| width(part)).max()
    };
    let widths: Vec<usize> = (0..count).map(|i| taken(i).unwrap_or(0)).collect();
    let mut out = String::new();
    for cells in lines {
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let mut text = String::new();
            for (i, (cell, &wide)) in cells.iter().zip(&widths).enumerate() {
                let part = cell.get(at).map_or("", String::as_str);
                text.push_str(if i == 0 { "" } else { "  " });
                match i < right {
                    true => text += &pad(part, wide),
                    false => text += &(" ".repeat(wide.saturating_sub(width(part))) + part),
                }
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
    }
    out
}

/// A cell in lines that have the blanks of its first one.
fn indented(cell: &str, columns: usize) -> Vec<String> {
    let inner = cell.trim_start_matches(' ');
    let blanks = &cell[..cell.len() - inner.len()];
    let lines = fold(inner, columns.saturating_sub(blanks.len()).max(1));
    lines.into_iter().map(|line| format!("{blanks}{line}")).collect()
}

/// Lines of a name and cells, all to the left. If they are too wide, the name has a line of its own.
pub(crate) fn named(lines: &[(String, Vec<String>)], most: usize) -> String {
    let count = lines.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let widest = |i: usize| {
        lines.iter().filter_map(|(_, cells)| cells.get(i)).map(|c| width(c)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let name_width = lines.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let is_wide = 2 + name_width + widths.iter().map(|wide| wide + 2).sum::<usize>() > most;
    let mut out = String::new();
    for (name, cells) in lines {
        let cells: Vec<String> = cells.iter().zip(&widths).map(|(c, &wide)| pad(c, wide)).collect();
        let cells = cells.join("  ");
        match is_wide {
            true => out += &format!("  {name}\n      {}\n", cells.trim_end()),
            false => out += &format!("  {}  {}\n", pad(name, name_width), cells.trim_end()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn line(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|&cell| cell.to_owned()).collect()
    }

    #[test]
    fn folded() {
        let lines = [
            line(&["name", "what it is", "first number"]),
            line(&["a", "some words that are many", "1"]),
            line(&["b-c", "words", "23"]),
        ];
        expect![[r#"
            name  what it is                first number
            a     some words that are many             1
            b-c   words                               23
        "#]]
        .assert_eq(&table_text(&lines, 2, 60));
        expect![[r#"
            name  what it is   first
                              number
            a     some words       1
                  that are
                  many
            b-c   words           23
        "#]]
        .assert_eq(&table_text(&lines, 2, 30));
    }

    #[test]
    fn names_have_lines_of_their_own() {
        let lines = [
            ("MP".to_owned(), line(&["SC Never 3", "TSO Never 3"])),
            ("locations".to_owned(), line(&["SC Always 10", "TSO Sometimes 12"])),
        ];
        assert_eq!(
            named(&lines, 45),
            "  MP         SC Never 3    TSO Never 3\n  locations  SC Always 10  TSO Sometimes 12\n"
        );
        assert_eq!(
            named(&lines, 40),
            "  MP\n      SC Never 3    TSO Never 3\n  locations\n      SC Always 10  TSO Sometimes 12\n"
        );
    }

    /// Whatever the cells, no word is lost, and lines fit if their longest words do.
    #[test]
    fn nothing_is_lost() {
        let mut rng = weakspot_core::testing::Rng::new(3);
        for _ in 0..500 {
            let count = 1 + rng.below(4);
            let mut cell = || {
                let words: Vec<String> =
                    (0..rng.below(8)).map(|_| "ab€字".repeat(1 + rng.below(2))).collect();
                words.join(" ")
            };
            let lines: Vec<Vec<String>> =
                (0..4).map(|_| (0..count).map(|_| cell()).collect()).collect();
            let text = table_text(&lines, 1, 60);
            let words = |text: &str| text.split_whitespace().count();
            assert_eq!(words(&text), lines.iter().flatten().map(|c| words(c)).sum::<usize>());
            assert!(text.lines().all(|line| width(line) <= 60), "{text}");
        }
    }
}
