//! What is meant for the measurements.

use std::path::PathBuf;
use std::time::Duration;

use super::{Usage, file, or, refuse};
use crate::typed::{self, HistoryTable, SerialTable};
use crate::values::OutputFormat;

pub(super) fn litmus(typed: &typed::BenchLitmus) -> (OutputFormat, Duration) {
    (format(typed.format), typed.timeout.unwrap_or(Duration::from_secs(20)))
}

#[derive(Debug)]
pub struct ProgramsArgs {
    /// All if none is named.
    pub programs: Vec<String>,
    pub timeout: Duration,
    pub svg: Option<PathBuf>,
    pub format: OutputFormat,
}

pub(super) fn programs(typed: typed::BenchPrograms) -> Result<ProgramsArgs, Usage> {
    let typed::BenchPrograms { programs, timeout, svg, format } = typed;
    let timeout = timeout.unwrap_or(Duration::from_secs(20));
    let svg = file("--svg", svg)?;
    Ok(ProgramsArgs { programs, timeout, svg, format: self::format(format) })
}

#[derive(Debug)]
pub struct BenchMonitorArgs {
    pub threads: Vec<u16>,
    pub addresses: Vec<u32>,
    pub events: u32,
    pub rounds: u32,
    pub format: OutputFormat,
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
pub struct BenchHistoryArgs {
    pub tables: Vec<HistoryTable>,
    pub quick: bool,
    pub large: bool,
    pub timeout: Duration,
    pub svg: Option<PathBuf>,
    pub format: OutputFormat,
}

pub(super) fn history(typed: typed::BenchHistory) -> Result<BenchHistoryArgs, Usage> {
    let typed::BenchHistory { tables, quick, large, timeout, svg, format } = typed;
    refuse(&[("--quick", quick && large)], CONTRARY)?;
    Ok(BenchHistoryArgs {
        tables: or(tables, &HistoryTable::ALL),
        quick,
        large,
        timeout: timeout.unwrap_or(Duration::from_secs(10)),
        svg: file("--svg", svg)?,
        format: self::format(format),
    })
}

#[derive(Debug)]
pub struct BenchSerialArgs {
    pub tables: Vec<SerialTable>,
    pub quick: bool,
    pub large: bool,
    pub format: OutputFormat,
}

pub(super) fn serial(typed: typed::BenchSerial) -> Result<BenchSerialArgs, Usage> {
    let typed::BenchSerial { tables, quick, large, format } = typed;
    refuse(&[("--quick", quick && large)], CONTRARY)?;
    let tables = or(tables, &SerialTable::ALL);
    Ok(BenchSerialArgs { tables, quick, large, format: self::format(format) })
}

#[derive(Debug)]
pub struct BenchRealArgs {
    pub executions: u64,
    pub format: OutputFormat,
}

pub(super) fn real(typed: &typed::BenchReal) -> BenchRealArgs {
    let executions = typed.executions.unwrap_or(50_000);
    BenchRealArgs { executions, format: format(typed.format) }
}

fn format(typed: Option<OutputFormat>) -> OutputFormat {
    typed.unwrap_or(OutputFormat::Text)
}

const CONTRARY: &str = "and --large contradict each other";
