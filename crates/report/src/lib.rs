//! Answers as people and scripts see them: text, JSON, DOT and drawings of runs, and witness
//! files that carry an answer's evidence from one day to another.
//!
//! Nothing here searches, and nothing here reads programs. Everything returns a `String`, and no
//! input makes it panic: names that are missing get a stand-in, text from files is stripped of
//! control characters before it reaches a terminal.

mod bench;
mod history;
mod json;
mod program;
mod real;
mod real_advice;
mod run;
mod stream;
mod text;
mod transactions;
mod witness;

pub use bench::plot::{Axis, Mark, Panel, Plot, plot_svg};
pub use bench::programs::{BenchEnd, BenchRow, bench_head, bench_json, bench_text};
pub use history::{
    HistoryAnswer, HistoryFollowed, HistoryPart, history_all_text, history_dot, history_error_json,
    history_json, history_model_name, history_summary, history_text,
};
pub use json::{error_json, model_key, model_of_key};
pub use program::fence::{FenceAnswer, FenceLine, fence_json, fence_text};
pub use program::litmus::{LitmusAnswer, litmus_json, litmus_text, observation};
pub use program::race::{race_json, race_text};
pub use program::reach::{ReachAnswer, reach_json, reach_text};
pub use program::robust::{RobustAnswer, robust_json, robust_text};
pub use program::summary::{LitmusEnd, LitmusResult, litmus_summary};
pub use program::tally::{ProgramResult, Words, program_summary};
pub use real::{
    Explored, RealFailure, RealOutcome, RealOvertaking, RealUnserializable, failures_json,
    failures_text, real_json, real_statistics, real_summary, real_text, unserializable_json,
    unserializable_text,
};
pub use real_advice::{RealAdvice, RealChange, real_advice_json, real_advice_text};
pub use run::dot::draw_dot;
pub use run::drawing::draw_run;
pub use run::object::{
    ReadFrom, Run, RunArc, RunEnd, RunLate, RunLocation, RunStep, RunThread, RunValue, ScSays,
    StepKind,
};
pub use run::of_log::{of_delay, of_log};
pub use stream::log::{
    MonitorAnswer, monitor_dot, monitor_json, monitor_news, monitor_statistics, monitor_text,
};
pub use stream::programs::{
    Counted, Executions, MonitorPair, MonitorRow, Monitored, ProgramMonitorAnswer, monitor_table,
    program_monitor_json, program_monitor_text,
};
pub use text::diagnostic::{Severity, failure_diagnostic, render};
pub use text::diff::unified_diff;
pub use text::limit::limit_text;
pub use text::show::plain;
pub use transactions::log::{
    SerialAnswer, SerialCycle, SerialDelay, SerialEdge, SerialEvent, SerialFenced, SerialOf,
    SerialOther, SerialRole, SerialTxn, serial_dot, serial_json, serial_text,
};
pub use transactions::program::{
    AddedFences, SerialProgramAnswer, serial_program_dot, serial_program_json, serial_program_text,
};
pub use witness::file::{BadWitness, InputHash, input_hash, witness_question};
pub use witness::history::{HistoryWitness, history_witness_json};
pub use witness::log::{LogWitness, is_log_witness};
pub use witness::program::Witness;
pub use witness::serial::{PlacedCommit, SerialEvidence, SerialWitness};
