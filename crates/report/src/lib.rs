//! Answers as people and scripts see them: text, JSON, DOT and drawings of runs, and witness
//! files that carry an answer's evidence from one day to another.
//!
//! Nothing here searches, and nothing here reads programs. Everything returns a `String`, and no
//! input makes it panic: names that are missing get a stand-in, text from files is stripped of
//! control characters before it reaches a terminal.

mod answer;
mod bench;
mod course;
mod exchange;
mod format;
mod history;
mod json;
mod page;
mod picture;
mod program;
mod real;
mod row;
mod run;
mod selfcheck;
mod stream;
mod tables;
mod text;
mod transactional;
mod transactions;
mod writer;

pub use answer::{Answer, Head, ModelName};
pub use bench::plot::{Axis, Mark, Panel, Plot, plot_svg};
pub use bench::programs::{
    BENCH_COLUMNS, BenchEnd, BenchRow, bench_head, bench_json, bench_program, bench_text,
};
pub use exchange::TestEnd;
pub use format::{Format, Printed};
pub use history::{
    HistoryAnswer, HistoryAnswers, HistoryFollowed, HistoryPart, HistoryValue, NO_TIMES, UNWRITTEN,
    history_summary, history_summary_table, open_reads_note,
};
pub use json::{Refusal, SCHEMA, Tool, error_json, model_key, model_of_key};
pub use page::{files_named, page, page_to_ask};
pub use picture::NOTHING_TO_DRAW;
pub use program::fence::{FenceAnswer, FenceLine};
pub use program::litmus::{LitmusAnswer, LitmusCell, LitmusShown, observation};
pub use program::on_cpu::{ModelStates, OnCpuAnswer};
pub use program::race::RaceAnswer;
pub use program::reach::ReachAnswer;
pub use program::robust::RobustAnswer;
pub use program::summary::{
    LitmusEnd, LitmusResult, litmus_states_table, litmus_summary, litmus_summary_table,
};
pub use program::tally::{ProgramResult, Words, program_summary, program_summary_table};
pub use program::unread::Unread;
pub use real::advice::{RealAdvice, RealChange, real_advice_json, real_advice_text};
pub use real::advisory::{accepted_text, advisory_text};
pub use real::json::{failures_json, real_json, unserializable_json};
pub use real::suite::{RealQuestion, RealTest, RealVerdict, junit, test_line, tests_summary};
pub use real::{
    Explored, RealConsequence, RealFailed, RealFailure, RealOvertaking, RealPairs, RealRelated,
    RealShown, RealUnserializable, RealWait, failures_text, real_statistics, real_text,
    unserializable_text,
};
pub use row::Row;
pub use run::object::{
    ReadFrom, Run, RunArc, RunEnd, RunLate, RunLocation, RunStep, RunThread, RunValue, ScSays,
    StepKind,
};
pub use run::of_log::{RunValues, of_log};
pub use run::of_schedule::run_of_schedule;
pub use run::of_steps::{RealStep, of_steps};
pub use selfcheck::{
    SelfcheckAnswer, SelfcheckDisagreement, SelfcheckSubject, selfcheck_json, selfcheck_text,
};
pub use stream::log::{MonitorAnswer, monitor_news, monitor_statistics};
pub use stream::programs::{
    Counted, Executions, MonitorPair, MonitorRow, Monitored, ProgramMonitorAnswer, monitor_table,
};
pub use tables::{Rows, row_object};
pub use text::ascii::ascii;
pub use text::columns::table_text;
pub use text::diagnostic::{Severity, failure_diagnostic, render};
pub use text::diff::unified_diff;
pub use text::fit::fit_lines;
pub use text::limit::limit_text;
pub use text::shell::typed;
pub use text::show::plain;
pub use text::table::{Style, paragraph};
pub use transactional::{AskedModel, TxnHistoryAnswer, TxnHistoryAnswers, txn_model_name};
pub use transactions::delays::{SerialTimed, serial_delays};
pub use transactions::log::{
    SerialAnswer, SerialCycle, SerialDelay, SerialEdge, SerialEvent, SerialFenced, SerialOf,
    SerialOther, SerialRole, SerialTxn,
};
pub use transactions::program::{AddedFences, SerialProgramAnswer};
pub use weakspot_witness::{
    BadWitness, BuiltBy, FenceWitness, HistoryWitness, InputHash, LogWitness, PlacedCommit,
    RunEvidence, RunWitness, SERIAL_PROGRAM, SerialEvidence, SerialWitness, TxnHistoryWitness,
    Witness, Wrong, history_witness_json, input_hash,
};
