//! Bytes, wherever they come from.

use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use weakspot_trace::{LogError, LogPlace};

use crate::folders::is_stdin;

/// What ends reading before a file does.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// It is time.
    pub at: Option<Instant>,
    /// Somebody has asked for an end.
    pub asked: fn() -> bool,
}

impl Stop {
    fn is_over(&self) -> bool {
        (self.asked)() || self.at.is_some_and(|at| Instant::now() >= at)
    }
}

/// The bytes of a file, or of standard input, which ends when `stop` says so.
///
/// # Errors
///
/// It cannot be opened.
pub fn source(path: &Path, stop: Stop) -> Result<Box<dyn Read + Send>, LogError> {
    if is_stdin(path) {
        return Ok(Box::new(Patient::new(|| Ok(std::io::stdin()), stop)));
    }
    if path.metadata().map_err(failed)?.is_file() {
        return Ok(Box::new(std::fs::File::open(path).map_err(failed)?));
    }
    // To open a pipe takes until somebody writes to it.
    let path = path.to_owned();
    Ok(Box::new(Patient::new(move || std::fs::File::open(path), stop)))
}

/// The bytes of a file, which is waited for when there are no more, or of standard input. Whoever
/// reads is told now and then that nothing is there, and at once when `stop` says so.
///
/// # Errors
///
/// It cannot be opened.
pub fn growing(path: &Path, stop: Stop) -> Result<Box<dyn Read + Send>, LogError> {
    let mut patient = if is_stdin(path) {
        Patient::new(|| Ok(std::io::stdin()), stop)
    } else if path.metadata().map_err(failed)?.is_file() {
        let file = std::fs::File::open(path).map_err(failed)?;
        Patient::new(|| Ok(Growing { file, read: 0 }), stop)
    } else {
        let path = path.to_owned();
        Patient::new(move || std::fs::File::open(path), stop)
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
        Patient { stop, idle: None, blocks, block: Vec::new(), used: 0 }
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let since = Instant::now();
        while self.used == self.block.len() {
            // An endless device always has more.
            if self.idle.is_none() && self.stop.is_over() {
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
