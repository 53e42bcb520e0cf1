//! A run as a table: a column per thread and one for memory, time running downwards. Knows about
//! widths, line breaks and colours, and nothing about programs.

use weakspot_core::Verdict;

/// The column of rows that go across those of all threads.
pub(crate) const ACROSS: usize = usize::MAX;

/// One step as it is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// In which thread's column, or [`ACROSS`] all of them.
    pub(crate) column: usize,
    /// The instruction, or the mark of a buffered store.
    pub(crate) head: String,
    /// Where that is in the source. Of a place that is too long its end is kept: `…/queue.c:14`.
    pub(crate) site: Option<String>,
    /// The line of the source, of which as much is shown as fits: whoever needs more knows where it is.
    pub(crate) source: Option<String>,
    /// What it did; lines after the first go below it.
    pub(crate) body: Vec<String>,
    /// What changed in memory.
    pub(crate) memory: String,
    /// Whether this is where a delay shows.
    pub(crate) marked: bool,
}

/// How an answer is written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether it is explained, or only said.
    pub details: bool,
    /// Whether there are colours.
    pub color: bool,
    /// How many columns drawings may take. Less than 40 is taken for 40.
    pub width: usize,
    /// Whether a proof was to be made of what was found by search.
    pub proving: bool,
}

impl Style {
    /// The columns of a drawing.
    #[must_use]
    pub fn columns(self) -> usize {
        self.width.max(MIN_WIDTH)
    }

    /// The same for text that is indented.
    pub(crate) fn indented(self, by: usize) -> Style {
        Style { width: self.columns().saturating_sub(by), ..self }
    }
}

/// Terminal styles. Empty strings where colours are off.
#[derive(Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

/// The least that a drawing has to fit.
const MIN_WIDTH: usize = 40;
const MAX_HEAD: usize = 40;
const MAX_SOURCE: usize = 60;
/// In narrower columns statements are cut, in wider ones they take at most so many lines.
const MIN_STATEMENT: usize = 24;
const MAX_STATEMENT: usize = 2;
const MAX_MEMORY: usize = 24;
/// A column of a thread is not narrower than this, nor what is said beside an instruction.
const MIN_COLUMN: usize = 16;
const MIN_BODY: usize = 14;
const MAX_MARK: usize = 4;
/// Names are not cut to less than this, so that values stay.
const MIN_NAME: usize = 10;

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
    /// An answer whose verdict begins at this byte of its first line, and ends before it is explained.
    pub(crate) fn headline(self, text: &str, at: usize, verdict: &Verdict) -> String {
        let (before, rest) = text.split_at(at);
        let end = [":", ";", ",", " (", "\n"].iter().filter_map(|end| rest.find(end)).min();
        let (said, after) = rest.split_at(end.unwrap_or(rest.len()));
        format!("{before}{}{after}", self.verdict(said, verdict))
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

/// Draws the table in at most `columns` columns. What threads do stands side by side, what an
/// instruction did beside it, in as many lines as it takes, or below it; else each step says which
/// thread it belongs to.
pub(crate) fn draw(
    threads: &[String],
    memory: &[String],
    rows: &[Row],
    paint: Paint,
    columns: usize,
) -> String {
    let cut_row = |row: &Row| Row {
        head: if row.column == ACROSS { row.head.clone() } else { shortened(&row.head, MAX_HEAD) },
        site: row.site.as_deref().map(|site| cut_left(site, MAX_HEAD)),
        ..row.clone()
    };
    let rows: Vec<Row> = rows.iter().map(cut_row).collect();
    let least = widest(&mut memory.iter().chain(rows.iter().map(|row| &row.memory)));
    let values = memory.iter().chain(rows.iter().map(|row| &row.memory));
    let values = values.filter_map(|word| cell(word)).map(|(_, value)| width(value));
    let valued = values.max().map_or(0, |value| MIN_NAME + value).min(columns / 2);
    let narrow = least.clamp("memory".len(), (columns / 4).max(valued));
    let wide = widest(&mut wrap(memory, MAX_MEMORY).iter()).clamp(narrow, MAX_MEMORY.max(narrow));
    let mut best: Option<(usize, Table)> = None;
    for (shape, memory_width) in [
        (Shape::Beside, wide),
        (Shape::Wrapped, narrow),
        (Shape::Wrapped, wide),
        (Shape::Below, narrow),
        (Shape::Below, wide),
    ] {
        let room = columns.saturating_sub(memory_width + 3 * threads.len());
        let Some(table) = lay_out(threads, &rows, shape, room) else { continue };
        let memory = wrap(memory, memory_width);
        let lines = memory.len() + table.cells.iter().map(Vec::len).sum::<usize>();
        let table = Table { memory, memory_width, ..table };
        if best.as_ref().is_none_or(|(fewest, _)| lines < *fewest) {
            best = Some((lines, table));
        }
        if shape == Shape::Beside {
            break;
        }
    }
    match best {
        Some((_, table)) => side_by_side(threads, &rows, &table, paint),
        None => listed(threads, memory, &rows, paint, columns, [wide, narrow]),
    }
}

/// How what an instruction did stands to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Beside it on one line.
    Beside,
    /// Beside it, in as many lines as that takes.
    Wrapped,
    /// Below it.
    Below,
}

