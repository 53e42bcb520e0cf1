//! `weakspot gen`.

use std::path::PathBuf;

use clap::Args;
use weakspot_core::TxnModel;
use weakspot_gen::{Bug, Client, Cycle, CycleSyntax, Edge, Source, critical};
use weakspot_lang::families::{self, Syntax};
use weakspot_trace::HistoryFormat;

use crate::clients::{ASKS_NOTHING, Mix, client, written};
use crate::list::{Lacks, Means, Usage, commands};
use crate::meant::refuse;
use crate::refused::{ABOUT_KEEPING, ABOUT_QUESTIONS, Lack};
use crate::values::{InputFormat, Takes, format_of, isolation};

commands! {
    /// Write inputs to try and to measure with.
    Gen => GenCommand lacks &[
        (ABOUT_KEEPING, ASKS_NOTHING),
        (ABOUT_QUESTIONS, ASKS_NOTHING),
        ("input-format", "it reads nothing"),
        ("quiet verbose color progress", "it writes what it makes and nothing else"),
    ];
    Family(Family => FamilyArgs),
    History(GenHistory => HistoryArgs),
    Litmus(GenLitmus => CycleArgs),
}

const SMALL: Lack = ("timeout memory", "what it writes is small: --size says how small");

/// A member of a family of programs or litmus tests that grows with a number.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot gen family lamport --size 4 -o lamport-4.weak
  weakspot gen family diamond --size 50 --format trencher
  weakspot gen family loop --size 20 -o loop-20.c
  weakspot gen family --list",
    after_help = "\
The text goes to standard output unless -o names a file."
)]
pub(crate) struct Family {
    /// The family; --list tells which there are.
    #[arg(value_name = "NAME", hide_possible_values = true,
        value_parser = clap::builder::PossibleValuesParser::new(families::Family::ALL.map(families::Family::key)))]
    name: Option<String>,
    /// The size; each family has its own range and default.
    #[arg(long, value_name = "N")]
    size: Option<usize>,
    /// The language; by default what FILE ends in, else the first that the family comes in.
    #[arg(long, short, alias = "syntax", value_name = "LANGUAGE",
        value_parser = clap::builder::PossibleValuesParser::new(Syntax::ALL.map(Syntax::key)))]
    format: Option<String>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// List the families with their sizes and languages.
    #[arg(long)]
    list: bool,
}

#[derive(Debug)]
pub enum FamilyArgs {
    List,
    Member {
        family: families::Family,
        size: Option<usize>,
        syntax: Syntax,
        output: Option<PathBuf>,
    },
}

impl Means<FamilyArgs> for Family {
    const LACKS: Lacks = &[SMALL];

    fn meant(self) -> Result<FamilyArgs, Usage> {
        let Family { name, size, format, output, list } = self;
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
        let Some(family) = name.as_deref().and_then(families::Family::of_key) else {
            return Err(Usage("expected the NAME of a family, or --list".to_owned()));
        };
        let asked = format.as_deref().and_then(Syntax::of_key);
        let ending = || output.as_deref().and_then(Syntax::of_path);
        let syntax = asked.or_else(ending).unwrap_or(family.syntaxes()[0]);
        Ok(FamilyArgs::Member { family, size, syntax, output })
    }
}

/// A litmus test from a cycle of accesses, or all tests up to a size.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot gen litmus PodWR Fre PodWR Fre
  weakspot gen litmus MFencedWR Fre PodWR Fre --format c -o SB+mfence+po.litmus
  weakspot gen litmus --all --size 4 -o tests/",
    after_help = "\
The steps are those of diy7: program order to another location (PodWR, with a
fence MFencedWR or SFencedWW) or to the same (PosWR, ...), and communication
with another thread (Rfe, Fre, Coe or Wse) or within one (Rfi, Fri, Coi). A
comment in each test says which models allow it."
)]
pub(crate) struct GenLitmus {
    /// The steps of the cycle.
    #[arg(value_name = "STEP")]
    steps: Vec<String>,
    /// All critical cycles up to a size.
    #[arg(long)]
    all: bool,
    /// How many steps the cycles of --all have at most [default: 4].
    #[arg(long, value_name = "N")]
    size: Option<usize>,
    /// The language [default: x86; or what FILE ends in].
    #[arg(long, short, value_name = "LANGUAGE",
        value_parser = clap::builder::PossibleValuesParser::new(CycleSyntax::ALL.map(CycleSyntax::key)))]
    format: Option<String>,
    /// Write to this file; with --all, to this folder.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
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

impl Means<CycleArgs> for GenLitmus {
    const LACKS: Lacks = &[SMALL];

    fn meant(self) -> Result<CycleArgs, Usage> {
        let GenLitmus { steps, all, size, format, output } = self;
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
                return Err(Usage(
                    "--all needs a folder to write to: expected -o FOLDER".to_owned(),
                ));
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
}

/// Histories of random clients on a memory, a machine or a cache coherence protocol.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot gen history --source tso --cpus 4 --operations 1000 -o tso.jsonl
  weakspot gen history --source mesi --bug lost-ack --count 100 > lost-ack.jsonl
  weakspot gen history --transactions tcc --operations 100000 -o tcc.plume
  weakspot gen history --list",
    after_help = "\
JSON Lines, one history per line, to standard output unless -o names a file. Of
each variable no value is written twice. History number i is that of the seed
plus i; the same seed, the same history. With --transactions it is one history
of a database, in the format of Plume unless FILE or --format says otherwise."
)]
pub(crate) struct GenHistory {
    /// Who runs the clients; --list tells which there are [default: atomic].
    #[arg(long, value_name = "SOURCE", hide_possible_values = true,
        value_parser = clap::builder::PossibleValuesParser::new(Source::ALL.map(Source::key)))]
    source: Option<String>,
    /// A bug in the protocol; --list tells which there are.
    #[arg(long, value_name = "NAME", hide_possible_values = true,
        value_parser = clap::builder::PossibleValuesParser::new(Bug::ALL.map(Bug::key)))]
    bug: Option<String>,
    /// Put a store buffer between each CPU and its cache: histories become TSO instead of SC.
    #[arg(long)]
    store_buffer: bool,
    /// Transactions of a database that is read-committed (rc), transactional-causal (tcc) or
    /// serializable (ser), and no more; CPUs are sessions.
    #[arg(long, value_name = "MODEL", value_parser = isolation)]
    transactions: Option<TxnModel>,
    /// With --transactions: how many operations a transaction has on average [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    transaction_size: Option<u32>,
    /// How many CPUs the clients have [default: 4].
    #[arg(long, value_name = "N")]
    cpus: Option<usize>,
    /// How many operations they do, all CPUs together [default: 500].
    #[arg(long, value_name = "N")]
    operations: Option<usize>,
    #[command(flatten)]
    mix: Mix,
    /// How many histories [default: 1].
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// The format; by default what FILE ends in, else JSON Lines.
    #[arg(long, short, value_name = "FORMAT", value_parser = format_of(Takes::ToHistories))]
    format: Option<InputFormat>,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// List the sources and their bugs.
    #[arg(long)]
    list: bool,
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

impl Means<HistoryArgs> for GenHistory {
    const LACKS: Lacks =
        &[("timeout memory", "--operations and --count say how much there is to do")];

    fn meant(self) -> Result<HistoryArgs, Usage> {
        let GenHistory {
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
        } = self;
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
