//! Measurements in processes of their own, so that processor time and memory are their own, and a
//! limit that a search does not heed can be enforced from outside.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::tables::Tables;

/// What a process said.
pub(super) enum Heard {
    /// This.
    Text(String),
    /// Nothing in time; it was ended.
    Late,
    /// It failed, and how.
    Failed(String),
}

/// How often it is looked whether an end was asked for.
const TICK: Duration = Duration::from_millis(50);

/// Nothing is shown of what is done by then.
const QUIET: Duration = Duration::from_millis(500);

/// Runs this program again, with these arguments, for so long at most. `what` is measured, with this limit.
pub(super) fn ask(
    tables: &Tables<'_>,
    (what, limit): (&str, Duration),
    args: &[&str],
    patience: Duration,
) -> Result<Heard> {
    let program = std::env::current_exe().context("failed to find this program")?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to start a measurement")?;
    let mut pipe = child.stdout.take().context("failed to listen to a measurement")?;
    let (sender, receiver) = mpsc::channel();
    let listener = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = pipe.read_to_string(&mut text);
        let _ = sender.send(text);
    });
    let start = Instant::now();
    let heard = loop {
        match receiver.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout)
                if start.elapsed() < patience && tables.go_on().is_ok() =>
            {
                if start.elapsed() >= QUIET {
                    let seconds = [start.elapsed(), limit].map(|time| time.as_secs());
                    (tables.show)(Some(&format!("{what}: {} s of {} s", seconds[0], seconds[1])));
                }
            }
            heard => break heard,
        }
    };
    if heard.is_err() {
        child.kill().context("failed to end a measurement")?;
    }
    let status = child.wait().context("failed to wait for a measurement")?;
    let _ = listener.join();
    // A process that was interrupted, too, has nothing to say.
    tables.go_on()?;
    Ok(match heard {
        Err(_) => Heard::Late,
        Ok(_) if !status.success() => Heard::Failed(format!("it ended with {status}")),
        Ok(text) => Heard::Text(text),
    })
}

/// Processor seconds of this process until now, all its threads together.
pub(super) fn cpu_seconds() -> Option<f64> {
    #[cfg(unix)]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(now.tv_sec as f64 + now.tv_nsec as f64 / 1e9)
    }
    #[cfg(not(unix))]
    None
}

/// Processor seconds of this thread until now.
pub(super) fn thread_seconds() -> f64 {
    #[cfg(unix)]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
    }
    #[cfg(not(unix))]
    0.0
}

/// The most memory that this process has held at a time, where the system tells.
pub(super) fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Forgets what the process has held until now, where the system can.
pub(super) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
