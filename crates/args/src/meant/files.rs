//! What is meant for the commands that write files or check them.

use std::path::PathBuf;
use std::time::Duration;

use weakspot_core::TxnModel;
use weakspot_gen::{Bug, Client, Cycle, CycleSyntax, Edge, Source, critical};
use weakspot_lang::families::{Family, Syntax};
use weakspot_lang::{COptions, Format};
use weakspot_trace::HistoryFormat;

use super::{MEMORY, TIMEOUT, Usage, refuse};
use crate::typed;
use crate::values::{InputFormat, OutputFormat, When};

/// What one answer may take, and how it looks.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub timeout: Duration,
    pub memory: u64,
    pub color: When,
}

fn bounds(typed: &typed::Bounds) -> Bounds {
    Bounds {
        timeout: typed.timeout.unwrap_or(TIMEOUT),
        memory: typed.memory.unwrap_or(MEMORY),
        color: typed.color.unwrap_or(When::Auto),
    }
}

#[derive(Debug)]
pub struct CertifyArgs {
    /// An input and its witness, or inputs and witnesses.
    pub files: Vec<PathBuf>,
    /// Print JSON.
    pub json: bool,
    /// How much is looked at by definition, if not as much as is usual for the kind of input.
    pub max_states: Option<usize>,
    /// The format of the input, if it is not the one that it ends in.
    pub input_format: Option<InputFormat>,
    /// What programs in C are compiled with.
    pub options: COptions,
    pub bounds: Bounds,
}

pub(super) fn certify(typed: typed::Certify) -> Result<CertifyArgs, Usage> {
    let typed::Certify { files, format, max_states, input_format, in_c, bounds } = typed;
    let options = super::in_c(in_c)?;
    let json = format.is_some_and(|format| format == "json");
    let bounds = self::bounds(&bounds);
    Ok(CertifyArgs { files, json, max_states, input_format, options, bounds })
}

#[derive(Debug)]
pub struct CompareArgs {
    pub first: PathBuf,
    pub second: PathBuf,
    pub format: OutputFormat,
}

pub(super) fn compare(typed: typed::Compare) -> CompareArgs {
    let typed::Compare { first, second, format } = typed;
    CompareArgs { first, second, format: format.unwrap_or(OutputFormat::Text) }
}

/// What to step through.
#[cfg(feature = "show")]
#[derive(Debug)]
pub struct ShowArgs {
    pub showing: Showing,
    /// Whether the screen is ASCII only, whatever the locale.
    pub ascii: bool,
}

/// Where a run comes from.
#[cfg(feature = "show")]
#[derive(Debug)]
pub enum Showing {
    /// From answers in JSON.
    Answers(PathBuf),
    /// From the witness of an answer about a program.
    Witness { input: PathBuf, witness: PathBuf, options: COptions },
    /// From an execution of a program, which has its arguments behind it.
    Replay { schedule: String, under: Option<String>, program: Vec<PathBuf> },
}

#[cfg(feature = "show")]
pub(super) fn show(typed: typed::Show) -> Result<ShowArgs, Usage> {
    let typed::Show { mut files, replay, under, in_c, ascii } = typed;
    refuse(&[("--under", under.is_some() && replay.is_none())], "is for --replay SCHEDULE")?;
    let showing = match (replay, files.len()) {
        (Some(schedule), _) => Showing::Replay { schedule, under, program: files },
        (None, 1) => Showing::Answers(files.remove(0)),
        (None, 2) => {
            let (input, witness) = (files.remove(0), files.remove(0));
            Showing::Witness { input, witness, options: super::in_c(in_c)? }
        }
        (None, _) => {
            let expected = "expected answers in JSON, or an input and its witness";
            return Err(Usage(format!("too many files: {expected}")));
        }
    };
    Ok(ShowArgs { showing, ascii })
}

#[derive(Debug)]
pub struct PrintArgs {
    pub file: PathBuf,
    pub input_format: Option<Format>,
    pub output: Option<PathBuf>,
    pub bounds: Bounds,
}

pub(super) fn print(typed: typed::Print) -> PrintArgs {
    let typed::Print { file, input_format, output, bounds } = typed;
    let input_format = input_format.and_then(InputFormat::language);
    PrintArgs { file, input_format, output, bounds: self::bounds(&bounds) }
}

#[derive(Debug)]
pub struct ConvertArgs {
    pub input: PathBuf,
    pub output: PathBuf,
    pub from: Option<InputFormat>,
    pub to: Option<InputFormat>,
    pub quiet: bool,
}

