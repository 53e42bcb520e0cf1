//! What the library tells: lines of words, written to the descriptor that the configuration names.
//!
//! - `module BASE END PATH`: where a file is mapped, so that addresses can be looked up;
//! - `shared ADDR LEN`: bytes that were found to be shared between threads, so that each access to
//!   them is a step, from the next exploration on, which `again` announces;
//! - `finding N KIND THREAD PLACE EXECUTION TOKEN TEXT`: the first execution that shows something,
//!   counted from 1; `THREAD` or `PLACE` is `-` if it has none. The token replays it with the bytes
//!   that were shared before the last `again`; it is `-` if the execution was one to learn from;
//! - `overtaking N MODEL STORE ACCESS EXECUTION TOKEN FENCES`: the first execution in which a monitor
//!   says that an access can overtake a store, and the fences any one of which prevents it;
//! - `overtaken N TIMES`: at the end, how many executions showed overtaking N;
//! - `unserializable EXECUTION TOKEN TIMES`: at the end, the first execution that is not serializable,
//!   and how many are not;
//! - `token N EXECUTION TOKEN`: a token for a finding, or one that is right after `again`;
//! - `seen N TIMES`: at the end, how many executions showed finding N since the last `again`;
//! - `diverged STEP THREAD`: a token was not followed;
//! - `unsupported WHAT PLACE`: something that the program does and the library cannot;
//! - `cut EXECUTIONS`: at the end, how many executions had more steps than they may, or hung;
//! - `idle TIMES`: at the end, how often a thread was taken to wait without certainty;
//! - `progress EXECUTIONS STEPS`, and as the last line
//!   `done complete|incomplete|limit|timeout|defect EXECUTIONS STEPS`;
//! - `defect TEXT`: the library itself failed.
//!
//! Places are `N+0xOFFSET`, where N is the number of a module, from 0.

use core::fmt::Write;

use weakspot_live::{Extra, preventing};

use crate::runtime::Runtime;
use crate::sys;

/// A file that is mapped.
pub struct Module {
    /// The lowest address, to which offsets are relative.
    pub base: usize,
    /// The end of the mapping.
    pub end: usize,
    /// The file.
    pub path: String,
}

/// Something that was found, once for all executions that show it.
pub struct Finding {
    number: usize,
    kind: &'static str,
    place: String,
    text: String,
    times: u64,
    /// Whether there is a token for it that is right.
    replayable: bool,
}

/// Writes a line. `words` has no end of line.
pub fn line(fd: i32, words: &str) {
    let mut bytes = words.as_bytes().to_vec();
    bytes.push(b'\n');
    sys::write_all(fd, &bytes);
}

/// A word of a line: blanks, `%` and what is not printable are written as `%XX`; never empty.
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    for &b in text.as_bytes() {
        if b.is_ascii_graphic() && b != b'%' {
            out.push(b as char);
        } else {
            let _ = write!(out, "%{b:02X}");
        }
    }
    if out.is_empty() { "-".to_owned() } else { out }
}

/// An address as people can look it up in any run.
pub unsafe fn place(rt: *const Runtime, pc: usize) -> String {
    if pc == 0 {
        return "-".to_owned();
    }
    let modules = &(*rt).modules;
    match modules.iter().enumerate().find(|(_, m)| (m.base..m.end).contains(&pc)) {
        Some((n, m)) => format!("{n}+{:#x}", pc - m.base),
        None => format!("{pc:#x}"),
    }
}

/// Reports something that an execution showed; only its first time is a line.
pub unsafe fn finding(
    rt: *mut Runtime,
    kind: &'static str,
    thread: Option<usize>,
    pc: usize,
    text: &str,
) {
    let place = place(rt, pc);
    let findings = &mut (*rt).findings;
    let known = findings.iter_mut().find(|f| f.kind == kind && f.place == place && f.text == text);
    let (fd, execution) = ((*rt).config.fd, (*rt).executions + 1);
    let token = if (*rt).learning { "-".to_owned() } else { (*rt).schedule.to_string() };
    if let Some(known) = known {
        known.times += 1;
        if !known.replayable && !(*rt).learning {
            known.replayable = true;
            let number = known.number;
            line(fd, &format!("token {number} {execution} {token}"));
        }
        return;
    }
    let number = findings.len() + 1;
    findings.push(Finding {
        number,
        kind,
        place: place.clone(),
        text: text.to_owned(),
        times: 1,
        replayable: !(*rt).learning,
    });
    let thread = thread.map_or("-".to_owned(), |t| t.to_string());
    let text = escape(text);
    line(fd, &format!("finding {number} {kind} {thread} {place} {execution} {token} {text}"));
}

