//! From the paths that were typed to logs.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use weakspot_core::{LogBatch, LogEvent, LogTables};
use weakspot_monitor::Values;
use weakspot_trace::{LogError, LogFormat, LogPlace, LogReader, Next};

use crate::pool;

/// The endings of the files that hold logs.
pub(crate) const ENDINGS: [&str; 5] = ["wstrace", "jsonl", "json", "std", "wslog"];

/// The logs that `paths` stand for: a folder stands for the logs below it.
pub(crate) fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    expand_to(paths, &ENDINGS)
}

/// The files that `paths` stand for: a folder stands for the files below it that have one of these
/// endings, by name.
pub(crate) fn expand_to(paths: &[PathBuf], endings: &[&str]) -> Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = logs.len();
            add_folder(path, endings, &mut logs)
                .with_context(|| format!("failed to read the folder {}", path.display()))?;
            if logs.len() == before {
                bail!("no .{} file in the folder {}", endings.join(" or ."), path.display());
            }
        } else {
            logs.push(path.clone());
        }
    }
    if logs.iter().filter(|path| is_stdin(path)).count() > 1 {
        bail!("standard input can be read only once");
    }
    Ok(logs)
}

fn add_folder(folder: &Path, endings: &[&str], logs: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        // Links to folders are not followed: they may lead in circles.
        if path.is_dir() && !path.is_symlink() {
            add_folder(&path, endings, logs)?;
        } else if has_ending(&path, endings) {
            logs.push(path);
        }
    }
    Ok(())
}

/// Whether the ending says that a file is a log.
pub(crate) fn is_log(path: &Path) -> bool {
    has_ending(path, &ENDINGS)
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|e| endings.iter().any(|&w| e == w))
}

/// Whether the path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Opens a log: in the given format, or in the one that its ending or its beginning tells. Standard
/// input ends at the given time.
pub(crate) fn open(
    path: &Path,
    format: Option<LogFormat>,
    until: Option<Instant>,
) -> Result<LogReader, LogError> {
    let source = source(path, until)?;
    match format.or_else(|| LogFormat::from_path(path)) {
        Some(format) => Ok(LogReader::new(source, format)),
        None => LogReader::sniff(source),
    }
}

/// The bytes of a file, or of standard input, which ends at the given time.
pub(crate) fn source(
    path: &Path,
    until: Option<Instant>,
) -> Result<Box<dyn Read + Send>, LogError> {
    if is_stdin(path) {
        return Ok(Box::new(Patient::new(|| Ok(std::io::stdin()), until)));
    }
    let failed = |e: std::io::Error| LogError {
        message: format!("failed to read: {e}"),
        place: LogPlace::Offset(0),
    };
    if path.metadata().map_err(failed)?.is_file() {
        return Ok(Box::new(std::fs::File::open(path).map_err(failed)?));
    }
    // To open a pipe takes until somebody writes to it.
    let path = path.to_owned();
    Ok(Box::new(Patient::new(move || std::fs::File::open(path), until)))
}

/// The first `most` events of a trace: of the one with this number, or of a log that has only one. A
/// trace that SC cannot have is an error.
pub(crate) fn read_trace(
    path: &Path,
    format: Option<LogFormat>,
    number: Option<usize>,
    most: usize,
) -> Result<(Vec<LogEvent>, LogTables), LogError> {
    let mut reader = open(path, format, None)?;
    let mut batch = LogBatch::default();
    let mut events: Vec<LogEvent> = Vec::new();
    let mut tables = LogTables::default();
    let mut at = None;
    let mut values = Values::default();
    loop {
        match reader.next(&mut batch)? {
            Next::Events if at == number => {
                if let Some((wrong, refused)) = values.follow(&batch, reader.tables()) {
                    let place = reader.place(wrong);
                    return Err(LogError { message: refused.to_string(), place });
                }
                let room = most - events.len();
                events.extend_from_slice(&batch.events[..batch.events.len().min(room)]);
                if tables != *reader.tables() {
                    tables = reader.tables().clone();
                }
            }
            Next::Events => {}
            Next::Trace(_) => at = Some(at.map_or(0, |at| at + 1)),
            Next::End => return Ok((events, tables)),
        }
    }
}

/// The bytes of a file, which is waited for when there are no more, or of standard input. Whoever
/// reads is told now and then that nothing is there, and at once after Ctrl-C and at the given time.
pub(crate) fn growing(
    path: &Path,
    until: Option<Instant>,
) -> Result<Box<dyn Read + Send>, LogError> {
    let failed = |e: std::io::Error| LogError {
        message: format!("failed to read: {e}"),
        place: LogPlace::Offset(0),
    };
    let mut patient = if is_stdin(path) {
        Patient::new(|| Ok(std::io::stdin()), until)
    } else if path.metadata().map_err(failed)?.is_file() {
        let file = std::fs::File::open(path).map_err(failed)?;
        Patient::new(|| Ok(Growing { file, read: 0 }), until)
    } else {
        let path = path.to_owned();
        Patient::new(move || std::fs::File::open(path), until)
    };
    patient.idle = Some(IDLE);
    Ok(Box::new(patient))
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

/// Reads a pipe without being stuck in it: after Ctrl-C, or when it is time, it is as if the pipe had
/// ended.
struct Patient {
    until: Option<Instant>,
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
        until: Option<Instant>,
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
        Patient { until, idle: None, blocks, block: Vec::new(), used: 0 }
    }
}

impl Patient {
    /// Whether an end was asked for, or it is time.
    fn is_over(&self) -> bool {
        pool::interrupted() || self.until.is_some_and(|until| Instant::now() >= until)
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let since = Instant::now();
        while self.used == self.block.len() {
            // An endless device always has more.
            if self.idle.is_none() && self.is_over() {
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
                    if self.idle.is_some_and(|idle| self.is_over() || since.elapsed() >= idle) {
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