/// A table that fits.
struct Table {
    widths: Vec<usize>,
    /// The lines of each step's cell.
    cells: Vec<Vec<String>>,
    memory: Vec<String>,
    memory_width: usize,
}

/// The cells in a shape, if they fit so many columns together.
fn lay_out(threads: &[String], rows: &[Row], shape: Shape, room: usize) -> Option<Table> {
    let heads = heads(threads.len(), rows);
    let natural = match shape {
        Shape::Below => below(rows, &vec![room; threads.len()]),
        _ => beside(rows, &heads, &vec![usize::MAX; threads.len()]),
    };
    let most = taken(threads, rows, &natural);
    let whole = whole_heads(threads.len(), rows);
    let sourced = |i: usize| rows.iter().any(|row| row.column == i && row.source.is_some());
    let least: Vec<usize> = (0..threads.len())
        .map(|i| match shape {
            Shape::Beside => most[i],
            Shape::Wrapped if sourced(i) => most[i].min(heads[i] + 2 + MIN_STATEMENT),
            Shape::Wrapped => most[i].min(heads[i] + 2 + MIN_BODY),
            Shape::Below => most[i].min(whole[i].max(match sourced(i) {
                true => MIN_STATEMENT,
                false => MIN_COLUMN,
            })),
        })
        .collect();
    let widths = shared_out(most, &least, room)?;
    let cells = match shape {
        Shape::Below => below(rows, &widths),
        _ => beside(rows, &heads, &widths),
    };
    // Lines that were folded may be shorter than there was room for.
    let taken = taken(threads, rows, &cells);
    let widths = widths.into_iter().zip(taken).map(|(room, taken)| room.min(taken)).collect();
    Some(Table { widths, cells, memory: Vec::new(), memory_width: 0 })
}

/// Per thread how many columns its name and its cells take.
fn taken(threads: &[String], rows: &[Row], cells: &[Vec<String>]) -> Vec<usize> {
    let mut taken: Vec<usize> = threads.iter().map(|name| width(name)).collect();
    for (row, cell) in rows.iter().zip(cells) {
        if let Some(taken) = taken.get_mut(row.column) {
            *taken = widest(&mut cell.iter()).max(*taken);
        }
    }
    taken
}

/// Widths that fit the room together: the widest become narrower, but none less than its least.
fn shared_out(mut widths: Vec<usize>, least: &[usize], room: usize) -> Option<Vec<usize>> {
    if least.iter().sum::<usize>() > room {
        return None;
    }
    while widths.iter().sum::<usize>() > room {
        let can = (0..widths.len()).filter(|&i| widths[i] > least[i]);
        let widest = can.max_by_key(|&i| widths[i])?;
        widths[widest] -= 1;
    }
    Some(widths)
}

/// An instruction with its place, on one line.
fn head_line(row: &Row) -> String {
    match &row.site {
        Some(site) => format!("{}  at {site}", row.head),
        None => row.head.clone(),
    }
}

