//! A program under control, as a child of this process.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, pipe};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;
use weakspot_build::runtime;
use weakspot_live::Parts;
use weakspot_live::wire::{Config, Message, VARIABLE};

use crate::facts::naming::Naming;
use crate::{Ended, Error, Record, Result, Runtime, Shared, Start};

mod workers;

/// How long the library has to end by itself: after its time is over, and when it is asked to.
const OVERTIME: Duration = Duration::from_secs(5);
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often somebody looks whether an end is wanted.
const LOOK: Duration = Duration::from_millis(50);

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// What it is called.
    pub name: String,
    /// Where it runs, if not here.
    pub folder: Option<PathBuf>,
    /// Where its sources are named from, if not from here.
    pub root: Option<PathBuf>,
    /// What it finds in its environment.
    pub variables: Vec<(&'static str, OsString)>,
    /// Whether it was written in Rust, and made by cargo.
    pub rust: bool,
    /// Whether it is one test in its harness.
    pub harness: bool,
    /// What was linked into it by others than Rust's compiler.
    pub linked: Linked,
}

impl Program {
    /// What its sources are called.
    #[must_use]
    pub fn naming(&self) -> Naming {
        Naming::of(self.root.as_deref())
    }
}

/// What is known of code in a Rust program that its compiler has not instrumented.
#[derive(Clone, Debug)]
pub struct Linked {
    /// Archives and objects that build scripts have made or found.
    pub archives: Vec<PathBuf>,
    /// Assembly that no trap finds: the symbol of the function that it is in, and what to say about it.
    pub assembly: Vec<(String, String)>,
}

impl Linked {
    /// No archives and no assembly.
    #[must_use]
    pub fn nothing() -> Linked {
        Linked { archives: Vec::new(), assembly: Vec::new() }
    }
}

/// The program with the library inside of it.
#[derive(Clone, Copy)]
pub struct Child<'a> {
    /// The program.
    pub program: &'a Program,
    /// The folder with the runtime library.
    pub runtime: &'a Path,
    /// Whether anything that it prints is shown, on standard error.
    pub shown: bool,
    /// Whether it runs in a new folder, which is removed after it.
    pub scratch: bool,
    /// Where explorations in parts are kept, if anywhere.
    pub record: Option<&'a Record<'a>>,
}

impl Runtime for Child<'_> {
    fn run(&self, start: &Start<'_>, hear: &mut dyn FnMut(Message) -> bool) -> Result<Ended> {
        let (reader, writer) = pipe().map_err(Error::because("failed to make a pipe"))?;
        let config = Config { report: Some(name_of(&writer)), ..start.config.clone() };
        let (mut child, _scratch) = self.begin(&config, start.output)?;
        let lines = listen(reader);
        let ended = child.follow(start, &lines, hear);
        let status = child.end()?;
        drop(writer);
        // What was reported before it ended, unless nobody wants to hear more.
        let mut ended = ended?;
        for line in lines {
            if ended == Some(Ended::Heard) {
                break;
            }
            if tell(&line, hear)? != Heard::More {
                ended.get_or_insert(Ended::Heard);
            }
        }
        Ok(ended.unwrap_or_else(|| silent(status, start.stop)))
    }

    fn run_parts(
        &self,
        start: &Start<'_>,
        workers: usize,
        parts: &mut Parts,
        hear: &mut dyn FnMut(usize, Message) -> bool,
    ) -> Result<Shared> {
        workers::run(self, start, workers, parts, hear)
    }

    fn is_kept(&self) -> bool {
        self.record.is_some()
    }
}

