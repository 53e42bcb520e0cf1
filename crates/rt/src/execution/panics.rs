//! Programs in Rust fail by exit codes: a panic is a message on standard error, and the program, or
//! the harness of its tests, ends with a code that is not 0. The messages are kept, so that it can be
//! reported what went wrong.

use crate::Runtime;
use crate::entry::guest::Guest;

/// How much of what the program says is kept.
const KEPT: usize = 16 << 10;
/// How long the words about a failure may be.
const LONGEST: usize = 1000;
/// What all messages about panics have, before the place in the source.
const MARK: &str = "panicked at ";
/// How `main`, or a test, says that it returns an error.
const ERROR: &str = "Error: ";
/// What the harness says of a test that should panic.
const CALM: &str = "test did not panic as expected";

/// What an execution has said on standard error.
#[derive(Default)]
pub struct Said {
    bytes: Vec<u8>,
    /// Who panicked first.
    thread: Option<usize>,
    /// What else it says about why it fails.
    note: Option<String>,
}

impl Said {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.thread = None;
        self.note = None;
    }

    fn add(&mut self, thread: usize, bytes: &[u8]) {
        let mark = |text: &[u8]| text.windows(MARK.len()).any(|part| part == MARK.as_bytes());
        if self.thread.is_none() {
            // What was said before is of no use.
            if !mark(bytes) {
                return;
            }
            self.thread = Some(thread);
        }
        let room = KEPT.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Keeps what the program says about why it fails without a panic.
    fn add_note(&mut self, bytes: &[u8]) {
        // What it is comes in other pieces.
        if bytes.starts_with(ERROR.as_bytes()) {
            self.note = Some("returns an error".to_owned());
        } else if bytes.windows(CALM.len()).any(|part| part == CALM.as_bytes()) {
            self.note = Some(CALM.to_owned());
        }
    }

    /// Why the program says that it fails, if not by a panic.
    pub fn note(&self) -> Option<String> {
        self.note.clone()
    }

    /// Who panicked first.
    pub fn thread(&self) -> Option<usize> {
        self.thread
    }

    /// The panics, on one line.
    pub fn panics(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let mut panics: Vec<String> = text.split(MARK).skip(1).map(panic).collect();
        panics.dedup();
        let mut all = panics.join("; then ");
        if let Some((end, _)) = all.char_indices().nth(LONGEST) {
            all.truncate(end);
            all.push('…');
        }
        all
    }
}

/// One panic: its place and its message, up to the next line that is not part of it.
fn panic(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let own = |line: &&str| !(line.starts_with("note: run with") || line.starts_with("thread '"));
    let lines: Vec<&str> = lines.take_while(own).filter(|line| !line.is_empty()).collect();
    match &lines[..] {
        [place, message @ ..] => format!("{place} {}", message.join(", ")).trim_end().to_owned(),
        [] => String::new(),
    }
}

impl Runtime {
    /// The program writes to a descriptor: what it says on standard error is kept.
    pub fn hear(&mut self, fd: i32, from: Guest<u8>, len: usize) {
        let kept = [libc::STDERR_FILENO, libc::STDOUT_FILENO].contains(&fd);
        if kept && len < isize::MAX as usize {
            // SAFETY: the program passes so many bytes to be written, and nobody changes them now.
            let bytes = unsafe { core::slice::from_raw_parts(from.pointer(), len) };
            if self.config.harness {
                self.said.add_note(bytes);
            }
            if fd == libc::STDERR_FILENO {
                self.said.add(self.threads.current(), bytes);
            }
        }
    }

    /// The same in parts.
    pub fn hear_parts(&mut self, fd: i32, parts: Guest<libc::iovec>, n: i32) {
        for (from, len) in parts_of(parts, n) {
            self.hear(fd, from, len);
        }
    }
}

/// The addresses and lengths of so many parts, of which the kernel takes no more than 1,024.
pub fn parts_of(parts: Guest<libc::iovec>, n: i32) -> Vec<(Guest<u8>, usize)> {
    let part = |i| {
        // SAFETY: the program passes an array of so many parts, each an address and a length.
        unsafe {
            let part = parts.pointer().add(i).read_unaligned();
            (Guest::at(part.iov_base as usize), part.iov_len)
        }
    };
    (0..usize::try_from(n).unwrap_or(0).min(1024)).map(part).collect()
}
