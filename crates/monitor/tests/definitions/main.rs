//! What the monitors say about SC executions against what the definitions say about the program.

mod reports;
mod runs;
mod sober;
