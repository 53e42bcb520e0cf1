//! weakspot as a library, for those who put it into a program of their own: text in, [`Certified`]
//! answers out, within limits that suit an interactive program.
//!
//! Is a program robust, that is, does the memory of x86 (TSO) show it nothing that sequential
//! consistency does not?
//!
//! ```
//! use weakspot_embed::{Format, Model, Verdict, parse, robust};
//!
//! let dekker = "
//!     shared x, y
//!     thread left  { var r; x = 1; r = y }
//!     thread right { var r; y = 1; r = x }
//! ";
//! let parsed = parse(Format::Weak, dekker)?;
//! let answer = robust(&parsed, Model::Tso)?;
//! assert_eq!(answer.verdict, Verdict::Violated);
//! assert!(answer.certification().is_checked());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Which consistency models does a recorded history satisfy?
//!
//! ```
//! use weakspot_embed::{HistoryModel, Verdict, history, read_histories};
//!
//! let recorded = read_histories("
//!     t0: w x 1
//!     t0: r y 0
//!     t1: w y 1
//!     t1: r x 0
//! ".as_bytes())?;
//! let ops = &recorded[0].ops;
//! assert_eq!(history(ops, HistoryModel::Sc)?.verdict, Verdict::Violated);
//! assert_eq!(history(ops, HistoryModel::Tso)?.verdict, Verdict::Holds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Could TSO have broken an execution of which there is a log? A monitor follows it event by event:
//!
//! ```
//! use weakspot_embed::{Model, Verdict, monitor, read_log};
//!
//! let (log, tables) = read_log("
//!     t0: wr x
//!     t0: rd y
//!     t1: wr y
//!     t1: rd x
//! ".as_bytes())?;
//! let mut watch = monitor(&[Model::Tso]);
//! watch.follow(&log, &tables)?;
//! let answer = watch.answer(&tables, Model::Tso, None)?;
//! assert_eq!(answer.verdict, Verdict::Violated);
//! assert_eq!(answer.reports.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The engines themselves, with all that can be set, are re-exported under their names:
//! [`explore`], [`history_engine`], [`monitoring`], [`serial`], [`lang`], [`trace`]. Who asks them about a program that
//! was parsed looks at [`Parsed::refused_under`] first.

use std::fmt;
use std::io::Read;
use std::time::Duration;

pub use weakspot_core::certify::Rejected;
pub use weakspot_core::{
    Certification, Certified, Diagnostic, Evidence, History, HistoryModel, Limit, Limits, LogBatch,
    LogEvent, LogTables, Model, Program, Progress, Silent, Verdict,
};
pub use weakspot_explore as explore;
pub use weakspot_history as history_engine;
pub use weakspot_lang as lang;
pub use weakspot_lang::{Format, Parsed};
pub use weakspot_monitor as monitoring;
pub use weakspot_serial as serial;
pub use weakspot_trace as trace;
pub use weakspot_trace::{LogError, Recorded};

use weakspot_explore::{Algorithm, Decide, NoAnswer, Reach, Robust};
use weakspot_history::{Answer, Complete, Method};
use weakspot_monitor::{Form, Watch};
use weakspot_trace::{HistoryReader, LogReader, Next};

