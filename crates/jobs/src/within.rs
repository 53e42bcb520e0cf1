//! Limits for commands that read one file and say one thing about it, whatever they do on the way.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use weakspot_core::Limit;
use weakspot_input::resident;

use crate::exit::Exit;
use crate::{interrupt, output};
use weakspot_args::Bounds;

/// How often limits are looked at.
const TICK: Duration = Duration::from_millis(20);

/// What `job` comes to, or the limit that was reached before: then it is not waited for any longer.
pub fn within<T: Send + 'static>(
    bounds: Bounds,
    job: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<Result<T, Limit>> {
    let since = Instant::now();
    until(move || reached(bounds, since), job)
}

/// What `job`, which writes something, comes to; if an end is asked for before, nothing of it is left.
pub fn written(job: impl FnOnce() -> Result<Exit> + Send + 'static) -> Result<Exit> {
    let done = until(|| interrupt::asked().then_some(Limit::Interrupted), job)?;
    Ok(done.unwrap_or_else(|_| {
        output::abandon();
        eprintln!("interrupted; no file is written");
        Exit::Unknown
    }))
}

fn until<T: Send + 'static>(
    reached: impl Fn() -> Option<Limit>,
    job: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<Result<T, Limit>> {
    interrupt::watch();
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let _ = sender.send(job());
    });
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(result) => return Ok(Ok(result?)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                anyhow::bail!("a thread ended without an answer; this is a defect of weakspot")
            }
        }
        if let Some(limit) = reached() {
            return Ok(Err(limit));
        }
    }
}

fn reached(bounds: Bounds, since: Instant) -> Option<Limit> {
    if interrupt::asked() {
        Some(Limit::Interrupted)
    } else if since.elapsed() >= bounds.timeout {
        Some(Limit::Time(bounds.timeout))
    } else {
        (resident() > bounds.memory).then_some(Limit::Memory(bounds.memory))
    }
}
