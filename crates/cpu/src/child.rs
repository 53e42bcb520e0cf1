//! Compiles a test and runs it in a child process.

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use weakspot_core::{Limit, Limits};

use crate::{Histogram, Runnable};

/// So often it is looked whether it is time to stop.
const LOOK: Duration = Duration::from_millis(20);

/// The signals that say what went wrong.
const SIGILL: i32 = 4;

/// How a test is run.
pub struct Asked<'a> {
    /// How often.
    pub runs: u64,
    /// How long, and with how much memory.
    pub limits: Limits,
    /// Whether somebody has asked for an end.
    pub stop: &'a dyn Fn() -> bool,
    /// Hears how many runs are done.
    pub progress: &'a dyn Fn(u64),
}

/// Why a test was not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotRun(pub String);

impl fmt::Display for CannotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Runs a test.
///
/// # Errors
///
/// This CPU is no x86, there is no compiler, or the test does not run.
pub fn run(test: &Runnable, asked: &Asked<'_>) -> Result<Histogram, CannotRun> {
    if !cfg!(target_arch = "x86_64") {
        return Err(CannotRun("this CPU is no x86: tests cannot be run on it".to_owned()));
    }
    let failed = |what: &str| {
        let what = what.to_owned();
        move |e: std::io::Error| CannotRun(format!("{what}: {e}"))
    };
    let limits = asked.limits.begin();
    let folder = tempfile::Builder::new().prefix("weakspot-cpu-").tempdir();
    let folder = folder.map_err(failed("cannot make a temporary folder"))?;
    let (source, program) = (folder.path().join("test.c"), folder.path().join("test"));
    std::fs::write(&source, &test.source).map_err(failed("cannot write the test as C"))?;
    compile(&source, &program)?;
    let memory = limits.memory.unwrap_or(u64::MAX);
    let child = Command::new(&program)
        .args([asked.runs.to_string(), memory.to_string()])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // Ctrl-C is for the command, which tells what was seen so far.
        .process_group(0)
        .spawn();
    let mut child = Running(child.map_err(failed("cannot start the test that was compiled"))?);
    let histogram = follow(&mut child, test, asked, &limits)?;
    Ok(histogram)
}

/// The compiler that the user names in `WEAKSPOT_CC`, or gcc.
fn compile(source: &Path, program: &Path) -> Result<(), CannotRun> {
    let named = std::env::var_os("WEAKSPOT_CC");
    let compiler = named.clone().unwrap_or_else(|| OsString::from("gcc"));
    let done = Command::new(&compiler)
        .args(["-O1", "-pthread", "-w", "-fno-strict-aliasing", "-z", "noexecstack", "-o"])
        .args([program, source])
        .stdin(Stdio::null())
        .output();
    let name = compiler.display();
    match done {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            let first = said.lines().find(|line| line.contains("rror")).unwrap_or_default();
            // The place is one in a file that is gone.
            let what = first.split_once("rror: ").map_or(first, |(_, what)| what);
            Err(CannotRun(format!("{name} cannot compile the test: {what}")))
        }
        Err(e) if e.kind() == ErrorKind::NotFound && named.is_none() => Err(CannotRun(
            "to run tests on this CPU takes gcc, which is not there; install it, or name another \
             compiler in WEAKSPOT_CC"
                .to_owned(),
        )),
        Err(e) => Err(CannotRun(format!("cannot start {name}: {e}"))),
    }
}

/// A child that does not outlive this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follow(
    child: &mut Running,
    test: &Runnable,
    asked: &Asked<'_>,
    limits: &Limits,
) -> Result<Histogram, CannotRun> {
    let Some(out) = child.0.stdout.take() else {
        return Err(CannotRun("cannot hear what the test says".to_owned()));
    };
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            if line.map(|line| sender.send(line).is_err()).unwrap_or(true) {
                return;
            }
        }
    });
    let mut histogram = Histogram::default();
    // The states of a round count when all of them have come.
    let mut round: Vec<(u64, Vec<i64>)> = Vec::new();
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                let bad = || CannotRun(format!("the test said `{line}`, which means nothing"));
                match heard(&line, test.components).ok_or_else(bad)? {
                    Heard::State(count, state) => round.push((count, state)),
                    Heard::Runs(runs) => {
                        for (count, state) in round.drain(..) {
                            *histogram.states.entry(state).or_default() += count;
                        }
                        histogram.runs = runs;
                        (asked.progress)(runs);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let limit = if (asked.stop)() { Err(Limit::Interrupted) } else { limits.check(0) };
        if let Err(limit) = limit {
            histogram.stopped = Some(limit);
            return Ok(histogram);
        }
    }
    let status = child.0.wait().map_err(|e| CannotRun(format!("cannot wait for the test: {e}")))?;
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(histogram),
        (Some(5), _) => {
            histogram.stopped = Some(Limit::Memory(limits.memory.unwrap_or(u64::MAX)));
            Ok(histogram)
        }
        (_, Some(SIGILL)) => {
            Err(CannotRun("this CPU does not have an instruction of the test".to_owned()))
        }
        (_, Some(signal)) => Err(CannotRun(format!("the test ended by signal {signal}"))),
        (code, _) => Err(CannotRun(format!("the test ended with code {}", code.unwrap_or(-1)))),
    }
}

enum Heard {
    State(u64, Vec<i64>),
    Runs(u64),
}

/// What a line of the child says.
fn heard(line: &str, components: usize) -> Option<Heard> {
    let mut words = line.split(' ');
    let (kind, count) = (words.next()?, words.next()?.parse().ok()?);
    match kind {
        "s" => {
            let state: Vec<i64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
            (state.len() == components).then_some(Heard::State(count, state))
        }
        "r" => words.next().is_none().then_some(Heard::Runs(count)),
        _ => None,
    }
}
