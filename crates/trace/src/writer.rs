//! Writing a log, whatever its format.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use weakspot_core::{LogBatch, LogTables};

use crate::error::{LogError, LogPlace, Torn, WriteError};
use crate::names::Names;
use crate::{LogFormat, LogReader, Next, event, json, rapid, text, wslog};

/// Bytes are passed on when there are so many.
const CHUNK: usize = 1 << 16;

/// Writes a log, batch by batch. What it could not say in its format it refuses; it leaves
/// nothing out.
pub struct LogWriter<W: Write> {
    inner: W,
    out: Vec<u8>,
    names: Names,
    encoder: Encoder,
    /// Whether anything was written, a trace begun or an event.
    begun: bool,
}

enum Encoder {
    Text,
    Json(json::Writer),
    Std(rapid::Writer),
    Wslog(wslog::Writer),
}

/// A `.wslog` that is written on.
pub struct Resumed {
    /// The writer, positioned at the end.
    pub writer: LogWriter<File>,
    /// The names that the last trace has so far. New ones come behind them.
    pub tables: LogTables,
    /// What was cut off because it was torn.
    pub torn: Option<Torn>,
}

impl<W: Write> LogWriter<W> {
    /// A writer of a log in this format.
    #[must_use]
    pub fn new(inner: W, format: LogFormat) -> LogWriter<W> {
        let encoder = match format {
            LogFormat::Text => Encoder::Text,
            LogFormat::Jsonl => Encoder::Json(json::Writer::default()),
            LogFormat::Std => Encoder::Std(rapid::Writer::default()),
            LogFormat::Wslog => Encoder::Wslog(wslog::Writer::default()),
        };
        LogWriter { inner, out: Vec::new(), names: Names::default(), encoder, begun: false }
    }

    /// Begins a trace that has nothing to do with what was written before; its tables start
    /// afresh. A log that holds one execution without a name needs none.
    ///
    /// # Errors
    /// When bytes cannot be written, or the format cannot say it.
    pub fn trace(&mut self, id: Option<&str>) -> Result<(), WriteError> {
        match &mut self.encoder {
            Encoder::Text => text::write_trace(&mut self.out, id),
            Encoder::Json(json) => json.trace(&mut self.out, id),
            Encoder::Std(_) if id.is_some() => {
                return Err(WriteError::other("STD cannot say the name of a trace"));
            }
            Encoder::Std(_) if self.begun => {
                return Err(WriteError::other("STD cannot say that another trace begins"));
            }
            Encoder::Std(_) => {}
            Encoder::Wslog(wslog) => {
                wslog.trace(&mut self.out, id).map_err(WriteError::other)?;
            }
        }
        self.begun = true;
        self.names.clear();
        self.pass_on(CHUNK)
    }

    /// Writes events. `tables` are those of the calls before and perhaps more, unless a trace was
    /// begun.
    ///
    /// # Errors
    /// When bytes cannot be written, or the format cannot say an event, or an event is not about
    /// what is in the tables. The events before it are written.
    pub fn write(&mut self, batch: &LogBatch, tables: &LogTables) -> Result<(), WriteError> {
        self.names.extend(tables).map_err(WriteError::other)?;
        let tables = &self.names.tables;
        if let Encoder::Wslog(wslog) = &mut self.encoder {
            wslog.tables(&mut self.out, tables).map_err(WriteError::other)?;
        }
        let mut values = batch.values.iter().copied();
        for (i, event) in batch.events.iter().enumerate() {
            let value = if event.valued { values.next() } else { None };
            event::check(event, value, tables).map_err(|m| WriteError::event(i, m))?;
            match &mut self.encoder {
                Encoder::Text => text::write(&mut self.out, event, value, tables),
                Encoder::Json(json) => json.write(&mut self.out, event, value, tables),
                Encoder::Std(rapid) => rapid
                    .write(&mut self.out, event, value, tables)
                    .map_err(|m| WriteError::event(i, m))?,
                Encoder::Wslog(wslog) => wslog.event(&mut self.out, event, value),
            }
            self.begun = true;
        }
        self.pass_on(CHUNK)
    }

    /// Writes all that was held back, so that a reader can see it.
    ///
    /// # Errors
    /// When bytes cannot be written.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        if let Encoder::Wslog(wslog) = &mut self.encoder {
            wslog.flush(&mut self.out);
        }
        self.pass_on(0)?;
        Ok(self.inner.flush()?)
    }

    /// Ends the log.
    ///
    /// # Errors
    /// When bytes cannot be written.
    pub fn finish(mut self) -> Result<W, WriteError> {
        if let Encoder::Json(json) = &mut self.encoder {
            json.finish(&mut self.out);
        }
        self.flush()?;
        Ok(self.inner)
    }

    /// Passes bytes on if there are at least so many.
    fn pass_on(&mut self, least: usize) -> Result<(), WriteError> {
        if self.out.len() >= least {
            let written = self.inner.write_all(&self.out);
            self.out.clear();
            written?;
        }
        Ok(())
    }
}

impl LogWriter<File> {
    /// Writes on at the end of a `.wslog` file that was opened for reading and writing. A torn
    /// tail is cut off.
    ///
    /// # Errors
    /// When the file cannot be read or cut, or is damaged.
    pub fn resume(mut file: File) -> Result<Resumed, LogError> {
        let failed = |e: std::io::Error| {
            LogError::new(LogPlace::Offset(0), format!("failed to write on: {e}"))
        };
        file.rewind().map_err(failed)?;
        let source = Box::new(file.try_clone().map_err(failed)?);
        let mut reader = LogReader::new(source, LogFormat::Wslog);
        let mut batch = LogBatch::default();
        while reader.next(&mut batch)? != Next::End {}
        let (blocks, end) = reader.good_blocks().unwrap_or_default();
        file.set_len(end).map_err(failed)?;
        file.seek(SeekFrom::Start(end)).map_err(failed)?;
        let tables = reader.tables().clone();
        let mut writer = LogWriter::new(file, LogFormat::Wslog);
        writer.encoder = Encoder::Wslog(wslog::Writer::resume(blocks, &tables));
        writer.names.extend(&tables).map_err(|m| LogError::new(LogPlace::Offset(0), m))?;
        writer.begun = blocks > 0;
        Ok(Resumed { writer, tables, torn: reader.torn() })
    }
}
