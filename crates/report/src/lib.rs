//! Answers as people and scripts see them: text, JSON, DOT and drawings of runs, and witness
//! files that carry an answer's evidence from one day to another.
//!
//! Nothing here searches, and nothing here reads programs. Everything returns a `String`, and no
//! input makes it panic: names that are missing get a stand-in, text from files is stripped of
//! control characters before it reaches a terminal.

mod bench;
mod communication;
mod diagnostic;
mod diff;
mod dot;
mod drawing;
mod fence;
mod history;
mod history_witness;
mod json;
mod limit;
mod litmus;
mod log_witness;
mod monitor;
mod monitor_program;
mod plot;
mod race;
mod reach;
mod real;
mod real_advice;
mod robust;
mod run;
#[cfg(test)]
mod sample;
mod serial;
mod serial_program;
mod serial_witness;
mod show;
mod summary;
mod table;
mod tally;
mod witness;
mod witness_file;

pub use bench::{BenchEnd, BenchRow, bench_head, bench_json, bench_text};
pub use diagnostic::{Severity, failure_diagnostic, render};
pub use diff::unified_diff;
pub use dot::draw_dot;
pub use drawing::draw_run;
pub use fence::{FenceAnswer, FenceLine, fence_json, fence_text};
pub use history::{
    HistoryAnswer, HistoryFollowed, HistoryPart, history_all_text, history_dot, history_error_json,
    history_json, history_model_name, history_summary, history_text,
};
pub use history_witness::{HistoryWitness, history_witness_json};
pub use json::{error_json, model_key, model_of_key};
pub use limit::limit_text;
pub use litmus::{LitmusAnswer, litmus_json, litmus_text, observation};
pub use log_witness::{LogWitness, is_log_witness};
pub use monitor::{
    MonitorAnswer, monitor_dot, monitor_json, monitor_news, monitor_statistics, monitor_text,
};
pub use monitor_program::{
    Counted, Executions, MonitorPair, MonitorRow, Monitored, ProgramMonitorAnswer, monitor_table,
    program_monitor_json, program_monitor_text,
};
pub use plot::{Axis, Mark, Panel, Plot, plot_svg};
pub use race::{race_json, race_text};
pub use reach::{ReachAnswer, reach_json, reach_text};
pub use real::{
    Explored, RealFailure, RealOutcome, RealOvertaking, RealUnserializable, failures_json,
    failures_text, real_json, real_statistics, real_summary, real_text, unserializable_json,
    unserializable_text,
};
pub use real_advice::{RealAdvice, RealChange, real_advice_json, real_advice_text};
pub use robust::{RobustAnswer, robust_json, robust_text};
pub use serial::{
    SerialAnswer, SerialCycle, SerialDelay, SerialEdge, SerialEvent, SerialFenced, SerialOf,
    SerialOther, SerialRole, SerialTxn, serial_dot, serial_json, serial_text,
};
pub use serial_program::{
    AddedFences, SerialProgramAnswer, serial_program_dot, serial_program_json, serial_program_text,
};
pub use serial_witness::{PlacedCommit, SerialEvidence, SerialWitness};
pub use show::plain;
pub use summary::{LitmusEnd, LitmusResult, litmus_summary};
pub use tally::{ProgramResult, Words, program_summary};
pub use witness::Witness;
pub use witness_file::{BadWitness, InputHash, input_hash, witness_question};
