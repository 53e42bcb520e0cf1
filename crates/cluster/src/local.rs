//! Several processes on this machine: starts them, waits for the answer of the first, and ends the rest.

use std::ffi::OsString;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::token::Token;

/// How the processes ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code of process 0, which has printed the answer; `None` if it was killed.
    pub code: Option<u8>,
    /// What went wrong in which other process, for people.
    pub complaints: Vec<String>,
}

/// How long others may take after process 0 has answered.
const AFTERWARDS: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);
/// Bytes of what a process says on standard error that are kept.
const MOST_SAID: u64 = 1 << 16;
/// Which process has started this one: a variable of the environment.
const STARTER: &str = "WEAKSPOT_STARTER";

/// Starts `command` so often with these arguments and those that make one search of it, over addresses
/// that only this machine can reach, and waits for the answer. `asked` says whether somebody wants an
/// end.
///
/// # Errors
///
/// The processes cannot be started.
pub fn local(
    processes: usize,
    command: &Path,
    args: &[OsString],
    asked: fn() -> bool,
) -> io::Result<Ended> {
    let folder = tempfile::Builder::new().prefix("weakspot-cluster").tempdir()?;
    let (hosts, token) = (folder.path().join("hosts.txt"), folder.path().join("token"));
    Token::make(&token)?;
    // Ports that are free now; each process takes its own.
    let free: io::Result<Vec<_>> =
        (0..processes).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect();
    let free: io::Result<Vec<_>> = free?.iter().map(TcpListener::local_addr).collect();
    let lines: Vec<String> = free?.iter().map(|address| format!("{address}\n")).collect();
    std::fs::write(&hosts, lines.concat())?;
    let mut children = Vec::new();
    for process in 0..processes {
        let mut child = Command::new(command);
        child.args(args).arg("--hosts").arg(&hosts).arg("--token").arg(&token);
        child.arg("--process").arg(process.to_string()).stdin(Stdio::null());
        child.env(STARTER, std::process::id().to_string());
        if process > 0 {
            child.stdout(Stdio::null()).stderr(Stdio::piped());
        }
        match child.spawn() {
            Ok(child) => children.push(Started::new(child)),
            Err(error) => {
                children.iter_mut().for_each(|started| end(&mut started.child));
                return Err(error);
            }
        }
    }
    wait(children, asked)
}

/// Has this process end with the one that has started it, if that was [`local`]: nobody else would end it.
#[cfg(feature = "timely")]
pub(crate) fn end_with_starter() {
    let starter = std::env::var(STARTER).ok().and_then(|pid| pid.parse().ok());
    let Some(starter) = starter.and_then(Pid::from_raw) else { return };
    if rustix::process::getppid() == Some(starter) {
        // Without it the process goes on to its limit.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    }
}

/// A process, and what it says on standard error: read at once, so that it never waits for a reader.
struct Started {
    child: Child,
    said: Option<JoinHandle<String>>,
}

impl Started {
    fn new(mut child: Child) -> Started {
        let said = child.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                let _ = stderr.by_ref().take(MOST_SAID).read_to_end(&mut text);
                let _ = io::copy(&mut stderr, &mut io::sink());
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        Started { child, said }
    }
}

/// Waits for process 0, and a little longer for the others.
fn wait(started: Vec<Started>, asked: fn() -> bool) -> io::Result<Ended> {
    let (mut children, said): (Vec<Child>, Vec<_>) =
        started.into_iter().map(|started| (started.child, started.said)).unzip();
    let mut told = false;
    let mut first = None;
    // One that refuses what it was asked ends all.
    let mut refused = false;
    while first.is_none() && !refused {
        std::thread::sleep(LOOK);
        if asked() && !told {
            told = true;
            children.iter().for_each(interrupt);
        }
        first = children[0].try_wait()?;
        for child in &mut children[1..] {
            refused |= child.try_wait()?.is_some_and(|status| status.code() == Some(2));
        }
    }
    let until = Instant::now() + AFTERWARDS;
    while Instant::now() < until {
        if first.is_none() {
            first = children[0].try_wait()?;
        }
        let mut left = 0;
        for child in &mut children {
            left += usize::from(child.try_wait()?.is_none());
        }
        // Process 0 has the same reason to refuse, or none to wait.
        if left == 0 || refused && until.duration_since(Instant::now()) < AFTERWARDS / 2 {
            break;
        }
        std::thread::sleep(LOOK);
    }
    let mut complaints = Vec::new();
    let mut statuses = Vec::new();
    for (process, (mut child, said)) in children.into_iter().zip(said).enumerate() {
        let ended = child.try_wait()?;
        if ended.is_none() {
            end(&mut child);
        }
        let status = child.wait()?;
        statuses.push(ended);
        let said = said.and_then(|said| said.join().ok()).unwrap_or_default();
        complaints.extend(complaint(process, ended.map(|_| status), &said));
    }
    // What process 0 has said need not be said again.
    if statuses[0].is_some_and(|status| status.code() == Some(2)) {
        complaints.clear();
    }
    // Where one process refuses what it was asked, so does the whole.
    let code = match statuses[0] {
        Some(status) => status.code().and_then(|code| u8::try_from(code).ok()),
        None if refused => Some(2),
        None => None,
    };
    Ok(Ended { code, complaints })
}

/// What is to be said about a process that ended badly, with what it has said itself.
fn complaint(process: usize, status: Option<ExitStatus>, said: &str) -> Option<String> {
    let status = status?;
    if let Some(signal) = status.signal() {
        return Some(format!("process {process} was ended by signal {signal}"));
    }
    // The others are those of answers.
    if matches!(status.code(), Some(0 | 1 | 3)) {
        return None;
    }
    let text = said.trim_end().trim_start_matches("error: ");
    (!text.is_empty()).then(|| format!("process {process}: {text}"))
}

/// SIGTERM, because a shell makes what it starts in the background ignore SIGINT.
fn interrupt(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
