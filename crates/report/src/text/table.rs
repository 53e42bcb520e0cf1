//! A run as a table: a column per thread and one for memory, time running downwards. Knows about
//! widths, line breaks and colours, and nothing about programs.

use weakspot_core::Verdict;

/// One step as it is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// In which thread's column.
    pub(crate) column: usize,
    /// The instruction, or the mark of a buffered store.
    pub(crate) head: String,
    /// What it did; lines after the first go below it.
    pub(crate) body: Vec<String>,
    /// What changed in memory.
    pub(crate) memory: String,
    /// Whether this is where a delay shows.
    pub(crate) marked: bool,
}

/// Terminal styles. Empty strings where colours are off.
#[derive(Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

const MAX_WIDTH: usize = 100;
const MAX_HEAD: usize = 40;
const MAX_MEMORY: usize = 24;
const MIN_COLUMN: usize = 24;
const MAX_MARK: usize = 4;

impl Paint {
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    fn mark(self, text: &str) -> String {
        self.with("33", text)
    }
    fn memory(self, text: &str) -> String {
        self.with("32", text)
    }
    pub(crate) fn verdict(self, text: &str, verdict: &Verdict) -> String {
        let code = match verdict {
            Verdict::Holds => "32",
            Verdict::Violated => "31",
            Verdict::Unknown(_) => "33",
        };
        self.with(code, text)
    }
    fn with(self, code: &str, text: &str) -> String {
        // Blanks take no colour, so that trailing ones can be cut.
        let (inner, blanks) = text.split_at(text.trim_end().len());
        match self.0 && !inner.is_empty() {
            true => format!("\x1b[{code}m{inner}\x1b[0m{blanks}"),
            false => text.to_owned(),
        }
    }
}

/// Draws the table. Columns stand side by side if they fit about a hundred characters, what an
/// instruction did going below it if need be; else each step says which thread it belongs to.
pub(crate) fn draw(threads: &[String], memory: &[String], rows: &[Row], paint: Paint) -> String {
    let rows: Vec<Row> =
        rows.iter().map(|row| Row { head: cut(&row.head, MAX_HEAD), ..row.clone() }).collect();
    let memory = wrap(memory, MAX_MEMORY);
    let memory_width = rows.iter().map(|row| &row.memory).chain(&memory).map(|m| width(m));
    let memory_width = memory_width.max().unwrap_or(0).max("memory".len());
    let room = MAX_WIDTH.saturating_sub(memory_width + 3 * threads.len());
    let narrow = room / threads.len().max(1);
    let beside = beside(threads.len(), &rows);
    let below = || (narrow >= MIN_COLUMN).then(|| below(&rows, narrow));
    for cells in std::iter::once(beside).chain(std::iter::once_with(below).flatten()) {
        let mut widths: Vec<usize> = threads.iter().map(|name| width(name)).collect();
        for (row, cell) in rows.iter().zip(&cells) {
            if let Some(widest) = widths.get_mut(row.column) {
                *widest = cell.iter().map(|line| width(line)).chain([*widest]).max().unwrap_or(0);
            }
        }
        if widths.iter().sum::<usize>() <= room {
            widths.push(memory_width);
            return side_by_side(threads, &memory, &rows, &cells, &widths, paint);
        }
    }
    listed(threads, &memory, &rows, paint)
}

/// The lines of each step's cell, with what was done beside the instruction.
fn beside(threads: usize, rows: &[Row]) -> Vec<Vec<String>> {
    let mut heads = vec![0; threads];
    for row in rows.iter().filter(|row| !row.body.is_empty()) {
        if let Some(widest) = heads.get_mut(row.column) {
            *widest = width(&row.head).max(*widest);
        }
    }
    let cell = |row: &Row| {
        let indent = heads.get(row.column).copied().unwrap_or(0);
        let line = |(i, text): (usize, &String)| {
            format!("{}  {text}", pad(if i == 0 { &row.head } else { "" }, indent))
        };
        match row.body.is_empty() {
            true => vec![row.head.clone()],
            false => row.body.iter().enumerate().map(line).collect(),
        }
    };
    rows.iter().map(cell).collect()
}

