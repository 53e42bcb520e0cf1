//! Bytes, wherever they come from.

use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weakspot_core::{Limit, Limits};
use weakspot_trace::{LogError, LogPlace};

use crate::folders::is_stdin;
use crate::process::resident;

/// What ends reading before a file does.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// When reading has to end.
    pub at: Option<Instant>,
    /// Somebody has asked for an end.
    pub asked: fn() -> bool,
}

impl Stop {
    fn is_over(&self) -> bool {
        (self.asked)() || self.at.is_some_and(|at| Instant::now() >= at)
    }
}

/// How long one of the histories of a file may be read, and in how much memory.
#[derive(Debug)]
pub struct Patience {
    /// What reading may take, since the history began.
    limits: Mutex<Limits>,
    /// How many inputs share the memory of this process.
    working: u64,
    reached: Mutex<Option<Limit>>,
}

impl Patience {
    /// Before the first history. `working`: how many inputs share the memory of this process.
    #[must_use]
    pub fn new(limits: Limits, working: u64) -> Arc<Patience> {
        let (limits, reached) = (Mutex::new(limits.begin()), Mutex::new(None));
        Arc::new(Patience { limits, working: working.max(1), reached })
    }

    /// Another history begins.
    pub fn begin(&self) {
        let mut limits = lock(&self.limits);
        *limits = limits.since(Instant::now());
    }

    /// The limits of the history that is read, from its beginning on.
    #[must_use]
    pub fn limits(&self) -> Limits {
        *lock(&self.limits)
    }

    /// The limit that was reached, after which nothing was read.
    #[must_use]
    pub fn reached(&self) -> Option<Limit> {
        lock(&self.reached).clone()
    }

    fn is_over(&self) -> bool {
        let over = lock(&self.limits).check(resident() / self.working).err();
        let is_over = over.is_some();
        if is_over {
            *lock(&self.reached) = over;
        }
        is_over
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same as [`source`], but what is read ends when patience does.
pub(crate) fn patient_source(
    path: &Path,
    stop: Stop,
    patience: Arc<Patience>,
) -> Result<Box<dyn Read + Send>, LogError> {
    if !is_stdin(path) && path.metadata().map_err(failed)?.is_file() {
        let inner = std::fs::File::open(path).map_err(failed)?;
        return Ok(Box::new(Bounded { inner, patience }));
    }
    let mut patient = piped(path, stop);
    patient.patience = Some(patience);
    Ok(Box::new(patient))
}

/// Standard input, or what is no file: to open a pipe takes until somebody writes to it.
fn piped(path: &Path, stop: Stop) -> Patient {
    if is_stdin(path) {
        return Patient::new(|| Ok(std::io::stdin()), stop);
    }
    let path = path.to_owned();
    Patient::new(move || std::fs::File::open(path), stop)
}

/// A file that ends when patience does.
struct Bounded {
    inner: std::fs::File,
    patience: Arc<Patience>,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.patience.is_over() { Ok(0) } else { self.inner.read(buffer) }
    }
}

/// The bytes of a file, or of standard input, which ends when `stop` says so.
///
/// # Errors
///
/// It cannot be opened.
pub fn source(path: &Path, stop: Stop) -> Result<Box<dyn Read + Send>, LogError> {
    if !is_stdin(path) && path.metadata().map_err(failed)?.is_file() {
        return Ok(Box::new(std::fs::File::open(path).map_err(failed)?));
    }
    Ok(Box::new(piped(path, stop)))
}

/// The bytes of a file, which is waited for when there are no more, or of standard input. Whoever
/// reads is told now and then that nothing is there, and at once when `stop` says so.
///
/// # Errors
///
/// It cannot be opened.
pub fn growing(path: &Path, stop: Stop) -> Result<Box<dyn Read + Send>, LogError> {
    let mut patient = if !is_stdin(path) && path.metadata().map_err(failed)?.is_file() {
        let file = std::fs::File::open(path).map_err(failed)?;
        Patient::new(|| Ok(Growing { file, read: 0 }), stop)
    } else {
        piped(path, stop)
    };
    patient.idle = Some(IDLE);
    Ok(Box::new(patient))
}

fn failed(error: std::io::Error) -> LogError {
    LogError { message: format!("failed to read: {error}"), place: LogPlace::Offset(0) }
}

/// After so long without input it is told that nothing is there.
const IDLE: Duration = Duration::from_secs(1);

/// A file that somebody still writes. It has no end.
struct Growing {
    file: std::fs::File,
    read: u64,
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let n = self.file.read(buffer)?;
            if n > 0 {
                self.read += n as u64;
                return Ok(n);
            }
            if self.file.metadata()?.len() < self.read {
                return Err(std::io::Error::other("the file was cut off while it was followed"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Reads a pipe without being stuck in it: when `stop` says so, it is as if the pipe had
/// ended.
struct Patient {
    stop: Stop,
    patience: Option<Arc<Patience>>,
    /// If set, an error says that nothing was there for so long, and the pipe does not end early.
    idle: Option<Duration>,
    blocks: Receiver<std::io::Result<Vec<u8>>>,
    block: Vec<u8>,
    used: usize,
}

const BLOCK: usize = 1 << 18;

impl Patient {
    fn new<R: Read>(
        open: impl FnOnce() -> std::io::Result<R> + Send + 'static,
        stop: Stop,
    ) -> Patient {
        let (sender, blocks) = sync_channel(4);
        std::thread::spawn(move || {
            let mut source = match open() {
                Ok(source) => source,
                Err(error) => {
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            loop {
                let mut block = vec![0; BLOCK];
                let read = match source.read(&mut block) {
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let end = !matches!(read, Ok(1..));
                let sent = sender.send(read.map(|n| {
                    block.truncate(n);
                    block
                }));
                if end || sent.is_err() {
                    return;
                }
            }
        });
        Patient { stop, patience: None, idle: None, blocks, block: Vec::new(), used: 0 }
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let since = Instant::now();
        while self.used == self.block.len() {
            // An endless device always has more.
            let is_over =
                || self.stop.is_over() || self.patience.as_ref().is_some_and(|p| p.is_over());
            if self.idle.is_none() && is_over() {
                return Ok(0);
            }
            match self.blocks.recv_timeout(Duration::from_millis(50)) {
                Ok(block) => {
                    self.block = block?;
                    self.used = 0;
                    if self.block.is_empty() {
                        return Ok(0);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {
                    if self.idle.is_some_and(|idle| self.stop.is_over() || since.elapsed() >= idle)
                    {
                        return Err(std::io::ErrorKind::WouldBlock.into());
                    }
                }
            }
        }
        let n = buffer.len().min(self.block.len() - self.used);
        buffer[..n].copy_from_slice(&self.block[self.used..self.used + n]);
        self.used += n;
        Ok(n)
    }
}
