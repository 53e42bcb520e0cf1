//! The values of options: how they are written.

use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use weakspot_core::{Choices, Drain, HistoryModel, Model, TokenError, TxnModel};
use weakspot_lang::Format;
use weakspot_trace::{HistoryFormat, LogFormat};

/// The output formats: those of `report`, so that a new one is written down once.
pub use weakspot_report::Format as OutputFormat;

/// When to do something for people's eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

/// The formats of everything that is read: languages of programs, formats of logs and of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Litmus tests for X86, X86_64 and RISC-V, and in C.
    Litmus,
    /// Programs in our own language.
    Weak,
    /// Programs of Trencher.
    Trencher,
    /// Programs of Memorax.
    Memorax,
    /// Programs in a part of C.
    C,
    /// One event or operation per line, for people.
    #[value(aliases = ["wshist", "wstrace"])]
    Text,
    /// JSON Lines.
    Jsonl,
    /// Logs in RAPID's STD.
    Std,
    /// Binary logs.
    Wslog,
    /// Histories of Axe.
    Axe,
    /// Histories in the text of dbcop.
    Dbcop,
    /// Histories in the JSON of dbcop.
    DbcopJson,
    /// Histories of Plume, PolySI and AWDIT.
    Plume,
    /// Histories of AWDIT's tests.
    Awdit,
    /// Histories of Jepsen.
    #[value(aliases = ["jepsen", "elle"])]
    Edn,
    /// Logs of hardware in columns.
    #[value(aliases = ["tsv"])]
    Csv,
}

impl InputFormat {
    /// The language of programs that this is.
    pub fn language(self) -> Option<Format> {
        match self {
            InputFormat::Litmus => Some(Format::Litmus),
            InputFormat::Weak => Some(Format::Weak),
            InputFormat::Trencher => Some(Format::Trencher),
            InputFormat::Memorax => Some(Format::Memorax),
            InputFormat::C => Some(Format::C),
            _ => None,
        }
    }

    /// The format of logs that this is.
    pub fn log(self) -> Option<LogFormat> {
        self.to_possible_value().and_then(|key| LogFormat::from_key(key.get_name()))
    }

    /// The format of histories that this is.
    pub fn history(self) -> Option<HistoryFormat> {
        self.to_possible_value().and_then(|key| HistoryFormat::from_key(key.get_name()))
    }
}

/// Which formats a command reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Programs,
    ProgramsAndLogs,
    Histories,
    LogsAndHistories,
    Anything,
    /// Histories, to be written.
    ToHistories,
    /// Logs and histories, to be written.
    ToLogsAndHistories,
}

impl Takes {
    fn takes(self, format: InputFormat) -> bool {
        let (program, log, history) =
            (format.language().is_some(), format.log().is_some(), format.history().is_some());
        match self {
            Takes::Programs => program,
            Takes::ProgramsAndLogs => program || log,
            Takes::Histories | Takes::ToHistories => history,
            Takes::LogsAndHistories | Takes::ToLogsAndHistories => log || history,
            Takes::Anything => true,
        }
    }

    /// Whether the help lists a format; others are refused with the reason.
    fn lists(self, format: InputFormat) -> bool {
        let writes = matches!(self, Takes::ToHistories | Takes::ToLogsAndHistories);
        !(writes && matches!(format, InputFormat::Edn | InputFormat::Csv))
    }
}

/// Reads the name of a format.
pub(crate) fn format_of(takes: Takes) -> impl TypedValueParser<Value = InputFormat> {
    let taken = InputFormat::value_variants().iter().filter(|format| takes.takes(**format));
    PossibleValuesParser::new(
        taken.filter_map(|&format| Some(format.to_possible_value()?.hide(!takes.lists(format)))),
    )
    .try_map(|key| InputFormat::from_str(&key, false))
}

