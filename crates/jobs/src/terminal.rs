//! What people see: the line that shows progress, messages around it, and output whose reader may
//! have gone.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::interrupt;
use weakspot_args::When;
use weakspot_report::{ascii, fit_lines};

/// Nothing is drawn before.
const QUIET: Duration = Duration::from_millis(500);

/// The progress line as it is on the screen; empty if there is none.
static LINE: Mutex<Line> = Mutex::new(Line { shown: false });

struct Line {
    shown: bool,
}

/// Draws the progress line on standard error, in the place of the one before, cut so that it does not
/// wrap.
pub fn draw(text: &str) {
    let mut line = line();
    line.shown = true;
    let drawn = drawn(text, width());
    let drawn = if is_ascii_locale() { ascii(&drawn) } else { Cow::from(&*drawn) };
    let _ = std::io::stderr().write_all(drawn.as_bytes());
}

/// Draws the progress line if standard error is a terminal, or takes it away.
pub fn show(text: Option<&str>) {
    match text.filter(|_| is_terminal()) {
        Some(text) => draw(text),
        None => clear(),
    }
}

/// Takes the progress line away.
pub fn clear() {
    *busy_with() = None;
    clear_line(&mut line());
}

/// What takes its time, and since when.
static BUSY: Mutex<Option<(String, Instant)>> = Mutex::new(None);

fn busy_with() -> std::sync::MutexGuard<'static, Option<(String, Instant)>> {
    BUSY.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Says which one of several is being written, unless that goes to the same screen.
pub fn busy_with_one(what: &str, done: u64, all: u64, to_file: bool) {
    if to_file || !std::io::stdout().is_terminal() {
        busy(&format!("{what} {} of {all}", done + 1));
    }
}

/// Says what is being done until the progress line is taken away, in a terminal, after half a second: for work that
/// reports nothing meanwhile.
pub fn busy(what: &str) {
    static TICKER: OnceLock<()> = OnceLock::new();
    if !is_terminal() {
        return;
    }
    let mut busy = busy_with();
    let since = busy.as_ref().map_or_else(Instant::now, |(_, since)| *since);
    *busy = Some((what.to_owned(), since));
    drop(busy);
    TICKER.get_or_init(|| {
        // That it cannot be started is no reason to stop.
        let _ = std::thread::Builder::new().spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(250));
                // Held until it is drawn, so that nothing is drawn after it was taken away.
                let busy = busy_with();
                if let Some((what, since)) = &*busy
                    && since.elapsed() >= QUIET
                {
                    draw(&format!("{what}: {} s", since.elapsed().as_secs()));
                }
            }
        });
    });
}

/// A message on standard error. That nobody reads it is no reason to stop.
pub fn message(text: fmt::Arguments<'_>) {
    let mut line = line();
    clear_line(&mut line);
    let text = text.to_string();
    let fitted = match known_width(std::io::stderr()) {
        Some(columns) => fit_lines(&text, columns),
        None => Cow::from(&text),
    };
    let shown = if is_ascii_locale() { ascii(&fitted) } else { Cow::from(&*fitted) };
    let _ = std::io::stderr().write_all(shown.as_bytes());
}

/// Text on standard output. A reader that has seen enough (`| head`) gets no more, and what goes on for it
/// ends; the exit code is that of what was found.
pub fn print(text: fmt::Arguments<'_>) {
    clear();
    let mut out = std::io::stdout().lock();
    let written = write_answer(&mut out, &text.to_string());
    if let Err(error) = written.and_then(|_| out.flush()) {
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            message(format_args!("error: failed to write to standard output: {error}\n"));
            std::process::exit(2);
        }
        interrupt::ask();
    }
}

/// Writes an answer, up to where somebody asks for an end. If that was before, it is the answer that was asked for.
/// Whether all of it is written.
pub(crate) fn write_answer(out: &mut impl Write, text: &str) -> std::io::Result<bool> {
    let is_asked_before = interrupt::asked();
    let mut pieces = in_pieces(text);
    for piece in &mut pieces {
        out.write_all(piece.as_bytes())?;
        if interrupt::asked() && !is_asked_before {
            break;
        }
    }
    let left: usize = pieces.map(|piece| piece.lines().count()).sum();
    if left > 0 {
        out.flush()?;
        let are = if left == 1 { "line is" } else { "lines are" };
        message(format_args!("interrupted: {} {are} not printed\n", Count(left as u64)));
    }
    Ok(left == 0)
}

