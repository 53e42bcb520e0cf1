//! `weakspot gen`.

use std::io::Write;

use anyhow::{Context, Result, anyhow};
use weakspot_core::testing::Rng;
use weakspot_core::{Drain, Limits, Model, Silent, TxnModel};
use weakspot_explore::{Strategy, outcomes};
use weakspot_gen::{Bug, Client, Cycle, CycleSyntax, Recorded as Generated, Run, Source, generate};
use weakspot_lang::Format;
use weakspot_lang::families::Family;
use weakspot_report::table_text;
use weakspot_trace::{
    HistoryFormat, Recorded, RecordedTxns, WriteError, write_history, write_transactions,
};

use crate::args::{CycleArgs, FamilyArgs, HistoryArgs, SomeHistories, When};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::output::{Sink, write as write_file};
use weakspot_jobs::terminal;

/// Writes one member of a family, or the list of families.
pub(crate) fn family(args: &FamilyArgs) -> Result<Exit> {
    let (text, output) = match args {
        FamilyArgs::List => (families(), None),
        FamilyArgs::Member { family, size, syntax, output } => {
            (family.text(*syntax, *size)?, output.as_deref())
        }
    };
    let mut sink = Sink::create(output)?;
    sink.write_all(text.as_bytes())?;
    sink.finish()?;
    Ok(Exit::Holds)
}

/// How wide tables may be.
fn columns() -> usize {
    terminal::screen(When::Never).width
}

fn families() -> String {
    let mut lines =
        vec![["name", "what it is", "languages", "sizes", "default"].map(str::to_owned)];
    for family in Family::ALL {
        let sizes = family.range().map_or("-".to_owned(), |r| format!("{}-{}", r.start(), r.end()));
        let default = family.default_size().map_or("-".to_owned(), |n| n.to_string());
        let languages: Vec<&str> = family.syntaxes().iter().map(|s| s.key()).collect();
        let (key, name) = (family.key().to_owned(), family.name().to_owned());
        lines.push([key, name, languages.join(", "), sizes, default]);
    }
    table_text(&lines.into_iter().map(Vec::from).collect::<Vec<_>>(), 3, columns())
}

/// Writes histories, or the list of their sources.
pub(crate) fn history(args: &HistoryArgs) -> Result<Exit> {
    let args = match args {
        HistoryArgs::List => {
            std::io::stdout().lock().write_all(sources().as_bytes())?;
            return Ok(Exit::Holds);
        }
        HistoryArgs::Some(args) => args,
    };
    if let Some((model, size)) = args.transactions {
        return transactions(args, model, size);
    }
    let name = match args.bug {
        Some(bug) => format!("{}-{}", args.source.key(), bug.key()),
        None => args.source.key().to_owned(),
    };
    let mut out = None;
    for i in 0..args.count {
        let seed = args.client.seed.wrapping_add(i);
        terminal::busy_with_one("history", i, args.count, args.output.is_some());
        let client = Client { seed, ..args.client };
        // The run must not throw the same dice as the client.
        let run = Run {
            source: args.source,
            bug: args.bug,
            store_buffer: args.store_buffer,
            seed: Rng::new(seed).next_u64(),
            check: false,
        };
        let history = generate(&client.operations()?, &run)?;
        // The file is made when there is something to write: bad numbers leave none behind.
        let out = match &mut out {
            Some(out) => out,
            none => none.insert(Sink::create(args.output.as_deref())?),
        };
        write(out, args.format, &format!("{name}-{seed}"), history)?;
    }
    terminal::clear();
    if let Some(out) = out {
        out.finish()?;
    }
    Ok(Exit::Holds)
}

/// Writes a history of transactions.
fn transactions(args: &SomeHistories, model: TxnModel, size: usize) -> Result<Exit> {
    let (txns, names) = weakspot_gen::transactions(&args.client, size, model)?;
    let id = Some(format!("{}-{}", model.key(), args.client.seed));
    let (notes, unchecked, lines) = (Vec::new(), Vec::new(), Vec::new());
    let history = RecordedTxns { id, txns, names, notes, unchecked, lines };
    let mut out = Sink::create(args.output.as_deref())?;
    match write_transactions(&mut out, args.format, &history) {
        Err(WriteError::Io(error)) => return Err(error.into()),
        written => written?,
    }
    out.finish()?;
    Ok(Exit::Holds)
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
    let mut sources = vec![vec!["source".to_owned(), "what runs the client".to_owned()]];
    for source in Source::ALL {
        sources.push(vec![source.key().to_owned(), source.description().to_owned()]);
    }
    let mut bugs = vec![["bug", "what goes wrong", "in"].map(str::to_owned).to_vec()];
    for bug in Bug::ALL {
        let keys: Vec<&str> = bug.sources().iter().map(|source| source.key()).collect();
        bugs.push(vec![bug.key().to_owned(), bug.description().to_owned(), keys.join(", ")]);
    }
    format!("{}\n{}", table_text(&sources, 2, columns()), table_text(&bugs, 3, columns()))
}

/// Writes tests from cycles; each says which models allow its condition.
pub(crate) fn litmus(args: &CycleArgs) -> Result<Exit> {
    let folder = args.output.as_deref().filter(|_| args.all);
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("failed to make the folder {}", folder.display()))?;
    }
    for (i, cycle) in args.cycles.iter().enumerate() {
        terminal::busy_with_one("test", i as u64, args.cycles.len() as u64, args.output.is_some());
        let text = cycle.text(args.syntax, &allowed(cycle)?);
        match folder {
            Some(folder) => {
                let file = format!("{}.{}", cycle.name(), args.syntax.ending());
                write_file(&folder.join(file), text)?;
            }
            None => {
                let mut sink = Sink::create(args.output.as_deref())?;
                sink.write_all(text.as_bytes())?;
                sink.finish()?;
            }
        }
    }
    terminal::clear();
    Ok(Exit::Holds)
}

/// Which models allow the condition of a test, as its comment says it.
fn allowed(cycle: &Cycle) -> Result<String> {
    let text = cycle.text(CycleSyntax::X86, "");
    let parsed = weakspot_lang::parse(Format::Litmus, &text)
        .map_err(|refused| anyhow!("defect: the test of a cycle: {}", refused.message))?;
    let mut names = [Vec::new(), Vec::new()];
    for model in [Model::Sc, Model::Tso, Model::Pso(Drain::All)] {
        let found =
            outcomes(&parsed.program, model, Strategy::Auto, &Limits::UNLIMITED, &mut Silent);
        let mut found = found.map_err(|_| anyhow!("defect: the test of a cycle goes wrong"))?;
        let judged = found
            .judge(&parsed.program, model)
            .map_err(|rejected| anyhow!("defect: evidence was rejected: {rejected:?}"))?;
        names[usize::from(judged.positive == 0)].push(model.to_string());
    }
    let [allowed, forbidden] = names.map(|names| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    });
    Ok(format!("allowed: {allowed}; forbidden: {forbidden}"))
}