/// The same with what was done below the instruction, in columns of at most `columns`.
fn below(rows: &[Row], columns: usize) -> Vec<Vec<String>> {
    let cell = |row: &Row| {
        let mut lines = vec![cut(&row.head, columns)];
        for (i, text) in row.body.iter().enumerate() {
            let words: Vec<String> = text.split(' ').map(|word| cut(word, columns - 2)).collect();
            let mut wrapped = wrap(&words, columns - 2).into_iter();
            // The mark of a store needs no line of its own.
            if i == 0 && width(&row.head) <= MAX_MARK {
                let room = columns - MAX_MARK - 1;
                wrapped = wrap(&words, room).into_iter();
                if let (Some(head), Some(first)) = (lines.last_mut(), wrapped.next()) {
                    *head = format!("{head} {first}");
                }
            }
            lines.extend(wrapped.map(|line| format!("  {line}")));
        }
        lines
    };
    rows.iter().map(cell).collect()
}

fn side_by_side(
    threads: &[String],
    memory: &[String],
    rows: &[Row],
    cells: &[Vec<String>],
    widths: &[usize],
    paint: Paint,
) -> String {
    let bar = paint.dim("│");
    let mut out = String::new();
    let headings = threads.iter().map(String::as_str).chain(["memory"]);
    let headings: Vec<String> =
        headings.zip(widths).map(|(name, &w)| paint.bold(&pad(name, w))).collect();
    push_line(&mut out, &headings.join(&format!(" {bar} ")));
    let rule: Vec<String> = widths.iter().map(|&w| "─".repeat(w)).collect();
    push_line(&mut out, &paint.dim(&rule.join("─┼─")));
    let mut row_line = |column: usize, text: &str, memory: &str, marked: bool| {
        let cell = |(i, &w): (usize, &usize)| match i {
            i if i == threads.len() => paint.memory(&pad(memory, w)),
            i if i == column && marked => paint.mark(&pad(text, w)),
            i if i == column => pad(text, w),
            _ => pad("", w),
        };
        let cells: Vec<String> = widths.iter().enumerate().map(cell).collect();
        push_line(&mut out, &cells.join(&format!(" {bar} ")));
    };
    for values in memory {
        row_line(usize::MAX, "", values, false);
    }
    for (row, cell) in rows.iter().zip(cells) {
        for (i, text) in cell.iter().enumerate() {
            row_line(row.column, text, if i == 0 { &row.memory } else { "" }, row.marked);
        }
    }
    out
}

fn listed(threads: &[String], memory: &[String], rows: &[Row], paint: Paint) -> String {
    let widest = |texts: &mut dyn Iterator<Item = &String>| texts.map(|t| width(t)).max();
    let name_width = widest(&mut threads.iter()).unwrap_or(0).max("thread".len());
    let head_width = widest(&mut rows.iter().map(|row| &row.head)).unwrap_or(0);
    let body_width = widest(&mut rows.iter().flat_map(|row| &row.body)).unwrap_or(0);
    let bar = paint.dim("│");
    let mut out = String::new();
    let title =
        format!("{}  {}", pad("thread", name_width), pad("step", head_width + 2 + body_width));
    push_line(&mut out, &format!("{} {bar} {}", paint.bold(&title), paint.bold("memory")));
    let rule = "─".repeat(width(&title) + 1);
    push_line(&mut out, &paint.dim(&format!("{rule}┼───────")));
    for values in memory {
        let blank = pad("", width(&title));
        push_line(&mut out, &format!("{blank} {bar} {}", paint.memory(values)));
    }
    for row in rows {
        let name = threads.get(row.column).map_or("", String::as_str);
        let lines = row.body.len().max(1);
        for i in 0..lines {
            let (name, head, memory) =
                if i == 0 { (name, &*row.head, &*row.memory) } else { ("", "", "") };
            let body = row.body.get(i).map_or("", String::as_str);
            let step = format!("{}  {}", pad(head, head_width), pad(body, body_width));
            let step = if row.marked { paint.mark(&step) } else { step };
            let name = pad(name, name_width);
            push_line(&mut out, &format!("{name}  {step} {bar} {}", paint.memory(memory)));
        }
    }
    out
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// Words joined by blanks into lines of at most `max` columns, as far as the words allow.
fn wrap(words: &[String], max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= max => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

/// The text with blanks up to `columns` columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let mut out = text.to_owned();
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(text))));
    out
}

/// The text, cut to `columns` columns if it is longer.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += char_width(c);
        if used > columns {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// How many columns of a terminal the text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Good enough for names and comments: the blocks of wide and of combining characters.
fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        assert_eq!(width("aé→"), 3);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("変数"), 4);
        assert_eq!(pad("変", 4), "変  ");
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("変数変数", 6), "変数…");
        let words: Vec<String> = ["x=0", "y=0", "z=0"].map(str::to_owned).into();
        assert_eq!(wrap(&words, 7), ["x=0 y=0", "z=0"]);
    }
}
