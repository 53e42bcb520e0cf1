//! JSON Lines: one event per line, or one trace per line with its events in an array. A trace
//! that is spread over several lines is read as well.

mod event;
mod read;
mod scan;
mod write;

pub(crate) use read::Json;
pub(crate) use write::Writer;
