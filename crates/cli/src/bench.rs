//! `weakspot bench`.

use std::path::Path;

use anyhow::Result;
use weakspot_bench::{Interrupted, Measured, Tables};
use weakspot_report::plot_svg;

use crate::args::{
    BenchFormat, BenchHistoryArgs, BenchLitmusArgs, BenchMonitorArgs, BenchSerialArgs, Cell,
    HistoryCell, ProgramsArgs, When,
};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::{interrupt, output, terminal};

pub(crate) fn litmus(args: &BenchLitmusArgs) -> Result<Exit> {
    rows(args.format, |tables| weakspot_bench::litmus(args.timeout, tables))
}

pub(crate) fn programs(args: &ProgramsArgs) -> Result<Exit> {
    drawn(args.format, args.svg.as_deref(), |tables| weakspot_bench::programs(args, tables))
}

pub(crate) fn monitor(args: &BenchMonitorArgs) -> Result<Exit> {
    rows(args.format, |tables| weakspot_bench::monitor(args, tables))
}

pub(crate) fn history(args: &BenchHistoryArgs) -> Result<Exit> {
    drawn(args.format, args.svg.as_deref(), |tables| weakspot_bench::history(args, tables))
}

pub(crate) fn serial(args: &BenchSerialArgs) -> Result<Exit> {
    rows(args.format, |tables| weakspot_bench::serial(args, tables))
}

#[cfg(feature = "real")]
pub(crate) fn real(args: &crate::args::BenchRealArgs) -> Result<Exit> {
    rows(args.format, |tables| weakspot_bench::real(args, tables))
}

/// What a process that measures says to the one that started it.
pub(crate) fn history_cell(args: &HistoryCell) -> Result<Exit> {
    print!("{}", weakspot_bench::history_cell(&args.task, args.timeout)?);
    Ok(Exit::Holds)
}

/// The same for a cell of the table of programs.
pub(crate) fn cell(args: &Cell) -> Result<Exit> {
    print!("{}", weakspot_bench::cell(&args.program, &args.question, args.timeout)?);
    Ok(Exit::Holds)
}

fn rows(format: BenchFormat, measure: impl FnOnce(&mut Tables<'_>) -> Result<()>) -> Result<Exit> {
    drawn(format, None, |tables| measure(tables).map(|()| Measured::default()))
}

/// Prints rows as they come, then draws them to a file.
fn drawn(
    format: BenchFormat,
    svg: Option<&Path>,
    measure: impl FnOnce(&mut Tables<'_>) -> Result<Measured>,
) -> Result<Exit> {
    interrupt::watch();
    let out = &mut std::io::stdout();
    let (interrupted, show, busy) = (&interrupt::asked, &terminal::show, &terminal::busy);
    let columns = terminal::screen(When::Never).width;
    let tables = &mut Tables { format, out, columns, interrupted, end: "", show, busy };
    let measured = measure(tables);
    tables.close()?;
    let measured = match measured {
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("{error}");
            return Ok(Exit::Unknown);
        }
        measured => measured?,
    };
    for error in &measured.errors {
        eprintln!("error: {error}");
    }
    if let (Some(path), Some(plot)) = (svg, &measured.plot) {
        output::write(path, plot_svg(plot))?;
    }
    Ok(if measured.errors.is_empty() { Exit::Holds } else { Exit::Bad })
}
