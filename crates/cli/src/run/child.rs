//! A program under control, as a child of this one.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, pipe};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use weakspot_build::runtime;
use weakspot_live::wire::Message;

use super::Subject;
use crate::args::ProgramOutput;
use crate::pool;

/// How the program is started.
pub(crate) struct Start<'a> {
    pub(crate) subject: &'a Subject,
    /// The folder with the runtime library.
    pub(crate) runtime: &'a Path,
    pub(crate) output: ProgramOutput,
    /// How long it may take, with some time to end by itself.
    pub(crate) timeout: Duration,
}

/// Why the messages end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The library said so, or we did not want to hear more.
    Heard,
    /// Ctrl-C.
    Interrupted,
    /// It did not end in time by itself.
    Overdue,
    /// The program ended without a last message.
    Silent(ExitStatus),
}

/// Runs the program with this configuration and passes on what is reported, until `hear` says that
/// it has heard enough.
pub(crate) fn run(
    start: &Start<'_>,
    config: &str,
    hear: &mut dyn FnMut(Message) -> bool,
) -> Result<Ended> {
    let (reader, writer) = pipe().context("cannot make a pipe")?;
    // The child opens the pipe by this name: what it inherits would have to be inherited by all.
    let report = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
    let Subject { command, folder, variables, .. } = start.subject;
    let [program, args @ ..] = &command[..] else { bail!("no program was named") };
    let library = start.runtime.join(runtime::NAME);
    let mut preload = library.into_os_string();
    if let Some(more) = std::env::var_os("LD_PRELOAD").filter(|more| !more.is_empty()) {
        preload.push(":");
        preload.push(more);
    }
    let shown = || {
        if start.output == ProgramOutput::None { Stdio::null() } else { Stdio::inherit() }
    };
    let mut child = Command::new(find(program)?);
    if let Some(folder) = folder {
        child.current_dir(folder);
    }
    let mut child = child
        .args(args)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .env("LD_PRELOAD", preload)
        .env("LD_LIBRARY_PATH", libraries(start.runtime))
        .env("WEAKSPOT_RUN", format!("report={report} {config}"))
        .stdin(input())
        // Answers go to standard output.
        .stdout(if start.output == ProgramOutput::None {
            Stdio::null()
        } else {
            Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?)
        })
        .stderr(shown())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let lines = listen(reader);
    let ended = follow(&mut child, start.timeout, &lines, hear);
    // Workers of the program are in its group.
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = child.wait().context("cannot wait for the program")?;
    drop(writer);
    // What was reported before it ended.
    let mut ended = ended?;
    for line in lines {
        if ended.is_none() && tell(&line, hear)? {
            ended = Some(Ended::Heard);
        }
    }
    Ok(ended.unwrap_or(Ended::Silent(status)))
}

/// Each execution reads a file from its beginning; what comes from a terminal or a pipe could be read
/// once only.
fn input() -> Stdio {
    let own = Path::new("/proc/self/fd/0");
    let is_file = std::fs::metadata(own).is_ok_and(|data| data.is_file());
    let file = if is_file { std::fs::File::open(own).ok() } else { None };
    file.map_or(Stdio::null(), Stdio::from)
}

/// Where programs look for libraries: they ask for that of the runtime, too, and have to get the same
/// file as is preloaded.
pub(crate) fn libraries(runtime: &Path) -> OsString {
    let mut libraries = runtime.as_os_str().to_owned();
    if let Some(more) = std::env::var_os("LD_LIBRARY_PATH").filter(|more| !more.is_empty()) {
        libraries.push(":");
        libraries.push(more);
    }
    libraries
}

/// Passes on messages while the program runs; `None` when it has ended by itself.
fn follow(
    child: &mut Child,
    timeout: Duration,
    lines: &Receiver<String>,
    hear: &mut dyn FnMut(Message) -> bool,
) -> Result<Option<Ended>> {
    let until = Instant::now() + timeout;
    loop {
        match lines.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => {
                if tell(&line, hear)? {
                    return Ok(Some(Ended::Heard));
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                if child.try_wait().context("cannot wait for the program")?.is_some() {
                    return Ok(None);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
        if pool::interrupted() {
            return Ok(Some(Ended::Interrupted));
        }
        if Instant::now() > until {
            return Ok(Some(Ended::Overdue));
        }
    }
}

/// Whether it was the last message, or the last one that is wanted.
fn tell(line: &str, hear: &mut dyn FnMut(Message) -> bool) -> Result<bool> {
    match Message::parse(line) {
        Ok(message) => {
            let last = matches!(message, Message::Done { .. });
            Ok(hear(message) || last)
        }
        Err(error) => bail!("the runtime library said something that is not understood: {error}"),
    }
}

/// The lines of the pipe. A thread of its own reads them, so that others can look at the clock.
fn listen(pipe: std::io::PipeReader) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
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
        .with_context(|| format!("there is no program {}", program.display()))
}

/// How a program ended, in words.
pub(crate) fn status_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
