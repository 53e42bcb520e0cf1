//! Questions that are asked: a process of the command for each, with its limits.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::Refused;

/// So many questions are remembered, with their answers.
const MOST_KEPT: usize = 16;
/// How large answers may be, in bytes.
const MOST_ANSWER: u64 = 32 * 1024 * 1024;
/// How often one looks whether an answer is there.
const TICK: Duration = Duration::from_millis(10);
/// A question is asked for up to three models, each of which has its time, and then there is some to write.
const MODELS: u32 = 3;
const WRITING: Duration = Duration::from_secs(5);

/// Languages by what the command calls them, and endings of their files, the usual one first.
const LANGUAGES: [(&str, &[&str]); 5] = [
    ("weak", &["weak"]),
    ("litmus", &["litmus"]),
    ("trencher", &["txt", "tso"]),
    ("memorax", &["rmm"]),
    ("c", &["c"]),
];

const QUESTIONS: [&str; 4] = ["robust", "reach", "litmus", "fence"];

/// The language of files that end so.
pub(crate) fn language_of(ending: &str) -> &'static str {
    LANGUAGES.iter().find(|(_, endings)| endings.contains(&ending)).map_or("weak", |found| found.0)
}

/// All questions.
pub(crate) struct Questions {
    command: PathBuf,
    timeout: Duration,
    memory: u64,
    most: usize,
    asked: Mutex<(u64, BTreeMap<u64, Arc<Question>>)>,
}

/// One that is worked on, or was.
struct Question {
    since: Instant,
    file: String,
    is_stopped: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last line that the process said.
    said: String,
    /// When it has ended: the answers, one object a line, and how long that took.
    done: Option<(Vec<String>, Duration)>,
}

/// What is in there is whole after each change.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Questions {
    pub(crate) fn new(command: PathBuf, timeout: Duration, memory: u64, most: usize) -> Questions {
        Questions { command, timeout, memory, most, asked: Mutex::default() }
    }

    /// Begins to answer a question, and says its number.
    pub(crate) fn ask(&self, text: &str, language: &str, question: &str) -> Result<u64, Refused> {
        let known = LANGUAGES.iter().find(|(name, _)| *name == language);
        let &(language, endings) = known.ok_or(Refused::Because(400, "no such language"))?;
        let question = QUESTIONS.iter().find(|name| **name == question);
        let &question = question.ok_or(Refused::Because(400, "no such question"))?;
        let mut asked = locked(&self.asked);
        let is_open = |q: &Arc<Question>| locked(&q.state).done.is_none();
        if asked.1.values().filter(|q| is_open(q)).count() >= self.most {
            return Err(Refused::Because(429, "other questions are worked on: wait, or stop them"));
        }
        while asked.1.len() >= MOST_KEPT + self.most {
            let Some(oldest) = asked.1.iter().find(|(_, q)| !is_open(q)).map(|(&id, _)| id) else {
                break;
            };
            asked.1.remove(&oldest);
        }
        let file = format!("program.{}", endings[0]);
        let failed =
            Refused::Because(500, "the question cannot be asked: no folder, or no process");
        let folder = tempfile::tempdir().map_err(|_| failed)?;
        std::fs::write(folder.path().join(&file), text).map_err(|_| failed)?;
        let child = self.start(folder.path(), (question, language), &file).map_err(|_| failed)?;
        let asking = Arc::new(Question {
            since: Instant::now(),
            file,
            is_stopped: AtomicBool::new(false),
            state: Mutex::default(),
        });
        asked.0 += 1;
        let id = asked.0;
        asked.1.insert(id, asking.clone());
        drop(asked);
        let until = Instant::now() + self.timeout * MODELS + WRITING;
        std::thread::spawn(move || follow(&asking, child, &folder, until));
        Ok(id)
    }

    /// The command, in a folder with nothing but the program.
    fn start(
        &self,
        folder: &Path,
        (question, language): (&str, &str),
        file: &str,
    ) -> std::io::Result<Child> {
        let mut command = Command::new(&self.command);
        command.current_dir(folder).arg(question).args(["--input-format", language]);
        command.args(["--threads", "1", "--progress", "always", "--color", "never"]);
        command.args(["--timeout", &format!("{}ms", self.timeout.as_millis())]);
        command.args(["--memory", &self.memory.to_string(), "--report", ANSWERS, file]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    }

    /// How it stands with a question.
    pub(crate) fn state(&self, id: u64) -> Option<Value> {
        let question = locked(&self.asked).1.get(&id)?.clone();
        let state = locked(&question.state);
        Some(match &state.done {
            Some((lines, took)) => json!({
                "done": true, "lines": lines, "file": question.file, "said": state.said,
                "stopped": question.is_stopped.load(Ordering::Relaxed), "seconds": took.as_secs_f64(),
            }),
            None => json!({
                "done": false, "progress": state.said,
                "seconds": question.since.elapsed().as_secs_f64(),
            }),
        })
    }

    /// Ends a question; whether there is such a one.
    pub(crate) fn stop(&self, id: u64) -> bool {
        let asked = locked(&self.asked);
        let question = asked.1.get(&id);
        question.inspect(|q| q.is_stopped.store(true, Ordering::Relaxed)).is_some()
    }

    /// Ends all of them, and returns when they have ended.
    pub(crate) fn end(&self) {
        let asked = locked(&self.asked);
        for question in asked.1.values() {
            question.is_stopped.store(true, Ordering::Relaxed);
        }
        let until = Instant::now() + Duration::from_secs(1);
        let is_open = |q: &Arc<Question>| locked(&q.state).done.is_none();
        while asked.1.values().any(is_open) && Instant::now() < until {
            std::thread::sleep(TICK);
        }
    }
}

