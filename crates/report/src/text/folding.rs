//! Drawings of long runs: rows that matter, their neighbours, and the others folded to a line.

use std::collections::{BTreeMap, BTreeSet};

use super::show::counted;
use super::table::{ACROSS, Row};

/// Drawings with fewer rows stay as they are.
const MAX_ROWS: usize = 30;
/// A run in which nothing stands out is drawn with so many rows at its beginning, and at its end.
const ENDS: usize = 8;
/// Of more rows that matter, those in the middle are folded, too.
const MAX_KEPT: usize = 40;
/// Of so many rows that matter, neighbours are drawn, too.
const MOST_ALONE: usize = 12;
/// Shorter stretches are not folded.
const MIN_FOLD: usize = 3;
/// If more threads take part in a stretch, they are only counted.
const MAX_THREADS: usize = 3;

/// The rows with long stretches of those that do not matter folded: `... 38 steps of T2 ...`. What
/// these changed in memory stands beside. `threads` are the names of the columns.
pub(crate) fn folded(rows: Vec<Row>, threads: &[String], matters: &[bool]) -> Vec<Row> {
    if rows.iter().filter(|row| row.column != ACROSS).count() <= MAX_ROWS {
        return rows;
    }
    let kept = kept(rows.len(), matters);
    let mut out = Vec::new();
    let mut stretch: Vec<Row> = Vec::new();
    for (i, row) in rows.into_iter().enumerate() {
        if !kept.contains(&i) {
            stretch.push(row);
            continue;
        }
        push(&mut out, std::mem::take(&mut stretch), threads);
        out.push(row);
    }
    push(&mut out, stretch, threads);
    out
}

/// The rows with a statement of several steps at the first of them, and where something stands out.
pub(crate) fn without_repeated(mut rows: Vec<Row>) -> Vec<Row> {
    let mut shown: BTreeMap<usize, (Option<String>, Option<String>)> = BTreeMap::new();
    for row in rows.iter_mut().filter(|row| row.source.is_some()) {
        let statement = (row.site.clone(), row.source.clone());
        let before = shown.insert(row.column, statement.clone());
        if before == Some(statement) && !row.marked {
            row.source = None;
        }
    }
    rows
}

/// The rows and the names of their columns without the columns that have no row any more.
pub(crate) fn narrowed(mut rows: Vec<Row>, threads: Vec<String>) -> (Vec<Row>, Vec<String>) {
    let used: BTreeSet<usize> =
        rows.iter().map(|row| row.column).filter(|&column| column != ACROSS).collect();
    for row in rows.iter_mut().filter(|row| row.column != ACROSS) {
        row.column = used.range(..row.column).count();
    }
    let is_used = |(i, name)| used.contains(&i).then_some(name);
    (rows, threads.into_iter().enumerate().filter_map(is_used).collect())
}

/// The rows that are drawn: those that matter, if they are few each with the one before and the one after it, and
/// the end.
pub(crate) fn kept(rows: usize, matters: &[bool]) -> BTreeSet<usize> {
    let all: Vec<usize> = (0..rows).filter(|&i| matters.get(i) == Some(&true)).collect();
    let (first, last) = all.split_at(all.len().min(MAX_KEPT / 2));
    let last = &last[last.len().saturating_sub(MAX_KEPT / 2)..];
    let mut kept = BTreeSet::new();
    // A few are easier to understand with what is around them.
    let around = usize::from(all.len() <= MOST_ALONE);
    for &i in first.iter().chain(last) {
        kept.extend(i.saturating_sub(around)..(i + 1 + around).min(rows));
    }
    let end = if kept.is_empty() { ENDS } else { 1 };
    if kept.is_empty() {
        kept.extend(0..ENDS.min(rows));
    }
    kept.extend(rows.saturating_sub(end)..rows);
    kept
}

/// What stands where steps between two with these numbers are not drawn; nothing if there are none.
pub(crate) fn left_out(last: u64, next: u64, what: &str) -> Option<Row> {
    let between = next.checked_sub(last + 1).filter(|&between| between > 0)?;
    let head = format!("... {} ...", counted(between, what));
    let (body, memory) = (Vec::new(), String::new());
    Some(Row { column: ACROSS, head, site: None, source: None, body, memory, marked: false })
}