impl Child<'_> {
    /// Starts the program; the folder that is made for it goes with what is returned.
    fn begin(&self, config: &Config, output: bool) -> Result<(Group, Option<TempDir>)> {
        let mut command = self.command(config, self.shown && output)?;
        let failed = "failed to make a folder for the program to run in";
        let scratch = self.scratch.then(|| {
            tempfile::Builder::new().prefix("weakspot-").tempdir().map_err(Error::because(failed))
        });
        let scratch = scratch.transpose()?;
        if let Some(folder) = &scratch {
            command.current_dir(folder.path()).env("TMPDIR", folder.path());
        }
        Ok((Group::start(command, &self.program.name)?, scratch))
    }

    fn command(&self, config: &Config, shown: bool) -> Result<Command> {
        let Program { command, folder, .. } = self.program;
        let [program, args @ ..] = &command[..] else {
            return Err(Error::new("no program was named"));
        };
        // Answers go to standard output.
        let (out, err) = match shown {
            true => {
                let own = std::io::stderr().as_fd().try_clone_to_owned();
                let own = own.map_err(Error::because("failed to share standard error"))?;
                (Stdio::from(own), Stdio::inherit())
            }
            false => (Stdio::null(), Stdio::null()),
        };
        // It may run in another folder.
        let file = find(program)?;
        let mut child = Command::new(std::path::absolute(&file).unwrap_or(file));
        if let Some(folder) = folder {
            child.current_dir(folder);
        }
        child
            .args(args)
            .envs(self.environment(config))
            .stdin(input())
            .stdout(out)
            .stderr(err)
            .process_group(0);
        Ok(child)
    }
}

impl Child<'_> {
    /// What it finds in its environment, beside what is there anyway.
    pub(crate) fn environment(&self, config: &Config) -> Vec<(&'static str, OsString)> {
        let mut variables = self.program.variables.clone();
        variables.extend([
            ("LD_PRELOAD", preloaded(self.runtime)),
            ("LD_LIBRARY_PATH", libraries(self.runtime)),
            (VARIABLE, config.to_string().into()),
        ]);
        variables
    }
}

/// By this name a child opens a pipe: what it inherits would have to be inherited by all.
pub(crate) fn name_of(pipe: &impl AsRawFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), pipe.as_raw_fd())
}

/// A child and the processes that it starts, none of which outlives this.
struct Group {
    child: std::process::Child,
    ended: bool,
}

impl Group {
    fn start(mut command: Command, name: &str) -> Result<Group> {
        let child = command.spawn().map_err(Error::because(format!("failed to start {name}")))?;
        Ok(Group { child, ended: false })
    }

    /// Passes on messages while the program runs; `None` when it has ended by itself.
    fn follow(
        &mut self,
        start: &Start<'_>,
        lines: &Receiver<String>,
        hear: &mut dyn FnMut(Message) -> bool,
    ) -> Result<Option<Ended>> {
        let mut until = Instant::now() + start.most + OVERTIME;
        // Whether it was asked to end.
        let mut asked = false;
        let ended = |asked: bool| asked.then_some(Ended::Stopped);
        loop {
            match lines.recv_timeout(LOOK) {
                Ok(line) => match tell(&line, hear)? {
                    Heard::More => {}
                    Heard::Enough => return Ok(Some(Ended::Heard)),
                    Heard::Done => return Ok(Some(ended(asked).unwrap_or(Ended::Heard))),
                },
                Err(RecvTimeoutError::Timeout) => {
                    let status = self.child.try_wait();
                    if status.map_err(Error::because("failed to wait for the program"))?.is_some() {
                        return Ok(ended(asked));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(ended(asked)),
            }
            if !asked && (start.stop)() {
                asked = true;
                until = self.ask_to_end();
            }
            if Instant::now() > until {
                return Ok(Some(ended(asked).unwrap_or(Ended::Overdue)));
            }
        }
    }

    /// Asks the library for its last messages; until when they are waited for.
    fn ask_to_end(&self) -> Instant {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            // It may have ended already.
            let _ = kill_process(pid, Signal::TERM);
        }
        Instant::now() + LAST_WORDS
    }

    /// Ends all of it.
    fn end(&mut self) -> Result<ExitStatus> {
        self.kill();
        let status = self.child.wait().map_err(Error::because("failed to wait for the program"));
        self.ended = true;
        status
    }

    fn kill(&self) {
        // Workers of the program are in its group.
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
            // Nobody is left who could hear of an error.
            let _ = self.child.wait();
        }
    }
}

