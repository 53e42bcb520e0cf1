//! `weakspot monitor --program`.

use anyhow::{Result, bail};

use crate::args::MonitorArgs;
use crate::exit::Exit;

/// Monitors SC executions of each program.
pub(crate) fn run(args: &MonitorArgs) -> Result<Exit> {
    let _ = args;
    bail!("not yet")
}
