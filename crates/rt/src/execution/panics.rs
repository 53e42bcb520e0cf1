//! Programs in Rust fail by exit codes: a panic is a message on standard error, and the program, or
//! the harness of its tests, ends with a code that is not 0. The messages are kept, so that it can be
//! reported what went wrong.
//!
//! Others panic on purpose: somebody catches that, or joins the thread and finds an error. What fails is the last panic of
//! the thread that the program ends by. What it comes from is known by what it says: `join().unwrap()` fails with what the
//! other thread has thrown, so that its panic is what went wrong.

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

/// What a panic says because of another thread that panicked and that it has joined: what was thrown there is unwrapped, or
/// the end of a scope, or an assertion, finds it.
const OF_JOINED: [&str; 2] = ["Any { .. }", ".join().is_ok()"];
const OF_SCOPE: &str = "a scoped thread panicked";
/// What it says because of one that panicked with a lock, or with the other end of a channel.
const OF_LOCK: &str = "PoisonError { .. }";
const OF_CHANNEL: [&str; 3] = ["RecvError", "SendError", "Disconnected"];
/// What is said last where panics cannot go on, and how many there were before it.
const STOPPED: [(&str, usize); 2] =
    [("panic in a function that cannot unwind", 1), ("panic in a destructor during cleanup", 2)];
/// The exit code of programs whose `main` panics, and of the harness if a test fails.
const PANICKED: i32 = 101;

/// What an execution has said on standard error.
#[derive(Default)]
pub struct Said {
    /// In the order in which they came.
    panics: Vec<Panic>,
    /// Who has joined whom so far.
    joins: Vec<(usize, usize)>,
    /// What else it says about why it fails, and how many panics there were before.
    note: Option<(String, usize)>,
}

/// A panic that the program has told of.
struct Panic {
    thread: usize,
    /// What the thread has said since.
    bytes: Vec<u8>,
    /// So many threads were joined before.
    joins: usize,
}

/// The panic that an execution fails by.
pub struct Fails {
    /// Whose it is.
    pub thread: usize,
    /// All that belongs to it, on one line that begins with its place.
    pub text: String,
}