/// Ten seconds, a gigabyte, and as many threads as there are processors.
#[must_use]
pub fn limits() -> Limits {
    Limits {
        time: Some(Duration::from_secs(10)),
        memory: Some(1 << 30),
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        buffer: 1 << 12,
        ..Limits::UNLIMITED
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug)]
pub enum Error {
    /// The text of a program is refused.
    Text(Diagnostic),
    /// A log or a history is refused.
    Log(LogError),
    /// The program does what has no meaning, or the question does not apply to it.
    Program(NoAnswer),
    /// The evidence for an answer did not pass its check: a defect of weakspot.
    Rejected(Rejected),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Text(diagnostic) => f.write_str(&diagnostic.message),
            Error::Log(error) => error.fmt(f),
            Error::Program(NoAnswer::Fault(failure)) => {
                write!(f, "the program faults: {:?}", failure.kind)
            }
            Error::Program(NoAnswer::NotApplicable(why)) => f.write_str(why),
            Error::Program(
                NoAnswer::NotTogether(why) | NoAnswer::NotResumed(why) | NoAnswer::NotStored(why),
            ) => f.write_str(why),
            Error::Program(NoAnswer::Rejected(rejected)) | Error::Rejected(rejected) => {
                write!(f, "the answer did not pass its own check: {rejected}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// The program that a text means.
///
/// # Errors
/// When the text is not one of the language.
pub fn parse(format: Format, text: &str) -> Result<Parsed, Error> {
    lang::parse(format, text).map_err(Error::Text)
}

/// Whether every run of a program under `model` does what some run under SC does, too.
///
/// # Errors
/// When the program does what has no meaning, or is known to do less than the machine does under `model`
/// ([`Parsed::too_strong`]).
pub fn robust(parsed: &Parsed, model: Model) -> Result<Certified<Robust>, Error> {
    let program = all_of(parsed, model)?;
    explore::robust(program, model, Decide::Pending, &limits(), &mut Silent).map_err(Error::Program)
}

/// Whether everything holds under `model` that a program asks: assertions, forbidden control points
/// and its condition on final states.
///
/// ```
/// use weakspot_embed::{Format, Model, Verdict, parse, reach};
///
/// let parsed = parse(Format::Weak, "
///     shared x, y
///     thread left  { var r; x = 1; r = y }
///     thread right { var r; y = 1; r = x }
///     never (left.r == 0 && right.r == 0)
/// ")?;
/// assert_eq!(reach(&parsed, Model::Sc)?.verdict, Verdict::Holds);
/// assert_eq!(reach(&parsed, Model::Tso)?.verdict, Verdict::Violated);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the program does what has no meaning, or is known to do less than the machine does under `model`
/// ([`Parsed::too_strong`]).
pub fn reach(parsed: &Parsed, model: Model) -> Result<Certified<Reach>, Error> {
    let program = all_of(parsed, model)?;
    explore::reach(program, model, Algorithm::Auto, &limits(), &mut Silent).map_err(Error::Program)
}

/// The program, if it does all that the machine does under `model`.
fn all_of(parsed: &Parsed, model: Model) -> Result<&Program, Error> {
    match parsed.refused_under(model) {
        Some(why) => Err(Error::Text(why)),
        None => Ok(&parsed.program),
    }
}

/// Whether a recorded history satisfies `model`.
///
/// # Errors
/// When the evidence did not pass its check.
pub fn history(ops: &History, model: HistoryModel) -> Result<Certified<Answer>, Error> {
    let method = Method { complete: Complete::Auto, saturate: true };
    history_engine::check(ops, model, method, &limits(), &mut Silent).map_err(Error::Rejected)
}

/// All histories of a source, in any of the formats, which their beginning tells.
///
/// # Errors
/// When a history is refused.
pub fn read_histories(source: impl Read + Send + 'static) -> Result<Vec<Recorded>, Error> {
    let mut reader = HistoryReader::sniff(Box::new(source)).map_err(Error::Log)?;
    let mut all = Vec::new();
    while let Some(history) = reader.next().map_err(Error::Log)? {
        all.push(history);
    }
    Ok(all)
}

/// The events of a log of one execution, in any of the formats, which its beginning tells, and the
/// names that they are about. A long log is better followed batch by batch with a
/// [`LogReader`].
///
/// # Errors
/// When the log is refused, or has more than one execution.
pub fn read_log(source: impl Read + Send + 'static) -> Result<(LogBatch, LogTables), Error> {
    let mut reader = LogReader::sniff(Box::new(source)).map_err(Error::Log)?;
    let (mut batch, mut log) = (LogBatch::default(), LogBatch::default());
    loop {
        match reader.next(&mut batch).map_err(Error::Log)? {
            Next::Events => {
                log.events.append(&mut batch.events);
                log.values.append(&mut batch.values);
            }
            Next::Trace(_) if log.events.is_empty() => {}
            Next::Trace(_) => {
                let message = "expected one execution, found another one".to_owned();
                let place = reader.place(0);
                return Err(Error::Log(LogError { message, place }));
            }
            Next::End => return Ok((log, reader.tables().clone())),
        }
    }
}

/// The monitors for these models: feed them batches of a log of an SC execution and ask for their
/// [answer](Watch::answer) whenever it is wanted.
#[must_use]
pub fn monitor(models: &[Model]) -> Watch {
    Watch::new(models, monitoring::Algorithm::Monitor(Form::All))
}