pub(super) fn convert(typed: typed::Convert) -> Result<ConvertArgs, Usage> {
    let typed::Convert { input, place, output, input_format, format, quiet } = typed;
    let output = match (place, output) {
        (Some(output), None) | (None, Some(output)) => output,
        (None, None) => {
            return Err(Usage(
                "expected two files, as in `weakspot convert INPUT OUTPUT`; OUTPUT may be `-`"
                    .to_owned(),
            ));
        }
        (Some(_), Some(_)) => return Err(Usage("expected one OUTPUT, not two".to_owned())),
    };
    Ok(ConvertArgs { input, output, from: input_format, to: format, quiet })
}

#[derive(Debug)]
pub enum FamilyArgs {
    List,
    Member { family: Family, size: Option<usize>, syntax: Syntax, output: Option<PathBuf> },
}

pub(super) fn family(typed: typed::Family) -> Result<FamilyArgs, Usage> {
    let typed::Family { name, size, format, output, list } = typed;
    if list {
        let others = [
            ("NAME", name.is_some()),
            ("--size", size.is_some()),
            ("--format", format.is_some()),
            ("--output", output.is_some()),
        ];
        refuse(&others, "is for one family: leave out --list")?;
        return Ok(FamilyArgs::List);
    }
    let Some(family) = name.as_deref().and_then(Family::of_key) else {
        return Err(Usage("expected the NAME of a family, or --list".to_owned()));
    };
    let asked = format.as_deref().and_then(Syntax::of_key);
    let ending = || output.as_deref().and_then(Syntax::of_path);
    let syntax = asked.or_else(ending).unwrap_or(family.syntaxes()[0]);
    Ok(FamilyArgs::Member { family, size, syntax, output })
}

/// Tests from cycles.
#[derive(Debug)]
pub struct CycleArgs {
    pub cycles: Vec<Cycle>,
    pub syntax: CycleSyntax,
    pub output: Option<PathBuf>,
    /// The output is a folder.
    pub all: bool,
}

/// The longest cycles that --all makes: there are thousands of these.
const LONGEST_CYCLE: usize = 8;

pub(super) fn litmus_of_cycle(typed: typed::GenLitmus) -> Result<CycleArgs, Usage> {
    let typed::GenLitmus { steps, all, size, format, output } = typed;
    let ending = || {
        let path = output.as_deref().filter(|_| !all)?;
        path.extension().filter(|e| *e == "weak").map(|_| CycleSyntax::Weak)
    };
    let asked = format.and_then(|key| CycleSyntax::ALL.into_iter().find(|s| s.key() == key));
    let syntax = asked.or_else(ending).unwrap_or(CycleSyntax::X86);
    if all {
        refuse(&[("STEP", !steps.is_empty())], "is for one cycle: leave out --all")?;
        let size = size.unwrap_or(4);
        if size > LONGEST_CYCLE {
            return Err(Usage(format!("--size is at most {LONGEST_CYCLE}")));
        }
        if output.is_none() {
            return Err(Usage("--all needs a folder to write to: expected -o FOLDER".to_owned()));
        }
        return Ok(CycleArgs { cycles: critical(size), syntax, output, all });
    }
    refuse(&[("--size", size.is_some())], "is for --all")?;
    let mut edges = Vec::new();
    for word in steps.iter().flat_map(|s| s.split_whitespace()) {
        let Some(edge) = Edge::parse(word) else {
            return Err(Usage(format!(
                "unknown step `{word}`: expected PodWR, PosWR, MFencedWR, Rfe, Fre, Coe, Rfi or \
                 the like"
            )));
        };
        edges.push(edge);
    }
    let cycle = Cycle::new(&edges).map_err(|error| Usage(error.to_string()))?;
    Ok(CycleArgs { cycles: vec![cycle], syntax, output, all })
}

#[derive(Debug)]
pub enum HistoryArgs {
    List,
    Some(SomeHistories),
}

/// The histories that are to be generated.
#[derive(Debug)]
pub struct SomeHistories {
    pub source: Source,
    pub bug: Option<Bug>,
    pub store_buffer: bool,
    /// Of a database, what it keeps, and how many operations a transaction has on average.
    pub transactions: Option<(TxnModel, usize)>,
    /// That of the first history.
    pub client: Client,
    pub count: u64,
    pub format: HistoryFormat,
    pub output: Option<PathBuf>,
}