/// Reads the name of an output format. The help has those that are listed; those that are hidden are
/// refused with the reason.
pub(crate) fn output_of(
    listed: &[OutputFormat],
    hidden: &[OutputFormat],
) -> impl TypedValueParser<Value = OutputFormat> + use<> {
    let value = |f: &OutputFormat| PossibleValue::new(f.name()).help(f.about());
    let listed: Vec<_> = listed.iter().map(value).collect();
    let hidden = hidden.iter().map(|f| value(f).hide(true));
    // Other names do not get past the list.
    PossibleValuesParser::new(listed.into_iter().chain(hidden).collect::<Vec<_>>())
        .map(|name| OutputFormat::of_name(&name).unwrap_or(OutputFormat::Text))
}

/// The output formats that a command has, or has not.
fn formats(has: impl Fn(OutputFormat) -> bool) -> Vec<OutputFormat> {
    OutputFormat::EVERY.into_iter().filter(|&format| has(format)).collect()
}

fn is_plain(format: OutputFormat) -> bool {
    !(format.is_picture() || format.is_table() || format.is_log())
}

/// Reads the name of an output format as most commands know them.
pub(crate) fn common() -> impl TypedValueParser<Value = OutputFormat> {
    output_of(&formats(|f| !f.is_log()), &[])
}

/// Reads the name of an output format where there is neither a graph nor a table.
pub(crate) fn plain() -> impl TypedValueParser<Value = OutputFormat> {
    output_of(&formats(is_plain), &formats(|f| f.is_picture() || f.is_table()))
}

/// Reads the name of an output format of an exploration.
pub(crate) fn explored() -> impl TypedValueParser<Value = OutputFormat> {
    let listed = [formats(is_plain), formats(OutputFormat::is_picture)].concat();
    output_of(&listed, &formats(OutputFormat::is_table))
}

/// Reads the name of an output format where there are rows and no pictures, so that `tex` can only mean a table.
pub(crate) fn rows() -> impl TypedValueParser<Value = OutputFormat> {
    let is_of_rows =
        |f: OutputFormat| f.is_table() || matches!(f, OutputFormat::Text | OutputFormat::Json);
    let value = |f: OutputFormat| {
        let value = PossibleValue::new(f.name()).help(f.about());
        if f == OutputFormat::Tabular { value.alias(OutputFormat::Tex.name()) } else { value }
    };
    let values: Vec<PossibleValue> = formats(is_of_rows).into_iter().map(value).collect();
    PossibleValuesParser::new(values).map(|name| match OutputFormat::of_name(&name) {
        Some(OutputFormat::Tex) => OutputFormat::Tabular,
        format => format.unwrap_or(OutputFormat::Text),
    })
}

/// Reads the name of an output format for litmus tests.
pub(crate) fn litmus() -> impl TypedValueParser<Value = OutputFormat> {
    output_of(&OutputFormat::EVERY, &[])
}

/// What to replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// A schedule that was kept under this number.
    Number(u64),
    /// This one.
    Schedule(Choices),
}

impl FromStr for Replay {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Replay, TokenError> {
        match text.parse() {
            Ok(number) => Ok(Replay::Number(number)),
            Err(_) => text.parse().map(Replay::Schedule),
        }
    }
}

/// What fences cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub full: u32,
    pub store_store: u32,
}

/// Lines of a thread, or of all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    pub thread: Option<String>,
    pub first: usize,
    pub last: usize,
}

/// A model, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Models {
    One(HistoryModel),
    Txn(TxnModel),
    All,
}

pub(crate) fn model(text: &str) -> Result<Model, String> {
    weakspot_report::model_of_key(&text.trim().to_ascii_lowercase())
        .ok_or_else(|| "expected sc, tso (which is x86), pso or pso-own".to_owned())
}

