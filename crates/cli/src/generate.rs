//! `weakspot gen`.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use weakspot_core::testing::Rng;
use weakspot_gen::{Bug, Client, Recorded as Generated, Run, Source, generate};
use weakspot_lang::families::{Family, Syntax};
use weakspot_trace::{HistoryFormat, Recorded, WriteError, write_history};

use crate::args::{FamilyArgs, HistoryArgs};
use crate::exit::Exit;
use crate::output::Sink;

/// Writes one member of a family, or the list of families.
pub(crate) fn family(args: &FamilyArgs) -> Result<Exit> {
    let Some(family) = args.name.as_deref().and_then(Family::of_key) else {
        std::io::stdout().lock().write_all(families().as_bytes())?;
        return Ok(Exit::Holds);
    };
    let asked = args.syntax.as_deref().and_then(Syntax::of_key);
    let ending = || args.output.as_deref().and_then(Syntax::of_path);
    let syntax = asked.or_else(ending).unwrap_or(family.syntaxes()[0]);
    let text = family.text(syntax, args.size)?;
    let mut sink = Sink::create(args.output.as_deref())?;
    sink.write_all(text.as_bytes())?;
    sink.finish()?;
    Ok(Exit::Holds)
}

fn families() -> String {
    let row = |cells: [&str; 5]| {
        let [name, what, sizes, default, languages] = cells;
        format!("{name:11} {what:36} {sizes:>8} {default:>8}  {languages}\n")
    };
    let mut text = row(["name", "what it is", "sizes", "default", "languages"]);
    for family in Family::ALL {
        let sizes = family.range().map_or("-".to_owned(), |r| format!("{}-{}", r.start(), r.end()));
        let default = family.default_size().map_or("-".to_owned(), |n| n.to_string());
        let languages: Vec<&str> = family.syntaxes().iter().map(|s| s.key()).collect();
        let languages = languages.join(", ");
        text += &row([family.key(), family.name(), &sizes, &default, &languages]);
    }
    text
}

/// Writes histories, or the list of their sources.
pub(crate) fn history(args: &HistoryArgs) -> Result<Exit> {
    if args.list {
        std::io::stdout().lock().write_all(sources().as_bytes())?;
        return Ok(Exit::Holds);
    }
    let source = Source::of_key(&args.source).unwrap_or(Source::Atomic);
    let bug = args.bug.as_deref().and_then(Bug::of_key);
    let name = match bug {
        Some(bug) => format!("{}-{}", source.key(), bug.key()),
        None => source.key().to_owned(),
    };
    let mix = &args.mix;
    let format = output_format(args.output.as_deref())?;
    if args.count > 1 && !format.holds_many() {
        bail!("{} has room for one history, not for --count {}", format.key(), args.count);
    }
    let mut out = None;
    for seed in (0..args.count).map(|i| mix.seed.wrapping_add(i)) {
        let client = Client {
            cpus: args.cpus,
            operations: args.operations,
            variables: mix.variables,
            read_ratio: mix.read_ratio,
            updates: mix.updates,
            fences: mix.fences,
            seed,
        };
        // The run must not throw the same dice as the client.
        let run = Run {
            source,
            bug,
            store_buffer: args.store_buffer,
            seed: Rng::new(seed).next_u64(),
            check: false,
        };
        let history = generate(&client.operations()?, &run)?;
        // The file is made when there is something to write: bad numbers leave none behind.
        if out.is_none() {
            out = Some(Sink::create(args.output.as_deref())?);
        }
        if let Some(out) = &mut out {
            write(out, format, &format!("{name}-{seed}"), history)?;
        }
    }
    if let Some(out) = out {
        out.finish()?;
    }
    Ok(Exit::Holds)
}

/// The format of histories that go to this file: what its ending says, else JSON Lines.
pub(crate) fn output_format(path: Option<&Path>) -> Result<HistoryFormat> {
    let format = path.and_then(HistoryFormat::from_path).unwrap_or(HistoryFormat::Jsonl);
    match format {
        HistoryFormat::Edn => bail!("EDN is not written; expected another ending, such as .jsonl"),
        _ => Ok(format),
    }
}

/// Writes a history.
pub(crate) fn write(
    out: &mut dyn Write,
    format: HistoryFormat,
    id: &str,
    history: Generated,
) -> Result<()> {
    let Generated { ops, names, .. } = history;
    let history =
        Recorded { id: Some(id.to_owned()), ops, names, notes: Vec::new(), unchecked: Vec::new() };
    match write_history(out, format, &history) {
        Err(WriteError::Io(error)) => Err(error.into()),
        written => Ok(written?),
    }
}

fn sources() -> String {
    let mut text = format!("{:16} what runs the client\n", "source");
    for source in Source::ALL {
        text += &format!("{:16} {}\n", source.key(), source.description());
    }
    text += &format!("\n{:18} {:65} in\n", "bug", "what goes wrong");
    for bug in Bug::ALL {
        let keys: Vec<&str> = bug.sources().iter().map(|source| source.key()).collect();
        text += &format!("{:18} {:65} {}\n", bug.key(), bug.description(), keys.join(", "));
    }
    text
}