pub(super) fn history(typed: typed::GenHistory) -> Result<HistoryArgs, Usage> {
    let typed::GenHistory {
        source,
        bug,
        store_buffer,
        transactions,
        transaction_size,
        cpus,
        operations,
        mix,
        count,
        format,
        output,
        list,
    } = typed;
    refuse(
        &[("--transaction-size", transaction_size.is_some() && transactions.is_none())],
        "is for --transactions",
    )?;
    if transactions.is_some() {
        let of_memory = [
            ("--source", source.is_some()),
            ("--bug", bug.is_some()),
            ("--store-buffer", store_buffer),
            ("--updates", mix.updates.is_some()),
            ("--fences", mix.fences.is_some()),
            ("--list", list),
        ];
        refuse(&of_memory, "is about memory: leave out --transactions")?;
    }
    if list {
        let others = [
            ("--source", source.is_some()),
            ("--bug", bug.is_some()),
            ("--count", count.is_some()),
            ("--format", format.is_some()),
            ("--output", output.is_some()),
        ];
        refuse(&others, "is for generating: leave out --list")?;
        return Ok(HistoryArgs::List);
    }
    let format = match transactions {
        None => written(format, output.as_ref())?,
        Some(_) => of_transactions(format, output.as_ref())?,
    };
    let count = count.unwrap_or(1);
    if count > 1 && !format.holds_many() {
        let key = format.key();
        return Err(Usage(format!("{key} has room for one history, not for --count {count}")));
    }
    Ok(HistoryArgs::Some(SomeHistories {
        source: source.as_deref().and_then(Source::of_key).unwrap_or(Source::Atomic),
        bug: bug.as_deref().and_then(Bug::of_key),
        store_buffer,
        transactions: transactions.map(|model| (model, transaction_size.unwrap_or(5) as usize)),
        client: client(&mix, cpus.unwrap_or(4), operations.unwrap_or(500)),
        count,
        format,
        output,
    }))
}

#[derive(Debug)]
pub struct RecordArgs {
    pub clients: Clients,
    pub packed: bool,
    pub format: HistoryFormat,
    pub output: Option<PathBuf>,
    pub quiet: bool,
}

/// What threads do.
#[derive(Debug)]
pub enum Clients {
    Random(Client),
    /// What the histories of a file do, in a format that is not the one that it ends in.
    Of(PathBuf, Option<HistoryFormat>),
}

pub(super) fn record(typed: typed::Record) -> Result<RecordArgs, Usage> {
    let typed::Record {
        client: file,
        cpus,
        operations,
        mix,
        packed,
        input_format,
        format,
        output,
        quiet,
    } = typed;
    let clients = match file {
        Some(file) => {
            let of_random = [
                ("--cpus", cpus.is_some()),
                ("--operations", operations.is_some()),
                ("--variables", mix.variables.is_some()),
                ("--read-ratio", mix.read_ratio.is_some()),
                ("--updates", mix.updates.is_some()),
                ("--fences", mix.fences.is_some()),
                ("--seed", mix.seed.is_some()),
            ];
            refuse(&of_random, "is about random clients: leave out FILE")?;
            Clients::Of(file, input_format.and_then(InputFormat::history))
        }
        None => {
            refuse(&[("--input-format", input_format.is_some())], "is for FILE")?;
            let processors = || std::thread::available_parallelism().map_or(2, usize::from).max(2);
            let cpus = cpus.unwrap_or_else(processors);
            Clients::Random(client(&mix, cpus, operations.unwrap_or(1_000_000)))
        }
    };
    let format = written(format, output.as_ref())?;
    Ok(RecordArgs { clients, packed, format, output, quiet })
}

fn client(mix: &typed::Mix, cpus: usize, operations: usize) -> Client {
    Client {
        cpus,
        operations,
        variables: mix.variables.unwrap_or(10),
        read_ratio: mix.read_ratio.unwrap_or(0.5),
        updates: mix.updates.unwrap_or(0.0),
        fences: mix.fences.unwrap_or(0.0),
        seed: mix.seed.unwrap_or(1),
    }
}

/// The same for histories of transactions.
fn of_transactions(
    typed: Option<InputFormat>,
    output: Option<&PathBuf>,
) -> Result<HistoryFormat, Usage> {
    let ending = || match output?.extension()?.to_str()? {
        "json" => Some(HistoryFormat::DbcopJson),
        _ => HistoryFormat::from_path(output?),
    };
    let format = typed.and_then(InputFormat::history).or_else(ending);
    match format.unwrap_or(HistoryFormat::Plume) {
        format if format.has_transactions() => Ok(format),
        format => Err(Usage(format!(
            "{} has no transactions; expected plume, dbcop, dbcop-json or edn",
            format.key()
        ))),
    }
}

/// The format of histories that are written: the one that was typed, that of the ending, JSON Lines.
fn written(typed: Option<InputFormat>, output: Option<&PathBuf>) -> Result<HistoryFormat, Usage> {
    let ending = || output.and_then(|output| HistoryFormat::from_path(output));
    let format = typed.and_then(InputFormat::history).or_else(ending);
    match format.unwrap_or(HistoryFormat::Jsonl) {
        HistoryFormat::Edn => {
            Err(Usage("EDN is not written; expected another ending, such as .jsonl".to_owned()))
        }
        HistoryFormat::Csv => {
            Err(Usage("CSV is not written; expected another ending, such as .jsonl".to_owned()))
        }
        format => Ok(format),
    }
}
