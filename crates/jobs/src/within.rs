//! Limits for commands that read one file and say one thing about it, whatever they do on the way.

use std::cell::Cell;
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

/// How long something may take when an end is asked for.
const PATIENCE: Duration = Duration::from_millis(250);

/// What `job`, which heeds that somebody asks for an end, comes to; nothing if it then goes on.
///
/// # Errors
///
/// It has ended without an answer.
pub fn or_asked<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Result<Option<T>> {
    let asked = Cell::new(None);
    let reached = || {
        let since = asked.get().or_else(|| interrupt::asked().then(Instant::now));
        asked.set(since);
        since.filter(|since| since.elapsed() > PATIENCE).map(|_| Limit::Interrupted)
    };
    Ok(until(reached, move || Ok(job()))?.ok())
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