/// Per thread the widest instruction that something is said beside.
fn heads(threads: usize, rows: &[Row]) -> Vec<usize> {
    let mut heads = vec![0; threads];
    let beside = |row: &&Row| !row.body.is_empty() || row.source.is_some();
    for row in rows.iter().filter(beside) {
        if let Some(widest) = heads.get_mut(row.column) {
            *widest = width(&head_line(row)).max(*widest);
        }
    }
    heads
}

/// Per thread how many columns it takes so that no instruction is cut.
fn whole_heads(threads: usize, rows: &[Row]) -> Vec<usize> {
    let mut heads = vec![0; threads];
    for row in rows {
        if let Some(widest) = heads.get_mut(row.column) {
            let is_folded = row.head.contains('=');
            let words = row.head.split(' ').map(|word| width(word) + 2).max();
            let whole = words.filter(|_| is_folded).unwrap_or_else(|| width(&row.head));
            *widest = whole.max(*widest);
        }
    }
    heads
}

/// The lines of each step's cell, with what was done beside the instruction.
fn beside(rows: &[Row], heads: &[usize], widths: &[usize]) -> Vec<Vec<String>> {
    let cell = |row: &Row| {
        let columns = widths.get(row.column).copied().unwrap_or(usize::MAX);
        if row.source.is_none() && row.body.is_empty() {
            return placed(row, columns);
        }
        let indent = heads.get(row.column).copied().unwrap_or(0);
        let room = columns.saturating_sub(indent + 2).max(1);
        let mut head = head_line(row);
        let mut lines = Vec::new();
        let source = row.source.iter().flat_map(|text| statement(text, room.min(MAX_SOURCE)));
        let body = row.body.iter().flat_map(|text| fold(text, room));
        for text in source.chain(body) {
            lines.push(format!("{}  {text}", pad(&std::mem::take(&mut head), indent)));
        }
        lines
    };
    rows.iter().map(cell).collect()
}

/// The same with what was done below the instruction.
fn below(rows: &[Row], widths: &[usize]) -> Vec<Vec<String>> {
    let cell = |row: &Row| {
        let columns = widths.get(row.column).copied().unwrap_or(usize::MAX);
        let mut lines = placed(row, columns);
        let source = row.source.iter().flat_map(|text| statement(text, columns.saturating_sub(2)));
        lines.extend(source.map(|line| format!("  {line}")));
        for (i, text) in row.body.iter().enumerate() {
            let mut folded = fold(text, columns.saturating_sub(2)).into_iter();
            // The mark of a store needs no line of its own.
            if i == 0 && row.site.is_none() && width(&row.head) <= MAX_MARK {
                folded = fold(text, columns.saturating_sub(MAX_MARK + 1)).into_iter();
                if let (Some(head), Some(first)) = (lines.last_mut(), folded.next()) {
                    *head = format!("{head} {first}");
                }
            }
            lines.extend(folded.map(|line| format!("  {line}")));
        }
        lines
    };
    rows.iter().map(cell).collect()
}

/// A statement of the source: cut where there is little room, else on a few lines.
fn statement(text: &str, columns: usize) -> Vec<String> {
    let lines = fold(text, columns);
    if lines.len() > MAX_STATEMENT || columns < MIN_STATEMENT {
        return vec![cut(text, columns)];
    }
    lines
}

/// An instruction and its place, on one line or on two.
fn placed(row: &Row, columns: usize) -> Vec<String> {
    let line = head_line(row);
    match &row.site {
        Some(site) if width(&line) > columns => {
            let mut lines = broken(&row.head, columns);
            lines.push(format!("  at {}", cut_left(site, columns.saturating_sub(5))));
            lines
        }
        _ => broken(&line, columns),
    }
}

/// An instruction on one line, or folded: names are shortened, values are not.
fn broken(head: &str, columns: usize) -> Vec<String> {
    if width(head) <= columns || !head.contains('=') {
        return vec![cut(head, columns)];
    }
    let short = with_short_names(head, columns, MIN_NAME);
    if width(&short) <= columns {
        return vec![short];
    }
    let lines = fold(head, columns.saturating_sub(2)).into_iter().enumerate();
    lines.map(|(i, line)| if i == 0 { line } else { format!("  {line}") }).collect()
}