fn push(out: &mut Vec<Row>, stretch: Vec<Row>, threads: &[String]) {
    if stretch.iter().filter(|row| row.column != ACROSS).count() < MIN_FOLD {
        out.extend(stretch);
        return;
    }
    let mut counts: Vec<(usize, u64)> = Vec::new();
    let mut memory: Vec<(&str, &str)> = Vec::new();
    // Those that were left out before are not counted again.
    for row in stretch.iter().filter(|row| row.column != ACROSS) {
        match counts.iter_mut().find(|(column, _)| *column == row.column) {
            Some((_, count)) => *count += 1,
            None => counts.push((row.column, 1)),
        }
        let location = row.memory.split('=').next().unwrap_or_default();
        memory.retain(|(known, _)| *known != location);
        memory.extend((!row.memory.is_empty()).then_some((location, row.memory.as_str())));
    }
    counts.sort_unstable();
    let name = |column: usize| threads.get(column).map_or("", String::as_str);
    let all = counted(counts.iter().map(|(_, count)| count).sum(), "step");
    let of = match counts.as_slice() {
        [(column, _)] => format!("{all} of {}", name(*column)),
        several if several.len() > MAX_THREADS => format!("{all} of {} threads", several.len()),
        [(column, count), rest @ ..] => {
            let rest = rest.iter().map(|(column, n)| format!(", {n} of {}", name(*column)));
            format!("{} of {}{}", counted(*count, "step"), name(*column), rest.collect::<String>())
        }
        [] => all,
    };
    let memory: Vec<&str> = memory.into_iter().map(|(_, change)| change).collect();
    out.push(Row {
        column: ACROSS,
        head: format!("... {of} ..."),
        site: None,
        source: None,
        body: Vec::new(),
        memory: memory.join(" "),
        marked: false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(column: usize, memory: &str) -> Row {
        let (head, memory) = ("step".to_owned(), memory.to_owned());
        Row { column, head, site: None, source: None, body: Vec::new(), memory, marked: false }
    }

    fn lines(rows: &[Row]) -> Vec<(usize, &str, &str)> {
        rows.iter().map(|row| (row.column, &row.head[..], &row.memory[..])).collect()
    }

    #[test]
    fn long_stretches() {
        let threads = ["T1", "T2"].map(str::to_owned);
        let rows: Vec<Row> = (0..40).map(|i| row(usize::from(i > 20), &format!("x={i}"))).collect();
        let mut matters = vec![false; 40];
        (matters[2], matters[30]) = (true, true);
        let drawn = folded(rows.clone(), &threads, &matters);
        assert_eq!(
            lines(&drawn),
            [
                // One row is no stretch.
                (0, "step", "x=0"),
                (0, "step", "x=1"),
                (0, "step", "x=2"),
                (0, "step", "x=3"),
                (ACROSS, "... 17 steps of T1, 8 of T2 ...", "x=28"),
                (1, "step", "x=29"),
                (1, "step", "x=30"),
                (1, "step", "x=31"),
                (ACROSS, "... 7 steps of T2 ...", "x=38"),
                (1, "step", "x=39"),
            ]
        );
        // Nothing stands out.
        let drawn = folded(rows.clone(), &threads, &[false; 40]);
        assert_eq!(drawn.len(), 2 * ENDS + 1);
        assert_eq!(folded(rows[..30].to_vec(), &threads, &[false; 30]).len(), 30);
    }

    #[test]
    fn steps_that_are_not_drawn() {
        let head = |last, next| left_out(last, next, "other step").map(|row| row.head);
        assert_eq!(head(3, 4), None);
        assert_eq!(head(3, 5).as_deref(), Some("... 1 other step ..."));
        assert_eq!(head(3, 1_005).as_deref(), Some("... 1,001 other steps ..."));
        // In a longer stretch they are not told apart.
        let threads = ["T1".to_owned()];
        let mut rows: Vec<Row> = (0..40).map(|_| row(0, "")).collect();
        rows.insert(20, left_out(1, 9, "other step").expect("some"));
        let drawn = folded(rows, &threads, &[false; 41]);
        let heads: Vec<&str> = drawn.iter().map(|row| &row.head[..]).collect();
        assert!(heads.contains(&"... 24 steps of T1 ..."), "{heads:?}");
    }

    /// Against the definition: what is not drawn is counted, and nothing that matters is among it.
    #[test]
    fn nothing_is_lost() {
        let mut rng = weakspot_core::testing::Rng::new(7);
        let threads: Vec<String> = (0..5).map(|i| format!("T{i}")).collect();
        for _ in 0..500 {
            let count = rng.below(90);
            let rows: Vec<Row> =
                (0..count).map(|i| Row { head: i.to_string(), ..row(rng.below(5), "") }).collect();
            let matters: Vec<bool> = (0..count).map(|_| rng.below(12) == 0).collect();
            let drawn = folded(rows, &threads, &matters);
            let mut next = 0;
            for row in &drawn {
                if row.column != ACROSS {
                    assert_eq!(row.head, next.to_string());
                    next += 1;
                    continue;
                }
                let numbers = row.head.split([' ', ',']).filter_map(|w| w.parse::<usize>().ok());
                let left_out = match row.head.contains(" threads") {
                    true => numbers.take(1).sum(),
                    false => numbers.sum::<usize>(),
                };
                assert!(!matters[next..next + left_out].contains(&true), "{drawn:?}");
                next += left_out;
            }
            assert_eq!(next, count);
        }
    }
}
