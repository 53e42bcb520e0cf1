//! Witness files, which carry an answer's evidence from one day to another: a file per kind of
//! input, what all of them have in common, and how JSON is written on lines.

mod base64;
mod fence;
mod file;
mod history;
mod keys;
mod limit;
mod line;
mod log;
mod object;
mod program;
mod real;
mod serial;
mod strict;
mod transactional;

pub use fence::{FENCE, FenceWitness};
pub use file::{BadWitness, InputHash, input_hash, witness_question};
pub use history::{HistoryWitness, history_witness_json};
pub use keys::{model_key, model_of_key, verdict_key};
pub use limit::LimitJson;
pub use line::{line, seconds};
pub use log::{LogWitness, is_log_witness};
pub use object::{Object, push_string};
pub use program::{SERIAL_PROGRAM, StepJson, Witness};
pub use real::{BuiltBy, RUN, RunEvidence, RunWitness, Wrong};
pub use serial::{PlacedCommit, SerialEvidence, SerialWitness};
pub use transactional::{TRANSACTIONAL, TxnHistoryWitness};