/// Reports the last `new` findings of the monitors.
pub unsafe fn overtakings(rt: *mut Runtime, new: usize) {
    let Some(watch) = &(*rt).watch else { return };
    let findings = watch.findings();
    let first = findings.len() - new;
    let execution = (*rt).executions + 1;
    for (i, f) in findings.iter().enumerate().skip(first) {
        let at = |pc: u64| place(rt, pc as usize);
        let fences = preventing(watch.steps(), f, watch.extra());
        let fences: Vec<String> = fences
            .into_iter()
            .map(|fence| match fence {
                Extra::After(pc) => format!("a{}", at(pc)),
                Extra::Before(pc) => format!("b{}", at(pc)),
            })
            .collect();
        let fences = if fences.is_empty() { "-".to_owned() } else { fences.join(",") };
        let (model, store, access) = (f.model, at(f.store), at(f.access));
        let token = (*rt).schedule.to_string();
        let n = i + 1;
        let text = format!("overtaking {n} {model} {store} {access} {execution} {token} {fences}");
        line((*rt).config.fd, &text);
    }
}

/// Reports once that the program does something that the library cannot.
pub unsafe fn unsupported(rt: *mut Runtime, what: &'static str, pc: usize) {
    if !(*rt).unsupported.contains(&what) {
        (*rt).unsupported.push(what);
        let place = place(rt, pc);
        line((*rt).config.fd, &format!("unsupported {what} {place}"));
    }
}

/// The files that are mapped.
pub unsafe fn modules(rt: *const Runtime) {
    for m in &(*rt).modules {
        let path = escape(&m.path);
        line((*rt).config.fd, &format!("module {:#x} {:#x} {path}", m.base, m.end));
    }
}

/// The exploration starts again: tokens and counts that were told mean nothing any more.
pub unsafe fn again(rt: *mut Runtime) {
    line((*rt).config.fd, "again");
    for f in &mut (*rt).findings {
        f.times = 0;
        f.replayable = false;
    }
}

/// Bytes turn out to be shared.
pub unsafe fn shared(rt: *const Runtime, addr: usize, len: usize) {
    line((*rt).config.fd, &format!("shared {addr:#x} {len:#x}"));
}

/// How far it is. The keeper says that while the worker runs, so nothing may be allocated.
pub unsafe fn progress(rt: *const Runtime) {
    struct Text([u8; 80], usize);
    impl Write for Text {
        fn write_str(&mut self, s: &str) -> core::fmt::Result {
            let end = self.1 + s.len();
            self.0.get_mut(self.1..end).ok_or(core::fmt::Error)?.copy_from_slice(s.as_bytes());
            self.1 = end;
            Ok(())
        }
    }
    let mut text = Text([0; 80], 0);
    if writeln!(text, "progress {} {}", (*rt).executions, (*rt).all_steps).is_ok() {
        sys::write_all((*rt).config.fd, &text.0[..text.1]);
    }
}

/// The last lines.
pub unsafe fn done(rt: *const Runtime, how: &str) {
    let fd = (*rt).config.fd;
    for (i, f) in (&(*rt).findings).iter().enumerate() {
        line(fd, &format!("seen {} {}", i + 1, f.times));
    }
    if let Some(watch) = &(*rt).watch {
        for (i, f) in watch.findings().iter().enumerate() {
            line(fd, &format!("overtaken {} {}", i + 1, f.executions));
        }
        let (times, first) = watch.unserializable();
        if times > 0 {
            let token = &(*rt).unserializable;
            line(fd, &format!("unserializable {} {token} {times}", first + 1));
        }
    }
    if (*rt).cut > 0 {
        line(fd, &format!("cut {}", (*rt).cut));
    }
    if (*rt).guesses > 0 {
        line(fd, &format!("idle {}", (*rt).guesses));
    }
    line(fd, &format!("done {how} {} {}", (*rt).executions, (*rt).all_steps));
}
