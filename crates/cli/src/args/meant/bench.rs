//! What is meant for the measurements.

use std::path::PathBuf;
use std::time::Duration;

use super::{Usage, or, refuse};
use crate::args::typed::{self, HistoryTable, SerialTable};
use crate::args::values::OutputFormat;

pub(super) fn litmus(typed: &typed::BenchLitmus) -> Duration {
    typed.timeout.unwrap_or(Duration::from_secs(20))
}

#[derive(Debug)]
pub(crate) struct ProgramsArgs {
    /// All if none is named.
    pub(crate) programs: Vec<String>,
    pub(crate) timeout: Duration,
    pub(crate) svg: Option<PathBuf>,
    pub(crate) format: OutputFormat,
}

pub(super) fn programs(typed: typed::BenchPrograms) -> ProgramsArgs {
    let typed::BenchPrograms { programs, timeout, svg, format } = typed;
    let timeout = timeout.unwrap_or(Duration::from_secs(20));
    ProgramsArgs { programs, timeout, svg, format: self::format(format) }
}

#[derive(Debug)]
pub(crate) struct BenchMonitorArgs {
    pub(crate) threads: Vec<u16>,
    pub(crate) addresses: Vec<u32>,
    pub(crate) events: u32,
    pub(crate) rounds: u32,
    pub(crate) format: OutputFormat,
}

pub(super) fn monitor(typed: typed::BenchMonitor) -> BenchMonitorArgs {
    let typed::BenchMonitor { processes, addresses, events, rounds, format } = typed;
    BenchMonitorArgs {
        threads: or(processes, &[2, 4, 8, 16, 64]),
        addresses: or(addresses, &[1_000, 1_000_000]),
        events: events.unwrap_or(4_000_000),
        rounds: rounds.unwrap_or(5),
        format: self::format(format),
    }
}

#[derive(Debug)]
pub(crate) struct BenchHistoryArgs {
    pub(crate) tables: Vec<HistoryTable>,
    pub(crate) quick: bool,
    pub(crate) large: bool,
    pub(crate) timeout: Duration,
    pub(crate) svg: Option<PathBuf>,
    pub(crate) format: OutputFormat,
}

pub(super) fn history(typed: typed::BenchHistory) -> Result<BenchHistoryArgs, Usage> {
    let typed::BenchHistory { tables, quick, large, timeout, svg, format } = typed;
    refuse(&[("--quick", quick && large)], CONTRARY)?;
    Ok(BenchHistoryArgs {
        tables: or(tables, &HistoryTable::ALL),
        quick,
        large,
        timeout: timeout.unwrap_or(Duration::from_secs(10)),
        svg,
        format: self::format(format),
    })
}

#[derive(Debug)]
pub(crate) struct BenchSerialArgs {
    pub(crate) tables: Vec<SerialTable>,
    pub(crate) quick: bool,
    pub(crate) large: bool,
    pub(crate) format: OutputFormat,
}

pub(super) fn serial(typed: typed::BenchSerial) -> Result<BenchSerialArgs, Usage> {
    let typed::BenchSerial { tables, quick, large, format } = typed;
    refuse(&[("--quick", quick && large)], CONTRARY)?;
    let tables = or(tables, &SerialTable::ALL);
    Ok(BenchSerialArgs { tables, quick, large, format: self::format(format) })
}

#[derive(Debug)]
pub(crate) struct BenchRealArgs {
    pub(crate) executions: u64,
    pub(crate) format: OutputFormat,
}

pub(super) fn real(typed: &typed::BenchReal) -> BenchRealArgs {
    let executions = typed.executions.unwrap_or(50_000);
    BenchRealArgs { executions, format: format(typed.format) }
}

fn format(typed: Option<OutputFormat>) -> OutputFormat {
    typed.unwrap_or(OutputFormat::Text)
}

const CONTRARY: &str = "and --large contradict each other";