/// The text in so many columns, or a few more where its values take them.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    match text.split(' ').any(|word| cell(word).is_some()) {
        true => with_short_names(text, columns, MIN_NAME),
        false => cut(text, columns),
    }
}

/// The text with the names in its cells, `NAME=VALUE`, shortened until it fits, the longest first, but none to less
/// than `least`.
fn with_short_names(text: &str, columns: usize, least: usize) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let name = |word: &str| cell(word).map_or(0, |(name, _)| width(name));
    let mut excess = width(text).saturating_sub(columns);
    while excess > 0 {
        let Some(longest) = words.iter_mut().max_by_key(|word| name(word)) else { break };
        let Some((long, value)) = cell(longest).filter(|(long, _)| width(long) > least) else {
            break;
        };
        *longest = format!("{}{value}", cut_middle(long, width(long) - 1));
        excess -= 1;
    }
    words.join(" ")
}

/// The same, and cut if that was not enough.
pub(crate) fn cut_cells(text: &str, columns: usize) -> String {
    cut(&with_short_names(text, columns, 2), columns)
}

/// A word that is a cell, `NAME=VALUE`, at its `=`.
fn cell(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_at(word.find('=')?);
    let is_cell = !name.is_empty() && value.len() > 1 && !value[1..].contains('=');
    let is_operator = name.ends_with(['!', '<', '>', ':', '+', '-', '*', '/', '|', '&', '^', '%']);
    (is_cell && !is_operator).then_some((name, value))
}

/// The name of a thread, `worker#2`, in so many columns: what is cut is never its number.
fn cut_name(name: &str, columns: usize) -> String {
    match name.rfind('#').map(|at| name.split_at(at)) {
        Some((function, number)) if width(name) > columns && width(number) + 1 < columns => {
            cut(function, columns - width(number)) + number
        }
        _ => cut(name, columns),
    }
}

fn side_by_side(threads: &[String], rows: &[Row], table: &Table, paint: Paint) -> String {
    let bar = paint.dim("│");
    let mut out = String::new();
    let widths: Vec<usize> = table.widths.iter().copied().chain([table.memory_width]).collect();
    let headings = threads.iter().map(String::as_str).chain(["memory"]);
    let headings: Vec<String> =
        headings.zip(&widths).map(|(name, &w)| paint.bold(&pad(&cut_name(name, w), w))).collect();
    push_line(&mut out, &headings.join(&format!(" {bar} ")));
    let rule: Vec<String> = widths.iter().map(|&w| "─".repeat(w)).collect();
    push_line(&mut out, &paint.dim(&rule.join("─┼─")));
    let row_line = |out: &mut String, column: usize, text: &str, memory: &str, marked: bool| {
        let cell = |(i, &w): (usize, &usize)| match i {
            i if i == threads.len() => paint.memory(&pad(&cut_cells(memory, w), w)),
            i if i == column && marked => paint.mark(&pad(text, w)),
            i if i == column => pad(text, w),
            _ => pad("", w),
        };
        let cells: Vec<String> = widths.iter().enumerate().map(cell).collect();
        push_line(out, &cells.join(&format!(" {bar} ")));
    };
    for values in &table.memory {
        row_line(&mut out, ACROSS, "", values, false);
    }
    let across: usize = table.widths.iter().map(|w| w + 3).sum::<usize>().saturating_sub(3);
    for (row, cell) in rows.iter().zip(&table.cells) {
        if row.column == ACROSS {
            let memory = paint.memory(&cut_cells(&row.memory, table.memory_width));
            let text = paint.dim(&pad(&cut(&row.head, across), across));
            push_line(&mut out, &format!("{text} {bar} {memory}"));
            continue;
        }
        for (i, text) in cell.iter().enumerate() {
            row_line(&mut out, row.column, text, if i == 0 { &row.memory } else { "" }, row.marked);
        }
    }
    out
}