/// Each execution reads a file from its beginning; what comes from a terminal or a pipe could be read
/// once only.
fn input() -> Stdio {
    let own = Path::new("/proc/self/fd/0");
    let is_file = std::fs::metadata(own).is_ok_and(|data| data.is_file());
    let file = if is_file { std::fs::File::open(own).ok() } else { None };
    file.map_or(Stdio::null(), Stdio::from)
}

/// What is loaded before a program, the library first.
fn preloaded(folder: &Path) -> OsString {
    let mut preload = folder.join(runtime::NAME).into_os_string();
    if let Some(more) = std::env::var_os("LD_PRELOAD").filter(|more| !more.is_empty()) {
        preload.push(":");
        preload.push(more);
    }
    preload
}

/// Where programs look for libraries: they ask for that of the runtime, too, and have to get the same
/// file as is preloaded.
#[must_use]
pub fn libraries(runtime: &Path) -> OsString {
    let mut libraries = runtime.as_os_str().to_owned();
    if let Some(more) = std::env::var_os("LD_LIBRARY_PATH").filter(|more| !more.is_empty()) {
        libraries.push(":");
        libraries.push(more);
    }
    libraries
}

/// What a message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// One of several.
    More,
    /// The last one that is wanted.
    Enough,
    /// The last one.
    Done,
}

fn tell(line: &str, hear: &mut dyn FnMut(Message) -> bool) -> Result<Heard> {
    let message = Message::parse(line)
        .map_err(Error::because("the runtime library said something that is not understood"))?;
    let done = matches!(message, Message::Done { .. });
    Ok(match hear(message) {
        _ if done => Heard::Done,
        true => Heard::Enough,
        false => Heard::More,
    })
}

/// The lines of the pipe. A thread of its own reads them, so that others can look at the clock.
fn listen(pipe: std::io::PipeReader) -> Receiver<String> {
    let (sender, receiver) = channel();
    pass_on(pipe, move |line| sender.send(line).is_ok());
    receiver
}

/// Passes on the lines of a pipe as long as somebody wants them.
fn pass_on(pipe: std::io::PipeReader, to: impl Fn(String) -> bool + Send + 'static) {
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).is_ok_and(|len| len > 0) {
            // Without its end it was cut off: who wrote it is not there any more.
            if line.pop() != Some(b'\n') {
                break;
            }
            let text = String::from_utf8_lossy(&line).into_owned();
            if !to(text) {
                break;
            }
            line.clear();
        }
    });
}

/// The file of a program: as it is named, or in the folders of PATH.
pub(crate) fn find(program: &OsString) -> Result<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Ok(path.to_owned());
    }
    if path.is_file() {
        // Without a folder it would be looked for in PATH only.
        return Ok(Path::new(".").join(path));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .map(|folder| folder.join(path))
        .find(|file| file.is_file())
        .ok_or_else(|| Error::new(format!("there is no program {}", program.display())))
}

/// How a program has ended that did not say so. Until it has a process group of its own, it gets what is sent to ours, such as
/// Ctrl-C: that is not its end, but a wish of the user, of which we may hear a little later.
fn silent(status: ExitStatus, stop: &dyn Fn() -> bool) -> Ended {
    const LATER: Duration = Duration::from_millis(200);
    let wishes = [Signal::HUP, Signal::INT, Signal::TERM].map(Signal::as_raw);
    let wish = status.signal().is_some_and(|signal| wishes.contains(&signal));
    let since = Instant::now();
    while wish && !stop() && since.elapsed() < LATER {
        std::thread::sleep(Duration::from_millis(5));
    }
    if wish && stop() { Ended::Stopped } else { Ended::Silent(status_text(status)) }
}

/// How a program ended, in words.
#[must_use]
pub fn status_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::silent;
    use crate::runtime::Ended;

    #[test]
    fn who_sends_a_signal_to_all_wants_an_end() {
        let ended = |signal, stop: bool| silent(ExitStatus::from_raw(signal), &|| stop);
        assert_eq!(ended(1, true), Ended::Stopped);
        assert_eq!(ended(1, false), Ended::Silent("was killed by signal 1".to_owned()));
        assert_eq!(ended(11, true), Ended::Silent("was killed by signal 11".to_owned()));
    }
}