const ANSWERS: &str = "answers.jsonl";

/// Hears what the process says until it has ended, and ends it when it is time.
fn follow(question: &Arc<Question>, mut child: Child, folder: &tempfile::TempDir, until: Instant) {
    if let Some(said) = child.stderr.take() {
        let question = question.clone();
        std::thread::spawn(move || hear(&question, said));
    }
    while let Ok(None) = child.try_wait() {
        if question.is_stopped.load(Ordering::Relaxed) || Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            break;
        }
        std::thread::sleep(TICK);
    }
    let path = folder.path().join(ANSWERS);
    let is_small = std::fs::metadata(&path).is_ok_and(|m| m.len() <= MOST_ANSWER);
    let text = if is_small { std::fs::read_to_string(path).ok() } else { None };
    let lines = text.unwrap_or_default().lines().map(str::to_owned).collect();
    locked(&question.state).done = Some((lines, question.since.elapsed()));
}

/// The last line that is said, which is the progress. Lines may be drawn over each other.
fn hear(question: &Question, said: impl Read) {
    let mut line = String::new();
    for byte in BufReader::new(said).bytes().map_while(Result::ok) {
        match byte {
            b'\n' | b'\r' => {
                if !line.trim().is_empty() {
                    locked(&question.state).said = plain(&line);
                }
                line.clear();
            }
            // Nobody reads more of a line.
            byte if line.len() < 500 && byte.is_ascii() => line.push(char::from(byte)),
            _ => {}
        }
    }
}

/// Without what moves the cursor.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\x1b') {
        out += before;
        let end = after.find(|c: char| c.is_ascii_alphabetic());
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    (out + rest).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_colours() {
        assert_eq!(plain("\x1b[2K reach: 3\x1b[1m0\x1b[0m s "), "reach: 30 s");
        assert_eq!(plain("\x1b"), "");
    }

    #[test]
    fn languages() {
        assert_eq!((language_of("tso"), language_of("c")), ("trencher", "c"));
        assert_eq!(language_of("unknown"), "weak");
    }
}