/// One column of steps, each with the name of its thread.
fn listed(
    threads: &[String],
    memory: &[String],
    rows: &[Row],
    paint: Paint,
    columns: usize,
    memory_widths: [usize; 2],
) -> String {
    let name_width = widest(&mut threads.iter()).clamp("thread".len(), columns / 4);
    let room = |memory: usize| columns.saturating_sub(name_width + 2 + 3 + memory);
    // In one column, all threads are one.
    let one: Vec<Row> = rows.iter().map(|row| Row { column: 0, ..row.clone() }).collect();
    let step = ["step".to_owned()];
    let [wide, narrow] = memory_widths;
    let shapes = [
        (Shape::Beside, wide),
        (Shape::Beside, narrow),
        (Shape::Wrapped, narrow),
        (Shape::Below, narrow),
    ];
    let mut laid = shapes.into_iter().filter_map(|(shape, memory)| {
        let table = lay_out(&step, &one, shape, room(memory))?;
        Some((table.cells, table.widths[0], memory))
    });
    let least = || (below(&one, &[room(narrow)]), room(narrow), narrow);
    let (cells, step_width, memory_width) = laid.next().unwrap_or_else(least);
    let bar = paint.dim("│");
    let mut out = String::new();
    let title = format!("{}  {}", pad("thread", name_width), pad("step", step_width));
    push_line(&mut out, &format!("{} {bar} {}", paint.bold(&title), paint.bold("memory")));
    let rule = "─".repeat(width(&title) + 1);
    push_line(&mut out, &paint.dim(&format!("{rule}┼{}", "─".repeat(memory_width + 1))));
    for values in &wrap(memory, memory_width) {
        let blank = pad("", width(&title));
        push_line(
            &mut out,
            &format!("{blank} {bar} {}", paint.memory(&cut_cells(values, memory_width))),
        );
    }
    for (row, cell) in rows.iter().zip(&cells) {
        for (i, text) in cell.iter().enumerate() {
            let name = threads.get(row.column).map_or("", String::as_str);
            let (name, memory) = if i == 0 { (name, &*row.memory) } else { ("", "") };
            let step = pad(text, step_width);
            let step = if row.marked { paint.mark(&step) } else { step };
            let name = pad(&cut_name(name, name_width), name_width);
            let memory = paint.memory(&cut_cells(memory, memory_width));
            push_line(&mut out, &format!("{name}  {step} {bar} {memory}"));
        }
    }
    out
}