/// A text in pieces that end where lines do.
fn in_pieces(text: &str) -> impl Iterator<Item = &str> {
    const PIECE: usize = 1 << 14;
    let mut rest = text;
    std::iter::from_fn(move || {
        let most = PIECE.min(rest.len());
        let within = rest.as_bytes()[..most].iter().rposition(|&b| b == b'\n');
        let end = within.or_else(|| rest.find('\n')).map_or(rest.len(), |end| end + 1);
        let (piece, after) = rest.split_at(if rest.len() <= PIECE { rest.len() } else { end });
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Whether to colour what goes to `terminal`.
pub fn colored(color: When, terminal: bool) -> bool {
    match color {
        When::Always => true,
        When::Never => false,
        When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// What answers are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Whether what goes to standard output has colours.
    pub color: bool,
    /// The same of standard error.
    pub color_of_errors: bool,
    /// The columns of standard output.
    pub width: usize,
}

/// The screen of the process that prints what this one answers.
static ELSEWHERE: OnceLock<Screen> = OnceLock::new();

/// From now on, answers are written for another screen.
pub(crate) fn write_for(screen: Screen) {
    let _ = ELSEWHERE.set(screen);
}

/// What answers are written for: as wide as `COLUMNS` says, or the terminal, or 80 columns where there is
/// none.
pub fn screen(color: When) -> Screen {
    if let Some(elsewhere) = ELSEWHERE.get() {
        return *elsewhere;
    }
    Screen {
        color: colored(color, std::io::stdout().is_terminal()),
        color_of_errors: colored(color, std::io::stderr().is_terminal()),
        width: known_width(std::io::stdout()).unwrap_or(80),
    }
}

/// `1234567` as `1,234,567`.
pub struct Count(pub u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                f.write_char(',')?;
            }
            f.write_char(digit)?;
        }
        Ok(())
    }
}

/// `1536` as `1.5 KiB`.
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["KiB", "MiB", "GiB", "TiB"];
        let mut size = self.0 as f64;
        let mut unit = "B";
        for next in units {
            if size < 1024.0 {
                break;
            }
            (size, unit) = (size / 1024.0, next);
        }
        if unit == "B" { write!(f, "{size} B") } else { write!(f, "{size:.1} {unit}") }
    }
}

fn line() -> std::sync::MutexGuard<'static, Line> {
    LINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn clear_line(line: &mut Line) {
    if std::mem::take(&mut line.shown) {
        let _ = std::io::stderr().write_all(b"\r\x1b[K");
    }
}

/// What draws a line in a terminal of so many columns. The last one stays free: some terminals wrap
/// as soon as it is used.
fn drawn(text: &str, width: usize) -> String {
    let room = width.saturating_sub(1);
    let cut: String = match text.chars().count() > room {
        false => text.to_owned(),
        true => text.chars().take(room.saturating_sub(1)).chain(['…']).take(room).collect(),
    };
    format!("\r{cut}\x1b[K")
}

/// The columns of the terminal that standard error is.
pub(crate) fn width() -> usize {
    known_width(std::io::stderr()).unwrap_or(80)
}

/// The columns that text may take: those that `COLUMNS` says, or those of a terminal. What goes
/// elsewhere stays in the lines that it has.
fn known_width(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let typed = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let size = || rustix::termios::tcgetwinsize(stream).ok();
    let typed = typed.filter(|&columns| columns > 0);
    typed.or_else(|| size().map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0))
}

/// Text for people on standard output, in lines that fit; ASCII only if that is asked for, or the
/// locale has no more.
pub fn fitted(text: &str, only_ascii: bool) -> Cow<'_, str> {
    let fitted = match known_width(std::io::stdout()) {
        Some(columns) => fit_lines(text, columns),
        None => text.into(),
    };
    match only_ascii || is_ascii_locale() {
        true => ascii(&fitted).into_owned().into(),
        false => fitted,
    }
}

/// Whether the locale says that characters are not UTF-8. Where none is named, nothing speaks against
/// UTF-8.
pub fn is_ascii_locale() -> bool {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(named);
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Whether standard error is a terminal.
pub fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_the_terminal() {
        assert_eq!(drawn("0/12 files", 80), "\r0/12 files\x1b[K");
        assert_eq!(drawn("0/12 files", 11), "\r0/12 files\x1b[K");
        assert_eq!(drawn("0/12 files", 10), "\r0/12 fil…\x1b[K");
        assert_eq!(drawn("äöü", 3), "\rä…\x1b[K");
        assert_eq!(drawn("0/12 files", 1), "\r\x1b[K");
    }

    #[test]
    fn pieces_of_a_text() {
        let text = format!("{}\n", "0123456".repeat(20)).repeat(1_000) + "end";
        let pieces: Vec<&str> = in_pieces(&text).collect();
        assert!(pieces.len() > 5 && pieces.concat() == text);
        assert!(pieces[..pieces.len() - 1].iter().all(|piece| piece.ends_with('\n')));
        let long = "x".repeat(100_000) + "\ny";
        assert_eq!(in_pieces(&long).map(str::len).collect::<Vec<_>>(), [100_001, 1]);
        assert_eq!(in_pieces("").count(), 0);
    }

    #[test]
    fn numbers_for_people() {
        let counts = [0, 12, 999, 1_000, 12_345, 1_234_567].map(|n| Count(n).to_string());
        assert_eq!(counts, ["0", "12", "999", "1,000", "12,345", "1,234,567"]);
        let sizes = [0, 1_023, 1_536, 64 << 20, 5 << 30].map(|n| Bytes(n).to_string());
        assert_eq!(sizes, ["0 B", "1023 B", "1.5 KiB", "64.0 MiB", "5.0 GiB"]);
    }
}
