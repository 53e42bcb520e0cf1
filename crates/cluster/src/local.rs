//! Several processes on this machine: starts them, waits for the answer of the first, and ends the rest.

use std::ffi::OsString;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
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
        if process > 0 {
            child.stdout(Stdio::null()).stderr(Stdio::piped());
        }
        match child.spawn() {
            Ok(child) => children.push(child),
            Err(error) => {
                children.iter_mut().for_each(end);
                return Err(error);
            }
        }
    }
    wait(children, asked)
}

/// Waits for process 0, and a little longer for the others.
fn wait(mut children: Vec<Child>, asked: fn() -> bool) -> io::Result<Ended> {
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
    for (process, mut child) in children.into_iter().enumerate() {
        let ended = child.try_wait()?;
        if ended.is_none() {
            end(&mut child);
        }
        let status = child.wait()?;
        statuses.push(ended);
        complaints.extend(complaint(process, ended.map(|_| status), child));
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

/// What is to be said about a process that ended badly.
fn complaint(process: usize, status: Option<ExitStatus>, child: Child) -> Option<String> {
    let mut text = String::new();
    let status = status?;
    if let Some(signal) = status.signal() {
        return Some(format!("process {process} was ended by signal {signal}"));
    }
    if status.code() == Some(2) {
        child.stderr?.take(1 << 16).read_to_string(&mut text).ok()?;
        let text = text.trim_end().trim_start_matches("error: ");
        return (!text.is_empty()).then(|| format!("process {process}: {text}"));
    }
    None
}

fn interrupt(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::INT);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