fn widest(texts: &mut dyn Iterator<Item = &String>) -> usize {
    texts.map(|text| width(text)).max().unwrap_or(0)
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
    // Two blanks between words are an empty word, which may be the last on its line.
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// A text as lines of at most `columns` columns. Words that are longer are cut.
pub(crate) fn fold(text: &str, columns: usize) -> Vec<String> {
    if width(text) <= columns {
        return vec![text.to_owned()];
    }
    let words: Vec<String> = text.split(' ').map(|word| cut_word(word, columns)).collect();
    wrap(&words, columns)
}

/// A sentence in lines of at most `columns` columns, each with a line end, all but the first
/// indented by so much.
#[must_use]
pub fn paragraph(text: &str, columns: usize, indent: usize) -> String {
    if width(text) <= columns {
        return format!("{text}\n");
    }
    // What is indented already stays so.
    let blanks = text.len() - text.trim_start_matches(' ').len();
    let mut words = text[blanks..].split(' ').peekable();
    let mut out = String::new();
    let mut line = " ".repeat(blanks);
    while let Some(word) = words.next() {
        line += &cut_word(word, columns.saturating_sub(width(&line)).max(1));
        let fits = |next: &&str| width(&line) + 1 + width(next) <= columns;
        match words.peek() {
            Some(next) if fits(next) => line.push(' '),
            Some(_) => {
                push_line(&mut out, &line);
                line = " ".repeat(indent.min(columns / 2));
            }
            None => push_line(&mut out, &line),
        }
    }
    out
}

/// Two texts beside each other in lines of at most `columns` columns, each with a line end: the
/// second in a column of its own if there is room for one, else below the first.
pub(crate) fn beside_each_other(left: &str, right: &str, columns: usize) -> String {
    const LEAST: usize = 24;
    let mut out = String::new();
    let taken = width(left) + 2;
    if taken + width(right) <= columns {
        push_line(&mut out, &format!("{left}  {right}"));
    } else if taken + LEAST <= columns {
        let mut left = left.to_owned();
        for line in fold(right, columns - taken) {
            push_line(&mut out, &format!("{}  {line}", pad(&std::mem::take(&mut left), taken - 2)));
        }
    } else {
        push_line(&mut out, &cut(left.trim_end(), columns));
        for line in fold(right, columns - 6) {
            push_line(&mut out, &format!("      {line}"));
        }
    }
    out
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

/// The text, with its beginning cut off if it is longer: of a path the end says more.
pub(crate) fn cut_left(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 1;
    for c in text.chars().rev() {
        used += char_width(c);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// The text, with its middle cut out if it is longer: names begin and end with what tells them apart.
fn cut_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let end = columns / 3;
    cut(text, columns - end) + cut_left(text, end + 1).trim_start_matches('…')
}

/// A word of a sentence, cut if it is longer: a path so that its file and line stay.
fn cut_word(word: &str, columns: usize) -> String {
    if word.contains('/') { cut_left(word, columns) } else { cut_cells(word, columns) }
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

    /// Only what is said of the verdict is coloured, and nothing is said by the colour alone.
    #[test]
    fn headlines() {
        let paint = |text: &str, at, verdict: &Verdict| {
            Paint(true).headline(text, at, verdict).replace('\x1b', "^")
        };
        assert_eq!(
            paint("SB TSO not robust: why\nmore: x\n", 7, &Verdict::Violated),
            "SB TSO ^[31mnot robust^[0m: why\nmore: x\n"
        );
        assert_eq!(
            paint("a SC: no execution fails (3 explored)\n", 6, &Verdict::Holds),
            "a SC: ^[32mno execution fails^[0m (3 explored)\n"
        );
        assert_eq!(Paint(false).headline("a b\n", 2, &Verdict::Holds), "a b\n");
    }

    #[test]
    fn widths() {
        assert_eq!(width("aé→"), 3);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("変数"), 4);
        assert_eq!(pad("変", 4), "変  ");
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("変数変数", 6), "変数…");
        assert_eq!(cut_left("src/queue.c:14", 11), "…queue.c:14");
        assert_eq!(paragraph("at src/queue.c:14, which", 12, 0), "at\n…queue.c:14,\nwhich\n");
        let words: Vec<String> = ["x=0", "y=0", "z=0"].map(str::to_owned).into();
        assert_eq!(wrap(&words, 7), ["x=0 y=0", "z=0"]);
        assert_eq!(fold("wr x  at a.c:1", 9), ["wr x  at", "a.c:1"]);
        assert_eq!(fold("wr x  at a.c:1", 6), ["wr x", "at", "a.c:1"]);
        assert_eq!(broken("2. wr pair.want[0]=1", 20), ["2. wr pair.want[0]=1"]);
        assert_eq!(broken("2. wr pair.want[0]=1", 18), ["2. wr pair.w…[0]=1"]);
        assert_eq!(broken("2. wr pair.want[0]=12345", 18), ["2. wr", "  pair.w…[0]=12345"]);
        assert_eq!(cut_name("store_buffering#12", 12), "store_bu…#12");
        assert_eq!(cut_name("main", 3), "ma…");
        let long = "12. wr the_global_instance_of_the_large_table.F[1]=7";
        assert_eq!(shortened(long, 40), "12. wr the_global_instance_…table.F[1]=7");
        assert_eq!(shortened("MOV EAX,[x]", 40), "MOV EAX,[x]");
        let update = "reads a_long_name=18446744073709551615 and writes another_name=-1 at once";
        assert_eq!(
            shortened(update, 40),
            "reads a_long…ame=18446744073709551615 and writes anothe…ame=-1 at once"
        );
        assert_eq!(cut_cells("a_long_name=12345", 16), "a_long…ame=12345");
        assert_eq!(cut_cells("if (first!=second) a_name", 20), "if (first!=second) …");
    }
}