impl Said {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.panics.clear();
        self.joins.clear();
        self.note = None;
    }

    fn add(&mut self, thread: usize, bytes: &[u8]) {
        let mark = bytes.windows(MARK.len()).position(|part| part == MARK.as_bytes());
        let bytes = mark.map_or(bytes, |at| &bytes[at + MARK.len()..]);
        let kept: usize = self.panics.iter().map(|panic| panic.bytes.len()).sum();
        let bytes = &bytes[..bytes.len().min(KEPT.saturating_sub(kept))];
        if mark.is_some() {
            let joins = self.joins.len();
            self.panics.push(Panic { thread, bytes: bytes.to_vec(), joins });
        } else if let Some(last) = self.panics.iter_mut().rfind(|panic| panic.thread == thread) {
            // What was said before is of no use.
            last.bytes.extend_from_slice(bytes);
        }
    }

    /// Keeps what the program says about why it fails without a panic.
    fn add_note(&mut self, bytes: &[u8]) {
        // What it is comes in other pieces.
        if bytes.starts_with(ERROR.as_bytes()) {
            self.note = Some(("returns an error".to_owned(), self.panics.len()));
        } else if bytes.windows(CALM.len()).any(|part| part == CALM.as_bytes()) {
            self.note = Some((CALM.to_owned(), self.panics.len()));
        }
    }

    /// A thread has waited for the end of another one.
    pub fn joined(&mut self, thread: usize, other: usize) {
        self.joins.push((thread, other));
    }

    /// The panic by which the program ends with this code, if it does: the last of the thread that it depends on, which has
    /// caught all before it. If that has none, it goes on with what a thread has thrown that it has joined.
    pub fn fails(&self, thread: usize, code: i32) -> Option<Fails> {
        if code != PANICKED {
            return None;
        }
        let noted = self.note.as_ref().map_or(0, |(_, before)| *before);
        match self.last(thread, self.panics.len()) {
            Some(at) if self.note.is_none() || at >= noted => Some(self.with_causes(at)),
            _ if self.note.is_some() => None,
            _ => match self.of_last_joined(thread, self.joins.len()) {
                Some(at) => Some(self.with_causes(at)),
                None => self.all(),
            },
        }
    }

    /// The panic by which a thread aborts the program.
    pub fn aborts(&self, thread: usize) -> Option<Fails> {
        self.last(thread, self.panics.len()).map(|at| self.with_causes(at))
    }

    /// Why the program says that it fails, if not by a panic.
    pub fn note(&self) -> Option<String> {
        self.note.as_ref().map(|(note, _)| note.clone())
    }

    /// What else a thread ends the program by, with the panic of the thread that it has joined last, which may be the reason.
    pub fn with_reason(&self, thread: usize, words: String) -> String {
        match self.of_last_joined(thread, self.joins.len()) {
            Some(at) => shortened(format!("{words}; after {}", self.panics[at].in_words())),
            None => words,
        }
    }

    /// A panic with those that it comes from in front, and one behind that it may come from.
    fn with_causes(&self, at: usize) -> Fails {
        let mut chain = vec![at];
        loop {
            let causes = self.causes(chain[0]);
            if causes.is_empty() {
                break;
            }
            chain.splice(..0, causes);
        }
        let first = chain[0];
        let after = self.reason(first).filter(|at| !chain.contains(at));
        let mut words: Vec<String> = chain.iter().map(|&at| self.panics[at].in_words()).collect();
        words.dedup();
        if let Some(at) = after {
            words[0] += &format!("; after {}", self.panics[at].in_words());
        }
        Fails { thread: self.panics[first].thread, text: shortened(words.join("; then ")) }
    }

    /// Those before a panic that have it made happen, as it says itself: the thread has taken them from others and goes on
    /// with them, so that what they say is what went wrong.
    fn causes(&self, at: usize) -> Vec<usize> {
        let &Panic { thread, joins, .. } = &self.panics[at];
        let says = |what: &str| self.panics[at].says(what);
        if let Some((_, before)) = STOPPED.iter().find(|(what, _)| says(what)) {
            let own = (0..at).rev().filter(|&before| self.panics[before].thread == thread);
            let mut own: Vec<usize> = own.take(*before).collect();
            own.reverse();
            return own;
        }
        if OF_JOINED.iter().any(|what| says(what)) {
            let joined = self.joins[..joins].iter().rev().filter(|(who, _)| *who == thread);
            let mut panics = joined.filter_map(|&(_, other)| self.last(other, at));
            return panics.next().into_iter().collect();
        }
        if says(OF_SCOPE) {
            return self.not_taken(at).collect();
        }
        Vec::new()
    }

    /// The one before a panic that may be the reason: nobody knows whether it was on purpose.
    fn reason(&self, at: usize) -> Option<usize> {
        let panic = &self.panics[at];
        if panic.says(OF_LOCK) {
            return at.checked_sub(1);
        }
        if OF_CHANNEL.iter().any(|what| panic.says(what)) {
            return self.not_taken(at).last();
        }
        self.of_last_joined(panic.thread, panic.joins).filter(|&before| before < at)
    }

    /// The last panics of other threads before one, if nobody had joined them until then.
    fn not_taken(&self, at: usize) -> impl Iterator<Item = usize> {
        let Panic { thread, joins, .. } = self.panics[at];
        let joined = move |of: usize| self.joins[..joins].iter().any(|&(_, other)| other == of);
        (0..at).filter(move |&before| {
            let of = self.panics[before].thread;
            of != thread && !joined(of) && self.last(of, at) == Some(before)
        })
    }

    /// The panic of the thread that this one has joined last, among the first so many joins.
    fn of_last_joined(&self, thread: usize, joins: usize) -> Option<usize> {
        let (_, other) = self.joins[..joins].iter().rfind(|(who, _)| *who == thread)?;
        self.last(*other, self.panics.len())
    }

    /// The last panic of a thread among the first so many.
    fn last(&self, thread: usize, until: usize) -> Option<usize> {
        self.panics[..until].iter().rposition(|panic| panic.thread == thread)
    }

    /// All panics, if it is not known which of them matters.
    fn all(&self) -> Option<Fails> {
        let thread = self.panics.first()?.thread;
        let mut words: Vec<String> = self.panics.iter().map(Panic::in_words).collect();
        words.dedup();
        Some(Fails { thread, text: shortened(words.join("; then ")) })
    }
}

impl Panic {
    fn says(&self, what: &str) -> bool {
        self.bytes.windows(what.len()).any(|part| part == what.as_bytes())
    }

    /// Its place and its message, on one line.
    fn in_words(&self) -> String {
        panic(&String::from_utf8_lossy(&self.bytes))
    }
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
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