/// `full=2,ss=1`; what is not named costs 1.
pub(crate) fn cost(text: &str) -> Result<Cost, String> {
    let expected = || "expected costs of at least 1, such as full=2,ss=1".to_owned();
    let mut cost = Cost { full: 1, store_store: 1 };
    for part in text.split(',') {
        let (kind, number) = part.split_once('=').ok_or_else(expected)?;
        let number = number.trim().parse().ok().filter(|n| (1..=1_000_000).contains(n));
        let number = number.ok_or_else(expected)?;
        match kind.trim() {
            "full" => cost.full = number,
            "ss" => cost.store_store = number,
            _ => return Err(expected()),
        }
    }
    Ok(cost)
}

/// `90s`, `2m`, `1h`, `500ms`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    scaled(text, &units)
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .ok_or_else(|| "expected a time such as 500ms, 60s, 5m or 1h".to_owned())
}

/// `4GiB`, `500MB`; `4G` is `4GiB`, and a bare number is bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let units = [
        ("KiB", 1024.0),
        ("MiB", 1024.0 * 1024.0),
        ("GiB", 1024.0 * 1024.0 * 1024.0),
        ("K", 1024.0),
        ("M", 1024.0 * 1024.0),
        ("G", 1024.0 * 1024.0 * 1024.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("B", 1.0),
        ("", 1.0),
    ];
    scaled(text, &units)
        .filter(|&bytes| bytes >= 1.0)
        .map(|bytes| bytes as u64)
        .ok_or_else(|| "expected a size such as 500MB or 4GiB".to_owned())
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, scale) =
        units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    let number = f64::from_str(number.trim()).ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * scale)
}

pub(crate) fn sc_or_tso(text: &str) -> Result<Model, String> {
    model(text).map_err(|_| "expected sc or tso (which is x86)".to_owned())
}

pub(crate) fn lines(text: &str) -> Result<Lines, String> {
    let expected = || "expected [THREAD:]FIRST[-LAST], as in `P0:3-5` or `7`".to_owned();
    let (thread, numbers) = match text.rsplit_once(':') {
        Some((thread, numbers)) => (Some(thread.to_owned()), numbers),
        None => (None, text),
    };
    let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let number = |text: &str| text.parse::<usize>().ok().filter(|&n| n > 0).ok_or_else(expected);
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!("line {first} comes after line {last}; expected {last}-{first}?"));
    }
    if thread.as_ref().is_some_and(String::is_empty) {
        return Err(expected());
    }
    Ok(Lines { thread, first, last })
}

pub(crate) fn models(text: &str) -> Result<Models, String> {
    let key = text.trim().to_ascii_lowercase();
    if key == "all" {
        return Ok(Models::All);
    }
    if matches!(&key[..], "si" | "snapshot-isolation") {
        return Err("snapshot isolation is not supported".to_owned());
    }
    let is_called = |model: &TxnModel| model.key() == key || model.short() == key;
    let of_txns = TxnModel::ALL.into_iter().find(is_called).map(Models::Txn);
    let of_memory = HistoryModel::from_key(&key);
    let expected = "expected cc, ccv, cm, ccm, wccm, coherence, pso, pso-own, tso, tso-rt, sc, lin, \
                    read-committed (rc), read-atomic (ra), transactional-causal (tcc), serializable (ser) or all";
    of_memory.map(Models::One).or(of_txns).ok_or_else(|| expected.to_owned())
}

/// What a generated database keeps.
pub(crate) fn isolation(text: &str) -> Result<TxnModel, String> {
    match models(text) {
        Ok(Models::Txn(model)) if model != TxnModel::ReadAtomic => Ok(model),
        _ => Err("expected read-committed, transactional-causal or serializable".to_owned()),
    }
}

/// A model whose buffers can be executed.
pub(crate) fn buffers(text: &str) -> Result<Model, String> {
    let model =
        model(text).ok().filter(|model| matches!(model, Model::Tso | Model::Pso(Drain::All)));
    model.ok_or_else(|| "expected tso or pso".to_owned())
}
